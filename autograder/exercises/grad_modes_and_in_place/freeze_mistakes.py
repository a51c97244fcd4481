"""The mistakes in `freeze`, as programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch.nn import Linear, Module, Parameter, Sequential

from .freeze import freeze


def _trainable(model: Module) -> list[Parameter]:
    """Return the parameters of `model` that require grad."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def _freeze(parameters: Iterable[torch.Tensor]) -> None:
    """Set `requires_grad` to False and `.grad` to None for each parameter, as the solution does."""
    for parameter in parameters:
        parameter.requires_grad_(False)
        parameter.grad = None


@freeze.mistake(
    en="The flag was set on the layers. A module takes any attribute, so `requires_grad` stays a name without effect; "
    "and `eval()` does not freeze, it is about dropout and batch norm.",
    ru="Флаг поставлен слоям. Модулю можно присвоить любой атрибут, и от такого `requires_grad` ничего не меняется; "
    "вызов `eval()` тоже не замораживает, он меняет поведение dropout и нормализации по батчу.",
)
def flags_the_layers(model: Sequential, k: int) -> list[Parameter]:
    for layer in model[:k].children():
        layer.requires_grad = False  # type: ignore[assignment]
        layer.eval()
    return _trainable(model)


@freeze.mistake(
    en="Nothing was frozen: no parameter of the first layers changed its flag. A flag set on a module, on `p.data` or "
    "on `p.detach()` is not the parameter's.",
    ru="Ничего не заморожено: ни у одного параметра первых слоёв флаг не изменился. Флаг модуля, тензора `p.data` или "
    "результата `p.detach()` — это не флаг параметра.",
)
def flags_something_else(model: Sequential, k: int) -> list[Parameter]:
    for parameter in model[:k].parameters():
        parameter.detach().requires_grad = False
    return _trainable(model)


@freeze.mistake(
    en="The layers behind the first `k` were frozen. Those in front still learn, and backward has to pass through all "
    "the rest to reach them.",
    ru="Заморожены слои после первых `k`. Начальные по-прежнему обучаются, и обратному проходу нужно дойти до них "
    "через всё остальное.",
)
def freezes_the_other_end(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[k:].parameters())
    return _trainable(model)


@freeze.mistake(
    en="The last `k` layers were frozen, not the first.",
    ru="Заморожены последние `k` слоёв, а не первые.",
)
def freezes_the_last_k(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[-k:].parameters())
    return _trainable(model)


@freeze.mistake(
    en="The whole model was frozen, and the input of layer `k` asked to require grad. That gives the input a gradient; "
    "whether a parameter learns, its own flag decides.",
    ru="Заморожена вся модель, а флаг включён у входа слоя `k`. Градиент получит только этот вход: обучается ли "
    "параметр, определяет его собственный флаг.",
)
def opens_the_entrance(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model.parameters())
    model[k].register_forward_pre_hook(lambda _, inputs: inputs[0].requires_grad_())
    return _trainable(model)


@freeze.mistake(
    en="One layer too few was frozen. The first `k` layers are `model[0]` to `model[k - 1]`.",
    ru="Заморожено на один слой меньше. Первые `k` слоёв — это слои от `model[0]` до `model[k - 1]`.",
)
def one_too_few(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[: k - 1].parameters())
    return _trainable(model)


@freeze.mistake(
    en="One layer too many was frozen. The first `k` layers are `model[0]` to `model[k - 1]`; `children()` gives a "
    "layer that stands in two places only once.",
    ru="Заморожен лишний слой. Первые `k` слоёв — это слои от `model[0]` до `model[k - 1]`; а метод `children()` "
    "выдаёт слой, который стоит в двух местах, только один раз.",
)
def one_too_many(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[: k + 1].parameters())
    return _trainable(model)


@freeze.mistake(
    en="`k` counted parameters, not layers. A linear layer has two of them, `Tanh` has none.",
    ru="Число `k` понято как число параметров, а не слоёв. У линейного слоя их два, у `Tanh` — ни одного.",
)
def counts_parameters(model: Sequential, k: int) -> list[Parameter]:
    _freeze(list(model.parameters())[:k])
    return _trainable(model)


@freeze.mistake(
    en="Only the weights were frozen; the biases still learn.",
    ru="Заморожены только веса, а смещения по-прежнему обучаются.",
)
def forgets_the_biases(model: Sequential, k: int) -> list[Parameter]:
    _freeze(parameter for name, parameter in model[:k].named_parameters() if name.endswith("weight"))
    return _trainable(model)


@freeze.mistake(
    en="Only the `weight` of layers that have one was frozen. The biases still learn, and so does all that lies inside "
    "a block of layers.",
    ru="Заморожен только параметр `weight` тех слоёв, у которых он есть. Смещения по-прежнему обучаются, как и всё, "
    "что лежит внутри блока слоёв.",
)
def freezes_own_weights(model: Sequential, k: int) -> list[Parameter]:
    _freeze(layer.weight for layer in model[:k].children() if isinstance(layer, Linear))
    return _trainable(model)


@freeze.mistake(
    en="Only layers with a `weight` of their own were frozen. A layer may itself consist of layers: `parameters()` "
    "reaches into it.",
    ru="Заморожены только слои с собственным параметром `weight`. Слой может сам состоять из слоёв: метод "
    "`parameters()` выдаёт и их параметры.",
)
def skips_blocks(model: Sequential, k: int) -> list[Parameter]:
    for layer in model[:k].children():
        if isinstance(layer, Linear):
            _freeze(layer.parameters())
    return _trainable(model)


@freeze.mistake(
    en="The flags of all other parameters were switched on. One of them was frozen before the call and has to stay so.",
    ru="Флаг включён у всех остальных параметров. Но один из них был заморожен ещё до вызова и должен таким остаться.",
)
def thaws_the_rest(model: Sequential, k: int) -> list[Parameter]:
    model.requires_grad_(True)
    _freeze(model[:k].parameters())
    return _trainable(model)


@freeze.mistake(
    en="The right parameters were frozen, but their layers were put into evaluation mode as well. `training` was to "
    "stay as it was.",
    ru="Заморожены верные параметры, но их слои ещё и переведены в режим оценки. Атрибут `training` должен был "
    "остаться прежним.",
)
def leaves_layers_in_eval(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[:k].eval().parameters())
    return _trainable(model)


@freeze.mistake(
    en="The right parameters were frozen, but the whole model was put into evaluation mode as well. `training` was to "
    "stay as it was.",
    ru="Заморожены верные параметры, но вся модель ещё и переведена в режим оценки. Атрибут `training` должен был "
    "остаться прежним.",
)
def leaves_the_model_in_eval(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[:k].parameters())
    model.eval()
    return _trainable(model)


@freeze.mistake(
    en="`train()` was called, on the model or on its later layers. It puts all of them into training mode, also those "
    "that had been in evaluation mode.",
    ru="Для модели или для её последних слоёв вызван метод `train()`. Он переводит в режим обучения все слои, в том "
    "числе те, что были в режиме оценки.",
)
def trains_the_model(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[:k].parameters())
    model.train()
    return _trainable(model)


@freeze.mistake(*freeze.mistakes["trains_the_model"].says)
def trains_the_rest(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[:k].parameters())
    model[k:].train()
    return _trainable(model)


@freeze.mistake(
    en="The parameters were replaced by new ones. An optimizer and the caller still hold the old objects, which learn "
    "as before.",
    ru="Параметры заменены новыми. У оптимизатора остались прежние, и обучаются по-прежнему они.",
)
def replaces_parameters(model: Sequential, k: int) -> list[Parameter]:
    for layer in model[:k].modules():
        for name, parameter in list(layer.named_parameters(recurse=False)):
            setattr(layer, name, Parameter(parameter.detach().clone(), requires_grad=False))
    return _trainable(model)


@freeze.mistake(
    en="All parameters came back, the frozen ones too.",
    ru="Возвращены все параметры, в том числе замороженные.",
)
def returns_everything(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[:k].parameters())
    return list(model.parameters())


@freeze.mistake(
    en="The list was made before the layers were frozen, so their parameters are still in it.",
    ru="Список составлен до заморозки, поэтому параметры замороженных слоёв в нём остались.",
)
def collects_too_early(model: Sequential, k: int) -> list[Parameter]:
    parameters = _trainable(model)
    _freeze(model[:k].parameters())
    return parameters


@freeze.mistake(
    en="The frozen parameters came back. Those that still learn were asked for.",
    ru="Возвращены замороженные параметры, а нужны те, которые по-прежнему обучаются.",
)
def returns_the_frozen(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[:k].parameters())
    return list(model[:k].parameters())


@freeze.mistake(
    en="A generator, a `filter` or a set came back, not a list. The first two are used up after one walk; a set has no "
    "order.",
    ru="Возвращён не список, а генератор, `filter` или множество. По первым двум можно пройти лишь один раз, а у "
    "множества нет порядка.",
)
def returns_a_generator(model: Sequential, k: int) -> Iterator[Parameter]:
    _freeze(model[:k].parameters())
    return (parameter for parameter in model.parameters() if parameter.requires_grad)


@freeze.mistake(*freeze.mistakes["returns_a_generator"].says)
def returns_a_filter(model: Sequential, k: int) -> Iterator[Parameter]:
    _freeze(model[:k].parameters())
    return filter(lambda parameter: parameter.requires_grad, model.parameters())


@freeze.mistake(*freeze.mistakes["returns_a_generator"].says)
def returns_a_set(model: Sequential, k: int) -> set[Parameter]:
    _freeze(model[:k].parameters())
    return set(_trainable(model))


@freeze.mistake(
    en="The parameters of the later layers came back whatever their flag, although one of them was frozen before.",
    ru="Параметры последних слоёв возвращены независимо от флага, хотя один из них был заморожен раньше.",
)
def returns_the_rest(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[:k].parameters())
    return list(model[k:].parameters())


@freeze.mistake(
    en="The layers were frozen and nothing was returned.",
    ru="Слои заморожены, но ничего не возвращено.",
)
def returns_nothing(model: Sequential, k: int) -> None:
    _freeze(model[:k].parameters())


@freeze.mistake(
    en="The old gradients stayed in the frozen parameters. An optimizer that holds them still moves them by what is in "
    "`.grad`.",
    ru="В замороженных параметрах остались старые градиенты. Если эти параметры переданы оптимизатору, он по-прежнему "
    "сдвигает их по значению поля `.grad`.",
)
def keeps_old_gradients(model: Sequential, k: int) -> list[Parameter]:
    model[:k].requires_grad_(False)
    return _trainable(model)


@freeze.mistake(
    en="The old gradients became zeros. An optimizer skips a parameter without a gradient, not one whose gradient is "
    "zero: weight decay and momentum still move it.",
    ru="Старые градиенты заменены нулями. Оптимизатор пропускает параметр без градиента, а не с нулевым градиентом: "
    "затухание весов и накопленный импульс всё равно его сдвинут.",
)
def zeroes_old_gradients(model: Sequential, k: int) -> list[Parameter]:
    model[:k].requires_grad_(False).zero_grad(set_to_none=False)
    return _trainable(model)


@freeze.mistake(
    en="The names of the parameters came back, or something else than the parameters themselves.",
    ru="Возвращены имена параметров или что-то другое, а не сами параметры.",
)
def returns_names(model: Sequential, k: int) -> list[str]:
    _freeze(model[:k].parameters())
    return [name for name, parameter in model.named_parameters() if parameter.requires_grad]


@freeze.mistake(
    en="The gradients of the whole model were cleared. The layers that learn may be in the middle of accumulating "
    "theirs.",
    ru="Обнулены градиенты всей модели, а слои, которые обучаются, могли как раз накапливать свои градиенты.",
)
def clears_every_gradient(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[:k].parameters())
    model.zero_grad()
    return _trainable(model)


@freeze.mistake(
    en="The data was asked to require grad. The frozen layers are then recorded again, for the gradient of the data, "
    "and keep their activations.",
    ru="Флаг включён у самих данных. Ради их градиента замороженные слои снова записываются и хранят свои активации.",
)
def tracks_the_data(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[:k].parameters())
    model.register_forward_pre_hook(lambda _, inputs: inputs[0].requires_grad_())
    return _trainable(model)


@freeze.mistake(
    en="Only linear layers were frozen. Other layers have parameters too, such as batch norm: `parameters()` gives all "
    "of them.",
    ru="Заморожены только линейные слои. Параметры есть и у других слоёв, например у нормализации по батчу: метод "
    "`parameters()` выдаёт их все.",
)
def knows_linear_only(model: Sequential, k: int) -> list[Parameter]:
    for module in model[:k].modules():
        if isinstance(module, Linear):
            _freeze(module.parameters())
    return _trainable(model)


@freeze.mistake(
    en="The layers and their direct parts were frozen. A block may contain a block: `parameters()` reaches all the way "
    "down.",
    ru="Заморожены слои и их непосредственные части. Внутри блока может быть ещё один блок: метод `parameters()` "
    "доходит до самого низа.",
)
def stops_one_level_down(model: Sequential, k: int) -> list[Parameter]:
    for layer in model[:k].children():
        for module in (layer, *layer.children()):
            _freeze(module.parameters(recurse=False))
    return _trainable(model)


@freeze.mistake(
    en="The name of a parameter was taken for the number of its layer. The layers of a `Sequential` may have names.",
    ru="Имя параметра принято за номер слоя. У слоёв `Sequential` могут быть имена.",
)
def reads_numbers_from_names(model: Sequential, k: int) -> list[Parameter]:
    _freeze(parameter for name, parameter in model.named_parameters() if int(name.split(".")[0]) < k)
    return _trainable(model)


@freeze.mistake(
    en="`.grad` was cleared for every frozen parameter, also for a later one that had been frozen before. Only that of "
    "the first `k` layers was to go.",
    ru="Поле `.grad` очищено у всех замороженных параметров, в том числе у последующего, замороженного ещё до вызова. "
    "А очистить нужно было только у первых `k` слоёв.",
)
def clears_whatever_is_frozen(model: Sequential, k: int) -> list[Parameter]:
    model[:k].requires_grad_(False)
    for parameter in model.parameters():
        if not parameter.requires_grad:
            parameter.grad = None
    return _trainable(model)


@freeze.mistake(
    en="At most one layer was frozen, `model[k - 1]`. Those in front of it were to be frozen too.",
    ru="Заморожено не больше одного слоя: `model[k - 1]`. Заморозить нужно и те, что перед ним.",
)
def freezes_the_kth_alone(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[k - 1].parameters())
    return _trainable(model)


@freeze.mistake(
    en="One layer alone was frozen, `model[k]`. The first `k` layers are `model[0]` to `model[k - 1]`.",
    ru="Заморожен один-единственный слой, `model[k]`. Первые `k` слоёв — это слои от `model[0]` до `model[k - 1]`.",
)
def freezes_layer_k_alone(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[k].parameters())
    return _trainable(model)


@freeze.mistake(
    en="The right parameters came back in the reverse order. Asked for is the order of `model.parameters()`.",
    ru="Возвращены верные параметры, но в обратном порядке. Нужен порядок `model.parameters()`.",
)
def returns_them_reversed(model: Sequential, k: int) -> list[Parameter]:
    _freeze(model[:k].parameters())
    return _trainable(model)[::-1]


@freeze.mistake(*freeze.mistakes["reads_numbers_from_names"].says)
def looks_for_numbers_in_names(model: Sequential, k: int) -> list[Parameter]:
    numbers = [str(number) for number in range(k)]
    _freeze(parameter for name, parameter in model.named_parameters() if name.split(".")[0] in numbers)
    return _trainable(model)
