"""The page on the course: assignments, and students who are stuck."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from autograder import exercises
from autograder.cli import main
from autograder.exercises.theme import Theme
from autograder.grading.class_counts.counts import Answered, Graded, Wrong
from autograder.grading.report.overview import Overview
from autograder.grading.report.themes import stuck_students
from autograder.lessons.collection import COURSE
from autograder.messages.report import WORDS
from support.course import Course
from support.report import text


def made_up(lesson: str, students: dict[str, str]) -> Graded:
    """An assignment in which each of `students` made the first mistake of a theme."""
    (source,) = COURSE.read([lesson])
    known = exercises.load(lesson)
    one = Graded(source.file_name, 10.0, [source], exercises={name: Answered(each) for name, each in known.items()})
    for student, theme in students.items():
        name, mistake = next(
            (name, mistake)
            for name, each in known.items()
            for mistake, told in exercises.misconceptions_of(each).items()
            if told.theme == theme
        )
        one.scores[student] = 1.0
        one.exercises[name].alike.setdefault(mistake, Wrong(known[name], mistake, None, True)).students.append(student)  # type: ignore[arg-type]
    return one


def shown(graded: list[Graded], language: str) -> str:
    return Overview({f"{each.assignment}.html": each for each in graded}, language).html()


def test_every_theme_is_in_three_lessons() -> None:
    lessons = defaultdict(set)
    for lesson in COURSE.read():
        for exercise in exercises.load(lesson.name).values():
            for told in exercises.misconceptions_of(exercise).values():
                lessons[told.theme].add(lesson.name)
    assert all(len(lessons[theme]) >= 3 for theme in Theme if theme.heading)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_who_makes_one_mistake_in_three_lessons_is_stuck(language: str) -> None:
    lessons = ["graph_and_backward", "leaf_tensors", "capstones"]
    all_graded = [made_up(lesson, {"<i>ann</i>": "accumulation", "bo": "recording"}) for lesson in lessons[:2]]
    assert stuck_students(all_graded) == []
    assert WORDS["stuck_later"].read(language) in Overview({}, language).html()
    assert WORDS["stuck_later"].read(language) in shown(all_graded, language)
    all_graded.append(made_up(lessons[2], {"<i>ann</i>": "accumulation"}))
    assert [(each.student, each.theme) for each in stuck_students(all_graded)] == [("<i>ann</i>", "accumulation")]
    page = BeautifulSoup(shown(all_graded, language), "html.parser")
    (row,) = page.select("#stuck tbody tr")
    assert text(row.td) == "<i>ann</i>"
    assert len(row.select("a")) == 3
    right = [made_up(lesson, {}) for lesson in lessons]
    assert WORDS["nobody_stuck"].read(language) in shown(right, language)
    assert WORDS["idle_doubt"].read(language) not in shown(right, language)
    right[0].unplaced = 1
    assert WORDS["idle_doubt"].read(language) in shown(right, language)


def test_the_command_makes_it(graded: Course, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(graded.folder)]) == 0
    paths = list(map(Path, capsys.readouterr().out.splitlines()))
    assert [path.name for path in paths] == [
        "03_gradient_accumulation.html", "03_gradient_accumulation.project.html", "own.html", "index.html"
    ]  # fmt: skip
    page = BeautifulSoup(paths[-1].read_text(encoding="utf-8"), "html.parser")
    links = [tag["href"] for tag in page.select("#assignments a")]
    assert links == ["03_gradient_accumulation.html", "own.html"]
