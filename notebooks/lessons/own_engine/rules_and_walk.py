def four_rules():
    """A dict from operation to rule: from the gradient of the result to one gradient for each input."""
    return {
        "+": lambda g, out, a, b: (g, g),
        "*": lambda g, out, a, b: (g * b, g * a),
        "@": lambda g, out, a, b: (g @ b.t(), a.t() @ g),
        "sum": lambda g, out, a: (g.expand(a.shape),),
        "tanh": lambda g, out, a: (g * (1 - out * out),),
    }


def walk_nodes(root):
    """Add to `.grad` of each leaf behind `root`: each rule runs once, when its gradient is complete."""
    waits_for, todo = {root: 0}, [root]
    while todo:
        for each in todo.pop().inputs:
            if each not in waits_for:
                waits_for[each] = 0
                todo.append(each)
            waits_for[each] += 1
    arrived, may_run = {root: torch.ones_like(root.data)}, [root]
    while may_run:
        value = may_run.pop()
        gradient = arrived.pop(value)
        if value.rule is None:  # a leaf
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            arrived[each] = arrived[each] + part if each in arrived else part
            waits_for[each] -= 1
            if waits_for[each] == 0:
                may_run.append(each)
