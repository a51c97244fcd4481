"""Exercise: a checkpoint around a random generator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import Caught
from autograder.checking.counted_run import another
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, leaf
from autograder.checking.labels import BYTES_KEPT
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import live_bytes

from .common import MARGIN, four_results


@exercise(
    title=Text("A noise of its own", "Собственный шум"),
    kind="find the bug",
    difficulty=2,
    aspects=[
        aspect(
            "gradients",
            1,
            en="Result and gradient are those of `f` without a checkpoint, also with another call in between.",
            ru="Результат и градиент такие же, как у `f` без контрольной точки, даже если между проходами есть ещё один вызов.",
        ),
        aspect(
            "kept",
            0.5,
            en="After the forward pass only the result is in memory (bytes beside it).",
            ru="После прямого прохода в памяти лежит только результат (байты сверх него).",
            measured=BYTES_KEPT,
        ),
        aspect(
            "again",
            1.5,
            en="A second backward pass after `retain_graph=True` gives the same gradient.",
            ru="Второй обратный проход после `retain_graph=True` даёт тот же градиент.",
            after=("gradients", "kept"),
        ),
        aspect(
            "state",
            2,
            en="After each backward pass both random states go on as if nothing had been computed twice.",
            ru="После каждого обратного прохода оба генератора выдают те же числа, что и без повторного вычисления.",
            after=("gradients", "kept"),
        ),
    ],
    hints=[
        Text(
            "Which random states does `checkpoint` put back before it runs `f` again, and which not?",
            "Состояние каких генераторов `checkpoint` восстанавливает перед повторным вызовом `f`, а каких нет?",
        ),
        Text(
            "Wrap `f`: from its second call on, put the generator back to the state of the first call, and afterwards "
            "to where it was. The recomputation may leave `f` early, by an exception.",
            "Оберните `f`: начиная со второго вызова задавайте генератору состояние, которое было перед первым, а потом "
            "возвращайте прежнее. Повторное вычисление может прервать `f` исключением, не дойдя до конца.",
        ),
        Text.same(
            "def fix_noise(f, x, generator):\n"
            "    before, ran = ..., False\n\n"
            "    def run(x):\n"
            "        nonlocal ran\n"
            "        drawn_from = torch.Generator().set_state(...) if ran else ...\n"
            "        ran = True\n"
            "        return f(x, drawn_from)\n\n"
            "    return checkpoint(run, x, use_reentrant=False)"
        ),
    ],
    why=Why(
        Text(
            "Why does a checkpoint around a generator of your own raise no error?",
            "Почему собственный генератор внутри контрольной точки не вызывает ошибки?",
        ),
        Text(
            "The recomputed tensors are compared with the first ones by shape, dtype and device, not by their numbers. "
            "Other random numbers have all three in common.",
            "Повторно вычисленные тензоры сверяются с первыми по форме, dtype и устройству, но не по числам. Если "
            "случайные числа другие, всё это остаётся прежним.",
        ),
    ),
)
def fix_noise(answer: Any, case: Case) -> dict[str, object]:
    start = case.generator.get_state()
    with using_answer():
        found, kept = _observe(lambda: answer.fix_noise(case.f, case.x, case.generator), case, start)
    return {"kept": AtMost(MARGIN, kept), **found}


def _observe(run: Callable[[], object], case: Case, start: Tensor) -> tuple[dict[str, object], int]:
    """Run forward, draw numbers from the generator, run backward twice, and draw numbers after each pass.

    Then call `run` twice before the first backward pass. Return what was observed, and the bytes that were kept after
    the first forward pass beside its result.
    """
    _seed(case.generator, start, 0)
    with live_bytes() as live:
        y = run()
        kept = live.now - (y.untyped_storage().nbytes() if isinstance(y, Tensor) else 0)
    torch.rand(1)
    torch.rand(2, generator=case.generator)
    gradients = {"result": y, "x.grad": _gradient(y, case.x, True)}
    drawn = [_draw(case.generator)]
    again = _gradient(y, case.x, False)
    drawn.append(_draw(case.generator))
    _seed(case.generator, start, 1)  # what went wrong before shows in `state` alone
    first = run()
    _seed(case.generator, start, 2)
    second = run()
    gradients["first of two calls"] = {"result": first, "x.grad": _gradient(first, case.x, False)}
    gradients["second of two calls"] = {"result": second, "x.grad": _gradient(second, case.x, False)}
    return {"gradients": gradients, "again": again, "state": torch.stack(drawn)}, kept


def _seed(generator: torch.Generator, start: Tensor, number: int) -> None:
    """Put both random states to a place that depends on `number`."""
    generator.set_state(start)
    torch.rand(number, generator=generator)
    torch.manual_seed(number)


def _draw(generator: torch.Generator) -> Tensor:
    """Draw from `generator` and from torch's own random state."""
    sources = (generator, torch.default_generator)
    return torch.stack([torch.rand(2, generator=source, dtype=torch.float64) for source in sources])


def _gradient(y: object, x: Tensor, retain_graph: bool) -> object:
    if not isinstance(y, Tensor) or not y.requires_grad:
        return None
    try:
        return torch.autograd.grad(y.sum(), x, retain_graph=retain_graph)[0]
    except (RuntimeError, AttributeError) as error:
        return Caught.of(error, type(error).__name__)


def _noisy(x: Tensor, generator: torch.Generator) -> Tensor:
    return (x * torch.rand(x.shape, generator=generator, dtype=x.dtype)).sin()


def _two_sources(x: Tensor, generator: torch.Generator) -> Tensor:
    h = (x * torch.rand(x.shape, generator=generator, dtype=x.dtype)).sin()
    h = h * torch.rand(x.shape, dtype=x.dtype)
    return (h + torch.rand(x.shape, generator=generator, dtype=x.dtype)).square().exp()


def _drawn_last(x: Tensor, generator: torch.Generator) -> Tensor:
    h = (x.sin() * torch.rand(x.shape[-1], generator=generator, dtype=x.dtype)).cos()
    return h + torch.rand((), generator=generator, dtype=x.dtype)


@fix_noise.weigh("kept", most=58 << 20)
def weigh(fix_noise: Callable[..., Tensor], rng: torch.Generator) -> object:
    """Keep the graphs of four calls, whose results take 2 MB each.

    What autograd saves of each takes five times as much.
    """
    generator = another(rng)
    return four_results(lambda x: fix_noise(_two_sources, x, generator), rng)


@fix_noise.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    shapes = ((_noisy, "sin(x * noise)", (24,)), (_two_sources, "noise of both generators", (4, 6)))
    for f, text, shape in (*shapes, (_drawn_last, "cos(sin(x) * noise) + noise", (2, 2, 6))):
        generator = torch.Generator().manual_seed(int(torch.randint(1, 10**6, (), generator=rng)))
        torch.rand(3, generator=generator)  # it has been used before
        yield Case(f=Formula(text, f), x=leaf(rng, *shape), generator=generator)
