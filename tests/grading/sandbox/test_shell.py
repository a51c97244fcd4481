"""The shell of an isolated child: cells as IPython reads them, with all output."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from IPython.core.async_helpers import _should_be_async
from IPython.core.inputtransformer2 import TransformerManager

from autograder.authoring.build import COURSE
from autograder.grading.sandbox.cell_cache import QuickHook, RememberingShell, Transformers
from autograder.grading.sandbox.engine import Engine
from autograder.grading.sandbox.shell import Hook

PIECES = [
    *"%!?,;/\\#'\"()[]=+: \n\t\f", "x", "f", "1", "%%", "!!", "??", '"""', "%ls", "!ls", "a = ", "a?", "/f 1", ",f a b",
    ";f a", "\n    ", "\n", ">>> ", "... ", "In [1]: ", "if x:", "def f():", "return", "await f()", "async ", "f'{x}'",
    "\u2028", "\r\n", "é",
]  # fmt: skip


def _transformed(manager: TransformerManager, cell: str) -> str:
    try:
        return str(manager.transform_cell(cell))
    except Exception as error:  # on what is no code IPython raises some, and warns
        return f"no code: {error!r}"


def _runs(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@example("x = 1\n,f a\n")
@example("\f/f 1\n")
@example("\t'\n    \\")
def test_every_text_is_transformed_as_by_ipython(cell: str) -> None:
    ours, ipythons = _transformed(Transformers(), cell), _transformed(TransformerManager(), cell)
    assert ours == ipythons or not (_runs(ours) or _runs(ipythons))


def test_the_cells_of_the_lessons_are_transformed_as_by_ipython() -> None:
    sources = [lesson.path.read_text(encoding="utf-8") for lesson in COURSE.read()]
    cells = [cell for source in sources for cell in source.split("# %%")]
    assert len(cells) > 100
    for cell in cells:
        assert _transformed(Transformers(), cell) == _transformed(TransformerManager(), cell)


@given(st.lists(st.sampled_from([*PIECES, ";", "; ", "# c", "#;", "'''", "x;\n"]), max_size=10).map("".join))
@example("x;  # a comment\n\n# ;\n  \n")
@example("'a;'\n# x;")
@example("x; \\\n\n")
@example("x;\n# \f1")
@example('x = """\n# a\n""";')
def test_a_semicolon_at_the_end_is_seen_as_by_ipython(cell: str) -> None:
    try:
        ipythons = Hook.semicolon_at_end_of_expression(cell)
    except Exception:  # on what is no code, and on a lone backslash
        return
    assert QuickHook.semicolon_at_end_of_expression(cell) == bool(ipythons) or not _runs(cell)


@pytest.fixture
def shell() -> Iterator[Any]:
    """A shell that is not there any more for the tests that come after."""
    yield RememberingShell.instance()
    RememberingShell.clear_instance()


@pytest.mark.parametrize(
    "cell", ["x = 1", "await x", "[x async for x in y]", "async def f(): await x", "awaited = 1", "x = (", "async with"]
)
def test_a_cell_that_awaits_is_known(shell: Any, cell: str) -> None:
    assert shell.should_run_async(cell, transformed_cell=cell) == _should_be_async(cell)


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
