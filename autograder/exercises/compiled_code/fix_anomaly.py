"""Extra exercise: a report of the forward line behind a NaN."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import uniform
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.language import Text
from autograder.measure import CountedCalls

_OLD = "masked_root is old"  # the text of a warning of this function's own


def masked_root(x: Tensor) -> Tensor:
    """Give a warning; compute roots of the positive entries. The gradient of a zero entry is NaN."""
    warnings.warn(_OLD, stacklevel=2)
    return torch.where(x > 0, x.sqrt(), torch.zeros_like(x)).sum()


def masked_logarithm(x: Tensor) -> Tensor:
    """Compute logarithms of the positive entries. The gradient of a zero entry is NaN."""
    return torch.where(x > 0, x.square().log(), torch.zeros_like(x)).sum()


def healthy(x: Tensor) -> Tensor:
    """Compute NaN. The gradient is finite."""
    return (x + 1).sqrt().sum() + torch.nan


def steep(x: Tensor) -> Tensor:
    """Compute logarithms. Of a zero entry value and gradient are infinite, but no NaN."""
    return x.log().sum()


def wordy(x: Tensor) -> Tensor:
    """Give a warning; compute squares. Nothing is NaN."""
    warnings.warn(_OLD, stacklevel=2)
    return x.square().sum()


def broken(x: Tensor) -> Tensor:
    raise RuntimeError("this input cannot be used")


_NODES = {masked_root: "SqrtBackward0", masked_logarithm: "LogBackward0"}


@exercise(
    title=Text("No forward line", "Строка не названа"),
    kind="find the bug",
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "report",
            1.5,
            en="For a NaN the report is torch's warning, with the node and the forward line; without a NaN it is None. An error "
            "of `f` reaches the caller.",
            ru="При NaN возвращается предупреждение torch, в котором названы узел и строка прямого прохода, без NaN — None. "
            "Исключение из `f` доходит до вызывающего кода.",
        ),
        aspect(
            "mode",
            0.75,
            en="`f` was called, and anomaly mode is afterwards what it was before.",
            ru="Функция `f` вызвана, а режим обнаружения аномалий после этого такой же, каким был.",
            after=(),
        ),
        aspect(
            "once",
            0.75,
            en="`f` is called once.",
            ru="Функция `f` вызвана один раз.",
        ),
    ],
    hints=[
        Text(
            "When must torch note the line of an operation: in the forward pass or in the backward pass?",
            "Когда torch должен запомнить строку операции: в прямом проходе или в обратном?",
        ),
        Text(
            "`torch.autograd.detect_anomaly()` is a context manager: it restores the mode, also after an error. Put both "
            "passes into it.",
            "`torch.autograd.detect_anomaly()` — контекстный менеджер: он восстанавливает режим и после исключения. Оба прохода "
            "должны быть внутри.",
        ),
        Text.same(
            "with torch.autograd.detect_anomaly():\n    loss = ...\n    try:\n        ...\n    except RuntimeError:\n"
            "        return str(caught[-1].message)"
        ),
    ],
)
def fix_anomaly(answer: Any, case: Case) -> dict[str, object]:
    counted = CountedCalls(case.f)
    torch.autograd.set_detect_anomaly(case.on)
    report: object = None
    try:
        with using_answer(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", _OLD)  # else a card shows it
            report = answer.fix_anomaly(counted.function, case.x.clone().requires_grad_())
    except AnswerRaised as error:
        if case.f is not broken or "this input" not in str(error.__cause__):
            raise
        report = "RuntimeError"
    finally:
        after = torch.is_anomaly_enabled()
        torch.autograd.set_detect_anomaly(False)
    raised, text, line = report == "RuntimeError", report if isinstance(report, str) else "", case.f.__name__
    seen = {
        "error of f passed on": raised,
        "no report": report is None,
        "names the node": not raised and _NODES.get(case.f, "nothing") in text,
        "names the line": not raised and f"in {line}" in text,
    }
    return {
        "report": seen,
        "mode": after == case.on and counted.times > 0,
        "once": counted.times,
        "left on": after,
        "notice": "has been enabled" in str(report),
        "warning of f": _OLD in str(report),
        "type": type(report).__name__,
    }


@fix_anomaly.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def case(f: Callable[[Tensor], Tensor], on: bool) -> Case:
        x = uniform(rng, 3)
        x[1] = 0
        return Case(f=f, x=x, on=on)

    yield case(masked_root, on=False)
    yield case(steep, on=False)
    yield case(masked_logarithm, on=True)
    yield case(healthy, on=True)
    yield case(broken, on=False)
    yield case(wordy, on=False)
