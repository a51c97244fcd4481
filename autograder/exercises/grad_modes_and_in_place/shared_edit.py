"""Exercise: an in-place edit that shares memory and that backward allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.checking.counting.eager_mode import EagerMode
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import EDIT_ERROR

# Properties of the first aspect. An answer that is no pair of tensors has only the first one.
_PROPERTIES = (
    "type(pair)",
    "h is other",
    "h.untyped_storage() == other.untyped_storage()",
    "h.untyped_storage() == x.untyped_storage()",
    "h.grad_fn is None",
    "other.grad_fn is None",
)

_ROUNDING = {f"aten::{name}_" for name in ("round", "floor", "ceil", "trunc", "sign")}


def _as_sequence(out: object) -> Sequence[object]:
    """Return the results of an operation as a sequence, even if there is only one."""
    return out if isinstance(out, (tuple, list)) else [out]


class _EditsOfViewed(EagerMode):
    """A detector of in-place edits of memory that already has a view.

    `found` is True once such an edit was detected, `any` once an edit of any memory was. `rounds` is True once an edit
    rounded numbers or took their signs.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found = self.any = self.rounds = False
        self._viewed: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if args and isinstance(args[0], Tensor):
            memory = args[0].untyped_storage().data_ptr()
            if func._schema.is_mutable:
                self.any = True
                self.rounds |= func._schema.name in _ROUNDING
                self.found |= memory in self._viewed
            elif any(isinstance(t, Tensor) and t.untyped_storage().data_ptr() == memory for t in _as_sequence(out)):
                self._viewed.add(memory)
        return out


def _find_edits(answer: Any, x: Tensor) -> _EditsOfViewed:
    """Return a detector that has watched a call of the learner's function."""
    edits = _EditsOfViewed()
    with edits:
        answer.shared_edit(x.detach().clone().requires_grad_())
    return edits


def _check_gradient(function: Callable[[Tensor], Any], x: Tensor, index: int) -> bool | str:
    """Return whether autograd's gradient of result number `index` agrees with central differences.

    The comparison is along one random direction. Returns the text of the error if the backward pass raises.
    """
    rng = torch.Generator().manual_seed(3)
    out = function(x)[index]
    v, along = signed(rng, *out.shape), signed(rng, *x.shape)
    try:
        (gradient,) = torch.autograd.grad((out * v).sum(), x, materialize_grads=True)
    except RuntimeError as error:
        return EDIT_ERROR if EDIT_ERROR in str(error) else str(error)
    with torch.no_grad():
        ends = [x + step * along for step in (1e-6, -1e-6)]
    high, low = (function(end.requires_grad_())[index] for end in ends)
    slope = ((high - low) * v).sum() / 2e-6
    exact = (gradient * along).sum()
    return bool((slope - exact).abs() < 1e-5 * (1 + exact.abs())) and not _goes_in_steps(function, x, index, gradient)


def _goes_in_steps(function: Callable[[Tensor], Any], x: Tensor, index: int, gradient: Tensor) -> bool:
    """Return whether result number `index` changes with `x` although its gradient is zero.

    So it is with rounding.
    """
    if gradient.any():
        return False
    here, there = (function((x.detach() + step).requires_grad_())[index] for step in (0, 1))
    return not torch.equal(here, there)


@exercise(
    title=Text("An edit of shared memory that is right", "Допустимое изменение общей памяти"),
    kind="write the counter-example",
    difficulty=2,
    shows_graph=True,
    aspects=[
        aspect(
            "shared",
            1,
            en="A pair of results comes back: different tensors on one memory, not that of `x`, both with a history.",
            ru="Возвращается пара результатов: разные тензоры с общей памятью, отличной от памяти `x`, оба с историей.",
        ),
        aspect(
            "edited",
            1,
            en="That memory was edited in place when there was already a view of it, and the version counter counted "
            "the edit.",
            ru="Эта память изменена на месте, когда её представление уже существовало, и счётчик версий это "
            "изменение учёл.",
        ),
        aspect(
            "gradients",
            2,
            en="Backward runs from either of them, and the gradient of `x` agrees with finite differences.",
            ru="Обратный проход от каждого из двух тензоров выполняется, и градиент по `x` совпадает с конечными "
            "разностями.",
        ),
    ],
    hints=[
        Text(
            "Which operations give a second tensor on the same memory, and which of them return just one?",
            "Какие операции дают второй тензор с той же памятью и какие из них возвращают только один?",
        ),
        Text(
            "Begin with a result that nobody saved, such as `x * 2`. Take a view of it before you edit.",
            "Начните с результата, который ни одна операция не сохранила, например `x * 2`. Возьмите его "
            "представление до изменения.",
        ),
        Text.same("def shared_edit(x):\n    h = ...\n    other = ...\n    h[0].mul_(10)\n    return h, other"),
    ],
)
def shared_edit(answer: Any, case: Case) -> dict[str, object]:
    pair = answer.shared_edit(case.x)
    with using_answer():
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and all(isinstance(t, Tensor) for t in pair)):
            return {"shared": {**dict.fromkeys(_PROPERTIES), "type(pair)": type(pair).__name__}}
        first, second = pair
        memory = [tensor.untyped_storage().data_ptr() for tensor in (first, second, case.x)]
        history = first.grad_fn is None, second.grad_fn is None
        found = "tuple", first is second, memory[0] == memory[1], memory[0] == memory[2], *history
        shared = dict(zip(_PROPERTIES, found))
        edits = _find_edits(answer, case.x)
        edited = {"h._version > 0": first._version > 0, "views_at_edit > 0": edits.found}
        gradients = None
        if found == ("tuple", False, True, False, False, False):
            gradients = {
                name: _check_gradient(answer.shared_edit, case.x, index) for index, name in enumerate(("h", "other"))
            }
        again = answer.shared_edit(case.x.detach().clone().requires_grad_())
        evidence = {"repeats": torch.equal(first, again[0]), "writes": edits.any, "rounds": edits.rounds}
        return {"shared": shared, "edited": edited, "gradients": gradients, **evidence}


@shared_edit.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=leaf(rng, 2, 3))
    yield Case(x=leaf(rng, 4, 2))
