"""THREATS.md: each of its lines names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder.authoring import built_files, trust
from support import attacks
from support.attacks.second_trial import SECOND

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "autograder" / "grading" / "THREATS.md").read_text(encoding="utf-8")
LINES = [line for line in TEXT.splitlines() if re.match(r"\* |\| (?!promise|lesson|all|\d\d_)", line)]
ATTACKS = {attack.name for attack in (*attacks.ALL, *SECOND)}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[2:50])
def test_a_line_names_its_tests(line: str) -> None:
    assert re.search(r"`tests/|attack \"", line)


def test_what_is_named_is_there() -> None:
    assert len(LINES) > 40
    named = set(re.findall(r"attack \"(.+?)\"(?=[,. )|])", TEXT))
    assert named <= ATTACKS, named - ATTACKS
    for path, name in re.findall(r"`(tests/[\w/]+(?:\.py|/))(?:::(\w+))?`", TEXT):
        assert (ROOT / path).exists(), path
        assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), name


def test_the_table_is_that_of_the_exercises() -> None:
    assert built_files.stale(trust.files()) == [], "autograder build summary"
