"""Extra exercise: a report of the forward line behind a NaN."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import uniform
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import CountedCalls


def masked_root(x: Tensor) -> Tensor:
    """Compute roots of the positive entries. The gradient of a zero entry is NaN."""
    return torch.where(x > 0, x.sqrt(), torch.zeros_like(x)).sum()


def masked_logarithm(x: Tensor) -> Tensor:
    """Compute logarithms of the positive entries. The gradient of a zero entry is NaN."""
    return torch.where(x > 0, x.square().log(), torch.zeros_like(x)).sum()


def healthy(x: Tensor) -> Tensor:
    return (x + 1).sqrt().sum()


_NODES = {masked_root: "SqrtBackward0", masked_logarithm: "LogBackward0"}


@exercise(
    title=Text("No forward line", "Строка не названа"),
    kind="find the bug",
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "report",
            1,
            en="For a NaN the report is torch's warning, with the node and the forward line; without a NaN it is None.",
            ru="При NaN отчёт — это предупреждение torch с узлом и строкой прямого прохода; если NaN нет, возвращается None.",
        ),
        aspect(
            "mode",
            1,
            en="Anomaly mode is afterwards what it was before.",
            ru="Режим обнаружения аномалий потом такой же, каким был.",
            after=(),
        ),
        aspect(
            "once",
            1,
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
        Text(
            "try:\n    with torch.autograd.detect_anomaly():\n        ...\nexcept RuntimeError:\n"
            "    return str(caught[-1].message)",
            "try:\n    with torch.autograd.detect_anomaly():\n        ...\nexcept RuntimeError:\n"
            "    return str(caught[-1].message)",
        ),
    ],
)
def fix_anomaly(answer: Any, case: Case) -> dict[str, object]:
    counted = CountedCalls(case.f)
    torch.autograd.set_detect_anomaly(case.on)
    try:
        with using_answer():
            report = answer.fix_anomaly(counted.function, case.x.clone().requires_grad_())
        after = torch.is_anomaly_enabled()
    finally:
        torch.autograd.set_detect_anomaly(False)
    seen: object = report
    if isinstance(report, str):
        line, node = case.f.__name__, _NODES.get(case.f, "nothing")
        seen = {"names the node": node in report, "names the line": f"in {line}" in report}
    return {"report": seen, "mode": after == case.on, "once": counted.times, "left on": after}


@fix_anomaly.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def case(f: Callable[[Tensor], Tensor], on: bool) -> Case:
        x = uniform(rng, 3)
        x[1] = 0
        return Case(f=f, x=x, on=on)

    yield case(masked_root, on=False)
    yield case(healthy, on=False)
    yield case(masked_logarithm, on=True)
    yield case(healthy, on=True)


def _caught(f: Callable[[Tensor], Tensor], x: Tensor, *, forward_inside: bool = True) -> tuple[list[str], str]:
    """Run both passes, the backward pass in anomaly mode; return the warnings and the error's text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loss = None if forward_inside else f(x)
            with torch.autograd.detect_anomaly():
                (f(x) if loss is None else loss).backward()
        except RuntimeError as error:
            return [str(warning.message) for warning in caught], str(error)
    return [str(warning.message) for warning in caught], ""


@fix_anomaly.mistake(
    en="The forward pass runs outside anomaly mode. torch then has no line to name: “No forward pass information available”.",
    ru="Прямой проход выполняется вне режима обнаружения аномалий. Тогда torch не может назвать строку: «No forward pass "
    "information available».",
)
def forward_outside(f: Any, x: Tensor) -> str | None:
    said, error = _caught(f, x, forward_inside=False)
    return said[-1] if error else None


@fix_anomaly.mistake(
    en="Anomaly mode stays on. It makes every later backward pass of the process slower.",
    ru="Режим обнаружения аномалий остаётся включённым. Каждый следующий обратный проход процесса будет медленнее.",
)
def leaves_it_on(f: Any, x: Tensor) -> str | None:
    said, error = _caught(f, x)
    torch.autograd.set_detect_anomaly(True)
    return said[-1] if error else None


@fix_anomaly.mistake(
    en="Anomaly mode is switched off at the end, whatever it was before. `detect_anomaly()` restores it.",
    ru="В конце режим обнаружения аномалий выключается, каким бы он ни был. Контекст `detect_anomaly()` восстанавливает его.",
)
def switches_it_off(f: Any, x: Tensor) -> str | None:
    said, error = _caught(f, x)
    torch.autograd.set_detect_anomaly(False)
    return said[-1] if error else None


@fix_anomaly.mistake(
    en="The text of the error is returned. It names the node; the line is in the warning.",
    ru="Возвращён текст исключения. В нём назван узел, а строка — в предупреждении.",
)
def returns_the_error(f: Any, x: Tensor) -> str | None:
    return _caught(f, x)[1] or None


@fix_anomaly.mistake(
    en="The first warning is returned. It only says that the mode is on, and it comes without a NaN as well.",
    ru="Возвращено первое предупреждение. В нём сказано лишь, что режим включён, и появляется оно и без NaN.",
)
def returns_the_first_warning(f: Any, x: Tensor) -> str:
    return _caught(f, x)[0][0]


@fix_anomaly.mistake(
    en="`f` is called a second time to find the line. One forward pass in anomaly mode is enough.",
    ru="Чтобы найти строку, функция `f` вызвана ещё раз. Достаточно одного прямого прохода в режиме обнаружения аномалий.",
)
def calls_twice(f: Any, x: Tensor) -> str | None:
    _caught(f, x, forward_inside=False)
    said, error = _caught(f, x)
    return said[-1] if error else None


@fix_anomaly.mistake(
    en="A report is looked for, but NaN in the backward pass does not reach the caller: None comes back every time.",
    ru="Отчёт ищется, но о NaN в обратном проходе вызывающий не узнаёт: каждый раз возвращается None.",
)
def reports_nothing(f: Any, x: Tensor) -> None:
    _caught(f, x)
