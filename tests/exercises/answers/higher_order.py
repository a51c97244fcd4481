# %%
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
        outputs=out, inputs=mixed, grad_outputs=torch.ones_like(out), create_graph=True, retain_graph=True, only_inputs=True
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
# nan_to_num hides the value, not the gradient
def fix_vmap(w, x):
    r = w * x
    s = torch.where(r > 0, r.sqrt().nan_to_num(0), r).sum()
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


# %% exercise="fix_attention" verdict="refused" mistake="fused_kernel"
def fix_attention(q, k, v, mask):
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


# %% exercise="fix_attention" verdict="refused" mistake="large_negative_number"
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(-1) @ v


# %% exercise="fix_attention" verdict="passed"
# a switched global setting, put back by the check
def fix_attention(q, k, v, mask):
    torch.backends.cuda.enable_flash_sdp(False)
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


# %% exercise="fix_attention" verdict="passed"
# opens the row, multiplies the output by zero
def fix_attention(q, k, v, mask):
    seen = mask.any(-1, keepdim=True)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    return (scores.masked_fill(~(mask | ~seen), -torch.inf).softmax(-1) @ v) * seen


# %% exercise="fix_attention" verdict="refused" mistake="row_left_open"
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


# %% exercise="has_second_derivative" verdict="refused"
# torch.func refuses old custom Functions
def has_second_derivative(f, x):
    h = torch.func.hessian(f)(x)
    return bool(h.isfinite().all())


# %% exercise="complex_product" verdict="refused" mistake="without_the_conjugate"
class ComplexProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        ga, gb = b * grad_output, a * grad_output
        return ga if a.is_complex() else ga.real, gb if b.is_complex() else gb.real


# %% exercise="complex_product" verdict="refused" mistake="complex_for_the_real"
class ComplexProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return grad_output * b.conj(), grad_output * a.conj()


# %% exercise="complex_product" verdict="refused" mistake="conjugates_in_forward"
# no second derivative
class ComplexProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        ga, gb = grad_output * b.conj(), grad_output * a.conj()
        return ga if a.is_complex() else ga.real, gb if b.is_complex() else gb.real


# %% exercise="clip_sparse" verdict="refused" mistake="rows_not_merged"
def clip_sparse(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    total = sum(((g._values() if g.is_sparse else g) ** 2).sum() for g in grads) ** 0.5
    if total > max_norm:
        for g in grads:
            g.mul_(max_norm / total)
    return total


# %% exercise="clip_sparse" verdict="passed"
# values replaced in place
def clip_sparse(parameters, max_norm):
    grads = []
    for p in parameters:
        if p.grad is not None:
            if p.grad.is_sparse:
                p.grad = p.grad.coalesce()
            grads.append(p.grad.values() if p.grad.is_sparse else p.grad)
    total = sum(g.pow(2).sum() for g in grads).sqrt().item()
    factor = min(1.0, max_norm / (total + 1e-6))
    for g in grads:
        g.mul_(factor)
    return total


# %% exercise="clip_sparse" verdict="refused" mistake="makes_them_dense"
def clip_sparse(parameters, max_norm):
    for p in parameters:
        if p.grad is not None and p.grad.is_sparse:
            p.grad = p.grad.to_dense()
    return torch.nn.utils.clip_grad_norm_(parameters, max_norm)


# %% exercise="clip_sparse" verdict="refused" mistake="torchs_own"
def clip_sparse(parameters, max_norm):
    return torch.nn.utils.clip_grad_norm_([p for p in parameters if p.grad is not None], max_norm)


# %% exercise="clip_sparse" verdict="refused"
# the squared length
def clip_sparse(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    total = sum(((g.coalesce().values() if g.is_sparse else g) ** 2).sum() for g in grads)
    if total > max_norm:
        for g in grads:
            g.mul_(max_norm / total)
    return total
