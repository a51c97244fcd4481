"""Where submissions are run, whichever door they came through: an engine on which the course's own solutions got all
points, started again when its template ends, and a submission run again when that was not its own doing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nbformat.notebooknode import NotebookNode

from ..authoring.source import Broken, Lesson
from ..exercise import Exercise
from . import hidden
from .hidden import Answers
from .isolated.engine import Ended, Engine
from .salts import Salts
from .sanitize import Released
from .solved import rehearse, try_solution
from .standby import Standby
from .submission import Outcome, run

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
    def answers(self) -> Answers | None:
        """Raises Broken."""
        return hidden.answers(self.course, *self.lesson) if self.lesson else None


class Bench:
    """Serves any number of threads."""

    def __init__(self, standby: Standby) -> None:
        self._standby = standby
        self._tried: list[Job] = []
        self._salts: Salts | None = None
        self._preparing = threading.Lock()

    def prepare(self, job: Job) -> Salts:
        """An engine that grades the solutions of `job`, and of those before it, right. Raises Broken, CannotIsolate."""
        with self._preparing:
            while True:
                engine = self._standby.engine()
                salts = self._salts if self._salts and self._salts.engine is engine else None
                new = [] if job in self._tried else [job]
                if salts and not new:
                    return salts
                try:
                    self._try(engine, new if salts else [*self._tried, *new])
                    self._tried += new
                    self._salts = Salts(engine)  # by now the template has changed: other fingerprints than before
                except (Broken, Ended, OSError, RuntimeError) as error:
                    if not self._standby.lost(engine):
                        raise error if isinstance(error, Broken) else Broken(_INTERRUPTED) from error

    def _try(self, engine: Engine, jobs: list[Job]) -> None:
        for job in jobs:
            if job.lesson is None:
                engine.fork().kill()  # can it be isolated at all?
            else:
                with ThreadPoolExecutor(1) as beside:  # the template's core rehearses, this one works the answers out
                    rehearsed = beside.submit(rehearse, engine, *job.lesson, job.files)
                    answers = job.answers
                    rehearsed.result()
                assert answers is not None
                try_solution(engine, answers, job.released, job.files)

    def run(self, job: Job, notebook: NotebookNode) -> Outcome:
        """Run a sanitized notebook; once more when its process ended by itself, and as often as the template ended
        under it. Raises Broken and CannotIsolate."""
        tries = 2
        while True:
            salts = self.prepare(job)
            try:
                outcome = run(salts.engine, notebook, job.answers, job.files, salts)
            except Ended:  # not the submission's own process, but the one that it is compared with: all anew
                salts.engine.close()
                outcome = Outcome(ended="died")
            if outcome.ended == "died" and self._standby.lost(salts.engine):
                continue
            tries -= 1
            if outcome.ended != "died" or not tries:
                return outcome
