"""Readers of files from students and instructors, with files that are broken on purpose."""

from __future__ import annotations

import importlib
import os
import resource
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.limited import limited

pytestmark = pytest.mark.long(15)

HERE = Path(__file__).parent
CORPUS = sorted(path for path in (HERE / "corpus").rglob("*") if path.is_file())
RUNS = {"archives": 30, "notebooks": 30, "rosters": 100, "rules": 150, "worksheets": 50}  # 1 s of a processor each
SECONDS = 60  # of a processor, for all inputs of one reader together


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_a_kept_file_is_read_or_refused(file: Path) -> None:
    reader = importlib.import_module(f"fuzz.{file.parent.name}")
    limited(lambda: reader.read(file.read_bytes()))


@pytest.mark.skipif(find_spec("atheris") is None, reason="no atheris: its wheels are for Linux on x86_64")
@pytest.mark.parametrize("reader", RUNS)
def test_changed_files_are_read_or_refused(reader: str, tmp_path: Path) -> None:
    """The seed is always the same. For more than these runs see `fuzz/run.py`."""
    command = [sys.executable, "-m", "fuzz.run", reader, str(tmp_path), f"-runs={RUNS[reader]}", "-seed=1"]
    done = subprocess.run(
        command,
        cwd=HERE.parent,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)),
        text=True,
        errors="replace",
        timeout=600,
    )
    if done.returncode:
        end = done.stdout[-4000:]
        pytest.fail(
            f"{end}\nthe input is {tmp_path / 'input'}: mend the reader, and copy it into {HERE}/corpus/{reader}/"
        )


def test_every_reader_has_kept_files() -> None:
    assert {path.parent.name for path in CORPUS} == set(RUNS)
    assert sum(path.stat().st_size for path in CORPUS) < 300_000
