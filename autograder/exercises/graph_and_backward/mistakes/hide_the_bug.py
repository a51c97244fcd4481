# %%
import torch


# %% mistake="uses_everything_once" theme="test"
# No node has two edges leading to it. On a tree the assigning pass is always right.
# Ни к одному узлу не ведут два ребра. На дереве проход с присваиванием всегда верен.
def hide_the_bug(x):
    return (2 * x).exp()

# %% mistake="derivative_is_nan" theme="test"
# The derivative is NaN: some node gives NaN, or an infinity that another one multiplies by 0.
# Производная — NaN: один из узлов выдаёт NaN или бесконечность, которую другой узел умножает на 0.
def hide_the_bug(x):
    return (x - x).sqrt() * 0 + x * x

# %% mistake="does_not_use_x" theme="test"
# The result does not depend on `x`.
# Результат не зависит от `x`.
def hide_the_bug(x):
    other = x.detach().clone().requires_grad_()
    return other + other

# %% mistake="has_no_graph" theme="recording"
# The result has no graph: so it is with `x` itself or a detached tensor.
# У результата нет графа: так бывает, если это сам `x` или отсоединённый тензор.
def hide_the_bug(x):
    return x

# %% mistake="uses_several_outputs" theme="test"
# One of the nodes cannot be called with one gradient: it belongs to an operation with several outputs, such as
#     `unbind`, or to a `Function` of your own.
# Один из узлов нельзя вызвать с одним градиентом: это узел операции с несколькими выходами, такой как `unbind`, или
#     вашей собственной `Function`.
def hide_the_bug(x):
    first, second = torch.stack([0 * x, x]).unbind()
    return first + second

# %% mistake="changes_x" theme="in_place"
# The number in `x` was changed. The wrong code has to be right at the number that is given.
# Число в `x` изменено. Неверный код должен дать верный ответ при том числе, которое передано.
def hide_the_bug(x):
    with torch.no_grad():
        x.fill_(1.0)
    h = 1.0 * x
    return (h * h - 2 * h) + h

# %% mistake="shows_the_bug" theme="test"
# The bug shows on this graph: the last path brings only a part of the derivative.
# На этом графе ошибка проявляется: последний путь приносит лишь часть производной.
def hide_the_bug(x):
    h = 2 * x
    return h * h + 5 * h

# %% mistake="derivative_of_zero" theme="test"
# All paths bring 0. Every backward pass agrees then, and nothing is shown.
# Все пути приносят 0. Тогда любой обратный проход даёт один и тот же ответ, и ошибки не видно.
def hide_the_bug(x):
    return 0 * x + 0 * x

# %% mistake="paths_cancel" theme="test"
# The paths cancel: the derivative is 0. The assigning pass does not find that 0; it leaves what the last path
#     brings.
# Пути взаимно уничтожаются: производная равна 0. Но проход с присваиванием этого нуля не даёт: остаётся то, что
#     принёс последний путь.
def hide_the_bug(x):
    return x - x

# %% mistake="returns_a_number" theme="recording"
# A plain number was returned. It has no graph: a tensor computed from `x` is asked for.
# Возвращено обычное число. У него нет графа: нужен тензор, вычисленный из `x`.
def hide_the_bug(x):
    return 0 * x.item() + 5 * x.item()

# %% mistake="returns_two_elements" theme="test"
# Several elements were returned, or none. The assigning pass goes backward from one.
# Возвращено несколько элементов или ни одного, а проход с присваиванием начинается от одного.
def hide_the_bug(x):
    return 0 * x.repeat(2) + 5 * x.repeat(2)

# %% mistake="zero_comes_last" theme="test"
# The bug shows on this graph: the last path brings 0, and this 0 replaces the derivative that an earlier path has
#     brought. The order of the operands counts.
# На этом графе ошибка проявляется: последний путь приносит 0, и этот 0 заменяет производную, которую принёс другой
#     путь. Порядок операндов важен.
def hide_the_bug(x):
    h = 2 * x
    return h + 0 * h
