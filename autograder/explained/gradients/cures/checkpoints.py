# %% cure="checkpoint_without_use_reentrant"
checkpoint(torch.exp, torch.rand(2, requires_grad=True), use_reentrant=False)

# %% cure="old_checkpoint_without_inputs"
checkpoint(nn.Linear(2, 2), torch.rand(2), use_reentrant=False)

# %% cure="old_checkpoint_and_grad"
x = torch.rand(2, requires_grad=True)
torch.autograd.grad(checkpoint(torch.exp, x, use_reentrant=False).sum(), x)

# %% cure="options_of_the_new_checkpoint"
checkpoint(torch.exp, torch.rand(2, requires_grad=True), use_reentrant=False, debug=True)

# %% cure="keyword_of_the_old_checkpoint"
checkpoint(torch.add, torch.rand(2, requires_grad=True), other=1, use_reentrant=False)

# %% cure="recomputed_something_else"
y = checkpoint(lambda x: x.exp().sin(), torch.rand(2, requires_grad=True), use_reentrant=False)
y.sum().backward()

# %% cure="unpacked_twice_under_a_checkpoint"
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.exp())
        return x.exp()

    @staticmethod
    def backward(ctx, grad):
        (result,) = ctx.saved_tensors
        return grad * result

checkpoint(Exp.apply, torch.rand(2, requires_grad=True), use_reentrant=False).sum().backward()

# %% cure="selective_checkpoint_twice"
from functools import partial
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts
save_all = partial(create_selective_checkpoint_contexts, lambda *a, **k: CheckpointPolicy.MUST_SAVE)
x = torch.rand(2, requires_grad=True)
for _ in range(2):
    y = checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False, context_fn=save_all).sum()
    y.backward()

# %% cure="checkpoint_of_a_frozen_block"
block = nn.Linear(2, 2).requires_grad_(False)
x = torch.rand(2, requires_grad=True)
block(x).sum().backward()

# %% cure="only_the_second_run_fails"
x = torch.rand(2, 3, requires_grad=True)
checkpoint(lambda xs: xs[0].exp(), [x], use_reentrant=False).sum().backward()

# %% cure="selective_checkpoint_changed_in_place"
from functools import partial
from torch.utils.checkpoint import create_selective_checkpoint_contexts

def block(x, w):
    h = x @ w
    h = h.relu()
    return h.sin()

x, w = torch.rand(2, 3, 3, requires_grad=True)
keep = partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
checkpoint(block, x, w, use_reentrant=False, context_fn=keep).sum().backward()
