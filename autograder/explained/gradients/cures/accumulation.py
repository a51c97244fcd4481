# %% cure="grad_called"
w = torch.rand(2, requires_grad=True)
w.sum().backward()
w.grad

# %% cure="zero_grad_of_a_tensor"
torch.rand(2, requires_grad=True).grad = None

# %% cure="grad_of_another_kind"
torch.rand(2, requires_grad=True).grad = torch.ones(2)

# %% cure="own_grad"
w = torch.rand(2, requires_grad=True)
w.grad = w.detach().clone()

# %% cure="grad_dtype"
torch.rand(2, requires_grad=True).grad_dtype = torch.float64

# %% cure="clip_of_infinity"
w = torch.rand(2, requires_grad=True)
w.grad = torch.tensor([1.0, math.inf])
norm = nn.utils.get_total_norm([w.grad])
if norm.isfinite():  # else the step is skipped
    nn.utils.clip_grads_with_norm_([w], 1.0, norm)

# %% cure="clip_of_a_used_up_generator"
params = list(nn.Linear(2, 2).parameters())
nn.utils.clip_grad_norm_(params, 1.0)

# %% cure="backward_of_the_optimizer"
w = torch.rand(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
w.sum().backward()
optimizer.step()
