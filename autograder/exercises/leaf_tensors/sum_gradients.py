"""Extra exercise: repair a sum that starts from uninitialised memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, uniform, with_old_gradient
from autograder.checking.observe import using_answer
from autograder.language import Text


class _AlternatingFill(TorchDispatchMode):
    """A dispatch mode that fills uninitialised memory. Every second entry becomes 1000."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func._schema.name.split("::")[1] in ("empty", "empty_like", "new_empty", "empty_strided"):
            made.view(-1)[1::2] = 1000
        return made


@contextmanager
def _filled_memory() -> Iterator[None]:
    """Fill uninitialised memory with NaN and 1000 in turn, inside the `with` block.

    A read of such memory then gives the same result in every run. NaN alone could be hidden by `nan_to_num()`, numbers
    alone by a multiplication by 0.
    """
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with _AlternatingFill():  # type: ignore[no-untyped-call]
            yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


@exercise(
    title=Text("Right now and then", "Верна не всегда"),
    kind="find the bug",
    difficulty=2,
    minutes=6,
    aspects=[
        aspect(
            "total",
            2,
            en="What comes back is the sum of the gradients, with the shape and the dtype of `w`.",
            ru="Возвращается сумма градиентов, с формой и dtype тензора `w`.",
        ),
        aspect(
            "kept",
            1,
            en="The sum does not require grad, and `w`, its flag and `w.grad` are as they were.",
            ru="Сумма не требует градиента, а `w`, его флаг и `w.grad` остались прежними.",
        ),
    ],
    hints=[
        Text(
            "Call `torch.use_deterministic_algorithms(True)` and print `total` before the loop. Where does what you see come "
            "from?",
            "Вызовите `torch.use_deterministic_algorithms(True)` и напечатайте `total` до цикла. Откуда взялось то, что вы "
            "видите?",
        ),
        Text(
            "`torch.Tensor(2, 3)` asks for room for 2 × 3 numbers and writes nothing into it. Its dtype is float32, "
            "whatever `w` is.",
            "`torch.Tensor(2, 3)` выделяет место под 2 × 3 числа и ничего туда не записывает. Его dtype — float32, "
            "каким бы ни был `w`.",
        ),
        Text.same("total = torch.zeros_like(...)"),
    ],
)
def sum_gradients(answer: Any, case: Case) -> dict[str, object]:
    w, history = case.w, "none"
    with _filled_memory():
        total = answer.sum_gradients(case.losses, w)
    tracked = isinstance(total, Tensor) and total.requires_grad
    if tracked and w.requires_grad:
        with using_answer():
            (second,) = torch.autograd.grad(total.sum(), w, allow_unused=True, retain_graph=True)
            history = "not of w" if second is None else "curved" if bool(second.any()) else "flat"
    kept = {"w": w.detach(), "w.requires_grad": w.requires_grad, "w.grad": w.grad}
    return {"total": total, "kept": {"requires_grad of the sum": tracked, **kept}, "history": history}


def _losses_of(w: Tensor, points: Tensor) -> list[Callable[[], Tensor]]:
    """Return a function for each row of `points`, which takes no arguments and returns a loss of `w`."""

    def loss_of(point: Tensor) -> Callable[[], Tensor]:
        return lambda: (w * point).square().sum()

    return [loss_of(point) for point in points]


@sum_gradients.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    w = with_old_gradient(leaf(rng, 2, 3))
    yield Case(losses=_losses_of(w, uniform(rng, 3, 3)), w=w)
    w = uniform(rng, 4).float().requires_grad_()  # another dtype, and an empty `.grad`
    yield Case(losses=_losses_of(w, uniform(rng, 5, 4).float()), w=w)
    w = leaf(rng, 2, 2)  # the first gradient is an expanded tensor
    yield Case(losses=[lambda: w.sum(), *_losses_of(w, uniform(rng, 2, 2))], w=w)
    number = leaf(rng)
    yield Case(losses=_losses_of(number, uniform(rng, 2, 1)), w=number)
