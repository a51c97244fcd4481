"""Exercises of the course and of private lessons, and their mistakes as answers."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from autograder import exercises
from autograder.checking.exercise import Exercise
from autograder.checking.expected import Expected
from autograder.lessons.mistakes import Mistakes, mistakes_of, path_of_mistakes


def public_key(name: str, lesson: str | None = None) -> Expected:
    """Return what is expected of an exercise on the public cases."""
    return exercises.key_of(exercises.find(name, lesson)).expected


@cache
def _read(path: Path, name: str, lesson: str) -> Mistakes:
    return mistakes_of(exercises.find(name, lesson))


def mistakes_in(exercise: Exercise) -> Mistakes:
    return _read(path_of_mistakes(exercise), exercise.name, exercise.lesson)


def program(exercise: Exercise, mistake: str) -> object:
    """Return a mistake as the function or class that a learner would have defined."""
    return mistakes_in(exercise).program(mistake, exercise.asks)


def typed(exercise: Exercise, mistake: str) -> str:
    """Return the code of a mistake as a learner would type it in a notebook.

    A notebook can import nothing from the exercises: what it needs of them comes first.
    """
    found = mistakes_in(exercise)
    return _inlined(found.code(mistake), found.path, set())


def _inlined(source: str, path: Path, done: set[Path]) -> str:
    """Return a source with the modules of the same lesson in place of their imports. `path` is the source's file."""

    def text(found: re.Match[str]) -> str:
        folder = path.parent if len(found[1]) == 1 else path.parent.parent
        module = folder / f"{found[2].replace('.', '/')}.py"
        if module in done:
            return ""
        done.add(module)
        return _inlined(module.read_text(encoding="utf-8"), module, done)

    source = source.replace("from __future__ import annotations\n", "")
    return re.sub(r"^from (\.+)([\w.]+) import (?:\([^)]*\)|.*)$", text, source, flags=re.M)


def write_exercises(folder: Path, lesson: str, modules: dict[str, str], mistakes: dict[str, str] | None = None) -> Path:
    """Write the package of a private lesson's exercises into a course folder, and return its path.

    `modules` and `mistakes` map exercise names to texts.
    """
    package = folder / "exercises" / lesson
    listed = "".join(f'"{name}", ' for name in modules)
    files = {"__init__": f"EXERCISES = ({listed})\n", **modules}
    files |= {f"mistakes/{name}": text for name, text in (mistakes or {}).items()}
    for name, text in files.items():
        (path := package / f"{name}.py").parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return package
