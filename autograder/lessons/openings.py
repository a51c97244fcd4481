"""The picture on a lesson's first screen, from a real run."""

from __future__ import annotations

import re
import runpy
from typing import TYPE_CHECKING

from ..cells import BrokenSource
from ..look.image import image
from .drawing import Drawing

if TYPE_CHECKING:
    from .source import Lesson

_FIRST_PARAGRAPH = re.compile(r"\A# .+\n\n(?:.+\n?)+")
_LOOK = "width:525px;max-width:100%;height:auto"


def opening_of(lesson: Lesson) -> Drawing | None:
    """Return the drawing that `opening()` in a lesson's file of that name returns, or None if there is no such file.

    The file is `openings/NAME.py` beside the lesson source. Raises BrokenSource if it cannot be run.
    """
    path = lesson.path.parent / "openings" / f"{lesson.name}.py"
    if not path.is_file():
        return None
    try:
        drawing = runpy.run_path(str(path))["opening"]()
    except Exception as error:
        raise BrokenSource(path, 1, f"opening() cannot be drawn: {type(error).__name__}: {error}") from error
    assert isinstance(drawing, Drawing)
    return drawing


def with_opening(source: str, drawing: Drawing, language: str) -> str:
    """Return the Markdown of a lesson's first cell with the drawing behind its first paragraph.

    The picture is part of the text, so it is seen before anything runs, also where no file may be beside a notebook.
    """
    shown = image(drawing.svg(language), drawing.says.read(language), _LOOK)
    return _FIRST_PARAGRAPH.sub(lambda found: f"{found[0].rstrip()}\n\n{shown}\n", source, count=1)
