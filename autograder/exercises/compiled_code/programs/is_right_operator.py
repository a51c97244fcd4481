# %%
import torch
from torch import Tensor
from torch.library import custom_op


def _square(name, formula):
    """Return an operator for x² with a right fake and the gradient `formula(x, grad)`."""

    @custom_op(name, mutates_args=())
    def op(x: Tensor) -> Tensor:
        return x * x

    op.register_fake(torch.empty_like)
    _formula(op, formula)
    return op


def _formula(op, formula):
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    op.register_autograd(lambda ctx, grad: formula(*ctx.saved_tensors, grad), setup_context=setup_context)


# %% right="transpose"
def program(name):
    @custom_op(name, mutates_args=())
    def op(x: Tensor) -> Tensor:
        return x.t().clone(memory_format=torch.contiguous_format)

    op.register_fake(lambda x: x.new_empty(x.shape[1], x.shape[0]))
    _formula(op, lambda x, grad: grad.t())
    return op

# %% right="rows_by_numpy"
def program(name):
    @custom_op(name, mutates_args=())
    def op(x: Tensor) -> Tensor:
        return torch.from_numpy((x.numpy() ** 3).sum(1))

    op.register_fake(lambda x: x.new_empty(x.shape[0]))
    _formula(op, lambda x, grad: 3 * x**2 * grad[:, None])
    return op

# %% wrong="catches_shape"
def program(name):
    @custom_op(name, mutates_args=())
    def op(x: Tensor) -> Tensor:
        return x.t().clone(memory_format=torch.contiguous_format)

    op.register_fake(lambda x: x.new_empty(x.shape))
    _formula(op, lambda x, grad: grad.t())
    return op

# %% wrong="catches_layout"
def program(name):
    @custom_op(name, mutates_args=())
    def op(x: Tensor) -> Tensor:
        return (x * x).reshape(-1)

    op.register_fake(lambda x: torch.empty_like(x.view(-1)))
    _formula(op, lambda x, grad: 2 * x * grad.view(x.shape))
    return op

# %% wrong="catches_numpy"
def program(name):
    op = _square(name, lambda x, grad: torch.from_numpy(2 * x.detach().numpy()) * grad)
    return op

# %% wrong="catches_mutation"
def program(name):
    @custom_op(name, mutates_args=())
    def op(x: Tensor) -> Tensor:
        out = x * x
        x.add_(1)
        return out

    op.register_fake(torch.empty_like)
    _formula(op, lambda x, grad: 2 * (x - 1) * grad)
    return op

# %% wrong="catches_derivative"
def program(name):
    op = _square(name, lambda x, grad: 3 * x * grad)
    return op

# %% wrong="catches_square_formula"
def program(name):
    @custom_op(name, mutates_args=())
    def op(x: Tensor) -> Tensor:
        return x.mean(1)

    op.register_fake(lambda x: x.new_empty(x.shape[0]))
    _formula(op, lambda x, grad: (grad[:, None] / x.shape[0]).expand(x.shape))
    return op
