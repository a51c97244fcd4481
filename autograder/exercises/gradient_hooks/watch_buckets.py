"""Exercise: reduce a bucket when all its gradients are there."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.containment.caught import Caught, error_kind
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import OF_PARAMETERS, Entries
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import garbage_collected, gradients, hooks_on, linear

_PASSES = Entries(Text("pass {n}", "проход {n}"), Text("passes", "проходов"))
_CALLS = Entries(Text("call {n} of `all_reduce`", "вызов {n} функции `all_reduce`"), Text("calls", "вызовов"))
_SEEN = Entries(
    (Text("`.grad` in the bucket", "`.grad` в корзине"), Text("`.grad` is there", "`.grad` уже есть")),
    Text("parts", "частей"),
)


class Stages(nn.Module):
    """Linear layers in a row, of which a pass may skip one.

    The layer number `aside` is skipped on request. A backward pass reaches the parameters from the last to the first.
    """

    def __init__(self, rng: torch.Generator, count: int, aside: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(linear(rng, 2, 2) for _ in range(count))
        self.aside = aside

    def forward(self, x: Tensor, skip: bool) -> Any:
        for index, layer in enumerate(self.layers):
            if not (skip and index == self.aside):
                x = layer(x)
        return x


class _Watched:
    """A copy of a case's model under an answer.

    `log` holds the calls of `all_reduce`.
    """

    def __init__(self, answer: Any, case: Case, told: bool) -> None:
        self.model, self.x = copy.deepcopy(case.model), case.x
        self.parameters = list(self.model.parameters())
        self.buckets = [[self.parameters[index] for index in bucket] for bucket in case.order]
        self.log: list[list[Any]] = []
        unused = [self.parameters[self.model.aside]] if told else []
        with garbage_collected():
            self.finish = answer.watch_buckets(self.buckets, self._all_reduce, unused)
        self.hooks = hooks_on(self.parameters)

    def _all_reduce(self, index: Any) -> None:
        known = type(index) is int and 0 <= index < len(self.buckets)
        held = gradients(self.buckets[index]) if known else []
        self.log.append([index, held, [parameter.grad is not None for parameter in self.parameters]])

    def run(self, skip: bool | None) -> tuple[list[Any], list[Any], object]:
        """Run a pass; return the indices that were reduced, what was seen then, and what `finish` did.

        With `skip` None the pass reaches no parameter.
        `finish` is True if it raised a RuntimeError, False if it raised nothing. Another error is named. If `finish`
        reduced buckets, their indices are listed instead.
        """
        self.log.clear()
        with using_answer():
            output = torch.ones(1, requires_grad=True) if skip is None else self.model(self.x, skip)
            output.square().mean().backward()
            entries = list(self.log)
            finished: object = None
            if callable(self.finish):
                try:
                    self.finish()
                    finished = False
                except Exception as error:
                    finished = isinstance(error, RuntimeError) or Caught.of(error, error_kind(error))
            late = [entry[0] for entry in self.log[len(entries) :]]
        return [entry[0] for entry in entries], [entry[1:] for entry in entries], late or finished


@exercise(
    title=Text("Buckets", "Корзины"),
    kind="design",
    difficulty=3,
    aspects=[
        aspect(
            "reduced",
            2,
            en="In each pass `all_reduce` is called once for every bucket, in the order of the list.",
            ru="В каждом проходе `all_reduce` вызывается для каждой корзины один раз, в порядке списка.",
            entries=(
                _PASSES,
                _CALLS,
            ),
        ),
        aspect(
            "moments",
            1,
            en="It is called as early as possible: all gradients of the bucket are in `.grad`, and no later one is.",
            ru="Вызов делается как можно раньше: все градиенты корзины уже в `.grad`, а более поздних ещё нет.",
            entries=(
                _PASSES,
                _CALLS,
                _SEEN,
                OF_PARAMETERS,
            ),
        ),
        aspect(
            "unused",
            1,
            en="Parameters in `unused` are not waited for.",
            ru="Параметров из `unused` никто не ждёт.",
            after=(),
            entries=(
                _PASSES,
                _CALLS,
                _SEEN,
                OF_PARAMETERS,
            ),
        ),
        aspect(
            "finish",
            1,
            en="`finish()` raises RuntimeError exactly if a bucket was not reduced, sends none itself, and the next pass "
            "begins anew.",
            ru="`finish()` вызывает ошибку RuntimeError ровно тогда, когда какая-то корзина не отправлена, сама корзин не "
            "отправляет, а следующий проход начинается заново.",
            entries=(
                _PASSES,
                _CALLS,
            ),
        ),
    ],
    hints=[
        Text(
            "Which hook runs when a gradient is in `.grad`? What has to be true for bucket 1, besides its own "
            "parameters?",
            "Какой хук выполняется, когда градиент уже лежит в `.grad`? Что ещё, кроме готовности своих параметров, "
            "нужно корзине 1?",
        ),
        Text(
            "Keep the parameters that have arrived, and the number of the next bucket. After each hook: while the "
            "next bucket is complete, reduce it.",
            "Храните пришедшие параметры и номер следующей корзины. После каждого хука: пока следующая корзина полна, "
            "отправляйте её.",
        ),
        Text(
            "waiting = [{id(p) for p in bucket} - ... for bucket in buckets]\nnext_bucket = 0\n"
            "def hook(p):\n    ...\n    while next_bucket < len(buckets) and not waiting[next_bucket]:\n        ...\n"
            "def finish():\n    ...  # complete? then as at the beginning\nreturn finish",
            "waiting = [{id(p) for p in bucket} - ... for bucket in buckets]\nnext_bucket = 0\n"
            "def hook(p):\n    ...\n    while next_bucket < len(buckets) and not waiting[next_bucket]:\n        ...\n"
            "def finish():\n    ...\nreturn finish",
        ),
    ],
    why=Why(
        Text(
            "Why does a complete bucket wait for those before it?",
            "Почему готовая корзина ждёт тех, что стоят перед ней?",
        ),
        Text(
            "An all-reduce meets the one that the other process starts at the same place in the order. If the "
            "processes sent in different orders, numbers of different layers would be added.",
            "Операция all-reduce одного процесса встречается с той, которую другой процесс начал под тем же "
            "номером. При разном порядке сложились бы числа разных слоёв.",
        ),
    ),
)
def watch_buckets(answer: Any, case: Case) -> dict[str, object]:
    plain, told = _Watched(answer, case, told=False), _Watched(answer, case, told=True)
    runs = [plain.run(skip) for skip in (False, False, True, False, None)]  # `.grad` is not cleared in between
    skipping = [told.run(True), told.run(True)]
    return {
        "reduced": [run[0] for run in runs[:2]],
        "moments": [run[1] for run in runs[:2]],
        "unused": {
            "calls of all_reduce": [run[0] for run in skipping],
            ".grad at the calls": [run[1] for run in skipping],
            "finish() raised": [run[2] for run in skipping],
        },
        "finish": {
            "finish() raised": [run[2] for run in runs],
            "calls of all_reduce": [run[0] for run in runs[2:]],
        },
        "hooks": plain.hooks > 0,
    }


@watch_buckets.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=Stages(rng, 4, aside=1), order=[[3, 2], [1, 0]], x=signed(rng, 3, 2))
    yield Case(model=Stages(rng, 5, aside=2), order=[[1, 4], [3, 2], [0]], x=signed(rng, 3, 2))
    yield Case(model=Stages(rng, 4, aside=3), order=[[3, 0], [2, 1]], x=signed(rng, 3, 2))
