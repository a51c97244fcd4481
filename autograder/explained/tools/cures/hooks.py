# %% cure="hook_on_a_constant"
torch.rand(2, requires_grad=True).register_hook(print)

# %% cure="hook_changes_shape_or_dtype"
x = torch.rand(2, requires_grad=True)
x.register_hook(lambda grad: grad * 2)
x.sum().backward()

# %% cure="node_hook_returns_no_tuple"
y = torch.rand(2, requires_grad=True).exp()
y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 2,))
y.sum().backward()

# %% cure="arguments_of_a_hook"
x = torch.rand(2, requires_grad=True)
x.register_hook(lambda grad: print("hook"))
x.sum().backward()

# %% cure="hook_called_too_early"
def hook(grad=None):
    return None

x = torch.rand(2, requires_grad=True)
x.register_hook(hook)
x.sum().backward()

# %% cure="post_accumulate_hook_on_a_non_leaf"
(torch.rand(2, requires_grad=True) * 2).register_hook(print)

# %% cure="post_accumulate_hook_returns"
def double(p):
    p.grad.mul_(2)

x = torch.rand(2, requires_grad=True)
x.register_post_accumulate_grad_hook(double)
x.sum().backward()

# %% cure="hook_not_saved"
import pickle
x = torch.rand(2, requires_grad=True)
x.register_hook(print)
copied = pickle.loads(pickle.dumps(x.detach())).requires_grad_()
copied.register_hook(print)

# %% cure="callback_outside_of_backward"
x = torch.rand(2, requires_grad=True)
x.register_hook(lambda grad: torch.autograd.Variable._execution_engine.queue_callback(lambda: None))
x.sum().backward()

# %% cure="hook_removed_from_a_tensor"
handle = torch.rand(2, requires_grad=True).register_hook(print)
handle.remove()
