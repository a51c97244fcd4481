# %%
import torch


# %% mistake="copies_v_only" theme="in_place"
# `v` was saved by a copy, but two gradients are still one tensor: both factors went into it.
# Тензор `v` защищён копией, но два градиента — по-прежнему один тензор: в него вошли оба множителя.
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v.clone(), materialize_grads=True)
    for gradient, factor in zip(gradients, factors):
        gradient *= factor
    return list(gradients)

# %% mistake="leaves_none" theme="missing"
# The factors are right, but an unused input gives None. None cannot be computed with: `materialize_grads=True`
#     gives zeros.
# Множители верны, но для неиспользованного входа возвращается None. Вычислять с None дальше нельзя:
#     `materialize_grads=True` даёт нули.
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    return [None if gradient is None else gradient * factor for gradient, factor in zip(gradients, factors)]

# %% mistake="forbids_unused" theme="missing"
# The unused input still raises an error: “appears to not have been used in the graph”.
# Из-за неиспользованного входа по-прежнему возникает ошибка: «appears to not have been used in the graph».
def fix_shared_gradients(y, inputs, v, factors):
    return [gradient * factor for gradient, factor in zip(torch.autograd.grad(y, inputs, v), factors)]

# %% mistake="goes_through_grad" theme="accumulation"
# The gradients are right, but `backward()` left them in `.grad` of the inputs. `torch.autograd.grad` returns them
#     and leaves `.grad` alone.
# Градиенты верны, но после `backward()` они остались в `.grad` входов. Функция `torch.autograd.grad` возвращает их,
#     а `.grad` не меняет.
def fix_shared_gradients(y, inputs, v, factors):
    y.backward(v)
    return [(torch.zeros_like(x) if x.grad is None else x.grad) * factor for x, factor in zip(inputs, factors)]

# %% mistake="multiplies_in_place" theme="in_place"
# `v` is still multiplied in place, together with the gradients that are `v` itself.
# На месте по-прежнему умножается `v` вместе с теми градиентами, которые и есть `v`.
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    for gradient, factor in zip(gradients, factors):
        gradient *= factor
    return list(gradients)

# %% mistake="zero_without_a_shape" theme="axes"
# An unused input gets a zero that is not a tensor of the input's shape.
# Для неиспользованного входа возвращается ноль, а не тензор той же формы, что у входа.
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    return [0.0 if gradient is None else gradient * factor for gradient, factor in zip(gradients, factors)]

# %% mistake="multiplies_in_place_still" theme="in_place"
# The gradient is still multiplied in place, by `mul_` or by `*=`: only the wording has changed.
# Градиент по-прежнему умножается на месте, через `mul_` или через `*=`: код лишь записан по-другому.
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    for gradient, factor in zip(gradients, factors):
        if gradient is not None:
            gradient *= factor
    return list(gradients)

# %% mistake="ignores_the_factors" theme="missing"
# The gradients were not multiplied by the factors.
# Градиенты не умножены на множители.
def fix_shared_gradients(y, inputs, v, factors):
    return [gradient.clone() for gradient in torch.autograd.grad(y, inputs, v, materialize_grads=True)]

# %% mistake="ignores_v" theme="missing"
# The pass starts from ones, not from `v`.
# Обратный проход начинается с единиц, а не с `v`.
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y.sum(), inputs, materialize_grads=True)
    return [gradient * factor for gradient, factor in zip(gradients, factors)]

# %% mistake="leaves_unused_out" theme="missing"
# An unused input was left out: each input needs an entry of its own.
# Неиспользованный вход пропущен: в ответе нужно место для каждого входа.
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    return [gradient * factor for gradient, factor in zip(gradients, factors) if gradient is not None]

# %% mistake="zeros_like_v" theme="axes"
# The zeros for an unused input have the shape of `v`. They need the shape of that input.
# Нули для неиспользованного входа имеют форму `v`. Нужна форма самого входа.
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    return [torch.zeros_like(v) if g is None else g * factor for g, factor in zip(gradients, factors)]

# %% mistake="puts_v_right_afterwards" theme="in_place"
# `v` was restored at the end, but before that both factors went into the tensor that the gradients share.
# Тензор `v` в конце восстановлен, но до этого в тензор, общий для градиентов, вошли оба множителя.
def fix_shared_gradients(y, inputs, v, factors):
    before = v.clone()
    gradients = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    for gradient, factor in zip(gradients, factors):
        gradient.mul_(factor)
    v.copy_(before)
    return list(gradients)

# %% mistake="copies_the_first_only" theme="in_place"
# The values are right, but one gradient is still `v` itself, multiplied in place: a copy of the others does not
#     help it.
# Значения верны, но один градиент — по-прежнему сам `v`, умноженный на месте: копировать только остальные
#     недостаточно.
def fix_shared_gradients(y, inputs, v, factors):
    first, *others = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    gradients = [first.clone(), *others]
    for gradient, factor in zip(gradients, factors):
        gradient.mul_(factor)
    return gradients

# %% mistake="hands_v_back" theme="in_place"
# The values are right, but where a factor is 1 the gradient is returned as it was, and that is `v` itself.
# Значения верны, но при множителе 1 градиент возвращается как есть, а это сам `v`.
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    return [gradient if factor == 1 else gradient * factor for gradient, factor in zip(gradients, factors)]

# %% mistake="compares_by_is" theme="in_place"
# Only a gradient that `is` `v`, or another gradient, is copied. A view of `v` is another object with the same
#     memory.
# Копируется только градиент, который по `is` совпадает с `v` или с другим градиентом. Но представление тензора
#     `v` — другой объект с той же памятью.
def fix_shared_gradients(y, inputs, v, factors):
    own = []
    for gradient in torch.autograd.grad(y, inputs, v, materialize_grads=True):
        own.append(gradient.clone() if any(gradient is other for other in (v, *own)) else gradient)
    return [gradient.mul_(factor) for gradient, factor in zip(own, factors)]

# %% mistake="copies_too_late" theme="in_place"
# The gradient is multiplied in place first and copied afterwards: by then the shared tensor has changed.
# Градиент сначала умножен на месте, а потом скопирован: к этому моменту общий тензор уже изменён.
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    return [gradient.mul_(factor).clone() for gradient, factor in zip(gradients, factors)]

# %% mistake="zeros_in_float32" theme="precision"
# The zeros for an unused input are float32. They need the dtype of that input.
# Нули для неиспользованного входа имеют тип float32. Нужен dtype самого входа.
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    return [torch.zeros(x.shape) if g is None else g * factor for x, g, factor in zip(inputs, gradients, factors)]

# %% mistake="records_the_pass" theme="graph_life"
# The gradients have a graph: with `create_graph=True` the backward pass itself is recorded.
# У градиентов есть граф: с `create_graph=True` записывается и сам обратный проход.
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, create_graph=True, materialize_grads=True)
    return [gradient * factor for gradient, factor in zip(gradients, factors)]

# %% mistake="returns_a_generator" theme="missing"
# A generator was returned: its gradients are not computed yet. A list or a tuple is asked for.
# Возвращён генератор, градиенты в нём ещё не вычислены. Нужен список или кортеж.
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    return (gradient * factor for gradient, factor in zip(gradients, factors))

# %% mistake="zeros_in_the_dtype_of_v" theme="precision"
# The zeros for an unused input have the dtype of another tensor, such as `v`. They need the dtype of that input.
# У нулей для неиспользованного входа dtype другого тензора, например `v`. Нужен dtype самого входа.
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    zeros = [torch.zeros(x.shape, dtype=v.dtype) for x in inputs]
    return [zero if g is None else g * factor for zero, g, factor in zip(zeros, gradients, factors)]

# %% mistake="shares_zeros" theme="in_place"
# The zeros of several unused inputs share one memory. An edit of one gradient would change the others.
# У нулей для нескольких неиспользованных входов общая память. Изменение одного градиента изменило бы и другие.
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    kept = {}
    most = max(x.numel() for x in inputs)
    own = []
    for x, gradient, factor in zip(inputs, gradients, factors):
        zeros = kept.setdefault(x.dtype, torch.zeros(most, dtype=x.dtype))
        own.append(zeros[: x.numel()].view(x.shape) if gradient is None else gradient * factor)
    return own

# %% mistake="one_factor_for_all" theme="missing"
# All gradients were multiplied by the first factor. Each input has a factor of its own.
# Все градиенты умножены на первый множитель. У каждого входа свой множитель.
def fix_shared_gradients(y, inputs, v, factors):
    return [gradient * factors[0] for gradient in torch.autograd.grad(y, inputs, v, materialize_grads=True)]
