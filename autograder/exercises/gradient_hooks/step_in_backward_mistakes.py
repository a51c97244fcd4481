"""The mistakes in `step_in_backward`, as programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .step_in_backward import MakeOptimizer, step_in_backward


def _on(model: nn.Module, hook_for: Callable[[Tensor], Callable[[Tensor], object]]) -> Callable[[], None]:
    """Put the hook `hook_for(parameter)` on each parameter that requires grad; return a function that removes them."""
    handles = [p.register_post_accumulate_grad_hook(hook_for(p)) for p in model.parameters() if p.requires_grad]

    def stop() -> None:
        for handle in handles:
            handle.remove()

    return stop


def _step_and_clear(model: nn.Module, make_optimizer: MakeOptimizer, parameters: Sequence[Tensor] | None = None) -> Any:
    """Step and clear in a hook of each of `parameters`, by default of all trained ones; return the handles."""
    if parameters is None:
        parameters = [p for p in model.parameters() if p.requires_grad]
    handles = []
    for parameter in parameters:
        optimizer = make_optimizer([parameter])

        def hook(_: Tensor, optimizer: Any = optimizer) -> None:
            optimizer.step()
            optimizer.zero_grad()

        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    return handles


@step_in_backward.mistake(
    en="`.grad` is not cleared after the step: the next pass adds to it, and all gradients stay in memory.",
    ru="Поле `.grad` после шага не обнуляется: следующий проход прибавляет к нему, и все градиенты остаются в памяти.",
)
def never_clears(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    def hook_for(parameter: Tensor) -> Any:
        optimizer = make_optimizer([parameter])
        return lambda _: optimizer.step() and None

    return _on(model, hook_for)


@step_in_backward.mistake(
    en="Every hook uses the optimizer of the last parameter: a variable of the loop is read when the hook runs.",
    ru="Все хуки пользуются оптимизатором последнего параметра: переменная цикла читается, когда хук выполняется.",
)
def last_optimizer_for_all(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    handles = []
    for parameter in model.parameters():
        if parameter.requires_grad:
            optimizer = make_optimizer([parameter])

            def hook(_: Tensor) -> None:
                optimizer.step()  # noqa: B023 (the mistake)
                optimizer.zero_grad()  # noqa: B023

            handles.append(parameter.register_post_accumulate_grad_hook(hook))
    return lambda: [handle.remove() for handle in handles]


@step_in_backward.mistake(
    en="A new optimizer is made for every step, so momentum and Adam's averages begin again each time.",
    ru="На каждом шаге создаётся новый оптимизатор, поэтому импульс и средние Adam каждый раз начинаются заново.",
)
def new_optimizer_each_time(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    def hook(parameter: Tensor) -> None:
        make_optimizer([parameter]).step()
        parameter.grad = None

    return _on(model, lambda _: hook)


@step_in_backward.mistake(
    en="A tensor hook steps before this gradient is in `.grad`: there is nothing there to step with.",
    ru="Шаг делается в хуке тензора, когда этого градиента в `.grad` ещё нет: делать шаг ещё не по чему.",
)
def steps_too_early(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    handles = []
    for parameter in model.parameters():
        if parameter.requires_grad:
            optimizer = make_optimizer([parameter])

            def hook(_: Tensor, optimizer: Any = optimizer) -> None:
                optimizer.step()
                optimizer.zero_grad()

            handles.append(parameter.register_hook(hook))
    return lambda: [handle.remove() for handle in handles]


@step_in_backward.mistake(
    en="The steps wait for further gradients: those of more than two layers are in memory together.",
    ru="Шаги ждут следующих градиентов: в памяти одновременно находятся градиенты больше чем двух слоёв.",
)
def waits_for_all(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizer = make_optimizer([p for p in model.parameters() if p.requires_grad])
    queued: list[bool] = []

    def at_the_end() -> None:
        queued.clear()
        optimizer.step()
        optimizer.zero_grad()

    def hook(_: Tensor) -> None:
        if not queued:
            queued.append(True)
            torch.autograd.Variable._execution_engine.queue_callback(at_the_end)

    return _on(model, lambda _: hook)


@step_in_backward.mistake(
    en="The gradients are set to zero instead of None, and the zeros take memory.",
    ru="Градиенты заполняются нулями вместо None, а нули занимают память.",
)
def leaves_zeros(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizers = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}

    def hook(_: Tensor) -> None:
        for parameter, optimizer in optimizers.items():
            if parameter is _:
                optimizer.step()
                optimizer.zero_grad(set_to_none=False)

    return _on(model, lambda _: hook)


@step_in_backward.mistake(
    en="After a call of the function that came back, `backward()` goes on as before: every hook still steps.",
    ru="После вызова возвращённой функции вызов `backward()` действует по-прежнему: каждый хук делает шаг.",
)
def cannot_be_stopped(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    _step_and_clear(model, make_optimizer)
    return lambda: None


@step_in_backward.mistake(
    en="What comes back is no function without arguments, or nothing at all: `stop()` cannot be called.",
    ru="Возвращена не функция без аргументов, а что-то другое или ничего: вызвать `stop()` нельзя.",
)
def returns_no_function(model: nn.Module, make_optimizer: MakeOptimizer) -> None:
    _step_and_clear(model, make_optimizer)


@step_in_backward.mistake(
    en="Only the first pass steps: the hooks take themselves off.",
    ru="Шаги делаются только в первом проходе: хуки снимают себя сами.",
)
def steps_once(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    def hook_for(parameter: Tensor) -> Any:
        optimizer = make_optimizer([parameter])

        def hook(_: Tensor) -> None:
            optimizer.step()
            optimizer.zero_grad()
            handles[parameter].remove()

        return hook

    parameters: list[Tensor] = [p for p in model.parameters() if p.requires_grad]
    handles = {p: p.register_post_accumulate_grad_hook(hook_for(p)) for p in parameters}
    return lambda: [handle.remove() for handle in handles.values()]


@step_in_backward.mistake(
    en="The returned function takes off the last hook only: the other parameters are still stepped.",
    ru="Возвращённая функция снимает только последний хук: по остальным параметрам шаги по-прежнему делаются.",
)
def stops_the_last(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    trained = [p for p in model.parameters() if p.requires_grad]
    handles = _step_and_clear(model, make_optimizer, trained)
    return lambda: handles[-1].remove()


@step_in_backward.mistake(
    en="The returned function leaves the first hook on: this parameter is still stepped.",
    ru="Возвращённая функция оставляет первый хук: по его параметру шаги по-прежнему делаются.",
)
def leaves_the_first(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    trained = [p for p in model.parameters() if p.requires_grad]
    handles = _step_and_clear(model, make_optimizer, trained)
    return lambda: [handle.remove() for handle in handles[1:]]


@step_in_backward.mistake(
    en="After a call of the returned function no step is made, but `.grad` is still cleared.",
    ru="После вызова возвращённой функции шаги не делаются, но `.grad` по-прежнему обнуляется.",
)
def still_clears(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    working = [True]

    def hook_for(parameter: Tensor) -> Any:
        optimizer = make_optimizer([parameter])

        def hook(_: Tensor) -> None:
            if working:
                optimizer.step()
            optimizer.zero_grad()

        return hook

    _on(model, hook_for)
    return working.clear


@step_in_backward.mistake(
    en="The hook of the cell above was copied: it takes a step of 0.01 times the gradient. Here `make_optimizer` decides "
    "on the step.",
    ru="Хук взят из ячейки выше: он делает шаг в 0.01 градиента. А здесь шаг определяет `make_optimizer`.",
)
def copies_the_hook(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    def hook(parameter: Tensor) -> None:
        with torch.no_grad():
            parameter -= 0.01 * parameter.grad  # type: ignore[operator]
        parameter.grad = None

    return _on(model, lambda _: hook)


@step_in_backward.mistake(
    en="A hook was registered on a frozen parameter, too. torch refuses that.",
    ru="Хук ставится и на замороженный параметр, а torch этого не допускает.",
)
def hooks_the_frozen(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    return _step_and_clear(model, make_optimizer, list(model.parameters()))


@step_in_backward.mistake(
    en="Only the parameters of the model's direct children are stepped. Those of nested modules and of the model itself "
    "are missing.",
    ru="Шаги делаются только по параметрам модулей, которые входят в модель непосредственно. Параметры вложенных "
    "модулей и самой модели пропущены.",
)
def direct_children_only(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    own = [p for child in model.children() for p in child.parameters(recurse=False) if p.requires_grad]
    handles = _step_and_clear(model, make_optimizer, own)
    return lambda: [handle.remove() for handle in handles]


@step_in_backward.mistake(
    en="Only the weights are stepped. The biases of the layers are missing.",
    ru="Шаги делаются только по весам, а смещения слоёв пропущены.",
)
def weights_only(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    own = [p for name, p in model.named_parameters() if p.requires_grad and "weight" in name]
    handles = _step_and_clear(model, make_optimizer, own)
    return lambda: [handle.remove() for handle in handles]


@step_in_backward.mistake(
    en="A weight that is in two modules is stepped twice in a pass. `model.parameters()` names it once.",
    ru="По весу, который входит в два модуля, за проход делается два шага. В `model.parameters()` он встречается один "
    "раз.",
)
def steps_the_shared_twice(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    handles = []
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            if parameter.requires_grad:
                optimizer = make_optimizer([parameter])
                handles.append(
                    parameter.register_post_accumulate_grad_hook(lambda _, step=optimizer.step: step() and None)
                )
    clearing = _on(model, lambda _: lambda parameter: setattr(parameter, "grad", None))
    return lambda: [clearing(), *(handle.remove() for handle in handles)]


@step_in_backward.mistake(
    en="The step is made before the gradient is added to `.grad`. It is added afterwards, and stays there.",
    ru="Шаг делается раньше, чем градиент прибавлен к `.grad`. Градиент прибавляется потом и там остаётся.",
)
def steps_before_the_addition(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    handles = []
    for parameter in model.parameters():
        if parameter.requires_grad:
            optimizer = make_optimizer([parameter])

            def hook(grad: Tensor, parameter: Tensor = parameter, optimizer: Any = optimizer) -> None:
                parameter.grad = grad
                optimizer.step()
                parameter.grad = None

            handles.append(parameter.register_hook(hook))
    return lambda: [handle.remove() for handle in handles]


@step_in_backward.mistake(
    en="The gradients are set to zero instead of None, and one optimizer serves all parameters. Each of its steps then "
    "moves the others, too: by weight decay or by their momentum.",
    ru="Градиенты заполняются нулями вместо None, а оптимизатор один на все параметры. Тогда каждый его шаг сдвигает и "
    "остальные: из-за затухания весов (weight decay) или по импульсу.",
)
def steps_with_zeros(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizer = make_optimizer([p for p in model.parameters() if p.requires_grad])

    def hook(_: Tensor) -> None:
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)

    return _on(model, lambda _: hook)


@step_in_backward.mistake(
    en="A parameter that the pass does not use is stepped as if its gradient were zero. Weight decay and the averages "
    "then move it; the ordinary loop leaves it alone.",
    ru="По параметру, который в проходе не участвует, делается шаг с нулевым градиентом. Его сдвигают затухание весов "
    "(weight decay) и средние, а обычный цикл его не трогает.",
)
def steps_the_unused(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizers: dict[Tensor, Any] = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    arrived: set[Tensor] = set()

    def at_the_end() -> None:
        for parameter, optimizer in optimizers.items():
            if parameter not in arrived:
                parameter.grad = torch.zeros_like(parameter)
                optimizer.step()
                parameter.grad = None
        arrived.clear()

    def hook(parameter: Tensor) -> None:
        if not arrived:
            torch.autograd.Variable._execution_engine.queue_callback(at_the_end)
        arrived.add(parameter)
        optimizers[parameter].step()
        parameter.grad = None

    return _on(model, lambda _: hook)


@step_in_backward.mistake(
    en="The step waits until every parameter has had its gradient. If a pass does not use one of them, the step is not "
    "made in this pass, but in the middle of a later one.",
    ru="Шаг ждёт, пока градиент не придёт к каждому параметру. Если какой-то параметр в проходе не участвует, шаг "
    "делается не в этом проходе, а посреди одного из следующих.",
)
def waits_for_the_unused(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    trained: list[Tensor] = [p for p in model.parameters() if p.requires_grad]
    optimizer, arrived = make_optimizer(trained), set()

    def hook(parameter: Tensor) -> None:
        arrived.add(parameter)
        if len(arrived) == len(trained):
            optimizer.step()
            optimizer.zero_grad()
            arrived.clear()

    return _on(model, lambda _: hook)


@step_in_backward.mistake(
    en="The hooks are gone as soon as nobody keeps the returned function: `backward()` then fills `.grad` as usual. That "
    "is how hooks on nodes of the graph behave. A hook on the parameter stays with the parameter.",
    ru="Хуки исчезают, как только возвращённую функцию никто не хранит: тогда `backward()` заполняет `.grad` как "
    "обычно. Так ведут себя хуки на узлах графа. Хук на параметре остаётся вместе с параметром.",
)
def hooks_the_nodes(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    handles, nodes = [], []
    for parameter in model.parameters():
        if parameter.requires_grad:
            optimizer = make_optimizer([parameter])

            def hook(_: Any, __: Any, parameter: Tensor = parameter, optimizer: Any = optimizer) -> None:
                optimizer.step()
                parameter.grad = None

            nodes.append(torch.autograd.graph.get_gradient_edge(parameter).node)
            handles.append(nodes[-1].register_hook(hook))

    def stop() -> None:
        for handle in handles:
            handle.remove()
        nodes.clear()

    return stop


@step_in_backward.mistake(
    en="The model's own parameters are missing: only those of its modules are stepped.",
    ru="Пропущены параметры самой модели: шаги делаются только по параметрам её модулей.",
)
def leaves_out_the_models_own(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    own = dict.fromkeys(p for child in model.children() for p in child.parameters() if p.requires_grad)
    handles = _step_and_clear(model, make_optimizer, list(own))
    return lambda: [handle.remove() for handle in handles]


@step_in_backward.mistake(
    en="Each step is 0.1 times the gradient, without momentum and averages. Here `make_optimizer` decides on the step.",
    ru="Каждый шаг — это 0.1 градиента, без импульса и средних. А здесь шаг определяет `make_optimizer`.",
)
def steps_by_hand(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    def hook(parameter: Tensor) -> None:
        with torch.no_grad():
            parameter -= 0.1 * parameter.grad  # type: ignore[operator]
        parameter.grad = None

    return _on(model, lambda _: hook)


@step_in_backward.mistake(
    en="All steps are made in the hook of the model's first parameter. Its gradient need not come last, and the pass then "
    "misses values that the steps have changed.",
    ru="Все шаги делаются в хуке первого параметра модели. Но его градиент не обязательно приходит последним, и тогда "
    "проходу не хватает значений, которые изменены шагами.",
)
def steps_in_the_first_hook(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    trained: list[Tensor] = [p for p in model.parameters() if p.requires_grad]
    optimizer = make_optimizer(trained)

    def hook(_: Tensor) -> None:
        optimizer.step()
        optimizer.zero_grad()

    return trained[0].register_post_accumulate_grad_hook(hook).remove


@step_in_backward.mistake(
    en="`make_optimizer` gets a parameter. It takes a list of parameters: `[parameter]`.",
    ru="Функция `make_optimizer` получает параметр, а ей нужен список параметров: `[parameter]`.",
)
def gives_no_list(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    return [make_optimizer(p) for p in model.parameters() if p.requires_grad]  # type: ignore[arg-type]


@step_in_backward.mistake(
    en="One optimizer serves all parameters, and `.grad` is cleared only at the end of the pass. Each hook steps all that "
    "have come so far once more.",
    ru="Оптимизатор один на все параметры, а `.grad` обнуляется только в конце прохода. Каждый хук ещё раз делает шаг по "
    "всем, чьи градиенты уже пришли.",
)
def steps_all_again(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    trained: list[Tensor] = [p for p in model.parameters() if p.requires_grad]
    optimizer = make_optimizer(trained)

    def hook(parameter: Tensor) -> None:
        optimizer.step()
        if parameter is trained[0]:
            optimizer.zero_grad()

    return _on(model, lambda _: hook)


@step_in_backward.mistake(
    en="The returned function freezes the parameters. Then nothing requires grad, and `backward()` raises.",
    ru="Возвращённая функция замораживает параметры. Тогда градиента не требует ничто, и вызов `backward()` завершается "
    "ошибкой.",
)
def freezes_at_the_end(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    _step_and_clear(model, make_optimizer)
    return lambda: model.requires_grad_(False)


@step_in_backward.mistake(
    en="No step changes the parameters: in the hook `.grad` is cleared before the step.",
    ru="Шаги не меняют параметров: `.grad` обнуляется в хуке раньше, чем делается шаг.",
)
def clears_before_the_step(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizers: dict[Tensor, Any] = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}

    def hook(parameter: Tensor) -> None:
        optimizers[parameter].zero_grad()
        optimizers[parameter].step()

    return _on(model, lambda _: hook)
