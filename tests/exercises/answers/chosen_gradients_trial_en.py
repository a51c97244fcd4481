# %%
import copy
from itertools import product

import torch
from torch import nn
from torch.nn.functional import gumbel_softmax, mse_loss, one_hot
# %% exercise="predict_discrete" verdict="passed"
# careful
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
# a rounding ends the graph
predict_discrete = {
    "x.round()": "no graph",
    "x - x.floor()": 1.0,
    "(x > 0.5).float()": "no graph",
    "x * (x > 0.5)": 1.0,
    "torch.bernoulli(x)": "no graph",
    "x + (x.round() - x).detach()": 1.0,
    "x.detach() + x.round() - x": -1.0,
}
# %% exercise="predict_discrete" verdict="refused"
# a random bit has no derivative, so an error
predict_discrete = {
    "x.round()": 0.0,
    "x - x.floor()": 1.0,
    "(x > 0.5).float()": "no graph",
    "x * (x > 0.5)": 1.0,
    "torch.bernoulli(x)": "RuntimeError",
    "x + (x.round() - x).detach()": 1.0,
    "x.detach() + x.round() - x": -1.0,
}
# %% exercise="predict_discrete" verdict="refused"
# a sample has no graph
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
# a comparison is a step, so its slope is 0
predict_discrete = {
    "x.round()": 0.0,
    "x - x.floor()": 1.0,
    "(x > 0.5).float()": 0.0,
    "x * (x > 0.5)": 1.0,
    "torch.bernoulli(x)": 0.0,
    "x + (x.round() - x).detach()": 1.0,
    "x.detach() + x.round() - x": -1.0,
}
# %% exercise="predict_discrete" verdict="refused"
# a comparison ends everything, the product too
predict_discrete = {
    "x.round()": 0.0,
    "x - x.floor()": 1.0,
    "(x > 0.5).float()": "no graph",
    "x * (x > 0.5)": "no graph",
    "torch.bernoulli(x)": 0.0,
    "x + (x.round() - x).detach()": 1.0,
    "x.detach() + x.round() - x": -1.0,
}
# %% exercise="predict_discrete" verdict="refused"
# the last line takes the place of the one before: both straight-through
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
# the gradient follows the value: a rounding is flat however it is written
predict_discrete = {
    "x.round()": 0.0,
    "x - x.floor()": 1.0,
    "(x > 0.5).float()": "no graph",
    "x * (x > 0.5)": 1.0,
    "torch.bernoulli(x)": 0.0,
    "x + (x.round() - x).detach()": 0.0,
    "x.detach() + x.round() - x": 0.0,
}
# %% exercise="quantize" verdict="passed"
# in steps: limited, then rounded
def quantize(x, step, levels):
    scaled = (x / step).clamp(-levels, levels)
    return step * (scaled + (scaled.round() - scaled).detach())
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
# %% exercise="quantize" verdict="refused"
# rounded first, then limited: the gradient passes half a step too far
def quantize(x, step, levels):
    scaled = x / step
    rounded = scaled + (scaled.round() - scaled).detach()
    return step * rounded.clamp(-levels, levels)
# %% exercise="quantize" verdict="refused"
# the identity everywhere: gradient 1 outside, none for the step
def quantize(x, step, levels):
    grid = step * (x / step).round().clamp(-levels, levels)
    return x + (grid - x).detach()
# %% exercise="quantize" verdict="refused"
# limited with a gradient, but the grid is a constant: inside no gradient of the step
def quantize(x, step, levels):
    limited = torch.clamp(x, -levels * step, levels * step)
    grid = step * (limited / step).round()
    return limited + (grid - limited).detach()
# %% exercise="quantize" verdict="refused"
# no straight-through at all
def quantize(x, step, levels):
    return step * (x / step).round().clamp(-levels, levels)
# %% exercise="quantize" verdict="refused"
# the range is forgotten
def quantize(x, step, levels):
    scaled = x / step
    return step * (scaled + (scaled.round() - scaled).detach())
# %% exercise="quantize" verdict="refused"
# levels taken for the end of the range
def quantize(x, step, levels):
    scaled = x.clamp(-levels, levels) / step
    return step * (scaled + (scaled.round() - scaled).detach())
# %% exercise="quantize" verdict="refused"
# the step is detached inside: its gradient lacks -x/s
def quantize(x, step, levels):
    scaled = (x / step.detach()).clamp(-levels, levels)
    return step * (scaled + (scaled.round() - scaled).detach())
# %% exercise="quantize" verdict="refused"
# torch's own: the step is a number there
def quantize(x, step, levels):
    return torch.fake_quantize_per_tensor_affine(x, step.item(), 0, -levels, levels)
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
# %% exercise="moments" verdict="refused"
# all outcomes count alike
def moments(surrogate, logits):
    gradients = []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape(logits.shape)
        gradients.append(torch.autograd.grad(surrogate(logits, bits), logits)[0])
    gradients = torch.stack(gradients)
    return gradients.mean(0), gradients.var(0, unbiased=False)
# %% exercise="moments" verdict="refused"
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
# %% exercise="moments" verdict="refused"
# .backward fills the .grad of the logits
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    weights, gradients = [], []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape(logits.shape)
        logits.grad = None
        surrogate(logits, bits).backward()
        gradients.append(logits.grad.clone())
        weights.append(torch.where(bits == 1, p, 1 - p).prod())
    mean = sum(w * g for w, g in zip(weights, gradients))
    return mean, sum(w * (g - mean) ** 2 for w, g in zip(weights, gradients))
# %% exercise="moments" verdict="refused"
# one loop for the mean, one for the variance: two calls for an outcome
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    outcomes = [
        torch.tensor(o, dtype=torch.float64).reshape(logits.shape) for o in product((0.0, 1.0), repeat=logits.numel())
    ]

    def weight(bits):
        return torch.where(bits == 1, p, 1 - p).prod()

    def gradient(bits):
        return torch.autograd.grad(surrogate(logits, bits), logits)[0]

    mean = sum(weight(bits) * gradient(bits) for bits in outcomes)
    return mean, sum(weight(bits) * (gradient(bits) - mean) ** 2 for bits in outcomes)
# %% exercise="moments" verdict="refused"
# the weights have a graph, and so have the results
def moments(surrogate, logits):
    p = logits.sigmoid()
    weights, gradients = [], []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape(logits.shape)
        (gradient,) = torch.autograd.grad(surrogate(logits, bits), logits)
        weights.append(torch.where(bits == 1, p, 1 - p).prod())
        gradients.append(gradient)
    mean = sum(w * g for w, g in zip(weights, gradients))
    return mean, sum(w * (g - mean) ** 2 for w, g in zip(weights, gradients))
# %% exercise="moments" verdict="refused"
# the standard deviation instead of the variance
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    weights, gradients = [], []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape(logits.shape)
        (gradient,) = torch.autograd.grad(surrogate(logits, bits), logits)
        weights.append(torch.where(bits == 1, p, 1 - p).prod())
        gradients.append(gradient)
    mean = sum(w * g for w, g in zip(weights, gradients))
    return mean, sum(w * (g - mean) ** 2 for w, g in zip(weights, gradients)).sqrt()
# %% exercise="moments" verdict="refused"
# samples instead of a sum
def moments(surrogate, logits):
    torch.manual_seed(0)
    p = logits.detach().sigmoid()
    gradients = torch.stack(
        [torch.autograd.grad(surrogate(logits, torch.bernoulli(p)), logits)[0] for _ in range(2000)]
    )
    return gradients.mean(0), gradients.var(0)
# %% exercise="moments" verdict="refused"
# one bit for all entries: only two outcomes
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    off = torch.autograd.grad(surrogate(logits, torch.zeros_like(p)), logits)[0]
    on = torch.autograd.grad(surrogate(logits, torch.ones_like(p)), logits)[0]
    mean = (1 - p) * off + p * on
    return mean, (1 - p) * (off - mean) ** 2 + p * (on - mean) ** 2
# %% exercise="moments" verdict="refused"
# the gradient of the weighted sum: the weights are differentiated, too
def moments(surrogate, logits):
    p = logits.sigmoid()
    mean, second = torch.zeros_like(logits), torch.zeros_like(logits)
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape(logits.shape)
        weight = torch.where(bits == 1, p, 1 - p).prod()
        (g,) = torch.autograd.grad(weight * surrogate(logits, bits), logits, retain_graph=True)
        mean, second = mean + g, second + g**2
    return mean.detach(), (second - mean**2).detach()
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
# two straight pieces
def hide_bias(p):
    s0, s1 = -0.1 / (p - 0.1), 0.9 / (p - 0.1)

    def loss(b):
        return torch.where(b > 0.5, 1 + s1 * (b - 1), s0 * b)

    return loss
# %% exercise="hide_bias" verdict="refused"
# a parabola is hidden at one half only
def hide_bias(p):
    return lambda b: (b - p) ** 2
# %% exercise="hide_bias" verdict="refused"
# nothing to learn: both derivatives are 0
def hide_bias(p):
    return lambda b: 0 * b + p
# %% exercise="hide_bias" verdict="refused"
# a line: right everywhere
def hide_bias(p):
    return lambda b: 3 * b - p
# %% exercise="hide_bias" verdict="refused"
# right at p, but never of the opposite sign
def hide_bias(p):
    c = (1 - 3 * p) / (2 * p - 1)
    return lambda b: b**3 + c * b**2
# %% exercise="hide_bias" verdict="refused"
# p and 1 - p exchanged
def hide_bias(p):
    p = 1 - p
    s0, s1 = -0.1 / (p - 0.1), 0.9 / (p - 0.1)
    return lambda b: s0 * b + (3 - 2 * s0 - s1) * b**2 + (s0 + s1 - 2) * b**3
# %% exercise="hide_bias" verdict="refused"
# a cube around p: hopes that the slopes cancel
def hide_bias(p):
    return lambda b: (b - p) ** 3
# %% exercise="hide_bias" verdict="refused"
# worked out for p = 0.25
def hide_bias(p):
    return lambda b: b**3 - 0.5 * b**2 - 1.2 * b
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
# %% exercise="score_loss" verdict="refused"
# the mean of all samples as baseline
def score_loss(log_probs, losses):
    advantage = losses.detach() - losses.detach().mean()
    return (log_probs * advantage).mean() + losses.mean()
# %% exercise="score_loss" verdict="refused"
# the losses' own gradient is missing
def score_loss(log_probs, losses):
    values = losses.detach()
    baseline = (values.sum() - values) / (len(values) - 1)
    return (log_probs * (values - baseline)).mean()
# %% exercise="score_loss" verdict="refused"
# no baseline: too noisy
def score_loss(log_probs, losses):
    return (log_probs * losses.detach()).mean() + losses.mean()
# %% exercise="score_loss" verdict="refused"
# the losses are not detached in the product
def score_loss(log_probs, losses):
    baseline = (losses.sum() - losses) / (len(losses) - 1)
    return (log_probs * (losses - baseline)).mean() + losses.mean()
# %% exercise="score_loss" verdict="refused"
# as GRPO: divided by the standard deviation
def score_loss(log_probs, losses):
    values = losses.detach()
    advantage = (values - values.mean()) / (values.std() + 1e-8)
    return (log_probs * advantage).mean() + losses.mean()
# %% exercise="score_loss" verdict="refused"
# the sign of rewards
def score_loss(log_probs, losses):
    values = losses.detach()
    baseline = (values.sum() - values) / (len(values) - 1)
    return -(log_probs * (values - baseline)).mean() + losses.mean()
# %% exercise="score_loss" verdict="refused"
# the sum instead of the mean
def score_loss(log_probs, losses):
    values = losses.detach()
    baseline = (values.sum() - values) / (len(values) - 1)
    return (log_probs * (values - baseline) + losses).sum()
# %% exercise="fix_gumbel" verdict="passed"
# the sign
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + soft - soft.detach()
# %% exercise="fix_gumbel" verdict="passed"
# the difference is detached
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = torch.softmax(noisy / temperature, dim=-1)
    hard = torch.zeros_like(soft).scatter_(-1, noisy.argmax(-1, keepdim=True), 1.0)
    return soft + (hard - soft).detach()
# %% exercise="fix_gumbel" verdict="refused"
# no gradient at all
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    return one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
# %% exercise="fix_gumbel" verdict="refused"
# a soft choice
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    return (noisy / temperature).softmax(-1)
# %% exercise="fix_gumbel" verdict="refused"
# the noise's sign is changed, the bug is left
def fix_gumbel(logits, temperature, noise):
    noisy = logits + torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard - soft + soft.detach()
# %% exercise="fix_gumbel" verdict="refused"
# the same signs in another order
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + soft.detach() - soft
# %% exercise="fix_gumbel" verdict="refused"
# the noise only in the choice, not in the softmax
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (logits / temperature).softmax(-1)
    hard = one_hot(noisy.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + soft - soft.detach()
# %% exercise="fix_gumbel" verdict="refused"
# the sum is not detached: value is hard + soft
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + soft
# %% exercise="fix_gumbel" verdict="refused"
# torch's function, with noise of its own
def fix_gumbel(logits, temperature, noise):
    return gumbel_softmax(logits, tau=temperature, hard=True)
# %% exercise="fix_gumbel" verdict="refused"
# the mask times the softmax
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard * soft / soft.detach()
# %% exercise="predict_stops" verdict="passed"
# careful
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
# a clone is a copy, so it stops
predict_stops = {
    "nothing stopped": 2.0,
    "target.detach()": -4.0,
    "target.clone()": -4.0,
    "target.item()": -4.0,
    "target under no_grad": -4.0,
    "value.detach()": 6.0,
    "(target - value).detach()": "no graph",
}
# %% exercise="predict_stops" verdict="refused"
# .item() and no_grad end the graph of the loss
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
# no_grad does not matter, the loss is recorded outside
predict_stops = {
    "nothing stopped": 2.0,
    "target.detach()": -4.0,
    "target.clone()": 2.0,
    "target.item()": -4.0,
    "target under no_grad": 2.0,
    "value.detach()": 6.0,
    "(target - value).detach()": "no graph",
}
# %% exercise="predict_stops" verdict="refused"
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
# %% exercise="predict_stops" verdict="refused"
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
# %% exercise="predict_stops" verdict="refused"
# a detached difference has the gradient 0
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
# the slope 1.5 of the target is forgotten
predict_stops = {
    "nothing stopped": 0.0,
    "target.detach()": -4.0,
    "target.clone()": 0.0,
    "target.item()": -4.0,
    "target under no_grad": -4.0,
    "value.detach()": 4.0,
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
# %% exercise="fix_target" verdict="passed"
# detach and copy_
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(value, goal.detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            if slow is not fast:
                slow.copy_((1 - rate) * slow + rate * fast)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.detach()
# %% exercise="fix_target" verdict="passed"
# by names, with .data
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    fast = dict(net.named_parameters())
    for name, slow in target.named_parameters():
        if fast[name] is not slow:
            slow.data.mul_(1 - rate).add_(fast[name].data, alpha=rate)
    buffers = dict(net.named_buffers())
    for name, slow in target.named_buffers():
        slow.data.copy_(buffers[name].data)
    return loss.item()
# %% exercise="fix_target" verdict="refused"
# the target does not move yet
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
            slow = fast
    return loss.item()
# %% exercise="fix_target" verdict="refused"
# the target moves, the goal is not stopped
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(value, goal)
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
# a hard copy of all weights
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
# rate and 1 - rate exchanged
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
# the target in eval mode, and left there
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
# %% exercise="fix_target" verdict="refused"
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
