"""Core exercise: reduce a bucket when all its gradients are there."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import gradients, linear

Buckets = list[list[Tensor]]


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
        self.finish = answer.watch_buckets(self.buckets, self._all_reduce, unused)

    def _all_reduce(self, index: Any) -> None:
        known = type(index) is int and 0 <= index < len(self.buckets)
        held = gradients(self.buckets[index]) if known else []
        self.log.append([index, held, [parameter.grad is not None for parameter in self.parameters]])

    def run(self, skip: bool) -> tuple[list[Any], list[Any], object]:
        """Run a pass; return the indices that were reduced, what was seen then, and whether `finish` raised."""
        self.log.clear()
        with using_answer():
            self.model(self.x, skip).square().mean().backward()
            entries, raised = list(self.log), None
            if callable(self.finish):
                try:
                    self.finish()
                    raised = False
                except RuntimeError:
                    raised = True
        return [entry[0] for entry in entries], [entry[1:] for entry in entries], raised


@exercise(
    title=Text("Buckets", "Корзины"),
    kind="design",
    core=True,
    difficulty=3,
    minutes=18,
    aspects=[
        aspect(
            "reduced",
            2,
            en="In each pass `all_reduce` is called once for every bucket, in the order of the list.",
            ru="В каждом проходе `all_reduce` вызывается для каждой корзины один раз, в порядке списка.",
        ),
        aspect(
            "moments",
            1,
            en="It is called as early as possible: all gradients of the bucket are in `.grad`, and no later one is.",
            ru="Вызов делается как можно раньше: все градиенты корзины уже в `.grad`, а более поздних ещё нет.",
        ),
        aspect(
            "unused",
            1,
            en="Parameters in `unused` are not waited for.",
            ru="Параметров из `unused` никто не ждёт.",
            after=(),
        ),
        aspect(
            "finish",
            1,
            en="`finish()` raises RuntimeError exactly if a bucket was not reduced, and the next pass begins anew.",
            ru="`finish()` вызывает ошибку RuntimeError ровно тогда, когда какая-то корзина не отправлена, а следующий "
            "проход начинается заново.",
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
)
def watch_buckets(answer: Any, case: Case) -> dict[str, object]:
    plain, told = _Watched(answer, case, told=False), _Watched(answer, case, told=True)
    runs = [plain.run(skip) for skip in (False, False, True, False)]  # `.grad` is not cleared in between
    skipping = [told.run(True), told.run(True)]
    return {
        "reduced": [run[0] for run in runs[:2]],
        "moments": [run[1] for run in runs[:2]],
        "unused": [list(run) for run in skipping],
        "finish": [[run[2] for run in runs], [run[0] for run in runs[2:]]],
    }


@watch_buckets.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=Stages(rng, 4, aside=1), order=[[3, 2], [1, 0]], x=signed(rng, 3, 2))
    yield Case(model=Stages(rng, 5, aside=2), order=[[1, 4], [3, 2], [0]], x=signed(rng, 3, 2))
    yield Case(model=Stages(rng, 4, aside=3), order=[[3, 0], [2, 1]], x=signed(rng, 3, 2))


class _Reducer:
    """A reducer with flaws to choose, for the mistakes below."""

    def __init__(
        self,
        buckets: Buckets,
        all_reduce: Callable[[int], object],
        unused: Collection[Tensor],
        ordered: bool = True,
        resets: bool = True,
        late: bool = False,
    ) -> None:
        self.buckets, self.all_reduce, self.ordered = buckets, all_reduce, ordered
        self.resets, self.late = resets, late
        self.skipped = {id(parameter) for parameter in unused}
        self.begin()

    def begin(self) -> None:
        self.waiting = [{id(parameter) for parameter in bucket} - self.skipped for bucket in self.buckets]
        self.reduced: list[int] = []

    def arrive(self, parameter: Tensor) -> None:
        for waiting in self.waiting:
            waiting.discard(id(parameter))
        if not self.late or not any(self.waiting):
            self.reduce()

    def reduce(self) -> None:
        for index, waiting in enumerate(self.waiting):
            if waiting and self.ordered:
                return
            if not waiting and index not in self.reduced:
                self.reduced.append(index)
                self.all_reduce(index)

    def finish(self) -> None:
        complete = len(self.reduced) == len(self.buckets)
        if self.resets or complete:
            self.begin()
        if not complete:
            raise RuntimeError("a bucket was not reduced")


def _hooked(reducer: _Reducer) -> Any:
    for parameter in (parameter for bucket in reducer.buckets for parameter in bucket):
        parameter.register_post_accumulate_grad_hook(reducer.arrive)
    return reducer.finish


@watch_buckets.mistake(
    en="A bucket goes as soon as it is complete, even if one before it is not. Two processes could then wait for each "
    "other with different buckets.",
    ru="Корзина отправляется, как только она полна, даже если одна из предыдущих ещё не готова. Тогда два процесса "
    "могли бы ждать друг друга с разными корзинами.",
)
def in_order_of_completion(buckets: Buckets, all_reduce: Any, unused: Collection[Tensor] = ()) -> Any:
    return _hooked(_Reducer(buckets, all_reduce, unused, ordered=False))


@watch_buckets.mistake(
    en="All buckets go at the end of the pass. They have to go while the pass is still at work: that is what buckets "
    "are for.",
    ru="Все корзины отправляются в конце прохода. А они должны уходить, пока проход ещё идёт: для этого корзины и "
    "нужны.",
)
def all_at_the_end(buckets: Buckets, all_reduce: Any, unused: Collection[Tensor] = ()) -> Any:
    return _hooked(_Reducer(buckets, all_reduce, unused, late=True))


@watch_buckets.mistake(
    en="A tensor hook counts the gradients. It runs before they are in `.grad`, so what is reduced is not there yet.",
    ru="Градиенты считает хук тензора. Он выполняется раньше, чем они попадают в `.grad`, и отправляется не то.",
)
def with_tensor_hooks(buckets: Buckets, all_reduce: Any, unused: Collection[Tensor] = ()) -> Any:
    reducer = _Reducer(buckets, all_reduce, unused)
    for parameter in (parameter for bucket in buckets for parameter in bucket):
        parameter.register_hook(lambda _, parameter=parameter: reducer.arrive(parameter))  # type: ignore[misc]
    return reducer.finish


@watch_buckets.mistake(
    en="`unused` is not looked at: a bucket with an unused parameter waits for ever.",
    ru="Аргумент `unused` не учтён: корзина с неиспользуемым параметром ждёт вечно.",
)
def waits_for_unused(buckets: Buckets, all_reduce: Any, unused: Collection[Tensor] = ()) -> Any:
    return _hooked(_Reducer(buckets, all_reduce, ()))


@watch_buckets.mistake(
    en="`finish()` never raises: a bucket that was not reduced goes unnoticed.",
    ru="`finish()` никогда не вызывает ошибки: корзина, которую не отправили, останется незамеченной.",
)
def never_raises(buckets: Buckets, all_reduce: Any, unused: Collection[Tensor] = ()) -> Any:
    reducer = _Reducer(buckets, all_reduce, unused)
    _hooked(reducer)
    return reducer.begin


@watch_buckets.mistake(
    en="After a pass that was not finished the next one does not begin anew: it goes on with what had arrived.",
    ru="После незавершённого прохода следующий не начинается заново, а продолжает с тем, что уже пришло.",
)
def goes_on_after_an_error(buckets: Buckets, all_reduce: Any, unused: Collection[Tensor] = ()) -> Any:
    return _hooked(_Reducer(buckets, all_reduce, unused, resets=False))


@watch_buckets.mistake(
    en="Only the first pass is watched: what has arrived is never forgotten.",
    ru="Отслеживается только первый проход: пришедшее никогда не забывается.",
)
def watches_one_pass(buckets: Buckets, all_reduce: Any, unused: Collection[Tensor] = ()) -> Any:
    reducer = _Reducer(buckets, all_reduce, unused)
    _hooked(reducer)
    return lambda: None


@watch_buckets.mistake(
    en="No function comes back, so there is no `finish()` to call, and no second pass.",
    ru="Функция не возвращается: вызвать `finish()` нельзя, а значит, нет и второго прохода.",
)
def returns_nothing(buckets: Buckets, all_reduce: Any, unused: Collection[Tensor] = ()) -> None:
    _hooked(_Reducer(buckets, all_reduce, unused))


@watch_buckets.mistake(
    en="`all_reduce` is called after every gradient, not once for each bucket.",
    ru="Функция `all_reduce` вызывается после каждого градиента, а не один раз для корзины.",
)
def for_every_gradient(buckets: Buckets, all_reduce: Any, unused: Collection[Tensor] = ()) -> Any:
    reducer = _Reducer(buckets, all_reduce, unused)

    def hook(parameter: Tensor) -> None:
        index = next(i for i, bucket in enumerate(buckets) if any(parameter is each for each in bucket))
        all_reduce(index)
        reducer.arrive(parameter)

    reducer.all_reduce = lambda index: None
    for parameter in (parameter for bucket in buckets for parameter in bucket):
        parameter.register_post_accumulate_grad_hook(hook)
    return reducer.finish
