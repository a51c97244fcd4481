# %%
import math
from collections import Counter

import torch
from torch.nn.functional import cross_entropy, linear, log_softmax
from torch.utils.checkpoint import checkpoint
# %% exercise="predict_step_bytes" verdict="passed"
# a careful reader
predict_step_bytes = {
    "after the embedding": 4096,
    "after the block": 8192,
    "after the loss": 40960,
    "at the peak": 106496,
    "after backward": 22528,
}
# %% exercise="predict_step_bytes" verdict="passed"
# a careful reader who writes products
predict_step_bytes = {
    "after the embedding": 32 * 16 * 8,
    "after the block": 2 * 32 * 16 * 8,
    "after the loss": 2 * 32 * 16 * 8 + 32 * 128 * 8,
    "at the peak": 2 * 32 * 16 * 8 + 3 * 32 * 128 * 8,
    "after backward": 16 * 16 * 8 + 16 * 128 * 8 + 32 * 16 * 8,
}
# %% exercise="predict_step_bytes" verdict="refused"
# believes that the logits stay beside their log softmax
predict_step_bytes = {
    "after the embedding": 4096,
    "after the block": 8192,
    "after the loss": 8192 + 2 * 32768,
    "at the peak": 8192 + 4 * 32768,
    "after backward": 22528,
}
# %% exercise="predict_step_bytes" verdict="refused"
# believes that the result of the frozen embedding is freed once h has its new value
predict_step_bytes = {
    "after the embedding": 4096,
    "after the block": 4096,
    "after the loss": 4096 + 32768,
    "at the peak": 4096 + 3 * 32768,
    "after backward": 22528,
}
# %% exercise="predict_step_bytes" verdict="refused"
# the peak is the logits' gradient beside what is saved
predict_step_bytes = {
    "after the embedding": 4096,
    "after the block": 8192,
    "after the loss": 40960,
    "at the peak": 40960 + 32768,
    "after backward": 22528,
}
# %% exercise="predict_step_bytes" verdict="refused"
# forgets that h is still alive after the backward pass
predict_step_bytes = {
    "after the embedding": 4096,
    "after the block": 8192,
    "after the loss": 40960,
    "at the peak": 106496,
    "after backward": 16 * 16 * 8 + 16 * 128 * 8,
}
# %% exercise="predict_step_bytes" verdict="refused"
# counts 4 bytes a number
predict_step_bytes = {
    "after the embedding": 2048,
    "after the block": 4096,
    "after the loss": 20480,
    "at the peak": 53248,
    "after backward": 11264,
}
# %% exercise="predict_step_bytes" verdict="refused"
# counts the result of the linear layer beside that of tanh
predict_step_bytes = {
    "after the embedding": 4096,
    "after the block": 3 * 4096,
    "after the loss": 3 * 4096 + 32768,
    "at the peak": 3 * 4096 + 3 * 32768,
    "after backward": 22528,
}
# %% exercise="chunked_loss" verdict="passed"
# a checkpoint for each chunk
def chunked_loss(head, h, targets, rows):
    def of_rows(x, y):
        return cross_entropy(head(x), y, reduction="sum")

    total = h.new_zeros(())
    for x, y in zip(h.split(rows), targets.split(rows)):
        total = total + checkpoint(of_rows, x, y, use_reentrant=False)
    return total / len(targets)
# %% exercise="chunked_loss" verdict="passed"
# a Function that computes the gradients in the forward pass
class _Chunked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, weight, bias, targets, rows):
        need_h, need_w, need_b = ctx.needs_input_grad[:3]
        grad_h = torch.empty_like(h) if need_h else None
        grad_w = torch.zeros_like(weight) if need_w else None
        grad_b = torch.zeros_like(bias) if need_b else None
        loss, n = h.new_zeros(()), len(h)
        for start in range(0, n, rows):
            x, y = h[start : start + rows], targets[start : start + rows]
            z = log_softmax(linear(x, weight, bias), dim=1)
            loss -= z.gather(1, y[:, None]).sum() / n
            z.exp_()
            z[torch.arange(len(y)), y] -= 1
            z /= n
            if need_h:
                torch.mm(z, weight, out=grad_h[start : start + rows])
            if need_w:
                grad_w.addmm_(z.t(), x)
            if need_b:
                grad_b += z.sum(0)
        ctx.save_for_backward(grad_h, grad_w, grad_b)
        return loss

    @staticmethod
    def backward(ctx, g):
        return *(None if t is None else g * t for t in ctx.saved_tensors), None, None


def chunked_loss(head, h, targets, rows):
    return _Chunked.apply(h, head.weight, head.bias, targets, rows)
# %% exercise="chunked_loss" verdict="refused"
# chunks without a checkpoint
def chunked_loss(head, h, targets, rows):
    parts = zip(h.split(rows), targets.split(rows))
    return sum(cross_entropy(head(x), y, reduction="sum") for x, y in parts) / len(h)
# %% exercise="chunked_loss" verdict="refused"
# the mean of the chunks' means, also where the last chunk is shorter
def chunked_loss(head, h, targets, rows):
    def of_rows(x, y):
        return cross_entropy(head(x), y)

    parts = [
        checkpoint(of_rows, x, y, use_reentrant=False) for x, y in zip(h.split(rows), targets.split(rows))
    ]
    return torch.stack(parts).mean()
# %% exercise="chunked_loss" verdict="refused"
# a Function whose backward pass forgets the incoming gradient
class _NoFactor(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, weight, bias, targets, rows):
        grad_h, grad_w = torch.empty_like(h), torch.zeros_like(weight)
        grad_b = None if bias is None else torch.zeros_like(bias)
        loss, n = h.new_zeros(()), len(h)
        for start in range(0, n, rows):
            x, y = h[start : start + rows], targets[start : start + rows]
            z = log_softmax(linear(x, weight, bias), dim=1)
            loss -= z.gather(1, y[:, None]).sum() / n
            z = z.exp()
            z[torch.arange(len(y)), y] -= 1
            z /= n
            grad_h[start : start + rows] = z @ weight
            grad_w += z.t() @ x
            if grad_b is not None:
                grad_b += z.sum(0)
        ctx.save_for_backward(grad_h, grad_w, grad_b)
        return loss

    @staticmethod
    def backward(ctx, g):
        return *ctx.saved_tensors, None, None


def chunked_loss(head, h, targets, rows):
    return _NoFactor.apply(h, head.weight, head.bias, targets, rows)
# %% exercise="chunked_loss" verdict="refused"
# calls backward for each chunk, as with micro-batches, and returns a number without a graph
def chunked_loss(head, h, targets, rows):
    total = 0.0
    for x, y in zip(h.split(rows), targets.split(rows)):
        loss = cross_entropy(head(x), y, reduction="sum") / len(h)
        loss.backward(retain_graph=True)
        total += loss.detach()
    return total
# %% exercise="chunked_loss" verdict="refused"
# one checkpoint around all chunks: in the backward pass all their tables come back together
def chunked_loss(head, h, targets, rows):
    def whole(h):
        return sum(cross_entropy(head(x), y, reduction="sum") for x, y in zip(h.split(rows), targets.split(rows)))

    return checkpoint(whole, h, use_reentrant=False) / len(h)
# %% exercise="chunked_loss" verdict="refused"
# forgets the bias
def chunked_loss(head, h, targets, rows):
    def of_rows(x, y):
        return cross_entropy(x @ head.weight.t(), y, reduction="sum")

    parts = zip(h.split(rows), targets.split(rows))
    return sum(checkpoint(of_rows, x, y, use_reentrant=False) for x, y in parts) / len(h)
# %% exercise="chunked_loss" verdict="refused"
# the logits are computed in chunks, but put together before the loss
def chunked_loss(head, h, targets, rows):
    logits = torch.cat([checkpoint(head, x, use_reentrant=False) for x in h.split(rows)])
    return cross_entropy(logits, targets)
# %% exercise="chunked_loss" verdict="refused"
# nested checkpoints, so the logits are computed a third time
def chunked_loss(head, h, targets, rows):
    def logits(x):
        return checkpoint(head, x, use_reentrant=False)

    def of_rows(x, y):
        return cross_entropy(logits(x).exp().log(), y, reduction="sum")

    parts = zip(h.split(rows), targets.split(rows))
    return sum(checkpoint(of_rows, x, y, use_reentrant=False) for x, y in parts) / len(h)
# %% exercise="lean_step" verdict="passed"
# segments, chunks and hooks
def lean_step(model, lr, ids, targets, rows):
    def step(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None

    def of_rows(x, y):
        return cross_entropy(model.head(x), y, reduction="sum")

    handles = [p.register_post_accumulate_grad_hook(step) for p in model.parameters() if p.requires_grad]
    try:
        h = model.embedding(ids)
        blocks = list(model.blocks)
        while blocks and not any(p.requires_grad for p in blocks[0].parameters()):
            h = blocks.pop(0)(h)
        size = max(1, math.isqrt(len(blocks)))
        for start in range(0, len(blocks), size):
            h = checkpoint(torch.nn.Sequential(*blocks[start : start + size]), h, use_reentrant=False)
        parts = zip(h.split(rows), targets.split(rows))
        loss = sum(checkpoint(of_rows, x, y, use_reentrant=False) for x, y in parts) / len(ids)
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    return loss.item()
# %% exercise="lean_step" verdict="passed"
# by hand: inputs of segments and states of the generator are kept, each segment has its own backward pass
def lean_step(model, lr, ids, targets, rows):
    blocks = list(model.blocks)
    frozen = 0
    while frozen < len(blocks) and not any(p.requires_grad for p in blocks[frozen].parameters()):
        frozen += 1
    with torch.no_grad():
        h = model.embedding(ids)
        for block in blocks[:frozen]:
            h = block(h)
        segments = [blocks[i : i + 5] for i in range(frozen, len(blocks), 5)]
        kept = []
        for segment in segments:
            kept.append((h, torch.get_rng_state()))
            for block in segment:
                h = block(h)
    remaining = Counter(p for segment in segments for block in segment for p in block.parameters())

    def update(parameters):
        with torch.no_grad():
            for p in parameters:
                if p.requires_grad and p.grad is not None:
                    p.add_(p.grad, alpha=-lr)
                    p.grad = None

    grad, total = torch.empty_like(h), 0.0
    for start in range(0, len(h), rows):
        x = h[start : start + rows].detach().requires_grad_()
        loss = cross_entropy(model.head(x), targets[start : start + rows], reduction="sum") / len(h)
        loss.backward()
        total += loss.item()
        grad[start : start + rows] = x.grad
    del h, x, loss
    update(model.head.parameters())
    for number in range(len(segments) - 1, -1, -1):
        x, state = kept.pop()
        x = x.detach().requires_grad_(number > 0)
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(state)
            y = x
            for block in segments[number]:
                y = block(y)
        y.backward(grad)
        del y
        grad = x.grad
        for block in segments[number]:
            remaining.subtract(block.parameters())
        update([p for block in segments[number] for p in block.parameters() if remaining[p] == 0])
    return total
# %% exercise="lean_step" verdict="refused"
# the hooks stay, so the second call makes the step twice
def lean_step(model, lr, ids, targets, rows):
    def step(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None

    def of_rows(x, y):
        return cross_entropy(model.head(x), y, reduction="sum")

    for p in model.parameters():
        if p.requires_grad:
            p.register_post_accumulate_grad_hook(step)
    h = model.embedding(ids)
    blocks = list(model.blocks)
    while blocks and not any(p.requires_grad for p in blocks[0].parameters()):
        h = blocks.pop(0)(h)
    for start in range(0, len(blocks), 5):
        h = checkpoint(torch.nn.Sequential(*blocks[start : start + 5]), h, use_reentrant=False)
    parts = zip(h.split(rows), targets.split(rows))
    loss = sum(checkpoint(of_rows, x, y, use_reentrant=False) for x, y in parts) / len(ids)
    loss.backward()
    return loss.item()
# %% exercise="lean_step" verdict="refused"
# steps after the backward pass, with all gradients in memory
def lean_step(model, lr, ids, targets, rows):
    def of_rows(x, y):
        return cross_entropy(model.head(x), y, reduction="sum")

    h = model.embedding(ids)
    blocks = list(model.blocks)
    while blocks and not any(p.requires_grad for p in blocks[0].parameters()):
        h = blocks.pop(0)(h)
    for start in range(0, len(blocks), 5):
        h = checkpoint(torch.nn.Sequential(*blocks[start : start + 5]), h, use_reentrant=False)
    parts = zip(h.split(rows), targets.split(rows))
    loss = sum(checkpoint(of_rows, x, y, use_reentrant=False) for x, y in parts) / len(ids)
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.requires_grad:
                p.add_(p.grad, alpha=-lr)
                p.grad = None
    return loss.item()
# %% exercise="lean_step" verdict="refused"
# the frozen blocks are in the segments, too
def lean_step(model, lr, ids, targets, rows):
    def step(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None

    def of_rows(x, y):
        return cross_entropy(model.head(x), y, reduction="sum")

    handles = [p.register_post_accumulate_grad_hook(step) for p in model.parameters() if p.requires_grad]
    h = model.embedding(ids)
    for start in range(0, len(model.blocks), 6):
        h = checkpoint(torch.nn.Sequential(*model.blocks[start : start + 6]), h, use_reentrant=False)
    parts = zip(h.split(rows), targets.split(rows))
    loss = sum(checkpoint(of_rows, x, y, use_reentrant=False) for x, y in parts) / len(ids)
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()
# %% exercise="lean_step" verdict="refused"
# micro-batches through the whole model, whose blocks subtract the mean of all rows
def lean_step(model, lr, ids, targets, rows):
    total = 0.0
    for x, y in zip(ids.split(rows), targets.split(rows)):
        loss = cross_entropy(model(x), y, reduction="sum") / len(ids)
        loss.backward()
        total += loss.item()
    with torch.no_grad():
        for p in model.parameters():
            if p.requires_grad:
                p.add_(p.grad, alpha=-lr)
                p.grad = None
    return total
# %% exercise="lean_step" verdict="refused"
# recomputes by hand without the state of the generator
def lean_step(model, lr, ids, targets, rows):
    blocks = list(model.blocks)
    frozen = sum(not any(p.requires_grad for p in block.parameters()) for block in blocks)
    with torch.no_grad():
        h = model.embedding(ids)
        for block in blocks[:frozen]:
            h = block(h)
        segments = [blocks[i : i + 5] for i in range(frozen, len(blocks), 5)]
        inputs = []
        for segment in segments:
            inputs.append(h)
            for block in segment:
                h = block(h)
    h = h.requires_grad_()
    total = 0.0
    for x, y in zip(h.split(rows), targets.split(rows)):
        loss = cross_entropy(model.head(x), y, reduction="sum") / len(ids)
        loss.backward()
        total += loss.item()
    grad = h.grad
    del h
    uses = Counter(p for block in blocks for p in block.parameters())

    def update(parameters):
        with torch.no_grad():
            for p in parameters:
                if p.grad is not None:
                    p.add_(p.grad, alpha=-lr)
                    p.grad = None

    update(model.head.parameters())
    for segment in reversed(segments):
        x = inputs.pop().requires_grad_()
        y = x
        for block in segment:
            y = block(y)
        y.backward(grad)
        grad = x.grad
        for block in segment:
            uses.subtract(block.parameters())
        update([p for block in segment for p in block.parameters() if uses[p] == 0])
    return total
# %% exercise="lean_step" verdict="refused"
# a block that stands in two segments makes its step after the upper one, before the lower one is recomputed
def lean_step(model, lr, ids, targets, rows):
    blocks = list(model.blocks)
    frozen = sum(not any(p.requires_grad for p in block.parameters()) for block in blocks)
    with torch.no_grad():
        h = model.embedding(ids)
        for block in blocks[:frozen]:
            h = block(h)
        segments = [blocks[i : i + 5] for i in range(frozen, len(blocks), 5)]
        kept = []
        for segment in segments:
            kept.append((h, torch.get_rng_state()))
            for block in segment:
                h = block(h)
    h = h.requires_grad_()
    total = 0.0
    for x, y in zip(h.split(rows), targets.split(rows)):
        loss = cross_entropy(model.head(x), y, reduction="sum") / len(ids)
        loss.backward()
        total += loss.item()
    grad = h.grad
    del h

    def update(module):
        with torch.no_grad():
            for p in module.parameters():
                if p.grad is not None:
                    p.add_(p.grad, alpha=-lr)
                    p.grad = None

    update(model.head)
    for segment in reversed(segments):
        x, state = kept.pop()
        x = x.requires_grad_()
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(state)
            y = x
            for block in segment:
                y = block(y)
        y.backward(grad)
        grad = x.grad
        for block in segment:
            update(block)
    return total
# %% exercise="lean_step" verdict="refused"
# a checkpoint for each block: its 30 inputs stay in memory
def lean_step(model, lr, ids, targets, rows):
    def step(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None

    def of_rows(x, y):
        return cross_entropy(model.head(x), y, reduction="sum")

    handles = [p.register_post_accumulate_grad_hook(step) for p in model.parameters() if p.requires_grad]
    h = model.embedding(ids)
    for block in model.blocks:
        h = checkpoint(block, h, use_reentrant=False) if next(block.parameters()).requires_grad else block(h)
    parts = zip(h.split(rows), targets.split(rows))
    loss = sum(checkpoint(of_rows, x, y, use_reentrant=False) for x, y in parts) / len(ids)
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()
# %% exercise="lean_step" verdict="refused"
# the head sees all rows at once
def lean_step(model, lr, ids, targets, rows):
    def step(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None

    handles = [p.register_post_accumulate_grad_hook(step) for p in model.parameters() if p.requires_grad]
    h = model.embedding(ids)
    blocks = list(model.blocks)
    while blocks and not any(p.requires_grad for p in blocks[0].parameters()):
        h = blocks.pop(0)(h)
    for start in range(0, len(blocks), 5):
        h = checkpoint(torch.nn.Sequential(*blocks[start : start + 5]), h, use_reentrant=False)
    loss = cross_entropy(model.head(h), targets)
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()
