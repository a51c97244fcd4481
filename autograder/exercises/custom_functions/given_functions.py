"""Right and wrong Functions for a learner's test in `is_right_function`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .common import Function


# The learner's test runs on Functions of (x, k) that compute x * exp(-k). No other exercise asks for one.
class _RightByInputs(Function):
    """A right Function that saves its inputs and computes both gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, k: Tensor) -> Tensor:
        ctx.save_for_backward(x, k)
        return x * torch.exp(-k)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k = ctx.saved_tensors
        decay = torch.exp(-k)
        return grad_output * decay, -grad_output * x * decay


class _RightByOutput(_RightByInputs):
    """A right Function that saves its result.

    Computes only the gradients that are needed.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, k: Tensor) -> Tensor:
        y = x * torch.exp(-k)
        ctx.save_for_backward(k, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        k, y = ctx.saved_tensors
        needs_x, needs_k = ctx.needs_input_grad
        return grad_output * torch.exp(-k) if needs_x else None, -grad_output * y if needs_k else None


class _RightBySetup(Function):
    """A right Function with `setup_context` that divides instead of multiplying.

    It saves three tensors, so that their number does not tell a right Function from a wrong one.
    """

    @staticmethod
    def forward(x: Tensor, k: Tensor) -> Tensor:
        return x / torch.exp(k)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        _, k, y = ctx.saved_tensors
        return grad_output / torch.exp(k), -grad_output * y


class _WrongValue(_RightByInputs):
    """A wrong Function that `gradcheck` accepts.

    The derivative is right, but belongs to another function, x * exp(k).
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, k: Tensor) -> Tensor:
        ctx.save_for_backward(x, k)
        return x * torch.exp(k)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k = ctx.saved_tensors
        growth = torch.exp(k)
        return grad_output * growth, grad_output * x * growth


class _WrongLocal(_RightByInputs):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k = ctx.saved_tensors
        return torch.exp(-k), -x * torch.exp(-k)


class _WrongSwapped(_RightByInputs):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        for_x, for_k = _RightByInputs.backward(ctx, grad_output)
        return for_k, for_x


class _WrongSecondInput(_RightByInputs):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return _RightByInputs.backward(ctx, grad_output)[0], None


class _WrongForNegative(_RightByInputs):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k = ctx.saved_tensors
        decay = torch.exp(-k)
        return grad_output * decay, -grad_output * x.abs() * decay


class _WrongIntermediate(_RightByInputs):
    @staticmethod
    def forward(ctx: Any, x: Tensor, k: Tensor) -> Tensor:
        decay = torch.exp(-k)
        ctx.save_for_backward(x, decay)
        return x * decay

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, decay = ctx.saved_tensors
        return grad_output * decay, -grad_output * x * decay


class _WrongMixed(_RightByInputs):
    """A Function that is wrong only in one mixed second derivative."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, k: Tensor) -> Tensor:
        decay = torch.exp(-k)
        ctx.save_for_backward(x, k, decay)
        return x * decay

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k, decay = ctx.saved_tensors
        return grad_output * decay, -grad_output * x * torch.exp(-k)


class _WrongEdits(_RightByInputs):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k = ctx.saved_tensors
        for_k = -grad_output * x * torch.exp(-k)
        if torch.is_grad_enabled():  # as in real code: autograd would record the edit
            return grad_output * torch.exp(-k), for_k
        return grad_output.mul_(torch.exp(-k)), for_k


def _without_name(function: Any) -> Any:
    """Return a copy of a custom Function under a neutral name.

    torch's errors and warnings contain the name of the class, which would give the answer away.
    """
    body = {key: value for key, value in vars(function).items() if key not in ("__dict__", "__weakref__", "__doc__")}
    return type(function)("GivenFunction", function.__bases__, {**body, "__module__": "__main__"})


RIGHT = tuple(map(_without_name, (_RightByInputs, _RightByOutput, _RightBySetup)))


WRONG = {
    "catches_wrong_value": _without_name(_WrongValue),
    "catches_local_derivative": _without_name(_WrongLocal),
    "catches_swapped": _without_name(_WrongSwapped),
    "catches_missing_gradient": _without_name(_WrongSecondInput),
    "catches_negative": _without_name(_WrongForNegative),
    "catches_second_derivative": _without_name(_WrongIntermediate),
    "catches_mixed_derivative": _without_name(_WrongMixed),
    "catches_edited_grad_output": _without_name(_WrongEdits),
}
