# %%
import torch


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


# %% exercise="scale_function" verdict="refused" mistake="divides_new_by_old"
class ScaleInPlace(torch.autograd.Function):
    """Multiplies a tensor by a number in place."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.mark_dirty(x)
        old = x.clone()
        x.mul_(factor)
        ctx.save_for_backward(x / old)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0], None


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


# %% exercise="fix_relu" verdict="refused" mistake="draws_the_border_above_zero"
class ReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        g = grad_output.clone()
        g[input <= 1e-12] = 0
        return g


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


# %% exercise="fix_relu" verdict="refused" mistake="passes_at_zero"
class ReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    # staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return torch.where(input >= 0, grad_output, 0.0)


# %% exercise="square_function" verdict="refused" mistake="saves_data"
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.data)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * x


# %% exercise="scale_function" verdict="refused" mistake="entries_in_wrong_order"
class ScaleInPlace(torch.autograd.Function):
    """Multiplies a tensor by a number in place."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx, grad_output):
        return None, grad_output * ctx.factor


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
