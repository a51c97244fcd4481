# %%
from torch.nn import Linear, Parameter


def _trainable(model):
    """Return the parameters of `model` that require grad."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def _freeze(parameters):
    """Set `requires_grad` to False and `.grad` to None for each parameter, as the solution does."""
    for parameter in parameters:
        parameter.requires_grad_(False)
        parameter.grad = None

# %% mistake="flags_the_layers" theme="recording"
# The flag was set on the layers. A module takes any attribute, so `requires_grad` stays a name without effect; and
#     `eval()` does not freeze, it is about dropout and batch norm.
# Флаг поставлен слоям. Модулю можно присвоить любой атрибут, и от такого `requires_grad` ничего не меняется; вызов
#     `eval()` тоже не замораживает, он меняет поведение dropout и батч-нормализации.
def freeze(model, k):
    for layer in model[:k].children():
        layer.requires_grad = False
        layer.eval()
    return _trainable(model)

# %% mistake="flags_something_else" theme="recording"
# Nothing was frozen: no parameter of the first layers changed its flag. A flag set on a module, on `p.data` or on
#     `p.detach()` is not the parameter's.
# Ничего не заморожено: ни у одного параметра первых слоёв флаг не изменился. Флаг модуля, тензора `p.data` или
#     результата `p.detach()` — это не флаг параметра.
def freeze(model, k):
    for parameter in model[:k].parameters():
        parameter.detach().requires_grad = False
    return _trainable(model)

# %% mistake="freezes_the_other_end" theme="axes"
# The layers behind the first `k` were frozen. Those in front still learn, and backward has to pass through all the
#     rest to reach them.
# Заморожены слои после первых `k`. Начальные по-прежнему обучаются, и обратному проходу нужно дойти до них через
#     всё остальное.
def freeze(model, k):
    _freeze(model[k:].parameters())
    return _trainable(model)

# %% mistake="freezes_the_last_k" theme="axes"
# The last `k` layers were frozen, not the first.
# Заморожены последние `k` слоёв, а не первые.
def freeze(model, k):
    _freeze(model[-k:].parameters())
    return _trainable(model)

# %% mistake="opens_the_entrance" theme="recording"
# The whole model was frozen. A flag at the input of layer `k` gives that input a gradient; whether a parameter
#     learns, its own flag decides.
# Заморожена вся модель. Флаг у входа слоя `k` даёт градиент только этому входу: обучается ли параметр, определяет
#     его собственный флаг.
def freeze(model, k):
    _freeze(model.parameters())
    model[k].register_forward_pre_hook(lambda _, inputs: inputs[0].requires_grad_())
    return _trainable(model)

# %% mistake="one_too_few" theme="axes"
# One layer too few was frozen. The first `k` layers are `model[0]` to `model[k - 1]`.
# Заморожено на один слой меньше. Первые `k` слоёв — это слои от `model[0]` до `model[k - 1]`.
def freeze(model, k):
    _freeze(model[: k - 1].parameters())
    return _trainable(model)

# %% mistake="one_too_many" theme="axes"
# One layer too many was frozen. The first `k` layers are `model[0]` to `model[k - 1]`; `children()` gives a layer
#     that stands in two places only once.
# Заморожен лишний слой. Первые `k` слоёв — это слои от `model[0]` до `model[k - 1]`; а метод `children()` выдаёт
#     слой, который стоит в двух местах, только один раз.
def freeze(model, k):
    _freeze(model[: k + 1].parameters())
    return _trainable(model)

# %% mistake="counts_parameters" theme="own"
# `k` counted parameters, not layers. A linear layer has two of them, `Tanh` has none.
# Число `k` понято как число параметров, а не слоёв. У линейного слоя их два, у `Tanh` — ни одного.
def freeze(model, k):
    _freeze(list(model.parameters())[:k])
    return _trainable(model)

# %% mistake="forgets_the_biases" theme="missing"
# Only the weights were frozen; the biases still learn.
# Заморожены только веса, а смещения по-прежнему обучаются.
def freeze(model, k):
    _freeze(parameter for name, parameter in model[:k].named_parameters() if name.endswith("weight"))
    return _trainable(model)

# %% mistake="freezes_own_weights" theme="missing"
# Only the `weight` of layers that have one was frozen. The biases still learn, and so does all that lies inside a
#     block of layers.
# Заморожен только параметр `weight` тех слоёв, у которых он есть. Смещения по-прежнему обучаются, как и всё, что
#     лежит внутри блока слоёв.
def freeze(model, k):
    _freeze(layer.weight for layer in model[:k].children() if isinstance(layer, Linear))
    return _trainable(model)

# %% mistake="skips_blocks" theme="missing"
# Only layers with a `weight` of their own were frozen. A layer may itself consist of layers: `parameters()` reaches
#     into it.
# Заморожены только слои с собственным параметром `weight`. Слой может сам состоять из слоёв: метод `parameters()`
#     выдаёт и их параметры.
def freeze(model, k):
    for layer in model[:k].children():
        if isinstance(layer, Linear):
            _freeze(layer.parameters())
    return _trainable(model)

# %% mistake="thaws_the_rest" theme="state"
# The flags of all other parameters were switched on. One of them was frozen before the call and has to stay so.
# Флаг включён у всех остальных параметров. Но один из них был заморожен ещё до вызова и должен таким остаться.
def freeze(model, k):
    model.requires_grad_(True)
    _freeze(model[:k].parameters())
    return _trainable(model)

# %% mistake="leaves_layers_in_eval" theme="state"
# The right parameters were frozen, but their layers were put into evaluation mode as well. `training` was to stay
#     as it was.
# Заморожены верные параметры, но их слои ещё и переведены в режим оценки. Атрибут `training` должен был остаться
#     прежним.
def freeze(model, k):
    _freeze(model[:k].eval().parameters())
    return _trainable(model)

# %% mistake="leaves_the_model_in_eval" theme="state"
# The right parameters were frozen, but the whole model was put into evaluation mode as well. `training` was to stay
#     as it was.
# Заморожены верные параметры, но вся модель ещё и переведена в режим оценки. Атрибут `training` должен был остаться
#     прежним.
def freeze(model, k):
    _freeze(model[:k].parameters())
    model.eval()
    return _trainable(model)

# %% mistake="trains_the_model" theme="state"
# `train()` was called, on the model or on its later layers. It puts all of them into training mode, also those that
#     had been in evaluation mode.
# Для модели или для её последних слоёв вызван метод `train()`. Он переводит в режим обучения все слои, в том числе
#     те, что были в режиме оценки.
def freeze(model, k):
    _freeze(model[:k].parameters())
    model.train()
    return _trainable(model)

# %% mistake="replaces_parameters" theme="in_place"
# The parameters were replaced by new ones. An optimizer and the caller still hold the old objects, which learn as
#     before.
# Параметры заменены новыми. У оптимизатора остались прежние, и обучаются по-прежнему они.
def freeze(model, k):
    for layer in model[:k].modules():
        for name, parameter in list(layer.named_parameters(recurse=False)):
            setattr(layer, name, Parameter(parameter.detach().clone(), requires_grad=False))
    return _trainable(model)

# %% mistake="returns_everything" theme="missing"
# All parameters came back, the frozen ones too.
# Возвращены все параметры, в том числе замороженные.
def freeze(model, k):
    _freeze(model[:k].parameters())
    return list(model.parameters())

# %% mistake="collects_too_early" theme="order"
# The list was made before the layers were frozen, so their parameters are still in it.
# Список составлен до заморозки, поэтому параметры замороженных слоёв в нём остались.
def freeze(model, k):
    parameters = _trainable(model)
    _freeze(model[:k].parameters())
    return parameters

# %% mistake="returns_the_frozen" theme="missing"
# The frozen parameters came back. Those that still learn were asked for.
# Возвращены замороженные параметры, а нужны те, которые по-прежнему обучаются.
def freeze(model, k):
    _freeze(model[:k].parameters())
    return list(model[:k].parameters())

# %% mistake="returns_a_generator" theme="missing"
# A generator, a `filter` or a set came back, not a list. The first two are used up after one walk; a set has no
#     order.
# Возвращён не список, а генератор, `filter` или множество. По первым двум можно пройти лишь один раз, а у множества
#     нет порядка.
def freeze(model, k):
    _freeze(model[:k].parameters())
    return (parameter for parameter in model.parameters() if parameter.requires_grad)

# %% mistake="returns_a_filter" like="returns_a_generator"
def freeze(model, k):
    _freeze(model[:k].parameters())
    return filter(lambda parameter: parameter.requires_grad, model.parameters())

# %% mistake="returns_a_set" like="returns_a_generator"
def freeze(model, k):
    _freeze(model[:k].parameters())
    return {parameter for parameter in model.parameters() if parameter.requires_grad}

# %% mistake="returns_the_rest" theme="missing"
# The parameters of the later layers came back whatever their flag, although one of them was frozen before.
# Параметры последних слоёв возвращены независимо от флага, хотя один из них был заморожен раньше.
def freeze(model, k):
    _freeze(model[:k].parameters())
    return list(model[k:].parameters())

# %% mistake="repeats_a_layer" theme="missing"
# The list was collected layer by layer: the parameters of a layer that stands in two places are in it twice.
#     `model.parameters()` gives each of them once.
# Список собран по слоям, и параметры слоя, который стоит в двух местах, попали в него дважды. Метод
#     `model.parameters()` выдаёт каждый параметр один раз.
def freeze(model, k):
    _freeze(model[:k].parameters())
    return [parameter for layer in model[k:] for parameter in layer.parameters() if parameter.requires_grad]

# %% mistake="returns_nothing" theme="return"
# The layers were frozen and nothing was returned.
# Слои заморожены, но ничего не возвращено.
def freeze(model, k):
    _freeze(model[:k].parameters())

# %% mistake="keeps_old_gradients" theme="accumulation"
# The old gradients stayed in the frozen parameters. An optimizer that holds them still moves them by what is in
#     `.grad`.
# В замороженных параметрах остались старые градиенты. Если эти параметры переданы оптимизатору, он по-прежнему
#     сдвигает их по значению поля `.grad`.
def freeze(model, k):
    model[:k].requires_grad_(False)
    return _trainable(model)

# %% mistake="zeroes_old_gradients" theme="accumulation"
# The old gradients became zeros. An optimizer skips a parameter without a gradient, not one whose gradient is zero:
#     weight decay and momentum still move it.
# Старые градиенты заменены нулями. Оптимизатор пропускает параметр без градиента, а не с нулевым градиентом:
#     затухание весов и накопленный импульс всё равно его сдвинут.
def freeze(model, k):
    model[:k].requires_grad_(False).zero_grad(set_to_none=False)
    return _trainable(model)

# %% mistake="returns_names" theme="missing"
# The names of the parameters came back, or something else than the parameters themselves.
# Возвращены имена параметров или что-то другое, а не сами параметры.
def freeze(model, k):
    _freeze(model[:k].parameters())
    return [name for name, parameter in model.named_parameters() if parameter.requires_grad]

# %% mistake="clears_every_gradient" theme="accumulation"
# The gradients of the whole model were cleared. The layers that learn may be in the middle of accumulating theirs.
# Обнулены градиенты всей модели, а слои, которые обучаются, могли как раз накапливать свои градиенты.
def freeze(model, k):
    _freeze(model[:k].parameters())
    model.zero_grad()
    return _trainable(model)

# %% mistake="tracks_the_data" theme="recording"
# The data was asked to require grad. The frozen layers are then recorded again, for the gradient of the data, and
#     keep their activations.
# Флаг включён у самих данных. Ради их градиента замороженные слои снова записываются и хранят свои активации.
def freeze(model, k):
    _freeze(model[:k].parameters())
    model.register_forward_pre_hook(lambda _, inputs: inputs[0].requires_grad_())
    return _trainable(model)

# %% mistake="knows_linear_only" theme="missing"
# Only linear layers were frozen. Other layers have parameters too, such as batch norm: `parameters()` gives all of
#     them.
# Заморожены только линейные слои. Параметры есть и у других слоёв, например у батч-нормализации: метод
#     `parameters()` выдаёт их все.
def freeze(model, k):
    for module in model[:k].modules():
        if isinstance(module, Linear):
            _freeze(module.parameters())
    return _trainable(model)

# %% mistake="stops_one_level_down" theme="missing"
# The layers and their direct parts were frozen. A block may contain a block: `parameters()` reaches all the way
#     down.
# Заморожены слои и их непосредственные части. Внутри блока может быть ещё один блок: метод `parameters()` доходит
#     до самого низа.
def freeze(model, k):
    for layer in model[:k].children():
        for module in (layer, *layer.children()):
            _freeze(module.parameters(recurse=False))
    return _trainable(model)

# %% mistake="reads_numbers_from_names" theme="own"
# The name of a parameter was taken for the number of its layer. The layers of a `Sequential` may have names.
# Имя параметра принято за номер слоя. У слоёв `Sequential` могут быть имена.
def freeze(model, k):
    _freeze(parameter for name, parameter in model.named_parameters() if int(name.split(".")[0]) < k)
    return _trainable(model)

# %% mistake="clears_whatever_is_frozen" theme="accumulation"
# `.grad` was cleared for every frozen parameter, also for a later one that had been frozen before. Only that of the
#     first `k` layers was to go.
# Поле `.grad` очищено у всех замороженных параметров, в том числе у последующего, замороженного ещё до вызова. А
#     очистить нужно было только у первых `k` слоёв.
def freeze(model, k):
    model[:k].requires_grad_(False)
    for parameter in model.parameters():
        if not parameter.requires_grad:
            parameter.grad = None
    return _trainable(model)

# %% mistake="freezes_the_kth_alone" theme="axes"
# At most one layer was frozen, `model[k - 1]`. Those in front of it were to be frozen too.
# Заморожено не больше одного слоя: `model[k - 1]`. Заморозить нужно и те, что перед ним.
def freeze(model, k):
    _freeze(model[k - 1].parameters())
    return _trainable(model)

# %% mistake="freezes_layer_k_alone" theme="axes"
# One layer alone was frozen, `model[k]`. The first `k` layers are `model[0]` to `model[k - 1]`.
# Заморожен один-единственный слой, `model[k]`. Первые `k` слоёв — это слои от `model[0]` до `model[k - 1]`.
def freeze(model, k):
    _freeze(model[k].parameters())
    return _trainable(model)

# %% mistake="returns_them_reversed" theme="order"
# The right parameters came back in the reverse order. Asked for is the order of `model.parameters()`.
# Возвращены верные параметры, но в обратном порядке. Нужен порядок `model.parameters()`.
def freeze(model, k):
    _freeze(model[:k].parameters())
    return _trainable(model)[::-1]
