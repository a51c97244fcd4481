"""Calls of one function: one for each sample, or one for all."""

import torch

from autograder.language import Text
from autograder.lessons.drawing import Drawing, Look

SAMPLES = 5


def opening() -> Drawing:
    """Draw a loop of calls beside the single call that `vmap` makes, as counted in a run."""
    calls: list[torch.Size] = []

    def length(x: torch.Tensor) -> torch.Tensor:
        calls.append(x.shape)
        return x.norm()

    batch = torch.rand(SAMPLES, 3)
    one_by_one = torch.stack([length(x) for x in batch])
    in_loop = len(calls)
    at_once = torch.vmap(length)(batch)
    assert torch.allclose(one_by_one, at_once) and calls == [torch.Size([3])] * (SAMPLES + 1)
    drawing = Drawing(
        Text(
            f"Left: a loop calls f once for each of {SAMPLES} samples, {in_loop} calls. Right: vmap calls f a single "
            "time, written for one sample, on the whole stack, and the same results come out.",
            f"Слева: цикл вызывает f для каждого из {SAMPLES} примеров, вызовов {in_loop}. Справа: vmap вызывает f "
            "один раз, хотя она написана для одного примера, сразу для всей стопки, и результаты те же.",
        )
    )
    drawing.text(84, 18, Text("a loop", "цикл"), bold=True)
    drawing.text(262, 18, "vmap(f)", code=True, bold=True)
    for number in range(SAMPLES):
        top = 36 + 29 * number
        drawing.box(14, top, 34, 18, look=Look.ACCENT, filled=True)
        drawing.line((50, top + 9), (66, top + 9), look=Look.INK, arrow=True)
        drawing.box(70, top - 2, 30, 22)
        drawing.text(85, top + 9, "f", code=True)
        drawing.line((102, top + 9), (118, top + 9), look=Look.INK, arrow=True)
        drawing.box(122, top, 34, 18, look=Look.LEAD, filled=True)
        drawing.box(190 + 3 * number, 70 + 11 * number, 34, 18, look=Look.ACCENT, filled=True)
        drawing.box(296 + 3 * number, 70 + 11 * number, 34, 18, look=Look.LEAD, filled=True)
    drawing.line((238, 102), (248, 102), arrow=True)
    drawing.box(251, 84, 30, 36, look=Look.INK)
    drawing.text(266, 102, "f", code=True, bold=True, size=15)
    drawing.line((283, 102), (294, 102), arrow=True)
    drawing.text(84, 196, Text(f"{in_loop} calls", f"вызовов: {in_loop}"), look=Look.WRONG, bold=True)
    drawing.text(262, 196, Text("1 call", "вызов: 1"), look=Look.RIGHT, bold=True)
    return drawing
