# %%
import os
import warnings

import numpy as np
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.library import custom_op, opcheck
os.environ.setdefault("KINETO_LOG_LEVEL", "99")
from torch.profiler import ProfilerActivity, profile

ENGINE = "autograd::engine::evaluate_function: "
PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")


def flops_of(event):
    """The FLOPs of the matrix products in a row of the profile and in everything below it."""
    own = event.flops if event.name in PRODUCTS else 0
    return own + sum(flops_of(child) for child in event.cpu_children)
# %% exercise="predict_graphs" verdict="passed"
# by reading
predict_graphs = {
    "if on the length": 1,
    "if on requires_grad": 1,
    "a loop of three": 1,
    "two ifs on numbers": 3,
    "one if, x and -x": 3,
    "lengths 3, 3, 4": 2,
    "lengths 3, 4, 5": 2,
}
# %% exercise="predict_graphs" verdict="refused"
# every if breaks the graph
predict_graphs = {
    "if on the length": 2,
    "if on requires_grad": 2,
    "a loop of three": 1,
    "two ifs on numbers": 3,
    "one if, x and -x": 3,
    "lengths 3, 3, 4": 2,
    "lengths 3, 4, 5": 2,
}
# %% exercise="predict_graphs" verdict="refused"
# the second call compiles the whole again
predict_graphs = {
    "if on the length": 1,
    "if on requires_grad": 1,
    "a loop of three": 1,
    "two ifs on numbers": 3,
    "one if, x and -x": 4,
    "lengths 3, 3, 4": 2,
    "lengths 3, 4, 5": 2,
}
# %% exercise="predict_graphs" verdict="refused"
# each new length a new graph
predict_graphs = {
    "if on the length": 1,
    "if on requires_grad": 1,
    "a loop of three": 1,
    "two ifs on numbers": 3,
    "one if, x and -x": 3,
    "lengths 3, 3, 4": 2,
    "lengths 3, 4, 5": 3,
}
# %% exercise="predict_graphs" verdict="refused"
# two ifs, each with two graphs
predict_graphs = {
    "if on the length": 1,
    "if on requires_grad": 1,
    "a loop of three": 1,
    "two ifs on numbers": 4,
    "one if, x and -x": 3,
    "lengths 3, 3, 4": 2,
    "lengths 3, 4, 5": 2,
}
# %% exercise="one_graph" verdict="passed"
# clamp of the norm
def one_graph(x, limit):
    return x * (limit / x.norm().clamp(min=limit))
# %% exercise="one_graph" verdict="refused"
# where with a division by 0 in the other branch: NaN at 0
def one_graph(x, limit):
    norm = x.norm()
    return torch.where(norm > limit, x * (limit / norm), x)
# %% exercise="one_graph" verdict="refused"
# epsilon as in clip_grad_norm_: wrong for small tensors
def one_graph(x, limit):
    scale = (limit / (x.norm() + 1e-6)).clamp(max=1.0)
    return x * scale
# %% exercise="one_graph" verdict="refused"
# the norm is taken as a constant
def one_graph(x, limit):
    norm = x.norm().detach()
    return x * (limit / norm.clamp(min=limit))
# %% exercise="one_graph" verdict="refused"
# the norm of each row
def one_graph(x, limit):
    norm = x.norm(dim=-1, keepdim=True)
    return x * (limit / norm.clamp(min=limit))
# %% exercise="predict_compiled" verdict="passed"
# by reading
predict_compiled = {
    "saved by wave": 2,
    "saved by compiled wave": 1,
    "growth: retain_graph": "accepted",
    "growth: plain, then retain_graph": "RuntimeError",
    "wave: plain, then retain_graph": "accepted",
    "wave: second derivative, aot_eager": "RuntimeError",
    "wave: second derivative, eager": "accepted",
}
# %% exercise="predict_compiled" verdict="refused"
# what held for squash holds for wave
predict_compiled = {
    "saved by wave": 2,
    "saved by compiled wave": 1,
    "growth: retain_graph": "accepted",
    "growth: plain, then retain_graph": "RuntimeError",
    "wave: plain, then retain_graph": "RuntimeError",
    "wave: second derivative, aot_eager": "RuntimeError",
    "wave: second derivative, eager": "accepted",
}
# %% exercise="predict_compiled" verdict="refused"
# compiled code can never keep its graph
predict_compiled = {
    "saved by wave": 2,
    "saved by compiled wave": 1,
    "growth: retain_graph": "RuntimeError",
    "growth: plain, then retain_graph": "RuntimeError",
    "wave: plain, then retain_graph": "RuntimeError",
    "wave: second derivative, aot_eager": "RuntimeError",
    "wave: second derivative, eager": "accepted",
}
# %% exercise="predict_compiled" verdict="refused"
# no compiled function has a second derivative
predict_compiled = {
    "saved by wave": 2,
    "saved by compiled wave": 1,
    "growth: retain_graph": "accepted",
    "growth: plain, then retain_graph": "RuntimeError",
    "wave: plain, then retain_graph": "accepted",
    "wave: second derivative, aot_eager": "RuntimeError",
    "wave: second derivative, eager": "RuntimeError",
}
# %% exercise="predict_compiled" verdict="refused"
# the compiled graph saves what the plain one saves
predict_compiled = {
    "saved by wave": 2,
    "saved by compiled wave": 2,
    "growth: retain_graph": "accepted",
    "growth: plain, then retain_graph": "RuntimeError",
    "wave: plain, then retain_graph": "accepted",
    "wave: second derivative, aot_eager": "RuntimeError",
    "wave: second derivative, eager": "accepted",
}
# %% exercise="costly_node" verdict="passed"
# summed by name
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    costs = {}
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            name = event.name.removeprefix(ENGINE)
            costs[name] = costs.get(name, 0) + flops_of(event)
    return max(costs, key=costs.get)
# %% exercise="costly_node" verdict="refused"
# the most expensive single node
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    costs = {}
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            name = event.name.removeprefix(ENGINE)
            costs[name] = max(costs.get(name, 0), flops_of(event))
    return max(costs, key=costs.get)
# %% exercise="costly_node" verdict="refused"
# a pass to warm up doubles the gradients
def costly_node(loss):
    loss.backward(retain_graph=True)
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    costs = {}
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            name = event.name.removeprefix(ENGINE)
            costs[name] = costs.get(name, 0) + flops_of(event)
    return max(costs, key=costs.get)
# %% exercise="costly_node" verdict="refused"
# the operation's name, not that of the node
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    return max(profiled.key_averages(), key=lambda row: row.flops).key
# %% exercise="costly_node" verdict="refused"
# only the operations directly below the node are asked for their FLOPs
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    costs = {}
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            name = event.name.removeprefix(ENGINE)
            costs[name] = costs.get(name, 0) + sum(child.flops or 0 for child in event.cpu_children)
    return max(costs, key=costs.get)
# %% exercise="fix_anomaly" verdict="passed"
# the mode around both passes
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True):
        loss = f(x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
            except RuntimeError:
                return str(caught[-1].message)
    return None
# %% exercise="fix_anomaly" verdict="refused"
# the mode is off afterwards, whatever it was
def fix_anomaly(f, x):
    torch.autograd.set_detect_anomaly(True)
    try:
        loss = f(x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
            except RuntimeError:
                return str(caught[-1].message)
    finally:
        torch.autograd.set_detect_anomaly(False)
    return None
# %% exercise="fix_anomaly" verdict="refused"
# f is inside try: its own exception is swallowed
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss = f(x)
                loss.backward()
            except RuntimeError:
                return str(caught[-1].message) if caught else None
    return None
# %% exercise="fix_anomaly" verdict="refused"
# the error's text, not the warning's
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True):
        loss = f(x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
            except RuntimeError as error:
                return str(error)
    return None
# %% exercise="fix_anomaly" verdict="refused"
# any warning counts, also one of f
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loss = f(x)
            try:
                loss.backward()
            except RuntimeError:
                pass
            if caught:
                return str(caught[-1].message)
    return None
# %% exercise="add_formula" verdict="passed"
# saved inputs
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.save_for_backward(x, y)
        ctx.a = a

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        factor = torch.exp(-ctx.a * y)
        return grad * factor, -ctx.a * grad * x * factor, None

    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# tensors as attributes of ctx: a change in place is not noticed
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.x, ctx.y, ctx.a = x, y, a

    def backward(ctx, grad):
        x, y = ctx.x, ctx.y
        factor = torch.exp(-ctx.a * y)
        return grad * factor, -ctx.a * grad * x * factor, None

    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# the formula is in NumPy
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.save_for_backward(x, y)
        ctx.a = a

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        factor = torch.as_tensor(np.exp(-ctx.a * y.detach().numpy()))
        return grad * factor, -ctx.a * grad * x * factor, None

    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# the factor -a is missing in the gradient of y
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.save_for_backward(x, y)
        ctx.a = a

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        factor = torch.exp(-ctx.a * y)
        return grad * factor, -grad * x * factor, None

    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# the factor is computed in setup_context: no second derivative for y
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.save_for_backward(x, torch.exp(-a * y))
        ctx.a = a

    def backward(ctx, grad):
        x, factor = ctx.saved_tensors
        return grad * factor, -ctx.a * grad * x * factor, None

    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="fix_fake" verdict="passed"
# new_empty with the last but one of y
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-1], y.shape[-2])
# %% exercise="fix_fake" verdict="refused"
# n and m exchanged
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-2], y.shape[-2], x.shape[-2])
# %% exercise="fix_fake" verdict="refused"
# the dimensions in front are forgotten
def fix_fake(x, y):
    return x.new_empty(x.shape[0], y.shape[0])
# %% exercise="fix_fake" verdict="refused"
# the device is forgotten
def fix_fake(x, y):
    return torch.empty(*x.shape[:-1], y.shape[-2], dtype=x.dtype)
# %% exercise="fix_fake" verdict="refused"
# the dtype is forgotten
def fix_fake(x, y):
    return torch.empty(*x.shape[:-1], y.shape[-2], device=x.device)
# %% exercise="predict_operators" verdict="passed"
# by reading
predict_operators = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": True,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 0.0,
    "gradient of a through double_": 3.0,
}
# %% exercise="predict_operators" verdict="refused"
# the body is run once, for the graph
predict_operators = {
    "runs of the body in three compiled passes": 1,
    "no formula: requires grad": True,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 0.0,
    "gradient of a through double_": 3.0,
}
# %% exercise="predict_operators" verdict="refused"
# without a formula the result has no graph
predict_operators = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": False,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 0.0,
    "gradient of a through double_": 3.0,
}
# %% exercise="predict_operators" verdict="refused"
# gradcheck refuses NumPy, too
predict_operators = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": True,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "refused",
    "forward mode of square at 1": 0.0,
    "gradient of a through double_": 3.0,
}
# %% exercise="predict_operators" verdict="refused"
# a declared change is known to autograd
predict_operators = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": True,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 0.0,
    "gradient of a through double_": 6.0,
}
# %% exercise="is_right_operator" verdict="passed"
# three examples, both tools
def is_right_operator(op, x):
    torch.manual_seed(0)
    examples = [x.clone(), torch.randn(2, 3, dtype=x.dtype), torch.randn(4, 2, dtype=x.dtype).t()]
    for example in examples:
        example.requires_grad_()
        try:
            opcheck(op, (example,))
            if not gradcheck(op, (example,)):
                return False
        except Exception:
            return False
    return True
# %% exercise="is_right_operator" verdict="refused"
# only the given square example
def is_right_operator(op, x):
    torch.manual_seed(0)
    examples = [x.clone()]
    for example in examples:
        example.requires_grad_()
        try:
            opcheck(op, (example,))
            if not gradcheck(op, (example,)):
                return False
        except Exception:
            return False
    return True
# %% exercise="is_right_operator" verdict="refused"
# no example is transposed
def is_right_operator(op, x):
    torch.manual_seed(0)
    examples = [x.clone(), torch.randn(2, 3, dtype=x.dtype), torch.randn(5, 1, dtype=x.dtype)]
    for example in examples:
        example.requires_grad_()
        try:
            opcheck(op, (example,))
            if not gradcheck(op, (example,)):
                return False
        except Exception:
            return False
    return True
# %% exercise="is_right_operator" verdict="refused"
# opcheck without requires_grad does not see the formula
def is_right_operator(op, x):
    torch.manual_seed(0)
    examples = [x.clone(), torch.randn(2, 3, dtype=x.dtype), torch.randn(4, 2, dtype=x.dtype).t()]
    for example in examples:
        try:
            opcheck(op, (example,))
            example.requires_grad_()
            if not gradcheck(op, (example,)):
                return False
        except Exception:
            return False
    return True
# %% exercise="is_right_operator" verdict="refused"
# gradcheck alone
def is_right_operator(op, x):
    torch.manual_seed(0)
    examples = [x.clone(), torch.randn(2, 3, dtype=x.dtype), torch.randn(4, 2, dtype=x.dtype).t()]
    for example in examples:
        example.requires_grad_()
        try:
            if not gradcheck(op, (example,)):
                return False
        except Exception:
            return False
    return True
