"""What `start` and the page of contents say to a learner who comes back."""

import json
import re

import pytest

import autograder
from autograder.learner.points import saved_notebook
from autograder.learner.progress.contents import Contents
from autograder.learner.reviews.schedule import DAY
from autograder.lessons.paths import read_path
from autograder.messages.learners import message
from autograder.session import SESSION, Session
from support.check import check, right

LESSON = "gradient_accumulation"


@pytest.mark.parametrize(
    ("language", "passed", "due"),
    [
        ("en", "Passed: 1 of 4. Next: ", "Due for review: 1."),
        ("ru", "Верно: 1 из 4. Дальше: ", "Пора повторить упражнений: 1."),
    ],
)
def test_a_return_says_what_is_done_what_is_next_and_what_is_due(language, passed, due, own_home, exercises):
    first = str(autograder.start(LESSON, language=language))
    assert passed[:5] not in first
    assert str(autograder.start(LESSON, language=language)) == first
    check(right)
    vars(SESSION).update(vars(Session()))
    title = exercises["predict_accumulation"].title.read(language)
    again = str(autograder.start(LESSON, language=language))
    assert again.startswith(first)
    assert f"{passed}{title} · `predict_accumulation`." in again
    assert due not in again
    file = own_home / "progress.jsonl"
    line = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**line, "time": line["time"] - 2 * DAY}) + "\n", encoding="utf-8")
    assert due in str(autograder.start(LESSON, language=language))
    assert str(autograder.start("first_gradient", language=language)).count("\n\n") == 0  # this one is new
    shown = Contents(language)
    assert due in repr(shown)
    assert due in shown._repr_markdown_()
    assert re.search(r"exercise|упражнение", repr(shown))
    assert "](00_" not in repr(shown)
    assert re.search(r"\[numerical_slope\]\(00_first_gradient\.ipynb#cell-id=[\w-]+\)", shown._repr_markdown_())


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_next_exercise_is_a_link_in_jupyter(language, notebooks, monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", str(notebooks / language / "03_gradient_accumulation.ipynb"))
    autograder.start(LESSON, language=language)
    check(right)
    html = autograder.start(LESSON, language=language)._repr_html_()
    id = re.search(r'<a href="03_gradient_accumulation\.ipynb#cell-id=([^"]+)">', html)[1]
    (linked,) = (cell for cell in saved_notebook({}).cells if cell["id"] == id)
    assert "`predict_accumulation`" in "".join(linked["source"])


def test_only_extra_exercises_are_left_then_none(own_home, exercises, ran):
    autograder.start(LESSON, language="en")
    for name, exercise in exercises.items():
        if exercise.core:
            check(ran.solutions[name], name)
    extra = next(name for name, exercise in exercises.items() if not exercise.core)
    greeting = str(autograder.start(LESSON, language="en"))
    assert f"Passed: 4 of 4. Next: {exercises[extra].title.en} · `{extra}`" in greeting
    for name in exercises:
        check(ran.solutions[name], name)
    assert "Passed: 4 of 4 and 9 extra. All is done here." in str(autograder.start(LESSON, language="en"))


def test_a_graded_notebook_greets_as_at_first(own_home, monkeypatch):
    first = str(autograder.start(LESSON, language="en"))
    check(right)
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert str(autograder.start(LESSON, language="en")) == first


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_path_that_counts_otherwise_says_what_counts(language, own_home):
    """The training path leaves an exercise of lesson 03 out and adds extras, and takes lesson 01 as it is."""
    autograder.contents(language, path="training")
    chosen = read_path("training")
    names = ("predict_accumulation", "fix_zero_inside", "accumulate_uneven", "train_epoch", "clip_once")
    listed = ", ".join(f"`{name}`" for name in (*names, "unscale_then_clip"))
    sentence = message("start.path", path=chosen.title.read(language), names=listed).read(language)
    assert sentence in str(autograder.start(LESSON, language=language))
    assert chosen.title.read(language) not in str(autograder.start("leaf_tensors", language=language))
