import torch

x = torch.randn(3, requires_grad=True)
torch.heaviside(x, torch.tensor(0.0)).sum().backward()
