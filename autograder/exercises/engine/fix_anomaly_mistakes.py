"""Mistakes of `fix_anomaly`."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .fix_anomaly import fix_anomaly


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
    en="A NaN in the backward pass is not reported: None comes back every time.",
    ru="О NaN в обратном проходе отчёта нет: каждый раз возвращается None.",
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


@fix_anomaly.mistake(
    en="A warning that `f` itself gives is returned although there is no NaN. Not every warning is a report.",
    ru="Возвращено предупреждение самой `f`, хотя NaN нет. Не всякое предупреждение — отчёт.",
)
def returns_any_warning(f: Any, x: Tensor) -> str | None:
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss = f(x)
        with contextlib.suppress(RuntimeError):
            loss.backward()
    return str(caught[-1].message) if caught else None


@fix_anomaly.mistake(
    en="Anomaly mode is switched off in the last line only. After a NaN, and after an error of `f`, it stays on; and if it "
    "was on before, it is off now.",
    ru="Режим обнаружения аномалий выключается только в последней строке. После NaN и после исключения из `f` он остаётся "
    "включённым, а если был включён раньше, теперь он выключен.",
)
def switches_it_off_in_the_end(f: Any, x: Tensor) -> str | None:
    torch.autograd.set_detect_anomaly(True)
    loss = f(x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loss.backward()
        except RuntimeError:
            return str(caught[-1].message)
    torch.autograd.set_detect_anomaly(False)
    return None


@fix_anomaly.mistake(
    en="`x.grad` is searched for NaN, and anomaly mode is not used: there is no node and no line to report. If the mode was on "
    "before, its error reaches the caller.",
    ru="NaN ищется в `x.grad`, а режим обнаружения аномалий не используется: назвать ни узел, ни строку нельзя. Если режим был "
    "включён раньше, его исключение доходит до вызывающего кода.",
)
def looks_at_the_gradient(f: Any, x: Tensor) -> str | None:
    f(x).backward()
    return "NaN" if x.grad.isnan().any() else None  # type: ignore[union-attr]


@fix_anomaly.mistake(
    en="The error with which the backward pass reports a NaN is not caught: it reaches the caller.",
    ru="Исключение, которым обратный проход сообщает о NaN, не перехвачено и доходит до вызывающего кода.",
)
def catches_no_error(f: Any, x: Tensor) -> str | None:
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(x).backward()
    return str(caught[-1].message) if caught else None


@fix_anomaly.mistake(
    en="For a NaN True comes back. Asked for is the text of torch's warning.",
    ru="При NaN возвращается True, а нужен текст предупреждения torch.",
)
def returns_true(f: Any, x: Tensor) -> bool | None:
    return True if _caught(f, x)[1] else None


@fix_anomaly.mistake(
    en="A value of `f` that is infinite or NaN is reported. Asked for is a NaN in the backward pass alone.",
    ru="Отчёт приходит, если значение `f` бесконечно или равно NaN, а нужен он только о NaN в обратном проходе.",
)
def reports_what_is_not_finite(f: Any, x: Tensor) -> str | None:
    values: list[Tensor] = []

    def watched(x: Tensor) -> Tensor:
        values.append(f(x))
        return values[0]

    said, error = _caught(watched, x)
    return said[-1] if error else None if values[0].isfinite() else "not finite"
