"""Several ranks in one process, without threads.

An exchange is answered by running all ranks once more. An answer could pass numbers from rank to rank by what outlives
a call. So ranks with other numbers run among them, and nothing tells which belong together.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

T = TypeVar("T")

_MOST_EXCHANGES = 30  # an answer that exchanges for ever ends here


class _Waits(BaseException):
    """The end of a run whose next exchange is unknown.

    No `except Exception` of an answer catches it.
    """


@dataclass
class Link:
    """The connection of one rank to the others in one run.

    `answers` are the sums of the exchanges that are known. The exchange after them ends the run.
    """

    answers: Sequence[list[Tensor]]
    offers: list[list[Tensor]] = field(default_factory=list)
    of_gradients: int = 0

    def sum(self, value: Tensor) -> Tensor:
        """Return the sum over all ranks of `value`.

        Raises TypeError if it is no tensor, as a real all-reduce does.
        """
        if not isinstance(value, Tensor):
            given = "a number" if isinstance(value, (int, float)) else type(value).__name__
            raise TypeError(f"all_reduce() takes a tensor, not {given}")
        return self._exchange([value.detach().clone()])[0]

    def average(self, parameters: Sequence[Tensor], world: int) -> None:
        """Put the mean over all ranks into `.grad` of each parameter."""
        self.of_gradients += 1
        sums = self._exchange([torch.zeros_like(p) if p.grad is None else p.grad.detach().clone() for p in parameters])
        for parameter, total in zip(parameters, sums):
            parameter.grad = total / world

    def _exchange(self, offered: list[Tensor]) -> list[Tensor]:
        self.offers.append(offered)
        if len(self.offers) > len(self.answers):
            raise _Waits
        return [each.clone() for each in self.answers[len(self.offers) - 1]]


def with_others(inputs: Sequence[T]) -> list[T]:
    """Return the inputs of each rank, and after them inputs with other numbers.

    Each number is multiplied by a random one between 0.75 and 1.25. These are new ones in each run, because an answer
    that knows them could tell these ranks apart.
    """
    rng = torch.Generator()
    rng.seed()

    def other(tensor: Tensor) -> Tensor:
        return tensor * (torch.rand(tensor.shape, generator=rng, dtype=tensor.dtype) / 2 + 0.75)

    return [*inputs, *(tree_map_only(Tensor, other, each) for each in inputs)]


def run_together(run: Callable[[int, Link], None], world: int) -> list[Link]:
    """Call `run(rank, link)` for each rank until every exchange is answered; return the last links.

    A run must do the same each time, up to what it is answered. A rank whose exchange the others never join waits for
    ever: its run ends there. The ranks from `world` on have the inputs that `with_others` adds: they run among the
    first ones, and their errors do not count.
    """
    last: list[Link] = []

    def run_other(rank: int, link: Link) -> None:
        with suppress(Exception):
            run(world + rank, link)

    waiting = [_steps(run, world, last), _steps(run_other, world, [])]
    while waiting:
        random.SystemRandom().shuffle(waiting)
        waiting = [steps for steps in waiting if next(steps, False)]
    return last


def _steps(run: Callable[[int, Link], None], world: int, last: list[Link]) -> Iterator[bool]:
    """Run ranks that exchange with each other, and yield True after each call.

    The last links are put into `last`.
    """
    answers: list[list[Tensor]] = []
    while True:
        links = [Link(answers) for _ in range(world)]
        for rank, link in enumerate(links):
            with suppress(_Waits):
                run(rank, link)
            yield True
        offers = [link.offers[len(answers)] for link in links if len(link.offers) > len(answers)]
        shapes = {tuple(tuple(each.shape) for each in offer) for offer in offers}
        if len(offers) < world or len(shapes) > 1 or len(answers) == _MOST_EXCHANGES:
            last += links
            return
        answers.append([torch.stack(parts).sum(0) for parts in zip(*offers)])


class Rank(nn.Module):
    """A model of one rank, averaged as by `DistributedDataParallel`.

    There is a single bucket.
    """

    def __init__(self, module: nn.Module, link: Link, world: int) -> None:
        super().__init__()
        self.module = module
        self._link, self._world = link, world
        self._parameters_sent = [p for p in module.parameters() if p.requires_grad]
        self._synchronises, self._missing = True, set[Tensor]()
        self.has_been_quiet = False
        for parameter in self._parameters_sent:
            parameter.register_post_accumulate_grad_hook(self._arrived)

    def __repr__(self) -> str:
        return f"DistributedDataParallel({self.module})"

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        before, self._synchronises = self._synchronises, False
        self.has_been_quiet = True
        try:
            yield
        finally:
            self._synchronises = before

    def forward(self, *inputs: Any) -> Any:
        if self._synchronises and torch.is_grad_enabled():
            self._missing = set(self._parameters_sent)
        return self.module(*inputs)

    def _arrived(self, parameter: Tensor) -> None:
        if parameter in self._missing:
            self._missing.remove(parameter)
            if not self._missing:
                self._link.average(self._parameters_sent, self._world)
