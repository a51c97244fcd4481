"""Extra exercise: a backward pass that changes its incoming gradient in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import (
    EACH_CALL,
    ONE_ENTRY,
    OVERWRITES_INPUT,
    STATE_OUTSIDE_CTX,
    Function,
    apply,
    apply_custom,
    gradients,
    observe_state,
)


@exercise(
    title=Text("The neighbour's gradient", "Градиент соседней операции"),
    kind="find the bug",
    asks="Leaky",
    asks_for="class",
    difficulty=2,
    minutes=7,
    aspects=[
        EACH_CALL,
        aspect(
            "derivative",
            1,
            en="Value and gradient are those of `leaky_relu`.",
            ru="Значение и градиент те же, что у `leaky_relu`.",
        ),
        aspect(
            "others",
            2,
            en="`grad_output` holds the same numbers after `backward`, and so another operation that gets the same tensor computes a right "
            "gradient.",
            ru="После `backward` в `grad_output` те же числа, и другая операция, получившая тот же тензор, "
            "вычисляет верный градиент.",
        ),
    ],
    hints=[
        Text(
            "Which tensor does the line with `*=` change, and which other operations read it?",
            "Какой тензор меняется в строке с `*=` и какие ещё операции его читают?",
        ),
        Text(
            "`g = grad_output` and `grad_output.detach()` are the same memory under another name. A new tensor comes "
            "from `clone()`, `torch.where` or a multiplication.",
            "`g = grad_output` и `grad_output.detach()` — та же память под другим именем. Новый тензор дают `clone()`, "
            "`torch.where` и умножение.",
        ),
        Text(
            "grad_input = ...  # a tensor of your own\ngrad_input[x < 0] *= ctx.slope\nreturn grad_input, None",
            "grad_input = ...  # собственный тензор\ngrad_input[x < 0] *= ctx.slope\nreturn grad_input, None",
        ),
    ],
)
def leaky_function(answer: Any, case: Case) -> dict[str, object]:
    x, v = case.x.clone().requires_grad_(), case.grad_output.clone()
    neighbour = case.neighbour.clone().requires_grad_()
    with using_answer():
        each = observe_state(answer.Leaky, x, case.slope, v=v)
        y = apply_custom(answer.Leaky, x, case.slope)
        first = {"value": y, "gradient": gradients(y, [x], v)[0]}
        # The newest node runs first and gets the same tensor as `exp` after it. Without `x` in the list of inputs,
        # autograd would skip the node.
        both = neighbour.exp() + apply(answer.Leaky, x, case.slope)
        beside = gradients(both, [neighbour, x], case.grad_output.clone())[0]
    return {"each_call": each, "derivative": first, "others": {"grad_output": v, "neighbour.grad": beside}}


@leaky_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    x = signed(rng, 2, 3)
    x[0, 0], x[1, 2] = -1.5, 0.75
    yield Case(x=x, slope=0.25, neighbour=uniform(rng, 2, 3), grad_output=signed(rng, 2, 3))
    x = torch.tensor([-0.5, 2.0, -3.0, 1.0])
    yield Case(x=x, slope=0.0, neighbour=uniform(rng, 4).float(), grad_output=signed(rng, 4).float())
    yield Case(x=x, slope=1.5, neighbour=uniform(rng, 4).float(), grad_output=signed(rng, 4).float())


class _Leaky(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x < 0, slope * x, x)


@leaky_function.mistake(*STATE_OUTSIDE_CTX)
class slope_on_the_class(Function):
    slope: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float) -> Tensor:
        ctx.save_for_backward(x)
        slope_on_the_class.slope = slope
        return torch.where(x < 0, slope * x, x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.where(ctx.saved_tensors[0] < 0, grad_output * slope_on_the_class.slope, grad_output), None


@leaky_function.mistake(*OVERWRITES_INPUT)
class leaky_in_place(_Leaky):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float) -> Tensor:
        ctx.negative, ctx.slope = x < 0, slope
        return x.mul_(torch.where(ctx.negative, slope, 1.0))

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.where(ctx.negative, grad_output * ctx.slope, grad_output), None


@leaky_function.mistake(
    en="`grad_output` is still what is changed: before it is copied, or under another name. Another variable, "
    "`detach()`, a view or `contiguous()` gives no new memory.",
    ru="Меняется по-прежнему сам `grad_output`: до копирования или под другим именем. Другая переменная, `detach()`, "
    "представление и `contiguous()` не дают новой памяти.",
)
class another_name(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        grad_input = grad_output.detach()
        grad_input[ctx.saved_tensors[0] < 0] *= ctx.slope
        return grad_input, None


@leaky_function.mistake(
    en="`grad_output` was changed and divided back afterwards. With a `slope` of 0 that is 0/0.",
    ru="Тензор `grad_output` сначала изменён, а потом восстановлен делением. При `slope`, равном 0, это 0/0.",
)
class divides_back(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        negative = ctx.saved_tensors[0] < 0
        grad_output[negative] *= ctx.slope
        grad_input = grad_output.clone()
        grad_output[negative] /= ctx.slope
        return grad_input, None


@leaky_function.mistake(
    en="The gradient comes back unscaled: what was multiplied by `slope` is another tensor. `grad_input[x < 0]` on its "
    "own is a copy, too.",
    ru="Градиент возвращается без умножения: на `slope` умножен другой тензор. Отдельно взятый `grad_input[x < 0]` — "
    "тоже копия.",
)
class returns_the_original(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        grad_input = grad_output.clone()
        grad_input[ctx.saved_tensors[0] < 0] *= ctx.slope
        return grad_output, None


@leaky_function.mistake(
    en="A copy was made and returned, but it is the original that was multiplied.",
    ru="Копия создана и возвращается, но умножен исходный тензор.",
)
class edits_the_original(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        grad_input = grad_output.clone()
        grad_output[ctx.saved_tensors[0] < 0] *= ctx.slope
        return grad_input, None


@leaky_function.mistake(
    en="The copy is multiplied by `slope` everywhere, for positive inputs as well.",
    ru="Копия умножена на `slope` всюду, в том числе там, где вход положителен.",
)
class scales_everywhere(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return ctx.slope * grad_output, None


@leaky_function.mistake(
    en="`slope` is applied on the wrong side: where the input is positive.",
    ru="Множитель `slope` применён не с той стороны: там, где вход положителен.",
)
class wrong_side(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.where(ctx.saved_tensors[0] > 0, grad_output * ctx.slope, grad_output), None


@leaky_function.mistake(
    en="`grad_output` was multiplied by the mask: where the input is negative, 0 comes out instead of `slope`.",
    ru="Тензор `grad_output` умножен на маску: у отрицательных входов получается 0 вместо `slope`.",
)
class mask_instead_of_slope(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0] >= 0), None


@leaky_function.mistake(
    en="Where the input is negative, `slope` itself stands in the gradient. It has to be multiplied by `grad_output`.",
    ru="Там, где вход отрицателен, в градиенте стоит само число `slope`. Его нужно умножить на `grad_output`.",
)
class writes_the_slope(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.where(ctx.saved_tensors[0] < 0, ctx.slope, grad_output), None


@leaky_function.mistake(
    en="`backward` returns the derivative alone, `slope` and 1. It has to be multiplied by `grad_output`.",
    ru="Метод `backward` возвращает только производную: `slope` и 1. Её нужно умножить на `grad_output`.",
)
class slopes_alone(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return torch.where(x < 0, torch.full_like(x, ctx.slope), torch.ones_like(x)), None


@leaky_function.mistake(*ONE_ENTRY)
class one_entry(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.where(ctx.saved_tensors[0] < 0, ctx.slope * grad_output, grad_output)


@leaky_function.mistake(
    en="`backward` uses 0.25, whatever `slope` came in with the call.",
    ru="В `backward` стоит число 0.25, какой бы `slope` ни передали при вызове.",
)
class slope_by_heart(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.where(ctx.saved_tensors[0] < 0, 0.25 * grad_output, grad_output), None


@leaky_function.mistake(
    en="`forward` takes the larger of `x` and `slope * x`. That is the function only if `slope` is at most 1.",
    ru="Метод `forward` берёт большее из `x` и `slope * x`. Это та же функция, только если `slope` не больше 1.",
)
class takes_the_larger(_Leaky):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.maximum(x, slope * x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.where(ctx.saved_tensors[0] < 0, ctx.slope * grad_output, grad_output), None
