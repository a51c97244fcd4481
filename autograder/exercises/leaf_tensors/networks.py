"""Small networks whose last layer is the loss, and their state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import torch
from torch import Tensor

from autograder.checking.inputs import linear_layer, signed, with_old_gradient

_HOOK_TABLES = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"


class MeanSquare(torch.nn.Module):
    """A layer that computes a loss: the mean of squares."""

    def forward(self, h: Tensor) -> Tensor:
        return h.square().mean()


class TwiceInTraining(torch.nn.Module):
    """A layer that doubles its input in training, and only then.

    Like dropout it depends on the mode, but without random numbers.
    """

    def forward(self, h: Tensor) -> Tensor:
        return 2 * h if self.training else h


def random_network(rng: torch.Generator, *widths: int) -> torch.nn.Sequential:
    """Return Linear and Tanh layers in turn, a layer that depends on the mode, and a loss.

    `widths` are the sizes before, between and after the linear layers. All Tanh layers are one object. Each weight has
    an old gradient.
    """
    layers: list[torch.nn.Module] = []
    tanh = torch.nn.Tanh()
    for inputs, outputs in pairwise(widths):
        linear = linear_layer(signed(rng, outputs, inputs) / inputs)
        with_old_gradient(linear.weight)
        layers += [linear, tanh]
    return torch.nn.Sequential(*layers, TwiceInTraining(), MeanSquare())


@contextmanager
def recording_outputs(model: torch.nn.Sequential) -> Iterator[list[Tensor]]:
    """Record the output of each call of a layer of `model` in the `with` block.

    Yields a list of the outputs, in the order of the calls.
    """
    outputs: list[Tensor] = []

    def note(_: torch.nn.Module, __: object, output: Tensor) -> None:
        outputs.append(output)

    handles = [layer.register_forward_hook(note) for layer in set(model)]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


def state_of(model: torch.nn.Sequential, x: Tensor) -> dict[str, object]:
    """Return a dict of everything that an answer must leave unchanged.

    It holds gradients, values, `requires_grad`, hooks, and the mode of each layer.
    """
    tensors = {f"model[{name.replace('.', '].', 1)}": tensor for name, tensor in model.named_parameters()} | {"x": x}
    hooks = [hook for layer in model.modules() for table in _HOOK_TABLES for hook in getattr(layer, table)]
    return {
        **{f"{name}.grad": tensor.grad for name, tensor in tensors.items()},
        **{name: tensor.detach() for name, tensor in tensors.items()},
        **{f"{name}.requires_grad": tensor.requires_grad for name, tensor in tensors.items()},
        "hooks left on the layers": len(hooks),
        "hooks left on weights and x": sum(len(tensor._backward_hooks or ()) for tensor in tensors.values()),
        "model.training": model.training,
        **{f"model[{place}].training": layer.training for place, layer in enumerate(model)},
    }
