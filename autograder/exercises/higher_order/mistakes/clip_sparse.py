# %%
import torch

from ..clip_sparse import _length, _stored, _with_gradient


def _scale(parameters, factor):
    for p in _with_gradient(parameters):
        assert p.grad is not None
        p.grad.mul_(factor)

# %% mistake="rows_not_merged" theme="accumulation"
# The length was taken over the stored rows as they are. Rows of the same index have to be added first:
#     `coalesce()`.
# Длина взята по хранимым строкам как есть. Сначала нужно сложить строки с одинаковым индексом: `coalesce()`.
def clip_sparse(parameters, max_norm):
    stored = [p.grad._values() if p.grad.is_sparse else p.grad for p in _with_gradient(parameters)]
    norm = torch.stack([values.norm() for values in stored]).norm()
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm

# %% mistake="trips_over_none" theme="missing"
# A parameter without a gradient has None in `.grad`. It takes no part.
# У параметра без градиента в `.grad` лежит None. Его нужно пропускать.
def clip_sparse(parameters, max_norm):
    return torch.stack([p.grad.coalesce().values().norm() if p.grad.is_sparse else p.grad.norm() for p in parameters])

# %% mistake="makes_them_dense" theme="cost"
# The gradients were made dense: the result has the right numbers and the size of the whole table.
# Градиенты превращены в плотные: числа верны, но размер — как у всей таблицы.
def clip_sparse(parameters, max_norm):
    for p in _with_gradient(parameters):
        assert p.grad is not None
        p.grad = p.grad.to_dense() if p.grad.is_sparse else p.grad
    return torch.nn.utils.clip_grad_norm_(parameters, max_norm)

# %% mistake="dense_on_the_way" theme="cost"
# The gradients stay sparse, but a dense one was made on the way, as large as the table.
# Градиенты остались разреженными, но по пути создан плотный тензор размером со всю таблицу.
def clip_sparse(parameters, max_norm):
    norm = torch.stack([p.grad.to_dense().norm() for p in _with_gradient(parameters)]).norm()
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm

# %% mistake="each_on_its_own" theme="own"
# Each gradient was clipped on its own. The length is that of all together, and all are multiplied by one number.
# Каждый градиент отсечён отдельно. Нужна общая длина, и все градиенты умножаются на одно число.
def clip_sparse(parameters, max_norm):
    norm = _length(parameters)
    for p in _with_gradient(parameters):
        _scale([p], (max_norm / _stored(p).norm()).clamp(max=1))
    return norm

# %% mistake="lengthens_the_short" theme="scaling"
# Short gradients were made longer: they are multiplied even if their length is below `max_norm`.
# Короткие градиенты удлинены: они умножаются и тогда, когда длина меньше `max_norm`.
def clip_sparse(parameters, max_norm):
    norm = _length(parameters)
    _scale(parameters, max_norm / norm)
    return norm

# %% mistake="shortens_the_sparse_alone" theme="missing"
# Only the sparse gradients were shortened, the dense ones stayed.
# Укорочены только разреженные градиенты, а плотные остались прежними.
def clip_sparse(parameters, max_norm):
    norm = _length(parameters)
    _scale([p for p in _with_gradient(parameters) if p.grad.is_sparse], (max_norm / norm).clamp(max=1))
    return norm

# %% mistake="adds_the_lengths" theme="own"
# The lengths of the gradients were added. The length of all together is the root of the sum of their squares.
# Длины градиентов сложены. Общая длина — корень из суммы их квадратов.
def clip_sparse(parameters, max_norm):
    norm = torch.stack([_stored(p).norm() for p in _with_gradient(parameters)]).sum()
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm

# %% mistake="returns_nothing" theme="return"
# Nothing was returned: `return` is missing.
# Функция ничего не возвращает: забыт `return`.
def clip_sparse(parameters, max_norm):
    _scale(parameters, (max_norm / _length(parameters)).clamp(max=1))

# %% mistake="shortens_the_dense_alone" theme="missing"
# The sparse gradient was left as it is, and only the dense one shortened. If rows repeat, `coalesce()` returns a
#     new tensor.
# Разреженный градиент остался прежним, укорочен только плотный. Если строки повторяются, метод `coalesce()`
#     возвращает новый тензор.
def clip_sparse(parameters, max_norm):
    norm = _length(parameters)
    _scale([p for p in _with_gradient(parameters) if not p.grad.is_sparse], (max_norm / norm).clamp(max=1))
    return norm

# %% mistake="shortens_the_sparse_twice" theme="scaling"
# The sparse gradient was multiplied by the factor twice.
# Разреженный градиент умножен на множитель дважды.
def clip_sparse(parameters, max_norm):
    norm = _length(parameters)
    for p in _with_gradient(parameters):
        factor = (max_norm / norm).clamp(max=1)
        _scale([p], factor**2 if p.grad.is_sparse else factor)
    return norm

# %% mistake="measures_the_sparse_alone" theme="missing"
# The length is that of the sparse gradient alone. The dense ones belong to it.
# Взята длина одного разреженного градиента. Плотные тоже входят в общую длину.
def clip_sparse(parameters, max_norm):
    norm = _length([p for p in _with_gradient(parameters) if p.grad.is_sparse])
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm

# %% mistake="returns_the_clipped_length" theme="order"
# The length after clipping was returned. Asked for is the one before it.
# Возвращена длина после отсечения, а нужна длина до него.
def clip_sparse(parameters, max_norm):
    norm = _length(parameters)
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm.clamp(max=max_norm)

# %% mistake="returns_the_square" theme="own"
# The square of the length was returned: the root is missing.
# Возвращён квадрат длины: не извлечён корень.
def clip_sparse(parameters, max_norm):
    square = _length(parameters) ** 2
    _scale(parameters, (max_norm / square).clamp(max=1))
    return square

# %% mistake="limits_the_entries" theme="own"
# Each entry was limited to `max_norm`. The gradients are multiplied by one number, so that their direction stays.
# Каждый элемент ограничен числом `max_norm`. Градиенты нужно умножать на одно и то же число, чтобы направление не
#     менялось.
def clip_sparse(parameters, max_norm):
    norm = _length(parameters)
    for p in _with_gradient(parameters):
        if p.grad.is_sparse:
            p.grad = p.grad.coalesce()
        _stored(p).clamp_(-max_norm, max_norm)
    return norm

# %% mistake="makes_the_long_dense" like="makes_them_dense"
def clip_sparse(parameters, max_norm):
    norm = _length(parameters)
    if norm > max_norm:
        for p in _with_gradient(parameters):
            p.grad = p.grad.to_dense() * (max_norm / norm)
    return norm

# %% mistake="takes_the_largest" theme="own"
# The length is the largest magnitude of an entry. Asked for is the root of the sum of squares.
# Вместо длины взят наибольший модуль элемента, а нужен корень из суммы квадратов.
def clip_sparse(parameters, max_norm):
    norm = torch.stack([_stored(p).abs().max() for p in _with_gradient(parameters)]).max()
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm

# %% mistake="adds_the_magnitudes" theme="own"
# The magnitudes of the entries were added. Asked for is the root of the sum of squares.
# Сложены модули элементов, а нужен корень из суммы квадратов.
def clip_sparse(parameters, max_norm):
    norm = torch.stack([_stored(p).abs().sum() for p in _with_gradient(parameters)]).sum()
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm

# %% mistake="turns_the_factor" theme="scaling"
# The factor is upside down: the gradients were multiplied by the length divided by `max_norm`.
# Множитель перевёрнут: градиенты умножены на длину, делённую на `max_norm`.
def clip_sparse(parameters, max_norm):
    norm = _length(parameters)
    if norm > max_norm:
        _scale(parameters, norm / max_norm)
    return norm

# %% mistake="shortens_to_one" theme="missing"
# The gradients were shortened to the length 1, not to `max_norm`.
# Градиенты укорочены до длины 1, а не до `max_norm`.
def clip_sparse(parameters, max_norm):
    norm = _length(parameters)
    if norm > max_norm:
        _scale(parameters, 1 / norm)
    return norm

# %% mistake="leaves_them_long" theme="missing"
# The length is right, but the gradients are as before: nothing was put into `.grad`.
# Длина верна, но градиенты остались прежними: в `.grad` ничего не записано.
def clip_sparse(parameters, max_norm):
    return _length(parameters)

# %% mistake="zeros_for_none" theme="accumulation"
# A parameter without a gradient got one of zeros. None had to stay None.
# Параметр без градиента получил градиент из нулей. А None должно было остаться None.
def clip_sparse(parameters, max_norm):
    norm = _length(parameters)
    _scale(parameters, (max_norm / norm).clamp(max=1))
    for p in parameters:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
    return norm

# %% mistake="makes_them_sparse" theme="own"
# A dense gradient was made sparse. A dense one stays dense.
# Плотный градиент стал разреженным. А он должен остаться плотным.
def clip_sparse(parameters, max_norm):
    norm = _length(parameters)
    _scale(parameters, (max_norm / norm).clamp(max=1))
    for p in _with_gradient(parameters):
        p.grad = p.grad if p.grad.is_sparse else p.grad.to_sparse()
    return norm

# %% mistake="first_table_alone" theme="missing"
# Of several sparse gradients only the first one counts. There may be more than one table.
# Из нескольких разреженных градиентов учтён только первый. Таблиц может быть больше одной.
def clip_sparse(parameters, max_norm):
    others = [p for p in parameters[1:] if p.grad is not None and not p.grad.is_sparse]
    norm = _length([parameters[0], *others])
    _scale([parameters[0], *others], (max_norm / norm).clamp(max=1))
    return norm

# %% mistake="needs_a_gradient" theme="missing"
# If no parameter has a gradient, there is nothing to stack or to join, and torch raises an error. The length is 0 then.
# Если градиента нет ни у одного параметра, соединять нечего, и torch завершается ошибкой. Длина в этом случае равна 0.
def clip_sparse(parameters, max_norm):
    norm = torch.stack([_stored(p).norm() for p in _with_gradient(parameters)]).norm()
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm

# %% mistake="joins_no_gradients" like="needs_a_gradient"
def clip_sparse(parameters, max_norm):
    norm = torch.cat([_stored(p).flatten() for p in _with_gradient(parameters)]).norm()
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm

# %% mistake="sums_no_gradients" theme="missing"
# If no parameter has a gradient, a sum without terms is Python's number 0, not a tensor: it has no `sqrt()`.
# Если градиента нет ни у одного параметра, сумма без слагаемых — это число 0, а не тензор: метода `sqrt()` у него нет.
def clip_sparse(parameters, max_norm):
    norm = sum(_stored(p).square().sum() for p in _with_gradient(parameters)).sqrt()
    _scale(parameters, (max_norm / norm).clamp(max=1))
    return norm

# %% mistake="divides_a_number_by_zero" theme="own"
# If there is no gradient, or all are 0, the length is 0, and Python refuses to divide a number by 0. Divide only if the length
#     is above `max_norm`.
# Если градиентов нет или все они равны 0, длина равна 0, а делить число на 0 Python не станет. Делите, только если длина больше
#     `max_norm`.
def clip_sparse(parameters, max_norm):
    norm = _length(parameters).item()
    _scale(parameters, min(1.0, max_norm / norm))
    return norm

# %% mistake="zero_divided_by_zero" theme="precision"
# If all gradients are 0, so is the length, and 0 divided by 0 is NaN.
# Если все градиенты равны 0, то и длина равна 0, а 0 / 0 — это NaN.
def clip_sparse(parameters, max_norm):
    norm = _length(parameters)
    _scale(parameters, norm.clamp(max=max_norm) / norm)
    return norm
