"""Helpers that tests share."""

from pathlib import Path

made_courses: Path  # course folders that were made in this run of the tests, by content; conftest sets it
