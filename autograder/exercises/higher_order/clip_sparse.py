"""Extra exercise: clip sparse gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import PEAK
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import live_bytes

Parameters = list[Any]
_ROWS = 150  # of the table


@exercise(
    title=Text("Clipping sparse gradients", "Отсечение разреженных градиентов"),
    kind="design",
    difficulty=2,
    minutes=12,
    rtol=1e-4,
    aspects=[
        aspect(
            "norm",
            1,
            en="The length of all gradients together, before clipping, is returned.",
            ru="Возвращается длина всех градиентов вместе, до отсечения.",
        ),
        aspect(
            "gradients",
            1,
            en="Gradients are shortened together to `max_norm`, or left as they are if they are not longer.",
            ru="Градиенты вместе укорочены до `max_norm` или, если они не длиннее, оставлены прежними.",
        ),
        aspect(
            "layout",
            0.5,
            en="A sparse gradient stays sparse, a dense one dense, None stays None.",
            ru="Разреженный градиент остаётся разреженным, плотный — плотным, None остаётся None.",
        ),
        aspect(
            "peak",
            0.5,
            en="Less memory is used than half of a dense gradient of the table.",
            ru="Памяти нужно меньше, чем занимает половина плотного градиента таблицы.",
            measured=PEAK,
        ),
    ],
    hints=[
        Text(
            "An index that came twice has two rows in the gradient. Is the length of their sum that of the two rows?",
            "У индекса, который встретился дважды, в градиенте две строки. Равна ли длина их суммы длине этих двух "
            "строк?",
        ),
        Text(
            "`coalesce()` merges the rows, `values()` gives them as a dense tensor of the stored rows alone. A sparse "
            "tensor can be multiplied by a number.",
            "`coalesce()` объединяет строки, а `values()` даёт их плотным тензором, где только хранимые строки. "
            "Разреженный тензор можно умножить на число.",
        ),
        Text(
            "stored = [g.coalesce().values() if g.is_sparse else g for g in ...]\n"
            "norm = torch.stack([values.norm() for values in stored]).norm()\n"
            "if norm > max_norm:\n    ...",
            "stored = [g.coalesce().values() if g.is_sparse else g for g in ...]\n"
            "norm = torch.stack([values.norm() for values in stored]).norm()\n"
            "if norm > max_norm:\n    ...",
        ),
    ],
)
def clip_sparse(answer: Any, case: Case) -> dict[str, object]:
    table = case.parameters[0]
    with live_bytes() as live:
        norm = answer.clip_sparse(case.parameters, case.max_norm)
        peak = live.peak
    with using_answer():
        length = norm if norm is None else float(norm)
    gradients = [p.grad for p in case.parameters]
    return {
        "norm": length,
        "gradients": gradients,
        "layout": ["None" if g is None else "sparse" if g.is_sparse else "dense" for g in gradients],
        "peak": AtMost(limit=table.nbytes // 2, used=peak),
    }


@clip_sparse.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for factor in (0.05, 3.0):
        table = torch.nn.Embedding(_ROWS, 3, sparse=True, dtype=torch.float64)
        dense = torch.nn.Parameter(signed(rng, 4))
        unused = torch.nn.Parameter(signed(rng, 2))
        ids = torch.randint(0, _ROWS, (4,), generator=rng)
        rows = table(torch.cat([ids, ids[:2], ids[:1]]))
        weights = signed(rng, 7, 3).abs()  # of one sign, so that rows of the same index do not cancel
        ((rows * weights).sum() + (dense * signed(rng, 4)).sum()).backward()
        parameters: Parameters = [table.weight, dense, unused]
        yield Case(parameters=parameters, max_norm=factor * float(_length(parameters)))


def _stored(parameter: torch.nn.Parameter) -> Tensor:
    g = parameter.grad
    assert g is not None
    return g.coalesce().values() if g.is_sparse else g


def _with_gradient(parameters: Parameters) -> Parameters:
    return [p for p in parameters if p.grad is not None]


def _length(parameters: Parameters) -> Any:
    return torch.stack([_stored(p).norm() for p in _with_gradient(parameters)]).norm()


def _scale(parameters: Parameters, factor: Any) -> None:
    for p in _with_gradient(parameters):
        assert p.grad is not None
        p.grad.mul_(factor)


@clip_sparse.mistake(
    en="The length was taken over the stored rows as they are. Rows of the same index have to be added first: "
    "`coalesce()`.",
    ru="Длина взята по хранимым строкам как есть. Сначала нужно сложить строки с одинаковым индексом: `coalesce()`.",
)
def rows_not_merged(parameters: Parameters, max_norm: float) -> Any:
    stored = [p.grad._values() if p.grad.is_sparse else p.grad for p in _with_gradient(parameters)]  # type: ignore
    norm = torch.stack([values.norm() for values in stored]).norm()
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm


@clip_sparse.mistake(
    en="torch's own `clip_grad_norm_` was called. Its norm is not implemented for sparse tensors.",
    ru="Вызвана готовая `clip_grad_norm_`. Её норма для разреженных тензоров не реализована.",
)
def torchs_own(parameters: Parameters, max_norm: float) -> Tensor:
    return torch.nn.utils.clip_grad_norm_(parameters, max_norm)


@clip_sparse.mistake(
    en="A parameter without a gradient has None in `.grad`. It takes no part.",
    ru="У параметра без градиента в `.grad` лежит None. Его нужно пропускать.",
)
def trips_over_none(parameters: Parameters, max_norm: float) -> Any:
    return torch.stack([p.grad.coalesce().values().norm() if p.grad.is_sparse else p.grad.norm() for p in parameters])  # type: ignore


@clip_sparse.mistake(
    en="The gradients were made dense: the result has the right numbers and the size of the whole table.",
    ru="Градиенты превращены в плотные: числа верны, но размер — как у всей таблицы.",
)
def makes_them_dense(parameters: Parameters, max_norm: float) -> Tensor:
    for p in _with_gradient(parameters):
        assert p.grad is not None
        p.grad = p.grad.to_dense() if p.grad.is_sparse else p.grad
    return torch.nn.utils.clip_grad_norm_(parameters, max_norm)


@clip_sparse.mistake(
    en="The gradients stay sparse, but a dense one was made on the way, as large as the table.",
    ru="Градиенты остались разреженными, но по пути создан плотный тензор размером со всю таблицу.",
)
def dense_on_the_way(parameters: Parameters, max_norm: float) -> Any:
    norm = torch.stack([p.grad.to_dense().norm() for p in _with_gradient(parameters)]).norm()  # type: ignore
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm


@clip_sparse.mistake(
    en="Each gradient was clipped on its own. The length is that of all together, and all are multiplied by one number.",
    ru="Каждый градиент отсечён отдельно. Нужна общая длина, и все градиенты умножаются на одно число.",
)
def each_on_its_own(parameters: Parameters, max_norm: float) -> Any:
    norm = _length(parameters)
    for p in _with_gradient(parameters):
        _scale([p], (max_norm / _stored(p).norm()).clamp(max=1))
    return norm


@clip_sparse.mistake(
    en="Short gradients were made longer: they are multiplied even if their length is below `max_norm`.",
    ru="Короткие градиенты удлинены: они умножаются и тогда, когда длина меньше `max_norm`.",
)
def lengthens_the_short(parameters: Parameters, max_norm: float) -> Any:
    norm = _length(parameters)
    _scale(parameters, max_norm / norm)
    return norm


@clip_sparse.mistake(
    en="Only the sparse gradients were shortened, the dense ones stayed.",
    ru="Укорочены только разреженные градиенты, а плотные остались прежними.",
)
def shortens_the_sparse_alone(parameters: Parameters, max_norm: float) -> Any:
    norm = _length(parameters)
    _scale([p for p in _with_gradient(parameters) if p.grad.is_sparse], (max_norm / norm).clamp(max=1))  # type: ignore
    return norm


@clip_sparse.mistake(
    en="The lengths of the gradients were added. The length of all together is the root of the sum of their squares.",
    ru="Длины градиентов сложены. Общая длина — корень из суммы их квадратов.",
)
def adds_the_lengths(parameters: Parameters, max_norm: float) -> Any:
    norm = torch.stack([_stored(p).norm() for p in _with_gradient(parameters)]).sum()
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm


@clip_sparse.mistake(
    en="Nothing was returned: `return` is missing.",
    ru="Функция ничего не возвращает: забыт `return`.",
)
def returns_nothing(parameters: Parameters, max_norm: float) -> None:
    _scale(parameters, (max_norm / _length(parameters)).clamp(max=1))


@clip_sparse.mistake(
    en="The sparse gradient was left as it is, and only the dense one shortened. If rows repeat, `coalesce()` returns a "
    "new tensor.",
    ru="Разреженный градиент остался прежним, укорочен только плотный. Если строки повторяются, метод `coalesce()` "
    "возвращает новый тензор.",
)
def shortens_the_dense_alone(parameters: Parameters, max_norm: float) -> Any:
    norm = _length(parameters)
    _scale([p for p in _with_gradient(parameters) if not p.grad.is_sparse], (max_norm / norm).clamp(max=1))  # type: ignore
    return norm


@clip_sparse.mistake(
    en="The sparse gradient was multiplied by the factor twice.",
    ru="Разреженный градиент умножен на множитель дважды.",
)
def shortens_the_sparse_twice(parameters: Parameters, max_norm: float) -> Any:
    norm = _length(parameters)
    for p in _with_gradient(parameters):
        factor = (max_norm / norm).clamp(max=1)
        _scale([p], factor**2 if p.grad.is_sparse else factor)  # type: ignore[union-attr]
    return norm


@clip_sparse.mistake(
    en="The length is that of the sparse gradient alone. The dense ones belong to it.",
    ru="Взята длина одного разреженного градиента. Плотные тоже входят в общую длину.",
)
def measures_the_sparse_alone(parameters: Parameters, max_norm: float) -> Any:
    norm = _length([p for p in _with_gradient(parameters) if p.grad.is_sparse])  # type: ignore[union-attr]
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm


@clip_sparse.mistake(
    en="The length after clipping was returned. Asked for is the one before it.",
    ru="Возвращена длина после отсечения, а нужна длина до него.",
)
def returns_the_clipped_length(parameters: Parameters, max_norm: float) -> Any:
    norm = _length(parameters)
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm.clamp(max=max_norm)


@clip_sparse.mistake(
    en="The square of the length was returned: the root is missing.",
    ru="Возвращён квадрат длины: не извлечён корень.",
)
def returns_the_square(parameters: Parameters, max_norm: float) -> Any:
    square = _length(parameters) ** 2
    _scale(parameters, (max_norm / square).clamp(max=1))
    return square


@clip_sparse.mistake(
    en="Each entry was limited to `max_norm`. The gradients are multiplied by one number, so that their direction stays.",
    ru="Каждый элемент ограничен числом `max_norm`. Градиенты нужно умножать на одно и то же число, чтобы направление не менялось.",
)
def limits_the_entries(parameters: Parameters, max_norm: float) -> Any:
    norm = _length(parameters)
    for p in _with_gradient(parameters):
        if p.grad.is_sparse:  # type: ignore[union-attr]
            p.grad = p.grad.coalesce()  # type: ignore[union-attr]
        _stored(p).clamp_(-max_norm, max_norm)
    return norm
