"""Two threads that add to one `.grad`, and a lost gradient."""

import threading

import torch

from autograder.language import Text
from autograder.lessons.drawing import Drawing, Look


def opening() -> Drawing:
    """Draw who reads and writes `.grad` in a real race of two threads."""
    w = torch.tensor(1.0, requires_grad=True)
    w.grad = torch.tensor(0.0)
    both_have_read = threading.Barrier(2)
    read: list[float] = []

    def read_then_write() -> None:
        total = w.grad + 1
        read.append(total.item() - 1)
        both_have_read.wait()
        w.grad = total

    threads = [threading.Thread(target=read_then_write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == [0, 0] and w.grad.item() == 1
    drawing = Drawing(
        Text(
            "Time runs down. One .grad in the middle holds 0, and the threads to its left and to its right both read "
            "this 0. Each adds 1 and writes 1. At the end .grad is 1 and not 2: one gradient is lost.",
            "Время идёт вниз. Посередине один .grad, в нём 0, и оба потока, левый и правый, читают этот 0. Каждый "
            "прибавляет 1 и записывает 1. В конце в .grad лежит 1, а не 2: один градиент пропал.",
        )
    )
    drawing.text(175, 18, ".grad", code=True, bold=True)
    for y, value, look in ((50, "0", Look.INK), (134, "1", Look.INK), (182, "1", Look.WRONG)):
        drawing.box(151, y - 16, 48, 32, look=look, filled=look is Look.WRONG)
        drawing.text(175, y, value, bold=True, size=15, look=look)
    _show(drawing, Text("thread 1", "поток 1"), 58, 147, written=134)
    _show(drawing, Text("thread 2", "поток 2"), 292, 203, written=182)
    drawing.text(140, 182, Text("not 2", "а не 2"), look=Look.WRONG, at="end", bold=True)
    return drawing


def _show(drawing: Drawing, name: Text, lane: float, inner: float, written: float) -> None:
    """Draw the lane of a thread, from its reading above to its writing at `written`."""
    drawing.text(lane, 18, name, bold=True)
    drawing.line((lane, 34), (lane, 74), look=Look.SOFT, dashed=True)
    drawing.line((lane, 110), (lane, 198), look=Look.SOFT, dashed=True)
    drawing.box(lane - 36, 78, 72, 28, look=Look.ACCENT, filled=True)
    drawing.text(lane, 92, "0 + 1")
    beside = lane + (6 if lane < inner else -6)
    middle = (lane + inner) / 2
    drawing.line((inner, 50), (beside, 50), look=Look.ACCENT, arrow=True)
    drawing.text(middle, 38, Text("reads", "читает"), size=11, look=Look.ACCENT)
    drawing.line((beside, written), (inner, written), look=Look.LEAD, arrow=True)
    drawing.text(middle, written - 12, Text("writes", "пишет"), size=11, look=Look.LEAD)
