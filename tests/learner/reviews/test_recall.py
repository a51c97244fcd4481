"""Two questions on what a lesson builds on: in a notebook, in a terminal, and their order."""

import itertools
import json
import random
import re
import time

import pytest

import autograder
from autograder import exercises
from autograder.history import QuestionKind, read_history, verdicts
from autograder.learner.notebooks.headings import title_of_lesson
from autograder.learner.reviews.recall import QUESTIONS, recall_questions
from autograder.lessons.prose.recall import RECALL_CALL
from autograder.messages.learners import message
from autograder.session import SESSION, Session
from support.kernel import Kernel

LESSON = "saved_tensors"


def shown():
    return [each.exercise.name for each in recall_questions(LESSON, read_history().checks)]


def test_every_lesson_that_needs_others_asks_two_questions_on_them(notebooks):
    for path in sorted(notebooks.glob("en/[0-9][0-9]_*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        needs = notebook["metadata"]["autograder"]["needs"]
        calls = ["".join(cell["source"]) for cell in notebook["cells"]].count(RECALL_CALL)
        assert calls == bool(needs), path.name
        asked = recall_questions(exercises.bare(path.stem), ())
        assert len(asked) == (QUESTIONS if needs else 0), path.name
        needed = {title_of_lesson(each.exercise.lesson, "en")[:2] for each in asked}
        assert needed <= set(needs.split(", ")), path.name


def test_wrong_ones_come_first_then_new_ones_then_the_oldest(monkeypatch):
    """The expectation is kept as the learner goes: when each question was answered last. The history is not read."""
    SESSION.lesson, seconds = LESSON, itertools.count(1_800_000_000)
    monkeypatch.setattr(time, "time", lambda: next(seconds))  # equal answers of one second count once
    last, wrong, dice = {}, set(), random.Random(0)
    for turn in range(30):
        pair = shown()
        assert set(pair) >= set(sorted(wrong, key=last.get)[:QUESTIONS])
        known = [name for name in pair if name in last and name not in wrong]
        others = [name for name in last if name not in pair and name not in wrong]
        assert not (known and others) or max(last[name] for name in known) < min(last[name] for name in others)
        said = [dice.random() < 0.6 for _ in pair]
        autograder.recall()
        autograder.recall(*said)
        wrong = (wrong - set(pair)) | {name for name, is_right in zip(pair, said) if not is_right}
        last |= {name: 2 * turn + place for place, name in enumerate(pair)}
    assert len(last) > QUESTIONS
    assert all(each.question is QuestionKind.WHY for each in read_history().checks)
    assert [*verdicts()] == []  # no points


@pytest.mark.parametrize("language", ["en", "ru"], indirect=True)
def test_answers_count_once_and_only_for_questions_that_were_shown(language):
    SESSION.lesson = LESSON
    before = message("recall.shown_before").read(language)
    assert str(autograder.recall(True, False)) == before
    page = repr(autograder.recall())
    for name in shown():
        why = exercises.find(name).why
        assert why.question.read(language) in page
        assert why.because.read(language) in page
    for wrong in ((True,), (True, True, True), (1, 0), ("yes", "no")):
        assert message("recall.answers", example="recall(True, False)").read(language) in str(autograder.recall(*wrong))
    assert str(autograder.recall(True, False)) == message("recall.again").read(language)
    assert str(autograder.recall(True, False)) == before
    assert len(read_history().checks) == 2
    autograder.recall()
    vars(SESSION).update(vars(Session(language=language, lesson=LESSON)))  # a restart in between
    assert str(autograder.recall(True, True)) == before


def test_a_lesson_that_needs_none_a_graded_notebook_and_one_of_an_instructor(monkeypatch, tmp_path):
    SESSION.lesson = "first_gradient"
    assert str(autograder.recall()) == message("recall.none").read("en")
    SESSION.lesson = "my_own"
    assert str(autograder.recall()) == message("recall.none").read("en")
    own = tmp_path / "my_own.ipynb"
    own.write_text(json.dumps({"cells": [], "metadata": {"autograder": {"needs": "01"}}, "nbformat": 4}))
    monkeypatch.setenv("JPY_SESSION_NAME", str(own))
    assert repr(autograder.recall()).startswith("**1.** ")
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert str(autograder.recall()) == message("run.checking", name="recall").read("en")


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.parametrize("language", ["en", "ru"], indirect=True)
def test_the_cell_of_a_lesson_asks_and_is_told(language, own_home, tmp_path):
    kernel = Kernel(tmp_path / "notes.ipynb", {"AUTOGRADER_HOME": str(own_home)})
    try:
        kernel.run(f'from autograder import start; start("{LESSON}", language="{language}")')
        page = str(kernel.outputs(RECALL_CALL))
        assert page.count("<details>") == QUESTIONS
        assert re.search(r"recall\(True, False\)", page)
        assert message("recall.right").read(language) in kernel.run(RECALL_CALL.replace("()", "(True, True)"))
    finally:
        kernel.close()
