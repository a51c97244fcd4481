"""Students' file names, harmless for browsers and terminals."""

from __future__ import annotations

import mimetypes
import re

# Types of scripts, and of documents in which a browser runs scripts (WHATWG's MIME Sniffing, 4.6). Viewers of PDF run
# theirs apart from the page's address.
_ACTIVE = re.compile(r"html|xml|script|shockwave|java")


def inert_name(path: str) -> str:
    """Return a path under which a web server sends a file as text or data: `page.html` becomes `page.html.txt`.

    Formgrader serves the files beside a graded notebook from its own address (nbgrader, `SubmissionFilesHandler`). A
    script in a page or an SVG picture could act with the instructor's rights. Like the server, this function guesses
    the type from the suffix.
    """
    kind, _ = mimetypes.guess_type(path)
    return f"{path}.txt" if kind and _ACTIVE.search(kind) else path


def one_line(text: str) -> str:
    """Return a student's text on one line, with control characters and undecodable bytes escaped.

    A file name with a line end would make up a line of its own in a terminal, a log or a table.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
