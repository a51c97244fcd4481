"""Exercise: hooks that save tensors in half precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.comparison import compare
from autograder.checking.containment.answer_calls import call_with_other_numbers
from autograder.checking.counted_run import another
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, leaf, uniform
from autograder.checking.labels import BYTES_IN_MEMORY, BYTES_LEFT
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, canonical
from autograder.language import Text
from autograder.measure import CountedCalls

from .common import Using, bytes_held, gradient
from .half_bytes import bytes_in_half, bytes_of_copies


def _scale(count: int) -> Tensor:
    return torch.linspace(1, 2, count, dtype=torch.float64)


@exercise(
    title=Text("Half the bytes", "Вдвое меньше байтов"),
    kind="complete",
    core=True,
    difficulty=2,
    shows_graph=True,
    rtol=1e-9,
    aspects=[
        aspect(
            "result",
            0,
            en="What comes back is `f(x)`: the same numbers, the same dtype. `f` is called once, and the hooks are off "
            "afterwards.",
            ru="Возвращается `f(x)`: те же числа, тот же dtype. Функция `f` вызвана один раз, а после возврата хуки "
            "выключены.",
        ),
        aspect(
            "bytes",
            1,
            en="While the graph lives, its float32 and float64 tensors take two bytes per entry (bytes in memory, the "
            "result of `f` included).",
            ru="Пока граф существует, его тензоры float32 и float64 занимают по два байта на элемент (байты в памяти вместе с "
            "результатом `f`).",
            measured=BYTES_IN_MEMORY,
        ),
        aspect(
            "gradient",
            2,
            en="The gradient is computed in the original dtypes, from saved numbers rounded to float16; indices and "
            "masks are intact.",
            ru="Градиент вычислен в исходных dtype по сохранённым числам, округлённым до float16; индексы и маски не "
            "искажены.",
            after=("result", "bytes"),
        ),
        aspect(
            "left",
            1,
            en="When the result is dropped without a backward pass, nothing stays in memory (bytes left).",
            ru="Если результат отброшен без обратного прохода, в памяти ничего не остаётся (осталось в памяти, байт).",
            after=("result", "bytes"),
            measured=BYTES_LEFT,
        ),
    ],
    hints=[
        Text(
            "What does `unpack` have to know about a tensor besides its numbers?",
            "Что, кроме самих чисел, `unpack` должен знать о тензоре?",
        ),
        Text(
            "`pack` may return a tuple: the half tensor and the dtype. `t.half()` of a float16 tensor is that tensor "
            "itself; what is kept as it is has to be detached.",
            "`pack` может вернуть кортеж: тензор float16 и исходный dtype. `t.half()` для тензора float16 возвращает "
            "его же; то, что хранится как есть, нужно отсоединить.",
        ),
        Text.same(
            "def save_in_half(f, x):\n"
            "    def pack(t):\n"
            "        kept = t.detach()\n"
            "        return ... if t.dtype in (torch.float32, torch.float64) else ..., ...\n\n"
            "    def unpack(packed):\n"
            "        kept, dtype = packed\n"
            "        return ...\n\n"
            "    with saved_tensors_hooks(pack, unpack):\n"
            "        return f(x)"
        ),
    ],
    why=Why(
        Text(
            "Why does the result of `f` stay exact, although everything saved is rounded?",
            "Почему результат `f` остаётся точным, хотя всё сохранённое округлено?",
        ),
        Text(
            "The forward pass computes with its own tensors; `pack` only makes the copies for the graph. "
            "Rounding shows in the gradient alone, which is computed from those copies.",
            "Прямой проход вычисляется по исходным тензорам, а `pack` лишь делает копии для графа. Округление "
            "сказывается только на градиенте: он вычисляется по этим копиям.",
        ),
    ),
)
def save_in_half(answer: Any, case: Case) -> dict[str, object]:
    run = answer.save_in_half
    known = [case.x, *case.f.constants]
    f, later = CountedCalls(case.f), torch.ones(2, requires_grad=True)
    with using_answer():
        y = run(f.function, case.x)
        torch.set_grad_enabled(True)  # the answer may have left it off
        copies = bytes_of_copies(y, case.f.constants)
    has_graph = isinstance(y, Tensor) and y.requires_grad
    result = y.detach().clone() if isinstance(y, Tensor) else y
    off = later.sin().grad_fn._saved_self is later  # type: ignore[union-attr]
    with using_answer():
        other = call_with_other_numbers(y, run, case.f, case.x)
        found = gradient(y, case.x)
        del other
    limit, exact = bytes_in_half(case.f, case.x, known)
    del y
    with using_answer():
        used, left, of, another_gradient = bytes_held(run, case.f, case.x, case.rng)
    return {
        "result": {"f(x)": result, "calls of f": f.times, "the hooks are off": off},
        "bytes": AtMost(limit, used + copies, of=of),
        "gradient": {**_at_some(found), "gradient of the measured call": another_gradient},
        "left": AtMost(0, left, of=of),
        "used": used,
        "has_graph": has_graph,
        "is_exact": compare(canonical(exact), canonical(found), rtol=1e-9) is None,
    }


def _at_some(gradient: object) -> dict[str, object]:
    """Return a gradient by name.

    Of many entries, nearly all of them 0, it shows those that are not 0 and the sum of all.
    """
    if not isinstance(gradient, Tensor) or gradient.numel() < 1000:
        return {"x.grad": gradient}
    return {"x.grad[x.grad != 0]": gradient[gradient != 0], "x.grad.sum()": gradient.sum()}


@save_in_half.weigh("bytes", most=55 << 20)
def weigh(run: Callable[[Any, Tensor], Tensor], rng: torch.Generator) -> object:
    """Keep the graph of 24 sines. Each saves 2 MB, or 1 MB in half precision."""
    x = uniform(rng, 1 << 19).float().requires_grad_()
    y = run(Formula("24 × sin", lambda x: _sines(x, 24)), x)
    y.sum().backward()
    return [y, x.grad]


def _sines(x: Tensor, count: int) -> Tensor:
    for _ in range(count):
        x = x.sin()
    return x


@save_in_half.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    index = 2049 + 2 * torch.randint(0, 200, (40,), generator=rng)  # odd numbers that float16 cannot represent
    gathered = Using("x[index].sin().double().sin()", lambda x: x[index].sin().double().sin(), index)
    yield Case(f=gathered, x=uniform(rng, 2500).float().requires_grad_(), rng=another(rng))
    chosen = Using("where(x > 1.5, x.exp(), x.sin())", lambda x: torch.where(x > 1.5, x.exp(), x.sin()))
    yield Case(f=chosen, x=leaf(rng, 7, 9), rng=another(rng))
    text = "(x.exp().sigmoid().bfloat16() * 1e5).square() * 1e-10"  # in the range of bfloat16, but not of float16
    narrow = Using(text, lambda x: (x.exp().sigmoid().bfloat16() * 1e5).square() * 1e-10)
    yield Case(f=narrow, x=uniform(rng, 50).half().requires_grad_(), rng=another(rng))
    W = uniform(rng, 3, 2)
    text = "((x.double() @ W).sin() * linspace(1, 2, 2)).sum().sin().float().sin()"  # saves single numbers, too
    mixed = Using(text, lambda x: ((x.double() @ W).sin() * _scale(2)).sum().sin().float().sin(), W)
    yield Case(f=mixed, x=uniform(rng, 2, 3).float().requires_grad_(), rng=another(rng))
