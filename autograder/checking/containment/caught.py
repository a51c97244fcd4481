"""Exceptions that a probe caught, and the learner's lines that failed."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType, TracebackType
from typing import Any

SHOWN = 300  # characters of a print, a warning or an error that reach a card
_DEEPEST = 3  # lists and dicts inside each other that are searched

# One frame of a traceback: the `id` of its globals, its file and its line.
Place = tuple[int, str, int]


@dataclass(frozen=True)
class Spot:
    """Details of an exception, for a card.

    `line` and `code` are the learner's line that failed. `line` is None if no line of the learner's failed. `explained`
    is the name of an explanation, or "" if the course has none. `said` is the error with its message.
    """

    line: int | None = None
    code: str = ""
    explained: str = ""
    said: str = ""


NOWHERE = Spot()


@dataclass(frozen=True)
class Caught:
    """An exception in a probe's observation, in place of a value.

    `text` is what comparisons see, and `said` what a card shows. `places` are the frames of the traceback. The
    exception itself is not kept, because it would keep tensors alive.
    """

    text: str
    said: str
    places: tuple[Place, ...]
    explained: str

    @classmethod
    def of(cls, error: BaseException, text: str | None = None) -> Caught:
        """Return the record of an exception.

        `text` is needed if the message differs between runs or between right answers: it stands in its place in
        comparisons.
        """
        said = ": ".join(filter(None, (type(error).__name__, message_of(error))))
        return cls(said if text is None else text, said, places_of(error), explained(error))


def error_kind(error: BaseException) -> str:
    """Return the name of an exception's class, or of the nearest base of a learner's own class."""
    libraries = ("builtins", "torch")
    return next(each.__name__ for each in type(error).__mro__ if each.__module__.partition(".")[0] in libraries)


def or_error(observe: Callable[..., object], *arguments: Any) -> object:
    """Return what `observe(*arguments)` returns, or the exception that it raises.

    Comparisons see the exception's type alone.
    """
    try:
        return observe(*arguments)
    except Exception as error:
        return Caught.of(error, error_kind(error))


def message_of(error: BaseException) -> str:
    """Return the text of an exception in one line, shortened to fit on a card."""
    try:
        return textwrap.shorten(str(error), SHOWN, placeholder=" …")
    except Exception:  # an exception class of the answer may be broken as well
        return ""


def explained(error: BaseException) -> str:
    """Return the name of the explanation of an error where it was raised, or ""."""
    from ...explained.scene.frames import Scene  # imported here: expected results depend on no wording
    from ...explained.table import explain

    try:
        found = explain(str(error), Scene.of_error(error))
    except Exception:  # objects of the learner's may raise anything when they are looked at
        return ""
    return found.name if found else ""


def places_of(error: BaseException) -> tuple[Place, ...]:
    return tuple(_places(error.__traceback__))


def _places(tb: TracebackType | None) -> Iterator[Place]:
    while tb is not None:
        yield id(tb.tb_frame.f_globals), tb.tb_frame.f_code.co_filename, tb.tb_lineno
        tb = tb.tb_next


def learners_line(places: tuple[Place, ...], answer: object) -> tuple[int | None, str]:
    """Return number and source of the innermost line that is in the answer's notebook or file.

    Returns None and "" if no line is.
    """
    functions = functions_of(answer)
    namespace = functions[0].__globals__ if functions else None
    inside = [place for place in places if namespace is not None and place[0] == id(namespace)]
    if not inside:
        return None, ""
    _, file, line = inside[-1]
    return line, linecache.getline(file, line, namespace).strip()


def spots_in(found: Mapping[str, Any], answer: object) -> dict[str, Spot]:
    """Return what a card says of each exception in an observation.

    The keys are the name of an aspect, a colon, and the place in its value as `compare` names it: `table:grads[0]`.
    """
    spots: dict[str, Spot] = {}
    for name, value in found.items():
        for place, caught in _caught_in(value, _DEEPEST):
            line, code = learners_line(caught.places, answer)
            spots[f"{name}:{place}"] = Spot(line, code, caught.explained, caught.said)
    return spots


def _caught_in(value: Any, depth: int, is_inside: bool = False) -> Iterator[tuple[str, Caught]]:
    """Yield the caught exceptions in a value, with their places. Only keys above one are written.

    A learner's table may have keys that cannot be written, such as `10**5000`.
    """
    if type(value) is Caught:
        yield "", value
    elif depth and type(value) is dict:
        for key, item in value.items():
            for place, caught in _caught_in(item, depth - 1, True):
                yield (f"[{key!r}]" if is_inside else str(key)) + place, caught
    elif depth and type(value) in (list, tuple):
        for index, item in enumerate(value):
            for place, caught in _caught_in(item, depth - 1, True):
                yield f"[{index}]{place}", caught


def functions_of(answer: object) -> list[FunctionType]:
    """Return the functions of an answer: a list of the answer itself, or of the methods of a class.

    The list is empty if the answer is a table of predictions.
    """
    members = vars(answer).values() if isinstance(answer, type) else [answer]
    unwrapped = [getattr(member, "__func__", member) for member in members]
    return [function for function in unwrapped if isinstance(function, FunctionType)]
