"""`placement()`: one row of each lesson's table, and what it proposes."""

import ast
import re

import pytest

import autograder
from autograder import exercises
from autograder.checking.judge import unobserved
from autograder.checking.verdict import VerdictState
from autograder.history import read_history, record, verdicts
from autograder.language import Note
from autograder.learner.notebooks.headings import title_of_lesson
from autograder.learner.progress.contents import Contents
from autograder.learner.reviews import hard_rows as hard_rows_module
from autograder.learner.reviews.hard_rows import hard_rows, program_of, table_of
from autograder.learner.reviews.placement import _is_short, _tables_of
from autograder.learner.reviews.schedule import make_schedule
from autograder.lessons.variants import draw_table
from autograder.messages.learners import message
from autograder.session import SESSION, Session


def cell_of(shown):
    """Return the cell that a reply of `placement` shows outside IPython, its exercise and its rows."""
    cell = re.search(r"~~~~python\n(.*)\n~~~~", repr(shown), re.S)[1]
    name = re.search(r'placement\("(\w+)", answers', cell)[1]
    stub = cell.rpartition("answers = ")[2].partition("\n\n")[0]
    return cell, name, ast.literal_eval(stub)


def answered(shown, right):
    """Run the shown cell as a learner does who knows the first `right` rows, and return what comes next."""
    cell, _, rows = cell_of(shown)
    function = re.search(r"# .*?(\w+)\(\)", cell[cell.rindex("# ") :])[1]
    known = [
        f"{label!r}: {function}()[{label!r}]" if number < right else f"{label!r}: ..."
        for number, label in enumerate(rows)
    ]
    stub = re.search(r"answers = \{.*?\n\}", cell, re.S)[0]
    namespace = {}
    exec(cell.replace(stub, f"answers = {{{', '.join(known)}}}").replace("placement(", "after = placement("), namespace)
    return namespace["after"]


ALL = 99


@pytest.mark.parametrize("language", ["en", "ru"], indirect=True)
def test_what_was_right_is_proposed_to_be_skipped(language):
    SESSION.language = "ru" if language == "en" else "en"
    shown, asked, right = autograder.placement(language=language), [], {2: 1, 5: 0}
    while not hasattr(shown, "rows"):
        asked.append(cell_of(shown)[1])
        shown = answered(shown, right.get(len(asked) - 1, ALL))
        if len(asked) == 4:
            vars(SESSION).update(vars(Session(language=language)))  # a restart in between asks nothing again
            shown = autograder.placement()
    assert len(set(asked)) == len(asked)
    said = {id: message(f"placement.{id}").read(language) for id in ("skip", "do")}
    proposed = {row[0].partition(" ")[0]: row for row in shown.rows}
    by_lesson = {exercises.find(name).lesson: number for number, name in enumerate(asked)}
    for lesson in exercises.lessons():
        row = proposed.get(title_of_lesson(lesson, language).partition(" ")[0])
        if row is None:
            continue
        number = by_lesson.get(lesson)
        assert row[1] == ("" if number is None else "✗" if number in right else "✓")
        assert (row[2] == said["skip"]) == (number is not None and number not in right), row
    partly, unknown = (title_of_lesson(exercises.find(asked[number]).lesson, language) for number in (2, 5))
    (first,) = (row[2] for row in shown.rows if row[0] == partly)
    assert first.startswith(message("placement.begin", proposal="").read(language))
    assert f"`{asked[2]}`" in first
    assert first.count("`") == 4
    assert [row[2] for row in shown.rows if row[0] == unknown] == [said["do"]]
    assert [*verdicts()] == []
    assert not make_schedule(read_history(), 4_000_000_000).due
    page = Contents(language)
    assert repr(page).count(message("contents.known").read(language)) == len(asked) - len(right)
    assert f"({partly.split()[0]}_" in page._repr_markdown_().partition("|")[0]
    last = exercises.find(asked[-1]).lesson
    for exercise in exercises.load(last).values():
        record(unobserved(exercise, VerdictState.PASSED, Note("absent.withdrawn", {})))
    done = message("placement.finished").read(language)
    assert [row[2] for row in autograder.placement().rows if row[0] == title_of_lesson(last, language)] == [done]


def test_all_is_asked_again_about_other_programs():
    shown, first = autograder.placement(), {}
    while not hasattr(shown, "rows"):
        cell, name, _ = cell_of(shown)
        first[name] = cell
        shown = answered(shown, ALL)
    shown, second = autograder.placement(again=True), {}
    while not hasattr(shown, "rows"):
        cell, name, _ = cell_of(shown)
        second[name] = cell
        shown = answered(shown, 0)
    assert second.keys() == first.keys()
    assert all("variant=2" in cell and cell.replace(", variant=2", "") != first[name] for name, cell in second.items())
    assert not any(row[1] == "✓" for row in shown.rows)


def test_a_question_runs_its_own_table_alone(monkeypatch):
    """However many lessons there are: a table is run once for each of its mistakes."""
    run = []
    hard_rows_module._drawn.cache_clear()
    monkeypatch.setattr(hard_rows_module, "draw_table", lambda *given: run.append(given[0].name) or draw_table(*given))
    shown = autograder.placement()
    first = cell_of(shown)[1]
    assert run == [first]
    second = cell_of(answered(shown, 0))[1]
    assert {*run} == {first, second}


@pytest.mark.parametrize("lesson", exercises.lessons())
def test_a_question_is_hard_to_guess_and_short_to_read(lesson):
    """An entry that is no bool and no word of the table may be any number."""
    for table in _tables_of((lesson,)):
        for number in (1, 2, 3) if _is_short(table) else ():
            variant, code = table_of(table, number), program_of(table, number)
            rows = hard_rows(variant)
            words = {value for value in variant.right.values() if isinstance(value, str)}
            forms = [
                2
                if isinstance(variant.right[row], bool)
                else max(len(words), 2)
                if isinstance(variant.right[row], str)
                else 3
                for row in rows
            ]
            assert len(rows) >= 2
            assert max(forms) > 2 or len(rows) > 2, (lesson, rows)
            assert code.count("\n") < 75


@pytest.mark.parametrize("language", ["en", "ru"], indirect=True)
def test_a_question_that_does_not_exist_and_a_graded_notebook(language, monkeypatch):
    unknown = message("placement.unknown", name="descend").read(language)
    assert str(autograder.placement("descend", {})) == unknown
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert str(autograder.placement()) == message("run.checking", name="placement").read(language)
