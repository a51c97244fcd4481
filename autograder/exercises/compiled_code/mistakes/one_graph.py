# %%
import torch


def still_branches(x, limit):
    return x * (limit / x.norm()) if bool(x.norm() > limit) else x

# %% mistake="where_at_the_end" theme="precision"
# For a vector of zeros the gradient is NaN. Something infinite, such as `limit / norm` or the derivative of a root
#     at 0, is computed even where `where` or `clamp` does not choose it.
# Для нулевого вектора градиент равен NaN. Где-то получается бесконечность (`limit / norm` или производная корня в
#     нуле): она вычисляется, даже если `where` или `clamp` это значение не выбирает.
def one_graph(x, limit):
    norm = x.norm()
    return torch.where(norm > limit, x * (limit / norm), x)

# %% mistake="still_branches" theme="own"
# The function still looks at a number: `if`, `bool()`, `.item()` and `float()` all wait for the value.
# Функция всё ещё смотрит на число: `if`, `bool()`, `.item()` и `float()` ждут готового значения.
def one_graph(x, limit):
    return x * (limit / x.norm()) if bool(x.norm() > limit) else x

# %% mistake="norm_as_number" theme="recording"
# The norm became a Python number, by `.item()` or `float()`: the gradient does not pass through it, and the graph
#     breaks as well.
# Норма превращена в число Python, вызовом `.item()` или `float()`: градиент через неё не проходит, да и граф
#     по-прежнему разрывается.
def one_graph(x, limit):
    return x * min(1.0, limit / max(x.norm().item(), 1e-300))

# %% mistake="divides_by_a_number" theme="recording"
# The norm became a Python number, by `.item()` or `float()`: for a vector of zeros Python divides by 0. Nor does the
#     gradient pass through such a number, and the graph still breaks.
# Норма превращена в число Python, вызовом `.item()` или `float()`: для нулевого вектора Python делит на 0. К тому же
#     градиент через такое число не проходит, а граф по-прежнему разрывается.
def one_graph(x, limit):
    return x * min(1.0, limit / x.norm().item())

# %% mistake="detached_norm" theme="recording"
# The norm is detached. The value is right, and the gradient lacks the part that goes through the norm.
# Норма отсоединена от графа. Значение верно, а в градиенте нет слагаемого, которое идёт через норму.
def one_graph(x, limit):
    return x * (limit / x.detach().norm().clamp(min=limit))

# %% mistake="scales_always" theme="scaling"
# Every vector is scaled to the limit, the short ones as well.
# До предела растянут любой вектор, в том числе короткий.
def one_graph(x, limit):
    return x * (limit / x.norm().clamp(min=1e-12))

# %% mistake="divides_always" theme="scaling"
# Every vector is divided by its norm, the short ones as well. For a vector of zeros this is 0 divided by 0.
# На свою норму делится любой вектор, в том числе короткий. Для нулевого вектора это 0, делённый на 0.
def one_graph(x, limit):
    return x * (limit / x.norm())

# %% mistake="multiplies_by_the_condition" theme="precision"
# For a vector of zeros even the value is NaN: 0 is divided by 0, or something infinite is multiplied by 0.
# Для нулевого вектора NaN получается даже в значении: 0 делится на 0 или бесконечность умножается на 0.
def one_graph(x, limit):
    norm = x.norm()
    long = (norm > limit).to(x.dtype)
    return x * (long * limit / norm + (1 - long))

# %% mistake="norm_of_rows" theme="axes"
# The norm is taken for each row. It is that of the whole tensor.
# Норма взята по каждой строке, а нужна норма всего тензора.
def one_graph(x, limit):
    return x * (limit / x.norm(dim=-1, keepdim=True).clamp(min=limit))

# %% mistake="norm_of_columns" theme="axes"
# The norm is taken for each column. It is that of the whole tensor.
# Норма взята по каждому столбцу, а нужна норма всего тензора.
def one_graph(x, limit):
    return x * (limit / x.norm(dim=0, keepdim=True).clamp(min=limit))

# %% mistake="adds_to_the_norm" theme="precision"
# Something small is added to the norm. For a small tensor it is not small, and the value is another.
# К норме прибавлено малое число. Для малого тензора оно уже не мало, и значение получается другим.
def one_graph(x, limit):
    return x * (limit / (x.norm() + 1e-6)).clamp(max=1)

# %% mistake="reads_if_it_can" theme="own"
# On an ordinary tensor a number is still read. Only on a fake one the function goes another way.
# На обычном тензоре число по-прежнему читается. По-другому функция работает только на фиктивном.
def one_graph(x, limit):
    try:
        return still_branches(x, limit)
    except Exception:
        return x * (limit / x.norm().clamp(min=limit))

# %% mistake="changes_x" theme="in_place"
# `x` is changed in place. The function should return a new tensor.
# Тензор `x` изменён на месте, а функция должна возвращать новый.
def one_graph(x, limit):
    return x.mul_(limit / x.detach().norm().clamp(min=limit))

# %% mistake="returns_float32" theme="precision"
# The result is always float32. It should have the dtype of `x`.
# Результат всегда имеет dtype float32, а нужен dtype тензора `x`.
def one_graph(x, limit):
    return (x * (limit / x.norm().clamp(min=limit))).float()

# %% mistake="takes_the_maximum" theme="own"
# The largest magnitude is taken for the norm. The norm is the root of the sum of squares.
# За норму принят наибольший модуль, а норма — это корень из суммы квадратов.
def one_graph(x, limit):
    return x * (limit / x.abs().max().clamp(min=limit))

# %% mistake="sums_magnitudes" theme="own"
# The sum of the magnitudes is taken for the norm. The norm is the root of the sum of squares.
# За норму принята сумма модулей, а норма — это корень из суммы квадратов.
def one_graph(x, limit):
    return x * (limit / x.abs().sum().clamp(min=limit))

# %% mistake="scales_to_one" theme="missing"
# A long vector gets the norm 1. It should get the norm `limit`.
# Длинный вектор получает норму 1, а должен получить норму `limit`.
def one_graph(x, limit):
    return x / x.norm().clamp(min=limit)

# %% mistake="compares_with_one" theme="missing"
# The norm is compared with 1. It should be compared with `limit`.
# Норма сравнивается с единицей, а нужно сравнивать её с `limit`.
def one_graph(x, limit):
    return x * limit / x.norm().clamp(min=1)

# %% mistake="clamps_entries" theme="own"
# Each entry is clamped on its own. The limit is one for the norm of the whole tensor.
# Каждый элемент ограничен отдельно, а предел относится к норме всего тензора.
def one_graph(x, limit):
    return x.clamp(-limit, limit)

# %% mistake="clamps_the_wrong_side" theme="own"
# The limit is on the wrong side: long vectors stay, and short ones change.
# Сравнение перевёрнуто: длинные векторы остаются, а короткие меняются.
def one_graph(x, limit):
    return x * (limit / x.norm().clamp(min=1e-12, max=limit))

# %% mistake="divides_by_one_at_zero" theme="precision"
# For a vector of zeros the factor is not 1: another number was put in place of the norm 0, and `limit` was divided
#     by that number.
# Для нулевого вектора множитель не равен 1: вместо нулевой нормы подставлено другое число, и `limit` делится на это
#     число.
def one_graph(x, limit):
    norm = x.norm()
    return x * (limit / torch.where(norm == 0, 1.0, norm)).clamp(max=1)

# %% mistake="adds_under_the_root" theme="precision"
# In the denominator something small is added under the root, or bounds the norm from below. For a small tensor it
#     is not small, and the value is another.
# В знаменателе под корнем прибавлено малое число или норма ограничена им снизу. Для малого тензора оно уже не мало,
#     и значение получается другим.
def one_graph(x, limit):
    return x * (limit / (x.square().sum() + 1e-12).sqrt().clamp(min=limit))

# %% mistake="uses_cond" theme="cost"
# The choice was made by `torch.cond`. Here it is to be made by operations on tensors.
# Выбор сделан с помощью `torch.cond`. Здесь его нужно сделать операциями над тензорами.
def one_graph(x, limit):
    return torch.cond(x.norm() > limit, lambda x: x * (limit / x.norm()), lambda x: x.clone(), (x,))

# %% mistake="uses_renorm" theme="precision"
# `torch.renorm` adds something small to the norm, 1e-7. For a small tensor it is not small, and the value is
#     another.
# Функция `torch.renorm` прибавляет к норме малое число, 1e-7. Для малого тензора оно уже не мало, и значение
#     получается другим.
def one_graph(x, limit):
    return torch.renorm(x.reshape(1, -1), 2, 0, limit).reshape(x.shape)

# %% mistake="bounds_the_norm" like="adds_under_the_root"
def one_graph(x, limit):
    norm = x.norm()
    return torch.where(norm > limit, x * (limit / norm.clamp(min=1e-8)), x)

# %% mistake="squares_the_factor" theme="own"
# The factor of a long vector is the square of `limit / norm`: the root of the sum of squares was not taken.
# Множитель длинного вектора — квадрат отношения `limit / norm`: из суммы квадратов не извлечён корень.
def one_graph(x, limit):
    return x * (limit**2 / x.square().sum().clamp(min=limit**2))

# %% mistake="flattens" theme="axes"
# The result has one dimension. It should have the shape of `x`.
# У результата одно измерение, а форма должна быть как у `x`.
def one_graph(x, limit):
    flat = x.reshape(-1)
    return flat * (limit / flat.norm().clamp(min=limit))

# %% mistake="changes_x_unrecorded" theme="in_place"
# `x` itself is changed in place, without recording, and returned. The gradient knows nothing of the factor.
# Сам `x` изменён на месте, без записи, и возвращён. В градиенте множителя нет.
def one_graph(x, limit):
    with torch.no_grad():
        return x.mul_(limit / x.norm().clamp(min=limit))

# %% mistake="largest_singular_value" theme="own"
# For a matrix the largest singular value was taken: `torch.linalg.norm(x, 2)` means that norm. Here the norm is the
#     root of the sum of all squares.
# У матрицы взято наибольшее сингулярное число: именно такую норму даёт `torch.linalg.norm(x, 2)`. Здесь норма — это
#     корень из суммы всех квадратов.
def one_graph(x, limit):
    norm = torch.linalg.matrix_norm(x, 2) if x.dim() == 2 else x.norm()
    return x * (limit / norm.clamp(min=limit))

# %% mistake="asks_norm_for_order_two" like="largest_singular_value"
def one_graph(x, limit):
    return x * (limit / torch.linalg.norm(x, 2).clamp(min=limit))

# %% mistake="vanishes_at_zero" theme="own"
# For a vector of zeros the gradient is zero. The given function passes it unchanged there. So it is if the direction
#     `x / norm` is multiplied by the shortened norm, which is 0.
# Для нулевого вектора градиент равен нулю, а исходная функция передаёт его там без изменений. Так бывает, когда
#     направление `x / norm` умножают на укороченную норму, а она равна 0.
def one_graph(x, limit):
    norm = x.norm()
    return x / norm.clamp(min=torch.finfo(x.dtype).tiny) * norm.clamp(max=limit)

# %% mistake="adds_to_the_long_norm" like="adds_to_the_norm"
def one_graph(x, limit):
    norm = x.norm()
    return x * torch.where(norm > limit, limit / (norm + 1e-12), 1.0)

# %% mistake="drops_the_short" theme="missing"
# A short vector becomes 0: its factor is 0, as long as nothing is added for the other case. It should be 1.
# Короткий вектор обращается в 0: множитель для него равен 0, а слагаемого для второго случая нет. Множитель должен быть
#     равен 1.
def one_graph(x, limit):
    norm = x.norm()
    return x * (norm > limit) * (limit / norm)

# %% mistake="forgets_the_root" theme="own"
# The sum of squares is taken for the norm. The norm is its root.
# За норму принята сумма квадратов, а норма — это корень из неё.
def one_graph(x, limit):
    return x * (limit / (x**2).sum().clamp(min=limit))

# %% mistake="leaves_the_long" theme="missing"
# A long vector comes back as it was. Its norm should become `limit`.
# Длинный вектор возвращён без изменений, а его норма должна стать равной `limit`.
def one_graph(x, limit):
    return x.clone()
