# %%
from contextlib import nullcontext

import torch
from torch.nn.functional import mse_loss

GOOD_EXCHANGES = {
    "backward in no_sync: all-reduces": 1,
    "both in no_sync: gradients": [2.0, 6.0],
    "then a pass outside: gradients": [14.0, 14.0],
    "forward in no_sync: all-reduces": 0,
    "two forwards, one backward: gradients": [4.0, 4.0],
    "two backwards: gradients": [8.0, 20.0],
    "two backwards: all-reduces": 1,
}
# %% exercise="predict_no_sync" verdict="passed"
# a careful reader
predict_no_sync = dict(GOOD_EXCHANGES)
# %% exercise="predict_no_sync" verdict="passed"
# whole numbers, tuples
predict_no_sync = {
    "backward in no_sync: all-reduces": 1,
    "both in no_sync: gradients": (2, 6),
    "then a pass outside: gradients": (14, 14),
    "forward in no_sync: all-reduces": 0,
    "two forwards, one backward: gradients": (4, 4),
    "two backwards: gradients": (8, 20),
    "two backwards: all-reduces": 1,
}
# %% exercise="predict_no_sync" verdict="refused"
# the flag is read in the backward pass
predict_no_sync = {
    **GOOD_EXCHANGES,
    "backward in no_sync: all-reduces": 0,
    "forward in no_sync: all-reduces": 1,
}
# %% exercise="predict_no_sync" verdict="refused"
# every backward pass outside no_sync exchanges
predict_no_sync = {
    **GOOD_EXCHANGES,
    "two backwards: gradients": [14, 14],
    "two backwards: all-reduces": 2,
}
# %% exercise="predict_no_sync" verdict="refused"
# only the new gradient is averaged
predict_no_sync = {**GOOD_EXCHANGES, "then a pass outside: gradients": [12, 16]}
# %% exercise="predict_no_sync" verdict="refused"
# the exchange waits until both backward passes are over
predict_no_sync = {
    **GOOD_EXCHANGES,
    "two forwards, one backward: gradients": [2, 6],
    "two backwards: gradients": [14, 14],
}
# %% exercise="predict_no_sync" verdict="refused"
# the end of no_sync exchanges what was held back
predict_no_sync = {**GOOD_EXCHANGES, "both in no_sync: gradients": [4, 4]}
# %% exercise="predict_no_sync" verdict="refused"
# sums instead of means
predict_no_sync = {
    **GOOD_EXCHANGES,
    "then a pass outside: gradients": [28, 28],
    "two forwards, one backward: gradients": [8, 8],
    "two backwards: gradients": [12, 24],
}
# %% exercise="predict_no_sync" verdict="refused"
# the second backward replaces the gradient instead of adding to it
predict_no_sync = {
    **GOOD_EXCHANGES,
    "then a pass outside: gradients": [10, 10],
    "two backwards: gradients": [4, 16],
}
# %% exercise="accumulate_no_sync" verdict="passed"
# all but the last inside no_sync
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    *others, (x, y) = batches
    with ddp.no_sync():
        for a, b in others:
            (mse_loss(ddp(a), b) / len(batches)).backward()
    (mse_loss(ddp(x), y) / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="passed"
# a context for every micro-batch, sums over the count of the window
def accumulate_no_sync(ddp, batches):
    for p in ddp.parameters():
        p.grad = None
    count = sum(y.numel() for _, y in batches)
    for i, (x, y) in enumerate(batches, 1):
        with nullcontext() if i == len(batches) else ddp.no_sync():
            loss = mse_loss(ddp(x), y, reduction="sum") / count
            loss.backward()
# %% exercise="accumulate_no_sync" verdict="passed"
# divided at the end
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad(set_to_none=True)
    for i, (x, y) in enumerate(batches):
        context = ddp.no_sync() if i < len(batches) - 1 else nullcontext()
        with context:
            mse_loss(ddp(x), y).backward()
    for p in ddp.parameters():
        if p.grad is not None:
            p.grad /= len(batches)
# %% exercise="accumulate_no_sync" verdict="refused"
# forward outside no_sync
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        loss = mse_loss(ddp(x), y) / len(batches)
        if i < len(batches) - 1:
            with ddp.no_sync():
                loss.backward()
        else:
            loss.backward()
# %% exercise="accumulate_no_sync" verdict="refused"
# the last forward is inside no_sync
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    with ddp.no_sync():
        for i, (x, y) in enumerate(batches):
            loss = mse_loss(ddp(x), y) / len(batches)
            if i < len(batches) - 1:
                loss.backward()
    loss.backward()
# %% exercise="accumulate_no_sync" verdict="refused"
# old gradients are kept
def accumulate_no_sync(ddp, batches):
    with ddp.no_sync():
        for x, y in batches[:-1]:
            (mse_loss(ddp(x), y) / len(batches)).backward()
    x, y = batches[-1]
    (mse_loss(ddp(x), y) / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="refused"
# not divided by the number of micro-batches
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    with ddp.no_sync():
        for x, y in batches[:-1]:
            mse_loss(ddp(x), y).backward()
    x, y = batches[-1]
    mse_loss(ddp(x), y).backward()
# %% exercise="accumulate_no_sync" verdict="refused"
# one backward pass from the sum of all losses
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    sum(mse_loss(ddp(x), y) for x, y in batches).div(len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="refused"
# cleared inside no_sync for every micro-batch
def accumulate_no_sync(ddp, batches):
    for i, (x, y) in enumerate(batches):
        ddp.zero_grad()
        with ddp.no_sync() if i < len(batches) - 1 else nullcontext():
            (mse_loss(ddp(x), y) / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="refused"
# everything inside no_sync, in the belief that its end exchanges
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    with ddp.no_sync():
        for x, y in batches:
            (mse_loss(ddp(x), y) / len(batches)).backward()
# %% exercise="backward_uneven" verdict="passed"
# the sum, times world, over the number of all numbers
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(y.numel())))
    loss = mse_loss(ddp(x), y, reduction="sum") * world / total
    loss.backward()
# %% exercise="backward_uneven" verdict="passed"
# the mean with a weight, an empty sum for the rank without samples
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor([y.numel()])).item()
    out = ddp(x)
    loss = mse_loss(out, y) * (y.numel() * world / total) if y.numel() else out.sum()
    loss.backward()
# %% exercise="backward_uneven" verdict="passed"
# scaled after the exchange, the count summed after the pass
def backward_uneven(ddp, x, y, all_reduce, world):
    ((ddp(x) - y) ** 2).sum().backward()
    total = all_reduce(torch.tensor(y.numel(), dtype=torch.float32))
    for p in ddp.parameters():
        if p.grad is not None:
            p.grad.mul_(world / total)
# %% exercise="backward_uneven" verdict="refused"
# mean of the means, with nothing from the empty rank
def backward_uneven(ddp, x, y, all_reduce, world):
    out = ddp(x)
    loss = mse_loss(out, y) if len(y) else out.sum()
    loss.backward()
# %% exercise="backward_uneven" verdict="refused"
# the wrapper's division by world is forgotten
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(y.numel())))
    (mse_loss(ddp(x), y, reduction="sum") / total).backward()
# %% exercise="backward_uneven" verdict="refused"
# a rank without samples leaves out its pass
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(y.numel())))
    if len(x) == 0:
        return
    (mse_loss(ddp(x), y, reduction="sum") * world / total).backward()
# %% exercise="backward_uneven" verdict="refused"
# rows are counted, not numbers
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(len(y))))
    (mse_loss(ddp(x), y, reduction="sum") * world / total).backward()
# %% exercise="backward_uneven" verdict="passed"
# written as wrong; but the text says that the gradient is 0 though the loss is NaN, so it is right
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(y.numel())))
    (mse_loss(ddp(x), y) * y.numel() * world / total).backward()
# %% exercise="backward_uneven" verdict="refused"
# the loss is summed over the ranks before the backward pass
def backward_uneven(ddp, x, y, all_reduce, world):
    loss = all_reduce(mse_loss(ddp(x), y, reduction="sum"))
    total = all_reduce(torch.tensor(float(y.numel())))
    (loss / total).backward()
# %% exercise="clip_shards" verdict="passed"
# squares are summed, then the root
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    own = torch.nn.utils.get_total_norm(gradients)
    norm = all_reduce(own**2).sqrt()
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="passed"
# by hand, with a clamped factor
def clip_shards(parameters, max_norm, all_reduce):
    squares = torch.zeros(())
    for p in parameters:
        if p.grad is not None:
            squares = squares + p.grad.square().sum()
    norm = torch.sqrt(all_reduce(squares))
    factor = (max_norm / norm).clamp(max=1.0)
    for p in parameters:
        if p.grad is not None:
            p.grad = p.grad * factor
    return norm
# %% exercise="clip_shards" verdict="passed"
# torch clips, with 1e-6 added to the norm
def clip_shards(parameters, max_norm, all_reduce):
    parameters = list(parameters)
    own = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    norm = all_reduce(own.square()).sqrt()
    torch.nn.utils.clip_grads_with_norm_(parameters, max_norm, norm)
    return norm
# %% exercise="clip_shards" verdict="refused"
# the root is forgotten
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = all_reduce(torch.nn.utils.get_total_norm(gradients) ** 2)
    for gradient in gradients:
        if norm > max_norm:
            gradient.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused"
# a rank without gradients returns early
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    if not gradients:
        return torch.tensor(0.0)
    norm = all_reduce(torch.nn.utils.get_total_norm(gradients) ** 2) ** 0.5
    for gradient in gradients:
        if norm > max_norm:
            gradient.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused"
# each rank clips its part by its own norm
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    own = torch.nn.utils.get_total_norm(gradients)
    norm = all_reduce(own**2).sqrt()
    if own > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / own)
    return norm
# %% exercise="clip_shards" verdict="refused"
# one exchange for each gradient: ranks differ in their number
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = sum(all_reduce(gradient.square().sum()) for gradient in gradients) ** 0.5
    for gradient in gradients:
        if norm > max_norm:
            gradient.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused"
# scaled up as well
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = all_reduce(torch.nn.utils.get_total_norm(gradients) ** 2).sqrt()
    for gradient in gradients:
        gradient.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused"
# zeros in place of None
def clip_shards(parameters, max_norm, all_reduce):
    for p in parameters:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    gradients = [p.grad for p in parameters]
    norm = all_reduce(torch.nn.utils.get_total_norm(gradients) ** 2).sqrt()
    for gradient in gradients:
        if norm > max_norm:
            gradient.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused"
# the mean of the squares: divided by the number of ranks
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    squares = all_reduce(torch.nn.utils.get_total_norm(gradients) ** 2)
    norm = (squares / all_reduce(torch.tensor(1.0))).sqrt()
    for gradient in gradients:
        if norm > max_norm:
            gradient.mul_(max_norm / norm)
    return norm
