# %%
import torch
from torch.amp import custom_bwd, custom_fwd


def _forward(ctx, x, w):
    ctx.save_for_backward(x, w)
    return (x @ w).tanh()


def _backward(ctx, grad_output):
    x, w = ctx.saved_tensors
    y = (x @ w).tanh()
    g = grad_output * (1 - y**2)
    return g @ w.t(), x.t() @ g


def _both(forward, backward):
    """Return a Function with these methods, decorated as is right."""
    methods = {
        "forward": staticmethod(custom_fwd(forward, device_type="cpu")),
        "backward": staticmethod(custom_bwd(backward, device_type="cpu")),
    }
    return type("_Layer", (torch.autograd.Function,), methods)

# %% mistake="backward_knows_nothing" theme="precision"
# `backward` runs after the region has ended and computes its products in float32, another function than `forward` did.
# Метод `backward` выполняется, когда область уже закончилась, и вычисляет произведения в float32, то есть не ту
#     функцию, что `forward`.
class Layer(torch.autograd.Function):
    forward = staticmethod(_forward)
    backward = staticmethod(_backward)

# %% mistake="only_backward_is_decorated" theme="own"
# `custom_bwd` does not find on the context what `custom_fwd` notes there. Both are needed, and a `forward` that takes the
#     context.
# Декоратор `custom_bwd` не находит в контексте того, что запоминает там `custom_fwd`. Нужны оба, а `forward` должен
#     принимать контекст.
class Layer(torch.autograd.Function):
    forward = staticmethod(_forward)

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx, grad_output):
        return _backward(ctx, grad_output)

# %% mistake="always_in_bfloat16" theme="precision"
# `backward` computes in bfloat16 even if the forward pass did not.
# Метод `backward` считает в bfloat16, даже если прямой проход выполнялся в другом типе.
class Layer(torch.autograd.Function):
    forward = staticmethod(_forward)

    @staticmethod
    def backward(ctx, grad_output):
        with torch.autocast("cpu", torch.bfloat16):
            return tuple(g.to(t.dtype) for g, t in zip(_backward(ctx, grad_output), ctx.saved_tensors))

# %% mistake="switched_off_for_both" theme="precision"
# Both passes compute in float32: with `cast_inputs=torch.float32` autocast is off inside the Function.
# Оба прохода считают в float32: при `cast_inputs=torch.float32` autocast внутри функции выключен.
class Layer(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, x, w):
        return _forward(ctx, x, w)

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx, grad_output):
        return _backward(ctx, grad_output)

# %% mistake="without_the_slope" theme="derivative"
# The slope of `tanh` is missing in `backward`.
# В `backward` нет производной `tanh`.
class Layer(_both(_forward, lambda ctx, g: (g @ ctx.saved_tensors[1].t(), ctx.saved_tensors[0].t() @ g))):
    pass

# %% mistake="no_second_derivative" theme="recording"
# `backward` is right under autocast, but the second derivative is lost: nothing is recorded in it.
# Внутри autocast `backward` верен, но его вычисления не записываются: вторая производная потеряна.
class Layer(_both(_forward, torch.no_grad()(_backward))):
    pass
