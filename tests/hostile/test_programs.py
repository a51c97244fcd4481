"""Programs of our package, out of a submission's reach."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import pytest

from autograder import exercises
from autograder.authoring.build import COURSE
from autograder.authoring.redaction import LessonSource, read_lesson
from autograder.checking.expected import Expected
from autograder.checking.judge import judge
from autograder.checking.observe import observe
from autograder.grading.limits import Limits
from autograder.grading.sandbox.engine import Engine
from autograder.grading.submission.self_test import warm_up

LESSONS = exercises.lessons()
NIGHTLY = pytest.mark.nightly(twin="tests/hostile/test_programs.py::test_an_extracted_mistake_is_the_same_program")
TWO = ("first_gradient", "gradient_accumulation")


def source(lesson: str) -> LessonSource:
    return read_lesson(exercises.PACKAGED / lesson)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine that has rehearsed every lesson, as for a whole course."""
    with Engine(Limits(cell_seconds=300, total_seconds=400)) as engine:  # one test reads every file
        for lesson in COURSE.read():
            warm_up(engine, lesson, COURSE.exercises(lesson), {})
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
    loaded = f"from autograder.exercises import load, find\nprint([e.mistakes for e in load({lesson!r}).values()])"
    assert set(said(engine, lesson, loaded)) <= set("[{}, ]\n")


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
            if b"keeps_the_old_gradient" in text or b"_wrong_never_clears" in text:
                found.append(path)
print(found)
"""
    assert said(engine, "gradient_accumulation", cell).strip() == "[]"


def test_no_object_in_memory_is_a_program(engine: Engine) -> None:
    """Look at every code object of a child, as only our own worker may.

    The audit hook refuses it to a student.
    """
    names = {
        mistake.program.__name__
        for lesson in LESSONS
        for exercise in exercises.load(lesson).values()
        for mistake in exercise.mistakes.values()
        if isinstance(mistake.program, FunctionType)
    }
    # Compiled under a library's name: the known hole of the audit hook, which makes it a tool for this test.
    look = (
        "import gc, types, warnings\nwarnings.simplefilter('ignore')\ngc.unfreeze()\n"
        "functions = [f for f in gc.get_objects() if isinstance(f, types.FunctionType)]\n"
        f"names = {names!r}\n"
        "real = [f.__qualname__ for f in functions if f.__name__ in names and f.__code__.co_filename[0] == '<'"
        " and len(f.__code__.co_code) > 30]\n"
    )
    library = os.path.dirname(json.__file__) + "/__init__.py"
    run = f"space = {{}}\nexec(compile({look!r}, {library!r}, 'exec'), space)\n"
    shown = said(engine, "gradient_accumulation", run + "print(len(space['functions']) > 1000, space['real'])")
    assert shown.strip() == "True []"


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_stub_stands_for_every_program(lesson: str) -> None:
    """The redacted lesson has the same exercises with the same texts.

    No mistake does anything, no table is there.
    """
    modules = exercises.modules_of(f"autograder.exercises.{lesson}", source(lesson).redacted())
    redacted, whole = exercises.defined_in(modules), exercises.load(lesson)
    assert list(redacted) == list(whole)
    for name, exercise in redacted.items():
        assert (exercise.title, exercise.aspects, exercise.lesson) == (whole[name].title, whole[name].aspects, lesson)
        assert list(exercise.mistakes) == ([] if exercise.asks_for == "dict" else list(whole[name].mistakes))
        for mistake in exercise.mistakes.values():
            if isinstance(mistake.program, FunctionType):
                assert mistake.program.__code__.co_names == ()
                assert mistake.program.__code__.co_consts in ((None,), (Ellipsis, None))
            else:
                assert not any(isinstance(member, FunctionType) for member in vars(mistake.program).values())


@pytest.mark.parametrize("lesson", [name if name in TWO else pytest.param(name, marks=NIGHTLY) for name in LESSONS])
def test_an_extracted_mistake_is_the_same_program(lesson: str) -> None:
    key, whole = exercises.keys(lesson), source(lesson)
    for name, exercise in exercises.load(lesson).items():
        expected = Expected.from_json(key[name])
        for mistake in exercise.mistakes.values() if exercise.asks_for != "dict" else ():
            space: dict[str, Any] = {"__name__": "__main__"}
            program = mistake.program.__name__
            exec(compile(whole.extract(name, [program]), "<mistake>", "exec"), space)
            if exercise.asks_for == "function":
                verdict = judge(exercise, observe(exercise, space[program], expected.seed), expected, code="other")
                if mistake.name != "forgets_the_file":  # its error comes from a helper, which the probe takes for ours
                    assert verdict.mistake == mistake.name, (name, verdict.text("en"))
