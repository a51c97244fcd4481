# %% [markdown] tags=["en"] needs="04, 06, 08" about="which thread and which order, races, last bits, a pass inside a pass"
# # The engine behind `backward()`
#
# Two threads add their gradients to one weight, and one of the two is lost. The same numbers are added in another order, and the last bits differ. A hook prints the name of a thread that nobody expected. `backward()` is one line; behind it an engine decides which node runs next, and in which thread.
#
# After this lesson you can:
#
# * say which thread runs what, and use several threads without losing a gradient;
# * predict the order in which the nodes run;
# * say where the last bits of a gradient come from, and make them the same each time.
#
# Extra exercises evaluate a model in threads, and run a backward pass inside another.
#
# You need lessons 04 (modes), 06 (hooks of saved tensors, checkpoints) and 08 (hooks on gradients); for the extra sections *Bugs that no gradient shows* and *A backward pass inside a backward pass* also 07 (custom Functions). Everything here runs on one core and without a GPU.
# %% [markdown] tags=["ru"] about="в каком потоке и в каком порядке, гонки, последние биты, проход внутри прохода" of="b152ef74"
# # Что стоит за вызовом `backward()`
#
# Два потока накапливают градиенты одного веса, и один из градиентов пропадает. Одни и те же числа складываются в другом порядке, и последние биты суммы меняются. Хук печатает имя потока, которого никто не ждал. Вызов `backward()` занимает одну строку, но за ним стоит движок autograd: он решает, какой узел выполнить следующим и в каком потоке.
#
# После урока вы сможете:
#
# * определить, какой код в каком потоке выполняется, и работать в нескольких потоках, не теряя градиентов;
# * предсказать, в каком порядке выполняются узлы;
# * объяснить, откуда берутся последние биты градиента, и сделать их всегда одинаковыми.
#
# В дополнительных упражнениях модель работает в нескольких потоках, а внутри одного обратного прохода выполняется другой.
#
# Понадобятся уроки 04 (режимы отслеживания), 06 (хуки сохранённых тензоров, контрольные точки) и 08 (хуки градиентов), а для дополнительных разделов «Ошибки, которых по градиентам не видно» и «Обратный проход внутри обратного прохода» — ещё и урок 07 (пользовательские функции). Для всех примеров достаточно одного ядра, GPU не нужен.
# %% tags=["en"]
# Does the import fail? Install the course by pip (its file, or autograd-course),
# and uninstall another `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("engine", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("engine", language="ru")
# %%
import threading

import torch


# %% [markdown] tags=["en"]
# ## Which thread
#
# In which thread does a backward pass run: in that of the forward pass, in one of torch's own, or in yours? A hook on a gradient (lesson 08) can tell. The helper `together` runs several functions at once, each in a new thread called "worker"; `in_thread` runs one function in such a thread and waits for its result. `here` says in which thread it was called.
# %% [markdown] tags=["ru"] of="620165e4"
# ## В каком потоке идёт обратный проход
#
# Где выполняется обратный проход: в потоке прямого прохода, в собственном потоке torch или в вашем? Узнать это поможет хук градиента (урок 08). Вспомогательная функция `together` выполняет несколько функций одновременно, каждую в новом потоке с именем «worker», а `in_thread` выполняет в таком потоке одну функцию и ждёт её результата. Функция `here` сообщает, в каком потоке её вызвали.
# %%
def together(*works):
    """Run each of `works` in a thread of its own, called "worker", and wait for all of them."""
    threads = [threading.Thread(target=work, name="worker") for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_thread(work):
    """Run `work()` in a new thread called "worker", and return its result or the name of its error."""
    outcome = []

    def run():
        try:
            outcome.append(work())
        except RuntimeError as error:
            outcome.append(type(error).__name__)

    together(run)
    return outcome[0]


def here():
    """The thread in which this is called: "worker", or "main" for that of the notebook."""
    return "worker" if threading.current_thread().name == "worker" else "main"


def result_that_tells():
    """Return exp(3w), whose gradient prints the thread in which it arrives."""
    w = torch.tensor(1.0, requires_grad=True)
    y = (3 * w).exp()
    y.register_hook(lambda _: print("the gradient arrives in", here()))
    return y


result_that_tells().backward()
in_thread(lambda: result_that_tells().backward())
print("in a new thread recording is", in_thread(torch.is_grad_enabled))
# %% tags=["fact"]
seen = []
for call in (lambda work: work(), in_thread):
    y = torch.ones(2, requires_grad=True).sum()
    y.register_hook(lambda _: seen.append(here()))
    call(y.backward)
assert seen == ["main", "worker"]


# %% [markdown] tags=["en"]
# Twice the pass ran where everything else ran. That leaves open whose thread it is if forward and backward pass are called in different ones. Try it: `y = result_that_tells()`, then `in_thread(y.backward)`.
#
# And what does a thread share with the one that started it? Look at three things: a tensor, `inference_mode` (lesson 04), and the dtype that new tensors get.
# %% [markdown] tags=["ru"] of="e19e296a"
# Оба раза проход выполнился там же, где и всё остальное. Остаётся вопрос: где пойдёт обратный проход, если он вызван в одном потоке, а прямой — в другом? Попробуйте: `y = result_that_tells()`, затем `in_thread(y.backward)`.
#
# А что общего у нового потока с тем, который его запустил? Посмотрим на тензор, на `inference_mode` (урок 04) и на dtype, с которым создаются новые тензоры.
# %%
w = torch.tensor(1.0, requires_grad=True)
in_thread(lambda: (2 * w).backward())
print("w.grad, added to in a thread:", w.grad.item())

mode, dtype = torch.is_inference_mode_enabled, torch.get_default_dtype
with torch.inference_mode():
    print("inference mode, here:", mode(), "  in a thread:", in_thread(mode))

torch.set_default_dtype(torch.float64)
print("default dtype, here: ", dtype(), "  in a thread:", in_thread(dtype))
torch.set_default_dtype(torch.float32)
# %% tags=["fact"]
assert w.grad.item() == 2


# %% [markdown] tags=["en", "try"]
# Of the three things, one belongs to the tensor, one to the thread that set it, one to the whole process. Which is which? Read it off the three lines.
#
# `w.grad` belongs to the tensor: whoever has the tensor sees it. `inference_mode` belongs to the thread that entered it, the default dtype to the whole process. Each switch in the table below is of one of these two kinds.
# %% [markdown] tags=["ru", "try"] of="ae1ffc97"
# Из этих трёх вещей одна принадлежит тензору, одна — потоку, в котором её включили, и одна — всему процессу. Где какая? Определите по трём строкам вывода.
#
# Поле `w.grad` принадлежит тензору: его видит любой поток, у которого есть этот тензор. Режим `inference_mode` принадлежит тому потоку, который его включил, а dtype по умолчанию — всему процессу. Каждый переключатель в таблице ниже относится к одному из этих двух видов.
# %% [markdown] tags=["en"]
# On the CPU torch keeps no thread of its own for the backward pass: whoever calls `backward()` runs it. The function `engine_table` below starts threads and notes what they see. In it a `threading.Barrier(2)` stands: whoever calls `wait()` goes on when two threads have called it. Its questions have short answers, and some of them are guessed wrong by almost everybody. Read the cell; do not call it yet.
# %% [markdown] tags=["ru"] of="9fce8f57"
# На CPU у torch нет отдельного потока для обратного прохода: проход выполняет тот поток, который вызвал `backward()`. Функция `engine_table` ниже запускает потоки и записывает, что в каждом из них происходит. В ней есть барьер, `threading.Barrier(2)`: поток, вызвавший `wait()`, ждёт, пока этот метод не вызовет и второй поток. Ответы в таблице короткие, но в некоторых ошибаются почти все. Прочтите ячейку, но функцию пока не вызывайте.
# %%
def engine_table():
    seen, packed = {}, []
    w = torch.tensor(1.0, requires_grad=True)
    y = (3 * w).exp()  # the forward pass runs here
    y.register_hook(lambda _: seen.update({"the hook runs in": here()}))
    in_thread(y.backward)
    seen["two passes through one graph"] = in_thread(y.backward) or "accepted"

    w.grad, both_have_added = None, threading.Barrier(2)

    def contribute(k):
        (k * w).backward()
        both_have_added.wait()
        seen[f"w.grad read by thread {k}"] = w.grad.item()

    together(lambda: contribute(1), lambda: contribute(2))
    with torch.no_grad():
        seen["recorded in a thread, under no_grad"] = in_thread(lambda: (2 * w).requires_grad)
    with torch.autograd.graph.saved_tensors_hooks(packed.append, lambda t: t):
        in_thread(lambda: w.detach().requires_grad_().square())
    seen["packs in a thread"] = len(packed)
    torch.autograd.set_detect_anomaly(True)
    seen["anomaly mode in a thread"] = in_thread(torch.is_anomaly_enabled)
    torch.autograd.set_detect_anomaly(False)
    return seen


# %% [markdown] tags=["en"]
# ### `predict_engine`
#
# Put what `engine_table()` returns in place of each `...`. The first entry is what `here()` returns: `"main"` or `"worker"`. `two passes through one graph` is `"accepted"` or `"RuntimeError"`. What is read from `w.grad` is a number, so are the packs. `recorded` and `anomaly mode` (lesson 02) are True or False.
# %% [markdown] tags=["ru"] of="025dbf4d"
# ### `predict_engine`
#
# Вместо каждого `...` поставьте то, что вернёт `engine_table()`. В первой строке — то, что вернёт `here()`: `"main"` или `"worker"`. В строке `two passes through one graph` — `"accepted"` или `"RuntimeError"`. В строках с `w.grad` и с количеством упаковок (packs) — числа. В строках `recorded` и `anomaly mode` (урок 02) — True или False.
# %% answer="predict_engine"
predict_engine = {
    "the hook runs in": "worker",
    "two passes through one graph": "RuntimeError",
    "w.grad read by thread 1": 3.0,
    "w.grad read by thread 2": 3.0,
    "recorded in a thread, under no_grad": True,
    "packs in a thread": 0,
    "anomaly mode in a thread": True,
}
# %% given="predict_engine"
predict_engine = {
    "the hook runs in": ...,
    "two passes through one graph": ...,
    "w.grad read by thread 1": ...,
    "w.grad read by thread 2": ...,
    "recorded in a thread, under no_grad": ...,
    "packs in a thread": ...,
    "anomaly mode in a thread": ...,
}
# %% check="predict_engine"
from autograder import check

check("predict_engine")
# %% tags=["fact"]
assert engine_table() == predict_engine
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# А теперь вызовите эту функцию.
# %%
engine_table()
# %% [markdown] tags=["en"] explains="predict_engine"
# What crosses into a new thread, and what does not: `no_grad`, `inference_mode`, autocast (lesson 11) and hooks for saved tensors stay in the thread that entered them. Anomaly mode, `use_deterministic_algorithms`, the default dtype and the random generator belong to the whole process.
#
# Two threads must not share a *graph* that saves tensors: the first pass frees them, and the second one raises. Two threads that share only a *leaf* are fine; more on that below.
# %% [markdown] tags=["ru"] explains="predict_engine" of="d0812639"
# Что переходит в новый поток, а что нет? Режимы `no_grad`, `inference_mode`, autocast (урок 11) и хуки сохранённых тензоров действуют только в том потоке, в котором они включены. Режим обнаружения аномалий, `use_deterministic_algorithms`, dtype по умолчанию и генератор случайных чисел — общие для всего процесса.
#
# Общего *графа* с сохранёнными тензорами у двух потоков быть не должно: первый проход освобождает эти тензоры, и второй завершается исключением. Если же общий только *лист*, всё в порядке. Об этом ниже.
# %% tags=["fact"]
with torch.no_grad():
    assert in_thread(torch.is_grad_enabled)
with torch.inference_mode():
    assert not in_thread(torch.is_inference_mode_enabled)
with torch.autocast("cpu", dtype=torch.bfloat16):
    assert not in_thread(lambda: torch.is_autocast_enabled("cpu"))
torch.use_deterministic_algorithms(True)
assert in_thread(torch.are_deterministic_algorithms_enabled)
torch.use_deterministic_algorithms(False)
torch.set_default_dtype(torch.float64)
assert in_thread(torch.get_default_dtype) == torch.float64
torch.set_default_dtype(torch.float32)
torch.manual_seed(3)
drawn = in_thread(lambda: torch.rand(2))
torch.manual_seed(3)
assert torch.equal(drawn, torch.rand(2))


# %% [markdown] tags=["en"]
# ## The engine takes the newest node
#
# A node may run when every node that uses its result has run. Often several are ready. Then the engine takes the one that was created *last*: each node gets a number when the forward pass makes it, `_sequence_nr()`, and the largest goes first. The nodes of leaves (`AccumulateGrad`) have the largest number of all, so a gradient goes into `.grad` as soon as it is complete.
# %% [markdown] tags=["ru"] of="6aa2dc57"
# ## Движок берёт самый новый узел
#
# Узел можно выполнить, когда выполнены все узлы, от которых к нему приходит градиент. Если готовых узлов несколько, движок берёт тот, который создан *последним*: при создании в прямом проходе каждый узел получает номер, `_sequence_nr()`, и первым идёт узел с наибольшим номером. У узлов листьев (`AccumulateGrad`) номер самый большой, поэтому готовый градиент сразу попадает в `.grad`.
# %%
x = torch.tensor(0.5, requires_grad=True)
a, b, c = x.sin(), x.cos(), x.exp()
loss = (b + c) + a

for name, result in {"a": a, "b": b, "c": c, "loss": loss}.items():
    print(name, result.grad_fn.name(), result.grad_fn._sequence_nr() - a.grad_fn._sequence_nr())
# %% [markdown] tags=["en"]
# After the node of `loss` two are ready: that of `a` with the number 0, and that of `b + c` with 3. Which one runs? Write the order down, all five names, and then look.
# %% [markdown] tags=["ru"] of="e1e33206"
# После узла `loss` готовы два: узел `a` с номером 0 и узел суммы `b + c` с номером 3. Какой из них будет выполнен первым? Запишите порядок всех пяти узлов, а потом сравните его с ответом.
# %% tags=["picture"]
from autograder import steps

steps(loss)
# %% [markdown] tags=["en", "try"]
# Now write `loss = a + (b + c)`. Which node runs second? Say it, then run both cells again.
#
# Still that of `b + c`: it was created after `a`, wherever it stands in the line.
# %% [markdown] tags=["ru", "try"] of="a9e03a82"
# Теперь напишите `loss = a + (b + c)`. Какой узел выполнится вторым? Сначала ответьте, потом снова выполните обе ячейки.
#
# По-прежнему узел суммы `b + c`: он создан после `a`, где бы ни стоял в строке.
# %% tags=["fact"]
turned = a + (b + c)
(first_arrow, _), (second_arrow, _) = turned.grad_fn.next_functions
assert second_arrow._sequence_nr() > first_arrow._sequence_nr()
# %% tags=["fact"]
assert [t.grad_fn._sequence_nr() - a.grad_fn._sequence_nr() for t in (a, b, c, loss)] == [0, 1, 2, 4]
leaf_node = a.grad_fn.next_functions[0][0]
ran = []
handles = [
    node.register_prehook(lambda _, node=node: ran.append(node.name()))
    for node in (loss.grad_fn, loss.grad_fn.next_functions[0][0], a.grad_fn, b.grad_fn, c.grad_fn)
]
loss.backward(retain_graph=True)
assert ran == ["AddBackward0", "AddBackward0", "ExpBackward0", "CosBackward0", "SinBackward0"]
assert loss.grad_fn.next_functions[0][0]._sequence_nr() - a.grad_fn._sequence_nr() == 3
for handle in handles:
    handle.remove()
assert leaf_node.name() == "torch::autograd::AccumulateGrad" and leaf_node._sequence_nr() == 2**64 - 1

u, v = torch.ones(2, requires_grad=True).unbind()
for _ in range(5):
    made_here = u.sin()
made_there = in_thread(lambda: v.cos())
newest, seen = u.exp(), []
for name, t in {"here": made_here, "there": made_there, "newest": newest}.items():
    t.grad_fn.register_prehook(lambda _, name=name: seen.append(name))
(made_there + made_here + newest).backward()
assert seen == ["newest", "here", "there"] and made_there.grad_fn._sequence_nr() == 0


# %% [markdown] tags=["en"]
# Every thread counts from 0 on its own. If a part of the graph was made in another thread, its nodes have small numbers and run late, although they are not old. The numbers decide only among nodes that are ready, so the gradient is right in any case.
#
# ### `node_order`
#
# **Return the names of the nodes in the order in which the engine will run them.**
#
# * **Given.** `loss`, a scalar whose graph was made in one thread. Nobody has called `retain_grad()`.
# * **Result.** A list of names (`node.name()`), one for each node behind `loss`, without the nodes of leaves, `AccumulateGrad`. <!-- nodes -->
# * **Result.** They stand in the order in which the engine runs the nodes in a backward pass. <!-- order -->
# * **Leave.** Every `.grad`, and the graph: a later `loss.backward()` works. <!-- untouched -->
# * **Not allowed.** A hook of yours that runs in a later pass. <!-- untouched -->
# %% [markdown] tags=["ru"] of="0b2368ce"
# В каждом потоке узлы нумеруются с нуля. Если часть графа создана в другом потоке, номера её узлов малы и выполняются эти узлы поздно, хотя созданы недавно. От номеров зависит только то, какой из готовых узлов будет взят первым, поэтому градиент верен в любом случае.
#
# ### `node_order`
#
# **Верните имена узлов в том порядке, в котором их выполнит движок.**
#
# * **Дано.** Скаляр `loss`, граф которого создан в одном потоке. Метод `retain_grad()` никто не вызывал.
# * **Результат.** Список имён (`node.name()`), по одному на каждый узел графа `loss`, кроме узлов листьев (`AccumulateGrad`). <!-- nodes -->
# * **Результат.** Имена стоят в том порядке, в котором движок выполняет узлы в обратном проходе. <!-- order -->
# * **Не менять.** Поля `.grad` и граф: вызов `loss.backward()` после этого проходит без ошибок. <!-- untouched -->
# * **Нельзя.** Оставлять хуки, которые сработают в следующем проходе. <!-- untouched -->
# %% answer="node_order"
def node_order(loss):
    """The names of the nodes behind `loss`, in the order in which the engine runs them."""
    ### BEGIN SOLUTION
    nodes, waiting = set(), [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in nodes and "AccumulateGrad" not in node.name():
            nodes.add(node)
            waiting += [parent for parent, _ in node.next_functions]
    return [node.name() for node in sorted(nodes, key=lambda node: node._sequence_nr(), reverse=True)]
    ### END SOLUTION


# %% alternative="node_order"
def node_order(loss):
    nodes, leaves = [loss.grad_fn], []
    for node in nodes:
        for parent, _ in node.next_functions:
            if hasattr(parent, "variable"):
                leaves.append(parent.variable)
            elif parent is not None and parent not in nodes:
                nodes.append(parent)
    order = []
    handles = [node.register_prehook(lambda _, node=node: order.append(node.name())) for node in nodes]
    torch.autograd.grad(loss, leaves, retain_graph=True)
    for handle in handles:
        handle.remove()
    return order


# %% alternative="node_order"
def node_order(loss):
    uses, todo = {loss.grad_fn: 0}, [loss.grad_fn]
    for node in todo:
        for parent, _ in node.next_functions:
            if parent is not None:
                if parent not in uses:
                    todo.append(parent)
                uses[parent] = uses.get(parent, 0) + 1
    order, ready = [], [loss.grad_fn]
    while ready:
        node = max(ready, key=lambda n: n._sequence_nr())
        ready.remove(node)
        order.append(node.name())
        for parent, _ in node.next_functions:
            if parent is not None:
                uses[parent] -= 1
                if uses[parent] == 0:
                    ready.append(parent)
    return [name for name in order if "Accumulate" not in name]


# %% alternative="node_order"
def node_order(loss):
    numbers = {}

    def visit(node):
        if node and not hasattr(node, "variable"):
            numbers[node._sequence_nr()] = node.name()
            for parent, _ in node.next_functions:
                visit(parent)

    visit(loss.grad_fn)
    return [numbers[number] for number in sorted(numbers)[::-1]]


# %% check="node_order"
from autograder import check

check("node_order")
# %% [markdown] tags=["en"]
# ## Two threads, one weight
#
# You will read this advice: with several threads use `torch.autograd.grad` and not `backward()`, to avoid a race. Let us count. Eight threads make 100 backward passes each, and each pass adds 1 to the same `.grad`.
# %% [markdown] tags=["ru"] of="d82c2149"
# ## Два потока и один вес
#
# Можно встретить такой совет: если потоков несколько, берите `torch.autograd.grad`, а не `backward()`, иначе возможна гонка. Посчитаем. Восемь потоков выполняют по 100 обратных проходов, и каждый проход прибавляет 1 к одному и тому же полю `.grad`.
# %%
w = torch.tensor(1.0, requires_grad=True)


def hundred_passes():
    for _ in range(100):
        (1 * w).backward()


together(*[hundred_passes] * 8)
print("backward:", w.grad.item())

w.grad = torch.tensor(0.0)
both_have_read = threading.Barrier(2)


def read_then_write():
    (gradient,) = torch.autograd.grad(1 * w, w)
    total = w.grad + gradient
    both_have_read.wait()
    w.grad = total


together(read_then_write, read_then_write)
print("grad, then two lines of our own:", w.grad.item())
# %% tags=["fact"]
assert w.grad.item() == 1
w.grad = None
together(*[hundred_passes] * 8)
assert w.grad.item() == 800

one, two = 5 * w, 7 * w  # two graphs, one node for the leaf: hence one mutex
assert one.grad_fn.next_functions[0][0] is two.grad_fn.next_functions[0][0]

lock = threading.Lock()
with lock:
    assert lock.locked() and not in_thread(lambda: lock.acquire(blocking=False))
assert not lock.locked()


# %% [markdown] tags=["en", "try"]
# With `backward()` nothing was lost, with our own two lines a half. Who takes care of the order in each of the two?
#
# 800 of 800 with `backward()`: the node of a leaf holds a lock while it adds, and all graphs share that node. With `torch.autograd.grad` the adding is *our* code, and 1 of 2 is left. The barrier makes sure of it: both threads read 0, then both write 1. Without it, the loss is a matter of luck. This is what a race is, and the advice above leads into it.
# %% [markdown] tags=["ru", "try"] of="324e9aa6"
# С `backward()` не потеряно ничего, а с нашими двумя строками — половина. Кто в каждом из этих случаев следит за тем, чтобы потоки не мешали друг другу?
#
# С `backward()` получилось 800 из 800: узел листа на время сложения захватывает мьютекс (блокировку), а этот узел у всех графов один и тот же. После `torch.autograd.grad` складывает уже *наш* код, и от двух единиц остаётся одна. Барьер здесь нужен для наглядности: оба потока читают 0, потом оба пишут 1. Без барьера потеря зависела бы от случая. Это и есть гонка, и совет, с которого мы начали, ведёт прямо к ней.
# %% [markdown] tags=["en"]
# `backward()` has another trap. `.grad` is shared, so a thread that reads it after its own pass sees the gradients of all threads. To set it to None while others add is worse still: updates vanish, and some threads die with an internal error of torch. And an example in which ten threads each make an `x` of their own shows nothing of all this: nothing is shared there.
#
# So there are two needs. A thread that only contributes calls `backward()`. A thread that wants its own gradient as well takes `torch.autograd.grad`, and adds under a lock: of the threads that come to `with lock:`, one is inside, and the others wait until it has left. Below, eight threads add to a number of Python in this way.
# %% [markdown] tags=["ru"] of="dbed56eb"
# У `backward()` есть своя ловушка. Поле `.grad` общее, и поток, который читает его после своего прохода, видит сумму градиентов всех потоков. Ещё хуже записать туда None, пока другие потоки прибавляют свои градиенты: часть градиентов пропадёт, а некоторые потоки завершатся с внутренней ошибкой torch. А в примерах, где каждый поток создаёт свой `x`, ничего этого не видно: общего у потоков там нет.
#
# Итак, есть два случая. Поток, который только добавляет свой градиент, вызывает `backward()`. Поток, которому нужен и собственный градиент, вызывает `torch.autograd.grad` и сам прибавляет результат к общему градиенту, захватив блокировку: внутри блока `with lock:` может находиться только один поток, остальные ждут, пока он выйдет. Ниже восемь потоков таким способом увеличивают обычное число Python.
# %%
total, lock = 0, threading.Lock()


def add_hundred():
    global total
    for _ in range(100):
        with lock:
            total = total + 1


together(*[add_hundred] * 8)
print("additions under a lock:", total)
# %% tags=["fact"]
assert total == 800


# %% [markdown] tags=["en"]
# ### `locked_accumulation`
#
# **Add the gradients of several threads to one `.grad`, so that none is lost and the threads do not wait for each other's passes.**
#
# * **Given.** The leaf `w` and the `lock` (like `threading.Lock()`), the same for all threads; `loss_of`, a function for each. `w.grad` may be None or hold an earlier gradient.
# * **Result.** When all threads have ended, `w.grad` holds what was there before plus the gradient of every `loss_of(w)`. <!-- sum -->
# * **Result.** Each call returns the gradient of its own loss alone: a tensor that never changes later, even if some `backward()` adds to `w.grad` in place. <!-- own -->
# * **Not allowed.** To read or write `w.grad` in your code without holding `lock`, which has to be released afterwards. (`backward()` needs no lock.) <!-- locked -->
# * **Not allowed.** To run `loss_of` or the backward pass under the lock: otherwise the threads take turns. `loss_of` is called once, for a copy of `w`, if you like. <!-- outside -->
# %% [markdown] tags=["ru"] of="47a4ee5a"
# ### `locked_accumulation`
#
# **Сложите в одном `.grad` градиенты нескольких потоков так, чтобы ни один не потерялся и потоки не ждали чужих проходов.**
#
# * **Дано.** Лист `w` и блокировка `lock` (такая же, как `threading.Lock()`), общие для всех потоков; функция `loss_of` у каждого своя. В `w.grad` может лежать None или прежний градиент.
# * **Результат.** Когда все потоки завершились, в `w.grad` лежит прежний градиент плюс градиенты всех `loss_of(w)`. <!-- sum -->
# * **Результат.** Каждый вызов возвращает градиент только своей функции потерь — тензор, который больше не изменится, даже если какой-нибудь вызов `backward()` изменит `w.grad` на месте. <!-- own -->
# * **Нельзя.** Читать и менять `w.grad` в своём коде, не захватив `lock`, и оставлять эту блокировку захваченной. (Для `backward()` блокировка не нужна.) <!-- locked -->
# * **Нельзя.** Выполнять `loss_of` или обратный проход, пока блокировка захвачена: иначе потоки будут работать по очереди. Функция `loss_of` вызывается один раз, можно и для копии `w`. <!-- outside -->
# %% answer="locked_accumulation"
def locked_accumulation(w, loss_of, lock):
    """Add the gradient of `loss_of(w)` to `w.grad`, safe from other threads, and return it."""
    ### BEGIN SOLUTION
    (own,) = torch.autograd.grad(loss_of(w), w)
    with lock:
        w.grad = own.clone() if w.grad is None else w.grad + own
    return own
    ### END SOLUTION


# %% alternative="locked_accumulation"
def locked_accumulation(w, loss_of, lock):
    seen = []
    mine = w.view_as(w)
    mine.register_hook(lambda gradient: seen.append(gradient.clone()))
    loss_of(mine).backward()
    return seen[0]


# %% alternative="locked_accumulation"
def locked_accumulation(w, loss_of, lock):
    copy = w.detach().clone().requires_grad_()
    loss_of(copy).backward()
    lock.acquire()
    try:
        if w.grad is None:
            w.grad = torch.zeros_like(w)
        w.grad += copy.grad
    finally:
        lock.release()
    return copy.grad


# %% alternative="locked_accumulation"
def locked_accumulation(w, loss_of, lock):
    own = torch.autograd.grad(loss_of(w), [w])[0].detach().clone()
    w.backward(own)
    return own


# %% check="locked_accumulation"
from autograder import check

check("locked_accumulation")


# %% [markdown] tags=["en"]
# ## What to keep
#
# * On the CPU the thread that calls `backward()` runs it. `no_grad` and saved-tensor hooks stay in their thread, anomaly mode does not.
# * Threads may share a leaf: `backward()` adds under a lock of torch's. They may not share a graph. Your own `w.grad = w.grad + g` needs a lock of yours.
# * Of the nodes that are ready, the one created last runs first.
#
# From the extra sections:
#
# * Another order, other bits. Fix the order (or sort) where bits matter; `use_deterministic_algorithms` knows nothing of your own order.
# %% [markdown] tags=["ru"] of="010f326c"
# ## Что стоит запомнить
#
# * На CPU обратный проход выполняет тот поток, который вызвал `backward()`. Режим `no_grad` и хуки сохранённых тензоров действуют только в своём потоке, а режим обнаружения аномалий — во всех.
# * Общий лист у потоков быть может: `backward()` прибавляет градиент под защитой мьютекса самого torch. Общего графа быть не должно. А если вы складываете сами, `w.grad = w.grad + g`, нужна и собственная блокировка.
# * Из готовых узлов первым выполняется тот, который создан последним.
#
# Из дополнительных разделов:
#
# * Другой порядок — другие биты. Там, где биты важны, закрепите порядок (или отсортируйте слагаемые); о вашем порядке `use_deterministic_algorithms` ничего не знает.
# %% [markdown] tags=["en"]
# ## The last bits
#
# In `engine_table` two threads added to one `.grad`, and the *order* in which they did was random. Does it matter? In mathematics it does not. In float32 each addition rounds. Two orders of the same three numbers:
# %% [markdown] tags=["ru"] of="60b14f88"
# ## Последние биты
#
# В `engine_table` два потока прибавляли градиенты к одному `.grad`, и в каком *порядке*, решал случай. Важен ли порядок? В математике — нет. Но в float32 округляется результат каждого сложения. Вот одни и те же три числа в двух порядках:
# %%
def accumulated(numbers):
    """The `.grad` of a float32 weight after one backward pass for each number."""
    w = torch.tensor(1.0, requires_grad=True)
    for number in numbers:
        (w * number).backward()
    return w.grad.item()


print(accumulated([1e8, 1.0, -1e8]), accumulated([1e8, -1e8, 1.0]))
# %% [markdown] tags=["en", "try"]
# The order decides between 0 and 1. What will `accumulated([1.0, 1e8, -1e8])` give? Say it, then run it.
#
# 0: beside $10^8$ the 1 is less than half of the last digit of a float32, so the addition rounds it away. It survives only if the large numbers cancel first.
# %% [markdown] tags=["ru", "try"] of="a49b958c"
# От порядка зависит, получится 0 или 1. А что вернёт `accumulated([1.0, 1e8, -1e8])`? Сначала ответьте, потом вызовите.
#
# 0: рядом с $10^8$ единица меньше половины последнего разряда float32, и при сложении она пропадает. Она остаётся, только если большие числа сократятся раньше.
# %% tags=["fact"]
assert accumulated([1.0, 1e8, -1e8]) == 0 and accumulated([1e8, -1e8, 1.0]) == 1
# %% tags=["fact"]
assert accumulated([0.01, 0.02, 0.03]) == 0.05999999865889549
assert accumulated([0.03, 0.02, 0.01]) == 0.059999994933605194
assert accumulated([1e8, 1.0, -1e8]) == 0 and accumulated([1e8, -1e8, 1.0]) == 1
assert accumulated([0.1, 0.2, 0.3]) == accumulated([0.3, 0.2, 0.1])
assert (0.1 + 0.2) + 0.3 != (0.3 + 0.2) + 0.1


# %% [markdown] tags=["en"]
# ### `order_changes_bits`
#
# **Find three numbers whose float32 gradients add up to other bits in the reverse order.**
#
# * **Result.** A list of three numbers, each from 0.1 to 10. <!-- allowed -->
# * **Result.** `accumulated(numbers)` differs from `accumulated(numbers[::-1])`. The well-known example 0.1, 0.2, 0.3 is one for float64: in float32 both orders agree. <!-- differs -->
# %% [markdown] tags=["ru"] of="e052b55b"
# ### `order_changes_bits`
#
# **Найдите три числа, для которых сумма градиентов float32 в обратном порядке отличается в последних битах.**
#
# * **Результат.** Список из трёх чисел, каждое от 0.1 до 10. <!-- allowed -->
# * **Результат.** Значения `accumulated(numbers)` и `accumulated(numbers[::-1])` различаются. Известный пример 0.1, 0.2, 0.3 годится только для float64: в float32 оба порядка дают одно и то же. <!-- differs -->
# %% answer="order_changes_bits"
def order_changes_bits():
    """Three numbers whose float32 sum is another one in reverse order."""
    ### BEGIN SOLUTION
    return [0.1, 0.3, 0.4]
    ### END SOLUTION


# %% alternative="order_changes_bits"
def order_changes_bits():
    import itertools

    tenths = [n / 10 for n in range(1, 20)]
    return next(list(p) for p in itertools.permutations(tenths, 3) if accumulated(p) != accumulated(p[::-1]))


# %% alternative="order_changes_bits"
def order_changes_bits():
    return torch.tensor([0.1, 0.2, 1.2]).tolist()


# %% alternative="order_changes_bits"
def order_changes_bits():
    torch.manual_seed(0)
    while True:
        a, b, c = torch.rand(3) * 9 + 0.5
        if (a + b) + c != (c + b) + a:
            return a.item(), b.item(), c.item()


# %% check="order_changes_bits"
from autograder import check

check("order_changes_bits")
# %% [markdown] tags=["en"]
# ### What `use_deterministic_algorithms` promises
#
# `torch.use_deterministic_algorithms(True)` switches to kernels that add in a fixed order, for the same inputs on the same machine and version. Where torch has no such kernel, the call raises a `RuntimeError`: on the CPU for instance `put_` and `max_unpool1d`. As a side effect, memory of `torch.empty` is filled with NaN, so that reading it is at least the same each time. What it does *not* promise: it knows nothing of your threads, of the order in which your workers send their gradients, or of another number of threads or another machine.
#
# An order is hidden in many places. `index_add` adds 100 000 numbers one after the other; `sum` adds them in blocks. Neither is wrong, and the bits differ. The error of float64 is much smaller, but the order is in its bits, too: numbers of Python are float64.
# %% [markdown] tags=["ru"] of="c45d1cbf"
# ### Что обещает `use_deterministic_algorithms`
#
# Вызов `torch.use_deterministic_algorithms(True)` переключает torch на реализации, которые складывают числа всегда в одном и том же порядке, если не меняются ни входы, ни машина, ни версия torch. Если такой реализации нет, операция завершается ошибкой `RuntimeError`: на CPU это, например, `put_` и `max_unpool1d`. У этого режима есть и побочное действие: память, которую выделяет `torch.empty`, заполняется значениями NaN, чтобы из неё хотя бы читались всегда одни и те же значения. Но обещает этот режим *не всё*. Он не учитывает ни ваших потоков, ни порядка, в котором приходят градиенты от ваших процессов. Не гарантирует он и тех же битов при другом числе потоков или на другой машине.
#
# Порядок сложения скрыт внутри многих операций. Операция `index_add` складывает 100 000 чисел одно за другим, а `sum` — блоками. Оба результата верны, но биты разные. У float64 (а числа Python — это float64) погрешность гораздо меньше, но и его биты зависят от порядка.
# %%
values = torch.full((100_000,), 0.1)
to_entry_0 = torch.zeros(100_000, dtype=torch.long)
one_after_another = torch.zeros(1).index_add(0, to_entry_0, values)

print("index_add:", one_after_another.item())
print("sum:      ", values.sum().item())
print("float64:  ", values.double().sum().item())
print("two orders in float64:", 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1)
# %% [markdown] tags=["en", "try"]
# Put 0.5 in place of 0.1. Will `index_add` and `sum` still differ? Say it, then run.
#
# No. Halves up to 50 000 are exact in float32, so nothing is rounded, and then no order matters.
# %% [markdown] tags=["ru", "try"] of="d7ca23a9"
# Поставьте 0.5 вместо 0.1. Останется ли разница между `index_add` и `sum`? Сначала ответьте, потом выполните ячейку.
#
# Нет. Числа до 50 000, кратные половине, в float32 точны, поэтому ничего не округляется, и порядок не важен.
# %% tags=["fact"]
halves = torch.full((100_000,), 0.5)
assert torch.zeros(1).index_add(0, to_entry_0, halves).item() == halves.sum().item() == 50_000
# %% tags=["fact"]
assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
exact = values.double().sum().item()
assert abs(one_after_another.item() - exact) > 0.5 > 0.01 > abs(values.sum().item() - exact)

torch.use_deterministic_algorithms(True)
assert torch.empty(2).isnan().all()
for call in (
    lambda: torch.zeros(3).put_(torch.tensor([0, 0]), torch.tensor([1.0, 2.0])),
    lambda: torch.nn.functional.max_unpool1d(torch.ones(1, 1, 2), torch.tensor([[[0, 2]]]), 2),
):
    try:
        call()
        raise AssertionError("it has to raise")
    except RuntimeError as error:
        assert "does not have a deterministic implementation" in str(error)
assert torch.zeros(3).index_add(0, torch.tensor([0, 0]), torch.ones(2)).tolist() == [2, 0, 0]
torch.use_deterministic_algorithms(False)


# %% [markdown] tags=["en"]
# ### `deterministic_sum`
#
# **Return the sum of the gradients, with the same bits whatever the order of the list, and exact although large numbers cancel.**
#
# Gradients arrive from several workers, in any order. Write `deterministic_sum(gradients)`.
#
# * **Given.** A list of one to ten float32 tensors of the same shape (it may be `()`). All numbers are finite: some may cancel, some may be equal, and magnitudes from $10^{-9}$ to $10^{20}$ may occur.
# * **Result.** Their sum, entry by entry: a float32 tensor of that shape. <!-- sum -->
# * **Result.** The bits are the same for every order of the list. <!-- same_bits -->
# * **Result.** Each sum has a relative error of at most $10^{-5}$, even if large numbers cancel, unless it is more than $10^{9}$ times smaller than the largest of its numbers. <!-- accurate -->
# * **Result.** The tensors may lie on another device than the CPU, such as a GPU; the sum lies there, too. <!-- device -->
# * **Leave.** The list and its tensors. <!-- unchanged -->
# %% [markdown] tags=["ru"] of="2d8350bf"
# ### `deterministic_sum`
#
# **Верните сумму градиентов, которая до последнего бита не зависит от их порядка в списке и остаётся точной, даже если большие числа взаимно уничтожаются.**
#
# Градиенты приходят от нескольких процессов в любом порядке. Напишите функцию `deterministic_sum(gradients)`.
#
# * **Дано.** Список из 1–10 тензоров float32 одинаковой формы (возможно, `()`). Все числа конечны. Они могут повторяться и взаимно уничтожаться; их модули бывают от $10^{-9}$ до $10^{20}$.
# * **Результат.** Их поэлементная сумма: тензор float32 той же формы. <!-- sum -->
# * **Результат.** Биты одни и те же при любом порядке списка. <!-- same_bits -->
# * **Результат.** Относительная погрешность каждой суммы не больше $10^{-5}$, даже если большие числа взаимно уничтожаются. Исключение — суммы, модуль которых более чем в $10^{9}$ раз меньше модуля наибольшего слагаемого. <!-- accurate -->
# * **Результат.** Тензоры могут лежать не на CPU, а на другом устройстве, например на GPU; сумма лежит там же. <!-- device -->
# * **Не менять.** Список и его тензоры. <!-- unchanged -->
# %% answer="deterministic_sum"
def deterministic_sum(gradients):
    """The sum of float32 tensors, with the same bits for every order of the list."""
    ### BEGIN SOLUTION
    ordered = torch.stack(gradients).double().sort(dim=0).values
    return ordered.sum(dim=0).float()
    ### END SOLUTION


# %% alternative="deterministic_sum"
def deterministic_sum(gradients):
    import math

    columns = torch.stack(gradients).reshape(len(gradients), -1).T.tolist()
    return gradients[0].new_tensor([math.fsum(column) for column in columns]).reshape(gradients[0].shape)


# %% alternative="deterministic_sum"
def deterministic_sum(gradients):
    from fractions import Fraction

    total = [Fraction(0)] * gradients[0].numel()
    for gradient in gradients:
        total = [a + Fraction(b) for a, b in zip(total, gradient.flatten().tolist())]
    return torch.tensor([float(each) for each in total], device=gradients[0].device).view(gradients[0].shape)


# %% alternative="deterministic_sum"
def deterministic_sum(gradients):
    numbers = torch.stack(gradients)
    high_to_low = numbers.sort(dim=0, descending=True).values.to(torch.float64)
    total = torch.zeros_like(high_to_low[0])
    for row in high_to_low:
        total = total + row
    return total.to(numbers.dtype)


# %% check="deterministic_sum"
from autograder import check

check("deterministic_sum")
# %% [markdown] tags=["en"]
# ## Bugs that no gradient shows
#
# “Python Functions are safe from threads, because of the GIL” is half true. The GIL is a lock of Python's: only the thread that has it runs Python code. But it changes hands between any two steps. `Counter` counts on the class how often its `backward` has run. Two threads run it once each, on an `x` of their own; the barrier stands between reading and writing.
# %% [markdown] tags=["ru"] of="e80743ec"
# ## Ошибки, которых по градиентам не видно
#
# «Пользовательские функции потокобезопасны благодаря GIL» — это правда лишь наполовину. GIL — это блокировка самого Python: код на Python выполняет только тот поток, который её захватил. Но между любыми двумя шагами программы эту блокировку может получить другой поток. Пользовательская функция `Counter` считает, сколько раз выполнен её `backward`, а счётчик хранит в самом классе. Два потока выполняют этот метод по одному разу, каждый для своего `x`. Барьер стоит между чтением счётчика и присваиванием.
# %%
between = threading.Barrier(2)


class Counter(torch.autograd.Function):
    n = 0

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        n = Counter.n
        between.wait()
        Counter.n = n + 1
        return grad_output


leaves = [torch.ones(2, requires_grad=True) for _ in range(2)]
together(*[lambda x=x: Counter.apply(x).sum().backward() for x in leaves])
print("gradients:     ", *[x.grad.tolist() for x in leaves])
print("passes counted:", Counter.n)
# %% tags=["fact"]
assert [x.grad.tolist() for x in leaves] == [[1, 1], [1, 1]] and Counter.n == 1


# %% [markdown] tags=["en"]
# Both gradients are right, and one of two passes is counted. The nodes written in C++ that need it hold a mutex (a lock) of their own while they run; the node of a custom Function has the GIL and nothing more. So what your `backward` keeps outside `ctx` is shared, and needs a lock of yours.
#
# ### `fix_threads`
#
# **A model is evaluated in threads, one for each batch, and the memory runs full. Mend the function.**
#
# The function evaluates a model in threads, one for each batch, and the memory runs full. Two things are wrong; mend it. `torch.inference_mode()` is allowed as well.
#
# * **Given.** `batches`, at least one. The caller's mode may be any.
# * **Result.** A list of `model(batch)` in the order of the batches; the model is called once for each. <!-- outputs -->
# * **Result.** Each call runs in a thread other than the caller's; one thread may serve several batches. <!-- in_threads -->
# * **Result.** When the function ends, by returning or by an error, all its threads have ended; those of a pool count as ended when its `with` block has. <!-- ended -->
# * **Result.** If the model raises an exception (an `Exception`) in a thread, the function raises the same object; it does not matter whether the other batches are computed then. <!-- error -->
# * **Leave.** The caller's mode. <!-- no_graph -->
# * **Not allowed.** To record a graph. <!-- no_graph -->
# %% [markdown] tags=["ru"] of="e6668e7a"
# Оба градиента верны, а сосчитан один проход из двух. Узлы на C++, которым нужна защита, на время выполнения захватывают собственный мьютекс, а узел пользовательской функции защищён только GIL. Поэтому всё, что ваш `backward` хранит вне `ctx`, доступно всем потокам сразу. Защищайте такие данные собственной блокировкой.
#
# ### `fix_threads`
#
# **Модель вычисляется в потоках, по одному на батч, и память переполняется. Исправьте функцию.**
#
# Функция вычисляет результаты модели в потоках, каждый батч — в отдельном, и памяти не хватает. В коде две ошибки. Исправьте функцию. Допускается и `torch.inference_mode()`.
#
# * **Дано.** Список `batches`, в нём хотя бы один батч. Режим в вызывающем потоке может быть любым.
# * **Результат.** Список результатов `model(batch)` в порядке батчей; для каждого батча модель вызвана один раз. <!-- outputs -->
# * **Результат.** Ни один вызов не выполняется в потоке, который вызвал функцию; один поток может обработать несколько батчей. <!-- in_threads -->
# * **Результат.** Когда функция завершилась, с результатом или с исключением, завершены и все её потоки; потоки пула считаются завершёнными, когда закончился его блок `with`. <!-- ended -->
# * **Результат.** Если модель в каком-то потоке вызвала исключение (класса `Exception`), этим же исключением (тем же самым объектом) завершается и функция. Будут ли тогда обработаны остальные батчи, неважно. <!-- error -->
# * **Не менять.** Режим в вызывающем потоке. <!-- no_graph -->
# * **Нельзя.** Записывать граф. <!-- no_graph -->
# %% answer="fix_threads"
def fix_threads(model, batches):
    outputs, errors = [None] * len(batches), []

    def work(i):
        try:
            with torch.no_grad():
                outputs[i] = model(batches[i])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return outputs


# %% given="fix_threads"
def fix_threads(model, batches):
    outputs = [None] * len(batches)

    def work(i):
        outputs[i] = model(batches[i])

    with torch.no_grad():
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return outputs


# %% alternative="fix_threads"
def fix_threads(model, batches):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(torch.no_grad()(lambda x: model(x)), batches))


# %% alternative="fix_threads"
def fix_threads(model, batches):
    from concurrent.futures import ThreadPoolExecutor

    @torch.inference_mode()
    def work(x):
        return model(x)

    with ThreadPoolExecutor() as pool:
        futures = [pool.submit(work, x) for x in batches]
    return [future.result() for future in futures]


# %% alternative="fix_threads"
def fix_threads(model, batches):
    results = {}

    def work(i, x):
        torch.set_grad_enabled(False)
        try:
            results[i] = model(x)
        except Exception as error:
            results[i] = error

    together(*[lambda i=i, x=x: work(i, x) for i, x in enumerate(batches)])
    for result in results.values():
        if isinstance(result, Exception):
            raise result
    return [results[i] for i in range(len(batches))]


# %% check="fix_threads"
from autograder import check

check("fix_threads")


# %% [markdown] tags=["en"]
# ## A backward pass inside a backward pass
#
# A node may itself call `backward()`. The engine then starts a second pass, a *re-entrant* one, inside the first, and goes on with the first when it ends. Checkpoints were built this way: keep only the input, run `f` again in the backward pass, and differentiate that second run.
#
# Nested passes run in the same thread up to a depth of 60. Deeper ones go to a thread of torch's own, so that the stack does not overflow.
#
# ### `recompute`
#
# **Complete `Recompute`: `f` runs unrecorded in the forward pass, and once more, recorded, in the backward pass.**
#
# * **Given.** `f`, a function or a module, which takes a tensor and may use parameters. `x`, which may be the result of other operations. `Recompute` may be used several times in one graph, which several passes may go through (with `retain_graph=True`).
# * **Result.** `Recompute.apply(f, x)` is `f(x)`. <!-- value -->
# * **Result.** `f` runs once in the forward pass, with recording off, and once in the backward pass, with recording on. <!-- calls -->
# * **Result.** The gradient of `x` is right for any `grad_output`. The gradients of the operations before `x` come from the outer pass alone, and `f` itself gets none. <!-- gradient -->
# * **Result.** The gradients of the parameters of `f` are added to their `.grad`. <!-- parameters -->
# %% [markdown] tags=["ru"] of="66860de8"
# ## Обратный проход внутри обратного прохода
#
# Узел и сам может вызвать `backward()`. Тогда движок начинает второй проход, *вложенный* (re-entrant), а закончив его, продолжает первый. Так устроен старый вариант контрольных точек (урок 06): от функции `f` хранится только её вход, а в обратном проходе она вычисляется ещё раз, и дифференцируется уже второе вычисление.
#
# До глубины 60 вложенные проходы выполняются в том же потоке. Те, что глубже, переходят в собственный поток torch, чтобы не переполнился стек.
#
# ### `recompute`
#
# **Допишите `Recompute`: в прямом проходе `f` выполняется без записи в граф, а в обратном ещё раз и с записью.**
#
# * **Дано.** Функция или модуль `f`, который принимает тензор и может использовать параметры. Тензор `x`, который может быть результатом других операций. Класс `Recompute` могут применить в одном графе несколько раз, и обратных проходов по этому графу может быть несколько (с `retain_graph=True`).
# * **Результат.** `Recompute.apply(f, x)` возвращает `f(x)`. <!-- value -->
# * **Результат.** Функция `f` выполняется один раз в прямом проходе, без записи, и один раз в обратном, с записью. <!-- calls -->
# * **Результат.** Градиент по `x` верен при любом `grad_output`. Через операции, которые выполнены до `x`, градиент идёт только во внешнем проходе. У аргумента `f` градиента нет. <!-- gradient -->
# * **Результат.** Градиенты параметров `f` прибавляются к их `.grad`. <!-- parameters -->
# %% answer="recompute"
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ### BEGIN SOLUTION
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            copy = x.detach().requires_grad_()
            y = ctx.f(copy)
        y.backward(grad_output)
        return None, copy.grad
        ### END SOLUTION


# %% alternative="recompute"
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(f, x):
        return f(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.f, x = inputs
        ctx.save_for_backward(x)

    @staticmethod
    @torch.enable_grad()
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].clone().detach().requires_grad_(True)
        torch.autograd.backward([ctx.f(x)], [grad_output])
        return None, x.grad


# %% alternative="recompute"
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f, ctx.x = f, x.detach()
        with torch.no_grad():
            return f(x)

    @staticmethod
    def backward(ctx, grad_output):
        with torch.enable_grad():
            x = ctx.x.clone().requires_grad_()
            (ctx.f(x) * grad_output).sum().backward()
        return None, x.grad


# %% alternative="recompute"
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.save_for_backward(x)
        ctx.function = f
        return ctx.function(x)

    @staticmethod
    def backward(ctx, grad_output):
        seen = []
        with torch.set_grad_enabled(True):
            x = ctx.saved_tensors[0].detach().requires_grad_()
            x.register_hook(lambda gradient: seen.append(gradient.clone()))
            ctx.function(x).backward(gradient=grad_output)
        return None, seen[0]


# %% check="recompute"
from autograder import check

check("recompute")
# %% tags=["fact"]
passes = []


class Deeper(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        passes.append(threading.get_ident())
        if ctx.depth:
            with torch.enable_grad():
                Deeper.apply(torch.ones(1, requires_grad=True), ctx.depth - 1).backward()
        return grad_output, None


Deeper.apply(torch.ones(1, requires_grad=True), 70).backward()
assert [i for i in range(1, 71) if passes[i] != passes[i - 1]] == [61]
# %% [markdown] tags=["en"]
# ## Several devices, several processes
#
# With a GPU the picture changes in three places; the cell below looks at all of them.
#
# * **Threads.** Each GPU has a thread of torch's own that runs the nodes of that device. The caller waits for it. Hooks on tensors of a GPU therefore run in another thread than the caller's, and what is local to a thread may differ there; torch carries grad mode over for you.
# * **Streams.** Each node runs on the CUDA stream on which its forward operation ran, and the engine makes the streams wait for each other where gradients cross. If `backward()` is called under another stream than the one that later reads `.grad`, the same rules hold as for any operation: the reading stream has to wait.
# * **Order.** On a GPU `index_add`, `scatter_add` and others add with atomic operations, in a random order. There `use_deterministic_algorithms(True)` takes an implementation that adds in a fixed order, or raises.
#
# `DataParallel` runs a copy of the model on each GPU, each in a thread of one process. On the CPU it does nothing of the kind: `device_ids` is empty, and it calls the module in the caller's thread. So it cannot show on a CPU that hooks for saved tensors do not reach the threads: there are no threads. The documentation advises `DistributedDataParallel` instead: one process for each device, a copy of the model in each, and gradients averaged between the processes as soon as they are complete, while the backward pass goes on. No thread shares a `.grad` with another.
# %% [markdown] tags=["ru"] of="4c82ad1c"
# ## Несколько устройств и несколько процессов
#
# На GPU есть три отличия, и все их проверяет ячейка ниже.
#
# * **Потоки выполнения.** Узлы каждого GPU выполняет отдельный поток torch, а поток, который начал проход, ждёт. Поэтому хуки тензоров на GPU вызываются не в том потоке, который вызвал `backward()`, и режимы, которые действуют только в одном потоке, там могут быть другими. Исключение — режим отслеживания вычислений: его torch передаёт сам.
# * **Потоки CUDA (streams).** Каждый узел выполняется в том потоке CUDA, в котором в прямом проходе выполнялась его операция. Там, где градиент переходит из одного потока CUDA в другой, движок заставляет второй дождаться первого. Если `.grad` потом читают в другом потоке CUDA, правила те же, что для любой операции: читающий поток должен подождать.
# * **Порядок.** На GPU `index_add`, `scatter_add` и ряд других операций складывают числа атомарно, в случайном порядке. Для таких операций режим `use_deterministic_algorithms(True)` включает реализацию с постоянным порядком сложения или приводит к ошибке.
#
# Обёртка `DataParallel` создаёт копию модели на каждом GPU и запускает все копии в одном процессе, каждую в своём потоке. На CPU ничего подобного не происходит: список `device_ids` пуст, и модуль вызывается в том же потоке. Поэтому на CPU с помощью этой обёртки нельзя показать, что хуки сохранённых тензоров не действуют в других потоках: других потоков там нет. Документация советует вместо неё `DistributedDataParallel`. Для каждого устройства запускается свой процесс со своей копией модели, а градиенты усредняются между процессами по мере готовности, пока обратный проход ещё идёт. Общего поля `.grad` у потоков здесь нет.
# %%
from autograder import on_gpu

net = torch.nn.DataParallel(torch.nn.Linear(2, 1))


def engine_on_gpu():
    x = torch.ones(3, device="cuda", requires_grad=True)
    stream, seen = torch.cuda.Stream(), {}
    stream.wait_stream(torch.cuda.current_stream())  # until x is there

    def look(_):
        seen["recording in a hook"] = torch.is_grad_enabled()
        seen["the hook runs in the caller's thread"] = threading.current_thread() is threading.main_thread()
        seen["it runs on the stream of the forward pass"] = torch.cuda.current_stream() == stream

    with torch.cuda.stream(stream):
        y = 2 * x
        y.register_hook(look)
        loss = y.sum()
    loss.backward()  # called under another stream
    numbers, at = torch.rand(10_000, device="cuda"), torch.randint(10, (10_000,), device="cuda")
    torch.use_deterministic_algorithms(True)
    try:
        sums = [torch.zeros(10, device="cuda").index_add(0, at, numbers) for _ in range(2)]
    finally:
        torch.use_deterministic_algorithms(False)
    return {**seen, "index_add gives the same bits in that mode": torch.equal(*sums)}


if not torch.cuda.is_available():
    print("DataParallel without a GPU uses the devices", net.device_ids)
on_gpu(engine_on_gpu)
# %% tags=["fact"]
from autograder.lessons.gpu_recordings import check_claims

check_claims(
    engine_on_gpu,
    lambda measured: {
        "a hook runs in another thread": not measured["the hook runs in the caller's thread"],
        "grad mode is carried over": not measured["recording in a hook"],
        "a node runs on the stream of its operation": measured["it runs on the stream of the forward pass"],
        "index_add is reproducible in that mode": measured["index_add gives the same bits in that mode"],
    },
)
if not torch.cuda.is_available():
    called_in = []
    net.module.register_forward_hook(lambda *_: called_in.append(threading.current_thread()))
    net(torch.ones(4, 2))
    assert called_in == [threading.current_thread()] and net.device_ids == []
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
