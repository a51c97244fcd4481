"""The place of each hook on the way back."""

import torch

from autograder.language import Text
from autograder.lessons.drawing import Drawing, Look

STOPS = (
    ("h.register_hook", Text("reads or replaces the gradient", "читает или заменяет градиент")),
    ("node.register_hook", Text("what went in, what comes out", "что вошло в узел и что вышло")),
    ("w.register_hook", Text("before it is added to w.grad", "прежде чем прибавить к w.grad")),
    ("w.register_post_accumulate_grad_hook", Text("w.grad is ready", "w.grad готов")),
)


def opening() -> Drawing:
    """Draw the way from a loss to a leaf, with hooks numbered in the order of a real run."""
    w = torch.tensor(2.0, requires_grad=True)
    h = w.exp()
    order: list[int] = []
    h.register_hook(lambda gradient: order.append(0))
    h.grad_fn.register_hook(lambda *gradients: order.append(1))
    w.register_hook(lambda gradient: order.append(2))
    w.register_post_accumulate_grad_hook(lambda parameter: order.append(3))
    (h * h).backward()
    assert order == [0, 1, 2, 3]
    drawing = Drawing(
        Text(
            "The pass runs down from the loss over h and a node to the leaf w and its .grad. Four hooks of yours stand "
            "on the way, in this order: on the tensor h, on the node, on w before the gradient is added, and on w "
            "after that.",
            "Обратный проход спускается от функции потерь через h и узел к листу w и его .grad. По дороге стоят четыре "
            "ваших хука, в таком порядке: на тензоре h, на узле, на w до прибавления градиента и на w после него.",
        ),
        height=224,
    )
    for name, y in (("loss", 20), ("h", 64), ("exp", 108), ("w", 152), (".grad", 204)):
        drawing.box(10, y - 14, 58, 28, look=Look.ACCENT if name != ".grad" else Look.RIGHT, filled=name == ".grad")
        drawing.text(39, y, name, code=True)
    for y in (36, 80, 124, 168):
        drawing.line((39, y), (39, y + (21 if y == 168 else 13)), look=Look.LEAD, arrow=True)
    for number, ((code, says), y) in enumerate(zip(STOPS, (64, 108, 152, 204))):
        drawing.line((69, y), (84, y), look=Look.LEAD, dashed=True)
        drawing.dot(92, y, look=Look.LEAD, radius=9)
        drawing.text(92, y, str(number + 1), bold=True, look=Look.PAPER)
        drawing.text(108, y - 7, code, code=True, at="start", size=11)
        drawing.text(108, y + 8, says, at="start", look=Look.SOFT)
    return drawing
