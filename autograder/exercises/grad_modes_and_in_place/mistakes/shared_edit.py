# %%
import torch


# %% mistake="returns_a_copy" theme="in_place"
# The two tensors share no memory: one is a copy or a new result.
# У двух тензоров нет общей памяти: один из них — копия или новый результат.
def shared_edit(x):
    h = x * 2
    return h.mul_(3), h.clone()

# %% mistake="returns_detached" theme="recording"
# The second tensor has no history (`grad_fn`): it was detached. It shares the memory, but no gradient passes
#     through it.
# У второго тензора нет истории (`grad_fn`): он отсоединён от графа. Память у него общая с первым, но градиент через
#     него не идёт.
def shared_edit(x):
    h = x * 2
    other = h.detach()
    h.mul_(3)
    return h, other

# %% mistake="records_nothing" theme="recording"
# Neither tensor has a history (`grad_fn`): they were made under `no_grad()`, or from a detached tensor.
# Ни у одного из тензоров нет истории (`grad_fn`): они созданы внутри `no_grad()` или из отсоединённого тензора.
def shared_edit(x):
    with torch.no_grad():
        h = x * 2
        return h.mul_(3), h[0]

# %% mistake="returns_it_twice" theme="in_place"
# One tensor came back twice. An in-place operation returns the very tensor that it edited.
# Дважды возвращён один и тот же тензор. Операция с изменением на месте возвращает тот самый тензор, который
#     изменила.
def shared_edit(x):
    h = x * 2
    return h, h.mul_(3)

# %% mistake="edits_the_leaf" theme="in_place"
# A leaf, or a view of one, was edited. That is refused whoever shares the memory.
# Изменён лист или его представление. Это запрещено независимо от того, с чем у него общая память.
def shared_edit(x):
    x.mul_(3)
    return x, x[0]

# %% mistake="edits_a_part" theme="in_place"
# A part from `unbind`, `split` or `chunk` was edited: one of several views that one call returned. Once they have a
#     history, those may not be edited.
# Изменена часть, которую вернул `unbind`, `split` или `chunk`: одно из нескольких представлений, полученных за один
#     вызов. Менять такие представления, если у них есть история, нельзя.
def shared_edit(x):
    h = x * 2
    part = h.unbind()[0]
    part.mul_(3)
    return h, part

# %% mistake="edits_the_base_of_parts" theme="in_place"
# A part from `unbind`, `split` or `chunk` was returned, and its base was edited. One of several views of one call
#     may not be used after that.
# Возвращена часть, которую дал `unbind`, `split` или `chunk`, а её исходный тензор изменён. Если один вызов
#     вернул сразу несколько представлений, после такого изменения использовать их нельзя.
def shared_edit(x):
    h = x * 2
    part = h.unbind()[0]
    h.add_(1)
    return h, part

# %% mistake="edits_nothing" theme="in_place"
# The version counter noticed nothing: there is no edit in place, or it was made through `.data`.
# Счётчик версий не изменился: изменения на месте нет или оно сделано через `.data`.
def shared_edit(x):
    h = x * 2
    return h, h[0]

# %% mistake="draws_a_mask" theme="test"
# The result is random, as after dropout: a second call with the same `x` gives other numbers.
# Результат случаен, как после dropout: второй вызов с тем же `x` даёт другие числа.
def shared_edit(x):
    h = x * 2 * torch.rand_like(x)
    other = h.t()
    h.mul_(3)
    return h, other

# %% mistake="views_afterwards" theme="order"
# The second tensor was made after the edit. At the moment of the edit nobody else held the memory, so the sentence
#     stands.
# Второй тензор создан уже после изменения. В момент изменения эта память была только у одного тензора, и
#     утверждение не опровергнуто.
def shared_edit(x):
    h = x * 2
    h.mul_(3)
    return h, h.view(-1)

# %% mistake="edits_what_was_saved" theme="in_place"
# The edit destroyed a tensor that an earlier operation had saved for backward.
# Изменён тензор, который одна из предыдущих операций сохранила для обратного прохода.
def shared_edit(x):
    h = x.exp()
    other = h[0]
    h.mul_(3)
    return h, other

# %% mistake="edits_unseen" theme="recording"
# The numbers changed, but the gradient of `x` does not know it: the edit was made past the graph (`no_grad()`,
#     `detach()`), or `detach()` has cut the way to `x`.
# Числа изменились, но на градиенте по `x` это не сказалось: изменение сделано в обход графа (`no_grad()`,
#     `detach()`), или путь к `x` оборван вызовом `detach()`.
def shared_edit(x):
    h = x * 2
    other = h[0]
    with torch.no_grad():
        h.mul_(3)
    return h, other

# %% mistake="returns_one" theme="missing"
# One tensor came back. A pair was asked for, so that both can be looked at.
# Возвращён один тензор, а нужна пара, чтобы можно было посмотреть на оба.
def shared_edit(x):
    return (x * 2).mul_(3)

# %% mistake="edits_in_vain" theme="missing"
# Nothing was returned.
# Ничего не возвращено.
def shared_edit(x):
    (x * 2).mul_(3)

# %% mistake="raises_the_counter" theme="in_place"
# The version counter was raised by hand. No operation wrote into the memory, so there is no edit.
# Счётчик версий увеличен вручную. Ни одна операция в эту память не писала, так что изменения нет.
def shared_edit(x):
    h = x * 2
    other = h[0]
    torch.autograd.graph.increment_version(h)
    return h, other

# %% mistake="shares_the_leaf" theme="in_place"
# The shared memory is that of `x`: both tensors are views of the leaf. Begin with a result, such as `x * 2`.
# Общая память принадлежит самому `x`: оба тензора — представления листа. Начните с результата, например с `x * 2`.
def shared_edit(x):
    return x.view(-1), x.t()

# %% mistake="returns_three" theme="missing"
# A tuple came back, but not a pair of tensors: its length is not 2, or an entry is no tensor.
# Возвращён кортеж, но не пара тензоров: его длина не 2 или какой-то элемент не тензор.
def shared_edit(x):
    h = x * 2
    other = h.t()
    h.mul_(3)
    return h, other, x

# %% mistake="rounds" theme="test"
# The edit rounds the numbers. Rounding goes in steps: its gradient is zero wherever there is one, and the result is
#     no smooth function of `x`.
# Изменение округляет числа. Округление ступенчато: его градиент равен нулю везде, где он есть, и результат — не
#     гладкая функция от `x`.
def shared_edit(x):
    h = x * 2
    other = h[0]
    h.round_()
    return h, other

# %% mistake="edits_the_data" theme="recording"
# The edit was made through `.data`: neither the graph nor the version counter knows of it, so the gradient of `x` is
#     that of the old numbers.
# Изменение сделано через `.data`: о нём не знает ни граф, ни счётчик версий, и градиент по `x` остался прежним.
def shared_edit(x):
    h = x * 1
    other = h.view_as(h)
    h.data.mul_(10)
    return h, other
