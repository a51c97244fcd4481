"""The grading pipeline of one submission: read, sanitize, run, score."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from nbformat.notebooknode import NotebookNode

from ...errors import UserError
from ..course.assignment_files import encoded, encoded_files
from ..course.folders import describe_error
from ..course.gradebook import ReleasedNotebook
from ..course.remarks import Remarks
from ..course.settings import CourseSettings
from ..sandbox.libc import CannotIsolate
from ..sandbox.memory import gc_frozen
from .folder import read_submission
from .grader import Grader, Job, RestartingEngine
from .outputs import LimitOutput
from .reasons import list_changes, list_incidents
from .sanitize import Sanitized, Unreadable, parse, sanitize
from .scores import NotebookScores, scores_of


@dataclass
class Result:
    """The outcome of one submission.

    `state` is one of:
    - "graded";
    - "flagged": graded, but needs a review;
    - "failed": not graded, for the reason given;
    - "unchanged": graded before, from the same files;
    - "updated": unchanged except for the late penalty.
    """

    student: str
    state: str
    score: float | None = None
    reasons: list[str] = field(default_factory=list)
    seconds: float = 0.0
    mistakes: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # remarks that need no review


@dataclass
class GradedSubmission:
    """A submission that was run but not written yet."""

    result: Result
    digest: str = ""  # empty if it must be graded again in any case
    timestamp: str | None = None
    files: dict[str, bytes] = field(default_factory=dict)  # files other than notebooks
    remarks: Remarks = field(default_factory=Remarks)
    renamed: dict[str, str] = field(default_factory=dict)  # paths of notebooks with another name than the released one
    notebooks: dict[str, NotebookNode] = field(default_factory=dict)
    scores: dict[str, NotebookScores] = field(default_factory=dict)


class Pipeline:
    """A factory of graded submissions for one assignment with the notebooks `released`.

    It serves any number of threads. `due` is whether the assignment has a due date.
    """

    def __init__(
        self,
        course: CourseSettings,
        assignment: str,
        standby: RestartingEngine,
        released: dict[str, ReleasedNotebook],
        due: bool,
    ) -> None:
        self._root, self._source, self._released = course.root, course.source(assignment), released
        self._ignore, self._due = course.ignore, due
        self.running: dict[str, None] = {}  # students whose submissions are running
        self._bench, self._jobs = Grader(standby), dict[str, Job]()
        self._limit = LimitOutput(config=course.config)

    def prepare(self) -> None:
        """Prepare all notebooks before the first submission. Raises UserError and CannotIsolate."""
        files = encoded_files(self._source)
        with gc_frozen():  # data for the whole class is excluded from the garbage collections of each submission
            for name, released in self._released.items():
                self._jobs[name] = Job(self._root, name, released.cells, files)
                self._bench.prepare(self._jobs[name])

    def of(self, folder: Path) -> GradedSubmission:
        """Return the graded submission in `folder`, or one with the state "failed" and a reason."""
        student = folder.parent.name
        self.running[student] = None
        try:
            return self._run(student, folder)
        except (Unreadable, UserError) as error:
            why = str(error)
        except OSError as error:
            why = describe_error(error, folder)
        except CannotIsolate as error:
            why = f"its process could not be isolated: {error}"
        except Exception as error:  # our bug, but only in this submission: the others are graded
            why = fault(error)
        finally:
            self.running.pop(student, None)
        return GradedSubmission(Result(student, "failed", reasons=[why]))

    def _run(self, student: str, folder: Path) -> GradedSubmission:
        """Run every notebook of a submission."""
        found = read_submission(folder, self._released, self._ignore, self._due)
        remarks = Remarks(found.reasons, found.notes)
        draft = GradedSubmission(
            Result(student, "graded"), found.digest, found.timestamp, found.extras.files, remarks, found.renamed
        )
        beside = encoded(found.extras.own)
        clean = {name: self._clean(name, data) for name, data in found.raw.items()}
        del found  # a notebook may be large, and running takes a while
        for name, notebook in clean.items():
            self._run_notebook(draft, name, notebook, beside)
        draft.result.reasons, draft.result.notes = remarks.everything, remarks.notes
        if draft.result.reasons:
            draft.result.state = "flagged"
        return draft

    def _clean(self, name: str, data: bytes) -> Sanitized:
        released = self._released[name]
        raw = parse(data, f"{name}.ipynb")
        try:
            return sanitize(raw, released.cells, released.kernel)
        except Unreadable as error:
            raise Unreadable(f"{name}.ipynb has {error}") from error

    def _run_notebook(self, draft: GradedSubmission, name: str, clean: Sanitized, beside: dict[str, str]) -> None:
        released = self._released[name]
        outcome = self._bench.run(self._jobs[name], clean.notebook, beside)
        if outcome.ended == "died":
            draft.digest = ""  # the machine may be at fault: the next run tries again
        limited, _ = self._limit.preprocess(clean.notebook, {})
        draft.notebooks[name] = limited
        draft.scores[name] = scores_of(limited)
        draft.result.seconds += outcome.seconds
        draft.result.mistakes |= {n: v.mistake for n, v in outcome.verdicts.items() if v.mistake}
        draft.remarks.notes.extend(outcome.notes)
        reasons = [*list_changes(clean, released.cells), *list_incidents(outcome)]
        draft.remarks.reasons.setdefault(name, []).extend(reasons)


def fault(error: Exception) -> str:
    """Return the reason for a bug of ours."""
    return f"our error, please report it: {type(error).__name__}: {error}"
