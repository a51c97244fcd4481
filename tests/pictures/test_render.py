"""The process that draws, missing, crashed, killed or interrupted."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import torch

from autograder import draw
from autograder.pictures.render import graphviz_process as render
from support.pictures import shown


def test_threads_may_draw_at_the_same_time() -> None:
    x = torch.ones(2, requires_grad=True)
    loss = x.exp().sum()
    with ThreadPoolExecutor(4) as pool:
        drawings = list(pool.map(lambda _: shown(draw(loss))[0], range(8)))
    assert len(set(drawings)) == 1


def test_a_graded_cell_with_a_picture_says_nothing_on_stderr() -> None:
    code = "import torch, autograder\nautograder.draw(torch.ones(2, requires_grad=True).sum())._repr_mimebundle_()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ), check=True)
    assert (ran.stdout, ran.stderr) == ("", "")


def test_where_nothing_can_be_laid_out_the_text_is_shown(tmp_path: Path) -> None:
    (tmp_path / "pygraphviz.py").write_text("raise ImportError('not for this machine')")
    code = (
        "import torch, autograder; x = torch.ones(2, requires_grad=True)\n"
        "print(autograder.draw(x.sum())._repr_mimebundle_())\nprint(autograder.steps(x.sum())._repr_mimebundle_())"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PATH": str(tmp_path)}  # where no `dot` is
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    drawn, stepped = (ast.literal_eval(line) for line in ran.stdout.splitlines())
    assert list(drawn) == ["text/plain"]
    assert "Backward graph" in drawn["text/plain"]
    assert "could not be made here (ImportError: not for this machine)" in drawn["text/plain"]
    assert "apt-get install graphviz" in drawn["text/plain"]
    assert "<img" not in stepped["text/html"]
    assert "1. SumBackward0" in stepped["text/html"]


# A line of text without a character: Graphviz reads past it, and more often than not crashes.
CRASHES = 'digraph { a [label="\\n\\N", shape=record]; label="\\n"; a -> a [label="\\n"] }'


def test_a_crash_of_graphviz_costs_one_picture_and_no_kernel() -> None:
    for _ in range(8):
        with contextlib.suppress(render.CannotLayOut):
            render.png(CRASHES)
    with pytest.raises(render.CannotLayOut, match="DotError"):
        render.png("digraph {")
    assert "<polygon" in render.svg("digraph { a }")


def test_a_layout_without_end_ends_even_if_nobody_waits_for_it() -> None:
    """Such a process once went on for an hour after its kernel had been killed."""
    edges = "; ".join(f"n{i} -> n{i * i * k % 1999}" for i in range(1999) for k in (3, 5, 7, 11))
    request = json.dumps({"source": f"digraph {{ {edges} }}", "format": "svg", "args": ""})
    code = "import graphviz_worker as worker; worker.SECONDS = 1; worker.main()"
    env = {**os.environ, "PYTHONPATH": str(Path(render.__file__).parent)}
    ran = subprocess.run([sys.executable, "-c", code], input=request, text=True, capture_output=True, env=env)
    assert (ran.returncode, ran.stdout) == (-signal.SIGALRM, "")


def the_process_that_draws() -> psutil.Process:
    render.svg("digraph { a }")
    alive = [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]
    (found,) = (child for child in alive if "graphviz_worker.py" in " ".join(child.cmdline()))
    return found


def test_a_process_that_was_killed_is_started_anew() -> None:
    x = torch.ones(2, requires_grad=True)
    before = shown(draw(x.sum()))
    killed = the_process_that_draws()
    killed.kill()
    killed.wait()
    assert shown(draw(x.sum())) == before


def test_an_interrupt_leaves_no_picture_for_the_next_one() -> None:
    the_process_that_draws().suspend()
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            render.svg("digraph { unfinished }")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert "unfinished" not in render.svg("digraph { next }")
