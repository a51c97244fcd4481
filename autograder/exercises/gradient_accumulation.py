"""Exercises of lesson 03, gradient accumulation: probes, cases and mistakes (A1-A16 of the course's own list)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from ..exercise import Case, aspect, exercise
from ..language import Text
from ..measure import batch_sizes, counting_backward_runs, live_bytes, weights_after_steps
from ..observation import AtMost

Batches = list[tuple[Tensor, Tensor]]


# ------------------------------------------------------------------------------------------------ inputs of the cases


def uniform(rng: torch.Generator, *shape: int) -> Tensor:
    """Uniform in [0.5, 2.5): far from 0, so that a forgotten term shows in every entry."""
    return torch.rand(*shape, generator=rng, dtype=torch.float64) * 2 + 0.5


def linear(rng: torch.Generator, features: int = 3) -> torch.nn.Linear:
    """A linear model without bias whose `.grad` already holds something, as after an earlier backward."""
    model = torch.nn.Linear(features, 1, bias=False, dtype=torch.float64)
    model.weight = torch.nn.Parameter(uniform(rng, 1, features))
    model.weight.grad = 100 * uniform(rng, 1, features)
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
    aspects=[
        aspect(
            "table",
            1,
            en="Every entry is what torch prints when the snippet runs.",
            ru="Каждая запись совпадает с тем, что выведет torch, когда код выполнится.",
        )
    ],
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
    return {"table": answer.predict_accumulation}


@predict_accumulation.mistake(
    en="It looks as if the second `backward()` replaced the first gradient. It adds to it.",
    ru="Похоже, что второй `backward()` заменил первый градиент. На самом деле он прибавляет к нему.",
)
def backward_overwrites() -> dict[str, object]:
    return {"w.grad after the second backward": -8.0}


@predict_accumulation.mistake(
    en="It looks as if `first = w.grad` took a snapshot. It is a second name for the tensor that the next `backward()` adds to.",
    ru="Похоже, что `first = w.grad` сделало снимок. Это второе имя того же тензора, к которому прибавляет следующий `backward()`.",
)
def alias_is_a_snapshot() -> dict[str, object]:
    return {"first": -32.0}


@predict_accumulation.mistake(
    en="It looks as if `clone()` stayed connected to `w.grad`. A clone has its own memory.",
    ru="Похоже, что `clone()` остался связан с `w.grad`. У клона своя память.",
)
def clone_is_an_alias() -> dict[str, object]:
    return {"copy": -40.0}


@predict_accumulation.mistake(
    en="It looks as if `zero_grad()` left a tensor of zeros. By default it puts None there.",
    ru="Похоже, что `zero_grad()` оставил тензор из нулей. По умолчанию он кладёт туда None.",
)
def zero_grad_leaves_zeros() -> dict[str, object]:
    return {"w.grad after zero_grad": 0.0}


@predict_accumulation.mistake(
    en="It looks as if `.grad` was zero before any backward pass. Until the first one it is None.",
    ru="Похоже, что до первого обратного прохода `.grad` равен нулю. До него там None.",
)
def starts_at_zero() -> dict[str, object]:
    return {"w.grad before": 0.0}


# ------------------------------------------------------------------------------ core: micro-batches of the same size


def _accumulate(name: str) -> Callable[[Any, Case], dict[str, object]]:
    """The probe of the exercises in which `name(model, batches)` leaves a gradient in `model.weight.grad`."""

    def probe(answer: Any, case: Case) -> dict[str, object]:
        with counting_backward_runs() as runs, batch_sizes(case.model) as sizes:
            getattr(answer, name)(case.model, case.batches)
        return {"gradient": case.model.weight.grad, "backward_runs": runs.times, "sizes": sizes}

    probe.__name__, probe.__module__ = name, __name__
    return probe


accumulate_equal = exercise(
    title=Text("Micro-batches of the same size", "Микробатчи одного размера"),
    kind="complete",
    core=True,
    minutes=10,
    aspects=[
        aspect(
            "gradient",
            2,
            en="`.grad` equals the gradient of the mean loss over all samples, whatever it held before.",
            ru="`.grad` равен градиенту средней по всем примерам функции потерь, что бы там ни лежало раньше.",
        ),
        aspect(
            "backward_runs",
            1,
            en="There is one backward pass for each micro-batch.",
            ru="На каждый микробатч приходится один обратный проход.",
        ),
    ],
    hints=[
        Text(
            "Compare with the big batch: its loss is a mean over all samples. What is the mean of one micro-batch a part of?",
            "Сравните с большим батчем: его функция потерь — среднее по всем примерам. Какую долю в нём занимает один микробатч?",
        ),
        Text(
            "Clear once, before the loop. In the loop: forward, scale, backward. Nothing else.",
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
    yield Case(model=linear(rng, 2), batches=micro_batches(rng, 3, 3, features=2))
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
        with counting_backward_runs() as runs, weights_after_steps(case.optimizer) as weights:
            getattr(answer, name)(case.model, case.optimizer, case.batches, case.accumulation_steps)
        return {"weights": weights, "backward_runs": runs.times}

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
            3,
            en="After every step the weights are those of training on the big batches.",
            ru="После каждого шага веса такие же, как при обучении на больших батчах.",
        )
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
            "Перенесите одну строку: из начала цикла в место после `optimizer.step()`.",
        ),
    ],
)(_trains("fix_zero_inside"))
fix_zero_inside.cases(_windows)


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
    ru="Похоже, что градиенты обнуляются прямо перед шагом, и шагу нечего использовать.",
)
def clears_before_the_step(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    for i, (x, y) in enumerate(batches):
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.zero_grad()
            optimizer.step()


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
        aspect(
            "gradient",
            3,
            en="`.grad` equals the gradient of the mean loss over all samples, also when sizes differ.",
            ru="`.grad` равен градиенту средней по всем примерам функции потерь и при разных размерах.",
        ),
        aspect(
            "backward_runs",
            1,
            en="There is one backward pass for each micro-batch.",
            ru="На каждый микробатч приходится один обратный проход.",
        ),
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
    yield Case(model=linear(rng, 2), batches=micro_batches(rng, 1, 5, features=2))
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
            en="At no moment is more than one micro-batch's graph in memory.",
            ru="В памяти никогда нет больше одного графа — графа одного микробатча.",
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
    with counting_backward_runs() as runs, weights_after_steps(case.optimizer) as weights:
        mean_loss = answer.train_epoch(case.model, case.optimizer, case.batches, case.accumulation_steps)
    return {
        "weights": weights,
        "mean_loss": mean_loss,
        "backward_runs": runs.times,
        "live_bytes": _memory_of_a_window(answer.train_epoch),
    }


_SAMPLES, _WIDTH, _MICRO_BATCHES = 64, 32, 6


def _memory_of_a_window(train: Callable[..., object]) -> AtMost:
    """Peak bytes of one window of 6 micro-batches through a hidden layer of 64 x 32 numbers.

    One micro-batch needs its hidden activation, and while it goes backward two gradients of that size: 3 units. The
    limit is 4.5, which leaves room for a loss written out by hand; a way that keeps every graph needs 6 and more.
    """
    net = torch.nn.Sequential(torch.nn.Linear(2, _WIDTH), torch.nn.Tanh(), torch.nn.Linear(_WIDTH, 1)).double()
    batches = [(torch.ones(_SAMPLES, 2).double(), torch.ones(_SAMPLES, 1).double()) for _ in range(_MICRO_BATCHES)]
    known = [*net.parameters(), *(tensor for batch in batches for tensor in batch)]
    with live_bytes(known) as live:
        train(net, sgd(net), batches, _MICRO_BATCHES)
    return AtMost(limit=round(4.5 * _SAMPLES * _WIDTH * 8), used=live.peak)


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
    en="It looks as if the losses of a window are summed and go backward together: all its graphs are in memory at once.",
    ru="Похоже, что потери окна складываются и идут назад вместе: все его графы одновременно в памяти.",
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
    en="It looks as if the total of the losses is still a tensor. It drags the graph of every micro-batch along: add up `.item()`.",
    ru="Похоже, что сумма потерь осталась тензором. За ним тянется граф каждого микробатча: складывайте `.item()`.",
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
