"""Three ways to predict, and what each keeps."""

from collections.abc import Callable

import torch
from torch import nn

from autograder.measure import saved_bytes
from autograder.language import Text
from autograder.lessons.drawing import Drawing, Look

LAYERS = 5


def opening() -> Drawing:
    """Draw a prediction with a graph, with `detach()` at its end and without a graph."""
    model = nn.Sequential(*(nn.Sigmoid() for _ in range(LAYERS)))
    x = torch.rand(256, requires_grad=True)  # stands for weights that learn: every layer belongs to the graph
    ways: dict[str, Callable[[], torch.Tensor]] = {
        "model(x)": lambda: model(x),
        "model(x).detach()": lambda: model(x).detach(),
        "with no_grad(): model(x)": lambda: torch.no_grad()(model)(x),
    }
    kept = {}
    for code, way in ways.items():
        with saved_bytes() as saved:
            y = way()
            kept[code] = saved.saves, saved.now // (256 * 4)
            del y
    assert [*kept.values()] == [(LAYERS, LAYERS), (LAYERS, 0), (0, 0)]
    drawing = Drawing(
        Text(
            f"A model of {LAYERS} layers predicts in three ways. model(x) keeps a result of each layer. "
            "model(x).detach() keeps them all until the end as well, and only then lets go. Under no_grad() nothing is "
            "kept at any time.",
            f"Модель из {LAYERS} слоёв вычисляет предсказания тремя способами. При model(x) хранится результат каждого "
            "слоя. При model(x).detach() все они тоже хранятся до самого конца и только потом освобождаются. Внутри "
            "no_grad() не хранится ничего.",
        )
    )
    for number, (code, (peak, after)) in enumerate(kept.items()):
        top = 14 + 66 * number
        drawing.text(10, top + 6, code, code=True, at="start")
        for layer in range(LAYERS):
            left = 10 + 44 * layer
            drawing.box(left, top + 18, 32, 24, look=Look.ACCENT, filled=True)
            drawing.line((left + 33, top + 30), (left + 43, top + 30), look=Look.ACCENT, arrow=True)
            if peak:
                drawing.box(left + 6, top + 42, 20, 12, look=Look.LEAD, filled=True)
        drawing.text(240, top + 30, _said(peak, after), at="start", look=Look.LEAD if peak else Look.RIGHT, bold=True)
    drawing.box(240, 192, 20, 12, look=Look.LEAD, filled=True)
    drawing.text(268, 198, Text("kept", "хранится"), at="start", look=Look.SOFT)
    return drawing


def _said(peak: int, after: int) -> Text:
    """Return how many results are kept at most and afterwards."""
    if peak == after:
        return Text(f"keeps {peak}", f"хранит {peak}")
    return Text(f"{peak}, then {after}", f"{peak}, потом {after}")
