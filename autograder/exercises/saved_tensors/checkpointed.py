"""Core exercise: run layers with checkpoints, within limits of memory."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.labels import BYTES_LEFT, PEAK
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import Function, nbytes
from .deep_layers import Layers, checkpoint_segments, layer_gradients, layered_cases, measure_layers


def _peak_allowed(depth: int, x: Tensor) -> int:
    return round((2 * math.sqrt(depth) + 3.5) * nbytes(x))


# No fixed segment length and no fixed number of segments meets the budget at all depths, nor do two lengths.
_SHALLOW, _MIDDLE, _DEEP = 7, 35, 120


@exercise(
    title=Text("A budget for the peak", "Предел для пика"),
    kind="design",
    core=True,
    difficulty=3,
    minutes=16,
    rtol=1e-5,
    aspects=[
        aspect(
            "left",
            0,
            en="After the backward pass nothing stays in memory but gradients (bytes left).",
            ru="После обратного прохода в памяти остаются только градиенты (осталось лишнего, байт).",
            measured=BYTES_LEFT,
        ),
        aspect(
            "gradients",
            2,
            en="Output and gradients are those of the layers run one after the other.",
            ru="Выход и градиенты такие же, как при обычном последовательном вызове слоёв.",
        ),
        aspect(
            "calls",
            1,
            en="Each of 7, 35 or 120 layers is called at most twice (the most calls of one layer).",
            ru="Каждый из 7, 35 или 120 слоёв вызван самое большее дважды (наибольшее число вызовов одного слоя).",
            measured=Text("Calls of one layer", "Вызовов одного слоя"),
        ),
        aspect(
            "peak",
            2,
            en="The peak is at most 8.8 times the size of `x` with 7 layers, 15.3 times with 35, 25.4 times with 120 "
            "(bytes; `x` has 1600).",
            ru="Пик не больше 8.8 размера `x` при 7 слоях, 15.3 размера при 35 и 25.4 размера при 120 (байты; в `x` их "
            "1600).",
            measured=PEAK,
        ),
    ],
    hints=[
        Text(
            "With $k$ segments of $s$ layers: how many tensors are kept between the segments, and how many are in "
            "memory while one segment is recomputed?",
            "Пусть сегментов $k$, по $s$ слоёв в каждом. Сколько тензоров хранится на границах сегментов и сколько "
            "лежит в памяти, пока один сегмент вычисляется повторно?",
        ),
        Text(
            "About $k + s$, and $k \\cdot s$ is the number of layers: the sum is smallest when both are its square root. "
            "The last segment may be shorter.",
            "Примерно $k + s$, а $k \\cdot s$ — это число слоёв. Сумма меньше всего, когда оба слагаемых равны корню "
            "из этого числа. Последний сегмент может быть короче.",
        ),
        Text(
            "`for start in range(0, len(layers), size): segment = torch.nn.Sequential(*layers[start : start + size]); "
            "x = checkpoint(segment, x, use_reentrant=False)`, where `size` is about the root of `len(layers)`.",
            "`for start in range(0, len(layers), size): segment = torch.nn.Sequential(*layers[start : start + size]); "
            "x = checkpoint(segment, x, use_reentrant=False)`, где `size` — примерно корень из `len(layers)`.",
        ),
    ],
)
def checkpointed(answer: Any, case: Case) -> dict[str, object]:
    run = answer.checkpointed
    with using_answer():
        if case.v is not None:
            return {"left": 0, "gradients": layer_gradients(run, case), "calls": AtMost(2, 0), "peak": AtMost(0, 0)}
        depth = len(case.layers)
        found = measure_layers(run, _SHALLOW if depth == _DEEP else depth, case.x)
        # An answer that fails on few layers need not run on many.
        if depth == _DEEP and found.calls <= 2 and found.peak <= _peak_allowed(_SHALLOW, case.x):
            found = measure_layers(run, depth, case.x)
    return {
        "left": found.left,
        "gradients": None,
        "calls": AtMost(2, found.calls),
        "peak": AtMost(_peak_allowed(depth, case.x), found.peak),
        "kept": found.kept,
        "called": [min(found.pattern), max(found.pattern)],
    }


checkpointed.cases(lambda rng: layered_cases(rng, (_SHALLOW, _MIDDLE, _DEEP), dropping=True))


@checkpointed.mistake(
    en="Nothing is recomputed: every layer keeps what it saves until backward.",
    ru="Ничего не вычисляется повторно: сохранённое каждым слоем хранится до самого обратного прохода.",
)
def recomputes_nothing(layers: Layers, x: Tensor) -> Tensor:
    return torch.nn.Sequential(*layers)(x)  # type: ignore[no-any-return]


@checkpointed.mistake(
    en="Every layer has a checkpoint of its own. The input of every layer is then kept, which is as much as before.",
    ru="Контрольная точка поставлена на каждый слой. При этом хранится вход каждого слоя, то есть столько же, сколько "
    "и раньше.",
)
def checkpoints_each_layer(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments(layers, x, 1)


@checkpointed.mistake(
    en="One checkpoint holds all layers. Nothing is kept after the forward pass, but the recomputation builds the "
    "whole graph: the peak only moves into backward.",
    ru="Контрольная точка одна на все слои. После прямого прохода не хранится ничего, но при повторном вычислении "
    "строится весь граф: пик лишь переносится в обратный проход.",
)
def checkpoints_everything_at_once(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments(layers, x, len(layers))


@checkpointed.mistake(
    en="There are always two segments, so the results of half of the layers are in memory at once. The number of "
    "segments has to grow with the depth.",
    ru="Сегментов всегда два, поэтому в памяти одновременно лежат результаты половины слоёв. Число сегментов должно "
    "расти с глубиной.",
)
def always_two_segments(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments(layers, x, -(-len(layers) // 2))


@checkpointed.mistake(
    en="The number of segments is always 4. That fits 16 layers; for 120 layers it has to grow.",
    ru="Число сегментов всегда равно 4. Для 16 слоёв это подходит, а для 120 их должно быть больше.",
)
def always_four_segments(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments(layers, x, -(-len(layers) // 4))


@checkpointed.mistake(
    en="A segment always has 4 layers. That fits 16 layers; with 120 the inputs of 30 segments are kept.",
    ru="В сегменте всегда 4 слоя. Для 16 слоёв это подходит, а при 120 хранятся входы 30 сегментов.",
)
def always_four_layers(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments(layers, x, 4)


@checkpointed.mistake(
    en="A segment always has 6 layers. With 120 layers the inputs of 20 segments are kept; the length has to grow with "
    "the depth.",
    ru="В сегменте всегда 6 слоёв. При 120 слоях хранятся входы 20 сегментов; длина сегмента должна расти с глубиной.",
)
def always_six_layers(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments(layers, x, 6)


@checkpointed.mistake(
    en="There are about 10 segments at any depth, as with `len(layers) // 10` layers in each. Their number has to grow "
    "as the root: for 7 layers it is 2 or 3.",
    ru="При любой глубине сегментов около 10: например, в каждом `len(layers) // 10` слоёв. Число сегментов должно "
    "расти как корень из числа слоёв: для 7 слоёв это 2 или 3.",
)
def a_tenth_in_a_segment(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments(layers, x, max(1, len(layers) // 10))


@checkpointed.mistake(
    en="A segment has about 10 layers at any depth, as with `len(layers) // 10` segments. The length has to grow as "
    "the root: for 7 layers it is 2 or 3.",
    ru="При любой глубине в сегменте около 10 слоёв: например, сегментов `len(layers) // 10`. Длина сегмента должна "
    "расти как корень из числа слоёв: для 7 слоёв это 2 или 3.",
)
def a_tenth_of_segments(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments(layers, x, -(-len(layers) // max(1, len(layers) // 10)))


@checkpointed.mistake(
    en="The last segment is much longer than the others: `checkpoint_sequential` gives it all that remains. With fewer "
    "segments, or segments of your own, the rest is shorter.",
    ru="Последний сегмент намного длиннее остальных: в `checkpoint_sequential` ему достаётся весь остаток. Остаток "
    "меньше, если сегментов меньше или слои разделены вручную.",
)
def leaves_a_long_rest(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_sequential(layers, round(len(layers) ** 0.5), x, use_reentrant=False)  # type: ignore[no-any-return]


@checkpointed.mistake(
    en="The layers that do not fill a segment were dropped. The last segment may be shorter.",
    ru="Слои, которых не хватило на целый сегмент, потеряны. Последний сегмент может быть короче.",
)
def drops_the_last_layers(layers: Layers, x: Tensor) -> Tensor:
    size = math.isqrt(len(layers))
    return checkpoint_segments(layers[: len(layers) // size * size], x, size)


@checkpointed.mistake(
    en="The recomputation runs the wrong layers. A function made in a loop reads the loop's variable when it is called "
    "again, in backward: by then it holds the last segment.",
    ru="Повторно вычисляются не те слои. Функция, созданная в цикле, читает переменную цикла в момент вызова, а при "
    "повторном вызове, в обратном проходе, в ней уже последний сегмент.",
)
def binds_late(layers: Layers, x: Tensor) -> Tensor:
    size = math.isqrt(len(layers))

    def run(h: Tensor) -> Tensor:
        for layer in segment:
            h = layer(h)
        return h

    for start in range(0, len(layers), size):
        segment = layers[start : start + size]
        x = checkpoint(run, x, use_reentrant=False)
    return x


@checkpointed.mistake(
    en="`use_reentrant=True` was used. When the input of a segment does not require grad, this variant records "
    "nothing, and its weights get no gradient.",
    ru="Использован вариант `use_reentrant=True`. Если вход сегмента не требует градиента, при таком варианте ничего "
    "не записывается в граф, и веса сегмента не получают градиента.",
)
def is_reentrant(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_sequential(layers, math.isqrt(len(layers)), x, use_reentrant=True)  # type: ignore[no-any-return]


@checkpointed.mistake(*checkpointed.mistakes["is_reentrant"].says)
def is_reentrant_everywhere(layers: Layers, x: Tensor) -> Tensor:
    size = math.isqrt(len(layers))
    for start in range(0, len(layers), size):
        x = checkpoint(torch.nn.Sequential(*layers[start : start + size]), x, use_reentrant=True)
    return x


@checkpointed.mistake(*checkpointed.mistakes["always_two_segments"].says)
def two_by_checkpoint_sequential(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_sequential(layers, 2, x, use_reentrant=False)  # type: ignore[no-any-return]


@checkpointed.mistake(
    en="The segments run on a detached copy of `x`, so no gradient reaches `x`.",
    ru="Сегменты выполняются на отсоединённой копии `x`, поэтому до самого `x` градиент не доходит.",
)
def detaches_the_input(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments(layers, x.detach().requires_grad_(), math.isqrt(len(layers)))


@checkpointed.mistake(
    en="Every segment gets `x` itself, not the output of the segment before.",
    ru="Каждый сегмент получает сам `x`, а должен получать результат предыдущего.",
)
def does_not_chain(layers: Layers, x: Tensor) -> Tensor:
    size = math.isqrt(len(layers))
    return checkpoint_segments(layers[(len(layers) - 1) // size * size :], x, size)


@checkpointed.mistake(
    en="The layers ran under `no_grad()`. Nothing is kept, but there is no graph to go back through.",
    ru="Слои выполнены внутри `no_grad()`. При этом ничего не хранится, но и графа для обратного прохода нет.",
)
def runs_without_a_graph(layers: Layers, x: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.nn.Sequential(*layers)(x)  # type: ignore[no-any-return]


@checkpointed.mistake(
    en="Checkpoints were put inside checkpoints. That saves more memory, but the inner layers are computed three times "
    "and more.",
    ru="Контрольные точки вложены друг в друга. Памяти нужно меньше, но внутренние слои вычисляются по три раза и "
    "больше.",
)
def nests(layers: Layers, x: Tensor) -> Tensor:
    def run(part: Layers, h: Tensor) -> Tensor:
        if len(part) == 1:
            layer: Function = part[0]
            return layer(h)
        middle = len(part) // 2
        for half in (part[:middle], part[middle:]):
            h = checkpoint(run, half, h, use_reentrant=False)
        return h

    return run(layers, x)


@checkpointed.mistake(
    en="Nothing was returned. The function has to return the output of the last layer.",
    ru="Функция ничего не возвращает, а должна вернуть выход последнего слоя.",
)
def gives_nothing_back(layers: Layers, x: Tensor) -> None:
    checkpoint_segments(layers, x, math.isqrt(len(layers)))


@checkpointed.mistake(
    en="Only every second layer has a checkpoint: half of the results are kept as before.",
    ru="Контрольная точка стоит только у каждого второго слоя: половина результатов хранится, как и раньше.",
)
def checkpoints_every_second_layer(layers: Layers, x: Tensor) -> Tensor:
    for index, layer in enumerate(layers):
        x = checkpoint(layer, x, use_reentrant=False) if index % 2 else layer(x)
    return x


@checkpointed.mistake(
    en="The length of a segment grows as the logarithm of the depth. With many layers too many borders are kept: it has "
    "to grow as the root.",
    ru="Длина сегмента растёт как логарифм глубины. При многих слоях хранится слишком много границ: она должна расти как "
    "корень.",
)
def takes_the_logarithm(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments(layers, x, max(1, round(math.log2(len(layers)))))


@checkpointed.mistake(
    en="There are two lengths of a segment, one for few layers and one for many. Other depths need other lengths: take "
    "the root of `len(layers)`.",
    ru="Длин сегмента две: для малого и для большого числа слоёв. При другой глубине нужна другая длина: берите корень "
    "из `len(layers)`.",
)
def takes_two_lengths(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments(layers, x, 10 if len(layers) > 50 else 3)


@checkpointed.mistake(
    en="The recomputation draws other random numbers than the forward pass, so a layer such as dropout drops other "
    "entries. `checkpoint` puts the random state back, unless `preserve_rng_state=False`.",
    ru="При повторном вычислении получаются другие случайные числа, чем в прямом проходе, и слой вроде dropout обнуляет "
    "другие элементы. Функция `checkpoint` восстанавливает состояние генератора, если не передать "
    "`preserve_rng_state=False`.",
)
def draws_anew(layers: Layers, x: Tensor) -> Tensor:
    size = math.isqrt(len(layers))
    for start in range(0, len(layers), size):
        segment = torch.nn.Sequential(*layers[start : start + size])
        x = checkpoint(segment, x, use_reentrant=False, preserve_rng_state=False)
    return x


@checkpointed.mistake(
    en="The layers ran in `eval()` mode. A layer such as dropout computes something else there: the mode of a layer has "
    "to stay as it is.",
    ru="Слои выполнены в режиме `eval()`. Слой вроде dropout вычисляет в нём другое: режим слоя должен остаться прежним.",
)
def runs_in_eval(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments([layer.eval() for layer in layers], x, math.isqrt(len(layers)))


@checkpointed.mistake(
    en="The weights of the layers get no gradient: copies of the layers run, or a `Function` of your own is not given the "
    "weights.",
    ru="Веса слоёв не получают градиента: выполняются копии слоёв или в собственный класс `Function` не переданы веса.",
)
def runs_copies(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments(copy.deepcopy(layers), x, math.isqrt(len(layers)))


@checkpointed.mistake(
    en="The first layer of each segment also ran as the last one of the segment before: the segments overlap.",
    ru="Первый слой каждого сегмента выполнен ещё и как последний слой предыдущего: сегменты пересекаются.",
)
def overlaps(layers: Layers, x: Tensor) -> Tensor:
    size = math.isqrt(len(layers))
    for start in range(0, len(layers), size):
        x = checkpoint(torch.nn.Sequential(*layers[start : start + size + 1]), x, use_reentrant=False)
    return x


@checkpointed.mistake(
    en="`range` got a step that is no whole number. Round the root of `len(layers)`.",
    ru="Шаг в `range` — не целое число. Корень из `len(layers)` нужно округлить.",
)
def takes_a_broken_size(layers: Layers, x: Tensor) -> Tensor:
    size: Any = len(layers) ** 0.5
    return checkpoint_segments(layers, x, size)


@checkpointed.mistake(*checkpointed.mistakes["nests"].says)
def nests_each_layer(layers: Layers, x: Tensor) -> Tensor:
    def run(h: Tensor) -> Tensor:
        return checkpoint_segments(layers, h, math.isqrt(len(layers)))

    return checkpoint(run, x, use_reentrant=False)  # type: ignore[no-any-return]


@checkpointed.mistake(
    en="Only the first segment has a checkpoint; the other layers keep what they save.",
    ru="Контрольная точка есть только у первого сегмента, а остальные слои хранят всё, что сохранили.",
)
def checkpoints_the_first_segment(layers: Layers, x: Tensor) -> Tensor:
    size = math.ceil(math.sqrt(len(layers)))
    x = checkpoint(torch.nn.Sequential(*layers[:size]), x, use_reentrant=False)
    return torch.nn.Sequential(*layers[size:])(x)  # type: ignore[no-any-return]


@checkpointed.mistake(*checkpointed.mistakes["nests"].says)
def nests_in_segments(layers: Layers, x: Tensor) -> Tensor:
    size = math.ceil(math.sqrt(len(layers)))

    def run(h: Tensor, *part: torch.nn.Module) -> Tensor:
        return checkpoint_segments(list(part), h, 1)

    for start in range(0, len(layers), size):
        x = checkpoint(run, x, *layers[start : start + size], use_reentrant=False)
    return x


@checkpointed.mistake(*checkpointed.mistakes["does_not_chain"].says)
def does_not_chain_longer_segments(layers: Layers, x: Tensor) -> Tensor:
    size = math.ceil(math.sqrt(len(layers)))
    return checkpoint_segments(layers[(len(layers) - 1) // size * size :], x, size)


@checkpointed.mistake(*checkpointed.mistakes["overlaps"].says)
def overlaps_longer_segments(layers: Layers, x: Tensor) -> Tensor:
    size = math.ceil(math.sqrt(len(layers)))
    for start in range(0, len(layers), size):
        x = checkpoint(torch.nn.Sequential(*layers[start : start + size + 1]), x, use_reentrant=False)
    return x


@checkpointed.mistake(*checkpointed.mistakes["draws_anew"].says)
def draws_anew_in_longer_segments(layers: Layers, x: Tensor) -> Tensor:
    size = math.ceil(math.sqrt(len(layers)))
    for start in range(0, len(layers), size):
        segment = torch.nn.Sequential(*layers[start : start + size])
        x = checkpoint(segment, x, use_reentrant=False, preserve_rng_state=False)
    return x
