# %%
import torch
from torch.nn.functional import mse_loss


def _total(x, all_reduce):
    return all_reduce(torch.tensor(float(len(x))))

# %% mistake="mean_of_means" theme="scaling"
# Each rank takes the mean of its own samples, and `ddp` the mean of these means. A sample of a small rank weighs more.
# Каждый ранг усредняет свои примеры, а `ddp` — эти средние. Чем меньше на ранге примеров, тем больше вес каждого.
def backward_uneven(ddp, x, y, all_reduce, world):
    mse_loss(ddp(x), y).backward()

# %% mistake="without_world" theme="scaling"
# The gradient is `world` times too short: `ddp` divides by the number of ranks, and nothing makes up for it.
# Градиент в `world` раз короче нужного: `ddp` делит на число рангов, и это ничем не компенсировано.
def backward_uneven(ddp, x, y, all_reduce, world):
    (mse_loss(ddp(x), y, reduction="sum") / y.shape[1] / _total(x, all_reduce)).backward()

# %% mistake="sums" theme="scaling"
# The losses of the samples are summed and never divided by their number on all ranks.
# Потери на примерах складываются, а на общее число примеров не делятся.
def backward_uneven(ddp, x, y, all_reduce, world):
    (mse_loss(ddp(x), y, reduction="sum") / y.shape[1]).backward()

# %% mistake="divides_by_own_samples" theme="scaling"
# The sum is divided by the number of samples of this rank alone: that is the mean of means again, times `world`.
# Сумма поделена на число примеров только этого ранга: это снова среднее средних, умноженное на `world`.
def backward_uneven(ddp, x, y, all_reduce, world):
    (mse_loss(ddp(x), y, reduction="sum") / y.shape[1] * world / max(len(x), 1)).backward()

# %% mistake="forgets_the_outputs" theme="axes"
# The sum goes over all numbers of `y`, but it was divided by the number of its rows. `mse_loss` divides by the number
#     of elements.
# Сумма взята по всем числам `y`, а поделена на число строк. Функция `mse_loss` делит на число элементов.
def backward_uneven(ddp, x, y, all_reduce, world):
    (mse_loss(ddp(x), y, reduction="sum") * world / _total(x, all_reduce)).backward()

# %% mistake="returns_early" theme="own"
# A rank without samples sends no gradients, so the others wait for it in their all-reduce for ever.
# Ранг без примеров не отправляет градиентов, и остальные вечно ждут его в своём all-reduce.
def backward_uneven(ddp, x, y, all_reduce, world):
    total = _total(x, all_reduce)
    if len(x):
        (mse_loss(ddp(x), y) * (len(x) * world / total)).backward()

# %% mistake="counts_only_with_samples" theme="own"
# A rank without samples leaves at once, before `all_reduce`: the others wait there for ever.
# Ранг без примеров выходит сразу, ещё до вызова `all_reduce`: остальные вечно ждут его там.
def backward_uneven(ddp, x, y, all_reduce, world):
    if len(x):
        (mse_loss(ddp(x), y) * (len(x) * world / _total(x, all_reduce))).backward()

# %% mistake="through_the_module" theme="order"
# The pass goes through `ddp.module`, so `ddp` sends nothing: every rank keeps its own part.
# Проход идёт через `ddp.module`, поэтому `ddp` ничего не отправляет: у каждого ранга остаётся своя часть.
def backward_uneven(ddp, x, y, all_reduce, world):
    (mse_loss(ddp.module(x), y, reduction="sum") / y.shape[1] * world / _total(x, all_reduce)).backward()

# %% mistake="counts_twice" theme="scaling"
# The factor `world` stands there twice, or the total was divided by `world`: the gradient is `world` times too long.
# Множитель `world` учтён дважды или общее число поделено на `world`: градиент в `world` раз длиннее нужного.
def backward_uneven(ddp, x, y, all_reduce, world):
    (mse_loss(ddp(x), y, reduction="sum") / y.shape[1] * world**2 / _total(x, all_reduce)).backward()

# %% mistake="all_reduces_the_loss" theme="recording"
# The value on which `backward()` was called has no graph. What `all_reduce` returns is outside of this rank's graph, too.
# У значения, от которого вызван `backward()`, нет графа. У результата `all_reduce` его тоже нет.
def backward_uneven(ddp, x, y, all_reduce, world):
    loss = mse_loss(ddp(x), y, reduction="sum")
    (all_reduce(loss) / all_reduce(torch.tensor(y.numel()))).backward()

# %% mistake="sends_by_hand" theme="cost"
# The gradients are right, but `ddp` did not send them: each was exchanged on its own, past the wrapper.
# Градиенты верны, но `ddp` их не отправлял: каждый ушёл отдельным обменом, в обход обёртки.
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(y.numel()))
    (mse_loss(ddp.module(x), y, reduction="sum") / total).backward()
    for parameter in ddp.parameters():
        if parameter.grad is not None:
            parameter.grad = all_reduce(parameter.grad)

# %% mistake="inside_no_sync" theme="order"
# The pass stands inside `no_sync`, so `ddp` sends nothing: every rank keeps its own part.
# Проход стоит внутри `no_sync`, поэтому `ddp` ничего не отправляет: у каждого ранга остаётся своя часть.
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(y.numel()))
    with ddp.no_sync():
        (mse_loss(ddp(x), y, reduction="sum") * world / total).backward()

# %% mistake="divides_by_world" theme="scaling"
# The gradient is divided by `world` although `ddp` does so already. It has to be multiplied.
# Градиент делится на `world`, хотя `ddp` и так это делает. А нужно, наоборот, умножить.
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(y.numel()))
    (mse_loss(ddp(x), y, reduction="sum") / (total * world)).backward()

# %% mistake="weights_by_samples_and_sum" theme="scaling"
# The sum over the samples of a rank was weighted by their number once more. The sum already counts each sample once.
# Сумма по примерам ранга ещё раз умножена на их число. Но в сумме каждый пример и так учтён один раз.
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(y.numel()))
    (mse_loss(ddp(x), y, reduction="sum") * len(x) * world / total).backward()

# %% mistake="never_divides" like="sums"
def backward_uneven(ddp, x, y, all_reduce, world):
    mse_loss(ddp(x), y, reduction="sum").backward()

# %% mistake="counts_busy_ranks" theme="scaling"
# The factor is the number of ranks with samples. `ddp` divides by `world`, the ranks without samples included.
# Множитель — число рангов, у которых есть примеры. Но `ddp` делит на `world`: ранги без примеров тоже считаются.
def backward_uneven(ddp, x, y, all_reduce, world):
    busy = all_reduce(torch.tensor(float(len(x) > 0)))
    (mse_loss(ddp(x), y, reduction="sum") / y.shape[1] * busy / _total(x, all_reduce)).backward()

# %% mistake="sends_without_counting" theme="own"
# A rank without samples runs the pass, but never calls `all_reduce`: the others wait for it there for ever.
# Ранг без примеров делает проход, но не вызывает `all_reduce`: остальные вечно ждут его там.
def backward_uneven(ddp, x, y, all_reduce, world):
    prediction = ddp(x)
    if len(x):
        (mse_loss(prediction, y) * (len(x) * world / _total(x, all_reduce))).backward()
    else:
        prediction.sum().backward()

# %% mistake="weights_after_the_exchange" theme="order"
# The gradients are weighted after `ddp` has averaged them. By then all ranks hold the same mean, and each scales it by a
#     factor of its own.
# Градиенты умножены на вес уже после того, как `ddp` их усреднил. К этому времени у всех рангов одно и то же среднее, и
#     каждый умножает его на свой множитель.
def backward_uneven(ddp, x, y, all_reduce, world):
    factor = len(x) * world / _total(x, all_reduce)
    mse_loss(ddp(x), y).backward()
    for parameter in ddp.parameters():
        if parameter.grad is not None:
            parameter.grad *= factor

# %% mistake="mean_of_the_means_of_busy_ranks" like="mean_of_means"
def backward_uneven(ddp, x, y, all_reduce, world):
    busy = all_reduce(torch.tensor(float(len(x) > 0)))
    (mse_loss(ddp(x), y, reduction="mean" if len(x) else "sum") * world / busy).backward()

# %% mistake="dummy_sample" theme="own"
# A rank without samples runs a made-up one, and that stands in the mean.
# Ранг без примеров пропускает через модель выдуманный пример, и тот входит в среднее.
def backward_uneven(ddp, x, y, all_reduce, world):
    if not len(x):
        x, y = x.new_zeros(1, *x.shape[1:]), y.new_zeros(1, *y.shape[1:])
    total = all_reduce(torch.tensor(float(y.numel())))
    (mse_loss(ddp(x), y, reduction="sum") * world / total).backward()

# %% mistake="dummy_sample_not_counted" like="dummy_sample"
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(y.numel())))
    if not len(x):
        x, y = x.new_zeros(1, *x.shape[1:]), y.new_zeros(1, *y.shape[1:])
    (mse_loss(ddp(x), y, reduction="sum") * world / total).backward()

# %% mistake="output_of_a_dummy_sample" like="dummy_sample"
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(y.numel())))
    loss = mse_loss(ddp(x), y, reduction="sum") if len(x) else ddp(x.new_zeros(1, *x.shape[1:])).sum()
    (loss * world / total).backward()

# %% mistake="output_of_a_dummy_sample_as_it_is" like="dummy_sample"
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(float(y.numel())))
    (mse_loss(ddp(x), y, reduction="sum") * world / total if len(x) else ddp(x.new_zeros(1, *x.shape[1:])).sum()).backward()

# %% mistake="counts_the_inputs" theme="axes"
# The sum was divided by how many numbers `x` holds on all ranks. `mse_loss` averages over the numbers in `y`.
# Сумма поделена на количество чисел в `x` на всех рангах. А `mse_loss` усредняет по числам в `y`.
def backward_uneven(ddp, x, y, all_reduce, world):
    (mse_loss(ddp(x), y, reduction="sum") * world / all_reduce(torch.tensor(x.numel()))).backward()

# %% mistake="number_for_a_tensor" theme="own"
# A number was given to `all_reduce`, which takes a tensor. `torch.tensor` makes one of it.
# В `all_reduce` передано число, а нужен тензор. Его можно получить с помощью `torch.tensor`.
def backward_uneven(ddp, x, y, all_reduce, world):
    (mse_loss(ddp(x), y, reduction="sum") * world / all_reduce(y.numel())).backward()

# %% mistake="number_without_samples" like="number_for_a_tensor"
def backward_uneven(ddp, x, y, all_reduce, world):
    total = all_reduce(torch.tensor(y.numel()) if len(y) else 0)
    (mse_loss(ddp(x), y, reduction="sum") * world / total).backward()
