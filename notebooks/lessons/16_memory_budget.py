# %% [markdown] tags=["en"] needs="06" about="what a checkpoint keeps, which results a policy saves, what runs again, and where a second run goes wrong"
# # What to keep, what to compute again
#
# A model does not fit. With a checkpoint around its blocks it fits, but now every matrix product runs twice. So somebody adds a policy: "save the matrix products, compute the cheap rest again". The products no longer run twice, and memory grows beyond what the model took *without any checkpoint*.
#
# Nothing is broken: the policy did what it says. Lesson 06 placed checkpoints; this one chooses what a checkpoint keeps, and counts both sides of the bargain: bytes in memory and operations that run again. After it you can:
#
# * say how many activations a policy keeps, and when it keeps more than no policy;
# * write a policy that saves the expensive results of a network and nothing else;
# * find out what a recomputation gets wrong without an error;
# * choose for a budget in bytes which results to save.
#
# You need lesson 06 (saved tensors, checkpoints).
# %% [markdown] tags=["ru"] about="что хранит контрольная точка, какие результаты сохраняет политика, что выполняется заново и когда это опасно" of="59c3eba1"
# # Что хранить, а что вычислить ещё раз
#
# Модель не помещается в память. Если поставить контрольные точки вокруг блоков, поместится, но тогда каждое матричное произведение выполняется дважды. Тогда кто-нибудь добавляет политику: «матричные произведения сохранять, а дешёвое вычислять заново». Произведения больше не повторяются, зато памяти уходит больше, чем *совсем без контрольных точек*.
#
# Ничего не сломано, политика сделала ровно то, что в ней сказано. В уроке 06 мы расставляли контрольные точки. Здесь мы выбираем, что внутри них хранить, и ведём счёт с обеих сторон: байты в памяти и операции, которые выполняются заново. После урока вы сможете:
#
# * сказать, сколько активаций хранит политика и когда их больше, чем без неё;
# * написать политику, которая сохраняет только дорогие результаты;
# * найти, что при повторном вычислении получается неверно без всякой ошибки;
# * по бюджету в байтах выбрать, какие результаты сохранять.
#
# Понадобится урок 06 (сохранённые тензоры, контрольные точки).
# %% tags=["en"]
# The import fails? Install the course's file (or autograd-course) with pip, uninstall the other `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("memory_budget", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите через pip файл курса (или autograd-course), а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("memory_budget", language="ru")
# %%
import itertools
from collections import Counter

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from autograder.measure import live_bytes

aten = torch.ops.aten


# %% [markdown] tags=["en"]
# ## A list of results to save
#
# `checkpoint` keeps the input of its segment and computes all else again. Its argument `context_fn` makes exceptions: `create_selective_checkpoint_contexts` takes a list of operations, whose results are saved in the forward pass. In the recomputation these operations do not run; their saved results are handed out, in the same order.
#
# The names on the list are those of torch's inner operations, `torch.ops.aten`, one for each way to call them. A mode that sees every operation prints them:
# %% [markdown] tags=["ru"] of="59129a59"
# ## Список того, что сохранить
#
# Функция `checkpoint` хранит вход сегмента, а всё остальное вычисляет заново. Её аргумент `context_fn` позволяет сделать исключения: `create_selective_checkpoint_contexts` принимает список операций, результаты которых в прямом проходе сохраняются. При повторном вычислении такие операции не выполняются: вместо этого по порядку выдаются их сохранённые результаты.
#
# В списке стоят имена внутренних операций torch из `torch.ops.aten`, у каждого способа вызова своё имя. Увидеть их позволяет режим, через который проходит каждая операция:
# %%
class Operations(TorchDispatchMode):
    """Count the operations that run inside the `with` block."""

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.counts[operation] += 1
        return operation(*args, **(kwargs or {}))


with_bias, without_bias, x = nn.Linear(4, 4), nn.Linear(4, 4, bias=False), torch.ones(2, 4)
with Operations() as seen:
    torch.tanh(without_bias(with_bias(x)))
for operation, count in seen.counts.items():
    print(count, operation)
# %% tags=["fact"]
assert seen.counts[aten.addmm.default] == seen.counts[aten.mm.default] == seen.counts[aten.tanh.default] == 1
try:
    create_selective_checkpoint_contexts([aten.tanh])
except ValueError as error:
    assert "OpOverload" in str(error)
else:
    raise AssertionError("a name without its overload is accepted")


# %% [markdown] tags=["en"]
# A `Linear` with a bias is one `addmm`, without a bias an `mm`. (A name without its ending, `aten.addmm`, is refused.) Now four blocks of `Linear` and `Tanh`, with 256 rows of 64 numbers. One activation has 65,536 bytes, and we count in these: all that is alive after the forward pass, the result of the network included, its input not.
# %% [markdown] tags=["ru"] of="25710a5d"
# Слой `Linear` со смещением — это одна операция `addmm`, без смещения — `mm`. (Имя без окончания, `aten.addmm`, не принимается.) Возьмём четыре блока из `Linear` и `Tanh` и 256 строк по 64 числа. Одна активация занимает 65 536 байт, в активациях мы и будем считать: всё, что есть в памяти после прямого прохода, вместе с выходом сети, но без её входа.
# %%
def activations(f):
    """Activations in memory after the forward pass of `f`, its result among them."""
    x = torch.ones(256, 64, requires_grad=True)
    with live_bytes() as live:
        y = f(x)
        kept = live.now // 65_536
    del y
    return kept


def saving(f, *operations):
    """`f` in a checkpoint that saves the results of `operations`."""

    def run(x):
        return checkpoint(
            f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts([*operations])
        )

    return run


# %% [markdown] tags=["en"]
# Read the table; do not call `kept_table()` yet.
# %% [markdown] tags=["ru"] of="c850ad41"
# Прочтите, что попадает в таблицу, но `kept_table()` пока не вызывайте.
# %%
def kept_table():
    net = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(64, 64), nn.Tanh())])
    return {
        "no checkpoint": activations(net),
        "checkpoint": activations(saving(net)),
        "tanh saved": activations(saving(net, aten.tanh.default)),
        "addmm saved": activations(saving(net, aten.addmm.default)),
        "mm saved": activations(saving(net, aten.mm.default)),
        "both saved": activations(saving(net, aten.addmm.default, aten.tanh.default)),
    }


# %% [markdown] tags=["en"]
# ### Exercise `predict_kept`: what a policy keeps
# *predict · ●○○ · 6 minutes · 1 point*
#
# Put what `kept_table()` returns in place of each `...`: a whole number of activations. In the row `both saved` the results of `addmm` and of `tanh` are saved.
# %% [markdown] tags=["ru"] of="64915784"
# ### Упражнение `predict_kept`: что хранится при разных политиках
# *предсказать · ●○○ · 6 минут · 1 балл*
#
# Вместо каждого `...` поставьте то, что вернёт `kept_table()`: целое число активаций. В строке `both saved` сохраняются результаты и `addmm`, и `tanh`.
# %% answer="predict_kept"
predict_kept = {
    "no checkpoint": 4,
    "checkpoint": 1,
    "tanh saved": 4,
    "addmm saved": 5,
    "mm saved": 1,
    "both saved": 8,
}
# %% given="predict_kept"
predict_kept = {
    "no checkpoint": ...,
    "checkpoint": ...,
    "tanh saved": ...,
    "addmm saved": ...,
    "mm saved": ...,
    "both saved": ...,
}
# %% check="predict_kept"
from autograder import check

check("predict_kept")
# %% tags=["fact"]
assert predict_kept == kept_table()
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# Вызовем её и сравним.
# %%
kept_table()
# %% [markdown] tags=["en"] explains="predict_kept"
# Without a checkpoint the graph keeps what derivatives need. A `tanh` needs its result, and that is also the input of the next `Linear`: four tensors, the last of them the result. No derivative needs the result of `addmm`.
#
# A policy asks another question: which operation shall not run again? Saving the four results of `addmm` spares four products and costs four activations, with the result of the network five. That is the riddle from the beginning. "Save both" keeps everything that was computed, twice as much as the graph alone.
#
# And a name that never occurs is no error. `mm` is on the list, no `mm` runs, and all is computed again, with no warning.
# %% [markdown] tags=["ru"] explains="predict_kept" of="f8068f39"
# Без контрольной точки граф хранит то, что нужно производным. Операции `tanh` нужен её результат, а он же служит входом следующего `Linear`: всего четыре тензора, последний из них — выход сети. Результат `addmm` не нужен ни одной производной.
#
# Политика отвечает на другой вопрос: какую операцию не выполнять заново? Четыре сохранённых результата `addmm` избавляют от четырёх произведений и стоят четыре активации, а с выходом сети пять. Вот и отгадка истории из начала урока. Если сохранять и то и другое, хранится вообще всё вычисленное, вдвое больше, чем в обычном графе.
#
# А имя, которое ни разу не встретилось, — не ошибка. В списке стоит `mm`, ни одной `mm` нет, и всё вычисляется заново без единого предупреждения.


# %% [markdown] tags=["en"]
# ## Where it pays
#
# Two more counts decide: what is kept, and what runs again. Take a block with several cheap operations behind each product, as GELU and its relatives make them.
# %% [markdown] tags=["ru"] of="e38aa885"
# ## Где это выгодно
#
# Решают два числа: сколько хранится и сколько выполняется заново. Возьмём блок, в котором за каждым произведением идёт несколько дешёвых операций, как бывает с GELU и ей подобными.
# %%
deep = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(64, 64), nn.GELU(), nn.Softplus(), nn.Sigmoid())])


def runs_again(f, operation):
    """How often `operation` runs in the backward pass of `f`."""
    y = f(torch.ones(256, 64, requires_grad=True))
    with Operations() as seen:
        y.sum().backward()
    return seen.counts[operation]


def price(f):
    return activations(f), runs_again(f, aten.addmm.default), runs_again(f, aten.gelu.default)


print("kept, addmm again, gelu again")
print("no checkpoint: ", price(deep))
print("checkpoint:    ", price(saving(deep)))
print("addmm saved:   ", price(saving(deep, aten.addmm.default)))
print("sigmoid saved: ", price(saving(deep, aten.sigmoid.default)))
# %% tags=["fact"]
assert price(deep) == (12, 0, 0) and price(saving(deep)) == (1, 4, 4)
assert price(saving(deep, aten.addmm.default)) == (5, 0, 4)
assert price(saving(deep, aten.sigmoid.default)) == (4, 4, 4)
# %% [markdown] tags=["en"]
# Here saving `addmm` keeps 5 activations in place of 12, and no product runs again. Of all that is computed the products take nearly all the time, so this is the bargain people mean by "selective". In the four blocks from before the same list was a loss: nothing cheap stood behind the product but the `tanh`.
#
# A list is a policy in short. In full it is a function that is asked about each operation and returns a `CheckpointPolicy`: `MUST_SAVE`, `PREFER_RECOMPUTE` and so on. (`PREFER` lets `torch.compile` decide otherwise; in eager mode it means the same as `MUST`.) `create_selective_checkpoint_contexts` takes either.
# %% [markdown] tags=["ru"] of="f1f223fa"
# Здесь при сохранении `addmm` хранится 5 активаций вместо 12, и ни одно произведение не выполняется заново. А на произведения уходит почти всё время вычислений, поэтому, когда говорят о выборочном (selective) чекпоинтинге, имеют в виду именно это. Для четырёх блоков из начала тот же список невыгоден: там за произведением стоит одна дешёвая операция, `tanh`.
#
# Список — это краткая запись политики. Полная запись — функция, которую спрашивают о каждой операции и которая возвращает значение `CheckpointPolicy`: `MUST_SAVE`, `PREFER_RECOMPUTE` и другие. (`PREFER` разрешает `torch.compile` решить иначе; без компиляции это то же самое, что `MUST`.) Функция `create_selective_checkpoint_contexts` принимает и то и другое.
# %%
def everything_but_gelu(ctx, operation, *args, **kwargs):
    again = operation == aten.gelu.default
    return CheckpointPolicy.PREFER_RECOMPUTE if again else CheckpointPolicy.MUST_SAVE


def contexts():
    return create_selective_checkpoint_contexts(everything_but_gelu)


print("all but gelu:  ", price(lambda x: checkpoint(deep, x, use_reentrant=False, context_fn=contexts)))
# %% tags=["fact"]
kept, products_again, gelu_again = price(lambda x: checkpoint(deep, x, use_reentrant=False, context_fn=contexts))
assert (products_again, gelu_again) == (0, 4) and kept == 12
# %% [markdown] tags=["en"]
# ### Exercise `keep_products`: save the products
# *complete · ●●○ · 10 minutes · 5 points*
#
# The function keeps nothing of `f` but its input. Complete it.
#
# * **Given.** `f`, a function of one tensor, and `x`, which may or may not require grad. The matrix products in `f` are `aten.mm`, `aten.addmm` and `aten.bmm`; the last one multiplies 3-dimensional tensors. `f` may draw random numbers from torch's own random state.
# * **Result.** `f(x)`, with the result and the gradients that there are without a checkpoint. <!-- gradients -->
# * **Result.** After the forward pass the results of the matrix products are in memory, and nothing more but the returned result. <!-- kept -->
# * **Not allowed.** To run any matrix product of the forward pass twice. <!-- products -->
# %% [markdown] tags=["ru"] of="ae20e0e2"
# ### Упражнение `keep_products`: сохранить произведения
# *дописать · ●●○ · 10 минут · 5 баллов*
#
# Функция хранит от `f` только её вход. Допишите её.
#
# * **Дано.** Функция `f` от одного тензора и `x`, который может требовать градиента, а может и не требовать. Матричные произведения в `f` — это `aten.mm`, `aten.addmm` и `aten.bmm`; последняя умножает трёхмерные тензоры. Функция `f` может брать случайные числа из общего генератора torch.
# * **Результат.** `f(x)`; результат и градиенты такие же, как без контрольной точки. <!-- gradients -->
# * **Результат.** После прямого прохода в памяти лежат результаты матричных произведений и больше ничего, кроме возвращённого результата. <!-- kept -->
# * **Нельзя.** Выполнять дважды какое-либо матричное произведение прямого прохода. <!-- products -->
# %% answer="keep_products"
def keep_products(f, x):
    def context_fn():
        return create_selective_checkpoint_contexts([aten.mm.default, aten.addmm.default, aten.bmm.default])

    return checkpoint(f, x, use_reentrant=False, context_fn=context_fn)


# %% given="keep_products"
def keep_products(f, x):
    return checkpoint(f, x, use_reentrant=False)


# %% alternative="keep_products"
def keep_products(f, x):
    def policy(ctx, operation, *args, **kwargs):
        if operation in (aten.mm.default, aten.addmm.default, aten.bmm.default):
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.PREFER_RECOMPUTE

    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))


# %% alternative="keep_products"
def keep_products(f, x):
    return saving(f, aten.bmm.default, aten.mm.default, aten.addmm.default)(x)


# %% alternative="keep_products"
def keep_products(f, x):
    import functools

    pair = functools.partial(
        create_selective_checkpoint_contexts, lambda ctx, operation, *args, **kwargs: "mm" in operation.name()
    )
    return checkpoint(f, x, use_reentrant=False, context_fn=pair, determinism_check="none")


# %% check="keep_products"
from autograder import check

check("keep_products")


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
