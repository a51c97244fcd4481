# %%
import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge


# %% mistake="edges_after_all_edits" theme="order"
# Every gradient is the one with respect to the last value: a tensor, and an edge taken after all edits, means the value
#     that `h` has now.
# Все градиенты — по последнему значению: и сам тензор, и ребро, полученное после всех изменений, относятся к нынешнему
#     значению `h`.
def fix_places(h, edits, loss_of):
    for edit in edits:
        edit(h)
    return list(torch.autograd.grad(loss_of(h), [get_gradient_edge(h) for _ in range(len(edits) + 1)]))

# %% mistake="copies_aside" theme="recording"
# The loss does not depend on these tensors: a copy or a detached tensor lies beside the value that is edited.
# Функция потерь от этих тензоров не зависит: копия или отсоединённый тензор — не то значение, которое меняется на
#     месте.
def fix_places(h, edits, loss_of):
    places = [h.clone()]
    for edit in edits:
        edit(h)
        places.append(h.clone())
    return list(torch.autograd.grad(loss_of(h), places))

# %% mistake="edits_copies" theme="in_place"
# The gradients are those of copies. `h` itself was left unedited.
# Градиенты получены для копий, а сам тензор `h` остался неизменённым.
def fix_places(h, edits, loss_of):
    places = [h]
    for edit in edits:
        copy = places[-1].clone()
        edit(copy)
        places.append(copy)
    edges, current = [], h.clone()
    edges.append(get_gradient_edge(current))
    for edit in edits:
        edit(current)
        edges.append(get_gradient_edge(current))
    return list(torch.autograd.grad(loss_of(current), edges))

# %% mistake="last_is_missing" theme="missing"
# The gradient with respect to the value after the last edit is missing.
# Не хватает градиента по значению после последнего изменения.
def fix_places(h, edits, loss_of):
    places = []
    for edit in edits:
        places.append(get_gradient_edge(h))
        edit(h)
    return list(torch.autograd.grad(loss_of(h), places)) if places else []

# %% mistake="first_is_missing" theme="missing"
# The gradient with respect to the value before all edits is missing.
# Не хватает градиента по значению до всех изменений.
def fix_places(h, edits, loss_of):
    places = []
    for edit in edits:
        edit(h)
        places.append(get_gradient_edge(h))
    return list(torch.autograd.grad(loss_of(h), places)) if places else []

# %% mistake="always_the_first_result" theme="own"
# An edge with the number 0 means the first result of the operation. Here `h` is another one.
# Ребро с номером 0 относится к первому результату операции, а `h` здесь — другой её результат.
def fix_places(h, edits, loss_of):
    places = [GradientEdge(h.grad_fn, 0)]
    for edit in edits:
        edit(h)
        places.append(GradientEdge(h.grad_fn, 0))
    return list(torch.autograd.grad(loss_of(h), places, allow_unused=True))

# %% mistake="newest_first" theme="order"
# The gradients stand in the order of the backward pass: the last value comes first.
# Градиенты стоят в том порядке, в котором их даёт обратный проход: первым идёт последнее значение.
def fix_places(h, edits, loss_of):
    places = [get_gradient_edge(h)]
    for edit in edits:
        edit(h)
        places.append(get_gradient_edge(h))
    return list(torch.autograd.grad(loss_of(h), places))[::-1]

# %% mistake="a_pass_for_each" theme="cost"
# There is a backward pass for each value. `torch.autograd.grad` takes all edges in one call.
# На каждое значение уходит свой обратный проход. Но `torch.autograd.grad` принимает все рёбра в одном вызове.
def fix_places(h, edits, loss_of):
    places = [get_gradient_edge(h)]
    for edit in edits:
        edit(h)
        places.append(get_gradient_edge(h))
    loss = loss_of(h)
    return [torch.autograd.grad(loss, place, retain_graph=True)[0] for place in places]

# %% mistake="whole_pass" theme="accumulation"
# `backward()` goes on to the leaves and adds to their `.grad`.
# Вызов `backward()` доходит до листьев и прибавляет градиенты к их `.grad`.
def fix_places(h, edits, loss_of):
    found, handles = [], []
    handles.append(h.register_hook(lambda g: found.append(g)))
    for edit in edits:
        edit(h)
        handles.append(h.register_hook(lambda g: found.append(g)))
    loss_of(h).backward()
    for handle in handles:
        handle.remove()
    return found[::-1]

# %% mistake="hooks_stay" theme="state"
# The hooks are still on `h`.
# Хуки остались на тензоре `h`.
def fix_places(h, edits, loss_of):
    found, start = [], get_gradient_edge(h)
    h.register_hook(lambda g: found.append(g))
    for edit in edits:
        edit(h)
        h.register_hook(lambda g: found.append(g))
    torch.autograd.grad(loss_of(h), start)
    return found[::-1]

# %% mistake="retained" theme="in_place"
# After `retain_grad()`, `h.grad` holds one gradient only: that of the last value.
# После `retain_grad()` в `h.grad` лежит только один градиент — по последнему значению.
def fix_places(h, edits, loss_of):
    h.retain_grad()
    for edit in edits:
        edit(h)
    loss_of(h).backward()
    return [h.grad] * (len(edits) + 1)

# %% mistake="nothing_returned" theme="return"
# The function computes the gradients and returns nothing.
# Градиенты вычислены, но функция ничего не возвращает.
def fix_places(h, edits, loss_of):
    places = [get_gradient_edge(h)]
    for edit in edits:
        edit(h)
        places.append(get_gradient_edge(h))
    torch.autograd.grad(loss_of(h), places)
