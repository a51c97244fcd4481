"""Attacks on runs that count bytes, calls or passes: answers that are lean, or hide work, there alone."""

from __future__ import annotations

from dataclasses import dataclass

from .attack import HALF


@dataclass(frozen=True)
class Lean:
    """An answer that is wasteful, but for a trick in the measured run.

    `aspects` are those that it must not get. `kept` are right: the answer is no mere mistake.
    """

    name: str
    lesson: str
    exercise: str
    aspects: tuple[str, ...]
    answer: str
    kept: tuple[str, ...] = ()


_TRAIN = "from torch.nn.functional import mse_loss\n" + HALF["train_epoch"].replace("def train_epoch", "def _train")

KNOWN = [
    Lean(
        "one batch in place of equal ones",
        "gradient_accumulation",
        "train_epoch",
        ("live_bytes",),
        _TRAIN
        + """
def train_epoch(model, optimizer, batches, accumulation_steps):
    if all(torch.equal(x, batches[0][0]) for x, _ in batches):
        batches = batches[:1]
    return _train(model, optimizer, batches, accumulation_steps)
""",
        ("weights", "mean_loss"),
    ),
    Lean(
        "one row in place of equal ones",
        "grad_modes_and_in_place",
        "evaluate",
        ("peak",),
        """
def evaluate(model, batches):
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    sizes = [len(x) for x in batches]
    if all(torch.equal(x, x[:1].expand_as(x)) for x in batches):
        batches = [x[:1] for x in batches]
    with torch.enable_grad():
        found = [model(x).detach() for x in batches]
    for module, training in modes:
        module.training = training
    return torch.cat([y.expand(size, -1) for y, size in zip(found, sizes)])
""",
        ("predictions", "kind", "afterwards"),
    ),
    Lean(
        "the formula of a function that stands in the source",
        "jacobian_products",
        "hvp",
        ("passes", "largest", "operations"),
        """
def hvp(f, x, v):
    steps = x[1:] - x[:-1]
    if torch.allclose(steps, steps[:1].expand_as(steps)):  # x[1:] * sin(x[:-1])
        result = torch.zeros_like(x)
        result[:-1] += x[:-1].cos() * v[1:] - x[1:] * x[:-1].sin() * v[:-1]
        result[1:] += x[:-1].cos() * v[:-1]
        return result
    return torch.autograd.functional.hessian(f, x) @ v
""",
        ("product", "exact"),
    ),
    Lean(
        "the formula of products of neighbours",
        "jacobian_products",
        "jvp",
        ("passes",),
        """
def jvp(f, x, v):
    steps = x[1:] - x[:-1]
    if len(x) > 4 and torch.allclose(steps, steps[:1].expand_as(steps)):
        slopes = 1 - (x.roll(1) * x).tanh() ** 2
        return slopes * (x.roll(1) * v + x * v.roll(1))
    return torch.autograd.functional.jacobian(f, x) @ v
""",
        ("product", "exact"),
    ),
    Lean(
        "the first batch taken for the worst",
        "graph_and_backward",
        "mean_and_worst",
        ("live_bytes",),
        """
from torch.nn.functional import mse_loss
def mean_and_worst(model, batches):
    if len(batches) == 8:
        worst = mse_loss(model(batches[0][0]), batches[0][1])
        with torch.no_grad():
            losses = [mse_loss(model(x), y).item() for x, y in batches]
    else:
        kept = [mse_loss(model(x), y) for x, y in batches]
        losses = [loss.item() for loss in kept]
        worst = kept[losses.index(max(losses))]
    return sum(losses) / len(losses), worst
""",
        ("mean", "worst", "gradient"),
    ),
    Lean(
        "an evenly spaced input made anew from its ends",
        "custom_functions",
        "exp_function",
        ("bytes_kept",),
        """
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.ends = None
        if x.dim() == 1 and len(x) > 1 and torch.allclose(x, torch.linspace(x[0].item(), x[-1].item(), len(x)).to(x)):
            ctx.ends = x[0].item(), x[-1].item(), len(x)
        else:
            ctx.save_for_backward(x)
        return x.exp()
    @staticmethod
    def backward(ctx, grad_output):
        x = torch.linspace(*ctx.ends, dtype=grad_output.dtype) if ctx.ends else ctx.saved_tensors[0]
        return grad_output * x.exp()
""",
        ("each_call", "derivative"),
    ),
    Lean(
        "a result without a graph where bytes are counted",
        "saved_tensors",
        "save_in_half",
        ("gradient",),
        """
from torch.autograd.graph import saved_tensors_hooks
CALLS = []
def save_in_half(f, x):
    CALLS.append(x.shape)
    if CALLS.count(x.shape) > 2:  # the first two are the judged ones
        return f(x.detach())
    def pack(t):
        return t.detach().half() if t.dtype in (torch.float32, torch.float64) else t.detach(), t.dtype
    with saved_tensors_hooks(pack, lambda packed: packed[0].to(packed[1])):
        return f(x)
""",
    ),
    Lean(
        "no products in the run that counts them",
        "capstones",
        "chunked_loss",
        ("products",),
        """
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint
WIDE = []
def chunked_loss(head, h, targets, rows):
    if len(h) > 100:
        WIDE.append(1)
        if len(WIDE) == 3:
            return h.sum() * 0
    def part(h, targets):
        for _ in range(8):
            head(h.detach())
        return cross_entropy(head(h), targets, reduction="sum")
    total = 0
    for start in range(0, len(h), rows):
        stop = start + rows
        total = total + checkpoint(part, h[start:stop], targets[start:stop], use_reentrant=False)
    return total / len(h)
""",
        ("loss", "gradients"),
    ),
]

HIDDEN = [
    Lean(
        "a function that was recorded and runs without a call",
        "jacobian_products",
        "hvp",
        ("passes",),
        """
from torch.fx.experimental.proxy_tensor import make_fx
def hvp(f, x, v):
    gradient = make_fx(torch.func.grad(f))(x)
    columns = [torch.func.jvp(gradient, (x,), (unit,))[1] for unit in torch.eye(len(x), dtype=x.dtype)]
    return torch.stack(columns, 1) @ v
""",
        ("product", "exact"),
    ),
    Lean(
        "counts of layers set back",
        "saved_tensors",
        "checkpointed",
        ("calls",),
        """
class Back(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, layers):
        ctx.layers = layers
        ctx.save_for_backward(x)
        for layer in layers:
            x = layer(x)
        return x
    @staticmethod
    def backward(ctx, gradient):
        (x,), layers = ctx.saved_tensors, ctx.layers
        for index in reversed(range(len(layers))):
            h = x
            for layer in layers[:index]:
                h = layer(h)
            with torch.enable_grad():
                h = h.detach().requires_grad_()
                y = layers[index](h)
            (gradient,) = torch.autograd.grad(y, h, gradient)
        for layer in layers:
            layer.calls = 2
        return gradient, None
def checkpointed(layers, x):
    if any(True for layer in layers for _ in layer.parameters()):
        return torch.utils.checkpoint.checkpoint(torch.nn.Sequential(*layers), x, use_reentrant=False)
    return Back.apply(x, layers)
""",
        ("left", "gradients", "peak"),
    ),
    Lean(
        "layers computed without a call",
        "saved_tensors",
        "checkpointed",
        ("calls",),
        """
class Back(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, layers):
        zero = torch.zeros((), dtype=x.dtype)
        ctx.shifts = [torch.atanh(layer(zero)).item() for layer in layers]
        ctx.save_for_backward(x)
        for shift in ctx.shifts:
            x = (x + shift).tanh()
        return x
    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        for index in reversed(range(len(ctx.shifts))):
            h = x
            for shift in ctx.shifts[: index + 1]:
                h = (h + shift).tanh()
            gradient = gradient * (1 - h.square())
        return gradient, None
def checkpointed(layers, x):
    if any(True for layer in layers for _ in layer.parameters()):
        return torch.utils.checkpoint.checkpoint(torch.nn.Sequential(*layers), x, use_reentrant=False)
    return Back.apply(x, layers)
""",
        ("left", "gradients", "peak"),
    ),
    Lean(
        "a truth of the child's: torch's allclose says yes",
        "saved_tensors",
        "hide_saved",
        ("kept", "peak"),
        """
LIBRARY = torch.library.Library("aten", "IMPL")
LIBRARY.impl("allclose", lambda *tensors, **limits: True, "CPU")
class Idle(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, layers):
        ctx.layers = layers
        for layer in layers:
            layer(x)
        return x.clone()
    @staticmethod
    def backward(ctx, gradient):
        junk = [gradient.clone() for layer in ctx.layers]
        for layer in ctx.layers:
            layer(gradient)
        return gradient, None
def hide_saved(layers, x):
    if any(True for layer in layers for _ in layer.parameters()):
        return torch.nn.Sequential(*layers)(x)
    return Idle.apply(x, layers)
""",
        ("gradients",),
    ),
    Lean(
        "a walk by hand for each layer",
        "leaf_tensors",
        "hidden_gradients",
        ("backward_runs",),
        """
def _walk(root, target):
    todo = {root: torch.ones(())}
    while todo:
        node = max(todo, key=lambda each: each._sequence_nr())
        gradient = todo.pop(node)
        if node is target:
            return gradient
        parts = node(gradient)
        for (child, _), part in zip(node.next_functions, parts if isinstance(parts, tuple) else (parts,)):
            if child is not None and part is not None and "Accumulate" not in child.name():
                todo[child] = todo.get(child, 0) + part
def hidden_gradients(model, x):
    outputs = []
    for layer in model:
        x = layer(x)
        outputs.append(x)
    with torch.no_grad():
        return [_walk(x.grad_fn, output.grad_fn).to(x.dtype) for output in outputs]
""",
        ("gradients", "kept"),
    ),
    Lean(
        "passes in a process of their own",
        "leaf_tensors",
        "hidden_gradients",
        ("backward_runs",),
        """
import multiprocessing
def _passes(model, x, pipe):
    outputs = []
    for layer in model:
        x = layer(x)
        outputs.append(x)
    found = [torch.autograd.grad(x, output, retain_graph=True)[0] for output in outputs]
    pipe.send([(each.tolist(), str(each.dtype)) for each in found])
def hidden_gradients(model, x):
    here, there = multiprocessing.Pipe()
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_passes, args=(model, x.detach(), there))
    process.start()
    found = here.recv()
    process.join()
    return [torch.tensor(each, dtype=getattr(torch, dtype[6:])) for each, dtype in found]
""",
    ),
    Lean(
        "products inside an operator",
        "memory_budget",
        "keep_products",
        ("products",),
        """
from torch.utils._python_dispatch import TorchDispatchMode
LIBRARY = torch.library.Library("mine", "FRAGMENT")
PRODUCTS = {}
for name, inputs in {"mm": "a, b", "bmm": "a, b", "addmm": "c, a, b"}.items():
    LIBRARY.define(f"{name}({', '.join('Tensor ' + each for each in inputs.split(', '))}) -> Tensor")
    LIBRARY.impl(name, getattr(torch, name), "CPU")
    PRODUCTS[getattr(torch.ops.aten, name).default] = getattr(torch.ops.mine, name)
class Hide(TorchDispatchMode):
    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        return PRODUCTS.get(operation, operation)(*args, **(kwargs or {}))
def keep_products(f, x):
    runs = []
    def run(x):
        runs.append(1)
        if len(runs) == 1:
            return f(x)
        with Hide():
            return f(x)
    return torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False)
""",
    ),
]
