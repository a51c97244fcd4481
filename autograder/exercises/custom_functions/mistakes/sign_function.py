# %%
import torch

from ..common import Function


class _Sign(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()

# %% mistake="sign_on_the_class" theme="state"
# What `backward` needs is kept on the class or in a global variable. All calls share those, so a second call
#     overwrites what the first one needs; each call has its own `ctx`.
# Нужное для `backward` хранится в самом классе или в глобальной переменной. Такое место у всех вызовов общее, и
#     второй вызов затирает то, что нужно первому; объект `ctx` у каждого вызова свой.
class Sign(Function):
    x = None

    @staticmethod
    def forward(ctx, x):
        Sign.x = x
        return x.sign()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (Sign.x.abs() <= 1)

# %% mistake="sign_in_place" theme="in_place"
# The input, a tensor that belongs to the caller, is written over, as when `forward` computes in place.
# Вход, а это чужой тензор, перезаписан: так бывает, когда `forward` вычисляет на месте.
class Sign(_Sign):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign_()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0].abs() <= 1)

# %% mistake="true_derivative" theme="derivative"
# The true derivative was returned. It is 0 everywhere, so nothing before this function can learn.
# Возвращена настоящая производная. Она всюду равна 0, поэтому слои перед этой функцией не обучаются.
class Sign(_Sign):
    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output)

# %% mistake="passes_everywhere" theme="derivative"
# The gradient passes everywhere. Outside [−1, 1] it should be 0.
# Градиент проходит всюду. Вне [−1, 1] он должен быть равен 0.
class Sign(_Sign):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()

# %% mistake="without_the_ends" theme="derivative"
# The ends of the interval were left out: at −1 and 1 the gradient should pass.
# Концы отрезка не учтены: в точках −1 и 1 градиент должен проходить.
class Sign(_Sign):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0].abs() < 1)

# %% mistake="one_sided" theme="derivative"
# Only one end of the interval is checked. The gradient should be 0 both below −1 and above 1.
# Проверяется только один конец отрезка: градиент должен быть равен 0 и левее −1, и правее 1.
class Sign(_Sign):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0] <= 1)

# %% mistake="passes_outside" theme="derivative"
# The mask is the wrong way round: the gradient passes outside [−1, 1].
# Маска перевёрнута: градиент проходит вне [−1, 1].
class Sign(_Sign):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0].abs() > 1)

# %% mistake="mask_of_grad_output" theme="derivative"
# The mask is made from `grad_output`. It is `x` that has to lie in [−1, 1].
# Маска построена по `grad_output`. Лежать на отрезке [−1, 1] должен `x`.
class Sign(_Sign):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (grad_output.abs() <= 1)

# %% mistake="zero_is_negative" theme="missing"
# The value at 0 is 1 or −1. `x.sign()` is 0 there.
# Значение в нуле равно 1 или −1, а у `x.sign()` там 0.
class Sign(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, 1.0, -1.0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0].abs() <= 1)

# %% mistake="clips_the_gradient" theme="derivative"
# The gradient was clipped to [−1, 1]. It is `x` that decides where `grad_output` passes, and it passes unchanged.
# До [−1, 1] обрезан сам градиент. Но решает `x`: там, где он лежит на этом отрезке, `grad_output` проходит без
#     изменений.
class Sign(_Sign):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-1, 1)

# %% mistake="looks_at_the_result" theme="derivative"
# `backward` looks at the result, which is always −1, 0 or 1. Whether `x` lies in [−1, 1] only `x` itself can tell.
# Метод `backward` судит по результату, а он всегда равен −1, 0 или 1. Лежит ли `x` на отрезке [−1, 1], видно только
#     по самому `x`.
class Sign(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.sign()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0].abs()

# %% mistake="sign_mask_alone" theme="derivative"
# `backward` returns the mask alone, 0 and 1. It has to be multiplied by `grad_output`.
# Метод `backward` возвращает только маску из нулей и единиц. Её нужно умножить на `grad_output`.
class Sign(_Sign):
    @staticmethod
    def backward(ctx, grad_output):
        return (ctx.saved_tensors[0].abs() <= 1).to(grad_output.dtype)

# %% mistake="writes_the_zeros" theme="in_place"
# The zeros were written into `grad_output` itself, a tensor that belongs to the caller.
# Нули записаны прямо в `grad_output`, а это чужой тензор.
class Sign(_Sign):
    @staticmethod
    def backward(ctx, grad_output):
        grad_output[ctx.saved_tensors[0].abs() > 1] = 0
        return grad_output

# %% mistake="lower_end_open" theme="derivative"
# One end of the interval was left out: the gradient should pass at −1 and at 1.
# Один конец отрезка не учтён: градиент должен проходить и в точке −1, и в точке 1.
class Sign(_Sign):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ((x > -1) & (x <= 1))

# %% mistake="divides_by_the_size" theme="precision"
# The sign is computed by a division by `x.abs()`. At 0 that is 0/0: NaN.
# Знак вычислен делением на `x.abs()`. В нуле это 0/0, то есть NaN.
class Sign(_Sign):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / x.abs()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0].abs() <= 1)

# %% mistake="sign_by_view" theme="in_place"
# `view` was called on a tensor whose entries lie in memory in another order, such as a transposed `grad_output`.
#     `reshape` makes a copy where one is needed.
# Метод `view` вызван у тензора, элементы которого лежат в памяти в другом порядке, например у транспонированного
#     `grad_output`. Метод `reshape` там, где нужно, делает копию.
class Sign(_Sign):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (grad_output.view(-1) * (x.view(-1).abs() <= 1)).view(x.shape)
