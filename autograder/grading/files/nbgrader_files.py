"""Files that nbgrader adds to a submission."""

from __future__ import annotations

from datetime import UTC

from nbgrader.utils import parse_utc

TIMESTAMP, SECRET = "timestamp.txt", "submission_secret.txt"  # written by nbgrader, and read before all others


def in_utc(text: str) -> str | None:
    """Return the time in nbgrader's file as ISO 8601, or None.

    Raises ValueError if the file holds something else.
    """
    return parse_utc(text.strip()).replace(tzinfo=UTC).isoformat() if text.strip() else None
