"""Reviews and recall in a real terminal, one question after the other."""

import json
import os
import pty
import select
import subprocess
import sys

import pytest

from autograder import exercises
from autograder.history import QuestionKind, read_history
from autograder.learner.reviews.hard_rows import hard_rows
from autograder.learner.reviews.questions import question_on
from autograder.learner.reviews.schedule import DAY
from autograder.lessons.variants import draw_table
from autograder.messages.learners import message
from support.check import NAME, check, right

LONG = 60  # seconds without a sign of life


class Terminal:
    """A command of ours in a pseudo-terminal. It sees this test's history."""

    def __init__(self, *arguments):
        self.screen, self.ours, other = "", *pty.openpty()
        command = [sys.executable, "-m", "autograder", *arguments]
        self.process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, close_fds=True)
        os.close(other)

    def wait_for(self, text):
        """Read until `text` is on the screen, and return what stood before it."""
        while text not in self.screen:
            ready, _, _ = select.select([self.ours], [], [], LONG)
            assert ready, self.screen
            try:
                self.screen += os.read(self.ours, 65536).decode(errors="replace").replace("\r\n", "\n")
            except OSError:  # the end of the process
                break
        assert text in self.screen, self.screen
        before, _, self.screen = self.screen.partition(text)
        return before

    def type(self, text):
        os.write(self.ours, text.encode())

    def end(self):
        assert self.process.wait(LONG) == 0
        os.close(self.ours)


@pytest.fixture
def due(own_home):
    """Two exercises are due, one of them a table."""
    check(right)
    check(dict(draw_right("predict_accumulation")), "predict_accumulation")
    file = own_home / "progress.jsonl"
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    file.write_text("".join(f"{json.dumps({**line, 'time': line['time'] - 2 * DAY})}\n" for line in lines))


def draw_right(name):
    from autograder.exercises import key_of

    exercise = exercises.find(name)
    return key_of(exercise).expected.solution[0].values[exercise.aspects[0].name]


@pytest.mark.usefixtures("due")
@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_review_asks_here_and_counts(language):
    question = question_on(exercises.find(NAME), read_history(NAME).checks)
    terminal = Terminal("review", "--language", language)
    first = terminal.wait_for("1-3: ")
    assert message("review.title", count=2).read(language) in first
    terminal.type(f"{question.right}\n")
    terminal.wait_for(message("note.review.up", days=3).read(language))
    table = draw_table(exercises.find("predict_accumulation"), 1)
    rows = hard_rows(table)
    for label in rows:
        terminal.wait_for(f"{label}: ")
        terminal.type(f"{table.right[label] if label != rows[0] else 77}\n")
    told = terminal.wait_for(message("note.review.down").read(language))
    assert message("review.table.wrong", rows=f"`{rows[0]}`").read(language) in told
    terminal.end()
    kinds = [(each.question, each.variant) for each in read_history().checks if each.is_review]
    assert kinds == [(QuestionKind.MISTAKE, None), (None, 1)]


@pytest.mark.usefixtures("due")
def test_an_empty_line_skips_and_the_end_of_input_ends():
    terminal = Terminal("review", "--language", "en")
    terminal.wait_for("1-3: ")
    terminal.type("\n")
    terminal.wait_for(message("review.unreadable", name=NAME).read("en"))
    terminal.type("\x04")
    terminal.end()
    assert not any(each.is_review for each in read_history().checks)


@pytest.mark.parametrize(("language", "yes"), [("en", "y"), ("ru", "д")])
def test_recall_shows_our_answer_only_after_the_learners(language, yes):
    terminal = Terminal("recall", "06_saved_tensors", "--language", language)
    for place in range(2):
        asked = terminal.wait_for("> ")
        why = next(
            each.why
            for lesson in exercises.lessons()
            for each in exercises.load(lesson).values()
            if each.why and each.why.question.read(language) in asked
        )
        assert why.because.read(language) not in asked
        terminal.type("because\n")
        ours = terminal.wait_for(message("review.same").read(language))
        assert why.because.read(language) in ours
        terminal.type(f"{yes if place else 'n'}\n")
        terminal.wait_for("✓" if place else "✗")
    terminal.end()
    assert [each.verdict.state == "passed" for each in read_history().checks] == [False, True]


def test_without_a_terminal_nothing_is_asked(due):
    for arguments in (["review"], ["recall", "saved_tensors"]):
        command = [sys.executable, "-m", "autograder", *arguments]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONG)
        assert done.returncode == 0, done.stderr
        assert "> " not in done.stdout
        assert done.stdout.count("\n") >= 2
