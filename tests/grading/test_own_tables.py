"""Tables of predictions of each student's own, from the handout to grade, page and report."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from nbformat.notebooknode import NotebookNode

from autograder import exercises
from autograder.checking.containment.surroundings import undisturbed
from autograder.checking.verdict import VerdictState
from autograder.cli import main
from autograder.history import read_history
from autograder.lessons.needed_code import needed_code
from autograder.lessons.source import solutions
from autograder.lessons.variants import VariantTable, draw_table
from support.course import Course
from support.report import text
from support.submissions import Submission, read

pytestmark = pytest.mark.long(15)

LESSON, TABLE = "graph_and_backward", "predict_second_backward"
EXERCISES = exercises.load(LESSON)
SOLVED = {name: solutions(exercise)[0] for name, exercise in EXERCISES.items()}
STUDENTS = ("ann", "bo", "cara", "dan", "eve", "fay")
TEAM = ("eve", "fay")


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course in which each student has got a copy of the notebook."""
    course = Course.make(tmp_path_factory.mktemp("own") / "course", LESSON, languages=("en",))
    (course.folder / "secret").write_text("s" * 64, encoding="utf-8")
    lines = ["id,group", *(f"{each},{'Team 1' if each in TEAM else ''}" for each in STUDENTS)]
    (course.folder / "students.csv").write_text("\n".join(lines), encoding="utf-8")
    (course.folder / "course.toml").write_text(f'[assignments.{course.name}]\nvariants = "per student"\n', "utf-8")
    assert main(["handout", str(course.folder), course.name]) == 0
    return course


@pytest.fixture(scope="module")
def graded(handed_out: Course, tmp_path_factory: pytest.TempPathFactory) -> tuple[Course, dict[str, dict[str, Any]]]:
    """What students make of their copies, graded."""
    course = handed_out.copy(tmp_path_factory.mktemp("graded"))
    for student in ("ann", "eve"):
        course.hand_in(student, solved(copy_of(course, student)))
    shutil.copytree(course.submitted("ann").parent, course.submitted("bo").parent)
    course.hand_in("cara", SOLVED)
    mistaken = next(iter(variant_of(copy_of(course, "dan")).mistaken.values()))
    course.hand_in("dan", solved(copy_of(course, "dan"), mistaken))
    shutil.copytree(course.submitted("eve").parent, course.submitted("fay").parent)
    return course, course.grade()


def copy_of(course: Course, student: str) -> NotebookNode:
    return read(course.folder / "handout" / course.name / student / f"{course.name}.ipynb")


def cell_of(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    return next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


def number_in(notebook: NotebookNode) -> int:
    found = re.search(r"personal=(\d+)\)$", cell_of(notebook, f"check-{TABLE}").source)
    assert found
    return int(found[1])


def variant_of(notebook: NotebookNode) -> VariantTable:
    drawn = draw_table(EXERCISES[TABLE], number_in(notebook))
    assert drawn
    return drawn


def right_table(notebook: NotebookNode) -> dict[str, Any]:
    """What the program above the table returns."""
    above = notebook.cells[: notebook.cells.index(cell_of(notebook, f"answer-{TABLE}"))]
    sources = [each.source for each in above if each.cell_type == "code" and "nbgrader" not in each.metadata]
    namespace: dict[str, Any] = {}
    with undisturbed([]):
        exec("\n\n".join(needed_code(sources, "", "second_backward()")), namespace)
        return dict(namespace["second_backward"]())


def solved(copy: NotebookNode, table: Any = None) -> NotebookNode:
    answers = {**SOLVED, TABLE: f"{TABLE} = {dict(right_table(copy) if table is None else table)!r}"}
    return Submission("x", "en", answers).notebook(copy)


def test_each_student_gets_another_program(handed_out: Course) -> None:
    copies = [copy_of(handed_out, student) for student in STUDENTS]
    tables = [right_table(copy) for copy in copies]
    assert len({repr(table) for table in tables}) > 3  # the secret is fixed here; two of six may share a program
    for copy, table in zip(copies, tables):
        stub = cell_of(copy, f"answer-{TABLE}").source
        namespace: dict[str, Any] = {}
        exec(stub, namespace)
        assert namespace[TABLE].keys() == table.keys()
    assert main(["handout", str(handed_out.folder), handed_out.name]) == 0
    assert [copy_of(handed_out, student) for student in STUDENTS] == copies


def test_a_table_is_judged_by_the_students_own_program(graded: tuple[Course, dict[str, dict[str, Any]]]) -> None:
    course, results = graded
    total = sum(each.points for each in EXERCISES.values() if each.core)
    worth = EXERCISES[TABLE].points
    lost = {student: total - each["score"] for student, each in results.items()}
    assert lost == {"ann": 0, "bo": worth, "cara": worth, "dan": worth, "eve": 0, "fay": 0}
    assert results["dan"]["mistakes"] == {TABLE: next(iter(variant_of(copy_of(course, "dan")).mistaken))}
    assert {student: each["reasons"] for student, each in results.items() if each["reasons"]} == {
        "bo": ["this copy was handed out to ann; its tables are judged by the programs of whoever handed it in"],
        "cara": [
            "the common notebook, not the student's own copy; its tables are judged by the student's own programs"
        ],
    }
    assert not [said for each in results.values() for said in (*each["places"], *each["notes"])]


def test_unchanged_work_is_not_graded_again(graded: tuple[Course, dict[str, dict[str, Any]]]) -> None:
    course, results = graded
    again = course.grade()
    assert {each["state"] for each in again.values()} == {"unchanged"}
    assert {each["score"] for each in again.values()} == {each["score"] for each in results.values()}


def test_pages_and_report_are_made(
    graded: tuple[Course, dict[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    course, _ = graded
    assert main(["feedback", str(course.folder)]) == 0
    said = {student: "This table is not yours" in course.feedback(student) for student in STUDENTS}
    assert said == {each: each in ("bo", "cara") for each in STUDENTS}
    assert main(["report", str(course.folder)]) == 0
    report = (course.folder / "report" / f"{course.name}.html").read_text(encoding="utf-8")
    assert "this copy was handed out to ann" in report
    rows = BeautifulSoup(report, "html.parser").select(f"#exercise-{TABLE} .rows .says")
    own = variant_of(copy_of(course, "dan"))
    mistaken = next(iter(own.mistaken.values()))
    assert {text(row) for row in rows} == {label for label in own.right if own.right[label] != mistaken[label]}


@pytest.mark.nightly(twin="tests/grading/test_own_tables.py::test_a_table_is_judged_by_the_students_own_program")
def test_nbgrader_autograde_gives_the_same_scores(
    graded: tuple[Course, dict[str, dict[str, Any]]], handed_out: Course, tmp_path: Path
) -> None:
    course, results = graded
    other = handed_out.copy(tmp_path)
    shutil.copytree(course.folder / "submitted", other.folder / "submitted")
    other.nbgrader("autograde", other.name)
    assert other.scores() == {student: each["score"] for student, each in results.items()}
    assert other.shown_flags() == {student: bool(each["reasons"]) for student, each in results.items()}


def test_the_check_of_a_copy_is_of_the_exercise_itself(handed_out: Course) -> None:
    copy, other = copy_of(handed_out, "ann"), copy_of(handed_out, "bo")
    namespace: dict[str, Any] = {TABLE: right_table(copy)}
    call = [cell_of(each, f"check-{TABLE}").source.splitlines()[-1] for each in (copy, other)]
    exec("from autograder import check", namespace)
    mine, foreign = (eval(each, namespace) for each in call)
    assert (mine.state, mine.points, mine.notes) == (VerdictState.PASSED, mine.maximum, ())
    assert foreign.points == 0
    assert [check.variant for check in read_history(TABLE).checks] == [None, None]


def test_a_course_without_the_rule_hands_out_no_copies(
    handed_out: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = handed_out.copy(tmp_path)
    shutil.rmtree(course.folder / "handout")
    main(["course", str(course.folder), "--check"])
    assert "each student has tables of predictions of their own" in capsys.readouterr().out
    (course.folder / "students.csv").write_text("id,name\n", encoding="utf-8")
    assert main(["handout", str(course.folder), course.name]) == 1
    assert "students.csv names no students" in capsys.readouterr().err
    (course.folder / "course.toml").write_text("", encoding="utf-8")
    assert main(["handout", str(course.folder), course.name]) == 1
    assert capsys.readouterr().err.endswith('for example: variants = "per student"\n')
    assert main(["handout", str(course.folder), "05_none"]) == 1
    assert not (course.folder / "handout").exists()
