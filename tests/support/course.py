"""A course folder under test, and nbgrader's commands on it as an instructor or a student runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from autograder.authoring.source import Lesson
from support.submissions import Submission

BIN = Path(sys.executable).parent


@dataclass
class Course:
    """A course folder under test: the commands that were run on it and what was handed in."""

    folder: Path
    lesson: Lesson
    submissions: list[Submission]
    logs: dict[str, str] = field(default_factory=dict)

    @property
    def exchange(self) -> Path:
        return self.folder.parent / "exchange"

    @property
    def name(self) -> str:
        return self.lesson.file_name

    def released(self, language: str) -> Path:
        return self.folder / ("release" if language == "en" else "release-ru") / self.name / f"{self.name}.ipynb"

    def nbgrader(self, *arguments: str, language: str = "", cwd: Path | None = None) -> str:
        """Run `nbgrader ...` as an instructor would, without an activated environment. Returns its log."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder.parent), "LANG": "C.UTF-8"}
        environment |= {k: v for k, v in os.environ.items() if k == "PYTHONPATH"}
        if language:
            environment["AUTOGRADER_LANGUAGE"] = language
        done = subprocess.run(
            [BIN / "nbgrader", *arguments], cwd=cwd or self.folder, env=environment, capture_output=True, text=True
        )
        log = done.stdout + done.stderr
        assert done.returncode == 0, f"nbgrader {' '.join(arguments)}\n{log}"
        self.logs[" ".join([*arguments[:1], language]).strip()] = log
        return log

    def by_exchange(self, command: str, *arguments: str, **more: object) -> str:
        where = [f"--Exchange.root={self.exchange}", f"--Exchange.cache={self.folder.parent / 'cache'}"]
        return self.nbgrader(command, self.name, *where, *arguments, **more)  # type: ignore[arg-type]

    def submission(self, student: str) -> Submission:
        return next(each for each in self.submissions if each.student == student)

    def feedback(self, student: str) -> str:
        return (self.folder / "feedback" / student / self.name / f"{self.name}.html").read_text(encoding="utf-8")
