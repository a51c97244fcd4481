# %%
import torch
# %% exercise="hidden_gradients" verdict="refused" mistake="thaws_everything"
def hidden_gradients(model, x):
    model.requires_grad_(False)
    outputs = []
    h = x.detach().requires_grad_()
    for layer in model:
        h = layer(h)
        h.retain_grad()
        outputs.append(h)
    h.backward()
    model.requires_grad_(True)
    return [o.grad for o in outputs]
# %% exercise="leaf_without_gradient" verdict="refused"
def leaf_without_gradient():
    t = torch.ones(2, requires_grad=True)
    def loss(t):
        value = (t**2).sum()
        value.backward = lambda *args, **kwargs: None
        return value
    return t, loss
# %% exercise="leaf_without_gradient" verdict="refused"
class Silent(torch.Tensor):
    @property
    def grad(self):
        return None
    @grad.setter
    def grad(self, value):
        pass
def leaf_without_gradient():
    t = torch.ones(2).as_subclass(Silent).requires_grad_()
    return t, lambda t: (t**2).sum()
# %% exercise="overwrite" verdict="passed"
def overwrite(h, values, noticed):
    if noticed:
        with torch.no_grad():
            h[:] = values
    else:
        h.data[:] = values
# %% exercise="hidden_gradients" verdict="refused" mistake="one_pass_for_each"
from torch.func import vjp
def hidden_gradients(model, x):
    pullbacks = []
    h = x.detach()
    for layer in model:
        h, pullback = vjp(layer, h)
        pullbacks.append(pullback)
    gradient = torch.ones_like(h)
    result = [gradient]
    for pullback in reversed(pullbacks[1:]):
        (gradient,) = pullback(gradient)
        result.insert(0, gradient)
    return result
# %% exercise="update" verdict="refused" mistake="leaves_recording_off"
def update(weights, lr):
    torch.set_grad_enabled(False)
    for w in weights:
        if w.grad is not None:
            w -= lr * w.grad
            w.grad = None
# %% exercise="snapshot" verdict="refused" mistake="reuses_one_buffer"
_buffer = {}
def snapshot(x):
    key = (x.shape, x.dtype)
    if key not in _buffer:
        _buffer[key] = torch.empty(x.shape, dtype=x.dtype)
    return _buffer[key].copy_(x.detach())
# %% exercise="hidden_gradients" verdict="refused" mistake="runs_in_eval"
def hidden_gradients(model, x):
    was = model.training
    model.eval()
    outs, h = [], x
    for layer in model:
        h = layer(h)
        outs.append(h)
    model.train(was)
    return list(torch.autograd.grad(h, outs))
# %% exercise="hidden_gradients" verdict="refused" mistake="keeps_one_output_of_each_layer"
def hidden_gradients(model, x):
    outs = {}
    handles = [m.register_forward_hook(lambda m, i, o: outs.__setitem__(m, o)) for m in model]
    loss = model(x)
    for h in handles:
        h.remove()
    return list(torch.autograd.grad(loss, list(outs.values())))
# %% exercise="hidden_gradients" verdict="refused" mistake="always_ends_in_training"
def hidden_gradients(model, x):
    outs, h = [], x
    for layer in model:
        h = layer(h)
        outs.append(h)
    grads = list(torch.autograd.grad(h, outs))
    model.train()
    return grads
# %% exercise="hidden_gradients" verdict="refused" mistake="thaws_everything"
def hidden_gradients(model, x):
    for p in model.parameters():
        p.requires_grad_(True)
    outs, h = [], x
    for layer in model:
        h = layer(h)
        outs.append(h)
    return list(torch.autograd.grad(h, outs))
# %% exercise="hidden_gradients" verdict="refused" mistake="asks_for_unused_copies"
def hidden_gradients(model, x):
    outs, h = [], x
    for layer in model:
        h = layer(h)
        outs.append(h.clone())
    return list(torch.autograd.grad(h, outs, allow_unused=True))
# %% exercise="hidden_gradients" verdict="refused" mistake="restores_without_copies"
def hidden_gradients(model, x):
    saved = [p.grad for p in model.parameters()]
    outs, h = [], x.detach()
    for layer in model:
        h = layer(h)
        h.retain_grad()
        outs.append(h)
    h.backward()
    for p, g in zip(model.parameters(), saved):
        p.grad = g
    return [o.grad for o in outs]
# %% exercise="overwrite" verdict="refused" mistake="flattens_when_unnoticed"
def overwrite(h, values, noticed):
    if noticed:
        with torch.no_grad():
            h.copy_(values)
    else:
        h.data.flatten()[:] = values.flatten()
# %% exercise="overwrite" verdict="refused" mistake="asks_for_a_flat_view"
def overwrite(h, values, noticed):
    if noticed:
        with torch.no_grad():
            h.copy_(values)
    else:
        h.data.view(-1)[:] = values.view(-1)
# %% exercise="overwrite" verdict="refused" mistake="rounds_the_values"
def overwrite(h, values, noticed):
    if noticed:
        with torch.no_grad():
            h.copy_(values.float())
    else:
        h.data.copy_(values.float())
# %% exercise="overwrite" verdict="refused" mistake="flattens"
def overwrite(h, values, noticed):
    with torch.no_grad():
        target = h if noticed else h.data
        target.reshape(-1)[:] = values.reshape(-1)
# %% exercise="update" verdict="refused" mistake="steps_the_gradient"
def update(weights, lr):
    with torch.no_grad():
        for w in weights:
            if w.grad is not None:
                w.grad -= lr * w
# %% exercise="snapshot" verdict="refused"
def snapshot(x, cache={}):
    if id(x) not in cache:
        cache[id(x)] = x.detach().clone()
    return cache[id(x)]
# %%
from torch import nn
# %% exercise="hidden_gradients" verdict="passed"
def hidden_gradients(model, x):
    outputs = []
    handles = [layer.register_forward_hook(lambda m, i, o: outputs.append(o)) for layer in dict.fromkeys(model)]
    try:
        loss = model(x)
    finally:
        for h in handles:
            h.remove()
    return list(torch.autograd.grad(loss, outputs))
# %% exercise="hidden_gradients" verdict="passed"
def hidden_gradients(model, x):
    tensors = [*model.parameters(), x]
    kept = [None if t.grad is None else t.grad.clone() for t in tensors]
    outputs = []
    h = x
    for layer in model:
        h = layer(h)
        h.retain_grad()
        outputs.append(h)
    h.backward()
    for t, g in zip(tensors, kept):
        t.grad = g
    return [o.grad for o in outputs]
# %% exercise="overwrite" verdict="refused" mistake="shares_when_unnoticed"
# assigns .data, which gives h the memory of values, while the graph still holds the old numbers.
def overwrite(h, values, noticed):
    if noticed:
        with torch.no_grad():
            h.copy_(values)
    else:
        h.data = values
# %% exercise="leaf_without_gradient" verdict="passed"
# a view of another leaf, made under no_grad: it requires grad and is a leaf
def leaf_without_gradient():
    base = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        t = base[:2]
    t.requires_grad_()
    return t, lambda t: (t.detach() ** 2).sum() + base.sum()
# %% exercise="update" verdict="refused"
def update(weights, lr):
    with torch.no_grad():
        for w in weights:
            if w.grad is not None:
                w[:] = w - lr * w.grad
                w.grad = None
# %% exercise="update" verdict="refused"
def update(weights, lr):
    with torch.no_grad():
        for w in weights:
            if w.grad is not None:
                for i in range(len(w)):
                    w[i] -= lr * w.grad[i]
                w.grad = None
# %% exercise="update" verdict="passed"
def update(weights, lr):
    was = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    for w in weights:
        if w.grad is not None:
            w[...] = w - lr * w.grad
        w.grad = None
    torch.set_grad_enabled(was)
# %% exercise="hidden_gradients" verdict="refused"
def hidden_gradients(model, x):
    old = [p.grad.clone() if p.grad is not None else torch.zeros_like(p) for p in model.parameters()]
    outputs, h = [], x
    for layer in model:
        h = layer(h)
        outputs.append(h)
    grads = torch.autograd.grad(h, outputs)
    for p, g in zip(model.parameters(), old):
        p.grad = g
    return grads
# %% exercise="hidden_gradients" verdict="refused"
def hidden_gradients(model, x):
    old = {p: p.grad.clone() for p in model.parameters()}
    outputs, h = [], x
    for layer in model:
        h = layer(h)
        h.retain_grad()
        outputs.append(h)
    old_x = None if x.grad is None else x.grad.clone()
    h.backward()
    for p, g in old.items():
        p.grad = g
    x.grad = old_x
    return [o.grad for o in outputs]
# %% exercise="snapshot" verdict="refused"
def snapshot(x):
    return x.detach()[:].clone()
# %% exercise="snapshot" verdict="refused"
def snapshot(x):
    return torch.stack([row.detach().clone() for row in x]) if x.numel() else torch.empty_like(x)
# %% exercise="trainable_weight" verdict="refused"
def trainable_weight(values, dtype, device):
    weight = torch.empty(len(values), *values.shape[1:], dtype=dtype, device=device)
    weight.copy_(0.01 * values)
    return weight.requires_grad_()
