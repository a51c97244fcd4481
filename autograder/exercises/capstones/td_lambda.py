"""Exercise: TD(λ) on a stream of steps from several episodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from autograder.checking.devices.device_run import works_on
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed, with_old_gradients
from autograder.checking.labels import Entries
from autograder.checking.observe import using_answer
from autograder.checking.values import number
from autograder.language import Text

from .common import copies, linear, value_net, value_table

Step = tuple[Any, float, Any, bool, bool]  # state, reward, next state, terminated, truncated


@exercise(
    title=Text("TD(λ) on a stream of episodes", "TD(λ) по потоку эпизодов"),
    kind="complete",
    difficulty=2,
    aspects=[
        aspect(
            "weights",
            2,
            en="At the end the trained weights are those of TD(λ).",
            ru="В конце обучаемые веса такие, как в TD(λ).",
            entries=(
                Entries(Text("after call {n}", "после вызова {n}"), Text("calls", "вызовов")),
                Entries(
                    Text("trained parameter {n}", "обучаемый параметр {n}"),
                    Text("trained parameters", "обучаемых параметров"),
                ),
            ),
        ),
        aspect(
            "errors",
            1,
            en="The TD errors of all steps are returned as a list of numbers.",
            ru="Возвращён список чисел: TD-ошибки всех шагов.",
            after=(),
            entries=(Entries(Text("TD error of step {n}", "TD-ошибка на шаге {n}"), Text("TD errors", "TD-ошибок")),),
        ),
        aspect(
            "rest",
            0.5,
            en="Frozen weights, every `.grad` and every flag `requires_grad` are as before.",
            ru="Замороженные веса, все поля `.grad` и все флаги `requires_grad` остались прежними.",
            after=("weights",),
        ),
        works_on(
            0.5,
            after=(
                "weights",
                "errors",
            ),
        ),
    ],
    hints=[
        Text(
            "There are two questions at the end of a step: is anything still to come from the next state? And does the next "
            "step belong to the same episode?",
            "В конце шага ответьте на два вопроса. Будут ли ещё награды после следующего состояния? Относится ли следующий шаг к "
            "тому же эпизоду?",
        ),
        Text(
            "The value of the next state is only a target: no gradient goes into it. `torch.autograd.grad` gives the "
            "gradient of $v(s)$ and leaves `.grad` alone.",
            "Ценность следующего состояния — только цель: градиент через неё не идёт. Функция `torch.autograd.grad` "
            "вычисляет градиент $v(s)$ и не трогает `.grad`.",
        ),
        Text.same(
            "for state, reward, next_state, terminated, truncated in steps:\n"
            "    v = model(state).sum()\n"
            "    gradients = torch.autograd.grad(v, parameters)\n"
            "    with torch.no_grad():\n"
            "        v_next = 0.0 if terminated else model(next_state).item()\n"
            "        ...  # delta, traces, weights\n"
            "        if terminated or truncated:\n"
            "            ..."
        ),
    ],
    why=Why(
        Text(
            "Why does the next state keep its value after `truncated`, but not after `terminated`?",
            "Почему после `truncated` следующее состояние сохраняет ценность, а после `terminated` — нет?",
        ),
        Text(
            "After `truncated` the walk would have gone on: rewards lie ahead, and the value estimates them. "
            "After `terminated` nothing comes any more, so there is nothing to estimate.",
            "После `truncated` эпизод мог бы продолжаться: впереди ещё награды, и ценность их оценивает. После "
            "`terminated` дальше ничего нет, и оценивать нечего.",
        ),
    ),
)
def td_lambda(answer: Any, case: Case) -> dict[str, object]:
    parameters = list(case.model.parameters())
    before = [copies(p.grad for p in parameters), [p.requires_grad for p in parameters]]
    frozen = copies(p for p in parameters if not p.requires_grad)
    trained = [p for p in parameters if p.requires_grad]
    weights = []
    for _ in range(2):  # a second call begins with traces of 0
        errors = answer.td_lambda(case.model, case.steps, case.gamma, case.lam, case.alpha)
        weights.append(copies(trained))
    with using_answer():
        listed = [_plain(error) for error in errors] if isinstance(errors, (list, tuple)) else errors
    after = [copies(p.grad for p in parameters), [p.requires_grad for p in parameters]]
    return {
        "weights": weights,
        "errors": listed,
        "rest": _same(before[0], after[0])
        and before[1] == after[1]
        and _same(frozen, [p for p in parameters if all(p is not each for each in trained)]),
        "grad": _same(before[0], after[0]),
        "flags": after[1],
    }


def _plain(error: object) -> object:
    """Return a number in a uniform form. A tensor stays a tensor: the contract asks for Python numbers."""
    return error if isinstance(error, torch.Tensor) else number(error)


def _same(one: Any, other: Any) -> bool:
    return all(a is b or (a is not None and b is not None and torch.equal(a, b)) for a, b in zip(one, other))


@td_lambda.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    return {"errors": answer.td_lambda(case.model, case.steps[:2], case.gamma, case.lam, case.alpha)}


@td_lambda.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    states = torch.eye(3, dtype=torch.float64)
    walk: list[Step] = [(states[t], float(t == 2), states[(t + 1) % 3], t == 2, False) for t in range(3)]
    yield Case(model=value_table(0.1, 0.2, 0.3), steps=walk * 2, gamma=0.9, lam=0.8, alpha=0.5)
    model: nn.Module = value_net(rng, 2)
    with_old_gradients(model)
    yield Case(
        model=model,
        steps=_stream(rng, 2, ["goes on", "terminated", "goes on", "goes on", "truncated", "goes on", "goes on"]),
        gamma=0.8,
        lam=0.7,
        alpha=0.1,
    )
    model = nn.Sequential(linear(rng, 3, 2).requires_grad_(False), nn.Tanh(), linear(rng, 2, 1))
    yield Case(
        model=model,
        steps=_stream(rng, 3, ["goes on", "truncated", "goes on", "goes on", "terminated"]),
        gamma=0.9,
        lam=0.5,
        alpha=0.2,
    )


def _stream(rng: torch.Generator, features: int, ends: list[str]) -> list[Step]:
    """Return random steps.

    A step's next state is the state of the following one, unless an episode ends there.
    """
    states = signed(rng, len(ends) + 1, features)
    return [
        (
            states[t],
            signed(rng, 1).item(),
            states[t + 1] if end == "goes on" else signed(rng, features),
            end == "terminated",
            end == "truncated",
        )
        for t, end in enumerate(ends)
    ]
