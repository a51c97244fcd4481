# %%
import copy
from itertools import product

import torch
from torch.nn.functional import mse_loss, one_hot

SLOPES = {
    "x.round()": 0.0,
    "x - x.floor()": 1.0,
    "(x > 0.5).float()": "no graph",
    "x * (x > 0.5)": 1.0,
    "torch.bernoulli(x)": 0.0,
    "x + (x.round() - x).detach()": 1.0,
    "x.detach() + x.round() - x": -1.0,
}
STOPS = {
    "nothing stopped": 2.0,
    "target.detach()": -4.0,
    "target.clone()": 2.0,
    "target.item()": -4.0,
    "target under no_grad": -4.0,
    "value.detach()": 6.0,
    "(target - value).detach()": "no graph",
}
# %% exercise="predict_discrete" verdict="passed"
# a careful reader
predict_discrete = SLOPES
# %% exercise="predict_discrete" verdict="passed"
# integers
predict_discrete = {key: value if isinstance(value, str) else int(value) for key, value in SLOPES.items()}
# %% exercise="predict_discrete" verdict="refused"
# steps have no graph
predict_discrete = {**SLOPES, "x.round()": "no graph", "torch.bernoulli(x)": "no graph"}
# %% exercise="predict_discrete" verdict="refused"
# chance cannot be differentiated
predict_discrete = {**SLOPES, "torch.bernoulli(x)": "RuntimeError"}
# %% exercise="predict_discrete" verdict="refused"
# a comparison is a step as well
predict_discrete = {**SLOPES, "(x > 0.5).float()": 0.0}
# %% exercise="predict_discrete" verdict="refused"
# a comparison stops everything
predict_discrete = {**SLOPES, "x * (x > 0.5)": "no graph"}
# %% exercise="predict_discrete" verdict="refused"
# the same value, so the same gradient
predict_discrete = {**SLOPES, "x.detach() + x.round() - x": 1.0}
# %% exercise="predict_discrete" verdict="refused"
# floor and identity cancel
predict_discrete = {**SLOPES, "x - x.floor()": 0.0, "x + (x.round() - x).detach()": 0.0}
# %% exercise="predict_discrete" verdict="refused"
# the parts with x cancel
predict_discrete = {**SLOPES, "x.detach() + x.round() - x": 0.0}
# %% exercise="predict_discrete" verdict="refused"
# a comparison raises, as heaviside does
predict_discrete = {**SLOPES, "(x > 0.5).float()": "RuntimeError"}
# %% exercise="quantize" verdict="passed"
# clamp first, then round straight through
def quantize(x, step, levels):
    scaled = (x / step).clamp(-levels, levels)
    return (scaled + (scaled.round() - scaled).detach()) * step
# %% exercise="quantize" verdict="passed"
# a Function with the formulas of the text
class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, levels):
        scaled = x / step
        rounded = scaled.round().clamp(-levels, levels)
        ctx.save_for_backward(scaled, rounded)
        ctx.levels = levels
        return rounded * step

    @staticmethod
    def backward(ctx, grad):
        scaled, rounded = ctx.saved_tensors
        inside = scaled.abs() < ctx.levels
        by_step = torch.where(inside, rounded - scaled, rounded)
        return grad * inside, (grad * by_step).sum(), None


def quantize(x, step, levels):
    return Quantize.apply(x, step, levels)
# %% exercise="quantize" verdict="passed"
# clamped in the units of x
def quantize(x, step, levels):
    end = levels * step
    inside = torch.minimum(torch.maximum(x, -end), end)
    units = inside / step
    return step * (units + (torch.round(units) - units).detach())
# %% exercise="quantize" verdict="refused"
# rounded first, then clamped
def quantize(x, step, levels):
    scaled = x / step
    rounded = scaled + (scaled.round() - scaled).detach()
    return rounded.clamp(-levels, levels) * step
# %% exercise="quantize" verdict="refused"
# everything straight through
def quantize(x, step, levels):
    grid = (x / step).round().clamp(-levels, levels) * step
    return x + (grid - x).detach()
# %% exercise="quantize" verdict="refused"
# the step is a number
def quantize(x, step, levels):
    scale = step.item()
    inside = x.clamp(-levels * scale, levels * scale)
    return inside + ((inside / scale).round() * scale - inside).detach()
# %% exercise="quantize" verdict="refused"
# no gradient passes the rounding
def quantize(x, step, levels):
    return (x / step).round().clamp(-levels, levels) * step
# %% exercise="quantize" verdict="refused"
# clamping is straight through, too
def quantize(x, step, levels):
    scaled = x / step
    return (scaled + (scaled.round().clamp(-levels, levels) - scaled).detach()) * step
# %% exercise="quantize" verdict="refused"
# the last half step counts as outside
def quantize(x, step, levels):
    scaled = x / step
    inside = scaled.abs() < levels - 0.5
    rounded = scaled.round().clamp(-levels, levels)
    return torch.where(inside, scaled + (rounded - scaled).detach(), rounded.detach()) * step
# %% exercise="quantize" verdict="refused"
# only the quotient's path to the step is stopped
def quantize(x, step, levels):
    scaled = (x / step.detach()).clamp(-levels, levels)
    return (scaled + (scaled.round() - scaled).detach()) * step
# %% exercise="moments" verdict="passed"
# stacked outcomes
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    gradients, weights = [], []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=logits.dtype).reshape(logits.shape)
        gradients.append(torch.autograd.grad(surrogate(logits, bits), logits)[0])
        weights.append(torch.where(bits > 0, p, 1 - p).prod())
    gradients, weights = torch.stack(gradients), torch.stack(weights)
    mean = torch.tensordot(weights, gradients, 1)
    return mean, torch.tensordot(weights, (gradients - mean) ** 2, 1)
# %% exercise="moments" verdict="passed"
# a leaf of its own, and running sums
def moments(surrogate, logits):
    with torch.no_grad():
        p = torch.sigmoid(logits).flatten().tolist()
    found = []
    for number in range(2 ** len(p)):
        bits = [number >> k & 1 for k in range(len(p))]
        weight = 1.0
        for bit, chance in zip(bits, p):
            weight *= chance if bit else 1 - chance
        leaf = logits.detach().clone().requires_grad_()
        surrogate(leaf, torch.tensor(bits, dtype=torch.float64).view(logits.shape)).backward()
        found.append((weight, leaf.grad))
    mean = sum(weight * gradient for weight, gradient in found)
    return mean, sum(weight * (gradient - mean) ** 2 for weight, gradient in found)
# %% exercise="moments" verdict="passed"
# the mean of squares minus the square of the mean
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    mean, square = torch.zeros_like(p), torch.zeros_like(p)
    for outcome in product((0.0, 1.0), repeat=p.numel()):
        bits = torch.tensor(outcome, dtype=p.dtype).view_as(p)
        weight = (bits * p + (1 - bits) * (1 - p)).prod()
        (g,) = torch.autograd.grad(surrogate(logits, bits), logits)
        mean += weight * g
        square += weight * g**2
    return mean, square - mean**2
# %% exercise="moments" verdict="refused"
# all outcomes weigh the same
def moments(surrogate, logits):
    gradients = []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=logits.dtype).reshape(logits.shape)
        gradients.append(torch.autograd.grad(surrogate(logits, bits), logits)[0])
    gradients = torch.stack(gradients)
    return gradients.mean(0), gradients.var(0, correction=0)
# %% exercise="moments" verdict="refused"
# backward passes into the learner's own `.grad`
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    gradients, weights = [], []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=logits.dtype).reshape(logits.shape)
        logits.grad = None
        surrogate(logits, bits).backward()
        gradients.append(logits.grad)
        weights.append(torch.where(bits > 0, p, 1 - p).prod())
    gradients, weights = torch.stack(gradients), torch.stack(weights)
    mean = torch.tensordot(weights, gradients, 1)
    return mean, torch.tensordot(weights, (gradients - mean) ** 2, 1)
# %% exercise="moments" verdict="refused"
# the second moment
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    mean, square = torch.zeros_like(p), torch.zeros_like(p)
    for outcome in product((0.0, 1.0), repeat=p.numel()):
        bits = torch.tensor(outcome, dtype=p.dtype).view_as(p)
        weight = (bits * p + (1 - bits) * (1 - p)).prod()
        (g,) = torch.autograd.grad(surrogate(logits, bits), logits)
        mean += weight * g
        square += weight * g**2
    return mean, square
# %% exercise="moments" verdict="refused"
# the logits are taken for probabilities
def moments(surrogate, logits):
    p = logits.detach()
    mean, square = torch.zeros_like(p), torch.zeros_like(p)
    for outcome in product((0.0, 1.0), repeat=p.numel()):
        bits = torch.tensor(outcome, dtype=p.dtype).view_as(p)
        weight = (bits * p + (1 - bits) * (1 - p)).prod()
        (g,) = torch.autograd.grad(surrogate(logits, bits), logits)
        mean += weight * g
        square += weight * g**2
    return mean, square - mean**2
# %% exercise="moments" verdict="refused"
# many trials
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    trials = [torch.autograd.grad(surrogate(logits, torch.bernoulli(p)), logits)[0] for _ in range(1000)]
    gradients = torch.stack(trials)
    return gradients.mean(0), gradients.var(0)
# %% exercise="moments" verdict="refused"
# the weights keep their graph
def moments(surrogate, logits):
    p = logits.sigmoid()
    gradients, weights = [], []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=logits.dtype).reshape(logits.shape)
        gradients.append(torch.autograd.grad(surrogate(logits, bits), logits)[0])
        weights.append(torch.where(bits > 0, p, 1 - p).prod())
    gradients, weights = torch.stack(gradients), torch.stack(weights)
    mean = torch.tensordot(weights, gradients, 1)
    return mean, torch.tensordot(weights, (gradients - mean) ** 2, 1)
# %% exercise="moments" verdict="refused"
# only all bits off and all bits on
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    off, on = (torch.autograd.grad(surrogate(logits, bits), logits)[0] for bits in (torch.zeros_like(p), torch.ones_like(p)))
    mean = (1 - p) * off + p * on
    return mean, (1 - p) * (off - mean) ** 2 + p * (on - mean) ** 2
# %% exercise="moments" verdict="refused"
# mean and variance are computed by two loops with calls of their own
def moments(surrogate, logits):
    p = logits.detach().sigmoid()

    def expected(of):
        total = torch.zeros_like(p)
        for outcome in product((0.0, 1.0), repeat=p.numel()):
            bits = torch.tensor(outcome, dtype=p.dtype).view_as(p)
            weight = (bits * p + (1 - bits) * (1 - p)).prod()
            total += weight * of(torch.autograd.grad(surrogate(logits, bits), logits)[0])
        return total

    mean = expected(lambda g: g)
    return mean, expected(lambda g: (g - mean) ** 2)
# %% exercise="hide_bias" verdict="passed"
# a cubic from the two conditions
def hide_bias(p):
    far = 0.95 if p < 0.5 else 0.05
    c = (1 - 3 * p) / (2 * p - 1)
    d = -(p + far) / 2 / (1 - 2 * p)
    return lambda b: b**3 + c * b**2 + d * b
# %% exercise="hide_bias" verdict="passed"
# slopes are chosen, then Hermite's polynomial
def hide_bias(p):
    left = -(p + 0.04)
    right = 1 + left
    rise = p * right + (1 - p) * left

    def loss(b):
        return (b**3 - 2 * b**2 + b) * left + (3 * b**2 - 2 * b**3) * rise + (b**3 - b**2) * right

    return loss
# %% exercise="hide_bias" verdict="refused"
# a parabola with its lowest point at p
def hide_bias(p):
    return lambda b: (b - p) ** 2
# %% exercise="hide_bias" verdict="refused"
# right at p, but never misleading: no linear term
def hide_bias(p):
    c = (1 - 3 * p) / (2 * p - 1)
    return lambda b: b**3 + c * b**2
# %% exercise="hide_bias" verdict="refused"
# no bias anywhere
def hide_bias(p):
    return lambda b: b
# %% exercise="hide_bias" verdict="refused"
# a constant
def hide_bias(p):
    return lambda b: 0 * b + p
# %% exercise="hide_bias" verdict="refused"
# the loss of the text, moved
def hide_bias(p):
    return lambda b: (b - 0.25) ** 2 + p
# %% exercise="hide_bias" verdict="refused"
# the weights of the mean are swapped
def hide_bias(p):
    left = -(p + 0.04)
    right = 1 + left
    rise = (1 - p) * right + p * left

    def loss(b):
        return (b**3 - 2 * b**2 + b) * left + (3 * b**2 - 2 * b**3) * rise + (b**3 - b**2) * right

    return loss
# %% exercise="score_loss" verdict="passed"
# leave one out
def score_loss(log_probs, losses):
    fixed = losses.detach()
    n = len(fixed)
    others = (fixed.sum() - fixed) / (n - 1)
    return (log_probs * (fixed - others)).mean() + losses.mean()
# %% exercise="score_loss" verdict="passed"
# the mean of all, divided by n - 1
def score_loss(log_probs, losses):
    advantage = (losses - losses.mean()).detach()
    return (log_probs * advantage).sum() / (losses.numel() - 1) + losses.mean()
# %% exercise="score_loss" verdict="passed"
# pairs are compared
def score_loss(log_probs, losses):
    n = len(losses)
    total = losses.mean()
    for i in range(n):
        baseline = torch.stack([losses[j] for j in range(n) if j != i]).mean()
        total = total + log_probs[i] * (losses[i] - baseline).detach() / n
    return total
# %% exercise="score_loss" verdict="refused"
# the mean of all
def score_loss(log_probs, losses):
    return (log_probs * (losses - losses.mean()).detach()).mean() + losses.mean()
# %% exercise="score_loss" verdict="refused"
# no baseline
def score_loss(log_probs, losses):
    return (log_probs * losses.detach()).mean() + losses.mean()
# %% exercise="score_loss" verdict="refused"
# the losses' own gradient is forgotten
def score_loss(log_probs, losses):
    fixed = losses.detach()
    others = (fixed.sum() - fixed) / (len(fixed) - 1)
    return (log_probs * (fixed - others)).mean()
# %% exercise="score_loss" verdict="refused"
# the losses are not stopped in the product
def score_loss(log_probs, losses):
    others = (losses.sum() - losses) / (len(losses) - 1)
    return (log_probs * (losses - others.detach())).mean() + losses.mean()
# %% exercise="score_loss" verdict="refused"
# nothing is stopped, and nothing added
def score_loss(log_probs, losses):
    others = (losses.sum() - losses) / (len(losses) - 1)
    return (log_probs * (losses - others)).mean()
# %% exercise="score_loss" verdict="refused"
# divided by the deviation
def score_loss(log_probs, losses):
    fixed = losses.detach()
    advantage = (fixed - fixed.mean()) / (fixed.std() + 1e-8)
    return (log_probs * advantage).mean() + losses.mean()
# %% exercise="score_loss" verdict="refused"
# sums in place of means
def score_loss(log_probs, losses):
    fixed = losses.detach()
    others = (fixed.sum() - fixed) / (len(fixed) - 1)
    return (log_probs * (fixed - others)).sum() + losses.sum()
# %% exercise="score_loss" verdict="refused"
# the first sample is the baseline of all
def score_loss(log_probs, losses):
    return (log_probs * (losses - losses[0]).detach()).mean() + losses.mean()
# %% exercise="score_loss" verdict="refused"
# the mean of all outside, n/(n-1) on the wrong side
def score_loss(log_probs, losses):
    n = len(losses)
    return (log_probs * (losses - losses.mean()).detach()).mean() * (n - 1) / n + losses.mean()
# %% exercise="fix_gumbel" verdict="passed"
# the two signs
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + soft - soft.detach()
# %% exercise="fix_gumbel" verdict="passed"
# scattered, chosen by the noisy logits
def fix_gumbel(logits, temperature, noise):
    noisy = logits - (-noise.log()).log()
    soft = torch.softmax(noisy / temperature, dim=-1)
    hard = torch.zeros_like(soft).scatter(-1, noisy.argmax(-1, keepdim=True), 1.0)
    return (hard - soft).detach() + soft
# %% exercise="fix_gumbel" verdict="refused"
# the choice alone
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    return one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
# %% exercise="fix_gumbel" verdict="refused"
# the soft choice
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    return (noisy / temperature).softmax(-1)
# %% exercise="fix_gumbel" verdict="refused"
# the sign of the noise is turned instead
def fix_gumbel(logits, temperature, noise):
    noisy = logits + torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard - soft + soft.detach()
# %% exercise="fix_gumbel" verdict="refused"
# both signs are turned
def fix_gumbel(logits, temperature, noise):
    noisy = logits + torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + soft - soft.detach()
# %% exercise="fix_gumbel" verdict="refused"
# a factor in place of a sum
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard * soft / soft.detach()
# %% exercise="fix_gumbel" verdict="refused"
# the gradient of the softmax without temperature
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = noisy.softmax(-1)
    hard = one_hot(noisy.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + soft - soft.detach()
# %% exercise="fix_gumbel" verdict="refused"
# the last one stays attached as well
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard - soft.detach() + soft.detach()
# %% exercise="fix_gumbel" verdict="refused"
# the noise does not reach the gradient
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (logits / temperature).softmax(-1)
    hard = one_hot(noisy.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + soft - soft.detach()
# %% exercise="predict_stops" verdict="passed"
# a careful reader
predict_stops = STOPS
# %% exercise="predict_stops" verdict="passed"
# integers
predict_stops = {key: value if isinstance(value, str) else int(value) for key, value in STOPS.items()}
# %% exercise="predict_stops" verdict="refused"
# a copy is a constant
predict_stops = {**STOPS, "target.clone()": -4.0}
# %% exercise="predict_stops" verdict="refused"
# a number in the loss leaves no graph
predict_stops = {**STOPS, "target.item()": "no graph", "target under no_grad": "no graph"}
# %% exercise="predict_stops" verdict="refused"
# the two stops are swapped
predict_stops = {**STOPS, "target.detach()": 6.0, "value.detach()": -4.0}
# %% exercise="predict_stops" verdict="refused"
# no gradient is zero
predict_stops = {**STOPS, "(target - value).detach()": 0.0}
# %% exercise="predict_stops" verdict="refused"
# the inner derivative of the value is +1
predict_stops = {
    **STOPS,
    "target.detach()": 4.0,
    "target.item()": 4.0,
    "target under no_grad": 4.0,
    "value.detach()": 6.0,
}
# %% exercise="predict_stops" verdict="refused"
# without a stop the target is a constant all the same
predict_stops = {**STOPS, "nothing stopped": -4.0, "target.clone()": -4.0}
# %% exercise="predict_stops" verdict="refused"
# the target's slope is 1
predict_stops = {**STOPS, "nothing stopped": 0.0, "target.clone()": 0.0, "value.detach()": 4.0}
# %% exercise="fix_target" verdict="passed"
# lerp_, shared layers left out
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
                slow.lerp_(fast, rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %% exercise="fix_target" verdict="passed"
# the goal first, and copies of the right-hand sides
@torch.no_grad()
def follow(target, net, rate):
    for slow, fast in zip(target.parameters(), net.parameters()):
        slow.copy_((1 - rate) * slow + rate * fast)
    for slow, fast in zip(target.buffers(), net.buffers()):
        slow.copy_(fast)


def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    optimizer.zero_grad()
    goal = reward + discount * (1 - done) * target(next_state).squeeze(-1).detach()
    loss = (net(state).squeeze(-1) - goal).square().mean()
    loss.backward()
    optimizer.step()
    follow(target, net, rate)
    return loss.detach()
# %% exercise="fix_target" verdict="refused"
# mul_ and add_ shrink a shared layer
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
            slow.mul_(1 - rate).add_(fast, alpha=rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %% exercise="fix_target" verdict="refused"
# new memory by .data
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for slow, fast in zip(target.parameters(), net.parameters()):
        slow.data = (1 - rate) * slow.data + rate * fast.data
    for slow, fast in zip(target.buffers(), net.buffers()):
        slow.data = fast.data
    return loss.item()
# %% exercise="fix_target" verdict="refused"
# a full copy
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    target.load_state_dict(net.state_dict())
    return loss.item()
# %% exercise="fix_target" verdict="refused"
# the rate on the wrong side
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow.copy_(rate * slow + (1 - rate) * fast)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %% exercise="fix_target" verdict="refused"
# the target is put into eval mode
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    target.eval()
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow.lerp_(fast, rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %% exercise="fix_target" verdict="refused"
# buffers are forgotten
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow.lerp_(fast, rate)
    return loss.item()
# %% exercise="fix_target" verdict="refused"
# the target moves before the step
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow.lerp_(fast, rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    optimizer.step()
    return loss.item()
# %% exercise="fix_target" verdict="refused"
# the target is frozen for good
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    target.requires_grad_(False)
    goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow.lerp_(fast, rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %% exercise="fix_target" verdict="refused"
# the goal is trained, and its gradients are deleted afterwards
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    target.zero_grad()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow.lerp_(fast, rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %% exercise="fix_target" verdict="refused"
# a copy of the target answers, and buffers of the target stay behind
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * copy.deepcopy(target).eval()(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow.lerp_(fast, rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
