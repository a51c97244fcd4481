"""Cases of the exercise that saves tensors in files."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import linear

from autograder.checking.exercise import Case
from autograder.checking.inputs import signed, uniform

from .common import Using
from .tensor_files import empty_folder


def disk_cases(rng: torch.Generator) -> Iterator[Case]:
    """Yield two cases: a function of a view of a weight, and a layer whose memory is measured.

    The view begins after the first rows of the weight's storage. An answer must recognise such a view as a parameter.
    """
    for dtype, rows, start, first in ((torch.float64, 6, 200, 20), (torch.float32, 12, 0, 0)):
        table = (uniform(rng, 300, 1) * uniform(rng, 40)).to(dtype)
        layer = torch.nn.Linear(40, 200, dtype=dtype)
        layer.load_state_dict({"weight": signed(rng, 200, 1) * signed(rng, 40) / 40, "bias": signed(rng, 200)})

        def f(
            x: Tensor, layer: torch.nn.Linear = layer, some: Tensor = table[start : start + rows], first: int = first
        ) -> Tensor:
            dropped = x.cos()  # its file goes before the next ones are written
            hidden = some * x.sin()
            del dropped
            for _ in range(6):
                hidden = hidden.sin()  # nobody else holds the results between
            hidden = hidden.tanh() - 1  # `tanh` saves its own result
            if first:
                z = linear(hidden, layer.weight[first:], layer.bias[first:])
                z = z.mean(1) + (hidden @ layer.weight.detach().T).mean(1)
            else:
                z = layer(hidden).mean(1)
            return z * z.mean().sin()

        x = uniform(rng, rows, 40).to(dtype).requires_grad_()
        hidden = f"table[{start}:{start + rows}] * x.sin(), then 6 × sin, tanh() - 1"
        detached = "linear(h, W[20:], b[20:]).mean(1) + (h @ W.detach().T).mean(1)"
        z = f"h = {hidden}, z = {detached if first else 'layer(h).mean(1)'}"
        text = f"x.cos(), {z}: z * z.mean().sin()"
        parameters, folder = list(layer.parameters()), empty_folder("disk of the case")
        yield Case(f=Using(text, f, table), x=x, parameters=parameters, folder=folder, measured=not first)
