"""What the template has run leaves nothing that a submission could notice, and never keeps it from being forked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.grading.isolated.engine import Engine

LOOK = """
import sys, threading, torch
switches = torch.get_default_dtype(), torch.is_grad_enabled()
print("left" in globals(), switches, len(In), threading.active_count(), "random:", torch.rand(2).tolist())
"""
CELLS = [
    "left = 3\nimport torch\ntorch.manual_seed(5)\ntorch.rand(3)",
    "torch.set_default_dtype(torch.float64)\ntorch.set_grad_enabled(False)",
    "1 / 0",
    "x = torch.ones(3, requires_grad=True)\n(x * x).sum().backward()\nprint(x.grad)",
]
THREAD = "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as engine:
        yield engine


def seen(engine: Engine) -> str:
    """What a fresh child prints, which must not have been changed."""
    with engine.fork() as child:
        child.ask("begin", lesson="gradient_accumulation", files={})
        (output,) = child.ask("cell", source=LOOK)["outputs"]
        assert child.ask("guard", salt="00")["changed"] == []
        return str(output["text"])


def modules(engine: Engine) -> set[str]:
    with engine.fork() as child:
        return set(child.ask("modules")["modules"])


def test_only_what_is_imported_stays(engine: Engine) -> None:
    before, known = seen(engine), modules(engine)
    assert "wave" not in known
    engine.rehearse("gradient_accumulation", CELLS, ["wave", "no_such_module"])
    assert seen(engine) == before
    assert "wave" in modules(engine)


def test_a_template_with_a_second_thread_is_replaced(engine: Engine) -> None:
    before = seen(engine).partition("random:")[0]
    engine.rehearse("gradient_accumulation", ["import wave", THREAD], [])
    assert engine.alive
    assert seen(engine).partition("random:")[0] == before
    assert "wave" not in modules(engine)


def test_more_text_than_a_message_holds_is_not_rehearsed(engine: Engine) -> None:
    before = seen(engine)
    engine.rehearse("gradient_accumulation", [f"import wave\nleft = {'x' * 1_000_000!r}"], [])
    assert seen(engine) == before
    assert "wave" not in modules(engine)


def test_an_untouched_child_answers_as_its_siblings_do(engine: Engine) -> None:
    engine.rehearse("gradient_accumulation", CELLS, [])
    with engine.fork() as child:
        child.ask("begin", lesson="gradient_accumulation", files={})
        assert child.ask("guard", salt="ab")["fingerprint"] == engine.fingerprint("ab", "gradient_accumulation", {})
        child.ask("cell", source="import torch\nkept = torch.relu\ntorch.relu = lambda x: x")
        assert child.ask("guard", salt="ab")["changed"] == ["torch.relu"]
        assert child.ask("guard", salt="ab")["fingerprint"] != engine.fingerprint("ab", "gradient_accumulation", {})
        child.ask("cell", source="torch.relu = kept")
        assert child.ask("guard", salt="cd") == {
            "changed": [],
            "fingerprint": engine.fingerprint("cd", "gradient_accumulation", {}),
            "reached": [],
        }
