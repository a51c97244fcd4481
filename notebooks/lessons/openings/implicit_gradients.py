"""A solver's way to its solution, and half of the gradient."""

from itertools import pairwise

import torch

from autograder.language import Text
from autograder.lessons.drawing import Axis, Drawing, Look

STEPS = 60


def opening() -> Drawing:
    """Draw the way of z -> w z + 3 to its fixed point, and the two parts of the gradient there."""
    w = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    way = [torch.zeros_like(w)]
    for _ in range(STEPS):
        way.append(w * way[-1] + 3)
    (whole,) = torch.autograd.grad(way[-1], w)
    solution = way[-1].detach()
    (part,) = torch.autograd.grad(w * solution + 3, w)
    assert [round(each.item(), 6) for each in (solution, part, whole)] == [6, 6, 12]
    drawing = Drawing(
        Text(
            f"Left: a solver climbs in a staircase to the point where the line w z + 3 meets the diagonal, at "
            f"{solution:g}. Right: the gradient is a column of {whole:g}. Only the last step was recorded, and it "
            f"fills the column up to {part:g}; the other half is missing.",
            f"Слева: решатель поднимается лесенкой к точке, где прямая w z + 3 пересекает диагональ, то есть к "
            f"{solution:g}. Справа: градиент — столбик высотой {whole:g}. Записан только последний шаг, и он заполняет "
            f"столбик до {part:g}, а другой половины нет.",
        )
    )
    across, up = Axis(-0.5, 7.5, 10, 172), Axis(-0.5, 7.5, 178, 16)
    drawing.line((across(-0.5), up(-0.5)), (across(7.5), up(7.5)), look=Look.LINE)
    drawing.line((across(-0.5), up(2.75)), (across(7.5), up(6.75)), look=Look.ACCENT)
    corners = [z.item() for z in way[:8] for _ in range(2)]
    drawing.line(*((across(a), up(b)) for a, b in pairwise(corners)), look=Look.INK)
    drawing.dot(across(6), up(6), look=Look.LEAD)
    drawing.text(across(6) + 5, up(6) + 18, f"z = {solution:g}", at="start", look=Look.LEAD, bold=True)
    drawing.text(91, 196, "z = w · z + 3", code=True, look=Look.ACCENT)
    height = Axis(0, 12, 178, 16)
    drawing.box(196, height(whole.item()), 40, 162, look=Look.SOFT)
    drawing.box(196, height(part.item()), 40, 178 - height(part.item()), look=Look.LEAD, filled=True)
    drawing.text(216, 196, Text("the gradient", "градиент"), look=Look.SOFT)
    drawing.text(248, 23, f"{whole:g}", at="start", bold=True)
    for value, shift, line, look in (
        (9, 0, Text("missing", "пропало"), Look.WRONG),
        (6, 0, f"{part:g}", Look.LEAD),
        (3, -8, Text("the one", "один шаг"), Look.LEAD),
        (3, 8, Text("recorded step", "с записью"), Look.LEAD),
    ):
        drawing.text(248, height(value) + shift, line, at="start", look=look, bold=value == 6)
    return drawing
