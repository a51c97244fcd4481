# %%
import numpy as np
import torch
from torch.amp import custom_bwd, custom_fwd
from torch.autograd.function import once_differentiable
from torch.nn.functional import mse_loss
# %% exercise="predict_transforms" verdict="passed"
# read from what each transform runs
predict_transforms = {
    "grad of OldCube": "refused",
    "grad": "accepted",
    "vmap": "refused",
    "vmap of grad": "refused",
    "jacrev": "accepted",
    "jvp": "refused",
    "jacfwd": "refused",
}
# %% exercise="predict_transforms" verdict="passed"
# the same, built from the two that are accepted
accepted = {"grad", "jacrev"}
names = ["grad of OldCube", "grad", "vmap", "vmap of grad", "jacrev", "jvp", "jacfwd"]
predict_transforms = {name: "accepted" if name in accepted else "refused" for name in names}
# %% exercise="predict_transforms" verdict="refused"
# torch operations inside, so vmap needs no rule
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
# jacrev uses vmap, so it needs the rule
predict_transforms = {
    "grad of OldCube": "refused",
    "grad": "accepted",
    "vmap": "refused",
    "vmap of grad": "refused",
    "jacrev": "refused",
    "jvp": "refused",
    "jacfwd": "refused",
}
# %% exercise="predict_transforms" verdict="refused"
# vmap of grad runs only backward under vmap, like jacrev
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
# forward mode is made of two backward passes: jvp and jacfwd are accepted
predict_transforms = {
    "grad of OldCube": "refused",
    "grad": "accepted",
    "vmap": "refused",
    "vmap of grad": "refused",
    "jacrev": "accepted",
    "jvp": "accepted",
    "jacfwd": "accepted",
}
# %% exercise="predict_transforms" verdict="refused"
# a column of the two words mixed up: everything the class does not write is refused, jvp included, but jacfwd is taken for jacrev
predict_transforms = {
    "grad of OldCube": "refused",
    "grad": "accepted",
    "vmap": "refused",
    "vmap of grad": "refused",
    "jacrev": "accepted",
    "jvp": "refused",
    "jacfwd": "accepted",
}
# %% exercise="fix_rule" verdict="passed"
# batch first, ones between it and the sample
class LogAddExp(torch.autograd.Function):
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
        x_dim, y_dim = in_dims
        x = x.unsqueeze(0) if x_dim is None else x.movedim(x_dim, 0)
        y = y.unsqueeze(0) if y_dim is None else y.movedim(y_dim, 0)
        n = max(x.dim(), y.dim())
        x = x.reshape(x.shape[0], *[1] * (n - x.dim()), *x.shape[1:])
        y = y.reshape(y.shape[0], *[1] * (n - y.dim()), *y.shape[1:])
        return LogAddExp.apply(x, y), 0
# %% exercise="fix_rule" verdict="passed"
# batch last, so that samples align from the right by themselves
class LogAddExp(torch.autograd.Function):
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
        x, y = (
            t.unsqueeze(-1) if dim is None else t.movedim(dim, -1) for t, dim in zip((x, y), in_dims)
        )
        result = LogAddExp.apply(x, y)
        return result, result.dim() - 1
# %% exercise="fix_rule" verdict="passed"
# both expanded to the common shape of a sample, batch in front
class LogAddExp(torch.autograd.Function):
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
        def batched(t, dim):
            return t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)

        x, y = batched(x, in_dims[0]), batched(y, in_dims[1])
        shape = torch.broadcast_shapes(x.shape[1:], y.shape[1:])

        def full(t):
            while t.dim() < len(shape) + 1:
                t = t.unsqueeze(1)
            return t.expand(info.batch_size, *shape)

        return LogAddExp.apply(full(x), full(y)), 0
# %% exercise="fix_rule" verdict="refused"
# batches in front, but samples of different dimensions are not padded
class LogAddExp(torch.autograd.Function):
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
        x = x.movedim(in_dims[0], 0) if in_dims[0] is not None else x.unsqueeze(0)
        y = y.movedim(in_dims[1], 0) if in_dims[1] is not None else y.unsqueeze(0)
        return LogAddExp.apply(x, y), 0
# %% exercise="fix_rule" verdict="refused"
# both inputs are taken to have a batch
class LogAddExp(torch.autograd.Function):
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
        x = x.movedim(in_dims[0], 0)
        y = y.movedim(in_dims[1], 0)
        while x.dim() < y.dim():
            x = x.unsqueeze(1)
        while y.dim() < x.dim():
            y = y.unsqueeze(1)
        return LogAddExp.apply(x, y), 0
# %% exercise="fix_rule" verdict="refused"
# an input without a batch stays as it is: its first dimension can meet the batch
class LogAddExp(torch.autograd.Function):
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
        x_dim, y_dim = in_dims
        if x_dim is not None:
            x = x.movedim(x_dim, 0)
        if y_dim is not None:
            y = y.movedim(y_dim, 0)
        if x_dim is not None:
            while x.dim() < y.dim():
                x = x.unsqueeze(1)
        if y_dim is not None:
            while y.dim() < x.dim():
                y = y.unsqueeze(1)
        return LogAddExp.apply(x, y), 0
# %% exercise="fix_rule" verdict="refused"
# a loop: forward is called for each sample
class LogAddExp(torch.autograd.Function):
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
        x = x.expand(info.batch_size, *x.shape) if in_dims[0] is None else x.movedim(in_dims[0], 0)
        y = y.expand(info.batch_size, *y.shape) if in_dims[1] is None else y.movedim(in_dims[1], 0)
        return torch.stack([LogAddExp.apply(a, b) for a, b in zip(x, y)]), 0
# %% exercise="fix_rule" verdict="refused"
# forward called without apply: the graph is lost
class LogAddExp(torch.autograd.Function):
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
        x, y = (t.unsqueeze(-1) if dim is None else t.movedim(dim, -1) for t, dim in zip((x, y), in_dims))
        result = LogAddExp.forward(x.detach(), y.detach())
        return result, result.dim() - 1
# %% exercise="fix_rule" verdict="refused"
# batch moved to the front, its place reported as it was before
class LogAddExp(torch.autograd.Function):
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
        x_dim, y_dim = in_dims
        x = x.unsqueeze(0) if x_dim is None else x.movedim(x_dim, 0)
        y = y.unsqueeze(0) if y_dim is None else y.movedim(y_dim, 0)
        n = max(x.dim(), y.dim())
        x = x.reshape(x.shape[0], *[1] * (n - x.dim()), *x.shape[1:])
        y = y.reshape(y.shape[0], *[1] * (n - y.dim()), *y.shape[1:])
        return LogAddExp.apply(x, y), x_dim if x_dim is not None else y_dim
# %% exercise="fix_rule" verdict="refused"
# torch's own logaddexp: the library in `forward` is not asked
class LogAddExp(torch.autograd.Function):
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
        x, y = (t.unsqueeze(-1) if dim is None else t.movedim(dim, -1) for t, dim in zip((x, y), in_dims))
        result = torch.logaddexp(x, y)
        return result, result.dim() - 1
# %% exercise="fix_rule" verdict="refused"
# the rule that torch makes, though NumPy is inside
class LogAddExp(torch.autograd.Function):
    generate_vmap_rule = True

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
# %% exercise="expose_once" verdict="passed"
# a plain summand beside a square, which gives the gradient a graph
def expose_once(f, x):
    return (f(x) + x**2).sum()
# %% exercise="expose_once" verdict="passed"
# f of a square: a constant arrives, the graph comes from the square
def expose_once(f, x):
    return f(x * x).sum()
# %% exercise="expose_once" verdict="passed"
# as a mean, the graph from an exponential
def expose_once(f, x):
    return f(x).mean() + x.exp().mean()
# %% exercise="expose_once" verdict="refused"
# f alone: the first gradient has no graph
def expose_once(f, x):
    return f(x).sum()
# %% exercise="expose_once" verdict="refused"
# the square of f: the guard raises
def expose_once(f, x):
    return (f(x) ** 2).sum()
# %% exercise="expose_once" verdict="refused"
# f times x: the guard raises
def expose_once(f, x):
    return (x * f(x)).sum()
# %% exercise="expose_once" verdict="refused"
# f and a linear term: still no graph
def expose_once(f, x):
    return (f(x) + x).sum()
# %% exercise="expose_once" verdict="refused"
# f applied twice: no graph is left
def expose_once(f, x):
    return f(f(x)).sum()
# %% exercise="expose_once" verdict="refused"
# f is detached, so its value is a constant in both
def expose_once(f, x):
    return (f(x).detach() * x**2).sum()
# %% exercise="expose_once" verdict="refused"
# f does not matter for the gradient
def expose_once(f, x):
    return (x**3).sum()
# %% exercise="expose_once" verdict="refused"
# no tensor of one element
def expose_once(f, x):
    return f(x) + x**2
# %% exercise="distance_forward" verdict="passed"
# the difference moves by dx - dy, along the unit vector
class Distance(torch.autograd.Function):
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
# %% exercise="distance_forward" verdict="passed"
# one share for each input
class Distance(torch.autograd.Function):
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
        return torch.sum(direction * dx) - torch.sum(direction * dy)
# %% exercise="distance_forward" verdict="passed"
# an inner product of flat tensors
class Distance(torch.autograd.Function):
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
        return torch.dot((x - y).flatten(), (dx - dy).flatten()) / distance
# %% exercise="distance_forward" verdict="refused"
# the distance of the tangents
class Distance(torch.autograd.Function):
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
# the tangent of y with the sign of x
class Distance(torch.autograd.Function):
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
        return ((x - y) * (dx + dy)).sum() / distance
# %% exercise="distance_forward" verdict="refused"
# y stands still
class Distance(torch.autograd.Function):
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
        return ((x - y) * dx).sum() / distance
# %% exercise="distance_forward" verdict="refused"
# not summed: one number for each coordinate
class Distance(torch.autograd.Function):
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
# a tangent for each input, as backward returns
class Distance(torch.autograd.Function):
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
        unit = (x - y) / distance
        return (unit * dx).sum(), -(unit * dy).sum()
# %% exercise="distance_forward" verdict="refused"
# not divided by the distance
class Distance(torch.autograd.Function):
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
        return ((x - y) * (dx - dy)).sum()
# %% exercise="distance_forward" verdict="refused"
# a dot product that takes vectors only
class Distance(torch.autograd.Function):
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
        return torch.dot(x - y, dx - dy) / distance
# %% exercise="distance_forward" verdict="refused"
# the mean in place of the sum
class Distance(torch.autograd.Function):
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
        return ((x - y) * (dx - dy) / distance).mean()
# %% exercise="ratio_function" verdict="passed"
# the rule by torch, a jvp
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
        return dx / y - x * dy / y**2, None
# %% exercise="ratio_function" verdict="passed"
# a rule by hand, ones between batch and sample not needed: the samples have one shape
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
        x = x.unsqueeze(0) if in_dims[0] is None else x.movedim(in_dims[0], 0)
        y = y.unsqueeze(0) if in_dims[1] is None else y.movedim(in_dims[1], 0)
        ratio = x / y
        share = (ratio > 1).to(ratio.dtype).reshape(info.batch_size, -1).mean(1)
        return (ratio, share), (0, 0)
# %% exercise="ratio_function" verdict="passed"
# the ratio is saved, as an output, and both derivatives use it
class Ratio(torch.autograd.Function):
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
        ctx.save_for_backward(y, ratio)
        ctx.save_for_forward(y, ratio)

    @staticmethod
    def backward(ctx, to_ratio, to_share):
        y, ratio = ctx.saved_tensors
        return to_ratio / y, -to_ratio * ratio / y

    @staticmethod
    def jvp(ctx, dx, dy):
        y, ratio = ctx.saved_tensors
        return (dx - ratio * dy) / y, None
# %% exercise="ratio_function" verdict="passed"
# zeros as the tangent of the share
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
        return dx / y - x * dy / y**2, torch.zeros((), dtype=x.dtype)
# %% exercise="ratio_function" verdict="refused"
# no rule for batches
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
# jvp reads what was saved for backward only
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
# the tangent of the ratio alone is returned
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
# %% exercise="ratio_function" verdict="refused"
# the share is not marked: it has a graph
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
        return dx / y - x * dy / y**2, None
# %% exercise="ratio_function" verdict="refused"
# the formula of backward in jvp: two tangents for two inputs
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
        return dx / y, -x * dy / y**2
# %% exercise="ratio_function" verdict="refused"
# the second term has the wrong sign
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
        return dx / y + x * dy / y**2, None
# %% exercise="ratio_function" verdict="refused"
# no jvp
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
# %% exercise="ratio_function" verdict="refused"
# a guard that was left from lesson 07
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
    @once_differentiable
    def backward(ctx, to_ratio, to_share):
        x, y = ctx.saved_tensors
        return to_ratio / y, -to_ratio * x / y**2

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return dx / y - x * dy / y**2, None
# %% exercise="ratio_function" verdict="refused"
# a rule by hand that calls apply: the share is that of the whole batch
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
        return Ratio.apply(x, y), (0, None)
# %% exercise="ratio_function" verdict="refused"
# jvp added to the old form, forward with a context
class Ratio(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, x, y):
        ratio = x / y
        share = (ratio > 1).to(ratio.dtype).mean()
        ctx.mark_non_differentiable(share)
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        return ratio, share

    @staticmethod
    def backward(ctx, to_ratio, to_share):
        x, y = ctx.saved_tensors
        return to_ratio / y, -to_ratio * x / y**2

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return dx / y - x * dy / y**2, None
# %% exercise="fix_region" verdict="passed"
# one argument: no copies at all
def fix_region(model, batches, rate):
    losses = []
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
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
# %% exercise="fix_region" verdict="passed"
# a region per forward pass, without copies; an optimizer steps
def fix_region(model, batches, rate):
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=rate)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            output = model(x)
        loss = mse_loss(output.float(), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
# %% exercise="fix_region" verdict="passed"
# a region per forward pass, and the copies are thrown away after the step; gradients by autograd.grad
def fix_region(model, batches, rate):
    weights = [p for p in model.parameters() if p.requires_grad]
    losses = []
    for x, y in batches:
        with torch.autocast("cpu", torch.bfloat16):
            loss = mse_loss(model(x).float(), y)
        gradients = torch.autograd.grad(loss, weights, allow_unused=True)
        with torch.no_grad():
            for p, g in zip(weights, gradients):
                if g is not None:
                    p.sub_(g, alpha=rate)
        torch.clear_autocast_cache()
        losses.append(loss.item())
    return losses
# %% exercise="fix_region" verdict="refused"
# a region per forward pass, but the caller's region keeps the copies
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
# no region at all
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
# the model itself is converted
def fix_region(model, batches, rate):
    model.to(torch.bfloat16)
    losses = []
    for x, y in batches:
        output = model(x.to(torch.bfloat16))
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
# the model is converted for the pass and back: the weights are rounded
def fix_region(model, batches, rate):
    losses = []
    for x, y in batches:
        output = model.bfloat16()(x.bfloat16())
        loss = mse_loss(output.float(), y)
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
# the copies are cleared once, before the loop
def fix_region(model, batches, rate):
    losses = []
    torch.clear_autocast_cache()
    with torch.autocast("cpu", torch.bfloat16):
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
# the region around the loss alone: the layers compute in float32
def fix_region(model, batches, rate):
    losses = []
    for x, y in batches:
        output = model(x)
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            loss = mse_loss(output, y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rate * p.grad
        model.zero_grad()
        losses.append(loss.item())
    return losses
# %% exercise="fix_region" verdict="refused"
# gradients are no longer cleared
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
        losses.append(loss.item())
    return losses
# %% exercise="fix_region" verdict="refused"
# the loss after the step is listed
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
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            losses.append(mse_loss(model(x).float(), y).item())
    return losses
# %% exercise="fix_region" verdict="refused"
# a caller's region is answered by an outer one: still an inner region
def fix_region(model, batches, rate):
    losses = []
    with torch.autocast("cpu", enabled=False):
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
# every parameter needs a gradient: frozen and unused ones raise
def fix_region(model, batches, rate):
    losses = []
    for x, y in batches:
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            loss = mse_loss(model(x).float(), y)
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        with torch.no_grad():
            for p, g in zip(model.parameters(), gradients):
                p -= rate * g
        losses.append(loss.item())
    return losses
# %% exercise="fix_layer" verdict="passed"
# the two decorators
class Layer(torch.autograd.Function):
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
# %% exercise="fix_layer" verdict="passed"
# the state noted by hand
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.on, ctx.dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        ctx.save_for_backward(x, w)
        return (x @ w).tanh()

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        with torch.autocast("cpu", dtype=ctx.dtype, enabled=ctx.on):
            g = grad_output * (1 - (x @ w).tanh() ** 2)
            return g @ w.t(), x.t() @ g
# %% exercise="fix_layer" verdict="passed"
# inputs cast by the decorator: the products are in bfloat16, too
class Layer(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=torch.bfloat16)
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).tanh()

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        g = grad_output * (1 - (x @ w).tanh() ** 2)
        return g @ w.t(), x.t() @ g
# %% exercise="fix_layer" verdict="passed"
# the new form, the state noted in setup_context
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(x, w):
        return (x @ w).tanh()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.autocast = torch.is_autocast_enabled("cpu")

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        with torch.autocast("cpu", torch.bfloat16, enabled=ctx.autocast):
            g = grad_output * (1 - (x @ w).tanh() ** 2)
            return g @ w.t(), x.t() @ g
# %% exercise="fix_layer" verdict="refused"
# custom_bwd alone: nothing was noted
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
# %% exercise="fix_layer" verdict="refused"
# custom_fwd alone
class Layer(torch.autograd.Function):
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
# the gradient converted to float32: another function is differentiated
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
# the inputs converted as the gradient is: a backward pass in a region is not seen
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).tanh()

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        x, w = x.to(grad_output.dtype), w.to(grad_output.dtype)
        g = grad_output * (1 - (x @ w).tanh() ** 2)
        return g @ w.t(), x.t() @ g
# %% exercise="fix_layer" verdict="refused"
# a region in every backward pass
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
# the state asked in backward, when it is too late
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).tanh()

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        with torch.autocast("cpu", torch.bfloat16, enabled=torch.is_autocast_enabled("cpu")):
            g = grad_output * (1 - (x @ w).tanh() ** 2)
            return g @ w.t(), x.t() @ g
# %% exercise="fix_layer" verdict="refused"
# cast to float32: no product in bfloat16
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
# the decorators of another device
class Layer(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cuda")
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).tanh()

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        g = grad_output * (1 - (x @ w).tanh() ** 2)
        return g @ w.t(), x.t() @ g
# %% exercise="fix_layer" verdict="refused"
# the output of forward converted, the rest unchanged
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).tanh().to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        g = grad_output * (1 - (x @ w).tanh() ** 2)
        return g @ w.t(), x.t() @ g
# %% exercise="fix_layer" verdict="refused"
# decorators and a forward without context
class Layer(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cpu")
    def forward(x, w):
        return (x @ w).tanh()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        g = grad_output * (1 - (x @ w).tanh() ** 2)
        return g @ w.t(), x.t() @ g
