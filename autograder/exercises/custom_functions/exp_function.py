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
    MEMORY_ENTRIES,
    STATE_OUTSIDE_CTX,
    Function,
    apply_custom,
    bytes_kept,
    gradient_after_edit,
    gradients,
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
        y = apply_custom(answer.Exp, x)
        gradient = gradients(y, [x], v)[0]
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
    yield Case(x=signed(rng, 2, 3), grad_output=signed(rng, 2, 3))
    yield Case(x=signed(rng, 4).float(), grad_output=signed(rng, 4).float())
    yield Case(x=torch.tensor([[[20.0, -20.0]], [[0.5, -1.5]]], dtype=torch.float64), grad_output=signed(rng, 2, 1, 2))


@exp_function.mistake(
    en="`backward` returns the derivative alone. It has to be multiplied by what later operations sent back, "
    "`grad_output`; with `.sum()` that is all ones, and the mistake does not show.",
    ru="Метод `backward` возвращает только производную. Её нужно умножить на то, что пришло от следующих операций, — "
    "на `grad_output`. После `.sum()` там одни единицы, и ошибка незаметна.",
)
class local_derivative(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return ctx.saved_tensors[0].clone()


@exp_function.mistake(
    en="`backward` passes `grad_output` on unchanged, without the derivative.",
    ru="Метод `backward` передаёт `grad_output` дальше без изменений, не умножая на производную.",
)
class passes_it_on(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

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
class exponential_twice(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0].exp()


@exp_function.mistake(
    en="The numbers are cut off (`clamp`) before or after the exponential: for 20 or −20 another value comes out.",
    ru="Числа обрезаны (`clamp`) до или после экспоненты: для 20 или −20 получается другое значение.",
)
class cuts_off(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.clamp(-10, 10).exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0]


@exp_function.mistake(
    en="`backward` returns nothing; perhaps its `return` is missing. None means that there is no gradient.",
    ru="Метод `backward` ничего не возвращает; возможно, забыт `return`. None означает, что градиента нет.",
)
class returns_nothing(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        _ = grad_output * ctx.saved_tensors[0]


@exp_function.mistake(
    en="`forward` returns nothing; perhaps its `return` is missing.",
    ru="Метод `forward` ничего не возвращает; возможно, забыт `return`.",
)
class forward_returns_nothing(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0]


@exp_function.mistake(
    en="`forward` computes in place and writes over `x`. The result has to be a new tensor.",
    ru="В `forward` вычисление выполнено на месте, и результат записан поверх `x`. Результат должен быть новым "
    "тензором.",
)
class writes_over_the_input(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp_()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0]


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
    en="`saved_tensors` was used as if it were the tensor itself. It is a tuple, even with one tensor in it.",
    ru="Кортеж `saved_tensors` использован так, будто это сам тензор. Это кортеж, даже если тензор в нём один.",
)
class forgets_to_unpack(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors


@exp_function.mistake(
    en="`backward` multiplies in place and so changes `grad_output`. That tensor belongs to the caller, and other "
    "operations may still have to read it.",
    ru="В `backward` умножение выполнено на месте, и тем самым изменён `grad_output`. Это чужой тензор, и другим "
    "операциям он может ещё понадобиться.",
)
class edits_grad_output(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.mul_(ctx.saved_tensors[0])


@exp_function.mistake(
    en="The input is saved and the exponential computed a second time. That keeps the input alive next to the result: "
    "twice the bytes.",
    ru="Сохраняется вход, а экспонента вычисляется второй раз. Поэтому рядом с результатом в памяти остаётся и вход: "
    "байтов вдвое больше.",
)
class saves_the_input(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0].exp()


@exp_function.mistake(
    en="The input is kept, in an attribute of `ctx` or as `.data`, and the exponential computed a second time. The "
    "input stays alive next to the result: twice the bytes.",
    ru="Вход хранится в атрибуте `ctx` или как `.data`, а экспонента вычисляется второй раз. Рядом с результатом в "
    "памяти остаётся и вход: байтов вдвое больше.",
)
class input_as_attribute(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        return x.exp()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.x.exp()


@exp_function.mistake(*STATE_OUTSIDE_CTX)
class kept_on_the_class(Function):
    kept: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        kept_on_the_class.kept = x.exp()
        return kept_on_the_class.kept  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * kept_on_the_class.kept


@exp_function.mistake(
    en="Both the input and the result are kept, although one of them is enough.",
    ru="Хранятся и вход, и результат, хотя достаточно одного из них.",
)
class saves_both(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[1]


@exp_function.mistake(*exp_function.mistakes["saves_both"].says)
class keeps_both(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.x = x
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0]


@exp_function.mistake(
    en="What is kept is neither the input nor the tensor that is returned, but a copy or a second computation of one "
    "of them: one more tensor of that size, and no change of the result reaches it.",
    ru="Хранится не вход и не возвращаемый тензор, а копия одного из них или заново вычисленное значение. Это ещё один "
    "тензор того же размера, и изменения результата до него не доходят.",
)
class keeps_a_copy(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y.clone())
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0]


@exp_function.mistake(
    en="The result is stored as an attribute of `ctx`, or saved as `.data`. Autograd does not check such a tensor: "
    "when the result is changed in place, a wrong gradient comes out without an error.",
    ru="Результат лежит в атрибуте `ctx` или сохранён через `.data`. Такой тензор autograd не проверяет: если "
    "результат изменили на месте, градиент получится неверным, а ошибки не будет.",
)
class attribute_of_ctx(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.y = x.exp()
        return ctx.y  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.y


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
