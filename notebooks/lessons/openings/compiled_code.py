"""A graph that becomes one box, and an operator nobody looks into."""

import torch

from autograder.language import Text
from autograder.lessons.drawing import Drawing, Look
from autograder.measure import graph_nodes


def opening() -> Drawing:
    """Draw the nodes of a graph in a row, and the one node that compiled code leaves in their place."""
    x = torch.rand(4, requires_grad=True)
    y = (2 * x).sin().exp().tanh().sum()
    count = len([node for node in graph_nodes(y) if not hasattr(node, "variable")])
    assert count == 5
    drawing = Drawing(
        Text(
            f"Above: {count} nodes of a graph, each of which can be seen. In the middle torch.compile makes one box of "
            "them, with code of its own inside. Below: an operator of yours is a black box for the compiler. It has to "
            "be told what goes in, what comes out and what the gradient is.",
            f"Вверху: {count} узлов графа, и каждый виден. Посередине torch.compile делает из них один ящик со своим "
            "кодом внутри. Внизу: ваш собственный оператор для компилятора — чёрный ящик. Ему нужно сообщить, что "
            "входит, что выходит и каков градиент.",
        )
    )
    for number, name in enumerate(("*", "sin", "exp", "tanh", "sum")):
        left = 10 + 70 * number
        drawing.box(left, 14, 50, 30, look=Look.ACCENT, filled=True)
        drawing.text(left + 25, 29, name, code=True)
        if number:
            drawing.line((left - 17, 29), (left - 5, 29), arrow=True)
    drawing.line((175, 50), (175, 80), look=Look.LEAD, arrow=True)
    drawing.text(188, 64, "torch.compile", code=True, at="start", look=Look.LEAD)
    drawing.box(10, 86, 330, 34, look=Look.LEAD, filled=True)
    drawing.text(175, 103, Text("one node, with code of its own", "один узел со своим кодом"), bold=True)
    drawing.box(10, 148, 116, 40, look=Look.ACCENT, filled=True)
    drawing.dot(68, 168, look=Look.INK, radius=15)
    drawing.text(68, 168, "?", look=Look.PAPER, bold=True, size=16)
    drawing.text(
        138, 158, Text("your operator: what does it do,", "ваш оператор: что он делает"), at="start", look=Look.INK
    )
    drawing.text(138, 176, Text("and what is its gradient?", "и каков его градиент?"), at="start", look=Look.WRONG)
    return drawing
