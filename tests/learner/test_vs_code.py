"""Notebooks that VS Code has saved: no cell ids, no metadata in pasted cells."""

import json

import nbformat
import pytest

from autograder.learner.notebooks.working_copy import prepare_copy
from autograder.learner.ready import rehearse
from autograder.lessons.collection import COURSE
from support.kernel import Kernel
from support.solved import as_vs_code_saves_it, grade_id, solved_notebook

(LESSON,) = COURSE.read(["first_gradient"])
NAME = f"{LESSON.file_name}.ipynb"
EXERCISES = COURSE.exercises(LESSON)

pytestmark = pytest.mark.usefixtures("quick_kernels")


@pytest.fixture
def saved(tmp_path, language):
    """The solved lesson as VS Code saves it, every answer and check pasted."""
    path = tmp_path / "work" / language / NAME
    path.parent.mkdir(parents=True)
    nbformat.write(as_vs_code_saves_it(solved_notebook(LESSON, language), pasted=True), path)
    return path


def test_answers_are_carried_over_to_the_other_language(saved, language, tmp_path):
    other = {"en": "ru", "ru": "en"}[language]
    prepare_copy(tmp_path / "work", other)
    carried = nbformat.read(tmp_path / "work" / other / NAME, 4)
    solved = {grade_id(cell): cell.source for cell in solved_notebook(LESSON, other).cells if grade_id(cell)}
    assert {grade_id(cell): cell.source for cell in carried.cells if grade_id(cell)} == solved


def test_an_answer_whose_cell_was_pasted_twice_is_the_last(saved, language, tmp_path):
    notebook = json.loads(saved.read_text())
    name = next(iter(EXERCISES))
    asked = EXERCISES[name].asks
    position = next(i for i, c in enumerate(notebook["cells"]) if f"def {asked}(" in "".join(c["source"]))
    again = {**notebook["cells"][position], "source": f"def {asked}(*arguments):\n    return 'the later one'"}
    notebook["cells"].insert(position + 1, again)
    saved.write_text(json.dumps(notebook))
    other = {"en": "ru", "ru": "en"}[language]
    prepare_copy(tmp_path / "work", other)
    carried = nbformat.read(tmp_path / "work" / other / NAME, 4)
    assert next(c.source for c in carried.cells if grade_id(c) == f"answer-{name}") == again["source"]


def test_ready_finds_the_checks_and_names_the_file(saved, language, tmp_path, monkeypatch):
    table = rehearse(str(saved))
    assert [row[2] for row in table.rows] == [f"{each.points:g}/{each.points:g}" for each in EXERCISES.values()]
    assert str(saved) in table.below[-1]


def test_vs_code_tells_the_file(saved, language, tmp_path):
    kernel = Kernel(tmp_path / "not-this.ipynb")
    try:
        said = kernel.run(f"__vsc_ipynb_file__ = {str(saved)!r}\nfrom autograder import ready\nready()")
    finally:
        kernel.close()
    assert str(saved) in said.splitlines()[-1]
