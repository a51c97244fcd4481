# %% cure="second_backward"
x = torch.rand(2, requires_grad=True)
y = (x**2).sum()
y.backward()
y = (x**2).sum()
y.backward()

# %% cure="unused_input"
x, y = torch.rand(2, 2, requires_grad=True)
torch.autograd.grad((x * y).sum(), y)

# %% cure="node_of_a_leaf"
torch.rand(2, requires_grad=True).sum().grad_fn.next_functions

# %% cure="node_and_index"
y = torch.rand(2, requires_grad=True).exp().sum()
y.grad_fn.next_functions[0][0].next_functions

# %% cure="node_called"
torch.rand(2, requires_grad=True).sum().backward()

# %% cure="edge_of_a_constant"
graph.get_gradient_edge(torch.rand(2, requires_grad=True))

# %% cure="leaf_inside_the_graph"
x = torch.rand(2, requires_grad=True)
y = x.sum()
z = x * torch.rand(2, requires_grad=True)
y.backward()

# %% cure="index_of_a_scalar"
torch.rand(2).sum().item()

# %% cure="integers_for_a_loss"
x = torch.rand(2, requires_grad=True)
F.binary_cross_entropy(x, torch.tensor([0, 1]).to(x.dtype)).backward()

# %% cure="argument_without_derivative"
scores, weight = torch.rand(1, 2, requires_grad=True), torch.rand(2, requires_grad=True)
F.nll_loss(scores, torch.tensor([1]), weight=weight.detach())

# %% cure="no_derivative_at_all"
x = torch.rand(2, requires_grad=True)
torch.sigmoid(x / 0.1).sum().backward()

# %% cure="target_of_another_size"
F.mse_loss(torch.rand(3, 1, requires_grad=True).squeeze(1), torch.rand(3))

# %% cure="iteration_over_a_scalar"
for part in torch.rand(2):
    pass

# %% cure="value_of_the_last_step"
w, total = torch.rand(2, requires_grad=True), 0.0
for x in torch.rand(3, 2):
    loss = (w * x).square().sum()
    loss.backward()
    total += loss.item()

# %% cure="derived_from_a_leaf"
w = torch.rand(4, 3, requires_grad=True)
loss = (w**2).sum()
torch.autograd.grad(loss, w)[0][0]
