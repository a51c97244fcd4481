"""Exercise: write hooks that notice in-place edits."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.answer_calls import call_with_other_numbers
from autograder.checking.containment.caught import Caught, error_kind, or_error
from autograder.checking.counted_run import another, condense
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, leaf, uniform
from autograder.checking.labels import BYTES_IN_MEMORY, BYTES_LEFT
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import bytes_held, digits_are_right, gradient


def _activation(leaf: Tensor) -> Tensor:
    """Return a result computed from `leaf` and edited in place twice.

    Its version counter is therefore neither 0 nor 1.
    """
    return (leaf * 2).mul_(3).mul_(0.5)


@exercise(
    title=Text("Twelve instead of eight", "Двенадцать вместо восьми"),
    kind="find the bug",
    difficulty=3,
    aspects=[
        aspect(
            "gradient",
            0,
            en="When nothing is changed, the gradient is the one without hooks, also in a second backward pass.",
            ru="Если ничего не изменено, градиент такой же, как без хуков, в том числе при втором обратном проходе.",
        ),
        aspect(
            "after_edit",
            2,
            en="When a saved tensor is changed in place after the forward pass, `backward()` raises a RuntimeError.",
            ru="Если после прямого прохода сохранённый тензор изменён на месте, `backward()` завершается ошибкой "
            "RuntimeError.",
        ),
        aspect(
            "memory",
            1,
            en="No copies are kept (bytes in memory after the forward pass, what `f` itself keeps is allowed).",
            ru="Копии не хранятся (байты в памяти после прямого прохода; допускается то, что хранит сама `f`).",
            measured=BYTES_IN_MEMORY,
        ),
        aspect(
            "left",
            1,
            en="When the result is dropped without a backward pass, nothing stays in memory (bytes left).",
            ru="Если результат отброшен без обратного прохода, в памяти ничего не остаётся (осталось в памяти, байт).",
            measured=BYTES_LEFT,
        ),
    ],
    hints=[
        Text(
            "Without hooks, how does autograd notice that a saved tensor was changed?",
            "Как autograd без хуков замечает, что сохранённый тензор изменён?",
        ),
        Text(
            "Every tensor has a version, `t._version`, which grows with each change in place. `detach()` shares it, "
            "`.data` does not.",
            "У каждого тензора есть счётчик версий `t._version`: он растёт при каждом изменении на месте. У результата "
            "`detach()` счётчик общий с исходным тензором, у `.data` — свой.",
        ),
        Text.same(
            "def notice_edits(f, x):\n"
            "    def pack(t):\n"
            "        kept = ...\n"
            "        return kept, ...\n\n"
            "    def unpack(packed):\n"
            "        kept, version = packed\n"
            "        if ...:\n"
            '            raise RuntimeError("edited")\n'
            "        return kept\n\n"
            "    with saved_tensors_hooks(pack, unpack):\n"
            "        return f(x)"
        ),
    ],
)
def notice_edits(answer: Any, case: Case) -> dict[str, object]:
    run = answer.notice_edits
    with using_answer():
        y = run(case.f, _activation(case.leaf))
        other = call_with_other_numbers(y, run, case.f, _activation(case.leaf))
        found = {
            "first backward": or_error(gradient, y, case.leaf, True),
            "second backward": or_error(gradient, y, case.leaf),
        }
        del y, other
    right = gradient(case.f(_activation(case.leaf)), case.leaf)
    found["all digits are right"] = digits_are_right(found["first backward"], right)
    with using_answer():
        x = _activation(case.leaf)
        y = run(case.f, x)
        after: object
        try:
            with torch.no_grad():
                edited = x if case.edits == "x" else y
                edited.copy_(edited.flip(0))  # the numbers in reverse order: their sum does not show the edit
            y.sum().backward()
            after = case.leaf.grad
        except Exception as error:
            after = Caught.of(error, error_kind(error))
        case.leaf.grad = None
        del x, y, edited
    with using_answer():
        limit, *_ = bytes_held(lambda f, x: f(x), case.f, case.leaf, case.rng)
        used, left, of, found["gradient of the measured call"] = bytes_held(run, case.f, case.leaf, case.rng)
    return {
        "gradient": found,
        "after_edit": after,
        "memory": AtMost(limit, used, of=of),
        "left": AtMost(0, left, of=of),
        "used": used,
    }


@notice_edits.weigh("memory", most=77 << 20)
def weigh(run: Callable[[Any, Tensor], Tensor], rng: torch.Generator) -> object:
    """Keep the graphs of eight runs, which save inputs of 4 MB. A copy of each takes as much again."""
    f, small = Formula("x.sin().sum()", lambda x: x.sin().sum()), uniform(rng, 9).requires_grad_()
    noticed = _is_noticed(run(f, small), small, small, rng)
    inputs = [uniform(rng, 1 << 19).requires_grad_() for _ in range(8)]
    results = [run(f, x) for x in inputs]
    found = [condense([y, torch.autograd.grad(y, x)]) for y, x in zip(results[1:], inputs[1:])]
    # An answer that notices edits of small tensors alone is lean in the one run, and right in the other.
    return [found, noticed == _is_noticed(results[0], inputs[0], inputs[0], rng)]


@notice_edits.weigh("left", most=43 << 20)
def weigh_left(run: Callable[[Any, Tensor], Tensor], rng: torch.Generator) -> object:
    """Drop the graphs of six runs, each of which saves a result of 4 MB."""
    f, small = Formula("x.exp()", lambda x: x.exp()), uniform(rng, 9).requires_grad_()
    y = run(f, small)
    noticed = _is_noticed(y, y, small, rng)
    x = uniform(rng, 1 << 19).requires_grad_()
    found: list[object] = []
    for _ in range(6):
        y = run(f, x)
        found.append([condense(y), bool(found) or noticed == _is_noticed(y, y, x, rng)])
        del y
        gc.collect()  # a reference cycle of Python objects is no leak
    return found


def _is_noticed(y: Tensor, edited: Tensor, x: Tensor, rng: torch.Generator) -> bool:
    """Swap two numbers in `edited`, and return whether a backward pass then raises an error."""
    places = torch.randint(edited.numel(), (2,), generator=rng)
    with torch.no_grad():
        edited[places] = edited[places.flip(0)]
    found = or_error(gradient, y, x)
    return found is not None and not isinstance(found, Tensor)


@notice_edits.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    steps = (uniform(rng, 5, 3) * 64).round() / 64  # sums of these numbers are exact in any order
    yield Case(f=Formula("x ** 2", lambda x: x**2), leaf=steps.requires_grad_(), edits="x", rng=another(rng))
    yield Case(f=Formula("x.exp()", lambda x: x.exp()), leaf=leaf(rng, 2), edits="f(x)", rng=another(rng))
    small = uniform(rng, 2, 1).float().requires_grad_()
    yield Case(f=Formula("x.sin()", lambda x: x.sin()), leaf=small, edits="x", rng=another(rng))
    # two saved tensors of different versions
    yield Case(
        f=Formula("x.sin() + x.exp()", lambda x: x.sin() + x.exp()), leaf=leaf(rng, 3), edits="x", rng=another(rng)
    )
