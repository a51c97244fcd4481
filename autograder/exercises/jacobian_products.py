"""Exercises of lesson 04, Jacobian products: probes, cases and mistakes (J1-J14 of the course's own list)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad, functional, gradcheck

from autograder.exercise import EVERY_ENTRY, Case, aspect, exercise
from autograder.inputs import leaf, signed, uniform
from autograder.language import Text
from autograder.measure import CountedCalls, counting_backward_runs, counting_ops
from autograder.observation import AtMost, entries
from autograder.probe import using_answer

Function = Callable[[Tensor], Tensor]


# ------------------------------------------------------------------------------------------------ inputs of the cases


def curved(rng: torch.Generator, n: int, m: int) -> Function:
    """A function from R^n to R^m whose Jacobian depends on x, has no zero entry and, for n = m, is not symmetric."""
    a, b = signed(rng, m, n) / n, uniform(rng, m, n) / n
    return lambda x: (a @ x).sin() + b @ x.square()


def bowl(rng: torch.Generator, n: int) -> Function:
    """A function from R^n to a number whose Hessian depends on x and has no zero entry."""
    a, b = uniform(rng, n, n) / n, uniform(rng, n)
    return lambda x: ((a @ x).square() * b).sum() + (x * b).sin().sum() + x.prod() / 10


def away_from(truth: Tensor, got: object) -> float:
    """The largest error of `got`, as a share of the largest entry of `truth`."""
    if not isinstance(got, Tensor) or got.shape != truth.shape:
        return float("inf")
    return ((got.detach() - truth).abs().max() / truth.abs().max()).item()


EXACT = 1e-12  # derivatives by the chain rule agree to 1e-15 or so; finite differences in float64 stop at 1e-11


class Watched:
    """A function that notes whether it was called away from `x`, as finite differences do."""

    def __init__(self, function: Function, x: Tensor) -> None:
        self.function, self.x = function, x.detach().clone()
        self.moved = False

    def __call__(self, point: Tensor) -> Tensor:
        with suppress(Exception):  # inside vmap a tensor is many points at once, and tracing has no numbers
            self.moved |= not torch.equal(point.detach(), self.x)
        return self.function(point)


class Cost:
    """What `call(f)` costs, counted: calls of `f`, backward runs, both together, aten ops, the largest new tensor."""

    def __init__(self, call: Callable[[Function], object], f: Function) -> None:
        counted = CountedCalls(f)
        with counting_backward_runs() as runs, counting_ops() as ops:
            call(counted)
        self.calls, self.runs, self.passes = counted.times, runs.times, counted.times + runs.times
        self.ops, self.largest = ops.times, ops.largest


# ------------------------------------------------------------------------------------- core: v has the output's shape


@exercise(
    title=Text("Which v, and what comes back", "Какой v и что вернётся"),
    kind="predict",
    core=True,
    minutes=7,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`y` has two entries and `x` has three. Which of the two does `v` weigh?",
            "В `y` два элемента, в `x` три. Чьи элементы взвешивает `v`?",
        ),
        Text(
            "The result is `vᵀJ`: a sum of the rows of the matrix, each times its entry of `v`. It has the shape of `x`.",
            "Результат — `vᵀJ`: сумма строк матрицы, каждая умножена на свой элемент `v`. Форма у него как у `x`.",
        ),
        Text(
            "For `A`: `1·[1, 2] + 10·[3, 4]`. Without `v`, `backward()` needs an output of one element, of any shape.",
            "Для `A`: `1·[1, 2] + 10·[3, 4]`. Без `v` методу `backward()` нужен выход из одного элемента, любой формы.",
        ),
    ],
)
def predict_vjp(answer: Any, case: Case) -> dict[str, object]:
    return {"table": _table(answer.predict_vjp)}


def _table(predicted: dict[str, object]) -> dict[str, object]:
    """A table of predictions in which a tensor may stand for a list of numbers."""
    with using_answer():
        listed = {k: v.tolist() if isinstance(v, Tensor) and v.numel() > 1 else v for k, v in predicted.items()}
        return entries(listed)


_ERROR = "RuntimeError"


@predict_vjp.mistake(
    en="It looks as if `v` was given the shape of the input. It weighs the outputs, so it has the output's shape.",
    ru="Похоже, что `v` приписана форма входа. Он взвешивает выходы, поэтому форма у него как у выхода.",
)
def v_like_the_input() -> dict[str, object]:
    return {"y, v = ones(2)": _ERROR, "y, v = [1, 0]": _ERROR}


@predict_vjp.mistake(
    en="It looks as if `backward()` was taken to work for one number only. With `v` it works for an output of any shape.",
    ru="Похоже, что `backward()` считается применимым только к одному числу. С `v` он работает для выхода любой формы.",
)
def only_for_numbers() -> dict[str, object]:
    return {"y, v = ones(2)": _ERROR, "y, v = [1, 0]": _ERROR, "A x, v = [1, 10]": _ERROR}


@predict_vjp.mistake(
    en="It looks as if the matrix was multiplied by `v` from the right, `A v`. `backward` multiplies from the left: `vᵀA`.",
    ru="Похоже, что матрица умножена на `v` справа, `A v`. `backward` умножает слева: `vᵀA`.",
)
def from_the_right() -> dict[str, object]:
    return {"A x, v = [1, 10]": [21.0, 43.0]}


@predict_vjp.mistake(
    en="It looks as if a missing `v` was taken for ones. That is so only when the output has one element.",
    ru="Похоже, что вместо пропущенного `v` подставлены единицы. Так бывает, только когда в выходе один элемент.",
)
def ones_by_default() -> dict[str, object]:
    return {"y, no v": [1.0, 1.0, 3.0]}


@predict_vjp.mistake(
    en="It looks as if `v` picked a column of `W`. It picks and mixes rows: one row for each output.",
    ru="Похоже, что `v` выбрал столбец `W`. Он выбирает и смешивает строки: на каждый выход одна строка.",
)
def a_column() -> dict[str, object]:
    return {"y, v = [1, 0]": [1.0, 0.0]}


@predict_vjp.mistake(
    en="It looks as if the rows of `W` were summed along themselves. Ones add the rows up: the result has three entries.",
    ru="Похоже, что сложены элементы внутри каждой строки `W`. Единицы складывают сами строки: в результате три элемента.",
)
def sums_of_rows() -> dict[str, object]:
    return {"y, v = ones(2)": [3.0, 2.0]}


@predict_vjp.mistake(
    en="It looks as if only an output without dimensions can go without `v`. Any output of one element can.",
    ru="Похоже, что без `v` обойдётся только выход без измерений. Достаточно, чтобы в выходе был один элемент.",
)
def shape_one_needs_v() -> dict[str, object]:
    return {"shape (1,), no v": _ERROR}


@predict_vjp.mistake(
    en="It looks as if `tensor(1.)` was taken for what `backward()` fills in. It fills in ones of the output's own shape.",
    ru="Похоже, что `tensor(1.)` считается тем, что подставляет `backward()`. Он подставляет единицы формы самого выхода.",
)
def one_fits_all() -> dict[str, object]:
    return {"shape (1,), v = tensor(1.)": [2.0, 2.0, 2.0]}


@predict_vjp.mistake(
    en="It looks as if `v` was expected to have the output's dtype, too. Only its shape has to agree.",
    ru="Похоже, что от `v` ожидался и dtype выхода. Совпадать должна только форма.",
)
def same_dtype() -> dict[str, object]:
    return {"float64 y, float32 v": _ERROR}


# ---------------------------------------------------------------------- core: the seed's two calls of backward


fix_two_products_aspects = [
    aspect(
        "ones",
        1,
        en="The first result is the product with ones, in the shape of `inp`.",
        ru="Первый результат — произведение с единицами, формы `inp`.",
    ),
    aspect(
        "v",
        1,
        en="The second result is the product with `v` alone.",
        ru="Второй результат — произведение только с `v`.",
    ),
    aspect(
        "grad",
        1,
        en="`inp.grad` holds what it held before.",
        ru="В `inp.grad` лежит то же, что и раньше.",
        after=("ones", "v"),
    ),
]


@exercise(
    title=Text("Find the bug: two products of one graph", "Найдите ошибку: два произведения по одному графу"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=8,
    aspects=fix_two_products_aspects,
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
    return {"ones": first, "v": second, "grad": case.inp.grad}


@fix_two_products.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    eye = torch.eye(5, dtype=torch.float64, requires_grad=True)  # the notebook's own
    yield Case(f=lambda inp: (inp + 1).pow(2), inp=eye, v=signed(rng, 5, 5))
    yield Case(f=curved(rng, 3, 2), inp=_with_old_gradient(leaf(rng, 3)), v=signed(rng, 2))
    a = signed(rng, 4, 3)
    yield Case(f=lambda inp: (a @ inp).square().sum(1), inp=_with_old_gradient(leaf(rng, 3, 2)), v=signed(rng, 4))


def _with_old_gradient(x: Tensor) -> Tensor:
    """`x` after an earlier backward pass."""
    x.grad = 100 + x.detach()
    return x


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
    ru="Похоже, что между двумя вызовами ничего не обнуляется: во втором результате сидит и первый.",
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


@fix_two_products.mistake(
    en="It looks as if only the shape of `v` was mended: both results are one tensor, `inp.grad`, and everything is added up in it.",
    ru="Похоже, что исправлена только форма `v`: оба результата — один тензор, `inp.grad`, и всё складывается в нём.",
)
def mends_the_shape_only(f: Function, inp: Tensor, v: Tensor) -> object:
    out = f(inp)
    out.backward(torch.ones_like(out), retain_graph=True)
    first = inp.grad
    out.backward(v)
    return first, inp.grad


@fix_two_products.mistake(
    en="It looks as if both results are one tensor: zeroing `inp.grad` in place zeroed the first result, too.",
    ru="Похоже, что оба результата — один тензор: обнуление `inp.grad` на месте обнулило и первый результат.",
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
    """Both products, right, and `inp.grad` left holding the second."""
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
    ru="Похоже, что `inp.grad` в конце опустошён: прежнее содержимое потеряно.",
)
def empties_grad(f: Function, inp: Tensor, v: Tensor) -> object:
    products = _by_backward(f, inp, v)
    inp.grad = None
    return products


# --------------------------------------------------------------------------------- core: the Jacobian, row by row


@exercise(
    title=Text("The Jacobian, row by row", "Матрица Якоби по строкам"),
    kind="complete",
    core=True,
    minutes=10,
    aspects=[
        aspect(
            "jacobian",
            2,
            en="Row i is the gradient of `y[i]`: a tensor of shape (m, n).",
            ru="Строка i — градиент `y[i]`; возвращается тензор формы (m, n).",
        ),
        aspect("grad", 1, en="`x.grad` holds what it held before.", ru="В `x.grad` лежит то же, что и раньше."),
    ],
    hints=[
        Text(
            "Which `v` makes `vᵀJ` the first row of `J`? And the second?",
            "При каком `v` произведение `vᵀJ` — первая строка `J`? А вторая?",
        ),
        Text(
            "One call of `torch.autograd.grad` for each output. The graph is needed again after each but the last.",
            "Один вызов `torch.autograd.grad` на каждый выход. После каждого, кроме последнего, граф ещё понадобится.",
        ),
        Text(
            "rows = [torch.autograd.grad(y[i], x, ...)[0] for i in range(len(y))]\nreturn torch.stack(rows)",
            "rows = [torch.autograd.grad(y[i], x, ...)[0] for i in range(len(y))]\nreturn torch.stack(rows)",
        ),
    ],
)
def jacobian_rows(answer: Any, case: Case) -> dict[str, object]:
    return {"jacobian": answer.jacobian_rows(case.y, case.x), "grad": case.x.grad}


@jacobian_rows.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for n, m, old in [(3, 2, False), (2, 4, True)]:
        x = leaf(rng, n)
        y = curved(rng, n, m)(x)
        yield Case(y=y, x=_with_old_gradient(x) if old else x)


def _rows_in_grad(y: Tensor, x: Tensor, before: Callable[[], None], between: Callable[[], None]) -> list[Tensor]:
    """What `x.grad` holds after each row's backward pass."""
    rows = []
    before()
    for i in range(len(y)):
        y[i].backward(retain_graph=True)
        assert x.grad is not None
        rows.append(x.grad.clone())
        between()
    return rows


def _nothing() -> None:
    pass


def _emptied(x: Tensor) -> Callable[[], None]:
    return lambda: setattr(x, "grad", None)


@jacobian_rows.mistake(
    en="It looks as if `x.grad` is never cleared: each row holds all the rows before it, and what was there at the start.",
    ru="Похоже, что `x.grad` ни разу не обнуляется: в каждой строке есть все предыдущие и то, что лежало там вначале.",
)
def running_sums(y: Tensor, x: Tensor) -> Tensor:
    return torch.stack(_rows_in_grad(y, x, _nothing, _nothing))


@jacobian_rows.mistake(
    en="It looks as if `x.grad` is cleared once, before the loop: each row holds all the rows before it.",
    ru="Похоже, что `x.grad` обнуляется один раз, до цикла: в каждой строке есть все предыдущие.",
)
def cleared_once(y: Tensor, x: Tensor) -> Tensor:
    return torch.stack(_rows_in_grad(y, x, _emptied(x), _nothing))


@jacobian_rows.mistake(
    en="It looks as if the first row still holds what was in `x.grad` before.",
    ru="Похоже, что в первой строке осталось то, что лежало в `x.grad` раньше.",
)
def cleared_after_each(y: Tensor, x: Tensor) -> Tensor:
    return torch.stack(_rows_in_grad(y, x, _nothing, _emptied(x)))


@jacobian_rows.mistake(
    en="It looks as if every row is the same tensor, `x.grad`, zeroed in place: all of them show the last one.",
    ru="Похоже, что все строки — один тензор, `x.grad`, обнуляемый на месте: в каждой видна последняя.",
)
def all_rows_the_last(y: Tensor, x: Tensor) -> Tensor:
    rows = []
    x.grad = torch.zeros_like(x)
    for i in range(len(y)):
        x.grad.zero_()
        y[i].backward(retain_graph=True)
        rows.append(x.grad)
    return torch.stack(rows)


@jacobian_rows.mistake(
    en="It looks as if the rows were put side by side as columns: this is the transposed matrix.",
    ru="Похоже, что строки поставлены рядом как столбцы: это транспонированная матрица.",
)
def transposed(y: Tensor, x: Tensor) -> Tensor:
    rows = [torch.autograd.grad(output, x, retain_graph=True)[0] for output in y]
    return torch.stack(rows, dim=1)


@jacobian_rows.mistake(
    en="It looks as if the outputs were summed: that gradient is the sum of all rows.",
    ru="Похоже, что выходы сложены: такой градиент — сумма всех строк.",
)
def sum_of_rows(y: Tensor, x: Tensor) -> Tensor:
    return torch.autograd.grad(y.sum(), x)[0]


@jacobian_rows.mistake(
    en="It looks as if the first row's call frees the graph that the second row needs.",
    ru="Похоже, что вызов для первой строки освобождает граф, который нужен второй.",
)
def graph_freed(y: Tensor, x: Tensor) -> Tensor:
    return torch.stack([torch.autograd.grad(output, x)[0] for output in y])


@jacobian_rows.mistake(
    en="It looks as if the rows of an identity matrix of the input's size were used as `v`. There is one row for each output.",
    ru="Похоже, что в качестве `v` взяты строки единичной матрицы размера входа. Нужна одна строка на каждый выход.",
)
def identity_of_the_input(y: Tensor, x: Tensor) -> Tensor:
    rows = torch.eye(len(x), dtype=x.dtype)
    return torch.stack([torch.autograd.grad(y, x, v, retain_graph=True)[0] for v in rows])


@jacobian_rows.mistake(
    en="It looks as if every row is the same tensor, `x.grad`, and all passes were added up in it.",
    ru="Похоже, что все строки — один тензор, `x.grad`, и в нём сложились все проходы.",
)
def all_rows_the_sum(y: Tensor, x: Tensor) -> Tensor:
    for output in y:
        output.backward(retain_graph=True)
    assert x.grad is not None
    return torch.stack([x.grad for _ in y])


@jacobian_rows.mistake(
    en="It looks as if the matrix is right, but the rows went through `x.grad`, and it was left empty.",
    ru="Похоже, что матрица верна, но строки прошли через `x.grad`, и он оставлен пустым.",
)
def leaves_grad_empty(y: Tensor, x: Tensor) -> Tensor:
    x.grad = None
    return torch.stack(_rows_in_grad(y, x, _nothing, _emptied(x)))


@jacobian_rows.mistake(
    en="It looks as if the matrix is right, but the rows went through `x.grad`, and the last one stayed there.",
    ru="Похоже, что матрица верна, но строки прошли через `x.grad`, и последняя там осталась.",
)
def leaves_the_last_row(y: Tensor, x: Tensor) -> Tensor:
    rows: list[Any] = []
    for output in y:
        x.grad = None
        output.backward(retain_graph=True)
        rows.append(x.grad)
    return torch.stack(rows)


@jacobian_rows.mistake(
    en="It looks as if the matrix is right, but `x.grad` was left full of zeros.",
    ru="Похоже, что матрица верна, но в `x.grad` остались нули.",
)
def leaves_zeros(y: Tensor, x: Tensor) -> Tensor:
    x.grad = None
    rows = torch.stack(_rows_in_grad(y, x, _nothing, _emptied(x)))
    x.grad = torch.zeros_like(x)
    return rows


# ------------------------------------------------------------------------------------ core: J v at the cost of a pass


_SIZE = 12  # inputs and outputs of the function on which costs are counted


def neighbours(x: Tensor) -> Tensor:
    """A function from R^n to R^n that makes no tensor larger than its input, and holds no matrix."""
    return (x.roll(1) * x).tanh()


@exercise(
    title=Text("J v without J", "J v без J"),
    kind="design",
    core=True,
    difficulty=2,
    minutes=14,
    aspects=[
        aspect("product", 2, en="What comes back is `J v`, of shape (m,).", ru="Возвращается `J v` формы (m,)."),
        aspect(
            "exact",
            0.5,
            en="The product is exact up to rounding, 1e-12 of its largest entry.",
            ru="Произведение точно до округления, 1e-12 от наибольшего элемента.",
        ),
        aspect(
            "passes",
            1,
            en="Calls of `f` and backward passes together are at most 3, whatever n and m.",
            ru="Вызовов `f` и обратных проходов вместе не больше 3 при любых n и m.",
        ),
        aspect(
            "largest",
            0.5,
            en="No new tensor is larger than a few vectors (elements, for n = m = 12).",
            ru="Ни один новый тензор не больше нескольких векторов (элементы, для n = m = 12).",
        ),
    ],
    hints=[
        Text(
            "`backward` gives `vᵀJ`: rows. Which mode carries a direction *forward* through `f`?",
            "`backward` даёт `vᵀJ`, строки. Какой режим проводит направление *вперёд* через `f`?",
        ),
        Text(
            "Make a dual tensor of `x` and `v`, call `f`, read the tangent, all inside `dual_level()`. Or look at `torch.func`.",
            "Сделайте дуальный тензор из `x` и `v`, вызовите `f`, прочтите касательную — всё внутри `dual_level()`. Или загляните в `torch.func`.",
        ),
        Text(
            "with forward_ad.dual_level():\n    y = f(forward_ad.make_dual(x, v))\n    return forward_ad.unpack_dual(...).tangent",
            "with forward_ad.dual_level():\n    y = f(forward_ad.make_dual(x, v))\n    return forward_ad.unpack_dual(...).tangent",
        ),
    ],
)
def jvp(answer: Any, case: Case) -> dict[str, object]:
    return _observe_jvp(answer.jvp, case, neighbours)


def _observe_jvp(product_along: Callable[..., object], case: Case, budget: Function) -> dict[str, object]:
    """What `product_along(f, x, v)` gives on the case, and what it costs on the function `budget` from R^12 to R^12."""
    truth = functional.jacobian(case.f, case.x) @ case.v
    watched = Watched(case.f, case.x)
    product = product_along(watched, case.x, case.v)
    with using_answer():
        exact = away_from(truth, product) < EXACT
    x = torch.linspace(0, 1, _SIZE, dtype=torch.float64)
    cost = Cost(lambda counted: product_along(counted, x, x.cos()), budget)
    return {
        "product": product,
        "exact": exact,
        "passes": AtMost(limit=3, used=cost.passes),
        "largest": AtMost(limit=4 * _SIZE, used=cost.largest),
        "many_calls": cost.calls > 3,
        "many_runs": cost.runs > 3,
        "moved": watched.moved,
    }


@jvp.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for n, m in [(4, 4), (2, 5)]:
        yield Case(f=curved(rng, n, m), x=uniform(rng, n), v=signed(rng, n))


def tracked(x: Tensor) -> Tensor:
    return x.detach().clone().requires_grad_()


@jvp.mistake(
    en="It looks as if this is the other product, `vᵀJ`: `v` went in as the weight of the outputs.",
    ru="Похоже, что это другое произведение, `vᵀJ`: `v` использован как веса выходов.",
)
def other_product(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    return torch.autograd.grad(f(x), x, v)[0]


@jvp.mistake(
    en="It looks as if nothing came back, or a tangent that was read after its level was closed: it is `None` there.",
    ru="Похоже, что не вернулось ничего или касательная прочитана после закрытия уровня: там она равна `None`.",
)
def tangent_read_too_late(f: Function, x: Tensor, v: Tensor) -> object:
    with forward_ad.dual_level():
        y = f(forward_ad.make_dual(x, v))
    return forward_ad.unpack_dual(y).tangent


@jvp.mistake(
    en="It looks as if a level of forward mode was entered and never left: the next call finds it still open.",
    ru="Похоже, что уровень прямого режима открыт и не закрыт: следующий вызов застаёт его открытым.",
)
def leaves_the_level_open(f: Function, x: Tensor, v: Tensor) -> object:
    forward_ad.enter_dual_level()  # type: ignore[no-untyped-call]
    return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v))).tangent


@jvp.mistake(
    en="It looks as if the value `f(x)` came back, and not the derivative beside it.",
    ru="Похоже, что вернулось значение `f(x)`, а не производная рядом с ним.",
)
def returns_the_value(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return f(x)


@jvp.mistake(
    en="It looks as if the whole pair came back, value and product. Only the product is asked for.",
    ru="Похоже, что вернулась вся пара, значение и произведение. Нужно только произведение.",
)
def returns_the_pair(f: Function, x: Tensor, v: Tensor) -> object:
    return torch.func.jvp(f, (x,), (v,))


@jvp.mistake(
    en="It looks as if the gradient of the summed outputs was multiplied by `v` entry by entry.",
    ru="Похоже, что градиент суммы выходов поэлементно умножен на `v`.",
)
def gradient_times_v(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    return torch.autograd.grad(f(x).sum(), x)[0] * v


@jvp.mistake(
    en="It looks as if the gradient of the summed outputs was multiplied by `v`: one number, the sum of all entries of `J v`.",
    ru="Похоже, что градиент суммы выходов скалярно умножен на `v`: получилось одно число, сумма элементов `J v`.",
)
def sum_of_the_product(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    return torch.autograd.grad(f(x).sum(), x)[0] @ v


@jvp.mistake(
    en="It looks as if the first product has no graph of its own: to be differentiated again it needs `create_graph=True`.",
    ru="Похоже, что у первого произведения нет своего графа: чтобы дифференцировать его ещё раз, нужен `create_graph=True`.",
)
def no_graph_to_go_on(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    y = f(x)
    u = torch.zeros_like(y, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, u)
    return torch.autograd.grad(g, u, v)[0]


@jvp.mistake(
    en="It looks as if `f` was called at two points: finite differences lose a third of the digits or more.",
    ru="Похоже, что `f` вызвана в двух точках: конечные разности теряют треть знаков или больше.",
)
def finite_differences(f: Function, x: Tensor, v: Tensor) -> Tensor:
    h = 1e-6
    return (f(x + h * v) - f(x - h * v)) / (2 * h)


@jvp.mistake(
    en="It looks as if there is a backward pass for each output: the rows are computed one by one and multiplied by `v`.",
    ru="Похоже, что на каждый выход приходится обратный проход: строки вычисляются по одной и умножаются на `v`.",
)
def all_rows_first(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return functional.jacobian(f, x) @ v  # type: ignore[no-any-return, operator]


@jvp.mistake(
    en="It looks as if the columns were computed one by one, a call of `f` for each input, and then mixed.",
    ru="Похоже, что столбцы вычислены по одному, по вызову `f` на каждый вход, и потом смешаны.",
)
def all_columns_first(f: Function, x: Tensor, v: Tensor) -> Tensor:
    units = torch.eye(len(x), dtype=x.dtype)
    columns = [torch.func.jvp(f, (x,), (unit,))[1] * share for unit, share in zip(units, v)]
    return torch.stack(columns).sum(0)


@jvp.mistake(
    en="It looks as if the whole matrix was built in one batched pass, as `jacrev` and `jacfwd` do. "
    "One pass it is, but of many vectors at once.",
    ru="Похоже, что вся матрица построена за один проход, как это делают `jacrev` и `jacfwd`. "
    "Проход один, но в нём сразу много векторов.",
)
def matrix_in_one_pass(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return torch.func.jacrev(f)(x) @ v  # type: ignore[no-any-return]


@jvp.mistake(
    en="It looks as if the auxiliary vector `u` has the shape of the input. It stands on the side of the outputs.",
    ru="Похоже, что у вспомогательного вектора `u` форма входа. Он стоит на стороне выходов.",
)
def cotangent_like_the_input(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    u = torch.zeros_like(x, requires_grad=True)
    (g,) = torch.autograd.grad(f(x), x, u, create_graph=True)
    return torch.autograd.grad(g, u, v)[0]


# --------------------------------------------------------------------------------- core: the Hessian without a Hessian


_SMALL, _LARGE = 6, 12  # sizes at which costs are counted


def chain(x: Tensor) -> Tensor:
    """A function of any number of entries that makes no tensor larger than its input."""
    return (x[1:] * x[:-1].sin()).sum()


@exercise(
    title=Text("H v without H", "H v без H"),
    kind="design",
    core=True,
    difficulty=3,
    minutes=16,
    aspects=[
        aspect("product", 2, en="What comes back is `H v`, of shape (n,).", ru="Возвращается `H v` формы (n,)."),
        aspect(
            "exact",
            0.5,
            en="The product is exact up to rounding, 1e-12 of its largest entry.",
            ru="Произведение точно до округления, 1e-12 от наибольшего элемента.",
        ),
        aspect(
            "passes",
            1,
            en="Calls of `f` and backward passes together are at most 4, whatever n.",
            ru="Вызовов `f` и обратных проходов вместе не больше 4 при любом n.",
        ),
        aspect(
            "largest",
            1,
            en="No new tensor has more than 4n entries (for n = 12).",
            ru="Ни в одном новом тензоре нет больше 4n элементов (для n = 12).",
        ),
        aspect(
            "operations",
            0.5,
            en="The number of operations does not grow with n (how many more there are for n = 12 than for n = 6).",
            ru="Число операций не растёт с n (насколько их больше для n = 12, чем для n = 6).",
        ),
    ],
    hints=[
        Text(
            "`H` is the Jacobian of the gradient. Of which function is `H v` a product that you know already?",
            "`H` — матрица Якоби градиента. Для какой функции `H v` — уже знакомое вам произведение?",
        ),
        Text(
            "`H v` is the gradient of the number `g @ v`, with `v` held fixed. Does your `g` know how it was computed?",
            "`H v` — градиент числа `g @ v` при неизменном `v`. Помнит ли ваш `g`, как он вычислен?",
        ),
        Text(
            "x = x.detach().requires_grad_()\n(g,) = torch.autograd.grad(f(x), x, create_graph=...)\n(product,) = torch.autograd.grad(..., x)",
            "x = x.detach().requires_grad_()\n(g,) = torch.autograd.grad(f(x), x, create_graph=...)\n(product,) = torch.autograd.grad(..., x)",
        ),
    ],
)
def hvp(answer: Any, case: Case) -> dict[str, object]:
    truth = functional.hessian(case.f, case.x) @ case.v
    watched = Watched(case.f, case.x)
    product = answer.hvp(watched, case.x, case.v)
    with using_answer():
        exact = away_from(truth, product) < EXACT
    small, large = (_hvp_cost(answer.hvp, n) for n in (_SMALL, _LARGE))
    return {
        "product": product,
        "exact": exact,
        "passes": AtMost(limit=4, used=large.passes),
        "largest": AtMost(limit=4 * _LARGE, used=large.largest),
        "operations": AtMost(limit=0, used=large.ops - small.ops),
        "many_calls": large.calls > 4,
        "many_runs": large.runs > 4,
        "matrix": large.largest >= _LARGE**2,
        "moved": watched.moved,
    }


def _hvp_cost(hessian_vector: Callable[..., object], n: int) -> Cost:
    x = torch.linspace(-1, 1, n, dtype=torch.float64)
    return Cost(lambda counted: hessian_vector(counted, x, x.cos()), chain)


@hvp.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(f=bowl(rng, 4), x=uniform(rng, 4), v=signed(rng, 4))


def _gradient(f: Function, x: Tensor) -> Tensor:
    """The gradient of `f` at `x`, with a graph of its own when `x` requires grad."""
    return torch.autograd.grad(f(x), x, create_graph=True)[0]


@hvp.mistake(
    en="It looks as if `retain_graph=True` was meant to make the gradient differentiable. It keeps the old graph; "
    "`create_graph=True` makes a new one.",
    ru="Похоже, что `retain_graph=True` должен был сделать градиент дифференцируемым. Он сохраняет старый граф; "
    "новый создаёт `create_graph=True`.",
)
def retains_instead(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    (g,) = torch.autograd.grad(f(x), x, retain_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


@hvp.mistake(
    en="It looks as if the gradient of `g @ g` was taken: that is `2 H g`. `v` does not depend on x.",
    ru="Похоже, что взят градиент `g @ g`: это `2 H g`. `v` от x не зависит.",
)
def gradient_of_its_square(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    g = _gradient(f, x)
    return torch.autograd.grad(g @ g, x)[0]


@hvp.mistake(
    en="It looks as if the sum of the gradient's entries was differentiated: that gives the row sums of `H`, without `v`.",
    ru="Похоже, что продифференцирована сумма элементов градиента: это суммы строк `H`, без `v`.",
)
def row_sums(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    return torch.autograd.grad(_gradient(f, x).sum(), x)[0]


@hvp.mistake(
    en="It looks as if the row sums of `H` were taken for its diagonal and multiplied by `v` entry by entry.",
    ru="Похоже, что суммы строк `H` приняты за её диагональ и поэлементно умножены на `v`.",
)
def row_sums_for_a_diagonal(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    return torch.autograd.grad(_gradient(f, x).sum(), x)[0] * v


@hvp.mistake(
    en="It looks as if one number came back, `g @ v`. It still has to be differentiated.",
    ru="Похоже, что вернулось одно число, `g @ v`. Его нужно ещё продифференцировать.",
)
def slope_along_v(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return _gradient(f, tracked(x)) @ v


@hvp.mistake(
    en="It looks as if the Hessian was replaced by `g gᵀ`, a product of first derivatives.",
    ru="Похоже, что матрица Гессе заменена на `g gᵀ`, произведение первых производных.",
)
def outer_product(f: Function, x: Tensor, v: Tensor) -> Tensor:
    g = _gradient(f, tracked(x))
    return g * (g @ v)


@hvp.mistake(
    en="It looks as if both passes went into `.grad`: it holds the gradient plus `H v`.",
    ru="Похоже, что оба прохода попали в `.grad`: там градиент плюс `H v`.",
)
def both_in_grad(f: Function, x: Tensor, v: Tensor) -> object:
    x = tracked(x)
    f(x).backward(create_graph=True)  # type: ignore[no-untyped-call]
    assert x.grad is not None
    (x.grad @ v).backward()
    found, x.grad = x.grad, None  # so that the graph and the gradient do not keep each other alive
    return found.detach()


@hvp.mistake(
    en="It looks as if the tuple of `torch.autograd.grad` came back, and not the tensor in it.",
    ru="Похоже, что вернулся кортеж из `torch.autograd.grad`, а не тензор в нём.",
)
def returns_the_tuple(f: Function, x: Tensor, v: Tensor) -> object:
    x = tracked(x)
    return torch.autograd.grad(_gradient(f, x) @ v, x)


@hvp.mistake(
    en="It looks as if the whole pair of `functional.hvp` came back, value and product. Only the product is asked for.",
    ru="Похоже, что вернулась вся пара из `functional.hvp`, значение и произведение. Нужно только произведение.",
)
def returns_value_and_product(f: Function, x: Tensor, v: Tensor) -> object:
    return functional.hvp(f, x, v)


@hvp.mistake(
    en="It looks as if the gradient was taken at two points and subtracted: a third of the digits is lost, or more.",
    ru="Похоже, что градиент взят в двух точках и вычтен: теряется треть знаков или больше.",
)
def difference_of_gradients(f: Function, x: Tensor, v: Tensor) -> Tensor:
    h = 1e-6
    return (_gradient(f, tracked(x + h * v)) - _gradient(f, tracked(x - h * v))).detach() / (2 * h)


@hvp.mistake(
    en="It looks as if the whole Hessian was built, a backward pass for each row, as `functional.hessian` does.",
    ru="Похоже, что построена вся матрица Гессе, по обратному проходу на строку, как это делает `functional.hessian`.",
)
def whole_hessian(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return functional.hessian(f, x) @ v  # type: ignore[no-any-return, operator]


@hvp.mistake(
    en="It looks as if there is no matrix, but a backward pass for each of its rows.",
    ru="Похоже, что матрицы нет, но на каждую её строку приходится обратный проход.",
)
def row_by_row(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    entries_of_g = _gradient(f, x)
    return torch.stack([torch.autograd.grad(entry, x, retain_graph=True)[0] @ v for entry in entries_of_g])


@hvp.mistake(
    en="It looks as if the whole Hessian was built in a batched pass, as `torch.func.hessian` does: n vectors at once.",
    ru="Похоже, что вся матрица Гессе построена проходом по батчу, как в `torch.func.hessian`: сразу n векторов.",
)
def whole_hessian_batched(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return torch.func.hessian(f)(x) @ v  # type: ignore[no-any-return]


@hvp.mistake(
    en="It looks as if there is a product for each unit vector, and `f` is called for each of them.",
    ru="Похоже, что на каждый единичный вектор приходится своё произведение и свой вызов `f`.",
)
def column_by_column(f: Function, x: Tensor, v: Tensor) -> Tensor:
    units = torch.eye(len(x), dtype=x.dtype)
    products = [torch.autograd.grad(_gradient(f, p), p, unit)[0] for unit in units for p in [tracked(x)]]
    return torch.stack([share * product for share, product in zip(v, products)]).sum(0)


@hvp.mistake(
    en="It looks as if `g @ v` is summed entry by entry in Python: each entry adds its own operations.",
    ru="Похоже, что `g @ v` складывается в Python по одному элементу: каждый добавляет свои операции.",
)
def sums_in_python(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    g = _gradient(f, x)
    slope = torch.stack([g[i] * v[i] for i in range(len(x))]).sum()
    return torch.autograd.grad(slope, x)[0]


# ------------------------------------------------------------------------------------ core: finite differences


_CLOSE = 1e-9  # of the largest entry: what central differences reach with a good step, and one-sided ones do not


class BlackBox:
    """A function that computes without a graph, and notes how far from `x` it was called, and with which dtype."""

    def __init__(self, function: Function, x: Tensor) -> None:
        self.function, self.x = function, x.detach().clone()
        self.steps: list[float] = []
        self.dtypes: set[torch.dtype] = set()

    def __call__(self, point: Tensor) -> Tensor:
        with torch.no_grad():
            self.dtypes.add(point.dtype)
            with suppress(Exception):  # inside vmap a tensor is many points at once
                apart = point.detach().to(self.x.dtype) - self.x
                self.steps += [step for step in apart.flatten().tolist() if step]
            return self.function(point.detach())

    def how(self) -> str:
        """The way of the differences, as far as it explains their error."""
        if torch.float32 in self.dtypes:
            return "float32"
        if not self.steps or min(self.steps) > 0 or max(self.steps) < 0:
            return "one side"
        longest = max(map(abs, self.steps))
        return "too short" if longest < 3e-7 else "too long" if longest > 3e-5 else "good"


@exercise(
    title=Text("The Jacobian of a black box", "Матрица Якоби чёрного ящика"),
    kind="design",
    core=True,
    difficulty=2,
    minutes=12,
    rtol=1e-2,
    aspects=[
        aspect(
            "jacobian",
            2,
            en="Column j tells how the outputs change with `x[j]`: a float64 tensor of shape (m, n), right to 1 %.",
            ru="Столбец j говорит, как меняются выходы вместе с `x[j]`: тензор float64 формы (m, n), верный до 1 %.",
        ),
        aspect(
            "accurate",
            2,
            en="The largest error is at most 1e-9 of the largest entry.",
            ru="Наибольшая ошибка не больше 1e-9 от наибольшего элемента.",
        ),
    ],
    hints=[
        Text(
            "Which entries of the Jacobian can you learn by moving only `x[j]`: a row or a column?",
            "Какие элементы матрицы Якоби можно узнать, сдвигая только `x[j]`: строку или столбец?",
        ),
        Text(
            "Step to both sides: the error is `h²` then, not `h`. Then read the best step off the table above.",
            "Шагните в обе стороны: тогда ошибка `h²`, а не `h`. Затем найдите лучший шаг в таблице выше.",
        ),
        Text(
            "for j in range(len(x)):\n    step = torch.zeros_like(x)\n    step[j] = h\n"
            "    columns.append((f(x + step) - ...) / ...)\nreturn torch.stack(columns, dim=...)",
            "for j in range(len(x)):\n    step = torch.zeros_like(x)\n    step[j] = h\n"
            "    columns.append((f(x + step) - ...) / ...)\nreturn torch.stack(columns, dim=...)",
        ),
    ],
)
def numerical_jacobian(answer: Any, case: Case) -> dict[str, object]:
    truth = functional.jacobian(case.f, case.x)
    box = BlackBox(case.f, case.x)
    found = answer.numerical_jacobian(box, case.x)
    with using_answer():
        accurate = away_from(truth, found) <= _CLOSE  # type: ignore[arg-type]
    return {"jacobian": found, "accurate": accurate, "how": box.how()}


@numerical_jacobian.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for n, m in [(3, 4), (4, 2)]:
        yield Case(f=_wave(rng, n, m), x=uniform(rng, n))


def _wave(rng: torch.Generator, n: int, m: int) -> Function:
    """A function whose third derivatives are nine times the first, around 10: what step is good is clear there."""
    a = uniform(rng, m, n)
    b = uniform(rng, m)
    return lambda x: 10 + (a.to(x.dtype) * (3 * x).sin()).sum(1) + b.to(x.dtype)


def _differences(f: Function, x: Tensor, h: float, *, back: bool = True, over: float | None = None) -> Tensor:
    """Columns by differences with the step `h`: central ones or, without `back`, to one side."""
    columns = []
    for step in h * torch.eye(len(x), dtype=x.dtype):
        before = f(x - step) if back else f(x)
        columns.append((f(x + step) - before) / (over or (2 * h if back else h)))
    return torch.stack(columns, dim=1)


@numerical_jacobian.mistake(
    en="It looks as if the columns were stacked as rows: this is the transposed matrix.",
    ru="Похоже, что столбцы сложены как строки: это транспонированная матрица.",
)
def columns_as_rows(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x, 1e-5).T


@numerical_jacobian.mistake(
    en="It looks as if the difference over two steps was divided by one: everything is twice as large.",
    ru="Похоже, что разность на длине двух шагов разделена на один: всё вдвое больше.",
)
def divides_by_one_step(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x, 1e-5, over=1e-5)


@numerical_jacobian.mistake(
    en="It looks as if a one-sided difference was divided by two steps: everything is half as large.",
    ru="Похоже, что односторонняя разность разделена на два шага: всё вдвое меньше.",
)
def divides_by_two_steps(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x, 1e-7, back=False, over=2e-7)


@numerical_jacobian.mistake(
    en="It looks as if all entries of `x` were moved at once: that is one product with a vector of ones.",
    ru="Похоже, что все элементы `x` сдвинуты сразу: это одно произведение с вектором из единиц.",
)
def moves_all_at_once(f: Function, x: Tensor) -> Tensor:
    return (f(x + 1e-5) - f(x - 1e-5)) / 2e-5


@numerical_jacobian.mistake(
    en="It looks as if autograd was asked. The black box computes without a graph, and nothing requires grad.",
    ru="Похоже, что спросили autograd. Чёрный ящик вычисляет без графа, и градиента там нет.",
)
def asks_autograd(f: Function, x: Tensor) -> Tensor:
    x = tracked(x)
    return torch.stack([torch.autograd.grad(y, x, retain_graph=True)[0] for y in f(x)])


@numerical_jacobian.mistake(
    en="It looks as if the differences go to one side only. Their error shrinks like `h`, and no step makes it small enough.",
    ru="Похоже, что разности односторонние. Их ошибка убывает как `h`, и никакой шаг не сделает её достаточно малой.",
)
def one_sided(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x, 1e-8, back=False)


@numerical_jacobian.mistake(
    en="It looks as if the step is too short: the two values share most of their digits, and rounding is what is left.",
    ru="Похоже, что шаг слишком мал: у двух значений общие почти все знаки, и в разности остаётся округление.",
)
def too_short(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x, 1e-9)


@numerical_jacobian.mistake(
    en="It looks as if the step is too long: the error of a central difference grows like `h²`.",
    ru="Похоже, что шаг слишком велик: ошибка центральной разности растёт как `h²`.",
)
def too_long(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x, 1e-3)


@numerical_jacobian.mistake(
    en="It looks as if `x` moves by a little more or less than the difference is divided by, "
    "say because the step went through a float32 tensor.",
    ru="Похоже, что `x` сдвигается не совсем на тот шаг, на который делится разность, "
    "например потому, что шаг прошёл через тензор float32.",
)
def another_step(f: Function, x: Tensor) -> Tensor:
    columns = [(f(x + step) - f(x - step)) / 2e-5 for step in 1e-5 * torch.eye(len(x))]
    return torch.stack(columns, dim=1)


@numerical_jacobian.mistake(
    en="It looks as if the result is in float32: float64 was asked for, and float32 has too few digits for differences.",
    ru="Похоже, что результат в float32: нужен float64, а для разностей в float32 слишком мало знаков.",
)
def returns_float32(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x.float(), 1e-2)


@numerical_jacobian.mistake(
    en="It looks as if `functional.jacobian` or `torch.func` was asked: for a function without a graph they return zeros.",
    ru="Похоже, что спросили `functional.jacobian` или `torch.func`: для функции без графа они возвращают нули.",
)
def asks_functional(f: Function, x: Tensor) -> object:
    return functional.jacobian(f, x)


@numerical_jacobian.mistake(
    en="It looks as if the differences were computed in float32, which has seven digits; subtraction leaves three or four.",
    ru="Похоже, что разности вычислены в float32, где семь знаков; после вычитания остаются три-четыре.",
)
def in_float32(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x.float(), 1e-2).double()


# ---------------------------------------------------------------------- extra: where the two products look alike


Example = tuple[Function, Tensor, Tensor]


@exercise(
    title=Text("Where a wrong product looks right", "Где неверное произведение выглядит верным"),
    kind="write the counter-example",
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "square",
            0.5,
            en="Both functions take and return vectors of one length, two or more: `swapped` raises no error.",
            ru="Обе функции принимают и возвращают векторы одной длины, не меньше двух: `swapped` не вызывает ошибки.",
        ),
        aspect(
            "hides",
            1,
            en="In the first example `swapped` gives `vᵀJ`, to five digits.",
            ru="В первом примере `swapped` даёт `vᵀJ` с точностью до пяти знаков.",
        ),
        aspect(
            "full",
            0.5,
            en="In the first example no entry of `J` or of `v` is zero.",
            ru="В первом примере ни один элемент `J` и `v` не равен нулю.",
        ),
        aspect(
            "exposes",
            1,
            en="In the second example `swapped` is wrong by more than 1 %.",
            ru="Во втором примере `swapped` ошибается больше чем на 1 %.",
        ),
    ],
    hints=[
        Text(
            "For which matrices is `vᵀJ = J v`, whatever `v` is?",
            "Для каких матриц `vᵀJ = J v`, каким бы ни был `v`?",
        ),
        Text(
            "A linear function `lambda x: M @ x` has the Jacobian `M`, so you may choose it.",
            "У линейной функции `lambda x: M @ x` матрица Якоби — `M`, её можно выбрать.",
        ),
        Text(
            "S = torch.tensor([[2.0, 1.0], [1.0, 3.0]])\nM = torch.tensor(...)\n...\n"
            "return (lambda x: S @ x, x, v), (lambda x: M @ x, x, v)",
            "S = torch.tensor([[2.0, 1.0], [1.0, 3.0]])\nM = torch.tensor(...)\n...\n"
            "return (lambda x: S @ x, x, v), (lambda x: M @ x, x, v)",
        ),
    ],
)
def expose_swap(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        hiding, exposing = answer.expose_swap()
        (a, v), (b, w) = _matrix_and_vector(*hiding), _matrix_and_vector(*exposing)
        square = all(_square(matrix) and u.shape == matrix[0].shape for matrix, u in ((a, v), (b, w)))
        return {
            "square": square,
            "hides": square and away_from(v @ a, a @ v) < 1e-5,
            "full": bool((a != 0).all() and (v != 0).all()),
            "exposes": square and bool(w.any()) and away_from(w @ b, b @ w) > 0.01,
            "symmetric": square and torch.allclose(b, b.T),
            "no_direction": not w.any(),
        }


def _matrix_and_vector(f: Function, x: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    matrix: Any = functional.jacobian(f, x.detach())
    return matrix.double(), v.detach().double()


def _square(matrix: Tensor) -> bool:
    return matrix.dim() == 2 and matrix.shape[0] == matrix.shape[1] > 1


def _linear(*rows: list[float], v: tuple[float, ...] = (1.0, 10.0)) -> Example:
    matrix = torch.tensor(rows)
    return lambda x: matrix @ x, torch.ones(matrix.shape[1]), torch.tensor(v)


@expose_swap.mistake(
    en="It looks as if in one of the examples `f` does not turn a vector of two entries or more into one of the same length, "
    "or `v` has another length. A wrong side gives itself away by its shape there.",
    ru="Похоже, что в одном из примеров `f` не переводит вектор из двух или более элементов в вектор той же длины "
    "или у `v` другая длина. Неверную сторону там выдаёт уже форма.",
)
def not_square() -> tuple[Example, Example]:
    return _linear([2.0, 1.0], [1.0, 3.0]), _linear([2.0, 1.0, 0.0], [1.0, 3.0, 1.0])


@expose_swap.mistake(
    en="It looks as if the two examples changed places: the first one exposes the mistake.",
    ru="Похоже, что примеры поменялись местами: ошибку выдаёт первый.",
)
def changed_places() -> tuple[Example, Example]:
    return _linear([1.0, 2.0], [3.0, 4.0]), _linear([2.0, 1.0], [1.0, 3.0])


@expose_swap.mistake(
    en="It looks as if the first example has zeros in `J` or in `v`, as a function has that works on each entry alone.",
    ru="Похоже, что в первом примере есть нули в `J` или в `v`, как у функции, действующей на каждый элемент отдельно.",
)
def entry_by_entry() -> tuple[Example, Example]:
    return (lambda x: (x + 1) ** 2, torch.ones(2), torch.tensor([1.0, 10.0])), _linear([1.0, 2.0], [3.0, 4.0])


@expose_swap.mistake(
    en="It looks as if the second Jacobian is symmetric as well: no `v` tells the products apart there.",
    ru="Похоже, что и вторая матрица Якоби симметрична: там произведения не различит ни один `v`.",
)
def symmetric_twice() -> tuple[Example, Example]:
    return _linear([2.0, 1.0], [1.0, 3.0]), _linear([2.0, 5.0], [5.0, 1.0])


@expose_swap.mistake(
    en="It looks as if the second `v` is zero: both products are zero then.",
    ru="Похоже, что второй `v` нулевой: тогда оба произведения равны нулю.",
)
def zero_direction() -> tuple[Example, Example]:
    return _linear([2.0, 1.0], [1.0, 3.0]), _linear([1.0, 2.0], [3.0, 4.0], v=(0.0, 0.0))


# ------------------------------------------------------------------------- extra: a function without forward mode


class _Cube(torch.autograd.Function):
    """x^3 with a backward and no forward mode."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.pow(3)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        x: Tensor = ctx.saved_tensors[0]
        return 3 * x.square() * gradient


def _cube(x: Tensor) -> Tensor:
    cubed: Tensor = _Cube.apply(x)  # type: ignore[no-untyped-call]
    return cubed


def cubic(rng: torch.Generator, n: int, m: int) -> Function:
    """A function from R^n to R^m that has no forward mode."""
    a, f = uniform(rng, m, n), curved(rng, n, m)
    return lambda x: _cube(a @ x) + f(x)


@exercise(
    title=Text("J v by backward passes alone", "J v одними обратными проходами"),
    kind="complete",
    difficulty=2,
    minutes=10,
    aspects=[
        jvp.aspects[0],
        aspect("exact", 0.5, *jvp.aspects[1].says),
        aspect("passes", 0.5, *jvp.aspects[2].says),
    ],
    hints=[
        Text(
            "`uᵀJ` is linear in `u`. What is its Jacobian with respect to `u`?",
            "`uᵀJ` линейно по `u`. Какова его матрица Якоби по `u`?",
        ),
        Text(
            "Two calls of `torch.autograd.grad`: the first with a `u` that requires grad, the second differentiates by `u`.",
            "Два вызова `torch.autograd.grad`: первый — с `u`, для которого отслеживаются вычисления, второй дифференцирует по `u`.",
        ),
        Text(
            "y = f(x)\nu = torch.zeros_like(..., requires_grad=True)\n"
            "(g,) = torch.autograd.grad(y, x, u, create_graph=...)\n...",
            "y = f(x)\nu = torch.zeros_like(..., requires_grad=True)\n"
            "(g,) = torch.autograd.grad(y, x, u, create_graph=...)\n...",
        ),
    ],
)
def jvp_by_backward(answer: Any, case: Case) -> dict[str, object]:
    return _observe_jvp(answer.jvp_by_backward, case, lambda x: _cube(neighbours(x)))


@jvp_by_backward.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for n, m in [(4, 4), (2, 5)]:
        yield Case(f=cubic(rng, n, m), x=uniform(rng, n), v=signed(rng, n))


for _name in (
    "other_product",
    "returns_the_value",
    "gradient_times_v",
    "sum_of_the_product",
    "no_graph_to_go_on",
    "cotangent_like_the_input",
    "finite_differences",
    "all_rows_first",
):
    jvp_by_backward.mistake(*jvp.mistakes[_name].says)(jvp.mistakes[_name].program)


@jvp_by_backward.mistake(
    en="It looks as if the whole pair came back, value and product. Only the product is asked for.",
    ru="Похоже, что вернулась вся пара, значение и произведение. Нужно только произведение.",
)
def returns_value_and_jvp(f: Function, x: Tensor, v: Tensor) -> object:
    return functional.jvp(f, x, v)


@jvp_by_backward.mistake(
    en="It looks as if forward mode was asked of a function that has none.",
    ru="Похоже, что прямой режим потребовали от функции, у которой его нет.",
)
def asks_for_forward_mode(f: Function, x: Tensor, v: Tensor) -> object:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v))).tangent


@jvp_by_backward.mistake(
    en="It looks as if `torch.func` was asked: it refuses a custom `Function` that is not written for it.",
    ru="Похоже, что использована `torch.func`: она отвергает пользовательскую `Function`, написанную не для неё.",
)
def asks_torch_func(f: Function, x: Tensor, v: Tensor) -> object:
    return torch.func.jvp(f, (x,), (v,))[1]


@jvp_by_backward.mistake(
    en="It looks as if `u` does not require grad: nothing can be differentiated by it.",
    ru="Похоже, что для `u` вычисления не отслеживаются: по нему нельзя дифференцировать.",
)
def untracked_cotangent(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    y = f(x)
    u = torch.ones_like(y)
    (g,) = torch.autograd.grad(y, x, u, create_graph=True)
    return torch.autograd.grad(g, u, v)[0]


# ------------------------------------------------------------------------------- extra: what gradcheck does not see


@exercise(
    title=Text("Where gradcheck is blind", "Чего не видит gradcheck"),
    kind="write the counter-example",
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "passes",
            0.5,
            en="`gradcheck(f, (x,))` passes.",
            ru="`gradcheck(f, (x,))` проходит.",
        ),
        aspect(
            "smooth",
            0.5,
            en="At `elsewhere` the values of `f` have a derivative: differences to both sides agree.",
            ru="В точке `elsewhere` у значений `f` есть производная: разности в обе стороны согласуются.",
        ),
        aspect(
            "wrong",
            1,
            en="At `elsewhere` the gradient from autograd is wrong by more than 1 %.",
            ru="В точке `elsewhere` градиент от autograd ошибается больше чем на 1 %.",
            after=("passes", "smooth"),
        ),
    ],
    hints=[
        Text(
            "`gradcheck` calls `f` near `x`, and nowhere else. What may `f` do at other points?",
            "`gradcheck` вызывает `f` около `x` и больше нигде. Что может `f` делать в других точках?",
        ),
        Text(
            "`x * x.detach()` has the values of a square and half of its derivative.",
            "У `x * x.detach()` значения квадрата и половина его производной.",
        ),
        Text(
            "def f(x):\n    return torch.where(x > 0, ..., ...)\n\nreturn f, torch.tensor(...), torch.tensor(...)",
            "def f(x):\n    return torch.where(x > 0, ..., ...)\n\nreturn f, torch.tensor(...), torch.tensor(...)",
        ),
    ],
)
def fool_gradcheck(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        f, x, elsewhere = answer.fool_gradcheck()
        x, elsewhere = tracked(x), tracked(elsewhere)
        value = f(elsewhere).sum()
        gradient = torch.zeros_like(elsewhere)
        if value.requires_grad:
            (gradient,) = torch.autograd.grad(value, elsewhere, materialize_grads=True)
        before, after = _one_sided(f, elsewhere)
        return {
            "passes": gradcheck(f, (x,), raise_exception=False),
            "smooth": torch.allclose(before, after, rtol=1e-3, atol=1e-4),
            "wrong": away_from((before + after) / 2, gradient) > 0.01,
            "float64": x.dtype == elsewhere.dtype == torch.float64,
            "repeatable": torch.equal(f(x), f(x)),
            "smooth_at_x": torch.allclose(*_one_sided(f, x), rtol=1e-3, atol=1e-4),
        }


def _one_sided(f: Function, x: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient of `f(x).sum()` by differences, to the left and to the right."""
    x, h = x.detach().double(), 1e-6
    here = f(x).sum().detach()
    steps = [step.reshape(x.shape) for step in h * torch.eye(x.numel(), dtype=x.dtype)]
    left = [(here - f(x - step).sum().detach()) / h for step in steps]
    right = [(f(x + step).sum().detach() - here) / h for step in steps]
    return torch.stack(left).reshape(x.shape), torch.stack(right).reshape(x.shape)


def _at(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


@fool_gradcheck.mistake(
    en="It looks as if `elsewhere` is a kink or a jump. `gradcheck` complains there even when autograd does what it should.",
    ru="Похоже, что `elsewhere` — излом или скачок. Там `gradcheck` жалуется, даже если autograd делает то, что должен.",
)
def a_kink() -> object:
    return torch.relu, _at(1.0, -2.0), _at(0.0, 1.0)


@fool_gradcheck.mistake(
    en="It looks as if `x` itself is at a kink: `gradcheck` fails there.",
    ru="Похоже, что на изломе стоит сама точка `x`: `gradcheck` там не проходит.",
)
def a_kink_at_x() -> object:
    return torch.relu, _at(0.0, 1.0), _at(-1.0, 2.0)


@fool_gradcheck.mistake(
    en="It looks as if the gradient is wrong at `x`, too: `gradcheck` sees it.",
    ru="Похоже, что градиент неверен и в точке `x`: `gradcheck` это видит.",
)
def wrong_at_x() -> object:
    return (lambda x: x * x.detach()), _at(1.0, 2.0), _at(-1.0, -2.0)


@fool_gradcheck.mistake(
    en="It looks as if the points are in float32. There `gradcheck` fails for functions that are right, too.",
    ru="Похоже, что точки заданы в float32. Там `gradcheck` не проходит и для правильных функций.",
)
def in_single_precision() -> object:
    return torch.sin, torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])


@fool_gradcheck.mistake(
    en="It looks as if `f` gives another value at each call. `gradcheck` compares repeated calls and notices.",
    ru="Похоже, что `f` при каждом вызове даёт другое значение. `gradcheck` сравнивает повторные вызовы и замечает это.",
)
def by_chance() -> object:
    return torch.nn.Dropout(), _at(*range(1, 33)), _at(*range(2, 34))


@fool_gradcheck.mistake(
    en="It looks as if autograd is right at `elsewhere`, too: nothing is there to be overlooked.",
    ru="Похоже, что и в точке `elsewhere` autograd прав: там нечего упустить.",
)
def right_everywhere() -> object:
    return torch.sin, _at(1.0, 2.0), _at(3.0, 4.0)


# ----------------------------------------------------------------------------------------- extra: tall and wide


_WIDTH, _FEW, _MANY = 32, 2, 12


@exercise(
    title=Text("Tall and wide Jacobians", "Высокие и широкие матрицы Якоби"),
    kind="design",
    difficulty=3,
    minutes=12,
    rtol=EXACT,
    aspects=[
        aspect(
            "jacobian",
            2,
            en="What comes back is the Jacobian, of shape (m, n).",
            ru="Возвращается матрица Якоби формы (m, n).",
        ),
        aspect(
            "tall",
            1,
            en="With 2 inputs and 12 outputs the work is that of 2 columns.",
            ru="При 2 входах и 12 выходах работы столько, сколько нужно для 2 столбцов.",
        ),
        aspect(
            "wide",
            1,
            en="With 12 inputs and 2 outputs the work is that of 2 rows.",
            ru="При 12 входах и 2 выходах работы столько, сколько нужно для 2 строк.",
        ),
    ],
    hints=[
        Text(
            "A backward pass gives a row, forward mode gives a column. Which are fewer?",
            "Обратный проход даёт строку, прямой режим — столбец. Чего меньше?",
        ),
        Text(
            "`torch.func` has one function for rows and one for columns. The length of `f(x)` tells which to take.",
            "В `torch.func` есть функция для строк и функция для столбцов. Какую взять, подскажет длина `f(x)`.",
        ),
        Text(
            "m, n = len(f(x)), len(x)\nway = torch.func.... if m < n else torch.func....\nreturn way(f)(x)",
            "m, n = len(f(x)), len(x)\nway = torch.func.... if m < n else torch.func....\nreturn way(f)(x)",
        ),
    ],
)
def cheap_jacobian(answer: Any, case: Case) -> dict[str, object]:
    found = answer.cheap_jacobian(case.f, case.x)
    tall, wide = (_jacobian_cost(answer.cheap_jacobian, n, m) for n, m in ((_FEW, _MANY), (_MANY, _FEW)))
    excess = [_excess(cost) for cost in (tall, wide)]
    return {"jacobian": found, "tall": not any(excess[0]), "wide": not any(excess[1]), "excess": excess}


def _jacobian_cost(jacobian: Callable[..., object], n: int, m: int) -> Cost:
    """The cost of a Jacobian of a function from R^n to R^m through a layer of 32 numbers."""
    into = torch.linspace(-1, 1, _WIDTH * n, dtype=torch.float64).reshape(_WIDTH, n)
    out_of = torch.linspace(-1, 1, m * _WIDTH, dtype=torch.float64).reshape(m, _WIDTH)
    x = torch.linspace(0, 1, n, dtype=torch.float64)
    return Cost(lambda counted: jacobian(counted, x), lambda p: out_of @ (into @ p).tanh())


def _excess(cost: Cost) -> list[bool]:
    """Are there too many passes, and is anything larger than 2 vectors of the inner layer, and twice that?"""
    return [cost.passes > _FEW + 3, cost.largest > 2 * _FEW * _WIDTH]


@cheap_jacobian.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for n, m in [(2, 5), (4, 3)]:
        yield Case(f=curved(rng, n, m), x=uniform(rng, n))


@cheap_jacobian.mistake(
    en="It looks as if the rows are always computed, one for each output. With 12 outputs that is 12 of them.",
    ru="Похоже, что всегда вычисляются строки, по одной на выход. При 12 выходах их 12.",
)
def always_rows(f: Function, x: Tensor) -> object:
    return functional.jacobian(f, x)


@cheap_jacobian.mistake(
    en="It looks as if `jacrev` is taken always. Its one pass is a batch of 12 vectors when there are 12 outputs.",
    ru="Похоже, что всегда берётся `jacrev`. При 12 выходах её единственный проход — батч из 12 векторов.",
)
def always_jacrev(f: Function, x: Tensor) -> object:
    return torch.func.jacrev(f)(x)


@cheap_jacobian.mistake(
    en="It looks as if `jacfwd` is taken always. With 12 inputs it carries 12 tangents at once.",
    ru="Похоже, что всегда берётся `jacfwd`. При 12 входах она проводит сразу 12 касательных вектора.",
)
def always_jacfwd(f: Function, x: Tensor) -> object:
    return torch.func.jacfwd(f)(x)


@cheap_jacobian.mistake(
    en="It looks as if the columns are always computed, one for each input. With 12 inputs that is 12 of them.",
    ru="Похоже, что всегда вычисляются столбцы, по одному на вход. При 12 входах их 12.",
)
def always_columns(f: Function, x: Tensor) -> object:
    units = torch.eye(len(x), dtype=x.dtype)
    return torch.stack([torch.func.jvp(f, (x,), (unit,))[1] for unit in units], dim=1)


@cheap_jacobian.mistake(
    en="It looks as if the choice is the wrong way round: columns where rows are few, rows where columns are few.",
    ru="Похоже, что выбор сделан наоборот: столбцы там, где мало строк, и строки там, где мало столбцов.",
)
def the_other_way_round(f: Function, x: Tensor) -> object:
    return torch.func.jacrev(f)(x) if len(f(x)) > len(x) else torch.func.jacfwd(f)(x)


@cheap_jacobian.mistake(
    en="It looks as if this is the transposed matrix.",
    ru="Похоже, что это транспонированная матрица.",
)
def tall_for_wide(f: Function, x: Tensor) -> object:
    return torch.func.jacrev(f)(x).T if len(f(x)) < len(x) else torch.func.jacfwd(f)(x).T


# -------------------------------------------------------------------------------------------- extra: batches


@exercise(
    title=Text("Shapes of Jacobians of a batch", "Формы матриц Якоби для батча"),
    kind="predict",
    difficulty=2,
    minutes=6,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`functional.jacobian` knows no batch. Which derivatives does it compute for an output of shape (4, 1)?",
            "`functional.jacobian` не знает о батче. Какие производные она вычислит для выхода формы (4, 1)?",
        ),
        Text(
            "Its result has the output's shape, then the input's. `vmap` adds one dimension in front.",
            "Форма её результата — форма выхода, за ней форма входа. `vmap` добавляет одно измерение спереди.",
        ),
        Text(
            "Samples do not mix, so only the 4 diagonal blocks of 3 numbers can differ from zero.",
            "Примеры не смешиваются, поэтому от нуля могут отличаться только 4 диагональных блока по 3 числа.",
        ),
    ],
)
def predict_shapes(answer: Any, case: Case) -> dict[str, object]:
    return {"table": _table(answer.predict_shapes)}


@predict_shapes.mistake(
    en="It looks as if `functional.jacobian` was expected to see the batch. It differentiates every sample with respect to every sample.",
    ru="Похоже, что от `functional.jacobian` ожидали понимания батча. Она дифференцирует каждый пример по каждому примеру.",
)
def jacobian_knows_batches() -> dict[str, object]:
    return {"jacobian of the batch": (4, 1, 3)}


@predict_shapes.mistake(
    en="It looks as if `vmap(jacrev(f))` was taken for the Jacobian of the whole batch. It is one Jacobian for each sample.",
    ru="Похоже, что `vmap(jacrev(f))` принято за матрицу Якоби всего батча. Это отдельная матрица для каждого примера.",
)
def vmap_gives_all_pairs() -> dict[str, object]:
    return {"vmap(jacrev)": (4, 1, 4, 3)}


@predict_shapes.mistake(
    en="It looks as if the gradient of a sum was expected to be summed over the batch. It has the shape of its input.",
    ru="Похоже, что градиент суммы ожидался просуммированным по батчу. У него форма входа.",
)
def sum_is_summed() -> dict[str, object]:
    return {"grad of the sum": (3,)}


@predict_shapes.mistake(
    en="It looks as if all 48 numbers were taken for useful. Derivatives of a sample with respect to another one are zero.",
    ru="Похоже, что все 48 чисел сочтены полезными. Производные одного примера по другому равны нулю.",
)
def no_zeros() -> dict[str, object]:
    return {"entries that are not zero": 48}


@predict_shapes.mistake(
    en="It looks as if the Hessian was given the shape of the gradient. It has a row and a column for each input.",
    ru="Похоже, что матрице Гессе приписана форма градиента. В ней по строке и по столбцу на каждый вход.",
)
def hessian_like_gradient() -> dict[str, object]:
    return {"hessian of one sample": (3,)}


@exercise(
    title=Text("Gradients of single samples", "Градиенты по отдельным примерам"),
    kind="complete",
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "gradients",
            2,
            en="Row i is the gradient of the loss of sample i with respect to `w`.",
            ru="Строка i — градиент функции потерь на примере i по `w`.",
        ),
        aspect(
            "passes",
            1,
            en="Calls of `loss` and backward passes together are at most 3, for 6 samples.",
            ru="Вызовов `loss` и обратных проходов вместе не больше 3 при 6 примерах.",
        ),
    ],
    hints=[
        Text(
            "Write the gradient for one sample as a function. Which of its three arguments have a batch dimension?",
            "Запишите градиент для одного примера как функцию. У каких из трёх аргументов есть измерение батча?",
        ),
        Text(
            "`torch.func.grad(loss)` differentiates with respect to argument 0. `in_dims` of `vmap` says `None` for what is shared.",
            "`torch.func.grad(loss)` дифференцирует по аргументу 0. В `in_dims` у `vmap` для общего аргумента ставят `None`.",
        ),
        Text(
            "torch.func.vmap(torch.func.grad(loss), in_dims=(None, ...))(w, x, y)",
            "torch.func.vmap(torch.func.grad(loss), in_dims=(None, ...))(w, x, y)",
        ),
    ],
)
def per_sample_gradients(answer: Any, case: Case) -> dict[str, object]:
    counted = CountedCalls(case.loss)
    with counting_backward_runs() as runs:
        gradients = answer.per_sample_gradients(counted, case.w, case.x, case.y)
    return {
        "gradients": gradients,
        "passes": AtMost(limit=3, used=counted.times + runs.times),
        "calls": counted.times,
        "backward_runs": runs.times,
    }


@per_sample_gradients.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for samples, features in [(6, 3), (6, 2)]:
        yield Case(
            loss=_sample_loss, w=uniform(rng, features), x=signed(rng, samples, features), y=signed(rng, samples)
        )


def _sample_loss(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The loss of one sample: `x` is a row of features, `y` a number."""
    return ((x * w).sum(-1).sin() - y).square()


def _all_samples(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, x, y)  # type: ignore[no-any-return]


@per_sample_gradients.mistake(
    en="It looks as if the losses were summed: one gradient came back, the sum of all rows.",
    ru="Похоже, что потери сложены: вернулся один градиент, сумма всех строк.",
)
def sum_over_samples(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _all_samples(loss, w, x, y).sum(0)


@per_sample_gradients.mistake(
    en="It looks as if the losses were averaged: one gradient came back, the mean of all rows.",
    ru="Похоже, что потери усреднены: вернулся один градиент, среднее всех строк.",
)
def mean_over_samples(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _all_samples(loss, w, x, y).mean(0)


@per_sample_gradients.mistake(
    en="It looks as if each row is divided by the number of samples, as if it were a part of a mean.",
    ru="Похоже, что каждая строка разделена на число примеров, как слагаемое среднего.",
)
def shares_of_a_mean(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _all_samples(loss, w, x, y) / len(x)


@per_sample_gradients.mistake(
    en="It looks as if the gradient was taken with respect to `x`. It has the right shape, and is another derivative.",
    ru="Похоже, что градиент взят по `x`. Форма верна, но это другая производная.",
)
def gradient_by_x(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return torch.func.vmap(torch.func.grad(loss, argnums=1), in_dims=(None, 0, 0))(w, x, y)  # type: ignore[no-any-return]


@per_sample_gradients.mistake(
    en="It looks as if `vmap` was let loose on `w` as well. The weights are shared: `in_dims=(None, 0, 0)`.",
    ru="Похоже, что `vmap` пошла и по `w`. Веса общие: `in_dims=(None, 0, 0)`.",
)
def maps_the_weights(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return torch.func.vmap(torch.func.grad(loss))(w, x, y)  # type: ignore[no-any-return]


@per_sample_gradients.mistake(
    en="It looks as if there is a loop over the samples: a call of `loss` and a backward pass for each.",
    ru="Похоже, что по примерам идёт цикл: на каждый приходится вызов `loss` и обратный проход.",
)
def loops_over_samples(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    w = tracked(w)
    return torch.stack([torch.autograd.grad(loss(w, a, b), w)[0] for a, b in zip(x, y)])


@per_sample_gradients.mistake(
    en="It looks as if the losses come from one batched call, but each has a backward pass of its own.",
    ru="Похоже, что потери вычислены одним вызовом, но у каждой свой обратный проход.",
)
def a_pass_for_each_loss(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    w = tracked(w)
    losses = torch.func.vmap(loss, in_dims=(None, 0, 0))(w, x, y)
    return torch.stack([torch.autograd.grad(each, w, retain_graph=True)[0] for each in losses])
