# %%
from collections import Counter

from autograder.measure import graph_nodes


def count(nodes):
    return Counter(child for node in nodes for child, _ in node.next_functions if child is not None)

_remembered = {}

# %% mistake="counts_nodes_before" theme="own"
# Counted are the nodes from which edges come. In `h * h` one node sends two edges to the node of `h`.
# Сосчитаны узлы, из которых выходят рёбра. В `h * h` к узлу тензора `h` от одного узла ведут два ребра.
def edges_into(root):
    nodes = graph_nodes(root)
    edges = {node: 0 for node in nodes}
    for node in nodes:
        for child in {child for child, _ in node.next_functions if child is not None}:
            edges[child] += 1
    return edges

# %% mistake="forgets_the_root" theme="missing"
# The node of `root` itself is missing. No edge leads to it, so its number is 0.
# Пропущен узел самого `root`. К нему не ведёт ни одно ребро, его число — 0.
def edges_into(root):
    return dict(count(graph_nodes(root)))

# %% mistake="root_has_one" theme="own"
# The node of `root` itself got 1. No edge of the graph leads to it: the gradient it starts with is given from outside.
# У узла самого `root` стоит 1. Но к нему не ведёт ни одно ребро графа: первый градиент приходит извне.
def edges_into(root):
    edges = count(graph_nodes(root))
    return {**edges, root.grad_fn: 1}

# %% mistake="edges_out" theme="own"
# Counted are the edges that lead from a node to others, the length of `next_functions`.
# Сосчитаны рёбра, которые выходят из узла, то есть длина `next_functions`.
def edges_into(root):
    return {node: len(node.next_functions) for node in graph_nodes(root)}

# %% mistake="edges_out_without_none" theme="own"
# Counted are the edges that lead from a node to others.
# Сосчитаны рёбра, которые выходят из узла к другим.
def edges_into(root):
    return {node: sum(child is not None for child, _ in node.next_functions) for node in graph_nodes(root)}

# %% mistake="counts_none" theme="own"
# None was counted as well. It stands for an input that no gradient goes to, and it is no node.
# Сосчитано и значение None. Оно стоит на месте входа, к которому градиент не идёт, и узлом не является.
def edges_into(root):
    edges = Counter(child for node in graph_nodes(root) for child, _ in node.next_functions)
    return {root.grad_fn: 0, **edges}

# %% mistake="counts_paths" theme="own"
# Paths were counted in place of edges: the edges of a node count again each time a path reaches it.
# Вместо рёбер сосчитаны пути: рёбра узла считаются заново каждый раз, когда в него приходит путь.
def edges_into(root):
    edges = {root.grad_fn: 0}

    def visit(node):
        for child, _ in node.next_functions:
            if child is not None:
                edges[child] = edges.get(child, 0) + 1
                visit(child)

    visit(root.grad_fn)
    return edges

# %% mistake="leaves_out_leaves" theme="missing"
# The nodes of the leaves are missing. `AccumulateGrad` is a node too, and edges lead to it.
# Пропущены узлы листьев. Но `AccumulateGrad` — тоже узел, и к нему ведут рёбра.
def edges_into(root):
    nodes = graph_nodes(root)
    edges = count(nodes)
    return {node: edges[node] for node in nodes if not hasattr(node, "variable")}

# %% mistake="counts_each_output" theme="own"
# No key is a node of the graph, as when the keys are pairs of node and number from `next_functions`. All outputs
#     of an operation share one node.
# Среди ключей нет узлов графа: так бывает, когда ключи — пары из узла и номера, как в `next_functions`. Но у всех
#     выходов операции один общий узел.
def edges_into(root):
    nodes = graph_nodes(root)
    edges = Counter(pair for node in nodes for pair in node.next_functions if pair[0] is not None)
    return {(root.grad_fn, root.output_nr): 0, **edges}

# %% mistake="first_edge_is_zero" theme="own"
# The first edge to a node was not counted: it brought the node into the dict with 0, and only later ones added.
# Первое ребро к узлу не сосчитано: когда обход прошёл по нему, в словарь записан 0, а единицу прибавили только следующие.
def edges_into(root):
    nodes = graph_nodes(root)
    edges = count(nodes)
    return {node: max(0, edges[node] - 1) for node in nodes}

# %% mistake="first_inputs_only" theme="missing"
# Only the first entry of each `next_functions` was followed.
# Учтена только первая пара каждого `next_functions`.
def edges_into(root):
    edges, node = {root.grad_fn: 0}, root.grad_fn
    while node is not None:
        child = node.next_functions[0][0] if node.next_functions else None
        if child is not None:
            edges[child] = edges.get(child, 0) + 1
        node = child
    return edges

# %% mistake="walks_every_path" theme="cost"
# The numbers are right, but every path was walked: edges are told apart, nodes are visited again. With each doubling
#     the walk takes twice as long.
# Числа верны, но пройден каждый путь: одно ребро дважды не считается, а в узлы обход заходит снова. С каждым удвоением
#     он становится вдвое длиннее.
def edges_into(root):
    edges = {root.grad_fn: set()}

    def visit(node):
        for place, (child, _) in enumerate(node.next_functions):
            if child is not None:
                edges.setdefault(child, set()).add((node, place))
                visit(child)

    visit(root.grad_fn)
    return {node: len(each) for node, each in edges.items()}

# %% mistake="remembers_earlier_calls" theme="state"
# The dict remembers earlier calls: one outside the function, or the default of an argument, is made once.
# Словарь хранит числа прежних вызовов: вне функции или в значении аргумента по умолчанию он создаётся один раз.
def edges_into(root):
    _remembered.setdefault(root.grad_fn, 0)
    for node, number in count(graph_nodes(root)).items():
        _remembered[node] = _remembered.get(node, 0) + number
    return dict(_remembered)

# %% mistake="returns_nothing" theme="return"
# Nothing was returned: the numbers were printed, or `return` is missing.
# Ничего не возвращается: числа напечатаны или забыт `return`.
def edges_into(root):
    return None

# %% mistake="names_as_keys" theme="own"
# The keys are names. Nodes of one name are different nodes, and their numbers were added up.
# Ключи — имена. Узлы с одинаковым именем — разные узлы, а их числа сложены.
def edges_into(root):
    edges = Counter({root.grad_fn.name(): 0})
    for node, number in count(graph_nodes(root)).items():
        edges[node.name()] += number
    return dict(edges)

# %% mistake="lists_the_nodes_before" theme="missing"
# The dict holds the nodes from which edges come, in lists. Their number is asked for.
# В словаре списки узлов, из которых выходят рёбра, а нужно их число.
def edges_into(root):
    edges = {node: [] for node in graph_nodes(root)}
    for node in graph_nodes(root):
        for child, _ in node.next_functions:
            if child is not None:
                edges[child].append(node)
    return edges
