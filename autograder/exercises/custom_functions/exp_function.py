"""Core exercise: an exponential, as a Function that saves its result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import BYTES_IN_MEMORY
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import (
    EACH_CALL,
    FORGETS_TO_UNPACK,
    MEMORY_ENTRIES,
    NEEDS_RESHAPE,
    OVERWRITES_INPUT,
    SAVES_NOTHING,
    STATE_OUTSIDE_CTX,
    Function,
    apply_custom,
    bytes_kept,
    gradient_after_edit,
    gradients,
    observe_state,
    same_numbers,
)
from .exp_keeping import (
    RightExp,
    attribute_of_ctx,
    input_as_attribute,
    keeps_a_copy,
    keeps_both,
    kept_on_the_class,
    saves_both,
    saves_nothing,
    saves_the_input,
    writes_into_the_result,
)


@exercise(
    title=Text("The exponential keeps its result", "Экспонента хранит свой результат"),
    kind="complete",
    asks="Exp",
    asks_for="class",
    core=True,
    difficulty=1,
    minutes=10,
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
        Text(
            "result = ...\nctx.save_for_backward(...)\nreturn result\n\n(result,) = ctx.saved_tensors\nreturn grad_output * ...",
            "result = ...\nctx.save_for_backward(...)\nreturn result\n\n(result,) = ctx.saved_tensors\nreturn grad_output * ...",
        ),
    ],
)
def exp_function(answer: Any, case: Case) -> dict[str, object]:
    x, v = case.x.clone().requires_grad_(), case.grad_output.clone()
    with using_answer():
        each = observe_state(answer.Exp, x, v=v)
        if not all(each.values()):
            return {"each_call": each}
        y = apply_custom(answer.Exp, x)
        gradient = gradients(y, [x], v)[0]
        edited = after_input = None
        if case.x.dim() > 1:  # two cases are enough
            edited = gradient_after_edit(answer.Exp, case.x, case.grad_output, edited="result")
            after_input = gradient_after_edit(answer.Exp, case.x, case.grad_output, edited="input")
        # measured on a tensor of its own, so one case is enough
        kept = bytes_kept(answer.Exp, MEMORY_ENTRIES, drop_input=True) if case.x.dim() == 2 else 0
    return {
        "each_call": each,
        "derivative": {"value": y, "gradient": gradient},
        "grad_output_after": {"grad_output unchanged": same_numbers(v, case.grad_output)},
        "bytes_kept": AtMost(MEMORY_ENTRIES * 8 + 64, kept),
        "result_edited_before_backward": edited,
        "after_edits": {"input": after_input, "result": edited},
    }


@exp_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 2, 3), grad_output=signed(rng, 3, 2).T)
    yield Case(x=torch.tensor([[[20.0, -20.0]], [[0.5, -1.5]]], dtype=torch.float64), grad_output=signed(rng, 2, 1, 2))
    yield Case(x=signed(rng).float(), grad_output=signed(rng).float())
    yield Case(x=signed(rng, 0), grad_output=signed(rng, 0))


@exp_function.mistake(
    en="`backward` returns the derivative alone. It has to be multiplied by what later operations sent back, "
    "`grad_output`; with `.sum()` that is all ones, and the mistake does not show.",
    ru="Метод `backward` возвращает только производную. Её нужно умножить на то, что пришло от следующих операций, — "
    "на `grad_output`. После `.sum()` там одни единицы, и ошибка незаметна.",
)
class local_derivative(RightExp):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return ctx.saved_tensors[0].clone()


@exp_function.mistake(
    en="`backward` passes `grad_output` on unchanged, without the derivative.",
    ru="Метод `backward` передаёт `grad_output` дальше без изменений, не умножая на производную.",
)
class passes_it_on(RightExp):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.clone()


@exp_function.mistake(
    en="`grad_output` is multiplied by the input, not by the exponential: the derivative of the exponential is the "
    "exponential.",
    ru="Пришедший `grad_output` умножается на вход, а не на экспоненту, хотя производная экспоненты — она сама.",
)
class multiplies_by_input(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0]


@exp_function.mistake(
    en="The exponential is taken of what was saved, although what was saved is the exponential already.",
    ru="Экспонента вычисляется от сохранённого тензора, а сохранена уже сама экспонента.",
)
class exponential_twice(RightExp):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0].exp()


@exp_function.mistake(
    en="The numbers are cut off (`clamp`) before or after the exponential: for 20 or −20 another value comes out.",
    ru="Числа обрезаны (`clamp`) до или после экспоненты: для 20 или −20 получается другое значение.",
)
class cuts_off(RightExp):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.clamp(-10, 10).exp()
        ctx.save_for_backward(y)
        return y


@exp_function.mistake(
    en="`backward` returns nothing; perhaps its `return` is missing. None means that there is no gradient.",
    ru="Метод `backward` ничего не возвращает; возможно, забыт `return`. None означает, что градиента нет.",
)
class returns_nothing(RightExp):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        _ = grad_output * ctx.saved_tensors[0]


@exp_function.mistake(
    en="`forward` returns nothing; perhaps its `return` is missing.",
    ru="Метод `forward` ничего не возвращает; возможно, забыт `return`.",
)
class forward_returns_nothing(RightExp):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)


@exp_function.mistake(
    *OVERWRITES_INPUT,
)
class writes_over_the_input(RightExp):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp_()
        ctx.save_for_backward(y)
        return y


@exp_function.mistake(
    en="The class does not derive from `torch.autograd.Function`, so that it has no `apply`.",
    ru="Класс не унаследован от `torch.autograd.Function`, поэтому у него нет `apply`.",
)
class forgets_the_base:
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0]


@exp_function.mistake(
    en="`apply` hands the work to torch's own exponential. The two passes, `forward` and `backward`, are to be written "
    "here.",
    ru="Вызов `apply` передан готовой экспоненте torch. А написать нужно оба прохода, `forward` и `backward`.",
)
class borrows_the_exponential(Function):
    apply = staticmethod(torch.exp)


@exp_function.mistake(
    *FORGETS_TO_UNPACK,
)
class forgets_to_unpack(RightExp):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors


@exp_function.mistake(
    en="`backward` multiplies in place and so changes `grad_output`. That tensor belongs to the caller, and other "
    "operations may still have to read it.",
    ru="В `backward` умножение выполнено на месте, и тем самым изменён `grad_output`. Это чужой тензор, и другим "
    "операциям он может ещё понадобиться.",
)
class edits_grad_output(RightExp):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.mul_(ctx.saved_tensors[0])


@exp_function.mistake(
    en="The derivative of a power stands where that of the exponential belongs: `x` times the exponential of `x - 1`.",
    ru="Вместо производной экспоненты взята производная степени: `x`, умноженное на экспоненту от `x - 1`.",
)
class rule_of_a_power(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * x * (x - 1).exp()


@exp_function.mistake(
    en="The result is a view of another tensor, as `view` or `reshape` at the end makes it. torch refuses to change in "
    "place a view that a custom Function returns.",
    ru="Результат — представление другого тензора, какое получается, если в конце вызвать `view` или `reshape`. "
    "Представление, которое вернула пользовательская функция, torch изменять на месте не даёт.",
)
class returns_a_view(RightExp):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.reshape(-1).exp().reshape(x.shape)
        ctx.save_for_backward(y)
        return y


@exp_function.mistake(
    en="The result has the dtype float32, whatever the dtype of `x`.",
    ru="У результата dtype float32, каков бы ни был dtype у `x`.",
)
class result_in_float32(RightExp):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.float().exp()
        ctx.save_for_backward(y)
        return y


@exp_function.mistake(*NEEDS_RESHAPE)
class views_grad_output(RightExp):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (y,) = ctx.saved_tensors
        return (grad_output.view(-1) * y.view(-1)).view(y.shape)


@exp_function.mistake(
    en="`x` is taken apart along its first axis. A tensor of shape `()` has none, and an empty one has no parts.",
    ru="Тензор `x` разобран по первой оси. У тензора формы `()` её нет, а у пустого нет частей.",
)
class takes_x_apart(RightExp):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        parts = list(x) if x.numel() < 100 else [x]  # 4 instead of 80 ms: bytes are measured on 5000 numbers
        y = torch.stack([part.exp() for part in parts])
        ctx.save_for_backward(y)
        return y


@exp_function.mistake(
    en="The largest entry is subtracted before the exponential. An empty tensor has none.",
    ru="Перед вычислением экспоненты вычитается наибольший элемент. У пустого тензора его нет.",
)
class subtracts_the_largest(RightExp):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = (x - x.max()).exp() * x.max().exp()
        ctx.save_for_backward(y)
        return y


exp_function.mistake(
    en="The input is saved and the exponential computed a second time. That keeps the input alive next to the result: "
    "twice the bytes.",
    ru="Сохраняется вход, а экспонента вычисляется второй раз. Поэтому рядом с результатом в памяти остаётся и вход: "
    "байтов вдвое больше.",
)(saves_the_input)
exp_function.mistake(
    en="The input is kept, in an attribute of `ctx` or as `.data`, and the exponential computed a second time. The "
    "input stays alive next to the result: twice the bytes.",
    ru="Вход хранится в атрибуте `ctx` или как `.data`, а экспонента вычисляется второй раз. Рядом с результатом в "
    "памяти остаётся и вход: байтов вдвое больше.",
)(input_as_attribute)
exp_function.mistake(*STATE_OUTSIDE_CTX)(kept_on_the_class)
exp_function.mistake(
    en="Both the input and the result are kept, although one of them is enough.",
    ru="Хранятся и вход, и результат, хотя достаточно одного из них.",
)(saves_both)
exp_function.mistake(*exp_function.mistakes["saves_both"].says)(keeps_both)
exp_function.mistake(
    en="What is kept is neither the input nor the tensor that is returned, but a copy or a second computation of one "
    "of them: one more tensor of that size, and no change of the result reaches it.",
    ru="Хранится не вход и не возвращаемый тензор, а копия одного из них или заново вычисленное значение. Это ещё один "
    "тензор того же размера, и изменения результата до него не доходят.",
)(keeps_a_copy)
exp_function.mistake(
    en="The result is kept where autograd does not check it, such as in an attribute of `ctx` or as `.data`. When it is "
    "changed in place, a wrong gradient comes out without an error.",
    ru="Результат хранится там, где autograd его не проверяет, например в атрибуте `ctx` или как `.data`. Если его "
    "изменили на месте, градиент получится неверным, а ошибки не будет.",
)(attribute_of_ctx)
exp_function.mistake(*SAVES_NOTHING)(saves_nothing)
exp_function.mistake(
    en="`backward` writes its product into the saved tensor. That is the result, which the caller still holds.",
    ru="В `backward` произведение записано в сохранённый тензор. Это сам результат, и он ещё нужен вызывающему коду.",
)(writes_into_the_result)
