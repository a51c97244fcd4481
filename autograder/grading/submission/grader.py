"""Execution of submissions on an engine that has passed the self-test.

The self-test grades the course's own solutions. The engine is restarted if its template dies, and a submission is
retried if the failure was not its fault.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType

from nbformat.notebooknode import NotebookNode

from ...authoring.source import Lesson
from ...checking.exercise import Exercise
from ...errors import UserError
from ..course import hidden_cases as hidden
from ..sandbox.engine import Ended, Engine, Salts
from .judgement import LessonJudge
from .notebook_run import Outcome, run_notebook
from .sanitize import Released
from .self_test import grade_solution, warm_up


class Turns:
    """A shared or exclusive lock; waiting exclusive threads go first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharing = self._wanting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock together with other threads, but not with an exclusive one."""
        with self._changed:
            self._changed.wait_for(lambda: not self._wanting)
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharing -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock exclusively: wait until no other thread holds it, and block new ones."""
        with self._changed:
            self._wanting += 1
            self._changed.wait_for(lambda: not self._sharing)
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._wanting -= 1
                self._sharing -= 1
                self._changed.notify_all()


_STARTS = 2  # a template that dies twice is no accident
_REAPED = 0.2  # seconds between the deaths of a template's children, which the kernel kills first, and its own


class NoTemplate(UserError):
    """The template process died and is not restarted any more."""


class RestartingEngine:
    """An engine with a lazy start, restarted once if its template dies.

    Use it as a context manager, from any number of threads. `start` creates an engine.
    """

    def __init__(self, start: Callable[[], Engine]) -> None:
        self._start, self._left = start, _STARTS
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> RestartingEngine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the engine, if it was started."""
        if self._engine:
            self._engine.close()

    def engine(self) -> Engine:
        """Return the engine, and start it if necessary. Raises NoTemplate if too many templates have died."""
        with self._lock:
            while self._engine is None:
                if not self._left:
                    raise NoTemplate(
                        f"the template process ended {_STARTS} times (out of memory, or killed): grade again, with "
                        "fewer --jobs if memory is short; what has been graded stays"
                    )
                self._left -= 1
                try:
                    self._engine = self._start()
                except RuntimeError:
                    continue  # the template died during the start
            return self._engine

    def lost(self, engine: Engine) -> bool:
        """Return whether this engine's template has died. If so, `engine` starts another one."""
        until = time.monotonic() + _REAPED
        while engine.alive and time.monotonic() < until:
            time.sleep(0.02)
        if engine.alive:
            return False
        with self._lock:
            if self._engine is engine:
                engine.close()
                self._engine = None
        return True


_INTERRUPTED = "a process ended while the course's own solution was graded, so nobody's answers were: grade again"


@dataclass(eq=False)
class Job:
    """A notebook of an assignment: its released cells and the assignment's files.

    The lesson and the expected results are computed on first use.
    """

    course: Path
    name: str
    released: dict[str, Released]
    files: dict[str, str]

    @cached_property
    def lesson(self) -> tuple[Lesson, dict[str, Exercise]] | None:
        return hidden.lesson_of(self.course, self.name)

    @cached_property
    def judge(self) -> LessonJudge | None:
        """Return the lesson's judge, or None without a lesson.

        Raises UserError if the expected results cannot be computed.
        """
        return LessonJudge(hidden.expected_results(self.course, *self.lesson)) if self.lesson else None


class Grader:
    """An execution service for submissions, for any number of threads."""

    def __init__(self, standby: RestartingEngine) -> None:
        self._standby = standby
        self._tried: dict[Job, None] = {}  # the keys are in order of preparation
        self._salts: Salts | None = None
        self._preparing = threading.Lock()
        self._turns = Turns()

    def prepare(self, job: Job) -> Salts:
        """Return the salts of an engine that has passed the self-test for `job` and all earlier jobs.

        Raises UserError if the self-test fails, CannotIsolate if the kernel refuses isolation.
        """
        with self._preparing:
            while True:
                known = self._salts if job in self._tried else None
                if known and known.engine is self._standby.engine():
                    return known
                self._prepare(job)

    def _prepare(self, job: Job) -> None:
        """Try to prepare an engine. There is none yet if its template dies meanwhile."""
        with ThreadPoolExecutor(1) as beside:  # starts the template while this core computes expected results
            starting = beside.submit(self._standby.engine)
            rehearsing = beside.submit(lambda: self._rehearse(starting.result(), job))
            _ = job.judge
            engine = starting.result()
            try:
                for each in rehearsing.result():
                    if each.judge:
                        grade_solution(engine, each.judge, each.released, each.files)
            except (UserError, Ended, OSError, RuntimeError) as error:
                if not self._standby.lost(engine):
                    raise error if isinstance(error, UserError) else UserError(_INTERRUPTED) from error
            else:
                self._tried[job] = None
                self._salts = Salts(engine)  # the rehearsal has changed the template, and so its fingerprints

    def _rehearse(self, engine: Engine, job: Job) -> list[Job]:
        """Warm an engine up for a job, and a new engine for all earlier jobs as well. Returns these jobs."""
        same = self._salts is not None and self._salts.engine is engine
        jobs = [job] if same else [*(self._tried | {job: None})]
        for each in jobs:
            if each.lesson:
                warm_up(engine, *each.lesson, each.files)
        engine.fork().kill()  # checks that isolation works, and pays the extra cost of a first fork
        return jobs

    def run(self, job: Job, notebook: NotebookNode, beside: dict[str, str]) -> Outcome:
        """Run a sanitized notebook, with the student's own files `beside` it in base64 by relative path.

        Retries once if its process died, and again each time the template died. Retries once exclusively if the
        notebook ran out of time on a busy machine.
        Raises UserError if no engine can be prepared, CannotIsolate if the kernel refuses isolation.
        """
        with self._turns.shared():
            outcome = self._run(job, notebook, beside)
        if outcome.lacked_time:
            with self._turns.alone():
                outcome = self._run(job, notebook, beside)
        return outcome

    def _run(self, job: Job, notebook: NotebookNode, beside: dict[str, str]) -> Outcome:
        tries = 2
        while True:
            salts = self.prepare(job)
            try:
                outcome = run_notebook(salts.engine, notebook, job.judge, job.files, salts, beside)
            except Ended:  # the untouched sibling died, not the submission's process: restart the engine
                salts.engine.close()
                outcome = Outcome(ended="died")
            if outcome.ended == "died" and self._standby.lost(salts.engine):
                continue
            tries -= 1
            if outcome.ended != "died" or not tries:
                return outcome
