"""A graph, and the order of the walk."""

import torch

from autograder.language import Text
from autograder.lessons.drawing import Drawing, Look

PLACES = {"loss": (296, 105), "a": (175, 46), "b": (175, 164), "x": (54, 105)}


def opening() -> Drawing:
    """Draw a graph with two ways to x, and number the nodes in the order of a real pass."""
    x = torch.tensor(2.0, requires_grad=True)
    a, b = x**2, 3 * x
    loss = a * b
    order: list[str] = []
    ((into_x, _),) = a.grad_fn.next_functions
    for name, node in {"loss": loss.grad_fn, "a": a.grad_fn, "b": b.grad_fn, "x": into_x}.items():
        node.register_prehook(lambda gradients, name=name: order.append(name))
    loss.backward()
    assert order[0] == "loss" and order[3] == "x" and len(order) == 4
    arriving = {"a": b.item(), "b": a.item()}
    parts = {"a": arriving["a"] * 2 * x.item(), "b": arriving["b"] * 3}
    assert x.grad.item() == sum(parts.values())
    said = " + ".join(f"{part:g}" for part in parts.values())
    drawing = Drawing(
        Text(
            "From x two ways lead to the loss, over a and over b. The pass goes back: first the loss, then both in "
            f"between, last x. x waits until both have sent their part: {said} = {x.grad.item():g}.",
            "От x к функции потерь ведут два пути: через a и через b. Обход идёт назад: сначала функция потерь, затем "
            f"оба узла между ними, последним x. Он ждёт, пока придут обе части: {said} = {x.grad.item():g}.",
        )
    )
    for start, end in (("x", "a"), ("x", "b"), ("a", "loss"), ("b", "loss")):
        _join(drawing, start, end, Look.SOFT, -5)
    for start, end in (("loss", "a"), ("loss", "b"), ("a", "x"), ("b", "x")):
        _join(drawing, start, end, Look.LEAD, -5)
    shown = {"loss": "a · b", "a": "x²", "b": "3x", "x": f"x = {x.item():g}"}
    for name, (across, down) in PLACES.items():
        drawing.box(across - 29, down - 16, 58, 32, look=Look.ACCENT)
        drawing.text(across, down, shown[name])
        corner = across + (29 if name == "loss" else -29)
        drawing.dot(corner, down - 16, look=Look.LEAD, radius=9)
        drawing.text(corner, down - 16, str(order.index(name) + 1), bold=True, look=Look.PAPER)
    for across, values in ((128, parts), (222, arriving)):
        drawing.text(across, 92, f"{values['a']:g}", look=Look.LEAD, bold=True)
        drawing.text(across, 120, f"{values['b']:g}", look=Look.LEAD, bold=True)
    drawing.text(296, 136, "backward()", code=True, look=Look.LEAD, size=11)
    drawing.text(10, 196, f"x.grad = {said} = {x.grad.item():g}", code=True, look=Look.LEAD, at="start")
    drawing.text(10, 18, Text("x waits for both.", "x ждёт обе части."), at="start")
    return drawing


def _join(drawing: Drawing, start: str, end: str, look: Look, aside: float) -> None:
    """Draw an arrow between the rims of two boxes, moved aside so that there is room for one back."""
    (x0, y0), (x, y) = PLACES[start], PLACES[end]
    turn = 1 if x > x0 else -1
    drawing.line(
        (x0 + 30 * turn, y0 + (y - y0) * 0.24 + aside * turn),
        (x - 32 * turn, y - (y - y0) * 0.24 + aside * turn),
        look=look,
        arrow=True,
        dashed=look is Look.SOFT,
    )
