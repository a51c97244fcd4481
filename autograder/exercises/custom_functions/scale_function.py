"""Extra exercise: a custom Function that changes its input in place."""

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
    EDITS_GRAD_OUTPUT,
    NOT_NONE_FOR_THE_NUMBER,
    ONE_ENTRY,
    SAVES_A_NUMBER,
    STATE_OUTSIDE_CTX,
    Function,
    apply,
    gradients,
    result_or_error,
    same_numbers,
)


@exercise(
    title=Text("In place, and said so", "Изменение на месте, о котором autograd знает"),
    kind="complete",
    asks="ScaleInPlace",
    asks_for="class",
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "in_place",
            1,
            en="What comes back is the tensor that was handed in, its numbers multiplied by `factor` in place.",
            ru="Возвращается тот самый тензор, который передали; его числа умножены на `factor` на месте.",
        ),
        aspect(
            "gradients",
            2,
            en="Gradients are right whichever name is used afterwards, that of the result or that of the input, and "
            "`backward` leaves `grad_output` as it was.",
            ru="Градиенты верны, какое бы из двух имён ни использовали дальше, имя результата или имя входа; метод "
            "`backward` не меняет `grad_output`.",
        ),
    ],
    hints=[
        Text(
            "How should autograd know that `forward` has changed its input?",
            "Откуда autograd узнает, что `forward` изменил свой вход?",
        ),
        Text(
            "`ctx.mark_dirty(x)` says so. A marked input has to be returned, and it is then the same tensor before and "
            "after.",
            "Об этом сообщает `ctx.mark_dirty(x)`. Отмеченный вход нужно вернуть, тогда вход и результат — один и "
            "тот же тензор.",
        ),
        Text(
            "ctx.factor = factor\nctx.mark_dirty(x)\nreturn x...\n\nreturn ..., None",
            "ctx.factor = factor\nctx.mark_dirty(x)\nreturn x...\n\nreturn ..., None",
        ),
    ],
)
def scale_function(answer: Any, case: Case) -> dict[str, object]:
    def scaled() -> tuple[Tensor, Tensor, Any]:
        x = case.x.clone().requires_grad_()
        h = x.neg()
        y = apply(answer.ScaleInPlace, h, case.factor)
        apply(answer.ScaleInPlace, (1 - case.x).requires_grad_().neg(), case.factor + 1)
        return x, h, y

    with using_answer():
        x, h, y = scaled()
        same = {"result is the input": y is h, "input": h.detach().clone(), "result": y}
        v = case.grad_output.clone()
        by_result = result_or_error(lambda: gradients(y, [x], v)[0])
        unchanged = same_numbers(v, case.grad_output)
        x, h, y = scaled()
        by_input = result_or_error(lambda: gradients(h, [x], case.grad_output.clone())[0])
    found = {"through the result": by_result, "through the input": by_input, "grad_output unchanged": unchanged}
    return {"in_place": same, "gradients": found}


@scale_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    x = signed(rng, 2, 3)
    x[0, 1] = 0.0
    yield Case(x=x, factor=3.0, grad_output=signed(rng, 3, 2).T)
    yield Case(x=signed(rng, 4).float(), factor=-0.25, grad_output=signed(rng, 4).float())


class _Scale(Function):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.factor, None


@scale_function.mistake(
    en="`forward` does not call `mark_dirty`. Autograd takes the result for a new tensor, and if the input is used further, its "
    "gradient does not account for the multiplication.",
    ru="В `forward` не вызван `mark_dirty`. Autograd считает результат новым тензором, и если дальше используют вход, получается "
    "градиент, в котором умножение не учтено.",
)
class says_nothing(_Scale):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.mul_(factor)


@scale_function.mistake(*STATE_OUTSIDE_CTX)
class scale_on_the_class(Function):
    factor: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        scale_on_the_class.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * scale_on_the_class.factor, None


@scale_function.mistake(
    en="A new tensor was computed. The input itself was to be changed and returned.",
    ru="Вычислен новый тензор. Изменить и вернуть нужно было сам вход.",
)
class out_of_place(_Scale):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x * factor


@scale_function.mistake(
    en="The input was marked dirty, but something else was returned, such as a new tensor, a copy, or nothing. What is "
    "marked has to be changed in place and returned.",
    ru="Вход отмечен как изменённый, но возвращается что-то другое, например новый тензор, копия или ничего. Отмеченный "
    "тензор нужно изменить на месте и вернуть.",
)
class returns_a_copy(_Scale):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor).clone()


@scale_function.mistake(
    *ONE_ENTRY,
)
class one_entry_for_two(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.factor


@scale_function.mistake(
    *EDITS_GRAD_OUTPUT,
)
class scales_grad_output(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.mul_(ctx.factor), None


@scale_function.mistake(
    en="`factor` is missing in `backward`: the gradient passes unscaled.",
    ru="В `backward` не хватает множителя `factor`: градиент проходит без умножения.",
)
class passes_unscaled(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.clone(), None


@scale_function.mistake(
    *NOT_NONE_FOR_THE_NUMBER,
)
class entries_in_wrong_order(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return None, grad_output * ctx.factor


@scale_function.mistake(
    en="The factor is computed back as the quotient of the new and the old numbers: where `x` is 0 that is 0/0, NaN.",
    ru="Множитель вычислен как частное новых и старых чисел: там, где `x` равен 0, это 0/0, то есть NaN.",
)
class divides_new_by_old(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.mark_dirty(x)
        old = x.clone()
        x.mul_(factor)
        ctx.save_for_backward(x / old)
        return x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0], None


@scale_function.mistake(
    en="The gradient is divided by `factor` in `backward`. The derivative of `factor * x` is `factor`, on the way back "
    "as well.",
    ru="В `backward` градиент делится на `factor`. Производная `factor * x` равна `factor`, и на обратном проходе "
    "тоже.",
)
class divides_the_gradient(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output / ctx.factor, None


class _MarkedScale(_Scale):
    """A right Function.

    The last mistakes are subclasses of this class.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Any:
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)


@scale_function.mistake(*SAVES_A_NUMBER)
class scale_saves_a_number(_Scale):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.save_for_backward(factor)
        ctx.mark_dirty(x)
        return x.mul_(factor)


@scale_function.mistake(
    en="The numbers were multiplied by `factor` twice.",
    ru="Числа умножены на `factor` дважды.",
)
class scales_twice(_MarkedScale):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Any:
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor).mul_(factor)


@scale_function.mistake(
    en="`forward` returns a tuple with the tensor in it. The tensor itself has to be returned.",
    ru="Метод `forward` возвращает кортеж, в котором лежит тензор. Вернуть нужно сам тензор.",
)
class returns_a_tuple(_MarkedScale):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Any:
        return (_MarkedScale.forward(ctx, x, factor),)


@scale_function.mistake(
    en="The result was marked as not differentiable. Then it has no gradient.",
    ru="Результат отмечен как недифференцируемый. Тогда у него нет градиента.",
)
class marks_non_differentiable(_MarkedScale):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Any:
        ctx.mark_non_differentiable(x)
        return _MarkedScale.forward(ctx, x, factor)
