import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return torch.empty(3, device="meta")


Double.apply(torch.rand(3, requires_grad=True)).sum().backward()
