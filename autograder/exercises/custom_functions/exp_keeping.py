"""Programs that keep the wrong tensors, mistakes of `exp_function`."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .common import Function


class RightExp(Function):
    """A right exponential.

    Most mistakes of the exercise are subclasses of this class.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0]


class saves_the_input(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0].exp()


class input_as_attribute(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        return x.exp()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.x.exp()


class kept_on_the_class(Function):
    kept: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        kept_on_the_class.kept = x.exp()
        return kept_on_the_class.kept  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * kept_on_the_class.kept


class saves_both(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[1]


class keeps_both(RightExp):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.x = x
        ctx.save_for_backward(y)
        return y


class keeps_a_copy(RightExp):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y.clone())
        return y


class attribute_of_ctx(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.y = x.exp()
        return ctx.y  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.y


class saves_nothing(RightExp):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.exp()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (y,) = ctx.saved_tensors
        return grad_output * y


class writes_into_the_result(RightExp):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return ctx.saved_tensors[0].mul_(grad_output)
