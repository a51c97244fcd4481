"""The shell of an isolated child: cells as IPython reads them, with all output."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from autograder.grading.sandbox.grader.engine import Engine


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as engine:
        yield engine


def printed(engine: Engine, *cells: str) -> list[list[tuple[str, str]]]:
    """Return the output of each of some cells."""
    with engine.fork() as child:
        child.ask("begin", lesson="gradient_accumulation", files={})
        answers = [child.ask("cell", source=source)["outputs"] for source in cells]
    return [[(each["name"], each["text"]) for each in outputs] for outputs in answers]


WRITE = "import os\nos.write({}, b'{}')\nNone"


def test_what_is_written_past_python_is_shown_with_its_cell(engine: Engine) -> None:
    echo = "import subprocess\nsubprocess.run(['echo', 'from a program'])\nNone"
    cells = WRITE.format(1, "out"), "pass", WRITE.format(2, "err"), echo, "print('last')"
    shown = printed(engine, *cells)
    assert shown == [[("stdout", "out")], [], [("stderr", "err")], [("stdout", "from a program\n")],
                     [("stdout", "last\n")]]  # fmt: skip


@pytest.mark.parametrize(
    ("take", "write", "look"),
    [
        ("os.close(1)", "pass", "print('own')"),
        ("os.dup2(os.open('own.txt', os.O_CREAT | os.O_RDWR), 1)", WRITE.format(1, "own"),
         "print(open('own.txt').read())"),
        ("os.dup2(os.pipe()[1], 1)", WRITE.format(1, "own"), "print('own')"),
    ],
)  # fmt: skip
def test_a_descriptor_that_a_cell_takes_for_itself_is_left_to_it(
    engine: Engine, take: str, write: str, look: str
) -> None:
    shown = printed(engine, f"import os\n{take}\nNone", write, look, WRITE.format(2, "err"))
    assert shown == [[], [], [("stdout", "own\n")], [("stderr", "err")]]


def test_a_flood_past_python_is_cut_off(engine: Engine) -> None:
    flood, after = printed(engine, "import os\nfor _ in range(40):\n    os.write(1, b'x' * 100_000)", "print('after')")
    assert flood == [("stdout", "x" * (1 << 20))]
    assert after == [("stdout", "after\n")]


def test_a_child_runs_on_the_cores_of_the_thread_that_asks(engine: Engine) -> None:
    cell = "import os\nprint(os.sched_getaffinity(0))"
    mine = os.sched_getaffinity(0)
    for core in mine:
        with ThreadPoolExecutor(1, initializer=os.sched_setaffinity, initargs=(0, {core})) as pool:
            assert pool.submit(printed, engine, cell).result() == [[("stdout", f"{{{core}}}\n")]]
    assert printed(engine, cell) == [[("stdout", f"{mine}\n")]]


LOOK = """
import gc, types
BEHIND = (types.FrameType, types.GeneratorType, types.CoroutineType)  # the audit hook refuses what is in them
found, seen = [], set()
def look(waiting):
    while waiting:
        each = waiting.pop()
        if id(each) in seen or type(each) in BEHIND:
            continue
        seen.add(id(each))
        if str(type(each).__module__).startswith("autograder.grading.sandbox"):
            found.append(type(each).__name__)
        waiting += gc.get_referents(each)
"""


def test_nothing_in_a_notebook_leads_to_the_grader(engine: Engine) -> None:
    """Look at all that a notebook can reach, as only a library may."""
    library = os.path.dirname(json.__file__) + "/__init__.py"
    cell = (
        f"import builtins, sys\nspace = {{}}\nexec(compile({LOOK!r}, {library!r}, 'exec'), space)\n"
        "space['look']([globals(), builtins, getattr, setattr, get_ipython(), sys.modules])\n"
        "print(len(space['seen']) > 100_000, sorted({*space['found']}))"
    )
    ((_, said),) = printed(engine, cell)[0]
    assert said.startswith("True")
    assert not {"Channel", "CodeWatch", "ForkServer", "Guard", "Worker"} & {*re.findall(r"\w+", said)}, said
