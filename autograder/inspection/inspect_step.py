"""`inspect_step()`: what is wrong in a training step that raises no error."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from types import TracebackType

import torch

from ..session import in_ipython
from .finding import take_new
from .findings import find_all
from .report import StepReport
from .watch import StepWatch


class inspect_step:
    """A watch over one training step, to be entered with `with`.

        with inspect_step(model, optimizer):
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()

    It says what is wrong without an error, with names of parameters and lines: parts that no gradient reaches,
    gradients that were not cleared, a loss scale still in them, graphs that are carried over, and more. `model` and
    `optimizer` may be lists. The block holds one whole step: with accumulation the whole window. Made once before a
    loop and entered in each step, it says only what is new. It changes no gradient and no random state.
    Compiled code runs as it is written, because its operations could not be seen otherwise.
    """

    def __init__(
        self,
        model: torch.nn.Module | Iterable[torch.nn.Module] = (),
        optimizer: torch.optim.Optimizer | Iterable[torch.optim.Optimizer] = (),
    ) -> None:
        models = [model] if isinstance(model, torch.nn.Module) else [*model]
        optimizers = [optimizer] if isinstance(optimizer, torch.optim.Optimizer) else [*optimizer]
        self.watch = StepWatch(models, optimizers)
        self.report = StepReport(0, ())
        self._said: set[tuple[str, str]] = set()
        self._number = 0

    def __enter__(self) -> inspect_step:
        self._stack = ExitStack()
        self._stack.enter_context(self.watch.watching())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)
        self.watch.seen.error = error
        self._number += 1
        found = find_all(self.watch)
        self.report = StepReport.of(self._number, found, self.watch)
        new = take_new(found, self._said)
        if new or self._number == 1:
            _show(self.report if self._number == 1 else self.report.only(new))


def _show(report: StepReport) -> None:
    if in_ipython():
        from IPython.display import display

        display(report)
    else:
        print(report)
