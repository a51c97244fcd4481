import torch

w = torch.rand(4, 3, requires_grad=True)
loss = (w**2).sum()
torch.autograd.grad(loss, w[0])
