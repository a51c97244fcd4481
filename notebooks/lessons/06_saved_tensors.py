# %% [markdown] tags=["en"] needs="02, 04" about="what an operation keeps, in bytes; packing it elsewhere; checkpoints"
# # Saved tensors
#
# A network of 16 layers runs forward, and memory fills up. The weights did not grow, and no variable holds the intermediate results. What holds them, and can they be held somewhere else?
#
# The graph holds them: an operation saves what its derivative will need. This lesson counts those bytes, does without them, and keeps them in less room or in another place. After it you can:
#
# * say what an operation keeps, in bytes, before you run it;
# * write a pair of hooks that saves tensors in half precision;
# * place checkpoints so that the peak of memory falls, and not only the number that is easy to measure;
# * find the leak in a pair of hooks.
#
# Extra exercises pack tensors into files, count what a graph keeps, and edit what is saved. And your own engine, which keeps everything for ever, learns what torch does: to free as it walks.
#
# You need lesson 02 (graph, nodes, `retain_graph`) and lesson 04 (views, changes in place).
# %% [markdown] tags=["ru"] about="сколько байтов сохраняет операция, как хранить их в другом месте, контрольные точки" of="c54e611b"
# # Сохранённые тензоры
#
# Идёт прямой проход по сети из 16 слоёв, и расход памяти растёт. Веса занимают столько же, сколько и раньше, а промежуточные результаты ни в каких переменных не лежат. Почему же они остаются в памяти и нельзя ли хранить их где-нибудь ещё?
#
# Их удерживает граф: каждая операция сохраняет то, что понадобится для её производной. В этом уроке мы посчитаем, сколько байтов на это уходит, попробуем не сохранять ничего, а затем будем хранить то же самое в меньшем объёме или в другом месте. После урока вы сможете:
#
# * сказать ещё до запуска, сколько байтов сохранит операция;
# * написать пару хуков, которая хранит тензоры в половинной точности;
# * хранить лишь часть промежуточных результатов, а остальные вычислять заново, так, чтобы снизился пиковый расход памяти (далее — пик), а не только то число, которое легко измерить;
# * найти утечку памяти в паре хуков.
#
# В дополнительных упражнениях вы выгрузите сохранённые тензоры в файлы, сосчитаете их и проследите за их изменениями на месте. А ваш собственный движок, который пока хранит всё и всегда, научится тому, что умеет torch: освобождать память по ходу обхода.
#
# Понадобятся урок 02 (граф, узлы, `retain_graph`) и урок 04 (представления, изменения на месте).
# %% tags=["en"]
# Does the import fail? Install the course by pip (its file, or autograd-course),
# and uninstall another `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("saved_tensors", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("saved_tensors", language="ru")
# %%
import os
import tempfile
import threading
import uuid

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from autograder.measure import live_bytes, saved_bytes

# %% [markdown] tags=["en"]
# ## What a node holds
#
# The derivative of $x^2$ is $2x$: backward needs $x$. The derivative of $e^x$ is $e^x$: backward needs the result. So `pow` saves its input, `exp` its output. The nodes show what they saved under names that begin with `_saved_`.
# %% [markdown] tags=["ru"] of="f0b6b30f"
# ## Что хранит узел
#
# Производная $x^2$ равна $2x$, поэтому обратному проходу нужен $x$. Производная $e^x$ равна $e^x$, поэтому нужен результат. Так что `pow` сохраняет вход, а `exp` — выход. Всё сохранённое видно в атрибутах узла, имена которых начинаются с `_saved_`.
# %%
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
square, exponent = x.pow(2), x.exp()
print("pow saved", square.grad_fn._saved_self)
print("exp saved", exponent.grad_fn._saved_result)
print("the input itself: ", square.grad_fn._saved_self is x)
print("the output itself:", exponent.grad_fn._saved_result is exponent)
# %% tags=["fact"]
assert square.grad_fn._saved_self is x
assert exponent.grad_fn._saved_result is not exponent
assert exponent.grad_fn._saved_result.data_ptr() == exponent.data_ptr()


# %% [markdown] tags=["en", "try"]
# Is the first `is` a rule, on which code may rely? Say what would happen if a node held its own output.
#
# No, as the second one shows: a node may not hold its own output, because the output holds the node by its `grad_fn`, and neither would ever be freed. Of its own output a node keeps only the numbers, without the history, and it builds a new tensor at each access. To learn whether two tensors begin at the same place in memory, compare `data_ptr()`, never identity.
# %% [markdown] tags=["ru", "try"] of="87ebd5c5"
# Можно ли в своём коде полагаться на первое сравнение `is`? Скажите, что было бы, если бы узел ссылался на собственный выход.
#
# Нет, и это показывает второе сравнение. Ссылаться на собственный выход узел не может: выход сам ссылается на узел через `grad_fn`, и при взаимных ссылках ни тот ни другой никогда не освободились бы. Вот почему собственный выход узел хранит без истории, как набор чисел, и при каждом обращении строит новый тензор. Чтобы узнать, начинаются ли два тензора в одном и том же месте памяти, сравнивайте `data_ptr()`, а не сами объекты.
# %% [markdown] tags=["en"]
# ## How many bytes? Count before you run it
#
# `saved_bytes()` counts what a graph keeps: the storages (the blocks of memory under the tensors), each once and whole. `activation` stands for a result inside a network, of 64 × 256 float32 numbers: 65,536 bytes. Two operations are counted here.
# %% [markdown] tags=["ru"] of="eb5784c4"
# ## Сколько байтов? Считаем до запуска
#
# Функция `saved_bytes()` считает байты, которые хранит граф. Считаются хранилища (блоки памяти, в которых лежат тензоры), каждое один раз и целиком. Тензор `activation` играет роль промежуточного результата сети: это 64 × 256 чисел float32, всего 65 536 байт. Посчитаем для двух операций.
# %%
activation = torch.rand(64, 256, requires_grad=True).clone()
with saved_bytes() as saved:
    y = activation.sin()
print("sin:", saved.now)
with saved_bytes() as saved:
    y = activation + 1
print("+ 1:", saved.now)
# %% tags=["fact"]
assert saved.now == 0
for operation, size in ((torch.sin, 65536), (torch.sum, 0)):
    with saved_bytes() as saved:
        y = operation(activation)
    assert saved.now == size
assert torch.tensor(True).element_size() == 1 and activation.element_size() == 4
with saved_bytes() as saved:
    y = torch.where(activation > 0.5, activation, 0.0)
assert y.grad_fn._saved_condition.dtype == torch.bool and saved.now == 64 * 256


# %% [markdown] tags=["en"]
# The derivative of `sin` is the cosine of the input: the whole input stays. The derivative of `+ 1` is 1, whatever the numbers are: nothing stays. The same holds for `sum`. What is saved may also be a mask of truth values, a byte each, where a float32 number takes four. For each of the seven operations below, write down its derivative first: which numbers are in it? And whose derivative does anybody ask for? Read the function; do not call it yet.
# %% [markdown] tags=["ru"] of="46a80eea"
# Производная `sin` — косинус от входа, поэтому вход хранится целиком. Производная `+ 1` равна 1 при любых числах, и хранить нечего. То же верно и для `sum`. Сохранена может быть и маска из логических значений: каждое занимает один байт, а число float32 — четыре. Функция ниже считает байты ещё для семи операций. Для каждой сначала запишите производную: какие числа в неё входят? И производная по какому входу здесь вообще нужна? Прочтите функцию, но пока не вызывайте.
# %%
def bytes_kept():
    W = torch.rand(256, 256, requires_grad=True)  # 262 144 bytes
    frozen = torch.rand(256, 256)  # requires no gradient
    x = torch.rand(64, 256, requires_grad=True).clone()  # 65 536 bytes
    operations = {
        "x.relu()": lambda: x.relu(),
        "x * 2": lambda: x * 2,
        "x * x": lambda: x * x,
        "torch.where(x > 0.5, x, 0.0)": lambda: torch.where(x > 0.5, x, 0.0),
        "x[:2].sin()": lambda: x[:2].sin(),
        "x @ W": lambda: x @ W,
        "x @ frozen": lambda: x @ frozen,
    }
    kept = {}
    for name, operation in operations.items():
        with saved_bytes() as saved:
            y = operation()
        kept[name] = saved.now
        del y
    return kept


# %% [markdown] tags=["en"]
# ### `predict_saved`
#
# In place of each `...` put the bytes that `bytes_kept()` returns. Arithmetic such as `64 * 256 * 4` is fine. A tensor counts even if it would be alive anyway, as `x` or `W`; a plain number such as the 2 in `x * 2` does not.
# %% [markdown] tags=["ru"] of="e9ba5de4"
# ### `predict_saved`
#
# Вместо каждого `...` поставьте число байтов, которое вернёт `bytes_kept()`. Можно написать и выражение вроде `64 * 256 * 4`. Тензор учитывается, даже если он и без графа остался бы в памяти, как `x` или `W`. Обычное число, например 2 в `x * 2`, не учитывается.
# %% answer="predict_saved"
predict_saved = {
    "x.relu()": 65536,
    "x * 2": 0,
    "x * x": 65536,
    "torch.where(x > 0.5, x, 0.0)": 16384,
    "x[:2].sin()": 65536,
    "x @ W": 327680,
    "x @ frozen": 262144,
}
# %% given="predict_saved"
predict_saved = {
    "x.relu()": ...,
    "x * 2": ...,
    "x * x": ...,
    "torch.where(x > 0.5, x, 0.0)": ...,
    "x[:2].sin()": ...,
    "x @ W": ...,
    "x @ frozen": ...,
}
# %% check="predict_saved"
from autograder import check

check("predict_saved")
# %% tags=["fact"]
assert predict_saved == bytes_kept()
# %% [markdown] tags=["en"]
# Now call `bytes_kept()`.
# %% [markdown] tags=["ru"] of="a7b403e7"
# А теперь вызовите `bytes_kept()`.
# %%
bytes_kept()
# %% [markdown] tags=["en"] explains="predict_saved"
# Two lines deserve a second look, and one that the table does not have.
#
# * A saved tensor that is in memory anyway costs nothing more: for `sin` that is `x` if the caller keeps it, for `relu` the result. In a chain such as `x.sin().sin()` it comes to one tensor per operation for either, since each result is the next input.
# * `x[:2].sin()` keeps all 64 rows alive. Ten numbers cut from a million keep four megabytes.
# * Written by hand, `x * x.sigmoid()` keeps two tensors. `torch.nn.functional.silu(x)`, the same function, keeps one.
# %% [markdown] tags=["ru"] explains="predict_saved" of="e3a000d2"
# К двум строкам стоит вернуться, а потом добавим случай, которого в таблице нет.
#
# * Если сохранённый тензор остаётся в памяти и без графа, дополнительной памяти он не требует: для `sin` это вход `x`, для `relu` — результат. А в цепочке синусов, такой как `x.sin().sin()`, или в цепочке ReLU на каждую операцию приходится один тензор: результат каждой операции служит входом следующей.
# * Из-за `x[:2].sin()` в памяти остаются все 64 строки. Десять чисел, взятых срезом из миллиона, не дают освободить четыре мегабайта.
# * Для написанного вручную выражения `x * x.sigmoid()` хранятся два тензора, а для той же самой функции, вызванной как `torch.nn.functional.silu(x)`, — один.
# %% tags=["fact"]
activation = torch.rand(64, 256, requires_grad=True).clone()
for silu, size in ((torch.nn.functional.silu, 65536), (lambda t: t * t.sigmoid(), 131072)):
    with saved_bytes() as saved:
        y = silu(activation)
    assert saved.now == size
million = torch.rand(1_000_000, requires_grad=True).clone()
with saved_bytes() as saved:
    y = million[:10].sin()
assert saved.now == 4_000_000
for chain in (lambda t: t.sin().sin().sin(), lambda t: t.relu().relu().relu()):
    with saved_bytes() as saved:
        y = chain(activation)
    assert saved.now == 3 * 65536
# %% [markdown] tags=["en"]
# The picture shows the last of these; what a node saved is in brown. By hand it is `x` and the result of the sigmoid, 65,536 bytes each. Two nodes save that result, and it counts once. `silu` saves `x`, which is counted already, and nothing more.
# %% [markdown] tags=["ru"] of="915125f6"
# На рисунке показан последний из этих случаев. То, что сохранено в узлах, выделено коричневым. В выражении, написанном вручную, это `x` и результат сигмоиды, по 65 536 байт каждый. Результат сигмоиды сохранён в двух узлах, но учтён один раз. Функция `silu` сохраняет только `x`, а он на этом рисунке уже учтён.
# %% tags=["picture"]
from autograder import draw

x = torch.rand(64, 256, requires_grad=True).clone()
by_hand = x * x.sigmoid()
silu = torch.nn.functional.silu(x)
draw(by_hand, silu, saved=True)


# %% [markdown] tags=["en"]
# ## Keeping nothing at all: checkpoints
#
# Sixteen layers keep sixteen results. Need they? A *checkpoint* keeps the input of a segment of layers and nothing from inside. When backward arrives there, the segment runs forward once more, now with a graph. Memory is paid for with a second forward pass. `checkpoint(function, x, use_reentrant=False)` does it for any function; always pass the last argument, since the old variant, `use_reentrant=True`, gives the weights no gradient when `x` requires none.
#
# Before you place any, look at two numbers for 16 layers of 64 × 64, with 256 samples: what is kept after the forward pass, and the peak of forward and backward together.
# %% [markdown] tags=["ru"] of="712513f6"
# ## Можно вовсе не хранить: контрольные точки
#
# Шестнадцать слоёв хранят шестнадцать результатов. Но промежуточный результат можно и не хранить, а вычислить ещё раз, когда он понадобится. Так устроен *чекпоинтинг активаций* (activation checkpointing; с чекпоинтами, в которых сохраняют веса, у него общее только название). Сеть делят на сегменты по нескольку слоёв подряд, и хранится только вход каждого сегмента — *контрольная точка*. Когда обратный проход доходит до сегмента, прямой проход по этим слоям выполняется ещё раз, теперь с графом. За память мы платим вторым прямым проходом. Вызов `checkpoint(function, x, use_reentrant=False)` делает это с любой функцией. Последний аргумент указывайте всегда: в старом (реентерабельном) варианте, `use_reentrant=True`, веса не получают градиента, если `x` его не требует.
#
# Прежде чем расставлять точки, посмотрим на сеть из 16 слоёв 64 × 64 и на 256 примеров. Нас интересуют два числа: сколько байтов хранится после прямого прохода и каков пик за оба прохода, прямой и обратный.
# %%
net = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh()) for _ in range(16)])
data = torch.ones(256, 64)


def plain(x):
    return net(x)


def every_layer(x):
    for layer in net:
        x = checkpoint(layer, x, use_reentrant=False)
    return x


def memory(run):
    """Bytes kept after the forward pass, and the peak of both passes."""
    net.zero_grad()
    with live_bytes() as live:
        loss = run(data).sum()
        kept = live.now
        loss.backward()
    return kept, live.peak


for run in (plain, every_layer):
    kept, peak = memory(run)
    print(f"{run.__name__:12} kept {kept:9,}  peak {peak:9,}")
# %% [markdown] tags=["en"]
# One activation is 65,536 bytes. With a checkpoint at every layer, the 15 activations between the layers are kept, one less than there are layers. And the two peaks are the same to the byte. Why? Look where each curve reaches its peak.
# %% [markdown] tags=["ru"] of="f1cd6933"
# Одна активация занимает 65 536 байт. Если контрольная точка стоит у каждого слоя, хранятся 15 активаций на границах между слоями — на одну меньше, чем слоёв: вход первого слоя — сами данные, он не сосчитан. А оба пика совпадают с точностью до байта. Почему? Посмотрите, где каждая кривая достигает пика.
# %% tags=["picture"]
from autograder import plot_memory

plot_memory(data, plain, every_layer)


# %% [markdown] tags=["en"]
# ### `hide_saved`
#
# **Write a function that keeps nothing after the forward pass and saves no memory all the same: its peak is that of all layers.**
#
# Somebody reports: "after the forward pass my network keeps nothing but its result, so it needs less memory." Write a function that shows the flaw.
#
# * **Given.** `layers`, a list of modules, each of which keeps the shape of its input. `x`, the input.
# * **Result.** The output of the layers, with the right gradients. <!-- gradients -->
# * **Result.** After the forward pass of 16 layers it keeps only its result (and `x`). <!-- kept -->
# * **Result.** Its peak is 16 times the size of `x` or more. <!-- peak -->
# * **Result.** That peak comes from the layers in backward: the forward pass alone needs at most 4 times the size of `x`. <!-- forward -->
# * **Result.** Each layer is called exactly twice: in the forward pass and in one recomputation. <!-- calls -->
# %% [markdown] tags=["ru"] of="fad206e2"
# ### `hide_saved`
#
# **Напишите функцию, которая после прямого прохода не хранит ничего, но памяти не экономит: её пик такой же, как у всех слоёв вместе.**
#
# Вам пишут: «После прямого прохода моя сеть хранит только результат, значит, памяти ей нужно меньше». Напишите функцию, которая показывает, в чём ошибка этого рассуждения.
#
# * **Дано.** Список `layers` из модулей, каждый из которых не меняет форму своего входа, и вход `x`.
# * **Результат.** Выход последнего слоя; градиенты получаются верные. <!-- gradients -->
# * **Результат.** После прямого прохода по 16 слоям функция хранит только результат (и `x`). <!-- kept -->
# * **Результат.** Её пик не меньше 16 размеров `x`. <!-- peak -->
# * **Результат.** Этот пик возникает в самих слоях при обратном проходе: прямому проходу без обратного хватает 4 размеров `x`. <!-- forward -->
# * **Результат.** Каждый слой вызывается ровно дважды: в прямом проходе и при повторном вычислении. <!-- calls -->
# %% answer="hide_saved"
def hide_saved(layers, x):
    """The output of `layers`: nothing is kept after the forward pass, and the peak is not lower."""
    ### BEGIN SOLUTION
    return checkpoint(torch.nn.Sequential(*layers), x, use_reentrant=False)
    ### END SOLUTION


# %% alternative="hide_saved"
def hide_saved(layers, x):
    def run(h):
        for layer in layers:
            h = layer(h)
        return h

    return checkpoint(run, x, use_reentrant=False, preserve_rng_state=False)


# %% alternative="hide_saved"
def hide_saved(layers, x):
    from torch.utils.checkpoint import checkpoint_sequential

    return checkpoint(lambda h: checkpoint_sequential(layers, 1, h, use_reentrant=False), x, use_reentrant=False)


# %% alternative="hide_saved"
class _Whole(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x, *parameters):
        ctx.run, ctx.x, ctx.parameters = run, x, parameters
        return run(x)

    @staticmethod
    def backward(ctx, gradient):
        with torch.enable_grad():
            x = ctx.x.detach().requires_grad_()
            y = ctx.run(x)
        return None, *torch.autograd.grad(y, (x, *ctx.parameters), gradient)


def hide_saved(layers, x):
    run = torch.nn.Sequential(*layers)
    return _Whole.apply(run, x, *run.parameters())


# %% check="hide_saved"
from autograder import check

check("hide_saved")


# %% [markdown] tags=["en"] explains="hide_saved"
# One checkpoint around everything keeps nothing but the loss (single numbers are not counted), and the peak is what it was.
# %% [markdown] tags=["ru"] explains="hide_saved" of="809f7829"
# Если контрольная точка одна на всю сеть, не хранится ничего, кроме значения функции потерь (одиночные числа не в счёт), а пик остаётся прежним.
# %%
def everything(x):
    return checkpoint(net, x, use_reentrant=False)


# %% tags=["picture"]
plot_memory(data, plain, every_layer, everything)
# %% [markdown] tags=["en", "try"]
# The three peaks are equal. With one checkpoint, in which pass is the peak, and what lies in memory there? Find it in the curves.
#
# With one checkpoint memory is empty when backward begins; then all 16 layers are recomputed at once, and the peak has only moved to the right. "Bytes saved after the forward pass" is a number that can be made 0 without any gain. Measure the peak.
# %% [markdown] tags=["ru", "try"] of="525111bf"
# Три пика равны. В каком из проходов достигается пик, если контрольная точка одна, и что в этот момент занимает память? Найдите это на кривых.
#
# При одной контрольной точке к началу обратного прохода память пуста, но затем повторно вычисляются сразу все 16 слоёв, и пик лишь сдвигается вправо. «Байты, сохранённые после прямого прохода» — это число, которое можно довести до нуля без всякой пользы. Измеряйте пик.
# %% tags=["fact"]
measured = {run.__name__: memory(run) for run in (plain, every_layer, everything)}
assert measured["plain"][0] == 16 * 65_536
assert measured["every_layer"][0] == 15 * 65_536
assert measured["everything"][0] == 0
assert len({peak for _, peak in measured.values()}) == 1
one = torch.ones(2, 64)
net.zero_grad()
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    old = checkpoint(net, one, use_reentrant=True)
assert not old.requires_grad


# %% [markdown] tags=["en"]
# ## Checkpoints that lower the peak
#
# A checkpoint at every layer left the peak as it was, and so did one around everything. The best choice is somewhere in between. With $k$ segments of $s$ layers, about $k$ activations at the borders of segments are in memory together with about $s$ results inside one segment. For the 16 layers from above in four segments of four that is about 4 + 4 instead of 16. Measured, the peak falls from 17 activations to 9.
# %% [markdown] tags=["ru"] of="d10e3f59"
# ## Контрольные точки, которые снижают пик
#
# Контрольные точки у каждого слоя не изменили пик, одна точка на всю сеть — тоже. Лучший вариант — где-то посередине. При $k$ сегментах по $s$ слоёв в памяти одновременно лежат около $k$ активаций на границах сегментов и около $s$ результатов внутри одного сегмента. Для тех же 16 слоёв при четырёх сегментах по четыре слоя это примерно 4 + 4 вместо 16. Измеренный пик снижается с 17 активаций до 9.
# %% tags=["fact"]
segments = [net[first : first + 4] for first in range(0, 16, 4)]


def in_fours(x):
    for segment in segments:
        x = checkpoint(segment, x, use_reentrant=False)
    return x


assert [peak // 65536 for _, peak in map(memory, (plain, in_fours))] == [17, 9]


# %% [markdown] tags=["en"]
# ### `checkpointed`
#
# **Run the layers one after the other, with a peak of about $2\sqrt{L}$ tensors and at most two calls of each layer.**
#
# * **Given.** `layers`, a list of $L$ modules, each of which keeps the shape of its input and may draw random numbers in training, as dropout does. `x`, the input, which may or may not require grad.
# * **Result.** The output of the layers, run one after the other. Output and gradients (of the layers' parameters, and of `x` if it requires grad) are those without checkpoints. <!-- gradients -->
# * **Not allowed.** More than $(2\sqrt{L} + 3.5)\cdot$ the bytes of `x` in memory at any moment of forward and backward, the output and the gradients included; `x` and parameters do not count. It is tried on 7, 35 and 120 layers that save one tensor each. Of the 3.5 about two are for the gradients on their way, the rest for a depth that is no square number. <!-- peak -->
# * **Not allowed.** More than two calls of a layer, forward pass and recomputation together. <!-- calls -->
# * **Not allowed.** To leave anything but gradients in memory after backward. <!-- left -->
# %% [markdown] tags=["ru"] of="219556d9"
# ### `checkpointed`
#
# **Выполните слои один за другим так, чтобы пик был около $2\sqrt{L}$ тензоров, а каждый слой вызывался не больше двух раз.**
#
# * **Дано.** Список `layers` из $L$ модулей, каждый из которых не меняет форму своего входа и при обучении может использовать случайные числа, как dropout. Вход `x`, который может требовать градиента, а может и не требовать.
# * **Результат.** Выход слоёв, выполненных один за другим. Выход и градиенты (параметров слоёв, а также `x`, если он требует градиента) такие же, как без контрольных точек. <!-- gradients -->
# * **Нельзя.** Держать в памяти в какой-либо момент прямого и обратного проходов больше $(2\sqrt{L} + 3.5)\cdot$ (размер `x` в байтах) вместе с выходом и градиентами, но без самого `x` и параметров. Проверяется на 7, 35 и 120 слоях, каждый из которых сохраняет один тензор. Из этих 3.5 около двух приходится на градиенты, которые в момент пика передаются между слоями, остальное — запас на случай, если число слоёв не точный квадрат. <!-- peak -->
# * **Нельзя.** Вызывать слой больше двух раз, считая и прямой проход, и повторное вычисление. <!-- calls -->
# * **Нельзя.** Оставлять в памяти после обратного прохода что-либо, кроме градиентов. <!-- left -->
# %% answer="checkpointed"
def checkpointed(layers, x):
    """Run `layers` in a row, with a peak that grows like the root of their number."""
    ### BEGIN SOLUTION
    size = max(1, round(len(layers) ** 0.5))
    for start in range(0, len(layers), size):
        segment = torch.nn.Sequential(*layers[start : start + size])
        x = checkpoint(segment, x, use_reentrant=False)
    return x
    ### END SOLUTION


# %% alternative="checkpointed"
def checkpointed(layers, x):
    from math import isqrt

    from torch.utils.checkpoint import checkpoint_sequential

    return checkpoint_sequential(layers, max(1, isqrt(len(layers))), x, use_reentrant=False)


# %% alternative="checkpointed"
def checkpointed(layers, x):
    def run(h, *part):
        for layer in part:
            h = layer(h)
        return h

    size = -(-len(layers) // max(1, int(len(layers) ** 0.5)))
    while len(layers) > 0:
        x = checkpoint(run, x, *layers[:size], use_reentrant=False)
        layers = layers[size:]
    return x


# %% alternative="checkpointed"
class _Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x, *parameters):
        ctx.run, ctx.parameters, ctx.random = run, parameters, torch.get_rng_state()
        ctx.save_for_backward(x)
        return run(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.random)
            x = x.detach().requires_grad_()
            y = ctx.run(x)
        return None, *torch.autograd.grad(y, (x, *ctx.parameters), gradient)


def checkpointed(layers, x):
    size = max(1, int(len(layers) ** 0.5))
    for start in range(0, len(layers), size):
        run = torch.nn.Sequential(*layers[start : start + size])
        x = _Segment.apply(run, x, *run.parameters())
    return x


# %% check="checkpointed"
from autograder import check

check("checkpointed")


# %% [markdown] tags=["en"]
# How long should a segment be? The cell takes 36 layers and tries twelve lengths, from 1 to 36. Before you run it: where do you expect the lowest peak, and how high are the two ends?
# %% [markdown] tags=["ru"] of="92f5623e"
# Какой длины должен быть сегмент? В ячейке взяты 36 слоёв и двенадцать длин, от 1 до 36. Прежде чем выполнить её, подумайте, где пик окажется самым низким и каким он будет на обоих концах.
# %% tags=["picture"] alt="The peak over the size of a segment: high at both ends, low near 6 | Пик в зависимости от длины сегмента: высокий на обоих краях, низкий около 6"
import math

import matplotlib.pyplot as plt


def peak_of(size, count=36):
    x = torch.zeros(64, 64, requires_grad=True)
    with live_bytes() as live:
        h = x
        for start in range(0, count, size):
            segment = torch.nn.Sequential(*[torch.nn.Tanh() for _ in range(start, min(start + size, count))])
            h = checkpoint(segment, h, use_reentrant=False)
        h.sum().backward()
    return live.peak / (64 * 64 * 4)


sizes = [1, 2, 3, 4, 5, 6, 8, 9, 12, 18, 24, 36]
plt.figure(figsize=(6, 3))
plt.plot(sizes, [peak_of(size) for size in sizes], "o-")
plt.xlabel("size")
plt.ylabel("peak_of(size)")
plt.ylim(bottom=0)
plt.show()


# %% [markdown] tags=["en", "try"]
# At which `size` is the peak lowest? And why are both ends equally high: what is kept on the left, and what on the right?
#
# Along the bottom is `size`, the number of layers in a segment; the peak is counted in activations. The curve is flat near its minimum, at about the root of the number of layers, and as high as ever at both ends. On the left the activations at all borders are kept, on the right all results of the one segment.
# %% [markdown] tags=["ru", "try"] of="c4993e17"
# При каком `size` пик самый низкий? И почему оба края одинаково высоки: что хранится слева, а что справа?
#
# По горизонтали отложено `size`, число слоёв в сегменте. Пик измерен в активациях. Около минимума (там, где длина сегмента близка к корню из числа слоёв) кривая пологая, а на обоих концах пик такой же, как без контрольных точек. Слева хранятся активации на всех границах, справа — все результаты единственного сегмента.
# %% [markdown] tags=["en"]
# ## A pair of hooks
#
# `saved_tensors_hooks(pack, unpack)` is a context manager. Inside the `with`, whenever an operation saves a tensor, it calls `pack(t)` and keeps whatever comes back: a tensor, a tuple, a file name. When backward needs the tensor, it calls `unpack` on that, and computes with the result. The cell prints when each of them is called.
# %% [markdown] tags=["ru"] of="89769e30"
# ## Пара хуков
#
# `saved_tensors_hooks(pack, unpack)` — это контекстный менеджер. Когда операция внутри `with` сохраняет тензор, она вызывает `pack(t)` (упаковку) и хранит то, что получила от этой функции: тензор, кортеж, имя файла. Когда обратный проход доходит до этого тензора, сохранённое передаётся в `unpack` (распаковку), и дальше вычисления идут с её результатом. Ячейка показывает, когда вызывается каждый из двух хуков.
# %%
def pack(t):
    print("pack  ", t.tolist())
    return t.detach()


def unpack(packed):
    print("unpack", packed.tolist())
    return packed


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
with saved_tensors_hooks(pack, unpack):
    y = x.sin()
print("the forward pass is over")
y.sum().backward()


# %% [markdown] tags=["en"]
# What is kept need not be a tensor. In the next cell it is a pair: the shape, and the numbers as a list of Python. `unpack` makes a tensor of both.
# %% [markdown] tags=["ru"] of="3adf28e8"
# Хранить можно не только тензор. В следующей ячейке это пара: форма и обычный список чисел. Функция `unpack` собирает из них тензор.
# %%
def pack_as_pair(t):
    return t.shape, t.flatten().tolist()


def unpack_pair(pair):
    shape, numbers = pair
    return torch.tensor(numbers).reshape(shape)


x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
with saved_tensors_hooks(pack_as_pair, unpack_pair):
    y = x.square()
y.sum().backward()
print(x.grad)
# %% tags=["fact"]
assert x.grad.tolist() == [[2, 4], [6, 8]]


# %% [markdown] tags=["en"]
# When are they called, and how often? `packs` counts the calls of `pack` while it runs `action`. An operation that saves nothing packs nothing, and without a graph nothing is saved.
# %% [markdown] tags=["ru"] of="6711e310"
# А сколько раз вызывается каждый из хуков? Функция `packs` считает, сколько раз вызван `pack`, пока выполняется `action`. Если операция ничего не сохраняет, упаковывать нечего, а без графа ничего и не сохраняется.
# %%
calls = []
counting = saved_tensors_hooks(lambda t: calls.append("pack") or t.detach(), lambda t: calls.append("unpack") or t)


def packs(action):
    calls.clear()
    with counting:
        action()
    return calls.count("pack")


x = torch.ones(3, requires_grad=True)
print("x.exp():              ", packs(lambda: x.exp()))
print("x + 1:                ", packs(lambda: x + 1))
print("x.exp() under no_grad:", packs(torch.no_grad()(lambda: x.exp())))
# %% tags=["fact"]
assert packs(lambda: x.exp()) == 1
assert packs(lambda: x + 1) == packs(torch.no_grad()(lambda: x.exp())) == 0


# %% [markdown] tags=["en"]
# ## Half precision
#
# A float16 number takes two bytes. The relative error of numbers from $6.2 \cdot 10^{-5}$ to 65,504 is at most 1/2048, about 0.0005, and so small an error of the saved numbers changes a gradient little. The forward pass stays exact: only the copy in the graph is rounded.
#
# Three limits come with it. Whole numbers are exact only up to 2048, so an index that is saved for backward must not be packed like this. Numbers from 65,520 on become infinite. Numbers below $6 \cdot 10^{-5}$ lose precision, and below $2.9 \cdot 10^{-8}$ they become zero.
# %% [markdown] tags=["ru"] of="9fc935fc"
# ## Половинная точность
#
# Число float16 занимает два байта. Для чисел от $6.2 \cdot 10^{-5}$ до 65 504 относительная погрешность округления не больше 1/2048, то есть около 0.0005, и такая погрешность сохранённых чисел почти не меняет градиент. Прямой проход остаётся точным: округляется только копия в графе.
#
# Есть три ограничения. Целые числа хранятся точно лишь до 2048, поэтому индекс, сохранённый для обратного прохода, так упаковывать нельзя. Если модуль числа не меньше 65 520, оно превращается в бесконечность. Если модуль меньше $6 \cdot 10^{-5}$, теряется точность, а если меньше $2.9 \cdot 10^{-8}$, число превращается в ноль.
# %%
print("rounded: ", torch.tensor(1 / 3).half().float().item())
print("an index:", torch.tensor(2051).half().long().item())
print("too big: ", torch.tensor(70000.0).half().item())
# %% [markdown] tags=["en", "try"]
# What will `half()` make of 2049, of 65519.0 and of 1e-8? Say three numbers, then print them.
#
# 2048, 65504 and 0: rounded to an even neighbour, to the largest number there is, and to nothing.
# %% [markdown] tags=["ru", "try"] of="895b8569"
# Что сделает `half()` с числами 2049, 65519.0 и 1e-8? Сначала назовите три числа, потом напечатайте их.
#
# 2048, 65504 и 0: первое округлилось до соседнего чётного, второе — до самого большого числа, а от третьего ничего не осталось.
# %% tags=["fact"]
assert [torch.tensor(number).half().item() for number in (2049.0, 65519.0, 1e-8)] == [2048, 65504, 0]
# %% tags=["fact"]
assert torch.tensor(2051).half().long().item() == 2052
assert all(torch.tensor(n).half().long().item() == n for n in (1, 777, 2047, 2048))
assert torch.tensor(70000.0).half().item() == float("inf") and torch.finfo(torch.float16).max == 65504
sample = torch.logspace(-4.21, 4.8163, 10_001, dtype=torch.float64)  # from 6.2e-5 to 65 500
assert ((sample.half().double() - sample) / sample).abs().max() <= 1 / 2048
assert torch.tensor([65519.0, 65520.0]).half().isinf().tolist() == [False, True]
below = torch.tensor([2.9e-8, 3.1e-8, 2e-7], dtype=torch.float64)
assert below.half().double().tolist()[0] == 0 != below.half().double().tolist()[1]
assert abs(below.half().double()[2] - below[2]) / below[2] > 0.01


# %% [markdown] tags=["en"]
# ### `save_in_half`
#
# **Return `f(x)` whose graph keeps every float32 and float64 tensor in half the bytes or less, and gives it back in its own dtype.**
#
# * **Given.** `f`, a function of one tensor, and `x`, a leaf that requires grad.
# * **Result.** `f(x)`, in its dtype and with its exact numbers. `f` is called once, and the hooks are off when your function returns. <!-- result -->
# * **Result.** While its graph lives, every saved float32 or float64 tensor is kept as float16, of any size and whether or not it requires grad. <!-- bytes -->
# * **Result.** Backward gets it in its own dtype. All other saved tensors (indices, masks, bfloat16, float16 itself) are kept as they are, without a copy. <!-- gradient -->
# * **Result.** All memory is freed when the result is dropped without a backward pass: what your `pack` keeps must not hold the graph. Keep `t.detach()` rather than `t`. (A new tensor such as `t.half()` of a float32 holds no graph: `pack` runs without gradients.) <!-- left -->
# %% [markdown] tags=["ru"] of="d8ed7847"
# ### `save_in_half`
#
# **Верните `f(x)` с графом, который хранит каждый тензор float32 и float64 не более чем в половине исходных байтов, а при обратном проходе отдаёт его в исходном dtype.**
#
# * **Дано.** Функция `f` от одного тензора и лист `x`, который требует градиента.
# * **Результат.** `f(x)`, с прежним dtype и в точности теми же числами. Функция `f` вызывается один раз, а после возврата из вашей функции хуки выключены. <!-- result -->
# * **Результат.** Пока граф существует, каждый сохранённый тензор float32 или float64 хранится как float16, каким бы ни был его размер и даже если он не требует градиента. <!-- bytes -->
# * **Результат.** Обратный проход получает каждый такой тензор в исходном dtype. Все остальные сохранённые тензоры (индексы, маски, тензоры bfloat16 и float16) хранятся как есть, без копии. <!-- gradient -->
# * **Результат.** Если результат отброшен без обратного прохода, вся память освобождается: то, что вернул ваш `pack`, не должно удерживать граф. Храните `t.detach()`, а не `t`. (Новый тензор, например `t.half()` для тензора float32, граф не удерживает: внутри `pack` отслеживание вычислений выключено.) <!-- left -->
# %% answer="save_in_half"
def save_in_half(f, x):
    """Compute `f(x)` with a graph that keeps float32 and float64 tensors as float16."""
    ### BEGIN SOLUTION

    def pack(t):
        kept = t.detach()
        return kept.half() if t.dtype in (torch.float32, torch.float64) else kept, t.dtype

    def unpack(packed):
        kept, dtype = packed
        return kept.to(dtype)

    with saved_tensors_hooks(pack, unpack):
        return f(x)
    ### END SOLUTION


# %% alternative="save_in_half"
def save_in_half(f, x):
    def pack(t):
        if t.dtype == torch.float32 or t.dtype == torch.float64:
            return t.dtype, t.to(torch.float16)
        return t.detach()

    def unpack(packed):
        return packed if isinstance(packed, torch.Tensor) else packed[1].to(packed[0])

    with saved_tensors_hooks(pack, unpack):
        y = f(x)
    return y


# %% alternative="save_in_half"
class _Half:
    def __init__(self, t):
        self.dtype, self.t = t.dtype, t.detach()
        if t.is_floating_point() and t.element_size() > 2:
            self.t = self.t.half()


def save_in_half(f, x):
    hooks = torch.autograd.graph.saved_tensors_hooks(_Half, lambda box: box.t.type(box.dtype))
    with hooks:
        return f(x)


# %% alternative="save_in_half"
def save_in_half(f, x):
    class InHalf(saved_tensors_hooks):
        def __init__(self):
            super().__init__(self.pack, self.unpack)

        @staticmethod
        def pack(t):
            if t.dtype in (torch.float32, torch.float64):
                return t.cpu().detach().numpy().astype("float16"), t.dtype
            return t.data, None

        @staticmethod
        def unpack(packed):
            array, dtype = packed
            return array if dtype is None else torch.from_numpy(array).to(dtype)

    with InHalf():
        return f(x)


# %% check="save_in_half"
from autograder import check

check("save_in_half")


# %% [markdown] tags=["en"]
# What does the rounding cost? Take sixteen operations in a row, each with a saved tensor that was rounded. The relative error of the gradient is about that of one rounding, a few parts in ten thousand. (Before you have done the exercise, the cell says so.)
# %% [markdown] tags=["ru"] of="0d2b5ef6"
# К какой погрешности приводит округление? Возьмём шестнадцать операций подряд. Сохранённый тензор в каждой из них округляется. Относительная погрешность градиента примерно такая же, как от одного округления: несколько десятитысячных. (Если упражнение ещё не сделано, ячейка об этом сообщит.)
# %%
def long_chain(x):
    for _ in range(16):
        x = x + x.sin() / 4
    return x


x = torch.linspace(0.5, 2, 1000, requires_grad=True)
(exact,) = torch.autograd.grad(long_chain(x).sum(), x)
try:
    (rounded,) = torch.autograd.grad(save_in_half(long_chain, x).sum(), x)
    print(f"relative error {((rounded - exact).norm() / exact.norm()).item():.1e}")
except NotImplementedError:
    print("save_in_half is still to be written")
# %% tags=["fact"]
assert 5e-5 < (rounded - exact).norm() / exact.norm() < 1e-3


# %% [markdown] tags=["en"]
# And what does it bring? For this chain nearly half of the bytes. And for a network? Look at `Linear` and `Tanh`: the plot counts what each layer makes and the graph holds. (It, too, needs the exercise.)
# %% [markdown] tags=["ru"] of="2dec64d0"
# А много ли мы экономим? Для этой цепочки — почти половину байтов. А для сети? Посмотрите на `Linear` и `Tanh`: на графике показано, сколько байтов появилось в каждом слое и осталось в памяти из-за графа. (Эта ячейка тоже заработает только после упражнения.)
# %% tags=["picture"]
from autograder import plot_saved

two_layers = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh())
samples = torch.ones(256, 64, requires_grad=True)


def in_float32(x):
    return two_layers(x)


def in_half(x):
    return save_in_half(two_layers, x)


plot_saved(two_layers, samples, in_float32, in_half)
# %% [markdown] tags=["en", "try"]
# Which of the two totals is smaller, and why is the other not half of it? Say it, looking at what `Tanh` makes and the next `Linear` keeps.
#
# Half precision costs more here, 147,456 bytes instead of 131,072. Without hooks the result of a `Tanh` is one storage, which the `Tanh` and the next `Linear` share. `pack` is called for each of them and makes two copies of half the size. The copies of the input and of the weights come on top, and both were in memory anyway.
# %% [markdown] tags=["ru", "try"] of="849f2637"
# Какая из двух сумм меньше и почему вторая не вдвое меньше первой? Ответьте, посмотрев, что получается после `Tanh` и что хранит следующий `Linear`.
#
# С половинной точностью памяти здесь уходит больше — 147 456 байт вместо 131 072. Без хуков результат слоя `Tanh` — это одно хранилище, общее для `Tanh` и следующего `Linear`. А с хуками функция `pack` вызывается для каждого из них, и получаются две копии половинного размера. К ним добавляются копии входа и весов, хотя сами вход и веса и так лежат в памяти.
# %% tags=["fact"]
layered = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh())
rows = torch.ones(256, 64, requires_grad=True)
with live_bytes() as live:
    y = layered(rows)
    assert live.now == 2 * 65_536  # the result among them
with live_bytes() as live:
    y = save_in_half(layered, rows)
    halves = 2 * 65_536 // 2 + 65_536 // 2  # results by the Tanh; the one between by the second Linear
    assert live.now - 65_536 == halves + 65_536 // 2 + 2 * 64 * 64 * 2 == 147_456  # the input and both weights on top
x = torch.linspace(0.5, 2, 1000, requires_grad=True)
with live_bytes() as live:
    y = long_chain(x)
    assert live.now - 4000 == 15 * 4000  # beside the result; x itself is saved, too, and does not count
with live_bytes() as live:
    y = save_in_half(long_chain, x)
    assert live.now - 4000 == 16 * 2000


# %% [markdown] tags=["en"]
# ## What to keep
#
# * An operation saves what its derivative needs: its input, its result, both, a mask or nothing. Count storages, each once and whole.
# * `pack` runs once per save, in the forward pass, in the thread of the `with`, in the innermost pair. Parameters, indices and masks pass through it as well.
# * Never return `t` itself from `pack`: return `t.detach()` or a copy without a graph. Clone before you write a slice.
# * Checkpoints: about $\sqrt{L}$ segments. Judge them by the peak; the bytes kept after the forward pass can be 0 for nothing.
#
# From the extra sections:
#
# * Hooks are trusted: `unpack` must return a tensor, but neither contents, dtype nor changes in place are checked.
# * Recomputation repeats every side effect.
# %% [markdown] tags=["ru"] of="1b82c930"
# ## Что стоит запомнить
#
# * Операция сохраняет то, что нужно для её производной: вход, результат, то и другое, маску или ничего. Считайте хранилища, каждое один раз и целиком.
# * `pack` вызывается один раз на каждое сохранение: в прямом проходе, в том потоке выполнения, в котором выполняется блок `with`, и только у самой внутренней пары. Через него проходят и параметры, и индексы, и маски.
# * Никогда не возвращайте из `pack` сам `t`: возвращайте `t.detach()` или копию без графа. Перед записью среза в файл сделайте его копию.
# * Контрольные точки: около $\sqrt{L}$ сегментов. Оценивайте их по пику: число байтов, которые хранятся после прямого прохода, можно довести до нуля без всякой пользы.
#
# Из дополнительных разделов:
#
# * Хукам верят на слово: `unpack` должен вернуть тензор, но ни содержимое, ни dtype, ни изменения на месте не проверяются.
# * При повторном вычислении повторяются и все побочные эффекты.
# %% [markdown] tags=["en"]
# ## A second forward pass is a second forward pass
#
# Whatever a layer does besides its result, it does twice inside a checkpoint. `BatchNorm` updates its running mean in training: once in the forward pass and once in the recomputation. Dropout is safe, because `checkpoint` puts the random state back before it recomputes.
# %% [markdown] tags=["ru"] of="8bd8eda5"
# ## Второй прямой проход повторяет всё
#
# Если слой делает что-то помимо вычисления результата, внутри контрольной точки он сделает это дважды. Слой `BatchNorm` при обучении обновляет скользящее среднее (running mean): один раз в прямом проходе, второй — при повторном вычислении. С dropout всё в порядке: перед повторным вычислением функция `checkpoint` восстанавливает состояние генератора случайных чисел.
# %%
batch = torch.tensor([[1.0], [3.0]], requires_grad=True)
for name, run in (
    ("plain", lambda norm: norm(batch)),
    ("checkpoint", lambda norm: checkpoint(norm, batch, use_reentrant=False)),
):
    norm = torch.nn.BatchNorm1d(1)
    run(norm).sum().backward()
    print(f"{name:10} running mean {norm.running_mean.item():.2f}, batches {norm.num_batches_tracked.item()}")
# %% tags=["fact"]
assert round(norm.running_mean.item(), 4) == 0.38 and norm.num_batches_tracked.item() == 2
ones = torch.ones(1000, requires_grad=True)
dropped = checkpoint(torch.nn.Dropout(0.5), ones, use_reentrant=False)
dropped.sum().backward()
assert torch.equal(dropped.detach(), ones.grad)


# %% [markdown] tags=["en"]
# ## To a file, and the small ones in memory
#
# The memory of a GPU is small, main memory is larger, a disk larger still. PyTorch has a ready pair that moves saved tensors from a GPU to main memory, `torch.autograd.graph.save_on_cpu()`. A pair for the disk you write yourself. The graph holds what `pack` returned for as long as it needs it. So return an object that deletes its file when the object itself is deleted; nothing else has to be kept track of.
# %% [markdown] tags=["ru"] of="1038647b"
# ## Большие тензоры — в файлах, малые — в памяти
#
# Видеопамяти мало, оперативной памяти больше, места на диске ещё больше. В PyTorch есть готовая пара, которая выгружает сохранённые тензоры из видеопамяти в оперативную, — `torch.autograd.graph.save_on_cpu()`. Пару для диска придётся написать самим. Граф хранит то, что вернул `pack`, пока это нужно для обратного прохода. Поэтому верните объект, который при своём удалении удаляет и файл. Больше ни за чем следить не придётся.
# %%
class SelfDeletingTempFile:
    def __init__(self):
        self.name = os.path.join(tempfile.gettempdir(), str(uuid.uuid4()))

    def __del__(self):
        if os.path.exists(self.name):
            os.remove(self.name)


# %% [markdown] tags=["en"]
# A file for ten numbers is wasteful: what `torch.save` writes around them takes more than a kilobyte. So the pair below has a threshold. On five numbers it works.
#
# ### `fix_threshold`
#
# **Large saved tensors are to lie in files until backward needs them, and nothing may be left. Something is left: mend it.**
#
# * **Result.** `f(x)`, with the gradient that there is without hooks, also in a second backward pass after `retain_graph=True`. <!-- gradient -->
# * **Result.** Saved tensors with fewer than `threshold` entries stay in memory. All others are written by `torch.save`, one file each in the folder for temporary files, and read when backward needs them. Their files are deleted when the graph goes. <!-- files -->
# * **Not allowed.** To keep them in memory, even after they were read, or any bytes when the result is dropped without a backward pass. <!-- left -->
# %% [markdown] tags=["ru"] of="07dd4518"
# Заводить файл ради десяти чисел расточительно: одни служебные данные `torch.save` занимают больше килобайта. Поэтому у пары хуков ниже есть порог. На пяти числах она работает.
#
# ### `fix_threshold`
#
# **Большие сохранённые тензоры должны лежать в файлах, пока не понадобятся обратному проходу, а потом от них не должно оставаться ничего. Но кое-что остаётся: исправьте функцию.**
#
# * **Результат.** `f(x)`; градиент такой же, как без хуков, в том числе при втором обратном проходе после `retain_graph=True`. <!-- gradient -->
# * **Результат.** Сохранённые тензоры, в которых меньше `threshold` элементов, остаются в памяти. Остальные записываются на диск с помощью `torch.save` в папку временных файлов, каждый в свой файл, и читаются, когда понадобятся обратному проходу. Их файлы удаляются вместе с графом. <!-- files -->
# * **Нельзя.** Держать записанные тензоры в памяти, даже после чтения, и оставлять что-либо в памяти, когда результат отброшен без обратного прохода. <!-- left -->
# %% answer="fix_threshold"
def fix_threshold(f, x, threshold):
    def pack_hook(x):
        if x.numel() < threshold:
            return x.detach()
        temp_file = SelfDeletingTempFile()
        torch.save(x, temp_file.name)
        return temp_file

    def unpack_hook(tensor_or_file):
        if isinstance(tensor_or_file, torch.Tensor):
            return tensor_or_file
        return torch.load(tensor_or_file.name)

    with saved_tensors_hooks(pack_hook, unpack_hook):
        return f(x)


# %% given="fix_threshold"
def fix_threshold(f, x, threshold):
    def pack_hook(x):
        if x.numel() < threshold:
            return x
        temp_file = SelfDeletingTempFile()
        torch.save(tensor, temp_file.name)
        return temp_file

    def unpack_hook(tensor_or_file):
        if isinstance(tensor_or_file, torch.Tensor):
            return tensor_or_file
        return torch.load(tensor_or_file.name)

    with saved_tensors_hooks(pack_hook, unpack_hook):
        return f(x)


# %% alternative="fix_threshold"
def fix_threshold(f, x, threshold):
    def pack_hook(x):
        x = x.detach().clone()
        if x.numel() >= threshold:
            temp_file = SelfDeletingTempFile()
            torch.save(x, temp_file.name)
            return temp_file
        return x

    with saved_tensors_hooks(
        pack_hook, lambda p: torch.load(p.name) if hasattr(p, "name") and not isinstance(p, torch.Tensor) else p
    ):
        y = f(x)
    return y


# %% alternative="fix_threshold"
def fix_threshold(f, x, threshold):
    def pack_hook(t):
        if t.numel() < threshold:
            return t.data
        temp_file = SelfDeletingTempFile()
        torch.save(t.data, temp_file.name)
        return temp_file

    def unpack_hook(packed):
        return torch.load(packed.name) if isinstance(packed, SelfDeletingTempFile) else packed

    with torch.autograd.graph.saved_tensors_hooks(pack_hook, unpack_hook):
        return f(x)


# %% alternative="fix_threshold"
def fix_threshold(f, x, threshold):
    class Packed:
        def __init__(self, t):
            self.file = self.tensor = None
            if t.numel() < threshold:
                self.tensor = t.view_as(t).detach()
            else:
                self.file = SelfDeletingTempFile()
                with open(self.file.name, "wb") as stream:
                    torch.save(t.detach(), stream)

        def read(self):
            return self.tensor if self.file is None else torch.load(self.file.name)

    with saved_tensors_hooks(Packed, Packed.read):
        return f(x)


# %% check="fix_threshold"
from autograder import check

check("fix_threshold")


# %% tags=["fact"]
def published(threshold, stay):
    def pack_hook(x):
        if x.numel() < threshold:
            return stay(x)
        torch.save(tensor, "/dev/null")

    return saved_tensors_hooks(pack_hook, lambda t: t)


start_of_leak = torch.ones(1000, requires_grad=True)
for stay, left in ((lambda t: t, 200_000), (torch.Tensor.detach, 0)):
    with live_bytes() as live:
        for _ in range(50):
            with published(10_000, stay):
                y = start_of_leak.exp()
        del y
    assert live.now == left
with published(1000, torch.Tensor.detach):
    torch.ones(5, requires_grad=True).pow(2)
    try:
        torch.ones(1000, requires_grad=True).pow(2)
    except NameError as error:
        assert str(error) == "name 'tensor' is not defined"
    else:
        raise AssertionError("the published line works")
# %% [markdown] tags=["en"]
# Apply `exp` to a thousand numbers 50 times, and throw every result away: with `return x` all 200,000 bytes are still there, and `gc.collect()` finds nothing. A backward pass would have freed them, which is why nobody noticed. It hurts in an evaluation without `no_grad()`. Rule: what `pack` returns must not be `t` itself.
#
# One more thing about hooks on every tensor. Without them `x`, `y.grad_fn._saved_self` and `y.grad_fn._saved_other` of `y = x * x` are one object. With them even a pair that does nothing makes new tensors, of the same storage.
# %% [markdown] tags=["ru"] of="4d721547"
# Применим `exp` к тысяче чисел 50 раз, каждый раз отбрасывая результат: при `return x` все 200 000 байт остаются в памяти, а `gc.collect()` ничего не находит. Обратный проход освободил бы их, поэтому утечку никто и не заметил. Заметнее всего она при валидации без `no_grad()`. Отсюда правило: функция `pack` не должна возвращать сам тензор `t`.
#
# Хуки меняют и ещё кое-что. Без них `x`, `y.grad_fn._saved_self` и `y.grad_fn._saved_other` для `y = x * x` — один и тот же объект. С хуками, даже если пара ничего не делает, появляются новые тензоры с тем же хранилищем.
# %% tags=["fact"]
x = torch.rand(5, requires_grad=True)
y = x * x
assert y.grad_fn._saved_self is x and y.grad_fn._saved_other is x
with saved_tensors_hooks(lambda t: t, lambda t: t):
    y = x * x
assert y.grad_fn._saved_self is not x and y.grad_fn._saved_other is not x
assert y.grad_fn._saved_self.data_ptr() == x.data_ptr()
# %% [markdown] tags=["en"]
# ## Which saves the hooks see
#
# You have seen when `pack` is called. The next function looks at corners: two saves in one operation, a thread, a pair inside a pair, a pass without a forward part. Read it; do not call it yet.
# %% [markdown] tags=["ru"] of="5ce9ae23"
# ## Какие сохранения доходят до хуков
#
# Вы видели, когда вызывается `pack`. В следующей функции собраны особые случаи: два сохранения в одной операции, другой поток выполнения, пара внутри пары, хуки только на время обратного прохода. Прочтите её, но пока не вызывайте.
# %%
inner = saved_tensors_hooks(lambda t: t.detach(), lambda t: t)


def hooks_at_work():
    seen = {}
    x, W = torch.ones(3, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    thread = threading.Thread(target=x.exp)

    def inside_an_inner_pair():
        with inner:
            x.exp()

    seen["packs of x * x"] = packs(lambda: x * x)
    seen["packs of x @ W"] = packs(lambda: x @ W)
    seen["packs of x.exp() in another thread"] = packs(lambda: (thread.start(), thread.join()))
    seen["outer packs of x.exp() inside an inner pair"] = packs(inside_an_inner_pair)

    y = (x**2).sum()
    seen["packs of backward() alone"] = packs(lambda: y.backward())
    with counting:
        y = (x**2).sum()
    y.backward(retain_graph=True)
    y.backward()
    seen["unpacks of x ** 2 in two backward passes"] = calls.count("unpack")

    z = torch.tensor(3.0, requires_grad=True)
    with saved_tensors_hooks(lambda t: 4 * t, lambda t: t):
        y = z**2
    y.backward()
    seen["gradient of x ** 2 at 3 with pack = 4 * t"] = z.grad.item()
    return seen


# %% [markdown] tags=["en"]
# ### `predict_hooks`
#
# Put what `hooks_at_work()` returns in place of each `...`. `packs(action)` counts how often the outer pair's `pack` is called while `action` runs inside the `with`.
# %% [markdown] tags=["ru"] of="5885172e"
# ### `predict_hooks`
#
# Вместо каждого `...` поставьте то, что вернёт `hooks_at_work()`. Функция `packs(action)` считает, сколько раз вызывается `pack` внешней пары, пока `action` выполняется внутри `with`.
# %% answer="predict_hooks"
predict_hooks = {
    "packs of x * x": 2,
    "packs of x @ W": 2,
    "packs of x.exp() in another thread": 0,
    "outer packs of x.exp() inside an inner pair": 0,
    "packs of backward() alone": 0,
    "unpacks of x ** 2 in two backward passes": 2,
    "gradient of x ** 2 at 3 with pack = 4 * t": 24.0,
}
# %% given="predict_hooks"
predict_hooks = {
    "packs of x * x": ...,
    "packs of x @ W": ...,
    "packs of x.exp() in another thread": ...,
    "outer packs of x.exp() inside an inner pair": ...,
    "packs of backward() alone": ...,
    "unpacks of x ** 2 in two backward passes": ...,
    "gradient of x ** 2 at 3 with pack = 4 * t": ...,
}
# %% check="predict_hooks"
from autograder import check

check("predict_hooks")
# %% tags=["fact"]
assert predict_hooks == hooks_at_work()
# %% [markdown] tags=["en"]
# Now call `hooks_at_work()`.
# %% [markdown] tags=["ru"] of="14e5a5f3"
# А теперь вызовите `hooks_at_work()`.
# %%
hooks_at_work()
# %% [markdown] tags=["en"] explains="predict_hooks"
# The line with the thread is a rule: the stack of hooks belongs to one thread. `DataParallel` runs a copy of the model for each GPU, each in a thread of its own; by this rule hooks entered outside do not reach them. Without a GPU it calls the model in the same thread, and the hooks do see it.
#
# And hooks are trusted. Autograd checks only that `unpack` returns a tensor: neither its numbers nor its dtype are compared with what was saved. The last row shows it: `pack` multiplied what was saved by 4, and the gradient became four times as large.
# %% [markdown] tags=["ru"] explains="predict_hooks" of="26579d19"
# Ответ в строке о другом потоке следует из такого правила: у каждого потока выполнения свой стек хуков. `DataParallel` заводит по копии модели на каждый GPU и выполняет каждую копию в своём потоке, поэтому хуки, включённые снаружи, на копии не действуют. Без GPU модель выполняется в том же потоке, и хуки действуют.
#
# И ещё: хукам верят на слово. Проверяется только то, что `unpack` вернул тензор, а ни числа в нём, ни dtype с сохранёнными не сравниваются. Это видно из последней строки: `pack` умножил сохранённое на 4, и градиент вырос вчетверо.
# %% tags=["fact"]
packed = []
with saved_tensors_hooks(lambda t: packed.append(1) or t.detach(), lambda t: t):
    if not torch.cuda.is_available():
        torch.nn.DataParallel(torch.nn.Softplus())(torch.ones(3, requires_grad=True))
assert len(packed) == (0 if torch.cuda.is_available() else 1)


# %% tags=["fact"]
inside_pack = []
with saved_tensors_hooks(lambda t: inside_pack.append(t.half()) or t.detach(), lambda t: t):
    y = (x * 2).exp()
assert not any(t.requires_grad for t in inside_pack)


def backward_with(unpack):
    x = torch.ones(3, requires_grad=True)
    with saved_tensors_hooks(torch.Tensor.detach, unpack):
        y = x.exp().sum()
    try:
        y.backward()
    except TypeError:
        return TypeError
    return x.grad.dtype


assert backward_with(torch.Tensor.tolist) is TypeError
assert backward_with(torch.Tensor.half) == backward_with(lambda t: 4 * t) == torch.float32


# %% [markdown] tags=["en"]
# ### A pair for one tensor
#
# One saved tensor can have hooks of its own: the node shows it as `_raw_saved_self`, and that has a method `register_hooks`. The call packs the tensor at once. Each time you read `_saved_self`, it is unpacked anew. A second pair is refused.
# %% [markdown] tags=["ru"] of="21ba17e9"
# ### Пара для одного тензора
#
# Хуки можно поставить и на один отдельный сохранённый тензор: у узла есть атрибут `_raw_saved_self`, а у этого атрибута — метод `register_hooks`. При вызове этого метода тензор сразу упаковывается, а при каждом чтении `_saved_self` — заново распаковывается. Вторую пару поставить нельзя.
# %%
def say_pack(t):
    print("pack  ", t.tolist())
    return t.detach()


def say_unpack(packed):
    print("unpack", packed.tolist())
    return packed


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x.pow(2)
y.grad_fn._raw_saved_self.register_hooks(say_pack, say_unpack)
print("registered")
print("the same object:", y.grad_fn._saved_self is x)
print("and once more:  ", y.grad_fn._saved_self is x)
try:
    y.grad_fn._raw_saved_self.register_hooks(say_pack, say_unpack)
except RuntimeError as error:
    print(error)
# %% tags=["fact"]
assert y.grad_fn._saved_self is not x and y.grad_fn._saved_self.data_ptr() == x.data_ptr()


# %% [markdown] tags=["en"]
# ## What a file holds
#
# Ten numbers of a table of a million are saved. How large is the file?
# %% [markdown] tags=["ru"] of="2755b44f"
# ## Что лежит в файле
#
# Сохраним десять чисел из таблицы, в которой их миллион. Какого размера будет файл?
# %%
table = torch.zeros(1_000_000)
with tempfile.TemporaryDirectory() as folder:
    name = os.path.join(folder, "slice.pt")
    torch.save(table[:10], name)
    size_of_slice = os.path.getsize(name)
print(f"{size_of_slice:,} bytes")
# %% tags=["fact"]
assert 4_000_000 < size_of_slice < 4_010_000
with tempfile.TemporaryDirectory() as folder:
    torch.save(table[:10].clone(), os.path.join(folder, "clone.pt"))
    assert 1_000 < os.path.getsize(os.path.join(folder, "clone.pt")) < 4_000


# %% [markdown] tags=["en"]
# `torch.save` writes the whole storage and notes which part of it the tensor is. The hooks of `fix_threshold` do that with every slice. And they write every weight, at every call: to a hook, the weight of a layer is a saved tensor like any other, and it is in memory anyway.
#
# ### `save_on_disk`
#
# **Return `f(x)` whose graph keeps its saved tensors in files, which go when the graph goes.**
#
# * **Given.** `f`, a function of one tensor `x`, which uses the tensors in the list `parameters`. `folder`, the path of an empty folder. `f` may drop results on the way; their files go with them.
# * **Result.** `f(x)`. While its graph lives, every saved tensor, however small, lies in a file of its own in `folder` (one that is saved twice may have one file), except what lies in the memory of a parameter (its views, also detached ones): that stays in memory and is not written. <!-- in_files -->
# * **Result.** Gradients are those without hooks, to the last digits of the dtype. <!-- gradient -->
# * **Result.** So they are in a second backward pass after `retain_graph=True`. <!-- again -->
# * **Result.** No file is left when a backward pass has freed the graph, or when the result is dropped without one. <!-- files_left -->
# * **Not allowed.** A file more than 4096 bytes larger than the entries of its tensor. <!-- written -->
# * **Not allowed.** A tensor in memory that is in a file, while the graph lives (there is a margin of 1024 bytes beside the result), even after a backward pass with `retain_graph=True`. <!-- memory -->
# %% [markdown] tags=["ru"] of="1244ddcb"
# `torch.save` записывает в файл всё хранилище и указывает, какую его часть занимает тензор. С парой хуков из `fix_threshold` это происходит при сохранении каждого среза. Кроме того, при каждом вызове слоя в файл записывается и его вес: для хука вес слоя — такой же сохранённый тензор, как и другие, хотя он и без того лежит в памяти.
#
# ### `save_on_disk`
#
# **Верните `f(x)` с графом, который держит сохранённые тензоры в файлах, причём файлы исчезают вместе с графом.**
#
# * **Дано.** Функция `f` от одного тензора `x`, которая использует тензоры из списка `parameters`. Путь к пустой папке `folder`. Функция `f` может по ходу дела отбросить часть своих промежуточных результатов; их файлы исчезают вместе с ними.
# * **Результат.** `f(x)`. Пока граф существует, каждый сохранённый тензор, даже самый маленький, лежит в своём файле в папке `folder` (тензору, сохранённому дважды, достаточно одного файла). Исключение — то, что лежит в памяти параметров (их представления, в том числе отсоединённые от графа): оно остаётся в памяти и в файлы не записывается. <!-- in_files -->
# * **Результат.** Градиенты совпадают с градиентами без хуков с точностью до округления в этом dtype. <!-- gradient -->
# * **Результат.** То же при втором обратном проходе после `retain_graph=True`. <!-- again -->
# * **Результат.** Файлов не остаётся ни после обратного прохода, который освободил сохранённое в графе, ни после того, как результат отброшен без обратного прохода. <!-- files_left -->
# * **Нельзя.** Создавать файлы, размер которых превышает размер элементов тензора более чем на 4096 байт. <!-- written -->
# * **Нельзя.** Держать в памяти тензоры, которые лежат в файлах, пока граф существует (сверх результата допускаются 1024 байта), — даже после обратного прохода с `retain_graph=True`. <!-- memory -->
# %% answer="save_on_disk"
def save_on_disk(f, x, parameters, folder):
    """`f(x)`, whose graph keeps its saved tensors in files in `folder`; parameters stay in memory."""
    ### BEGIN SOLUTION

    class File:
        def __init__(self, t):
            self.name = os.path.join(folder, f"{uuid.uuid4()}.pt")
            torch.save(t.detach().clone(), self.name)

        def __del__(self):
            if os.path.exists(self.name):
                os.remove(self.name)

    weights = {p.untyped_storage().data_ptr() for p in parameters}

    def pack(t):
        return t.detach() if t.untyped_storage().data_ptr() in weights else File(t)

    def unpack(packed):
        return torch.load(packed.name) if isinstance(packed, File) else packed

    with saved_tensors_hooks(pack, unpack):
        return f(x)
    ### END SOLUTION


# %% alternative="save_on_disk"
def save_on_disk(f, x, parameters, folder):
    def pack(t):
        if any(t.untyped_storage().data_ptr() == p.untyped_storage().data_ptr() for p in parameters):
            return t.detach()
        file = tempfile.NamedTemporaryFile(dir=folder)  # noqa: SIM115 (deleted when the object is)
        torch.save(t.detach().clone(), file)
        file.flush()
        return file

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        packed.seek(0)
        return torch.load(packed)

    with saved_tensors_hooks(pack, unpack):
        return f(x)


# %% alternative="save_on_disk"
def save_on_disk(f, x, parameters, folder):
    import weakref

    class Handle:
        pass

    weights = [p.untyped_storage().data_ptr() for p in parameters]
    count = iter(range(10**9))

    def pack(t):
        if t.untyped_storage().data_ptr() in weights:
            return t.detach(), None
        handle, name = Handle(), os.path.join(folder, str(next(count)))
        with open(name, "wb") as stream:
            stream.write(t.detach().contiguous().numpy().tobytes())
        handle.read = (name, t.dtype, t.shape)
        weakref.finalize(handle, os.unlink, name)
        return handle, t.dtype

    def unpack(packed):
        handle, dtype = packed
        if dtype is None:
            return handle
        name, dtype, shape = handle.read
        with open(name, "rb") as stream:
            return torch.frombuffer(bytearray(stream.read()), dtype=dtype).reshape(shape)

    with saved_tensors_hooks(pack, unpack):
        return f(x)


# %% alternative="save_on_disk"
def save_on_disk(f, x, parameters, folder):
    pointers = set(p.untyped_storage().data_ptr() for p in parameters)

    def pack(t):
        if t.untyped_storage().data_ptr() in pointers:
            return t.detach()
        own = tempfile.TemporaryDirectory(dir=folder)
        torch.save(torch.empty_like(t, memory_format=torch.contiguous_format).copy_(t), os.path.join(own.name, "t"))
        return own

    def unpack(own):
        return own if isinstance(own, torch.Tensor) else torch.load(os.path.join(own.name, "t"))

    with saved_tensors_hooks(pack, unpack):
        y = f(x)
    return y


# %% check="save_on_disk"
from autograder import check

check("save_on_disk")


# %% [markdown] tags=["en"]
# ## Counting for yourself
#
# The counts in this lesson come from `saved_bytes` and `live_bytes`. The first is a pair of hooks, and you can write it now. (Calling the ready one passes, too, but you learn more by writing it.)
#
# ### `count_saved`
#
# **Return the number of bytes that the graph of `f(x)` keeps for backward.**
#
# * **Given.** `f`, which consists of torch's own operations, `x`, and the list `parameters`. A branch that `f` computes and drops is not in the graph of its result: what only that branch saved does not count.
# * **Result.** The number of bytes that the graph of `f(x)` keeps for backward: the storages of all saved tensors, each counted once and whole, also that of `x` if it is saved. Storages of the tensors in `parameters` do not count, nor do views of them. <!-- bytes -->
# %% [markdown] tags=["ru"] of="a3542c8b"
# ## Посчитаем сами
#
# Числа в этом уроке получены с помощью `saved_bytes` и `live_bytes`. Первый инструмент — это пара хуков, и теперь вы можете написать такую пару сами. (Вызвать готовый тоже можно, это засчитывается, но написать свой полезнее.)
#
# ### `count_saved`
#
# **Верните число байтов, которые граф `f(x)` хранит для обратного прохода.**
#
# * **Дано.** Функция `f`, в которой есть только операции самого torch; тензор `x`; список `parameters`. Ветвь, которую `f` вычислила и отбросила, в граф результата не входит, и тензоры, сохранённые только в этой ветви, не считаются.
# * **Результат.** Число байтов, которые граф `f(x)` хранит для обратного прохода. Считаются хранилища всех сохранённых тензоров, каждое один раз и целиком, в том числе хранилище `x`, если он сохранён. Хранилища тензоров из `parameters` не учитываются, даже если сохранено представление такого тензора. <!-- bytes -->
# %% answer="count_saved"
def count_saved(f, x, parameters):
    """Bytes of the storages that the graph of `f(x)` keeps, those of `parameters` left out."""
    ### BEGIN SOLUTION
    import weakref

    class Box:
        def __init__(self, t):
            self.t = t.detach()
            boxes.add(self)

    boxes = weakref.WeakSet()  # the graph alone keeps a box alive
    with saved_tensors_hooks(Box, lambda box: box.t):
        y = f(x)  # alive until the count is made
    storages = {box.t.untyped_storage().data_ptr(): box.t.untyped_storage().nbytes() for box in boxes}
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    return sum(size for pointer, size in storages.items() if pointer not in weights)
    ### END SOLUTION


# %% alternative="count_saved"
def count_saved(f, x, parameters):
    with saved_bytes(known=parameters) as saved:
        y = f(x)
    return saved.now


# %% alternative="count_saved"
def count_saved(f, x, parameters):
    storages = {}
    waiting, seen = [f(x).grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for name in dir(node):
            value = getattr(node, name) if name.startswith("_saved_") else None
            for t in value if isinstance(value, (tuple, list)) else [value]:
                if isinstance(t, torch.Tensor):
                    storages[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        waiting += [after for after, _ in node.next_functions]
    for p in parameters:
        storages.pop(p.untyped_storage().data_ptr(), None)
    return sum(storages.values())


# %% alternative="count_saved"
def count_saved(f, x, parameters):
    import weakref

    saved = weakref.WeakValueDictionary()

    def pack(t):
        saved[len(saved), id(t)] = kept = t.detach()
        return kept

    with saved_tensors_hooks(pack, lambda t: t):
        y = f(x)
    distinct = []
    for storage in (t.untyped_storage() for t in saved.values()):
        known = [p.untyped_storage() for p in parameters] + distinct
        if all(storage.data_ptr() != other.data_ptr() for other in known):
            distinct.append(storage)
    return sum(storage.nbytes() for storage in distinct)


# %% check="count_saved"
from autograder import check

check("count_saved")


# %% [markdown] tags=["en"]
# ## A pair that does nothing
#
# A pair of hooks returns what it gets. `h**2` is saved under it, and then `h` is edited, before the backward pass. The right gradient is 8: $\partial (2x)^2 / \partial x = 8x$ at $x = 1$. And what comes out?
# %% [markdown] tags=["ru"] of="77b863fd"
# ## Пара, которая ничего не делает
#
# Пара хуков возвращает то, что получила. При ней сохранён вход `h**2`, а потом, до обратного прохода, `h` изменили. Верный градиент равен 8: $\partial (2x)^2 / \partial x = 8x$ при $x = 1$. А что получится?
# %%
def edited_after_saving(run):
    x = torch.ones(3, requires_grad=True)
    h = x * 2
    y = run(lambda h: h**2, h)
    h.add_(1)
    try:
        y.sum().backward()
        return x.grad.tolist()
    except RuntimeError as error:
        return str(error).split(":")[0]


def with_identity_hooks(f, h):
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        return f(h)


print(edited_after_saving(with_identity_hooks))
# %% tags=["fact"]
assert edited_after_saving(with_identity_hooks) == [12.0, 12.0, 12.0]
assert "modified by an inplace operation" in edited_after_saving(lambda f, h: f(h))


def with_copies(f, h):
    with saved_tensors_hooks(torch.clone, lambda t: t):
        return f(h)


def on_cpu(f, h):
    with torch.autograd.graph.save_on_cpu():
        return f(h)


assert edited_after_saving(with_copies) == [8.0, 8.0, 8.0]
if not torch.cuda.is_available():
    assert edited_after_saving(on_cpu) == [12.0, 12.0, 12.0]


# %% tags=["fact"]
with live_bytes() as leaked:
    thousand = torch.ones(1000, requires_grad=True)
    for _ in range(50):
        with torch.autograd.graph.save_on_cpu():
            thousand.exp()
assert leaked.now > 50 * 4000


# %% [markdown] tags=["en"]
# ### `notice_edits`
#
# **Under this pair of hooks an edit goes unnoticed, and 12 comes out in place of 8. Let torch notice it again.**
#
# The function returns `f(x)` under such a pair. Mend it.
#
# * **Result.** When a saved tensor is changed in place after the forward pass, whether by way of `x` or of the result, `backward()` raises a `RuntimeError`. <!-- after_edit -->
# * **Result.** When nothing is changed, the gradient is the one without hooks, also in a second backward pass. <!-- gradient -->
# * **Not allowed.** Copies in memory. <!-- memory -->
# * **Not allowed.** To leave anything in memory when the result is dropped. <!-- left -->
# %% [markdown] tags=["ru"] of="ee513cd4"
# ### `notice_edits`
#
# **С этой парой хуков изменение на месте остаётся незамеченным, и вместо 8 получается 12. Пусть torch снова его замечает.**
#
# Функция вычисляет `f(x)` с такой парой. Исправьте её.
#
# * **Результат.** Если после прямого прохода сохранённый тензор изменён на месте, через `x` или через результат, `backward()` завершается ошибкой `RuntimeError`. <!-- after_edit -->
# * **Результат.** Если ничего не изменено, градиент такой же, как без хуков, в том числе при втором обратном проходе. <!-- gradient -->
# * **Нельзя.** Хранить в памяти копии. <!-- memory -->
# * **Нельзя.** Оставлять что-либо в памяти, когда результат отброшен. <!-- left -->
# %% answer="notice_edits"
def notice_edits(f, x):
    def pack(t):
        kept = t.detach()
        return kept, kept._version

    def unpack(packed):
        kept, version = packed
        if kept._version != version:
            raise RuntimeError("a saved tensor was changed in place")
        return kept

    with saved_tensors_hooks(pack, unpack):
        return f(x)


# %% given="notice_edits"
def notice_edits(f, x):
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        return f(x)


# %% alternative="notice_edits"
class _Watched:
    def __init__(self, t):
        self.version, self.tensor = t._version, t.detach()

    def read(self):
        if self.tensor._version > self.version:
            raise RuntimeError(f"changed {self.tensor._version - self.version} times")
        return self.tensor


def notice_edits(f, x):
    with saved_tensors_hooks(_Watched, _Watched.read):
        return f(x)


# %% alternative="notice_edits"
def notice_edits(f, x):
    return f(x)  # autograd's own check


# %% alternative="notice_edits"
def notice_edits(f, x):
    versions = []

    def pack(t):
        kept = t.view_as(t).detach()
        versions.append(kept._version)
        return kept, len(versions) - 1

    def unpack(packed):
        kept, index = packed
        if versions[index] == kept._version:
            return kept
        raise RuntimeError

    with saved_tensors_hooks(pack, unpack):
        return f(x)


# %% check="notice_edits"
from autograder import check

check("notice_edits")
# %% [markdown] tags=["en"] explains="notice_edits"
# Every tensor counts its changes in place: `t._version`. A graph without hooks notes the version of what it saves, and compares it when a node takes the saved tensor out in backward; a difference is an error. With hooks, the versions are not compared.
#
# Twelve comes from the changed $h = 3$. Hooks that copy what they get (to a file, to half precision, from a GPU to main memory) are safe. `save_on_cpu()` makes no copy of a tensor that is on the CPU already: here it gives 12 as well. It then keeps the very tensor that `pack` was given, and so it leaks as `fix_threshold` did. It is a pair for tensors on a GPU.
#
# The picture shows both graphs after the edit, before any backward pass. Without hooks the node shows that the version has changed (red). With the hooks it holds something packed (violet), and no version is noted.
# %% [markdown] tags=["ru"] explains="notice_edits" of="96d43540"
# У каждого тензора есть счётчик версий `t._version`: он показывает, сколько раз тензор изменили на месте. Граф без хуков запоминает версию каждого тензора, который сохраняет, и сверяет её, когда узел в обратном проходе достаёт этот тензор. Если версии расходятся, возникает ошибка. Если стоят хуки, версии никто не сверяет.
#
# Двенадцать получается из изменённого $h = 3$. Хуки, которые делают копию (в файле, в половинной точности, в оперативной памяти вместо видеопамяти), безопасны. Пара `save_on_cpu()` не копирует тензор, который и так находится в памяти CPU, поэтому здесь с ней тоже получается 12. К тому же она хранит сам тензор, переданный в `pack`, и память утекает так же, как в упражнении `fix_threshold`. Эта пара предназначена для тензоров на GPU.
#
# На рисунке оба графа показаны после изменения, но до обратного прохода. Без хуков в узле видно, что версия стала другой (красный цвет). С хуками в нём лежит упакованный тензор (фиолетовый цвет), а версия нигде не записана.
# %% tags=["picture"]
x = torch.ones(3, requires_grad=True)
h = x * 2
no_hooks = h**2
these_hooks = with_identity_hooks(lambda h: h**2, h)
h.add_(1)
draw(no_hooks, these_hooks, saved=True)


# %% [markdown] tags=["en"]
# ## What your engine keeps
#
# The engine that you began in lesson 02 keeps more than torch's. Each value holds its inputs, and its rule holds them once more. The next cell is that engine as the course writes it.
# %% [markdown] tags=["ru"] of="a36bf020"
# ## Что хранит ваш движок
#
# Движок, который вы начали писать в уроке 02, хранит больше, чем движок torch. Каждое значение удерживает свои входы, а правило удерживает их ещё раз. В следующей ячейке — этот движок в том виде, в каком его пишет курс.
# %% include=["own_engine/value", "own_engine/rules_and_walk"] tags=["folded"]
# %%
from autograder import use_mine

use_mine()
# %% [markdown] tags=["en"]
# A chain of 20 results, each of 1,000 numbers of eight bytes. How many bytes are left after `backward()` while somebody still holds the loss: in torch, and in your engine? Say two numbers first.
# %% [markdown] tags=["ru"] of="4f6b1d48"
# Возьмём цепочку из 20 результатов, в каждом 1000 чисел по восемь байтов. Сколько байтов останется занято после `backward()`, если на значение функции потерь ещё есть ссылка: в torch и в вашем движке? Сначала назовите два числа.
# %%
from autograder.measure import live_bytes


def chain_of(leaf):
    for _ in range(20):
        leaf = leaf.tanh()
    return leaf.sum()


def left_after(leaf, backward):
    """Bytes in memory before and after the backward pass, beyond the leaf's."""
    with live_bytes() as live:
        loss = chain_of(leaf)
        before = live.now
        backward(loss)
        return f"{before:9,} -> {live.now:9,} bytes"


start_values = torch.linspace(0.0, 1.0, 1000, dtype=torch.float64)
print("torch:      ", left_after(start_values.clone().requires_grad_(), lambda loss: loss.backward()))
print("your engine:", left_after(Value(start_values.clone()), walk_nodes))
# %% tags=["fact"]
assert left_after(start_values.clone().requires_grad_(), lambda loss: loss.backward()) == "  160,000 ->     8,000 bytes"
assert left_after(Value(start_values.clone()), walk_nodes) == "  160,000 ->   168,000 bytes"


# %% [markdown] tags=["en"]
# Torch is left with the gradient. Yours still has every result, though nobody will ask for them.
#
# ### `free_as_you_walk`
#
# **A value that has run its rule forgets how it was made.** Below is the walk from lesson 02. Let it free what it passes.
#
# * **Given.** `root` and its values, as in `walk_nodes`: `data`, `inputs`, `rule`, `grad`. A rule holds the inputs of its value.
# * **Result.** The gradients, as before. <!-- gradients, own -->
# * **Result.** After a walk without `retain_graph=True` the results that nobody else holds are gone from memory, without the garbage collector. One that is held forgets its inputs, and in the place of its rule stands one that raises a RuntimeError, for a later walk. What is in `.grad` then does not matter. <!-- freed -->
# * **Result.** With `retain_graph=True` nothing is freed. Leaves can always be used again. <!-- retained -->
# * **Result.** The results go on the way, not at the end: when the last rule runs in a chain of 20, at most three are in memory. <!-- alive -->
# %% [markdown] tags=["ru"] of="a4fe1d1e"
# У torch остался только градиент. В вашем движке по-прежнему лежат все результаты, хотя они никому не понадобятся.
#
# ### `free_as_you_walk`
#
# **Значение, правило которого выполнено, забывает, как оно получено.** Ниже — обход из урока 02. Пусть он освобождает пройденное.
#
# * **Дано.** `root` и его значения, как в `walk_nodes`: `data`, `inputs`, `rule`, `grad`. Правило удерживает входы своего значения.
# * **Результат.** Градиенты, как прежде. <!-- gradients, own -->
# * **Результат.** После обхода без `retain_graph=True` в памяти нет результатов, которые никто другой не держит: сборщик мусора для этого не нужен. Если же результат кто-то держит, он забывает свои входы, а на месте его правила стоит другое, которое вызывает RuntimeError. Его и встречает следующий обход. Что тогда окажется в полях `.grad`, неважно. <!-- freed -->
# * **Результат.** С `retain_graph=True` ничего не освобождается. Листья можно использовать снова в любом случае. <!-- retained -->
# * **Результат.** Результаты исчезают по пути, а не в конце: когда в цепочке из 20 выполняется последнее правило, в памяти не больше трёх. <!-- alive -->
# %% answer="free_as_you_walk"
def free_as_you_walk(root, retain_graph=False):
    def refuse(gradient):
        raise RuntimeError("a second walk through a freed graph: retain_graph=True for the first would keep it")

    waits_for, todo = {root: 0}, [root]
    while todo:
        for each in todo.pop().inputs:
            if each not in waits_for:
                waits_for[each] = 0
                todo.append(each)
            waits_for[each] += 1
    each, arrived, may_run = None, {root: torch.ones_like(root.data)}, [root]
    while may_run:
        value = may_run.pop()
        gradient = arrived.pop(value)
        del waits_for[value]  # a key holds its value, too
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            arrived[each] = arrived[each] + part if each in arrived else part
            waits_for[each] -= 1
            if waits_for[each] == 0:
                may_run.append(each)
        if not retain_graph:
            value.inputs, value.rule = (), refuse


# %% given="free_as_you_walk"
def free_as_you_walk(root, retain_graph=False):
    waits_for, todo = {root: 0}, [root]
    while todo:
        for each in todo.pop().inputs:
            if each not in waits_for:
                waits_for[each] = 0
                todo.append(each)
            waits_for[each] += 1
    arrived, may_run = {root: torch.ones_like(root.data)}, [root]
    while may_run:
        value = may_run.pop()
        gradient = arrived.pop(value)
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            arrived[each] = arrived[each] + part if each in arrived else part
            waits_for[each] -= 1
            if waits_for[each] == 0:
                may_run.append(each)


# %% alternative="free_as_you_walk"
def refused(gradient):
    raise RuntimeError("freed")


def free_as_you_walk(root, retain_graph=False):
    # a value is written down when everything behind it is; the list is taken apart from its end
    order, seen, stack = [], {id(root)}, [(root, iter(root.inputs))]
    while stack:
        value, inputs = stack[-1]
        new = next((each for each in inputs if id(each) not in seen), None)
        if new is None:
            order.append(value)
            stack.pop()
        else:
            seen.add(id(new))
            stack.append((new, iter(new.inputs)))
    del value, inputs, new
    total = {root: torch.ones_like(root.data)}
    while order:
        value = order.pop()
        gradient = total.pop(value)
        if value.rule is None:
            value.grad = gradient + (torch.zeros_like(value.data) if value.grad is None else value.grad)
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            total[each] = total.get(each, 0) + part
        if not retain_graph:
            value.inputs, value.rule = (), refused


# %% alternative="free_as_you_walk"
def free_as_you_walk(root, retain_graph=False):
    def parents(value):
        if value.inputs is None:
            raise RuntimeError("walked already")
        return value.inputs

    counts, queue = {id(root): 0}, [root]
    while queue:
        for each in parents(queue.pop()):
            if id(each) not in counts:
                queue.append(each)
            counts[id(each)] = counts.get(id(each), 0) + 1
    ready_to_run = {id(root): (root, torch.ones_like(root.data))}
    partial = {}
    each = None
    while ready_to_run:
        _, (value, gradient) = ready_to_run.popitem()
        if value.rule is None:
            value.grad = gradient + (0.0 if value.grad is None else value.grad)
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            partial[id(each)] = partial[id(each)] + part if id(each) in partial else part
            counts[id(each)] -= 1
            if counts[id(each)] == 0:
                ready_to_run[id(each)] = each, partial.pop(id(each))
        if not retain_graph:
            value.inputs = value.rule = None


# %% alternative="free_as_you_walk"
import weakref


class Freed:
    def __call__(self, gradient):
        raise RuntimeError("the graph has gone")


def free_as_you_walk(root, retain_graph=False):
    found, uses = [root], {root: 0}
    for value in found:
        for each in value.inputs:
            if each not in uses:
                found.append(each)
                uses[each] = 0
            uses[each] += 1
    # from here on only the graph itself, and what waits, hold values
    uses = weakref.WeakKeyDictionary(uses)
    found.clear()
    value = each = None
    parts, line = {root: [torch.ones_like(root.data)]}, [root]
    while line:
        value = line.pop(0)
        gradient = sum(parts.pop(value))
        if not value.inputs and not isinstance(value.rule, Freed):
            value.grad = gradient + (value.grad if value.grad is not None else 0.0)
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            parts.setdefault(each, []).append(part)
            uses[each] -= 1
            if uses[each] == 0:
                line.append(each)
        if not retain_graph:
            value.inputs, value.rule = (), Freed()


# %% check="free_as_you_walk"
from autograder import check

check("free_as_you_walk")
# %% [markdown] tags=["en"]
# And now? The same measurement with your new walk.
# %% [markdown] tags=["ru"] of="484a134a"
# А теперь? То же измерение с вашим новым обходом.
# %%
print("your engine:", left_after(Value(start_values.clone()), free_as_you_walk))
# %% tags=["fact"]
assert left_after(Value(start_values.clone()), free_as_you_walk) == "  160,000 ->     8,000 bytes"


# %% [markdown] tags=["en"]
# ## On a GPU
#
# There the two memories are really different. `save_on_cpu(pin_memory=True)` copies what is saved into main memory (pinned: the copy is faster) and back. With a GPU the cell shows the peaks as measured by torch's CUDA allocator: those of `plain`, `every_layer` and `everything` hardly differ there, either, and that of `offloaded` is lower by over 500,000 bytes.
# %% [markdown] tags=["ru"] of="c079c0b9"
# ## На GPU
#
# На машине с GPU память и правда разная: видеопамять и оперативная. Пара `save_on_cpu(pin_memory=True)` копирует сохранённые тензоры в оперативную память (закреплённую, pinned: так копирование быстрее) и обратно. На машине с GPU ячейка покажет пики, измеренные CUDA-аллокатором torch: у `plain`, `every_layer` и `everything` пики и там почти одинаковы, а у `offloaded` пик ниже больше чем на 500 000 байт.
# %%
from autograder import gpu_peak, on_gpu


def saved_on_gpu():
    net.cuda()
    x = data.cuda()

    def offloaded(x):
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            return net(x)

    ways = (plain, every_layer, everything, offloaded)
    peaks = {f"peak bytes, {way.__name__}": gpu_peak(lambda: way(x).sum().backward()) for way in ways}
    net.cpu()
    return peaks


on_gpu(saved_on_gpu)
# %% tags=["fact"]
from autograder.lessons.gpu_recordings import check_claims

check_claims(
    saved_on_gpu,
    lambda measured: {
        "the first three hardly differ": max([*measured.values()][:3]) < 1.25 * min([*measured.values()][:3]),
        "offloading saves over 500,000 bytes": measured["peak bytes, plain"] - measured["peak bytes, offloaded"]
        > 500_000,
    },
)
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
