# %%
import threading
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.profiler import ProfilerActivity, profile

ENGINE = "autograd::engine::evaluate_function: "


def flops_of(event):
    return event.flops + sum(flops_of(child) for child in event.cpu_children)


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


# %% exercise="locked_accumulation" verdict="refused" mistake="returns_the_shared_sum"
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


# %% exercise="fix_anomaly" verdict="passed"
# the mode switched by hand
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
