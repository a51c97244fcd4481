import torch

f = torch.compile(lambda x: (x**3).sum(), backend="aot_eager")
x = torch.rand(2, requires_grad=True)
(g,) = torch.autograd.grad(f(x), x, create_graph=True)
g.sum().backward()
