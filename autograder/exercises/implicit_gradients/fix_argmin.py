"""Exercise: two errors in the gradient through a minimum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, signed, uniform
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import CountedCalls

Loss = Callable[[Tensor, Tensor], Tensor]


@exercise(
    title=Text("Through a minimum", "Производная сквозь минимум"),
    kind="find the bug",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "derivative",
            3,
            en="The derivative is right, whether the inner loss is quadratic or not.",
            ru="Производная верна при любой внутренней функции потерь, не только при квадратичной.",
        ),
        aspect(
            "direct",
            1,
            en="It is also right where the outer loss mentions `lam` itself.",
            ru="Производная верна и тогда, когда `lam` входит в саму внешнюю функцию потерь.",
        ),
        aspect(
            "once",
            0.5,
            en="`minimize` is called once.",
            ru="Функция `minimize` вызвана один раз.",
            measured=Text("Calls of `minimize`", "Вызовов `minimize`"),
        ),
        aspect(
            "kept",
            0.5,
            en="`start` and `lam` stay as they are: numbers and `requires_grad`.",
            ru="Тензоры `start` и `lam` остаются прежними: числа и `requires_grad`.",
        ),
    ],
    hints=[
        Text(
            "For which inner losses is the Hessian the same everywhere? And how does `lam` reach the outer loss?",
            "У каких внутренних функций потерь матрица Гессе всюду одинакова? И какими путями `lam` попадает во внешнюю?",
        ),
        Text(
            "The equation `grad(inner)(w, lam) = 0` holds at the minimum only. All derivatives of it are taken there.",
            "Равенство `grad(inner)(w, lam) = 0` верно только в точке минимума. В ней его и дифференцируют.",
        ),
        Text.same(
            "v = torch.linalg.solve(hessian(inner)(..., lam), g)\n...\n"
            "return grad(outer, argnums=...)(w, lam) - pull(v)[0]"
        ),
    ],
    why=Why(
        Text(
            "Why did the ridge regression show neither of the two errors?",
            "Почему на гребневой регрессии не видно ни одной из двух ошибок?",
        ),
        Text(
            "Its inner loss is quadratic, so the Hessian is the same at every point. And its validation loss does not "
            "mention `lam`, so the direct term is 0.",
            "Внутренняя функция потерь там квадратична, и матрица Гессе одинакова во всех точках. А в функцию потерь на "
            "валидации `lam` не входит, и прямое слагаемое равно 0.",
        ),
    ),
)
def fix_argmin(answer: Any, case: Case) -> dict[str, object]:
    minimize = CountedCalls(newton)
    before = case.start.clone(), case.lam.clone()
    found = answer.fix_argmin(case.inner, case.outer, minimize.function, case.start, case.lam)
    same = torch.equal(case.start, before[0]) and torch.equal(case.lam, before[1])
    flags = not case.start.requires_grad and not case.lam.requires_grad
    return {
        "derivative": None if case.mentions else found,
        "direct": found if case.mentions else None,
        "once": AtMost(limit=1, used=minimize.times),
        "kept": {"input unchanged": same, "requires_grad unchanged": flags},
    }


def newton(inner: Loss, start: Tensor, lam: Tensor) -> Tensor:
    """Return the minimum of `inner(w, lam)` over `w`, without a graph.

    Newton's method, with at most 30 steps. Fewer than ten are usual.
    """
    w, lam = start.detach(), lam.detach()
    for _ in range(30):
        slope = torch.func.grad(inner)(w, lam)
        if slope.abs().max() < 1e-14:
            break
        w = w - torch.linalg.solve(torch.func.hessian(inner)(w, lam), slope)
    return w.detach()


@fix_argmin.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield _case(rng, _ridge(rng, 3), 3, uniform(rng))
    yield _case(rng, _logistic(rng, 3), 3, uniform(rng))
    yield _case(rng, _logistic(rng, 4), 4, uniform(rng, 2, 4))
    yield _case(rng, _logistic(rng, 2), 2, uniform(rng, 2), mentions=True)
    yield _case(rng, _logistic(rng, 1), 1, uniform(rng), mentions=True)


def _case(rng: torch.Generator, inner: Loss, n: int, lam: Tensor, mentions: bool = False) -> Case:
    a, b = signed(rng, 5, n) / 2, signed(rng, 5)
    text = "w, lam -> (a @ w - b).square().mean()" + (" + (lam**2 * w**2).sum() / 4" if mentions else "")

    def outer(w: Tensor, lam: Tensor) -> Tensor:
        loss = (a @ w - b).square().mean()
        return loss + (lam**2 * w**2).sum() / 4 if mentions else loss

    return Case(inner=inner, outer=Formula(text, outer), start=signed(rng, n) / 2, lam=lam, mentions=mentions)


def _ridge(rng: torch.Generator, n: int) -> Loss:
    x, y = signed(rng, 6, n) / 2, signed(rng, 6)
    text = "w, lam -> (x @ w - y).square().sum() / 2 + (lam * w**2).sum() / 2"
    return Formula(text, lambda w, lam: (x @ w - y).square().sum() / 2 + (lam * w**2).sum() / 2)


def _logistic(rng: torch.Generator, n: int) -> Loss:
    x = signed(rng, 6, n) / 2
    x[0] = x[0].abs()
    text = "w, lam -> softplus(-x @ w).sum() + (lam * w**2).sum() / 2"
    softplus = torch.nn.functional.softplus
    return Formula(text, lambda w, lam: softplus(-x @ w).sum() + (lam * w**2).sum() / 2)
