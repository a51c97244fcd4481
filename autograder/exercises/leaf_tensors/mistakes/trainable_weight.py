# %% mistake="asks_a_result" theme="recording"
# What comes back is still a result: the leaf is made first, and the product or the cast comes after it. A later
#     `requires_grad_()` changes nothing about a result.
# Возвращается по-прежнему результат операции: лист создан раньше, а умножение или приведение типа идёт после него.
#     Если потом вызвать `requires_grad_()`, результат листом не станет.
def trainable_weight(values, dtype, device):
    return (values.clone().requires_grad_() * 0.01).to(device=device, dtype=dtype).requires_grad_()

# %% mistake="scales_a_leaf" theme="recording"
# The weight is scaled after it began to require grad. The product is a result; the leaf that the gradient goes to
#     is the tensor before it.
# Вес умножается, когда он уже требует градиента. Произведение — результат операции; лист, в который попадёт
#     градиент, — это исходный тензор, а не произведение.
def trainable_weight(values, dtype, device):
    return values.to(device=device, dtype=dtype, copy=True).requires_grad_() * 0.01

# %% mistake="moves_a_leaf" theme="recording"
# The weight is cast or moved after it began to require grad. Where there is something to do, `.to` returns a new
#     tensor, and that one is no leaf.
# Тип или устройство меняются, когда вес уже требует градиента. Если менять есть что, метод `.to` возвращает новый
#     тензор, и он не листовой.
def trainable_weight(values, dtype, device):
    return (values * 0.01).requires_grad_().to(device=device, dtype=dtype)

# %% mistake="retains_instead" theme="recording"
# `retain_grad()` was called to make a leaf. It keeps the gradient of a result, but a result stays a result: a step
#     would not change the tensor it is computed from.
# Метод `retain_grad()` вызван, чтобы сделать тензор листом. Он сохраняет градиент результата, но результат остаётся
#     результатом: тензор, из которого он вычислен, шаг не изменит.
def trainable_weight(values, dtype, device):
    weight = (values.clone().requires_grad_() * 0.01).to(device=device, dtype=dtype)
    weight.retain_grad()
    return weight

# %% mistake="tracks_the_input" theme="recording"
# `values` itself was made to require grad. The leaf is the caller's tensor then, and what comes back is a result.
# Флаг включён у самого `values`. Поэтому лист — тензор вызывающего кода, а возвращается результат операции.
def trainable_weight(values, dtype, device):
    return (values.requires_grad_() * 0.01).to(device=device, dtype=dtype)

# %% mistake="loses_the_flag" theme="recording"
# The result is a leaf, but a constant: its history was cut, and the flag went with it, or it was never asked to
#     require grad.
# Результат листовой, но это константа: вместе с историей потерялся и флаг, или его не включали.
def trainable_weight(values, dtype, device):
    return (values.clone().requires_grad_() * 0.01).to(device=device, dtype=dtype).detach()

# %% mistake="scales_in_place" theme="in_place"
# The weight is scaled in place while it requires grad. Autograd refuses that for a leaf.
# Вес умножается на месте, когда он уже требует градиента. Для листа autograd это запрещает.
def trainable_weight(values, dtype, device):
    return values.to(device=device, dtype=dtype, copy=True).requires_grad_().mul_(0.01)

# %% mistake="stays_where_it_was" theme="missing"
# The weight has the dtype and the device of `values`, not those that were asked for.
# У веса dtype и устройство те же, что у `values`, а не заданные.
def trainable_weight(values, dtype, device):
    return (values * 0.01).requires_grad_()

# %% mistake="ignores_the_dtype" theme="missing"
# The dtype that was asked for is ignored.
# Заданный dtype не учтён.
def trainable_weight(values, dtype, device):
    return (values * 0.01).to(device).requires_grad_()

# %% mistake="ignores_the_device" theme="missing"
# The device that was asked for is ignored.
# Заданное устройство не учтено.
def trainable_weight(values, dtype, device):
    return (values * 0.01).to(dtype).requires_grad_()

# %% mistake="tracks_the_caller" theme="recording"
# `values` was asked to require grad as well. The weight is right, but the caller's tensor is no longer a constant.
# Флаг включён и у самого `values`. Вес верен, но тензор вызывающего кода больше не константа.
def trainable_weight(values, dtype, device):
    return (values.requires_grad_().detach() * 0.01).to(device=device, dtype=dtype).requires_grad_()

# %% mistake="forgets_the_scale" theme="missing"
# The scaling by 0.01 is missing.
# Потеряно умножение на 0.01.
def trainable_weight(values, dtype, device):
    return values.to(device=device, dtype=dtype, copy=True).requires_grad_()

# %% mistake="scales_the_input" theme="in_place"
# `values` itself was scaled in place. The caller's data may not be changed.
# Сам тензор `values` умножен на месте. Данные вызывающего кода менять нельзя.
def trainable_weight(values, dtype, device):
    return values.mul_(0.01).to(device=device, dtype=dtype, copy=True).requires_grad_()

# %% mistake="assigns_its_data" theme="recording"
# The weight gets its numbers, dtype and device through `.data`. Torch refuses that between devices as different as
#     `cpu` and `meta`; the leaf has to be made where it is to live.
# Числа, dtype и устройство вес получает через `.data`. Между такими разными устройствами, как `cpu` и `meta`, torch
#     это запрещает: лист нужно создавать сразу на том устройстве, где он нужен.
def trainable_weight(values, dtype, device):
    weight = values.clone().requires_grad_()
    weight.data = (values * 0.01).to(device=device, dtype=dtype)
    return weight

# %% mistake="scales_what_to_returned" theme="in_place"
# `values` itself was scaled in place: with nothing to convert `.to(...)` returns the very tensor that it was called
#     on.
# Сам тензор `values` умножен на месте: если менять нечего, `.to(...)` возвращает тот самый тензор, для которого
#     вызван.
def trainable_weight(values, dtype, device):
    return values.to(device=device, dtype=dtype).mul_(0.01).requires_grad_()

# %% mistake="scales_by_a_tenth" theme="scaling"
# The weight is 0.1 times `values`. Asked for is 0.01.
# Вес равен `values`, умноженному на 0.1, а нужно на 0.01.
def trainable_weight(values, dtype, device):
    return (values * 0.1).to(device=device, dtype=dtype).requires_grad_()

# %% mistake="casts_to_float64" theme="precision"
# The weight is always float64, whatever dtype was asked for: that one goes to `.to(...)`.
# Вес всегда получается float64, а в `.to(...)` нужно передать заданный dtype.
def trainable_weight(values, dtype, device):
    return (values * 0.01).double().to(device).requires_grad_()

# %% mistake="casts_to_float32" theme="precision"
# The weight is always float32, whatever dtype was asked for: that one goes to `.to(...)`.
# Вес всегда получается float32, а в `.to(...)` нужно передать заданный dtype.
def trainable_weight(values, dtype, device):
    return (values * 0.01).float().to(device).requires_grad_()

# %% mistake="returns_nothing" theme="return"
# Nothing is returned: the `return` is missing.
# Ничего не возвращается: забыт `return`.
def trainable_weight(values, dtype, device):
    (values * 0.01).to(device=device, dtype=dtype).requires_grad_()

# %% mistake="flattens" theme="axes"
# The weight is flat. It needs the shape of `values`.
# Вес вытянут в строку. У него должна быть форма тензора `values`.
def trainable_weight(values, dtype, device):
    return (values.flatten() * 0.01).to(device=device, dtype=dtype).requires_grad_()
