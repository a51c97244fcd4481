# %% cure="input_without_requires_grad"
x = torch.rand(2, requires_grad=True)
w = torch.rand(2, requires_grad=True)
torch.autograd.grad((w * x).sum(), x)

# %% cure="integers_require_grad"
torch.tensor([1.0, 2.0], requires_grad=True)

# %% cure="integers_in_data"
x = torch.rand(2, requires_grad=True)
with torch.no_grad():
    x.copy_(torch.tensor([1, 2]))

# %% cure="flag_of_a_non_leaf"
x = torch.rand(2, requires_grad=True)
y = (x * 2).detach()

# %% cure="grad_of_a_non_leaf"
y = torch.rand(2, requires_grad=True) * 2
y.retain_grad()
y.sum().backward()
y.grad

# %% cure="flag_called"
x = torch.rand(2)
x.requires_grad_(True)

# %% cure="flag_that_is_no_bool"
torch.rand(2).requires_grad = True

# %% cure="argument_misspelt"
torch.tensor([1.0], requires_grad=True)

# %% cure="layer_with_requires_grad"
nn.Linear(2, 2).requires_grad_(False)

# %% cure="conversion_with_requires_grad"
torch.as_tensor([1.0]).requires_grad_()

# %% cure="old_constructor"
torch.zeros(3, 4, requires_grad=True)

# %% cure="wrong_size"
torch.rand(2, requires_grad=True)

# %% cure="read_only_attribute"
x = torch.rand(2, requires_grad=True) * 1
x = x.detach().requires_grad_()

# %% cure="torch_has_no_grad"
x = torch.rand(2, requires_grad=True)
torch.autograd.grad(x.sum(), x)

# %% cure="volatile"
x = torch.rand(2)
with torch.no_grad():
    y = x * 2

# %% cure="integers_from_an_unpack_hook"
with graph.saved_tensors_hooks(lambda t: (t * 127).to(torch.int8), lambda t: t.float() / 127):
    y = torch.rand(4, requires_grad=True).square()
y.sum().backward()
