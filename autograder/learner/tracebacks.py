"""Explanations of torch's errors and warnings, shown in IPython below their text."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..language import LANGUAGES
from ..messages.learners import message
from ..messages.markup import aside, inline

# The table of explanations is imported when there is an error to explain: that takes 0.1 s.
if TYPE_CHECKING:
    from ..explained.entry import Explanation

KINDS = (
    *(RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError, AssertionError, LookupError),
    *(BufferError, UnboundLocalError),
)


def explain_torch_errors() -> None:
    """Make IPython show an explanation below a torch error or warning. Does nothing outside IPython."""
    try:
        from IPython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is not None:
        shell.set_custom_exc(KINDS, _show)
        explain_warnings()


def explain_warnings() -> None:
    """Show an explanation below a warning of torch: in IPython as a display, elsewhere on stderr."""
    if not isinstance(warnings.showwarning, _ExplainedWarnings):
        warnings.showwarning = _ExplainedWarnings(warnings.showwarning)


def explain_error(error: BaseException) -> Explanation | None:
    """Return the explanation of an error, or of the first of its causes that has one. Returns None if none has."""
    from ..explained.scene.frames import Scene
    from ..explained.table import explain

    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and not any(cause is each for each in seen):
        if found := explain(str(cause), Scene.of_error(cause)):
            return found
        seen.append(cause)
        cause = cause.__cause__
    return None


def as_text(found: Explanation, language: str | None) -> str:
    """Return an explanation as text in `language`, or in English and Russian if `language` is None."""
    return "\n".join(f"{says} {where}" for _, says, where in _sentences(found, language))


def as_html(found: Explanation, language: str | None) -> str:
    """Return an explanation as escaped HTML in `language`, or in English and Russian if `language` is None."""
    return aside(
        "".join(
            f'<div lang="{one}">{inline(says)} {inline(where)}</div>'
            for one, says, where in _sentences(found, language)
        )
    )


def _sentences(found: Explanation, language: str | None) -> Iterator[tuple[str, str, str]]:
    where = message("errors.exercise", lesson=f"`{found.lesson}`", exercise=f"`{found.exercise}`")
    for one in [language] if language else LANGUAGES:
        yield one, found.says.read(one), where.read(one)


def _show(shell: Any, kind: type[BaseException], error: BaseException, tb: Any, tb_offset: int | None = None) -> None:
    """Show an exception's usual traceback, then an explanation if there is one. IPython calls this handler."""
    shell.showtraceback((kind, error, tb), tb_offset=tb_offset, running_compiled_code=True)
    _display_explanation(explain_error(error))


class _ExplainedWarnings:
    """A replacement of `warnings.showwarning` that adds an explanation if there is one."""

    def __init__(self, show: Callable[..., None]) -> None:
        self._show = show

    def __call__(self, message: Warning | str, *where: Any, **more: Any) -> None:
        from ..explained.scene.frames import Scene
        from ..explained.table import explain

        self._show(message, *where, **more)
        _display_explanation(explain(str(message), Scene.of_warning(sys._getframe(1))))


def _display_explanation(found: Explanation | None) -> None:
    from ..session import SESSION, in_ipython

    if found is None:
        return
    text = as_text(found, SESSION.printed)
    if in_ipython():
        from IPython.display import display

        display({"text/plain": text, "text/html": as_html(found, SESSION.language)}, raw=True)
    else:
        print(text, file=sys.stderr)
