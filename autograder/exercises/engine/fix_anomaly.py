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
            1,
            en="For a NaN the report is torch's warning, with the node and the forward line; without a NaN it is None. An error "
            "of `f` reaches the caller.",
            ru="При NaN отчёт — это предупреждение torch с узлом и строкой прямого прохода; если NaN нет, возвращается None. "
            "Исключение из `f` доходит до вызывающего кода.",
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
            "with torch.autograd.detect_anomaly():\n    loss = ...\n    try:\n        ...\n    except RuntimeError:\n"
            "        return str(caught[-1].message)",
            "with torch.autograd.detect_anomaly():\n    loss = ...\n    try:\n        ...\n    except RuntimeError:\n"
            "        return str(caught[-1].message)",
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
    seen: object = report
    if isinstance(report, str) and report != "RuntimeError":
        line, node = case.f.__name__, _NODES.get(case.f, "nothing")
        seen = {"names the node": node in report, "names the line": f"in {line}" in report}
    return {
        "report": seen,
        "mode": after == case.on,
        "once": counted.times,
        "left on": after,
        "notice": "has been enabled" in str(report),
        "warning of f": _OLD in str(report),
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


def _caught(f: Callable[[Tensor], Tensor], x: Tensor, *, forward_inside: bool = True) -> tuple[list[str], str]:
    """Run both passes, the backward pass in anomaly mode; return the warnings and the error's text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss = None if forward_inside else f(x)
        with torch.autograd.detect_anomaly():
            loss = f(x) if loss is None else loss
            try:
                loss.backward()
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
    torch.autograd.set_detect_anomaly(True)
    said, error = _caught(f, x)
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


@fix_anomaly.mistake(
    en="An infinite value is reported as well. Asked for is a NaN in the backward pass alone.",
    ru="Отчёт приходит и о бесконечном значении, а нужен он только о NaN в обратном проходе.",
)
def reports_infinity(f: Any, x: Tensor) -> str | None:
    said, error = _caught(f, x)
    infinite = x.grad is not None and bool(x.grad.isinf().any())
    return said[-1] if error else "infinite" if infinite else None


@fix_anomaly.mistake(
    en="An error that `f` raises is lost. It should reach the caller.",
    ru="Исключение, которое вызвала `f`, пропадает, а должно дойти до вызывающего кода.",
)
def swallows_errors(f: Any, x: Tensor) -> str | None:
    try:
        said, error = _caught(f, x)
        return said[-1] if error else None
    except RuntimeError:
        return None


@fix_anomaly.mistake(
    en="An error that `f` raises is taken for a NaN: the function returns a text. The error should reach the caller.",
    ru="Исключение, которое вызвала `f`, принято за NaN: функция возвращает текст. Исключение должно дойти до вызывающего "
    "кода.",
)
def takes_errors_for_nan(f: Any, x: Tensor) -> str | None:
    try:
        said, error = _caught(f, x)
        return said[-1] if error else None
    except RuntimeError as raised:
        return str(raised)


@fix_anomaly.mistake(
    en="If `f` raises an error, anomaly mode stays on. `finally`, or the context manager, restores it then, too.",
    ru="Если `f` завершилась исключением, режим обнаружения аномалий остаётся включённым. Блок `finally` или контекстный "
    "менеджер вернёт его и тогда.",
)
def restores_without_errors(f: Any, x: Tensor) -> str | None:
    before = torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True)
    said, error = _caught(f, x)
    torch.autograd.set_detect_anomaly(before)
    return said[-1] if error else None


@fix_anomaly.mistake(
    en="If there was a NaN, anomaly mode stays on: the function returns before the mode is restored.",
    ru="Если NaN нашёлся, режим обнаружения аномалий остаётся включённым: функция завершается раньше, чем он восстановлен.",
)
def restores_without_nan(f: Any, x: Tensor) -> str | None:
    before = torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True)
    said, error = _caught(f, x)
    if error:
        return said[-1]
    torch.autograd.set_detect_anomaly(before)
    return None


@fix_anomaly.mistake(
    en="The first warning is returned. It only says that the mode is on; the line is in the last one.",
    ru="Возвращено первое предупреждение. В нём сказано лишь, что режим включён; строка — в последнем.",
)
def returns_the_notice(f: Any, x: Tensor) -> str | None:
    said, error = _caught(f, x)
    return said[0] if error else None


@fix_anomaly.mistake(
    en="The warning itself is returned. Asked for is its text.",
    ru="Возвращено само предупреждение, а нужен его текст.",
)
def returns_the_warning(f: Any, x: Tensor) -> UserWarning | None:
    said, error = _caught(f, x)
    return UserWarning(said[-1]) if error else None


@fix_anomaly.mistake(
    en="Without a NaN in the backward pass a text comes back as well. It should be None.",
    ru="Если в обратном проходе NaN нет, тоже возвращается текст, а должно быть None.",
)
def never_none(f: Any, x: Tensor) -> str:
    said, error = _caught(f, x)
    return said[-1] if error else ""


@fix_anomaly.mistake(
    en="Anomaly mode is not switched on. There is a report only if it was on before.",
    ru="Режим обнаружения аномалий не включается. Отчёт есть, только если он был включён раньше.",
)
def keeps_the_mode(f: Any, x: Tensor) -> str | None:
    if torch.is_anomaly_enabled():
        said, error = _caught(f, x)
        return said[-1] if error else None
    f(x).backward()
    return None


@fix_anomaly.mistake(
    en="The report lacks the node. It is in the first line of torch's warning.",
    ru="В отчёте не назван узел. Он стоит в первой строке предупреждения torch.",
)
def cuts_the_report(f: Any, x: Tensor) -> str | None:
    said, error = _caught(f, x)
    return said[-1].split("\n", 1)[1] if error else None


@fix_anomaly.mistake(
    en="The report is a text of your own. It should be torch's warning, with the node and the forward line.",
    ru="Отчёт — ваш собственный текст, а нужно предупреждение torch, с узлом и строкой прямого прохода.",
)
def writes_its_own(f: Any, x: Tensor) -> str | None:
    return "NaN" if _caught(f, x)[1] else None


@fix_anomaly.mistake(
    en="A warning that `f` itself gives is returned. Take the one from the backward pass: torch's comes last.",
    ru="Возвращено предупреждение самой `f`. Нужно предупреждение из обратного прохода: torch выдаёт его последним.",
)
def returns_the_warning_of_f(f: Any, x: Tensor) -> str | None:
    said, error = _caught(f, x)
    return said[1] if error and len(said) > 2 else said[-1] if error else None


@fix_anomaly.mistake(
    en="A NaN in the value of `f` is reported although there is none in the backward pass.",
    ru="Отчёт приходит и о NaN в значении `f`, хотя в обратном проходе NaN нет.",
)
def reports_a_value(f: Any, x: Tensor) -> str | None:
    values: list[Tensor] = []

    def watched(x: Tensor) -> Tensor:
        values.append(f(x))
        return values[0]

    said, error = _caught(watched, x)
    return said[-1] if error else "NaN" if values[0].isnan() else None


@fix_anomaly.mistake(
    en="A backward pass runs outside `try`. If anomaly mode was already on, its error reaches the caller.",
    ru="Один обратный проход выполняется вне `try`. Если режим обнаружения аномалий уже был включён, исключение доходит до "
    "вызывающего кода.",
)
def looks_first(f: Any, x: Tensor) -> str | None:
    f(x).backward()
    return _caught(f, x)[0][-1] if x.grad.isnan().any() else None  # type: ignore[union-attr]
