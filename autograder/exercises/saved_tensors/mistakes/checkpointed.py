# %%
import copy
import math

import torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from .common import checkpoint_segments


# %% mistake="recomputes_nothing" theme="cost" plain="yes"
# Nothing is recomputed: every layer keeps what it saves until backward.
# Ничего не вычисляется повторно: сохранённое каждым слоем хранится до самого обратного прохода.
def checkpointed(layers, x):
    return torch.nn.Sequential(*layers)(x)

# %% mistake="checkpoints_each_layer" theme="cost"
# Every layer has a checkpoint of its own. The input of every layer is then kept, which is as much as before.
# Контрольная точка поставлена на каждый слой. При этом хранится вход каждого слоя, то есть столько же, сколько и
#     раньше.
def checkpointed(layers, x):
    return checkpoint_segments(layers, x, 1)

# %% mistake="checkpoints_everything_at_once" theme="cost"
# One checkpoint holds all layers. Nothing is kept after the forward pass, but the recomputation builds the whole
#     graph: the peak only moves into backward.
# Контрольная точка одна на все слои. После прямого прохода не хранится ничего, но при повторном вычислении строится
#     весь граф: пик лишь переносится в обратный проход.
def checkpointed(layers, x):
    return checkpoint_segments(layers, x, len(layers))

# %% mistake="always_two_segments" theme="cost"
# There are always two segments, so the results of half of the layers are in memory at once. The number of segments
#     has to grow with the depth.
# Сегментов всегда два, поэтому в памяти одновременно лежат результаты половины слоёв. Число сегментов должно расти
#     с глубиной.
def checkpointed(layers, x):
    return checkpoint_segments(layers, x, -(-len(layers) // 2))

# %% mistake="always_four_segments" theme="cost"
# The number of segments is always 4. That fits 16 layers; for 120 layers it has to grow.
# Число сегментов всегда равно 4. Для 16 слоёв это подходит, а для 120 их должно быть больше.
def checkpointed(layers, x):
    return checkpoint_segments(layers, x, -(-len(layers) // 4))

# %% mistake="always_four_layers" theme="cost"
# A segment always has 4 layers. That fits 16 layers; with 120 the inputs of 30 segments are kept.
# В сегменте всегда 4 слоя. Для 16 слоёв это подходит, а при 120 хранятся входы 30 сегментов.
def checkpointed(layers, x):
    return checkpoint_segments(layers, x, 4)

# %% mistake="always_six_layers" theme="cost"
# A segment always has 6 layers. With 120 layers the inputs of 20 segments are kept; the length has to grow with the
#     depth.
# В сегменте всегда 6 слоёв. При 120 слоях хранятся входы 20 сегментов; длина сегмента должна расти с глубиной.
def checkpointed(layers, x):
    return checkpoint_segments(layers, x, 6)

# %% mistake="a_tenth_in_a_segment" theme="cost"
# There are about 10 segments at any depth, as with `len(layers) // 10` layers in each. Their number has to grow as
#     the root: for 7 layers it is 2 or 3.
# При любой глубине сегментов около 10: например, в каждом `len(layers) // 10` слоёв. Число сегментов должно расти
#     как корень из числа слоёв: для 7 слоёв это 2 или 3.
def checkpointed(layers, x):
    return checkpoint_segments(layers, x, max(1, len(layers) // 10))

# %% mistake="a_tenth_of_segments" theme="cost"
# A segment has about 10 layers at any depth, as with `len(layers) // 10` segments. The length has to grow as the
#     root: for 7 layers it is 2 or 3.
# При любой глубине в сегменте около 10 слоёв: например, сегментов `len(layers) // 10`. Длина сегмента должна расти
#     как корень из числа слоёв: для 7 слоёв это 2 или 3.
def checkpointed(layers, x):
    return checkpoint_segments(layers, x, -(-len(layers) // max(1, len(layers) // 10)))

# %% mistake="leaves_a_long_rest" theme="cost"
# The last segment is much longer than the others: `checkpoint_sequential` gives it all that remains. With fewer
#     segments, or segments of your own, the rest is shorter.
# Последний сегмент намного длиннее остальных: в `checkpoint_sequential` ему достаётся весь остаток. Остаток меньше,
#     если сегментов меньше или слои разделены вручную.
def checkpointed(layers, x):
    return checkpoint_sequential(layers, round(len(layers) ** 0.5), x, use_reentrant=False)

# %% mistake="drops_the_last_layers" theme="missing"
# Some layers never run, such as those that do not fill a segment: the last segment may be shorter.
# Некоторые слои не выполнены, например те, которых не хватило на целый сегмент: последний сегмент может быть короче.
def checkpointed(layers, x):
    size = math.isqrt(len(layers))
    return checkpoint_segments(layers[: len(layers) // size * size], x, size)

# %% mistake="binds_late" theme="own"
# The recomputation runs the wrong layers. A function made in a loop reads the loop's variable when it is called
#     again, in backward: by then it holds the last segment.
# Повторно вычисляются не те слои. Функция, созданная в цикле, читает переменную цикла в момент вызова, а при
#     повторном вызове, в обратном проходе, в ней уже последний сегмент.
def checkpointed(layers, x):
    size = math.isqrt(len(layers))

    def run(h):
        for layer in segment:
            h = layer(h)
        return h

    for start in range(0, len(layers), size):
        segment = layers[start : start + size]
        x = checkpoint(run, x, use_reentrant=False)
    return x

# %% mistake="is_reentrant" theme="recording"
# When the input of a segment does not require grad, nothing is recorded, and its weights get no gradient: so it is
#     with `use_reentrant=True`.
# Если вход сегмента не требует градиента, в граф ничего не записывается, и веса сегмента не получают градиента: так
#     бывает при `use_reentrant=True`.
def checkpointed(layers, x):
    return checkpoint_sequential(layers, math.isqrt(len(layers)), x, use_reentrant=True)

# %% mistake="detaches_the_input" theme="recording"
# No gradient reaches `x`. So it is when the segments run on a detached copy, or when a `backward` of your own
#     gives None for it.
# До самого `x` градиент не доходит. Так бывает, когда сегменты выполняются на отсоединённой копии или когда ваш
#     метод `backward` возвращает на этом месте None.
def checkpointed(layers, x):
    return checkpoint_segments(layers, x.detach().requires_grad_(), math.isqrt(len(layers)))

# %% mistake="does_not_chain" theme="own"
# Every segment gets `x` itself, not the output of the segment before.
# Каждый сегмент получает сам `x`, а должен получать результат предыдущего.
def checkpointed(layers, x):
    size = math.isqrt(len(layers))
    return checkpoint_segments(layers[(len(layers) - 1) // size * size :], x, size)

# %% mistake="runs_without_a_graph" theme="recording"
# What came back has no graph to go back through. So it is when the layers ran under `no_grad()`, or when the
#     result was cut off.
# У возвращённого результата нет графа для обратного прохода. Так бывает, когда слои выполнены внутри `no_grad()`
#     или когда результат отсоединён от графа.
def checkpointed(layers, x):
    with torch.no_grad():
        return torch.nn.Sequential(*layers)(x)

# %% mistake="nests" theme="cost"
# Checkpoints were put inside checkpoints. That saves more memory, but the inner layers are computed three times and
#     more.
# Контрольные точки вложены друг в друга. Памяти нужно меньше, но внутренние слои вычисляются по три раза и больше.
def checkpointed(layers, x):
    def run(part, h):
        if len(part) == 1:
            layer = part[0]
            return layer(h)
        middle = len(part) // 2
        for half in (part[:middle], part[middle:]):
            h = checkpoint(run, half, h, use_reentrant=False)
        return h

    return run(layers, x)

# %% mistake="gives_nothing_back" theme="missing"
# The output of the last layer did not come back: nothing was returned, or something else.
# Выход последнего слоя не возвращён: функция возвращает что-то другое или ничего.
def checkpointed(layers, x):
    checkpoint_segments(layers, x, math.isqrt(len(layers)))

# %% mistake="checkpoints_every_second_layer" theme="cost"
# Only every second layer has a checkpoint: half of the results are kept as before.
# Контрольная точка стоит только у каждого второго слоя: половина результатов хранится, как и раньше.
def checkpointed(layers, x):
    for index, layer in enumerate(layers):
        x = checkpoint(layer, x, use_reentrant=False) if index % 2 else layer(x)
    return x

# %% mistake="takes_the_logarithm" theme="cost"
# The length of a segment grows as the logarithm of the depth. With many layers too many borders are kept: it has to
#     grow as the root.
# Длина сегмента растёт как логарифм глубины. При многих слоях хранится слишком много границ: она должна расти как
#     корень.
def checkpointed(layers, x):
    return checkpoint_segments(layers, x, max(1, round(math.log2(len(layers)))))

# %% mistake="takes_two_lengths" theme="cost"
# There are two lengths of a segment, one for few layers and one for many. Other depths need other lengths: take the
#     root of `len(layers)`.
# Длин сегмента две: для малого и для большого числа слоёв. При другой глубине нужна другая длина: берите корень из
#     `len(layers)`.
def checkpointed(layers, x):
    return checkpoint_segments(layers, x, 10 if len(layers) > 50 else 3)

# %% mistake="draws_anew" theme="state"
# The recomputation draws other random numbers than the forward pass, so a layer such as dropout drops other
#     entries. `checkpoint` puts the random state back, unless `preserve_rng_state=False`.
# При повторном вычислении получаются другие случайные числа, чем в прямом проходе, и слой вроде dropout обнуляет
#     другие элементы. Функция `checkpoint` восстанавливает состояние генератора, если не передать
#     `preserve_rng_state=False`.
def checkpointed(layers, x):
    size = math.isqrt(len(layers))
    for start in range(0, len(layers), size):
        segment = torch.nn.Sequential(*layers[start : start + size])
        x = checkpoint(segment, x, use_reentrant=False, preserve_rng_state=False)
    return x

# %% mistake="runs_in_eval" theme="recording"
# The layers ran in `eval()` mode. A layer such as dropout computes something else there: the mode of a layer has to
#     stay as it is.
# Слои выполнены в режиме `eval()`. Слой вроде dropout работает в нём по-другому: режим слоя должен остаться прежним.
def checkpointed(layers, x):
    return checkpoint_segments([layer.eval() for layer in layers], x, math.isqrt(len(layers)))

# %% mistake="runs_copies" theme="recording"
# The weights of the layers get no gradient: copies of the layers run, or a `Function` of your own is not given the
#     weights.
# Веса слоёв не получают градиента: выполняются копии слоёв или в собственный класс `Function` не переданы веса.
def checkpointed(layers, x):
    return checkpoint_segments(copy.deepcopy(layers), x, math.isqrt(len(layers)))

# %% mistake="overlaps" theme="axes"
# The first layer of each segment also ran as the last one of the segment before: the segments overlap.
# Первый слой каждого сегмента выполнен ещё и как последний слой предыдущего: сегменты пересекаются.
def checkpointed(layers, x):
    size = math.isqrt(len(layers))
    for start in range(0, len(layers), size):
        x = checkpoint(torch.nn.Sequential(*layers[start : start + size + 1]), x, use_reentrant=False)
    return x

# %% mistake="takes_a_broken_size" theme="own"
# `range` got a step that is no whole number. Round the root of `len(layers)`.
# Шаг в `range` — не целое число. Корень из `len(layers)` нужно округлить.
def checkpointed(layers, x):
    size = len(layers) ** 0.5
    return checkpoint_segments(layers, x, size)

# %% mistake="checkpoints_the_first_segment" theme="cost"
# Only the first segment has a checkpoint; the other layers keep what they save.
# Контрольная точка есть только у первого сегмента, а остальные слои хранят всё, что сохранили.
def checkpointed(layers, x):
    size = math.ceil(math.sqrt(len(layers)))
    x = checkpoint(torch.nn.Sequential(*layers[:size]), x, use_reentrant=False)
    return torch.nn.Sequential(*layers[size:])(x)

# %% mistake="draws_anew_in_longer_segments" like="draws_anew"
def checkpointed(layers, x):
    size = math.ceil(math.sqrt(len(layers)))
    for start in range(0, len(layers), size):
        segment = torch.nn.Sequential(*layers[start : start + size])
        x = checkpoint(segment, x, use_reentrant=False, preserve_rng_state=False)
    return x

# %% mistake="is_reentrant_in_short_segments" like="is_reentrant"
def checkpointed(layers, x):
    size = max(1, math.isqrt(len(layers)))
    for start in range(0, len(layers), size):
        x = checkpoint(torch.nn.Sequential(*layers[start : start + size]), x, use_reentrant=True)
    return x

# %% mistake="nests_once" like="nests"
def checkpointed(layers, x):
    def run(part, h):
        for layer in part:
            h = checkpoint(layer, h, use_reentrant=False)
        return h

    size = max(1, math.isqrt(len(layers)))
    for start in range(0, len(layers), size):
        x = checkpoint(run, layers[start : start + size], x, use_reentrant=False)
    return x

# %% mistake="makes_squares" like="drops_the_last_layers"
def checkpointed(layers, x):
    size = math.isqrt(len(layers))
    return checkpoint_segments(layers[: size * size], x, size)

# %% mistake="divides_by_the_segments" like="drops_the_last_layers"
def checkpointed(layers, x):
    segments = math.isqrt(len(layers))
    size = len(layers) // segments
    return checkpoint_segments(layers[: segments * size], x, size)
