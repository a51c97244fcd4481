"""Graphs that are awkward to draw, and graphs of random programs.

Each function makes its graph anew and returns what to draw and the variables of the caller. torchviz's open issues are
among them: #59 (names), #61 (which output an edge leads to), #69 (labels of `a * a` merge), #83 (crash), and its
crashes after backward and after an in-place edit.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

Instruction = tuple[str, int, int]


class Made(NamedTuple):
    """Outputs to draw, and the variables of the one who draws."""

    outputs: tuple[torch.Tensor, ...]
    names: dict[str, Any]


AWKWARD: dict[str, Callable[[], Made]] = {}


def _awkward(make: Callable[[], Made]) -> Callable[[], Made]:
    AWKWARD[make.__name__] = make
    return make


def _vector(*values: float) -> torch.Tensor:
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


class Cube(torch.autograd.Function):
    """Saves an input and its own output, and keeps a third tensor on ctx by hand."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        y = factor * x**3
        ctx.save_for_backward(x, y)
        ctx.square, ctx.factor = x * x, factor
        return y

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return 3 * ctx.factor * gradient * ctx.square, None


class Halves(torch.autograd.Function):
    """Two outputs; saves nothing."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x / 2, x / 2

    @staticmethod
    def backward(ctx: Any, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return (first + second) / 2


@_awkward
def square_of_a_leaf() -> Made:  # torchviz #69
    p = _vector()
    loss = (p * p).sum()
    return Made((loss,), locals())


@_awkward
def names_of_intermediates() -> Made:  # torchviz #59
    x, w = _vector(), _vector(0.5, 0.5, 0.5)
    h = x * w
    activation = h.tanh()
    loss = activation.sum()
    return Made((loss,), locals())


@_awkward
def outputs_of_unbind() -> Made:  # torchviz #61
    m = torch.arange(6.0).reshape(2, 3).requires_grad_()
    first, second = m.unbind()
    loss = (second - first).pow(2).sum()
    return Made((loss,), locals())


@_awkward
def nothing_to_name() -> Made:  # torchviz #83: a bare graph, with no parameters passed
    return Made(((torch.ones(3, requires_grad=True) * torch.ones(3)).sum(),), {})


@_awkward
def after_backward() -> Made:
    x = _vector()
    h = x.exp()
    loss = (h * h).sum()
    loss.backward()
    return Made((loss,), locals())


@_awkward
def after_backward_of_a_custom_function() -> Made:
    x = _vector()
    y = Cube.apply(x, 2.0)
    loss = y.sum()
    loss.backward()
    return Made((loss,), locals())


@_awkward
def edited_in_place_after_saving() -> Made:
    x = _vector()
    h = x * 2
    e = h.exp()
    loss = (e * h).sum()
    with torch.no_grad():
        e.mul_(2)
    return Made((loss,), locals())


@_awkward
def input_of_a_custom_function_edited() -> Made:
    x = _vector()
    h = x * 2
    y = Cube.apply(h, 1.0)
    loss = y.sum()
    with torch.no_grad():
        h.add_(1)
    return Made((loss,), locals())


@_awkward
def output_of_a_custom_function_edited() -> Made:
    x = _vector()
    y = Cube.apply(x, 1.0)
    loss = y.sum()
    with torch.no_grad():
        y.add_(1)
    return Made((loss,), locals())


@_awkward
def weight_stepped_before_backward() -> Made:
    x, w = _vector(), _vector(0.5, 0.5, 0.5)
    loss = (x * w).sum()
    with torch.no_grad():
        w.sub_(0.1)
    return Made((loss,), locals())


@_awkward
def in_place_operation_on_the_way() -> Made:
    x = _vector()
    h = x * 1
    h.mul_(2)
    h.relu_()
    loss = h.sum()
    return Made((loss,), locals())


@_awkward
def in_place_through_a_view() -> Made:
    x = _vector()
    h = x.clone()
    part = h[:2]
    part.mul_(10)
    loss = h.sum()
    return Made((loss,), locals())


@_awkward
def view_made_invalid() -> Made:
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    h = x.clone()
    first, _ = h.unbind()
    h.mul_(2)
    loss = h.sum()
    return Made((loss,), locals())  # asking for first.grad_fn is an error


@_awkward
def checkpointed() -> Made:
    x = _vector()
    ran = []

    def part(t: torch.Tensor) -> torch.Tensor:
        ran.append(1)
        return (t.sin() * t).exp()

    y = checkpoint(part, x, use_reentrant=False)
    loss = y.sum()
    return Made((loss,), locals())


@_awkward
def checkpointed_reentrantly() -> Made:
    x = _vector()
    loss = checkpoint(lambda t: t.sin() * t, x, use_reentrant=True).sum()
    return Made((loss,), locals())


@_awkward
def packed_by_hooks() -> Made:
    x = _vector()
    unpacked = []

    def unpack(packed: tuple[str, torch.Tensor]) -> torch.Tensor:
        unpacked.append(1)
        return packed[1]

    with torch.autograd.graph.saved_tensors_hooks(lambda t: ("packed", t.detach().clone()), unpack):
        h = x.exp()
        loss = (h * h).sum()
    return Made((loss,), locals())


@_awkward
def unpacking_would_fail() -> Made:
    x = _vector()

    def unpack(_: object) -> torch.Tensor:
        raise OSError("the file is gone")

    with torch.autograd.graph.saved_tensors_hooks(lambda t: None, unpack):
        loss = x.exp().sum()
    return Made((loss,), locals())


@_awkward
def hooks_and_retained_gradients() -> Made:
    x = _vector()
    h = x * 3

    def clip(gradient: torch.Tensor) -> torch.Tensor:
        return gradient.clamp(max=1)

    def landed(_: torch.Tensor) -> None:
        pass

    h.register_hook(clip)
    h.retain_grad()
    x.register_post_accumulate_grad_hook(landed)
    loss = h.pow(2).sum()
    loss.backward(retain_graph=True)
    return Made((loss,), locals())


@_awkward
def gradient_of_a_gradient() -> Made:
    x = _vector()
    loss = x.pow(3).sum()
    (g,) = torch.autograd.grad(loss, x, create_graph=True)
    return Made((loss, g), locals())


@_awkward
def grad_with_a_graph_of_its_own() -> Made:
    x = _vector()
    loss = x.pow(3).sum()
    (x.grad,) = torch.autograd.grad(loss, x, create_graph=True)
    penalty = x.grad.pow(2).sum()
    return Made((penalty,), {"x": x, "penalty": penalty})


@_awkward
def several_outputs_with_one_trunk() -> Made:
    x = _vector()
    trunk = x.tanh()
    one, two = trunk.sum(), trunk.prod()
    return Made((one, two), locals())


@_awkward
def an_output_inside_another() -> Made:
    x = _vector()
    h = x * 2
    loss = h.sum()
    return Made((loss, h, loss), locals())


@_awkward
def custom_function_with_two_outputs() -> Made:
    x = _vector()
    left, right = Halves.apply(x)
    loss = (left * right).sum()
    return Made((loss,), locals())


@_awkward
def names_with_markup() -> Made:
    p = {'<b>&"a|b}\\n': _vector(), "<br/>": _vector()}
    loss = (p['<b>&"a|b}\\n'] * p["<br/>"]).sum()
    return Made((loss,), locals())


@_awkward
def hidden_in_containers() -> Made:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1, bias=False))
    batch = SimpleNamespace(x=torch.randn(5, 3), y=[torch.randn(5, 1)])
    loss = nn.functional.mse_loss(model(batch.x), batch.y[0])
    return Made((loss,), {"model": model, "batch": batch, "y": batch.y, "loss": loss})


@_awkward
def many_names_for_one_tensor() -> Made:
    a = b = c = d = _vector()
    e = f = a * b
    loss = (c + e + d + f).sum()
    return Made((loss,), locals())


@_awkward
def slices_that_hold_a_large_storage() -> Made:
    x = torch.ones(1000, requires_grad=True)
    big = x.exp()
    loss = (big[:2] * big[2:4]).sum()
    return Made((loss,), locals())


@_awkward
def complex_numbers() -> Made:
    z = torch.tensor([1 + 1j, 2 - 1j], requires_grad=True)
    loss = (z * z.conj()).abs().sum()
    return Made((loss,), locals())


@_awkward
def empty_and_not_finite() -> Made:
    nothing = torch.zeros(0, 3, requires_grad=True)
    x = torch.tensor([0.0, float("inf"), float("nan")], requires_grad=True)
    loss = nothing.sum() + x.log().sum()
    return Made((loss,), locals())


@_awkward
def on_the_meta_device() -> Made:
    x = torch.ones(3, device="meta", requires_grad=True)
    h = x.exp()
    loss = (h * h).sum()
    return Made((loss,), locals())


@_awkward
def sparse() -> Made:
    s = torch.eye(3).to_sparse().requires_grad_()
    dense = torch.ones(3, 2, requires_grad=True)
    loss = torch.sparse.mm(s, dense).sum()
    return Made((loss,), locals())


@_awkward
def indexed_and_dropped_out() -> Made:
    torch.manual_seed(0)
    table = torch.ones(5, 3, requires_grad=True)
    rows = torch.tensor([0, 2, 2])
    loss = nn.functional.dropout(table[rows], 0.5).max(dim=1).values.sum()
    return Made((loss,), locals())


@_awkward
def recurrent() -> Made:
    torch.manual_seed(0)
    w = torch.randn(3, 3, requires_grad=True)
    h = torch.ones(3)
    for _ in range(300):
        h = (w @ h).tanh()
    loss = h.sum()
    return Made((loss,), locals())


@_awkward
def thousands_of_nodes_in_a_row() -> Made:
    x = _vector()
    h = x
    for _ in range(5000):
        h = h + 1
    loss = h.sum()
    return Made((loss,), locals())


@_awkward
def a_thicket() -> Made:
    """No repetition and no model in it: hundreds of nodes, each of some two others."""
    x = _vector()
    operations = (torch.sin, torch.tanh, torch.exp, torch.relu, torch.sigmoid)
    values = [x * 0.1]
    for step in range(400):
        one, other = values[step * 7 % len(values)], values[step * step % len(values)]
        values.append(operations[step * step * 3 % 5](one * 0.1) + other * 0.1)
    loss = torch.stack(values[-30:]).sum()
    return Made((loss,), {"x": x, "loss": loss})


# -- random programs ------------------------------------------------------------------------------------------------

STEPS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "mul": lambda a, b: a * b,
    "add": lambda a, b: a + b,
    "matmul": lambda a, b: a @ b / 3,
    "same": lambda a, _: a * a,
    "sin": lambda a, _: a.sin(),
    "tanh": lambda a, _: a.tanh(),
    "relu": lambda a, _: a.relu(),
    "number": lambda a, _: 2 * a,
    "sum": lambda a, b: a + b.sum(),
    "unbind": lambda a, b: torch.stack([a.unbind()[2], b.unbind()[0], a.unbind()[1]]),
    "chunk": lambda a, b: torch.cat([a.chunk(3)[1], b[:2]]),
    "transpose": lambda a, _: a.t(),
    "slice": lambda a, b: a[1:2].expand(3, 3) - b,
    "index": lambda a, _: a[torch.tensor([2, 0, 0])],
    "clone": lambda a, _: a.clone(),
    "in place": lambda a, b: a.clone().mul_(b.detach()),
    "in place on it": lambda a, _: a.mul_(0.5) if not a.is_leaf else a,
    "in place unseen": lambda a, _: _unseen(a),
    "detach": lambda a, _: a.detach(),
    "custom": lambda a, _: Cube.apply(a, 0.5),
    "two outputs": lambda a, b: Halves.apply(a)[0] * Halves.apply(b)[1],
    "checkpoint": lambda a, b: checkpoint(lambda s, t: (s * t).sin(), a, b, use_reentrant=False),
}


def _unseen(a: torch.Tensor) -> torch.Tensor:
    """Edited where autograd records nothing: what was saved of it is stale from now on."""
    with torch.no_grad():
        a.add_(0.25)
    return a


def run(program: list[Instruction]) -> Made:
    """The graph that a program of steps builds: each takes two earlier values by their number, modulo how many."""
    generator = torch.Generator().manual_seed(7)
    values = [torch.rand(3, 3, generator=generator).requires_grad_(i < 2) for i in range(3)]
    names: dict[str, Any] = dict(zip("abc", values))
    for number, (step, i, j) in enumerate(program):
        values.append(STEPS[step](values[i % len(values)], values[j % len(values)]))
        if number % 2:
            names[f"v{number}"] = values[-1]
    names["loss"] = values[-1].sum() + values[0].sum()
    return Made((names["loss"],), names)
