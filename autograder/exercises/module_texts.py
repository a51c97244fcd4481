"""A lesson's modules, made from texts where files cannot be read."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..checking.exercise import Exercise


def modules_of(lesson: str, sources: Mapping[str, str]) -> dict[str, ModuleType]:
    """Run the source texts of a lesson's modules, and return a dict from name to module.

    `lesson` is the dotted name for the package. `sources` maps module names to texts, with the names that
    `exercises.module_files` uses. Afterwards the modules cannot be imported by name.
    Raises what a source raises.
    """
    with importable(lesson, {}, sources):
        return {name: importlib.import_module(_full(lesson, name)) for name in sources}


def defined_in(modules: Mapping[str, ModuleType]) -> dict[str, Exercise]:
    """Return a dict from name to exercise, in the order that `EXERCISES` of the package states.

    `modules` is a dict that `modules_of` returned.
    """
    return {name: getattr(modules[name], name) for name in modules[""].EXERCISES}


@contextmanager
def importable(lesson: str, modules: Mapping[str, ModuleType], sources: Mapping[str, str]) -> Iterator[None]:
    """Let code in the `with` block import a lesson's modules by name. This is a context manager.

    `lesson` is the dotted name of the package, `modules` a dict that `modules_of` returned. `sources` holds the texts
    of more modules, by module name.
    """
    above, bare = package_above(lesson), lesson.rpartition(".")[2]
    before, held = _forget(lesson), {name: each for name, each in vars(above).items() if name == bare}
    sys.modules.update({_full(lesson, name): module for name, module in modules.items()})
    finder = _Texts({_full(lesson, name): source for name, source in sources.items()})
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        _forget(lesson)
        sys.modules.update(before)
        vars(above).pop(bare, None)  # an import has made the package an attribute of its parent
        vars(above).update(held)


def package_above(lesson: str) -> ModuleType:
    """Return the package that a lesson's package is in. Private lessons are in `private_exercises`, without a file."""
    parent = lesson.rpartition(".")[0]
    above = sys.modules.setdefault(parent, ModuleType(parent))
    vars(above).setdefault("__path__", [])
    return above


def _full(lesson: str, name: str) -> str:
    return f"{lesson}.{name}" if name else lesson


def _forget(lesson: str) -> dict[str, ModuleType]:
    """Remove a package and its modules from `sys.modules`, and return them by full name."""
    names = [name for name in sys.modules if name == lesson or name.startswith(f"{lesson}.")]
    return {name: sys.modules.pop(name) for name in names}


class _Texts(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A finder and loader of modules whose sources are texts.

    `texts` maps full names of modules to sources.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname not in self._texts:
            return None
        inside = any(name.startswith(f"{fullname}.") for name in self._texts)
        return importlib.util.spec_from_loader(fullname, self, origin=f"<{fullname}>", is_package=inside)

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        exec(compile(self._texts[name], f"<{name}>", "exec", dont_inherit=True), vars(module))
