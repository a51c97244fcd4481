"""Exercise: a leaf that affects the loss but gets no gradient."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from autograder.checking.containment.tensor_overrides import find_replaced
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.observe import ReplacedName, using_answer
from autograder.checking.values import Other, number
from autograder.language import Text

from .common import PAIR, flags, kind_of


@exercise(
    title=Text("A leaf that matters and gets nothing", "Лист, который влияет на результат, но градиента не получает"),
    kind="write the counter-example",
    difficulty=3,
    aspects=[
        aspect(
            "leaf",
            0,
            en="What comes back is a pair `(t, loss)`, and `t` is a leaf that requires grad, before and after.",
            ru="Возвращается пара `(t, loss)`, и `t` — лист, который требует градиента и до вычислений, и после них.",
        ),
        aspect(
            "backward",
            0,
            en="`loss(t)` is a tensor of one number, and `loss(t).backward()` runs without an error.",
            ru="`loss(t)` — тензор из одного числа, и `loss(t).backward()` выполняется без ошибки.",
        ),
        aspect(
            "steady",
            0,
            en="`loss(t)` is the same each time, as long as the numbers of `t` are the same.",
            ru="Пока числа в `t` те же, `loss(t)` не меняется от вызова к вызову.",
            after=("leaf", "backward"),
        ),
        aspect(
            "depends",
            1,
            en="`loss(t)` is another number once 1 has been added to every entry of `t`.",
            ru="Если прибавить 1 к каждому элементу `t`, `loss(t)` становится другим числом.",
            after=("leaf", "backward", "steady"),
        ),
        aspect(
            "empty",
            2,
            en="`t.grad` is None after the backward pass.",
            ru="После обратного прохода `t.grad` равен None.",
            after=("leaf", "backward", "steady", "depends"),
        ),
    ],
    hints=[
        Text(
            "The numbers of `t` must reach the loss. On which ways do numbers travel without their history?",
            "Числа из `t` должны дойти до функции потерь. Какими путями числа проходят без истории?",
        ),
        Text(
            "And `backward()` needs some graph to walk: give it a second leaf.",
            "А для `backward()` нужен какой-нибудь граф: добавьте второй лист.",
        ),
        Text.same("other = torch.ones(1, requires_grad=True)\nreturn t, lambda t: (other * ...).sum()"),
    ],
)
def leaf_without_gradient(answer: Any, case: Case) -> dict[str, object]:
    compute: Any
    returned = answer.leaf_without_gradient()
    t, compute = returned if kind_of(returned) == PAIR else (None, None)

    def loss(t: Tensor) -> Any:
        value = compute(t)
        replaced = find_replaced(value, t)
        if replaced is not None:
            raise ReplacedName(replaced)
        return value

    leaf = {
        "returned": kind_of(returned),
        "t": kind_of(t),
        "loss": kind_of(compute),
        **flags("t", t),
        **flags("after backward() t", None),
    }
    if not isinstance(t, Tensor) or not callable(compute):
        return {"leaf": leaf}
    error: str | None = None
    with using_answer():
        value = loss(t)
        if not isinstance(value, Tensor) or value.numel() != 1:
            leaf |= flags("after backward() t", t)
            count = value.numel() if isinstance(value, Tensor) else None
            found = {"loss(t)": Other(type(value).__name__), "loss(t).numel()": count, "loss(t).backward()": None}
            return {"leaf": leaf, "backward": found}
        try:
            loss(t).backward()
        except RuntimeError as raised:
            error = str(raised)
        gradient = {"t.grad": kind_of(t.grad), "t.grad.any()": None if t.grad is None else bool(t.grad.any())}
        steady = [number(value), number(loss(t))]
        t.data.add_(1)  # after an edit that autograd notices, a view made under `no_grad` is refused in the graph
        later = number(loss(t))
    leaf |= flags("after backward() t", t)
    backward = {"loss(t)": Other("Tensor"), "loss(t).numel()": 1, "loss(t).backward()": error}
    stays = {"value stays": len({*steady}) == 1}
    if not stays["value stays"]:
        return {"leaf": leaf, "backward": backward, "steady": stays}
    changes = {"value changes": steady[0] != later}
    return {"leaf": leaf, "backward": backward, "steady": stays, "depends": changes, "empty": gradient}
