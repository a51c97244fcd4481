"""`autograder grade`: every submission of an assignment, on all cores, one outcome for each, nothing half done.

A submission is graded in a thread (its code runs in a child of the engine); what came of it is written here, one after
another: the notebook into a folder beside its place, the gradebook in one transaction, then the folder is moved there.
A run that is killed between any two of these steps leaves nothing that the next one does not do again, or need not.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.utils import is_grade, is_solution, is_task

from ..authoring.source import Broken
from . import hidden
from .engine import Engine
from .files import encoded_files
from .gradebook import Book, BookClosed, NotebookScores, ReleasedNotebook
from .outputs import LimitOutput
from .sanitize import Unreadable, read, sanitize
from .scores import comment_on, score_of
from .settings import CourseSettings
from .solved import try_solution
from .submission import Salts, run

RECORD = ".autograder.json"  # beside an autograded notebook: what it was made from


@dataclass
class Result:
    """What came of one submission. `state` is "graded", "flagged" (graded, and a person has to look), "failed" (not
    graded, for the reason given) or "unchanged" (graded before, from the same files)."""

    student: str
    state: str
    score: float | None = None
    reasons: list[str] = field(default_factory=list)
    seconds: float = 0.0
    mistakes: dict[str, str] = field(default_factory=dict)


@dataclass
class _Draft:
    """A submission that has been run and not been written."""

    result: Result
    notebooks: dict[str, NotebookNode] = field(default_factory=dict)
    scores: dict[str, NotebookScores] = field(default_factory=dict)
    digest: str = ""
    timestamp: str | None = None


def grade(
    course: CourseSettings,
    assignment: str,
    engine: Engine,
    *,
    jobs: int,
    force: bool = False,
    seen: Callable[[Result, int], None] = lambda result, total: None,
) -> list[Result]:
    """Grade the submissions of one assignment, `jobs` at a time; those that were graded before only with `force`.

    `seen` is told of each result, and how many there will be. Raises Broken when nothing can be graded: an unknown
    assignment, a gradebook that cannot be written, another grader at work.
    """
    with _alone(course.root, assignment), _book(course) as book:
        return list(_Batch(course, assignment, engine, book, force).all(jobs, seen))


class _Batch:
    def __init__(self, course: CourseSettings, assignment: str, engine: Engine, book: Book, force: bool) -> None:
        self._course, self._assignment, self._engine, self._book = course, assignment, engine, book
        self._force = force
        try:
            self._released = book.released(assignment)
        except MissingEntry as missing:
            raise Broken(
                f"the gradebook has no assignment {assignment}: run `nbgrader generate_assignment {assignment}` first"
            ) from missing
        self._answers = {name: hidden.answers(course.root, name) for name in self._released}
        self._files = encoded_files(course.source(assignment))
        for name, answers in self._answers.items():
            if answers:
                try_solution(engine, answers, self._released[name].cells, self._files)
        self._salts = Salts(engine)
        self._known = book.graded(assignment)

    def all(self, jobs: int, seen: Callable[[Result, int], None]) -> Iterator[Result]:
        submissions = self._course.submissions(self._assignment)
        waiting = iter(submissions)
        with ThreadPoolExecutor(jobs) as pool:
            running: set[Future[_Draft]] = set()
            while True:
                # No more than are needed to keep all busy: what is done and not written costs memory.
                for folder in waiting:
                    running.add(pool.submit(self._try, folder))
                    if len(running) >= 2 * jobs:
                        break
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for each in done:
                    result = self._write(each.result())
                    seen(result, len(submissions))
                    yield result

    def _try(self, folder: Path) -> _Draft:
        student = folder.parent.name
        try:
            return self._run(student, folder)
        except (Unreadable, OSError) as error:
            return _Draft(Result(student, "failed", reasons=[str(error)]))

    def _run(self, student: str, folder: Path) -> _Draft:
        """Run every notebook of a submission."""
        draft = _Draft(Result(student, "graded"), timestamp=_timestamp(folder))
        raw = {name: read(folder / f"{name}.ipynb") for name in self._released if _exists(folder / f"{name}.ipynb")}
        draft.digest = _digest(raw, draft.timestamp)
        if not raw:
            raise Unreadable(
                f"no notebook in {folder}: expected {', '.join(f'{name}.ipynb' for name in self._released)}"
            )
        if not self._force and student in self._known and self._recorded(student) == draft.digest:
            draft.result.state = "unchanged"
            return draft
        for name, notebook in raw.items():
            self._run_notebook(draft, name, notebook, self._released[name])
        if draft.result.reasons:
            draft.result.state = "flagged"
        return draft

    def _run_notebook(self, draft: _Draft, name: str, raw: dict[str, Any], released: ReleasedNotebook) -> None:
        clean = sanitize(raw, released.cells, released.kernel)
        outcome = run(self._engine, clean.notebook, self._answers[name], self._files, self._salts)
        limited, _ = LimitOutput(config=self._course.config).preprocess(clean.notebook, {})
        draft.notebooks[name] = limited
        draft.scores[name] = _scores(limited)
        draft.result.seconds += outcome.seconds
        draft.result.mistakes |= {n: v.mistake for n, v in outcome.verdicts.items() if v.mistake}
        reasons = [*outcome.flags]
        reasons += [f"deleted: {each}" for each in clean.missing if released.cells[each].points is not None]
        reasons += [f"there more than once, the last one counts: {each}" for each in clean.repeated]
        faults = [n for n, v in outcome.verdicts.items() if v.state == "our error"]
        reasons += [
            f"the checker failed on {each}" for each in faults if not any(each in flag for flag in outcome.flags)
        ]
        if outcome.ended:
            reasons.append({"time": "ran too long", "memory": "took too much memory", "died": "its process ended",
                            "nonsense": "its process spoke out of turn"}[outcome.ended])  # fmt: skip
        draft.result.reasons += reasons

    # ----------------------------------------------------------------------------------------------------- writing

    def _write(self, draft: _Draft) -> Result:
        result = draft.result
        if result.state not in ("graded", "flagged"):
            return result
        try:
            place = self._course.autograded(self._assignment, result.student)
            with _beside(place) as folder:
                self._fill(folder, draft)
                result.score = self._book.write(self._assignment, result.student, draft.timestamp, draft.scores)
                _replace(place, folder)
        except BookClosed as error:
            result.state, result.reasons = "failed", [f"the gradebook cannot be written: {error}", *result.reasons]
        except OSError as error:
            result.state, result.reasons = "failed", [f"{error.filename}: {error.strerror}", *result.reasons]
        return result

    def _fill(self, folder: Path, draft: _Draft) -> None:
        source = self._course.source(self._assignment)
        if source.is_dir():
            shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.ipynb"))
        if draft.timestamp:
            (folder / "timestamp.txt").write_text(draft.timestamp + "\n", encoding="utf-8")
        for name, notebook in draft.notebooks.items():
            (folder / f"{name}.ipynb").write_text(nbformat.writes(notebook, version=4) + "\n", encoding="utf-8")
        (folder / RECORD).write_text(json.dumps({"submitted": draft.digest}), encoding="utf-8")
        for path in folder.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o444)

    def _recorded(self, student: str) -> str | None:
        try:
            path = self._course.autograded(self._assignment, student) / RECORD
            return str(json.loads(path.read_text(encoding="utf-8"))["submitted"])
        except (OSError, ValueError, LookupError, TypeError):
            return None


def _scores(notebook: NotebookNode) -> NotebookScores:
    found = NotebookScores()
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name and (is_grade(cell) or is_task(cell)):
            found.scores[name] = score_of(cell)
        if name and (is_solution(cell) or is_task(cell)):
            found.comments[name] = comment_on(cell)
    return found


@contextlib.contextmanager
def _alone(root: Path, assignment: str) -> Iterator[None]:
    """Let no second grader work on the same assignment. The lock ends with the process, however it ends."""
    folder = root / ".autograder"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(folder / f"{assignment}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Broken(f"{error.filename}: {error.strerror}: a course folder must be writable to be graded") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise Broken(f"another grader is at work on {assignment}: wait for it, or end it") from None
    finally:
        os.close(lock)


@contextlib.contextmanager
def _book(course: CourseSettings) -> Iterator[Book]:
    try:
        gradebook = Gradebook(course.db_url, course.course_id)
    except Exception as error:  # SQLAlchemy's and alembic's, of many kinds
        raise Broken(f"{course.db_url} cannot be opened: {error}") from error
    with gradebook:
        yield Book(gradebook, course.late_penalty)


@contextlib.contextmanager
def _beside(place: Path) -> Iterator[Path]:
    """A new folder on the same disk, which is gone in the end unless it was moved."""
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.parent / f".{place.name}.{os.getpid()}"
    _remove(draft)
    draft.mkdir()
    try:
        yield draft
    finally:
        _remove(draft)


def _replace(place: Path, folder: Path) -> None:
    old = place.parent / f".{place.name}.old"
    _remove(old)
    with contextlib.suppress(FileNotFoundError):
        place.rename(old)
    folder.rename(place)
    _remove(old)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _exists(path: Path) -> bool:
    """Is there something of this name, if only a link that leads nowhere?"""
    return os.path.lexists(path)


def _timestamp(folder: Path) -> str | None:
    """nbgrader's note of when a submission came."""
    path = folder / "timestamp.txt"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if stat.S_ISREG(path.lstat().st_mode) and path.lstat().st_size < 200:
            return path.read_text(encoding="utf-8").strip() or None
    return None


def _digest(raw: dict[str, dict[str, Any]], timestamp: str | None) -> str:
    text = json.dumps([raw, timestamp], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
