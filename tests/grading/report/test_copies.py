"""Copies in the instructor's report: of a neighbour under other names, and of the course's own solutions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup, Tag

from autograder.lessons.source import solutions_in
from support.course import Course
from support.report import EXERCISE, plain, report

ODD = f"""\
def {EXERCISE}(model, data):
    model.zero_grad()
    done = []
    for number in range(len(data) - 1, -1, -1):
        inputs, targets = data[number]
        parts = [mse_loss(model(inputs), targets), torch.tensor(0.0)]
        while len(parts) > 1:
            parts = [parts[0] + parts[1], *parts[2:]]
        (parts[0] * (1 / len(data))).backward(retain_graph=False)
        done.append(number)
    assert sorted(done) == [*range(len(data))]
"""
NAMES = {"inputs": "xx", "targets": "yy", "parts": "pieces", "done": "seen"}
RENAMED = re.sub(r"\b\w+\b", lambda found: NAMES.get(found[0], found[0]), ODD)
LONG, SHORT = "train_epoch", "accumulate_equal"  # solutions: nobody has the one by chance, and many the other


def answers_with(course: Course, student: str, exercise: str, code: str) -> None:
    """Put an answer into a graded notebook, which the report reads."""
    path = course.autograded(student)
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == f"answer-{exercise}":
            cell.source = code
    path.chmod(0o644)
    nbformat.write(notebook, path)


def listed(page: BeautifulSoup) -> list[tuple[set[str], int]]:
    """Return the students of each pair and group of alike answers, with the tokens that they share."""
    rows = page.select("#similar li")
    return [({span.text for span in row.select(".ids > span")}, int(plain(row.select_one(".count")))) for row in rows]


@pytest.fixture
def course(graded: Course, tmp_path: Path) -> Course:
    return graded.copy(tmp_path)


def test_a_copy_under_other_names_is_listed_as_high(course: Course) -> None:
    answers_with(course, "zeroes-1", EXERCISE, ODD)
    answers_with(course, "zeroes-2", EXERCISE, ODD)
    plainly = listed(report(course))
    answers_with(course, "zeroes-2", EXERCISE, RENAMED)
    assert listed(report(course)) == plainly
    assert plainly[0][0] == {"zeroes-1", "zeroes-2"}
    assert plainly[0][1] > 80


def test_many_copies_are_one_group(course: Course) -> None:
    many = ["zeroes-1", "zeroes-2", "doubles-1", "doubles-2", "solved-en"]
    for student in many:
        answers_with(course, student, EXERCISE, RENAMED)
    first, *others = listed(report(course))
    assert first[0] == {*many}
    assert not any(students <= {*many} for students, _ in others)


def copied(page: BeautifulSoup) -> Iterator[tuple[str, set[str]]]:
    """Yield the exercise and the students of each row of copied solutions."""
    for row in page.select("#copies tbody tr"):
        title, _, students = row.select("td")
        yield plain(title), {span.text for span in students.select(".ids > span")}


def title(page: BeautifulSoup, exercise: str) -> str:
    heading = page.select_one(f"#exercise-{exercise} h3")
    assert isinstance(heading, Tag)
    return plain(heading)


def test_copies_of_our_solutions_are_listed_by_exercise(course: Course) -> None:
    right, other, *_ = solutions_in(course.lesson, LONG)
    answers_with(course, "zeroes-1", LONG, other.replace("model", "net"))
    answers_with(course, "zeroes-2", LONG, f"import math\n\n{right}\n\nprint('done')  # mine\n")
    answers_with(course, "doubles-1", LONG, right.replace("zero_grad()", "zero_grad(True)"))
    answers_with(course, "alone", LONG, "def train_epoch(model): ...")
    page = report(course)
    found = dict(copied(page))
    assert {"zeroes-1", "zeroes-2"} <= found[title(page, LONG)]
    assert not {"doubles-1", "alone", "blank"} & found[title(page, LONG)]
    assert 'solution("NAME", give_up=True)' in plain(page.select_one("#copies"))
    assert "слово в слово" in plain(report(course, "--language=ru", ending=".ru").select_one("#copies"))


def test_short_solutions_and_tables_of_predictions_are_no_copies(page: BeautifulSoup) -> None:
    found = dict(copied(page))
    assert found
    assert not found.keys() & {title(page, name) for name in (SHORT, "predict_accumulation", "predict_zero_grad")}
