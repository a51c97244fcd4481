"""HTML view of a backward pass, a frame for each step."""

from __future__ import annotations

import html
from collections.abc import Sequence

from ...look.image import readable_image
from .describe_steps import StepTelling
from .film import Frame, film

_SIDE_BY_SIDE = "display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start"
_LIST = "margin:.3em 0;flex:0 1 auto;max-width:24em"


def page(tell: StepTelling, pictures: Sequence[str]) -> str:
    """Return the steps as an HTML element. `pictures` holds the text of an SVG file for each step, or is empty."""
    frames = []
    for number, frame in enumerate(tell.frames):
        heading = tell.heading(number)
        items = "".join(f"<li>{html.escape(line)}</li>" for line in tell.lines(frame))
        drawn = readable_image(pictures[number], heading, "max-height:72vh") if number < len(pictures) else ""
        frames.append(Frame(heading, f'<div style="{_SIDE_BY_SIDE}"><ul style="{_LIST}">{items}</ul>{drawn}</div>'))
    marks = [tell.tell.say("steps.marks")] if pictures else []
    return film(frames, tell.title(), tell.language, [*tell.rest(), *tell.notes(), *marks])
