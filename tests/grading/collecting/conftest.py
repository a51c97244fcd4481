"""A course to collect into."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.course import Course


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course with one released assignment; nothing is handed in."""
    return Course.make(tmp_path / "course", languages=["en"])
