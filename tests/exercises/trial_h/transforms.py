# %%
import numpy as np
import torch
from torch.amp import custom_bwd, custom_fwd
from torch.nn.functional import mse_loss
# %% exercise="predict_transforms" verdict="passed"
# by reading
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
# backward() takes OldCube, so grad does
predict_transforms = {
    "grad of OldCube": "accepted",
    "grad": "accepted",
    "vmap": "refused",
    "vmap of grad": "refused",
    "jacrev": "accepted",
    "jvp": "refused",
    "jacfwd": "refused",
}
# %% exercise="predict_transforms" verdict="refused"
# x**3 works on each element, so vmap can just run it
predict_transforms = {
    "grad of OldCube": "refused",
    "grad": "accepted",
    "vmap": "accepted",
    "vmap of grad": "accepted",
    "jacrev": "accepted",
    "jvp": "refused",
    "jacfwd": "refused",
}
# %% exercise="predict_transforms" verdict="refused"
# grad is inside and needs only backward, so vmap around it needs no rule
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
# torch makes a jvp from backward by itself, but there is still no rule
predict_transforms = {
    "grad of OldCube": "refused",
    "grad": "accepted",
    "vmap": "refused",
    "vmap of grad": "refused",
    "jacrev": "accepted",
    "jvp": "accepted",
    "jacfwd": "refused",
}
# %% exercise="fix_rule" verdict="passed"
# to the front, then ones behind the batch
class LogAddExp(torch.autograd.Function):
    """log(exp(x) + exp(y)), computed by NumPy."""

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

    @staticmethod
    def vmap(info, in_dims, x, y):
        def front(t, dim):
            return t.unsqueeze(0) if dim is None else t.movedim(dim, 0)
        
        x, y = front(x, in_dims[0]), front(y, in_dims[1])
        ndim = max(x.dim(), y.dim())
        x = x.reshape(x.shape[0], *[1] * (ndim - x.dim()), *x.shape[1:])
        y = y.reshape(y.shape[0], *[1] * (ndim - y.dim()), *y.shape[1:])
        return LogAddExp.apply(x, y), 0
# %% exercise="fix_rule" verdict="refused"
# a loop over the samples: many calls of forward
class LogAddExp(torch.autograd.Function):
    """log(exp(x) + exp(y)), computed by NumPy."""

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

    @staticmethod
    def vmap(info, in_dims, x, y):
        outputs = []
        for i in range(info.batch_size):
            a = x if in_dims[0] is None else x.select(in_dims[0], i)
            b = y if in_dims[1] is None else y.select(in_dims[1], i)
            outputs.append(LogAddExp.apply(a, b))
        return torch.stack(outputs), 0
# %% exercise="fix_rule" verdict="refused"
# the batch is in front now, but the caller is told where that of x was
class LogAddExp(torch.autograd.Function):
    """log(exp(x) + exp(y)), computed by NumPy."""

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

    @staticmethod
    def vmap(info, in_dims, x, y):
        dx, dy = in_dims
        x = x.unsqueeze(0) if dx is None else x.movedim(dx, 0)
        y = y.unsqueeze(0) if dy is None else y.movedim(dy, 0)
        while x.dim() < y.dim():
            x = x.unsqueeze(1)
        while y.dim() < x.dim():
            y = y.unsqueeze(1)
        return LogAddExp.apply(x, y), dx if dx is not None else dy
# %% exercise="fix_rule" verdict="refused"
# missing dimensions are added at the end, not behind the batch
class LogAddExp(torch.autograd.Function):
    """log(exp(x) + exp(y)), computed by NumPy."""

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

    @staticmethod
    def vmap(info, in_dims, x, y):
        dx, dy = in_dims
        x = x.unsqueeze(0) if dx is None else x.movedim(dx, 0)
        y = y.unsqueeze(0) if dy is None else y.movedim(dy, 0)
        while x.dim() < y.dim():
            x = x.unsqueeze(-1)
        while y.dim() < x.dim():
            y = y.unsqueeze(-1)
        return LogAddExp.apply(x, y), 0
# %% exercise="fix_rule" verdict="refused"
# batches to the front, samples of fewer dimensions forgotten
class LogAddExp(torch.autograd.Function):
    """log(exp(x) + exp(y)), computed by NumPy."""

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

    @staticmethod
    def vmap(info, in_dims, x, y):
        if in_dims[0] is not None:
            x = x.movedim(in_dims[0], 0)
        else:
            x = x.unsqueeze(0)
        if in_dims[1] is not None:
            y = y.movedim(in_dims[1], 0)
        else:
            y = y.unsqueeze(0)
        return LogAddExp.apply(x, y), 0
# %% exercise="expose_once" verdict="passed"
# a summand whose gradient has a graph
def expose_once(f, x):
    return (f(x) + x**2).sum()
# %% exercise="expose_once" verdict="refused"
# f is weighted by x: what arrives at f requires grad, the guard speaks
def expose_once(f, x):
    return (x * f(x)).sum()
# %% exercise="expose_once" verdict="refused"
# the second summand is linear: the first gradient has no graph
def expose_once(f, x):
    return f(x).sum() + x.sum()
# %% exercise="expose_once" verdict="refused"
# not summed up: one number per entry
def expose_once(f, x):
    return f(x) + x**2
# %% exercise="expose_once" verdict="refused"
# the square of f: the case in which the guard does its work
def expose_once(f, x):
    return (f(x) ** 2).mean()
# %% exercise="distance_forward" verdict="passed"
# product with the unit vector
class Distance(torch.autograd.Function):
    """The distance of two points."""

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

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return ((x - y) * (dx - dy)).sum() / distance
# %% exercise="distance_forward" verdict="refused"
# the distance of the tangents
class Distance(torch.autograd.Function):
    """The distance of two points."""

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

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return (dx - dy).norm()
# %% exercise="distance_forward" verdict="refused"
# one number per coordinate: sum forgotten
class Distance(torch.autograd.Function):
    """The distance of two points."""

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

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return (x - y) * (dx - dy) / distance
# %% exercise="distance_forward" verdict="refused"
# the sign of y forgotten
class Distance(torch.autograd.Function):
    """The distance of two points."""

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

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        direction = (x - y) / distance
        return (direction * dx).sum() + (direction * dy).sum()
# %% exercise="distance_forward" verdict="refused"
# as in backward: one tangent for each input
class Distance(torch.autograd.Function):
    """The distance of two points."""

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

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        to_x = (dx * (x - y)).sum() / distance
        to_y = (dy * (y - x)).sum() / distance
        return to_x, to_y
# %% exercise="ratio_function" verdict="passed"
# all five things
class Ratio(torch.autograd.Function):
    """x / y, and the share of its entries above 1."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        ratio = x / y
        share = (ratio > 1).to(ratio.dtype).mean()
        return ratio, share

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ratio, share = output
        ctx.mark_non_differentiable(share)
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)

    @staticmethod
    def backward(ctx, to_ratio, to_share):
        x, y = ctx.saved_tensors
        return to_ratio / y, -to_ratio * x / y**2

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return dx / y - x * dy / y**2, None
# %% exercise="ratio_function" verdict="refused"
# save_for_forward forgotten: jvp reads nothing
class Ratio(torch.autograd.Function):
    """x / y, and the share of its entries above 1."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        ratio = x / y
        share = (ratio > 1).to(ratio.dtype).mean()
        return ratio, share

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ratio, share = output
        ctx.mark_non_differentiable(share)
        ctx.save_for_backward(x, y)

    @staticmethod
    def backward(ctx, to_ratio, to_share):
        x, y = ctx.saved_tensors
        return to_ratio / y, -to_ratio * x / y**2

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return dx / y - x * dy / y**2, None
# %% exercise="ratio_function" verdict="refused"
# the share is not marked, so it has a graph
class Ratio(torch.autograd.Function):
    """x / y, and the share of its entries above 1."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        ratio = x / y
        share = (ratio > 1).to(ratio.dtype).mean()
        return ratio, share

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ratio, share = output
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)

    @staticmethod
    def backward(ctx, to_ratio, to_share):
        x, y = ctx.saved_tensors
        return to_ratio / y, -to_ratio * x / y**2

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return dx / y - x * dy / y**2, None
# %% exercise="ratio_function" verdict="refused"
# a rule by hand takes the mean over the whole batch
class Ratio(torch.autograd.Function):
    """x / y, and the share of its entries above 1."""

    @staticmethod
    def forward(x, y):
        ratio = x / y
        share = (ratio > 1).to(ratio.dtype).mean()
        return ratio, share

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ratio, share = output
        ctx.mark_non_differentiable(share)
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)

    @staticmethod
    def backward(ctx, to_ratio, to_share):
        x, y = ctx.saved_tensors
        return to_ratio / y, -to_ratio * x / y**2

    @staticmethod
    def vmap(info, in_dims, x, y):
        x = x.movedim(in_dims[0], 0) if in_dims[0] is not None else x
        y = y.movedim(in_dims[1], 0) if in_dims[1] is not None else y
        return Ratio.apply(x, y), (0, None)

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return dx / y - x * dy / y**2, None
# %% exercise="ratio_function" verdict="refused"
# jvp like backward: one result for each input
class Ratio(torch.autograd.Function):
    """x / y, and the share of its entries above 1."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        ratio = x / y
        share = (ratio > 1).to(ratio.dtype).mean()
        return ratio, share

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ratio, share = output
        ctx.mark_non_differentiable(share)
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)

    @staticmethod
    def backward(ctx, to_ratio, to_share):
        x, y = ctx.saved_tensors
        return to_ratio / y, -to_ratio * x / y**2

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return dx / y, -x * dy / y**2
# %% exercise="fix_region" verdict="passed"
# no copies are kept
def fix_region(model, batches, rate):
    losses = []
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
# one region per forward: the caller's region is forgotten
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
# the copies are thrown away once, before the loop
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
# the region is taken away: float32 everywhere
def fix_region(model, batches, rate):
    losses = []
    for x, y in batches:
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
# the model itself is made bfloat16
def fix_region(model, batches, rate):
    losses = []
    model = model.to(torch.bfloat16)
    for x, y in batches:
        output = model(x.bfloat16())
        loss = mse_loss(output.float(), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rate * p.grad
        model.zero_grad()
        losses.append(loss.item())
    return losses
# %% exercise="fix_layer" verdict="passed"
# both decorators
class Layer(torch.autograd.Function):
    """tanh(x @ w), which keeps only its inputs."""

    @staticmethod
    @custom_fwd(device_type="cpu")
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
# only the forward is decorated
class Layer(torch.autograd.Function):
    """tanh(x @ w), which keeps only its inputs."""

    @staticmethod
    @custom_fwd(device_type="cpu")
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).tanh()

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        g = grad_output * (1 - (x @ w).tanh() ** 2)
        return g @ w.t(), x.t() @ g
# %% exercise="fix_layer" verdict="refused"
# backward always in bfloat16
class Layer(torch.autograd.Function):
    """tanh(x @ w), which keeps only its inputs."""

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
# the gradient is made to fit: all of backward in the type of x
class Layer(torch.autograd.Function):
    """tanh(x @ w), which keeps only its inputs."""

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
# cast_inputs switches autocast off in both passes
class Layer(torch.autograd.Function):
    """tanh(x @ w), which keeps only its inputs."""

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
