"""Programs with wrong shapes of gradients, mistakes of `product_function`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .common import Function


class RightForward(Function):
    """A right forward pass of the product.

    Most mistakes of the exercise are subclasses of this class.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a * b


class takes_the_mean(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        def mean_to(gradient: Tensor, shape: torch.Size) -> Tensor:
            summed = gradient.sum_to_size(shape)
            return summed * (summed.numel() / gradient.numel())

        a, b = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return (
            mean_to(grad_output * b, a.shape) if needs[0] else None,
            mean_to(grad_output * a, b.shape) if needs[1] else None,
        )


class takes_the_mean_for_a_number(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = grad_output * b if a.dim() else (grad_output * b).mean()
        if ctx.needs_input_grad[1]:
            grad_b = grad_output * a if b.dim() else (grad_output * a).mean()
        return grad_a, grad_b


class sums_over_axis_0(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        def sum_to(gradient: Tensor, shape: torch.Size) -> Tensor:
            return gradient if gradient.shape == shape else gradient.sum(0)

        a, b = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return (
            sum_to(grad_output * b, a.shape) if needs[0] else None,
            sum_to(grad_output * a, b.shape) if needs[1] else None,
        )


class always_sums_over_axis_0(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return grad_output * b if needs[0] else None, (grad_output * a).sum(0) if needs[1] else None


class _Fitted(RightForward):
    """A product whose gradients get their shapes from `fit`."""

    @staticmethod
    def fit(gradient: Tensor, shape: torch.Size) -> Tensor:
        raise NotImplementedError

    @classmethod
    def backward(cls, ctx: Any, grad_output: Tensor) -> Any:
        (a, b), needs = ctx.saved_tensors, ctx.needs_input_grad
        for_a = cls.fit(grad_output * b, a.shape) if needs[0] else None
        return for_a, cls.fit(grad_output * a, b.shape) if needs[1] else None


class sums_over_axis_0_with_keepdim(_Fitted):
    @staticmethod
    def fit(gradient: Tensor, shape: torch.Size) -> Tensor:
        return gradient if gradient.shape == shape else gradient.sum(0, keepdim=True)


class sums_over_the_last_axis(_Fitted):
    @staticmethod
    def fit(gradient: Tensor, shape: torch.Size) -> Tensor:
        return gradient if gradient.shape == shape else gradient.sum(-1, keepdim=True)


class reshapes_the_gradient(_Fitted):
    @staticmethod
    def fit(gradient: Tensor, shape: torch.Size) -> Tensor:
        return gradient.reshape(shape)


class squeezes_the_sum(_Fitted):
    @staticmethod
    def fit(gradient: Tensor, shape: torch.Size) -> Tensor:
        return gradient.sum_to_size(shape).squeeze()


class counts_axes_from_the_left(_Fitted):
    @staticmethod
    def fit(gradient: Tensor, shape: torch.Size) -> Tensor:
        for axis, length in enumerate(shape):
            gradient = gradient.sum(axis, keepdim=True) if length == 1 else gradient
        return gradient
