# %%
import contextlib

import torch


def _record(loss, tensors, found, inputs=None):
    """Run `loss.backward(inputs=inputs)` and write the gradient of each tensor into `found`."""

    def keep(index):
        def hook(grad):
            found[index] = grad

        return hook

    handles = [tensor.register_hook(keep(index)) for index, tensor in enumerate(tensors)]
    try:
        loss.backward(inputs=inputs)
    finally:
        for handle in handles:
            handle.remove()

# %% mistake="leaves_the_hooks" theme="state"
# The hooks are never taken off. Every further pass will run them, and each keeps alive all that it uses.
# Хуки не сняты. Они будут выполняться в каждом следующем проходе, и каждый удерживает в памяти всё, чем пользуется.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    for index, tensor in enumerate(tensors):
        tensor.register_hook(lambda grad, index=index: found.__setitem__(index, grad))
    loss.backward()
    return found

# %% mistake="forgets_the_error" theme="state"
# The hooks are taken off after `backward()`, but not if it raises: that needs `finally`.
# Хуки сняты после `backward()`, но не в том случае, когда он завершился ошибкой: для этого нужен `finally`.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    handles = [
        tensor.register_hook(lambda grad, index=index: found.__setitem__(index, grad))
        for index, tensor in enumerate(tensors)
    ]
    loss.backward()
    for handle in handles:
        handle.remove()
    return found

# %% mistake="swallows_the_error" theme="own"
# The error of `backward()` was caught and does not reach the caller.
# Ошибка `backward()` перехвачена и не доходит до вызывающего кода.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    try:
        _record(loss, tensors, found)
    except RuntimeError:
        return None
    return found

# %% mistake="all_in_one_place" theme="own"
# Every hook writes to the same place: a variable of the loop is read when the hook runs, and by then the loop is
#     over.
# Все хуки пишут в одно место: переменная цикла читается, когда хук выполняется, а цикл к этому времени уже
#     закончился.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    handles = []
    for index, tensor in enumerate(tensors):
        handles.append(tensor.register_hook(lambda grad: found.__setitem__(index, grad)))  # noqa: B023 (the mistake)
    try:
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    return found

# %% mistake="in_order_of_arrival" theme="order"
# The gradients are listed in the order in which they arrived: from the loss backward, and only those that came.
# Градиенты перечислены в том порядке, в каком они пришли: от функции потерь назад, и только те, что пришли.
def arriving_gradients(loss, tensors):
    found = []
    handles = [tensor.register_hook(found.append) for tensor in tensors]
    try:
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    return found

# %% mistake="sums_of_leaves" theme="accumulation"
# For a leaf the list holds what is in `.grad` after the pass. That is the sum of all passes, not the gradient of
#     this one.
# Для листа в списке стоит то, что лежит в `.grad` после прохода. Это сумма всех проходов, а не градиент этого
#     прохода.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    _record(loss, tensors, found)
    return [tensor.grad if tensor.is_leaf else grad for grad, tensor in zip(found, tensors)]

# %% mistake="sums_of_reached_leaves" like="sums_of_leaves"
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    _record(loss, tensors, found)
    return [
        tensor.grad if tensor.is_leaf and grad is not None else grad  # as in a post-accumulate hook
        for grad, tensor in zip(found, tensors)
    ]

# %% mistake="subtracts" theme="accumulation"
# For a leaf the list holds the difference of `.grad` after and before the pass. Where nothing came, that is a
#     tensor of zeros; the contract says None.
# Для листа в списке стоит разность `.grad` после прохода и до него. Там, где ничего не пришло, это нули, а по
#     условию нужен None.
def arriving_gradients(loss, tensors):
    before = [tensor.grad.clone() if tensor.is_leaf and tensor.grad is not None else None for tensor in tensors]
    found = [None] * len(tensors)
    _record(loss, tensors, found)
    old = zip(found, tensors, before)
    return [grad if was is None else tensor.grad - was for grad, tensor, was in old]

# %% mistake="zeros_as_none" theme="own"
# A gradient of zeros is in the list as None. It did come: None is for tensors to which nothing comes.
# Вместо градиента из одних нулей в списке стоит None. Но такой градиент пришёл, а None — для тензоров, к которым не
#     приходит ничего.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    _record(loss, tensors, found)
    return [grad if grad is not None and grad.any() else None for grad in found]

# %% mistake="before_the_others" theme="order"
# For a tensor with somebody else's hook the list holds the gradient from before that hook. The changed one is
#     meant.
# Для тензора с чужим хуком в списке стоит градиент, каким он был до этого хука. А нужен уже изменённый.
def arriving_gradients(loss, tensors):
    found = torch.autograd.grad(loss, tensors, retain_graph=True, allow_unused=True)
    loss.backward()
    return list(found)

# %% mistake="leaves_only" theme="missing"
# Only the gradients of leaves are in the list; for the intermediate tensors there is None.
# В списке есть только градиенты листьев, а для промежуточных тензоров стоит None.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    _record(loss, tensors, found)
    return [grad if tensor.is_leaf else None for grad, tensor in zip(found, tensors)]

# %% mistake="names_the_inputs" theme="accumulation"
# With `inputs=` the pass fills `.grad` of exactly these tensors: of the intermediate ones, too, and of no other
#     leaf.
# С аргументом `inputs=` проход заполняет `.grad` ровно у этих тензоров: и у промежуточных, а у других листьев —
#     нет.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    _record(loss, tensors, found, inputs=tensors)
    return found

# %% mistake="puts_the_old_back" theme="accumulation"
# `.grad` of the leaves is as it was before: this pass should have added its gradient to it.
# В `.grad` у листьев лежит то же, что и до прохода, а проход должен был прибавить туда свой градиент.
def arriving_gradients(loss, tensors):
    old = [tensor.grad if tensor.is_leaf else None for tensor in tensors]
    for tensor in tensors:
        if tensor.is_leaf:
            tensor.grad = None
        else:
            tensor.retain_grad()
    loss.backward()
    found = [tensor.grad for tensor in tensors]
    for tensor, grad in zip(tensors, old):
        tensor.grad = grad
    return found

# %% mistake="clears_all_hooks" theme="state"
# All hooks of the tensors were cleared, somebody else's as well. A handle takes off one hook only.
# У тензоров убраны все хуки, в том числе чужой. Дескриптор снимает только один хук.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    try:
        _record(loss, tensors, found)
    finally:
        for tensor in tensors:
            tensor._backward_hooks.clear()
    return found

# %% mistake="retains" theme="accumulation"
# `retain_grad()` leaves a gradient in `.grad` of every intermediate tensor, and for a leaf `.grad` is the sum of
#     all passes.
# После `retain_grad()` у каждого промежуточного тензора градиент остаётся в `.grad`, а у листа в `.grad` лежит
#     сумма всех проходов.
def arriving_gradients(loss, tensors):
    for tensor in tensors:
        tensor.retain_grad()
    loss.backward()
    return [tensor.grad for tensor in tensors]

# %% mistake="asks_grad" theme="missing"
# `autograd.grad` returns the gradients, but `.grad` of the leaves gets nothing.
# Функция `autograd.grad` возвращает градиенты, но в `.grad` у листьев ничего не попадает.
def arriving_gradients(loss, tensors):
    return list(torch.autograd.grad(loss, tensors, allow_unused=True))

# %% mistake="fills_with_zeros" theme="own"
# For a tensor to which no gradient comes there is a tensor of zeros. The contract says None.
# Для тензора, к которому градиент не пришёл, в списке стоят нули, а по условию нужен None.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    _record(loss, tensors, found)
    return [torch.zeros_like(tensor) if grad is None else grad for grad, tensor in zip(found, tensors)]

# %% mistake="forgets_to_return" theme="return"
# Nothing was returned: `return` is missing.
# Функция ничего не возвращает: забыт `return`.
def arriving_gradients(loss, tensors):
    _record(loss, tensors, [None] * len(tensors))

# %% mistake="names_the_leaves" theme="missing"
# With `inputs=` the pass fills `.grad` of these leaves alone. A leaf that is not in `tensors` gets nothing.
# С аргументом `inputs=` проход заполняет `.grad` только у этих листьев. Лист, которого нет в `tensors`, не получает
#     ничего.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    _record(loss, tensors, found, inputs=[tensor for tensor in tensors if tensor.is_leaf] or None)
    return found

# %% mistake="retains_and_clears" theme="state"
# `retain_grad()` is still on for intermediate tensors. `.grad` is None now, but every later pass will fill it.
# У промежуточных тензоров по-прежнему действует `retain_grad()`. Сейчас в `.grad` у них None, но следующий проход
#     поле заполнит.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    inner = [tensor for tensor in tensors if not tensor.is_leaf]
    for tensor in inner:
        tensor.retain_grad()
    try:
        _record(loss, tensors, found)
    finally:
        for tensor in inner:
            tensor.grad = None
    return found

# %% mistake="clears_the_gradients" theme="accumulation"
# `.grad` of the leaves was cleared before the pass. What an earlier pass had left there is lost.
# Поля `.grad` листьев обнулены перед проходом. То, что оставил там прежний проход, потеряно.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    for tensor in tensors:
        if tensor.is_leaf:
            tensor.grad = None
    _record(loss, tensors, found)
    return found

# %% mistake="swallows_one_kind_of_error" like="swallows_the_error"
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    handles = [
        tensor.register_hook(lambda grad, index=index: found.__setitem__(index, grad))
        for index, tensor in enumerate(tensors)
    ]
    with contextlib.suppress(RuntimeError):
        loss.backward()
    for handle in handles:
        handle.remove()
    return found

# %% mistake="expects_one_kind_of_error" theme="state"
# The hooks are taken off when torch raises a RuntimeError, but not after an error of another kind, as a hook may
#     raise it. `finally` runs after every error.
# Хуки сняты, когда torch завершился ошибкой RuntimeError, но не после ошибки другого вида, которую может вызвать
#     хук. Блок `finally` выполняется после любой ошибки.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    handles = [
        tensor.register_hook(lambda grad, index=index: found.__setitem__(index, grad))
        for index, tensor in enumerate(tensors)
    ]
    try:
        loss.backward()
    except RuntimeError:
        for handle in handles:
            handle.remove()
        raise
    for handle in handles:
        handle.remove()
    return found

# %% mistake="takes_the_first_result" theme="own"
# For a tensor whose node has several results, the list holds the gradient of another one of them. A hook on a node
#     gets a gradient for each result.
# Для тензора, у узла которого несколько результатов, в списке стоит градиент другого из них. Хук на узле получает
#     по градиенту на каждый результат.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    nodes = [torch.autograd.graph.get_gradient_edge(tensor).node for tensor in tensors]
    handles = [
        node.register_prehook(lambda grads, index=index: found.__setitem__(index, grads[0]))
        for index, node in enumerate(nodes)
    ]
    try:
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    return found

# %% mistake="returns_a_dict" theme="missing"
# A dict comes back. The contract asks for a list, with one value for each tensor, in the order of `tensors`.
# Возвращён словарь, а по условию нужен список: по одному значению на тензор, в порядке `tensors`.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    _record(loss, tensors, found)
    return dict(zip(tensors, found))

# %% mistake="passes_twice" theme="accumulation"
# There are two backward passes: each of them has added to `.grad` of the leaves.
# Обратных проходов два, и каждый прибавил градиент к полям `.grad` листьев.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    loss.backward(retain_graph=True)
    _record(loss, tensors, found)
    return found

# %% mistake="expects_a_gradient" theme="missing"
# A hook computes with None. If an operation has several results and the loss depends on another one of them, torch
#     calls the hook with None.
# В хуке с None обращаются как с тензором. Если у операции несколько результатов, а функция потерь зависит только от
#     других, torch вызывает хук с None.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    handles = [
        tensor.register_hook(lambda grad, index=index: found.__setitem__(index, grad.clone()))
        for index, tensor in enumerate(tensors)
    ]
    try:
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    return found

# %% mistake="shares_memory_with_grad" theme="in_place"
# A gradient in the list shares its memory with `.grad` of a leaf, as after `detach()`. The next pass adds to `.grad` in
#     place, and the entry of the list changes with it.
# Градиент в списке занимает ту же память, что и поле `.grad` листа: так бывает после `detach()`. Следующий проход
#     изменит `.grad` на месте, и значение в списке изменится вместе с ним.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    handles = [
        tensor.register_hook(lambda grad, index=index: found.__setitem__(index, None if grad is None else grad.detach()))
        for index, tensor in enumerate(tensors)
    ]
    try:
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    return found

# %% mistake="reverses_the_list" theme="order"
# The list is in the opposite order: the last tensor comes first.
# Список стоит в обратном порядке: последний тензор — первым.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    _record(loss, tensors, found)
    return found[::-1]

# %% mistake="one_slot_for_all" theme="own"
# All hooks write into the same variable, and each entry of the list is what came last.
# Все хуки пишут в одну и ту же переменную, и на каждом месте в списке стоит то, что пришло последним.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    came = []
    handles = [tensor.register_hook(came.append) for tensor in tensors]
    try:
        _record(loss, tensors, found)
    finally:
        for handle in handles:
            handle.remove()
    return (came or [None])[-1:] * len(tensors)

# %% mistake="leaves_some_hooks" theme="state"
# Only the hooks on leaves are taken off. A hook on an intermediate tensor stays as long as the tensor.
# Сняты только хуки на листьях. А хук на промежуточном тензоре живёт столько же, сколько сам тензор.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)

    def hook_for(index):
        return lambda grad: found.__setitem__(index, grad)

    handles = [tensor.register_hook(hook_for(index)) for index, tensor in enumerate(tensors)]
    try:
        loss.backward()
    finally:
        for handle, tensor in zip(handles, tensors):
            if tensor.is_leaf:
                handle.remove()
    return found

# %% mistake="keeps_the_graph" theme="graph_life"
# The graph is not freed: `retain_graph=True` keeps all that it has saved. An ordinary `loss.backward()` frees it.
# Из-за `retain_graph=True` всё, что сохранено в графе, остаётся в памяти. Обычный вызов `loss.backward()` это
#     освобождает.
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    handles = [
        tensor.register_hook(lambda grad, index=index: found.__setitem__(index, grad))
        for index, tensor in enumerate(tensors)
    ]
    try:
        loss.backward(retain_graph=True)
    finally:
        for handle in handles:
            handle.remove()
    return found

# %% mistake="detaches_what_came" like="expects_a_gradient"
def arriving_gradients(loss, tensors):
    found = [None] * len(tensors)
    handles = [
        tensor.register_hook(lambda grad, index=index: found.__setitem__(index, grad.detach().clone()))
        for index, tensor in enumerate(tensors)
    ]
    try:
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    return found
