# %%
import math

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from .common import checkpoint_segments, read_file, write_file

_RESULTS = []  # emptied at each run, so that a mistake leaves no memory to the next

# %% mistake="hides_nothing" theme="test" plain="yes"
# The layers run as they are, and each of them keeps its result. (`checkpoint_sequential` puts no checkpoint at its
#     last segment, nor at the only one.)
# Слои выполняются как есть, и результат каждого хранится. (`checkpoint_sequential` не ставит контрольную точку на
#     последнем сегменте, даже если он единственный.)
def hide_saved(layers, x):
    return torch.nn.Sequential(*layers)(x)

# %% mistake="hides_each_layer" theme="test"
# Every layer has a checkpoint of its own. Its input is then kept, and that is the result of the layer before.
# Контрольная точка поставлена на каждый слой. При этом хранится его вход, то есть результат предыдущего слоя.
def hide_saved(layers, x):
    return checkpoint_segments(layers, x, 1)

# %% mistake="hides_in_segments" theme="test"
# There are several segments. Their inputs are kept, and the peak is lower: that is a good way, but no
#     counter-example.
# Сегментов несколько. При этом хранятся их входы, а пик ниже: это хороший способ, но не контрпример.
def hide_saved(layers, x):
    return checkpoint_segments(layers, x, math.isqrt(len(layers)))

# %% mistake="makes_junk" theme="test"
# The peak is made by tensors of your own in the forward pass. It has to come from the layers, when backward
#     recomputes all of them at once.
# Пик возникает из-за лишних тензоров в прямом проходе. А должен он возникать из-за самих слоёв, когда в обратном
#     проходе они повторно вычисляются все сразу.
def hide_saved(layers, x):
    junk = [x.detach().clone() for _ in layers]
    y = checkpoint(torch.nn.Sequential(*layers), x, use_reentrant=False)
    del junk
    return y

# %% mistake="hides_the_graph" theme="recording"
# No gradients come back: the layers ran under `no_grad()`, or the result was detached.
# Градиентов нет: либо слои выполнены внутри `no_grad()`, либо результат отсоединён от графа.
def hide_saved(layers, x):
    with torch.no_grad():
        return torch.nn.Sequential(*layers)(x)

# %% mistake="hides_by_the_old_variant" theme="recording"
# When `x` does not require grad, nothing is recorded, as with `use_reentrant=True`.
# Если `x` не требует градиента, в граф ничего не записывается: так бывает при `use_reentrant=True`.
def hide_saved(layers, x):
    return checkpoint(torch.nn.Sequential(*layers), x, use_reentrant=True)

# %% mistake="nests_segments" theme="test"
# The layers are computed more than twice: checkpoints stand inside the checkpoint.
# Слои вычисляются больше двух раз: внутри контрольной точки стоят ещё и другие.
def hide_saved(layers, x):
    def run(h):
        return checkpoint_segments(layers, h, 4)

    return checkpoint(run, x, use_reentrant=False)

# %% mistake="nests_layers" like="nests_segments"
def hide_saved(layers, x):
    def run(h):
        return checkpoint_segments(layers, h, 1)

    return checkpoint(run, x, use_reentrant=False)

# %% mistake="hides_in_files" theme="test"
# Nothing is recomputed: what the layers save lies outside of the memory that is counted, as in files.
# Ничего не вычисляется повторно: сохранённое лежит не в той памяти, которая подсчитывается, а, например, в файлах.
def hide_saved(layers, x):
    with saved_tensors_hooks(lambda t: write_file(t.detach().clone()), read_file):
        return torch.nn.Sequential(*layers)(x)

# %% mistake="keeps_a_list_of_results" theme="graph_life"
# The results of the layers are kept in a list of their own, which outlives the graph.
# Результаты слоёв хранятся в отдельном списке, который переживает граф.
def hide_saved(layers, x):
    _RESULTS.clear()

    def run(h):
        for layer in layers:
            h = layer(h)
            _RESULTS.append(h)
        return h

    return checkpoint(run, x, use_reentrant=False)

# %% mistake="leaves_the_last_out" theme="test"
# The last layer stands outside of the checkpoint, so its input is kept. One checkpoint has to hold all layers.
# Последний слой стоит вне контрольной точки, и его вход хранится. Контрольная точка должна охватывать все слои.
def hide_saved(layers, x):
    h = checkpoint(torch.nn.Sequential(*layers[:-1]), x, use_reentrant=False)
    return layers[-1](h)

# %% mistake="detaches_the_input" theme="recording"
# The layers run on a detached copy of `x`, so no gradient reaches `x`.
# Слои выполняются на отсоединённой копии `x`, поэтому до самого `x` градиент не доходит.
def hide_saved(layers, x):
    return checkpoint(torch.nn.Sequential(*layers), x.detach().requires_grad_(), use_reentrant=False)

# %% mistake="runs_once_for_nothing" theme="cost"
# The layers also ran once for nothing. Each of them is to run twice: in the forward pass and in one recomputation.
# Слои выполнены ещё раз впустую. Каждый должен быть вызван дважды: в прямом проходе и при одном повторном
#     вычислении.
def hide_saved(layers, x):
    with torch.no_grad():
        torch.nn.Sequential(*layers)(x)
    return checkpoint(torch.nn.Sequential(*layers), x, use_reentrant=False)

# %% mistake="returns_the_sum" theme="missing"
# The sum of the output was returned. Asked for is the output itself.
# Возвращена сумма элементов выхода, а нужен сам выход.
def hide_saved(layers, x):
    return checkpoint(torch.nn.Sequential(*layers), x, use_reentrant=False).sum()
