"""Core exercise: the largest curvature of a loss, by Hessian products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import CALLS_AND_PASSES, LARGEST_TENSOR
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import Ops, counting_ops

from .common import count_passes, flat, is_as_before, linear, release, state_of, tanh_net, untouched, with_old_gradients


class WithSpare(torch.nn.Module):
    """A linear layer beside a parameter that is never used."""

    def __init__(self, layer: torch.nn.Linear, spare: Tensor) -> None:
        super().__init__()
        self.spare = torch.nn.Parameter(spare)
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.layer(x).tanh()
        return output


@exercise(
    title=Text("The largest curvature", "Наибольшая кривизна"),
    kind="design",
    core=True,
    difficulty=2,
    minutes=12,
    aspects=[
        aspect(
            "result",
            1.5,
            en="The pair holds the length of the last product and the unit vector after it.",
            ru="В паре — длина последнего произведения и единичный вектор после него.",
        ),
        untouched(0.5),
        aspect(
            "passes",
            1,
            en="Calls of the model and backward passes together are at most `steps` + 2.",
            ru="Вызовов модели и обратных проходов вместе не больше `steps` + 2.",
            measured=CALLS_AND_PASSES,
        ),
        aspect(
            "largest",
            0,
            en="No new tensor has more than 4n elements, for n weights.",
            ru="При n весах ни в одном новом тензоре нет больше 4n элементов.",
            measured=LARGEST_TENSOR,
        ),
    ],
    hints=[
        Text(
            "The weights stay where they are during all steps. Which of the passes is therefore the same in each?",
            "Веса за все шаги не меняются. Какой из проходов поэтому на каждом шаге один и тот же?",
        ),
        Text(
            "Compute `g` once, with a graph. Each product is one backward pass through it, if the graph is kept. `v` "
            "must be a plain vector without a graph.",
            "Вычислите `g` один раз, с графом. Каждое произведение — один обратный проход по этому графу, если граф "
            "сохраняется. У вектора `v` графа быть не должно.",
        ),
        Text(
            "g = torch.autograd.grad(loss, weights, create_graph=True, ...)\n"
            "flat = torch.cat([part.flatten() for part in g])\n"
            "for _ in range(steps):\n"
            "    product = torch.autograd.grad(flat, weights, v, retain_graph=True, ...)\n"
            "    ...",
            "g = torch.autograd.grad(loss, weights, create_graph=True, ...)\n"
            "flat = torch.cat([part.flatten() for part in g])\n"
            "for _ in range(steps):\n"
            "    product = torch.autograd.grad(flat, weights, v, retain_graph=True, ...)\n"
            "    ...",
        ),
    ],
)
def sharpness(answer: Any, case: Case) -> dict[str, object]:
    model, before = case.model, state_of(case.model)
    ops = Ops()
    try:
        with count_passes(model) as passes:
            found = answer.sharpness(model, case.x, case.y, case.v.clone(), case.steps)
        kept = is_as_before(model, before)
        with using_answer():
            length, v = found
            result = {"length": float(length), "v": v}
        # A run of its own: torch 2.13 crashes in a dispatch mode where it else raises an error (jvp of grad of mse_loss).
        if case.counted:
            with counting_ops() as ops:
                answer.sharpness(model, case.x, case.y, case.v.clone(), case.steps)
    finally:
        release(model)
    return {
        "result": result,
        "untouched": kept,
        "passes": AtMost(limit=case.steps + 2, used=passes.total),
        "largest": AtMost(limit=4 * len(case.v), used=ops.largest),
        "many_passes": passes.total >= len(case.v),
        "calls": passes.calls,
    }


@sharpness.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    model = with_old_gradients(tanh_net(rng, 3, 4))
    yield _case(rng, model, 3, 3, counted=True)
    model = tanh_net(rng, 2, 3)
    model[0].weight.requires_grad_(False)
    yield _case(rng, model, 2, 2)
    yield _case(rng, WithSpare(linear(rng, 3, 1), signed(rng, 2)), 3, 3)


def _case(rng: torch.Generator, model: torch.nn.Module, features: int, steps: int, counted: bool = False) -> Case:
    count = sum(p.numel() for p in model.parameters() if p.requires_grad)
    v = signed(rng, count)
    return Case(
        model=model, x=signed(rng, 6, features), y=signed(rng, 6, 1), v=v / v.norm(), steps=steps, counted=counted
    )


def _weights(model: Any) -> list[Tensor]:
    return [p for p in model.parameters() if p.requires_grad]


def _gradient(model: Any, x: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
    loss = mse_loss(model(x), y, reduction=reduction)
    return flat(list(torch.autograd.grad(loss, _weights(model), create_graph=True, materialize_grads=True)))


def _product(g: Tensor, model: Any, v: Tensor, create_graph: bool = False) -> Tensor:
    found = torch.autograd.grad(
        g, _weights(model), v, retain_graph=True, create_graph=create_graph, materialize_grads=True
    )
    return flat(list(found))


def _iterate(multiply: Callable[[Tensor], Tensor], v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    length = v.norm()
    for _ in range(steps):
        product = multiply(v)
        length = product.norm()
        v = product / length
    return length, v


@sharpness.mistake(
    en="The vector was not divided by its length after a product: the length grows like a power of the curvature.",
    ru="После умножения вектор не разделён на свою длину: длина растёт как степень кривизны.",
)
def never_divides(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    for _ in range(steps):
        v = _product(g, model, v)
    return v.norm(), v


@sharpness.mistake(
    en="`v` has a graph. It comes from a product with `create_graph=True`, and its own dependence on the weights was "
    "differentiated, too.",
    ru="У вектора `v` есть граф: он получен из произведения с `create_graph=True`, и вместе с градиентом продифференцирована "
    "зависимость этого вектора от весов.",
)
def vector_with_a_graph(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)

    def multiply(v: Tensor) -> Tensor:
        found = torch.autograd.grad(g @ v, _weights(model), create_graph=True, materialize_grads=True)
        return flat(list(found))

    return _iterate(multiply, v, steps)


@sharpness.mistake(
    en="The gradient is computed anew in each step, with a call of the model and a backward pass. The weights do not "
    "change, so one graph serves all steps.",
    ru="Градиент на каждом шаге вычисляется заново: это ещё один вызов модели и ещё один обратный проход. Веса не "
    "меняются, поэтому на все шаги хватит одного графа.",
)
def gradient_in_each_step(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    return _iterate(lambda v: _product(_gradient(model, x, y), model, v), v, steps)


@sharpness.mistake(
    en="The whole Hessian was built row by row, with a backward pass for each of its n rows.",
    ru="Построена вся матрица Гессе, строка за строкой: на каждую из n строк приходится обратный проход.",
)
def hessian_by_rows(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    hessian = torch.stack([_product(g, model, unit) for unit in torch.eye(len(g), dtype=g.dtype)])
    return _iterate(lambda v: hessian @ v, v, steps)


@sharpness.mistake(
    en="The passes are few, but the whole Hessian was built: a tensor of n × n elements.",
    ru="Проходов немного, но построена вся матрица Гессе: тензор из n × n элементов.",
)
def hessian_in_a_batch(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    units = torch.eye(len(g), dtype=g.dtype)
    hessian: Any = torch.func.vmap(lambda unit: _product(g, model, unit))(units)
    return _iterate(lambda v: hessian @ v, v, steps)


@sharpness.mistake(
    en="The Hessian was replaced by `g gᵀ`, a product of first derivatives.",
    ru="Матрица Гессе заменена на `g gᵀ`, произведение первых производных.",
)
def outer_product(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y).detach()
    return _iterate(lambda v: g * (g @ v), v, steps)


@sharpness.mistake(
    en="There is one product less than `steps`.",
    ru="Произведений на одно меньше, чем `steps`.",
)
def one_product_less(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    return _iterate(lambda v: _product(g, model, v), v, steps - 1)


@sharpness.mistake(
    en="The first number is `v @ Hv` for the vector before the product. The length of the product itself is asked for; "
    "the two agree only in the limit.",
    ru="Первое число — `v @ Hv` для вектора до умножения. Нужна длина самого произведения; эти числа совпадают лишь в "
    "пределе.",
)
def quotient_of_rayleigh(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    _, before = _iterate(lambda v: _product(g, model, v), v, steps - 1)
    product = _product(g, model, before)
    return before @ product, product / product.norm()


@sharpness.mistake(
    en="The squared errors were summed. The loss is their mean, and so is the curvature.",
    ru="Квадраты ошибок сложены. Функция потерь — их среднее, и кривизна нужна её.",
)
def sums_the_errors(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y, reduction="sum")
    return _iterate(lambda v: _product(g, model, v), v, steps)


@sharpness.mistake(
    en="The result is right, but `backward()` changed `.grad` of the weights. `autograd.grad` leaves it alone.",
    ru="Результат верен, но метод `backward()` изменил `.grad` весов. Функция `autograd.grad` их не меняет.",
)
def by_backward(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)

    def multiply(v: Tensor) -> Tensor:
        for p in _weights(model):
            p.grad = torch.zeros_like(p)
        g.backward(v, retain_graph=True)  # type: ignore[no-untyped-call]
        return flat([p.grad for p in _weights(model) if p.grad is not None])

    return _iterate(multiply, v, steps)
