import torch

x = torch.rand(2, requires_grad=True)
(g,) = torch.autograd.grad((x**3).sum(), x)
g.sum().backward()
