"""Memory during a step, with checkpoints and without."""

import torch
from torch.utils.checkpoint import checkpoint

from autograder import plot_memory
from autograder.language import Text
from autograder.lessons.drawing import Axis, Drawing, Look

LAYERS, SEGMENT = 12, 4


def plain(x: torch.Tensor) -> torch.Tensor:
    for _ in range(LAYERS):
        x = x.sigmoid()
    return x.sum()


def segment(x: torch.Tensor) -> torch.Tensor:
    for _ in range(SEGMENT):
        x = x.sigmoid()
    return x


def in_segments(x: torch.Tensor) -> torch.Tensor:
    for _ in range(LAYERS // SEGMENT):
        x = checkpoint(segment, x, use_reentrant=False)
    return x.sum()


def opening() -> Drawing:
    """Draw the live bytes of a network after each operation, as measured, with checkpoints and without."""
    x = torch.rand(10_000, requires_grad=True)
    curves = [course.samples for course in plot_memory(x, plain, in_segments).courses]
    size = x.nbytes
    peaks = [round(max(curve) / size) for curve in curves]
    assert peaks[1] < peaks[0]
    drawing = Drawing(
        Text(
            f"Two curves of memory over one training step. Without checkpoints it climbs to {peaks[0]} results and "
            f"falls. With checkpoints it stays low, at most {peaks[1]}, but the step takes longer: on the way back the "
            "curve climbs a little for each segment, because it is computed again.",
            f"Две кривые расхода памяти за один шаг обучения. Без контрольных точек она поднимается до {peaks[0]} "
            f"результатов и спадает. С контрольными точками остаётся низкой, не выше {peaks[1]}, но шаг длиннее: на "
            "обратном пути кривая немного поднимается на каждом отрезке, потому что он вычисляется заново.",
        )
    )
    across, up = Axis(0, max(map(len, curves)), 14, 336), Axis(0, peaks[0], 182, 50)
    for curve, look in zip(curves, (Look.LEAD, Look.ACCENT)):
        points = [(across(0), up(0))]
        for number, alive in enumerate(curve):
            points += [(across(number), up(alive / size)), (across(number + 1), up(alive / size))]
        drawing.area(*points, (points[-1][0], up(0)), look=look)
        drawing.line(*points, look=look)
    drawing.line((14, 182), (342, 182), look=Look.SOFT, arrow=True)
    drawing.text(336, 198, Text("time of a step", "время шага"), look=Look.SOFT, at="end")
    drawing.text(
        14,
        18,
        Text(f"all kept: peak {peaks[0]}", f"всё хранится: пик {peaks[0]}"),
        look=Look.LEAD,
        at="start",
        bold=True,
    )
    said = Text(
        f"some computed again: peak {peaks[1]}, but longer", f"часть вычислена заново: пик {peaks[1]}, но дольше"
    )
    drawing.text(14, 36, said, look=Look.ACCENT, at="start", bold=True)
    return drawing
