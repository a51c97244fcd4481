# %%
import numpy as np
import torch


class _LogAddExp(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return torch.from_numpy(np.asarray(np.logaddexp(x.numpy(), y.numpy())))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        to_x = grad_output * torch.sigmoid(x - y)
        to_y = grad_output * torch.sigmoid(y - x)
        return to_x.sum_to_size(x.shape), to_y.sum_to_size(y.shape)


def _front(t, dim):
    return t if dim is None else t.movedim(dim, 0)


def _padded(in_dims, *inputs):
    """Return the inputs with the batch in front, and with ones for the dimensions that a sample lacks."""
    inputs = [t.unsqueeze(0) if d is None else t.movedim(d, 0) for t, d in zip(inputs, in_dims)]
    most = max(t.dim() for t in inputs)
    return [t.reshape(len(t), *[1] * (most - t.dim()), *t.shape[1:]) for t in inputs]


def _last(t, dim):
    return t.unsqueeze(-1) if dim is None else t.movedim(dim, -1)

# %% mistake="as_if_there_were_no_batch" theme="axes"
# The rule ignores `in_dims`. It is right only if both batches are in the same place and the samples have the same
#     shape.
# Правило не смотрит на `in_dims`. Оно верно, только если оба батча стоят на одном месте и у примеров одинаковая форма.
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        return LogAddExp.apply(x, y), in_dims[0]

# %% mistake="batch_dimension_first" theme="axes"
# Both batches were moved to the front, but samples with fewer dimensions are then aligned with the wrong ones.
# Оба батча перенесены вперёд, но тогда примеры, у которых измерений меньше, выравниваются не с теми измерениями.
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        return LogAddExp.apply(_front(x, in_dims[0]), _front(y, in_dims[1])), 0

# %% mistake="none_taken_for_zero" theme="axes"
# An input without a batch is aligned wrongly, as when None in `in_dims` is taken for dimension 0.
# Вход без батча выровнен неверно: так бывает, если None в `in_dims` принято за измерение 0.
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        return LogAddExp.apply(_last(x, in_dims[0] or 0), _last(y, in_dims[1] or 0)), -1

# %% mistake="made_by_torch" theme="own"
# There is no usable rule. One that torch makes runs `forward` with tensors that NumPy cannot read. One of your own
#     returns two things: the result and the place of the batch in it.
# Пригодного правила нет. Правило, которое составляет torch, выполняет `forward` с тензорами, которых NumPy прочесть не
#     может. Правило, написанное вами, должно возвращать и результат, и номер измерения батча в нём.
class LogAddExp(_LogAddExp):
    generate_vmap_rule = True

# %% mistake="place_of_the_result" theme="axes"
# The numbers are right, but the rule reports another place of the batch than the one where it has put it.
# Числа верны, но правило сообщает не то место батча, куда само его поставило.
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        return LogAddExp.apply(_last(x, in_dims[0]), _last(y, in_dims[1])), in_dims[0] or 0

# %% mistake="place_of_the_result_in_front" like="place_of_the_result"
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        x_dim, y_dim = in_dims
        return LogAddExp.apply(*_padded(in_dims, x, y)), y_dim if x_dim is None else x_dim

# %% mistake="one_by_one" theme="cost"
# The result is right, but `forward` runs once for each sample. A rule exists to avoid that.
# Результат верен, но `forward` выполняется для каждого примера отдельно. Правило нужно как раз затем, чтобы этого
#     избежать.
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        def sample(t, dim, i):
            return t if dim is None else t.select(dim, i)

        rows = [LogAddExp.apply(*(sample(t, d, i) for t, d in zip((x, y), in_dims))) for i in range(info.batch_size)]
        return torch.stack(rows), 0

# %% mistake="no_graph_inside" theme="recording"
# The values are right, but `backward()` does not come through `vmap`: the rule computes on detached tensors, detaches
#     its result, or calls `forward` in place of `apply`.
# Значения верны, но `backward()` сквозь `vmap` не проходит: правило вычисляет по отсоединённым тензорам, отсоединяет
#     результат или вызывает `forward` вместо `apply`.
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        return LogAddExp.apply(_last(x, in_dims[0]).detach(), _last(y, in_dims[1]).detach()), -1

# %% mistake="unbatched_is_repeated_as_it_is" theme="axes"
# An input without a batch was not given a dimension for it, so its last dimension is aligned with the batch.
# У входа без батча нет измерения под батч, поэтому с батчем выравнивается его последнее измерение.
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        x, y = (t if d is None else t.movedim(d, -1) for t, d in zip((x, y), in_dims))
        return LogAddExp.apply(x, y), -1

# %% mistake="batch_of_x_alone" theme="axes"
# Only `x` may have a batch in this rule. `in_dims` has an entry for each input.
# В этом правиле батч может быть только у `x`. А в `in_dims` есть элемент для каждого входа.
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        return LogAddExp.apply(_last(x, in_dims[0]), y), -1

# %% mistake="batch_dimension_first_for_all" like="batch_dimension_first"
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        x, y = (t.unsqueeze(0) if d is None else t.movedim(d, 0) for t, d in zip((x, y), in_dims))
        return LogAddExp.apply(x, y), 0

# %% mistake="none_taken_for_a_place" theme="axes"
# The rule ends in an error. If it does so only where an input has no batch: its entry in `in_dims` is None, and
#     None is no place.
# Правило заканчивается ошибкой. Если только при входе без батча, то потому, что в `in_dims` для такого входа стоит
#     None, а это не номер измерения.
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        return LogAddExp.apply(x.movedim(in_dims[0], -1), y.movedim(in_dims[1], -1)), -1

# %% mistake="y_alone_is_padded" theme="axes"
# The rule adds the missing dimensions to `y` alone. Sometimes it is `x` that has fewer.
# Недостающие измерения правило добавляет только к `y`. А меньше их бывает и у `x`.
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        x, y = (t.unsqueeze(0) if d is None else t.movedim(d, 0) for t, d in zip((x, y), in_dims))
        y = y.reshape(len(y), *[1] * (x.dim() - y.dim()), *y.shape[1:])
        return LogAddExp.apply(x, y), 0

# %% mistake="unbatched_meets_the_batch" theme="axes"
# The batches are in front, and the samples are padded. But an input without a batch was not given a dimension for it,
#     and its first dimension is aligned with the batch.
# Батчи стоят впереди, недостающие измерения добавлены. Но у входа без батча нет измерения под батч, и с батчем
#     выравнивается его первое измерение.
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        most = max(x.dim(), y.dim())  # of the batches and of samples, as if they were the same
        moved = [_front(t, d) for t, d in zip((x, y), in_dims)]
        x, y = (
            t if d is None else t.reshape(len(t), *[1] * (most - t.dim()), *t.shape[1:]) for t, d in zip(moved, in_dims)
        )
        return LogAddExp.apply(x, y), 0

# %% mistake="without_the_library" theme="own"
# The rule computes the result without `forward`. That method stands for a library that nothing in torch replaces.
# Правило вычисляет результат без `forward`. А этот метод играет роль библиотеки, которую в torch ничем не заменить.
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        return torch.logaddexp(_last(x, in_dims[0]), _last(y, in_dims[1])), -1

# %% mistake="padded_behind" theme="axes"
# The batches are in front, but the missing dimensions are added at the end. Samples are aligned from the right: they
#     belong directly behind the batch.
# Батчи стоят впереди, но недостающие измерения добавлены в конец. Примеры выравниваются справа: место этих измерений —
#     сразу за батчем.
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        x, y = (t.unsqueeze(0) if d is None else t.movedim(d, 0) for t, d in zip((x, y), in_dims))
        most = max(x.dim(), y.dim())
        x, y = (t[(..., *[None] * (most - t.dim()))] for t in (x, y))
        return LogAddExp.apply(x, y), 0

# %% mistake="zero_taken_for_none" theme="axes"
# A batch at dimension 0 was treated as if there were none: in an `if` 0 counts as false, as None does. Ask for `is None`.
# С батчем по измерению 0 правило обходится так, будто батча нет: в условии `if` число 0 ложно, как и None. Пишите
#     `is None`.
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        return LogAddExp.apply(*_padded([dim or None for dim in in_dims], x, y)), 0

# %% mistake="swaps_dimensions" theme="axes"
# The batch was swapped with the dimension in front, so the order of the other dimensions has changed. `movedim` moves one
#     dimension and keeps the order of the others.
# Измерение батча поменяли местами с первым, и порядок остальных измерений нарушился. Функция `movedim` переносит одно
#     измерение, а порядок остальных сохраняет.
class LogAddExp(_LogAddExp):
    @staticmethod
    def vmap(info, in_dims, x, y):
        x, y = (t if d is None else t.transpose(d, 0) for t, d in zip((x, y), in_dims))
        front = [d if d is None else 0 for d in in_dims]
        return LogAddExp.apply(*_padded(front, x, y)), 0
