"""Exercise: gradients of a head on features from inference mode.

The head is the last part of a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import BatchNorm1d, Dropout, Linear, Module, Sequential, Tanh

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import flags, gradients_of, randomized, weights_of


def _prefixed(owner: str, values: dict[str, Any]) -> dict[str, object]:
    """Return the dict `values` with the text of `owner` and a dot before each key."""
    return {f"{owner}.{name.lstrip('.')}": value for name, value in values.items()}


@exercise(
    title=Text("Features that may not be used", "Признаки, которые нельзя использовать"),
    kind="find the bug",
    core=True,
    difficulty=1,
    aspects=[
        aspect(
            "head",
            2,
            en="The gradient of the loss has been added to the `.grad` of every parameter of `head`; the modes of `body` "
            "count.",
            ru="Градиент функции потерь прибавлен к `.grad` каждого параметра `head`; модель `body` выполнена в "
            "своих режимах.",
        ),
        aspect(
            "body",
            1,
            en="The rest is as it was: flags, modes and weights of both, and what the parameters of `body` have in "
            "`.grad`.",
            ru="Остальное прежнее: флаги, режимы и веса обеих частей и то, что лежит в `.grad` параметров `body`.",
        ),
        aspect(
            "recorded",
            1,
            en="The forward pass of `body` is not recorded.",
            ru="Прямой проход `body` не записывается.",
        ),
    ],
    rtol=1e-5,
    hints=[
        Text(
            "What does the first layer of `head` save for the gradient of its weight?",
            "Что сохраняет первый слой `head` ради градиента своего веса?",
        ),
        Text(
            "Features for training have to be ordinary constants. Which mode makes them?",
            "Признаки для обучения должны быть обычными константами. Какой режим такие создаёт?",
        ),
        Text.same(
            "def head_gradients(body, head, x, y):\n"
            "    with ...:\n"
            "        features = body(x)\n"
            "    ((head(...) - y) ** 2).mean().backward()"
        ),
    ],
    why=Why(
        Text(
            "Why do features from `no_grad()` serve for training the head, and those from `inference_mode()` not?",
            "Почему признаки из `no_grad()` годятся для обучения головы, а из `inference_mode()` — нет?",
        ),
        Text(
            "The head's first layer saves its input, because the gradient of its weight needs it. An ordinary constant "
            "may be saved for backward, an inference tensor may not.",
            "Первый слой головы сохраняет свой вход, потому что он нужен для градиента веса. Обычную константу "
            "сохранить для обратного прохода можно, а inference-тензор нельзя.",
        ),
    ),
)
def head_gradients(answer: Any, case: Case) -> dict[str, object]:
    recorded: dict[str, bool] = {}

    def note(name: str, module: Module) -> Any:
        return module.register_forward_hook(lambda _, __, out: recorded.update({name: out.requires_grad}))

    hooks = note("body(x).requires_grad", case.body), note("head(features).requires_grad", case.head)
    answer.head_gradients(case.body, case.head, case.x, case.y)
    for hook in hooks:
        hook.remove()
    with using_answer():
        return {
            "head": gradients_of(case.head),
            "body": _prefixed("body", gradients_of(case.body) | flags(case.body, "") | weights_of(case.body))
            | _prefixed("head", flags(case.head, "") | weights_of(case.head)),
            "recorded": {"body(x).requires_grad": recorded.get("body(x).requires_grad", False)},
            "loss": recorded.get("head(features).requires_grad"),
        }


@head_gradients.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for dtype in (torch.float64, torch.float32):
        norm = BatchNorm1d(4, momentum=0.0)  # in training mode; its statistics stay
        body = randomized(Sequential(Linear(3, 4), norm, Tanh(), Dropout(0.5)), rng, dtype)
        deep = dtype is torch.float32
        head = randomized(Sequential(Linear(4, 4), Tanh(), Linear(4, 3)) if deep else Linear(4, 3), rng, dtype)
        body[3].eval()
        if deep:
            body[0].bias.requires_grad_(False)
            body[0].weight.grad = head[2].bias.grad = None
            head[1].eval()
        yield Case(
            body=body,
            head=head,
            x=signed(rng, 5, 3).to(dtype),
            y=signed(rng, 5, 3).to(dtype),
        )
