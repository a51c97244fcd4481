"""Extra exercise: write a wrong gradient that gradcheck accepts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import gradcheck

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import Function, relative_error, tracked


def _one_sided(f: Function, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradient of `f(x).sum()` twice: by differences to the left, and by differences to the right."""
    x, h = x.detach().double(), 1e-6
    here = f(x).sum().detach()
    steps = [step.reshape(x.shape) for step in h * torch.eye(x.numel(), dtype=x.dtype)]
    left = [(here - f(x - step).sum().detach()) / h for step in steps]
    right = [(f(x + step).sum().detach() - here) / h for step in steps]
    return torch.stack(left).reshape(x.shape), torch.stack(right).reshape(x.shape)


@exercise(
    title=Text("Where gradcheck is blind", "Чего не видит gradcheck"),
    kind="write the counter-example",
    difficulty=2,
    minutes=15,
    aspects=[
        aspect(
            "passes",
            0.5,
            en="Both points are in float64, of at most 100 entries, and `gradcheck(f, (x,))` passes.",
            ru="Обе точки в float64, в каждой не больше 100 элементов, и `gradcheck(f, (x,))` проходит.",
        ),
        aspect(
            "smooth",
            0.5,
            en="At `elsewhere` the values of `f` have a derivative: differences to both sides agree.",
            ru="В точке `elsewhere` функция `f` дифференцируема: разности её значений в обе стороны согласуются.",
        ),
        aspect(
            "wrong",
            1,
            en="At `elsewhere` the gradient from autograd is wrong by more than 1 %, or no number.",
            ru="В точке `elsewhere` градиент от autograd отличается от верного больше чем на 1 % или не является "
            "числом.",
            after=("passes", "smooth"),
        ),
    ],
    hints=[
        Text(
            "`gradcheck` calls `f` near `x`, and nowhere else. What may `f` do at other points?",
            "Проверка `gradcheck` вызывает `f` около `x` и больше нигде. Что может `f` делать в других точках?",
        ),
        Text(
            "The values of `x * x.detach()` are squares; the gradient is only half of a square's.",
            "Значения `x * x.detach()` — квадрат, а градиент — лишь половина его производной.",
        ),
        Text(
            "def f(x):\n    return torch.where(x > 0, ..., ...)\n\nreturn f, torch.tensor(...), torch.tensor(...)",
            "def f(x):\n    return torch.where(x > 0, ..., ...)\n\nreturn f, torch.tensor(...), torch.tensor(...)",
        ),
    ],
)
def fool_gradcheck(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        f, x, elsewhere = answer.fool_gradcheck()
        x, elsewhere = tracked(x), tracked(elsewhere)
        value = f(elsewhere).sum()
        gradient = torch.zeros_like(elsewhere)
        if value.requires_grad:
            (gradient,) = torch.autograd.grad(value, elsewhere, materialize_grads=True)
        before, after = _one_sided(f, elsewhere)
        float64, small = x.dtype == elsewhere.dtype == torch.float64, max(x.numel(), elsewhere.numel()) <= 100
        return {
            "passes": float64 and small and gradcheck(f, (x,), raise_exception=False),
            "smooth": torch.allclose(before, after, rtol=1e-3, atol=1e-4),
            "wrong": not relative_error((before + after) / 2, gradient)
            <= 0.01,  # `not <=`, because NaN is wrong as well
            "float64": float64,
            "small": small,
            "repeatable": torch.equal(f(x), f(x)),
            "smooth_at_x": torch.allclose(*_one_sided(f, x), rtol=1e-3, atol=1e-4),
        }


def _at(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


@fool_gradcheck.mistake(
    en="`elsewhere` is a kink or a jump. `gradcheck` fails there even when autograd does what it should.",
    ru="В точке `elsewhere` излом или скачок. Там `gradcheck` не проходит, даже если autograd делает то, что должен.",
)
def a_kink() -> object:
    return torch.relu, _at(1.0, -2.0), _at(0.0, 1.0)


@fool_gradcheck.mistake(
    en="`x` itself is at a kink, where `gradcheck` fails.",
    ru="На изломе стоит сама точка `x`, а там `gradcheck` не проходит.",
)
def a_kink_at_x() -> object:
    return torch.relu, _at(0.0, 1.0), _at(-1.0, 2.0)


@fool_gradcheck.mistake(
    en="The gradient is wrong at `x` too, where `gradcheck` sees it.",
    ru="Градиент неверен и в точке `x`, где `gradcheck` это видит.",
)
def wrong_at_x() -> object:
    return (lambda x: x * x.detach()), _at(1.0, 2.0), _at(-1.0, -2.0)


@fool_gradcheck.mistake(
    en="A point is in float32. Both belong in float64: in float32 `gradcheck` fails for right functions too.",
    ru="Точка задана в float32. Обе нужны в float64: во float32 `gradcheck` не проходит и для верных функций.",
)
def in_single_precision() -> object:
    return torch.sin, torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])


@fool_gradcheck.mistake(
    en="`f` gives another value at each call. `gradcheck` compares repeated calls and notices.",
    ru="Функция `f` при каждом вызове даёт другое значение. Проверка `gradcheck` сравнивает повторные вызовы и "
    "замечает это.",
)
def by_chance() -> object:
    return torch.nn.Dropout(), _at(*range(1, 33)), _at(*range(2, 34))


@fool_gradcheck.mistake(
    en="Autograd is right at `elsewhere` too: there is nothing to be overlooked.",
    ru="В точке `elsewhere` autograd тоже прав: упускать там нечего.",
)
def right_everywhere() -> object:
    return torch.sin, _at(1.0, 2.0), _at(3.0, 4.0)
