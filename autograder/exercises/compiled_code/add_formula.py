"""Exercise: the backward formula of a custom operator."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.library import custom_op, opcheck

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.labels import Entries
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import new_name


def damped_operator() -> Any:
    """Return a new operator `op(x, y, a)` for x·exp(−a·y), with a fake and without a formula."""

    @custom_op(new_name(), mutates_args=())
    def damped(x: Tensor, y: Tensor, a: float) -> Tensor:
        return torch.as_tensor(np.asarray(x.numpy() * np.exp(-a * y.numpy())))

    damped.register_fake(lambda x, y, a: x.new_empty(x.shape))
    return damped


_GRADIENTS = Entries(Text("gradient {n}", "градиент {n}"), Text("gradients", "градиентов"))


@exercise(
    title=Text("A formula for an operator", "Формула для оператора"),
    kind="complete",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "gradients",
            1.5,
            en="Each tensor that requires grad gets its gradient, also where the other one is frozen.",
            ru="Каждый тензор, требующий градиента, получает свой градиент, даже если второй заморожен.",
            entries=(_GRADIENTS,),
        ),
        aspect(
            "apart",
            0.5,
            en="Each result keeps the gradients of its own call, also when the operator is called again before the backward pass.",
            ru="У каждого результата градиенты своего вызова, даже если до обратного прохода оператор вызван ещё раз.",
            entries=(_GRADIENTS,),
        ),
        aspect(
            "second",
            0.5,
            en="The second derivatives are right.",
            ru="Вторые производные верны.",
            entries=(
                Entries(
                    Text("second derivative {n}", "вторая производная {n}"),
                    Text("second derivatives", "вторых производных"),
                ),
            ),
        ),
        aspect(
            "traced",
            0.5,
            en="`opcheck` traces the formula, as `torch.compile` does.",
            ru="`opcheck` записывает формулу в граф, как это делает `torch.compile`.",
        ),
        aspect(
            "guarded",
            1,
            en="If `y` is changed in place between the passes, the backward pass raises, and gives no wrong gradient.",
            ru="Если между проходами изменить `y` на месте, обратный проход завершается ошибкой, а не даёт неверный градиент.",
        ),
    ],
    hints=[
        Text(
            "Two functions are needed: one keeps what the formula will use, the other is the formula. How many inputs "
            "does the operator have, and how many gradients must come back?",
            "Нужны две функции: одна сохраняет то, что понадобится формуле, вторая — сама формула. Сколько входов у "
            "оператора и сколько градиентов нужно вернуть?",
        ),
        Text(
            "`setup_context` is called by keyword, so its parameters are called `ctx`, `inputs` and `output`. Tensors "
            "go into `ctx.save_for_backward`, the number `a` becomes an attribute of `ctx`. For `a` the formula "
            "returns None.",
            "Функция `setup_context` вызывается с именованными аргументами, поэтому её параметры называются `ctx`, "
            "`inputs` и `output`. Тензоры передают в `ctx.save_for_backward`, число `a` становится атрибутом `ctx`. "
            "Для `a` формула возвращает None.",
        ),
        Text.same(
            "def setup_context(ctx, inputs, output):\n    x, y, ctx.a = inputs\n    ctx.save_for_backward(x, y)\n\n"
            "def backward(ctx, grad):\n    ...\n\nop.register_autograd(backward, setup_context=setup_context)"
        ),
    ],
    why=Why(
        Text(
            "Why must the formula consist of torch operations, although the operator itself need not?",
            "Почему формула должна состоять из операций torch, хотя сам оператор — нет?",
        ),
        Text(
            "The operator is opaque: a compiler knows only its fake. The formula is traced into the graph of the "
            "backward pass, and recorded where a second derivative is wanted. NumPy is neither traced nor recorded.",
            "Оператор непрозрачен: компилятору известна только его фиктивная реализация. Формула же записывается в граф "
            "обратного прохода и в обычный граф, если нужна вторая производная. Вычисления NumPy туда не попадают.",
        ),
    ),
)
def add_formula(answer: Any, case: Case) -> dict[str, object]:
    op = case.op
    answer.add_formula(op)

    def inputs() -> tuple[Tensor, Tensor]:
        x, y = case.x.clone(), case.y.clone()
        return x.requires_grad_(case.frozen != "x"), y.requires_grad_(case.frozen != "y")

    def others(a: float) -> Tensor:
        x, y = inputs()
        result: Tensor = op(1 - x, 1 - y, a)
        return result

    x, y = inputs()
    wanted = [each for each in (x, y) if each.requires_grad]
    with using_answer(), _names_left_out():
        gradients = torch.autograd.grad(op(x, y, case.a), wanted, case.v, allow_unused=True)
        again = torch.autograd.grad(op(x, y, case.a), wanted, case.v, create_graph=True, allow_unused=True)
        # the second of three results that are alive: neither the last call's values nor the first ones' serve it
        alive = [others(-case.a), op(x, y, case.a), others(case.a + 1)]
        apart = torch.autograd.grad(alive[1], wanted, case.v, allow_unused=True)
    return {
        "gradients": list(gradients),
        "apart": list(apart),
        "second": _second(list(again), wanted),
        "traced": _traced(op, (*inputs(), case.a)) if case.is_traced else None,
        "guarded": _guarded(op, inputs(), case),
    }


@contextmanager
def _names_left_out() -> Iterator[None]:
    """Leave the learner's names out of the error of a call by keyword."""
    try:
        yield
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise TypeError("setup_context() got an unexpected keyword argument") from error


def _second(gradients: list[Tensor | None], wanted: list[Tensor]) -> list[Tensor]:
    """Return the gradients of the sum of squares of `gradients`, zeros where nothing depends on an input.

    A formula may have a graph there whose derivative is 0, or no graph.
    """
    total = sum((each.square().sum() for each in gradients if each is not None), torch.tensor(0.0))
    if not total.requires_grad:
        return [torch.zeros_like(each) for each in wanted]
    return list(torch.autograd.grad(total, wanted, allow_unused=True, materialize_grads=True))


def _traced(op: Any, arguments: tuple[Any, ...]) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # opcheck traces in anomaly mode, which warns of each wrong formula
        found = opcheck(op, arguments, raise_exception=False)
    return all(each == "SUCCESS" for each in found.values())


def _guarded(op: Any, inputs: tuple[Tensor, Tensor], case: Case) -> bool:
    """Return whether no wrong gradient results from a change of `y` between the passes."""
    x, y = inputs
    copy = y * 1
    out = op(x, copy, case.a)
    copy.detach().add_(1)
    try:
        gradients = torch.autograd.grad(out, [each for each in (x, y) if each.requires_grad], case.v)
    except RuntimeError:
        return True
    damping = (-case.a * case.y).exp()
    right = {"x": damping * case.v, "y": -case.a * case.x * damping * case.v}
    wanted = [right[name] for name, each in zip("xy", inputs) if each.requires_grad]
    return all(torch.allclose(*pair) for pair in zip(gradients, wanted))


@add_formula.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def case(*shape: int, a: float, frozen: str = "") -> Case:
        x, y, v = signed(rng, *shape), uniform(rng, *shape), signed(rng, *shape)
        return Case(op=damped_operator(), x=x, y=y, a=a, v=v, frozen=frozen, is_traced=False)

    for each in (case(2, 3, a=0.5), case(4, a=-1.5, frozen="x")):
        each.is_traced = True  # in two of the cases, because `opcheck` takes 85 ms
        yield each
    with_a_zero = case(3, a=2.0, frozen="y")
    with_a_zero.x[1] = 0  # the gradient is not the output divided by `x`
    yield with_a_zero
    yield case(a=0.7)
    yield case(2, 1, 3, a=1.25)
