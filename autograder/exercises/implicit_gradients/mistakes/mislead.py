# %%
import torch


def _pair(n, a, g):
    """Return a matrix and a vector of zeros whose first entries are `a` and `g`."""
    matrix, vector = torch.zeros(n, n, dtype=torch.float64), torch.zeros(n, dtype=torch.float64)
    matrix[:2, :2], vector[:2] = torch.tensor(a), torch.tensor(g)
    return matrix, vector


def _first_row(n, entry):
    """Return a matrix of zeros with one entry beside its diagonal, and a vector of ones."""
    matrix = torch.zeros(n, n, dtype=torch.float64)
    matrix[0, 1] = entry
    return matrix, torch.ones(n, dtype=torch.float64)

# %% mistake="contracts_every_vector" theme="test"
# This `a` makes every vector shorter, and then one step always points roughly the right way.
# Такая `a` укорачивает любой вектор, а тогда один шаг всегда направлен примерно куда надо.
def mislead(n):
    return _pair(n, [[0.0, -0.8], [0.8, 0.0]], [1.0, 1.0])

# %% mistake="does_not_settle" theme="test"
# An eigenvalue of `a` is too large: its magnitude must be 0.9 at most. If it is 1 or more, the iteration
#     does not settle at all.
# У `a` слишком большое собственное значение: его модуль должен быть не больше 0.9. А если он не меньше 1, итерации и
#     вовсе не сходятся.
def mislead(n):
    return _pair(n, [[3.0, 0.0], [0.0, 3.0]], [1.0, 1.0])

# %% mistake="the_other_sign" theme="derivative"
# The iteration settles and stretches some vectors, but `g` is not among those that are turned away: the two gradients
#     point to the same side.
# Итерации сходятся, и некоторые векторы при этом растягиваются, но ваш `g` в сторону не отклоняется: оба градиента
#     смотрят в одну сторону.
def mislead(n):
    return _pair(n, [[0.0, 3.0], [0.0, 0.0]], [1.0, 1.0])

# %% mistake="right_angle" theme="test"
# The two gradients stand at a right angle, or nearly so. Asked for is an obtuse one.
# Градиенты перпендикулярны или почти перпендикулярны. А нужен тупой угол.
def mislead(n):
    return _pair(n, [[0.0, -2.0], [0.0, 0.0]], [1.0, 1.0])

# %% mistake="one_step_is_exact" theme="test"
# For this pair one step gives the true direction: $A^T g$ is 0, or points along `g`.
# Для этой пары один шаг даёт верное направление: $A^T g$ равно 0 или направлено вдоль `g`.
def mislead(n):
    return _pair(n, [[0.0, -3.0], [0.0, 0.0]], [0.0, 1.0])

# %% mistake="zero_vector" theme="test"
# `g` is all zeros, and so are both gradients: there is no angle between them.
# В `g` одни нули, поэтому оба градиента нулевые и угла между ними нет.
def mislead(n):
    return _pair(n, [[0.0, -3.0], [0.0, 0.0]], [0.0, 0.0])

# %% mistake="single_precision" theme="own"
# Not both tensors are float64. Without a `dtype` torch makes float32.
# Хотя бы у одного из тензоров тип не float64. Без `dtype` в torch получается float32.
def mislead(n):
    return tuple(each.float() for each in _pair(n, [[0.0, -3.0], [0.0, 0.0]], [1.0, 1.0]))

# %% mistake="always_two" theme="axes"
# The pair is right for `n` = 2 alone: for a larger `n` the shapes are not (n, n) and (n,).
# Пара верна только при `n` = 2: при большем `n` формы не (n, n) и (n,).
def mislead(n):
    return _pair(2, [[0.0, -3.0], [0.0, 0.0]], [1.0, 1.0])

# %% mistake="column_vector" theme="axes"
# The shapes are not those asked for: (n, n) for `a`, and (n,) for `g`.
# Формы не те: у `a` должна быть форма (n, n), а у `g` — форма (n,).
def mislead(n):
    a, g = _pair(n, [[0.0, -3.0], [0.0, 0.0]], [1.0, 1.0])
    return a, g[:, None]

# %% mistake="only_shrinks" like="contracts_every_vector"
def mislead(n):
    return -0.9 * torch.eye(n, dtype=torch.float64), torch.ones(n, dtype=torch.float64)

# %% mistake="right_for_two_alone" theme="own"
# The angle is obtuse for `n` = 2 and not for every larger `n`. Zeros in all further places leave it as it is.
# При `n` = 2 угол тупой, а при больших `n` — не всегда. Если на остальных местах нули, угол не изменится.
def mislead(n):
    return -5 * torch.ones(n, n, dtype=torch.float64).triu(1), torch.ones(n, dtype=torch.float64)

# %% mistake="right_for_two_and_at_right_angles" like="right_for_two_alone"
def mislead(n):
    return _first_row(n, -3)

# %% mistake="right_for_two_and_three" like="right_for_two_alone"
def mislead(n):
    return _first_row(n, -4)

# %% mistake="right_for_two_and_three_and_at_right_angles" like="right_for_two_alone"
def mislead(n):
    return _first_row(n, -5)
