"""Exercise: the training loop, by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import or_error
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, signed, uniform
from autograder.checking.labels import WEIGHTS_AFTER_STEPS
from autograder.checking.observe import unmarked
from autograder.language import Text

from .training_runs import Batch, Train, Value, loss_in_values, observe_loop

_LOSS = "loss_of((x, y)) = ((x @ w1 @ w2 - y)**2).sum()"


@exercise(
    title=Text("The loop that learns", "Цикл, который учит"),
    kind="complete",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "weights",
            1,
            en="After each batch `data` of every parameter has made one step, along that batch's gradient alone.",
            ru="После каждого батча `data` каждого параметра изменены на один шаг, только по градиенту этого батча.",
            entries=(WEIGHTS_AFTER_STEPS,),
        ),
        aspect(
            "losses",
            0.5,
            en="What comes back is the list of the losses, each as it was before its step, as floats.",
            ru="Возвращается список значений функции потерь до каждого шага, числа типа float.",
        ),
        aspect(
            "runs",
            0.5,
            en="Each batch has one call of `loss_of` and one backward pass.",
            ru="На каждый батч — один вызов `loss_of` и один обратный проход.",
        ),
        aspect(
            "unused",
            0.5,
            en="A parameter that a batch does not use stays as it is, and is no error.",
            ru="Параметр, который в батче не участвует, не меняется и не вызывает ошибки.",
            entries=(WEIGHTS_AFTER_STEPS,),
        ),
        aspect(
            "torch",
            0.5,
            en="The loop trains torch's tensors as well.",
            ru="Цикл обучает и тензоры torch.",
            entries=(WEIGHTS_AFTER_STEPS,),
        ),
    ],
    hints=[
        Text(
            "What lies in `.grad` when the second batch's `backward()` begins, and what does it do with that?",
            "Что лежит в `.grad`, когда начинается `backward()` второго батча, и что он с этим делает?",
        ),
        Text(
            "For each batch: clear every `.grad`, compute the loss, go backward, then change every `data`. A `.grad` "
            "that is still None belongs to a parameter that the loss does not depend on.",
            "Для каждого батча: обнулите все `.grad`, вычислите функцию потерь, сделайте обратный проход и только потом "
            "измените все `data`. Если `.grad` так и остался None, функция потерь от этого параметра не зависит.",
        ),
        Text.same(
            "for batch in batches:\n"
            "    for each in parameters:\n"
            "        each.grad = ...\n"
            "    loss = loss_of(batch)\n"
            "    ...\n"
            "    losses.append(loss.data.item())"
        ),
    ],
    why=Why(
        Text(
            "Each batch makes a new graph. Why must `.grad` still be cleared between them?",
            "У каждого батча свой граф. Почему всё равно нужно обнулять `.grad` между батчами?",
        ),
        Text(
            "The graph is new, the leaves are not: `.grad` lies in the parameter and outlives the graph. `backward()` "
            "adds to it, so without clearing a step would repeat all gradients before.",
            "Граф новый, а листья прежние: `.grad` лежит в самом параметре и переживает граф. `backward()` к нему "
            "прибавляет, поэтому без обнуления в шаг вошли бы и все прежние градиенты.",
        ),
    ),
)
def train_engine(answer: Any, case: Case) -> dict[str, object]:
    start = [each.data.clone() for each in case.parameters]
    found = observe_loop(answer.train_engine, case.parameters, case.batches, case.rate)
    train = unmarked(answer.train_engine)
    return {
        "weights": found["weights"],
        "losses": found["returned"],
        "runs": found["runs"],
        "empty": found["empty"],
        "unused": or_error(_with_two_layers, train, [*start, case.spare], case.batches, case.rate),
        "torch": or_error(_in_torch, train, start, case.batches, case.rate),
    }


def _with_two_layers(train: Train, start: Sequence[Tensor], batches: Sequence[Batch], rate: float) -> object:
    """Return the weights after each step if the batches use two layers in turn."""
    leaves = [Value(each.clone()) for each in start]
    turns = [(*batch, 1 + number % 2) for number, batch in enumerate(batches)]
    return observe_loop(train, leaves, turns, rate)["weights"]


def _in_torch(train: Train, start: Sequence[Tensor], batches: Sequence[Batch], rate: float) -> object:
    leaves = [each.clone().requires_grad_() for each in start]
    return observe_loop(train, leaves, batches, rate)["weights"]


@train_engine.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for sizes, outputs, rate, old in [((2, 3, 1), 1, 0.25, False), ((2, 1, 3, 2), 2, 0.125, True)]:
        parameters = [Value(signed(rng, 3, 2) / 4), Value(signed(rng, 2, outputs) / 4)]
        if old:  # as after an earlier backward pass
            for each in parameters:
                each.grad = 10 + each.data
        yield Case(
            parameters=parameters,
            loss_of=Formula(_LOSS, partial(loss_in_values, parameters)),  # type: ignore[arg-type]  # it is a value
            batches=[(uniform(rng, size, 3) / 2, signed(rng, size, outputs)) for size in sizes],
            rate=rate,
            spare=signed(rng, 2, outputs) / 4,
        )
