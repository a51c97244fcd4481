# %%
import warnings
from collections import Counter
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
ENGINE = "autograd::engine::evaluate_function: "
def flops_of(event):
    return event.flops + sum(flops_of(child) for child in event.cpu_children)
# %% exercise="one_graph" verdict="passed"
# a safe norm first
def one_graph(x, limit):
    norm = torch.linalg.norm(x)
    long = norm > limit
    safe = torch.where(long, norm, torch.ones_like(norm))
    return torch.where(long, x * (limit / safe), x)
# %% exercise="one_graph" verdict="refused" mistake="where_at_the_end"
def one_graph(x, limit):
    return x * torch.clamp(limit / x.norm(), max=1.0)
# %% exercise="one_graph" verdict="refused"
# a small number added: the value is another
def one_graph(x, limit):
    return x * torch.clamp(limit / (x.norm() + 1e-2), max=1.0)
# %% exercise="one_graph" verdict="refused" mistake="still_branches"
def one_graph(x, limit):
    if x.norm().item() > limit:
        return x * limit / x.norm()
    return x
# %% exercise="one_graph" verdict="refused"
# recording is off
@torch.no_grad()
def one_graph(x, limit):
    return x * (limit / x.norm().clamp(min=limit))
# %% exercise="one_graph" verdict="refused"
# a prototype that the lesson excludes
def one_graph(x, limit):
    norm = x.norm()
    return torch.cond(norm > limit, lambda x, norm: x * (limit / norm), lambda x, norm: x.clone(), (x, norm))
# %% exercise="one_graph" verdict="passed"
# square sum clamped before the root
def one_graph(x, limit):
    square = x.square().sum().clamp(min=limit * limit)
    return x * (limit * square.rsqrt())
# %% exercise="one_graph" verdict="refused" mistake="reads_if_it_can"
# try: falls back when no number is there
def one_graph(x, limit):
    try:
        if x.norm() > limit:
            return x * (limit / x.norm())
        return x * 1
    except Exception:
        return x * (limit / x.norm().clamp(min=limit))
# %% exercise="one_graph" verdict="refused" mistake="reads_if_it_can"
# is_compiling
def one_graph(x, limit):
    if isinstance(x, torch._subclasses.FakeTensor) or torch.compiler.is_compiling():
        return x * 1
    norm = x.norm()
    if norm > limit:
        x = x * (limit / norm)
    return x
# %% exercise="one_graph" verdict="refused" mistake="norm_of_columns"
# norm of each column
def one_graph(x, limit):
    if x.dim() == 0:
        return x * (limit / x.abs().clamp(min=limit))
    return x * (limit / x.norm(dim=0, keepdim=x.dim() > 1).clamp(min=limit))
# %% exercise="one_graph" verdict="refused" mistake="divides_by_one_at_zero"
# SUBTLE safe only at 0: the factor is limit, not 1, for zeros
def one_graph(x, limit):
    norm = x.norm()
    safe = torch.where(norm == 0, torch.ones_like(norm), norm)
    return x * (limit / safe).clamp(max=1.0)
# %% exercise="one_graph" verdict="refused" mistake="adds_under_the_root"
# a square root with an epsilon
def one_graph(x, limit):
    norm = (x.square().sum() + 1e-12).sqrt()
    return x * (limit / norm.clamp(min=limit))
# %% exercise="one_graph" verdict="passed"
# float32 limit tensor
def one_graph(x, limit):
    norm = x.float().norm()
    return (x.float() * (limit / norm.clamp(min=limit))).to(x.dtype)
# %% exercise="one_graph" verdict="passed"
# norm gradient by minimum of ratios
def one_graph(x, limit):
    norm = torch.linalg.norm(x.flatten())
    return x * torch.minimum(torch.ones_like(norm), limit / norm.clamp(min=limit / 2))
# %% exercise="one_graph" verdict="refused" mistake="squares_the_factor"
# squares
def one_graph(x, limit):
    square = x.square().sum()
    return x * (limit**2 / square.clamp(min=limit**2))
# %% exercise="one_graph" verdict="refused" mistake="changes_x_unrecorded"
# in place on x
def one_graph(x, limit):
    with torch.no_grad():
        x *= limit / x.norm().clamp(min=limit)
    return x
# %% exercise="one_graph" verdict="passed"
# eps 1e-10 max
def one_graph(x, limit):
    n = x.norm().clamp(min=1e-10)
    return torch.where(n > limit, x * (limit / n), x)
# %% exercise="one_graph" verdict="refused"
def one_graph(x, limit):
    norm = torch.linalg.matrix_norm(torch.atleast_2d(x))
    return x * (limit / norm.clamp(min=limit))
# %% exercise="one_graph" verdict="refused" mistake="multiplies_by_the_condition"
def one_graph(x, limit):
    norm = x.norm()
    return x / norm * norm.clamp(max=limit)
# %% exercise="one_graph" verdict="refused" mistake="asks_norm_for_order_two"
def one_graph(x, limit):
    norm = torch.linalg.norm(x, 2)
    return x * (limit / norm.clamp(min=limit))
# %%
import numpy as np
from torch.autograd import gradcheck
from torch.library import opcheck
# %% exercise="predict_graphs" verdict="refused" mistake="one_break_for_all"
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
# %% exercise="predict_graphs" verdict="refused" mistake="one_for_all_lengths"
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
# %% exercise="predict_compiled" verdict="refused" mistake="retain_graph_fails_at_first"
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
# %% exercise="add_formula" verdict="refused" mistake="half_in_numpy"
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
# %% exercise="add_formula" verdict="refused" mistake="other_names"
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
# torch.empty with dtype and device
def fix_fake(x, y):
    shape = x.shape[:-2] + (x.shape[-2], y.shape[-2])
    return torch.empty(shape, dtype=x.dtype, device=x.device)
# %% exercise="fix_fake" verdict="passed"
# the computation itself, on fake tensors
def fix_fake(x, y):
    difference = x[..., :, None, :] - y[..., None, :, :]
    return difference.square().sum(-1).sqrt().contiguous()
# %% exercise="fix_fake" verdict="refused" mistake="computes_in_numpy"
# the operator itself is called: fake tensors have no numbers
def fix_fake(x, y):
    difference = x.numpy()[..., :, None, :] - y.numpy()[..., None, :, :]
    return torch.empty(difference.shape[:-1], dtype=x.dtype, device=x.device)
# %% exercise="fix_fake" verdict="refused"
# the strides of the operands are kept
def fix_fake(x, y):
    return torch.empty_like(x[..., :, None, :] - y[..., None, :, :])[..., 0]
# %% exercise="predict_operators" verdict="refused" mistake="numpy_is_traced"
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
# %% exercise="predict_operators" verdict="refused" mistake="formula_serves_forward_mode"
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
# %% exercise="is_right_operator" verdict="refused" mistake="never_traces_the_formula"
# opcheck on examples that do not require grad: the formula is not traced
def is_right_operator(op, x):
    for example in (x, torch.randn(2, 3, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64).t()):
        try:
            opcheck(op, (example,))
            gradcheck(op, (example.detach().requires_grad_(),))
        except Exception:
            return False
    return True
# %% exercise="one_graph" verdict="passed"
# double where
def one_graph(x, limit):
    norm = x.norm()
    long = norm > limit
    return x * torch.where(long, limit / torch.where(long, norm, 1.0), 1.0)
# %% exercise="one_graph" verdict="refused" mistake="where_at_the_end"
# nan_to_num after the division
def one_graph(x, limit):
    scale = torch.nan_to_num(limit / x.norm(), posinf=1.0).clamp(max=1)
    return x * scale
# %% exercise="one_graph" verdict="refused" mistake="adds_to_the_long_norm"
# float() and a tensor condition
def one_graph(x, limit):
    scale = torch.where(x.norm() > limit, limit / (x.norm() + 1e-12), 1.0)
    return x * scale
# %% exercise="one_graph" verdict="refused" mistake="scales_always"
# torch.nn.functional.normalize everywhere
def one_graph(x, limit):
    return limit * torch.nn.functional.normalize(x.reshape(-1), dim=0).reshape(x.shape)
# %% exercise="add_formula" verdict="passed"
# the operator itself in the formula
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, y)
    def formula(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * op(torch.ones_like(x), y, ctx.a), -ctx.a * grad * op(x, y, ctx.a), None
    op.register_autograd(formula, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused" mistake="number_for_a"
# zero in place of None
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, y)
    def formula(ctx, grad):
        x, y = ctx.saved_tensors
        decay = (-ctx.a * y).exp()
        return grad * decay, -ctx.a * x * decay * grad, 0.0
    op.register_autograd(formula, setup_context=setup_context)
# %% exercise="fix_fake" verdict="passed"
# broadcast of the dimensions in front
def fix_fake(x, y):
    front = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return x.new_empty(front + (x.shape[-2], y.shape[-2]))
# %% exercise="fix_fake" verdict="passed"
# a loop over the rows
def fix_fake(x, y):
    return torch.stack([(x - y[..., j : j + 1, :]).norm(dim=-1) for j in range(y.shape[-2])], dim=-1).contiguous()
# %% exercise="fix_fake" verdict="passed"
# the computation, strides of torch kept
def fix_fake(x, y):
    return (x[..., :, None, :] - y[..., None, :, :]).norm(dim=-1)
# %% exercise="fix_fake" verdict="refused"
# the distances of equal rows alone
def fix_fake(x, y):
    return x.new_empty(x.shape[:-1])
# %%
# the second trial
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
# %% exercise="predict_graphs" verdict="refused" mistake="all_anew"
# two graphs for every `if`, for every call
predict_graphs = {**GRAPHS, "two ifs on numbers": 4, "one if, x and -x": 4}
# %% exercise="one_graph" verdict="passed"
# the divisor is chosen, not the result
def one_graph(x, limit):
    norm = x.norm()
    divisor = torch.where(norm > limit, norm, torch.full_like(norm, limit))
    return x * (limit / divisor)
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
# %% exercise="add_formula" verdict="refused" mistake="without_a"
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
# %% exercise="fix_fake" verdict="passed"
# computed: the arithmetic gives contiguous results, whatever the strides are
def fix_fake(x, y):
    return (x[..., :, None, :] - y[..., None, :, :]).square().sum(-1).sqrt()
# %% exercise="predict_operators" verdict="refused" mistake="opcheck_needs_no_formula"
# opcheck looks at results only
predict_operators = {**OPERATORS, "formula in NumPy: opcheck": "accepted", "no formula: opcheck": "accepted"}
# %% exercise="predict_operators" verdict="refused" mistake="body_is_traced"
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
# %% exercise="add_formula" verdict="refused" mistake="other_names"
# the operator's own parameters
def add_formula(op):
    def setup_context(ctx, x, y, a):
        ctx.a = a
        ctx.save_for_backward(x, y)
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        decay = torch.exp(-ctx.a * y)
        return grad * decay, -ctx.a * grad * x * decay, None
    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused" mistake="divides_by_x"
# the output divided by x
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, y, output)
    def backward(ctx, grad):
        x, y, output = ctx.saved_tensors
        return grad * output / x, -ctx.a * grad * output, None
    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="is_right_operator" verdict="refused" mistake="gradcheck_of_a_square"
# gradcheck of x and of its transpose
def is_right_operator(op, x):
    opcheck(op, (torch.rand(4, 3, dtype=x.dtype).t().requires_grad_(),))
    return gradcheck(op, (x.clone().requires_grad_(),)) and gradcheck(op, (x.t().requires_grad_(),))
# %% exercise="fix_fake" verdict="refused" mistake=""
# the strides of the result follow those of the inputs
def fix_fake(x, y):
    return torch.empty_like(x[..., :1] + y[..., :1].mT)
# %% exercise="add_formula" verdict="refused" mistake="saves_a_result"
# the factor under no_grad, inside the formula
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, y)
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        with torch.no_grad():
            e = torch.exp(-ctx.a * y)
        return grad * e, -ctx.a * grad * x * e, None
    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="is_right_operator" verdict="refused" mistake="no_transposed_example"
# opcheck of contiguous examples, gradcheck of a transposed one
def is_right_operator(op, x):
    wide = torch.randn(2, 3, dtype=x.dtype, requires_grad=True)
    opcheck(op, (wide,))
    return gradcheck(op, (wide.detach().t().requires_grad_(),))
# %% exercise="is_right_operator" verdict="refused" mistake="opcheck_of_squares"
# gradcheck of a transposed example, opcheck of squares
def is_right_operator(op, x):
    opcheck(op, (x.clone().requires_grad_(),))
    return gradcheck(op, (torch.rand(2, 3, dtype=x.dtype).t().requires_grad_(),))
# %% exercise="is_right_operator" verdict="refused" mistake="gradcheck_of_a_square"
# opcheck of a wide example, gradcheck of a square
def is_right_operator(op, x):
    opcheck(op, (torch.rand(2, 3, dtype=x.dtype).requires_grad_(),))
    return gradcheck(op, (x.clone().requires_grad_(),))
# %% exercise="fix_fake" verdict="refused"
# one batch dim
def fix_fake(x, y):
    if x.dim() == 3:
        return x.new_empty(x.shape[0], x.shape[1], y.shape[1])
    return x.new_empty(len(x), len(y))
# %% exercise="add_formula" verdict="refused" mistake="keeps_the_number_outside"
# the number in a variable outside of `ctx`; tensors saved properly
def add_formula(op):
    last = {}
    def setup_context(ctx, inputs, output):
        x, y, last["a"] = inputs
        ctx.save_for_backward(x, y)
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        damping = torch.exp(-last["a"] * y)
        return grad * damping, -last["a"] * x * damping * grad, None
    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused" mistake="keeps_the_inputs_outside"
# everything in a list outside of `ctx`, from which the backward pass takes the last entry
def add_formula(op):
    stack = []
    def setup_context(ctx, inputs, output):
        stack.append(inputs)
    def backward(ctx, grad):
        x, y, a = stack[-1]
        damping = (-a * y).exp()
        return grad * damping, -a * x * damping * grad, None
    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused" mistake="y_without_grad"
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.save_for_backward(x, y)
        ctx.a = a
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        damping = torch.exp(-ctx.a * y)
        return grad * damping, -ctx.a * x * damping, None
    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="add_formula" verdict="refused" mistake="x_without_grad"
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, y)
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        damping = torch.exp(-ctx.a * y)
        return damping, -grad * ctx.a * x * damping, None
    op.register_autograd(backward, setup_context=setup_context)
# %% exercise="one_graph" verdict="refused" mistake="divides_by_a_number"
def one_graph(x, limit):
    norm = x.norm()
    return x * min(1.0, limit / norm.item())
# %% exercise="one_graph" verdict="refused" mistake="divides_by_a_number"
def one_graph(x, limit):
    norm = float(torch.linalg.vector_norm(x))
    scale = limit / norm
    return x * scale if scale < 1 else x * 1.0
# %% exercise="is_right_operator" verdict="refused" mistake="opcheck_of_the_example"
# Uses raise_exception=False and throws the answers away: the test accepts everything (lazy).
def is_right_operator(op, x):
    for shape in [(2, 2), (2, 3)]:
        m = torch.rand(shape, dtype=torch.float64) + 0.5
        for example in (m, m.t()):
            example = example.detach().requires_grad_()
            opcheck(op, (example,), raise_exception=False)
            gradcheck(op, (example,), raise_exception=False)
    return True
