"""Extra exercise: a leaf that affects the loss but gets no gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.observe import ReplacedName, using_answer
from autograder.checking.tensor_overrides import find_replaced
from autograder.checking.values import Other, number
from autograder.language import Text

from .common import PAIR, flags, kind_of


@exercise(
    title=Text("A leaf that matters and gets nothing", "Лист, который влияет на результат, но градиента не получает"),
    kind="write the counter-example",
    difficulty=3,
    minutes=12,
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
        Text(
            "other = torch.ones(1, requires_grad=True)\nreturn t, lambda t: (other * ...).sum()",
            "other = torch.ones(1, requires_grad=True)\nreturn t, lambda t: (other * ...).sum()",
        ),
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
        with torch.no_grad():
            t.add_(0)  # increments the version and keeps the numbers
        steady.append(number(loss(t)))
        with torch.no_grad():
            t.add_(1)
        later = number(loss(t))
    leaf |= flags("after backward() t", t)
    backward = {"loss(t)": Other("Tensor"), "loss(t).numel()": 1, "loss(t).backward()": error}
    stays = {"value stays": len({*steady}) == 1}
    if not stays["value stays"]:
        return {"leaf": leaf, "backward": backward, "steady": stays}
    changes = {"value changes": steady[0] != later}
    return {"leaf": leaf, "backward": backward, "steady": stays, "depends": changes, "empty": gradient}


Counterexample = tuple[Tensor, Callable[[Tensor], Tensor]]


def _make_weight() -> Tensor:
    return torch.tensor([1.5, -2.0], requires_grad=True)


@leaf_without_gradient.mistake(
    en="The loss stays the same when 1 is added to every entry of `t`. It does not use the numbers, or only what the "
    "addition leaves alone, such as the place of the largest.",
    ru="Функция потерь не меняется, если прибавить 1 к каждому элементу `t`. Числа в ней не использованы или "
    "использовано лишь то, чего сложение не меняет, например место наибольшего элемента.",
)
def never_uses_it() -> Counterexample:
    other = _make_weight()
    return _make_weight(), lambda t: other.sum()


@leaf_without_gradient.mistake(
    en="The loss changes by itself: it draws random numbers, counts its calls, edits `t` or looks at something other "
    "than the numbers of `t`.",
    ru="Функция потерь меняется от вызова к вызову: в ней есть случайные числа, счётчик вызовов, изменение самого `t` "
    "или что-то ещё помимо чисел в `t`.",
)
def draws_at_random() -> Counterexample:
    other = _make_weight()
    return _make_weight(), lambda t: (other * torch.rand(2)).sum()


@leaf_without_gradient.mistake(
    en="The loss is a vector. `backward()` needs one number: the entries have to be summed.",
    ru="Значение функции потерь — вектор. Для `backward()` нужно одно число: элементы нужно сложить.",
)
def returns_a_vector() -> Counterexample:
    other = _make_weight()
    return _make_weight(), lambda t: other * t.detach()


@leaf_without_gradient.mistake(
    en="The loss switches `requires_grad` of `t` off. `t` must be a leaf that requires grad before the call and after "
    "it.",
    ru="Функция потерь выключает `requires_grad` у `t`. До вызова и после него `t` должен быть листом, который требует "
    "градиента.",
)
def switches_the_leaf_off() -> Counterexample:
    other = _make_weight()
    return _make_weight(), lambda t: (other * t.requires_grad_(False)).sum()


@leaf_without_gradient.mistake(
    en="`t` is a constant. It must require grad and still get nothing.",
    ru="Тензор `t` — константа. Он должен требовать градиента и всё же ничего не получить.",
)
def takes_a_constant() -> Counterexample:
    other = _make_weight()
    return torch.ones(2), lambda t: (other * t).sum()


@leaf_without_gradient.mistake(
    en="`t` is a result and no leaf. That such a tensor gets no `.grad` is the rule, not an exception.",
    ru="Тензор `t` — результат операции, а не лист. То, что такой тензор не получает `.grad`, — правило, а не "
    "исключение.",
)
def takes_a_result() -> Counterexample:
    return _make_weight() * 2, lambda t: t.sum()


@leaf_without_gradient.mistake(
    en="Nothing is left of the graph: `backward()` has nowhere to go and raises. Some other leaf has to require grad.",
    ru="От графа ничего не осталось: проходу `backward()` некуда идти, и возникает ошибка. Нужен ещё один лист, "
    "который требует градиента.",
)
def cuts_everything() -> Counterexample:
    return _make_weight(), lambda t: t.detach().sum()


@leaf_without_gradient.mistake(
    en="In `t.grad` there are zeros, not None. Zero is a gradient, too.",
    ru="В `t.grad` лежат нули, а не None. Ноль — тоже градиент.",
)
def finds_a_zero() -> Counterexample:
    return _make_weight(), lambda t: t.round().sum()


@leaf_without_gradient.mistake(
    en="The history of `t` reaches the loss along with its numbers, so the gradient reaches `t`.",
    ru="Вместе с числами до функции потерь доходит и история `t`. Поэтому градиент доходит до `t`.",
)
def keeps_the_history() -> Counterexample:
    return _make_weight(), lambda t: t.square().sum()


@leaf_without_gradient.mistake(
    en="The second of the pair is the value of the loss. Asked for is the function that computes it from `t`.",
    ru="Второе в паре — уже вычисленное значение функции потерь, а нужна сама функция, которая вычисляет его по `t`.",
)
def returns_the_value() -> tuple[Tensor, Tensor]:
    t, other = _make_weight(), _make_weight()
    return t, (other * t.detach()).sum()


@leaf_without_gradient.mistake(
    en="The pair is the wrong way round: the tensor `t` comes first, the function second.",
    ru="Пара переставлена: сначала идёт тензор `t`, потом функция.",
)
def swaps_the_pair() -> tuple[Callable[[Tensor], Tensor], Tensor]:
    return lambda t: t.detach().sum(), _make_weight()


@leaf_without_gradient.mistake(
    en="Nothing was returned: `return` is missing.",
    ru="Функция ничего не возвращает: забыт `return`.",
)
def returns_nothing() -> None:
    return None


@leaf_without_gradient.mistake(
    en="The loss is a Python number. It has no `backward()`: `item()` takes it out of the graph.",
    ru="Значение функции потерь — число Python. У него нет `backward()`: `item()` выводит его из графа.",
)
def computes_a_number() -> tuple[Tensor, Callable[[Tensor], float]]:
    return _make_weight(), lambda t: t.sum().item()


@leaf_without_gradient.mistake(
    en="`backward()` is called inside the loss. The caller calls it, too, and finds the graph freed.",
    ru="Метод `backward()` вызван внутри функции потерь. Его вызовут и снаружи, а граф уже освобождён.",
)
def goes_backward_itself() -> Counterexample:
    def loss(t: Tensor) -> Tensor:
        value = t.square().sum()
        value.backward()  # type: ignore[no-untyped-call]
        t.grad = None
        return value

    return _make_weight(), loss
