# %% [markdown] tags=["en"] needs="05, 06, 08" about="which thread and which order, last bits, nested passes, profiles, what `torch.compile` does to backward"
# # The engine behind `backward()`
#
# Two threads add their gradients to one weight, and one of the two is lost. The same numbers are added in another order, and the last bits differ. A function is compiled, and its second derivative raises. `backward()` is one line; behind it an engine decides which node runs next, and in which thread.
#
# After this lesson you can:
#
# * say which thread runs what, and use several threads without losing a gradient;
# * predict the order in which the nodes run;
# * say where the last bits of a gradient come from, and make them the same each time;
# * find the node that costs most in a profile;
# * say what `torch.compile` does to the backward pass, and what it takes away.
#
# You need lessons 05 (modes), 06 (hooks of saved tensors, checkpoints) and 08 (hooks on gradients and on nodes); for the extra exercise `recompute` also 07 (custom Functions). Everything here runs on one core, without a GPU and without a C++ compiler.
# %% [markdown] tags=["ru"] about="в каком потоке и в каком порядке, последние биты, вложенные проходы, профиль, что `torch.compile` делает с обратным проходом" of="5b13882c"
# # Что стоит за вызовом `backward()`
#
# Два потока накапливают градиенты одного веса, и один из градиентов пропадает. Те же числа складываются в другом порядке, и последние биты суммы меняются. Функцию скомпилировали, и вторую производную взять уже нельзя. Вызов `backward()` занимает одну строку, но за ним стоит движок autograd: он решает, какой узел выполнить следующим и в каком потоке.
#
# После урока вы сможете:
#
# * сказать, в каком потоке что выполняется, и работать в нескольких потоках, не теряя градиентов;
# * предсказать, в каком порядке выполняются узлы;
# * объяснить, откуда берутся последние биты градиента, и сделать их всегда одинаковыми;
# * найти по профилю самый дорогой узел;
# * сказать, что `torch.compile` делает с обратным проходом и чего после этого делать нельзя.
#
# Понадобятся уроки 05 (режимы отслеживания), 06 (хуки сохранённых тензоров, контрольные точки) и 08 (хуки градиентов и узлов), а для дополнительного упражнения `recompute` — ещё и урок 07 (пользовательские функции). Для всех примеров достаточно одного ядра. Ни GPU, ни компилятор C++ не нужны.
# %% tags=["en"]
# The import fails? Install the course's file (or autograd-course) by pip, uninstall another `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("engine", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите через pip файл курса (или autograd-course), а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("engine", language="ru")
# %%
import threading

import torch


# %% [markdown] tags=["en"]
# ## Which thread, which order
#
# On the CPU torch keeps no thread of its own for the backward pass: whoever calls `backward()` runs it. The function `engine_table` below starts threads and notes what they see. Each question has a short answer; some of them are guessed wrong by almost everybody.
#
# The helper `in_thread` runs a function in a new thread and waits for it.
# %% [markdown] tags=["ru"] of="ea742c55"
# ## В каком потоке и в каком порядке
#
# На CPU у torch нет отдельного потока для обратного прохода: проход выполняет тот поток, который вызвал `backward()`. Функция `engine_table` ниже запускает потоки и записывает, что в каждом из них происходит. Ответы короткие, но в некоторых ошибаются почти все.
#
# Нам понадобится вспомогательная функция: `in_thread` выполняет другую функцию в новом потоке и ждёт её завершения.
# %%
def in_thread(work):
    """Run `work()` in a new thread called "worker", and return its result or the name of its error."""
    outcome = []

    def run():
        try:
            outcome.append(work())
        except RuntimeError as error:
            outcome.append(type(error).__name__)

    thread = threading.Thread(target=run, name="worker")
    thread.start()
    thread.join()
    return outcome[0]


# %% [markdown] tags=["en"]
# `seen` is the table. Read the cell; do not call `engine_table()` yet.
# %% [markdown] tags=["ru"] of="cf7b3ae5"
# Словарь `seen` — это и есть таблица. Прочтите ячейку, но `engine_table()` пока не вызывайте.
# %%
def engine_table():
    seen = {}
    w = torch.tensor(1.0, requires_grad=True)

    y = (3 * w).exp()  # the forward pass runs here
    y.register_hook(lambda _: seen.update({"the hook runs in": threading.current_thread().name}))
    in_thread(y.backward)
    seen["two passes through one graph"] = in_thread(y.backward) or "accepted"

    w.grad = None
    both_have_added = threading.Barrier(2)

    def contribute(k):
        (k * w).backward()
        both_have_added.wait()
        seen[f"w.grad read by thread {k}"] = w.grad.item()

    threads = [threading.Thread(target=contribute, args=(k,)) for k in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    with torch.no_grad():
        seen["recorded in a thread, under no_grad"] = in_thread(lambda: (2 * w).requires_grad)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(packed.append, lambda t: t):
        in_thread(lambda: w.detach().requires_grad_().square())
    seen["packs in a thread"] = len(packed)
    torch.autograd.set_detect_anomaly(True)
    seen["anomaly mode in a thread"] = in_thread(torch.is_anomaly_enabled)
    torch.autograd.set_detect_anomaly(False)

    order = []
    a, b, c = w.sin(), w.cos(), w.exp()
    for name, result in {"a": a, "b": b, "c": c}.items():
        result.grad_fn.register_prehook(lambda _, name=name: order.append(name))
    ((b + c) + a).backward()
    seen["order of a, b, c"] = "".join(order)
    return seen


# %% [markdown] tags=["en"]
# ### Exercise `predict_engine`: which thread, which order
# *predict · ●●○ · 10 minutes · 1 point*
#
# Put what `engine_table()` returns in place of each `...`. The first entry is the name of a thread: `"main"` for the one of this notebook (its real name is longer), or `"worker"`. `two passes through one graph` is `"accepted"` or `"RuntimeError"`. What is read from `w.grad` is a number, and so are the packs. `recorded` and `anomaly mode` are True or False. The last entry is a word of three letters, such as `"abc"`.
# %% [markdown] tags=["ru"] of="9c49b5d2"
# ### Упражнение `predict_engine`: в каком потоке и в каком порядке
# *предсказать · ●●○ · 10 минут · 1 балл*
#
# Вместо каждого `...` поставьте то, что вернёт `engine_table()`. В первой строке — имя потока: `"main"`, если это поток самой тетради (полное имя длиннее), или `"worker"`. В строке `two passes through one graph` — `"accepted"` или `"RuntimeError"`. Значение, прочитанное из `w.grad`, — число, количество упаковок (packs) — тоже. В строках `recorded` и `anomaly mode` — True или False. В последней строке — три буквы подряд, например `"abc"`.
# %% answer="predict_engine"
predict_engine = {
    "the hook runs in": "worker",
    "two passes through one graph": "RuntimeError",
    "w.grad read by thread 1": 3.0,
    "w.grad read by thread 2": 3.0,
    "recorded in a thread, under no_grad": True,
    "packs in a thread": 0,
    "anomaly mode in a thread": True,
    "order of a, b, c": "cba",
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
    "order of a, b, c": ...,
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
# What crosses into a new thread, and what does not: `no_grad`, `inference_mode`, autocast and hooks for saved tensors stay in the thread that entered them. Anomaly mode, `use_deterministic_algorithms`, the default dtype and the random generator belong to the whole process.
#
# Two threads must not share a *graph* that saves tensors: the first pass frees them, and the second one raises. Two threads that share only a *leaf* are fine; more on that below.
# %% [markdown] tags=["ru"] explains="predict_engine" of="8a29f702"
# Что переходит в новый поток, а что нет? Режимы `no_grad`, `inference_mode`, autocast и хуки сохранённых тензоров действуют только в том потоке, в котором они включены. Режим обнаружения аномалий, `use_deterministic_algorithms`, dtype по умолчанию и генератор случайных чисел — общие для всего процесса.
#
# Общего *графа* с сохранёнными тензорами у двух потоков быть не должно: первый проход их освобождает, и второй завершается исключением. Если общий только *лист*, всё в порядке. Об этом ниже.
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
# Узел можно выполнить, когда выполнены узлы всех операций, которые использовали результат его операции. Если готовых узлов несколько, движок берёт тот, который создан *последним*: при создании в прямом проходе каждый узел получает номер, `_sequence_nr()`, и первым идёт узел с наибольшим номером. У узлов листьев (`AccumulateGrad`) номер самый большой, поэтому готовый градиент сразу попадает в `.grad`.
# %%
x = torch.tensor(0.5, requires_grad=True)
a, b, c = x.sin(), x.cos(), x.exp()
loss = (b + c) + a

for name, result in {"a": a, "b": b, "c": c, "loss": loss}.items():
    print(name, result.grad_fn.name(), result.grad_fn._sequence_nr() - a.grad_fn._sequence_nr())
# %% tags=["picture"]
from autograder import draw

draw(loss)
# %% tags=["fact"]
assert [t.grad_fn._sequence_nr() - a.grad_fn._sequence_nr() for t in (a, b, c, loss)] == [0, 1, 2, 4]
leaf_node = a.grad_fn.next_functions[0][0]
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
# ### Exercise `node_order`: the order of the nodes
# *complete · ●●○ · 12 minutes · 3 points*
#
# Write `node_order(loss)`.
#
# * **Given.** `loss`, a scalar whose graph was made in one thread. Nobody has called `retain_grad()`.
# * **Result.** A list of names (`node.name()`), one for each node behind `loss`, without the nodes of leaves, `AccumulateGrad`. <!-- nodes -->
# * **Result.** They stand in the order in which the engine runs the nodes in a backward pass. <!-- order -->
# * **Leave.** Every `.grad`, and the graph: a later `loss.backward()` works. <!-- untouched -->
# * **Not allowed.** A hook of yours that runs in a later pass. <!-- untouched -->
# %% [markdown] tags=["ru"] of="3aa94504"
# В каждом потоке узлы нумеруются с нуля. Если часть графа создана в другом потоке, номера её узлов малы и выполняются эти узлы поздно, хотя созданы недавно. От номеров зависит только то, какой из готовых узлов будет взят первым, поэтому градиент верен в любом случае.
#
# ### Упражнение `node_order`: порядок узлов
# *дописать · ●●○ · 12 минут · 3 балла*
#
# Напишите функцию `node_order(loss)`.
#
# * **Дано.** Скаляр `loss`, граф которого создан в одном потоке. Метод `retain_grad()` никто не вызывал.
# * **Результат.** Список имён (`node.name()`), по одному на каждый узел графа `loss`, без узлов листьев, `AccumulateGrad`. <!-- nodes -->
# * **Результат.** Имена стоят в том порядке, в котором движок выполняет узлы в обратном проходе. <!-- order -->
# * **Не менять.** Поля `.grad` и граф: следующий вызов `loss.backward()` работает. <!-- untouched -->
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
# Можно встретить такой совет: если потоков несколько, берите `torch.autograd.grad`, а не `backward()`, иначе возможна гонка. Посчитаем. Восемь потоков делают по 100 обратных проходов, и каждый проход прибавляет 1 к одному и тому же полю `.grad`.
# %%
def together(*works):
    """Run each of `works` in a thread of its own, and wait for all of them."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


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

both_in = threading.Barrier(2)


class Counter(torch.autograd.Function):
    n = 0

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        n = Counter.n
        both_in.wait()
        Counter.n = n + 1
        return grad_output


together(*[lambda: Counter.apply(torch.ones(2, requires_grad=True)).sum().backward()] * 2)
assert Counter.n == 1

one, two = 5 * w, 7 * w  # two graphs, one node for the leaf: hence one mutex
assert one.grad_fn.next_functions[0][0] is two.grad_fn.next_functions[0][0]


# %% [markdown] tags=["en"]
# 800 of 800 with `backward()`: the node of a leaf holds a lock while it adds, and all graphs share that node. With `torch.autograd.grad` the adding is *our* code, and 1 of 2 is left. The barrier makes sure of it: both threads read 0, then both write 1. Without it, the loss is a matter of luck. This is what a race is, and the advice above leads into it.
#
# `backward()` has another trap. `.grad` is shared, so a thread that reads it after its own pass sees the gradients of all threads. To set it to None while others add is worse still: updates vanish, and some threads die with an internal error of torch.
#
# “Python Functions are safe from threads, because of the GIL” is half true. The nodes written in C++ that need it hold a mutex of their own while they run; the node of a custom Function has the GIL and nothing more. But what your `backward` keeps outside `ctx`, on the class for instance, is shared, and `Counter.n = Counter.n + 1` is a reading and a writing: another thread may come between. And an example in which ten threads each make an `x` of their own shows nothing: nothing is shared there.
#
# So there are two needs. A thread that only contributes calls `backward()`. A thread that wants its own gradient as well takes `torch.autograd.grad`, and adds under a lock.
#
# ### Exercise `locked_accumulation`: many threads, one `.grad`
# *design · ●●● · 14 minutes · 5 points*
#
# Write `locked_accumulation(w, loss_of, lock)`, which runs in several threads at once.
#
# * **Given.** The leaf `w` and the `lock` (like `threading.Lock()`), the same for all threads; `loss_of`, a function for each. `w.grad` may be None or hold an earlier gradient.
# * **Result.** When all threads have ended, `w.grad` holds what was there before plus the gradient of every `loss_of(w)`. <!-- sum -->
# * **Result.** Each call returns the gradient of its own loss alone: a tensor that never changes later, even if some `backward()` adds to `w.grad` in place. <!-- own -->
# * **Not allowed.** To read or write `w.grad` in your code without holding `lock`, which has to be released afterwards. (`backward()` needs no lock.) <!-- locked -->
# * **Not allowed.** To run `loss_of` or the backward pass under the lock: otherwise the threads take turns. `loss_of` is called once, for a copy of `w`, if you like. <!-- outside -->
# %% [markdown] tags=["ru"] of="4e7c295d"
# С `backward()` получилось 800 из 800: узел листа на время сложения захватывает мьютекс, а узел этот у всех графов один и тот же. После `torch.autograd.grad` складывает уже *наш* код, и от двух единиц остаётся одна. Барьер здесь нужен для наглядности: оба потока читают 0, потом оба пишут 1. Без барьера потеря зависела бы от случая. Это и есть гонка, и совет, с которого мы начали, ведёт прямо к ней.
#
# У `backward()` есть своя ловушка. Поле `.grad` общее, и поток, который читает его после своего прохода, видит сумму градиентов всех потоков. Ещё хуже записать туда None, пока другие складывают: часть градиентов пропадёт, а некоторые потоки завершатся с внутренней ошибкой torch.
#
# «Функции на Python потокобезопасны благодаря GIL» — правда лишь наполовину. Узлы на C++, которым это нужно, на время выполнения захватывают собственный мьютекс, а узел пользовательской функции защищён только GIL. Но всё, что ваш `backward` хранит вне `ctx`, например в самом классе, — общее, а `Counter.n = Counter.n + 1` — это чтение и запись, и между ними может вклиниться другой поток. А пример, в котором каждый из десяти потоков создаёт свой `x`, ничего не показывает: общего у них ничего нет.
#
# Итак, есть два случая. Поток, который только добавляет свой градиент, вызывает `backward()`. Поток, которому нужен и собственный градиент, вызывает `torch.autograd.grad` и складывает, захватив блокировку.
#
# ### Упражнение `locked_accumulation`: много потоков, одно поле `.grad`
# *спроектировать · ●●● · 14 минут · 5 баллов*
#
# Напишите функцию `locked_accumulation(w, loss_of, lock)`, которая выполняется сразу в нескольких потоках.
#
# * **Дано.** Лист `w` и блокировка `lock` (такая же, как `threading.Lock()`), общие для всех потоков; функция `loss_of` у каждого своя. В `w.grad` может лежать None или прежний градиент.
# * **Результат.** Когда все потоки завершились, в `w.grad` лежит прежний градиент плюс градиенты всех `loss_of(w)`. <!-- sum -->
# * **Результат.** Каждый вызов возвращает градиент только своей функции потерь — тензор, который больше не изменится, даже если какой-нибудь вызов `backward()` прибавит к `w.grad` на месте. <!-- own -->
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
# ## Bugs that no gradient shows
#
# ### Extra exercise `fix_threads`: evaluation in threads
# *find the bug · ●●○ · 10 minutes · 3 points · extra*
#
# The function evaluates a model in threads, one for each batch, and the memory runs full. Two things are wrong; mend it. `torch.inference_mode()` is allowed as well.
#
# * **Given.** `batches`, at least one. The caller's mode may be any.
# * **Result.** A list of `model(batch)` in the order of the batches; the model is called once for each. <!-- outputs -->
# * **Result.** Each call runs in a thread other than the caller's; one thread may serve several batches. When the function ends, by returning or by an error, all its threads have ended; those of a pool count as ended when its `with` block has. <!-- in_threads -->
# * **Result.** If the model raises an exception (an `Exception`) in a thread, the function raises the same object; it does not matter whether the other batches are computed then. <!-- error -->
# * **Leave.** The caller's mode. <!-- no_graph -->
# * **Not allowed.** To record a graph. <!-- no_graph -->
# %% [markdown] tags=["ru"] of="5a53f73c"
# ## Ошибки, которых по градиентам не видно
#
# ### Дополнительное упражнение `fix_threads`: оценка модели в потоках
# *найти ошибку · ●●○ · 10 минут · 3 балла · дополнительно*
#
# Функция вычисляет результаты модели в потоках, по одному на батч, и память при этом заканчивается. В коде две ошибки. Исправьте функцию. Допускается и `torch.inference_mode()`.
#
# * **Дано.** Список `batches`, в нём хотя бы один батч. Режим в вызывающем потоке может быть любым.
# * **Результат.** Список `model(batch)` в порядке батчей; модель вызвана по одному разу на батч. <!-- outputs -->
# * **Результат.** Каждый вызов выполняется не в том потоке, который вызвал функцию; один поток может обработать несколько батчей. Когда функция завершилась, с результатом или с исключением, завершены и все её потоки; потоки пула считаются завершёнными, когда завершён его блок `with`. <!-- in_threads -->
# * **Результат.** Если в потоке модель завершилась исключением (класса `Exception`), функция завершается с тем же самым объектом исключения; будут ли тогда обработаны остальные батчи, не важно. <!-- error -->
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
# ## The last bits
#
# Threads that add to one `.grad` lose nothing, but the *order* in which they add is random. Does it matter? In mathematics it does not. In float32 each addition rounds, and $(0.01 + 0.02) + 0.03$ rounds to another number than $(0.03 + 0.02) + 0.01$.
# %% [markdown] tags=["ru"] of="ad782e68"
# ## Последние биты
#
# Потоки, которые прибавляют градиенты к одному `.grad`, ничего не теряют, но *порядок* сложения у них случаен. Важен ли он? В математике — нет. Но в float32 округляется результат каждого сложения, и $(0.01 + 0.02) + 0.03$ округляется не до того числа, до которого $(0.03 + 0.02) + 0.01$.
# %%
def accumulated(numbers):
    """The `.grad` of a float32 weight after one backward pass for each number."""
    w = torch.tensor(1.0, requires_grad=True)
    for number in numbers:
        (w * number).backward()
    return w.grad.item()


print(accumulated([0.01, 0.02, 0.03]), accumulated([0.03, 0.02, 0.01]))
print(accumulated([1e8, 1.0, -1e8]), accumulated([1e8, -1e8, 1.0]))
# %% tags=["fact"]
assert accumulated([0.01, 0.02, 0.03]) == 0.05999999865889549
assert accumulated([0.03, 0.02, 0.01]) == 0.059999994933605194
assert accumulated([1e8, 1.0, -1e8]) == 0 and accumulated([1e8, -1e8, 1.0]) == 1
assert accumulated([0.1, 0.2, 0.3]) == accumulated([0.3, 0.2, 0.1])
assert (0.1 + 0.2) + 0.3 != (0.3 + 0.2) + 0.1


# %% [markdown] tags=["en"]
# ### Extra exercise `order_changes_bits`: the order changes the bits
# *write the counter-example · ●●○ · 8 minutes · 2 points · extra*
#
# * **Result.** A list of three numbers, each from 0.1 to 10. <!-- allowed -->
# * **Result.** `accumulated(numbers)` differs from `accumulated(numbers[::-1])`. The well-known example 0.1, 0.2, 0.3 is one for float64: in float32 both orders agree. <!-- differs -->
# %% [markdown] tags=["ru"] of="ebf34156"
# ### Дополнительное упражнение `order_changes_bits`: порядок меняет биты
# *построить контрпример · ●●○ · 8 минут · 2 балла · дополнительно*
#
# * **Результат.** Список из трёх чисел, каждое от 0.1 до 10. <!-- allowed -->
# * **Результат.** `accumulated(numbers)` и `accumulated(numbers[::-1])` различаются. Известный пример 0.1, 0.2, 0.3 относится к float64: в float32 оба порядка дают одно и то же. <!-- differs -->
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
# An order is hidden in many places. `index_add` adds 100 000 numbers one after the other; `sum` adds them in blocks. Neither is wrong, and the bits differ.
# %% [markdown] tags=["ru"] of="2ff54cb2"
# ### Что обещает `use_deterministic_algorithms`
#
# Вызов `torch.use_deterministic_algorithms(True)` переключает torch на реализации, которые складывают в одном и том же порядке — при тех же входах, на той же машине и в той же версии. Если такой реализации нет, операция завершается ошибкой `RuntimeError`: на CPU это, например, `put_` и `max_unpool1d`. Побочное действие: память из `torch.empty` заполняется значениями NaN, чтобы хотя бы прочитанное из неё было всегда одинаковым. Но обещает этот режим *не всё*. Он не учитывает ни ваших потоков, ни порядка, в котором приходят градиенты от ваших процессов. Не гарантирует он и тех же битов при другом числе потоков или на другой машине.
#
# Порядок сложения скрыт внутри многих операций. Операция `index_add` складывает 100 000 чисел одно за другим, а `sum` — блоками. Оба результата верны, но биты разные.
# %%
values = torch.full((100_000,), 0.1)
to_entry_0 = torch.zeros(100_000, dtype=torch.long)
one_after_another = torch.zeros(1).index_add(0, to_entry_0, values)

print("index_add:", one_after_another.item())
print("sum:      ", values.sum().item())
print("float64:  ", values.double().sum().item())
# %% tags=["fact"]
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
# ### Exercise `deterministic_sum`: a sum with the same bits
# *design · ●●○ · 10 minutes · 4 points*
#
# Gradients arrive from several workers, in any order. Write `deterministic_sum(gradients)`.
#
# * **Given.** A list of one to ten float32 tensors of the same shape (it may be `()`). All numbers are finite: some may cancel, some may be equal, and magnitudes from $10^{-9}$ to $10^{20}$ may occur.
# * **Result.** Their sum, entry by entry: a float32 tensor of that shape. <!-- sum -->
# * **Result.** The bits are the same for every order of the list. <!-- same_bits -->
# * **Result.** Each sum has a relative error of at most $10^{-5}$, even if large numbers cancel, unless it is more than $10^{9}$ times smaller than the largest of its numbers. <!-- accurate -->
# * **Result.** The tensors may lie on another device than the CPU, such as a GPU; the sum lies there, too. <!-- device -->
# * **Leave.** The list and its tensors. <!-- unchanged -->
# %% [markdown] tags=["ru"] of="bd6eacb5"
# ### Упражнение `deterministic_sum`: сумма с одними и теми же битами
# *спроектировать · ●●○ · 10 минут · 4 балла*
#
# Градиенты приходят от нескольких процессов в любом порядке. Напишите функцию `deterministic_sum(gradients)`.
#
# * **Дано.** Список из 1–10 тензоров float32 одинаковой формы (возможно, `()`). Все числа конечны; они могут взаимно уничтожаться, повторяться и различаться по модулю от $10^{-9}$ до $10^{20}$.
# * **Результат.** Их поэлементная сумма: тензор float32 той же формы. <!-- sum -->
# * **Результат.** Биты одни и те же при любом порядке списка. <!-- same_bits -->
# * **Результат.** Относительная погрешность каждой суммы не больше $10^{-5}$, даже если большие числа взаимно уничтожаются; исключение — суммы, которые по модулю меньше наибольшего из слагаемых более чем в $10^{9}$ раз. <!-- accurate -->
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
# ## A backward pass inside a backward pass
#
# A node may itself call `backward()`. The engine then starts a second pass, a *re-entrant* one, inside the first, and goes on with the first when it ends. Checkpoints were built this way: keep only the input, run `f` again in the backward pass, and differentiate that second run.
#
# Nested passes run in the same thread up to a depth of 60. Deeper ones go to a thread of torch's own, so that the stack does not overflow.
#
# ### Extra exercise `recompute`: a pass inside the pass
# *complete · ●●● · 14 minutes · 4 points · extra*
#
# Complete the class `Recompute`.
#
# * **Given.** `f`, a function or a module, which takes a tensor and may use parameters. `x`, which may be the result of other operations. `Recompute` may be used several times in one graph, which several passes may go through (with `retain_graph=True`).
# * **Result.** `Recompute.apply(f, x)` is `f(x)`. <!-- value -->
# * **Result.** `f` runs once in the forward pass, with recording off, and once in the backward pass, with recording on. <!-- calls -->
# * **Result.** The gradient of `x` is right for any `grad_output`. The gradients of the operations before `x` come from the outer pass alone, and `f` itself gets none. <!-- gradient -->
# * **Result.** The gradients of the parameters of `f` are added to their `.grad`. <!-- parameters -->
# %% [markdown] tags=["ru"] of="1b313de2"
# ## Обратный проход внутри обратного прохода
#
# Узел и сам может вызвать `backward()`. Тогда движок начинает второй проход, *вложенный* (re-entrant), а закончив его, продолжает первый. Так устроен старый вариант контрольных точек (урок 06): в них хранится только вход, а в обратном проходе функция `f`, к которой применена контрольная точка, вычисляется ещё раз, и дифференцируется это второе вычисление.
#
# До глубины 60 вложенные проходы выполняются в том же потоке. Более глубокие переходят в собственный поток torch, чтобы не переполнился стек.
#
# ### Дополнительное упражнение `recompute`: проход внутри прохода
# *дописать · ●●● · 14 минут · 4 балла · дополнительно*
#
# Допишите класс `Recompute`.
#
# * **Дано.** Функция или модуль `f`, который принимает тензор и может использовать параметры. Тензор `x`, который может быть результатом других операций. `Recompute` можно применить в одном графе несколько раз, и по этому графу может пройти несколько проходов (с `retain_graph=True`).
# * **Результат.** `Recompute.apply(f, x)` — это `f(x)`. <!-- value -->
# * **Результат.** `f` выполняется один раз в прямом проходе, без записи, и один раз в обратном, с записью. <!-- calls -->
# * **Результат.** Градиент по `x` верен при любом `grad_output`. Градиенты операций, которые выполнены до `x`, вычисляет только внешний проход. Для аргумента `f` градиента нет. <!-- gradient -->
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
# ## Anomaly mode, and its price
#
# In anomaly mode torch does two things. In the forward pass each node notes the Python lines that made it. In the backward pass each gradient is searched for NaN as soon as its node has run, and the first one found raises an error with the name of the node. The lines come as a warning. How much work is that? The cell counts operations.
# %% [markdown] tags=["ru"] of="8bb23197"
# ## Режим обнаружения аномалий и его цена
#
# В этом режиме torch выполняет дополнительную работу двух видов. В прямом проходе для каждого узла запоминаются строки кода на Python, в которых он создан. В обратном проходе каждый градиент проверяется на NaN сразу после выполнения узла, и первый же найденный NaN вызывает исключение с именем узла. Сами строки выводятся в предупреждении. Много ли это работы? Ячейка считает операции.
# %%
import warnings

from torch.utils._python_dispatch import TorchDispatchMode


class CountOperations(TorchDispatchMode):
    times = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.times += 1
        return func(*args, **(kwargs or {}))


def operations_of_backward(layers, anomaly):
    y = torch.ones(3, requires_grad=True)
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(anomaly):
        warnings.simplefilter("ignore")
        for _ in range(layers):
            y = y.sin()
        with CountOperations() as count:
            y.sum().backward()
    return count.times


for layers in (3, 10):
    print(layers, "layers:", operations_of_backward(layers, False), "and", operations_of_backward(layers, True))
# %% tags=["fact"]
for layers in (3, 10):
    extra = operations_of_backward(layers, True) - operations_of_backward(layers, False)
    assert extra == 3 * (layers + 1)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    with torch.autograd.detect_anomaly():
        y = torch.ones(2, requires_grad=True).exp()
    assert any("in <module>" in line for line in y.grad_fn.metadata["traceback_"])
    with torch.autograd.detect_anomaly():
        torch.tensor(0.0, requires_grad=True).sqrt().backward()  # the gradient is inf, which is no NaN
assert not torch.ones(2, requires_grad=True).exp().grad_fn.metadata


# %% [markdown] tags=["en"]
# There are three operations more for each gradient: find where it is NaN, find out whether that is anywhere, and read the answer. The last of them waits for the number, which on a GPU makes the whole queue wait. To this add the Python lines noted for every node. So: on to find a NaN, then off. An infinite gradient is not reported.
#
# ### Extra exercise `fix_anomaly`: no forward line
# *find the bug · ●●○ · 10 minutes · 3 points · extra*
#
# Mend the function, which runs `f(x)` (a scalar) and its backward pass.
#
# * **Given.** `f` may raise an error or give warnings of its own; the backward pass fails only for a NaN. The `.grad` of `x` does not matter.
# * **Result.** If a NaN turns up in the backward pass, the text of torch's warning, with the node and the forward line; otherwise None. An infinite number alone is no NaN, and warnings of `f` itself or a NaN in its value alone are no report. An error of `f` reaches the caller. <!-- report -->
# * **Result.** `f` is called once. <!-- once -->
# * **Leave.** Anomaly mode: afterwards it is what it was before the call, on or off, also after an error. <!-- mode -->
# %% [markdown] tags=["ru"] of="1e646abc"
# На каждый градиент приходится на три операции больше: найти, где в градиенте NaN, проверить, есть ли он хоть где-нибудь, и прочитать ответ. Последняя из них ждёт готового числа, а на GPU из-за этого ждёт вся очередь. К этому прибавляется память: для каждого узла запоминаются строки кода, в которых он создан. Поэтому включайте режим, только чтобы найти NaN, а затем выключайте. О бесконечном градиенте режим не сообщает.
#
# ### Дополнительное упражнение `fix_anomaly`: строка не названа
# *найти ошибку · ●●○ · 10 минут · 3 балла · дополнительно*
#
# Исправьте функцию, которая вычисляет `f(x)` (это скаляр) и выполняет обратный проход.
#
# * **Дано.** Сама `f` может вызвать исключение или выдать предупреждения; в обратном проходе ошибка возможна только из-за NaN. Что окажется в поле `.grad` у `x`, не важно.
# * **Результат.** Если в обратном проходе появился NaN, возвращается текст предупреждения torch, в котором названы узел и строка прямого прохода, иначе — None. Бесконечное число — ещё не NaN. Если предупреждение выдала сама `f` или NaN есть только в значении, тоже возвращается None. Исключение из `f` доходит до вызывающего кода. <!-- report -->
# * **Результат.** Функция `f` вызвана один раз. <!-- once -->
# * **Не менять.** Режим обнаружения аномалий: после вызова, в том числе после исключения, он такой же, каким был до него, включён или выключен. <!-- mode -->
# %% answer="fix_anomaly"
def fix_anomaly(f, x):
    with torch.autograd.set_detect_anomaly(True):
        loss = f(x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
            except RuntimeError:
                return str(caught[-1].message)
    return None


# %% given="fix_anomaly"
def fix_anomaly(f, x):
    loss = f(x)
    torch.autograd.set_detect_anomaly(True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loss.backward()
        except RuntimeError:
            return str(caught[-1].message)
    return None


# %% alternative="fix_anomaly"
def fix_anomaly(f, x):
    before = torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True)
    try:
        loss = f(x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                loss.backward()
            except RuntimeError:
                return str(caught[-1].message)
    finally:
        torch.autograd.set_detect_anomaly(before)


# %% alternative="fix_anomaly"
def fix_anomaly(f, x):
    texts = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: texts.append(str(message))
        with torch.autograd.set_detect_anomaly(True):
            loss = f(x)
            try:
                torch.autograd.grad(loss, x)
            except RuntimeError as error:
                texts.append(str(error))
    return next((text for text in texts if "Traceback of forward call" in text), None)


# %% alternative="fix_anomaly"
def fix_anomaly(f, x):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            loss = f(x)
            try:
                loss.backward()
            except RuntimeError as error:
                assert "nan" in str(error)
    reports = [str(each.message) for each in said if "Error detected" in str(each.message)]
    return reports[0] if reports else None


# %% check="fix_anomaly"
from autograder import check

check("fix_anomaly")
# %% [markdown] tags=["en"]
# ## Reading a profile
#
# `torch.profiler` notes every operation with its time, and, if asked, the number of floating-point operations (FLOPs). Times change from run to run; counts do not. A profile of nine numbers, in the forward pass only, says little, even if a line in it says that `mul` costs 46 %.
#
# Let us profile a backward pass through two products, $24 \times 8$ and $8 \times 18$, and read the rows that begin with `autograd::engine::evaluate_function`. Each is a node, and below it stand the operations that it called. The profiler counts the FLOPs of matrix products, of convolutions, and of `mul` and `add`, one for each entry; the helper `flops_of` takes the matrix products alone.
# %% [markdown] tags=["ru"] of="c8b070e2"
# ## Как читать профиль
#
# Профилировщик `torch.profiler` записывает каждую операцию и её время, а если задать соответствующий параметр, то и число операций с плавающей точкой (FLOP). Время от запуска к запуску меняется, числа операций — нет. Если профилировали только прямой проход, да ещё над девятью числами, строка «46 % времени — на `mul`» почти ничего не значит.
#
# Запишем профиль обратного прохода через два умножения на матрицы, $24 \times 8$ и $8 \times 18$, и прочтём строки, которые начинаются с `autograd::engine::evaluate_function`. Каждая из них соответствует узлу, а под ней перечислены операции, которые он вызвал. Профилировщик считает FLOP матричных произведений и свёрток, а также операций `mul` и `add`, по одной на элемент. Функция `flops_of` учитывает только матричные произведения.
# %%
import os

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler does not report its start and stop
from torch.profiler import ProfilerActivity, profile

ENGINE = "autograd::engine::evaluate_function: "


PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")


def flops_of(event):
    """The FLOPs of the matrix products in a row of the profile and in everything below it."""
    own = event.flops if event.name in PRODUCTS else 0
    return own + sum(flops_of(child) for child in event.cpu_children)


data = torch.ones(5, 24)
w1 = torch.ones(24, 8, requires_grad=True)
w2 = torch.ones(8, 18, requires_grad=True)
loss = ((data @ w1).tanh() @ w2).sum()

with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
    loss.backward()
for event in profiled.events():
    if event.name.startswith(ENGINE):
        calls = [child.name for node in event.cpu_children for child in node.cpu_children]
        print(f"{event.name.removeprefix(ENGINE):32}{flops_of(event):6}  {' '.join(calls)}")
# %% tags=["fact"]
costs = [
    flops_of(event) for event in profiled.events() if event.name.startswith(ENGINE) and "MmBackward0" in event.name
]
assert costs == [2 * 2 * 5 * 8 * 18, 2 * 5 * 24 * 8]
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiled:
    with torch.profiler.record_function("first"):
        hidden = (data @ w1).tanh()
    (hidden @ w2).sum().backward()
by_name = [row for row in profiled.key_averages() if row.key == "MmBackward0"]
by_shape = [row for row in profiled.key_averages(group_by_input_shape=True) if row.key == "MmBackward0"]
assert [row.count for row in by_name] == [2]  # `record_function` does not divide the row
assert sorted(row.input_shapes for row in by_shape) == [[[5, 8]], [[5, 18]]]
assert 2 * 5 * 24 * 8 > 2 * 5 * 8 * 18  # in the forward pass the first product costs more
wide = torch.ones(3, 50)
with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
    wide * wide, wide + wide, wide.exp(), wide @ torch.ones(50, 2)
    torch.nn.functional.conv2d(torch.ones(1, 1, 5, 5), torch.ones(1, 1, 3, 3))
counted = {event.name: event.flops for event in profiled.events() if event.flops}
assert counted == {"aten::mul": 150, "aten::add": 150, "aten::mm": 2 * 3 * 50 * 2, "aten::conv2d": 2 * 9 * 9}
assert sum(flops_of(event) for event in profiled.events() if event.cpu_parent is None) == 2 * 3 * 50 * 2


# %% [markdown] tags=["en"]
# Two rows are called `MmBackward0`. The second product cost less in the forward pass ($2 \cdot 5 \cdot 8 \cdot 18 = 1440$ against $2 \cdot 5 \cdot 24 \cdot 8 = 1920$). In the backward pass it costs more: 2880 against 1920. It makes two products, one for each factor; the first layer makes one, because the data need no gradient.
#
# In the table of `key_averages()` all nodes of a name share one row. To tell nodes of one name apart, record the shapes with `record_shapes=True` and call `key_averages(group_by_input_shape=True)`: nodes whose gradients have different shapes get rows of their own.
#
# ### Exercise `costly_node`: the costly node
# *complete · ●●○ · 12 minutes · 3 points*
#
# Write `costly_node(loss)`. Use the helper `flops_of` if you like.
#
# * **Given.** `loss`, in which `mul` and `add` are cheap: counting them as well does not change the result. No two names cost the same.
# * **Result.** The name of the nodes (such as `"MmBackward0"`, `node.name()`) whose matrix products cost the most floating-point operations in the backward pass, all nodes of one name together. <!-- name -->
# * **Result.** One backward pass is run, and the leaves have the gradients of one `loss.backward()` in `.grad`. <!-- gradients -->
# %% [markdown] tags=["ru"] of="039e928e"
# Строк с именем `MmBackward0` здесь две. Второе произведение в прямом проходе дешевле ($2 \cdot 5 \cdot 8 \cdot 18 = 1440$ против $2 \cdot 5 \cdot 24 \cdot 8 = 1920$), а в обратном дороже: 2880 против 1920. Для второго в обратном проходе вычисляются два произведения, по одному на каждый множитель, а для первого — только одно, потому что по данным градиент не нужен.
#
# В таблице `key_averages()` все узлы с одним именем занимают одну строку. Чтобы их различить, запишите формы с помощью `record_shapes=True` и вызовите `key_averages(group_by_input_shape=True)`: узлы, к которым пришли градиенты разных форм, попадут в разные строки.
#
# ### Упражнение `costly_node`: самый дорогой узел
# *дописать · ●●○ · 12 минут · 3 балла*
#
# Напишите функцию `costly_node(loss)`. Можно взять готовую функцию `flops_of`.
#
# * **Дано.** Функция потерь `loss`, в которой операции `mul` и `add` дёшевы: если учесть и их, результат не изменится. Двух имён с одинаковой стоимостью не бывает.
# * **Результат.** Имя узлов (например, `"MmBackward0"`, значение `node.name()`), матричные произведения которых требуют в обратном проходе больше всего операций с плавающей точкой; узлы с одним именем считаются вместе. <!-- name -->
# * **Результат.** Выполнен один обратный проход, и в `.grad` у листьев лежат такие же градиенты, как после одного вызова `loss.backward()`. <!-- gradients -->
# %% answer="costly_node"
def costly_node(loss):
    """The name of the nodes that cost most in the backward pass from `loss`."""
    ### BEGIN SOLUTION
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiled:
        loss.backward()
    costs = {}
    for event in profiled.events():
        if event.name.startswith(ENGINE):
            name = event.name.removeprefix(ENGINE)
            costs[name] = costs.get(name, 0) + flops_of(event)
    return max(costs, key=costs.get)
    ### END SOLUTION


# %% alternative="costly_node"
def costly_node(loss):
    from torch.utils.flop_counter import FlopCounterMode

    nodes = [loss.grad_fn]
    for node in nodes:
        nodes += [parent for parent, _ in node.next_functions if parent is not None and parent not in nodes]
    costs, started = {}, {}
    with FlopCounterMode(display=False) as counter:
        for node in set(nodes):

            def before(_, node=node):
                started[node] = counter.get_total_flops()

            def after(*_, node=node):
                costs[node.name()] = costs.get(node.name(), 0) + counter.get_total_flops() - started[node]

            node.register_prehook(before)
            node.register_hook(after)
        loss.backward()
    return max(costs, key=costs.get)


# %% alternative="costly_node"
def costly_node(loss):
    costs = {}

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            node = torch._C._current_autograd_node()
            if node is not None and func.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.bmm):
                inner = args[0].shape[-1]
                costs[node.name()] = costs.get(node.name(), 0) + 2 * inner * result.numel()
            return result

    with Watch():
        loss.backward()
    return sorted(costs, key=costs.get)[-1]


# %% alternative="costly_node"
def costly_node(loss):
    from collections import Counter

    with torch.autograd.profiler.profile(with_flops=True) as profiled:
        loss.backward()
    costs = Counter()
    for event in profiled.function_events:
        parent = event
        while parent is not None and not parent.name.startswith(ENGINE):
            parent = parent.cpu_parent
        if parent is not None and event.name in ("aten::mm", "aten::bmm"):
            costs[parent.name.removeprefix(ENGINE)] += event.flops
    return costs.most_common(1)[0][0]


# %% check="costly_node"
from autograder import check

check("costly_node")


# %% [markdown] tags=["en"]
# ## What `torch.compile` does to the backward pass
#
# `torch.compile` reads the bytecode of a function and writes down a graph of its operations; that is done by Dynamo. AOTAutograd then differentiates this graph *ahead of time*, before anything is computed, and gives both halves to a backend: the forward half at once, the backward half when it is first called. The default backend, Inductor, writes fused kernels in C++ or Triton, and needs a compiler. The backend `aot_eager` runs the two graphs with the usual operations: the same derivatives, no compiler, no gain in speed. It is enough to see what happens.
#
# A graph holds operations, not numbers. Where Python asks for a number (`if x.sum() > 0`, `.item()`), the graph ends; Python decides, and another graph begins. This is a *graph break*. A backend of our own counts the graphs.
# %% [markdown] tags=["ru"] of="f6ad5ffd"
# ## Что `torch.compile` делает с обратным проходом
#
# Функция `torch.compile` читает байт-код вашей функции и записывает граф её операций. Эта часть называется Dynamo. Затем AOTAutograd дифференцирует этот граф *заранее* (ahead of time), ещё до всяких вычислений, и передаёт обе половины бэкенду: прямую — сразу, обратную — при первом обратном проходе. Стандартный бэкенд, Inductor, генерирует слитые (fused) ядра на C++ или Triton, и ему нужен компилятор. Бэкенд `aot_eager` выполняет оба графа обычными операциями: производные те же, компилятор не нужен, ускорения нет. Чтобы увидеть, что происходит, этого достаточно.
#
# В графе есть операции, но нет чисел. Там, где программе на Python нужно само число (`if x.sum() > 0`, `.item()`), граф обрывается: выбор делает Python, после чего начинается новый граф. Это называют *разрывом графа* (graph break). Посчитаем графы с помощью собственного бэкенда.
# %%
def graphs(function, *inputs):
    """The number of graphs that `torch.compile` makes of a function, over calls with each of `inputs`."""
    made = []

    def backend(graph, example_inputs):
        made.append(graph)
        return graph.forward

    torch.compiler.reset()
    compiled = torch.compile(function, backend=backend)
    for x in inputs:
        compiled(x)
    return len(made)


def branching(x):
    if x.sum() > 0:
        return 2 * x
    return 3 * x


def choosing(x):
    return torch.where(x.sum() > 0, 2 * x, 3 * x)


def wave(x):
    return x.sin().cos().sum()


def growth(x):
    return (x.exp() ** 2).sum()


# %% [markdown] tags=["en"]
# Now a table. `outcome` compiles a function with `aot_eager` and tries one or more kinds of backward pass on it, each with a new result. Here are the kinds of pass.
# %% [markdown] tags=["ru"] of="5ca15f91"
# Теперь таблица. В `outcome` функция компилируется с `aot_eager`, а затем выполняются обратные проходы, один или несколько, каждый — от заново вычисленного результата. Вот эти проходы.
# %%
def outcome(function, *passes, backend="aot_eager"):
    """Compile a function, and try each of `passes` on a new result: "accepted", or the name of an error."""
    torch.compiler.reset()
    compiled = torch.compile(function, backend=backend)
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    try:
        for one_pass in passes:
            one_pass(compiled(x), x)
        return "accepted"
    except RuntimeError as error:
        return type(error).__name__


def plain(result, x):
    result.backward()


def keep_graph(result, x):
    result.backward(retain_graph=True)


def record_gradient(result, x):
    torch.autograd.grad(result, x, create_graph=True)


def second_derivative(result, x):
    (gradient,) = torch.autograd.grad(result, x, create_graph=True)
    gradient.sum().backward()


def count_saved(function):
    saved = []
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t.detach(), lambda t: t):
        function(x)
    return len(saved)


# %% [markdown] tags=["en"]
# `count_saved` counts the tensors that a function saves. Read the cell; do not call `compiled_table()` yet. (It takes a few seconds.)
# %% [markdown] tags=["ru"] of="19c898ed"
# Функция `count_saved` считает тензоры, которые сохраняет переданная ей функция. Прочтите ячейку, но `compiled_table()` пока не вызывайте. (Вызов займёт несколько секунд.)
# %%
def compiled_table():
    x = torch.ones(3)
    table = {
        "graphs of branching": graphs(branching, x),
        "graphs of choosing": graphs(choosing, x),
        "compilations for lengths 3, 4, 5": graphs(growth, x, torch.ones(4), torch.ones(5)),
        "saved by wave": count_saved(wave),
        "saved by compiled wave": count_saved(torch.compile(wave, backend="aot_eager")),
        "growth: retain_graph": outcome(growth, keep_graph),
        "growth: plain, then retain_graph": outcome(growth, plain, keep_graph),
        "wave: plain, then retain_graph": outcome(wave, plain, keep_graph),
        "wave: create_graph": outcome(wave, record_gradient),
        "wave: second derivative, aot_eager": outcome(wave, second_derivative),
        "wave: second derivative, eager": outcome(wave, second_derivative, backend="eager"),
    }
    torch.compiler.reset()
    return table


# %% [markdown] tags=["en"]
# ### Extra exercise `predict_compiled`: what a compiled backward can do
# *predict · ●●● · 10 minutes · 1 point · extra*
#
# Put what `compiled_table()` returns in place of each `...`. The first five entries are numbers, the others `"accepted"` or `"RuntimeError"`. The backend `eager` runs Dynamo's graph under ordinary autograd, without AOTAutograd.
# %% [markdown] tags=["ru"] of="bb237dc3"
# ### Дополнительное упражнение `predict_compiled`: что умеет скомпилированный обратный проход
# *предсказать · ●●● · 10 минут · 1 балл · дополнительно*
#
# Вместо каждого `...` поставьте то, что вернёт `compiled_table()`. Первые пять строк — числа, остальные — `"accepted"` или `"RuntimeError"`. Бэкенд `eager` выполняет граф, записанный Dynamo, а дифференцирует его обычный autograd, без AOTAutograd.
# %% answer="predict_compiled"
predict_compiled = {
    "graphs of branching": 2,
    "graphs of choosing": 1,
    "compilations for lengths 3, 4, 5": 2,
    "saved by wave": 2,
    "saved by compiled wave": 1,
    "growth: retain_graph": "accepted",
    "growth: plain, then retain_graph": "RuntimeError",
    "wave: plain, then retain_graph": "accepted",
    "wave: create_graph": "accepted",
    "wave: second derivative, aot_eager": "RuntimeError",
    "wave: second derivative, eager": "accepted",
}
# %% given="predict_compiled"
predict_compiled = {
    "graphs of branching": ...,
    "graphs of choosing": ...,
    "compilations for lengths 3, 4, 5": ...,
    "saved by wave": ...,
    "saved by compiled wave": ...,
    "growth: retain_graph": ...,
    "growth: plain, then retain_graph": ...,
    "wave: plain, then retain_graph": ...,
    "wave: create_graph": ...,
    "wave: second derivative, aot_eager": ...,
    "wave: second derivative, eager": ...,
}
# %% check="predict_compiled"
from autograder import check

check("predict_compiled")
# %% tags=["fact"]
assert compiled_table() == predict_compiled
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# А теперь вызовите эту функцию.
# %%
compiled_table()
# %% [markdown] tags=["en"] explains="predict_compiled"
# For the engine a compiled graph is *one* node, `CompiledFunctionBackward`. Hooks on nodes inside, profiles by node, anomaly mode's lines: all of these see the one node. Three things follow.
#
# * AOTAutograd sees both passes, so it decides anew what to keep. For `wave` it keeps `x` alone and computes the sine again.
# * Kept tensors that nobody else has are *donated buffers*: the compiled backward may write over them, so `retain_graph=True` and `create_graph=True` raise. Whether it may is settled by the *first* backward pass. If that one keeps the graph, nothing is donated, and all goes well; if a plain pass came first, the same call raises. `torch._functorch.config.donated_buffer = False` gives the donation up.
# * A second derivative raises, and only when it is computed: `create_graph=True` alone may still succeed. Either compile with `eager`, or put the first derivative *inside* the compiled function, with `torch.func.grad`: then only one derivative is taken of it from outside. Old versions of torch returned wrong numbers here without an error.
# %% [markdown] tags=["ru"] explains="predict_compiled" of="ecda5eaa"
# Для движка скомпилированный граф — *один* узел, `CompiledFunctionBackward`. В профиле по узлам, в строках режима обнаружения аномалий, при поиске внутренних узлов для хуков — везде виден только он. Отсюда три следствия.
#
# * AOTAutograd видит оба прохода и сам решает, что хранить. Для функции `wave` хранится только `x`, а синус вычисляется заново.
# * Сохранённые тензоры, на которые больше никто не ссылается, — это *donated buffers*: скомпилированный проход вправе записывать поверх них, поэтому `retain_graph=True` и `create_graph=True` вызывают ошибку. Есть ли у него это право, зависит от *первого* обратного прохода. Если граф сохранён уже в нём, перезаписи нет и всё работает; если первым был обычный проход, последующий вызов с сохранением графа завершается ошибкой. Настройка `torch._functorch.config.donated_buffer = False` отключает перезапись.
# * Попытка взять вторую производную завершается ошибкой, причём только в момент её вычисления: само по себе `create_graph=True` может и сработать. Обойти это можно двумя способами: скомпилировать с `eager` или взять первую производную *внутри* скомпилированной функции, с помощью `torch.func.grad`; тогда снаружи остаётся одно дифференцирование. Старые версии torch в этом месте молча возвращали неверные числа.
# %% tags=["fact"]
torch.compiler.reset()


def slope_squared(w, x):
    return torch.func.grad(lambda t: (w * t).sin().sum() ** 2)(x).square().sum()


w, x = torch.tensor(1.5, requires_grad=True), torch.tensor([0.5, 1.0])
(eager,) = torch.autograd.grad(slope_squared(w, x), w)
(compiled,) = torch.autograd.grad(torch.compile(slope_squared, backend="aot_eager")(w, x), w)
assert torch.allclose(eager, compiled)

x = torch.tensor([0.5, 1.0], requires_grad=True)
y = torch.compile(wave, backend="aot_eager")(x)
assert y.grad_fn.name() == "CompiledFunctionBackward"
assert y.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
assert outcome(growth, plain, record_gradient) == "RuntimeError"
torch._functorch.config.donated_buffer = False
assert outcome(growth, plain, keep_graph) == "accepted"
torch._functorch.config.donated_buffer = True
torch.compiler.reset()


# %% [markdown] tags=["en"]
# ### Exercise `one_graph`: a graph in two pieces
# *find the bug · ●●○ · 10 minutes · 4 points*
#
# The function shortens a tensor whose norm is above a limit, as gradient clipping does. Its `if` breaks the graph. Rewrite it.
#
# * **Given.** A tensor of any shape, float32 or float64; entries may be as small as $10^{-9}$. `limit`, a positive number; the norm is never exactly the limit.
# * **Result.** The same values; the norm is that of the whole tensor. A relative error up to $10^{-5}$ is allowed. <!-- value -->
# * **Result.** The same gradients, for a vector of zeros too, where the gradient passes unchanged. <!-- gradient -->
# * **Not allowed.** To look at a number of a tensor. Choose by operations on tensors; `torch.cond`, a prototype, is not accepted here. The check runs your function on a *fake tensor* as well, which is how Dynamo runs it: it has a shape and a dtype, but no numbers, and raises if asked for one. <!-- no_numbers -->
# %% [markdown] tags=["ru"] of="74acccf5"
# ### Упражнение `one_graph`: граф из двух частей
# *найти ошибку · ●●○ · 10 минут · 4 балла*
#
# Функция укорачивает тензор, норма которого больше предела, — как при отсечении градиента. Инструкция `if` разрывает граф. Перепишите функцию.
#
# * **Дано.** Тензор любой формы, float32 или float64; элементы бывают малы, до $10^{-9}$. Положительное число `limit`; в точности равной пределу норма не бывает.
# * **Результат.** Те же значения; норма — это норма всего тензора. Допускается относительная погрешность до $10^{-5}$. <!-- value -->
# * **Результат.** Те же градиенты, в том числе для нулевого вектора, где градиент проходит без изменений. <!-- gradient -->
# * **Нельзя.** Читать числа из тензоров. Делайте выбор с помощью операций над тензорами; функция `torch.cond` — пока прототип, и здесь она не принимается. При проверке вашу функцию выполняют ещё и на *фиктивном тензоре* (fake tensor), как это делает Dynamo: у такого тензора есть форма и dtype, но нет чисел, и при попытке прочесть число возникает ошибка. <!-- no_numbers -->
# %% answer="one_graph"
def one_graph(x, limit):
    return x * (limit / x.norm().clamp(min=limit))


# %% given="one_graph"
def one_graph(x, limit):
    norm = x.norm()
    if norm > limit:
        x = x * (limit / norm)
    return x


# %% alternative="one_graph"
def one_graph(x, limit):
    norm = x.norm()
    return x * (limit / torch.where(norm > limit, norm, limit))


# %% alternative="one_graph"
def one_graph(x, limit):
    size = torch.linalg.vector_norm(x)
    return limit * x / torch.maximum(size, torch.full_like(size, limit))


# %% alternative="one_graph"
def one_graph(x, limit):
    excess = torch.relu(x.norm() - limit)
    return x * limit / (limit + excess)


# %% check="one_graph"
from autograder import check

check("one_graph")
# %% tags=["fact"]
assert graphs(lambda x: one_graph(x, 1.0), torch.ones(3)) == 1
assert graphs(lambda x: x * 2 if x.norm() > 1.0 else x * 3, torch.ones(3)) == 2
torch.compiler.reset()
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
# На GPU отличий три. Все их проверяет ячейка ниже.
#
# * **Потоки выполнения.** У каждого GPU есть собственный поток torch, который выполняет узлы этого устройства, а вызвавший поток ждёт. Поэтому хуки тензоров на GPU вызываются не в том потоке, который вызвал `backward()`, и все режимы, действующие в пределах потока, там могут быть другими; режим отслеживания вычислений torch передаёт сам.
# * **Потоки CUDA (streams).** Каждый узел выполняется в том потоке CUDA, в котором шла его операция прямого прохода, и там, где градиент переходит из одного потока в другой, движок заставляет второй дождаться первого. Если `.grad` потом читают в другом потоке CUDA, правила те же, что для любой операции: читающий поток должен подождать.
# * **Порядок.** На GPU `index_add`, `scatter_add` и ряд других операций складывают числа атомарно, в случайном порядке. Для таких операций режим `use_deterministic_algorithms(True)` включает реализацию с постоянным порядком сложения или приводит к ошибке.
#
# Обёртка `DataParallel` запускает по копии модели на каждом GPU, каждую в своём потоке одного процесса. На CPU ничего подобного не происходит: список `device_ids` пуст, и модуль вызывается в том же потоке. Поэтому показать с её помощью на CPU, что хуки сохранённых тензоров не доходят до потоков, нельзя: никаких потоков там нет. Документация советует взять `DistributedDataParallel`: по процессу на устройство, в каждом копия модели, а градиенты усредняются между процессами по мере готовности, пока обратный проход ещё идёт. Ни у каких двух потоков здесь нет общего поля `.grad`.
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
from autograder.learner.gpu import check_claims

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
# ## What to keep
#
# * On the CPU the thread that calls `backward()` runs it. `no_grad` and saved-tensor hooks stay in their thread, anomaly mode does not.
# * Threads may share a leaf: `backward()` adds under a lock of torch's. They may not share a graph. Your own `w.grad = w.grad + g` needs a lock of yours.
# * Of the nodes that are ready, the one created last runs first.
# * Another order, other bits. Fix the order (or sort) where bits matter; `use_deterministic_algorithms` knows nothing of your own order.
# * Anomaly mode: around both passes, three operations for each gradient, off again afterwards.
# * In a profile look for `autograd::engine::evaluate_function`; compare counts before times.
# * A compiled graph is one node: no second derivative, and `retain_graph` only without donated buffers. Python asking for a number breaks the graph.
# %% [markdown] tags=["ru"] of="eadb37e9"
# ## Что стоит запомнить
#
# * На CPU обратный проход выполняет тот поток, который вызвал `backward()`. Режим `no_grad` и хуки сохранённых тензоров действуют только в своём потоке, а режим обнаружения аномалий — во всех.
# * Общий лист у потоков быть может: `backward()` складывает под защитой мьютекса самого torch. Общего графа быть не должно. А для собственного сложения `w.grad = w.grad + g` нужна и собственная блокировка.
# * Из готовых узлов первым выполняется созданный последним.
# * Другой порядок — другие биты. Там, где биты важны, закрепите порядок (или отсортируйте слагаемые); о вашем порядке `use_deterministic_algorithms` ничего не знает.
# * Режим обнаружения аномалий включайте для обоих проходов, а потом выключайте: он добавляет три операции на каждый градиент.
# * В профиле ищите `autograd::engine::evaluate_function`; сначала сравнивайте числа операций, потом время.
# * Скомпилированный граф — один узел: второй производной нет, а `retain_graph` возможен только без donated buffers. Там, где программе на Python нужно само число, граф разрывается.
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
