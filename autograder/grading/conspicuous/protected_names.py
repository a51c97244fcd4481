"""Names that checks and measurements look up in objects of other people."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
import tempfile
import threading
import warnings
import weakref
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import torch

from .code_reader import inner_codes

_OURS = re.compile(
    r"autograder\.(measure|checking\.(allocations|observe|containment(\.\w+)?)|grading\.sandbox\.child\.(active_hooks|code_watch|guard|shell|threads|worker))"
)
_MEASURING = re.compile(
    rf"{_OURS.pattern}|contextlib|tempfile|threading|torch\._C\._(autograd|profiler)|torch\.autograd\.(graph|function)"
    r"|warnings|weakref|_weakrefset|torch\.utils\._python_dispatch"
)
_LIBRARIES = (contextlib, tempfile, threading, warnings, weakref)
_METHODS = (property, staticmethod, classmethod)


@functools.cache
def protected_names() -> frozenset[str]:
    """Return the names of what measurements rest on, and of what checks look up in torch and the standard library.

    Plain words such as "device" are left out where own objects have them as well.
    """
    measuring = {name for module in _modules(_MEASURING) for owner in _owners(module) for name in _callables(owner)}
    ours = [module for module in _modules(_OURS) for owner in _owners(module) for module in vars(owner).values()]
    codes = [each.__code__ for each in ours if isinstance(each, FunctionType)]
    looked_up = {name for code in codes for each in (code, *inner_codes(code)) for name in each.co_names}
    there = {name for owner in _LIBRARIES for name in _callables(owner)}
    there |= {name for owner in (torch, torch.Tensor) for name in _callables(owner) if not is_plain(name)}
    return frozenset({name for name in measuring if not is_plain(name)} | (looked_up & there) | {"equal", "peak"})


def is_protected(name: str, in_self: bool) -> bool:
    """Return whether no ordinary notebook sets an attribute of this name: in its own objects if `in_self`."""
    return name in protected_names() and not (in_self and is_plain(name))


def is_plain(name: str) -> bool:
    return name.islower() and "_" not in name


def _modules(names: re.Pattern[str]) -> Iterator[ModuleType]:
    yield from (each for name, each in [*sys.modules.items()] if each is not None and names.fullmatch(name))


def _owners(module: ModuleType) -> Iterator[Any]:
    """Yield a module, and the classes that are defined in it."""
    yield module
    yield from (each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__)


def _callables(owner: Any) -> Iterator[str]:
    yield from (name for name, each in vars(owner).items() if callable(each) or isinstance(each, _METHODS))
