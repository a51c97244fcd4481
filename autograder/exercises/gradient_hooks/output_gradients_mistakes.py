"""The mistakes in `output_gradients`, as programs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from .output_gradients import Found, output_gradients


def _linears(model: nn.Module) -> dict[str, nn.Linear]:
    return {name: module for name, module in model.named_modules() if isinstance(module, nn.Linear)}


def _watched(model: nn.Module, x: Tensor, watch: Callable[[list[Any], Tensor], object], found: Found) -> None:
    """Run a pass in which `watch(list, output)` sees every output of a linear layer."""
    handles = []
    for name, module in _linears(model).items():
        found[name] = []

        def hook(_: nn.Module, __: Any, output: Tensor, name: str = name) -> None:
            watch(found[name], output)

        handles.append(module.register_forward_hook(hook))
    try:
        model(x).sum().backward()
    finally:
        for handle in handles:
            handle.remove()


@output_gradients.mistake(
    en="For an output that the next layer edits in place, the list holds the gradient with respect to the edited value. "
    "After the edit the tensor stands for that one, also for `retain_grad()`.",
    ru="Для выхода, который следующий слой меняет на месте, в списке стоит градиент по изменённому значению. После "
    "изменения градиент тензора относится уже к новому значению, в том числе для `retain_grad()`.",
)
def retains(model: nn.Module, x: Tensor) -> Found:
    outputs: Found = {}

    def keep(found: list[Any], output: Tensor) -> None:
        output.retain_grad()
        found.append(output)

    _watched(model, x, keep, outputs)
    return {name: [each.grad for each in kept] for name, kept in outputs.items()}  # type: ignore[misc]


@output_gradients.mistake(
    en="The gradients stand in the order in which they arrive. For a layer that is called twice, the last call comes "
    "first.",
    ru="Градиенты стоят в том порядке, в каком они приходят. У слоя, вызванного дважды, последний вызов идёт первым.",
)
def in_order_of_arrival(model: nn.Module, x: Tensor) -> Found:
    found: Found = {}
    _watched(model, x, lambda each, output: output.register_hook(each.append), found)
    return found


@output_gradients.mistake(
    en="Only one gradient is kept for each layer, although a layer may be called more than once.",
    ru="Для каждого слоя сохранён только один градиент, хотя слой могут вызвать несколько раз.",
)
def keeps_one(model: nn.Module, x: Tensor) -> Found:
    found: Found = {}
    _watched(
        model, x, lambda each, output: output.register_hook(lambda grad: each.__setitem__(slice(None), [grad])), found
    )
    return found


@output_gradients.mistake(
    en="A layer that was not called is missing. Its list is empty, but it is there.",
    ru="Слоя, который не вызывался, в словаре нет. Для него там должен быть пустой список.",
)
def leaves_out_idle_layers(model: nn.Module, x: Tensor) -> Found:
    found: Found = {}
    _watched(model, x, _insert, found)
    return {name: [grad for (grad,) in each] for name, each in found.items() if each}


def _insert(found: list[Any], output: Tensor) -> None:
    """Reserve a place for the gradient of `output`, in a list of its own."""
    place: list[Tensor] = []
    found.append(place)
    output.register_hook(place.append)


@output_gradients.mistake(
    en="The hooks stay on the model: every later pass will run them.",
    ru="Хуки остались на модели: они будут срабатывать в каждом следующем проходе.",
)
def leaves_the_hooks(model: nn.Module, x: Tensor) -> Found:
    found: dict[str, list[list[Tensor]]] = {}
    for name, module in _linears(model).items():
        found[name] = []
        module.register_forward_hook(lambda _, __, output, name=name: _insert(found[name], output))  # type: ignore[misc]
    model(x).sum().backward()
    return {name: [grad for (grad,) in each] for name, each in found.items()}


@output_gradients.mistake(
    en="The gradients of the inputs were taken, not those of the outputs.",
    ru="Взяты градиенты по входам слоёв, а не по выходам.",
)
def takes_the_inputs(model: nn.Module, x: Tensor) -> Found:
    found: Found = {}
    layers = _linears(model)

    def of_input(each: list[Any], output: Tensor) -> None:
        name = next(name for name in layers if found[name] is each)
        place: list[Tensor] = []
        each.append(place)
        output.register_hook(lambda grad: place.append(grad @ layers[name].weight))

    _watched(model, x, of_input, found)
    return {name: [grad for (grad,) in each] for name, each in found.items()}


@output_gradients.mistake(
    en="All modules are in the dict, not only the `nn.Linear` layers.",
    ru="В словаре все модули, а не только слои `nn.Linear`.",
)
def takes_every_module(model: nn.Module, x: Tensor) -> Found:
    found: dict[str, list[list[Tensor]]] = {}
    _watched(model, x, _insert, found)  # type: ignore[arg-type]
    every: Found = {name: [] for name, _ in model.named_modules()}
    return every | {name: [grad for (grad,) in each] for name, each in found.items()}  # type: ignore[return-value]


@output_gradients.mistake(*output_gradients.mistakes["takes_the_inputs"].says)
def takes_the_inputs_with_gradient(model: nn.Module, x: Tensor) -> Found:
    found: Found = {name: [] for name in _linears(model)}
    handles = []
    for name, module in _linears(model).items():

        def hook(_: nn.Module, inputs: tuple[Tensor], name: str = name) -> None:
            if inputs[0].requires_grad:
                inputs[0].register_hook(lambda grad: found[name].insert(0, grad))

        handles.append(module.register_forward_pre_hook(hook))
    model(x).sum().backward()
    for handle in handles:
        handle.remove()
    return found


def _of_outputs(
    model: nn.Module, x: Tensor, run: Callable[[Tensor], object] | None = None, nested: bool = True
) -> Found:
    """Return the gradients of the outputs of linear layers.

    `run` gets what the model returns, and runs the pass.
    """
    layers = _linears(model) if nested else {k: m for k, m in model.named_children() if isinstance(m, nn.Linear)}
    found: dict[str, list[list[Tensor]]] = {name: [] for name in layers}
    handles = [
        module.register_forward_hook(lambda _, __, output, name=name: _insert(found[name], output))  # type: ignore[misc]
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


@output_gradients.mistake(
    en="Only the model's direct children are in the dict. The linear layers of nested modules are missing.",
    ru="В словаре только модули, которые входят в модель непосредственно. Линейные слои вложенных модулей пропущены.",
)
def direct_children_only(model: nn.Module, x: Tensor) -> Found:
    return _of_outputs(model, x, nested=False)


@output_gradients.mistake(
    en="The mean of the result was differentiated, not the sum.",
    ru="Продифференцировано среднее результата, а не сумма.",
)
def takes_the_mean(model: nn.Module, x: Tensor) -> Found:
    return _of_outputs(model, x, lambda y: y.mean().backward())


@output_gradients.mistake(
    en="The lists hold the gradients of the weights, not those of the outputs.",
    ru="В списках градиенты весов, а не выходов.",
)
def takes_the_weights(model: nn.Module, x: Tensor) -> Found:
    model(x).sum().backward()
    layers = _linears(model).items()
    return {name: [] if module.weight.grad is None else [module.weight.grad] for name, module in layers}


@output_gradients.mistake(
    en="`.grad` of the parameters is what it was before: no gradient of this pass was added.",
    ru="Поля `.grad` параметров остались прежними: градиент этого прохода туда не прибавлен.",
)
def runs_a_copy(model: nn.Module, x: Tensor) -> Found:
    return _of_outputs(copy.deepcopy(model), x)


@output_gradients.mistake(
    en="`.grad` was cleared. What an earlier pass had left there is lost.",
    ru="Поля `.grad` обнулены: то, что оставил там прежний проход, потеряно.",
)
def clears_the_gradients(model: nn.Module, x: Tensor) -> Found:
    model.zero_grad()
    return _of_outputs(model, x)


@output_gradients.mistake(
    en="A full backward hook makes torch refuse the next layer, which edits the output in place.",
    ru="Из-за полного обратного хука torch не допускает следующего слоя, который меняет выход на месте.",
)
def uses_full_hooks(model: nn.Module, x: Tensor) -> Found:
    found: Found = {name: [] for name in _linears(model)}
    handles = []
    for name, module in _linears(model).items():

        def hook(_: nn.Module, __: Any, of_outputs: tuple[Tensor], name: str = name) -> None:
            found[name].insert(0, of_outputs[0])

        handles.append(module.register_full_backward_hook(hook))  # type: ignore[arg-type]
    model(x).sum().backward()
    for handle in handles:
        handle.remove()
    return found


@output_gradients.mistake(
    en="A layer whose class is derived from `nn.Linear` is missing in the dict. It is an instance of `nn.Linear`, too.",
    ru="В словаре нет слоя, класс которого унаследован от `nn.Linear`. Такой слой — тоже экземпляр `nn.Linear`.",
)
def leaves_out_subclasses(model: nn.Module, x: Tensor) -> Found:
    layers = _linears(model)
    return {name: each for name, each in _of_outputs(model, x).items() if type(layers[name]) is nn.Linear}


@output_gradients.mistake(
    en="For a layer that is called once the dict holds the gradient itself. It should be a list with one gradient.",
    ru="Для слоя, вызванного один раз, в словаре лежит сам градиент, а нужен список из одного градиента.",
)
def unpacks_single_gradients(model: nn.Module, x: Tensor) -> dict[str, Any]:
    return {name: each[0] if len(each) == 1 else each for name, each in _of_outputs(model, x).items()}


@output_gradients.mistake(
    en="There are two backward passes: each of them has added to `.grad`.",
    ru="Обратных проходов два, и каждый прибавил градиент к полям `.grad`.",
)
def passes_twice(model: nn.Module, x: Tensor) -> Found:
    found = _of_outputs(model, x)
    model(x).sum().backward()
    return found


@output_gradients.mistake(
    en="Every hook writes to the list of the last layer: a variable of the loop is read when the hook runs.",
    ru="Все хуки пишут в список последнего слоя: переменная цикла читается, когда хук выполняется.",
)
def all_in_the_last_list(model: nn.Module, x: Tensor) -> Found:
    found: dict[str, list[list[Tensor]]] = {name: [] for name in _linears(model)}
    every = list(found.values())
    for module in _linears(model).values():
        module.register_forward_hook(lambda _, __, output: _insert(every[-1], output))
    model(x).sum().backward()
    for module in _linears(model).values():
        module._forward_hooks.clear()
    return {name: [grad for (grad,) in each] for name, each in found.items()}


@output_gradients.mistake(*output_gradients.mistakes["all_in_the_last_list"].says)
def asks_for_the_last_module(model: nn.Module, x: Tensor) -> Found:
    found: dict[str, list[Tensor | None]] = {}
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            found[name] = []

            def hook(_: nn.Module, __: Any, output: Tensor) -> None:
                place = len(found[name])  # noqa: B023 (the mistake)
                found[name].append(None)  # noqa: B023
                output.register_hook(lambda grad: found[name].__setitem__(place, grad))  # noqa: B023

            module.register_forward_hook(hook)
    model(x).sum().backward()
    for module in model.modules():
        module._forward_hooks.clear()
    return found  # type: ignore[return-value]


@output_gradients.mistake(
    en="The gradients of all calls of a layer were added into one. There has to be one for each call.",
    ru="Градиенты всех вызовов слоя сложены в один, а нужно по одному на каждый вызов.",
)
def adds_the_calls(model: nn.Module, x: Tensor) -> Found:
    return {name: [sum(each[1:], each[0])] if each else [] for name, each in _of_outputs(model, x).items()}


@output_gradients.mistake(
    en="The keys are the modules themselves. The contract asks for their names.",
    ru="Ключи — сами модули, а по условию нужны их имена.",
)
def takes_modules_for_names(model: nn.Module, x: Tensor) -> dict[nn.Module, list[Tensor]]:
    layers = _linears(model)
    return {layers[name]: each for name, each in _of_outputs(model, x).items()}


@output_gradients.mistake(
    en="The lists hold the outputs themselves, not their gradients.",
    ru="В списках сами выходы, а не градиенты по ним.",
)
def returns_the_outputs(model: nn.Module, x: Tensor) -> Found:
    found: Found = {}
    _watched(model, x, lambda each, output: each.append(output.detach().clone()), found)
    return found


@output_gradients.mistake(*output_gradients.mistakes["takes_the_inputs"].says)
def reserves_places_for_inputs(model: nn.Module, x: Tensor) -> Found:
    found: dict[str, list[Any]] = {name: [] for name in _linears(model)}
    handles = []
    for name, module in _linears(model).items():

        def hook(_: nn.Module, inputs: tuple[Tensor], each: list[Any] = found[name]) -> None:
            place = len(each)
            each.append(None)
            if inputs[0].requires_grad:
                inputs[0].register_hook(lambda grad: each.__setitem__(place, grad))

        handles.append(module.register_forward_pre_hook(hook))
    model(x).sum().backward()
    for handle in handles:
        handle.remove()
    return found


@output_gradients.mistake(*output_gradients.mistakes["takes_every_module"].says)
def takes_every_leaf_module(model: nn.Module, x: Tensor) -> Found:
    found: dict[str, list[list[Tensor]]] = {}
    handles = []
    for name, module in model.named_modules():
        if not list(module.children()):
            found[name] = []
            handles.append(
                module.register_forward_hook(lambda _, __, output, each=found[name]: _insert(each, output))  # type: ignore[misc]
            )
    model(x).sum().backward()
    for handle in handles:
        handle.remove()
    return {name: [grad for (grad,) in each] for name, each in found.items()}


@output_gradients.mistake(
    en="The lists are empty: no hook has run. A hook on a copy of the output does not run, because the result does not depend "
    "on the copy.",
    ru="Списки пусты: ни один хук не сработал. Хук на копии выхода не срабатывает, потому что результат от копии не зависит.",
)
def hooks_a_copy(model: nn.Module, x: Tensor) -> Found:
    found: Found = {}
    _watched(model, x, lambda each, output: output.clone().register_hook(each.append), found)
    return found
