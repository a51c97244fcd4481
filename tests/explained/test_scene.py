"""Scenes: the learner's frame, wherever Python's packages are installed."""

import os
import subprocess
import sys
from pathlib import Path

import torch

from autograder.lessons.source import REPOSITORY

PROGRAM = """
import sys
import torch
from support.torch_programs import told
assert "site-packages" not in torch.__file__, torch.__file__
print(told("torch.rand(2, requires_grad=True).argmax().backward()")[-1].by)
print(told("torch.rand(2, requires_grad=True).sum().backward(1.0)")[-1].by)
"""


def test_torch_may_be_installed_anywhere(tmp_path):
    """As by `pip install --target`, or beside a distribution's Python."""
    for package in Path(torch.__file__).parents[1].iterdir():
        (tmp_path / package.name).symlink_to(package)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(REPOSITORY), str(REPOSITORY / "tests")])
    }
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["no_derivative_in_the_loss", "v_that_is_a_number"], done.stderr
