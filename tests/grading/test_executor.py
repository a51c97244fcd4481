"""Submissions graded on an executor from outside: another process gives the same results as threads."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from nbformat import writes

from autograder.grading.batch.batch import core_threads, grade
from autograder.grading.course.course import open_course
from autograder.grading.course.grading_data import AssignmentSnapshot, CourseSnapshot
from autograder.grading.submission.pipeline import Result, grade_submission
from autograder.lessons.collection import COURSE
from support.course import Course
from support.submissions import all_of


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    (lesson,) = COURSE.read(["first_gradient"])
    kinds = ("solved", "blank", "mistakes-0")
    chosen = [each for each in all_of(lesson) if each.student.startswith(kinds)]
    made = Course.make(tmp_path_factory.mktemp("executor") / "calculus", lesson, submissions=chosen)
    made.hand_in_all()
    return made


def summaries(results: list[Result]) -> dict[str, tuple[object, ...]]:
    return {each.student: (each.state, each.score, each.mistakes, each.reasons, each.notes) for each in results}


def test_another_process_gives_the_same_results(course: Course, tmp_path: Path) -> None:
    settings = open_course(course.folder)
    with core_threads(2) as threads:
        by_threads = grade(settings, course.name, threads, ahead=4)
    in_file = {student: course.autograded(student).read_bytes() for student in summaries(by_threads)}
    other = course.copy(tmp_path)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        by_process = grade(open_course(other.folder), course.name, process, ahead=4, force=True)
    assert summaries(by_process) == summaries(by_threads)
    assert len(by_threads) == len(course.submissions)
    assert {student: other.autograded(student).read_bytes() for student in in_file} == in_file


def test_arguments_and_result_can_be_pickled(course: Course) -> None:
    settings = open_course(course.folder)
    with settings.book() as book:
        assignment = AssignmentSnapshot.of(settings, book, course.name)
    arguments = CourseSnapshot.of(settings), assignment, settings.submissions(course.name)[0]
    graded = grade_submission(*pickle.loads(pickle.dumps(arguments)))
    assert graded.result.state == "graded"
    sent = pickle.loads(pickle.dumps(graded))
    assert (sent.result, sent.scores, sent.digest) == (graded.result, graded.scores, graded.digest)
    assert {name: writes(each) for name, each in sent.notebooks.items()} == {
        name: writes(each) for name, each in graded.notebooks.items()
    }
