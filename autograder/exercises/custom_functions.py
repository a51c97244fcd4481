"""Exercises of lesson 07, custom Functions: probes, cases and mistakes (C1-C16 of the course's own list)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction, once_differentiable
from torch.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from autograder.checking.exercise import EVERY_ENTRY, Case, aspect, exercise
from autograder.checking.inputs import Lineup, signed, uniform
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.checking.values import AtMost, entries
from autograder.language import Text
from autograder.measure import live_bytes

Function: Any = torch.autograd.Function  # its two passes take whatever an operation takes: no signature to hold to

# -------------------------------------------------------------------------------------- what is seen of a Function


def apply(function: Any, *arguments: object) -> Any:
    """`function.apply(*arguments)`; an error that speaks of the base class when there is no `apply` to call."""
    if not issubclass(function, torch.autograd.Function):
        raise TypeError("the class does not derive from torch.autograd.Function")
    return function.apply(*arguments)


def apply_amid(function: Any, *arguments: Any) -> Any:
    """`apply`, with a second call on other tensors and numbers right after it: each call has to keep its own."""
    y = apply(function, *arguments)
    others = [(1 - a.detach()).requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a + 1 for a in arguments]
    apply(function, *others)
    return y


def apply_own(function: Any, *arguments: object) -> Any:
    """`apply`; an error that says so when the result is torch's own operation and no custom Function's."""
    y = apply(function, *arguments)
    if isinstance(y, Tensor) and y.grad_fn is not None and not isinstance(y.grad_fn, BackwardCFunction):
        raise TypeError(f"the node of the result is {y.grad_fn.name()}, not that of a custom Function")
    return y


def gradients(y: object, inputs: list[Tensor], v: Tensor, create_graph: bool = False) -> list[Tensor | None]:
    """vᵀJ for each of `inputs`; None where there is no way back from `y`."""
    if not isinstance(y, Tensor) or not y.requires_grad or y.shape != v.shape:
        return [None for _ in inputs]
    return list(torch.autograd.grad(y, inputs, v, allow_unused=True, create_graph=create_graph))


def first_derivative(function: Any, case: Case, aspect: str) -> dict[str, object]:
    """Value and gradient of a Function of `case.x` alone under `aspect`, and what became of `grad_output`."""
    x, v = case.x.clone().requires_grad_(), case.grad_output.clone()
    with using_answer():
        each = own_state(function, x, v=v)
        y = apply(function, x)
        gradient = gradients(y, [x], v)[0]
    unchanged = {"grad_output unchanged": same_numbers(v, case.grad_output)}
    return {"each_call": each, aspect: {"value": y, "gradient": gradient}, "grad_output_after": unchanged}


def second_derivative(f: Callable[[Tensor], Any], x: Tensor, v: Tensor, w: Tensor) -> Tensor | None:
    """The second derivative of `f(x)**2 + x * f(x)`, both passes weighted at random.

    Taken of `f` alone, what reaches its backward is a constant, and half of the terms are never seen. The second pass is
    `backward()`, since `autograd.grad` goes only where `x` is and so walks past `once_differentiable`'s error.
    """
    x = x.clone().requires_grad_()
    (gradient,) = gradients(f(x) ** 2 + x * f(x), [x], v.clone(), create_graph=True)
    if gradient is None or not gradient.requires_grad:
        return None
    gradient.backward(w.clone())
    return x.grad


def own_state(function: Any, *arguments: Any, v: Tensor) -> dict[str, object]:
    """Does a call leave its inputs as they were, and has it its own state, whatever is called before its backward?

    Tried on the cases with more than one dimension: once is enough.
    """
    if arguments[0].dim() < 2:
        return {}

    def one(applied: Callable[..., Any]) -> tuple[list[Any], list[Tensor | None]]:
        given = [a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a for a in arguments]
        y = applied(function, *given)
        asked = [a for a in given if isinstance(a, Tensor) and a.requires_grad]
        return given, gradients(y[0] if isinstance(y, tuple) and y else y, asked, v.clone())

    given, alone = one(apply)
    amid = one(apply_amid)[1]
    pairs = [(a, b) for a, b in zip(given, arguments) if isinstance(b, Tensor)]
    return {
        "input unchanged": all(same_numbers(a, b) for a, b in pairs),
        "same gradient with a second call": all(same_numbers(a, b) for a, b in zip(alone, amid)),
    }


def same_numbers(a: object, b: object) -> bool:
    """Do two tensors hold the same numbers, NaN in the same places? Two None do as well."""
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return a is b
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return torch.equal(a, b) or bool(torch.isclose(a, b, rtol=0, atol=0, equal_nan=True).all())


EACH_CALL = aspect(
    "each_call",
    0,
    en="`forward` leaves its input as it was, and a second call of `apply` does not touch what the first one needs.",
    ru="`forward` не меняет свой вход, а второй вызов `apply` не портит того, что нужно первому.",
)  # the condition on every Function that is no exercise on state or on work in place

KEPT_OUTSIDE = Text(
    "It looks as if what `backward` needs is kept on the class or in a global variable. All calls share those, so a "
    "second call overwrites what the first one needs; each call has its own `ctx`.",
    "Похоже, что нужное для `backward` хранится в самом классе или в глобальной переменной. Такое место у всех "
    "вызовов общее, и второй вызов затирает то, что нужно первому; `ctx` у каждого вызова свой.",
)
WRITES_OVER = Text(
    "It looks as if `forward` computes in place and writes over its input, a tensor that belongs to the caller.",
    "Похоже, что `forward` выполняет вычисление на месте и записывает результат поверх входа, а это чужой тензор.",
)
EDITS = Text(
    "It looks as if `backward` computes in place and so changes `grad_output`, a tensor that belongs to the caller.",
    "Похоже, что `backward` выполняет вычисление на месте и тем самым меняет `grad_output`, а это чужой тензор.",
)


def or_error(call: Callable[[], object]) -> object:
    """What `call()` returns; the name of the error that it raises."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__


def gradient_after_edit(function: Any, x: Tensor, v: Tensor, *, edited: str) -> object:
    """The gradient when "input" or "result" was changed in place before backward; the error that says so instead."""
    x = x.clone().requires_grad_()
    h = x.neg()
    y = apply(function, h)
    if not isinstance(y, Tensor):
        return None
    (h if edited == "input" else y).detach().mul_(3)
    try:
        return gradients(y, [x], v)[0]
    except RuntimeError as error:
        if "modified by an inplace operation" in str(error):
            return "RuntimeError"
        raise


def bytes_kept(function: Any, n: int, *, drop_input: bool) -> int:
    """Bytes of what is alive after the forward pass, the input left out if the caller drops it."""
    x = torch.linspace(-1, 1, n, dtype=torch.float64).requires_grad_()
    with live_bytes() as live:
        h = x.neg() if drop_input else x
        y = apply(function, h)
        del h
        kept = live.now
    del y
    return kept


# ----------------------------------------------------------------------------------- core: who calls what, and when


@exercise(
    title=Text("What happens in `forward` and `backward`", "Что происходит в `forward` и `backward`"),
    kind="predict",
    core=True,
    minutes=12,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Does autograd compare the `10` in `backward` with anything? Who would tell it that the `10` is wrong?",
            "Сравнивает ли autograd число `10` в `backward` с чем-нибудь? Откуда ему знать, что `10` неверно?",
        ),
        Text(
            "Inside `forward` recording is off, although the inputs keep their flags. `backward` is recorded only when "
            "somebody asked for it. Without `apply` a `forward` is an ordinary function.",
            "Внутри `forward` отслеживание выключено, хотя флаги у входов прежние. `backward` записывается, только "
            "если об этом попросили. Без `apply` метод `forward` — обычная функция.",
        ),
        Text(
            "At the kink each operation has its own choice: `relu` and `where` agree, `clamp` and `maximum` each "
            "answer something else, and one of these is the middle between 0 and 1.",
            "На изломе у каждой операции свой выбор: `relu` и `where` отвечают одинаково, `clamp` и `maximum` — каждый "
            "по-своему, и один из ответов лежит посередине между 0 и 1.",
        ),
    ],
)
def predict_function(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_function)}


@predict_function.mistake(
    en="It looks as if autograd was expected to find out the derivative by itself, or to check it. It takes what "
    "`backward` returns: 10 times the incoming gradient.",
    ru="Похоже, вы считаете, что autograd сам найдёт или проверит производную. На самом деле он берёт то, что вернул "
    "`backward`: пришедший градиент, умноженный на 10.",
)
def derivative_is_checked() -> dict[str, object]:
    return {"a.grad": 5.0}


@predict_function.mistake(
    en="It looks as if the gradient that arrives was left out. `3 * result` multiplies it by 3 before `backward` sees it.",
    ru="Похоже, что не учтён пришедший градиент. В `3 * result` он умножается на 3 ещё до вызова `backward`.",
)
def incoming_gradient_is_one() -> dict[str, object]:
    return {"a.grad": 10.0}


@predict_function.mistake(
    en="It looks as if `forward` was expected to be recorded. `apply` switches recording off: the one node of the graph "
    "is the Function's own.",
    ru="Похоже, вы считаете, что `forward` записывается. На самом деле `apply` выключает отслеживание: в графе "
    "появляется один узел — узел этой пользовательской функции.",
)
def forward_is_recorded() -> dict[str, object]:
    return {"recording in forward": True}


@predict_function.mistake(
    en="It looks as if 1 and 0 stand for True and False. Write the words: `torch.is_grad_enabled()` returns True or False.",
    ru="Похоже, что вместо True и False стоят 1 и 0. Пишите словами: `torch.is_grad_enabled()` возвращает True или "
    "False.",
)
def numbers_for_words() -> dict[str, object]:
    return {"recording in forward": 0}


@predict_function.mistake(
    en="It looks as if the inputs were expected to arrive detached. Recording is off, but each input is the very "
    "tensor with its own flag.",
    ru="Похоже, вы считаете, что входы приходят отсоединёнными. На самом деле отслеживание выключено, но сами входы "
    "те же, с прежними флагами.",
)
def inputs_come_detached() -> dict[str, object]:
    return {"a.requires_grad in forward": False}


@predict_function.mistake(
    en="It looks as if an operation in `backward` was always recorded. It is only when the caller asked with "
    "`create_graph=True`.",
    ru="Похоже, вы считаете, что операции в `backward` записываются всегда. На самом деле они записываются только "
    "при вызове с `create_graph=True`.",
)
def backward_is_recorded() -> dict[str, object]:
    return {"recording in backward": True}


@predict_function.mistake(
    en="It looks as if `backward` was never recorded. With `create_graph=True` it is, and that is how second "
    "derivatives come about.",
    ru="Похоже, вы считаете, что `backward` никогда не записывается. На самом деле с `create_graph=True` он "
    "записывается, отсюда и берутся вторые производные.",
)
def backward_is_never_recorded() -> dict[str, object]:
    return {"recording in backward, create_graph=True": False}


@predict_function.mistake(
    en="It looks as if `needs_input_grad` was expected to be True for every tensor. It is False for an input that does "
    "not require grad, such as `b`.",
    ru="Похоже, вы считаете, что в `needs_input_grad` для любого тензора стоит True. На самом деле для входа, "
    "который не требует градиента (здесь это `b`), там стоит False.",
)
def every_input_needs() -> dict[str, object]:
    return {"needs_input_grad": (True, True)}


@predict_function.mistake(
    en="It looks as if a `forward` called directly made a node of the Function. Without `apply` it is an ordinary "
    "function: its own multiplication is recorded, and `backward` never runs.",
    ru="Похоже, вы считаете, что прямой вызов `forward` создаёт узел пользовательской функции. На самом деле без "
    "`apply` это обычная функция: записывается само умножение, а `backward` не вызывается.",
)
def forward_makes_the_node() -> dict[str, object]:
    return {"node of Tenfold.forward(...)": "TenfoldBackward"}


@predict_function.mistake(
    en="It looks as if an instance could be called, as a module can. A Function is never instantiated: `apply` is "
    "called on the class.",
    ru="Похоже, вы считаете, что экземпляр можно вызвать, как модуль. На самом деле экземпляров пользовательской "
    "функции не создают: `apply` вызывают у самого класса.",
)
def instances_are_called() -> dict[str, object]:
    return {"Tenfold()(a, b)": "accepted"}


@predict_function.mistake(
    en="It looks as if a gradient left out counted as None. `backward` returns one entry for each argument of "
    "`apply`, or torch raises an error.",
    ru="Похоже, вы считаете, что пропущенный градиент заменяется на None. На самом деле `backward` возвращает по "
    "значению на каждый аргумент `apply`, иначе torch сообщает об ошибке.",
)
def too_few_are_filled() -> dict[str, object]:
    return {"one gradient for two inputs": "accepted"}


@predict_function.mistake(
    en="It looks as if a `None` too many was an error. Surplus entries are accepted when they are None; too few never "
    "are.",
    ru="Похоже, вы считаете, что лишний `None` — ошибка. На самом деле лишние значения допустимы, если это None, а "
    "если значений не хватает, это всегда ошибка.",
)
def surplus_is_refused() -> dict[str, object]:
    return {"a None too many": "RuntimeError"}


@predict_function.mistake(
    en="It looks as if all operations were expected to agree at the kink. They have the same values and different "
    "derivatives at 0: look at `clamp` and `maximum` again.",
    ru="Похоже, вы считаете, что на изломе производные у всех операций одинаковы. На самом деле одинаковы только "
    "значения: посмотрите ещё раз на `clamp` и `maximum`.",
)
def all_kinks_are_zero() -> dict[str, object]:
    return {"clamp at 0": 0.0, "maximum at 0": 0.0}


@predict_function.mistake(*predict_function.mistakes["all_kinks_are_zero"].says)
def all_kinks_are_one() -> dict[str, object]:
    return {"relu at 0": 1.0, "maximum at 0": 1.0, "where at 0": 1.0}


@predict_function.mistake(*predict_function.mistakes["all_kinks_are_zero"].says)
def all_kinks_are_half() -> dict[str, object]:
    return {"relu at 0": 0.5, "clamp at 0": 0.5, "where at 0": 0.5}


# ------------------------------------------------------------------------------ core: the exponential keeps its result

KEPT = 5000  # entries of the tensor on which memory is counted


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
            ru="`Exp.apply(x)` — экспонента, а её градиент равен `grad_output`, умноженному на производную.",
        ),
        aspect(
            "grad_output_after",
            1,
            en="`backward` leaves the tensor `grad_output` as it was.",
            ru="`backward` не меняет тензор `grad_output`.",
        ),
        aspect(
            "bytes_kept",
            1,
            en=f"After the forward pass on {KEPT} float64 numbers, and once the caller has dropped the input, only the "
            "bytes of the result are alive.",
            ru=f"После прямого прохода по {KEPT} числам float64, когда вход снаружи уже не нужен, в памяти остаётся "
            "только результат.",
        ),
        aspect(
            "result_edited_before_backward",
            1,
            en="If the result is changed in place before `backward`, torch raises its error about an in-place operation.",
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
        each = own_state(answer.Exp, x, v=v)
        y = apply_own(answer.Exp, x)
        gradient = gradients(y, [x], v)[0]
        edited = gradient_after_edit(answer.Exp, case.x, case.grad_output, edited="result")
        after_input = gradient_after_edit(answer.Exp, case.x, case.grad_output, edited="input")
        # counted on a tensor of its own: once is enough
        kept = bytes_kept(answer.Exp, KEPT, drop_input=True) if case.x.dim() == 2 else 0
    return {
        "each_call": each,
        "derivative": {"value": y, "gradient": gradient},
        "grad_output_after": {"grad_output unchanged": same_numbers(v, case.grad_output)},
        "bytes_kept": AtMost(KEPT * 8 + 64, kept),
        "result_edited_before_backward": edited,
        "after_edits": {"input": after_input, "result": edited},
    }


@exp_function.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 2, 3), grad_output=signed(rng, 2, 3))
    yield Case(x=signed(rng, 4).float(), grad_output=signed(rng, 4).float())
    yield Case(x=torch.tensor([[[20.0, -20.0]], [[0.5, -1.5]]], dtype=torch.float64), grad_output=signed(rng, 2, 1, 2))


@exp_function.mistake(
    en="It looks as if `backward` returns the derivative alone. What later operations sent back, `grad_output`, has to be "
    "multiplied in; with `.sum()` it is all ones and nobody notices.",
    ru="Похоже, что `backward` возвращает только производную. Её нужно умножить на то, что пришло от следующих "
    "операций, — на `grad_output`. После `.sum()` там одни единицы, и ошибка незаметна.",
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
    en="It looks as if `backward` passes `grad_output` on unchanged, without the derivative.",
    ru="Похоже, что `backward` передаёт `grad_output` дальше без изменений, не умножая на производную.",
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
    en="It looks as if the input is multiplied in, not the exponential: the derivative of the exponential is the exponential.",
    ru="Похоже, что пришедший градиент умножается на вход, а не на экспоненту: производная экспоненты — она сама.",
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
    en="It looks as if the exponential is taken of what was saved, although what was saved is the exponential already.",
    ru="Похоже, что экспонента вычисляется от сохранённого тензора, а сохранена уже сама экспонента.",
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
    en="It looks as if the numbers are cut off (`clamp`) before or after the exponential: for 20 or -20 another value comes "
    "out.",
    ru="Похоже, что числа обрезаны (`clamp`) до или после экспоненты: для 20 или -20 получается другое значение.",
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
    en="It looks as if `backward` returns nothing; perhaps its `return` is missing. None means that there is no gradient.",
    ru="Похоже, что `backward` ничего не возвращает; возможно, забыт `return`. None означает, что градиента нет.",
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
    en="It looks as if `forward` returns nothing; perhaps its `return` is missing.",
    ru="Похоже, что `forward` ничего не возвращает; возможно, забыт `return`.",
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
    en="It looks as if `forward` computes in place and writes over `x`. The result has to be a new tensor.",
    ru="Похоже, что `forward` выполняет вычисление на месте и записывает результат поверх `x`. Результат должен "
    "быть новым тензором.",
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
    en="It looks as if the class does not derive from `torch.autograd.Function`, so that it has no `apply`.",
    ru="Похоже, что класс не унаследован от `torch.autograd.Function`, поэтому у него нет `apply`.",
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
    en="It looks as if `apply` hands the work to torch's own exponential. Write the two passes, `forward` and `backward`.",
    ru="Похоже, что `apply` передаёт работу готовой экспоненте torch. Напишите оба прохода, `forward` и `backward`.",
)
class borrows_the_exponential(Function):
    apply = staticmethod(torch.exp)


@exp_function.mistake(
    en="It looks as if `saved_tensors` is used as if it were the tensor itself. It is a tuple, even with one tensor in it.",
    ru="Похоже, что `saved_tensors` используется как сам тензор. Это кортеж, даже если тензор в нём один.",
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
    en="It looks as if `backward` multiplies in place and so changes `grad_output`. That tensor belongs to the caller, "
    "and other operations may still have to read it.",
    ru="Похоже, что `backward` умножает на месте и тем самым меняет `grad_output`. Этот тензор чужой, и другим "
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
    en="It looks as if the input is saved and the exponential computed a second time. That keeps the input alive next to "
    "the result: twice the bytes.",
    ru="Похоже, что сохраняется вход, а экспонента вычисляется второй раз. Тогда рядом с результатом в памяти "
    "остаётся и вход: байтов вдвое больше.",
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
    en="It looks as if the input is kept, in an attribute of `ctx` or as `.data`, and the exponential computed a second time. "
    "The input stays alive next to the result: twice the bytes.",
    ru="Похоже, что вход хранится в атрибуте `ctx` или как `.data`, а экспонента вычисляется второй раз. Рядом с "
    "результатом в памяти остаётся и вход: байтов вдвое больше.",
)
class input_as_attribute(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        return x.exp()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.x.exp()


@exp_function.mistake(*KEPT_OUTSIDE)
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
    en="It looks as if both the input and the result are kept. One of them is enough.",
    ru="Похоже, что хранятся и вход, и результат. Достаточно одного из них.",
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
    en="It looks as if what is kept is neither the input nor the tensor that is returned, but a copy or a second computation "
    "of one of them: one more tensor of that size, and no change of the result reaches it.",
    ru="Похоже, что хранится не вход и не возвращаемый тензор, а копия одного из них или заново вычисленное "
    "значение. Это ещё один тензор того же размера, и изменения результата до него не доходят.",
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
    en="It looks as if the result is stored as an attribute of `ctx`, or saved as `.data`. Autograd does not "
    "watch over that: when the result is changed in place, a wrong gradient comes out without an error.",
    ru="Похоже, что результат лежит в атрибуте `ctx` или сохранён через `.data`. За этим autograd не следит: если "
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


# ---------------------------------------------------------------------------------------- core: the kink of the relu


@exercise(
    title=Text("A ReLU like torch's", "ReLU как в torch"),
    kind="find the bug",
    asks="ReLU",
    asks_for="class",
    core=True,
    difficulty=1,
    minutes=7,
    aspects=[
        EACH_CALL,
        aspect(
            "derivative",
            2,
            en="Value and gradient agree with those of `torch.relu` for every number, 0 among them, and for every `grad_output`.",
            ru="Значение и градиент те же, что у `torch.relu`, при любых числах, в том числе в нуле, и при любом "
            "`grad_output`.",
        ),
        aspect(
            "grad_output_after",
            1,
            en="`backward` leaves the tensor `grad_output` as it was.",
            ru="`backward` не меняет тензор `grad_output`.",
        ),
    ],
    hints=[
        Text(
            "For which numbers do this class and `torch.relu` disagree? Random inputs hardly ever contain that one.",
            "На каком числе этот класс и `torch.relu` расходятся? Среди случайных входов такого числа почти не бывает.",
        ),
        Text(
            "Compare both on `torch.tensor([-1.0, 0.0, 2.0])`. The missing `@` is a slip, and it changes nothing.",
            "Сравните обе функции на `torch.tensor([-1.0, 0.0, 2.0])`. Пропущенный `@` — описка, она ни на что не "
            "влияет.",
        ),
        Text(
            "grad_input = grad_output.clone()\ngrad_input[input ... 0] = 0\nreturn grad_input",
            "grad_input = grad_output.clone()\ngrad_input[input ... 0] = 0\nreturn grad_input",
        ),
    ],
)
def fix_relu(answer: Any, case: Case) -> dict[str, object]:
    return first_derivative(answer.ReLU, case, "derivative")


@fix_relu.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    x = signed(rng, 3, 4)
    x[1, 2] = x[2, 0] = 0.0
    x[0, 0], x[0, 1] = 1.5, -1.5
    v = signed(rng, 3, 4)
    x[2, 1:] = torch.tensor([100.0, 1e-6, -1e-6])
    v[0, 0], v[0, 1], v[1, 2], v[2, 0] = -0.75, 1.25, 1.75, -1.5  # no sign of a gradient follows from its place
    yield Case(x=x, grad_output=v)
    yield Case(x=torch.tensor([0.0, -2.0, 0.5]), grad_output=signed(rng, 3).float())
    yield Case(x=torch.tensor(0.0, dtype=torch.float64), grad_output=signed(rng))


@fix_relu.mistake(
    en="It looks as if the missing `@staticmethod` was taken for the bug. `apply` works without it. Compare the gradients "
    "with those of `torch.relu` number by number.",
    ru="Похоже, вы считаете, что ошибка — в пропущенном `@staticmethod`. На самом деле `apply` работает и без него. "
    "Сравните градиенты с теми, что даёт `torch.relu`, число за числом.",
)
class mends_the_decorator(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


@fix_relu.mistake(
    en="It looks as if the derivative at 0 is one half, the mean of both sides. `torch.maximum` chooses that; `torch.relu` "
    "does not.",
    ru="Похоже, что производная в нуле здесь равна 1/2, то есть среднему двух односторонних производных. Так "
    "поступает `torch.maximum`, но не `torch.relu`.",
)
class half_at_zero(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (input,) = ctx.saved_tensors
        return grad_output * (torch.sign(input) + 1) / 2


@fix_relu.mistake(
    en="It looks as if the gradient is clipped where it is negative. The sign of the *input* decides, not that of "
    "`grad_output`.",
    ru="Похоже, что обнуляется отрицательный градиент. Решает знак *входа*, а не знак `grad_output`.",
)
class clips_grad_output(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.clamp(min=0)


@fix_relu.mistake(*WRITES_OVER)
class relu_in_place(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp_(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0] > 0)


@fix_relu.mistake(*KEPT_OUTSIDE)
class mask_on_the_class(Function):
    mask: Any = None

    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        mask_on_the_class.mask = input > 0
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * mask_on_the_class.mask


@fix_relu.mistake(
    en="It looks as if large numbers are cut off at 6, as `relu6` does. `torch.relu` has no upper bound.",
    ru="Похоже, что большие числа обрезаны на 6, как в `relu6`. У `torch.relu` верхней границы нет.",
)
class cut_at_six(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(0, 6)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0] > 0)


@fix_relu.mistake(*fix_relu.mistakes["cut_at_six"].says)
class cut_at_six_both_ways(cut_at_six):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (input,) = ctx.saved_tensors
        return grad_output * ((input > 0) & (input < 6))


@fix_relu.mistake(
    en="It looks as if `backward` returns the mask alone, 0 and 1. `grad_output` has to be multiplied in.",
    ru="Похоже, что `backward` возвращает только маску из нулей и единиц. На неё нужно умножить `grad_output`.",
)
class mask_alone(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (input,) = ctx.saved_tensors
        return (input > 0).to(input.dtype)


@fix_relu.mistake(
    en="It looks as if the mask is the wrong way round: the gradient passes where the input is negative or 0.",
    ru="Похоже, что маска перевёрнута: градиент проходит там, где вход отрицателен или равен 0.",
)
class mask_reversed(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (input,) = ctx.saved_tensors
        return grad_output * (input <= 0)


@fix_relu.mistake(
    en="It looks as if only 0 itself loses its gradient now. Negative inputs must have none, either.",
    ru="Похоже, что теперь градиент обнуляется только в самом нуле. У отрицательных входов его тоже не должно быть.",
)
class only_zero(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input == 0] = 0
        return grad_input


@fix_relu.mistake(
    en="It looks as if the zeros are written into `grad_output` itself. The `clone()` was there for a reason: that tensor "
    "belongs to the caller.",
    ru="Похоже, что нули записываются прямо в `grad_output`. Копия через `clone()` сделана не зря: этот тензор чужой.",
)
class drops_the_clone(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (input,) = ctx.saved_tensors
        grad_output[input <= 0] = 0
        return grad_output


# --------------------------------------------------------------------------------------------- core: two inputs


class _Reads(TorchDispatchMode):
    """How many ops read the storage of `watched`; views and detached copies of it do not count as reading."""

    def __init__(self, watched: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.storage = watched.untyped_storage()._cdata
        self.times = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        made = {t.untyped_storage()._cdata for t in tree_leaves(result) if isinstance(t, Tensor)}
        if self.storage not in made:
            read = (t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor))
            self.times += any(t.untyped_storage()._cdata == self.storage for t in read)
        return result


@exercise(
    title=Text("Two inputs", "Два входа"),
    kind="complete",
    asks="Product",
    asks_for="class",
    core=True,
    difficulty=2,
    minutes=10,
    aspects=[
        EACH_CALL,
        aspect(
            "grad_output_after",
            1,
            en="`backward` leaves the tensor `grad_output` as it was.",
            ru="`backward` не меняет тензор `grad_output`.",
        ),
        aspect(
            "gradients",
            2,
            en="`Product.apply(a, b)` is `a * b`, and each input that requires grad gets its own gradient, in its own shape.",
            ru="`Product.apply(a, b)` равно `a * b`, и каждый вход, который требует градиента, получает свой "
            "градиент, той же формы, что и он сам.",
        ),
        aspect(
            "reads_for_nobody",
            1,
            en="When one input does not require grad, no operation of `backward` works on its gradient. (Counted: "
            "operations that read the other input, which only that gradient needs.)",
            ru="Если один из входов не требует градиента, `backward` не выполняет операций для его градиента. "
            "(Проверка считает операции с другим входом: он нужен только для этого градиента.)",
        ),
    ],
    hints=[
        Text(
            "With `b` held fixed, how fast does `a * b` grow with `a`? And which of the two is a constant in each case?",
            "Если `b` не меняется, как быстро растёт `a * b` с ростом `a`? И какой из двух множителей постоянен в "
            "каждом случае?",
        ),
        Text(
            "`backward` returns as many entries as `apply` has arguments, in their order. `ctx.needs_input_grad` has one "
            "True or False for each; where it says False, return None and compute nothing.",
            "`backward` возвращает столько значений, сколько аргументов у `apply`, и в том же порядке. В "
            "`ctx.needs_input_grad` для каждого стоит True или False; там, где False, верните None и ничего не "
            "вычисляйте.",
        ),
        Text(
            "a, b = ctx.saved_tensors\ngrad_a = grad_b = None\nif ctx.needs_input_grad[0]:\n    grad_a = ...\n...\nreturn grad_a, grad_b",
            "a, b = ctx.saved_tensors\ngrad_a = grad_b = None\nif ctx.needs_input_grad[0]:\n    grad_a = ...\n...\nreturn grad_a, grad_b",
        ),
    ],
)
def product_function(answer: Any, case: Case) -> dict[str, object]:
    a, b = (case.a.clone().requires_grad_(case.needs_a), case.b.clone().requires_grad_(case.needs_b))
    v = case.grad_output.clone()
    asked = [t for t in (a, b) if t.requires_grad]
    names = [name for name, t in (("a.grad", a), ("b.grad", b)) if t.requires_grad]
    with using_answer():
        each = own_state(answer.Product, a, b, v=v)
        y = apply(answer.Product, a, b)
        found = dict(zip(names, gradients(y, asked, v)))
        reads = 0
        if len(asked) == 1:
            y = apply(answer.Product, a, b)
            with _Reads(asked[0]) as counted:
                gradients(y, asked, case.grad_output.clone())
            reads = counted.times
    return {
        "each_call": each,
        "grad_output_after": {"grad_output unchanged": same_numbers(v, case.grad_output)},
        "gradients": {"value": y, **found},
        "reads_for_nobody": AtMost(0, reads),
    }


@product_function.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    def case(needs_a: bool, needs_b: bool, a: Tensor, b: Tensor) -> Case:
        v = signed(rng, *torch.broadcast_shapes(a.shape, b.shape)).to(a.dtype)
        return Case(a=a, b=b, grad_output=v, needs_a=needs_a, needs_b=needs_b)

    yield case(True, True, signed(rng, 2, 3), signed(rng, 2, 3))
    yield case(True, True, signed(rng, 4, 3), signed(rng, 3))
    yield case(True, False, signed(rng, 3, 2), signed(rng, 3, 2))
    yield case(False, True, signed(rng, 5), signed(rng, 5))
    yield case(True, True, signed(rng, 2).float(), signed(rng, 3, 2).float())


@product_function.mistake(*KEPT_OUTSIDE)
class factors_on_the_class(Function):
    factors: Any = None

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        factors_on_the_class.factors = a, b
        return a * b

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = factors_on_the_class.factors
        return grad_output * b, grad_output * a


@product_function.mistake(*WRITES_OVER)
class product_over_the_input(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a.clone(), b)
        return a.mul_(b)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return grad_output * b, grad_output * a


@product_function.mistake(
    en="It looks as if only one of the two gradients is ever computed, although both are asked for when both inputs require "
    "grad.",
    ru="Похоже, что всегда вычисляется только один из двух градиентов. Когда градиента требуют оба входа, нужны оба.",
)
class either_or(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return (grad_output * b, None) if ctx.needs_input_grad[0] else (None, grad_output * a)


@product_function.mistake(*EDITS)
class always_multiplies_in_place(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        for_b = grad_output * a
        return grad_output.mul_(b), for_b


@product_function.mistake(*EDITS)
class multiplies_in_place(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        for_b = grad_output * a if ctx.needs_input_grad[1] else None
        return grad_output.mul_(b) if ctx.needs_input_grad[0] else None, for_b


@product_function.mistake(
    en="It looks as if the two gradients are swapped: the gradient of `a` is `grad_output` times `b`, and stands first.",
    ru="Похоже, что градиенты переставлены. Первым должен стоять градиент по `a`: `grad_output`, умноженный на `b`.",
)
class swapped(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return grad_output * a if needs[0] else None, grad_output * b if needs[1] else None


@product_function.mistake(
    en="It looks as if the two gradients are returned in the wrong order: that of `a`, the first argument, stands first.",
    ru="Похоже, что градиенты возвращаются не в том порядке: первым должен стоять градиент по `a`, первому аргументу.",
)
class returned_in_wrong_order(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        grad_a = grad_output * b if ctx.needs_input_grad[0] else None
        grad_b = grad_output * a if ctx.needs_input_grad[1] else None
        return grad_b, grad_a


@product_function.mistake(
    en="It looks as if `backward` returns a single gradient (a list counts as one). It returns a tuple, with one gradient "
    "for each argument of `apply`.",
    ru="Похоже, что `backward` возвращает один градиент (список считается за один). Нужен кортеж, по одному "
    "градиенту на каждый аргумент `apply`.",
)
class one_gradient(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[1]


@product_function.mistake(
    en="It looks as if `backward` returns the partial derivatives alone. Each has to be multiplied by `grad_output`.",
    ru="Похоже, что `backward` возвращает только частные производные. Каждую нужно умножить на `grad_output`.",
)
class local_derivatives(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return b if ctx.needs_input_grad[0] else None, a if ctx.needs_input_grad[1] else None


@product_function.mistake(
    en="It looks as if `grad_output` is passed on to both inputs unchanged. That is the derivative of a sum, `a + b`.",
    ru="Похоже, что `grad_output` передаётся обоим входам без изменений. Так было бы у суммы `a + b`.",
)
class derivative_of_a_sum(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        return a * b

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output, grad_output


@product_function.mistake(
    en="It looks as if only the first input gets a gradient: the second entry is always None.",
    ru="Похоже, что градиент получает только первый вход: на втором месте всегда None.",
)
class second_is_none(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[1], None


@product_function.mistake(
    en="It looks as if `None` comes back as soon as one of the two inputs does not require grad. The other one still needs "
    "its gradient.",
    ru="Похоже, что `None` возвращается, как только один из двух входов не требует градиента. Другому входу градиент "
    "по-прежнему нужен.",
)
class all_or_nothing(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return (grad_output * b, grad_output * a) if all(ctx.needs_input_grad) else (None, None)


@product_function.mistake(
    en="It looks as if the flags of `needs_input_grad` are mixed up: the first belongs to `a`, the first argument of `apply`.",
    ru="Похоже, что флаги `needs_input_grad` перепутаны: первый относится к `a`, первому аргументу `apply`.",
)
class flags_swapped(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        needs_b, needs_a = ctx.needs_input_grad
        return grad_output * b if needs_a else None, grad_output * a if needs_b else None


@product_function.mistake(
    en="It looks as if both gradients are always computed, even when one is asked for. `ctx.needs_input_grad` says which.",
    ru="Похоже, что оба градиента вычисляются всегда, даже когда нужен один. Какой нужен, сказано в "
    "`ctx.needs_input_grad`.",
)
class computes_both(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return grad_output * b, grad_output * a


# ---------------------------------------------------------------------------- core: right once, wrong the second time

_SECOND_ASPECTS = [
    EACH_CALL,
    aspect(
        "first",
        1,
        en="The value and the first derivative are right, and `grad_output` stays as it was.",
        ru="Значение и первая производная верны, а `grad_output` не меняется.",
    ),
    aspect(
        "second",
        2,
        en="The second derivative of an expression with the function `f` in it, here `f(x)**2 + x * f(x)`, is right. "
        "(`v` and `w` are what arrives in the first and in the second backward pass.)",
        ru="Верна вторая производная выражения, в которое входит функция `f`: здесь это `f(x)**2 + x * f(x)`. (`v` и "
        "`w` — то, что приходит в первый и во второй обратный проход.)",
    ),
]


def observe_both(function: Any, case: Case, applied: Callable[..., Any] = apply) -> dict[str, object]:
    """The aspects `each_call`, `first` and `second` of a Function of one input."""
    with using_answer():
        x, v = case.x.clone().requires_grad_(), case.v.clone()
        each = own_state(function, x, v=v)
        if not all(each.values()):
            return {"each_call": each}
        y = applied(function, x)
        first = {"value": y, "gradient": gradients(y, [x], v)[0]}
        first["grad_output unchanged"] = same_numbers(v, case.v)
        second = or_error(lambda: second_derivative(lambda t: apply(function, t), case.x, case.v, case.w))
    return {"each_call": each, "first": first, "second": {"second derivative": second}}


def second_cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 2, 3), v=signed(rng, 2, 3), w=signed(rng, 2, 3))
    yield Case(x=signed(rng, 4).float(), v=uniform(rng, 4).float(), w=uniform(rng, 4).float())
    yield Case(x=signed(rng), v=signed(rng), w=signed(rng))


@exercise(
    title=Text("Right once, wrong the second time", "Один раз верно, второй раз нет"),
    kind="find the bug",
    asks="Sinh",
    asks_for="class",
    core=True,
    difficulty=2,
    minutes=10,
    rtol=1e-4,
    aspects=_SECOND_ASPECTS,
    hints=[
        Text(
            "Which of the tensors that `backward` uses does autograd know as functions of `x`?",
            "О каких из тензоров, которыми пользуется `backward`, autograd знает, что они зависят от `x`?",
        ),
        Text(
            "Recording is off inside `forward`, so `e` and `i` are constants there. An input that was saved comes back "
            "from `saved_tensors` connected to the graph; so does an output.",
            "Внутри `forward` отслеживание выключено, поэтому `e` и `i` — константы. Сохранённый вход возвращается из "
            "`saved_tensors` вместе со своим местом в графе, и выход тоже.",
        ),
        Text(
            "ctx.save_for_backward(x)\n...\n(x,) = ctx.saved_tensors\nreturn grad_output * ...  # computed from x, here",
            "ctx.save_for_backward(x)\n...\n(x,) = ctx.saved_tensors\nreturn grad_output * ...  # вычислено здесь из x",
        ),
    ],
)
def fix_sinh(answer: Any, case: Case) -> dict[str, object]:
    return observe_both(answer.Sinh, case)


fix_sinh.cases(second_cases)


class _SinhForward(Function):
    """The forward pass that the mistakes share; it saves its input."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.sinh(x)


@fix_sinh.mistake(*KEPT_OUTSIDE)
class sinh_on_the_class(Function):
    x: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        sinh_on_the_class.x = x
        return torch.sinh(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * torch.cosh(sinh_on_the_class.x)


@fix_sinh.mistake(*WRITES_OVER)
class sinh_over_the_input(_SinhForward):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.sinh_()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * torch.sqrt(1 + ctx.saved_tensors[0] ** 2)


@fix_sinh.mistake(*EDITS)
class sinh_in_place(_SinhForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.mul_(torch.cosh(ctx.saved_tensors[0]))


@fix_sinh.mistake(
    en="It looks as if what `backward` computes with is cut off from `x`: by `detach()`, `.data` or `no_grad()`, or because "
    "it was computed in `forward` (`cosh(x)` is an intermediate result as well, wherever it is kept).",
    ru="Похоже, что величины, с которыми работает `backward`, отрезаны от `x`: через `detach()`, `.data` или "
    "`no_grad()` либо потому, что вычислены в `forward` (`cosh(x)` — тоже промежуточный результат, где бы он ни "
    "хранился).",
)
class still_intermediates(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.cosh = torch.cosh(x)
        return torch.sinh(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.cosh


@fix_sinh.mistake(
    en="It looks as if the class now refuses to be differentiated twice. That is honest, but the exercise asks for the "
    "second derivative.",
    ru="Похоже, что класс теперь не допускает повторного дифференцирования. Это честно, но в упражнении нужна вторая "
    "производная.",
)
class refuses(_SinhForward):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * torch.cosh(ctx.saved_tensors[0])


@fix_sinh.mistake(
    en="It looks as if `backward` computes under `no_grad()`. What is not recorded there cannot be differentiated again.",
    ru="Похоже, что вычисления в `backward` идут внутри `no_grad()`. То, что не записано, второй раз не "
    "продифференцировать.",
)
class under_no_grad(_SinhForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        with torch.no_grad():
            return grad_output * torch.cosh(ctx.saved_tensors[0])


@fix_sinh.mistake(
    en="It looks as if `grad_output` is detached. It depends on `x` as well here, and that part of the second derivative "
    "is lost.",
    ru="Похоже, что отсоединён `grad_output`. Здесь он тоже зависит от `x`, и эта часть второй производной теряется.",
)
class detaches_grad_output(_SinhForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.detach() * torch.cosh(ctx.saved_tensors[0])


@fix_sinh.mistake(
    en="It looks as if a minus slipped in, as with the cosine: the derivative of `sinh` is `cosh`, without a minus.",
    ru="Похоже, что вкрался минус, как у косинуса: производная `sinh` — это `cosh`, без минуса.",
)
class with_a_minus(_SinhForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -grad_output * torch.cosh(ctx.saved_tensors[0])


@fix_sinh.mistake(
    en="It looks as if `backward` multiplies by `sinh`, the function itself. Its derivative is `cosh`: (e + i) / 2.",
    ru="Похоже, что `backward` умножает на `sinh`, то есть на саму функцию. Её производная — `cosh`: (e + i) / 2.",
)
class multiplies_by_itself(_SinhForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * torch.sinh(ctx.saved_tensors[0])


@fix_sinh.mistake(
    en="It looks as if `grad_output` got lost while the derivative was rewritten.",
    ru="Похоже, что при переписывании производной потерялся `grad_output`.",
)
class loses_grad_output(_SinhForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.cosh(ctx.saved_tensors[0])


@fix_sinh.mistake(
    en="It looks as if `cosh` is taken of the result that was saved, not of `x`.",
    ru="Похоже, что `cosh` вычисляется от сохранённого результата, а не от `x`.",
)
class cosh_of_the_result(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.sinh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * torch.cosh(ctx.saved_tensors[0])


# ------------------------------------------------------------------------------- core: fused, with nothing to keep


@exercise(
    title=Text("One node, nothing more to keep", "Один узел и ничего лишнего"),
    kind="design",
    asks="SiLU",
    asks_for="class",
    core=True,
    difficulty=3,
    minutes=15,
    rtol=1e-4,
    aspects=[
        *_SECOND_ASPECTS[:2],
        aspect(
            "bytes_kept",
            2,
            en=f"After the forward pass on {KEPT} float64 numbers nothing is alive but the input, which the caller "
            "holds, and the bytes of the result.",
            ru=f"После прямого прохода по {KEPT} числам float64 в памяти остаются только результат и вход, который "
            "хранит вызывающий код.",
        ),
        aspect("second", 2, *_SECOND_ASPECTS[2].says),
    ],
    hints=[
        Text(
            "`x * torch.sigmoid(x)` keeps the sigmoid for its backward pass. From what could `backward` get it back?",
            "`x * torch.sigmoid(x)` хранит сигмоиду для обратного прохода. Из чего `backward` мог бы получить её "
            "снова?",
        ),
        Text(
            "Save `x` alone and compute the sigmoid twice: once forward, once backward, there with recorded operations. "
            "The derivative is that of a product.",
            "Сохраните только `x` и вычислите сигмоиду дважды: в прямом проходе и в обратном, там — обычными "
            "операциями torch. Дифференцируйте по правилу произведения.",
        ),
        Text(
            "(x,) = ctx.saved_tensors\ns = torch.sigmoid(x)\nreturn grad_output * (s + x * ...)  # s' = s * (1 - s)",
            "(x,) = ctx.saved_tensors\ns = torch.sigmoid(x)\nreturn grad_output * (s + x * ...)  # s' = s * (1 - s)",
        ),
    ],
)
def silu_function(answer: Any, case: Case) -> dict[str, object]:
    observed = observe_both(answer.SiLU, case, apply_own)
    if len(observed) == 1:
        return observed
    with using_answer():
        kept = bytes_kept(answer.SiLU, KEPT, drop_input=False) if case.x.dim() == 2 else 0
    return {**observed, "bytes_kept": AtMost(KEPT * 8 + 64, kept), "kept": kept // (KEPT * 8)}


@silu_function.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield from second_cases(rng)
    x = torch.tensor([0.0, 1000.0, -1000.0], dtype=torch.float64)
    yield Case(x=x, v=signed(rng, 3), w=signed(rng, 3))


class _SiLUBackward(Function):
    """The pass that the mistakes share: it saves its input, and its two passes are right."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))


@silu_function.mistake(*KEPT_OUTSIDE)
class silu_on_the_class(Function):
    x: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        silu_on_the_class.x = x
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = silu_on_the_class.x
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))


@silu_function.mistake(*WRITES_OVER)
class silu_over_the_input(_SiLUBackward):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.mul_(torch.sigmoid(x))


@silu_function.mistake(*EDITS)
class silu_in_place(_SiLUBackward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        s = torch.sigmoid(x)
        return grad_output.mul_(s + x * s * (1 - s))


@silu_function.mistake(
    en="It looks as if the sigmoid is got back by dividing the result by `x`. At 0 that is 0/0: NaN.",
    ru="Похоже, что сигмоиду получают делением результата на `x`. В нуле это 0/0, то есть NaN.",
)
class divides_by_x(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x * torch.sigmoid(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, y = ctx.saved_tensors
        s = y / x
        return grad_output * (s + x * s * (1 - s))


@silu_function.mistake(
    en="It looks as if `backward` makes the sigmoid of `exp(x)`. For large `x` that is infinite, and inf/inf is NaN.",
    ru="Похоже, что `backward` вычисляет сигмоиду через `exp(x)`. При больших `x` это бесконечность, а inf/inf — NaN.",
)
class overflows(_SiLUBackward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        s = torch.exp(x) / (1 + torch.exp(x))
        return grad_output * (s + x * s * (1 - s))


@silu_function.mistake(
    en="It looks as if `exp(-x)` is squared or divided by itself in `backward`. For very negative `x` it is infinite, and "
    "inf/inf is NaN.",
    ru="Похоже, что `exp(-x)` в `backward` возводится в квадрат или делится на себя. При больших отрицательных `x` это "
    "бесконечность, а inf/inf — NaN.",
)
class overflows_below(_SiLUBackward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        e = torch.exp(-x)
        return grad_output * (1 + e + x * e) / (1 + e) ** 2


@silu_function.mistake(
    en="It looks as if the sigmoid is written out with `exp(-x)`. For very negative `x` that is infinite, and the second "
    "derivative comes to inf times 0: NaN. `torch.sigmoid` avoids this.",
    ru="Похоже, что сигмоида записана через `exp(-x)`. При больших отрицательных `x` это бесконечность, и во второй "
    "производной получается inf, умноженное на 0, то есть NaN. С `torch.sigmoid` этого не случается.",
)
class sigmoid_by_hand(_SiLUBackward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        s = 1 / (1 + torch.exp(-x))
        return grad_output * (s + x * s * (1 - s))


@silu_function.mistake(
    en="It looks as if `apply` hands the work to torch's own operations. Write the two passes, `forward` and `backward`.",
    ru="Похоже, что `apply` передаёт работу готовым операциям torch. Напишите оба прохода, `forward` и `backward`.",
)
class borrows_the_silu(Function):
    apply = staticmethod(torch.nn.functional.silu)


@silu_function.mistake(
    en="It looks as if the sigmoid is computed inside `no_grad()`. It is a constant then, and its part of the second "
    "derivative is missing.",
    ru="Похоже, что сигмоида вычисляется внутри `no_grad()`. Тогда это константа, и её вклад во вторую производную "
    "теряется.",
)
class sigmoid_unrecorded(_SiLUBackward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        with torch.no_grad():
            s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))


@silu_function.mistake(
    en="It looks as if the derivative of the sigmoid was taken for that of the product `x * sigmoid(x)`.",
    ru="Похоже, что производная сигмоиды принята за производную произведения `x * sigmoid(x)`.",
)
class derivative_of_the_sigmoid(_SiLUBackward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        s = torch.sigmoid(ctx.saved_tensors[0])
        return grad_output * s * (1 - s)


@silu_function.mistake(
    en="It looks as if the sigmoid was taken for a constant factor: half of the product rule is missing.",
    ru="Похоже, что сигмоида принята за постоянный множитель: не хватает второго слагаемого производной произведения.",
)
class sigmoid_is_constant(_SiLUBackward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * torch.sigmoid(ctx.saved_tensors[0])


@silu_function.mistake(
    en="It looks as if only the sigmoid is differentiated: the term in which `x` changes is missing.",
    ru="Похоже, что продифференцирована только сигмоида: не хватает слагаемого, в котором меняется `x`.",
)
class x_is_constant(_SiLUBackward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        s = torch.sigmoid(x)
        return grad_output * x * s * (1 - s)


@silu_function.mistake(
    en="It looks as if `grad_output` is missing: `backward` returns the derivative alone.",
    ru="Похоже, что не хватает `grad_output`: `backward` возвращает только производную.",
)
class silu_local(_SiLUBackward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        s = torch.sigmoid(x)
        return s + x * s * (1 - s)


@silu_function.mistake(
    en="It looks as if the sigmoid is kept, by `save_for_backward` or on `ctx`: one more tensor of the size of the input.",
    ru="Похоже, что сигмоида хранится (через `save_for_backward` или в атрибуте `ctx`): это ещё один тензор "
    "размером со вход.",
)
class keeps_the_sigmoid(_SiLUBackward):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, s = ctx.saved_tensors
        return grad_output * (s + x * s * (1 - s))


@silu_function.mistake(
    en="It looks as if something computed in `forward` is kept, such as the derivative or a copy of `x`: one more tensor of "
    "the size of the input, and a constant for the second derivative.",
    ru="Похоже, что хранится что-то вычисленное в `forward`, например производная или копия `x`: это ещё один тензор "
    "размером со вход, а для второй производной — константа.",
)
class keeps_the_derivative(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        s = torch.sigmoid(x)
        ctx.save_for_backward(s + x * s * (1 - s))
        return x * s

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0]


@silu_function.mistake(
    en="It looks as if `backward` recomputes on a detached copy. The first derivative is right; for the second there is no "
    "way back to `x`.",
    ru="Похоже, что `backward` вычисляет всё заново на отсоединённой копии. Первая производная верна, а для второй нет "
    "пути назад к `x`.",
)
class recomputes_detached(_SiLUBackward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0].detach()
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))


@silu_function.mistake(
    en="It looks as if `backward` is not recorded, because of `no_grad()` or a second run of autograd inside it without "
    "`create_graph`.",
    ru="Похоже, что `backward` не записывается: из-за `no_grad()` или потому, что внутри него autograd запущен ещё "
    "раз без `create_graph`.",
)
class recomputes_unrecorded(_SiLUBackward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        with torch.no_grad():
            s = torch.sigmoid(x)
            return grad_output * (s + x * s * (1 - s))


@silu_function.mistake(
    en="It looks as if the class refuses to be differentiated twice. Here the second derivative is asked for.",
    ru="Похоже, что класс не допускает повторного дифференцирования. Здесь вторая производная нужна.",
)
class silu_refuses(_SiLUBackward):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x = ctx.saved_tensors[0]
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))


# ------------------------------------------------------------------------- extra: gradients that are no derivatives


@exercise(
    title=Text("A sign that lets the gradient through", "Знак, который пропускает градиент"),
    kind="complete",
    asks="Sign",
    asks_for="class",
    difficulty=1,
    minutes=6,
    aspects=[
        EACH_CALL,
        aspect(
            "surrogate",
            2,
            en="The value is the sign, and the gradient is `grad_output` where `x` lies in [-1, 1] and 0 elsewhere.",
            ru="Значение — знак числа, а градиент равен `grad_output` там, где `x` лежит на отрезке [-1, 1], а в "
            "остальных местах — нулю.",
        ),
        aspect(
            "grad_output_after",
            1,
            en="`backward` leaves the tensor `grad_output` as it was.",
            ru="`backward` не меняет тензор `grad_output`.",
        ),
    ],
    hints=[
        Text(
            "The derivative of the sign is 0. What does the text say stands in its place, and for which `x`?",
            "Производная знака равна 0. Что, по условию, стоит вместо неё и при каких `x`?",
        ),
        Text(
            "`backward` needs `x` to know where it lies. `x.abs() <= 1` is a mask.",
            "Чтобы знать, где лежит `x`, `backward` должен его получить. `x.abs() <= 1` — маска.",
        ),
        Text(
            "ctx.save_for_backward(x)\nreturn x.sign()\n\n(x,) = ctx.saved_tensors\nreturn grad_output * ...",
            "ctx.save_for_backward(x)\nreturn x.sign()\n\n(x,) = ctx.saved_tensors\nreturn grad_output * ...",
        ),
    ],
)
def sign_function(answer: Any, case: Case) -> dict[str, object]:
    return first_derivative(answer.Sign, case, "surrogate")


@sign_function.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    x = signed(rng, 3, 4)
    x[0] = torch.tensor([0.5, -0.25, 1.0, -1.0], dtype=torch.float64)
    x[1, 0], x[1, 1], x[1, 2] = 0.0, 1.75, -2.25
    v = signed(rng, 3, 4)
    v[0] = torch.tensor([0.75, -1.25, 2.0, -0.5], dtype=torch.float64)
    yield Case(x=x, grad_output=v)
    yield Case(x=torch.tensor([-0.5, 3.0, 0.75]), grad_output=signed(rng, 3).float())


class _Sign(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.sign()


@sign_function.mistake(*KEPT_OUTSIDE)
class sign_on_the_class(Function):
    x: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        sign_on_the_class.x = x
        return x.sign()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (sign_on_the_class.x.abs() <= 1)


@sign_function.mistake(*WRITES_OVER)
class sign_in_place(_Sign):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.sign_()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0].abs() <= 1)


@sign_function.mistake(
    en="It looks as if the true derivative is returned: 0 everywhere, so that nothing before it can learn.",
    ru="Похоже, что возвращается настоящая производная: она всюду равна 0, и слои перед этой функцией не обучаются.",
)
class true_derivative(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.zeros_like(grad_output)


@sign_function.mistake(
    en="It looks as if the gradient passes everywhere. Outside of [-1, 1] it is to be 0.",
    ru="Похоже, что градиент проходит всюду. Вне [-1, 1] он должен быть равен 0.",
)
class passes_everywhere(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.clone()


@sign_function.mistake(
    en="It looks as if the ends of the interval are left out: at -1 and 1 the gradient passes.",
    ru="Похоже, что концы отрезка не учтены: в точках -1 и 1 градиент проходит.",
)
class without_the_ends(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0].abs() < 1)


@sign_function.mistake(
    en="It looks as if only one end of the interval is looked at: below -1 and above 1 the gradient is to be 0.",
    ru="Похоже, что проверяется только один конец отрезка: градиент должен быть равен 0 и левее -1, и правее 1.",
)
class one_sided(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0] <= 1)


@sign_function.mistake(*sign_function.mistakes["one_sided"].says)
class other_side(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0] >= -1)


@sign_function.mistake(
    en="It looks as if the mask is the wrong way round: the gradient passes outside of [-1, 1].",
    ru="Похоже, что маска перевёрнута: градиент проходит вне [-1, 1].",
)
class passes_outside(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0].abs() > 1)


@sign_function.mistake(
    en="It looks as if the mask looks at `grad_output`. It is `x` that has to lie in [-1, 1].",
    ru="Похоже, что маска построена по `grad_output`. Лежать на отрезке [-1, 1] должен `x`.",
)
class mask_of_grad_output(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (grad_output.abs() <= 1)


@sign_function.mistake(
    en="It looks as if the value at 0 is 1 or -1. `x.sign()` is 0 there.",
    ru="Похоже, что значение в нуле — 1 или -1. У `x.sign()` там 0.",
)
class zero_is_negative(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.where(x > 0, 1.0, -1.0).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0].abs() <= 1)


@sign_function.mistake(*sign_function.mistakes["zero_is_negative"].says)
class zero_is_positive(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0].abs() <= 1)


@sign_function.mistake(
    en="It looks as if the gradient was clipped to [-1, 1]. It is `x` that decides where `grad_output` passes, unchanged.",
    ru="Похоже, что до [-1, 1] обрезан сам градиент. Решает `x`: там, где он лежит на этом отрезке, `grad_output` "
    "проходит без изменений.",
)
class clips_the_gradient(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.clamp(-1, 1)


@sign_function.mistake(
    en="It looks as if `backward` looks at the result, which is always -1, 0 or 1. Whether `x` lies in [-1, 1] only `x` can tell.",
    ru="Похоже, что `backward` судит по результату, а он всегда равен -1, 0 или 1. Лежит ли `x` на отрезке [-1, 1], "
    "видно только по самому `x`.",
)
class looks_at_the_result(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.sign()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0].abs()


@sign_function.mistake(
    en="It looks as if `backward` returns the mask alone, 0 and 1. `grad_output` has to be multiplied in.",
    ru="Похоже, что `backward` возвращает только маску из нулей и единиц. На неё нужно умножить `grad_output`.",
)
class sign_mask_alone(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return (ctx.saved_tensors[0].abs() <= 1).to(grad_output.dtype)


@sign_function.mistake(
    en="It looks as if the zeros are written into `grad_output` itself, a tensor that belongs to the caller.",
    ru="Похоже, что нули записываются прямо в `grad_output`, а это чужой тензор.",
)
class writes_the_zeros(_Sign):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        grad_output[ctx.saved_tensors[0].abs() > 1] = 0
        return grad_output


@exercise(
    title=Text("A gradient turned round", "Развёрнутый градиент"),
    kind="complete",
    asks="Reverse",
    asks_for="class",
    difficulty=2,
    minutes=8,
    aspects=[
        EACH_CALL,
        aspect(
            "reversed",
            2,
            en="The value is that of `x`, the gradient of `x` is `grad_output` times `-factor`, and `grad_output` itself "
            "stays as it was.",
            ru="Значение то же, что у `x`, градиент по `x` равен `grad_output`, умноженному на `-factor`, а сам "
            "`grad_output` не меняется.",
        ),
        aspect(
            "result_edited",
            1,
            en="The result can be changed in place, and `x` does not change with it.",
            ru="Результат можно изменить на месте, и на `x` это не влияет.",
        ),
    ],
    hints=[
        Text(
            "`apply` gets two arguments. How many entries does `backward` return, and which of them is no gradient?",
            "`apply` получает два аргумента. Сколько значений возвращает `backward`, и какое из них — не градиент?",
        ),
        Text(
            "A number goes onto `ctx` as an attribute. An input returned as it is becomes a view, and torch refuses to "
            "change that in place; a copy is no view.",
            "Число кладут в атрибут `ctx`. Вход, возвращённый как есть, становится представлением, и менять его на "
            "месте torch не даёт; копия — не представление.",
        ),
        Text(
            "ctx.factor = factor\nreturn x.clone()\n\nreturn ..., None",
            "ctx.factor = factor\nreturn x.clone()\n\nreturn ..., None",
        ),
    ],
)
def reverse_function(answer: Any, case: Case) -> dict[str, object]:
    x, v = case.x.clone().requires_grad_(), case.grad_output.clone()
    with using_answer():
        each = own_state(answer.Reverse, x, case.factor, v=v)
        y = apply(answer.Reverse, x, case.factor)
        found = {"value": y, "gradient": gradients(y, [x], v)[0]}
        found["grad_output unchanged"] = same_numbers(v, case.grad_output)
        result = after_change = None
        if isinstance(y, Tensor):
            h = case.x.clone().requires_grad_().neg()
            again = apply(answer.Reverse, h, case.factor)
            result = or_error(lambda: again.mul_(3))
            after_change = h
    return {"each_call": each, "reversed": found, "result_edited": {"result": result, "x": after_change}}


@reverse_function.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 2, 3), factor=0.25, grad_output=signed(rng, 2, 3))
    yield Case(x=signed(rng, 4).float(), factor=-3, grad_output=signed(rng, 4).float())


class _Reverse(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.clone()


@reverse_function.mistake(
    en="It looks as if `backward` returns one entry. `apply` had two arguments; for the number, return None.",
    ru="Похоже, что `backward` возвращает одно значение. У `apply` два аргумента; для числа верните None.",
)
class one_entry(_Reverse):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -ctx.factor * grad_output


@reverse_function.mistake(*KEPT_OUTSIDE)
class factor_on_the_class(Function):
    factor: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        factor_on_the_class.factor = factor
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -factor_on_the_class.factor * grad_output, None


@reverse_function.mistake(
    en="It looks as if the sign of `factor` is dropped. With a negative `factor`, `-factor` is positive.",
    ru="Похоже, что у `factor` отброшен знак. При отрицательном `factor` число `-factor` положительно.",
)
class drops_the_sign(_Reverse):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -abs(ctx.factor) * grad_output, None


@reverse_function.mistake(
    en="It looks as if `-factor` alone is returned. `grad_output` has to be multiplied in.",
    ru="Похоже, что возвращается только число `-factor`. На него нужно умножить `grad_output`.",
)
class factor_alone(_Reverse):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.full_like(grad_output, -ctx.factor), None


@reverse_function.mistake(
    en="It looks as if the minus is missing: the gradient is scaled, not reversed.",
    ru="Похоже, что не хватает минуса: градиент умножен на число, но не развёрнут.",
)
class only_scales(_Reverse):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return ctx.factor * grad_output, None


@reverse_function.mistake(
    en="It looks as if `factor` is not used: the gradient is reversed, but not scaled.",
    ru="Похоже, что `factor` не используется: градиент развёрнут, но не умножен на него.",
)
class ignores_the_factor(_Reverse):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -grad_output, None


@reverse_function.mistake(
    en="It looks as if `backward` multiplies in place and so changes `grad_output`, a tensor that belongs to the caller.",
    ru="Похоже, что `backward` умножает на месте и тем самым меняет `grad_output`, а это чужой тензор.",
)
class reverses_in_place(_Reverse):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.mul_(-ctx.factor), None


@reverse_function.mistake(
    en="It looks as if the value is reversed too. Only the gradient is; the value passes unchanged.",
    ru="Похоже, что знак меняется и у значения. Развернуть нужно только градиент, а значение проходит без изменений.",
)
class reverses_the_value(_Reverse):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return -factor * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -ctx.factor * grad_output, None


@reverse_function.mistake(*reverse_function.mistakes["reverses_the_value"].says)
class changes_the_sign_of_the_value(reverses_the_value):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return -x


@reverse_function.mistake(
    en="It looks as if `forward` returns `x` itself, or a view of it. The result is then a view made inside a custom "
    "Function, and torch refuses to change it in place.",
    ru="Похоже, что `forward` возвращает сам `x` или его представление. Тогда результат — представление, созданное "
    "внутри пользовательской функции, и torch не даёт менять его на месте.",
)
class returns_the_input(_Reverse):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -ctx.factor * grad_output, None


@reverse_function.mistake(
    en="It looks as if `forward` returns a detached tensor with the memory of `x`: a change of the result is a change of `x`.",
    ru="Похоже, что `forward` возвращает отсоединённый тензор в той же памяти, что и `x`: изменение результата "
    "меняет и `x`.",
)
class returns_detached(_Reverse):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.detach()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return -ctx.factor * grad_output, None


# ------------------------------------------------------------------------------------------ extra: what is not yours


@exercise(
    title=Text("The neighbour's gradient", "Градиент соседней операции"),
    kind="find the bug",
    asks="Leaky",
    asks_for="class",
    difficulty=2,
    minutes=7,
    aspects=[
        EACH_CALL,
        aspect(
            "derivative",
            1,
            en="Value and gradient are those of `leaky_relu`.",
            ru="Значение и градиент те же, что у `leaky_relu`.",
        ),
        aspect(
            "others",
            2,
            en="`grad_output` holds the same numbers after `backward`, and so another operation that gets the same tensor computes a right "
            "gradient.",
            ru="После `backward` в `grad_output` те же числа, и другая операция, получившая тот же тензор, "
            "вычисляет верный градиент.",
        ),
    ],
    hints=[
        Text(
            "Which tensor does the line with `*=` change, and who else reads it?",
            "Какой тензор меняет строка с `*=` и кто ещё его читает?",
        ),
        Text(
            "`g = grad_output` and `grad_output.detach()` are the same memory under another name. A new tensor comes "
            "from `clone()`, `torch.where` or a multiplication.",
            "`g = grad_output` и `grad_output.detach()` — та же память под другим именем. Новый тензор дают `clone()`, "
            "`torch.where` и умножение.",
        ),
        Text(
            "grad_input = ...  # a tensor of your own\ngrad_input[x < 0] *= ctx.slope\nreturn grad_input, None",
            "grad_input = ...  # собственный тензор\ngrad_input[x < 0] *= ctx.slope\nreturn grad_input, None",
        ),
    ],
)
def leaky_function(answer: Any, case: Case) -> dict[str, object]:
    x, v = case.x.clone().requires_grad_(), case.grad_output.clone()
    neighbour = case.neighbour.clone().requires_grad_()
    with using_answer():
        each = own_state(answer.Leaky, x, case.slope, v=v)
        y = apply(answer.Leaky, x, case.slope)
        first = {"value": y, "gradient": gradients(y, [x], v)[0]}
        # The newest node runs first, and gets the very tensor that `exp` gets after it. Asked for both, or it is skipped.
        both = neighbour.exp() + apply(answer.Leaky, x, case.slope)
        beside = gradients(both, [neighbour, x], case.grad_output.clone())[0]
    return {"each_call": each, "derivative": first, "others": {"grad_output": v, "neighbour.grad": beside}}


@leaky_function.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    x = signed(rng, 2, 3)
    x[0, 0], x[1, 2] = -1.5, 0.75
    yield Case(x=x, slope=0.25, neighbour=uniform(rng, 2, 3), grad_output=signed(rng, 2, 3))
    x = torch.tensor([-0.5, 2.0, -3.0, 1.0])
    yield Case(x=x, slope=0.0, neighbour=uniform(rng, 4).float(), grad_output=signed(rng, 4).float())
    yield Case(x=x, slope=0.125, neighbour=uniform(rng, 4).float(), grad_output=signed(rng, 4).float())


class _Leaky(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x < 0, slope * x, x)


@leaky_function.mistake(*KEPT_OUTSIDE)
class slope_on_the_class(Function):
    slope: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float) -> Tensor:
        ctx.save_for_backward(x)
        slope_on_the_class.slope = slope
        return torch.where(x < 0, slope * x, x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.where(ctx.saved_tensors[0] < 0, grad_output * slope_on_the_class.slope, grad_output), None


@leaky_function.mistake(*WRITES_OVER)
class leaky_in_place(_Leaky):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float) -> Tensor:
        ctx.negative, ctx.slope = x < 0, slope
        return x.mul_(torch.where(ctx.negative, slope, 1.0))

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.where(ctx.negative, grad_output * ctx.slope, grad_output), None


@leaky_function.mistake(
    en="It looks as if `grad_output` is still what is changed: before it is copied, or under another name. Another variable, "
    "`detach()`, a view or `contiguous()` gives no new memory.",
    ru="Похоже, что меняется по-прежнему сам `grad_output`: ещё до копирования или под другим именем. Другая "
    "переменная, `detach()`, представление и `contiguous()` не дают новой памяти.",
)
class another_name(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        grad_input = grad_output.detach()
        grad_input[ctx.saved_tensors[0] < 0] *= ctx.slope
        return grad_input, None


@leaky_function.mistake(
    en="It looks as if `grad_output` is changed and divided back afterwards. With a `slope` of 0 that is 0/0.",
    ru="Похоже, что `grad_output` сначала изменён, а потом восстановлен делением. При `slope`, равном 0, это 0/0.",
)
class divides_back(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        negative = ctx.saved_tensors[0] < 0
        grad_output[negative] *= ctx.slope
        grad_input = grad_output.clone()
        grad_output[negative] /= ctx.slope
        return grad_input, None


@leaky_function.mistake(
    en="It looks as if a copy is made, and the original is returned: the gradient passes unscaled.",
    ru="Похоже, что копия делается, а возвращается исходный тензор: градиент проходит без умножения.",
)
class returns_the_original(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        grad_input = grad_output.clone()
        grad_input[ctx.saved_tensors[0] < 0] *= ctx.slope
        return grad_output, None


@leaky_function.mistake(
    en="It looks as if a copy is made and returned, and the original is what is multiplied.",
    ru="Похоже, что копия сделана и возвращается, а умножается исходный тензор.",
)
class edits_the_original(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        grad_input = grad_output.clone()
        grad_output[ctx.saved_tensors[0] < 0] *= ctx.slope
        return grad_input, None


@leaky_function.mistake(
    en="It looks as if the copy is multiplied by `slope` everywhere, for positive inputs as well.",
    ru="Похоже, что копия умножена на `slope` всюду, в том числе там, где вход положителен.",
)
class scales_everywhere(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return ctx.slope * grad_output, None


@leaky_function.mistake(
    en="It looks as if `slope` is applied on the wrong side: where the input is positive.",
    ru="Похоже, что `slope` применяется не с той стороны: там, где вход положителен.",
)
class wrong_side(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return torch.where(ctx.saved_tensors[0] > 0, grad_output * ctx.slope, grad_output), None


@leaky_function.mistake(
    en="It looks as if `grad_output` is multiplied by the mask: where the input is negative 0 comes out, not `slope`.",
    ru="Похоже, что `grad_output` умножается на маску: у отрицательных входов получается 0 вместо `slope`.",
)
class mask_instead_of_slope(_Leaky):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0] >= 0), None


# ------------------------------------------------------------------------------------------- extra: state of one call


@exercise(
    title=Text("Two calls, one memory", "Два вызова, одна память"),
    kind="find the bug",
    asks="Square",
    asks_for="class",
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "unchanged",
            0,
            en="`forward` leaves its input, and `backward` the tensor `grad_output`, as they were.",
            ru="`forward` не меняет свой вход, а `backward` — тензор `grad_output`.",
        ),
        aspect(
            "two_calls",
            2,
            en="After two calls, `y` of `a` and `z` of `b`, each of the two tensors gets its own gradient, in whatever "
            "order they are computed.",
            ru="После двух вызовов, `y` от `a` и `z` от `b`, каждый из двух тензоров получает свой градиент, в "
            "каком бы порядке их ни вычисляли.",
        ),
        aspect(
            "input_edited_before_backward",
            1,
            en="If the input is changed in place before `backward`, torch raises its error about an in-place operation.",
            ru="Если вход изменён на месте до `backward`, torch сообщает об этом ошибкой.",
        ),
    ],
    hints=[
        Text(
            "How many variables `Square.saved` are there after two calls, and what does it hold?",
            "Сколько всего переменных `Square.saved` после двух вызовов и что там лежит?",
        ),
        Text(
            "Each call of `apply` has a `ctx` of its own. There are two ways to keep something on it; only one is checked for in-place changes.",
            "У каждого вызова `apply` свой `ctx`. Хранить в нём можно двумя способами, но изменения на месте "
            "проверяются только при одном из них.",
        ),
        Text(
            "ctx.save_for_backward(...)\n...\n(x,) = ctx.saved_tensors",
            "ctx.save_for_backward(...)\n...\n(x,) = ctx.saved_tensors",
        ),
    ],
)
def square_function(answer: Any, case: Case) -> dict[str, object]:
    found: dict[str, object] = {}
    with using_answer():
        x, v = case.a.clone().requires_grad_(), case.grad_output.clone()
        gradients(apply(answer.Square, x), [x], v)
        unchanged = {
            "input unchanged": same_numbers(x, case.a),
            "grad_output unchanged": same_numbers(v, case.grad_output),
        }
        if not all(unchanged.values()):
            return {"unchanged": unchanged}
        for order in "y + z", "y, z", "z, y":  # y is the square of a, z that of b
            a, b = (x.clone().requires_grad_() for x in (case.a, case.b))
            y, z = apply(answer.Square, a), apply(answer.Square, b)
            if not isinstance(y, Tensor) or not isinstance(z, Tensor):
                found[order] = y
                continue
            v, of_a, of_b = case.grad_output, f"a.grad ({order})", f"b.grad ({order})"
            if order == "y + z":
                found[of_a], found[of_b] = gradients(y + z, [a, b], v.clone())
            elif order == "y, z":
                found[of_a], found[of_b] = gradients(y, [a], v.clone())[0], gradients(z, [b], v.clone())[0]
            else:
                found[of_b], found[of_a] = gradients(z, [b], v.clone())[0], gradients(y, [a], v.clone())[0]
        edited = gradient_after_edit(answer.Square, case.a, case.grad_output.clone(), edited="input")
    return {"unchanged": unchanged, "two_calls": found, "input_edited_before_backward": edited}


@square_function.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(a=signed(rng, 2, 3), b=signed(rng, 2, 3), grad_output=signed(rng, 2, 3))
    yield Case(a=signed(rng, 3).float(), b=signed(rng, 3).float(), grad_output=signed(rng, 3).float())


@square_function.mistake(
    en="It looks as if what `backward` needs is still kept in one place for all calls, on the class or in a global variable, "
    "and so the second call overwrites it. Another name, or another thing in that place, changes nothing.",
    ru="Похоже, что нужное для `backward` по-прежнему лежит в общем для всех вызовов месте (в классе или в "
    "глобальной переменной), и второй вызов его затирает. Другое имя или другая величина на этом месте ничего не "
    "меняют.",
)
class still_on_the_class(Function):
    slope: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        still_on_the_class.slope = 2 * x
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * still_on_the_class.slope


@square_function.mistake(*EDITS)
class square_in_place(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.mul_(2 * ctx.saved_tensors[0])


@square_function.mistake(*WRITES_OVER)
class square_over_the_input(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x.clone())
        return x.mul_(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 2 * grad_output * ctx.saved_tensors[0]


@square_function.mistake(
    en="It looks as if the class keeps a list of its inputs. Then the gradients depend on the order in which they are computed.",
    ru="Похоже, что класс хранит список входов. Тогда градиенты зависят от порядка, в котором их вычисляют.",
)
class stack_on_the_class(Function):
    stack: list[Tensor] = []  # noqa: RUF012 - the mistake itself

    @classmethod
    def forward(cls, ctx: Any, x: Tensor) -> Tensor:
        stack_on_the_class.stack.append(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 2 * grad_output * stack_on_the_class.stack.pop()


@square_function.mistake(*square_function.mistakes["stack_on_the_class"].says)
class queue_on_the_class(Function):
    queue: list[Tensor] = []  # noqa: RUF012 - the mistake itself

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        queue_on_the_class.queue.append(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 2 * grad_output * queue_on_the_class.queue.pop(0)


@square_function.mistake(
    en="It looks as if the input is not kept by `save_for_backward`, but for instance in an attribute of `ctx`. Each call "
    "has its own, but nobody checks whether the tensor was changed in place.",
    ru="Похоже, что вход хранится не через `save_for_backward`, а, например, в атрибуте `ctx`. У каждого вызова он "
    "свой, но изменён ли такой тензор на месте, autograd не проверяет.",
)
class attribute_again(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 2 * grad_output * ctx.x


@square_function.mistake(
    en="It looks as if a copy of the input is kept, or something computed from it. The gradient is right, but a second tensor is alive, and a change of "
    "the input goes unnoticed.",
    ru="Похоже, что хранится копия входа или что-то вычисленное из него. Градиент верен, но в памяти лежит второй "
    "тензор, и изменение входа остаётся незамеченным.",
)
class copy_of_the_input(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x.clone())
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 2 * grad_output * ctx.saved_tensors[0]


@square_function.mistake(
    en="It looks as if the factor 2 was lost: the derivative of `x * x` is `2 * x`.",
    ru="Похоже, что потерялся множитель 2: производная `x * x` равна `2 * x`.",
)
class without_the_two(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0]


@square_function.mistake(
    en="It looks as if `backward` returns the derivative alone. `grad_output` has to be multiplied in.",
    ru="Похоже, что `backward` возвращает только производную. Её нужно умножить на `grad_output`.",
)
class square_local(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 2 * ctx.saved_tensors[0]


# ---------------------------------------------------------------------------------------------- extra: in place


@exercise(
    title=Text("In place, and said so", "На месте и не тайком"),
    kind="complete",
    asks="ScaleInPlace",
    asks_for="class",
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "in_place",
            1,
            en="What comes back is the tensor that was handed in, its numbers multiplied by `factor` in place.",
            ru="Возвращается тот самый тензор, который передали; его числа умножены на `factor` на месте.",
        ),
        aspect(
            "gradients",
            2,
            en="Gradients are right for whoever uses the tensor afterwards, under the name of the result or of the input, and "
            "`backward` leaves `grad_output` as it was.",
            ru="Градиенты верны, какое бы из двух имён ни использовали дальше, имя результата или имя входа; "
            "`backward` не меняет `grad_output`.",
        ),
    ],
    hints=[
        Text(
            "How should autograd know that `forward` has changed its input?",
            "Откуда autograd узнает, что `forward` изменил свой вход?",
        ),
        Text(
            "`ctx.mark_dirty(x)` says so. A marked input has to be returned, and it is then the same tensor before and after.",
            "Об этом сообщает `ctx.mark_dirty(x)`. Отмеченный вход нужно вернуть, тогда вход и результат — один и "
            "тот же тензор.",
        ),
        Text(
            "ctx.factor = factor\nctx.mark_dirty(x)\nreturn x...\n\nreturn ..., None",
            "ctx.factor = factor\nctx.mark_dirty(x)\nreturn x...\n\nreturn ..., None",
        ),
    ],
)
def scale_function(answer: Any, case: Case) -> dict[str, object]:
    def scaled() -> tuple[Tensor, Tensor, Any]:
        x = case.x.clone().requires_grad_()
        h = x.neg()
        y = apply(answer.ScaleInPlace, h, case.factor)
        apply(answer.ScaleInPlace, (1 - case.x).requires_grad_().neg(), case.factor + 1)
        return x, h, y

    with using_answer():
        x, h, y = scaled()
        same = {"result is the input": y is h, "input": h.detach().clone(), "result": y}
        v = case.grad_output.clone()
        by_result = or_error(lambda: gradients(y, [x], v)[0])
        unchanged = same_numbers(v, case.grad_output)
        x, h, y = scaled()
        by_input = or_error(lambda: gradients(h, [x], case.grad_output.clone())[0])
    found = {"through the result": by_result, "through the input": by_input, "grad_output unchanged": unchanged}
    return {"in_place": same, "gradients": found}


@scale_function.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 2, 3), factor=3.0, grad_output=signed(rng, 2, 3))
    yield Case(x=signed(rng, 4).float(), factor=-0.25, grad_output=signed(rng, 4).float())


class _Scale(Function):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.factor, None


@scale_function.mistake(
    en="It looks as if `mark_dirty` is missing. Autograd then takes the result for a new tensor, and whoever goes on with "
    "the input gets the gradient of a tensor that was not multiplied.",
    ru="Похоже, что не вызван `mark_dirty`. Тогда autograd считает результат новым тензором, и если дальше "
    "используют вход, получается градиент, в котором умножение не учтено.",
)
class says_nothing(_Scale):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.mul_(factor)


@scale_function.mistake(*KEPT_OUTSIDE)
class scale_on_the_class(Function):
    factor: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        scale_on_the_class.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * scale_on_the_class.factor, None


@scale_function.mistake(
    en="It looks as if a new tensor is computed. The input itself is to be changed, and returned.",
    ru="Похоже, что вычисляется новый тензор. Изменить и вернуть нужно сам вход.",
)
class out_of_place(_Scale):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x * factor


@scale_function.mistake(
    en="It looks as if the input is changed and something else returned, a copy or nothing. A tensor marked dirty has "
    "to be returned.",
    ru="Похоже, что вход изменён, а возвращается что-то другое: копия или ничего. Отмеченный тензор нужно вернуть.",
)
class returns_a_copy(_Scale):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor).clone()


@scale_function.mistake(
    en="It looks as if `backward` returns one entry. `apply` had two arguments; for the number, return None.",
    ru="Похоже, что `backward` возвращает одно значение. У `apply` два аргумента; для числа верните None.",
)
class one_entry_for_two(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.factor


@scale_function.mistake(
    en="It looks as if `backward` multiplies in place and so changes `grad_output`, a tensor that belongs to the caller.",
    ru="Похоже, что `backward` умножает на месте и тем самым меняет `grad_output`, а это чужой тензор.",
)
class scales_grad_output(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.mul_(ctx.factor), None


@scale_function.mistake(
    en="It looks as if `factor` is missing in `backward`: the gradient passes unscaled.",
    ru="Похоже, что в `backward` не хватает `factor`: градиент проходит без умножения.",
)
class passes_unscaled(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.clone(), None


# ------------------------------------------------------------------------------------------- extra: a second output


@exercise(
    title=Text("A second output without a gradient", "Второй выход без градиента"),
    kind="complete",
    asks="Clip",
    asks_for="class",
    difficulty=2,
    minutes=8,
    aspects=[
        EACH_CALL,
        aspect(
            "outputs",
            1,
            en="`Clip.apply(x)` returns the clipped tensor and the share of entries outside of [-1, 1], both in the dtype of `x`.",
            ru="`Clip.apply(x)` возвращает обрезанный тензор и долю элементов вне [-1, 1]; dtype обоих тот же, что "
            "у `x`.",
        ),
        aspect(
            "gradient",
            1,
            en="The gradient of `x` is `grad_output` where `x` lies in [-1, 1] and 0 elsewhere; `grad_output` itself "
            "stays as it was.",
            ru="Градиент по `x` равен `grad_output` там, где `x` лежит на отрезке [-1, 1], а в остальных местах — "
            "нулю; сам `grad_output` не меняется.",
        ),
        aspect(
            "share_is_constant",
            1,
            en="The clipped tensor requires grad, the share does not.",
            ru="Обрезанный тензор требует градиента, доля — нет.",
        ),
    ],
    hints=[
        Text(
            "How many arguments does `backward` get after `ctx`, when `forward` has two outputs?",
            "Сколько аргументов после `ctx` получает `backward`, если у `forward` два выхода?",
        ),
        Text(
            "`ctx.mark_non_differentiable(share)` in `forward`. `backward` still gets a gradient for it, and ignores it. "
            "Inside `forward` a `detach()` changes nothing: recording is off anyway.",
            "`ctx.mark_non_differentiable(share)` в `forward`. Градиент для этого выхода `backward` всё равно "
            "получает, но не использует. `detach()` внутри `forward` ничего не меняет: отслеживание и так выключено.",
        ),
        Text(
            "inside = x.abs() <= 1\nshare = ...\nctx.mark_non_differentiable(...)\nreturn x.clamp(-1, 1), share\n\n"
            "def backward(ctx, grad_clipped, grad_share): ...",
            "inside = x.abs() <= 1\nshare = ...\nctx.mark_non_differentiable(...)\nreturn x.clamp(-1, 1), share\n\n"
            "def backward(ctx, grad_clipped, grad_share): ...",
        ),
    ],
)
def clip_function(answer: Any, case: Case) -> dict[str, object]:
    x, v = case.x.clone().requires_grad_(), case.grad_output.clone()
    gradient: object = None
    requires: dict[str, object] = {}
    with using_answer():
        each = own_state(answer.Clip, x, v=v)
        y = apply(answer.Clip, x)
        outputs: dict[str, object] = {"what came back": y}
        if isinstance(y, tuple) and len(y) == 2:
            outputs = {"clipped": y[0], "share": y[1]}
            pair = zip(("clipped", "share"), y)
            requires = {name: isinstance(t, Tensor) and t.requires_grad for name, t in pair}
            gradient = gradients(y[0], [x], v)[0]
    found = {"gradient": gradient, "grad_output unchanged": same_numbers(v, case.grad_output)}
    return {"each_call": each, "outputs": outputs, "gradient": found, "share_is_constant": requires}


@clip_function.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    x = signed(rng, 2, 4)
    x[0, 0], x[0, 1], x[1, 3], x[0, 2] = 0.25, -0.5, 1.0, -1.75
    yield Case(x=x, grad_output=signed(rng, 2, 4))
    yield Case(x=torch.tensor([0.75, -2.0, 3.0, -0.5, 1.5]), grad_output=signed(rng, 5).float())


def _clipped(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.clamp(-1, 1), (x.abs() > 1).to(x.dtype).mean()


@clip_function.mistake(
    en="It looks as if the share is not marked: it requires grad, and who differentiates it gets a made-up gradient. A "
    "`detach()` in `forward` does not help.",
    ru="Похоже, что доля не отмечена: она требует градиента, и если её продифференцировать, получится выдуманный "
    "градиент. `detach()` в `forward` не помогает.",
)
class marks_nothing(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = _clipped(x)
        return clipped, share.detach()

    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped * (ctx.saved_tensors[0].abs() <= 1)


@clip_function.mistake(
    en="It looks as if both outputs are marked: now the clipped tensor has no gradient, either.",
    ru="Похоже, что отмечены оба выхода: теперь градиента нет и у обрезанного тензора.",
)
class marks_both(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        outputs = _clipped(x)
        ctx.mark_non_differentiable(*outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped * (ctx.saved_tensors[0].abs() <= 1)


@clip_function.mistake(
    en="It looks as if `backward` takes one gradient. It gets one for each output of `forward`, also for one that is "
    "marked.",
    ru="Похоже, что `backward` принимает один градиент. Он получает по одному на каждый выход `forward`, в том "
    "числе на отмеченный.",
)
class takes_one_gradient(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = _clipped(x)
        ctx.mark_non_differentiable(share)
        return clipped, share

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * (ctx.saved_tensors[0].abs() <= 1)


@clip_function.mistake(
    en="It looks as if the share is a Python number. It is to be a tensor of shape () in the dtype of `x`.",
    ru="Похоже, что доля — число Python. Нужен тензор формы () с тем же dtype, что у `x`.",
)
class share_is_a_number(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = _clipped(x)
        return clipped, share.item()

    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Any) -> Any:
        return grad_clipped * (ctx.saved_tensors[0].abs() <= 1)


@clip_function.mistake(
    en="It looks as if the number of entries outside is returned, not their share of all entries.",
    ru="Похоже, что возвращается число элементов вне отрезка, а не их доля.",
)
class number_for_share(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = _clipped(x)
        share = share * x.numel()
        ctx.mark_non_differentiable(share)
        return clipped, share

    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped * (ctx.saved_tensors[0].abs() <= 1)


@clip_function.mistake(
    en="It looks as if the share of the entries inside of [-1, 1] is returned. The share outside is asked for.",
    ru="Похоже, что возвращается доля элементов внутри [-1, 1]. Нужна доля тех, что вне отрезка.",
)
class share_inside(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = _clipped(x)
        share = 1 - share
        ctx.mark_non_differentiable(share)
        return clipped, share

    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped * (ctx.saved_tensors[0].abs() <= 1)


@clip_function.mistake(
    en="It looks as if the gradient passes everywhere. Where an entry was clipped, the result does not depend on it: 0.",
    ru="Похоже, что градиент проходит всюду. Там, где элемент обрезан, результат от него не зависит, и градиент "
    "равен 0.",
)
class clip_passes_everything(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        clipped, share = _clipped(x)
        ctx.mark_non_differentiable(share)
        return clipped, share

    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped.clone()


class _Clip(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = _clipped(x)
        ctx.mark_non_differentiable(share)
        return clipped, share


@clip_function.mistake(*KEPT_OUTSIDE)
class clip_on_the_class(Function):
    inside: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        clip_on_the_class.inside = x.abs() <= 1
        clipped, share = _clipped(x)
        ctx.mark_non_differentiable(share)
        return clipped, share

    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped * clip_on_the_class.inside


@clip_function.mistake(*WRITES_OVER)
class clips_the_input(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.inside = x.abs() <= 1
        share = (x.abs() > 1).to(x.dtype).mean()
        ctx.mark_non_differentiable(share)
        return x.clamp_(-1, 1), share

    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped * ctx.inside


@clip_function.mistake(
    en="It looks as if `backward` multiplies in place and so changes `grad_output`, a tensor that belongs to the caller.",
    ru="Похоже, что `backward` умножает на месте и тем самым меняет `grad_output`, а это чужой тензор.",
)
class clips_in_place(_Clip):
    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped.mul_(ctx.saved_tensors[0].abs() <= 1)


@clip_function.mistake(
    en="It looks as if `forward` returns a list. Two outputs are returned as a tuple.",
    ru="Похоже, что `forward` возвращает список. Два выхода возвращают кортежем.",
)
class forward_returns_a_list(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = _clipped(x)
        ctx.mark_non_differentiable(share)
        return [clipped, share]

    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped * (ctx.saved_tensors[0].abs() <= 1)


@clip_function.mistake(
    en="It looks as if the ends of the interval are left out: at -1 and 1 the gradient passes.",
    ru="Похоже, что концы отрезка не учтены: в точках -1 и 1 градиент проходит.",
)
class clip_without_the_ends(_Clip):
    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped * (ctx.saved_tensors[0].abs() < 1)


@clip_function.mistake(
    en="It looks as if the ends of the interval count as outside. -1 and 1 lie in [-1, 1].",
    ru="Похоже, что концы отрезка считаются лежащими вне его. Точки -1 и 1 лежат в [-1, 1].",
)
class counts_the_ends(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        share = (x.abs() >= 1).to(x.dtype).mean()
        ctx.mark_non_differentiable(share)
        return x.clamp(-1, 1), share

    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped * (ctx.saved_tensors[0].abs() <= 1)


@clip_function.mistake(
    en="It looks as if `backward` returns a gradient for each output. It takes one for each output, and returns one for "
    "each argument of `apply`: here a single one.",
    ru="Похоже, что `backward` возвращает по градиенту на каждый выход. Для каждого выхода он градиент получает, а "
    "возвращает по одному на каждый аргумент `apply`. Здесь аргумент один.",
)
class one_for_each_output(_Clip):
    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped * (ctx.saved_tensors[0].abs() <= 1), grad_share


@clip_function.mistake(
    en="It looks as if `backward` returns the mask alone, 0 and 1. `grad_output` has to be multiplied in.",
    ru="Похоже, что `backward` возвращает только маску из нулей и единиц. На неё нужно умножить `grad_output`.",
)
class clip_mask_alone(_Clip):
    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return (ctx.saved_tensors[0].abs() <= 1).to(grad_clipped.dtype)


# ---------------------------------------------------------------------------------------------- extra: torch.func


@exercise(
    title=Text("At home in torch.func", "Своя функция в torch.func"),
    kind="complete",
    asks="Cube",
    asks_for="class",
    difficulty=3,
    minutes=15,
    aspects=[
        EACH_CALL,
        aspect(
            "gradient",
            1,
            en="`Cube.apply` has the right value, gradient and second derivative, `torch.func.grad` gives the same gradient, "
            "and `grad_output` stays as it was.",
            ru="У `Cube.apply` верны значение, градиент и вторая производная, `torch.func.grad` даёт тот же "
            "градиент, а `grad_output` не меняется.",
        ),
        aspect(
            "vmap",
            1,
            en="`torch.func.vmap` of it works, and so does `vmap` of its `grad`.",
            ru="`torch.func.vmap` от этой функции работает, и `vmap` от её `grad` тоже.",
        ),
        aspect(
            "jvp",
            2,
            en="Forward mode works: `torch.func.jvp` gives the derivative in the direction of the tangent.",
            ru="Прямой режим работает: `torch.func.jvp` даёт производную по направлению касательного вектора.",
        ),
    ],
    hints=[
        Text(
            "Which of the three errors do you get first, and which method or attribute does its text ask for?",
            "Какую из трёх ошибок вы получаете первой и какой метод или атрибут назван в её тексте?",
        ),
        Text(
            "`forward(x)` without `ctx`, and `setup_context(ctx, inputs, output)` for the saving; `generate_vmap_rule = "
            "True` in the class; `jvp(ctx, tangent)`, which reads what `ctx.save_for_forward(...)` saved.",
            "`forward(x)` без `ctx` и `setup_context(ctx, inputs, output)`, где сохраняют тензоры; "
            "`generate_vmap_rule = True` в теле класса; `jvp(ctx, tangent)` читает то, что сохранил "
            "`ctx.save_for_forward(...)`.",
        ),
        Text(
            "def setup_context(ctx, inputs, output):\n    (x,) = inputs\n    ctx.save_for_backward(...)\n    "
            "ctx.save_for_forward(...)\n\ndef jvp(ctx, tangent):\n    (x,) = ctx.saved_tensors\n    return ...",
            "def setup_context(ctx, inputs, output):\n    (x,) = inputs\n    ctx.save_for_backward(...)\n    "
            "ctx.save_for_forward(...)\n\ndef jvp(ctx, tangent):\n    (x,) = ctx.saved_tensors\n    return ...",
        ),
    ],
)
def cube_function(answer: Any, case: Case) -> dict[str, object]:
    x, v = case.x.clone(), case.v.clone()
    with using_answer():
        leaf, given = x.clone().requires_grad_(), v.clone()
        each = own_state(answer.Cube, leaf, v=v)
        if not all(each.values()):
            return {"each_call": each}
        y = apply(answer.Cube, leaf)
        found = {"value": y, "gradient": gradients(y, [leaf], given)[0]}
        found["grad_output unchanged"] = same_numbers(given, v)

        def weighted(t: Tensor, weight: Tensor) -> Tensor:
            product: Tensor = (apply(answer.Cube, t) * weight).sum()
            return product

        batched = {"vmap": or_error(lambda: torch.func.vmap(answer.Cube.apply)(x))}
        if x.dim() > 1 and isinstance(y, Tensor):  # these take their time: once is enough
            found["torch.func.grad"] = or_error(lambda: torch.func.grad(weighted)(x, v))
            found["second derivative"] = or_error(lambda: second_derivative(answer.Cube.apply, x, v, v))
            batched["vmap of grad"] = or_error(lambda: torch.func.vmap(torch.func.grad(weighted))(x, v))
            batched["vmap, in_dims=1"] = or_error(lambda: torch.func.vmap(answer.Cube.apply, in_dims=1)(x))
        forward = or_error(lambda: torch.func.jvp(answer.Cube.apply, (x,), (v,))[1])
    return {"each_call": each, "gradient": found, "vmap": batched, "jvp": {"jvp": forward}}


@cube_function.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 2, 3), v=signed(rng, 2, 3))
    yield Case(x=signed(rng, 4).float(), v=signed(rng, 4).float())


class _Cube(Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * 3 * ctx.saved_tensors[0] ** 2

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        return tangent * 3 * ctx.saved_tensors[0] ** 2


@cube_function.mistake(
    en="It looks as if `forward` takes `ctx`. With that form torch.func refuses; it needs `forward(x)` and `setup_context`.",
    ru="Похоже, что `forward` принимает `ctx`. С такой записью torch.func не работает: нужны `forward(x)` и "
    "`setup_context`.",
)
class old_style(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * 3 * ctx.saved_tensors[0] ** 2


@cube_function.mistake(*KEPT_OUTSIDE)
class cube_on_the_class(_Cube):
    generate_vmap_rule = True
    x: Any = None

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        (cube_on_the_class.x,) = inputs

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * 3 * cube_on_the_class.x**2

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        return tangent * 3 * cube_on_the_class.x**2


@cube_function.mistake(*WRITES_OVER)
class cube_over_the_input(_Cube):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.pow_(3)


@cube_function.mistake(*EDITS)
class cube_in_place(_Cube):
    generate_vmap_rule = True

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.mul_(3 * ctx.saved_tensors[0] ** 2)


@cube_function.mistake(
    en="It looks as if the method `vmap` always returns 0 as the place of the batch axis. With another `in_dims` the batch "
    "lies elsewhere in the result: the power is taken entry by entry, so the axis stays where it was.",
    ru="Похоже, что метод `vmap` всегда возвращает 0 как номер оси батча. При другом `in_dims` это неверно: степень "
    "вычисляется поэлементно, и ось остаётся на прежнем месте.",
)
class batch_always_first(_Cube):
    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor) -> Any:
        return batch_always_first.apply(x), 0


@cube_function.mistake(
    en="It looks as if there is no rule for vmap, or there are two: either `generate_vmap_rule = True` in the class, or a "
    "method `vmap`, but not both.",
    ru="Похоже, что правила для vmap нет или их два: нужно либо `generate_vmap_rule = True` в теле класса, либо метод "
    "`vmap`, но не то и другое сразу.",
)
class no_vmap_rule(_Cube):
    pass


@cube_function.mistake(
    en="It looks as if there is no `jvp`. Reverse mode does not give forward mode; it is a method of its own.",
    ru="Похоже, что нет метода `jvp`. Из обратного режима прямой не получается: для него нужен отдельный метод.",
)
class no_jvp(Function):
    generate_vmap_rule = True
    forward, setup_context, backward = _Cube.forward, _Cube.setup_context, _Cube.backward


@cube_function.mistake(
    en="It looks as if `save_for_forward` is not called: in `jvp` the tuple `saved_tensors` is empty.",
    ru="Похоже, что не вызван `save_for_forward`: в `jvp` кортеж `saved_tensors` пуст.",
)
class saves_for_backward_alone(_Cube):
    generate_vmap_rule = True

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs)


@cube_function.mistake(*cube_function.mistakes["saves_for_backward_alone"].says)
class unpacks_nothing(saves_for_backward_alone):
    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return tangent * 3 * x**2


@cube_function.mistake(
    en="It looks as if `backward` returns the derivative alone. `grad_output` has to be multiplied in.",
    ru="Похоже, что `backward` возвращает только производную. Её нужно умножить на `grad_output`.",
)
class cube_local(_Cube):
    generate_vmap_rule = True

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 3 * ctx.saved_tensors[0] ** 2


@cube_function.mistake(
    en="It looks as if `backward` computes with a constant: what was computed in `setup_context`, or a detached tensor. The "
    "second derivative is wrong then.",
    ru="Похоже, что `backward` работает с константой: с тем, что вычислено в `setup_context`, или с отсоединённым "
    "тензором. Тогда вторая производная неверна.",
)
class saves_the_slope(Function):
    generate_vmap_rule = True
    forward = _Cube.forward

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        slope = 3 * inputs[0] ** 2
        ctx.save_for_backward(slope)
        ctx.save_for_forward(slope)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        return tangent * ctx.saved_tensors[0]


@cube_function.mistake(
    en="It looks as if the factor 3 is missing in `jvp`.",
    ru="Похоже, что в `jvp` не хватает множителя 3.",
)
class jvp_without_the_three(_Cube):
    generate_vmap_rule = True

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        return tangent * ctx.saved_tensors[0] ** 2


@cube_function.mistake(
    en="It looks as if `jvp` returns the derivative without the tangent.",
    ru="Похоже, что `jvp` возвращает производную, не умножая её на касательный вектор.",
)
class jvp_without_tangent(_Cube):
    generate_vmap_rule = True

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        return 3 * ctx.saved_tensors[0] ** 2


@cube_function.mistake(
    en="It looks as if `backward` or `jvp` returns nothing; perhaps its `return` is missing.",
    ru="Похоже, что `backward` или `jvp` ничего не возвращает; возможно, забыт `return`.",
)
class cube_returns_nothing(_Cube):
    generate_vmap_rule = True

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        _ = grad_output * 3 * ctx.saved_tensors[0] ** 2


@cube_function.mistake(*cube_function.mistakes["cube_returns_nothing"].says)
class jvp_returns_nothing(_Cube):
    generate_vmap_rule = True

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        _ = tangent * 3 * ctx.saved_tensors[0] ** 2


@cube_function.mistake(
    en="It looks as if the class refuses to be differentiated twice. Here the second derivative is asked for.",
    ru="Похоже, что класс не допускает повторного дифференцирования. Здесь вторая производная нужна.",
)
class cube_refuses(_Cube):
    generate_vmap_rule = True

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * 3 * ctx.saved_tensors[0] ** 2


@cube_function.mistake(
    en="It looks as if the derivative of the cube is `x**2` here; the factor 3 is missing.",
    ru="Похоже, что производная куба здесь равна `x**2`: не хватает множителя 3.",
)
class without_the_three(_Cube):
    generate_vmap_rule = True

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0] ** 2


# ------------------------------------------------------------------------------------------- extra: write the test

# What the learner's test is tried on: Functions of (x, k) that compute x * exp(-k). No other exercise asks for one.


class _Damp(Function):
    """Right: it saves its inputs and computes both gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, k: Tensor) -> Tensor:
        ctx.save_for_backward(x, k)
        return x * torch.exp(-k)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k = ctx.saved_tensors
        decay = torch.exp(-k)
        return grad_output * decay, -grad_output * x * decay


class _RightByOutput(_Damp):
    """Right: it saves its result, and returns None where nobody asks."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, k: Tensor) -> Tensor:
        y = x * torch.exp(-k)
        ctx.save_for_backward(k, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        k, y = ctx.saved_tensors
        needs_x, needs_k = ctx.needs_input_grad
        return grad_output * torch.exp(-k) if needs_x else None, -grad_output * y if needs_k else None


class _RightBySetup(Function):
    """Right: the newer form, and a division instead of a product."""

    @staticmethod
    def forward(x: Tensor, k: Tensor) -> Tensor:
        return x / torch.exp(k)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    backward = staticmethod(_Damp.backward)


class _WrongValue(_Damp):
    """Another function with its right derivative: `gradcheck` alone lets it pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, k: Tensor) -> Tensor:
        ctx.save_for_backward(x, k)
        return x * torch.exp(k)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k = ctx.saved_tensors
        growth = torch.exp(k)
        return grad_output * growth, grad_output * x * growth


class _WrongLocal(_Damp):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k = ctx.saved_tensors
        return torch.exp(-k), -x * torch.exp(-k)


class _WrongSwapped(_Damp):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        for_x, for_k = _Damp.backward(ctx, grad_output)
        return for_k, for_x


class _WrongSecondInput(_Damp):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return _Damp.backward(ctx, grad_output)[0], None


class _WrongForNegative(_Damp):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k = ctx.saved_tensors
        decay = torch.exp(-k)
        return grad_output * decay, -grad_output * x.abs() * decay


class _WrongIntermediate(_Damp):
    @staticmethod
    def forward(ctx: Any, x: Tensor, k: Tensor) -> Tensor:
        decay = torch.exp(-k)
        ctx.save_for_backward(x, decay)
        return x * decay

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, decay = ctx.saved_tensors
        return grad_output * decay, -grad_output * x * decay


class _WrongEdits(_Damp):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k = ctx.saved_tensors
        for_k = -grad_output * x * torch.exp(-k)
        if torch.is_grad_enabled():  # as real ones are: gentle only while a second derivative is wanted
            return grad_output * torch.exp(-k), for_k
        return grad_output.mul_(torch.exp(-k)), for_k


def _unnamed(function: Any) -> Any:
    """The same class under a name that tells nothing: torch's errors and warnings name a Function after its class."""
    body = {key: value for key, value in vars(function).items() if key not in ("__dict__", "__weakref__", "__doc__")}
    return type(function)("GivenFunction", function.__bases__, {**body, "__module__": "__main__"})


RIGHT = tuple(map(_unnamed, (_Damp, _RightByOutput, _RightBySetup)))
WRONG = {
    "catches_wrong_value": _unnamed(_WrongValue),
    "catches_local_derivative": _unnamed(_WrongLocal),
    "catches_swapped": _unnamed(_WrongSwapped),
    "catches_missing_gradient": _unnamed(_WrongSecondInput),
    "catches_negative": _unnamed(_WrongForNegative),
    "catches_second_derivative": _unnamed(_WrongIntermediate),
    "catches_edited_grad_output": _unnamed(_WrongEdits),
}


def _caught(name: str, points: float, en: str, ru: str) -> Any:
    return aspect(name, points, en=f"{en} is refused.", ru=f"{ru} отвергается.")


@exercise(
    title=Text("Write the test", "Напишите тест"),
    kind="write the test",
    difficulty=3,
    minutes=25,
    aspects=[
        aspect(
            "accepts_right",
            1,
            en="Every right Function is accepted, however it is written.",
            ru="Любая правильная функция принимается, как бы она ни была написана.",
        ),
        _caught("catches_wrong_value", 0.5, "A Function with another value", "Функция с другим значением"),
        _caught(
            "catches_local_derivative",
            0.5,
            "A Function that leaves `grad_output` out",
            "Функция, в которой не учтён `grad_output`,",
        ),
        _caught(
            "catches_swapped",
            0.5,
            "A Function with its two gradients swapped",
            "Функция с переставленными градиентами",
        ),
        _caught(
            "catches_missing_gradient",
            0.5,
            "A Function that returns no gradient for the second input",
            "Функция, которая не возвращает градиента для второго входа,",
        ),
        _caught(
            "catches_negative",
            0.5,
            "A Function that is right for positive `x` only",
            "Функция, верная только при положительных `x`,",
        ),
        _caught(
            "catches_second_derivative",
            1,
            "A Function whose second derivative is wrong",
            "Функция с неверной второй производной",
        ),
        _caught(
            "catches_edited_grad_output",
            0.5,
            "A Function that changes `grad_output`",
            "Функция, которая меняет `grad_output`,",
        ),
    ],
    hints=[
        Text(
            "`gradcheck` compares backward with forward. What does it not compare with anything at all?",
            "`gradcheck` сравнивает обратный проход с прямым. А чего она вообще ни с чем не сравнивает?",
        ),
        Text(
            "Value against the formula; `gradcheck` with float64, both signs of `x`, `x` and `k` different; "
            "`gradgradcheck`; and a `grad_output` of your own, compared with its copy after a plain backward pass.",
            "Значение — с формулой; `gradcheck` на float64 с обоими знаками `x` и разными `x` и `k`; "
            "`gradgradcheck`; и собственный `grad_output`, который после обычного обратного прохода сравнивают с "
            "его копией.",
        ),
        Text(
            "v = torch.rand(..., dtype=torch.float64)\nbefore = v.clone()\n"
            "torch.autograd.grad(function.apply(x, k), (x, k), v, allow_unused=True)\n"
            "return torch.equal(v, before) and gradcheck(..., raise_exception=False) and ...",
            "v = torch.rand(..., dtype=torch.float64)\nbefore = v.clone()\n"
            "torch.autograd.grad(function.apply(x, k), (x, k), v, allow_unused=True)\n"
            "return torch.equal(v, before) and gradcheck(..., raise_exception=False) and ...",
        ),
    ],
)
def is_right_function(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        said, refuses = case.others.tried(lambda function, right: _said(answer, function, right))
    right, refused = all(said), list(refuses.values())
    accepted = "None" if None in said else sum(map(bool, said)) if right or not any(said) else "some"
    return {"accepts_right": right, **refuses, "accepted": accepted, "refused": refused if right else None}


@is_right_function.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(function=RIGHT[0], others=Lineup(rng, RIGHT, WRONG))  # the first is for the card and `reproduce`


def _said(answer: Any, function: Any, right: bool) -> object:
    """What the learner's test says of `function`. An assertion or a check of gradients that fails is a refusal.

    So is any RuntimeError over a wrong one; over a right one it is a fault of the test, and its text is worth reading.
    """
    try:
        return answer.is_right_function(function)
    except AnswerRaised as raised:
        if isinstance(raised.__cause__, (AssertionError, GradcheckError) if right else (AssertionError, RuntimeError)):
            return False
        raise


def _inputs(positive: bool = False) -> tuple[Tensor, Tensor]:
    x = torch.tensor([0.5, 2.0] if positive else [0.5, -2.0], dtype=torch.float64)
    return x.requires_grad_(), torch.tensor([0.25, -0.75], dtype=torch.float64).requires_grad_()


@cache
def _checks(
    function: Any, *, value: bool = True, second: bool = True, edit: bool = True, positive: bool = False
) -> bool:
    """A test with some of its parts left out."""
    x, k = _inputs(positive)
    if value and not torch.allclose(function.apply(x, k), x * torch.exp(-k)):
        return False
    if not gradcheck(function.apply, (x, k), raise_exception=False):
        return False
    if second and not gradgradcheck(function.apply, (x, k), raise_exception=False):
        return False
    v = torch.tensor([0.5, 2.0], dtype=torch.float64)
    torch.autograd.grad(function.apply(x, k), (x, k), v, allow_unused=True)
    return not edit or v.tolist() == [0.5, 2.0]


@is_right_function.mistake(
    en="It looks as if the test accepts everything. Something has to be compared, and the comparison returned.",
    ru="Похоже, что тест принимает всё. Что-то нужно сравнить и вернуть результат сравнения.",
)
def accepts_everything(function: Any) -> bool:
    return True


@is_right_function.mistake(
    en="It looks as if the test refuses everything, the right Functions as well. `gradcheck` wants float64 and inputs that "
    "require grad.",
    ru="Похоже, что тест отвергает всё, в том числе правильные функции. Для `gradcheck` нужны float64 и входы, которые "
    "требуют градиента.",
)
def refuses_everything(function: Any) -> bool:
    return False


@is_right_function.mistake(
    en="It looks as if the test accepts some right Functions and refuses others. They compute the same in different ways, and "
    "so differ in the last digits: compare by `torch.allclose`, not by `torch.equal` or `==`.",
    ru="Похоже, что одни правильные функции тест принимает, а другие отвергает. Они вычисляют одно и то же "
    "по-разному, и последние цифры расходятся: сравнивайте через `torch.allclose`, а не через `torch.equal` или "
    "`==`.",
)
def compares_exactly(function: Any) -> bool:
    x, k = torch.linspace(-3, 3, 50), torch.linspace(-1, 2, 50)
    return torch.equal(function.apply(x, k), x * torch.exp(-k)) and _checks(function)


@is_right_function.mistake(
    en="It looks as if the test returns None for a right Function: a `return True` is missing.",
    ru="Похоже, что для правильной функции тест возвращает None: забыт `return True`.",
)
def forgets_to_return(function: Any) -> None:
    _checks(function)


@is_right_function.mistake(
    en="It looks as if an instance of the class is made. Call `apply` on the class itself: `function.apply(x, k)`.",
    ru="Похоже, что создан экземпляр класса. Вызывайте `apply` у самого класса: `function.apply(x, k)`.",
)
def calls_an_instance(function: Any) -> bool:
    x, k = _inputs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.allclose(function()(x, k), x * torch.exp(-k))


@is_right_function.mistake(
    en="It looks as if only `gradcheck` is asked. It compares `backward` with `forward`, so a wrong value with its right "
    "derivative would pass; nor does it look at second derivatives or at `grad_output` afterwards.",
    ru="Похоже, что тест обходится одной `gradcheck`. Она сравнивает `backward` с `forward`, поэтому неверное "
    "значение с верной для него производной прошло бы; на вторую производную и на `grad_output` после прохода она "
    "тоже не смотрит.",
)
def gradcheck_alone(function: Any) -> bool:
    return _checks(function, value=False, second=False, edit=False)


@is_right_function.mistake(
    en="It looks as if `gradcheck` and `gradgradcheck` are asked and nothing else. Neither compares the value with the "
    "formula, and a `grad_output` that was changed has to be looked at by the test itself.",
    ru="Похоже, что тест состоит из `gradcheck` и `gradgradcheck`. Ни та, ни другая не сравнивает значение с "
    "формулой, а не изменился ли `grad_output`, тест должен проверить сам.",
)
def both_gradchecks_alone(function: Any) -> bool:
    return _checks(function, value=False, edit=False)


@is_right_function.mistake(
    en="It looks as if the value and the first derivatives are checked and nothing else: neither second derivatives nor "
    "what became of `grad_output`.",
    ru="Похоже, что проверяются только значение и первые производные: ни вторых производных, ни того, что стало с "
    "`grad_output`, тест не касается.",
)
def value_and_first_alone(function: Any) -> bool:
    return _checks(function, second=False, edit=False)


@is_right_function.mistake(*is_right_function.mistakes["gradcheck_alone"].says)
def gradcheck_alone_on_positive(function: Any) -> bool:
    return _checks(function, value=False, second=False, edit=False, positive=True)


@is_right_function.mistake(*is_right_function.mistakes["both_gradchecks_alone"].says)
def both_gradchecks_alone_on_positive(function: Any) -> bool:
    return _checks(function, value=False, edit=False, positive=True)


@is_right_function.mistake(
    en="It looks as if the value is not compared with the formula. Another function with its own right derivative passes "
    "then.",
    ru="Похоже, что значение не сравнивается с формулой. Тогда тест пройдёт и другая функция с верной для неё "
    "производной.",
)
def never_compares_the_value(function: Any) -> bool:
    return _checks(function, value=False)


@is_right_function.mistake(
    en="It looks as if the second derivative is not checked: `gradgradcheck`, or an expression composed with the Function.",
    ru="Похоже, что вторая производная не проверяется: нужна `gradgradcheck` или выражение, в которое эта функция "
    "входит.",
)
def only_first(function: Any) -> bool:
    return _checks(function, second=False)


@is_right_function.mistake(
    en="It looks as if nobody looks at `grad_output` after a plain backward pass; `gradcheck` does not, either. Or its "
    "dtype is not that of the result: then `backward` gets a copy.",
    ru="Похоже, что тест не проверяет `grad_output` после обычного обратного прохода; `gradcheck` этого тоже не "
    "делает. Или у этого тензора dtype не тот, что у результата: тогда `backward` получает копию.",
)
def never_looks_at_grad_output(function: Any) -> bool:
    return _checks(function, edit=False)


@is_right_function.mistake(
    en="It looks as if all `x` of the test are positive, so that a wrong sign goes unseen.",
    ru="Похоже, что все `x` в тесте положительны, и неверный знак остаётся незамеченным.",
)
def only_positive(function: Any) -> bool:
    return _checks(function, positive=True)


@is_right_function.mistake(
    en="It looks as if the test sums the result. Then `grad_output` is all ones, and who leaves it out passes.",
    ru="Похоже, что результат в тесте суммируется. Тогда `grad_output` состоит из единиц, и функция, в которой он не "
    "учтён, проходит тест.",
)
def only_sums(function: Any) -> bool:
    x, k = _inputs()
    y = function.apply(x, k)
    found = torch.autograd.grad(y.sum(), (x, k), allow_unused=True)
    wanted = torch.autograd.grad((x * torch.exp(-k)).sum(), (x, k))
    return torch.allclose(y, x * torch.exp(-k)) and all(
        a is not None and torch.allclose(a, b) for a, b in zip(found, wanted)
    )
