"""Exercise: a fixed point whose backward pass solves a linear system."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.garbage import older_objects_frozen
from autograder.checking.counted_run import condense, recording_products
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, signed, uniform
from autograder.checking.labels import BYTES_LEFT, OF_PARAMETERS, PEAK
from autograder.checking.observe import using_answer
from autograder.checking.values import RTOL, AtMost, limited_error, relative_error
from autograder.language import Text
from autograder.measure import CountedCalls, graph_nodes, live_bytes

_KEPT = 24  # copies of `z` that a frugal answer may have alive at once; unrolling has more than the number of steps


@exercise(
    title=Text("A fixed point with a gradient", "Неподвижная точка с градиентом"),
    kind="design",
    difficulty=3,
    rtol=5e-3,
    aspects=[
        aspect(
            "value",
            0.25,
            en="The fixed point is returned.",
            ru="Возвращается неподвижная точка.",
        ),
        aspect(
            "gradients",
            0.5,
            en="The gradients of all parameters that require grad are right, also in a second pass, and nothing of the "
            "caller's has changed.",
            ru="Градиенты всех параметров, которые требуют градиента, верны и при втором проходе, а переданные тензоры и их "
            "градиенты не изменились.",
            entries=(OF_PARAMETERS,),
        ),
        aspect(
            "digits",
            0.5,
            en="The fixed point and its gradients are right to six digits.",
            ru="И в точке, и в градиентах верны шесть знаков.",
            after=("value", "gradients"),
            measured=Text("Relative error", "Относительная погрешность"),
        ),
        aspect(
            "memory",
            2.25,
            en=f"Forward and backward together need no more memory than {_KEPT} tensors like `start` and 4 copies of the "
            "parameters.",
            ru=f"Прямой и обратный проходы вместе расходуют не больше памяти, чем занимают {_KEPT} тензора размера `start` и 4 "
            "копии параметров.",
            after=("value", "gradients", "digits"),
            measured=PEAK,
        ),
        aspect(
            "calls",
            0.75,
            en="`step` is called at most `iterations` + 3 times, the backward pass included.",
            ru="Функция `step` вызвана не больше `iterations` + 3 раз, считая и обратный проход.",
            after=("value", "gradients", "digits", "memory"),
            measured=Text("Calls of `step`", "Вызовов `step`"),
        ),
        aspect(
            "left",
            0.75,
            en="When the result is dropped, its memory can be freed.",
            ru="После удаления результата вся его память освобождается.",
            after=("value", "gradients", "digits", "memory"),
            measured=BYTES_LEFT,
        ),
    ],
    hints=[
        Text(
            "One recorded step at the fixed point hands `g` on to the parameters. Which vector must it hand on instead?",
            "Один записанный шаг в неподвижной точке передаёт параметрам вектор `g`. А какой вектор он должен передать?",
        ),
        Text(
            "The vector solves $u = g + J^T u$. Each turn of the loop is one `torch.autograd.grad(again, at, u, "
            "retain_graph=True)` through a graph of one step that begins at a leaf of its own.",
            "Этот вектор — решение уравнения $u = g + J^T u$. Каждая итерация цикла — один вызов "
            "`torch.autograd.grad(again, at, u, retain_graph=True)` по графу одного шага, который начинается с отдельного "
            "листа.",
        ),
        Text.same(
            "with torch.no_grad():\n    z = ...\nresult = step(z, *parameters)\nat = z.clone().requires_grad_()\n"
            "again = step(at, *...)\n\ndef solve(g):\n    u = g\n    ...\n    return u\n\nresult.register_hook(solve)"
        ),
    ],
    why=Why(
        Text(
            "Why need the backward pass not know how the fixed point was found?",
            "Почему обратному проходу не важно, как найдена неподвижная точка?",
        ),
        Text(
            "The equation $z = f(z, w)$ alone says how `z` moves with `w`. Its derivatives are taken at the solution, "
            "whichever way led there.",
            "Как `z` сдвигается вместе с `w`, следует из одного уравнения $z = f(z, w)$. Его производные берутся в точке решения, "
            "каким бы путём к нему ни пришли.",
        ),
    ),
)
def fixed_point(answer: Any, case: Case) -> dict[str, object]:
    counted = CountedCalls(case.step)
    before = [case.start.clone(), *(p.detach().clone() for p in case.parameters)]
    with recording_products() as forward:
        z = answer.fixed_point(counted.function, case.start, case.parameters, case.iterations)
    before_backward, nodes = counted.times, len(graph_nodes(z)) if isinstance(z, Tensor) else 0
    wanted = [p for p in case.parameters if p.requires_grad]
    others = [(p.detach() / 2).requires_grad_(p.requires_grad) for p in case.parameters]
    other = answer.fixed_point(case.step, case.start / 2, tuple(others), case.iterations)  # its graph lives beside z's
    weights, as_before = _weights(z), _weights(z)
    with recording_products() as backward:
        found: dict[str, object] = {"gradient": _gradients(z, wanted, weights, retain_graph=True)}
    used = counted.times
    # A replay of recorded operations is no call. On a vector a step and its derivative have a product each, the gradient
    # of the matrix has none: no more than 2.5 for each call that is allowed.
    by_products = 2 * len(forward + backward) // 5 if case.start.dim() == 1 else 0
    found["gradient of a second pass"] = _gradients(z, wanted, _weights(z))
    found["second result"] = other
    now = [case.start, *case.parameters]
    same = all(torch.equal(old, new) for old, new in zip(before, now, strict=True))
    found |= {"input unchanged": same, "requires_grad unchanged": not case.start.requires_grad}
    found[".grad unchanged"] = all(p.grad is None for p in wanted if p.is_leaf)
    found["incoming gradient unchanged"] = weights is None or as_before is None or torch.equal(weights, as_before)
    exact, exact_gradients = _by_recorded_steps(case, wanted)
    in_point, in_gradients = relative_error(exact, z), _largest_error(exact_gradients, found["gradient"])
    memory, left, grows = _memory(answer, case)
    return {
        "value": z,
        "gradients": found,
        "digits": limited_error(RTOL, max(in_point, in_gradients)),
        "memory": memory,
        "calls": AtMost(limit=case.iterations + 3, used=max(used, by_products)),
        "left": left,
        "digits of the point": in_point <= RTOL,
        "grows with the steps": grows,
        "steps are recorded": nodes > case.iterations,
        "many calls in backward": used > before_backward + 3,
    }


def _by_recorded_steps(case: Case, wanted: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """Return the fixed point and the gradients by recording all steps."""
    z = case.start
    for _ in range(case.iterations):
        z = case.step(z, *case.parameters)
    return z.detach(), list(torch.autograd.grad(z, wanted, _weights(z)))


def _largest_error(truth: list[Tensor], found: object) -> float:
    if not isinstance(found, list):
        return math.inf
    return max(relative_error(right, each) for right, each in zip(truth, found, strict=True))


def _weights(z: object) -> Tensor | None:
    """Return a gradient for `z`, or None if `z` has no graph."""
    if not isinstance(z, Tensor) or z.grad_fn is None:
        return None
    return torch.arange(1.0, z.numel() + 1, dtype=z.dtype).reshape(z.shape)


def _gradients(
    z: object, wanted: list[Tensor], weights: Tensor | None, *, retain_graph: bool = False
) -> list[Tensor] | None:
    """Return the gradients of a weighted sum of `z`, or None if it has no graph."""
    if not isinstance(z, Tensor) or weights is None:
        return None
    with using_answer():  # a `backward` or a hook of the answer may return something that torch refuses
        return list(torch.autograd.grad(z, wanted, weights, retain_graph=retain_graph, materialize_grads=True))


def _memory(answer: Any, case: Case) -> tuple[AtMost, AtMost, bool]:
    """Return the peak of a run of its own, what is left of it, and whether more steps need more memory.

    Cases that have no inputs for it count 0.
    """
    if not case.measured:
        return AtMost(limit=0, used=0), AtMost(limit=0, used=0), False
    _, start, parameters = case.measured[0]
    limit = _KEPT * start.nbytes + 4 * sum(p.nbytes for p in parameters)
    few = start.nbytes // 4  # single numbers; a hook that keeps the result leaves four times as much
    peak, left, found = _bytes(answer, case.measured[0], case.iterations)
    more, _, again = _bytes(answer, case.measured[1], 2 * case.iterations)
    grows = more - peak > start.nbytes * case.iterations // 4
    return AtMost(limit=limit, used=peak, of=[found, again]), AtMost(limit=few, used=left), grows


def _bytes(answer: Any, inputs: Any, iterations: int) -> tuple[int, int, Any]:
    """Return the peak in bytes, the bytes that are left when the result is dropped, and the gradients.

    `inputs` are a step, its start and its parameters.
    """
    step, start, parameters = inputs
    wanted = [p for p in parameters if p.requires_grad]
    with older_objects_frozen(), live_bytes() as live:
        z = answer.fixed_point(step, start, parameters, iterations)
        found = condense(_gradients(z, wanted, _weights(z)))
        del z
        gc.collect()  # a Function defined inside the answer is a cycle of Python's
        return live.peak, live.now, found


@fixed_point.weigh("memory", most=79 << 20)
def weigh(fixed_point: Callable[..., Tensor], rng: torch.Generator) -> object:
    """Make 60 steps of a linear function. Each recorded step keeps 2 MB."""
    w, b = _slow(rng, 6).requires_grad_(), signed(rng, 6, 1)
    few = []
    for columns in (2, 43_690):  # calls are as few, or as many, as in a small run
        step = CountedCalls(lambda z, w, b: w @ z + b)
        z = fixed_point(step.function, signed(rng, 6, columns), (w, b), 60)
        gradients = _gradients(z, [w], _weights(z))
        few.append(step.times <= 60 + 3)
    return [z, gradients, few[0] == few[1]]


@fixed_point.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    linear = Formula("z, w, b -> w @ z + b", lambda z, w, b: w @ z + b)
    yield _case(linear, torch.zeros(3, dtype=torch.float64), [_slow(rng, 3), signed(rng, 3)])
    step = Formula("z, w, x -> (z @ w + x).tanh()", lambda z, w, x: (z @ w + x).tanh())
    yield _case(step, signed(rng, 8, 6), [_shrunk(rng, 6), signed(rng, 8, 6) / 2], frozen=1)
    step = Formula("z, w, b -> w * z.cos() / 4 + b", lambda z, w, b: w * z.cos() / 4 + b)
    yield _case(step, signed(rng), [uniform(rng), signed(rng)])
    step = Formula("z, v, w -> (v * z.roll(1, 0)).sin() / 4 + w", lambda z, v, w: (v * z.roll(1, 0)).sin() / 4 + w)
    tied = signed(rng, 3).requires_grad_()
    start = signed(rng, 2, 1, 3)
    large = [(linear, signed(rng, 6, 8), (_slow(rng, 6).requires_grad_(), signed(rng, 6, 8))) for _ in range(2)]
    yield Case(step=step, start=start, parameters=(tied, tied), iterations=60, measured=large)


def _case(step: Callable[..., Tensor], start: Tensor, parameters: list[Tensor], frozen: int | None = None) -> Case:
    for index, parameter in enumerate(parameters):
        parameter.requires_grad_(index != frozen)
    return Case(step=step, start=start, parameters=tuple(parameters), iterations=60, measured=None)


def _shrunk(rng: torch.Generator, n: int) -> Tensor:
    """Return a random matrix, not symmetric, whose largest singular value is 0.7."""
    w = signed(rng, n, n)
    largest: float = torch.linalg.matrix_norm(w, 2).item()
    return w * (0.7 / largest)


def _slow(rng: torch.Generator, n: int) -> Tensor:
    """Return a random matrix, not symmetric, with eigenvalues from 0.62 to 0.68.

    With it, 20 recorded steps are far from enough.
    """
    q, _ = torch.linalg.qr(signed(rng, n, n))
    triangle = torch.triu(uniform(rng, n, n) / 8, 1) + torch.diag(torch.linspace(0.68, 0.62, n, dtype=q.dtype))
    turned: Tensor = q @ triangle @ q.T
    return turned
