"""A staircase, and the slope that somebody chose for it."""

import torch

from autograder.language import Text
from autograder.lessons.drawing import Axis, Drawing, Look


def opening() -> Drawing:
    """Draw rounded numbers and the straight line whose slope passes for theirs."""
    places = torch.linspace(-0.4, 3.4, 381, dtype=torch.float64)
    across, up = Axis(-0.6, 3.6, 20, 216), Axis(-0.6, 3.6, 192, 14)
    drawing = Drawing(
        Text(
            "Rounding is a staircase: flat everywhere, with jumps, so its true slope tells nobody which way to go. "
            "Through its steps runs a straight line of slope 1, which somebody has chosen: backward is told to use it.",
            "Округление — это лестница: всюду ровно, а между ступенями скачки, поэтому по её настоящему наклону не "
            "узнать, куда идти. Через ступени проведена прямая с наклоном 1. Её кто-то выбрал, и backward берёт её.",
        )
    )
    drawing.line((14, up(-0.5)), (222, up(-0.5)), look=Look.SOFT, arrow=True)
    rounded = places.round()
    for level in rounded.unique().tolist():
        step = places[rounded == level]
        drawing.line((across(step[0].item()), up(level)), (across(step[-1].item()), up(level)), look=Look.ACCENT)
        if level:
            edge = across(level - 0.5)
            drawing.line((edge, up(level - 1)), (edge, up(level)), look=Look.ACCENT, dashed=True)
    drawing.line((across(-0.4), up(-0.4)), (across(3.4), up(3.4)), look=Look.LEAD)
    drawing.text(238, 42, "x.round()", code=True, look=Look.ACCENT, at="start")
    drawing.text(238, 60, Text("What is its slope?", "А каков наклон?"), at="start", look=Look.ACCENT, size=11)
    drawing.text(238, 104, Text("slope 1:", "наклон 1:"), look=Look.LEAD, at="start", bold=True)
    drawing.text(238, 122, Text("somebody", "его кто-то"), look=Look.LEAD, at="start")
    drawing.text(238, 138, Text("chose it", "выбрал"), look=Look.LEAD, at="start")
    return drawing
