# %%
import copy
from itertools import product

import torch
from torch import nn
from torch.nn.functional import gumbel_softmax, mse_loss, one_hot
# %% exercise="predict_discrete" verdict="passed"
# by reading
predict_discrete = {
    "x.round()": 0.0,
    "x - x.floor()": 1.0,
    "(x > 0.5).float()": "no graph",
    "x * (x > 0.5)": 1.0,
    "torch.bernoulli(x)": 0.0,
    "x + (x.round() - x).detach()": 1.0,
    "x.detach() + x.round() - x": -1.0,
}
# %% exercise="predict_discrete" verdict="refused"
# a random draw has no graph
predict_discrete = {
    "x.round()": 0.0,
    "x - x.floor()": 1.0,
    "(x > 0.5).float()": "no graph",
    "x * (x > 0.5)": 1.0,
    "torch.bernoulli(x)": "no graph",
    "x + (x.round() - x).detach()": 1.0,
    "x.detach() + x.round() - x": -1.0,
}
# %% exercise="predict_discrete" verdict="refused"
# a comparison raises an error in backward
predict_discrete = {
    "x.round()": 0.0,
    "x - x.floor()": 1.0,
    "(x > 0.5).float()": "RuntimeError",
    "x * (x > 0.5)": "RuntimeError",
    "torch.bernoulli(x)": 0.0,
    "x + (x.round() - x).detach()": 1.0,
    "x.detach() + x.round() - x": -1.0,
}
# %% exercise="predict_discrete" verdict="refused"
# both lines with detach are straight-through
predict_discrete = {
    "x.round()": 0.0,
    "x - x.floor()": 1.0,
    "(x > 0.5).float()": "no graph",
    "x * (x > 0.5)": 1.0,
    "torch.bernoulli(x)": 0.0,
    "x + (x.round() - x).detach()": 1.0,
    "x.detach() + x.round() - x": 1.0,
}
# %% exercise="predict_discrete" verdict="refused"
# all steps are flat: x - floor, too
predict_discrete = {
    "x.round()": 0.0,
    "x - x.floor()": 0.0,
    "(x > 0.5).float()": "no graph",
    "x * (x > 0.5)": 1.0,
    "torch.bernoulli(x)": 0.0,
    "x + (x.round() - x).detach()": 1.0,
    "x.detach() + x.round() - x": -1.0,
}
# %% exercise="quantize" verdict="passed"
# clamped in steps, then rounded
def quantize(x, step, levels):
    k = (x / step).clamp(-levels, levels)
    return step * (k + (k.round() - k).detach())
# %% exercise="quantize" verdict="refused"
# clamped after the straight-through rounding: half a step too much passes
def quantize(x, step, levels):
    k = x / step
    k = k + (k.round() - k).detach()
    return step * k.clamp(-levels, levels)
# %% exercise="quantize" verdict="refused"
# the whole result is put behind x: step gets nothing, outside a 1
def quantize(x, step, levels):
    q = step * torch.round(x / step).clamp(-levels, levels)
    return x + (q - x).detach()
# %% exercise="quantize" verdict="refused"
# the division by step is detached: its half of the product rule is missing
def quantize(x, step, levels):
    k = (x / step.detach()).clamp(-levels, levels)
    return step * (k + (k.round() - k).detach())
# %% exercise="quantize" verdict="refused"
# the limit is inside the detached part: outside a 1 passes
def quantize(x, step, levels):
    k = x / step
    return step * (k + (k.round().clamp(-levels, levels) - k).detach())
# %% exercise="moments" verdict="passed"
# a loop over all outcomes
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    gradients, weights = [], []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape(logits.shape)
        (g,) = torch.autograd.grad(surrogate(logits, bits), logits)
        gradients.append(g)
        weights.append(torch.where(bits == 1, p, 1 - p).prod())
    g = torch.stack(gradients)
    w = torch.stack(weights).reshape(-1, *[1] * logits.dim())
    mean = (w * g).sum(0)
    variance = (w * (g - mean) ** 2).sum(0)
    return mean, variance
# %% exercise="moments" verdict="refused"
# the mean of the square: not centred
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    gradients, weights = [], []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape(logits.shape)
        (g,) = torch.autograd.grad(surrogate(logits, bits), logits)
        gradients.append(g)
        weights.append(torch.where(bits == 1, p, 1 - p).prod())
    g = torch.stack(gradients)
    w = torch.stack(weights).reshape(-1, *[1] * logits.dim())
    mean = (w * g).sum(0)
    variance = (w * g**2).sum(0)
    return mean, variance
# %% exercise="moments" verdict="refused"
# standard deviation for variance
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    gradients, weights = [], []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape(logits.shape)
        (g,) = torch.autograd.grad(surrogate(logits, bits), logits)
        gradients.append(g)
        weights.append(torch.where(bits == 1, p, 1 - p).prod())
    g = torch.stack(gradients)
    w = torch.stack(weights).reshape(-1, *[1] * logits.dim())
    mean = (w * g).sum(0)
    variance = (w * (g - mean) ** 2).sum(0)
    return mean, variance.sqrt()
# %% exercise="moments" verdict="refused"
# backward() into .grad, which is emptied
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    gradients, weights = [], []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape(logits.shape)
        logits.grad = None
        surrogate(logits, bits).backward()
        g = logits.grad.clone()
        gradients.append(g)
        weights.append(torch.where(bits == 1, p, 1 - p).prod())
    g = torch.stack(gradients)
    w = torch.stack(weights).reshape(-1, *[1] * logits.dim())
    mean = (w * g).sum(0)
    variance = (w * (g - mean) ** 2).sum(0)
    return mean, variance
# %% exercise="moments" verdict="refused"
# the probability of a 0 is forgotten: only the ones count
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    gradients, weights = [], []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape(logits.shape)
        (g,) = torch.autograd.grad(surrogate(logits, bits), logits)
        gradients.append(g)
        weights.append((p**bits).prod())
    g = torch.stack(gradients)
    w = torch.stack(weights).reshape(-1, *[1] * logits.dim())
    mean = (w * g).sum(0)
    variance = (w * (g - mean) ** 2).sum(0)
    return mean, variance
# %% exercise="hide_bias" verdict="passed"
# a cubic with given slopes at 0 and 1
def hide_bias(p):
    at_0, at_1 = 1 - 20 * p, 1 + 20 * (1 - p)  # mean slope at q: 1 + 20 (q - p), below 0 at q = 0.05
    cubic = at_0 + at_1 - 2
    square = 1 - at_0 - cubic

    def loss(b):
        return at_0 * b + square * b**2 + cubic * b**3

    return loss
# %% exercise="hide_bias" verdict="refused"
# right at p, but nowhere of opposite sign
def hide_bias(p):
    return lambda b: b ** (1 / p)
# %% exercise="hide_bias" verdict="refused"
# p and 1 - p mixed up
def hide_bias(p):
    at_0, at_1 = 1 + 20 * (1 - p), 1 - 20 * p
    cubic = at_0 + at_1 - 2
    square = 1 - at_0 - cubic
    return lambda b: at_0 * b + square * b**2 + cubic * b**3
# %% exercise="hide_bias" verdict="refused"
# the true derivative is 0
def hide_bias(p):
    # the mean slope is a multiple of q - p
    c = 10.0
    at_0, at_1 = -c * p, c * (1 - p)
    cubic = at_0 + at_1
    square = -at_0 - cubic
    return lambda b: at_0 * b + square * b**2 + cubic * b**3
# %% exercise="hide_bias" verdict="refused"
# the parabola, moved to p
def hide_bias(p):
    return lambda b: (b - p) ** 2
# %% exercise="score_loss" verdict="passed"
# leave one out
def score_loss(log_probs, losses):
    n = len(losses)
    fixed = losses.detach()
    baseline = (fixed.sum() - fixed) / (n - 1)
    return (log_probs * (fixed - baseline)).mean() + losses.mean()
# %% exercise="score_loss" verdict="refused"
# the losses' own gradient is forgotten
def score_loss(log_probs, losses):
    n = len(losses)
    fixed = losses.detach()
    baseline = (fixed.sum() - fixed) / (n - 1)
    return (log_probs * (fixed - baseline)).mean()
# %% exercise="score_loss" verdict="refused"
# losses are not detached in the product
def score_loss(log_probs, losses):
    n = len(losses)
    fixed = losses
    baseline = (fixed.sum() - fixed) / (n - 1)
    return (log_probs * (fixed - baseline)).mean()
# %% exercise="score_loss" verdict="refused"
# sums in place of means
def score_loss(log_probs, losses):
    n = len(losses)
    fixed = losses.detach()
    baseline = (fixed.sum() - fixed) / (n - 1)
    return (log_probs * (fixed - baseline)).sum() + losses.sum()
# %% exercise="score_loss" verdict="refused"
# divided by the standard deviation, as in GRPO
def score_loss(log_probs, losses):
    n = len(losses)
    fixed = losses.detach()
    baseline = (fixed.sum() - fixed) / (n - 1)
    return (log_probs * (fixed - baseline) / (fixed.std() + 1e-6)).mean() + losses.mean()
# %% exercise="fix_gumbel" verdict="passed"
# plus and minus exchanged
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + soft - soft.detach()
# %% exercise="fix_gumbel" verdict="refused"
# torch's own function, which draws its own noise
def fix_gumbel(logits, temperature, noise):
    return gumbel_softmax(logits, tau=temperature, hard=True)
# %% exercise="fix_gumbel" verdict="refused"
# the gradient of the logits' identity, not of the softmax
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + noisy - noisy.detach()
# %% exercise="fix_gumbel" verdict="refused"
# only the chosen entry has a gradient
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard * (1 + soft - soft.detach())
# %% exercise="fix_gumbel" verdict="refused"
# the soft choice is returned
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return soft
# %% exercise="predict_stops" verdict="passed"
# by reading
predict_stops = {
    "nothing stopped": 2.0,
    "target.detach()": -4.0,
    "target.clone()": 2.0,
    "target.item()": -4.0,
    "target under no_grad": -4.0,
    "value.detach()": 6.0,
    "(target - value).detach()": "no graph",
}
# %% exercise="predict_stops" verdict="refused"
# a number and no_grad take away the whole graph
predict_stops = {
    "nothing stopped": 2.0,
    "target.detach()": -4.0,
    "target.clone()": 2.0,
    "target.item()": "no graph",
    "target under no_grad": "no graph",
    "value.detach()": 6.0,
    "(target - value).detach()": "no graph",
}
# %% exercise="predict_stops" verdict="refused"
# the inner derivative -1 of the value is forgotten
predict_stops = {
    "nothing stopped": 2.0,
    "target.detach()": 4.0,
    "target.clone()": 2.0,
    "target.item()": 4.0,
    "target under no_grad": 4.0,
    "value.detach()": 6.0,
    "(target - value).detach()": "no graph",
}
# %% exercise="predict_stops" verdict="refused"
# all detached gives a gradient of 0
predict_stops = {
    "nothing stopped": 2.0,
    "target.detach()": -4.0,
    "target.clone()": 2.0,
    "target.item()": -4.0,
    "target under no_grad": -4.0,
    "value.detach()": 6.0,
    "(target - value).detach()": 0.0,
}
# %% exercise="predict_stops" verdict="refused"
# the target is no parameter: without the value no graph
predict_stops = {
    "nothing stopped": 2.0,
    "target.detach()": -4.0,
    "target.clone()": 2.0,
    "target.item()": -4.0,
    "target under no_grad": -4.0,
    "value.detach()": "no graph",
    "(target - value).detach()": "no graph",
}
# %% exercise="fix_target" verdict="passed"
# in place, under no_grad
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            if slow is not fast:
                slow.mul_(1 - rate).add_(rate * fast)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %% exercise="fix_target" verdict="refused"
# the line with the buffers is left
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            if slow is not fast:
                slow.mul_(1 - rate).add_(rate * fast)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow = fast
    return loss.item()
# %% exercise="fix_target" verdict="refused"
# the target is frozen to keep .grad empty
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    target.requires_grad_(False)
    goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            if slow is not fast:
                slow.mul_(1 - rate).add_(rate * fast)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %% exercise="fix_target" verdict="refused"
# rate and 1 - rate exchanged
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            if slow is not fast:
                slow.mul_(rate).add_((1 - rate) * fast)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %% exercise="fix_target" verdict="refused"
# the target computes in eval mode and stays there
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    target.eval()
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            if slow is not fast:
                slow.mul_(1 - rate).add_(rate * fast)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
