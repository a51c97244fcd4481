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


def walk(root, order=in_order, keep=keep, add=add, seed=None):
    arrived = {root: torch.ones_like(root.data) if seed is None else seed}
    for value in order(root):
        gradient = arrived.pop(value, None)
        if gradient is None:
            continue
        if value.rule is None:
            keep(value, gradient)
        else:
            for each, part in zip(value.inputs, value.rule(gradient)):
                add(arrived, each, part)

# %% mistake="loses_a_single_path" theme="order"
# Even along a single path the right gradient does not arrive. The walk begins with ones at the root, and each rule gets
#     the gradient of its own result.
# Даже по единственному пути верный градиент не доходит. Обход должен начинаться с единиц в корне, а каждое правило —
#     получать градиент своего результата.
def walk_nodes(root):
    walk(root, order=lambda root: reversed(in_order(root)))

# %% mistake="walks_every_path" theme="cost"
# The gradients are right, but a rule runs anew for each part that arrives, at worst once for every path that leads to its
#     value.
# Градиенты верны, но правило выполняется заново для каждой пришедшей части, в худшем случае — столько раз, сколько путей
#     ведёт к его значению.
def walk_nodes(root):
    todo = [(root, torch.ones_like(root.data))]
    while todo:
        value, gradient = todo.pop()
        if value.rule is None:
            keep(value, gradient)
        else:
            todo += zip(value.inputs, value.rule(gradient))

# %% mistake="goes_depth_first" theme="order"
# Some rules run before all parts of their gradient have arrived, and what arrives later is lost. So it is in a walk that
#     goes depth first.
# Некоторые правила срабатывают раньше, чем пришли все части их градиента, и пришедшее позже теряется. Так бывает, когда
#     обход идёт в глубину.
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

# %% mistake="goes_breadth_first" theme="order"
# A value with a short way to the root runs before the part along a longer way has come. So it is in a walk that goes
#     breadth first.
# Значение с коротким путём к корню обработано раньше, чем пришла часть по более длинному пути. Так бывает, когда обход
#     идёт в ширину.
def walk_nodes(root):
    found = [root]
    for value in found:  # grows while it is walked
        found += [each for each in dict.fromkeys(value.inputs) if each not in found]
    walk(root, lambda root: found)

# %% mistake="counts_users_once" theme="order"
# A value that one operation uses twice is waited for once. Its rule runs before another user of it has run.
# Значение, которое операция использует дважды, сосчитано один раз. Его правило срабатывает раньше, чем другая операция,
#     которая его использует.
def walk_nodes(root):
    waits, found = {root: 0}, [root]
    for value in found:
        for each in dict.fromkeys(value.inputs):
            if each not in waits:
                found.append(each)
            waits[each] = waits.get(each, 0) + 1
    arrived, ready = {root: torch.ones_like(root.data)}, [root]
    while ready:
        value = ready.pop()
        gradient = arrived.pop(value)
        if value.rule is None:
            keep(value, gradient)
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            add(arrived, each, part)
            waits[each] -= 1
            if waits[each] == 0:
                ready.append(each)

# %% mistake="counts_edges_again" theme="order"
# What stands behind a value that several operations use is counted several times: it waits for parts that never come.
# Всё, что стоит за значением, которое используют несколько операций, сосчитано несколько раз: оно ждёт частей, которые
#     не придут.
def walk_nodes(root):
    waits, todo = {root: 0}, [root]
    while todo:
        for each in todo.pop().inputs:
            waits[each] = waits.get(each, 0) + 1
            todo.append(each)
    arrived, ready = {root: torch.ones_like(root.data)}, [root]
    while ready:
        value = ready.pop()
        gradient = arrived.pop(value)
        if value.rule is None:
            keep(value, gradient)
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            add(arrived, each, part)
            waits[each] -= 1
            if waits[each] == 0:
                ready.append(each)

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
# Where paths meet, one part counts and the others are lost. They have to be added.
# Там, где пути сходятся, учтена одна часть, а остальные потеряны. Их нужно складывать.
def walk_nodes(root):
    walk(root, add=lambda arrived, each, part: arrived.update({each: part}))

# %% mistake="keeps_the_first_part" like="assigns_where_paths_meet"
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
# A second walk adds nothing to the `.grad` of a leaf: it writes over what is there, or clears it. It has to add.
# Второй обход ничего не прибавляет к `.grad` листа: прежнее значение перезаписано или обнулено. Нужно прибавлять.
def walk_nodes(root):
    walk(root, keep=lambda leaf, gradient: setattr(leaf, "grad", gradient.clone()))

# %% mistake="begins_with_a_number" theme="axes"
# The walk begins with a number, not with the shape of the root: behind a root of shape (1, 1) a gradient has another
#     shape, or the walk fails.
# Обход начинается с числа, а не с тензора той же формы, что корень: от корня формы (1, 1) приходит градиент не той формы, или
#     обход не удаётся.
def walk_nodes(root):
    walk(root, seed=torch.tensor(1.0, dtype=torch.float64))

# %% mistake="begins_in_float32" theme="precision"
# Gradients of float64 leaves are in float32. The walk has to begin in the dtype of the root.
# Градиенты листьев float64 имеют тип float32. Обход должен начинаться с тензора того же типа, что корень.
def walk_nodes(root):
    walk(root, seed=torch.ones(root.data.shape))

# %% mistake="shares_the_gradient" theme="in_place"
# Two leaves have one gradient in memory, or entries of a gradient share memory. The rule of `+` hands the same tensor to
#     both inputs, and each leaf needs a copy.
# У градиентов двух листьев общая память, или она общая у разных элементов одного градиента. Правило для `+` отдаёт обоим
#     входам один и тот же тензор, и каждому листу нужна копия.
def walk_nodes(root):
    walk(root, keep=lambda leaf, g: setattr(leaf, "grad", g if leaf.grad is None else leaf.grad + g))

# %% mistake="leaves_sums_at_results" theme="accumulation"
# After a walk results have a `.grad`, too. It belongs to leaves alone: the sum of a walk needs another place.
# После обхода поле `.grad` заполнено и у результатов. Оно только для листьев: сумме одного обхода нужно другое место.
def walk_nodes(root):
    keep(root, torch.ones_like(root.data))
    for value in in_order(root):
        if value.rule is not None:
            for each, part in zip(value.inputs, value.rule(value.grad)):
                keep(each, part)
