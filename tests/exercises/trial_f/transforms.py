# %%
import numpy as np
import torch
from torch.amp import custom_bwd, custom_fwd
from torch.nn.functional import mse_loss


class WithoutRule(torch.autograd.Function):
    """log(exp(x) + exp(y)), computed by NumPy, as the exercise gives it, without its rule."""

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


class WithoutJvp(torch.autograd.Function):
    """The distance of two points, as the exercise gives it, without its `jvp`."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return (x - y).norm()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward(*inputs, output)

    @staticmethod
    def backward(ctx, grad_output):
        x, y, distance = ctx.saved_tensors
        to_x = grad_output * (x - y) / distance
        return to_x, -to_x


# %% exercise="predict_transforms" verdict="passed"
# a careful reader
predict_transforms = {
    "grad of OldCube": "refused",
    "grad": "accepted",
    "vmap": "refused",
    "vmap of grad": "refused",
    "jacrev": "accepted",
    "jvp": "refused",
    "jacfwd": "refused",
}
# %% exercise="predict_transforms" verdict="refused"
# the new form is taken to be enough for everything
predict_transforms = {
    "grad of OldCube": "refused",
    "grad": "accepted",
    "vmap": "accepted",
    "vmap of grad": "accepted",
    "jacrev": "accepted",
    "jvp": "accepted",
    "jacfwd": "accepted",
}
# %% exercise="predict_transforms" verdict="refused"
# torch is taken to differentiate the operations in `forward` in forward mode
predict_transforms = {
    "grad of OldCube": "refused",
    "grad": "accepted",
    "vmap": "refused",
    "vmap of grad": "refused",
    "jacrev": "accepted",
    "jvp": "accepted",
    "jacfwd": "refused",
}
# %% exercise="predict_transforms" verdict="refused"
# grad runs first, so vmap is taken to see only `backward`, which is made of torch's operations
predict_transforms = {
    "grad of OldCube": "refused",
    "grad": "accepted",
    "vmap": "refused",
    "vmap of grad": "accepted",
    "jacrev": "accepted",
    "jvp": "refused",
    "jacfwd": "refused",
}
# %% exercise="predict_transforms" verdict="refused"
# the old form is taken to be enough for grad, and jacrev to need a rule, as it is a vmap
predict_transforms = {
    "grad of OldCube": "accepted",
    "grad": "accepted",
    "vmap": "refused",
    "vmap of grad": "refused",
    "jacrev": "refused",
    "jvp": "refused",
    "jacfwd": "refused",
}


# %% exercise="fix_rule" verdict="passed"
# batch to the front, then ones behind it
class LogAddExp(WithoutRule):
    @staticmethod
    def vmap(info, in_dims, x, y):
        tensors, sizes = [], []
        for t, dim in zip((x, y), in_dims):
            t = t.unsqueeze(0) if dim is None else t.movedim(dim, 0)
            tensors.append(t)
            sizes.append(t.dim())
        x, y = (t[(slice(None),) + (None,) * (max(sizes) - t.dim())] for t in tensors)
        return LogAddExp.apply(x, y), 0


# %% exercise="fix_rule" verdict="refused"
# examples of different numbers of dimensions are forgotten
class LogAddExp(WithoutRule):
    @staticmethod
    def vmap(info, in_dims, x, y):
        if in_dims[0] is not None:
            x = x.movedim(in_dims[0], 0)
        if in_dims[1] is not None:
            y = y.movedim(in_dims[1], 0)
        return LogAddExp.apply(x, y), 0


# %% exercise="fix_rule" verdict="refused"
# the missing dimensions are added at the end
class LogAddExp(WithoutRule):
    @staticmethod
    def vmap(info, in_dims, x, y):
        x = x.unsqueeze(0) if in_dims[0] is None else x.movedim(in_dims[0], 0)
        y = y.unsqueeze(0) if in_dims[1] is None else y.movedim(in_dims[1], 0)
        while x.dim() < y.dim():
            x = x.unsqueeze(-1)
        while y.dim() < x.dim():
            y = y.unsqueeze(-1)
        return LogAddExp.apply(x, y), 0


# %% exercise="fix_rule" verdict="refused"
# dimensions of whole tensors are compared, so an input without batch counts as if it had one
class LogAddExp(WithoutRule):
    @staticmethod
    def vmap(info, in_dims, x, y):
        if in_dims[0] is not None:
            x = x.movedim(in_dims[0], 0)
            while x.dim() < y.dim():
                x = x.unsqueeze(1)
        if in_dims[1] is not None:
            y = y.movedim(in_dims[1], 0)
            while y.dim() < x.dim():
                y = y.unsqueeze(1)
        return LogAddExp.apply(x, y), 0


# %% exercise="fix_rule" verdict="refused"
# a loop over the examples: one forward for each
class LogAddExp(WithoutRule):
    @staticmethod
    def vmap(info, in_dims, x, y):
        xs = [x] * info.batch_size if in_dims[0] is None else x.unbind(in_dims[0])
        ys = [y] * info.batch_size if in_dims[1] is None else y.unbind(in_dims[1])
        return torch.stack([LogAddExp.apply(a, b) for a, b in zip(xs, ys)]), 0


# %% exercise="fix_rule" verdict="refused"
# the batch is moved, but the place of the result is still that of x
class LogAddExp(WithoutRule):
    @staticmethod
    def vmap(info, in_dims, x, y):
        x = x.unsqueeze(0) if in_dims[0] is None else x.movedim(in_dims[0], 0)
        y = y.unsqueeze(0) if in_dims[1] is None else y.movedim(in_dims[1], 0)
        n = max(x.dim(), y.dim())
        x = x.reshape(x.shape[0], *[1] * (n - x.dim()), *x.shape[1:])
        y = y.reshape(y.shape[0], *[1] * (n - y.dim()), *y.shape[1:])
        return LogAddExp.apply(x, y), in_dims[0] or in_dims[1]


# %% exercise="expose_once" verdict="passed"
# a term with a graph of its own beside a plain f
def expose_once(f, x):
    return (f(x) + x.exp()).mean()


# %% exercise="expose_once" verdict="refused"
# the other term is linear, so the first derivative has no graph at all
def expose_once(f, x):
    return f(x).sum() + 5 * x.sum()


# %% exercise="expose_once" verdict="refused"
# a factor makes the gradient that arrives require grad, and the decorator raises
def expose_once(f, x):
    return (x * f(x)).sum()


# %% exercise="expose_once" verdict="refused"
# f is cut off, so nothing depends on it
def expose_once(f, x):
    return f(x.detach()).sum() + (x**2).sum()


# %% exercise="expose_once" verdict="refused"
# f of f: the first derivative has no graph
def expose_once(f, x):
    return f(f(x)).sum()


# %% exercise="expose_once" verdict="refused"
# one number for each entry
def expose_once(f, x):
    return f(x) + x**2


# %% exercise="distance_forward" verdict="passed"
class Distance(WithoutJvp):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return ((x - y) / distance * (dx - dy)).sum()


# %% exercise="distance_forward" verdict="refused"
# the length of the difference of the tangents
class Distance(WithoutJvp):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return (dx - dy).norm()


# %% exercise="distance_forward" verdict="refused"
# the sign of dy
class Distance(WithoutJvp):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return ((x - y) * (dx + dy)).sum() / distance


# %% exercise="distance_forward" verdict="refused"
# the gradients of both inputs, as backward returns them
class Distance(WithoutJvp):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        unit = (x - y) / distance
        return unit * dx, -unit * dy


# %% exercise="distance_forward" verdict="refused"
# torch.dot takes vectors only
class Distance(WithoutJvp):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return torch.dot(x - y, dx - dy) / distance


# %% exercise="distance_forward" verdict="refused"
# not divided by the distance
class Distance(WithoutJvp):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return ((x - y) * (dx - dy)).sum()


# %% exercise="ratio_function" verdict="passed"
class Ratio(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        ratio = x / y
        return ratio, (ratio > 1).double().mean()

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


# %% exercise="ratio_function" verdict="refused"
# a rule by hand whose share is that of the whole batch
class Ratio(torch.autograd.Function):
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

    @staticmethod
    def vmap(info, in_dims, x, y):
        x = x.expand(info.batch_size, *x.shape) if in_dims[0] is None else x.movedim(in_dims[0], 0)
        y = y.expand(info.batch_size, *y.shape) if in_dims[1] is None else y.movedim(in_dims[1], 0)
        ratio, share = Ratio.apply(x, y)
        return (ratio, share), (0, None)


# %% exercise="ratio_function" verdict="refused"
# nothing is saved for forward mode
class Ratio(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        ratio = x / y
        return ratio, (ratio > 1).to(ratio.dtype).mean()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, to_ratio, to_share):
        x, y = ctx.saved_tensors
        return to_ratio / y, -to_ratio * x / y**2

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return dx / y - x * dy / y**2, None


# %% exercise="ratio_function" verdict="refused"
# the share is no longer marked, and its tangent is a zero
class Ratio(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        ratio = x / y
        return ratio, (ratio > 1).to(ratio.dtype).mean()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, to_ratio, to_share):
        x, y = ctx.saved_tensors
        return to_ratio / y, -to_ratio * x / y**2

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return dx / y - x * dy / y**2, torch.zeros((), dtype=x.dtype)


# %% exercise="ratio_function" verdict="refused"
# everything but a rule
class Ratio(torch.autograd.Function):
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


# %% exercise="ratio_function" verdict="refused"
# jvp returns the tangent of the ratio alone
class Ratio(torch.autograd.Function):
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
        return dx / y - x * dy / y**2


# %% exercise="fix_region" verdict="passed"
def fix_region(model, batches, rate):
    losses = []
    model.zero_grad()
    for x, y in batches:
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            output = model(x)
        loss = mse_loss(output.float(), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rate * p.grad
        model.zero_grad()
        losses.append(loss.item())
    return losses


# %% exercise="fix_region" verdict="refused"
# a region for each step, whose copies live on inside somebody's region
def fix_region(model, batches, rate):
    losses = []
    for x, y in batches:
        with torch.autocast("cpu", torch.bfloat16):
            output = model(x)
        loss = mse_loss(output.float(), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rate * p.grad
        model.zero_grad()
        losses.append(loss.item())
    return losses


# %% exercise="fix_region" verdict="refused"
# the cache is cleared once, before the loop
def fix_region(model, batches, rate):
    losses = []
    torch.clear_autocast_cache()
    for x, y in batches:
        with torch.autocast("cpu", torch.bfloat16):
            output = model(x)
            loss = mse_loss(output.float(), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rate * p.grad
        model.zero_grad()
        losses.append(loss.item())
    return losses


# %% exercise="fix_region" verdict="refused"
# no autocast at all
def fix_region(model, batches, rate):
    losses = []
    for x, y in batches:
        loss = mse_loss(model(x), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rate * p.grad
        model.zero_grad()
        losses.append(loss.item())
    return losses


# %% exercise="fix_region" verdict="refused"
# the weights themselves become bfloat16
def fix_region(model, batches, rate):
    losses = []
    model.to(torch.bfloat16)
    for x, y in batches:
        loss = mse_loss(model(x.bfloat16()).float(), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rate * p.grad
        model.zero_grad()
        losses.append(loss.item())
    model.float()
    return losses


# %% exercise="fix_region" verdict="refused"
# without copies, but the update gives only a name
def fix_region(model, batches, rate):
    losses = []
    for x, y in batches:
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            loss = mse_loss(model(x).float(), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p = p - rate * p.grad
        model.zero_grad()
        losses.append(loss.item())
    return losses


# %% exercise="fix_layer" verdict="passed"
# the state is kept by hand
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        ctx.on = torch.is_autocast_enabled("cpu")
        ctx.dtype = torch.get_autocast_dtype("cpu")
        return (x @ w).tanh()

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        with torch.autocast("cpu", ctx.dtype, enabled=ctx.on):
            g = grad_output * (1 - (x @ w).tanh() ** 2)
            return g @ w.t(), x.t() @ g


# %% exercise="fix_layer" verdict="refused"
# the inputs are cast to float32, as in the documentation's example
class Layer(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).tanh()

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        g = grad_output * (1 - (x @ w).tanh() ** 2)
        return g @ w.t(), x.t() @ g


# %% exercise="fix_layer" verdict="refused"
# dtypes are made to meet, but the products of backward are float32
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).tanh()

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        g = grad_output.to(x.dtype) * (1 - (x @ w).tanh() ** 2)
        return g @ w.t(), x.t() @ g


# %% exercise="fix_layer" verdict="refused"
# backward is always in bfloat16
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).tanh()

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        with torch.autocast("cpu", torch.bfloat16):
            g = grad_output * (1 - (x @ w).tanh() ** 2)
            return g @ w.t(), x.t() @ g


# %% exercise="fix_layer" verdict="refused"
# autocast is switched on where the gradient is bfloat16, and not off where the forward had none
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).tanh()

    @staticmethod
    def backward(ctx, grad_output):
        x, w = (t.to(grad_output.dtype) for t in ctx.saved_tensors)
        g = grad_output * (1 - (x @ w).tanh() ** 2)
        return g @ w.t(), x.t() @ g


# %% exercise="fix_layer" verdict="refused"
# custom_bwd alone
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).tanh()

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        g = grad_output * (1 - (x @ w).tanh() ** 2)
        return g @ w.t(), x.t() @ g
