def free_as_you_walk(root, retain_graph=False):
    def refuse(gradient):
        raise RuntimeError("a second walk through a freed graph: retain_graph=True for the first would keep it")

    waits_for, todo = {root: 0}, [root]
    while todo:
        for each in todo.pop().inputs:
            if each not in waits_for:
                waits_for[each] = 0
                todo.append(each)
            waits_for[each] += 1
    each, arrived, may_run = None, {root: torch.ones_like(root.data)}, [root]
    while may_run:
        value = may_run.pop()
        gradient = arrived.pop(value)
        del waits_for[value]  # a key holds its value, too
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            arrived[each] = arrived[each] + part if each in arrived else part
            waits_for[each] -= 1
            if waits_for[each] == 0:
                may_run.append(each)
        if not retain_graph:
            value.inputs, value.rule = (), refuse
