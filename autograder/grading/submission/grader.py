"""Where submissions are run, whichever door they came through: an engine on which the course's own solutions got all
points, started again when its template ends, and a submission run again when that was not its own doing."""

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
    """A lock that many threads share, or one holds alone; who waits to be alone goes first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharing = self._wanting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Run beside others, and not beside one that is alone."""
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
        """Wait until nobody runs, and let nobody begin meanwhile. Several of these come one after another."""
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


_STARTS = 2  # a template that ends again is no accident
_REAPED = 0.2  # seconds from the end of a template's children, which the kernel kills first, to its own


class NoTemplate(UserError):
    """There is no template process any more, and none is started again."""


class RestartingEngine:
    """Use it as a context manager, from any number of threads. `start` makes an engine."""

    def __init__(self, start: Callable[[], Engine]) -> None:
        self._start, self._left = start, _STARTS
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> RestartingEngine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the engine, if there is one."""
        if self._engine:
            self._engine.close()

    def engine(self) -> Engine:
        """The engine, which is started if there is none. Raises NoTemplate."""
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
                    continue  # it ended while it was starting
            return self._engine

    def lost(self, engine: Engine) -> bool:
        """Has this engine's template ended? Then `engine` gives another one from now on."""
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
    """A notebook of an assignment in a course: the cells as they were released, the files beside it, and, looked up
    when they are needed, the lesson it is made from and what is expected."""

    course: Path
    name: str
    released: dict[str, Released]
    files: dict[str, str]

    @cached_property
    def lesson(self) -> tuple[Lesson, dict[str, Exercise]] | None:
        return hidden.lesson_of(self.course, self.name)

    @cached_property
    def judge(self) -> LessonJudge | None:
        """Raises UserError."""
        return LessonJudge(hidden.expected_results(self.course, *self.lesson)) if self.lesson else None


class Grader:
    """Serves any number of threads."""

    def __init__(self, standby: RestartingEngine) -> None:
        self._standby = standby
        self._tried: dict[Job, None] = {}  # in their order
        self._salts: Salts | None = None
        self._preparing = threading.Lock()
        self._turns = Turns()

    def prepare(self, job: Job) -> Salts:
        """Return an engine that has passed the self-test for `job` and all earlier jobs.

        Raises UserError and CannotIsolate.
        """
        with self._preparing:
            while True:
                known = self._salts if job in self._tried else None
                if known and known.engine is self._standby.engine():
                    return known
                self._prepare(job)

    def _prepare(self, job: Job) -> None:
        """Try for an engine; if its template ends on the way there is none yet."""
        with ThreadPoolExecutor(1) as beside:  # the template starts and rehearses, this core works the answers out
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
                self._salts = Salts(engine)  # by now the template has changed: other fingerprints than before

    def _rehearse(self, engine: Engine, job: Job) -> list[Job]:
        """Get an engine ready for a job, and for those before it if it is a new one. Returns these."""
        same = self._salts is not None and self._salts.engine is engine
        jobs = [job] if same else [*(self._tried | {job: None})]
        for each in jobs:
            if each.lesson:
                warm_up(engine, *each.lesson, each.files)
        engine.fork().kill()  # can it be isolated at all? And what the first fork costs more than others is paid here
        return jobs

    def run(self, job: Job, notebook: NotebookNode, beside: dict[str, str]) -> Outcome:
        """Run a sanitized notebook, with the student's own files `beside` it in base64 by relative path.

        Run it once more when its process ended by itself, as often as the template ended under it, and once more alone
        when it ran out of time on a busy machine. Raises UserError and CannotIsolate.
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
            except Ended:  # not the submission's own process, but the one that it is compared with: all anew
                salts.engine.close()
                outcome = Outcome(ended="died")
            if outcome.ended == "died" and self._standby.lost(salts.engine):
                continue
            tries -= 1
            if outcome.ended != "died" or not tries:
                return outcome
