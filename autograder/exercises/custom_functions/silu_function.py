"""Core exercise: SiLU as one Function that saves only its input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import BYTES_IN_MEMORY, ERROR
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, limited_error, relative_error
from autograder.language import Text

from .common import (
    EDITS_GRAD_OUTPUT,
    MEMORY_ENTRIES,
    NEEDS_RESHAPE,
    OVERWRITES_INPUT,
    SAVES_NOTHING,
    SECOND_ASPECTS,
    STATE_OUTSIDE_CTX,
    Function,
    apply_custom,
    bytes_kept,
    observe_both,
    second_cases,
)

_EXACT = 1e-10  # a sigmoid from `exp` or `tanh` reaches 1e-13, float32 only 1e-7


@exercise(
    title=Text("One node, nothing more to keep", "Один узел и ничего лишнего"),
    kind="design",
    asks="SiLU",
    asks_for="class",
    core=True,
    difficulty=3,
    minutes=15,
    rtol=1e-4,
    aspects=[
        *SECOND_ASPECTS[:2],
        aspect(
            "bytes_kept",
            2,
            en=f"After the forward pass on {MEMORY_ENTRIES} float64 numbers nothing is alive but the input, which the caller "
            "holds, and the bytes of the result.",
            ru=f"После прямого прохода по {MEMORY_ENTRIES} числам float64 в памяти остаются только результат и вход, который "
            "хранит вызывающий код.",
            measured=BYTES_IN_MEMORY,
        ),
        aspect("second", 1.5, *SECOND_ASPECTS[2].says),
        aspect(
            "exact",
            0.5,
            en="In float64 all of these are exact to ten digits: the error is at most 1e-10 of the largest entry.",
            ru="В float64 у всех этих величин верны десять знаков: погрешность не больше 1e-10 от наибольшего "
            "элемента.",
            after=("first", "second"),
            measured=ERROR,
        ),
    ],
    hints=[
        Text(
            "`x * torch.sigmoid(x)` keeps the sigmoid for its backward pass. From what could `backward` get it back?",
            "`x * torch.sigmoid(x)` хранит сигмоиду для обратного прохода. Из чего `backward` мог бы получить её "
            "снова?",
        ),
        Text(
            "Save `x` alone and compute the sigmoid twice: once forward, once backward, there with recorded operations. "
            "The derivative is that of a product.",
            "Сохраните только `x` и вычислите сигмоиду дважды: в прямом проходе и в обратном, там — обычными "
            "операциями torch. Дифференцируйте по правилу произведения.",
        ),
        Text(
            "(x,) = ctx.saved_tensors\ns = torch.sigmoid(x)\nreturn grad_output * (s + x * ...)  # s' = s * (1 - s)",
            "(x,) = ctx.saved_tensors\ns = torch.sigmoid(x)\nreturn grad_output * (s + x * ...)  # s' = s * (1 - s)",
        ),
    ],
)
def silu_function(answer: Any, case: Case) -> dict[str, object]:
    observed = observe_both(answer.SiLU, case, apply_custom)
    if len(observed) == 1:
        return observed
    error = _error(observed, case) if case.x.dtype == torch.float64 else 0.0
    with using_answer():
        kept = bytes_kept(answer.SiLU, MEMORY_ENTRIES, drop_input=False) if case.x.dim() == 2 else 0
    return {
        **observed,
        "bytes_kept": AtMost(MEMORY_ENTRIES * 8 + 64, kept),
        "kept": kept // (MEMORY_ENTRIES * 8),
        "exact": limited_error(_EXACT, error),
    }


def _error(observed: dict[str, Any], case: Case) -> float:
    """Return the largest relative error in an observation of value, gradient and second derivative."""
    x, s = case.x, torch.sigmoid(case.x)
    f, slope, bend = x * s, _derivative(x), s * (1 - s) * (2 + x * (1 - 2 * s))
    truths = {
        "value": f,
        "gradient": case.v * slope,
        "second derivative": case.v * case.w * (2 * slope**2 + 2 * f * bend + 2 * slope + x * bend),
    }
    found = {**observed["first"], **observed["second"]}
    return max(relative_error(truth, found[name]) for name, truth in truths.items())


@silu_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield from second_cases(rng)
    x = torch.tensor([0.0, 1000.0, -1000.0], dtype=torch.float64)
    yield Case(x=x, v=signed(rng, 3), w=signed(rng, 3))


def _derivative(x: Tensor) -> Tensor:
    s = torch.sigmoid(x)
    return s + x * s * (1 - s)


class _SiLU(Function):
    """A right SiLU that saves its input.

    The mistakes are subclasses of this class.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * _derivative(ctx.saved_tensors[0])


@silu_function.mistake(*STATE_OUTSIDE_CTX)
class silu_on_the_class(Function):
    x: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        silu_on_the_class.x = x
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * _derivative(silu_on_the_class.x)


@silu_function.mistake(*OVERWRITES_INPUT)
class silu_over_the_input(_SiLU):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.mul_(torch.sigmoid(x))


@silu_function.mistake(*EDITS_GRAD_OUTPUT)
class silu_in_place(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.mul_(_derivative(ctx.saved_tensors[0]))


@silu_function.mistake(
    en="The sigmoid is obtained by dividing the result by `x`. At 0 that is 0/0: NaN.",
    ru="Сигмоида получена делением результата на `x`. В нуле это 0/0, то есть NaN.",
)
class divides_by_x(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x * torch.sigmoid(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, y = ctx.saved_tensors
        s = y / x
        return grad_output * (s + x * s * (1 - s))


@silu_function.mistake(
    en="`backward` makes the sigmoid of `exp(x)`. For large `x` that is infinite, and inf/inf is NaN.",
    ru="В `backward` сигмоида вычислена через `exp(x)`. При больших `x` это бесконечность, а inf/inf — NaN.",
)
class overflows(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        s = torch.exp(x) / (1 + torch.exp(x))
        return grad_output * (s + x * s * (1 - s))


@silu_function.mistake(
    en="`exp(-x)` is squared or divided by itself in `backward`. For very negative `x` it is infinite, and inf/inf is "
    "NaN.",
    ru="В `backward` экспонента `exp(-x)` возводится в квадрат или делится на себя. При больших по модулю "
    "отрицательных `x` она бесконечна, а inf/inf — NaN.",
)
class overflows_below(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        e = torch.exp(-x)
        return grad_output * (1 + e + x * e) / (1 + e) ** 2


@silu_function.mistake(
    en="The sigmoid is written out with `exp(-x)`. For very negative `x` that is infinite, and inf times 0 in the "
    "second derivative is NaN. `torch.sigmoid` avoids this.",
    ru="Сигмоида записана через `exp(-x)`. При больших по модулю отрицательных `x` это бесконечность, и во второй "
    "производной получается inf, умноженное на 0, то есть NaN. С `torch.sigmoid` этого не случается.",
)
class sigmoid_by_hand(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        s = 1 / (1 + torch.exp(-x))
        return grad_output * (s + x * s * (1 - s))


@silu_function.mistake(
    en="`apply` hands the work to torch's own operations. The two passes, `forward` and `backward`, are to be written "
    "here.",
    ru="Вызов `apply` передан готовым операциям torch. А написать нужно оба прохода, `forward` и `backward`.",
)
class borrows_the_silu(Function):
    apply = staticmethod(torch.nn.functional.silu)


@silu_function.mistake(
    en="The sigmoid is computed inside `no_grad()`. That makes it a constant, and its part of the second derivative is "
    "missing.",
    ru="Сигмоида вычисляется внутри `no_grad()`. Поэтому это константа, и её вклад во вторую производную теряется.",
)
class sigmoid_unrecorded(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        with torch.no_grad():
            s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))


@silu_function.mistake(
    en="The derivative of the sigmoid was taken for that of the product `x * sigmoid(x)`.",
    ru="За производную произведения `x * sigmoid(x)` принята производная одной сигмоиды.",
)
class derivative_of_the_sigmoid(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        s = torch.sigmoid(ctx.saved_tensors[0])
        return grad_output * s * (1 - s)


@silu_function.mistake(
    en="The sigmoid was taken for a constant factor: half of the product rule is missing.",
    ru="Сигмоида принята за постоянный множитель: не хватает второго слагаемого производной произведения.",
)
class sigmoid_is_constant(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * torch.sigmoid(ctx.saved_tensors[0])


@silu_function.mistake(
    en="Only the sigmoid is differentiated: the term in which `x` changes is missing.",
    ru="Продифференцирована только сигмоида: не хватает слагаемого, в котором меняется `x`.",
)
class x_is_constant(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        s = torch.sigmoid(x)
        return grad_output * x * s * (1 - s)


@silu_function.mistake(
    en="`backward` returns the derivative alone: `grad_output` is missing.",
    ru="Метод `backward` возвращает только производную: не хватает `grad_output`.",
)
class silu_local(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return _derivative(ctx.saved_tensors[0])


@silu_function.mistake(
    en="The sigmoid is kept, by `save_for_backward` or on `ctx`: one more tensor of the size of the input.",
    ru="Сигмоида хранится (через `save_for_backward` или в атрибуте `ctx`): это ещё один тензор размером со вход.",
)
class keeps_the_sigmoid(_SiLU):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, s = ctx.saved_tensors
        return grad_output * (s + x * s * (1 - s))


@silu_function.mistake(
    en="Something computed in `forward` is kept, such as the derivative or a copy of `x`: one more tensor of the size "
    "of the input, and a constant for the second derivative.",
    ru="Хранится что-то вычисленное в `forward`, например производная или копия `x`: это ещё один тензор размером со "
    "вход, а для второй производной — константа.",
)
class keeps_the_derivative(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        s = torch.sigmoid(x)
        ctx.save_for_backward(s + x * s * (1 - s))
        return x * s

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0]


@silu_function.mistake(
    en="`backward` recomputes on a detached copy. The first derivative is right; for the second there is no way back "
    "to `x`.",
    ru="В `backward` всё вычисляется заново на отсоединённой копии. Первая производная верна, а для второй нет пути "
    "назад к `x`.",
)
class recomputes_detached(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * _derivative(ctx.saved_tensors[0].detach())


@silu_function.mistake(
    en="`backward` is not recorded, because of `no_grad()` or a second run of autograd inside it without "
    "`create_graph`.",
    ru="Вычисления в `backward` не записываются: из-за `no_grad()` или потому, что внутри autograd запущен ещё раз без "
    "`create_graph`.",
)
class recomputes_unrecorded(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        with torch.no_grad():
            return grad_output * _derivative(ctx.saved_tensors[0])


@silu_function.mistake(
    en="The class refuses to be differentiated twice, and the second derivative is asked for here.",
    ru="Класс не допускает повторного дифференцирования, а вторая производная здесь нужна.",
)
class silu_refuses(_SiLU):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * _derivative(ctx.saved_tensors[0])


@silu_function.mistake(
    en="The derivative of the sigmoid has a minus, `s * (1 - s)`. Here it has a plus.",
    ru="У производной сигмоиды в скобках минус, `s * (1 - s)`, а здесь стоит плюс.",
)
class plus_for_minus(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 + s))


@silu_function.mistake(
    en="`forward` makes the sigmoid of `exp(x)`. For large `x` that is infinite, and inf/inf is NaN.",
    ru="В `forward` сигмоида вычислена через `exp(x)`. При больших `x` это бесконечность, а inf/inf — NaN.",
)
class value_overflows(_SiLU):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x.exp() / (1 + x.exp())


@silu_function.mistake(*SAVES_NOTHING)
class silu_saves_nothing(_SiLU):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * _derivative(x)


@silu_function.mistake(*NEEDS_RESHAPE)
class silu_by_view(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        return (grad_output.view(-1) * _derivative(x).view(-1)).view(x.shape)


CUTS_OFF = Text(
    "`backward` cuts large numbers off (`clamp`), and so changes the derivative there. `torch.sigmoid` needs no such "
    "care.",
    "В `backward` большие числа обрезаны (`clamp`), и производная там уже другая. Для `torch.sigmoid` такая "
    "предосторожность не нужна.",
)


@silu_function.mistake(*CUTS_OFF)
class cuts_off_at_5(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * _derivative(ctx.saved_tensors[0].clamp(-5, 5))


@silu_function.mistake(*CUTS_OFF)
class cuts_off_at_20(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * _derivative(ctx.saved_tensors[0].clamp(-20, 20))


@silu_function.mistake(
    en="In float64 half of the digits are lost, as when something in between is computed in float32.",
    ru="В float64 теряется половина знаков, как бывает, если что-то по пути вычислено в float32.",
)
class silu_through_float32(_SiLU):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        s = torch.sigmoid(x.float()).to(x.dtype)
        return grad_output * (s + x * s * (1 - s))
