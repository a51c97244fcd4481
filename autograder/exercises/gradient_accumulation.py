"""Exercises of lesson 03, gradient accumulation: probes, cases and mistakes (A1-A16 of the course's own list)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, mse_loss, normalize

from autograder.checking.exercise import EVERY_ENTRY, Case, aspect, exercise
from autograder.checking.inputs import Lineup, nameless, uniform
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.checking.values import AtMost, entries
from autograder.language import Text
from autograder.measure import batch_sizes, live_bytes, passes_to, weights_after_steps

Batches = list[tuple[Tensor, Tensor]]


# ------------------------------------------------------------------------------------------------ inputs of the cases


def linear(rng: torch.Generator, features: int = 3) -> torch.nn.Linear:
    """A linear model without bias whose `.grad` already holds something, as after an earlier backward."""
    model = torch.nn.Linear(features, 1, bias=False, dtype=torch.float64)
    model.weight = torch.nn.Parameter(uniform(rng, 1, features))
    model.weight.grad = 100 * uniform(rng, 1, features)
    return model


def untouched(model: torch.nn.Linear) -> torch.nn.Linear:
    """`model` before its first backward pass: None in `.grad`."""
    model.zero_grad()
    return model


def micro_batches(rng: torch.Generator, *sizes: int, features: int = 3) -> Batches:
    return [(uniform(rng, n, features), 3 * uniform(rng, n, 1)) for n in sizes]


def sgd(model: torch.nn.Module, lr: float = 0.01, momentum: float = 0.0) -> torch.optim.SGD:
    """Plain gradient descent on `model`, with clean gradients."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    optimizer.zero_grad()
    return optimizer


# --------------------------------------------------------------------------------------- core: what .grad holds, when


@exercise(
    title=Text("What `.grad` holds", "Что лежит в `.grad`"),
    kind="predict",
    core=True,
    minutes=6,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`backward()` never looks at what you did with an earlier gradient. Does it replace `.grad` or change it?",
            "`backward()` не знает, что вы делали с прошлым градиентом. Он заменяет `.grad` или изменяет его?",
        ),
        Text(
            "The second `backward()` adds to the same tensor in place. Ask of each name: is it that tensor, or a copy?",
            "Второй `backward()` прибавляет к тому же тензору на месте. Для каждого имени спросите: это тот же тензор или копия?",
        ),
        Text(
            "The two gradients are -32 and -8. `first` is another name for `w.grad`; `copy` is not.",
            "Два градиента равны -32 и -8. `first` — другое имя для `w.grad`, а `copy` — нет.",
        ),
    ],
)
def predict_accumulation(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_accumulation)}


@predict_accumulation.mistake(
    en="It looks as if the second `backward()` replaced the first gradient. It adds to it.",
    ru="Похоже, вы считаете, что второй `backward()` заменяет первый градиент. На самом деле он прибавляет к нему.",
)
def backward_overwrites() -> dict[str, object]:
    return {"w.grad after the second backward": -8.0}


@predict_accumulation.mistake(
    en="It looks as if `first = w.grad` took a snapshot. It is a second name for the tensor that the next `backward()` adds to.",
    ru="Похоже, вы считаете, что `first = w.grad` делает снимок. На самом деле это второе имя того же тензора, к которому прибавляет следующий `backward()`.",
)
def alias_is_a_snapshot() -> dict[str, object]:
    return {"first": -32.0}


@predict_accumulation.mistake(
    en="It looks as if `clone()` stayed connected to `w.grad`. A clone has its own memory.",
    ru="Похоже, вы считаете, что `clone()` остаётся связан с `w.grad`. На самом деле у клона своя память.",
)
def clone_is_an_alias() -> dict[str, object]:
    return {"copy": -40.0}


@predict_accumulation.mistake(
    en="It looks as if `zero_grad()` left a tensor of zeros. By default it puts None there.",
    ru="Похоже, вы считаете, что `zero_grad()` оставляет тензор из нулей. На самом деле по умолчанию он кладёт туда None.",
)
def zero_grad_leaves_zeros() -> dict[str, object]:
    return {"w.grad after zero_grad": 0.0}


@predict_accumulation.mistake(
    en="It looks as if `.grad` was zero before any backward pass. Until the first one it is None.",
    ru="Похоже, вы считаете, что до первого обратного прохода `.grad` равен нулю. На самом деле там None.",
)
def starts_at_zero() -> dict[str, object]:
    return {"w.grad before": 0.0}


# ------------------------------------------------------------------------------ core: micro-batches of the same size


WEIGHT_STAYS = aspect("weight", 0, en="The weight itself does not change.", ru="Сам вес не меняется.")
ONE_BACKWARD_EACH = aspect(
    "backward_runs",
    1,
    en="There is one backward pass for each micro-batch.",
    ru="На каждый микробатч приходится один обратный проход.",
    after=("gradient",),
)


def _accumulate(name: str) -> Callable[[Any, Case], dict[str, object]]:
    """The probe of the exercises in which `name(model, batches)` leaves a gradient in `model.weight.grad`."""

    def probe(answer: Any, case: Case) -> dict[str, object]:
        weight = case.model.weight
        with passes_to(weight) as passes, batch_sizes(case.model) as sizes:
            getattr(answer, name)(case.model, case.batches)
        gradient = case.model.weight.grad
        return {"weight": weight, "gradient": gradient, "backward_runs": _directions(passes), "sizes": sizes}

    probe.__name__, probe.__module__ = name, __name__
    return probe


def _directions(passes: list[Tensor]) -> list[Tensor]:
    """The gradient of each pass, scaled to length 1: which micro-batch it is of, however the loss was weighted.

    They say more than their number, and only who goes backward through each micro-batch has them. Sorted, as the order
    of the passes does not matter.
    """
    return sorted((normalize(gradient.flatten(), dim=0) for gradient in passes), key=Tensor.tolist)


accumulate_equal = exercise(
    title=Text("Micro-batches of the same size", "Микробатчи одного размера"),
    kind="complete",
    core=True,
    minutes=10,
    aspects=[
        WEIGHT_STAYS,
        aspect(
            "gradient",
            2,
            en="`.grad` equals the gradient of the mean loss over all samples, whatever it held before.",
            ru="`.grad` равен градиенту функции потерь, усреднённой по всем примерам, что бы там ни лежало раньше.",
        ),
        ONE_BACKWARD_EACH,
    ],
    hints=[
        Text(
            "Compare with the big batch: its loss is a mean over all samples. What is the mean of one micro-batch a part of?",
            "Сравните с большим батчем: его функция потерь — среднее по всем примерам. Какую долю в нём занимает один микробатч?",
        ),
        Text(
            "Clear once, before the loop. In the loop: forward, scale, `backward()`. Nothing else.",
            "Обнулите один раз, до цикла. В цикле: прямой проход, масштабирование, `backward()`. Больше ничего.",
        ),
        Text(
            "model.zero_grad()\nfor x, y in batches:\n    loss = mse_loss(model(x), y) / ...\n    ...",
            "model.zero_grad()\nfor x, y in batches:\n    loss = mse_loss(model(x), y) / ...\n    ...",
        ),
    ],
)(_accumulate("accumulate_equal"))


@accumulate_equal.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=linear(rng), batches=micro_batches(rng, 4, 4, 4))
    yield Case(model=untouched(linear(rng, 2)), batches=micro_batches(rng, 3, 3, features=2))
    yield Case(model=linear(rng), batches=micro_batches(rng, 2, 2, 2, 2, 2))


@accumulate_equal.mistake(
    en="It looks as if the gradient that was there before stayed in the sum. Clear it before the loop.",
    ru="Похоже, что в сумме остался прежний градиент. Его нужно обнулить до цикла.",
)
def never_clears(model: torch.nn.Module, batches: Batches) -> None:
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()


@accumulate_equal.mistake(
    en="It looks as if the gradients are zeroed inside the loop: only the last micro-batch is left.",
    ru="Похоже, что градиенты обнуляются внутри цикла: остаётся только последний микробатч.",
)
def zeroes_inside(model: torch.nn.Module, batches: Batches) -> None:
    for x, y in batches:
        model.zero_grad()
        (mse_loss(model(x), y) / len(batches)).backward()


@accumulate_equal.mistake(
    en="It looks as if `backward()` runs only for the last micro-batch. The other losses are computed and thrown away.",
    ru="Похоже, что `backward()` вызывается только для последнего микробатча. Остальные потери вычислены и выброшены.",
)
def backward_on_the_last(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        loss = mse_loss(model(x), y) / len(batches)
    loss.backward()


@accumulate_equal.mistake(
    en="It looks as if the means of the micro-batches are summed without scaling: the gradient is K times too large.",
    ru="Похоже, что средние по микробатчам сложены без масштабирования: градиент в K раз больше нужного.",
)
def sums_the_means(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        mse_loss(model(x), y).backward()


@accumulate_equal.mistake(
    en="It looks as if each loss is multiplied by the size of its micro-batch and never divided by the number of samples.",
    ru="Похоже, что каждое значение функции потерь умножено на размер микробатча, но не разделено на общее число примеров.",
)
def multiplies_by_size(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) * len(x)).backward()


@accumulate_equal.mistake(
    en="It looks as if each mean is divided by the number of all samples: it was a mean already.",
    ru="Похоже, что каждое среднее разделено на число всех примеров, хотя оно уже было средним.",
)
def divides_by_samples(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / sum(len(x) for x, _ in batches)).backward()


@accumulate_equal.mistake(
    en="It looks as if the micro-batches were joined into one big batch. The gradient is right, but nothing was accumulated.",
    ru="Похоже, что микробатчи склеены в один большой батч. Градиент верен, но накопления не было.",
)
def concatenates(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    mse_loss(model(torch.cat([x for x, _ in batches])), torch.cat([y for _, y in batches])).backward()


@accumulate_equal.mistake(
    en="It looks as if the losses are summed first and `backward()` runs once. Until then every graph stays in memory.",
    ru="Похоже, что потери сначала складываются, а `backward()` вызывается один раз. До этого все графы остаются в памяти.",
)
def sums_the_losses(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    sum(mse_loss(model(x), y) / len(batches) for x, y in batches).backward()  # type: ignore[union-attr]


# ------------------------------------------------------------------------- core: the seed's first accumulation cell


def _trains(name: str) -> Callable[[Any, Case], dict[str, object]]:
    """The probe of the exercises in which `name(model, optimizer, batches, accumulation_steps)` trains in windows."""

    def probe(answer: Any, case: Case) -> dict[str, object]:
        arguments = case.model, case.optimizer, case.batches, case.accumulation_steps
        with (
            passes_to(case.model.weight) as passes,
            batch_sizes(case.model) as sizes,
            weights_after_steps(case.optimizer) as weights,
        ):
            getattr(answer, name)(*arguments)
        return {"weights": weights, "backward_runs": _directions(passes), "sizes": sizes}

    probe.__name__, probe.__module__ = name, __name__
    return probe


def _seed_case() -> Case:
    """The data of the notebook this exercise comes from: W starts at 1, the target is 2x."""
    model = torch.nn.Linear(1, 1, bias=False, dtype=torch.float64)
    torch.nn.init.ones_(model.weight)
    batches = [(x, 2 * x) for x in torch.tensor([4.0, 2.0, 3.0, 1.0], dtype=torch.float64).reshape(4, 1, 1)]
    return Case(model=model, optimizer=sgd(model, lr=0.1), batches=batches, accumulation_steps=2)


def _windows(rng: torch.Generator) -> Iterator[Case]:
    yield _seed_case()
    model = linear(rng)
    yield Case(model=model, optimizer=sgd(model), batches=micro_batches(rng, *[2] * 6), accumulation_steps=3)


fix_zero_inside = exercise(
    title=Text("Find the bug: W goes from 1.4 to 1.46", "Найдите ошибку: W идёт от 1.4 к 1.46"),
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
        aspect("backward_runs", 1, *ONE_BACKWARD_EACH.says),
    ],
    hints=[
        Text(
            "Print `model.weight.grad` just before each step. Which micro-batches does it contain?",
            "Напечатайте `model.weight.grad` прямо перед каждым шагом. Какие микробатчи в него вошли?",
        ),
        Text(
            "A window is K backward passes and one step. How often may gradients be cleared in it?",
            "Окно — это K обратных проходов и один шаг. Сколько раз за окно можно обнулять градиенты?",
        ),
        Text(
            "Move one line: from the top of the loop to after `optimizer.step()`.",
            "Перенесите одну строку: из начала цикла на место сразу после `optimizer.step()`.",
        ),
    ],
)(_trains("fix_zero_inside"))
fix_zero_inside.cases(_windows)


@fix_zero_inside.mistake(
    en="It looks as if the gradients are still cleared before every `backward()`; whether to None or to zero makes no "
    "difference. How often may a window clear them?",
    ru="Похоже, что градиенты по-прежнему обнуляются перед каждым `backward()`; None там или нули — неважно. Сколько раз "
    "за окно их можно обнулять?",
)
def still_clears_every_time(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        optimizer.zero_grad(set_to_none=False)
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()


@fix_zero_inside.mistake(
    en="It looks as if gradients are never cleared: each window still holds those of the windows before it.",
    ru="Похоже, что градиенты никогда не обнуляются: в каждом окне остаются градиенты предыдущих окон.",
)
def leaks_into_the_next_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()


@fix_zero_inside.mistake(
    en="It looks as if `backward()` runs only on the last micro-batch of a window. The numbers are those of the code you were given.",
    ru="Похоже, что `backward()` вызывается только на последнем микробатче окна. Числа те же, что у исходного кода.",
)
def backward_once_per_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        loss = mse_loss(model(x), y) / accumulation_steps
        if (i + 1) % accumulation_steps == 0:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


@fix_zero_inside.mistake(
    en="It looks as if the optimizer steps after every micro-batch: nothing is accumulated over the window.",
    ru="Похоже, что шаг оптимизатора делается после каждого микробатча: за окно ничего не накапливается.",
)
def steps_every_time(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for x, y in batches:
        optimizer.zero_grad()
        (mse_loss(model(x), y) / accumulation_steps).backward()
        optimizer.step()


@fix_zero_inside.mistake(
    en="It looks as if the gradients are cleared just before the step, so that the step has nothing to use.",
    ru="Похоже, что градиенты обнуляются прямо перед шагом, и для шага ничего не остаётся.",
)
def clears_before_the_step(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.zero_grad()
            optimizer.step()


@fix_zero_inside.mistake(
    en="It looks as if the losses of a window are added up and go backward together. The weights are right, "
    "but until then every graph of the window stays in memory.",
    ru="Похоже, что потери окна складываются, а обратный проход у них один, общий. Веса верны, но до него все графы "
    "окна остаются в памяти.",
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
    en="It looks as if each window is joined into one big batch. The weights are right, but nothing was accumulated.",
    ru="Похоже, что каждое окно склеено в один большой батч. Веса верны, но накопления не было.",
)
def trains_on_joined_windows(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    _epoch(model, optimizer, _joined(batches, accumulation_steps), 1, lambda w, n: 1.0)


@fix_zero_inside.mistake(
    en="It looks as if the scaling by 1/K was lost: each step is K times too long.",
    ru="Похоже, что потерялось масштабирование на 1/K: каждый шаг в K раз длиннее нужного.",
)
def loses_the_scale(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        mse_loss(model(x), y).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()


# --------------------------------------------------------------------------- core: micro-batches of different sizes


accumulate_uneven = exercise(
    title=Text("Micro-batches of different sizes", "Микробатчи разного размера"),
    kind="complete",
    core=True,
    difficulty=2,
    minutes=12,
    aspects=[
        WEIGHT_STAYS,
        aspect(
            "gradient",
            3,
            en="`.grad` equals the gradient of the mean loss over all samples, also when sizes differ.",
            ru="`.grad` равен градиенту функции потерь, усреднённой по всем примерам, и при разных размерах.",
        ),
        ONE_BACKWARD_EACH,
    ],
    hints=[
        Text(
            "`mse_loss` gives a mean over its own micro-batch. How many samples stand behind that number?",
            "`mse_loss` даёт среднее по своему микробатчу. Сколько примеров стоит за этим числом?",
        ),
        Text(
            "The mean over all samples is a weighted mean of the micro-batches' means. The weights add up to 1.",
            "Среднее по всем примерам — взвешенное среднее по микробатчам. Сумма весов равна 1.",
        ),
        Text(
            "total = sum(len(x) for x, _ in batches)\n... mse_loss(model(x), y) * len(x) / total",
            "total = sum(len(x) for x, _ in batches)\n... mse_loss(model(x), y) * len(x) / total",
        ),
    ],
)(_accumulate("accumulate_uneven"))


@accumulate_uneven.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=linear(rng), batches=micro_batches(rng, 4, 4, 1))
    yield Case(model=untouched(linear(rng, 2)), batches=micro_batches(rng, 1, 5, features=2))
    yield Case(model=linear(rng), batches=micro_batches(rng, 3, 2, 6, 1))


@accumulate_uneven.mistake(
    en="It looks as if every micro-batch got the same weight, 1/K, although they have different sizes.",
    ru="Похоже, что все микробатчи получили одинаковый вес 1/K, хотя размеры у них разные.",
)
def divides_by_count(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()


accumulate_uneven.mistake(*accumulate_equal.mistakes["sums_the_means"].says)(sums_the_means)
accumulate_uneven.mistake(*accumulate_equal.mistakes["multiplies_by_size"].says)(multiplies_by_size)


@accumulate_uneven.mistake(
    en="It looks as if the gradients are zeroed inside the loop: only the last micro-batch is left.",
    ru="Похоже, что градиенты обнуляются внутри цикла: остаётся только последний микробатч.",
)
def keeps_only_the_last(model: torch.nn.Module, batches: Batches) -> None:
    total = sum(len(x) for x, _ in batches)
    for x, y in batches:
        model.zero_grad()
        (mse_loss(model(x), y) * len(x) / total).backward()


@accumulate_uneven.mistake(
    en="It looks as if the gradient that was there before stayed in the sum. Clear it before the loop.",
    ru="Похоже, что в сумме остался прежний градиент. Его нужно обнулить до цикла.",
)
def keeps_the_old_gradient(model: torch.nn.Module, batches: Batches) -> None:
    total = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (mse_loss(model(x), y) * len(x) / total).backward()


accumulate_uneven.mistake(*accumulate_equal.mistakes["concatenates"].says)(concatenates)
accumulate_uneven.mistake(*accumulate_equal.mistakes["divides_by_samples"].says)(divides_by_samples)


@accumulate_uneven.mistake(*accumulate_equal.mistakes["sums_the_losses"].says)
def sums_weighted_losses(model: torch.nn.Module, batches: Batches) -> None:
    total = sum(len(x) for x, _ in batches)
    model.zero_grad()
    sum(mse_loss(model(x), y) * len(x) / total for x, y in batches).backward()  # type: ignore[union-attr]


# ------------------------------------------------------------------ core: a whole epoch, the last window included


@exercise(
    title=Text("A whole epoch", "Целая эпоха"),
    kind="design",
    core=True,
    difficulty=3,
    minutes=20,
    aspects=[
        aspect(
            "weights",
            4,
            en="After every step, the last window's included, the weights are those of training on the big batches.",
            ru="После каждого шага, включая последнее окно, веса такие же, как при обучении на больших батчах.",
        ),
        aspect(
            "live_bytes",
            2,
            en="At no moment is more than one micro-batch's graph in memory (bytes, for 6 micro-batches of 64 samples).",
            ru="В памяти никогда не больше одного графа, графа одного микробатча (байты, для 6 микробатчей по 64 примера).",
        ),
        aspect(
            "mean_loss",
            1,
            en="What comes back is the mean loss over all samples of the epoch, as a float.",
            ru="Возвращается среднее значение функции потерь по всем примерам эпохи, число типа float.",
        ),
    ],
    hints=[
        Text(
            "With 5 micro-batches and K = 2 there are three windows. Which samples does the third mean go over?",
            "При 5 микробатчах и K = 2 окон три. По каким примерам берётся среднее в третьем?",
        ),
        Text(
            "Cut the list into windows first: `batches[i:i + K]`. Each window is then the exercise you have already solved, and a step.",
            "Сначала разрежьте список на окна: `batches[i:i + K]`. Тогда каждое окно — уже решённое упражнение и один шаг.",
        ),
        Text(
            "for start in range(0, len(batches), accumulation_steps):\n"
            "    window = batches[start:start + accumulation_steps]\n"
            "    samples = sum(len(x) for x, _ in window)\n"
            "    ...  # and add the losses up with .item()",
            "for start in range(0, len(batches), accumulation_steps):\n"
            "    window = batches[start:start + accumulation_steps]\n"
            "    samples = sum(len(x) for x, _ in window)\n"
            "    ...  # .item()",
        ),
    ],
)
def train_epoch(answer: Any, case: Case) -> dict[str, object]:
    with (
        passes_to(case.model.weight) as passes,
        batch_sizes(case.model) as sizes,
        weights_after_steps(case.optimizer) as weights,
    ):
        mean_loss = answer.train_epoch(case.model, case.optimizer, case.batches, case.accumulation_steps)
    return {
        "weights": weights,
        "mean_loss": mean_loss,
        "backward_runs": _directions(passes),
        "sizes": sizes,
        "live_bytes": _memory_of_a_window(answer.train_epoch),
    }


_SAMPLES, _WIDTH, _MICRO_BATCHES = 64, 32, 6


def _memory_of_a_window(train: Callable[..., object]) -> AtMost:
    """Peak bytes of one window of 6 micro-batches through a hidden layer of 64 x 32 numbers.

    One micro-batch needs its hidden activation, and while it goes backward two gradients of that size: 3 units, and a
    little for the weights. The limit is 1.25 times 3; a second graph beside the first needs 4, every graph 6 and more.
    """
    net = torch.nn.Sequential(torch.nn.Linear(2, _WIDTH), torch.nn.Tanh(), torch.nn.Linear(_WIDTH, 1)).double()
    batches = [(torch.ones(_SAMPLES, 2).double(), torch.ones(_SAMPLES, 1).double()) for _ in range(_MICRO_BATCHES)]
    with live_bytes() as live:
        train(net, sgd(net), batches, _MICRO_BATCHES)
    return AtMost(limit=round(1.25 * 3 * _SAMPLES * _WIDTH * 8), used=live.peak)


@train_epoch.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for sizes, steps in [((2, 2, 2, 2, 2), 2), ((3, 1, 2, 4), 3), ((2, 3, 1, 4, 2, 3), 3)]:
        model = linear(rng)
        yield Case(model=model, optimizer=sgd(model), batches=micro_batches(rng, *sizes), accumulation_steps=steps)


def _epoch(model: Any, optimizer: Any, batches: Batches, k: int, share: Callable[[Batches, int], float]) -> float:
    """An epoch in windows of `k`; `share(window, n)` is the weight of a micro-batch of n samples."""
    total = 0.0
    for start in range(0, len(batches), k):
        window = batches[start : start + k]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * share(window, len(x))).backward()
            total += loss.item() * len(x)
        optimizer.step()
    return total / _samples(batches)


def _clearing(model: torch.nn.Module) -> Callable[[Tensor], Tensor]:
    """`model`, called after a `zero_grad()`."""

    def call(x: Tensor) -> Tensor:
        model.zero_grad()
        return model(x)  # type: ignore[no-any-return]

    return call


def _joined(batches: Batches, k: int) -> Batches:
    """Every window of `k` micro-batches as one."""
    windows = (batches[start : start + k] for start in range(0, len(batches), k))
    return [(torch.cat([x for x, _ in w]), torch.cat([y for _, y in w])) for w in windows]


def _samples(batches: Batches) -> int:
    return sum(len(x) for x, _ in batches)


@train_epoch.mistake(
    en="It looks as if the last, incomplete window never gets its step: those samples teach nothing.",
    ru="Похоже, что последнее, неполное окно остаётся без шага: его примеры ничему не учат.",
)
def drops_the_last_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    whole = len(batches) - len(batches) % accumulation_steps
    return _epoch(model, optimizer, batches[:whole], accumulation_steps, lambda w, n: n / _samples(w))


@train_epoch.mistake(
    en="It looks as if every loss is divided by K, whatever the sizes and even in the last, shorter window.",
    ru="Похоже, что каждое значение функции потерь делится на K, независимо от размеров и даже в последнем, коротком окне.",
)
def always_divides_by_k(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    return _epoch(model, optimizer, batches, accumulation_steps, lambda w, n: 1 / accumulation_steps)


@train_epoch.mistake(
    en="It looks as if each micro-batch of a window got the same weight, although they have different sizes.",
    ru="Похоже, что все микробатчи окна получили одинаковый вес, хотя размеры у них разные.",
)
def same_weight_in_a_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    return _epoch(model, optimizer, batches, accumulation_steps, lambda w, n: 1 / len(w))


@train_epoch.mistake(
    en="It looks as if gradients are divided by the samples of the whole epoch instead of those of their window.",
    ru="Похоже, что градиенты делятся на число примеров всей эпохи, а не своего окна.",
)
def divides_by_the_epoch(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    return _epoch(model, optimizer, batches, accumulation_steps, lambda w, n: n / _samples(batches))


@train_epoch.mistake(
    en="It looks as if this is the usual loop: every loss divided by K, and no step for the last, incomplete window.",
    ru="Похоже, что это обычный цикл: каждое значение потерь делится на K, а последнее, неполное окно остаётся без шага.",
)
def usual_pattern(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    whole = len(batches) - len(batches) % accumulation_steps
    return _epoch(model, optimizer, batches[:whole], accumulation_steps, lambda w, n: 1 / accumulation_steps)


@train_epoch.mistake(
    en="It looks as if gradients are never cleared: each window still holds those of the windows before it.",
    ru="Похоже, что градиенты никогда не обнуляются: в каждом окне остаются градиенты предыдущих окон.",
)
def never_clears_a_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    optimizer.zero_grad = lambda: None
    return _epoch(model, optimizer, batches, accumulation_steps, lambda w, n: n / _samples(w))


@train_epoch.mistake(
    en="It looks as if gradients are zeroed for every micro-batch: the last one of a window is all that the step sees.",
    ru="Похоже, что градиенты обнуляются для каждого микробатча: шаг видит только последний микробатч окна.",
)
def zeroes_in_the_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    return _epoch(_clearing(model), optimizer, batches, accumulation_steps, lambda w, n: n / _samples(w))


@train_epoch.mistake(
    en="It looks as if each window is joined into one big batch. The weights are right, but nothing was accumulated.",
    ru="Похоже, что каждое окно склеено в один большой батч. Веса верны, но накопления не было.",
)
def joins_a_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    return _epoch(model, optimizer, _joined(batches, accumulation_steps), 1, lambda w, n: 1.0)


@train_epoch.mistake(
    en="It looks as if the losses of a window are summed and go backward together: all its graphs are in memory at once.",
    ru="Похоже, что потери окна складываются, а обратный проход у них один, общий: в памяти одновременно лежат все "
    "графы окна.",
)
def sums_a_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    total = 0.0
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        losses = [mse_loss(model(x), y) * len(x) / _samples(window) for x, y in window]
        sum(losses).backward()  # type: ignore[union-attr]
        optimizer.step()
        total += sum(loss.item() for loss in losses) * _samples(window)
    return total / _samples(batches)


@train_epoch.mistake(
    en="It looks as if the total of the losses is still a tensor. Unless detached, it carries a history of every "
    "micro-batch along: add up `.item()`.",
    ru="Похоже, что сумма потерь осталась тензором. Если её не отсоединить от графа, за ней тянется история всех "
    "микробатчей: складывайте `.item()`.",
)
def returns_a_tensor(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * len(x) / _samples(window)).backward()
            total = total + loss * len(x)
        optimizer.step()
    return total / _samples(batches)


@train_epoch.mistake(
    en="It looks as if what comes back is the plain mean of the micro-batches' losses, although their sizes differ.",
    ru="Похоже, что возвращается простое среднее потерь по микробатчам, хотя размеры у них разные.",
)
def averages_the_means(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    losses = []
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * len(x) / _samples(window)).backward()
            losses.append(loss.item())
        optimizer.step()
    return sum(losses) / len(losses)


# ------------------------------------------------------------------------ extra: the seed's second accumulation cell


fix_backward_last = exercise(
    title=Text("Find the bug: the other cell that prints 1.46", "Найдите ошибку: другая ячейка, которая печатает 1.46"),
    kind="find the bug",
    difficulty=2,
    minutes=8,
    aspects=[
        aspect("weights", 2, *fix_zero_inside.aspects[0].says),
        aspect("backward_runs", 1, *ONE_BACKWARD_EACH.says),
    ],
    hints=[
        Text(
            "How many losses are computed in a window, and how many of them go backward?",
            "Сколько значений функции потерь вычисляется за окно и для скольких из них идёт обратный проход?",
        ),
        Text(
            "`loss` is one name. Each turn of the loop gives it a new value; what happens to the old one?",
            "`loss` — одно имя. На каждой итерации оно получает новое значение; что становится со старым?",
        ),
        Text("Move one line out of the `if`.", "Вынесите одну строку из `if`."),
    ],
)(_trains("fix_backward_last"))
fix_backward_last.cases(_windows)


@fix_backward_last.mistake(
    en="It looks as if `backward()` still runs only for the last micro-batch of a window. The losses before it are "
    "computed and thrown away.",
    ru="Похоже, что `backward()` по-прежнему вызывается только для последнего микробатча окна. Потери до него вычислены и "
    "выброшены.",
)
def still_backward_on_the_last(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        loss = mse_loss(model(x), y) / accumulation_steps
        if i % accumulation_steps == accumulation_steps - 1:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@fix_backward_last.mistake(
    en="It looks as if gradients are cleared inside a window, before its last micro-batch: that one is all the step sees.",
    ru="Похоже, что градиенты обнуляются внутри окна, перед его последним микробатчем: шаг видит только этот микробатч.",
)
def clears_every_time(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        optimizer.zero_grad()
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()


for _name in (
    "one_backward_for_the_sum",
    "trains_on_joined_windows",
    "loses_the_scale",
    "leaks_into_the_next_window",
    "steps_every_time",
):
    _shared = fix_zero_inside.mistakes[_name]
    fix_backward_last.mistake(*_shared.says)(_shared.program)


@fix_backward_last.mistake(
    en="It looks as if `backward()` goes twice through the same graph, as with a running sum of losses: the second time it is gone.",
    ru="Похоже, что `backward()` дважды проходит по одному графу, как при растущей сумме потерь: во второй раз графа уже нет.",
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
    en="It looks as if `retain_graph=True` lets a running sum go backward again and again: old losses are counted twice.",
    ru="Похоже, что с `retain_graph=True` обратный проход по растущей сумме потерь повторяется: старые потери учтены дважды.",
)
def retains_a_running_sum(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    total: Any = 0.0
    for i, (x, y) in enumerate(batches):
        total = total + mse_loss(model(x), y) / accumulation_steps
        total.backward(retain_graph=True)
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()


# -------------------------------------------------------------------------------------- extra: None is not zero


@exercise(
    title=Text("`None` and zero", "`None` и ноль"),
    kind="predict",
    minutes=6,
    aspects=[aspect("table", 1, *predict_accumulation.aspects[0].says)],
    hints=[
        Text(
            "What does an optimizer do with a parameter whose `.grad` is None?",
            "Что оптимизатор делает с параметром, у которого `.grad` равен None?",
        ),
        Text(
            "Momentum: velocity = 0.9 * velocity + gradient; then w = w - 0.1 * velocity. Put in a gradient of 0.",
            "Импульс: velocity = 0.9 * velocity + gradient; затем w = w - 0.1 * velocity. Подставьте градиент 0.",
        ),
        Text(
            "After the first step velocity is 1 and w is 0.9. A gradient of 0 leaves a velocity of 0.9; None skips the parameter.",
            "После первого шага velocity равна 1, а w — 0.9. Градиент 0 оставляет velocity 0.9; None пропускает параметр.",
        ),
    ],
)
def predict_zero_grad(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_zero_grad)}


@predict_zero_grad.mistake(
    en="It looks as if None counted as a gradient of zero. A parameter whose `.grad` is None is skipped, momentum and all.",
    ru="Похоже, что None принят за нулевой градиент. Параметр, у которого `.grad` равен None, пропускается целиком, вместе с импульсом.",
)
def none_counts_as_zero() -> dict[str, object]:
    return {"w: None, momentum": 0.81}


@predict_zero_grad.mistake(
    en="It looks as if a gradient of zero stopped the step. Momentum goes on moving the weight.",
    ru="Похоже, вы считаете, что нулевой градиент останавливает шаг. На самом деле импульс продолжает двигать вес.",
)
def zero_stops_the_step() -> dict[str, object]:
    return {"w: zero, momentum": 0.9}


@predict_zero_grad.mistake(
    en="It looks as if `zero_grad()` left zeros. By default it leaves None; zeros need `set_to_none=False`.",
    ru="Похоже, вы считаете, что `zero_grad()` оставляет нули. На самом деле по умолчанию он оставляет None; для нулей нужен `set_to_none=False`.",
)
def default_leaves_zeros() -> dict[str, object]:
    return {"w.grad after zero_grad()": 0.0}


@predict_zero_grad.mistake(
    en="It looks as if the weight moved without momentum, too. Plain descent on a gradient of zero stays where it is.",
    ru="Похоже, вы считаете, что вес сдвинется и без импульса. На самом деле обычный спуск с нулевым градиентом остаётся на месте.",
)
def moves_without_momentum() -> dict[str, object]:
    return {"w: zero, no momentum": 0.81}


# ----------------------------------------------------------------------------------------- extra: clip once a window


def affine(rng: torch.Generator) -> torch.nn.Linear:
    model = torch.nn.Linear(3, 1, dtype=torch.float64)
    model.weight = torch.nn.Parameter(uniform(rng, 1, 3))
    model.bias = torch.nn.Parameter(uniform(rng, 1))
    return model


def scattered(rng: torch.Generator, *sizes: int) -> Batches:
    """Micro-batches whose gradients point to and fro, the longest first: clipping any of them early shows at the end."""
    return [(2 * uniform(rng, n, 3), (-3.0) ** -i * 100 * uniform(rng, n, 1)) for i, n in enumerate(sizes)]


def norm_of_mean(model: torch.nn.Module, batches: Batches) -> float:
    """Norm of the gradient of the mean loss over all samples."""
    x, y = (torch.cat(parts) for parts in zip(*batches))
    gradients = torch.autograd.grad(mse_loss(model(x), y), list(model.parameters()))
    return float(torch.cat([g.flatten() for g in gradients]).norm())


@exercise(
    title=Text("Clip once per window", "Отсечение один раз за окно"),
    kind="complete",
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "weights",
            2,
            en="The step uses the window's whole gradient, shortened to `max_norm` only if it is longer.",
            ru="Шаг использует весь градиент окна, укороченный до `max_norm`, только если он длиннее.",
        )
    ],
    hints=[
        Text(
            "The norm of which gradient should stay below `max_norm`: a micro-batch's or the window's?",
            "Норма какого градиента должна не превышать `max_norm`: микробатча или окна?",
        ),
        Text(
            "Accumulate as before. `torch.nn.utils.clip_grad_norm_` has one right place, and it is not in the loop.",
            "Накопите градиент как раньше. У `torch.nn.utils.clip_grad_norm_` одно верное место, и оно не в цикле.",
        ),
        Text(
            "optimizer.zero_grad()\nfor x, y in batches:\n    ...\ntorch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n...",
            "optimizer.zero_grad()\nfor x, y in batches:\n    ...\ntorch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n...",
        ),
    ],
)
def clip_once(answer: Any, case: Case) -> dict[str, object]:
    with weights_after_steps(case.optimizer) as weights:
        answer.clip_once(case.model, case.optimizer, case.batches, case.max_norm)
    return {"weights": weights}


@clip_once.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for factor in (0.5, 4.0):  # shorter than the mean gradient; longer than even the sum of three
        model, batches = affine(rng), scattered(rng, 4, 4, 4)
        max_norm = factor * norm_of_mean(model, batches)
        yield Case(model=model, optimizer=unclean(sgd(model)), batches=batches, max_norm=max_norm)


def unclean(optimizer: torch.optim.SGD) -> torch.optim.SGD:
    """`optimizer` with gradients left over from an earlier backward pass."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.full_like(parameter, 1000.0)
    return optimizer


def _window(model: Any, optimizer: Any, batches: Batches, after_each: Callable[[], object] = lambda: None) -> None:
    """Accumulate a window's gradient over micro-batches of the same size."""
    optimizer.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()
        after_each()


@clip_once.mistake(
    en="It looks as if the gradient is clipped after every micro-batch: what was cut early is missing from the window.",
    ru="Похоже, что градиент отсекается после каждого микробатча: того, что отсечено раньше, в градиенте окна уже нет.",
)
def clips_each(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    _window(model, optimizer, batches, lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm))
    optimizer.step()


@clip_once.mistake(
    en="It looks as if the step uses a gradient that was not clipped: clipping stands too early, too late, or nowhere.",
    ru="Похоже, что шаг использует неотсечённый градиент: отсечение стоит слишком рано, слишком поздно или его нет.",
)
def clips_after_the_step(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    _window(model, optimizer, batches)
    optimizer.step()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)


@clip_once.mistake(
    en="It looks as if every entry is clipped by value. That turns the gradient; clipping by norm only shortens it.",
    ru="Похоже, что отсекается каждая компонента по значению. Это поворачивает градиент; отсечение по норме только укорачивает.",
)
def clips_by_value(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    _window(model, optimizer, batches)
    torch.nn.utils.clip_grad_value_(model.parameters(), max_norm)
    optimizer.step()


@clip_once.mistake(
    en="It looks as if parameters are clipped one by one, or only one of them. The norm is that of all together.",
    ru="Похоже, что параметры отсекаются по одному или отсекается только один. Норма берётся по всем вместе.",
)
def clips_each_parameter(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    _window(model, optimizer, batches)
    for parameter in model.parameters():
        torch.nn.utils.clip_grad_norm_(parameter, max_norm)
    optimizer.step()


@clip_once.mistake(
    en="It looks as if the gradients are zeroed inside the loop: only the last micro-batch is left.",
    ru="Похоже, что градиенты обнуляются внутри цикла: остаётся только последний микробатч.",
)
def clips_only_the_last(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    _window(_clearing(model), optimizer, batches)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()


@clip_once.mistake(
    en="It looks as if the gradient is always scaled to `max_norm`, also when it is shorter than that.",
    ru="Похоже, что градиент всегда приводится к длине `max_norm`, даже если он короче.",
)
def always_rescales(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    _window(model, optimizer, batches)
    norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
    for p in model.parameters():
        p.grad *= max_norm / (norm + 1e-6)
    optimizer.step()


@clip_once.mistake(
    en="It looks as if the sum of the gradients is clipped, not their mean: the division by K is missing.",
    ru="Похоже, что отсекается сумма градиентов, а не среднее: не хватает деления на K.",
)
def clips_the_sum(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    optimizer.zero_grad()
    for x, y in batches:
        mse_loss(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()


# ------------------------------------------------------------------------------ extra: mixed precision's loss scale


class FakeScaler:
    """`torch.amp.GradScaler` with a fixed scale of 2**16, in float64 on the CPU: only the order of its calls matters."""

    def __init__(self) -> None:
        self.factor, self.unscaled, self.steps, self.updates = 2.0**16, False, 0, 0

    def __repr__(self) -> str:
        return "scaler with scale 65536"

    def scale(self, loss: Tensor) -> Tensor:
        return loss * self.factor

    def get_scale(self) -> float:
        return self.factor

    def unscale_(self, optimizer: torch.optim.Optimizer) -> None:
        if self.unscaled:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        self.unscaled = True
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad.div_(self.factor)

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        if not self.unscaled:
            self.unscale_(optimizer)
        self.steps += 1
        optimizer.step()

    def update(self) -> None:
        self.unscaled, self.updates = False, self.updates + 1


@exercise(
    title=Text("Clipping under a loss scale", "Отсечение при масштабировании функции потерь"),
    kind="complete",
    difficulty=3,
    minutes=10,
    aspects=[
        aspect(
            "weights",
            2,
            en="The step is the one you would make without a scale: `max_norm` is compared with the true gradient.",
            ru="Шаг такой же, как без масштаба: с `max_norm` сравнивается настоящий градиент.",
        ),
        aspect(
            "calls",
            1,
            en="`scaler.step` and `scaler.update` are called once each: they skip bad steps and adapt the scale.",
            ru="`scaler.step` и `scaler.update` вызываются по одному разу: они пропускают плохие шаги и меняют масштаб.",
        ),
    ],
    hints=[
        Text(
            "After `scaler.scale(loss).backward()`, what is the norm of `.grad` compared with the true one?",
            "Во сколько раз норма `.grad` после `scaler.scale(loss).backward()` больше настоящей?",
        ),
        Text(
            "`unscale_` divides by the scale in place. It belongs after the last backward of the window and before clipping.",
            "`unscale_` делит на масштаб на месте. Его место — после последнего обратного прохода окна и до отсечения.",
        ),
        Text(
            "...  # accumulate scaled losses\nscaler.unscale_(optimizer)\n...  # clip\nscaler.step(optimizer)\nscaler.update()",
            "...  # накопить\nscaler.unscale_(optimizer)\n...  # отсечь\nscaler.step(optimizer)\nscaler.update()",
        ),
    ],
)
def unscale_then_clip(answer: Any, case: Case) -> dict[str, object]:
    before = case.model.weight.detach().clone()
    with weights_after_steps(case.optimizer) as weights:
        answer.unscale_then_clip(case.model, case.optimizer, case.scaler, case.batches, case.max_norm)
    # Steps 65536 times too short leave the same weights to six digits; how far they moved tells them apart.
    return {"weights": weights, "calls": [case.scaler.steps, case.scaler.updates], "moved": before - case.model.weight}


@unscale_then_clip.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for factor in (0.5, 3.0):
        model, batches = affine(rng), scattered(rng, 3, 3)
        max_norm = factor * norm_of_mean(model, batches)
        optimizer, scaler = unclean(sgd(model)), FakeScaler()
        yield Case(model=model, optimizer=optimizer, scaler=scaler, batches=batches, max_norm=max_norm)


def _scaled_window(model: Any, optimizer: Any, scaler: Any, batches: Batches) -> None:
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) / len(batches)).backward()


@unscale_then_clip.mistake(
    en="It looks as if the gradient is clipped while it is still scaled: 65536 times too long, it is always cut.",
    ru="Похоже, что градиент отсекается, пока он ещё масштабирован: он в 65536 раз длиннее и укорачивается всегда.",
)
def clips_the_scaled(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    _scaled_window(model, optimizer, scaler, batches)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()


@unscale_then_clip.mistake(
    en="It looks as if `unscale_` runs more than once, perhaps in the loop. It may be called once between two updates.",
    ru="Похоже, что `unscale_` вызывается больше одного раза, например в цикле. Между двумя обновлениями его можно "
    "вызвать только один раз.",
)
def unscales_each(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) / len(batches)).backward()
        scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()


@unscale_then_clip.mistake(
    en="It looks as if the scaled gradient reached the optimizer: the step is 65536 times too long, or clipped.",
    ru="Похоже, что до оптимизатора дошёл масштабированный градиент: шаг в 65536 раз длиннее нужного или отсечён.",
)
def never_unscales(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    _scaled_window(model, optimizer, scaler, batches)
    optimizer.step()
    scaler.update()


@unscale_then_clip.mistake(
    en="It looks as if the loss was never scaled, but its gradient was unscaled: the step is 65536 times too short.",
    ru="Похоже, что значение функции потерь не масштабировали, а градиент разделили: шаг в 65536 раз короче нужного.",
)
def never_scales(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    _window(model, optimizer, batches)
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()


@unscale_then_clip.mistake(
    en="It looks as if `update()` runs more than once, perhaps for every micro-batch. Within a window the scale must stay.",
    ru="Похоже, что `update()` вызывается больше одного раза, например для каждого микробатча. Внутри окна масштаб не меняют.",
)
def updates_each(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) / len(batches)).backward()
        scaler.update()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)


# ------------------------------------------------------------------------------------------- extra: token means


IGNORED = -100  # the target that `cross_entropy` passes over: padding


def token_loss(model: torch.nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Mean cross-entropy over the tokens of a micro-batch that are no padding; x is (n, t, 3), y is (n, t)."""
    return cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=IGNORED)


@exercise(
    title=Text("Means over tokens", "Среднее по токенам"),
    kind="complete",
    difficulty=3,
    minutes=10,
    aspects=[
        aspect(
            "gradient",
            2,
            en="`.grad` equals the gradient of the mean over all tokens that are no padding.",
            ru="`.grad` равен градиенту среднего по всем токенам, кроме заполнителей.",
        )
    ],
    hints=[
        Text(
            "`cross_entropy` with `ignore_index` divides by something. By what?",
            "`cross_entropy` с `ignore_index` на что-то делит. На что?",
        ),
        Text(
            "Weight each micro-batch by its share of the valid tokens: `(y != -100).sum()`.",
            "Вес микробатча — его доля среди настоящих токенов: `(y != -100).sum()`.",
        ),
        Text(
            "total = sum((y != -100).sum() for _, y in batches)\n... * (y != -100).sum() / total",
            "total = sum((y != -100).sum() for _, y in batches)\n... * (y != -100).sum() / total",
        ),
    ],
)
def token_mean(answer: Any, case: Case) -> dict[str, object]:
    answer.token_mean(case.model, case.batches)
    return {"gradient": case.model.weight.grad}


@token_mean.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for lengths in ([(5, 1), (2, 2, 1)], [(1,), (4, 5), (2, 3)]):
        model = torch.nn.Linear(3, 4, bias=False, dtype=torch.float64)
        model.weight = torch.nn.Parameter(uniform(rng, 4, 3))
        model.weight.grad = 100 * uniform(rng, 4, 3)
        yield Case(model=model, batches=[_tokens(rng, *each) for each in lengths])


def _tokens(rng: torch.Generator, *lengths: int) -> tuple[Tensor, Tensor]:
    y = torch.full((len(lengths), 5), IGNORED)
    for row, length in enumerate(lengths):
        y[row, :length] = torch.randint(4, (length,), generator=rng)
    return uniform(rng, len(lengths), 5, 3), y


def _weighted_tokens(model: torch.nn.Module, batches: Batches, weight: Callable[[Tensor], float]) -> None:
    model.zero_grad()
    total = sum(weight(y) for _, y in batches)
    for x, y in batches:
        (token_loss(model, x, y) * weight(y) / total).backward()


@token_mean.mistake(
    en="It looks as if every micro-batch got the weight 1/K, whether it holds many tokens or few.",
    ru="Похоже, что каждый микробатч получил вес 1/K, сколько бы токенов в нём ни было.",
)
def weighs_alike(model: torch.nn.Module, batches: Batches) -> None:
    _weighted_tokens(model, batches, lambda y: 1.0)


@token_mean.mistake(
    en="It looks as if micro-batches are weighted by their sequences, or by all positions, padding included.",
    ru="Похоже, что вес микробатча — число последовательностей или всех позиций вместе с заполнителями.",
)
def weighs_by_sequences(model: torch.nn.Module, batches: Batches) -> None:
    _weighted_tokens(model, batches, len)


@token_mean.mistake(
    en="It looks as if the mean of each micro-batch was divided by a count that it was never multiplied with.",
    ru="Похоже, что среднее по микробатчу делится на число токенов, на которое его не умножали.",
)
def divides_a_mean(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    total = sum(int((y != IGNORED).sum()) for _, y in batches)
    for x, y in batches:
        (token_loss(model, x, y) / total).backward()


@token_mean.mistake(
    en="It looks as if the gradient that was there before stayed in the sum. Clear it before the loop.",
    ru="Похоже, что в сумме остался прежний градиент. Его нужно обнулить до цикла.",
)
def keeps_what_was_there(model: torch.nn.Module, batches: Batches) -> None:
    total = sum(int((y != IGNORED).sum()) for _, y in batches)
    for x, y in batches:
        (token_loss(model, x, y) * (y != IGNORED).sum() / total).backward()


@token_mean.mistake(
    en="It looks as if the gradients are zeroed inside the loop: only the last micro-batch is left.",
    ru="Похоже, что градиенты обнуляются внутри цикла: остаётся только последний микробатч.",
)
def keeps_the_last_tokens(model: torch.nn.Module, batches: Batches) -> None:
    total = sum(int((y != IGNORED).sum()) for _, y in batches)
    for x, y in batches:
        model.zero_grad()
        (token_loss(model, x, y) * (y != IGNORED).sum() / total).backward()


@token_mean.mistake(
    en="It looks as if the token means are added up without any weight.",
    ru="Похоже, что средние по токенам складываются без весов.",
)
def sums_token_means(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        token_loss(model, x, y).backward()


# --------------------------------------------------------------------------------- extra: a model that breaks it all


@exercise(
    title=Text("A model for which it is not exact", "Модель, для которой накопление неточно"),
    kind="write the counter-example",
    difficulty=3,
    minutes=10,
    aspects=[
        aspect(
            "same_sizes",
            0,
            en="There are two micro-batches or more, all of the same size.",
            ru="Микробатчей не меньше двух, и все одного размера.",
        ),
        aspect(
            "repeatable",
            0,
            en="The big batch gives the same gradient each time: nothing is random.",
            ru="Большой батч каждый раз даёт один и тот же градиент: случайности нет.",
        ),
        aspect(
            "differs",
            2,
            en="The accumulated gradient differs from the big batch's by more than 1 %.",
            ru="Накопленный градиент отличается от градиента большого батча больше чем на 1 %.",
            after=("same_sizes", "repeatable"),
        ),
    ],
    hints=[
        Text(
            "Accumulation relies on one thing: the loss of a sample does not depend on the samples beside it. Where does it?",
            "Накопление держится на одном: потери на примере не зависят от соседних примеров. Где это не так?",
        ),
        Text(
            "One kind of normalisation computes a mean over the batch. In which mode does it do so?",
            "Одна из нормализаций вычисляет среднее по батчу. В каком режиме она это делает?",
        ),
        Text(
            "model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))\nbatches = [(x, y), ...]",
            "model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))\nbatches = [(x, y), ...]",
        ),
    ],
)
def break_accumulation(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        model, batches = answer.break_accumulation()
        sizes = [len(x) for x, _ in batches]
        big = [(torch.cat([x for x, _ in batches]), torch.cat([y for _, y in batches]))]
        twin = copy.deepcopy(model)
        first, again = _mean_gradient(twin, big), _mean_gradient(twin, big)
        small = _mean_gradient(copy.deepcopy(model), batches)
        away = ((small - first).norm() / first.norm()).item()
    layers = {type(module).__name__ for module in model.modules()}
    return {
        "same_sizes": len(sizes) > 1 and len(set(sizes)) == 1,
        "repeatable": torch.allclose(first, again),
        "differs": away > 0.01,
        "training": model.training,
        "special_layers": sorted(name for name in layers if "Norm" in name or "Drop" in name),
    }


def _mean_gradient(model: torch.nn.Module, batches: Batches) -> Tensor:
    """Return the gradient that accumulating mean losses over K micro-batches, each divided by K, would leave.

    The model's `.grad` stays as it is, so that the function answers no exercise.
    """
    parameters = list(model.parameters())
    losses = torch.stack([mse_loss(model(x), y) / len(batches) for x, y in batches])
    found = torch.autograd.grad(losses.sum(), parameters, allow_unused=True)
    return torch.cat([gradient.flatten() for gradient in found if gradient is not None])


def _halves(n: int, m: int) -> Batches:
    x = torch.arange(2.0 * (n + m)).reshape(n + m, 2).sin()
    y = x.sum(1, keepdim=True).exp()
    return [(x[:n], y[:n]), (x[n:], y[n:])]


@break_accumulation.mistake(
    en="It looks as if the difference comes from micro-batches of different sizes. Find one that equal sizes do not cure.",
    ru="Похоже, что различие вызвано разными размерами микробатчей. Найдите различие, которое остаётся и при равных размерах.",
)
def uneven_sizes() -> tuple[torch.nn.Module, Batches]:
    return torch.nn.Linear(2, 1), _halves(6, 2)


@break_accumulation.mistake(
    en="It looks as if the difference is the chance of dropout: even the big batch does not agree with itself.",
    ru="Похоже, что различие вносит случайность dropout: даже большой батч не совпадает сам с собой.",
)
def dropout() -> tuple[torch.nn.Module, Batches]:
    return torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.Dropout(), torch.nn.Linear(32, 1)), _halves(4, 4)


@break_accumulation.mistake(
    en="It looks as if `LayerNorm` was expected to mix samples. It normalises each sample on its own.",
    ru="Похоже, вы считаете, что `LayerNorm` смешивает примеры. На самом деле он нормирует каждый пример отдельно.",
)
def layer_norm() -> tuple[torch.nn.Module, Batches]:
    return torch.nn.Sequential(torch.nn.LayerNorm(2), torch.nn.Linear(2, 1)), _halves(4, 4)


@break_accumulation.mistake(
    en="It looks as if the model is in `eval()` mode, where `BatchNorm` uses its stored statistics and not the batch's.",
    ru="Похоже, что модель в режиме `eval()`: там `BatchNorm` берёт сохранённую статистику, а не статистику батча.",
)
def batch_norm_in_eval() -> tuple[torch.nn.Module, Batches]:
    return torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1)).eval(), _halves(4, 4)


# ------------------------------------------------------------------------------------------- extra: write the test

# What the learner's test is tried on. The signature is asked for nowhere else, so that no answer to another exercise
# can stand in: `accumulate(parameter, micro_batches)` with pairs (mean_loss, n), where `mean_loss()` is a tensor.

MicroBatches = list[tuple[Callable[[], Tensor], int]]


def _share(micro_batches: MicroBatches, n: int) -> float:
    return n / sum(size for _, size in micro_batches)


def _by_backward(parameter: Tensor, micro_batches: MicroBatches) -> None:
    parameter.grad = None
    for mean_loss, n in micro_batches:
        (mean_loss() * _share(micro_batches, n)).backward()


def _by_grad(parameter: Tensor, micro_batches: MicroBatches) -> None:
    total = torch.zeros_like(parameter)
    for mean_loss, n in micro_batches:
        (gradient,) = torch.autograd.grad(mean_loss(), parameter)
        total += gradient * n
    parameter.grad = total / sum(n for _, n in micro_batches)


def _by_one_sum(parameter: Tensor, micro_batches: MicroBatches) -> None:
    parameter.grad = None
    torch.stack([mean_loss() * _share(micro_batches, n) for mean_loss, n in micro_batches]).sum().backward()


def _wrong_never_clears(parameter: Tensor, micro_batches: MicroBatches) -> None:
    for mean_loss, n in micro_batches:
        (mean_loss() * _share(micro_batches, n)).backward()


def _wrong_zeroes_inside(parameter: Tensor, micro_batches: MicroBatches) -> None:
    for mean_loss, n in micro_batches:
        parameter.grad = None
        (mean_loss() * _share(micro_batches, n)).backward()


def _wrong_skips_the_last(parameter: Tensor, micro_batches: MicroBatches) -> None:
    parameter.grad = None
    for mean_loss, n in micro_batches[:-1] or micro_batches:
        (mean_loss() * _share(micro_batches, n)).backward()


def _wrong_sums_means(parameter: Tensor, micro_batches: MicroBatches) -> None:
    parameter.grad = None
    for mean_loss, _ in micro_batches:
        mean_loss().backward()


def _wrong_divides_by_count(parameter: Tensor, micro_batches: MicroBatches) -> None:
    parameter.grad = None
    for mean_loss, _ in micro_batches:
        (mean_loss() / len(micro_batches)).backward()


def _wrong_divides_by_samples(parameter: Tensor, micro_batches: MicroBatches) -> None:
    parameter.grad = None
    for mean_loss, _ in micro_batches:
        (mean_loss() / sum(n for _, n in micro_batches)).backward()


RIGHT = tuple(nameless(function, "accumulate") for function in (_by_backward, _by_grad, _by_one_sum))
WRONG = {
    "catches_old_gradient": nameless(_wrong_never_clears, "accumulate"),
    "catches_zeroing_inside": nameless(_wrong_zeroes_inside, "accumulate"),
    "catches_missing_last": nameless(_wrong_skips_the_last, "accumulate"),
    "catches_sum_of_means": nameless(_wrong_sums_means, "accumulate"),
    "catches_equal_weights": nameless(_wrong_divides_by_count, "accumulate"),
    "catches_division_by_samples": nameless(_wrong_divides_by_samples, "accumulate"),
}


@exercise(
    title=Text("Write the test", "Напишите тест"),
    kind="write the test",
    difficulty=3,
    minutes=15,
    aspects=[
        aspect(
            "accepts_right",
            1,
            en="Every right function is accepted, however it is written.",
            ru="Любая правильная функция принимается, как бы она ни была написана.",
        ),
        aspect(
            "catches_old_gradient",
            0.5,
            en="A function that adds to what `.grad` held before is refused.",
            ru="Функция, которая прибавляет к прежнему содержимому `.grad`, отвергается.",
        ),
        aspect(
            "catches_zeroing_inside",
            0.5,
            en="A function that clears `.grad` before each micro-batch is refused.",
            ru="Функция, которая обнуляет `.grad` перед каждым микробатчем, отвергается.",
        ),
        aspect(
            "catches_missing_last",
            0.5,
            en="A function that leaves out the last micro-batch is refused.",
            ru="Функция, которая пропускает последний микробатч, отвергается.",
        ),
        aspect(
            "catches_sum_of_means",
            0.5,
            en="A function that sums the means without a weight is refused.",
            ru="Функция, которая складывает средние без весов, отвергается.",
        ),
        aspect(
            "catches_equal_weights",
            0.5,
            en="A function that weighs all micro-batches alike is refused.",
            ru="Функция, которая даёт всем микробатчам одинаковый вес, отвергается.",
        ),
        aspect(
            "catches_division_by_samples",
            0.5,
            en="A function that divides each mean by the number of samples is refused.",
            ru="Функция, которая делит каждое среднее на число примеров, отвергается.",
        ),
    ],
    hints=[
        Text(
            "A test needs a truth to compare with. Which one computation cannot have an accumulation bug?",
            "Тесту нужен эталон для сравнения. В каком вычислении не может быть ошибки накопления?",
        ),
        Text(
            "Choose inputs on which the bugs show: an old gradient already there, at least two micro-batches, sizes that differ.",
            "Выберите входы, на которых ошибки видны: старый градиент, не меньше двух микробатчей, разные размеры.",
        ),
        Text(
            "w = torch.tensor([1.0, 2.0], requires_grad=True)\nw.grad = torch.full_like(w, 100.0)\n"
            "...  # x and y in pieces of 3 and 1\naccumulate(w, [(lambda: ..., 3), (lambda: ..., 1)])\n"
            "return torch.allclose(w.grad, ...)",
            "w = torch.tensor([1.0, 2.0], requires_grad=True)\nw.grad = torch.full_like(w, 100.0)\n"
            "...\naccumulate(w, [(lambda: ..., 3), (lambda: ..., 1)])\n"
            "return torch.allclose(w.grad, ...)",
        ),
    ],
)
def is_right(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        accepts, refuses = case.others.tried(lambda function, _: _accepts(answer, function))
    return {"accepts_right": all(accepts), **refuses, "accepted": accepts, "refused": list(refuses.values())}


@is_right.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(function=RIGHT[0], others=Lineup(rng, RIGHT, WRONG))  # the first is for the card and `reproduce`


def _accepts(answer: Any, function: Callable[..., None]) -> bool:
    """Does the learner's test let `function` pass? An assertion that fails is a refusal, as in any test."""
    try:
        return bool(answer.is_right(function))
    except AnswerRaised as raised:
        if isinstance(raised.__cause__, AssertionError):
            return False
        raise


def _agrees(accumulate: Callable[..., None], sizes: tuple[int, ...], old: float | None = 100.0) -> bool:
    """A test with some choice of micro-batches and of what `.grad` holds before."""
    x = torch.arange(1.0, 2 * sum(sizes) + 1).reshape(-1, 2)
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    w.grad = None if old is None else torch.full_like(w, old)
    (expected,) = torch.autograd.grad(((x @ w) ** 2).mean(), w)

    def loss_of(part: Tensor) -> Callable[[], Tensor]:
        return lambda: ((part @ w) ** 2).mean()

    accumulate(w, [(loss_of(part), len(part)) for part in x.split(list(sizes))])
    return w.grad is not None and torch.allclose(w.grad, expected)


@is_right.mistake(
    en="It looks as if the test accepts everything: it has to compare with a gradient that you computed yourself.",
    ru="Похоже, что тест принимает всё: сравнивать нужно с градиентом, который вы вычислили сами.",
)
def accepts_everything(accumulate: Callable[..., None]) -> bool:
    _agrees(accumulate, (2, 1))
    return True


@is_right.mistake(
    en="It looks as if the test refuses everything, the right functions as well.",
    ru="Похоже, что тест отвергает всё, в том числе правильные функции.",
)
def refuses_everything(accumulate: Callable[..., None]) -> bool:
    return False


@is_right.mistake(
    en="It looks as if all micro-batches of the test count alike, say because they have one size: 1/K is right there.",
    ru="Похоже, что все микробатчи в тесте равноценны, например одного размера: для них вес 1/K верен.",
)
def only_equal_sizes(accumulate: Callable[..., None]) -> bool:
    return _agrees(accumulate, (2, 2))


@is_right.mistake(
    en="It looks as if `.grad` is always empty when the test begins, so that nobody is caught keeping an old gradient.",
    ru="Похоже, что в начале теста `.grad` всегда пуст, и функция, которая оставляет старый градиент, не попадается.",
)
def only_fresh_gradients(accumulate: Callable[..., None]) -> bool:
    return _agrees(accumulate, (3, 1), old=None)


@is_right.mistake(
    en="It looks as if the test has a single micro-batch: almost every way of accumulating is right there.",
    ru="Похоже, что в тесте всего один микробатч: для него верен почти любой способ накопления.",
)
def only_one_micro_batch(accumulate: Callable[..., None]) -> bool:
    return _agrees(accumulate, (3,))
