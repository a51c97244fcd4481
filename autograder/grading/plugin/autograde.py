"""Preprocessors for `nbgrader autograde` and formgrader's autograde button.

They grade with the functions of `autograder grade`. nbgrader writes the notebook and the scores.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.preprocessors import AssignLatePenalties, NbGraderPreprocessor
from traitlets.config import Config

from ...messages.reasons import describe_reason
from ..course.course import course_of
from ..course.graded_folder import drop_record
from ..course.grading_data import AssignmentSnapshot, CourseSnapshot
from ..course.remarks import Remarks
from ..course.sandbox_traits import SandboxTraits
from ..files.inert_names import one_line
from ..requests.found import time_of
from ..sandbox.grader.restarting_engine import NoForkServer
from ..submission.attachments import make_inert, refuse_linked_notebook, remove_copies
from ..submission.grader import close_graders
from ..submission.pipeline import clean_notebook, run_submission

_REMARKS = "autograder_remarks"  # the key in nbconvert's resources, which go from one preprocessor to the next


class _Submitted:
    """The submitted notebook on which nbgrader runs a preprocessor."""

    def __init__(self, config: Config, resources: Any) -> None:
        named = resources["nbgrader"]
        self.assignment, self.student, self.notebook = named["assignment"], named["student"], named["notebook"]
        self.course = course_of(config)
        self.folder = self.course.submitted(self.assignment, self.student)

    def __str__(self) -> str:
        return one_line(f"{self.student}, {self.notebook}")

    def snapshots(self) -> tuple[CourseSnapshot, AssignmentSnapshot]:
        with self.course.book() as book:
            return CourseSnapshot.of(self.course), AssignmentSnapshot.of(self.course, book, self.assignment)


class Sanitize(NbGraderPreprocessor):  # type: ignore[misc]
    """A preprocessor that rebuilds the submitted notebook (see the function `sanitize`)."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        submitted = _Submitted(self.config, resources)
        self._mend_copies(submitted)
        clean = clean_notebook(*submitted.snapshots(), submitted.folder, submitted.notebook)
        for name in clean.changed:
            self.log.warning("%s: cell %s was changed; as released again", submitted, one_line(name))
        return clean.notebook, resources

    def _mend_copies(self, submitted: _Submitted) -> None:
        """Remove the files that nbgrader copied through links, and rename those that could act on formgrader's pages.

        nbgrader has copied the targets of the links. Raises Unreadable if the notebook itself is a link.
        """
        refuse_linked_notebook(submitted.folder, submitted.notebook)
        copied = submitted.course.autograded(submitted.assignment, submitted.student)
        source = submitted.course.source(submitted.assignment)
        for path in remove_copies(submitted.folder, copied, source):
            self.log.warning("%s: ignored: %s (it is a link)", one_line(submitted.student), one_line(path))
        make_inert(copied, source)


class RunIsolated(SandboxTraits):
    """A preprocessor that runs cells in a child, and checks the answers.

    A course sets the traits in nbgrader_config.py.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        submitted = _Submitted(self.config, resources)
        try:
            graded = run_submission(*submitted.snapshots(), submitted.folder, submitted.notebook)
        except NoForkServer:
            close_graders()  # formgrader's server goes on: start a new engine at the next click
            raise
        for note in graded.remarks.notes:
            self.log.warning("%s: %s", submitted, one_line(note))
        for reason in graded.remarks.everything:
            self.log.warning("%s: a person has to look: %s", submitted, one_line(describe_reason(reason).en))
        for place in graded.remarks.seen:
            self.log.warning("%s: to look at: %s", submitted, one_line(describe_reason(place).en))
        resources[_REMARKS] = graded.remarks
        return graded.notebooks[submitted.notebook], resources


class KeepRemarks(NbGraderPreprocessor):  # type: ignore[misc]
    """A preprocessor that stores the reasons for a review by an instructor.

    The reasons are stored in the course's folder `.autograder`. If there are reasons, formgrader shows a flag on the
    notebook.
    The preprocessor also removes a record from the folder of the graded submission. A student may have forged the
    record, and `autograder grade` would trust it.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        submitted, new = _Submitted(self.config, resources), resources.pop(_REMARKS)
        where = submitted.notebook, submitted.assignment, submitted.student
        drop_record(submitted.course.autograded(submitted.assignment, submitted.student))
        folder = submitted.course.remarks(submitted.assignment)
        earlier = folder.read(submitted.student)
        own = {name: new.reasons.get(name, []) for name in ("", submitted.notebook)}
        remarks = Remarks({**earlier.reasons, **own}, new.notes, {**earlier.places, **new.places})
        folder.write(submitted.student, remarks)
        flag = new.flag(submitted.notebook, earlier)
        if flag is not None:
            with submitted.course.gradebook() as gradebook:
                gradebook.find_submission_notebook(*where).flagged = flag
                gradebook.db.commit()
        return nb, resources


class AssignPenalties(AssignLatePenalties):  # type: ignore[misc]
    """nbgrader's preprocessor for late penalties, with the extensions that `students.csv` states.

    nbgrader itself takes a time of submission in a zone that it does not know for UTC. Such a time is unknown.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        submitted = _Submitted(self.config, resources)
        applied, came = submitted.course.applied, time_of(submitted.folder)
        with submitted.course.gradebook() as gradebook:
            submission = gradebook.find_submission(submitted.assignment, submitted.student)
            submission.timestamp = datetime.fromisoformat(came).replace(tzinfo=None) if came else None
            if applied and (extension := applied.extension(submitted.student, submitted.assignment)):
                submission.extension = extension
            gradebook.db.commit()
        done: tuple[NotebookNode, Any] = super().preprocess(nb, resources)
        return done
