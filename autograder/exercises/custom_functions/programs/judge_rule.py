# %%
import numpy
import torch

A = torch.tensor([[0.5, -1.25, 2.0], [-0.75, 0.0, 1.5]], dtype=torch.float64)
B = torch.tensor([[-2.0, 0.75, 1.25], [0.5, -1.5, -0.25]], dtype=torch.float64)
ROW = torch.tensor([1.5, -0.5, 0.25], dtype=torch.float64)
NUMBER = torch.tensor(-1.5, dtype=torch.float64)


def _product(rule):
    return lambda a, b: a * b, rule, (A.clone(), B.clone())


def _exponential(rule):
    return torch.exp, rule, (B.clone(),)

# %% right="product"
def trial():
    return _product(lambda g, out, a, b: (g * b, g * a))

# %% right="exponential"
def trial():
    return _exponential(lambda g, out, a: (g * out,))

# %% right="square"
def trial():
    return torch.square, lambda g, out, a: (2 * g * a,), (A.clone(),)

# %% right="sum"
def trial():
    return torch.sum, lambda g, out, a: (g.expand(a.shape),), (A.clone(),)

# %% right="matrices"
def trial():
    return torch.matmul, lambda g, out, a, b: (g @ b.t(), a.t() @ g), (A.clone(), B.t().contiguous())

# %% right="row"
def trial():
    return lambda a, row: a * row, lambda g, out, a, row: (g * row, (g * a).sum(0)), (A.clone(), ROW.clone())

# %% right="number"
def trial():
    return lambda a, c: a * c, lambda g, out, a, c: (g * c, (g * a).sum()), (A.clone(), NUMBER.clone())

# %% right="unused"
def trial():
    return lambda a, b: a.tanh(), lambda g, out, a, b: (g * (1 - out * out), 0 * b), (B.clone(), A.clone())

# %% right="outside_torch"
def trial():
    return lambda a: torch.from_numpy(numpy.sin(a.numpy())), lambda g, out, a: (g * a.cos(),), (B.clone(),)

# %% wrong="catches_formula"
def trial():
    return _product(lambda g, out, a, b: (2 * g * b, 2 * g * a))

# %% wrong="a_little"
def trial():
    return _exponential(lambda g, out, a: (1.01 * g * out,))

# %% wrong="kept_the_input"
def trial():
    return torch.tanh, lambda g, out, a: (g * (1 - a * a),), (B.clone(),)

# %% wrong="catches_one_input"
def trial():
    return _product(lambda g, out, a, b: (g * b, g * b))

# %% wrong="catches_too_few"
def trial():
    return _product(lambda g, out, a, b: (g * b,))

# %% wrong="catches_shape"
def trial():
    return torch.sum, lambda g, out, a: (g,), (A.clone(),)

# %% wrong="not_summed"
def trial():
    return lambda a, row: a * row, lambda g, out, a, row: (g * row, g * a), (A.clone(), ROW.clone())

# %% wrong="catches_ones"
def trial():
    return _product(lambda g, out, a, b: (b.clone(), a.clone()))

# %% wrong="mean_of_g"
def trial():
    return _product(lambda g, out, a, b: (g.mean() * b, g.mean() * a))

# %% wrong="catches_together"
def trial():
    return _exponential(lambda g, out, a: ((g * out).mean().expand(a.shape),))

# %% wrong="right_in_each_row"
def trial():
    return _exponential(lambda g, out, a: ((g * out).mean(1, keepdim=True).expand(a.shape),))

# %% wrong="catches_negative"
def trial():
    return torch.square, lambda g, out, a: (2 * g * a.abs(),), (A.clone(),)

# %% wrong="catches_nan"
def trial():
    return _product(lambda g, out, a, b: (g * out / a, g * out / b))
