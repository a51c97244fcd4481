"""Core exercise: take the optimizer step inside the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, signed
from autograder.checking.labels import PEAK
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import live_bytes

from .common import Branches, gradients, linear

_WIDTH, _LAYERS = 32, 8

MakeOptimizer = Callable[[list[Tensor]], torch.optim.Optimizer]


def _loss(model: nn.Module, x: Tensor) -> Tensor:
    return model(x).square().mean()  # type: ignore[no-any-return]


def _peak(step_in_backward: Callable[..., Any]) -> AtMost:
    """Return the peak bytes of a pass through 8 equal layers, with a limit.

    The unit is the gradient of one layer, 32 x 32 numbers. A right answer needs 1 unit and the small activations of one
    sample, an ordinary step 8. The limit is 2.5 units.
    """
    net = nn.Sequential(*[nn.Linear(_WIDTH, _WIDTH, bias=False, dtype=torch.float64) for _ in range(_LAYERS)])
    x = torch.ones(1, _WIDTH, dtype=torch.float64)
    step_in_backward(net, lambda parameters: torch.optim.SGD(parameters, lr=0.01, foreach=False))
    with live_bytes() as live:
        _loss(net, x).backward()
    return AtMost(limit=round(2.5 * _WIDTH * _WIDTH * 8), used=live.peak)


@exercise(
    title=Text("The step inside backward", "Шаг внутри обратного прохода"),
    kind="design",
    core=True,
    difficulty=3,
    minutes=18,
    aspects=[
        aspect(
            "weights",
            2,
            en="After every `backward()` the parameters are those of an ordinary loop with `make_optimizer` for all.",
            ru="После каждого `backward()` параметры такие же, как в обычном цикле с одним оптимизатором "
            "`make_optimizer` на все.",
        ),
        aspect(
            "cleared",
            0.5,
            en="After `backward()` every `.grad` is None.",
            ru="После `backward()` во всех полях `.grad` лежит None.",
        ),
        aspect(
            "peak",
            1.5,
            en="The gradients of at most two of the eight layers are in memory at the same time (bytes).",
            ru="В памяти одновременно находятся градиенты не больше чем двух слоёв из восьми (байты).",
            measured=PEAK,
        ),
        aspect(
            "stopped",
            1,
            en="After a call of the returned function, `backward()` fills `.grad` again and steps no more.",
            ru="После вызова возвращённой функции `backward()` снова заполняет `.grad` и шагов не делает.",
        ),
    ],
    hints=[
        Text(
            "Which hook runs when `.grad` of a parameter is complete, and what does it get as its argument?",
            "Какой хук выполняется, когда поле `.grad` параметра уже готово, и что он получает аргументом?",
        ),
        Text(
            "One small optimizer for each parameter that requires grad, made once. In the hook: step, then clear.",
            "Нужен отдельный маленький оптимизатор на каждый параметр, который требует градиента; создаётся он один "
            "раз. В хуке: шаг, затем обнуление.",
        ),
        Text(
            "optimizers = {p: make_optimizer([p]) for p in ...}\ndef hook(p):\n    ...\n"
            "handles = [p.register_post_accumulate_grad_hook(hook) for p in optimizers]\n"
            "def stop():\n    ...\nreturn stop",
            "optimizers = {p: make_optimizer([p]) for p in ...}\ndef hook(p):\n    ...\n"
            "handles = [p.register_post_accumulate_grad_hook(hook) for p in optimizers]\n"
            "def stop():\n    ...\nreturn stop",
        ),
    ],
)
def step_in_backward(answer: Any, case: Case) -> dict[str, object]:
    parameters = list(case.model.parameters())
    stop = answer.step_in_backward(case.model, case.make_optimizer)
    path, left = [], []
    with using_answer():
        for x in case.batches:
            _loss(case.model, x).backward()
            path.append([parameter.detach().clone() for parameter in parameters])
            left.append(gradients(parameters))
    stopped: object = None
    if callable(stop):
        with using_answer():
            stop()
            for parameter in parameters:
                parameter.grad = None
            _loss(case.model, case.batches[0]).backward()
            after = [parameter.detach().clone() for parameter in parameters]
            stopped = [after, gradients(parameters)]
    return {
        "weights": path,
        "cleared": [all(grad is None for grad in grads) for grads in left],
        "peak": _peak(answer.step_in_backward),
        "stopped": stopped,
    }


ADAM = Formula(
    "lambda parameters: torch.optim.Adam(parameters, lr=0.1, weight_decay=0.5)",
    lambda parameters: torch.optim.Adam(parameters, lr=0.1, weight_decay=0.5),  # type: ignore[arg-type, return-value]
)
SGD = Formula(
    "lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9)",
    lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),  # type: ignore[arg-type, return-value]
)


@step_in_backward.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    model = nn.Sequential(linear(rng, 2, 3, bias=True), nn.Tanh(), linear(rng, 3, 1))
    yield Case(model=model, make_optimizer=SGD, batches=[signed(rng, 2, 2) for _ in range(3)])
    yield Case(model=Branches(rng), make_optimizer=ADAM, batches=[signed(rng, n, 3) for n in (3, 2, 3)])


def _on(model: nn.Module, hook_for: Callable[[Tensor], Callable[[Tensor], object]]) -> Callable[[], None]:
    """Put the hook `hook_for(parameter)` on each parameter that requires grad; return a function that removes them."""
    handles = [p.register_post_accumulate_grad_hook(hook_for(p)) for p in model.parameters() if p.requires_grad]

    def stop() -> None:
        for handle in handles:
            handle.remove()

    return stop


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
    ru="Шаг делается в хуке тензора, когда этого градиента в `.grad` ещё нет: шагать не по чему.",
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
    en="The step waits until the gradients of all parameters are there, so all of them are in memory together.",
    ru="Шаг ждёт, пока не придут градиенты всех параметров, и все они находятся в памяти одновременно.",
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
    en="The gradients are set to zero instead of None. A parameter that a pass does not use is then stepped on, and "
    "the zeros take memory.",
    ru="Градиенты заполняются нулями вместо None. Тогда шаг делается и для параметра, который в этом проходе не нужен, "
    "а нули занимают память.",
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
    en="The function that comes back does nothing, or nothing comes back: the hooks cannot be taken off.",
    ru="Возвращённая функция ничего не делает, или ничего не возвращается: снять хуки нельзя.",
)
def cannot_be_stopped(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
    _step_and_clear(model, make_optimizer)
    return lambda: None


@step_in_backward.mistake(
    en="What comes back is no function without arguments, or nothing at all: `stop()` cannot be called.",
    ru="Возвращена не функция без аргументов, а что-то другое или ничего: вызвать `stop()` нельзя.",
)
def returns_no_function(model: nn.Module, make_optimizer: MakeOptimizer) -> Any:
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


def _step_and_clear(model: nn.Module, make_optimizer: MakeOptimizer) -> None:
    """Step and clear in each parameter's hook. The handles are dropped."""

    def hook_for(parameter: Tensor) -> Any:
        optimizer = make_optimizer([parameter])

        def hook(_: Tensor) -> None:
            optimizer.step()
            optimizer.zero_grad()

        return hook

    _on(model, hook_for)
