"""Names of teams in Moodle's paths: any name is found again, in any version."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.grading.lms.moodle import Moodle
from support.lms.moodle import Assignment, Member

TEAM = st.text("абЁё aBz&<>?*|_/:'\"\\.-12;#amplt🦊`\u0308é", min_size=1, max_size=10).map(
    lambda text: " ".join(text.split())
)


@settings(max_examples=300, derandomize=True, database=None)
@given(team=TEAM.filter(bool), version=st.sampled_from([(3, 9), (4, 1), (5, 1)]), folders=st.booleans())
def test_a_path_has_a_spelling_of_the_team(team: str, version: tuple[int, int], folders: bool) -> None:
    member = Member(3, "Ann", "Lee", group=team)
    site = Assignment([member], version, teams=True, groups={team: 7}, folders=folders)
    origin = Moodle().origin(site._path(site._prefix(member), "file", "x.ipynb"))
    assert origin
    assert origin.numbers == (("7",) if version >= (4, 1) else ("3",))
    name = origin.name if version >= (4, 1) else origin.name.removesuffix("-Ann Lee")
    assert Moodle().name_in_path(name) in Moodle().team_spellings(team)


@pytest.mark.parametrize(
    ("team", "written"),
    [
        ("R & D", "R amp; D"),
        ("a < b", "a lt; b"),
        ("q?*|", "q__"),
        ("O'Neil & Co / 7_8", "ONeil amp; Co  7 8"),
        ("the <b>best</b>", "the best"),
    ],
)
def test_names_as_moodle_5_1_writes_them(team: str, written: str) -> None:
    assert Moodle().name_in_path(written) in Moodle().team_spellings(team)
