# %%
import math
import threading
from concurrent.futures import ThreadPoolExecutor
import torch
from torch.profiler import ProfilerActivity, profile
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
# %% exercise="locked_accumulation" verdict="passed"
# detached copy: loss_of gets another tensor
def locked_accumulation(w, loss_of, lock):
    v = w.detach().clone().requires_grad_()
    loss_of(v).backward()
    with lock:
        w.grad = v.grad.clone() if w.grad is None else w.grad + v.grad
    return v.grad
# %% exercise="deterministic_sum" verdict="refused" mistake="sorts_by_the_sum"
# tensors sorted by their sum
def deterministic_sum(gradients):
    total = torch.zeros_like(gradients[0], dtype=torch.float64)
    for g in sorted(gradients, key=lambda g: g.double().sum().item()):
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
# %% exercise="deterministic_sum" verdict="refused" mistake="loses_equal_numbers"
# set of numbers (equal ones lost)
def deterministic_sum(gradients):
    rows = [g.reshape(-1).tolist() for g in gradients]
    return (
        torch.tensor([math.fsum(set(c)) for c in zip(*rows)], dtype=torch.float64).float().reshape(gradients[0].shape)
    )
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
# %% exercise="locked_accumulation" verdict="refused" mistake="returns_the_field_later"
# returns w.grad
def locked_accumulation(w, loss_of, lock):
    (g,) = torch.autograd.grad(loss_of(w), w)
    with lock:
        w.grad = g.clone() if w.grad is None else w.grad + g
    return w.grad
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
# %% exercise="node_order" verdict="refused" mistake="without_the_root"
# skips root
def node_order(loss):
    q = [loss.grad_fn]
    for n in q:
        q += [c for c, _ in n.next_functions if c is not None and c not in q and not hasattr(c, "variable")]
    return [n.name() for n in sorted(q[1:], key=lambda n: -n._sequence_nr())]
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
# %%
import torch
from multiprocessing.pool import ThreadPool
# %% exercise="fix_threads" verdict="refused" mistake="terminates_the_pool"
# terminated, not joined
def fix_threads(model, batches):
    def work(x):
        with torch.no_grad():
            return model(x)
    pool = ThreadPool(len(batches))
    outputs = pool.map(work, batches)
    pool.terminate()
    return outputs
# %% exercise="fix_threads" verdict="passed"
# terminated and joined
def fix_threads(model, batches):
    def work(x):
        with torch.no_grad():
            return model(x)
    pool = ThreadPool(len(batches))
    try:
        return pool.map(work, batches)
    finally:
        pool.terminate()
        pool.join()
# %% exercise="fix_threads" verdict="refused" mistake="keeps_the_pool"
# closed, not joined
def fix_threads(model, batches):
    def work(x):
        with torch.no_grad():
            return model(x)
    pool = ThreadPool(len(batches))
    outputs = pool.map(work, batches)
    pool.close()
    return outputs
