"""Exercise: two vector-Jacobian products of one function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.devices.device_run import works_on
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, leaf, signed
from autograder.checking.labels import ERROR
from autograder.checking.observe import using_answer
from autograder.checking.values import limited_error, relative_error
from autograder.language import Text

from .common import EXACT, EXACT_ROWS, tracked


@exercise(
    title=Text("Two products of one function", "Два произведения для одной функции"),
    kind="find the bug",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "ones",
            0.75,
            en="The first result is the product with ones, in the shape of `inp`.",
            ru="Первый результат — произведение с вектором из единиц; форма у него как у `inp`.",
        ),
        aspect(
            "v",
            0.75,
            en="The second result is the product with `v` alone.",
            ru="Второй результат — только произведение с `v`.",
        ),
        aspect(
            "exact",
            0.5,
            *EXACT_ROWS,
            after=("ones", "v"),
            measured=ERROR,
        ),
        aspect(
            "grad",
            0.5,
            en="`inp.grad` holds what it held before: the same tensor, or still `None`.",
            ru="В `inp.grad` лежит то же, что и раньше: прежний тензор или по-прежнему `None`.",
            after=("ones", "v"),
        ),
        works_on(
            0.5,
            after=(
                "ones",
                "v",
            ),
        ),
    ],
    hints=[
        Text(
            "Run it with an `f` whose output is smaller than its input. What does the error say about the two shapes?",
            "Вызовите функцию с `f`, у которой выход меньше входа. Что в сообщении об ошибке сказано о двух формах?",
        ),
        Text(
            "`first` and `second` are two names of `inp.grad`. Which call returns the product and does not touch "
            "`.grad`?",
            "Имена `first` и `second` указывают на один `inp.grad`. Какой вызов возвращает произведение и не меняет "
            "`.grad`?",
        ),
        Text.same(
            "def fix_two_products(f, inp, v):\n"
            "    out = f(inp)\n"
            "    (first,) = torch.autograd.grad(out, inp, ..., retain_graph=...)\n"
            "    (second,) = torch.autograd.grad(out, inp, ...)\n"
            "    return first, second"
        ),
    ],
    why=Why(
        Text(
            "Why does `torch.autograd.grad` keep the two products apart, and `backward()` not?",
            "Почему `torch.autograd.grad` не смешивает два произведения, а `backward()` смешивает?",
        ),
        Text(
            "`backward()` adds every product to one tensor, `inp.grad`, where the second joins the first. "
            "`torch.autograd.grad` returns each product by itself and leaves `.grad` alone.",
            "`backward()` прибавляет каждое произведение к одному тензору, `inp.grad`, и второе складывается с "
            "первым. `torch.autograd.grad` возвращает каждое отдельно и не трогает `.grad`.",
        ),
    ),
)
def fix_two_products(answer: Any, case: Case) -> dict[str, object]:
    point, along = tracked(case.inp), case.v.clone()
    with using_answer():
        first, second = answer.fix_two_products(case.f, case.inp, case.v)
    out = case.f(point)  # not before: an answer may look for the truth among all tensors
    truth = [torch.autograd.grad(out, point, v, retain_graph=True)[0] for v in (torch.ones_like(out), along)]
    with using_answer():
        exact = limited_error(EXACT, max(map(relative_error, truth, (first, second))))
    one_tensor = first is second or first is case.inp.grad
    return {"ones": first, "v": second, "exact": exact, "grad": {"inp.grad": case.inp.grad}, "one_tensor": one_tensor}


@fix_two_products.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    return {"products": answer.fix_two_products(case.f, case.inp, case.v)}


@fix_two_products.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    eye = torch.eye(5, dtype=torch.float64, requires_grad=True)  # as in the notebook
    yield Case(f=Formula("x -> (x + 1)**2", lambda x: (x + 1).pow(2)), inp=eye, v=signed(rng, 5, 5))
    a = signed(rng, 4, 3)
    rows = Formula("x -> ((a @ x)**2).sum(1)", lambda x: (a @ x).square().sum(1))
    inp = leaf(rng, 3, 2)
    inp.grad = 1e6 * (100 + inp.detach())  # subtracting it from a sum costs digits
    yield Case(f=rows, inp=inp, v=signed(rng, 4))
