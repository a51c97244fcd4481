"""Lookup of exercises: one module per lesson, packaged or private.

The packaged modules are in this folder. A private notebook has its modules in `exercises/` next to it. `keys/` next to
the modules holds the built answer keys: observations, no solution code.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ..checking.exercise import Exercise
from ..language import Text
from ..messages.interface import message

PACKAGED = Path(__file__).parent


class Unknown(LookupError):
    """A missing lesson or exercise.

    `says` is a message for a learner that offers the nearest names.
    """

    def __init__(self, what: str, name: str, known: list[str]) -> None:
        names = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or known[:6]
        quoted = ", ".join(f"`{n}`" for n in names)
        nearest = message("unknown.nearest", names=quoted) if names else Text("", "")
        self.says = Text(
            message(f"unknown.{what}", name=name, nearest=nearest.en).en,
            message(f"unknown.{what}", name=name, nearest=nearest.ru).ru,
        )
        super().__init__(self.says.en)


_provided: dict[str, dict[str, Exercise]] = {}  # by lesson; filled in a process without access to the modules


def provide(lesson: str, known: dict[str, Exercise]) -> None:
    """Make `load` and `find` return these exercises from now on, in a graded process that has no modules."""
    _provided[lesson] = known


_loaded_from: dict[Path, None] = {}  # folders of modules loaded by path, anywhere: an author's


def folders() -> Iterator[Path]:
    """Yield the folders of exercise modules, the course's own first, so that a submitted file cannot shadow it.

    The others are looked up lazily, because most lookups need only the first.
    """
    yield PACKAGED
    for folder in dict.fromkeys([Path.cwd() / "exercises", *_loaded_from]):
        if folder != PACKAGED and folder.is_dir():
            yield folder


def lessons() -> list[str]:
    """Return the names of all lessons with exercises."""
    files = (path.stem for folder in folders() for path in folder.glob("*.py") if path.stem != "__init__")
    return sorted({*_provided, *files})


def bare(lesson: str) -> str:
    """Return a lesson's name without its number: gradient_accumulation for 03_gradient_accumulation."""
    number, _, rest = lesson.partition("_")
    return rest if number.isdigit() and rest else lesson


def load(lesson: str) -> dict[str, Exercise]:
    """Return the exercises of a lesson by name, in the order of its module. Raises Unknown."""
    if bare(lesson) in _provided:
        return _provided[bare(lesson)]
    path = _path(lesson)
    if path is None:
        raise Unknown("lesson", lesson, lessons())
    return load_file(path)


def _path(lesson: str) -> Path | None:
    """Return the path of a lesson's module, or None."""
    return next((path for folder in folders() if (path := folder / f"{bare(lesson)}.py").is_file()), None)


@cache
def load_file(path: Path) -> dict[str, Exercise]:
    """Return the exercises that one module defines, in its order."""
    module = _module(path)
    _loaded_from[path.parent] = None
    return defined_in(module)


def defined_in(module: ModuleType) -> dict[str, Exercise]:
    """Return the exercises of a module by name, in its order."""
    return {item.name: item for item in vars(module).values() if isinstance(item, Exercise)}


def module_of_source(name: str, source: str, file: str) -> ModuleType:
    """Run the source of an exercise module under `name`, without leaving it importable afterwards.

    Raises any exception of the source.
    """
    module = ModuleType(name)
    module.__file__ = file
    sys.modules[name] = module  # `inspect` looks a probe's module up by name
    try:
        exec(compile(source, file, "exec", dont_inherit=True), vars(module))
    finally:
        del sys.modules[name]
    return module


def _module(path: Path) -> ModuleType:
    if path.parent == PACKAGED:
        return importlib.import_module(f"{__name__}.{path.stem}")
    name = f"private_exercises.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # `inspect` looks a probe's module up by name
    spec.loader.exec_module(module)
    return module


def find(name: str, lesson: str | None = None) -> Exercise:
    """Return the exercise called `name`, in `lesson` or in any lesson. Raises Unknown."""
    if lesson is not None:
        found = load(lesson)
        if name in found:
            return found[name]
    everything = {exercise.name: exercise for each in lessons() for exercise in load(each).values()}
    if name in everything:
        return everything[name]
    raise Unknown("exercise", name, list(everything if lesson is None else load(lesson)))


def key_path(lesson: str) -> Path:
    """Return the path of a lesson's built key, which may not exist."""
    module = _path(lesson) or PACKAGED / f"{bare(lesson)}.py"
    return module.parent / "keys" / f"{module.stem}.json"


def keys(lesson: str) -> dict[str, Any]:
    """Return the built key of a lesson: JSON data by exercise, for `Expected.from_json`."""
    return _read_json(key_path(lesson))


@cache
def _read_json(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data
