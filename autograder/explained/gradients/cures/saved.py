# %% cure="pack_hook_in_place"
with graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2):
    (torch.rand(2, requires_grad=True) * 1).exp()

# %% cure="unpacked_no_tensor"
with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    y = torch.rand(2, requires_grad=True).exp()
y.sum().backward()

# %% cure="hooks_of_nothing_saved"
y = torch.rand(2, requires_grad=True) * torch.rand(2)
y.grad_fn._raw_saved_other.register_hooks(lambda t: t, lambda t: t)

# %% cure="saved_hooks_twice"
y = torch.rand(2, requires_grad=True).exp()
saved = y.grad_fn._raw_saved_result
saved.register_hooks(lambda t: t, lambda t: t)

# %% cure="not_saved"
node = (torch.rand(2, requires_grad=True) + 1).grad_fn
[name for name in dir(node) if name.startswith("_saved")]

# %% cure="mutation_allowed_inside_only"
with graph.allow_mutation_on_saved_tensors():
    y = (torch.rand(2, requires_grad=True) * 1).exp()
    y.mul_(2)
    y.sum().backward()
