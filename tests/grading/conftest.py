"""Courses that tests of grading share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest

from autograder.cli import main
from autograder.grading.batch import graders
from autograder.grading.limits import Limits
from autograder.grading.sandbox.grader import fork_server_process, restarting_engine
from autograder.grading.sandbox.grader.engine import Engine
from autograder.grading.sandbox.grader.fork_server_process import ForkServerProcess
from support.course import Course, forked_fork_servers
from support.first_gradient import FIRST, SOLVED, TAMPERS
from support.regrading import Place, make_place
from support.submissions import Submission, read


class _NotStarted:
    """A stand-in for the fork server that a command starts early, for a grader that has one."""

    wall = ""

    def __init__(self, isolation: str) -> None:
        pass

    def __enter__(self) -> _NotStarted:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def end(self) -> None:
        pass


@pytest.fixture(scope="session", autouse=True)
def resident_graders() -> Iterator[None]:
    """Let the graders of this process stay open between commands, as in `autograder watch`.

    Commands in processes of their own open and close graders. This saves 3 of 6 s of processor time per command.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graders, "close_graders", lambda: None)
        patch.setattr(fork_server_process, "ForkServerProcess", _NotStarted)  # an engine starts its own
        patch.setattr(restarting_engine, "Engine", _forked_engine)
        yield


@pytest.fixture
def quick_fork_servers() -> Iterator[None]:
    """Fork servers that the test starts are forks."""
    with forked_fork_servers():
        yield


def _forked_engine(limits: Limits, *, wall: str, starting: ForkServerProcess | None) -> Engine:
    """Return a grader's engine whose fork server is a fork.

    Engines that tests make themselves start a real one.
    """
    with forked_fork_servers():
        return Engine(limits, wall=wall, starting=starting)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course with both releases of one assignment. Nothing is handed in."""
    return Course.make(tmp_path / "course")


@pytest.fixture
def work(course: Course) -> Callable[..., str]:
    """Return the text of a solved notebook. Another `mark` makes another notebook."""

    def make(mark: str = "") -> str:
        notebook = Submission("x", "en", SOLVED).notebook(read(course.released("en")))
        notebook.cells[0].source += f"\n{mark}"
        return str(nbformat.writes(notebook))

    return make


@pytest.fixture(scope="session")
def flagged(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Four graded submissions: honest, tampering, with a doubled cell, and no notebook."""
    course = Course.make(tmp_path_factory.mktemp("flagged") / "course")
    course.hand_in("ann", SOLVED)
    course.hand_in("boris", {**SOLVED, FIRST.name: TAMPERS}, language="ru")
    path = course.hand_in("carl", SOLVED)
    notebook = read(path)
    doubled = next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade"))
    notebook.cells.append(nbformat.from_dict({**doubled, "id": "doubled", "source": "100"}))
    nbformat.write(notebook, path)
    course.hand_in("dina", {}).write_text("{")
    course.copy(course.folder.parent / "stock")
    main(["grade", str(course.folder)])
    return course


@pytest.fixture(scope="session")
def place() -> Place:
    """A course with something to grade again."""
    return make_place()
