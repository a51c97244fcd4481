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
            "Time runs down. One .grad in the middle holds 0. The thread on the left and the thread on the right both "
            "read 0. Each adds 1 and writes 1. At the end .grad is 1 and not 2: one gradient is lost.",
            "Время идёт вниз. Посередине один .grad, в нём 0. Левый и правый потоки оба читают 0. Каждый прибавляет 1 и "
            "записывает 1. В конце в .grad лежит 1, а не 2: один градиент пропал.",
        )
    )
    drawing.text(58, 18, Text("thread 1", "поток 1"), bold=True)
    drawing.text(292, 18, Text("thread 2", "поток 2"), bold=True)
    drawing.text(175, 18, ".grad", code=True, bold=True)
    for x in (58, 292):
        drawing.line((x, 34), (x, 66), look=Look.SOFT, dashed=True)
        drawing.line((x, 104), (x, 196), look=Look.SOFT, dashed=True)
    for y, value, look in ((50, "0", Look.INK), (118, "1", Look.INK), (180, "1", Look.WRONG)):
        drawing.box(151, y - 16, 48, 32, look=look, filled=look is Look.WRONG)
        drawing.text(175, y, value, bold=True, size=15, look=look)
    for x, inner, shift in ((58, 148, 0), (292, 202, 62)):
        drawing.line((inner, 50), (x + (40 if x < 175 else -40), 50 + shift / 6), look=Look.ACCENT, arrow=True)
        drawing.box(x - 36, 70, 72, 28, look=Look.ACCENT, filled=True)
        drawing.text(x, 84, "0 + 1")
        drawing.line((x + (38 if x < 175 else -38), 90), (inner, 114 + shift), look=Look.LEAD, arrow=True)
    drawing.text(112, 40, Text("reads", "читает"), size=11, look=Look.ACCENT)
    drawing.text(238, 40, Text("reads", "читает"), size=11, look=Look.ACCENT)
    drawing.text(100, 128, Text("writes", "пишет"), size=11, look=Look.LEAD)
    drawing.text(262, 146, Text("writes", "пишет"), size=11, look=Look.LEAD)
    drawing.text(140, 180, Text("not 2", "а не 2"), look=Look.WRONG, at="end", bold=True)
    return drawing
