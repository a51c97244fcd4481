# %% cure="transform_of_a_number"
torch.func.grad(torch.sin)(torch.tensor(1.0))

# %% cure="tracking_inside_a_transform"
def f(x):
    loss = (x**2).sum()
    return loss

torch.func.grad(f)(torch.rand(3))

# %% cure="transform_of_a_vector"
torch.func.grad(lambda x: (x * 2).sum())(torch.rand(2))

# %% cure="transform_returns_a_tuple"
torch.func.grad(lambda x: (x.sum(), x), has_aux=True)(torch.rand(2))

# %% cure="transform_returns_a_number"
torch.func.grad(lambda x: x.sum())(torch.rand(2))

# %% cure="transform_returns_integers"
torch.func.vjp(lambda x: x.softmax(0), torch.rand(2))

# %% cure="argnums"
torch.func.grad(lambda x: x.sum(), argnums=0)(torch.rand(2))

# %% cure="function_taken_for_a_gradient"
torch.func.grad(torch.sum)(torch.rand(2)).shape

# %% cure="primals_without_a_tuple"
torch.func.jvp(torch.sin, (torch.rand(2),), (torch.rand(2),))

# %% cure="cotangents_of_another_structure"
torch.func.vjp(lambda x: (x, x), torch.rand(2))[1]((torch.rand(2), torch.rand(2)))

# %% cure="numpy_inside_a_transform"
torch.func.grad(lambda x: torch.sin(x).sum())(torch.rand(2))

# %% cure="tangent_of_another_shape"
torch.func.jvp(torch.sin, (torch.rand(2),), (torch.rand(2),))

# %% cure="dual_numbers_of_integers"
with forward_ad.dual_level():
    forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.ones(2))

# %% cure="dual_without_a_level"
with forward_ad.dual_level():
    forward_ad.make_dual(torch.rand(2), torch.ones(2))

# %% cure="nested_dual_levels"
def slope(x):
    return torch.func.jvp(torch.sin, (x,), (torch.ones(2),))[1]

torch.func.jvp(slope, (torch.rand(2),), (torch.ones(2),))

# %% cure="out_in_forward_mode"
torch.func.jvp(lambda x: torch.sin(x), (torch.rand(2),), (torch.rand(2),))

# %% cure="no_forward_mode"
from torch.nn.attention import SDPBackend, sdpa_kernel
q = torch.rand(1, 2, 3, 4)
with sdpa_kernel(SDPBackend.MATH):
    torch.func.jvp(lambda q: F.scaled_dot_product_attention(q, q, q), (q,), (q,))

# %% cure="transform_of_no_tensor"
net, x = nn.Linear(2, 1), torch.rand(1, 2)
loss = lambda p: torch.func.functional_call(net, p, (x,)).sum()
torch.func.grad(loss)(dict(net.named_parameters()))
