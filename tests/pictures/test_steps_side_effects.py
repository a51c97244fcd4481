"""Side effects of `steps`: hooks run, and everything else stays as it was."""

from __future__ import annotations

from typing import Any

import torch

from autograder import steps
from support.graphs import AWKWARD, Made
from support.pictures import gradients
from support.steps import same, state, stepped


def test_hooks_of_the_learner_run_and_are_told() -> None:
    x = torch.ones(2, requires_grad=True)
    h = x * 3
    called = []

    def clip(gradient: torch.Tensor) -> torch.Tensor:
        called.append("clip")
        return gradient.clamp(max=1)

    def halve(leaf: torch.Tensor) -> None:
        called.append("halve")
        assert leaf.grad is not None
        leaf.grad /= 2

    def watch(*_: Any) -> None:
        called.append("watch")

    h.register_hook(clip)
    x.register_post_accumulate_grad_hook(halve)
    loss = (h * h).sum()
    assert loss.grad_fn is not None
    loss.grad_fn.register_hook(watch)
    loss.grad_fn.register_prehook(watch)
    result = steps(loss)
    assert called == ["watch", "watch", "clip", "halve"]
    assert [frame.hooks for frame in result.run.frames] == [("watch", "watch"), (), ("clip",), ("halve",)]
    text = str(result)
    assert "Hooks of yours ran on the way (watch, clip, halve)" in text
    assert "a hook changed the gradient: [6, 6] → [1, 1]" in text
    assert "x.grad: – + [3, 3] = [3, 3]\n  after your hook, x.grad is [1.5, 1.5]" in text
    assert x.grad is None
    called.clear()
    loss.backward()
    assert called == ["watch", "watch", "clip", "halve"]


def test_what_a_hook_on_a_forgotten_tensor_changes_is_told() -> None:
    x = torch.ones(2, requires_grad=True)

    def forward(t: torch.Tensor) -> torch.Tensor:
        h = t * 2
        h.register_hook(lambda g: g * 10)
        return h + 1

    loss = forward(x).sum()
    assert "a hook changed the gradient: [1, 1] → [10, 10]" in str(steps(loss))


def test_an_exception_in_a_hook_leaves_everything_as_it_was() -> None:
    def make() -> Made:
        x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        w.grad = torch.full((2,), 5.0)
        h = x * 2
        loss = (h * 1).sum() + (w * 3).sum()
        return Made((loss,), locals())

    made = make()
    handle = made.names["h"].register_hook(lambda g: 1 / 0)
    before = state(made)
    result = stepped(made)
    assert result.run.error == "ZeroDivisionError: division by zero"
    assert "Backward stopped with an error" in str(result)
    assert result.run.frames
    assert same(before, state(made))
    handle.remove()
    assert gradients(made) == gradients(make())


def test_a_hook_that_runs_a_pass_of_its_own_makes_no_frames() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x.exp()
    loss, other = (h * h).sum(), h.sum()
    assert loss.grad_fn is not None
    loss.grad_fn.register_hook(lambda *_: torch.autograd.grad(other, x, retain_graph=True) and None)
    result = steps(loss)
    assert [result.graph.nodes[frame.node].name for frame in result.run.frames] == [
        "SumBackward0",
        "MulBackward0",
        "ExpBackward0",
        "AccumulateGrad",
    ]


def test_retained_gradients_come_back_too() -> None:
    x = torch.ones(2, requires_grad=True)
    h = x * 2
    h.retain_grad()
    loss = h.sum()
    assert "retain_grad(): h.grad is [1, 1]" in str(steps(loss))
    assert (h.grad, x.grad) == (None, None)
    loss.backward()
    assert h.grad is not None
    assert h.grad.tolist() == [1, 1]


def test_random_numbers_of_a_backward_do_not_show() -> None:
    class Noisy(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            return gradient + torch.rand(2)

    x = torch.ones(2, requires_grad=True)
    loss = Noisy.apply(x).sum()
    before = torch.get_rng_state()
    assert steps(loss).run.frames
    assert torch.equal(torch.get_rng_state(), before)


def test_inside_a_transform_and_without_grad_mode_nothing_is_raised() -> None:
    said = []

    def square(x: torch.Tensor) -> torch.Tensor:
        y = (x * x).sum()
        said.append(str(steps(y)))
        return y

    torch.func.grad(square)(torch.ones(3))
    assert "Backward could not start: RuntimeError" in said[0]
    x = torch.ones(2, requires_grad=True)
    loss = x.exp().sum()
    with torch.no_grad():
        assert len(steps(loss).run.frames) == 3


def test_a_checkpoint_inside_gives_nothing_to_leaves_that_the_graph_hides() -> None:
    made = AWKWARD["checkpointed_reentrantly"]()
    stepped(made)
    assert made.names["x"].grad is None
