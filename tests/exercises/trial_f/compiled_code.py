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
    own = event.flops if event.name in PRODUCTS else 0
    return own + sum(flops_of(child) for child in event.cpu_children)


# %% exercise="predict_graphs" verdict="passed"
# a careful reader
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
# every `if` breaks the graph, whatever it asks for
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
# another sign is taken to compile everything anew
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
# each turn of the loop is a graph, each `if` is one
predict_graphs = {
    "if on the length": 1,
    "if on requires_grad": 1,
    "a loop of three": 3,
    "two ifs on numbers": 2,
    "one if, x and -x": 2,
    "lengths 3, 3, 4": 2,
    "lengths 3, 4, 5": 2,
}
# %% exercise="predict_graphs" verdict="refused"
# the length is taken to be a variable from the start
predict_graphs = {
    "if on the length": 1,
    "if on requires_grad": 1,
    "a loop of three": 1,
    "two ifs on numbers": 3,
    "one if, x and -x": 3,
    "lengths 3, 3, 4": 1,
    "lengths 3, 4, 5": 1,
}
# %% exercise="predict_graphs" verdict="refused"
# two ifs double the graphs: 2 times 2
predict_graphs = {
    "if on the length": 1,
    "if on requires_grad": 1,
    "a loop of three": 1,
    "two ifs on numbers": 4,
    "one if, x and -x": 3,
    "lengths 3, 3, 4": 2,
    "lengths 3, 4, 5": 3,
}


# %% exercise="one_graph" verdict="passed"
def one_graph(x, limit):
    return x * (limit / x.norm().clamp(min=limit))


# %% exercise="one_graph" verdict="refused"
# the branch that is not taken has a NaN gradient at zero
def one_graph(x, limit):
    norm = x.norm()
    return torch.where(norm > limit, x * (limit / norm), x)


# %% exercise="one_graph" verdict="refused"
# the factor is limited after the division by zero
def one_graph(x, limit):
    norm = x.norm()
    return x * (limit / norm).clamp(max=1.0)


# %% exercise="one_graph" verdict="refused"
# a small number in the denominator, as in clip_grad_norm_
def one_graph(x, limit):
    norm = x.norm()
    return x * (limit / (norm + 1e-6)).clamp(max=1.0)


# %% exercise="one_graph" verdict="refused"
# Python's min looks at the number
def one_graph(x, limit):
    norm = x.norm()
    return x * min(1.0, limit / norm)


# %% exercise="one_graph" verdict="refused"
# the factor is taken for a constant
def one_graph(x, limit):
    norm = x.detach().norm()
    return x * (limit / norm.clamp(min=limit))


# %% exercise="predict_compiled" verdict="passed"
# a careful reader
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
# retain_graph is taken to fail with every compiled graph
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
# each operation saves one tensor, and aot_eager saves the same
predict_compiled = {
    "saved by wave": 3,
    "saved by compiled wave": 3,
    "growth: retain_graph": "accepted",
    "growth: plain, then retain_graph": "RuntimeError",
    "wave: plain, then retain_graph": "accepted",
    "wave: second derivative, aot_eager": "RuntimeError",
    "wave: second derivative, eager": "accepted",
}
# %% exercise="predict_compiled" verdict="refused"
# whatever is compiled has no second derivative
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
# a new result is taken to have a backward pass of its own, so the first pass decides nothing
predict_compiled = {
    "saved by wave": 2,
    "saved by compiled wave": 1,
    "growth: retain_graph": "accepted",
    "growth: plain, then retain_graph": "accepted",
    "wave: plain, then retain_graph": "accepted",
    "wave: second derivative, aot_eager": "accepted",
    "wave: second derivative, eager": "accepted",
}
# %% exercise="predict_compiled" verdict="refused"
# wave is taken to donate as growth does
predict_compiled = {
    "saved by wave": 2,
    "saved by compiled wave": 1,
    "growth: retain_graph": "accepted",
    "growth: plain, then retain_graph": "RuntimeError",
    "wave: plain, then retain_graph": "RuntimeError",
    "wave: second derivative, aot_eager": "RuntimeError",
    "wave: second derivative, eager": "accepted",
}


# %% exercise="costly_node" verdict="passed"
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    cost = {}
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            name = event.name.removeprefix(ENGINE)
            cost[name] = cost.get(name, 0) + flops_of(event)
    return max(cost, key=cost.get)


# %% exercise="costly_node" verdict="refused"
# the costliest single node: nodes of one name are not added
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    nodes = [event for event in profiled.events() if event.name.startswith(ENGINE)]
    return max(nodes, key=flops_of).name.removeprefix(ENGINE)


# %% exercise="costly_node" verdict="refused"
# a pass to warm up before the measured one
def costly_node(loss):
    loss.backward(retain_graph=True)
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    cost = {}
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            name = event.name.removeprefix(ENGINE)
            cost[name] = cost.get(name, 0) + flops_of(event)
    return max(cost, key=cost.get)


# %% exercise="costly_node" verdict="refused"
# the row of the node itself has no FLOPs: they are below it
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    rows = [row for row in profiled.key_averages() if row.key.startswith(ENGINE)]
    return max(rows, key=lambda row: row.flops).key.removeprefix(ENGINE)


# %% exercise="costly_node" verdict="refused"
# the operation, not the node
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    return max(profiled.key_averages(), key=lambda row: row.flops or 0).key


# %% exercise="costly_node" verdict="refused"
# FLOPs were not asked for, so all costs are 0
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        loss.backward()
    cost = {}
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            name = event.name.removeprefix(ENGINE)
            cost[name] = cost.get(name, 0) + flops_of(event)
    return max(cost, key=cost.get)


# %% exercise="fix_anomaly" verdict="passed"
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
# off afterwards, whatever it was before
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
# an error of f is caught as if it came from the backward pass
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            f(x).backward()
        except RuntimeError:
            return str(caught[-1].message) if caught else None
    return None


# %% exercise="fix_anomaly" verdict="refused"
# the text of the error, which has no line
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True):
        loss = f(x)
        try:
            loss.backward()
        except RuntimeError as error:
            return str(error)
    return None


# %% exercise="fix_anomaly" verdict="refused"
# f runs again with anomaly mode after a NaN was found
def fix_anomaly(f, x):
    f(x).backward()
    if x.grad is None or not x.grad.isnan().any():
        return None
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
# every warning is a report, also one of f
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss = f(x)
        try:
            loss.backward()
        except RuntimeError:
            pass
    return str(caught[-1].message) if caught else None


# %% exercise="add_formula" verdict="passed"
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, y)

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        decay = torch.exp(-ctx.a * y)
        return grad * decay, -ctx.a * grad * x * decay, None

    op.register_autograd(backward, setup_context=setup_context)


# %% exercise="add_formula" verdict="refused"
# output / x is no number where x is 0
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, y, output)

    def backward(ctx, grad):
        x, y, output = ctx.saved_tensors
        return grad * output / x, -ctx.a * grad * output, None

    op.register_autograd(backward, setup_context=setup_context)


# %% exercise="add_formula" verdict="refused"
# tensors as attributes: no version is compared
def add_formula(op):
    def setup_context(ctx, inputs, output):
        ctx.x, ctx.y, ctx.a = inputs

    def backward(ctx, grad):
        decay = torch.exp(-ctx.a * ctx.y)
        return grad * decay, -ctx.a * grad * ctx.x * decay, None

    op.register_autograd(backward, setup_context=setup_context)


# %% exercise="add_formula" verdict="refused"
# no gradient, not even None, for a
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, y)

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        decay = torch.exp(-ctx.a * y)
        return grad * decay, -ctx.a * grad * x * decay

    op.register_autograd(backward, setup_context=setup_context)


# %% exercise="add_formula" verdict="refused"
# the factor is saved as a number without a past, so second derivatives lack a term
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.a = a
        ctx.save_for_backward(x, torch.exp(-a * y))

    def backward(ctx, grad):
        x, decay = ctx.saved_tensors
        return grad * decay, -ctx.a * grad * x * decay, None

    op.register_autograd(backward, setup_context=setup_context)


# %% exercise="add_formula" verdict="refused"
# names of one's own, but they are passed by keyword
def add_formula(op):
    def save(ctx, args, result):
        x, y, ctx.a = args
        ctx.save_for_backward(x, y)

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        decay = torch.exp(-ctx.a * y)
        return grad * decay, -ctx.a * grad * x * decay, None

    op.register_autograd(backward, setup_context=save)


# %% exercise="fix_fake" verdict="passed"
def fix_fake(x, y):
    return x.new_empty((*x.shape[:-1], y.shape[-2]))


# %% exercise="fix_fake" verdict="passed"
# torch's own operator for it
def fix_fake(x, y):
    return torch.cdist(x, y)


# %% exercise="fix_fake" verdict="refused"
# the dimensions in front are forgotten
def fix_fake(x, y):
    return x.new_empty(x.shape[0], y.shape[0])


# %% exercise="fix_fake" verdict="refused"
# dtype and device are the default ones
def fix_fake(x, y):
    return torch.empty(*x.shape[:-1], y.shape[-2])


# %% exercise="fix_fake" verdict="refused"
# len is the first dimension, not the last but one
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-2], len(x), len(y))


# %% exercise="fix_fake" verdict="refused"
# the dtype is that of the fake's author
def fix_fake(x, y):
    return torch.empty(*x.shape[:-1], y.shape[-2], dtype=torch.float64, device=x.device)


# %% exercise="fix_fake" verdict="refused"
# the strides of the result follow those of the inputs
def fix_fake(x, y):
    return torch.empty_like(x[..., :1] + y[..., :1].mT)


# %% exercise="predict_operators" verdict="passed"
# a careful reader
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
# the body is taken to run while it is traced, as the formula
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
# without a formula nothing is taken to be differentiable, so nothing requires grad and nothing is refused
predict_operators = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": False,
    "no formula: opcheck": "accepted",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 0.0,
    "gradient of a through double_": 3.0,
}
# %% exercise="predict_operators" verdict="refused"
# a declared change is taken to be known to autograd, and a formula to serve forward mode
predict_operators = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": True,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 2.0,
    "gradient of a through double_": 6.0,
}
# %% exercise="predict_operators" verdict="refused"
# a right number is taken to be enough for opcheck
predict_operators = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": True,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "accepted",
    "formula in NumPy: gradcheck": "refused",
    "forward mode of square at 1": 0.0,
    "gradient of a through double_": 3.0,
}
# %% exercise="predict_operators" verdict="refused"
# the body runs in tracing, too: 1 + 3
predict_operators = {
    "runs of the body in three compiled passes": 4,
    "no formula: requires grad": True,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 0.0,
    "gradient of a through double_": 2.0,
}


# %% exercise="is_right_operator" verdict="passed"
def is_right_operator(op, x):
    examples = [x, torch.randn(2, 3, dtype=x.dtype), torch.randn(4, 3, dtype=x.dtype).t()]
    try:
        for each in examples:
            each = each.detach().requires_grad_()
            opcheck(op, (each,))
            gradcheck(op, (each,))
    except Exception:
        return False
    return True


# %% exercise="is_right_operator" verdict="refused"
# gradcheck alone knows nothing of the fake
def is_right_operator(op, x):
    try:
        for each in (x, torch.rand(2, 3, dtype=x.dtype), torch.rand(4, 3, dtype=x.dtype).t()):
            gradcheck(op, (each.detach().requires_grad_(),))
    except Exception:
        return False
    return True


# %% exercise="is_right_operator" verdict="refused"
# gradcheck raises, because nothing requires grad: everything is refused
def is_right_operator(op, x):
    try:
        opcheck(op, (x,))
        return gradcheck(op, (x,))
    except Exception:
        return False


# %% exercise="is_right_operator" verdict="refused"
# not square, but always contiguous
def is_right_operator(op, x):
    for shape in (2, 2), (2, 3), (3, 1):
        each = torch.rand(shape, dtype=torch.float64, requires_grad=True)
        try:
            opcheck(op, (each,))
            gradcheck(op, (each,))
        except Exception:
            return False
    return True


# %% exercise="is_right_operator" verdict="refused"
# transposed, but always square
def is_right_operator(op, x):
    try:
        for each in (x.clone(), x.t()):
            each = each.detach().requires_grad_()
            opcheck(op, (each,))
            gradcheck(op, (each,))
    except Exception:
        return False
    return True


# %% exercise="is_right_operator" verdict="refused"
# the formula is compared with finite differences on the square example alone
def is_right_operator(op, x):
    try:
        for each in (x, torch.rand(2, 3, dtype=x.dtype), torch.rand(4, 3, dtype=x.dtype).t()):
            opcheck(op, (each.detach().requires_grad_(),))
        return gradcheck(op, (x.clone().requires_grad_(),))
    except Exception:
        return False
