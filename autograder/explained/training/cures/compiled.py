# %% cure="backward_inside_a_compiled_function"
w = torch.rand(3, requires_grad=True)

@torch.compile(backend="aot_eager", fullgraph=True)
def forward(x):
    return (w * x).sum()

forward(torch.rand(3)).backward()

# %% cure="compiled_backward_under_vmap"
square = torch.compile(lambda x: x**2, backend="aot_eager")
x = torch.rand(5, requires_grad=True)
y = square(x)
torch.autograd.grad(y, x, torch.eye(5), is_grads_batched=True)

# %% cure="operator_without_fake"
@torch.library.custom_op("explained::halved", mutates_args=())
def halved(x: torch.Tensor) -> torch.Tensor:
    return x / 2

@halved.register_fake
def halved_fake(x):
    return torch.empty_like(x)

torch.compile(lambda x: halved(x).sum(), backend="aot_eager", fullgraph=True)(torch.rand(3))
