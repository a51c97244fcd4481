"""Extra exercise: a custom Function that reverses its gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import (
    EACH_CALL,
    EDITS_GRAD_OUTPUT,
    NOT_NONE_FOR_THE_NUMBER,
    ONE_ENTRY,
    SAVES_A_NUMBER,
    STATE_OUTSIDE_CTX,
    Function,
    apply,
    gradients,
    observe_state,
    result_or_error,
    same_numbers,
)


@exercise(
    title=Text("Gradient reversal", "Обращение градиента"),
    kind="complete",
    asks="Reverse",
    asks_for="class",
    difficulty=2,
    minutes=8,
    aspects=[
        EACH_CALL,
        aspect(
            "reversed",
            2,
            en="The value is that of `x`, the gradient of `x` is `grad_output` times `-factor`, and `grad_output` itself "
            "stays as it was.",
            ru="Значение то же, что у `x`, градиент по `x` равен `grad_output`, умноженному на `-factor`, а сам тензор "
            "`grad_output` не меняется.",
        ),
        aspect(
            "result_edited",
            1,
            en="The result can be changed in place, and `x` does not change with it.",
            ru="Результат можно изменить на месте, и на `x` это не влияет.",
        ),
    ],
    hints=[
        Text(
            "`apply` gets two arguments. How many entries does `backward` return, and which of them is no gradient?",
            "`apply` получает два аргумента. Сколько значений возвращает `backward`, и какое из них — не градиент?",
        ),
        Text(
            "A number goes onto `ctx` as an attribute. An input returned as it is becomes a view, and torch refuses to "
            "change that in place; a copy is no view.",
            "Число записывают в атрибут `ctx`. Вход, возвращённый как есть, становится представлением, и менять его на "
            "месте torch не даёт; копия — не представление.",
        ),
        Text(
            "ctx.factor = factor\nreturn x.clone()\n\nreturn ..., None",
            "ctx.factor = factor\nreturn x.clone()\n\nreturn ..., None",
        ),
    ],
)
def reverse_function(answer: Any, case: Case) -> dict[str, object]:
    x, v = case.x.clone().requires_grad_(), case.grad_output.clone()
    with using_answer():
        each = observe_state(answer.Reverse, x, case.factor, v=v)
        y = apply(answer.Reverse, x, case.factor)
        found = {"value": y, "gradient": gradients(y, [x], v)[0]}
        found["grad_output unchanged"] = same_numbers(v, case.grad_output)
        result = after_change = None
        if isinstance(y, Tensor):
            h = case.x.clone().requires_grad_().neg()
            again = apply(answer.Reverse, h, case.factor)
            result = result_or_error(lambda: again.mul_(3))
            after_change = h
    return {"each_call": each, "reversed": found, "result_edited": {"result": result, "x": after_change}}


@reverse_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 2, 3), factor=0.25, grad_output=signed(rng, 3, 2).T)
    yield Case(x=signed(rng, 4).float(), factor=-3, grad_output=signed(rng, 4).float())


class _Reverse(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.clone()


@reverse_function.mistake(
    *ONE_ENTRY,
)
class one_entry(_Reverse):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -ctx.factor * grad_output


@reverse_function.mistake(*STATE_OUTSIDE_CTX)
class factor_on_the_class(Function):
    factor: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        factor_on_the_class.factor = factor
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -factor_on_the_class.factor * grad_output, None


@reverse_function.mistake(
    en="The sign of `factor` was dropped. With a negative `factor`, `-factor` is positive.",
    ru="У числа `factor` отброшен знак. При отрицательном `factor` число `-factor` положительно.",
)
class drops_the_sign(_Reverse):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -abs(ctx.factor) * grad_output, None


@reverse_function.mistake(
    en="`-factor` alone was returned. It has to be multiplied by `grad_output`.",
    ru="Возвращается только число `-factor`. Его нужно умножить на `grad_output`.",
)
class factor_alone(_Reverse):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.full_like(grad_output, -ctx.factor), None


@reverse_function.mistake(
    en="The minus is missing: the gradient was scaled, not reversed.",
    ru="Не хватает минуса: градиент умножен на число, но не обращён.",
)
class only_scales(_Reverse):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return ctx.factor * grad_output, None


@reverse_function.mistake(
    en="`factor` was not used: the gradient was reversed, but not scaled.",
    ru="Число `factor` не использовано: знак градиента изменён, но на это число он не умножен.",
)
class ignores_the_factor(_Reverse):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -grad_output, None


@reverse_function.mistake(
    *EDITS_GRAD_OUTPUT,
)
class reverses_in_place(_Reverse):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.mul_(-ctx.factor), None


@reverse_function.mistake(
    en="The value was reversed too. Only the gradient should be; the value passes unchanged.",
    ru="Знак изменён и у значения. Обратить нужно только градиент, а значение проходит без изменений.",
)
class reverses_the_value(_Reverse):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return -factor * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -ctx.factor * grad_output, None


@reverse_function.mistake(*reverse_function.mistakes["reverses_the_value"].says)
class changes_the_sign_of_the_value(reverses_the_value):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return -x


@reverse_function.mistake(
    en="`forward` returns `x` itself, or a view of it. The result is then a view made inside a custom Function, and "
    "torch refuses to change it in place.",
    ru="Метод `forward` возвращает сам `x` или его представление. Результат — представление, созданное внутри "
    "пользовательской функции, и менять его на месте torch не даёт.",
)
class returns_the_input(_Reverse):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -ctx.factor * grad_output, None


@reverse_function.mistake(
    en="`forward` returns a detached tensor with the memory of `x`: a change of the result is a change of `x`.",
    ru="Метод `forward` возвращает отсоединённый тензор в той же памяти, что и `x`: изменение результата меняет и `x`.",
)
class returns_detached(_Reverse):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.detach()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -ctx.factor * grad_output, None


@reverse_function.mistake(
    *NOT_NONE_FOR_THE_NUMBER,
)
class reverse_in_wrong_order(_Reverse):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return None, -ctx.factor * grad_output


@reverse_function.mistake(*SAVES_A_NUMBER)
class reverse_saves_a_number(_Reverse):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.save_for_backward(factor)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (factor,) = ctx.saved_tensors
        return -factor * grad_output, None


@reverse_function.mistake(
    en="`mark_dirty` says that `forward` changes `x` in place. It does not: `x` has to stay as it is.",
    ru="Вызов `mark_dirty` сообщает, что `forward` меняет `x` на месте. Но `x` должен остаться прежним.",
)
class marks_dirty(_Reverse):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -ctx.factor * grad_output, None
