import torch

x = torch.rand(3, requires_grad=True)
x = x - 0.1 * torch.autograd.grad(x.sum(), x)
