# %%
import torch
from torch.func import functional_call, grad, vmap
from torch.nn.functional import mse_loss


def _trainable(model):
    return {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}


def _all_samples(model, x, y, weights=None):
    def loss(weights, x, y):
        return mse_loss(functional_call(model, weights, (x[None],)), y[None])

    found = vmap(grad(loss), in_dims=(None, 0, 0))(_trainable(model) if weights is None else weights, x, y)
    return found


def _of_the_batch(model, x, y):
    trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
    return dict(zip(trainable, torch.autograd.grad(mse_loss(model(x), y), list(trainable.values()))))

# %% mistake="gradient_of_the_batch" theme="axes"
# This is the gradient of the mean loss over the batch: one tensor for each parameter, without a dimension for the
#     samples.
# Это градиент функции потерь, усреднённой по батчу: один тензор на параметр, без измерения для примеров.
def per_sample_module(model, x, y):
    return _of_the_batch(model, x, y)

# %% mistake="mean_in_every_row" theme="axes"
# The gradient of the mean loss was put into every row. Each sample has a gradient of its own.
# В каждой строке — градиент функции потерь, усреднённой по батчу. Но у каждого примера градиент свой.
def per_sample_module(model, x, y):
    return {name: g.expand(len(x), *g.shape) for name, g in _of_the_batch(model, x, y).items()}

# %% mistake="shares_of_a_mean" theme="scaling"
# Each row was divided by the number of samples, as if it were a part of a mean.
# Каждая строка разделена на число примеров, как слагаемое среднего.
def per_sample_module(model, x, y):
    return {name: g / len(x) for name, g in _all_samples(model, x, y).items()}

# %% mistake="frozen_ones_too" theme="recording"
# The dict has entries for frozen parameters, too. Asked for are those that require grad.
# В словаре есть и замороженные параметры, а нужны только те, что требуют градиента.
def per_sample_module(model, x, y):
    return _all_samples(model, x, y, {name: p.detach() for name, p in model.named_parameters()})

# %% mistake="every_target" theme="axes"
# `vmap` does not run over `y`: each sample was compared with the targets of all.
# Вызов `vmap` не перебирает `y`: каждый пример сравнивается с ответами для всех.
def per_sample_module(model, x, y):
    def loss(weights, x, y):
        return mse_loss(functional_call(model, weights, (x[None],)), y)

    found = vmap(grad(loss), in_dims=(None, 0, None))(_trainable(model), x, y)
    return found

# %% mistake="rows_without_a_batch" theme="axes"
# The model got a row without a batch dimension, as `vmap` hands it out. `BatchNorm` takes batches only: `x[None]`
#     is a batch of one.
# Модель получила строку без измерения батча — такой её передаёт `vmap`. Но `BatchNorm` принимает только батчи: батч
#     из одного примера — это `x[None]`.
def per_sample_module(model, x, y):
    def loss(weights, x, y):
        return mse_loss(functional_call(model, weights, (x,)), y)

    found = vmap(grad(loss), in_dims=(None, 0, 0))(_trainable(model), x, y)
    return found

# %% mistake="sums_the_entries" theme="scaling"
# The errors of a sample were summed. Its loss is the mean over the entries of its output.
# Квадраты ошибок примера сложены, а функция потерь — их среднее по элементам выхода.
def per_sample_module(model, x, y):
    return {name: g * y[0].numel() for name, g in _all_samples(model, x, y).items()}

# %% mistake="list_of_gradients" theme="missing"
# The gradients were returned in a list. Asked for is a dict with the names of the parameters.
# Градиенты возвращены в списке, а нужен словарь с именами параметров.
def per_sample_module(model, x, y):
    return list(_all_samples(model, x, y).values())

# %% mistake="loop_of_backward" theme="accumulation"
# The gradients are right, but `backward()` was used: it has changed `.grad` of the parameters.
# Градиенты верны, но вычислены методом `backward()`, и поле `.grad` у параметров изменилось.
def per_sample_module(model, x, y):
    rows = {name: [] for name in _trainable(model)}
    for a, b in zip(x.split(1), y.split(1)):
        model.zero_grad()
        mse_loss(model(a), b).backward()
        for name, p in model.named_parameters():
            if name in rows:
                rows[name].append(p.grad.clone())
    return {name: torch.stack(found) for name, found in rows.items()}

# %% mistake="loop_over_samples" theme="cost" plain="yes"
# There is a loop over the samples, with a call of the model and a backward pass for each.
# По примерам идёт цикл: на каждый приходится вызов модели и обратный проход.
def per_sample_module(model, x, y):
    found = [_of_the_batch(model, a, b) for a, b in zip(x.split(1), y.split(1))]
    return {name: torch.stack([each[name] for each in found]) for name in found[0]}

# %% mistake="pass_for_each_loss" theme="cost"
# One call gives the losses of all samples, but there is a backward pass for each of them.
# Потери на всех примерах вычислены одним вызовом, но на каждый пример приходится обратный проход.
def per_sample_module(model, x, y):
    trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
    losses = (model(x) - y).square().flatten(1).mean(1)
    rows = [torch.autograd.grad(loss, list(trainable.values()), retain_graph=True) for loss in losses]
    return {name: torch.stack(parts) for name, parts in zip(trainable, zip(*rows))}

# %% mistake="one_layer_of_the_shared" theme="accumulation"
# The gradients of a shared weight come from one layer alone: the other one used a copy. `functional_call` ties both
#     by default.
# Градиенты общего веса учитывают только один слой: другой работал с копией. По умолчанию `functional_call`
#     подставляет вес в оба слоя.
def per_sample_module(model, x, y):
    def loss(weights, x, y):
        return mse_loss(functional_call(model, weights, (x[None],), tie_weights=False), y[None])

    found = vmap(grad(loss), in_dims=(None, 0, 0))(_trainable(model), x, y)
    return found

# %% mistake="both_names" theme="own"
# A shared weight was passed under both of its names. One entry serves both layers.
# Общий вес передан под обоими именами. Одного элемента хватает для обоих слоёв.
def per_sample_module(model, x, y):
    named = {name: p.detach() for name, p in model.named_parameters(remove_duplicate=False) if p.requires_grad}
    return _all_samples(model, x, y, named)

# %% mistake="strict" theme="own"
# `strict=True` wants all parameters and buffers in the dict. Without it the rest stays as in the module.
# С параметром `strict=True` в словаре должны быть все параметры и буферы. Без него остальное берётся из модуля.
def per_sample_module(model, x, y):
    def loss(weights, x, y):
        return mse_loss(functional_call(model, weights, (x[None],), strict=True), y[None])

    found = vmap(grad(loss), in_dims=(None, 0, 0))(_trainable(model), x, y)
    return found

# %% mistake="short_names" theme="missing"
# The names are not those of `named_parameters()`: the path to the layer is missing.
# Имена не те, что в `named_parameters()`: в них нет пути к слою.
def per_sample_module(model, x, y):
    return {name.split(".")[-1]: g for name, g in _all_samples(model, x, y).items()}

# %% mistake="without_the_biases" theme="missing"
# The biases are missing in the dict. It has an entry for each parameter that requires grad.
# В словаре нет смещений. Элемент нужен для каждого параметра, который требует градиента.
def per_sample_module(model, x, y):
    return {name: g for name, g in _all_samples(model, x, y).items() if g.dim() > 2}

# %% mistake="samples_come_last" theme="axes"
# The samples are in the last dimension. They come first.
# Примеры идут по последнему измерению, а должны идти по первому.
def per_sample_module(model, x, y):
    return {name: g.movedim(0, -1) for name, g in _all_samples(model, x, y).items()}

# %% mistake="leaves_it_in_eval" theme="state"
# The gradients are right, but the model stays in evaluation mode.
# Градиенты верны, но модель остаётся в режиме оценки.
def per_sample_module(model, x, y):
    return _all_samples(model.eval(), x, y)

# %% mistake="freezes_the_parameters" theme="state"
# The gradients are right, but the parameters no longer require grad. `detach()` gives a tensor without touching the
#     parameter.
# Градиенты верны, но параметры больше не требуют градиента. Метод `detach()` даёт тензор, не меняя самого
#     параметра.
def per_sample_module(model, x, y):
    weights = _trainable(model)
    model.requires_grad_(False)
    return _all_samples(model, x, y, weights)

# %% mistake="buffers_too" theme="own"
# Gradients were taken for buffers as well: `state_dict()` holds them beside the parameters. Only parameters that
#     require grad are asked for.
# Взяты градиенты и по буферам: в `state_dict()` они лежат рядом с параметрами. Нужны только параметры, которые
#     требуют градиента.
def per_sample_module(model, x, y):
    named = {name: t.detach() for name, t in model.state_dict().items() if t.is_floating_point()}
    return _all_samples(model, x, y, named)

# %% mistake="leaves_it_in_training" theme="state"
# The gradients are right, but the model stays in training mode.
# Градиенты верны, но модель остаётся в режиме обучения.
def per_sample_module(model, x, y):
    found = _all_samples(model, x, y)
    model.train()
    return found

# %% mistake="an_entry_for_each_name" theme="accumulation"
# A shared weight has two entries, one for each name, and each holds the gradients from one layer alone. It is one
#     parameter with one entry.
# У общего веса два элемента словаря, по одному на каждое имя, и в каждом градиенты только из одного слоя. Но это
#     один параметр, и элемент нужен один.
def per_sample_module(model, x, y):
    named = {name: p.detach() for name, p in model.named_parameters(remove_duplicate=False) if p.requires_grad}

    def loss(weights, x, y):
        return mse_loss(functional_call(model, weights, (x[None],), tie_weights=False), y[None])

    found = vmap(grad(loss), in_dims=(None, 0, 0))(named, x, y)
    return found

# %% mistake="without_in_dims" theme="axes"
# `in_dims` is missing or wrong: `vmap` takes the weights apart, too. They are the same for all samples:
#     `in_dims=(None, 0, 0)`.
# Параметр `in_dims` не задан или неверен: `vmap` перебирает и веса. А они для всех примеров одни и те же:
#     `in_dims=(None, 0, 0)`.
def per_sample_module(model, x, y):
    def loss(weights, x, y):
        return mse_loss(functional_call(model, weights, (x[None],)), y[None])

    found = vmap(grad(loss))(_trainable(model), x, y)
    return found

# %% mistake="whole_state" like="buffers_too"
def per_sample_module(model, x, y):
    return _all_samples(model, x, y, {name: t.detach() for name, t in model.state_dict().items()})

# %% mistake="halves" theme="scaling"
# Each gradient is half of the right one: the loss is `mse_loss`, without the factor ½.
# Каждый градиент вдвое меньше верного: функция потерь — `mse_loss`, без множителя ½.
def per_sample_module(model, x, y):
    return {name: g / 2 for name, g in _all_samples(model, x, y).items()}

# %% mistake="sums_the_samples" theme="axes"
# The gradients of all samples were added. There has to be a row for each.
# Градиенты всех примеров сложены. А у каждого примера должна быть своя строка.
def per_sample_module(model, x, y):
    return {name: g.sum(0) for name, g in _all_samples(model, x, y).items()}

# %% mistake="losses_alone" theme="missing"
# The losses of the samples were returned. Asked for are their gradients, in a dict.
# Возвращены значения функции потерь на примерах. А нужны градиенты, в словаре.
def per_sample_module(model, x, y):
    def loss(x, y):
        return mse_loss(functional_call(model, _trainable(model), (x[None],)), y[None])

    found = vmap(loss)(x, y)
    return found

# %% mistake="drops_the_statistics" theme="recording"
# The `BatchNorm` takes its statistics from a batch of one sample: its own were removed, or the model is in training
#     mode. It was in evaluation mode, and needs its own there.
# Слой `BatchNorm` вычисляет статистики по батчу из одного примера: его накопленные статистики убраны, или модель
#     переведена в режим обучения. Модель была в режиме оценки, и там слою нужны накопленные статистики.
def per_sample_module(model, x, y):
    torch.func.replace_all_batch_norm_modules_(model)
    return _all_samples(model, x, y)

# %% mistake="ignores_the_weights" theme="recording"
# All gradients are exactly 0: the loss does not depend on the weights with respect to which it is differentiated. So it
#     is if `model(x)` runs with its own weights, or if the names in the dict are no names of the model.
# Все градиенты в точности равны 0: функция потерь не зависит от весов, по которым она дифференцируется. Так бывает,
#     если `model(x)` выполняется с собственными весами или если имена в словаре — не имена параметров модели.
def per_sample_module(model, x, y):
    def loss(weights, x, y):
        return mse_loss(model(x[None]), y[None])

    return vmap(grad(loss), in_dims=(None, 0, 0))(_trainable(model), x, y)
