"""Exercise: a step of TD learning with a target network."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, Optimizer

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import linear_layer, signed, uniform, with_old_gradients
from autograder.checking.observe import using_answer
from autograder.language import Text


@exercise(
    title=Text("A target that stands still", "Цель, которая стоит на месте"),
    kind="find the bug",
    difficulty=2,
    rtol=1e-5,
    aspects=[
        aspect(
            "net",
            2,
            en="The optimizer makes one step of `net` with the gradient of its values alone; the loss before it is returned.",
            ru="Оптимизатор делает один шаг `net` по градиенту, который идёт только через её собственные значения. "
            "Возвращаются потери до шага.",
        ),
        aspect(
            "target",
            2,
            en="After the step `target` moves towards the new weights, and its buffers are those of `net`.",
            ru="После шага `target` сдвигается к новым весам, а её буферы такие же, как у `net`.",
            after=(),
        ),
        aspect(
            "kept",
            1,
            en="The parameters of `target` are the same tensors with the same flags, and their `.grad` and all modes stay. "
            "Recording is on, as before.",
            ru="Параметры `target` — те же тензоры с теми же флагами. Их `.grad` и все режимы прежние. Запись включена, как и "
            "была.",
        ),
    ],
    hints=[
        Text(
            "Two things are wrong, and neither raises an error. Which weights have a path to the loss? And what does a "
            "line `slow = ...` do to the tensor that `slow` named before?",
            "Ошибок две, и ни одна не вызывает исключения. От каких весов есть путь к функции потерь? И что делает "
            "строка `slow = ...` с тензором, который назывался `slow` до неё?",
        ),
        Text(
            "The goal is a number: compute it without a graph. A new name is no new value: the average has to be written "
            "into the parameter, in place.",
            "Цель — это число: вычисляйте её без графа. Новое имя не меняет значения: среднее нужно записать в сам "
            "параметр, на месте.",
        ),
        Text.same(
            "with torch.no_grad():\n    goal = ...\n...\n"
            "for slow, fast in zip(target.parameters(), net.parameters()):\n    slow.lerp_(...)"
        ),
    ],
    why=Why(
        Text(
            "Why compute the goal without a graph if the optimizer does not know `target`?",
            "Почему цель вычисляют без графа, даже если оптимизатор ничего не знает о `target`?",
        ),
        Text(
            "A shared layer would get the target's gradient, too, and be trained towards another algorithm. And a backward pass "
            "through the target costs time and fills its `.grad`.",
            "Общий слой получил бы и градиент через цель, а это уже другой алгоритм. Кроме того, обратный проход через "
            "цель требует времени и заполняет `.grad` у весов целевой сети.",
        ),
    ),
)
def fix_target(answer: Any, case: Case) -> dict[str, object]:
    net, target = case.net, case.target
    shared = {id(parameter) for parameter in net.parameters()}
    own = {name: p for name, p in target.named_parameters() if id(p) not in shared}
    flags = {name: p.requires_grad for name, p in own.items()}
    modes = [module.training for module in [*net.modules(), *target.modules()]]
    gradients = {name: None if p.grad is None else p.grad.clone() for name, p in own.items()}
    loss = answer.fix_target(net, target, case.optimizer, case.batch, case.discount, case.rate)
    recording = torch.is_grad_enabled()
    with using_answer():
        now = dict(target.named_parameters())
        kept = {
            "same tensors": all(now.get(name) is p for name, p in own.items()),
            "own memory": _memory([*own.values(), *target.buffers()]).isdisjoint(
                _memory([*net.parameters(), *net.buffers()])
            ),
            "requires_grad is as before": {name: now[name].requires_grad for name in own} == flags,
            ".grad is as before": all(_same(now[name].grad, gradients[name]) for name in own),
            "recording is on": recording,
            "modes stay": modes == [module.training for module in [*net.modules(), *target.modules()]],
        }
        return {
            "net": _copies(net.named_parameters()) | {"loss": None if loss is None else float(loss)},
            "target": _copies((name, now[name]) for name in own) | _copies(target.named_buffers()),
            "kept": kept,
        }


def _copies(named: Iterable[tuple[str, Tensor]]) -> dict[str, object]:
    return {name: tensor.detach().clone() for name, tensor in named}


def _memory(tensors: Iterable[Tensor]) -> set[int]:
    return {tensor.untyped_storage().data_ptr() for tensor in tensors}


def _same(a: Tensor | None, b: Tensor | None) -> bool:
    return a is b if a is None or b is None else torch.equal(a, b)


def _layer(rng: torch.Generator, inputs: int, outputs: int) -> nn.Linear:
    return linear_layer(signed(rng, outputs, inputs) / inputs**0.5, signed(rng, outputs) / 4)


def _batch(rng: torch.Generator, size: int, features: int) -> tuple[Tensor, ...]:
    """Return states, rewards, next states and flags, of which some say that the episode is over."""
    done = (torch.arange(size) % 3 == 1).double()
    return signed(rng, size, features), signed(rng, size), signed(rng, size, features), done


def _case(net: nn.Module, target: nn.Module, optimizer: Optimizer, rng: torch.Generator, size: int) -> Case:
    return Case(
        net=net,
        target=target,
        optimizer=optimizer,
        batch=_batch(rng, size, 2),
        discount=0.9,
        rate=0.25,
    )


@fix_target.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    net = nn.Sequential(_layer(rng, 2, 3), nn.Tanh(), _layer(rng, 3, 1))
    target = with_old_gradients(nn.Sequential(_layer(rng, 2, 3), nn.Tanh(), _layer(rng, 3, 1)))
    yield _case(net, target, SGD(net.parameters(), lr=0.1), rng, 4)
    encoder = nn.Sequential(_layer(rng, 2, 3), nn.Tanh())  # one encoder for both
    net, target = nn.Sequential(encoder, _layer(rng, 3, 1)), nn.Sequential(encoder, _layer(rng, 3, 1))
    target[1].weight.requires_grad_(False)
    with_old_gradients(net)
    yield _case(net, target, SGD(net.parameters(), lr=0.1, momentum=0.5), rng, 3)
    net, target = _normalized(rng)
    target[1].eval()
    yield _case(net, target, Adam(net.parameters(), lr=0.05), rng, 5)
    net, target = _normalized(rng)
    # a step of length 0: a goal in evaluation mode is seen in the loss, and costs the points of one aspect
    yield _case(net, target, SGD(net.parameters(), lr=0), rng, 5)


def _normalized(rng: torch.Generator) -> tuple[nn.Sequential, nn.Sequential]:
    """Return two networks of one structure with a batch normalization. The second one is frozen."""
    net = nn.Sequential(_layer(rng, 2, 3), nn.BatchNorm1d(3, dtype=torch.float64), nn.Tanh(), _layer(rng, 3, 1))
    target = copy.deepcopy(net).requires_grad_(False)
    with torch.no_grad():
        for parameter in target.parameters():
            parameter.add_(0.1 * uniform(rng, *parameter.shape))
    return net, target
