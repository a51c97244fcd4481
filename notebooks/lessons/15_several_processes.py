# %% [markdown] tags=["en"] needs="03, 08" about="one all-reduce for a window, ranks with different batches, copies that drift apart, `.grad` in parts"
# # Several processes
#
# Two processes train one model. To spare the network, somebody computes the losses of two micro-batches first and runs the two backward passes afterwards. There is no error and no warning. After the step the two copies of the model differ, and they differ for the rest of the training. Where did half of the gradient go?
#
# Each process is known by its number, its *rank*. After this lesson you can:
#
# * say which backward pass is averaged over the ranks, and which is not;
# * accumulate over micro-batches with a single exchange;
# * take the mean over ranks that have different numbers of samples;
# * read a `.grad` of which each rank holds a part only.
#
# You need lesson 03 for accumulation and lesson 08 for post-accumulate hooks and buckets.
# %% [markdown] tags=["ru"] about="один all-reduce на окно, ранги с разными батчами, копии, которые расходятся, `.grad` по частям" of="d11c6e6e"
# # Несколько процессов
#
# Два процесса обучают одну модель. Чтобы реже обмениваться градиентами, кто-то сначала выполняет прямые проходы обоих микробатчей, а потом оба обратных. Нет ни ошибки, ни предупреждения. После шага две копии модели различаются и останутся разными до конца обучения. Куда делась половина градиента?
#
# У каждого процесса есть номер, его *ранг* (rank). Рангом называют и сам процесс. После урока вы сможете:
#
# * сказать, после какого обратного прохода градиенты усредняются по рангам, а после какого — нет;
# * накапливать градиент по микробатчам с одним-единственным обменом;
# * вычислить среднее по рангам, у которых разное число примеров;
# * работать с градиентом, если у каждого ранга есть только часть `.grad`.
#
# Понадобятся урок 03 (накопление) и урок 08 (хуки post-accumulate и корзины).
# %% tags=["en"]
# The import fails? Install the course's file (or autograd-course) with pip, uninstall the other `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("several_processes", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("several_processes", language="ru")
# %%
from contextlib import ExitStack, contextmanager, nullcontext

import torch
from torch import nn
from torch.nn.functional import mse_loss


# %% [markdown] tags=["en"]
# ## Half a mean
#
# The next cell starts two real processes and ends them again; it takes some seconds. The model is $w x$ and the loss is its output, so the gradient of a micro-batch is its $x$. Rank 0 has the micro-batches 1 and 3, rank 1 has 5 and 11. As in lesson 03, the gradients of the two passes add up in `.grad`: 4 on rank 0, 16 on rank 1. Both ranks should end with the mean, 10. An exchange that gives it to all ranks is called *all-reduce*, as in lesson 08. The cell counts these exchanges. For this it replaces the exchange of `DistributedDataParallel` by its own function `mean`, which gets each bucket of gradients.
# %% [markdown] tags=["ru"] of="7741b3a1"
# ## Половина среднего
#
# Следующая ячейка запускает два настоящих процесса и сама их завершает. На это уходит несколько секунд. Модель вычисляет $w x$, а функция потерь равна её выходу, поэтому градиент микробатча — это его $x$. У ранга 0 микробатчи 1 и 3, у ранга 1 — 5 и 11. Как в уроке 03, градиенты двух проходов складываются в `.grad`: получается 4 на ранге 0 и 16 на ранге 1. В итоге на обоих должно оказаться среднее, 10. Обмен, который даёт среднее всем рангам, называется *all-reduce*, как в уроке 08. Ячейка считает такие обмены. Для этого обмен, встроенный в `DistributedDataParallel`, заменён нашей функцией `mean`, которая получает каждую корзину градиентов.
# %% tags=["picture"]
from autograder import two_processes


def two_losses(rank):
    import torch
    from torch import distributed
    from torch.nn.parallel import DistributedDataParallel

    first, second = torch.tensor([[[[1.0]], [[3.0]]], [[[5.0]], [[11.0]]]])[rank]
    layer, calls, seen = torch.nn.Linear(1, 1, bias=False), [], {}
    ddp = DistributedDataParallel(layer)

    def mean(_, bucket):
        calls.append(bucket)
        work = distributed.all_reduce(bucket.buffer().div_(2), async_op=True)
        return work.get_future().then(lambda done: done.value()[0])

    ddp.register_comm_hook(None, mean)
    for name in ("forward, backward, forward, backward", "forward, forward, backward, backward"):
        calls.clear()
        ddp.zero_grad()
        if name.startswith("forward, backward"):
            ddp(first).sum().backward()
            ddp(second).sum().backward()
        else:
            losses = ddp(first).sum(), ddp(second).sum()
            for loss in losses:
                loss.backward()
        seen[name] = f"{layer.weight.grad.item()}, {len(calls)} all-reduce"
    return seen


two_processes(two_losses)


# %% [markdown] tags=["en", "try"]
# In the second row one all-reduce is missing. Of which numbers is the gradient of rank 0 made there, and which of them did nobody average? Say it.
#
# The first backward pass averaged 1 and 5 to 3. The second one added 3 on rank 0 and 11 on rank 1, and nobody averaged that.
# %% [markdown] tags=["ru", "try"] of="394be5dc"
# Во второй строке на один all-reduce меньше. Из каких чисел там сложился градиент ранга 0 и какое из них никто не усреднял? Сначала ответьте.
#
# Первый обратный проход усреднил 1 и 5, получилось 3. Второй прибавил 3 на ранге 0 и 11 на ранге 1, и этого уже никто не усреднил.
# %% [markdown] tags=["en"]
# ## What the forward pass decides
#
# `DistributedDataParallel` is a wrapper with hooks. Here is one with a single bucket, much like the one that the extra exercise `watch_buckets` of lesson 08 builds, with the two details that matter now. `forward` says which parameters are still missing, and only if `sync` is True. A post-accumulate hook crosses them off; the last one starts the exchange.
#
# `Pair` holds two such ranks in one process. `forward(i)` runs micro-batch `i` on both and returns two losses; `backward` runs both backward. The micro-batches are 2 and 4 on rank 0, 6 and 16 on rank 1.
# %% [markdown] tags=["ru"] of="bf989e2c"
# ## Что решает прямой проход
#
# `DistributedDataParallel` — обёртка с хуками. Ниже такая обёртка с одной корзиной, почти как та, что строят в дополнительном упражнении `watch_buckets` урока 08, и в ней есть две детали, которые теперь важны. Метод `forward` запоминает, для каких параметров градиента ещё нет, но делает это, только когда `sync` равно True. Хук post-accumulate вычёркивает их по одному, а вычеркнув последний, начинает обмен.
#
# Класс `Pair` — это два таких ранга в одном процессе. Вызов `forward(i)` делает прямой проход с микробатчем `i` на каждом ранге и возвращает два значения функции потерь, а `backward` делает оба обратных прохода. Микробатчи: 2 и 4 на ранге 0, 6 и 16 на ранге 1.
# %%
class Parallel(nn.Module):
    """The part of `DistributedDataParallel` on one rank."""

    def __init__(self, module, all_reduce):
        super().__init__()
        self.module, self.all_reduce = module, all_reduce
        self.sync, self.missing = True, set()
        for parameter in module.parameters():
            parameter.register_post_accumulate_grad_hook(self.arrived)

    @contextmanager
    def no_sync(self):
        self.sync = False
        yield
        self.sync = True

    def forward(self, x):
        if self.sync:
            self.missing = set(self.module.parameters())
        return self.module(x)

    def arrived(self, parameter):
        if parameter in self.missing:
            self.missing.remove(parameter)
            if not self.missing:
                self.all_reduce(self.module)


class Pair:
    """Two ranks of the model w * x."""

    def __init__(self, data=((2.0, 6.0), (4.0, 16.0))):  # a row for each micro-batch
        self.data, self.waiting, self.calls = data, [], 0
        self.ranks = [Parallel(nn.Linear(1, 1, bias=False), self.all_reduce) for _ in range(2)]

    def all_reduce(self, module):
        self.waiting.append(module.weight)
        if len(self.waiting) == 2:  # both ranks are there
            self.calls += 1
            mean = (self.waiting[0].grad + self.waiting[1].grad) / 2
            for weight in self.waiting:
                weight.grad = mean.clone()
            self.waiting.clear()

    @contextmanager
    def no_sync(self):
        with ExitStack() as stack:
            for rank in self.ranks:
                stack.enter_context(rank.no_sync())
            yield

    def forward(self, i):
        return [rank(torch.tensor([[x]])).sum() for rank, x in zip(self.ranks, self.data[i])]

    def backward(self, losses):
        for loss in losses:
            loss.backward()

    def gradients(self):
        return [rank.module.weight.grad.item() for rank in self.ranks]


# %% [markdown] tags=["en"]
# With `no_sync()` a window of two micro-batches should need one exchange instead of two. Here are four ways to use it or to forget it, each with two ranks of its own. Read the function; do not call it yet.
# %% [markdown] tags=["ru"] of="48e722e1"
# Контекстный менеджер `no_sync()` нужен, чтобы на окно из двух микробатчей хватало одного обмена вместо двух. Вот четыре способа применить его или забыть о нём, каждый на своей паре рангов. Прочтите функцию, но пока не вызывайте.
# %%
def exchanges():
    table, (a, b, c, d) = {}, [Pair() for _ in range(4)]
    losses = a.forward(0)
    with a.no_sync():
        a.backward(losses)
    table["backward in no_sync: all-reduces"] = a.calls

    with b.no_sync():
        b.backward(b.forward(0))
    table["both in no_sync: gradients"] = b.gradients()
    b.backward(b.forward(1))
    table["then a pass outside: gradients"] = b.gradients()

    with c.no_sync():
        losses = c.forward(0)
    c.backward(losses)
    table["forward in no_sync: all-reduces"] = c.calls

    first, second = d.forward(0), d.forward(1)
    d.backward(first)
    table["two forwards, one backward: gradients"] = d.gradients()
    d.backward(second)
    table["two backwards: gradients"] = d.gradients()
    table["two backwards: all-reduces"] = d.calls
    return table


# %% [markdown] tags=["en"]
# ### `predict_no_sync`
#
# Put what `exchanges()` returns in place of each `...`: a number of all-reduces, or the gradients of rank 0 and rank 1 as a list.
# %% [markdown] tags=["ru"] of="5eab488c"
# ### `predict_no_sync`
#
# Вместо каждого `...` поставьте то, что вернёт `exchanges()`: число обменов all-reduce или список из двух градиентов, ранга 0 и ранга 1.
# %% answer="predict_no_sync"
predict_no_sync = {
    "backward in no_sync: all-reduces": 1,
    "both in no_sync: gradients": [2.0, 6.0],
    "then a pass outside: gradients": [14.0, 14.0],
    "forward in no_sync: all-reduces": 0,
    "two forwards, one backward: gradients": [4.0, 4.0],
    "two backwards: gradients": [8.0, 20.0],
    "two backwards: all-reduces": 1,
}
# %% given="predict_no_sync"
predict_no_sync = {
    "backward in no_sync: all-reduces": ...,
    "both in no_sync: gradients": [..., ...],
    "then a pass outside: gradients": [..., ...],
    "forward in no_sync: all-reduces": ...,
    "two forwards, one backward: gradients": [..., ...],
    "two backwards: gradients": [..., ...],
    "two backwards: all-reduces": ...,
}
# %% check="predict_no_sync"
from autograder import check

check("predict_no_sync")
# %% tags=["fact"]
assert exchanges() == predict_no_sync
pair = Pair([(1.0, 5.0), (3.0, 11.0)])  # the micro-batches of the two processes above
losses = pair.forward(0), pair.forward(1)
pair.backward(losses[0])
assert pair.gradients() == [3, 3]
pair.backward(losses[1])
assert pair.gradients() == [6, 14] and pair.calls == 1
for quiet, calls in ((15, 1), (0, 16)):  # a window of 16 micro-batches
    pair = Pair([(1.0, 3.0)] * 16)
    for i in range(16):
        with pair.no_sync() if i < quiet else nullcontext():
            pair.backward(pair.forward(i))
    assert pair.gradients() == [32, 32] and pair.calls == calls
pair = Pair()
torch.autograd.grad(pair.forward(0)[0], list(pair.ranks[0].parameters()))
assert pair.ranks[0].missing and pair.ranks[0].module.weight.grad is None  # no hook was called
from torch import distributed
from torch.nn.parallel import DistributedDataParallel


def real_counts():
    """The all-reduces of the real class in these loops, in a group of one process."""
    calls, found = [], {}
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    ddp = DistributedDataParallel(nn.Linear(1, 1))

    def count(_, bucket):
        calls.append(1)
        done = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done

    ddp.register_comm_hook(None, count)

    def note(name):
        found[name] = len(calls)
        calls.clear()

    x = torch.ones(1, 1)
    loss = ddp(x).sum()
    with ddp.no_sync():
        loss.backward()
    note("backward in no_sync")
    with ddp.no_sync():
        loss = ddp(x).sum()
    loss.backward()
    note("forward in no_sync")
    losses = [ddp(x).sum(), ddp(x).sum()]
    [loss.backward() for loss in losses]
    note("two backwards")
    (ddp(x).sum() + ddp(x).sum()).backward()
    note("one backward of the sum")
    ddp.module(x).sum().backward()
    note("through ddp.module")
    torch.autograd.grad(ddp(x).sum(), list(ddp.parameters()))
    note("autograd.grad")
    distributed.destroy_process_group()
    return found


assert real_counts() == {
    "backward in no_sync": 1,
    "forward in no_sync": 0,
    "two backwards": 1,
    "one backward of the sum": 1,
    "through ddp.module": 0,
    "autograd.grad": 0,
}
pair = Pair()
pair.backward([a + b for a, b in zip(pair.forward(0), pair.forward(1))])
assert pair.gradients() == [14, 14] and pair.calls == 1
pair = Pair()
pair.backward(pair.forward(0))
pair.backward(pair.forward(1))
assert pair.gradients() == [14, 14] and pair.calls == 2
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# Вызовем эту функцию и сравним с таблицей.
# %%
exchanges()


# %% [markdown] tags=["en"] explains="predict_no_sync"
# * The flag is read in the forward pass. Around `backward()` alone, `no_sync` does nothing: the pass is sent. Around the forward pass alone it does all: nothing is sent.
# * An all-reduce averages what stands in `.grad`, earlier gradients included: 2 + 4 and 6 + 16 make 14 on both ranks. Without `no_sync` the result is the same, with twice the exchanges.
# * Two forward passes fill `missing` twice, but it is one set. The first backward pass empties it. The gradients of the second are added after the exchange, and stay local. One `backward()` of the sum of both losses is right again: 14 and 14, one all-reduce.
# * What goes past the wrapper is not averaged: neither `ddp.module(x)` nor `torch.autograd.grad`, which fills no `.grad` and calls no such hook.
#
# The real class counts the same.
# %% [markdown] tags=["ru"] explains="predict_no_sync" of="aec1ace4"
# * Флаг читается в прямом проходе. Если внутри `no_sync` стоит только `backward()`, блок ни на что не влияет: обмен происходит. А если внутри стоит только прямой проход, обмена уже нет.
# * Операция all-reduce усредняет то, что лежит в `.grad`, вместе с прежними градиентами: из 2 + 4 и 6 + 16 на обоих рангах получается 14. Без `no_sync` результат тот же, а обменов вдвое больше.
# * Два прямых прохода наполняют `missing` дважды, но множество одно. Первый обратный проход его опустошает, а градиенты второго прибавлены уже после обмена и остались на своём ранге. А один `backward()` от суммы двух функций потерь снова даёт верный результат: 14 и 14 при одном all-reduce.
# * Что идёт в обход обёртки, не усредняется: ни `ddp.module(x)`, ни `torch.autograd.grad`, который не заполняет `.grad` и таких хуков не вызывает.
#
# У настоящего класса числа обменов такие же.
# %% [markdown] tags=["en"]
# ## One exchange for a window
#
# A window of 16 micro-batches needs one exchange, not 16: so the gradients of the first 15 may wait in `.grad`, as in lesson 03.
# %% [markdown] tags=["ru"] of="f8b666b0"
# ## Один обмен на окно
#
# Окну из 16 микробатчей нужен один обмен, а не 16: градиенты первых 15 могут подождать в `.grad`, как в уроке 03.
# %% [markdown] tags=["en"]
# ### `accumulate_no_sync`
#
# **Leave on every rank the gradient of the mean over all samples of all ranks, with one exchange for the window.**
#
# * **Given.** `ddp`, the wrapped model of this rank; it averages like `DistributedDataParallel`. `batches`, a list of one or more pairs `(x, y)` of this rank, all of one size, and as many on every rank. `.grad` may hold something old. Some parameters may be frozen, some modules in evaluation mode.
# * **Result.** On every rank `.grad` is the gradient of the mean `mse_loss` over all samples of all ranks. Nothing is returned. <!-- gradient -->
# * **Result.** Each rank takes part in one all-reduce, also for a window of one micro-batch. <!-- all_reduces -->
# * **Result.** Each micro-batch has a backward pass of its own, which ends before the next one goes forward. There is no other pass. <!-- passes -->
# * **Leave.** The wrapper and the modes of all modules: the gradients of an ordinary pass after the window are averaged. <!-- next_pass -->
# %% [markdown] tags=["ru"] of="71019b7d"
# ### `accumulate_no_sync`
#
# **Оставьте на каждом ранге градиент среднего по всем примерам всех рангов, обменявшись за окно один раз.**
#
# * **Дано.** Модель этого ранга в обёртке `ddp`, которая усредняет так же, как `DistributedDataParallel`. Список `batches` из одной или нескольких пар `(x, y)` этого ранга; все они одного размера, и на всех рангах их поровну. В `.grad` могут лежать старые значения. Некоторые параметры могут быть заморожены, некоторые модули — в режиме оценки.
# * **Результат.** На каждом ранге в `.grad` лежит градиент `mse_loss`, усреднённой по всем примерам всех рангов. Функция ничего не возвращает. <!-- gradient -->
# * **Результат.** Каждый ранг участвует ровно в одном all-reduce, даже если в окне один микробатч. <!-- all_reduces -->
# * **Результат.** У каждого микробатча свой обратный проход, и он закончен до прямого прохода следующего. Других проходов нет. <!-- passes -->
# * **Не менять.** Обёртку и режимы всех модулей: градиенты обычного прохода после окна по-прежнему усредняются. <!-- next_pass -->
# %% answer="accumulate_no_sync"
def accumulate_no_sync(ddp, batches):
    """Fill `.grad` with the mean gradient of the window over all ranks, with one all-reduce."""
    ### BEGIN SOLUTION
    ddp.zero_grad()
    for i, (x, y) in enumerate(batches):
        last = i == len(batches) - 1
        with nullcontext() if last else ddp.no_sync():
            loss = mse_loss(ddp(x), y) / len(batches)
            loss.backward()
    ### END SOLUTION


# %% alternative="accumulate_no_sync"
def accumulate_no_sync(ddp, batches):
    def one(x, y):
        (mse_loss(ddp(x), y) / len(batches)).backward()

    ddp.zero_grad()
    with ddp.no_sync():
        for x, y in batches[:-1]:
            one(x, y)
    one(*batches[-1])


# %% alternative="accumulate_no_sync"
def accumulate_no_sync(ddp, batches):
    for parameter in ddp.parameters():
        parameter.grad = None
    *early, (x, y) = batches
    for a, b in early:
        with ddp.no_sync():
            prediction = ddp(a)
            mse_loss(prediction, b).div(len(batches)).backward()
    mse_loss(ddp(x), y).div(len(batches)).backward()


# %% alternative="accumulate_no_sync"
def accumulate_no_sync(ddp, batches):
    ddp.zero_grad(set_to_none=True)
    total = sum(y.numel() for _, y in batches)
    with ExitStack() as stack:
        stack.enter_context(ddp.no_sync())
        for i, (x, y) in enumerate(batches, 1):
            if i == len(batches):
                stack.close()
            torch.autograd.backward(mse_loss(ddp(x), y, reduction="sum") / total)


# %% check="accumulate_no_sync"
from autograder import check

check("accumulate_no_sync")


# %% [markdown] tags=["en"]
# ## A gradient in parts
#
# A model may be too large for one rank. Then each rank keeps a part of every parameter, its *shard*, and so a part of the gradient. `fully_shard` does that: before each layer it gathers the weights, afterwards it averages the gradient and leaves each rank its rows. Two processes again; the first layer has three rows, the second one row. Rank 0 has the input (1, 2), rank 1 the input (3, 4).
# %% [markdown] tags=["ru"] of="1c386a95"
# ## Градиент по частям
#
# Модель может не поместиться на одном ранге. Тогда каждый хранит часть каждого параметра, *шард* (shard), а значит, и часть градиента. Так работает `fully_shard`: перед каждым слоем он собирает веса целиком, а потом усредняет градиент и оставляет каждому рангу его строки. Снова запустим два процесса. В матрице первого слоя три строки, в матрице второго — одна. У ранга 0 вход (1, 2), у ранга 1 — (3, 4).
# %% tags=["picture"]
from autograder import two_processes


def sharded(rank):
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    first, second = torch.nn.Linear(2, 3, bias=False), torch.nn.Linear(3, 1, bias=False)
    for layer in (first, second):
        torch.nn.init.ones_(layer.weight)
    model = fully_shard(torch.nn.Sequential(first, second), mesh=init_device_mesh("cpu", (2,)))
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])[rank : rank + 1]
    weights = list(model.parameters())
    seen = {"autograd.grad": torch.autograd.grad(model(x).sum(), weights, allow_unused=True)}
    model.set_requires_gradient_sync(False)
    model(x).sum().backward()
    seen[".grad after a pass without exchange"] = [weight.grad for weight in weights]
    model.set_requires_gradient_sync(True)
    model(x).sum().backward()
    seen["first.weight.grad, this rank"] = first.weight.grad.to_local().tolist()
    seen["second.weight.grad, this rank"] = second.weight.grad.to_local().tolist()
    parts = [weight.grad.to_local() for weight in weights]
    seen["norm of this rank"] = round(torch.nn.utils.get_total_norm(parts).item(), 2)
    whole = torch.nn.utils.get_total_norm([weight.grad for weight in weights])
    seen["norm of the whole"] = round(whole.full_tensor().item(), 2)
    return seen


two_processes(sharded)


# %% [markdown] tags=["en", "try"]
# Before you read on, find three things in the output: which rank has nothing of the second layer, where the gradient is after a pass without exchange, and whether the norm of a rank is the norm.
#
# * Rank 0 has two of the three rows of the first layer's gradient, rank 1 has one. Of the second layer rank 1 has nothing: a shard of no rows, with a gradient of no rows.
# * After a pass without exchange `.grad` is None. The sum waits inside `fully_shard`, in full size; the next exchange brings it along. Under `no_sync` it stood in `.grad`.
# * `autograd.grad` finds nothing for the shards. The graph holds the gathered weights, and the shards are no part of it.
# * The norm of a rank is not the norm. Whoever clips by it scales each rank by another factor, and the direction changes. Lesson 08 said it of one hook: a norm needs all gradients. Here it needs all ranks.
# %% [markdown] tags=["ru", "try"] of="39a776a5"
# Прежде чем читать дальше, найдите в выводе три ответа: какому рангу ничего не досталось от второго слоя, где находится градиент после прохода без обмена и равна ли норма на одном ранге всей норме.
#
# * У ранга 0 две из трёх строк градиента первого слоя, у ранга 1 — одна. От второго слоя рангу 1 не досталось ничего: шард без строк и градиент без строк.
# * После прохода без обмена `.grad` равен None. Сумма ждёт внутри `fully_shard` в полном размере, и следующий обмен её учтёт. При `no_sync` она лежала в `.grad`.
# * `autograd.grad` для шардов ничего не находит. В графе — собранные веса, а сами шарды в него не входят.
# * Норма на одном ранге — ещё не норма всего градиента. Если отсекать по ней, множитель у каждого ранга будет свой, и направление градиента изменится. В уроке 08 норму нельзя было вычислить в одном хуке: для неё нужны все градиенты. Здесь для неё нужны ещё и все ранги.
# %% [markdown] tags=["en"]
# ### `clip_shards`
#
# **With a gradient of 3 on one rank and 4 on the other this function returns 7. Let it return and clip the norm of the whole.**
#
# * **Given.** `parameters`, the shards of this rank, ordinary tensors here; the number of rows may be 0. Some or all of their `.grad` may be None, also if the other ranks have theirs. `all_reduce(tensor)` returns the sum of `tensor` over all ranks; all ranks have to call it equally often.
# * **Result.** Every rank returns the norm of the whole gradient, as it was before clipping. <!-- norm -->
# * **Result.** If it is above `max_norm`, the gradients on all ranks are scaled by one factor, so that the whole has the norm `max_norm`; `max_norm / (norm + 1e-6)`, as in torch, will do. Otherwise they stay, also if all are 0. <!-- gradients -->
# * **Leave.** A `.grad` of None. <!-- gradients -->
# %% [markdown] tags=["ru"] of="059ac5ea"
# ### `clip_shards`
#
# **Если на одном ранге градиент 3, а на другом 4, эта функция возвращает 7. Пусть она возвращает норму всего градиента и ограничивает именно её.**
#
# * **Дано.** Шарды этого ранга `parameters`, здесь это обычные тензоры; в шарде может быть и 0 строк. Некоторые `.grad` или даже все могут быть равны None, хотя у других рангов градиенты есть. Функция `all_reduce(tensor)` возвращает сумму `tensor` по всем рангам; все ранги должны вызвать её одинаковое число раз.
# * **Результат.** Каждый ранг возвращает норму всего градиента, какой она была до отсечения. <!-- norm -->
# * **Результат.** Если она больше `max_norm`, градиенты на всех рангах умножаются на один и тот же множитель, чтобы норма всего градиента стала равна `max_norm`. Подойдёт и `max_norm / (norm + 1e-6)`, как в torch. Иначе они не меняются, даже если все равны 0. <!-- gradients -->
# * **Не менять.** Те `.grad`, которые равны None. <!-- gradients -->
# %% answer="clip_shards"
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    own = torch.nn.utils.get_total_norm(gradients)
    norm = all_reduce(own.square()).sqrt()
    for gradient in gradients:
        if norm > max_norm:
            gradient.mul_(max_norm / norm)
    return norm


# %% given="clip_shards"
def clip_shards(parameters, max_norm, all_reduce):
    gradients = [p.grad for p in parameters if p.grad is not None]
    own = torch.nn.utils.get_total_norm(gradients)
    norm = all_reduce(own)
    for gradient in gradients:
        if norm > max_norm:
            gradient.mul_(max_norm / norm)
    return norm


# %% alternative="clip_shards"
def clip_shards(parameters, max_norm, all_reduce):
    squares = torch.zeros((), dtype=torch.float64)
    for p in parameters:
        if p.grad is not None:
            squares += p.grad.square().sum()
    norm = all_reduce(squares) ** 0.5
    for p in parameters:
        if p.grad is not None:
            p.grad *= max_norm / max(norm.item(), max_norm)
    return norm


# %% alternative="clip_shards"
def clip_shards(parameters, max_norm, all_reduce):
    held = [p for p in parameters if p.grad is not None]
    norm = all_reduce(sum(((p.grad**2).sum() for p in held), torch.zeros(()))).sqrt().item()
    if norm > max_norm:
        for p in held:
            p.grad = p.grad * (max_norm / norm)
    return norm


# %% alternative="clip_shards"
def clip_shards(parameters, max_norm, all_reduce):
    flat = [p.grad.flatten() for p in parameters if p.grad is not None]
    whole = torch.cat(flat) if flat else torch.zeros(1)
    norm = all_reduce(whole @ whole).sqrt()
    factor = (max_norm / norm).clamp(max=1.0)
    for p in parameters:
        if p.grad is not None:
            p.grad.copy_(factor * p.grad)
    return norm


# %% check="clip_shards"
from autograder import check

check("clip_shards")
# %% tags=["fact"]
whole = torch.tensor([3.0, 4.0])  # one number on each rank
each_alone = torch.stack([part * (1 / part.norm()).clamp(max=1) for part in whole.split(1)])
assert whole.norm() == 5 and torch.cosine_similarity(each_alone.flatten(), whole, 0) < 0.99
shards = [nn.Parameter(torch.zeros(2)) for _ in range(2)]
for shard in shards:
    shard.grad = torch.full((2,), 2.0)
torch.nn.utils.clip_grads_with_norm_(shards, 1.0, torch.tensor(4.0))
assert torch.allclose(shards[0].grad, torch.full((2,), 2 / (4 + 1e-6)), rtol=1e-7)  # max_norm / (norm + 1e-6)


# %% [markdown] tags=["en"]
# ## What to keep
#
# * The forward pass decides whether its backward pass is averaged. Put both into `no_sync`, for all micro-batches but the last.
# * Backward after each forward. Two forward passes first give wrong gradients, and no error.
# * An all-reduce averages `.grad` as it stands. Weights are never averaged: copies that differ stay different.
# * Under sharding `.grad` is a part or None, and a norm is the root of a sum of squares over ranks.
#
# From the extra sections:
#
# * Hooks of yours see the gradient of one rank.
# * Ranks weigh the same, whatever they hold. With different numbers of samples use sums, the total number, and `world`.
# * Every rank joins every exchange, also one that has nothing to give.
# %% [markdown] tags=["ru"] of="c2a9d7ef"
# ## Что стоит запомнить
#
# * Будут ли усреднены градиенты обратного прохода, зависит от прямого. Для всех микробатчей, кроме последнего, в блок `no_sync` помещают оба прохода.
# * После каждого прямого прохода — сразу обратный. Два прямых прохода подряд дают неверные градиенты, и ошибки не будет.
# * Операция all-reduce усредняет всё, что лежит в `.grad`. Веса не усредняются никогда: разошедшиеся копии не сойдутся.
# * При шардинге `.grad` — это часть градиента или None, а норма — корень из суммы квадратов по рангам.
#
# Из дополнительных разделов:
#
# * Ваши хуки видят градиент одного ранга.
# * Все ранги входят в среднее с одинаковым весом, сколько бы примеров у них ни было. Если число примеров разное, берите сумму по ним, делите её на общее число примеров и умножайте на `world`.
# * В каждый обмен вступает каждый ранг, даже если ему нечего отдать.
# %% [markdown] tags=["en"]
# ## Copies that drift apart
#
# The step inside the backward pass of lesson 08 saves memory. What does it do here? Both ranks begin with $w = 1$; micro-batch 0 has the gradients 2 and 6. The hook of the step is registered before the wrapper's own. With a learning rate of 0.1 and the mean 4 both should come to 0.6.
# %% [markdown] tags=["ru"] of="10f3d88f"
# ## Копии, которые расходятся
#
# В уроке 08 мы делали шаг прямо в обратном проходе, и это экономило память. А что получится здесь? Оба ранга начинают с $w = 1$. На микробатче 0 их градиенты равны 2 и 6. Хук, который делает шаг, стоит раньше хука обёртки. При скорости обучения 0.1 и среднем градиенте 4 оба ранга должны прийти к 0.6.
# %%
def step_first(weight):
    with torch.no_grad():
        weight -= 0.1 * weight.grad


def weights_after(rounds):
    pair = Pair()
    for number in range(2):
        layer = nn.Linear(1, 1, bias=False)
        nn.init.ones_(layer.weight)
        layer.weight.register_post_accumulate_grad_hook(step_first)
        pair.ranks[number] = Parallel(layer, pair.all_reduce)
    found = []
    for _ in range(rounds):
        for rank in pair.ranks:
            rank.zero_grad()
        pair.backward(pair.forward(0))
        found.append([round(rank.module.weight.item(), 2) for rank in pair.ranks])
    return found


for step, weights in enumerate(weights_after(3), 1):
    print("step", step, "in the hook:", weights)
# %% tags=["fact"]
assert weights_after(3) == [[0.8, 0.4], [0.6, -0.2], [0.4, -0.8]]
pair = Pair()
for rank in pair.ranks:
    nn.init.ones_(rank.module.weight)
optimizers = [torch.optim.SGD(rank.parameters(), lr=0.1) for rank in pair.ranks]
gaps = []
for quiet in (True, False, False):
    for rank in pair.ranks:
        rank.zero_grad()
    with pair.no_sync() if quiet else nullcontext():
        pair.backward(pair.forward(0))
    [optimizer.step() for optimizer in optimizers]
    first, second = (rank.module.weight.item() for rank in pair.ranks)
    gaps.append(round(first - second, 4))
assert gaps == [0.4, 0.4, 0.4]
# %% [markdown] tags=["en", "try"]
# Both copies should be at 0.6 after the first step. From 0.8 and 0.4 work out which gradient each hook has seen. Will a later all-reduce bring the copies together again?
#
# The hook sees the gradient of its rank alone, because the exchange comes after it, so each rank makes a step of its own. With the real class it is the same even if your hook is registered after wrapping: lesson 08 printed 1.0 and 2.0 in such a hook. Nothing brings the copies together again: a later all-reduce averages gradients, never weights. One step with all passes under `no_sync` leaves a gap of 0.4 here, and after two ordinary steps it is still 0.4.
# %% [markdown] tags=["ru", "try"] of="44de5630"
# После первого шага обе копии должны были дойти до 0.6. По числам 0.8 и 0.4 определите, какой градиент увидел каждый хук. Сблизит ли эти копии следующий all-reduce?
#
# Хук видит градиент только своего ранга, потому что обмен идёт после него, и каждый ранг делает свой собственный шаг. С настоящим классом выходит так же, даже если хук поставлен уже после обёртки: в уроке 08 с таким хуком получилось 1.0 и 2.0. Разошедшиеся копии уже не сблизятся: последующие обмены усредняют градиенты, но не веса. Если до шага все проходы были внутри `no_sync`, веса здесь разойдутся на 0.4, и после двух обычных шагов разница останется равной 0.4.
# %% [markdown] tags=["en"]
# ## A mean of means
#
# `ddp` gives each rank the same weight. Lesson 03 had the same trouble with micro-batches. Rank 0 has three samples with gradient 1 each, rank 1 has one sample with gradient 5.
# %% [markdown] tags=["ru"] of="c165b40c"
# ## Среднее средних
#
# Обёртка `ddp` берёт все ранги с одинаковым весом. В уроке 03 та же трудность была с микробатчами. У ранга 0 три примера с градиентом 1 у каждого, у ранга 1 — один пример с градиентом 5.
# %%
samples = [torch.tensor([1.0, 1.0, 1.0]), torch.tensor([5.0])]
print("mean of the means:", torch.stack([each.mean() for each in samples]).mean().item())
print("mean of all samples:", torch.cat(samples).mean().item())
# %% tags=["fact"]
assert torch.stack([each.mean() for each in samples]).mean() == 3 and torch.cat(samples).mean() == 2
assert mse_loss(torch.ones(0, 1), torch.ones(0, 1)).isnan()
assert mse_loss(torch.ones(0, 1), torch.ones(0, 1), reduction="sum") == 0
layer = nn.Linear(1, 1)
mse_loss(layer(torch.ones(0, 1)), torch.ones(0, 1)).backward()
assert layer.weight.grad.item() == 0 and layer.bias.grad.item() == 0
# %% [markdown] tags=["en", "try"]
# Change how many samples each rank has. For which counts do both lines agree, whatever the gradients? Say it, then try two.
#
# For equal counts. Then a mean of means divides each gradient by the same number as the mean over all samples does.
# %% [markdown] tags=["ru", "try"] of="86351ae9"
# Меняйте число примеров на рангах. При каком их числе обе строки совпадают, какими бы ни были градиенты? Сначала ответьте, потом попробуйте два варианта.
#
# Если примеров на рангах поровну. Тогда при усреднении средних каждый градиент делится на то же число, что и в среднем по всем примерам.
# %% tags=["fact"]
equal = [torch.tensor([1.0, 2.0, 4.0]), torch.tensor([5.0, 7.0, 8.0])]
assert torch.stack([each.mean() for each in equal]).mean() == torch.cat(equal).mean()


# %% [markdown] tags=["en"]
# At the end of an epoch a rank may even have no samples. It cannot just skip the pass: an all-reduce ends when all ranks have joined it, so the others would wait. And `mse_loss` of no samples is NaN, because it divides 0 by 0. Its gradient is 0 all the same: it is a sum without terms. With `reduction="sum"` the loss is 0, too.
#
# ### `backward_uneven`
#
# **Leave on every rank the gradient of the mean over all samples, although the ranks have different numbers of them.**
#
# * **Given.** `ddp`, the wrapped model of this rank, as before; `x` and `y`, the samples of this rank. Their number differs from rank to rank and may be 0. `all_reduce(tensor)` returns the sum of `tensor` over all ranks; all ranks have to call it equally often. `world`, the number of ranks. Every `.grad` is None.
# * **Result.** On every rank `.grad` is the gradient of the mean `mse_loss` over all samples of all ranks, which averages over all numbers in `y`. Nothing is returned. <!-- gradient -->
# * **Result.** On every rank `ddp` sends its gradients once. <!-- all_reduces -->
# %% [markdown] tags=["ru"] of="fb55a7d2"
# В конце эпохи на каком-то ранге может не оказаться ни одного примера. Просто пропустить проход нельзя: обмен завершается, только когда в него вступили все ранги, и остальные будут ждать. А `mse_loss` на пустом наборе равна NaN, потому что 0 делится на 0. Градиент при этом всё равно нулевой: это сумма без слагаемых. С `reduction="sum"` равна нулю и сама функция потерь.
#
# ### `backward_uneven`
#
# **Оставьте на каждом ранге градиент среднего по всем примерам, хотя число примеров на рангах разное.**
#
# * **Дано.** Модель этого ранга в обёртке `ddp`, как раньше, и его примеры `x` и `y`. Их число на разных рангах разное и может быть равно 0. Функция `all_reduce(tensor)` возвращает сумму `tensor` по всем рангам; все ранги должны вызвать её одинаковое число раз. Число рангов `world`. Все `.grad` равны None.
# * **Результат.** На каждом ранге в `.grad` лежит градиент `mse_loss`, усреднённой по всем примерам всех рангов, то есть по всем числам в `y`. Функция ничего не возвращает. <!-- gradient -->
# * **Результат.** На каждом ранге `ddp` отправляет градиенты один раз. <!-- all_reduces -->
# %% answer="backward_uneven"
def backward_uneven(ddp, x, y, all_reduce, world):
    """Fill `.grad` with the gradient of the mean loss over all samples of all ranks."""
    ### BEGIN SOLUTION
    total = all_reduce(torch.tensor(y.numel()))
    loss = mse_loss(ddp(x), y, reduction="sum") * world / total
    loss.backward()
    ### END SOLUTION


# %% alternative="backward_uneven"
def backward_uneven(ddp, x, y, all_reduce, world):
    samples = all_reduce(torch.tensor(float(len(x)))).item()
    squares = (ddp(x) - y).square().sum() / y.shape[1]
    (squares * (world / samples)).backward()


# %% alternative="backward_uneven"
def backward_uneven(ddp, x, y, all_reduce, world):
    mse_loss(ddp(x), y, reduction="sum").backward()
    total = all_reduce(torch.tensor(y.numel()))
    for parameter in ddp.parameters():
        if parameter.grad is not None:
            parameter.grad *= world / total


# %% alternative="backward_uneven"
def backward_uneven(ddp, x, y, all_reduce, world):
    samples = all_reduce(torch.ones(()) * len(x))
    prediction = ddp(x)
    (mse_loss(prediction, y) * len(x) * world / samples).backward()


# %% check="backward_uneven"
from autograder import check

check("backward_uneven")
# %% [markdown] tags=["en"]
# ## Where you stand
# %% [markdown] tags=["ru"] of="76fccca0"
# ## Что сделано
# %%
from autograder import progress

progress()
# %% [markdown] tags=["en"]
# Save the notebook (Ctrl+S) and run the last cell: `ready()` runs the saved file from top to bottom in a fresh process and lists your points. In a class, it also names the file to hand in; if you study alone, it shows whether your answers hold without this session.
# %% [markdown] tags=["ru"] of="53419bae"
# Сохраните тетрадь (Ctrl+S) и запустите последнюю ячейку: `ready()` выполнит сохранённый файл сверху вниз в новом процессе и покажет баллы. Если вы учитесь в группе, там же будет назван файл для сдачи. Если занимаетесь самостоятельно, вы узнаете, проходят ли ответы проверку с чистого листа, без переменных, оставшихся от ваших опытов.
# %%
from autograder import ready

ready()
