"""Explanations of torch's errors in notebooks, scripts and terminals."""

from __future__ import annotations

import re
import runpy
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..messages.learners import message
from ..messages.markup import unlinked
from ..session import SESSION
from .replies import Reply
from .tracebacks import as_html, as_text, explain_error, explain_warnings

if TYPE_CHECKING:
    from ..explained.entry import Explanation

# The last line of a traceback that was pasted: "RuntimeError: one of the variables ..."
_LAST_LINE = re.compile(r"^(?:[\w.]+\.)?\w*(?:Error|Exception|Warning): (?=\S)", re.M)
_SHOWN = 300  # characters of an unknown error
_LISTED = 8  # messages with a part that are shown
_WATCHED = 3  # steps of a script that are watched without being asked for
_PACKAGE = str(Path(__file__).parents[1])
_PART = 8  # characters that a part of a message has at least


@dataclass(frozen=True)
class Explained:
    """An explanation as text and HTML."""

    found: Explanation

    def __repr__(self) -> str:
        return unlinked(as_text(self.found, SESSION.printed))

    def _repr_html_(self) -> str:
        return as_html(self.found, SESSION.language)


def explain(error: BaseException | str | None = None) -> Explained | Reply:
    """Explain an error of torch's autograd: cause, cure, and the lesson with an exercise on it.

    `error` is an exception or the text of one, which may be a whole traceback. None stands for the last error that was
    shown in this session. A part of a message is enough if only one message has it. Returns a `Reply` if there is no
    error, if the course does not know it, or if several messages have the part.
    """
    if error is None:
        error = getattr(sys, "last_value", None)
    if error is None:
        return Reply((message("explain.nothing"),))
    if isinstance(error, BaseException):
        found, said = explain_error(error), f"{type(error).__name__}: {error}"
    else:
        from ..explained.table import explain as explain_text

        *_, said = _LAST_LINE.split(str(error).strip())
        found = explain_text(said)
        if found is None:
            having = _messages_with(said)
            if len(having) > 1:
                return Reply((message("explain.several", part=said), "\n".join([*having][:_LISTED])))
            found = next(iter(having.values()), None)
    return Explained(found) if found else Reply((message("explain.unknown", error=said[:_SHOWN]),))


def _messages_with(part: str) -> dict[str, Explanation]:
    """Return a dict from each message that the course explains and that has a part, to its explanation."""
    from ..explained.table import EXPLANATIONS
    from ..lessons.summary import readable

    words = re.sub(r"\d+", "…", " ".join(part.lower().split()))
    found: dict[str, Explanation] = {}
    for each in EXPLANATIONS if len(words) >= _PART else ():
        text = readable(each.pattern.pattern)
        if words in text.lower() and not each.shows:
            found.setdefault(text, each)
    return found


def run_and_explain(file: Path, arguments: Sequence[str], steps: int = 0) -> int:
    """Run a script as `python FILE ARGUMENTS` would, and explain the error that ends it and torch's warnings.

    The first steps of its optimizers are watched. With `steps` they are so many, and the script ends after them.
    Returns the exit status. Traceback and explanation go to stderr, what was found in the steps to stdout.
    """
    from ..inspection.script import ScriptWatch  # a notebook that explains an error has no use for it

    watch = ScriptWatch(steps or _WATCHED, ends=bool(steps))
    sys.argv = [str(file), *arguments]
    sys.path.insert(0, str(file.resolve().parent))
    explain_warnings()
    ended_by: Exception | None = None
    try:
        watch.run(partial(runpy.run_path, str(file), run_name="__main__"))
    except Exception as error:
        ended_by = error
    finally:
        nothing = [] if ended_by else [Reply((message("explain.no_findings", count=watch.number),))]
        if said := watch.reports or nothing:
            print(*said, sep="\n\n", flush=True)
    if ended_by is not None:
        _print_traceback(ended_by, str(file))
        print(f"\n{explain(ended_by)}", file=sys.stderr)
    return int(bool(ended_by or watch.reports))


def _print_traceback(error: Exception, file: str) -> None:
    """Print an error's traceback from the script on, without the frames of the watch."""
    printed = traceback.TracebackException.from_exception(error)
    frames = [*printed.stack]
    first = next((at for at, frame in enumerate(frames) if frame.filename == file), 0)
    printed.stack = traceback.StackSummary.from_list(
        [frame for frame in frames[first:] if not _is_of_watch(frame.filename)]
    )
    print("".join(printed.format()), end="", file=sys.stderr)


def _is_of_watch(file: str) -> bool:
    """Return whether a file is one of ours, or torch's own dispatch to a watching mode."""
    return file.startswith(_PACKAGE) or Path(file).parts[-2:] == ("torch", "overrides.py")
