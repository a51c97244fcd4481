# %% cure="materialized_but_not_allowed"
x = torch.rand(2, requires_grad=True)
torch.autograd.grad(x.sum(), x, materialize_grads=True)

# %% cure="inputs_that_are_none"
x = torch.rand(2, requires_grad=True)
torch.autograd.grad(x.sum(), [x])

# %% cure="no_inputs"
x = torch.rand(2, requires_grad=True)
torch.autograd.grad(x.sum(), [x])

# %% cure="grad_without_inputs"
x = torch.rand(2, requires_grad=True)
torch.autograd.grad(x.sum(), x)

# %% cure="backward_of_a_number"
torch.rand(2, requires_grad=True).sum().backward()

# %% cure="backward_of_none"
loss = torch.rand(2, requires_grad=True).sum()
loss.backward()

# %% cure="backward_of_several"
x = torch.rand(2, requires_grad=True)
sum([x.sum(), x.prod()]).backward()

# %% cure="backward_misspelt"
torch.rand(2, requires_grad=True).sum().backward()

# %% cure="backward_of_no_tensor"
torch.autograd.backward([torch.rand(2, requires_grad=True).sum()])

# %% cure="retain_variables"
torch.rand(2, requires_grad=True).sum().backward(retain_graph=True)

# %% cure="tuple_of_gradients"
x = torch.rand(2, requires_grad=True)
x - 0.1 * torch.autograd.grad(x.sum(), x)[0]

# %% cure="two_names_for_one_gradient"
x = torch.rand(2, requires_grad=True)
(dx,) = torch.autograd.grad(x.sum(), x)
