# %% cure="part_of_a_leaf_in_place"
w = torch.rand(2, requires_grad=True)
with torch.no_grad():
    w[0] = 1.0

# %% cure="leaf_in_place"
w = torch.rand(2, requires_grad=True)
with torch.no_grad():
    w -= 0.1

# %% cure="leaf_marked_dirty"
class AddOne(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx, grad):
        return grad

AddOne.apply(torch.rand(2, requires_grad=True).clone())

# %% cure="saved_value_overwritten"
y = torch.rand(2, requires_grad=True).exp()
y = y + 1
y.sum().backward()

# %% cure="one_of_several_views"
x = torch.rand(2, requires_grad=True) * 1
for i in range(len(x)):
    x[i] += 1

# %% cure="memory_under_the_graph"
F.pad(torch.rand(2, requires_grad=True), (0, 1))

# %% cure="saved_tensor_detached_in_place"
x = torch.rand(2, requires_grad=True) * 1
y = x * x
x = x.detach()
y.sum().backward()

# %% cure="out_argument"
torch.add(torch.rand(2, requires_grad=True), 1)

# %% cure="data_that_is_no_tensor"
w = torch.rand(2, requires_grad=True)
with torch.no_grad():
    w.fill_(0.0)

# %% cure="expanded_tensor_in_place"
x = torch.rand(1).expand(3)
x = x + torch.rand(3)

# %% cure="integers_changed_by_floats"
w = torch.tensor([1.0, 2.0])
w -= 0.1 * torch.ones(2)

# %% cure="leaky_relu_in_place"
F.leaky_relu(torch.rand(2, requires_grad=True) * 1, negative_slope=-0.1).sum().backward()

# %% cure="update_of_a_local_name"
w = torch.rand(2, requires_grad=True)

@torch.no_grad()
def update():
    w.sub_(0.1)

update()
