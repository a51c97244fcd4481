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


def walk(root, retain_graph, after_hooks=after_hooks, leave=leave, keep=keep):
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

# %% mistake="calls_hooks_on_arrival" like="calls_hooks_per_part"
def hooks_and_freeing(root, retain_graph=False):
    arrived = {root: torch.ones_like(root.data)}
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

# %% mistake="calls_hooks_per_path" like="calls_hooks_per_part"
def hooks_and_freeing(root, retain_graph=False):
    todo, walked = [(root, torch.ones_like(root.data))], []
    while todo:
        value, gradient = todo.pop()
        gradient = after_hooks(value, gradient)
        if value.rule is None:
            keep(value, gradient)
        else:
            walked.append(value)
            todo += zip(value.inputs, value.rule(gradient))
    for value in () if retain_graph else walked:
        leave(value)

# %% mistake="shares_the_gradient" theme="in_place"
# Two leaves have one gradient in memory, or entries of a gradient share memory. The rule of `+` hands the same tensor to
#     both inputs, and each leaf needs a copy.
# У градиентов двух листьев общая память, или она общая у разных элементов одного градиента. Правило для `+` отдаёт обоим
#     входам один и тот же тензор, и каждому листу нужна копия.
def hooks_and_freeing(root, retain_graph=False):
    def hand_over(leaf, gradient):
        leaf.grad = gradient if leaf.grad is None else leaf.grad + gradient

    walk(root, retain_graph, keep=hand_over)

# %% mistake="leaves_sums_at_results" theme="accumulation"
# After a walk results have a `.grad`, too. It belongs to leaves alone: the sum of a walk needs another place.
# После обхода поле `.grad` заполнено и у результатов. Оно только для листьев: сумме одного обхода нужно другое место.
def hooks_and_freeing(root, retain_graph=False):
    def kept(value, gradient):
        gradient = after_hooks(value, gradient)
        if value.rule is not None:
            value.grad = gradient
        return gradient

    walk(root, retain_graph, kept)

# %% mistake="ignores_the_replacement" theme="return"
# Hooks are called, but what they return is dropped. It should take the gradient's place.
# Хуки вызываются, но то, что они вернули, отбрасывается. А оно должно заменить градиент.
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
# At a leaf what a hook returns does not reach `.grad`: the hook runs after `.grad` has been written, or its result is
#     dropped.
# У листа то, что вернул хук, не попадает в `.grad`: хук выполняется после записи в `.grad` или его результат отбрасывается.
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

# %% mistake="keeps_the_rules" theme="graph_life"
# A freed value forgets its inputs but keeps its rule. The rule holds the inputs, so they stay in memory.
# Освобождённое значение забывает входы, но не правило. А правило удерживает входы, и они остаются в памяти.
def hooks_and_freeing(root, retain_graph=False):
    def forget(value):
        value.inputs, value.walked = (), True

    if any(hasattr(value, "walked") for value in in_order(root)):
        refuse(None)
    walk(root, retain_graph, leave=forget)

# %% mistake="walks_only" theme="missing" plain="yes"
# No hook is called, and nothing is freed: this is `walk_nodes`.
# Хуки не вызываются, и ничего не освобождается: это `walk_nodes`.
def hooks_and_freeing(root, retain_graph=False):
    walk(root, retain_graph=True, after_hooks=lambda value, gradient: gradient)

# %% mistake="refuses_only" theme="graph_life"
# A second walk is refused, but results are still in memory: something holds them, such as the root or a list.
# Второй обход вызывает ошибку, как и нужно, но результаты остаются в памяти: их что-то удерживает, например корень или список.
def hooks_and_freeing(root, retain_graph=False):
    walk(root, retain_graph, leave=lambda value: setattr(value, "rule", refuse))

# %% mistake="frees_in_silence" theme="graph_life"
# The results are gone, but a second walk says nothing: it ends at the root. It should raise a RuntimeError.
# Результаты освобождены, но второй обход ошибки не вызывает: он просто заканчивается в корне. Нужна RuntimeError.
def hooks_and_freeing(root, retain_graph=False):
    def forget(value):
        value.inputs, value.rule = (), lambda gradient: ()

    walk(root, retain_graph, leave=forget)

# %% mistake="ignores_retain_graph" theme="graph_life"
# `retain_graph=True` changes nothing: the first walk frees the graph, and the second raises a RuntimeError.
# `retain_graph=True` ничего не меняет: первый же обход освобождает граф, а второй вызывает RuntimeError.
def hooks_and_freeing(root, retain_graph=False):
    walk(root, retain_graph=False)

# %% mistake="turns_retain_graph_round" theme="graph_life"
# It is the other way round: a walk with `retain_graph=True` frees the graph, and one without it frees nothing.
# Всё наоборот: обход с `retain_graph=True` освобождает граф, а без этого аргумента не освобождает ничего.
def hooks_and_freeing(root, retain_graph=False):
    walk(root, not retain_graph)

# %% mistake="clears_the_leaves" theme="accumulation"
# A second walk adds nothing to the `.grad` of a leaf: it writes over what is there, or clears it. It has to add.
# Второй обход ничего не прибавляет к `.grad` листа: прежнее значение перезаписано или обнулено. Нужно прибавлять.
def hooks_and_freeing(root, retain_graph=False):
    for value in in_order(root):
        value.grad = None
    walk(root, retain_graph)

# %% mistake="frees_the_leaves" theme="graph_life"
# A walk frees leaves: another graph over them raises an error. Leaves have to be usable again.
# Обход освобождает листья: другой граф на тех же листьях вызывает ошибку. Листья освобождать нельзя: ими
#     пользуются и другие графы.
def hooks_and_freeing(root, retain_graph=False):
    order = in_order(root)
    walk(root, retain_graph)
    if not retain_graph:
        for value in order:
            leave(value)

# %% mistake="frees_the_inputs_of_leaves" like="frees_the_leaves"
def hooks_and_freeing(root, retain_graph=False):
    order = in_order(root)
    walk(root, retain_graph)
    if not retain_graph:
        for value in order:
            value.inputs = None

# %% mistake="never_calls_hooks" theme="missing"
# Not even the only hook of a value is called.
# Не вызывается даже единственный хук значения.
def hooks_and_freeing(root, retain_graph=False):
    walk(root, retain_graph, lambda value, gradient: gradient)

# %% mistake="asks_for_truth" theme="own"
# What a hook returns is taken by its truth, as in `hook(gradient) or gradient`. A tensor with several entries has none,
#     and a zero counts as nothing: compare with None.
# То, что вернул хук, проверяется на истинность, как в `hook(gradient) or gradient`. У тензора из нескольких элементов её
#     нет, а ноль считается ложью: сравнивайте с None.
def hooks_and_freeing(root, retain_graph=False):
    def by_truth(value, gradient):
        for hook in value.hooks:
            gradient = hook(gradient) or gradient
        return gradient

    walk(root, retain_graph, by_truth)

# %% mistake="takes_none_for_a_gradient" theme="return"
# A walk with a hook that returns None ends in an error. None leaves the gradient as it is.
# Обход с хуком, который возвращает None, заканчивается ошибкой. При None градиент остаётся прежним.
def hooks_and_freeing(root, retain_graph=False):
    def replaced(value, gradient):
        for hook in value.hooks:
            gradient = hook(gradient) * 1.0
        return gradient

    walk(root, retain_graph, replaced)

# %% mistake="skips_results" theme="missing"
# Hooks of results are never called, only those of leaves.
# Хуки результатов не вызываются, только хуки листьев.
def hooks_and_freeing(root, retain_graph=False):
    walk(root, retain_graph, lambda value, g: g if value.rule is not None else after_hooks(value, g))

# %% mistake="skips_the_root" theme="missing"
# Hooks of the root are never called. The root gets a gradient, too.
# Хуки корня не вызываются. Корень тоже получает градиент.
def hooks_and_freeing(root, retain_graph=False):
    walk(root, retain_graph, lambda value, g: g if value is root else after_hooks(value, g))

# %% mistake="hooks_work_once" theme="state"
# A hook is gone after its first walk. It stays until somebody removes it.
# После первого обхода хука больше нет. Хук должен оставаться и для следующих обходов.
def hooks_and_freeing(root, retain_graph=False):
    def once(value, gradient):
        gradient = after_hooks(value, gradient)
        value.hooks = []
        return gradient

    walk(root, retain_graph, once)

# %% mistake="frees_the_hooks" theme="graph_life"
# The hooks of a leaf go with the graph: in a walk over another graph they are not called.
# Хуки листа исчезают вместе с графом: при обходе другого графа они не вызваны.
def hooks_and_freeing(root, retain_graph=False):
    order = in_order(root)
    walk(root, retain_graph)
    for value in () if retain_graph else order:
        value.hooks = []

# %% mistake="hooks_see_all_walks" theme="accumulation"
# In a second walk a hook does not get the gradient of this walk alone: what earlier walks left is in it.
# При втором обходе хук получает не только градиент этого обхода, но и то, что осталось от прежних.
def hooks_and_freeing(root, retain_graph=False):
    def with_the_old(value, gradient):
        if value.rule is None and value.grad is not None:
            gradient, value.grad = value.grad + gradient, None
        return after_hooks(value, gradient)

    walk(root, retain_graph, with_the_old)

# %% mistake="hooks_run_backwards" theme="order"
# Hooks of one value run in the reverse order. The first in the list runs first.
# Хуки одного значения выполняются в обратном порядке. Первым должен выполняться первый в списке.
def hooks_and_freeing(root, retain_graph=False):
    def backwards(value, gradient):
        for hook in reversed(value.hooks):
            replaced = hook(gradient)
            gradient = gradient if replaced is None else replaced
        return gradient

    walk(root, retain_graph, backwards)

# %% mistake="calls_one_hook" theme="missing"
# Of several hooks of a value only the first is called.
# Из нескольких хуков одного значения вызван только первый.
def hooks_and_freeing(root, retain_graph=False):
    def first(value, gradient):
        replaced = value.hooks[0](gradient) if value.hooks else None
        return gradient if replaced is None else replaced

    walk(root, retain_graph, first)

# %% mistake="ignores_replacements_of_results" theme="return"
# What a hook returns counts at leaves only. At a result it has to take the gradient's place, too.
# То, что вернул хук, учитывается только у листьев. У результата оно тоже должно заменить градиент.
def hooks_and_freeing(root, retain_graph=False):
    def at_leaves(value, gradient):
        replaced = after_hooks(value, gradient)
        return replaced if value.rule is None else gradient

    walk(root, retain_graph, at_leaves)

# %% mistake="none_undoes_the_replacement" theme="return"
# A hook that returns None undoes what an earlier hook has returned. None leaves the gradient as it is.
# Хук, который вернул None, отменяет то, что вернул предыдущий. При None градиент остаётся прежним.
def hooks_and_freeing(root, retain_graph=False):
    def undone(value, gradient):
        result = current = gradient
        for hook in value.hooks:
            replaced = hook(current)
            result = gradient if replaced is None else replaced
            current = current if replaced is None else replaced
        return result

    walk(root, retain_graph, undone)

# %% mistake="frees_the_root_only" theme="graph_life"
# Only the root is freed. A result that somebody holds still has its inputs, and one can walk through it again.
# Освобождён только корень. Результат, который кто-то держит, сохраняет свои входы, и через него возможен новый обход.
def hooks_and_freeing(root, retain_graph=False):
    walk(root, retain_graph=True)
    if not retain_graph:
        leave(root)

# %% mistake="asks_the_root_only" theme="graph_life"
# A walk from a freed root is refused, but one that meets a freed result elsewhere says nothing.
# Обход от освобождённого корня вызывает ошибку, но если освобождённый результат встретился в другом месте, ошибки нет.
def hooks_and_freeing(root, retain_graph=False):
    def forget(value):
        value.inputs, value.rule = (), silent

    if root.rule is silent:
        refuse(None)
    walk(root, retain_graph, leave=forget)


def silent(gradient):
    return ()

# %% mistake="raises_another_error" theme="own"
# A walk through a freed graph raises an error, but no RuntimeError.
# Обход освобождённого графа вызывает ошибку, но не RuntimeError.
def hooks_and_freeing(root, retain_graph=False):
    def forget(value):
        value.inputs, value.rule = (), refuse_the_value

    walk(root, retain_graph, leave=forget)


def refuse_the_value(gradient):
    raise ValueError("this graph has been freed")

# %% mistake="takes_the_fields_away" like="raises_another_error"
def hooks_and_freeing(root, retain_graph=False):
    def forget(value):
        del value.inputs, value.rule

    walk(root, retain_graph, leave=forget)

# %% mistake="calls_nothing" like="raises_another_error"
def hooks_and_freeing(root, retain_graph=False):
    def forget(value):
        value.inputs, value.rule = (), ()

    walk(root, retain_graph, leave=forget)

# %% mistake="needs_a_hook" theme="own"
# Where a value has no hook, no gradient is left: the result of the hooks is used although none was called.
# Там, где у значения нет хуков, градиента не остаётся: используется результат хуков, хотя ни один не вызван.
def hooks_and_freeing(root, retain_graph=False):
    def last_result(value, gradient):
        replaced = None
        for hook in value.hooks:
            replaced = hook(gradient)
        return replaced

    walk(root, retain_graph, last_result)

# %% mistake="writes_into_the_gradient" theme="in_place"
# What a hook returns is copied into the gradient in place. A rule may have handed the same tensor to another value.
# То, что вернул хук, скопировано в градиент на месте. Тот же тензор правило могло передать и другому значению.
def hooks_and_freeing(root, retain_graph=False):
    arrived = {root: torch.ones_like(root.data)}
    for value in in_order(root):
        gradient = arrived.pop(value)
        for hook in value.hooks:
            replaced = hook(gradient)
            if replaced is not None:
                gradient.copy_(replaced)
        if value.rule is None:
            keep(value, gradient)
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            arrived[each] = arrived[each] + part if each in arrived else part
        if not retain_graph:
            leave(value)
