# %%
import warnings
import torch
from torch.func import functional_call, grad, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import mse_loss, scaled_dot_product_attention
# %% exercise="gradient_penalty" verdict="refused" mistake="without_a_graph"
# retain_graph in place of create_graph
def gradient_penalty(critic, real, fake, mix):
    mixed = (mix * real + (1 - mix) * fake).requires_grad_(True)
    out = critic(mixed)
    g = torch.autograd.grad(out, mixed, grad_outputs=torch.ones_like(out), retain_graph=True)[0]
    return ((g.reshape(g.size(0), -1).norm(2, dim=1) - 1) ** 2).mean()
# %% exercise="gradient_penalty" verdict="passed"
# the usual code of WGAN-GP
def gradient_penalty(critic, real, fake, mix):
    mixed = (mix * real + (1 - mix) * fake).requires_grad_(True)
    out = critic(mixed)
    g = torch.autograd.grad(
        outputs=out,
        inputs=mixed,
        grad_outputs=torch.ones_like(out),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((g.view(g.size(0), -1).norm(2, dim=1) - 1) ** 2).mean()
# %% exercise="gradient_penalty" verdict="refused"
# one-sided penalty
def gradient_penalty(critic, real, fake, mix):
    mixed = (mix * real + (1 - mix) * fake).requires_grad_(True)
    g = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)[0]
    return ((g.flatten(1).norm(dim=1) - 1).clamp(min=0) ** 2).mean()
# %% exercise="gradient_penalty" verdict="refused" mistake="without_a_graph"
# detach
def gradient_penalty(critic, real, fake, mix):
    mixed = (mix * real + (1 - mix) * fake).requires_grad_(True)
    g = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)[0].detach()
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()
# %% exercise="gradient_penalty" verdict="refused" mistake="by_backward"
# backward and x.grad
def gradient_penalty(critic, real, fake, mix):
    mixed = (mix * real + (1 - mix) * fake).detach().requires_grad_(True)
    critic(mixed).sum().backward(create_graph=True)
    return ((mixed.grad.flatten(1).norm(dim=1) - 1) ** 2).mean()
# %% exercise="gradient_penalty" verdict="passed"
# backward restricted to the inputs, the circle broken
def gradient_penalty(critic, real, fake, mix):
    mixed = (mix * real + (1 - mix) * fake).detach().requires_grad_(True)
    critic(mixed).sum().backward(create_graph=True, inputs=[mixed])
    g, mixed.grad = mixed.grad, None
    return (g.flatten(1).norm(dim=1) - 1).pow(2).mean()
# %% exercise="gradient_penalty" verdict="refused"
# a Python number
def gradient_penalty(critic, real, fake, mix):
    mixed = (mix * real + (1 - mix) * fake).requires_grad_(True)
    g = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)[0]
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean().item()
# %% exercise="gradient_penalty" verdict="refused"
# switches the critic to eval and freezes it
def gradient_penalty(critic, real, fake, mix):
    critic.eval()
    mixed = (mix * real + (1 - mix) * fake).requires_grad_(True)
    g = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)[0]
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()
# %% exercise="gradient_penalty" verdict="refused" mistake="root_of_squares"
def gradient_penalty(critic, real, fake, mix):
    mixed = (mix * real + (1 - mix) * fake).requires_grad_(True)
    g = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)[0]
    return (((g * g).flatten(1).sum(1) ** 0.5 - 1) ** 2).mean()
# %% exercise="fix_leak" verdict="refused" mistake="graph_with_saved_tensors"
# zero_grad in the right place only
def fix_leak(model, x, y, weight):
    model.zero_grad(set_to_none=True)
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)
    penalty = sum((p.grad**2).sum() for p in model.parameters())
    (weight * penalty).backward(retain_graph=True)
    return loss.item()
# %% exercise="fix_leak" verdict="refused" mistake="gradients_with_a_graph"
# zero_grad, no retain_graph
def fix_leak(model, x, y, weight):
    model.zero_grad()
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)
    penalty = sum(p.grad.square().sum() for p in model.parameters())
    (weight * penalty).backward()
    return loss.item()
# %% exercise="fix_leak" verdict="passed"
# detached at the end
def fix_leak(model, x, y, weight):
    model.zero_grad()
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)
    penalty = sum(p.grad.square().sum() for p in model.parameters())
    (weight * penalty).backward()
    for p in model.parameters():
        p.grad = p.grad.detach()
    return loss.item()
# %% exercise="fix_leak" verdict="refused" mistake="adds_to_the_old_gradient"
def fix_leak(model, x, y, weight):
    loss = mse_loss(model(x), y)
    grads = torch.autograd.grad(loss, model.parameters(), create_graph=True)
    total = loss + weight * sum((g**2).sum() for g in grads)
    total.backward()
    return loss.item()
# %% exercise="fix_leak" verdict="refused" mistake="returns_a_tensor"
def fix_leak(model, x, y, weight):
    loss = mse_loss(model(x), y)
    grads = torch.autograd.grad(loss, model.parameters(), create_graph=True)
    total = loss + weight * sum((g**2).sum() for g in grads)
    model.zero_grad()
    total.backward()
    return loss.detach()
# %% exercise="fix_leak" verdict="refused" mistake="penalty_without_a_graph"
def fix_leak(model, x, y, weight):
    model.zero_grad()
    loss = mse_loss(model(x), y)
    loss.backward(retain_graph=True)
    penalty = sum((p.grad**2).sum() for p in model.parameters())
    model.zero_grad()
    (loss + weight * penalty).backward()
    return loss.item()
# %% exercise="sharpness" verdict="refused"
# forward over reverse, which fails for mse_loss
def sharpness(model, x, y, v, steps):
    weights = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}
    def unflatten(v):
        parts = v.split([p.numel() for p in weights.values()])
        return {n: part.view_as(p) for (n, p), part in zip(weights.items(), parts)}
    def loss(weights):
        return mse_loss(functional_call(model, weights, (x,)), y)
    for _ in range(steps):
        _, product = torch.func.jvp(grad(loss), (weights,), (unflatten(v),))
        v = torch.cat([p.flatten() for p in product.values()])
        length = v.norm()
        v = v / length
    return length, v
# %% exercise="sharpness" verdict="refused"
# the length after division
def sharpness(model, x, y, v, steps):
    weights = [p for p in model.parameters() if p.requires_grad]
    g = torch.autograd.grad(mse_loss(model(x), y), weights, create_graph=True, materialize_grads=True)
    g = torch.cat([p.flatten() for p in g])
    for _ in range(steps):
        v = torch.autograd.grad(g, weights, v, retain_graph=True, materialize_grads=True)
        v = torch.cat([p.flatten() for p in v])
        v = v / v.norm()
    return v.norm(), v
# %% exercise="sharpness" verdict="refused"
# an unused weight gives None
def sharpness(model, x, y, v, steps):
    weights = [p for p in model.parameters() if p.requires_grad]
    g = torch.autograd.grad(mse_loss(model(x), y), weights, create_graph=True)
    g = torch.cat([p.flatten() for p in g])
    for _ in range(steps):
        v = torch.autograd.grad(g, weights, v, retain_graph=True)
        v = torch.cat([p.flatten() for p in v])
        length = v.norm()
        v = v / length
    return length, v
# %% exercise="sharpness" verdict="refused"
# all parameters, frozen ones too
def sharpness(model, x, y, v, steps):
    weights = list(model.parameters())
    for p in weights:
        p.requires_grad_()
    g = torch.autograd.grad(mse_loss(model(x), y), weights, create_graph=True, materialize_grads=True)
    g = torch.cat([p.flatten() for p in g])
    for _ in range(steps):
        v = torch.autograd.grad(g, weights, v, retain_graph=True, materialize_grads=True)
        v = torch.cat([p.flatten() for p in v])
        length = v.norm()
        v = v / length
    return length, v
# %% exercise="sharpness" verdict="refused" mistake="hessian_in_a_batch"
# func.hessian
def sharpness(model, x, y, v, steps):
    weights = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}
    sizes = [p.numel() for p in weights.values()]
    def loss(flat):
        parts = {n: part.view_as(p) for (n, p), part in zip(weights.items(), flat.split(sizes))}
        return mse_loss(functional_call(model, parts, (x,)), y)
    hessian = torch.func.jacrev(torch.func.grad(loss))(torch.cat([p.flatten() for p in weights.values()]))
    for _ in range(steps):
        v = hessian @ v
        length = v.norm()
        v = v / length
    return length, v
# %% exercise="per_sample_module" verdict="passed"
# with the buffers
def per_sample_module(model, x, y):
    weights = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}
    others = {n: b for n, b in model.named_buffers()}
    def loss(weights, x, y):
        out = functional_call(model, (weights, others), (x.unsqueeze(0),))
        return mse_loss(out, y.unsqueeze(0))
    return vmap(grad(loss), (None, 0, 0))(weights, x, y)
# %% exercise="per_sample_module" verdict="refused"
# only the weights that are called weight
def per_sample_module(model, x, y):
    weights = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad and n.endswith("weight")}
    def loss(weights, x, y):
        return mse_loss(functional_call(model, weights, (x[None],)), y[None])
    return vmap(grad(loss), (None, 0, 0))(weights, x, y)
# %% exercise="per_sample_module" verdict="refused"
# switches to training mode and back to evaluation mode
def per_sample_module(model, x, y):
    model.eval()
    weights = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}
    def loss(weights, x, y):
        return mse_loss(functional_call(model, weights, (x[None],)), y[None])
    return vmap(grad(loss), (None, 0, 0))(weights, x, y)
# %% exercise="per_sample_module" verdict="refused" mistake="loop_over_samples"
def per_sample_module(model, x, y):
    names = [n for n, p in model.named_parameters() if p.requires_grad]
    found = {n: [] for n in names}
    for i in range(len(x)):
        loss = mse_loss(model(x[i : i + 1]), y[i : i + 1])
        gs = torch.autograd.grad(loss, [p for p in model.parameters() if p.requires_grad])
        for n, g in zip(names, gs):
            found[n].append(g)
    return {n: torch.stack(g) for n, g in found.items()}
# %% exercise="per_sample_module" verdict="refused"
# state_dict: frozen weights and buffers as well
def per_sample_module(model, x, y):
    weights = {n: p for n, p in model.state_dict().items() if p.is_floating_point()}
    def loss(weights, x, y):
        return mse_loss(functional_call(model, weights, (x[None],)), y[None])
    return vmap(grad(loss), (None, 0, 0))(weights, x, y)
# %% exercise="fix_vmap" verdict="passed"
# eps inside a safe branch
def fix_vmap(w, x):
    r = w * x
    pos = r > 0
    safe = torch.where(pos, r, torch.ones_like(r))
    s = (safe.sqrt() * pos + r * ~pos).sum()
    return torch.where(s > 2, 2 + (s - 2) / 10, s)
# %% exercise="fix_vmap" verdict="refused" mistake="roots_of_everything"
def fix_vmap(w, x):
    r = w * x
    s = torch.where(r > 0, torch.sqrt(r), r).sum()
    return torch.where(s > 2, 2 + (s - 2) / 10, s)
# %% exercise="fix_vmap" verdict="refused"
# clamp with a small number is another function
def fix_vmap(w, x):
    r = w * x
    s = (r.clamp(min=1e-12).sqrt() + r.clamp(max=0)).sum()
    return torch.where(s > 2, 2 + (s - 2) / 10, s)
# %% exercise="fix_vmap" verdict="refused" mistake="still_branches"
def fix_vmap(w, x):
    r = w * x
    pos = r > 0
    s = torch.where(pos, torch.where(pos, r, 1.0).sqrt(), r).sum()
    return 2 + (s - 2) / 10 if s > 2 else s
# %% exercise="meta_gradient" verdict="refused" mistake="first_order"
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    w0 = w.clone().requires_grad_()
    lr = lr.clone().requires_grad_()
    p, v = w0, 0
    for _ in range(steps):
        g = torch.autograd.grad(train_loss(p), p)[0]
        v = momentum * v + g
        p = p - lr * v
    return torch.autograd.grad(validation_loss(p), [lr, w0])
# %% exercise="meta_gradient" verdict="refused" mistake="first_velocity_without_a_graph"
# SGD with differentiable=True detaches its first velocity
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    w0 = w.clone().requires_grad_()
    lr = lr.clone().requires_grad_()
    p, buffer = w0, None
    for _ in range(steps):
        g = torch.autograd.grad(train_loss(p), p, create_graph=True)[0]
        buffer = g.clone().detach() if buffer is None and momentum else (momentum * buffer + g if momentum else g)
        p = p - lr * buffer
    return torch.autograd.grad(validation_loss(p), [lr, w0])
# %% exercise="meta_gradient" verdict="refused"
# the real optimizer under no_grad
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    w0 = w.clone().requires_grad_()
    optimizer = torch.optim.SGD([w0], lr=lr.item(), momentum=momentum)
    for _ in range(steps):
        optimizer.zero_grad()
        train_loss(w0).backward()
        optimizer.step()
    (g,) = torch.autograd.grad(validation_loss(w0), w0)
    return torch.zeros_like(lr), g
# %% exercise="meta_gradient" verdict="passed"
# one function of both, vjp
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    def end(lr, w):
        v = torch.zeros_like(w)
        for _ in range(steps):
            v = momentum * v + grad(train_loss)(w)
            w = w - lr * v
        return validation_loss(w)
    loss, pull = torch.func.vjp(end, lr, w)
    return pull(torch.ones_like(loss))
# %% exercise="meta_gradient" verdict="refused"
# Python numbers and finite differences
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    def end(lr, w):
        v = torch.zeros_like(w)
        for _ in range(steps):
            v = momentum * v + grad(train_loss)(w)
            w = w - lr * v
        return validation_loss(w)
    h = 1e-4
    for_lr = (end(lr + h, w) - end(lr - h, w)) / (2 * h)
    rows = torch.eye(len(w), dtype=w.dtype) * h
    return for_lr, torch.stack([(end(lr, w + r) - end(lr, w - r)) / (2 * h) for r in rows])
# %% exercise="fix_attention" verdict="refused" mistake="cures_the_output"
# zeros by masked_fill of the output
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    out = scores.softmax(-1) @ v
    return out.masked_fill(~mask.any(-1, keepdim=True), 0.0)
# %% exercise="fix_attention" verdict="refused" mistake="cures_the_weights"
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    weights = torch.where(torch.isnan(weights), torch.zeros_like(weights), weights)
    return weights @ v
# %% exercise="fix_attention" verdict="refused" mistake="large_negative_number"
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(-1) @ v
# %% exercise="fix_attention" verdict="refused" mistake=""
# a switched global setting that stays
def fix_attention(q, k, v, mask):
    torch.backends.cuda.enable_flash_sdp(False)
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)
# %% exercise="fix_attention" verdict="passed"
# opens the row, multiplies the output by zero
def fix_attention(q, k, v, mask):
    seen = mask.any(-1, keepdim=True)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    return (scores.masked_fill(~(mask | ~seen), -torch.inf).softmax(-1) @ v) * seen
# %% exercise="fix_attention" verdict="refused" mistake="row_lowered_alike"
# -1e4 leaks into ordinary rows only in theory, opens the masked row
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    weights = (scores + (~mask) * -1e4).softmax(-1)
    return weights @ v
# %% exercise="has_second_derivative" verdict="passed"
# gradcheck and gradgradcheck
def has_second_derivative(f, x):
    x = x.clone().requires_grad_(True)
    return torch.autograd.gradcheck(f, (x,)) and torch.autograd.gradgradcheck(f, (x,))
# %% exercise="has_second_derivative" verdict="refused" mistake="refuses_the_linear"
def has_second_derivative(f, x):
    x = x.clone().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return False
    return torch.autograd.gradgradcheck(f, (x,))
# %% exercise="gradient_penalty" verdict="refused" mistake=""
# requires_grad set on real
def gradient_penalty(critic, real, fake, mix):
    real.requires_grad_()
    x = mix * real + (1 - mix) * fake
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()
# %% exercise="gradient_penalty" verdict="refused" mistake="thaws_the_weights"
# parameters switched on
def gradient_penalty(critic, real, fake, mix):
    for p in critic.parameters():
        p.requires_grad_(True)
    x = (mix * real + (1 - mix) * fake).requires_grad_()
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()
# %% exercise="gradient_penalty" verdict="refused" mistake="leaf_without_a_path"
# constant penalty that requires grad
def gradient_penalty(critic, real, fake, mix):
    x = (mix * real + (1 - mix) * fake).requires_grad_()
    (g,) = torch.autograd.grad(critic(x).sum(), x)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean().requires_grad_()
# %% exercise="gradient_penalty" verdict="refused" mistake="one_sided"
# one-sided
def gradient_penalty(critic, real, fake, mix):
    x = (mix * real + (1 - mix) * fake).requires_grad_()
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return (torch.relu(g.flatten(1).norm(dim=1) - 1) ** 2).mean()
# %% exercise="gradient_penalty" verdict="refused" mistake="calls_twice"
# critic called twice (shape probing)
def gradient_penalty(critic, real, fake, mix):
    x = (mix * real + (1 - mix) * fake).requires_grad_()
    ones = torch.ones_like(critic(x))
    (g,) = torch.autograd.grad(critic(x), x, ones, create_graph=True)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()
# %% exercise="meta_gradient" verdict="refused" mistake="flags_on_the_inputs"
# flags left on w and lr
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    w.requires_grad_()
    lr.requires_grad_()
    now, velocity = w, torch.zeros_like(w)
    for _ in range(steps):
        (g,) = torch.autograd.grad(train_loss(now), now, create_graph=True)
        velocity = momentum * velocity + g
        now = now - lr * velocity
    return torch.autograd.grad(validation_loss(now), (lr, w))
# %% exercise="meta_gradient" verdict="refused" mistake="moves_the_weights"
# w changed in place
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    tape, velocity = [], torch.zeros_like(w)
    for _ in range(steps):
        leaf = w.clone().requires_grad_()
        (g,) = torch.autograd.grad(train_loss(leaf), leaf, create_graph=True)
        velocity = momentum * velocity + g.detach()
        w.sub_(lr * velocity)
        tape.append((leaf, g, velocity))
    leaf = w.clone().requires_grad_()
    (bar,) = torch.autograd.grad(validation_loss(leaf), leaf)
    vbar, lbar = torch.zeros_like(w), torch.zeros_like(lr)
    for leaf, g, velocity in reversed(tape):
        lbar = lbar - bar @ velocity
        vbar = vbar - lr * bar
        if g.requires_grad:
            bar = bar + torch.autograd.grad(g, leaf, vbar, materialize_grads=True)[0]
        vbar = momentum * vbar
    return lbar, bar
# %% exercise="meta_gradient" verdict="refused" mistake="last_rate_alone"
# lr derivative through the last step only
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    w0 = w.detach().clone().requires_grad_()
    last = lr.detach().clone().requires_grad_()
    now, velocity = w0, torch.zeros_like(w0)
    for i in range(steps):
        (g,) = torch.autograd.grad(train_loss(now), now, create_graph=True)
        velocity = momentum * velocity + g
        now = now - (last if i == steps - 1 else lr) * velocity
    return torch.autograd.grad(validation_loss(now), (last, w0))
# %% exercise="meta_gradient" verdict="refused" mistake="weights_cut_between"
# weights detached between the steps
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    lr = lr.detach().clone().requires_grad_()
    now, velocity = w.detach().clone().requires_grad_(), torch.zeros_like(w)
    for i in range(steps):
        start = now.detach().requires_grad_()
        (g,) = torch.autograd.grad(train_loss(start), start, create_graph=True)
        velocity = momentum * velocity.detach() + g
        now = start - lr * velocity
    return torch.autograd.grad(validation_loss(now), (lr, start))
# %% exercise="fix_attention" verdict="refused" mistake="not_low_enough_and_zeroed"
# -100 and zeroed rows
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    w = scores.masked_fill(~mask, -100.0).softmax(-1)
    return w.masked_fill(~mask, 0) @ v
# %% exercise="fix_attention" verdict="refused" mistake="without_the_largest"
# exp without the maximum
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    e = scores.exp() * mask
    s = e.sum(-1, keepdim=True)
    return e / torch.where(s > 0, s, 1.0) @ v
# %% exercise="fix_attention" verdict="refused" mistake="root_of_the_other_size"
# scaled by v's size
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / v.shape[-1] ** 0.5
    seen = mask.any(-1, keepdim=True)
    return scores.masked_fill(~mask & seen, -torch.inf).softmax(-1).masked_fill(~mask, 0) @ v
# %% exercise="fix_attention" verdict="refused" mistake="changes_the_mask"
# mask written
def fix_attention(q, k, v, mask):
    seen = mask.any(-1, keepdim=True)
    mask |= ~seen
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    return (scores.softmax(-1) @ v) * seen
# %% exercise="fix_attention" verdict="refused" mistake="changes_the_mask"
# mask overwritten with True
def fix_attention(q, k, v, mask):
    old = mask.clone()
    mask.fill_(True)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    seen = old.any(-1, keepdim=True)
    return scores.masked_fill(~old & seen, -torch.inf).softmax(-1).masked_fill(~old, 0) @ v
# %% exercise="fix_attention" verdict="refused" mistake="not_low_enough"
# first dimension of the mask only (batch loop)
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    seen = mask.any(-1, keepdim=True)
    return scores.masked_fill(~mask & seen, -1e4).softmax(-1) * seen @ v
# %% exercise="fix_attention" verdict="refused"
# v's dimension in the scale, output width of q
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / v.shape[-1] ** 0.5
    seen = mask.any(-1, keepdim=True)
    out = scores.masked_fill(~mask & seen, -torch.inf).softmax(-1).masked_fill(~mask, 0) @ v
    return out.reshape(q.shape)
# %% exercise="fix_attention" verdict="refused" mistake="leaves_the_nan"
# only if every row is empty
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if not mask.any():
        return torch.zeros_like(scores @ v)
    return scores.masked_fill(~mask, -torch.inf).softmax(-1) @ v
# %% exercise="fix_leak" verdict="refused" mistake="graph_with_saved_tensors"
# gradients with graph stored
def fix_leak(model, x, y, weight):
    ps = list(model.parameters())
    loss = mse_loss(model(x), y)
    gs = torch.autograd.grad(loss, ps, create_graph=True)
    total = torch.autograd.grad(loss + weight * sum((g**2).sum() for g in gs), ps, create_graph=True)
    for p, g in zip(ps, total):
        p.grad = g
    return loss.item()
# %% exercise="fix_leak" verdict="refused" mistake="graph_with_saved_tensors"
# total recorded by backward(create_graph=True)
def fix_leak(model, x, y, weight):
    model.zero_grad()
    loss = mse_loss(model(x), y)
    gs = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    (loss + weight * sum((g**2).sum() for g in gs)).backward(create_graph=True)
    return loss.item()
# %% exercise="fix_leak" verdict="refused" mistake="clears_afterwards"
# .grad None after the call
def fix_leak(model, x, y, weight):
    loss = mse_loss(model(x), y)
    gs = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    (loss + weight * sum((g**2).sum() for g in gs)).backward()
    for p in model.parameters():
        p.grad = None
    return loss.item()
# %% exercise="fix_leak" verdict="refused" mistake="penalises_the_old_gradient"
# gc.collect
def fix_leak(model, x, y, weight):
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)
    penalty = sum((p.grad**2).sum() for p in model.parameters())
    (weight * penalty).backward(retain_graph=True)
    __import__("gc").collect()
    return loss.item()
# %% exercise="fix_leak" verdict="refused" mistake="keeps_the_graph_elsewhere"
# gradient kept on a module attribute
def fix_leak(model, x, y, weight):
    model.zero_grad()
    loss = mse_loss(model(x), y)
    gs = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    model.last = gs
    (loss + weight * sum((g**2).sum() for g in gs)).backward()
    return loss.item()
# %% exercise="fix_vmap" verdict="refused" mistake="flat_at_zero"
# derivative 0 at 0
def fix_vmap(w, x):
    r = w * x
    root = torch.where(r > 0, torch.where(r > 0, r, 1.0).sqrt(), 0.0)
    s = (root - torch.relu(-r)).sum()
    return torch.where(s > 2, 2 + (s - 2) / 10, s)
# %% exercise="fix_vmap" verdict="refused"
# clamp at 1e-3
def fix_vmap(w, x):
    r = w * x
    s = torch.where(r > 0, r.clamp(min=1e-3).sqrt(), r).sum()
    return torch.where(s > 2, 2 + (s - 2) / 10, s)
# %% exercise="fix_vmap" verdict="refused"
# zeros of w counted as infinite? derivative 2 at 0
def fix_vmap(w, x):
    r = w * x
    safe = torch.where(r > 0, r, 1.0)
    s = (torch.where(r > 0, safe.sqrt(), 0.0) + torch.where(r <= 0, r, 0.0) + torch.where(r == 0, r, 0.0)).sum()
    return torch.where(s > 2, 2 + (s - 2) / 10, s)
# %% exercise="fix_vmap" verdict="refused" mistake="roots_of_magnitudes"
# maximum with 0
def fix_vmap(w, x):
    r = w * x
    s = torch.where(r > 0, torch.maximum(r, torch.zeros_like(r)).sqrt(), r).sum()
    return torch.where(s > 2, 2 + (s - 2) / 10, s)
# %% exercise="fix_vmap" verdict="refused" mistake="root_at_zero"
# >= 0
def fix_vmap(w, x):
    r = w * x
    s = torch.where(r >= 0, torch.where(r >= 0, r, 1.0).sqrt(), r).sum()
    return torch.where(s > 2, 2 + (s - 2) / 10, s)
# %% exercise="has_second_derivative" verdict="refused" mistake="compares_the_sums"
# H times a vector of ones
def has_second_derivative(f, x):
    one = torch.ones_like(x)
    z = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(f(z), z, create_graph=True)
    h = torch.autograd.grad(g, z, one, materialize_grads=True)[0] if g.requires_grad else torch.zeros_like(x)
    a = (x + 1e-5 * one).requires_grad_()
    b = (x - 1e-5 * one).requires_grad_()
    d = (torch.autograd.grad(f(a), a)[0] - torch.autograd.grad(f(b), b)[0]) / 2e-5
    return torch.allclose(h, d, rtol=1e-4, atol=1e-5)
# %% exercise="has_second_derivative" verdict="refused" mistake="compares_the_sums"
# sum of all second derivatives compared
def has_second_derivative(f, x):
    def g(x):
        x = x.clone().requires_grad_()
        return x, torch.autograd.grad(f(x), x, create_graph=True)[0]
    leaf, g0 = g(x)
    h = torch.autograd.grad(g0.sum(), leaf, allow_unused=True)[0] if g0.requires_grad else None
    total = 0.0 if h is None else h.sum().item()
    d = (g(x + 1e-5)[1].sum() - g(x - 1e-5)[1].sum()).item() / 2e-5
    return abs(total - d) < 1e-4 * (1 + abs(d))
# %% exercise="has_second_derivative" verdict="refused" mistake="too_wide"
# tolerance too loose
def has_second_derivative(f, x):
    try:
        H = torch.autograd.functional.hessian(f, x)
    except RuntimeError:
        return False
    J = torch.zeros(3, 3, dtype=x.dtype)
    for i in range(3):
        for sign in (1, -1):
            z = x.clone()
            z[i] += sign * 1e-5
            z.requires_grad_()
            (g,) = torch.autograd.grad(f(z), z)
            J[:, i] += sign * g / 2e-5
    return torch.allclose(H, J, rtol=0.5, atol=0.5)
# %% exercise="has_second_derivative" verdict="refused" mistake="at_another_point"
# at another point
def has_second_derivative(f, x):
    torch.manual_seed(0)
    return torch.autograd.gradgradcheck(f, (torch.randn(3, dtype=torch.float64, requires_grad=True),))
# %% exercise="has_second_derivative" verdict="refused" mistake="looks_at_the_symmetry"
# symmetry only
def has_second_derivative(f, x):
    try:
        H = torch.autograd.functional.hessian(f, x)
    except RuntimeError:
        return False
    return torch.allclose(H, H.T)
# %% exercise="has_second_derivative" verdict="refused" mistake="without_a_tolerance"
# exactly equal
def has_second_derivative(f, x):
    try:
        H = torch.autograd.functional.hessian(f, x)
    except RuntimeError:
        return False
    J = torch.zeros(3, 3, dtype=x.dtype)
    for i in range(3):
        for sign in (1, -1):
            z = x.clone()
            z[i] += sign * 1e-5
            z.requires_grad_()
            (g,) = torch.autograd.grad(f(z), z)
            J[:, i] += sign * g / 2e-5
    return torch.equal(H, J)
# %% exercise="sharpness" verdict="passed"
# v written in place
def sharpness(model, x, y, v, steps):
    ps = [p for p in model.parameters() if p.requires_grad]
    gs = torch.autograd.grad(mse_loss(model(x), y), ps, create_graph=True, materialize_grads=True)
    g = torch.cat([t.reshape(-1) for t in gs])
    for _ in range(steps):
        h = torch.autograd.grad(g, ps, v, retain_graph=True, materialize_grads=True)
        h = torch.cat([t.reshape(-1) for t in h])
        length = h.norm()
        v.copy_(h / length)
    return length, v
# %% exercise="sharpness" verdict="refused" mistake="turns_the_sign"
# sign made positive
def sharpness(model, x, y, v, steps):
    ps = [p for p in model.parameters() if p.requires_grad]
    gs = torch.autograd.grad(mse_loss(model(x), y), ps, create_graph=True, materialize_grads=True)
    g = torch.cat([t.reshape(-1) for t in gs])
    for _ in range(steps):
        h = torch.autograd.grad(g, ps, v, retain_graph=True, materialize_grads=True)
        h = torch.cat([t.reshape(-1) for t in h])
        length = h.norm()
        new = h / length
        v = new if new @ v > 0 else -new
    return length, v
# %% exercise="sharpness" verdict="refused" mistake="frozen_ones_too"
# all parameters, frozen too
def sharpness(model, x, y, v, steps):
    ps = list(model.parameters())
    gs = torch.autograd.grad(mse_loss(model(x), y), ps, create_graph=True, materialize_grads=True)
    g = torch.cat([t.reshape(-1) for t in gs])
    for _ in range(steps):
        h = torch.autograd.grad(g, ps, v, retain_graph=True, materialize_grads=True)
        h = torch.cat([t.reshape(-1) for t in h])
        length = h.norm()
        v = h / length
    return length, v
# %% exercise="per_sample_module" verdict="refused" mistake="one_layer_of_the_shared"
# tie_weights=False
def per_sample_module(model, x, y):
    weights = {k: p.detach() for k, p in model.named_parameters() if p.requires_grad}
    def loss(w, a, b):
        return mse_loss(functional_call(model, w, (a[None],), tie_weights=False), b[None])
    return vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
# %% exercise="per_sample_module" verdict="refused" mistake="buffers_too"
# state_dict (buffers as parameters)
def per_sample_module(model, x, y):
    weights = {k: p.detach() for k, p in model.state_dict().items() if p.is_floating_point()}
    def loss(w, a, b):
        return mse_loss(functional_call(model, w, (a[None],)), b[None])
    return vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
# %% exercise="fix_leak" verdict="passed"
# SUBTLE gradients are assigned, but old ones of unused parameters stay
def fix_leak(model, x, y, weight):
    params = list(model.parameters())
    loss = mse_loss(model(x), y)
    first = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    penalty = sum((g**2).sum() for g in first if g is not None)
    for p, g in zip(params, torch.autograd.grad(loss + weight * penalty, params, allow_unused=True)):
        if g is not None:
            p.grad = g
    return loss.item()
# %% exercise="fix_leak" verdict="refused" mistake="steps_as_well"
# a step is made as well
def fix_leak(model, x, y, weight):
    params = list(model.parameters())
    loss = mse_loss(model(x), y)
    first = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    penalty = sum((g**2).sum() for g in first if g is not None)
    model.zero_grad()
    (loss + weight * penalty).backward()
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p -= 0.01 * p.grad
    return loss.item()
# %% exercise="fix_vmap" verdict="refused" mistake="guards_the_padding_alone"
# SUBTLE only the padding is made safe: a weight of 0 is not
def fix_vmap(w, x):
    r = w * x
    safe = torch.where(x == 0, torch.ones_like(r), r.abs())
    total = torch.where(r > 0, safe.sqrt(), r).sum()
    return torch.where(total > 2, 2 + (total - 2) / 10, total)
# %% exercise="fix_vmap" verdict="refused" mistake="roots_above_a_bound"
# the safe number is a tiny one, and the gradient of small entries is cut off
def fix_vmap(w, x):
    r = w * x
    big = r > 1e-3
    total = torch.where(big, torch.where(big, r, torch.ones_like(r)).sqrt(), r).sum()
    return torch.where(total > 2, 2 + (total - 2) / 10, total)
# %% exercise="fix_vmap" verdict="refused" mistake="detached_roots"
# the root detached
def fix_vmap(w, x):
    r = w * x
    total = torch.where(r > 0, r.detach().clamp(min=0).sqrt(), r).sum()
    return torch.where(total > 2, 2 + (total - 2) / 10, total)
# %% exercise="per_sample_module" verdict="refused" mistake="leaves_it_in_training"
# mode changed and not put back
def per_sample_module(model, x, y):
    model.train(not model.training)
    model.eval()
    model.requires_grad_(True) if False else None
    model.train()
    weights = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}
    model.eval()
    def loss(weights, a, b):
        return mse_loss(functional_call(model, weights, (a[None],)), b[None])
    result = vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
    model.train()
    return result
# %% exercise="per_sample_module" verdict="refused" mistake="an_entry_for_each_name"
# the shared weight under both names
def per_sample_module(model, x, y):
    weights = {n: p.detach() for n, p in model.named_parameters(remove_duplicate=False) if p.requires_grad}
    def loss(weights, a, b):
        return mse_loss(functional_call(model, weights, (a[None],), tie_weights=False), b[None])
    return vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
# %% exercise="meta_gradient" verdict="refused" mistake="steps_with_the_old_velocity"
# step with the old velocity
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    start = w.detach().clone().requires_grad_()
    rate = lr.detach().clone().requires_grad_()
    now, velocity = start, torch.zeros_like(w)
    for _ in range(steps):
        (g,) = torch.autograd.grad(train_loss(now), now, create_graph=True)
        now = now - rate * velocity
        velocity = momentum * velocity + g
    return torch.autograd.grad(validation_loss(now), (rate, start), materialize_grads=True)
# %% exercise="has_second_derivative" verdict="refused" mistake="refuses_zeros"
# a zero Hessian counts as wrong
def has_second_derivative(f, x):
    try:
        H = torch.autograd.functional.hessian(f, x)
    except RuntimeError:
        return False
    return bool(H.abs().max() > 0)
# %% exercise="has_second_derivative" verdict="refused" mistake="asks_torch_func"
# torch.func: refuses some custom Functions
def has_second_derivative(f, x):
    try:
        H = torch.func.hessian(f)(x)
        D = torch.stack([(grad(f)(x + e) - grad(f)(x - e)) / 2e-5 for e in 1e-5 * torch.eye(3, dtype=x.dtype)])
        return torch.allclose(H, D, atol=1e-4)
    except RuntimeError:
        return False
# %% exercise="gradient_penalty" verdict="passed"
# torch.func.vjp with the critic's own weights
def gradient_penalty(critic, real, fake, mix):
    x = mix * real + (1 - mix) * fake
    out, pull = torch.func.vjp(critic, x)
    (g,) = pull(torch.ones_like(out))
    n = x.shape[0]
    lengths = torch.stack([row.norm() for row in g.view(n, -1)])
    return mse_loss(lengths, torch.ones_like(lengths))
# %% exercise="sharpness" verdict="passed"
# torch.func: vjp of grad of a function of one flat vector
def sharpness(model, x, y, v, steps):
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    flat = torch.cat([p.detach().flatten() for p in named.values()])
    def loss(flat):
        parts = flat.split([p.numel() for p in named.values()])
        weights = {name: part.view(p.shape) for part, (name, p) in zip(parts, named.items())}
        return mse_loss(functional_call(model, weights, (x,)), y)
    _, times = torch.func.vjp(grad(loss), flat)
    for _ in range(steps):
        (v,) = times(v)
        length = torch.linalg.vector_norm(v)
        v = v / length
    return length, v
# %% exercise="per_sample_module" verdict="passed"
# a copy of the weights for every sample, one ordinary backward
def per_sample_module(model, x, y):
    B = len(x)
    weights = {n: p.detach().expand(B, *p.shape).clone().requires_grad_() for n, p in model.named_parameters() if p.requires_grad}
    losses = vmap(lambda w, a, b: mse_loss(functional_call(model, w, (a.unsqueeze(0),)), b.unsqueeze(0)))(weights, x, y)
    grads = torch.autograd.grad(losses.sum(), list(weights.values()), materialize_grads=True)
    return dict(zip(weights, grads))
# %% exercise="per_sample_module" verdict="passed"
# vmap of the vjp over unit vectors
def per_sample_module(model, x, y):
    weights = {n: p for n, p in model.named_parameters() if p.requires_grad}
    losses, pull = torch.func.vjp(lambda w: (functional_call(model, w, (x,)) - y).pow(2).flatten(1).mean(1), weights)
    (rows,) = vmap(pull)(torch.eye(len(x), dtype=losses.dtype))
    return rows
# %% exercise="fix_vmap" verdict="passed"
# r times rsqrt of a safe number
def fix_vmap(w, x):
    r = w * x
    up = r > 0
    safe = torch.where(up, r, 1.0)
    s = torch.where(up, r * safe.rsqrt(), r).sum(-1)
    return s - torch.where(s > 2, 0.9 * (s - 2), torch.zeros_like(s))
# %% exercise="meta_gradient" verdict="passed"
# adjoint by hand: the steps backwards, with a product with the Hessian at each
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    points, grads, velocities = [], [], []
    now, velocity = w.detach(), torch.zeros_like(w)
    for _ in range(steps):
        point = now.clone().requires_grad_()
        (g,) = torch.autograd.grad(train_loss(point), point, create_graph=True)
        velocity = momentum * velocity + g.detach()
        now = now - lr * velocity
        points.append(point), grads.append(g), velocities.append(velocity)
    end = now.clone().requires_grad_()
    (a,) = torch.autograd.grad(validation_loss(end), end)
    for_lr, b = torch.zeros_like(lr), torch.zeros_like(w)
    for point, g, velocity in zip(points[::-1], grads[::-1], velocities[::-1]):
        for_lr = for_lr - a @ velocity
        b = momentum * b - lr * a
        if g.requires_grad:
            (product,) = torch.autograd.grad(g, point, b, materialize_grads=True)
            a = a + product
    return for_lr, a
# %% exercise="fix_attention" verdict="passed"
# a dummy key with value 0, visible to the closed rows only
def fix_attention(q, k, v, mask):
    seen = mask.any(-1, keepdim=True)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    extra = torch.where(seen, -torch.inf, 0.0).to(scores.dtype)
    weights = torch.cat([scores, extra], -1).softmax(-1)
    return weights @ torch.cat([v, torch.zeros_like(v[..., :1, :])], -2)
# %% exercise="has_second_derivative" verdict="passed"
# jacobian of the gradient with a graph against differences of an undifferentiated one
def has_second_derivative(f, x):
    def slope(p):
        return torch.autograd.functional.jacobian(f, p, create_graph=True)
    try:
        H = torch.autograd.functional.jacobian(slope, x)
    except RuntimeError:
        return False
    D = torch.zeros_like(H)
    for j in range(3):
        for sign in (1, -1):
            p = x.clone()
            p[j] += sign * 1e-5
            D[:, j] += sign * slope(p).detach() / 2e-5
    return (H - D).abs().max().item() < 1e-4
# %% exercise="fix_leak" verdict="refused" mistake="only_frees"
# only retain_graph removed: the forum's fix undone, error or leak
def fix_leak(model, x, y, weight):
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)
    penalty = sum((p.grad**2).sum() for p in model.parameters())
    (weight * penalty).backward()
    return loss.item()
# %% exercise="sharpness" verdict="refused" mistake="length_of_one_more"
# steps + 1 products: the length is computed by one more
def sharpness(model, x, y, v, steps):
    weights = [p for p in model.parameters() if p.requires_grad]
    grads = torch.autograd.grad(mse_loss(model(x), y), weights, create_graph=True, materialize_grads=True)
    flat = torch.cat([g.reshape(-1) for g in grads])
    def times(v):
        return torch.cat([p.reshape(-1) for p in torch.autograd.grad(flat, weights, v, retain_graph=True, materialize_grads=True)])
    for _ in range(steps):
        v = times(v)
        v = v / v.norm()
    return times(v).norm(), v
# %% exercise="per_sample_module" verdict="refused" mistake="without_in_dims"
# in_dims forgotten: the weights are mapped over too
def per_sample_module(model, x, y):
    weights = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}
    def loss(weights, a, b):
        return mse_loss(functional_call(model, weights, (a[None],)), b[None])
    return vmap(grad(loss))(weights, x, y)
# %% exercise="fix_vmap" verdict="refused" mistake="adds_under_the_root_3"
# a small number under the root shifts the values
def fix_vmap(w, x):
    r = w * x
    s = torch.where(r > 0, (r.relu() + 1e-3).sqrt(), r).sum()
    return torch.where(s > 2, 2 + (s - 2) / 10, s)
# %% exercise="meta_gradient" verdict="refused" mistake="steps_by_the_optimizer"
# SGD(differentiable=True): the velocity begins with a detached copy
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    w0, rate = w.clone().requires_grad_(), lr.clone().requires_grad_()
    moving = w0.clone()
    optimizer = torch.optim.SGD([moving], lr=rate, momentum=momentum, differentiable=True)
    for _ in range(steps):
        (moving.grad,) = torch.autograd.grad(train_loss(moving.clone()), moving, create_graph=True)
        optimizer.step()
    return torch.autograd.grad(validation_loss(moving), (rate, w0))
# %% exercise="fix_attention" verdict="refused" mistake="cures_by_a_hook"
# a hook cleans v's gradient
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    values = v.clone()
    if values.requires_grad:
        values.register_hook(lambda g: g.nan_to_num(0))
    return (weights @ values).nan_to_num(0)
# %% exercise="fix_attention" verdict="refused" mistake="leaves_the_nan"
# keys in place of queries: a column nobody sees is cut
def fix_attention(q, k, v, mask):
    seen = mask.any(-2, keepdim=True)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf).masked_fill(~seen, 0.0)
    return scores.softmax(-1).masked_fill(~seen, 0.0) @ v
# %% exercise="has_second_derivative" verdict="refused" mistake="trips_over_torch_func"
# torch.func.hessian: custom functions without torch.func are refused
def has_second_derivative(f, x):
    H = torch.func.hessian(f)(x)
    h = 1e-5
    D = torch.stack([(grad(f)(x + h * e) - grad(f)(x - h * e)) / (2 * h) for e in torch.eye(3, dtype=x.dtype)])
    return torch.allclose(H, D, atol=1e-5)
# %% exercise="gradient_penalty" verdict="refused" mistake="adds_under_the_root"
# a small number under the root shifts the length
def gradient_penalty(critic, real, fake, mix):
    x = (mix * real + (1 - mix) * fake).requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return (((g.reshape(len(g), -1).square().sum(1) + 1e-4).sqrt() - 1) ** 2).mean()
# %% exercise="gradient_penalty" verdict="refused" mistake="leaf_without_a_path"
# the critic is frozen during the call
def gradient_penalty(critic, real, fake, mix):
    x = (mix * real + (1 - mix) * fake).requires_grad_(True)
    flags = [p.requires_grad for p in critic.parameters()]
    critic.requires_grad_(False)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    for p, f in zip(critic.parameters(), flags):
        p.requires_grad_(f)
    return ((g.reshape(len(g), -1).norm(dim=1) - 1) ** 2).mean()
# %% exercise="gradient_penalty" verdict="refused" mistake="one_for_each"
# no mean over the samples
def gradient_penalty(critic, real, fake, mix):
    x = (mix * real + (1 - mix) * fake).requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((g.reshape(len(g), -1).norm(dim=1) - 1) ** 2)
# %% exercise="gradient_penalty" verdict="refused" mistake="magnitudes_of_differences"
# absolute difference instead of the square
def gradient_penalty(critic, real, fake, mix):
    x = (mix * real + (1 - mix) * fake).requires_grad_(True)
    (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return (g.reshape(len(g), -1).norm(dim=1) - 1).abs().mean()
# %% exercise="sharpness" verdict="refused" mistake="swaps_the_results"
# results swapped
def sharpness(model, x, y, v, steps):
    weights = [p for p in model.parameters() if p.requires_grad]
    loss = mse_loss(model(x), y)
    grads = torch.autograd.grad(loss, weights, create_graph=True, materialize_grads=True)
    flat = torch.cat([g.reshape(-1) for g in grads])
    for _ in range(steps):
        parts = torch.autograd.grad(flat, weights, v, retain_graph=True, materialize_grads=True)
        product = torch.cat([p.reshape(-1) for p in parts])
        length = product.norm()
        v = product / length
    return v, length
# %% exercise="sharpness" verdict="refused" mistake="returns_the_square"
# length of the product squared
def sharpness(model, x, y, v, steps):
    weights = [p for p in model.parameters() if p.requires_grad]
    loss = mse_loss(model(x), y)
    grads = torch.autograd.grad(loss, weights, create_graph=True, materialize_grads=True)
    flat = torch.cat([g.reshape(-1) for g in grads])
    for _ in range(steps):
        parts = torch.autograd.grad(flat, weights, v, retain_graph=True, materialize_grads=True)
        product = torch.cat([p.reshape(-1) for p in parts])
        length = product.norm()
        v = product / length
    return length**2, v
# %% exercise="sharpness" verdict="refused" mistake="leaves_out_the_unused"
# unused weights left out, vector too short
def sharpness(model, x, y, v, steps):
    weights = [p for p in model.parameters() if p.requires_grad]
    loss = mse_loss(model(x), y)
    grads = torch.autograd.grad(loss, weights, create_graph=True, allow_unused=True)
    weights = [p for p, g in zip(weights, grads) if g is not None]
    grads = [g for g in grads if g is not None]
    flat = torch.cat([g.reshape(-1) for g in grads])
    for _ in range(steps):
        parts = torch.autograd.grad(flat, weights, v, retain_graph=True, materialize_grads=True)
        product = torch.cat([p.reshape(-1) for p in parts])
        length = product.norm()
        v = product / length
    return length, v
# %% exercise="per_sample_module" verdict="refused" mistake="whole_state"
# state_dict instead of parameters: buffers too
def per_sample_module(model, x, y):
    weights = {n: p.detach() for n, p in model.state_dict().items()}
    def loss(weights, a, b):
        return mse_loss(functional_call(model, weights, (a[None],)), b[None])
    return vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
# %% exercise="per_sample_module" verdict="refused" mistake="halves"
# half of the squared error
def per_sample_module(model, x, y):
    weights = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}
    def loss(weights, a, b):
        return mse_loss(functional_call(model, weights, (a[None],)), b[None]) / 2
    return vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
# %% exercise="per_sample_module" verdict="refused" mistake="losses_alone"
# losses instead of gradients
def per_sample_module(model, x, y):
    weights = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}
    def loss(weights, a, b):
        return mse_loss(functional_call(model, weights, (a[None],)), b[None])
    return vmap(loss, in_dims=(None, 0, 0))(weights, x, y)
# %% exercise="per_sample_module" verdict="refused" mistake="sums_the_samples"
# sum over the samples
def per_sample_module(model, x, y):
    weights = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}
    def loss(weights, a, b):
        return mse_loss(functional_call(model, weights, (a[None],)), b[None])
    rows = vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
    return {n: g.sum(0) for n, g in rows.items()}
# %% exercise="per_sample_module" verdict="refused" mistake="drops_the_statistics"
# BatchNorm replaced in the model
def per_sample_module(model, x, y):
    torch.func.replace_all_batch_norm_modules_(model)
    weights = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}
    def loss(weights, a, b):
        return mse_loss(functional_call(model, weights, (a[None],)), b[None])
    return vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
# %% exercise="fix_vmap" verdict="refused" mistake="loses_the_two"
# 2 + lost above the limit
def fix_vmap(w, x):
    r = w * x
    positive = r > 0
    roots = torch.where(positive, r, torch.ones_like(r)).sqrt()
    s = torch.where(positive, roots, r).sum()
    return torch.where(s > 2, (s - 2) / 10, s)
# %% exercise="fix_vmap" verdict="refused" mistake="raises_the_small_2"
# small positive entries are lifted to 1e-2
def fix_vmap(w, x):
    r = w * x
    positive = r > 0
    roots = r.clamp(min=1e-2).sqrt()
    s = torch.where(positive, roots, r).sum()
    return torch.where(s > 2, 2 + (s - 2) / 10, s)
# %% exercise="fix_vmap" verdict="refused" mistake="adds_under_the_root_12"
# clamp at 1e-12 is a dead zone for tiny entries only
def fix_vmap(w, x):
    r = w * x
    positive = r > 0
    roots = (r.relu() + 1e-12).sqrt()
    s = torch.where(positive, roots, r).sum()
    return torch.where(s > 2, 2 + (s - 2) / 10, s)
# %% exercise="fix_vmap" verdict="refused" mistake="averages"
# mean instead of sum
def fix_vmap(w, x):
    r = w * x
    positive = r > 0
    roots = torch.where(positive, r, torch.ones_like(r)).sqrt()
    s = torch.where(positive, roots, r).mean()
    return torch.where(s > 2, 2 + (s - 2) / 10, s)
# %% exercise="meta_gradient" verdict="refused" mistake="no_step_at_all"
# one step too few
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    w0 = w.clone().requires_grad_()
    rate = lr.clone().requires_grad_()
    now, velocity = w0, torch.zeros_like(w)
    for _ in range(steps - 1):
        (g,) = torch.autograd.grad(train_loss(now), now, create_graph=True)
        velocity = momentum * velocity + g
        now = now - rate * velocity
    return torch.autograd.grad(validation_loss(now), (rate, w0))
# %% exercise="meta_gradient" verdict="refused" mistake="turns_the_sign"
# the sign of the derivative by lr
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    w0 = w.clone().requires_grad_()
    rate = lr.clone().requires_grad_()
    now, velocity = w0, torch.zeros_like(w)
    for _ in range(steps):
        (g,) = torch.autograd.grad(train_loss(now), now, create_graph=True)
        velocity = momentum * velocity + g
        now = now - rate * velocity
    a, c = torch.autograd.grad(validation_loss(now), (rate, w0))
    return -a, c
# %% exercise="meta_gradient" verdict="refused" mistake="rate_is_a_constant"
# lr is a constant: allow_unused zero
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    w0 = w.clone().requires_grad_()
    rate = lr.clone().requires_grad_()
    now, velocity = w0, torch.zeros_like(w)
    for _ in range(steps):
        (g,) = torch.autograd.grad(train_loss(now), now, create_graph=True)
        velocity = momentum * velocity + g
        now = now - lr * velocity
    return torch.autograd.grad(validation_loss(now), (rate, w0), materialize_grads=True)
# %% exercise="meta_gradient" verdict="refused" mistake="changes_in_place"
# weights changed in place
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    w0 = w.clone().requires_grad_()
    rate = lr.clone().requires_grad_()
    now, velocity = w0, torch.zeros_like(w)
    for _ in range(steps):
        (g,) = torch.autograd.grad(train_loss(now), now, create_graph=True)
        velocity = momentum * velocity + g
        now -= rate * velocity
    return torch.autograd.grad(validation_loss(now), (rate, w0))
# %% exercise="meta_gradient" verdict="refused" mistake="returns_numbers"
# results as a list of numbers
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    w0 = w.clone().requires_grad_()
    rate = lr.clone().requires_grad_()
    now, velocity = w0, torch.zeros_like(w)
    for _ in range(steps):
        (g,) = torch.autograd.grad(train_loss(now), now, create_graph=True)
        velocity = momentum * velocity + g
        now = now - rate * velocity
    a, c = torch.autograd.grad(validation_loss(now), (rate, w0))
    return a.item(), c.tolist()
# %% exercise="fix_attention" verdict="refused" mistake="one_more_key"
# a dummy key that every row sees: softmax plus one
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    weights = torch.cat([scores, torch.zeros_like(scores[..., :1])], -1).softmax(-1)
    return weights[..., :-1] @ v
# %% exercise="fix_attention" verdict="refused" mistake="turns_the_mask"
# the mask is read the other way round
def fix_attention(q, k, v, mask):
    mask = ~mask
    seen = mask.any(-1, keepdim=True)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf).masked_fill(~seen, 0.0)
    return scores.softmax(-1).masked_fill(~seen, 0.0) @ v
# %% exercise="fix_attention" verdict="refused" mistake="weights_without_a_graph"
# weights detached
def fix_attention(q, k, v, mask):
    seen = mask.any(-1, keepdim=True)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf).masked_fill(~seen, 0.0)
    return scores.softmax(-1).masked_fill(~seen, 0.0).detach() @ v
# %% exercise="fix_attention" verdict="refused" mistake="nan_over_the_queries"
# softmax over the queries
def fix_attention(q, k, v, mask):
    seen = mask.any(-1, keepdim=True)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf).masked_fill(~seen, 0.0)
    return scores.softmax(-2).masked_fill(~seen, 0.0) @ v
# %% exercise="fix_attention" verdict="refused" mistake="closes_too_many"
# all instead of any: rows that see a part are closed too
def fix_attention(q, k, v, mask):
    seen = mask.all(-1, keepdim=True)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf).masked_fill(~seen, 0.0)
    return scores.softmax(-1).masked_fill(~seen, 0.0) @ v
# %% exercise="fix_attention" verdict="refused" mistake="reverses_all_dimensions"
# 2-d transpose: k.T
def fix_attention(q, k, v, mask):
    seen = mask.any(-1, keepdim=True)
    scores = q @ k.T / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf).masked_fill(~seen, 0.0)
    return scores.softmax(-1).masked_fill(~seen, 0.0) @ v
# %% exercise="fix_attention" verdict="refused" mistake="divides_by_the_dimension"
# scale by d instead of its root
def fix_attention(q, k, v, mask):
    seen = mask.any(-1, keepdim=True)
    scores = q @ k.transpose(-2, -1) / q.shape[-1]
    scores = scores.masked_fill(~mask, -torch.inf).masked_fill(~seen, 0.0)
    return scores.softmax(-1).masked_fill(~seen, 0.0) @ v
# %% exercise="has_second_derivative" verdict="refused" mistake="checks_the_first"
# any error counts as True
def has_second_derivative(f, x):
    try:
        return torch.autograd.gradgradcheck(f, (x.clone().requires_grad_(),))
    except Exception:
        return True
# %% exercise="has_second_derivative" verdict="refused" mistake="calls_and_refuses_all"
# float32: differences too rough, right ones refused
def has_second_derivative(f, x):
    try:
        return torch.autograd.gradgradcheck(f, (x.float().requires_grad_(),))
    except RuntimeError:
        return False
# %% exercise="fix_attention" verdict="refused" mistake="not_low_enough"
# scores may be below the number that stands for hidden entries
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1).masked_fill(~mask.any(-1, keepdim=True), 0)
    return weights @ v
# %%
import math
from torch import nn
from torch.nn.functional import mse_loss
# %% exercise="gradient_penalty" verdict="refused" mistake="puts_it_into_training"
def gradient_penalty(critic, real, fake, mix):
    critic.train()
    points = (mix * real + (1 - mix) * fake).requires_grad_()
    (g,) = torch.autograd.grad(critic(points).sum(), points, create_graph=True)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()
# %% exercise="gradient_penalty" verdict="refused" mistake="points_without_grad"
def gradient_penalty(critic, real, fake, mix):
    points = mix * real + (1 - mix) * fake
    (g,) = torch.autograd.grad(critic(points).sum(), points, create_graph=True)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()
# %% exercise="gradient_penalty" verdict="refused" mistake="draws_its_own_shares"
def gradient_penalty(critic, real, fake, mix):
    mix = torch.rand(len(real), *[1] * (real.dim() - 1), dtype=real.dtype)
    points = (mix * real + (1 - mix) * fake).requires_grad_()
    (g,) = torch.autograd.grad(critic(points).sum(), points, create_graph=True)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()
# %% exercise="gradient_penalty" verdict="refused" mistake="clears_the_gradients"
def gradient_penalty(critic, real, fake, mix):
    critic.zero_grad()
    points = (mix * real + (1 - mix) * fake).requires_grad_()
    (g,) = torch.autograd.grad(critic(points).sum(), points, create_graph=True)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()
# %% exercise="sharpness" verdict="refused" mistake="puts_it_into_training"
def sharpness(model, x, y, v, steps):
    model.train()
    weights = [p for p in model.parameters() if p.requires_grad]
    g = torch.autograd.grad(mse_loss(model(x), y), weights, create_graph=True, materialize_grads=True)
    flat = torch.cat([each.flatten() for each in g])
    for _ in range(steps):
        hv = torch.autograd.grad(flat, weights, v, retain_graph=True, materialize_grads=True)
        v = torch.cat([each.flatten() for each in hv])
        length = v.norm()
        v = v / length
    return length, v
# %% exercise="sharpness" verdict="refused" mistake="frozen_too_and_none_for_the_unused"
def sharpness(model, x, y, v, steps):
    weights = list(model.parameters())
    g = torch.autograd.grad(mse_loss(model(x), y), weights, create_graph=True, allow_unused=True)
    flat = torch.cat([each.flatten() for each in g])
    for _ in range(steps):
        hv = torch.autograd.grad(flat, weights, v, retain_graph=True)
        v = torch.cat([each.flatten() for each in hv])
        length = v.norm()
        v = v / length
    return length, v
# %% exercise="sharpness" verdict="refused" mistake="frozen_and_unused_too"
def sharpness(model, x, y, v, steps):
    weights = list(model.parameters())
    g = torch.autograd.grad(mse_loss(model(x), y), weights, create_graph=True)
    flat = torch.cat([each.flatten() for each in g])
    for _ in range(steps):
        hv = torch.autograd.grad(flat, weights, v, retain_graph=True)
        v = torch.cat([each.flatten() for each in hv])
        length = v.norm()
        v = v / length
    return length, v
# %% exercise="sharpness" verdict="refused" mistake="never_divides"
def sharpness(model, x, y, v, steps):
    weights = [p for p in model.parameters() if p.requires_grad]
    g = torch.autograd.grad(mse_loss(model(x), y), weights, create_graph=True, materialize_grads=True)
    flat = torch.cat([each.flatten() for each in g])
    for _ in range(steps):
        hv = torch.autograd.grad(flat, weights, v, retain_graph=True, materialize_grads=True)
        v = torch.cat([each.flatten() for each in hv])
    return v.norm(), v
# %% exercise="sharpness" verdict="refused" mistake="one_step_alone"
def sharpness(model, x, y, v, steps):
    weights = [p for p in model.parameters() if p.requires_grad]
    g = torch.autograd.grad(mse_loss(model(x), y), weights, create_graph=True, materialize_grads=True)
    flat = torch.cat([each.flatten() for each in g])
    hv = torch.autograd.grad(flat, weights, v, materialize_grads=True)
    hv = torch.cat([each.flatten() for each in hv])
    return hv.norm(), hv / hv.norm()
# %% exercise="fix_attention" verdict="refused" mistake="hidden_scores_count"
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    weights = (scores + (~mask) * -1e4).softmax(-1) * mask
    return weights @ v
# %% exercise="fix_attention" verdict="refused" mistake="hidden_scores_count"
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    weights = (scores - 1e4 * (~mask)).softmax(-1)
    return weights.masked_fill(~mask, 0) @ v
# %% exercise="fix_attention" verdict="refused" mistake="hidden_scores_count"
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True).clamp(1e-9) @ v
# %% exercise="fix_attention" verdict="refused" mistake="hidden_scores_count"
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    e = (scores - scores.amax(-1, keepdim=True)).exp() * mask
    total = e.sum(-1, keepdim=True)
    return e / torch.where(total > 0, total, 1.0) @ v
# %% exercise="has_second_derivative" verdict="refused" mistake="takes_an_error_for_a_no"
def has_second_derivative(f, x):
    x = x.clone().requires_grad_()
    try:
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)
        torch.autograd.grad(g.sum(), x)
        return True
    except RuntimeError:
        return False
# %% exercise="has_second_derivative" verdict="refused" mistake="takes_an_error_for_a_no"
def has_second_derivative(f, x):
    x = x.clone().requires_grad_(True)
    try:
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)
        for i in range(len(x)):
            torch.autograd.grad(g[i], x, retain_graph=True)
    except Exception:
        return False
    return True
# %% exercise="meta_gradient" verdict="refused" mistake="steps_of_sgd"
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    w0 = w.detach().clone().requires_grad_()
    rate = lr.detach().clone().requires_grad_()
    p = w0.clone()
    optimizer = torch.optim.SGD([p], lr=rate, momentum=momentum, differentiable=True)
    for _ in range(steps):
        (p.grad,) = torch.autograd.grad(train_loss(p), p, create_graph=True)
        optimizer.step()
    return torch.autograd.grad(validation_loss(p), (rate, w0))
# %% exercise="meta_gradient" verdict="refused"
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    w0 = w.detach().clone().requires_grad_()
    rate = lr.detach().clone().requires_grad_()
    optimizer = torch.optim.SGD([w0], lr=rate, momentum=momentum, differentiable=True)
    for _ in range(steps):
        (w0.grad,) = torch.autograd.grad(train_loss(w0), w0, create_graph=True)
        optimizer.step()
    return torch.autograd.grad(validation_loss(w0), (rate, w0))
# %% exercise="per_sample_module" verdict="refused" mistake="ignores_the_weights"
def per_sample_module(model, x, y):
    weights = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}
    def loss(weights, x, y):
        return mse_loss(model(x[None]), y[None])
    return vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
# %% exercise="per_sample_module" verdict="refused" mistake=""
def per_sample_module(model, x, y):
    weights = {f"model.{n}": p.detach() for n, p in model.named_parameters() if p.requires_grad}
    def loss(weights, x, y):
        return mse_loss(functional_call(model, weights, (x[None],)), y[None])
    found = vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
    return {n.removeprefix("model."): g for n, g in found.items()}
# %% exercise="sharpness" verdict="refused" mistake="clears_what_backward_left"
# backward(create_graph=True) puts the gradient into .grad of the model.
def sharpness(model, x, y, v, steps):
    weights = [p for p in model.parameters() if p.requires_grad]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mse_loss(model(x), y).backward(create_graph=True)
    g = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in weights])
    options = {"allow_unused": True, "materialize_grads": True}
    for _ in range(steps):
        product = torch.cat([p.reshape(-1) for p in torch.autograd.grad(g, weights, v, retain_graph=True, **options)])
        length = product.norm()
        v = product / length
    for p in weights:
        p.grad = None
    return length, v
# %% exercise="sharpness" verdict="refused" mistake="divides_at_the_end_alone"
# never divides between the steps, so with several steps the length is that of a power of H times v.
def sharpness(model, x, y, v, steps):
    weights = [p for p in model.parameters() if p.requires_grad]
    options = {"allow_unused": True, "materialize_grads": True}
    g = torch.cat(
        [p.reshape(-1) for p in torch.autograd.grad(mse_loss(model(x), y), weights, create_graph=True, **options)]
    )
    for _ in range(steps):
        v = torch.cat([p.reshape(-1) for p in torch.autograd.grad(g, weights, v, retain_graph=True, **options)])
    return v.norm(), v / v.norm()
# %%
import torch
# %% exercise="fix_attention" verdict="passed"
# by logsumexp
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    seen = mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask & seen, -torch.inf)
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return weights.masked_fill(~mask, 0.0) @ v
