"""Exercise: rules of a learner's own engine that are themselves recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import or_error
from autograder.checking.containment.refused import Refused
from autograder.checking.exercise import Aspect, Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

OPERATIONS = ("*", "@", "sum", "tanh")


class Value:
    """A value as the engine's, but torch follows its operations.

    A rule that computes with such values can be differentiated once more. What is read from `data` is a number.
    """

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    @property
    def data(self) -> Tensor:
        return self._tensor.detach()

    def __add__(self, other: Any) -> Value:
        return _of_one_shape(torch.add, self, other)

    def __mul__(self, other: Any) -> Value:
        return _of_one_shape(torch.mul, self, other)

    def __matmul__(self, other: Any) -> Value:
        return Value(self._tensor @ _tensor(other))

    def __rsub__(self, number: float) -> Value:
        return Value(number - self._tensor)

    def t(self) -> Value:
        return Value(self._tensor.t())

    def sum(self) -> Value:
        return Value(self._tensor.sum())

    def expand(self, shape: tuple[int, ...]) -> Value:
        return Value(self._tensor.expand(shape))

    def tanh(self) -> Value:
        return Value(self._tensor.tanh())


def _of_one_shape(operation: Any, one: Any, other: Any) -> Value:
    """Return the result of `+` or `*`.

    Raises ValueError where an input that is followed has another shape: the engine of the lesson does not sum back.
    """
    tensors = _tensor(one), _tensor(other)
    result = operation(*tensors)
    if any(each.requires_grad and each.shape != result.shape for each in tensors):
        raise ValueError(f"inputs of one shape are needed, not {tuple(tensors[0].shape)} and {tuple(tensors[1].shape)}")
    return Value(result)


def _tensor(value: Any) -> Tensor:
    """Return the tensor of a value, also of one that a rule has made by the class of the notebook.

    Such a value remembers its operation and inputs, and is computed from them again.
    """
    if isinstance(value, Value):
        return value._tensor
    data: Tensor = value.data
    op, inputs = getattr(value, "op", ""), getattr(value, "inputs", ())
    if not inputs or isinstance(value, Tensor):
        return data
    first, *others = [_tensor(each) for each in inputs]
    again: Tensor = _AGAIN[op](data, first, *others)
    return again


_AGAIN: dict[str, Any] = {
    "+": lambda data, a, b: a + b,
    "*": lambda data, a, b: a * b,
    "@": lambda data, a, b: a @ b,
    "sum": lambda data, a: a.sum(),
    "tanh": lambda data, a: a.tanh(),
    "t": lambda data, a: a.t(),
    "expand": lambda data, a: a.expand(data.shape),
    "-": lambda data, a: data + a.detach() - a,
}


def _aspect(op: str) -> Aspect:
    return aspect(
        op,
        0.75,
        en=f"The rule of `{op}` is right, and what it returns can be differentiated again.",
        ru=f"Правило для `{op}` верно, и то, что оно вернуло, можно дифференцировать ещё раз.",
        after=(),
    )


@exercise(
    title=Text("Rules that are recorded", "Правила, которые записываются"),
    kind="complete",
    difficulty=2,
    aspects=[_aspect(op) for op in OPERATIONS],
    hints=[
        Text(
            "Of `g * b.data` and `g * b`, which result still knows that it was made from `b`?",
            "Какой из результатов `g * b.data` и `g * b` помнит, что он получен из `b`?",
        ),
        Text(
            "Write the rules from lesson 02 with the operations that are listed above, and `.data` only where a shape is asked "
            "for. Each step of a rule is then an operation of the engine.",
            "Запишите правила из урока 02 только перечисленными выше операциями, а `.data` берите лишь там, где нужна форма. "
            "Тогда каждый шаг правила — это операция движка.",
        ),
        Text.same('"@": lambda g, out, a, b: (g @ b.t(), ...),\n"tanh": lambda g, out, a: (g * (1 - ...),),'),
    ],
)
def recorded_rules(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        rules = answer.recorded_rules()
        if not isinstance(rules, dict):
            raise Refused("raised.type", got=type(rules).__name__, expected="kind.dict")
        return {
            "*": or_error(_twice, rules.get("*"), case, torch.mul, case.g, case.a, case.b),
            "@": or_error(_twice, rules.get("@"), case, torch.matmul, case.h, case.m, case.n),
            "sum": or_error(_twice, rules.get("sum"), case, torch.sum, case.one, case.a),
            "tanh": or_error(_twice, rules.get("tanh"), case, torch.tanh, case.g, case.a),
        }


def _twice(rule: Any, case: Case, operation: Any, gradient: Tensor, *inputs: Tensor) -> dict[str, object]:
    """Return the parts that a rule makes, and the derivatives of their weighted sum by its arguments."""
    of = [each.clone().requires_grad_() for each in (gradient, *inputs)]
    g, *arguments = [Value(each) for each in of]
    parts = rule(g, Value(operation(*of[1:])), *arguments)
    if not isinstance(parts, (list, tuple)):
        return {"gradients": _number(parts), "their derivatives": None}
    return {"gradients": [_number(each) for each in parts], "their derivatives": _derivatives(parts, of, case.weight)}


def _number(part: Any) -> object:
    return _tensor(part).detach() if _is_value(part) else part


def _is_value(part: Any) -> bool:
    return isinstance(part, Value) or (not isinstance(part, Tensor) and isinstance(getattr(part, "data", 0), Tensor))


def _derivatives(parts: Sequence[Any], of: list[Tensor], weight: float) -> list[Tensor] | None:
    """Return the derivatives, or None if a part is no value, or none of them is recorded."""
    if not all(_is_value(each) for each in parts):
        return None
    tensors = [_tensor(each) for each in parts]
    total = sum(
        (number * (each + weight * each * each).sum() for number, each in enumerate(tensors, 1)), torch.zeros(())
    )
    if not total.requires_grad:
        return None
    return list(torch.autograd.grad(total, of, allow_unused=True, materialize_grads=True))


@recorded_rules.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for shape, (rows, inner, columns) in [((2, 3), (2, 3, 4)), ((), (1, 2, 3)), ((2, 1, 3), (3, 3, 3))]:
        yield Case(
            g=signed(rng, *shape),
            a=signed(rng, *shape).roll(1) / 2,
            b=signed(rng, *shape).roll(2),
            h=signed(rng, rows, columns),
            m=signed(rng, rows, inner),
            n=signed(rng, inner, columns),
            one=signed(rng),
            weight=0.5,
        )
