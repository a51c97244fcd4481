"""The grading of one submission: read, sanitize, run, score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode

from ...errors import UserError
from ...grade_ids import CellKind, GradeId
from ...language import Note
from ...messages.reasons import describe_reason, make_reason
from ..course.assignment_files import EncodedFiles, encoded
from ..course.grading_data import AssignmentSnapshot, CourseSnapshot
from ..course.remarks import Remarks
from ..files.atomic import describe_error
from ..files.notebook_file import Unreadable
from ..gradebook.scores import NotebookScores
from ..sandbox.grader.resource_watch import Ending
from ..sandbox.wall.libc import CannotIsolate
from .grader import Job, process_grader
from .handed_in import HandedIn, read_submission
from .limited_outputs import LimitOutput
from .review_reasons import list_cell_changes, list_incidents
from .sanitize import Sanitized, sanitize
from .scores import scores_of

_BESIDE = "{}: the student's text beside the untouched cell, or in place of the lost one, is the answer"

_PUT_BACK, _DELETED = "deleted and put back: {}", "deleted by the student: {}"


class State(StrEnum):
    """The outcomes of grading a submission."""

    GRADED = "graded"
    FLAGGED = "flagged"  # graded, but needs a review
    FAILED = "failed"  # not graded
    UPDATED = "updated"  # as unchanged, but with another late penalty
    UNCHANGED = "unchanged"  # graded before, and the files have not changed since


@dataclass
class Result:
    """The outcome of grading one submission.

    `reasons` tell why a review is needed, or why grading failed. `seconds` is the duration of the run. `mistakes` maps
    exercise names to the names of recognised mistakes.
    """

    student: str
    state: State
    score: float | None = None
    reasons: list[Note] = field(default_factory=list)
    seconds: float = 0.0
    mistakes: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # remarks that need no review
    places: list[Note] = field(default_factory=list)  # conspicuous places in the source

    @property
    def said(self) -> list[str]:
        """The reasons for a review, or for a failed grading, as English sentences."""
        return [describe_reason(each).en for each in self.reasons]

    @property
    def seen(self) -> list[str]:
        """The conspicuous places, as English sentences."""
        return [describe_reason(each).en for each in self.places]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "reasons": self.said, "places": self.seen}


@dataclass
class GradedSubmission:
    """A submission that was run, but whose grades are not written yet.

    `notebooks` and `scores` are dicts whose keys are released names.
    """

    result: Result
    digest: str = ""  # of the submitted files; empty if the next grading must grade them again
    timestamp: str | None = None
    files: dict[str, bytes] = field(default_factory=dict)  # files other than notebooks
    remarks: Remarks = field(default_factory=Remarks)
    renamed: dict[str, str] = field(default_factory=dict)  # paths of notebooks with another name than the released one
    notebooks: dict[str, NotebookNode] = field(default_factory=dict)
    scores: dict[str, NotebookScores] = field(default_factory=dict)


def prepare_grader(course: CourseSnapshot, assignment: AssignmentSnapshot, students: Sequence[str] = ()) -> None:
    """Prepare this process's grader for all notebooks of an assignment, and draw the tables of `students`.

    Raises UserError if nothing can be graded, CannotIsolate if the kernel refuses isolation.
    """
    grader = process_grader(course.limits, course.isolation)
    for name in assignment.released:
        grader.prepare(_job(course, assignment, name))
    assignment.draw_tables(students)


def grade_submission(course: CourseSnapshot, assignment: AssignmentSnapshot, folder: Path) -> GradedSubmission:
    """Grade the submission in `folder` in this process, and write nothing.

    If the submission cannot be graded, the result has the state `FAILED` and a reason. Parameters and return value can
    be pickled.
    """
    student = folder.parent.name
    try:
        return run_submission(course, assignment, folder)
    except Unreadable as error:
        why = error.reason
    except UserError as error:
        why = make_reason("text", text=str(error))
    except OSError as error:
        why = make_reason("text", text=describe_error(error, folder))
    except CannotIsolate as error:
        why = make_reason("not_isolated", why=str(error))
    except Exception as error:  # a bug of the grader, but only in this submission: the others are graded
        why = fault(error)
    return GradedSubmission(Result(student, State.FAILED, reasons=[why]))


def run_submission(
    course: CourseSnapshot, assignment: AssignmentSnapshot, folder: Path, only: str | None = None
) -> GradedSubmission:
    """Read a submission from `folder`, and run its notebooks, or the notebook `only`.

    Raises Unreadable if the submission cannot be graded, UserError if nothing can, CannotIsolate if the kernel refuses
    isolation.
    """
    found = _read(course, assignment, folder)
    remarks = Remarks(found.reasons, found.notes)
    graded = GradedSubmission(
        Result(folder.parent.name, State.GRADED),
        found.digest,
        found.timestamp,
        found.extras.files,
        remarks,
        found.renamed,
    )
    beside = encoded(found.extras.own)
    clean = {name: _clean(found, name, assignment) for name in found.notebooks if only in (None, name)}
    del found  # a notebook may be large, and running takes a while
    for name, notebook in clean.items():
        _run_notebook(graded, course, assignment, name, notebook, beside)
    graded.result.reasons, graded.result.notes = remarks.everything, remarks.notes
    graded.result.places = remarks.seen
    if graded.result.reasons:
        graded.result.state = State.FLAGGED
    return graded


def clean_notebook(course: CourseSnapshot, assignment: AssignmentSnapshot, folder: Path, name: str) -> Sanitized:
    """Return the sanitized notebook of a submission. `name` is its released name.

    Raises Unreadable if the submission cannot be graded.
    """
    return _clean(_read(course, assignment, folder), name, assignment)


def _read(course: CourseSnapshot, assignment: AssignmentSnapshot, folder: Path) -> HandedIn:
    return read_submission(folder, assignment.released_to(folder.parent.name), course.ignore, assignment.due)


def _clean(found: HandedIn, name: str, assignment: AssignmentSnapshot) -> Sanitized:
    """Return a submission's sanitized notebook. `name` is its released name.

    Raises Unreadable if the notebook is invalid, or another assignment's.
    """
    notebook, file = found.notebook(name), f"{name}.ipynb"
    if lesson := notebook.other_assignment(assignment.name):
        raise Unreadable(make_reason("other_lesson", name=file, lesson=lesson))
    return sanitize(notebook, file)


def _run_notebook(
    graded: GradedSubmission,
    course: CourseSnapshot,
    assignment: AssignmentSnapshot,
    name: str,
    clean: Sanitized,
    beside: EncodedFiles,
) -> None:
    """Run one sanitized notebook (`clean`), and add scores and remarks to `graded`.

    `name` is the notebook's released name. `beside` are the student's own files.
    """
    job, grader = _job(course, assignment, name), process_grader(course.limits, course.isolation)
    outcome = grader.run(job, clean, beside)
    if outcome.ended is Ending.DIED:
        graded.digest = ""  # the machine may be at fault: the next run tries again
    limited, _ = LimitOutput(config=course.output).preprocess(clean.notebook, {})
    graded.notebooks[name] = limited
    graded.scores[name] = scores_of(limited)
    graded.result.seconds += outcome.seconds
    graded.result.mistakes |= {n: v.mistake for n, v in outcome.verdicts.items() if v.mistake}
    deleted = [cell for cell in clean.missing if GradeId(cell).kind is CellKind.ANSWER and cell not in clean.beside]
    for says, cells in ((_BESIDE, clean.beside), (_PUT_BACK, clean.tests), (_DELETED, deleted)):
        graded.remarks.notes.extend(map(says.format, cells))
    graded.remarks.notes.extend(outcome.notes)
    graded.remarks.places[name] = outcome.places
    reasons = [*clean.released.reasons, *list_cell_changes(clean), *list_incidents(outcome)]
    graded.remarks.reasons.setdefault(name, []).extend(reasons)


_jobs: dict[tuple[Path, AssignmentSnapshot, str], Job] = {}  # with their lessons and expected results


def _job(course: CourseSnapshot, assignment: AssignmentSnapshot, name: str) -> Job:
    """Return the grader's job for the released notebook `name`. The first call creates the job."""
    key = course.root, assignment, name
    cells, expected = assignment.released[name].cells, assignment.expected.get(name)
    return _jobs.setdefault(key, Job(course.root, name, cells, assignment.files, expected))


def fault(error: Exception) -> Note:
    """Return the reason for a failed grading that a bug in the grader has caused. `error` is the exception."""
    return make_reason("our_error", error=f"{type(error).__name__}: {error}")
