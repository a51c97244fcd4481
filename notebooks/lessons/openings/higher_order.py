"""A derivative that has a graph, and one that has none."""

import torch

from autograder.language import Text
from autograder.lessons.drawing import Drawing, Look


def opening() -> Drawing:
    """Draw a value, its derivative and the derivative of that, each with the graph behind it or without."""
    x = torch.tensor(4.0, requires_grad=True)
    y = x**3
    (bare,) = torch.autograd.grad(y, x, retain_graph=True)
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    assert first.requires_grad and second.requires_grad
    assert not bare.requires_grad and bare.item() == first.item()
    drawing = Drawing(
        Text(
            f"Above: y = x³ is {y.item():g} at x = 4. The pass to its derivative {first.item():g} was recorded, so that "
            f"has a graph of its own and a derivative again, {second.item():g}. Below: from a pass that was not recorded "
            "comes the same number without a graph, and nothing leads on from it.",
            f"Вверху: y = x³ при x = 4 равен {y.item():g}. Проход к производной {first.item():g} записан, поэтому у неё "
            f"есть свой граф и её тоже можно продифференцировать: получится {second.item():g}. Внизу: без записи "
            "выходит то же число, но без графа, и дальше от него пути нет.",
        )
    )
    drawing.text(10, 20, Text("the pass is recorded", "проход записан"), at="start", look=Look.LEAD, bold=True)
    for left, formula, value in ((10, "x³", y), (136, "3x²", first), (262, "6x", second)):
        _show(drawing, left, 38, formula, f"{value.item():g}", Look.ACCENT)
    for left in (90, 216):
        drawing.line((left, 66), (left + 42, 66), look=Look.LEAD, arrow=True)
    drawing.text(10, 120, Text("it is not", "проход не записан"), at="start", look=Look.SOFT, bold=True)
    _show(drawing, 10, 138, "x³", f"{y.item():g}", Look.ACCENT)
    drawing.line((90, 166), (132, 166), look=Look.LEAD, arrow=True)
    _show(drawing, 136, 138, Text("a number", "число"), f"{bare.item():g}", Look.SOFT)
    drawing.line((216, 166), (246, 166), look=Look.WRONG, dashed=True)
    drawing.text(260, 158, Text("no way", "дальше"), look=Look.WRONG, at="start")
    drawing.text(260, 174, Text("leads on", "пути нет"), look=Look.WRONG, at="start")
    return drawing


def _show(drawing: Drawing, left: float, top: float, says: Text | str, value: str, look: Look) -> None:
    """Draw a value with its formula. What has a graph stands on three nodes."""
    drawing.box(left, top, 78, 56, look=look, filled=look is Look.ACCENT)
    drawing.text(left + 39, top + 15, says, size=11 if isinstance(says, Text) else 13)
    drawing.text(left + 39, top + 34, value, bold=True, size=15)
    if look is Look.ACCENT:
        drawing.line((left + 19, top + 49), (left + 59, top + 49), look=look)
        for across in (19, 39, 59):
            drawing.dot(left + across, top + 49, look=look, radius=3)
