"""Programs of our package, out of a submission's reach."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator

import pytest

from autograder import exercises
from autograder.grading.limits import Limits
from autograder.grading.sandbox.grader.engine import Engine
from autograder.grading.submission.self_test import warm_up_engine
from autograder.lessons.collection import COURSE

pytestmark = pytest.mark.long(20)

LESSONS = exercises.lessons()


NIGHTLY = pytest.mark.nightly(twin="tests/hostile/test_programs.py::test_no_module_of_exercises_can_be_imported")


@pytest.fixture(scope="module", params=[LESSONS[:2], pytest.param(LESSONS, marks=NIGHTLY)], ids=["two", "all"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine that has rehearsed some lessons, and each night every lesson, as for a whole course."""
    with Engine(Limits(cell_seconds=300, total_seconds=400)) as engine:  # one test reads every file
        for lesson in COURSE.read(request.param):
            warm_up_engine(engine, lesson, COURSE.exercises(lesson), {})
        yield engine


def said(engine: Engine, lesson: str, cell: str) -> str:
    """Return what a cell of a fresh child prints, with the errors that it raises."""
    with engine.fork() as child:
        child.ask("begin", lesson=lesson, files={})
        outputs = child.ask("cell", source=cell)["outputs"]
        return "".join(each.get("text", "") + each.get("ename", "") for each in outputs)


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_module_of_exercises_can_be_imported(lesson: str, engine: Engine) -> None:
    for name in (lesson, "gradient_accumulation"):
        assert said(engine, lesson, f"import autograder.exercises.{name}") == "ModuleNotFoundError"
    loaded = f"from autograder.exercises import load\nprint([e.programs_text for e in load({lesson!r}).values()])"
    assert set(said(engine, lesson, loaded)) <= set("[', ]\n")


def test_no_file_holds_a_program_or_a_result(engine: Engine) -> None:
    """Search the whole file system of a child for texts of our modules, keys and lessons."""
    cell = """
import os
found = []
for folder, _, names in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/dev")):
        continue
    for name in names:
        path = os.path.join(folder, name)
        if "autograder" in path or name.endswith((".json", ".ipynb")) or "exercises" in path:
            try:
                text = open(path, "rb").read()
            except OSError:
                continue
            if b"keeps_the_old_gradient" in text or b"_share(micro_batches" in text:
                found.append(path)
print(found)
"""
    assert said(engine, "gradient_accumulation", cell).strip() == "[]"


def test_no_object_in_memory_is_a_program(engine: Engine) -> None:
    """Look at every code object of a child, as only our own worker may.

    The audit hook refuses it to a student.
    """
    texts = [
        path.read_text(encoding="utf-8")
        for lesson in LESSONS
        for folder in ("mistakes", "programs")
        for path in (exercises.PACKAGED / lesson / folder).glob("*.py")
    ]
    names = {*re.findall(r"^(?:def|class) (\w+)", "\n".join(texts), re.M)}
    assert len(names) > 200
    # Compiled under a library's name: the known hole of the audit hook, which makes it a tool for this test.
    look = (
        "import gc, types, warnings\nwarnings.simplefilter('ignore')\ngc.unfreeze()\n"
        "functions = [f for f in gc.get_objects() if isinstance(f, types.FunctionType)]\n"
        f"names = {names!r}\n"
        "files = '<rehearsal>', '<programs>'\n"
        "real = [f.__qualname__ for f in functions if f.__qualname__.partition('.')[0] in names"
        " and (f.__code__.co_filename in files or '.mistakes' in f.__code__.co_filename)]\n"
    )
    library = os.path.dirname(json.__file__) + "/__init__.py"
    run = f"space = {{}}\nexec(compile({look!r}, {library!r}, 'exec'), space)\n"
    shown = said(engine, "gradient_accumulation", run + "print(len(space['functions']) > 1000, space['real'])")
    assert shown.strip() == "True []"


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_module_of_exercises_imports_no_program(lesson: str) -> None:
    """What a child gets is the modules of a lesson: they neither are nor read mistakes, programs or keys."""
    for file in exercises.module_files(exercises.PACKAGED / lesson).values():
        found = {
            node.module or ""
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("autograder"))
        }
        assert not {word for name in found for word in name.split(".")} & {"mistakes", "key", "authoring"}
        assert not [name for name in found if name.startswith("programs")]
