"""A Function as a box with two sides."""

import torch
from torch.autograd import Function

from autograder.language import Text
from autograder.lessons.drawing import Drawing, Look


class Cosine(Function):
    """A cosine that keeps its input, and trusts its own formula."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.cos()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * -x.sin()


def opening() -> Drawing:
    """Draw forward, backward and the drawer between them."""
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Cosine.apply, x)
    drawing = Drawing(
        Text(
            "A box with two sides. Above, forward: x comes in, cos(x) goes out, and x is put into a drawer, ctx. Below, "
            "backward: a gradient comes in from the right, is multiplied by minus sin(x) with the x from the drawer, "
            "and goes out to the left. Whether the lower formula fits the upper one, torch does not check.",
            "Ящик с двумя сторонами. Вверху forward: входит x, выходит cos(x), а сам x откладывается в ctx. Внизу "
            "backward: справа приходит градиент, он умножается на минус sin(x) с отложенным x и уходит влево. "
            "Подходит ли нижняя формула к верхней, torch не проверяет.",
        )
    )
    drawing.box(54, 16, 168, 58, look=Look.ACCENT, filled=True)
    drawing.text(138, 34, "forward", code=True, bold=True, look=Look.ACCENT)
    drawing.text(138, 56, "cos(x)")
    drawing.box(78, 90, 120, 28, look=Look.SOFT)
    drawing.text(138, 104, Text("ctx keeps x", "ctx хранит x"))
    drawing.box(54, 134, 168, 58, look=Look.LEAD, filled=True)
    drawing.text(138, 152, "backward", code=True, bold=True, look=Look.LEAD)
    drawing.text(138, 174, Text("gradient · (−sin(x))", "градиент · (−sin(x))"))
    for start, end, y, look in ((10, 50, 45, Look.ACCENT), (226, 266, 45, Look.ACCENT)):
        drawing.line((start, y), (end, y), look=look, arrow=True)
    for start, end in ((266, 226), (50, 10)):
        drawing.line((start, 163), (end, 163), look=Look.LEAD, arrow=True)
    drawing.text(28, 32, "x")
    drawing.text(246, 32, "y")
    drawing.text(28, 150, "x.grad", code=True, size=11)
    drawing.text(228, 150, "grad_output", code=True, size=11, at="start")
    drawing.line((138, 75), (138, 88), look=Look.SOFT, arrow=True)
    drawing.line((138, 119), (138, 132), look=Look.SOFT, arrow=True)
    for y, line in (
        (88, Text("Do the two", "Подходят ли")),
        (104, Text("formulas fit?", "формулы?")),
        (120, Text("Nobody checks.", "Никто не проверит.")),
    ):
        drawing.text(344, y, line, look=Look.WRONG, at="end")
    return drawing
