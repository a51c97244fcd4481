"""File names under which a browser runs nothing in students' files."""

from __future__ import annotations

import mimetypes

_INERT = {
    "application/gzip", "application/json", "application/octet-stream", "application/pdf", "application/x-tar",
    "application/zip", "image/bmp", "image/gif", "image/jpeg", "image/png", "image/webp", "text/csv", "text/plain",
    "text/x-python",
}  # fmt: skip


def inert_name(path: str) -> str:
    """Return a path under which a web server sends a file as text or data: `page.html` becomes `page.html.txt`.

    Formgrader serves the files beside a graded notebook from its own address (nbgrader, `SubmissionFilesHandler`). A
    script in a page or an SVG picture could act with the instructor's rights. Like the server, this function guesses
    the type from the suffix.
    """
    kind, _ = mimetypes.guess_type(path)
    return path if kind is None or kind in _INERT else f"{path}.txt"
