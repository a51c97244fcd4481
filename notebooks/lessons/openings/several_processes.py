"""Two ranks, a window of micro-batches, and a single exchange."""

import torch

from autograder.language import Text
from autograder.lessons.drawing import Drawing, Look

WINDOW = 4


def opening() -> Drawing:
    """Draw what stands in `.grad` on two ranks after each micro-batch, and the exchange behind the last."""
    weights = [torch.tensor(1.0, requires_grad=True) for _ in range(2)]
    held = []
    for number in range(WINDOW):
        for weight, gradient in zip(weights, ((1, 2, 1, 2)[number], (3, 1, 4, 2)[number])):
            (weight * gradient).backward()
        held.append([weight.grad.item() for weight in weights])
    mean = sum(held[-1]) / 2
    assert held[-1] == [6, 10] and mean == 8
    drawing = Drawing(
        Text(
            f"Two rows, rank 0 and rank 1. Through a window of {WINDOW} micro-batches each adds to its own .grad. Only "
            f"after the last do both exchange, and both have the mean of {held[-1][0]:g} and {held[-1][1]:g}: {mean:g}. "
            "The exchanges after the others are crossed out.",
            f"Два ряда: ранг 0 и ранг 1. В окне из {WINDOW} микробатчей каждый прибавляет к своему .grad. Лишь после "
            f"последнего они обмениваются, и у обоих оказывается среднее {held[-1][0]:g} и {held[-1][1]:g}: {mean:g}. "
            "Обмены после остальных зачёркнуты.",
        )
    )
    for rank, y in enumerate((58, 136)):
        drawing.text(8, y + 18, Text(f"rank {rank}", f"ранг {rank}"), at="start", bold=True)
        for number in range(WINDOW):
            left = 62 + 56 * number
            drawing.box(left, y, 38, 36, look=Look.ACCENT, filled=True)
            drawing.text(left + 19, y + 18, f"{held[number][rank]:g}")
        drawing.box(300, y, 40, 36, look=Look.LEAD, filled=True)
        drawing.text(320, y + 18, f"{mean:g}", bold=True, look=Look.LEAD)
    for number in range(WINDOW):
        across = 109 + 56 * number
        last = number == WINDOW - 1
        drawing.line((across, 52), (across, 178), look=Look.LEAD if last else Look.LINE, dashed=not last)
        if not last:
            drawing.line((across - 5, 110), (across + 5, 120), look=Look.SOFT)
            drawing.line((across + 5, 110), (across - 5, 120), look=Look.SOFT)
    drawing.text(62, 196, ".grad", code=True, at="start", look=Look.SOFT)
    drawing.text(277, 38, "all-reduce", code=True, look=Look.LEAD, bold=True)
    drawing.text(165, 22, Text("a window of micro-batches", "окно из микробатчей"), look=Look.SOFT)
    return drawing
