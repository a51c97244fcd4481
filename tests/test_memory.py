"""The template's memory: what children allocate in it lies together, at its end."""

from __future__ import annotations

import subprocess
import sys

HOLES = """
from autograder.grading.isolated.memory import fill_holes, libc
sizes = [24, 100, 600, 5000, 70000]
blocks = [libc.malloc(size) for _ in range(200) for size in sizes]
for block in blocks[::2]:
    libc.free(block)
{}
new = [libc.malloc(size) for _ in range(20) for size in sizes[2:]]
print(min(new) > max(blocks), sorted(new) == new)
"""


def lie(then: str) -> list[str]:
    """Do new blocks lie behind all others, and one after another?"""
    done = subprocess.run([sys.executable, "-c", HOLES.format(then)], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_what_is_allocated_after_the_holes_are_filled_lies_together() -> None:
    assert lie("pass") == ["False", "False"]
    assert lie("fill_holes()") == ["True", "True"]
