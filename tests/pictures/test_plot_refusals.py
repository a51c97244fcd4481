"""Plots of bad input: a sentence, and everything as it was."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from autograder import (
    plot_accumulation,
    plot_differences,
    plot_digits,
    plot_jacobian,
    plot_memory,
    plot_progress,
    plot_saved,
)
from autograder.session import SESSION
from support.plots import DATA, LEFT, NET, RIGHT, J, plain

POINT = torch.ones(2)


PICTURES, LABELS = torch.zeros(3, 64), torch.tensor([3, 1, 4])


NOT_FINITE = torch.tensor([[1.0, math.nan]])


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "jacobian of a number": (lambda: plot_jacobian(3), "It got int"),
    "jacobian of nothing": (lambda: plot_jacobian(None), "It got NoneType"),
    "jacobian without a point": (lambda: plot_jacobian(torch.sin), "plot_jacobian(f, x)"),
    "jacobian at a number": (lambda: plot_jacobian(torch.sin, 3), "It got int"),
    "jacobian at integers": (lambda: plot_jacobian(torch.sin, torch.tensor([1, 2])), "give x.float()"),
    "jacobian at complex": (lambda: plot_jacobian(torch.sin, POINT.to(torch.complex64)), "x.real"),
    "jacobian complex": (lambda: plot_jacobian(lambda x: x.to(torch.complex64), POINT), "f(x) is complex"),
    "jacobian complex matrix": (lambda: plot_jacobian(J.to(torch.complex64)), "J is complex"),
    "jacobian of a vector": (lambda: plot_jacobian(POINT), "J has shape (2,)"),
    "jacobian empty": (lambda: plot_jacobian(torch.ones(0, 3)), "neither of them empty"),
    "jacobian of no inputs": (lambda: plot_jacobian(lambda x: x.sum(), torch.ones(0)), "(1, 0)"),
    "jacobian with nan": (lambda: plot_jacobian(NOT_FINITE), "the first at [0, 1]"),
    "jacobian with inf": (
        lambda: plot_jacobian(torch.sqrt, torch.zeros(2)),
        "J has entries that are nan or inf, 4 in all",
    ),
    "jacobian too large": (lambda: plot_jacobian(torch.ones(100, 100)), "at most 2,500"),
    "jacobian too large of a function": (lambda: plot_jacobian(torch.sin, torch.ones(100)), "(100, 100)"),
    "jacobian constant": (lambda: plot_jacobian(lambda x: x.detach(), POINT), "nothing to differentiate"),
    "jacobian not a tensor": (lambda: plot_jacobian(lambda x: [x], POINT), "returned list"),
    "jacobian raising": (lambda: plot_jacobian(lambda x: 1 / 0, POINT), "ZeroDivisionError: division by zero"),
    "jacobian meta": (lambda: plot_jacobian(torch.ones(2, 2, device="meta")), "cannot be read here"),
    "jacobian product of large numbers": (
        lambda: plot_jacobian(torch.full((2, 2), 1e308, dtype=torch.float64), left=POINT),
        "vᵀJ has entries that are nan or inf",
    ),
    "left of another size": (lambda: plot_jacobian(J, left=RIGHT), "has 4 rows"),
    "right of another size": (lambda: plot_jacobian(J, right=LEFT), "has 6 columns"),
    "left no tensor": (lambda: plot_jacobian(J, left=[0, 1, 0, 0]), "left has to be a tensor of real numbers"),
    "right not finite": (
        lambda: plot_jacobian(torch.ones(1, 2), right=NOT_FINITE[0]),
        "right has entries that are nan or inf, 1 in all",
    ),
    "accumulation of a number": (lambda: plot_accumulation(5), "It got int"),
    "accumulation of nothing": (lambda: plot_accumulation([]), "It got list"),
    "accumulation of names": (lambda: plot_accumulation("weight"), "It got str"),
    "accumulation of constants": (lambda: plot_accumulation(POINT), "a leaf that requires grad"),
    "accumulation not run": (lambda: plot_accumulation(NET), "Put the loop inside"),
    "differences of a number": (lambda: plot_differences(3, 1.0), "It got int"),
    "differences without a point": (lambda: plot_differences(torch.sin), "It got NoneType"),
    "differences at integers": (lambda: plot_differences(torch.sin, torch.tensor(1)), "It got int64"),
    "differences at text": (lambda: plot_differences(torch.sin, "1"), "It got str"),
    "differences at nothing": (lambda: plot_differences(torch.sin, torch.ones(0)), "between 1 and 16"),
    "differences at much": (lambda: plot_differences(torch.sin, torch.ones(17)), "has 17 numbers"),
    "differences at nan": (lambda: plot_differences(torch.sin, math.nan), "where it is smooth"),
    "differences at a pole": (lambda: plot_differences(torch.sqrt, 0.0), "where it is smooth"),
    "differences constant": (lambda: plot_differences(lambda x: x.detach(), 1.0), "nothing to differentiate"),
    "differences raising": (lambda: plot_differences(torch.nn.Linear(1, 1), POINT[:1]), "float64 and with float32"),
    "digits of a number": (lambda: plot_digits(3, LABELS, {0: LABELS}), "64 numbers"),
    "digits without moments": (lambda: plot_digits(PICTURES, LABELS, {}), "{100: answers}"),
    "digits of outputs": (lambda: plot_digits(PICTURES, LABELS, {0: torch.rand(3, 10)}), "the answers to all pictures"),
    "digits of some": (lambda: plot_digits(PICTURES, LABELS, {0: LABELS[:2]}), "the answers to all pictures"),
    "digits of another size": (lambda: plot_digits(torch.zeros(3, 28), LABELS, {0: LABELS}), "64 numbers"),
    "digits above 9": (lambda: plot_digits(PICTURES, LABELS, {0: LABELS + 9}), "their digits"),
    "digits at a name": (lambda: plot_digits(PICTURES, LABELS, {"end": LABELS}), "number of batches"),
    "saved of a function": (lambda: plot_saved(torch.sin, DATA), "It got"),
    "saved without input": (lambda: plot_saved(NET), "plot_saved(net, x)"),
    "saved of a tensor": (lambda: plot_saved(NET, DATA, DATA), "cannot be called"),
    "saved without graph": (lambda: plot_saved(NET, DATA, torch.no_grad()(plain)), "returned nothing with a graph"),
    "saved raising": (lambda: plot_saved(NET, DATA[:, :3]), "plot_saved() ran your function"),
    "saved of many": (lambda: plot_saved(NET, DATA, *[plain] * 7), "at most 6"),
    "memory without functions": (lambda: plot_memory(DATA), "Which function?"),
    "memory of a result": (lambda: plot_memory(DATA, plain(DATA)), "without brackets"),
    "memory raising": (lambda: plot_memory(DATA, lambda x: x.nowhere), "AttributeError"),
    "memory of nothing": (lambda: plot_memory(DATA, lambda x: None), "made no tensors"),
    "progress of nothing": (plot_progress, "No answer so far."),
}


def test_an_error_without_a_message_is_said_by_its_name() -> None:
    def unfinished(x: torch.Tensor) -> None:
        raise NotImplementedError

    made = [plot_saved(NET, DATA, unfinished), plot_memory(DATA, unfinished), plot_jacobian(unfinished, POINT)]
    for each in (*made, plot_differences(unfinished, 1.0)):
        assert str(each).endswith("it ended with NotImplementedError")


@pytest.mark.parametrize("kind", REFUSED)
def test_bad_input_gets_a_sentence(kind: str) -> None:
    make, sentence = REFUSED[kind]
    made = make()
    assert sentence in str(made)
    bundle = made._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert bundle["text/plain"] == str(made)
    SESSION.language = "ru"
    assert re.search("[а-я]", str(make()))


def test_a_function_that_raises_leaves_gradients_hooks_and_modes_as_they_were() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 1))
    net(DATA).sum().backward()
    gradient, engine = net[0].weight.grad, torch.autograd._engine_run_backward

    def raising(x: torch.Tensor) -> None:
        net(x).sum().backward()
        raise ValueError("on purpose")

    assert "on purpose" in str(plot_memory(DATA, raising))
    assert "on purpose" in str(plot_saved(net, DATA, raising))
    assert torch.autograd._engine_run_backward is engine
    assert torch.is_grad_enabled()
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in net.modules())
    assert net[0].weight.grad is gradient


def test_inside_no_grad_and_transforms_nothing_is_raised() -> None:
    with torch.no_grad():
        assert plot_jacobian(torch.sin, POINT).matrix[0][0] == pytest.approx(math.cos(1.0))
        assert plot_memory(DATA, plain).courses[0].backwards
        assert not torch.is_grad_enabled()
    said = []

    def square(x: torch.Tensor) -> torch.Tensor:
        said.append(str(plot_jacobian(x.reshape(1, -1))))
        return (x * x).sum()

    torch.func.vmap(square)(torch.ones(3, 2))
    assert said
