# %% cure="parameter_replaced_by_a_tensor"
layer = nn.Linear(2, 2)
with torch.no_grad():
    layer.weight.mul_(0.5)

# %% cure="parameter_registered_as_a_tensor"
nn.Module().register_parameter("w", nn.Parameter(torch.rand(2)))

# %% cure="parameter_that_became_a_non_leaf"
p = nn.Parameter(torch.zeros(2), requires_grad=False)
p.mul_(torch.rand(2))
nn.Module().register_parameter("p", p)

# %% cure="parameter_from_a_list"
nn.Parameter(torch.tensor([1.0, 2.0]))

# %% cure="parameter_before_init"
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(2))

Net()

# %% cure="lazy_parameter"
layer = nn.LazyLinear(2)
layer(torch.rand(1, 3))
sum(p.numel() for p in layer.parameters())

# %% cure="backward_of_the_model"
nn.Linear(2, 1)(torch.rand(2)).sum().backward()

# %% cure="grad_of_the_model"
nn.Linear(2, 1).weight.grad
