"""Lookup of lessons and exercises by name.

The exercises of a lesson are a package. `EXERCISES` in the package lists them in order, each with a module of its own
name. `mistakes/EXERCISE.py` holds wrong answers, `key/EXERCISE.json` the key: observations and sentences, no code. A
private lesson is an instructor's own: its package is in `exercises/` beside the notebook.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..language import Text
from ..messages.learners import message
from .module_texts import package_above

# Names and paths are looked up without torch, which nbgrader's config does not need.
if TYPE_CHECKING:
    from ..checking.exercise import Exercise
    from .key import Key, Misconception

PACKAGED = Path(__file__).parent
SHARED = "shared"  # the package with what probes of several lessons share


class Unknown(UserError):
    """An error for the name of a missing lesson or exercise.

    `says` is a message for the learner with the most similar names.
    """

    def __init__(self, what: str, name: str, known: list[str]) -> None:
        names = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or known[:6]
        quoted = ", ".join(f"`{n}`" for n in names)
        nearest = message("unknown.nearest", names=quoted) if names else Text.same("")
        self.says = (
            message("unknown.which", names=quoted)
            if not name
            else Text(
                message(f"unknown.{what}", name=name, nearest=nearest.en).en,
                message(f"unknown.{what}", name=name, nearest=nearest.ru).ru,
            )
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
    """Return a lesson's name without its number: "gradient_accumulation" for "03_gradient_accumulation"."""
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
    """Return the exercise called `name` in `lesson`, or in any lesson, the course's own first.

    Imports only this exercise's module. A learner may give the function itself in place of its name.
    Raises Unknown if there is no such exercise.
    """
    name = name if isinstance(name, str) else getattr(name, "__name__", type(name).__name__)
    for each in _lessons_from(lesson):
        path = None if bare(each) in _provided else _path(each)
        if path is not None and (path / f"{name}.py").is_file() and name in _listed(path):
            return _exercise(path, name)
        if (path is None or each == lesson) and name in (known := load(each)):
            return known[name]
    here = lessons() if lesson is None else [lesson]
    raise Unknown("exercise", name, [known for each in here for known in load(each)])


def _lessons_from(lesson: str | None) -> Iterator[str]:
    """Yield the names of all lessons: `lesson`, the course's own, private ones.

    Folders are listed only if the exercise is not in `lesson`, where it nearly always is.
    """
    if lesson is not None:
        yield lesson
    yield from sorted(lessons(), key=lambda each: lesson_path(PACKAGED, each) is None)


def _path(lesson: str) -> Path | None:
    """Return the path of a lesson's package, or None if there is no such lesson."""
    return next((path for folder in folders() if (path := lesson_path(folder, bare(lesson)))), None)


def lesson_paths(folder: Path) -> list[Path]:
    """Return the path of each lesson's package in `folder`, sorted."""
    return sorted(file.parent for file in folder.glob("*/__init__.py") if file.parent != PACKAGED / SHARED)


def lesson_path(folder: Path, name: str) -> Path | None:
    """Return the path of a lesson's package in `folder`, or None if there is none."""
    return folder / name if (folder / name / "__init__.py").is_file() else None


def module_files(path: Path) -> dict[str, Path]:
    """Return a dict from module name to file, for the modules of a lesson's package.

    The key "" stands for `__init__.py`.
    """
    return {"" if file.stem == "__init__" else file.stem: file for file in sorted(path.glob("*.py"))}


def path_of(exercise: Exercise) -> Path:
    """Return the path of the package to which `exercise` belongs."""
    return Path(inspect.getfile(exercise.probe)).parent


@cache
def load_path(path: Path) -> dict[str, Exercise]:
    """Return a dict from name to exercise of the lesson at `path`, in the lesson's order.

    Raises ImportError if the package does not list its exercises.
    Raises what a module raises when it is imported.
    """
    return {name: _exercise(path, name) for name in _listed(path)}


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
    if (programs := programs_path(path, name)).is_file():
        found.programs_text = programs.read_text(encoding="utf-8")
    return found


def programs_path(path: Path, name: str) -> Path:
    """Return the path of an exercise's programs in the lesson's package at `path`. It may not exist."""
    return path / "programs" / f"{name}.py"


def modules_in(path: Path) -> list[ModuleType]:
    """Import all modules of the lesson's package at `path`, and return them."""
    return [_module(path, name) for name in module_files(path)]


def globals_for(folder: Path) -> dict[str, Any]:
    """Return global variables for code in a folder of a lesson's package, such as `mistakes/`.

    The code can import from the package: `from ..common import linear`.
    """
    package = _module(folder.parent)
    _occupy(package.__name__, package)
    return {"__package__": f"{package.__name__}.{folder.name}"}


@cache
def _module(path: Path, name: str = "") -> ModuleType:
    """Import the module `name` of the lesson at `path`. By default this is the lesson's package."""
    if path.parent == PACKAGED:
        return importlib.import_module(f"{__name__}.{path.name}{name and '.'}{name}")
    lesson = f"private_exercises.{path.stem}"
    if name:
        _occupy(lesson, _module(path))
        return importlib.import_module(f"{lesson}.{name}")
    _loaded_from[path.parent] = None
    file = path / "__init__.py"
    spec = importlib.util.spec_from_file_location(lesson, file, submodule_search_locations=[str(path)])
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
        package_above(lesson)
        sys.modules[lesson] = module


def key_path(exercise: Exercise) -> Path:
    """Return the path of an exercise's key. The file may not exist."""
    return key_in(_path(exercise.lesson) or PACKAGED / exercise.lesson, exercise.name)


def key_in(path: Path, exercise: str) -> Path:
    """Return the path of an exercise's key in the lesson's package at `path`."""
    return path / "key" / f"{exercise}.json"


def key_of(exercise: Exercise) -> Key:
    """Return the key of an exercise. It is read once, because decoding it can take as long as a check.

    Raises OSError if there is none, and LookupError, TypeError or ValueError if it cannot be read.
    """
    return _read_key(key_path(exercise))


@cache
def _read_key(path: Path) -> Key:
    from .key import Key

    return Key.from_text(path.read_text(encoding="utf-8"))


def misconceptions_of(exercise: Exercise) -> Mapping[str, Misconception]:
    """Return a dict from mistake to sentence and theme. It is empty if the key cannot be read."""
    try:
        return key_of(exercise).misconceptions
    except (OSError, LookupError, TypeError, ValueError):
        return {}


def sentence_for(exercise: Exercise, mistake: str) -> Text | None:
    """Return the sentence that names a mistake, or None if the exercise's key has no such mistake."""
    found = misconceptions_of(exercise).get(mistake)
    return found.says if found else None
