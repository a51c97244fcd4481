# %%
from itertools import product
import torch
from torch.nn.functional import mse_loss, one_hot
# %% exercise="quantize" verdict="passed"
# the ends as multiples of the step
def quantize(x, step, levels):
    end = levels * step
    limited = torch.minimum(torch.maximum(x, -end), end)
    steps = limited / step
    return (steps + (steps.round() - steps).detach()) * step
# %% exercise="quantize" verdict="passed"
# a Function with the formulas of the text
def quantize(x, step, levels):
    class Quantize(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, step):
            ctx.save_for_backward(x, step)
            return (x / step).round().clamp(-levels, levels) * step
        @staticmethod
        def backward(ctx, grad):
            x, step = ctx.saved_tensors
            steps = x / step
            inside = steps.abs() < levels
            slope = torch.where(inside, steps.round() - steps, steps.sign() * levels)
            return grad * inside, (grad * slope).sum()
    return Quantize.apply(x, step)
# %% exercise="quantize" verdict="refused" mistake="step_counts_the_range_alone"
# limited with a gradient, but the grid is a constant: inside no gradient of the step
def quantize(x, step, levels):
    limited = torch.clamp(x, -levels * step, levels * step)
    grid = step * (limited / step).round()
    return limited + (grid - limited).detach()
# %% exercise="quantize" verdict="refused" mistake="half_a_step_further"
# torch's own: the step is a number there
def quantize(x, step, levels):
    return torch.fake_quantize_per_tensor_affine(x, step.item(), 0, -levels, levels)
# %% exercise="quantize" verdict="passed"
# two branches
def quantize(x, step, levels):
    steps = x / step
    inner = step * (steps + (steps.round() - steps).detach())
    return torch.where(steps.abs() < levels, inner, x.sign() * levels * step)
# %% exercise="quantize" verdict="passed"
# hardtanh and a detached rounding
def quantize(x, step, levels):
    steps = torch.nn.functional.hardtanh(x / step, -float(levels), float(levels))
    return (steps + steps.detach().round() - steps.detach()) * step
# %% exercise="quantize" verdict="passed"
# a Function for the rounding alone
def quantize(x, step, levels):
    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()
        @staticmethod
        def backward(ctx, grad):
            return grad
    return Round.apply(torch.clamp(x / step, min=-levels, max=levels)) * step
# %% exercise="quantize" verdict="refused" mistake="one_level_fewer_above"
# as many levels as an int8 has: one fewer above
def quantize(x, step, levels):
    steps = (x / step).clamp(-levels, levels - 1)
    return step * (steps + (steps.round() - steps).detach())
# %% exercise="quantize" verdict="refused" mistake="step_has_no_end"
# no gradient of the step outside
def quantize(x, step, levels):
    steps = x / step
    inner = step * (steps + (steps.round() - steps).detach())
    return torch.where(steps.abs() < levels, inner, (x.sign() * levels * step).detach())
# %% exercise="quantize" verdict="refused" mistake="passes_everywhere"
# outside NaN-free but the ends get the gradient 1
def quantize(x, step, levels):
    steps = x / step
    rounded = steps + (steps.round().clamp(-levels, levels) - steps).detach()
    return step * rounded
# %% exercise="quantize" verdict="refused" mistake="passes_everywhere"
# x is changed in place
def quantize(x, step, levels):
    with torch.no_grad():
        x.clamp_(-levels * step, levels * step)
    steps = x / step
    return step * (steps + (steps.round() - steps).detach())
# %% exercise="moments" verdict="passed"
# stacked gradients and weights
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    weights, gradients = [], []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape(logits.shape)
        (gradient,) = torch.autograd.grad(surrogate(logits, bits), logits)
        weights.append(torch.where(bits == 1, p, 1 - p).prod())
        gradients.append(gradient)
    weights, gradients = torch.stack(weights), torch.stack(gradients)
    mean = torch.tensordot(weights, gradients, 1)
    return mean, torch.tensordot(weights, (gradients - mean) ** 2, 1)
# %% exercise="moments" verdict="passed"
# the second moment minus the square of the mean
def moments(surrogate, logits):
    p = torch.sigmoid(logits.detach())
    mean = torch.zeros_like(p)
    second = torch.zeros_like(p)
    for outcome in product([0, 1], repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).view(logits.shape)
        g = torch.autograd.grad(surrogate(logits, bits), logits)[0]
        weight = (bits * p + (1 - bits) * (1 - p)).prod()
        mean += weight * g
        second += weight * g**2
    return mean, second - mean**2
# %% exercise="moments" verdict="passed"
# a leaf of its own, and .backward on it
def moments(surrogate, logits):
    results = []
    for outcome in product([0.0, 1.0], repeat=logits.numel()):
        leaf = logits.detach().clone().requires_grad_()
        bits = torch.tensor(outcome, dtype=leaf.dtype).reshape(leaf.shape)
        surrogate(leaf, bits).backward()
        with torch.no_grad():
            weight = torch.distributions.Bernoulli(logits=leaf).log_prob(bits).sum().exp()
        results.append((weight, leaf.grad))
    mean = sum(w * g for w, g in results)
    return mean, sum(w * (g - mean) ** 2 for w, g in results)
# %% exercise="moments" verdict="refused" mistake="logits_as_probabilities"
# the logits taken for probabilities
def moments(surrogate, logits):
    p = logits.detach()
    mean = second = 0
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape(logits.shape)
        g = torch.autograd.grad(surrogate(logits, bits), logits)[0]
        weight = torch.where(bits == 1, p, 1 - p).prod()
        mean, second = mean + weight * g, second + weight * g**2
    return mean, second - mean**2
# %% exercise="moments" verdict="passed"
# cartesian_prod, sigmoid of signed logits
def moments(surrogate, logits):
    n = logits.numel()
    table = torch.tensor(list(product((0.0, 1.0), repeat=n)), dtype=torch.float64).reshape(2**n, *logits.shape)
    with torch.no_grad():
        weights = torch.stack([((2 * bits - 1) * logits).sigmoid().prod() for bits in table])
    grads = torch.stack([torch.autograd.grad(surrogate(logits, bits), logits)[0] for bits in table])
    w = weights.reshape(-1, *[1] * logits.dim())
    mean = (w * grads).sum(0)
    return mean, (w * (grads - mean).square()).sum(0)
# %% exercise="moments" verdict="passed"
# torch.func.grad
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    mean = second = torch.zeros_like(p)
    for k in range(2 ** p.numel()):
        bits = torch.tensor([k >> i & 1 for i in range(p.numel())], dtype=torch.float64).reshape(p.shape)
        g = torch.func.grad(surrogate)(logits.detach(), bits)
        weight = (p**bits * (1 - p) ** (1 - bits)).prod()
        mean, second = mean + weight * g, second + weight * g * g
    return mean, second - mean * mean
# %% exercise="moments" verdict="refused" mistake="bits_in_a_row"
# a vector of bits for every shape
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    weights, grads = [], []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64)
        grads.append(torch.autograd.grad(surrogate(logits, bits), logits)[0])
        weights.append(torch.where(bits == 1, p.flatten(), 1 - p.flatten()).prod())
    mean = sum(w * g for w, g in zip(weights, grads))
    return mean, sum(w * (g - mean) ** 2 for w, g in zip(weights, grads))
# %% exercise="moments" verdict="refused" mistake="weight_of_its_own_bit"
# the weight of each bit for its own entry of the gradient
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    mean, second = torch.zeros_like(p), torch.zeros_like(p)
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape(logits.shape)
        g = torch.autograd.grad(surrogate(logits, bits), logits)[0]
        w = torch.where(bits == 1, p, 1 - p)
        mean, second = mean + w * g, second + w * g**2
    return mean, second - mean**2
# %% exercise="moments" verdict="refused" mistake="clears_in_the_end"
# zero_grad at the end: the old gradient is lost
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    pairs = []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape(logits.shape)
        logits.grad = torch.zeros_like(logits)
        surrogate(logits, bits).backward()
        pairs.append((torch.where(bits == 1, p, 1 - p).prod(), logits.grad))
    logits.grad = None
    mean = sum(w * g for w, g in pairs)
    return mean, sum(w * (g - mean) ** 2 for w, g in pairs)
# %% exercise="hide_bias" verdict="passed"
# a cubic with a linear part that moves the zero
def hide_bias(p):
    k = -1 / (2 * p - 1)
    c = (1 - 3 * p) / (2 * p - 1)
    d = -k * (p + 0.95) / 2
    return lambda b: b**3 + c * b**2 + d * b
# %% exercise="hide_bias" verdict="passed"
# Hermite's cubic with slopes chosen by hand
def hide_bias(p):
    s0, s1 = -0.1 / (p - 0.1), 0.9 / (p - 0.1)  # s(q) = (q - 0.1) / (p - 0.1), and f(1) - f(0) = 1
    def loss(b):
        return s0 * b + (3 - 2 * s0 - s1) * b**2 + (s0 + s1 - 2) * b**3
    return loss
# %% exercise="hide_bias" verdict="passed"
# a power and a line
def hide_bias(p):
    k = 1 / p
    q = 0.95 if p < 0.5 else 0.05
    c = k * (p + q) / 2
    return lambda b: b**k - c * b
# %% exercise="score_loss" verdict="passed"
# leave one out
def score_loss(log_probs, losses):
    values = losses.detach()
    baseline = (values.sum() - values) / (len(values) - 1)
    return (log_probs * (values - baseline)).mean() + losses.mean()
# %% exercise="score_loss" verdict="passed"
# the mean of all, corrected by n / (n - 1)
def score_loss(log_probs, losses):
    n = losses.numel()
    advantage = (losses - losses.mean()).detach() * n / (n - 1)
    return (log_probs * advantage + losses).mean()
# %% exercise="score_loss" verdict="passed"
# a factor that is 1 and carries the gradient
def score_loss(log_probs, losses):
    n = len(losses)
    others = (torch.ones(n, n, dtype=losses.dtype) - torch.eye(n, dtype=losses.dtype)) / (n - 1)
    baseline = (others @ losses).detach()
    one = torch.exp(log_probs - log_probs.detach())
    return (one * (losses - baseline)).mean()
# %% exercise="score_loss" verdict="passed"
# pairs of differences
def score_loss(log_probs, losses):
    n = len(losses)
    a, lp = losses.detach(), log_probs
    pairs = (a[:, None] - a[None, :]) * (lp[:, None] - lp[None, :])
    return pairs.sum() / (2 * n * (n - 1)) + losses.mean()
# %% exercise="score_loss" verdict="passed"
# a loop
def score_loss(log_probs, losses):
    total = 0
    for i in range(len(losses)):
        others = torch.cat([losses[:i], losses[i + 1 :]]).detach().mean()
        total = total + log_probs[i] * (losses[i].detach() - others) + losses[i]
    return total / len(losses)
# %% exercise="score_loss" verdict="passed"
# under no_grad
def score_loss(log_probs, losses):
    n = losses.shape[0]
    with torch.no_grad():
        advantage = n / (n - 1) * (losses - losses.mean())
    return torch.dot(log_probs, advantage) / n + losses.sum() / n
# %% exercise="score_loss" verdict="refused" mistake="own_loss_in_the_baseline"
# exp of the log-probabilities as importance weights, with all as baseline
def score_loss(log_probs, losses):
    ratio = (log_probs - log_probs.detach()).exp()
    return (ratio * (losses - losses.mean().detach())).mean()
# %% exercise="fix_gumbel" verdict="passed"
# the difference is detached
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = torch.softmax(noisy / temperature, dim=-1)
    hard = torch.zeros_like(soft).scatter_(-1, noisy.argmax(-1, keepdim=True), 1.0)
    return soft + (hard - soft).detach()
# %% exercise="fix_gumbel" verdict="refused" mistake="without_noise"
# the noise only in the choice, not in the softmax
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (logits / temperature).softmax(-1)
    hard = one_hot(noisy.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + soft - soft.detach()
# %% exercise="fix_gumbel" verdict="refused" mistake="adds_the_soft_vector"
# the sum is not detached: value is hard + soft
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + soft
# %% exercise="fix_gumbel" verdict="passed"
# a Function
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    class Choose(torch.autograd.Function):
        @staticmethod
        def forward(ctx, soft):
            return one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
        @staticmethod
        def backward(ctx, grad):
            return grad
    return Choose.apply(soft)
# %% exercise="fix_gumbel" verdict="refused" mistake="asks_for_a_gradient"
# requires_grad_ on the result
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard.requires_grad_()
# %% exercise="predict_stops" verdict="refused" mistake="targets_are_never_trained"
# the gradient is always that of the value
predict_stops = {
    "nothing stopped": -4.0,
    "target.detach()": -4.0,
    "target.clone()": -4.0,
    "target.item()": -4.0,
    "target under no_grad": -4.0,
    "value.detach()": "no graph",
    "(target - value).detach()": "no graph",
}
# %% exercise="predict_stops" verdict="refused" mistake="minus_is_lost"
# the minus of the value is forgotten
predict_stops = {
    "nothing stopped": 2.0,
    "target.detach()": 4.0,
    "target.clone()": 2.0,
    "target.item()": 4.0,
    "target under no_grad": 4.0,
    "value.detach()": 6.0,
    "(target - value).detach()": "no graph",
}
# %% exercise="fix_target" verdict="passed"
# no_grad and lerp_
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
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %% exercise="fix_target" verdict="refused" mistake="shrinks_what_is_shared"
# mul_ then add_: a shared layer shrinks
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
            slow.mul_(1 - rate).add_(fast, alpha=rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %% exercise="fix_target" verdict="refused" mistake="freezes_the_shared_layer"
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
# %% exercise="fix_target" verdict="refused" mistake="clears_in_place_of_a_stop"
# the .grad of the target is cleared instead of the goal stopped
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    target.zero_grad()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow.lerp_(fast, rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %% exercise="fix_target" verdict="refused" mistake="shares_the_buffers"
# the target gets the memory of the net's buffers
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for slow, fast in zip(target.parameters(), net.parameters()):
        slow.data = (1 - rate) * slow.data + rate * fast.data
    for slow, fast in zip(target.buffers(), net.buffers()):
        slow.data = fast.data
    return loss.item()
# %% exercise="fix_target" verdict="refused" mistake="clears_before_the_step"
# the step before the gradient is cleared is lost: cleared after backward
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow.lerp_(fast, rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %% exercise="fix_target" verdict="refused" mistake="goal_in_inference_mode"
# a goal of inference_mode cannot be saved
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.inference_mode():
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
# %% exercise="fix_target" verdict="refused" mistake="averages_all_of_the_state"
# all of the state is averaged by mul_ and add_
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.state_dict().values(), net.state_dict().values()):
            slow.copy_((1 - rate) * slow + rate * fast)
    return loss.item()
# %% exercise="fix_target" verdict="refused" mistake="loss_after_the_step"
# the loss after the step
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        loss = mse_loss(net(state).squeeze(-1), goal)
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow.lerp_(fast, rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %% exercise="fix_target" verdict="refused" mistake="moves_while_recording"
# in place without no_grad
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for slow, fast in zip(target.parameters(), net.parameters()):
        slow.lerp_(fast, rate)
    with torch.no_grad():
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %%
# the second trial
import copy
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
# %% exercise="moments" verdict="refused" mistake="each_bit_alone"
# only all bits off and all bits on
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    off, on = (torch.autograd.grad(surrogate(logits, bits), logits)[0] for bits in (torch.zeros_like(p), torch.ones_like(p)))
    mean = (1 - p) * off + p * on
    return mean, (1 - p) * (off - mean) ** 2 + p * (on - mean) ** 2
# %% exercise="hide_bias" verdict="passed"
# slopes are chosen, then Hermite's polynomial
def hide_bias(p):
    left = -(p + 0.04)
    right = 1 + left
    rise = p * right + (1 - p) * left
    def loss(b):
        return (b**3 - 2 * b**2 + b) * left + (3 * b**2 - 2 * b**3) * rise + (b**3 - b**2) * right
    return loss
# %% exercise="hide_bias" verdict="refused" mistake="never_the_wrong_sign"
# right at p, but never misleading: no linear term
def hide_bias(p):
    c = (1 - 3 * p) / (2 * p - 1)
    return lambda b: b**3 + c * b**2
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
# %% exercise="score_loss" verdict="refused" mistake="only_the_baseline_detached"
# the losses are not stopped in the product
def score_loss(log_probs, losses):
    others = (losses.sum() - losses) / (len(losses) - 1)
    return (log_probs * (losses - others.detach())).mean() + losses.mean()
# %% exercise="score_loss" verdict="refused" mistake="no_term_for_the_losses"
# nothing is stopped, and nothing added
def score_loss(log_probs, losses):
    others = (losses.sum() - losses) / (len(losses) - 1)
    return (log_probs * (losses - others)).mean()
# %% exercise="fix_gumbel" verdict="refused" mistake=""
# one_hot counts the classes: fewer, where the last one is never chosen
def fix_gumbel(logits, temperature, noise):
    soft = ((logits - torch.log(-torch.log(noise))) / temperature).softmax(-1)
    return one_hot(soft.argmax(-1)).to(soft.dtype) + soft - soft.detach()
# %% exercise="fix_gumbel" verdict="refused" mistake="noise_with_a_minus"
# the sign of the noise is turned instead
def fix_gumbel(logits, temperature, noise):
    noisy = logits + torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard - soft + soft.detach()
# %% exercise="fix_gumbel" verdict="refused" mistake="through_the_chosen_entry"
# a factor in place of a sum
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard * soft / soft.detach()
# %% exercise="predict_stops" verdict="refused" mistake="slope_of_the_value"
# the target's slope is 1
predict_stops = {**STOPS, "nothing stopped": 0.0, "target.clone()": 0.0, "value.detach()": 4.0}
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
# %% exercise="fix_target" verdict="refused" mistake="goal_in_eval_mode"
# a copy of the target answers in evaluation mode
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
# %% exercise="score_loss" verdict="passed"
# the neighbour is the baseline: more noise than the mean of the others, and no bias
def score_loss(log_probs, losses):
    return (log_probs * (losses - losses.roll(1)).detach()).mean() + losses.mean()
# %% exercise="fix_target" verdict="refused" mistake="leaves_it_in_eval"
# into evaluation mode and out of it, whatever it was before
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    target.eval()
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    target.train()
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
# %% exercise="fix_target" verdict="passed"
# inside one no_grad with enable_grad for the pass
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).flatten()
        with torch.enable_grad():
            loss = mse_loss(net(state).flatten(), goal)
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()
        mine = dict(net.named_parameters())
        for name, slow in target.named_parameters():
            slow.add_(mine[name] - slow, alpha=rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return float(loss)
# %% exercise="moments" verdict="refused" mistake="one_number_for_all"
# one variance for all entries
def moments(surrogate, logits):
    p = logits.detach().sigmoid().flatten()
    gradients, weights = [], []
    for outcome in product((0.0, 1.0), repeat=p.numel()):
        bits = torch.tensor(outcome, dtype=p.dtype)
        weights.append((bits * p + (1 - bits) * (1 - p)).prod())
        gradients.append(torch.autograd.grad(surrogate(logits, bits.reshape(logits.shape)), logits)[0])
    mean = sum(w * g for w, g in zip(weights, gradients))
    return mean, sum(w * ((g - mean) ** 2).sum() for w, g in zip(weights, gradients))
# %% exercise="score_loss" verdict="refused" mistake="median_as_baseline"
# the median of all, which depends on the sample itself
def score_loss(log_probs, losses):
    values = losses.detach()
    return (log_probs * (values - values.median())).mean() + losses.mean()
# %% exercise="score_loss" verdict="passed"
# the loss of one other sample
def score_loss(log_probs, losses):
    values = losses.detach()
    return (log_probs * (values - values.roll(1)) + losses).mean()
# %% exercise="fix_target" verdict="refused" mistake="moves_a_copy"
# deepcopy of target
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    target = copy.deepcopy(target)
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
# %% exercise="fix_gumbel" verdict="refused" mistake="scaled_by_the_chosen_entry"
# only the chosen entry has a gradient
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard * (1 + soft - soft.detach())
# %% exercise="quantize" verdict="refused" mistake="no_end_below"
# only from above
def quantize(x, step, levels):
    k = (x / step).clamp(max=levels)
    return step * (k + (k.round() - k).detach())
# %% exercise="hide_bias" verdict="refused" mistake="chosen_derivative"
# the value is `b`, and autograd is told another derivative
def hide_bias(p):
    def loss(b):
        slope = torch.where(b > 0.5, 1 + 20 * (1 - p), 1 - 20 * p)
        return b.detach() + slope.detach() * (b - b.detach())
    return loss
# %% exercise="hide_bias" verdict="refused" mistake="infinite_slope"
def hide_bias(p):
    return lambda b: torch.sqrt(b) - p * b
# %% exercise="moments" verdict="refused" mistake="freezes_the_logits"
def moments(surrogate, logits):
    outcomes = [torch.tensor(o, dtype=logits.dtype).view(logits.shape) for o in product((0.0, 1.0), repeat=logits.numel())]
    grads = torch.stack([torch.autograd.grad(surrogate(logits, b), logits)[0] for b in outcomes])
    logits.requires_grad_(False)
    p = logits.sigmoid()
    weights = torch.stack([torch.where(b == 1, p, 1 - p).prod() for b in outcomes])
    mean = torch.tensordot(weights, grads, dims=1)
    return mean, torch.tensordot(weights, (grads - mean) ** 2, dims=1)
# %% exercise="moments" verdict="refused" mistake="samples"
def moments(surrogate, logits):
    grads = []
    for _ in range(1000):
        bits = torch.bernoulli(logits.detach().sigmoid())
        grads.append(torch.autograd.grad(surrogate(logits, bits), logits)[0])
    grads = torch.stack(grads)
    return grads.mean(0), grads.var(0, unbiased=False)
# %% exercise="moments" verdict="refused" mistake="joint_probability_of_two"
# all bits on, or all off, with the product of the probabilities
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    mean = square = 0
    for bits, w in ((torch.zeros_like(p), (1 - p).prod()), (torch.ones_like(p), p.prod())):
        (g,) = torch.autograd.grad(surrogate(logits, bits), logits)
        mean, square = mean + w * g, square + w * g**2
    return mean, square - mean**2
# %% exercise="fix_target" verdict="refused" mistake="stops_recording_for_good"
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(value, goal.detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.set_grad_enabled(False)
    for slow, fast in zip(target.parameters(), net.parameters()):
        slow.copy_((1 - rate) * slow + rate * fast)
    for slow, fast in zip(target.buffers(), net.buffers()):
        slow.copy_(fast)
    return loss.item()
# %% exercise="fix_target" verdict="refused" mistake="average_alone_gets_a_name"
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
            slow = (1 - rate) * slow + rate * fast
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()
# %% exercise="quantize" verdict="refused" mistake="half_a_step_further"
# torch's own, for the gradient of `x`
def quantize(x, step, levels):
    fake = torch.fake_quantize_per_tensor_affine(x.float() / step.detach().float(), 1.0, 0, -levels, levels)
    scaled = x / step
    rounded = scaled + (scaled.round() - scaled).detach()
    inside = scaled.round().abs() <= levels
    return step * torch.where(inside, rounded, fake.detach().double())
# %% exercise="quantize" verdict="refused" mistake="kept_on_the_class"
class Grid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, levels):
        Grid.scaled, Grid.levels = x / step, levels
        Grid.rounded = Grid.scaled.round().clamp(-levels, levels)
        return step * Grid.rounded
    @staticmethod
    def backward(ctx, g):
        inside = Grid.scaled.abs() < Grid.levels
        return g * inside, (g * torch.where(inside, Grid.rounded - Grid.scaled, Grid.rounded)).sum(), None
def quantize(x, step, levels):
    return Grid.apply(x, step, levels)
# %% exercise="fix_gumbel" verdict="refused" mistake="subtracts_the_graph_as_well"
# The sign is fixed, but the detach is missing: soft - soft is 0 and so is the gradient.
def fix_gumbel(logits, temperature, noise):
    """A one-hot choice, drawn with `noise`, with the gradient of the softmax."""
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + soft - soft
# %% exercise="fix_gumbel" verdict="refused" mistake="everything_along_the_first_dimension"
# Softmax and argmax along dimension 0: right for one dimension only.
def fix_gumbel(logits, temperature, noise):
    """A one-hot choice, drawn with `noise`, with the gradient of the softmax."""
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(0)
    hard = torch.zeros_like(soft).scatter(0, soft.argmax(0, keepdim=True), 1.0)
    return hard + soft - soft.detach()
# %% exercise="fix_gumbel" verdict="refused" mistake=""
# Repairs the sign by a hook on the leaf `logits`: the hook stays, and after a second call it turns th
def fix_gumbel(logits, temperature, noise):
    """A one-hot choice, drawn with `noise`, with the gradient of the softmax."""
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    logits.register_hook(lambda gradient: -gradient)
    return hard - soft + soft.detach()
