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
# And your own engine? It keeps everything until the walk, and has no checkpoint yet.
#
# You need lesson 06 (saved tensors, checkpoints).
# %% [markdown] tags=["ru"] about="что хранит контрольная точка, какие результаты сохраняет политика, что выполняется заново и когда это опасно" of="e89ee3f5"
# # Что хранить, а что вычислить ещё раз
#
# Модель не помещается в память. Если поставить контрольную точку на каждый блок, памяти хватит, но каждое матричное произведение будет выполняться дважды. Тогда кто-нибудь добавляет политику: «матричные произведения сохранять, а дешёвое вычислять заново». Произведения больше не повторяются, зато памяти уходит больше, чем *совсем без контрольных точек*.
#
# Ничего не сломано, политика сделала ровно то, что в ней сказано. В уроке 06 мы расставляли контрольные точки. Здесь мы выбираем, что внутри них хранить, и считаем, во что это обходится: сколько байтов занято и сколько операций выполняется заново. После урока вы сможете:
#
# * сказать, сколько активаций хранится при той или иной политике и когда их больше, чем вовсе без контрольных точек;
# * написать политику, которая сохраняет только дорогие результаты;
# * находить места, где повторное вычисление даёт неверный градиент, хотя ошибки нет;
# * по бюджету в байтах выбрать, какие результаты сохранять.
#
# А ваш собственный движок хранит всё до самого обхода, и контрольных точек в нём пока нет.
#
# Понадобится урок 06 (сохранённые тензоры, контрольные точки).
# %% tags=["en"]
# The import fails? Install the course's file (or autograd-course) with pip, uninstall the other `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("memory_budget", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("memory_budget", language="ru")
# %%
import itertools
from collections import Counter

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    set_checkpoint_early_stop,
)

from autograder.measure import live_bytes

aten = torch.ops.aten


# %% [markdown] tags=["en"]
# ## A list of results to save
#
# `checkpoint` keeps the input of its segment and computes all else again. Its argument `context_fn` makes exceptions: `create_selective_checkpoint_contexts` takes a list of operations, whose results are saved in the forward pass. In the recomputation these operations do not run; their saved results are handed out, in the same order.
#
# The names on the list are those of torch's inner operations, `torch.ops.aten`, one for each way to call them. A mode that sees every operation prints them:
# %% [markdown] tags=["ru"] of="59129a59"
# ## Список того, что нужно сохранить
#
# Функция `checkpoint` хранит вход сегмента, а всё остальное вычисляет заново. Её аргумент `context_fn` позволяет сделать исключения: функция `create_selective_checkpoint_contexts` принимает список операций, результаты которых в прямом проходе сохраняются. При повторном вычислении такие операции не выполняются: вместо этого по порядку выдаются их сохранённые результаты.
#
# В списке стоят имена внутренних операций torch из `torch.ops.aten`, причём у каждого способа вызова операции имя своё. Увидеть эти имена позволяет режим, через который проходит каждая операция:
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
assert len(aten.add.overloads()) > 1  # one name for each way to call it
assert seen.counts[aten.t.default] and with_bias.weight.t().untyped_storage() is with_bias.weight.untyped_storage()
assert x.detach().untyped_storage() is x.untyped_storage() and torch.ones(256, 64).nbytes == 65_536


# %% [markdown] tags=["en"]
# A `Linear` with a bias is one `addmm`, without a bias an `mm`. (`t` and `detach` are views and cost nothing. A name without its ending, `aten.addmm`, is refused.) Now four blocks of `Linear` and `Tanh`, with 256 rows of 64 numbers. One activation has 65,536 bytes. We count in activations, and count all that is alive after the forward pass: the result of the network too, but not its input.
# %% [markdown] tags=["ru"] of="cf3b3411"
# Слой `Linear` со смещением — это одна операция `addmm`, без смещения — `mm`. (Операции `t` и `detach` создают представления и памяти не требуют. Имя без окончания, `aten.addmm`, не принимается.) Возьмём четыре блока из `Linear` и `Tanh` и 256 строк по 64 числа. Одна активация занимает 65 536 байт. В активациях мы и будем считать, сколько памяти занято после прямого прохода: выход сети входит в это число, вход — нет.
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


def sine_of_cosine(x):
    return x.cos().sin()


print("no checkpoint:", activations(sine_of_cosine))
print("checkpoint:   ", activations(saving(sine_of_cosine)))
print("cos saved:    ", activations(saving(sine_of_cosine, aten.cos.default)))
print("sin saved:    ", activations(saving(sine_of_cosine, aten.sin.default)))
# %% tags=["fact"]
assert [activations(sine_of_cosine), activations(saving(sine_of_cosine))] == [2, 1]
assert activations(saving(sine_of_cosine, aten.cos.default)) == 2
assert activations(saving(sine_of_cosine, aten.sin.default)) == 1
points = torch.linspace(0.1, 1, 5, requires_grad=True)
twice = lambda x: (x.sin().sin() * x.cos()).exp()
(right,) = torch.autograd.grad(twice(points).sum(), points)
again = saving(twice, aten.sin.default)(points)
with Operations() as seen:
    assert torch.autograd.grad(again.sum(), points)[0].equal(right)  # handed out in the same order
assert seen.counts[aten.sin.default] == 1  # the derivative of the cosine; no sine of the forward pass
# %% [markdown] tags=["en", "try"]
# Saving the cosine adds one activation, saving the sine none. Why? Say where that tensor is anyway.
#
# The sine needs its argument, the cosine of `x`. With the result these are two activations. In a checkpoint only the result is left. Saving the cosine adds one. Saving the sine adds nothing: that tensor is the result, which is in memory anyway.
# %% [markdown] tags=["ru", "try"] of="2880dd8d"
# Если сохранять косинус, активацией больше, а если синус — столько же. Почему? Скажите, где этот тензор лежит и так.
#
# Для производной синуса нужен его аргумент, то есть косинус от `x`. Вместе с результатом это две активации. С контрольной точкой остаётся только результат. Если сохранить косинус, добавится одна активация, а если синус — ни одной: этот тензор и есть результат, он и так в памяти.


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
# ### `predict_kept`
#
# Put what `kept_table()` returns in place of each `...`: a whole number of activations. In the row `both saved` the results of `addmm` and of `tanh` are saved.
# %% [markdown] tags=["ru"] of="8b61525d"
# ### `predict_kept`
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
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("error")  # a name that never occurs gives no warning
    saving(nn.Linear(64, 64), aten.mm.default)(torch.ones(256, 64, requires_grad=True)).sum().backward()
layer = nn.Linear(64, 64)(torch.ones(256, 64))
after = layer.tanh()
assert after.grad_fn._saved_result.data_ptr() == after.data_ptr()  # of its own result alone
assert after.grad_fn.next_functions[0][0].name() == "AddmmBackward0"
assert not hasattr(layer.grad_fn, "_saved_result")
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# Вызовем эту функцию и сравним с таблицей.
# %%
kept_table()
# %% [markdown] tags=["en"] explains="predict_kept"
# Without a checkpoint the graph keeps what derivatives need. A `tanh` needs its result, and that is also the input of the next `Linear`: four tensors, the last of them the result. No derivative needs the result of `addmm`.
#
# A policy asks another question: which operation shall not run again? Saving the four results of `addmm` spares four products and costs four activations, with the result of the network five. That is the riddle from the beginning. "Save both" keeps everything that was computed, twice as much as the graph alone.
#
# And a name that never occurs is no error. `mm` is on the list, no `mm` runs, and all is computed again, with no warning.
# %% [markdown] tags=["ru"] explains="predict_kept" of="f8068f39"
# Без контрольной точки граф хранит то, что нужно производным. Для производной `tanh` нужен результат этой операции, и он же служит входом следующего `Linear`: всего четыре тензора, последний из них — выход сети. Результат `addmm` не нужен ни одной производной.
#
# Политика отвечает на другой вопрос: какую операцию не выполнять заново? Четыре сохранённых результата `addmm` избавляют от четырёх произведений и занимают четыре активации. Вместе с выходом сети их пять. Вот и разгадка истории из начала урока. Если сохранять результаты обеих операций, хранится вообще всё, что вычислено: вдвое больше, чем в обычном графе.
#
# Если же имя из списка ни разу не встретилось, ошибки не будет. Когда в списке стоит `mm`, а операции `mm` в сети нет, всё вычисляется заново без единого предупреждения.


# %% [markdown] tags=["en"]
# ## Where it pays
#
# Two counts decide: what is kept, and what runs again. Take a block with several cheap operations behind each product, as GELU and its relatives make them.
# %% [markdown] tags=["ru"] of="50c8d5c8"
# ## Где это выгодно
#
# Всё зависит от двух чисел: сколько хранится и сколько выполняется заново. Возьмём блок, в котором за каждым произведением идёт несколько дешёвых операций, как бывает с GELU и похожими функциями.
# %%
deep = nn.Sequential(
    *[layer for _ in range(4) for layer in (nn.Linear(64, 64), nn.GELU(), nn.Softplus(), nn.Sigmoid())]
)


def runs_again(f, operation):
    """Count the calls of `operation` in the backward pass of `f`."""
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


# %% [markdown] tags=["en", "try"]
# Which of the four lines is the best bargain here? And why was the same list a loss for the four blocks before? Say it.
#
# Here saving `addmm` keeps 5 activations in place of 12, and no product runs again. A product makes 64 multiplications for each number of its result here, thousands in large networks, so this is the bargain people mean by "selective". In the four blocks from before the same list was a loss: nothing cheap stood behind the product but the `tanh`.
# %% [markdown] tags=["ru", "try"] of="2526d072"
# Какая из четырёх строк здесь выгоднее всего? И почему тот же список был невыгоден для прежних четырёх блоков? Ответьте.
#
# Если сохранять `addmm`, здесь хранится 5 активаций вместо 12, и ни одно произведение не выполняется заново. На каждое число в результате произведения приходится 64 умножения, а в больших сетях — тысячи. Поэтому, когда говорят о выборочном (selective) чекпоинтинге, имеют в виду именно такую политику. Для четырёх блоков из начала урока тот же список невыгоден: там за произведением идёт одна дешёвая операция, `tanh`.
# %% [markdown] tags=["en"]
# A list is a policy in short. In full it is a function that is asked about each operation and returns a `CheckpointPolicy`: `MUST_SAVE`, `PREFER_RECOMPUTE` and so on. (`PREFER` lets `torch.compile` decide otherwise; in eager mode it means the same as `MUST`.) `create_selective_checkpoint_contexts` takes either.
# %% [markdown] tags=["ru"] of="ba27f313"
# Список — это краткая запись политики. Полная запись — функция, которую вызывают для каждой операции. Она возвращает значение `CheckpointPolicy`: `MUST_SAVE`, `PREFER_RECOMPUTE` или другое. (`PREFER` разрешает `torch.compile` решить иначе; без компиляции это то же самое, что `MUST`.) Функция `create_selective_checkpoint_contexts` принимает и то и другое.
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


def under(policy):
    def run(x):
        return checkpoint(deep, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))

    return run


def with_the_policies(save, again):
    return under(lambda ctx, operation, *args, **kwargs: save if operation == aten.addmm.default else again)


kinds = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
others = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)
assert {price(with_the_policies(*pair)) for pair in itertools.product(kinds, others)} == {(5, 0, 4)}
assert price(with_the_policies(True, False)) == (5, 0, 4)
assert "overridden\n    by other subsystems like `torch.compile`" in CheckpointPolicy.__doc__


# %% [markdown] tags=["en"]
# The last line keeps as much as no checkpoint: for the sake of GELU alone a policy is not worth writing.
#
# And as in lesson 06, what is kept after the forward pass is not the peak. A policy says what is saved inside a segment; when backward comes, the segment is recomputed and fills the memory all the same. So every block gets a checkpoint of its own.
# %% [markdown] tags=["ru"] of="46f8f7be"
# В последней строке хранится столько же, сколько без контрольной точки: ради одной GELU заводить политику не стоит.
#
# И, как в уроке 06, по тому, что хранится после прямого прохода, о пике судить нельзя. Политика определяет, что сохраняется внутри сегмента. Но в обратном проходе сегмент вычисляется заново и всё равно занимает всю свою память. Поэтому контрольную точку ставят на каждый блок.
# %% tags=["picture"]
from autograder import plot_memory

data = torch.ones(256, 64)
groups = [deep[start : start + 4] for start in range(0, 16, 4)]


def no_checkpoint(x):
    return deep(x)


def one_policy_for_all(x):
    return saving(deep, aten.addmm.default)(x)


def one_for_each_block(x):
    for block in groups:
        x = saving(block, aten.addmm.default)(x)
    return x


plot_memory(data, no_checkpoint, one_policy_for_all, one_for_each_block)


# %% tags=["fact"]
def peak_of(f):
    deep.zero_grad()
    with live_bytes() as live:
        f(data).sum().backward()
    return live.peak / 65_536


data = torch.ones(256, 64)
groups = [deep[start : start + 4] for start in range(0, 16, 4)]


def by_blocks(*operations):
    def run(x):
        for block in groups:
            x = saving(block, *operations)(x)
        return x

    return run


assert peak_of(saving(deep, aten.addmm.default)) == peak_of(deep) > peak_of(by_blocks(aten.addmm.default))
assert peak_of(by_blocks(aten.addmm.default)) > peak_of(by_blocks())
assert runs_again(by_blocks(aten.addmm.default), aten.addmm.default) == 0
assert runs_again(by_blocks(), aten.addmm.default) == 4
asked = []


def inner_sizes(ctx, operation, *args, **kwargs):
    if operation in (aten.mm.default, aten.addmm.default, aten.bmm.default):
        asked.append((operation, args[-1].shape[-2]))
    return False


def three_products(x):
    return nn.Linear(8, 4)(nn.Linear(7, 8, bias=False)(x.flatten(0, 1))).view(2, 3, 4) @ torch.ones(2, 4, 5)


checkpoint(
    three_products,
    torch.ones(2, 3, 7, requires_grad=True),
    use_reentrant=False,
    context_fn=lambda: create_selective_checkpoint_contexts(inner_sizes),
)
assert asked == [(aten.mm.default, 7), (aten.addmm.default, 8), (aten.bmm.default, 4)]


# %% [markdown] tags=["en", "try"]
# Which of the three curves has the peak of no checkpoint, and why does its policy not help? Say when that memory fills.
#
# One policy around everything has the peak of no checkpoint. With one for each block the curve stays lower, and no product runs twice. (Without the policy it would be lower still, at the price of all products.)
# %% [markdown] tags=["ru", "try"] of="b34fd304"
# У какой из трёх кривых такой же пик, как без контрольной точки, и почему политика не помогла? Скажите, когда эта память занята.
#
# Если контрольная точка с политикой одна на всю сеть, пик такой же, как без контрольной точки. Если у каждого блока своя, кривая ниже, и ни одно произведение не выполняется дважды. (Без политики она была бы ещё ниже, но все произведения выполнялись бы дважды.)
# %% [markdown] tags=["en"]
# ### `keep_products`
#
# **Keep the results of the expensive matrix products of `f` for backward, and nothing else.**
#
# The function keeps nothing of `f` but its input. Complete it. A product of $m \times k$ and $k \times n$ has the *inner size* $k$: so many multiplications are behind each number of its result. We call a product *expensive* if its inner size is at least 16.
#
# * **Given.** `f`, a function of one tensor, and `x`, which may or may not require grad. The matrix products in `f` are `aten.mm`, `aten.addmm` and `aten.bmm`; the last one multiplies 3-dimensional tensors. `f` may draw random numbers from torch's own random state.
# * **Result.** `f(x)`, with the result and the gradients that there are without a checkpoint, also if the function is called again before the backward pass. <!-- gradients -->
# * **Result.** After the forward pass the results of the expensive products are in memory, and nothing more but the returned result. <!-- kept -->
# * **Not allowed.** To run an expensive product of the forward pass twice. <!-- products -->
# %% [markdown] tags=["ru"] of="b557f46f"
# ### `keep_products`
#
# **Сохраните для обратного прохода результаты дорогих матричных произведений в `f`, и больше ничего.**
#
# Функция ниже хранит только вход `f`, а всё остальное вычисляет заново. Допишите её. У произведения матриц $m \times k$ и $k \times n$ *внутренний размер* равен $k$: столько умножений приходится на каждое число результата. *Дорогим* назовём произведение, внутренний размер которого не меньше 16.
#
# * **Дано.** Функция `f` от одного тензора и тензор `x`, который может и не требовать градиента. Матричные произведения в `f` — это `aten.mm`, `aten.addmm` и `aten.bmm`; последняя операция умножает трёхмерные тензоры. Функция `f` может брать случайные числа из общего генератора torch.
# * **Результат.** `f(x)`; результат и градиенты такие же, как без контрольной точки, даже если до обратного прохода функция вызвана ещё раз. <!-- gradients -->
# * **Результат.** После прямого прохода в памяти лежат результаты дорогих произведений и больше ничего, кроме возвращённого результата. <!-- kept -->
# * **Нельзя.** Выполнять дорогое произведение прямого прохода дважды. <!-- products -->
# %% answer="keep_products"
def keep_products(f, x):
    def policy(ctx, operation, *args, **kwargs):
        product = operation in (aten.mm.default, aten.addmm.default, aten.bmm.default)
        return CheckpointPolicy.MUST_SAVE if product and args[-1].shape[-2] >= 16 else CheckpointPolicy.PREFER_RECOMPUTE

    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))


# %% given="keep_products"
def keep_products(f, x):
    return checkpoint(f, x, use_reentrant=False)


# %% alternative="keep_products"
def keep_products(f, x):
    import functools

    def policy(ctx, operation, *args, **kwargs):
        return "mm" in operation.name() and args[-1].shape[-2] > 15

    pair = functools.partial(create_selective_checkpoint_contexts, policy)
    return checkpoint(f, x, use_reentrant=False, context_fn=pair, determinism_check="none")


# %% alternative="keep_products"
def keep_products(f, x):
    factors = {aten.mm: 0, aten.addmm: 1, aten.bmm: 0}

    def policy(ctx, operation, *args, **kwargs):
        first = factors.get(operation.overloadpacket)
        if first is None or args[first].shape[-1] < 16:
            return CheckpointPolicy.MUST_RECOMPUTE
        return CheckpointPolicy.PREFER_SAVE

    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))


# %% alternative="keep_products"
def keep_products(f, x):
    kept = []

    class Recording(TorchDispatchMode):
        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            result = operation(*args, **(kwargs or {}))
            if "mm" in operation.name() and args[-1].shape[-2] >= 16:
                kept.append(result)
            return result

    class Replaying(TorchDispatchMode):
        def __enter__(self):
            self.results = iter(kept)
            return super().__enter__()

        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            if "mm" in operation.name() and args[-1].shape[-2] >= 16:
                return next(self.results)
            return operation(*args, **(kwargs or {}))

    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: (Recording(), Replaying()))


# %% check="keep_products"
from autograder import check

check("keep_products")


# %% [markdown] tags=["en"]
# ## What to keep
#
# * A graph keeps what derivatives need; a policy keeps what shall not run again. "Save everything" keeps more than no checkpoint.
# * Save the products where several cheap operations follow each of them. A name that never occurs saves nothing, without a warning.
# * Judge a policy by bytes in memory and by operations that run again. The peak falls only if the segments are small, too.
#
# From the extra sections:
#
# * The recomputation ends with the last saved tensor, and each backward pass recomputes anew. What stands inside two checkpoints runs three times.
# * Only the number of saved tensors, their shapes, dtypes and devices are compared. What changes between the two runs (a generator, a counter, a weight) gives a wrong gradient in silence.
# * Under a budget measure first, in a trial under `no_grad`, and choose by multiplications per byte; the best set need not follow any order.
# %% [markdown] tags=["ru"] of="9431de0d"
# ## Что стоит запомнить
#
# * Граф хранит то, что нужно производным, а политика — то, что не надо выполнять заново. «Сохранять всё» — значит хранить больше, чем без контрольной точки.
# * Сохраняйте произведения там, где за каждым из них идёт несколько дешёвых операций. Если имя из списка ни разу не встретилось, ничего не сохраняется, и предупреждения нет.
# * Судите о политике по байтам в памяти и по числу операций, которые выполняются заново. Пик снижается, только если и сегменты невелики.
#
# Из дополнительных разделов:
#
# * Повторное вычисление заканчивается на последнем сохраняемом тензоре, и каждый обратный проход вычисляет всё заново. То, что лежит внутри двух вложенных контрольных точек, выполняется трижды.
# * Сверяются только число сохранённых тензоров, их формы, dtype и устройства. Всё, что меняется между двумя вызовами (генератор, счётчик, вес), молча портит градиент.
# * Прежде чем выбирать под бюджет, измерьте: достаточно одного пробного запуска внутри `no_grad`. Число умножений на байт подсказывает, что выгодно, но если просто брать результаты в порядке выгоды, лучший набор получится не всегда.
# %% [markdown] tags=["en"]
# ## What runs again
#
# So far we counted operations. Now we count calls, of three functions `a`, `b` and `c`: a sine, a square, and `x + 1`, which saves nothing. `chain` runs functions one after the other, `kept_out` puts them into one checkpoint, and so does `to_the_end`, but with *early stop* switched off. Early stop is the habit of a checkpoint to break off the recomputation as soon as it has all tensors that are needed.
# %% [markdown] tags=["ru"] of="a0fb6937"
# ## Что выполняется заново
#
# До сих пор мы считали операции. Теперь посчитаем вызовы трёх функций `a`, `b` и `c`: это синус, квадрат и `x + 1` (последняя ничего не сохраняет). Функция `chain` вызывает их одну за другой, `kept_out` помещает всю цепочку в одну контрольную точку, а `to_the_end` делает то же, но без *ранней остановки* (early stop). При ранней остановке повторное вычисление прерывается, как только получены все нужные тензоры.
# %%
def chain(*functions):
    def run(x):
        for f in functions:
            x = f(x)
        return x

    return run


def kept_out(*functions):
    return lambda x: checkpoint(chain(*functions), x, use_reentrant=False)


def to_the_end(*functions):
    def run(x):
        with set_checkpoint_early_stop(False):
            return kept_out(*functions)(x)

    return run


def calls(place, passes=1):
    """Calls of a, b and c in a forward pass through `place(a, b, c)` and in backward passes."""
    times = [0, 0, 0]

    def counted(number, f):
        def run(x):
            times[number] += 1
            return f(x)

        return run

    f = place(counted(0, torch.sin), counted(1, torch.square), counted(2, lambda x: x + 1))
    y = f(torch.ones(3, requires_grad=True)).sum()
    for _ in range(passes):
        y.backward(retain_graph=True)
    return times


print("the sine alone:", calls(lambda a, b, c: chain(kept_out(a), b, c)))


# %% [markdown] tags=["en"]
# Read the table; do not call `repeats_table()` yet.
# %% [markdown] tags=["ru"] of="e511fc88"
# Прочтите, что попадает в таблицу, но `repeats_table()` пока не вызывайте.
# %%
def repeats_table():
    return {
        "no checkpoint": calls(chain),
        "one checkpoint": calls(kept_out),
        "two backward passes": calls(kept_out, passes=2),
        "no early stop": calls(to_the_end),
        "x + 1 first": calls(lambda a, b, c: kept_out(c, a, b)),
        "one for each": calls(lambda a, b, c: chain(kept_out(a), kept_out(b), kept_out(c))),
        "a checkpoint inside": calls(lambda a, b, c: kept_out(kept_out(a), b, c)),
    }


# %% [markdown] tags=["en"]
# ### `predict_repeats`
#
# Put what `repeats_table()` returns in place of each `...`: a list such as `[2, 1, 1]`, the calls of `a` (sine), `b` (square) and `c` (`x + 1`). The forward pass counts as well, and so does a call that is cut short.
# %% [markdown] tags=["ru"] of="42972e58"
# ### `predict_repeats`
#
# Вместо каждого `...` поставьте то, что вернёт `repeats_table()`: список вроде `[2, 1, 1]`, то есть число вызовов `a` (синус), `b` (квадрат) и `c` (`x + 1`). Прямой проход тоже считается, как и вызов, который прерван на середине.
# %% answer="predict_repeats"
predict_repeats = {
    "no checkpoint": [1, 1, 1],
    "one checkpoint": [2, 2, 1],
    "two backward passes": [3, 3, 1],
    "no early stop": [2, 2, 2],
    "x + 1 first": [2, 2, 2],
    "one for each": [2, 2, 1],
    "a checkpoint inside": [3, 2, 1],
}
# %% given="predict_repeats"
predict_repeats = {
    "no checkpoint": ...,
    "one checkpoint": ...,
    "two backward passes": ...,
    "no early stop": ...,
    "x + 1 first": ...,
    "one for each": ...,
    "a checkpoint inside": ...,
}
# %% check="predict_repeats"
from autograder import check

check("predict_repeats")
# %% tags=["fact"]
assert predict_repeats == repeats_table()
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# Вызовем эту функцию и сравним с таблицей.
# %%
repeats_table()


# %% [markdown] tags=["en"] explains="predict_repeats"
# The recomputation is there for saved tensors. With the last of them it breaks off, by an exception inside the function: `x + 1` is not called again at the end of a segment, and is called at its beginning. A side effect in a segment may therefore happen twice or once, depending on what stands behind it.
#
# Nesting costs a third call of what is inside both, and it lowers the peak further than a single level of segments can. `checkpoint_sequential`, torch's own function for segments, leaves the last one without a checkpoint, since backward begins there.
# %% [markdown] tags=["ru"] explains="predict_repeats" of="0640508d"
# Повторное вычисление нужно только ради сохранённых тензоров. Как только получен последний из них, оно прерывается исключением прямо внутри функции: `x + 1` в конце сегмента заново не вызывается, а в начале вызывается. Поэтому побочный эффект в сегменте может произойти и дважды, и один раз, в зависимости от того, что стоит после него.
#
# За вложенность мы платим: всё, что лежит внутри обеих контрольных точек, вызывается в третий раз. Зато пик снижается сильнее, чем при одном уровне сегментов. Готовая функция torch для сегментов, `checkpoint_sequential`, последний сегмент оставляет без контрольной точки: с него обратный проход и начинается.
# %% tags=["fact"]
def in_segments(count):
    return lambda a, b, c: lambda x: checkpoint_sequential([a, b, c], count, x, use_reentrant=False)


assert [calls(in_segments(count)) for count in (1, 2, 3)] == [[1, 1, 1], [2, 1, 1], [2, 2, 1]]


def peak(f, layers=64):
    with live_bytes() as live:
        f([torch.tanh] * layers, torch.zeros(64, 64, requires_grad=True)).sum().backward()
    return live.peak // (64 * 64 * 4)


def halved(layers, x):
    if len(layers) == 1:
        return layers[0](x)
    middle = len(layers) // 2
    for half in (layers[:middle], layers[middle:]):
        x = checkpoint(lambda x, half=half: halved(half, x), x, use_reentrant=False)
    return x


def by_root(layers, x):
    for start in range(0, len(layers), 8):
        x = kept_out(*layers[start : start + 8])(x)
    return x


assert peak(halved) < peak(by_root) < peak(lambda layers, x: chain(*layers)(x))
assert not [name for name in dir((torch.ones(1, requires_grad=True) + 1).grad_fn) if name.startswith("_saved_self")]
left_by = []


def sine_and_one(x):
    try:
        return torch.sin(x) + 1
    except BaseException as error:
        left_by.append(type(error).__name__)
        raise


kept_out(sine_and_one)(torch.ones(3, requires_grad=True)).sum().backward()
assert left_by == ["_StopRecomputationError"]  # early stop breaks off by an exception inside the function


# %% [markdown] tags=["en"]
# ## What a second run has to repeat
#
# A recomputation is worth something only if it computes the same. Here are two functions that run once without and once with a checkpoint:
# %% [markdown] tags=["ru"] of="514f2df1"
# ## Что должно повториться
#
# Повторное вычисление имеет смысл, только если даёт тот же результат. Вот две функции, которые выполняются без контрольной точки и с ней:
# %%
def gradient(y, x):
    try:
        return round(torch.autograd.grad(y, x)[0].item(), 4)
    except RuntimeError as error:
        return str(error).split(":")[0]


def changed_list(place):
    x, factor = torch.ones(1, requires_grad=True), [1.0]
    y = place(lambda x: (factor[0] * x).sin())(x)
    factor[0] = 2.0
    return gradient(y, x)


def changed_weight(place):
    x, weight = torch.ones(1, requires_grad=True), torch.tensor([2.0], requires_grad=True)
    y = place(lambda x: (weight * x).square())(x)
    with torch.no_grad():
        weight.mul_(2)
    return gradient(y, x)


print("a list changes, no checkpoint:  ", changed_list(chain))
print("a list changes, checkpoint:     ", changed_list(kept_out))
print("a weight changes, checkpoint:   ", changed_weight(kept_out))
print("a weight changes, no checkpoint:", changed_weight(chain))
# %% tags=["fact"]
assert changed_list(chain) == 0.5403 and changed_list(kept_out) == -0.4161
assert changed_weight(kept_out) == 32.0 and "inplace operation" in changed_weight(chain)
x = torch.ones(1, requires_grad=True)
assert gradient((2 * x).square(), x) == 8.0
from torch.utils.checkpoint import CheckpointError

lengths = [3, 4]
try:
    kept_out(lambda x: x.expand(lengths.pop(0)).sin())(x).sum().backward()
except CheckpointError as error:
    assert "different metadata" in str(error)
else:
    raise AssertionError("another shape is accepted")
h = 2 * x
y = kept_out(torch.sin)(h)
h.detach().add_(1)
assert "inplace operation" in gradient(y, x)  # of its inputs a checkpoint does note the version
dtypes, cache, calls_of_it, types_seen = [torch.float32, torch.float64], [], itertools.count(1), []
noise = torch.Generator().manual_seed(0)


def cached(x):
    if not cache:
        cache.append(x.sin())
    return cache[0] * x


def gradient_message(f, x):
    try:
        f(x).sum().backward()
    except CheckpointError as error:
        return str(error)
    raise AssertionError("no error")


def noted(x):
    types_seen.append((x[:, None] @ x[None]).dtype)
    return x.sin()


with torch.autocast("cpu", torch.bfloat16):
    noted_y = kept_out(noted)(x)
noted_y.sum().backward()
assert types_seen == [torch.bfloat16] * 2  # autocast is put back
assert "different metadata" in gradient_message(kept_out(lambda x: x.to(dtypes.pop(0)).sin()), x)
assert "different number of tensors" in gradient_message(kept_out(cached), x)
counted = gradient(kept_out(lambda x: (next(calls_of_it) * x.exp()).sin())(x), x)
noisy = gradient(kept_out(lambda x: (torch.rand(1, generator=noise) * x).sin())(x), x)
drawn = torch.rand(1, generator=torch.Generator().manual_seed(0))
assert isinstance(counted, float) and counted != gradient((x.exp()).sin(), x)
assert isinstance(noisy, float) and noisy != gradient((drawn * x).sin(), x)


# %% [markdown] tags=["en", "try"]
# The right numbers are the cosine of 1 and 8. Which lines are wrong without a word? And who would have noticed the changed weight?
#
# The right numbers are 0.5403, the cosine of 1, and 8. With a checkpoint we get $-0.4161$ (the cosine of 2) and 32, without an error. What is compared is how many tensors are saved, and their shapes, dtypes and devices, but not their numbers. Look at the last two lines. Without a checkpoint, autograd notices that a weight was changed after the forward pass. The checkpoint takes that check away, because the weight is saved only in the recomputation, when it has changed already.
# %% [markdown] tags=["ru", "try"] of="1f8c10b2"
# Верные числа — косинус единицы и 8. Какие строки неверны, хотя ошибки нет? И кто заметил бы, что вес изменился?
#
# Верные числа — 0.5403 (косинус единицы) и 8. С контрольной точкой получаются $-0.4161$ (косинус двойки) и 32, и ошибки нет. Сверяется, сколько тензоров сохранено и каковы их форма, dtype и устройство, но не числа в них. Посмотрите на две последние строки. Без контрольной точки autograd замечает, что вес после прямого прохода изменили. Контрольная точка эту проверку отключает: вес сохраняется только при повторном вычислении, а к этому времени он уже изменён.
# %% [markdown] tags=["en"]
# ### `stay_silent`
#
# **Return a function whose gradient is wrong under a checkpoint, although no error is raised.**
#
# Somebody writes: "If a recomputation went wrong, torch would raise an error." Write a function without arguments that returns a counter-example.
#
# * **Given.** The check calls `f` with float64 tensors of one or two dimensions. One entry of such a tensor is 0, all others are between 0.5 and 2.5. <!-- no aspect: the inputs -->
# * **Result.** A function `f` that takes a tensor of any shape and returns a tensor; each call of `stay_silent()` makes another. Without a checkpoint the gradient of the sum of its result agrees with finite differences, for which the check makes a fresh `f` for each value. <!-- honest -->
# * **Result.** Called through `checkpoint(f, x, use_reentrant=False)`, a fresh `f` gives the same result. <!-- same result -->
# * **Result.** Its gradient is off by more than a tenth of the norm of the right one, and the backward pass raises no error. <!-- silent -->
# %% [markdown] tags=["ru"] of="efdd015c"
# ### `stay_silent`
#
# **Верните функцию, градиент которой с контрольной точкой неверен, хотя сообщения об ошибке нет.**
#
# Вам пишут: «Если бы при повторном вычислении получилось что-то не то, torch сообщил бы об ошибке». Напишите функцию без аргументов, которая возвращает контрпример.
#
# * **Дано.** При проверке `f` получает тензоры float64 с одним или двумя измерениями. Один элемент такого тензора равен 0, остальные — от 0.5 до 2.5. <!-- no aspect: the inputs -->
# * **Результат.** Функция `f`, которая получает тензор любой формы и возвращает тензор; каждый вызов `stay_silent()` создаёт новую. Без контрольной точки градиент суммы элементов её результата согласуется с конечными разностями; каждое значение для этих разностей при проверке вычисляет новая `f`. <!-- honest -->
# * **Результат.** При вызове через `checkpoint(f, x, use_reentrant=False)` новая `f` даёт тот же результат. <!-- same result -->
# * **Результат.** Градиент при этом отличается от верного больше чем на десятую часть нормы верного градиента, а обратный проход завершается без ошибки. <!-- silent -->
# %% answer="stay_silent"
def stay_silent():
    """A function that a checkpoint differentiates wrongly, without an error."""
    ### BEGIN SOLUTION
    runs = []

    def f(x):
        runs.append(1)
        return (len(runs) * x).sin()

    return f
    ### END SOLUTION


# %% alternative="stay_silent"
def stay_silent():
    factors = itertools.count(2)
    return lambda x: (x * next(factors)).exp()


# %% alternative="stay_silent"
def stay_silent():
    generator = torch.Generator().manual_seed(3)
    return lambda x: (x + 5 * torch.rand(x.shape, generator=generator, dtype=x.dtype)).square()


# %% alternative="stay_silent"
def stay_silent():
    class Switching(nn.Module):
        def forward(self, x):
            h = x if self.training else 2 * x
            self.eval()
            return h.sin()

    return Switching()


# %% check="stay_silent"
from autograder import check

check("stay_silent")


# %% [markdown] tags=["en"]
# ### `fix_noise`
#
# **With this checkpoint the gradient of `f` is wrong, and no error is raised. Mend the function.**
#
# * **Given.** `f`, called as `f(x, generator)`: it draws from `generator`, a `torch.Generator` on the CPU, and perhaps also from torch's own random state. `x` requires grad. The generator has been used before.
# * **Result.** `f(x, generator)`, with the result and the gradient that there are without a checkpoint, also if the function is called again before the backward pass. <!-- gradients -->
# * **Result.** The same gradient in a second backward pass after `retain_graph=True`. <!-- again -->
# * **Result.** `generator` and torch's own random state go on as they would without a checkpoint. Somebody may draw from both between any two passes and after them. <!-- state -->
# * **Not allowed.** To keep anything in memory after the forward pass but the result and the state of a generator. <!-- kept -->
# %% [markdown] tags=["ru"] of="6ce80054"
# ### `fix_noise`
#
# **С этой контрольной точкой градиент `f` неверен, а сообщения об ошибке нет. Исправьте функцию.**
#
# * **Дано.** Функция `f`, которую вызывают как `f(x, generator)`: она берёт числа из `generator` (это `torch.Generator` на CPU), а иногда и из общего генератора torch. Тензор `x` требует градиента. До вызова из генератора уже брали числа.
# * **Результат.** `f(x, generator)`; результат и градиент такие же, как без контрольной точки, даже если до обратного прохода функция вызвана ещё раз. <!-- gradients -->
# * **Результат.** Тот же градиент при втором обратном проходе после `retain_graph=True`. <!-- again -->
# * **Результат.** И `generator`, и общий генератор torch дальше выдают те же числа, что и без контрольной точки. Из обоих могут брать числа между любыми двумя проходами и после них. <!-- state -->
# * **Нельзя.** Хранить в памяти после прямого прохода что-либо, кроме результата и состояния генератора. <!-- kept -->
# %% answer="fix_noise"
def fix_noise(f, x, generator):
    before, ran = generator.get_state(), False

    def run(x):
        nonlocal ran
        drawn_from = torch.Generator().set_state(before) if ran else generator
        ran = True
        return f(x, drawn_from)

    return checkpoint(run, x, use_reentrant=False)


# %% given="fix_noise"
def fix_noise(f, x, generator):
    return checkpoint(f, x, generator, use_reentrant=False)


# %% alternative="fix_noise"
def fix_noise(f, x, generator):
    before, runs = generator.get_state(), []

    def run(x):
        runs.append(1)
        if len(runs) == 1:
            return f(x, generator)
        now = generator.get_state()
        generator.set_state(before)
        try:
            return f(x, generator)
        finally:  # early stop leaves f by an exception
            generator.set_state(now)

    return checkpoint(run, x, use_reentrant=False)


# %% alternative="fix_noise"
class _Back:
    def __init__(self, generator):
        self.generator, self.before = generator, generator.get_state()

    def __enter__(self):
        self.now = self.generator.get_state()
        self.generator.set_state(self.before)

    def __exit__(self, *error):
        self.generator.set_state(self.now)


def fix_noise(f, x, generator):
    import contextlib

    back = _Back(generator)
    return checkpoint(f, x, generator, use_reentrant=False, context_fn=lambda: (contextlib.nullcontext(), back))


# %% alternative="fix_noise"
def fix_noise(f, x, generator):
    state = generator.get_state()
    generators = itertools.chain([generator], iter(lambda: torch.Generator().set_state(state), None))
    return checkpoint(lambda x: f(x, next(generators)), x, use_reentrant=False)


# %% check="fix_noise"
from autograder import check

check("fix_noise")


# %% [markdown] tags=["en"] explains="fix_noise"
# `checkpoint` puts back the state of torch's own random generator (lesson 06) and autocast. It does not know what else a function reads.
#
# So an optimizer step between a forward pass and its backward pass, a setting switched in between, a counter, or a random generator of your own: each gives a wrong gradient in silence. What can be done? Read such things before the checkpoint and pass them in as arguments, or put them back in the recomputation. Here are both tools: a number that is read before, and the state of a generator, which can be noted and set.
# %% [markdown] tags=["ru"] explains="fix_noise" of="43f051a3"
# Функция `checkpoint` восстанавливает состояние общего генератора случайных чисел (урок 06) и autocast. О том, что ещё читает функция, она не знает.
#
# Поэтому шаг оптимизатора между прямым проходом и соответствующим обратным, переключённая между ними настройка, счётчик или собственный генератор случайных чисел — всё это молча портит градиент. Что делать? Либо прочесть нужное число до контрольной точки и передать аргументом, либо на время повторного вычисления вернуть прежнее состояние. Ниже показано и то и другое: число, прочитанное заранее, и состояние генератора, которое можно запомнить и восстановить.
# %%
def read_before(place):
    x, factor = torch.ones(1, requires_grad=True), [1.0]
    now = factor[0]
    y = place(lambda x: (now * x).sin())(x)
    factor[0] = 2.0
    return gradient(y, x)


generator = torch.Generator().manual_seed(0)
torch.rand(5, generator=generator)
state = generator.get_state()
first = torch.rand(2, generator=generator)
copy_of_it = torch.Generator().set_state(state)  # a second generator, at the same place

print("read before, checkpoint: ", read_before(kept_out))
print("the generator goes on:   ", first, torch.rand(2, generator=generator))
print("from the noted state:    ", torch.rand(2, generator=copy_of_it))
# %% tags=["fact"]
assert read_before(kept_out) == read_before(chain) == 0.5403
assert torch.rand(2, generator=copy_of_it.set_state(state)).equal(first)


# %% [markdown] tags=["en"]
# ## Choosing for a budget
#
# Back to policies. The results of all products may still be too much. Which of them should be saved when there are so many bytes and no more? Saving one costs the bytes of its result and spares its multiplications. For matrices of $m \times k$ and $k \times n$ the result has $mn$ numbers and there are $mkn$ multiplications: each saved number spares $k$. A product with a large inner size is the better bargain.
#
# The mode below writes down both for each product that runs. `saving_numbers` saves the products with the numbers in `chosen`, counted from 0 in the order of the pass. It keeps a count for each pass, because torch 2.11 and 2.12 ask the policy again in the recomputation; from 2.13 on it is asked in the forward pass only.
# %% [markdown] tags=["ru"] of="e9c782dd"
# ## Выбор под бюджет
#
# Вернёмся к политикам. Результатов всех произведений тоже может оказаться слишком много. Какие из них сохранить, если число байтов ограничено? За каждый сохранённый результат мы платим памятью, а экономим умножения. Если перемножить матрицы $m \times k$ и $k \times n$, в результате будет $mn$ чисел, а умножений понадобится $mkn$: каждое сохранённое число избавляет от $k$ умножений. Чем больше внутренний размер, тем выгоднее сохранять.
#
# Режим ниже для каждого выполненного произведения записывает, сколько байтов в результате и сколько было умножений. Функция `saving_numbers` сохраняет произведения с номерами из `chosen`, считая от нуля в порядке вычисления. Счётчик у каждого прохода свой: в torch 2.11 и 2.12 политика вызывается ещё раз при повторном вычислении, а начиная с 2.13 — только в прямом проходе.
# %%
PRODUCTS = (aten.mm.default, aten.addmm.default, aten.bmm.default)


class ProductsSeen(TorchDispatchMode):
    """A list of (bytes, multiplications) of the matrix products that run."""

    def __init__(self):
        super().__init__()
        self.prices = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        if operation in PRODUCTS:
            inner = args[-1].shape[-2]
            self.prices.append((result.numel() * result.element_size(), result.numel() * inner))
        return result


def saving_numbers(f, chosen):
    def contexts():
        numbers = {False: itertools.count(), True: itertools.count()}

        def policy(ctx, operation, *args, **kwargs):
            return operation in PRODUCTS and next(numbers[ctx.is_recompute]) in chosen

        return create_selective_checkpoint_contexts(policy)

    return lambda x: checkpoint(f, x, use_reentrant=False, context_fn=contexts)


widths = [32, 64, 8, 48, 16, 40, 8]
uneven = nn.Sequential(
    *[layer for pair in itertools.pairwise(widths) for layer in (nn.Linear(*pair), nn.GELU(), nn.Sigmoid())]
)
with torch.no_grad(), ProductsSeen() as seen:
    uneven(torch.ones(64, 32))
for number, (size, multiplications) in enumerate(seen.prices):
    print(f"product {number}: {size:6,} bytes, {multiplications:7,} multiplications")


# %% [markdown] tags=["en"]
# A policy may return True and False, for `MUST_SAVE` and `PREFER_RECOMPUTE`. Six products make 64 sets of saved results, and each is a point of the picture. On the left nothing is saved, on the right everything. Nobody wants a point that has another one below it and not further right; the line joins the rest.
# %% [markdown] tags=["ru"] of="e1be3cad"
# Вместо `MUST_SAVE` и `PREFER_RECOMPUTE` политика может возвращать True и False. Из шести произведений можно составить 64 набора сохранённых результатов, каждый из них — точка на рисунке. Слева не сохраняется ничего, справа сохраняется всё. Если для какой-то точки есть другая, которая лежит ниже и не правее, выбирать первую незачем. Остальные точки соединены линией.
# %% tags=["picture"] alt="64 points: bytes saved, and multiplications that run again. A falling line joins the best | 64 точки: сохранённые байты и умножения, которые выполняются снова. Падающая линия соединяет лучшие"
import matplotlib.pyplot as plt

sets = [chosen for count in range(7) for chosen in itertools.combinations(range(6), count)]
points = sorted(
    (sum(seen.prices[i][0] for i in s), sum(price[1] for i, price in enumerate(seen.prices) if i not in s))
    for s in sets
)
best = [point for i, point in enumerate(points) if point[1] < min((p[1] for p in points[:i]), default=10**9)]
plt.figure(figsize=(6, 3))
plt.plot(*zip(*points), ".", color="gray")
plt.plot(*zip(*best), "o-")
plt.xlabel("bytes saved")
plt.ylabel("multiplications again")
plt.show()
# %% tags=["fact"]
with ProductsSeen() as backward_plain:
    uneven(torch.ones(64, 32)).sum().backward()
rows = torch.ones(64, 32)
for chosen in ((), (1, 3), (0, 1, 2, 3, 4, 5)):
    with live_bytes() as live:
        y = saving_numbers(uneven, chosen)(rows)
        assert live.now - 64 * 8 * 4 == sum(seen.prices[i][0] for i in chosen)
    with ProductsSeen() as again:
        y.sum().backward()
    more = sum(price[1] for price in again.prices) - sum(price[1] for price in backward_plain.prices[6:])
    assert more == sum(price[1] for i, price in enumerate(seen.prices) if i not in chosen)
with torch.random.fork_rng(devices=[]):
    drawn = torch.rand(3)
assert torch.rand(3).equal(drawn)
from torch.utils.flop_counter import FlopCounterMode

with FlopCounterMode(display=False) as flops:
    uneven(rows)
assert flops.get_total_flops() == 2 * sum(price[1] for price in seen.prices)  # a multiplication and an addition
assert [price[1] * 4 // price[0] for price in seen.prices] == widths[:-1]  # each saved number spares k multiplications
asked = []


def noting(ctx, operation, *args, **kwargs):
    asked.append(ctx.is_recompute)
    return False


checkpoint(
    uneven,
    rows,
    use_reentrant=False,
    context_fn=lambda: create_selective_checkpoint_contexts(noting),
).sum().backward()
assert any(asked) == (tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13))


# %% [markdown] tags=["en"]
# `uneven` draws no random numbers. A function with dropout does, and then a trial run uses up what the real run should get. Within `with torch.random.fork_rng(devices=[]):` it does not: at the end of the block the random state is what it was before.
#
# ### `fit_budget`
#
# **Choose which products to save: within `budget` bytes, as few multiplications as possible are done again.**
#
# * **Given.** `f`, a function of one tensor, `x` and `budget`, a number of bytes: enough for all results, for some or for none. `f` has at most eight matrix products, each `mm`, `addmm` or `bmm`, and the last operation is none. It may draw random numbers from torch's own random state. `ProductsSeen` and `saving_numbers` are at hand.
# * **Result.** `f(x)`, with the result and the gradients that there are without a checkpoint, also if the function is called again before the backward pass. <!-- gradients -->
# * **Result.** Who draws a random number after the call gets the one that follows a single run of `f`. <!-- state -->
# * **Result.** After the forward pass at most `budget` bytes are in memory beside the returned result. <!-- kept -->
# * **Result.** The products that run again in the backward pass have as few multiplications as this budget allows. <!-- multiplications -->
# * **Not allowed.** More than one trial run of `f` before the real one. <!-- trial -->
# * **Not allowed.** To measure with `live_bytes` or a profiler: the check itself does. <!-- no aspect: such an answer raises an error -->
# %% [markdown] tags=["ru"] of="46a482e3"
# В сети `uneven` случайных чисел нет. А в функции с dropout они есть, и пробный запуск расходует числа, которые должны достаться настоящему. Внутри `with torch.random.fork_rng(devices=[]):` этого не происходит: в конце блока состояние генератора становится таким, каким было до него.
#
# ### `fit_budget`
#
# **Выберите, какие произведения сохранить, чтобы уложиться в `budget` байтов и чтобы повторных умножений было как можно меньше.**
#
# * **Дано.** Функция `f` от одного тензора, вход `x` и `budget` — число байтов. Его может хватить на все результаты, только на часть или ни на один. В `f` не больше восьми матричных произведений, каждое из них `mm`, `addmm` или `bmm`, и последняя операция — не произведение. Функция может брать случайные числа из общего генератора torch. Можно использовать `ProductsSeen` и `saving_numbers`.
# * **Результат.** `f(x)`; результат и градиенты такие же, как без контрольной точки, даже если до обратного прохода функция вызвана ещё раз. <!-- gradients -->
# * **Результат.** Случайные числа после вызова такие же, как если бы `f` вызвали один раз. <!-- state -->
# * **Результат.** После прямого прохода в памяти, кроме возвращённого результата, лежит не больше `budget` байт. <!-- kept -->
# * **Результат.** В произведениях, которые в обратном проходе выполняются заново, наименьшее число умножений, возможное при этом бюджете. <!-- multiplications -->
# * **Нельзя.** Запускать `f` на пробу больше одного раза. <!-- trial -->
# * **Нельзя.** Измерять память с помощью `live_bytes` или профилировщика: так измеряет сама проверка. <!-- no aspect: such an answer raises an error -->
# %% answer="fit_budget"
def fit_budget(f, x, budget):
    """`f(x)` in a checkpoint that saves the products worth most within `budget` bytes."""
    ### BEGIN SOLUTION
    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:
        f(x)
    numbers = range(len(seen.prices))
    sets = [chosen for count in range(len(numbers) + 1) for chosen in itertools.combinations(numbers, count)]

    def total(chosen, which):
        return sum(seen.prices[i][which] for i in chosen)

    fitting = [chosen for chosen in sets if total(chosen, 0) <= budget]
    return saving_numbers(f, max(fitting, key=lambda chosen: total(chosen, 1)))(x)
    ### END SOLUTION


# %% alternative="fit_budget"
def fit_budget(f, x, budget):
    state = torch.get_rng_state()
    with torch.no_grad(), ProductsSeen() as seen:
        f(x)
    torch.set_rng_state(state)
    best = {0: (0, ())}  # bytes: (multiplications, chosen)
    for i, (size, cost) in enumerate(seen.prices):
        for used, (spared, chosen) in list(best.items()):
            if used + size <= budget and best.get(used + size, (-1,))[0] < spared + cost:
                best[used + size] = (spared + cost, (*chosen, i))
    return saving_numbers(f, max(best.values())[1])(x)


# %% alternative="fit_budget"
def fit_budget(f, x, budget):
    def worth(i, left):
        if i == len(prices):
            return 0, []
        without = worth(i + 1, left)
        size, cost = prices[i]
        if size > left:
            return without
        spared, chosen = worth(i + 1, left - size)
        return max(without, (spared + cost, [i, *chosen]))

    with torch.random.fork_rng(devices=[]), ProductsSeen() as seen, torch.no_grad():
        f(x.detach())
    prices = seen.prices
    return saving_numbers(f, worth(0, budget)[1])(x)


# %% alternative="fit_budget"
def fit_budget(f, x, budget):
    from torch.utils.flop_counter import FlopCounterMode

    class Sizes(TorchDispatchMode):
        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            result = operation(*args, **(kwargs or {}))
            if "mm" in operation.name():
                sizes.append(result.nbytes)
                spent.append(flops.get_total_flops())
            return result

    sizes, spent = [], []
    with torch.random.fork_rng(devices=[]), torch.no_grad(), Sizes(), FlopCounterMode(display=False) as flops:
        f(x)
    spent.append(flops.get_total_flops())
    costs = [after - before for before, after in itertools.pairwise(spent)]
    masks = [
        mask for mask in itertools.product((0, 1), repeat=len(sizes)) if sum(map(int.__mul__, mask, sizes)) <= budget
    ]
    best = max(masks, key=lambda mask: sum(map(int.__mul__, mask, costs)))
    return saving_numbers(f, [i for i, bit in enumerate(best) if bit])(x)


# %% check="fit_budget"
from autograder import check

check("fit_budget")


# %% [markdown] tags=["en"]
# ## A checkpoint for your engine
#
# The engine that you began in lesson 02 keeps every result until the walk. It has no checkpoint. But it has all that one needs: a rule may be any function. What would a rule for a whole *segment* of a program have to keep, and what would it do?
# %% [markdown] tags=["ru"] of="3c28f16c"
# ## Контрольная точка для вашего движка
#
# Движок, который вы начали писать в уроке 02, хранит каждый результат до самого обхода. Контрольных точек в нём нет. Но всё, что для них нужно, есть: правилом может быть любая функция. Что должно хранить и что должно делать правило для целого *сегмента* программы?
# %% include=["own_engine/value", "own_engine/rules_and_walk"] tags=["folded"]
# %%
from autograder import use_mine

use_mine()


# %% [markdown] tags=["en"]
# ### `compute_again`
#
# **Nothing inside a segment is kept until the walk.**
#
# * **Given.** `Value`, the class: `Value(data)` is a leaf, `Value(data, inputs, rule)` a result, and `backward()` starts a walk with ones at its value. `segment(*inputs)` computes a value from values by `+`, `*`, `@`, `sum` and `tanh`.
# * **Result.** A value with the numbers of `segment(*inputs)`, whose inputs are `inputs`. <!-- value -->
# * **Result.** A walk brings the gradients that it would bring without `compute_again`: where an input is a leaf, a result, not used (zeros) or given twice, where the segment calls `compute_again` itself, and in a second walk with another gradient, too. <!-- gradients -->
# * **Result.** Before the walk, and after it, no result from inside the segment is in memory, while your value is. <!-- kept -->
# * **Result.** The segment runs once forward, and once in each walk. <!-- runs -->
# %% [markdown] tags=["ru"] of="b698c54d"
# ### `compute_again`
#
# **Ничто внутри сегмента не хранится до обхода.**
#
# * **Дано.** Класс `Value`: `Value(data)` — лист, `Value(data, inputs, rule)` — результат, а `backward()` начинает обход с единиц у своего значения. Функция `segment(*inputs)` вычисляет значение из значений с помощью `+`, `*`, `@`, `sum` и `tanh`.
# * **Результат.** Значение с теми же числами, что у `segment(*inputs)`, и со входами `inputs`. <!-- value -->
# * **Результат.** При обходе получаются те же градиенты, что и без `compute_again`: если вход — лист или результат, не используется (тогда нули) или передан дважды, если сегмент сам вызывает `compute_again` и если по тому же значению идёт второй обход, с другим градиентом. <!-- gradients -->
# * **Результат.** Ни до обхода, ни после него в памяти нет результатов, которые лежат внутри сегмента, хотя само ваше значение ещё есть. <!-- kept -->
# * **Результат.** Сегмент выполняется один раз в прямом проходе и один раз при каждом обходе. <!-- runs -->
# %% answer="compute_again"
def compute_again(Value, segment, *inputs):
    """The value of `segment(*inputs)`, whose inside is not kept but made again in the walk."""

    ### BEGIN SOLUTION
    def rule(gradient):
        leaves = [Value(each.data) for each in inputs]
        (segment(*leaves) * Value(gradient)).sum().backward()
        return [torch.zeros_like(each.data) if each.grad is None else each.grad for each in leaves]

    return Value(segment(*[Value(each.data) for each in inputs]).data, inputs, rule)
    ### END SOLUTION


# %% alternative="compute_again"
def compute_again(Value, segment, *inputs):
    def fresh():
        return tuple(Value(each.data.clone()) for each in inputs)

    def rule(gradient):
        leaves = fresh()
        again = segment(*leaves)
        weighted = again * Value(gradient.clone())
        weighted.sum().backward()
        return tuple(each.data * 0 if each.grad is None else each.grad for each in leaves)

    data = segment(*fresh()).data
    return Value(data, tuple(inputs), rule)


# %% alternative="compute_again"
class Segment:
    def __init__(self, make, run, inputs):
        self.make, self.run, self.inputs = make, run, inputs

    def forward(self):
        leaves = [self.make(each.data) for each in self.inputs]
        return leaves, self.run(*leaves)

    def __call__(self, gradient):
        leaves, out = self.forward()
        for each in leaves:
            each.grad = torch.zeros_like(each.data)
        (self.make(gradient) * out).sum().backward()
        return [each.grad for each in leaves]


def compute_again(Value, segment, *inputs):
    kept = Segment(Value, segment, inputs)
    return Value(kept.forward()[1].data, inputs, kept)


# %% alternative="compute_again"
def compute_again(Value, segment, *inputs):
    stored = [each.data for each in inputs]

    def run(gradient=None):
        leaves = list(map(Value, stored))
        out = segment(*leaves)
        if gradient is None:
            return out.data
        # a result with a rule of its own starts the walk with the gradient that has come
        Value(torch.zeros((), dtype=torch.float64), (out,), lambda one: (gradient,)).backward()
        return [torch.zeros_like(leaf.data) if leaf.grad is None else leaf.grad for leaf in leaves]

    return Value(run(), inputs, run)


# %% check="compute_again"
from autograder import check

check("compute_again")


# %% [markdown] tags=["en"]
# Eight layers of four results each, with and without segments. A segment is a layer. How many of the 32 results are in memory before the walk? And what do the gradients differ by?
# %% [markdown] tags=["ru"] of="36a68caf"
# Восемь слоёв по четыре операции, с сегментами и без них. Сегмент — это слой. Сколько из 32 результатов останется в памяти перед обходом? И на сколько будут отличаться градиенты?
# %%
from autograder.measure import live_bytes


def layer(h, w):
    for _ in range(2):
        h = (h @ w).tanh()
    return h


def through_layers(run, weights, x):
    """Bytes held before the walk, and the gradient of the first weight."""
    with live_bytes() as live:
        h = Value(x)
        for each in weights:
            h = run(h, each)
        loss = h.sum()
        held = live.now
    loss.backward()
    return held, weights[0].grad


x = torch.linspace(-1.0, 1.0, 64 * 16, dtype=torch.float64).reshape(64, 16)
tensors = [torch.eye(16, dtype=torch.float64) * (1 - 0.02 * number) for number in range(8)]
plain_held, plain_gradient = through_layers(layer, [Value(each) for each in tensors], x)
print(f"kept:           {plain_held:9,} bytes")
try:
    held, gradient = through_layers(
        lambda h, w: compute_again(Value, layer, h, w), [Value(each) for each in tensors], x
    )
    print(f"computed again: {held:9,} bytes, gradients differ by {(gradient - plain_gradient).abs().max().item():.0e}")
except NotImplementedError:
    print("compute_again is still to be written")
# %% tags=["fact"]
assert plain_held == 32 * x.nbytes and held == 8 * x.nbytes and torch.allclose(gradient, plain_gradient)


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
