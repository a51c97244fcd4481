"""`ready()` on saved notebooks, in a live kernel and called directly."""

import copy
import re
import sys

import nbformat
import pytest

from autograder.language import LANGUAGES
from autograder.learner.ready import rehearse
from autograder.learner.replies import Reply
from autograder.lessons.collection import COURSE
from autograder.lessons.source import solutions
from autograder.session import SESSION
from support.kernel import Kernel
from support.solved import built_notebook

pytestmark = [pytest.mark.long(40), pytest.mark.usefixtures("quick_kernels")]

(LESSON,) = COURSE.read(["gradient_accumulation"])
EXERCISES = COURSE.exercises(LESSON)
CORE = [name for name, exercise in EXERCISES.items() if exercise.core]


@pytest.fixture(scope="session")
def released():
    return {language: nbformat.reads(built_notebook(LESSON, language), as_version=4) for language in LANGUAGES}


@pytest.fixture(autouse=True)
def no_notebook(monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)


@pytest.fixture
def save(released, tmp_path):
    """Save a notebook with solutions in, after `edit`: the whole lesson, or only the exercises in `keep`."""

    def write(language="en", keep=None, edit=None, name="mine.ipynb"):
        notebook = copy.deepcopy(released[language])
        if keep is not None:
            notebook.cells = [cell for cell in notebook.cells if wanted(cell, keep)]
        for cell in notebook.cells:
            role, _, exercise = grade_id(cell).partition("-")
            if role == "answer":
                cell.source = solutions(EXERCISES[exercise])[0]
            if role == "written":
                cell.source = "Both forget half of every window."
        if edit:
            edit(notebook)
        path = tmp_path / name
        nbformat.write(notebook, path)
        return path

    return write


def wanted(cell, keep):
    """The cells that everything needs, and those of the exercises in `keep`."""
    role, _, name = grade_id(cell).partition("-")
    needed = "import" in cell.source and cell.cell_type == "code" and "ready()" not in cell.source
    return (
        name in keep if role in ("answer", "check", "written") and name not in ("", CORE[0]) else needed or name in keep
    )


def grade_id(cell):
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def find(notebook, wanted_id):
    return next(cell for cell in notebook.cells if grade_id(cell) == wanted_id)


@pytest.fixture
def open_kernel():
    kernels = []

    def start(path):
        kernels.append(Kernel(path))
        return kernels[-1]

    yield start
    for kernel in kernels:
        kernel.close()


def rows(table):
    return {re.findall("`(.+?)`", row[0])[-1]: row[1:] for row in table.rows}


NIGHTLY = pytest.mark.nightly(twin="tests/learner/test_ready.py::test_a_solved_lesson_is_ready")


@pytest.mark.parametrize(("language", "passed"), [("en", "passed"), pytest.param("ru", "верно", marks=NIGHTLY)])
def test_a_solved_lesson_is_ready(save, language, passed):
    path = save(language)
    table = rehearse(str(path))
    assert table.title == {"en": "Ready to hand in", "ru": "Готово к сдаче"}[language]
    assert {row[1] for row in table.rows} == {passed}
    points = sum(EXERCISES[name].points for name in CORE)
    assert f"{points:g}" in table.below[0]
    assert str(path) in table.below[-1]  # nobody collects what is no assignment of a course
    assert {"en": f"a person: 2; in the grade {points + 2:g}", "ru": f": 2; всего в зачёт: {points + 2:g}"}[
        language
    ] in table.below[1]
    assert str(path) in repr(table)
    assert str(path) in table._repr_html_()


def test_what_is_not_solved_shows(save):
    def leave(notebook):
        find(notebook, f"answer-{CORE[1]}").source = f"def {EXERCISES[CORE[1]].asks}(*args): return None"

    table = rehearse(str(save(keep=CORE[:2], edit=leave)))
    assert rows(table)[CORE[0]] == ("passed", f"{EXERCISES[CORE[0]].points:g}/{EXERCISES[CORE[0]].points:g}")
    assert rows(table)[CORE[1]] == ("not yet", f"0/{EXERCISES[CORE[1]].points:g}")


def test_missing_checks_and_cells_that_raise_are_named(save):
    def spoil(notebook):
        find(notebook, f"answer-{CORE[1]}").source = "1 / 0"

    table = rehearse(str(save(keep=CORE[:2], edit=spoil)))
    below = "\n".join(table.below)
    assert table.title == "Before you hand in"
    assert f"Checks missing from the file: {', '.join(CORE[2:])}." in below
    assert f"`{CORE[1]}`: ZeroDivisionError: division by zero" in below
    assert rows(table)[CORE[1]] == ("not attempted", f"0/{EXERCISES[CORE[1]].points:g}")


def test_an_answer_that_is_still_the_stub_is_named(save, released):
    def blank(notebook):
        find(notebook, f"answer-{CORE[1]}").source = find(released["ru"], f"answer-{CORE[1]}").source

        find(notebook, "written-why_they_agree").source = find(released["ru"], "written-why_they_agree").source

    path = save("ru", keep=[*CORE[:2], "why_they_agree"], edit=blank)
    table = rehearse(str(path))
    assert table.title == "Прежде чем сдавать"
    assert f"Пока нет ответа: {CORE[1]}, why_they_agree." in table.below
    assert table.below[-1] == f"Файл для сдачи: {path}"


def test_a_file_without_an_answer_is_not_one_to_hand_in(save, released):
    def blank(notebook):
        find(notebook, f"answer-{CORE[0]}").source = find(released["en"], f"answer-{CORE[0]}").source

    table = rehearse(str(save(keep=CORE[:1], edit=blank)))
    (warning,) = table.warnings
    assert "no answer yet" in warning
    assert f"<strong>{warning}</strong>" in table._repr_html_()
    assert "The file to hand in" not in repr(table)


def test_an_assignment_of_a_course_has_a_place_to_be_handed_in(save):
    def release(notebook):
        notebook.metadata.autograder.assignment = "03_own"

    said = "It is the assignment 03_own: hand it in where your course collects work."
    table = rehearse(str(save(keep=CORE[:1], edit=release)))
    assert table.below[-1] == said
    assert table.below[-2].startswith("The file to hand in")


def test_of_duplicates_the_last_counts(save):
    def double(notebook):
        check = find(notebook, f"check-{CORE[1]}")
        notebook.cells.append(copy.deepcopy(check))
        notebook.cells[-1].update(id="again", source="1")

    assert rows(rehearse(str(save(keep=CORE[:2], edit=double))))[CORE[1]][0] == "—"


def test_a_cell_that_ends_the_process(save):
    def end(notebook):
        find(notebook, f"answer-{CORE[1]}").source = "import os; os._exit(1)"

    table = rehearse(str(save(keep=CORE[:2], edit=end)))
    assert rows(table)[CORE[0]][0] == "passed"
    assert "The fresh process ended before the last cell" in "\n".join(table.below)


def test_an_endless_cell_is_interrupted(save, monkeypatch):
    monkeypatch.setattr("autograder.learner.ready.CELL_SECONDS", 15)

    def loop(notebook):
        find(notebook, f"answer-{CORE[0]}").source = "import time\nwhile True: time.sleep(1)"

    table = rehearse(str(save(keep=CORE[:2], edit=loop)))
    assert f"`{CORE[0]}`: KeyboardInterrupt" in "\n".join(table.below)
    assert rows(table)[CORE[1]][0] == "passed"


def test_nothing_is_written_to_the_learners_progress(save, own_home):
    rehearse(str(save(keep=CORE[:1])))
    assert list(own_home.iterdir()) == []


def test_in_a_kernel_all_is_well(save, open_kernel):
    path = save("ru", keep=CORE[:2])
    kernel = open_kernel(path)
    kernel.run_all(nbformat.read(path, as_version=4))
    said = kernel.run("from autograder import ready\nready()")
    assert "Выполняю mine.ipynb в новом процессе" in said
    assert f"Файл для сдачи: {path}" in said
    assert "Сохранённый файл отличается" not in said
    assert "В этом сеансе пройдено" not in said


def test_start_and_check_say_the_points_of_this_notebook(save, open_kernel):
    name = CORE[1]

    def give_more(notebook):
        find(notebook, f"check-{name}").metadata.nbgrader.points = EXERCISES[name].points + 3

    path = save(keep=[*CORE[:2], "why_they_agree"], edit=give_more)
    kernel, saved = open_kernel(path), nbformat.read(path, as_version=4)
    begin = next(cell for cell in saved.cells if "\nstart(" in cell.source)
    total = sum(EXERCISES[each].points for each in CORE)
    said = kernel.run(begin.source)
    assert f"their points in the grade: {total + 3:g}." in said
    assert f"Points given by a person: 2; in the grade {total + 5:g} in all." in said
    for cell in saved.cells:
        if cell.cell_type == "code" and ("import torch" in cell.source or grade_id(cell) == f"answer-{name}"):
            kernel.run(cell.source)
    card = kernel.run(f"from autograder import check\nprint(check({name!r}))")
    assert f"worth {EXERCISES[name].points + 3:g} points" in card
    ready = kernel.run("from autograder import ready\nready()")
    assert f"{EXERCISES[name].points + 3:g}/{EXERCISES[name].points + 3:g}" in ready


def test_unsaved_changes_are_named(save, open_kernel):
    path = save(keep=CORE[:2])
    kernel, saved = open_kernel(path), nbformat.read(path, as_version=4)
    kernel.run_all(saved)
    kernel.run("changed = 1", find(saved, f"answer-{CORE[1]}").id)
    said = kernel.run("from autograder import ready\nready()")
    warning = said.index(
        f"The saved file differs from what you ran, in: {CORE[1]}. Save (Ctrl+S) and run ready() again."
    )
    assert warning < said.index(f"`{CORE[0]}`")
    assert "The file to hand in" not in said


def test_what_only_worked_in_this_session_is_named(save, open_kernel):
    """The answer uses a name whose cell the learner has deleted."""

    def uses(notebook):
        cell = find(notebook, f"answer-{CORE[1]}")
        cell.source = re.sub(r"(\n +)(?=\S)", r"\1deleted_since\1", cell.source, count=1)

    path = save(keep=CORE[:2], edit=uses)
    kernel = open_kernel(path)
    kernel.run("deleted_since = 1")
    kernel.run_all(nbformat.read(path, as_version=4))
    said = kernel.run("from autograder import ready\nready()")
    assert f"Passed in this session, but not from top to bottom in a fresh run: {CORE[1]}." in said


def test_a_saved_ready_cell_does_not_start_another_run(save):
    def ask(notebook):
        notebook.cells.append(nbformat.v4.new_code_cell("from autograder import ready\nready()"))

    table = rehearse(str(save(keep=CORE[:1], edit=ask)))
    assert rows(table)[CORE[0]][0] == "passed"


def test_vs_code_tells_the_file(save, open_kernel, tmp_path):
    path = save(keep=CORE[:1])
    kernel = open_kernel(tmp_path / "not-this.ipynb")
    said = kernel.run(f"__vsc_ipynb_file__ = {str(path)!r}\nfrom autograder import ready\nready()")
    assert f"The file to hand in: {path}" in said


def test_without_nbclient_the_session_is_shown(save, monkeypatch):
    path = save(keep=CORE[:1])
    monkeypatch.setitem(sys.modules, "nbclient", None)
    table = rehearse(str(path))
    assert rows(table)[CORE[0]][0] == "—"
    assert "pip install nbclient" in table.below[0]
    assert f"in this session: 0 of {sum(EXERCISES[name].points for name in CORE):g}." in table.below[1]
    assert table.below[-1] == f"The file to hand in: {path}"


def test_replies_instead_of_errors(save, tmp_path, monkeypatch):
    def reply(path):
        said = rehearse(path)
        assert isinstance(said, Reply)
        return str(said)

    assert "Which notebook is this?" in reply(None)
    assert "There is no file" in reply(str(tmp_path / "none.ipynb"))
    (tmp_path / "broken.ipynb").write_text("{", encoding="utf-8")
    assert "cannot be read as a notebook" in reply(str(tmp_path / "broken.ipynb"))
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "other.ipynb")
    assert "is not a lesson of this course" in reply(str(tmp_path / "other.ipynb"))
    path = save(keep=CORE[:1])
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert "ready() does nothing" in reply(str(path))
    assert SESSION.language is None
