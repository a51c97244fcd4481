"""Extra exercise: save nothing in forward, yet reach the same memory peak."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.labels import BYTES_KEPT, PEAK
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import nbytes
from .deep_layers import Layers, checkpoint_segments, layer_gradients, layered_cases, measure_layers
from .tensor_files import read_file, write_file


@exercise(
    title=Text("Nothing saved, the same peak", "Ничего не сохранено, а пик тот же"),
    kind="write the counter-example",
    difficulty=1,
    minutes=3,
    rtol=1e-5,
    aspects=[
        aspect(
            "gradients",
            1,
            en="Output and gradients are those of the layers run one after the other.",
            ru="Выход и градиенты такие же, как при обычном последовательном вызове слоёв.",
        ),
        aspect(
            "kept",
            1,
            en="After the forward pass of 16 or 12 layers only the result is in memory (bytes).",
            ru="После прямого прохода по 16 или 12 слоям в памяти лежит только результат (байты).",
            measured=BYTES_KEPT,
        ),
        aspect(
            "forward",
            0,
            en="The forward pass alone needs little: at most 4 times the size of `x` at any moment (bytes).",
            ru="Один прямой проход требует мало памяти: в любой момент не больше 4 размеров `x` (байты).",
            after=("gradients", "kept"),
            measured=PEAK,
        ),
        aspect(
            "calls",
            0,
            en="Each layer is called twice: in the forward pass and in one recomputation.",
            ru="Каждый слой вызван дважды: в прямом проходе и при одном повторном вычислении.",
            after=("gradients", "kept", "forward"),
        ),
        aspect(
            "peak",
            1,
            en="The peak of forward and backward is not below 16 times the size of `x` (12 times with 12 layers).",
            ru="Пик за оба прохода, прямой и обратный, не ниже 16 размеров `x` (12 размеров при 12 слоях).",
            after=("gradients", "kept", "forward", "calls"),
        ),
    ],
    hints=[
        Text(
            "Which function computes a result and keeps nothing but its input?",
            "Какая функция вычисляет результат и не хранит ничего, кроме входа?",
        ),
        Text(
            "A checkpoint keeps the input of its segment. How long may a segment be?",
            "Контрольная точка хранит вход своего сегмента. Насколько длинным может быть сегмент?",
        ),
        Text(
            "One `checkpoint(..., use_reentrant=False)` around all the layers.",
            "Один `checkpoint(..., use_reentrant=False)` вокруг всех слоёв.",
        ),
    ],
)
def hide_saved(answer: Any, case: Case) -> dict[str, object]:
    run = answer.hide_saved
    with using_answer():
        if case.v is not None:
            return {
                "gradients": layer_gradients(run, case),
                "kept": AtMost(0, 0),
                "forward": AtMost(0, 0),
                "calls": [],
                "peak": True,
            }
        found = measure_layers(run, len(case.layers), case.x)
    size = nbytes(case.x)
    return {
        "gradients": None,
        "kept": AtMost(size, found.kept * size),
        "forward": AtMost(4 * size, found.forward_peak),
        "peak": found.peak >= len(case.layers) * size,
        "calls": found.pattern,
        "activations": found.kept,
        "leaks": found.left > 0,
    }


hide_saved.cases(lambda rng: layered_cases(rng, (16, 12)))


@hide_saved.mistake(
    en="The layers run as they are, and each of them keeps its result. (`checkpoint_sequential` puts no checkpoint at "
    "its last segment, nor at the only one.)",
    ru="Слои выполняются как есть, и результат каждого хранится. (`checkpoint_sequential` не ставит контрольную точку "
    "на последнем сегменте, даже если он единственный.)",
)
def hides_nothing(layers: Layers, x: Tensor) -> Tensor:
    return torch.nn.Sequential(*layers)(x)  # type: ignore[no-any-return]


@hide_saved.mistake(
    en="Every layer has a checkpoint of its own. Its input is then kept, and that is the result of the layer before.",
    ru="Контрольная точка поставлена на каждый слой. При этом хранится его вход, то есть результат предыдущего слоя.",
)
def hides_each_layer(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments(layers, x, 1)


@hide_saved.mistake(
    en="There are several segments. Their inputs are kept, and the peak is lower: that is a good way, but no "
    "counter-example.",
    ru="Сегментов несколько. При этом хранятся их входы, а пик ниже: это хороший способ, но не контрпример.",
)
def hides_in_segments(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments(layers, x, math.isqrt(len(layers)))


@hide_saved.mistake(*hide_saved.mistakes["hides_in_segments"].says)
def hides_in_two_segments(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_segments(layers, x, -(-len(layers) // 2))


@hide_saved.mistake(
    en="The peak is made by tensors of your own in the forward pass. It has to come from the layers, when backward "
    "recomputes all of them at once.",
    ru="Пик возникает из-за лишних тензоров в прямом проходе. А должен он возникать из-за самих слоёв, когда в "
    "обратном проходе они повторно вычисляются все сразу.",
)
def makes_junk(layers: Layers, x: Tensor) -> Tensor:
    junk = [x.detach().clone() for _ in layers]
    y = checkpoint(torch.nn.Sequential(*layers), x, use_reentrant=False)
    del junk
    return y  # type: ignore[no-any-return]


@hide_saved.mistake(
    en="No gradients come back: the layers ran under `no_grad()`, or the result was detached.",
    ru="Градиентов нет: либо слои выполнены внутри `no_grad()`, либо результат отсоединён от графа.",
)
def hides_the_graph(layers: Layers, x: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.nn.Sequential(*layers)(x)  # type: ignore[no-any-return]


@hide_saved.mistake(
    en="`use_reentrant=True` was used. When `x` does not require grad, this variant records nothing.",
    ru="Использован вариант `use_reentrant=True`. Если `x` не требует градиента, при таком варианте ничего не "
    "записывается в граф.",
)
def hides_by_the_old_variant(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint(torch.nn.Sequential(*layers), x, use_reentrant=True)  # type: ignore[no-any-return]


@hide_saved.mistake(
    en="The layers are computed more than twice: checkpoints stand inside the checkpoint, and they lower the peak.",
    ru="Слои вычисляются больше двух раз: внутри контрольной точки стоят другие, и они понижают пик.",
)
def nests_segments(layers: Layers, x: Tensor) -> Tensor:
    def run(h: Tensor) -> Tensor:
        return checkpoint_segments(layers, h, 4)

    return checkpoint(run, x, use_reentrant=False)  # type: ignore[no-any-return]


@hide_saved.mistake(
    en="Nothing is recomputed: what the layers save lies outside of the memory that is counted, as in files.",
    ru="Ничего не вычисляется повторно: сохранённое лежит вне той памяти, которая считается, например в файлах.",
)
def hides_in_files(layers: Layers, x: Tensor) -> Tensor:
    with saved_tensors_hooks(lambda t: write_file(t.detach().clone()), read_file):
        return torch.nn.Sequential(*layers)(x)  # type: ignore[no-any-return]


_RESULTS: list[Tensor] = []  # emptied at each run, so that a mistake leaves no memory to the next


@hide_saved.mistake(
    en="The results of the layers are kept in a list of their own, which outlives the graph.",
    ru="Результаты слоёв хранятся в отдельном списке, который переживает граф.",
)
def keeps_a_list_of_results(layers: Layers, x: Tensor) -> Tensor:
    _RESULTS.clear()

    def run(h: Tensor) -> Tensor:
        for layer in layers:
            h = layer(h)
            _RESULTS.append(h)
        return h

    return checkpoint(run, x, use_reentrant=False)  # type: ignore[no-any-return]


@hide_saved.mistake(
    en="The last layer stands outside of the checkpoint, so its input is kept. One checkpoint has to hold all layers.",
    ru="Последний слой стоит вне контрольной точки, и его вход хранится. Контрольная точка должна охватывать все слои.",
)
def leaves_the_last_out(layers: Layers, x: Tensor) -> Tensor:
    h: Tensor = checkpoint(torch.nn.Sequential(*layers[:-1]), x, use_reentrant=False)
    return layers[-1](h)  # type: ignore[no-any-return]


@hide_saved.mistake(*hide_saved.mistakes["nests_segments"].says)
def nests_each_layer(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint(lambda h: checkpoint_segments(layers, h, 1), x, use_reentrant=False)  # type: ignore[no-any-return]


@hide_saved.mistake(
    en="The layers run on a detached copy of `x`, so no gradient reaches `x`.",
    ru="Слои выполняются на отсоединённой копии `x`, поэтому до самого `x` градиент не доходит.",
)
def detaches_the_input(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint(torch.nn.Sequential(*layers), x.detach().requires_grad_(), use_reentrant=False)  # type: ignore[no-any-return]


@hide_saved.mistake(
    en="The layers also ran once for nothing. Each of them is to run twice: in the forward pass and in one recomputation.",
    ru="Слои выполнены ещё раз впустую. Каждый должен быть вызван дважды: в прямом проходе и при одном повторном "
    "вычислении.",
)
def runs_once_for_nothing(layers: Layers, x: Tensor) -> Tensor:
    with torch.no_grad():
        torch.nn.Sequential(*layers)(x)
    return checkpoint(torch.nn.Sequential(*layers), x, use_reentrant=False)  # type: ignore[no-any-return]


@hide_saved.mistake(
    en="The sum of the output was returned. Asked for is the output itself.",
    ru="Возвращена сумма элементов выхода, а нужен сам выход.",
)
def returns_the_sum(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint(torch.nn.Sequential(*layers), x, use_reentrant=False).sum()  # type: ignore[no-any-return]
