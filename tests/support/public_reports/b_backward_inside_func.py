import torch


def f(t):
    loss = t.sum()
    loss.backward()
    return loss


torch.func.grad(f)(torch.rand(3))
