# %%
import numpy as np
import torch
from torch.amp import custom_bwd, custom_fwd
from torch.nn.functional import mse_loss
class Given(torch.autograd.Function):
    """LogAddExp without its rule."""
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
class GivenDistance(torch.autograd.Function):
    """The given Distance, without its jvp."""
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
class GivenRatio(torch.autograd.Function):
    """A right Ratio that answers below change."""
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
# %% exercise="predict_transforms" verdict="refused" mistake="jvp_from_backward"
# believes that torch makes forward mode of two backward passes
predict_transforms = {"grad of OldCube": "refused", "grad": "accepted", "vmap": "refused", "vmap of grad": "refused", "jacrev": "accepted", "jvp": "accepted", "jacfwd": "accepted"}
# %% exercise="fix_rule" verdict="passed"
# an input without a batch is expanded to the batch's size; out_dim counted from the end
class LogAddExp(Given):
    @staticmethod
    def vmap(info, in_dims, x, y):
        moved = []
        for t, d in zip((x, y), in_dims):
            if d is None:
                t = t.unsqueeze(-1).expand(*t.shape, info.batch_size)
            else:
                t = t.movedim(d, -1)
            moved.append(t)
        return LogAddExp.apply(*moved), -1
# %% exercise="fix_rule" verdict="refused" mistake="none_taken_for_a_place"
# None is forgotten: an input without a batch
class LogAddExp(Given):
    @staticmethod
    def vmap(info, in_dims, x, y):
        x, y = x.movedim(in_dims[0], -1), y.movedim(in_dims[1], -1)
        return LogAddExp.apply(x, y), max(x.ndim, y.ndim) - 1
# %% exercise="fix_rule" verdict="refused" mistake="unbatched_is_repeated_as_it_is"
# an input without a batch is left as it is: at the end its last dimension meets the batch
class LogAddExp(Given):
    @staticmethod
    def vmap(info, in_dims, x, y):
        x = x if in_dims[0] is None else x.movedim(in_dims[0], -1)
        y = y if in_dims[1] is None else y.movedim(in_dims[1], -1)
        return LogAddExp.apply(x, y), max(x.ndim, y.ndim) - 1
# %% exercise="fix_rule" verdict="refused" mistake="y_alone_is_padded"
# pads y alone, as in the figure
class LogAddExp(Given):
    @staticmethod
    def vmap(info, in_dims, x, y):
        x = x.unsqueeze(0) if in_dims[0] is None else x.movedim(in_dims[0], 0)
        y = y.unsqueeze(0) if in_dims[1] is None else y.movedim(in_dims[1], 0)
        while y.ndim < x.ndim:
            y = y.unsqueeze(1)
        return LogAddExp.apply(x, y), 0
# %% exercise="fix_rule" verdict="refused" mistake="no_graph_inside"
# forward is called past apply
class LogAddExp(Given):
    @staticmethod
    def vmap(info, in_dims, x, y):
        x, y = (t.unsqueeze(-1) if d is None else t.movedim(d, -1) for t, d in zip((x, y), in_dims))
        result = LogAddExp.forward(x.detach(), y.detach())
        return result, result.dim() - 1
# %% exercise="distance_forward" verdict="passed"
# the unit vector first, then its product with the relative movement
class Distance(GivenDistance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        unit = (x - y) / distance
        return (unit * dx - unit * dy).sum()
# %% exercise="distance_forward" verdict="passed"
# backward of one, twice: its own gradients times the tangents
class Distance(GivenDistance):
    @staticmethod
    def jvp(ctx, dx, dy):
        to_x, to_y = Distance.backward(ctx, 1.0)
        return (to_x * dx).sum() + (to_y * dy).sum()
# %% exercise="distance_forward" verdict="refused" mistake="one_for_each_input"
# the sum is forgotten
class Distance(GivenDistance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return (x - y) / distance * (dx - dy)
# %% exercise="distance_forward" verdict="refused" mistake="movements_are_added"
# adds the terms as the product does
class Distance(GivenDistance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        unit = (x - y) / distance
        return (unit * dx + unit * dy).sum()
# %% exercise="distance_forward" verdict="refused"
# jvp is right, backward has lost its factor
class Distance(GivenDistance):
    @staticmethod
    def backward(ctx, grad_output):
        x, y, distance = ctx.saved_tensors
        to_x = (x - y) / distance
        return to_x, -to_x
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return ((x - y) * (dx - dy)).sum() / distance
# %% exercise="ratio_function" verdict="passed"
# a rule of one's own, with the share of every example
class Ratio(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        ratio = x / y
        return ratio, (ratio > 1).to(ratio.dtype).mean()
    @staticmethod
    def setup_context(ctx, inputs, output):
        _, share = output
        ctx.mark_non_differentiable(share)
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
    @staticmethod
    def backward(ctx, to_ratio, to_share):
        x, y = ctx.saved_tensors
        return to_ratio / y, -to_ratio * x / y**2
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return dx / y - x / y**2 * dy, None
    @staticmethod
    def vmap(info, in_dims, x, y):
        x, y = (
            t.expand(info.batch_size, *t.shape) if d is None else t.movedim(d, 0) for t, d in zip((x, y), in_dims)
        )
        ratio, _ = Ratio.apply(x, y)
        share = (ratio > 1).to(ratio.dtype).reshape(info.batch_size, -1).mean(1)
        return (ratio, share), (0, 0)
# %% exercise="ratio_function" verdict="refused" mistake="something_in_between"
# keeps the inputs as attributes of the context, past the transforms
class Ratio(GivenRatio):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.x, ctx.y = inputs[0].detach(), inputs[1].detach()
    @staticmethod
    def backward(ctx, to_ratio, to_share):
        return to_ratio / ctx.y, -to_ratio * ctx.x / ctx.y**2
    @staticmethod
    def jvp(ctx, dx, dy):
        return dx / ctx.y - ctx.x * dy / ctx.y**2, None
# %% exercise="fix_region" verdict="passed"
# the copies are thrown away after every step; an optimizer from torch
def fix_region(model, batches, rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    losses = []
    for x, y in batches:
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            output = model(x)
        loss = mse_loss(output.float(), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.clear_autocast_cache()
        losses.append(loss.item())
    return losses
# %% exercise="fix_region" verdict="passed"
# the smallest change: one region without copies around it all
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
# %% exercise="fix_region" verdict="refused" mistake="only_the_inner_region"
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
# %% exercise="fix_region" verdict="refused" mistake=""
# frozen and unused parameters have no gradient
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
# the state kept in setup_context, for torch.func too
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(x, w):
        return (x @ w).tanh()
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.autocast = torch.is_autocast_enabled("cpu")
        ctx.dtype = torch.get_autocast_dtype("cpu")
    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        with torch.autocast("cpu", ctx.dtype, enabled=ctx.autocast):
            g = grad_output * (1 - (x @ w).tanh() ** 2)
            return g @ w.t(), x.t() @ g
# %% exercise="fix_layer" verdict="refused" mistake="backward_knows_nothing"
# the forward's decorator alone
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
# %% exercise="fix_layer" verdict="refused" mistake="always_in_bfloat16"
# the inputs converted as the gradient is: it does not ask for the region around the backward pass
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
# %% exercise="fix_layer" verdict="refused" mistake="only_backward_is_decorated"
# both decorators above a forward without context: one does not find what the other notes
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
# %% exercise="fix_region" verdict="refused" mistake="update_without_effect"
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
# %% exercise="fix_region" verdict="refused" mistake="all_steps_at_the_end"
# losses of all first, then one step each: all at the end
def fix_region(model, batches, rate):
    losses, found = [], []
    for x, y in batches:
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            loss = mse_loss(model(x).float(), y)
        losses.append(loss.item())
        wanted = [p for p in model.parameters() if p.requires_grad]
        found.append(torch.autograd.grad(loss, wanted))
    with torch.no_grad():
        for gradients in found:
            for p, g in zip(wanted, gradients):
                p -= rate * g
    return losses
# %% exercise="fix_rule" verdict="refused" mistake="padded_behind"
# the missing dimensions are added at the end
class LogAddExp(Given):
    @staticmethod
    def vmap(info, in_dims, x, y):
        x = x.unsqueeze(0) if in_dims[0] is None else x.movedim(in_dims[0], 0)
        y = y.unsqueeze(0) if in_dims[1] is None else y.movedim(in_dims[1], 0)
        while x.dim() < y.dim():
            x = x.unsqueeze(-1)
        while y.dim() < x.dim():
            y = y.unsqueeze(-1)
        return LogAddExp.apply(x, y), 0
# %% exercise="fix_region" verdict="refused" mistake="in_training_mode"
# train mode set
def fix_region(model, batches, rate):
    losses = []
    model.train()
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
# %% exercise="fix_rule" verdict="refused" mistake="no_graph_inside"
# forward is called, not apply: no gradient
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
        x = x.unsqueeze(0) if in_dims[0] is None else x.movedim(in_dims[0], 0)
        y = y.unsqueeze(0) if in_dims[1] is None else y.movedim(in_dims[1], 0)
        while x.dim() < y.dim():
            x = x.unsqueeze(1)
        while y.dim() < x.dim():
            y = y.unsqueeze(1)
        return LogAddExp.forward(x, y), 0
# %% exercise="fix_rule" verdict="refused" mistake="zero_taken_for_none"
# if dim: a batch at 0 counts as none
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
        x = x.movedim(in_dims[0], 0) if in_dims[0] else x.unsqueeze(0)
        y = y.movedim(in_dims[1], 0) if in_dims[1] else y.unsqueeze(0)
        while x.dim() < y.dim():
            x = x.unsqueeze(1)
        while y.dim() < x.dim():
            y = y.unsqueeze(1)
        return LogAddExp.apply(x, y), 0
# %% exercise="ratio_function" verdict="refused" mistake="takes_the_context_still"
# marked in forward, ctx kept
class Ratio(torch.autograd.Function):
    """x / y, and the share of its entries above 1."""
    generate_vmap_rule = True
    @staticmethod
    def forward(ctx, x, y):
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
# %% exercise="distance_forward" verdict="refused"
class Distance(GivenDistance):
    """The last call of any keeps its tensors on the class."""
    generate_vmap_rule = True
    @staticmethod
    def setup_context(ctx, inputs, output):
        GivenDistance.setup_context(ctx, inputs, output)
        if not torch._C._functorch.is_functorch_wrapped_tensor(output):
            Distance.last = *inputs, output
    @staticmethod
    def backward(ctx, grad_output):
        x, y, distance = Distance.last
        to_x = grad_output * (x - y) / distance
        return to_x, -to_x
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return ((x - y) * (dx - dy)).sum() / distance
