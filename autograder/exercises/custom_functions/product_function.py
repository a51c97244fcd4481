"""Core exercise: a custom Function of two inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import (
    EACH_CALL,
    EDITS_GRAD_OUTPUT,
    OVERWRITES_INPUT,
    STATE_OUTSIDE_CTX,
    Function,
    apply,
    apply_custom,
    gradients,
    observe_state,
    same_numbers,
)
from .product_shapes import (
    RightForward,
    always_sums_over_axis_0,
    counts_axes_from_the_left,
    reshapes_the_gradient,
    squeezes_the_sum,
    sums_over_axis_0,
    sums_over_axis_0_with_keepdim,
    sums_over_the_last_axis,
    takes_the_mean,
    takes_the_mean_for_a_number,
)


class _ReadCounter(TorchDispatchMode):
    """A counter of the operations that read a tensor's memory.

    An operation that only makes a view or a detached copy of `watched` does not read the memory.
    """

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
            ru="Метод `backward` не меняет тензор `grad_output`.",
        ),
        aspect(
            "gradients",
            2,
            en="`Product.apply(a, b)` is `a * b`, and each input that requires grad gets its own gradient, in its own "
            "shape.",
            ru="Значение `Product.apply(a, b)` равно `a * b`, и каждый вход, который требует градиента, получает свой "
            "градиент, той же формы, что и он сам.",
        ),
        aspect(
            "reads_for_nobody",
            1,
            en="When one input does not require grad, no operation of `backward` works on its gradient. (The check "
            "counts operations that read the other input: only that gradient needs it.)",
            ru="Если один из входов не требует градиента, `backward` не выполняет операций для его градиента. "
            "(Проверка считает операции с другим входом: он нужен только для этого градиента.)",
            measured=Text("Operations that read the other input", "Операций, читающих другой вход"),
        ),
    ],
    hints=[
        Text(
            "With `b` held fixed, how fast does `a * b` grow with `a`? And which of the two is a constant in each "
            "case?",
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
        each = observe_state(answer.Product, a, b, v=v)
        y = apply_custom(answer.Product, a, b)
        found = dict(zip(names, gradients(y, asked, v)))
        reads = 0
        if len(asked) == 1:
            y = apply(answer.Product, a, b)
            with _ReadCounter(asked[0]) as counted:
                gradients(y, asked, case.grad_output.clone())
            reads = counted.times
    return {
        "each_call": each,
        "grad_output_after": {"grad_output unchanged": same_numbers(v, case.grad_output)},
        "gradients": {"value": y, **found},
        "reads_for_nobody": AtMost(0, reads),
    }


@product_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def case(needs_a: bool, needs_b: bool, a: Tensor, b: Tensor) -> Case:
        v = signed(rng, *torch.broadcast_shapes(a.shape, b.shape)).to(a.dtype)
        return Case(a=a, b=b, grad_output=v, needs_a=needs_a, needs_b=needs_b)

    with_zero = signed(rng, 2, 3)
    with_zero[0, 1] = 0.0
    yield case(True, True, with_zero, signed(rng, 2, 3))
    yield case(True, True, signed(rng, 4, 3), signed(rng, 3))
    yield case(True, False, signed(rng, 3, 2), signed(rng, 3, 2))
    yield case(False, True, signed(rng, 5), signed(rng, 5))
    yield case(True, True, signed(rng, 2, 1).float(), signed(rng, 3, 2, 4).float())
    for a, b in ((3,), ()), ((4, 3), (4, 1)), ((4, 1), (1, 3)):
        yield case(True, True, signed(rng, *a), signed(rng, *b))


@product_function.mistake(*STATE_OUTSIDE_CTX)
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


@product_function.mistake(*OVERWRITES_INPUT)
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
    en="Only one of the two gradients is ever computed. When both inputs require grad, both are asked for.",
    ru="Всегда вычисляется только один из двух градиентов. Когда градиента требуют оба входа, нужны оба.",
)
class either_or(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return (grad_output * b, None) if ctx.needs_input_grad[0] else (None, grad_output * a)


@product_function.mistake(*EDITS_GRAD_OUTPUT)
class always_multiplies_in_place(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        for_b = grad_output * a
        return grad_output.mul_(b), for_b


@product_function.mistake(*EDITS_GRAD_OUTPUT)
class multiplies_in_place(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        for_b = grad_output * a if ctx.needs_input_grad[1] else None
        return grad_output.mul_(b) if ctx.needs_input_grad[0] else None, for_b


@product_function.mistake(
    en="The two gradients are swapped. The gradient of `a` is `grad_output` times `b` and stands first.",
    ru="Градиенты переставлены. Первым должен стоять градиент по `a`: `grad_output`, умноженный на `b`.",
)
class swapped(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return grad_output * a if needs[0] else None, grad_output * b if needs[1] else None


@product_function.mistake(
    en="The two gradients were returned in the wrong order: that of `a`, the first argument, stands first.",
    ru="Градиенты возвращаются не в том порядке: первым должен стоять градиент по `a`, первому аргументу.",
)
class returned_in_wrong_order(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        grad_a = grad_output * b if ctx.needs_input_grad[0] else None
        grad_b = grad_output * a if ctx.needs_input_grad[1] else None
        return grad_b, grad_a


@product_function.mistake(
    en="`backward` returns a single gradient (a list counts as one). It has to return a tuple, with one gradient for "
    "each argument of `apply`.",
    ru="Метод `backward` возвращает один градиент (список считается за один). Нужен кортеж, по одному градиенту на "
    "каждый аргумент `apply`.",
)
class one_gradient(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[1]


@product_function.mistake(
    en="`backward` returns the partial derivatives alone. Each has to be multiplied by `grad_output`.",
    ru="Метод `backward` возвращает только частные производные. Каждую нужно умножить на `grad_output`.",
)
class local_derivatives(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return b if ctx.needs_input_grad[0] else None, a if ctx.needs_input_grad[1] else None


@product_function.mistake(
    en="`grad_output` was passed on to both inputs unchanged. That is the derivative of a sum, `a + b`.",
    ru="Тензор `grad_output` передан обоим входам без изменений. Так было бы у суммы `a + b`.",
)
class derivative_of_a_sum(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        return a * b

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output, grad_output


@product_function.mistake(
    en="Only the first input gets a gradient: the second entry is always None.",
    ru="Градиент получает только первый вход, а на втором месте всегда стоит None.",
)
class second_is_none(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[1], None


@product_function.mistake(
    en="`None` comes back as soon as one of the two inputs does not require grad. The other one still needs its "
    "gradient.",
    ru="Значение `None` возвращается, если хотя бы один из двух входов не требует градиента. Другому входу градиент "
    "по-прежнему нужен.",
)
class all_or_nothing(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return (grad_output * b, grad_output * a) if all(ctx.needs_input_grad) else (None, None)


@product_function.mistake(
    en="The flags of `needs_input_grad` are mixed up: the first belongs to `a`, the first argument of `apply`.",
    ru="Флаги `needs_input_grad` перепутаны: первый относится к `a`, первому аргументу `apply`.",
)
class flags_swapped(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        needs_b, needs_a = ctx.needs_input_grad
        return grad_output * b if needs_a else None, grad_output * a if needs_b else None


@product_function.mistake(
    en="A gradient is computed that nobody asked for. `ctx.needs_input_grad` tells which are needed.",
    ru="Вычисляется градиент, который никому не нужен. Какие нужны, видно по `ctx.needs_input_grad`.",
)
class computes_both(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return grad_output * b, grad_output * a


@product_function.mistake(*EDITS_GRAD_OUTPUT)
class multiplies_the_second_in_place(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        for_a = grad_output * b if ctx.needs_input_grad[0] else None
        return for_a, grad_output.mul_(a) if ctx.needs_input_grad[1] else None


@product_function.mistake(*product_function.mistakes["computes_both"].says)
class always_computes_the_first(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return grad_output * b, grad_output * a if ctx.needs_input_grad[1] else None


@product_function.mistake(
    en="The second gradient depends on the flag of the first input. Each input has a flag in `ctx.needs_input_grad`.",
    ru="Второй градиент зависит от флага первого входа. В `ctx.needs_input_grad` у каждого входа свой флаг.",
)
class one_flag_for_both(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return grad_output * b, grad_output * a if ctx.needs_input_grad[0] else None


@product_function.mistake(
    en="`backward` returns only the gradients that are needed. An input without a gradient keeps its place, with None.",
    ru="Метод `backward` возвращает только нужные градиенты. За входом без градиента остаётся его место: там стоит "
    "None.",
)
class needed_entries_alone(RightForward):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b = ctx.saved_tensors
        both = zip(ctx.needs_input_grad, (grad_output * b, grad_output * a))
        return tuple(gradient for needed, gradient in both if needed)


@product_function.mistake(
    en="The other factor is got by dividing the result by an input. Where that input is 0, this is 0/0: NaN.",
    ru="Второй множитель получен делением результата на вход. Там, где этот вход равен 0, получается 0/0, то есть NaN.",
)
class divides_the_result(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b, a * b)
        return a * b

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        a, b, y = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return grad_output * y / a if needs[0] else None, grad_output * y / b if needs[1] else None


product_function.mistake(
    en="The gradient of a stretched input is the mean over the stretched axis. The paths join there, so it is the sum.",
    ru="Градиент растянутого входа усреднён по растянутой оси. Пути там сходятся, поэтому нужна сумма.",
)(takes_the_mean)
product_function.mistake(
    en="The gradient of an input of shape `()` is the mean. The input meets every entry, so it is the sum.",
    ru="Градиент входа формы `()` — среднее. Такой вход участвует в каждом элементе, поэтому нужна сумма.",
)(takes_the_mean_for_a_number)
product_function.mistake(
    en="Where the shapes differ, the gradient is summed over axis 0. The stretched axis may be another one, as for "
    "`(4, 3)` and `(4, 1)`.",
    ru="Если формы различаются, градиент просуммирован по оси 0. Растянутой может быть и другая ось, как для `(4, 3)` "
    "и `(4, 1)`.",
)(sums_over_axis_0)
product_function.mistake(
    en="The gradient of `b` is summed over axis 0 even if no axis was stretched.",
    ru="Градиент по `b` просуммирован по оси 0, даже если при транслировании ни одна ось не расширена.",
)(always_sums_over_axis_0)
product_function.mistake(*product_function.mistakes["sums_over_axis_0"].says)(sums_over_axis_0_with_keepdim)
product_function.mistake(
    en="Where the shapes differ, the gradient is summed over the last axis. The stretched axis may be another one, as "
    "for `(4, 3)` and `(3,)`.",
    ru="Если формы различаются, градиент просуммирован по последней оси. Растянутой может быть и другая ось, как для "
    "`(4, 3)` и `(3,)`.",
)(sums_over_the_last_axis)
product_function.mistake(
    en="The gradient of a stretched input is only given another shape. It has too many entries and has to be summed.",
    ru="Градиенту растянутого входа лишь придана другая форма. Элементов в нём слишком много, их нужно сложить.",
)(reshapes_the_gradient)
product_function.mistake(
    en="`squeeze` also removes axes of length 1 that belong to the input. Its gradient has to keep them.",
    ru="Метод `squeeze` удаляет и те оси длины 1, которые есть у входа. В его градиенте они должны остаться.",
)(squeezes_the_sum)
product_function.mistake(
    en="The axes of the input are counted from the left. Broadcasting aligns shapes at their last axes.",
    ru="Оси входа отсчитаны слева. При транслировании формы выравниваются по последним осям.",
)(counts_axes_from_the_left)
