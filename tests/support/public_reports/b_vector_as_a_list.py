import torch

x = torch.rand(3, requires_grad=True)
(x * 2).backward([1.0, 1.0, 1.0])
