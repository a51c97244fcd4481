"""Points and comments that a person gave: kept when a submission is graded again."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.cli import main
from support.course import Course
from support.first_gradient import CHECK, FIRST, NAME, SOLVED, TOTAL
from support.submissions import read


def test_points_by_hand_stay_after_nbgrader_autograde(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    gone = f"from autograder.exercises import something_removed\n{SOLVED[FIRST.name]}"
    course.hand_in("older", {**SOLVED, FIRST.name: gone}, language="ru")
    course.grade()
    course.give_by_hand("older", CHECK, 1.5)
    course.nbgrader("autograde", NAME, "--force")
    assert course.by_hand("older", CHECK) == (1.5, True, ["see me"])
    assert main(["grade", str(course.folder)]) == 0
    said = "points and comments given by hand are kept; what waited for a person still does"
    assert f"older: graded {TOTAL - FIRST.points + 1.5:g} points" in (out := capsys.readouterr().out)
    assert f"note: graded again: {said}\n" in out
    assert course.by_hand("older", CHECK) == (1.5, True, ["see me"])
    assert main(["grade", str(course.folder)]) == 0
    assert "graded again" not in capsys.readouterr().out
    assert course.by_hand("older", CHECK) == (1.5, True, ["see me"])


def test_points_by_hand_wait_again_only_for_another_answer(course: Course) -> None:
    def write(words: str, code: str) -> None:
        notebook = read(course.folder / "release" / "own" / "own.ipynb")
        for cell in notebook.cells:
            cell.source = {"words": words, "code": code}.get(cell.metadata.nbgrader.grade_id, cell.source)
        path = course.folder / "submitted" / "ann" / "own" / "own.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)

    def cell(made: Any, name: str, source: str, **kind: bool) -> Any:
        all_kinds = {"grade": False, "solution": False, "locked": False, "task": False, **kind}
        points = {"points": 2} if kind.get("grade") else {}
        return made(source, metadata={"nbgrader": {"grade_id": name, "schema_version": 3, **all_kinds, **points}})

    cells = [
        cell(new_markdown_cell, "words", "In words?", grade=True, solution=True),
        cell(new_code_cell, "code", "x = 1", solution=True),
        cell(new_code_cell, "test", "assert x", grade=True, locked=True),
    ]
    path = course.folder / "source" / "own" / "own.ipynb"
    path.parent.mkdir()
    kernel = {"kernelspec": {"name": "python3", "display_name": "p", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=kernel), path)
    course.nbgrader("generate_assignment", "own")
    write("Because.", "x = 2")
    run = ["grade", str(course.folder), "own"]
    assert main(run) == 0
    for name in ("words", "test"):
        course.give_by_hand("ann", name, 1, "own")

    def waiting() -> dict[str, bool]:
        return {name: course.by_hand("ann", name, "own")[1] for name in ("words", "test")}

    assert main([*run, "--force"]) == 0
    assert waiting() == {"words": False, "test": False}
    write("Because.", "x = 3")
    assert main(run) == 0
    assert waiting() == {"words": False, "test": True}
    assert main([*run, "--force"]) == 0
    assert waiting() == {"words": False, "test": True}  # nobody has looked yet
    write("Something else.", "x = 3")
    assert main(run) == 0
    assert waiting() == {"words": True, "test": True}
    assert course.by_hand("ann", "words", "own") == (1, True, ["see me"])
