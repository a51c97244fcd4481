"""Students' file names on the lines of a terminal and at the addresses of a web server."""

from __future__ import annotations

import mimetypes

from hypothesis import given
from hypothesis import strategies as st

from autograder.grading.batch.end_of_run import results_table
from autograder.grading.files.inert_names import inert_name, one_line
from autograder.grading.submission.pipeline import Result, State

# What the browsers of today run, or show as a document with scripts (WHATWG's MIME Sniffing, 4.6).
ACTIVE = ("html", "xml", "script", "svg", "xslt", "mathml", "shockwave", "x-java")


@given(st.text())
def test_a_name_is_one_printable_line(name: str) -> None:
    assert one_line(name).isprintable()
    assert one_line(name) == name or not name.isprintable()


@given(st.text(), st.text(), st.text())
def test_no_name_makes_up_a_line_of_the_table(student: str, reason: str, note: str) -> None:
    shown = results_table("NAME", [Result(student, State.GRADED, 1.0, [], notes=[f"ignored: {note}", reason])])
    assert len(shown.split("\n")) == 5
    assert len(shown.splitlines()) == 5
    assert "\x1b" not in shown


def test_no_file_has_a_type_that_a_browser_runs() -> None:
    """A web server such as tornado tells the type by the suffix, as Python does."""
    suffixes = sorted({*mimetypes.types_map, *mimetypes.common_types, ".HTML", ".SvG", ".xht"})
    kinds = {each: mimetypes.guess_type(inert_name(f"folder/evil{each}"))[0] or "" for each in suffixes}
    assert [each for each, kind in kinds.items() if any(active in kind for active in ACTIVE)] == []


def test_data_and_pictures_keep_their_names() -> None:
    names = ["data.csv", "picture.png", "helper.py", "weights.pt", "notes.txt", "notes.md.gz", "x.ipynb", "Makefile"]
    assert [inert_name(name) for name in names] == names
