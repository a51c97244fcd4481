"""Exercise: a training step within budgets of bytes and calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.counted_run import another, condense
from autograder.checking.exercise import Case, Scoreboard, aspect, exercise
from autograder.checking.labels import PEAK, Entries
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, number
from autograder.language import Text
from autograder.measure import batch_sizes, live_bytes

from .small_model import Model

_ROWS, _N, _WIDTH, _CLASSES, _DEPTH, _FROZEN = 4, 32, 16, 128, 34, 4  # of the run that is measured
_UNIT = _N * _WIDTH * 8  # bytes of an activation; a weight of a block has half of them, that of the head four times
_BUDGET = 24 * _UNIT
_TRAINED = _DEPTH - _FROZEN
_CALLS = 2 * _TRAINED + _FROZEN


@exercise(
    title=Text("A whole step within two budgets", "Целый шаг при двух ограничениях"),
    kind="design",
    difficulty=3,
    rtol=1e-9,
    aspects=[
        aspect(
            "weights",
            1,
            en="After each of two steps all parameters are those of the plain program.",
            ru="После каждого из двух шагов все параметры такие же, как у исходной программы.",
            entries=(Entries(Text("parameters after step {n}", "параметры после шага {n}"), Text("steps", "шагов")),),
        ),
        aspect(
            "loss",
            0.25,
            en="The loss before the step is returned, a Python number.",
            ru="Возвращается значение функции потерь до шага, число Python.",
            after=(),
        ),
        aspect(
            "cleared",
            0.25,
            en="Every `.grad` is None after the step, and every flag and the mode of the model are as before.",
            ru="После шага все поля `.grad` равны None, а все флаги и режим модели прежние.",
        ),
        aspect(
            "twice",
            0,
            en="No block is called more than twice in a step.",
            ru="За шаг ни один блок не вызван больше двух раз.",
            measured=Text("Calls of one block", "Вызовов одного блока"),
        ),
        aspect(
            "peak",
            3.5,
            en=f"At the peak at most {_BUDGET} bytes are in memory, 24 times the input of a block.",
            ru=f"На пике в памяти не больше {_BUDGET} байт — 24 объёма входа одного блока.",
            after=("weights", "twice"),
            measured=PEAK,
            board=Scoreboard(plain=55 * _UNIT, bound=10 * _UNIT),
        ),
        aspect(
            "calls",
            1,
            en=f"Frozen blocks are called once: in a step there are at most {_CALLS} calls of blocks "
            f"({_TRAINED} trained, {_FROZEN} frozen).",
            ru=f"Замороженные блоки вызваны по одному разу: вызовов блоков за шаг не больше {_CALLS} "
            f"(обучаемых блоков {_TRAINED}, замороженных {_FROZEN}).",
            after=("weights", "twice", "peak"),
            measured=Text("Calls of blocks", "Вызовов блоков"),
            board=Scoreboard(plain=_DEPTH, bound=46),
        ),
    ],
    hints=[
        Text(
            "Three things fill the memory: inputs of blocks, logits, gradients of weights. Each has a cure in an earlier "
            "lesson: 06, the section above, 08.",
            "Память занимают три вещи: входы блоков, логиты, градиенты весов. Для каждой есть средство: в уроке 06, в "
            "разделе выше, в уроке 08.",
        ),
        Text(
            "Frozen blocks run without checkpoints. The trained ones go in segments of 5 or 6. A hook on each parameter "
            "steps and sets `.grad` to None. The loss is a sum over chunks of the head, with one `backward()` at the end.",
            "Замороженные блоки выполняются без контрольных точек. Обучаемые — сегментами по 5–6. Хук на каждом параметре "
            "делает шаг и записывает в `.grad` None. Функция потерь — сумма по порциям, а `backward()` один, в конце.",
        ),
        Text.same(
            "def step(p):\n"
            "    with torch.no_grad():\n"
            "        p.add_(p.grad, alpha=-lr)\n"
            "    p.grad = None\n"
            "handles = [p.register_post_accumulate_grad_hook(step) for p in ...]\n"
            "...  # segments, chunks, loss.backward()\n"
            "for handle in handles:\n"
            "    handle.remove()"
        ),
    ],
)
def lean_step(answer: Any, case: Case) -> dict[str, object]:
    parameters = list(case.model.parameters())
    settings = _settings(case.model)
    path, losses, cleared, left = [], [], True, "nothing"
    for targets in (case.targets, case.targets.roll(1)):
        torch.manual_seed(0)  # blocks may draw random numbers
        loss = answer.lean_step(case.model, case.lr, case.ids, targets, case.rows)
        path.append({name: p.detach().clone() for name, p in case.model.named_parameters()})
        losses.append(loss if isinstance(loss, Tensor) else number(loss))
        cleared &= all(p.grad is None for p in parameters) and _settings(case.model) == settings
        left = _left_in(parameters)
    seen: dict[str, object] = {"weights": path, "loss": losses, "cleared": cleared, "left in `.grad`": left}
    if not case.rng:
        return seen | {"twice": AtMost(2, 0), "calls": AtMost(_CALLS, 0), "peak": AtMost(_BUDGET, 0)}
    return seen | _measure(answer.lean_step, case.rng)


def _settings(model: Model) -> list[bool]:
    """Return the flags of all parameters, and the modes of all modules."""
    return [*(p.requires_grad for p in model.parameters()), *(module.training for module in model.modules())]


def _left_in(parameters: list[nn.Parameter]) -> str:
    """Return what the parameters' `.grad` hold: numbers, zeros or nothing."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    return "numbers" if any(g.count_nonzero() for g in gradients) else "zeros" if gradients else "nothing"


def _measure(lean_step: Callable[..., Any], rng: torch.Generator) -> dict[str, object]:
    """Run the answer on a deep model; return its figures, and what tells their causes apart."""
    model = Model(rng, _WIDTH, _DEPTH, _CLASSES, words=50, frozen=_FROZEN)
    ids, targets = torch.arange(_N), torch.randint(0, _CLASSES, (_N,), generator=rng)
    at_calls: list[float] = []  # an entry of the head's weight at each call of a block: its sum never moves
    for block in model.blocks:
        block.register_forward_pre_hook(lambda *_: at_calls.append(model.head.weight[0, 0].item()))
    with using_answer(), batch_sizes(model.head) as sizes, _calls_of(model.blocks) as calls, live_bytes() as live:
        lean_step(model, 0.1, ids, targets, _ROWS)
    weights = condense(list(model.parameters()))
    times = [calls.count(index) for index in range(_DEPTH)]
    return {
        "twice": AtMost(2, max(times), of=weights),
        "calls": AtMost(_CALLS, len(calls), of=weights),
        "peak": AtMost(_BUDGET, live.peak, of=weights),
        "many logits": max(sizes, default=0) > _ROWS,
        "logits once": len(sizes) == _N // _ROWS,
        "longest recomputation": _length(_longest(calls[_DEPTH:])),
        "trained blocks once": max(times[_FROZEN:]) < 2,
        "frozen blocks once": max(times[:_FROZEN]) < 2,
        "head steps before a block is recomputed": len(set(at_calls)) > 1,
    }


@contextmanager
def _calls_of(blocks: nn.ModuleList) -> Iterator[list[int]]:
    """Record the index of each block that is called in the `with` block; yield the list."""
    calls: list[int] = []
    handles = [
        block.register_forward_pre_hook(lambda *_, index=index: calls.append(index))
        for index, block in enumerate(blocks)
    ]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def _length(run: int) -> str:
    longest = {"one block": 1, "few blocks": 3, "some blocks": _TRAINED // 2}
    return next((name for name, most in longest.items() if run <= most), "most blocks")


def _longest(calls: list[int]) -> int:
    """Return the length of the longest run of blocks that follow each other."""
    longest = run = 0
    for before, index in zip([-2, *calls], calls):
        run = run + 1 if index == before + 1 else 1
        longest = max(longest, run)
    return longest


def _words(rng: torch.Generator, n: int) -> Tensor:
    """Return `n` different words: where all rows are equal, a block returns zeros."""
    return (torch.arange(n) + torch.randint(0, 6, (1,), generator=rng)) % 6


@lean_step.weigh("peak", most=53 << 20)
def weigh(lean_step: Callable[..., Any], rng: torch.Generator) -> object:
    """Train a model that is 12 times as wide as the one that is measured, on 12 times as many rows."""
    n = 12 * _N
    model = Model(rng, 12 * _WIDTH, _DEPTH, 12 * _CLASSES, words=n, frozen=_FROZEN)
    lean_step(model, 0.1, torch.arange(n), torch.randint(0, 12 * _CLASSES, (n,), generator=rng), 12 * _ROWS)
    return [*model.parameters()]


@lean_step.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n, depth, frozen, rows, kind in [(5, 3, 1, 2, "measured"), (4, 5, 0, 7, "drops"), (6, 7, 1, 3, "tied")]:
        model = Model(rng, 3, depth, 4, words=6, frozen=frozen, drops=kind == "drops")
        if kind == "tied":
            with torch.no_grad():
                for weight in model.blocks.parameters():
                    weight.mul_(2)  # or the lowest gradients vanish in rounding
            model.blocks.insert(frozen, model.blocks[-1])  # so far apart that no segment of six holds both places
            model.head.bias.requires_grad_(False)
            model.eval()
        targets = torch.randint(0, 4, (n,), generator=rng)
        ids, measured = _words(rng, n), another(rng) if kind == "measured" else None
        yield Case(model=model, lr=0.5, ids=ids, targets=targets, rows=rows, rng=measured)
