# %%
from contextlib import nullcontext

import torch
from torch.nn.functional import mse_loss


def _accumulate(ddp, batches, quiet, scale=None, clear=True):
    """Accumulate; `quiet(i)` tells whether micro-batch `i` goes without an all-reduce."""
    if clear:
        ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if quiet(i) else nullcontext():
            (mse_loss(ddp(x), y) * (1 / len(batches) if scale is None else scale)).backward()

# %% mistake="synchronises_every_pass" theme="cost" plain="yes"
# Every micro-batch is sent. The gradient is right, but there are as many all-reduces as micro-batches.
# Градиенты отправляются после каждого микробатча. Они верны, но операций all-reduce столько же, сколько микробатчей.
def accumulate_no_sync(ddp, batches):
    _accumulate(ddp, batches, lambda i: False)

# %% mistake="forward_outside" theme="order"
# The gradient is right, but there is an exchange for every micro-batch: only `backward()` stands inside `no_sync`. The
#     flag was read before, in the forward pass.
# Градиент верен, но обмен происходит на каждом микробатче: внутри `no_sync` только `backward()`. Флаг прочитан раньше, в
#     прямом проходе.
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        loss = mse_loss(ddp(x), y) / len(batches)
        with ddp.no_sync() if i + 1 < len(batches) else nullcontext():
            loss.backward()

# %% mistake="backward_outside" theme="order"
# There is no exchange: the last forward pass stands inside `no_sync`, too, and it reads the flag. Neither the end of the
#     block nor a `backward()` outside starts an exchange.
# Обмена нет: последний прямой проход тоже стоит внутри `no_sync`, а флаг читается в нём. Ни выход из блока, ни
#     `backward()` снаружи обмена не вызывают.
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync():
            loss = mse_loss(ddp(x), y) / len(batches)
        loss.backward()

# %% mistake="through_the_module" theme="order"
# Nothing is sent: the forward passes go through `ddp.module`. The wrapper is left out, and so is its exchange.
# Не отправлено ничего: прямые проходы идут через `ddp.module`. Обёртка обойдена, а вместе с ней и обмен.
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for x, y in batches:
        (mse_loss(ddp.module(x), y) / len(batches)).backward()

# %% mistake="synchronises_the_first" theme="order"
# The first micro-batch is sent, the others are not. What is added to `.grad` after the exchange stays local.
# Отправлены градиенты только первого микробатча. То, что прибавлено к `.grad` после обмена, остаётся на своём ранге.
def accumulate_no_sync(ddp, batches):
    _accumulate(ddp, batches, lambda i: i > 0)

# %% mistake="forwards_first" theme="order"
# All forward passes run before the first `backward()`. The exchange goes with the first backward pass, and the others stay
#     local.
# Все прямые проходы сделаны до первого `backward()`. Обмен происходит в первом обратном проходе, а градиенты остальных
#     остаются на своём ранге.
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    losses = [mse_loss(ddp(x), y) / len(batches) for x, y in batches]
    for loss in losses:
        loss.backward()

# %% mistake="one_backward" theme="cost"
# The losses are added up and go backward together. The gradient is right, but all graphs of the window are in memory at once.
# Функции потерь складываются, а обратный проход у них общий. Градиент верен, но в памяти одновременно лежат графы всех микробатчей.
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    sum(mse_loss(ddp(x), y) / len(batches) for x, y in batches).backward()

# %% mistake="sums_the_losses" theme="scaling"
# The division by the number of micro-batches is missing: the gradient is as many times too long.
# Нет деления на число микробатчей: градиент во столько же раз длиннее нужного.
def accumulate_no_sync(ddp, batches):
    _accumulate(ddp, batches, lambda i: i + 1 < len(batches), scale=1.0)

# %% mistake="divides_by_samples" theme="scaling"
# The loss is divided by the number of samples, although `mse_loss` is a mean already.
# Функция потерь поделена на число примеров, хотя `mse_loss` и так среднее.
def accumulate_no_sync(ddp, batches):
    _accumulate(ddp, batches, lambda i: i + 1 < len(batches), scale=1 / sum(len(x) for x, _ in batches))

# %% mistake="keeps_old_gradients" theme="accumulation"
# What `.grad` held before is in the result. It was to be cleared once, before the first micro-batch.
# В результат вошло прежнее содержимое `.grad`. Его нужно было обнулить один раз, перед первым микробатчем.
def accumulate_no_sync(ddp, batches):
    _accumulate(ddp, batches, lambda i: i + 1 < len(batches), clear=False)

# %% mistake="clears_every_time" theme="accumulation"
# Only the last micro-batch is left: `.grad` is cleared before each, or the others have no backward pass.
# Остаётся градиент только последнего микробатча: поля `.grad` обнуляются перед каждым, или у остальных нет
#     обратного прохода.
def accumulate_no_sync(ddp, batches):
    for i, (x, y) in enumerate(batches):
        ddp.zero_grad()
        with ddp.no_sync() if i + 1 < len(batches) else nullcontext():
            (mse_loss(ddp(x), y) / len(batches)).backward()

# %% mistake="clears_every_time_and_sums" like="clears_every_time"
def accumulate_no_sync(ddp, batches):
    x, y = batches[-1]
    ddp.zero_grad()
    mse_loss(ddp(x), y).backward()

# %% mistake="averages_once_more" theme="scaling"
# The gradient was divided by the number of ranks once more. The all-reduce of `ddp` is a mean already.
# Градиент ещё раз поделён на число рангов. Но all-reduce в `ddp` и так вычисляет среднее.
def accumulate_no_sync(ddp, batches):
    _accumulate(ddp, batches, lambda i: i + 1 < len(batches), scale=1 / len(batches) / ddp._world)

# %% mistake="averages_over_two_once_more" like="averages_once_more"
def accumulate_no_sync(ddp, batches):
    _accumulate(ddp, batches, lambda i: i + 1 < len(batches), scale=1 / len(batches) / 2)

# %% mistake="leaves_it_quiet" theme="state"
# `no_sync()` was entered and never left. The last micro-batch is not sent, nor is any pass after the window.
# В `no_sync()` вошли, но не вышли. Градиенты последнего микробатча и всех проходов после окна не отправлены.
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    manager = ddp.no_sync()
    manager.__enter__()
    ddp.left_open = manager  # else Python would close it
    for x, y in batches:
        (mse_loss(ddp(x), y) / len(batches)).backward()

# %% mistake="steps_over_the_first" theme="missing"
# The first micro-batch is missing in the gradient.
# В градиенте не хватает первого микробатча.
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if i + 1 < len(batches) else nullcontext():
            (mse_loss(ddp(x), y) / len(batches)).backward()
        if i == 0 and len(batches) > 1:
            ddp.zero_grad()

# %% mistake="quiet_only_at_the_end" theme="order"
# Every micro-batch but the last is sent. It is the last one that has to be, and only that one.
# Градиенты отправляются после каждого микробатча, кроме последнего. А нужно, наоборот, только после последнего.
def accumulate_no_sync(ddp, batches):
    _accumulate(ddp, batches, lambda i: i + 1 == len(batches))

# %% mistake="joins_the_window" theme="cost" plain="yes"
# The micro-batches were joined into one big batch. The gradient is right, but nothing was accumulated.
# Микробатчи объединены в один большой батч. Градиент верен, но накопления не было.
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    x, y = (torch.cat(parts) for parts in zip(*batches))
    mse_loss(ddp(x), y).backward()

# %% mistake="one_pass_more" theme="own"
# There is a pass too many: after the window another one went through the model, to send the gradients. Its own gradient is
#     in the sum.
# Один проход лишний: он сделан после окна, чтобы отправить градиенты. Его собственный градиент попал в
#     сумму.
def accumulate_no_sync(ddp, batches):
    _accumulate(ddp, batches, lambda i: True)
    ddp(batches[-1][0]).sum().backward()

# %% mistake="one_is_not_sent" theme="order"
# Where the window has a single micro-batch, nothing is sent: the first one always stands inside `no_sync`.
# Если в окне один микробатч, ничего не отправлено: первый всегда стоит внутри `no_sync`.
def accumulate_no_sync(ddp, batches):
    _accumulate(ddp, batches, lambda i: i + 1 < max(2, len(batches)))

# %% mistake="divides_the_last_alone" theme="scaling"
# Only the loss of the last micro-batch was divided by their number. The gradients in `.grad` are of all, undivided.
# На число микробатчей поделены только потери последнего. А градиенты остальных прибавлены к `.grad` без деления.
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        last = i + 1 == len(batches)
        with nullcontext() if last else ddp.no_sync():
            (mse_loss(ddp(x), y) / (len(batches) if last else 1)).backward()

# %% mistake="zeroes_none" theme="recording"
# A frozen parameter has no gradient: its `.grad` is None and cannot be zeroed in place. `ddp.zero_grad()` skips it.
# У замороженного параметра нет градиента: его `.grad` равен None, и обнулить его на месте нельзя. Метод `ddp.zero_grad()`
#     такие пропускает.
def accumulate_no_sync(ddp, batches):
    for p in ddp.parameters():
        p.grad.zero_()
    _accumulate(ddp, batches, lambda i: i + 1 < len(batches))

# %% mistake="sends_by_a_pass_of_zeros" theme="cost"
# The gradient is right, but there is a pass too many: its loss is 0, and it only starts the exchange. The pass of the last
#     micro-batch can do that.
# Градиент верен, но один проход лишний: потери в нём равны 0, и нужен он только для обмена. Отправить градиенты может и
#     проход последнего микробатча.
def accumulate_no_sync(ddp, batches):
    _accumulate(ddp, batches, lambda i: True)
    (ddp(batches[-1][0]).sum() * 0).backward()

# %% mistake="divides_all_but_the_last" theme="scaling"
# The loss of the last micro-batch was not divided by their number, those of the others were.
# Потери последнего микробатча не поделены на число микробатчей, а остальных — поделены.
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        last = i + 1 == len(batches)
        with nullcontext() if last else ddp.no_sync():
            (mse_loss(ddp(x), y) / (1 if last else len(batches))).backward()

# %% mistake="divides_by_those_that_wait" theme="scaling"
# The losses were divided by the number of micro-batches without the last one. It belongs to the mean as well.
# Потери поделены на число микробатчей без последнего. А он тоже входит в среднее.
def accumulate_no_sync(ddp, batches):
    _accumulate(ddp, batches, lambda i: i + 1 < len(batches), scale=1 / max(1, len(batches) - 1))

# %% mistake="means_of_sums" theme="scaling"
# The loss of a micro-batch is a sum over its numbers, divided by the number of micro-batches alone. So the gradient is too
#     long.
# Функция потерь микробатча — сумма по всем его числам, поделённая только на число микробатчей. Поэтому градиент слишком
#     длинный.
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        with ddp.no_sync() if i + 1 < len(batches) else nullcontext():
            (mse_loss(ddp(x), y, reduction="sum") / len(batches)).backward()

# %% mistake="clears_at_the_end" theme="accumulation"
# At the end every `.grad` is None: either nothing was put there, or it was cleared after the window.
# В конце все `.grad` равны None: либо туда ничего не записано, либо после окна их очистили.
def accumulate_no_sync(ddp, batches):
    _accumulate(ddp, batches, lambda i: i + 1 < len(batches))
    ddp.zero_grad()

# %% mistake="waiting_losses_together" theme="cost"
# The gradient is right, but several micro-batches go forward before the first goes backward. Their graphs are in memory at
#     the same time.
# Градиент верен, но прямые проходы нескольких микробатчей сделаны до первого обратного. Их графы лежат в памяти
#     одновременно.
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad()
    *early, (x, y) = batches
    with ddp.no_sync():
        losses = [mse_loss(ddp(a), b) / len(batches) for a, b in early]
        for loss in losses:
            loss.backward()
    (mse_loss(ddp(x), y) / len(batches)).backward()

# %% mistake="trains_every_module" theme="state"
# `ddp.train()` puts every module into training mode, also one that was in evaluation mode. The model computes something
#     else then.
# Вызов `ddp.train()` переводит в режим обучения все модули, даже те, что были в режиме оценки. Модель тогда вычисляет
#     другое.
def accumulate_no_sync(ddp, batches):
    ddp.train()
    _accumulate(ddp, batches, lambda i: i + 1 < len(batches))

# %% mistake="evaluates_every_module" theme="state"
# `ddp.eval()` puts every module into evaluation mode, and they stay in it after the window.
# Вызов `ddp.eval()` переводит в режим оценки все модули, и после окна они в нём остаются.
def accumulate_no_sync(ddp, batches):
    ddp.eval()
    _accumulate(ddp, batches, lambda i: i + 1 < len(batches))
