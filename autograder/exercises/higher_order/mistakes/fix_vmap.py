# %%
import torch


def _limited(total):
    return torch.where(total > 2, 2 + (total - 2) / 10, total)


def _safe_roots(r):
    return torch.where(r > 0, torch.where(r > 0, r, 1.0).sqrt(), r)


def _adds(w, x, small):
    r = w * x
    return _limited(torch.where(r > 0, (r.clamp(min=0) + small).sqrt(), r).sum())


def _raises(w, x, small):
    r = w * x
    return _limited(torch.where(r > 0, r.clamp(min=small).sqrt(), r).sum())

# %% mistake="roots_of_everything" theme="precision"
# `torch.where` chooses between values, and the values are right. In backward the root that was not chosen
#     contributes $0 \cdot \infty$ or $0 \cdot$ NaN: give it a harmless number to work on.
# Функция `torch.where` выбирает из готовых значений, и сами значения верны. Но в обратном проходе невыбранный
#     корень даёт $0 \cdot \infty$ или $0 \cdot$ NaN: подставьте под него безобидное число.
def fix_vmap(w, x):
    r = w * x
    return _limited(torch.where(r > 0, r.sqrt(), r).sum())

# %% mistake="roots_of_magnitudes" theme="precision"
# Negative entries are right, but at $r_i = 0$ a root of 0 is still computed. It is not chosen, but its derivative
#     is infinite, and $0 \cdot \infty$ is NaN.
# С отрицательными элементами всё верно, но при $r_i = 0$ по-прежнему вычисляется корень из нуля. Он не выбран, но
#     его производная бесконечна, а $0 \cdot \infty$ — это NaN.
def fix_vmap(w, x):
    r = w * x
    return _limited(torch.where(r > 0, r.abs().sqrt(), r).sum())

# %% mistake="still_branches" theme="own"
# An `if` is still there that depends on numbers. Under `vmap` a comparison has many answers at once.
# Остался `if`, который зависит от чисел. Внутри `vmap` у сравнения сразу много ответов.
def fix_vmap(w, x):
    total = _safe_roots(w * x).sum()
    if total > 2:
        total = 2 + (total - 2) / 10
    return total

# %% mistake="still_an_item" theme="own"
# `.item()` is still there. It asks for one number, and under `vmap` there are many.
# Остался вызов `.item()`. Ему нужно одно число, а внутри `vmap` их много.
def fix_vmap(w, x):
    total = _safe_roots(w * x).sum()
    return 2 + (total - 2) / 10 if total.item() > 2 else total

# %% mistake="still_in_place" theme="in_place"
# The sum is still written in place into a tensor of zeros, which has no batch dimension. Make a new tensor: `total
#     = total + value`, or `sum()`.
# Сумма по-прежнему записывается на месте в тензор из нулей, у которого нет измерения батча. Создавайте новый
#     тензор: `total = total + value` или `sum()`.
def fix_vmap(w, x):
    total = torch.zeros((), dtype=x.dtype)
    for value in _safe_roots(w * x):
        total += value
    return _limited(total)

# %% mistake="without_the_limit" theme="missing"
# The limit is missing: a total above 2 grows at a tenth of the speed.
# Пропущено ограничение: выше 2 сумма растёт в десять раз медленнее.
def fix_vmap(w, x):
    return _safe_roots(w * x).sum()

# %% mistake="clamps_the_total" theme="missing"
# Above the limit the total is held at 2: the tenth of the excess is missing.
# Выше границы сумма остаётся равной 2: потеряна десятая часть избытка.
def fix_vmap(w, x):
    return _safe_roots(w * x).sum().clamp(max=2)

# %% mistake="drops_the_negative" theme="missing"
# Entries that are not positive contribute 0. They enter the sum as they are.
# Неположительные элементы дают 0. Они должны входить в сумму без изменений.
def fix_vmap(w, x):
    r = w * x
    return _limited(torch.where(r > 0, _safe_roots(r), 0.0).sum())

# %% mistake="root_at_zero" theme="precision"
# At $r_i = 0$ the root was chosen, and its derivative is infinite there. The second rule holds at 0.
# При $r_i = 0$ выбран корень, а его производная там бесконечна. В нуле действует второе правило.
def fix_vmap(w, x):
    r = w * x
    return _limited(torch.where(r >= 0, torch.where(r >= 0, r, 1.0).sqrt(), r).sum())

# %% mistake="flat_at_zero" theme="derivative"
# At $r_i = 0$ the derivative is 0. The second rule holds there: $r_i$ itself, with the derivative 1.
# При $r_i = 0$ производная равна 0. Там действует второе правило: само $r_i$, с производной 1.
def fix_vmap(w, x):
    r = w * x
    return _limited(torch.where(r == 0, 0.0, _safe_roots(r)).sum())

# %% mistake="limits_each_term" theme="order"
# Each term above 2 was replaced. It is the sum that is replaced, once.
# Заменено каждое слагаемое больше 2. Заменить нужно только сумму, один раз.
def fix_vmap(w, x):
    return _limited(_safe_roots(w * x)).sum()

# %% mistake="tenth_of_the_sum" theme="own"
# Above the limit a tenth of the whole sum was added to 2. It is a tenth of the excess, $(s - 2)/10$.
# Выше границы к 2 прибавлена десятая часть всей суммы. Нужна десятая часть избытка, $(s - 2)/10$.
def fix_vmap(w, x):
    total = _safe_roots(w * x).sum()
    return torch.where(total > 2, 2 + total / 10, total)

# %% mistake="ten_times_the_excess" theme="scaling"
# Above the limit the excess was multiplied by 10. It is divided by 10.
# Выше границы избыток умножен на 10, а нужно разделить.
def fix_vmap(w, x):
    total = _safe_roots(w * x).sum()
    return torch.where(total > 2, 2 + (total - 2) * 10, total)

# %% mistake="picks_by_mask" theme="own"
# Entries are still picked with a mask, as in `r[r > 0]`. Under `vmap` each sample would have another number of
#     them.
# Элементы по-прежнему выбираются маской, как в `r[r > 0]`. Внутри `vmap` у каждого примера их было бы разное число.
def fix_vmap(w, x):
    r = w * x
    return _limited(r[r > 0].sqrt().sum() + r[r <= 0].sum())

# %% mistake="keeps_a_dimension" theme="axes"
# A vector was returned. A loss is a scalar, a tensor without dimensions.
# Возвращён вектор. А функция потерь — скаляр, тензор без измерений.
def fix_vmap(w, x):
    return _limited(_safe_roots(w * x).sum(-1, keepdim=True))

# %% mistake="guards_the_padding_alone" theme="precision"
# Where `x` is 0 the gradient is right, but where a weight is 0 it is NaN: the root of 0 is still computed there.
# Там, где `x` равен 0, градиент верен, а там, где равен 0 вес, получается NaN: корень из нуля там по-прежнему
#     вычисляется.
def fix_vmap(w, x):
    r = w * x
    return _limited(torch.where(r > 0, torch.where(x == 0, 1.0, r.abs()).sqrt(), r).sum())

# %% mistake="signed_roots" theme="own"
# For negative entries the root of the magnitude is subtracted. They enter the sum as they are.
# Для отрицательных элементов вычитается корень из модуля, а они должны входить в сумму без изменений.
def fix_vmap(w, x):
    r = w * x
    return _limited(torch.where(r == 0, r, r.sign() * torch.where(r == 0, 1.0, r.abs()).sqrt()).sum())

# %% mistake="roots_above_a_bound" theme="precision"
# A small positive entry enters the sum as it is. The root is taken of every $r_i > 0$, however small.
# Малый положительный элемент входит в сумму без изменений. Корень нужен из любого $r_i > 0$, как бы мало оно ни
#     было.
def fix_vmap(w, x):
    r = w * x
    return _limited(torch.where(r > 1e-3, torch.where(r > 1e-3, r, 1.0).sqrt(), r).sum())

# %% mistake="detached_roots" theme="recording"
# The values are right, but the gradient of the roots is missing: they were detached.
# Значения верны, но градиента корней нет: они отсоединены от графа.
def fix_vmap(w, x):
    r = w * x
    return _limited(torch.where(r > 0, r.detach().clamp(min=0).sqrt(), r).sum())

# %% mistake="adds_under_the_root_2" theme="precision"
# Something small is added under the root. It changes every root, and those of small numbers most.
# Под корнем прибавлено малое число. Оно меняет каждый корень, и сильнее всего — корни из малых чисел.
def fix_vmap(w, x):
    return _adds(w, x, 1e-2)

# %% mistake="raises_the_small_2" theme="precision"
# A small positive entry is raised to a bound before the root is taken. The root is that of any $r_i > 0$, however
#     small.
# Малый положительный элемент перед извлечением корня поднят до границы. Корень нужен из любого $r_i > 0$, как бы
#     мало оно ни было.
def fix_vmap(w, x):
    return _raises(w, x, 1e-2)

# %% mistake="adds_under_the_root_3" like="adds_under_the_root_2"
def fix_vmap(w, x):
    return _adds(w, x, 1e-3)

# %% mistake="raises_the_small_3" like="raises_the_small_2"
def fix_vmap(w, x):
    return _raises(w, x, 1e-3)

# %% mistake="adds_under_the_root_8" theme="precision"
# Something small is added under the root, or a small entry is raised to a bound there. The root is that of any $r_i
#     > 0$, however small.
# Под корнем прибавлено малое число, или малый элемент поднят там до границы. Корень нужен из любого $r_i > 0$, как
#     бы мало оно ни было.
def fix_vmap(w, x):
    return _adds(w, x, 1e-8)

# %% mistake="adds_under_the_root_12" like="adds_under_the_root_8"
def fix_vmap(w, x):
    return _adds(w, x, 1e-12)

# %% mistake="loses_the_two" theme="missing"
# Above the limit the total is $(s - 2)/10$: the 2 is missing.
# Выше границы получается $(s - 2)/10$: потеряно слагаемое 2.
def fix_vmap(w, x):
    total = _safe_roots(w * x).sum()
    return torch.where(total > 2, (total - 2) / 10, total)

# %% mistake="averages" theme="scaling"
# The mean of the terms was taken. They are added.
# Взято среднее слагаемых, а их нужно сложить.
def fix_vmap(w, x):
    return _limited(_safe_roots(w * x).mean())
