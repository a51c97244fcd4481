# %%
import torch
from torch.autograd.graph import saved_tensors_hooks

from ..half_bytes import is_wide
from .common import running_with_hooks


def _restore(packed):
    return packed[0].to(packed[1])


def _packing(pack):
    """Return an answer that packs each tensor as `pack` does, and restores its dtype."""
    return running_with_hooks(lambda t: (pack(t), t.dtype), _restore)


def _half(t):
    return t.detach().half() if is_wide(t) else t.detach()

# %% mistake="defines_the_hooks_only" theme="missing"
# `f` did not run inside `with saved_tensors_hooks(...)`: what it saves is kept as it is.
# Функция `f` выполнена не внутри `with saved_tensors_hooks(...)`: сохранённое хранится как есть.
def save_in_half(f, x):
    return f(x)

# %% mistake="returns_no_graph" theme="recording"
# No graph leads from the result back to `x`: `f` ran under `no_grad()`, or its input or its result was detached.
# От результата к `x` граф не ведёт: `f` выполнена внутри `no_grad()`, либо отсоединён её вход или результат.
def save_in_half(f, x):
    return f(x).detach()

# %% mistake="forgets_to_return" theme="return"
# Nothing was returned. The function has to return `f(x)`.
# Функция ничего не возвращает, а должна вернуть `f(x)`.
def save_in_half(f, x):
    with saved_tensors_hooks(lambda t: (t.detach().half(), t.dtype), _restore):
        f(x)

# %% mistake="calls_twice" theme="cost"
# `f` is called twice, with the hooks and without them, or once for nothing. One call with the hooks is enough: its
#     result is the one to return.
# Функция `f` вызывается дважды: с хуками и без них либо лишний раз впустую. Достаточно одного вызова с хуками: его
#     результат и нужно вернуть.
def save_in_half(f, x):
    f(x)
    return _packing(_half)(f, x)

# %% mistake="leaves_the_hooks_on" theme="state"
# The hooks stay on after your function has returned: they were switched on and never off. A `with` switches them
#     off by itself.
# Хуки действуют и после возврата из функции: их включили и не выключили. Блок `with` выключает их сам.
def save_in_half(f, x):
    saved_tensors_hooks(lambda t: (_half(t), t.dtype), _restore).__enter__()
    return f(x)

# %% mistake="computes_in_half" theme="precision"
# `x` itself was converted to float16 before `f` ran. The result is then a half too; only what is saved should be.
# Сам `x` переведён во float16 ещё до вызова `f`. Из-за этого и результат получается в половинной точности, а
#     уменьшать нужно только то, что сохраняется.
def save_in_half(f, x):
    return f(x.half()).to(x.dtype)

# %% mistake="unpacks_halves" theme="precision"
# `unpack` returns the float16 tensor. There is no error, but backward computes with it, and its result is rounded
#     to float16 once more.
# Хук `unpack` возвращает тензор float16. Ошибки при этом нет, но обратный проход выполняется с таким тензором, и
#     результат ещё раз округляется до float16.
def save_in_half(f, x):
    return running_with_hooks(_half, lambda packed: packed)(f, x)

# %% mistake="unpacks_float32" theme="precision"
# `unpack` returns float32 also where float64 was saved. Each tensor has to come back in the dtype that it had.
# Хук `unpack` возвращает float32, даже если сохранён был float64. Каждый тензор должен вернуться в исходном dtype.
def save_in_half(f, x):
    return running_with_hooks(
        _half,
        lambda packed: packed.float() if packed.is_floating_point() else packed,
    )(f, x)

# %% mistake="halves_indices" theme="precision"
# Everything was packed in float16, indices as well. float16 has no 2051: whole numbers above 2048 are rounded, and
#     the gradient lands in another entry.
# Во float16 упаковано всё, в том числе индексы. Числа 2051 во float16 нет: целые больше 2048 округляются, и
#     градиент попадает не в тот элемент.
def save_in_half(f, x):
    return _packing(lambda t: t.detach().half())(f, x)

# %% mistake="halves_everything" theme="precision"
# Everything comes back as float16, indices as well. `pack` has to note the dtype and leave whole numbers and
#     booleans alone.
# Всё возвращается во float16, в том числе индексы. Хук `pack` должен запоминать dtype и не менять целые числа и
#     логические значения.
def save_in_half(f, x):
    return running_with_hooks(lambda t: t.detach().half(), lambda packed: packed)(f, x)

# %% mistake="everything_to_float32" theme="precision"
# Everything comes back as float32, indices as well. An index has to come back as it was.
# Всё возвращается во float32, в том числе индексы. Индекс должен вернуться таким, каким был.
def save_in_half(f, x):
    return running_with_hooks(lambda t: t.detach().half(), lambda packed: packed.float())(f, x)

# %% mistake="swaps_the_pair" theme="missing"
# `pack` and `unpack` are the wrong way round: the first of the pair packs.
# Хуки `pack` и `unpack` перепутаны: первым в паре должен идти упаковывающий.
def save_in_half(f, x):
    return running_with_hooks(_restore, lambda t: (t.half(), t.dtype))(f, x)

# %% mistake="copies_the_rest" theme="cost"
# Tensors that are not made smaller are copied. Kept without a copy, they take no more memory: `detach()` makes
#     none.
# Копируются и те тензоры, которые нужно хранить как есть. Без копии лишней памяти они не занимают: `detach()` её не
#     создаёт.
def save_in_half(f, x):
    return _packing(lambda t: t.detach().half() if is_wide(t) else t.detach().clone())(f, x)

# %% mistake="halves_the_result" theme="precision"
# The result was converted to float16 as well. Only what is saved for backward should be packed.
# Во float16 переведён и результат, а упаковывать нужно только то, что сохраняется для обратного прохода.
def save_in_half(f, x):
    return f(x).half()

# %% mistake="packs_bfloat16" theme="precision"
# bfloat16 was used, which rounds eight times as coarsely as float16.
# Использован bfloat16: он округляет в восемь раз грубее, чем float16.
def save_in_half(f, x):
    return _packing(lambda t: t.detach().bfloat16() if is_wide(t) else t.detach())(f, x)

# %% mistake="packs_float32_only" theme="missing"
# Only float32 is packed. A float64 tensor should take two bytes per entry as well.
# Упаковываются только тензоры float32, а тензор float64 тоже должен занимать по два байта на элемент.
def save_in_half(f, x):
    return _packing(lambda t: t.detach().half() if t.dtype == torch.float32 else t.detach())(f, x)

# %% mistake="rounds_without_saving" theme="cost"
# `pack` rounds and goes back to the wide dtype at once. The numbers are rounded, but no memory is saved: going back
#     is for `unpack`.
# В `pack` числа округляются и тут же возвращаются к прежнему dtype. Памяти занято не меньше: обратно переводить
#     нужно в `unpack`.
def save_in_half(f, x):
    return running_with_hooks(lambda t: _half(t).to(t.dtype), lambda packed: packed)(f, x)

# %% mistake="keeps_both" theme="cost"
# What `pack` returns holds the wide tensor beside the float16 one, so more is kept than without hooks.
# В результате `pack` вместе с тензором float16 лежит и исходный: поэтому хранится больше, чем без хуков.
def save_in_half(f, x):
    return running_with_hooks(lambda t: (_half(t), t.detach()), lambda packed: packed[0].to(packed[1].dtype))(f, x)

# %% mistake="leaves_x_as_it_is" theme="missing"
# `x` is kept as it is, since it is in memory anyway. It is a saved tensor like the others: the graph has to keep it
#     as float16 too.
# Тензор `x` хранится как есть: он ведь и так в памяти. Но это такой же сохранённый тензор, как другие, и граф
#     должен хранить его как float16.
def save_in_half(f, x):
    return _packing(lambda t: t.detach() if t.data_ptr() == x.data_ptr() else _half(t))(f, x)

# %% mistake="keeps_the_rest_itself" theme="graph_life"
# A tensor that is not made smaller is kept without `detach()`. When it is the operation's own result, it holds its
#     graph and the graph holds it: nothing is freed. `t.half()` of a float16 tensor is that tensor too.
# Тензор, который не уменьшается, хранится без `detach()`. Если это результат той же операции, он держит граф, а
#     граф — его, и память не освобождается. Для тензора float16 `t.half()` возвращает сам этот тензор.
def save_in_half(f, x):
    return _packing(lambda t: t.half() if is_wide(t) else t)(f, x)

# %% mistake="unpacks_the_dtype_of_x" theme="precision"
# `unpack` gives every float16 tensor back in the dtype of `x`. A saved tensor may have another dtype than `x`.
# `unpack` возвращает любой тензор float16 в dtype тензора `x`. У сохранённого тензора dtype может быть другим, чем
#     у `x`.
def save_in_half(f, x):
    return running_with_hooks(_half, lambda packed: packed.to(x.dtype) if packed.dtype == torch.float16 else packed)(
        f, x
    )

# %% mistake="packs_only_what_requires_grad" theme="missing"
# Only tensors that require grad are packed in half. A constant factor is saved as well.
# Во float16 упаковываются только тензоры, которые требуют градиента. Но сохраняется и постоянный множитель.
def save_in_half(f, x):
    return _packing(lambda t: _half(t) if t.requires_grad else t.detach())(f, x)

# %% mistake="leaves_small_ones" theme="missing"
# Small tensors are left as they are. All saved float32 and float64 tensors are to be packed, of any size.
# Малые тензоры хранятся как есть. Упаковывать нужно все сохранённые тензоры float32 и float64 любого размера.
def save_in_half(f, x):
    return _packing(lambda t: _half(t) if t.numel() > 10 else t.detach())(f, x)

# %% mistake="runs_on_a_detached_x" theme="recording"
# `f` ran on a detached copy of `x`: the gradient never reaches `x`.
# `f` выполнена на отсоединённой копии `x`: до самого `x` градиент не доходит.
def save_in_half(f, x):
    hooked = _packing(_half)
    return hooked(f, x.detach().requires_grad_())

# %% mistake="leaves_single_numbers" like="leaves_small_ones"
def save_in_half(f, x):
    return _packing(lambda t: _half(t) if t.numel() > 1 else t.detach())(f, x)

# %% mistake="unpacks_the_pair" theme="missing"
# `unpack` returns no tensor, but the pair that `pack` made, for example, or nothing.
# Хук `unpack` возвращает не тензор, а, например, пару, которую создал `pack`, или ничего.
def save_in_half(f, x):
    return running_with_hooks(lambda t: (t.dtype, _half(t)), lambda packed: packed)(f, x)

# %% mistake="packs_nothing" theme="missing"
# `pack` returns nothing, so there is nothing to unpack.
# Хук `pack` ничего не возвращает, и распаковывать нечего.
def save_in_half(f, x):
    return running_with_hooks(lambda t: None, lambda packed: packed[1].to(packed[0]))(f, x)

# %% mistake="packs_all_floats" theme="precision"
# Every floating-point tensor is packed, bfloat16 as well. Its numbers may be too large for float16: only float32
#     and float64 are to be packed.
# Упаковывается любой вещественный тензор, в том числе bfloat16. Его числа могут не поместиться во float16:
#     упаковывать нужно только float32 и float64.
def save_in_half(f, x):
    return _packing(lambda t: t.detach().half() if t.is_floating_point() else t.detach())(f, x)

# %% mistake="unpacks_all_halves" theme="precision"
# Every floating-point tensor comes back as float16. `pack` has to note the dtype, and `unpack` to restore it.
# Любой вещественный тензор возвращается как float16. Хук `pack` должен запомнить dtype, а `unpack` — его
#     восстановить.
def save_in_half(f, x):
    return running_with_hooks(lambda t: t.detach().half() if t.is_floating_point() else t.detach(), lambda t: t)(f, x)

# %% mistake="rounds_x" theme="precision"
# `x` was rounded to float16 before `f` ran, and the result changed with it. Only what is saved should be rounded.
# Тензор `x` округлён до float16 ещё до вызова `f`, и результат изменился. Округлять нужно только то, что
#     сохраняется.
def save_in_half(f, x):
    return f(x.half().to(x.dtype))

# %% mistake="rounds_the_result" theme="precision"
# The result was rounded to float16. It should keep its exact numbers.
# Результат округлён до float16, а его числа должны остаться в точности прежними.
def save_in_half(f, x):
    y = _packing(_half)(f, x)
    return y.half().to(y.dtype)

# %% mistake="packs_the_dtype_of_x" theme="missing"
# Only tensors with the dtype of `x` are packed. Float32 and float64 tensors both should be, whatever `x` is.
# Упаковываются только тензоры с dtype тензора `x`. Упаковывать нужно и float32, и float64, каким бы ни был `x`.
def save_in_half(f, x):
    return running_with_hooks(
        lambda t: t.detach().half() if t.dtype == x.dtype else t.detach(),
        lambda t: t.to(x.dtype) if t.dtype == torch.float16 else t,
    )(f, x)

# %% mistake="packs_no_leaves" theme="missing"
# Leaves are kept as they are. `x` and constants are saved tensors like the others.
# Листья хранятся как есть. Но `x` и константы — такие же сохранённые тензоры, как остальные.
def save_in_half(f, x):
    return _packing(lambda t: t.detach() if t.is_leaf else _half(t))(f, x)
