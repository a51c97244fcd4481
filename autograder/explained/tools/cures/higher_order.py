# %% cure="no_second_derivative"
from torch.nn.attention import SDPBackend, sdpa_kernel
q = torch.rand(1, 2, 3, 4, requires_grad=True)
with sdpa_kernel(SDPBackend.MATH):
    attention = F.scaled_dot_product_attention(q, q, q)
(g,) = torch.autograd.grad(attention.sum(), q, create_graph=True)
g.sum().backward()

# %% cure="compiled_twice"
f = lambda x: (x**3).sum()
x = torch.rand(2, requires_grad=True)
(g,) = torch.autograd.grad(f(x), x, create_graph=True)
g.sum().backward()

# %% cure="grad_holds_its_graph"
x = torch.rand(2, requires_grad=True)
(g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)

# %% cure="second_derivative_of_zeros"
src = torch.zeros(2, requires_grad=True)
y = src[0] * src[1]
(g,) = torch.autograd.grad(y, src, create_graph=True)
g.sum().backward()

# %% cure="outside_tensor_changed"
norm = nn.BatchNorm1d(2).eval()
torch.func.grad(lambda x: norm(x).sum())(torch.rand(3, 2))

# %% cure="saved_hooks_under_func"
x = torch.rand(2, requires_grad=True)
with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    torch.autograd.grad(x.exp().sum(), x)

# %% cure="forward_mode_meets_zeros"
slope = torch.func.grad(lambda w: (w - torch.rand(2)).square().mean())
torch.func.jvp(slope, (torch.rand(2),), (torch.rand(2),))

# %% cure="imaginary_part_dropped"
(torch.rand(2, requires_grad=True) * 1j).real

# %% cure="phase_of_a_vector"
a = torch.rand(3, 3, dtype=torch.complex64, requires_grad=True)
torch.linalg.svd(a)[0].abs().sum().backward()

# %% cure="qr_without_a_derivative"
torch.linalg.qr(torch.rand(3, 3, requires_grad=True), mode="reduced")[1].sum().backward()

# %% cure="flex_attention_on_the_cpu"
q, k, v = torch.rand(3, 1, 1, 128, 16, requires_grad=True)
F.scaled_dot_product_attention(q, k, v).sum().backward()
