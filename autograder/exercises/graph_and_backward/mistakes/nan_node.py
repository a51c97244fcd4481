# %%
import torch

from autograder.measure import graph_nodes


def _record_nodes(loss):
    """Return a tuple for each node, in the order of a backward pass.

    A tuple holds the node's name and whether the node received NaN, gave NaN and gave infinity.
    """
    seen = []

    def any_of(test, tensors):
        return any(t is not None and bool(test(t).any()) for t in tensors)

    for node in graph_nodes(loss):

        def watch(given, received, node=node):
            last = received if hasattr(node, "variable") else given
            nan, came, inf = any_of(torch.isnan, last), any_of(torch.isnan, received), any_of(torch.isinf, last)
            seen.append((node.name(), came, nan, inf))

        node.register_hook(watch)
    loss.backward()
    return seen


def _nodes_giving_nan(loss):
    """Return the nodes that give a NaN, even if they also received a NaN."""
    bad = set()
    for node in graph_nodes(loss):

        def watch(given, received, node=node):
            if any(g is not None and bool(g.isnan().any()) for g in given):
                bad.add(node)

        node.register_hook(watch)
    loss.backward()
    return bad


def _stack_order(loss):
    order = []
    todo = [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in order:
            order.append(node)
            todo += [child for child, _ in node.next_functions]
    return order


def _list_order(loss):
    order = [loss.grad_fn]
    for node in order:
        for child, _ in node.next_functions:
            if child is not None and child not in order:
                order.append(child)
    return order


def _recursion_order(loss):
    order = []

    def visit(node):
        if node is not None and node not in order:
            order.append(node)
            for child, _ in node.next_functions:
                visit(child)

    visit(loss.grad_fn)
    return order

# %% mistake="names_the_last" theme="order"
# A leaf's node was named, which only receives the NaN. Either the last node with a NaN was taken, or `given` and
#     `received` were mixed up, or all hooks see the same `node`: the one where the loop ended.
# Назван узел листа, а он NaN только получает. Либо взят последний узел с NaN, либо перепутаны `given` и `received`,
#     либо все хуки видят один и тот же `node` — тот, на котором закончился цикл.
def nan_node(loss):
    return next((name for name, _, nan, _ in reversed(_record_nodes(loss)) if nan), None)

# %% mistake="names_the_first_of_a_recursion" theme="order"
# The first node with a NaN was named in the order of a walk, not in that of the backward pass: the walk may come
#     first to a node that only passes the NaN on.
# Назван первый узел с NaN в порядке обхода, а не в порядке обратного прохода: при обходе раньше может встретиться
#     узел, который NaN только передаёт.
def nan_node(loss):
    bad = _nodes_giving_nan(loss)
    return next((node.name() for node in _recursion_order(loss) if node in bad), None)

# %% mistake="names_the_first_of_a_stack" theme="order"
# The first node with a NaN was named in the order in which a stack gives the nodes, not in that of the backward
#     pass: the stack may give a node first that only passes the NaN on.
# Назван первый узел с NaN в том порядке, в каком узлы выдаёт стек, а не в порядке обратного прохода: раньше может
#     попасться узел, который NaN только передаёт.
def nan_node(loss):
    bad = _nodes_giving_nan(loss)
    return next((node.name() for node in _stack_order(loss) if node in bad), None)

# %% mistake="hooks_share_the_end_of_a_stack" theme="own"
# All hooks name one node: the one where the loop over the stack ended. A function made in a loop sees the
#     variable's last value; each hook needs its own.
# Все хуки называют один и тот же узел: тот, на котором закончился цикл по стеку. Функция, созданная в цикле, видит
#     последнее значение переменной; каждому хуку нужно своё.
def nan_node(loss):
    seen = set()
    todo = [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [child for child, _ in node.next_functions]
    return str(node.name()) if node is not None and _nodes_giving_nan(loss) else None

# %% mistake="hooks_share_the_end_of_a_list" theme="own"
# All hooks name one node: the one where the loop over a list ended. A function made in a loop sees the variable's
#     last value; each hook needs its own.
# Все хуки называют один и тот же узел: тот, на котором закончился цикл по списку. Функция, созданная в цикле, видит
#     последнее значение переменной; каждому хуку нужно своё.
def nan_node(loss):
    return str(_list_order(loss)[-1].name()) if _nodes_giving_nan(loss) else None

# %% mistake="takes_infinity_for_nan" theme="precision"
# An infinite gradient was taken for NaN. Infinity is where the trouble begins, but the node with the NaN comes
#     later or never.
# Бесконечный градиент принят за NaN. С бесконечности всё начинается, но узел с NaN идёт позже, а может и не
#     встретиться.
def nan_node(loss):
    return next((name for name, _, nan, inf in _record_nodes(loss) if nan or inf), None)

# %% mistake="names_the_next" theme="own"
# The node to which a NaN comes in was named, not the node that made it.
# Назван узел, в который NaN пришёл, а не тот, в котором он возник.
def nan_node(loss):
    return next((name for name, came, _, _ in _record_nodes(loss) if came), None)

# %% mistake="lets_the_error_out" theme="missing"
# The error of anomaly mode gets out of the function. It has to be caught: the name of the node stands in its text.
# Ошибка режима обнаружения аномалий не перехвачена. Имя узла есть в её тексте.
def nan_node(loss):
    with torch.autograd.set_detect_anomaly(True):
        loss.backward()

# %% mistake="names_the_root" theme="own"
# The loss's own node was named. The backward pass begins there, but the NaN does not.
# Назван узел самой функции потерь. С него начинается обратный проход, но NaN возникает не в нём.
def nan_node(loss):
    node = loss.grad_fn
    return str(node.name()) if any(nan for _, _, nan, _ in _record_nodes(loss)) else None

# %% mistake="wants_every_entry_nan" theme="precision"
# A gradient was counted only when all of its entries are NaN. One is enough.
# Градиент учитывается, только если NaN — все его элементы. Но достаточно и одного.
def nan_node(loss):
    found = []

    def all_nan(gradients):
        return any(g is not None and bool(g.isnan().all()) for g in gradients)

    for node in graph_nodes(loss):

        def watch(given, received, node=node):
            if all_nan(given) and not all_nan(received):
                found.append(node.name())

        node.register_hook(watch)
    loss.backward()
    return found[0] if found else None

# %% mistake="follows_first_operands" theme="missing"
# Only the first operand of each node was followed. The NaN may come by another edge.
# Обход идёт только по первому входу каждого узла. NaN может быть и за другим ребром.
def nan_node(loss):
    found = []
    node = loss.grad_fn
    while node is not None:

        def watch(given, received, node=node):
            came, gone = (any(g is not None and bool(g.isnan().any()) for g in each) for each in (received, given))
            if gone and not came:
                found.append(node.name())

        node.register_hook(watch)
        node = node.next_functions[0][0] if node.next_functions else None
    loss.backward()
    return found[0] if found else None

# %% mistake="looks_at_the_first_gradient" theme="missing"
# Only the first of the gradients that a node gives was looked at.
# Просматривается только первый из градиентов, которые выдаёт узел.
def nan_node(loss):
    found = []
    for node in graph_nodes(loss):

        def watch(given, received, node=node):
            came = any(g is not None and bool(g.isnan().any()) for g in received)
            if given and given[0] is not None and bool(given[0].isnan().any()) and not came:
                found.append(node.name())

        node.register_hook(watch)
    loss.backward()
    return found[0] if found else None

# %% mistake="returns_the_node" theme="missing"
# The node itself was returned, not its name: `node.name()` is a `str`.
# Возвращён сам узел, а не его имя: `node.name()` — это `str`.
def nan_node(loss):
    nodes = {node.name(): node for node in graph_nodes(loss)}
    name = next((name for name, came, nan, _ in _record_nodes(loss) if nan and not came), None)
    return nodes[name] if name else None

# %% mistake="tests_the_sum" theme="precision"
# A node is named whose gradient holds inf and −inf, but no NaN. So it is when the entries are added up before the
#     test: their sum is NaN.
# Назван узел, в градиенте которого есть inf и −inf, но нет NaN. Так бывает, когда элементы складываются до
#     проверки: их сумма — NaN.
def nan_node(loss):
    found = []

    def has_nan(gradients):
        return any(g is not None and bool(g.sum().isnan()) for g in gradients)

    for node in graph_nodes(loss):

        def watch(given, received, node=node):
            if has_nan(given):
                found.append(node.name())

        node.register_hook(watch)
    loss.backward()
    return found[0] if found else None

# %% mistake="names_the_last_that_gives" theme="order"
# The last node that gives a NaN is named. The NaN was made in the first; the others only hand it on.
# Назван последний узел, который выдаёт NaN. Возник NaN в первом, остальные его только передают.
def nan_node(loss):
    found = []
    for node in graph_nodes(loss):

        def watch(given, received, node=node):
            if any(g is not None and bool(g.isnan().any()) for g in given):
                found.append(node.name())

        node.register_hook(watch)
    loss.backward()
    return found[-1] if found else None

# %% mistake="expects_no_none" theme="missing"
# A gradient was tested for NaN without a look whether it is there: entries of `given` and `received` may be None.
# На NaN проверяется и отсутствующий градиент: среди элементов `given` и `received` бывает None.
def nan_node(loss):
    found = []
    for node in graph_nodes(loss):

        def watch(given, received, node=node):
            if any(g.isnan().any() for g in given):
                found.append(node.name())

        node.register_hook(watch)
    loss.backward()
    return found[0] if found else None

# %% mistake="takes_the_first_of_none" theme="missing"
# The first of the nodes found is taken even if none was found: without a NaN the list is empty.
# Первый из найденных узлов берётся, даже если ничего не найдено: без NaN список пуст.
def nan_node(loss):
    found = [name for name, came, nan, _ in _record_nodes(loss) if nan and not came]
    return found[0]

# %% mistake="names_the_first_of_a_queue" theme="order"
# The first node with a NaN was named in the order in which a queue gives the nodes, not in that of the backward
#     pass: the queue may give a node first that only passes the NaN on.
# Назван первый узел с NaN в том порядке, в каком узлы выдаёт очередь, а не в порядке обратного прохода: раньше
#     может попасться узел, который NaN только передаёт.
def nan_node(loss):
    bad = _nodes_giving_nan(loss)
    return next((node.name() for node in _list_order(loss) if node in bad), None)
