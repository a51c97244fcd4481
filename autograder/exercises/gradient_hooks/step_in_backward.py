"""Exercise: take the optimizer step inside the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.containment.caught import Caught, error_kind
from autograder.checking.counted_run import another, condense, randomize
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, signed
from autograder.checking.labels import OF_PARAMETERS, PEAK, Entries
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import live_bytes

from .common import Branches, garbage_collected, gradients, hooks_on, linear

_WIDTH, _LAYERS = 32, 8


def _loss(model: nn.Module, x: Tensor) -> Tensor:
    return model(x).square().mean()  # type: ignore[no-any-return]


def _peak(step_in_backward: Callable[..., Any], rng: torch.Generator) -> tuple[AtMost, dict[str, bool]]:
    """Return the peak bytes of a pass, with a limit, and what tells its causes apart.

    The pass goes through 8 equal layers. The returned function is dropped: the hooks have to work without it. The unit is the gradient of one layer, 32 x 32
    numbers. A right answer needs 1 unit and the small activations of one sample, an ordinary step 8. The limit is 2.5
    units.
    """
    net = nn.Sequential(*[nn.Linear(_WIDTH, _WIDTH, bias=False, dtype=torch.float64) for _ in range(_LAYERS)])
    x = signed(rng, 1, _WIDTH)
    randomize(net, rng)
    with garbage_collected():
        step_in_backward(net, lambda parameters: torch.optim.SGD(parameters, lr=0.01, foreach=False))
    hooks = hooks_on(net.parameters()) > 0
    with live_bytes() as live:
        _loss(net, x).backward()
    causes = {
        "cleared in the deep net": all(parameter.grad is None for parameter in net.parameters()),
        "hooks on the deep net": hooks,
        "kept from the deep net": live.now > _WIDTH * _WIDTH * 8,
    }
    weights = condense([*net.parameters()])
    return AtMost(limit=round(2.5 * _WIDTH * _WIDTH * 8), used=live.peak, of=weights), causes


def _stopped(stop: Callable[[], object], case: Case) -> object:
    """Return parameters and gradients after `stop()` and another pass, or the error that came instead."""
    parameters = list(case.model.parameters())
    with using_answer():
        try:
            stop()
            for parameter in parameters:
                parameter.grad = None
            _loss(case.model, case.batches[0]).backward()
        except Exception as error:
            return Caught.of(error, f"{error_kind(error)}: {error}")
    return [[parameter.detach().clone() for parameter in parameters], gradients(parameters)]


@exercise(
    title=Text("The step inside backward", "Шаг внутри обратного прохода"),
    kind="design",
    difficulty=3,
    aspects=[
        aspect(
            "weights",
            1,
            en="After every `backward()` the parameters are those of an ordinary loop with `make_optimizer` for all.",
            ru="После каждого `backward()` параметры такие же, как в обычном цикле с одним оптимизатором "
            "`make_optimizer` на все.",
            entries=(
                Entries(Text("parameters after pass {n}", "параметры после прохода {n}"), Text("passes", "проходов")),
                OF_PARAMETERS,
            ),
        ),
        aspect(
            "peak",
            2.5,
            en="The gradients of at most two of the eight layers are in memory at the same time (bytes).",
            ru="В памяти одновременно находятся градиенты не больше чем двух слоёв из восьми (байты).",
            measured=PEAK,
        ),
        aspect(
            "cleared",
            0.5,
            en="After `backward()` every `.grad` is None.",
            ru="После `backward()` во всех полях `.grad` лежит None.",
            entries=(
                Entries(
                    Text("every `.grad` is None after pass {n}", "все `.grad` равны None после прохода {n}"),
                    Text("passes", "проходов"),
                ),
            ),
            after=("weights", "peak"),
        ),
        aspect(
            "stopped",
            1,
            en="After a call of the returned function, `backward()` fills `.grad` again and steps no more.",
            ru="После вызова возвращённой функции `backward()` снова заполняет `.grad` и шагов не делает.",
            entries=(
                Entries((Text("parameters", "параметры"), Text("`.grad`", "`.grad`")), Text("parts", "частей")),
                OF_PARAMETERS,
            ),
            after=("weights", "peak"),
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
        Text.same(
            "optimizers = {p: make_optimizer([p]) for p in ...}\ndef hook(p):\n    ...\n"
            "handles = [p.register_post_accumulate_grad_hook(hook) for p in optimizers]\n"
            "def stop():\n    ...\nreturn stop"
        ),
    ],
    why=Why(
        Text(
            "Why does a step inside the pass need so little memory for gradients?",
            "Почему при шаге внутри прохода градиенты занимают так мало памяти?",
        ),
        Text(
            "Each gradient is used as soon as it is complete and dropped at once, while the pass goes on. An "
            "ordinary loop holds all of them until the step.",
            "Каждый градиент используется, как только он готов, и сразу освобождается, а проход идёт дальше. В "
            "обычном цикле все они лежат в памяти до самого шага.",
        ),
    ),
)
def step_in_backward(answer: Any, case: Case) -> dict[str, object]:
    parameters = list(case.model.parameters())
    stop = answer.step_in_backward(case.model, case.make_optimizer)
    hooks = hooks_on(parameters)
    path, left = [], []
    with using_answer():
        for x in case.batches:
            _loss(case.model, x).backward()
            path.append([parameter.detach().clone() for parameter in parameters])
            left.append(gradients(parameters))
    stopped = _stopped(stop, case) if callable(stop) else None
    peak, causes = _peak(answer.step_in_backward, case.rng)
    return {
        "weights": path,
        "cleared": [all(grad is None for grad in grads) for grads in left],
        "peak": peak,
        "stopped": stopped,
        "gradients left": left,
        "hooks": hooks,
        **causes,
    }


@step_in_backward.weigh("peak", most=79 << 20)
def weigh(step_in_backward: Callable[..., Any], rng: torch.Generator) -> object:
    """Run a pass through 8 layers. The weight of each takes 4.5 MB, and so does its gradient."""
    layers = [nn.Linear(768, 768, bias=False, dtype=torch.float64) for _ in range(_LAYERS)]
    net, x = randomize(nn.Sequential(*layers), rng), signed(rng, 1, 768)
    with torch.no_grad():
        for p in net.parameters():
            p.div_(8)  # or the numbers grow from layer to layer
    step_in_backward(net, lambda parameters: torch.optim.SGD(parameters, lr=0.01, foreach=False))
    _loss(net, x).backward()
    return [*net.parameters()]


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
    yield Case(model=model, make_optimizer=SGD, batches=[signed(rng, 2, 2) for _ in range(3)], rng=another(rng))
    yield Case(
        model=Branches(rng), make_optimizer=ADAM, batches=[signed(rng, n, 3) for n in (3, 2, 3)], rng=another(rng)
    )
