"""Exercise: the derivatives of four operations, as rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import or_error
from autograder.checking.containment.refused import Refused
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text


@exercise(
    title=Text("The rules", "Правила"),
    kind="complete",
    core=True,
    difficulty=1,
    aspects=[
        aspect("*", 0.5, en="The rule of `*` is right.", ru="Правило для `*` верно.", after=()),
        aspect("@", 0.5, en="The rule of `@` is right.", ru="Правило для `@` верно.", after=()),
        aspect("sum", 0.5, en="The rule of `sum` is right.", ru="Правило для `sum` верно.", after=()),
        aspect("tanh", 0.5, en="The rule of `tanh` is right.", ru="Правило для `tanh` верно.", after=()),
    ],
    hints=[
        Text(
            "Which shape must each part have? For `a @ b` the shapes leave little choice.",
            "Какой формы должен быть каждый градиент? Для `a @ b` формы почти не оставляют выбора.",
        ),
        Text(
            "A part is the gradient times a derivative. Of `a * b` by `a` it is `b`; of a sum by each entry it is 1; of "
            "`tanh` it is $1 - y^2$, with the result $y$.",
            "Вход получает пришедший градиент, умноженный на производную. У `a * b` по `a` она равна `b`; у суммы — 1; у "
            "`tanh` — $1 - y^2$, где $y$ — результат.",
        ),
        Text.same('"@": lambda g, out, a, b: (g @ b.t(), ...),\n"sum": lambda g, out, a: (g.expand(a.shape),),'),
    ],
    why=Why(
        Text(
            "Why does the rule of `tanh` take its result and not its input?",
            "Почему в правиле для `tanh` удобнее взять результат, а не вход?",
        ),
        Text(
            "The derivative of `tanh` is $1 - y^2$ with the result $y$. The result exists already. From the input it would have to be computed once more.",
            "Производная `tanh` равна $1 - y^2$, где $y$ — результат. Он уже вычислен. Если взять вход, пришлось бы вычислять его ещё раз.",
        ),
    ),
)
def four_rules(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        rules = answer.four_rules()
        if not isinstance(rules, dict):
            raise Refused("raised.type", got=type(rules).__name__, expected="kind.dict")
        return {
            "*": or_error(_parts, rules.get("*"), case.g, case.a * case.b, case.a, case.b),
            "@": or_error(_parts, rules.get("@"), case.h, case.m @ case.n, case.m, case.n),
            "sum": or_error(_parts, rules.get("sum"), case.one, case.a.sum(), case.a),
            "tanh": or_error(_parts, rules.get("tanh"), case.g, case.a.tanh(), case.a),
        }


def _parts(rule: Any, *arguments: Tensor) -> object:
    parts = rule(*arguments)
    return list(parts) if isinstance(parts, (list, tuple)) else parts


@four_rules.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for shape, (rows, inner, columns) in [((2, 3), (2, 3, 4)), ((), (1, 2, 3)), ((2, 1, 3), (3, 3, 3))]:
        yield Case(
            g=signed(rng, *shape),
            a=signed(rng, *shape).roll(1) / 2,  # its 0 lies where neither `g` nor `b` is 0
            b=signed(rng, *shape).roll(2),
            h=signed(rng, rows, columns),
            m=signed(rng, rows, inner),
            n=signed(rng, inner, columns),
            one=signed(rng),
        )
