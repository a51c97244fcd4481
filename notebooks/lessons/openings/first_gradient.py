"""A tangent, and an x that is shaken."""

import torch

from autograder.language import Text
from autograder.lessons.drawing import Axis, Drawing, Look

SHAKE = 0.5


def opening() -> Drawing:
    """Draw y = x² at 2, its tangent, and how far y moves when x does."""
    x = torch.tensor(2.0, requires_grad=True)
    y = x**2
    y.backward()
    slope = x.grad.item()
    across, up = Axis(0.2, 3.3, 20, 225), Axis(-1, 10, 200, 14)
    drawing = Drawing(
        Text(
            f"The curve y = x² with its tangent at x = 2. x moves by {SHAKE}, y moves by about {slope * SHAKE:g}: "
            f"the slope of the tangent is {slope:g}, and x.grad is {slope:g}.",
            f"Кривая y = x² и касательная к ней при x = 2. Если x сдвинуть на {SHAKE}, то y сдвинется примерно на "
            f"{slope * SHAKE:g}: наклон касательной равен {slope:g}, и в x.grad лежит {slope:g}.",
        )
    )
    drawing.line((20, up(-0.6)), (232, up(-0.6)), look=Look.SOFT, arrow=True)
    drawing.text(240, up(-0.6), "x", look=Look.SOFT, at="start")
    curve = [0.2 + 0.05 * step for step in range(58)]
    drawing.line(*((across(each), up(each**2)) for each in curve), look=Look.ACCENT)
    drawing.line(*((across(each), up(4 + slope * (each - 2))) for each in (1.15, 3.2)), look=Look.LEAD)
    for each in (2.0, 2 + SHAKE):
        drawing.line((across(each), up(-0.6)), (across(each), up(4 + slope * (each - 2))), look=Look.SOFT, dashed=True)
    drawing.line((across(2), up(4)), (across(2.5), up(4)), (across(2.5), up(6)), look=Look.LEAD)
    drawing.dot(across(2), up(4), look=Look.INK)
    drawing.text(across(2.25), up(3.4), f"+{SHAKE}", look=Look.LEAD)
    drawing.text(across(2.5) + 8, up(4.9), f"+{slope * SHAKE:g}", look=Look.LEAD, at="start", bold=True)
    drawing.text(across(2) - 8, up(-0.6) - 9, "2", at="end")
    drawing.text(40, up(2.2), "y = x²", look=Look.ACCENT, at="start")
    drawing.text(238, 44, Text("Shake x a little:", "Чуть сдвинем x:"), at="start")
    drawing.text(238, 62, Text(f"y moves {slope:g} times", "y сдвинется"), at="start")
    drawing.text(238, 80, Text("as much.", f"в {slope:g} раз больше."), at="start")
    drawing.text(238, 112, f"x.grad = {slope:g}", code=True, at="start", look=Look.LEAD, bold=True)
    return drawing
