"""Core exercise: a custom Function with a wrong second derivative."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from autograder.checking.exercise import Case, exercise
from autograder.language import Text

from .common import (
    EDITS_GRAD_OUTPUT,
    OVERWRITES_INPUT,
    SECOND_ASPECTS,
    STATE_OUTSIDE_CTX,
    Function,
    observe_both,
    second_cases,
)


@exercise(
    title=Text("Right once, wrong the second time", "Первая производная верна, вторая — нет"),
    kind="find the bug",
    asks="Sinh",
    asks_for="class",
    core=True,
    difficulty=2,
    minutes=10,
    rtol=1e-4,
    aspects=SECOND_ASPECTS,
    hints=[
        Text(
            "Which of the tensors that `backward` uses does autograd know as functions of `x`?",
            "О каких из тензоров, которыми пользуется `backward`, autograd знает, что они зависят от `x`?",
        ),
        Text(
            "Recording is off inside `forward`, so `e` and `i` are constants there. An input that was saved comes back "
            "from `saved_tensors` connected to the graph; so does an output.",
            "Внутри `forward` отслеживание выключено, поэтому `e` и `i` — константы. Сохранённый вход возвращается из "
            "`saved_tensors` вместе со своим местом в графе, и выход тоже.",
        ),
        Text(
            "ctx.save_for_backward(x)\n...\n(x,) = ctx.saved_tensors\nreturn grad_output * ...  # computed from x, here",
            "ctx.save_for_backward(x)\n...\n(x,) = ctx.saved_tensors\nreturn grad_output * ...  # вычислено здесь из x",
        ),
    ],
)
def fix_sinh(answer: Any, case: Case) -> dict[str, object]:
    return observe_both(answer.Sinh, case)


fix_sinh.cases(second_cases)


class _SinhForward(Function):
    """A right forward pass of sinh, which saves its input.

    Most mistakes of the exercise are subclasses of this class.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.sinh(x)


@fix_sinh.mistake(*STATE_OUTSIDE_CTX)
class sinh_on_the_class(Function):
    x: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        sinh_on_the_class.x = x
        return torch.sinh(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * torch.cosh(sinh_on_the_class.x)


@fix_sinh.mistake(*OVERWRITES_INPUT)
class sinh_over_the_input(_SinhForward):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.sinh_()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * torch.sqrt(1 + ctx.saved_tensors[0] ** 2)


@fix_sinh.mistake(*EDITS_GRAD_OUTPUT)
class sinh_in_place(_SinhForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.mul_(torch.cosh(ctx.saved_tensors[0]))


@fix_sinh.mistake(
    en="What `backward` computes with is cut off from `x`: by `detach()`, `.data` or `no_grad()`, or because it was "
    "computed in `forward` (`cosh(x)` is an intermediate result as well, wherever it is kept).",
    ru="Величины, с которыми работает `backward`, не связаны с `x`: из-за `detach()`, `.data` или `no_grad()` либо "
    "потому, что вычислены в `forward` (`cosh(x)` — тоже промежуточный результат, где бы он ни хранился).",
)
class still_intermediates(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.cosh = torch.cosh(x)
        return torch.sinh(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.cosh


@fix_sinh.mistake(
    en="The class now refuses to be differentiated twice. That is honest, but the exercise asks for the second "
    "derivative.",
    ru="Класс теперь не допускает повторного дифференцирования. Это честно, но в упражнении нужна вторая производная.",
)
class refuses(_SinhForward):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * torch.cosh(ctx.saved_tensors[0])


@fix_sinh.mistake(
    en="`backward` is not recorded, because of `no_grad()` or a second run of autograd inside it without "
    "`create_graph`. What is not recorded cannot be differentiated again.",
    ru="Вычисления в `backward` не записываются: из-за `no_grad()` или потому, что внутри autograd запущен ещё раз без "
    "`create_graph`. То, что не записано, второй раз не продифференцировать.",
)
class under_no_grad(_SinhForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        with torch.no_grad():
            return grad_output * torch.cosh(ctx.saved_tensors[0])


@fix_sinh.mistake(
    en="`grad_output` is detached. It depends on `x` as well here, and that part of the second derivative is lost.",
    ru="Отсоединён `grad_output`. Здесь он тоже зависит от `x`, и эта часть второй производной теряется.",
)
class detaches_grad_output(_SinhForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.detach() * torch.cosh(ctx.saved_tensors[0])


@fix_sinh.mistake(
    en="There is a minus, as with the cosine. The derivative of `sinh` is `cosh`, without a minus.",
    ru="Лишний минус, как у косинуса: производная `sinh` — это `cosh`, без минуса.",
)
class with_a_minus(_SinhForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -grad_output * torch.cosh(ctx.saved_tensors[0])


@fix_sinh.mistake(
    en="`grad_output` is multiplied by the function itself. The derivative of `sinh` is `cosh`: (e + i) / 2.",
    ru="В обратном проходе `grad_output` умножен на саму функцию. Производная `sinh` — это `cosh`: (e + i) / 2.",
)
class multiplies_by_itself(_SinhForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * torch.sinh(ctx.saved_tensors[0])


@fix_sinh.mistake(
    en="`grad_output` is missing in the derivative that was rewritten.",
    ru="В переписанной производной потерян `grad_output`.",
)
class loses_grad_output(_SinhForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.cosh(ctx.saved_tensors[0])


@fix_sinh.mistake(
    en="`cosh` is taken of the result that was saved, not of `x`.",
    ru="`cosh` вычисляется от сохранённого результата, а не от `x`.",
)
class cosh_of_the_result(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.sinh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * torch.cosh(ctx.saved_tensors[0])


@fix_sinh.mistake(
    en="One of the two exponentials is still saved in `forward`. It is a constant in `backward`, and half of the second "
    "derivative is missing.",
    ru="Одна из двух экспонент по-прежнему сохранена в `forward`. В `backward` она постоянна, и половины второй "
    "производной не хватает.",
)
class keeps_one_intermediate(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        growth = torch.exp(x)
        ctx.save_for_backward(x, growth)
        return (growth - torch.exp(-x)) / 2

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, growth = ctx.saved_tensors
        return grad_output * (growth + torch.exp(-x)) / 2


@fix_sinh.mistake(*fix_sinh.mistakes["keeps_one_intermediate"].says)
class keeps_the_other_intermediate(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        decay = torch.exp(-x)
        ctx.save_for_backward(x, decay)
        return (torch.exp(x) - decay) / 2

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, decay = ctx.saved_tensors
        return grad_output * (torch.exp(x) + decay) / 2


@fix_sinh.mistake(
    en="The root is taken of `1 - y**2`. For the hyperbolic functions it is `1 + y**2`.",
    ru="Корень извлечён из `1 - y**2`. Для гиперболических функций верно `1 + y**2`.",
)
class as_for_the_sine(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.sinh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * torch.sqrt(1 - ctx.saved_tensors[0] ** 2)


@fix_sinh.mistake(
    en="Only the second exponential is divided by 2: brackets are missing around the sum.",
    ru="На 2 делится только вторая экспонента: у суммы нет скобок.",
)
class halves_one_exponential(_SinhForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * (torch.exp(x) + torch.exp(-x) / 2)
