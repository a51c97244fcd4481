"""Core exercise: two vector-Jacobian products of one function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, leaf, signed, with_old_gradient
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import Function


@exercise(
    title=Text("Find the bug: two products of one function", "Найдите ошибку: два произведения для одной функции"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "ones",
            1,
            en="The first result is the product with ones, in the shape of `inp`.",
            ru="Первый результат — произведение с вектором из единиц; форма у него как у `inp`.",
        ),
        aspect(
            "v",
            1,
            en="The second result is the product with `v` alone.",
            ru="Второй результат — только произведение с `v`.",
        ),
        aspect(
            "grad",
            1,
            en="`inp.grad` holds what it held before: the same tensor, or still `None`.",
            ru="В `inp.grad` лежит то же, что и раньше: прежний тензор или по-прежнему `None`.",
            after=("ones", "v"),
        ),
    ],
    hints=[
        Text(
            "Run it with an `f` whose output is smaller than its input. What does the error say about the two shapes?",
            "Запустите её с `f`, у которой выход меньше входа. Что в сообщении об ошибке сказано о двух формах?",
        ),
        Text(
            "`first` and `second` are two names of `inp.grad`. Which call returns the product and does not touch `.grad`?",
            "`first` и `second` — два имени `inp.grad`. Какой вызов возвращает произведение и не трогает `.grad`?",
        ),
        Text(
            "(first,) = torch.autograd.grad(out, inp, torch.ones_like(...), retain_graph=...)",
            "(first,) = torch.autograd.grad(out, inp, torch.ones_like(...), retain_graph=...)",
        ),
    ],
)
def fix_two_products(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        first, second = answer.fix_two_products(case.f, case.inp, case.v)
    one_tensor = first is second or first is case.inp.grad
    return {"ones": first, "v": second, "grad": {"inp.grad": case.inp.grad}, "one_tensor": one_tensor}


@fix_two_products.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    eye = torch.eye(5, dtype=torch.float64, requires_grad=True)  # as in the notebook
    yield Case(f=Formula("x -> (x + 1)**2", lambda x: (x + 1).pow(2)), inp=eye, v=signed(rng, 5, 5))
    a = signed(rng, 4, 3)
    rows = Formula("x -> ((a @ x)**2).sum(1)", lambda x: (a @ x).square().sum(1))
    yield Case(f=rows, inp=with_old_gradient(leaf(rng, 3, 2)), v=signed(rng, 4))


@fix_two_products.mistake(
    en="It looks as if the first `v` is still made like `inp`. It weighs the outputs: make it like `out`.",
    ru="Похоже, что первый `v` по-прежнему создаётся по образцу `inp`. Он взвешивает выходы: берите форму `out`.",
)
def ones_like_the_input(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    (first,) = torch.autograd.grad(out, inp, torch.ones_like(inp), retain_graph=True)
    (second,) = torch.autograd.grad(out, inp, v)
    return first, second


@fix_two_products.mistake(
    en="It looks as if nothing is cleared between the two calls: the second result holds the first one as well.",
    ru="Похоже, что между двумя вызовами ничего не обнуляется: второй результат включает и первый.",
)
def adds_up(f: Function, inp: Tensor, v: Tensor) -> object:
    inp.grad = None
    out = f(inp)
    out.backward(torch.ones_like(out), retain_graph=True)
    first = inp.grad.clone()  # type: ignore[attr-defined]
    out.backward(v)
    return first, inp.grad


@fix_two_products.mistake(
    en="It looks as if the gradient that was there before stayed in the first result.",
    ru="Похоже, что в первом результате остался прежний градиент.",
)
def keeps_the_old(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    out.backward(torch.ones_like(out), retain_graph=True)
    assert inp.grad is not None
    first = inp.grad.clone()
    inp.grad.zero_()
    out.backward(v)
    return first, inp.grad


FIRST_IS_GRAD = Text(
    "It looks as if the shape of `v` is mended, but `first` is `inp.grad` itself, not a copy: "
    "the next pass changed it as well.",
    "Похоже, что форма `v` исправлена, но `first` — это сам `inp.grad`, без копии: следующий проход изменил и его.",
)


@fix_two_products.mistake(*FIRST_IS_GRAD)
def mends_the_shape_only(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    out.backward(torch.ones_like(out), retain_graph=True)
    first = inp.grad
    out.backward(v)
    return first, inp.grad


@fix_two_products.mistake(
    en="It looks as if `first` is `inp.grad` itself, not a copy: zeroing it in place and the next pass changed it as well.",
    ru="Похоже, что `first` — это сам `inp.grad`, без копии: обнуление на месте и следующий проход изменили и его.",
)
def two_names_of_one(f: Function, inp: Tensor, v: Tensor) -> object:
    inp.grad = None
    out = f(inp)
    out.backward(torch.ones_like(out), retain_graph=True)
    first: Any = inp.grad
    first.zero_()
    out.backward(v)
    return first, inp.grad


@fix_two_products.mistake(
    en="It looks as if both products are taken with `v`: the first one is the product with ones.",
    ru="Похоже, что оба произведения взяты с `v`: первое должно быть с единицами.",
)
def v_twice(f: Function, inp: Tensor, v: Tensor) -> object:
    (product,) = torch.autograd.grad(f(inp), inp, v)
    return product, product.clone()


@fix_two_products.mistake(*FIRST_IS_GRAD)
def clears_first_only(f: Function, inp: Tensor, v: Tensor) -> object:
    inp.grad = None
    return mends_the_shape_only(f, inp, v)


@fix_two_products.mistake(
    en="It looks as if the change left both mistakes as they were: the first `v` is made like `inp`, "
    "and `first` is `inp.grad` itself, to which the second call adds.",
    ru="Похоже, что после правки обе ошибки на месте: первый `v` создаётся по образцу `inp`, "
    "а `first` — это сам `inp.grad`, к которому прибавляет второй вызов.",
)
def as_it_was(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    out.backward(torch.ones_like(inp), retain_graph=True)
    first = inp.grad
    out.backward(v)
    return first, inp.grad


@fix_two_products.mistake(
    en="It looks as if `inp.grad` is zeroed in place between the calls: `first` is the same tensor and is zeroed, too. "
    "And the first `v` is still made like `inp`.",
    ru="Похоже, что `inp.grad` обнуляется на месте между вызовами: `first` — тот же тензор и обнуляется тоже. "
    "И первый `v` по-прежнему создаётся по образцу `inp`.",
)
def only_zeroes_in_place(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    out.backward(torch.ones_like(inp), retain_graph=True)
    first: Any = inp.grad
    first.zero_()
    out.backward(v)
    return first, inp.grad


@fix_two_products.mistake(
    en="It looks as if the two results changed places: the product with ones comes first.",
    ru="Похоже, что результаты поменялись местами: первым идёт произведение с единицами.",
)
def other_order(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    (first,) = torch.autograd.grad(out, inp, torch.ones_like(out), retain_graph=True)
    (second,) = torch.autograd.grad(out, inp, v)
    return second, first


@fix_two_products.mistake(
    en="It looks as if the tuples of `torch.autograd.grad` came back, and not the tensors in them.",
    ru="Похоже, что вернулись кортежи из `torch.autograd.grad`, а не тензоры в них.",
)
def pair_of_tuples(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    first = torch.autograd.grad(out, inp, torch.ones_like(out), retain_graph=True)
    return first, torch.autograd.grad(out, inp, v)


@fix_two_products.mistake(
    en="It looks as if the first call frees the graph that the second one needs.",
    ru="Похоже, что первый вызов освобождает граф, который нужен второму.",
)
def frees_the_graph(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    (first,) = torch.autograd.grad(out, inp, torch.ones_like(out))
    (second,) = torch.autograd.grad(out, inp, v)
    return first, second


@fix_two_products.mistake(
    en="It looks as if both products are taken with ones: `v` is not used.",
    ru="Похоже, что оба произведения взяты с единицами: `v` не используется.",
)
def ones_twice(f: Function, inp: Tensor, v: Tensor) -> object:
    (product,) = torch.autograd.grad(f(inp).sum(), inp)
    return product, product.clone()


def _by_backward(f: Function, inp: Tensor, v: Tensor) -> tuple[object, object]:
    """Return the products of the Jacobian with a vector of ones and with `v`.

    The second product is also left in `inp.grad`.
    """
    out = f(inp)
    inp.grad = None
    out.backward(torch.ones_like(out), retain_graph=True)
    first, inp.grad = inp.grad, None
    out.backward(v)
    return first, inp.grad


@fix_two_products.mistake(
    en="It looks as if `inp.grad` now holds the second product: what was there before is lost.",
    ru="Похоже, что в `inp.grad` теперь лежит второе произведение: прежнее содержимое потеряно.",
)
def spoils_grad(f: Function, inp: Tensor, v: Tensor) -> object:
    return _by_backward(f, inp, v)


@fix_two_products.mistake(
    en="It looks as if `inp.grad` was emptied at the end: what was there before is lost.",
    ru="Похоже, что `inp.grad` в конце очищен: прежнее содержимое потеряно.",
)
def empties_grad(f: Function, inp: Tensor, v: Tensor) -> object:
    products = _by_backward(f, inp, v)
    inp.grad = None
    return products


@fix_two_products.mistake(
    en="It looks as if the old gradient was kept as a second name of `inp.grad`, not as a copy: zeroing in place changed it, too.",
    ru="Похоже, что прежний градиент сохранён как второе имя `inp.grad`, без копии: обнуление на месте изменило и его.",
)
def old_by_name(f: Function, inp: Tensor, v: Tensor) -> object:
    old = inp.grad
    first, second = _by_backward(f, inp, v)
    inp.grad = old if old is None else second  # type: ignore[assignment]
    return first, second


@fix_two_products.mistake(
    en="It looks as if zeros were put into `inp.grad` where `None` had been.",
    ru="Похоже, что в `inp.grad` записаны нули, хотя раньше там был `None`.",
)
def zeros_for_none(f: Function, inp: Tensor, v: Tensor) -> object:
    old = torch.zeros_like(inp) if inp.grad is None else inp.grad
    products = _by_backward(f, inp, v)
    inp.grad = old.detach()
    return products
