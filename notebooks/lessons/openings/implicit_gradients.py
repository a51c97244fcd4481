"""A solver's way to its solution beside the series of its gradient."""

from itertools import pairwise

import torch

from autograder.language import Text
from autograder.lessons.drawing import Axis, Drawing, Look

SHOWN = 5


def opening() -> Drawing:
    """Draw the way of z -> w z + 3, and what each recorded step adds to the gradient."""
    w = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    way = [0.0, 0.0]
    for _ in range(7):
        way += [w.item() * way[-1] + 3] * 2
    solution = torch.tensor(6.0, dtype=torch.float64)
    gradients = []
    for recorded in range(SHOWN + 1):
        z = solution
        for _ in range(recorded):
            z = w * z + 3
        gradients.append(torch.autograd.grad(z, w)[0].item() if recorded else 0.0)
    parts = [after - before for before, after in pairwise(gradients)]
    assert parts[:3] == [6, 3, 1.5]
    drawing = Drawing(
        Text(
            "Left: a solver climbs in a staircase to the point where the line w z + 3 meets the diagonal, at 6. Right: "
            "bars of 6, 3, 1.5 and so on add up to 12, the gradient. The one recorded step gives the first bar only.",
            "Слева: решатель поднимается лесенкой к точке, где прямая w z + 3 пересекает диагональ, то есть к 6. "
            "Справа: столбики 6, 3, 1.5 и так далее в сумме дают 12, это и есть градиент. Один записанный шаг даёт "
            "только первый столбик.",
        )
    )
    across, up = Axis(-0.5, 7.5, 14, 160), Axis(-0.5, 7.5, 176, 22)
    drawing.line((across(-0.5), up(-0.5)), (across(7.5), up(7.5)), look=Look.LINE)
    drawing.line((across(-0.5), up(2.75)), (across(7.5), up(6.75)), look=Look.ACCENT)
    drawing.line(*((across(a), up(b)) for a, b in pairwise(way)), look=Look.INK)
    drawing.dot(across(6), up(6), look=Look.ACCENT)
    drawing.text(across(6), up(6) + 18, "6", look=Look.ACCENT, bold=True)
    drawing.text(87, 196, "z = w · z + 3", code=True, look=Look.ACCENT)
    height = Axis(0, 6, 0, 104)
    for number, part in enumerate(parts):
        left, look = 188 + 26 * number, Look.LEAD if number == 0 else Look.SOFT
        drawing.box(left, 176 - height(part), 20, height(part), look=look, filled=True)
        drawing.text(left + 10, 166 - height(part), f"{part:g}" if number < 3 else "…", size=11, look=look)
    drawing.text(342, 20, "6 + 3 + 1.5 + … = 12", at="end", bold=True)
    drawing.text(342, 38, Text("one recorded step: 6", "один записанный шаг: 6"), at="end", look=Look.LEAD)
    drawing.text(252, 196, Text("the gradient", "градиент"), look=Look.SOFT)
    return drawing
