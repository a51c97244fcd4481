"""Core exercise: two vector-Jacobian products of one function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import functional

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, leaf, signed
from autograder.checking.labels import ERROR
from autograder.checking.observe import using_answer
from autograder.checking.values import limited_error, relative_error
from autograder.language import Text

from .common import EXACT, EXACT_ROWS, LOSES_DIGITS, Function, tracked


@exercise(
    title=Text("Two products of one function", "Два произведения для одной функции"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=10,
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
            "`first` and `second` are two names of `inp.grad`. Which call returns the product and does not touch "
            "`.grad`?",
            "Имена `first` и `second` указывают на один `inp.grad`. Какой вызов возвращает произведение и не меняет "
            "`.grad`?",
        ),
        Text(
            "(first,) = torch.autograd.grad(out, inp, torch.ones_like(...), retain_graph=...)",
            "(first,) = torch.autograd.grad(out, inp, torch.ones_like(...), retain_graph=...)",
        ),
    ],
)
def fix_two_products(answer: Any, case: Case) -> dict[str, object]:
    point = tracked(case.inp)
    out = case.f(point)
    truth = [torch.autograd.grad(out, point, v, retain_graph=True)[0] for v in (torch.ones_like(out), case.v)]
    with using_answer():
        first, second = answer.fix_two_products(case.f, case.inp, case.v)
        exact = limited_error(EXACT, max(map(relative_error, truth, (first, second))))
    one_tensor = first is second or first is case.inp.grad
    return {"ones": first, "v": second, "exact": exact, "grad": {"inp.grad": case.inp.grad}, "one_tensor": one_tensor}


@fix_two_products.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    eye = torch.eye(5, dtype=torch.float64, requires_grad=True)  # as in the notebook
    yield Case(f=Formula("x -> (x + 1)**2", lambda x: (x + 1).pow(2)), inp=eye, v=signed(rng, 5, 5))
    a = signed(rng, 4, 3)
    rows = Formula("x -> ((a @ x)**2).sum(1)", lambda x: (a @ x).square().sum(1))
    inp = leaf(rng, 3, 2)
    inp.grad = 1e6 * (100 + inp.detach())  # subtracting it from a sum costs digits
    yield Case(f=rows, inp=inp, v=signed(rng, 4))


@fix_two_products.mistake(
    en="The first `v` is still made like `inp`. It weighs the outputs, so it needs the shape of `out`.",
    ru="Первый вектор `v` по-прежнему создаётся по образцу `inp`. Он взвешивает выходы, поэтому форма нужна как у "
    "`out`.",
)
def ones_like_the_input(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    (first,) = torch.autograd.grad(out, inp, torch.ones_like(inp), retain_graph=True)
    (second,) = torch.autograd.grad(out, inp, v)
    return first, second


@fix_two_products.mistake(
    en="Nothing was cleared between the two calls: the second result holds the first one as well.",
    ru="Между двумя вызовами ничего не обнулено: во второй результат вошёл и первый.",
)
def adds_up(f: Function, inp: Tensor, v: Tensor) -> object:
    inp.grad = None
    out = f(inp)
    out.backward(torch.ones_like(out), retain_graph=True)
    first = inp.grad.clone()  # type: ignore[attr-defined]
    out.backward(v)
    return first, inp.grad


@fix_two_products.mistake(
    en="The gradient that was there before was added to the first result.",
    ru="В первый результат вошёл прежний градиент.",
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
    "The shape of `v` is mended, but `first` is `inp.grad` itself, not a copy: the next pass changed it as well.",
    "Форма `v` исправлена, но `first` — это сам `inp.grad`, без копии: следующий проход изменил и его.",
)


@fix_two_products.mistake(*FIRST_IS_GRAD)
def mends_the_shape_only(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    out.backward(torch.ones_like(out), retain_graph=True)
    first = inp.grad
    out.backward(v)
    return first, inp.grad


@fix_two_products.mistake(
    en="`first` is `inp.grad` itself, not a copy: zeroing it in place and the next pass changed it as well.",
    ru="Имя `first` — это сам `inp.grad`, без копии: обнуление на месте и следующий проход изменили и его.",
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
    en="Both products were taken with `v`. The first one should be the product with ones.",
    ru="Оба произведения взяты с `v`, а первое должно быть с единицами.",
)
def v_twice(f: Function, inp: Tensor, v: Tensor) -> object:
    (product,) = torch.autograd.grad(f(inp), inp, v)
    return product, product.clone()


@fix_two_products.mistake(*FIRST_IS_GRAD)
def clears_first_only(f: Function, inp: Tensor, v: Tensor) -> object:
    inp.grad = None
    return mends_the_shape_only(f, inp, v)


@fix_two_products.mistake(
    en="The change left both mistakes as they were: the first `v` is made like `inp`, and `first` is `inp.grad` "
    "itself, to which the second call adds.",
    ru="После правки обе ошибки остались: первый `v` создаётся по образцу `inp`, а `first` — это сам `inp.grad`, к "
    "которому прибавляется результат второго вызова.",
)
def as_it_was(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    out.backward(torch.ones_like(inp), retain_graph=True)
    first = inp.grad
    out.backward(v)
    return first, inp.grad


@fix_two_products.mistake(
    en="`inp.grad` was zeroed in place between the calls: `first` is the same tensor and became zero too. And the "
    "first `v` is still made like `inp`.",
    ru="Градиент `inp.grad` обнулён на месте между вызовами: `first` — тот же тензор и тоже стал нулевым. К тому же "
    "первый `v` по-прежнему создаётся по образцу `inp`.",
)
def only_zeroes_in_place(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    out.backward(torch.ones_like(inp), retain_graph=True)
    first: Any = inp.grad
    first.zero_()
    out.backward(v)
    return first, inp.grad


@fix_two_products.mistake(
    en="The two results were returned in the wrong order: the product with ones has to come first.",
    ru="Результаты возвращены не в том порядке: первым должно стоять произведение с единицами.",
)
def other_order(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    (first,) = torch.autograd.grad(out, inp, torch.ones_like(out), retain_graph=True)
    (second,) = torch.autograd.grad(out, inp, v)
    return second, first


@fix_two_products.mistake(
    en="The tuples of `torch.autograd.grad` were returned, not the tensors in them.",
    ru="Возвращены кортежи из `torch.autograd.grad`, а не тензоры в них.",
)
def pair_of_tuples(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    first = torch.autograd.grad(out, inp, torch.ones_like(out), retain_graph=True)
    return first, torch.autograd.grad(out, inp, v)


@fix_two_products.mistake(
    en="The first call frees what the second one needs of the graph.",
    ru="После первого вызова сохранённое в графе освобождено, а оно нужно второму.",
)
def frees_the_graph(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    (first,) = torch.autograd.grad(out, inp, torch.ones_like(out))
    (second,) = torch.autograd.grad(out, inp, v)
    return first, second


@fix_two_products.mistake(
    en="Both products were taken with ones: `v` was not used.",
    ru="Оба произведения взяты с единицами: вектор `v` не использован.",
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
    en="`inp.grad` now holds the second product: what was there before is lost.",
    ru="В `inp.grad` теперь лежит второе произведение: прежнее содержимое потеряно.",
)
def spoils_grad(f: Function, inp: Tensor, v: Tensor) -> object:
    return _by_backward(f, inp, v)


@fix_two_products.mistake(
    en="`inp.grad` was emptied at the end: what was there before is lost.",
    ru="В конце поле `inp.grad` очищено: прежнее содержимое потеряно.",
)
def empties_grad(f: Function, inp: Tensor, v: Tensor) -> object:
    products = _by_backward(f, inp, v)
    inp.grad = None
    return products


@fix_two_products.mistake(
    en="The old gradient was kept as a second name of `inp.grad`, not as a copy: zeroing in place changed it too.",
    ru="Прежний градиент сохранён как второе имя `inp.grad`, без копии: обнуление на месте изменило и его.",
)
def old_by_name(f: Function, inp: Tensor, v: Tensor) -> object:
    old = inp.grad
    first, second = _by_backward(f, inp, v)
    inp.grad = old if old is None else second  # type: ignore[assignment]
    return first, second


@fix_two_products.mistake(
    en="Zeros were put into `inp.grad` where `None` had been.",
    ru="В `inp.grad` записаны нули, хотя раньше там был `None`.",
)
def zeros_for_none(f: Function, inp: Tensor, v: Tensor) -> object:
    old = torch.zeros_like(inp) if inp.grad is None else inp.grad
    products = _by_backward(f, inp, v)
    inp.grad = old.detach()
    return products


@fix_two_products.mistake(*LOSES_DIGITS)
def through_float32(f: Function, inp: Tensor, v: Tensor) -> object:
    first, second = other_order(f, inp, v)  # type: ignore[misc]
    return second.float().to(inp.dtype), first.float().to(inp.dtype)


@fix_two_products.mistake(
    en="The Jacobian was taken for a matrix. It has all dimensions of the output in front, and the product sums over "
    "all of them.",
    ru="Матрица Якоби принята за двумерную. Впереди у неё все измерения выхода, и в произведении сумма берётся по ним "
    "всем.",
)
def jacobian_as_a_matrix(f: Function, inp: Tensor, v: Tensor) -> object:
    matrix: Any = functional.jacobian(f, inp)
    return matrix.sum(0), v @ matrix


@fix_two_products.mistake(
    en="The ones have the length of `out`. They need its whole shape, as `torch.ones_like(out)` has it.",
    ru="У вектора из единиц длина `out`. А нужна вся его форма, как у `torch.ones_like(out)`.",
)
def ones_of_the_length(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    (first,) = torch.autograd.grad(out, inp, torch.ones(len(out), dtype=out.dtype), retain_graph=True)
    (second,) = torch.autograd.grad(out, inp, v)
    return first, second


@fix_two_products.mistake(
    en="`inp.grad` was left full of zeros. It has to hold what it held before.",
    ru="В `inp.grad` остались нули. Там должно лежать то же, что и раньше.",
)
def leaves_zeros(f: Function, inp: Tensor, v: Tensor) -> object:
    products = _by_backward(f, inp, v)
    inp.grad = torch.zeros_like(inp)
    return products


@fix_two_products.mistake(
    en="`inp.grad` is put back only if something was in it. Where `None` had been, the second product stays.",
    ru="Значение `inp.grad` возвращается на место, только если там что-то было. Где был `None`, остаётся второе "
    "произведение.",
)
def forgets_none(f: Function, inp: Tensor, v: Tensor) -> object:
    old = inp.grad
    products = _by_backward(f, inp, v)
    inp.grad = old if old is not None else inp.grad
    return products
