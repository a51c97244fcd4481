import torch

x = torch.rand(3, requires_grad=True)
torch.tensor([x * 2, x * 3]).sum().backward()
