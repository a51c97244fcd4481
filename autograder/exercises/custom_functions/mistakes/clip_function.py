# %%
import torch

from ..common import Function


def _clip_with_share(x):
    return x.clamp(-1, 1), (x.abs() > 1).to(x.dtype).mean()


class _Clip(Function):
    """A right clip.

    The mistakes are subclasses of this class.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        ctx.mark_non_differentiable(share)
        return clipped, share

    @staticmethod
    def backward(ctx, grad_clipped, grad_share):
        return grad_clipped * (ctx.saved_tensors[0].abs() <= 1)

# %% mistake="marks_nothing" theme="recording"
# The share was not marked: it requires grad, and differentiating it gives a made-up gradient. A `detach()` in
#     `forward` does not help.
# Доля не отмечена: она требует градиента, и если её продифференцировать, получится выдуманный градиент. Вызов
#     `detach()` внутри `forward` не помогает.
class Clip(_Clip):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        return clipped, share.detach()

# %% mistake="marks_both" theme="recording"
# The clipped tensor has no gradient: both outputs were marked, or `backward` returns None.
# У обрезанного тензора нет градиента: отмечены оба выхода или `backward` возвращает None.
class Clip(_Clip):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        outputs = _clip_with_share(x)
        ctx.mark_non_differentiable(*outputs)
        return outputs

# %% mistake="takes_one_gradient" theme="missing"
# `backward` takes one gradient. It gets one for each output of `forward`, also for an output that is marked.
# Метод `backward` принимает один градиент. Но он получает по одному на каждый выход `forward`, в том числе на
#     отмеченный.
class Clip(_Clip):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0].abs() <= 1)

# %% mistake="share_is_a_number" theme="missing"
# The share is a Python number, not a tensor of shape () in the dtype of `x`.
# Доля — число Python, а нужен тензор формы () с тем же dtype, что у `x`.
class Clip(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        return clipped, share.item()

    @staticmethod
    def backward(ctx, grad_clipped, grad_share):
        return grad_clipped * (ctx.saved_tensors[0].abs() <= 1)

# %% mistake="number_for_share" theme="scaling"
# The number of entries outside is returned, not their share of all entries.
# Возвращается число элементов вне отрезка, а не их доля.
class Clip(_Clip):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        share = share * x.numel()
        ctx.mark_non_differentiable(share)
        return clipped, share

# %% mistake="share_inside" theme="missing"
# The share of the entries inside [−1, 1] was returned. The share outside is asked for.
# Возвращается доля элементов внутри отрезка [−1, 1], а нужна доля тех, что лежат вне его.
class Clip(_Clip):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        share = 1 - share
        ctx.mark_non_differentiable(share)
        return clipped, share

# %% mistake="clip_passes_everything" theme="derivative"
# The gradient passes everywhere. Where an entry was clipped, the result does not depend on it, and the gradient is
#     0.
# Градиент проходит всюду. Там, где элемент обрезан, результат от него не зависит, и градиент равен 0.
class Clip(Function):
    @staticmethod
    def forward(ctx, x):
        clipped, share = _clip_with_share(x)
        ctx.mark_non_differentiable(share)
        return clipped, share

    @staticmethod
    def backward(ctx, grad_clipped, grad_share):
        return grad_clipped.clone()

# %% mistake="clip_on_the_class" theme="state"
# What `backward` needs is kept on the class or in a global variable. All calls share those, so a second call
#     overwrites what the first one needs; each call has its own `ctx`.
# Нужное для `backward` хранится в самом классе или в глобальной переменной. Такое место у всех вызовов общее, и
#     второй вызов затирает то, что нужно первому; объект `ctx` у каждого вызова свой.
class Clip(Function):
    inside = None

    @staticmethod
    def forward(ctx, x):
        Clip.inside = x.abs() <= 1
        clipped, share = _clip_with_share(x)
        ctx.mark_non_differentiable(share)
        return clipped, share

    @staticmethod
    def backward(ctx, grad_clipped, grad_share):
        return grad_clipped * Clip.inside

# %% mistake="clips_the_input" theme="in_place"
# The input, a tensor that belongs to the caller, is written over, as when `forward` computes in place.
# Вход, а это чужой тензор, перезаписан: так бывает, когда `forward` вычисляет на месте.
class Clip(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.inside = x.abs() <= 1
        share = (x.abs() > 1).to(x.dtype).mean()
        ctx.mark_non_differentiable(share)
        return x.clamp_(-1, 1), share

    @staticmethod
    def backward(ctx, grad_clipped, grad_share):
        return grad_clipped * ctx.inside

# %% mistake="clips_in_place" theme="in_place"
# `backward` computes in place and so changes `grad_output`, a tensor that belongs to the caller.
# В `backward` вычисление выполнено на месте, и тем самым изменён `grad_output`, а это чужой тензор.
class Clip(_Clip):
    @staticmethod
    def backward(ctx, grad_clipped, grad_share):
        return grad_clipped.mul_(ctx.saved_tensors[0].abs() <= 1)

# %% mistake="forward_returns_a_list" theme="missing"
# `forward` returns a list. Two outputs have to come as a tuple.
# Метод `forward` возвращает список. Два выхода нужно возвращать кортежем.
class Clip(_Clip):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        ctx.mark_non_differentiable(share)
        return [clipped, share]

# %% mistake="clip_without_the_ends" theme="derivative"
# The ends of the interval were left out: at −1 and 1 the gradient should pass.
# Концы отрезка не учтены: в точках −1 и 1 градиент должен проходить.
class Clip(_Clip):
    @staticmethod
    def backward(ctx, grad_clipped, grad_share):
        return grad_clipped * (ctx.saved_tensors[0].abs() < 1)

# %% mistake="counts_the_ends" theme="own"
# The ends of the interval were counted as outside. −1 and 1 lie in [−1, 1].
# Концы отрезка отнесены к внешним точкам. Но −1 и 1 принадлежат отрезку [−1, 1].
class Clip(_Clip):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        share = (x.abs() >= 1).to(x.dtype).mean()
        ctx.mark_non_differentiable(share)
        return x.clamp(-1, 1), share

# %% mistake="one_for_each_output" theme="own"
# `backward` returns a gradient for each output. It takes one for each output, and returns one for each argument of
#     `apply`: here a single one.
# Метод `backward` возвращает по градиенту на каждый выход. Для каждого выхода он градиент получает, а возвращает по
#     одному на каждый аргумент `apply`. Здесь аргумент один.
class Clip(_Clip):
    @staticmethod
    def backward(ctx, grad_clipped, grad_share):
        return grad_clipped * (ctx.saved_tensors[0].abs() <= 1), grad_share

# %% mistake="clip_mask_alone" theme="derivative"
# `backward` returns the mask alone, 0 and 1. It has to be multiplied by `grad_output`.
# Метод `backward` возвращает только маску из нулей и единиц. Её нужно умножить на `grad_output`.
class Clip(_Clip):
    @staticmethod
    def backward(ctx, grad_clipped, grad_share):
        return (ctx.saved_tensors[0].abs() <= 1).to(grad_clipped.dtype)

# %% mistake="share_in_float32" theme="precision"
# The share has the dtype float32, whatever the dtype of `x`.
# У доли тип float32, каков бы ни был dtype у `x`.
class Clip(_Clip):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        share = (x.abs() > 1).float().mean()
        ctx.mark_non_differentiable(share)
        return x.clamp(-1, 1), share

# %% mistake="counts_one_side" theme="missing"
# Only the entries above 1 are counted in the share. Those below −1 lie outside too.
# В доле учтены только элементы больше 1. Элементы меньше −1 тоже лежат вне отрезка.
class Clip(_Clip):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        share = (x > 1).to(x.dtype).mean()
        ctx.mark_non_differentiable(share)
        return x.clamp(-1, 1), share

# %% mistake="share_of_shape_1" theme="axes"
# The share has the shape `(1,)`. It is one number, a tensor of shape `()`.
# У доли форма `(1,)`. Это одно число, тензор формы `()`.
class Clip(_Clip):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        share = (x.abs() > 1).to(x.dtype).mean().reshape(1)
        ctx.mark_non_differentiable(share)
        return x.clamp(-1, 1), share

# %% mistake="share_after_clipping" theme="order"
# The share is always 0, as it is when it is computed from the clipped tensor.
# Доля всегда равна 0, как бывает, если вычислить её по уже обрезанному тензору.
class Clip(_Clip):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        clipped, share = x.clamp(-1, 1), torch.zeros((), dtype=x.dtype)
        ctx.mark_non_differentiable(share)
        return clipped, share

# %% mistake="share_first" theme="missing"
# The two outputs stand in the wrong order: the clipped tensor comes first.
# Выходы стоят не в том порядке: первым должен быть обрезанный тензор.
class Clip(_Clip):
    @staticmethod
    def forward(ctx, x):
        return _Clip.forward(ctx, x)[::-1]

    @staticmethod
    def backward(ctx, grad_share, grad_clipped):
        return _Clip.backward(ctx, grad_clipped, grad_share)

# %% mistake="marks_a_tuple" theme="own"
# `mark_non_differentiable` was given something that is no tensor, such as a tuple. It takes tensors, each as an
#     argument of its own.
# В `mark_non_differentiable` передан не тензор, а, например, кортеж. Тензоры передают туда отдельными аргументами.
class Clip(_Clip):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        ctx.mark_non_differentiable((share,))
        return clipped, share

# %% mistake="divides_by_the_length" theme="scaling"
# The number outside was divided by `len(x)`, the length of the first axis. A share is a part of all entries.
# Число элементов вне отрезка разделено на `len(x)`, длину первой оси. А доля берётся от всех элементов.
class Clip(_Clip):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        share = share * x.numel() / len(x)
        ctx.mark_non_differentiable(share)
        return clipped, share

# %% mistake="lower_end_open" theme="derivative"
# One end of the interval was left out: the gradient should pass at −1 and at 1.
# Один конец отрезка не учтён: градиент должен проходить и в точке −1, и в точке 1.
class Clip(_Clip):
    @staticmethod
    def backward(ctx, grad_clipped, grad_share):
        (x,) = ctx.saved_tensors
        return grad_clipped * ((x > -1) & (x <= 1))

# %% mistake="counts_the_lower_end" theme="own"
# One end of the interval was counted as outside. Both −1 and 1 lie in [−1, 1].
# Один из концов отрезка отнесён к внешним точкам. Но и −1, и 1 принадлежат отрезку [−1, 1].
class Clip(_Clip):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        share = ((x <= -1) | (x > 1)).to(x.dtype).mean()
        ctx.mark_non_differentiable(share)
        return x.clamp(-1, 1), share
