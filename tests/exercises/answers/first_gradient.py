# %%
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as bce
# %% exercise="numerical_slope" verdict="refused"
# float32
def numerical_slope(f, x, h):
    a = torch.tensor(x.item() + h)
    b = torch.tensor(x.item() - h)
    return (f(a) - f(b)) / (2 * h)
# %% exercise="numerical_slope" verdict="refused"
# drift
def numerical_slope(f, x, h):
    x += h
    right = f(x).item()
    x -= 2 * h
    left = f(x).item()
    x += h
    return (right - left) / (2 * h)
# %% exercise="descend" verdict="refused" mistake="makes_no_step"
# rebind_zeroed
def descend(w, b, x, y, lr):
    loss = bce(x @ w + b, y)
    loss.backward()
    dw, db = w.grad.clone(), b.grad.clone()
    w.grad = b.grad = None
    with torch.no_grad():
        w = w - lr * dw
        b = b - lr * db
    return loss.item()
# %% exercise="descend" verdict="refused" mistake="makes_no_step"
# new_parameters
def descend(w, b, x, y, lr):
    loss = bce(x @ w + b, y)
    loss.backward()
    w_new = (w - lr * w.grad).detach().requires_grad_()
    b_new = (b - lr * b.grad).detach().requires_grad_()
    w.grad = b.grad = None
    w, b = w_new, b_new
    return loss.item()
# %% exercise="descend" verdict="refused" mistake="makes_no_step"
# detached_copy_updated
def descend(w, b, x, y, lr):
    loss = bce(x @ w + b, y)
    loss.backward()
    for p in (w, b):
        data = p.detach().clone()
        data -= lr * p.grad
        p.grad = None
    return loss.item()
# %% exercise="descend" verdict="refused" mistake="forgets_backward"
def descend(w, b, x, y, lr):
    loss = bce(x @ w + b, y)
    loss.backward()
    w.grad = None
    b.grad = None
    with torch.no_grad():
        w -= lr * w.grad
        b -= lr * b.grad
    return loss
# %% exercise="descend" verdict="refused" mistake="goes_twice_as_far"
def descend(w, b, x, y, lr):
    opt = torch.optim.SGD([w, b], lr=lr)
    loss = bce(x @ w + b, y)
    loss.backward()
    opt.step()
    opt.step()
    opt.zero_grad()
    return loss
# %% exercise="numerical_slope" verdict="refused" mistake="moves_x"
def numerical_slope(f, x, h):
    right, left = x, x
    right += h
    left -= h
    return (f(right) - f(left)) / (2 * h)
# %% exercise="descend" verdict="refused" mistake="divides_by_three"
@torch.no_grad()
def descend(w, b, x, y, lr):
    z = x @ w + b
    g = (torch.sigmoid(z) - y) / 3
    w -= lr * torch.outer(x, g)
    b -= lr * g
    return bce(z, y)
# %%
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as bce
# %% exercise="descend" verdict="refused" mistake="makes_no_step"
# zero_grad before the step
def descend(w, b, x, y, lr):
    optimizer = torch.optim.SGD([w, b], lr=lr)
    loss = bce(x @ w + b, y)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()
