"""Exercises of lesson 04, Jacobian products: probes, cases and mistakes (J1-J14 of the course's own list)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad, functional, gradcheck

from autograder.checking.exercise import EVERY_ENTRY, Case, aspect, exercise
from autograder.checking.inputs import Formula, leaf, signed, uniform, with_old_gradient
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, entries
from autograder.language import Text
from autograder.measure import CountedCalls, counting_backward_runs, counting_ops

Function = Callable[[Tensor], Tensor]


# ------------------------------------------------------------------------------------------------ inputs of the cases


def curved(rng: torch.Generator, n: int, m: int) -> Function:
    """A function from R^n to R^m whose Jacobian depends on x, has no zero entry and, for n = m, is not symmetric."""
    a, b = signed(rng, m, n) / n, uniform(rng, m, n) / n
    return Formula("x -> (a @ x).sin() + b @ x**2", lambda x: (a @ x).sin() + b @ x.square())


def steep(rng: torch.Generator, n: int, m: int) -> Function:
    """As `curved`, but large and bent: differences of its values, of whatever order, lose more than half their digits."""
    a, f = signed(rng, m, n), curved(rng, n, m)
    return Formula("x -> 1000 + (3 * a @ x).cos() + ...", lambda x: 1000 + (3 * a @ x).cos() + f(x))


def bowl(rng: torch.Generator, n: int) -> Function:
    """A function from R^n to a number whose Hessian depends on x and has no zero entry. Its slope is around 10000."""
    a, b = uniform(rng, n, n) / n, uniform(rng, n)

    def value(x: Tensor) -> Tensor:
        return 10000 * x.sum() + ((a @ x).square() * b).sum() + (3 * x * b).sin().sum() + x.prod() / 10

    return Formula("x -> 10000 * x.sum() + ((a @ x)**2 * b).sum() + ...", value)


def away_from(truth: Tensor, got: object) -> float:
    """The largest error of `got`, as a share of the largest entry of `truth`; infinite where it is no such tensor."""
    if not isinstance(got, Tensor) or got.shape != truth.shape:
        return math.inf
    error, largest = (got.detach() - truth).abs().max().item(), truth.abs().max().item()
    return error / largest if largest else math.inf if error else 0.0


_NEAR = 1e-4  # a product to which only its digits are to be objected
EXACT = 1e-12  # derivatives by the chain rule agree to 1e-15 or so; finite differences in float64 stop at 1e-11


def counted_in(unit: float, error: float) -> AtMost:
    """An error as a budget: at most one such unit."""
    share = error / unit
    return AtMost(limit=1, used=math.ceil(share) if share < 1e9 else 10**9)


TO_ROUNDING = Text(
    "The product is exact up to rounding: its error is at most 1e-12 of its largest entry (counted in units of 1e-12).",
    "Произведение точно до округления: погрешность не больше 1e-12 от наибольшего элемента (указана в единицах 1e-12).",
)


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

    calls = runs = passes = ops = largest = 0

    def __init__(self, call: Callable[[Function], object] | None = None, f: Function | None = None) -> None:
        if call is None or f is None:  # nothing is measured
            return
        counted = CountedCalls(f)
        with counting_backward_runs() as runs, counting_ops() as ops:
            call(counted.function)
        self.calls, self.runs, self.passes = counted.times, runs.times, counted.times + runs.times
        self.ops, self.largest = ops.times, ops.largest


# ------------------------------------------------------------------------------------- core: v has the output's shape


@exercise(
    title=Text("Which v, and what it gives", "Какой v и что получится"),
    kind="predict",
    core=True,
    minutes=9,
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
    ru="Похоже, вы считаете, что у `v` форма входа. На самом деле он взвешивает выходы, поэтому форма у него как у "
    "выхода.",
)
def v_like_the_input() -> dict[str, object]:
    return {"y, v = ones(2)": _ERROR, "y, v = [1, 0]": _ERROR}


@predict_vjp.mistake(
    en="It looks as if `v` was given the shape of the input. It weighs the outputs: two entries here, not three.",
    ru="Похоже, вы считаете, что у `v` форма входа. На самом деле он взвешивает выходы: элементов в нём здесь два, а "
    "не три.",
)
def ones_like_x() -> dict[str, object]:
    return {"y, v = ones(2)": _ERROR, "y, v = ones(3)": [1.0, 1.0, 3.0]}


@predict_vjp.mistake(
    en="It looks as if ones were taken to fit any output. `v` needs one entry for each output: two here.",
    ru="Похоже, вы считаете, что единицы подойдут к любому выходу. На самом деле в `v` нужен один элемент на каждый "
    "выход: здесь два.",
)
def ones_of_any_length() -> dict[str, object]:
    return {"y, v = ones(3)": [1.0, 1.0, 3.0]}


@predict_vjp.mistake(
    en="It looks as if `backward()` was taken to work for one number only. With `v` it works for an output of any shape.",
    ru="Похоже, вы считаете, что `backward()` работает только для одного числа. На самом деле с `v` он работает для "
    "выхода любой формы.",
)
def only_for_numbers() -> dict[str, object]:
    return {"y, v = ones(2)": _ERROR, "y, v = [1, 0]": _ERROR, "A x, v = [1, 10]": _ERROR}


@predict_vjp.mistake(
    en="It looks as if the matrix was multiplied by `v` from the right, `A v`. `backward` multiplies from the left: `vᵀA`.",
    ru="Похоже, что матрица умножена на `v` справа, `A v`. А `backward` умножает слева: `vᵀA`.",
)
def from_the_right() -> dict[str, object]:
    return {"A x, v = [1, 10]": [21.0, 43.0]}


@predict_vjp.mistake(
    en="It looks as if a missing `v` was taken for ones. That is so only when the output has one element.",
    ru="Похоже, вы считаете, что вместо пропущенного `v` всегда подставляются единицы. На самом деле так бывает, "
    "только когда в выходе один элемент.",
)
def ones_by_default() -> dict[str, object]:
    return {"y, no v": [1.0, 1.0, 3.0]}


@predict_vjp.mistake(
    en="It looks as if `v` picked a column of `W`. It picks and mixes rows: one row for each output.",
    ru="Похоже, вы считаете, что `v` выбирает столбец `W`. На самом деле он выбирает и смешивает строки: на каждый "
    "выход одна строка.",
)
def a_column() -> dict[str, object]:
    return {"y, v = [1, 0]": [1.0, 0.0]}


@predict_vjp.mistake(
    en="It looks as if each row of `W` was summed: that is `W` times ones. Here the rows are added up, and the result has three entries.",
    ru="Похоже, что сложены элементы внутри каждой строки `W`: это `W`, умноженная справа на вектор из единиц. А "
    "складываются сами строки, и в результате три элемента.",
)
def sums_of_rows() -> dict[str, object]:
    return {"y, v = ones(2)": [3.0, 2.0]}


@predict_vjp.mistake(
    en="It looks as if only an output without dimensions can go without `v`. Any output of one element can.",
    ru="Похоже, вы считаете, что без `v` обойдётся только выход без измерений. На самом деле достаточно, чтобы в "
    "выходе был один элемент.",
)
def shape_one_needs_v() -> dict[str, object]:
    return {"shape (1,), no v": _ERROR}


@predict_vjp.mistake(
    en="It looks as if `tensor(1.)` was taken for what `backward()` fills in. It fills in ones of the output's own shape.",
    ru="Похоже, вы считаете, что `tensor(1.)` — это то, что подставляет `backward()`. На самом деле он подставляет "
    "единицы формы самого выхода.",
)
def one_fits_all() -> dict[str, object]:
    return {"shape (1,), v = tensor(1.)": [2.0, 2.0, 2.0]}


@predict_vjp.mistake(
    en="It looks as if `v` was expected to have the output's dtype, too. Only its shape has to agree.",
    ru="Похоже, вы считаете, что у `v` должен быть и dtype выхода. На самом деле совпадать обязана только форма.",
)
def same_dtype() -> dict[str, object]:
    return {"float64 y, float32 v": _ERROR}


# ---------------------------------------------------------------------- core: the seed's two calls of backward


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
def _(rng: torch.Generator) -> Iterator[Case]:
    eye = torch.eye(5, dtype=torch.float64, requires_grad=True)  # the notebook's own
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
            en="Row i is the gradient of `y[i]`: a tensor of shape (m, n) and of the dtype of `x`.",
            ru="Строка i — градиент `y[i]`; возвращается тензор формы (m, n) с тем же dtype, что у `x`.",
        ),
        aspect(
            "grad",
            1,
            en="`x.grad` holds what it held before: the same tensor, or still `None`.",
            ru="В `x.grad` лежит то же, что и раньше: прежний тензор или по-прежнему `None`.",
        ),
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
    return {"jacobian": answer.jacobian_rows(case.y, case.x), "grad": {"x.grad": case.x.grad}}


@jacobian_rows.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for n, m, old in [(3, 2, False), (2, 4, True)]:
        x = leaf(rng, n)
        y = curved(rng, n, m)(x)
        yield Case(y=y, x=with_old_gradient(x) if old else x)


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
    en="It looks as if this is the transposed matrix: rows or columns were stacked along the other dimension.",
    ru="Похоже, что это транспонированная матрица: строки или столбцы собраны вдоль другого измерения.",
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
    ru="Похоже, что все строки — один тензор, `x.grad`, и в нём сложились результаты всех проходов.",
)
def all_rows_the_sum(y: Tensor, x: Tensor) -> Tensor:
    for output in y:
        output.backward(retain_graph=True)
    assert x.grad is not None
    return torch.stack([x.grad for _ in y])


@jacobian_rows.mistake(
    en="It looks as if each row holds the sum of all rows: `y.sum()` was differentiated, "
    "or every row is `x.grad` itself, in which all passes were added up.",
    ru="Похоже, что в каждой строке стоит сумма всех строк: продифференцирована `y.sum()` "
    "или все строки — сам `x.grad`, в котором сложились результаты всех проходов.",
)
def sum_in_every_row(y: Tensor, x: Tensor) -> Tensor:
    return torch.autograd.grad(y.sum(), x)[0].expand(len(y), -1)


@jacobian_rows.mistake(
    en="It looks as if a list of rows came back. They still have to be stacked into one tensor.",
    ru="Похоже, что вернулся список строк. Строки нужно ещё собрать в один тензор.",
)
def list_of_rows(y: Tensor, x: Tensor) -> list[Tensor]:
    return [torch.autograd.grad(output, x, retain_graph=True)[0] for output in y]


@jacobian_rows.mistake(
    en="It looks as if the rows were joined end to end: one long vector. `stack` gives them a dimension of their own.",
    ru="Похоже, что строки склеены в один длинный вектор. `stack` даёт им собственное измерение.",
)
def joined_rows(y: Tensor, x: Tensor) -> Tensor:
    return torch.cat(list_of_rows(y, x))


@jacobian_rows.mistake(
    en="It looks as if the tuples of `torch.autograd.grad` were stacked, and not the tensors in them.",
    ru="Похоже, что в тензор собираются кортежи из `torch.autograd.grad`, а не тензоры в них.",
)
def tuples_stacked(y: Tensor, x: Tensor) -> Tensor:
    rows: list[Any] = [torch.autograd.grad(output, x, retain_graph=True) for output in y]
    return torch.stack(rows)


@jacobian_rows.mistake(
    en="It looks as if the rows went into a float32 tensor, as `torch.zeros(m, n)` makes one: half of their digits are lost.",
    ru="Похоже, что строки записаны в тензор float32, какой создаёт `torch.zeros(m, n)`: половина их знаков потеряна.",
)
def in_single_rows(y: Tensor, x: Tensor) -> Tensor:
    return torch.stack(list_of_rows(y, x)).float()


@jacobian_rows.mistake(
    en="It looks as if the matrix is right, but the rows went through `x.grad`, and it was left empty.",
    ru="Похоже, что матрица верна, но строки вычислены через `x.grad`, и он остался пустым.",
)
def leaves_grad_empty(y: Tensor, x: Tensor) -> Tensor:
    x.grad = None
    return torch.stack(_rows_in_grad(y, x, _nothing, _emptied(x)))


@jacobian_rows.mistake(
    en="It looks as if the matrix is right, but the rows went through `x.grad`, and the last one stayed there.",
    ru="Похоже, что матрица верна, но строки вычислены через `x.grad`, и последняя там осталась.",
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


_SIZE = 6  # inputs and outputs of the function on which costs are counted


def neighbours(x: Tensor) -> Tensor:
    """A function from R^n to R^n that makes no tensor larger than its input, and holds no matrix."""
    return (x.roll(1) * x).tanh()


@exercise(
    title=Text("J v without J", "J v без J"),
    kind="design",
    core=True,
    minutes=8,
    rtol=_NEAR,
    aspects=[
        aspect(
            "product",
            2,
            en="What comes back is `J v`, of shape (m,) and of the dtype of `x`.",
            ru="Возвращается `J v` формы (m,) с тем же dtype, что у `x`.",
        ),
        aspect("exact", 0.5, *TO_ROUNDING),
        aspect(
            "passes",
            1,
            en="Calls of `f` and backward passes together are at most 3, whatever n and m (counted for n = m = 6).",
            ru="Вызовов `f` и обратных проходов вместе не больше 3 при любых n и m (подсчитано для n = m = 6).",
        ),
        aspect(
            "largest",
            0.5,
            en="No new tensor has more than 4·max(n, m) elements (counted for n = m = 6).",
            ru="Ни в одном новом тензоре нет больше 4·max(n, m) элементов (подсчитано для n = m = 6).",
        ),
    ],
    hints=[
        Text(
            "`backward` gives `vᵀJ`: rows. Which mode carries a direction *forward* through `f`?",
            "`backward` даёт `vᵀJ`, строки. Какой режим проводит направление *вперёд* через `f`?",
        ),
        Text(
            "Make a dual tensor of `x` and `v`, call `f`, read the tangent, all inside `dual_level()`. Or look at `torch.func`.",
            "Сделайте дуальный тензор из `x` и `v`, вызовите `f`, прочтите касательный вектор — всё внутри "
            "`dual_level()`. Или загляните в `torch.func`.",
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
    """What `product_along(f, x, v)` gives on the case, and what it costs on the function `budget` from R^6 to R^6.

    The cost is the same for every case, so it is counted only beside the one with as many outputs as inputs, and only
    for an answer that is right: the budgets wait for that.
    """
    truth: Any = functional.jvp(case.f, case.x, case.v)[1]
    watched = Watched(case.f, case.x)
    product = product_along(watched, case.x, case.v)
    with using_answer():
        error = away_from(truth, product)
    cost = Cost()
    if len(truth) == len(case.x) and error < 10 * _NEAR:
        x = torch.linspace(0, 1, _SIZE, dtype=torch.float64)
        cost = Cost(lambda counted: product_along(counted, x, x.cos()), budget)
    return {
        "product": product,
        "exact": counted_in(EXACT, error),
        "passes": AtMost(limit=3, used=cost.passes),
        "largest": AtMost(limit=4 * _SIZE, used=cost.largest),
        "many_calls": cost.calls >= _SIZE,
        "many_runs": cost.runs >= _SIZE,
        "moved": watched.moved,
    }


@jvp.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for n, m in [(4, 4), (2, 5)]:
        yield Case(f=steep(rng, n, m), x=uniform(rng, n), v=signed(rng, n))


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
    ru="Похоже, что либо не вернулось ничего, либо касательный вектор прочитан после закрытия уровня: там он равен "
    "`None`.",
)
def tangent_read_too_late(f: Function, x: Tensor, v: Tensor) -> object:
    with forward_ad.dual_level():
        y = f(forward_ad.make_dual(x, v))
    return forward_ad.unpack_dual(y).tangent


@jvp.mistake(
    en="It looks as if a level of forward mode was entered and never left: the next call finds it still open.",
    ru="Похоже, что уровень прямого режима не закрыт: при следующем вызове он всё ещё открыт.",
)
def leaves_the_level_open(f: Function, x: Tensor, v: Tensor) -> object:
    forward_ad.enter_dual_level()  # type: ignore[no-untyped-call]
    return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v))).tangent


@jvp.mistake(
    en="It looks as if the value `f(x)` came back. In a dual tensor the derivative is `unpack_dual(...).tangent`; "
    "in a pair it is the second entry.",
    ru="Похоже, что вернулось значение `f(x)`. В дуальном тензоре производная — это `unpack_dual(...).tangent`, "
    "в паре — второй элемент.",
)
def returns_the_value(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return f(x)


@jvp.mistake(
    en="It looks as if what `unpack_dual` gives came back whole, value and tangent. Only the tangent is asked for.",
    ru="Похоже, что результат `unpack_dual` вернулся целиком, значение и касательный вектор. Нужен только второй.",
)
def returns_the_unpacked(f: Function, x: Tensor, v: Tensor) -> object:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v)))


@jvp.mistake(
    en="It looks as if a dual tensor was made outside any level: `make_dual` works inside `with forward_ad.dual_level():`.",
    ru="Похоже, что дуальный тензор создан вне уровня: `make_dual` работает внутри `with forward_ad.dual_level():`.",
)
def no_level(f: Function, x: Tensor, v: Tensor) -> object:
    return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v))).tangent


@jvp.mistake(
    en="It looks as if `torch.func.jvp` was given bare tensors. It takes a tuple of inputs and a tuple of directions.",
    ru="Похоже, что в `torch.func.jvp` переданы сами тензоры. Она принимает кортеж входов и кортеж направлений.",
)
def without_tuples(f: Function, x: Tensor, v: Tensor) -> object:
    return torch.func.jvp(f, x, v)[1]


@jvp.mistake(
    en="It looks as if the change of `f` over the whole step `v` came back. The derivative is only its linear part.",
    ru="Похоже, что вернулось изменение `f` на всём шаге `v`. Производная — только его линейная часть.",
)
def one_whole_step(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return f(x + v) - f(x)


@jvp.mistake(
    en="It looks as if the whole matrix was built and multiplied by `v` from the left. In `J v` it stands on the right.",
    ru="Похоже, что построена вся матрица и умножена на `v` слева. В `J v` вектор стоит справа.",
)
def matrix_from_the_left(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return v @ functional.jacobian(f, x)  # type: ignore[no-any-return, operator]


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
    en="It looks as if what is to be differentiated has no graph. In the first call of `grad`: `x` does not require grad, "
    "take a copy that does. In the second: `create_graph=True` is missing in the first.",
    ru="Похоже, что дифференцируется тензор без графа. Если ошибка в первом вызове `grad`, `x` не требует градиента: "
    "возьмите копию, которая требует. Если во втором, то в первом не хватает `create_graph=True`.",
)
def no_graph_to_go_on(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    y = f(x)
    u = torch.zeros_like(y, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, u)
    return torch.autograd.grad(g, u, v)[0]


@jvp.mistake(
    en="It looks as if the gradient was asked for with respect to a tensor that does not require grad, "
    "say an auxiliary vector `u`.",
    ru="Похоже, что градиент берётся по тензору, который не требует градиента, например по вспомогательному вектору "
    "`u`.",
)
def untracked_cotangent(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    y = f(x)
    u = torch.ones_like(y)
    (g,) = torch.autograd.grad(y, x, u, create_graph=True)
    return torch.autograd.grad(g, u, v)[0]


def _second_by_x(f: Function, x: Tensor, v: Tensor, u: float) -> Tensor:
    x = tracked(x)
    y = f(x)
    (g,) = torch.autograd.grad(y, x, torch.full_like(y, u, requires_grad=True), create_graph=True)
    return torch.autograd.grad(g, x, v)[0]


BY_X = Text(
    "It looks as if the second call differentiates by `x`: that gives second derivatives of `f`. "
    "The first product depends on `u`, too: differentiate by `u`.",
    "Похоже, что второй вызов дифференцирует по `x`: получаются вторые производные `f`. "
    "Первое произведение зависит и от `u`: дифференцируйте по `u`.",
)


@jvp.mistake(*BY_X)
def by_x_with_zeros(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return _second_by_x(f, x, v, 0.0)


@jvp.mistake(*BY_X)
def by_x_with_ones(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return _second_by_x(f, x, v, 1.0)


@jvp.mistake(
    en="It looks as if `f` was called at other points than `x`: finite differences lose a third of the digits or more.",
    ru="Похоже, что `f` вызвана не только в точке `x`: конечные разности теряют треть знаков или больше.",
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
    en="It looks as if there are superfluous calls of `f` or backward passes: not one for each entry, but more than needed.",
    ru="Похоже, что есть лишние вызовы `f` или обратные проходы: не по одному на элемент, но больше, чем нужно.",
)
def wasted_calls(f: Function, x: Tensor, v: Tensor) -> Tensor:
    f(x)
    return functional.jvp(f, x, v)[1]  # type: ignore[no-any-return]


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


_SMALL, _LARGE = 3, 6  # sizes at which costs are counted


def chain(x: Tensor) -> Tensor:
    """A function of any number of entries that makes no tensor larger than its input."""
    return (x[1:] * x[:-1].sin()).sum()


@exercise(
    title=Text("H v without H", "H v без H"),
    kind="design",
    core=True,
    difficulty=2,
    minutes=14,
    rtol=_NEAR,
    aspects=[
        aspect(
            "product",
            2,
            en="What comes back is `H v`, of shape (n,) and of the dtype of `x`.",
            ru="Возвращается `H v` формы (n,) с тем же dtype, что у `x`.",
        ),
        aspect("exact", 0.5, *TO_ROUNDING),
        aspect(
            "passes",
            1,
            en="Calls of `f` and backward passes together are at most 4, whatever n (counted for n = 6).",
            ru="Вызовов `f` и обратных проходов вместе не больше 4 при любом n (подсчитано для n = 6).",
        ),
        aspect(
            "largest",
            1,
            en="No new tensor has more than 4n elements (counted for n = 6).",
            ru="Ни в одном новом тензоре нет больше 4n элементов (подсчитано для n = 6).",
        ),
        aspect(
            "operations",
            0.5,
            en="The number of operations does not grow with n (counted: how many more for n = 6 than for n = 3).",
            ru="Число операций не растёт с n (подсчитано, на сколько их больше для n = 6, чем для n = 3).",
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
    truth: Any = functional.hvp(case.f, case.x, case.v)[1]
    watched = Watched(case.f, case.x)
    product = answer.hvp(watched, case.x, case.v)
    with using_answer():
        error = away_from(truth, product)
    small, large = Cost(), Cost()
    if error < 10 * _NEAR:  # the budgets wait for that
        small, large = (_hvp_cost(answer.hvp, n) for n in (_SMALL, _LARGE))
    return {
        "product": product,
        "exact": counted_in(EXACT, error),
        "passes": AtMost(limit=4, used=large.passes),
        "largest": AtMost(limit=4 * _LARGE, used=large.largest),
        "operations": AtMost(limit=0, used=large.ops - small.ops),
        "many_calls": large.calls >= _LARGE,
        "many_runs": large.runs >= _LARGE,
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
    en="It looks as if what is to be differentiated has no graph. In the first call of `grad`: `x` does not require grad, "
    "take a copy that does. In the second: the gradient has none without `create_graph=True` "
    "(`retain_graph=True` only keeps the old one).",
    ru="Похоже, что дифференцируется тензор без графа. Если ошибка в первом вызове `grad`, `x` не требует градиента: "
    "возьмите копию, которая требует. Если во втором, то у градиента нет графа без `create_graph=True` "
    "(`retain_graph=True` лишь сохраняет старый).",
)
def no_graph_behind(f: Function, x: Tensor, v: Tensor) -> Tensor:
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
    en="It looks as if the gradient itself came back. It is to be multiplied by `v` and differentiated once more.",
    ru="Похоже, что вернулся сам градиент. Его нужно ещё умножить на `v` и продифференцировать.",
)
def plain_gradient(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return _gradient(f, tracked(x))


@hvp.mistake(
    en="It looks as if the gradient was multiplied by `v` entry by entry: no second derivative was taken.",
    ru="Похоже, что градиент поэлементно умножен на `v`: вторая производная не взята.",
)
def gradient_weighed(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return _gradient(f, tracked(x)) * v


@hvp.mistake(
    en="It looks as if the value `f(x)` came back. In the pair of `functional.hvp` the product is the second entry.",
    ru="Похоже, что вернулось значение `f(x)`. В паре из `functional.hvp` произведение — второй элемент.",
)
def value_of_f(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return f(x)


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
    en="It looks as if `f` was called at other points than `x`, and gradients were subtracted: "
    "a third of the digits is lost, or more.",
    ru="Похоже, что `f` вызвана не только в точке `x` и градиенты вычтены один из другого: "
    "теряется треть знаков или больше.",
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
    en="It looks as if there are superfluous calls of `f` or backward passes: not one for each entry, but more than needed.",
    ru="Похоже, что есть лишние вызовы `f` или обратные проходы: не по одному на элемент, но больше, чем нужно.",
)
def wasted_passes(f: Function, x: Tensor, v: Tensor) -> Tensor:
    f(x), f(x), f(x)
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]  # type: ignore[no-any-return]


@hvp.mistake(
    en="It looks as if the whole Hessian was built in a batched pass, as `torch.func.hessian` does: n vectors at once.",
    ru="Похоже, что вся матрица Гессе построена проходом по батчу, как в `torch.func.hessian`: сразу n векторов.",
)
def whole_hessian_batched(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return torch.func.hessian(f)(x) @ v  # type: ignore[no-any-return]


@hvp.mistake(
    en="It looks as if `g @ v` is summed entry by entry in Python: each entry adds its own operations.",
    ru="Похоже, что `g @ v` вычисляется в Python по одному элементу: каждый добавляет свои операции.",
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
        self.several = False  # was it called where two entries or more had moved?
        self.dtypes: set[torch.dtype] = set()

    def __call__(self, point: Tensor) -> Tensor:
        with torch.no_grad():
            self.dtypes.add(point.dtype)
            with suppress(Exception):  # inside vmap a tensor is many points at once
                apart = point.detach().to(self.x.dtype) - self.x
                moved = [step for step in apart.flatten().tolist() if step]
                self.steps += moved
                self.several |= len(moved) > 1
            return self.function(point.detach())

    def how(self) -> str:
        """The way of the differences, as far as it explains their error."""
        if torch.float32 in self.dtypes:
            return "float32"
        if self.several:
            return "several"
        if not self.steps or min(self.steps) > 0 or max(self.steps) < 0:
            return "one side"
        longest = max(map(abs, self.steps))
        return "too short" if longest < 3e-7 else "too long" if longest > 3e-5 else "good"


@exercise(
    title=Text("The Jacobian of a black box", "Матрица Якоби чёрного ящика"),
    kind="design",
    core=True,
    difficulty=2,
    minutes=15,
    rtol=1e-2,
    aspects=[
        aspect(
            "jacobian",
            2,
            en="Column j tells how the outputs change with `x[j]`: a float64 tensor of shape (m, n), right to 1 %.",
            ru="Столбец j показывает, как меняются выходы вместе с `x[j]`: тензор float64 формы (m, n), верный до 1 %.",
        ),
        aspect(
            "accurate",
            1.5,
            en="The largest error is at most 1e-9 of the largest entry (counted in units of 1e-9).",
            ru="Наибольшая погрешность не больше 1e-9 от наибольшего элемента (указана в единицах 1e-9).",
        ),
        aspect(
            "x",
            0.5,
            en="`x` holds what it held before, up to rounding.",
            ru="В `x` лежит то же, что и раньше, с точностью до округления.",
        ),
    ],
    hints=[
        Text(
            "Which entries of the Jacobian can you learn by moving only `x[j]`: a row or a column?",
            "Какие элементы матрицы Якоби можно узнать, сдвигая только `x[j]`: строку или столбец?",
        ),
        Text(
            "Step to both sides: the error is of the order of `h²` then, not of `h`. Then read the best step off the table above.",
            "Шагните в обе стороны: тогда погрешность порядка `h²`, а не `h`. Затем найдите лучший шаг в таблице выше.",
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
    truth = case.f.jacobian(case.x)
    box = BlackBox(case.f, case.x)
    found = answer.numerical_jacobian(box, case.x)
    with using_answer():
        accurate = counted_in(_CLOSE, away_from(truth, found))  # type: ignore[arg-type]
    return {"jacobian": found, "accurate": accurate, "x": away_from(box.x, case.x) < 1e-12, "how": box.how()}


@numerical_jacobian.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for n, m in [(3, 4), (4, 2)]:
        yield Case(f=Wave(rng, n, m), x=uniform(rng, n))


class Wave(Formula):
    """A function whose third derivatives are some ten times the first, around 10: what step is good is clear there.

    Each input changes the derivatives by its neighbours, so a step that is not taken back shows.
    """

    def __init__(self, rng: torch.Generator, n: int, m: int) -> None:
        self.a, self.b = uniform(rng, m, n), uniform(rng, m)
        super().__init__("x -> 10 + (a * (3 * x + x.roll(1)).sin()).sum(1) + b", self.value)

    def value(self, x: Tensor) -> Tensor:
        return 10 + (self.a.to(x.dtype) * (3 * x + x.roll(1)).sin()).sum(1) + self.b.to(x.dtype)

    def jacobian(self, x: Tensor) -> Tensor:
        slopes = self.a * (3 * x + x.roll(1)).cos()
        return 3 * slopes + slopes.roll(-1, 1)


def _differences(f: Function, x: Tensor, h: float, *, back: bool = True, over: float | None = None) -> Tensor:
    """Columns by differences with the step `h`: central ones or, without `back`, to one side."""
    columns = []
    for step in h * torch.eye(len(x), dtype=x.dtype):
        before = f(x - step) if back else f(x)
        columns.append((f(x + step) - before) / (over or (2 * h if back else h)))
    return torch.stack(columns, dim=1)


@numerical_jacobian.mistake(
    en="It looks as if the columns were stacked as rows: this is the transposed matrix.",
    ru="Похоже, что столбцы записаны строками: это транспонированная матрица.",
)
def columns_as_rows(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x, 1e-5).T


@numerical_jacobian.mistake(
    en="It looks as if the difference over two steps was divided by one: everything is twice as large.",
    ru="Похоже, что разность значений, отстоящих на два шага, разделена на один шаг: всё вдвое больше.",
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
    en="It looks as if all entries of `x` are moved at once for every column: all columns are the same, the sum of all.",
    ru="Похоже, что для каждого столбца сдвигаются сразу все элементы `x`: все столбцы одинаковы, каждый — сумма всех.",
)
def moves_all_each_time(f: Function, x: Tensor) -> Tensor:
    return torch.stack([moves_all_at_once(f, x) for _ in x], dim=1)


@numerical_jacobian.mistake(
    en="It looks as if the step in one entry stays when the next one is moved: each column holds the columns before it.",
    ru="Похоже, что шаг в одном элементе остаётся, когда сдвигают следующий: в каждом столбце есть все предыдущие.",
)
def step_not_reset(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x, 1e-5).cumsum(1)


TIMES_THE_STEP = Text(
    "It looks as if the difference is divided by 2 and multiplied by `h`: `/ 2 * h` is not `/ (2 * h)`.",
    "Похоже, что разность разделена на 2 и умножена на `h`: `/ 2 * h` — это не `/ (2 * h)`.",
)


@numerical_jacobian.mistake(*TIMES_THE_STEP)
def times_1e_4(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x, 1e-4) * 1e-8


@numerical_jacobian.mistake(*TIMES_THE_STEP)
def times_1e_5(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x, 1e-5) * 1e-10


@numerical_jacobian.mistake(*TIMES_THE_STEP)
def times_1e_6(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x, 1e-6) * 1e-12


@numerical_jacobian.mistake(
    en="It looks as if autograd was asked. The black box computes without a graph: there is nothing to differentiate.",
    ru="Похоже, что использован autograd. Чёрный ящик вычисляет без графа: дифференцировать там нечего.",
)
def asks_autograd(f: Function, x: Tensor) -> Tensor:
    x = tracked(x)
    return torch.stack([torch.autograd.grad(y, x, retain_graph=True)[0] for y in f(x)])


@numerical_jacobian.mistake(
    en="It looks as if the step in one entry is not taken back before the next one moves: "
    "`f` was called where two entries or more had moved.",
    ru="Похоже, что шаг в одном элементе не отменён до того, как сдвинут следующий: "
    "`f` вызвана там, где сдвинуты два элемента или больше.",
)
def drifts(f: Function, x: Tensor) -> Tensor:
    p, columns = x.clone(), []
    for j in range(len(x)):
        p[j] += 1e-5
        after = f(p)
        p[j] -= 2e-5
        columns.append((after - f(p)) / 2e-5)
    return torch.stack(columns, dim=1)


@numerical_jacobian.mistake(
    en="It looks as if the differences go to one side only. Their error shrinks like `h`, and no step makes it small enough.",
    ru="Похоже, что разности односторонние. Их погрешность убывает как `h`, и никакой шаг не сделает её достаточно "
    "малой.",
)
def one_sided(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x, 1e-8, back=False)


@numerical_jacobian.mistake(
    en="It looks as if the step is too short: the two values share most of their digits, and rounding is what is left.",
    ru="Похоже, что шаг слишком мал: у двух значений совпадают почти все знаки, и в разности остаётся погрешность "
    "округления.",
)
def too_short(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x, 1e-9)


@numerical_jacobian.mistake(
    en="It looks as if the step is too long: the error of a central difference grows like `h²`.",
    ru="Похоже, что шаг слишком велик: погрешность центральной разности растёт как `h²`.",
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
    en="It looks as if all entries are zero: either `functional.jacobian` or `torch.func` was asked, and there is no graph, "
    "or both values of `f` were taken at one point (`a = x` is not a copy).",
    ru="Похоже, что все элементы нулевые: либо матрица получена от `functional.jacobian` или `torch.func`, а графа "
    "нет, либо оба значения `f` взяты в одной точке (`a = x` — не копия).",
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
            en="Both functions take and return vectors of one length, two or more, and give the same at each call: "
            "`swapped` raises no error.",
            ru="Обе функции принимают и возвращают векторы одной длины, не меньше двух, и при каждом вызове дают одно "
            "и то же: `swapped` не вызывает ошибки.",
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
            en="In the first example every entry of `J` and of `v` is at least a thousandth of the largest one in size.",
            ru="В первом примере каждый элемент `J` и `v` по величине не меньше тысячной доли наибольшего.",
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
        why = _unfit(*hiding) or _unfit(*exposing)
        if why:
            return {"square": False, "hides": False, "full": False, "exposes": False, "why": why}
        (a, v, claimed), (b, w, claimed_too) = _matrix_and_products(*hiding), _matrix_and_products(*exposing)
        return {
            "square": True,
            "hides": away_from(v @ a, claimed) < 1e-5,
            "full": all(bool((t.abs() >= 1e-3 * t.abs().max()).all() and t.any()) for t in (a, v)),
            "exposes": away_from(w @ b, claimed_too) > 0.01,
            "why": "" if w.any() else "zero direction",
            "symmetric": torch.allclose(b, b.T),
        }


def _unfit(f: Function, x: Tensor, v: Tensor) -> str:
    """What keeps an example from being one."""
    x, v = x.detach(), v.detach()
    value = f(x)
    if not x.dim() == 1 < len(x) or not x.shape == v.shape == value.shape:
        return "shapes"
    if not torch.equal(value, f(x)):
        return "by chance"
    try:
        torch.func.jvp(f, (x,), (v,))  # what the lesson's `swapped` computes
    except Exception:
        return "raises"
    return ""


def _matrix_and_products(f: Function, x: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """J, `v`, and what `swapped` gives, all in float64."""
    x, v = x.detach(), v.detach()
    matrix: Any = functional.jacobian(f, x)
    product: Any = torch.func.jvp(f, (x,), (v,))[1]
    return matrix.double(), v.double(), product.double()


def _linear(*rows: list[float], v: tuple[float, ...] = (1.0, 10.0)) -> Example:
    matrix = torch.tensor(rows)
    return Formula("x -> M @ x", lambda x: matrix @ x), torch.ones(matrix.shape[1]), torch.tensor(v)


@expose_swap.mistake(
    en="It looks as if in one of the examples the vector has fewer than two entries, or the lengths of input, output "
    "and `v` differ: then the shape alone gives the wrong side away.",
    ru="Похоже, что в одном из примеров либо в векторе меньше двух элементов, либо длины входа, выхода и `v` "
    "различаются: тогда ошибку выдаёт уже форма.",
)
def not_square() -> tuple[Example, Example]:
    return _linear([2.0, 1.0], [1.0, 3.0]), _linear([2.0, 1.0, 0.0], [1.0, 3.0, 1.0])


@expose_swap.mistake(
    en="It looks as if `swapped` raises an error in one of the examples although the shapes fit: `f` has no forward mode "
    "or is not written for `torch.func`, or `x` and `v` differ in dtype.",
    ru="Похоже, что в одном из примеров `swapped` вызывает ошибку, хотя формы верны: у `f` нет прямого режима, "
    "она написана не для `torch.func` или у `x` и `v` разные dtype.",
)
def raises_in_swapped() -> tuple[Example, Example]:
    return _linear([2.0, 1.0], [1.0, 3.0]), (_cube, torch.ones(2), torch.tensor([1.0, 10.0]))


@expose_swap.mistake(
    en="It looks as if the two examples changed places: the first one exposes the mistake.",
    ru="Похоже, что примеры поменялись местами: ошибку выдаёт первый.",
)
def changed_places() -> tuple[Example, Example]:
    return _linear([1.0, 2.0], [3.0, 4.0]), _linear([2.0, 1.0], [1.0, 3.0])


@expose_swap.mistake(
    en="It looks as if the first example has entries of `J` or of `v` that are zero or next to nothing, "
    "as a function has that works on each entry alone.",
    ru="Похоже, что в первом примере в `J` или в `v` есть нули или ничтожно малые элементы, "
    "как у функции, действующей на каждый элемент отдельно.",
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


@expose_swap.mistake(
    en="It looks as if the second `J` is not symmetric, but the two products agree to 1 % for this `v`. "
    "Take another `v`, or a `J` further from a symmetric one.",
    ru="Похоже, что вторая `J` не симметрична, но для этого `v` два произведения совпадают с точностью до 1 %. "
    "Возьмите другой `v` или `J`, которая дальше от симметричной.",
)
def almost_the_same() -> tuple[Example, Example]:
    return _linear([2.0, 1.0], [1.0, 3.0]), _linear([2.0, 5.0], [5.01, 1.0])


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
    a, f = uniform(rng, m, n) / n, steep(rng, n, m)
    return Formula("x -> Cube.apply(a @ x) + ...", lambda x: _cube(a @ x) + f(x))


@exercise(
    title=Text("J v by backward passes alone", "J v одними обратными проходами"),
    kind="complete",
    difficulty=2,
    minutes=10,
    rtol=_NEAR,
    aspects=[
        aspect("product", 1.5, *jvp.aspects[0].says),
        aspect("exact", 0.5, *jvp.aspects[1].says),
        aspect("passes", 0.5, *jvp.aspects[2].says),
        aspect("largest", 0.5, *jvp.aspects[3].says),
    ],
    hints=[
        Text(
            "`torch.autograd.grad(y, x, u)` gives `uᵀJ`. What does it give as a function of `u`, and what is its Jacobian?",
            "`torch.autograd.grad(y, x, u)` даёт `uᵀJ`. Какая это функция от `u` и какова её матрица Якоби?",
        ),
        Text(
            "Two calls of `torch.autograd.grad`: the first with a `u` that requires grad, the second differentiates by `u`.",
            "Два вызова `torch.autograd.grad`: первый — с `u`, который требует градиента, второй дифференцирует по "
            "`u`.",
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
    "one_whole_step",
    "matrix_from_the_left",
    "gradient_times_v",
    "sum_of_the_product",
    "no_graph_to_go_on",
    "untracked_cotangent",
    "by_x_with_zeros",
    "by_x_with_ones",
    "cotangent_like_the_input",
    "finite_differences",
    "all_rows_first",
    "wasted_calls",
):
    jvp_by_backward.mistake(*jvp.mistakes[_name].says)(jvp.mistakes[_name].program)


@jvp_by_backward.mistake(
    en="It looks as if the whole pair came back, value and product. Only the product is asked for.",
    ru="Похоже, что вернулась вся пара, значение и произведение. Нужно только произведение.",
)
def returns_value_and_jvp(f: Function, x: Tensor, v: Tensor) -> object:
    return functional.jvp(f, x, v)


@jvp_by_backward.mistake(
    en="It looks as if forward mode was used on a function that has none.",
    ru="Похоже, что прямой режим применён к функции, у которой его нет.",
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
    en="It looks as if the value `f(x)` came back, and not the product.",
    ru="Похоже, что вернулось значение `f(x)`, а не произведение.",
)
def value_alone(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return f(x)


@jvp_by_backward.mistake(
    en="It looks as if the whole matrix was built in one batched pass: one pass it is, but of many vectors at once.",
    ru="Похоже, что вся матрица построена за один проход по батчу: проход один, но в нём сразу много векторов.",
)
def all_rows_in_one_pass(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    y = f(x)
    (matrix,) = torch.autograd.grad(y, x, torch.eye(len(y), dtype=y.dtype), is_grads_batched=True)
    return matrix @ v


# ------------------------------------------------------------------------------- extra: what gradcheck does not see


@exercise(
    title=Text("Where gradcheck is blind", "Чего не видит gradcheck"),
    kind="write the counter-example",
    difficulty=2,
    minutes=15,
    aspects=[
        aspect(
            "passes",
            0.5,
            en="Both points are in float64, of at most 100 entries, and `gradcheck(f, (x,))` passes.",
            ru="Обе точки в float64, в каждой не больше 100 элементов, и `gradcheck(f, (x,))` проходит.",
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
            en="At `elsewhere` the gradient from autograd is wrong by more than 1 %, or no number.",
            ru="В точке `elsewhere` градиент от autograd отличается от верного больше чем на 1 % или не является "
            "числом.",
            after=("passes", "smooth"),
        ),
    ],
    hints=[
        Text(
            "`gradcheck` calls `f` near `x`, and nowhere else. What may `f` do at other points?",
            "`gradcheck` вызывает `f` около `x` и больше нигде. Что может `f` делать в других точках?",
        ),
        Text(
            "The values of `x * x.detach()` are squares; the gradient is only half of a square's.",
            "Значения `x * x.detach()` — квадрат, а градиент — лишь половина его производной.",
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
        float64, small = x.dtype == elsewhere.dtype == torch.float64, max(x.numel(), elsewhere.numel()) <= 100
        return {
            "passes": float64 and small and gradcheck(f, (x,), raise_exception=False),
            "smooth": torch.allclose(before, after, rtol=1e-3, atol=1e-4),
            "wrong": not away_from((before + after) / 2, gradient) <= 0.01,  # NaN is wrong, too
            "float64": float64,
            "small": small,
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
    ru="Похоже, что `elsewhere` — излом или скачок. Там `gradcheck` не проходит, даже если autograd делает то, что "
    "должен.",
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
    en="It looks as if a point is in float32. Both belong in float64: in float32 `gradcheck` fails for right functions, too.",
    ru="Похоже, что точка задана в float32. Обе нужны в float64: в float32 `gradcheck` не проходит и для верных "
    "функций.",
)
def in_single_precision() -> object:
    return torch.sin, torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])


@fool_gradcheck.mistake(
    en="It looks as if `f` gives another value at each call. `gradcheck` compares repeated calls and notices.",
    ru="Похоже, что `f` при каждом вызове даёт другое значение. `gradcheck` сравнивает повторные вызовы и замечает "
    "это.",
)
def by_chance() -> object:
    return torch.nn.Dropout(), _at(*range(1, 33)), _at(*range(2, 34))


@fool_gradcheck.mistake(
    en="It looks as if autograd is right at `elsewhere`, too: nothing is there to be overlooked.",
    ru="Похоже, что и в точке `elsewhere` autograd прав: упускать там нечего.",
)
def right_everywhere() -> object:
    return torch.sin, _at(1.0, 2.0), _at(3.0, 4.0)


# ----------------------------------------------------------------------------------------- extra: tall and wide


_WIDTH = 32  # of the layer between input and output


@exercise(
    title=Text("Tall and wide Jacobians", "Высокие и широкие матрицы Якоби"),
    kind="design",
    difficulty=3,
    minutes=12,
    aspects=[
        aspect(
            "jacobian",
            1.5,
            en="What comes back is the Jacobian, of shape (m, n) and of the dtype of `x`.",
            ru="Возвращается матрица Якоби формы (m, n) с тем же dtype, что у `x`.",
        ),
        aspect(
            "exact",
            0.5,
            en="It is exact up to rounding: the error is at most 1e-12 of its largest entry (counted in units of 1e-12).",
            ru="Она точна до округления: погрешность не больше 1e-12 от наибольшего элемента (указана в единицах "
            "1e-12).",
        ),
        aspect(
            "passes",
            1,
            en="Calls of `f` and backward passes together are at most k + 3, where k is the smaller of m and n.",
            ru="Вызовов `f` и обратных проходов вместе не больше k + 3, где k — меньшее из m и n.",
        ),
        aspect(
            "largest",
            1,
            en="No new tensor has more than 64·k elements.",
            ru="Ни в одном новом тензоре нет больше 64·k элементов.",
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
    truth = case.f.jacobian(case.x)
    watched = Watched(case.f, case.x)
    found = answer.cheap_jacobian(watched, case.x)
    with using_answer():
        error = away_from(truth, found)
    cost = Cost()
    if error < 10 * _NEAR:  # the budgets wait for that
        cost = Cost(lambda counted: answer.cheap_jacobian(counted, case.x), case.f)
    m, n = truth.shape
    return {
        "jacobian": found,
        "exact": counted_in(EXACT, error),
        "passes": AtMost(limit=min(m, n) + 3, used=cost.passes),
        "largest": AtMost(limit=2 * _WIDTH * min(m, n), used=cost.largest),
        "moved": watched.moved,
        "all_rows": cost.runs >= m,
        "all_columns": cost.calls >= n,
        "twice_as_many": cost.runs >= 2 * n,
    }


@cheap_jacobian.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for n, m in [(9, 19), (9, 4), (1, 4)]:  # neither n alone nor m alone tells tall from wide
        into, out_of = signed(rng, _WIDTH, n) / n, signed(rng, m, _WIDTH) / _WIDTH
        yield Case(f=Through(into, out_of), x=uniform(rng, n))


class Through(Formula):
    """A function whose widest vector is that between the two matrices."""

    def __init__(self, into: Tensor, out_of: Tensor) -> None:
        super().__init__("x -> b @ (a @ x).tanh(), len(a @ x) = 32", lambda x: out_of @ (into @ x).tanh())
        self.into, self.out_of = into, out_of

    def jacobian(self, x: Tensor) -> Tensor:
        slopes = 1 - (self.into @ x).tanh().square()
        return self.out_of @ (slopes[:, None] * self.into)


@cheap_jacobian.mistake(
    en="It looks as if a tall matrix, too, is computed row by row, a backward pass for each output. It has fewer columns.",
    ru="Похоже, что и высокая матрица вычисляется по строкам, по обратному проходу на выход. Столбцов у неё меньше.",
)
def always_rows(f: Function, x: Tensor) -> object:
    return functional.jacobian(f, x)


@cheap_jacobian.mistake(
    en="It looks as if for a tall matrix, too, all rows are computed at once, as `jacrev` does: a batch of m vectors.",
    ru="Похоже, что и у высокой матрицы вычисляются сразу все строки, как в `jacrev`: это батч из m векторов.",
)
def always_jacrev(f: Function, x: Tensor) -> object:
    return torch.func.jacrev(f)(x)


@cheap_jacobian.mistake(
    en="It looks as if for a wide matrix, too, all columns are computed at once, as `jacfwd` does: n tangents at once.",
    ru="Похоже, что и у широкой матрицы вычисляются сразу все столбцы, как в `jacfwd`: это n касательных векторов "
    "сразу.",
)
def always_jacfwd(f: Function, x: Tensor) -> object:
    return torch.func.jacfwd(f)(x)


@cheap_jacobian.mistake(
    en="It looks as if a wide matrix, too, is computed column by column, a call of `f` for each input. It has fewer rows.",
    ru="Похоже, что и широкая матрица вычисляется по столбцам, по вызову `f` на каждый вход. Строк у неё меньше.",
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
    en="It looks as if the choice is the wrong way round: a pass for each column where rows are few, "
    "for each row where columns are few.",
    ru="Похоже, что выбор сделан наоборот: проход на каждый столбец там, где мало строк, "
    "и на каждую строку там, где мало столбцов.",
)
def loops_the_wrong_way(f: Function, x: Tensor) -> object:
    return always_rows(f, x) if len(f(x)) > len(x) else always_columns(f, x)


@cheap_jacobian.mistake(
    en="It looks as if columns are computed where they are few, but each takes two backward passes: "
    "`functional.jvp` does not use forward mode.",
    ru="Похоже, что столбцы вычисляются там, где их мало, но каждый — двумя обратными проходами: "
    "`functional.jvp` не использует прямой режим.",
)
def columns_by_two_passes(f: Function, x: Tensor) -> object:
    if len(f(x)) < len(x):
        return functional.jacobian(f, x)
    return torch.stack([functional.jvp(f, x, unit)[1] for unit in torch.eye(len(x), dtype=x.dtype)], dim=1)


@cheap_jacobian.mistake(
    en="It looks as if `f` was called at other points than `x`: finite differences lose a third of the digits or more.",
    ru="Похоже, что `f` вызвана не только в точке `x`: конечные разности теряют треть знаков или больше.",
)
def by_differences(f: Function, x: Tensor) -> Tensor:
    return _differences(f, x, 1e-5)


@cheap_jacobian.mistake(
    en="It looks as if a tall matrix comes back transposed: its columns were stacked as rows.",
    ru="Похоже, что высокая матрица возвращается транспонированной: её столбцы записаны строками.",
)
def columns_stacked_as_rows(f: Function, x: Tensor) -> object:
    return torch.func.jacrev(f)(x) if len(f(x)) < len(x) else torch.func.jacfwd(f)(x).T


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
    en="It looks as if `functional.jacobian` was taken to know the batch. "
    "It differentiates every sample with respect to every sample.",
    ru="Похоже, вы считаете, что `functional.jacobian` знает о батче. На самом деле она дифференцирует каждый пример "
    "по каждому примеру.",
)
def jacobian_knows_batches() -> dict[str, object]:
    return {"jacobian of the batch": (4, 1, 3)}


@predict_shapes.mistake(
    en="It looks as if `vmap(jacrev(f))` was taken for the Jacobian of the whole batch. It is one Jacobian for each sample.",
    ru="Похоже, вы считаете, что `vmap(jacrev(f))` — матрица Якоби всего батча. На самом деле это отдельная матрица "
    "для каждого примера.",
)
def vmap_gives_all_pairs() -> dict[str, object]:
    return {"vmap(jacrev)": (4, 1, 4, 3)}


@predict_shapes.mistake(
    en="It looks as if the gradient of a sum was expected to be summed over the batch. It has the shape of its input.",
    ru="Похоже, вы считаете, что градиент суммы складывается по батчу. На самом деле у градиента форма входа.",
)
def sum_is_summed() -> dict[str, object]:
    return {"grad of the sum": (3,)}


@predict_shapes.mistake(
    en="It looks as if all 48 numbers were taken for nonzero. Derivatives of a sample with respect to another one are zero.",
    ru="Похоже, вы считаете, что все 48 чисел отличны от нуля. На самом деле производные одного примера по другому "
    "равны нулю.",
)
def no_zeros() -> dict[str, object]:
    return {"entries that are not zero": 48}


@predict_shapes.mistake(
    en="It looks as if the zeros were counted: 36 entries are zero, the others are not.",
    ru="Похоже, что подсчитаны нули: нулю равны 36 элементов, остальные не равны.",
)
def zeros_counted() -> dict[str, object]:
    return {"entries that are not zero": 36}


@predict_shapes.mistake(
    en="It looks as if the output's dimension was left out. `row` returns a vector of one entry: it has shape (1,), not ().",
    ru="Похоже, что пропущено измерение выхода. `row` возвращает вектор из одного элемента: его форма (1,), а не ().",
)
def output_left_out() -> dict[str, object]:
    return {"vmap(jacrev)": (4, 3)}


@predict_shapes.mistake(
    en="It looks as if the output's last dimension was left out: the output of the batch has shape (4, 1), not (4,).",
    ru="Похоже, что пропущено последнее измерение выхода: у выхода для батча форма (4, 1), а не (4,).",
)
def batch_output_left_out() -> dict[str, object]:
    return {"jacobian of the batch": (4, 4, 3)}


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
    minutes=12,
    aspects=[
        aspect(
            "gradients",
            2,
            en="Row i is the gradient of the loss of sample i with respect to `w`: a tensor of shape (B, n).",
            ru="Строка i — градиент функции потерь на примере i по `w`; возвращается тензор формы (B, n).",
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
            "`torch.func.grad(loss)` дифференцирует по аргументу 0. В `in_dims` у `vmap` для общего аргумента ставят "
            "`None`.",
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
        gradients = answer.per_sample_gradients(counted.function, case.w, case.x, case.y)
    return {
        "gradients": gradients,
        "passes": AtMost(limit=3, used=counted.times + runs.times),
        "many_calls": counted.times >= len(case.x),
        "many_runs": runs.times >= len(case.x),
    }


@per_sample_gradients.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for samples, features in [(6, 3), (6, 2)]:
        yield Case(
            loss=Formula("w, x, y -> (dot(x, w).sin() - y)**2", _sample_loss),
            w=uniform(rng, features),
            x=signed(rng, samples, features),
            y=signed(rng, samples),
        )


def _sample_loss(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The loss of one sample: `x` is a row of features, `y` a number."""
    return (torch.dot(x, w).sin() - y).square()


def _all_samples(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, x, y)  # type: ignore[no-any-return]


@per_sample_gradients.mistake(
    en="It looks as if the losses were summed: one gradient came back, the sum of all rows.",
    ru="Похоже, что значения функции потерь сложены: вернулся один градиент, сумма всех строк.",
)
def sum_over_samples(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _all_samples(loss, w, x, y).sum(0)


@per_sample_gradients.mistake(
    en="It looks as if the losses were averaged: one gradient came back, the mean of all rows.",
    ru="Похоже, что значения функции потерь усреднены: вернулся один градиент, среднее всех строк.",
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
    en="It looks as if `vmap` runs over `w` as well. The weights are shared: `in_dims=(None, 0, 0)`.",
    ru="Похоже, что `vmap` перебирает и `w`. Веса общие: `in_dims=(None, 0, 0)`.",
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
    ru="Похоже, что значения функции потерь вычислены одним вызовом, но обратный проход у каждого свой.",
)
def a_pass_for_each_loss(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    w = tracked(w)
    losses = torch.func.vmap(loss, in_dims=(None, 0, 0))(w, x, y)
    return torch.stack([torch.autograd.grad(each, w, retain_graph=True)[0] for each in losses])


@per_sample_gradients.mistake(
    en="It looks as if `loss` was called with the whole batch. It takes one sample; `vmap` calls it for each.",
    ru="Похоже, что `loss` вызвана для всего батча. Она принимает один пример; для каждого её вызовет `vmap`.",
)
def loss_of_the_batch(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    w = w.expand(len(x), -1).clone().requires_grad_()
    return torch.autograd.grad(loss(w, x, y).sum(), w)[0]


@per_sample_gradients.mistake(
    en="It looks as if the losses were summed, and the one gradient of the sum was put into every row.",
    ru="Похоже, что значения функции потерь сложены и единственный градиент суммы поставлен в каждую строку.",
)
def sum_in_every_sample(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _all_samples(loss, w, x, y).sum(0).expand(len(x), -1)


@per_sample_gradients.mistake(
    en="It looks as if the losses were averaged, and the one gradient of the mean was put into every row.",
    ru="Похоже, что значения функции потерь усреднены и единственный градиент среднего поставлен в каждую строку.",
)
def mean_in_every_sample(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _all_samples(loss, w, x, y).mean(0).expand(len(x), -1)


@per_sample_gradients.mistake(
    en="It looks as if the matrix is transposed: the gradient of a sample is a row.",
    ru="Похоже, что матрица транспонирована: градиент по отдельному примеру — это строка.",
)
def samples_as_columns(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return _all_samples(loss, w, x, y).T


@per_sample_gradients.mistake(
    en="It looks as if there is one backward pass, but a call of `loss` for each sample before it.",
    ru="Похоже, что обратный проход один, но перед ним `loss` вызвана для каждого примера.",
)
def calls_one_by_one(loss: Callable[..., Tensor], w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    w = tracked(w)
    losses = torch.stack([loss(w, a, b) for a, b in zip(x, y)])
    return torch.autograd.grad(losses, w, torch.eye(len(x), dtype=w.dtype), is_grads_batched=True)[0]
