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


def add(arrived, each, part):
    arrived[each] = arrived[each] + part if each in arrived else part


def walk(root, order=in_order, keep=keep, add=add):
    arrived = {root: torch.ones_like(root.data)}
    for value in order(root):
        gradient = arrived.pop(value, None)
        if gradient is None:
            continue
        if value.rule is None:
            keep(value, gradient)
        else:
            for each, part in zip(value.inputs, value.rule(gradient)):
                add(arrived, each, part)

# %% mistake="walks_every_path" theme="cost"
# The gradients are right, but each path was walked on its own: a rule runs once for every path that leads to its value.
# Градиенты верны, но каждый путь пройден отдельно: правило выполняется столько раз, сколько путей ведёт к его значению.
def walk_nodes(root):
    todo = [(root, torch.ones_like(root.data))]
    while todo:
        value, gradient = todo.pop()
        if value.rule is None:
            keep(value, gradient)
        else:
            todo += zip(value.inputs, value.rule(gradient))

# %% mistake="goes_depth_first" theme="order"
# Each rule ran once, but depth first: some ran before all parts of their gradient had arrived.
# Каждое правило выполнено один раз, но обход идёт в глубину: некоторые сработали раньше, чем пришли все части их
#     градиента.
def walk_nodes(root):
    seen = set()

    def order(root):
        todo = [root]
        while todo:
            value = todo.pop()
            if value not in seen:
                seen.add(value)
                yield value
                todo.extend(reversed(value.inputs))

    walk(root, order)

# %% mistake="recurses" theme="own"
# The walk calls itself for each input. Python allows about a thousand calls inside each other, a chain may be longer.
# Обход вызывает сам себя для каждого входа. Python допускает около тысячи вложенных вызовов, а цепочка бывает длиннее.
def walk_nodes(root):
    order, seen = [], set()

    def visit(value):
        if value not in seen:
            seen.add(value)
            for each in value.inputs:
                visit(each)
            order.append(value)

    visit(root)
    walk(root, lambda root: reversed(order))

# %% mistake="assigns_where_paths_meet" theme="accumulation"
# Where paths meet, the last part takes the place of the earlier ones. They have to be added.
# Там, где пути сходятся, последняя часть заменяет прежние. Их нужно складывать.
def walk_nodes(root):
    walk(root, add=lambda arrived, each, part: arrived.update({each: part}))

# %% mistake="keeps_the_first_part" theme="accumulation"
# Where paths meet, the first part stays and the others are dropped. They have to be added.
# Там, где пути сходятся, остаётся первая часть, а остальные отброшены. Их нужно складывать.
def walk_nodes(root):
    walk(root, add=lambda arrived, each, part: arrived.setdefault(each, part))

# %% mistake="counts_a_square_once" theme="accumulation"
# A value that one operation uses twice gets one of its two parts: in `x * x` they have to be added, too.
# Значение, которое одна операция использует дважды, получает одну из двух частей: в `x * x` их тоже нужно сложить.
def walk_nodes(root):
    arrived = {root: torch.ones_like(root.data)}
    for value in in_order(root):
        gradient = arrived.pop(value)
        if value.rule is None:
            keep(value, gradient)
        else:
            for each, part in dict(zip(value.inputs, value.rule(gradient))).items():
                add(arrived, each, part)

# %% mistake="adds_in_place" theme="in_place"
# Parts are added in place. The rule of `+` hands one tensor to both inputs, so an addition for one changes the other's
#     gradient.
# Части складываются на месте. Правило для `+` отдаёт обоим входам один тензор, и прибавление для одного входа меняет
#     градиент другого.
def walk_nodes(root):
    def in_place(arrived, each, part):
        if each in arrived:
            arrived[each] += part
        else:
            arrived[each] = part

    walk(root, add=in_place)

# %% mistake="overwrites_the_leaf" theme="accumulation"
# A walk writes over the `.grad` of a leaf. It has to add to what is there.
# Обход записывает `.grad` листа поверх прежнего. Нужно прибавлять к тому, что там есть.
def walk_nodes(root):
    walk(root, keep=lambda leaf, gradient: setattr(leaf, "grad", gradient.clone()))

# %% mistake="shares_the_gradient" theme="in_place"
# Leaves share one gradient. The rule of `+` hands the same tensor to both inputs, and each leaf needs a copy.
# У листьев общий градиент. Правило для `+` отдаёт обоим входам один и тот же тензор, и каждому листу нужна копия.
def walk_nodes(root):
    walk(root, keep=lambda leaf, g: setattr(leaf, "grad", g if leaf.grad is None else leaf.grad + g))

# %% mistake="leaves_sums_at_results" theme="accumulation"
# Results keep their gradient in `.grad`, and the next walk adds to it: it sends on what the last one had sent.
# Результаты хранят свой градиент в `.grad`, и следующий обход прибавляет к нему: дальше снова уходит то, что уже было
#     отправлено.
def walk_nodes(root):
    keep(root, torch.ones_like(root.data))
    for value in in_order(root):
        if value.rule is not None:
            for each, part in zip(value.inputs, value.rule(value.grad)):
                keep(each, part)
