"""Memory of the fork server: allocations lie together, at its end."""

from __future__ import annotations

import subprocess
import sys

HOLES = """
from autograder.grading.sandbox.memory import fill_holes, libc, use_heap
use_heap()
sizes = [24, 100, 600, 5000, 70000]
blocks = [libc.malloc(size) for _ in range(200) for size in sizes]
for block in blocks[::2]:
    libc.free(block)
{}
new = [libc.malloc(size) for _ in range(20) for size in sizes[2:]]
print(min(new) > max(blocks), sorted(new) == new)
"""
SMALL = """
from autograder.grading.sandbox.memory import fill_holes, libc, use_heap
{}
kinds = [bytes(size) for size in range(2, 480)], [object() for _ in range(9000)], [n * 1j for n in range(9000)]
there = [id(one) for kind in kinds for one in kind]
end = libc.sbrk(0)
print(sum(end - (64 << 20) < each < end for each in there) > 0.99 * len(there))  # but for what came free by chance
del kinds
{}
here = [bytes(size) for size in range(2, 480)], [object() for _ in range(99)], [n * 1j for n in range(99)]
last = max((each for each in there if each < end), default=max(there))
behind = sum(id(one) > last for kind in here for one in kind)
print(behind > 0.97 * sum(map(len, here)))
"""
FREED = """
from autograder.grading.sandbox.memory import libc, use_heap
use_heap()
import sys, unittest, email.message, http.client
for name in [name for name in sys.modules if name.startswith(("unittest", "email", "http"))]:
    del sys.modules[name]
del unittest, email, http
ends = []
for _ in range(5):
    many = [[str(n) for n in range(40000)] for _ in range(9)]
    ends.append(libc.sbrk(0))
    del many
print(ends[-1] == ends[0])
"""


def printed(program: str, *then: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program.format(*then)], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_what_is_allocated_after_the_holes_are_filled_lies_together() -> None:
    assert printed(HOLES, "pass") == ["False", "False"]
    assert printed(HOLES, "fill_holes()") == ["True", "True"]


def test_python_takes_its_memory_from_the_heap_and_after_the_holes_are_filled_from_its_end() -> None:
    assert printed(SMALL, "pass", "pass") == ["False", "False"]
    assert printed(SMALL, "use_heap()", "pass") == ["True", "False"]
    assert printed(SMALL, "use_heap()", "fill_holes()") == ["True", "True"]


def test_what_python_takes_from_the_heap_is_given_back_and_used_again() -> None:
    assert printed(FREED) == ["True"]
