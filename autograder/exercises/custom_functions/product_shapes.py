"""Mistakes of `product_function` in the shapes of the gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .product_function import RightForward, product_function


@product_function.mistake(
    en="The gradient of a stretched input is the mean over the stretched axis. The paths join there, so it is the sum.",
    ru="Градиент растянутого входа усреднён по растянутой оси. Пути там сходятся, поэтому нужна сумма.",
)
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


@product_function.mistake(
    en="The gradient of an input of shape `()` is the mean. The input meets every entry, so it is the sum.",
    ru="Градиент входа формы `()` — среднее. Такой вход участвует в каждом элементе, поэтому нужна сумма.",
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


@product_function.mistake(
    en="Where the shapes differ, the gradient is summed over axis 0. The stretched axis may be another one, as for "
    "`(4, 3)` and `(4, 1)`.",
    ru="Если формы различаются, градиент просуммирован по оси 0. Растянутой может быть и другая ось, как для `(4, 3)` "
    "и `(4, 1)`.",
)
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


@product_function.mistake(
    en="The gradient of `b` is summed over axis 0 even if no axis was stretched.",
    ru="Градиент по `b` просуммирован по оси 0, даже если при транслировании ни одна ось не расширена.",
)
class always_sums_over_axis_0(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return grad_output * b if needs[0] else None, (grad_output * a).sum(0) if needs[1] else None


class _Fitted(RightForward):
    """A product that fits each gradient to the shape of its input by `fit`."""

    @staticmethod
    def fit(gradient: Tensor, shape: torch.Size) -> Tensor:
        raise NotImplementedError

    @classmethod
    def backward(cls, ctx: Any, grad_output: Tensor) -> Any:
        (a, b), needs = ctx.saved_tensors, ctx.needs_input_grad
        for_a = cls.fit(grad_output * b, a.shape) if needs[0] else None
        return for_a, cls.fit(grad_output * a, b.shape) if needs[1] else None


@product_function.mistake(*product_function.mistakes["sums_over_axis_0"].says)
class sums_over_axis_0_with_keepdim(_Fitted):
    @staticmethod
    def fit(gradient: Tensor, shape: torch.Size) -> Tensor:
        return gradient if gradient.shape == shape else gradient.sum(0, keepdim=True)


@product_function.mistake(
    en="Where the shapes differ, the gradient is summed over the last axis. The stretched axis may be another one, as "
    "for `(4, 3)` and `(3,)`.",
    ru="Если формы различаются, градиент просуммирован по последней оси. Растянутой может быть и другая ось, как для "
    "`(4, 3)` и `(3,)`.",
)
class sums_over_the_last_axis(_Fitted):
    @staticmethod
    def fit(gradient: Tensor, shape: torch.Size) -> Tensor:
        return gradient if gradient.shape == shape else gradient.sum(-1, keepdim=True)


@product_function.mistake(
    en="The gradient of a stretched input is only given another shape. It has too many entries and has to be summed.",
    ru="Градиенту растянутого входа лишь придана другая форма. Элементов в нём слишком много, их нужно сложить.",
)
class reshapes_the_gradient(_Fitted):
    @staticmethod
    def fit(gradient: Tensor, shape: torch.Size) -> Tensor:
        return gradient.reshape(shape)


@product_function.mistake(
    en="`squeeze` also removes axes of length 1 that belong to the input. Its gradient has to keep them.",
    ru="Метод `squeeze` удаляет и те оси длины 1, которые есть у входа. В его градиенте они должны остаться.",
)
class squeezes_the_sum(_Fitted):
    @staticmethod
    def fit(gradient: Tensor, shape: torch.Size) -> Tensor:
        return gradient.sum_to_size(shape).squeeze()


@product_function.mistake(
    en="The axes of the input are counted from the left. Broadcasting aligns shapes at their last axes.",
    ru="Оси входа отсчитаны слева. При транслировании формы выравниваются по последним осям.",
)
class counts_axes_from_the_left(_Fitted):
    @staticmethod
    def fit(gradient: Tensor, shape: torch.Size) -> Tensor:
        for axis, length in enumerate(shape):
            gradient = gradient.sum(axis, keepdim=True) if length == 1 else gradient
        return gradient
