import torch

p = torch.rand(3, requires_grad=True)
optimizer = torch.optim.SparseAdam([p])
p.sum().backward()
optimizer.step()
