# %% cure="optimizer_of_a_non_leaf"
w = (torch.rand(2) * 0.1).requires_grad_()
torch.optim.SGD([w], lr=0.1)

# %% cure="optimizer_of_a_tensor"
w = torch.rand(2, requires_grad=True)
torch.optim.SGD([w], lr=0.1)

# %% cure="optimizer_of_nothing"
params = list(nn.Linear(2, 2).parameters())
torch.optim.SGD(params, lr=0.1)

# %% cure="parameters_without_parentheses"
model = nn.Linear(2, 2)
torch.optim.SGD(model.parameters(), lr=0.1)

# %% cure="optimizer_of_a_model"
torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)

# %% cure="parameter_twice"
w = torch.rand(2, requires_grad=True)
torch.optim.SGD([w], lr=0.1)

# %% cure="group_that_is_no_dict"
optimizer = torch.optim.SGD([torch.rand(2, requires_grad=True)], lr=0.1)
optimizer.add_param_group({"params": [torch.rand(2, requires_grad=True)]})

# %% cure="scheduler_before_the_optimizer"
optimizer = torch.optim.SGD([torch.rand(2, requires_grad=True)], lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
optimizer.step()
scheduler.step()

# %% cure="closure_missing"
w = torch.rand(2, requires_grad=True)
optimizer = torch.optim.LBFGS([w])

def closure():
    optimizer.zero_grad()
    loss = (w**2).sum()
    loss.backward()
    return loss

optimizer.step(closure)

# %% cure="sparse_gradients"
table = nn.Embedding(3, 2, sparse=True)
table(torch.tensor([1])).sum().backward()
torch.optim.SparseAdam(table.parameters()).step()

# %% cure="dense_gradients"
p = torch.rand(3, requires_grad=True)
p.sum().backward()
torch.optim.Adam([p]).step()

# %% cure="closure_returns_nothing"
w = torch.rand(2, requires_grad=True)
optimizer = torch.optim.LBFGS([w])

def closure():
    optimizer.zero_grad()
    loss = (w**2).sum()
    loss.backward()
    return loss

optimizer.step(closure)
