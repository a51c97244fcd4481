# %% cure="no_graph"
torch.rand(2, requires_grad=True).sum().backward()

# %% cure="misspelt_flag"
x = torch.rand(2)
x.requires_grad = True
x.sum().backward()

# %% cure="graph_cut"
w = torch.rand(2, requires_grad=True)
loss = (w * 2).sum()
loss.backward()

# %% cure="no_derivative_in_the_loss"
scores = torch.rand(3, requires_grad=True)
F.cross_entropy(scores, torch.tensor(1)).backward()

# %% cure="sample_in_the_loss"
mean = torch.rand(2, requires_grad=True)
torch.distributions.Normal(mean, 1.0).rsample().sum().backward()

# %% cure="frozen_model"
model = nn.Linear(2, 1).requires_grad_(True)
model(torch.rand(2)).sum().backward()

# %% cure="loss_under_no_grad"
w = torch.rand(2, requires_grad=True)
loss = w.sum()
loss.backward()

# %% cure="loss_under_inference_mode"
w = torch.rand(2, requires_grad=True)
loss = w.sum()
loss.backward()

# %% cure="gradient_without_create_graph"
x = torch.rand(2, requires_grad=True)
(g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
g.sum().backward()

# %% cure="gradient_of_a_straight_line"
x = torch.rand(2, requires_grad=True)
(g,) = torch.autograd.grad((3 * x).sum(), x, create_graph=True)
second = torch.autograd.grad(g.sum(), x)[0] if g.requires_grad else torch.zeros_like(x)

# %% cure="old_checkpoint_without_a_graph"
layer = nn.Linear(2, 2)
checkpoint(layer, torch.rand(2), use_reentrant=False).sum().backward()

# %% cure="autograd_grad_under_vmap"
w = torch.rand(2, requires_grad=True)
torch.func.vmap(torch.func.grad(lambda w, x: (w * x).sum()), in_dims=(None, 0))(w, torch.rand(3, 2))

# %% cure="second_derivative_of_detached_saves"
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad

x = torch.tensor(3.0, requires_grad=True)
(g,) = torch.autograd.grad(Square.apply(x), x, create_graph=True)
g.backward()

# %% cure="list_given_to_a_function"
class Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *tensors):
        ctx.count = len(tensors)
        return sum(tensors)

    @staticmethod
    def backward(ctx, grad):
        return (grad,) * ctx.count

a, b = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
Total.apply(a, b).sum().backward()
