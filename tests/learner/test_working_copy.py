"""The working copy: brought up to date, with the student's answers."""

import json
import os
import re

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbgrader.utils import compute_checksum

from autograder.learner.notebooks.notebook_file import checksum
from autograder.learner.notebooks.working_copy import prepare_copy

NAME = "03_gradient_accumulation.ipynb"

ANSWER = "answer-accumulate_uneven"


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def cell_of(notebook, grade_id):
    (cell,) = (c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)
    return cell


def source(path, grade_id=ANSWER):
    return "".join(cell_of(read(path), grade_id)["source"])


def edit(path, text, grade_id=ANSWER, at=None):
    """Type `text` into an answer cell and save; `at` is the file's time in seconds."""
    notebook = read(path)
    cell_of(notebook, grade_id)["source"] = text
    path.write_text(json.dumps(notebook), encoding="utf-8")
    if at is not None:
        os.utime(path, (at, at))
    return path.read_bytes()


def publish(notebooks, change):
    """A newer version of the lesson, in both languages."""
    for path in notebooks.glob("*/*.ipynb"):
        notebook = read(path)
        change(notebook)
        path.write_text(json.dumps(notebook), encoding="utf-8")


def new_prose(notebook):
    notebook["cells"].insert(1, {"cell_type": "markdown", "id": "new", "metadata": {}, "source": "A new paragraph."})


def old_copies(work):
    return sorted(str(path.relative_to(work)) for path in work.glob("*/old/*"))


def test_a_fresh_copy_is_the_lesson(work, notebooks, capsys):
    prepare_copy(work, "ru", notebooks)
    assert read(work / "ru" / NAME) == read(notebooks / "ru" / NAME)
    assert old_copies(work) == []
    assert capsys.readouterr().out == ""


def test_a_second_time_touches_nothing(work, notebooks, capsys):
    prepare_copy(work, "en", notebooks)
    bytes_ = edit(work / "en" / NAME, "mine = 1")
    for _ in range(2):
        prepare_copy(work, "en", notebooks)
    assert (work / "en" / NAME).read_bytes() == bytes_
    assert old_copies(work) == []
    assert capsys.readouterr().out == ""


def test_a_newer_lesson_keeps_answers_and_the_old_copy(work, notebooks, capsys):
    prepare_copy(work, "en", notebooks)
    bytes_ = edit(work / "en" / NAME, "mine = 1")
    publish(notebooks, new_prose)
    prepare_copy(work, "en", notebooks)
    assert source(work / "en" / NAME) == "mine = 1"
    assert read(work / "en" / NAME)["cells"][1]["source"] == "A new paragraph."
    assert old_copies(work) == ["en/old/03_gradient_accumulation-1.ipynb"]
    assert (work / "en/old/03_gradient_accumulation-1.ipynb").read_bytes() == bytes_
    said = capsys.readouterr().out
    assert "Your answers carried over: 1." in said
    assert "old/03_gradient_accumulation-1.ipynb" in said

    publish(notebooks, new_prose)
    prepare_copy(work, "en", notebooks)
    assert len(old_copies(work)) == 2
    assert (work / "en/old/03_gradient_accumulation-1.ipynb").read_bytes() == bytes_


def test_an_untouched_answer_takes_the_new_stub(work, notebooks):
    prepare_copy(work, "en", notebooks)

    def new_stub(notebook):
        cell_of(notebook, ANSWER)["source"] = "def accumulate_uneven(model, batches): ..."

    publish(notebooks, new_stub)
    prepare_copy(work, "en", notebooks)
    assert source(work / "en" / NAME) == "def accumulate_uneven(model, batches): ..."


def test_an_answer_whose_exercise_is_gone_is_named(work, notebooks, capsys):
    prepare_copy(work, "ru", notebooks)
    edit(work / "ru" / NAME, "mine = 1")
    publish(notebooks, lambda notebook: notebook["cells"].remove(cell_of(notebook, ANSWER)))
    prepare_copy(work, "ru", notebooks)
    assert "в уроке больше нет: accumulate_uneven" in capsys.readouterr().out
    assert source(work / "ru/old/03_gradient_accumulation-1.ipynb") == "mine = 1"


def test_the_other_language_opens_with_the_answers(work, notebooks, capsys):
    prepare_copy(work, "en", notebooks)
    written = next(g for g in grade_ids(work / "en" / NAME) if g.startswith("written-"))
    edit(work / "en" / NAME, "mine = 1")
    edit(work / "en" / NAME, "In my words.", written)
    prepare_copy(work, "ru", notebooks)
    assert source(work / "ru" / NAME) == "mine = 1"
    assert source(work / "ru" / NAME, written) == "In my words."
    assert old_copies(work) == []
    assert re.search(r"перенесено ответов из .*en.*: 2\.", capsys.readouterr().out)


def grade_ids(path):
    return [c["metadata"]["nbgrader"]["grade_id"] for c in read(path)["cells"] if "nbgrader" in c["metadata"]]


def test_between_two_copies_the_latest_answer_wins(work, notebooks):
    now = 2_000_000_000
    prepare_copy(work, "en", notebooks)
    edit(work / "en" / NAME, "first = 1", at=now)
    prepare_copy(work, "ru", notebooks)
    bytes_ = edit(work / "ru" / NAME, "second = 2", at=now + 10)
    prepare_copy(work, "en", notebooks)
    assert source(work / "en" / NAME) == "second = 2"
    assert len(old_copies(work)) == 1

    edit(work / "en" / NAME, "third = 3", at=now + 20)
    prepare_copy(work, "ru", notebooks)
    assert source(work / "ru" / NAME) == "third = 3"
    assert (work / "ru/old/03_gradient_accumulation-1.ipynb").read_bytes() == bytes_


def test_an_older_answer_does_not_come_back_with_a_newer_file(work, notebooks):
    """The Russian file is saved last, but this answer in it is the older one."""
    now = 2_000_000_000
    prepare_copy(work, "en", notebooks)
    edit(work / "en" / NAME, "first = 1", at=now)
    prepare_copy(work, "ru", notebooks)
    edit(work / "en" / NAME, "second = 2", at=now + 10)
    edit(work / "ru" / NAME, "other = 0", "answer-accumulate_equal", at=now + 20)
    prepare_copy(work, "en", notebooks)
    assert source(work / "en" / NAME) == "second = 2"
    assert source(work / "en" / NAME, "answer-accumulate_equal") == "other = 0"


def test_an_untouched_cell_never_replaces_an_answer(work, notebooks):
    prepare_copy(work, "en", notebooks)
    prepare_copy(work, "ru", notebooks)
    bytes_ = edit(work / "ru" / NAME, "mine = 1")
    stub = source(notebooks / "en" / NAME)
    edit(work / "en" / NAME, stub, at=2_000_000_000)
    prepare_copy(work, "ru", notebooks)
    assert (work / "ru" / NAME).read_bytes() == bytes_


def test_own_cells_stay_when_only_answers_come_over(work, notebooks):
    prepare_copy(work, "en", notebooks)
    prepare_copy(work, "ru", notebooks)
    notebook = read(work / "en" / NAME)
    notebook["cells"].append({"cell_type": "markdown", "id": "own", "metadata": {}, "source": "My note."})
    (work / "en" / NAME).write_text(json.dumps(notebook), encoding="utf-8")
    edit(work / "ru" / NAME, "mine = 1", at=2_000_000_000)
    prepare_copy(work, "en", notebooks)
    assert source(work / "en" / NAME) == "mine = 1"
    assert read(work / "en" / NAME)["cells"][-1]["source"] == "My note."


BROKEN = {
    "cut off": b'{"cells": [{"cell_type": "co',
    "empty": b"",
    "a list": b"[]",
    "no cells": b'{"nbformat": 4}',
    "cells of a wrong kind": b'{"cells": [1, {"source": 3}]}',
    "no text": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_read_is_left_and_named(work, notebooks, capsys, data):
    prepare_copy(work, "ru", notebooks)
    (work / "ru" / NAME).write_bytes(data)
    publish(notebooks, new_prose)
    prepare_copy(work, "ru", notebooks)
    assert (work / "ru" / NAME).read_bytes() == data
    said = capsys.readouterr().out
    assert "не читается как тетрадь" in said
    assert "переименуйте" in said

    prepare_copy(work, "en", notebooks)
    assert read(work / "en" / NAME) == read(notebooks / "en" / NAME)
    assert "no answers were carried over" in capsys.readouterr().out


@pytest.mark.parametrize("state", [b"", b"[]", b'{"en/x.ipynb": 1}', b"not JSON"])
def test_a_lost_memory_loses_no_answer(work, notebooks, state):
    prepare_copy(work, "en", notebooks)
    bytes_ = edit(work / "en" / NAME, "mine = 1")
    (work / ".autograder.json").write_bytes(state)
    prepare_copy(work, "en", notebooks)
    assert source(work / "en" / NAME) == "mine = 1"
    assert (work / "en/old/03_gradient_accumulation-1.ipynb").read_bytes() == bytes_


def test_no_half_written_files(work, notebooks):
    prepare_copy(work, "en", notebooks)
    names = {path.name for path in work.rglob("*")}
    assert names == {"en", NAME, ".autograder.json"}


@settings(derandomize=True, database=None)
@given(
    st.sampled_from(["code", "markdown"]),
    st.text(max_size=20),
    st.fixed_dictionaries(
        {"grade_id": st.text(max_size=5)},
        optional={
            **{name: st.booleans() for name in ("grade", "solution", "locked", "task")},
            "points": st.integers(0, 9) | st.floats(0, 9),
        },
    ),
)
def test_the_checksum_of_a_cell_is_that_of_nbgrader(kind, source, about):
    cell = {"cell_type": kind, "source": source, "metadata": {"nbgrader": {"points": 1, **about}}}
    assert checksum(cell) == compute_checksum(nbformat.from_dict(cell))
