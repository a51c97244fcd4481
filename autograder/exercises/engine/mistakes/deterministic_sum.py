# %%
import math

import torch


def adds_in_order(gradients):
    total = gradients[0].clone()
    for gradient in gradients[1:]:
        total += gradient
    return total


def adds_in_double(gradients):
    return adds_in_order([gradient.double() for gradient in gradients]).float()

# %% mistake="adds_in_order" theme="precision"
# Already for ordinary numbers the result depends on the order of the list: additions in float32 round differently.
# Результат зависит от порядка списка уже для обычных чисел: сложения в float32 при другом порядке округляются
#     иначе.
def deterministic_sum(gradients):
    total = gradients[0].clone()
    for gradient in gradients[1:]:
        total += gradient
    return total

# %% mistake="adds_in_double" theme="precision"
# More digits, as float64 has, make differences rare, but not impossible: in another order the sum still rounds
#     differently, if 1e20 and 1 are among the numbers.
# При большей точности, как в float64, различия становятся редкими, но не исчезают: если среди чисел есть и 1e20, и
#     1, то при другом порядке сумма по-прежнему округляется иначе.
def deterministic_sum(gradients):
    return adds_in_order([gradient.double() for gradient in gradients]).float()

# %% mistake="sorts_by_magnitude" theme="precision"
# Sorted is by magnitude, of numbers or of whole tensors. Two of the same magnitude and different signs then keep
#     the order of the list.
# Сортировка идёт по модулю чисел или по норме тензоров. Тогда два слагаемых с одинаковым модулем и разными знаками
#     остаются в порядке списка.
def deterministic_sum(gradients):
    stacked = torch.stack(gradients)
    order = stacked.abs().argsort(dim=0, stable=True)
    return adds_in_order(list(stacked.gather(0, order).double())).float()

# %% mistake="sorts_in_single" theme="precision"
# The order is fixed, but the additions are made in float32. The bits are the same each time, and wrong: next to 1e8
#     the small numbers are lost.
# Порядок постоянный, но сложения выполняются в float32. Биты всегда одни и те же, но неверные: рядом с 1e8 малые
#     числа теряются.
def deterministic_sum(gradients):
    return adds_in_order(list(torch.stack(gradients).sort(dim=0).values))

# %% mistake="takes_the_mean" theme="scaling"
# The mean is returned, not the sum.
# Возвращается среднее, а не сумма.
def deterministic_sum(gradients):
    return (torch.stack(gradients).double().sort(dim=0).values.sum(0) / len(gradients)).float()

# %% mistake="returns_double" theme="precision"
# The result is float64. It should have the dtype of the gradients.
# Результат имеет dtype float64, а нужен dtype градиентов.
def deterministic_sum(gradients):
    return torch.stack(gradients).double().sort(dim=0).values.sum(0)

# %% mistake="sorts_by_the_sum" theme="precision"
# Whole tensors are sorted by one number, such as their sum or their first entry. Those with the same number keep
#     the order of the list.
# Тензоры отсортированы целиком, по одному числу, например по сумме или по первому элементу. Те, у которых это число
#     одинаково, остаются в порядке списка.
def deterministic_sum(gradients):
    ordered = sorted(gradients, key=lambda gradient: gradient.double().sum().item())
    return adds_in_double(ordered)

# %% mistake="loses_equal_numbers" theme="missing"
# Numbers that are equal are added only once. In a set they become one number.
# Одинаковые числа прибавлены только один раз. В множестве они превращаются в одно.
def deterministic_sum(gradients):
    columns = torch.stack(gradients).reshape(len(gradients), -1).T.tolist()
    return torch.tensor([math.fsum(set(column)) for column in columns]).reshape(gradients[0].shape)

# %% mistake="sorts_within" theme="axes"
# The entries of each gradient were sorted among themselves. They no longer stand at their places.
# Отсортированы элементы внутри каждого градиента. Теперь они стоят не на своих местах.
def deterministic_sum(gradients):
    stacked = torch.stack(gradients)
    return adds_in_double(list(stacked.sort(dim=-1).values if stacked.dim() > 1 else stacked))

# %% mistake="rounds_the_sum" theme="precision"
# The numbers were rounded to a few decimals to make the bits agree. Their digits are lost.
# Чтобы биты совпали, числа округлены до нескольких знаков. Точность потеряна.
def deterministic_sum(gradients):
    return adds_in_double(gradients).mul(1000).round().div(1000)

# %% mistake="rounds_finely" theme="precision"
# The numbers were rounded to a fixed number of decimals to make the bits agree. Of small ones nothing is left.
# Чтобы биты совпали, числа округлены до фиксированного числа знаков. От малых чисел ничего не остаётся.
def deterministic_sum(gradients):
    return adds_in_double(gradients).mul(1e6).round().div(1e6)

# %% mistake="sums_everything" theme="axes"
# All entries of all gradients were added into one number. Each entry has a sum of its own.
# Все элементы всех градиентов сложены в одно число. А у каждой позиции сумма должна быть своя.
def deterministic_sum(gradients):
    flat = torch.stack(gradients).double().flatten().sort().values
    return torch.tensor(math.fsum(flat.tolist()))

# %% mistake="compensates" theme="precision"
# The rounding errors are added up as well, in the order of the list. They are rounded, too: the bits still depend
#     on the order, if 1e20, 5000 and 1e-9 are among the numbers.
# Складываются и погрешности округления, но тоже в порядке списка. При этом округляются и сами погрешности: если среди
#     чисел есть 1e20, 5000 и 1e-9, биты по-прежнему зависят от порядка.
def deterministic_sum(gradients):
    total = torch.zeros_like(gradients[0], dtype=torch.float64)
    lost = torch.zeros_like(total)
    for gradient in gradients:
        next_total = total + gradient.double()
        larger = total.abs() >= gradient.abs()
        lost += torch.where(larger, (total - next_total) + gradient, (gradient - next_total) + total)
        total = next_total
    return (total + lost).float()

# %% mistake="loses_the_shape" theme="axes"
# The sums stand in one row. The result should have the shape of the gradients.
# Суммы стоят в один ряд, а у результата должна быть форма градиентов.
def deterministic_sum(gradients):
    columns = torch.stack(gradients).reshape(len(gradients), -1).T.tolist()
    return torch.tensor([math.fsum(column) for column in columns])

# %% mistake="compares_tensors" theme="own"
# `sorted` compares whole tensors, and such a comparison has one answer for each entry. Sort the numbers of each
#     entry.
# Функция `sorted` сравнивает тензоры целиком, а такое сравнение даёт ответ для каждого элемента. Сортировать нужно
#     числа в каждой позиции.
def deterministic_sum(gradients):
    return adds_in_double(sorted(gradients))

# %% mistake="forgets_the_values" theme="missing"
# `sort` returns a pair: the values and their indices. The values are in `.values`.
# Метод `sort` возвращает пару: значения и их индексы. Сами значения — в `.values`.
def deterministic_sum(gradients):
    return torch.stack(gradients).double().sort(dim=0).sum(0).float()

# %% mistake="adds_signs_apart" theme="precision"
# Positive and negative numbers are added apart, each in the order of the list. These two sums round as well, so the
#     bits still depend on the order.
# Положительные и отрицательные числа складываются отдельно, но те и другие в порядке списка. При этом обе суммы
#     округляются, и биты по-прежнему зависят от порядка.
def deterministic_sum(gradients):
    stacked = torch.stack(gradients).double()
    return (stacked.clamp(min=0).sum(0) + stacked.clamp(max=0).sum(0)).float()

# %% mistake="returns_a_list" theme="missing"
# A list stands where a tensor is needed, perhaps as the result.
# Там, где нужен тензор, стоит список. Возможно, его и возвращает ваша функция.
def deterministic_sum(gradients):
    columns = torch.stack(gradients).reshape(len(gradients), -1).T.tolist()
    return [math.fsum(column) for column in columns]

# %% mistake="sum_on_the_cpu" theme="device"
# The sum that came back lies on the CPU, although the tensors of the list lie on a GPU.
# Возвращённая сумма лежит на CPU, хотя тензоры из списка лежат на GPU.
def deterministic_sum(gradients):
    columns = torch.stack(gradients).reshape(len(gradients), -1).T.tolist()
    return torch.tensor([math.fsum(column) for column in columns]).reshape(gradients[0].shape)

# %% mistake="total_on_the_cpu" theme="device"
# A tensor was made on the CPU, although the tensors of the list lie on a GPU, and torch refuses to mix the two.
#     `torch.zeros_like(...)` and `torch.stack(...)` follow their tensors.
# Какой-то тензор создан на CPU, хотя тензоры из списка лежат на GPU, и torch отказывается их смешивать.
#     `torch.zeros_like(...)` и `torch.stack(...)` берут устройство у своих тензоров.
def deterministic_sum(gradients):
    total = torch.zeros(gradients[0].shape, dtype=torch.float64)
    for row in torch.stack(gradients).double().sort(dim=0).values:
        total = total + row
    return total.float()

# %% mistake="trusts_the_switch" theme="precision"
# `torch.use_deterministic_algorithms(True)` was called, and the sum depends on the order of the list all the same. The
#     switch chooses kernels; it knows nothing of the order in which you add. And it stays on for the whole program.
# Вызвана функция `torch.use_deterministic_algorithms(True)`, а сумма всё равно зависит от порядка списка. От этого
#     режима зависит выбор ядер, а о порядке, в котором складываете вы, он ничего не знает. К тому же он остаётся
#     включённым во всей программе.
def deterministic_sum(gradients):
    torch.use_deterministic_algorithms(True)
    return adds_in_order(gradients)

# %% mistake="trusts_the_switch_and_float64" like="trusts_the_switch"
def deterministic_sum(gradients):
    torch.use_deterministic_algorithms(True)
    return adds_in_double(gradients)

# %% mistake="sorts_the_list_itself" theme="in_place"
# The list was sorted in place, or its tensors were changed. The caller finds them changed.
# Отсортирован сам список или изменены его тензоры. Вызывающий код этого не ждёт.
def deterministic_sum(gradients):
    gradients.sort(key=lambda gradient: gradient.flatten().tolist())
    return torch.stack(gradients).double().sort(dim=0).values.sum(dim=0).float()
