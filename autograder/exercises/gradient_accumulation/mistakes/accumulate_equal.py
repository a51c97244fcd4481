# %%
import torch
from torch.nn.functional import mse_loss


# %% mistake="never_clears" theme="accumulation"
# The gradient that was there before stayed in the sum. It has to be cleared before the loop.
# В сумме остался прежний градиент. Его нужно обнулить до цикла.
def accumulate_equal(model, batches):
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()

# %% mistake="zeroes_inside" theme="accumulation"
# The gradients are zeroed inside the loop, so only the last micro-batch is left.
# Градиенты обнуляются внутри цикла, поэтому остаётся только последний микробатч.
def accumulate_equal(model, batches):
    for x, y in batches:
        model.zero_grad()
        (mse_loss(model(x), y) / len(batches)).backward()

# %% mistake="backward_on_the_last" theme="accumulation"
# `backward()` runs only for the last micro-batch. The other losses are computed and not used.
# Обратный проход `backward()` выполняется только для последнего микробатча. Остальные потери вычислены, но не
#     использованы.
def accumulate_equal(model, batches):
    model.zero_grad()
    for x, y in batches:
        loss = mse_loss(model(x), y) / len(batches)
    loss.backward()

# %% mistake="sums_the_means" theme="scaling"
# The means of the micro-batches were summed without scaling: the gradient is K times too large.
# Средние по микробатчам сложены без масштабирования: градиент в K раз больше нужного.
def accumulate_equal(model, batches):
    model.zero_grad()
    for x, y in batches:
        mse_loss(model(x), y).backward()

# %% mistake="neither_clears_nor_divides" theme="accumulation"
# Two things are missing: the gradient of before is not cleared, and the means are summed without a division by K.
# Не сделано два шага: прежний градиент не обнулён, и средние сложены без деления на K.
def accumulate_equal(model, batches):
    for x, y in batches:
        mse_loss(model(x), y).backward()

# %% mistake="multiplies_by_size" theme="scaling"
# Each loss was multiplied by the size of its micro-batch, but not divided by the number of samples.
# Каждое значение функции потерь умножено на размер микробатча, но не разделено на общее число примеров.
def accumulate_equal(model, batches):
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) * len(x)).backward()

# %% mistake="divides_by_samples" theme="scaling"
# Each mean was divided by the number of all samples, although it was a mean already.
# Каждое среднее разделено на число всех примеров, хотя оно уже было средним.
def accumulate_equal(model, batches):
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / sum(len(x) for x, _ in batches)).backward()

# %% mistake="concatenates" theme="cost"
# The micro-batches were joined into one big batch. The gradient is right, but nothing was accumulated.
# Микробатчи объединены в один большой батч. Градиент верен, но накопления не было.
def accumulate_equal(model, batches):
    model.zero_grad()
    mse_loss(model(torch.cat([x for x, _ in batches])), torch.cat([y for _, y in batches])).backward()

# %% mistake="sums_the_losses" theme="cost"
# The losses are summed first, and `backward()` runs once. Until then every graph stays in memory.
# Потери сначала складываются, а `backward()` вызывается один раз. До этого все графы остаются в памяти.
def accumulate_equal(model, batches):
    model.zero_grad()
    sum(mse_loss(model(x), y) / len(batches) for x, y in batches).backward()

# %% mistake="divides_by_rows" theme="scaling"
# The squared errors of all entries were summed, but divided by the number of rows. With two columns in `y` there
#     are twice as many entries.
# Сложены квадраты ошибок по всем элементам, а сумма разделена на число строк. Если в `y` два столбца, элементов
#     вдвое больше.
def accumulate_equal(model, batches):
    model.zero_grad()
    rows = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (mse_loss(model(x), y, reduction="sum") / rows).backward()

# %% mistake="divides_sums_by_count" theme="scaling"
# Sums over the micro-batches were divided by their number K, as if they were means.
# Суммы по микробатчам разделены на число микробатчей K, как если бы это были средние.
def accumulate_equal(model, batches):
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y, reduction="sum") / len(batches)).backward()

# %% mistake="overwrites" theme="accumulation"
# Each gradient replaced the one before in `.grad`: only the last micro-batch is left. It has to be added to what is
#     there.
# Каждый градиент записан в `.grad` вместо прежнего: остался только последний микробатч. Новый градиент нужно
#     прибавлять.
def accumulate_equal(model, batches):
    for x, y in batches:
        (gradient,) = torch.autograd.grad(mse_loss(model(x), y) / len(batches), model.weight)
        model.weight.grad = gradient

# %% mistake="divides_in_the_loop" theme="scaling"
# `.grad` was divided by K inside the loop: the first micro-batches are divided again and again.
# Поле `.grad` делится на K внутри цикла: первые микробатчи делятся снова и снова.
def accumulate_equal(model, batches):
    model.zero_grad()
    for x, y in batches:
        mse_loss(model(x), y).backward()
        model.weight.grad /= len(batches)

# %% mistake="divides_the_old_one_too" theme="accumulation"
# The gradient that was there before was never cleared, and then divided by K together with the new one.
# Прежний градиент не был обнулён, а потом разделён на K вместе с новым.
def accumulate_equal(model, batches):
    for x, y in batches:
        mse_loss(model(x), y).backward()
    model.weight.grad /= len(batches)

# %% mistake="clears_afterwards" theme="order"
# `.grad` is None at the end: it was cleared after the loop, and the result with it, or there was no backward pass.
# В конце в `.grad` лежит None: либо после цикла поле обнулено, и результат пропал, либо обратного прохода не было.
def accumulate_equal(model, batches):
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()
    model.zero_grad()

# %% mistake="returns_the_gradient" theme="missing"
# `.grad` is the one from before: the new gradient was not put there, or not computed at all.
# В `.grad` лежит прежнее значение: новый градиент туда не записан или вовсе не вычислен.
def accumulate_equal(model, batches):
    gradients = [torch.autograd.grad(mse_loss(model(x), y), model.weight)[0] for x, y in batches]
    return torch.stack(gradients).mean(0)

# %% mistake="divides_twice" theme="scaling"
# The gradient is K times too small: it was divided by K twice, for example in the loss and again in `.grad`.
# Градиент в K раз меньше нужного: он разделён на K дважды, например в функции потерь и ещё раз в `.grad`.
def accumulate_equal(model, batches):
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches) ** 2).backward()

# %% mistake="divides_by_its_rows" theme="scaling"
# Each mean was divided by the number of samples in its micro-batch, although it was a mean already. Divide by the number of
#     micro-batches.
# Каждое среднее разделено на число примеров в микробатче, хотя оно уже было средним. Делить нужно на число микробатчей.
def accumulate_equal(model, batches):
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(x)).backward()

# %% mistake="zeroes_none" theme="missing"
# Before the first pass `.grad` is None, and None cannot be zeroed in place. `model.zero_grad()` skips it; `.grad = None` works too.
# До первого прохода в `.grad` лежит None, а обнулить None на месте нельзя. Метод `model.zero_grad()` его пропускает; подойдёт и
#     `.grad = None`.
def accumulate_equal(model, batches):
    for p in model.parameters():
        p.grad.zero_()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()
