"""Memory that a pass forward piles up and the pass back frees."""

import torch

from autograder.measure import saved_bytes
from autograder.language import Text
from autograder.lessons.drawing import Drawing, Look

LAYERS, SIZE, BAR = 7, 256, 20


def opening() -> Drawing:
    """Draw how many results the graph holds after each layer, forward and back."""
    hidden = torch.rand(SIZE, requires_grad=True)
    piled, left = list[int](), list[int]()
    with saved_bytes() as saved:
        for _ in range(LAYERS):
            hidden = hidden.sigmoid()
            piled.append(saved.now // (4 * SIZE))
        node = hidden.grad_fn
        while node is not None and node.next_functions:
            node.register_hook(lambda *gradients: left.append(saved.now // (4 * SIZE)))
            node = node.next_functions[0][0]
        hidden.sum().backward()
    assert piled == left[::-1] == [*range(1, LAYERS + 1)]
    drawing = Drawing(
        Text(
            f"Forward through {LAYERS} layers: after each layer the graph holds one more result, {LAYERS} at the end, "
            "while the variable holds a single one. The pass back uses them from the last to the first and lets each go.",
            f"Прямой проход через {LAYERS} слоёв: после каждого слоя граф удерживает на один результат больше, в конце "
            f"их {LAYERS}, а в переменной лежит только один. Обратный проход использует их от последнего к первому и "
            "каждый освобождает.",
        )
    )
    for index, count in enumerate([*piled, *left]):
        across = 14 + 23 * index
        for level in range(count):
            newest = index < LAYERS and level == count - 1
            look = Look.ACCENT if newest else Look.LEAD
            drawing.box(across, 150 - 16 * level, BAR, 14, look=look, filled=True)
    drawing.line((8, 167), (342, 167), look=Look.SOFT)
    drawing.line((14, 182), (166, 182), look=Look.ACCENT, arrow=True)
    drawing.line((184, 182), (336, 182), look=Look.LEAD, arrow=True)
    drawing.text(90, 197, Text("forward", "прямой проход"), look=Look.ACCENT)
    drawing.text(260, 197, "backward()", code=True, look=Look.LEAD)
    drawing.box(14, 14, BAR, 14, look=Look.ACCENT, filled=True)
    drawing.text(42, 21, Text("held by a variable", "держит переменная"), at="start")
    drawing.box(14, 36, BAR, 14, look=Look.LEAD, filled=True)
    drawing.text(42, 43, Text("held by the graph", "держит граф"), at="start")
    return drawing
