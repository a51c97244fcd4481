# %%
from collections import Counter

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from autograder.measure import graph_nodes

_SLOW = ("TanhBackward0", "ExpBackward0")  # the nodes that wait, one in each case


def _by_node(loss, run):
    """Return node, floating-point operations and size of the gradient for each node that `run()` runs."""
    found = []
    before = {}
    with FlopCounterMode(display=False) as counter:

        def enter(node):
            before[node] = counter.get_total_flops()

        def leave(node, gradients):
            found.append((node, counter.get_total_flops() - before[node], gradients[0].numel()))

        for node in graph_nodes(loss):
            node.register_prehook(lambda _, node=node: enter(node))
            node.register_hook(lambda _, gradients, node=node: leave(node, gradients))
        run()
    return found


def _most(counts):
    return counts.most_common(1)[0][0]


def _sum(loss, run):
    costs = Counter()
    for node, flops, _ in _by_node(loss, run):
        costs[node.name()] += flops
    return _most(costs)

# %% mistake="largest_single" theme="own"
# It is not the sum over all nodes of one name that decides. Several nodes together cost more than a single
#     expensive one.
# Выбор сделан не по сумме для всех узлов с одним именем. Несколько узлов вместе могут обойтись дороже, чем один
#     дорогой.
def costly_node(loss):
    return max(_by_node(loss, loss.backward), key=lambda each: each[1])[0].name()

# %% mistake="most_frequent" theme="own"
# What came back is the node that runs most often. A node that runs once can cost more than three others.
# Назван узел, который выполняется чаще всего. Но один узел может стоить больше, чем три других.
def costly_node(loss):
    return _most(Counter(node.name() for node, _, _ in _by_node(loss, loss.backward)))

# %% mistake="most_frequent_inside" theme="own"
# The node that runs most often was taken, leaves left out. A node that runs once can cost more than three others.
# Взят узел, который выполняется чаще всего, не считая листьев. Но один узел может стоить больше, чем три других.
def costly_node(loss):
    nodes = [node for node, _, _ in _by_node(loss, loss.backward) if not hasattr(node, "variable")]
    return _most(Counter(node.name() for node in nodes))

# %% mistake="counts_nothing" theme="own"
# It is the first node of the pass, as if all costs were 0. The rows of a node have no FLOPs of their own: those are
#     further down, in the rows of its operations, and only with `with_flops=True`.
# Это первый узел прохода, как если бы вся стоимость была равна 0. У строк самого узла собственных FLOP нет: они
#     ниже, в строках его операций, и только при `with_flops=True`.
def costly_node(loss):
    loss.backward()
    return loss.grad_fn.name()

# %% mistake="takes_the_slowest" theme="own"
# The node that takes longest was named. Its time includes its hooks and differs from run to run; asked for are the
#     FLOPs.
# Назван узел, который выполняется дольше всех. Но время меняется от запуска к запуску, и в него входят и хуки узла, а
#     нужно число FLOP.
def costly_node(loss):
    name = next(node.name() for node in graph_nodes(loss) if node.name() in _SLOW)
    loss.backward()
    return name

# %% mistake="always_the_same" theme="own"
# It is `MmBackward0` for every graph. In one of them another node costs more.
# Для любого графа назван `MmBackward0`. Но в одном из графов дороже другой узел.
def costly_node(loss):
    loss.backward()
    return "MmBackward0"

# %% mistake="largest_gradient" theme="own"
# The node with the largest gradient was taken. The cost of a product depends on all three of its sizes.
# Взят узел с самым большим градиентом. Но стоимость произведения зависит от всех трёх его размеров.
def costly_node(loss):
    return max(_by_node(loss, loss.backward), key=lambda each: each[2])[0].name()

# %% mistake="names_an_operation" theme="missing"
# The name is that of an operation, such as `aten::mm`. Several nodes may call it; asked for is the node.
# Названа операция, например `aten::mm`. Её могут вызывать разные узлы, а нужен узел.
def costly_node(loss):
    names = {"MmBackward0": "aten::mm", "AddmmBackward0": "aten::mm", "BmmBackward0": "aten::bmm"}
    return names[_sum(loss, loss.backward)]

# %% mistake="keeps_the_prefix" theme="missing"
# The whole row of the profile was returned, with the engine's prefix in front of the node's name.
# Возвращена вся строка профиля, с приставкой движка перед именем узла.
def costly_node(loss):
    return f"autograd::engine::evaluate_function: {_sum(loss, loss.backward)}"

# %% mistake="two_passes" theme="accumulation"
# There were two backward passes, one to measure and one more: every gradient is in `.grad` twice.
# Обратных проходов было два: один — чтобы измерить, и ещё один. Каждый градиент вошёл в `.grad` дважды.
def costly_node(loss):
    name = _sum(loss, lambda: loss.backward(retain_graph=True))
    loss.backward()
    return name

# %% mistake="leaves_no_gradients" theme="accumulation"
# The cost was found, but `.grad` was cleared afterwards or never filled.
# Стоимость найдена, но поля `.grad` потом очищены или вовсе не заполнены.
def costly_node(loss):
    leaves = [node.variable for node in graph_nodes(loss) if hasattr(node, "variable")]
    name = _sum(loss, loss.backward)
    for each in leaves:
        each.grad = None
    return name

# %% mistake="counts_products" theme="own"
# A node that makes two products was named, although another makes one that costs more than both. Neither the number
#     of products nor their time is asked for, but their FLOPs.
# Назван узел, в котором вычисляются два произведения, хотя одно произведение в другом узле дороже обоих. Важно не число
#     произведений и не время, а число FLOP.
def costly_node(loss):
    counts = Counter()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            node = torch._C._current_autograd_node()
            if node is not None and func.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.bmm):
                counts[node.name()] += 1
            return func(*args, **(kwargs or {}))

    with Watch():
        loss.backward()
    return _most(counts)

# %% mistake="clears_in_between" theme="cost"
# There were two backward passes: one to measure, and one whose gradients are in `.grad`. A single pass does both.
# Обратных проходов было два: один — чтобы измерить, другой — чтобы заполнить `.grad`. Для того и другого хватит
#     одного.
def costly_node(loss):
    leaves = [node.variable for node in graph_nodes(loss) if hasattr(node, "variable")]
    name = _sum(loss, lambda: loss.backward(retain_graph=True))
    for each in leaves:
        each.grad = None
    loss.backward()
    return name

# %% mistake="returns_the_cost" theme="missing"
# A pair came back: the name and its cost. Asked for is the name.
# Возвращена пара из имени и стоимости, а нужно только имя.
def costly_node(loss):
    costs = Counter()
    for node, flops, _ in _by_node(loss, loss.backward):
        costs[node.name()] += flops
    return costs.most_common(1)[0]

# %% mistake="returns_all_names" theme="missing"
# All names come back, in the order of their costs. Asked for is the first of them.
# Возвращены все имена в порядке стоимости, а нужно только первое.
def costly_node(loss):
    costs = Counter()
    for node, flops, _ in _by_node(loss, loss.backward):
        costs[node.name()] += flops
    return [name for name, _ in costs.most_common()]

# %% mistake="returns_nothing" theme="return"
# None comes back: `return` is missing, or no row of the profile was a node, as when the pass runs outside the
#     `with` block.
# Возвращается None: забыт `return`, или ни одна строка профиля не относится к узлу, например потому, что проход
#     выполняется вне блока `with`.
def costly_node(loss):
    loss.backward()

# %% mistake="counts_mm_alone" theme="missing"
# The FLOPs of `aten::mm` alone were added. Products of batches of matrices, `aten::bmm`, are missing.
# Сложены FLOP только операции `aten::mm`. Пропущены произведения батчей матриц, `aten::bmm`.
def costly_node(loss):
    counts = Counter()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            node = torch._C._current_autograd_node()
            if node is not None and func.overloadpacket is torch.ops.aten.mm:
                counts[node.name()] += 2 * args[0].shape[-1] * result.numel()
            return result

    with Watch():
        loss.backward()
    return counts.most_common(1)[0][0]
