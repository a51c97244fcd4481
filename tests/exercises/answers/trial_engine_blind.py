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
# %% exercise="four_rules" verdict="passed" mistake=""
def four_rules():
    def product(g, out, a, b):
        return g @ b.T, a.T @ g

    return {
        "+": lambda g, out, a, b: (g, g),
        "*": lambda g, out, a, b: (g * b, g * a),
        "@": product,
        "sum": lambda g, out, a: (g.expand(a.shape),),
        "tanh": lambda g, out, a: (g * (1 - out**2),),
    }
# %% exercise="four_rules" verdict="passed" mistake=""
def four_rules():
    return {
        "+": lambda g, out, a, b: (g, g),
        "*": lambda g, out, a, b: (torch.mul(b, g), torch.mul(a, g)),
        "@": lambda g, out, a, b: (torch.einsum("ij,kj->ik", g, b), torch.einsum("ki,kj->ij", a, g)),
        "sum": lambda g, out, a: (torch.ones_like(a) * g,),
        "tanh": lambda g, out, a: (g / torch.cosh(a) ** 2,),
    }
# %% exercise="four_rules" verdict="refused"
# the product's factors as in the numbers' rule: transposed, but on the wrong sides
def four_rules():
    return {
        "+": lambda g, out, a, b: (g, g),
        "*": lambda g, out, a, b: (g * b, g * a),
        "@": lambda g, out, a, b: (b.t() @ g, g @ a.t()),
        "sum": lambda g, out, a: (g.expand(a.shape),),
        "tanh": lambda g, out, a: (g * (1 - out * out),),
    }
# %% exercise="four_rules" verdict="refused"
# 1 - a * a: the input where the result belongs
def four_rules():
    return {
        "+": lambda g, out, a, b: (g, g),
        "*": lambda g, out, a, b: (g * b, g * a),
        "@": lambda g, out, a, b: (g @ b.t(), a.t() @ g),
        "sum": lambda g, out, a: (g.expand(a.shape),),
        "tanh": lambda g, out, a: (g * (1 - a * a),),
    }
# %% exercise="four_rules" verdict="refused"
# no comma: a tensor instead of a tuple
def four_rules():
    return {
        "+": lambda g, out, a, b: (g, g),
        "*": lambda g, out, a, b: (g * b, g * a),
        "@": lambda g, out, a, b: (g @ b.t(), a.t() @ g),
        "sum": lambda g, out, a: (g.expand(a.shape)),
        "tanh": lambda g, out, a: (g * (1 - out * out)),
    }
# %% exercise="four_rules" verdict="refused"
# local derivatives: no chain rule in sum and tanh
def four_rules():
    return {
        "+": lambda g, out, a, b: (g, g),
        "*": lambda g, out, a, b: (g * b, g * a),
        "@": lambda g, out, a, b: (g @ b.t(), a.t() @ g),
        "sum": lambda g, out, a: (torch.ones_like(a),),
        "tanh": lambda g, out, a: (1 - out * out,),
    }
# %% exercise="four_rules" verdict="refused"
# the factors of the product are each input's own; the sum's gradient stays a number
def four_rules():
    return {
        "+": lambda g, out, a, b: (g, g),
        "*": lambda g, out, a, b: (g * a, g * b),
        "@": lambda g, out, a, b: (g @ b.t(), a.t() @ g),
        "sum": lambda g, out, a: (g,),
        "tanh": lambda g, out, a: (g * (1 - out * out),),
    }
# %% exercise="unbroadcast" verdict="passed" mistake=""
def unbroadcast(gradient, shape):
    while gradient.dim() > len(shape):
        gradient = gradient.sum(0)
    for dim, size in enumerate(shape):
        if size == 1:
            gradient = gradient.sum(dim, keepdim=True)
    return gradient
# %% exercise="unbroadcast" verdict="passed" mistake=""
def unbroadcast(gradient, shape):
    return gradient.sum_to_size(shape)
# %% exercise="unbroadcast" verdict="refused"
# only new dimensions are summed
def unbroadcast(gradient, shape):
    while gradient.dim() > len(shape):
        gradient = gradient.sum(0)
    return gradient
# %% exercise="unbroadcast" verdict="refused"
# without keepdim the dimension of size 1 is lost
def unbroadcast(gradient, shape):
    while gradient.dim() > len(shape):
        gradient = gradient.sum(0)
    for dim, size in reversed(list(enumerate(shape))):
        if size == 1:
            gradient = gradient.sum(dim)
    return gradient
# %% exercise="unbroadcast" verdict="refused"
# sum over an empty list of dimensions sums everything
def unbroadcast(gradient, shape):
    extra = gradient.dim() - len(shape)
    dims = [d for d in range(gradient.dim()) if d < extra or shape[d - extra] != gradient.shape[d]]
    return gradient.sum(dims, keepdim=True).reshape(shape) if dims or gradient.dim() else gradient.sum(dims)
# %% exercise="unbroadcast" verdict="refused"
# the same without a guard
def unbroadcast(gradient, shape):
    extra = gradient.dim() - len(shape)
    dims = tuple(range(extra)) + tuple(extra + i for i, n in enumerate(shape) if n != gradient.shape[extra + i])
    summed = gradient.sum(dim=dims, keepdim=True)
    return summed if not extra else summed.squeeze(tuple(range(extra)))
# %% exercise="unbroadcast" verdict="refused"
# rows of copies: right only where all copies come from new leading dimensions
def unbroadcast(gradient, shape):
    return gradient.reshape(-1, *shape).sum(0)
# %% exercise="unbroadcast" verdict="refused"
# the mean over the copies
def unbroadcast(gradient, shape):
    while gradient.dim() > len(shape):
        gradient = gradient.mean(0)
    for dim, size in enumerate(shape):
        if size == 1:
            gradient = gradient.mean(dim, keepdim=True)
    return gradient
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
# %% exercise="walk_nodes" verdict="refused"
# right order, but found by recursion
def walk_nodes(root):
    order, seen = [], set()

    def visit(value):
        if id(value) not in seen:
            seen.add(id(value))
            for each in value.inputs:
                visit(each)
            order.append(value)

    visit(root)
    gradients = {id(root): torch.ones_like(root.data)}
    for value in reversed(order):
        gradient = gradients.pop(id(value))
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
        else:
            for each, part in zip(value.inputs, value.rule(gradient)):
                gradients[id(each)] = gradients[id(each)] + part if id(each) in gradients else part
# %% exercise="walk_nodes" verdict="refused"
# a stack instead of recursion, every path still walked
def walk_nodes(root):
    stack = [(root, torch.ones_like(root.data))]
    while stack:
        value, gradient = stack.pop()
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
        else:
            stack.extend(zip(value.inputs, value.rule(gradient)))
# %% exercise="walk_nodes" verdict="refused"
# sums in place: the rule's own tensor, maybe the gradient of somebody else, is changed
def walk_nodes(root):
    gradients = {id(root): torch.ones_like(root.data)}
    for value in topological(root):
        gradient = gradients.pop(id(value))
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
        else:
            for each, part in zip(value.inputs, value.rule(gradient)):
                if id(each) in gradients:
                    gradients[id(each)] += part
                else:
                    gradients[id(each)] = part
# %% exercise="walk_nodes" verdict="refused"
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
# %% exercise="walk_nodes" verdict="refused"
# no copy: the leaves of an addition share a gradient
def walk_nodes(root):
    gradients = {id(root): torch.ones_like(root.data)}
    for value in topological(root):
        gradient = gradients.pop(id(value))
        if value.rule is None:
            value.grad = gradient if value.grad is None else value.grad + gradient
        else:
            for each, part in zip(value.inputs, value.rule(gradient)):
                gradients[id(each)] = gradients[id(each)] + part if id(each) in gradients else part
# %% exercise="walk_nodes" verdict="refused"
# .grad as the place for sums: results keep one, and an old gradient of a leaf is lost
def walk_nodes(root):
    order = topological(root)
    for value in order:
        value.grad = torch.zeros_like(value.data)
    root.grad = torch.ones_like(root.data)
    for value in order:
        if value.rule is not None:
            for each, part in zip(value.inputs, value.rule(value.grad)):
                each.grad = each.grad + part
# %% exercise="walk_nodes" verdict="refused"
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
# %% exercise="hooks_and_freeing" verdict="passed" mistake=""
def hooks_and_freeing(root, retain_graph=False):
    def gone(gradient):
        raise RuntimeError("Trying to backward through the graph a second time")

    waits, found = {root: 0}, [root]
    for value in found:
        for each in value.inputs:
            if each not in waits:
                found.append(each)
            waits[each] = waits.get(each, 0) + 1
    sums, ready = {root: torch.ones_like(root.data)}, [root]
    while ready:
        value = ready.pop()
        gradient = sums.pop(value)
        for hook in list(value.hooks):
            result = hook(gradient)
            gradient = gradient if result is None else result
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            sums[each] = part if each not in sums else sums[each] + part
            waits[each] -= 1
            if not waits[each]:
                ready.append(each)
        if not retain_graph:
            value.inputs, value.rule = (), gone
# %% exercise="hooks_and_freeing" verdict="refused"
# a hook runs for every part that arrives
def hooks_and_freeing(root, retain_graph=False):
    def hooked(value, gradient):
        for hook in value.hooks:
            changed = hook(gradient)
            gradient = gradient if changed is None else changed
        return gradient

    order = topological(root)
    if any(value.inputs is None for value in order):
        raise RuntimeError("this graph has been freed")
    gradients = {id(root): hooked(root, torch.ones_like(root.data))}
    for value in order:
        gradient = gradients.pop(id(value))
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            part = hooked(each, part)
            gradients[id(each)] = gradients[id(each)] + part if id(each) in gradients else part
        if not retain_graph:
            value.inputs = value.rule = None
# %% exercise="hooks_and_freeing" verdict="refused"
# what a hook returns is seen by the rule and by .grad, but not by the next hook
def hooks_and_freeing(root, retain_graph=False):
    order = topological(root)
    if any(value.inputs is None for value in order):
        raise RuntimeError("this graph has been freed")
    gradients = {id(root): torch.ones_like(root.data)}
    for value in order:
        gradient = whole = gradients.pop(id(value))
        for hook in value.hooks:
            changed = hook(whole)
            if changed is not None:
                gradient = changed
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            gradients[id(each)] = gradients[id(each)] + part if id(each) in gradients else part
        if not retain_graph:
            value.inputs = value.rule = None
# %% exercise="hooks_and_freeing" verdict="refused"
# a freed value looks like a leaf: the second walk says nothing
def hooks_and_freeing(root, retain_graph=False):
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
            value.inputs, value.rule = (), None
# %% exercise="hooks_and_freeing" verdict="refused"
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
# %% exercise="hooks_and_freeing" verdict="refused"
# only the rule is forgotten: the values still hold each other
def hooks_and_freeing(root, retain_graph=False):
    order = topological(root)
    if any(value.rule is None and value.inputs for value in order):
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
            value.rule = None
# %% exercise="hooks_and_freeing" verdict="refused"
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
# %% exercise="hooks_and_freeing" verdict="refused"
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
# %% exercise="own_engine" verdict="refused"
# the factors of a product are each input's own
class Value(Sound):
    def __mul__(self, other):
        a, b = self.data.shape, other.data.shape
        return self.new(
            self.data * other.data, (self, other), lambda g, out: ((g * self).like(a), (g * other).like(b))
        )
# %% exercise="own_engine" verdict="refused"
# copies along a dimension of size 1 are not summed, only sliced off
class Value(Sound):
    def like(self, shape):
        mine, data = self.data.shape, self.data
        while data.dim() > len(shape):
            data = data.sum(0)
        for dim, size in enumerate(shape):
            data = data.narrow(dim, 0, size)
        return self.new(data, (self,), lambda g, out: (g.expand(mine),))
# %% exercise="own_engine" verdict="refused"
# back to the shape on bare tensors: second derivatives stop there
class Value(Sound):
    def like(self, shape):
        return self.new(self.data.sum_to_size(tuple(shape)))
# %% exercise="own_engine" verdict="refused"
# bare only where something is summed: second derivatives stop at broadcasting
class Value(Sound):
    def like(self, shape):
        return self if self.data.shape == tuple(shape) else self.new(self.data.sum_to_size(tuple(shape)))
# %% exercise="own_engine" verdict="refused"
# the rule of tanh computes with numbers
class Value(Sound):
    def tanh(self):
        return self.new(self.data.tanh(), (self,), lambda g, out: (g * self.new(1 - out.data**2),))
# %% exercise="own_engine" verdict="refused"
# the rule of exp computes with the saved number
class Value(Sound):
    def exp(self):
        return self.new(self.data.exp(), (self,), lambda g, out: (g * self.new(out.data),))
# %% exercise="own_engine" verdict="refused"
# the rule of @ computes with numbers
class Value(Sound):
    def __matmul__(self, other):
        def rule(g, out):
            return g @ self.new(other.data.t()), self.new(self.data.t()) @ g

        return self.new(self.data @ other.data, (self, other), rule)
# %% exercise="own_engine" verdict="refused"
# the rule of sum gives a constant
class Value(Sound):
    def sum(self):
        return self.new(self.data.sum(), (self,), lambda g, out: (self.new(g.data.expand(self.data.shape)),))
# %% exercise="own_engine" verdict="refused"
# create_graph=True frees the graph unless retain_graph=True is said, too
class Value(Sound):
    def backward(self, retain_graph=False, create_graph=False):
        super().backward(retain_graph, create_graph)
        if create_graph and not retain_graph:
            for value in self.order():
                if value.rule is not None:
                    value.free()
# %% exercise="own_engine" verdict="refused"
# a second gradient is added as numbers, with create_graph=True as well
class Value(Sound):
    def accumulate(self, g, create_graph):
        if self.grad is not None:
            g = self.new(self.grad.data + g.data)
        self.grad = g if create_graph else self.new(g.data.clone())
# %% exercise="own_engine" verdict="refused"
# an ordinary pass leaves its graph behind the gradient
class Value(Sound):
    def accumulate(self, g, create_graph):
        self.grad = g if self.grad is None else self.grad + g

    def backward(self, retain_graph=False, create_graph=False):
        order = self.order()
        self.checked(order)
        pending = {id(self): self.seed()}
        for value in order:
            g = value.hooked(pending.pop(id(value)), True)
            if value.rule is None:
                value.accumulate(g, True)
                continue
            for each, part in zip(value.inputs, value.rule(g, value)):
                pending[id(each)] = pending[id(each)] + part if id(each) in pending else part
            if not (retain_graph or create_graph):
                value.free()
# %% exercise="own_engine" verdict="refused"
# the next hook gets the first gradient again
class Value(Sound):
    def hooked(self, g, create_graph):
        last = g
        for hook in self.hooks:
            changed = hook(g)
            last = last if changed is None else changed
        return last
# %% exercise="own_engine" verdict="refused"
# hooks in the reverse order
class Value(Sound):
    def register_hook(self, hook):
        self.hooks.insert(0, hook)
# %% exercise="own_engine" verdict="refused"
# one hook a value: the second replaces the first
class Value(Sound):
    def register_hook(self, hook):
        self.hooks = [hook]
# %% exercise="own_engine" verdict="refused"
# a hook is gone after its first pass
class Value(Sound):
    def hooked(self, g, create_graph):
        g = super().hooked(g, create_graph)
        self.hooks = []
        return g
# %% exercise="own_engine" verdict="refused"
# a hook only looks: what it returns is dropped at leaves
class Value(Sound):
    def hooked(self, g, create_graph):
        changed = super().hooked(g, create_graph)
        return g if self.rule is None else changed
# %% exercise="own_engine" verdict="refused"
# a hook gets a bare tensor
class Value(Sound):
    def hooked(self, g, create_graph):
        for hook in self.hooks:
            changed = hook(g.data)
            if changed is not None:
                g = changed if isinstance(changed, Value) else self.new(changed)
        return g
# %% exercise="own_engine" verdict="refused"
# a hook's result is cut off although create_graph=True
class Value(Sound):
    def hooked(self, g, create_graph):
        return super().hooked(g, False)
# %% exercise="own_engine" verdict="refused"
# only the root is freed
class Value(Sound):
    def backward(self, retain_graph=False, create_graph=False):
        super().backward(True, create_graph)
        if not (retain_graph or create_graph):
            self.free()
# %% exercise="own_engine" verdict="refused"
# only the root is asked: a shared result that was freed counts as a leaf
class Value(Sound):
    freed = False

    def free(self):
        self.inputs, self.rule, self.freed = (), None, True

    def checked(self, order):
        if self.freed:
            raise RuntimeError("freed")
# %% exercise="own_engine" verdict="refused"
# nobody notices a second pass
class Value(Sound):
    def free(self):
        self.inputs, self.rule = (), None
# %% exercise="own_engine" verdict="refused"
# the second pass raises, but ValueError
class Value(Sound):
    def checked(self, order):
        if any(each.inputs is None for each in order):
            raise ValueError("freed")
# %% exercise="own_engine" verdict="refused"
# results keep a gradient, too
class Value(Sound):
    def hooked(self, g, create_graph):
        g = super().hooked(g, create_graph)
        if self.rule is not None:
            self.accumulate(g, create_graph)
        return g
# %% exercise="own_engine" verdict="refused"
# a second pass overwrites .grad
class Value(Sound):
    def accumulate(self, g, create_graph):
        self.grad = g if create_graph else self.new(g.data.clone())
# %% exercise="own_engine" verdict="refused"
# no copy: leaves of an addition share memory
class Value(Sound):
    def accumulate(self, g, create_graph):
        if create_graph:
            self.grad = g if self.grad is None else self.grad + g
        else:
            self.grad = self.new(g.data if self.grad is None else self.grad.data + g.data)
# %% exercise="own_engine" verdict="refused"
# an expanded gradient is copied by a view: .contiguous() copies only what is strided
class Value(Sound):
    def accumulate(self, g, create_graph):
        if create_graph:
            self.grad = g if self.grad is None else self.grad + g
        else:
            self.grad = self.new(g.data.contiguous() if self.grad is None else self.grad.data + g.data)
# %% exercise="own_engine" verdict="refused"
# adds in place to the gradient that somebody has kept, also where it is part of a graph
class Value(Sound):
    def accumulate(self, g, create_graph):
        if self.grad is None:
            self.grad = g if create_graph else self.new(g.data.clone())
        else:
            self.grad.data += g.data
# %% exercise="own_engine" verdict="refused"
# the order is found by recursion
class Value(Sound):
    def order(self):
        order, seen = [], set()

        def visit(value):
            if id(value) not in seen:
                seen.add(id(value))
                for each in value.inputs or ():
                    visit(each)
                order.append(value)

        visit(self)
        return order[::-1]
# %% exercise="own_engine" verdict="refused"
# preorder: a value comes before a later user of it
class Value(Sound):
    def backward(self, retain_graph=False, create_graph=False):
        order, stack = [], [self]
        while stack:
            value = stack.pop()
            if value not in order:
                order.append(value)
                stack.extend(value.inputs or ())
        self.checked(order)
        pending = {id(self): self.seed()}
        for value in order:
            g = value.hooked(pending.pop(id(value), self.seed()), create_graph)
            if value.rule is None:
                value.accumulate(g, create_graph)
                continue
            for each, part in zip(value.inputs, value.rule(g, value)):
                pending[id(each)] = pending[id(each)] + part if id(each) in pending else part
            if not (retain_graph or create_graph):
                value.free()
# %% exercise="own_engine" verdict="refused"
# the pass begins with a number, whatever the shape of the root
class Value(Sound):
    def seed(self):
        return self.new(torch.tensor(1.0, dtype=torch.float64))
# %% exercise="own_engine" verdict="refused"
# the pass begins in float32
class Value(Sound):
    def seed(self):
        return self.new(torch.ones(self.data.shape))
# %% exercise="own_engine" verdict="refused"
# + forgets that it broadcasts, * does not
class Value(Sound):
    def __add__(self, other):
        return self.new(self.data + other.data, (self, other), lambda g, out: (g, g))
# %% exercise="own_engine" verdict="refused"
# expand gives back the mean of the copies
class Value(Sound):
    def expand(self, shape):
        mine, n = self.data.shape, self.data.numel() / max(1, self.data.expand(shape).numel())

        def rule(g, out):
            return ((g * self.new(torch.tensor(n, dtype=torch.float64))).like(mine),)

        return self.new(self.data.expand(shape), (self,), rule)
# %% exercise="own_engine" verdict="refused"
# t() in reshape's clothes: elements in the wrong order
class Value(Sound):
    def t(self):
        return self.new(self.data.t(), (self,), lambda g, out: (g.reshape(self.data.shape),))
# %% exercise="own_engine" verdict="refused"
# the parts stay with the value: a second retained pass adds to those of the first
class Value(Sound):
    def backward(self, retain_graph=False, create_graph=False):
        order = self.order()
        self.checked(order)
        self.total = self.seed()
        for value in order:
            g = value.hooked(value.total, create_graph)
            if value.rule is None:
                value.accumulate(g, create_graph)
                value.total = None
                continue
            for each, part in zip(value.inputs, value.rule(g, value)):
                part = part if create_graph else self.new(part.data)
                old = getattr(each, "total", None)
                total = part if old is None else old + part
                each.total = total if create_graph else self.new(total.data)
            if not (retain_graph or create_graph):
                value.free()
# %% exercise="own_engine" verdict="refused"
# one tape for all: values never leave memory, and every leaf of the program gets a gradient
class Value(Sound):
    tape = []

    def __init__(self, data, inputs=(), rule=None):
        super().__init__(data, inputs, rule)
        if inputs:
            Value.tape.append(self)
# %% exercise="own_engine" verdict="refused"
# leaves are freed, too
class Value(Sound):
    def backward(self, retain_graph=False, create_graph=False):
        order = self.order()
        super().backward(retain_graph, create_graph)
        if not (retain_graph or create_graph):
            for each in order:
                each.inputs = None
# %% exercise="own_engine" verdict="refused"
# values hold each other in a circle, and a collection of garbage hides that
class Value(Sound):
    def __init__(self, data, inputs=(), rule=None):
        super().__init__(data, inputs, rule)
        self.me = self

    def backward(self, retain_graph=False, create_graph=False):
        import gc

        super().backward(retain_graph, create_graph)
        gc.collect()
# %% exercise="own_engine" verdict="refused"
# the node knows its result: a circle until garbage is collected
class Value(Sound):
    def __init__(self, data, inputs=(), rule=None):
        super().__init__(data, inputs, rule)
        self.node = (self,)
# %% exercise="own_engine" verdict="refused"
# torch does the second derivative of tanh
class Value(Sound):
    def tanh(self):
        def rule(g, out):
            x = self.data.clone().requires_grad_()
            return (g * self.new(torch.autograd.grad(x.tanh().sum(), x)[0]),)

        return self.new(self.data.tanh(), (self,), rule)
# %% exercise="own_engine" verdict="refused"
# hooks are kept with the graph and freed with it: a leaf's second program has none
class Value(Sound):
    def backward(self, retain_graph=False, create_graph=False):
        order = self.order()
        super().backward(retain_graph, create_graph)
        if not (retain_graph or create_graph):
            for each in order:
                each.hooks = []
# %% exercise="own_engine" verdict="refused"
# a hook runs for every part
class Value(Sound):
    def backward(self, retain_graph=False, create_graph=False):
        order = self.order()
        self.checked(order)
        pending = {id(self): self.hooked(self.seed(), create_graph)}
        for value in order:
            g = pending.pop(id(value))
            if value.rule is None:
                value.accumulate(g, create_graph)
                continue
            for each, part in zip(value.inputs, value.rule(g, value)):
                part = each.hooked(part, create_graph)
                total = pending[id(each)] + part if id(each) in pending else part
                pending[id(each)] = total if create_graph else self.new(total.data)
            if not (retain_graph or create_graph):
                value.free()
