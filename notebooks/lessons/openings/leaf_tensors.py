"""Tensors that get a `.grad`, and others."""

import torch

from autograder.language import Text
from autograder.lessons.drawing import Drawing, Look

WIDE, HIGH = 92, 46


def opening() -> Drawing:
    """Draw a leaf, a tensor made from it and data, each with what a pass left in `.grad`."""
    leaf = torch.tensor(2.0, requires_grad=True)
    weight = leaf * 0.01
    x = torch.tensor(5.0)
    (weight * x).backward()
    assert leaf.is_leaf and not weight.is_leaf and x.is_leaf and not weight.retains_grad and x.grad is None
    drawing = Drawing(
        Text(
            "A leaf that requires grad, times 0.01, gives w; w times the data x gives the loss. The gradient runs back "
            f"through w to the leaf. Only the leaf has a number in .grad, {leaf.grad.item():g}; w and x have None.",
            "Лист, который требует градиента, умножили на 0.01 и получили w. Произведение w и данных x — это функция "
            f"потерь. Градиент идёт назад через w к листу. Число в .grad есть только у листа: {leaf.grad.item():g}. "
            "У w и x там None.",
        )
    )
    _show(drawing, 8, 36, Text("leaf", "лист"), "requires_grad", f".grad = {leaf.grad.item():g}", Look.RIGHT)
    _show(drawing, 138, 36, "w", "* 0.01", ".grad = None", Look.WRONG)
    _show(drawing, 138, 134, "x", Text("data", "данные"), ".grad = None", Look.SOFT)
    drawing.box(284, 85, 58, HIGH)
    drawing.text(313, 85 + HIGH / 2, "loss", code=True)
    for start, end in (((102, 50), (134, 50)), ((232, 50), (284, 92)), ((232, 156), (284, 124))):
        drawing.line(start, end, look=Look.ACCENT, arrow=True)
    for start, end in (((282, 106), (228, 70)), ((136, 70), (104, 70))):
        drawing.line(start, end, look=Look.LEAD, dashed=True, arrow=True)
    drawing.text(313, 144, "backward()", code=True, look=Look.LEAD, size=11)
    lines = Text(
        "The gradient goes\nthrough w\nand stays\nin the leaf.", "Градиент идёт\nсквозь w\nи остаётся\nв листе."
    )
    for number, (english, russian) in enumerate(zip(*(each.split("\n") for each in lines))):
        drawing.text(8, 134 + 16 * number, Text(english, russian), at="start", look=Look.LEAD)
    return drawing


def _show(drawing: Drawing, x: float, y: float, name: Text | str, about: Text | str, grad: str, look: Look) -> None:
    """Draw a tensor with its name, a remark and its `.grad`."""
    drawing.box(x, y, WIDE, HIGH, look=look, filled=look is Look.RIGHT)
    drawing.text(x + WIDE / 2, y + 15, name, bold=True)
    drawing.text(x + WIDE / 2, y + 32, about, look=Look.SOFT, size=11)
    drawing.text(x + WIDE / 2, y + HIGH + 14, grad, look=look, code=True, bold=look is Look.RIGHT)
