# %% cure="arguments_of_a_backward_hook"
layer = nn.Linear(2, 2)
layer.register_full_backward_hook(lambda module, grad_input, grad_output: None)
layer(torch.rand(2, requires_grad=True)).sum().backward()

# %% cure="arguments_of_a_forward_hook"
layer = nn.Linear(2, 2)
layer.register_forward_hook(lambda module, inputs, output: None)
layer(torch.rand(2))

# %% cure="module_hook_returns_too_many"
layer = nn.Linear(2, 2)
layer.register_full_backward_hook(lambda module, into, out: (into[0],))
layer(torch.rand(2, requires_grad=True)).sum().backward()

# %% cure="module_hook_without_grad_input"
layer = nn.Linear(2, 2)
layer.register_full_backward_hook(lambda module, into, out: None)
layer(torch.rand(2, requires_grad=True)).sum().backward()

# %% cure="module_hook_of_a_dict"
class Net(nn.Module):
    def forward(self, x):
        return x * 2

net = Net()
net.register_full_backward_hook(lambda module, into, out: None)
net(torch.rand(2, requires_grad=True))

# %% cure="old_backward_hook"
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
net.register_full_backward_hook(lambda module, into, out: None)
net(torch.rand(2, requires_grad=True))

# %% cure="module_hook_before_a_change_in_place"
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=False))
net[0].register_full_backward_hook(lambda *_: None)
net(torch.rand(1, 2))

# %% cure="two_kinds_of_backward_hooks"
layer = nn.Linear(2, 2)
layer.register_full_backward_hook(lambda *_: None)
layer.register_full_backward_hook(lambda *_: None)

# %% cure="pre_hook_with_kwargs"
layer = nn.Linear(2, 2)
layer.register_forward_pre_hook(lambda module, args, kwargs: (args, kwargs), with_kwargs=True)
layer(torch.rand(2))
