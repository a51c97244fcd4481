"""Answers to lesson 08, written from the notebook's text alone; `test_trial_answers.py` judges them."""
# %%
import functools
import torch
from torch import nn
from torch.nn.functional import mse_loss
# %% exercise="arriving_gradients" verdict="refused" mistake="detaches_what_came"
def arriving_gradients(loss, tensors):
    result = [None for _ in tensors]
    def put(i):
        return lambda g: result.__setitem__(i, g.detach().clone())
    hs = []
    try:
        for i in range(len(tensors)):
            hs.append(tensors[i].register_hook(put(i)))
        loss.backward()
        return result
    finally:
        for h in hs:
            h.remove()
# %% exercise="arriving_gradients" verdict="passed"
def arriving_gradients(loss, tensors):
    # leaves by difference of .grad, the others by a hook
    result = {}
    with torch.autograd.graph.register_multi_grad_hook(
        list(tensors), lambda gs: result.update(enumerate(g.clone() if g is not None else None for g in gs)), mode="all"
    ):
        loss.backward()
    return [result.get(i) for i in range(len(tensors))]
# %% exercise="arriving_gradients" verdict="passed"
def arriving_gradients(loss, tensors):
    got = {}
    handles = [t.register_hook(functools.partial(got.__setitem__, id(t))) for t in tensors]
    try:
        loss.backward()
    finally:
        while handles:
            handles.pop().remove()
    return tuple(got.get(id(t)) for t in tensors)
# %% exercise="arriving_gradients" verdict="refused" mistake="retains"
def arriving_gradients(loss, tensors):
    [t.retain_grad() for t in tensors]
    loss.backward()
    return [t.grad for t in tensors]
# %% exercise="arriving_gradients" verdict="refused"
def arriving_gradients(loss, tensors):
    [t.retain_grad() for t in tensors if not t.is_leaf]
    loss.backward()
    found = [t.grad for t in tensors]
    for t in tensors:
        if not t.is_leaf:
            t.grad = None
    return found
# %% exercise="arriving_gradients" verdict="refused"
def arriving_gradients(loss, tensors):
    found = torch.autograd.grad(loss, tensors, allow_unused=True, retain_graph=True)
    return list(found), loss.backward()
# %% exercise="damp" verdict="refused" mistake="expects_a_gradient"
def damp(tensor, factor):
    def hook(gradient):
        if factor == 1:
            return None
        return torch.mul(gradient, torch.tensor(factor, dtype=gradient.dtype))
    return tensor.register_hook(hook)
# %% exercise="damp" verdict="refused" mistake="still_in_place"
def damp(tensor, factor):
    return tensor.register_hook(lambda g: g.mul_(factor))
# %% exercise="damp" verdict="refused"
def damp(tensor, factor):
    tensor = tensor * 1
    return tensor.register_hook(lambda g: g * factor)
# %% exercise="clip_globally" verdict="passed"
def clip_globally(model, loss, max_norm):
    loss.backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    total = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads]))
    scale = torch.clamp(max_norm / (total + 1e-6), max=1.0)
    for g in grads:
        g.mul_(scale)
# %% exercise="clip_globally" verdict="passed"
def clip_globally(model, loss, max_norm):
    squares, handles = [], []
    for p in model.parameters():
        if p.requires_grad:
            handles.append(p.register_hook(lambda g: squares.append(float((g * g).sum()))))
    loss.backward()
    for h in handles:
        h.remove()
    norm = sum(squares) ** 0.5
    for p in model.parameters():
        if p.grad is not None and norm > max_norm:
            p.grad.mul_(max_norm / norm)
# %% exercise="clip_globally" verdict="refused" mistake="clips_each_in_a_hook"
def clip_globally(model, loss, max_norm):
    def clip(g):
        n = g.norm()
        return g * max_norm / n if n > max_norm else g
    for p in model.parameters():
        if p.requires_grad:
            p.register_hook(clip)
    loss.backward()
# %% exercise="clip_globally" verdict="refused" mistake="clips_nothing"
def clip_globally(model, loss, max_norm):
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    loss.backward()
# %% exercise="clip_globally" verdict="refused" mistake="clamps_entries"
def clip_globally(model, loss, max_norm):
    loss.backward()
    torch.nn.utils.clip_grad_value_(model.parameters(), max_norm)
# %% exercise="clip_globally" verdict="refused"
def clip_globally(model, loss, max_norm):
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_hook(lambda grad: grad.clamp(-max_norm, max_norm))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
# %% exercise="step_in_backward" verdict="passed"
def step_in_backward(model, make_optimizer):
    opts = {}
    hooks = []
    def h(p):
        if id(p) not in opts:
            opts[id(p)] = make_optimizer([p])
        opts[id(p)].step()
        opts[id(p)].zero_grad(set_to_none=True)
    for name, p in model.named_parameters():
        if p.requires_grad:
            hooks.append(p.register_post_accumulate_grad_hook(h))
    def off():
        for each in hooks:
            each.remove()
    return off
# %% exercise="step_in_backward" verdict="refused" mistake="waits_for_all"
def step_in_backward(model, make_optimizer):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = make_optimizer(params)
    def all_there(grads):
        torch.autograd.Variable._execution_engine.queue_callback(lambda: (opt.step(), opt.zero_grad()))
    handle = torch.autograd.graph.register_multi_grad_hook(params, all_there)
    return handle.remove
# %% exercise="step_in_backward" verdict="refused" mistake="never_clears"
def step_in_backward(model, make_optimizer):
    opts = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    handles = [p.register_post_accumulate_grad_hook(lambda p: opts[p].step() and None) for p in opts]
    return lambda: [h.remove() for h in handles]
# %% exercise="step_in_backward" verdict="refused" mistake="returns_no_function"
def step_in_backward(model, make_optimizer):
    opts = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    def hook(p):
        opts[p].step()
        opts[p].zero_grad()
    return [p.register_post_accumulate_grad_hook(hook) for p in opts]
# %% exercise="step_in_backward" verdict="refused"
def step_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in model.parameters()}
    def hook(p):
        optimizers[p].step()
        optimizers[p].zero_grad()
    handles = [p.register_post_accumulate_grad_hook(hook) for p in optimizers]
    return lambda: [h.remove() for h in handles]
# %% exercise="step_in_backward" verdict="refused" mistake="new_optimizer_each_time"
def step_in_backward(model, make_optimizer):
    def hook(p):
        o = make_optimizer([p])
        o.step()
        o.zero_grad()
    handles = [p.register_post_accumulate_grad_hook(hook) for p in model.parameters() if p.requires_grad]
    return lambda: [h.remove() for h in handles]
# %% exercise="watch_buckets" verdict="passed"
def watch_buckets(buckets, all_reduce, unused=()):
    unused_ids = {id(u) for u in unused}
    need = [[id(p) for p in b if id(p) not in unused_ids] for b in buckets]
    state = {"ready": set(), "next": 0}
    def on_ready(p):
        state["ready"].add(id(p))
        while state["next"] < len(need) and all(i in state["ready"] for i in need[state["next"]]):
            all_reduce(state["next"])
            state["next"] += 1
    for b in buckets:
        for p in b:
            if id(p) not in unused_ids:
                p.register_post_accumulate_grad_hook(on_ready)
    def finish():
        n, state["next"], state["ready"] = state["next"], 0, set()
        if n < len(need):
            raise RuntimeError("Expected to have finished reduction")
    return finish
# %% exercise="watch_buckets" verdict="refused" mistake="in_order_of_completion"
def watch_buckets(buckets, all_reduce, unused=()):
    skip = {id(p) for p in unused}
    left = [sum(id(p) not in skip for p in b) for b in buckets]
    full = list(left)
    where = {id(p): i for i, b in enumerate(buckets) for p in b}
    def hook(p):
        i = where[id(p)]
        left[i] -= 1
        if left[i] == 0:
            all_reduce(i)
    def finish():
        bad = any(left)
        left[:] = full
        if bad:
            raise RuntimeError
    [p.register_post_accumulate_grad_hook(hook) for b in buckets for p in b]
    return finish
# %% exercise="watch_buckets" verdict="refused"
def watch_buckets(buckets, all_reduce, unused=()):
    done = []
    def hook(p):
        for i, b in enumerate(buckets):
            if i not in done and all(q.grad is not None or any(q is u for u in unused) for q in b):
                done.append(i)
                all_reduce(i)
    def finish():
        n = len(done)
        done.clear()
        if n < len(buckets):
            raise RuntimeError
    [p.register_post_accumulate_grad_hook(hook) for b in buckets for p in b]
    return finish
# %% exercise="watch_buckets" verdict="refused" mistake="with_tensor_hooks"
def watch_buckets(buckets, all_reduce, unused=()):
    skip = {id(p) for p in unused}
    waiting, sent = [], []
    def begin():
        waiting[:] = [{id(p) for p in b} - skip for b in buckets]
        sent.clear()
    def hook_for(p):
        def hook(g):
            for w in waiting:
                w.discard(id(p))
            while len(sent) < len(buckets) and not waiting[len(sent)]:
                sent.append(len(sent))
                all_reduce(sent[-1])
        return hook
    def finish():
        n = len(sent)
        begin()
        if n < len(buckets):
            raise RuntimeError
    begin()
    [p.register_hook(hook_for(p)) for b in buckets for p in b]
    return finish
# %% exercise="watch_buckets" verdict="refused"
def watch_buckets(buckets, all_reduce, unused=()):
    handles = [
        torch.autograd.graph.register_multi_grad_hook(b, lambda gs, i=i: all_reduce(i)) for i, b in enumerate(buckets)
    ]
    return lambda: None if handles else 1
# %% exercise="accumulate_in_backward" verdict="passed"
def accumulate_in_backward(model, make_optimizer):
    ps = [p for p in model.parameters() if p.requires_grad]
    opts = {p: make_optimizer([p]) for p in ps}
    flag = {"last": False}
    def h(p):
        if flag["last"]:
            opts[p].step()
            opts[p].zero_grad()
    [p.register_post_accumulate_grad_hook(h) for p in ps]
    def backward(loss, last):
        flag["last"] = last
        loss.backward()
        if last:
            [h(p) for p in ps if p.grad is not None]
    return backward
# %% exercise="accumulate_in_backward" verdict="refused" mistake="forgets_the_unused"
def accumulate_in_backward(model, make_optimizer):
    opts = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    last_pass = False
    def h(p):
        if last_pass:
            opts[p].step()
            opts[p].zero_grad()
    [p.register_post_accumulate_grad_hook(h) for p in opts]
    def backward(loss, last):
        nonlocal last_pass
        last_pass = last
        loss.backward()
    return backward
# %% exercise="unused_parameters" verdict="passed"
def unused_parameters(model, loss):
    names, params = zip(*[(n, p) for n, p in model.named_parameters() if p.requires_grad])
    gs = torch.autograd.grad(outputs=loss, inputs=params, allow_unused=True, retain_graph=True)
    return [n for n, g in zip(names, gs) if g is None]
# %% exercise="unused_parameters" verdict="refused" mistake="takes_zero_for_none"
def unused_parameters(model, loss):
    ps = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    gs = torch.autograd.grad(loss, [p for _, p in ps], retain_graph=True, allow_unused=True, materialize_grads=True)
    return [n for (n, _), g in zip(ps, gs) if not g.any()]
# %% exercise="unused_parameters" verdict="refused" mistake="frees_the_graph"
def unused_parameters(model, loss):
    ps = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    gs = torch.autograd.grad(loss, [p for _, p in ps], allow_unused=True)
    return [n for (n, _), g in zip(ps, gs) if g is None]
# %% exercise="output_gradients" verdict="passed"
def output_gradients(model, x):
    grads = {n: [] for n, m in model.named_modules() if isinstance(m, nn.Linear)}
    hs = []
    for n, m in model.named_modules():
        if isinstance(m, nn.Linear):
            def fh(mod, inp, out, n=n):
                i = len(grads[n])
                grads[n].append(None)
                out.register_hook(lambda g: grads[n].__setitem__(i, g))
            hs.append(m.register_forward_hook(fh))
    model(x).sum().backward()
    for h in hs:
        h.remove()
    return grads
# %% exercise="output_gradients" verdict="refused"
def output_gradients(model, x):
    found = {n: [] for n, m in model.named_modules() if isinstance(m, nn.Linear)}
    handles = []
    for n in found:
        m = model.get_submodule(n)
        handles.append(m.register_full_backward_hook(lambda m, gi, go, n=n: found[n].insert(0, go[0])))
    model(x).sum().backward()
    for h in handles:
        h.remove()
    return found
# %% exercise="output_gradients" verdict="refused" mistake="in_order_of_arrival"
def output_gradients(model, x):
    found = {n: [] for n, m in model.named_modules() if isinstance(m, nn.Linear)}
    handles = [
        model.get_submodule(n).register_forward_hook(lambda m, i, o, n=n: o.register_hook(found[n].append) and None)
        for n in found
    ]
    model(x).sum().backward()
    [h.remove() for h in handles]
    return found
# %% exercise="silent_hook" verdict="passed"
def silent_hook():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(1, 1)
        def forward(self, x):
            return torch.nn.functional.linear(x, self.layer.weight, self.layer.bias)
    return Net(), torch.tensor([[2.0]])
# %% exercise="silent_hook" verdict="refused" mistake="learns_nothing"
def silent_hook():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(1, 1)
        def forward(self, x):
            return 2 * x
    return Net(), torch.tensor([[2.0]], requires_grad=True)
# %% exercise="silent_hook" verdict="refused" mistake="input_without_grad"
def silent_hook():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)
        def forward(self, x):
            return self.layer(x)
    return Net(), torch.ones(1, 2)
# %%
import contextlib  # noqa: E402
import math
import weakref
F = nn.functional
# %% exercise="arriving_gradients" verdict="refused" mistake="subtracts"
def arriving_gradients(loss, tensors):
    old = [t.grad.clone() if t.is_leaf and t.grad is not None else None for t in tensors]
    for t in tensors:
        t.retain_grad()
    loss.backward()
    return [t.grad - o if o is not None else t.grad for t, o in zip(tensors, old)]
# %% exercise="arriving_gradients" verdict="refused" mistake="subtracts"
def arriving_gradients(loss, tensors):
    before = [t.grad.clone() if t.is_leaf and t.grad is not None else None for t in tensors]
    out = [None] * len(tensors)
    handles = [
        t.register_hook(lambda g, i=i: out.__setitem__(i, g.clone())) for i, t in enumerate(tensors) if not t.is_leaf
    ]
    try:
        loss.backward()
    finally:
        for h in handles:
            h.remove()
    for i, t in enumerate(tensors):
        if t.is_leaf and t.grad is not None:
            out[i] = t.grad - before[i] if before[i] is not None else t.grad.clone()
    return out
# %% exercise="arriving_gradients" verdict="refused" mistake="sums_of_reached_leaves"
def arriving_gradients(loss, tensors):
    out = [None] * len(tensors)
    handles = []
    try:
        for i, t in enumerate(tensors):
            if t.is_leaf:
                handles.append(t.register_post_accumulate_grad_hook(lambda p, i=i: out.__setitem__(i, p.grad.clone())))
            else:
                handles.append(t.register_hook(lambda g, i=i: out.__setitem__(i, g.clone())))
        loss.backward()
    finally:
        for h in handles:
            h.remove()
    return out
# %% exercise="arriving_gradients" verdict="refused" mistake="names_the_inputs"
def arriving_gradients(loss, tensors):
    out = [None] * len(tensors)
    handles = [t.register_hook(lambda g, i=i: out.__setitem__(i, g.clone())) for i, t in enumerate(tensors)]
    try:
        loss.backward(inputs=tensors)
    finally:
        for h in handles:
            h.remove()
    return out
# %% exercise="arriving_gradients" verdict="refused" mistake="expects_a_gradient"
def arriving_gradients(loss, tensors):
    out = [None] * len(tensors)
    handles = []
    try:
        for i, t in enumerate(tensors):
            h = t.register_hook(lambda g, i=i: out.__setitem__(i, g.clone()))
            t._backward_hooks.move_to_end(h.id, last=False)
            handles.append(h)
        loss.backward()
    finally:
        for h in handles:
            h.remove()
    return out
# %% exercise="arriving_gradients" verdict="refused" mistake="before_the_others"
def arriving_gradients(loss, tensors):
    out = [None] * len(tensors)
    handles = []
    try:
        for i, t in enumerate(tensors):
            others = dict(t._backward_hooks or {})
            for k in others:
                del t._backward_hooks[k]
            handles.append(t.register_hook(lambda g, i=i: out.__setitem__(i, g.clone())))
            t._backward_hooks.update(others)
        loss.backward()
    finally:
        for h in handles:
            h.remove()
    return out
# %% exercise="arriving_gradients" verdict="refused" mistake="zeros_as_none"
def arriving_gradients(loss, tensors):
    before = [t.grad.clone() if t.is_leaf and t.grad is not None else None for t in tensors]
    out = [None] * len(tensors)
    handles = [
        t.register_hook(lambda g, i=i: out.__setitem__(i, g.clone())) for i, t in enumerate(tensors) if not t.is_leaf
    ]
    try:
        loss.backward()
    finally:
        for h in handles:
            h.remove()
    for i, t in enumerate(tensors):
        if t.is_leaf and t.grad is not None:
            d = t.grad - before[i] if before[i] is not None else t.grad.clone()
            out[i] = d if d.any() else None
    return out
# %% exercise="damp" verdict="refused" mistake="hides_the_product"
def damp(tensor, factor):
    def hook(g):
        g = g.clone()
        g.data.mul_(factor)
        return g
    return tensor.register_hook(hook)
# %% exercise="damp" verdict="refused"
def damp(tensor, factor):
    if tensor.is_leaf:
        return tensor.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(factor) and None)
    return tensor.register_hook(lambda g: g * factor)
# %% exercise="damp" verdict="refused"
def damp(tensor, factor):
    edge = torch.autograd.graph.get_gradient_edge(tensor)
    def hook(grads):
        grads = list(grads)
        if grads[edge.output_nr] is not None:
            grads[edge.output_nr] = grads[edge.output_nr] * factor
        return tuple(grads)
    return edge.node.register_prehook(hook)
# %% exercise="clip_globally" verdict="refused" mistake="forgets_the_root"
def clip_globally(model, loss, max_norm):
    loss.backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = sum(g.square().sum() for g in grads)
    if norm > max_norm:
        for g in grads:
            g *= max_norm / norm
# %% exercise="clip_globally" verdict="refused" mistake="makes_two_passes"
def clip_globally(model, loss, max_norm):
    loss.backward(retain_graph=True)
    norm = torch.cat([p.grad.reshape(-1) for p in model.parameters() if p.grad is not None]).norm()
    hs = [
        p.register_hook(lambda g: g * min(1.0, (max_norm / norm).item())) for p in model.parameters() if p.requires_grad
    ]
    model.zero_grad()
    loss.backward()
    for h in hs:
        h.remove()
# %% exercise="clip_globally" verdict="refused" mistake="direct_children_only"
def clip_globally(model, loss, max_norm):
    loss.backward()
    grads = [p.grad for m in model.children() for p in m.parameters(recurse=False) if p.grad is not None]
    if grads:
        norm = torch.cat([g.reshape(-1) for g in grads]).norm()
        if norm > max_norm:
            for g in grads:
                g *= max_norm / norm
# %% exercise="clip_globally" verdict="refused" mistake="counts_the_shared_twice"
def clip_globally(model, loss, max_norm):
    loss.backward()
    grads = [p.grad for m in model.modules() for p in m._parameters.values() if p is not None and p.grad is not None]
    norm = torch.cat([g.reshape(-1) for g in grads]).norm()
    if norm > max_norm:
        for g in grads:
            g *= max_norm / norm
# %% exercise="clip_globally" verdict="refused" mistake="makes_two_passes"
def clip_globally(model, loss, max_norm):
    norm = torch.autograd.grad(
        loss, [p for p in model.parameters() if p.requires_grad], retain_graph=True, allow_unused=True
    )
    norm = torch.cat([g.reshape(-1) for g in norm if g is not None]).norm()
    (loss * min(1.0, (max_norm / norm).item())).backward()
# %% exercise="clip_globally" verdict="refused" mistake="adds_too_much"
def clip_globally(model, loss, max_norm):
    loss.backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.cat([g.reshape(-1) for g in grads]).norm()
    c = (max_norm / (norm + 1e-3)).clamp(max=1)
    for g in grads:
        g *= c
# %% exercise="step_in_backward" verdict="refused" mistake="hooks_the_nodes"
def step_in_backward(model, make_optimizer):
    keep, handles = [], []
    for p in model.parameters():
        if not p.requires_grad:
            continue
        node = torch.autograd.graph.get_gradient_edge(p).node
        optimizer = make_optimizer([p])
        def hook(gi, go, p=p, optimizer=optimizer):
            optimizer.step()
            p.grad = None
        handles.append(node.register_hook(hook))
        keep.append(node)
    def stop():
        while handles:
            handles.pop().remove()
        keep.clear()
    return stop
# %% exercise="step_in_backward" verdict="refused" mistake="steps_before_the_addition"
def step_in_backward(model, make_optimizer):
    handles = []
    for p in model.parameters():
        if p.requires_grad:
            def hook(g, p=p, optimizer=make_optimizer([p])):
                p.grad = g
                optimizer.step()
                p.grad = None
            handles.append(p.register_hook(hook))
    return lambda: [h.remove() for h in handles] and None
# %% exercise="step_in_backward" verdict="refused" mistake="waits_for_the_unused"
def step_in_backward(model, make_optimizer):
    ps = [p for p in model.parameters() if p.requires_grad]
    optimizer = make_optimizer(ps)
    came = set()
    def hook(p):
        came.add(p)
        if len(came) == len(ps):
            came.clear()
            optimizer.step()
            optimizer.zero_grad()
    handles = [p.register_post_accumulate_grad_hook(hook) for p in ps]
    return lambda: [h.remove() for h in handles] and None
# %% exercise="step_in_backward" verdict="passed"
def step_in_backward(model, make_optimizer):
    handles = []
    for m in model.modules():
        for p in m._parameters.values():
            if p is not None and p.requires_grad:
                def hook(p, optimizer=make_optimizer([p])):
                    optimizer.step()
                    p.grad = None
                handles.append(p.register_post_accumulate_grad_hook(hook))
    return lambda: [h.remove() for h in handles] and None
# %% exercise="step_in_backward" verdict="refused" mistake="steps_the_shared_twice"
def step_in_backward(model, make_optimizer):
    handles = []
    for m in model.modules():
        for p in m._parameters.values():
            if p is not None and p.requires_grad:
                def hook(p, optimizer=make_optimizer([p])):
                    if p.grad is not None:
                        optimizer.step()
                handles.append(p.register_post_accumulate_grad_hook(hook))
    for p in model.parameters():
        if p.requires_grad:
            handles.append(p.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None)))
    return lambda: [h.remove() for h in handles] and None
# %% exercise="step_in_backward" verdict="refused" mistake="still_clears"
def step_in_backward(model, make_optimizer):
    on = [True]
    for p in model.parameters():
        if p.requires_grad:
            def hook(p, optimizer=make_optimizer([p])):
                if on[0]:
                    optimizer.step()
                p.grad = None
            p.register_post_accumulate_grad_hook(hook)
    def stop():
        on[0] = False
    return stop
# %% exercise="step_in_backward" verdict="refused" mistake="waits_for_all"
def step_in_backward(model, make_optimizer):
    ps = [p for p in model.parameters() if p.requires_grad]
    optimizers = {p: make_optimizer([p]) for p in ps}
    waiting = []
    def flush():
        while waiting:
            p = waiting.pop()
            optimizers[p].step()
            p.grad = None
    def hook(p):
        if not waiting:
            torch.autograd.Variable._execution_engine.queue_callback(flush)
        waiting.append(p)
        if len(waiting) > 3:
            flush()
            torch.autograd.Variable._execution_engine.queue_callback(flush)
    handles = [p.register_post_accumulate_grad_hook(hook) for p in ps]
    return lambda: [h.remove() for h in handles] and None
# %% exercise="watch_buckets" verdict="refused" mistake="reduces_nothing"
def watch_buckets(buckets, all_reduce, unused=()):
    skip = {id(p) for p in unused}
    sent, came = [], set()
    members = [{id(p) for p in b} - skip for b in buckets]
    def attach(p):
        node = torch.autograd.graph.get_gradient_edge(p).node
        def hook(gi, go, node=node):
            came.add(id(p))
            while len(sent) < len(members) and members[len(sent)] <= came:
                sent.append(len(sent))
                all_reduce(sent[-1])
        node.register_hook(hook)
    for b in buckets:
        for p in b:
            if id(p) not in skip:
                attach(p)
    def finish():
        n = len(sent)
        sent.clear()
        came.clear()
        if n < len(members):
            raise RuntimeError(n)
    return finish
# %% exercise="watch_buckets" verdict="refused" mistake="one_for_each_gradient"
def watch_buckets(buckets, all_reduce, unused=()):
    unused = set(unused)
    came, sent = set(), []
    def hook(p):
        came.add(p)
        if len(sent) < len(buckets) and all(q in came or q in unused for q in buckets[len(sent)]):
            sent.append(1)
            all_reduce(len(sent) - 1)
    for b in buckets:
        for p in b:
            if p not in unused:
                p.register_post_accumulate_grad_hook(hook)
    def finish():
        n = len(sent)
        sent.clear()
        came.clear()
        if n < len(buckets):
            raise RuntimeError
    return finish
# %% exercise="watch_buckets" verdict="refused" mistake="sends_in_finish"
def watch_buckets(buckets, all_reduce, unused=()):
    unused = set(unused)
    came = set()
    for b in buckets:
        for p in b:
            if p not in unused:
                p.register_post_accumulate_grad_hook(came.add)
    def finish():
        bad = False
        for i, b in enumerate(buckets):
            if all(q in came or q in unused for q in b):
                all_reduce(i)
            else:
                bad = True
                break
        came.clear()
        if bad:
            raise RuntimeError
    return finish
# %% exercise="watch_buckets" verdict="refused" mistake="sends_the_rest"
def watch_buckets(buckets, all_reduce, unused=()):
    unused = set(unused)
    came, sent = set(), []
    def hook(p):
        came.add(p)
        while len(sent) < len(buckets) and all(q in came or q in unused for q in buckets[len(sent)]):
            sent.append(1)
            all_reduce(len(sent) - 1)
    for b in buckets:
        for p in b:
            if p not in unused:
                p.register_post_accumulate_grad_hook(hook)
    def finish():
        n = len(sent)
        for i in range(n, len(buckets)):
            all_reduce(i)
        sent.clear()
        came.clear()
        if n < len(buckets):
            raise RuntimeError
    return finish
# %% exercise="watch_buckets" verdict="refused" mistake="watches_one_pass"
def watch_buckets(buckets, all_reduce, unused=()):
    unused = set(unused)
    came, sent, handles = set(), [], []
    def hook(p):
        came.add(p)
        while len(sent) < len(buckets) and all(q in came or q in unused for q in buckets[len(sent)]):
            sent.append(1)
            all_reduce(len(sent) - 1)
    for b in buckets:
        for p in b:
            if p not in unused:
                handles.append(p.register_post_accumulate_grad_hook(hook))
    def finish():
        n = len(sent)
        sent.clear()
        came.clear()
        for h in handles:
            h.remove()
        if n < len(buckets):
            raise RuntimeError
    return finish
# %% exercise="watch_buckets" verdict="refused" mistake="looks_into_a_list"
def watch_buckets(buckets, all_reduce, unused=()):
    came, sent = [], []
    def hook(p):
        came.append(p)
        while len(sent) < len(buckets) and all(q in came or q in unused for q in buckets[len(sent)]):
            sent.append(1)
            all_reduce(len(sent) - 1)
    for b in buckets:
        for p in b:
            if p not in unused:
                p.register_post_accumulate_grad_hook(hook)
    def finish():
        n = len(sent)
        sent.clear()
        came.clear()
        if n < len(buckets):
            raise RuntimeError
    return finish
# %% exercise="damp" verdict="refused" mistake="keeps_the_handle"
def damp(tensor, factor):
    handle = tensor.register_hook(lambda g: g * factor)
    return handle.remove
# %% exercise="clip_globally" verdict="refused"
def clip_globally(model, loss, max_norm):
    loss.backward()
    gs = [p.grad for p in model.parameters() if p.grad is not None]
    n = torch.cat([g.reshape(-1) for g in gs]).norm().item()
    if n > max_norm:
        for g in gs:
            g *= (max_norm / n) * (1 - 1e-5)
# %% exercise="clip_globally" verdict="refused" mistake="counts_the_frozen"
def clip_globally(model, loss, max_norm):
    loss.backward()
    sq = sum((p.grad if p.grad is not None else p.detach()).square().sum() for p in model.parameters())
    n = sq.sqrt()
    if n > max_norm:
        for p in model.parameters():
            if p.grad is not None:
                p.grad *= max_norm / n
# %% exercise="clip_globally" verdict="refused" mistake="takes_the_largest_norm"
def clip_globally(model, loss, max_norm):
    loss.backward()
    gs = [p.grad for p in model.parameters() if p.grad is not None]
    n = max(g.norm() for g in gs)
    if n > max_norm:
        for g in gs:
            g *= max_norm / n
# %% exercise="step_in_backward" verdict="refused" mistake="weights_only"
def step_in_backward(model, make_optimizer):
    handles = []
    for n, p in model.named_parameters():
        if p.requires_grad and "weight" in n:
            def hook(p, o=make_optimizer([p])):
                o.step()
                p.grad = None
            handles.append(p.register_post_accumulate_grad_hook(hook))
    return lambda: [h.remove() for h in handles] and None
# %% exercise="step_in_backward" verdict="refused" mistake="direct_children_only"
def step_in_backward(model, make_optimizer):
    handles = []
    for m in model.children():
        for p in m.parameters(recurse=False):
            if p.requires_grad:
                def hook(p, o=make_optimizer([p])):
                    o.step()
                    p.grad = None
                handles.append(p.register_post_accumulate_grad_hook(hook))
    return lambda: [h.remove() for h in handles] and None
# %% exercise="watch_buckets" verdict="refused" mistake="clears_the_gradients"
def watch_buckets(buckets, all_reduce, unused=()):
    unused = set(unused)
    came, sent = set(), []
    def hook(p):
        came.add(p)
        while len(sent) < len(buckets) and all(q in came or q in unused for q in buckets[len(sent)]):
            sent.append(1)
            all_reduce(len(sent) - 1)
            for q in buckets[len(sent) - 1]:
                q.grad = None
    for b in buckets:
        for p in b:
            if p not in unused:
                p.register_post_accumulate_grad_hook(hook)
    def finish():
        n = len(sent)
        sent.clear()
        came.clear()
        if n < len(buckets):
            raise RuntimeError
    return finish
# %% exercise="accumulate_in_backward" verdict="refused" mistake="clears_without_a_step"
def accumulate_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    stepping = False
    def hook(p):
        if stepping:
            optimizers[p].step()
    for p in optimizers:
        p.register_post_accumulate_grad_hook(hook)
    def backward(loss, last):
        nonlocal stepping
        stepping = last
        loss.backward()
        if last:
            for p in optimizers:
                p.grad = None
    return backward
# %% exercise="accumulate_in_backward" verdict="refused" mistake="clears_all_in_each_hook"
def accumulate_in_backward(model, make_optimizer):
    ps = [p for p in model.parameters() if p.requires_grad]
    o = make_optimizer(ps)
    stepping = False
    def hook(p):
        if stepping:
            o.step()
            o.zero_grad()
    for p in ps:
        p.register_post_accumulate_grad_hook(hook)
    def backward(loss, last):
        nonlocal stepping
        stepping = last
        loss.backward()
    return backward
# %% exercise="accumulate_in_backward" verdict="refused" mistake="hooks_the_frozen"
def accumulate_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in model.parameters()}
    stepping = False
    def step(p):
        optimizers[p].step()
        p.grad = None
    def hook(p):
        if stepping:
            step(p)
    for p in optimizers:
        p.register_post_accumulate_grad_hook(hook)
    def backward(loss, last):
        nonlocal stepping
        stepping = last
        loss.backward()
        if last:
            for p in optimizers:
                if p.grad is not None:
                    step(p)
    return backward
# %% exercise="accumulate_in_backward" verdict="refused" mistake="leaves_the_hooks"
def accumulate_in_backward(model, make_optimizer):
    ps = [p for p in model.parameters() if p.requires_grad]
    optimizers = {p: make_optimizer([p]) for p in ps}
    def hook(p):
        optimizers[p].step()
        p.grad = None
    def backward(loss, last):
        if last:
            for p in ps:
                p.register_post_accumulate_grad_hook(hook)
        loss.backward()
        if last:
            for p in ps:
                if p.grad is not None:
                    hook(p)
    return backward
# %% exercise="unused_parameters" verdict="refused" mistake="sorts_the_names"
def unused_parameters(model, loss):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    gs = torch.autograd.grad(loss, [p for _, p in named], retain_graph=True, allow_unused=True)
    return sorted({n for (n, _), g in zip(named, gs) if g is None})
# %% exercise="unused_parameters" verdict="refused"
def unused_parameters(model, loss):
    seen, stack, met = set(), [loss.grad_fn], set()
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            met.add(tuple(node.variable.shape))
        stack.extend(n for n, _ in node.next_functions)
    return [n for n, p in model.named_parameters() if p.requires_grad and tuple(p.shape) not in met]
# %% exercise="unused_parameters" verdict="refused" mistake="returns_a_set"
def unused_parameters(model, loss):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    gs = torch.autograd.grad(loss, [p for _, p in named], retain_graph=True, allow_unused=True)
    return {n for (n, _), g in zip(named, gs) if g is None}
# %% exercise="unused_parameters" verdict="refused" mistake="takes_zero_for_none"
def unused_parameters(model, loss):
    old = {n: None if p.grad is None else p.grad.clone() for n, p in model.named_parameters()}
    loss.backward(retain_graph=True)
    out = []
    for n, p in model.named_parameters():
        if p.requires_grad:
            if p.grad is None or (old[n] is not None and torch.equal(p.grad, old[n])):
                out.append(n)
        p.grad = old[n]
    return out
# %% exercise="unused_parameters" verdict="refused" mistake="leaves_the_hooks"
def unused_parameters(model, loss):
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    came = set()
    for n, p in named.items():
        p.register_hook(lambda g, n=n: came.add(n))
    torch.autograd.grad([loss], list(named.values()), retain_graph=True, allow_unused=True)
    return [n for n in named if n not in came]
# %% exercise="output_gradients" verdict="passed"
def output_gradients(model, x):
    out = {n: [] for n, m in model.named_modules() if isinstance(m, nn.Linear)}
    handles = [
        m.register_backward_hook(lambda mod, gi, go, n=n: out[n].insert(0, go[0]) or None)
        for n, m in model.named_modules()
        if n in out
    ]
    model(x).sum().backward()
    for h in handles:
        h.remove()
    return out
# %% exercise="output_gradients" verdict="refused" mistake="retains"
def output_gradients(model, x):
    outputs = {n: [] for n, m in model.named_modules() if isinstance(m, nn.Linear)}
    out = {n: [] for n in outputs}
    handles = [
        m.register_forward_hook(lambda mod, a, o, n=n: outputs[n].append(o))
        for n, m in model.named_modules()
        if n in outputs
    ]
    y = model(x).sum()
    for h in handles:
        h.remove()
    for n, l in outputs.items():
        for o in l:
            o.register_hook(lambda g, n=n: out[n].insert(0, g.clone()))
    y.backward()
    return out
# %% exercise="output_gradients" verdict="refused" mistake="takes_the_inputs_with_gradient"
def output_gradients(model, x):
    out = {n: [] for n, m in model.named_modules() if isinstance(m, nn.Linear)}
    handles = []
    for n, m in model.named_modules():
        if n in out:
            def pre(mod, args, n=n):
                if args[0].requires_grad:
                    args[0].register_hook(lambda g: out[n].insert(0, g.clone()))
            handles.append(m.register_forward_pre_hook(pre))
    model(x).sum().backward()
    for h in handles:
        h.remove()
    return out
# %% exercise="output_gradients" verdict="refused" mistake="clears_the_gradients"
def output_gradients(model, x):
    out = {n: [] for n, m in model.named_modules() if isinstance(m, nn.Linear)}
    handles = []
    for n, m in model.named_modules():
        if n in out:
            handles.append(
                m.register_forward_hook(
                    lambda mod, a, o, n=n: o.register_hook(lambda g: out[n].insert(0, g.clone())) and None
                )
            )
    model.zero_grad()
    model(x).sum().backward()
    for h in handles:
        h.remove()
    return out
# %% exercise="output_gradients" verdict="refused" mistake="runs_a_copy"
def output_gradients(model, x):
    import copy
    twin = copy.deepcopy(model)
    out = {n: [] for n, m in twin.named_modules() if isinstance(m, nn.Linear)}
    for n, m in twin.named_modules():
        if n in out:
            m.register_forward_hook(
                lambda mod, a, o, n=n: o.register_hook(lambda g: out[n].insert(0, g.clone())) and None
            )
    twin(x).sum().backward()
    return out
# %% exercise="silent_hook" verdict="refused" mistake="returns_the_model_alone"
def silent_hook():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 1)
        def forward(self, x):
            return self.layer.forward(x)
    return M()
# %% exercise="arriving_gradients" verdict="refused" mistake="names_the_leaves"
# backward(inputs=tensors): other leaves get nothing
def arriving_gradients(loss, tensors):
    seen, handles = [None] * len(tensors), []
    for i, t in enumerate(tensors):
        def keep(g, i=i):
            seen[i] = g.clone()
        handles.append(t.register_hook(keep))
    try:
        loss.backward(inputs=[t for t in tensors if t.is_leaf] or None)
    finally:
        for h in handles:
            h.remove()
    return seen
# %% exercise="arriving_gradients" verdict="refused" mistake="retains_and_clears"
# SUBTLE retain_grad for intermediates, .grad set to None afterwards: the flag stays
def arriving_gradients(loss, tensors):
    seen, handles = {}, []
    for i, t in enumerate(tensors):
        if t.is_leaf:
            handles.append(t.register_hook(lambda g, i=i: seen.update({i: g.clone()})))
        else:
            t.retain_grad()
    try:
        loss.backward()
        for i, t in enumerate(tensors):
            if not t.is_leaf:
                seen[i] = t.grad
    finally:
        for h in handles:
            h.remove()
        for t in tensors:
            if not t.is_leaf:
                t.grad = None
    return [seen.get(i) for i in range(len(tensors))]
# %% exercise="arriving_gradients" verdict="refused" mistake="clears_the_gradients"
# leaves: .grad set to None before, the old gradient is lost
def arriving_gradients(loss, tensors):
    seen, handles = [None] * len(tensors), []
    for i, t in enumerate(tensors):
        if t.is_leaf:
            t.grad = None
        def keep(g, i=i):
            seen[i] = g.clone()
        handles.append(t.register_hook(keep))
    try:
        loss.backward()
    finally:
        for h in handles:
            h.remove()
    return seen
# %% exercise="output_gradients" verdict="refused" mistake="leaves_out_subclasses"
# SUBTLE type(m) is nn.Linear: subclasses are left out
def output_gradients(model, x):
    result, handles = {}, []
    for name, m in model.named_modules():
        if type(m) is nn.Linear:
            result[name] = []
            def fwd(module, args, out, slot=result[name]):
                i = len(slot)
                slot.append(None)
                handles.append(out.register_hook(lambda g: slot.__setitem__(i, g.clone())))
            handles.append(m.register_forward_hook(fwd))
    try:
        model(x).sum().backward()
    finally:
        for h in handles:
            h.remove()
    return result
# %% exercise="output_gradients" verdict="refused" mistake="unpacks_single_gradients"
# the value is a tensor, not a list, for a layer called once
def output_gradients(model, x):
    result, handles = {}, []
    for name, m in model.named_modules():
        if isinstance(m, nn.Linear):
            result[name] = []
            def fwd(module, args, out, slot=result[name]):
                i = len(slot)
                slot.append(None)
                handles.append(out.register_hook(lambda g: slot.__setitem__(i, g.clone())))
            handles.append(m.register_forward_hook(fwd))
    try:
        model(x).sum().backward()
    finally:
        for h in handles:
            h.remove()
    return {n: s[0] if len(s) == 1 else s for n, s in result.items()}
# %% exercise="silent_hook" verdict="refused" mistake="swaps_the_pair"
# the pair in the other order
def silent_hook():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 1)
        def forward(self, x):
            return self.layer.forward(x)
    return torch.ones(3, 2), Model()
# %% exercise="silent_hook" verdict="refused" mistake="freezes_the_layer"
# a frozen layer
def silent_hook():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2).requires_grad_(False)
            self.head = nn.Linear(2, 1)
        def forward(self, x):
            return self.head(self.layer(x))
    return Model(), torch.ones(3, 2)
# %% exercise="arriving_gradients" verdict="passed"
# multi-grad hook in a with
def arriving_gradients(loss, tensors):
    result = []
    def all_came(grads):
        result.extend(g if g is None else g.clone() for g in grads)
    with torch.autograd.graph.register_multi_grad_hook(tensors, all_came):
        loss.backward()
    return result or [None] * len(tensors)
# %% exercise="arriving_gradients" verdict="passed"
# node prehooks with output_nr
def arriving_gradients(loss, tensors):
    seen = [None] * len(tensors)
    handles = []
    try:
        for i, t in enumerate(tensors):
            edge = torch.autograd.graph.get_gradient_edge(t)
            def pre(grads, i=i, nr=edge.output_nr):
                seen[i] = None if grads[nr] is None else grads[nr].clone()
            handles.append(edge.node.register_prehook(pre))
        loss.backward()
    finally:
        for h in handles:
            h.remove()
    return seen
# %% exercise="clip_globally" verdict="passed"
# get_total_norm + clip_grads_with_norm_
def clip_globally(model, loss, max_norm):
    loss.backward()
    with_grad = [p for p in model.parameters() if p.grad is not None]
    norm = torch.nn.utils.get_total_norm([p.grad for p in with_grad])
    torch.nn.utils.clip_grads_with_norm_(with_grad, max_norm, norm)
    return norm
# %% exercise="step_in_backward" verdict="passed"
# shared registered twice
def step_in_backward(model, make_optimizer):
    handles = []
    for module in model.modules():
        for p in module.parameters(recurse=False):
            if p.requires_grad:
                opt = make_optimizer([p])
                def hook(q, opt=opt):
                    opt.step()
                    q.grad = None
                handles.append(p.register_post_accumulate_grad_hook(hook))
    def stop():
        for h in handles:
            h.remove()
    return stop
# %% exercise="unused_parameters" verdict="passed"
# try each parameter
def unused_parameters(model, loss):
    missing = []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        try:
            torch.autograd.grad(loss, p, retain_graph=True)
        except RuntimeError:
            missing.append(name)
    return missing
# %% exercise="output_gradients" verdict="passed"
# hook returns a clone
def output_gradients(model, x):
    slots, handles = {}, []
    for name, module in model.named_modules():
        if not isinstance(module, nn.Linear):
            continue
        slots[name] = []
        def forward(module, args, out, box=slots[name]):
            cell = []
            box.append(cell)
            out.register_hook(cell.append)
            return out.clone()
        handles.append(module.register_forward_hook(forward))
    try:
        model(x).sum().backward()
    finally:
        for h in handles: h.remove()
    return {name: [cell[0] for cell in box] for name, box in slots.items()}
# %% exercise="output_gradients" verdict="passed"
# collect outputs' edges, one grad pass
def output_gradients(model, x):
    calls, handles = {}, []
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            calls[name] = []
            def hook(m, args, out, name=name):
                calls[name].append(torch.autograd.graph.get_gradient_edge(out))
            handles.append(module.register_forward_hook(hook))
    try:
        loss = model(x).sum()
    finally:
        for h in handles:
            h.remove()
    edges = [edge for es in calls.values() for edge in es]
    grads = iter(torch.autograd.grad(loss, edges, retain_graph=True)) if edges else iter(())
    loss.backward()
    return {name: [next(grads) for _ in es] for name, es in calls.items()}
# %% exercise="silent_hook" verdict="passed"
# custom object output
class _Box:
    def __init__(self, value):
        self.value = value
def silent_hook():
    class L(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(2))
        def forward(self, x):
            return _Box(self.w * x)
    model = nn.Module()
    model.layer = L()
    model.forward = lambda x: model.layer(x).value
    return model, torch.tensor([1.0, 2.0])
# %% exercise="arriving_gradients" verdict="refused" mistake="takes_the_first_result"
# node prehooks, first output
def arriving_gradients(loss, tensors):
    seen = [None] * len(tensors)
    handles = []
    try:
        for i, t in enumerate(tensors):
            edge = torch.autograd.graph.get_gradient_edge(t)
            def pre(grads, i=i, nr=edge.output_nr):
                seen[i] = None if grads[0] is None else grads[0].clone()
            handles.append(edge.node.register_prehook(pre))
        loss.backward()
    finally:
        for h in handles:
            h.remove()
    return seen
# %% exercise="arriving_gradients" verdict="refused" mistake="swallows_one_kind_of_error"
# swallows the error
def arriving_gradients(loss, tensors):
    seen = [None] * len(tensors)
    handles = []
    for i, t in enumerate(tensors):
        handles.append(t.register_hook(lambda g, i=i: seen.__setitem__(i, g.clone())))
    try:
        loss.backward()
    except RuntimeError:
        pass
    for h in handles:
        h.remove()
    return seen
# %% exercise="arriving_gradients" verdict="refused" mistake="returns_a_dict"
# dict result
def arriving_gradients(loss, tensors):
    seen = {t: None for t in tensors}
    handles = []
    try:
        for t in tensors:
            handles.append(t.register_hook(lambda g, t=t: seen.__setitem__(t, g.clone())))
        loss.backward()
    finally:
        for h in handles:
            h.remove()
    return seen
# %% exercise="clip_globally" verdict="refused" mistake="limits_the_loss"
# clips loss
def clip_globally(model, loss, max_norm):
    if loss > max_norm:
        loss = loss * (max_norm / loss.item())
    loss.backward()
# %% exercise="clip_globally" verdict="refused" mistake="scales_what_the_hook_got"
# multi grad hook
def clip_globally(model, loss, max_norm):
    params = [p for p in model.parameters() if p.requires_grad]
    def all_here(grads):
        norm = torch.sqrt(sum(g.square().sum() for g in grads if g is not None))
        if norm > max_norm:
            for g in grads:
                if g is not None:
                    g.mul_(max_norm / norm)
    with torch.autograd.graph.register_multi_grad_hook(params, all_here):
        loss.backward()
# %% exercise="step_in_backward" verdict="refused" mistake="leaves_out_the_models_own"
# only children modules
def step_in_backward(model, make_optimizer):
    handles = []
    seen = set()
    for child in model.children():
        for p in child.parameters():
            if p.requires_grad and p not in seen:
                seen.add(p)
                opt = make_optimizer([p])
                def hook(q, opt=opt):
                    opt.step()
                    q.grad = None
                handles.append(p.register_post_accumulate_grad_hook(hook))
    def stop():
        for h in handles:
            h.remove()
    return stop
# %% exercise="step_in_backward" verdict="refused" mistake="steps_by_hand"
# plain SGD by hand
def step_in_backward(model, make_optimizer):
    def hook(p):
        with torch.no_grad():
            p -= 0.1 * p.grad
        p.grad = None
    handles = [p.register_post_accumulate_grad_hook(hook) for p in model.parameters() if p.requires_grad]
    def stop():
        for h in handles:
            h.remove()
    return stop
# %% exercise="step_in_backward" verdict="refused" mistake="steps_in_the_first_hook"
# last param steps all remaining
def step_in_backward(model, make_optimizer):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = make_optimizer(params)
    def hook(p):
        opt.step()
        opt.zero_grad()
    handle = params[0].register_post_accumulate_grad_hook(hook)
    return handle.remove
# %% exercise="step_in_backward" verdict="refused" mistake="steps_all_again"
# one optimizer, not zeroed per param
def step_in_backward(model, make_optimizer):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = make_optimizer(params)
    def hook(p):
        opt.step()
        if p is params[0]:
            opt.zero_grad()
    handles = [p.register_post_accumulate_grad_hook(hook) for p in params]
    return lambda: [h.remove() for h in handles]
# %% exercise="watch_buckets" verdict="refused" mistake="counts_for_the_last"
# late binding bucket
def watch_buckets(buckets, all_reduce, unused=()):
    skip = {id(p) for p in unused}
    full = [sum(id(p) not in skip for p in b) for b in buckets]
    left = list(full)
    state = [0]
    for i, b in enumerate(buckets):
        for p in b:
            if id(p) in skip: continue
            def hook(p):
                left[i] -= 1
                while state[0] < len(left) and left[state[0]] == 0:
                    all_reduce(state[0])
                    state[0] += 1
            p.register_post_accumulate_grad_hook(hook)
    def finish():
        ok = state[0] == len(left)
        left[:] = full
        state[0] = 0
        if not ok:
            raise RuntimeError
    return finish
# %% exercise="watch_buckets" verdict="refused" mistake="at_the_first_gradient"
# any instead of all
def watch_buckets(buckets, all_reduce, unused=()):
    skip = {id(p) for p in unused}
    left, nxt = [], 0
    def reset():
        nonlocal left, nxt
        left = [sum(id(p) not in skip for p in b) for b in buckets]
        nxt = 0
    reset()
    def make(i):
        def hook(p):
            nonlocal nxt
            left[i] -= 1
            while nxt < len(buckets) and left[nxt] < sum(id(p) not in skip for p in buckets[nxt]):
                all_reduce(nxt)
                nxt += 1
        return hook
    for i, b in enumerate(buckets):
        for p in b:
            if id(p) not in skip:
                p.register_post_accumulate_grad_hook(make(i))
    def finish():
        ok = nxt == len(buckets)
        reset()
        if not ok:
            raise RuntimeError("not all sent")
    return finish
# %% exercise="watch_buckets" verdict="refused" mistake="sends_again"
# sends again
def watch_buckets(buckets, all_reduce, unused=()):
    skip = set(unused)
    done, sent = set(), set()
    def hook(p):
        done.add(p)
        for i, b in enumerate(buckets):
            if set(b) - skip <= done:
                all_reduce(i)
                sent.add(i)
            else:
                break
    for b in buckets:
        for p in b:
            p.register_post_accumulate_grad_hook(hook)
    def finish():
        ok = len(sent) == len(buckets)
        done.clear(); sent.clear()
        if not ok:
            raise RuntimeError("missing")
    return finish
# %% exercise="watch_buckets" verdict="refused" mistake="always_raises"
# always raises
def watch_buckets(buckets, all_reduce, unused=()):
    skip = set(unused)
    done, sent = set(), []
    def hook(p):
        done.add(p)
        while len(sent) < len(buckets) and set(buckets[len(sent)]) - skip <= done:
            sent.append(0)
            all_reduce(len(sent) - 1)
    for b in buckets:
        for p in b:
            p.register_post_accumulate_grad_hook(hook)
    def finish():
        done.clear(); sent.clear()
        raise RuntimeError("missing")
    return finish
# %% exercise="accumulate_in_backward" verdict="refused" mistake="steps_too_early"
# tensor hook
def accumulate_in_backward(model, make_optimizer):
    opts = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    state = {"last": False}
    def step(p):
        opts[p].step()
        p.grad = None
    def hook(p):
        if state["last"]:
            step(p)
    for p in opts:
        p.register_hook(lambda g, p=p: hook(p))
    def backward(loss, last):
        state["last"] = last
        loss.backward()
        if last:
            for p in opts:
                if p.grad is not None:
                    step(p)
    return backward
# %% exercise="accumulate_in_backward" verdict="refused" mistake="fills_with_zeros"
# grads stay
def accumulate_in_backward(model, make_optimizer):
    opts = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    state = {"last": False}
    def step(p):
        opts[p].step()
        p.grad.zero_()
    def hook(p):
        if state["last"]:
            step(p)
    for p in opts:
        p.register_post_accumulate_grad_hook(hook)
    def backward(loss, last):
        state["last"] = last
        loss.backward()
        if last:
            for p in opts:
                if p.grad is not None:
                    step(p)
    return backward
# %% exercise="accumulate_in_backward" verdict="refused" mistake="last_optimizer_for_all"
# late binding
def accumulate_in_backward(model, make_optimizer):
    pairs = []
    state = {"last": False}
    for p in model.parameters():
        if p.requires_grad:
            opt = make_optimizer([p])
            pairs.append((p, opt))
            def hook(q):
                if state["last"]:
                    opt.step()
                    q.grad = None
            p.register_post_accumulate_grad_hook(hook)
    def backward(loss, last):
        state["last"] = last
        loss.backward()
        if last:
            for p, o in pairs:
                o.step()
                p.grad = None
    return backward
# %% exercise="accumulate_in_backward" verdict="refused" mistake="adds_the_losses"
# retains graph and sums losses
def accumulate_in_backward(model, make_optimizer):
    opts = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    losses = []
    def step(p):
        opts[p].step()
        p.grad = None
    for p in opts: p.register_post_accumulate_grad_hook(step)
    def backward(loss, last):
        losses.append(loss)
        if last:
            sum(losses).backward()
            losses.clear()
    return backward
# %% exercise="unused_parameters" verdict="refused" mistake="freezes_the_unused"
# freezes others
def unused_parameters(model, loss):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    grads = torch.autograd.grad(loss, [p for _, p in named], retain_graph=True, allow_unused=True)
    names = [n for (n, _), g in zip(named, grads) if g is None]
    for n, p in named:
        if n in names:
            p.requires_grad_(False)
    return names
# %% exercise="unused_parameters" verdict="refused" mistake="shortens_the_names"
# last segment names
def unused_parameters(model, loss):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    grads = torch.autograd.grad(loss, [p for _, p in named], retain_graph=True, allow_unused=True)
    return [n.split(".")[-1] for (n, _), g in zip(named, grads) if g is None]
# %% exercise="output_gradients" verdict="refused" mistake="asks_for_the_last_module"
# late binding name
def output_gradients(model, x):
    result, handles = {}, []
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            result[name] = []
            def forward(m, args, out):
                k = len(result[name])
                result[name].append(None)
                out.register_hook(lambda g: result[name].__setitem__(k, g.clone()))
            handles.append(module.register_forward_hook(forward))
    model(x).sum().backward()
    for h in handles: h.remove()
    return result
# %% exercise="output_gradients" verdict="refused" mistake="passes_twice"
# two passes
def output_gradients(model, x):
    result, handles = {}, []
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            result[name] = []
            def forward(m, args, out, name=name):
                k = len(result[name])
                result[name].append(None)
                out.register_hook(lambda g: result[name].__setitem__(k, g.clone()))
            handles.append(module.register_forward_hook(forward))
    out = model(x).sum()
    out.backward(retain_graph=True)
    for h in handles: h.remove()
    out.backward()
    return result
# %% exercise="output_gradients" verdict="refused" mistake="adds_the_calls"
# sum over calls
def output_gradients(model, x):
    result, handles = {}, []
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            result[name] = []
            def forward(m, args, out, name=name):
                def keep(g):
                    result[name] = [result[name][0] + g] if result[name] else [g.clone()]
                out.register_hook(keep)
            handles.append(module.register_forward_hook(forward))
    model(x).sum().backward()
    for h in handles: h.remove()
    return result
# %% exercise="output_gradients" verdict="refused" mistake="reserves_places_for_inputs"
# input gradients
def output_gradients(model, x):
    result, handles = {}, []
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            result[name] = []
            def forward(m, args, out, name=name):
                k = len(result[name])
                result[name].append(None)
                args[0].requires_grad and args[0].register_hook(lambda g: result[name].__setitem__(k, g.clone()))
            handles.append(module.register_forward_hook(forward))
    model(x).sum().backward()
    for h in handles:
        h.remove()
    return result
# %% exercise="silent_hook" verdict="refused" mistake="takes_the_hook_off"
# removes the hooks
def silent_hook():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)
        def forward(self, x):
            self.layer._backward_hooks.clear()
            return self.layer(x)
    return M(), torch.ones(3, 2)
# %% exercise="accumulate_in_backward" verdict="refused" mistake="remembers_earlier_windows"
# last passes leftovers zero grad
def accumulate_in_backward(model, make_optimizer):
    opts = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    done = set()
    last_ = [False]
    def hook(p):
        if last_[0]:
            opts[p].step()
            done.add(p)
    for p in opts: p.register_post_accumulate_grad_hook(hook)
    def backward(loss, last):
        last_[0] = last
        loss.backward()
        if last:
            for p in opts:
                if p not in done:
                    opts[p].step()
                p.grad = None
    return backward
# %% exercise="accumulate_in_backward" verdict="refused" mistake="clears_in_every_pass"
# ignores loss windows: zero at start
def accumulate_in_backward(model, make_optimizer):
    opts = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    last_ = [False]
    def hook(p):
        if last_[0]:
            opts[p].step()
            p.grad = None
    for p in opts: p.register_post_accumulate_grad_hook(hook)
    def backward(loss, last):
        for p in opts: p.grad = None
        last_[0] = last
        loss.backward()
    return backward
# %% exercise="unused_parameters" verdict="refused" mistake="allows_no_unused"
# no allow_unused
def unused_parameters(model, loss):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    gs = torch.autograd.grad(loss, [p for _, p in named], retain_graph=True)
    return [n for (n, _), g in zip(named, gs) if g is None]
# %% exercise="unused_parameters" verdict="refused" mistake="asks_for_the_frozen"
# frozen passed
def unused_parameters(model, loss):
    named = list(model.named_parameters())
    gs = torch.autograd.grad(loss, [p for _, p in named], retain_graph=True, allow_unused=True)
    return [n for (n, _), g in zip(named, gs) if g is None]
# %% exercise="arriving_gradients" verdict="refused" mistake="passes_twice"
# retain_graph twice
def arriving_gradients(loss, tensors):
    out = [None]*len(tensors)
    hs = [t.register_hook(lambda g, i=i: out.__setitem__(i, g)) for i, t in enumerate(tensors)]
    try:
        loss.backward(retain_graph=True)
        loss.backward()
    finally:
        [h.remove() for h in hs]
    return out
# %% exercise="step_in_backward" verdict="refused" mistake="clears_before_the_step"
# zero before step
def step_in_backward(model, make_optimizer):
    opts = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    def hook(p):
        opts[p].zero_grad()
        opts[p].step()
    hs = [p.register_post_accumulate_grad_hook(hook) for p in opts]
    return lambda: [h.remove() for h in hs]
# %% exercise="output_gradients" verdict="refused" mistake="hooks_a_copy"
# cloned output detached
def output_gradients(model, x):
    out, hs = {n: [] for n, m in model.named_modules() if isinstance(m, nn.Linear)}, []
    for n, m in model.named_modules():
        if isinstance(m, nn.Linear):
            def fwd(m, a, o, n=n):
                c = o.clone()
                c.register_hook(lambda g: out[n].append(g))
            hs.append(m.register_forward_hook(fwd))
    model(x).sum().backward()
    for h in hs: h.remove()
    return out
# %% exercise="accumulate_in_backward" verdict="refused" mistake="steps_before_the_addition"
# a hook on the tensor runs before the addition
def accumulate_in_backward(model, make_optimizer):
    params = [p for p in model.parameters() if p.requires_grad]
    optimizers = {p: make_optimizer([p]) for p in params}
    state = {"last": False}
    def make_hook(p):
        def hook(grad):
            if state["last"]:
                optimizers[p].step()
                p.grad = None
        return hook
    for p in params:
        p.register_hook(make_hook(p))
    def backward(loss, last):
        state["last"] = last
        loss.backward()
    return backward
# %%
from torch.nn.utils import clip_grad_norm_
# %% exercise="accumulate_in_backward" verdict="refused" mistake="steps_only_the_last"
def accumulate_in_backward(model, make_optimizer):
    trained = [p for p in model.parameters() if p.requires_grad]
    opts, state = {}, {"last": False}
    for p in trained:
        opt = opts[p] = make_optimizer([p])
        def hook(q):
            if state["last"]:
                opt.step()
                opt.zero_grad()
        p.register_post_accumulate_grad_hook(hook)
    def backward(loss, last):
        state["last"] = last
        loss.backward()
        if last:
            for o in opts.values():
                o.step()
                o.zero_grad()
    return backward
# %% exercise="accumulate_in_backward" verdict="refused" mistake="steps_only_the_last"
def accumulate_in_backward(model, make_optimizer):
    params = [p for p in model.parameters() if p.requires_grad]
    opts = {p: make_optimizer([p]) for p in params}
    state = {"last": False}
    def hook(p):
        if state["last"]:
            opts[p].step()
            p.grad = None
    params[-1].register_post_accumulate_grad_hook(hook)
    def backward(loss, last):
        state["last"] = last
        loss.backward()
        if last:
            for p, o in opts.items():
                if p.grad is not None:
                    o.step()
                    p.grad = None
    return backward
# %% exercise="accumulate_in_backward" verdict="refused" mistake="leaves_out_the_models_own"
def accumulate_in_backward(model, make_optimizer):
    opts = {p: make_optimizer([p]) for m in model.children() for p in m.parameters() if p.requires_grad}
    state = {"last": False}
    def hook(p):
        if state["last"]:
            opts[p].step()
            p.grad = None
    for p in opts:
        p.register_post_accumulate_grad_hook(hook)
    def backward(loss, last):
        state["last"] = last
        loss.backward()
        if last:
            for p, o in opts.items():
                if p.grad is not None:
                    o.step()
                    p.grad = None
    return backward
# %% exercise="arriving_gradients" verdict="refused"
def arriving_gradients(loss, tensors):
    out = {}
    handles = [t.register_hook(lambda g, k=t.data_ptr(): out.__setitem__(k, g)) for t in tensors]
    try:
        loss.backward()
    finally:
        for h in handles:
            h.remove()
    return [out.get(t.data_ptr()) for t in tensors]
# %% exercise="arriving_gradients" verdict="refused" mistake="shares_memory_with_grad"
def arriving_gradients(loss, tensors):
    out = [None] * len(tensors)
    def hook(i, g):
        if g is not None:
            out[i] = g.detach()
    handles = [t.register_hook(functools.partial(hook, i)) for i, t in enumerate(tensors)]
    try:
        loss.backward()
    finally:
        for h in handles:
            h.remove()
    return out
# %% exercise="arriving_gradients" verdict="refused" mistake="reverses_the_list"
def arriving_gradients(loss, tensors):
    out = [None] * len(tensors)
    handles = [t.register_hook(lambda g, i=i: out.__setitem__(i, g)) for i, t in enumerate(tensors)]
    try:
        loss.backward()
    finally:
        for h in handles:
            h.remove()
    return out[::-1]
# %% exercise="arriving_gradients" verdict="refused" mistake="one_slot_for_all"
def arriving_gradients(loss, tensors):
    got = None
    def hook(g):
        nonlocal got
        got = g
    handles = [t.register_hook(hook) for t in tensors]
    try:
        loss.backward()
    finally:
        for h in handles:
            h.remove()
    return [got for _ in tensors]
# %% exercise="arriving_gradients" verdict="refused" mistake="leaves_some_hooks"
def arriving_gradients(loss, tensors):
    out = [None] * len(tensors)
    handles = [t.register_hook(lambda g, i=i: out.__setitem__(i, g)) for i, t in enumerate(tensors)]
    try:
        loss.backward()
    finally:
        for h, t in zip(handles, tensors):
            if t.is_leaf:
                h.remove()
    return out
# %% exercise="watch_buckets" verdict="refused" mistake="ignores_an_empty_pass"
def watch_buckets(buckets, all_reduce, unused=()):
    skip = {id(p) for p in unused}
    need = [{id(p) for p in b} - skip for b in buckets]
    seen, nxt = set(), 0
    def hook(p):
        nonlocal nxt
        seen.add(id(p))
        while nxt < len(buckets) and need[nxt] <= seen:
            all_reduce(nxt)
            nxt += 1
    for b in buckets:
        for p in b:
            p.register_post_accumulate_grad_hook(hook)
    def finish():
        nonlocal nxt
        bad = bool(seen) and nxt < len(buckets)
        seen.clear()
        nxt = 0
        if bad:
            raise RuntimeError("a bucket is missing")
    return finish
# %% exercise="watch_buckets" verdict="refused" mistake="ignores_an_empty_pass"
def watch_buckets(buckets, all_reduce, unused=()):
    skip = {id(p) for p in unused}
    def fresh():
        return [sum(id(p) not in skip for p in b) for b in buckets]
    left, nxt = fresh(), 0
    where = {id(p): i for i, b in enumerate(buckets) for p in b}
    def hook(p):
        nonlocal nxt
        if id(p) not in skip:
            left[where[id(p)]] -= 1
        while nxt < len(buckets) and left[nxt] == 0:
            all_reduce(nxt)
            nxt += 1
    for b in buckets:
        for p in b:
            p.register_post_accumulate_grad_hook(hook)
    def finish():
        nonlocal nxt
        left_now, full = list(left), fresh()
        missing = nxt < len(buckets)
        left[:] = full
        nxt = 0
        if missing and left_now != full:
            raise RuntimeError("incomplete")
    return finish
# %% exercise="watch_buckets" verdict="refused" mistake="late_by_one_gradient"
def watch_buckets(buckets, all_reduce, unused=()):
    skip = {id(p) for p in unused}
    need = [{id(p) for p in b} - skip for b in buckets]
    seen, nxt = set(), 0
    def hook(p):
        nonlocal nxt
        while nxt < len(buckets) and need[nxt] <= seen:
            all_reduce(nxt)
            nxt += 1
        seen.add(id(p))
    for b in buckets:
        for p in b:
            p.register_post_accumulate_grad_hook(hook)
    def finish():
        nonlocal nxt
        bad = nxt < len(buckets)
        seen.clear()
        nxt = 0
        if bad:
            raise RuntimeError("incomplete")
    return finish
# %% exercise="unused_parameters" verdict="refused" mistake="lists_the_tied_twice"
def unused_parameters(model, loss):
    named = [(n, p) for n, p in model.named_parameters(remove_duplicate=False) if p.requires_grad]
    found = torch.autograd.grad(loss, [p for _, p in named], allow_unused=True, retain_graph=True)
    return [n for (n, _), g in zip(named, found) if g is None]
# %% exercise="unused_parameters" verdict="refused" mistake="asks_each_child"
def unused_parameters(model, loss):
    named = [
        (f"{c}.{n}", p) for c, m in model.named_children() for n, p in m.named_parameters() if p.requires_grad
    ]
    found = torch.autograd.grad(loss, [p for _, p in named], allow_unused=True, retain_graph=True)
    return [n for (n, _), g in zip(named, found) if g is None]
# %% exercise="output_gradients" verdict="refused"
def output_gradients(model, x):
    names = {m: n for n, m in model.named_modules() if getattr(m, "weight", None) is not None and m.weight.dim() == 2}
    found = {n: [] for n in names.values()}
    def fwd(m, i, o):
        place = len(found[names[m]])
        found[names[m]].append(None)
        o.register_hook(lambda g: found[names[m]].__setitem__(place, g))
    handles = [m.register_forward_hook(fwd) for m in names]
    try:
        model(x).sum().backward()
    finally:
        for h in handles:
            h.remove()
    return found
# %% exercise="output_gradients" verdict="refused"
def output_gradients(model, x):
    names = {m: n for n, m in model.named_modules() if isinstance(m, nn.Linear) and n}
    found = {n: [] for n in names.values()}
    def fwd(m, i, o):
        place = len(found[names[m]])
        found[names[m]].append(None)
        o.register_hook(lambda g: found[names[m]].__setitem__(place, g))
    handles = [m.register_forward_hook(fwd) for m in names]
    try:
        model(x).sum().backward()
    finally:
        for h in handles:
            h.remove()
    return found
# %% exercise="silent_hook" verdict="refused" mistake="takes_the_hook_off"
def silent_hook():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)
        def forward(self, x):
            hooks = dict(self.layer._backward_hooks)
            self.layer._backward_hooks.clear()
            y = self.layer(x)
            self.layer._backward_hooks.update(hooks)
            return y
    return Model(), torch.ones(1, 2, requires_grad=True)
# %% exercise="step_in_backward" verdict="refused" mistake="keeps_the_hooks_for_itself"
def step_in_backward(model, make_optimizer):
    opts = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    def hook(p):
        opts[p].step()
        p.grad = None
    handles = []
    def stop():
        for h in handles:
            h.remove()
    return stop
# %% exercise="step_in_backward" verdict="refused" mistake="registers_no_hook"
def step_in_backward(model, make_optimizer):
    opts = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    def hook(p):
        opts[p].step()
        p.grad = None
    handles = [p.register_post_accumulate_grad_hook(hook) for p in opts]
    def stop():
        for h in handles:
            h.remove()
    return stop()
# %% exercise="step_in_backward" verdict="refused" mistake="keeps_the_gradients"
def step_in_backward(model, make_optimizer):
    opts = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    log = []
    def hook(p):
        log.append(p.grad)
        opts[p].step()
        p.grad = None
    handles = [p.register_post_accumulate_grad_hook(hook) for p in opts]
    def stop():
        for h in handles:
            h.remove()
    return stop
# %% exercise="step_in_backward" verdict="refused" mistake=""
def step_in_backward(model, make_optimizer):
    class Stepper:
        def __init__(self):
            self.opts = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
            ref = weakref.ref(self)
            def hook(p):
                me = ref()
                if me is not None:
                    me.opts[p].step()
                    p.grad = None
            self.handles = [p.register_post_accumulate_grad_hook(hook) for p in self.opts]
        def stop(self):
            for h in self.handles:
                h.remove()
    return Stepper().stop
# %% exercise="step_in_backward" verdict="refused" mistake="returns_from_the_hook"
def step_in_backward(model, make_optimizer):
    handles = []
    for p in model.parameters():
        if p.requires_grad:
            opt = make_optimizer([p])
            handles.append(p.register_post_accumulate_grad_hook(lambda q, opt=opt: (opt.step(), opt.zero_grad())))
    return lambda: [h.remove() for h in handles]
# %% exercise="step_in_backward" verdict="refused" mistake="waits_with_a_multi_grad_hook"
def step_in_backward(model, make_optimizer):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = make_optimizer(params)
    def hook(grads):
        opt.step()
        opt.zero_grad()
    handle = torch.autograd.graph.register_multi_grad_hook(params, hook)
    return handle.remove
# %% exercise="step_in_backward" verdict="refused" mistake="steps_all_and_never_clears"
def step_in_backward(model, make_optimizer):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = make_optimizer(params)
    def hook(p):
        opt.step()
    handles = [p.register_post_accumulate_grad_hook(hook) for p in params]
    return lambda: [h.remove() for h in handles]
# %% exercise="step_in_backward" verdict="refused"
def step_in_backward(model, make_optimizer):
    opts = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    def hook(p):
        opts[p].step()
        p.grad = None
    handles = [p.register_post_accumulate_grad_hook(hook) for p in opts]
    def stop():
        for h in handles:
            h.remove()
        opts.clear()
        raise ValueError("stopped")
    return stop
# %% exercise="step_in_backward" verdict="refused"
def step_in_backward(model, make_optimizer):
    opts = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    def hook(p):
        opts[p].step()
        p.grad = None
    handles = [p.register_post_accumulate_grad_hook(hook) for p in opts]
    def stop():
        opts.clear()
    return stop
# %% exercise="clip_globally" verdict="refused" mistake="counts_the_shared_twice"
def clip_globally(model, loss, max_norm):
    loss.backward()
    ps = [p for m in model.modules() for p in m.parameters(recurse=False)]
    clip_grad_norm_(ps, max_norm)
# %% exercise="clip_globally" verdict="refused" mistake="counts_the_shared_twice_and_scales_once"
def clip_globally(model, loss, max_norm):
    loss.backward()
    ps = [p for _, p in model.named_parameters(remove_duplicate=False)]
    norm = sum(p.grad.norm() ** 2 for p in ps if p.grad is not None) ** 0.5
    if norm > max_norm:
        for p in model.parameters():
            if p.grad is not None:
                p.grad.mul_(max_norm / norm)
# %% exercise="clip_globally" verdict="refused" mistake="clips_all_in_each_hook"
def clip_globally(model, loss, max_norm):
    hs = [
        p.register_post_accumulate_grad_hook(lambda p: clip_grad_norm_(model.parameters(), max_norm) and None)
        for p in model.parameters() if p.requires_grad
    ]
    loss.backward()
    for h in hs:
        h.remove()
# %% exercise="clip_globally" verdict="refused" mistake="clips_each_parameter"
def clip_globally(model, loss, max_norm):
    hs = [
        p.register_post_accumulate_grad_hook(lambda p: clip_grad_norm_([p], max_norm) and None)
        for p in model.parameters() if p.requires_grad
    ]
    loss.backward()
    for h in hs:
        h.remove()
# %% exercise="clip_globally" verdict="refused" mistake="flattens_every_gradient"
def clip_globally(model, loss, max_norm):
    loss.backward()
    norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
    if norm > max_norm:
        for p in model.parameters():
            p.grad.mul_(max_norm / norm)
# %% exercise="clip_globally" verdict="refused" mistake="takes_every_norm"
def clip_globally(model, loss, max_norm):
    loss.backward()
    norm = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
    if norm > max_norm:
        for p in model.parameters():
            p.grad *= max_norm / norm
# %% exercise="clip_globally" verdict="refused" mistake="calls_norm_of_every_gradient"
def clip_globally(model, loss, max_norm):
    loss.backward()
    norm = torch.stack([torch.norm(p.grad) for p in model.parameters()]).norm()
    if norm > max_norm:
        for p in model.parameters():
            p.grad = p.grad * max_norm / norm
# %% exercise="damp" verdict="passed"
class _Damper:
    def __init__(self, factor):
        self.factor = factor
    def __call__(self, gradient):
        if gradient is not None:
            return torch.mul(gradient, self.factor)
def damp(tensor, factor):
    handle = tensor.register_hook(_Damper(factor))
    return handle
# %% exercise="damp" verdict="refused" mistake="expects_a_gradient"
# does not expect None, so a pass that reaches only a sibling from the same split raises
def damp(tensor, factor):
    def hook(gradient):
        return factor * gradient.clone()
    return tensor.register_hook(hook)
# %%
import torch
# %% exercise="clip_globally" verdict="refused" mistake="clips_each_in_a_hook"
# each by its own norm, in a hook
def clip_globally(model, loss, max_norm):
    for p in model.parameters():
        if p.requires_grad:
            p.register_hook(lambda g: g * min(1.0, max_norm / g.norm().item()))
    loss.backward()
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
# %% exercise="hooks_and_freeing" verdict="passed" mistake=""
def hooks_and_freeing(root, retain_graph=False):
    order = topological(root)
    if any(value.inputs is None for value in order):
        raise RuntimeError("this graph has been freed")
    gradients = {id(root): torch.ones_like(root.data)}
    for value in order:
        gradient = gradients.pop(id(value))
        for hook in value.hooks:
            changed = hook(gradient)
            if changed is not None:
                gradient = changed
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            gradients[id(each)] = gradients[id(each)] + part if id(each) in gradients else part
        if not retain_graph:
            value.inputs = value.rule = None
# %% exercise="hooks_and_freeing" verdict="refused" mistake="frees_the_leaves"
# leaves are freed, too: another program with the same leaf raises
def hooks_and_freeing(root, retain_graph=False):
    order = topological(root)
    if any(value.inputs is None for value in order):
        raise RuntimeError("this graph has been freed")
    gradients = {id(root): torch.ones_like(root.data)}
    for value in order:
        gradient = gradients.pop(id(value))
        for hook in value.hooks:
            changed = hook(gradient)
            if changed is not None:
                gradient = changed
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
        else:
            for each, part in zip(value.inputs, value.rule(gradient)):
                gradients[id(each)] = gradients[id(each)] + part if id(each) in gradients else part
        if not retain_graph:
            value.inputs = value.rule = None
# %% exercise="hooks_and_freeing" verdict="refused" mistake="hooks_see_all_walks"
# a leaf's hooks get the sum of all walks, not this walk's gradient
def hooks_and_freeing(root, retain_graph=False):
    order = topological(root)
    if any(value.inputs is None for value in order):
        raise RuntimeError("this graph has been freed")
    gradients = {id(root): torch.ones_like(root.data)}
    for value in order:
        gradient = gradients.pop(id(value))
        if value.rule is None and value.grad is not None:
            gradient = gradient + value.grad
        for hook in value.hooks:
            changed = hook(gradient)
            if changed is not None:
                gradient = changed
        if value.rule is None:
            value.grad = gradient.clone()
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            gradients[id(each)] = gradients[id(each)] + part if id(each) in gradients else part
        if not retain_graph:
            value.inputs = value.rule = None
# %% exercise="hooks_and_freeing" verdict="refused" mistake="frees_the_root_only"
# only the root is freed and checked: a result that somebody holds can be walked again
def hooks_and_freeing(root, retain_graph=False):
    if root.inputs is None:
        raise RuntimeError("this graph has been freed")
    gradients = {id(root): torch.ones_like(root.data)}
    for value in topological(root):
        gradient = gradients.pop(id(value))
        for hook in value.hooks:
            changed = hook(gradient)
            if changed is not None:
                gradient = changed
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            gradients[id(each)] = gradients[id(each)] + part if id(each) in gradients else part
    if not retain_graph:
        root.inputs = root.rule = None
# %%
import collections
import graphlib
import heapq
import itertools
import sys
# %% exercise="hooks_and_freeing" verdict="passed" mistake=""
# a freed result has a rule that raises
def raises_freed(gradient):
    raise RuntimeError("the graph behind this value has been freed")
def hooks_and_freeing(root, retain_graph=False):
    users, values = {id(root): set()}, [root]
    for value in values:
        for each in value.inputs:
            if id(each) not in users:
                users[id(each)] = set()
                values.append(each)
            users[id(each)].add(id(value))
    by_id = {id(value): value for value in values}
    parts = collections.defaultdict(list)
    parts[id(root)].append(torch.ones_like(root.data))
    for key in graphlib.TopologicalSorter(users).static_order():
        value = by_id[key]
        if value.rule is raises_freed:
            value.rule(None)
        gradient = torch.stack(parts.pop(key)).sum(0)
        for hook in list(value.hooks):
            new = hook(gradient)
            if new is not None:
                gradient = new
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else gradient + value.grad
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            parts[id(each)].append(part)
        if not retain_graph:
            value.inputs = ()
            value.rule = raises_freed
# %% exercise="hooks_and_freeing" verdict="refused" mistake="calls_hooks_on_arrival"
# hooks run at each arrival, on parts of the gradient
def hooks_and_freeing(root, retain_graph=False):
    waits = collections.Counter()
    stack, seen = [root], {id(root)}
    while stack:
        value = stack.pop()
        if getattr(value, "freed", False):
            raise RuntimeError("this part of the graph has been freed; use retain_graph=True")
        for each in value.inputs:
            waits[id(each)] += 1
            if id(each) not in seen:
                seen.add(id(each))
                stack.append(each)
    gradients = {id(root): torch.ones_like(root.data)}
    ready = [root]
    while ready:
        value = ready.pop()
        gradient = gradients.pop(id(value))
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            key = id(each)
            for hook in each.hooks:
                replaced = hook(part)
                if replaced is not None:
                    part = replaced
            gradients[key] = gradients[key] + part if key in gradients else part
            waits[key] -= 1
            if waits[key] == 0:
                ready.append(each)
        if not retain_graph:
            value.inputs, value.rule, value.freed = (), None, True
# %% exercise="hooks_and_freeing" verdict="refused" mistake="calls_hooks_per_path"
# every path walked: a rule runs many times
def hooks_and_freeing(root, retain_graph=False):
    stack, walked = [(root, torch.ones_like(root.data))], []
    while stack:
        value, gradient = stack.pop()
        if value.inputs is None:
            raise RuntimeError("freed")
        for hook in value.hooks:
            new = hook(gradient)
            gradient = gradient if new is None else new
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
        else:
            walked.append(value)
            stack.extend(zip(value.inputs, value.rule(gradient)))
    if not retain_graph:
        for value in walked:
            value.inputs = value.rule = None
# %% exercise="hooks_and_freeing" verdict="refused" mistake="asks_for_truth"
# `or` asks a tensor for its truth
def hooks_and_freeing(root, retain_graph=False):
    order, done, stack = [], set(), [(root, False)]
    while stack:
        value, leaving = stack.pop()
        if leaving:
            order.append(value)
        elif value.inputs is None:
            raise RuntimeError("walked a second time")
        elif id(value) not in done:
            done.add(id(value))
            stack.append((value, True))
            stack.extend((each, False) for each in value.inputs)
    total = {id(root): torch.ones_like(root.data)}
    for value in reversed(order):
        gradient = total.pop(id(value))
        for hook in value.hooks:
            gradient = hook(gradient) or gradient
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
        else:
            for each, part in zip(value.inputs, value.rule(gradient)):
                total[id(each)] = total[id(each)] + part if id(each) in total else part
    if not retain_graph:
        for value in order:
            if value.rule is not None:
                value.inputs = value.rule = None
# %% exercise="hooks_and_freeing" verdict="refused" mistake="shares_the_gradient"
# detach in place of clone
def hooks_and_freeing(root, retain_graph=False):
    waits = collections.Counter()
    stack, seen = [root], {id(root)}
    while stack:
        value = stack.pop()
        if getattr(value, "freed", False):
            raise RuntimeError("this part of the graph has been freed; use retain_graph=True")
        for each in value.inputs:
            waits[id(each)] += 1
            if id(each) not in seen:
                seen.add(id(each))
                stack.append(each)
    gradients = {id(root): torch.ones_like(root.data)}
    ready = [root]
    while ready:
        value = ready.pop()
        gradient = gradients.pop(id(value))
        for hook in value.hooks:
            replaced = hook(gradient)
            if replaced is not None:
                gradient = replaced
        if value.rule is None:
            value.grad = gradient.detach() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            key = id(each)
            gradients[key] = gradients[key] + part if key in gradients else part
            waits[key] -= 1
            if waits[key] == 0:
                ready.append(each)
        if not retain_graph:
            value.inputs, value.rule, value.freed = (), None, True
# %% exercise="hooks_and_freeing" verdict="refused" mistake="leaves_sums_at_results"
# results keep .grad while walking
def hooks_and_freeing(root, retain_graph=False):
    waits = collections.Counter()
    stack, seen = [root], {id(root)}
    while stack:
        value = stack.pop()
        if getattr(value, "freed", False):
            raise RuntimeError("this part of the graph has been freed; use retain_graph=True")
        for each in value.inputs:
            waits[id(each)] += 1
            if id(each) not in seen:
                seen.add(id(each))
                stack.append(each)
    gradients = {id(root): torch.ones_like(root.data)}
    ready = [root]
    while ready:
        value = ready.pop()
        gradient = gradients.pop(id(value))
        for hook in value.hooks:
            replaced = hook(gradient)
            if replaced is not None:
                gradient = replaced
        if value.rule is not None:
            value.grad = gradient
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            key = id(each)
            gradients[key] = gradients[key] + part if key in gradients else part
            waits[key] -= 1
            if waits[key] == 0:
                ready.append(each)
        if not retain_graph:
            value.inputs, value.rule, value.freed = (), None, True
# %% exercise="hooks_and_freeing" verdict="refused" mistake="turns_retain_graph_round"
# the condition is turned round: frees with retain_graph
def hooks_and_freeing(root, retain_graph=False):
    waits = collections.Counter()
    stack, seen = [root], {id(root)}
    while stack:
        value = stack.pop()
        if getattr(value, "freed", False):
            raise RuntimeError("this part of the graph has been freed; use retain_graph=True")
        for each in value.inputs:
            waits[id(each)] += 1
            if id(each) not in seen:
                seen.add(id(each))
                stack.append(each)
    gradients = {id(root): torch.ones_like(root.data)}
    ready = [root]
    while ready:
        value = ready.pop()
        gradient = gradients.pop(id(value))
        for hook in value.hooks:
            replaced = hook(gradient)
            if replaced is not None:
                gradient = replaced
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            key = id(each)
            gradients[key] = gradients[key] + part if key in gradients else part
            waits[key] -= 1
            if waits[key] == 0:
                ready.append(each)
        if retain_graph:
            value.inputs, value.rule, value.freed = (), None, True
# %%
import torch
from torch.nn.functional import cross_entropy, mse_loss
from torch.utils.checkpoint import checkpoint
# %% exercise="hooks_and_freeing" verdict="refused" mistake="keeps_the_rules"
# a freed value keeps its rule
def hooks_and_freeing(root, retain_graph=False):
    waits_for, todo = {root: 0}, [root]
    while todo:
        value = todo.pop()
        if getattr(value, "freed", False): raise RuntimeError("freed")
        for each in value.inputs:
            if each not in waits_for:
                waits_for[each] = 0
                todo.append(each)
            waits_for[each] += 1
    arrived, may_run = {root: torch.ones_like(root.data)}, [root]
    while may_run:
        value = may_run.pop()
        gradient = arrived.pop(value)
        for hook in value.hooks:
            replaced = hook(gradient)
            gradient = gradient if replaced is None else replaced
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            arrived[each] = arrived[each] + part if each in arrived else part
            waits_for[each] -= 1
            if waits_for[each] == 0:
                may_run.append(each)
        if not retain_graph:
            value.inputs, value.freed = (), True
