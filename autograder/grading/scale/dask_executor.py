"""An executor that sends submissions to the workers of a Dask scheduler.

Only data travel, so no folder has to be shared. The expected results are encrypted with a key of the run: Dask may
write large data to a worker's disk, but never a task's small arguments.
"""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet
from distributed import Client
from distributed.client import Future as DaskFuture
from distributed.scheduler import KilledWorker

from ...errors import UserError
from ...messages.reasons import make_reason
from ..course import hidden_cases
from ..course.grading_data import AssignmentSnapshot, CourseSnapshot
from ..submission.pipeline import GradedSubmission, Result, State, grade_submission, prepare_grader
from ..terminal import printable
from .packing import PackedSubmission, pack
from .version import versions
from .worker_task import SealedAssignment, WrongVersion, grade_batch

BATCH = 8  # submissions in one task
_SOON = 0.05  # seconds to wait for more submissions of a batch
_NOWHERE = Path("/dev/null/course")  # the course folder of a worker, which has none


@dataclass
class _Task:
    """A submission on its way, and the future that gets its result."""

    packed: PackedSubmission
    future: Future[Any] = field(default_factory=Future)


class DaskExecutor(Executor):
    """An executor that sends submissions to the workers of `client`.

    `submit` accepts only calls of `prepare_grader` and `grade_submission`.
    """

    def __init__(self, client: Client) -> None:
        self._client, self._key = client, Fernet.generate_key()
        self._lock = threading.Lock()
        self._prepared: set[str] = set()  # digests of assignments
        self._waiting: dict[str, list[_Task]] = {}
        self._sent: set[DaskFuture[Any]] = set()  # Dask forgets tasks whose futures nobody holds
        self._refused: set[str] = set()  # addresses of workers with other versions

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if fn is prepare_grader:
            course, assignment, _ = args
            return self._prepare(course, assignment)
        assert fn is grade_submission
        _, assignment, folder = args
        task = _Task(pack(folder))
        task.future.set_running_or_notify_cancel()
        with self._lock:
            waiting = self._waiting.setdefault(assignment.digest, [])
            waiting.append(task)
            full = len(waiting) >= BATCH
        if full:
            self._flush(assignment.digest)
        elif len(waiting) == 1:
            threading.Timer(_SOON, self._flush, [assignment.digest]).start()
        return task.future

    def _prepare(self, course: CourseSnapshot, assignment: AssignmentSnapshot) -> Future[None]:
        """Compute the expected results here, and send everything that workers need."""
        done: Future[None] = Future()
        try:
            if assignment.digest not in self._prepared:
                data = replace(course, root=_NOWHERE), replace(assignment, expected=_expected(course, assignment))
                sealed = Fernet(self._key).encrypt(pickle.dumps(data))
                # Workers that come later get plugins as well; data that Dask scatters is lost with its workers.
                self._client.register_plugin(SealedAssignment(assignment.digest, sealed))
                self._prepared.add(assignment.digest)
            done.set_result(None)
        except Exception as error:
            done.set_exception(error)
        return done

    def _flush(self, digest: str) -> None:
        with self._lock:
            tasks, self._waiting[digest] = self._waiting.get(digest, []), []
        for start in range(0, len(tasks), BATCH):
            self._send(digest, tasks[start : start + BATCH])

    def _send(self, digest: str, tasks: Sequence[_Task]) -> None:
        try:
            packed = [task.packed for task in tasks]
            sent = self._client.submit(
                grade_batch, digest, self._key, versions(), packed,
                pure=False, workers=self._fitting_workers(),
            )  # fmt: skip
            self._sent.add(sent)
            sent.add_done_callback(lambda future: self._done(digest, tasks, future))  # type: ignore[no-untyped-call]
        except Exception as error:
            _fail(tasks, error)

    def _fitting_workers(self) -> list[str] | None:
        """Return the addresses of the workers that were not refused, or None if all may be used.

        Raises UserError if every worker was refused.
        """
        if not self._refused:
            return None
        fitting = [each for each in self._client.scheduler_info(n_workers=-1)["workers"] if each not in self._refused]
        if not fitting:
            raise UserError("no worker has the versions of this machine: install the same wheel on them")
        return fitting

    def _done(self, digest: str, tasks: Sequence[_Task], sent: DaskFuture[Any]) -> None:
        """Hand over the results of a batch. Send its submissions again if a worker died or was refused."""
        try:
            for task, graded in zip(tasks, sent.result(), strict=True):
                task.future.set_result(graded)
        except KilledWorker as killed:
            if len(tasks) > 1:  # one of them may be the cause
                for task in tasks:
                    self._send(digest, [task])
                return
            why = f"workers that graded it died, the last one {killed.last_worker.address}: grade it on one machine"
            student = tasks[0].packed.student
            tasks[0].future.set_result(
                GradedSubmission(Result(student, State.FAILED, reasons=[make_reason("text", text=why)]))
            )
        except WrongVersion as wrong:
            address, why = wrong.args
            if address not in self._refused:
                self._refused.add(address)
                print(printable(f"autograder: the worker {address} is not used: {why}"), file=sys.stderr)
            self._send(digest, tasks)
        except (CancelledError, OSError) as error:
            _fail(tasks, UserError(f"the scheduler has gone ({error}): what was written stays; grade again"))
        except Exception as error:
            _fail(tasks, error)
        finally:
            self._sent.discard(sent)


def _fail(tasks: Sequence[_Task], error: Exception) -> None:
    for task in tasks:
        if not task.future.done():
            task.future.set_exception(error)


def _expected(course: CourseSnapshot, assignment: AssignmentSnapshot) -> dict[str, Any]:
    """Return the expected results of an assignment's lessons, by notebook.

    Raises UserError if a lesson is the instructor's own: workers have the course's lessons only.
    """
    found = {}
    for name in assignment.released:
        lesson = hidden_cases.lesson_of(course.root, name)
        if lesson is None:
            continue
        if lesson[0].path.is_relative_to(course.root):
            raise UserError(f"{name} is a lesson of your own, which workers do not have: grade it without --scheduler")
        found[name] = hidden_cases.expected_results(course.root, *lesson).expected
    return found
