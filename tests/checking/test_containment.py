"""Containment: what answers leave behind, what notebooks have switched, and endless loops."""

import contextlib
import os
import sys
import threading
import time

import pytest
import torch
from torch.nn.functional import mse_loss
from torch.optim.optimizer import register_optimizer_step_post_hook

from autograder.checking.containment import deadline
from autograder.checking.containment.nested_passes import MOST
from autograder.checking.containment.switches import as_in_a_fresh_process, putting_back
from autograder.checking.counting.allocations import live_bytes
from autograder.learner import commands as notebook
from autograder.messages.learners import message
from support.check import NAME, check, right

SWITCHES = {
    "grad_mode": lambda: torch.set_grad_enabled(False),
    "default_dtype": lambda: torch.set_default_dtype(torch.float64),
    "default_device": lambda: torch.set_default_device("meta"),
    "anomaly": lambda: torch.set_anomaly_enabled(True),
    "deterministic": lambda: torch.use_deterministic_algorithms(True),
    "autocast": lambda: torch.autocast("cpu").__enter__(),
    "attention": lambda: torch.backends.cuda.enable_flash_sdp(False),
}


LEFT = {
    **SWITCHES,
    "dual_level": torch.autograd.forward_ad.enter_dual_level,
    "saved_tensors_hooks": lambda: torch.autograd.graph.saved_tensors_hooks(torch.detach, torch.detach).__enter__(),
    "module_hooks": lambda: torch.nn.modules.module.register_module_forward_hook(lambda *_: None),
    "optimizer_hooks": lambda: register_optimizer_step_post_hook(lambda *_: None),
    "threads": lambda: threading.Thread(target=FINISH.wait).start(),
}


FINISH = threading.Event()


@pytest.fixture
def as_before():
    """Whatever a test switches in this process is switched back."""
    with putting_back([]):
        yield
    FINISH.set()


@pytest.mark.parametrize("name", LEFT)
def test_what_an_answer_leaves_behind_is_told_and_put_back(name, language):
    def leaves_it_behind(model, batches):
        right(model, batches)
        LEFT[name]()

    FINISH.clear()
    verdict = check(leaves_it_behind)
    if name == "threads":  # they may still be ending
        assert {note.id for note in verdict.notes} == {"note.why", "note.left.threads"}
    else:
        assert (verdict.state, verdict.points) == ("not yet", 0)
        assert [note.id for note in verdict.finding.got] == ["differs.changed", f"note.left.{name}"]
    assert message(f"note.left.{name}", value="|").read(language).partition("|")[0] in verdict.text(language)
    assert "switch." not in verdict.text(language)
    FINISH.set()
    following = check(right)
    assert (following.state, [note.id for note in following.notes]) == ("passed", ["note.why"])


@pytest.mark.parametrize("name", SWITCHES)
def test_what_a_notebook_has_switched_does_not_change_the_verdict(name, language, as_before):
    SWITCHES[name]()
    verdict = check(right)
    assert (verdict.state, [note.id for note in verdict.notes]) == ("passed", ["note.why", f"note.unusual.{name}"])
    with as_in_a_fresh_process() as left:
        pass
    assert [note.id for note in left] == [f"note.unusual.{name}"]  # the notebook's own setting is back


def test_hooks_that_a_notebook_has_left_on_save_nothing_in_a_check(as_before):
    """Packed into NumPy's arrays, saved tensors would not be counted."""
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), torch.from_numpy)
    hooks.__enter__()
    x = torch.ones(1000, requires_grad=True)
    with as_in_a_fresh_process() as notes, live_bytes() as live:
        y = x.exp()
        assert live.now == 4000
    assert [note.id for note in notes] == ["note.unusual.saved_tensors_hooks"]
    del y
    assert torch._C._autograd._top_saved_tensors_default_hooks(False) is not None


def test_own_threads_do_not_extend_a_limit(monkeypatch):
    """They take the main thread's core, which then waits."""
    monkeypatch.setattr(deadline, "waited", lambda process: time.process_time())
    limit, start = deadline.Deadline(0.2, os.getpid()), time.process_time()
    while time.process_time() < start + 0.5:  # all the time, this process itself has been at work
        limit.left()
    assert limit.left() < 0.1


def test_an_endless_loop_is_ended(language, exercises, monkeypatch):
    def endless(model, batches):
        while True:
            with contextlib.suppress(Exception):
                time.sleep(0.01)

    monkeypatch.setattr(exercises[NAME], "seconds", 0.3)
    verdict = check(endless)
    assert verdict.state == "not yet"
    assert "0.3" in verdict.text(language)


def test_only_edits_that_the_solution_does_not_make_are_told(language):
    def step(w, b, x, y, lr):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(x @ w + b, y)
        loss.backward()
        with torch.no_grad():
            for parameter in (w, b):
                parameter -= lr * parameter.grad
                parameter.grad = None
        return loss.item()

    def steps_on_the_data_too(w, b, x, y, lr):
        loss = step(w, b, x, y, lr)
        y.zero_()
        return loss

    notebook.start("first_gradient", language=language)
    assert (check(step, "descend").state, len(check(step, "descend").notes)) == ("passed", 1)
    _, note = check(steps_on_the_data_too, "descend").finding.got
    assert (note.id, note.parameters) == ("note.inputs", {"name": "y"})


def test_after_one_endless_case_the_others_are_not_tried(language, exercises, monkeypatch):
    tried = []

    def endless(model, batches):
        tried.append(1)
        while True:
            pass

    monkeypatch.setattr(exercises[NAME], "seconds", 0.2)
    assert check(endless).state == "not yet"
    assert tried == [1]


def passes_without_end(model, batches):
    loss = sum(mse_loss(model(x), y) for x, y in batches)
    again = loss * 2
    loss.register_hook(lambda g: torch.autograd.grad(again, loss, g, retain_graph=True)[0])
    loss.backward()


def test_passes_inside_passes_are_ended(language):
    """The main thread waits in torch's engine: no signal would reach it."""
    before = threading.active_count()
    verdict = check(passes_without_end)
    assert verdict.state == "not yet"
    assert message("raised.passes", count=MOST).read(language) in verdict.text(language)
    assert threading.active_count() == before
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()  # the engine still works
    assert x.grad.tolist() == [1, 1]


def test_the_time_is_that_of_all_cases(language, exercises, monkeypatch):
    def slow(model, batches):
        right(model, batches)
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass

    assert len(exercises[NAME].draw("public")) > 2
    monkeypatch.setattr(exercises[NAME], "seconds", 0.45)
    verdict = check(slow)
    assert verdict.state == "not yet"
    assert message("raised.time", seconds="0.45").read(language) in verdict.text(language)


@pytest.mark.skipif(sys.platform != "linux" or torch.cuda.is_available(), reason="there is no limit here")
def test_an_answer_cannot_fill_the_memory(language):
    """Not touched, as much is given to a process without the limit."""

    def greedy(model, batches):
        torch.empty(6 << 30, dtype=torch.uint8)

    verdict = check(greedy)
    assert verdict.state == "not yet"
    assert "can't allocate memory" in verdict.text(language)
    torch.empty(6 << 30, dtype=torch.uint8)  # the limit is gone
