"""The mistakes in `accumulate_in_backward`, as programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .accumulate_in_backward import accumulate_in_backward
from .step_in_backward import MakeOptimizer


def _backward(
    model: nn.Module,
    make_optimizer: MakeOptimizer,
    ends: Callable[[bool], bool] = bool,
    clears: bool = True,
    catches_up: bool = True,
) -> Any:
    """Return a function `backward(loss, last)` with flaws to choose."""
    optimizers: dict[Tensor, Any] = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    ending: list[bool] = []

    def step(parameter: Tensor) -> None:
        optimizers[parameter].step()
        if clears:
            parameter.grad = None

    def hook(parameter: Tensor) -> None:
        if ending[0]:
            step(parameter)

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(hook)

    def backward(loss: Tensor, last: bool) -> None:
        ending[:] = [ends(last)]
        loss.backward()
        if ending[0] and catches_up and clears:
            for parameter in optimizers:
                step(parameter)

    return backward


@accumulate_in_backward.mistake(
    en="A step is made in every pass: nothing is accumulated over a window.",
    ru="Шаг делается в каждом проходе: за окно ничего не накапливается.",
)
def steps_in_every_pass(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    return _backward(model, make_optimizer, ends=lambda last: True)


@accumulate_in_backward.mistake(
    en="A parameter that the last pass of a window does not use is left out: its hook does not run in that pass.",
    ru="Пропущен параметр, который не участвует в последнем проходе окна: его хук в этом проходе не срабатывает.",
)
def forgets_the_unused(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    return _backward(model, make_optimizer, catches_up=False)


@accumulate_in_backward.mistake(
    en="The gradients are not cleared after the step: the next window adds to those of this one.",
    ru="После шага градиенты не обнуляются: в следующем окне к ним прибавляются новые.",
)
def never_clears(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    return _backward(model, make_optimizer, clears=False)


@accumulate_in_backward.mistake(
    en="The step is made after the pass, not inside it. The parameters are right, and no hook is at work.",
    ru="Шаг делается после прохода, а не внутри него. Параметры верны, но хуки не участвуют.",
)
def steps_after_the_pass(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizer = make_optimizer([parameter for parameter in model.parameters() if parameter.requires_grad])

    def backward(loss: Tensor, last: bool) -> None:
        loss.backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()

    return backward


@accumulate_in_backward.mistake(
    en="`last` is taken the wrong way round: the steps are made in all passes but the last.",
    ru="Аргумент `last` понят наоборот: шаги делаются во всех проходах, кроме последнего.",
)
def takes_last_for_first(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    return _backward(model, make_optimizer, ends=lambda last: not last)


@accumulate_in_backward.mistake(
    en="The hooks count the passes of each parameter and take the first window's length for all windows.",
    ru="Хуки считают проходы для каждого параметра и принимают длину первого окна за длину всех окон.",
)
def counts_passes(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    seen: list[int] = [0, 0]

    def ends(last: bool) -> bool:
        seen[0] += 1
        if last and not seen[1]:
            seen[1] = seen[0]
        return bool(seen[1]) and seen[0] % seen[1] == 0

    return _backward(model, make_optimizer, ends=ends)


def _with(model: nn.Module, hook: Callable[[Tensor], None], after: Callable[[], None]) -> Any:
    """Return a function `backward(loss, last)`.

    In the last pass of a window it runs `hook`, and then `after`.
    """
    ending: list[bool] = []
    for parameter in _trained(model):
        parameter.register_post_accumulate_grad_hook(lambda each: hook(each) if ending[0] else None)

    def backward(loss: Tensor, last: bool) -> None:
        ending[:] = [last]
        loss.backward()
        if last:
            after()

    return backward


def _trained(model: nn.Module) -> list[Tensor]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


@accumulate_in_backward.mistake(
    en="What an earlier pass of the window has left in `.grad` is cleared without a step, if the last pass does not use "
    "the parameter.",
    ru="Если параметр не участвует в последнем проходе окна, то накопленное в его поле `.grad` обнуляется без шага.",
)
def clears_without_a_step(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}
    return _with(model, lambda p: optimizers[p].step(), lambda: model.zero_grad())


@accumulate_in_backward.mistake(
    en="A parameter that the last pass does not use is stepped, but its `.grad` stays, and the next window adds to it.",
    ru="По параметру, который не участвует в последнем проходе, шаг делается, но его `.grad` остаётся, и следующее окно "
    "прибавляет к нему.",
)
def keeps_what_is_left(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}

    def hook(parameter: Tensor) -> None:
        optimizers[parameter].step()
        parameter.grad = None

    def after() -> None:
        for optimizer in optimizers.values():
            optimizer.step()

    return _with(model, hook, after)


@accumulate_in_backward.mistake(
    en="One optimizer serves all parameters. Each hook makes it step all those that have something in `.grad`, although "
    "their gradients are not complete.",
    ru="Оптимизатор один на все параметры. В каждом хуке он делает шаг по всем, у которых в `.grad` что-то есть, хотя "
    "их градиенты ещё не готовы.",
)
def steps_all_in_each_hook(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizer = make_optimizer(_trained(model))

    def hook(parameter: Tensor) -> None:
        optimizer.step()
        parameter.grad = None

    def after() -> None:
        optimizer.step()
        optimizer.zero_grad()

    return _with(model, hook, after)


@accumulate_in_backward.mistake(
    en="One optimizer serves all parameters. The first hook makes it step all of them and clears every `.grad`: what the "
    "others had accumulated was not complete.",
    ru="Оптимизатор один на все параметры. Уже первый хук делает шаг по всем и обнуляет все поля `.grad`, хотя "
    "накопленное у остальных ещё не готово.",
)
def clears_all_in_each_hook(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizer = make_optimizer(_trained(model))

    def hook(_: Tensor) -> None:
        optimizer.step()
        optimizer.zero_grad()

    return _with(model, hook, lambda: None)


@accumulate_in_backward.mistake(
    en="New optimizers are made for every window, so momentum and Adam's averages begin again each time.",
    ru="Для каждого окна создаются новые оптимизаторы, поэтому импульс и средние Adam каждый раз начинаются заново.",
)
def new_optimizer_each_time(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    def step(parameter: Tensor) -> None:
        make_optimizer([parameter]).step()
        parameter.grad = None

    def after() -> None:
        for parameter in _trained(model):
            if parameter.grad is not None:
                step(parameter)

    return _with(model, step, after)


@accumulate_in_backward.mistake(
    en="The step is made with the mean over the passes of the window. The ordinary loop has their sum in `.grad`.",
    ru="Шаг делается по среднему за проходы окна. В обычном цикле в `.grad` лежит их сумма.",
)
def takes_the_mean(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}
    passes = 0

    def step(parameter: Tensor) -> None:
        parameter.grad.div_(passes)  # type: ignore[union-attr]
        optimizers[parameter].step()
        parameter.grad = None

    def after() -> None:
        nonlocal passes
        for parameter in optimizers:
            if parameter.grad is not None:
                step(parameter)
        passes = 0

    run = _with(model, step, after)

    def backward(loss: Tensor, last: bool) -> None:
        nonlocal passes
        passes += 1
        run(loss, last)

    return backward


@accumulate_in_backward.mistake(
    en="A parameter that no pass of the window uses is stepped as if its gradient were zero. Weight decay and the "
    "averages then move it; the ordinary loop leaves it alone.",
    ru="По параметру, который не участвует ни в одном проходе окна, делается шаг с нулевым градиентом. Его сдвигают "
    "затухание весов (weight decay) и средние, а обычный цикл его не трогает.",
)
def steps_with_zeros(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}
    arrived: set[Tensor] = set()

    def step(parameter: Tensor) -> None:
        arrived.add(parameter)
        optimizers[parameter].step()
        parameter.grad = None

    def after() -> None:
        for parameter in optimizers:
            if parameter not in arrived:
                parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                step(parameter)
        arrived.clear()

    return _with(model, step, after)


@accumulate_in_backward.mistake(
    en="A hook was registered on a frozen parameter, too. torch refuses that.",
    ru="Хук ставится и на замороженный параметр, а torch этого не допускает.",
)
def hooks_the_frozen(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda _: None)
    return _backward(model, make_optimizer)


@accumulate_in_backward.mistake(
    en="Inside the second window steps are made in every pass. The hooks that the end of the first window registered are "
    "still there.",
    ru="Внутри второго окна шаги делаются в каждом проходе. Хуки, поставленные в конце первого окна, всё ещё на месте.",
)
def leaves_the_hooks(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizers: dict[Tensor, Any] = {p: make_optimizer([p]) for p in _trained(model)}

    def step(parameter: Tensor) -> None:
        optimizers[parameter].step()
        parameter.grad = None

    def backward(loss: Tensor, last: bool) -> None:
        if last:
            for parameter in optimizers:
                parameter.register_post_accumulate_grad_hook(step)
        loss.backward()
        if last:
            for parameter in optimizers:
                if parameter.grad is not None:
                    step(parameter)

    return backward


@accumulate_in_backward.mistake(
    en="In the last pass of a window parameters are stepped before the pass. It needs the values that they had in the "
    "forward pass.",
    ru="В конце окна шаги делаются до последнего прохода. А ему нужны те значения параметров, которые были в прямом "
    "проходе.",
)
def steps_before_the_pass(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}

    def backward(loss: Tensor, last: bool) -> None:
        for parameter, optimizer in optimizers.items() if last else ():
            optimizer.step()
            parameter.grad = None
        loss.backward()

    return backward


@accumulate_in_backward.mistake(
    en="A tensor hook steps before the gradient of the last pass is in `.grad`: it is missing in the step.",
    ru="Шаг делается в хуке тензора, когда градиента последнего прохода в `.grad` ещё нет: в шаге он не участвует.",
)
def steps_too_early(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizers: dict[Tensor, Any] = {p: make_optimizer([p]) for p in _trained(model)}
    ending: list[bool] = []

    def step(parameter: Tensor) -> None:
        optimizers[parameter].step()
        parameter.grad = None

    for parameter in optimizers:
        parameter.register_hook(lambda _, parameter=parameter: step(parameter) if ending[0] else None)  # type: ignore[misc]

    def backward(loss: Tensor, last: bool) -> None:
        ending[:] = [last]
        loss.backward()
        for parameter in optimizers if last else ():
            if parameter.grad is not None:
                step(parameter)

    return backward


@accumulate_in_backward.mistake(
    en="After a step `.grad` holds zeros, not None. At the end of the pass these parameters are stepped once more: momentum "
    "and averages move them.",
    ru="После шага в `.grad` лежат нули, а не None. В конце прохода по этим параметрам делается ещё один шаг: их сдвигают "
    "импульс и средние.",
)
def fills_with_zeros(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}

    def step(parameter: Tensor) -> None:
        optimizers[parameter].step()
        optimizers[parameter].zero_grad(set_to_none=False)

    def after() -> None:
        for parameter in optimizers:
            if parameter.grad is not None:
                step(parameter)

    return _with(model, step, after)


@accumulate_in_backward.mistake(
    en="Every hook uses the optimizer of the last parameter: a variable of the loop is read when the hook runs.",
    ru="Все хуки пользуются оптимизатором последнего параметра: переменная цикла читается, когда хук выполняется.",
)
def last_optimizer_for_all(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}

    def hook(parameter: Tensor) -> None:
        list(optimizers.values())[-1].step()
        parameter.grad = None

    def after() -> None:
        for parameter, optimizer in optimizers.items():
            optimizer.step()
            parameter.grad = None

    return _with(model, hook, after)


@accumulate_in_backward.mistake(
    en="The losses are added up, and there is one backward pass at the end of the window. Before that `.grad` gets nothing.",
    ru="Значения функции потерь складываются, и обратный проход только один, в конце окна. До этого в `.grad` ничего не "
    "попадает.",
)
def adds_the_losses(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}
    losses: list[Tensor] = []

    def hook(parameter: Tensor) -> None:
        optimizers[parameter].step()
        parameter.grad = None

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(hook)

    def backward(loss: Tensor, last: bool) -> None:
        losses.append(loss)
        if last:
            torch.stack(losses).sum().backward()
            losses.clear()

    return backward


@accumulate_in_backward.mistake(
    en="A parameter that was stepped in the last pass of one window counts as stepped in later windows, too. If the last pass "
    "of such a window does not use it, its step is missing.",
    ru="Параметр, по которому сделан шаг в последнем проходе одного окна, считается обработанным и в следующих. Если в "
    "последнем проходе такого окна он не участвует, его шаг пропадает.",
)
def remembers_earlier_windows(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}
    stepped: set[Tensor] = set()

    def hook(parameter: Tensor) -> None:
        optimizers[parameter].step()
        stepped.add(parameter)

    def after() -> None:
        for parameter, optimizer in optimizers.items():
            if parameter not in stepped:
                optimizer.step()
            parameter.grad = None

    return _with(model, hook, after)


@accumulate_in_backward.mistake(
    en="Every pass begins with empty `.grad`: nothing is accumulated, and a window is its last pass alone.",
    ru="Каждый проход начинается с пустых полей `.grad`: ничего не накапливается, и от окна остаётся только последний проход.",
)
def clears_in_every_pass(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    run = _backward(model, make_optimizer)

    def backward(loss: Tensor, last: bool) -> None:
        model.zero_grad()
        run(loss, last)

    return backward


@accumulate_in_backward.mistake(
    en="The step is made in a hook on the tensor, which runs before the gradient of the pass is added to `.grad`: the last "
    "pass of the window is left out of the step.",
    ru="Шаг сделан в хуке тензора, а он срабатывает до того, как градиент этого прохода прибавлен к `.grad`: последний "
    "проход окна в шаге не участвует.",
)
def steps_before_the_addition(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    optimizers: dict[Tensor, Any] = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    ending: list[bool] = []

    def hook(parameter: Tensor) -> None:
        if ending[0]:
            optimizers[parameter].step()
            parameter.grad = None

    for parameter in optimizers:
        parameter.register_hook(lambda _, parameter=parameter: hook(parameter))

    def backward(loss: Tensor, last: bool) -> None:
        ending[:] = [last]
        loss.backward()

    return backward
