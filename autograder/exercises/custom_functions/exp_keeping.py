"""Mistakes of `exp_function` in what is kept for the backward pass."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .common import SAVES_NOTHING, STATE_OUTSIDE_CTX, Function
from .exp_function import RightExp, exp_function


@exp_function.mistake(
    en="The input is saved and the exponential computed a second time. That keeps the input alive next to the result: "
    "twice the bytes.",
    ru="Сохраняется вход, а экспонента вычисляется второй раз. Поэтому рядом с результатом в памяти остаётся и вход: "
    "байтов вдвое больше.",
)
class saves_the_input(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0].exp()


@exp_function.mistake(
    en="The input is kept, in an attribute of `ctx` or as `.data`, and the exponential computed a second time. The "
    "input stays alive next to the result: twice the bytes.",
    ru="Вход хранится в атрибуте `ctx` или как `.data`, а экспонента вычисляется второй раз. Рядом с результатом в "
    "памяти остаётся и вход: байтов вдвое больше.",
)
class input_as_attribute(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        return x.exp()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.x.exp()


@exp_function.mistake(*STATE_OUTSIDE_CTX)
class kept_on_the_class(Function):
    kept: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        kept_on_the_class.kept = x.exp()
        return kept_on_the_class.kept  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * kept_on_the_class.kept


@exp_function.mistake(
    en="Both the input and the result are kept, although one of them is enough.",
    ru="Хранятся и вход, и результат, хотя достаточно одного из них.",
)
class saves_both(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[1]


@exp_function.mistake(*exp_function.mistakes["saves_both"].says)
class keeps_both(RightExp):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.x = x
        ctx.save_for_backward(y)
        return y


@exp_function.mistake(
    en="What is kept is neither the input nor the tensor that is returned, but a copy or a second computation of one "
    "of them: one more tensor of that size, and no change of the result reaches it.",
    ru="Хранится не вход и не возвращаемый тензор, а копия одного из них или заново вычисленное значение. Это ещё один "
    "тензор того же размера, и изменения результата до него не доходят.",
)
class keeps_a_copy(RightExp):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y.clone())
        return y


@exp_function.mistake(
    en="The result is kept where autograd does not check it, such as in an attribute of `ctx` or as `.data`. When it is "
    "changed in place, a wrong gradient comes out without an error.",
    ru="Результат хранится там, где autograd его не проверяет, например в атрибуте `ctx` или как `.data`. Если его "
    "изменили на месте, градиент получится неверным, а ошибки не будет.",
)
class attribute_of_ctx(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.y = x.exp()
        return ctx.y  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.y


@exp_function.mistake(*SAVES_NOTHING)
class saves_nothing(RightExp):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.exp()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (y,) = ctx.saved_tensors
        return grad_output * y


@exp_function.mistake(
    en="`backward` writes its product into the saved tensor. That is the result, which the caller still holds.",
    ru="В `backward` произведение записано в сохранённый тензор. Это сам результат, и он ещё нужен вызывающему коду.",
)
class writes_into_the_result(RightExp):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return ctx.saved_tensors[0].mul_(grad_output)
