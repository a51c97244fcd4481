"""Two real processes that gloo joins: what lessons say of them, and that they leave nothing behind."""

import os
import re
import subprocess
import sys
import textwrap
import time

import pytest
import torch

from autograder import start, two_processes
from autograder.learner import two_processes as module
from autograder.learner.replies import Reply, TableReply
from autograder.lessons.collection import COURSE

pytestmark = pytest.mark.long(15)

NIGHTLY = pytest.mark.nightly(
    twin="tests/learner/test_two_processes.py::test_an_unused_parameter_is_noticed_one_pass_late"
)
LESSONS = COURSE.read(["gradient_hooks", "several_processes"])


@pytest.fixture(autouse=True)
def english(monkeypatch):
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    start("gradient_hooks", language="en")


def shown(name, folder):
    """The table of the cell that runs the worker function `name`: a dict from label to two texts."""
    (cell,) = [cell for lesson in LESSONS for cell in lesson.cells if cell.is_picture and f"def {name}(" in cell.source]
    script = f"from autograder import two_processes\n{cell.source.replace(f'two_processes({name})', '')}"
    file = folder / f"{name}.py"
    file.write_text(script, encoding="utf-8")  # the source of a function is looked up in its file
    namespace = {"__name__": "__main__"}
    exec(compile(script, str(file), "exec"), namespace)
    table = two_processes(namespace[name])
    assert isinstance(table, TableReply), table
    return {label: (zero, one) for label, zero, one in table.rows}


def test_an_unused_parameter_is_noticed_one_pass_late(tmp_path):
    seen = shown("skip_a_layer", tmp_path)
    late = "Expected to have finished reduction in the..."
    assert seen == {
        "plain, pass 1": ("1.0", "2.0"),
        "plain, pass 2": (late, late),
        "find_unused_parameters, pass 1": ("1.5", "1.5"),
        "find_unused_parameters, pass 2": ("1.5", "1.5"),
    }
    for language in ("en", "ru"):  # the lesson shows this table before its cell runs
        prose = next(c.source for c in LESSONS[0].cells if c.language == language and "| plain, pass 1 |" in c.source)
        rows = re.findall(r"^\| (\w.*, pass \d) \| (.*) \| (.*) \|$", prose, re.M)
        assert {label: (zero, one) for label, zero, one in rows} == seen


@NIGHTLY
def test_real_buckets_are_as_the_lesson_says(tmp_path):
    seen = shown("real_buckets", tmp_path)
    twice = "Expected to mark a variable ready only once..."
    assert {label: zero for label, (zero, _) in seen.items()} == {
        "pass 1, bucket 0": "layers [3, 2, 1, 0]",
        "pass 2, bucket 0": "layers [3, 2]",
        "pass 2, bucket 1": "layers [1, 0]",
        "use_reentrant=True": twice[:42] + "...",
        "use_reentrant=False": "accepted",
        "in our hook": "1.0",
        "after backward": "1.5",
    }
    assert (seen["in our hook"][1], seen["after backward"][1]) == ("2.0", "1.5")


@NIGHTLY
def test_the_second_of_two_backward_passes_stays_on_its_rank(tmp_path):
    assert shown("two_losses", tmp_path) == {
        "forward, backward, forward, backward": ("10.0, 2 all-reduce",) * 2,
        "forward, forward, backward, backward": ("6.0, 1 all-reduce", "14.0, 1 all-reduce"),
    }


@NIGHTLY
def test_a_sharded_gradient_is_a_part_or_none(tmp_path):
    assert shown("sharded", tmp_path) == {
        "autograd.grad": ("(None, None)",) * 2,
        ".grad after a pass without exchange": ("[None, None]",) * 2,
        "first.weight.grad, this rank": ("[[4.0, 6.0], [4.0, 6.0]]", "[[4.0, 6.0]]"),
        "second.weight.grad, this rank": ("[[10.0, 10.0, 10.0]]", "[]"),
        "norm of this rank": ("20.1", "7.21"),
        "norm of the whole": ("21.35", "21.35"),
    }


def fails_in_one(rank):
    import torch

    if rank == 1:
        raise ValueError("one of them failed")
    torch.distributed.barrier()


def takes_long(rank):
    import time

    time.sleep(600)


def test_an_error_in_one_process_ends_both():
    reply = two_processes(fails_in_one)
    assert isinstance(reply, Reply)
    assert reply.parts[1] == "ValueError: one of them failed"


def test_processes_that_take_too_long_are_ended(monkeypatch):
    started = []
    start_one = module._start
    monkeypatch.setattr(module, "_start", lambda *how: started.append(start_one(*how)) or started[-1])
    reply = two_processes(takes_long, seconds=3)
    assert "ended after 3 seconds" in str(reply)
    assert [process.poll() is not None for process in started] == [True, True]


def test_nothing_is_started_while_nbgrader_runs_the_notebook(monkeypatch):
    monkeypatch.setattr(module, "_start", lambda *_: pytest.fail("a process was started"))
    for run in ("autograde", "validate"):
        monkeypatch.setenv("NBGRADER_EXECUTION", run)
        assert "not started" in str(two_processes(takes_long))


@pytest.mark.parametrize("lacking", ["is_available", "is_gloo_available"])
def test_without_gloo_it_says_so(monkeypatch, lacking):
    monkeypatch.setattr(module, "_start", lambda *_: pytest.fail("a process was started"))
    monkeypatch.setattr(torch.distributed, lacking, lambda: False)
    assert "no gloo" in str(two_processes(takes_long))


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks for processes in /proc")
def test_they_end_when_the_notebook_is_killed(tmp_path):
    file = tmp_path / "notebook.py"
    file.write_text(
        textwrap.dedent("""\
        from autograder import two_processes
        from autograder.learner import two_processes as module

        def takes_long(rank):
            import time

            time.sleep(600)

        start_one = module._start

        def start(*how):
            process = start_one(*how)
            print(process.pid, flush=True)
            return process

        module._start = start
        two_processes(takes_long)
        """)
    )
    with subprocess.Popen([sys.executable, file], stdout=subprocess.PIPE, text=True) as notebook:
        assert notebook.stdout is not None
        ids = [int(notebook.stdout.readline()) for _ in range(2)]
        time.sleep(3)  # they have to be at work
        notebook.kill()
    for _ in range(600):
        if not any(_is_running(each) for each in ids):
            return
        time.sleep(0.1)
    pytest.fail("a process outlived the notebook")


def _is_running(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
