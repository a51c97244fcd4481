import torch

torch.func.jvp(lambda x: torch.cdist(x, x), (torch.rand(3, 2),), (torch.rand(3, 2),))
