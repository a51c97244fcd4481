# %%
import copy
import weakref

import torch

_remembered = {}


_buffers = {}

# %% mistake="takes_data" theme="in_place"
# The snapshot still shares its memory with `x`. `.data`, `numpy()` and `Variable`, like `detach()`, give a second
#     name for the same numbers; `.contiguous()`, `.cpu()` and `.to(...)` copy only when they have to.
# У снимка по-прежнему общая с `x` память. `.data`, `numpy()` и `Variable`, как и `detach()`, дают второе имя той же
#     памяти; методы `.contiguous()`, `.cpu()` и `.to(...)` копируют, только если иначе нельзя.
def snapshot(x):
    return x.data

# %% mistake="hands_back_x" theme="in_place"
# `x` itself comes back, under another name. `.contiguous()`, `.cpu()` and `.to(...)` return the very tensor they
#     are called on when there is nothing to do.
# Возвращается сам тензор `x` под другим именем. Методы `.contiguous()`, `.cpu()` и `.to(...)` возвращают тот самый
#     тензор, если менять нечего.
def snapshot(x):
    return x.contiguous()

# %% mistake="moves_x" theme="in_place"
# `x` was given new memory. A tensor that shares the old one no longer sees its edits; it is the snapshot that needs
#     new memory.
# Новая память досталась тензору `x`, а нужна она снимку. Тензор, у которого память была с ним общей, следующих
#     изменений уже не увидит.
def snapshot(x):
    x.data = x.data.clone()
    return x.detach().clone()

# %% mistake="cuts_x_off" theme="recording"
# `x` was cut off from its history. `detach_()` and `requires_grad_()` change the caller's tensor; only the snapshot
#     should be a constant.
# От графа отсоединён сам `x`. Методы `detach_()` и `requires_grad_()` меняют тензор вызывающего кода, а константой
#     должен быть только снимок.
def snapshot(x):
    return x.detach_().clone()

# %% mistake="clones_only" theme="recording"
# The snapshot is still part of the graph. Copying the numbers is recorded too, by `clone()` and by `copy_()`.
# Снимок остался частью графа. Копирование тоже записывается, будь то `clone()` или `copy_()`.
def snapshot(x):
    return x.clone()

# %% mistake="makes_a_weight" theme="recording"
# The snapshot requires grad, as a new leaf. A snapshot should be a constant.
# Снимок — новый лист, который требует градиента. Снимок должен быть константой.
def snapshot(x):
    return x.detach().clone().requires_grad_()

# %% mistake="copies_deeply" theme="recording"
# `copy.deepcopy` was used. It keeps `requires_grad` for leaves and refuses results.
# Использована функция `copy.deepcopy`. У листьев она сохраняет `requires_grad`, а результаты операций не копирует
#     вовсе.
def snapshot(x):
    return copy.deepcopy(x)

# %% mistake="goes_through_a_list" theme="precision"
# A weight of float64 becomes a snapshot of float32. A Python list, for one, loses the dtype: torch makes float32 of
#     its numbers.
# Снимок веса float64 получается float32. Например, в списке Python dtype теряется: torch превращает его числа в
#     float32.
def snapshot(x):
    return torch.tensor(x.tolist())

# %% mistake="makes_float64" theme="precision"
# The snapshot is float64, whatever `x` is. It has to have the dtype of `x`.
# Снимок всегда float64, каким бы ни был `x`. Нужен dtype тензора `x`.
def snapshot(x):
    return x.detach().clone().double()

# %% mistake="loses_an_empty_shape" theme="axes"
# The shape of an empty tensor was lost: a list of no rows does not say how long they are.
# Потеряна форма пустого тензора: по списку без строк не видно, какой они длины.
def snapshot(x):
    return torch.tensor(x.tolist(), dtype=x.dtype)

# %% mistake="multiplies_by_one" theme="precision"
# The dtype of whole or logical numbers was lost: arithmetic such as `* 1.0` or `+ 0` makes another dtype of them.
# Потерян dtype целых или логических чисел: арифметика вроде `* 1.0` или `+ 0` даёт другой dtype.
def snapshot(x):
    return x.detach() * 1.0

# %% mistake="adds_zero" like="multiplies_by_one"
def snapshot(x):
    return x.detach() + 0

# %% mistake="remembers_the_first" theme="state"
# A later snapshot of the same, edited tensor holds the old numbers: the first one was kept and returned again.
# В новом снимке того же, уже изменённого тензора лежат старые числа: сохранён и снова возвращён первый снимок.
def snapshot(x):
    found = _remembered.get(id(x))
    if found is None or found[0]() is not x:
        _remembered[id(x)] = found = (weakref.ref(x), x.detach().clone())
    return found[1]

# %% mistake="returns_a_list" theme="missing"
# A Python list was returned. Asked for is a tensor.
# Возвращён список Python, а нужен тензор.
def snapshot(x):
    return x.tolist()

# %% mistake="reuses_one_buffer" theme="in_place"
# All calls share one buffer: the next snapshot of the same shape overwrites this one.
# У всех вызовов общий буфер: следующий снимок той же формы записывается поверх этого.
def snapshot(x):
    buffer = _buffers.setdefault((x.shape, x.dtype), torch.empty(x.shape, dtype=x.dtype))
    return buffer.copy_(x.detach())

# %% mistake="flattens" theme="axes"
# The snapshot is flat. It needs the shape of `x`.
# Снимок вытянут в строку. У него должна быть форма тензора `x`.
def snapshot(x):
    return x.detach().clone().flatten()

# %% mistake="returns_an_array" theme="missing"
# A NumPy array was returned. Asked for is a tensor.
# Возвращён массив NumPy, а нужен тензор.
def snapshot(x):
    return x.detach().clone().numpy()

# %% mistake="switches_the_flag_off" theme="recording"
# `requires_grad` of `x` is switched off. The flag belongs to the caller's tensor, and of a result it cannot be
#     changed.
# У `x` выключен флаг `requires_grad`. Это флаг чужого тензора, а у результата операции его и нельзя изменить.
def snapshot(x):
    return x.requires_grad_(False).clone()

# %% mistake="switches_the_clone_off" theme="recording"
# `requires_grad_(False)` is called on the clone. The clone is a result with a history, and only `detach()` takes
#     that away.
# Метод `requires_grad_(False)` вызван для копии. Копия — результат операции с историей, и убрать её может только
#     `detach()`.
def snapshot(x):
    return x.clone().requires_grad_(False)

# %% mistake="copies_leaves_deeply" theme="recording"
# Leaves are copied with `copy.deepcopy`, which keeps `requires_grad`: the snapshot of a weight is a weight.
# Листья копируются через `copy.deepcopy`, а она сохраняет `requires_grad`: снимок веса — снова вес.
def snapshot(x):
    return copy.deepcopy(x) if x.is_leaf else x.detach().clone()
