# %%
import torch


# %% mistake="dtype_by_default" theme="precision"
# The dtype is always the default one, float32. The operator keeps that of its inputs.
# dtype всегда стандартный, float32. Оператор же сохраняет dtype входов.
def fix_fake(x, y):
    return torch.empty(*x.shape[:-1], y.shape[-2], device=x.device)

# %% mistake="device_by_default" theme="device"
# The device is always the default one. The result has to lie where the inputs do.
# Устройство всегда стандартное. Результат должен лежать там же, где входы.
def fix_fake(x, y):
    return torch.empty(*x.shape[:-1], y.shape[-2], dtype=x.dtype)

# %% mistake="all_by_default" theme="missing"
# The shape is right, and dtype and device are the default ones. Both should be those of the inputs.
# Форма верна, а dtype и устройство стандартные. И то и другое нужно взять у входов.
def fix_fake(x, y):
    return torch.empty(*x.shape[:-1], y.shape[-2])

# %% mistake="still_square" theme="axes"
# The result is still square: the number of columns is the number of rows of `y`, not of `x`.
# Результат по-прежнему квадратный: число столбцов равно числу строк `y`, а не `x`.
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-1], x.shape[-2])

# %% mistake="without_batches" theme="axes"
# Batch dimensions are lost: with them `len(x)` or `x.shape[0]` is no number of rows. Count from the end.
# Измерения батча потеряны: если они есть, `len(x)` или `x.shape[0]` — это не число строк. Отсчитывайте с конца.
def fix_fake(x, y):
    return x.new_empty(len(x), len(y))

# %% mistake="rows_of_x_last" theme="axes"
# Rows and columns are swapped: the rows of the result belong to `x`.
# Строки и столбцы переставлены: строки результата относятся к `x`.
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-2], y.shape[-2], x.shape[-2])

# %% mistake="takes_the_last" theme="axes"
# The last dimension of the result is as long as a row of the inputs. Its size should be the number of rows of `y`.
# Последнее измерение результата такой же длины, как строка входа. А его размер должен быть равен числу строк в `y`.
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-1], y.shape[-1])

# %% mistake="keeps_layout" theme="axes"
# The strides follow the inputs, as those of operations of torch do. The operator's result is always contiguous.
# Шаги (strides) такие же, как у входов: так ведут себя операции torch. А результат оператора всегда непрерывен в
#     памяти.
def fix_fake(x, y):
    rows, columns = x.shape[-2], y.shape[-2]
    out = x.new_empty(*x.shape[:-2], columns, rows).transpose(-1, -2)
    return out if x.stride(-1) > 1 else out.contiguous()

# %% mistake="one_batch_dimension" theme="axes"
# A batch dimension is always expected. Without one the operator gets two matrices.
# Предполагается, что измерение батча есть всегда. Но его может не быть, и тогда оператор получает две матрицы.
def fix_fake(x, y):
    return x.new_empty(x.shape[0], x.shape[-2], y.shape[-2])

# %% mistake="never_contiguous" theme="axes"
# The result is never contiguous: it is a view, such as a slice or what `expand` gives. The operator's result is always
#     contiguous.
# Результат никогда не бывает непрерывным в памяти: это представление (view), например срез или результат `expand`. А у
#     оператора он всегда непрерывен.
def fix_fake(x, y):
    return x[..., :1].expand(*x.shape[:-1], y.shape[-2])

# %% mistake="takes_a_slice" like="never_contiguous"
def fix_fake(x, y):
    return (x.unsqueeze(-2) - y.unsqueeze(-3))[..., 0]

# %% mistake="turns_the_result" like="never_contiguous"
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-2], y.shape[-2], x.shape[-2]).transpose(-1, -2)

# %% mistake="keeps_the_differences" theme="axes"
# The shape has a dimension too many, that of the differences. A distance is one number for each pair of rows.
# В форме лишнее измерение: это форма разностей. А расстояние — одно число для каждой пары строк.
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-1], *y.shape[-2:])

# %% mistake="computes_in_numpy" theme="own"
# NumPy is asked for the numbers, and a fake tensor has none. Only shape, dtype, device and strides are known.
# Числа запрошены через NumPy, а у фиктивного тензора их нет. Известны лишь форма, dtype, устройство и шаги (strides).
def fix_fake(x, y):
    return torch.empty(len(x.numpy()), len(y.numpy()))

# %% mistake="always_float64" theme="precision"
# The dtype is always float64. The operator keeps that of its inputs.
# dtype всегда float64. Оператор же сохраняет dtype входов.
def fix_fake(x, y):
    return torch.empty(*x.shape[:-1], y.shape[-2], dtype=torch.float64, device=x.device)

# %% mistake="counts_from_the_front" theme="axes"
# `len(...)` or `shape[0]` is taken for the number of rows. With dimensions in front it is the first of those: count from
#     the end.
# За число строк принято `len(...)` или `shape[0]`. Если впереди стоят другие измерения, это размер первого из них:
#     отсчитывайте с конца.
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-2], len(x), len(y))

# %% mistake="counts_y_from_the_front" like="counts_from_the_front"
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-1], len(y))

# %% mistake="one_dimension_in_front" theme="axes"
# At most one batch dimension is kept. There may be several, and all stay.
# Сохранено не больше одного измерения батча. Но их бывает несколько, и остаться должны все.
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-2][:1], x.shape[-2], y.shape[-2])

# %% mistake="square_without_batches" like="still_square"
def fix_fake(x, y):
    return x.new_empty(x.shape[-2], x.shape[-2])
