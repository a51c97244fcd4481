# %%
import math
import threading
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.profiler import ProfilerActivity, profile

ENGINE = "autograd::engine::evaluate_function: "


def flops_of(event):
    return event.flops + sum(flops_of(child) for child in event.cpu_children)


def _nodes(root):
    seen, todo = {root}, [root]
    while todo:
        for n, _ in todo.pop().next_functions:
            if n is not None and n not in seen:
                seen.add(n)
                todo.append(n)
    return seen


def _is_leaf(node):
    return node.name().endswith("AccumulateGrad")


def accumulated(numbers):
    w = torch.tensor(1.0, requires_grad=True)
    for number in numbers:
        (w * number).backward()
    return w.grad.item()
# %% exercise="locked_accumulation" verdict="passed"
# in place, with a copy returned
def locked_accumulation(w, loss_of, lock):
    g = torch.autograd.grad(loss_of(w), w)[0]
    lock.acquire()
    if w.grad is None:
        w.grad = g.clone()
    else:
        w.grad.add_(g)
    lock.release()
    return g
# %% exercise="locked_accumulation" verdict="passed"
# a copy is returned, the gradient is put there
def locked_accumulation(w, loss_of, lock):
    (g,) = torch.autograd.grad(loss_of(w), (w,))
    with lock:
        if w.grad is not None:
            g = g + w.grad
            own = g - w.grad
        else:
            own = g.clone()
        w.grad = g
    return own
# %% exercise="locked_accumulation" verdict="passed"
# the sum is made elsewhere, and swapped under the lock
def locked_accumulation(w, loss_of, lock):
    own = torch.autograd.grad(loss_of(w), w)[0]
    with lock:
        old = w.grad
        w.grad = own.detach().clone() if old is None else torch.add(old, own)
    return own
# %% exercise="locked_accumulation" verdict="refused" mistake="adds_without_lock"
# a lock of one's own protects from nobody
def locked_accumulation(w, loss_of, lock):
    own = torch.autograd.grad(loss_of(w), w)[0]
    with threading.Lock():
        w.grad = own.clone() if w.grad is None else w.grad + own
    return own
# %% exercise="locked_accumulation" verdict="refused"
# taken out under the lock, changed outside
def locked_accumulation(w, loss_of, lock):
    own = torch.autograd.grad(loss_of(w), w)[0]
    with lock:
        if w.grad is None:
            w.grad = torch.zeros_like(w)
        total = w.grad
    total += own
    return own
# %% exercise="locked_accumulation" verdict="refused"
# the lock is released once before the pass
def locked_accumulation(w, loss_of, lock):
    with lock:
        w.grad = None if w.grad is None else w.grad
    loss_of(w).backward()
    with lock:
        return w.grad.detach().clone()
# %% exercise="locked_accumulation" verdict="refused"
# differences of a shared sum: another thread may have added in between
def locked_accumulation(w, loss_of, lock):
    with lock:
        before = torch.zeros_like(w) if w.grad is None else w.grad.clone()
        loss_of(w).backward()
        return w.grad - before
# %% exercise="locked_accumulation" verdict="refused"
def locked_accumulation(w, loss_of, lock):
    with lock:
        own = torch.autograd.grad(loss_of(w), w)[0]
        w.grad = own
# %% exercise="node_order" verdict="passed"
# recursion, then numbers
def node_order(loss):
    seen = {}
    def go(fn):
        if fn is None or fn in seen or type(fn).__name__ == "AccumulateGrad":
            return
        seen[fn] = fn._sequence_nr()
        for nxt, _ in fn.next_functions:
            go(nxt)
    go(loss.grad_fn)
    return [fn.name() for fn in sorted(seen, key=seen.get)[::-1]]
# %% exercise="node_order" verdict="passed"
# post hooks, and a tuple
def node_order(loss):
    todo, order, handles, leaves = [loss.grad_fn], [], [], []
    for fn in todo:
        handles.append(fn.register_hook(lambda *_, fn=fn: order.append(fn.name())))
        for nxt, _ in fn.next_functions:
            if nxt is None:
                continue
            if "Accumulate" in nxt.name():
                leaves.append(nxt.variable)
            elif nxt not in todo:
                todo.append(nxt)
    torch.autograd.grad([loss], leaves, retain_graph=True)
    [handle.remove() for handle in handles]
    return tuple(order)
# %% exercise="node_order" verdict="passed"
# a backward pass into nowhere in particular, with `.grad` put back
def node_order(loss):
    nodes, waiting, leaves = [], [loss.grad_fn], set()
    while waiting:
        fn = waiting.pop()
        if hasattr(fn, "variable"):
            leaves.add(fn.variable)
        elif fn is not None and fn not in nodes:
            nodes.append(fn)
            waiting.extend(nxt for nxt, _ in fn.next_functions)
    kept = {leaf: leaf.grad for leaf in leaves}
    for leaf in leaves:
        leaf.grad = None
    order = []
    handles = [fn.register_prehook(lambda _, fn=fn: order.append(fn.name())) for fn in nodes]
    loss.backward(retain_graph=True)
    for handle in handles:
        handle.remove()
    for leaf in leaves:
        leaf.grad = kept[leaf]
    return order
# %% exercise="node_order" verdict="refused" mistake="with_the_leaf"
def node_order(loss):
    nodes, waiting = set(), [loss.grad_fn]
    while waiting:
        fn = waiting.pop()
        if fn and fn not in nodes:
            nodes.add(fn)
            waiting += [nxt for nxt, _ in fn.next_functions]
    named = sorted((fn for fn in nodes if not hasattr(fn, "variable")), key=lambda fn: -fn._sequence_nr())
    return [fn.name() for fn in named] + [fn.name() for fn in nodes if hasattr(fn, "variable")]
# %% exercise="node_order" verdict="refused" mistake="breadth_first"
def node_order(loss):
    queue, names, seen = [loss.grad_fn], [], set()
    while queue:
        fn = queue.pop(0)
        if fn is None or fn in seen or "Accumulate" in fn.name():
            continue
        seen.add(fn)
        names.append(fn.name())
        queue += [nxt for nxt, _ in fn.next_functions]
    return names
# %% exercise="node_order" verdict="refused"
# names of classes, not of nodes
def node_order(loss):
    seen, waiting = set(), [loss.grad_fn]
    while waiting:
        fn = waiting.pop()
        if fn is not None and fn not in seen and not hasattr(fn, "variable"):
            seen.add(fn)
            waiting += [nxt for nxt, _ in fn.next_functions]
    return [str(fn) for fn in sorted(seen, key=lambda fn: -fn._sequence_nr())]
# %% exercise="node_order" verdict="refused" mistake="frees_the_graph"
def node_order(loss):
    todo, order, leaves = [loss.grad_fn], [], []
    for fn in todo:
        for nxt, _ in fn.next_functions:
            if hasattr(nxt, "variable"):
                leaves.append(nxt.variable)
            elif nxt is not None and nxt not in todo:
                todo.append(nxt)
    handles = [fn.register_prehook(lambda _, fn=fn: order.append(fn.name())) for fn in todo]
    torch.autograd.grad(loss, leaves)
    for handle in handles:
        handle.remove()
    return order
# %% exercise="node_order" verdict="refused"
# a generator: it is no list
def node_order(loss):
    yield loss.grad_fn.name()
# %% exercise="fix_threads" verdict="passed"
# an exception kept and raised
def fix_threads(model, batches):
    out = {}
    @torch.no_grad()
    def job(k, batch):
        try:
            out[k] = (model(batch), None)
        except BaseException as e:
            out[k] = (None, e)
    ts = [threading.Thread(target=job, args=pair) for pair in enumerate(batches)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    for k in range(len(batches)):
        if out[k][1] is not None:
            raise out[k][1]
    return [out[k][0] for k in range(len(batches))]
# %% exercise="fix_threads" verdict="passed"
# another error, caused by the model's
def fix_threads(model, batches):
    def job(batch):
        with torch.inference_mode():
            return model(batch)
    with ThreadPoolExecutor(len(batches)) as pool:
        return [future.result() for future in [pool.submit(job, batch) for batch in batches]]
# %% exercise="fix_threads" verdict="refused" mistake="modes_stay_outside"
def fix_threads(model, batches):
    with torch.no_grad(), ThreadPoolExecutor(4) as pool:
        return list(pool.map(model, batches))
# %% exercise="fix_threads" verdict="refused" mistake="loses_errors"
def fix_threads(model, batches):
    outputs = [None] * len(batches)
    def work(i):
        with torch.no_grad():
            outputs[i] = model(batches[i])
    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outputs
# %% exercise="fix_threads" verdict="refused"
# the errors are printed
def fix_threads(model, batches):
    outputs = [None] * len(batches)
    def work(i):
        try:
            with torch.no_grad():
                outputs[i] = model(batches[i])
        except Exception as error:
            print(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    return outputs
# %% exercise="fix_threads" verdict="refused" mistake="uses_no_threads"
@torch.no_grad()
def fix_threads(model, batches):
    return list(map(model, batches))
# %% exercise="order_changes_bits" verdict="passed"
def order_changes_bits():
    return [0.4, 0.1, 0.2]
# %% exercise="order_changes_bits" verdict="passed"
# tensors
def order_changes_bits():
    return [torch.tensor(0.1), torch.tensor(0.3), torch.tensor(0.5)]
# %% exercise="order_changes_bits" verdict="refused"
# a tensor of three numbers
def order_changes_bits():
    return torch.tensor([0.1, 0.2, 0.3])
# %% exercise="order_changes_bits" verdict="refused" mistake="differs_in_float64"
def order_changes_bits():
    return [0.1, 0.2, 0.3]
# %% exercise="order_changes_bits" verdict="refused" mistake="exact_numbers"
def order_changes_bits():
    return [1, 2, 3]
# %% exercise="order_changes_bits" verdict="refused"
def order_changes_bits():
    return [float("nan"), 1.0, 2.0]
# %% exercise="order_changes_bits" verdict="refused" mistake="huge_numbers"
def order_changes_bits():
    return [1e8, 1, -1e8]
# %% exercise="deterministic_sum" verdict="passed"
# sorted in float32, added in float64
def deterministic_sum(gradients):
    rows, _ = torch.sort(torch.stack(gradients), dim=0)
    return rows.sum(0, dtype=torch.float64).to(torch.float32)
# %% exercise="deterministic_sum" verdict="passed"
# the list itself is brought into an order of its own
def deterministic_sum(gradients):
    ordered = sorted(gradients, key=lambda g: g.flatten().tolist())
    total = torch.zeros_like(ordered[0], dtype=torch.float64)
    for gradient in ordered:
        total += gradient
    return total.float()
# %% exercise="deterministic_sum" verdict="refused" mistake="adds_in_order"
def deterministic_sum(gradients):
    return torch.stack(gradients).sum(0)
# %% exercise="deterministic_sum" verdict="refused" mistake="adds_in_double"
def deterministic_sum(gradients):
    return torch.stack(gradients).sum(0, dtype=torch.float64).float()
# %% exercise="deterministic_sum" verdict="refused"
# the mode knows nothing of the list's order
def deterministic_sum(gradients):
    torch.use_deterministic_algorithms(True)
    total = sum(gradients)
    torch.use_deterministic_algorithms(False)
    return total
# %% exercise="deterministic_sum" verdict="refused"
# sorted by norm
def deterministic_sum(gradients):
    return sum(sorted(gradients, key=lambda g: g.norm().item()))
# %% exercise="recompute" verdict="passed"
# parameters found in the graph
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.save_for_backward(x)
        ctx.f = f
        with torch.no_grad():
            y = f(x.detach())
        return y
    @staticmethod
    def backward(ctx, v):
        (x,) = ctx.saved_tensors
        x = x.detach()
        x.requires_grad = True
        with torch.enable_grad():
            torch.autograd.backward(ctx.f(x), v)
        return (None, x.grad)
# %% exercise="recompute" verdict="refused" mistake="ForgetsParameters"
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)
    @staticmethod
    def backward(ctx, v):
        return None, torch.autograd.functional.vjp(ctx.f, ctx.saved_tensors[0], v)[1]
# %% exercise="recompute" verdict="refused"
# the gradient stands in the place of f
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)
    @staticmethod
    def backward(ctx, v):
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            ctx.f(x).backward(v)
        return x.grad, None
# %% exercise="recompute" verdict="refused" mistake="RecordsNothing"
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)
    @staticmethod
    def backward(ctx, v):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        y = ctx.f(x)
        y.backward(v)
        return None, x.grad
# %% exercise="fix_anomaly" verdict="refused"
# the mode switched by hand, and an error of `f` lost
def fix_anomaly(f, x):
    was = torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True)
    report = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            f(x).backward()
        except RuntimeError:
            (report,) = [str(w.message) for w in caught if "Traceback" in str(w.message)]
    torch.autograd.set_detect_anomaly(was)
    return report
# %% exercise="fix_anomaly" verdict="refused" mistake="leaves_it_on"
def fix_anomaly(f, x):
    torch.autograd.set_detect_anomaly(True)
    loss = f(x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loss.backward()
        except RuntimeError:
            return str(caught[-1].message)
    return None
# %% exercise="fix_anomaly" verdict="refused" mistake="forward_outside"
def fix_anomaly(f, x):
    loss = f(x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with torch.autograd.detect_anomaly():
                loss.backward()
        except RuntimeError:
            return str(caught[-1].message)
    return None
# %% exercise="fix_anomaly" verdict="refused"
# a report of one's own
def fix_anomaly(f, x):
    f(x).backward()
    return "NaN" if x.grad.isnan().any() else None
# %% exercise="costly_node" verdict="passed"
# the table, by rows of the engine
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as prof:
        loss.backward()
    total = Counter()
    for event in prof.events():
        if event.name.endswith("Backward0") and not event.name.startswith("autograd"):
            total[event.name] += flops_of(event)
    return max(total, key=total.get)
# %% exercise="costly_node" verdict="refused" mistake="keeps_the_prefix"
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as prof:
        loss.backward()
    total = Counter()
    for event in prof.events():
        if event.name.startswith(ENGINE):
            total[event.name] += flops_of(event)
    return total.most_common(1)[0][0]
# %% exercise="costly_node" verdict="refused" mistake="largest_single"
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as prof:
        loss.backward()
    nodes = [event for event in prof.events() if event.name.startswith(ENGINE)]
    return max(nodes, key=flops_of).name.removeprefix(ENGINE)
# %% exercise="costly_node" verdict="refused"
# the rows of the table have no FLOPs of their own
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as prof:
        loss.backward()
    return max(prof.key_averages(), key=lambda row: row.flops).key
# %% exercise="costly_node" verdict="refused"
# nothing was run
def costly_node(loss):
    return loss.grad_fn.name()
# %% exercise="one_graph" verdict="passed"
# a safe norm first
def one_graph(x, limit):
    norm = torch.linalg.norm(x)
    long = norm > limit
    safe = torch.where(long, norm, torch.ones_like(norm))
    return torch.where(long, x * (limit / safe), x)
# %% exercise="one_graph" verdict="passed"
def one_graph(x, limit):
    return limit * x / torch.clamp_min(x.norm(), limit)
# %% exercise="one_graph" verdict="refused" mistake="where_at_the_end"
def one_graph(x, limit):
    return x * torch.clamp(limit / x.norm(), max=1.0)
# %% exercise="one_graph" verdict="refused"
# a small number added: the value is another
def one_graph(x, limit):
    return x * torch.clamp(limit / (x.norm() + 1e-2), max=1.0)
# %% exercise="one_graph" verdict="refused" mistake="still_branches"
def one_graph(x, limit):
    if x.norm().item() > limit:
        return x * limit / x.norm()
    return x
# %% exercise="one_graph" verdict="refused"
# recording is off
@torch.no_grad()
def one_graph(x, limit):
    return x * (limit / x.norm().clamp(min=limit))
# %% exercise="one_graph" verdict="refused"
# a prototype that the lesson excludes
def one_graph(x, limit):
    norm = x.norm()
    return torch.cond(norm > limit, lambda x, norm: x * (limit / norm), lambda x, norm: x.clone(), (x, norm))
# %% exercise="locked_accumulation" verdict="refused" mistake="hooks_the_shared_leaf"
def locked_accumulation(w, loss_of, lock):
    found = []
    hook = w.register_hook(found.append)
    loss_of(w).backward()
    hook.remove()
    return found[0]
# %% exercise="locked_accumulation" verdict="refused" mistake="reads_before_locking"
def locked_accumulation(w, loss_of, lock):
    own = torch.autograd.grad(loss_of(w), w)[0]
    if w.grad is None:
        with lock:
            w.grad = torch.zeros_like(w)
    with lock:
        w.grad += own
    return own
# %% exercise="node_order" verdict="passed"
# profiler reads the engine's rows
def node_order(loss):
    from torch.profiler import profile, ProfilerActivity
    seen, todo, leaves = set(), [loss.grad_fn], []
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        todo.extend(n for n, _ in node.next_functions)
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        torch.autograd.grad(loss, leaves, retain_graph=True, allow_unused=True)
    rows = [e for e in prof.events() if e.name.startswith("autograd::engine::evaluate_function: ")]
    rows.sort(key=lambda e: e.time_range.start)
    names = [e.name.split(": ", 1)[1] for e in rows]
    return [n for n in names if "AccumulateGrad" not in n]
# %% exercise="node_order" verdict="refused" mistake="leaves_hooks"
# hooks stay
def node_order(loss):
    order, leaves = [], []
    seen, todo = set(), [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
            continue
        node.register_prehook(lambda g, name=node.name(): order.append(name))
        todo.extend(n for n, _ in node.next_functions)
    torch.autograd.grad(loss, leaves, retain_graph=True, allow_unused=True)
    return list(order)
# %% exercise="node_order" verdict="refused" mistake="clears_grad"
# .grad cleared to None afterwards
def node_order(loss):
    order, handles, leaves = [], [], []
    seen, todo = set(), [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
            continue
        handles.append(node.register_prehook(lambda g, name=node.name(): order.append(name)))
        todo.extend(n for n, _ in node.next_functions)
    loss.backward(retain_graph=True)
    for h in handles:
        h.remove()
    for v in leaves:
        v.grad = None
    return order
# %% exercise="node_order" verdict="refused" mistake="each_name_once"
# each name once
def node_order(loss):
    seen, todo = set(), [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo.extend(n for n, _ in node.next_functions)
    inner = [n for n in seen if not hasattr(n, "variable")]
    return list(dict.fromkeys(n.name() for n in sorted(inner, key=lambda n: -n._sequence_nr())))
# %% exercise="node_order" verdict="refused" mistake="returns_nodes"
# the nodes, not the names
def node_order(loss):
    seen, todo = set(), [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo.extend(n for n, _ in node.next_functions)
    return sorted((n for n in seen if not hasattr(n, "variable")), key=lambda n: -n._sequence_nr())
# %% exercise="locked_accumulation" verdict="refused" mistake="returns_the_difference"
# difference of .grad before and after
def locked_accumulation(w, loss_of, lock):
    with lock:
        before = torch.zeros_like(w) if w.grad is None else w.grad.clone()
    loss_of(w).backward()
    with lock:
        return w.grad - before
# %% exercise="locked_accumulation" verdict="refused" mistake="keeps_the_last_hooked"
# hook on the shared leaf notes the gradient
def locked_accumulation(w, loss_of, lock):
    mine = []
    handle = w.register_hook(lambda g: mine.append(g.clone()))
    loss_of(w).backward()
    handle.remove()
    return mine[-1]
# %% exercise="locked_accumulation" verdict="refused" mistake="returns_the_field"
# returns the sum
def locked_accumulation(w, loss_of, lock):
    (g,) = torch.autograd.grad(loss_of(w), w)
    with lock:
        w.grad = g.clone() if w.grad is None else w.grad + g
        return w.grad
# %% exercise="locked_accumulation" verdict="refused" mistake="expects_a_gradient"
# None not expected
def locked_accumulation(w, loss_of, lock):
    (g,) = torch.autograd.grad(loss_of(w), w)
    with lock:
        w.grad += g
    return g
# %% exercise="locked_accumulation" verdict="passed"
# detached copy: loss_of gets another tensor
def locked_accumulation(w, loss_of, lock):
    v = w.detach().clone().requires_grad_()
    loss_of(v).backward()
    with lock:
        w.grad = v.grad.clone() if w.grad is None else w.grad + v.grad
    return v.grad
# %% exercise="deterministic_sum" verdict="refused" mistake="sorts_in_single"
# sorted, added in float32
def deterministic_sum(gradients):
    return torch.stack(gradients).sort(dim=0).values.sum(0)
# %% exercise="deterministic_sum" verdict="refused" mistake="sorts_by_the_sum"
# tensors sorted by their sum
def deterministic_sum(gradients):
    total = torch.zeros_like(gradients[0], dtype=torch.float64)
    for g in sorted(gradients, key=lambda g: g.double().sum().item()):
        total += g.double()
    return total.float()
# %% exercise="deterministic_sum" verdict="refused" mistake="sorts_by_the_sum"
# tensors sorted by first entry
def deterministic_sum(gradients):
    total = torch.zeros_like(gradients[0], dtype=torch.float64)
    for g in sorted(gradients, key=lambda g: g.flatten()[0].item()):
        total += g.double()
    return total.float()
# %% exercise="deterministic_sum" verdict="refused" mistake="rounds_finely"
# fixed point: integers
def deterministic_sum(gradients):
    return sum((g.double() * 2**20).round().long() for g in gradients).double().div(2**20).float()
# %% exercise="deterministic_sum" verdict="refused" mistake="sorts_the_list_itself"
# sorts the caller's list in place
def deterministic_sum(gradients):
    gradients.sort(key=lambda g: g.flatten().tolist())
    total = torch.zeros_like(gradients[0], dtype=torch.float64)
    for g in gradients:
        total += g.double()
    return total.float()
# %% exercise="one_graph" verdict="passed"
# square sum clamped before the root
def one_graph(x, limit):
    square = x.square().sum().clamp(min=limit * limit)
    return x * (limit * square.rsqrt())
# %% exercise="one_graph" verdict="refused" mistake="adds_to_the_norm"
# eps in the denominator
def one_graph(x, limit):
    return x * (limit / (x.norm() + 1e-6)).clamp(max=1.0)
# %% exercise="one_graph" verdict="refused" mistake="norm_of_rows"
# norm of each row
def one_graph(x, limit):
    return x * (limit / x.norm(dim=-1, keepdim=True).clamp(min=limit))
# %% exercise="one_graph" verdict="refused" mistake="divides_always"
# always scaled
def one_graph(x, limit):
    return x * (limit / x.norm())
# %% exercise="one_graph" verdict="passed"
# limit as a float32 tensor
def one_graph(x, limit):
    return x * (torch.tensor(limit, dtype=torch.float32) / x.norm().float().clamp(min=limit)).to(x.dtype)
# %% exercise="one_graph" verdict="refused" mistake="reads_if_it_can"
# try: falls back when no number is there
def one_graph(x, limit):
    try:
        if x.norm() > limit:
            return x * (limit / x.norm())
        return x * 1
    except Exception:
        return x * (limit / x.norm().clamp(min=limit))
# %% exercise="one_graph" verdict="refused"
# renorm
def one_graph(x, limit):
    return x.reshape(1, -1).renorm(2, 0, limit).reshape(x.shape)
# %% exercise="node_order" verdict="refused" mistake="leaves_hooks"
# post hooks stay, tuple of what came
def node_order(loss):
    order, leaves = [], []
    seen, todo = set(), [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
            continue
        node.register_hook(lambda gi, go, name=node.name(): order.append(name))
        todo.extend(n for n, _ in node.next_functions)
    torch.autograd.grad(loss, leaves, retain_graph=True, allow_unused=True)
    return [n for n in order]
# %% exercise="node_order" verdict="refused" mistake="leaves_zeros"
# .grad filled and subtracted again (None becomes zeros)
def node_order(loss):
    order, handles, leaves = [], [], []
    seen, todo = set(), [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
            continue
        handles.append(node.register_prehook(lambda g, name=node.name(): order.append(name)))
        todo.extend(n for n, _ in node.next_functions)
    old = [torch.zeros_like(v) if v.grad is None else v.grad.clone() for v in leaves]
    loss.backward(retain_graph=True)
    for h in handles:
        h.remove()
    for v, o in zip(leaves, old):
        v.grad = o
    return order
# %% exercise="locked_accumulation" verdict="refused" mistake="shares_the_first"
# alias with out-of-place sum
def locked_accumulation(w, loss_of, lock):
    (g,) = torch.autograd.grad(loss_of(w), w)
    with lock:
        w.grad = g if w.grad is None else w.grad + g
    return g
# %% exercise="locked_accumulation" verdict="refused" mistake="shares_the_first"
# a view of the gradient is put into .grad
def locked_accumulation(w, loss_of, lock):
    (g,) = torch.autograd.grad(loss_of(w), w)
    with lock:
        w.grad = g.detach() if w.grad is None else w.grad + g
    return g
# %% exercise="locked_accumulation" verdict="refused" mistake="tries_once"
# lock tried without waiting
def locked_accumulation(w, loss_of, lock):
    (g,) = torch.autograd.grad(loss_of(w), w)
    got = lock.acquire(blocking=False)
    w.grad = g.clone() if w.grad is None else w.grad + g
    if got:
        lock.release()
    return g
# %% exercise="locked_accumulation" verdict="refused" mistake="writes_after_releasing"
# .grad looked at after the lock
def locked_accumulation(w, loss_of, lock):
    (g,) = torch.autograd.grad(loss_of(w), w)
    with lock:
        if w.grad is None:
            w.grad = torch.zeros_like(w)
        total = w.grad + g
    w.grad = total
    return g
# %% exercise="locked_accumulation" verdict="refused" mistake="releases_in_between"
# released between reading and writing
def locked_accumulation(w, loss_of, lock):
    (g,) = torch.autograd.grad(loss_of(w), w)
    with lock:
        old = w.grad
    total = g.clone() if old is None else old + g
    with lock:
        w.grad = total
    return g
# %% exercise="deterministic_sum" verdict="refused" mistake="loses_equal_numbers"
# set of numbers (equal ones lost)
def deterministic_sum(gradients):
    rows = [g.reshape(-1).tolist() for g in gradients]
    return (
        torch.tensor([math.fsum(set(c)) for c in zip(*rows)], dtype=torch.float64).float().reshape(gradients[0].shape)
    )
# %% exercise="one_graph" verdict="refused" mistake="reads_if_it_can"
# is_compiling
def one_graph(x, limit):
    if isinstance(x, torch._subclasses.FakeTensor) or torch.compiler.is_compiling():
        return x * 1
    norm = x.norm()
    if norm > limit:
        x = x * (limit / norm)
    return x
# %% exercise="one_graph" verdict="refused" mistake="norm_of_columns"
# norm of each column
def one_graph(x, limit):
    if x.dim() == 0:
        return x * (limit / x.abs().clamp(min=limit))
    return x * (limit / x.norm(dim=0, keepdim=x.dim() > 1).clamp(min=limit))
# %% exercise="one_graph" verdict="refused" mistake="compares_with_one"
# only the direction: result divided by max(norm, 1)
def one_graph(x, limit):
    return x * limit / x.norm().clamp(min=1)
# %% exercise="fix_threads" verdict="passed"
# pool map
def fix_threads(model, batches):
    from multiprocessing.pool import ThreadPool
    if not len(batches):
        return []
    pool = ThreadPool(len(batches))
    try:
        return pool.map(torch.no_grad()(model.__call__), batches, chunksize=1)
    finally:
        pool.close()
        pool.join()
# %% exercise="fix_threads" verdict="passed"
# one thread after another (probe: must they run at once?)
def fix_threads(model, batches):
    outputs, errors = [None] * len(batches), []
    def work(i):
        try:
            with torch.no_grad():
                outputs[i] = model(batches[i])
        except BaseException as error:
            errors.append(error)
    for i in range(len(batches)):
        t = threading.Thread(target=work, args=(i,))
        t.start()
        t.join()
    if errors:
        raise errors[0]
    return outputs
# %% exercise="fix_threads" verdict="refused" mistake="raises_another"
# same class, new error
def fix_threads(model, batches):
    outputs, errors = [None] * len(batches), []
    def work(i):
        try:
            with torch.no_grad():
                outputs[i] = model(batches[i])
        except Exception as e:
            errors.append(e)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise type(errors[0])(*errors[0].args)
    return outputs
# %% exercise="fix_threads" verdict="refused" mistake="switches_recording_on"
# recording switched on at the end
def fix_threads(model, batches):
    outputs, errors = [None] * len(batches), []
    def work(i):
        torch.set_grad_enabled(False)
        try:
            outputs[i] = model(batches[i])
        except BaseException as e:
            errors.append(e)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    torch.set_grad_enabled(True)
    if errors:
        raise errors[0]
    return outputs
# %% exercise="fix_threads" verdict="refused" mistake="raises_too_early"
# raises before all are joined
def fix_threads(model, batches):
    outputs, errors = [None] * len(batches), {}
    def work(i):
        try:
            with torch.no_grad():
                outputs[i] = model(batches[i])
        except BaseException as e:
            errors[i] = e
    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for t in threads:
        t.start()
    for i, t in enumerate(threads):
        t.join()
        if i in errors:
            raise errors[i]
    return outputs
# %% exercise="fix_threads" verdict="refused" mistake="loses_the_order"
# order of completion
def fix_threads(model, batches):
    outputs, errors = [], []
    def work(i):
        try:
            with torch.no_grad():
                outputs.append(model(batches[i]))
        except BaseException as e:
            errors.append(e)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    return outputs
# %% exercise="fix_threads" verdict="refused" mistake="tries_again_outside"
# failed batches tried again in the caller
def fix_threads(model, batches):
    outputs, failed = [None] * len(batches), []
    def work(i):
        try:
            with torch.no_grad():
                outputs[i] = model(batches[i])
        except BaseException as e:
            failed.append(i)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    with torch.no_grad():
        for i in failed:
            outputs[i] = model(batches[i])
    return outputs
# %% exercise="fix_threads" verdict="refused" mistake="freezes_the_weights"
# weights frozen
def fix_threads(model, batches):
    for p in model.parameters():
        p.requires_grad_(False)
    outputs, errors = [None] * len(batches), []
    def work(i):
        try:
            outputs[i] = model(batches[i])
        except BaseException as e:
            errors.append(e)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    return outputs
# %% exercise="fix_threads" verdict="refused" mistake="keeps_the_pool"
# not joined on error (executor without with)
def fix_threads(model, batches):
    from concurrent.futures import ThreadPoolExecutor
    pool = ThreadPoolExecutor(max(1, len(batches)))
    return [f.result() for f in [pool.submit(torch.no_grad()(lambda b: model(b)), b) for b in batches]]
# %% exercise="order_changes_bits" verdict="refused" mistake="huge_numbers"
# from the notebook, too small
def order_changes_bits():
    return [0.01, 0.02, 0.03]
# %% exercise="order_changes_bits" verdict="refused" mistake="four_numbers"
# four numbers
def order_changes_bits():
    import random
    r = random.Random(1)
    while True:
        numbers = [r.uniform(0.1, 10) for _ in range(4)]
        if accumulated(numbers) != accumulated(numbers[::-1]):
            return numbers
# %% exercise="order_changes_bits" verdict="refused" mistake="huge_numbers"
# negative number
def order_changes_bits():
    import random
    r = random.Random(1)
    while True:
        numbers = [r.uniform(-10, -0.1) for _ in range(3)]
        if accumulated(numbers) != accumulated(numbers[::-1]):
            return numbers
# %% exercise="recompute" verdict="passed"
# hook on the input
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f, ctx.kept = f, x.detach()
        return f(x.detach())
    @staticmethod
    def backward(ctx, g):
        got = []
        with torch.enable_grad():
            start = ctx.kept.clone().requires_grad_()
            inner = start.view_as(start)
            inner.register_hook(got.append)
            y = ctx.f(inner)
            y.backward(g)
        return None, (got[0] if got else torch.zeros_like(ctx.kept))
# %% exercise="recompute" verdict="refused" mistake="PassesUpstream"
# x not detached
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            y = ctx.f(x)
            y.backward(g, retain_graph=True)
        return None, x.grad
# %% exercise="recompute" verdict="refused" mistake="RecordsFAlone"
# grad_output forgotten
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)
    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.f(x)
        y.sum().backward()
        return None, x.grad
# %% exercise="recompute" verdict="refused" mistake="RunsTwice"
# f called twice in backward
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)
    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            (gx,) = torch.autograd.grad(ctx.f(x), x, g)
            ctx.f(ctx.saved_tensors[0].detach()).backward(g)
        return None, gx
# %% exercise="recompute" verdict="refused" mistake="SwapsGradients"
# order of the gradients
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)
    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.f(x)
        y.backward(g)
        return x.grad, None
# %% exercise="recompute" verdict="refused" mistake="ClearsParameters"
# parameters' gradients overwritten
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)
    @staticmethod
    def backward(ctx, g):
        if isinstance(ctx.f, torch.nn.Module):
            ctx.f.zero_grad()
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.f(x)
        y.backward(g)
        return None, x.grad
# %% exercise="fix_anomaly" verdict="passed"
# saved by hand, finally
def fix_anomaly(f, x):
    before, nan = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    torch.autograd.set_detect_anomaly(True, check_nan=True)
    try:
        loss = f(x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
            except RuntimeError:
                texts = [str(w.message) for w in caught if "Traceback of forward call" in str(w.message)]
                if not texts:
                    raise
                return texts[-1]
        return None
    finally:
        torch.autograd.set_detect_anomaly(before, nan)
# %% exercise="fix_anomaly" verdict="refused" mistake="restores_without_errors"
# restored, but not when f fails
def fix_anomaly(f, x):
    before = torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True)
    loss = f(x)
    text = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loss.backward()
        except RuntimeError:
            text = str(caught[-1].message)
    torch.autograd.set_detect_anomaly(before)
    return text
# %% exercise="fix_anomaly" verdict="refused" mistake="returns_the_notice"
# first warning
def fix_anomaly(f, x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            loss = f(x)
            try:
                loss.backward()
            except RuntimeError:
                return str(caught[0].message)
    return None
# %% exercise="fix_anomaly" verdict="refused" mistake="swallows_errors"
# errors of f swallowed
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                f(x).backward()
            except Exception:
                return str(caught[-1].message) if caught else None
    return None
# %% exercise="fix_anomaly" verdict="refused" mistake="reports_what_is_not_finite"
# forward NaN looked for
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True):
        loss = f(x)
        if not loss.isfinite():
            return "NaN in the forward pass"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
            except RuntimeError:
                return str(caught[-1].message)
    return None
# %% exercise="recompute" verdict="refused" mistake="RecordsFAlone"
# sum outside of enable_grad
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)
    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.f(x)
        (y * g).sum().backward()
        return None, x.grad
# %% exercise="recompute" verdict="refused" mistake="KeepsFOnTheClass"
# f on the class, not on ctx
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        Recompute.f = staticmethod(f)
        ctx.save_for_backward(x)
        return f(x)
    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = Recompute.f(x)
        y.backward(g)
        return None, x.grad
# %% exercise="order_changes_bits" verdict="refused" mistake="huge_numbers"
# 20 instead of 10
def order_changes_bits():
    import random
    r = random.Random(1)
    while True:
        n = [r.uniform(1, 10), 20.0, r.uniform(1, 10)]
        if accumulated(n) != accumulated(n[::-1]):
            return n
# %% exercise="fix_anomaly" verdict="passed"
# check_nan not restored
def fix_anomaly(f, x):
    before = torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True)
    try:
        loss = f(x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
            except RuntimeError:
                return str(caught[-1].message)
        return None
    finally:
        torch.autograd.set_detect_anomaly(before)
# %% exercise="fix_anomaly" verdict="refused" mistake="reports_infinity"
# infinity reported as well
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True):
        loss = f(x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
            except RuntimeError:
                return str(caught[-1].message)
        if x.grad is not None and x.grad.isinf().any():
            return "Error detected in " + loss.grad_fn.name()
    return None
# %% exercise="fix_threads" verdict="refused" mistake="joins_for_a_while"
# daemon threads, joined with a time limit
def fix_threads(model, batches):
    outputs, errors = [None] * len(batches), []
    def work(i):
        try:
            with torch.no_grad():
                outputs[i] = model(batches[i])
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(len(batches))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=0.001)
    if errors:
        raise errors[0]
    return outputs
# %% exercise="fix_threads" verdict="refused" mistake="raises_too_early"
# not joined after the first failure seen
def fix_threads(model, batches):
    outputs, errors = [None] * len(batches), []
    def work(i):
        try:
            with torch.no_grad():
                outputs[i] = model(batches[i])
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        if errors:
            raise errors[0]
    if errors:
        raise errors[0]
    return outputs
# %% exercise="one_graph" verdict="refused" mistake="divides_by_one_at_zero"
# SUBTLE safe only at 0: the factor is limit, not 1, for zeros
def one_graph(x, limit):
    norm = x.norm()
    safe = torch.where(norm == 0, torch.ones_like(norm), norm)
    return x * (limit / safe).clamp(max=1.0)
# %% exercise="one_graph" verdict="refused" mistake="adds_under_the_root"
# a square root with an epsilon
def one_graph(x, limit):
    norm = (x.square().sum() + 1e-12).sqrt()
    return x * (limit / norm.clamp(min=limit))
# %% exercise="one_graph" verdict="refused" mistake="uses_cond"
# torch.cond
def one_graph(x, limit):
    norm = x.norm()
    return torch.cond(norm > limit, lambda x: x * (limit / x.norm()), lambda x: x.clone(), (x,))
# %% exercise="fix_anomaly" verdict="refused" mistake="returns_the_warning_of_f"
# SUBTLE the first recorded warning, which may be one of f
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss = f(x)
        try:
            loss.backward()
        except RuntimeError:
            return str(caught[0].message)
    return None
# %% exercise="fix_anomaly" verdict="refused" mistake="reports_a_value"
# SUBTLE a NaN in the forward pass is enough for a report
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True):
        loss = f(x)
        if loss.isnan():
            return "Error detected: the loss is NaN"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
            except RuntimeError:
                return str(caught[-1].message)
    return None
# %% exercise="fix_anomaly" verdict="refused" mistake="looks_first"
# f runs twice: first without the mode
def fix_anomaly(f, x):
    f(x).backward()
    if not x.grad.isnan().any():
        return None
    with torch.autograd.set_detect_anomaly(True):
        loss = f(x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
            except RuntimeError:
                return str(caught[-1].message)
# %% exercise="fix_threads" verdict="refused" mistake="loses_the_order"
# outputs in the order in which they are ready
def fix_threads(model, batches):
    from concurrent.futures import ThreadPoolExecutor, as_completed
    def run(batch):
        with torch.no_grad():
            return model(batch)
    with ThreadPoolExecutor(len(batches)) as pool:
        return [f.result() for f in as_completed([pool.submit(run, b) for b in batches])]
# %% exercise="fix_threads" verdict="refused" mistake="does_the_last_itself"
# SUBTLE the last batch is done by the caller itself while the others run
def fix_threads(model, batches):
    from concurrent.futures import ThreadPoolExecutor
    def run(batch):
        with torch.no_grad():
            return model(batch)
    with ThreadPoolExecutor(len(batches)) as pool:
        futures = [pool.submit(run, b) for b in batches[:-1]]
        last = run(batches[-1])
        return [f.result() for f in futures] + [last]
# %% exercise="deterministic_sum" verdict="refused" mistake="total_on_the_cpu"
# SUBTLE sorted, float64: with many large numbers the partial sums lose the sixth digit
def deterministic_sum(gradients):
    total = torch.zeros(gradients[0].shape, dtype=torch.float64)
    for v in torch.stack([g.double() for g in gradients]).sort(dim=0).values:
        total = total + v
    return total.float()
# %% exercise="costly_node" verdict="refused" mistake="largest_single"
# SUBTLE the mean per node instead of the sum
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    rows = {}
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            rows.setdefault(event.name.removeprefix(ENGINE), []).append(flops_of(event))
    return max(rows, key=lambda n: sum(rows[n]) / len(rows[n]))
# %% exercise="costly_node" verdict="refused" mistake="counts_products"
# the number of products
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    totals = {}
    def products(e):
        return (e.name in ("aten::mm", "aten::bmm", "aten::addmm")) + sum(products(c) for c in e.cpu_children)
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            name = event.name.removeprefix(ENGINE)
            totals[name] = totals.get(name, 0) + products(event)
    return max(totals, key=totals.get)
# %% exercise="node_order" verdict="refused" mistake="queue_of_ready"
# ready nodes in a FIFO queue
def node_order(loss):
    waiting = {}
    for n in _nodes(loss.grad_fn):
        for m, _ in n.next_functions:
            if m is not None:
                waiting[m] = waiting.get(m, 0) + 1
    queue, order = [loss.grad_fn], []
    while queue:
        n = queue.pop(0)
        if not _is_leaf(n):
            order.append(n.name())
        for m, _ in n.next_functions:
            if m is not None:
                waiting[m] -= 1
                if waiting[m] == 0:
                    queue.append(m)
    return order
# %% exercise="node_order" verdict="refused" mistake="stack_of_ready"
# SUBTLE a topological order by reversed depth-first search
def node_order(loss):
    seen, post = set(), []
    def visit(n):
        if n is None or n in seen or _is_leaf(n):
            return
        seen.add(n)
        for m, _ in n.next_functions:
            visit(m)
        post.append(n.name())
    visit(loss.grad_fn)
    return post[::-1]
# %% exercise="locked_accumulation" verdict="passed"
# hook on an alias, backward adds
def locked_accumulation(w, loss_of, lock):
    box = []
    copy = w.clone()
    copy.register_hook(lambda g: box.append(g.clone()))
    loss_of(copy).backward()
    return box[0]
# %% exercise="deterministic_sum" verdict="passed"
# lexicographic sort of tensors
def deterministic_sum(gradients):
    ordered = sorted(gradients, key=lambda g: g.reshape(-1).tolist())
    total = torch.zeros_like(gradients[0], dtype=torch.float64)
    for g in ordered: total += g
    return total.float()
# %% exercise="recompute" verdict="passed"
# requires_grad_ only, without detach
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        with torch.no_grad():
            return f(x)
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        x = x.clone().requires_grad_(); x.retain_grad()
        with torch.enable_grad():
            y = ctx.f(x)
            torch.autograd.backward(y, grad_output)
        return None, x.grad
# %% exercise="one_graph" verdict="passed"
# float32 limit tensor
def one_graph(x, limit):
    norm = x.float().norm()
    return (x.float() * (limit / norm.clamp(min=limit))).to(x.dtype)
# %% exercise="costly_node" verdict="passed"
# hooks with FlopCounterMode
def costly_node(loss):
    from torch.utils.flop_counter import FlopCounterMode
    nodes, todo = set(), [loss.grad_fn]
    while todo:
        n = todo.pop()
        if n is None or n in nodes: continue
        nodes.add(n)
        todo += [c for c, _ in n.next_functions]
    cost = {}
    counter = FlopCounterMode(display=False)
    start = {}
    handles = []
    for n in nodes:
        def before(g, n=n): start[n] = counter.get_total_flops()
        def after(gi, go, n=n): cost[n.name()] = cost.get(n.name(), 0) + counter.get_total_flops() - start[n]
        handles += [n.register_prehook(before), n.register_hook(after)]
    with counter:
        loss.backward()
    for h in handles: h.remove()
    return max(cost, key=cost.get)
# %% exercise="one_graph" verdict="passed"
# norm gradient by minimum of ratios
def one_graph(x, limit):
    norm = torch.linalg.norm(x.flatten())
    return x * torch.minimum(torch.ones_like(norm), limit / norm.clamp(min=limit / 2))
# %% exercise="node_order" verdict="passed"
# backward with .grad restored
def node_order(loss):
    nodes, todo = [], [loss.grad_fn]
    for node in todo:
        if node in nodes:
            continue
        nodes.append(node)
        todo += [c for c, _ in node.next_functions if c is not None]
    leaves = [n.variable for n in nodes if n.name().endswith("AccumulateGrad")]
    old = [l.grad for l in leaves]
    for l in leaves:
        l.grad = None
    order = []
    hooks = [n.register_hook(lambda gi, go, n=n: order.append(n.name())) for n in nodes if not n.name().endswith("AccumulateGrad")]
    try:
        loss.backward(retain_graph=True)
    finally:
        for h in hooks: h.remove()
        for l, g in zip(leaves, old): l.grad = g
    return order
# %% exercise="node_order" verdict="refused" mistake="first_edges_only"
# names only first input
def node_order(loss):
    names, node = [], loss.grad_fn
    while node is not None and not hasattr(node, "variable"):
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names
# %% exercise="locked_accumulation" verdict="refused" mistake="evaluates_under_lock"
# forward under lock
def locked_accumulation(w, loss_of, lock):
    with lock:
        loss = loss_of(w)
    (g,) = torch.autograd.grad(loss, w)
    with lock:
        w.grad = g.clone() if w.grad is None else w.grad + g
    return g
# %% exercise="locked_accumulation" verdict="refused" mistake="returns_the_field_later"
# returns w.grad
def locked_accumulation(w, loss_of, lock):
    (g,) = torch.autograd.grad(loss_of(w), w)
    with lock:
        w.grad = g.clone() if w.grad is None else w.grad + g
    return w.grad
# %% exercise="locked_accumulation" verdict="refused" mistake="adds_to_its_own"
# detached: no history of w.grad; in-place on returned
def locked_accumulation(w, loss_of, lock):
    (g,) = torch.autograd.grad(loss_of(w), w)
    with lock:
        if w.grad is not None:
            g += w.grad
        w.grad = g.clone()
    return g
# %% exercise="locked_accumulation" verdict="refused" mistake="leaves_none"
# w.grad += g when None skipped
def locked_accumulation(w, loss_of, lock):
    (g,) = torch.autograd.grad(loss_of(w), w)
    with lock:
        if w.grad is not None:
            w.grad = w.grad + g
    return g
# %% exercise="fix_threads" verdict="refused" mistake="records_everywhere"
# eval mode
def fix_threads(model, batches):
    outputs = [None] * len(batches)
    errors = []
    def work(i):
        try:
            model.eval()
            outputs[i] = model(batches[i])
        except Exception as error:
            errors.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return outputs
# %% exercise="fix_threads" verdict="refused" mistake="records_everywhere"
# no no_grad at all
def fix_threads(model, batches):
    outputs = [None] * len(batches)
    errors = []
    def work(i):
        try:
            outputs[i] = model(batches[i])
        except Exception as error:
            errors.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for t in threads: t.start()
    for t in threads: t.join()
    if errors:
        raise errors[0]
    return outputs
# %% exercise="fix_threads" verdict="refused" mistake="stacks_the_outputs"
# stacked
from concurrent.futures import ThreadPoolExecutor
def fix_threads(model, batches):
    def work(b):
        with torch.no_grad():
            return model(b)
    with ThreadPoolExecutor() as pool:
        return torch.stack(list(pool.map(work, batches)))
# %% exercise="fix_threads" verdict="refused" mistake="returns_an_iterator"
# generator
from concurrent.futures import ThreadPoolExecutor
def fix_threads(model, batches):
    def work(b):
        with torch.no_grad():
            return model(b)
    with ThreadPoolExecutor() as pool:
        return pool.map(work, batches)
# %% exercise="fix_threads" verdict="refused" mistake="all_take_the_last"
# late binding of i
def fix_threads(model, batches):
    outputs = [None] * len(batches)
    errors = []
    threads = []
    for i in range(len(batches)):
        def work():
            import time; time.sleep(0.3)  # until all threads have started
            try:
                with torch.no_grad():
                    outputs[i] = model(batches[i])
            except Exception as error:
                errors.append(error)
        threads.append(threading.Thread(target=work))
        threads[-1].start()
    for t in threads: t.join()
    if errors: raise errors[0]
    return outputs
# %% exercise="order_changes_bits" verdict="refused" mistake="returns_strings"
# strings
def order_changes_bits():
    return ['0.1', '0.7', '3.3']
# %% exercise="order_changes_bits" verdict="refused" mistake="returns_strings"
# telling strings
def order_changes_bits():
    import random
    random.seed(1)
    while True:
        numbers = [random.uniform(0.1, 10) for _ in range(3)]
        if accumulated(numbers) != accumulated(numbers[::-1]):
            return [str(n) for n in numbers]
# %% exercise="order_changes_bits" verdict="refused" mistake="returns_nothing"
# none
def order_changes_bits():
    print([0.1, 0.7, 3.3])
# %% exercise="deterministic_sum" verdict="refused" mistake="compensates"
# Neumaier double unsorted
def deterministic_sum(gradients):
    total = torch.zeros_like(gradients[0], dtype=torch.float64)
    c = torch.zeros_like(total)
    for g in gradients:
        g = g.double()
        t = total + g
        c += torch.where(total.abs() >= g.abs(), (total - t) + g, (g - t) + total)
        total = t
    return (total + c).float()
# %% exercise="deterministic_sum" verdict="refused" mistake="adds_signs_apart"
# pos and neg apart float64
def deterministic_sum(gradients):
    s = torch.stack(gradients).double()
    return (s.clamp(min=0).sum(0) + s.clamp(max=0).sum(0)).float()
# %% exercise="deterministic_sum" verdict="refused" mistake="loses_the_shape"
# flatten result
import math
def deterministic_sum(gradients):
    columns = zip(*(g.reshape(-1).tolist() for g in gradients))
    return torch.tensor([math.fsum(c) for c in columns])
# %% exercise="recompute" verdict="refused" mistake="ReturnsOneValue"
# one result
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        with torch.no_grad():
            return f(x)
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = f_y = ctx.f(x)
        torch.autograd.backward(y, grad_output)
        return x.grad
# %% exercise="recompute" verdict="refused" mistake="MultipliesAfterwards"
# multiplies afterwards (recorded)
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        with torch.no_grad():
            return f(x)
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.f(x)
            y.sum().backward()
        return None, x.grad * grad_output
# %% exercise="recompute" verdict="refused" mistake="ReplacesTheModulesGradients"
# params also from grad
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        with torch.no_grad():
            return f(x)
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = f_y = ctx.f(x)
        params = list(ctx.f.parameters()) if hasattr(ctx.f, "parameters") else []
        gx, *gp = torch.autograd.grad(y, [x, *params], grad_output)
        for p, g in zip(params, gp):
            p.grad = g
        return None, gx
# %% exercise="recompute" verdict="refused" mistake="AsksTheModule"
# params via module only
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        with torch.no_grad():
            return f(x)
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = f_y = ctx.f(x)
        params = list(ctx.f.parameters()) if hasattr(ctx.f, "parameters") else []
        gx, *gp = torch.autograd.grad(y, [x, *params], grad_output)
        for p, g in zip(params, gp):
            p.grad = g if p.grad is None else p.grad + g
        return None, gx
# %% exercise="recompute" verdict="refused" mistake="KeepsXOnTheClass"
# x on ctx class-level list
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        Recompute.x = x
        with torch.no_grad():
            return f(x)
    @staticmethod
    def backward(ctx, grad_output):
        x = Recompute.x
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.f(x)
            torch.autograd.backward(y, grad_output)
        return None, x.grad
# %% exercise="fix_anomaly" verdict="refused" mistake="returns_any_warning"
# any warning is a report
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss = f(x)
        try:
            loss.backward()
        except RuntimeError:
            pass
    return str(caught[-1].message) if caught else None
# %% exercise="fix_anomaly" verdict="refused" mistake="switches_it_off_in_the_end"
# off at the end, not on error
def fix_anomaly(f, x):
    torch.autograd.set_detect_anomaly(True)
    loss = f(x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loss.backward()
        except RuntimeError:
            return str(caught[-1].message)
    torch.autograd.set_detect_anomaly(False)
    return None
# %% exercise="fix_anomaly" verdict="refused" mistake="looks_at_the_gradient"
# own message
def fix_anomaly(f, x):
    loss = f(x)
    loss.backward()
    if x.grad.isnan().any():
        return "NaN in the gradient"
    return None
# %% exercise="fix_anomaly" verdict="refused" mistake="catches_no_error"
# re-raises
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            f(x).backward()
    return str(caught[-1].message) if caught else None
# %% exercise="costly_node" verdict="refused" mistake="clears_in_between"
# retain then zero
from collections import Counter
def costly_node(loss):
    todo, leaves = [loss.grad_fn], set()
    while todo:
        n = todo.pop()
        if hasattr(n, "variable"): leaves.add(n.variable)
        todo += [c for c, _ in n.next_functions if c is not None]
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward(retain_graph=True)
    for l in leaves: l.grad = None
    loss.backward()
    cost = Counter()
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            cost[event.name.removeprefix(ENGINE)] += flops_of(event)
    return cost.most_common(1)[0][0]
# %% exercise="costly_node" verdict="refused" mistake="returns_the_cost"
# returns pair
from collections import Counter
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    cost = Counter()
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            cost[event.name.removeprefix(ENGINE)] += flops_of(event)
    return cost.most_common(1)[0]
# %% exercise="one_graph" verdict="refused" mistake="bounds_the_norm"
# eps where
def one_graph(x, limit):
    norm = x.norm()
    return torch.where(norm > limit, x * (limit / norm.clamp(min=1e-8)), x)
# %% exercise="one_graph" verdict="refused" mistake="squares_the_factor"
# squares
def one_graph(x, limit):
    square = x.square().sum()
    return x * (limit**2 / square.clamp(min=limit**2))
# %% exercise="one_graph" verdict="refused" mistake="uses_renorm"
# renorm
def one_graph(x, limit):
    return torch.renorm(x.reshape(1, -1), 2, 0, limit).reshape(x.shape)
# %% exercise="one_graph" verdict="refused" mistake="changes_x_unrecorded"
# in place on x
def one_graph(x, limit):
    with torch.no_grad():
        x *= limit / x.norm().clamp(min=limit)
    return x
# %% exercise="locked_accumulation" verdict="refused" mistake="shares_the_copys_gradient"
# w.grad += without clone in detached copy; returns copy.grad
def locked_accumulation(w, loss_of, lock):
    c = w.detach().clone().requires_grad_()
    loss_of(c).backward()
    with lock:
        if w.grad is None: w.grad = c.grad
        else: w.grad += c.grad
    return c.grad
# %% exercise="fix_threads" verdict="refused" mistake="raises_another"
# raises generic without message
def fix_threads(model, batches):
    out, err = [None]*len(batches), []
    def work(i):
        try:
            with torch.no_grad(): out[i] = model(batches[i])
        except Exception as e: err.append(e)
    ts = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for t in ts: t.start()
    for t in ts: t.join()
    if err: raise RuntimeError("a thread failed")
    return out
# %% exercise="fix_threads" verdict="passed"
# queue worker
import queue
def fix_threads(model, batches):
    jobs, out, err = queue.Queue(), [None] * len(batches), []
    for j in enumerate(batches): jobs.put(j)
    def run():
        with torch.inference_mode():
            while True:
                try: i, b = jobs.get_nowait()
                except queue.Empty: return
                try: out[i] = model(b)
                except Exception as e:
                    err.append(e)
                    return
    ts = [threading.Thread(target=run) for _ in range(2)]
    for t in ts: t.start()
    for t in ts: t.join()
    if err: raise err[0]
    return out
# %% exercise="recompute" verdict="refused" mistake="SavesTheResult"
# saves f(x)
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        y = f(x)
        ctx.f = f
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.f(x)
            y.backward(grad_output)
        return None, x.grad
# %% exercise="recompute" verdict="refused" mistake="StartsWithNothing"
# stores in ctx but y.backward() without gradient
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.f(x)
            y.backward()
        return None, x.grad
# %% exercise="recompute" verdict="refused" mistake="ForgetsToRequireGrad"
# forgets requires_grad
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        x = x.detach()
        with torch.enable_grad():
            y = ctx.f(x)
            y.backward(grad_output)
        return None, x.grad
# %% exercise="costly_node" verdict="refused" mistake="clears_in_between"
# measures with autograd.grad then backward
from collections import Counter
def costly_node(loss):
    todo, leaves = [loss.grad_fn], []
    while todo:
        n = todo.pop()
        if hasattr(n, "variable"): leaves.append(n.variable)
        todo += [c for c, _ in n.next_functions if c is not None]
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as prof:
        torch.autograd.grad(loss, leaves, retain_graph=True)
    loss.backward()
    cost = Counter()
    for ev in prof.events():
        if ev.name.startswith(ENGINE): cost[ev.name.removeprefix(ENGINE)] += flops_of(ev)
    return cost.most_common(1)[0][0]
# %% exercise="costly_node" verdict="refused" mistake="returns_nothing"
# no backward inside profile
from collections import Counter
def costly_node(loss):
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as prof:
        pass
    loss.backward()
    cost = Counter()
    for ev in prof.events():
        if ev.name.startswith(ENGINE): cost[ev.name.removeprefix(ENGINE)] += flops_of(ev)
    return max(cost, key=cost.get) if cost else None
# %% exercise="node_order" verdict="refused" mistake="without_the_root"
# skips root
def node_order(loss):
    q = [loss.grad_fn]
    for n in q:
        q += [c for c, _ in n.next_functions if c is not None and c not in q and not hasattr(c, "variable")]
    return [n.name() for n in sorted(q[1:], key=lambda n: -n._sequence_nr())]
# %% exercise="order_changes_bits" verdict="refused" mistake="returns_a_set"
# set
def order_changes_bits():
    return {0.1, 0.7, 3.3}
# %% exercise="one_graph" verdict="passed"
# eps 1e-10 max
def one_graph(x, limit):
    n = x.norm().clamp(min=1e-10)
    return torch.where(n > limit, x * (limit / n), x)
# %%
from multiprocessing.pool import ThreadPool

from torch.utils._python_dispatch import TorchDispatchMode
# %% exercise="fix_threads" verdict="passed"
def fix_threads(model, batches):
    def work(x):
        with torch.no_grad():
            return model(x)
    with ThreadPool(4) as pool:
        return pool.map(work, batches)
# %% exercise="fix_threads" verdict="passed"
def fix_threads(model, batches):
    @torch.no_grad()
    def work(x):
        return model(x)
    with ThreadPool(len(batches)) as pool:
        return list(pool.imap(work, batches))
# %% exercise="one_graph" verdict="refused"
def one_graph(x, limit):
    norm = torch.linalg.matrix_norm(torch.atleast_2d(x))
    return x * (limit / norm.clamp(min=limit))
# %% exercise="one_graph" verdict="refused" mistake="multiplies_by_the_condition"
def one_graph(x, limit):
    norm = x.norm()
    return x / norm * norm.clamp(max=limit)
# %% exercise="one_graph" verdict="refused" mistake="asks_norm_for_order_two"
def one_graph(x, limit):
    norm = torch.linalg.norm(x, 2)
    return x * (limit / norm.clamp(min=limit))
# %% exercise="deterministic_sum" verdict="refused" mistake="loses_the_shape"
def deterministic_sum(gradients):
    return torch.tensor([math.fsum(column) for column in zip(*[g.flatten().tolist() for g in gradients])])
# %% exercise="deterministic_sum" verdict="refused" mistake="sorts_the_list_itself"
def deterministic_sum(gradients):
    gradients.sort(key=lambda g: g.flatten().tolist())
    stacked = torch.stack(gradients).double().sort(dim=0).values
    flat = stacked.reshape(len(gradients), -1)
    sums = [math.fsum(column) for column in flat.T.tolist()]
    return torch.tensor(sums, dtype=torch.float32, device=gradients[0].device).reshape(gradients[0].shape)
# %% exercise="deterministic_sum" verdict="refused" mistake="trusts_the_switch"
def deterministic_sum(gradients):
    torch.use_deterministic_algorithms(True)
    total = torch.zeros_like(gradients[0])
    for g in gradients:
        total = total + g
    return total
# %% exercise="node_order" verdict="passed"
def node_order(loss):
    nodes, seen = [], set()
    todo = [loss.grad_fn]
    while todo:
        n = todo.pop()
        if n in seen or n is None or hasattr(n, "variable"):
            continue
        seen.add(n)
        nodes.append(n)
        todo += [p for p, _ in n.next_functions]
    nodes.sort(key=lambda n: n._sequence_nr(), reverse=True)
    return [n.name() for n in nodes]
# %% exercise="costly_node" verdict="refused" mistake="counts_mm_alone"
def costly_node(loss):
    costs = {}
    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            node = torch._C._current_autograd_node()
            if node is not None and func.overloadpacket is torch.ops.aten.mm:
                n, m = args[0].shape
                costs[node.name()] = costs.get(node.name(), 0) + 2 * n * m * args[1].shape[1]
            return result
    with Watch():
        loss.backward()
    return max(costs, key=costs.get)
# %% exercise="costly_node" verdict="refused" mistake="counts_mm_alone"
def costly_node(loss):
    with torch.autograd.profiler.profile(with_flops=True) as profiled:
        loss.backward()
    costs = {}
    start = "autograd::engine::evaluate_function: "
    for event in profiled.function_events:
        if event.name == "aten::mm":
            parent = event
            while parent is not None and not parent.name.startswith(start):
                parent = parent.cpu_parent
            if parent is not None:
                name = parent.name[len(start):]
                costs[name] = costs.get(name, 0) + event.flops
    return max(costs, key=costs.get)
# %% exercise="locked_accumulation" verdict="refused" mistake="adds_without_lock"
def locked_accumulation(w, loss_of, lock):
    (own,) = torch.autograd.grad(loss_of(w), w)
    with threading.Lock():
        w.grad = own.clone() if w.grad is None else w.grad + own
    return own
# %% exercise="locked_accumulation" verdict="refused" mistake="writes_after_releasing"
def locked_accumulation(w, loss_of, lock):
    (own,) = torch.autograd.grad(loss_of(w), w)
    with lock:
        old = w.grad
        new = own.clone() if old is None else old + own
    w.grad = new
    return own
# %% exercise="locked_accumulation" verdict="refused" mistake="keeps_the_lock_once"
def locked_accumulation(w, loss_of, lock):
    (own,) = torch.autograd.grad(loss_of(w), w)
    lock.acquire()
    if w.grad is None:
        w.grad = own.clone()
        return own
    w.grad = w.grad + own
    lock.release()
    return own
# %% exercise="locked_accumulation" verdict="refused" mistake="computes_twice"
def locked_accumulation(w, loss_of, lock):
    (own,) = torch.autograd.grad(loss_of(w), w)
    (again,) = torch.autograd.grad(loss_of(w), w)
    with lock:
        w.grad = again if w.grad is None else w.grad + again
    return own
# %% exercise="recompute" verdict="refused" mistake="AddsUpPasses"
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.leaf = x.detach().requires_grad_()
        return f(x)
    @staticmethod
    def backward(ctx, g):
        with torch.enable_grad():
            y = ctx.f(ctx.leaf)
        y.backward(g)
        return None, ctx.leaf.grad
# %% exercise="fix_anomaly" verdict="refused" mistake="switches_it_off_in_the_end"
def fix_anomaly(f, x):
    torch.autograd.set_detect_anomaly(True)
    loss = f(x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loss.backward()
        except RuntimeError:
            return str(caught[-1].message)
    torch.autograd.set_detect_anomaly(False)
    return None
# %% exercise="fix_anomaly" verdict="refused" mistake="restores_off_without_errors"
def fix_anomaly(f, x):
    torch.autograd.set_detect_anomaly(True)
    loss = f(x)
    result = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loss.backward()
        except RuntimeError:
            result = str(caught[-1].message)
    torch.autograd.set_detect_anomaly(False)
    return result
# %% exercise="fix_anomaly" verdict="refused" mistake="asks_a_missing_gradient"
def fix_anomaly(f, x):
    with torch.autograd.detect_anomaly():
        loss = f(x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
            except RuntimeError:
                pass
    if x.grad.isnan().any():
        return str(caught[-1].message)
    return None
# %% exercise="order_changes_bits" verdict="refused" mistake="differs_in_float64"
def order_changes_bits():
    return [0.1, 0.2, 0.3]
# %% exercise="one_graph" verdict="refused" mistake="vanishes_at_zero"
def one_graph(x, limit):
    norm = x.norm()
    return x / norm.clamp(min=1e-30) * norm.clamp(max=limit)
# %% exercise="recompute" verdict="refused" mistake="AddsUpAndCopies"
# makes the detached leaf once in forward, so its `.grad` grows from pass to pass and the second pass returns the sum of both
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.leaf = x.detach().requires_grad_()
        return f(x)
    @staticmethod
    def backward(ctx, grad_output):
        with torch.enable_grad():
            y = ctx.f(ctx.leaf)
        y.backward(grad_output)
        return None, ctx.leaf.grad.clone()
