# %%
import torch

from ..common import tracked


def _all_samples(loss, w, x, y):
    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, x, y)

# %% mistake="sum_over_samples" theme="axes"
# The losses were summed: one gradient was returned, the sum of all rows.
# Значения функции потерь сложены: возвращён один градиент, сумма всех строк.
def per_sample_gradients(loss, w, x, y):
    return _all_samples(loss, w, x, y).sum(0)

# %% mistake="mean_over_samples" theme="axes"
# The losses were averaged: one gradient was returned, the mean of all rows.
# Значения функции потерь усреднены: возвращён один градиент, среднее всех строк.
def per_sample_gradients(loss, w, x, y):
    return _all_samples(loss, w, x, y).mean(0)

# %% mistake="shares_of_a_mean" theme="scaling"
# Each row was divided by the number of samples, as if it were a part of a mean.
# Каждая строка разделена на число примеров, как слагаемое среднего.
def per_sample_gradients(loss, w, x, y):
    return _all_samples(loss, w, x, y) / len(x)

# %% mistake="gradient_by_x" theme="derivative"
# The gradient was taken with respect to `x`. Its shape is right, but it is another derivative.
# Градиент взят по `x`. Форма верна, но это другая производная.
def per_sample_gradients(loss, w, x, y):
    return torch.func.vmap(torch.func.grad(loss, argnums=1), in_dims=(None, 0, 0))(w, x, y)

# %% mistake="maps_the_weights" theme="axes"
# `vmap` runs over `w` as well. The weights are shared: `in_dims=(None, 0, 0)`.
# Вызов `vmap` перебирает и `w`. Но веса общие: `in_dims=(None, 0, 0)`.
def per_sample_gradients(loss, w, x, y):
    return torch.func.vmap(torch.func.grad(loss))(w, x, y)

# %% mistake="loops_over_samples" theme="cost" plain="yes"
# There is a loop over the samples, with a call of `loss` and a backward pass for each.
# По примерам идёт цикл: на каждый приходится вызов `loss` и обратный проход.
def per_sample_gradients(loss, w, x, y):
    w = tracked(w)
    return torch.stack([torch.autograd.grad(loss(w, a, b), w)[0] for a, b in zip(x, y)])

# %% mistake="a_pass_for_each_loss" theme="cost"
# The losses come from one batched call, but each has a backward pass of its own.
# Значения функции потерь вычислены одним вызовом, но обратный проход у каждого свой.
def per_sample_gradients(loss, w, x, y):
    w = tracked(w)
    losses = torch.func.vmap(loss, in_dims=(None, 0, 0))(w, x, y)
    return torch.stack([torch.autograd.grad(each, w, retain_graph=True)[0] for each in losses])

# %% mistake="loss_of_the_batch" theme="axes"
# `loss` was called with the whole batch. It takes one sample; `vmap` calls it for each.
# Функция `loss` вызвана для всего батча. Она принимает один пример; для каждого её вызовет `vmap`.
def per_sample_gradients(loss, w, x, y):
    w = w.expand(len(x), -1).clone().requires_grad_()
    return torch.autograd.grad(loss(w, x, y).sum(), w)[0]

# %% mistake="sum_in_every_sample" theme="axes"
# The losses were summed, and the one gradient of the sum was put into every row.
# Значения функции потерь сложены, и единственный градиент суммы поставлен в каждую строку.
def per_sample_gradients(loss, w, x, y):
    return _all_samples(loss, w, x, y).sum(0).expand(len(x), -1)

# %% mistake="mean_in_every_sample" theme="axes"
# The losses were averaged, and the one gradient of the mean was put into every row.
# Значения функции потерь усреднены, и единственный градиент среднего поставлен в каждую строку.
def per_sample_gradients(loss, w, x, y):
    return _all_samples(loss, w, x, y).mean(0).expand(len(x), -1)

# %% mistake="samples_as_columns" theme="axes"
# The matrix is transposed: the gradient of a sample is a row.
# Матрица транспонирована: градиент по отдельному примеру — это строка.
def per_sample_gradients(loss, w, x, y):
    return _all_samples(loss, w, x, y).T

# %% mistake="calls_one_by_one" theme="cost"
# There is one backward pass, but a call of `loss` for each sample before it.
# Обратный проход один, но до него функция `loss` вызвана для каждого примера отдельно.
def per_sample_gradients(loss, w, x, y):
    w = tracked(w)
    losses = torch.stack([loss(w, a, b) for a, b in zip(x, y)])
    return torch.autograd.grad(losses, w, torch.eye(len(x), dtype=w.dtype), is_grads_batched=True)[0]

# %% mistake="through_float32" theme="precision"
# The numbers have lost half of their digits or more: they went through a float32 tensor, such as `torch.zeros(...)`
#     makes, or were rounded.
# Потеряна половина знаков или больше: числа прошли через тензор float32, какой создаёт `torch.zeros(...)`, или
#     округлены.
def per_sample_gradients(loss, w, x, y):
    return _all_samples(loss, w, x, y).float().to(w.dtype)

# %% mistake="y_is_not_mapped" theme="axes"
# What `torch.func.grad` differentiates returns a vector. Either `y` was left out in `in_dims`, or `vmap` stands
#     inside `grad`, not around it.
# Функция, от которой берётся `torch.func.grad`, возвращает вектор. Либо в `in_dims` не учтён `y`, либо `vmap` стоит
#     внутри `grad`, а не снаружи.
def per_sample_gradients(loss, w, x, y):
    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, None))(w, x, y)

# %% mistake="running_sums" theme="accumulation"
# `.grad` was never cleared: each row holds all the rows before it.
# Поле `.grad` ни разу не очищено: в каждую строку вошли все предыдущие.
def per_sample_gradients(loss, w, x, y):
    return _all_samples(loss, w, x, y).cumsum(0)
