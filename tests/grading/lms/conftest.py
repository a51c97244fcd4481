"""A course to collect into, and notebooks that can be told apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.course import Course


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course with one released assignment; nothing is handed in."""
    return Course.make(tmp_path / "course", languages=["en"])


@pytest.fixture
def marked(work: Callable[..., str]) -> Callable[[object], str]:
    """Return a function that makes a notebook with a mark (see `folder_mark`)."""
    return lambda mark: work(f"mark:{mark}!")
