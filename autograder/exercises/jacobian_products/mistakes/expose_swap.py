# %%
import torch

from autograder.checking.inputs import Formula

from ..common import cube_without_jvp


def _linear(*rows, v=(1.0, 10.0)):
    matrix = torch.tensor(rows)
    return Formula("x -> M @ x", lambda x: matrix @ x), torch.ones(matrix.shape[1]), torch.tensor(v)

# %% mistake="one_triple" theme="missing"
# What came back is not a pair of triples. Asked for are two, an example that hides the mistake and one that exposes it.
# Возвращены не две тройки. Нужны именно две: пример, где ошибка не видна, и пример, где она видна.
def expose_swap():
    return _linear([2.0, 1.0], [1.0, 3.0])

# %% mistake="first_not_square" theme="test"
# The vector of an example has one entry only, or the lengths of input, output and `v` differ. With one entry both
#     products are the same number, and different lengths give the mistake away.
# В векторе одного из примеров только один элемент, или длины входа, выхода и `v` различаются. При одном элементе
#     оба произведения — одно и то же число, а разные длины сразу выдают ошибку.
def expose_swap():
    return _linear([2.0, 1.0, 0.0], [1.0, 3.0, 1.0]), _linear([1.0, 2.0], [3.0, 4.0])

# %% mistake="first_by_chance" theme="test"
# `f` returns something else at each call: it uses random numbers or remembers. Then it has no Jacobian to compare
#     with.
# Функция `f` при каждом вызове возвращает другое: использует случайные числа или что-то запоминает. Тогда нет
#     матрицы Якоби, с которой можно сравнивать.
def expose_swap():
    return (torch.rand_like, torch.ones(2), torch.tensor([1.0, 10.0])), _linear([1.0, 2.0], [3.0, 4.0])

# %% mistake="first_raises_in_swapped" theme="test"
# `swapped` raises an error in one of the examples although the shapes fit: `f` has no forward mode or is not
#     written for `torch.func`, or `x` and `v` differ in dtype.
# В одном из примеров вызов `swapped` заканчивается ошибкой, хотя формы верны: у `f` нет прямого режима, она
#     написана не для `torch.func` или у `x` и `v` разные dtype.
def expose_swap():
    return (cube_without_jvp, torch.ones(2), torch.tensor([1.0, 10.0])), _linear([1.0, 2.0], [3.0, 4.0])

# %% mistake="changed_places" theme="missing"
# The two examples are in the wrong order: it is the first one that exposes the mistake.
# Примеры стоят не в том порядке: ошибку выдаёт первый.
def expose_swap():
    return _linear([1.0, 2.0], [3.0, 4.0]), _linear([2.0, 1.0], [1.0, 3.0])

# %% mistake="entry_by_entry" theme="test"
# In the first example `J` or `v` has entries that are zero or next to nothing, as with a function that works on
#     each entry alone.
# В первом примере в `J` или в `v` есть нули или ничтожно малые элементы, как у функции, которая действует на каждый
#     элемент отдельно.
def expose_swap():
    return (lambda x: (x + 1) ** 2, torch.ones(2), torch.tensor([1.0, 10.0])), _linear([1.0, 2.0], [3.0, 4.0])

# %% mistake="symmetric_twice" theme="test"
# The second Jacobian is symmetric as well, so no `v` tells the products apart there.
# Вторая матрица Якоби тоже симметрична, и произведения на ней не различит ни один `v`.
def expose_swap():
    return _linear([2.0, 1.0], [1.0, 3.0]), _linear([2.0, 5.0], [5.0, 1.0])

# %% mistake="zero_direction" theme="test"
# The second `v` is zero, and so are both products.
# Второй вектор `v` нулевой, поэтому оба произведения равны нулю.
def expose_swap():
    return _linear([2.0, 1.0], [1.0, 3.0]), _linear([1.0, 2.0], [3.0, 4.0], v=(0.0, 0.0))

# %% mistake="almost_the_same" theme="test"
# The second `J` is not symmetric, but for this `v` the two products agree to 1 %. Another `v`, or a `J` further
#     from a symmetric one, tells them apart.
# Вторая `J` не симметрична, но для этого `v` два произведения совпадают с точностью до 1 %. Их различит другой `v`
#     или `J`, которая дальше от симметричной.
def expose_swap():
    return _linear([2.0, 1.0], [1.0, 3.0]), _linear([2.0, 5.0], [5.01, 1.0])
