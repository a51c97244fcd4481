# %%
import torch
from torch.nn.functional import mse_loss


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


# %% exercise="unscale_then_clip" verdict="refused"
# shown off with a zeroed
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
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


# %% exercise="fix_backward_last" verdict="refused"
# learning rate lowered
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for group in optimizer.param_groups:
        group["lr"] /= accumulation_steps
    for i, (x, y) in enumerate(batches):
        mse_loss(model(x), y).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()


# %% exercise="fix_backward_last" verdict="refused"
# learning rate lowered and restored
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    rate = optimizer.param_groups[0]["lr"]
    for i, (x, y) in enumerate(batches):
        mse_loss(model(x), y).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.param_groups[0]["lr"] = rate / accumulation_steps
            optimizer.step()
            optimizer.param_groups[0]["lr"] = rate
            optimizer.zero_grad()


# %% exercise="fix_backward_last" verdict="refused"
# only model
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        mse_loss(model(x), y).backward()
        if (i + 1) % accumulation_steps == 0:
            model.weight.grad /= accumulation_steps
            optimizer.step()
            model.weight.grad = None


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
# rows for entries
def accumulate_uneven(model, batches):
    model.zero_grad()
    n = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (mse_loss(model(x), y, reduction="sum") / n).backward()


# %% exercise="accumulate_uneven" verdict="refused"
# big batch and dummy passes
def accumulate_uneven(model, batches):
    x, y = (torch.cat(parts) for parts in zip(*batches))
    (g,) = torch.autograd.grad(mse_loss(model(x), y), model.weight)
    for _ in batches[1:]:
        torch.zeros((), requires_grad=True).backward()
    model.weight.grad = g


# %% exercise="accumulate_equal" verdict="refused"
# rows for entries
def accumulate_equal(model, batches):
    model.zero_grad()
    n = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (mse_loss(model(x), y, reduction="sum") / n).backward()


# %% exercise="accumulate_equal" verdict="refused"
# big batch and dummy passes
def accumulate_equal(model, batches):
    x, y = (torch.cat(parts) for parts in zip(*batches))
    (g,) = torch.autograd.grad(mse_loss(model(x), y), model.weight)
    for _ in batches[1:]:
        torch.zeros((), requires_grad=True).backward()
    model.weight.grad = g


# %% exercise="accumulate_equal" verdict="refused" mistake="overwrites"
# assignment overwrites
def accumulate_equal(model, batches):
    for x, y in batches:
        (g,) = torch.autograd.grad(mse_loss(model(x), y) / len(batches), model.weight)
        model.weight.grad = g


# %% exercise="clip_once" verdict="refused"
# rows for entries
def clip_once(model, optimizer, batches, max_norm):
    optimizer.zero_grad()
    n = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (mse_loss(model(x), y, reduction="sum") / n).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()


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


# %% exercise="clip_once" verdict="refused" mistake="clips_the_loss"
# loss clipped
def clip_once(model, optimizer, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).clamp(max=max_norm).backward()
    optimizer.step()


# %% exercise="predict_zero_grad" verdict="refused" mistake="swaps_the_flag"
# swapped
predict_zero_grad = {
    "w.grad after zero_grad()": 0.0,
    "w: None, momentum": 0.81,
    "w.grad after zero_grad(set_to_none=False)": None,
    "w: zero, momentum": 0.9,
    "w: zero, no momentum": 0.9,
}


# %% exercise="predict_zero_grad" verdict="refused" mistake="both_leave_zeros"
# both zero
predict_zero_grad = {
    "w.grad after zero_grad()": 0.0,
    "w: None, momentum": 0.81,
    "w.grad after zero_grad(set_to_none=False)": 0.0,
    "w: zero, momentum": 0.81,
    "w: zero, no momentum": 0.9,
}


# %% exercise="is_right" verdict="refused" mistake="wants_the_same_tensor"
# same
def is_right(accumulate):
    x, y = torch.tensor([4.0, 2.0, 3.0, 1.0]), torch.tensor([8.0, 4.0, 6.0, 2.0])
    w = torch.tensor(1.0, requires_grad=True)
    w.grad = torch.tensor(100.0)
    held = w.grad
    accumulate(w, [(lambda: ((w * x[:3] - y[:3]) ** 2).mean(), 3), (lambda: ((w * x[3:] - y[3:]) ** 2).mean(), 1)])
    return w.grad is held and bool(torch.isclose(w.grad, torch.tensor(-15.0)))


