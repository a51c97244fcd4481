"""Files that nbgrader adds to a submission."""

from __future__ import annotations

from datetime import UTC

from nbgrader.utils import parse_utc

TIMESTAMP, SECRET = "timestamp.txt", "submission_secret.txt"  # written by nbgrader, and read before all others


def in_utc(text: str) -> str | None:
    """Return the time that nbgrader's file `timestamp.txt` states, in UTC as ISO 8601. `text` is the file's content.

    Returns None if the file is empty.
    Raises ValueError if the text is not a time.
    """
    return parse_utc(text.strip()).replace(tzinfo=UTC).isoformat() if text.strip() else None
