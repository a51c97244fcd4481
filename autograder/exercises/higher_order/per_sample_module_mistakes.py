"""The mistakes in `per_sample_module`, as programs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap
from torch.nn.functional import mse_loss

from .per_sample_module import Named, per_sample_module


def _trainable(model: Any) -> Named:
    return {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}


def _all_samples(model: Any, x: Tensor, y: Tensor, weights: Named | None = None) -> Named:
    def loss(weights: Named, x: Tensor, y: Tensor) -> Tensor:
        return mse_loss(functional_call(model, weights, (x[None],)), y[None])

    found: Named = vmap(grad(loss), in_dims=(None, 0, 0))(_trainable(model) if weights is None else weights, x, y)
    return found


def _of_the_batch(model: Any, x: Tensor, y: Tensor) -> Named:
    trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
    return dict(zip(trainable, torch.autograd.grad(mse_loss(model(x), y), list(trainable.values()))))


@per_sample_module.mistake(
    en="This is the gradient of the mean loss over the batch: one tensor for each parameter, without a dimension for "
    "the samples.",
    ru="Это градиент функции потерь, усреднённой по батчу: один тензор на параметр, без измерения для примеров.",
)
def gradient_of_the_batch(model: Any, x: Tensor, y: Tensor) -> Named:
    return _of_the_batch(model, x, y)


@per_sample_module.mistake(
    en="The gradient of the mean loss was put into every row. Each sample has a gradient of its own.",
    ru="В каждой строке — градиент функции потерь, усреднённой по батчу. Но у каждого примера градиент свой.",
)
def mean_in_every_row(model: Any, x: Tensor, y: Tensor) -> Named:
    return {name: g.expand(len(x), *g.shape) for name, g in _of_the_batch(model, x, y).items()}


@per_sample_module.mistake(
    en="Each row was divided by the number of samples, as if it were a part of a mean.",
    ru="Каждая строка разделена на число примеров, как слагаемое среднего.",
)
def shares_of_a_mean(model: Any, x: Tensor, y: Tensor) -> Named:
    return {name: g / len(x) for name, g in _all_samples(model, x, y).items()}


@per_sample_module.mistake(
    en="The dict has entries for frozen parameters, too. Asked for are those that require grad.",
    ru="В словаре есть и замороженные параметры, а нужны только те, что требуют градиента.",
)
def frozen_ones_too(model: Any, x: Tensor, y: Tensor) -> Named:
    return _all_samples(model, x, y, {name: p.detach() for name, p in model.named_parameters()})


@per_sample_module.mistake(
    en="`vmap` does not run over `y`: each sample was compared with the targets of all.",
    ru="Вызов `vmap` не перебирает `y`: каждый пример сравнивается с ответами для всех.",
)
def every_target(model: Any, x: Tensor, y: Tensor) -> Named:
    def loss(weights: Named, x: Tensor, y: Tensor) -> Tensor:
        return mse_loss(functional_call(model, weights, (x[None],)), y)

    found: Named = vmap(grad(loss), in_dims=(None, 0, None))(_trainable(model), x, y)
    return found


@per_sample_module.mistake(
    en="The model got a row without a batch dimension, as `vmap` hands it out. `BatchNorm` takes batches only: "
    "`x[None]` is a batch of one.",
    ru="Модель получила строку без измерения батча — такой её передаёт `vmap`. Но `BatchNorm` принимает только батчи: "
    "батч из одного примера — это `x[None]`.",
)
def rows_without_a_batch(model: Any, x: Tensor, y: Tensor) -> Named:
    def loss(weights: Named, x: Tensor, y: Tensor) -> Tensor:
        return mse_loss(functional_call(model, weights, (x,)), y)

    found: Named = vmap(grad(loss), in_dims=(None, 0, 0))(_trainable(model), x, y)
    return found


@per_sample_module.mistake(
    en="The errors of a sample were summed. Its loss is the mean over the entries of its output.",
    ru="Квадраты ошибок примера сложены, а функция потерь — их среднее по элементам выхода.",
)
def sums_the_entries(model: Any, x: Tensor, y: Tensor) -> Named:
    return {name: g * y[0].numel() for name, g in _all_samples(model, x, y).items()}


@per_sample_module.mistake(
    en="The gradients were returned in a list. Asked for is a dict with the names of the parameters.",
    ru="Градиенты возвращены в списке, а нужен словарь с именами параметров.",
)
def list_of_gradients(model: Any, x: Tensor, y: Tensor) -> list[Tensor]:
    return list(_all_samples(model, x, y).values())


@per_sample_module.mistake(
    en="The gradients are right, but `backward()` was used: it has changed `.grad` of the parameters.",
    ru="Градиенты верны, но вычислены методом `backward()`, и поле `.grad` у параметров изменилось.",
)
def loop_of_backward(model: Any, x: Tensor, y: Tensor) -> Named:
    rows: dict[str, list[Tensor]] = {name: [] for name in _trainable(model)}
    for a, b in zip(x.split(1), y.split(1)):
        model.zero_grad()
        mse_loss(model(a), b).backward()  # type: ignore[no-untyped-call]
        for name, p in model.named_parameters():
            if name in rows:
                rows[name].append(p.grad.clone())
    return {name: torch.stack(found) for name, found in rows.items()}


@per_sample_module.mistake(
    en="There is a loop over the samples, with a call of the model and a backward pass for each.",
    ru="По примерам идёт цикл: на каждый приходится вызов модели и обратный проход.",
)
def loop_over_samples(model: Any, x: Tensor, y: Tensor) -> Named:
    found = [_of_the_batch(model, a, b) for a, b in zip(x.split(1), y.split(1))]
    return {name: torch.stack([each[name] for each in found]) for name in found[0]}


@per_sample_module.mistake(
    en="One call gives the losses of all samples, but there is a backward pass for each of them.",
    ru="Потери на всех примерах вычислены одним вызовом, но на каждый пример приходится обратный проход.",
)
def pass_for_each_loss(model: Any, x: Tensor, y: Tensor) -> Named:
    trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
    losses = (model(x) - y).square().flatten(1).mean(1)
    rows = [torch.autograd.grad(loss, list(trainable.values()), retain_graph=True) for loss in losses]
    return {name: torch.stack(parts) for name, parts in zip(trainable, zip(*rows))}


@per_sample_module.mistake(
    en="The gradients of a shared weight come from one layer alone: the other one used a copy. `functional_call` ties "
    "both by default.",
    ru="Градиенты общего веса учитывают только один слой: другой работал с копией. По умолчанию `functional_call` "
    "подставляет вес в оба слоя.",
)
def one_layer_of_the_shared(model: Any, x: Tensor, y: Tensor) -> Named:
    def loss(weights: Named, x: Tensor, y: Tensor) -> Tensor:
        return mse_loss(functional_call(model, weights, (x[None],), tie_weights=False), y[None])

    found: Named = vmap(grad(loss), in_dims=(None, 0, 0))(_trainable(model), x, y)
    return found


@per_sample_module.mistake(
    en="A shared weight was passed under both of its names. One entry serves both layers.",
    ru="Общий вес передан под обоими именами. Одной записи хватает для обоих слоёв.",
)
def both_names(model: Any, x: Tensor, y: Tensor) -> Named:
    named = {name: p.detach() for name, p in model.named_parameters(remove_duplicate=False) if p.requires_grad}
    return _all_samples(model, x, y, named)


@per_sample_module.mistake(
    en="`strict=True` wants all parameters and buffers in the dict. Without it the rest stays as in the module.",
    ru="С параметром `strict=True` в словаре должны быть все параметры и буферы. Без него остальное берётся из модуля.",
)
def strict(model: Any, x: Tensor, y: Tensor) -> Named:
    def loss(weights: Named, x: Tensor, y: Tensor) -> Tensor:
        return mse_loss(functional_call(model, weights, (x[None],), strict=True), y[None])

    found: Named = vmap(grad(loss), in_dims=(None, 0, 0))(_trainable(model), x, y)
    return found


@per_sample_module.mistake(
    en="The names are not those of `named_parameters()`: the path to the layer is missing.",
    ru="Имена не те, что в `named_parameters()`: в них нет пути к слою.",
)
def short_names(model: Any, x: Tensor, y: Tensor) -> Named:
    return {name.split(".")[-1]: g for name, g in _all_samples(model, x, y).items()}


@per_sample_module.mistake(
    en="The biases are missing in the dict. It has an entry for each parameter that requires grad.",
    ru="В словаре нет смещений. Запись нужна для каждого параметра, который требует градиента.",
)
def without_the_biases(model: Any, x: Tensor, y: Tensor) -> Named:
    return {name: g for name, g in _all_samples(model, x, y).items() if g.dim() > 2}


@per_sample_module.mistake(
    en="The samples are in the last dimension. They come first.",
    ru="Примеры идут по последнему измерению, а должны идти по первому.",
)
def samples_come_last(model: Any, x: Tensor, y: Tensor) -> Named:
    return {name: g.movedim(0, -1) for name, g in _all_samples(model, x, y).items()}


@per_sample_module.mistake(
    en="The gradients are right, but the model stays in evaluation mode.",
    ru="Градиенты верны, но модель остаётся в режиме оценки.",
)
def leaves_it_in_eval(model: Any, x: Tensor, y: Tensor) -> Named:
    return _all_samples(model.eval(), x, y)


@per_sample_module.mistake(
    en="The gradients are right, but the parameters no longer require grad. `detach()` gives a tensor without touching "
    "the parameter.",
    ru="Градиенты верны, но параметры больше не требуют градиента. Метод `detach()` даёт тензор, не меняя самого параметра.",
)
def freezes_the_parameters(model: Any, x: Tensor, y: Tensor) -> Named:
    weights = _trainable(model)
    model.requires_grad_(False)
    return _all_samples(model, x, y, weights)


@per_sample_module.mistake(
    en="Gradients were taken for buffers as well: `state_dict()` holds them beside the parameters. Only parameters that "
    "require grad are asked for.",
    ru="Взяты градиенты и по буферам: в `state_dict()` они лежат рядом с параметрами. Нужны только параметры, которые "
    "требуют градиента.",
)
def buffers_too(model: Any, x: Tensor, y: Tensor) -> Named:
    named = {name: t.detach() for name, t in model.state_dict().items() if t.is_floating_point()}
    return _all_samples(model, x, y, named)


@per_sample_module.mistake(
    en="The gradients are right, but the model stays in training mode.",
    ru="Градиенты верны, но модель остаётся в режиме обучения.",
)
def leaves_it_in_training(model: Any, x: Tensor, y: Tensor) -> Named:
    found = _all_samples(model, x, y)
    model.train()
    return found


@per_sample_module.mistake(
    en="A shared weight has two entries, one for each name, and each holds the gradients from one layer alone. It is one "
    "parameter with one entry.",
    ru="У общего веса две записи, по одной на каждое имя, и в каждой градиенты только из одного слоя. Но это один параметр, "
    "и запись нужна одна.",
)
def an_entry_for_each_name(model: Any, x: Tensor, y: Tensor) -> Named:
    named = {name: p.detach() for name, p in model.named_parameters(remove_duplicate=False) if p.requires_grad}

    def loss(weights: Named, x: Tensor, y: Tensor) -> Tensor:
        return mse_loss(functional_call(model, weights, (x[None],), tie_weights=False), y[None])

    found: Named = vmap(grad(loss), in_dims=(None, 0, 0))(named, x, y)
    return found


@per_sample_module.mistake(
    en="`in_dims` is missing or wrong: `vmap` takes the weights apart, too. They are the same for all samples: "
    "`in_dims=(None, 0, 0)`.",
    ru="Параметр `in_dims` не задан или неверен: `vmap` перебирает и веса. А они для всех примеров одни и те же: `in_dims=(None, 0, 0)`.",
)
def without_in_dims(model: Any, x: Tensor, y: Tensor) -> Named:
    def loss(weights: Named, x: Tensor, y: Tensor) -> Tensor:
        return mse_loss(functional_call(model, weights, (x[None],)), y[None])

    found: Named = vmap(grad(loss))(_trainable(model), x, y)
    return found


@per_sample_module.mistake(*per_sample_module.mistakes["buffers_too"].says)
def whole_state(model: Any, x: Tensor, y: Tensor) -> Named:
    return _all_samples(model, x, y, {name: t.detach() for name, t in model.state_dict().items()})


@per_sample_module.mistake(
    en="Each gradient is half of the right one: the loss is `mse_loss`, without the factor ½.",
    ru="Каждый градиент вдвое меньше верного: функция потерь — `mse_loss`, без множителя ½.",
)
def halves(model: Any, x: Tensor, y: Tensor) -> Named:
    return {name: g / 2 for name, g in _all_samples(model, x, y).items()}


@per_sample_module.mistake(
    en="The gradients of all samples were added. There has to be a row for each.",
    ru="Градиенты всех примеров сложены. А у каждого примера должна быть своя строка.",
)
def sums_the_samples(model: Any, x: Tensor, y: Tensor) -> Named:
    return {name: g.sum(0) for name, g in _all_samples(model, x, y).items()}


@per_sample_module.mistake(
    en="The losses of the samples were returned. Asked for are their gradients, in a dict.",
    ru="Возвращены значения функции потерь на примерах. А нужны градиенты, в словаре.",
)
def losses_alone(model: Any, x: Tensor, y: Tensor) -> Tensor:
    def loss(x: Tensor, y: Tensor) -> Tensor:
        return mse_loss(functional_call(model, _trainable(model), (x[None],)), y[None])

    found: Tensor = vmap(loss)(x, y)
    return found


@per_sample_module.mistake(
    en="The `BatchNorm` takes its statistics from a batch of one sample: its own were removed, or the model is in training "
    "mode. It was in evaluation mode, and needs its own there.",
    ru="Слой `BatchNorm` вычисляет статистики по батчу из одного примера: его собственные убраны, или модель переведена в "
    "режим обучения. Она была в режиме оценки, и там ему нужны собственные.",
)
def drops_the_statistics(model: Any, x: Tensor, y: Tensor) -> Named:
    torch.func.replace_all_batch_norm_modules_(model)
    return _all_samples(model, x, y)
