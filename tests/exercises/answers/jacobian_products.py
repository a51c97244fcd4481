# %%
import torch
from torch.autograd import functional
# %% exercise="fool_gradcheck" verdict="refused"
# looks_at_requires_grad
def fool_gradcheck():
    def f(x):
        return x**2 if x.requires_grad else x**3
    return f, torch.tensor([1.0], dtype=torch.float64), torch.tensor([2.0], dtype=torch.float64)
# %% exercise="fool_gradcheck" verdict="refused"
# line_far
def fool_gradcheck():
    return (lambda x: x * 1.0), torch.tensor([1.0], dtype=torch.float64), torch.tensor([1e12], dtype=torch.float64)
# %% exercise="fool_gradcheck" verdict="refused"
# square_far
def fool_gradcheck():
    return torch.square, torch.tensor([1.0], dtype=torch.float64), torch.tensor([1e9], dtype=torch.float64)
# %% exercise="fool_gradcheck" verdict="refused"
# no_graph
def fool_gradcheck():
    def f(x):
        return x**2 if x[0] > 0 else (x**2).detach()
    return f, torch.tensor([1.0], dtype=torch.float64), torch.tensor([-1.0], dtype=torch.float64)
# %% exercise="fool_gradcheck" verdict="refused" mistake="no_number_there"
# vertical
def fool_gradcheck():
    return torch.sqrt, torch.tensor([1.0], dtype=torch.float64), torch.tensor([0.0], dtype=torch.float64)
# %% exercise="fool_gradcheck" verdict="refused" mistake="right_everywhere"
# counts_calls
def fool_gradcheck():
    calls = []
    def f(x):
        calls.append(1)
        return x**2 if len(calls) < 40 else (x**2).detach() + 0 * x
    return f, torch.tensor([1.0], dtype=torch.float64), torch.tensor([2.0], dtype=torch.float64)
# %% exercise="fool_gradcheck" verdict="refused" mistake="wrong_at_x"
# cancellation
def fool_gradcheck():
    return (
        (lambda x: (x + 1e16) - 1e16),
        torch.tensor([0.0], dtype=torch.float64),
        torch.tensor([1.0], dtype=torch.float64),
    )
# %% exercise="fool_gradcheck" verdict="refused" mistake="no_number_there"
# nan_point
def fool_gradcheck():
    return torch.sin, torch.tensor([1.0], dtype=torch.float64), torch.tensor([float("nan")], dtype=torch.float64)
# %% exercise="fool_gradcheck" verdict="refused" mistake="no_number_there"
# inf_value
def fool_gradcheck():
    return torch.exp, torch.tensor([1.0], dtype=torch.float64), torch.tensor([1000.0], dtype=torch.float64)
# %% exercise="fool_gradcheck" verdict="refused" mistake=""
# state
def fool_gradcheck():
    calls = []
    def f(x):
        calls.append(1)
        return x**2 if len(calls) <= 4 else (x**2).detach() + 0 * x
    return f, torch.tensor([1.0], dtype=torch.float64), torch.tensor([2.0], dtype=torch.float64)
# %% exercise="fool_gradcheck" verdict="refused" mistake="chance_elsewhere"
# random
def fool_gradcheck():
    def f(x):
        return x if x[0] > 0 else x * torch.rand_like(x)
    return f, torch.tensor([1.0], dtype=torch.float64), torch.tensor([-1.0], dtype=torch.float64)
# %% exercise="fool_gradcheck" verdict="refused" mistake="right_everywhere"
# smooth_at_zero
def fool_gradcheck():
    return (
        (lambda x: x.abs() ** 1.5),
        torch.tensor([1.0], dtype=torch.float64),
        torch.tensor([0.0], dtype=torch.float64),
    )
# %% exercise="numerical_jacobian" verdict="refused" mistake="halves_the_points"
# half_step
def numerical_jacobian(f, x):
    h = 1e-5
    columns = []
    for i in range(len(x)):
        e = torch.zeros_like(x)
        e[i] = h / 2
        columns.append((f(x + e) - f(x - e)) / (2 * h))
    return torch.stack(columns, dim=1)
# %% exercise="fix_two_products" verdict="refused" mistake="through_float32"
# float32 in between
def fix_two_products(f, inp, v):
    out = f(inp)
    (first,) = torch.autograd.grad(out, inp, torch.ones_like(out), retain_graph=True)
    (second,) = torch.autograd.grad(out, inp, v)
    return first.float().to(inp.dtype), second.float().to(inp.dtype)
# %% exercise="jacobian_rows" verdict="refused" mistake="through_float32"
# float32 matrix converted at the end
def jacobian_rows(y, x):
    J = torch.zeros(len(y), len(x))
    for i in range(len(y)):
        J[i] = torch.autograd.grad(y[i], x, retain_graph=True)[0]
    return J.to(x.dtype)
# %% exercise="jacobian_rows" verdict="refused" mistake="through_float32"
# rounded to six digits
def jacobian_rows(y, x):
    return torch.stack([torch.autograd.grad(t, x, retain_graph=True)[0].round(decimals=6) for t in y])
# %% exercise="numerical_jacobian" verdict="refused" mistake="stored_in_float32"
# float32 result converted
def numerical_jacobian(f, x):
    h = 1e-5
    J = torch.zeros(len(f(x)), len(x))
    for i, e in enumerate(torch.eye(len(x), dtype=x.dtype)):
        J[:, i] = (f(x + h * e) - f(x - h * e)) / (2 * h)
    return J.double()
# %% exercise="numerical_jacobian" verdict="refused" mistake=""
# rounding the result
def numerical_jacobian(f, x):
    h = 1e-5
    J = torch.stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in torch.eye(len(x), dtype=x.dtype)], 1)
    return torch.tensor([[float(f"{t:.6f}") for t in r] for r in J.tolist()], dtype=torch.float64)
# %% exercise="expose_swap" verdict="refused" mistake="entry_by_entry"
# v of zeros in the first (by the letter)
def expose_swap():
    N = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    x = torch.tensor([1.0, 2.0])
    return (lambda x: N @ x, x, torch.zeros(2)), (lambda x: N @ x, x, torch.tensor([1.0, 10.0]))
# %% exercise="expose_swap" verdict="refused" mistake="entry_by_entry"
# a constant map in the first (by the letter)
def expose_swap():
    N = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0])
    return (lambda x: 0 * x.sum() * x, x, v), (lambda x: N @ x, x, v)
# %% exercise="fool_gradcheck" verdict="refused" mistake="wrong_size"
# x is empty
def fool_gradcheck():
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3
        @staticmethod
        def backward(ctx, g):
            return g
    return Bad.apply, torch.zeros(0).double(), torch.ones(1).double()
# %% exercise="fool_gradcheck" verdict="refused" mistake="right_everywhere"
# error below 1 %
def fool_gradcheck():
    class Near(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2
        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return torch.where(x > 0, 2 * x, 2.01 * x) * g
    return Near.apply, torch.ones(2).double(), -torch.ones(2).double()
# %% exercise="per_sample_gradients" verdict="refused" mistake="through_float32"
# float32 matrix filled row by row, converted
def per_sample_gradients(loss, w, x, y):
    G = torch.zeros(len(x), len(w))
    G[:] = torch.vmap(torch.func.grad(loss), (None, 0, 0))(w, x, y)
    return G.to(w.dtype)
# %% exercise="fix_two_products" verdict="refused"
def fix_two_products(f, inp, v):
    old = torch.zeros_like(inp) if inp.grad is None else inp.grad.clone()
    had = inp.grad is not None
    out = f(inp)
    out.backward(torch.ones_like(out), retain_graph=True)
    first = inp.grad - old
    middle = inp.grad.clone()
    out.backward(v)
    second = inp.grad - middle
    inp.grad = old if had else None
    return first, second
# %% exercise="jacobian_rows" verdict="refused"
def jacobian_rows(y, x):
    rows = [torch.autograd.grad(one, x, retain_graph=True)[0] for one in y]
    return torch.stack(rows).squeeze()
# %% exercise="jacobian_rows" verdict="refused"
def jacobian_rows(y, x):
    rows = [torch.autograd.grad(one, x, retain_graph=True)[0] for one in y]
    return torch.stack(rows) if len(rows) > 1 else rows[0]
# %% exercise="jacobian_rows" verdict="passed"
def jacobian_rows(y, x):
    return torch.autograd.grad(y, x, torch.eye(len(y), dtype=y.dtype), retain_graph=True, is_grads_batched=True)[0]
# %% exercise="numerical_jacobian" verdict="refused"
def numerical_jacobian(f, x):
    columns = []
    for j in range(len(x)):
        step = torch.zeros_like(x)
        step[j] = 5e-6
        columns.append((f(x + step) - f(x - step)) / 1e-5)
    return torch.stack(columns, 1).squeeze()
# %% exercise="numerical_jacobian" verdict="passed"
def numerical_jacobian(f, x):
    columns = []
    for j in range(len(x)):
        step = torch.zeros_like(x)
        step[j] = 5e-6
        columns.append((f(x + step) - f(x - step)) / 1e-5)
    return torch.stack(columns, 1)
