"""Files that are made to take the grader's time or memory: a limited process reads each."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from autograder.grade_ids import find_lost
from autograder.grading.files.notebook_file import Unreadable, parse_notebook
from autograder.grading.report.similar_answers import similar_answers
from autograder.grading.requests.found import find_requests
from support.limited import limited


def of_cells(*sources: str, kind: str = "markdown") -> bytes:
    cells = [{"cell_type": kind, "metadata": {}, "source": source} for source in sources]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def old_notebook(count: int) -> bytes:
    cells = [{"cell_type": "code", "input": "x", "outputs": [], "metadata": {"a": [{}] * 8}}] * count
    heading = {"cell_type": "heading", "level": 10**9, "source": ["a\n", "b"]}
    return json.dumps({"nbformat": 3, "metadata": {}, "worksheets": [{"cells": [heading, *cells]}]}).encode()


JSON = {
    "objects": b"[" + b'{"":{}},' * (8 << 20) + b"0]",
    "lists": b"[" + b"[]," * (20 << 20) + b"0]",
    "numbers": b"[" + b"0," * (40 << 20) + b"0]",
    "depth": b"[" * (10 << 20),
    "keys": b"{" + b'"":0,' * (12 << 20) + b'"":0}',
    "an unfinished text": b'"' + b"," * (90 << 20),
    "escapes": b'"' + b"\\\\," * (20 << 20) + b'"',
    "an old notebook": old_notebook(100_000),
}


@pytest.mark.parametrize("data", JSON.values(), ids=JSON)
def test_json_of_any_kind_costs_little(data: bytes) -> None:
    def work() -> None:
        with contextlib.suppress(Unreadable):
            parse_notebook(data, "x.ipynb")

    limited(work)


def test_many_commas_in_texts_are_no_values() -> None:
    text = '1, 2, {[\\"\\\\' * 1_000_000
    assert parse_notebook(of_cells(text, text), "x.ipynb")["cells"][1]["source"] == text


def test_an_old_notebook_is_converted_as_nbformat_does() -> None:
    cells = parse_notebook(old_notebook(1), "x.ipynb")["cells"]
    assert [cell["source"] for cell in cells] == ["###### a b", "x"]


LINES = ["\n" * 60_000 + "x", " " * 500_000 + "x", "> " * 200_000, "*_" * 200_000 + ":", ("regrade" + "*" * 50) * 9_000]


@pytest.mark.parametrize("text", LINES, ids=range(len(LINES)))
def test_a_cell_of_any_text_is_searched_for_requests(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.ipynb").write_bytes(of_cells(*[text] * 20))
    limited(lambda: list(find_requests(tmp_path)))


CODE = [
    "f'" + "{x}" * 300_000 + "'",
    "x = [" + "0," * 500_000 + "]",
    "(" * 5_000,
    "x = " + "-" * 400_000 + "1",
    "a." * 300_000,
]


@pytest.mark.parametrize("source", CODE, ids=range(len(CODE)))
def test_a_cell_of_any_code_is_compared_with_the_released_ones(source: str) -> None:
    limited(lambda: find_lost([("", source)] * 5, {"answer-x": "def x():\n    pass"}))


def test_long_answers_are_compared() -> None:
    answers = {who: "\n".join(f"x{line} = {line} + {who}" for line in range(40_000)) for who in ("a", "b")}
    limited(lambda: similar_answers({"exercise": answers}, {}))
