"""A trial of the course on other versions of torch and Python.

Each pair of versions gets a new environment, one after the other: some minutes and up to 6 GB of disk each. What it
writes to stdout is the table in `versions.md`.
"""

from __future__ import annotations

import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
STEPS = {
    "gate, facts": ["autograder", "verify", "--trials=1"],
    "recorded answers": ["pytest", "tests/exercises"],
    "errors, cards, pictures": [
        "pytest",
        "tests/messages",
        "tests/explained",
        "tests/cards",
        "tests/checking",
        "tests/pictures",
        "tests/test_measure.py",
    ],
    "torch's own samples": ["pytest", "-m", "nightly", "tests/pictures/test_torch_samples.py"],
    "graded": ["pytest", "tests/grading/submission", "tests/grading/sandbox"],
}


@dataclass(frozen=True)
class Pair:
    """A version of Python, such as "3.11", with a version of torch."""

    python: str
    torch: str

    def __str__(self) -> str:
        return f"Python {self.python}, torch {self.torch}"


PAIRS = [
    *(Pair("3.11", torch) for torch in ("2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0")),
    *(Pair(python, "2.15.0") for python in ("3.12", "3.13", "3.14")),
]


def main(chosen: list[str]) -> None:
    """Try the pairs whose text holds one of the words `chosen`, or all, and print the table."""
    print(f"Tried on {datetime.date.today()}.\n\n| | {' | '.join(STEPS)} |\n|---|{'---|' * len(STEPS)}", flush=True)
    for pair in PAIRS:
        if chosen and not any(word in str(pair) for word in chosen):
            continue
        with tempfile.TemporaryDirectory(prefix="versions-") as folder:
            cells = try_pair(pair, Path(folder))
        print(f"| {pair} | {' | '.join(cells)} |", flush=True)


def try_pair(pair: Pair, folder: Path) -> list[str]:
    """Install and try a pair of versions; return a cell of the table for each step."""
    python = shutil.which(f"python{pair.python}")
    if python is None or subprocess.run([python, "--version"], capture_output=True).returncode:
        return ["no such Python here"] * len(STEPS)
    try:
        install(python, pair.torch, folder)
    except subprocess.CalledProcessError as error:
        return [f"cannot be installed: {_last_line(error.stderr)}"] * len(STEPS)
    return [run(command, folder) for command in STEPS.values()]


def install(python: str, torch: str, folder: Path) -> None:
    """Make an environment in `folder` with a version of torch, and else with the versions of `constraints.txt`.

    Raises CalledProcessError if something cannot be installed.
    """
    tested = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    constraints = folder / "constraints.txt"
    others = [line for line in tested if not line.startswith("torch==")]
    constraints.write_text("\n".join([*others, f"torch=={torch}"]), encoding="utf-8")
    new = folder / "bin" / "python"
    for command in (
        [python, "-m", "venv", folder],
        [new, "-m", "pip", "install", "--quiet", "--upgrade", "pip"],
        [new, "-m", "pip", "install", "--quiet", f"torch=={torch}", "numpy"],
        [new, "-m", "pip", "install", "--quiet", "--constraint", constraints, "--editable", f"{ROOT}[dev]"],
    ):
        subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)


def run(command: list[str], folder: Path) -> str:
    """Run a step in the environment in `folder`; return "green", or what failed.

    Everything that the step prints goes to stderr.
    """
    program, *arguments = command
    env = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    more = ["-q", "-p", "no:cacheprovider", "-m", "not nightly"] if program == "pytest" else []
    done = subprocess.run(
        [folder / "bin" / program, *more, *arguments], cwd=ROOT, env=env, capture_output=True, text=True
    )
    print(f"$ {' '.join(command)}\n{done.stdout}{done.stderr}", file=sys.stderr, flush=True)
    if done.returncode == 0:
        return "green"
    failures = re.findall(r"^FAILED \S+::(\S+)|^✗ (\w+)", done.stdout, re.M)
    return "red: " + (", ".join(a or b for a, b in failures[:4]) or _last_line(done.stderr or done.stdout))


def _last_line(text: str) -> str:
    return ([line.strip() for line in text.splitlines() if line.strip()] or [""])[-1][:120].replace("|", "/")


if __name__ == "__main__":
    main(sys.argv[1:])
