# %%
import torch


# %% mistake="adds_a_little" theme="precision"
# A small number was added to `x` inside `sqrt`. That changes the value where `x` is small, and below 0 `sqrt` is
#     still undefined.
# Внутри `sqrt` к `x` прибавлено малое число. Это меняет значение при малых `x`, а ниже нуля `sqrt` по-прежнему не
#     определён.
def safe_sqrt(x):
    return torch.where(x > 0, (x + 1e-5).sqrt(), 0.0)

# %% mistake="clamps_at_a_little" theme="precision"
# The root of a small positive number stands in place of 0.
# На месте нуля стоит корень из малого положительного числа.
def safe_sqrt(x):
    return x.clamp(min=1e-6).sqrt()

# %% mistake="multiplies_by_a_mask" theme="precision"
# NaN was multiplied by 0. The product is NaN again, in the value itself.
# NaN умножается на 0. Произведение — снова NaN, уже в самом значении.
def safe_sqrt(x):
    return x.sqrt() * (x > 0)

# %% mistake="clamps_at_zero" theme="precision"
# Negative numbers were cut off, but the root of 0 is still taken: at 0 the gradient is infinite.
# Отрицательные числа отсечены, но корень из 0 по-прежнему вычисляется: в нуле градиент бесконечен.
def safe_sqrt(x):
    return torch.maximum(x, torch.zeros_like(x)).sqrt()

# %% mistake="replaces_nan_in_the_value" theme="precision"
# NaN was replaced in the value alone. The gradient still goes through the root: infinite at 0, NaN below.
# NaN заменён только в значении. Градиент по-прежнему идёт через корень: в нуле он бесконечен, а ниже нуля это NaN.
def safe_sqrt(x):
    return x.sqrt().nan_to_num()

# %% mistake="protects_the_value_only" theme="precision"
# `sqrt` still gets 0 and negative numbers. What comes after it protects the value only.
# В `sqrt` по-прежнему попадают 0 и отрицательные числа. Проверка, которая стоит после корня, исправляет только значение.
def safe_sqrt(x):
    return torch.where(x > 0, x.sqrt(), 0.0).nan_to_num()

# %% mistake="adds_a_hundred_millionth" theme="precision"
# 1e-8 was added to `x` inside `sqrt`: 0 is safe now, but a small `x` gets a wrong value, and below 0 `sqrt` is
#     still undefined.
# Внутри `sqrt` к `x` прибавлено 1e-8: в нуле теперь всё в порядке, но при малых `x` значение неверно, а ниже нуля
#     `sqrt` по-прежнему не определён.
def safe_sqrt(x):
    return torch.where(x > 0, (x + 1e-8).sqrt(), 0.0)

# %% mistake="adds_next_to_nothing" theme="precision"
# 1e-12 was added to `x` inside `sqrt`: 0 is safe now, but a small `x` gets a wrong value, and below 0 `sqrt` is
#     still undefined.
# Внутри `sqrt` к `x` прибавлено 1e-12: в нуле теперь всё в порядке, но при малых `x` значение неверно, а ниже нуля
#     `sqrt` по-прежнему не определён.
def safe_sqrt(x):
    return torch.where(x > 0, (x + 1e-12).sqrt(), 0.0)

# %% mistake="draws_the_border_above_zero" theme="precision"
# Small positive numbers were taken for 0: the border is not at 0 but above it.
# Малые положительные числа приняты за ноль: граница проведена не в нуле, а выше.
def safe_sqrt(x):
    inside = torch.where(x > 1e-6, x, 1.0)
    return torch.where(x > 1e-6, inside.sqrt(), 0.0)

# %% mistake="words_it_otherwise" theme="precision"
# Only the wording has changed: `sqrt` still gets 0 and negative numbers, and a choice comes after it.
# Код лишь записан по-другому: в `sqrt` по-прежнему попадают 0 и отрицательные числа, а выбор идёт после него.
def safe_sqrt(x):
    return torch.where(x <= 0, torch.zeros_like(x), torch.sqrt(x))

# %% mistake="wipes_the_nan_off" theme="state"
# The NaN appears as before and is then removed by a hook, which stays on the caller's `x`. There it hides every
#     later NaN as well.
# NaN возникает, как и раньше, а потом убирается в хуке. Хук остаётся на `x` вызывающего кода и скроет любой
#     следующий NaN.
def safe_sqrt(x):
    x.register_hook(lambda gradient: gradient.nan_to_num(0.0))
    return torch.where(x > 0, x.sqrt(), 0.0)

# %% mistake="changes_x_itself" theme="in_place"
# The numbers of `x` itself were changed. `x` belongs to the caller.
# Изменены числа в самом `x`, а `x` принадлежит вызывающему коду.
def safe_sqrt(x):
    with torch.no_grad():
        x.clamp_(min=0)
    return torch.where(x > 0, torch.where(x > 0, x, 1.0).sqrt(), 0.0)

# %% mistake="keeps_positive_entries_only" theme="axes"
# Only the positive entries were returned. The result should have the shape of `x`.
# Возвращены только положительные элементы, а форма результата должна быть та же, что у `x`.
def safe_sqrt(x):
    return x[x > 0].sqrt()

# %% mistake="takes_the_root_of_the_magnitude" theme="missing"
# A negative number was taken by its magnitude, but the value there has to be 0.
# Отрицательное число взято по модулю, но значение там должно быть равно 0.
def safe_sqrt(x):
    return x.abs().sqrt()

# %% mistake="takes_the_magnitude" theme="precision"
# Only negative numbers are kept out of `sqrt`. At 0 its derivative is infinite, and 0 times infinity is NaN.
# Отрицательные числа в `sqrt` больше не попадают, а ноль попадает. Производная в нём бесконечна, а 0, умноженный на
#     бесконечность, — это NaN.
def safe_sqrt(x):
    return torch.where(x > 0, x.abs().sqrt(), 0.0)

# %% mistake="cuts_the_root_off" theme="recording"
# `sqrt` was cut off from the graph: no NaN comes back, but no gradient either.
# Корень `sqrt` отсоединён от графа: NaN не появляется, но и градиента нет.
def safe_sqrt(x):
    return torch.where(x > 0, x.detach().sqrt(), 0.0)

# %% mistake="forgets_the_outer_where" theme="missing"
# The entries that are not positive were replaced by 1 and stay so: the value there is 1 instead of 0.
# Неположительные элементы так и остались единицами: значение там равно 1, а не 0.
def safe_sqrt(x):
    return torch.where(x > 0, x, 1.0).sqrt()

# %% mistake="raises_small_numbers" theme="precision"
# Small positive numbers are raised to a bound: below it the value is that of the bound and the derivative is 0.
# Положительные числа ниже некоторой границы заменены ею самой: значение у них такое же, как на границе, а производная
#     равна 0.
def safe_sqrt(x):
    return torch.where(x > 0, x.clamp(min=1e-12).sqrt(), 0.0)

# %% mistake="asks_with_if" theme="own"
# Python's `if` is asked about a tensor of several numbers. The choice is needed for each entry: `torch.where`.
# В условие `if` попадает тензор из нескольких чисел. Выбирать нужно для каждого элемента: `torch.where`.
def safe_sqrt(x):
    return x.sqrt() if x > 0 else 0 * x

# %% mistake="edits_the_leaf" theme="in_place"
# The numbers of `x` were changed in place, and torch refuses: `x` is a leaf that requires grad.
# Числа в `x` меняются на месте, а torch этого не разрешает: `x` — лист, который требует градиента.
def safe_sqrt(x):
    positive = x > 0
    x[~positive] = 1.0
    return torch.where(positive, x.sqrt(), 0.0)

# %% mistake="computes_in_float32" theme="precision"
# The result, or what it is made from, is float32, whatever the dtype of `x`.
# Результат или то, из чего он получен, имеет тип float32, каким бы ни был dtype тензора `x`.
def safe_sqrt(x):
    return torch.where(x > 0, torch.where(x > 0, x, 1.0).float().sqrt(), 0.0)

# %% mistake="divides_by_a_constant_root" theme="recording"
# The value was divided by a detached root. The gradient then takes the root for a constant and is twice too large.
# Значение получено делением на отсоединённый корень. В градиенте корень считается постоянным, и градиент вдвое
#     больше нужного.
def safe_sqrt(x):
    root = torch.where(x > 0, x, 1.0).sqrt().detach()
    return torch.where(x > 0, x / root, 0.0)

# %% mistake="ones_on_the_cpu" theme="device"
# A tensor was made on the CPU, although `x` lies on a GPU, and torch refuses to mix the two.
#     `torch.ones_like(x)`, `device=x.device` or a plain number follow `x`.
# Какой-то тензор создан на CPU, хотя `x` лежит на GPU, и torch отказывается их смешивать. Устройство
#     тензора `x` дают `torch.ones_like(x)` и `device=x.device`, а числу устройство не нужно.
def safe_sqrt(x):
    inside = torch.where(x > 0, x, torch.ones(x.shape, dtype=x.dtype))
    return torch.where(x > 0, inside.sqrt(), 0.0)

# %% mistake="adds_behind_the_guard" theme="precision"
# 1e-12 was added to `x` inside `sqrt`. The inner `where` keeps 0 away from `sqrt` already, and a small `x` gets a wrong
#     value.
# Внутри `sqrt` к `x` прибавлено 1e-12. Внутренний `where` и без того не пускает 0 в `sqrt`, а при малых `x` значение
#     теперь неверно.
def safe_sqrt(x):
    return torch.where(x > 0, (torch.where(x > 0, x, 1.0) + 1e-12).sqrt(), 0.0)

# %% mistake="compares_in_float32" like="computes_in_float32"
def safe_sqrt(x):
    y = x.float()
    return torch.where(y > 0, torch.where(y > 0, y, 1.0).sqrt(), 0.0).to(x.dtype)

# %% mistake="puts_ones_into_x" like="changes_x_itself"
def safe_sqrt(x):
    positive = x.detach() > 0
    with torch.no_grad():
        x[~positive] = 1.0
    return torch.where(positive, x.sqrt(), 0.0)
