# %%
import torch
from torch.nn.functional import mse_loss

from .common import join_windows, loses_the_scale, train_in_windows


# %% mistake="still_backward_on_the_last" theme="accumulation"
# `backward()` still runs only for the last micro-batch of a window. The losses before it are computed and not used.
# Обратный проход `backward()` по-прежнему выполняется только для последнего микробатча окна. Потери до него
#     вычислены, но не использованы.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        loss = mse_loss(model(x), y) / accumulation_steps
        if i % accumulation_steps == accumulation_steps - 1:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

# %% mistake="clears_every_time" theme="accumulation"
# Gradients are cleared inside a window, before its last micro-batch: the step uses that one alone.
# Градиенты обнуляются внутри окна, перед его последним микробатчем: в шаг входит только он.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        optimizer.zero_grad()
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()

# %% mistake="one_backward_for_the_sum" theme="cost"
# The losses of a window are added up and go backward together. The weights are right, but until then every graph of
#     the window stays in memory.
# Потери окна складываются, а обратный проход у них один, общий. Веса верны, но до него все графы окна остаются в
#     памяти.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    total = 0.0
    for i, (x, y) in enumerate(batches):
        total = total + mse_loss(model(x), y) / accumulation_steps
        if (i + 1) % accumulation_steps == 0:
            total.backward()
            optimizer.step()
            optimizer.zero_grad()
            total = 0.0

# %% mistake="trains_on_joined_windows" theme="cost"
# Each window was joined into one big batch. The weights are right, but nothing was accumulated.
# Каждое окно объединено в один большой батч. Веса верны, но накопления не было.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    train_in_windows(model, optimizer, join_windows(batches, accumulation_steps), 1, lambda w, n: 1.0)

# %% mistake="loses_the_scale" theme="scaling"
# The scaling by 1/K is missing: each step is K times too long.
# Потеряно масштабирование на 1/K: каждый шаг в K раз длиннее нужного.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        mse_loss(model(x), y).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()

# %% mistake="leaks_into_the_next_window" theme="accumulation"
# Gradients are never cleared: each window still holds those of the windows before it.
# Градиенты никогда не обнуляются: в каждом окне остаются градиенты предыдущих окон.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()

# %% mistake="steps_every_time" theme="order"
# The optimizer steps after every micro-batch: nothing is accumulated over the window.
# Шаг оптимизатора делается после каждого микробатча: за окно ничего не накапливается.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for x, y in batches:
        optimizer.zero_grad()
        (mse_loss(model(x), y) / accumulation_steps).backward()
        optimizer.step()

# %% mistake="clears_before_the_last" theme="accumulation"
# The gradients are cleared inside a window, before its last micro-batch: the step uses that one alone.
# Градиенты обнуляются внутри окна, перед его последним микробатчем: в шаг входит только он.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        if (i + 1) % accumulation_steps == 0:
            optimizer.zero_grad()
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()

# %% mistake="lowers_the_rate" theme="scaling"
# The gradient is K times too long, and the learning rate was lowered to make up for it. That works for plain SGD
#     only, not with Adam or weight decay.
# Градиент в K раз длиннее нужного, и вместо него уменьшена скорость обучения. Такой приём верен только для простого
#     SGD, а для Adam или при затухании весов — нет.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for group in optimizer.param_groups:
        group["lr"] /= accumulation_steps
    loses_the_scale(model, optimizer, batches, accumulation_steps)

# %% mistake="divides_the_weight_alone" theme="missing"
# Only `model.weight.grad` is divided by K. A model may have other parameters, such as a bias.
# На K делится только `model.weight.grad`. У модели могут быть и другие параметры, например смещение (bias).
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        mse_loss(model(x), y).backward()
        if (i + 1) % accumulation_steps == 0:
            model.weight.grad /= accumulation_steps
            optimizer.step()
            optimizer.zero_grad()

# %% mistake="steps_one_too_early" theme="order"
# The optimizer steps when `i % K == 0`: the first step comes after one micro-batch already. A window ends where `(i
#     + 1) % K == 0`.
# Шаг оптимизатора делается при `i % K == 0`: первый шаг — уже после одного микробатча. Окно заканчивается там, где
#     `(i + 1) % K == 0`.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if i % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()

# %% mistake="steps_once" theme="order"
# There is one step, at the end. Every window has to make its own.
# Шаг всего один, в самом конце, а нужен на каждое окно.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for x, y in batches:
        (mse_loss(model(x), y) / accumulation_steps).backward()
    optimizer.step()
    optimizer.zero_grad()

# %% mistake="divides_by_all" theme="scaling"
# The losses are divided by the number of all micro-batches, not by that of one window.
# Значения функции потерь делятся на число всех микробатчей, а не микробатчей одного окна.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        (mse_loss(model(x), y) / len(batches)).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()

# %% mistake="steps_by_hand" theme="missing"
# The optimizer makes no step: `optimizer.step()` is missing or never reached, or the weights are changed by hand.
#     Adam, for one, does not subtract `lr` times the gradient.
# Оптимизатор не делает ни одного шага: вызова `optimizer.step()` нет, до него не доходит выполнение, или веса
#     изменены вручную. Adam, например, вычитает не градиент, умноженный на `lr`.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= optimizer.param_groups[0]["lr"] * parameter.grad
            optimizer.zero_grad()

# %% mistake="clears_the_weight_alone" theme="accumulation"
# Only `model.weight.grad` is cleared. A model may have other parameters, such as a bias: `optimizer.zero_grad()`
#     clears them all.
# Обнуляется только `model.weight.grad`. У модели могут быть и другие параметры, например смещение (bias): метод
#     `optimizer.zero_grad()` обнуляет градиенты всех.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            model.weight.grad = None

# %% mistake="backward_through_a_running_sum" theme="graph_life"
# `backward()` goes twice through the same graph, as with a running sum of losses: by the second time the saved
#     values are freed.
# Обратный проход `backward()` дважды идёт по одному графу, как при растущей сумме потерь: ко второму разу
#     сохранённое в нём уже освобождено.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    total = 0.0
    for i, (x, y) in enumerate(batches):
        total = total + mse_loss(model(x), y) / accumulation_steps
        total.backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()

# %% mistake="retains_a_running_sum" theme="graph_life"
# With `retain_graph=True` a running sum goes backward again and again: old losses are counted twice.
# Из-за `retain_graph=True` обратный проход по растущей сумме потерь повторяется: старые потери учтены дважды.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    total = 0.0
    for i, (x, y) in enumerate(batches):
        total = total + mse_loss(model(x), y) / accumulation_steps
        total.backward(retain_graph=True)
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()

# %% mistake="last_without_division" theme="accumulation"
# `backward()` still runs only for the last micro-batch of a window, and its loss is not divided by K any more.
# Обратный проход `backward()` по-прежнему выполняется только для последнего микробатча окна, а его потери больше не
#     делятся на K.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        loss = mse_loss(model(x), y)
        if (i + 1) % accumulation_steps == 0:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

# %% mistake="counts_the_last_twice" theme="accumulation"
# The last micro-batch of a window counts twice: `backward()` was added to the loop and stayed in the `if`.
# Последний микробатч окна учтён дважды: вызов `backward()` добавлен в цикл и остался в `if`.
def fix_backward_last(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        loss = mse_loss(model(x), y) / accumulation_steps
        loss.backward(retain_graph=True)
        if (i + 1) % accumulation_steps == 0:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
