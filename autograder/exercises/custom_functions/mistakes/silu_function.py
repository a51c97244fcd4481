# %%
import torch
from torch.autograd.function import once_differentiable

from ..common import Function
from ..silu_function import _derivative


class _SiLU(Function):
    """A right SiLU that saves its input.

    The mistakes are subclasses of this class.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * _derivative(ctx.saved_tensors[0])

# %% mistake="silu_on_the_class" theme="state"
# What `backward` needs is kept on the class or in a global variable. All calls share those, so a second call
#     overwrites what the first one needs; each call has its own `ctx`.
# Нужное для `backward` хранится в самом классе или в глобальной переменной. Такое место у всех вызовов общее, и
#     второй вызов затирает то, что нужно первому; объект `ctx` у каждого вызова свой.
class SiLU(Function):
    x = None

    @staticmethod
    def forward(ctx, x):
        SiLU.x = x
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * _derivative(SiLU.x)

# %% mistake="silu_over_the_input" theme="in_place"
# The input, a tensor that belongs to the caller, is written over, as when `forward` computes in place.
# Вход, а это чужой тензор, перезаписан: так бывает, когда `forward` вычисляет на месте.
class SiLU(_SiLU):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.mul_(torch.sigmoid(x))

# %% mistake="silu_in_place" theme="in_place"
# `backward` computes in place and so changes `grad_output`, a tensor that belongs to the caller.
# В `backward` вычисление выполнено на месте, и тем самым изменён `grad_output`, а это чужой тензор.
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(_derivative(ctx.saved_tensors[0]))

# %% mistake="divides_by_x" theme="precision"
# The sigmoid is obtained by dividing the result by `x`. At 0 that is 0/0: NaN.
# Сигмоида получена делением результата на `x`. В нуле это 0/0, то есть NaN.
class SiLU(Function):
    @staticmethod
    def forward(ctx, x):
        y = x * torch.sigmoid(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        s = y / x
        return grad_output * (s + x * s * (1 - s))

# %% mistake="overflows" theme="precision"
# `backward` makes the sigmoid of `exp(x)`. For large `x` that is infinite, and inf/inf is NaN.
# В `backward` сигмоида вычислена через `exp(x)`. При больших `x` это бесконечность, а inf/inf — NaN.
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0]
        s = torch.exp(x) / (1 + torch.exp(x))
        return grad_output * (s + x * s * (1 - s))

# %% mistake="overflows_below" theme="precision"
# `exp(-x)` is squared or divided by itself in `backward`. For very negative `x` it is infinite, and inf/inf is NaN.
# В `backward` экспонента `exp(-x)` возводится в квадрат или делится на себя. При больших по модулю отрицательных
#     `x` она бесконечна, а inf/inf — NaN.
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0]
        e = torch.exp(-x)
        return grad_output * (1 + e + x * e) / (1 + e) ** 2

# %% mistake="sigmoid_by_hand" theme="precision"
# The sigmoid is written out with `exp(-x)`. For very negative `x` that is infinite, and inf times 0 in the second
#     derivative is NaN. `torch.sigmoid` avoids this.
# Сигмоида записана через `exp(-x)`. При больших по модулю отрицательных `x` это бесконечность, и во второй
#     производной получается inf, умноженное на 0, то есть NaN. С `torch.sigmoid` этого не случается.
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0]
        s = 1 / (1 + torch.exp(-x))
        return grad_output * (s + x * s * (1 - s))

# %% mistake="borrows_the_silu" theme="cost"
# `apply` hands the work to torch's own operations. The two passes, `forward` and `backward`, are to be written
#     here.
# Вызов `apply` передан готовым операциям torch. А написать нужно оба прохода, `forward` и `backward`.
class SiLU(Function):
    apply = staticmethod(torch.nn.functional.silu)

# %% mistake="sigmoid_unrecorded" theme="recording"
# A part of the second derivative is missing. So it is when the sigmoid is computed inside `no_grad()`: that makes
#     it a constant.
# Во второй производной не хватает части. Так бывает, когда сигмоида вычисляется внутри `no_grad()`: тогда она —
#     константа.
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0]
        with torch.no_grad():
            s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))

# %% mistake="derivative_of_the_sigmoid" theme="derivative"
# The derivative of the sigmoid was taken for that of the product `x * sigmoid(x)`.
# За производную произведения `x * sigmoid(x)` принята производная одной сигмоиды.
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        s = torch.sigmoid(ctx.saved_tensors[0])
        return grad_output * s * (1 - s)

# %% mistake="sigmoid_is_constant" theme="derivative"
# The sigmoid was taken for a constant factor: half of the product rule is missing.
# Сигмоида принята за постоянный множитель: не хватает второго слагаемого производной произведения.
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.sigmoid(ctx.saved_tensors[0])

# %% mistake="x_is_constant" theme="derivative"
# Only the sigmoid is differentiated: the term in which `x` changes is missing.
# Продифференцирована только сигмоида: не хватает слагаемого, в котором меняется `x`.
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0]
        s = torch.sigmoid(x)
        return grad_output * x * s * (1 - s)

# %% mistake="silu_local" theme="derivative"
# `backward` returns the derivative alone: `grad_output` is missing.
# Метод `backward` возвращает только производную: не хватает `grad_output`.
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        return _derivative(ctx.saved_tensors[0])

# %% mistake="keeps_the_sigmoid" theme="cost"
# One more tensor of the size of the input is kept, such as the sigmoid, by `save_for_backward` or on `ctx`.
# Хранится ещё один тензор размером со вход, например сигмоида (через `save_for_backward` или в атрибуте `ctx`).
class SiLU(_SiLU):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        x, s = ctx.saved_tensors
        return grad_output * (s + x * s * (1 - s))

# %% mistake="keeps_the_derivative" theme="cost"
# Something computed in `forward` is kept, such as the derivative or a copy of `x`: one more tensor of the size of
#     the input, and a constant for the second derivative.
# Хранится что-то вычисленное в `forward`, например производная или копия `x`: это ещё один тензор размером со вход,
#     а для второй производной — константа.
class SiLU(Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(s + x * s * (1 - s))
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]

# %% mistake="recomputes_detached" theme="recording"
# `backward` recomputes on a detached copy. The first derivative is right; for the second there is no way back to
#     `x`.
# В `backward` всё вычисляется заново на отсоединённой копии. Первая производная верна, а для второй нет пути назад
#     к `x`.
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * _derivative(ctx.saved_tensors[0].detach())

# %% mistake="recomputes_unrecorded" theme="recording"
# What `backward` returns has no graph. So it is under `no_grad()`, after `detach()`, or when autograd runs once
#     more inside it without `create_graph`.
# У того, что возвращает `backward`, нет графа. Так бывает внутри `no_grad()`, после `detach()` или когда внутри
#     autograd запущен ещё раз без `create_graph`.
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        with torch.no_grad():
            return grad_output * _derivative(ctx.saved_tensors[0])

# %% mistake="silu_refuses" theme="missing"
# The class refuses to be differentiated twice, and the second derivative is asked for here.
# Класс не допускает повторного дифференцирования, а вторая производная здесь нужна.
class SiLU(_SiLU):
    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return grad_output * _derivative(ctx.saved_tensors[0])

# %% mistake="plus_for_minus" theme="derivative"
# The derivative of the sigmoid has a minus, `s * (1 - s)`. Here it has a plus.
# У производной сигмоиды в скобках минус, `s * (1 - s)`, а здесь стоит плюс.
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0]
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 + s))

# %% mistake="value_overflows" theme="precision"
# `forward` makes the sigmoid of `exp(x)`. For large `x` that is infinite, and inf/inf is NaN.
# В `forward` сигмоида вычислена через `exp(x)`. При больших `x` это бесконечность, а inf/inf — NaN.
class SiLU(_SiLU):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.exp() / (1 + x.exp())

# %% mistake="silu_saves_nothing" theme="missing"
# `forward` has saved no tensor, so the tuple `saved_tensors` is empty in `backward`.
# Метод `forward` не сохранил ни одного тензора, поэтому в `backward` кортеж `saved_tensors` пуст.
class SiLU(_SiLU):
    @staticmethod
    def forward(ctx, x):
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * _derivative(x)

# %% mistake="silu_by_view" theme="in_place"
# `view` was called on a tensor whose entries lie in memory in another order, such as a transposed `grad_output`.
#     `reshape` makes a copy where one is needed.
# Метод `view` вызван у тензора, элементы которого лежат в памяти в другом порядке, например у транспонированного
#     `grad_output`. Метод `reshape` там, где нужно, делает копию.
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0]
        return (grad_output.view(-1) * _derivative(x).view(-1)).view(x.shape)

# %% mistake="cuts_off_at_5" theme="precision"
# `backward` cuts large numbers off (`clamp`), and so changes the derivative there. `torch.sigmoid` needs no such
#     care.
# В `backward` большие числа обрезаны (`clamp`), и производная там уже другая. Для `torch.sigmoid` такая
#     предосторожность не нужна.
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * _derivative(ctx.saved_tensors[0].clamp(-5, 5))

# %% mistake="cuts_off_at_20" like="cuts_off_at_5"
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * _derivative(ctx.saved_tensors[0].clamp(-20, 20))

# %% mistake="silu_through_float32" theme="precision"
# In float64 half of the digits are lost, as when something in between is computed in float32.
# В float64 теряется половина знаков, как бывает, если что-то по пути вычислено в float32.
class SiLU(_SiLU):
    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0]
        s = torch.sigmoid(x.float()).to(x.dtype)
        return grad_output * (s + x * s * (1 - s))
