# %%
import torch


def _through(x):
    """Round with a straight-through gradient."""
    rounded = x + (x.round() - x).detach()
    return rounded


_KEPT = {}


def _limited(x, levels):
    inside = x.abs() < levels
    return torch.where(inside, x, levels * x.sign())

# %% mistake="rounds_without_a_trick" theme="derivative"
# The gradient of `x` is 0 everywhere: the rounding was left as it is. Its own derivative is 0, and nothing comes
#     back to `x`.
# Градиент по `x` всюду равен 0: округление осталось как есть. Его собственная производная равна 0, и до `x` ничего не
#     доходит.
def quantize(x, step, levels):
    return step * (x / step).round().clamp(-levels, levels)

# %% mistake="passes_everywhere" theme="derivative"
# The gradient passes outside the range as well. There the value does not move with `x`, however far `x` goes.
# Градиент проходит и вне диапазона. Но там значение не меняется вместе с `x`, как бы далеко `x` ни ушёл.
def quantize(x, step, levels):
    scaled = x / step
    return step * (scaled + (_limited(scaled, levels).round() - scaled).detach())

# %% mistake="step_is_a_constant" theme="recording"
# The gradient of `x` is right, and `step` gets none, or zeros: it is detached, or its parts are, wherever it counts.
# Градиент по `x` верен, а до `step` ничего не доходит: шаг отсоединён от графа везде, где он важен.
def quantize(x, step, levels):
    step = step.detach()
    return step * _through(_limited(x / step, levels))

# %% mistake="step_counts_the_range_alone" theme="recording"
# The gradient of `step` misses the rounding error: inside the range it is 0. The detached part holds `step` as well,
#     and that part of it is lost.
# В градиенте по `step` нет ошибки округления: внутри диапазона он равен 0. Отсоединённая часть тоже содержит `step`, и
#     эта зависимость потеряна.
def quantize(x, step, levels):
    clipped = step * _limited(x / step, levels)
    return clipped + (step * (clipped / step).round() - clipped).detach()

# %% mistake="step_counts_the_value_alone" theme="recording"
# The gradient of `step` is that of the factor alone. `x / step` depends on the step, too, and the straight-through path
#     goes through it.
# Градиент по `step` взят только от множителя. Но и `x / step` зависит от шага, и сквозной путь проходит через это
#     частное.
def quantize(x, step, levels):
    return step * _through(_limited(x / step.detach(), levels))

# %% mistake="detaches_everything" theme="recording"
# The result has no graph: the whole sum is detached, not only the difference.
# У результата нет графа: отсоединена вся сумма, а не одна разность.
def quantize(x, step, levels):
    scaled = _limited(x / step, levels)
    return (step * (scaled + scaled.round() - scaled)).detach()

# %% mistake="passes_with_a_minus" theme="derivative"
# The gradient of `x` has the wrong sign: the rounded and the detached term are swapped.
# У градиента по `x` неверный знак: отсоединено не то слагаемое.
def quantize(x, step, levels):
    scaled = _limited(x / step, levels)
    return step * (scaled.detach() + scaled.round() - scaled)

# %% mistake="does_not_clip" theme="missing"
# Values outside the range were rounded, but not limited to `levels` steps.
# Значения вне диапазона округлены, но не ограничены `levels` шагами.
def quantize(x, step, levels):
    return step * _through(x / step)

# %% mistake="counts_steps" theme="scaling"
# The number of steps is returned. The value on the grid is that number times `step`.
# Возвращено число шагов. Значение на сетке — это число шагов, умноженное на `step`.
def quantize(x, step, levels):
    return _through(_limited(x / step, levels))

# %% mistake="rounds_down" theme="own"
# The values were rounded down. The nearest value of the grid is asked for.
# Значения округлены вниз, а нужно ближайшее значение сетки.
def quantize(x, step, levels):
    scaled = _limited(x / step, levels)
    return step * (scaled + (scaled.floor() - scaled).detach())

# %% mistake="clips_at_a_number" theme="scaling"
# `x` itself was limited to `levels`. The range ends at `levels` steps, that is, at `levels * step`.
# Ограничен сам `x` числом `levels`. Но диапазон кончается на `levels` шагах, то есть на `levels * step`.
def quantize(x, step, levels):
    return step * _through(_limited(x, levels) / step)

# %% mistake="half_a_step_further" theme="order"
# The gradient passes up to half a step outside the range: the rounded number was compared with `levels`, where the
#     number itself should be.
# Градиент проходит ещё полшага за границей диапазона: с `levels` сравнивается округлённое число, а не само число.
def quantize(x, step, levels):
    rounded = _through(x / step)
    return step * torch.where(rounded.abs() <= levels, rounded, levels * rounded.sign())

# %% mistake="half_a_step_early" theme="order"
# The gradient stops half a step before the range ends: a number that was rounded to the last value of the grid counts
#     as outside. Was it clipped after the rounding?
# Градиент прекращается за полшага до границы диапазона: число, округлённое до последнего значения сетки, уже считается
#     лежащим вне его. Не ограничено ли значение после округления?
def quantize(x, step, levels):
    rounded = _through(x / step)
    return step * torch.where(rounded.abs() < levels, rounded, levels * rounded.sign())

# %% mistake="returns_x" theme="missing"
# `x` came back as it is. Its values have to lie on the grid.
# Возвращён сам `x`, а значения результата должны лежать на сетке.
def quantize(x, step, levels):
    return x

# %% mistake="one_level_fewer_above" theme="own"
# The range ends one step too early above, as for the integers from −128 to 127. Here both sides have `levels` steps.
# Сверху диапазон кончается на шаг раньше, как у целых чисел от −128 до 127. А здесь с обеих сторон по `levels` шагов.
def quantize(x, step, levels):
    return step * _through((x / step).clamp(-levels, levels - 1))

# %% mistake="step_has_no_end" theme="derivative"
# Outside the range `step` gets no gradient. There the result is an end of the range, which moves with the step.
# Вне диапазона до `step` ничего не доходит. Но там результат — граница диапазона, а она сдвигается вместе с шагом.
def quantize(x, step, levels):
    scaled = x / step
    return torch.where(scaled.abs() < levels, step * _through(scaled), (levels * step * x.sign()).detach())

# %% mistake="zero_outside" theme="own"
# Values outside the range become 0. They should become the end of the range on their side.
# Значения вне диапазона обращаются в 0. А они должны становиться концом диапазона со своей стороны.
def quantize(x, step, levels):
    scaled = x / step
    return step * _through(scaled) * (scaled.abs() <= levels)

# %% mistake="nothing_below_zero" theme="own"
# Negative entries become 0. The range goes from `-levels * step` to `levels * step`.
# Отрицательные элементы обращаются в 0. Диапазон идёт от `-levels * step` до `levels * step`.
def quantize(x, step, levels):
    return step * _through((x / step).clamp(0, levels))

# %% mistake="no_end_below" theme="missing"
# Values are limited above and not below. The range ends at `-levels * step` as well.
# Значения ограничены сверху, но не снизу. Диапазон кончается и у `-levels * step`.
def quantize(x, step, levels):
    return step * _through((x / step).clamp(max=levels))

# %% mistake="overwrites_x" theme="in_place"
# `x` itself was rounded in place, without recording, and returned. The rounding is not in the graph, and the numbers of
#     the caller are gone. The result has to be a new tensor.
# Сам `x` округлён на месте, без записи, и возвращён. Округления в графе нет, а числа вызывающего кода пропали. Нужен новый
#     тензор.
def quantize(x, step, levels):
    with torch.no_grad():
        return x.div_(step).round_().clamp_(-levels, levels).mul_(step)

# %% mistake="kept_on_the_class" theme="state"
# What `backward` needs is kept on the class or in a global variable. All calls share those, so another call overwrites
#     what this one needs; each call has its own `ctx`.
# Нужное для `backward` хранится в самом классе или в глобальной переменной. Такое место у всех вызовов общее, и следующий
#     вызов затирает то, что нужно этому; объект `ctx` у каждого вызова свой.
def quantize(x, step, levels):
    kept = _KEPT

    class OnTheGrid(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, step):
            scaled = x / step
            rounded = scaled.round().clamp(-levels, levels)
            kept["inside"] = scaled.abs() < levels
            kept["of_step"] = torch.where(kept["inside"], rounded - scaled, rounded)
            return step * rounded

        @staticmethod
        def backward(ctx, grad):
            return grad * kept["inside"], (grad * kept["of_step"]).sum()

    return OnTheGrid.apply(x, step)
