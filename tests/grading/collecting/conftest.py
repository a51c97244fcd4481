"""A course to collect into."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from support.course import Course
from support.first_gradient import SOLVED
from support.submissions import Submission, read


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course with one released assignment; nothing is handed in."""
    return Course.make(tmp_path / "course", languages=["en"])


@pytest.fixture
def work(course: Course) -> Callable[..., str]:
    """Return the text of a solved notebook. Another `mark` makes another notebook."""

    def make(mark: str = "") -> str:
        notebook = Submission("x", "en", SOLVED).notebook(read(course.released("en")))
        notebook.cells[0].source += f"\n{mark}"
        return str(nbformat.writes(notebook))

    return make
