"""Helpers of wrong answers to several exercises."""

import torch

from ..common import tracked


def columns_by_differences(f, x, h, *, back=True, over=None):
    """Return the Jacobian by finite differences with step `h`.

    If `back` is True, the differences are central, else one-sided. `over` replaces the number by which differences are
    divided.
    """
    columns = []
    for step in h * torch.eye(len(x), dtype=x.dtype, device=x.device):
        before = f(x - step) if back else f(x)
        columns.append((f(x + step) - before) / (over or (2 * h if back else h)))
    return torch.stack(columns, dim=1)


def _second_by_x(f, x, v, u):
    x = tracked(x)
    y = f(x)
    (g,) = torch.autograd.grad(y, x, torch.full_like(y, u, requires_grad=True), create_graph=True)
    return torch.autograd.grad(g, x, v)[0]


def _by_cotangent(f, x, v, dtype):
    x = tracked(x)
    y = f(x)
    u = torch.zeros(len(y), dtype=dtype, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, u, create_graph=True)
    return torch.autograd.grad(g, u, v)[0]
