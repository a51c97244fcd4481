"""Warm-up of the fork server: no trace for submissions, and nothing that prevents forks."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from autograder import exercises
from autograder.exercises import PACKAGED, module_files
from autograder.exercises.module_texts import importable, modules_of
from autograder.grading.sandbox.grader.engine import Engine
from autograder.grading.sandbox.wire.run_codec import Rehearsal
from autograder.grading.submission.self_test import _first_mistakes
from autograder.lessons.mistakes import modules_for_mistakes

pytestmark = pytest.mark.long(10)

LESSON = "gradient_accumulation"
MODULES = {name: file.read_text(encoding="utf-8") for name, file in module_files(PACKAGED / LESSON).items()}
LOOK = """
import sys, threading, torch
switches = torch.get_default_dtype(), torch.is_grad_enabled()
from autograder.session import SESSION
shell = get_ipython()
hooks = shell.custom_exceptions, {name: len(each) for name, each in shell.events.callbacks.items()}
print(SESSION, hooks, shell.compile.flags)
print("left" in globals(), switches, len(In), threading.active_count(), "random:", torch.rand(2).tolist())
"""
CELLS = [
    "left = 3\nimport torch\ntorch.manual_seed(5)\ntorch.rand(3)",
    "torch.set_default_dtype(torch.float64)\ntorch.set_grad_enabled(False)",
    "1 / 0",
    "x = torch.ones(3, requires_grad=True)\n(x * x).sum().backward()\nprint(x.grad)",
]
STARTS = ['from autograder import start\n\nstart("gradient_accumulation", language="ru")', "left = 5\n1 / 0"]
THREAD = "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()"


@pytest.fixture
def engine(quick_fork_servers: None) -> Iterator[Engine]:
    with Engine() as engine:
        yield engine


def seen(engine: Engine) -> str:
    """Return the output of a fresh child, which must be unchanged."""
    with engine.fork() as child:
        child.ask("begin", lesson="gradient_accumulation", files={})
        (output,) = child.ask("cell", source=LOOK)["outputs"]
        assert child.ask("guard")["changed"] == []
        return str(output["text"])


def modules(engine: Engine) -> set[str]:
    with engine.fork() as child:
        return set(child.ask("modules")["modules"])


def test_only_what_is_imported_stays(engine: Engine) -> None:
    before, known = seen(engine), modules(engine)
    assert "wave" not in known
    engine.rehearse(Rehearsal(LESSON, MODULES, [CELLS, STARTS], ["wave", "no_such_module"]))
    assert seen(engine) == before
    assert "wave" in modules(engine)


def test_a_fork_server_with_a_second_thread_is_replaced(engine: Engine) -> None:
    before = seen(engine).partition("random:")[0]
    engine.rehearse(Rehearsal(LESSON, MODULES, [["import wave", THREAD]]))
    assert engine.alive
    assert seen(engine).partition("random:")[0] == before
    assert "wave" not in modules(engine)


def test_the_thread_of_torchs_profiler_does_not_undo_the_warm_up(engine: Engine) -> None:
    cell = "import torch\nfrom autograder.measure import live_bytes\nwith live_bytes():\n    torch.ones(100)"
    engine.rehearse(Rehearsal(LESSON, MODULES, [[cell]], ["wave"]))
    assert "wave" in modules(engine)
    assert seen(engine)


def test_more_text_than_a_message_holds_is_rehearsed(engine: Engine) -> None:
    before = seen(engine)
    engine.rehearse(Rehearsal(LESSON, MODULES, [[f"import wave\nleft = {'x' * 1_000_000!r}"]]))
    assert seen(engine) == before
    assert "wave" in modules(engine)


def test_only_a_touched_child_reports_a_change(engine: Engine) -> None:
    engine.rehearse(Rehearsal(LESSON, MODULES, [STARTS, CELLS]))
    with engine.fork() as child:
        child.ask("begin", lesson="gradient_accumulation", files={})
        assert child.ask("guard")["changed"] == []
        child.ask("cell", source="import json\nkept = json.dumps\njson.dumps = lambda x: x")
        assert child.ask("guard")["changed"] == ["json.dumps"]
        child.ask("cell", source="json.dumps = kept")
        assert child.ask("guard") == {"changed": [], "refused": [], "stood_in": []}


def shown(engine: Engine, *cells: str) -> str:
    """Return the output of the last of some cells, in a child."""
    with engine.fork() as child:
        child.ask("begin", lesson="gradient_accumulation", files={})
        answers = [child.ask("cell", source=source) for source in cells]
    (output,) = answers[-1]["outputs"]
    return str(output.get("data", output).get("text/plain", output.get("evalue")))


def test_a_rehearsed_future_import_changes_the_cells_after_it(engine: Engine) -> None:
    future, after = "from __future__ import annotations\nx = 1", "def f(a: nowhere): ...\nf.__annotations__"
    engine.rehearse(Rehearsal("", "", [[future, after]]))
    assert shown(engine, future, after) == "{'a': 'nowhere'}"
    assert shown(engine, "x = 1\nx", after) == "name 'nowhere' is not defined"


def test_a_grader_in_the_background_of_a_script() -> None:
    """A shell lets such a process ignore Ctrl+C, and so do all that it starts."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Engine() as other, other.fork() as child:
            child.ask("begin", lesson="gradient_accumulation", files={})
            assert child.ask("guard")["changed"] == []
            (error,) = child.ask("cell", source="import signal\nsignal.raise_signal(signal.SIGINT)")["outputs"]
            assert error["ename"] == "KeyboardInterrupt"
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("lesson", exercises.lessons())
def test_an_answer_that_is_rehearsed_finds_what_it_imports(lesson: str) -> None:
    path = PACKAGED / lesson
    package = f"autograder.exercises.{lesson}"
    texts = {name: file.read_text(encoding="utf-8") for name, file in module_files(path).items()}
    own = {name: each for name, each in exercises.load(lesson).items() if each.lesson == lesson}
    with importable(package, modules_of(package, texts), modules_for_mistakes(path)):
        for name, source in _first_mistakes(own).items():
            namespace: dict[str, object] = {"__name__": "__main__", "__package__": f"{package}.mistakes"}
            exec(source, namespace)
            assert own[name].asks in namespace
