# %%
from autograder.measure import graph_nodes

from ..common import leaves_behind

_remembered = set()

# %% mistake="walks_a_tree" theme="own"
# The nodes were counted as those of a tree: a node counts once for every path that leads to it.
# Узлы сосчитаны как в дереве: каждый столько раз, сколько путей к нему ведёт.
def count_nodes(tensor):
    def visits(node):
        return 1 + sum(visits(child) for child, _ in node.next_functions if child is not None)

    return visits(tensor.grad_fn)

# %% mistake="forgets_the_root" theme="missing"
# The first node, the tensor's own `grad_fn`, was left out.
# Пропущен первый узел — `grad_fn` самого тензора.
def count_nodes(tensor):
    return len(graph_nodes(tensor)) - 1

# %% mistake="leaves_out_leaves" theme="missing"
# The nodes of the leaves were left out. `AccumulateGrad` is a node too.
# Пропущены узлы листьев. Но `AccumulateGrad` — тоже узел.
def count_nodes(tensor):
    return len(graph_nodes(tensor)) - len(leaves_behind(tensor))

# %% mistake="counts_leaves" theme="missing"
# Only the leaves were counted.
# Сосчитаны только листья.
def count_nodes(tensor):
    return len(leaves_behind(tensor))

# %% mistake="follows_first_inputs" theme="missing"
# The walk goes down the first input only, as `next_functions[0][0]` does. The other inputs have nodes too.
# Обход идёт только по первому входу, как `next_functions[0][0]`. У других входов тоже есть узлы.
def count_nodes(tensor):
    node = tensor.grad_fn
    count = 0
    while node is not None:
        count += 1
        node = node.next_functions[0][0] if node.next_functions else None
    return count

# %% mistake="counts_names" theme="own"
# Nodes of the same name were taken for one. Two multiplications are two nodes.
# Узлы с одинаковым именем приняты за один. Два умножения — это два узла.
def count_nodes(tensor):
    return len({node.name() for node in graph_nodes(tensor)})

# %% mistake="counts_none" theme="own"
# None was counted. It stands for an input that no gradient goes to, and it is no node.
# Сосчитано значение None. Оно стоит на месте входа, к которому градиент не идёт, и узлом не является.
def count_nodes(tensor):
    nodes = graph_nodes(tensor)
    return len({*nodes} | {child for node in nodes for child, _ in node.next_functions})

# %% mistake="counts_edges" theme="own"
# Edges were counted: every entry of `next_functions`. Two edges may lead to one node.
# Сосчитаны рёбра: каждая пара в `next_functions`. К одному узлу могут вести два ребра.
def count_nodes(tensor):
    return sum(child is not None for node in graph_nodes(tensor) for child, _ in node.next_functions)

# %% mistake="collects_along_every_path" theme="cost"
# The number is right, but every path was walked: a node is not looked up before the next step. With each doubling
#     the walk takes twice as long.
# Число верно, но пройден каждый путь: перед следующим шагом не проверяется, был ли узел уже посещён. С каждым
#     удвоением обход становится вдвое длиннее.
def count_nodes(tensor):
    seen = set()

    def visit(node):
        seen.add(node)
        for child, _ in node.next_functions:
            if child is not None:
                visit(child)

    visit(tensor.grad_fn)
    return len(seen)

# %% mistake="returns_nothing" theme="return"
# Nothing was returned: the number was printed, or `return` is missing.
# Ничего не возвращается: число напечатано или забыт `return`.
def count_nodes(tensor):
    return None

# %% mistake="returns_the_set" theme="missing"
# The nodes themselves were returned in a set. Their number is asked for.
# Возвращено множество самих узлов, а нужно их число.
def count_nodes(tensor):
    return {*graph_nodes(tensor)}

# %% mistake="remembers_earlier_calls" theme="state"
# The function remembers the nodes of earlier calls: a set outside the function, or one that is the default of an
#     argument, is made once and never emptied.
# В функции остались узлы из прежних вызовов: множество вне функции или в значении аргумента по умолчанию создаётся
#     один раз и заново не очищается.
def count_nodes(tensor):
    _remembered.update(graph_nodes(tensor))
    return len(_remembered)

# %% mistake="counts_arrivals" theme="own"
# A node was counted for each edge that leads to it.
# Узел сосчитан столько раз, сколько рёбер к нему ведёт.
def count_nodes(tensor):
    return 1 + sum(child is not None for node in graph_nodes(tensor) for child, _ in node.next_functions)

# %% mistake="compares_siblings_only" theme="own"
# The children of one node are told apart, but a node that two different nodes lead to is still counted for every
#     path.
# Повторы убраны только среди соседей одного узла. Если к узлу ведут рёбра из разных узлов, он по-прежнему сосчитан
#     столько раз, сколько к нему путей.
def count_nodes(tensor):
    def visits(node):
        return 1 + sum(visits(child) for child in {child for child, _ in node.next_functions} if child is not None)

    return visits(tensor.grad_fn)

# %% mistake="looks_up_too_early" theme="order"
# A node is looked up only when it is put on the list. Before its turn comes, a second edge can put it there again.
# Узел проверяется, только когда попадает в список. Пока до него дойдёт очередь, он может попасть туда ещё раз, по
#     второму ребру.
def count_nodes(tensor):
    seen = set()
    todo = [tensor.grad_fn]
    count = 0
    while todo:
        node = todo.pop()
        count += 1
        seen.add(node)
        todo += [child for child, _ in node.next_functions if child is not None and child not in seen]
    return count

# %% mistake="counts_pairs" theme="own"
# A pair of node and number was taken for a node. Two results of `unbind` share one node.
# За узел принята пара из узла и номера. У двух результатов `unbind` узел общий.
def count_nodes(tensor):
    nodes = graph_nodes(tensor)
    edges = {(child, n) for node in nodes for child, n in node.next_functions if child is not None}
    return len(edges | {(tensor.grad_fn, tensor.output_nr)})

# %% mistake="skips_known_names" theme="own"
# A node whose name has been met before is passed over, with everything behind it. Nodes of one name are different
#     nodes.
# Узел, имя которого уже встречалось, пропущен вместе со всеми следующими за ним. Узлы с одинаковым именем — разные
#     узлы.
def count_nodes(tensor):
    names = set()
    todo = [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node.name() not in names:
            names.add(node.name())
            todo += [child for child, _ in node.next_functions]
    return len(names)

# %% mistake="walks_into_none" theme="own"
# None was taken for a node. `next_functions` holds None for each input that needs no gradient.
# За узел принят None. В `next_functions` он стоит на месте каждого входа, которому градиент не нужен.
def count_nodes(tensor):
    seen = set()
    todo = [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += [child for child, _ in node.next_functions]
    return len(seen)
