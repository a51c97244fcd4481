# %%
import copy

from torch import nn


def _linears(model):
    return {name: module for name, module in model.named_modules() if isinstance(module, nn.Linear)}


def _watched(model, x, watch, found):
    """Run a pass in which `watch(list, output)` sees every output of a linear layer."""
    handles = []
    for name, module in _linears(model).items():
        found[name] = []

        def hook(_, __, output, name=name):
            watch(found[name], output)

        handles.append(module.register_forward_hook(hook))
    try:
        model(x).sum().backward()
    finally:
        for handle in handles:
            handle.remove()


def _insert(found, output):
    """Reserve a place for the gradient of `output`, in a list of its own."""
    place = []
    found.append(place)
    output.register_hook(place.append)


def _of_outputs(model, x, run=None, nested=True):
    """Return the gradients of the outputs of linear layers.

    `run` gets what the model returns, and runs the pass.
    """
    layers = _linears(model) if nested else {k: m for k, m in model.named_children() if isinstance(m, nn.Linear)}
    found = {name: [] for name in layers}
    handles = [
        module.register_forward_hook(lambda _, __, output, name=name: _insert(found[name], output))
        for name, module in layers.items()
    ]
    y = model(x)
    for handle in handles:
        handle.remove()
    if run is None:
        y.sum().backward()
    else:
        run(y)
    return {name: [grad for (grad,) in each] for name, each in found.items()}

# %% mistake="retains" theme="in_place"
# For an output that the next layer edits in place, the list holds the gradient with respect to the edited value.
#     After the edit the tensor stands for that one, also for `retain_grad()`.
# Для выхода, который следующий слой меняет на месте, в списке стоит градиент по изменённому значению. После
#     изменения градиент тензора относится уже к новому значению, в том числе для `retain_grad()`.
def output_gradients(model, x):
    outputs = {}

    def keep(found, output):
        output.retain_grad()
        found.append(output)

    _watched(model, x, keep, outputs)
    return {name: [each.grad for each in kept] for name, kept in outputs.items()}

# %% mistake="in_order_of_arrival" theme="order"
# The gradients stand in the order in which they arrive. For a layer that is called twice, the last call comes
#     first.
# Градиенты стоят в том порядке, в каком они приходят. У слоя, вызванного дважды, последний вызов идёт первым.
def output_gradients(model, x):
    found = {}
    _watched(model, x, lambda each, output: output.register_hook(each.append), found)
    return found

# %% mistake="keeps_one" theme="missing"
# Only one gradient is kept for each layer, although a layer may be called more than once.
# Для каждого слоя сохранён только один градиент, хотя слой могут вызвать несколько раз.
def output_gradients(model, x):
    found = {}
    _watched(
        model, x, lambda each, output: output.register_hook(lambda grad: each.__setitem__(slice(None), [grad])), found
    )
    return found

# %% mistake="leaves_out_idle_layers" theme="missing"
# A layer that was not called is missing. Its list is empty, but it is there.
# Слоя, который не вызывался, в словаре нет. Для него там должен быть пустой список.
def output_gradients(model, x):
    found = {}
    _watched(model, x, _insert, found)
    return {name: [grad for (grad,) in each] for name, each in found.items() if each}

# %% mistake="leaves_the_hooks" theme="state"
# The hooks stay on the model: every later pass will run them.
# Хуки остались на модели: они будут срабатывать в каждом следующем проходе.
def output_gradients(model, x):
    found = {}
    for name, module in _linears(model).items():
        found[name] = []
        module.register_forward_hook(lambda _, __, output, name=name: _insert(found[name], output))
    model(x).sum().backward()
    return {name: [grad for (grad,) in each] for name, each in found.items()}

# %% mistake="takes_the_inputs" theme="derivative"
# The gradients of the inputs were taken, not those of the outputs.
# Взяты градиенты по входам слоёв, а не по выходам.
def output_gradients(model, x):
    found = {}
    layers = _linears(model)

    def of_input(each, output):
        name = next(name for name in layers if found[name] is each)
        place = []
        each.append(place)
        output.register_hook(lambda grad: place.append(grad @ layers[name].weight))

    _watched(model, x, of_input, found)
    return {name: [grad for (grad,) in each] for name, each in found.items()}

# %% mistake="takes_every_module" theme="missing"
# All modules are in the dict, not only the `nn.Linear` layers.
# В словаре все модули, а не только слои `nn.Linear`.
def output_gradients(model, x):
    found = {}
    _watched(model, x, _insert, found)
    every = {name: [] for name, _ in model.named_modules()}
    return every | {name: [grad for (grad,) in each] for name, each in found.items()}

# %% mistake="takes_the_inputs_with_gradient" like="takes_the_inputs"
def output_gradients(model, x):
    found = {name: [] for name in _linears(model)}
    handles = []
    for name, module in _linears(model).items():

        def hook(_, inputs, name=name):
            if inputs[0].requires_grad:
                inputs[0].register_hook(lambda grad: found[name].insert(0, grad))

        handles.append(module.register_forward_pre_hook(hook))
    model(x).sum().backward()
    for handle in handles:
        handle.remove()
    return found

# %% mistake="direct_children_only" theme="missing"
# Only the model's direct children are in the dict. The linear layers of nested modules are missing.
# В словаре только модули, которые входят в модель непосредственно. Линейные слои вложенных модулей пропущены.
def output_gradients(model, x):
    return _of_outputs(model, x, nested=False)

# %% mistake="takes_the_mean" theme="scaling"
# The mean of the result was differentiated, not the sum.
# Продифференцировано среднее результата, а не сумма.
def output_gradients(model, x):
    return _of_outputs(model, x, lambda y: y.mean().backward())

# %% mistake="takes_the_weights" theme="derivative"
# The lists hold the gradients of the weights, not those of the outputs.
# В списках градиенты весов, а не выходов.
def output_gradients(model, x):
    model(x).sum().backward()
    layers = _linears(model).items()
    return {name: [] if module.weight.grad is None else [module.weight.grad] for name, module in layers}

# %% mistake="runs_a_copy" theme="missing"
# `.grad` of the parameters is what it was before: no gradient of this pass was added.
# Поля `.grad` параметров остались прежними: градиент этого прохода туда не прибавлен.
def output_gradients(model, x):
    return _of_outputs(copy.deepcopy(model), x)

# %% mistake="clears_the_gradients" theme="accumulation"
# `.grad` was cleared. What an earlier pass had left there is lost.
# Поля `.grad` обнулены: то, что оставил там прежний проход, потеряно.
def output_gradients(model, x):
    model.zero_grad()
    return _of_outputs(model, x)

# %% mistake="uses_full_hooks" theme="in_place"
# A full backward hook makes torch refuse the next layer, which edits the output in place.
# Из-за полного обратного хука torch не допускает следующего слоя, который меняет выход на месте.
def output_gradients(model, x):
    found = {name: [] for name in _linears(model)}
    handles = []
    for name, module in _linears(model).items():

        def hook(_, __, of_outputs, name=name):
            found[name].insert(0, of_outputs[0])

        handles.append(module.register_full_backward_hook(hook))
    model(x).sum().backward()
    for handle in handles:
        handle.remove()
    return found

# %% mistake="leaves_out_subclasses" theme="missing"
# A layer whose class is derived from `nn.Linear` is missing in the dict. It is an instance of `nn.Linear`, too.
# В словаре нет слоя, класс которого унаследован от `nn.Linear`. Такой слой — тоже экземпляр `nn.Linear`.
def output_gradients(model, x):
    layers = _linears(model)
    return {name: each for name, each in _of_outputs(model, x).items() if type(layers[name]) is nn.Linear}

# %% mistake="unpacks_single_gradients" theme="missing"
# For a layer that is called once the dict holds the gradient itself. It should be a list with one gradient.
# Для слоя, вызванного один раз, в словаре лежит сам градиент, а нужен список из одного градиента.
def output_gradients(model, x):
    return {name: each[0] if len(each) == 1 else each for name, each in _of_outputs(model, x).items()}

# %% mistake="passes_twice" theme="accumulation"
# There are two backward passes: each of them has added to `.grad`.
# Обратных проходов два, и каждый прибавил градиент к полям `.grad`.
def output_gradients(model, x):
    found = _of_outputs(model, x)
    model(x).sum().backward()
    return found

# %% mistake="all_in_the_last_list" theme="own"
# Every hook writes to the list of the last layer: a variable of the loop is read when the hook runs.
# Все хуки пишут в список последнего слоя: переменная цикла читается, когда хук выполняется.
def output_gradients(model, x):
    found = {name: [] for name in _linears(model)}
    every = list(found.values())
    for module in _linears(model).values():
        module.register_forward_hook(lambda _, __, output: _insert(every[-1], output))
    model(x).sum().backward()
    for module in _linears(model).values():
        module._forward_hooks.clear()
    return {name: [grad for (grad,) in each] for name, each in found.items()}

# %% mistake="asks_for_the_last_module" like="all_in_the_last_list"
def output_gradients(model, x):
    found = {}
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            found[name] = []

            def hook(_, __, output):
                place = len(found[name])  # noqa: B023 (the mistake)
                found[name].append(None)  # noqa: B023
                output.register_hook(lambda grad: found[name].__setitem__(place, grad))  # noqa: B023

            module.register_forward_hook(hook)
    model(x).sum().backward()
    for module in model.modules():
        module._forward_hooks.clear()
    return found

# %% mistake="adds_the_calls" theme="accumulation"
# The gradients of all calls of a layer were added into one. There has to be one for each call.
# Градиенты всех вызовов слоя сложены в один, а нужно по одному на каждый вызов.
def output_gradients(model, x):
    return {name: [sum(each[1:], each[0])] if each else [] for name, each in _of_outputs(model, x).items()}

# %% mistake="takes_modules_for_names" theme="missing"
# The keys are the modules themselves. The contract asks for their names.
# Ключи — сами модули, а по условию нужны их имена.
def output_gradients(model, x):
    layers = _linears(model)
    return {layers[name]: each for name, each in _of_outputs(model, x).items()}

# %% mistake="returns_the_outputs" theme="missing"
# The lists hold the outputs themselves, not their gradients.
# В списках сами выходы, а не градиенты по ним.
def output_gradients(model, x):
    found = {}
    _watched(model, x, lambda each, output: each.append(output.detach().clone()), found)
    return found

# %% mistake="reserves_places_for_inputs" like="takes_the_inputs"
def output_gradients(model, x):
    found = {name: [] for name in _linears(model)}
    handles = []
    for name, module in _linears(model).items():

        def hook(_, inputs, each=found[name]):
            place = len(each)
            each.append(None)
            if inputs[0].requires_grad:
                inputs[0].register_hook(lambda grad: each.__setitem__(place, grad))

        handles.append(module.register_forward_pre_hook(hook))
    model(x).sum().backward()
    for handle in handles:
        handle.remove()
    return found

# %% mistake="hooks_a_copy" theme="recording"
# The lists are empty: no hook has run. A hook on a copy of the output does not run, because the result does not
#     depend on the copy.
# Списки пусты: ни один хук не сработал. Хук на копии выхода не срабатывает, потому что результат от копии не
#     зависит.
def output_gradients(model, x):
    found = {}
    _watched(model, x, lambda each, output: output.clone().register_hook(each.append), found)
    return found
