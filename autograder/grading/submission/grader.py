"""The grader of a process, which runs submissions after a self-test.

The self-test grades the course's own solutions. If a run failed and the submission may not be the cause, the submission
is run again. A process has one grader for each combination of limits and wall.
"""

from __future__ import annotations

import atexit
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...checking.counting.allocations import live_bytes
from ...checking.exercise import Exercise
from ...checking.expected import Expected
from ...errors import UserError
from ...lessons.source import Lesson
from ..course import hidden_cases as hidden
from ..course.assignment_files import EncodedFiles
from ..gradebook.released_notebooks import ReleasedCells
from ..limits import Limits
from ..sandbox.grader.engine import Engine
from ..sandbox.grader.fork_server_process import ForkServerProcess
from ..sandbox.grader.resource_watch import Ending
from ..sandbox.grader.restarting_engine import RestartingEngine
from ..sandbox.grader.student_process import Ended
from ..sandbox.wall.walls import strongest
from ..shared_lock import SharedLock
from ..wall_kinds import Wall
from .judgement import LessonJudge
from .notebook_run import Outcome, run_notebook
from .sanitize import Sanitized
from .self_test import grade_solution, warm_up_engine

_INTERRUPTED = "a process ended while the course's own solution was graded, so nobody's answers were: grade again"


@dataclass(eq=False)
class Job:
    """The data that all submissions of one released notebook share.

    `course` is the course folder, `name` the notebook's released name. `files` belong to the assignment, not to
    students. `expected` maps exercises to expected results that were computed elsewhere. If it is None, they are
    computed on first use.
    """

    course: Path
    name: str
    released: ReleasedCells
    files: EncodedFiles
    expected: dict[str, Expected] | None = None

    @cached_property
    def lesson(self) -> tuple[Lesson, dict[str, Exercise]] | None:
        """The lesson of the notebook, and a dict from exercise name to exercise.

        None if the notebook was not built from a lesson.
        """
        return hidden.lesson_of(self.course, self.name)

    @cached_property
    def judge(self) -> LessonJudge | None:
        """The judge of the lesson's answers, or None if there is no lesson.

        Raises UserError if the expected results cannot be computed.
        """
        if self.lesson is None:
            return None
        if self.expected is not None:
            return LessonJudge(hidden.ExpectedResults(*self.lesson, self.expected))
        return LessonJudge(hidden.expected_results(self.course, *self.lesson))


class Grader:
    """A runner of submissions in the sandbox, for any number of threads.

    `starting` is a fork server that has been started in advance. The first engine uses it.
    """

    def __init__(self, limits: Limits, *, wall: Wall = Wall.FULL, starting: ForkServerProcess | None = None) -> None:
        self._engine = RestartingEngine(limits, wall=wall, starting=starting)
        self._tested: dict[Job, Engine] = {}  # the engine that passed the self-test, by job
        self._preparing = threading.Lock()
        self._lock = SharedLock()
        with live_bytes():  # torch complains on stderr if a thread is the first to use the profiler
            pass

    def close(self) -> None:
        """Kill the fork server and all its children."""
        self._engine.close()

    def prepare(self, job: Job) -> Engine:
        """Return an engine that has passed the self-test for `job`.

        Raises UserError if the self-test fails, NoForkServer if too many fork servers have died, CannotIsolate if the
        kernel refuses isolation.
        """
        with self._preparing:
            while True:
                tested = self._tested.get(job)
                if tested and tested is self._engine.get():
                    return tested
                self._prepare(job)

    def _prepare(self, job: Job) -> None:
        """Warm up an engine for `job` and run the self-test.

        If the fork server dies meanwhile, returns without a tested engine. The caller then tries again.
        """
        with ThreadPoolExecutor(1) as beside:  # starts the fork server while this core computes expected results
            starting = beside.submit(self._engine.get)
            warming = beside.submit(lambda: _warm_up(starting.result(), job))
            judge = job.judge
            engine = starting.result()
            try:
                warming.result()
                if judge:
                    grade_solution(engine, judge, job.released, job.files)
            except (UserError, Ended, OSError, RuntimeError) as error:
                if not self._engine.lost(engine):
                    raise error if isinstance(error, UserError) else UserError(_INTERRUPTED) from error
            else:
                self._tested[job] = engine

    def run(self, job: Job, clean: Sanitized, beside: EncodedFiles) -> Outcome:
        """Run a sanitized notebook and return the outcome. Outputs are written into the notebook.

        `beside` are the student's own files.
        If the child died, the notebook is run once more. If the fork server died, the notebook is run again, until no
        engine can be started. If the notebook ran out of time on a busy machine, it is run again while nothing else
        runs.
        Raises the same exceptions as `prepare`.
        """
        with self._lock.shared():
            outcome = self._run(job, clean, beside)
        if outcome.lacked_time:
            with self._lock.exclusive():
                outcome = self._run(job, clean, beside)
        return outcome

    def _run(self, job: Job, clean: Sanitized, beside: EncodedFiles) -> Outcome:
        """Run a notebook. If its child or the fork server died, run the notebook again."""
        tries = 2
        while True:
            engine = self.prepare(job)
            judge = job.judge.of(clean.released) if job.judge else None
            outcome = run_notebook(engine, clean.notebook, judge, job.files, beside, clean.released.programs)
            if outcome.ended is Ending.DIED and self._engine.lost(engine):
                continue
            tries -= 1
            if outcome.ended is not Ending.DIED or not tries:
                return outcome


def _warm_up(engine: Engine, job: Job) -> None:
    """Warm up an engine for a job's lesson, and fork a first child."""
    if job.lesson:
        warm_up_engine(engine, *job.lesson, job.files)
    engine.fork().kill()  # checks that isolation works, and pays the extra cost of a first fork


_graders: dict[tuple[Limits, Wall], Grader] = {}
_lock = threading.Lock()


def process_grader(limits: Limits, isolation: Wall, starting: ForkServerProcess | None = None) -> Grader:
    """Return this process's grader for `limits` and `isolation`. The first call creates the grader.

    `isolation` is a wall, or AUTO. `starting` is a fork server that has been started in advance. Only a new grader uses
    it.
    """
    with _lock:
        key = limits, strongest(isolation)
        if key not in _graders:
            _graders[key] = Grader(limits, wall=key[1], starting=starting)
        return _graders[key]


@atexit.register
def close_graders() -> None:
    """Close all graders of this process. The next call of `process_grader` creates a new one."""
    with _lock:
        while _graders:
            _graders.popitem()[1].close()
