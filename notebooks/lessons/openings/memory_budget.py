"""Memory during a step, with checkpoints and without."""

from itertools import groupby, pairwise

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
    """Draw what is alive between the operations of a step, and what a checkpoint computes again."""
    x = torch.rand(10_000, requires_grad=True)
    kept, checkpointed = plot_memory(x, plain, in_segments).courses
    stairs = [_stairs([alive // x.nbytes for alive in course.settled]) for course in (kept, checkpointed)]
    most, fewer = (max(level for _, level in each) for each in stairs)
    assert fewer < most and len(checkpointed.settled) > len(kept.settled)
    drawing = Drawing(
        Text(
            f"Two curves of memory over one training step. Where everything is kept, it climbs to {most} results and "
            f"falls. With checkpoints it never holds more than {fewer}, but the step takes longer: on the way back "
            "each segment is computed again, and there the curve climbs once more.",
            f"Две кривые: сколько памяти занято в течение одного шага обучения. Если хранится всё, кривая поднимается "
            f"до {most} результатов и спадает. С контрольными точками их не больше {fewer}, но шаг длиннее: на обратном "
            "пути каждый отрезок вычисляется заново, и там кривая поднимается ещё раз.",
        )
    )
    across, up = Axis(0, len(checkpointed.settled), 12, 328), Axis(0, most, 176, 50)
    for stair, look in zip(stairs, (Look.SOFT, Look.ACCENT)):
        points = [(across(at), up(level)) for (start, level), (end, _) in pairwise(stair) for at in (start, end)]
        drawing.area((points[0][0], up(0)), *points, (points[-1][0], up(0)), look=look)
        drawing.line(*points, look=look)
    backward = checkpointed.backwards[0][0]
    for (_, before), (start, level), (end, _) in zip(stairs[1], stairs[1][1:], stairs[1][2:]):
        if start >= backward and level > before:
            drawing.line(
                (across(start), up(before)), (across(start), up(level)), (across(end), up(level)), look=Look.LEAD
            )
    drawing.line((12, 177), (336, 177), look=Look.SOFT, arrow=True)
    drawing.text(338, 194, Text("time of a step", "время шага"), look=Look.SOFT, at="end")
    drawing.text(
        12, 18, Text(f"all kept: {most} results at once", f"хранится всё: сразу {most} результатов"), at="start"
    )
    drawing.text(12, 36, Text(f"checkpoints: {fewer}", f"контрольные точки: {fewer}"), look=Look.ACCENT, at="start")
    drawing.text(12, 194, Text("computed again", "вычислено заново"), look=Look.LEAD, at="start", bold=True)
    return drawing


def _stairs(levels: list[int]) -> list[tuple[int, int]]:
    """Return where each new level begins, with the level, and the end with a level of 0."""
    runs = groupby(enumerate(levels), key=lambda each: each[1])
    return [next(run) for _, run in runs] + [(len(levels), 0)]
