"""Fixtures of all tests: a home for a learner's progress, one lesson."""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

import support
from autograder.checking.exercise import Exercise
from autograder.language import LANGUAGES
from autograder.learner import commands
from autograder.lessons.collection import COURSE
from autograder.lessons.execute import Ran, run
from autograder.lessons.source import Lesson
from autograder.session import SESSION, Session
from support.kernel import forked_kernels
from support.table_version import ask_once

LESSON = "gradient_accumulation"

hypothesis.settings.register_profile("any machine", deadline=None)  # a busy one is no failure
hypothesis.settings.load_profile("any machine")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first, as workers get whole files."""

    def seconds(item: pytest.Item) -> int:
        mark = item.get_closest_marker("long")
        return mark.args[0] if mark else 0

    items.sort(key=seconds, reverse=True)


def pytest_collection_finish() -> None:
    """Do before the first test what an answer under a time limit would otherwise do.

    An answer that collects took 420 ms for it in a process with all tests, and takes 1 ms now. The first optimizer
    imports `torch._dynamo`, which takes 1.5 s. A limit that ends this import leaves a process without optimizers.
    """
    importlib.import_module("torch._dynamo")
    ask_once()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def made_courses(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Course folders are made once for all workers."""
    base = tmp_path_factory.getbasetemp()
    support.made_courses = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "courses"


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the progress of whoever runs it."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("AUTOGRADER_HOME", str(home))
    return home


@pytest.fixture(autouse=True)
def own_session() -> None:
    """Every test begins like a fresh kernel, before `start`."""
    vars(SESSION).update(vars(Session()))


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    """A learner's language, chosen in the lesson about accumulation."""
    commands.start(LESSON, language=request.param)
    return str(request.param)


@pytest.fixture(autouse=True)
def same_folder() -> Iterator[None]:
    """A test that changes the folder leaves it as it was."""
    before = os.getcwd()
    yield
    os.chdir(before)


@pytest.fixture
def quick_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of the test are forks of a process that has imported torch.

    This saves 1.9 of 2.1 s for each.
    """
    monkeypatch.setenv("JUPYTER_PATH", str(forked_kernels()))


@pytest.fixture(scope="session")
def lesson_source() -> Lesson:
    (lesson,) = COURSE.read([LESSON])
    return lesson


@pytest.fixture(scope="session")
def exercises(lesson_source: Lesson) -> dict[str, Exercise]:
    return COURSE.exercises(lesson_source)


@pytest.fixture(scope="session")
def ran(lesson_source: Lesson, exercises: dict[str, Exercise]) -> Ran:
    """The lesson's solutions, stubs and alternatives."""
    return run(lesson_source, exercises)
