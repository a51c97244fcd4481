# %%
import torch
from torch.nn.functional import mse_loss


# %% mistake="divides_by_count" theme="scaling"
# Every micro-batch got the same weight, 1/K, although they have different sizes.
# Все микробатчи получили одинаковый вес 1/K, хотя размеры у них разные.
def accumulate_uneven(model, batches):
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()

# %% mistake="sums_the_means" theme="scaling"
# The means of the micro-batches were summed without scaling: the gradient is K times too large.
# Средние по микробатчам сложены без масштабирования: градиент в K раз больше нужного.
def accumulate_uneven(model, batches):
    model.zero_grad()
    for x, y in batches:
        mse_loss(model(x), y).backward()

# %% mistake="multiplies_by_size" theme="scaling"
# Each loss was multiplied by the size of its micro-batch, but `.grad` is not divided by the number of samples. `.div(n)` makes a
#     new tensor; `.div_(n)` changes `.grad`.
# Каждое значение функции потерь умножено на размер микробатча, но `.grad` не разделён на общее число примеров. Метод `.div(n)`
#     создаёт новый тензор, а `.grad` меняет `.div_(n)`.
def accumulate_uneven(model, batches):
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) * len(x)).backward()

# %% mistake="keeps_only_the_last" theme="accumulation"
# The gradients are zeroed inside the loop, so only the last micro-batch is left.
# Градиенты обнуляются внутри цикла, поэтому остаётся только последний микробатч.
def accumulate_uneven(model, batches):
    total = sum(len(x) for x, _ in batches)
    for x, y in batches:
        model.zero_grad()
        (mse_loss(model(x), y) * len(x) / total).backward()

# %% mistake="keeps_the_old_gradient" theme="accumulation"
# The gradient that was there before stayed in the sum. It has to be cleared before the loop.
# В сумме остался прежний градиент. Его нужно обнулить до цикла.
def accumulate_uneven(model, batches):
    total = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (mse_loss(model(x), y) * len(x) / total).backward()

# %% mistake="concatenates" theme="cost"
# The micro-batches were joined into one big batch. The gradient is right, but nothing was accumulated.
# Микробатчи объединены в один большой батч. Градиент верен, но накопления не было.
def accumulate_uneven(model, batches):
    model.zero_grad()
    mse_loss(model(torch.cat([x for x, _ in batches])), torch.cat([y for _, y in batches])).backward()

# %% mistake="divides_by_samples" theme="scaling"
# Each mean was divided by the number of all samples, although it was a mean already.
# Каждое среднее разделено на число всех примеров, хотя оно уже было средним.
def accumulate_uneven(model, batches):
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / sum(len(x) for x, _ in batches)).backward()

# %% mistake="sums_weighted_losses" theme="cost"
# The losses are summed first, and `backward()` runs once. Until then every graph stays in memory.
# Потери сначала складываются, а `backward()` вызывается один раз. До этого все графы остаются в памяти.
def accumulate_uneven(model, batches):
    total = sum(len(x) for x, _ in batches)
    model.zero_grad()
    sum(mse_loss(model(x), y) * len(x) / total for x, y in batches).backward()

# %% mistake="divides_by_rows" theme="scaling"
# The squared errors of all entries were summed, but divided by the number of rows. With two columns in `y` there
#     are twice as many entries.
# Сложены квадраты ошибок по всем элементам, а сумма разделена на число строк. Если в `y` два столбца, элементов
#     вдвое больше.
def accumulate_uneven(model, batches):
    model.zero_grad()
    rows = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (mse_loss(model(x), y, reduction="sum") / rows).backward()

# %% mistake="divides_sums_by_count" theme="scaling"
# Sums over the micro-batches were divided by their number K, as if they were means.
# Суммы по микробатчам разделены на число микробатчей K, как если бы это были средние.
def accumulate_uneven(model, batches):
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y, reduction="sum") / len(batches)).backward()

# %% mistake="clears_afterwards" theme="order"
# `.grad` is None at the end: it was cleared after the loop, and the result with it, or there was no backward pass.
# В конце в `.grad` лежит None: либо после цикла поле обнулено, и результат пропал, либо обратного прохода не было.
def accumulate_uneven(model, batches):
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()
    model.zero_grad()

# %% mistake="returns_the_gradient" theme="missing"
# `.grad` is the one from before: the new gradient was not put there, or not computed at all.
# В `.grad` лежит прежнее значение: новый градиент туда не записан или вовсе не вычислен.
def accumulate_uneven(model, batches):
    gradients = [torch.autograd.grad(mse_loss(model(x), y), model.weight)[0] for x, y in batches]
    return torch.stack(gradients).mean(0)

# %% mistake="overwrites_the_sum" theme="accumulation"
# Each gradient replaced the one before in `.grad`: only the last micro-batch is left. It has to be added to what is
#     there.
# Каждый градиент записан в `.grad` вместо прежнего: остался только последний микробатч. Новый градиент нужно
#     прибавлять.
def accumulate_uneven(model, batches):
    total = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (gradient,) = torch.autograd.grad(mse_loss(model(x), y) * len(x) / total, model.weight)
        model.weight.grad = gradient

# %% mistake="multiplies_and_divides_by_count" theme="scaling"
# Each loss was multiplied by the size of its micro-batch and divided by their number K. The sizes add up to N, not
#     to K.
# Каждое значение функции потерь умножено на размер микробатча и разделено на число микробатчей K. Сумма размеров
#     равна N, а не K.
def accumulate_uneven(model, batches):
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) * len(x) / len(batches)).backward()

# %% mistake="divides_by_own_size" theme="scaling"
# Each mean was divided by the size of its own micro-batch: a larger micro-batch counts less instead of more.
# Каждое среднее разделено на размер своего микробатча: больший микробатч весит меньше, а должен больше.
def accumulate_uneven(model, batches):
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(x)).backward()

# %% mistake="divides_by_samples_so_far" theme="scaling"
# The sum for the divisor grows inside the loop: early micro-batches are divided by too few samples.
# Делитель растёт внутри цикла: градиенты первых микробатчей разделены на слишком малое число примеров.
def accumulate_uneven(model, batches):
    model.zero_grad()
    seen = 0
    for x, y in batches:
        seen += len(x)
        (mse_loss(model(x), y) * len(x) / seen).backward()

# %% mistake="counts_k_times_the_first" theme="scaling"
# The number of samples was taken as K times the size of the first micro-batch. Here the sizes differ.
# Число примеров принято равным K размерам первого микробатча. Но здесь размеры разные.
def accumulate_uneven(model, batches):
    model.zero_grad()
    total = len(batches) * len(batches[0][0])
    for x, y in batches:
        (mse_loss(model(x), y) * len(x) / total).backward()

# %% mistake="weighs_by_entries_of_x" theme="scaling"
# A micro-batch is weighted by the entries of its `x`, but the divisor counts rows: the weights do not add up to 1.
# Вес микробатча — число элементов его `x`, а делитель — число строк: сумма весов не равна 1.
def accumulate_uneven(model, batches):
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) * x.numel() / sum(len(x) for x, _ in batches)).backward()

# %% mistake="scales_the_sum" theme="scaling"
# `.grad` was multiplied after each backward pass. It holds the sum so far, so what came earlier is scaled again each
#     time.
# Поле `.grad` умножается после каждого обратного прохода. Но в нём лежит вся накопленная сумма, поэтому прежние
#     слагаемые умножаются каждый раз заново.
def accumulate_uneven(model, batches):
    model.zero_grad()
    total = sum(len(x) for x, _ in batches)
    for x, y in batches:
        mse_loss(model(x), y).backward()
        model.weight.grad *= len(x) / total

# %% mistake="divides_by_the_largest" theme="scaling"
# The divisor is the size of the largest micro-batch. It has to be the number of all samples.
# Делитель — размер самого большого микробатча, а нужно общее число примеров.
def accumulate_uneven(model, batches):
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) * len(x) / max(len(x) for x, _ in batches)).backward()
