"""The mistakes in `fix_vmap`, as programs."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.language import Text

from .fix_vmap import fix_vmap


def _limited(total: Tensor) -> Tensor:
    return torch.where(total > 2, 2 + (total - 2) / 10, total)


def _safe_roots(r: Tensor) -> Tensor:
    return torch.where(r > 0, torch.where(r > 0, r, 1.0).sqrt(), r)


@fix_vmap.mistake(
    en="`torch.where` chooses between values, and the values are right. In backward the root that was not chosen "
    "contributes $0 \\cdot \\infty$ or $0 \\cdot$ NaN: give it a harmless number to work on.",
    ru="Функция `torch.where` выбирает из готовых значений, и сами значения верны. Но в обратном проходе невыбранный "
    "корень даёт $0 \\cdot \\infty$ или $0 \\cdot$ NaN: подставьте под него безобидное число.",
)
def roots_of_everything(w: Tensor, x: Tensor) -> Tensor:
    r = w * x
    return _limited(torch.where(r > 0, r.sqrt(), r).sum())


@fix_vmap.mistake(
    en="Negative entries are right, but at $r_i = 0$ a root of 0 is still computed. It is not chosen, but its derivative "
    "is infinite, and $0 \\cdot \\infty$ is NaN.",
    ru="С отрицательными элементами всё верно, но при $r_i = 0$ по-прежнему вычисляется корень из нуля. Он не выбран, но "
    "его производная бесконечна, а $0 \\cdot \\infty$ — это NaN.",
)
def roots_of_magnitudes(w: Tensor, x: Tensor) -> Tensor:
    r = w * x
    return _limited(torch.where(r > 0, r.abs().sqrt(), r).sum())


@fix_vmap.mistake(
    en="An `if` is still there that depends on numbers. Under `vmap` a comparison has many answers at once.",
    ru="Остался `if`, который зависит от чисел. Внутри `vmap` у сравнения сразу много ответов.",
)
def still_branches(w: Tensor, x: Tensor) -> Tensor:
    total = _safe_roots(w * x).sum()
    if total > 2:
        total = 2 + (total - 2) / 10
    return total


@fix_vmap.mistake(
    en="`.item()` is still there. It asks for one number, and under `vmap` there are many.",
    ru="Остался вызов `.item()`. Ему нужно одно число, а внутри `vmap` их много.",
)
def still_an_item(w: Tensor, x: Tensor) -> Tensor:
    total = _safe_roots(w * x).sum()
    return 2 + (total - 2) / 10 if total.item() > 2 else total


@fix_vmap.mistake(
    en="The sum is still written in place into a tensor of zeros, which has no batch dimension. Make a new tensor: "
    "`total = total + value`, or `sum()`.",
    ru="Сумма по-прежнему записывается на месте в тензор из нулей, у которого нет измерения батча. Создавайте новый "
    "тензор: `total = total + value` или `sum()`.",
)
def still_in_place(w: Tensor, x: Tensor) -> Tensor:
    total = torch.zeros((), dtype=x.dtype)
    for value in _safe_roots(w * x):
        total += value
    return _limited(total)


@fix_vmap.mistake(
    en="The limit is missing: a total above 2 grows at a tenth of the speed.",
    ru="Пропущено ограничение: выше 2 сумма растёт в десять раз медленнее.",
)
def without_the_limit(w: Tensor, x: Tensor) -> Tensor:
    return _safe_roots(w * x).sum()


@fix_vmap.mistake(
    en="Above the limit the total is held at 2: the tenth of the excess is missing.",
    ru="Выше границы сумма остаётся равной 2: потеряна десятая часть избытка.",
)
def clamps_the_total(w: Tensor, x: Tensor) -> Tensor:
    return _safe_roots(w * x).sum().clamp(max=2)


@fix_vmap.mistake(
    en="Entries that are not positive contribute 0. They enter the sum as they are.",
    ru="Неположительные элементы дают 0. Они должны входить в сумму без изменений.",
)
def drops_the_negative(w: Tensor, x: Tensor) -> Tensor:
    r = w * x
    return _limited(torch.where(r > 0, _safe_roots(r), 0.0).sum())


@fix_vmap.mistake(
    en="At $r_i = 0$ the root was chosen, and its derivative is infinite there. The second rule holds at 0.",
    ru="При $r_i = 0$ выбран корень, а его производная там бесконечна. В нуле действует второе правило.",
)
def root_at_zero(w: Tensor, x: Tensor) -> Tensor:
    r = w * x
    return _limited(torch.where(r >= 0, torch.where(r >= 0, r, 1.0).sqrt(), r).sum())


@fix_vmap.mistake(
    en="At $r_i = 0$ the derivative is 0. The second rule holds there: $r_i$ itself, with the derivative 1.",
    ru="При $r_i = 0$ производная равна 0. Там действует второе правило: само $r_i$, с производной 1.",
)
def flat_at_zero(w: Tensor, x: Tensor) -> Tensor:
    r = w * x
    return _limited(torch.where(r == 0, 0.0, _safe_roots(r)).sum())


@fix_vmap.mistake(
    en="Each term above 2 was replaced. It is the sum that is replaced, once.",
    ru="Заменено каждое слагаемое больше 2. Заменить нужно только сумму, один раз.",
)
def limits_each_term(w: Tensor, x: Tensor) -> Tensor:
    return _limited(_safe_roots(w * x)).sum()


@fix_vmap.mistake(
    en="Above the limit a tenth of the whole sum was added to 2. It is a tenth of the excess, $(s - 2)/10$.",
    ru="Выше границы к 2 прибавлена десятая часть всей суммы. Нужна десятая часть избытка, $(s - 2)/10$.",
)
def tenth_of_the_sum(w: Tensor, x: Tensor) -> Tensor:
    total = _safe_roots(w * x).sum()
    return torch.where(total > 2, 2 + total / 10, total)


@fix_vmap.mistake(
    en="Above the limit the excess was multiplied by 10. It is divided by 10.",
    ru="Выше границы избыток умножен на 10, а нужно разделить.",
)
def ten_times_the_excess(w: Tensor, x: Tensor) -> Tensor:
    total = _safe_roots(w * x).sum()
    return torch.where(total > 2, 2 + (total - 2) * 10, total)


@fix_vmap.mistake(
    en="Entries are still picked with a mask, as in `r[r > 0]`. Under `vmap` each sample would have another number of them.",
    ru="Элементы по-прежнему выбираются маской, как в `r[r > 0]`. Внутри `vmap` у каждого примера их было бы разное число.",
)
def picks_by_mask(w: Tensor, x: Tensor) -> Tensor:
    r = w * x
    return _limited(r[r > 0].sqrt().sum() + r[r <= 0].sum())


@fix_vmap.mistake(
    en="A vector with one element was returned. A loss is a scalar, a tensor without dimensions.",
    ru="Возвращён вектор из одного элемента. А функция потерь — скаляр, тензор без измерений.",
)
def keeps_a_dimension(w: Tensor, x: Tensor) -> Tensor:
    return _limited(_safe_roots(w * x).sum(-1, keepdim=True))


@fix_vmap.mistake(
    en="Where `x` is 0 the gradient is right, but where a weight is 0 it is NaN: the root of 0 is still computed there.",
    ru="Там, где `x` равен 0, градиент верен, а там, где равен 0 вес, получается NaN: корень из нуля там по-прежнему "
    "вычисляется.",
)
def guards_the_padding_alone(w: Tensor, x: Tensor) -> Tensor:
    r = w * x
    return _limited(torch.where(r > 0, torch.where(x == 0, 1.0, r.abs()).sqrt(), r).sum())


@fix_vmap.mistake(
    en="For negative entries the root of the magnitude is subtracted. They enter the sum as they are.",
    ru="Для отрицательных элементов вычитается корень из модуля, а они должны входить в сумму без изменений.",
)
def signed_roots(w: Tensor, x: Tensor) -> Tensor:
    r = w * x
    return _limited(torch.where(r == 0, r, r.sign() * torch.where(r == 0, 1.0, r.abs()).sqrt()).sum())


@fix_vmap.mistake(
    en="A small positive entry enters the sum as it is. The root is taken of every $r_i > 0$, however small.",
    ru="Малый положительный элемент входит в сумму без изменений. Корень нужен из любого $r_i > 0$, как бы мало оно ни было.",
)
def roots_above_a_bound(w: Tensor, x: Tensor) -> Tensor:
    r = w * x
    return _limited(torch.where(r > 1e-3, torch.where(r > 1e-3, r, 1.0).sqrt(), r).sum())


@fix_vmap.mistake(
    en="The values are right, but the gradient of the roots is missing: they were detached.",
    ru="Значения верны, но градиента корней нет: они отсоединены от графа.",
)
def detached_roots(w: Tensor, x: Tensor) -> Tensor:
    r = w * x
    return _limited(torch.where(r > 0, r.detach().clamp(min=0).sqrt(), r).sum())


def _adds(w: Tensor, x: Tensor, small: float) -> Tensor:
    r = w * x
    return _limited(torch.where(r > 0, (r.clamp(min=0) + small).sqrt(), r).sum())


def _raises(w: Tensor, x: Tensor, small: float) -> Tensor:
    r = w * x
    return _limited(torch.where(r > 0, r.clamp(min=small).sqrt(), r).sum())


_ADDED = Text(
    "Something small is added under the root. It changes every root, and those of small numbers most.",
    "Под корнем прибавлено малое число. Оно меняет каждый корень, и сильнее всего — корни из малых чисел.",
)
_RAISED = Text(
    "A small positive entry is raised to a bound before the root is taken. The root is that of any $r_i > 0$, however "
    "small.",
    "Малый положительный элемент перед извлечением корня поднят до границы. Корень нужен из любого $r_i > 0$, как бы "
    "мало оно ни было.",
)
_EITHER = Text(  # so small that adding and raising look the same
    "Something small is added under the root, or a small entry is raised to a bound there. The root is that of any "
    "$r_i > 0$, however small.",
    "Под корнем прибавлено малое число, или малый элемент поднят там до границы. Корень нужен из любого $r_i > 0$, "
    "как бы мало оно ни было.",
)


@fix_vmap.mistake(en=_ADDED.en, ru=_ADDED.ru)
def adds_under_the_root_2(w: Tensor, x: Tensor) -> Tensor:
    return _adds(w, x, 1e-2)


@fix_vmap.mistake(en=_RAISED.en, ru=_RAISED.ru)
def raises_the_small_2(w: Tensor, x: Tensor) -> Tensor:
    return _raises(w, x, 1e-2)


@fix_vmap.mistake(en=_ADDED.en, ru=_ADDED.ru)
def adds_under_the_root_3(w: Tensor, x: Tensor) -> Tensor:
    return _adds(w, x, 1e-3)


@fix_vmap.mistake(en=_RAISED.en, ru=_RAISED.ru)
def raises_the_small_3(w: Tensor, x: Tensor) -> Tensor:
    return _raises(w, x, 1e-3)


@fix_vmap.mistake(en=_ADDED.en, ru=_ADDED.ru)
def adds_under_the_root_4(w: Tensor, x: Tensor) -> Tensor:
    return _adds(w, x, 1e-4)


@fix_vmap.mistake(en=_RAISED.en, ru=_RAISED.ru)
def raises_the_small_4(w: Tensor, x: Tensor) -> Tensor:
    return _raises(w, x, 1e-4)


@fix_vmap.mistake(en=_ADDED.en, ru=_ADDED.ru)
def adds_under_the_root_5(w: Tensor, x: Tensor) -> Tensor:
    return _adds(w, x, 1e-5)


@fix_vmap.mistake(en=_RAISED.en, ru=_RAISED.ru)
def raises_the_small_5(w: Tensor, x: Tensor) -> Tensor:
    return _raises(w, x, 1e-5)


@fix_vmap.mistake(en=_ADDED.en, ru=_ADDED.ru)
def adds_under_the_root_6(w: Tensor, x: Tensor) -> Tensor:
    return _adds(w, x, 1e-6)


@fix_vmap.mistake(en=_RAISED.en, ru=_RAISED.ru)
def raises_the_small_6(w: Tensor, x: Tensor) -> Tensor:
    return _raises(w, x, 1e-6)


@fix_vmap.mistake(en=_EITHER.en, ru=_EITHER.ru)
def adds_under_the_root_8(w: Tensor, x: Tensor) -> Tensor:
    return _adds(w, x, 1e-8)


@fix_vmap.mistake(en=_EITHER.en, ru=_EITHER.ru)
def adds_under_the_root_9(w: Tensor, x: Tensor) -> Tensor:
    return _adds(w, x, 1e-9)


@fix_vmap.mistake(en=_EITHER.en, ru=_EITHER.ru)
def adds_under_the_root_10(w: Tensor, x: Tensor) -> Tensor:
    return _adds(w, x, 1e-10)


@fix_vmap.mistake(en=_EITHER.en, ru=_EITHER.ru)
def adds_under_the_root_12(w: Tensor, x: Tensor) -> Tensor:
    return _adds(w, x, 1e-12)


@fix_vmap.mistake(
    en="Above the limit the total is $(s - 2)/10$: the 2 is missing.",
    ru="Выше границы получается $(s - 2)/10$: потеряно слагаемое 2.",
)
def loses_the_two(w: Tensor, x: Tensor) -> Tensor:
    total = _safe_roots(w * x).sum()
    return torch.where(total > 2, (total - 2) / 10, total)


@fix_vmap.mistake(
    en="The mean of the terms was taken. They are added.",
    ru="Взято среднее слагаемых, а их нужно сложить.",
)
def averages(w: Tensor, x: Tensor) -> Tensor:
    return _limited(_safe_roots(w * x).mean())
