"""Core exercise: a function that decides without looking at a number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import graph_nodes

from .common import unmarked

_NO_COND = "torch.cond, a prototype, is not accepted here: choose by operations on tensors"


@exercise(
    title=Text("A graph in two pieces", "Граф из двух частей"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=10,
    rtol=1e-5,
    aspects=[
        aspect(
            "value",
            1,
            en="The value is that of the given function.",
            ru="Значение такое же, как у исходной функции.",
        ),
        aspect(
            "gradient",
            1,
            en="The gradient is that of the given function, also for a vector of zeros.",
            ru="Градиент такой же, как у исходной функции, в том числе для нулевого вектора.",
        ),
        aspect(
            "no_numbers",
            2,
            en="The function looks at no number, and runs on fake tensors, which have none.",
            ru="Функция не читает чисел и выполняется на фиктивных тензорах, в которых их нет.",
            after=("value",),
        ),
    ],
    hints=[
        Text(
            "`if` needs a number now. Which operations choose between two numbers without Python?",
            "Инструкции `if` число нужно сразу. Какие операции выбирают между двумя числами без участия Python?",
        ),
        Text(
            "`torch.where` computes both branches, and at a norm of 0 one of them is $\\infty$: its gradient times 0 is NaN "
            "(lesson 02). Choose the norm first, then divide.",
            "Операция `torch.where` вычисляет обе ветви, а при норме 0 одна из них равна $\\infty$: её градиент, умноженный на 0, "
            "даёт NaN (урок 02). Сначала выберите норму, потом делите.",
        ),
        Text(
            "return x * (limit / x.norm().clamp(min=...))",
            "return x * (limit / x.norm().clamp(min=...))",
        ),
    ],
)
def one_graph(answer: Any, case: Case) -> dict[str, object]:
    x = case.x.clone().requires_grad_()
    with using_answer(), _NumbersRead() as numbers:  # type: ignore[no-untyped-call]
        y = answer.one_graph(x, case.limit)
    with using_answer():
        if any("CondAutograd" in node.name() for node in graph_nodes(y)):  # it cannot be differentiated in the sandbox
            raise TypeError(_NO_COND)
        (gradient,) = torch.autograd.grad((y * case.v).sum(), x, allow_unused=True)
    no_numbers = {"numbers read": numbers.any, "runs on fake": _runs_without_numbers(answer.one_graph, case)}
    return {"value": y, "gradient": gradient, "no_numbers": no_numbers}


class _NumbersRead(TorchDispatchMode):
    """A mode that notes whether a number of a tensor was read."""

    any = False
    supports_higher_order_operators = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if isinstance(func, HigherOrderOperator):
            raise TypeError(_NO_COND)
        self.any = self.any or func.overloadpacket in (torch.ops.aten._local_scalar_dense, torch.ops.aten.equal)
        return func(*args, **(kwargs or {}))


def _runs_without_numbers(function: Any, case: Case) -> bool:
    """Return whether the learner's function runs on a fake tensor. It has run on a real one already."""
    with FakeTensorMode() as mode:
        try:
            unmarked(function)(mode.from_tensor(case.x).requires_grad_(), case.limit)
        except Exception:
            return False
    return True


@one_graph.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def case(x: Tensor, limit: float) -> Case:
        return Case(x=x, limit=limit, v=signed(rng, *x.shape))

    long = signed(rng, 2, 3)
    yield case(long, long.norm().item() / 3)
    short = signed(rng, 4)
    yield case(short, short.norm().item() * 2)
    yield case(torch.zeros(3, dtype=torch.float64), 0.4)
    yield case(signed(rng, 3).float() * 1e-8, 2.5e-9)
    yield case(signed(rng), 4.0)


def _original(x: Tensor, limit: float) -> Tensor:
    norm = x.norm()
    if norm > limit:
        x = x * (limit / norm)
    return x


@one_graph.mistake(
    en="For a vector of zeros the gradient is NaN. Something infinite, such as `limit / norm` or the derivative of a root at "
    "0, is computed even where `where` or `clamp` does not choose it.",
    ru="Для нулевого вектора градиент равен NaN. Где-то получается бесконечность (`limit / norm` или производная корня в "
    "нуле): она вычисляется, даже если `where` или `clamp` это значение не выбирает.",
)
def where_at_the_end(x: Tensor, limit: float) -> Tensor:
    norm = x.norm()
    return torch.where(norm > limit, x * (limit / norm), x)


@one_graph.mistake(
    en="The function still looks at a number: `if`, `bool()`, `.item()` and `float()` all wait for the value.",
    ru="Функция всё ещё смотрит на число: `if`, `bool()`, `.item()` и `float()` ждут готового значения.",
)
def still_branches(x: Tensor, limit: float) -> Tensor:
    return x * (limit / x.norm()) if bool(x.norm() > limit) else x


@one_graph.mistake(
    en="The norm became a Python number, by `.item()` or `float()`: the gradient does not pass through it, and the graph breaks as well.",
    ru="Норма превращена в число Python, вызовом `.item()` или `float()`: градиент через неё не проходит, да и граф по-прежнему "
    "разрывается.",
)
def norm_as_number(x: Tensor, limit: float) -> Tensor:
    return x * min(1.0, limit / max(x.norm().item(), 1e-300))  # type: ignore[no-any-return]


@one_graph.mistake(
    en="The norm is detached. The value is right, and the gradient lacks the part that goes through the norm.",
    ru="Норма отсоединена от графа. Значение верно, а в градиенте нет слагаемого, которое идёт через норму.",
)
def detached_norm(x: Tensor, limit: float) -> Tensor:
    return x * (limit / x.detach().norm().clamp(min=limit))  # type: ignore[no-any-return]


@one_graph.mistake(
    en="Every vector is scaled to the limit, the short ones as well.",
    ru="До предела растянут любой вектор, в том числе короткий.",
)
def scales_always(x: Tensor, limit: float) -> Tensor:
    return x * (limit / x.norm().clamp(min=1e-12))  # type: ignore[no-any-return]


@one_graph.mistake(
    en="Every vector is divided by its norm, the short ones as well. For a vector of zeros this is 0 divided by 0.",
    ru="На свою норму делится любой вектор, в том числе короткий. Для нулевого вектора это 0, делённый на 0.",
)
def divides_always(x: Tensor, limit: float) -> Tensor:
    return x * (limit / x.norm())  # type: ignore[no-any-return]


@one_graph.mistake(
    en="For a vector of zeros even the value is NaN: 0 is divided by 0, or something infinite is multiplied by 0.",
    ru="Для нулевого вектора NaN получается даже в значении: 0 делится на 0 или бесконечность умножается на 0.",
)
def multiplies_by_the_condition(x: Tensor, limit: float) -> Tensor:
    norm = x.norm()
    long = (norm > limit).to(x.dtype)
    return x * (long * limit / norm + (1 - long))  # type: ignore[no-any-return]


@one_graph.mistake(
    en="The norm is taken for each row. It is that of the whole tensor.",
    ru="Норма взята по каждой строке, а нужна норма всего тензора.",
)
def norm_of_rows(x: Tensor, limit: float) -> Tensor:
    return x * (limit / x.norm(dim=-1, keepdim=True).clamp(min=limit))  # type: ignore[no-any-return]


@one_graph.mistake(
    en="The norm is taken for each column. It is that of the whole tensor.",
    ru="Норма взята по каждому столбцу, а нужна норма всего тензора.",
)
def norm_of_columns(x: Tensor, limit: float) -> Tensor:
    return x * (limit / x.norm(dim=0, keepdim=True).clamp(min=limit))  # type: ignore[no-any-return]


@one_graph.mistake(
    en="Something small is added to the norm. For a small tensor it is not small, and the value is another.",
    ru="К норме прибавлено малое число. Для малого тензора оно уже не мало, и значение получается другим.",
)
def adds_to_the_norm(x: Tensor, limit: float) -> Tensor:
    return x * (limit / (x.norm() + 1e-6)).clamp(max=1)  # type: ignore[no-any-return]


@one_graph.mistake(
    en="On an ordinary tensor a number is still read. Only on a fake one the function goes another way.",
    ru="На обычном тензоре число по-прежнему читается. По-другому функция работает только на фиктивном.",
)
def reads_if_it_can(x: Tensor, limit: float) -> Tensor:
    try:
        return still_branches(x, limit)  # type: ignore[no-any-return]
    except Exception:
        return x * (limit / x.norm().clamp(min=limit))  # type: ignore[no-any-return]


@one_graph.mistake(
    en="`x` is changed in place. The function should return a new tensor.",
    ru="Тензор `x` изменён на месте, а функция должна возвращать новый.",
)
def changes_x(x: Tensor, limit: float) -> Tensor:
    return x.mul_(limit / x.detach().norm().clamp(min=limit))


@one_graph.mistake(
    en="The result is always float32. It should have the dtype of `x`.",
    ru="Результат всегда имеет dtype float32, а нужен dtype тензора `x`.",
)
def returns_float32(x: Tensor, limit: float) -> Tensor:
    return (x * (limit / x.norm().clamp(min=limit))).float()  # type: ignore[no-any-return]


@one_graph.mistake(
    en="The largest magnitude is taken for the norm. The norm is the root of the sum of squares.",
    ru="За норму принят наибольший модуль, а норма — это корень из суммы квадратов.",
)
def takes_the_maximum(x: Tensor, limit: float) -> Tensor:
    return x * (limit / x.abs().max().clamp(min=limit))


@one_graph.mistake(
    en="The sum of the magnitudes is taken for the norm. The norm is the root of the sum of squares.",
    ru="За норму принята сумма модулей, а норма — это корень из суммы квадратов.",
)
def sums_magnitudes(x: Tensor, limit: float) -> Tensor:
    return x * (limit / x.abs().sum().clamp(min=limit))


@one_graph.mistake(
    en="A long vector gets the norm 1. It should get the norm `limit`.",
    ru="Длинный вектор получает норму 1, а должен получить норму `limit`.",
)
def scales_to_one(x: Tensor, limit: float) -> Tensor:
    return x / x.norm().clamp(min=limit)  # type: ignore[no-any-return]


@one_graph.mistake(
    en="The norm is compared with 1. It should be compared with `limit`.",
    ru="Норма сравнивается с единицей, а нужно сравнивать её с `limit`.",
)
def compares_with_one(x: Tensor, limit: float) -> Tensor:
    return x * limit / x.norm().clamp(min=1)  # type: ignore[no-any-return]


@one_graph.mistake(
    en="Each entry is clamped on its own. The limit is one for the norm of the whole tensor.",
    ru="Каждый элемент ограничен отдельно, а предел относится к норме всего тензора.",
)
def clamps_entries(x: Tensor, limit: float) -> Tensor:
    return x.clamp(-limit, limit)


@one_graph.mistake(
    en="The limit is on the wrong side: long vectors stay, and short ones change.",
    ru="Сравнение перевёрнуто: длинные векторы остаются, а короткие меняются.",
)
def clamps_the_wrong_side(x: Tensor, limit: float) -> Tensor:
    return x * (limit / x.norm().clamp(min=1e-12, max=limit))  # type: ignore[no-any-return]


@one_graph.mistake(
    en="For a vector of zeros the factor is not 1: another number was put in place of the norm 0, and `limit` was divided "
    "by that number.",
    ru="Для нулевого вектора множитель не равен 1: вместо нулевой нормы подставлено другое число, и `limit` делится на это "
    "число.",
)
def divides_by_one_at_zero(x: Tensor, limit: float) -> Tensor:
    norm = x.norm()
    return x * (limit / torch.where(norm == 0, 1.0, norm)).clamp(max=1)


@one_graph.mistake(
    en="Something small is added under the root. For a small tensor it is not small, and the value is another.",
    ru="Под корнем прибавлено малое число. Для малого тензора оно уже не мало, и значение получается другим.",
)
def adds_under_the_root(x: Tensor, limit: float) -> Tensor:
    return x * (limit / (x.square().sum() + 1e-12).sqrt().clamp(min=limit))


@one_graph.mistake(
    en="The choice was made by `torch.cond`. Here it is to be made by operations on tensors.",
    ru="Выбор сделан с помощью `torch.cond`. Здесь его нужно сделать операциями над тензорами.",
)
def uses_cond(x: Tensor, limit: float) -> Any:
    return torch.cond(x.norm() > limit, lambda x: x * (limit / x.norm()), lambda x: x.clone(), (x,))
