"""`play`: what a function shows at several values, behind one slider."""

from __future__ import annotations

import contextlib
import html
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from ..language import Note
from ..look.image import readable_image
from ..session import SESSION
from .plots.base import NotPlotted, figure_svg
from .render.film import Frame, film
from .text_form import text_is_enough

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Film:
    """A function's results at several values of one argument.

    `frames` are captions such as "K = 2", what was printed, and what was returned.
    """

    frames: tuple[tuple[str, str, object], ...]
    language: str

    def __repr__(self) -> str:
        return "\n\n".join(
            f"{caption}\n{printed}{'' if shown is None else repr(self._translated(shown))}".rstrip()
            for caption, printed, shown in self.frames
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        if text_is_enough():
            return {"text/plain": repr(self)}
        frames = [
            Frame(caption, _preformatted(printed) + self._html(caption, shown))
            for caption, printed, shown in self.frames
        ]
        return {"text/html": film(frames, "", self.language), "text/plain": repr(self)}

    def _html(self, caption: str, shown: object) -> str:
        """Return the HTML of what a function returned.

        Our pictures and matplotlib's figures are drawn, the rest is text.
        """
        if shown is None:
            return ""
        shown = self._translated(shown)
        if hasattr(shown, "savefig"):
            return readable_image(figure_svg(cast("Figure", shown)), caption)
        bundle: Any = shown._repr_mimebundle_(include={"text/html"}) if hasattr(shown, "_repr_mimebundle_") else {}
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        return str(data.get("text/html") or _preformatted(repr(shown)))

    def _translated(self, shown: object) -> object:
        """Return a picture of ours in the film's language, and anything else as it is."""
        if is_dataclass(shown) and not isinstance(shown, type) and "language" in {each.name for each in fields(shown)}:
            return replace(shown, language=self.language)
        return shown


def play(show: Callable[..., object], **values: Iterable[object]) -> Film | NotPlotted:
    """Call a function with each value of one argument, and show the results as a film with a slider.

    `play(curve, K=[1, 2, 4])` calls `curve(K=1)`, `curve(K=2)` and `curve(K=4)`. A frame shows what the call printed
    and what it returned: a picture of this course, a figure of matplotlib, or any object as text. Whatever the function
    raises, `play` raises. Turning the film needs no kernel, because all calls are made at once.
    """
    language = SESSION.speaks
    if len(values) != 1:
        return NotPlotted(language, Note("play.one_argument", {"count": len(values)}))
    ((name, several),) = values.items()
    frames = []
    for value in several:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            shown = show(**{name: value})
        frames.append((f"{name} = {value}", printed.getvalue(), shown))
    if not frames:
        return NotPlotted(language, Note("play.no_values", {"name": name}))
    return Film(tuple(frames), language)


def _preformatted(text: str) -> str:
    return f'<pre style="overflow-x:auto" tabindex="0">{html.escape(text)}</pre>' if text else ""
