"""`draw` and `steps` on the samples with which torch tests its own operations, modules and Functions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long(10)

PROGRAM = Path(__file__).with_name("torch_samples.py")
ALL = 2700  # with torch 2.13, of 543 operations, 14 Functions and 112 modules; another version has some more


@pytest.mark.parametrize(
    ("stride", "least"),
    [
        pytest.param(24, 100, id="some"),
        pytest.param(
            1,
            ALL,
            id="all",
            marks=pytest.mark.nightly(twin="tests/pictures/test_torch_samples.py::test_samples_are_drawn_as_they_are"),
        ),
    ],
)
def test_samples_are_drawn_as_they_are(stride: int, least: int) -> None:
    """Nodes and bytes are those counted without `draw`, and gradients and `.grad` are what they were."""
    env = {**os.environ, "PYTHONPATH": str(PROGRAM.parents[1])}
    ran = subprocess.run([sys.executable, PROGRAM, str(stride)], capture_output=True, text=True, env=env)
    lines = ran.stdout.splitlines()
    assert ran.returncode == 0, f"{lines[-1:]} ended the process: {ran.stderr}"
    assert [json.loads(line) for line in lines if line.startswith("{")] == []
    assert len(lines) >= least
