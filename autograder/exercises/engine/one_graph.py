"""Core exercise: a function that decides without looking at a number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import graph_nodes

from .common import unmarked


@exercise(
    title=Text("A graph in two pieces", "Граф из двух частей"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=10,
    rtol=1e-5,
    aspects=[
        aspect(
            "value",
            1,
            en="The value is that of the given function.",
            ru="Значение такое же, как у исходной функции.",
        ),
        aspect(
            "gradient",
            1,
            en="The gradient is that of the given function, also for a vector of zeros.",
            ru="Градиент такой же, как у исходной функции, в том числе для нулевого вектора.",
        ),
        aspect(
            "no_numbers",
            2,
            en="The function runs on fake tensors, which have no numbers to look at.",
            ru="Функция выполняется на фиктивных тензорах, в которых нет чисел.",
            after=("value",),
        ),
    ],
    hints=[
        Text(
            "`if` needs a number now. Which operations choose between two numbers without Python?",
            "Инструкции `if` число нужно сразу. Какие операции выбирают между двумя числами без участия Python?",
        ),
        Text(
            "`torch.where` computes both branches, and at a norm of 0 one of them is $\\infty$: its gradient times 0 is NaN "
            "(lesson 02). Choose the norm first, then divide.",
            "Операция `torch.where` вычисляет обе ветви, а при норме 0 одна из них равна $\\infty$: её градиент, умноженный на 0, "
            "даёт NaN (урок 02). Сначала выберите норму, потом делите.",
        ),
        Text(
            "return x * (limit / x.norm().clamp(min=...))",
            "return x * (limit / x.norm().clamp(min=...))",
        ),
    ],
)
def one_graph(answer: Any, case: Case) -> dict[str, object]:
    x = case.x.clone().requires_grad_()
    with using_answer():
        y = answer.one_graph(x, case.limit)
        if any("CondAutograd" in node.name() for node in graph_nodes(y)):  # it cannot be differentiated in the sandbox
            raise TypeError("torch.cond, a prototype, is not accepted here: choose by operations on tensors")
        (gradient,) = torch.autograd.grad((y * case.v).sum(), x, allow_unused=True)
    return {"value": y, "gradient": gradient, "no_numbers": _runs_without_numbers(answer.one_graph, case)}


def _runs_without_numbers(function: Any, case: Case) -> bool:
    """Return whether the learner's function runs on a fake tensor. It has run on a real one already."""
    with FakeTensorMode() as mode:
        try:
            unmarked(function)(mode.from_tensor(case.x).requires_grad_(), case.limit)
        except Exception:
            return False
    return True


@one_graph.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def case(x: Tensor, limit: float) -> Case:
        return Case(x=x, limit=limit, v=signed(rng, *x.shape))

    long = signed(rng, 4)
    yield case(long, long.norm().item() / 3)
    short = signed(rng, 2, 3)
    yield case(short, short.norm().item() * 2)
    yield case(torch.zeros(3, dtype=torch.float64), 1.5)
    yield case(signed(rng, 3).float(), 0.25)
    yield case(signed(rng), 4.0)


def _original(x: Tensor, limit: float) -> Tensor:
    norm = x.norm()
    if norm > limit:
        x = x * (limit / norm)
    return x


@one_graph.mistake(
    en="For a vector of zeros the gradient is NaN: `limit / norm` is infinite there, and is computed even if `where` or "
    "`clamp` does not choose it.",
    ru="Для нулевого вектора градиент равен NaN: `limit / norm` там бесконечно и вычисляется, даже если `where` или `clamp` "
    "это значение не выбирает.",
)
def where_at_the_end(x: Tensor, limit: float) -> Tensor:
    norm = x.norm()
    return torch.where(norm > limit, x * (limit / norm), x)


@one_graph.mistake(
    en="The function still looks at a number: `if`, `bool()`, `.item()` and `float()` all wait for the value.",
    ru="Функция всё ещё смотрит на число: `if`, `bool()`, `.item()` и `float()` ждут готового значения.",
)
def still_branches(x: Tensor, limit: float) -> Tensor:
    return x * (limit / x.norm()) if bool(x.norm() > limit) else x


@one_graph.mistake(
    en="The norm became a Python number by `.item()`: the gradient does not pass through it, and the graph breaks as well.",
    ru="Норма превращена в число Python вызовом `.item()`: градиент через неё не проходит, да и граф по-прежнему "
    "разрывается.",
)
def norm_as_number(x: Tensor, limit: float) -> Tensor:
    return x * min(1.0, limit / max(x.norm().item(), 1e-300))  # type: ignore[no-any-return]


@one_graph.mistake(
    en="The norm is detached. The value is right, and the gradient lacks the part that goes through the norm.",
    ru="Норма отсоединена от графа. Значение верно, а в градиенте нет слагаемого, которое идёт через норму.",
)
def detached_norm(x: Tensor, limit: float) -> Tensor:
    return x * (limit / x.detach().norm().clamp(min=limit))  # type: ignore[no-any-return]


@one_graph.mistake(
    en="Every vector is scaled to the limit, the short ones as well.",
    ru="До предела растянут любой вектор, в том числе короткий.",
)
def scales_always(x: Tensor, limit: float) -> Tensor:
    return x * (limit / x.norm().clamp(min=1e-12))  # type: ignore[no-any-return]


@one_graph.mistake(
    en="Each entry is clamped on its own. The limit is one for the norm of the whole tensor.",
    ru="Каждый элемент ограничен отдельно, а предел относится к норме всего тензора.",
)
def clamps_entries(x: Tensor, limit: float) -> Tensor:
    return x.clamp(-limit, limit)


@one_graph.mistake(
    en="The limit is on the wrong side: long vectors stay, and short ones change.",
    ru="Сравнение перевёрнуто: длинные векторы остаются, а короткие меняются.",
)
def clamps_the_wrong_side(x: Tensor, limit: float) -> Tensor:
    return x * (limit / x.norm().clamp(min=1e-12, max=limit))  # type: ignore[no-any-return]
