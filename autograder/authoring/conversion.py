"""Conversion of lessons whose exercise modules register mistakes by decorators.

Once a mistake was a program under `@EXERCISE.mistake(en=..., ru=...)` in the exercise's module, or wrong
entries in `EXERCISE.wrong(...)`. Now it is a cell of `mistakes/EXERCISE.py`. Code that only mistakes use moves there.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .. import exercises
from ..errors import UserError
from ..exercises.key import Theme
from ..language import Text
from .old_lesson import (
    Place,
    Registered,
    Statements,
    annotations_of,
    first_line,
    load,
    names_bound,
    names_loaded,
    registers,
)
from .untyped import without_types

_WIDTH = 118


def convert_course(course: Path) -> Iterator[str]:
    """Convert the private lessons in a course folder, and yield a line for each changed file.

    Keys, and copies beside the notebooks, that were built from the old form are deleted: students would go on receiving
    them. `autograder build` makes new ones.
    Raises UserError if a lesson cannot be imported.
    """
    folder = course / "exercises"
    for module in sorted(folder.glob("*.py")):
        names = re.findall(r"^def (\w+)\(answer", module.read_text(encoding="utf-8"), re.M)
        package = folder / module.stem
        package.mkdir()
        listed = "".join(f'"{name}", ' for name in names)
        (package / "__init__.py").write_text(f"EXERCISES = ({listed})\n", encoding="utf-8")
        module.rename(package / "common.py")
        for name in names:
            (package / f"{name}.py").write_text(f"from .common import {name}\n", encoding="utf-8")
        yield f"moved {module} to {package / 'common.py'}"
        yield from _delete(course, module.name, f"keys/{module.stem}.json")
    for package in exercises.lesson_paths(folder):
        try:
            files = convert_lesson(package)
        except Exception as error:
            raise UserError(f"{package} cannot be converted: {type(error).__name__}: {error}") from error
        for path, text in files.items():
            if text is None:
                yield from _delete(course, path.relative_to(folder).as_posix())
            elif not path.is_file() or path.read_text(encoding="utf-8") != text:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
                yield f"wrote {path}"
        yield from _delete(course, f"{package.name}/key.json")
    yield f'every mistake has the theme "own": choose a better one, then run `autograder build --course {course}`'


def _delete(course: Path, *names: str) -> Iterator[str]:
    """Delete files of `exercises/` and their copies beside the notebooks, and yield a line for each."""
    for name in names:
        for path in (course / "exercises" / name, *sorted(course.glob(f"source/*/exercises/{name}"))):
            if path.is_file():
                path.unlink()
                yield f"deleted {path}"


def convert_lesson(package: Path) -> dict[Path, str | None]:
    """Return a dict from path to new text for the files of a lesson's package.

    None stands for a file to delete.
    """
    registered = load(package)
    lesson = Statements(
        {name: file.read_text(encoding="utf-8") for name, file in exercises.module_files(package).items()}
    )
    return {package / name: text for name, text in _Writer(lesson, registered).files().items()}


class _Writer:
    """The new files of a lesson: modules without mistakes, and the mistakes."""

    def __init__(self, lesson: Statements, registered: dict[str, Registered]) -> None:
        self._lesson, self._registered = lesson, registered
        places = [(name, index) for name, body in lesson.bodies.items() for index in range(len(body))]
        self._registrations = {place for place in places if registers(lesson.node(place))}
        self._programs = {
            exercise: {name: self._place_of(exercise, name, program) for name, (program, _) in each.mistakes.items()}
            for exercise, each in registered.items()
        }
        self._helpers = {
            exercise: lesson.reached(programs.values()) - {*programs.values()} | self._called(programs)
            for exercise, programs in self._programs.items()
        }
        roots = [p for p in places if p not in self._registrations and not _is_helper(lesson.node(p))]
        kept = lesson.reached(roots, typed=True)
        for_mistakes = {place for helpers in self._helpers.values() for place in helpers}
        for_mistakes |= {place for programs in self._programs.values() for place in programs.values()}
        said = {lesson.find(p[0], name) for p in self._registrations for name in names_loaded(lesson.node(p))}
        for_mistakes |= {place for place in said if place}  # sentences
        for_mistakes = lesson.reached(for_mistakes, typed=True)  # and types
        self._kept = kept | {place for place in places if place not in for_mistakes | self._registrations}
        self._shared = {
            place
            for place in for_mistakes - self._kept
            if sum(place in helpers for helpers in self._helpers.values()) > 1 and not _is_import(lesson.node(place))
        }

    def files(self) -> dict[str, str | None]:
        """Return a dict from relative path to text. None stands for a file to delete."""
        made: dict[str, str | None] = {}
        for name in self._lesson.bodies:
            old, text = "\n".join(self._lesson.lines[name]), self._module(name)
            made[f"{name or '__init__'}.py"] = text if _defines(text) or not _defines(old) else None
        for exercise in self._registered:
            made[f"mistakes/{exercise}.py"] = self._mistakes(exercise)
        if self._shared:
            code, imports = self._definitions(self._shared)
            head = '"""Helpers of wrong answers to several exercises."""'
            made["mistakes/common.py"] = f"{head}\n\n{imports}\n\n{code}\n"
        return made

    def _place_of(self, exercise: str, name: str, program: Any) -> Place:
        """Return the statement that defines a mistake's program, or that registers its wrong entries."""
        if not isinstance(program, dict):
            module = program.__module__.rpartition(".")[2]
            return self._lesson.bound[module if module in self._lesson.bodies else "", program.__name__]
        for module, body in self._lesson.bodies.items():
            for index, node in enumerate(body):
                match node:
                    case ast.Expr(
                        ast.Call(func=ast.Attribute(ast.Name(id=owner)), args=[ast.Constant(value=named), _, *_])
                    ):
                        if (owner, named) == (exercise, name):
                            return module, index
        raise LookupError(f"{exercise}.wrong({name!r}) is no statement of its module")

    def _called(self, programs: dict[str, Place]) -> set[Place]:
        """Return the programs that other mistakes of the same exercise call."""
        own = {*programs.values()}
        return {used for place in self._lesson.reached(own) for used in self._lesson.used(place) if used in own}

    def _module(self, name: str) -> str:
        """Return the text of a module without mistakes and without what only mistakes use."""
        lines, body = list(self._lesson.lines[name]), self._lesson.bodies[name]
        gone = {(name, index) for index in range(len(body))} - self._kept
        if all(_is_import(self._lesson.node(place)) for place in gone):
            return "\n".join(lines)
        loaded = {each for i, node in enumerate(body) if (name, i) not in gone for each in names_loaded(node)}
        loaded |= {word for node in body for word in re.findall(r"\w+", annotations_of(node))}
        for index, node in reversed([*enumerate(body)]):
            first, last = first_line(node) - 1, node.end_lineno or node.lineno
            if isinstance(node, ast.Import | ast.ImportFrom):
                left = [name for name in names_bound(node) if name in loaded or _is_future(node)]
                if len(left) != len(node.names):
                    lines[first:last] = [_import_of(node, *left)] if left else []
            elif (name, index) in gone:
                while first and lines[first - 1].startswith("#"):  # a comment above goes with its statement
                    first -= 1
                lines[first:last] = []
        return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).rstrip("\n") + "\n"

    def _mistakes(self, exercise: str) -> str:
        """Return the text of an exercise's mistakes."""
        registered, programs = self._registered[exercise], self._programs[exercise]
        helpers = self._helpers[exercise] - self._kept - self._shared
        code, imports = self._definitions(helpers, programs.values())
        shared = "\n\n\n".join(filter(None, (imports, code)))
        cells = [f"# %%\n{shared}"] if shared else []
        first: dict[Text, str] = {}
        for name, (_, says) in registered.mistakes.items():
            head = f'# %% mistake="{name}"'
            if says in first:
                head += f' like="{first[says]}"'
            else:
                first[says] = name
                head += f' theme="{Theme.OWN}"\n' + "\n".join(map(_comment, says))
            cells.append(f"{head}\n{self._answer(registered, programs[name])}")
        return "\n\n".join(cell.strip("\n") for cell in cells) + "\n"

    def _answer(self, registered: Registered, place: Place) -> str:
        """Return the code of a mistake as an answer: it defines the name that the exercise asks for."""
        node, asks = self._lesson.node(place), registered.asks
        if registered.asks_for != "dict":
            assert isinstance(node, ast.FunctionDef | ast.ClassDef)
            return without_types(self._lesson.source(place), rename={node.name: asks})
        assert isinstance(node, ast.Expr)
        assert isinstance(node.value, ast.Call)
        table = node.value.args[1]
        entries = ast.get_source_segment("\n".join(self._lesson.lines[place[0]]), table) or ""
        written = entries.removeprefix("{").removesuffix("}").strip() if isinstance(table, ast.Dict) else f"**{entries}"
        return f"{asks} = {{**solution, {written}}}"

    def _definitions(self, places: Iterable[Place], programs: Iterable[Place] = ()) -> tuple[str, str]:
        """Return two parts of a file in `mistakes/`: the code of helpers, and the imports.

        The helpers are the functions, classes and constants at `places`. They and `programs` need the imports.
        """
        helpers = [place for place in sorted(places) if not _is_import(self._lesson.node(place))]
        order = [*self._lesson.bodies]
        helpers.sort(key=lambda place: (order.index(place[0]), place[1]))
        helpers = _after_what_they_use(self._lesson, helpers)
        code = "\n\n\n".join(without_types(self._lesson.source(place)) for place in helpers)
        plain, relative = set(), dict[str, set[str]]()
        for place in {*helpers, *programs}:
            for name in self._lesson.names(place):
                found = self._lesson.find(place[0], name)
                if found is None or found == place or found in helpers:
                    continue
                node = self._lesson.node(found)
                if isinstance(node, ast.Import | ast.ImportFrom):
                    plain.add(_import_of(node, name))
                elif found in self._shared:
                    relative.setdefault(".common", set()).add(name)
                elif found in self._kept:
                    relative.setdefault(f"..{found[0]}", set()).add(name)
        lines = sorted(plain, key=lambda line: (line.startswith("from"), line))
        lines += [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(relative.items())]
        return code, "\n".join(lines)


def _defines(text: str) -> bool:
    """Return whether a module has more than a docstring and imports."""
    return any(not _is_import(node) and not isinstance(node, ast.Expr) for node in ast.parse(text).body)


def _comment(sentence: str) -> str:
    lines = textwrap.wrap(sentence, _WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f"{'#     ' if number else '# '}{line}" for number, line in enumerate(lines))


def _after_what_they_use(lesson: Statements, places: list[Place]) -> list[Place]:
    """Return statements in an order in which each follows what it uses, else in the given order."""
    done: dict[Place, None] = {}

    def visit(place: Place, above: tuple[Place, ...] = ()) -> None:
        if place not in done:
            for used in sorted(lesson.used(place)):
                if used in places and used not in above:
                    visit(used, (*above, place))
            done[place] = None

    for place in places:
        visit(place)
    return [*done]


def _is_helper(node: ast.stmt) -> bool:
    """Return whether a statement only defines names that others may use.

    A statement that makes an exercise or registers its cases is no helper.
    """
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        names = {each.attr for d in node.decorator_list for each in ast.walk(d) if isinstance(each, ast.Attribute)}
        called = {each.id for d in node.decorator_list for each in ast.walk(d) if isinstance(each, ast.Name)}
        return not (names & {"cases"} or called & {"exercise"})
    if isinstance(node, ast.Assign | ast.AnnAssign):
        made = any(isinstance(each, ast.Name) and each.id == "exercise" for each in ast.walk(node))
        return not made and names_bound(node) != ["EXERCISES"]
    return _is_import(node)


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _import_of(node: ast.Import | ast.ImportFrom, *names: str) -> str:
    """Return an import statement for some of the names that a statement imports."""
    left = [each for each, name in zip(node.names, names_bound(node)) if name in names]
    return ast.unparse(
        ast.Import(left) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, left, node.level)
    )
