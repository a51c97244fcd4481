"""Scoreboards of cards: an answer's figures, those of the plain program, and the bound."""

from __future__ import annotations

import pytest
from torch.nn.functional import cross_entropy

from autograder import exercises
from autograder.checking.verdict import SCORE
from autograder.lessons.collection import COURSE
from autograder.lessons.execute import run
from support.check import check
from support.exercises import program, public_key

PLAIN = {"chunked_loss": "all_at_once", "lean_step": "plain_step"}


def boards(name):
    return {aspect.name: aspect.board for aspect in exercises.find(name).aspects if aspect.board}


def test_every_scoreboard_is_tried_here():
    known = {name for lesson in exercises.lessons() for name in exercises.load(lesson)}
    assert {name for name in known if boards(name)} == set(PLAIN)


@pytest.mark.parametrize("name", PLAIN)
def test_the_figure_of_the_plain_program_is_what_it_takes(name):
    (run,) = [run for run in public_key(name).mistakes[PLAIN[name]] if run.values["peak"].used]
    assert {aspect: run.values[aspect].used for aspect in boards(name)} == {
        aspect: board.plain for aspect, board in boards(name).items()
    }


@pytest.fixture(scope="module")
def answers():
    (lesson,) = (each for each in COURSE.read() if each.name == "capstones")
    ran = run(lesson, exercises.load("capstones"), facts=False)
    return {name: [ran.solutions[name], *ran.alternatives[name].values()] for name in PLAIN}


@pytest.mark.parametrize(("name", "near"), [("chunked_loss", 1.01), ("lean_step", 1.43)])
def test_no_answer_gets_below_the_bound_and_one_comes_near(answers, name, near):
    notes = [note for answer in answers[name] for note in check(answer, name).notes]
    scores = [note.parameters for note in notes if note.id == SCORE]
    assert len(scores) == len(boards(name)) * len(answers[name])
    assert all(score["used"] >= score["bound"] for score in scores)
    assert min(score["used"] / score["bound"] for score in scores if score["aspect"] == "peak") < near


@pytest.mark.parametrize(
    ("language", "row"),
    [
        ("en", "Peak in bytes: yours 786,432 · plain 786,432 · bound 40,960"),
        ("ru", "Пик, байт: у вас 786\xa0432 · исходная программа 786\xa0432 · нижняя граница 40\xa0960"),
    ],
)
def test_a_card_shows_the_three_figures_in_a_row(language, row):
    verdict = check(lambda head, h, targets, rows: cross_entropy(head(h), targets), "chunked_loss")
    assert f"  {row}\n" in verdict.text(language)
    label, _, figures = row.partition(": ")
    assert f">{label}</td>" in verdict.html(language)
    assert f">{figures}</td>" in verdict.html(language)


def test_figures_of_a_wrong_result_are_not_shown():
    wrong = program(exercises.find("chunked_loss"), "mean_of_means")
    assert "· bound" not in check(wrong, "chunked_loss").text("en")
