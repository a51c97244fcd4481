"""Exercise: freeze the first layers of a model."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import BatchNorm1d, Dropout, Linear, Sequential, Tanh
from torch.optim import SGD

from autograder.checking.counted_run import another, condense
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.labels import BYTES_KEPT, NAMES_OF_PARAMETERS
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import saved_bytes

from .common import flags, randomized, weights_of

_BATCH, _WIDTH = 64, 32


def _measure_saved(freezing: Callable[[Any, int], object], rng: torch.Generator) -> AtMost:
    """Return the bytes that a forward pass saves after 2 of 4 hidden layers are frozen, with a limit.

    A right answer saves 3 activations, the inputs of the 3 trainable layers. An answer that still records the frozen
    layers saves 4. The limit is 1.25 times 3.
    """
    hidden = [layer for _ in range(4) for layer in (Linear(_WIDTH, _WIDTH), Tanh())]
    model, x = randomized(Sequential(*hidden, Linear(_WIDTH, 1)), rng), signed(rng, _BATCH, _WIDTH)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    freezing(model, 4)
    with saved_bytes(known=[x, *model.parameters()]) as saved:
        out = model(x)
        held = saved.now
    if out.requires_grad:
        out.sum().backward()
    found = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.requires_grad}
    return AtMost(limit=round(1.25 * 3 * _BATCH * _WIDTH * 8), used=held, of=condense({"result": out, **found}))


@exercise(
    title=Text("A freeze without effect", "Слои, которые не замёрзли"),
    kind="find the bug",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "flags",
            2,
            en="The parameters of the first `k` layers do not require grad; every other flag, `training` included, is "
            "as it was, and the parameters are the same objects.",
            ru="Параметры первых `k` слоёв не требуют градиента; все остальные флаги, включая `training`, прежние, а "
            "параметры — те же объекты.",
        ),
        aspect(
            "returned",
            1,
            en="What comes back is a list of the parameters that still learn, in the order of `model.parameters()`.",
            ru="Возвращается список параметров, которые по-прежнему обучаются, в порядке `model.parameters()`.",
            entries=(NAMES_OF_PARAMETERS,),
        ),
        aspect(
            "step",
            1,
            en="A training step of an optimizer that holds *all* parameters leaves the frozen ones where they were and "
            "moves the others as before.",
            ru="Шаг оптимизатора, которому переданы *все* параметры, не сдвигает замороженные, а остальные сдвигает, "
            "как и прежде.",
        ),
        aspect(
            "saved",
            1,
            en="A forward pass keeps no activation of the frozen layers (bytes; outputs of 64 × 32 numbers of 4 "
            "hidden layers, 2 of them frozen).",
            ru="Прямой проход не хранит активаций замороженных слоёв (байты; 4 скрытых слоя с выходами по 64 × 32 "
            "чисел, 2 слоя заморожены).",
            measured=BYTES_KEPT,
        ),
    ],
    hints=[
        Text(
            "After the call, print `requires_grad` of every parameter. Which object got the flag that the code sets?",
            "После вызова напечатайте `requires_grad` каждого параметра. Какой объект получил флаг, который ставит "
            "код?",
        ),
        Text(
            "A module is not a tensor: it has the method `requires_grad_`. And an optimizer moves whatever has "
            "something in `.grad`, frozen or not.",
            "Модуль — не тензор: у него есть метод `requires_grad_`. А оптимизатор сдвигает всё, у чего в `.grad` "
            "что-то есть, заморожено оно или нет.",
        ),
        Text.same(
            "def freeze(model, k):\n"
            "    for parameter in ...:\n"
            "        parameter.requires_grad_(...)\n"
            "        parameter.grad = ...\n"
            "    return [parameter for parameter in model.parameters() if parameter.requires_grad]"
        ),
    ],
    why=Why(
        Text(
            "Why can an optimizer still move a weight that no longer requires grad?",
            "Почему оптимизатор может сдвинуть вес, который уже не требует градиента?",
        ),
        Text(
            "The optimizer does not read the flag, only `.grad`, and an old gradient may still lie there. Where "
            "`.grad` is None, the weight is skipped.",
            "Оптимизатор смотрит не на флаг, а на `.grad`, где мог остаться старый градиент. Если в `.grad` "
            "лежит None, вес пропускается.",
        ),
    ),
)
def freeze(answer: Any, case: Case) -> dict[str, object]:
    model = case.model
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    optimizer = SGD(model.parameters(), lr=0.1, weight_decay=0.1)
    returned = answer.freeze(model, case.k)
    with using_answer():
        known = [names.get(id(p)) for p in returned] if isinstance(returned, (list, tuple)) else returned
        same = [id(parameter) for parameter in model.parameters()] == list(names)
        seen = {"flags": flags(model) | {"parameter is old_parameter": same}, "returned": known}
        loss = model(uniform(torch.Generator().manual_seed(1), 4, model[0].in_features).to(model[0].weight.dtype))
        if loss.requires_grad:
            loss.square().mean().backward()
        optimizer.step()
        # measured on a model of its own, so one case is enough
        saved = _measure_saved(answer.freeze, case.rng) if case.rng else AtMost(limit=0, used=0)
        return seen | {"step": weights_of(model), "saved": saved}


@freeze.weigh("saved", most=62 << 20)
def weigh(freezing: Callable[[Any, int], object], rng: torch.Generator) -> object:
    """Record a pass through 12 hidden layers, 8 of them frozen. Each recorded one keeps 4 MB."""
    hidden = [layer for _ in range(12) for layer in (Linear(_WIDTH, _WIDTH), Tanh())]
    model, x = randomized(Sequential(*hidden, Linear(_WIDTH, 1)), rng), signed(rng, 16 * 1024, _WIDTH)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    freezing(model, 16)
    out = model(x)
    out.sum().backward()
    return {"result": out} | {name: p.grad for name, p in model.named_parameters() if p.requires_grad}


@freeze.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    plain = Sequential(Linear(3, 4), Tanh(), Linear(4, 2), Tanh(), Linear(2, 1))
    randomized(plain, rng, torch.float32)
    plain[4].bias.requires_grad_(False)
    plain[0].bias.grad = plain[4].bias.grad = None
    yield Case(model=plain, k=1, rng=another(rng))
    block = Sequential(Linear(4, 5), Sequential(Linear(5, 5), Tanh()), BatchNorm1d(5), Linear(5, 4))
    tanh = Tanh()  # one object in two places
    first = {"first": Linear(2, 4), "tanh": tanh, "second": Linear(4, 4), "tanh_again": tanh, "block": block}
    hidden = Linear(4, 4)  # with parameters, in two places
    rest = {"hidden": hidden, "drop": Dropout(0.5), "hidden_again": hidden, "out": Linear(4, 2)}
    named = randomized(Sequential(OrderedDict(first | rest)), rng)
    named.block.eval()
    named.drop.eval()
    named.out.bias.requires_grad_(False)  # frozen before, and it has something in `.grad`
    yield Case(model=named, k=len(first), rng=None)
