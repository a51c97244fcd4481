# %% [markdown] tags=["en"] reading=21
# # Hooks on gradients
#
# Two processes train one model, each on its own half of the data. In one pass a layer is not used. Nothing happens. In the next pass the training stops: `Expected to have finished reduction in the prior iteration before starting a new one`. Why does the error come one pass late, and what did the first pass do?
#
# A *hook* is a function of yours that the backward pass calls when a gradient is ready. It may look at the gradient, replace it, take the optimizer step right there, or tell another process that it is ready. Distributed training is built on hooks. After this lesson you can:
#
# * say which hook runs when, and what it sees;
# * read and replace a gradient without spoiling another one, and take the hook off again;
# * take the optimizer step inside the backward pass, and say what that saves;
# * rebuild the part of `DistributedDataParallel` that stopped above.
#
# You need lesson 03: what `.grad` holds, and when it is cleared.
# %% [markdown] tags=["ru"] of="a61382b4"
# # Хуки градиентов
#
# Два процесса обучают одну модель, каждый на своей половине данных. В одном из проходов какой-то слой не участвует, и ничего не происходит. А на следующем проходе обучение останавливается с ошибкой: `Expected to have finished reduction in the prior iteration before starting a new one`. Почему ошибка опоздала на один проход и что тогда сделал первый?
#
# *Хук* — это ваша функция, которую обратный проход вызывает, когда градиент готов. В ней можно посмотреть на градиент, заменить его, тут же сделать шаг оптимизатора или сообщить о готовности другому процессу. На хуках построено распределённое обучение. После урока вы сможете:
#
# * сказать, какой хук когда выполняется и что он видит;
# * прочитать или заменить градиент, не испортив соседний, и снять за собой хук;
# * сделать шаг оптимизатора внутри обратного прохода и объяснить, что это экономит;
# * воспроизвести ту часть `DistributedDataParallel`, в которой возникла ошибка.
#
# Понадобится урок 03: что лежит в `.grad` и когда градиенты обнуляют.
# %% tags=["en"]
from autograder import hint, ready, reproduce, solution, start

start("gradient_hooks", language="en")
# %% tags=["ru"]
from autograder import hint, ready, reproduce, solution, start

start("gradient_hooks", language="ru")
# %%
import torch
from torch import nn


# %% [markdown] tags=["en"]
# ## An error that comes one pass late
#
# The next cell starts two real processes on this computer and ends them again; it takes some seconds. Each has a copy of the model and one sample: $x = 1$ in process 0, $x = 2$ in process 1. The model is $w_2 w_1 x$, but here `skip=True` leaves $w_2$ out, so the gradient of $w_1$ is $x$. `DistributedDataParallel` is there to average the gradients of the two. The table shows the gradient of $w_1$ after each pass, or the error.
# %% [markdown] tags=["ru"] of="420c9cc9"
# ## Ошибка, которая опоздала на один проход
#
# Следующая ячейка запускает на этом компьютере два настоящих процесса и сама их завершает; на это уходит несколько секунд. У каждого — копия модели и один пример: $x = 1$ у процесса 0 и $x = 2$ у процесса 1. Модель вычисляет $w_2 w_1 x$, но здесь из-за `skip=True` вес $w_2$ не участвует, поэтому градиент по $w_1$ равен $x$. Класс `DistributedDataParallel` нужен для того, чтобы усреднить градиенты двух процессов. В таблице стоит градиент по $w_1$ после каждого прохода или текст ошибки.
# %% tags=["picture"]
from autograder import two_processes


def skip_a_layer(rank):
    import torch
    from torch.nn.parallel import DistributedDataParallel

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(1, 1, bias=False)
            self.second = torch.nn.Linear(1, 1, bias=False)

        def forward(self, x, skip):
            x = self.first(x)
            return x if skip else self.second(x)

    x = torch.tensor([[1.0 + rank]])
    seen = {}
    for name, setting in ("plain", {}), ("find_unused_parameters", {"find_unused_parameters": True}):
        model = DistributedDataParallel(Net(), **setting)
        for number in (1, 2):
            model.zero_grad()
            try:
                model(x, skip=True).sum().backward()
                seen[f"{name}, pass {number}"] = model.module.first.weight.grad.item()
            except RuntimeError as error:
                seen[f"{name}, pass {number}"] = str(error)[:42] + "..."
    return seen


two_processes(skip_a_layer)
# %% [markdown] tags=["en"]
# The first pass is not innocent. Its gradients are 1.0 and 2.0: nothing was averaged, the two copies would step apart, and there is no message. Only the second pass notices that the first one was never finished. With `find_unused_parameters=True` both processes have 1.5.
#
# By the end of the lesson you will have written the mechanism that does this, on hooks alone and in one process.
#
# ## A hook on a tensor
#
# `tensor.register_hook(f)` asks the backward pass to call `f(gradient)` when the gradient with respect to `tensor` is complete. What `f` returns takes the gradient's place from there on; if it returns None, the gradient goes on as it is. `register_hook` returns a *handle*, and `handle.remove()` takes the hook off. Here $h = 3w$ with $w = 2$, and the loss is $5h$.
# %% [markdown] tags=["ru"] of="1abef70d"
# Первый проход вовсе не безобиден. Его градиенты — 1.0 и 2.0: ничего не усреднено, после шага копии модели разошлись бы, и никакого сообщения нет. Только второй проход обнаруживает, что первый так и не был завершён. С `find_unused_parameters=True` у обоих процессов получается 1.5.
#
# К концу урока вы сами напишете этот механизм, на одних хуках и в одном процессе.
#
# ## Хук на тензоре
#
# Вызов `tensor.register_hook(f)` просит обратный проход вызвать `f(gradient)`, когда градиент по тензору `tensor` полностью готов. То, что вернула функция `f`, занимает место градиента на всём дальнейшем пути; если она вернула None, градиент идёт дальше без изменений. Метод `register_hook` возвращает *дескриптор*, и вызов `handle.remove()` снимает хук. Ниже $h = 3w$ при $w = 2$, а функция потерь равна $5h$.
# %%
w = torch.tensor(2.0, requires_grad=True)
h = 3 * w
handle = h.register_hook(lambda gradient: print("h gets", gradient.item()))
w.register_hook(lambda gradient: print("w gets", gradient.item()))
(5 * h).backward()
print("w.grad:", w.grad.item())
# %% tags=["fact"]
assert not h.is_leaf and not h.retains_grad and w.grad.item() == 15
seen = []
h = 3 * w
h.register_hook(seen.append)
h.backward(torch.tensor(5.0), retain_graph=True)
assert [s.item() for s in seen] == [5]
other = (3 * w).register_hook(lambda g: None)
other.remove()


def refusal(action):
    try:
        action()
    except (RuntimeError, TypeError) as error:
        return str(error)
    raise SystemError("no error")


assert refusal(lambda: torch.ones(1).register_hook(print)) == (
    "cannot register a hook on a tensor that doesn't require gradient"
)
for bad, said in ((lambda g: g.double(), "changed the type"), (lambda g: g.expand(2), "changed the size")):
    h = 3 * w
    h.register_hook(bad)
    assert said in refusal(h.backward)
h = 3 * w
h.register_hook(lambda g: 1.0)
assert "expected Variable, but hook returned 'float'" in refusal(h.backward)
# %% [markdown] tags=["en"]
# A second kind of hook belongs to leaves: `register_post_accumulate_grad_hook(f)` calls `f(parameter)` after the gradient has been added to `.grad`. So a leaf has a moment before and a moment after the addition. Here is everything in one function. Read it; do not call it yet.
# %% [markdown] tags=["ru"] of="c41b7449"
# Хук второго вида бывает только у листьев: `register_post_accumulate_grad_hook(f)` вызывает `f(parameter)` после того, как градиент прибавлен к `.grad`. Значит, у листа есть момент до сложения и момент после. В следующей функции собрано всё сразу. Прочтите её, но пока не вызывайте.
# %%
def hook_table():
    seen, calls = {}, []
    w = torch.tensor(2.0, requires_grad=True)
    w.grad = torch.tensor(100.0)  # from an earlier pass
    h = 3 * w
    h.retain_grad()

    def ten_times(gradient):
        seen["first hook on h"] = gradient.item()
        return 10 * gradient

    def watch(gradient):
        seen["second hook on h"] = gradient.item()

    def before(gradient):
        calls.append("before")
        seen["hook on w"] = gradient.item()
        seen["w.grad in the hook on w"] = w.grad.item()

    def after(parameter):
        calls.append("after")
        seen["w.grad in the post-accumulate hook"] = parameter.grad.item()

    h.register_hook(ten_times)
    h.register_hook(watch)
    w.register_hook(before)
    w.register_post_accumulate_grad_hook(after)
    (5 * h).backward()
    table = {**seen, "h.grad": h.grad.item()}

    calls.clear()
    (2 * w + 3 * w).backward()
    table["calls of the hook on w, used twice"] = calls.count("before")

    calls.clear()
    torch.autograd.grad(2 * w, w)
    table["hook on w runs in autograd.grad"] = "before" in calls
    table["post-accumulate hook runs in autograd.grad"] = "after" in calls

    h = 1 * w
    h.register_hook(lambda gradient: table.update({"hook before h.mul_(4)": gradient.item()}))
    h.mul_(4)
    h.register_hook(lambda gradient: table.update({"hook after h.mul_(4)": gradient.item()}))
    h.backward()
    return table


# %% [markdown] tags=["en"]
# ### Exercise `predict_hook_order`: when a hook sees what
# *predict · ●●○ · 10 minutes · 1 point*
#
# Put what `hook_table()` returns in place of each `...`: numbers, in the two entries on `autograd.grad` True or False.
# %% [markdown] tags=["ru"] of="bb3b1fef"
# ### Упражнение `predict_hook_order`: когда и что видит хук
# *предсказать · ●●○ · 10 минут · 1 балл*
#
# Вместо каждого `...` поставьте то, что вернёт `hook_table()`: числа, а в двух строках про `autograd.grad` — True или False.
# %% answer="predict_hook_order"
predict_hook_order = {
    "first hook on h": 5.0,
    "second hook on h": 50.0,
    "hook on w": 150.0,
    "w.grad in the hook on w": 100.0,
    "w.grad in the post-accumulate hook": 250.0,
    "h.grad": 50.0,
    "calls of the hook on w, used twice": 1,
    "hook on w runs in autograd.grad": True,
    "post-accumulate hook runs in autograd.grad": False,
    "hook before h.mul_(4)": 4.0,
    "hook after h.mul_(4)": 1.0,
}
# %% given="predict_hook_order"
predict_hook_order = {
    "first hook on h": ...,
    "second hook on h": ...,
    "hook on w": ...,
    "w.grad in the hook on w": ...,
    "w.grad in the post-accumulate hook": ...,
    "h.grad": ...,
    "calls of the hook on w, used twice": ...,
    "hook on w runs in autograd.grad": ...,
    "post-accumulate hook runs in autograd.grad": ...,
    "hook before h.mul_(4)": ...,
    "hook after h.mul_(4)": ...,
}
# %% check="predict_hook_order"
from autograder import check

check("predict_hook_order")
# %% tags=["fact"]
assert {name: value for name, value in hook_table().items()} == predict_hook_order
order = []
w = torch.tensor(2.0, requires_grad=True)
h = 3 * w
h.grad_fn.register_prehook(lambda g: order.append("node, before"))
h.grad_fn.register_hook(lambda g_in, g_out: order.append("node, after"))
h.register_hook(lambda g: order.append("tensor"))
w.register_post_accumulate_grad_hook(lambda p: order.append("post-accumulate"))
w.register_hook(lambda g: order.append("leaf"))
(5 * h).backward()
assert order == ["tensor", "node, before", "node, after", "leaf", "post-accumulate"]
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# А теперь вызовите эту функцию.
# %%
hook_table()
# %% [markdown] tags=["en"]
# Four rules are in that table.
#
# * Hooks of one tensor run in the order of their registration, and each gets what the one before it returned. `h.grad` holds what is left after all of them, even though `retain_grad()` was called first.
# * A tensor hook runs before the addition to `.grad`, a post-accumulate hook after it. The first gets the gradient of this pass, the second finds the sum in `.grad`.
# * The hook of `w` runs once per pass, with the sum over all uses of `w`. `autograd.grad` runs it, too; only what belongs to `.grad` is left out.
# * A hook belongs to a value, not to a name. After `h.mul_(4)` the hook registered earlier still gets the gradient with respect to the old value, 4. Likewise, after `h = torch.relu(h)` a hook stays with the old `h`.
#
# ## Handles, and hooks that stay
#
# A hook on an intermediate tensor goes when the graph goes. A hook on a parameter stays as long as the parameter, and with it all that the function refers to. A hook that is registered in each turn of a loop is there a thousand times after a thousand turns. Here each adds its factor 0.5:
# %% [markdown] tags=["ru"] of="ea22e371"
# В этой таблице видны четыре правила.
#
# * Хуки одного тензора выполняются в порядке регистрации, и каждый получает то, что вернул предыдущий. В `h.grad` лежит то, что осталось после всех, хотя `retain_grad()` вызван раньше них.
# * Хук тензора выполняется до прибавления к `.grad`, а хук post-accumulate — после. Первый получает градиент этого прохода, второй находит в `.grad` сумму.
# * Хук на `w` выполняется за проход один раз и получает сумму по всем использованиям `w`. Его вызывает и `autograd.grad`; опускается только то, что связано с `.grad`.
# * Хук привязан к значению, а не к имени. После `h.mul_(4)` хук, поставленный раньше, по-прежнему получает градиент по старому значению, то есть 4. Точно так же после `h = torch.relu(h)` хук остаётся на прежнем `h`.
#
# ## Дескрипторы и забытые хуки
#
# Хук на промежуточном тензоре исчезает вместе с графом. Хук на параметре живёт столько же, сколько параметр, и удерживает всё, на что ссылается его функция. Если ставить хук на каждой итерации цикла, через тысячу итераций их будет тысяча. В примере ниже каждый умножает градиент на 0.5:
# %%
layer = nn.Linear(1, 1, bias=False)
for step in (1, 2, 3):
    layer.weight.register_hook(lambda gradient: 0.5 * gradient)
    layer.zero_grad()
    layer(torch.ones(1, 1)).sum().backward()
    print(f"step {step}: {len(layer.weight._backward_hooks)} hooks, gradient {layer.weight.grad.item()}")
# %% tags=["fact"]
assert len(layer.weight._backward_hooks) == 3 and layer.weight.grad.item() == 0.125
import copy

assert copy.deepcopy(layer).weight._backward_hooks is None
layer.double()
assert len(layer.weight._backward_hooks) == 3
layer.load_state_dict(copy.deepcopy(layer).state_dict())
assert len(layer.weight._backward_hooks) == 3
layer.load_state_dict(copy.deepcopy(layer).state_dict(), assign=True)
assert not layer.weight._backward_hooks
# %% [markdown] tags=["en"]
# The gradient should be 0.5 in each step; it is 0.5, 0.25, 0.125. So keep the handle and remove the hook, also when something goes wrong in between: `try: ... finally: ...`.
#
# The opposite happens, too: a hook gets lost. `load_state_dict(..., assign=True)` and `layer.weight = nn.Parameter(...)` put a new parameter in place of the one with the hook, and a `deepcopy` of a model has no hooks. After `layer.double()` and after an ordinary `load_state_dict` they are still there.
#
# ### Exercise `arriving_gradients`: gradients as they arrive
# *complete · ●●○ · 8 minutes · 3 points*
#
# `arriving_gradients(loss, tensors)` calls `loss.backward()` once and returns a list with one entry for each tensor of the list `tensors`, in its order: the gradient that this pass brings to it, or None if none comes. The tensors may be leaves or intermediate ones; all require grad, and each is there once. If somebody else's hook on the tensor changes the gradient, the changed one is meant.
#
# `.grad` is as after an ordinary `loss.backward()`: in leaves the gradient is added to what was there, and intermediate tensors keep nothing. No hook of yours stays, also when `backward()` raises. The error goes on to the caller.
# %% [markdown] tags=["ru"] of="b5b80201"
# На каждом шаге должно быть 0.5, а получается 0.5, 0.25, 0.125. Поэтому сохраните дескриптор и снимите хук, даже если по дороге что-то пойдёт не так: `try: ... finally: ...`.
#
# Бывает и наоборот: хук теряется. При `load_state_dict(..., assign=True)` и `layer.weight = nn.Parameter(...)` на место параметра с хуком встаёт новый параметр, а у копии модели, сделанной через `deepcopy`, хуков нет. После `layer.double()` и обычного `load_state_dict` хуки остаются.
#
# ### Упражнение `arriving_gradients`: градиенты в момент прихода
# *дописать · ●●○ · 8 минут · 3 балла*
#
# Функция `arriving_gradients(loss, tensors)` один раз вызывает `loss.backward()` и возвращает список, в котором каждому тензору из списка `tensors` соответствует одно значение, в том же порядке: градиент, который пришёл к нему в этом проходе, или None, если ничего не пришло. Тензоры бывают листовые и промежуточные; все они требуют градиента, и каждый встречается один раз. Если градиент на этом тензоре изменил чужой хук, нужен уже изменённый.
#
# Поля `.grad` должны быть такими же, как после обычного `loss.backward()`: у листьев градиент прибавлен к прежнему, у промежуточных тензоров ничего не остаётся. Ни одного вашего хука не остаётся, даже если `backward()` завершился ошибкой. Сама ошибка доходит до вызывающего кода.
# %% answer="arriving_gradients"
def arriving_gradients(loss, tensors):
    """Call `loss.backward()`; return the gradient that came to each of `tensors`, or None."""
    ### BEGIN SOLUTION
    found = [None] * len(tensors)

    def hook_for(index):
        def hook(gradient):
            found[index] = gradient

        return hook

    handles = [tensor.register_hook(hook_for(index)) for index, tensor in enumerate(tensors)]
    try:
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    return found
    ### END SOLUTION


# %% alternative="arriving_gradients"
def arriving_gradients(loss, tensors):
    from contextlib import ExitStack
    from functools import partial

    found = {}

    def keep(index, gradient):
        found[index] = gradient.clone()

    with ExitStack() as stack:
        for index, tensor in enumerate(tensors):
            stack.callback(tensor.register_hook(partial(keep, index)).remove)
        loss.backward()
    return [found.get(index) for index in range(len(tensors))]


# %% alternative="arriving_gradients"
def arriving_gradients(loss, tensors):
    found = []
    with torch.autograd.graph.register_multi_grad_hook(tensors, found.append):
        loss.backward()
    return list(found[0]) if found else [None] * len(tensors)


# %% alternative="arriving_gradients"
def arriving_gradients(loss, tensors):
    boxes = [[] for _ in tensors]
    handles = [tensor.register_hook(box.append) for tensor, box in zip(tensors, boxes)]
    try:
        torch.autograd.backward(loss)
    finally:
        [handle.remove() for handle in handles]
    return [box[0] if box else None for box in boxes]


# %% check="arriving_gradients"
from autograder import check

check("arriving_gradients")


# %% [markdown] tags=["en"]
# ## A hook that edits its argument
#
# A hook may return a new gradient. Why not change the given one in place and spare the memory? `half` below does so. It sits on the branch $f = wh$ of a residual connection $y = h + f$, with $w = h = 1$. The gradient of $y$ is 8. With half of it on the branch, $w$ should get 4, and $h$ should get $8 + 4 = 12$: the whole gradient past the branch, half of it through the branch.
# %% [markdown] tags=["ru"] of="31c98d22"
# ## Хук, который меняет свой аргумент
#
# Хук может вернуть новый градиент. А почему бы не изменить полученный на месте и не сэкономить память? Так поступает функция `half` ниже. Она стоит на ветви $f = wh$ остаточной связи $y = h + f$, где $w = h = 1$. Градиент по $y$ равен 8. Если на ветви он уменьшается вдвое, то $w$ должен получить 4, а $h$ — $8 + 4 = 12$: весь градиент в обход ветви и половину через ветвь.
# %%
def half(gradient):
    gradient *= 0.5


def residual(hook):
    """The gradients of w and h in y = h + w * h, with `hook` on the branch; and the gradient given to backward."""
    w, h = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    branch = w * h
    branch.register_hook(hook)
    given = torch.tensor([8.0, 8.0])
    (h + branch).backward(given)
    return w.grad.tolist(), h.grad.tolist(), given.tolist()


print("in place:  ", residual(half))
print("a new one: ", residual(lambda gradient: 0.5 * gradient))
# %% tags=["fact"]
assert residual(half) == ([4, 4], [8, 8], [4, 4])
assert residual(lambda gradient: 0.5 * gradient) == ([4, 4], [12, 12], [8, 8])


def hooked_sum():
    a = torch.ones(2, requires_grad=True)
    a.register_hook(half)
    a.sum().backward()


assert "more than one element of the written-to tensor" in refusal(hooked_sum)


def sum_of_two(hook, last):
    """The gradient of b in a + b, with the hook on a. `last` names the branch that was computed last."""
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    if last == "a":
        right, left = 1 * b, 1 * a
    else:
        left, right = 1 * a, 1 * b
    left.register_hook(hook)
    (left + right).backward(torch.tensor([8.0, 8.0]))
    return b.grad.tolist()


assert sum_of_two(half, "a") == [4, 4] and sum_of_two(half, "b") == [8, 8]
# %% [markdown] tags=["en"]
# In place, $h$ got 8: $4 + 4$. An addition passes *the same tensor* to both of its inputs, so the edit halves the other path as well. It even halves the tensor that the caller gave to `backward`. And it is a matter of luck: backward reaches first what was computed last, and if the other branch comes first, nothing is wrong. After a `sum()` there is an error instead, because all entries of that gradient share one place in memory.
#
# ### Exercise `damp`: a hook that edits its argument
# *find the bug · ●●○ · 8 minutes · 3 points*
#
# Mend `damp(tensor, factor)`. For every loss, the gradient that goes on from `tensor` is multiplied by the number `factor`. Nothing else changes: not the gradient of another tensor, not the tensor that the caller passes to `backward`, not a gradient that an earlier hook has kept, not the value of `tensor`. With `create_graph=True` the damping is part of the second derivative. The function returns the handle of the hook, which works in every pass until `remove()` is called.
# %% [markdown] tags=["ru"] of="4edb9ba6"
# При изменении на месте $h$ получает 8, то есть $4 + 4$. При сложении обоим слагаемым достаётся *один и тот же тензор*, поэтому изменение уменьшает вдвое и градиент другого пути. Уменьшился даже тензор, который вызывающий код передал в `backward`. Притом это дело случая: обратный проход сначала доходит до того, что вычислено последним, и если первой окажется другая ветвь, всё будет верно. А после `sum()` возникает ошибка, потому что все элементы такого градиента занимают одно место в памяти.
#
# ### Упражнение `damp`: хук, который меняет свой аргумент
# *найти ошибку · ●●○ · 8 минут · 3 балла*
#
# Исправьте функцию `damp(tensor, factor)`. При любой функции потерь градиент, который идёт дальше от тензора `tensor`, умножается на число `factor`. Больше ничего не меняется: ни градиент другого тензора, ни тензор, переданный в `backward`, ни градиент, который сохранил более ранний хук, ни значение самого `tensor`. При `create_graph=True` множитель входит и во вторую производную. Функция возвращает дескриптор хука, и хук работает в каждом проходе, пока не вызван `remove()`.
# %% answer="damp"
def damp(tensor, factor):
    def hook(gradient):
        return gradient * factor

    return tensor.register_hook(hook)


# %% given="damp"
def damp(tensor, factor):
    def hook(gradient):
        gradient *= factor

    return tensor.register_hook(hook)


# %% alternative="damp"
def damp(tensor, factor):
    return tensor.register_hook(lambda gradient: gradient.mul(factor))


# %% alternative="damp"
def damp(tensor, factor):
    def hook(gradient):
        gradient = gradient.clone()
        gradient *= factor
        return gradient

    return tensor.register_hook(hook)


# %% alternative="damp"
def damp(tensor, factor):
    return tensor.register_hook(lambda gradient: torch.lerp(torch.zeros_like(gradient), gradient, factor))


# %% check="damp"
from autograder import check

check("damp")
