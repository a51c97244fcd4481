import torch

square = torch.compile(lambda x: x**2, backend="aot_eager")
x = torch.rand(5, requires_grad=True)
y = square(x)
torch.vmap(lambda v: torch.autograd.grad(y, x, v))(torch.eye(5))
