# %%
from collections import deque

import torch

from autograder.measure import graph_nodes

from ..manual_backward import assign_gradient, backward_by_paths, call_node, pass_on


def accumulate(total, node, gradient):
    total[node] = total[node] + gradient if node in total else gradient


def add_gradient(tensor, gradient):
    tensor.grad = gradient.clone() if tensor.grad is None else tensor.grad + gradient


def backward_in_order(root, at_leaf, start=torch.ones_like, call=call_node):
    """Run a right backward pass from `root`, in topological order.

    `at_leaf` is called with each leaf's node and gradient. A mistake passes another `start`, the gradient of `root`, or
    another `call`, which runs a node.
    """
    arrived = {root.grad_fn: start(root)}
    for node in graph_nodes(root):
        if hasattr(node, "variable") and node in arrived:
            at_leaf(node, arrived[node])
        elif node in arrived:
            for child, gradient in pass_on(node, arrived[node], call):
                accumulate(arrived, child, gradient)


def _assign_at(node, gradient):
    assign_gradient(node.variable, gradient)

# %% mistake="assigns" theme="accumulation"
# A gradient was assigned where it should be added: of all paths to a leaf only the last one is left.
# Градиент присвоен, а не прибавлен: из всех путей к листу остался только последний.
def run_backward(root):
    backward_by_paths(root, assign_gradient)

# %% mistake="walks_every_path" theme="cost"
# The gradients are right, but every path was walked on its own. A node where paths join is called again for each of
#     them, and the time doubles with every square.
# Градиенты верны, но каждый путь пройден отдельно. Узел, в котором пути сходятся, вызывается заново для каждого из
#     них, и время удваивается с каждым возведением в квадрат.
def run_backward(root):
    backward_by_paths(root, add_gradient)

# %% mistake="sends_the_running_total" theme="accumulation"
# The running total goes on to the inputs at every visit, so what came before is sent down again.
# При каждом посещении дальше передаётся накопленная сумма, поэтому прежние слагаемые передаются повторно.
def run_backward(root):
    total = {}

    def backward(node, incoming):
        accumulate(total, node, incoming)
        if hasattr(node, "variable"):
            assign_gradient(node.variable, total[node])
            return
        for child, gradient in pass_on(node, total[node]):
            backward(child, gradient)

    backward(root.grad_fn, torch.ones_like(root))

# %% mistake="does_not_wait" theme="order"
# A node was called as soon as the first gradient reached it. What arrives later is not passed on.
# Узел вызван, как только до него дошёл первый градиент. То, что приходит позже, дальше не передаётся.
def run_backward(root):
    total = {root.grad_fn: torch.ones_like(root)}
    queue = deque([root.grad_fn])
    while queue:
        node = queue.popleft()
        if hasattr(node, "variable"):
            continue
        for child, gradient in pass_on(node, total[node]):
            if child not in total:
                queue.append(child)
            accumulate(total, child, gradient)
    for node, gradient in total.items():
        if hasattr(node, "variable"):
            assign_gradient(node.variable, gradient)

# %% mistake="one_path_only" theme="accumulation"
# A node where paths meet was called with what one of them brings: the rest was dropped, not added.
# Узел, в котором сходятся пути, вызывается с градиентом, пришедшим по одному из них: остальные отброшены, а не
#     прибавлены.
def run_backward(root):
    seen = set()

    def backward(node, incoming):
        if node in seen:
            return
        seen.add(node)
        if hasattr(node, "variable"):
            assign_gradient(node.variable, incoming)
            return
        for child, gradient in pass_on(node, incoming):
            backward(child, gradient)

    backward(root.grad_fn, torch.ones_like(root))

# %% mistake="goes_depth_first" theme="order"
# Each node was called once, but in depth-first order: some were called before all gradients had reached them.
# Каждый узел вызван один раз, но обход идёт в глубину: некоторые узлы вызваны раньше, чем до них дошли все
#     градиенты.
def run_backward(root):
    order = []

    def visit(node):
        order.append(node)
        for child, _ in node.next_functions:
            if child is not None and child not in order:
                visit(child)

    visit(root.grad_fn)
    total = {root.grad_fn: torch.ones_like(root)}
    for node in order:
        for child, gradient in pass_on(node, total[node]):
            accumulate(total, child, gradient)
        if not node.next_functions:
            assign_gradient(node.variable, total[node])

# %% mistake="goes_level_by_level" theme="cost"
# The graph was walked level by level. The gradients are right, but a node that can be reached in two steps and in
#     three is called twice.
# Граф обойдён по уровням. Градиенты верны, но узел, до которого можно дойти и за два шага, и за три, вызывается
#     дважды.
def run_backward(root):
    level = {root.grad_fn: torch.ones_like(root)}
    while level:
        below = {}
        for node, incoming in level.items():
            if hasattr(node, "variable"):
                add_gradient(node.variable, incoming)
                continue
            for child, gradient in pass_on(node, incoming):
                accumulate(below, child, gradient)
        level = below

# %% mistake="calls_with_ones" theme="derivative"
# Every node was called with ones. It should get the gradient that has arrived: that is the chain rule.
# Каждый узел вызван с тензором из единиц. Но он должен получать дошедший до него градиент: это и есть цепное
#     правило.
def run_backward(root):
    def call(node, gradient):
        return call_node(node, torch.ones_like(gradient))

    backward_in_order(root, _assign_at, call=call)

# %% mistake="first_input_only" theme="missing"
# Only the first input of each node gets a gradient. Every entry of `next_functions` needs one.
# Градиент получает только первый вход каждого узла. Нужно пройти по всем парам из `next_functions`.
def run_backward(root):
    backward_in_order(root, _assign_at, call=lambda node, gradient: call_node(node, gradient)[:1])

# %% mistake="leaves_nothing_at_the_leaves" theme="missing"
# The leaves are still passed over: nothing is put into their `.grad`.
# Листья по-прежнему пропускаются: в их `.grad` ничего не попадает.
def run_backward(root):
    backward_by_paths(root, lambda *_: None)

# %% mistake="doubles_at_the_leaf" theme="accumulation"
# A gradient arrives at a leaf twice: the node of a leaf adds to `.grad` by itself, so an assignment beside the call
#     doubles it.
# Градиент попадает в лист дважды: узел листа сам прибавляет его к `.grad`, и вместе с присваиванием получается
#     вдвое больше.
def run_backward(root):
    def at_leaf(node, gradient):
        node.variable.grad = gradient.clone()
        call_node(node, gradient)

    backward_in_order(root, at_leaf)

# %% mistake="shares_gradients" theme="in_place"
# The values are right, but leaves share one gradient. An addition passes the same tensor to both of its inputs:
#     each leaf needs a copy, or a call of its node, which takes care of that.
# Значения верны, но у листьев общий градиент. Узел сложения передаёт обоим входам один и тот же тензор: каждому
#     листу нужна копия или вызов его узла, в котором это учтено.
def run_backward(root):
    backward_in_order(root, lambda node, gradient: setattr(node.variable, "grad", gradient))

# %% mistake="tracks_the_pass" theme="recording"
# The nodes were called with gradient tracking on, so the gradients have a graph of their own.
# Узлы вызваны при включённом отслеживании вычислений, и у градиентов появился свой граф.
def run_backward(root):
    def tracked(node, gradient):
        gradients = node(gradient)
        return gradients if isinstance(gradients, tuple) else (gradients,)

    backward_in_order(root, lambda node, gradient: node(gradient), call=tracked)

# %% mistake="calls_leaves_for_each_edge" theme="accumulation"
# The node of a leaf was called for every edge that leads to it. It is a node like the others: all gradients have to
#     be added up before the one call.
# Узел листа вызван для каждого ребра, которое к нему ведёт. Это такой же узел, как другие: сначала нужно сложить
#     все пришедшие градиенты, а потом вызвать узел один раз.
def run_backward(root):
    arrived = {root.grad_fn: torch.ones_like(root)}
    for node in graph_nodes(root):
        if hasattr(node, "variable"):
            continue
        for child, gradient in pass_on(node, arrived[node]):
            if hasattr(child, "variable"):
                call_node(child, gradient)
            else:
                accumulate(arrived, child, gradient)

# %% mistake="starts_in_float32" theme="precision"
# The pass starts with a float32 number. The root may be float64: `torch.ones_like(root)` has its dtype.
# Проход начат с числа типа float32. Корень может быть типа float64: тот же dtype будет у `torch.ones_like(root)`.
def run_backward(root):
    backward_in_order(root, call_node, start=lambda _: torch.tensor(1.0))

# %% mistake="assigns_float32" theme="precision"
# The pass starts with a float32 number, and some `.grad` gets float32. The root may be float64:
#     `torch.ones_like(root)` has its dtype.
# Проход начат с числа типа float32, и какой-то `.grad` тоже получается float32. Корень может быть типа float64: тот
#     же dtype будет у `torch.ones_like(root)`.
def run_backward(root):
    backward_in_order(root, _assign_at, start=lambda _: torch.tensor(1.0))

# %% mistake="takes_from_a_stack" theme="order"
# Nodes were taken from a stack as they come. A node is called before all gradients have reached it, and what was
#     passed on is passed on again.
# Узлы взяты из стека подряд. Узел вызывается раньше, чем до него дошли все градиенты, и уже переданное передаётся
#     снова.
def run_backward(root):
    total = {root.grad_fn: torch.ones_like(root)}
    todo = [root.grad_fn]
    while todo:
        node = todo.pop()
        if hasattr(node, "variable"):
            assign_gradient(node.variable, total[node])
            continue
        for child, gradient in pass_on(node, total[node]):
            accumulate(total, child, gradient)
            todo.append(child)

# %% mistake="takes_from_a_queue" theme="order"
# Nodes wait in a queue, and each is called once, but when its turn comes, not all gradients have reached it.
# Узлы стоят в очереди, и каждый вызван один раз, но к моменту вызова до него дошли не все градиенты.
def run_backward(root):
    total = {root.grad_fn: torch.ones_like(root)}
    queue = deque([root.grad_fn])
    done = set()
    while queue:
        node = queue.popleft()
        if node in done:
            continue
        done.add(node)
        if hasattr(node, "variable"):
            assign_gradient(node.variable, total[node])
            continue
        for child, gradient in pass_on(node, total[node]):
            accumulate(total, child, gradient)
            queue.append(child)

# %% mistake="adds_in_place" theme="in_place"
# A gradient that has arrived was added to in place. An addition passes the same tensor to both of its inputs, so
#     the other one changes with it.
# Новый градиент прибавлен на месте к уже пришедшему. Узел сложения передаёт обоим входам один и тот же тензор,
#     поэтому вместе с одним меняется и другой.
def run_backward(root):
    arrived = {root.grad_fn: torch.ones_like(root)}
    for node in graph_nodes(root):
        if hasattr(node, "variable"):
            assign_gradient(node.variable, arrived[node])
            continue
        for child, gradient in pass_on(node, arrived[node]):
            if child in arrived:
                arrived[child] += gradient
            else:
                arrived[child] = gradient

# %% mistake="lets_the_engine_do_it" theme="cost"
# Autograd's own engine does the work. The values are right, but here your code should walk the graph.
# Обратный проход выполнен самим autograd. Значения верны, но здесь граф должен обойти ваш код.
def run_backward(root):
    root.backward()

# %% mistake="assigns_shape_of_a_number" theme="axes"
# The pass starts with a gradient of shape `()`, although `root` may have another shape, such as `(1,)`: some leaf
#     gets a `.grad` of the wrong shape.
# Проход начат с градиента формы `()`, а у `root` форма может быть и другой, например `(1,)`: `.grad` некоторого
#     листа получает не ту форму.
def run_backward(root):
    backward_in_order(root, _assign_at, start=lambda _: torch.ones((), dtype=root.dtype))

# %% mistake="goes_in_order_of_a_stack" theme="order"
# The nodes are called in the order in which a stack finds them: some are called before all that leads to them has
#     arrived.
# Узлы вызваны в том порядке, в каком их находит стек: некоторые — раньше, чем до них дошли все градиенты.
def run_backward(root):
    order = []
    todo = [root.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in order:
            order.append(node)
            todo += [child for child, _ in node.next_functions]
    total = {root.grad_fn: torch.ones_like(root)}
    for node in order:
        if hasattr(node, "variable"):
            assign_gradient(node.variable, total[node])
            continue
        for child, gradient in pass_on(node, total[node]):
            accumulate(total, child, gradient)

# %% mistake="counts_nodes" theme="accumulation"
# Of several edges between two nodes only one was counted. In `x * x` both edges lead to the same node, and each brings
#     a gradient.
# Из нескольких рёбер между двумя узлами учтено только одно. В `x * x` оба ребра ведут к одному и тому же узлу, и по
#     каждому приходит градиент.
def run_backward(root):
    arrived = {root.grad_fn: torch.ones_like(root)}
    for node in graph_nodes(root):
        if hasattr(node, "variable"):
            _assign_at(node, arrived[node])
        else:
            for child, gradient in dict(pass_on(node, arrived[node])).items():
                accumulate(arrived, child, gradient)
