"""The steps of a whole script, watched as it runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch

from .finding import take_new
from .findings import find_all
from .modules import find_models
from .report import StepReport
from .watch import StepWatch


class _Enough(BaseException):
    """The end of a script whose first steps were watched."""


class ScriptWatch:
    """A watch over the first steps of a script.

    Its models are found when an optimizer is made. `reports` holds a report for each step with something new. After
    the steps the script ends if `ends` is True, and else goes on unwatched.
    """

    def __init__(self, steps: int, *, ends: bool) -> None:
        self.steps, self.ends = steps, ends
        self.reports: list[StepReport] = []
        self.number = 0
        self._said: set[tuple[str, str]] = set()
        self._watch = StepWatch(updated=self._end_step)

    def run(self, script: Callable[[], object]) -> None:
        """Run a script, if it `ends` until its optimizers have made the steps.

        Raises what the script raises, after a report on the step that was not finished.
        """
        with ExitStack() as stack:
            self._watch_optimizers(stack)
            stack.enter_context(self._watch.watching())
            try:
                script()
            except _Enough:
                return
            except Exception as error:
                if not self._watch.is_over:
                    self._find_models()
                    self._watch.seen.error = error
                    self._report()
                raise

    def _end_step(self) -> None:
        self.number += 1
        if self.number == 1:
            self._find_models()  # the model may have been made anew since
        self._report()
        if self.number < self.steps:
            self._watch.begin_step()
        elif self.ends:
            raise _Enough
        else:
            self._watch.end()

    def _watch_optimizers(self, stack: ExitStack) -> None:
        """Note each optimizer that is made, and look for the models that it trains."""
        original = torch.optim.Optimizer.__init__

        def made(optimizer: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._watch.optimizers.append(optimizer)
            self._find_models()

        torch.optim.Optimizer.__init__ = made  # type: ignore[assignment, method-assign]
        stack.callback(setattr, torch.optim.Optimizer, "__init__", original)

    def _find_models(self) -> None:
        held = (each for o in self._watch.optimizers for group in o.param_groups for each in group["params"])
        self._watch.models = find_models(held)
        self._watch.name_parameters()

    def _report(self) -> None:
        if found := take_new(find_all(self._watch), self._said):
            self.reports.append(StepReport.of(self.number, found, self._watch))
