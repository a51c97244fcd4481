"""Core exercise: the gradient of ReLU at zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.language import Text

from .common import EACH_CALL, OVERWRITES_INPUT, STATE_OUTSIDE_CTX, Function, observe_first


@exercise(
    title=Text("A ReLU like torch's", "ReLU как в torch"),
    kind="find the bug",
    asks="ReLU",
    asks_for="class",
    core=True,
    difficulty=1,
    minutes=7,
    aspects=[
        EACH_CALL,
        aspect(
            "derivative",
            2,
            en="Value and gradient agree with those of `torch.relu` for every number, 0 among them, and for every "
            "`grad_output`.",
            ru="Значение и градиент те же, что у `torch.relu`, при любых числах, в том числе в нуле, и при любом "
            "`grad_output`.",
        ),
        aspect(
            "grad_output_after",
            1,
            en="`backward` leaves the tensor `grad_output` as it was.",
            ru="Метод `backward` не меняет тензор `grad_output`.",
        ),
    ],
    hints=[
        Text(
            "For which numbers do this class and `torch.relu` disagree? Random inputs hardly ever contain that one.",
            "На каком числе этот класс и `torch.relu` расходятся? Среди случайных входов такого числа почти не бывает.",
        ),
        Text(
            "Compare both on `torch.tensor([-1.0, 0.0, 2.0])`. The missing `@` is a slip, and it changes nothing.",
            "Сравните обе функции на `torch.tensor([-1.0, 0.0, 2.0])`. Пропущенный `@` — описка, она ни на что не "
            "влияет.",
        ),
        Text(
            "grad_input = grad_output.clone()\ngrad_input[input ... 0] = 0\nreturn grad_input",
            "grad_input = grad_output.clone()\ngrad_input[input ... 0] = 0\nreturn grad_input",
        ),
    ],
)
def fix_relu(answer: Any, case: Case) -> dict[str, object]:
    return observe_first(answer.ReLU, case, "derivative")


@fix_relu.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    x = signed(rng, 3, 4)
    x[1, 2] = x[2, 0] = 0.0
    x[0, 0], x[0, 1] = 1.5, -1.5
    v = signed(rng, 4, 3).T
    x[2, 1:] = torch.tensor([100.0, 1e-30, -1e-30])
    # the sign of `x` does not determine the sign of its gradient
    v[0, 0], v[0, 1], v[1, 2], v[2, 0] = -0.75, 1.25, 1.75, -1.5
    yield Case(x=x, grad_output=v)
    yield Case(x=torch.tensor([0.0, -2.0, 0.5]), grad_output=signed(rng, 3).float())
    yield Case(x=torch.tensor(0.0, dtype=torch.float64), grad_output=signed(rng))


@fix_relu.mistake(
    en="At 0 the gradient still passes, as it did in the given code. A missing `@staticmethod` is not the reason: "
    "`apply` works without it.",
    ru="В нуле градиент по-прежнему проходит, как и в исходном коде. Пропущенный `@staticmethod` ни при чём: `apply` "
    "работает и без него.",
)
class passes_at_zero(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


@fix_relu.mistake(
    en="The derivative at 0 is one half, the mean of both sides. `torch.maximum` has that derivative; `torch.relu` "
    "does not.",
    ru="Производная в нуле здесь равна 1/2, то есть среднему двух односторонних производных. Так поступает "
    "`torch.maximum`, но не `torch.relu`.",
)
class half_at_zero(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (input,) = ctx.saved_tensors
        return grad_output * (torch.sign(input) + 1) / 2


@fix_relu.mistake(
    en="The gradient was set to 0 where it is negative. The sign of the *input* decides, not that of `grad_output`.",
    ru="Обнулён отрицательный градиент. Но решает знак *входа*, а не знак `grad_output`.",
)
class clips_grad_output(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.clamp(min=0)


@fix_relu.mistake(*OVERWRITES_INPUT)
class relu_in_place(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp_(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0] > 0)


@fix_relu.mistake(*STATE_OUTSIDE_CTX)
class mask_on_the_class(Function):
    mask: Any = None

    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        mask_on_the_class.mask = input > 0
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * mask_on_the_class.mask


@fix_relu.mistake(
    en="Large numbers are cut off at 6, as `relu6` does. `torch.relu` has no upper bound.",
    ru="Большие числа обрезаны на 6, как в `relu6`. У `torch.relu` верхней границы нет.",
)
class cut_at_six(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(0, 6)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0] > 0)


@fix_relu.mistake(*fix_relu.mistakes["cut_at_six"].says)
class cut_at_six_both_ways(cut_at_six):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (input,) = ctx.saved_tensors
        return grad_output * ((input > 0) & (input < 6))


@fix_relu.mistake(
    en="`backward` returns the mask alone, 0 and 1. It has to be multiplied by `grad_output`.",
    ru="Метод `backward` возвращает только маску из нулей и единиц. Её нужно умножить на `grad_output`.",
)
class mask_alone(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (input,) = ctx.saved_tensors
        return (input > 0).to(input.dtype)


@fix_relu.mistake(
    en="The mask is the wrong way round: the gradient passes where the input is negative or 0.",
    ru="Маска перевёрнута: градиент проходит там, где вход отрицателен или равен 0.",
)
class mask_reversed(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (input,) = ctx.saved_tensors
        return grad_output * (input <= 0)


@fix_relu.mistake(
    en="Only 0 itself loses its gradient now. Negative inputs must have none either.",
    ru="Градиент обнуляется только в самом нуле. У отрицательных входов его тоже не должно быть.",
)
class only_zero(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input == 0] = 0
        return grad_input


@fix_relu.mistake(
    en="The zeros were written into `grad_output` itself, without the `clone()`. That tensor belongs to the caller.",
    ru="Нули записаны прямо в `grad_output`, без копии через `clone()`. Это чужой тензор.",
)
class drops_the_clone(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (input,) = ctx.saved_tensors
        grad_output[input <= 0] = 0
        return grad_output


@fix_relu.mistake(
    en="Small positive numbers count as 0: they get no gradient. With `torch.relu` every positive number passes its "
    "gradient on, however small.",
    ru="Малые положительные числа приняты за 0: градиента у них нет. У `torch.relu` градиент проходит при любом "
    "положительном числе, даже самом малом.",
)
class draws_the_border_above_zero(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0] > 1e-6)


@fix_relu.mistake(
    en="The slope is computed as the quotient of result and input: at 0 that is 0/0, NaN.",
    ru="Наклон вычислен как частное результата и входа: в нуле это 0/0, то есть NaN.",
)
class divides_result_by_input(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (input,) = ctx.saved_tensors
        return grad_output * (input.clamp(min=0) / input)


class _ReLU(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)


@fix_relu.mistake(
    en="The gradient passes everywhere: either `grad_output` itself is returned, or the mask leaves nothing out, as "
    "`>= 0` does when it looks at the result.",
    ru="Градиент проходит всюду: либо возвращается сам `grad_output`, либо маска ничего не отсекает, как `>= 0`, если "
    "применить её к результату.",
)
class relu_passes_everywhere(_ReLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.clone()


@fix_relu.mistake(
    en="The mask is the wrong way round: the gradient passes where the input is negative.",
    ru="Маска перевёрнута: градиент проходит там, где вход отрицателен.",
)
class relu_mask_inverted(_ReLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0] < 0)


@fix_relu.mistake(
    en="Where the input is negative, `grad_output` comes back with a minus. `torch.relu` gives 0 there.",
    ru="Там, где вход отрицателен, `grad_output` возвращается с минусом. Функция `torch.relu` даёт там 0.",
)
class relu_by_sign(_ReLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0].sign()
