"""Exercise: an exponential, as a Function that saves its result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.counted_run import another
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import BYTES_IN_MEMORY
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import (
    EACH_CALL,
    MEMORY_ENTRIES,
    apply_custom,
    bytes_kept,
    gradient_after_edit,
    gradients,
    keep_results,
    observe_state,
    same_numbers,
)


@exercise(
    title=Text("The exponential keeps its result", "Экспонента хранит свой результат"),
    kind="complete",
    asks="Exp",
    asks_for="class",
    core=True,
    difficulty=1,
    aspects=[
        EACH_CALL,
        aspect(
            "derivative",
            1,
            en="`Exp.apply(x)` is the exponential, and its gradient is `grad_output` times the derivative.",
            ru="`Exp.apply(x)` — экспонента, а её градиент равен `grad_output`, умноженному на производную.",
        ),
        aspect(
            "grad_output_after",
            1,
            en="`backward` leaves the tensor `grad_output` as it was.",
            ru="Метод `backward` не меняет тензор `grad_output`.",
        ),
        aspect(
            "bytes_kept",
            1,
            en=f"After the forward pass on {MEMORY_ENTRIES} float64 numbers, and once the caller has dropped the input, only the "
            "bytes of the result are alive.",
            ru=f"После прямого прохода по {MEMORY_ENTRIES} числам float64, когда вход снаружи уже не нужен, в памяти остаётся "
            "только результат.",
            measured=BYTES_IN_MEMORY,
        ),
        aspect(
            "result_edited_before_backward",
            1,
            en="If the result is changed in place before `backward`, torch raises its error about an in-place "
            "operation.",
            ru="Если результат изменён на месте до `backward`, torch сообщает об этом ошибкой.",
        ),
    ],
    hints=[
        Text(
            "What is the derivative of the exponential, said with the help of its own result?",
            "Как выразить производную экспоненты через её собственное значение?",
        ),
        Text(
            "`ctx.save_for_backward(...)` in `forward`, `ctx.saved_tensors` (always a tuple) in `backward`. What "
            "arrives in `backward` is multiplied by the derivative; a new tensor is returned.",
            "`ctx.save_for_backward(...)` в `forward`, `ctx.saved_tensors` (всегда кортеж) в `backward`. То, что "
            "пришло в `backward`, умножается на производную; возвращается новый тензор.",
        ),
        Text.same(
            "result = ...\nctx.save_for_backward(...)\nreturn result\n\n(result,) = ctx.saved_tensors\nreturn grad_output * ..."
        ),
    ],
    why=Why(
        Text(
            "Why does it save memory to keep the result and not the input?",
            "Почему хранить результат, а не вход, выгоднее по памяти?",
        ),
        Text(
            "The derivative of the exponential is its result, and the caller usually keeps that tensor anyway. A "
            "saved input would stay in memory although the caller has dropped it.",
            "Производная экспоненты — это её результат, а его вызывающий код обычно и так хранит. Сохранённый "
            "вход остался бы в памяти, даже если вызывающему коду он больше не нужен.",
        ),
    ),
)
def exp_function(answer: Any, case: Case) -> dict[str, object]:
    x, v = case.x.clone().requires_grad_(), case.grad_output.clone()
    with using_answer():
        y = apply_custom(answer.Exp, x)
        gradient = gradients(y, [x], v)[0]
        alone = case.x.clone().requires_grad_()
        each, second = observe_state(answer.Exp, alone, v=case.grad_output, found=[gradient])
        if not all(each.values()):
            return {"each_call": each}
        edited = after_input = None
        if case.x.dim() > 1:  # two cases are enough
            edited = gradient_after_edit(answer.Exp, case.x, case.grad_output, edited="result")
        # measured on a tensor of its own, so one case is enough
        kept = AtMost(0, 0)
        if case.x.dim() == 2:
            kept = bytes_kept(answer.Exp, case.rng, drop_input=True)
            if not kept.kept:  # tells the ways to keep the input apart
                after_input = gradient_after_edit(answer.Exp, case.x, case.grad_output, edited="input")
    return {
        "each_call": each,
        "derivative": {"value": y, "gradient": gradient, **second},
        "grad_output_after": {"grad_output unchanged": same_numbers(v, case.grad_output)},
        "bytes_kept": kept,
        "result_edited_before_backward": edited,
        "after_edits": {"input": after_input, "result": edited},
    }


@exp_function.weigh("bytes_kept", most=74 << 20)
def weigh(function: Any, rng: torch.Generator) -> object:
    """Keep results of 32 MB. Inputs that are kept beside them take as much again."""
    return keep_results(function, rng, drop_input=True)


@exp_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 2, 3), grad_output=signed(rng, 3, 2).T, rng=another(rng))
    yield Case(x=torch.tensor([[[20.0, -20.0]], [[0.5, -1.5]]], dtype=torch.float64), grad_output=signed(rng, 2, 1, 2))
    yield Case(x=signed(rng).float(), grad_output=signed(rng).float())
    yield Case(x=signed(rng, 0), grad_output=signed(rng, 0))
