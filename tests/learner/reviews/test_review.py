"""Reviews: a simulated month of several learners, and histories that are not as they should be."""

import datetime
import json
import linecache
import random
import re
import time

import pytest

import autograder
from autograder import cli, exercises
from autograder.checking.judge import unobserved
from autograder.checking.verdict import VerdictState
from autograder.exercises import key_of, misconceptions_of
from autograder.history import read_history, record
from autograder.language import Note
from autograder.learner.reviews.hard_rows import hard_rows
from autograder.learner.reviews.questions import Why, question_on
from autograder.learner.reviews.review import AT_ONCE, choose_questions
from autograder.learner.reviews.schedule import DAY, make_schedule
from autograder.learner.reviews.statement import state
from autograder.learner.reviews.wrong_answers import WhatIsWrong
from autograder.lessons.source import solutions
from autograder.lessons.variants import draw_table
from autograder.messages.learners import message
from autograder.session import SESSION, Session
from support.check import NAME as UNEVEN
from support.check import check, right
from support.exercises import program
from support.kernel import Kernel

EASY = ("predict_accumulation", "accumulate_equal", UNEVEN)
BEGIN = 1_800_000_000
LESSONS = exercises.lessons()  # a later test may provide more


class Clock:
    """A clock that a test turns on."""

    def __init__(self):
        self.now = BEGIN

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    return clock


@pytest.fixture
def answers(ran, exercises):
    """A right answer and one with a known mistake to each exercise of the month."""
    wrong = {name: program(exercises[name], next(iter(misconceptions_of(exercises[name])))) for name in EASY[1:]}
    wrong[EASY[0]] = {**ran.solutions[EASY[0]], "first": -32.0}
    return {name: {True: ran.solutions[name], False: wrong[name]} for name in EASY}


def shown():
    """The names that `review()` asks about."""
    return re.findall(r"^\*\*\d+\. .*`(\w+)`\*\*$", repr(autograder.review()), re.M)


def answer_to(name, is_right):
    """Return a right or a wrong answer to the next question on an exercise."""
    question = question_on(exercises.find(name), read_history(name).checks)
    if isinstance(question, Why):
        return is_right
    if isinstance(question, WhatIsWrong):
        return question.right if is_right else question.right % len(question.options) + 1
    table = draw_table(question.exercise, question.number)
    return dict(table.right if is_right else next(iter(table.mistaken.values())))


def today():
    return datetime.date.fromtimestamp(time.time()).isoformat()


def answer(name, is_right):
    """Answer the next question on an exercise today, and return what `review` says."""
    return repr(autograder.review({name: answer_to(name, is_right)}, asked=today()))


def days_after(now, days):
    """The first moment of the day that comes so many days after `now`."""
    return time.mktime((*time.localtime(now)[:2], time.localtime(now)[2] + days, 0, 0, 0, 0, 0, -1))


def restart():
    vars(SESSION).update(vars(Session(language="en", lesson="gradient_accumulation")))


# For each habit: on which days the learner comes, how many reviews are answered then, and how often they are right.
HABITS = {
    "diligent": (lambda day: True, 3, 1.0),
    "forgetful": (lambda day: True, 3, 0.6),
    "on weekends": (lambda day: day % 7 in (5, 6), 3, 0.8),
    "one a day": (lambda day: True, 1, 0.9),
    "runs old notebooks again": (lambda day: True, 0, 1.0),
    "tries wrong answers out": (lambda day: True, 3, 1.0),
}


@pytest.mark.parametrize("habit", HABITS)
def test_in_a_month_what_is_due_and_only_that_is_shown(habit, clock, answers):
    """The expectation is kept as the learner goes: the next time of each exercise. The history is not read for it."""
    comes, reviews, skill = HABITS[habit]
    dice = random.Random(habit)
    waits, steps, mistaken = {}, {}, set()  # of each exercise: the next day and the last time; right reviews in a row
    for day in range(32):
        clock.now = BEGIN + day * (DAY + 60)
        restart()
        due = sorted(
            (name for name in waits if waits[name][0] <= clock.now), key=lambda n: (n not in mistaken, *waits[n])
        )
        assert shown() == due
        for name in due[:reviews] if comes(day) else []:
            clock.now += 5
            is_right = dice.random() < skill
            assert answer(name, is_right).startswith("✓" if is_right else "✗")
            steps[name] = steps[name] + 1 if is_right else 0
            mistaken |= {name} if name == EASY[0] and not is_right else set()  # its wrong table is recognised
            waits.pop(name)
            if steps[name] < 4:
                waits[name] = (days_after(clock.now, (1, 3, 7, 21)[steps[name]]), clock.now)
            clock.now += 5
            check(answers[name][True], name)  # mended at once: no review
        if not reviews:
            restart()  # a new kernel in which nobody asked for reviews
            for name in steps:
                check(answers[name][True], name)
        if habit == "tries wrong answers out" and day % 6 == 5:  # which moves nothing down, but is a misconception
            restart()
            for name in steps:
                check(answers[name][False], name)
                mistaken.add(name)
        if day < len(EASY):  # an exercise a day is done for the first time
            name = EASY[day]
            clock.now += 5
            if dice.random() > skill:
                mistaken.add(name)
                check(answers[name][False], name)
            check(answers[name][True], name)
            waits[name], steps[name] = (days_after(clock.now, 1), clock.now), 0
    if habit == "diligent":
        assert set(steps.values()) == {3}
        assert not shown()
        clock.now += 22 * DAY
        assert len(shown()) == len(EASY)


def test_what_a_review_says_on_its_place(language, clock):
    check(right)
    said = []
    for days, is_right in ((1, True), (3, False), (1, True), (3, True), (7, True), (21, True)):
        clock.now += days * DAY
        assert shown() == [UNEVEN]
        said.append(answer(UNEVEN, is_right))
        assert [note.id for note in check(right).notes] == ["note.why"]
    ids = ("up", "down", "up", "up", "up", "last")
    for sentence, id, days in zip(said, ids, (3, None, 3, 7, 21, None)):
        assert message(f"note.review.{id}", days=days).read(language) in sentence
    clock.now += 400 * DAY
    assert shown() == []


def test_an_answer_of_an_old_cell_counts_for_nothing(language, clock):
    check(right)
    clock.now += 2 * DAY
    asked, told = today(), answer_to(UNEVEN, is_right=False)
    assert repr(autograder.review({UNEVEN: ...}, asked=asked)) == message("review.left", count=1).read(language)
    answer(UNEVEN, is_right=False)
    lines = len(read_history().checks)
    old = message("review.not_counted", name=UNEVEN).read(language)
    assert old in repr(autograder.review({UNEVEN: told}, asked=asked))  # the same cell, run again
    clock.now += DAY
    assert shown() == [UNEVEN]
    assert old in repr(autograder.review({UNEVEN: told}, asked=asked))  # and on the next day
    for day in ("", "yesterday", "2026-13-01"):
        assert old in repr(autograder.review({UNEVEN: told}, asked=day))
    assert len(read_history().checks) == lines
    clock.now += DAY
    asked = today()
    clock.now += DAY / 2  # answered after midnight
    assert old not in repr(autograder.review({UNEVEN: answer_to(UNEVEN, is_right=True)}, asked=asked))


@pytest.mark.parametrize("wrong", [0, 4, "2", None, True, {}])
def test_what_is_no_answer_is_skipped_and_told(wrong, language, clock):
    check(right)
    clock.now += 2 * DAY
    assert isinstance(question_on(exercises.find(UNEVEN), ()), WhatIsWrong)
    skipped = message("review.unreadable", name=UNEVEN).read(language)
    assert skipped in repr(autograder.review({UNEVEN: wrong}, asked=today()))
    assert shown() == [UNEVEN]


def test_a_table_is_asked_in_its_hard_rows_and_one_left_open_is_wrong(language, clock):
    check(dict(key_of(exercises.find(EASY[0])).expected.solution[0].values["table"]), EASY[0])
    clock.now += 2 * DAY
    table = draw_table(exercises.find(EASY[0]), 1)
    rows = hard_rows(table)
    assert 2 <= len(rows) < len(table.right)
    empty = dict.fromkeys(rows, ...)
    assert message("review.unreadable", name=EASY[0]).read(language) in repr(
        autograder.review({EASY[0]: empty}, asked=today())
    )
    said = repr(autograder.review({EASY[0]: {**empty, rows[0]: table.right[rows[0]]}}, asked=today()))
    assert message("review.table.wrong", rows=", ".join(f"`{row}`" for row in rows[1:])).read(language) in said


def test_a_day_asks_for_ten_minutes_and_says_what_is_left(language, clock):
    """After a long day everything is due together. Each call takes ten minutes, and what was answered is gone."""
    core = [each for lesson in LESSONS for each in exercises.load(lesson).values() if each.core]
    for each in core:
        record(unobserved(each, VerdictState.PASSED, Note("absent.withdrawn", {})))
    clock.now += 2 * DAY
    for left in range(len(core), 0, -1):
        questions, whole = choose_questions(make_schedule(read_history(), clock.now).due, read_history().checks)
        assert not whole
        assert questions
        assert len(questions) == 1 or sum(each.minutes for each in questions) <= AT_ONCE
        page = repr(autograder.review())
        assert f" {left}." in page.splitlines()[0]
        if left < len(core) - 3:
            break
        said = answer(questions[0].exercise.name, is_right=True)
        assert message("review.left", count=left - 1).read(language) in said


def history(home, *lines):
    (home / "progress.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def line_of(own_home, changes=lambda data: None):
    data = json.loads((own_home / "progress.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    changes(data)
    return json.dumps(data, ensure_ascii=False)


TROUBLES = {
    "ahead": ("dated later", "датой позже", lambda data: data.update(time=BEGIN + 900 * DAY)),
    "foreign": ("another version", "другой версии", lambda data: data["verdict"].update(new_field=1)),
    "gone": ("perhaps renamed", "переименованы", lambda data: data["verdict"].update(exercise="former_name")),
    "changed": ("Changed since", "Изменились", lambda data: data["verdict"].update(version=0)),
    "broken": ("Damaged lines", "Повреждённых строк", None),
}


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("language", ["en", "ru"], indirect=True)
def test_a_history_that_is_not_as_it_should_be_is_told_and_kept(trouble, language, clock, own_home, capsys):
    english, russian, changes = TROUBLES[trouble]
    told = {"en": english, "ru": russian}[language]
    check(right)
    good = line_of(own_home)
    bad = good[:90] if changes is None else line_of(own_home, changes)
    history(own_home, good, bad)
    clock.now += 2 * DAY
    assert shown() == [UNEVEN]
    assert len(re.findall(told, repr(autograder.review()))) == 1
    assert cli.main(["review", "--language", language]) == 0
    printed = capsys.readouterr().out
    assert told in printed
    assert f"`{UNEVEN}`" in printed
    check(right)
    lines = (own_home / "progress.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines[:2] == [good, bad]
    assert len(lines) == 3
    # Also when nothing else is due. The exercise that had changed has passed by now.
    assert (told in repr(autograder.review())) == (trouble != "changed")


def test_a_line_that_a_dead_kernel_left_unfinished_spoils_no_other(language, clock, own_home):
    check(right)
    with (own_home / "progress.jsonl").open("a") as file:
        file.write('{"time": 1, "verd')
    clock.now += 1  # equal checks of one second count once
    check(right)
    assert len([*autograder.history.verdicts()]) == 2


def test_a_line_separator_in_a_text_and_other_bytes_lose_no_check(language, clock, own_home):
    check(right)
    note = {"id": "x", "parameters": {"text": "\u2028"}}
    strange = line_of(own_home, lambda data: data["verdict"]["notes"].append(note))
    (own_home / "progress.jsonl").write_bytes(f"{strange}\n".encode() + b"\xff\xfe\n")
    assert len([*autograder.history.verdicts()]) == 1


def test_a_clock_set_back_makes_no_review_wait(language, clock):
    check(right)
    clock.now -= 900 * DAY
    assert shown() == [UNEVEN]
    answer(UNEVEN, is_right=True)
    assert shown() == []


def test_without_write_access_reviews_count_in_this_kernel(language, clock, own_home, monkeypatch):
    check(right)
    (own_home / "progress.jsonl").rename(own_home / "kept")
    (own_home / "progress.jsonl").mkdir()  # a folder in place of the file: nobody can write, not even root
    clock.now += 2 * DAY
    assert "AUTOGRADER_HOME" in repr(autograder.review())
    (own_home / "progress.jsonl").rmdir()
    monkeypatch.setenv("AUTOGRADER_HOME", str(own_home / "kept" / "inside"))
    check(right)
    clock.now += 2 * DAY
    assert shown() == [UNEVEN]
    assert message("note.review.up", days=3).read(language) in answer(UNEVEN, is_right=True)
    monkeypatch.setenv("AUTOGRADER_HOME", str(own_home))
    check(right)  # all that was kept in memory is written now


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.parametrize("language", ["en", "ru"], indirect=True)
def test_a_kernel_gets_a_new_cell_and_counts_it_once(language, own_home, tmp_path):
    check(right)
    history(own_home, line_of(own_home, lambda data: data.update(time=1_600_000_000)))
    kernel = Kernel(tmp_path / "notes.ipynb", {"AUTOGRADER_HOME": str(own_home)})
    try:
        start = f'from autograder import check, review, start; start("gradient_accumulation", language="{language}")'
        assert message("start.kernel").read(language) in kernel.run(start)
        assert message("start.kernel").read(language) not in kernel.run(start)  # this kernel is not new any more
        asked = kernel.client.execute("review()")
        while (reply := kernel.client.get_shell_msg(timeout=120))["parent_header"]["msg_id"] != asked:
            pass
        (new,) = [each for each in reply["content"]["payload"] if each["source"] == "set_next_input"]
        assert not new["replace"]
        assert f'"{UNEVEN}": ...,  # ' in new["text"]
        told = new["text"].replace("...", str(answer_to(UNEVEN, is_right=True)))
        assert message("note.review.up", days=3).read(language) in kernel.run(told)
        assert message("review.not_counted", name=UNEVEN).read(language) in kernel.run(told)
        assert message("review.none").read(language) in kernel.run("review()")
    finally:
        kernel.close()


LATER = pytest.mark.nightly(
    twin="tests/learner/reviews/test_review.py::test_the_cell_of_a_review_needs_nothing_of_the_lesson"
)


@pytest.mark.parametrize(
    "lesson", [name if name == "engine" else pytest.param(name, marks=LATER) for name in exercises.lessons()]
)
def test_the_cell_of_a_review_needs_nothing_of_the_lesson(lesson):
    """The solution passes in place of the stub, in a namespace that has nothing else."""
    for name, exercise in exercises.load(lesson).items():
        above, _, _ = state(exercise, "ru").cell.rpartition("from autograder import check")
        source = f"{above}\n{solutions(exercise)[0]}\nfrom autograder import check\nresult = check({name!r})\n"
        file, namespace = f"<review of {name}>", {}
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
        exec(compile(source, file, "exec"), namespace)
        assert namespace["result"].state == VerdictState.PASSED, namespace["result"].text("en")
