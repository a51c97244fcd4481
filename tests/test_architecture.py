"""The package's layers: which modules import which, and how many lie in one folder."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest

from autograder.grading.course.hidden_cases import modules_behind
from autograder.lessons.collection import COURSE

PACKAGE = Path(__file__).parents[1] / "autograder"
SANDBOX = "autograder.grading.sandbox"
MOST_MODULES = 14  # in a folder


def _name(file: Path) -> str:
    parts = ("autograder", *file.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_name(file): file for file in PACKAGE.rglob("*.py")}


@cache
def imports(module: str) -> frozenset[str]:
    """Return what a module imports when it is imported: modules of ours, and names of other packages."""
    return _imported(module, ast.parse(MODULES[module].read_text(encoding="utf-8")).body)


@cache
def imports_at_any_time(module: str) -> frozenset[str]:
    """Return what a module imports, also later: a command, or what is slow to import, stands in a function."""
    return _imported(module, ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))))


def _imported(module: str, nodes: Iterable[ast.AST]) -> frozenset[str]:
    file = MODULES[module]
    package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            inside = {f"{base}.{alias.name}" for alias in node.names} & MODULES.keys()
            found |= inside or {base}
    return frozenset(found)


def closure(module: str, imports: Callable[[str], frozenset[str]] = imports) -> set[str]:
    """Return all that importing a module imports."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += imports(name) if name in MODULES else ()
    return found


def test_no_module_imports_itself_on_a_detour() -> None:
    """It does not even inside a function."""
    later = imports_at_any_time
    around = {name: closure(name, later) for name in MODULES}
    assert [name for name in MODULES if any(name in around[other] for other in later(name) & MODULES.keys())] == []


def floors() -> dict[str, list[set[str]]]:
    """Return the names on each floor of a package, the highest first, as `autograder/README.md` lists them."""
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^Floors of `([a-z/]+)/`.*?^```\n(.*?)^```", text, re.S | re.M)
    return {package.replace("/", "."): [_names(line) for line in block.splitlines()] for package, block in blocks}


def _names(line: str) -> set[str]:
    parts = re.split(r" {2,}", line)
    return {each.removesuffix("/") for each in parts if re.fullmatch(r"[a-z_]+/?", each)}


@pytest.mark.parametrize("package", floors())
def test_folders_import_from_lower_floors(package: str) -> None:
    floor = {name: number for number, names in enumerate(floors()[package]) for name in names}
    assert sorted(floor) == sorted({room for module in MODULES if (room := _room(module, package))})
    upward = [
        f"{module} imports {other}"
        for module in MODULES
        for other in imports_at_any_time(module) & MODULES.keys()
        if (above := _room(module, package)) != (below := _room(other, package)) and above and below
        if floor[above] >= floor[below]
    ]
    assert upward == []


def _room(module: str, package: str) -> str:
    """Return the folder or module of a package that a module is in, "" if it is in none."""
    inside = module.removeprefix(f"{package}.") if module.startswith(f"{package}.") else ""
    name = inside.partition(".")[0]
    return "" if name == "__main__" else name


@pytest.mark.parametrize("module", ["gradebook.book", "course.settings", "creating.course_folder", "report.page"])
def test_reading_a_course_needs_no_sandbox(module: str) -> None:
    assert [name for name in closure(f"autograder.grading.{module}") if name.startswith(SANDBOX)] == []


def test_checking_needs_torch_alone() -> None:
    for module in (name for name in MODULES if name.startswith("autograder.checking")):
        packages = {name.partition(".")[0] for name in closure(module)} - {"autograder", "torch", "__future__"}
        assert packages <= sys.stdlib_module_names, module


def test_the_config_of_nbgrader_needs_no_torch() -> None:
    """It is read by every command of nbgrader."""
    assert {name for name in closure("autograder.grading.config") if name.partition(".")[0] == "torch"} == set()


def test_a_verdict_is_a_leaf() -> None:
    assert imports("autograder.checking.verdict") & MODULES.keys() <= {"autograder.language"}


def test_no_folder_is_crowded() -> None:
    """A lesson has as many modules as exercises."""
    folders: dict[Path, int] = {}
    for file in (file for name, file in MODULES.items() if not name.startswith("autograder.exercises.")):
        folders[file.parent] = folders.get(file.parent, 0) + (file.name != "__init__.py")
    assert [folder.name for folder, count in folders.items() if count > MOST_MODULES] == []


def test_expected_results_depend_on_every_module_that_makes_them() -> None:
    """A change of a module that is left out would serve stale results without a word."""
    for lesson in COURSE.read():
        known = COURSE.exercises(lesson)
        behind = {_name(file) for file in modules_behind(known.values())}
        modules = [name for name in MODULES if name.startswith(f"autograder.exercises.{lesson.name}")]
        made = closure("autograder.checking.expected").union(*map(closure, modules))
        assert made & MODULES.keys() - behind - {"autograder.exercises"} == set()


def test_wording_does_not_change_expected_results() -> None:
    (first, *_) = COURSE.read()
    behind = {_name(file) for file in modules_behind(COURSE.exercises(first).values())}
    assert [name for name in behind if name.startswith("autograder.messages")] == []
