"""A window of micro-batches that leaks into the next."""

import torch

from autograder.language import Text
from autograder.lessons.drawing import Axis, Drawing, Look

BATCHES, WINDOW, EPOCHS = 5, 2, 2
UP = Axis(0, 3, 160, 40)
BAR = 24


def opening() -> Drawing:
    """Draw `.grad` after each micro-batch of two epochs, where the last window is neither used nor cleared."""
    w = torch.tensor(1.0, requires_grad=True)
    heights, steps = list[float](), list[int]()
    for _ in range(EPOCHS):
        for number in range(1, BATCHES + 1):
            w.backward()  # every micro-batch has the gradient 1
            heights.append(w.grad.item())
            if number % WINDOW == 0:
                steps.append(len(heights) - 1)
                w.grad = None
    assert heights == [1, 2, 1, 2, 1, 2, 3, 1, 2, 1]
    drawing = Drawing(
        Text(
            "Bars show .grad after each micro-batch of two epochs. It grows by 1 and is cleared after a step, every "
            "second micro-batch. The fifth of an epoch has no partner: what it left is still there when the next epoch "
            "begins, and its first step uses 3 in place of 2.",
            "Столбики показывают .grad после каждого микробатча двух эпох. Он растёт на 1 и обнуляется после шага, то "
            "есть через каждые два микробатча. Пятому в эпохе пары не хватило: его градиент остаётся до следующей "
            "эпохи, и её первый шаг делают по 3 вместо 2.",
        )
    )
    leaked = 0.0
    for index, height in enumerate(heights):
        left = 14 + 33 * index
        if index == BATCHES:
            drawing.line((left - 5, 22), (left - 5, 182), look=Look.SOFT, dashed=True)
            leaked = heights[index - 1]
        drawing.box(left, UP(height), BAR, UP(0) - UP(height), look=Look.ACCENT, filled=True)
        if leaked:
            drawing.box(left, UP(leaked), BAR, UP(0) - UP(leaked), look=Look.WRONG, filled=True)
        if index in steps:
            wrong = bool(leaked)
            drawing.text(
                left + BAR / 2, UP(height) - 11, f"{height:g}", bold=True, look=Look.WRONG if wrong else Look.INK
            )
            drawing.text(left + BAR / 2, 174, Text("step", "шаг"), look=Look.LEAD, size=11)
            leaked = 0.0
    drawing.line((8, UP(0)), (342, UP(0)), look=Look.SOFT)
    drawing.text(14, 16, ".grad", code=True, at="start")
    drawing.text(92, 196, Text("epoch 1", "эпоха 1"), look=Look.SOFT)
    drawing.text(257, 196, Text("epoch 2", "эпоха 2"), look=Look.SOFT)
    drawing.text(342, 16, Text("left over from epoch 1", "остаток эпохи 1"), at="end", look=Look.WRONG)
    return drawing
