"""Mistakes of `one_graph`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .one_graph import one_graph


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
    en="In the denominator something small is added under the root, or bounds the norm from below. For a small tensor it is "
    "not small, and the value is another.",
    ru="В знаменателе под корнем прибавлено малое число или норма ограничена им снизу. Для малого тензора оно уже не мало, и "
    "значение получается другим.",
)
def adds_under_the_root(x: Tensor, limit: float) -> Tensor:
    return x * (limit / (x.square().sum() + 1e-12).sqrt().clamp(min=limit))


@one_graph.mistake(
    en="The choice was made by `torch.cond`. Here it is to be made by operations on tensors.",
    ru="Выбор сделан с помощью `torch.cond`. Здесь его нужно сделать операциями над тензорами.",
)
def uses_cond(x: Tensor, limit: float) -> Any:
    return torch.cond(x.norm() > limit, lambda x: x * (limit / x.norm()), lambda x: x.clone(), (x,))


@one_graph.mistake(*one_graph.mistakes["adds_to_the_norm"].says)
def adds_less_to_the_norm(x: Tensor, limit: float) -> Tensor:
    return x * (limit / (x.norm() + 1e-8)).clamp(max=1)  # type: ignore[no-any-return]


@one_graph.mistake(*one_graph.mistakes["adds_to_the_norm"].says)
def adds_little_to_the_norm(x: Tensor, limit: float) -> Tensor:
    return x * (limit / (x.norm() + 1e-12)).clamp(max=1)  # type: ignore[no-any-return]


@one_graph.mistake(
    en="`torch.renorm` adds something small to the norm, 1e-7. For a small tensor it is not small, and the value is another.",
    ru="Функция `torch.renorm` прибавляет к норме малое число, 1e-7. Для малого тензора оно уже не мало, и значение получается "
    "другим.",
)
def uses_renorm(x: Tensor, limit: float) -> Tensor:
    return torch.renorm(x.reshape(1, -1), 2, 0, limit).reshape(x.shape)


@one_graph.mistake(*one_graph.mistakes["adds_under_the_root"].says)
def bounds_the_norm(x: Tensor, limit: float) -> Tensor:
    norm = x.norm()
    return torch.where(norm > limit, x * (limit / norm.clamp(min=1e-8)), x)


@one_graph.mistake(
    en="The factor of a long vector is the square of `limit / norm`: the root of the sum of squares was not taken.",
    ru="Множитель длинного вектора — квадрат отношения `limit / norm`: из суммы квадратов не извлечён корень.",
)
def squares_the_factor(x: Tensor, limit: float) -> Tensor:
    return x * (limit**2 / x.square().sum().clamp(min=limit**2))


@one_graph.mistake(
    en="The result has one dimension. It should have the shape of `x`.",
    ru="У результата одно измерение, а форма должна быть как у `x`.",
)
def flattens(x: Tensor, limit: float) -> Tensor:
    flat = x.reshape(-1)
    return flat * (limit / flat.norm().clamp(min=limit))  # type: ignore[no-any-return]


@one_graph.mistake(
    en="`x` itself is changed in place, without recording, and returned. The gradient knows nothing of the factor.",
    ru="Сам `x` изменён на месте, без записи, и возвращён. В градиенте множителя нет.",
)
def changes_x_unrecorded(x: Tensor, limit: float) -> Tensor:
    with torch.no_grad():
        return x.mul_(limit / x.norm().clamp(min=limit))
