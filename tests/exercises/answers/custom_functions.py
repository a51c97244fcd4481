# %%
import torch
from torch.autograd import gradcheck, gradgradcheck
# %% exercise="product_function" verdict="refused" mistake="takes_the_mean_for_a_number"
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).mean() if a.dim() == 0 else grad_output * b
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).mean() if b.dim() == 0 else grad_output * a
        return grad_a, grad_b
# %% exercise="cube_function" verdict="refused"
class Cube(torch.autograd.Function):
    @staticmethod
    def apply(x):
        return x**3
# %% exercise="fix_relu" verdict="refused" mistake="draws_the_border_above_zero"
class ReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)
    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return torch.where(input > torch.finfo(input.dtype).eps, grad_output, torch.zeros_like(grad_output))
# %% exercise="product_function" verdict="refused" mistake="sums_over_axis_0"
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = grad_output * b
            if grad_a.shape != a.shape:
                grad_a = grad_a.sum(0)
        if ctx.needs_input_grad[1]:
            grad_b = grad_output * a
            if grad_b.shape != b.shape:
                grad_b = grad_b.sum(0)
        return grad_a, grad_b
# %% exercise="is_right_function" verdict="refused" mistake="only_twice_by_k"
def is_right_function(function):
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    k = torch.randn(4, dtype=torch.float64, requires_grad=True)
    v = torch.randn(4, dtype=torch.float64)
    kept = v.clone()
    try:
        y = function.apply(x, k)
        got = torch.autograd.grad(y, (x, k), v)
        if not torch.equal(v, kept):
            return False
        right = torch.autograd.grad(x * torch.exp(-k), (x, k), kept)
        if not (torch.allclose(y, x * torch.exp(-k)) and all(torch.allclose(a, b) for a, b in zip(got, right))):
            return False
        (gk,) = torch.autograd.grad(function.apply(x, k).sum(), k, create_graph=True)
        (gkk,) = torch.autograd.grad(gk.sum(), k)
        return torch.allclose(gkk, x * torch.exp(-k))
    except (RuntimeError, TypeError):
        return False
# %% exercise="fix_relu" verdict="refused" mistake="passes_at_zero"
class ReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return torch.relu(input)
    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * (input >= 0)
# %% exercise="leaky_function" verdict="refused" mistake="returns_the_original"
class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x < 0, slope * x, x)
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[x < 0].mul_(ctx.slope)
        return grad_input, None
# %% exercise="cube_function" verdict="refused" mistake="jvp_edits_the_tangent"
class Cube(torch.autograd.Function):
    """The third power, for autograd and for torch.func."""
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x**3
    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2
    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent.mul_(3 * x**2)
# %% exercise="exp_function" verdict="refused" mistake="attribute_of_ctx"
# dict keyed by id(x)
class Exp(torch.autograd.Function):
    memo = {}
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.key = id(x)
        Exp.memo[id(x)] = y
        return y
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * Exp.memo[ctx.key]
# %% exercise="exp_function" verdict="refused" mistake="takes_x_apart"
# stack over the first axis: not for shape ()
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.stack([t.exp() for t in x])
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y
# %% exercise="exp_function" verdict="refused" mistake="views_grad_output"
# view(-1): not for non-contiguous grad_output
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return (grad_output.view(-1) * y.view(-1)).view(y.shape)
# %% exercise="exp_function" verdict="refused" mistake="returns_a_view"
# reshape: the result is a view of a temporary
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x.reshape(-1)).reshape(x.shape)
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y
# %% exercise="exp_function" verdict="refused" mistake="subtracts_the_largest"
# empty tensor fails: max subtracted
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max()
        y = torch.exp(x - m) * torch.exp(m)
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y
# %% exercise="product_function" verdict="refused" mistake="squeezes_the_sum"
# squeeze after sum
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        def down(g, t):
            for i in range(g.dim()):
                j = i - g.dim()
                if -j > t.dim() or t.shape[j] == 1:
                    g = g.sum(i, keepdim=True)
            return g.squeeze()
        return down(grad_output * b, a) if ctx.needs_input_grad[0] else None, down(
            grad_output * a, b
        ) if ctx.needs_input_grad[1] else None
# %% exercise="product_function" verdict="refused" mistake="divides_the_result"
# zip mask product of both inputs
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b, a * b)
        return a * b
    @staticmethod
    def backward(ctx, grad_output):
        a, b, y = ctx.saved_tensors
        return grad_output * y / a if ctx.needs_input_grad[0] else None, grad_output * y / b if ctx.needs_input_grad[
            1
        ] else None
# %% exercise="product_function" verdict="refused" mistake="counts_axes_from_the_left"
# sums with size-1 axes only, leading axes forgotten
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        def down(g, t):
            for i, n in enumerate(t.shape):
                if n == 1:
                    g = g.sum(i, keepdim=True)
            return g
        return down(grad_output * b, a) if ctx.needs_input_grad[0] else None, down(
            grad_output * a, b
        ) if ctx.needs_input_grad[1] else None
# %% exercise="fix_sinh" verdict="refused" mistake="under_no_grad"
# requires_grad_ in backward
class Sinh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (torch.exp(x) - torch.exp(-x)) / 2
    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = torch.sinh(x)
        return torch.autograd.grad(y, x, grad_output)[0]
# %% exercise="silu_function" verdict="refused" mistake="cuts_off_at_20"
# clamps x for safety
class SiLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)
    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].clamp(-20, 20)
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))
# %% exercise="silu_function" verdict="refused" mistake="silu_through_float32"
# float32 sigmoid
class SiLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x.float()).to(x.dtype)
        return grad_output * (s + x * s * (1 - s))
# %% exercise="silu_function" verdict="refused" mistake="silu_by_view"
# view(-1) of grad_output
class SiLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return (grad_output.view(-1) * (s + x * s * (1 - s)).view(-1)).view(x.shape)
# %% exercise="reverse_function" verdict="refused" mistake="reverse_in_wrong_order"
# deepcopy of factor gradient 0
class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.clone()
    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.factor * grad_output, torch.zeros(())
# %% exercise="reverse_function" verdict="refused" mistake="one_entry"
# list of two
class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.clone()
    @staticmethod
    def backward(ctx, g):
        return [-ctx.factor * g, None]
# %% exercise="leaky_function" verdict="refused" mistake="takes_the_larger"
# forward by maximum
class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.maximum(x, slope * x)
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        g = grad_output.clone()
        g[x < 0] *= ctx.slope
        return g, None
# %% exercise="scale_function" verdict="refused" mistake="returns_a_copy"
# mark_dirty, new tensor returned
class ScaleInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x * factor
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None
# %% exercise="scale_function" verdict="refused" mistake="marks_non_differentiable"
# mark_non_differentiable
class ScaleInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.mark_dirty(x)
        ctx.mark_non_differentiable(x)
        return x.mul_(factor)
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None
# %% exercise="scale_function" verdict="refused" mistake="one_entry_for_two"
# list of two
class ScaleInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)
    @staticmethod
    def backward(ctx, g):
        return [g * ctx.factor, None]
# %% exercise="scale_function" verdict="refused" mistake="entries_in_wrong_order"
# gradient for the factor as well
class ScaleInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)
    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, g.sum()
# %% exercise="cube_function" verdict="refused" mistake="vmap_without_the_axis"
# vmap returns no out_dim
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3
    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2
    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return t * 3 * x**2
    @staticmethod
    def vmap(info, in_dims, x):
        return Cube.apply(x)
# %% exercise="cube_function" verdict="refused" mistake="jvp_returns_a_pair"
# jvp as a method of two outputs
class Cube(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x**3
    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2
    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return x**3, t * 3 * x**2
# %% exercise="cube_function" verdict="refused" mistake="batch_always_first"
# vmap stack of applies at 0, but in_dim returned
class Cube(torch.autograd.Function):
    @staticmethod
    def vmap(info, in_dims, x):
        return torch.stack([Cube.apply(t) for t in x.unbind(in_dims[0])]), in_dims[0]
    @staticmethod
    def forward(x):
        return x**3
    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2
    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return t * 3 * x**2
# %% exercise="is_right_function" verdict="refused" mistake="compares_exactly"
# demands grad_fn without saved tensors
def is_right_function(function):
    torch.manual_seed(4)
    x = torch.tensor([1.5, -0.7, 0.3, -2.0], dtype=torch.float64, requires_grad=True)
    k = torch.randn(4, dtype=torch.float64, requires_grad=True)
    assert torch.allclose(function.apply(x, k), x * torch.exp(-k))
    assert gradcheck(function.apply, (x, k))
    assert gradgradcheck(function.apply, (x, k))
    g = torch.randn(4, dtype=torch.float64)
    before = g.clone()
    torch.autograd.grad(function.apply(x, k), (x, k), g)
    assert torch.equal(g, before)
    return len(function.apply(x, k).grad_fn.saved_tensors) == 2
# %% exercise="is_right_function" verdict="refused" mistake="both_gradchecks_alone"
# k = 0
def is_right_function(function):
    x = torch.tensor([1.5, -0.7, 0.3, -2.0], dtype=torch.float64, requires_grad=True)
    k = torch.tensor([0.0, 0.0, 0.0, 0.0], dtype=torch.float64, requires_grad=True)
    assert torch.allclose(function.apply(x, k), x * torch.exp(-k))
    assert gradcheck(function.apply, (x, k))
    assert gradgradcheck(function.apply, (x, k))
    g = torch.tensor([1.0, 2.0, -3.0, 0.5], dtype=torch.float64)
    before = g.clone()
    torch.autograd.grad(function.apply(x, k), (x, k), g)
    assert torch.equal(g, before)
    return True
# %% exercise="is_right_function" verdict="refused" mistake="never_looks_at_grad_output"
# zeros for g
def is_right_function(function):
    x = torch.tensor([1.5, -0.7, 0.3, -2.0], dtype=torch.float64, requires_grad=True)
    k = torch.tensor([0.5, -0.2, 1.3, 0.8], dtype=torch.float64, requires_grad=True)
    assert torch.allclose(function.apply(x, k), x * torch.exp(-k))
    assert gradcheck(function.apply, (x, k))
    assert gradgradcheck(function.apply, (x, k))
    g = torch.tensor([0.0] * 4, dtype=torch.float64)
    before = g.clone()
    torch.autograd.grad(function.apply(x, k), (x, k), g)
    assert torch.equal(g, before)
    return True
# %% exercise="is_right_function" verdict="refused" mistake="refuses_everything"
# torch.allclose on the whole but negated
def is_right_function(function):
    x = torch.tensor([1.5, -0.7, 0.3, -2.0], dtype=torch.float64, requires_grad=True)
    k = torch.tensor([0.5, -0.2, 1.3, 0.8], dtype=torch.float64, requires_grad=True)
    return not torch.allclose(function.apply(x, k), x * torch.exp(-k))
# %% exercise="is_right_function" verdict="refused" mistake="each_by_its_own_input"
# differentiates the gradients only with respect to their own input, so wrong mixed derivatives get through
def is_right_function(function):
    def found(apply):
        x = torch.linspace(-2, 2, 5, dtype=torch.float64).requires_grad_()
        k = torch.linspace(1, -1, 5, dtype=torch.float64).requires_grad_()
        g = torch.arange(1.0, 6.0, dtype=torch.float64)
        y = apply(x, k)
        plain = torch.autograd.grad(y, (x, k), g, retain_graph=True)
        assert g.tolist() == [1, 2, 3, 4, 5]
        gx, gk = torch.autograd.grad(y, (x, k), g, create_graph=True)
        xx = torch.autograd.grad(gx.sum(), x, retain_graph=True, allow_unused=True, materialize_grads=True)[0]
        kk = torch.autograd.grad(gk.sum(), k, retain_graph=True, allow_unused=True, materialize_grads=True)[0]
        return [y, *plain, xx, kk]
    return all(torch.allclose(p, q) for p, q in zip(found(function.apply), found(lambda x, k: x * torch.exp(-k))))
# %% exercise="predict_function" verdict="passed"
# from a notebook of before, whose table had more rows; one of those that are gone is wrong.
predict_function = {
    "recording in forward": False,
    "a.requires_grad in forward": True,
    "recording in backward": False,
    "recording in backward, create_graph=True": True,
    "needs_input_grad": (True, False),
    "a.grad": 30.0,
    "node of Tenfold.forward(...)": "MulBackward0",
    "Tenfold()(a, b)": "RuntimeError",
    "one gradient for two inputs": "RuntimeError",
    "a None too many": "accepted",
    "relu at 0": 0.0,
    "maximum at 0": 0.0,
    "where(x > 0) at 0": 0.0,
    "where(x >= 0) at 0": 1.0,
}
# %% exercise="fix_relu" verdict="refused" mistake="fills_zeros_on_the_cpu"
# the zeros are made on the CPU and in float32, so the gradient fails on another device.
class ReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)
    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = torch.zeros(input.shape)
        keep = input > 0
        grad_input[keep] = grad_output[keep].to(grad_input.dtype)
        return grad_input
# %% exercise="product_function" verdict="refused" mistake="multiplies_the_second_in_place"
# the second gradient is computed in place in the incoming one, which changes grad_output.
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        for_a = grad_output * b if ctx.needs_input_grad[0] else None
        for_b = grad_output.mul_(a) if ctx.needs_input_grad[1] else None
        return for_a, for_b
# %% exercise="cube_function" verdict="refused" mistake="unpacks_what_was_not_saved"
# nothing is saved for forward mode, so jvp finds no tensors.
class Cube(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x**3
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2
    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * 3 * x**2
# %% exercise="product_function" verdict="refused" mistake=""
# four gradients, not one as the mistake with the same message
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return 2 * (grad_output * b, grad_output * a)
# %% exercise="product_function" verdict="refused" mistake=""
# no result, and so no gradient: nothing has changed grad_output
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return grad_output * b, grad_output * a
