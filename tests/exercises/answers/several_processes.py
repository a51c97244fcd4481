# %%
from contextlib import ExitStack, nullcontext
import torch
from torch import nn
from torch.nn.functional import mse_loss
# %% exercise="predict_no_sync" verdict="passed"
# the same in whole numbers
predict_no_sync = {
    "backward in no_sync: all-reduces": 1,
    "both in no_sync: gradients": [2, 6],
    "then a pass outside: gradients": [14.0, 14.0],
    "forward in no_sync: all-reduces": 0,
    "two forwards, one backward: gradients": [4, 4],
    "two backwards: gradients": [8, 20],
    "two backwards: all-reduces": 1,
}
# %% exercise="predict_no_sync" verdict="refused" mistake="flag_read_in_backward"
# the backward pass is thought to read the flag
predict_no_sync = {
    "backward in no_sync: all-reduces": 0,
    "both in no_sync: gradients": [2.0, 6.0],
    "then a pass outside: gradients": [14.0, 14.0],
    "forward in no_sync: all-reduces": 1,
    "two forwards, one backward: gradients": [4.0, 4.0],
    "two backwards: gradients": [8.0, 20.0],
    "two backwards: all-reduces": 1,
}
# %% exercise="predict_no_sync" verdict="refused" mistake="each_backward_is_averaged"
# each forward is thought to have its own exchange
predict_no_sync = {
    "backward in no_sync: all-reduces": 1,
    "both in no_sync: gradients": [2.0, 6.0],
    "then a pass outside: gradients": [14.0, 14.0],
    "forward in no_sync: all-reduces": 0,
    "two forwards, one backward: gradients": [4.0, 4.0],
    "two backwards: gradients": [14.0, 14.0],
    "two backwards: all-reduces": 2,
}
# %% exercise="predict_no_sync" verdict="refused" mistake="late_pass_is_in_the_mean"
# the exchange is thought to wait for the second backward pass
predict_no_sync = {
    "backward in no_sync: all-reduces": 1,
    "both in no_sync: gradients": [2.0, 6.0],
    "then a pass outside: gradients": [14.0, 14.0],
    "forward in no_sync: all-reduces": 0,
    "two forwards, one backward: gradients": [2.0, 6.0],
    "two backwards: gradients": [14.0, 14.0],
    "two backwards: all-reduces": 1,
}
# %% exercise="predict_no_sync" verdict="refused" mistake="means_are_sums"
# the all-reduce is thought to add
predict_no_sync = {
    "backward in no_sync: all-reduces": 1,
    "both in no_sync: gradients": [2.0, 6.0],
    "then a pass outside: gradients": [28.0, 28.0],
    "forward in no_sync: all-reduces": 0,
    "two forwards, one backward: gradients": [8.0, 8.0],
    "two backwards: gradients": [12.0, 24.0],
    "two backwards: all-reduces": 1,
}
# %% exercise="predict_no_sync" verdict="refused" mistake="forgets_the_earlier_pass"
# gradients of no_sync are thought to be lost
predict_no_sync = {
    "backward in no_sync: all-reduces": 1,
    "both in no_sync: gradients": [0.0, 0.0],
    "then a pass outside: gradients": [10.0, 10.0],
    "forward in no_sync: all-reduces": 0,
    "two forwards, one backward: gradients": [4.0, 4.0],
    "two backwards: gradients": [8.0, 20.0],
    "two backwards: all-reduces": 1,
}
# %% exercise="predict_no_sync" verdict="refused" mistake="divides_by_the_passes"
# the window is thought to be divided by its number of passes
predict_no_sync = {
    "backward in no_sync: all-reduces": 1,
    "both in no_sync: gradients": [2.0, 6.0],
    "then a pass outside: gradients": [7.0, 7.0],
    "forward in no_sync: all-reduces": 0,
    "two forwards, one backward: gradients": [4.0, 4.0],
    "two backwards: gradients": [6.0, 12.0],
    "two backwards: all-reduces": 1,
}
# %% exercise="accumulate_no_sync" verdict="passed"
# all but the last in no_sync
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    *waiting, (last_x, last_y) = batches
    with ddp.no_sync():
        for x, y in waiting:
            (mse_loss(ddp(x), y) / len(batches)).backward()
    (mse_loss(ddp(last_x), last_y) / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="passed"
# one loop with nullcontext
def accumulate_no_sync(ddp, batches):
    for p in ddp.parameters():
        p.grad = None
    for i, (x, y) in enumerate(batches, 1):
        with ddp.no_sync() if i < len(batches) else nullcontext():
            loss = mse_loss(ddp(x), y) / len(batches)
            loss.backward()
# %% exercise="accumulate_no_sync" verdict="passed"
# the gradients are divided after the exchange
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for number, (x, y) in enumerate(batches):
        if number == len(batches) - 1:
            mse_loss(ddp(x), y).backward()
        else:
            with ddp.no_sync():
                mse_loss(ddp(x), y).backward()
    for p in ddp.parameters():
        if p.grad is not None:
            p.grad /= len(batches)
# %% exercise="accumulate_no_sync" verdict="refused" mistake="sums_the_losses"
# a sum over micro-batches
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    with ddp.no_sync():
        for x, y in batches[:-1]:
            mse_loss(ddp(x), y).backward()
    x, y = batches[-1]
    mse_loss(ddp(x), y).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="backward_outside"
# no exchange at all
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    with ddp.no_sync():
        for x, y in batches:
            (mse_loss(ddp(x), y) / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="forward_outside"
# only the backward pass in no_sync
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        loss = mse_loss(ddp(x), y) / len(batches)
        if i < len(batches) - 1:
            with ddp.no_sync():
                loss.backward()
        else:
            loss.backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="synchronises_the_first"
# the first is exchanged in place of the last
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        with nullcontext() if i == 0 else ddp.no_sync():
            (mse_loss(ddp(x), y) / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="synchronises_every_pass"
# an exchange for each micro-batch
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for x, y in batches:
        (mse_loss(ddp(x), y) / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="joins_the_window"
# one large batch
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    x = torch.cat([x for x, _ in batches])
    y = torch.cat([y for _, y in batches])
    mse_loss(ddp(x), y).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="one_is_not_sent"
# a window of one micro-batch is not exchanged
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    with ddp.no_sync():
        for x, y in batches[: max(1, len(batches) - 1)]:
            (mse_loss(ddp(x), y) / len(batches)).backward()
    for x, y in batches[1:][-1:]:
        (mse_loss(ddp(x), y) / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="forwards_first"
# all forward passes before the backward passes
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    with ddp.no_sync():
        losses = [mse_loss(ddp(x), y) / len(batches) for x, y in batches[:-1]]
    losses.append(mse_loss(ddp(batches[-1][0]), batches[-1][1]) / len(batches))
    for loss in losses:
        loss.backward()
# %% exercise="accumulate_no_sync" verdict="refused"
# frozen parameters have no .grad
def accumulate_no_sync(ddp, batches):
    for p in ddp.parameters():
        p.grad.zero_()
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if i + 1 < len(batches) else nullcontext():
            (mse_loss(ddp(x), y) / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="divides_the_last_alone"
# the last loss alone is divided
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    with ddp.no_sync():
        for x, y in batches[:-1]:
            mse_loss(ddp(x), y).backward()
    x, y = batches[-1]
    (mse_loss(ddp(x), y) / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="backward_outside"
# the last forward pass is in no_sync, too
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    with ddp.no_sync():
        for x, y in batches:
            loss = mse_loss(ddp(x), y) / len(batches)
            if x is not batches[-1][0]:
                loss.backward()
    loss.backward()
# %% exercise="backward_uneven" verdict="passed"
# the sum, by the number of all values, times the ranks
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(y.numel())))
    (mse_loss(ddp(x), y, reduction="sum") * world / total).backward()
# %% exercise="backward_uneven" verdict="passed"
# the mean is NaN for an empty rank, its gradient is not
def backward_uneven(ddp, x, y, all_reduce, world):
    n = y.numel()
    total = all_reduce(torch.tensor(n)).item()
    loss = mse_loss(ddp(x), y)
    (loss * (n * world / total)).backward()
# %% exercise="backward_uneven" verdict="passed"
# the gradients are scaled after the exchange
def backward_uneven(ddp, x, y, all_reduce, world):
    loss = ((ddp(x) - y) ** 2).sum()
    loss.backward()
    factor = world / all_reduce(torch.tensor([y.numel()], dtype=torch.float64)).item()
    for p in ddp.parameters():
        if p.grad is not None:
            p.grad.mul_(factor)
# %% exercise="backward_uneven" verdict="passed"
# an empty rank takes part with a zero
def backward_uneven(ddp, x, y, all_reduce, world):
    count = y.new_tensor(y.numel())
    mean_count = all_reduce(count) / world
    out = ddp(x)
    loss = mse_loss(out, y) * count / mean_count if y.numel() else out.sum() * 0
    loss.backward()
# %% exercise="backward_uneven" verdict="refused" mistake="without_world"
# not multiplied by the number of ranks
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(y.numel())))
    (mse_loss(ddp(x), y, reduction="sum") / total).backward()
# %% exercise="backward_uneven" verdict="refused" mistake="forgets_the_outputs"
# samples are counted in place of values
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(len(x))))
    (mse_loss(ddp(x), y, reduction="sum") * world / total).backward()
# %% exercise="backward_uneven" verdict="refused" mistake="counts_only_with_samples"
# an empty rank stays away
def backward_uneven(ddp, x, y, all_reduce, world):
    if len(x) == 0:
        return
    total = all_reduce(torch.tensor(float(y.numel())))
    (mse_loss(ddp(x), y, reduction="sum") * world / total).backward()
# %% exercise="backward_uneven" verdict="refused" mistake="returns_early"
# an empty rank takes part in the sum, but sends no gradients
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(y.numel())))
    if y.numel():
        (mse_loss(ddp(x), y, reduction="sum") * world / total).backward()
# %% exercise="backward_uneven" verdict="refused" mistake="sends_without_counting"
# an empty rank sends gradients, but leaves the sum out
def backward_uneven(ddp, x, y, all_reduce, world):
    out = ddp(x)
    if y.numel() == 0:
        (out.sum() * 0).backward()
        return
    total = all_reduce(torch.tensor(float(y.numel())))
    (mse_loss(out, y, reduction="sum") * world / total).backward()
# %% exercise="backward_uneven" verdict="refused" mistake="counts_busy_ranks"
# only ranks with samples are counted
def backward_uneven(ddp, x, y, all_reduce, world):
    busy = all_reduce(torch.tensor(float(len(x) > 0)))
    total = all_reduce(torch.tensor(float(y.numel())))
    (mse_loss(ddp(x), y, reduction="sum") * busy / total).backward()
# %% exercise="backward_uneven" verdict="refused" mistake="returns_early"
# a plain zero has no graph, and the wrapper sends nothing
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(y.numel())))
    if y.numel():
        loss = mse_loss(ddp(x), y, reduction="sum") * world / total
    else:
        loss = torch.zeros((), requires_grad=True)
    loss.backward()
# %% exercise="backward_uneven" verdict="refused" mistake="all_reduces_the_loss"
# the loss is summed over the ranks, and every rank differentiates its own part
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(y.numel())))
    loss = all_reduce(mse_loss(ddp(x), y, reduction="sum"))
    (loss / total).backward()
# %% exercise="backward_uneven" verdict="refused" mistake="counts_twice"
# the number of ranks is in the factor twice
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(y.numel()))) / world
    (mse_loss(ddp(x), y) * world / total * y.numel()).backward()
# %% exercise="clip_shards" verdict="passed"
# a sum that begins with a tensor
def clip_shards(parameters, max_norm, all_reduce):
    square = torch.zeros(())
    for p in parameters:
        if p.grad is not None:
            square = square + p.grad.pow(2).sum()
    norm = all_reduce(square) ** 0.5
    if norm > max_norm:
        for p in parameters:
            if p.grad is not None:
                p.grad = p.grad * (max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="passed"
# with torch's own functions
def clip_shards(parameters, max_norm, all_reduce):
    own = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    norm = all_reduce(own.square()).sqrt()
    nn.utils.clip_grads_with_norm_(parameters, max_norm, norm)
    return norm
# %% exercise="clip_shards" verdict="passed"
# a factor of at most 1
def clip_shards(parameters, max_norm, all_reduce):
    flat = [p.grad.flatten() for p in parameters if p.grad is not None]
    own = torch.cat(flat) if flat else torch.zeros(0)
    norm = torch.sqrt(all_reduce((own * own).sum()))
    factor = min(1.0, max_norm / norm.item()) if norm > 0 else 1.0
    for p in parameters:
        if p.grad is not None:
            p.grad *= factor
    return norm.item()
# %% exercise="clip_shards" verdict="refused" mistake="needs_a_gradient"
# a rank without gradients stays away
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    if not gradients:
        return torch.tensor(0.0)
    norm = all_reduce(torch.nn.utils.get_total_norm(gradients) ** 2).sqrt()
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused" mistake="one_exchange_for_each_parameter"
# an exchange for each gradient that is there
def clip_shards(parameters, max_norm, all_reduce):
    square = 0
    for p in parameters:
        if p.grad is not None:
            square = square + all_reduce((p.grad**2).sum())
    norm = torch.as_tensor(square).sqrt()
    if norm > max_norm:
        for p in parameters:
            if p.grad is not None:
                p.grad.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused" mistake="root_of_a_sum_of_norms"
# the root of a sum of norms
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = all_reduce(torch.nn.utils.get_total_norm(gradients)).sqrt()
    for gradient in gradients:
        if norm > max_norm:
            gradient.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused" mistake="clips_each_parameter"
# each tensor is clipped by its own norm
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = all_reduce(torch.nn.utils.get_total_norm(gradients) ** 2).sqrt()
    for gradient in gradients:
        if gradient.norm() > max_norm:
            gradient.mul_(max_norm / gradient.norm())
    return norm
# %% exercise="clip_shards" verdict="refused" mistake="fills_none"
# None becomes zeros
def clip_shards(parameters, max_norm, all_reduce):
    for p in parameters:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    gradients = [p.grad for p in parameters]
    norm = all_reduce(torch.nn.utils.get_total_norm(gradients) ** 2).sqrt()
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused" mistake="scales_always"
# small gradients grow
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = all_reduce(torch.nn.utils.get_total_norm(gradients) ** 2).sqrt()
    for gradient in gradients:
        gradient.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused" mistake="returns_the_new_norm"
# the norm after clipping is returned
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = all_reduce(torch.nn.utils.get_total_norm(gradients) ** 2).sqrt()
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    return torch.clamp(norm, max=max_norm)
# %% exercise="clip_shards" verdict="refused" mistake="returns_the_norm_of_the_rank"
# the norm of this rank is returned
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    own = torch.nn.utils.get_total_norm(gradients)
    norm = all_reduce(own**2).sqrt()
    for gradient in gradients:
        if norm > max_norm:
            gradient.mul_(max_norm / norm)
    return own
# %% exercise="clip_shards" verdict="refused"
# nothing to stack on a rank without gradients
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    own = torch.stack([gradient.norm() for gradient in gradients]).norm()
    norm = all_reduce(own**2).sqrt()
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused" mistake="clips_before_the_exchange"
# clipped on each rank before the exchange
def clip_shards(parameters, max_norm, all_reduce):
    own = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    return all_reduce(own**2).sqrt()
# %% exercise="clip_shards" verdict="refused" mistake="the_rank_decides"
# the norm of this rank decides whether to clip
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    own = torch.nn.utils.get_total_norm(gradients)
    norm = all_reduce(own**2).sqrt()
    if own > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused" mistake="factor_of_squares"
# the square root of the factor
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    square = all_reduce(torch.nn.utils.get_total_norm(gradients) ** 2)
    if square > max_norm**2:
        for gradient in gradients:
            gradient.mul_(max_norm**2 / square)
    return square.sqrt()
# %% exercise="predict_no_sync" verdict="refused" mistake="quiet_pass_is_averaged"
# the end of no_sync is thought to exchange what was held back
predict_no_sync = {
    "backward in no_sync: all-reduces": 1,
    "both in no_sync: gradients": [4, 4],
    "then a pass outside: gradients": [14, 14],
    "forward in no_sync: all-reduces": 0,
    "two forwards, one backward: gradients": [4, 4],
    "two backwards: gradients": [8, 20],
    "two backwards: all-reduces": 1,
}
# %% exercise="clip_shards" verdict="refused" mistake="clips_before_the_exchange"
# the norm of the whole is returned, but each rank clips by its own
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    own = torch.nn.utils.get_total_norm(gradients)
    norm = all_reduce(own**2).sqrt()
    if own > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / own)
    return norm
# %% exercise="backward_uneven" verdict="refused" mistake="weights_after_the_exchange"
# weighted after the exchange
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(y.numel())))
    mse_loss(ddp(x), y).backward()
    for p in ddp.parameters():
        if p.grad is not None:
            p.grad *= y.numel() * world / total
# %% exercise="backward_uneven" verdict="refused" mistake="mean_of_the_means_of_busy_ranks"
# mean over the ranks that have samples
def backward_uneven(ddp, x, y, all_reduce, world):
    active = all_reduce(torch.tensor(float(len(x) > 0)))
    loss = mse_loss(ddp(x), y) if len(x) else mse_loss(ddp(x), y, reduction="sum")
    (loss * world / active).backward()
# %% exercise="clip_shards" verdict="refused" mistake="one_exchange_for_each_gradient"
# an exchange for each gradient
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.stack([all_reduce(g.square().sum()) for g in gradients]).sum().sqrt()
    for gradient in gradients:
        if norm > max_norm:
            gradient.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused" mistake="factor_of_the_rank"
# factor with the norm of the rank
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    own = torch.nn.utils.get_total_norm(gradients)
    norm = all_reduce(own.square()).sqrt()
    for gradient in gradients:
        if norm > max_norm:
            gradient.mul_(max_norm / own)
    return norm
# %% exercise="clip_shards" verdict="refused" mistake="scales_always_by_a_little_less"
# scaled up, with a small number below the line
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    own = torch.nn.utils.get_total_norm(gradients)
    norm = all_reduce(own.square()).sqrt()
    for gradient in gradients:
        gradient.mul_(max_norm / (norm + 1e-6))
    return norm
# %% exercise="backward_uneven" verdict="refused" mistake="dummy_sample"
# a made-up sample on the empty rank
def backward_uneven(ddp, x, y, all_reduce, world):
    if len(x) == 0:
        x, y = torch.zeros(1, *x.shape[1:], dtype=x.dtype), torch.zeros(1, *y.shape[1:], dtype=y.dtype)
    total = all_reduce(torch.tensor(float(y.numel())))
    (mse_loss(ddp(x), y, reduction="sum") * world / total).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="sends_by_a_pass_of_zeros"
# sends by a pass with a loss of 0
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    with ddp.no_sync():
        for x, y in batches:
            (mse_loss(ddp(x), y) / len(batches)).backward()
    (ddp(batches[-1][0]).sum() * 0).backward()
# %% exercise="accumulate_no_sync" verdict="passed"
# past the wrapper for all but the last
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        model = ddp if i == len(batches) - 1 else ddp.module
        (mse_loss(model(x), y) / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="passed"
# only the forward pass inside no_sync
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        if i < len(batches) - 1:
            with ddp.no_sync():
                loss = mse_loss(ddp(x), y)
        else:
            loss = mse_loss(ddp(x), y)
        (loss / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="divides_all_but_the_last"
# only the micro-batches under no_sync are divided by their number
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    with ddp.no_sync():
        for x, y in batches[:-1]:
            (mse_loss(ddp(x), y) / len(batches)).backward()
    x, y = batches[-1]
    mse_loss(ddp(x), y).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="waiting_losses_together"
# all losses first
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    with ddp.no_sync():
        losses = [mse_loss(ddp(x), y) / len(batches) for x, y in batches[:-1]]
        for loss in losses:
            loss.backward()
    x, y = batches[-1]
    (mse_loss(ddp(x), y) / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="means_of_sums"
# sums instead of means
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    with ddp.no_sync():
        for x, y in batches[:-1]:
            (mse_loss(ddp(x), y, reduction="sum") / len(batches)).backward()
    x, y = batches[-1]
    (mse_loss(ddp(x), y, reduction="sum") / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="clears_at_the_end"
# clears after the window instead of before
def accumulate_no_sync(ddp, batches):
    with ddp.no_sync():
        for x, y in batches[:-1]:
            (mse_loss(ddp(x), y) / len(batches)).backward()
    x, y = batches[-1]
    (mse_loss(ddp(x), y) / len(batches)).backward()
    ddp.zero_grad()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="divides_by_those_that_wait"
# divided by the number of those that wait
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    waiting, (x_last, y_last) = batches[:-1], batches[-1]
    with ddp.no_sync():
        for x, y in waiting:
            (mse_loss(ddp(x), y) / len(waiting)).backward()
    (mse_loss(ddp(x_last), y_last) / max(1, len(waiting))).backward()
# %% exercise="backward_uneven" verdict="refused" mistake="returns_early"
# an empty rank goes forward, but not backward
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(y.numel())))
    out = ddp(x)
    if len(x) == 0:
        return
    (mse_loss(out, y, reduction="sum") * world / total).backward()
# %% exercise="backward_uneven" verdict="refused" mistake="number_for_a_tensor"
# the number is no tensor
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(y.numel())
    (mse_loss(ddp(x), y, reduction="sum") * world / total).backward()
# %% exercise="clip_shards" verdict="refused" mistake="sum_without_terms"
# Python's sum of nothing is the number 0, no tensor
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = all_reduce(sum(g.square().sum() for g in gradients)).sqrt()
    for gradient in gradients:
        if norm > max_norm:
            gradient.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused" mistake="sum_without_terms"
# a sum that begins with 0.0 is a number on a rank without gradients
def clip_shards(parameters, max_norm, all_reduce):
    squares = 0.0
    for p in parameters:
        if p.grad is not None:
            squares = squares + p.grad.square().sum()
    norm = all_reduce(squares).sqrt()
    if norm > max_norm:
        for p in parameters:
            if p.grad is not None:
                p.grad.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused" mistake=""
# a list of norms
def clip_shards(parameters, max_norm, all_reduce):
    norms = [p.grad.norm() for p in parameters if p.grad is not None]
    norm = all_reduce([n**2 for n in norms])
    return norm
# %% exercise="clip_shards" verdict="refused" mistake=""
# the empty rank offers None
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    own = torch.nn.utils.get_total_norm(gradients) ** 2 if gradients else None
    norm = all_reduce(own).sqrt()
    for g in gradients:
        if norm > max_norm:
            g.mul_(max_norm / norm)
    return norm
# %% exercise="clip_shards" verdict="refused" mistake="zero_divided_by_zero"
# minimum
def clip_shards(parameters, max_norm, all_reduce):
    squares = torch.zeros((), dtype=torch.float64)
    for p in parameters:
        if p.grad is not None:
            squares += p.grad.square().sum()
    norm = all_reduce(squares).sqrt()
    for p in parameters:
        if p.grad is not None:
            p.grad = p.grad / norm * torch.minimum(norm, torch.tensor(max_norm, dtype=norm.dtype))
    return norm
# %% exercise="clip_shards" verdict="refused" mistake="divides_a_number_by_zero"
# python item
def clip_shards(parameters, max_norm, all_reduce):
    squares = torch.zeros((), dtype=torch.float64)
    for p in parameters:
        if p.grad is not None:
            squares += p.grad.square().sum()
    norm = all_reduce(squares).sqrt().item()
    for p in parameters:
        if p.grad is not None:
            p.grad.mul_(min(1.0, max_norm / norm))
    return norm
# %% exercise="clip_shards" verdict="passed"
# torch's own
def clip_shards(parameters, max_norm, all_reduce):
    squares = torch.zeros((), dtype=torch.float64)
    for p in parameters:
        if p.grad is not None:
            squares += p.grad.square().sum()
    norm = all_reduce(squares).sqrt()
    torch.nn.utils.clip_grads_with_norm_(parameters, max_norm, norm)
    return norm
# %% exercise="accumulate_no_sync" verdict="refused" mistake="clears_every_time"
# zero_grad in each turn
def accumulate_no_sync(ddp, batches):
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if i + 1 < len(batches) else nullcontext():
            ddp.zero_grad()
            (mse_loss(ddp(x), y) / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="clears_every_time_and_sums"
# zero_grad in each turn, between forward and backward
def accumulate_no_sync(ddp, batches):
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if i + 1 < len(batches) else nullcontext():
            loss = mse_loss(ddp(x), y)
            ddp.zero_grad()
            loss.backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="clears_every_time"
# zero_grad after
def accumulate_no_sync(ddp, batches):
    for x, y in batches[:-1]:
        with ddp.no_sync():
            (mse_loss(ddp(x), y) / len(batches)).backward()
    ddp.zero_grad()
    x, y = batches[-1]
    (mse_loss(ddp(x), y) / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="averages_over_two_once_more"
# divides by the number of ranks once more (no way to know world...)
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if i + 1 < len(batches) else nullcontext():
            (mse_loss(ddp(x), y) / len(batches) / 2).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="averages_over_two_once_more"
# divides .grad by 2 after
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if i + 1 < len(batches) else nullcontext():
            (mse_loss(ddp(x), y) / len(batches)).backward()
    for p in ddp.parameters():
        if p.grad is not None:
            p.grad /= 2
# %% exercise="backward_uneven" verdict="refused" mistake="counts_the_inputs"
# x.numel
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(x.numel())))
    (mse_loss(ddp(x), y, reduction="sum") * world / total).backward()
# %% exercise="backward_uneven" verdict="refused" mistake="output_of_a_dummy_sample_as_it_is"
# zeros of float32
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(len(x))))
    if not len(x):
        loss = (ddp(torch.zeros(1, x.shape[1], dtype=x.dtype))).sum()
        loss.backward()
        return
    (mse_loss(ddp(x), y) * len(x) * world / total).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="trains_every_module"
# train
def accumulate_no_sync(ddp, batches):
    ddp.train()
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if i + 1 < len(batches) else nullcontext():
            (mse_loss(ddp(x), y) / len(batches)).backward()
# %% exercise="accumulate_no_sync" verdict="refused" mistake=""
# train at the end
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if i + 1 < len(batches) else nullcontext():
            (mse_loss(ddp(x), y) / len(batches)).backward()
    ddp.train()
# %% exercise="accumulate_no_sync" verdict="refused" mistake="evaluates_every_module"
# eval
def accumulate_no_sync(ddp, batches):
    ddp.eval()
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if i + 1 < len(batches) else nullcontext():
            (mse_loss(ddp(x), y) / len(batches)).backward()
