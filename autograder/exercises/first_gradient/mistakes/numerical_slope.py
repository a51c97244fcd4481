# %%
import torch


def forward_difference(f, x, h):
    return (f(x + h) - f(x)) / h

# %% mistake="moves_x" theme="in_place"
# The caller's tensor `x` was changed in place, as `x += h` does, also under another name. `x + h` makes a new
#     tensor.
# Тензор `x` вызывающего кода изменён на месте: так действует `x += h`, в том числе под другим именем. Выражение `x
#     + h` создаёт новый тензор.
def numerical_slope(f, x, h):
    x += h
    right = f(x)
    x -= 2 * h
    return (right - f(x)) / (2 * h)

# %% mistake="divides_by_h" theme="scaling"
# The result is twice as large, as when the change is divided by `h`. The way from `x - h` to `x + h` is `2 * h`.
# Результат вдвое больше нужного: так бывает, когда приращение разделено на `h`. Расстояние от `x - h` до `x + h`
#     равно `2 * h`.
def numerical_slope(f, x, h):
    return (f(x + h) - f(x - h)) / h

# %% mistake="forgets_the_brackets" theme="scaling"
# The change was divided by 2 and multiplied by `h`. Both belong in the divisor: `/ (2 * h)`.
# Приращение разделено на 2, но умножено на `h`. В знаменателе должно стоять и то и другое: `/ (2 * h)`.
def numerical_slope(f, x, h):
    return (f(x + h) - f(x - h)) / 2 * h

# %% mistake="forward_difference" theme="precision"
# One of the two places is `x` itself. That is the forward difference: its error is of order h, not h².
# Одна из двух точек — сама `x`. Это правая разность: её погрешность порядка h, а не h².
def numerical_slope(f, x, h):
    return (f(x + h) - f(x)) / h

# %% mistake="backward_difference" theme="precision"
# One of the two places is `x` itself. That is the backward difference: its error is of order h, not h².
# Одна из двух точек — сама `x`. Это левая разность: её погрешность порядка h, а не h².
def numerical_slope(f, x, h):
    return (f(x) - f(x - h)) / h

# %% mistake="forgets_to_divide" theme="scaling"
# The change of `f` was not divided by anything.
# Приращение `f` ни на что не разделено.
def numerical_slope(f, x, h):
    return f(x + h) - f(x - h)

# %% mistake="subtracts_backwards" theme="derivative"
# The sign is wrong, as when the two values are subtracted the wrong way round.
# Знак неверен: так бывает, когда значения вычтены в обратном порядке.
def numerical_slope(f, x, h):
    return (f(x - h) - f(x + h)) / (2 * h)

# %% mistake="asks_autograd" theme="cost"
# The derivative itself came back, not the central difference with this `h`: either autograd computed it, or `h` was
#     replaced by a smaller step.
# Возвращена сама производная, а не центральная разность с этим `h`: либо её вычислил autograd, либо `h` заменён
#     меньшим шагом.
def numerical_slope(f, x, h):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(f(x), x)[0]

# %% mistake="ignores_h" theme="missing"
# The step is always 0.01, as in the text. It has to be the `h` that is passed in.
# Шаг всегда равен 0.01, как в тексте. Нужно взять `h`, который передан в функцию.
def numerical_slope(f, x, h):
    return (f(x + 0.01) - f(x - 0.01)) / 0.02

# %% mistake="halves_the_step" theme="precision"
# The two places are `x + h / 2` and `x - h / 2`: half the step that was asked for.
# Взяты точки `x + h / 2` и `x - h / 2`, то есть вдвое меньший шаг, чем требуется.
def numerical_slope(f, x, h):
    return (f(x + h / 2) - f(x - h / 2)) / h

# %% mistake="divides_the_second" theme="scaling"
# Only the second value was divided: a difference that is divided needs brackets.
# Разделено только второе значение: разность, которую делят, нужно взять в скобки.
def numerical_slope(f, x, h):
    return f(x + h) - f(x - h) / (2 * h)

# %% mistake="ignores_f" theme="missing"
# `f` is not called on any tensor, so what comes back does not depend on it.
# Функция `f` не вызвана ни для какого тензора, и результат от неё не зависит.
def numerical_slope(f, x, h):
    return ((x + h) ** 2 - (x - h) ** 2) / (2 * h)

# %% mistake="in_single_precision" theme="precision"
# `f` got float32 numbers: `torch.tensor` of a Python number, or `.float()`, makes float32. Half of the digits are
#     lost.
# Функция `f` получила числа float32: их создаёт `torch.tensor` из числа Python или `.float()`. Половина цифр
#     теряется.
def numerical_slope(f, x, h):
    x = x.float()
    return (f(x + h) - f(x - h)) / (2 * h)

# %% mistake="combines_two_steps" theme="precision"
# Two central differences were combined, with `h` and with half of it. That is more accurate, but one difference
#     with the step `h` was asked for.
# Объединены две центральные разности: с шагом `h` и с вдвое меньшим. Это точнее, но нужна одна разность, с шагом
#     `h`.
def numerical_slope(f, x, h):
    def central(step):
        return (f(x + step) - f(x - step)) / (2 * step)

    return (4 * central(h / 2) - central(h)) / 3

# %% mistake="divides_by_four_h" theme="scaling"
# The change was divided by 4h, twice the way from `x - h` to `x + h`.
# Приращение разделено на 4h, то есть на удвоенное расстояние от `x - h` до `x + h`.
def numerical_slope(f, x, h):
    return (f(x + h) - f(x - h)) / (4 * h)

# %% mistake="passes_a_number" theme="recording"
# `f` got a Python number, such as `item()` takes out of a tensor. `f` is a function of a tensor.
# Функция `f` получила число Python, какое извлекает из тензора `item()`. А `f` — функция от тензора.
def numerical_slope(f, x, h):
    place = x.item()
    return (f(place + h) - f(place - h)) / (2 * h)

# %% mistake="returns_nothing" theme="return"
# Nothing was returned: `return` is missing.
# Функция ничего не возвращает: забыт `return`.
def numerical_slope(f, x, h):
    forward_difference(f, x, h)

# %% mistake="divides_by_two" theme="scaling"
# The change was divided by 2 alone. The distance from `x - h` to `x + h` is `2 * h`.
# Приращение разделено только на 2. Но расстояние от `x - h` до `x + h` равно `2 * h`.
def numerical_slope(f, x, h):
    return (f(x + h) - f(x - h)) / 2

# %% mistake="divides_by_the_square" theme="scaling"
# The change was divided by `2 * h**2`. The step belongs in the divisor once.
# Приращение разделено на `2 * h**2`. В знаменателе шаг должен стоять один раз.
def numerical_slope(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h**2)

# %% mistake="forward_over_two_steps" theme="precision"
# One of the two places is `x` itself, and the divisor is `2 * h`. The other place has to be `x - h`.
# Одна из двух точек — сама `x`, а разделено на `2 * h`. Второй точкой должна быть `x - h`.
def numerical_slope(f, x, h):
    return (f(x + h) - f(x)) / (2 * h)

# %% mistake="doubles_the_step" theme="precision"
# The places are `x + 2 * h` and `x - 2 * h`, twice as far apart as the divisor `2 * h` says.
# Взяты точки `x + 2 * h` и `x - 2 * h`. Расстояние между ними вдвое больше, чем знаменатель `2 * h`.
def numerical_slope(f, x, h):
    return (f(x + 2 * h) - f(x - 2 * h)) / (2 * h)

# %% mistake="halves_the_places" theme="precision"
# The places are `x + h / 2` and `x - h / 2`, and the divisor is `2 * h`. Asked for are the places `x + h` and `x -
#     h`.
# Взяты точки `x + h / 2` и `x - h / 2`, а разделено на `2 * h`. Нужны точки `x + h` и `x - h`.
def numerical_slope(f, x, h):
    return (f(x + h / 2) - f(x - h / 2)) / (2 * h)

# %% mistake="adds_the_values" theme="derivative"
# The two values were added. The change of `f` is their difference.
# Два значения сложены. Приращение `f` — это их разность.
def numerical_slope(f, x, h):
    return (f(x + h) + f(x - h)) / (2 * h)

# %% mistake="takes_the_magnitude" theme="derivative"
# The sign was lost: where `f` falls, the derivative is negative.
# Потерян знак: там, где `f` убывает, производная отрицательна.
def numerical_slope(f, x, h):
    return abs(f(x + h) - f(x - h)) / (2 * h)

# %% mistake="takes_the_second_difference" theme="derivative"
# This is the difference for the second derivative, from three values. Asked for is the first derivative.
# Это разность для второй производной, по трём значениям. Нужна первая производная.
def numerical_slope(f, x, h):
    return (f(x + h) - 2 * f(x) + f(x - h)) / h**2
