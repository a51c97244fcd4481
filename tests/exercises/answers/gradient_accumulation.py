# %%
import torch
from torch.nn.functional import cross_entropy, mse_loss
# %% exercise="unscale_then_clip" verdict="refused"
# scaler only for show
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    optimizer.zero_grad()
    scaler.unscale_(optimizer)
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
# %% exercise="fix_zero_inside" verdict="refused"
# learning rate lowered
def fix_zero_inside(model, optimizer, batches, accumulation_steps):
    for group in optimizer.param_groups:
        group["lr"] /= accumulation_steps
    for i, (x, y) in enumerate(batches):
        mse_loss(model(x), y).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
# %% exercise="fix_zero_inside" verdict="refused"
# learning rate lowered and restored
def fix_zero_inside(model, optimizer, batches, accumulation_steps):
    rate = optimizer.param_groups[0]["lr"]
    for i, (x, y) in enumerate(batches):
        mse_loss(model(x), y).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.param_groups[0]["lr"] = rate / accumulation_steps
            optimizer.step()
            optimizer.param_groups[0]["lr"] = rate
            optimizer.zero_grad()
# %% exercise="fix_zero_inside" verdict="refused"
# only model
def fix_zero_inside(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        mse_loss(model(x), y).backward()
        if (i + 1) % accumulation_steps == 0:
            model.weight.grad /= accumulation_steps
            optimizer.step()
            model.weight.grad = None
# %% exercise="fix_zero_inside" verdict="refused" mistake="clears_before_the_last"
# cleared before the last micro-batch
def fix_zero_inside(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        if (i + 1) % accumulation_steps == 0:
            optimizer.zero_grad(set_to_none=True)
        loss = mse_loss(model(x), y) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
# %% exercise="train_epoch" verdict="refused"
# learning rate divided by N
def train_epoch(model, optimizer, batches, accumulation_steps):
    rates = [group["lr"] for group in optimizer.param_groups]
    total, count = 0.0, 0
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        n = sum(y.numel() for _, y in window)
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y, reduction="sum")
            loss.backward()
            total += loss.item()
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate / n
        optimizer.step()
        count += n
    for group, rate in zip(optimizer.param_groups, rates):
        group["lr"] = rate
    return total / count
# %% exercise="train_epoch" verdict="refused"
# only model
def train_epoch(model, optimizer, batches, accumulation_steps):
    total, count = 0.0, 0
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        n = sum(len(x) for x, _ in window)
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * len(x)).backward()
            total += loss.item() * len(x)
        if hasattr(model, "weight"):
            model.weight.grad /= n
        optimizer.step()
        count += n
    return total / count
# %% exercise="train_epoch" verdict="refused"
# rows for entries
def train_epoch(model, optimizer, batches, accumulation_steps):
    total, count = 0.0, 0
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        n = sum(len(x) for x, _ in window)
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y, reduction="sum")
            (loss / n).backward()
            total += loss.item()
        optimizer.step()
        count += n
    return total / count
# %% exercise="accumulate_uneven" verdict="refused"
# big batch and dummy passes
def accumulate_uneven(model, batches):
    x, y = (torch.cat(parts) for parts in zip(*batches))
    (g,) = torch.autograd.grad(mse_loss(model(x), y), model.weight)
    for _ in batches[1:]:
        torch.zeros((), requires_grad=True).backward()
    model.weight.grad = g
# %% exercise="accumulate_equal" verdict="refused"
# big batch and dummy passes
def accumulate_equal(model, batches):
    x, y = (torch.cat(parts) for parts in zip(*batches))
    (g,) = torch.autograd.grad(mse_loss(model(x), y), model.weight)
    for _ in batches[1:]:
        torch.zeros((), requires_grad=True).backward()
    model.weight.grad = g
# %% exercise="clip_once" verdict="refused"
# learning rate instead of clipping
def clip_once(model, optimizer, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()
    norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item()
    if norm > max_norm:
        for group in optimizer.param_groups:
            group["lr"] *= max_norm / norm
    optimizer.step()
# %% exercise="is_right" verdict="refused" mistake="wants_the_same_tensor"
# same
def is_right(accumulate):
    x, y = torch.tensor([4.0, 2.0, 3.0, 1.0]), torch.tensor([8.0, 4.0, 6.0, 2.0])
    w = torch.tensor(1.0, requires_grad=True)
    w.grad = torch.tensor(100.0)
    held = w.grad
    accumulate(w, [(lambda: ((w * x[:3] - y[:3]) ** 2).mean(), 3), (lambda: ((w * x[3:] - y[3:]) ** 2).mean(), 1)])
    return w.grad is held and bool(torch.isclose(w.grad, torch.tensor(-15.0)))
# %% exercise="break_accumulation" verdict="refused" mistake="targets_broadcast"
# y broadcast wrong
def break_accumulation():
    torch.manual_seed(0)
    return torch.nn.Linear(2, 1), [(torch.randn(4, 2), torch.randn(4)) for _ in range(2)]
# %% exercise="break_accumulation" verdict="refused" mistake="layer_norm"
# layernorm
def break_accumulation():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.LayerNorm(3), torch.nn.Linear(3, 1))
    return model, [(torch.randn(4, 2), torch.randn(4, 1)) for i in range(3)]
# %% exercise="break_accumulation" verdict="refused" mistake="the_same_batch_twice"
# same batch twice
def break_accumulation():
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
    b = (torch.randn(4, 2), torch.randn(4, 1))
    return model, [b, b]
# %% exercise="break_accumulation" verdict="refused" mistake="counts_its_calls"
# stateful counter
class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(1, 1)
        self.calls = 0
    def forward(self, x):
        self.calls += 1
        return self.l(x) * self.calls
def break_accumulation():
    return Counter(), [(torch.ones(2, 1), torch.zeros(2, 1)), (torch.ones(2, 1), torch.zeros(2, 1))]
# %% exercise="break_accumulation" verdict="passed"
# softmax over the batch
class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(1, 1)
    def forward(self, x):
        return torch.softmax(self.a(x), dim=0) * x.sum(0)
def break_accumulation():
    torch.manual_seed(1)
    return Attention(), [
        (torch.tensor([[1.0], [2.0]]), torch.tensor([[0.0], [5.0]])),
        (torch.tensor([[3.0], [-1.0]]), torch.tensor([[2.0], [1.0]])),
    ]
# %% exercise="is_right" verdict="refused" mistake="compares_exactly"
# exact equality
def is_right(accumulate):
    w = torch.tensor([0.1, 0.3], requires_grad=True)
    w.grad = torch.ones(2)
    k = torch.tensor([0.7, -0.2])
    accumulate(w, [(lambda: ((w - k) ** 2).mean(), 1), (lambda: (w * k).sin().mean(), 3), (lambda: (w**3).mean(), 3)])
    (t,) = torch.autograd.grad((((w - k) ** 2).mean() + 3 * (w * k).sin().mean() + 3 * (w**3).mean()) / 7, w)
    return bool((w.grad == t).all())
# %% exercise="is_right" verdict="refused" mistake="returns_nothing"
# returns None
def is_right(accumulate):
    w = torch.tensor(2.0, requires_grad=True)
    w.grad = torch.tensor(100.0)
    accumulate(w, [(lambda: 4 * w, 1), (lambda: 10 * w, 3)])
    assert abs(w.grad.item() - 34 / 4) < 1e-4
# %% exercise="is_right" verdict="refused" mistake="expects_equal_weights"
# compares with 1/K loop
def is_right(accumulate):
    w = torch.tensor(2.0, requires_grad=True)
    w.grad = torch.tensor(100.0)
    accumulate(w, [(lambda: 4 * w, 1), (lambda: 10 * w, 3)])
    return abs(w.grad.item() - 7) < 1e-4
# %% exercise="is_right" verdict="passed"
# several trials
def is_right(accumulate):
    g = torch.Generator().manual_seed(5)
    for sizes in ([2, 2], [5, 1, 1], [1], [1, 7, 3, 2]):
        p = torch.randn(3, generator=g, dtype=torch.float64).requires_grad_()
        c = [torch.randn(3, generator=g, dtype=torch.float64) for _ in sizes]
        want = sum(n * (2 * (p.detach() - k)) / 3 for n, k in zip(sizes, c)) / sum(sizes)
        p.grad = torch.randn(3, generator=g, dtype=torch.float64)
        accumulate(p, [((lambda k=k: ((p - k) ** 2).mean()), n) for n, k in zip(sizes, c)])
        if p.grad is None or (p.grad - want).abs().max() > 1e-8:
            return False
    return True
# %% exercise="train_epoch" verdict="refused"
# the tail is all batches when the last window is complete
def train_epoch(model, optimizer, batches, accumulation_steps):
    whole = len(batches) // accumulation_steps * accumulation_steps
    windows = [batches[i : i + accumulation_steps] for i in range(0, whole, accumulation_steps)]
    windows.append(batches[-(len(batches) % accumulation_steps) :])
    total, count = 0.0, 0
    for window in windows:
        n = sum(len(x) for x, _ in window)
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * len(x) / n).backward()
            total += loss.item() * len(x)
        optimizer.step()
        count += n
    return total / count
# %% exercise="accumulate_equal" verdict="refused"
def accumulate_equal(model, batches):
    weights = {n: p.detach() for n, p in model.named_parameters()}
    def loss(weights, x, y):
        return mse_loss(torch.func.functional_call(model, weights, (x,)), y) / len(batches)
    total = 0
    for x, y in batches:
        total = total + torch.func.grad(loss)(weights, x, y)["weight"]
    model.weight.grad = total
# %% exercise="unscale_then_clip" verdict="refused" mistake="clips_each_parameter"
# clips each parameter to max_norm on its own, so the norm over all parameters may exceed it and the direction changes
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) / len(batches)).backward()
    scaler.unscale_(optimizer)
    for parameter in model.parameters():
        torch.nn.utils.clip_grad_norm_(parameter, max_norm)
    scaler.step(optimizer)
    scaler.update()
# %% exercise="is_right" verdict="refused" mistake="only_single_samples"
# tries micro-batches of one size only, so it accepts a function that divides by the number of micro-batches
def is_right(accumulate):
    for before in (None, 7.0):
        w = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
        w.grad = None if before is None else torch.tensor(before, dtype=torch.float64)
        accumulate(w, [(lambda a=a: (w * a - 2 * a) ** 2, 1) for a in (4.0, 2.0, 3.0)])
        if w.grad is None or abs(w.grad.item() + 58 / 3) > 1e-6:
            return False
    return True
# %% exercise="fix_zero_inside" verdict="refused"
def fix_zero_inside(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        mse_loss(model(x), y).backward()
        if (i + 1) % accumulation_steps == 0:
            for p in optimizer.param_groups[0]["params"]:
                p.grad /= accumulation_steps
            optimizer.step()
            optimizer.zero_grad()
# %% exercise="clip_once" verdict="refused" mistake="clips_the_first_group"
def clip_once(model, optimizer, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()
    torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], max_norm)
    optimizer.step()
# %% exercise="clip_once" verdict="passed"
def clip_once(model, optimizer, batches, max_norm):
    optimizer.zero_grad()
    (sum(mse_loss(model(x), y) for x, y in batches) / len(batches)).backward()
    torch.nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], max_norm)
    optimizer.step()
# %% exercise="unscale_then_clip" verdict="refused"
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        loss = mse_loss(model(x), y) / len(batches)
        scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm * 65536)
    scaler.step(optimizer)
    scaler.update()
# %% exercise="unscale_then_clip" verdict="refused"
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        loss = mse_loss(model(x), y) / len(batches)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], max_norm)
    scaler.step(optimizer)
    scaler.update()
# %% exercise="unscale_then_clip" verdict="passed"
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    optimizer.zero_grad()
    loss = sum(mse_loss(model(x), y) for x, y in batches) / len(batches)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
# %% exercise="train_epoch" verdict="refused"
def train_epoch(model, optimizer, batches, accumulation_steps):
    total, in_epoch, in_window = 0.0, 0, 0
    for i, (x, y) in enumerate(batches, 1):
        loss = mse_loss(model(x), y, reduction="sum")
        loss.backward()
        total, in_epoch, in_window = total + loss.item(), in_epoch + y.numel(), in_window + y.numel()
        if i % accumulation_steps == 0 or i == len(batches):
            for p in optimizer.param_groups[0]["params"]:
                p.grad /= in_window
            optimizer.step()
            optimizer.zero_grad()
            in_window = 0
    return total / in_epoch
# %% exercise="token_mean" verdict="passed"
def token_mean(model, batches):
    xs = torch.cat([x.flatten(0, 1) for x, _ in batches])
    ys = torch.cat([y.flatten() for _, y in batches])
    model.weight.grad = None
    cross_entropy(model(xs), ys).backward()
# %%
import torch
from torch.nn.functional import mse_loss
# %% exercise="accumulate_equal" verdict="refused" mistake="zeroes_none"
# weight.grad.zero_()
def accumulate_equal(model, batches):
    model.weight.grad.zero_()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()
# %% exercise="accumulate_uneven" verdict="refused" mistake="multiplies_by_size"
# div not in place
def accumulate_uneven(model, batches):
    model.zero_grad()
    n = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (mse_loss(model(x), y) * len(x)).backward()
    model.weight.grad.div(n)
# %% exercise="accumulate_uneven" verdict="refused" mistake="divides_by_the_largest"
# max len
def accumulate_uneven(model, batches):
    model.zero_grad()
    n = max(len(x) for x, _ in batches)
    for x, y in batches:
        (mse_loss(model(x), y) * len(x) / n).backward()
# %%
import collections
import graphlib
import heapq
import itertools
import sys
# %% exercise="unbroadcast" verdict="refused" mistake="sums_over_neither"
# a tuple without entries sums over everything
def unbroadcast(gradient, shape):
    extra = gradient.dim() - len(shape)
    gradient = gradient.sum(dim=tuple(range(extra)))
    ones = tuple(i for i, size in enumerate(shape) if size == 1)
    return gradient.sum(dim=ones, keepdim=True)
# %% exercise="unbroadcast" verdict="refused" mistake="sums_over_no_new_dimensions"
# only the front's tuple may be empty
def unbroadcast(gradient, shape):
    extra = gradient.dim() - len(shape)
    gradient = gradient.sum(tuple(range(extra)))
    for i, size in enumerate(shape):
        if size == 1:
            gradient = gradient.sum(i, keepdim=True)
    return gradient
# %%
import torch
from torch.nn.functional import cross_entropy, mse_loss
from torch.utils.checkpoint import checkpoint
class Again(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.f(x)
        torch.autograd.backward(y, g)
        return None, x.grad
# %% exercise="unbroadcast" verdict="refused" mistake="either_new_or_stretched"
# sizes of 1 are summed only if the number of dimensions is the same (elif)
def unbroadcast(gradient, shape):
    extra = gradient.dim() - len(shape)
    if extra > 0:
        return gradient.sum(tuple(range(extra)))
    else:
        dims = tuple(i for i, size in enumerate(shape) if size == 1)
        return gradient.sum(dims, keepdim=True) if dims else gradient
