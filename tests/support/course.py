"""A course folder under test, and nbgrader's commands on it."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook

import support
from autograder.cli import main
from autograder.grading.course.hidden_cases import expected_results
from autograder.grading.creating.course_folder import make_course
from autograder.grading.sandbox.grader import fork_server_process
from autograder.lessons.collection import COURSE
from autograder.lessons.source import Lesson
from support.command_server import CommandServer
from support.fork_client import Fork
from support.forked_sandbox import subprocess_with_forks
from support.once import once
from support.submissions import Submission, read

BIN = Path(sys.executable).parent


@dataclass
class Course:
    """A course folder under test, with its submissions and the logs of commands."""

    folder: Path
    lesson: Lesson
    submissions: list[Submission] = field(default_factory=list)
    logs: dict[str, str] = field(default_factory=dict)

    # ---------------------------------------------------------------------------------------------------- to make one

    @classmethod
    def make(
        cls,
        folder: Path,
        lesson: Lesson | str = "first_gradient",
        *,
        languages: Iterable[str] = ("en", "ru"),
        beside: Mapping[str, str] | None = None,
        submissions: Iterable[Submission] = (),
    ) -> Course:
        """Make a course folder with one lesson released, in which nothing is handed in.

        `beside` are files of the instructor.

        The commands run once in a run of the tests, for all workers; every other call copies what they made. That takes
        10 ms instead of 13 s for two languages.
        """
        if isinstance(lesson, str):
            (lesson,) = COURSE.read([lesson])
        made = _made(folder.name, lesson, tuple(languages), dict(beside or {}))
        shutil.copytree(made.folder, folder, symlinks=True)
        return cls(folder, lesson, list(submissions), dict(made.logs))

    def copy(self, place: Path) -> Course:
        """Copy the folder to another place, with what was handed in and graded."""
        shutil.copytree(self.folder, place / self.folder.name, symlinks=True)
        return Course(place / self.folder.name, self.lesson, self.submissions)

    def release(self, language: str, *arguments: str) -> None:
        """Make a release, as an instructor is told to make it."""
        if language == "en":
            self.nbgrader("generate_assignment", self.name, *arguments)
        else:
            self.nbgrader("generate_assignment", self.name, "--no-db", *arguments, language=language)

    # ------------------------------------------------------------------------------------------------- what lies in it

    @property
    def exchange(self) -> Path:
        return self.folder.parent / "exchange"

    @property
    def name(self) -> str:
        return self.lesson.file_name

    @property
    def source(self) -> Path:
        return self.folder / "source" / self.name / f"{self.name}.ipynb"

    def released(self, language: str) -> Path:
        return self.folder / ("release" if language == "en" else "release-ru") / self.name / f"{self.name}.ipynb"

    def submitted(self, student: str) -> Path:
        """The notebook of a student under the name that was handed out, whether it is there or not."""
        return self.folder / "submitted" / student / self.name / f"{self.name}.ipynb"

    def autograded(self, student: str) -> Path:
        return self.folder / "autograded" / student / self.name / f"{self.name}.ipynb"

    def feedback(self, student: str) -> str:
        return (self.folder / "feedback" / student / self.name / f"{self.name}.html").read_text(encoding="utf-8")

    def submission(self, student: str) -> Submission:
        return next(each for each in self.submissions if each.student == student)

    @contextlib.contextmanager
    def gradebook(self) -> Iterator[Gradebook]:
        """Open the gradebook; what was changed is committed at the end."""
        with Gradebook(f"sqlite:///{self.folder / 'gradebook.db'}", self.folder.name) as gradebook:
            yield gradebook
            gradebook.db.commit()

    def scores(self) -> dict[str, float]:
        """Each student's score in the gradebook."""
        with self.gradebook() as gradebook:
            return {each.student_id: each.score for each in gradebook.find_assignment(self.name).submissions}

    def owed(self) -> dict[str, float]:
        """Each student's penalty."""
        with self.gradebook() as gradebook:
            found = gradebook.find_assignment(self.name).submissions
            return {each.student_id: each.late_submission_penalty or 0 for each in found}

    def shown_flags(self) -> dict[str, bool]:
        """The flags in formgrader's column, as its server answers them."""
        with self.gradebook() as gradebook:
            rows = gradebook.notebook_submission_dicts(self.name, self.name)
            return {row["student"]: row["flagged"] for row in rows}

    def by_hand(self, student: str, cell: str, assignment: str = "") -> tuple[float | None, bool, list[str]]:
        """Return a person's points, whether the cell waits for a person, and a person's comments."""
        assignment = assignment or self.name
        with self.gradebook() as gradebook:
            grade = gradebook.find_grade(cell, assignment, assignment, student)
            comments = gradebook.find_submission_notebook(assignment, assignment, student).comments
            said = [each.manual_comment for each in comments if each.manual_comment]
            return grade.manual_score, grade.needs_manual_grade, said

    def configure(self, line: str) -> None:
        """Add a line to the config."""
        with (self.folder / "nbgrader_config.py").open("a", encoding="utf-8") as config:
            config.write(f"\n{line}\n")

    # ---------------------------------------------------------------------------------------------------- what is done

    def hand_in(
        self,
        student: str,
        work: NotebookNode | Mapping[str, str] | str,
        *,
        language: str = "en",
        name: str = "",
        beside: Mapping[str, str] | None = None,
        came: str = "",
        folder: Path | None = None,
    ) -> Path:
        """Put a student's notebook where they are collected, or into another `folder`; return its path.

        `work` is a notebook, answers that are put into the released one, or the text of the file. `name` is what the
        notebook is called if not as it was handed out; `beside` it are other files; `came` is when it came.
        """
        folder = folder or self.submitted(student).parent
        path = folder / f"{name or self.name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(work, str):
            path.write_text(work, encoding="utf-8")
        elif isinstance(work, NotebookNode):
            nbformat.write(work, path)
        else:
            nbformat.write(Submission(student, language, dict(work)).notebook(read(self.released(language))), path)
        for where, text in (beside or {}).items():
            (folder / where).parent.mkdir(parents=True, exist_ok=True)
            (folder / where).write_text(text, encoding="utf-8")
        if came:
            (folder / "timestamp.txt").write_text(came, encoding="utf-8")
        return path

    def hand_in_all(self) -> None:
        """Hand in every submission that is not handed in yet."""
        for each in self.submissions:
            if not self.submitted(each.student).exists():
                self.hand_in(each.student, each.notebook(read(self.released(each.language))))

    def set_due(self, due: datetime | None) -> None:
        with self.gradebook() as gradebook:
            gradebook.find_assignment(self.name).duedate = due

    def set_flag(self, student: str, flag: bool) -> None:
        with self.gradebook() as gradebook:
            gradebook.find_submission_notebook(self.name, self.name, student).flagged = flag

    def give_by_hand(self, student: str, cell: str, points: float, assignment: str = "") -> None:
        """Grade a cell as formgrader does, and comment on the notebook's first answer."""
        assignment = assignment or self.name
        with self.gradebook() as gradebook:
            grade = gradebook.find_grade(cell, assignment, assignment, student)
            grade.manual_score, grade.needs_manual_grade = points, False
            comments = gradebook.find_submission_notebook(assignment, assignment, student).comments
            comments[0].manual_comment = "see me"

    def grade(self, *arguments: str) -> dict[str, dict[str, Any]]:
        """Run `autograder grade --json`. Returns the results of the assignment by student."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            main(["grade", str(self.folder), self.name, "--json", *arguments])
        return {each["student"]: each for each in json.loads(said.getvalue())[self.name]}

    def nbgrader(self, *arguments: str, language: str = "", cwd: Path | None = None) -> str:
        """Run `nbgrader ...` as an instructor would, without an activated environment. Returns its log."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder.parent), "LANG": "C.UTF-8"}
        environment |= {k: v for k, v in os.environ.items() if k in ("PYTHONPATH", "JUPYTER_PATH")}
        if language:
            environment["AUTOGRADER_LANGUAGE"] = language
        with tempfile.TemporaryDirectory() as folder:
            said = Path(folder, "log")
            with said.open("w") as out:
                status = _server("nbgrader").run(arguments, cwd or self.folder, environment, out, out)
            log = said.read_text(encoding="utf-8")
        assert status == 0, f"nbgrader {' '.join(arguments)}\n{log}"
        self.logs[" ".join([*arguments[:1], language]).strip()] = log
        return log

    def by_exchange(self, command: str, *arguments: str, **more: Any) -> str:
        where = [f"--Exchange.root={self.exchange}", f"--Exchange.cache={self.folder.parent / 'cache'}"]
        return self.nbgrader(command, self.name, *where, *arguments, **more)


def files_below(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder but our record; of a notebook, what does not depend on the moment."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != ".autograder.json":
            whole = path.read_bytes()
            sources = [cell.source for cell in read(path).cells] if path.suffix == ".ipynb" else None
            found[str(path.relative_to(folder))] = whole if sources is None else repr(sources).encode()
    return found


@cache
def forked_sandbox() -> str:
    """Return the address of the process that forks the sandbox's fork servers."""
    return CommandServer("sandbox").address


@contextlib.contextmanager
def forked_fork_servers() -> Iterator[None]:
    """Replace new processes of fork servers by forks, which saves 2.2 of 2.7 s for each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_server_process, "subprocess", subprocess_with_forks(forked_sandbox()))
        yield


@cache
def _server(program: str) -> CommandServer:
    return CommandServer(program, forked_sandbox())


def run_autograder(
    *arguments: object, cwd: Path | None = None, first: str = "", timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `autograder ...` in a fork of a process that has imported torch and the grader.

    `first` is Python code that runs in the fork before the command.
    Raises TimeoutError if the command takes longer than `timeout` seconds; the command is killed then.
    """
    command = [*map(str, arguments)]
    with tempfile.TemporaryDirectory() as folder:
        said, complaints = Path(folder, "out"), Path(folder, "err")
        with said.open("w") as out, complaints.open("w") as err:
            status = _server("autograder").run(command, cwd or Path.cwd(), dict(os.environ), out, err, first, timeout)
        return subprocess.CompletedProcess(
            command, status, *(each.read_text("utf-8", "replace") for each in (said, complaints))
        )


def start_autograder(*arguments: object, out: int) -> Fork:
    """Start `autograder ...` as `run_autograder` does. `out` is the descriptor of its output and its complaints."""
    return _server("autograder").start([*map(str, arguments)], Path.cwd(), dict(os.environ), out, out)


def make_folder(folder: Path) -> None:
    """Make a course folder in which nothing is released: a copy of what `autograder course` made once."""
    (lesson,) = COURSE.read(["first_gradient"])
    shutil.copytree(_made(folder.name, lesson, (), {}).folder, folder)


def _made(name: str, lesson: Lesson, languages: tuple[str, ...], beside: dict[str, str]) -> Course:
    """Return a course that no test may change, made if it is not there yet."""
    about = json.dumps([name, [lesson.file_name, beside] if languages or beside else [], languages])
    place = support.made_courses / hashlib.sha256(about.encode()).hexdigest()[:12]
    course, logs = Course(place / name, lesson), place / "logs.json"

    def make() -> None:
        _make(course, languages, beside)
        logs.write_text(json.dumps(course.logs), encoding="utf-8")

    once(place, make)
    return Course(course.folder, lesson, logs=json.loads(logs.read_text(encoding="utf-8")))


def _make(course: Course, languages: tuple[str, ...], beside: dict[str, str]) -> None:
    """Make a course from the one with a release less."""
    if not languages and not beside:
        with contextlib.redirect_stdout(io.StringIO()):
            make_course(course.folder, None)
        return
    before = _made(course.folder.name, course.lesson, languages[:-1], beside if languages else {})
    shutil.copytree(before.folder, course.folder)
    course.logs |= before.logs
    if languages:
        course.release(languages[-1])
        expected_results(course.folder, course.lesson, COURSE.exercises(course.lesson))  # once, for all copies
    for where, text in ({} if languages else beside).items():
        (course.source.parent / where).write_text(text, encoding="utf-8")
