import torch

net = torch.nn.Linear(2, 1)
net.register_full_backward_hook(lambda module, into, out: (into[0], into[0]))
net(torch.rand(2, requires_grad=True)).sum().backward()
