# %%
import heapq
from collections import Counter

import torch

from autograder.measure import graph_nodes


def _parents(node):
    return [parent for parent, _ in node.next_functions if parent is not None and "Accumulate" not in parent.name()]


def _reachable(loss):
    """Return the nodes behind `loss`, breadth first, each once."""
    found = [loss.grad_fn]
    for node in found:
        found += [parent for parent in dict.fromkeys(_parents(node)) if parent not in found]
    return found


def _by_hooks(loss, backward, remove=True):
    """Return the names of the nodes as `backward()` runs them, seen by hooks.

    If `remove` is False, the hooks stay.
    """
    order = []
    handles = [node.register_prehook(lambda _, node=node: order.append(node.name())) for node in _reachable(loss)]
    backward()
    for handle in handles if remove else []:
        handle.remove()
    return order


def breadth_first(loss):
    return [node.name() for node in _reachable(loss)]


def forward_order(loss):
    return [node.name() for node in sorted(_reachable(loss), key=lambda node: node._sequence_nr())]


def _to_leaf(loss, keep=True):
    nodes = _reachable(loss)
    (leaf,) = {p.variable for n in nodes for p, _ in n.next_functions if p is not None and "Accumulate" in p.name()}
    torch.autograd.grad(loss, leaf, retain_graph=keep)


def fills_grad(loss):
    return _by_hooks(loss, lambda: loss.backward(retain_graph=True))


def _leaf(loss):
    (leaf,) = (node.variable for node in graph_nodes(loss) if hasattr(node, "variable"))
    return leaf


def returns_nodes(loss):
    return sorted(_reachable(loss), key=lambda node: -node._sequence_nr())


def _ready(loss, last):
    """Return the names of the nodes, taking the one that became ready last, or first."""
    uses = Counter(parent for node in _reachable(loss) for parent in _parents(node))
    names, ready = [], [loss.grad_fn]
    while ready:
        node = ready.pop(-1 if last else 0)
        names.append(node.name())
        for parent in _parents(node):
            uses[parent] -= 1
            if not uses[parent]:
                ready.append(parent)
    return names

# %% mistake="breadth_first" theme="order"
# The nodes are listed level by level from the loss. The engine has no levels: it takes the node that was created
#     last.
# Узлы перечислены по уровням, начиная от функции потерь. У движка нет уровней: он берёт узел, созданный последним.
def node_order(loss):
    return [node.name() for node in _reachable(loss)]

# %% mistake="depth_first" theme="order"
# The nodes are listed depth first. The engine does not follow one branch to its end: a node waits until all that
#     use its result have run.
# Граф пройден в глубину. Движок не идёт по одной ветви до конца: узел ждёт, пока выполнятся все узлы, от которых к нему
#     приходит градиент.
def node_order(loss):
    found = {}

    def visit(node):
        if node not in found:
            found[node] = None
            for parent in _parents(node):
                visit(parent)

    visit(loss.grad_fn)
    return [node.name() for node in found]

# %% mistake="forward_order" theme="order"
# The list has the order of the forward pass: it is the right one read backwards.
# Порядок такой, как в прямом проходе: верный список получится, если прочитать этот с конца.
def node_order(loss):
    return [node.name() for node in sorted(_reachable(loss), key=lambda node: node._sequence_nr())]

# %% mistake="with_the_leaf" theme="missing"
# The node of the leaf is in the list. It was to be left out.
# В списке есть и узел листа, а его включать не нужно.
def node_order(loss):
    names = forward_order(loss)[::-1]
    return [*names, "torch::autograd::AccumulateGrad"]

# %% mistake="every_path" theme="own"
# A node stands in the list once for every way to reach it. The engine runs each node once.
# Узел попадает в список столько раз, сколько путей к нему ведёт. Движок выполняет каждый узел один раз.
def node_order(loss):
    names, waiting = [], [loss.grad_fn]
    while waiting:
        waiting.sort(key=lambda node: node._sequence_nr())
        node = waiting.pop()
        names.append(node.name())
        waiting += _parents(node)
    return names

# %% mistake="oldest_first" theme="order"
# Among the nodes that are ready, the one created first is taken. The engine takes the one created last.
# Из готовых узлов берётся созданный первым. Движок берёт созданный последним.
def node_order(loss):
    nodes = _reachable(loss)
    uses = {node: 0 for node in nodes}
    for node in nodes:
        for parent in _parents(node):
            uses[parent] += 1
    names, ready = [], [(loss.grad_fn._sequence_nr(), loss.grad_fn)]
    while ready:
        _, node = heapq.heappop(ready)
        names.append(node.name())
        for parent in _parents(node):
            uses[parent] -= 1
            if not uses[parent]:
                heapq.heappush(ready, (parent._sequence_nr(), parent))
    return names

# %% mistake="leaves_hooks" theme="state"
# The hooks stay on the nodes: each later backward pass calls them again.
# Хуки остались на узлах: они вызываются и в каждом следующем обратном проходе.
def node_order(loss):
    return _by_hooks(loss, lambda: _to_leaf(loss), remove=False)

# %% mistake="fills_grad" theme="accumulation"
# The order is watched in a `loss.backward()`, which adds to `.grad`. `torch.autograd.grad` adds nothing.
# Порядок подсмотрен в вызове `loss.backward()`, а он изменяет `.grad`. Функция `torch.autograd.grad` этого поля не
#     меняет.
def node_order(loss):
    return _by_hooks(loss, lambda: loss.backward(retain_graph=True))

# %% mistake="frees_the_graph" theme="graph_life"
# The order is watched in a pass that frees the graph. Without `retain_graph=True` there is no later backward pass.
# Порядок подсмотрен в проходе, который освобождает сохранённое в графе. Без `retain_graph=True` следующий обратный
#     проход невозможен.
def node_order(loss):
    return _by_hooks(loss, lambda: _to_leaf(loss, keep=False))

# %% mistake="runs_backward" theme="accumulation"
# The order is watched in a plain `loss.backward()`. It adds to `.grad`, and it frees the graph.
# Порядок подсмотрен в обычном вызове `loss.backward()`. Этот вызов изменяет `.grad` и освобождает сохранённое в графе.
def node_order(loss):
    return _by_hooks(loss, loss.backward)

# %% mistake="clears_grad" theme="accumulation"
# `.grad` of the leaf is None afterwards. An earlier gradient that stood there is gone.
# После вызова поле `.grad` листа равно None. Если там лежал прежний градиент, он пропал.
def node_order(loss):
    order = fills_grad(loss)
    _leaf(loss).grad = None
    return order

# %% mistake="leaves_zeros" theme="accumulation"
# `.grad` of the leaf was None, and now it holds zeros.
# Поле `.grad` листа было равно None, а теперь в нём нули.
def node_order(loss):
    leaf = _leaf(loss)
    before = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad.clone()
    order = fills_grad(loss)
    leaf.grad = before
    return order

# %% mistake="each_name_once" theme="own"
# Nodes of one name stand in the list only once. Each of them is run, so each has an entry.
# Узлы с одинаковым именем попали в список только один раз. Движок выполняет каждый из них, и имён должно быть
#     столько же.
def node_order(loss):
    return list(dict.fromkeys(forward_order(loss)[::-1]))

# %% mistake="returns_nodes" theme="missing"
# The nodes themselves are in the list. Asked for are their names, `node.name()`.
# В списке сами узлы, а нужны их имена, `node.name()`.
def node_order(loss):
    return sorted(_reachable(loss), key=lambda node: -node._sequence_nr())

# %% mistake="prints_nodes" theme="missing"
# The list holds `str(node)`, with the address of an object. The name of a node is `node.name()`.
# В списке строки `str(node)` с адресами объектов. Имя узла — это `node.name()`.
def node_order(loss):
    return [str(node) for node in returns_nodes(loss)]

# %% mistake="queue_of_ready" theme="order"
# The nodes that are ready wait in a queue: the one that became ready first is taken. The engine takes the one that
#     was created last.
# Готовые узлы стоят в очереди: берётся тот, который стал готов первым. Движок берёт тот, который создан последним.
def node_order(loss):
    return _ready(loss, last=False)

# %% mistake="stack_of_ready" theme="order"
# Among the nodes that are ready, the one that became ready last is taken, as with a stack or with a depth-first
#     search read backwards. The engine takes the one that was created last.
# Из готовых узлов берётся тот, который стал готов последним, как в стеке или как при обходе в глубину, если читать его
#     с конца. Движок берёт тот, который создан последним.
def node_order(loss):
    return _ready(loss, last=True)

# %% mistake="first_edges_only" theme="missing"
# Only the first edge of each node was followed. The nodes on the other ways are missing.
# В каждом узле выбрано только первое ребро. Узлов на остальных путях в списке нет.
def node_order(loss):
    names, node = [], loss.grad_fn
    while node is not None and not hasattr(node, "variable"):
        names.append(node.name())
        node = node.next_functions[0][0]
    return names

# %% mistake="breadth_first_backwards" theme="order"
# The nodes are listed level by level, and this list is read backwards. The engine begins at the loss.
# Узлы перечислены по уровням, и этот список прочитан с конца. Движок начинает с функции потерь.
def node_order(loss):
    return breadth_first(loss)[::-1]

# %% mistake="without_the_root" theme="missing"
# The first node is missing, `loss.grad_fn`. The engine runs it, too.
# Не хватает первого узла, `loss.grad_fn`. Движок выполняет и его.
def node_order(loss):
    return forward_order(loss)[-2::-1]

# %% mistake="joins_the_names" theme="missing"
# One string comes back. Asked for is a list of names.
# Возвращена одна строка, а нужен список имён.
def node_order(loss):
    return " ".join(forward_order(loss)[::-1])
