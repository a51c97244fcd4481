"""The template's memory: in huge pages where the machine has them, without holes, and as good as it was."""

from __future__ import annotations

import subprocess
import sys

import pytest

HUGE = """
import re, torch
from pathlib import Path
from autograder.grading.isolated.memory import use_huge_pages

def kilobytes(access):
    areas = re.split(r"^(?=[0-9a-f]+-)", Path("/proc/self/smaps").read_text(), flags=re.M)
    return sum(int(re.search(r"AnonHugePages: +([0-9]+)", area)[1]) for area in areas if access in area[:60])

x = torch.arange(4096.0, requires_grad=True)
(x.tanh() @ x).backward()
before = x.grad.clone(), kilobytes("r-xp")
use_huge_pages()
x.grad = None
(x.tanh() @ x).backward()
assert torch.equal(x.grad, before[0])
try:
    torch.ones(2) @ torch.ones(3)  # an exception of C++ finds its way through code that was moved
except RuntimeError as error:
    print("raised", type(error).__name__)
print(before[1], kilobytes("r-xp"), kilobytes("rw-p"))
"""
HOLES = """
from autograder.grading.isolated.memory import fill_holes, libc
sizes = [24, 100, 600, 5000, 70000]
blocks = [libc.malloc(size) for _ in range(200) for size in sizes]
for block in blocks[::2]:
    libc.free(block)
fill_holes()
new = [libc.malloc(size) for _ in range(20) for size in sizes[2:]]
print(min(new) > max(blocks), sorted(new) == new)
"""


def run(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_code_in_huge_pages_is_the_same_code() -> None:
    raised, sizes = run(HUGE).splitlines()
    assert raised == "raised RuntimeError"
    before, code, data = map(int, sizes.split())
    if not data:
        pytest.skip("this machine has no huge pages to give")
    assert before == 0
    assert code >= 2048


def test_what_is_allocated_after_the_holes_are_filled_lies_together() -> None:
    assert run(HOLES).split() == ["True", "True"]
