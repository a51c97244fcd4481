# %%
import torch

from ..common import Function


class cut_at_six(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(0, 6)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0] > 0)


class _ReLU(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

# %% mistake="passes_at_zero" theme="derivative"
# At 0 the gradient still passes, as it did in the given code. A missing `@staticmethod` is not the reason: `apply`
#     works without it.
# В нуле градиент по-прежнему проходит, как и в исходном коде. Пропущенный `@staticmethod` ни при чём: `apply`
#     работает и без него.
class ReLU(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input

# %% mistake="half_at_zero" theme="derivative"
# The derivative at 0 is one half, the mean of both sides. `torch.maximum` has that derivative; `torch.relu` does
#     not.
# Производная в нуле здесь равна 1/2, то есть среднему двух односторонних производных. Так поступает
#     `torch.maximum`, но не `torch.relu`.
class ReLU(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * (torch.sign(input) + 1) / 2

# %% mistake="clips_grad_output" theme="derivative"
# The gradient was set to 0 where it is negative. The sign of the *input* decides, not that of `grad_output`.
# Обнулён отрицательный градиент. Но решает знак *входа*, а не знак `grad_output`.
class ReLU(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(min=0)

# %% mistake="relu_in_place" theme="in_place"
# The input, a tensor that belongs to the caller, is written over, as when `forward` computes in place.
# Вход, а это чужой тензор, перезаписан: так бывает, когда `forward` вычисляет на месте.
class ReLU(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp_(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0] > 0)

# %% mistake="mask_on_the_class" theme="state"
# What `backward` needs is kept on the class or in a global variable. All calls share those, so a second call
#     overwrites what the first one needs; each call has its own `ctx`.
# Нужное для `backward` хранится в самом классе или в глобальной переменной. Такое место у всех вызовов общее, и
#     второй вызов затирает то, что нужно первому; объект `ctx` у каждого вызова свой.
class ReLU(Function):
    mask = None

    @staticmethod
    def forward(ctx, input):
        ReLU.mask = input > 0
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ReLU.mask

# %% mistake="cut_at_six" theme="derivative"
# Large numbers are cut off at 6, as `relu6` does. `torch.relu` has no upper bound.
# Большие числа обрезаны на 6, как в `relu6`. У `torch.relu` верхней границы нет.
class ReLU(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(0, 6)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0] > 0)

# %% mistake="mask_alone" theme="derivative"
# `backward` returns the mask alone, 0 and 1. It has to be multiplied by `grad_output`.
# Метод `backward` возвращает только маску из нулей и единиц. Её нужно умножить на `grad_output`.
class ReLU(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return (input > 0).to(input.dtype)

# %% mistake="mask_reversed" theme="derivative"
# The mask is the wrong way round: the gradient passes where the input is negative or 0.
# Маска перевёрнута: градиент проходит там, где вход отрицателен или равен 0.
class ReLU(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * (input <= 0)

# %% mistake="only_zero" theme="derivative"
# Only 0 itself loses its gradient now. Negative inputs must have none either.
# Градиент обнуляется только в самом нуле. У отрицательных входов его тоже не должно быть.
class ReLU(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input == 0] = 0
        return grad_input

# %% mistake="drops_the_clone" theme="in_place"
# The zeros were written into `grad_output` itself, without the `clone()`. That tensor belongs to the caller.
# Нули записаны прямо в `grad_output`, без копии через `clone()`. Это чужой тензор.
class ReLU(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_output[input <= 0] = 0
        return grad_output

# %% mistake="draws_the_border_above_zero" theme="derivative"
# Small positive numbers count as 0: they get no gradient. With `torch.relu` every positive number passes its
#     gradient on, however small.
# Малые положительные числа приняты за 0: градиента у них нет. У `torch.relu` градиент проходит при любом
#     положительном числе, даже самом малом.
class ReLU(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0] > 1e-6)

# %% mistake="divides_result_by_input" theme="precision"
# The slope is computed as the quotient of result and input: at 0 that is 0/0, NaN.
# Наклон вычислен как частное результата и входа: в нуле это 0/0, то есть NaN.
class ReLU(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * (input.clamp(min=0) / input)

# %% mistake="relu_passes_everywhere" theme="derivative"
# The gradient passes everywhere. So it is when `grad_output` itself is returned, when the zeros go into another
#     tensor, or when the mask leaves nothing out, as `>= 0` does when it looks at the result.
# Градиент проходит всюду. Так бывает, когда возвращается сам `grad_output`, когда нули записаны в другой тензор
#     или когда маска ничего не отсекает, как `>= 0`, если применить её к результату.
class ReLU(_ReLU):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()

# %% mistake="relu_mask_inverted" theme="derivative"
# The mask is the wrong way round: the gradient passes where the input is negative.
# Маска перевёрнута: градиент проходит там, где вход отрицателен.
class ReLU(_ReLU):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0] < 0)

# %% mistake="relu_by_sign" theme="derivative"
# Where the input is negative, `grad_output` comes back with a minus. `torch.relu` gives 0 there.
# Там, где вход отрицателен, `grad_output` возвращается с минусом. Функция `torch.relu` даёт там 0.
class ReLU(_ReLU):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0].sign()

# %% mistake="zeros_on_the_cpu" theme="device"
# A tensor was made on the CPU, although `x` lies on a GPU, and torch refuses to mix the two.
#     `torch.zeros_like(grad_output)` or the number 0 follow `x`.
# Какой-то тензор создан на CPU, хотя `x` лежит на GPU, и torch отказывается их смешивать. За `x` следуют
#     `torch.zeros_like(grad_output)` или число 0.
class ReLU(_ReLU):
    @staticmethod
    def backward(ctx, grad_output):
        zeros = torch.zeros(grad_output.shape, dtype=grad_output.dtype)
        return torch.where(ctx.saved_tensors[0] > 0, grad_output, zeros)

# %% mistake="fills_zeros_on_the_cpu" like="zeros_on_the_cpu"
class ReLU(_ReLU):
    @staticmethod
    def backward(ctx, grad_output):
        keep = ctx.saved_tensors[0] > 0
        zeros = torch.zeros(grad_output.shape)
        zeros[keep] = grad_output[keep].to(zeros.dtype)
        return zeros
