"""Extra exercise: a loop that runs backward only for the last micro-batch."""

from __future__ import annotations

from typing import Any

from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.language import Text

from .common import ONE_BACKWARD_EACH, Batches, observe_training, training_cases
from .fix_zero_inside import (
    clears_before_the_last,
    clears_the_weight_alone,
    divides_by_all,
    divides_the_weight_alone,
    fix_zero_inside,
    leaks_into_the_next_window,
    loses_the_scale,
    lowers_the_rate,
    one_backward_for_the_sum,
    steps_by_hand,
    steps_every_time,
    steps_once,
    steps_one_too_early,
    trains_on_joined_windows,
)


@exercise(
    title=Text("The other cell that prints 1.46", "Другая ячейка, которая печатает 1.46"),
    kind="find the bug",
    difficulty=2,
    minutes=8,
    aspects=[
        aspect("weights", 2, *fix_zero_inside.aspects[0].says),
        aspect(
            "backward_runs",
            1,
            *ONE_BACKWARD_EACH.says,
            measured=ONE_BACKWARD_EACH.measured,
        ),
    ],
    hints=[
        Text(
            "How many losses are computed in a window, and how many of them go backward?",
            "Сколько значений функции потерь вычисляется за окно и для скольких из них выполняется обратный проход?",
        ),
        Text(
            "`loss` is one name. Each turn of the loop gives it a new value; what happens to the old one?",
            "Имя `loss` одно. На каждой итерации оно указывает на новое значение; что становится со старым?",
        ),
        Text("Move one line out of the `if`.", "Вынесите одну строку из `if`."),
    ],
)
def fix_backward_last(answer: Any, case: Case) -> dict[str, object]:
    return observe_training(answer.fix_backward_last, case)


fix_backward_last.cases(training_cases)


@fix_backward_last.mistake(
    en="`backward()` still runs only for the last micro-batch of a window. The losses before it are computed and not "
    "used.",
    ru="Обратный проход `backward()` по-прежнему выполняется только для последнего микробатча окна. Потери до него "
    "вычислены, но не использованы.",
)
def still_backward_on_the_last(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        loss = mse_loss(model(x), y) / accumulation_steps
        if i % accumulation_steps == accumulation_steps - 1:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@fix_backward_last.mistake(
    en="Gradients are cleared inside a window, before its last micro-batch: the step uses that one alone.",
    ru="Градиенты обнуляются внутри окна, перед его последним микробатчем: в шаг входит только он.",
)
def clears_every_time(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        optimizer.zero_grad()
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()


for program in (
    one_backward_for_the_sum,
    trains_on_joined_windows,
    loses_the_scale,
    leaks_into_the_next_window,
    steps_every_time,
    clears_before_the_last,
    lowers_the_rate,
    divides_the_weight_alone,
    steps_one_too_early,
    steps_once,
    divides_by_all,
    steps_by_hand,
    clears_the_weight_alone,
):
    fix_backward_last.mistake(*fix_zero_inside.mistakes[program.__name__].says)(program)


@fix_backward_last.mistake(
    en="`backward()` goes twice through the same graph, as with a running sum of losses: by the second time the saved "
    "values are freed.",
    ru="Обратный проход `backward()` дважды идёт по одному графу, как при растущей сумме потерь: ко второму разу "
    "сохранённое в нём уже освобождено.",
)
def backward_through_a_running_sum(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    total: Any = 0.0
    for i, (x, y) in enumerate(batches):
        total = total + mse_loss(model(x), y) / accumulation_steps
        total.backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()


@fix_backward_last.mistake(
    en="With `retain_graph=True` a running sum goes backward again and again: old losses are counted twice.",
    ru="Из-за `retain_graph=True` обратный проход по растущей сумме потерь повторяется: старые потери учтены дважды.",
)
def retains_a_running_sum(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    total: Any = 0.0
    for i, (x, y) in enumerate(batches):
        total = total + mse_loss(model(x), y) / accumulation_steps
        total.backward(retain_graph=True)
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()


@fix_backward_last.mistake(
    en="`backward()` still runs only for the last micro-batch of a window, and its loss is not divided by K any more.",
    ru="Обратный проход `backward()` по-прежнему выполняется только для последнего микробатча окна, а его потери больше "
    "не делятся на K.",
)
def last_without_division(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        loss = mse_loss(model(x), y)
        if (i + 1) % accumulation_steps == 0:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


@fix_backward_last.mistake(
    en="The last micro-batch of a window counts twice: `backward()` was added to the loop and stayed in the `if`.",
    ru="Последний микробатч окна учтён дважды: вызов `backward()` добавлен в цикл и остался в `if`.",
)
def counts_the_last_twice(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        loss = mse_loss(model(x), y) / accumulation_steps
        loss.backward(retain_graph=True)
        if (i + 1) % accumulation_steps == 0:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
