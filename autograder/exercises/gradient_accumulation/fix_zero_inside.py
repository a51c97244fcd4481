"""Core exercise: a loop that clears gradients before every backward pass."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.language import Text

from .common import ONE_BACKWARD_EACH, Batches, join_windows, observe_training, train_in_windows, training_cases


@exercise(
    title=Text("W goes from 1.4 to 1.46", "W меняется с 1.4 на 1.46"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "weights",
            2,
            en="After every step the weights are those of training on the big batches.",
            ru="После каждого шага веса такие же, как при обучении на больших батчах.",
        ),
        aspect(
            "backward_runs",
            1,
            *ONE_BACKWARD_EACH.says,
            measured=ONE_BACKWARD_EACH.measured,
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
        Text(
            "Move one line: from the top of the loop to after `optimizer.step()`.",
            "Перенесите одну строку: из начала цикла на место сразу после `optimizer.step()`.",
        ),
    ],
)
def fix_zero_inside(answer: Any, case: Case) -> dict[str, object]:
    return observe_training(answer.fix_zero_inside, case)


fix_zero_inside.cases(training_cases)


@fix_zero_inside.mistake(
    en="The gradients are still cleared before every `backward()`; whether to None or to zero makes no difference. A "
    "window may clear them once.",
    ru="Градиенты по-прежнему обнуляются перед каждым `backward()`; None там или нули — неважно. За окно их можно "
    "обнулить только один раз.",
)
def still_clears_every_time(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        optimizer.zero_grad(set_to_none=False)
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()


@fix_zero_inside.mistake(
    en="Gradients are never cleared: each window still holds those of the windows before it.",
    ru="Градиенты никогда не обнуляются: в каждом окне остаются градиенты предыдущих окон.",
)
def leaks_into_the_next_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()


@fix_zero_inside.mistake(
    en="`backward()` runs only on the last micro-batch of a window. The numbers are those of the given code.",
    ru="Обратный проход `backward()` выполняется только для последнего микробатча окна. Числа те же, что у исходного "
    "кода.",
)
def backward_once_per_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        loss = mse_loss(model(x), y) / accumulation_steps
        if (i + 1) % accumulation_steps == 0:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


@fix_zero_inside.mistake(
    en="The optimizer steps after every micro-batch: nothing is accumulated over the window.",
    ru="Шаг оптимизатора делается после каждого микробатча: за окно ничего не накапливается.",
)
def steps_every_time(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for x, y in batches:
        optimizer.zero_grad()
        (mse_loss(model(x), y) / accumulation_steps).backward()
        optimizer.step()


@fix_zero_inside.mistake(
    en="The gradients are cleared just before the step, so nothing is left for it to use.",
    ru="Градиенты обнуляются прямо перед шагом, и для шага ничего не остаётся.",
)
def clears_before_the_step(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.zero_grad()
            optimizer.step()


@fix_zero_inside.mistake(
    en="The losses of a window are added up and go backward together. The weights are right, but until then every "
    "graph of the window stays in memory.",
    ru="Потери окна складываются, а обратный проход у них один, общий. Веса верны, но до него все графы окна остаются "
    "в памяти.",
)
def one_backward_for_the_sum(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    total: Any = 0.0
    for i, (x, y) in enumerate(batches):
        total = total + mse_loss(model(x), y) / accumulation_steps
        if (i + 1) % accumulation_steps == 0:
            total.backward()
            optimizer.step()
            optimizer.zero_grad()
            total = 0.0


@fix_zero_inside.mistake(
    en="Each window was joined into one big batch. The weights are right, but nothing was accumulated.",
    ru="Каждое окно объединено в один большой батч. Веса верны, но накопления не было.",
)
def trains_on_joined_windows(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    train_in_windows(model, optimizer, join_windows(batches, accumulation_steps), 1, lambda w, n: 1.0)


@fix_zero_inside.mistake(
    en="The scaling by 1/K is missing: each step is K times too long.",
    ru="Потеряно масштабирование на 1/K: каждый шаг в K раз длиннее нужного.",
)
def loses_the_scale(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        mse_loss(model(x), y).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()


@fix_zero_inside.mistake(
    en="The gradients are cleared inside a window, before its last micro-batch: the step uses that one alone.",
    ru="Градиенты обнуляются внутри окна, перед его последним микробатчем: в шаг входит только он.",
)
def clears_before_the_last(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        if (i + 1) % accumulation_steps == 0:
            optimizer.zero_grad()
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()


@fix_zero_inside.mistake(
    en="The gradient is K times too long, and the learning rate was lowered to make up for it. That works for plain "
    "SGD only, not with Adam or weight decay.",
    ru="Градиент в K раз длиннее нужного, и вместо него уменьшена скорость обучения. Такой приём верен только для "
    "простого SGD, а для Adam или при затухании весов — нет.",
)
def lowers_the_rate(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for group in optimizer.param_groups:
        group["lr"] /= accumulation_steps
    loses_the_scale(model, optimizer, batches, accumulation_steps)


@fix_zero_inside.mistake(
    en="Only `model.weight.grad` is divided by K. A model may have other parameters, such as a bias.",
    ru="На K делится только `model.weight.grad`. У модели могут быть и другие параметры, например сдвиг (bias).",
)
def divides_the_weight_alone(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        mse_loss(model(x), y).backward()
        if (i + 1) % accumulation_steps == 0:
            model.weight.grad /= accumulation_steps
            optimizer.step()
            optimizer.zero_grad()


@fix_zero_inside.mistake(
    en="The optimizer steps when `i % K == 0`: the first step comes after one micro-batch already. A window ends where "
    "`(i + 1) % K == 0`.",
    ru="Шаг оптимизатора делается при `i % K == 0`: первый шаг — уже после одного микробатча. Окно заканчивается там, "
    "где `(i + 1) % K == 0`.",
)
def steps_one_too_early(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if i % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()


@fix_zero_inside.mistake(
    en="There is one step, at the end. Every window has to make its own.",
    ru="Шаг всего один, в самом конце, а нужен на каждое окно.",
)
def steps_once(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for x, y in batches:
        (mse_loss(model(x), y) / accumulation_steps).backward()
    optimizer.step()
    optimizer.zero_grad()


@fix_zero_inside.mistake(
    en="The losses are divided by the number of all micro-batches, not by that of one window.",
    ru="Значения функции потерь делятся на число всех микробатчей, а не микробатчей одного окна.",
)
def divides_by_all(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        (mse_loss(model(x), y) / len(batches)).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()


@fix_zero_inside.mistake(
    en="The optimizer makes no step: `optimizer.step()` is missing, or the weights are changed by hand. Adam, for one, "
    "does not subtract `lr` times the gradient.",
    ru="Оптимизатор не делает ни одного шага: нет вызова `optimizer.step()`, или веса изменены вручную. Adam, "
    "например, вычитает не градиент, умноженный на `lr`.",
)
def steps_by_hand(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= optimizer.param_groups[0]["lr"] * parameter.grad
            optimizer.zero_grad()


@fix_zero_inside.mistake(
    en="Only `model.weight.grad` is cleared. A model may have other parameters, such as a bias: `optimizer.zero_grad()` "
    "clears them all.",
    ru="Обнуляется только `model.weight.grad`. У модели могут быть и другие параметры, например сдвиг (bias): метод "
    "`optimizer.zero_grad()` обнуляет градиенты всех.",
)
def clears_the_weight_alone(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            model.weight.grad = None
