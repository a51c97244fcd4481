"""Extra exercise: a sign function with a surrogate gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.language import Text

from .common import EACH_CALL, NEEDS_RESHAPE, OVERWRITES_INPUT, STATE_OUTSIDE_CTX, Function, observe_first


@exercise(
    title=Text("A sign that lets the gradient through", "Знак, который пропускает градиент"),
    kind="complete",
    asks="Sign",
    asks_for="class",
    difficulty=1,
    minutes=6,
    aspects=[
        EACH_CALL,
        aspect(
            "surrogate",
            2,
            en="The value is the sign, and the gradient is `grad_output` where `x` lies in [−1, 1] and 0 elsewhere.",
            ru="Значение — знак числа, а градиент равен `grad_output` там, где `x` лежит на отрезке [−1, 1], а в "
            "остальных точках — нулю.",
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
            "The derivative of the sign is 0. What does the text say stands in its place, and for which `x`?",
            "Производная знака равна 0. Что, по условию, стоит вместо неё и при каких `x`?",
        ),
        Text(
            "`backward` needs `x` to know where it lies. `x.abs() <= 1` is a mask.",
            "Чтобы знать, где лежит `x`, `backward` должен его получить. `x.abs() <= 1` — маска.",
        ),
        Text(
            "ctx.save_for_backward(x)\nreturn x.sign()\n\n(x,) = ctx.saved_tensors\nreturn grad_output * ...",
            "ctx.save_for_backward(x)\nreturn x.sign()\n\n(x,) = ctx.saved_tensors\nreturn grad_output * ...",
        ),
    ],
)
def sign_function(answer: Any, case: Case) -> dict[str, object]:
    return observe_first(answer.Sign, case, "surrogate")


@sign_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    x = signed(rng, 3, 4)
    x[0] = torch.tensor([0.5, -0.25, 1.0, -1.0], dtype=torch.float64)
    x[1, 0], x[1, 1], x[1, 2] = 0.0, 1.75, -2.25
    v = signed(rng, 4, 3).T
    v[0] = torch.tensor([0.75, -1.25, 2.0, -0.5], dtype=torch.float64)
    yield Case(x=x, grad_output=v)
    yield Case(x=torch.tensor([-0.5, 3.0, 0.75]), grad_output=signed(rng, 3).float())


class _Sign(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.sign()


@sign_function.mistake(*STATE_OUTSIDE_CTX)
class sign_on_the_class(Function):
    x: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        sign_on_the_class.x = x
        return x.sign()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (sign_on_the_class.x.abs() <= 1)


@sign_function.mistake(*OVERWRITES_INPUT)
class sign_in_place(_Sign):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.sign_()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0].abs() <= 1)


@sign_function.mistake(
    en="The true derivative was returned. It is 0 everywhere, so nothing before this function can learn.",
    ru="Возвращена настоящая производная. Она всюду равна 0, поэтому слои перед этой функцией не обучаются.",
)
class true_derivative(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.zeros_like(grad_output)


@sign_function.mistake(
    en="The gradient passes everywhere. Outside [−1, 1] it should be 0.",
    ru="Градиент проходит всюду. Вне [−1, 1] он должен быть равен 0.",
)
class passes_everywhere(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.clone()


@sign_function.mistake(
    en="The ends of the interval were left out: at −1 and 1 the gradient should pass.",
    ru="Концы отрезка не учтены: в точках −1 и 1 градиент должен проходить.",
)
class without_the_ends(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0].abs() < 1)


@sign_function.mistake(
    en="Only one end of the interval is checked. The gradient should be 0 both below −1 and above 1.",
    ru="Проверяется только один конец отрезка: градиент должен быть равен 0 и левее −1, и правее 1.",
)
class one_sided(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0] <= 1)


@sign_function.mistake(*sign_function.mistakes["one_sided"].says)
class other_side(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0] >= -1)


@sign_function.mistake(
    en="The mask is the wrong way round: the gradient passes outside [−1, 1].",
    ru="Маска перевёрнута: градиент проходит вне [−1, 1].",
)
class passes_outside(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0].abs() > 1)


@sign_function.mistake(
    en="The mask is made from `grad_output`. It is `x` that has to lie in [−1, 1].",
    ru="Маска построена по `grad_output`. Лежать на отрезке [−1, 1] должен `x`.",
)
class mask_of_grad_output(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (grad_output.abs() <= 1)


@sign_function.mistake(
    en="The value at 0 is 1 or −1. `x.sign()` is 0 there.",
    ru="Значение в нуле равно 1 или −1, а у `x.sign()` там 0.",
)
class zero_is_negative(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.where(x > 0, 1.0, -1.0).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0].abs() <= 1)


@sign_function.mistake(*sign_function.mistakes["zero_is_negative"].says)
class zero_is_positive(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0].abs() <= 1)


@sign_function.mistake(
    en="The gradient was clipped to [−1, 1]. It is `x` that decides where `grad_output` passes, and it passes "
    "unchanged.",
    ru="До [−1, 1] обрезан сам градиент. Но решает `x`: там, где он лежит на этом отрезке, `grad_output` проходит без "
    "изменений.",
)
class clips_the_gradient(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.clamp(-1, 1)


@sign_function.mistake(
    en="`backward` looks at the result, which is always −1, 0 or 1. Whether `x` lies in [−1, 1] only `x` itself can "
    "tell.",
    ru="Метод `backward` судит по результату, а он всегда равен −1, 0 или 1. Лежит ли `x` на отрезке [−1, 1], видно "
    "только по самому `x`.",
)
class looks_at_the_result(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.sign()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0].abs()


@sign_function.mistake(
    en="`backward` returns the mask alone, 0 and 1. It has to be multiplied by `grad_output`.",
    ru="Метод `backward` возвращает только маску из нулей и единиц. Её нужно умножить на `grad_output`.",
)
class sign_mask_alone(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return (ctx.saved_tensors[0].abs() <= 1).to(grad_output.dtype)


@sign_function.mistake(
    en="The zeros were written into `grad_output` itself, a tensor that belongs to the caller.",
    ru="Нули записаны прямо в `grad_output`, а это чужой тензор.",
)
class writes_the_zeros(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        grad_output[ctx.saved_tensors[0].abs() > 1] = 0
        return grad_output


@sign_function.mistake(
    en="One end of the interval was left out: the gradient should pass at −1 and at 1.",
    ru="Один конец отрезка не учтён: градиент должен проходить и в точке −1, и в точке 1.",
)
class lower_end_open(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * ((x > -1) & (x <= 1))


@sign_function.mistake(*sign_function.mistakes["lower_end_open"].says)
class upper_end_open(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * ((x >= -1) & (x < 1))


@sign_function.mistake(
    en="The sign is computed by a division by `x.abs()`. At 0 that is 0/0: NaN.",
    ru="Знак вычислен делением на `x.abs()`. В нуле это 0/0, то есть NaN.",
)
class divides_by_the_size(_Sign):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x / x.abs()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0].abs() <= 1)


@sign_function.mistake(*NEEDS_RESHAPE)
class sign_by_view(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return (grad_output.view(-1) * (x.view(-1).abs() <= 1)).view(x.shape)
