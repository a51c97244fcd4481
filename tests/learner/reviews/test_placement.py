"""`placement()`: one row of each lesson's table, and what it proposes."""

import re

import pytest

import autograder
from autograder import exercises
from autograder.checking.judge import unobserved
from autograder.checking.verdict import VerdictState
from autograder.history import read_history, record, verdicts
from autograder.language import Note
from autograder.learner.progress.contents import Contents
from autograder.learner.reviews.schedule import make_schedule
from autograder.messages.learners import message
from autograder.session import SESSION, Session


def answers(shown, is_right):
    """Run the shown cell as a learner does who calls the function, or who does not know, and return what comes next."""
    cell = re.search(r"~~~~python\n(.*)\n~~~~", repr(shown), re.S)[1]
    name = re.search(r'placement\("(\w+)", answer\)', cell)[1]
    label = re.search(r"(?:for|для) (['\"])(.+?)\1[?]", cell)[2].replace("\\'", "'")
    function = re.search(r"# .*?(\w+)\(\)", cell.rpartition("# ")[1] + cell.rpartition("# ")[2])[1]
    value = f"{function}()[{label!r}]" if is_right else "..."
    namespace = {}
    source = cell.replace("answer = ...", f"answer = {value}").replace("placement(", "after = placement(")
    exec(source, namespace)
    return name, namespace["after"]


@pytest.mark.parametrize("language", ["en", "ru"], indirect=True)
def test_what_was_right_is_proposed_to_be_skipped(language):
    SESSION.language = "ru" if language == "en" else "en"
    shown, asked, wrong = autograder.placement(language=language), [], {2, 5}
    while not hasattr(shown, "rows"):
        name, shown = answers(shown, is_right=len(asked) not in wrong)
        asked.append(name)
        if len(asked) == 4:
            vars(SESSION).update(vars(Session(language=language)))  # a restart in between asks nothing again
            shown = autograder.placement()
    assert len(set(asked)) == len(asked) == len(shown.rows)
    said = {id: message(f"placement.{id}").read(language) for id in ("skip", "begin", "do")}
    proposed = [row[2] for row in shown.rows]
    assert proposed == [
        said["skip"] if n not in wrong else said["begin" if n == min(wrong) else "do"] for n in range(len(proposed))
    ]
    assert [*verdicts()] == []
    assert not make_schedule(read_history(), 4_000_000_000).due
    page = Contents(language)
    assert repr(page).count(message("contents.known").read(language)) == len(proposed) - len(wrong)
    third = shown.rows[2][0].split()[0]
    assert f"({third}_" in page._repr_markdown_().partition("|")[0]
    last = exercises.find(asked[-1]).lesson
    for exercise in exercises.load(last).values():
        record(unobserved(exercise, VerdictState.PASSED, Note("absent.withdrawn", {})))
    done = message("placement.finished").read(language)
    assert [row[2] for row in autograder.placement().rows] == [*proposed[:-1], done]


@pytest.mark.parametrize("language", ["en", "ru"], indirect=True)
def test_a_question_that_does_not_exist_and_a_graded_notebook(language, monkeypatch):
    unknown = message("placement.unknown", name="descend").read(language)
    assert str(autograder.placement("descend", 3)) == unknown
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert str(autograder.placement()) == message("run.checking", name="placement").read(language)
