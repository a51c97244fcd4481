"""A course of two lessons with any number of submissions, and its graders as processes."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook

from autograder.checking.verdict import MIME
from autograder.grading.course.course import open_course
from autograder.grading.course.remarks import RemarksFolder
from autograder.lessons.collection import COURSE
from support.assignment import code_cell
from support.attacks import escapes, tampering
from support.attacks.attack import HALF
from support.course import BIN, Course
from support.submissions import all_of, read

_LESSONS = ("first_gradient", "gradient_accumulation")
_HONEST = ("solved", "blank", "mistakes-1", "raises", "warns", "no-check", "syntax-error", "edited-check")
_ATTACKS = (
    "comparison functions replaced",
    "a tensor subclass that says it equals anything",
    "the end, by a signal",
    "hidden values looked for by gc and frames",
    "sockets and name resolution",
)
_BROKEN = {"no-notebook": "no notebook", "half-notebook": '{"cells": [{"cell_type": "co'}

# An attacker who knew the secret could not find it, neither in the machine's files nor in the environment.
_SEARCH = """
import os, time
needle = "{backwards}"[::-1].encode()
places = ["/proc/self/environ", "/proc/1/environ", "/proc/self/cmdline", "/proc/1/cmdline"]
for top in ("/tmp", "/dev/shm", "/var", "/home", "/root", "/run", os.getcwd()):
    places += [os.path.join(above, name) for above, _, names in os.walk(top) for name in names]
for place in places:
    try:
        if needle in open(place, "rb").read(1 << 20):
            print("FOUND", place)
    except OSError:
        pass
time.sleep(1)
"""


class MixedCourse:
    """A course folder. Every submission is a copy of one of few kinds, under the name `KIND-NUMBER`."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.folder = course.folder
        self.secret = (self.folder / "secret").read_text(encoding="utf-8").strip()

    @classmethod
    def make(cls, folder: Path, pause: float) -> MixedCourse:
        """Make a course with one submission of each kind, numbered 0. Honest ones sleep `pause` seconds."""
        first, *others = (Course(folder, lesson) for lesson in COURSE.read(list(_LESSONS)))
        made = cls(Course.make(folder, first.lesson, languages=["en"]))
        for other in others:
            other.release("en")
        for each in (first, *others):
            released = read(each.released("en"))
            for submission in all_of(each.lesson):
                if submission.language == "en" and submission.student.startswith(_HONEST):
                    slow = with_cell(submission.notebook(released), f"import time\ntime.sleep({pause})")
                    each.hand_in(f"{each.lesson.name}.{submission.student}-0", slow)
            for kind, text in _BROKEN.items():
                each.hand_in(f"{each.lesson.name}.{kind}-0", text)
        solved = all_of(others[0].lesson)[0].notebook(read(others[0].released("en")))
        half = copy.deepcopy(read(others[0].released("en")))
        for cell in half.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id", "").removeprefix("answer-")
            cell.source = HALF.get(name, cell.source)
        attacks = {each.name: each.first for each in [*tampering.ALL, *escapes.ALL]}
        hostile = {f"attack{number}": attacks[name] for number, name in enumerate(_ATTACKS)}
        for kind, source in hostile.items():
            others[0].hand_in(f"{kind}-0", with_cell(half, source))
        others[0].hand_in("search-0", with_cell(solved, _SEARCH.replace("{backwards}", made.secret[::-1])))
        return made

    def multiply(self, count: int) -> None:
        """Hand in `count` submissions in all: 2 % hostile or broken ones, if there are many."""
        kinds = sorted((self.folder / "submitted").iterdir())
        honest = [each for each in kinds if each.name.split(".")[-1].startswith(_HONEST)]
        others = [each for each in kinds if each not in honest]
        for number in range(1, count - len(kinds) + 1):
            chosen = others if number % 50 == 0 else honest
            kind = chosen[number // (50 if number % 50 == 0 else 1) % len(chosen)]
            shutil.copytree(kind, kind.with_name(f"{kind_of(kind.name)}-{number}"), copy_function=os.link)

    def use(self, db_url: str) -> None:
        """Use another database for the gradebook."""
        self.course.configure(f"c.CourseDirectory.db_url = {db_url!r}")
        (self.folder / "gradebook.db").unlink()

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Start `autograder grade` on all assignments."""
        command = [BIN / "autograder", "grade", self.folder, "--json", *options]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def graded(self) -> int:
        """Return how many submissions have a graded folder."""
        folder = self.folder / "autograded"
        return len(os.listdir(folder)) if folder.is_dir() else 0

    def results(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each student with everything that was written: score, remarks, verdicts, files."""
        settings = open_course(self.folder)
        for assignment in settings.assignments():
            with Gradebook(settings.db_url, settings.course_id) as gradebook:
                rows = [(each.student_id, each.score) for each in gradebook.find_assignment(assignment).submissions]
            scores = dict(rows)
            assert len(scores) == len(rows)
            for submitted in settings.submissions(assignment):
                student = submitted.parent.name
                place = settings.autograded(assignment, student)
                remarks = RemarksFolder(self.folder, assignment).read(student)
                yield (
                    student,
                    {
                        "score": scores.pop(student, None),
                        "remarks": asdict(remarks),
                        "verdicts": [found for path in sorted(place.glob("*.ipynb")) for found in verdicts(path)],
                        "files": sorted(path.name for path in place.glob("*")),
                    },
                )
            assert not scores, "nobody else has a grade"


def with_cell(notebook: Any, source: str) -> Any:
    """Return a copy of a notebook with one more code cell behind the imports."""
    copied = copy.deepcopy(notebook)
    copied.cells.insert(3, nbformat.from_dict(code_cell("first", source)))
    return copied


def verdicts(path: Path) -> list[str]:
    """Return the verdicts in a graded notebook, as JSON."""
    cells = json.loads(path.read_bytes())["cells"]
    return [json.dumps(o["data"][MIME]) for c in cells for o in c.get("outputs", ()) if MIME in o.get("data", {})]


def kind_of(student: str) -> str:
    return student.rpartition("-")[0]
