"""Extra exercise: the node that costs most in a backward pass."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import leaf, uniform
from autograder.checking.labels import Entries
from autograder.checking.observe import using_answer
from autograder.language import Text


@exercise(
    title=Text("The costly node", "Самый дорогой узел"),
    kind="complete",
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "name",
            2,
            en="It is the name of the nodes whose matrix products cost most in the backward pass.",
            ru="Это имя узлов, чьи матричные произведения в обратном проходе обходятся дороже всего.",
        ),
        aspect(
            "gradients",
            1,
            en="There is one backward pass, and `.grad` of every leaf is what one `loss.backward()` leaves there.",
            ru="Обратный проход один, и в `.grad` каждого листа лежит то же, что после одного `loss.backward()`.",
            entries=(Entries(Text("leaf {n}", "лист {n}"), Text("leaves", "листьев")),),
        ),
    ],
    hints=[
        Text(
            "Which rows of the profile are nodes, and which are operations that a node calls?",
            "Какие строки профиля относятся к узлам, а какие — к операциям, которые вызвал узел?",
        ),
        Text(
            "Take the events whose name begins with `autograd::engine::evaluate_function: `. The rest of the name is the "
            "node. Add up `flops_of(event)` for each name.",
            "Возьмите события, имя которых начинается с `autograd::engine::evaluate_function: `. Остальное — имя узла. "
            "Сложите `flops_of(event)` для каждого имени.",
        ),
        Text.same(
            "with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:\n    loss.backward()\n"
            "costs = Counter()\nfor event in profiled.events():\n    ...\nreturn costs.most_common(1)[0][0]"
        ),
    ],
    why=Why(
        Text(
            "Why may the cheaper layer of the forward pass cost more in the backward pass?",
            "Почему слой, более дешёвый в прямом проходе, может стоить больше в обратном?",
        ),
        Text(
            "In the backward pass a matrix product makes one product for each factor that needs a gradient. The "
            "first layer makes one, since the data need no gradient; later ones make two.",
            "В обратном проходе умножение матриц требует по одному произведению на каждый множитель, которому "
            "нужен градиент. У первого слоя оно одно, потому что данным градиент не нужен, у следующих — два.",
        ),
    ),
)
def costly_node(answer: Any, case: Case) -> dict[str, object]:
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # torch's profiler else reports its start on stderr
    passes: list[Tensor] = []
    case.loss.register_hook(passes.append)
    with using_answer():
        name = answer.costly_node(case.loss)
    gradients = {".grad of the leaves": [each.grad for each in case.leaves], "backward passes": len(passes)}
    return {"name": name, "gradients": gradients}


def _waiting(h: Tensor) -> Tensor:
    """Make the node of `h` the slowest of its backward pass, by a hook that waits.

    An answer that goes by time would otherwise name another node in each run.
    """
    h.register_hook(lambda _: time.sleep(0.01))
    return h


@costly_node.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    n = int(torch.randint(4, 9, (), generator=rng))
    x, w, v, b = uniform(rng, n, 24), leaf(rng, 24, 8), leaf(rng, 18, 8), leaf(rng, 18)
    yield Case(loss=torch.nn.functional.linear(_waiting((x @ w).tanh()), v, b).square().sum(), leaves=[w, v, b])

    x, first, weights = uniform(rng, n, 9), leaf(rng, 9, 10), [leaf(rng, 10, 10) for _ in range(3)]
    b, v = leaf(rng, 16), leaf(rng, 16, 10)
    h = x @ first
    for weight in weights:
        h = (h @ weight).sigmoid()
    yield Case(loss=_waiting(torch.nn.functional.linear(h, v, b).exp()).mean(), leaves=[first, *weights, b, v])

    x, w = uniform(rng, 2, n, 20), leaf(rng, 2, 20, 12)
    v = leaf(rng, 12, 6)
    yield Case(loss=(_waiting((x.exp() @ w).tanh()).flatten(0, 1) @ v).flatten(0).sum(), leaves=[w, v])

    x, w, v, b = uniform(rng, n, 30), leaf(rng, 30, 28), leaf(rng, 3, 28), leaf(rng, 3)
    h = _waiting((x @ w).tanh())
    yield Case(loss=torch.nn.functional.linear(h, v, b).square().sum(), leaves=[w, v, b])
