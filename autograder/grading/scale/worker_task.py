"""The task of a Dask worker: grade a batch of packed submissions."""

from __future__ import annotations

import pickle
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from cryptography.fernet import Fernet
from distributed import Worker, WorkerPlugin, get_worker

from ..course.grading_data import AssignmentSnapshot, CourseSnapshot
from ..submission.pipeline import GradedSubmission, grade_submission, prepare_grader
from .packing import PackedSubmission, unpack_submission
from .version import differences, versions

_sealed: dict[str, bytes] = {}
_prepared: dict[str, tuple[CourseSnapshot, AssignmentSnapshot]] = {}
_preparing = threading.Lock()


class SealedAssignment(WorkerPlugin):  # type: ignore[misc]
    """Snapshots of course and assignment with expected results, encrypted.

    Dask gives this plugin to all workers, also to those that connect later. `digest` identifies the assignment.
    """

    def __init__(self, digest: str, sealed: bytes) -> None:
        self.name = f"autograder-{digest}"  # Dask replaces a plugin of the same name
        self._digest, self._sealed = digest, sealed

    def setup(self, worker: Worker) -> None:
        _sealed[self._digest] = self._sealed


class WrongVersion(Exception):
    """An error: a worker has other versions than the sender of submissions.

    The arguments are the worker's address and the differences in words.
    """


def grade_batch(
    digest: str, key: bytes, needed: dict[str, str], submissions: Sequence[PackedSubmission]
) -> list[GradedSubmission]:
    """Grade submissions of one assignment, one after the other, and return the results in the same order.

    `digest` identifies the assignment, whose data are encrypted with `key`. `needed` are the versions of the machine
    that sends the submissions.
    Raises WrongVersion if those of this machine differ. Raises UserError or CannotIsolate if nothing can be graded.
    """
    if wrong := differences(needed, versions()):
        raise WrongVersion(_address(), wrong)
    with _preparing:
        if digest not in _prepared:
            data = pickle.loads(Fernet(key).decrypt(_sealed[digest]))
            prepare_grader(*data)
            _prepared[digest] = data
    data = _prepared[digest]
    graded = []
    for each in submissions:
        with tempfile.TemporaryDirectory(prefix="autograder-") as folder:
            graded.append(grade_submission(*data, unpack_submission(each, Path(folder))))
    return graded


def _address() -> str:
    return str(get_worker().address)
