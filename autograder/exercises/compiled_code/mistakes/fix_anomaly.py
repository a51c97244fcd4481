# %%
import contextlib
import warnings

import torch


def _caught(f, x, *, forward_inside=True):
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

# %% mistake="forward_outside" theme="own"
# The forward pass runs outside anomaly mode. torch then has no line to name: “No forward pass information
#     available”.
# Прямой проход выполняется вне режима обнаружения аномалий. Тогда torch не может назвать строку: «No forward pass
#     information available».
def fix_anomaly(f, x):
    said, error = _caught(f, x, forward_inside=False)
    return said[-1] if error else None

# %% mistake="leaves_it_on" theme="state"
# Anomaly mode stays on. It makes every later backward pass of the process slower.
# Режим обнаружения аномалий остаётся включённым. Каждый следующий обратный проход процесса будет медленнее.
def fix_anomaly(f, x):
    torch.autograd.set_detect_anomaly(True)
    said, error = _caught(f, x)
    return said[-1] if error else None

# %% mistake="switches_it_off" theme="state"
# Anomaly mode is switched off at the end, whatever it was before. `detect_anomaly()` restores it.
# В конце режим обнаружения аномалий выключается, даже если до вызова он был включён. Контекстный менеджер
#     `detect_anomaly()` возвращает прежнее состояние.
def fix_anomaly(f, x):
    said, error = _caught(f, x)
    torch.autograd.set_detect_anomaly(False)
    return said[-1] if error else None

# %% mistake="returns_the_error" theme="missing"
# The node is named, and the line is not: what is returned is the text of the error, or the beginning of the warning
#     alone. The line stands further down in the warning.
# Узел назван, а строка — нет: возвращён текст исключения или только начало предупреждения. Строка стоит в
#     предупреждении ниже.
def fix_anomaly(f, x):
    return _caught(f, x)[1] or None

# %% mistake="returns_the_first_warning" theme="missing"
# The first warning is returned. It only says that the mode is on, and it comes without a NaN as well.
# Возвращено первое предупреждение. В нём сказано лишь, что режим включён, и появляется оно и без NaN.
def fix_anomaly(f, x):
    return _caught(f, x)[0][0]

# %% mistake="calls_twice" theme="cost"
# `f` is called a second time to find the line. One forward pass in anomaly mode is enough.
# Чтобы найти строку, функция `f` вызвана ещё раз. Достаточно одного прямого прохода в режиме обнаружения аномалий.
def fix_anomaly(f, x):
    _caught(f, x, forward_inside=False)
    said, error = _caught(f, x)
    return said[-1] if error else None

# %% mistake="reports_nothing" theme="missing"
# A NaN in the backward pass is not reported: None comes back every time.
# О значениях NaN в обратном проходе функция не сообщает: каждый раз возвращается None.
def fix_anomaly(f, x):
    _caught(f, x)

# %% mistake="reports_infinity" theme="precision"
# An infinite value is reported as well. Asked for is a NaN in the backward pass alone.
# Отчёт приходит и о бесконечном значении, а нужен он только о NaN в обратном проходе.
def fix_anomaly(f, x):
    said, error = _caught(f, x)
    infinite = x.grad is not None and bool(x.grad.isinf().any())
    return said[-1] if error else "infinite" if infinite else None

# %% mistake="swallows_errors" theme="own"
# An error that `f` raises is lost. It should reach the caller.
# Исключение, которое вызвала `f`, пропадает, а должно дойти до вызывающего кода.
def fix_anomaly(f, x):
    try:
        said, error = _caught(f, x)
        return said[-1] if error else None
    except RuntimeError:
        return None

# %% mistake="takes_errors_for_nan" theme="own"
# An error that `f` raises is taken for a NaN: the function returns a text. The error should reach the caller.
# Исключение, которое вызвала `f`, принято за NaN: функция возвращает текст. Исключение должно дойти до вызывающего
#     кода.
def fix_anomaly(f, x):
    try:
        said, error = _caught(f, x)
        return said[-1] if error else None
    except RuntimeError as raised:
        return str(raised)

# %% mistake="restores_without_errors" theme="state"
# If `f` raises an error, anomaly mode stays on. `finally`, or the context manager, restores it then, too.
# Если `f` завершилась исключением, режим обнаружения аномалий остаётся включённым. Блок `finally` или контекстный
#     менеджер восстановит его и тогда.
def fix_anomaly(f, x):
    before = torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True)
    said, error = _caught(f, x)
    torch.autograd.set_detect_anomaly(before)
    return said[-1] if error else None

# %% mistake="restores_without_nan" theme="state"
# If there was a NaN, anomaly mode stays on: the function returns before the mode is restored.
# Если NaN нашёлся, режим обнаружения аномалий остаётся включённым: функция завершается раньше, чем он восстановлен.
def fix_anomaly(f, x):
    before = torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True)
    said, error = _caught(f, x)
    if error:
        return said[-1]
    torch.autograd.set_detect_anomaly(before)
    return None

# %% mistake="returns_the_notice" theme="missing"
# The first warning is returned. It only says that the mode is on; the line is in the last one.
# Возвращено первое предупреждение. В нём сказано лишь, что режим включён; строка — в последнем.
def fix_anomaly(f, x):
    said, error = _caught(f, x)
    return said[0] if error else None

# %% mistake="returns_the_warning" theme="missing"
# What is returned is no text. Asked for is the text of the warning.
# Нужен текст предупреждения, а возвращено что-то другое.
def fix_anomaly(f, x):
    said, error = _caught(f, x)
    return UserWarning(said[-1]) if error else None

# %% mistake="never_none" theme="missing"
# Without a NaN in the backward pass something comes back as well. It should be None.
# Если в обратном проходе NaN нет, тоже что-то возвращается, а должно быть None.
def fix_anomaly(f, x):
    said, error = _caught(f, x)
    return said[-1] if error else ""

# %% mistake="keeps_the_mode" theme="missing"
# Anomaly mode is not switched on. There is a report only if it was on before.
# Режим обнаружения аномалий не включается. Отчёт есть, только если режим был включён раньше.
def fix_anomaly(f, x):
    if torch.is_anomaly_enabled():
        said, error = _caught(f, x)
        return said[-1] if error else None
    f(x).backward()
    return None

# %% mistake="cuts_the_report" theme="missing"
# The report lacks the node. It is in the first line of torch's warning.
# В отчёте не назван узел. Он стоит в первой строке предупреждения torch.
def fix_anomaly(f, x):
    said, error = _caught(f, x)
    return said[-1].split("\n", 1)[1] if error else None

# %% mistake="writes_its_own" theme="missing"
# The report is a text of your own. It should be torch's warning, with the node and the forward line.
# Отчёт — ваш собственный текст, а нужно предупреждение torch, с узлом и строкой прямого прохода.
def fix_anomaly(f, x):
    return "NaN" if _caught(f, x)[1] else None

# %% mistake="returns_the_warning_of_f" theme="missing"
# A warning that `f` itself gives is returned. Take the one from the backward pass: torch's comes last.
# Возвращено предупреждение самой `f`. Нужно предупреждение из обратного прохода: torch выдаёт его последним.
def fix_anomaly(f, x):
    said, error = _caught(f, x)
    return said[1] if error and len(said) > 2 else said[-1] if error else None

# %% mistake="reports_a_value" theme="precision"
# A NaN in the value of `f` is reported although there is none in the backward pass.
# Отчёт приходит и о NaN в значении `f`, хотя в обратном проходе NaN нет.
def fix_anomaly(f, x):
    values = []

    def watched(x):
        values.append(f(x))
        return values[0]

    said, error = _caught(watched, x)
    return said[-1] if error else "NaN" if values[0].isnan() else None

# %% mistake="looks_first" theme="own"
# A backward pass runs outside `try`. If anomaly mode was already on, its error reaches the caller.
# Один обратный проход выполняется вне `try`. Если режим обнаружения аномалий уже был включён, исключение доходит до
#     вызывающего кода.
def fix_anomaly(f, x):
    f(x).backward()
    return _caught(f, x)[0][-1] if x.grad.isnan().any() else None

# %% mistake="returns_any_warning" theme="own"
# A warning that `f` itself gives is returned although there is no NaN. Not every warning is a report.
# Возвращено предупреждение самой `f`, хотя NaN нет. Не всякое предупреждение — отчёт.
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss = f(x)
        with contextlib.suppress(RuntimeError):
            loss.backward()
    return str(caught[-1].message) if caught else None

# %% mistake="switches_it_off_in_the_end" theme="state"
# Anomaly mode is switched off in the last line only. After a NaN, and after an error of `f`, it stays on; and if it
#     was on before, it is off now.
# Режим обнаружения аномалий выключается только в последней строке. После NaN и после исключения из `f` он остаётся
#     включённым, а если был включён раньше, теперь он выключен.
def fix_anomaly(f, x):
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

# %% mistake="looks_at_the_gradient" theme="own"
# `x.grad` is searched for NaN, and anomaly mode is not used: there is no node and no line to report. If the mode
#     was on before, its error reaches the caller.
# NaN ищется в `x.grad`, а режим обнаружения аномалий не используется: назвать ни узел, ни строку нельзя. Если режим
#     был включён раньше, его исключение доходит до вызывающего кода.
def fix_anomaly(f, x):
    f(x).backward()
    return "NaN" if x.grad.isnan().any() else None

# %% mistake="catches_no_error" theme="missing"
# The error with which the backward pass reports a NaN is not caught: it reaches the caller.
# Исключение, которым обратный проход сообщает о NaN, не перехвачено и доходит до вызывающего кода.
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(x).backward()
    return str(caught[-1].message) if caught else None

# %% mistake="returns_true" theme="missing"
# For a NaN True comes back. Asked for is the text of torch's warning.
# При NaN возвращается True, а нужен текст предупреждения torch.
def fix_anomaly(f, x):
    return True if _caught(f, x)[1] else None

# %% mistake="reports_what_is_not_finite" theme="precision"
# A value of `f` that is infinite or NaN is reported. Asked for is a NaN in the backward pass alone.
# Отчёт приходит, если значение `f` бесконечно или равно NaN, а нужен он только о NaN в обратном проходе.
def fix_anomaly(f, x):
    values = []

    def watched(x):
        values.append(f(x))
        return values[0]

    said, error = _caught(watched, x)
    return said[-1] if error else None if values[0].isfinite() else "not finite"

# %% mistake="restores_off_without_errors" theme="state"
# Anomaly mode is switched on and off by hand. If `f` raises an error, it stays on; and if it was on before, it is off
#     now. `detect_anomaly()` restores it in any case.
# Режим обнаружения аномалий включается и выключается вручную. Если `f` завершилась исключением, он остаётся включённым,
#     а если был включён раньше, теперь он выключен. Контекстный менеджер `detect_anomaly()` восстанавливает его в любом
#     случае.
def fix_anomaly(f, x):
    torch.autograd.set_detect_anomaly(True)
    said, error = _caught(f, x)
    torch.autograd.set_detect_anomaly(False)
    return said[-1] if error else None

# %% mistake="asks_a_missing_gradient" theme="missing"
# `x.grad` is None, and the answer computes with it. When anomaly mode stops the pass, no gradient has come to `x`.
# В `x.grad` лежит None, а в ответе это поле участвует в вычислениях. Если проход прерван из-за NaN, градиент до `x` не
#     дошёл.
def fix_anomaly(f, x):
    said, _ = _caught(f, x)
    return said[-1] if x.grad.isnan().any() else None

# %% mistake="returns_the_first_of_any" like="returns_any_warning"
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss = f(x)
        with contextlib.suppress(RuntimeError):
            loss.backward()
    return str(caught[0].message) if caught else None
