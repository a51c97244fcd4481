# %%
import torch


def in_order(root):
    """Return the values behind `root`, each after all that use it."""
    waits, todo = {root: 0}, [root]
    while todo:
        for each in todo.pop().inputs:
            if each not in waits:
                waits[each] = 0
                todo.append(each)
            waits[each] += 1
    order = [root]
    for value in order:  # grows while it is walked
        for each in value.inputs:
            waits[each] -= 1
            if waits[each] == 0:
                order.append(each)
    return order


def keep(leaf, gradient):
    leaf.grad = gradient.clone() if leaf.grad is None else leaf.grad + gradient


def after_hooks(value, gradient):
    for hook in value.hooks:
        replaced = hook(gradient)
        gradient = gradient if replaced is None else replaced
    return gradient


def refuse(gradient):
    raise RuntimeError("this graph has been freed")


def leave(value):
    value.inputs, value.rule = (), refuse


def walk(root, retain_graph, after_hooks=after_hooks, leave=leave):
    arrived = {root: torch.ones_like(root.data)}
    for value in in_order(root):
        gradient = after_hooks(value, arrived.pop(value))
        if value.rule is None:
            keep(value, gradient)
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            arrived[each] = arrived[each] + part if each in arrived else part
        if not retain_graph:
            leave(value)

# %% mistake="calls_hooks_per_part" theme="order"
# A hook was called for each part that arrives. It should be called once, when all parts have been added.
# Хук вызван для каждой пришедшей части. Он должен быть вызван один раз, когда все части сложены.
def hooks_and_freeing(root, retain_graph=False):
    arrived = {root: after_hooks(root, torch.ones_like(root.data))}
    for value in in_order(root):
        gradient = arrived.pop(value)
        if value.rule is None:
            keep(value, gradient)
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            part = after_hooks(each, part)
            arrived[each] = arrived[each] + part if each in arrived else part
        if not retain_graph:
            leave(value)

# %% mistake="ignores_the_replacement" theme="return"
# Hooks are called, but what they return is dropped. It should take the gradient's place.
# Хуки вызываются, но возвращённое ими отбрасывается. Оно должно заменить градиент.
def hooks_and_freeing(root, retain_graph=False):
    def only_called(value, gradient):
        for hook in value.hooks:
            hook(gradient)
        return gradient

    walk(root, retain_graph, only_called)

# %% mistake="hooks_see_the_first" theme="order"
# Every hook of a value gets the gradient as it arrived. A second hook should get what the first has returned.
# Каждый хук значения получает градиент таким, каким он пришёл. Второй хук должен получить то, что вернул первый.
def hooks_and_freeing(root, retain_graph=False):
    def side_by_side(value, gradient):
        found = [replaced for hook in value.hooks if (replaced := hook(gradient)) is not None]
        return found[-1] if found else gradient

    walk(root, retain_graph, side_by_side)

# %% mistake="skips_leaves" theme="missing"
# Hooks of leaves are never called. A leaf is a value like any other.
# Хуки листьев не вызываются. Лист — такое же значение, как любое другое.
def hooks_and_freeing(root, retain_graph=False):
    walk(root, retain_graph, lambda value, g: g if value.rule is None else after_hooks(value, g))

# %% mistake="hooks_after_the_leaf" theme="order"
# A hook of a leaf runs after `.grad` has been written, so what it returns comes too late.
# Хук листа выполняется после записи в `.grad`, и возвращённое им значение опаздывает.
def hooks_and_freeing(root, retain_graph=False):
    def late(value, gradient):
        replaced = after_hooks(value, gradient)
        return gradient if value.rule is None else replaced

    walk(root, retain_graph, late)

# %% mistake="frees_nothing" theme="graph_life"
# After a walk everything is still in memory, and a second walk runs without `retain_graph=True`.
# После обхода всё остаётся в памяти, и второй обход возможен без `retain_graph=True`.
def hooks_and_freeing(root, retain_graph=False):
    walk(root, retain_graph=True)

# %% mistake="refuses_only" theme="graph_life"
# A second walk is refused, but the results are still in memory: the root holds its inputs, and these hold theirs.
# Второй обход отклоняется, но результаты остаются в памяти: корень удерживает свои входы, а те — свои.
def hooks_and_freeing(root, retain_graph=False):
    walk(root, retain_graph, leave=lambda value: setattr(value, "rule", refuse))

# %% mistake="frees_in_silence" theme="graph_life"
# The results are gone, but a second walk says nothing: it ends at the root. It should raise a RuntimeError.
# Результаты освобождены, но второй обход об этом молчит: он заканчивается в корне. Нужна ошибка RuntimeError.
def hooks_and_freeing(root, retain_graph=False):
    def forget(value):
        value.inputs, value.rule = (), lambda gradient: ()

    walk(root, retain_graph, leave=forget)

# %% mistake="ignores_retain_graph" theme="graph_life"
# `retain_graph=True` changes nothing: the first walk frees what the second needs.
# `retain_graph=True` ничего не меняет: первый обход освобождает то, что нужно второму.
def hooks_and_freeing(root, retain_graph=False):
    walk(root, retain_graph=False)

# %% mistake="clears_the_leaves" theme="accumulation"
# A walk clears the gradients of leaves before it begins. Further walks have to add to them.
# Перед началом обход очищает градиенты листьев. Следующие обходы должны к ним прибавлять.
def hooks_and_freeing(root, retain_graph=False):
    for value in in_order(root):
        value.grad = None
    walk(root, retain_graph)
