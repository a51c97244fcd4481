# %%
import torch
from torch.nn.functional import mse_loss
from torch.utils.checkpoint import checkpoint
# %% exercise="fix_traces" verdict="passed"
# divides the second step size out again
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    alpha = optimizer.param_groups[0]["lr"]
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        optimizer.zero_grad()
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, model.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -(alpha * delta * trace) / alpha
        optimizer.step()
# %% exercise="fix_traces" verdict="refused" mistake="forgets_the_traces"
# half of the squared error, without traces
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    for t, reward in enumerate(rewards):
        optimizer.zero_grad()
        with torch.no_grad():
            target = reward + (gamma * model(states[t + 1]) if t + 1 < len(rewards) else 0.0)
        (0.5 * (target - model(states[t])) ** 2).backward()
        optimizer.step()
# %% exercise="fix_traces" verdict="refused" mistake="steps_by_hand"
# no optimizer
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    alpha = optimizer.param_groups[0]["lr"]
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        model.zero_grad()
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        with torch.no_grad():
            for trace, p in zip(traces, model.parameters()):
                trace.mul_(gamma * lam).add_(p.grad)
                p += alpha * delta * trace
# %% exercise="fix_traces" verdict="refused" mistake="looks_beyond_the_end"
# bootstraps from the last state again
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        optimizer.zero_grad()
        v = model(states[t])
        v.backward()
        v_next = model(states[min(t + 1, len(rewards) - 1)]).item()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, model.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -delta * trace
        optimizer.step()
# %% exercise="td_lambda" verdict="refused"
# errors as tensors in a tuple
def td_lambda(model, steps, gamma, lam, alpha):
    params = [p for p in model.parameters() if p.requires_grad]
    z = [p.new_zeros(p.shape) for p in params]
    deltas = []
    for s, r, s2, terminated, truncated in steps:
        v = model(s)
        g = torch.autograd.grad(v, params)
        delta = r - v.detach()
        if not terminated:
            delta = delta + gamma * model(s2).detach()
        z = [gamma * lam * a + b for a, b in zip(z, g)]
        with torch.no_grad():
            for p, a in zip(params, z):
                p.copy_(p + alpha * delta.item() * a)
        if terminated or truncated:
            z = [torch.zeros_like(p) for p in params]
        deltas.append(delta)
    return tuple(deltas)
# %% exercise="td_lambda" verdict="refused" mistake="resets_when_terminated"
def td_lambda(model, steps, gamma, lam, alpha):
    params = [p for p in model.parameters() if p.requires_grad]
    z = [torch.zeros_like(p) for p in params]
    deltas = []
    for s, r, s2, terminated, truncated in steps:
        v = model(s).squeeze()
        g = torch.autograd.grad(v, params)
        with torch.no_grad():
            delta = (r + gamma * model(s2).squeeze() * (1 - terminated) - v).item()
            for p, a, b in zip(params, z, g):
                a.copy_(gamma * lam * a + b)
                p += alpha * delta * a
        if terminated:
            z = [torch.zeros_like(p) for p in params]
        deltas.append(delta)
    return deltas
# %% exercise="td_lambda" verdict="refused" mistake="through_grad"
# clears .grad in the end
def td_lambda(model, steps, gamma, lam, alpha):
    z = {p: torch.zeros_like(p) for p in model.parameters() if p.requires_grad}
    deltas = []
    for s, r, s2, terminated, truncated in steps:
        model.zero_grad()
        v = model(s)
        v.backward()
        with torch.no_grad():
            delta = r + (0 if terminated else gamma * model(s2).item()) - v.item()
            for p in z:
                z[p] = gamma * lam * z[p] + p.grad
                p += alpha * delta * z[p]
                if terminated or truncated:
                    z[p].zero_()
        deltas.append(delta)
    model.zero_grad()
    return deltas
# %% exercise="td_lambda" verdict="refused" mistake="both_sides"
# differentiates -delta
def td_lambda(model, steps, gamma, lam, alpha):
    params = [p for p in model.parameters() if p.requires_grad]
    z = [torch.zeros_like(p) for p in params]
    deltas = []
    for s, r, s2, terminated, truncated in steps:
        delta = r - model(s).sum()
        if not terminated:
            delta = delta + gamma * model(s2).sum()
        g = torch.autograd.grad(-delta, params)
        with torch.no_grad():
            for p, a, b in zip(params, z, g):
                a.mul_(gamma * lam).add_(b)
                p += alpha * delta * a
                if terminated or truncated:
                    a.zero_()
        deltas.append(delta.item())
    return deltas
# %% exercise="td_lambda" verdict="refused" mistake="stale_trace"
def td_lambda(model, steps, gamma, lam, alpha):
    params = [p for p in model.parameters() if p.requires_grad]
    z = [torch.zeros_like(p) for p in params]
    deltas = []
    for s, r, s2, terminated, truncated in steps:
        v = model(s).sum()
        g = torch.autograd.grad(v, params)
        delta = r + (0.0 if terminated else gamma * model(s2).sum().item()) - v.item()
        with torch.no_grad():
            for p, a in zip(params, z):
                p += alpha * delta * a
        z = [gamma * lam * a + b for a, b in zip(z, g)]
        if terminated or truncated:
            z = [torch.zeros_like(a) for a in z]
        deltas.append(delta)
    return deltas
# %% exercise="hide_the_fault" verdict="passed"
# tensors, and a negative reward
def hide_the_fault():
    return torch.zeros(4), torch.tensor([0, 0, 0, -3])
# %% exercise="is_right_td" verdict="refused" mistake="starts_at_zero"
def is_right_td(td):
    w = torch.zeros(3, requires_grad=True)
    td(w, [(0, 0.0, 1, False, False), (1, 0.0, 2, False, False), (2, 1.0, 0, True, False)], 0.9, 0.8, 0.5)
    return torch.allclose(w, torch.tensor([0.2592, 0.36, 0.5]))
# %% exercise="is_right_td" verdict="refused" mistake="one_short_episode"
# the episode of the lesson alone
def is_right_td(td):
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    td(w, [(0, 0.0, 1, False, False), (1, 0.0, 2, False, False), (2, 1.0, 0, True, False)], 0.9, 0.8, 0.5)
    return torch.allclose(w, torch.tensor([0.34664, 0.487, 0.65]))
# %% exercise="is_right_td" verdict="refused" mistake="judges_the_result"
# a right program returns nothing
def is_right_td(td):
    w = torch.tensor([0.1, 0.2], requires_grad=True)
    return bool(td(w, [(0, 0.0, 1, False, False), (1, 1.0, 0, True, False)], 0.9, 0.8, 0.5))
# %% exercise="fix_checkpoint" verdict="refused" mistake="silences_the_warning"
# the default
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    for block in blocks:
        h = checkpoint(block, h)
    return head(h)
# %% exercise="fix_checkpoint" verdict="refused" mistake="drops_the_checkpoints"
def fix_checkpoint(embed, blocks, head, tokens):
    return head(torch.nn.Sequential(*blocks)(embed(tokens)))
# %% exercise="fix_checkpoint" verdict="passed"
# adds a zero that requires grad
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    h = h + torch.zeros_like(h, requires_grad=True)
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=True)
    return head(h)
# %% exercise="fix_checkpoint" verdict="refused" mistake="one_for_all"
def fix_checkpoint(embed, blocks, head, tokens):
    def run(h):
        for block in blocks:
            h = block(h)
        return h
    return head(checkpoint(run, embed(tokens), use_reentrant=False))
# %% exercise="fix_hidden_state" verdict="passed"
# leaves retain_graph=True in, and detaches
def fix_hidden_state(cell, optimizer, x, y, state, k):
    for start in range(0, len(x), k):
        state = (state[0].detach(), state[1].detach()) if type(state) is tuple else state.detach()
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t)
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
    return (state[0].detach(), state[1].detach()) if type(state) is tuple else state.detach()
# %% exercise="fix_hidden_state" verdict="refused" mistake="detaches_the_tuple"
def fix_hidden_state(cell, optimizer, x, y, state, k):
    for start in range(0, len(x), k):
        loss = 0.0
        state = state.detach()
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return state.detach()
# %% exercise="fix_hidden_state" verdict="refused" mistake="only_frees"
def fix_hidden_state(cell, optimizer, x, y, state, k):
    for start in range(0, len(x), k):
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return state
# %% exercise="fix_hidden_state" verdict="refused" mistake="returns_a_graph"
# cuts at the beginning of a window, returns the last graph
def fix_hidden_state(cell, optimizer, x, y, state, k):
    for start in range(0, len(x), k):
        state = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return state
# %% exercise="train_windows" verdict="refused" mistake="without_checkpoints"
def train_windows(cell, optimizer, x, y, h, steps, rows):
    states, total = list(h.split(rows)), 0.0
    for start in range(0, len(x), steps):
        optimizer.zero_grad()
        entries = y[start : start + steps].numel()
        for i in range(len(states)):
            state, loss = states[i], 0.0
            for t in range(start, min(start + steps, len(x))):
                prediction, state = cell(x[t, i * rows : (i + 1) * rows], state)
                loss = loss + ((prediction - y[t, i * rows : (i + 1) * rows]) ** 2).sum()
            (loss / entries).backward()
            total += loss.item()
            states[i] = state.detach()
        optimizer.step()
    return torch.cat(states), total / y.numel()
# %% exercise="train_windows" verdict="refused" mistake="whole_batches"
# no micro-batches
def train_windows(cell, optimizer, x, y, h, steps, rows):
    total = 0.0
    for xs, ys in zip(x.split(steps), y.split(steps)):
        optimizer.zero_grad()
        loss = 0.0
        for x_t, y_t in zip(xs, ys):
            prediction, h = checkpoint(cell, x_t, h, use_reentrant=False)
            loss = loss + mse_loss(prediction, y_t, reduction="sum")
        (loss / ys.numel()).backward()
        total += loss.item()
        optimizer.step()
        h = h.detach()
    return h, total / y.numel()
# %% exercise="train_windows" verdict="refused" mistake="weighs_them_alike"
# divides by the number of micro-batches
def train_windows(cell, optimizer, x, y, h, steps, rows):
    states, total = list(h.split(rows)), 0.0
    for xs, ys in zip(x.split(steps), y.split(steps)):
        optimizer.zero_grad()
        parts = list(zip(xs.split(rows, 1), ys.split(rows, 1)))
        for i, (x_part, y_part) in enumerate(parts):
            state, predictions = states[i], []
            for x_t in x_part:
                prediction, state = checkpoint(cell, x_t, state, use_reentrant=False)
                predictions.append(prediction)
            loss = mse_loss(torch.stack(predictions), y_part)
            (loss / len(parts)).backward()
            total += loss.item() * y_part.numel()
            states[i] = state.detach()
        optimizer.step()
    return torch.cat(states), total / y.numel()
# %% exercise="train_windows" verdict="refused"
# a clear after each step, states in a dict, sum then mean; a GPU refuses the sum on the CPU
def train_windows(cell, optimizer, x, y, h, steps, rows):
    optimizer.zero_grad()
    squares = torch.zeros((), dtype=y.dtype)
    now = {i: part for i, part in enumerate(torch.split(h, rows))}
    for start in range(0, x.shape[0], steps):
        stop = min(x.shape[0], start + steps)
        n = (stop - start) * y.shape[1] * y.shape[2]
        for i in now:
            first, last = i * rows, i * rows + len(now[i])
            s = now[i]
            losses = []
            for t in range(start, stop):
                p, s = checkpoint(cell, x[t, first:last], s, use_reentrant=False)
                losses.append((p - y[t, first:last]).pow(2).sum())
            loss = torch.stack(losses).sum()
            (loss / n).backward()
            squares += loss.detach()
            now[i] = s.detach()
            del s, p, loss, losses
        optimizer.step()
        optimizer.zero_grad()
    return torch.cat([now[i] for i in sorted(now)]), (squares / y.numel()).item()
# %% exercise="train_windows" verdict="passed"
# one backward pass for all micro-batches, but only hidden states are kept until then
def train_windows(cell, optimizer, x, y, h, steps, rows):
    states, total = list(h.split(rows)), 0.0
    for xs, ys in zip(x.split(steps), y.split(steps)):
        optimizer.zero_grad()
        loss = 0.0
        for i, (x_part, y_part) in enumerate(zip(xs.split(rows, 1), ys.split(rows, 1))):
            for x_t, y_t in zip(x_part, y_part):
                prediction, states[i] = checkpoint(cell, x_t, states[i], use_reentrant=False)
                loss = loss + mse_loss(prediction, y_t, reduction="sum") / ys.numel()
        loss.backward()
        states = [state.detach() for state in states]
        total += loss.item() * ys.numel()
        optimizer.step()
    return torch.cat(states), total / y.numel()
# %% exercise="step_in_half" verdict="refused" mistake="half_weights"
def step_in_half(model, optimizer, scaler, x, y):
    model = model.half()
    loss = mse_loss(model(x.half()).float(), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
# %% exercise="step_in_half" verdict="refused" mistake="all_in_float32"
# autocast for a device that is not there
def step_in_half(model, optimizer, scaler, x, y):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = mse_loss(model(x), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
# %% exercise="step_in_half" verdict="refused" mistake="in_bfloat16"
# the default dtype of autocast on the CPU
def step_in_half(model, optimizer, scaler, x, y):
    with torch.autocast("cpu"):
        loss = mse_loss(model(x), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
# %% exercise="step_in_half" verdict="passed"
# backward inside autocast
def step_in_half(model, optimizer, scaler, x, y):
    optimizer.zero_grad(set_to_none=False)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = mse_loss(model(x), y)
        scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
# %% exercise="cures" verdict="refused" mistake="retains_the_gradient"
# right but for E
def cures():
    def a(log_prob, value, returns):
        return -(log_prob * (returns - value).detach()).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return mu + log_std.exp() * torch.randn_like(log_std)
    def c(losses):
        return sum(losses) / len(losses)
    def d(model, outputs, lr):
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        x = x.clone().requires_grad_()
        for _ in range(steps):
            x.retain_grad()
            mse_loss(model(x), y).backward()
            x = x + eps * x.grad.sign()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused"
# small letters
def cures():
    return {"a": lambda log_prob, value, returns: value.mean()}
# %% exercise="cures" verdict="refused"
# a list
def cures():
    return [len, len, len, len, len]
# %% exercise="fix_checkpoint" verdict="refused" mistake="spares_the_frozen"
# checkpoints only for blocks that are trained
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    for block in blocks:
        if any(p.requires_grad for p in block.parameters()):
            h = checkpoint(block, h, use_reentrant=False)
        else:
            h = block(h)
    return head(h)
# %% exercise="fix_checkpoint" verdict="refused" mistake="cuts_at_a_frozen_block"
# frozen blocks under no_grad
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    for block in blocks:
        if any(p.requires_grad for p in block.parameters()):
            h = checkpoint(block, h, use_reentrant=False)
        else:
            with torch.no_grad():
                h = block(h)
    return head(h)
# %% exercise="fix_checkpoint" verdict="refused" mistake="two_to_a_checkpoint"
# two blocks per checkpoint
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    for i in range(0, len(blocks), 2):
        h = checkpoint(torch.nn.Sequential(*blocks[i : i + 2]), h, use_reentrant=False)
    return head(h)
# %% exercise="td_lambda" verdict="refused" mistake="returns_tensors"
# returns tensors
def td_lambda(model, steps, gamma, lam, alpha):
    params = [p for p in model.parameters() if p.requires_grad]
    traces = [torch.zeros_like(p) for p in params]
    deltas = []
    for state, reward, next_state, terminated, truncated in steps:
        v = model(state).sum()
        v_next = torch.zeros(()) if terminated else model(next_state).sum().detach()
        delta = (reward + gamma * v_next - v).detach()
        grads = torch.autograd.grad(v, params)
        with torch.no_grad():
            for p, z, g in zip(params, traces, grads):
                z.mul_(gamma * lam).add_(g)
                p.add_(alpha * delta * z)
        if terminated or truncated:
            for z in traces:
                z.zero_()
        deltas.append(delta)
    return deltas
# %% exercise="fix_hidden_state" verdict="refused" mistake="returns_a_list"
# a list comes back
def fix_hidden_state(cell, optimizer, x, y, state, k):
    cut = lambda s: s.detach() if torch.is_tensor(s) else [cut(t) for t in s]
    for start in range(0, len(x), k):
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = cut(state)
    return state
# %% exercise="train_windows" verdict="refused" mistake="thaws_the_base"
# optimizer step, frozen weights thawed
def train_windows(cell, optimizer, x, y, h, steps, rows):
    total = 0.0
    cell.requires_grad_(True)
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        optimizer.zero_grad()
        parts = []
        for first in range(0, h.shape[0], rows):
            part = h[first : first + rows]
            loss = 0.0
            for x_t, y_t in zip(xs, ys):
                prediction, part = checkpoint(cell, x_t[first : first + rows], part, use_reentrant=False)
                loss = loss + (prediction - y_t[first : first + rows]).square().sum()
            (loss / ys.numel()).backward()
            total += loss.item()
            parts.append(part.detach())
        optimizer.step()
        h = torch.cat(parts)
    return h, total / y.numel()
# %% exercise="fix_traces" verdict="refused" mistake="steps_by_hand"
# optimizer replaced by a new SGD
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    optimizer = torch.optim.SGD(model.parameters(), lr=optimizer.param_groups[0]["lr"])
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        optimizer.zero_grad()
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, model.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -delta * trace
        optimizer.step()
# %% exercise="cures" verdict="refused" mistake="another_noise"
# B: uniform noise
def cures():
    def a(log_prob, value, returns):
        advantage = (returns - value).detach()
        return -(log_prob * advantage).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return mu + log_std.exp() * torch.rand_like(mu)
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        x = x.detach().clone()
        for _ in range(steps):
            x.requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = (x + eps * g.sign()).detach()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused" mistake="same_noise_again"
# B: seed set
def cures():
    def a(log_prob, value, returns):
        advantage = (returns - value).detach()
        return -(log_prob * advantage).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        torch.manual_seed(0)
        return mu + log_std.exp() * torch.randn_like(mu)
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        x = x.detach().clone()
        for _ in range(steps):
            x.requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = (x + eps * g.sign()).detach()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused" mistake="another_optimizer"
# D: Adam
def cures():
    def a(log_prob, value, returns):
        advantage = (returns - value).detach()
        return -(log_prob * advantage).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        return torch.optim.Adam(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        x = x.detach().clone()
        for _ in range(steps):
            x.requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = (x + eps * g.sign()).detach()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused" mistake="adds_up_the_gradients"
# E: x.grad accumulates
def cures():
    def a(log_prob, value, returns):
        advantage = (returns - value).detach()
        return -(log_prob * advantage).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        x = x.detach().clone().requires_grad_()
        for _ in range(steps):
            mse_loss(model(x), y).backward(inputs=[x])
            x.data += eps * x.grad.sign()
        return x.detach()
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused" mistake="one_long_step"
# E: steps times eps once
def cures():
    def a(log_prob, value, returns):
        advantage = (returns - value).detach()
        return -(log_prob * advantage).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        x = x.detach().clone().requires_grad_()
        (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
        return (x + steps * eps * g.sign()).detach()
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="fix_traces" verdict="refused" mistake="clears_once"
# cleared once before the loop
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    optimizer.zero_grad()
    for t, reward in enumerate(rewards):
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, model.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -delta * trace
        optimizer.step()
# %% exercise="fix_traces" verdict="refused" mistake="through_the_target"
# gradient through the target
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        optimizer.zero_grad()
        v = model(states[t])
        v_next = model(states[t + 1]) if t + 1 < len(rewards) else torch.zeros(1)
        delta = reward + gamma * v_next - v
        (-delta).backward()
        for trace, p in zip(traces, model.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -delta.item() * trace
        optimizer.step()
# %% exercise="fix_traces" verdict="refused" mistake="scales_the_trace"
# trace aliased with p.grad and scaled
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        optimizer.zero_grad()
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for i, p in enumerate(model.parameters()):
            traces[i] = gamma * lam * traces[i] + p.grad
            p.grad = traces[i].mul_(-delta)
        optimizer.step()
# %% exercise="fix_traces" verdict="refused" mistake="one_step"
# one step at the end of the episode
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    total = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        optimizer.zero_grad()
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, s, p in zip(traces, total, model.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            s -= delta * trace
    for s, p in zip(total, model.parameters()):
        p.grad = s
    optimizer.step()
# %% exercise="td_lambda" verdict="refused" mistake="carries_the_value"
# v(s) reused from the step before (stale)
def td_lambda(model, steps, gamma, lam, alpha):
    params = [p for p in model.parameters() if p.requires_grad]
    traces = [torch.zeros_like(p) for p in params]
    deltas = []
    cached = None
    for state, reward, next_state, terminated, truncated in steps:
        v = model(state)
        value = v.item() if cached is None else cached
        v_next = 0.0 if terminated else model(next_state).item()
        delta = reward + gamma * v_next - value
        grads = torch.autograd.grad(v.sum(), params)
        with torch.no_grad():
            for p, z, g in zip(params, traces, grads):
                z.mul_(gamma * lam).add_(g)
                p.add_(alpha * delta * z)
        cached = v_next
        if terminated or truncated:
            cached = None
            for z in traces:
                z.zero_()
        deltas.append(delta)
    return deltas
# %% exercise="td_lambda" verdict="refused" mistake="clears_too_early"
# trace reset before the last update of the episode
def td_lambda(model, steps, gamma, lam, alpha):
    params = [p for p in model.parameters() if p.requires_grad]
    traces = [torch.zeros_like(p) for p in params]
    deltas = []
    for state, reward, next_state, terminated, truncated in steps:
        if terminated or truncated:
            for z in traces:
                z.zero_()
        v = model(state)
        v_next = 0.0 if terminated else model(next_state).item()
        delta = reward + gamma * v_next - v.item()
        grads = torch.autograd.grad(v.sum(), params)
        with torch.no_grad():
            for p, z, g in zip(params, traces, grads):
                z.mul_(gamma * lam).add_(g)
                p.add_(alpha * delta * z)
        deltas.append(delta)
    return deltas
# %% exercise="td_lambda" verdict="refused" mistake="trains_the_frozen"
# frozen weights thawed
def td_lambda(model, steps, gamma, lam, alpha):
    model.requires_grad_(True)
    params = list(model.parameters())
    traces = [torch.zeros_like(p) for p in params]
    deltas = []
    for state, reward, next_state, terminated, truncated in steps:
        v = model(state)
        v_next = 0.0 if terminated else model(next_state).item()
        delta = reward + gamma * v_next - v.item()
        grads = torch.autograd.grad(v.sum(), params)
        with torch.no_grad():
            for p, z, g in zip(params, traces, grads):
                z.mul_(gamma * lam).add_(g)
                p.add_(alpha * delta * z)
        if terminated or truncated:
            for z in traces:
                z.zero_()
        deltas.append(delta)
    return deltas
# %% exercise="td_lambda" verdict="refused" mistake="asks_for_the_frozen"
# all model parameters, autograd.grad without allow for frozen
def td_lambda(model, steps, gamma, lam, alpha):
    params = list(model.parameters())
    traces = [torch.zeros_like(p) for p in params]
    deltas = []
    for state, reward, next_state, terminated, truncated in steps:
        v = model(state)
        v_next = 0.0 if terminated else model(next_state).item()
        delta = reward + gamma * v_next - v.item()
        grads = torch.autograd.grad(v.sum(), params)
        with torch.no_grad():
            for p, z, g in zip(params, traces, grads):
                z.mul_(gamma * lam).add_(g)
                p.add_(alpha * delta * z)
        if terminated or truncated:
            for z in traces:
                z.zero_()
        deltas.append(delta)
    return deltas
# %% exercise="td_lambda" verdict="refused" mistake="errors_afterwards"
# delta after the update
def td_lambda(model, steps, gamma, lam, alpha):
    params = [p for p in model.parameters() if p.requires_grad]
    traces = [torch.zeros_like(p) for p in params]
    deltas = []
    for state, reward, next_state, terminated, truncated in steps:
        def error():
            with torch.no_grad():
                return reward + gamma * (0.0 if terminated else model(next_state).item()) - model(state).item()
        delta = error()
        grads = torch.autograd.grad(model(state).sum(), params)
        with torch.no_grad():
            for p, z, g in zip(params, traces, grads):
                z.mul_(gamma * lam).add_(g)
                p.add_(alpha * delta * z)
        if terminated or truncated:
            for z in traces:
                z.zero_()
        deltas.append(error())
    return deltas
# %% exercise="is_right_td" verdict="refused" mistake="judges_the_result"
# looks at the return value
def is_right_td(td):
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    out = td(w, [(0, 0.0, 1, False, False), (1, 0.0, 2, False, False), (2, 1.0, 0, True, False)], 0.9, 0.8, 0.5)
    return out is not None and abs(out[0] - 0.08) < 1e-4 and abs(out[2] - 0.7) < 1e-4
# %% exercise="is_right_td" verdict="refused" mistake="states_as_tensors"
# states one-hot
def is_right_td(td):
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    e = torch.eye(3)
    td(w, [(e[0], 0.0, e[1], False, False), (e[1], 0.0, e[2], False, False), (e[2], 1.0, e[0], True, False)], 0.9, 0.8, 0.5)
    return torch.allclose(w.detach(), torch.tensor([0.34664, 0.487, 0.65]), atol=1e-4)
# %% exercise="is_right_td" verdict="refused" mistake="expects_truncation_to_end"
# reference treats truncated as terminal
def is_right_td(td):
    torch.manual_seed(0)
    start = torch.randn(4)
    steps = [(0, 0.5, 1, False, False), (1, -0.3, 2, False, True), (2, 0.2, 2, False, False), (3, 0.7, 0, True, False), (0, 0.1, 3, False, False)]
    w = start.clone().requires_grad_()
    td(w, steps, 0.9, 0.7, 0.1)
    want, z = start.clone(), torch.zeros(4)
    for s, r, s2, term, trunc in steps:
        done = term or trunc
        delta = r + (0.0 if done else 0.9 * want[s2]) - want[s]
        z = 0.63 * z
        z[s] += 1
        want = want + 0.1 * delta * z
        if done:
            z = torch.zeros(4)
    return torch.allclose(w.detach(), want, atol=1e-5)
# %% exercise="is_right_td" verdict="refused" mistake="gamma_of_one_without_revisits"
# terminal reward only, random start, one episode, gamma=1
def is_right_td(td):
    start = torch.tensor([0.3, -0.4, 0.8])
    w = start.clone().requires_grad_()
    td(w, [(0, 0.5, 1, False, True), (1, 0.2, 2, False, False), (2, 1.0, 0, True, False), (0, 0.7, 2, False, False)], 1.0, 0.8, 0.5)
    want, z = start.clone(), torch.zeros(3)
    for s, r, s2, term, trunc in [(0, 0.5, 1, False, True), (1, 0.2, 2, False, False), (2, 1.0, 0, True, False), (0, 0.7, 2, False, False)]:
        delta = r + (0.0 if term else want[s2]) - want[s]
        z = 0.8 * z
        z[s] += 1
        want = want + 0.5 * delta * z
        if term or trunc:
            z = torch.zeros(3)
    return torch.allclose(w.detach(), want, atol=1e-5)
# %% exercise="is_right_td" verdict="refused" mistake="returns_a_number"
# assert and then nothing returned but False on failure
def is_right_td(td):
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    td(w, [(0, 0.0, 1, False, False), (1, 0.0, 2, False, False), (2, 1.0, 0, True, False)], 0.9, 0.8, 0.5)
    return (w.detach() - torch.tensor([0.34664, 0.487, 0.65])).abs().max()
# %% exercise="fix_hidden_state" verdict="refused" mistake="drops_the_last_window"
# last short window dropped
def fix_hidden_state(cell, optimizer, x, y, state, k):
    cut = lambda s: s.detach() if torch.is_tensor(s) else tuple(map(cut, s))
    for start in range(0, len(x) - k + 1, k):
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = cut(state)
    return state
# %% exercise="fix_hidden_state" verdict="refused" mistake="always_a_tuple"
# always a tuple
def fix_hidden_state(cell, optimizer, x, y, state, k):
    for start in range(0, len(x), k):
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = tuple(s.detach() for s in state)
    return state
# %% exercise="fix_hidden_state" verdict="refused" mistake="clears_too_late"
# zero_grad between backward and step
def fix_hidden_state(cell, optimizer, x, y, state, k):
    cut = lambda s: s.detach() if torch.is_tensor(s) else tuple(map(cut, s))
    for start in range(0, len(x), k):
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        state = cut(state)
    return state
# %% exercise="train_windows" verdict="refused" mistake="clears_for_each_part"
# zero_grad for each micro-batch
def train_windows(cell, optimizer, x, y, h, steps, rows):
    total = 0.0
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        parts = []
        for first in range(0, h.shape[0], rows):
            part = h[first : first + rows]
            optimizer.zero_grad()
            loss = 0.0
            for x_t, y_t in zip(xs, ys):
                prediction, part = checkpoint(cell, x_t[first : first + rows], part, use_reentrant=False)
                loss = loss + (prediction - y_t[first : first + rows]).square().sum()
            (loss / ys.numel()).backward()
            total += loss.item()
            parts.append(part.detach())
        optimizer.step()
        h = torch.cat(parts)
    return h, total / y.numel()
# %% exercise="train_windows" verdict="refused" mistake="keeps_the_history"
# history kept across windows
def train_windows(cell, optimizer, x, y, h, steps, rows):
    total = 0.0
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        optimizer.zero_grad()
        parts = []
        for first in range(0, h.shape[0], rows):
            part = h[first : first + rows]
            loss = 0.0
            for x_t, y_t in zip(xs, ys):
                prediction, part = checkpoint(cell, x_t[first : first + rows], part, use_reentrant=False)
                loss = loss + (prediction - y_t[first : first + rows]).square().sum()
            (loss / ys.numel()).backward(retain_graph=True)
            total += loss.item()
            parts.append(part)
        optimizer.step()
        h = torch.cat(parts)
    return h, total / y.numel()
# %% exercise="train_windows" verdict="refused" mistake="drops_the_last_part"
# last short micro-batch dropped
def train_windows(cell, optimizer, x, y, h, steps, rows):
    total = 0.0
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        optimizer.zero_grad()
        parts = []
        for first in range(0, h.shape[0] - rows + 1, rows):
            part = h[first : first + rows]
            loss = 0.0
            for x_t, y_t in zip(xs, ys):
                prediction, part = checkpoint(cell, x_t[first : first + rows], part, use_reentrant=False)
                loss = loss + (prediction - y_t[first : first + rows]).square().sum()
            (loss / ys.numel()).backward()
            total += loss.item()
            parts.append(part.detach())
        optimizer.step()
        h = torch.cat(parts)
    return h, total / y.numel()
# %% exercise="train_windows" verdict="refused" mistake="measures_all_rows"
# error measured after the step
def train_windows(cell, optimizer, x, y, h, steps, rows):
    h_start = h
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        optimizer.zero_grad()
        parts = []
        for first in range(0, h.shape[0], rows):
            part = h[first : first + rows]
            loss = 0.0
            for x_t, y_t in zip(xs, ys):
                prediction, part = checkpoint(cell, x_t[first : first + rows], part, use_reentrant=False)
                loss = loss + (prediction - y_t[first : first + rows]).square().sum()
            (loss / ys.numel()).backward()
            parts.append(part.detach())
        optimizer.step()
        h = torch.cat(parts)
    with torch.no_grad():
        state, total = h_start, 0.0
        for x_t, y_t in zip(x, y):
            prediction, state = cell(x_t, state)
            total += (prediction - y_t).square().sum().item()
    return h, total / y.numel()
# %% exercise="train_windows" verdict="refused" mistake="recomputes_the_last"
# late-bound lambda in the checkpoint
def train_windows(cell, optimizer, x, y, h, steps, rows):
    total = 0.0
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        optimizer.zero_grad()
        parts = []
        for first in range(0, h.shape[0], rows):
            part = h[first : first + rows]
            loss = 0.0
            for x_t, y_t in zip(xs, ys):
                prediction, part = checkpoint(lambda p: cell(x_t[first : first + rows], p), part, use_reentrant=False)
                loss = loss + (prediction - y_t[first : first + rows]).square().sum()
            (loss / ys.numel()).backward()
            total += loss.item()
            parts.append(part.detach())
        optimizer.step()
        h = torch.cat(parts)
    return h, total / y.numel()
# %% exercise="step_in_half" verdict="refused" mistake="loss_in_half"
# y rounded, loss in half
def step_in_half(model, optimizer, scaler, x, y):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        out = model(x)
    loss = mse_loss(out.half(), y.half())
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
# %% exercise="step_in_half" verdict="refused" mistake="scaler_of_its_own"
# a scaler of its own
def step_in_half(model, optimizer, scaler, x, y):
    scaler = torch.amp.GradScaler("cpu")
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
# %% exercise="step_in_half" verdict="refused" mistake="updates_without_a_step"
# update before step
def step_in_half(model, optimizer, scaler, x, y):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = mse_loss(model(x), y)
    scaler.scale(loss).backward()
    for p in model.parameters():
        p.grad /= scaler.get_scale()
    optimizer.step()
    scaler.update()
    return loss.item()
# %% exercise="step_in_half" verdict="refused" mistake="replaces_the_infinite"
# nan_to_num before the step
def step_in_half(model, optimizer, scaler, x, y):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = mse_loss(model(x), y)
    scaler.scale(loss).backward()
    for p in model.parameters():
        p.grad.nan_to_num_()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
# %% exercise="cures" verdict="refused" mistake="copies_the_losses"
# C: torch.tensor(losses)
def cures():
    def a(log_prob, value, returns):
        advantage = (returns - value).detach()
        return -(log_prob * advantage).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.tensor(losses, requires_grad=True).mean()
    def d(model, outputs, lr):
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        x = x.detach().clone()
        for _ in range(steps):
            x.requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = (x + eps * g.sign()).detach()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="fix_hidden_state" verdict="refused" mistake="first_window_of_one"
# windows shifted by one: short window first
def fix_hidden_state(cell, optimizer, x, y, state, k):
    cut = lambda s: s.detach() if torch.is_tensor(s) else tuple(map(cut, s))
    loss = 0.0
    for t, (x_t, y_t) in enumerate(zip(x, y)):
        prediction, state = cell(x_t, state)
        loss = loss + mse_loss(prediction, y_t)
        if t % k == 0:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            state, loss = cut(state), 0.0
    return cut(state)
# %% exercise="fix_traces" verdict="passed"
# the trace in .grad through a surrogate loss of fixed numbers
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    values_after = lambda t: model(states[t]).item() if t < len(states) else 0.0
    for t, reward in enumerate(rewards):
        optimizer.zero_grad(set_to_none=True)
        v = model(states[t])
        delta = reward + gamma * values_after(t + 1) - v.item()
        v.backward()
        for trace, p in zip(traces, model.parameters()):
            trace *= gamma * lam
            trace += p.grad
        optimizer.zero_grad()
        surrogate = sum((p * trace).sum() for p, trace in zip(model.parameters(), traces)) * -delta
        surrogate.backward()
        optimizer.step()
# %% exercise="td_lambda" verdict="refused" mistake="traces_on_the_cpu"
# flat vector of the traces
def td_lambda(model, steps, gamma, lam, alpha):
    ps = [p for p in model.parameters() if p.requires_grad]
    sizes = [p.numel() for p in ps]
    z = torch.zeros(sum(sizes), dtype=ps[0].dtype)
    deltas = []
    for s, r, s_next, terminated, truncated in steps:
        v = model(s)
        bootstrap = 0 if terminated else model(s_next).detach()
        delta = (r + gamma * bootstrap - v.detach()).item()
        g = torch.cat([part.flatten() for part in torch.autograd.grad(v, ps, materialize_grads=True)])
        z = gamma * lam * z + g
        for p, part in zip(ps, z.split(sizes)):
            p.data += alpha * delta * part.view_as(p)
        z = z * (0.0 if terminated or truncated else 1.0)
        deltas.append(delta)
    return deltas
# %% exercise="fix_checkpoint" verdict="passed"
# checkpoint_sequential with a segment per block
def fix_checkpoint(embed, blocks, head, tokens):
    from torch.utils.checkpoint import checkpoint_sequential
    return head(checkpoint_sequential(list(blocks), len(blocks), embed(tokens), use_reentrant=False))
# %% exercise="train_windows" verdict="passed"
# forward without a graph, then backward step by step with recomputation
def train_windows(cell, optimizer, x, y, h, steps, rows):
    squares = 0.0
    for xs, ys in zip(x.split(steps), y.split(steps)):
        optimizer.zero_grad()
        new = []
        for x_part, y_part, h_part in zip(xs.split(rows, 1), ys.split(rows, 1), h.split(rows)):
            kept = [h_part]
            with torch.no_grad():
                for x_t in x_part:
                    kept.append(cell(x_t, kept[-1])[1])
            new.append(kept.pop())
            back = torch.zeros_like(new[-1])
            for t in reversed(range(len(x_part))):
                inside = kept[t].detach().requires_grad_()
                prediction, out = cell(x_part[t], inside)
                loss = mse_loss(prediction, y_part[t], reduction="sum")
                squares += loss.item()
                torch.autograd.backward([loss / ys.numel(), out], [torch.ones_like(loss), back])
                back = inside.grad
        h = torch.cat(new)
        optimizer.step()
    return h, squares / y.numel()
# %% exercise="cures" verdict="passed"
# outer names, in place moves, groups
def cures():
    class Cure:
        @staticmethod
        def A(log_prob, value, returns):
            return mse_loss(value, returns) - (log_prob * (returns - value.detach())).mean()
        @staticmethod
        def B(mu, log_std):
            noise = torch.normal(torch.zeros_like(mu.detach()), torch.ones_like(mu.detach()))
            return torch.addcmul(mu, torch.exp(log_std), noise)
        @staticmethod
        def C(losses):
            return torch.cat([loss.reshape(1) for loss in losses]).mean()
        @staticmethod
        def D(model, outputs, lr):
            model.head = torch.nn.Linear(model.head.in_features, outputs)
            rest = [p for n, p in model.named_parameters() if not n.startswith("head.")]
            return torch.optim.SGD([{"params": rest}, {"params": model.head.parameters()}], lr=lr)
        @staticmethod
        def E(model, x, y, eps, steps):
            x = torch.nn.Parameter(x.detach().clone())
            for _ in range(steps):
                g = torch.autograd.grad(mse_loss(model(x), y), x)[0]
                with torch.no_grad():
                    x += eps * g.sign()
            return x.detach()
    return {letter: getattr(Cure, letter) for letter in "ABCDE"}
# %% exercise="fix_checkpoint" verdict="refused" mistake="spares_the_first"
# a first block that computes its wide part behind its adapter keeps all of it
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=True) if h.requires_grad else block(h)
    return head(h)
# %% exercise="predict_traces" verdict="refused" mistake="keeps_the_old_gradient"
# .grad still holds the old gradient 1
predict_traces = {"p.grad[0] after step 1": 0.04, "w[0] after step 1": 0.08, "p.grad[0] after the second backward": 1.0, "trace[0] after step 2": 1.72, "w[2] at the end": 0.125}
# %% exercise="fix_traces" verdict="refused" mistake="weighs_the_gradients"
# the trace itself becomes .grad times delta: the decayed trace holds deltas
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        optimizer.zero_grad()
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, model.parameters()):
            trace[:] = gamma * lam * trace - delta * p.grad
            p.grad[:] = trace
        optimizer.step()
# %% exercise="fix_traces" verdict="refused" mistake="carries_the_value"
# the next value is read after the step
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    v_old = 0.0
    for t, reward in enumerate(rewards):
        optimizer.zero_grad()
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        v.backward()
        delta = reward + gamma * v_next - (v.item() if t == 0 else v_old)
        v_old = v_next
        for trace, p in zip(traces, model.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -delta * trace
        optimizer.step()
# %% exercise="fix_traces" verdict="refused" mistake="first_parameter_alone"
# traces only for the first parameter
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    p = next(model.parameters())
    trace = torch.zeros_like(p)
    for t, reward in enumerate(rewards):
        optimizer.zero_grad()
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        trace[:] = gamma * lam * trace + p.grad
        p.grad[:] = -delta * trace
        optimizer.step()
# %% exercise="td_lambda" verdict="refused" mistake="returns_tensors_of_one"
# deltas are tensors
def td_lambda(model, steps, gamma, lam, alpha):
    weights = [p for p in model.parameters() if p.requires_grad]
    traces = [torch.zeros_like(p) for p in weights]
    deltas = []
    for state, reward, after, terminated, truncated in steps:
        v = model(state)
        v_next = 0.0 if terminated else model(after).detach()
        grads = torch.autograd.grad(v, weights, allow_unused=True, materialize_grads=True)
        delta = (reward + gamma * v_next - v).detach()
        with torch.no_grad():
            for p, z, g in zip(weights, traces, grads):
                z.mul_(gamma * lam).add_(g)
                p.add_(alpha * delta * z)
        if terminated or truncated:
            for z in traces:
                z.zero_()
        deltas.append(delta)
    return deltas
# %% exercise="is_right_td" verdict="refused" mistake="compares_exactly"
# requires w.grad to be None afterwards
def is_right_td(td):
    stream = [(0, 0.5, 1, False, False), (1, -0.2, 0, False, False), (0, 0.3, 2, False, False), (2, 1.0, 3, True, False), (3, 0.1, 1, False, False), (1, 0.4, 2, False, True), (2, 0.7, 0, False, False), (0, -0.6, 3, False, False)]
    w = torch.tensor([0.1, -0.4, 0.7, 0.3], dtype=torch.float64, requires_grad=True)
    value, trace = w.detach().clone(), torch.zeros(4, dtype=torch.float64)
    td(w, stream, 0.9, 0.7, 0.2)
    for s, r, n, term, trunc in stream:
        delta = r + (0.0 if term else 0.9 * value[n]) - value[s]
        trace = 0.9 * 0.7 * trace
        trace[s] += 1
        value = value + 0.2 * delta * trace
        if term or trunc:
            trace = torch.zeros(4, dtype=torch.float64)
    return w.grad is None and torch.allclose(w.detach(), value, atol=1e-4)
# %% exercise="fix_checkpoint" verdict="refused" mistake="cuts_off_the_embedding"
# the embedding under no_grad
def fix_checkpoint(embed, blocks, head, tokens):
    with torch.no_grad():
        h = embed(tokens)
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False)
    return head(h)
# %% exercise="fix_checkpoint" verdict="refused" mistake="thaws_the_blocks"
# all parameters of the blocks trained
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens).requires_grad_()
    for block in blocks:
        block.requires_grad_(True)
        h = checkpoint(block, h, use_reentrant=True)
    return head(h)
# %% exercise="fix_hidden_state" verdict="refused" mistake="cuts_the_first_part"
# only the first part of a tuple is detached
def fix_hidden_state(cell, optimizer, x, y, state, k):
    def cut(state):
        return (state[0].detach(), *state[1:]) if isinstance(state, tuple) else state.detach()
    for start in range(0, len(x), k):
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = cut(state)
    return state
# %% exercise="train_windows" verdict="refused" mistake="divides_by_everything"
# the gradient of a window is divided by all entries of y
def train_windows(cell, optimizer, x, y, h, steps, rows):
    error = 0.0
    for xs, ys in zip(x.split(steps), y.split(steps)):
        optimizer.zero_grad()
        ends = []
        for i, state in enumerate(h.split(rows)):
            loss = 0.0
            for x_t, y_t in zip(xs, ys):
                out, state = checkpoint(cell, x_t.split(rows)[i], state, use_reentrant=False)
                loss = loss + (out - y_t.split(rows)[i]).square().sum()
            error += loss.item()
            (loss / y.numel()).backward()
            ends.append(state.detach())
        optimizer.step()
        h = torch.cat(ends)
    return h, error / y.numel()
# %% exercise="train_windows" verdict="refused" mistake="shares_outside"
# rows outside, windows inside: a step per window and part
def train_windows(cell, optimizer, x, y, h, steps, rows):
    error, ends = 0.0, []
    for i, state in enumerate(h.split(rows)):
        for xs, ys in zip(x.split(steps), y.split(steps)):
            optimizer.zero_grad()
            loss = 0.0
            for x_t, y_t in zip(xs, ys):
                out, state = checkpoint(cell, x_t.split(rows)[i], state, use_reentrant=False)
                loss = loss + (out - y_t.split(rows)[i]).square().sum()
            error += loss.item()
            (loss / ys.numel()).backward()
            optimizer.step()
            state = state.detach()
        ends.append(state)
    return torch.cat(ends), error / y.numel()
# %% exercise="cures" verdict="refused" mistake="turns_the_policy"
# A: sign of the policy loss; B: one noise for all entries; C: new tensor; D: head without new layer in model; E: zero_grad on the model
def cures():
    def a(log_prob, value, returns):
        advantage = (returns - value).detach()
        return (log_prob * advantage).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return mu + log_std.exp() * torch.randn(())
    def c(losses):
        return torch.tensor(losses, requires_grad=True).mean()
    def d(model, outputs, lr):
        head = torch.nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD([*model.parameters(), *head.parameters()], lr=lr)
    def e(model, x, y, eps, steps):
        x = x.detach().clone()
        for _ in range(steps):
            x.requires_grad_()
            model.zero_grad()
            mse_loss(model(x), y).backward()
            x = (x + eps * x.grad.sign()).detach()
        model.zero_grad()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused" mistake="sums_the_policy"
# E freezes the model and leaves it frozen; A: sum instead of mean
def cures():
    def a(log_prob, value, returns):
        advantage = (returns - value).detach()
        return -(log_prob * advantage).sum() + mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        model.requires_grad_(False)
        x = x.detach().clone()
        for _ in range(steps):
            x.requires_grad_()
            mse_loss(model(x), y).backward()
            x = (x + eps * x.grad.sign()).detach()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="fix_traces" verdict="refused" mistake="zeroes_too_late"
# cleared between writing .grad and the step
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        model.zero_grad()
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, model.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -delta * trace
        optimizer.zero_grad()
        optimizer.step()
# %% exercise="fix_traces" verdict="refused" mistake="one_last_step"
# one step at the end of the episode
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        model.zero_grad()
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, model.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -delta * trace
        pass
    optimizer.step()
# %% exercise="fix_traces" verdict="refused" mistake="forgets_gamma"
# gamma forgotten in the target
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        model.zero_grad()
        v.backward()
        delta = reward + v_next - v.item()
        for trace, p in zip(traces, model.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -delta * trace
        optimizer.step()
# %% exercise="fix_traces" verdict="refused" mistake="never_decays"
# traces are not decayed at all
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        model.zero_grad()
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, model.parameters()):
            trace[:] = trace + p.grad
            p.grad[:] = -delta * trace
        optimizer.step()
# %% exercise="fix_traces" verdict="refused" mistake="forgets_the_traces"
# the update goes along the gradient, the trace is kept but not used
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        model.zero_grad()
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, model.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -delta * p.grad
        optimizer.step()
# %% exercise="td_lambda" verdict="refused" mistake="value_afterwards"
# the error uses the weights after the step
def td_lambda(model, steps, gamma, lam, alpha):
    weights = [p for p in model.parameters() if p.requires_grad]
    traces = [torch.zeros_like(p) for p in weights]
    deltas = []
    for state, reward, after, terminated, truncated in steps:
        v = model(state)
        with torch.no_grad():
            v_next = 0.0 if terminated else model(after).item()
        grads = torch.autograd.grad(v.sum(), weights, allow_unused=True)
        delta = reward + gamma * v_next - v.item()
        with torch.no_grad():
            for p, z, g in zip(weights, traces, grads):
                z.mul_(gamma * lam)
                if g is not None:
                    z.add_(g)
                p.add_(z, alpha=alpha * delta)
        if terminated or truncated:
            for z in traces:
                z.zero_()
        deltas.append((reward + gamma * v_next - model(state)).item())
    return deltas
# %% exercise="td_lambda" verdict="refused" mistake="forgets_alpha"
# alpha forgotten
def td_lambda(model, steps, gamma, lam, alpha):
    weights = [p for p in model.parameters() if p.requires_grad]
    traces = [torch.zeros_like(p) for p in weights]
    deltas = []
    for state, reward, after, terminated, truncated in steps:
        v = model(state)
        with torch.no_grad():
            v_next = 0.0 if terminated else model(after).item()
        grads = torch.autograd.grad(v.sum(), weights, allow_unused=True)
        delta = reward + gamma * v_next - v.item()
        with torch.no_grad():
            for p, z, g in zip(weights, traces, grads):
                z.mul_(gamma * lam)
                if g is not None:
                    z.add_(g)
                p.add_(z, alpha=delta)
        if terminated or truncated:
            for z in traces:
                z.zero_()
        deltas.append(delta)
    return deltas
# %% exercise="td_lambda" verdict="refused" mistake="forgets_gamma"
# gamma forgotten in the target
def td_lambda(model, steps, gamma, lam, alpha):
    weights = [p for p in model.parameters() if p.requires_grad]
    traces = [torch.zeros_like(p) for p in weights]
    deltas = []
    for state, reward, after, terminated, truncated in steps:
        v = model(state)
        with torch.no_grad():
            v_next = 0.0 if terminated else model(after).item()
        grads = torch.autograd.grad(v.sum(), weights, allow_unused=True)
        delta = reward + v_next - v.item()
        with torch.no_grad():
            for p, z, g in zip(weights, traces, grads):
                z.mul_(gamma * lam)
                if g is not None:
                    z.add_(g)
                p.add_(z, alpha=alpha * delta)
        if terminated or truncated:
            for z in traces:
                z.zero_()
        deltas.append(delta)
    return deltas
# %% exercise="td_lambda" verdict="refused" mistake="forgets_the_reward"
# reward forgotten
def td_lambda(model, steps, gamma, lam, alpha):
    weights = [p for p in model.parameters() if p.requires_grad]
    traces = [torch.zeros_like(p) for p in weights]
    deltas = []
    for state, reward, after, terminated, truncated in steps:
        v = model(state)
        with torch.no_grad():
            v_next = 0.0 if terminated else model(after).item()
        grads = torch.autograd.grad(v.sum(), weights, allow_unused=True)
        delta = gamma * v_next - v.item()
        with torch.no_grad():
            for p, z, g in zip(weights, traces, grads):
                z.mul_(gamma * lam)
                if g is not None:
                    z.add_(g)
                p.add_(z, alpha=alpha * delta)
        if terminated or truncated:
            for z in traces:
                z.zero_()
        deltas.append(delta)
    return deltas
# %% exercise="td_lambda" verdict="refused" mistake="leaves_it_frozen"
# flags switched off at the end
def td_lambda(model, steps, gamma, lam, alpha):
    weights = [p for p in model.parameters() if p.requires_grad]
    traces = [torch.zeros_like(p) for p in weights]
    deltas = []
    for state, reward, after, terminated, truncated in steps:
        v = model(state)
        with torch.no_grad():
            v_next = 0.0 if terminated else model(after).item()
        grads = torch.autograd.grad(v.sum(), weights, allow_unused=True)
        delta = reward + gamma * v_next - v.item()
        with torch.no_grad():
            for p, z, g in zip(weights, traces, grads):
                z.mul_(gamma * lam)
                if g is not None:
                    z.add_(g)
                p.add_(z, alpha=alpha * delta)
        if terminated or truncated:
            for z in traces:
                z.zero_()
        deltas.append(delta)
    model.requires_grad_(False)
    return deltas
# %% exercise="td_lambda" verdict="refused" mistake="resets_when_truncated"
# clears only after truncated
def td_lambda(model, steps, gamma, lam, alpha):
    weights = [p for p in model.parameters() if p.requires_grad]
    traces = [torch.zeros_like(p) for p in weights]
    deltas = []
    for state, reward, after, terminated, truncated in steps:
        v = model(state)
        with torch.no_grad():
            v_next = 0.0 if terminated else model(after).item()
        grads = torch.autograd.grad(v.sum(), weights, allow_unused=True)
        delta = reward + gamma * v_next - v.item()
        with torch.no_grad():
            for p, z, g in zip(weights, traces, grads):
                z.mul_(gamma * lam)
                if g is not None:
                    z.add_(g)
                p.add_(z, alpha=alpha * delta)
        if truncated:
            for z in traces:
                z.zero_()
        deltas.append(delta)
    return deltas
# %% exercise="td_lambda" verdict="refused" mistake="returns_the_sum"
# returns the sum of the errors
def td_lambda(model, steps, gamma, lam, alpha):
    weights = [p for p in model.parameters() if p.requires_grad]
    traces = [torch.zeros_like(p) for p in weights]
    deltas = []
    for state, reward, after, terminated, truncated in steps:
        v = model(state)
        with torch.no_grad():
            v_next = 0.0 if terminated else model(after).item()
        grads = torch.autograd.grad(v.sum(), weights, allow_unused=True)
        delta = reward + gamma * v_next - v.item()
        with torch.no_grad():
            for p, z, g in zip(weights, traces, grads):
                z.mul_(gamma * lam)
                if g is not None:
                    z.add_(g)
                p.add_(z, alpha=alpha * delta)
        if terminated or truncated:
            for z in traces:
                z.zero_()
        deltas.append(delta)
    return sum(deltas)
# %% exercise="hide_the_fault" verdict="refused" mistake="not_finite"
# NaN agrees with nothing
def hide_the_fault():
    return [float('nan')] * 3, [0.0, 0.0, 1.0]
# %% exercise="fix_checkpoint" verdict="refused" mistake="without_a_graph"
# head frozen for the forward pass
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False)
    with torch.no_grad():
        return head(h)
# %% exercise="fix_hidden_state" verdict="refused" mistake="one_last_step"
# one step of the optimizer after the loop
def fix_hidden_state(cell, optimizer, x, y, state, k):
    def cut(state):
        return tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()
    for start in range(0, len(x), k):
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t)
        optimizer.zero_grad()
        loss.backward()
        state = cut(state)
    optimizer.step()
    return state
# %% exercise="fix_hidden_state" verdict="refused" mistake="sums_the_entries"
# squared errors summed, not mse_loss
def fix_hidden_state(cell, optimizer, x, y, state, k):
    def cut(state):
        return tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()
    for start in range(0, len(x), k):
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = loss + (prediction - y_t).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = cut(state)
    return state
# %% exercise="fix_hidden_state" verdict="refused" mistake="returns_the_first_part"
# only the hidden part of the tuple is returned
def fix_hidden_state(cell, optimizer, x, y, state, k):
    def cut(state):
        return tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()
    for start in range(0, len(x), k):
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = cut(state)
    return state[0] if isinstance(state, tuple) else state
# %% exercise="fix_hidden_state" verdict="refused" mistake="divides_by_k"
# loss divided by the window's length k
def fix_hidden_state(cell, optimizer, x, y, state, k):
    def cut(state):
        return tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()
    for start in range(0, len(x), k):
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t)
        optimizer.zero_grad()
        (loss / k).backward()
        optimizer.step()
        state = cut(state)
    return state
# %% exercise="train_windows" verdict="refused" mistake="state_of_the_last_part"
# last state of the last micro-batch only
def train_windows(cell, optimizer, x, y, h, steps, rows):
    total = 0.0
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        optimizer.zero_grad()
        states = []
        for first in range(0, x.shape[1], rows):
            part = slice(first, first + rows)
            state, loss = h[part], 0.0
            for x_t, y_t in zip(xs, ys):
                prediction, state = checkpoint(cell, x_t[part], state, use_reentrant=False)
                loss = loss + ((prediction - y_t[part]) ** 2).sum()
            total += loss.item()
            (loss / ys.numel()).backward()
            states.append(state.detach())
        h = torch.cat(states)
        optimizer.step()
    return states[-1], total / y.numel()
# %% exercise="train_windows" verdict="refused" mistake="divides_by_one_step"
# sum over the steps of means: gradient multiplied by the steps
def train_windows(cell, optimizer, x, y, h, steps, rows):
    total = 0.0
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        optimizer.zero_grad()
        states = []
        for first in range(0, x.shape[1], rows):
            part = slice(first, first + rows)
            state, loss = h[part], 0.0
            for x_t, y_t in zip(xs, ys):
                prediction, state = checkpoint(cell, x_t[part], state, use_reentrant=False)
                loss = loss + ((prediction - y_t[part]) ** 2).sum()
            total += loss.item()
            (loss / ys[0].numel()).backward()
            states.append(state.detach())
        h = torch.cat(states)
        optimizer.step()
    return h, total / y.numel()
# %% exercise="train_windows" verdict="refused" mistake="takes_rows_for_parts"
# micro-batches are the number of parts, not the rows in each
def train_windows(cell, optimizer, x, y, h, steps, rows):
    total = 0.0
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        optimizer.zero_grad()
        states = []
        for first in range(0, x.shape[1], -(-x.shape[1] // rows)):
            part = slice(first, first - (-x.shape[1] // rows))
            state, loss = h[part], 0.0
            for x_t, y_t in zip(xs, ys):
                prediction, state = checkpoint(cell, x_t[part], state, use_reentrant=False)
                loss = loss + ((prediction - y_t[part]) ** 2).sum()
            total += loss.item()
            (loss / ys.numel()).backward()
            states.append(state.detach())
        h = torch.cat(states)
        optimizer.step()
    return h, total / y.numel()
# %% exercise="train_windows" verdict="refused" mistake="one_last_step"
# one optimizer step at the end
def train_windows(cell, optimizer, x, y, h, steps, rows):
    total = 0.0
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        optimizer.zero_grad()
        states = []
        for first in range(0, x.shape[1], rows):
            part = slice(first, first + rows)
            state, loss = h[part], 0.0
            for x_t, y_t in zip(xs, ys):
                prediction, state = checkpoint(cell, x_t[part], state, use_reentrant=False)
                loss = loss + ((prediction - y_t[part]) ** 2).sum()
            total += loss.item()
            (loss / ys.numel()).backward()
            states.append(state.detach())
        h = torch.cat(states)
    optimizer.step()
    return h, total / y.numel()
# %% exercise="train_windows" verdict="refused" mistake="returns_a_graph"
# returned state of the window before
def train_windows(cell, optimizer, x, y, h, steps, rows):
    total = 0.0
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        optimizer.zero_grad()
        states = []
        for first in range(0, x.shape[1], rows):
            part = slice(first, first + rows)
            state, loss = h[part], 0.0
            for x_t, y_t in zip(xs, ys):
                prediction, state = checkpoint(cell, x_t[part], state, use_reentrant=False)
                loss = loss + ((prediction - y_t[part]) ** 2).sum()
            total += loss.item()
            (loss / ys.numel()).backward()
            states.append(state.detach())
        h = torch.cat(states)
        optimizer.step()
    return h.requires_grad_(), total / y.numel()
# %% exercise="step_in_half" verdict="refused" mistake="clears_too_late"
# zero_grad after the backward pass
def step_in_half(model, optimizer, scaler, x, y):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = mse_loss(model(x), y)
    scaler.scale(loss).backward()
    optimizer.zero_grad()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
# %% exercise="step_in_half" verdict="refused" mistake="steps_in_any_case"
# unscaled, then optimizer.step in any case
def step_in_half(model, optimizer, scaler, x, y):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    optimizer.step()
    scaler.update()
    return loss.item()
# %% exercise="step_in_half" verdict="refused" mistake="divides_only"
# backward of the loss without the scale, then scaler.step
def step_in_half(model, optimizer, scaler, x, y):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = mse_loss(model(x), y)
    loss.backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
# %% exercise="step_in_half" verdict="refused" mistake="sums_the_errors"
# sum of squares
def step_in_half(model, optimizer, scaler, x, y):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = (model(x).float() - y).square().sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
# %% exercise="cures" verdict="refused" mistake="policy_alone"
# A: the policy loss alone
def cures():
    def a(log_prob, value, returns):
        advantage = (returns - value).detach()
        return -(log_prob * advantage).mean()
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        x = x.detach().clone()
        for _ in range(steps):
            x.requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = (x + eps * g.sign()).detach()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused" mistake="pair_of_losses"
# A: two losses as a pair
def cures():
    def a(log_prob, value, returns):
        advantage = (returns - value).detach()
        return -(log_prob * advantage).mean(), mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        x = x.detach().clone()
        for _ in range(steps):
            x.requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = (x + eps * g.sign()).detach()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused" mistake="takes_it_for_the_variance"
# B: variance instead of the standard deviation
def cures():
    def a(log_prob, value, returns):
        advantage = (returns - value).detach()
        return -(log_prob * advantage).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return mu + (log_std / 2).exp() * torch.randn_like(mu)
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        x = x.detach().clone()
        for _ in range(steps):
            x.requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = (x + eps * g.sign()).detach()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused" mistake="leaves_the_old_head"
# D: new layer not put into the model
def cures():
    def a(log_prob, value, returns):
        advantage = (returns - value).detach()
        return -(log_prob * advantage).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        head = torch.nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        x = x.detach().clone()
        for _ in range(steps):
            x.requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = (x + eps * g.sign()).detach()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused" mistake="takes_other_inputs"
# D: out_features of the old head as the inputs
def cures():
    def a(log_prob, value, returns):
        advantage = (returns - value).detach()
        return -(log_prob * advantage).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = torch.nn.Linear(model.head.out_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        x = x.detach().clone()
        for _ in range(steps):
            x.requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = (x + eps * g.sign()).detach()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused" mistake="freezes_the_body"
# D: body frozen
def cures():
    def a(log_prob, value, returns):
        advantage = (returns - value).detach()
        return -(log_prob * advantage).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.requires_grad_(False)
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        x = x.detach().clone()
        for _ in range(steps):
            x.requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = (x + eps * g.sign()).detach()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %%
from torch import nn
from torch.nn import functional as F
# %% exercise="step_in_half" verdict="passed"
def step_in_half(model, optimizer, scaler, x, y):
    h = x.half()
    for layer in model:
        if isinstance(layer, nn.Linear):
            h = F.linear(h, layer.weight.half(), layer.bias.half())
        else:
            h = layer(h)
    loss = mse_loss(h.float(), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
# %% exercise="step_in_half" verdict="refused" mistake="unscales_twice"
def step_in_half(model, optimizer, scaler, x, y):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = mse_loss(model(x), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    for p in model.parameters():
        p.grad /= scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
# %% exercise="cures" verdict="refused" mistake="thaws_the_model"
def cures():
    def a(log_prob, value, returns):
        return -(log_prob * (returns - value).detach()).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        model.requires_grad_(False)
        for _ in range(steps):
            x = x.detach().requires_grad_()
            mse_loss(model(x), y).backward()
            x = x.detach() + eps * x.grad.sign()
        model.requires_grad_(True)
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused" mistake="leaves_out_the_frozen"
def cures():
    def a(log_prob, value, returns):
        return -(log_prob * (returns - value).detach()).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr)
    def e(model, x, y, eps, steps):
        for _ in range(steps):
            x = x.detach().requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = x.detach() + eps * g.sign()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused" mistake="thaws_the_body"
def cures():
    def a(log_prob, value, returns):
        return -(log_prob * (returns - value).detach()).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.requires_grad_(False)
        model.head = nn.Linear(model.head.in_features, outputs)
        model.requires_grad_(True)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        for _ in range(steps):
            x = x.detach().requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = x.detach() + eps * g.sign()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused" mistake="as_many_outputs_as_before"
def cures():
    def a(log_prob, value, returns):
        return -(log_prob * (returns - value).detach()).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = nn.Linear(model.head.in_features, model.head.out_features)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        for _ in range(steps):
            x = x.detach().requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = x.detach() + eps * g.sign()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused" mistake="other_letters"
def cures():
    def a(log_prob, value, returns):
        return -(log_prob * (returns - value).detach()).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)
    def e(model, x, y, eps, steps):
        for _ in range(steps):
            x = x.detach().requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = x.detach() + eps * g.sign()
        return x
    return {"a": a, "b": b, "c": c, "d": d, "e": e}
# %% exercise="cures" verdict="refused" mistake="critic_alone"
def cures():
    def a(log_prob, value, returns):
        return mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=0.1)
    def e(model, x, y, eps, steps):
        for _ in range(steps):
            x = x.detach().requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = x.detach() + eps * g.sign()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="cures" verdict="refused" mistake="another_rate"
def cures():
    def a(log_prob, value, returns):
        return -(log_prob * (returns - value).detach()).mean() + mse_loss(value, returns)
    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()
    def c(losses):
        return torch.stack(losses).mean()
    def d(model, outputs, lr):
        model.head = nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters())
    def e(model, x, y, eps, steps):
        for _ in range(steps):
            x = x.detach().requires_grad_()
            (g,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = x.detach() + eps * g.sign()
        return x
    return {"A": a, "B": b, "C": c, "D": d, "E": e}
# %% exercise="hide_the_fault" verdict="refused" mistake="errors_on_the_way"
def hide_the_fault():
    w = [1e9, 1e9 / 0.9, 1e9 / 0.81]
    r = [w[0] - 0.9 * w[1] + 0.05, w[1] - 0.9 * w[2] + 0.05, w[2] + 0.05]
    return w, r
# %% exercise="is_right_td" verdict="refused" mistake="never_revisits"
def is_right_td(td):
    steps = [
        (0, 0.0, 1, False, False),
        (1, 0.5, 2, False, False),
        (2, 1.0, 0, True, False),
        (0, 0.0, 2, False, False),
        (2, 0.5, 1, False, True),
        (1, 1.0, 2, False, False),
        (2, 0.0, 0, False, False),
    ]
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    td(w, steps, 0.9, 0.8, 0.5)
    values, trace = [0.1, 0.2, 0.3], [0.0, 0.0, 0.0]
    for state, reward, after, terminated, truncated in steps:
        delta = reward + (0.0 if terminated else 0.9 * values[after]) - values[state]
        trace = [0.9 * 0.8 * each for each in trace]
        trace[state] += 1
        values = [value + 0.5 * delta * each for value, each in zip(values, trace)]
        if terminated or truncated:
            trace = [0.0, 0.0, 0.0]
    return torch.allclose(w, torch.tensor(values), atol=1e-5)
# %% exercise="is_right_td" verdict="refused" mistake="too_wide"
def is_right_td(td):
    steps = [
        (0, 0.0, 1, False, False),
        (1, 0.5, 0, False, False),
        (0, 0.5, 2, False, False),
        (2, 1.0, 0, True, False),
        (0, 0.0, 2, False, False),
        (2, 0.5, 1, False, True),
        (1, 1.0, 2, False, False),
        (2, 0.0, 0, False, False),
    ]
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    td(w, steps, 0.9, 0.8, 0.5)
    values, trace = [0.1, 0.2, 0.3], [0.0, 0.0, 0.0]
    for state, reward, after, terminated, truncated in steps:
        delta = reward + (0.0 if terminated else 0.9 * values[after]) - values[state]
        trace = [0.9 * 0.8 * each for each in trace]
        trace[state] += 1
        values = [value + 0.5 * delta * each for value, each in zip(values, trace)]
        if terminated or truncated:
            trace = [0.0, 0.0, 0.0]
    return torch.allclose(w, torch.tensor(values), atol=0.05)
# %% exercise="is_right_td" verdict="refused"
def is_right_td(td):
    steps = [
        (0, 0.0, 1, False, False),
        (1, 0.5, 0, False, False),
        (0, 0.5, 2, False, False),
        (2, 1.0, 0, True, False),
        (0, 0.0, 2, False, False),
        (2, 0.5, 1, False, True),
        (1, 1.0, 2, False, False),
        (2, 0.0, 0, False, False),
    ]
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    td(w, steps, 0.9, 0.8, 0.5)
    values, trace = [0.1, 0.2, 0.3], [0.0, 0.0, 0.0]
    for state, reward, after, terminated, truncated in steps:
        delta = reward + (0.0 if terminated else 0.9 * values[after]) - values[state]
        trace = [0.9 * 0.8 * each for each in trace]
        trace[state] += 1
        values = [value + 0.5 * delta * each for value, each in zip(values, trace)]
        if terminated or truncated:
            trace = [0.0, 0.0, 0.0]
    return abs(w[0].item() - values[0]) < 1e-5
# %% exercise="is_right_td" verdict="refused" mistake="uses_the_result"
def is_right_td(td):
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    errors = td(w, [(0, 0.0, 1, False, False), (1, 0.0, 2, False, False)], 0.9, 0.8, 0.5)
    return abs(errors[0] - 0.08) < 1e-5
# %% exercise="is_right_td" verdict="refused" mistake="compares_the_result"
def is_right_td(td):
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    w = td(w, [(0, 0.0, 1, False, False), (1, 0.0, 2, False, False)], 0.9, 0.8, 0.5)
    return torch.allclose(w, torch.tensor([0.14, 0.22, 0.3]), atol=1e-5)
# %% exercise="is_right_td" verdict="refused" mistake="next_state_is_none"
def is_right_td(td):
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    td(w, [(0, 0.0, 1, False, False), (1, 0.0, 2, False, False), (2, 1.0, None, True, False)], 0.9, 0.8, 0.5)
    return torch.allclose(w, torch.tensor([0.34664, 0.487, 0.65]), atol=1e-4)
# %% exercise="is_right_td" verdict="refused" mistake="next_state_is_no_index"
def is_right_td(td):
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    td(w, [(0, 0.0, 1, False, False), (1, 0.0, 2, False, False), (2, 1.0, 3, True, False)], 0.9, 0.8, 0.5)
    return torch.allclose(w, torch.tensor([0.34664, 0.487, 0.65]), atol=1e-4)
# %% exercise="fix_hidden_state" verdict="refused" mistake="clears_before_the_loop"
def fix_hidden_state(cell, optimizer, x, y, state, k):
    optimizer.zero_grad()
    for first in range(0, len(x), k):
        loss = 0.0
        for x_t, y_t in zip(x[first : first + k], y[first : first + k]):
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t)
        loss.backward()
        optimizer.step()
        state = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
    return state
# %% exercise="td_lambda" verdict="refused" mistake="clears_before_the_update"
def td_lambda(model, steps, gamma, lam, alpha):
    weights = [p for p in model.parameters() if p.requires_grad]
    z = [torch.zeros_like(p) for p in weights]
    deltas = []
    for s, r, s2, terminated, truncated in steps:
        v = model(s).sum()
        g = torch.autograd.grad(v, weights)
        with torch.no_grad():
            after = 0.0 if terminated else model(s2).item()
            delta = r + gamma * after - v.item()
            z = [gamma * lam * a + b for a, b in zip(z, g)]
            if terminated or truncated:
                z = [torch.zeros_like(p) for p in weights]
            for p, each in zip(weights, z):
                p += alpha * delta * each
        deltas.append(delta)
    return deltas
# %% exercise="fix_traces" verdict="refused" mistake="uses_the_old_trace"
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    trace = [torch.zeros_like(p) for p in model.parameters()]
    for t in range(len(states)):
        optimizer.zero_grad()
        v = model(states[t]).sum()
        after = model(states[t + 1]).item() if t + 1 < len(states) else 0.0
        delta = rewards[t] + gamma * after - v.item()
        v.backward()
        new = [gamma * lam * z + p.grad for z, p in zip(trace, model.parameters())]
        for z, p in zip(trace, model.parameters()):
            p.grad = -delta * z
        trace = new
        optimizer.step()
# %% exercise="td_lambda" verdict="refused" mistake="clears_before_the_last_step"
# resets the traces before the update of the last step of an episode, so its reward reaches no weight of the states before.
def td_lambda(model, steps, gamma, lam, alpha):
    weights = [p for p in model.parameters() if p.requires_grad]
    traces = [torch.zeros_like(p) for p in weights]
    deltas = []
    for state, reward, next_state, terminated, truncated in steps:
        value = model(state)
        gradients = torch.autograd.grad(value, weights, materialize_grads=True)
        with torch.no_grad():
            following = 0.0 if terminated else model(next_state).item()
            delta = reward + gamma * following - value.item()
            for p, trace, gradient in zip(weights, traces, gradients):
                trace.mul_(0.0 if terminated or truncated else gamma * lam).add_(gradient)
                p.add_(alpha * delta * trace)
                if terminated or truncated:
                    trace.zero_()
        deltas.append(delta)
    return deltas
# %%
import heapq
import torch
def topological(root):
    """Values behind root, users before the used, without recursion."""
    order, seen, stack = [], set(), [(root, False)]
    while stack:
        value, done = stack.pop()
        if done:
            order.append(value)
        elif id(value) not in seen:
            seen.add(id(value))
            stack.append((value, True))
            stack.extend((each, False) for each in value.inputs or ())
    return order[::-1]
class Sound:
    """A right engine in small methods; the faulty ones below differ in one of them."""
    def __init__(self, data, inputs=(), rule=None):
        self.data, self.inputs, self.rule = data, inputs, rule
        self.grad, self.hooks = None, []
    def new(self, data, inputs=(), rule=None):
        return type(self)(data, inputs, rule)
    def like(self, shape):
        if self.data.shape == tuple(shape):
            return self
        mine = self.data.shape
        return self.new(self.data.sum_to_size(tuple(shape)), (self,), lambda g, out: (g.expand(mine),))
    def __add__(self, other):
        a, b = self.data.shape, other.data.shape
        return self.new(self.data + other.data, (self, other), lambda g, out: (g.like(a), g.like(b)))
    def __mul__(self, other):
        return self.new(
            self.data * other.data,
            (self, other),
            lambda g, out: ((g * other).like(self.data.shape), (g * self).like(other.data.shape)),
        )
    def __matmul__(self, other):
        return self.new(self.data @ other.data, (self, other), lambda g, out: (g @ other.t(), self.t() @ g))
    def t(self):
        return self.new(self.data.t(), (self,), lambda g, out: (g.t(),))
    def sum(self):
        return self.new(self.data.sum(), (self,), lambda g, out: (g.expand(self.data.shape),))
    def exp(self):
        return self.new(self.data.exp(), (self,), lambda g, out: (g * out,))
    def tanh(self):
        def rule(g, out):
            one, minus = (self.new(torch.tensor(x, dtype=torch.float64)) for x in (1.0, -1.0))
            return (g * (one + minus * out * out),)
        return self.new(self.data.tanh(), (self,), rule)
    def reshape(self, shape):
        return self.new(self.data.reshape(shape), (self,), lambda g, out: (g.reshape(self.data.shape),))
    def expand(self, shape):
        return self.new(self.data.expand(shape), (self,), lambda g, out: (g.like(self.data.shape),))
    def register_hook(self, hook):
        self.hooks.append(hook)
    def seed(self):
        return self.new(torch.ones_like(self.data))
    def order(self):
        return topological(self)
    def hooked(self, g, create_graph):
        for hook in self.hooks:
            changed = hook(g)
            if changed is not None:
                g = changed if create_graph else self.new(changed.data)
        return g
    def accumulate(self, g, create_graph):
        if create_graph:
            self.grad = g if self.grad is None else self.grad + g
        else:
            self.grad = self.new(g.data.clone() if self.grad is None else self.grad.data + g.data)
    def free(self):
        self.inputs = self.rule = None
    def checked(self, order):
        if any(each.inputs is None for each in order):
            raise RuntimeError("already freed; retain_graph=True would keep it")
    def backward(self, retain_graph=False, create_graph=False):
        order = self.order()
        self.checked(order)
        pending = {id(self): self.seed()}
        for value in order:
            g = value.hooked(pending.pop(id(value)), create_graph)
            if value.rule is None:
                value.accumulate(g, create_graph)
                continue
            for each, part in zip(value.inputs, value.rule(g, value)):
                if not create_graph:
                    part = self.new(part.data)
                old = pending.get(id(each))
                total = part if old is None else old + part
                pending[id(each)] = total if create_graph else self.new(total.data)
            if not (retain_graph or create_graph):
                value.free()
# %% exercise="own_engine" verdict="passed" mistake=""
class Value(Sound):
    pass
# %% exercise="own_engine" verdict="passed" mistake=""
class Value:
    recording, made = True, 0
    def __init__(self, data, inputs=(), rule=None):
        self.data, self.grad, self.hooks, self.freed = data, None, [], False
        self.inputs, self.rule = (inputs, rule) if Value.recording else ((), None)
        Value.made += 1
        self.number = Value.made
    def __lt__(self, other):
        return self.number > other.number  # the heap gives the newest first
    def _summed(self, shape):
        data, before = self.data, self.data.shape
        while data.dim() > len(shape):
            data = data.sum(0)
        for dim, size in enumerate(shape):
            if size == 1:
                data = data.sum(dim, keepdim=True)
        return Value(data, (self,), lambda g, out: (g.expand(before),))
    def __add__(self, other):
        return Value(
            self.data + other.data,
            (self, other),
            lambda g, out: (g._summed(self.data.shape), g._summed(other.data.shape)),
        )
    def __mul__(self, other):
        def rule(g, out):
            return (g * other)._summed(self.data.shape), (g * self)._summed(other.data.shape)
        return Value(self.data * other.data, (self, other), rule)
    def __matmul__(self, other):
        return Value(self.data @ other.data, (self, other), lambda g, out: (g @ other.t(), self.t() @ g))
    def t(self):
        return Value(self.data.t(), (self,), lambda g, out: (g.t(),))
    def sum(self):
        return Value(self.data.sum(), (self,), lambda g, out: (g.expand(self.data.shape),))
    def exp(self):
        return Value(self.data.exp(), (self,), lambda g, out: (g * self.exp(),))
    def tanh(self):
        def rule(g, out):
            minus = Value(torch.full_like(out.data, -1.0))
            return (g + minus * g * out * out,)
        return Value(self.data.tanh(), (self,), rule)
    def reshape(self, shape):
        return Value(self.data.reshape(shape), (self,), lambda g, out: (g.reshape(self.data.shape),))
    def expand(self, shape):
        return Value(self.data.expand(shape), (self,), lambda g, out: (g._summed(self.data.shape),))
    def register_hook(self, hook):
        self.hooks.append(hook)
        return hook
    def backward(self, retain_graph=False, create_graph=False):
        before, Value.recording = Value.recording, create_graph
        try:
            self._walk(retain_graph or create_graph, create_graph)
        finally:
            Value.recording = before
    def _walk(self, keep, create_graph):
        parts, heap = {self: [Value(torch.ones_like(self.data))]}, [self]
        while heap:
            value = heapq.heappop(heap)
            if value.freed:
                raise RuntimeError("the values of this graph have been freed")
            first, *others = parts.pop(value)
            for each in others:
                first = first + each
            for hook in tuple(value.hooks):
                replaced = hook(first)
                if replaced is not None:
                    first = replaced
            if value.rule is None:
                if value.grad is not None:
                    first = value.grad + first
                value.grad = first if create_graph else Value(first.data.clone())
                continue
            for each, part in zip(value.inputs, value.rule(first, value)):
                if each not in parts:
                    parts[each] = []
                    heapq.heappush(heap, each)
                parts[each].append(part)
            if not keep:
                value.inputs, value.rule, value.freed = (), None, True
# %% exercise="own_engine" verdict="refused" mistake="frees_what_it_records"
# create_graph=True frees the graph unless retain_graph=True is said, too
class Value(Sound):
    def backward(self, retain_graph=False, create_graph=False):
        super().backward(retain_graph, create_graph)
        if create_graph and not retain_graph:
            for value in self.order():
                if value.rule is not None:
                    value.free()
# %% exercise="own_engine" verdict="refused" mistake="adds_passes_as_numbers"
# a second gradient is added as numbers, with create_graph=True as well
class Value(Sound):
    def accumulate(self, g, create_graph):
        if self.grad is not None:
            g = self.new(self.grad.data + g.data)
        self.grad = g if create_graph else self.new(g.data.clone())
# %% exercise="own_engine" verdict="refused" mistake="hooks_work_once"
# a hook is gone after its first pass
class Value(Sound):
    def hooked(self, g, create_graph):
        g = super().hooked(g, create_graph)
        self.hooks = []
        return g
# %% exercise="own_engine" verdict="refused" mistake="hooks_get_tensors"
# a hook gets a bare tensor
class Value(Sound):
    def hooked(self, g, create_graph):
        for hook in self.hooks:
            changed = hook(g.data)
            if changed is not None:
                g = changed if isinstance(changed, Value) else self.new(changed)
        return g
# %% exercise="own_engine" verdict="refused" mistake="cuts_what_a_hook_returns"
# a hook's result is cut off although create_graph=True
class Value(Sound):
    def hooked(self, g, create_graph):
        return super().hooked(g, False)
# %% exercise="own_engine" verdict="refused" mistake="frees_the_root_only"
# only the root is freed
class Value(Sound):
    def backward(self, retain_graph=False, create_graph=False):
        super().backward(True, create_graph)
        if not (retain_graph or create_graph):
            self.free()
# %% exercise="own_engine" verdict="refused" mistake="asks_the_root_only"
# only the root is asked: a shared result that was freed counts as a leaf
class Value(Sound):
    freed = False
    def free(self):
        self.inputs, self.rule, self.freed = (), None, True
    def checked(self, order):
        if self.freed:
            raise RuntimeError("freed")
# %% exercise="own_engine" verdict="refused" mistake="results_keep_a_gradient"
# results keep a gradient, too
class Value(Sound):
    def hooked(self, g, create_graph):
        g = super().hooked(g, create_graph)
        if self.rule is not None:
            self.accumulate(g, create_graph)
        return g
# %% exercise="own_engine" verdict="refused" mistake="adds_passes_in_place"
# adds in place to the gradient that somebody has kept, also where it is part of a graph
class Value(Sound):
    def accumulate(self, g, create_graph):
        if self.grad is None:
            self.grad = g if create_graph else self.new(g.data.clone())
        else:
            self.grad.data += g.data
# %% exercise="own_engine" verdict="refused" mistake="begins_with_a_number"
# the pass begins with a number, whatever the shape of the root
class Value(Sound):
    def seed(self):
        return self.new(torch.tensor(1.0, dtype=torch.float64))
# %% exercise="own_engine" verdict="refused" mistake="begins_in_float32"
# the pass begins in float32
class Value(Sound):
    def seed(self):
        return self.new(torch.ones(self.data.shape))
# %%
import torch
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
# %% exercise="predict_step_bytes" verdict="refused"
# The logits are thought to stay beside the logarithms of the softmax.
predict_step_bytes = {
    "after the embedding": 4096,
    "after the block": 8192,
    "after the loss": 8192 + 2 * 32768,
    "at the peak": 8192 + 4 * 32768,
    "after backward": 22528,
}
# %% exercise="predict_step_bytes" verdict="refused"
# The embedding is frozen, so its result is thought to be dropped.
predict_step_bytes = {
    "after the embedding": 4096,
    "after the block": 4096,
    "after the loss": 4096 + 32768,
    "at the peak": 4096 + 3 * 32768,
    "after backward": 22528,
}
# %% exercise="predict_step_bytes" verdict="refused"
# The input of tanh is thought to stay, as if tanh saved it beside its result.
predict_step_bytes = {
    "after the embedding": 4096,
    "after the block": 12288,
    "after the loss": 45056,
    "at the peak": 110592,
    "after backward": 22528,
}
# %% exercise="chunked_loss" verdict="passed"
def chunked_loss(head, h, targets, rows):
    def part(x, y):
        return cross_entropy(head(x), y, reduction="sum")
    total = 0.0
    for x, y in zip(h.split(rows), targets.split(rows)):
        total = total + checkpoint(part, x, y, use_reentrant=False)
    return total / len(targets)
# %% exercise="chunked_loss" verdict="passed"
class GradientsInForward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, weight, bias, targets, rows):
        dh = torch.empty_like(h) if ctx.needs_input_grad[0] else None
        dw = torch.zeros_like(weight) if ctx.needs_input_grad[1] else None
        db = torch.zeros_like(bias) if ctx.needs_input_grad[2] else None
        total, n = h.new_zeros(()), len(h)
        for i in range(0, n, rows):
            x, y = h[i : i + rows], targets[i : i + rows]
            g = x @ weight.T
            if bias is not None:
                g += bias
            at = torch.arange(len(y), device=y.device)
            g -= g.logsumexp(1, keepdim=True)
            total -= g[at, y].sum()
            g.exp_()
            g[at, y] -= 1
            g /= n
            if dh is not None:
                dh[i : i + rows] = g @ weight
            if dw is not None:
                dw.addmm_(g.T, x)
            if db is not None:
                db += g.sum(0)
        ctx.save_for_backward(dh, dw, db)
        return total / n
    @staticmethod
    def backward(ctx, grad):
        return *(None if g is None else g * grad for g in ctx.saved_tensors), None, None
def chunked_loss(head, h, targets, rows):
    return GradientsInForward.apply(h, head.weight, head.bias, targets, rows)
# %% exercise="chunked_loss" verdict="passed"
class Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, head, h, targets, rows, *parameters):
        ctx.head, ctx.rows = head, rows
        ctx.save_for_backward(h, targets)
        parts = zip(h.split(rows), targets.split(rows))
        return sum(cross_entropy(head(x), y, reduction="sum") for x, y in parts) / len(h)
    @staticmethod
    def backward(ctx, grad):
        h, targets = ctx.saved_tensors
        parameters = list(ctx.head.parameters())
        sums = [torch.zeros_like(p) if p.requires_grad else None for p in parameters]
        dh = torch.zeros_like(h) if ctx.needs_input_grad[1] else None
        for i in range(0, len(h), ctx.rows):
            with torch.enable_grad():
                x = h[i : i + ctx.rows].detach().requires_grad_(dh is not None)
                loss = cross_entropy(ctx.head(x), targets[i : i + ctx.rows], reduction="sum") * (grad / len(h))
            wanted = [p for p in parameters if p.requires_grad] + ([x] if dh is not None else [])
            made = list(torch.autograd.grad(loss, wanted))
            if dh is not None:
                dh[i : i + ctx.rows] = made.pop()
            for total, new in zip([s for s in sums if s is not None], made):
                total += new
        return None, dh, None, None, *sums
def chunked_loss(head, h, targets, rows):
    return Recomputed.apply(head, h, targets, rows, *head.parameters())
# %% exercise="chunked_loss" verdict="refused"
# The mean of the means of chunks: the last chunk may be shorter.
def chunked_loss(head, h, targets, rows):
    parts = list(zip(h.split(rows), targets.split(rows)))
    losses = [checkpoint(lambda x, y: cross_entropy(head(x), y), x, y, use_reentrant=False) for x, y in parts]
    return torch.stack(losses).mean()
# %% exercise="chunked_loss" verdict="refused"
# Chunks without checkpoints: the graph holds all logarithms.
def chunked_loss(head, h, targets, rows):
    parts = zip(h.split(rows), targets.split(rows))
    return sum(cross_entropy(head(x), y, reduction="sum") for x, y in parts) / len(h)
# %% exercise="chunked_loss" verdict="refused"
# One checkpoint around the whole: in backward all logits are there.
def chunked_loss(head, h, targets, rows):
    def whole(h):
        parts = zip(h.split(rows), targets.split(rows))
        return sum(cross_entropy(head(x), y, reduction="sum") for x, y in parts) / len(h)
    return checkpoint(whole, h, use_reentrant=False)
# %% exercise="chunked_loss" verdict="refused"
# The reentrant variant: nothing is trained if `h` needs no gradient.
def chunked_loss(head, h, targets, rows):
    def part(x, y):
        return cross_entropy(head(x), y, reduction="sum")
    parts = zip(h.split(rows), targets.split(rows))
    return sum(checkpoint(part, x, y, use_reentrant=True) for x, y in parts) / len(h)
# %% exercise="chunked_loss" verdict="refused"
# The factor `c` is forgotten: gradients are made in forward and handed on as they are.
class WithoutFactor(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, weight, bias, targets, rows):
        dh, dw = torch.zeros_like(h), torch.zeros_like(weight)
        db = None if bias is None else torch.zeros_like(bias)
        total = 0.0
        for i in range(0, len(h), rows):
            x, y = h[i : i + rows], targets[i : i + rows]
            logits = torch.nn.functional.linear(x, weight, bias)
            total += cross_entropy(logits, y, reduction="sum")
            g = (logits.softmax(1) - torch.nn.functional.one_hot(y, len(weight))) / len(h)
            dh[i : i + rows] = g @ weight
            dw += g.T @ x
            if db is not None:
                db += g.sum(0)
        ctx.save_for_backward(dh, dw, db)
        return total / len(h)
    @staticmethod
    def backward(ctx, grad):
        return *ctx.saved_tensors, None, None
def chunked_loss(head, h, targets, rows):
    return WithoutFactor.apply(h, head.weight, head.bias, targets, rows)
# %% exercise="chunked_loss" verdict="refused"
# The bias is forgotten.
def chunked_loss(head, h, targets, rows):
    def part(x, y):
        return cross_entropy(x @ head.weight.T, y, reduction="sum")
    parts = zip(h.split(rows), targets.split(rows))
    return sum(checkpoint(part, x, y, use_reentrant=False) for x, y in parts) / len(h)
# %% exercise="chunked_loss" verdict="refused"
# The backward pass happens inside: the result has no graph, and `c` never arrives.
def chunked_loss(head, h, targets, rows):
    total = 0.0
    for x, y in zip(h.split(rows), targets.split(rows)):
        loss = cross_entropy(head(x), y, reduction="sum") / len(h)
        loss.backward(retain_graph=True)
        total += loss.detach()
    return total.requires_grad_()
# %% exercise="lean_step" verdict="passed"
def lean_step(model, lr, ids, targets, rows):
    def update(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None
    def part(x, y):
        return cross_entropy(model.head(x), y, reduction="sum")
    handles = [p.register_post_accumulate_grad_hook(update) for p in model.parameters() if p.requires_grad]
    try:
        blocks = list(model.blocks)
        h = model.embedding(ids)
        while blocks and not any(p.requires_grad for p in blocks[0].parameters()):
            h = blocks.pop(0)(h)
        size = max(1, round(len(blocks) ** 0.5))
        for i in range(0, len(blocks), size):
            h = checkpoint(torch.nn.Sequential(*blocks[i : i + size]), h, use_reentrant=False)
        total = 0.0
        for x, y in zip(h.split(rows), targets.split(rows)):
            total = total + checkpoint(part, x, y, use_reentrant=False)
        loss = total / len(ids)
        loss.backward()
        return loss.item()
    finally:
        for handle in handles:
            handle.remove()
# %% exercise="lean_step" verdict="passed"
def lean_step(model, lr, ids, targets, rows):
    """No checkpoint of torch: segment by segment, by hand."""
    blocks = list(model.blocks)
    frozen = 0
    while frozen < len(blocks) and not any(p.requires_grad for p in blocks[frozen].parameters()):
        frozen += 1
    starts = list(range(frozen, len(blocks), 5))
    kept = []
    with torch.no_grad():
        h = model.embedding(ids)
        for block in blocks[:frozen]:
            h = block(h)
        for start in starts:
            kept.append((h, torch.get_rng_state()))
            for block in blocks[start : start + 5]:
                h = block(h)
    after = torch.get_rng_state()
    def descend(parameters):
        with torch.no_grad():
            for p in parameters:
                if p.grad is not None:
                    p.add_(p.grad, alpha=-lr)
                    p.grad = None
    grad, value = torch.empty_like(h), 0.0
    for i in range(0, len(h), rows):
        x = h[i : i + rows].detach().requires_grad_()
        loss = cross_entropy(model.head(x), targets[i : i + rows], reduction="sum") / len(h)
        loss.backward()
        grad[i : i + rows] = x.grad
        value += loss.item()
    del h, x, loss
    descend(model.head.parameters())
    for start in reversed(starts):
        h, state = kept.pop()
        torch.set_rng_state(state)
        x = h.detach().requires_grad_(start != frozen)
        out = x
        for block in blocks[start : start + 5]:
            out = block(out)
        out.backward(grad)
        grad = x.grad
        del h, x, out
        below = {id(p) for block in blocks[:start] for p in block.parameters()}
        descend(p for block in set(blocks[start : start + 5]) for p in block.parameters() if id(p) not in below)
    torch.set_rng_state(after)
    return value
# %% exercise="lean_step" verdict="passed"
def lean_step(model, lr, ids, targets, rows):
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizers = {p: torch.optim.SGD([p], lr=lr) for p in trained}
    def update(p):
        optimizers[p].step()
        optimizers[p].zero_grad()
    handles = [p.register_post_accumulate_grad_hook(update) for p in trained]
    h = model.embedding(ids)
    tuned = []
    for block in model.blocks:
        if any(p.requires_grad for p in block.parameters()):
            tuned.append(block)
        else:
            h = block(h)
    if tuned:
        h = checkpoint_sequential(tuned, min(len(tuned), 6), h, use_reentrant=False)
    loss = 0.0
    for x, y in zip(h.split(rows), targets.split(rows)):
        loss = loss + checkpoint(lambda x, y: cross_entropy(model.head(x), y, reduction="sum"), x, y, use_reentrant=False)
    loss = loss / len(targets)
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()
# %% exercise="lean_step" verdict="refused"
# The frozen blocks are in the segments, too: they are called twice.
def lean_step(model, lr, ids, targets, rows):
    def update(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None
    handles = [p.register_post_accumulate_grad_hook(update) for p in model.parameters() if p.requires_grad]
    h = model.embedding(ids)
    for i in range(0, len(model.blocks), 5):
        h = checkpoint(torch.nn.Sequential(*model.blocks[i : i + 5]), h, use_reentrant=False)
    parts = zip(h.split(rows), targets.split(rows))
    loss = sum(
        checkpoint(lambda x, y: cross_entropy(model.head(x), y, reduction="sum"), x, y, use_reentrant=False)
        for x, y in parts
    ) / len(ids)
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()
# %%
def trained_blocks(model, ids):
    blocks, h = list(model.blocks), model.embedding(ids)
    while blocks and not any(p.requires_grad for p in blocks[0].parameters()):
        h = blocks.pop(0)(h)
    return blocks, h
def loss_of_head(model, h, targets, rows):
    def part(x, y):
        return cross_entropy(model.head(x), y, reduction="sum")
    parts = zip(h.split(rows), targets.split(rows))
    return sum(checkpoint(part, x, y, use_reentrant=False) for x, y in parts) / len(h)
def stepping(model, lr):
    def update(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None
    return [p.register_post_accumulate_grad_hook(update) for p in model.parameters() if p.requires_grad]
# %% exercise="lean_step" verdict="refused"
# The hooks are never removed: the next call steps twice.
def lean_step(model, lr, ids, targets, rows):
    stepping(model, lr)
    blocks, h = trained_blocks(model, ids)
    for i in range(0, len(blocks), 5):
        h = checkpoint(torch.nn.Sequential(*blocks[i : i + 5]), h, use_reentrant=False)
    loss = loss_of_head(model, h, targets, rows)
    loss.backward()
    return loss.item()
# %% exercise="lean_step" verdict="refused"
# A checkpoint at every block: 30 inputs are kept.
def lean_step(model, lr, ids, targets, rows):
    handles = stepping(model, lr)
    blocks, h = trained_blocks(model, ids)
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False)
    loss = loss_of_head(model, h, targets, rows)
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()
# %% exercise="lean_step" verdict="refused"
# All gradients wait for the end of the backward pass.
def lean_step(model, lr, ids, targets, rows):
    blocks, h = trained_blocks(model, ids)
    for i in range(0, len(blocks), 5):
        h = checkpoint(torch.nn.Sequential(*blocks[i : i + 5]), h, use_reentrant=False)
    loss = loss_of_head(model, h, targets, rows)
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p.sub_(p.grad, alpha=lr)
                p.grad = None
    return loss.item()
# %% exercise="lean_step" verdict="refused"
# Micro-batches through the whole model: the mean over all rows is another one.
def lean_step(model, lr, ids, targets, rows):
    total = 0.0
    for part, marks in zip(ids.split(rows), targets.split(rows)):
        loss = cross_entropy(model(part), marks, reduction="sum") / len(ids)
        loss.backward()
        total += loss.item()
    with torch.no_grad():
        for p in model.parameters():
            if p.requires_grad:
                p -= lr * p.grad
                p.grad = None
    return total
# %% exercise="lean_step" verdict="refused"
# Random entries are drawn anew in the second call.
def lean_step(model, lr, ids, targets, rows):
    handles = stepping(model, lr)
    blocks, h = trained_blocks(model, ids)
    for i in range(0, len(blocks), 5):
        h = checkpoint(torch.nn.Sequential(*blocks[i : i + 5]), h, use_reentrant=False, preserve_rng_state=False)
    loss = loss_of_head(model, h, targets, rows)
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()
# %% exercise="lean_step" verdict="refused"
# A checkpoint inside a checkpoint: the blocks are called three times.
def lean_step(model, lr, ids, targets, rows):
    handles = stepping(model, lr)
    blocks, h = trained_blocks(model, ids)
    def segment(part, h):
        for block in part:
            h = checkpoint(block, h, use_reentrant=False)
        return h
    for i in range(0, len(blocks), 6):
        h = checkpoint(segment, blocks[i : i + 6], h, use_reentrant=False)
    loss = loss_of_head(model, h, targets, rows)
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()
# %% exercise="lean_step" verdict="refused"
# Blocks and head step as soon as a place in the list is done: a block that stands twice steps too early.
def lean_step(model, lr, ids, targets, rows):
    blocks, h = trained_blocks(model, ids)
    kept = []
    with torch.no_grad():
        for i in range(0, len(blocks), 6):
            kept.append((h, blocks[i : i + 6], torch.get_rng_state()))
            for block in blocks[i : i + 6]:
                h = block(h)
    end = torch.get_rng_state()
    h = h.detach().requires_grad_()
    loss = loss_of_head(model, h, targets, rows)
    handles = stepping(model, lr)
    loss.backward()
    grad = h.grad
    del h
    while kept:
        x, part, state = kept.pop()
        torch.set_rng_state(state)
        x = x.detach().requires_grad_()
        out = x
        for block in part:
            out = block(out)
        out.backward(grad)
        grad = x.grad
    torch.set_rng_state(end)
    for handle in handles:
        handle.remove()
    return loss.item()
# %% exercise="chunked_loss" verdict="passed"
# A backward pass inside the backward pass, as in the reentrant checkpoint: parameters get their gradients in place.
class PassInside(torch.autograd.Function):
    @staticmethod
    def forward(ctx, head, h, targets, rows, *parameters):
        ctx.head, ctx.rows, ctx.n = head, rows, len(parameters)
        ctx.save_for_backward(h, targets)
        parts = zip(h.split(rows), targets.split(rows))
        return sum(cross_entropy(head(x), y, reduction="sum") for x, y in parts) / len(h)
    @staticmethod
    def backward(ctx, grad):
        h, targets = ctx.saved_tensors
        dh = torch.empty_like(h)
        for i in range(0, len(h), ctx.rows):
            with torch.enable_grad():
                x = h[i : i + ctx.rows].detach().requires_grad_()
                loss = cross_entropy(ctx.head(x), targets[i : i + ctx.rows], reduction="sum") / len(h)
            loss.backward(grad)
            dh[i : i + ctx.rows] = x.grad
        return None, dh, None, None, *[None] * ctx.n
def chunked_loss(head, h, targets, rows):
    return PassInside.apply(head, h, targets, rows, *head.parameters())
# %% exercise="chunked_loss" verdict="refused" mistake="writes_the_gradient_of_h"
# A Function that writes h.grad in backward.
class W(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, head, targets, rows, *ps):
        ctx.h, ctx.head, ctx.targets, ctx.rows, ctx.n = h, head, targets, rows, len(ps)
        return sum(cross_entropy(head(x), y, reduction="sum") for x, y in zip(h.split(rows), targets.split(rows))) / len(h)
    @staticmethod
    def backward(ctx, g):
        h = ctx.h
        dh = torch.zeros_like(h)
        for i in range(0, len(h), ctx.rows):
            with torch.enable_grad():
                x = h[i:i + ctx.rows].detach().requires_grad_()
                (cross_entropy(ctx.head(x), ctx.targets[i:i + ctx.rows], reduction="sum") / len(h)).backward(g)
            dh[i:i + ctx.rows] = x.grad
        if h.requires_grad:
            h.grad = dh
        return None, None, None, None, *[None] * ctx.n
def chunked_loss(head, h, targets, rows):
    return W.apply(h, head, targets, rows, *head.parameters())
# %% exercise="own_engine" verdict="refused" mistake="shares_the_gradient"
# .contiguous() for a copy: it copies nothing where the tensor is contiguous
class Value(Sound):
    def accumulate(self, g, create_graph):
        if create_graph:
            self.grad = g if self.grad is None else self.grad + g
        else:
            self.grad = self.new(g.data.contiguous() if self.grad is None else self.grad.data + g.data)
# %% exercise="own_engine" verdict="refused" mistake="refuses_only"
# one tape for all: values never leave memory, and every leaf of the program gets a gradient
class Value(Sound):
    tape = []
    def __init__(self, data, inputs=(), rule=None):
        super().__init__(data, inputs, rule)
        if inputs:
            Value.tape.append(self)
# %% exercise="own_engine" verdict="refused" mistake="frees_the_leaves"
# leaves are freed, too
class Value(Sound):
    def backward(self, retain_graph=False, create_graph=False):
        order = self.order()
        super().backward(retain_graph, create_graph)
        if not (retain_graph or create_graph):
            for each in order:
                each.inputs = None
# %%
def tensor(number):
    return torch.tensor(number, dtype=torch.float64)
class Micro:
    """Closures that push their gradient on to the inputs, as in micrograd."""
    def __init__(self, data, _children=()):
        self.data, self.grad, self._prev = data, None, _children
        self._backward, self._hooks, self._sum, self._dead = None, [], None, False
    def _out(self, data, children, backward):
        out = type(self)(data, children)
        out._backward = backward
        return out
    def _push(self, g, create_graph):
        g = g._to(self.data.shape)
        g = g if create_graph else type(self)(g.data)
        self._sum = g if self._sum is None else self._sum + g
    def _to(self, shape):
        if self.data.shape == shape:
            return self
        data = self.data
        while data.dim() > len(shape):
            data = data.sum(0)
        for i, n in enumerate(shape):
            if n == 1 and data.shape[i] != 1:
                data = data.sum(i, keepdim=True)
        was = self.data.shape
        return self._out(data, (self,), lambda g, c, o: self._push(g.expand(was), c))
    def __add__(self, other):
        def back(g, c, o):
            self._push(g, c)
            other._push(g, c)
        return self._out(self.data + other.data, (self, other), back)
    def __mul__(self, other):
        def back(g, c, o):
            self._push(g * other, c)
            other._push(g * self, c)
        return self._out(self.data * other.data, (self, other), back)
    def __matmul__(self, other):
        def back(g, c, o):
            self._push(g @ other.t(), c)
            other._push(self.t() @ g, c)
        return self._out(self.data @ other.data, (self, other), back)
    def t(self):
        return self._out(self.data.t(), (self,), lambda g, c, o: self._push(g.t(), c))
    def sum(self):
        return self._out(self.data.sum(), (self,), lambda g, c, o: self._push(g.expand(self.data.shape), c))
    def exp(self):
        return self._out(self.data.exp(), (self,), lambda g, c, o: self._push(g * o, c))
    def tanh(self):
        def back(g, c, o):
            minus = type(self)(tensor(-1.0))
            self._push(g + minus * (g * o * o), c)
        return self._out(self.data.tanh(), (self,), back)
    def reshape(self, shape):
        return self._out(self.data.reshape(shape), (self,), lambda g, c, o: self._push(g.reshape(self.data.shape), c))
    def expand(self, shape):
        return self._out(self.data.expand(shape), (self,), lambda g, c, o: self._push(g, c))
    def register_hook(self, hook):
        self._hooks.append(hook)
    def _topo(self):
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            v, done = stack.pop()
            if done:
                order.append(v)
            elif v not in seen:
                seen.add(v)
                stack.append((v, True))
                stack += [(c, False) for c in v._prev]
        return order[::-1]
    def _hooked(self, g):
        for hook in self._hooks:
            new = hook(g)
            if new is not None:
                g = new
        return g
    def _keep(self, g, create_graph):
        if create_graph:
            self.grad = g if self.grad is None else self.grad + g
        else:
            self.grad = type(self)(g.data.clone() if self.grad is None else self.grad.data + g.data)
    def _free(self):
        self._prev, self._backward, self._dead = (), None, True
    def backward(self, retain_graph=False, create_graph=False):
        order = self._topo()
        if any(v._dead for v in order):
            raise RuntimeError("graph freed")
        self._sum = type(self)(torch.ones_like(self.data))
        for v in order:
            g, v._sum = v._hooked(v._sum), None
            if v._backward is None:
                v._keep(g, create_graph)
            else:
                v._backward(g, create_graph, v)
                if not (retain_graph or create_graph):
                    v._free()
def vjps():
    """Return the table of an engine as in HIPS autograd: a function for each argument of a primitive."""
    return {
        "add": (lambda g, y, a, b: g, lambda g, y, a, b: g),
        "mul": (lambda g, y, a, b: g * b, lambda g, y, a, b: g * a),
        "mm": (lambda g, y, a, b: g @ b.t(), lambda g, y, a, b: a.t() @ g),
        "t": (lambda g, y, a: g.t(),),
        "sum": (lambda g, y, a: g.expand(a.data.shape),),
        "exp": (lambda g, y, a: g * y,),
        "tanh": (lambda g, y, a: g + g.like(tensor(-1.0)) * g * y * y,),
        "reshape": (lambda g, y, a: g.reshape(a.data.shape),),
        "expand": (lambda g, y, a: g,),
        "unbroadcast": (lambda g, y, a: g.expand(a.data.shape),),
    }
class Dispatch:
    rules = vjps()
    def __init__(self, data, name=None, args=()):
        self.data, self.name, self.args, self.grad, self.hooks = data, name, args, None, {}
    def like(self, data, name=None, args=()):
        return type(self)(data, name, args)
    def __add__(self, other):
        return self.like(self.data + other.data, "add", (self, other))
    def __mul__(self, other):
        return self.like(self.data * other.data, "mul", (self, other))
    def __matmul__(self, other):
        return self.like(self.data @ other.data, "mm", (self, other))
    def t(self):
        return self.like(self.data.t(), "t", (self,))
    def sum(self):
        return self.like(self.data.sum(), "sum", (self,))
    def exp(self):
        return self.like(self.data.exp(), "exp", (self,))
    def tanh(self):
        return self.like(self.data.tanh(), "tanh", (self,))
    def reshape(self, shape):
        return self.like(self.data.reshape(shape), "reshape", (self,))
    def expand(self, shape):
        return self.like(self.data.expand(shape), "expand", (self,))
    def unbroadcast(self, target):
        if self.data.shape == target.data.shape:
            return self
        return self.like(self.data.sum_to_size(target.data.shape), "unbroadcast", (self,))
    def register_hook(self, hook):
        self.hooks[len(self.hooks)] = hook
    def toposort(self):
        counts, stack = {}, [self]
        while stack:
            node = stack.pop()
            if node in counts:
                counts[node] += 1
            else:
                counts[node] = 1
                stack.extend(node.args)
        childless = [self]
        while childless:
            node = childless.pop()
            yield node
            for parent in node.args:
                if counts[parent] == 1:
                    childless.append(parent)
                else:
                    counts[parent] -= 1
    def apply_hooks(self, g):
        for hook in self.hooks.values():
            g = g if (new := hook(g)) is None else new
        return g
    def backward(self, retain_graph=False, create_graph=False):
        outgrads = {self: self.like(torch.ones_like(self.data))}
        for node in list(self.toposort()):
            g = node.apply_hooks(outgrads.pop(node))
            if node.name is None:
                node.save(g, create_graph)
                continue
            self.pull(node, g, outgrads, create_graph)
            if not (retain_graph or create_graph):
                node.forget()
    def pull(self, node, g, outgrads, create_graph):
        if node.name not in self.rules:
            raise RuntimeError("the graph was released")
        for vjp, parent in zip(self.rules[node.name], node.args):
            part = vjp(g, node, *node.args).unbroadcast(parent)
            part = part if create_graph else self.like(part.data)
            outgrads[parent] = outgrads[parent] + part if parent in outgrads else part
    def save(self, g, create_graph):
        if create_graph:
            self.grad = g if self.grad is None else self.grad + g
        else:
            self.grad = self.like((g.data if self.grad is None else self.grad.data + g.data).clone())
    def forget(self):
        self.name, self.args = "released", ()
# %% exercise="own_engine" verdict="refused" mistake="results_keep_a_gradient"
# micrograd's own way: the sum of a pass lies in .grad of every value, results too
class Value(Micro):
    def _hooked(self, g):
        g = super()._hooked(g)
        if self._backward is not None:
            self.grad = g
        return g
# %% exercise="own_engine" verdict="refused" mistake="assigns_where_paths_meet"
# the closures overwrite: = in place of +=
class Value(Micro):
    def _push(self, g, create_graph):
        g = g._to(self.data.shape)
        self._sum = g if create_graph else type(self)(g.data)
# %% exercise="own_engine" verdict="refused" mistake="keeps_the_large_shape"
# only one of the two sides of a stretched product is brought back to its shape
class Value(Micro):
    def __mul__(self, other):
        def back(g, c, o):
            self._push(g * other, c)
            other._sum = (g * self if other._sum is None else other._sum + g * self)
        return self._out(self.data * other.data, (self, other), back)
# %% exercise="own_engine" verdict="refused" mistake="refuses_only"
# freeing clears the closure, but not the children
class Value(Micro):
    def _free(self):
        self._dead = True
        self._backward = dead
def dead(g, c, o):
    raise RuntimeError("freed")
# %% exercise="own_engine" verdict="refused" mistake="averages_the_copies"
# unbroadcast by mean
class Value(Dispatch):
    def unbroadcast(self, target):
        if self.data.shape == target.data.shape:
            return self
        n = target.data.numel() / self.data.numel()
        total = super().unbroadcast(target)
        return total * self.like(tensor(n))
# %% exercise="own_engine" verdict="refused" mistake="sums_the_first_dimension"
# the table's expand rule sums over the first dimension
class Value(Dispatch):
    rules = {**vjps(), "expand": (lambda g, y, a: g.like(g.data.sum(0, keepdim=True), "unbroadcast", (g,)),)}
# %% exercise="own_engine" verdict="refused" mistake="records_always"
# after a pass without create_graph the gradient still has its op
class Value(Dispatch):
    def pull(self, node, g, outgrads, create_graph):
        super().pull(node, g, outgrads, True)
    def save(self, g, create_graph):
        self.grad = g if self.grad is None else self.grad + g
# %% exercise="own_engine" verdict="refused" mistake="spreads_numbers"
# the rule of sum multiplies by ones with a size of its own: a constant
class Value(Dispatch):
    rules = {**vjps(), "sum": (lambda g, y, a: g.like(torch.ones_like(a.data) * g.data),)}
# %% exercise="own_engine" verdict="refused" mistake="looks_for_a_rule"
# no check for released graphs: a KeyError
class Value(Dispatch):
    def pull(self, node, g, outgrads, create_graph):
        self.rules[node.name]
        super().pull(node, g, outgrads, create_graph)
# %%
from collections import Counter
from torch.nn.functional import cross_entropy
# %% exercise="chunked_loss" verdict="refused" mistake="without_a_graph"
# calls backward for each chunk, as with micro-batches, and returns a number without a graph
def chunked_loss(head, h, targets, rows):
    total = 0.0
    for x, y in zip(h.split(rows), targets.split(rows)):
        loss = cross_entropy(head(x), y, reduction="sum") / len(h)
        loss.backward(retain_graph=True)
        total += loss.detach()
    return total
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
# %% exercise="lean_step" verdict="refused" mistake="other_random_numbers"
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
# %% exercise="lean_step" verdict="refused" mistake="steps_too_early_in_fives"
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
# %%
import collections
import graphlib
import heapq
import itertools
import sys
# %% exercise="own_engine" verdict="passed" mistake=""
# broadcasting is an expand of its own; depth first; frees at the end
class Value:
    """A tensor that remembers how it was made."""
    def __init__(self, data, inputs=(), rule=None):
        self.data, self.inputs, self.rule = data, tuple(inputs), rule
        self.grad, self.hooks = None, {}
    @property
    def shape(self):
        return tuple(self.data.shape)
    def _broadcast(self, shape):
        return self if self.shape == tuple(shape) else self.expand(tuple(shape))
    def _reduce(self, shape):
        return Value(self.data.sum_to_size(shape), (self,), lambda g, out: (g._broadcast(self.shape),))
    def __add__(self, other):
        shape = torch.broadcast_shapes(self.shape, other.shape)
        a, b = self._broadcast(shape), other._broadcast(shape)
        return Value(a.data + b.data, (a, b), lambda g, out: (g, g))
    def __mul__(self, other):
        shape = torch.broadcast_shapes(self.shape, other.shape)
        a, b = self._broadcast(shape), other._broadcast(shape)
        return Value(a.data * b.data, (a, b), lambda g, out: (g * b, g * a))
    def __neg__(self):
        return Value(-self.data, (self,), lambda g, out: (-g,))
    def __matmul__(self, other):
        return Value(self.data @ other.data, (self, other), lambda g, out: (g @ other.t(), self.t() @ g))
    def t(self):
        return Value(self.data.t(), (self,), lambda g, out: (g.t(),))
    def sum(self):
        return Value(self.data.sum(), (self,), lambda g, out: (g.expand(self.shape),))
    def exp(self):
        return Value(self.data.exp(), (self,), lambda g, out: (g * out,))
    def tanh(self):
        return Value(self.data.tanh(), (self,), lambda g, out: (g + -(g * out * out),))
    def reshape(self, shape):
        return Value(self.data.reshape(shape), (self,), lambda g, out: (g.reshape(self.shape),))
    def expand(self, shape):
        return Value(self.data.expand(shape), (self,), lambda g, out: (g._reduce(self.shape),))
    def register_hook(self, hook):
        self.hooks[len(self.hooks)] = hook
    def _sorted(self):
        order, seen, todo = [], set(), [(self, False)]
        while todo:
            value, leaving = todo.pop()
            if leaving:
                order.append(value)
            elif value not in seen:
                if value.rule is Value._gone:
                    raise RuntimeError("a part of this graph has been freed")
                seen.add(value)
                todo.append((value, True))
                todo += [(each, False) for each in value.inputs]
        return order[::-1]
    @staticmethod
    def _gone(g, out):
        raise RuntimeError("freed")
    def backward(self, retain_graph=False, create_graph=False):
        def cut(value):
            return value if create_graph else Value(value.data.clone())
        order = self._sorted()
        incoming = {value: [] for value in order}
        incoming[self].append(Value(torch.ones_like(self.data)))
        for value in order:
            gradient, *others = incoming.pop(value)
            for each in others:
                gradient = gradient + each
            gradient = cut(gradient)
            for hook in value.hooks.values():
                new = hook(gradient)
                gradient = gradient if new is None else cut(new)
            if value.rule is None:
                value.grad = cut(gradient if value.grad is None else value.grad + gradient)
            else:
                for each, part in zip(value.inputs, value.rule(gradient, value)):
                    incoming[each].append(cut(part))
        if not (retain_graph or create_graph):
            for value in order:
                if value.rule is not None:
                    value.inputs, value.rule = (), Value._gone
# %% exercise="own_engine" verdict="passed" mistake=""
# `or` is as good as a comparison with None here: a value is always true
class Value:
    """A tensor that remembers how it was made."""
    def __init__(self, data, inputs=(), rule=None):
        self.data, self.inputs, self.rule = data, inputs, rule
        self.grad, self.hooks, self.freed = None, [], False
    def fold(self, shape):
        if self.data.shape == torch.Size(shape):
            return self
        return Value(self.data.sum_to_size(shape), (self,), lambda g, out: (g.expand(self.data.shape),))
    def __add__(self, other):
        return Value(
            self.data + other.data,
            (self, other),
            lambda g, out: (g.fold(self.data.shape), g.fold(other.data.shape)),
        )
    def __mul__(self, other):
        return Value(
            self.data * other.data,
            (self, other),
            lambda g, out: ((g * other).fold(self.data.shape), (g * self).fold(other.data.shape)),
        )
    def __matmul__(self, other):
        return Value(self.data @ other.data, (self, other), lambda g, out: (g @ other.t(), self.t() @ g))
    def t(self):
        return Value(self.data.t(), (self,), lambda g, out: (g.t(),))
    def sum(self):
        return Value(self.data.sum(), (self,), lambda g, out: (g.expand(self.data.shape),))
    def exp(self):
        return Value(self.data.exp(), (self,), lambda g, out: (g * out,))
    def tanh(self):
        one, minus = Value(torch.ones_like(self.data)), Value(-torch.ones_like(self.data))
        return Value(self.data.tanh(), (self,), lambda g, out: (g * (one + minus * out * out),))
    def reshape(self, shape):
        return Value(self.data.reshape(shape), (self,), lambda g, out: (g.reshape(self.data.shape),))
    def expand(self, shape):
        return Value(self.data.expand(shape), (self,), lambda g, out: (g.fold(self.data.shape),))
    def register_hook(self, hook):
        self.hooks.append(hook)
    def backward(self, retain_graph=False, create_graph=False):
        waits, seen, stack = {}, {self}, [self]
        while stack:
            value = stack.pop()
            if value.freed:
                raise RuntimeError("the graph has been freed")
            for each in value.inputs:
                waits[each] = waits.get(each, 0) + 1
                if each not in seen:
                    seen.add(each)
                    stack.append(each)
        gradients, ready = {self: Value(torch.ones_like(self.data))}, [self]
        while ready:
            value = ready.pop()
            gradient = gradients.pop(value)
            for hook in value.hooks:
                gradient = hook(gradient) or gradient
            if value.rule is None:
                if value.grad is not None:
                    gradient = value.grad + gradient
                value.grad = gradient if create_graph else Value(gradient.data.clone())
                continue
            for each, part in zip(value.inputs, value.rule(gradient, value)):
                if not create_graph:
                    part = Value(part.data)
                if each in gradients:
                    part = gradients[each] + part
                    if not create_graph:
                        part = Value(part.data)
                gradients[each] = part
                waits[each] -= 1
                if waits[each] == 0:
                    ready.append(each)
            if not (retain_graph or create_graph):
                value.inputs, value.rule, value.freed = (), None, True
# %% exercise="own_engine" verdict="refused" mistake="calls_hooks_on_arrival"
# hooks run when a part arrives
numbers = itertools.count()
def summed_to(value, shape):
    """Sum a value to a shape, as an operation of its own."""
    if tuple(value.data.shape) == tuple(shape):
        return value
    data = value.data
    while data.dim() > len(shape):
        data = data.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            data = data.sum(i, keepdim=True)
    return Value(data, (value,), lambda g, out: (g.expand(value.data.shape),))
class Value:
    """A tensor that remembers how it was made."""
    def __init__(self, data, inputs=(), rule=None):
        self.data, self.inputs, self.rule = data, inputs, rule
        self.grad, self.hooks = None, []
        self.number = next(numbers)
    def __add__(self, other):
        def rule(g, out):
            return summed_to(g, self.data.shape), summed_to(g, other.data.shape)
        return Value(self.data + other.data, (self, other), rule)
    def __mul__(self, other):
        def rule(g, out):
            return summed_to(g * other, self.data.shape), summed_to(g * self, other.data.shape)
        return Value(self.data * other.data, (self, other), rule)
    def __matmul__(self, other):
        return Value(self.data @ other.data, (self, other), lambda g, out: (g @ other.t(), self.t() @ g))
    def t(self):
        return Value(self.data.t(), (self,), lambda g, out: (g.t(),))
    def sum(self):
        return Value(self.data.sum(), (self,), lambda g, out: (g.expand(tuple(self.data.shape)),))
    def exp(self):
        return Value(self.data.exp(), (self,), lambda g, out: (g * out,))
    def tanh(self):
        return Value(self.data.tanh(), (self,), Value.tanh_rule)
    @staticmethod
    def tanh_rule(g, out):
        return (g + g * out * out * Value(torch.tensor(-1.0, dtype=torch.float64)),)
    def reshape(self, shape):
        return Value(self.data.reshape(shape), (self,), lambda g, out: (g.reshape(tuple(self.data.shape)),))
    def expand(self, shape):
        return Value(self.data.expand(shape), (self,), lambda g, out: (summed_to(g, self.data.shape),))
    def register_hook(self, hook):
        self.hooks.append(hook)
    def backward(self, retain_graph=False, create_graph=False):
        gradients = {self.number: Value(torch.ones_like(self.data))}
        heap = [(-self.number, self)]
        while heap:
            number, value = heapq.heappop(heap)
            gradient = gradients.pop(-number)
            if value.inputs is None:
                raise RuntimeError("Trying to backward through the graph a second time")
            if not value.inputs:
                if create_graph:
                    value.grad = gradient if value.grad is None else value.grad + gradient
                else:
                    value.grad = Value(gradient.data.clone() if value.grad is None else value.grad.data + gradient.data)
                continue
            for each, part in zip(value.inputs, value.rule(gradient, value)):
                part = part if create_graph else Value(part.data)
                for hook in each.hooks:
                    new = hook(part)
                    if new is not None:
                        part = new if create_graph else Value(new.data)
                if each.number not in gradients:
                    gradients[each.number] = part
                    heapq.heappush(heap, (-each.number, each))
                else:
                    whole = gradients[each.number] + part
                    gradients[each.number] = whole if create_graph else Value(whole.data)
            if not retain_graph and not create_graph:
                value.inputs = value.rule = None
# %% exercise="own_engine" verdict="refused" mistake="turns_round_what_create_graph_keeps"
# frees if retain_graph is said, keeps with create_graph
numbers = itertools.count()
def summed_to(value, shape):
    """Sum a value to a shape, as an operation of its own."""
    if tuple(value.data.shape) == tuple(shape):
        return value
    data = value.data
    while data.dim() > len(shape):
        data = data.sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            data = data.sum(i, keepdim=True)
    return Value(data, (value,), lambda g, out: (g.expand(value.data.shape),))
class Value:
    """A tensor that remembers how it was made."""
    def __init__(self, data, inputs=(), rule=None):
        self.data, self.inputs, self.rule = data, inputs, rule
        self.grad, self.hooks = None, []
        self.number = next(numbers)
    def __add__(self, other):
        def rule(g, out):
            return summed_to(g, self.data.shape), summed_to(g, other.data.shape)
        return Value(self.data + other.data, (self, other), rule)
    def __mul__(self, other):
        def rule(g, out):
            return summed_to(g * other, self.data.shape), summed_to(g * self, other.data.shape)
        return Value(self.data * other.data, (self, other), rule)
    def __matmul__(self, other):
        return Value(self.data @ other.data, (self, other), lambda g, out: (g @ other.t(), self.t() @ g))
    def t(self):
        return Value(self.data.t(), (self,), lambda g, out: (g.t(),))
    def sum(self):
        return Value(self.data.sum(), (self,), lambda g, out: (g.expand(tuple(self.data.shape)),))
    def exp(self):
        return Value(self.data.exp(), (self,), lambda g, out: (g * out,))
    def tanh(self):
        return Value(self.data.tanh(), (self,), Value.tanh_rule)
    @staticmethod
    def tanh_rule(g, out):
        return (g + g * out * out * Value(torch.tensor(-1.0, dtype=torch.float64)),)
    def reshape(self, shape):
        return Value(self.data.reshape(shape), (self,), lambda g, out: (g.reshape(tuple(self.data.shape)),))
    def expand(self, shape):
        return Value(self.data.expand(shape), (self,), lambda g, out: (summed_to(g, self.data.shape),))
    def register_hook(self, hook):
        self.hooks.append(hook)
    def backward(self, retain_graph=False, create_graph=False):
        gradients = {self.number: Value(torch.ones_like(self.data))}
        heap = [(-self.number, self)]
        while heap:
            number, value = heapq.heappop(heap)
            gradient = gradients.pop(-number)
            if value.inputs is None:
                raise RuntimeError("Trying to backward through the graph a second time")
            for hook in value.hooks:
                new = hook(gradient)
                if new is not None:
                    gradient = new if create_graph else Value(new.data)
            if not value.inputs:
                if create_graph:
                    value.grad = gradient if value.grad is None else value.grad + gradient
                else:
                    value.grad = Value(gradient.data.clone() if value.grad is None else value.grad.data + gradient.data)
                continue
            for each, part in zip(value.inputs, value.rule(gradient, value)):
                part = part if create_graph else Value(part.data)
                if each.number not in gradients:
                    gradients[each.number] = part
                    heapq.heappush(heap, (-each.number, each))
                else:
                    whole = gradients[each.number] + part
                    gradients[each.number] = whole if create_graph else Value(whole.data)
            if retain_graph and not create_graph:
                value.inputs = value.rule = None
# %% exercise="own_engine" verdict="refused" mistake="frees_what_it_records"
# precedence: not retain_graph or create_graph
class Value:
    """A tensor that remembers how it was made."""
    def __init__(self, data, inputs=(), rule=None):
        self.data, self.inputs, self.rule = data, inputs, rule
        self.grad, self.hooks, self.freed = None, [], False
    def fold(self, shape):
        if self.data.shape == torch.Size(shape):
            return self
        return Value(self.data.sum_to_size(shape), (self,), lambda g, out: (g.expand(self.data.shape),))
    def __add__(self, other):
        return Value(
            self.data + other.data,
            (self, other),
            lambda g, out: (g.fold(self.data.shape), g.fold(other.data.shape)),
        )
    def __mul__(self, other):
        return Value(
            self.data * other.data,
            (self, other),
            lambda g, out: ((g * other).fold(self.data.shape), (g * self).fold(other.data.shape)),
        )
    def __matmul__(self, other):
        return Value(self.data @ other.data, (self, other), lambda g, out: (g @ other.t(), self.t() @ g))
    def t(self):
        return Value(self.data.t(), (self,), lambda g, out: (g.t(),))
    def sum(self):
        return Value(self.data.sum(), (self,), lambda g, out: (g.expand(self.data.shape),))
    def exp(self):
        return Value(self.data.exp(), (self,), lambda g, out: (g * out,))
    def tanh(self):
        one, minus = Value(torch.ones_like(self.data)), Value(-torch.ones_like(self.data))
        return Value(self.data.tanh(), (self,), lambda g, out: (g * (one + minus * out * out),))
    def reshape(self, shape):
        return Value(self.data.reshape(shape), (self,), lambda g, out: (g.reshape(self.data.shape),))
    def expand(self, shape):
        return Value(self.data.expand(shape), (self,), lambda g, out: (g.fold(self.data.shape),))
    def register_hook(self, hook):
        self.hooks.append(hook)
    def backward(self, retain_graph=False, create_graph=False):
        waits, seen, stack = {}, {self}, [self]
        while stack:
            value = stack.pop()
            if value.freed:
                raise RuntimeError("the graph has been freed")
            for each in value.inputs:
                waits[each] = waits.get(each, 0) + 1
                if each not in seen:
                    seen.add(each)
                    stack.append(each)
        gradients, ready = {self: Value(torch.ones_like(self.data))}, [self]
        while ready:
            value = ready.pop()
            gradient = gradients.pop(value)
            for hook in value.hooks:
                answer = hook(gradient)
                if answer is not None:
                    gradient = answer if create_graph else Value(answer.data)
            if value.rule is None:
                if value.grad is not None:
                    gradient = value.grad + gradient
                value.grad = gradient if create_graph else Value(gradient.data.clone())
                continue
            for each, part in zip(value.inputs, value.rule(gradient, value)):
                if not create_graph:
                    part = Value(part.data)
                if each in gradients:
                    part = gradients[each] + part
                    if not create_graph:
                        part = Value(part.data)
                gradients[each] = part
                waits[each] -= 1
                if waits[each] == 0:
                    ready.append(each)
            if not retain_graph or create_graph:
                value.inputs, value.rule, value.freed = (), None, True
# %% exercise="own_engine" verdict="refused" mistake="recurses"
# recursion with a raised limit
class Value:
    """A tensor that remembers how it was made."""
    def __init__(self, data, inputs=(), rule=None):
        self.data, self.inputs, self.rule = data, tuple(inputs), rule
        self.grad, self.hooks = None, {}
    @property
    def shape(self):
        return tuple(self.data.shape)
    def _broadcast(self, shape):
        return self if self.shape == tuple(shape) else self.expand(tuple(shape))
    def _reduce(self, shape):
        return Value(self.data.sum_to_size(shape), (self,), lambda g, out: (g._broadcast(self.shape),))
    def __add__(self, other):
        shape = torch.broadcast_shapes(self.shape, other.shape)
        a, b = self._broadcast(shape), other._broadcast(shape)
        return Value(a.data + b.data, (a, b), lambda g, out: (g, g))
    def __mul__(self, other):
        shape = torch.broadcast_shapes(self.shape, other.shape)
        a, b = self._broadcast(shape), other._broadcast(shape)
        return Value(a.data * b.data, (a, b), lambda g, out: (g * b, g * a))
    def __neg__(self):
        return Value(-self.data, (self,), lambda g, out: (-g,))
    def __matmul__(self, other):
        return Value(self.data @ other.data, (self, other), lambda g, out: (g @ other.t(), self.t() @ g))
    def t(self):
        return Value(self.data.t(), (self,), lambda g, out: (g.t(),))
    def sum(self):
        return Value(self.data.sum(), (self,), lambda g, out: (g.expand(self.shape),))
    def exp(self):
        return Value(self.data.exp(), (self,), lambda g, out: (g * out,))
    def tanh(self):
        return Value(self.data.tanh(), (self,), lambda g, out: (g + -(g * out * out),))
    def reshape(self, shape):
        return Value(self.data.reshape(shape), (self,), lambda g, out: (g.reshape(self.shape),))
    def expand(self, shape):
        return Value(self.data.expand(shape), (self,), lambda g, out: (g._reduce(self.shape),))
    def register_hook(self, hook):
        self.hooks[len(self.hooks)] = hook
    def _sorted(self):
        sys.setrecursionlimit(100_000)
        order, seen = [], set()
        def visit(value):
            if value not in seen:
                if value.rule is Value._gone:
                    raise RuntimeError("a part of this graph has been freed")
                seen.add(value)
                for each in value.inputs:
                    visit(each)
                order.append(value)
        visit(self)
        return order[::-1]
    @staticmethod
    def _gone(g, out):
        raise RuntimeError("freed")
    def backward(self, retain_graph=False, create_graph=False):
        def cut(value):
            return value if create_graph else Value(value.data.clone())
        order = self._sorted()
        incoming = {value: [] for value in order}
        incoming[self].append(Value(torch.ones_like(self.data)))
        for value in order:
            gradient, *others = incoming.pop(value)
            for each in others:
                gradient = gradient + each
            gradient = cut(gradient)
            for hook in value.hooks.values():
                new = hook(gradient)
                gradient = gradient if new is None else cut(new)
            if value.rule is None:
                value.grad = cut(gradient if value.grad is None else value.grad + gradient)
            else:
                for each, part in zip(value.inputs, value.rule(gradient, value)):
                    incoming[each].append(cut(part))
        if not (retain_graph or create_graph):
            for value in order:
                if value.rule is not None:
                    value.inputs, value.rule = (), Value._gone
# %% exercise="lean_step" verdict="refused" mistake="hooks_that_clear_nothing_stay"
# hooks stay, cleared after backward
def lean_step(model, lr, ids, targets, rows):
    def update(p):
        if p.grad is not None:
            with torch.no_grad():
                p.add_(p.grad, alpha=-lr)
    def clear(p):
        p.grad = None
    def run(h, blocks):
        for block in blocks:
            h = block(h)
        return h
    for p in model.parameters():
        if p.requires_grad:
            p.register_post_accumulate_grad_hook(update)
    h, blocks = model.embedding(ids), list(model.blocks)
    first = next(i for i, b in enumerate(blocks) if b.linear.weight.requires_grad)
    h = run(h, blocks[:first])
    for start in range(first, len(blocks), 5):
        h = checkpoint(run, h, blocks[start : start + 5], use_reentrant=False)
    parts = zip(h.split(rows), targets.split(rows))
    loss = sum(
        checkpoint(lambda x, y: cross_entropy(model.head(x), y, reduction="sum"), x, y, use_reentrant=False)
        for x, y in parts
    ) / len(ids)
    loss.backward()
    for p in model.parameters():
        clear(p)
    return loss.item()
# %% exercise="lean_step" verdict="refused" mistake="clears_only_before"
# step in a tensor hook, .grad left
def lean_step(model, lr, ids, targets, rows):
    def run(h, blocks):
        for block in blocks:
            h = block(h)
        return h
    def stepping(p):
        def hook(g):
            with torch.no_grad():
                p.sub_(lr * g)
        return hook
    handles = [p.register_hook(stepping(p)) for p in model.parameters() if p.requires_grad]
    h, blocks = model.embedding(ids), list(model.blocks)
    first = next(i for i, b in enumerate(blocks) if any(p.requires_grad for p in b.parameters()))
    h = run(h, blocks[:first])
    for start in range(first, len(blocks), 5):
        h = checkpoint(run, h, blocks[start : start + 5], use_reentrant=False)
    parts = zip(h.split(rows), targets.split(rows))
    loss = sum(
        checkpoint(lambda x, y: cross_entropy(model.head(x), y, reduction="sum"), x, y, use_reentrant=False)
        for x, y in parts
    ) / len(ids)
    del h
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()
# %% exercise="lean_step" verdict="refused" mistake="clears_before_and_steps_at_the_end"
# zeroed before, left after
def lean_step(model, lr, ids, targets, rows):
    def run(h, blocks):
        for block in blocks:
            h = block(h)
        return h
    model.zero_grad()
    h, blocks = model.embedding(ids), list(model.blocks)
    first = next(i for i, b in enumerate(blocks) if any(p.requires_grad for p in b.parameters()))
    h = run(h, blocks[:first])
    for start in range(first, len(blocks), 5):
        h = checkpoint(run, h, blocks[start : start + 5], use_reentrant=False)
    parts = zip(h.split(rows), targets.split(rows))
    loss = sum(
        checkpoint(lambda x, y: cross_entropy(model.head(x), y, reduction="sum"), x, y, use_reentrant=False)
        for x, y in parts
    ) / len(ids)
    del h
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.requires_grad:
                p -= lr * p.grad
    return loss.item()
# %% exercise="predict_step_bytes" verdict="refused" mistake="embedding_costs_nothing"
# a frozen embedding costs nothing
predict_step_bytes = {"after the embedding": 0, "after the block": 4096, "after the loss": 4096 + 32768, "at the peak": 4096 + 3 * 32768, "after backward": 4096 + 2048 + 16384}
# %% exercise="lean_step" verdict="refused" mistake="short_segments"
# segments of two
def lean_step(model, lr, ids, targets, rows):
    def run(h, blocks):
        for block in blocks:
            h = block(h)
        return h
    def update(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None
    handles = [p.register_post_accumulate_grad_hook(update) for p in model.parameters() if p.requires_grad]
    h, blocks = model.embedding(ids), list(model.blocks)
    first = next(i for i, b in enumerate(blocks) if any(p.requires_grad for p in b.parameters()))
    h = run(h, blocks[:first])
    for start in range(first, len(blocks), 2):
        h = checkpoint(run, h, blocks[start : start + 2], use_reentrant=False)
    parts = zip(h.split(rows), targets.split(rows))
    loss = sum(
        checkpoint(lambda x, y: cross_entropy(model.head(x), y, reduction="sum"), x, y, use_reentrant=False)
        for x, y in parts
    ) / len(ids)
    del h
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()
# %% exercise="lean_step" verdict="refused" mistake=""
# old weights are copied first
def lean_step(model, lr, ids, targets, rows):
    def run(h, blocks):
        for block in blocks:
            h = block(h)
        return h
    def update(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None
    old = [p.detach().clone() for p in model.parameters()]
    handles = [p.register_post_accumulate_grad_hook(update) for p in model.parameters() if p.requires_grad]
    h, blocks = model.embedding(ids), list(model.blocks)
    first = next(i for i, b in enumerate(blocks) if any(p.requires_grad for p in b.parameters()))
    h = run(h, blocks[:first])
    for start in range(first, len(blocks), 5):
        h = checkpoint(run, h, blocks[start : start + 5], use_reentrant=False)
    parts = zip(h.split(rows), targets.split(rows))
    loss = sum(
        checkpoint(lambda x, y: cross_entropy(model.head(x), y, reduction="sum"), x, y, use_reentrant=False)
        for x, y in parts
    ) / len(ids)
    del h
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()
# %% exercise="chunked_loss" verdict="refused" mistake="chunks_with_graphs"
# the softmax of every chunk is kept
class Chunked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, weight, bias, targets, rows):
        total, ps, n = h.new_zeros(()), [], len(h)
        for x, y in zip(h.split(rows), targets.split(rows)):
            p = torch.nn.functional.linear(x, weight, bias)
            top = p.logsumexp(1, keepdim=True)
            total += (top - p.gather(1, y[:, None])).sum()
            p.sub_(top).exp_()
            p[torch.arange(len(y)), y] -= 1
            ps.append(p / n)
        ctx.ps, ctx.rows = ps, rows
        ctx.save_for_backward(h, weight)
        return total / n
    @staticmethod
    def backward(ctx, g):
        h, weight = ctx.saved_tensors
        nh, nw, nb = ctx.needs_input_grad[:3]
        gh = torch.cat([g * p @ weight for p in ctx.ps]) if nh else None
        gw = sum(g * p.T @ x for p, x in zip(ctx.ps, h.split(ctx.rows))) if nw else None
        gb = sum(g * p.sum(0) for p in ctx.ps) if nb else None
        return gh, gw, gb, None, None
def chunked_loss(head, h, targets, rows):
    return Chunked.apply(h, head.weight, head.bias, targets, rows)
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
# %% exercise="step_in_half" verdict="refused" mistake="rounds_the_targets"
# the targets are rounded
def step_in_half(model, optimizer, scaler, x, y):
    with torch.autocast("cpu", dtype=torch.float16):
        output = model(x)
        loss = mse_loss(output, y.half())
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
# %% exercise="own_engine" verdict="refused" mistake="adds_to_a_recorded_gradient"
# a sum with an older gradient keeps its graph after a plain pass
class Value:
    """A tensor that remembers how it was made."""
    def __init__(self, data, inputs=(), rule=None):
        self.data, self.inputs, self.rule = data, inputs, rule
        self.grad, self.hooks, self.freed = None, [], False
    def fold(self, shape):
        """The sum over the copies that broadcasting from `shape` has made."""
        if self.data.shape == shape:
            return self
        return Value(self.data.sum_to_size(shape), (self,), lambda g, out: (g.expand(self.data.shape),))
    def __add__(self, other):
        return Value(
            self.data + other.data,
            (self, other),
            lambda g, out: (g.fold(self.data.shape), g.fold(other.data.shape)),
        )
    def __mul__(self, other):
        return Value(
            self.data * other.data,
            (self, other),
            lambda g, out: ((g * other).fold(self.data.shape), (g * self).fold(other.data.shape)),
        )
    def __matmul__(self, other):
        return Value(self.data @ other.data, (self, other), lambda g, out: (g @ other.t(), self.t() @ g))
    def t(self):
        return Value(self.data.t(), (self,), lambda g, out: (g.t(),))
    def sum(self):
        return Value(self.data.sum(), (self,), lambda g, out: (g.expand(self.data.shape),))
    def exp(self):
        return Value(self.data.exp(), (self,), lambda g, out: (g * out,))
    def tanh(self):
        def rule(g, out):
            one, minus = (Value(torch.tensor(n, dtype=self.data.dtype)) for n in (1.0, -1.0))
            return (g * (one + minus * out * out),)
        return Value(self.data.tanh(), (self,), rule)
    def reshape(self, shape):
        return Value(self.data.reshape(shape), (self,), lambda g, out: (g.reshape(self.data.shape),))
    def expand(self, shape):
        return Value(self.data.expand(shape), (self,), lambda g, out: (g.fold(self.data.shape),))
    def register_hook(self, hook):
        self.hooks.append(hook)
    def backward(self, retain_graph=False, create_graph=False):
        keep = retain_graph or create_graph
        waits, order = {id(self): 0}, [self]
        for value in order:
            if value.freed:
                raise RuntimeError("a value of this graph has been freed")
            for each in value.inputs:
                if id(each) not in waits:
                    waits[id(each)] = 0
                    order.append(each)
                waits[id(each)] += 1
        gradients, ready = {id(self): Value(torch.ones_like(self.data))}, [self]
        while ready:
            value = ready.pop()
            gradient = gradients.pop(id(value))
            for hook in value.hooks:
                changed = hook(gradient)
                if changed is not None:
                    gradient = changed if create_graph else Value(changed.data)
            if value.rule is None:
                if create_graph:
                    value.grad = gradient if value.grad is None else value.grad + gradient
                elif value.grad is None:
                    value.grad = Value(gradient.data.clone())
                else:
                    value.grad = value.grad + gradient
                continue
            for each, part in zip(value.inputs, value.rule(gradient, value)):
                part = part if create_graph else Value(part.data)
                key = id(each)
                if key in gradients:
                    part = gradients[key] + part if create_graph else Value(gradients[key].data + part.data)
                gradients[key] = part
                waits[key] -= 1
                if not waits[key]:
                    ready.append(each)
            if not keep:
                value.inputs, value.rule, value.freed = (), None, True
# %% exercise="chunked_loss" verdict="refused" mistake="backward_inside_for_the_head"
# the head's gradients are made in the forward pass, whether anybody asks or not
def chunked_loss(head, h, targets, rows):
    total, pieces = 0.0, []
    for x, y in zip(h.split(rows), targets.split(rows)):
        leaf = x.detach().requires_grad_()
        loss = cross_entropy(head(leaf), y, reduction="sum") / len(h)
        loss.backward()
        total += loss.item()
        pieces.append(leaf.grad)
    surrogate = (h * torch.cat(pieces)).sum()
    return surrogate - surrogate.detach() + total
# %% exercise="chunked_loss" verdict="refused" mistake="reentrant"
# own Function without the weights
def chunked_loss(head, h, targets, rows):
    def of(y):
        return lambda x: cross_entropy(head(x), y, reduction="sum")
    return sum(Again.apply(of(y), x) for x, y in zip(h.split(rows), targets.split(rows))) / len(h)
# %% exercise="chunked_loss" verdict="refused" mistake="binds_late"
# late binding
def chunked_loss(head, h, targets, rows):
    total = 0.0
    for start in range(0, len(h), rows):
        def of_chunk(x):
            return cross_entropy(head(x), targets[start : start + rows], reduction="sum")
        total = total + checkpoint(of_chunk, h[start : start + rows], use_reentrant=False)
    return total / len(h)
# %% exercise="chunked_loss" verdict="refused" mistake="keeps_the_last_chunk"
# weight grad overwritten
class ChunkedLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, weight, bias, targets, rows):
        ctx.save_for_backward(h, weight, bias, targets)
        ctx.rows = rows
        total = 0.0
        for x, y in zip(h.split(rows), targets.split(rows)):
            total = total + cross_entropy(torch.nn.functional.linear(x, weight, bias), y, reduction="sum")
        return total / len(h)
    @staticmethod
    def backward(ctx, v):
        h, weight, bias, targets = ctx.saved_tensors
        dh, dw, db = torch.zeros_like(h), torch.zeros_like(weight), None if bias is None else torch.zeros_like(bias)
        for start in range(0, len(h), ctx.rows):
            part = slice(start, start + ctx.rows)
            z = torch.nn.functional.linear(h[part], weight, bias).softmax(1)
            z[torch.arange(len(z)), targets[part]] -= 1
            z *= v / len(h)
            dh[part] = z @ weight
            dw = z.T @ h[part]
            if db is not None:
                db = z.sum(0)
        return dh, dw, db, None, None
def chunked_loss(head, h, targets, rows):
    return ChunkedLoss.apply(h, head.weight, head.bias, targets, rows)
# %% exercise="td_lambda" verdict="refused" mistake="fades_at_once"
# the new gradient fades at once
def td_lambda(model, steps, gamma, lam, alpha):
    params = [p for p in model.parameters() if p.requires_grad]
    traces = [torch.zeros_like(p) for p in params]
    deltas = []
    for state, reward, next_state, terminated, truncated in steps:
        v = model(state)
        with torch.no_grad():
            v_next = 0.0 if terminated else model(next_state).item()
        gradients = torch.autograd.grad(v.sum(), params, allow_unused=True)
        delta = reward + gamma * v_next - v.item()
        with torch.no_grad():
            for p, trace, g in zip(params, traces, gradients):
                if g is not None:
                    trace.add_(g)
                trace.mul_(gamma * lam)
                p.add_(trace, alpha=alpha * delta)
        if terminated or truncated:
            for trace in traces:
                trace.zero_()
        deltas.append(delta)
    return deltas
# %% exercise="lean_step" verdict="refused" mistake="hooks_stay"
# the hooks stay: the second call steps twice
def lean_step(model, lr, ids, targets, rows):
    def step(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None
    def run(part, h):
        for block in part:
            h = block(h)
        return h
    def of_rows(x, y):
        return cross_entropy(model.head(x), y, reduction="sum")
    handles = [p.register_post_accumulate_grad_hook(step) for p in model.parameters() if p.requires_grad]
    try:
        blocks = list(model.blocks)
        with torch.no_grad():
            h = model.embedding(ids)
            while blocks and not any(p.requires_grad for p in blocks[0].parameters()):
                h = blocks.pop(0)(h)
        for start in range(0, len(blocks), 5):
            h = checkpoint(run, blocks[start : start + 5], h, use_reentrant=False)
        parts = zip(h.split(rows), targets.split(rows))
        loss = sum(checkpoint(of_rows, x, y, use_reentrant=False) for x, y in parts) / len(h)
        loss.backward()
    finally:
        pass
    return loss.item()
# %% exercise="lean_step" verdict="refused" mistake="only_the_head"
# own Function without the weights
def lean_step(model, lr, ids, targets, rows):
    def step(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None
    def of(y):
        return lambda x: cross_entropy(model.head(x), y, reduction="sum")
    handles = [p.register_post_accumulate_grad_hook(step) for p in model.parameters() if p.requires_grad]
    try:
        blocks = list(model.blocks)
        with torch.no_grad():
            h = model.embedding(ids)
            while blocks and not any(p.requires_grad for p in blocks[0].parameters()):
                h = blocks.pop(0)(h)
        for start in range(0, len(blocks), 5):
            h = Again.apply(torch.nn.Sequential(*blocks[start : start + 5]), h)
        parts = zip(h.split(rows), targets.split(rows))
        loss = sum(checkpoint(of(y), x, use_reentrant=False) for x, y in parts) / len(h)
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    return loss.item()
# %% exercise="lean_step" verdict="refused" mistake="steps_at_each_part"
# hooks step in passes inside the pass, part by part
def lean_step(model, lr, ids, targets, rows):
    def step(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None
    def of(y):
        return lambda x: cross_entropy(model.head(x), y, reduction="sum")
    handles = [p.register_post_accumulate_grad_hook(step) for p in model.parameters() if p.requires_grad]
    try:
        blocks = list(model.blocks)
        with torch.no_grad():
            h = model.embedding(ids)
            while blocks and not any(p.requires_grad for p in blocks[0].parameters()):
                h = blocks.pop(0)(h)
        h.requires_grad_()
        for start in range(0, len(blocks), 5):
            h = checkpoint(torch.nn.Sequential(*blocks[start : start + 5]), h, use_reentrant=True)
        parts = zip(h.split(rows), targets.split(rows))
        loss = sum(checkpoint(of(y), x, use_reentrant=True) for x, y in parts) / len(h)
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    return loss.item()
# %% exercise="lean_step" verdict="refused" mistake="loss_after_the_step"
# returns the loss after
def lean_step(model, lr, ids, targets, rows):
    def step(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None
    def run(part, h):
        for block in part:
            h = block(h)
        return h
    def of_rows(x, y):
        return cross_entropy(model.head(x), y, reduction="sum")
    handles = [p.register_post_accumulate_grad_hook(step) for p in model.parameters() if p.requires_grad]
    try:
        blocks = list(model.blocks)
        with torch.no_grad():
            h = model.embedding(ids)
            while blocks and not any(p.requires_grad for p in blocks[0].parameters()):
                h = blocks.pop(0)(h)
        for start in range(0, len(blocks), 5):
            h = checkpoint(run, blocks[start : start + 5], h, use_reentrant=False)
        parts = zip(h.split(rows), targets.split(rows))
        loss = sum(checkpoint(of_rows, x, y, use_reentrant=False) for x, y in parts) / len(h)
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    with torch.no_grad():
        return cross_entropy(model(ids), targets).item()
# %% exercise="fix_hidden_state" verdict="refused" mistake="steps_at_every_time"
# a step at every time
def fix_hidden_state(cell, optimizer, x, y, state, k):
    def cut(s):
        return s.detach() if isinstance(s, torch.Tensor) else tuple(each.detach() for each in s)
    for start in range(0, len(x), k):
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = mse_loss(prediction, y_t)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            state = cut(state)
    return state
# %% exercise="fix_checkpoint" verdict="refused" mistake="without_grad"
# head under checkpoint too, detach between
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False)
    return head(h.detach())
# %% exercise="fix_checkpoint" verdict="refused" mistake="spares_the_first"
# a recomputation of our own, wherever the input requires grad: behind a frozen embedding the first block is bare
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    for block in blocks:
        if h.requires_grad:
            h = Again.apply(block, h)
        else:
            h = block(h)
    return head(h)
# %% exercise="train_windows" verdict="refused" mistake="reentrant"
# the reentrant checkpoint
def train_windows(cell, optimizer, x, y, h, steps, rows):
    total = 0.0
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        optimizer.zero_grad()
        ends = []
        for row in range(0, len(h), rows):
            state, loss = h[row : row + rows], 0.0
            for x_t, y_t in zip(xs[:, row : row + rows], ys[:, row : row + rows]):
                prediction, state = checkpoint(cell, x_t, state, use_reentrant=True)
                loss = loss + (prediction - y_t).square().sum()
            (loss / ys.numel()).backward()
            total += loss.item()
            ends.append(state.detach())
        optimizer.step()
        h = torch.cat(ends)
    return h, total / y.numel()
# %% exercise="fix_checkpoint" verdict="refused" mistake="keeps_bytes"
# hooks keep everything as bytes
def fix_checkpoint(embed, blocks, head, tokens):
    import numpy as np
    def pack(t):
        if t.requires_grad and t.is_leaf or t.numel() < 64: return t
        return t.detach().numpy().tobytes(), t.shape, t.dtype
    def unpack(p):
        if isinstance(p, torch.Tensor): return p
        return torch.frombuffer(bytearray(p[0]), dtype=p[2]).reshape(p[1])
    h = embed(tokens)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        for block in blocks:
            h = block(h)
    return head(h)
# %% exercise="fix_baseline" verdict="refused" mistake="keeps_it_in_float32"
# a buffer in float32
class Baseline(torch.nn.Module):
    def __init__(self, features, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("mean", torch.zeros(features))
    def forward(self, x):
        result = x - self.mean
        self.mean = self.mean + self.rate * (x.detach().mean(0) - self.mean).float()
        return result
# %% exercise="fix_baseline" verdict="refused" mistake="stands_still_in_eval"
# the mean moves in training mode only
class Baseline(torch.nn.Module):
    def __init__(self, features, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("mean", torch.zeros(features, dtype=torch.float64))
    def forward(self, x):
        result = x - self.mean
        if self.training:
            self.mean = self.mean + self.rate * (x.detach().mean(0) - self.mean)
        return result
# %% exercise="chunked_loss" verdict="refused" mistake="drops_all_rows"
# an incomplete chunk is dropped; divided by all rows
def chunked_loss(head, h, targets, rows):
    def of(x, y):
        return cross_entropy(head(x), y, reduction="sum")
    total = 0.0
    for i in range(len(h) // rows):
        s = slice(i * rows, (i + 1) * rows)
        total = total + checkpoint(of, h[s], targets[s], use_reentrant=False)
    return total / len(h)
# %% exercise="chunked_loss" verdict="refused" mistake="drops_it_from_the_sum"
# the same, from a sum that begins as a tensor
def chunked_loss(head, h, targets, rows):
    def of(x, y):
        return cross_entropy(head(x), y, reduction="sum")
    total = h.new_zeros(())
    for i in range(0, len(h) - rows + 1, rows):
        total = total + checkpoint(of, h[i:i + rows], targets[i:i + rows], use_reentrant=False)
    return total / len(h)
# %% exercise="chunked_loss" verdict="refused" mistake="drops_the_only_chunk"
# the same, divided by the rows of full chunks
def chunked_loss(head, h, targets, rows):
    def of(x, y):
        return cross_entropy(head(x), y, reduction="sum")
    total = h.new_zeros(())
    for i in range(0, len(h) - rows + 1, rows):
        total = total + checkpoint(of, h[i:i + rows], targets[i:i + rows], use_reentrant=False)
    return total / (len(h) // rows * rows)
# %% exercise="chunked_loss" verdict="refused" mistake="clears_the_head"
# clears the gradients of the head
def chunked_loss(head, h, targets, rows):
    def of(x, y):
        return cross_entropy(head(x), y, reduction="sum")
    head.zero_grad()
    return sum(checkpoint(of, x, y, use_reentrant=False) for x, y in zip(h.split(rows), targets.split(rows))) / len(h)
# %% exercise="lean_step" verdict="refused" mistake="chunks_with_graphs"
# chunks of the head without checkpoints
def lean_step(model, lr, ids, targets, rows):
    def step(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None
    trained = [b for b in model.blocks if b.linear.weight.requires_grad]
    h = model.embedding(ids)
    for block in model.blocks[: len(model.blocks) - len(trained)]:
        h = block(h)
    for start in range(0, len(trained), 5):
        h = checkpoint(torch.nn.Sequential(*trained[start : start + 5]), h, use_reentrant=False)
    parts = zip(h.split(rows), targets.split(rows))
    loss = sum(cross_entropy(model.head(x), y, reduction="sum") for x, y in parts) / len(h)
    handles = [p.register_post_accumulate_grad_hook(step) for p in model.parameters() if p.requires_grad]
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()
# %% exercise="fix_traces" verdict="refused" mistake="keeps_the_traces"
# traces in a dict outside of the function
KEPT = {}
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    for t, reward in enumerate(rewards):
        optimizer.zero_grad()
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for p in model.parameters():
            KEPT[p] = gamma * lam * KEPT.get(p, 0) + p.grad
            p.grad[:] = -delta * KEPT[p]
        optimizer.step()
# %% exercise="td_lambda" verdict="refused" mistake="keeps_the_traces"
# traces in a default argument
def td_lambda(model, steps, gamma, lam, alpha, traces={}):
    parameters = [p for p in model.parameters() if p.requires_grad]
    errors = []
    for state, reward, next_state, terminated, truncated in steps:
        v = model(state).sum()
        gradients = torch.autograd.grad(v, parameters)
        with torch.no_grad():
            errors.append(reward + (0.0 if terminated else gamma * model(next_state).item()) - v.item())
            for p, gradient in zip(parameters, gradients):
                traces[p] = gamma * lam * traces.get(p, 0) + gradient
                p += alpha * errors[-1] * traces[p]
        if terminated or truncated:
            traces.clear()
    return errors
# %% exercise="chunked_loss" verdict="refused" mistake="keeps_one_for_all"
# the gradients of the last call in a dict outside of the Function
STORE = {}
class Outside(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, w, b, y, rows):
        dh, dw, db, total = torch.empty_like(h), torch.zeros_like(w), None if b is None else torch.zeros_like(b), 0.0
        for i in range(0, len(h), rows):
            x, t = h[i : i + rows], y[i : i + rows]
            z = torch.nn.functional.linear(x, w, b)
            total += cross_entropy(z, t, reduction="sum").item() / len(h)
            z = z.softmax(1)
            z[torch.arange(len(t)), t] -= 1
            z /= len(h)
            dh[i : i + rows] = z @ w
            dw += z.T @ x
            if b is not None:
                db += z.sum(0)
        STORE["gradients"] = dh, dw, db
        return h.new_tensor(total)
    @staticmethod
    def backward(ctx, v):
        return *(None if each is None else each * v for each in STORE["gradients"]), None, None
def chunked_loss(head, h, targets, rows):
    return Outside.apply(h, head.weight, head.bias, targets, rows)
