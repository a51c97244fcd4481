"""The mistakes in `clip_sparse`, as programs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .clip_sparse import Parameters, _length, _stored, _with_gradient, clip_sparse


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


@clip_sparse.mistake(*clip_sparse.mistakes["makes_them_dense"].says)
def makes_the_long_dense(parameters: Parameters, max_norm: float) -> Any:
    norm = _length(parameters)
    if norm > max_norm:
        for p in _with_gradient(parameters):
            p.grad = p.grad.to_dense() * (max_norm / norm)
    return norm


@clip_sparse.mistake(
    en="The length is the largest magnitude of an entry. Asked for is the root of the sum of squares.",
    ru="Вместо длины взят наибольший модуль элемента, а нужен корень из суммы квадратов.",
)
def takes_the_largest(parameters: Parameters, max_norm: float) -> Any:
    norm = torch.stack([_stored(p).abs().max() for p in _with_gradient(parameters)]).max()
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm


@clip_sparse.mistake(
    en="The magnitudes of the entries were added. Asked for is the root of the sum of squares.",
    ru="Сложены модули элементов, а нужен корень из суммы квадратов.",
)
def adds_the_magnitudes(parameters: Parameters, max_norm: float) -> Any:
    norm = torch.stack([_stored(p).abs().sum() for p in _with_gradient(parameters)]).sum()
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm


@clip_sparse.mistake(
    en="The factor is upside down: the gradients were multiplied by the length divided by `max_norm`.",
    ru="Множитель перевёрнут: градиенты умножены на длину, делённую на `max_norm`.",
)
def turns_the_factor(parameters: Parameters, max_norm: float) -> Any:
    norm = _length(parameters)
    if norm > max_norm:
        _scale(parameters, norm / max_norm)
    return norm


@clip_sparse.mistake(
    en="The gradients were shortened to the length 1, not to `max_norm`.",
    ru="Градиенты укорочены до длины 1, а не до `max_norm`.",
)
def shortens_to_one(parameters: Parameters, max_norm: float) -> Any:
    norm = _length(parameters)
    if norm > max_norm:
        _scale(parameters, 1 / norm)
    return norm


@clip_sparse.mistake(
    en="The length is right, but the gradients are as before: nothing was put into `.grad`.",
    ru="Длина верна, но градиенты остались прежними: в `.grad` ничего не записано.",
)
def leaves_them_long(parameters: Parameters, max_norm: float) -> Any:
    return _length(parameters)


@clip_sparse.mistake(
    en="A parameter without a gradient got one of zeros. None had to stay None.",
    ru="Параметр без градиента получил градиент из нулей. А None должно было остаться None.",
)
def zeros_for_none(parameters: Parameters, max_norm: float) -> Any:
    norm = _length(parameters)
    _scale(parameters, (max_norm / norm).clamp(max=1))
    for p in parameters:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
    return norm


@clip_sparse.mistake(
    en="A dense gradient was made sparse. A dense one stays dense.",
    ru="Плотный градиент стал разреженным. А он должен остаться плотным.",
)
def makes_them_sparse(parameters: Parameters, max_norm: float) -> Any:
    norm = _length(parameters)
    _scale(parameters, (max_norm / norm).clamp(max=1))
    for p in _with_gradient(parameters):
        p.grad = p.grad if p.grad.is_sparse else p.grad.to_sparse()
    return norm
