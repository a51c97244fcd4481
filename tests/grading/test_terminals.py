"""Terminals and locales that cannot show every name: no command fails by it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from support import public_reports
from support.course import BIN, Course, run_autograder
from support.first_gradient import NAME, SOLVED
from support.lms import write_archive
from support.solved import solved_notebook

FOLDER = Path(public_reports.__file__).parent
WHO = "Иванов Пётр ✓ 李"
# What the command server's fork prints to: a stream as Python makes it in such a terminal.
STREAMS = """
import sys
for number, name in ((1, "stdout"), (2, "stderr")):
    errors = "strict" if number == 1 else "backslashreplace"
    setattr(sys, name, open(number, "w", encoding={encoding!r}, errors=errors, closefd=False))
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    made = Course.make(tmp_path_factory.mktemp("terminals") / "course", languages=["en"])
    students = ["id,name,extensions", f"ivan,{WHO},{NAME} +1d", f"{WHO},{WHO},"]
    (made.folder / "students.csv").write_text("\n".join(students), encoding="utf-8")
    (made.folder / "course.toml").write_text(f"[assignments.{NAME}]\ndue = 2026-10-31T20:00:00", encoding="utf-8")
    made.hand_in(WHO, SOLVED, came="2026-09-01 12:00:00 UTC", beside={"regrade.txt": f"Почему? {WHO}"})
    made.hand_in("ivan", "{", name="дз")
    notebook = json.dumps(solved_notebook(made.lesson, "en"))
    write_archive(made.folder / "all.zip", {f"{WHO}/дз ✓.ipynb": notebook, f"Неизвестный/{NAME}.ipynb": notebook})
    return made


def _commands(course: Course) -> list[list[str]]:
    folder = str(course.folder)
    return [
        ["doctor"],
        ["course", folder, "--check"],
        ["collect", str(course.folder / "all.zip"), "--course", folder],
        ["grade", folder, "--force"],
        ["requests", folder],
        ["requests", folder, NAME, "--student", WHO, "--answer", "Потому что ✓"],
        ["feedback", folder],
        ["report", folder],
        ["return", folder],
        ["grade", folder, "нет такого ✓"],
    ]


@pytest.mark.nightly(twin="tests/grading/test_terminals.py::test_a_locale_without_utf_8")
def test_every_command_ends_as_in_utf_8(course: Course, tmp_path: Path) -> None:
    outcomes = {}
    for encoding in ("utf-8", "ascii"):
        copied = course.copy(tmp_path / encoding)
        done = [run_autograder(*command, first=STREAMS.format(encoding=encoding)) for command in _commands(copied)]
        outcomes[encoding] = [each.returncode for each in done]
        assert not [each.stderr for each in done if "Traceback" in each.stderr]
    assert set(outcomes["utf-8"]) == {0, 1}
    assert all(each == outcomes["utf-8"] for each in outcomes.values()), outcomes


def test_the_reported_command_shows_a_tick() -> None:
    (line,) = (each for each in _lines("a_doctor_in_cp1251") if not each.startswith("#"))
    done = _run(line)
    assert done.returncode == 0, done.stderr
    assert b"\\u2713" in done.stdout


@pytest.mark.nightly(twin="tests/grading/test_terminals.py::test_a_locale_without_utf_8")
def test_the_reported_terminal_without_cyrillic(course: Course, tmp_path: Path) -> None:
    copied = course.copy(tmp_path)
    for line in _lines("a_terminal_without_cyrillic"):
        if not line.startswith("#"):
            done = _run(line, copied.folder)
            assert b"Traceback" not in done.stderr
            assert done.returncode == (1 if "report" not in line else 0), (line, done.stdout, done.stderr)


def test_a_locale_without_utf_8(course: Course, tmp_path: Path) -> None:
    """Names of files are bytes: the same files are written as elsewhere."""
    copied = course.copy(tmp_path)
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = _run(f"autograder collect all.zip --course '{copied.folder}' --add", copied.folder, **plain)
    assert done.returncode == 0, done.stderr
    assert b"\\u0418\\u0432\\u0430\\u043d" in done.stdout
    assert {path.name for path in (copied.folder / "submitted").iterdir()} >= {WHO, "Неизвестный"}


def _lines(name: str) -> list[str]:
    return (FOLDER / f"{name}.sh").read_text(encoding="utf-8").splitlines()


def _run(line: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[bytes]:
    path = f"{BIN}:{os.environ['PATH']}"
    return subprocess.run(
        line, shell=True, cwd=cwd, env={**os.environ, "PATH": path, **environment}, capture_output=True
    )
