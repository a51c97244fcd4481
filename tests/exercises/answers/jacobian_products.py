# %%
import torch


# %% exercise="fool_gradcheck" verdict="passed"
# log_near_zero
def fool_gradcheck():
    def f(x):
        return torch.where(x > 1e-3, x.log(), x.log().detach())

    return f, torch.tensor([1.0], dtype=torch.float64), torch.tensor([1e-5], dtype=torch.float64)


# %% exercise="fool_gradcheck" verdict="passed"
# fast_wave
def fool_gradcheck():
    def f(x):
        return torch.where(x > 1.5, (1000 * x).sin().detach(), x)

    return f, torch.tensor([1.0], dtype=torch.float64), torch.tensor([2.0], dtype=torch.float64)


# %% exercise="fool_gradcheck" verdict="refused"
# looks_at_requires_grad
def fool_gradcheck():
    def f(x):
        return x**2 if x.requires_grad else x**3

    return f, torch.tensor([1.0], dtype=torch.float64), torch.tensor([2.0], dtype=torch.float64)


# %% exercise="fool_gradcheck" verdict="refused"
# sin_far
def fool_gradcheck():
    return torch.sin, torch.tensor([1.0], dtype=torch.float64), torch.tensor([1e12], dtype=torch.float64)


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
    return (lambda x: (x + 1e16) - 1e16), torch.tensor([0.0], dtype=torch.float64), torch.tensor([1.0], dtype=torch.float64)


# %% exercise="fool_gradcheck" verdict="refused" mistake="no_number_there"
# nan_point
def fool_gradcheck():
    return torch.sin, torch.tensor([1.0], dtype=torch.float64), torch.tensor([float("nan")], dtype=torch.float64)


# %% exercise="fool_gradcheck" verdict="refused" mistake="no_number_there"
# inf_value
def fool_gradcheck():
    return torch.exp, torch.tensor([1.0], dtype=torch.float64), torch.tensor([1000.0], dtype=torch.float64)


# %% exercise="fool_gradcheck" verdict="refused" mistake="no_number_there"
# log_negative
def fool_gradcheck():
    return torch.log, torch.tensor([1.0], dtype=torch.float64), torch.tensor([-1.0], dtype=torch.float64)


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
    return (lambda x: x.abs() ** 1.5), torch.tensor([1.0], dtype=torch.float64), torch.tensor([0.0], dtype=torch.float64)


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
