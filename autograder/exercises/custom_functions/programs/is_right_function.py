# %%
import torch


class RightByInputs(torch.autograd.Function):
    """A right Function that saves its inputs and computes both gradients."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x, k)
        return x * torch.exp(-k)

    @staticmethod
    def backward(ctx, grad_output):
        x, k = ctx.saved_tensors
        decay = torch.exp(-k)
        return grad_output * decay, -grad_output * x * decay

# %% right="by_inputs"
class GivenFunction(RightByInputs):
    pass

# %% right="by_output"
class GivenFunction(RightByInputs):
    """A right Function that saves its result.

    Computes only the gradients that are needed.
    """

    @staticmethod
    def forward(ctx, x, k):
        y = x * torch.exp(-k)
        ctx.save_for_backward(k, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        k, y = ctx.saved_tensors
        needs_x, needs_k = ctx.needs_input_grad
        return grad_output * torch.exp(-k) if needs_x else None, -grad_output * y if needs_k else None

# %% right="by_setup"
class GivenFunction(torch.autograd.Function):
    """A right Function with `setup_context` that divides instead of multiplying.

    It saves three tensors, so that their number does not tell a right Function from a wrong one.
    """

    @staticmethod
    def forward(x, k):
        return x / torch.exp(k)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, grad_output):
        _, k, y = ctx.saved_tensors
        return grad_output / torch.exp(k), -grad_output * y

# %% wrong="catches_wrong_value"
class GivenFunction(RightByInputs):
    """A wrong Function that `gradcheck` accepts.

    The derivative is right, but belongs to another function, x * exp(k).
    """

    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x, k)
        return x * torch.exp(k)

    @staticmethod
    def backward(ctx, grad_output):
        x, k = ctx.saved_tensors
        growth = torch.exp(k)
        return grad_output * growth, grad_output * x * growth

# %% wrong="catches_local_derivative"
class GivenFunction(RightByInputs):
    @staticmethod
    def backward(ctx, grad_output):
        x, k = ctx.saved_tensors
        return torch.exp(-k), -x * torch.exp(-k)

# %% wrong="catches_swapped"
class GivenFunction(RightByInputs):
    @staticmethod
    def backward(ctx, grad_output):
        for_x, for_k = RightByInputs.backward(ctx, grad_output)
        return for_k, for_x

# %% wrong="catches_missing_gradient"
class GivenFunction(RightByInputs):
    @staticmethod
    def backward(ctx, grad_output):
        return RightByInputs.backward(ctx, grad_output)[0], None

# %% wrong="catches_negative"
class GivenFunction(RightByInputs):
    @staticmethod
    def backward(ctx, grad_output):
        x, k = ctx.saved_tensors
        decay = torch.exp(-k)
        return grad_output * decay, -grad_output * x.abs() * decay

# %% wrong="catches_second_derivative"
class GivenFunction(RightByInputs):
    @staticmethod
    def forward(ctx, x, k):
        decay = torch.exp(-k)
        ctx.save_for_backward(x, decay)
        return x * decay

    @staticmethod
    def backward(ctx, grad_output):
        x, decay = ctx.saved_tensors
        return grad_output * decay, -grad_output * x * decay

# %% wrong="catches_mixed_derivative"
class GivenFunction(RightByInputs):
    """A Function with only the derivative by x and k wrong."""

    @staticmethod
    def forward(ctx, x, k):
        decay = torch.exp(-k)
        ctx.save_for_backward(x, k, decay)
        return x * decay

    @staticmethod
    def backward(ctx, grad_output):
        x, k, decay = ctx.saved_tensors
        return grad_output * decay, -grad_output * x * torch.exp(-k)

# %% wrong="lost_mixed"
class GivenFunction(RightByInputs):
    """A Function with only the derivative by k and x wrong."""

    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x.clone(), k)  # made in `forward`: a constant
        return x * torch.exp(-k)

# %% wrong="catches_edited_grad_output"
class GivenFunction(RightByInputs):
    @staticmethod
    def backward(ctx, grad_output):
        x, k = ctx.saved_tensors
        for_k = -grad_output * x * torch.exp(-k)
        if torch.is_grad_enabled():  # as in real code: autograd would record the edit
            return grad_output * torch.exp(-k), for_k
        return grad_output.mul_(torch.exp(-k)), for_k
