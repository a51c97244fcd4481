# %%
import re
from collections import defaultdict
import torch
from torch.nn.functional import mse_loss
def call(node, gradient):
    with torch.no_grad():
        gradients = node(gradient)
    return gradients if isinstance(gradients, tuple) else (gradients,)
# %% exercise="run_backward" verdict="refused" mistake="assigns_shape_of_a_number"
def run_backward(root):
    order, seen = [], set()
    def visit(node):
        if node is None or node in seen:
            return
        seen.add(node)
        for child, _ in node.next_functions:
            visit(child)
        order.append(node)
    visit(root.grad_fn)
    gradient_of = {root.grad_fn: torch.tensor(1.0, dtype=root.dtype)}
    for node in reversed(order):
        if hasattr(node, "variable"):
            node.variable.grad = gradient_of[node].clone()
            continue
        for (child, _), g in zip(node.next_functions, call(node, gradient_of[node])):
            if child is not None:
                gradient_of[child] = gradient_of[child] + g if child in gradient_of else g
# %% exercise="run_backward" verdict="refused" mistake="lets_the_engine_do_it"
def run_backward(root):
    torch.autograd.Variable._execution_engine.run_backward(
        (root,), (torch.ones_like(root),), False, False, (), allow_unreachable=True, accumulate_grad=True
    )
# %% exercise="nan_node" verdict="refused" mistake="tests_the_sum"
def nan_node(loss):
    found = []
    def watch(node):
        def hook(given, received):
            if any(g is not None and torch.isnan(g.sum()) for g in given):
                found.append(node.name())
        node.register_hook(hook)
    seen, stack = set(), [loss.grad_fn]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        watch(node)
        stack += [child for child, _ in node.next_functions]
    loss.backward()
    return found[0] if found else None
# %% exercise="fix_shared_gradients" verdict="refused" mistake="compares_by_is"
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    own = []
    for g, f in zip(gradients, factors):
        if g is v or any(g is other for other in own):
            g = g.clone()
        own.append(g)
    return [g.mul_(f) for g, f in zip(own, factors)]
# %% exercise="fix_shared_gradients" verdict="refused"
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    big = torch.zeros(max(x.numel() for x in inputs), dtype=inputs[0].dtype)
    return [big[: x.numel()].view(x.shape) if g is None else g * f for x, g, f in zip(inputs, gradients, factors)]
# %% exercise="fix_shared_gradients" verdict="refused"
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    zero = torch.zeros(1, dtype=v.dtype)
    return [zero.expand(x.shape) if g is None else g * f for x, g, f in zip(inputs, gradients, factors)]
# %% exercise="fix_shared_gradients" verdict="refused"
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    return [torch.zeros(x.shape, dtype=v.dtype) if g is None else g * f for x, g, f in zip(inputs, gradients, factors)]
# %% exercise="hide_the_bug" verdict="refused" mistake="zero_comes_last"
# wrong order
def hide_the_bug(x):
    h = x * 2
    return h + h * 0
# %% exercise="nan_node" verdict="refused" mistake="names_the_first_of_a_queue"
# first giving NaN in walk order
def nan_node(loss):
    bad, order, stack = set(), [], [loss.grad_fn]
    while stack:
        node = stack.pop(0)
        if node is None or node in order:
            continue
        order.append(node)
        node.register_hook(
            lambda given, received, node=node: (
                bad.add(node) if any(t is not None and t.isnan().any() for t in given) else None
            )
        )
        stack.extend(k for k, _ in node.next_functions)
    loss.backward()
    return next((n.name() for n in order if n in bad), None)
# %% exercise="fix_two_losses" verdict="refused" mistake="gives_the_gradient_a_graph"
# w updated in place (w.grad with graph)
def fix_two_losses(w, x, y, share):
    h = torch.tanh(x @ w)
    fit = ((h - y) ** 2).mean()
    size = (h**2).mean()
    (fit + share * size).backward(create_graph=True)
    return fit.detach(), size.detach()
# %% exercise="mean_and_worst" verdict="refused" mistake="evaluates_for_a_while"
# worst scaled / recomputed under eval restored
def mean_and_worst(model, batches):
    mode = model.training
    model.eval()
    total, worst = 0.0, None
    for x, y in batches:
        loss = mse_loss(model(x), y)
        total += loss.item()
        if worst is None or loss > worst:
            worst = loss
    model.train(mode)
    return total / len(batches), worst
# %% exercise="run_backward" verdict="refused" mistake="counts_nodes"
# counts for each node the nodes that lead to it and not the edges, so x * x delivers only one of its two gradients.
def run_backward(root):
    parents = defaultdict(set)
    seen, stack = {root.grad_fn}, [root.grad_fn]
    while stack:
        node = stack.pop()
        for child, _ in node.next_functions:
            if child is not None:
                parents[child].add(node)
                if child not in seen:
                    seen.add(child)
                    stack.append(child)
    gradient_of = {root.grad_fn: torch.ones_like(root)}
    stack = [root.grad_fn]
    while stack:
        node = stack.pop()
        if hasattr(node, "variable"):
            node.variable.grad = gradient_of[node].clone()
            continue
        outgoing = {child: g for (child, _), g in zip(node.next_functions, call(node, gradient_of[node])) if child}
        for child, gradient in outgoing.items():
            gradient_of[child] = gradient_of[child] + gradient if child in gradient_of else gradient
            parents[child].discard(node)
            if not parents[child]:
                stack.append(child)
# %% exercise="fix_two_losses" verdict="refused" mistake="assigns_a_gradient_with_a_graph"
# uses create_graph=True, so the graph, what it saved, and a gradient with a history stay in memory.
def fix_two_losses(w, x, y, share):
    h = torch.tanh(x @ w)
    fit = ((h - y) ** 2).mean()
    size = (h**2).mean()
    (w.grad,) = torch.autograd.grad(fit + share * size, w, create_graph=True)
    return fit, size
# %% exercise="safe_sqrt" verdict="refused" mistake="adds_behind_the_guard"
# adds a small number under the root, which is far larger than the small positive numbers.
def safe_sqrt(x):
    eps = 1e-12
    inside = torch.where(x > 0, x, 1.0)
    return torch.where(x > 0, (inside + eps).sqrt(), 0.0)
# %% exercise="safe_sqrt" verdict="refused" mistake="compares_in_float32"
# computes in float32, where small float64 numbers become 0 and the others lose half their digits.
def safe_sqrt(x):
    y = x.float()
    root = torch.where(y > 0, torch.where(y > 0, y, 1.0).sqrt(), 0.0)
    return root.to(x.dtype)
# %% exercise="mean_and_worst" verdict="refused" mistake="leaves_training_mode"
def mean_and_worst(model, batches):
    model.train()
    total, worst = 0.0, None
    for x, y in batches:
        loss = mse_loss(model(x), y)
        total += loss.item()
        if worst is None or loss.item() > worst.item():
            worst = loss
    return total / len(batches), worst
# %% exercise="mean_and_worst" verdict="refused" mistake="reorders_the_list"
def mean_and_worst(model, batches):
    total = 0.0
    with torch.no_grad():
        losses = [mse_loss(model(x), y).item() for x, y in batches]
    order = sorted(range(len(batches)), key=losses.__getitem__)
    batches[:] = [batches[i] for i in order]
    x, y = batches[-1]
    return sum(losses) / len(losses), mse_loss(model(x), y)
# %% exercise="mean_and_worst" verdict="passed"
def mean_and_worst(model, batches):
    with torch.no_grad():
        losses = [mse_loss(model(x), y).item() for x, y in batches]
    x, y = batches[losses.index(max(losses))]
    return sum(losses) / len(losses), mse_loss(model(x), y)
# %% exercise="safe_sqrt" verdict="refused"
def safe_sqrt(x):
    positive = x > 0
    return torch.where(positive, torch.nan_to_num(torch.where(positive, x, 1.0).sqrt()), 0.0)
# %% exercise="safe_sqrt" verdict="refused"
def safe_sqrt(x):
    positive = x > 0
    safe = torch.where(positive, x, 1.0).clamp(max=1e6)
    return torch.where(positive, safe.sqrt(), 0.0)
# %% exercise="safe_sqrt" verdict="refused"
def safe_sqrt(x):
    positive = x > 0
    safe = torch.where(positive, x, 1.0)
    return positive * (safe / safe.sqrt())
# %% exercise="safe_sqrt" verdict="passed"
def safe_sqrt(x):
    positive = (x > 0).to(x.dtype)
    safe = x * positive + (1 - positive)
    return safe.sqrt() * positive
# %% exercise="safe_sqrt" verdict="passed"
def safe_sqrt(x):
    safe = x.masked_fill(x <= 0, 1.0)
    return (safe**0.5).masked_fill(x <= 0, 0.0)
# %% exercise="fix_two_losses" verdict="refused"
def fix_two_losses(w, x, y, share):
    fit = mse_loss(x @ w, y)
    size = w.square().sum()
    (fit + share * size).backward()
    w.requires_grad_(False)
    return fit.item(), size.item()
# %% exercise="run_backward" verdict="refused"
def run_backward(root):
    order, seen = [], set()
    def visit(node):
        if node is None or node in seen:
            return
        seen.add(node)
        for following, _ in node.next_functions:
            visit(following)
        order.append(node)
    visit(root.grad_fn)
    arrived = {root.grad_fn: torch.ones(root.shape, dtype=torch.float64)}
    for node in reversed(order):
        gradient = arrived.pop(node)
        if hasattr(node, "variable"):
            node.variable.grad = gradient.clone()
            continue
        with torch.no_grad():
            out = node(gradient)
        out = out if isinstance(out, tuple) else (out,)
        for (following, _), each in zip(node.next_functions, out):
            if following is not None and each is not None:
                arrived[following] = arrived[following] + each if following in arrived else each
# %% exercise="run_backward" verdict="passed"
def run_backward(root):
    order, seen = [], set()
    def visit(node):
        if node is None or node in seen:
            return
        seen.add(node)
        for following, _ in node.next_functions:
            visit(following)
        order.append(node)
    visit(root.grad_fn)
    arrived = {root.grad_fn: torch.ones_like(root).detach()}
    for node in reversed(order):
        gradient = arrived.pop(node)
        if hasattr(node, "variable"):
            node.variable.grad = gradient.clone()
            continue
        with torch.no_grad():
            out = node(gradient)
        out = out if isinstance(out, tuple) else (out,)
        for (following, _), each in zip(node.next_functions, out):
            if following is not None and each is not None:
                arrived[following] = arrived[following] + each if following in arrived else each
# %% exercise="fix_shared_gradients" verdict="passed"
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    inputs.append(None)
    return [torch.zeros_like(x) if g is None else g * f for x, g, f in zip(inputs, gradients, factors)]
# %%
import torch
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
# %% exercise="walk_nodes" verdict="passed" mistake=""
def walk_nodes(root):
    waits, found = {id(root): 0}, [root]
    for value in found:
        for each in value.inputs:
            if id(each) not in waits:
                waits[id(each)] = 0
                found.append(each)
            waits[id(each)] += 1
    gradients, ready = {id(root): torch.ones_like(root.data)}, [root]
    while ready:
        value = ready.pop()
        gradient = gradients.pop(id(value))
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            gradients[id(each)] = gradients[id(each)] + part if id(each) in gradients else part
            waits[id(each)] -= 1
            if waits[id(each)] == 0:
                ready.append(each)
# %% exercise="walk_nodes" verdict="passed" mistake=""
def walk_nodes(root):
    total = {id(root): torch.ones_like(root.data)}
    for value in topological(root):
        gradient = total.pop(id(value))
        if value.rule is None:
            if value.grad is None:
                value.grad = torch.zeros_like(value.data)
            value.grad += gradient
        else:
            for each, part in zip(value.inputs, value.rule(gradient)):
                if id(each) not in total:
                    total[id(each)] = torch.zeros_like(each.data)
                total[id(each)] += part
# %% exercise="walk_nodes" verdict="refused" mistake="goes_breadth_first"
# breadth first, each value once: a rule may run before the second part has come
def walk_nodes(root):
    found = [root]
    for value in found:
        found += [each for each in dict.fromkeys(value.inputs) if each not in found]
    gradients = {id(root): torch.ones_like(root.data)}
    for value in found:
        gradient = gradients[id(value)]
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
        else:
            for each, part in zip(value.inputs, value.rule(gradient)):
                gradients[id(each)] = gradients[id(each)] + part if id(each) in gradients else part
# %% exercise="walk_nodes" verdict="refused" mistake="counts_users_once"
# a value used twice by one result is waited for once: a * a starts too early
def walk_nodes(root):
    waits, found = {id(root): 0}, [root]
    for value in found:
        for each in set(value.inputs):
            if id(each) not in waits:
                waits[id(each)] = 0
                found.append(each)
            waits[id(each)] += 1
    gradients, ready = {id(root): torch.ones_like(root.data)}, [root]
    while ready:
        value = ready.pop()
        gradient = gradients.pop(id(value))
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            gradients[id(each)] = gradients[id(each)] + part if id(each) in gradients else part
            waits[id(each)] -= 1
            if waits[id(each)] == 0:
                ready.append(each)
# %%
import collections
import graphlib
import heapq
import itertools
import sys
# %% exercise="walk_nodes" verdict="passed" mistake=""
# the standard library sorts
def walk_nodes(root):
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
        gradient = torch.stack(parts.pop(key)).sum(0)
        if value.rule:
            for each, part in zip(value.inputs, value.rule(gradient)):
                parts[id(each)].append(part)
        else:
            value.grad = gradient if value.grad is None else gradient + value.grad
# %% exercise="walk_nodes" verdict="refused" mistake="recurses"
# recursion with a raised limit; the contract does not allow to recurse
def walk_nodes(root):
    sys.setrecursionlimit(50_000)
    order, seen = [], set()
    def build(value):
        if id(value) not in seen:
            seen.add(id(value))
            for each in value.inputs:
                build(each)
            order.append(value)
    build(root)
    gradients = {id(root): torch.ones_like(root.data)}
    for value in reversed(order):
        gradient = gradients[id(value)]
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            gradients[id(each)] = gradients[id(each)] + part if id(each) in gradients else part
# %% exercise="walk_nodes" verdict="refused" mistake="walks_every_path"
# worklist, first in first out
def walk_nodes(root):
    waits = {}
    stack, seen = [root], {id(root)}
    while stack:
        value = stack.pop()
        for each in value.inputs:
            waits[id(each)] = waits.get(id(each), 0) + 1
            if id(each) not in seen:
                seen.add(id(each))
                stack.append(each)
    gradients = {id(root): torch.ones_like(root.data)}
    ready = [root]
    while ready:
        value = ready.pop(0)
        gradient = gradients.pop(id(value))
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            key = id(each)
            gradients[key] = gradients[key] + part if key in gradients else part
            waits[key] -= 1
            if each not in ready:
                ready.append(each)
# %% exercise="walk_nodes" verdict="refused" mistake="loses_a_single_path"
# from the leaves to the root, and silently
def walk_nodes(root):
    order, done, stack = [], set(), [(root, False)]
    while stack:
        value, leaving = stack.pop()
        if leaving:
            order.append(value)
        elif id(value) not in done:
            done.add(id(value))
            stack.append((value, True))
            stack.extend((each, False) for each in value.inputs)
    total = {id(value): torch.zeros_like(value.data) for value in order}
    total[id(root)] += 1
    for value in order:
        gradient = total[id(value)]
        if not value.inputs:
            if value.grad is None:
                value.grad = gradient
            else:
                value.grad += gradient
        else:
            for each, part in zip(value.inputs, value.rule(gradient)):
                total[id(each)] += part
# %% exercise="walk_nodes" verdict="refused" mistake="loses_a_single_path"
# each rule gets ones in place of its gradient
def walk_nodes(root):
    waits = {}
    stack, seen = [root], {id(root)}
    while stack:
        value = stack.pop()
        for each in value.inputs:
            waits[id(each)] = waits.get(id(each), 0) + 1
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
        for each, part in zip(value.inputs, value.rule(torch.ones_like(value.data))):
            key = id(each)
            gradients[key] = gradients[key] + part if key in gradients else part
            waits[key] -= 1
            if waits[key] == 0:
                ready.append(each)
# %% exercise="walk_nodes" verdict="refused" mistake="counts_edges_again"
# edges counted again at each visit
def walk_nodes(root):
    waits = {}
    stack = [root]
    while stack:
        value = stack.pop()
        for each in value.inputs:
            waits[id(each)] = waits.get(id(each), 0) + 1
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
            gradients[key] = gradients[key] + part if key in gradients else part
            waits[key] -= 1
            if waits[key] == 0:
                ready.append(each)
# %%
import torch
from torch.nn.functional import cross_entropy, mse_loss
from torch.utils.checkpoint import checkpoint
# %% exercise="four_rules" verdict="refused" mistake="divides_the_result"
# divides the result by the other factor
def four_rules():
    return {"*": lambda g, out, a, b: (g * out / a, g * out / b), "@": lambda g, out, a, b: (g @ b.t(), a.t() @ g), "sum": lambda g, out, a: (g.expand(a.shape),), "tanh": lambda g, out, a: (g * (1 - out * out),)}
# %% exercise="four_rules" verdict="refused" mistake="divides_beside_zero"
# the same, with a small number beside the factor
def four_rules():
    return {"*": lambda g, out, a, b: (g * out / (a+1e-12), g * out / (b+1e-12)), "@": lambda g, out, a, b: (g @ b.t(), a.t() @ g), "sum": lambda g, out, a: (g.expand(a.shape),), "tanh": lambda g, out, a: (g * (1 - out * out),)}
