"""A matrix by rows beside one product with it."""

import torch

from autograder.language import Text
from autograder.lessons.drawing import Drawing, Look

ROWS, COLUMNS, CELL = 4, 5, 20


def opening() -> Drawing:
    """Draw the matrix of Jacobi from one pass a row, and a product with it from a single pass."""
    x = torch.arange(1.0, COLUMNS + 1, requires_grad=True)
    y = torch.stack([x.sum(), (x**2).sum(), x.prod(), x[0]])
    passes: list[object] = []
    y.grad_fn.register_hook(lambda *gradients: passes.append(gradients))
    for row in torch.eye(ROWS):
        torch.autograd.grad(y, x, row, retain_graph=True)
    by_rows = len(passes)
    torch.autograd.grad(y, x, torch.ones(ROWS))
    at_once = len(passes) - by_rows
    assert (by_rows, at_once) == (ROWS, 1)
    drawing = Drawing(
        Text(
            f"Left: the matrix J of {ROWS} rows, one backward pass for each row, {by_rows} passes. Right: a vector v "
            "with one number for each output times J gives one row, and that takes a single pass.",
            f"Слева матрица J из {ROWS} строк: на каждую строку по обратному проходу, всего {by_rows}. Справа вектор v, "
            "в котором по числу на каждый выход, умножается на J: получается одна строка, и прохода хватает одного.",
        )
    )
    for row in range(ROWS):
        top = 48 + row * (CELL + 6)
        drawing.line((14, top + CELL / 2), (38, top + CELL / 2), look=Look.LEAD, arrow=True)
        _row(drawing, 42, top, COLUMNS, Look.ACCENT)
    drawing.text(92, 26, Text("J, row by row", "J по строкам"))
    drawing.text(92, 174, Text(f"{by_rows} passes", f"проходов: {by_rows}"), look=Look.LEAD, bold=True)
    for number in range(ROWS):
        _row(drawing, 184, 48 + number * (CELL + 6), 1, Look.LEAD)
    drawing.text(176, 97, "v", look=Look.LEAD)
    drawing.text(218, 97, "·", bold=True, size=16)
    drawing.box(232, 48, COLUMNS * CELL, ROWS * (CELL + 6) - 6, look=Look.SOFT)
    drawing.text(282, 97, "J", look=Look.SOFT, size=16)
    drawing.text(262, 26, Text("a product with J", "произведение с J"))
    drawing.line((282, 150), (282, 160), look=Look.LEAD, arrow=True)
    _row(drawing, 232, 164, COLUMNS, Look.LEAD)
    drawing.text(222, 174, "vᵀJ =", at="end")
    drawing.text(282, 198, Text(f"{at_once} pass", f"проход: {at_once}"), look=Look.LEAD, bold=True)
    return drawing


def _row(drawing: Drawing, x: float, y: float, count: int, look: Look) -> None:
    """Draw a row of numbers as squares."""
    for number in range(count):
        drawing.box(x + number * CELL, y, CELL, CELL, look=look, filled=True)
