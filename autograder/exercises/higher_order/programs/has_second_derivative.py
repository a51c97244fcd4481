# %%
import torch
from torch.autograd.function import once_differentiable
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

_WRONG_ABOVE = 2.0  # below this, a wrong function is right; the cases' x is above


class _Cube(torch.autograd.Function):
    """A right Function for x^3, without `setup_context`."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        return 3 * ctx.saved_tensors[0] ** 2 * gradient


class _CubeOnce(_Cube):
    """A Function for x^3 that refuses to be differentiated twice."""

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        return 3 * ctx.saved_tensors[0] ** 2 * gradient


class _CubeConstant(_Cube):
    """A Function for x^3 whose gradient is a constant to autograd."""

    @staticmethod
    def backward(ctx, gradient):
        with torch.no_grad():
            return 3 * ctx.saved_tensors[0] ** 2 * gradient


class _CubeRoughly(_Cube):
    """A Function for x^3 whose second derivative is wrong by a tenth."""

    @staticmethod
    def backward(ctx, gradient):
        slope = 3 * ctx.saved_tensors[0] ** 2
        return gradient * (1.1 * slope - 0.1 * slope.detach())


class _Products(torch.autograd.Function):
    """Twice the sum of the products of neighbours, without its mixed derivatives."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 2 * (x * x.roll(1)).sum()

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0]
        return gradient * 2 * (x.roll(1) + x.roll(-1)).detach()


class _ProductsShifted(_Products):
    """The same sum with wrong mixed derivatives that have the right sums."""

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0]
        shift = 0.2 * (x.roll(1) - x.roll(-1))
        return gradient * (2 * (x.roll(1) + x.roll(-1)) + shift - shift.detach())


def _fused(x):
    heads = x.view(1, 1, -1, 1)
    return scaled_dot_product_attention(heads, heads, heads).square().sum()

# %% right="smooth"
def f(x):
    return (x.sin() * x.roll(1)).sum()

# %% right="linear"
def f(x):
    return (3 * x).sum()

# %% right="linear_with_a_graph"
def f(x):
    return (3 * x + 0 * x**2).sum()

# %% right="partly_linear"
def f(x):
    return x[0] ** 3 + 5 * x[1] - x[2]

# %% right="own_cube"
def f(x):
    cubes = _Cube.apply(x)
    return cubes.sum()

# %% right="attention_by_formula"
def f(x):
    with sdpa_kernel(SDPBackend.MATH):
        return _fused(x)

# %% wrong="catches_fused"
def f(x):
    return _fused(x)

# %% wrong="catches_once"
def f(x):
    cubes = _CubeOnce.apply(x)
    return cubes.sum()

# %% wrong="catches_constant"
def f(x):
    cubes = _CubeConstant.apply(x)
    return cubes.sum()

# %% wrong="catches_half"
def f(x):
    cubes = _CubeConstant.apply(x)
    return (x * torch.where(x > _WRONG_ABOVE, cubes, x**3)).sum()

# %% wrong="catches_mixed"
def f(x):
    products = _ProductsShifted.apply(x)
    return products + (x**3).sum()

# %% wrong="lost_mixed"
def f(x):
    products = _Products.apply(x)
    return products + (x**3).sum()

# %% wrong="rough"
def f(x):
    cubes = _CubeRoughly.apply(x)
    return cubes.sum()
