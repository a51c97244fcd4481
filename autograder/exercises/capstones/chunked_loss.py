"""Exercise: a loss that never holds all logits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.containment.caught import or_error
from autograder.checking.counted_run import another, condense, randomize, recording_products
from autograder.checking.exercise import Case, Scoreboard, aspect, exercise
from autograder.checking.inputs import signed, with_old_gradients
from autograder.checking.labels import PEAK, Entries
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import live_bytes

from .common import copies, linear

_N, _ROWS, _CLASSES, _WIDTH = 128, 8, 256, 8  # of the run that is measured
_FEW = 2  # rows of a second run: `h.chunk(8)` makes chunks of 16 rows, and these may fit the limit for 8
_LOGITS = _ROWS * _CLASSES * 8  # bytes of the logits of one chunk
_GRADIENTS = (_CLASSES + _N) * _WIDTH * 8  # bytes of the gradients of the weights and of `h`
_BUDGET = 4 * _LOGITS + 3 * _GRADIENTS
_PRODUCT = _N * _CLASSES * _WIDTH  # multiplications in one product of all rows with the weights
_ALL = _N * _CLASSES * 8  # bytes of all logits
_PARTS = Entries(
    (
        Text("gradient of `h` or of its leaf", "градиент `h` или листа, от которого он зависит"),
        Text("gradient of the weights", "градиент весов"),
        Text("gradient of the bias", "градиент смещения"),
    ),
    Text("gradients", "градиентов"),
)


@exercise(
    title=Text("A loss without all the logits", "Функция потерь без полной таблицы логитов"),
    kind="design",
    difficulty=2,
    rtol=1e-9,
    aspects=[
        aspect(
            "loss",
            0.25,
            en="The loss is the mean cross-entropy over all rows.",
            ru="Возвращается кросс-энтропия, средняя по всем строкам.",
        ),
        aspect(
            "gradients",
            1,
            en="After `(c * loss).backward()` the gradients are those of the plain program, also with a second loss alive.",
            ru="После `(c * loss).backward()` градиенты такие же, как у исходной программы, в том числе если вычислены "
            "сразу две функции потерь.",
            entries=(_PARTS,),
        ),
        aspect(
            "peak",
            2.75,
            en=f"At the peak at most {_BUDGET} bytes are in memory ({_N} rows in chunks of {_ROWS}, {_CLASSES} classes, "
            f"{_WIDTH} features).",
            ru=f"На пике в памяти не больше {_BUDGET} байт (строк {_N}, в порции по {_ROWS}, классов {_CLASSES}, "
            f"признаков {_WIDTH}).",
            after=("loss", "gradients"),
            measured=PEAK,
            board=Scoreboard(plain=3 * _ALL, bound=_LOGITS + _GRADIENTS),
        ),
        aspect(
            "products",
            1,
            en="The logits are computed at most twice: all matrix products together have at most "
            f"{4 * _PRODUCT} multiplications.",
            ru=f"Логиты вычислены самое большее дважды: во всех матричных произведениях вместе не больше {4 * _PRODUCT} "
            "умножений.",
            after=("loss", "gradients", "peak"),
            measured=Text("Multiplications in matrix products", "Умножений в матричных произведениях"),
            board=Scoreboard(plain=3 * _PRODUCT, bound=3 * _PRODUCT),
        ),
    ],
    hints=[
        Text(
            "The loss of a chunk needs the logits of its rows only. What keeps these logits alive until backward?",
            "Для потерь на одной порции нужны логиты только её строк. Что удерживает эти логиты до обратного прохода?",
        ),
        Text(
            "Put a checkpoint around the loss of each chunk. Sum over the rows, and divide by their number once, at the end.",
            "Вычисляйте потери каждой порции с контрольной точкой. Суммируйте по строкам, а на их число разделите один "
            "раз, в конце.",
        ),
        Text.same(
            "def of_chunk(x, y):\n"
            '    return cross_entropy(head(x), y, reduction="sum")\n'
            "for x, y in zip(h.split(rows), targets.split(rows)):\n"
            "    ...  # checkpoint(of_chunk, x, y, use_reentrant=False)"
        ),
    ],
)
def chunked_loss(answer: Any, case: Case) -> dict[str, object]:
    leaves = [case.leaf, *case.head.parameters()]
    before = copies(p.grad for p in leaves)
    loss = answer.chunked_loss(case.head, case.h, case.targets, case.rows)
    early = any(p.grad is not None and (old is None or not p.grad.equal(old)) for p, old in zip(leaves, before))
    other = answer.chunked_loss(case.head, case.h, case.targets.roll(1), case.rows)  # both are alive at once
    with using_answer():
        value = loss.detach().clone()
    gradients = or_error(_gradients, (case.c * loss, other), leaves)
    seen = {"loss": value, "gradients": gradients, "gradients before backward": early}
    if not case.rng:
        return seen | {"peak": AtMost(_BUDGET, 0), "products": AtMost(4 * _PRODUCT, 0)}
    return seen | _measure(answer.chunked_loss, case.rng)


def _gradients(losses: Sequence[Tensor], leaves: list[Tensor]) -> list[Tensor | None]:
    for loss in losses:
        loss.backward()
    return [p.grad for p in leaves]


def _measure(chunked_loss: Callable[..., Tensor], rng: torch.Generator) -> dict[str, object]:
    """Run the answer on a wide head, twice for the bytes and once for the products."""
    peak, kept, before, found = _bytes(chunked_loss, *_wide(rng), _ROWS)
    of_few, _, _, found_of_few = _bytes(chunked_loss, *_wide(rng), _FEW)
    beyond = of_few - (_BUDGET - 4 * (_ROWS - _FEW) * _CLASSES * 8)
    head, h, targets = _wide(rng)
    with using_answer(), recording_products() as products:
        loss = chunked_loss(head, h, targets, _ROWS)
        loss.backward()
    sizes = [product.multiplications for product in products]
    return {
        "peak": AtMost(_BUDGET, _BUDGET + beyond if peak <= _BUDGET and beyond > 0 else peak, of=[found, found_of_few]),
        "products": AtMost(4 * _PRODUCT, sum(sizes), of=condense([loss, h.grad, head.weight.grad])),
        "logits kept": kept > _GRADIENTS + 2 * _LOGITS,
        "many logits before backward": before > _BUDGET,
        "tables of logits at the peak": round(peak / _ALL),
        "rows of the largest product": max(sizes, default=0) // (_CLASSES * _WIDTH),
        "products of all rows": round(sum(sizes) / _PRODUCT),
    }


def _wide(rng: torch.Generator) -> tuple[nn.Linear, Tensor, Tensor]:
    head = nn.Linear(_WIDTH, _CLASSES, bias=False, dtype=torch.float64)
    randomize(head, rng)
    return head, signed(rng, _N, _WIDTH).requires_grad_(), torch.randint(0, _CLASSES, (_N,), generator=rng)


def _bytes(
    chunked_loss: Callable[..., Tensor], head: nn.Linear, h: Tensor, targets: Tensor, rows: int
) -> tuple[int, int, int, object]:
    """Return the peak of both passes, the bytes kept between them, the peak of the first, and the results."""
    with using_answer(), live_bytes() as live:
        loss = chunked_loss(head, h, targets, rows)
        kept, before = live.now_and_peak
        loss.backward()
        peak = live.peak
    return peak, kept, before, condense([loss, h.grad, head.weight.grad])


@chunked_loss.weigh("peak", most=39 << 20)
def weigh(chunked_loss: Callable[..., Tensor], rng: torch.Generator) -> object:
    """Make a loss of 16,384 rows. All logits take 32 MB, those of one chunk 1 MB."""
    head = randomize(nn.Linear(_WIDTH, _CLASSES, bias=False, dtype=torch.float64), rng)
    h = signed(rng, 1 << 14, _WIDTH).requires_grad_()
    loss = chunked_loss(head, h, torch.randint(0, _CLASSES, (1 << 14,), generator=rng), 512)
    loss.backward()
    return [loss, h.grad, head.weight.grad]


@chunked_loss.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n, width, classes, rows in [(5, 3, 4, 2), (4, 2, 3, 6), (7, 2, 5, 3)]:
        head = linear(rng, width, classes, bias=rows != 2)
        leaf = h = signed(rng, n, width).requires_grad_(rows != 3)
        if rows == 6:
            head.weight.requires_grad_(False)
            h = -leaf  # saves nothing, so that whoever calls `reproduce` can run backward twice
        if rows == 3:
            with_old_gradients(head)
        targets = torch.randint(0, classes, (n,), generator=rng)
        c = 0.5 + torch.rand((), generator=rng, dtype=torch.float64).item()
        measured = another(rng) if rows == 2 else None
        yield Case(head=head, h=h, targets=targets, rows=rows, c=c, leaf=leaf, rng=measured)
