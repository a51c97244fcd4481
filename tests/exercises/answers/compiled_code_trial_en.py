# %%
import os
import warnings
from collections import Counter, defaultdict

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck
from torch.library import custom_op, opcheck

os.environ.setdefault("KINETO_LOG_LEVEL", "99")
from torch.profiler import ProfilerActivity, profile

ENGINE = "autograd::engine::evaluate_function: "
PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")


def flops_of(event):
    own = event.flops if event.name in PRODUCTS else 0
    return own + sum(flops_of(child) for child in event.cpu_children)


@custom_op("trial_en::distances", mutates_args=())
def distances(x: Tensor, y: Tensor) -> Tensor:
    difference = x.numpy()[..., :, None, :] - y.numpy()[..., None, :, :]
    return torch.from_numpy(np.ascontiguousarray(np.sqrt((difference**2).sum(-1))))
# %% exercise="predict_graphs" verdict="passed"
# careful
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
# every if breaks the graph, also one on a length or a flag
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
# a loop is a graph per turn
predict_graphs = {
    "if on the length": 1,
    "if on requires_grad": 1,
    "a loop of three": 3,
    "two ifs on numbers": 3,
    "one if, x and -x": 3,
    "lengths 3, 3, 4": 2,
    "lengths 3, 4, 5": 2,
}
# %% exercise="predict_graphs" verdict="refused"
# one graph for each length
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
# the second branch is compiled anew as a whole: two graphs more
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
# counts the breaks instead of the graphs
predict_graphs = {
    "if on the length": 1,
    "if on requires_grad": 1,
    "a loop of three": 1,
    "two ifs on numbers": 2,
    "one if, x and -x": 2,
    "lengths 3, 3, 4": 2,
    "lengths 3, 4, 5": 2,
}
# %% exercise="predict_graphs" verdict="refused"
# the length is a variable from the start, so no second graph
predict_graphs = {
    "if on the length": 1,
    "if on requires_grad": 1,
    "a loop of three": 1,
    "two ifs on numbers": 3,
    "one if, x and -x": 3,
    "lengths 3, 3, 4": 1,
    "lengths 3, 4, 5": 1,
}
# %% exercise="one_graph" verdict="passed"
# where on the norm, before the division
def one_graph(x, limit):
    norm = torch.linalg.vector_norm(x)
    safe = torch.where(norm > limit, norm, torch.full_like(norm, limit))
    return x * (limit / safe)
# %% exercise="one_graph" verdict="passed"
# clamp of the norm
def one_graph(x, limit):
    return x * (limit / x.norm().clamp(min=limit))
# %% exercise="one_graph" verdict="passed"
# the squared norm is chosen, then the root
def one_graph(x, limit):
    squared = (x * x).sum()
    safe = torch.where(squared > limit**2, squared, limit**2)
    return x * (limit / safe.sqrt())
# %% exercise="one_graph" verdict="refused"
# both branches of where: NaN gradient at zeros
def one_graph(x, limit):
    norm = x.norm()
    return torch.where(norm > limit, x * (limit / norm), x)
# %% exercise="one_graph" verdict="refused"
# the factor is clamped: 0 * inf in the gradient at zeros
def one_graph(x, limit):
    scale = (limit / x.norm()).clamp(max=1.0)
    return x * scale
# %% exercise="one_graph" verdict="refused"
# as clip_grad_norm_ does it: an epsilon in the denominator
def one_graph(x, limit):
    norm = x.norm()
    return x * torch.clamp(limit / (norm + 1e-6), max=1.0)
# %% exercise="one_graph" verdict="refused"
# the factor is a constant: no gradient through the norm
def one_graph(x, limit):
    with torch.no_grad():
        scale = limit / x.norm().clamp(min=limit)
    return x * scale
# %% exercise="one_graph" verdict="refused"
# the entries are limited, not the norm
def one_graph(x, limit):
    return x.clamp(-limit, limit)
# %% exercise="one_graph" verdict="refused"
# .item() looks at the number
def one_graph(x, limit):
    norm = x.norm().item()
    return x * (limit / max(norm, limit))
# %% exercise="one_graph" verdict="refused"
# the root of a sum of squares: infinite slope at zeros
def one_graph(x, limit):
    norm = x.pow(2).sum().sqrt()
    return x * (limit / torch.clamp(norm, min=limit))
# %% exercise="one_graph" verdict="refused"
# the norm of each row
def one_graph(x, limit):
    norm = x.norm(dim=-1, keepdim=True)
    return x * (limit / norm.clamp(min=limit))
# %% exercise="predict_compiled" verdict="passed"
# careful, and knows of donated buffers
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
# what a careful reader can know from the text before: retain_graph works always
predict_compiled = {
    "saved by wave": 2,
    "saved by compiled wave": 1,
    "growth: retain_graph": "accepted",
    "growth: plain, then retain_graph": "accepted",
    "wave: plain, then retain_graph": "accepted",
    "wave: second derivative, aot_eager": "RuntimeError",
    "wave: second derivative, eager": "accepted",
}
# %% exercise="predict_compiled" verdict="refused"
# compilation changes nothing for the user: all is accepted
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
# the compiled backward never keeps its graph
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
# compiled saves the same two tensors
predict_compiled = {
    "saved by wave": 2,
    "saved by compiled wave": 2,
    "growth: retain_graph": "accepted",
    "growth: plain, then retain_graph": "RuntimeError",
    "wave: plain, then retain_graph": "accepted",
    "wave: second derivative, aot_eager": "RuntimeError",
    "wave: second derivative, eager": "accepted",
}
# %% exercise="predict_compiled" verdict="refused"
# whatever is compiled has no second derivative, the backend eager too
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
# wave and growth are alike: donated buffers in both
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
# a node of each operation saves something: three with sum
predict_compiled = {
    "saved by wave": 3,
    "saved by compiled wave": 1,
    "growth: retain_graph": "accepted",
    "growth: plain, then retain_graph": "RuntimeError",
    "wave: plain, then retain_graph": "accepted",
    "wave: second derivative, aot_eager": "RuntimeError",
    "wave: second derivative, eager": "accepted",
}
# %% exercise="costly_node" verdict="passed"
# a counter over the rows of the engine
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    costs = Counter()
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            costs[event.name.removeprefix(ENGINE)] += flops_of(event)
    return costs.most_common(1)[0][0]
# %% exercise="costly_node" verdict="passed"
# a recursion of its own, mul and add counted as well
def costly_node(loss):
    def total(event):
        return (event.flops or 0) + sum(map(total, event.cpu_children))

    with torch.profiler.profile(with_flops=True) as p:
        loss.backward()
    costs = defaultdict(int)
    for e in p.events():
        if e.name.startswith("autograd::engine::evaluate_function: "):
            costs[e.name.split(": ")[1]] += total(e)
    return max(costs, key=costs.get)
# %% exercise="costly_node" verdict="passed"
# no profile: a counter of FLOPs and hooks at the nodes
def costly_node(loss):
    from torch.utils.flop_counter import FlopCounterMode

    counter, costs, begun = FlopCounterMode(display=False), Counter(), {}
    seen, stack = set(), [loss.grad_fn]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        stack += [parent for parent, _ in node.next_functions]

        def before(grads, node=node):
            begun[node] = counter.get_total_flops()

        def after(gradients, grads, node=node):
            costs[node.name()] += counter.get_total_flops() - begun[node]

        node.register_prehook(before)
        node.register_hook(after)
    with counter:
        loss.backward()
    return costs.most_common(1)[0][0]
# %% exercise="costly_node" verdict="refused"
# the single most expensive node, not all of a name together
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    rows = [event for event in profiled.events() if event.name.startswith(ENGINE)]
    return max(rows, key=flops_of).name.removeprefix(ENGINE)
# %% exercise="costly_node" verdict="refused"
# time instead of FLOPs
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        loss.backward()
    rows = [row for row in profiled.key_averages() if row.key.startswith(ENGINE)]
    return max(rows, key=lambda row: row.cpu_time_total).key.removeprefix(ENGINE)
# %% exercise="costly_node" verdict="refused"
# the name with the engine's prefix
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    costs = Counter()
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            costs[event.name] += flops_of(event)
    return costs.most_common(1)[0][0]
# %% exercise="costly_node" verdict="refused"
# the rows of key_averages have no FLOPs of their own
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    rows = [row for row in profiled.key_averages() if row.key.startswith(ENGINE)]
    return max(rows, key=lambda row: row.flops).key.removeprefix(ENGINE)
# %% exercise="costly_node" verdict="refused"
# a warm-up pass before it: gradients twice
def costly_node(loss):
    loss.backward(retain_graph=True)
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    costs = Counter()
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            costs[event.name.removeprefix(ENGINE)] += flops_of(event)
    return costs.most_common(1)[0][0]
# %% exercise="costly_node" verdict="refused"
# the operation, not the node
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    return max(profiled.key_averages(), key=lambda row: row.flops).key
# %% exercise="fix_anomaly" verdict="passed"
# the mode as a context around both passes
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss = f(x)
        try:
            loss.backward()
        except RuntimeError:
            return str(caught[-1].message)
    return None
# %% exercise="fix_anomaly" verdict="passed"
# by hand, with finally
def fix_anomaly(f, x):
    before = torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True)
    try:
        loss = f(x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
            except RuntimeError:
                return next(str(w.message) for w in caught if "Error detected in" in str(w.message))
        return None
    finally:
        torch.autograd.set_detect_anomaly(before)
# %% exercise="fix_anomaly" verdict="passed"
# detect_anomaly, whose own warning is caught apart
def fix_anomaly(f, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anomaly = torch.autograd.detect_anomaly()
    with anomaly:
        loss = f(x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
                return None
            except RuntimeError:
                pass
    return str(caught[0].message)
# %% exercise="fix_anomaly" verdict="refused"
# on before f, never off again
def fix_anomaly(f, x):
    torch.autograd.set_detect_anomaly(True)
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
# set back only if nothing was raised
def fix_anomaly(f, x):
    before = torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True)
    loss = f(x)
    report = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loss.backward()
        except RuntimeError:
            report = str(caught[-1].message)
    torch.autograd.set_detect_anomaly(before)
    return report
# %% exercise="fix_anomaly" verdict="refused"
# the error of f is swallowed
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            f(x).backward()
        except RuntimeError:
            return str(caught[-1].message) if caught else None
    return None
# %% exercise="fix_anomaly" verdict="refused"
# around the backward pass only: no forward line
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
# the error's text: no forward line
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True):
        loss = f(x)
        try:
            loss.backward()
        except RuntimeError as error:
            return str(error)
    return None
# %% exercise="fix_anomaly" verdict="refused"
# whatever was warned is a report
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss = f(x)
        try:
            loss.backward()
        except RuntimeError:
            pass
    return str(caught[0].message) if caught else None
# %% exercise="fix_anomaly" verdict="refused"
# f is called again only if x.grad has a NaN
def fix_anomaly(f, x):
    f(x).backward()
    if not x.grad.isnan().any():
        return None
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss = f(x)
        try:
            loss.backward()
        except RuntimeError:
            return str(caught[-1].message)
# %% exercise="add_formula" verdict="passed"
# inputs saved, the number on ctx
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.save_for_backward(x, y)
        ctx.a = a

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        decay = torch.exp(-ctx.a * y)
        return grad * decay, -ctx.a * grad * x * decay, None

    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="passed"
# the result saved, as in `running`
def add_formula(op):
    def setup_context(ctx, inputs, output):
        _, y, ctx.a = inputs
        ctx.save_for_backward(y, output)

    def formula(ctx, grad):
        y, output = ctx.saved_tensors
        return grad * (-ctx.a * y).exp(), -ctx.a * grad * output, None

    op.register_autograd(formula, setup_context=setup_context)
# %% exercise="add_formula" verdict="passed"
# only what is needed
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.a = a
        ctx.save_for_backward(x, y)

    def formula(ctx, grad):
        x, y = ctx.saved_tensors
        grad_x = grad_y = None
        if ctx.needs_input_grad[0]:
            grad_x = grad * (-ctx.a * y).exp()
        if ctx.needs_input_grad[1]:
            grad_y = -ctx.a * x * (-ctx.a * y).exp() * grad
        return grad_x, grad_y, None

    op.register_autograd(formula, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# the inner derivative -a is forgotten
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.save_for_backward(x, y)
        ctx.a = a

    def formula(ctx, grad):
        x, y = ctx.saved_tensors
        decay = torch.exp(-ctx.a * y)
        return grad * decay, grad * x * decay, None

    op.register_autograd(formula, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# the sign of the second gradient
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.save_for_backward(x, y)
        ctx.a = a

    def formula(ctx, grad):
        x, y = ctx.saved_tensors
        decay = torch.exp(-ctx.a * y)
        return grad * decay, ctx.a * grad * x * decay, None

    op.register_autograd(formula, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# two gradients for three inputs
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.save_for_backward(x, y)
        ctx.a = a

    def formula(ctx, grad):
        x, y = ctx.saved_tensors
        decay = torch.exp(-ctx.a * y)
        return grad * decay, -ctx.a * grad * x * decay

    op.register_autograd(formula, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# tensors on ctx: a change of y in place is not noticed
def add_formula(op):
    def setup_context(ctx, inputs, output):
        ctx.x, ctx.y, ctx.a = inputs

    def formula(ctx, grad):
        decay = torch.exp(-ctx.a * ctx.y)
        return grad * decay, -ctx.a * grad * ctx.x * decay, None

    op.register_autograd(formula, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# the exponential is computed and saved in setup_context: no second derivative by y
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.save_for_backward(x, torch.exp(-a * y))
        ctx.a = a

    def formula(ctx, grad):
        x, decay = ctx.saved_tensors
        return grad * decay, -ctx.a * grad * x * decay, None

    op.register_autograd(formula, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# NumPy in the formula cannot be traced
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.save_for_backward(x, y)
        ctx.a = a

    def formula(ctx, grad):
        x, y = ctx.saved_tensors
        decay = torch.as_tensor(np.exp(-ctx.a * y.detach().numpy()))
        return grad * decay, -ctx.a * grad * x * decay, None

    op.register_autograd(formula, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# the derivative without the arriving gradient
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.save_for_backward(x, y)
        ctx.a = a

    def formula(ctx, grad):
        x, y = ctx.saved_tensors
        decay = torch.exp(-ctx.a * y)
        return decay, -ctx.a * x * decay, None

    op.register_autograd(formula, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused"
# parameters with names of one's own
def add_formula(op):
    def save(context, args, result):
        x, y, a = args
        context.save_for_backward(x, y)
        context.a = a

    def formula(context, grad):
        x, y = context.saved_tensors
        decay = torch.exp(-context.a * y)
        return grad * decay, -context.a * grad * x * decay, None

    op.register_autograd(formula, setup_context=save)
# %% exercise="fix_fake" verdict="passed"
# new_empty with a shape
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-1], y.shape[-2])
# %% exercise="fix_fake" verdict="passed"
# torch.empty with dtype and device
def fix_fake(x, y):
    shape = x.shape[:-2] + (x.shape[-2], y.shape[-2])
    return torch.empty(shape, dtype=x.dtype, device=x.device)
# %% exercise="fix_fake" verdict="passed"
# cdist knows the shape
def fix_fake(x, y):
    return torch.cdist(x, y).contiguous()
# %% exercise="fix_fake" verdict="passed"
# the computation itself, on fake tensors
def fix_fake(x, y):
    difference = x[..., :, None, :] - y[..., None, :, :]
    return difference.square().sum(-1).sqrt().contiguous()
# %% exercise="fix_fake" verdict="refused"
# n by m only: no dimensions in front, float32, CPU
def fix_fake(x, y):
    return torch.empty(len(x), len(y))
# %% exercise="fix_fake" verdict="refused"
# no dimensions in front
def fix_fake(x, y):
    return x.new_empty(len(x), len(y))
# %% exercise="fix_fake" verdict="refused"
# the device is forgotten
def fix_fake(x, y):
    return torch.empty(*x.shape[:-1], y.shape[-2], dtype=x.dtype)
# %% exercise="fix_fake" verdict="refused"
# the dtype is forgotten
def fix_fake(x, y):
    return torch.empty(*x.shape[:-1], y.shape[-2], device=x.device)
# %% exercise="fix_fake" verdict="refused"
# n and m exchanged
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-2], y.shape[-2], x.shape[-2])
# %% exercise="fix_fake" verdict="refused"
# an expanded view: not contiguous
def fix_fake(x, y):
    return x[..., :1].expand(*x.shape[:-1], y.shape[-2])
# %% exercise="fix_fake" verdict="refused"
# the operator itself is called: fake tensors have no numbers
def fix_fake(x, y):
    difference = x.numpy()[..., :, None, :] - y.numpy()[..., None, :, :]
    return torch.empty(difference.shape[:-1], dtype=x.dtype, device=x.device)
# %% exercise="fix_fake" verdict="refused"
# the shape of the differences, not of the distances
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-1], *y.shape[-2:])
# %% exercise="fix_fake" verdict="refused"
# the strides of the operands are kept
def fix_fake(x, y):
    return torch.empty_like(x[..., :, None, :] - y[..., None, :, :])[..., 0]
# %% exercise="predict_operators" verdict="passed"
# careful
predict_operators = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": True,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 0,
    "gradient of a through double_": 3,
}
# %% exercise="predict_operators" verdict="refused"
# the body is traced once, as the formula is
predict_operators = {
    "runs of the body in three compiled passes": 1,
    "no formula: requires grad": True,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 0,
    "gradient of a through double_": 3,
}
# %% exercise="predict_operators" verdict="refused"
# without a formula the result has no graph, and opcheck has nothing to say
predict_operators = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": False,
    "no formula: opcheck": "accepted",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 0,
    "gradient of a through double_": 3,
}
# %% exercise="predict_operators" verdict="refused"
# without a formula the result has no graph
predict_operators = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": False,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 0,
    "gradient of a through double_": 3,
}
# %% exercise="predict_operators" verdict="refused"
# a missing formula is found only by the backward pass, not by opcheck
predict_operators = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": True,
    "no formula: opcheck": "accepted",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 0,
    "gradient of a through double_": 3,
}
# %% exercise="predict_operators" verdict="refused"
# the gradient in NumPy is right, so both tests accept it
predict_operators = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": True,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "accepted",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 0,
    "gradient of a through double_": 3,
}
# %% exercise="predict_operators" verdict="refused"
# gradcheck refuses NumPy, opcheck sees no wrong derivative
predict_operators = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": True,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "accepted",
    "formula in NumPy: gradcheck": "refused",
    "forward mode of square at 1": 0,
    "gradient of a through double_": 3,
}
# %% exercise="predict_operators" verdict="refused"
# the formula serves forward mode, too; autograd knows the declared change
predict_operators = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": True,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 2,
    "gradient of a through double_": 6,
}
# %% exercise="is_right_operator" verdict="passed"
# several shapes, any error is False
def is_right_operator(op, x):
    torch.manual_seed(0)
    shapes = [torch.rand(2, 2), torch.rand(2, 3), torch.rand(4, 2).t(), torch.rand(1, 3)]
    for example in [x, *shapes]:
        example = example.to(torch.float64).detach().requires_grad_()
        try:
            opcheck(op, (example,))
            gradcheck(op, (example,))
        except Exception:
            return False
    return True
# %% exercise="is_right_operator" verdict="passed"
# errors may pass on
def is_right_operator(op, x):
    wide = torch.randn(2, 3, dtype=x.dtype, requires_grad=True)
    tall = torch.randn(2, 5, dtype=x.dtype).t().requires_grad_()
    for example in (x.clone().requires_grad_(), wide, tall):
        opcheck(op, (example,))
        assert gradcheck(op, (example,))
    return True
# %% exercise="is_right_operator" verdict="passed"
# the results of the tests are read
def is_right_operator(op, x):
    examples = [x, torch.cat([x, x + 1, x - 2]), torch.cat([x, -x, x * 3]).t(), x.t()]
    for example in examples:
        example = example.detach().requires_grad_(True)
        said = opcheck(op, (example,), raise_exception=False)
        if any(value != "SUCCESS" for value in said.values()):
            return False
        if not gradcheck(op, (example,), raise_exception=False):
            return False
    return True
# %% exercise="is_right_operator" verdict="refused"
# opcheck alone, on the example
def is_right_operator(op, x):
    try:
        opcheck(op, (x,))
    except Exception:
        return False
    return True
# %% exercise="is_right_operator" verdict="refused"
# gradcheck alone
def is_right_operator(op, x):
    for example in (x, torch.rand(2, 3, dtype=torch.float64), torch.rand(3, 2, dtype=torch.float64).t()):
        if not gradcheck(op, (example.clone().requires_grad_(),), raise_exception=False):
            return False
    return True
# %% exercise="is_right_operator" verdict="refused"
# both, but on the square example only
def is_right_operator(op, x):
    x = x.clone().requires_grad_()
    try:
        opcheck(op, (x,))
        gradcheck(op, (x,))
    except Exception:
        return False
    return True
# %% exercise="is_right_operator" verdict="refused"
# not square, but contiguous always
def is_right_operator(op, x):
    for shape in ((2, 2), (2, 3), (4, 1)):
        example = torch.randn(*shape, dtype=torch.float64, requires_grad=True)
        try:
            opcheck(op, (example,))
            gradcheck(op, (example,))
        except Exception:
            return False
    return True
# %% exercise="is_right_operator" verdict="refused"
# opcheck on examples that do not require grad: the formula is not traced
def is_right_operator(op, x):
    for example in (x, torch.randn(2, 3, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64).t()):
        try:
            opcheck(op, (example,))
            gradcheck(op, (example.detach().requires_grad_(),))
        except Exception:
            return False
    return True
# %% exercise="is_right_operator" verdict="refused"
# the verdicts of opcheck are dropped
def is_right_operator(op, x):
    examples = [torch.randn(2, 3, dtype=torch.float64), torch.randn(4, 2, dtype=torch.float64).t()]
    for example in examples:
        example.requires_grad_()
        opcheck(op, (example,), raise_exception=False)
        if not gradcheck(op, (example,), raise_exception=False):
            return False
    return True
# %% exercise="is_right_operator" verdict="refused"
# the result must have the shape of x: refuses right ones
def is_right_operator(op, x):
    for example in (x, torch.randn(2, 3, dtype=torch.float64)):
        example = example.clone().requires_grad_()
        if op(example).shape != example.shape:
            return False
        try:
            opcheck(op, (example,))
            gradcheck(op, (example,))
        except Exception:
            return False
    return True
