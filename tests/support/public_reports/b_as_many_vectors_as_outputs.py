import torch

x = torch.rand(3, requires_grad=True)
torch.autograd.backward([x.sum(), x.mean()], [torch.tensor(1.0)])
