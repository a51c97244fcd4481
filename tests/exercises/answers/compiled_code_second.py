# %%
import warnings
from collections import Counter

import numpy as np
import torch
from torch.autograd import gradcheck
from torch.library import opcheck
from torch.profiler import ProfilerActivity, profile

ENGINE = "autograd::engine::evaluate_function: "
PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")


def flops_of(event):
    own = event.flops if event.name in PRODUCTS else 0
    return own + sum(flops_of(child) for child in event.cpu_children)


GRAPHS = {
    "if on the length": 1,
    "if on requires_grad": 1,
    "a loop of three": 1,
    "two ifs on numbers": 3,
    "one if, x and -x": 3,
    "lengths 3, 3, 4": 2,
    "lengths 3, 4, 5": 2,
}
COMPILED = {
    "saved by wave": 2,
    "saved by compiled wave": 1,
    "growth: retain_graph": "accepted",
    "growth: plain, then retain_graph": "RuntimeError",
    "wave: plain, then retain_graph": "accepted",
    "wave: second derivative, aot_eager": "RuntimeError",
    "wave: second derivative, eager": "accepted",
}
OPERATORS = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": True,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 0.0,
    "gradient of a through double_": 3.0,
}
# %% exercise="predict_graphs" verdict="passed"
# a careful reader
predict_graphs = GRAPHS
# %% exercise="predict_graphs" verdict="refused"
# every `if` breaks
predict_graphs = {**GRAPHS, "if on the length": 2, "if on requires_grad": 2}
# %% exercise="predict_graphs" verdict="refused"
# a loop makes a graph for each step
predict_graphs = {**GRAPHS, "a loop of three": 3}
# %% exercise="predict_graphs" verdict="refused"
# every new length compiles again
predict_graphs = {**GRAPHS, "lengths 3, 4, 5": 3}
# %% exercise="predict_graphs" verdict="refused"
# two graphs for every `if`, for every call
predict_graphs = {**GRAPHS, "two ifs on numbers": 4, "one if, x and -x": 4}
# %% exercise="predict_graphs" verdict="refused"
# the condition belongs to the branch's graph
predict_graphs = {**GRAPHS, "two ifs on numbers": 2, "one if, x and -x": 2}
# %% exercise="predict_graphs" verdict="refused"
# the length is a variable of the graph from the beginning
predict_graphs = {**GRAPHS, "lengths 3, 3, 4": 1, "lengths 3, 4, 5": 1}
# %% exercise="one_graph" verdict="passed"
# the divisor is chosen, not the result
def one_graph(x, limit):
    norm = x.norm()
    divisor = torch.where(norm > limit, norm, torch.full_like(norm, limit))
    return x * (limit / divisor)
# %% exercise="one_graph" verdict="passed"
# a clamped norm
def one_graph(x, limit):
    return x * (limit / torch.linalg.vector_norm(x).clamp(min=limit))
# %% exercise="one_graph" verdict="refused"
# the result is chosen, and the zero vector gets NaN
def one_graph(x, limit):
    norm = x.norm()
    return torch.where(norm > limit, x * (limit / norm), x)
# %% exercise="one_graph" verdict="refused"
# an epsilon against division by zero, as in clip_grad_norm_
def one_graph(x, limit):
    return x * (limit / (x.norm() + 1e-6)).clamp(max=1.0)
# %% exercise="one_graph" verdict="refused"
# the factor is a constant
def one_graph(x, limit):
    return x * (limit / x.norm().detach()).clamp(max=1.0)
# %% exercise="one_graph" verdict="refused"
# the norm of each row
def one_graph(x, limit):
    norm = x.norm(dim=-1, keepdim=True)
    return x * (limit / norm.clamp(min=limit))
# %% exercise="one_graph" verdict="refused"
# the number is read in one line
def one_graph(x, limit):
    return x * min(1.0, limit / max(x.norm().item(), 1e-12))
# %% exercise="one_graph" verdict="refused"
# elements are limited, not the norm
def one_graph(x, limit):
    return x.clamp(-limit, limit)
# %% exercise="one_graph" verdict="refused"
# the mask as a number
def one_graph(x, limit):
    norm = x.norm()
    over = (norm > limit).to(x.dtype)
    return x * (over * limit / norm + (1 - over))
# %% exercise="predict_compiled" verdict="passed"
# a careful reader
predict_compiled = COMPILED
# %% exercise="predict_compiled" verdict="refused"
# `wave` fails as `growth` does
predict_compiled = {**COMPILED, "wave: plain, then retain_graph": "RuntimeError"}
# %% exercise="predict_compiled" verdict="refused"
# a compiled graph can never be retained
predict_compiled = {
    **COMPILED,
    "growth: retain_graph": "RuntimeError",
    "wave: plain, then retain_graph": "RuntimeError",
}
# %% exercise="predict_compiled" verdict="refused"
# the compiler saves what autograd saves
predict_compiled = {**COMPILED, "saved by compiled wave": 2}
# %% exercise="predict_compiled" verdict="refused"
# the result of compiled code can be differentiated as often as wished
predict_compiled = {**COMPILED, "wave: second derivative, aot_eager": "accepted"}
# %% exercise="predict_compiled" verdict="refused"
# no compiled code has a second derivative
predict_compiled = {**COMPILED, "wave: second derivative, eager": "RuntimeError"}
# %% exercise="predict_compiled" verdict="refused"
# each pass is a new result, so nothing can fail
predict_compiled = {**COMPILED, "growth: plain, then retain_graph": "accepted"}
# %% exercise="predict_compiled" verdict="refused"
# only the input is saved
predict_compiled = {**COMPILED, "saved by wave": 1}
# %% exercise="costly_node" verdict="passed"
# the events of the engine, summed by name
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    cost = Counter()
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            cost[event.name.removeprefix(ENGINE)] += flops_of(event)
    return max(cost, key=cost.get)
# %% exercise="costly_node" verdict="passed"
# hooks on the nodes around a counter of operations
def costly_node(loss):
    from torch.utils.flop_counter import FlopCounterMode

    counter, cost, handles = FlopCounterMode(display=False), Counter(), []

    def watch(node):
        start = []
        handles.append(node.register_prehook(lambda grads: start.append(counter.get_total_flops())))

        def after(grad_inputs, grad_outputs):
            cost[node.name()] += counter.get_total_flops() - start.pop()

        handles.append(node.register_hook(after))

    todo, seen = [loss.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        watch(node)
        todo.extend(next_node for next_node, _ in node.next_functions)
    with counter:
        loss.backward()
    for handle in handles:
        handle.remove()
    return cost.most_common(1)[0][0]
# %% exercise="costly_node" verdict="refused"
# the most expensive single node
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    rows = [event for event in profiled.events() if event.name.startswith(ENGINE)]
    return max(rows, key=flops_of).name.removeprefix(ENGINE)
# %% exercise="costly_node" verdict="refused"
# the row's own operations: always 0
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    rows = [row for row in profiled.key_averages() if row.key.startswith(ENGINE)]
    return max(rows, key=lambda row: row.flops).key.removeprefix(ENGINE)
# %% exercise="costly_node" verdict="refused"
# a pass to warm up, then the measured one
def costly_node(loss):
    loss.backward(retain_graph=True)
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    cost = Counter()
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            cost[event.name.removeprefix(ENGINE)] += flops_of(event)
    return cost.most_common(1)[0][0]
# %% exercise="costly_node" verdict="refused"
# the prefix is left
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    cost = Counter()
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            cost[event.name] += flops_of(event)
    return cost.most_common(1)[0][0]
# %% exercise="costly_node" verdict="refused"
# the name that occurs most often
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    times = Counter(e.name.removeprefix(ENGINE) for e in profiled.events() if e.name.startswith(ENGINE))
    return times.most_common(1)[0][0]
# %% exercise="costly_node" verdict="refused"
# with_flops forgotten
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        loss.backward()
    cost = Counter()
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            cost[event.name.removeprefix(ENGINE)] += flops_of(event)
    return max(cost, key=cost.get)
# %% exercise="fix_anomaly" verdict="passed"
# the context manager around both passes
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True):
        loss = f(x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
            except RuntimeError:
                return next(str(each.message) for each in caught if "Error detected in" in str(each.message))
    return None
# %% exercise="fix_anomaly" verdict="passed"
# by hand, with finally
def fix_anomaly(f, x):
    before, check = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    torch.autograd.set_detect_anomaly(True)
    try:
        loss = f(x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
            except RuntimeError:
                return str(caught[-1].message)
        return None
    finally:
        torch.autograd.set_detect_anomaly(before, check)
# %% exercise="fix_anomaly" verdict="refused"
# the mode is on in the backward pass only
def fix_anomaly(f, x):
    loss = f(x)
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loss.backward()
        except RuntimeError:
            return str(caught[-1].message)
    return None
# %% exercise="fix_anomaly" verdict="refused"
# always switched off at the end
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
# %% exercise="fix_anomaly" verdict="refused"
# the call of `f` is in the `try`
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            f(x).backward()
        except RuntimeError as error:
            return str(caught[-1].message) if caught else str(error)
    return None
# %% exercise="fix_anomaly" verdict="refused"
# fast at first, and once more in the mode if there is a NaN
def fix_anomaly(f, x):
    (gradient,) = torch.autograd.grad(f(x), x)
    if not gradient.isnan().any():
        return None
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            f(x).backward()
        except RuntimeError:
            return str(caught[-1].message)
# %% exercise="fix_anomaly" verdict="refused"
# any warning is taken for torch's
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss = f(x)
        try:
            loss.backward()
        except RuntimeError:
            pass
    return str(caught[-1].message) if caught else None
# %% exercise="fix_anomaly" verdict="refused"
# the text of the error, which names no line
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True):
        loss = f(x)
        try:
            loss.backward()
        except RuntimeError as error:
            return str(error)
    return None
# %% exercise="fix_anomaly" verdict="refused"
# not put back if `f` raises
def fix_anomaly(f, x):
    before = torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True)
    loss = f(x)
    text = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loss.backward()
        except RuntimeError:
            text = str(caught[-1].message)
    torch.autograd.set_detect_anomaly(before)
    return text
# %% exercise="add_formula" verdict="passed"
# both inputs are saved
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, y)

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        decay = torch.exp(-ctx.a * y)
        return grad * decay, -ctx.a * grad * x * decay, None

    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="passed"
# the output is used again, and only what is needed is computed
def add_formula(op):
    def setup_context(ctx, inputs, output):
        _, y, ctx.a = inputs
        ctx.save_for_backward(y, output)

    def backward(ctx, grad):
        y, output = ctx.saved_tensors
        grad_x = grad * torch.exp(-ctx.a * y) if ctx.needs_input_grad[0] else None
        grad_y = -ctx.a * output * grad if ctx.needs_input_grad[1] else None
        return grad_x, grad_y, None

    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="passed"
# by the operator itself
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, y)

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return op(grad, y, ctx.a), -ctx.a * op(grad * x, y, ctx.a), None

    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# tensors are attributes
def add_formula(op):
    def setup_context(ctx, inputs, output):
        ctx.x, ctx.y, ctx.a = inputs

    def backward(ctx, grad):
        decay = torch.exp(-ctx.a * ctx.y)
        return grad * decay, -ctx.a * grad * ctx.x * decay, None

    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# NumPy in the formula, as in the operator
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, y)

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        decay = torch.from_numpy(np.asarray(np.exp(-ctx.a * y.detach().numpy())))
        return grad * decay, -ctx.a * grad * x * decay, None

    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# the inner derivative -a is forgotten
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, y)

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        decay = torch.exp(-ctx.a * y)
        return grad * decay, -grad * x * decay, None

    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# the incoming gradient is taken for 1
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, y)

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        decay = torch.exp(-ctx.a * y)
        return decay, -ctx.a * x * decay, None

    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# no None for the number
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
# the saved tensors are detached
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, y)

    def backward(ctx, grad):
        x, y = (each.detach() for each in ctx.saved_tensors)
        decay = torch.exp(-ctx.a * y)
        return grad * decay, -ctx.a * grad * x * decay, None

    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# the exponential is computed once, ahead
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, torch.exp(-ctx.a * y))

    def backward(ctx, grad):
        x, decay = ctx.saved_tensors
        return grad * decay, -ctx.a * grad * x * decay, None

    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="fix_fake" verdict="passed"
# new_empty
def fix_fake(x, y):
    return x.new_empty((*x.shape[:-1], y.shape[-2]))
# %% exercise="fix_fake" verdict="passed"
# everything is said
def fix_fake(x, y):
    *batch, n, _ = x.shape
    m = y.shape[-2]
    return torch.empty(*batch, n, m, dtype=x.dtype, device=x.device)
# %% exercise="fix_fake" verdict="passed"
# torch has the same function
def fix_fake(x, y):
    return torch.cdist(x, y).contiguous()
# %% exercise="fix_fake" verdict="refused"
# only the second size is mended
def fix_fake(x, y):
    return torch.empty(len(x), len(y))
# %% exercise="fix_fake" verdict="refused"
# no leading dimensions
def fix_fake(x, y):
    return x.new_empty(x.shape[0], y.shape[0])
# %% exercise="fix_fake" verdict="refused"
# the wrong dimension of `y`
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-1], y.shape[-1])
# %% exercise="fix_fake" verdict="refused"
# the default dtype
def fix_fake(x, y):
    return torch.empty(*x.shape[:-1], y.shape[-2])
# %% exercise="fix_fake" verdict="refused"
# the device is forgotten
def fix_fake(x, y):
    return torch.empty(*x.shape[:-1], y.shape[-2], dtype=x.dtype)
# %% exercise="fix_fake" verdict="refused"
# strides as the arithmetic makes them
def fix_fake(x, y):
    return (x[..., :, None, :] - y[..., None, :, :]).square().sum(-1).sqrt()
# %% exercise="fix_fake" verdict="refused"
# the operator itself, on numbers
def fix_fake(x, y):
    difference = x.numpy()[..., :, None, :] - y.numpy()[..., None, :, :]
    return torch.empty_like(torch.from_numpy(np.ascontiguousarray(np.sqrt((difference**2).sum(-1)))))
# %% exercise="predict_operators" verdict="passed"
# a careful reader
predict_operators = OPERATORS
# %% exercise="predict_operators" verdict="refused"
# the body runs once, as the formula does
predict_operators = {**OPERATORS, "runs of the body in three compiled passes": 1}
# %% exercise="predict_operators" verdict="refused"
# without a formula there is no graph, and nothing to complain about
predict_operators = {**OPERATORS, "no formula: requires grad": False, "no formula: opcheck": "accepted"}
# %% exercise="predict_operators" verdict="refused"
# a formula in NumPy works nowhere
predict_operators = {**OPERATORS, "formula in NumPy: gradcheck": "refused"}
# %% exercise="predict_operators" verdict="refused"
# forward mode follows from the formula
predict_operators = {**OPERATORS, "forward mode of square at 1": 2.0}
# %% exercise="predict_operators" verdict="refused"
# declared, so autograd knows
predict_operators = {**OPERATORS, "gradient of a through double_": 6.0}
# %% exercise="predict_operators" verdict="refused"
# opcheck looks at results only
predict_operators = {**OPERATORS, "formula in NumPy: opcheck": "accepted", "no formula: opcheck": "accepted"}
# %% exercise="predict_operators" verdict="refused"
# everything works as in a Function
predict_operators = {
    "runs of the body in three compiled passes": 1,
    "no formula: requires grad": False,
    "no formula: opcheck": "accepted",
    "formula in NumPy: opcheck": "accepted",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 2.0,
    "gradient of a through double_": 6.0,
}
# %% exercise="is_right_operator" verdict="passed"
# both checks on four layouts
def is_right_operator(op, x):
    generator = torch.Generator().manual_seed(0)

    def matrix(*shape):
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    try:
        for sample in (x.clone(), matrix(2, 3), matrix(4, 2).t(), matrix(3, 3).t()):
            sample.requires_grad_()
            opcheck(op, (sample,))
            gradcheck(op, (sample,))
    except Exception:
        return False
    return True
# %% exercise="is_right_operator" verdict="passed"
# the words of opcheck are read, and errors go through
def is_right_operator(op, x):
    torch.manual_seed(1)
    for shape in ((2, 2), (3, 2), (1, 4)):
        base = torch.randn(shape, dtype=torch.float64)
        for sample in (base, torch.randn(shape[::-1], dtype=torch.float64).T):
            said = opcheck(op, (sample.detach().requires_grad_(),), raise_exception=False)
            if any(word != "SUCCESS" for word in said.values()):
                return False
            if not gradcheck(op, (sample.detach().requires_grad_(),), raise_exception=False):
                return False
    return True
# %% exercise="is_right_operator" verdict="refused"
# opcheck on the example that is there
def is_right_operator(op, x):
    opcheck(op, (x,))
    return True
# %% exercise="is_right_operator" verdict="refused"
# both checks on the square example only
def is_right_operator(op, x):
    x = x.clone().requires_grad_()
    opcheck(op, (x,))
    return gradcheck(op, (x,))
# %% exercise="is_right_operator" verdict="refused"
# opcheck alone, on all layouts
def is_right_operator(op, x):
    for sample in (x.clone(), torch.randn(2, 3, dtype=torch.float64), torch.randn(4, 2, dtype=torch.float64).t()):
        opcheck(op, (sample.requires_grad_(),))
    return True
# %% exercise="is_right_operator" verdict="refused"
# gradcheck alone, on all layouts
def is_right_operator(op, x):
    for sample in (x.clone(), torch.randn(2, 3, dtype=torch.float64), torch.randn(4, 2, dtype=torch.float64).t()):
        gradcheck(op, (sample.requires_grad_(),))
    return True
# %% exercise="is_right_operator" verdict="refused"
# no transposed matrix
def is_right_operator(op, x):
    for sample in (x.clone(), torch.randn(2, 3, dtype=torch.float64), torch.randn(4, 1, dtype=torch.float64)):
        sample.requires_grad_()
        opcheck(op, (sample,))
        gradcheck(op, (sample,))
    return True
# %% exercise="is_right_operator" verdict="refused"
# opcheck without a gradient
def is_right_operator(op, x):
    for sample in (x.clone(), torch.randn(2, 3, dtype=torch.float64), torch.randn(4, 2, dtype=torch.float64).t()):
        opcheck(op, (sample,))
        gradcheck(op, (sample.requires_grad_(),))
    return True
