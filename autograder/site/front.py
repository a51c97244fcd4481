"""The top of the site's first page: a film and a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from ..language import Text
from ..lessons.drawing import Axis, Drawing, Look
from ..look.image import image
from ..pictures.render.film import Frame, film
from .pages import Front, Page

_RATE, _STEPS, _TARGET = 0.3, 6, 3.0


def front_of(pages: Sequence[Page], language: str) -> Front:
    """Return the front in one language: a training run, and the first prediction of the lessons."""
    frames = [
        Frame(
            says.read(language), image(drawing.svg(language), drawing.says.read(language), "width:525px;max-width:100%")
        )
        for says, drawing in _descent()
    ]
    moving = film(frames, "", language)
    for page in pages:
        for number, block in enumerate(page.blocks):
            if block.kind == "prediction":
                code = [each.html for each in page.blocks[:number] if each.kind == "code"]
                return Front(moving, code[-1] if code else "", block, page)
    return Front(moving)


def _descent() -> Iterator[tuple[Text, Drawing]]:
    """Yield caption and drawing of each step of a real descent: the loss, the weight, and the slope in `.grad`."""
    w = torch.tensor(0.0, requires_grad=True)
    across, up = Axis(-0.8, 5, 14, 336), Axis(-1, 12, 180, 14)
    curve = [(across(0.05 * each), up((0.05 * each - _TARGET) ** 2)) for each in range(-9, 130) if each < 94]
    for step in range(_STEPS):
        loss = (w - _TARGET) ** 2
        w.grad = None
        loss.backward()
        assert w.grad is not None
        at, value, slope = w.item(), loss.item(), w.grad.item()
        grad = f"w.grad = {slope:.2f}".replace("-", "−")
        said = Text(f"Step {step}: {grad}", f"Шаг {step}: {grad}")
        drawing = Drawing(
            Text(
                f"The loss over w, and its tangent at w = {at:.2f} with slope {slope:.2f}.",
                f"Функция потерь от w и касательная при w = {at:.2f} с наклоном {slope:.2f}.",
            )
        )
        drawing.line((14, up(0)), (336, up(0)), look=Look.SOFT, arrow=True)
        drawing.line(*curve, look=Look.ACCENT)
        reach = 0.9 / (1 + abs(slope) / 3)
        drawing.line(*((across(at + d), up(value + slope * d)) for d in (-reach, reach)), look=Look.LEAD)
        drawing.line((across(at), up(0)), (across(at), up(value)), look=Look.SOFT, dashed=True)
        drawing.dot(across(at), up(value), radius=6)
        drawing.text(336, 196, Text("weight w", "вес w"), look=Look.SOFT, at="end")
        drawing.text(110, 22, Text("loss", "потери"), look=Look.ACCENT, at="start")
        drawing.text(336, 22, grad, code=True, look=Look.LEAD, at="end", bold=True)
        if step + 1 < _STEPS:
            drawing.line((across(at), 194), (across(at - _RATE * slope), 194), look=Look.LEAD, arrow=abs(slope) > 0.5)
        yield said, drawing
        with torch.no_grad():
            w -= _RATE * w.grad
