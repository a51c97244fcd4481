# %% [markdown] tags=["en"] reading=22
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
# You need lesson 02: the graph, its nodes, `retain_graph`. Everything here runs on one core, without a GPU and without a C++ compiler.
# %% [markdown] tags=["ru"] of="00000000"
# # Что стоит за вызовом `backward()`
#
# Два потока прибавляют свои градиенты к одному весу, и один из градиентов пропадает. Те же числа складываются в другом порядке, и последние биты суммы меняются. Функцию скомпилировали, и вторую производную взять уже нельзя. Вызов `backward()` занимает одну строку, но за ним стоит движок autograd: он решает, какой узел выполнить следующим и в каком потоке.
#
# После урока вы сможете:
#
# * сказать, в каком потоке что выполняется, и работать в нескольких потоках, не теряя градиентов;
# * предсказать, в каком порядке выполняются узлы;
# * объяснить, откуда берутся последние биты градиента, и сделать их всегда одинаковыми;
# * найти по профилю самый дорогой узел;
# * сказать, что `torch.compile` делает с обратным проходом и чего после этого делать нельзя.
#
# Понадобится урок 02: граф, его узлы, `retain_graph`. Для всех примеров достаточно одного ядра; ни GPU, ни компилятор C++ не нужны.
# %% tags=["en"]
from autograder import hint, ready, reproduce, solution, start

start("engine", language="en")
# %% tags=["ru"]
from autograder import hint, ready, reproduce, solution, start

start("engine", language="ru")
# %%
import threading

import torch

# %% [markdown] tags=["en"]
# ## Two threads, one weight
#
# A published notebook advises: with several threads use `torch.autograd.grad` and not `backward()`, to avoid a race. Let us count. Eight threads make 100 backward passes each, and each pass adds 1 to the same `.grad`.
# %% [markdown] tags=["ru"] of="00000000"
# ## Два потока и один вес
#
# В одной тетради из сети советуют: если потоков несколько, берите `torch.autograd.grad`, а не `backward()`, иначе возможна гонка. Посчитаем. Восемь потоков делают по 100 обратных проходов, и каждый проход прибавляет 1 к одному и тому же полю `.grad`.
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

one, two = (5 * w), (7 * w)  # two graphs, one node for the leaf: hence one mutex
assert one.grad_fn.next_functions[0][0] is two.grad_fn.next_functions[0][0]
# %% [markdown] tags=["en"]
# 800 of 800 with `backward()`: the node of a leaf holds a lock while it adds, and all graphs share that node. With `torch.autograd.grad` the adding is *our* code, and 1 of 2 is left. The barrier makes sure of it: both threads read 0, then both write 1. Without it, the loss is a matter of luck. This is what a race is, and the advice above leads into it.
#
# `backward()` has another trap. `.grad` is shared, so a thread that reads it after its own pass sees the gradients of all threads. To set it to None while others add is worse still: updates vanish, and some threads die with an internal error of torch.
#
# So there are two needs. A thread that only contributes calls `backward()`. A thread that wants its own gradient as well takes `torch.autograd.grad`, and adds under a lock.
#
# ### Exercise `locked_accumulation`: many threads, one `.grad`
# *design · ●●● · 14 minutes · 5 points*
#
# `locked_accumulation(w, loss_of, lock)` runs in several threads at once. All get the same leaf `w` and the same `lock` (like `threading.Lock()`), each has its own function `loss_of`. Compute `loss_of(w)` once and differentiate it. Add the gradient to `w.grad`, which may be None or hold an earlier gradient that stays in the sum. Return the gradient of this call's loss alone: a tensor that nobody changes later.
#
# Your code may touch `w.grad`, by reading or writing, only while it holds `lock`, and has to release it afterwards. (`backward()` needs no lock.) `loss_of` and the backward pass must not run under the lock: otherwise the threads take turns.
# %% [markdown] tags=["ru"] of="00000000"
# С `backward()` получилось 800 из 800: узел листа на время сложения захватывает мьютекс, а узел этот у всех графов один и тот же. После `torch.autograd.grad` складывает уже *наш* код, и от двух единиц остаётся одна. Барьер здесь нужен для наглядности: оба потока читают 0, потом оба пишут 1. Без барьера потеря зависела бы от случая. Это и есть гонка, и совет из той тетради ведёт прямо к ней.
#
# У `backward()` есть своя ловушка. Поле `.grad` общее, и поток, который читает его после своего прохода, видит сумму градиентов всех потоков. Ещё хуже записать туда None, пока другие складывают: часть градиентов пропадёт, а некоторые потоки завершатся с внутренней ошибкой torch.
#
# Итак, есть два случая. Поток, который только добавляет свой градиент, вызывает `backward()`. Поток, которому нужен и собственный градиент, вызывает `torch.autograd.grad` и складывает под замком.
#
# ### Упражнение `locked_accumulation`: много потоков, одно поле `.grad`
# *спроектировать · ●●● · 14 минут · 5 баллов*
#
# Функция `locked_accumulation(w, loss_of, lock)` выполняется сразу в нескольких потоках. Лист `w` и замок `lock` (такой же, как `threading.Lock()`) у них общие, функция `loss_of` у каждого своя. Вычислите `loss_of(w)` один раз и найдите градиент. Прибавьте его к `w.grad`: там может быть None или прежний градиент, который остаётся в сумме. Верните градиент только этой функции потерь — тензор, который потом никто не изменит.
#
# Читать и менять `w.grad` ваш код может, только пока держит `lock`, а затем замок нужно освободить. (Для `backward()` замок не нужен.) Ни `loss_of`, ни обратный проход не должны выполняться под замком, иначе потоки будут работать по очереди.
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
