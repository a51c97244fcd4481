"""Notebooks of a lesson: blank, with the course's solutions in, as other editors save them."""

from __future__ import annotations

import copy
from typing import Any

from nbformat.notebooknode import NotebookNode

from autograder.lessons.collection import COURSE
from autograder.lessons.notebooks import source_notebook, student_notebook, to_text
from autograder.lessons.source import Lesson, solutions


def built_notebook(lesson: Lesson, language: str) -> str:
    """Return the text of the student's notebook, from the lesson's source as it is now.

    It takes 0.2 s. `Collection.files` also makes the key, which takes 7 s.
    """
    return to_text(student_notebook(source_notebook(lesson, COURSE.exercises(lesson)), language))


def solved_notebook(lesson: Lesson, language: str) -> NotebookNode:
    """The student's notebook with the first solution of each exercise."""
    known = COURSE.exercises(lesson)
    notebook = student_notebook(source_notebook(lesson, known), language)
    for cell in notebook.cells:
        role, _, name = grade_id(cell).partition("-")
        if role == "answer":
            cell.source = solutions(known[name])[0]
    return notebook


def grade_id(cell: NotebookNode) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def as_vs_code_saves_it(notebook: NotebookNode, pasted: bool) -> NotebookNode:
    """The notebook in the older format without cell ids.

    With `pasted`, every answer and check is a cell that the learner has pasted: VS Code gives it no metadata.
    """
    made = copy.deepcopy(notebook)
    made.nbformat_minor = 4
    for cell in made.cells:
        cell.pop("id")
        if pasted and grade_id(cell).startswith(("answer-", "check-")):
            cell.metadata.clear()
    return made


def as_colab_gives_it(notebook: NotebookNode, name: str) -> dict[str, Any]:
    """The notebook as Colab's front end sends it: ids in the metadata, sources as lists."""
    made = as_vs_code_saves_it(notebook, pasted=False)
    made.nbformat_minor = 0
    made.metadata["colab"] = {"name": name, "provenance": []}
    for number, cell in enumerate(made.cells):
        cell.metadata["id"] = f"id{number}"
        cell["source"] = cell.source.splitlines(keepends=True)
    return dict(made)
