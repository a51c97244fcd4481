import torch

w = torch.rand(2, requires_grad=True)
optimizer = torch.optim.LBFGS([w])


def closure():
    optimizer.zero_grad()
    (w**2).sum().backward()


optimizer.step(closure)
