"""Feedback pages: which are made anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from autograder.cli import main
from support.course import Course
from support.first_gradient import CHECK, NAME


def test_only_stale_pages_are_made(flagged: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = flagged.copy(tmp_path)
    pages = {name: course.folder / "feedback" / name / NAME / f"{NAME}.html" for name in ("ann", "boris", "carl")}

    def made() -> set[str]:
        before = {name: page.stat().st_mtime_ns if page.exists() else 0 for name, page in pages.items()}
        assert main(["feedback", str(course.folder)]) == 0
        return {name for name, page in pages.items() if page.stat().st_mtime_ns != before[name]}

    assert made() == {"ann", "boris", "carl"}
    assert made() == set()
    course.give_by_hand("boris", CHECK, 2)
    assert made() == {"boris"}
    course.hand_in("carl", {})
    course.grade()
    assert made() == {"carl"}
    with course.gradebook() as gradebook:
        gradebook.find_submission_notebook(NAME, NAME, "ann").late_submission_penalty = 3
    assert made() == {"ann"}
    pages["ann"].unlink()
    assert made() == {"ann"}
    shutil.rmtree(course.folder / "autograded")
    assert main(["feedback", str(course.folder)]) == 1
    assert "grade it first" in capsys.readouterr().err
