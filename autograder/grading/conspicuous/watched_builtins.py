"""Versions of `getattr`, `setattr` and `delattr` that notice conspicuous names.

The names that they are asked for may be computed, so no reader of code can tell them.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .code_reader import Kind, is_usual
from .ordinary import SETTABLE, is_hidden, is_new, is_open, is_setting
from .protected_names import is_protected

Notice = Callable[[Kind, str], None]


def watched_builtins(notice: Notice, is_own: Callable[[str], bool]) -> dict[str, Callable[..., Any]]:
    """Return the three functions by name. They call `notice` with a kind and what is there.

    `is_own` tells whether a top module is the student's own.
    """

    def path_of(thing: object, name: str) -> str:
        """Return the dotted path of an attribute of other people's module or class, or an empty text."""
        if isinstance(thing, ModuleType):
            path = str(thing.__name__)
        elif isinstance(thing, type):
            path = f"{thing.__module__}.{thing.__qualname__}"
        else:
            return ""
        top = path.partition(".")[0]
        return "" if top == "__main__" or is_own(top) else f"{path}.{name}"

    def look_at_change(thing: object, name: str) -> None:
        path = path_of(thing, name)
        if path and not is_setting(path) and not is_new(path):
            notice(Kind.ASSIGNED, path)
        elif not path and name not in SETTABLE and (is_hidden(name) or is_protected(name, True)):
            notice(Kind.ASSIGNED, f"….{name}")

    def getattr(thing: object, name: str, *default: object) -> object:
        __tracebackhide__ = True
        text = _text(name)
        if is_hidden(text) and not isinstance(thing, ModuleType):
            notice(Kind.USED, text)
        found = builtins.getattr(thing, name, *default)
        path = path_of(thing, text) if isinstance(thing, ModuleType) else ""
        if path and not is_usual(path) and (isinstance(found, ModuleType) or not is_open(path)):
            notice(Kind.USED, path)
        return found

    def setattr(thing: object, name: str, value: object) -> None:
        __tracebackhide__ = True
        look_at_change(thing, _text(name))
        builtins.setattr(thing, name, value)

    def delattr(thing: object, name: str) -> None:
        __tracebackhide__ = True
        look_at_change(thing, _text(name))
        builtins.delattr(thing, name)

    return {each.__name__: each for each in (getattr, setattr, delattr)}


def _text(name: object) -> str:
    """Return the text that Python will look up, whatever a class of text says of itself."""
    return str.__str__(name) if isinstance(name, str) else ""
