import torch

a = torch.randn(3, 3, dtype=torch.complex64, requires_grad=True)
u, s, v = torch.linalg.svd(a)
u.real.sum().backward()
