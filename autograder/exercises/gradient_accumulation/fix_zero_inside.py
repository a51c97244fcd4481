"""Exercise: a loop that clears gradients before every backward pass."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.labels import WEIGHTS_AFTER_STEPS
from autograder.language import Text

from .common import ONE_BACKWARD_EACH, observe_training, training_cases


@exercise(
    title=Text("W goes from 1.4 to 1.46", "W меняется с 1.4 на 1.46"),
    kind="find the bug",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "weights",
            2,
            en="After every step the weights are those of training on the big batches.",
            ru="После каждого шага веса такие же, как при обучении на больших батчах.",
            entries=(WEIGHTS_AFTER_STEPS,),
        ),
        aspect(
            "backward_runs",
            1,
            *ONE_BACKWARD_EACH.says,
            entries=ONE_BACKWARD_EACH.entries,
        ),
    ],
    hints=[
        Text(
            "Print `model.weight.grad` just before each step. Which micro-batches does it contain?",
            "Напечатайте `model.weight.grad` прямо перед каждым шагом. Какие микробатчи в него вошли?",
        ),
        Text(
            "A window is K backward passes and one step. How often may gradients be cleared in it?",
            "Окно — это K обратных проходов и один шаг. Сколько раз за окно можно обнулять градиенты?",
        ),
        Text.same(
            "def fix_zero_inside(model, optimizer, batches, accumulation_steps):\n"
            "    for i, (x, y) in enumerate(batches):\n"
            "        loss = mse_loss(model(x), y) / accumulation_steps\n"
            "        loss.backward()\n"
            "        if (i + 1) % accumulation_steps == 0:\n"
            "            ...\n"
            "            ..."
        ),
    ],
    why=Why(
        Text(
            "Why does `zero_grad()` belong after the step, and not before each `backward()`?",
            "Почему место `zero_grad()` — после шага, а не перед каждым `backward()`?",
        ),
        Text(
            "The window's sum exists in `.grad` alone: each `backward()` adds its part there. Cleared inside the "
            "window, `.grad` holds only the last micro-batch when the step reads it.",
            "Сумма по окну хранится только в `.grad`: туда каждый `backward()` прибавляет свою часть. Если "
            "обнулять внутри окна, к моменту шага в `.grad` останется лишь последний микробатч.",
        ),
    ),
)
def fix_zero_inside(answer: Any, case: Case) -> dict[str, object]:
    return observe_training(answer.fix_zero_inside, case)


fix_zero_inside.cases(training_cases)
