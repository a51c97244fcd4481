"""Lookup of lessons and exercises by name.

A lesson is a package, or in a private lesson a single module. `EXERCISES` in the package lists the exercises in order,
each with a module of its own name. The mistakes of a long exercise NAME are in a module of their own, NAME_mistakes.
The file `key.json` holds the key: observations, no code. A private lesson is an instructor's own: `exercises/` beside
the notebook holds its package, or its module with the key in `keys/`.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..language import Text
from ..messages.cards import message

# Names and paths are looked up without torch, which nbgrader's config does not need.
if TYPE_CHECKING:
    from ..checking.exercise import Exercise

PACKAGED = Path(__file__).parent


class Unknown(UserError):
    """An error for the name of a missing lesson or exercise.

    `says` is a message for the learner with the most similar names.
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


_provided: dict[str, dict[str, Exercise]] = {}  # by lesson; see `provide`


def provide(lesson: str, known: dict[str, Exercise]) -> None:
    """Make `load` and `find` return the exercises `known` for a lesson from now on.

    Used in a child, because a child cannot read the exercise modules.
    """
    _provided[lesson] = known


_loaded_from: dict[Path, None] = {}  # folders of private lessons that were loaded by their path


def folders() -> Iterator[Path]:
    """Yield the folders that contain lessons, the course's own first.

    A submitted file can therefore not replace an exercise of the course. Folders after the first are looked up only
    when needed.
    """
    yield PACKAGED
    for folder in dict.fromkeys([Path.cwd() / "exercises", *_loaded_from]):
        if folder != PACKAGED and folder.is_dir():
            yield folder


def forget_files() -> None:
    """Let no lesson of the course be found by its files, which this process may list but not read."""
    global PACKAGED
    PACKAGED = Path(os.devnull)
    __path__.clear()


def lessons() -> list[str]:
    """Return the names of all lessons with exercises, sorted."""
    return sorted({*_provided, *(path.stem for folder in folders() for path in lesson_paths(folder))})


def bare(lesson: str) -> str:
    """Return a lesson's name without its number.

    An example is gradient_accumulation for 03_gradient_accumulation.
    """
    number, _, rest = lesson.partition("_")
    return rest if number.isdigit() and rest else lesson


def load(lesson: str) -> dict[str, Exercise]:
    """Return a dict from name to exercise of a lesson, in the lesson's order.

    Raises Unknown if there is no such lesson.
    """
    if bare(lesson) in _provided:
        return _provided[bare(lesson)]
    path = _path(lesson)
    if path is None:
        raise Unknown("lesson", lesson, lessons())
    return load_path(path)


def find(name: str, lesson: str | None = None) -> Exercise:
    """Return the exercise called `name` in `lesson`, or in any lesson if `lesson` is None.

    Imports only this exercise's module if the lesson is a package.
    Raises Unknown if there is no such exercise.
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
    """Return the path of a lesson's package or module, or None if there is no such lesson."""
    return next((path for folder in folders() if (path := lesson_path(folder, bare(lesson)))), None)


def lesson_paths(folder: Path) -> Iterator[Path]:
    """Yield the path of each lesson's package or module in `folder`."""
    yield from sorted(file.parent for file in folder.glob("*/__init__.py"))
    yield from sorted(file for file in folder.glob("*.py") if file.stem != "__init__")


def lesson_path(folder: Path, name: str) -> Path | None:
    """Return the path of a lesson's package or module in `folder`, or None if there is none."""
    found = (each for each in (folder / name / "__init__.py", folder / f"{name}.py") if each.is_file())
    file = next(found, None)
    return file.parent if file and file.stem == "__init__" else file


def module_files(path: Path) -> dict[str, Path]:
    """Return a dict from module name to file, for the modules of a lesson.

    The key "" stands for a package's `__init__.py`, or for a lesson's only module.
    """
    if path.is_file():
        return {"": path}
    return {"" if file.stem == "__init__" else file.stem: file for file in sorted(path.glob("*.py"))}


def mistakes_of(exercise: str) -> str:
    """Return the name of the module for the mistakes of an exercise.

    A lesson has this module if the exercise's own module does not register the mistakes.
    """
    return f"{exercise}_mistakes"


def path_of(exercise: Exercise) -> Path:
    """Return the path of the package or module of the lesson to which `exercise` belongs."""
    file = Path(inspect.getfile(exercise.probe))
    in_package = file.parent.name == exercise.lesson and (file.parent / "__init__.py").is_file()
    return file.parent if in_package else file


@cache
def load_path(path: Path) -> dict[str, Exercise]:
    """Return a dict from name to exercise of the lesson at `path`, in the lesson's order.

    Raises ImportError if the package does not list its exercises.
    Raises what a module raises when it is imported.
    """
    names = _listed(path) if path.is_dir() else ()
    return {name: _exercise(path, name) for name in names} if names else defined_in({"": _module(path)})


def defined_in(modules: Mapping[str, ModuleType]) -> dict[str, Exercise]:
    """Return a dict from name to exercise, in the order of a lesson's imported modules.

    `modules` maps module names to modules, with the names that `module_files` uses.
    """
    own = modules[""]
    if hasattr(own, "EXERCISES"):
        return {name: getattr(modules[name], name) for name in own.EXERCISES}
    from ..checking.exercise import Exercise

    return {item.name: item for item in vars(own).values() if isinstance(item, Exercise)}


def modules_of(lesson: str, sources: Mapping[str, str]) -> dict[str, ModuleType]:
    """Run the source texts of a lesson's modules, and return a dict from name to module.

    `lesson` is the dotted name for the package. `sources` maps module names to texts; a module may import only from
    modules earlier in `sources`. Afterwards the modules cannot be imported by name.
    Raises what a source raises.
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
    """Return the names of the exercises that a package lists in `EXERCISES`.

    Raises ImportError if there is no such list.
    """
    listed = getattr(_module(path), "EXERCISES", None)
    if not isinstance(listed, tuple):
        raise ImportError(f'list the lesson\'s exercises in order: EXERCISES = ("first", "second"), not {listed!r}')
    return listed


def _exercise(path: Path, name: str) -> Exercise:
    from ..checking.exercise import Exercise

    if not (path / f"{name}.py").is_file():
        raise ImportError(f"EXERCISES names {name}, but there is no {name}.py")
    found = getattr(_module(path, name), name, None)
    if not isinstance(found, Exercise):
        raise ImportError(f"{name}.py defines no exercise called {name}")
    if (path / f"{mistakes_of(name)}.py").is_file():
        _module(path, mistakes_of(name))
    return found


@cache
def _module(path: Path, name: str = "") -> ModuleType:
    """Import the module `name` of the lesson at `path`.

    By default this is the lesson's package, or its only module.
    """
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
    """Make `module` the package that relative imports of `lesson` use.

    If a lesson of the same name was imported from another folder, its modules are removed from `sys.modules`.
    """
    if sys.modules.get(lesson) is not module:
        for each in [name for name in sys.modules if name.startswith(f"{lesson}.")]:
            del sys.modules[each]
        sys.modules[lesson] = module


def key_path(lesson: str) -> Path:
    """Return the path of a lesson's key. The file may not exist."""
    return key_beside(_path(lesson) or PACKAGED / bare(lesson))


def key_beside(path: Path) -> Path:
    """Return the path of a lesson's key. `path` is that of the lesson's package or only module."""
    return path.parent / "keys" / f"{path.stem}.json" if path.suffix else path / "key.json"


def keys(lesson: str) -> dict[str, Any]:
    """Return a lesson's key: a dict from exercise name to JSON data for `Expected.from_json`."""
    return _read_json(key_path(lesson))


@cache
def _read_json(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data
