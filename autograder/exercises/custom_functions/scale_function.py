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

from .common import STATE_OUTSIDE_CTX, Function, apply, error_text, gradients, result_or_error, same_numbers


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
        x, h, y = scaled()
        error = error_text(lambda: gradients(y, [x], case.grad_output.clone()))
    found = {"through the result": by_result, "through the input": by_input, "grad_output unchanged": unchanged}
    return {"in_place": same, "gradients": found, "error": error}


@scale_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    x = signed(rng, 2, 3)
    x[0, 1] = 0.0
    yield Case(x=x, factor=3.0, grad_output=signed(rng, 2, 3))
    yield Case(x=signed(rng, 4).float(), factor=-0.25, grad_output=signed(rng, 4).float())


class _Scale(Function):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.factor, None


@scale_function.mistake(
    en="`mark_dirty` was not called. Autograd takes the result for a new tensor, and if the input is used further, its "
    "gradient does not account for the multiplication.",
    ru="Не вызван `mark_dirty`. Autograd считает результат новым тензором, и если дальше используют вход, получается "
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
    en="The input was changed, but something else was returned, a copy or nothing. A tensor marked dirty has to be "
    "returned.",
    ru="Вход изменён, но возвращается что-то другое: копия или ничего. Отмеченный тензор нужно вернуть.",
)
class returns_a_copy(_Scale):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor).clone()


@scale_function.mistake(
    en="`backward` returns one entry. `apply` has two arguments, and None belongs to the number.",
    ru="Метод `backward` возвращает одно значение. Но аргументов у `apply` два, и числу соответствует None.",
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
    en="`backward` multiplies in place and so changes `grad_output`, a tensor that belongs to the caller.",
    ru="В `backward` умножение выполнено на месте, и тем самым изменён `grad_output`, а это чужой тензор.",
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
    en="`backward` returns its two entries in the wrong order: that of `x`, the first argument of `apply`, stands "
    "first.",
    ru="Метод `backward` возвращает два значения не в том порядке: первым должен стоять градиент по `x`, первому "
    "аргументу `apply`.",
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
