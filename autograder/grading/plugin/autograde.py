"""Preprocessors for `nbgrader autograde` and formgrader's autograde button.

In this module, `ours` is `resources["nbgrader"]`. It holds the names of assignment, student and notebook, and the
gradebook's URL.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties, NbGraderPreprocessor

from ...language import Note
from ...messages.reasons import describe_reason
from ..course.assignment_files import encoded, encoded_files
from ..course.folders import drop_record
from ..course.gradebook import Book, ReleasedNotebook
from ..course.remarks import Remarks, RemarksFolder
from ..course.sandbox_traits import SandboxTraits
from ..rules.applied_rules import applied_rules
from ..sandbox.restarting_engine import NoForkServer
from ..submission.attachments import find_extras, refuse_linked_notebook, remove_copies
from ..submission.folder import read_submission
from ..submission.grader import Job, close_graders, process_grader
from ..submission.review_reasons import list_changes, list_incidents
from ..submission.sanitize import Unreadable, parse, sanitize


class Sanitize(NbGraderPreprocessor):  # type: ignore[misc]
    """A preprocessor that rebuilds the submitted notebook (see the function `sanitize`)."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        ours = resources["nbgrader"]
        released, due = _released(ours)
        self._drop_links(ours)
        raw, reasons = self._chosen(nb, ours, released, due)
        clean = sanitize(raw, released[ours["notebook"]].cells, released[ours["notebook"]].kernel)
        who = f"{ours['student']}, {ours['notebook']}"
        for said, names in (("is not there", clean.missing), ("was deleted; put back", clean.restored),
                            ("was changed; as released again", clean.changed),
                            ("is there more than once; the last one counts", clean.repeated)):  # fmt: skip
            for name in names:
                self.log.warning("%s: cell %s %s", who, name, said)
        _reasons[_key(ours)] = [*reasons, *list_changes(clean, released[ours["notebook"]].cells)]
        return clean.notebook, resources

    def _drop_links(self, ours: Any) -> None:
        """Remove the files that nbgrader copied through links in a submission.

        nbgrader has copied the targets of the links. Raises Unreadable if the notebook itself is a link.
        """
        submitted, _ = _submission(self.config, ours)
        refuse_linked_notebook(submitted, ours["notebook"])
        course = CourseDirectory(config=self.config)
        copied, source = (
            Path(course.format_path(kind, student, ours["assignment"]))
            for kind, student in ((course.autograded_directory, ours["student"]), (course.source_directory, "."))
        )
        for path in remove_copies(submitted, copied, source):
            self.log.warning("%s: ignored: %s (it is a link)", ours["student"], path)

    def _chosen(
        self, nb: NotebookNode, ours: Any, released: dict[str, ReleasedNotebook], due: bool
    ) -> tuple[Any, list[Note]]:
        """Return the notebook to grade as JSON, and a list of reasons for a review.

        `nb` is the notebook that nbgrader has chosen. A notebook that the student has renamed may be chosen instead.
        `released` maps released names to notebooks. `due` tells whether the assignment has a due date.
        """
        folder, ignore = _submission(self.config, ours)
        who = f"{ours['student']}, {ours['notebook']}"
        try:
            found = read_submission(folder, released, ignore, due)
            data = found.raw[ours["notebook"]]
            raw = parse(data, f"{ours['notebook']}.ipynb")
        except (Unreadable, KeyError):  # nbgrader has already read it
            return nb, []
        for note in found.notes:
            self.log.warning("%s: %s", who, note)
        reasons = [*found.reasons[""], *found.reasons.get(ours["notebook"], [])]
        for reason in reasons:
            self.log.warning("%s: a person has to look: %s", who, describe_reason(reason).en)
        return raw, reasons


class RunIsolated(SandboxTraits):
    """A preprocessor that runs cells in a child, and checks the answers.

    A course sets the traits in nbgrader_config.py.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        ours = resources["nbgrader"]
        grader = process_grader(self.limits(), self.isolation)
        try:
            outcome = grader.run(_job(Path.cwd(), ours), nb, self._beside(ours))  # cwd: the course's root
        except NoForkServer:
            close_graders()  # a server goes on: start a new engine at the next click
            raise
        for note in outcome.notes:
            self.log.warning("%s, %s: %s", ours["student"], ours["notebook"], note)
        for flag in outcome.flags:
            self.log.warning(
                "%s, %s: a person has to look: %s", ours["student"], ours["notebook"], describe_reason(flag).en
            )
        _reasons.setdefault(_key(ours), []).extend(list_incidents(outcome))
        if outcome.ended:
            self.log.warning("%s, %s: stopped: %s", ours["student"], ours["notebook"], outcome.ended)
        return nb, resources

    def _beside(self, ours: Any) -> dict[str, str]:
        """Return a dict from relative path to contents in base64, for the student's own files."""
        return encoded(find_extras(*_submission(self.config, ours)).own)


class KeepRemarks(NbGraderPreprocessor):  # type: ignore[misc]
    """A preprocessor that stores the reasons for a review by an instructor.

    The reasons are stored in the course's folder `.autograder`. If there are reasons, formgrader shows a flag on the
    notebook.
    The preprocessor also removes a record from the folder of the graded submission. A student may have forged the
    record, and `autograder grade` would trust it.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        ours = resources["nbgrader"]
        course = CourseDirectory(config=self.config)
        drop_record(Path(course.format_path(course.autograded_directory, ours["student"], ours["assignment"])))
        folder, reasons = RemarksFolder(Path.cwd(), ours["assignment"]), _reasons.pop(_key(ours), [])
        earlier = folder.read(ours["student"])
        others = {name: said for name, said in earlier.reasons.items() if name and name != ours["notebook"]}
        folder.write(ours["student"], Remarks({**others, ours["notebook"]: reasons}))
        if reasons or earlier.everything:  # a flag that only an instructor has set is kept
            with Gradebook(ours["db_url"]) as gradebook:
                where = ours["notebook"], ours["assignment"], ours["student"]
                gradebook.find_submission_notebook(*where).flagged = bool(reasons)
                gradebook.db.commit()
        return nb, resources


_reasons: dict[tuple[str, str, str], list[Note]] = {}  # for the next preprocessor; see `_key`


def _submission(config: Any, ours: Any) -> tuple[Path, list[str]]:
    """Return the folder of a submission, and the patterns of file names that nbgrader does not copy."""
    course = CourseDirectory(config=config)
    folder = course.format_path(course.submitted_directory, ours["student"], ours["assignment"])
    return Path(folder), list(course.ignore)


def _key(ours: Any) -> tuple[str, str, str]:
    """Return the names of assignment, student and notebook, as a key of `_reasons`."""
    return ours["assignment"], ours["student"], ours["notebook"]


_jobs: dict[tuple[object, ...], Job] = {}


def _job(root: Path, ours: Any) -> Job:
    """Return the grader's job for the notebook that `ours` names.

    All submissions share the job until a file of the assignment changes. `root` is the course folder.
    """
    source, name = root / "source" / ours["assignment"], ours["notebook"]
    key = (source, name, *((path, path.stat().st_mtime_ns) for path in sorted(source.rglob("*"))))
    if key not in _jobs:
        _jobs[key] = Job(root, name, _released(ours)[0][name].cells, encoded_files(source))
    return _jobs[key]


def _released(ours: Any) -> tuple[dict[str, ReleasedNotebook], bool]:
    """Return a dict from name to released notebook, and whether the assignment has a due date."""
    with Gradebook(ours["db_url"]) as gradebook:
        book = Book(gradebook)
        applied = applied_rules(Path.cwd())
        due = applied.rules.of(ours["assignment"]).due if applied else None
        book.set_missing_due_date(ours["assignment"], due)
        return book.released(ours["assignment"]), book.is_due(ours["assignment"])


class AssignPenalties(AssignLatePenalties):  # type: ignore[misc]
    """nbgrader's preprocessor for late penalties, with the extensions that `students.csv` states."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        ours = resources["nbgrader"]
        applied = applied_rules(Path(self.config.CourseDirectory.get("root", ".")))
        if applied and (extension := applied.extension(ours["student"], ours["assignment"])):
            with Gradebook(ours["db_url"]) as gradebook:
                gradebook.find_submission(ours["assignment"], ours["student"]).extension = extension
                gradebook.db.commit()
        done: tuple[NotebookNode, Any] = super().preprocess(nb, resources)
        return done
