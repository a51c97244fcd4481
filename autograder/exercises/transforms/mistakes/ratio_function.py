# %%
import torch
from torch.autograd.function import once_differentiable


class _Ratio(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        ratio = x / y
        return ratio, (ratio > 1).to(ratio.dtype).mean()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, to_ratio, to_share):
        x, y = ctx.saved_tensors
        return to_ratio / y, -to_ratio * x / y**2

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return dx / y - x * dy / y**2, None

# %% mistake="takes_the_context" theme="own"
# `backward()` is right, but `forward` takes the context, and `torch.func` refuses that.
# Для `backward()` всё верно, но `forward` принимает контекст, а `torch.func` этого не допускает.
class Ratio(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ratio = x / y
        share = (ratio > 1).to(ratio.dtype).mean()
        ctx.mark_non_differentiable(share)
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        return ratio, share

    backward = _Ratio.backward
    jvp = _Ratio.jvp

# %% mistake="without_a_rule" theme="missing"
# There is no rule for batches, or it returns nothing.
# Правила для батча нет, или оно ничего не возвращает.
class Ratio(_Ratio):
    generate_vmap_rule = False

# %% mistake="without_a_jvp" theme="missing"
# There is no method `jvp`.
# Нет метода `jvp`.
class Ratio(torch.autograd.Function):
    generate_vmap_rule = True
    forward = _Ratio.forward
    setup_context = _Ratio.setup_context
    backward = _Ratio.backward

# %% mistake="saved_for_backward_only" theme="own"
# `jvp` finds nothing in `saved_tensors`: it was saved for the backward pass alone.
# Метод `jvp` ничего не находит в `saved_tensors`: тензоры сохранены только для обратного прохода.
class Ratio(_Ratio):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs)

# %% mistake="like_backward" theme="derivative"
# `jvp` has to return an entry for each output: the tangent of the ratio, and None for the share. Yours returns
#     something else.
# Метод `jvp` должен вернуть по значению на каждый выход: касательный вектор отношения и None для доли. Ваш возвращает
#     что-то другое.
class Ratio(_Ratio):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return dx / y, -x * dy / y**2

# %% mistake="share_is_marked_by_nobody" theme="recording"
# The share has a graph. It is piecewise constant, and nobody said that it is not differentiable.
# У доли есть граф. Она кусочно-постоянна, но о том, что она недифференцируема, не сказано.
class Ratio(_Ratio):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

# %% mistake="something_in_between" theme="recording"
# The first derivatives are right, the second are not: what was saved is neither an input nor an output.
# Первые производные верны, а вторые — нет: сохранено то, что не является ни входом, ни выходом.
class Ratio(_Ratio):
    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(1 / y, -x / y**2)
        ctx.save_for_forward(x, y)

    @staticmethod
    def backward(ctx, to_ratio, to_share):
        by_x, by_y = ctx.saved_tensors
        return to_ratio * by_x, to_ratio * by_y

# %% mistake="plus_in_backward" theme="derivative"
# `backward` has a plus for `y`: with a growing `y` the ratio falls.
# В `backward` градиент по `y` взят со знаком плюс, а с ростом `y` отношение уменьшается.
class Ratio(_Ratio):
    @staticmethod
    def backward(ctx, to_ratio, to_share):
        x, y = ctx.saved_tensors
        return to_ratio / y, to_ratio * x / y**2

# %% mistake="share_of_the_whole_batch" theme="axes"
# The share is that of the whole batch. In a loop each sample has its own.
# Доля вычислена по всему батчу. А в цикле у каждого примера она своя.
class Ratio(_Ratio):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x, y):
        x, y = (t.expand(info.batch_size, *t.shape) if d is None else t.movedim(d, 0) for t, d in zip((x, y), in_dims))
        return Ratio.apply(x, y), (0, None)

# %% mistake="once_is_not_enough" theme="recording"
# `hessian` is right, but `jacrev` of `jacrev` is not: nothing is recorded in `backward`.
# Результат `hessian` верен, а у `jacrev` от `jacrev` — нет: внутри `backward` ничего не записывается.
class Ratio(_Ratio):
    backward = staticmethod(once_differentiable(_Ratio.backward))

# %% mistake="takes_the_context_still" theme="own"
# `forward` still takes the context. With `setup_context` beside it, torch calls `forward` with the inputs alone.
# Метод `forward` по-прежнему принимает контекст. А если есть `setup_context`, torch передаёт в `forward` только входы.
class Ratio(_Ratio):
    @staticmethod
    def forward(ctx, x, y):
        ratio = x / y
        return ratio, (ratio > 1).to(ratio.dtype).mean()

# %% mistake="saved_for_forward_only" theme="own"
# `backward` finds nothing in `saved_tensors`: it was saved for forward mode alone.
# Метод `backward` ничего не находит в `saved_tensors`: сохранено только для прямого режима.
class Ratio(_Ratio):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_forward(*inputs)
