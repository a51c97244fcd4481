"""Parts that each work, and the seams where they meet."""

import warnings

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.language import Text
from autograder.lessons.drawing import Drawing, Look

PARTS = (
    Text("frozen base", "замороженная основа"),
    Text("checkpoints", "контрольные точки"),
    Text("hidden state", "скрытое состояние"),
    Text("micro-batches", "микробатчи"),
)


def opening() -> Drawing:
    """Draw the parts of a training step one upon the other, with a mark at each seam."""
    frozen, head = nn.Linear(2, 2).requires_grad_(False), nn.Linear(2, 1)
    head(frozen(torch.ones(1, 2))).sum().backward()
    alone = head.weight.grad is not None
    adapter = nn.Linear(2, 2)
    with warnings.catch_warnings(action="ignore"):  # torch warns here, but only once
        y = checkpoint(nn.Sequential(frozen, adapter), torch.ones(1, 2), use_reentrant=True)
    assert alone and not y.requires_grad  # each part works, and together the adapter learns nothing
    drawing = Drawing(
        Text(
            "Four parts of a training step stand one upon the other: a frozen base, checkpoints, a hidden state and "
            "micro-batches. Each has a tick, for alone it works. At each seam between two of them there is a red mark: "
            "together they fail.",
            "Четыре части шага обучения стоят друг на друге: замороженная основа, контрольные точки, скрытое состояние и "
            "микробатчи. У каждой стоит галочка: по отдельности она работает. На каждом стыке двух частей — красная "
            "метка: вместе они не работают.",
        )
    )
    for number, says in enumerate(PARTS):
        top = 14 + 48 * number
        drawing.box(14, top, 196, 38, look=Look.ACCENT, filled=True)
        drawing.text(28, top + 19, says, at="start")
        drawing.text(196, top + 19, "✓", look=Look.RIGHT, bold=True, size=15)
        if number:
            drawing.dot(112, top - 5, look=Look.WRONG, radius=9)
            drawing.text(112, top - 5, "!", look=Look.PAPER, bold=True)
    for y, says, look in (
        (64, Text("Each part", "Каждая часть"), Look.RIGHT),
        (80, Text("works.", "работает."), Look.RIGHT),
        (128, Text("At the seams", "Ошибки —"), Look.WRONG),
        (144, Text("they fail.", "на стыках."), Look.WRONG),
    ):
        drawing.text(226, y, says, at="start", look=look, bold=True)
    return drawing
