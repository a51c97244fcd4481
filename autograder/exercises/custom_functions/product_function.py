"""Exercise: a custom Function of two inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from autograder.checking.counted_run import another
from autograder.checking.counting.eager_mode import EagerMode
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import EACH_CALL, apply, apply_custom, gradients, observe_state, same_numbers


class _ReadCounter(EagerMode):
    """A counter of the operations that read a tensor's memory.

    An operation that only makes a view or a detached copy of `watched` does not read the memory.
    """

    def __init__(self, watched: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.storage = watched.untyped_storage().data_ptr()
        self.times = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        made = {t.untyped_storage().data_ptr() for t in tree_leaves(result) if isinstance(t, Tensor)}
        if self.storage not in made:
            read = (t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor))
            self.times += any(t.untyped_storage().data_ptr() == self.storage for t in read)
        return result


@exercise(
    title=Text("Two inputs", "Два входа"),
    kind="complete",
    core=True,
    asks="Product",
    asks_for="class",
    difficulty=2,
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
        Text.same(
            "a, b = ctx.saved_tensors\ngrad_a = grad_b = None\nif ctx.needs_input_grad[0]:\n    grad_a = ...\n...\nreturn grad_a, grad_b"
        ),
    ],
    why=Why(
        Text(
            "Why may `backward` return a gradient of a larger shape than a broadcast input has?",
            "Почему `backward` может вернуть градиент большей формы, чем у растянутого входа?",
        ),
        Text(
            "A stretched entry was used many times, so its gradient is the sum over all uses. Autograd makes "
            "this sum itself where broadcasting explains the shape.",
            "Растянутый элемент участвует в вычислении много раз, и его градиент — сумма по всем этим местам. "
            "Если форма получается из исходной транслированием, autograd складывает сам.",
        ),
    ),
)
def product_function(answer: Any, case: Case) -> dict[str, object]:
    a, b = (case.a.clone().requires_grad_(case.needs_a), case.b.clone().requires_grad_(case.needs_b))
    given = [t.detach().clone().requires_grad_(t.requires_grad) for t in (a, b)]
    v = case.grad_output.clone()
    asked = [t for t in (a, b) if t.requires_grad]
    names = [name for name, t in (("a.grad", a), ("b.grad", b)) if t.requires_grad]
    with using_answer():
        y = apply_custom(answer.Product, a, b)
        found = dict(zip(names, gradients(y, asked, v)))
        each, second = observe_state(answer.Product, *given, v=case.grad_output, found=list(found.values()))
        reads = AtMost(0, 0)
        if len(asked) == 1:
            fresh = [signed(case.rng, *t.shape).to(t.dtype).requires_grad_(t.requires_grad) for t in given]
            counted = [t for t in fresh if t.requires_grad]
            product = apply(answer.Product, *fresh)
            with _ReadCounter(counted[0]) as read:
                found_there = gradients(product, counted, signed(case.rng, *v.shape).to(v.dtype))
            reads = AtMost(0, read.times, of=found_there)
    return {
        "each_call": each,
        "grad_output_after": {
            "grad_output unchanged": same_numbers(v, case.grad_output)
            if any(each is not None for each in found.values())
            else None
        },
        "gradients": {"value": y, **found, **second},
        "reads_for_nobody": reads,
    }


@product_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def case(needs_a: bool, needs_b: bool, a: Tensor, b: Tensor) -> Case:
        v = signed(rng, *torch.broadcast_shapes(a.shape, b.shape)).to(a.dtype)
        return Case(a=a, b=b, grad_output=v, needs_a=needs_a, needs_b=needs_b, rng=another(rng))

    with_zero = signed(rng, 2, 3)
    with_zero[0, 1] = 0.0
    yield case(True, True, with_zero, signed(rng, 2, 3))
    yield case(True, True, signed(rng, 4, 3), signed(rng, 3))
    yield case(True, False, signed(rng, 3, 2), signed(rng, 3, 2))
    yield case(False, True, signed(rng, 5), signed(rng, 5))
    yield case(True, True, signed(rng, 2, 1).float(), signed(rng, 3, 2, 4).float())
    for a, b in ((3,), ()), ((4, 3), (4, 1)), ((4, 1), (1, 3)):
        yield case(True, True, signed(rng, *a), signed(rng, *b))
