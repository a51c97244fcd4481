"""Lookup of exercises: a package per lesson, a module per exercise, ours or private.

`EXERCISES` in a lesson's package lists its exercises in order. Each is in the module of its name, and `key.json` holds
the built answer key: observations, no solution code. A private notebook has its lesson in `exercises/` next to it. A
private lesson may also be a single module, with its key in `keys/`.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ..checking.exercise import Exercise
from ..language import Text
from ..messages.cards import message

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


_loaded_from: dict[Path, None] = {}  # folders of lessons loaded by path, anywhere: an author's


def folders() -> Iterator[Path]:
    """Yield the folders of lessons, the course's own first, so that a submitted file cannot shadow it.

    The others are looked up lazily, because most lookups need only the first.
    """
    yield PACKAGED
    for folder in dict.fromkeys([Path.cwd() / "exercises", *_loaded_from]):
        if folder != PACKAGED and folder.is_dir():
            yield folder


def lessons() -> list[str]:
    """Return the names of all lessons with exercises."""
    return sorted({*_provided, *(path.stem for folder in folders() for path in lesson_paths(folder))})


def bare(lesson: str) -> str:
    """Return a lesson's name without its number: gradient_accumulation for 03_gradient_accumulation."""
    number, _, rest = lesson.partition("_")
    return rest if number.isdigit() and rest else lesson


def load(lesson: str) -> dict[str, Exercise]:
    """Return the exercises of a lesson by name, in its order. Raises Unknown."""
    if bare(lesson) in _provided:
        return _provided[bare(lesson)]
    path = _path(lesson)
    if path is None:
        raise Unknown("lesson", lesson, lessons())
    return load_path(path)


def find(name: str, lesson: str | None = None) -> Exercise:
    """Return the exercise called `name`, in `lesson` or in any lesson. Raises Unknown.

    Imports one module if the lesson is a package.
    """
    for each in lessons() if lesson is None else [lesson, *lessons()]:
        path = None if bare(each) in _provided else _path(each)
        if path is not None and (path / f"{name}.py").is_file() and name in _listed(path):
            return _exercise(path, name)
        if (path is None or path.is_file() or each == lesson) and name in (known := load(each)):
            return known[name]
    here = lessons() if lesson is None else [lesson]
    raise Unknown("exercise", name, [known for each in here for known in load(each)])


def _path(lesson: str) -> Path | None:
    """Return the path of a lesson's package or single module, or None."""
    return next((path for folder in folders() if (path := lesson_path(folder, bare(lesson)))), None)


def lesson_paths(folder: Path) -> Iterator[Path]:
    """Yield the packages and single modules of the lessons in `folder`."""
    yield from sorted(file.parent for file in folder.glob("*/__init__.py"))
    yield from sorted(file for file in folder.glob("*.py") if file.stem != "__init__")


def lesson_path(folder: Path, name: str) -> Path | None:
    """Return the path of the package or single module of a lesson in `folder`, or None."""
    found = (each for each in (folder / name / "__init__.py", folder / f"{name}.py") if each.is_file())
    file = next(found, None)
    return file.parent if file and file.stem == "__init__" else file


def module_files(path: Path) -> dict[str, Path]:
    """Return the files of a lesson by module name. The name of a package's `__init__`, or a single module, is ""."""
    if path.is_file():
        return {"": path}
    return {"" if file.stem == "__init__" else file.stem: file for file in sorted(path.glob("*.py"))}


def path_of(exercise: Exercise) -> Path:
    """Return the path of the package or single module in which `exercise` is defined."""
    file = Path(inspect.getfile(exercise.probe))
    in_package = file.parent.name == exercise.lesson and (file.parent / "__init__.py").is_file()
    return file.parent if in_package else file


@cache
def load_path(path: Path) -> dict[str, Exercise]:
    """Return the exercises of one lesson, in its order. Raises ImportError, and any exception of a module."""
    names = _listed(path) if path.is_dir() else ()
    return {name: _exercise(path, name) for name in names} if names else defined_in({"": _module(path)})


def defined_in(modules: Mapping[str, ModuleType]) -> dict[str, Exercise]:
    """Return the exercises of a lesson by name, in its order, from its modules by name."""
    own = modules[""]
    if hasattr(own, "EXERCISES"):
        return {name: getattr(modules[name], name) for name in own.EXERCISES}
    return {item.name: item for item in vars(own).values() if isinstance(item, Exercise)}


def modules_of(lesson: str, sources: Mapping[str, str]) -> dict[str, ModuleType]:
    """Run the sources of a lesson's modules, without leaving them importable afterwards.

    `lesson` is the dotted name of its package or single module. `sources` holds texts by module name, as `module_files`
    does, in an order in which each imports only from those before. Raises any exception of a source.
    """
    full = {name: f"{lesson}.{name}" if name else lesson for name in sources}
    made = {name: ModuleType(full[name]) for name in sources}
    sys.modules.update({full[name]: module for name, module in made.items()})  # for their relative imports
    try:
        for name, source in sources.items():
            made[name].__package__, made[name].__file__ = lesson, f"<{full[name]}>"
            exec(compile(source, f"<{full[name]}>", "exec", dont_inherit=True), vars(made[name]))
    finally:
        for each in full.values():
            del sys.modules[each]
    return made


@cache
def _listed(path: Path) -> tuple[str, ...]:
    """Return the names of a package's exercises. Raises ImportError if it has no list of them."""
    listed = getattr(_module(path), "EXERCISES", None)
    if not isinstance(listed, tuple):
        raise ImportError(f'list the lesson\'s exercises in order: EXERCISES = ("first", "second"), not {listed!r}')
    return listed


def _exercise(path: Path, name: str) -> Exercise:
    if not (path / f"{name}.py").is_file():
        raise ImportError(f"EXERCISES names {name}, but there is no {name}.py")
    found = getattr(_module(path, name), name, None)
    if not isinstance(found, Exercise):
        raise ImportError(f"{name}.py defines no exercise called {name}")
    return found


@cache
def _module(path: Path, name: str = "") -> ModuleType:
    """Import one module of a lesson: by default its package or single module."""
    if path.parent == PACKAGED:
        return importlib.import_module(f"{__name__}.{path.name}{name and '.'}{name}")
    lesson = f"private_exercises.{path.stem}"
    if name:
        _occupy(lesson, _module(path))
        return importlib.import_module(f"{lesson}.{name}")
    _loaded_from[path.parent] = None
    search = [str(path)] if path.is_dir() else None
    file = path / "__init__.py" if search else path
    spec = importlib.util.spec_from_file_location(lesson, file, submodule_search_locations=search)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported as a Python module")
    module = importlib.util.module_from_spec(spec)
    _occupy(lesson, module)
    spec.loader.exec_module(module)
    return module


def _occupy(lesson: str, module: ModuleType) -> None:
    """Make `module` the package of relative imports, in place of a lesson of the same name in another folder."""
    if sys.modules.get(lesson) is not module:
        for each in [name for name in sys.modules if name.startswith(f"{lesson}.")]:
            del sys.modules[each]
        sys.modules[lesson] = module


def key_path(lesson: str) -> Path:
    """Return the path of a lesson's built key, which may not exist."""
    return key_beside(_path(lesson) or PACKAGED / bare(lesson))


def key_beside(path: Path) -> Path:
    """Return the path of the key of the lesson whose package or single module is `path`."""
    return path.parent / "keys" / f"{path.stem}.json" if path.suffix else path / "key.json"


def keys(lesson: str) -> dict[str, Any]:
    """Return the built key of a lesson: JSON data by exercise, for `Expected.from_json`."""
    return _read_json(key_path(lesson))


@cache
def _read_json(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data
