# %% cure="complex_loss"
z = torch.rand(2, requires_grad=True) * 1j
z.abs().sum().backward()

# %% cure="backward_of_a_vector"
(torch.rand(2, requires_grad=True) * 2).sum().backward()

# %% cure="v_of_another_shape"
(torch.rand(2, requires_grad=True) * 2).backward(torch.ones(2))

# %% cure="v_of_another_dtype"
x = torch.rand(2, requires_grad=True)
torch.autograd.grad(x * 2, x, torch.ones(2))

# %% cure="v_that_is_a_list"
(torch.rand(2, requires_grad=True) * 2).backward(torch.tensor([1.0, 2.0]))

# %% cure="v_that_is_a_number"
torch.rand(2, requires_grad=True).sum().backward()

# %% cure="another_number_of_v"
x = torch.rand(2, requires_grad=True)
torch.autograd.backward([x.sum(), x.mean()], [torch.tensor(1.0), torch.tensor(1.0)])

# %% cure="batched_v_of_another_shape"
x = torch.rand(2, requires_grad=True)
torch.autograd.grad(x * 2, x, torch.eye(2), is_grads_batched=True)

# %% cure="item_of_a_vector"
torch.rand(2, requires_grad=True).sum().item()

# %% cure="truth_of_a_vector"
if (torch.rand(2) > 0).all():
    pass

# %% cure="input_that_is_a_list"
functional.jacobian(lambda x: x * 2, torch.tensor([1.0, 2.0]))

# %% cure="output_that_is_a_number"
functional.jacobian(lambda x: x.sum(), torch.rand(2))

# %% cure="inputs_missing"
functional.jacobian(torch.sin, torch.rand(2))

# %% cure="v_missing"
functional.vjp(lambda x: x * 2, torch.rand(2), torch.ones(2))

# %% cure="as_many_v_as_inputs"
functional.jvp(torch.mul, (torch.rand(2), torch.rand(2)), (torch.rand(2), torch.rand(2)))

# %% cure="second_derivative_of_a_vector"
functional.hvp(lambda x: (x**2).sum(), torch.rand(2), torch.rand(2))

# %% cure="strict_mode"
functional.jacobian(lambda x: torch.ones(2) * x, torch.rand(2), strict=True)

# %% cure="forward_strategy"
torch.func.jacfwd(torch.sin)(torch.rand(2))

# %% cure="grad_of_a_function"
x = torch.rand(2, requires_grad=True)
torch.autograd.grad(torch.sin(x).sum(), x)
