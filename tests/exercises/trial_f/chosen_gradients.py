# %%
from itertools import product

import torch
from torch.nn.functional import mse_loss, one_hot

# %% exercise="predict_discrete" verdict="passed"
# a careful reader
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
# no derivative means no graph: rounding and chance
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
# a comparison ends every graph that it touches, and chance is an error
predict_discrete = {
    "x.round()": 0.0,
    "x - x.floor()": 1.0,
    "(x > 0.5).float()": "no graph",
    "x * (x > 0.5)": "no graph",
    "torch.bernoulli(x)": "RuntimeError",
    "x + (x.round() - x).detach()": 1.0,
    "x.detach() + x.round() - x": -1.0,
}
# %% exercise="predict_discrete" verdict="refused"
# the comparison is flat, so it has a zero; float() makes it differentiable again
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
# torch is taken to have straight-through rounding of its own: round and floor have slope 1
predict_discrete = {
    "x.round()": 1.0,
    "x - x.floor()": 0.0,
    "(x > 0.5).float()": "no graph",
    "x * (x > 0.5)": 1.0,
    "torch.bernoulli(x)": 1.0,
    "x + (x.round() - x).detach()": 1.0,
    "x.detach() + x.round() - x": 0.0,
}
# %% exercise="predict_discrete" verdict="refused"
# detach is taken to stop the whole expression
predict_discrete = {
    "x.round()": 0.0,
    "x - x.floor()": 1.0,
    "(x > 0.5).float()": "no graph",
    "x * (x > 0.5)": 1.0,
    "torch.bernoulli(x)": 0.0,
    "x + (x.round() - x).detach()": 1.0,
    "x.detach() + x.round() - x": 1.0,
}


# %% exercise="quantize" verdict="passed"
def quantize(x, step, levels):
    inside = (x / step).clamp(-levels, levels)
    return step * (inside + (inside.round() - inside).detach())


# %% exercise="quantize" verdict="refused"
# rounded first, then limited: half a step too far outside the gradient still passes
def quantize(x, step, levels):
    scaled = x / step
    rounded = scaled + (scaled.round() - scaled).detach()
    return step * rounded.clamp(-levels, levels)


# %% exercise="quantize" verdict="refused"
# the trick around everything: the step gets a gradient at the ends alone
def quantize(x, step, levels):
    limited = torch.minimum(torch.maximum(x, -levels * step), levels * step)
    return limited + ((limited / step).round() * step - limited).detach()


# %% exercise="quantize" verdict="refused"
# the step is a constant in the division
def quantize(x, step, levels):
    inside = (x / step.detach()).clamp(-levels, levels)
    return step * (inside + (inside.round() - inside).detach())


# %% exercise="quantize" verdict="refused"
# one level less on the positive side, as in int8
def quantize(x, step, levels):
    inside = (x / step).clamp(-levels, levels - 1)
    return step * (inside + (inside.round() - inside).detach())


# %% exercise="quantize" verdict="refused"
# the plain trick: the gradient passes everywhere, and the step gets none
def quantize(x, step, levels):
    q = (x / step).round().clamp(-levels, levels) * step
    return x + (q - x).detach()


# %% exercise="moments" verdict="passed"
def moments(surrogate, logits):
    p = logits.detach().sigmoid().flatten()
    gradients, weights = [], []
    for outcome in product((0.0, 1.0), repeat=p.numel()):
        bits = torch.tensor(outcome, dtype=p.dtype)
        weights.append((bits * p + (1 - bits) * (1 - p)).prod())
        gradients.append(torch.autograd.grad(surrogate(logits, bits.reshape(logits.shape)), logits)[0])
    mean = sum(w * g for w, g in zip(weights, gradients))
    return mean, sum(w * (g - mean) ** 2 for w, g in zip(weights, gradients))


# %% exercise="moments" verdict="refused"
# all outcomes count the same
def moments(surrogate, logits):
    gradients = []
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape(logits.shape)
        gradients.append(torch.autograd.grad(surrogate(logits, bits), logits)[0])
    gradients = torch.stack(gradients)
    return gradients.mean(0), gradients.var(0, correction=0)


# %% exercise="moments" verdict="refused"
# the bits are a vector, whatever the shape of the logits
def moments(surrogate, logits):
    p = logits.detach().sigmoid().flatten()
    gradients, weights = [], []
    for outcome in product((0.0, 1.0), repeat=p.numel()):
        bits = torch.tensor(outcome, dtype=p.dtype)
        weights.append((bits * p + (1 - bits) * (1 - p)).prod())
        gradients.append(torch.autograd.grad(surrogate(logits, bits), logits)[0])
    mean = sum(w * g for w, g in zip(weights, gradients))
    return mean, sum(w * (g - mean) ** 2 for w, g in zip(weights, gradients))


# %% exercise="moments" verdict="refused"
# the probabilities have a graph, and so have the results
def moments(surrogate, logits):
    p = logits.sigmoid().flatten()
    gradients, weights = [], []
    for outcome in product((0.0, 1.0), repeat=p.numel()):
        bits = torch.tensor(outcome, dtype=p.dtype)
        weights.append((bits * p + (1 - bits) * (1 - p)).prod())
        gradients.append(torch.autograd.grad(surrogate(logits, bits.reshape(logits.shape)), logits)[0])
    mean = sum(w * g for w, g in zip(weights, gradients))
    return mean, sum(w * (g - mean) ** 2 for w, g in zip(weights, gradients))


# %% exercise="moments" verdict="refused"
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


# %% exercise="moments" verdict="refused"
# backward() into .grad, which is emptied for it
def moments(surrogate, logits):
    p = logits.detach().sigmoid().flatten()
    gradients, weights = [], []
    for outcome in product((0.0, 1.0), repeat=p.numel()):
        bits = torch.tensor(outcome, dtype=p.dtype)
        weights.append((bits * p + (1 - bits) * (1 - p)).prod())
        logits.grad = None
        surrogate(logits, bits.reshape(logits.shape)).backward()
        gradients.append(logits.grad)
    mean = sum(w * g for w, g in zip(weights, gradients))
    return mean, sum(w * (g - mean) ** 2 for w, g in zip(weights, gradients))


# %% exercise="hide_bias" verdict="passed"
# b, and a cubic that is 0 at both ends and has the slopes -p and 1 - p there
def hide_bias(p):
    def loss(b):
        return b + 20 * b * (b - 1) * ((1 - 2 * p) * b + p)

    return loss


# %% exercise="hide_bias" verdict="refused"
# a parabola with its minimum at p
def hide_bias(p):
    return lambda b: (b - p) ** 2


# %% exercise="hide_bias" verdict="refused"
# a line: there is no bias anywhere
def hide_bias(p):
    return lambda b: p * b


# %% exercise="hide_bias" verdict="refused"
# right at p, but of the same sign everywhere
def hide_bias(p):
    c = (1 - 3 * p) / (2 * p - 1)
    return lambda b: b**3 + c * b**2


# %% exercise="hide_bias" verdict="refused"
# the weights of the two slopes are swapped
def hide_bias(p):
    return lambda b: b + 20 * b * (b - 1) * ((2 * p - 1) * b + 1 - p)


# %% exercise="hide_bias" verdict="refused"
# both derivatives are 0 at p: the ends have the same loss
def hide_bias(p):
    return lambda b: b * (b - 1) * ((1 - 2 * p) * b + p)


# %% exercise="score_loss" verdict="passed"
# the mean of the others
def score_loss(log_probs, losses):
    n = len(losses)
    values = losses.detach()
    others = (values.sum() - values) / (n - 1)
    return (log_probs * (values - others) + losses).mean()


# %% exercise="score_loss" verdict="refused"
# the losses in the advantage are not detached
def score_loss(log_probs, losses):
    n = len(losses)
    others = (losses.sum() - losses) / (n - 1)
    return (log_probs * (losses - others)).mean()


# %% exercise="score_loss" verdict="refused"
# weighted by the probabilities, as if the samples were all outcomes
def score_loss(log_probs, losses):
    return (log_probs.exp() * losses).sum()


# %% exercise="score_loss" verdict="refused"
# the sign of a reward
def score_loss(log_probs, losses):
    n = len(losses)
    values = losses.detach()
    others = (values.sum() - values) / (n - 1)
    return -(log_probs * (values - others)).mean() + losses.mean()


# %% exercise="score_loss" verdict="refused"
# the median of all, which depends on the sample itself
def score_loss(log_probs, losses):
    values = losses.detach()
    return (log_probs * (values - values.median())).mean() + losses.mean()


# %% exercise="score_loss" verdict="refused"
# nothing for the parameters behind the losses
def score_loss(log_probs, losses):
    n = len(losses)
    values = losses.detach()
    others = (values.sum() - values) / (n - 1)
    return (log_probs * (values - others)).mean()


# %% exercise="fix_gumbel" verdict="passed"
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(noisy.argmax(-1), noisy.shape[-1]).to(soft.dtype)
    return hard + (soft - soft.detach())


# %% exercise="fix_gumbel" verdict="refused"
# the soft choice is added and not taken away again
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard.detach() + soft


# %% exercise="fix_gumbel" verdict="refused"
# a factor in place of a sum: only the chosen entry has a gradient
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return soft * (hard / soft).detach()


# %% exercise="fix_gumbel" verdict="refused"
# the gradient is that of the softmax without noise
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (logits / temperature).softmax(-1)
    hard = one_hot(noisy.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + soft - soft.detach()


# %% exercise="fix_gumbel" verdict="refused"
# the noise is taken for the bug
def fix_gumbel(logits, temperature, noise):
    noisy = logits + torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + soft - soft.detach()


# %% exercise="fix_gumbel" verdict="refused"
# the difference is detached as a whole: nothing is left
def fix_gumbel(logits, temperature, noise):
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + (soft - soft).detach()


# %% exercise="predict_stops" verdict="passed"
# a careful reader
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
# a number or no_grad is taken to end the whole graph
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
# a clone is taken for a constant, and the detached difference for a zero
predict_stops = {
    "nothing stopped": 2.0,
    "target.detach()": -4.0,
    "target.clone()": -4.0,
    "target.item()": -4.0,
    "target under no_grad": -4.0,
    "value.detach()": 6.0,
    "(target - value).detach()": 0.0,
}
# %% exercise="predict_stops" verdict="refused"
# the inner sign is forgotten: gradients of value as if it stood with a plus
predict_stops = {
    "nothing stopped": 10.0,
    "target.detach()": 4.0,
    "target.clone()": 10.0,
    "target.item()": 4.0,
    "target under no_grad": 4.0,
    "value.detach()": 6.0,
    "(target - value).detach()": "no graph",
}
# %% exercise="predict_stops" verdict="refused"
# the factor of w in the target is forgotten
predict_stops = {
    "nothing stopped": 0.0,
    "target.detach()": -4.0,
    "target.clone()": 0.0,
    "target.item()": -4.0,
    "target under no_grad": -4.0,
    "value.detach()": 4.0,
    "(target - value).detach()": "no graph",
}
# %% exercise="predict_stops" verdict="refused"
# the gradients of both paths with the target stopped or not are the same: only the value counts
predict_stops = {
    "nothing stopped": -4.0,
    "target.detach()": -4.0,
    "target.clone()": -4.0,
    "target.item()": -4.0,
    "target under no_grad": -4.0,
    "value.detach()": "no graph",
    "(target - value).detach()": "no graph",
}


# %% exercise="fix_target" verdict="passed"
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
                slow.mul_(1 - rate).add_(fast, alpha=rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()


# %% exercise="fix_target" verdict="refused"
# the target is frozen for good, and with it a shared layer
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    target.requires_grad_(False)
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
# the goal is trained, and the gradients of the target are thrown away afterwards
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    target.zero_grad()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow.copy_((1 - rate) * slow + rate * fast)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()


# %% exercise="fix_target" verdict="refused"
# buffers still get only a name
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    goal = reward + discount * (1 - done) * target(next_state).squeeze(-1).detach()
    loss = mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow.copy_((1 - rate) * slow + rate * fast)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow = fast
    return loss.item()


# %% exercise="fix_target" verdict="refused"
# the target moves before the step
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
        for slow, fast in zip(target.parameters(), net.parameters()):
            if slow is not fast:
                slow.copy_((1 - rate) * slow + rate * fast)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    loss = mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


# %% exercise="fix_target" verdict="refused"
# the rate is on the wrong side
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    value = net(state).squeeze(-1)
    loss = mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            if slow is not fast:
                slow.mul_(rate).add_(fast, alpha=1 - rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()


# %% exercise="fix_target" verdict="refused"
# a goal from net itself; the state dict is averaged, which fails for counters
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    new = net.state_dict()
    target.load_state_dict({name: (1 - rate) * old + rate * new[name] for name, old in target.state_dict().items()})
    return loss.item()
