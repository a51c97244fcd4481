# %% [markdown] tags=["en"] needs="03" about="which hook sees what, gradients replaced, steps inside backward, why `DistributedDataParallel` waits"
# # Hooks on gradients
#
# Two processes train one model, each on its own half of the data. In one pass a layer is not used. Nothing happens. In the next pass the training stops: `Expected to have finished reduction in the prior iteration before starting a new one`. Why does the error come one pass late, and what did the first pass do?
#
# A *hook* is a function of yours that the backward pass calls when a gradient is ready. It may look at the gradient, replace it, take the optimizer step right there, or tell another process that it is ready. Distributed training is built on hooks. Your own engine has none: at the end of this lesson it calls them, too. After this lesson you can:
#
# * say which hook runs when, and what it sees;
# * read and replace a gradient without spoiling another one, and take the hook off again;
# * take the optimizer step inside the backward pass, and say what that saves;
# * explain why `DistributedDataParallel` stopped above, and in the extra sections rebuild that part.
#
# You need lesson 03: what `.grad` holds, and when it is cleared.
# %% [markdown] tags=["ru"] about="какой хук что видит, замена градиентов, шаг внутри обратного прохода, чего ждёт `DistributedDataParallel`" of="aeab6f65"
# # Хуки градиентов
#
# Два процесса обучают одну модель, каждый на своей половине данных. В одном из проходов какой-то слой не участвует, и внешне это никак не проявляется, а на следующем проходе обучение останавливается с ошибкой: `Expected to have finished reduction in the prior iteration before starting a new one`. Почему ошибка опоздала на один проход и что же тогда произошло в первом из двух проходов?
#
# *Хук* — это ваша функция, которую обратный проход вызывает, когда градиент готов. В ней можно посмотреть на градиент, заменить его, тут же сделать шаг оптимизатора или сообщить о готовности другому процессу. На хуках построено распределённое обучение. В вашем собственном движке хуков пока нет, а в конце урока они появятся и в нём. После урока вы сможете:
#
# * сказать, когда выполняется каждый хук и какие значения ему доступны;
# * прочитать или заменить градиент, не испортив соседний, и убрать за собой хук;
# * сделать шаг оптимизатора внутри обратного прохода и объяснить, какую экономию это даёт;
# * объяснить, почему класс `DistributedDataParallel` сообщил об ошибке, а в дополнительных разделах — воспроизвести эту его часть.
#
# Понадобится урок 03: что лежит в `.grad` и когда градиенты обнуляют.
# %% tags=["en"]
# Does the import fail? Install the course by pip (its file, or autograd-course),
# and uninstall another `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("gradient_hooks", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("gradient_hooks", language="ru")
# %%
import torch
from torch import nn


# %% [markdown] tags=["en"]
# ## An error that comes one pass late
#
# Two processes have a copy of the model and one sample each: $x = 1$ in process 0, $x = 2$ in process 1. The model is $w_2 w_1 x$, but here `skip=True` leaves $w_2$ out, so the gradient of $w_1$ is $x$. `DistributedDataParallel` is there to average the gradients of the two. After each pass the table has the gradient of $w_1$, or the error.
#
# | | process 0 | process 1 |
# |---|---|---|
# | plain, pass 1 | 1.0 | 2.0 |
# | plain, pass 2 | Expected to have finished reduction in the... | Expected to have finished reduction in the... |
# | find_unused_parameters, pass 1 | 1.5 | 1.5 |
# | find_unused_parameters, pass 2 | 1.5 | 1.5 |
# %% [markdown] tags=["ru"] of="fa422626"
# ## Ошибка, которая опоздала на один проход
#
# У каждого из двух процессов — копия модели и один пример: $x = 1$ у процесса 0 и $x = 2$ у процесса 1. Модель вычисляет $w_2 w_1 x$, но здесь из-за `skip=True` вес $w_2$ не участвует, поэтому градиент по $w_1$ равен $x$. Класс `DistributedDataParallel` нужен для того, чтобы усреднять градиенты двух процессов. В таблице указан градиент по $w_1$ после каждого прохода или приведён текст ошибки.
#
# | | процесс 0 | процесс 1 |
# |---|---|---|
# | plain, pass 1 | 1.0 | 2.0 |
# | plain, pass 2 | Expected to have finished reduction in the... | Expected to have finished reduction in the... |
# | find_unused_parameters, pass 1 | 1.5 | 1.5 |
# | find_unused_parameters, pass 2 | 1.5 | 1.5 |
# %% [markdown] tags=["en", "try"]
# In which of the four passes does the first thing go wrong, and by what do you see it? Say it.
#
# The first pass is not innocent. Its gradients are 1.0 and 2.0: nothing was averaged, the two copies would step apart, and there is no message. Only the second pass notices that the first one was never finished. With `find_unused_parameters=True` both processes have 1.5.
# %% [markdown] tags=["ru", "try"] of="420d5259"
# В каком из четырёх проходов впервые что-то идёт не так и по чему это видно? Ответьте.
#
# Первый проход вовсе не безобиден. Его градиенты — 1.0 и 2.0: ничего не усреднено, после шага копии модели разошлись бы, и никакого сообщения нет. Лишь на втором проходе обнаруживается, что первый так и не был завершён. С `find_unused_parameters=True` у обоих процессов получается 1.5.
# %% [markdown] tags=["en"]
# The next cell does all this with two real processes on your computer, and ends them again. The first time it may take half a minute.
# %% [markdown] tags=["ru"] of="912c652f"
# Следующая ячейка проделывает всё это на вашем компьютере в двух настоящих процессах и сама их завершает. В первый раз на это может уйти полминуты.
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
# By the end of the core you will know why, and in an extra exercise you can write the mechanism that does this.
# %% [markdown] tags=["ru"] of="7c3928cf"
# К концу основной части вы будете знать, в чём дело, а в дополнительном упражнении сможете реализовать этот механизм сами.
# %% [markdown] tags=["en"]
# ## A hook on a tensor
#
# `tensor.register_hook(f)` asks the backward pass to call `f(gradient)` when the gradient with respect to `tensor` is complete. What `f` returns takes the gradient's place from there on; if it returns None, the gradient goes on as it is. `register_hook` returns a *handle*, and `handle.remove()` takes the hook off. Here $h = 3w$ with $w = 2$, and the loss is $5h$.
# %% [markdown] tags=["ru"] of="9b12593f"
# ## Хук на тензоре
#
# После вызова `tensor.register_hook(f)` обратный проход вызовет `f(gradient)`, когда градиент по тензору `tensor` будет полностью готов. То, что вернула функция `f`, занимает место градиента на всём дальнейшем пути. Если она вернула None, градиент идёт дальше без изменений. Метод `register_hook` возвращает *дескриптор* хука (handle), и вызов `handle.remove()` снимает хук. Ниже $h = 3w$ при $w = 2$, а функция потерь равна $5h$.
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
# A second kind of hook belongs to leaves: `register_post_accumulate_grad_hook(f)` calls `f(parameter)` after the gradient has been added to `.grad`. So a leaf has a moment before and a moment after the addition. Here are both kinds in one function. Read it; do not call it yet.
# %% [markdown] tags=["ru"] of="79b72c55"
# Хук второго вида бывает только у листьев: его ставят методом `register_post_accumulate_grad_hook(f)`, и функция `f(parameter)` вызывается после того, как градиент прибавлен к `.grad`. Значит, на листе хук может сработать и до сложения, и после него. В следующей функции есть хуки обоих видов. Прочтите её, но пока не вызывайте.
# %%
def hook_table():
    seen = {}
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
        seen["hook on w"] = gradient.item()
        seen["w.grad in the hook on w"] = w.grad.item()

    def after(parameter):
        seen["w.grad in the post-accumulate hook"] = parameter.grad.item()

    h.register_hook(ten_times)
    h.register_hook(watch)
    w.register_hook(before)
    w.register_post_accumulate_grad_hook(after)
    (5 * h).backward()
    return {**seen, "h.grad": h.grad.item()}


# %% [markdown] tags=["en"]
# ### `predict_hook_order`
#
# Put what `hook_table()` returns in place of each `...`: numbers.
# %% [markdown] tags=["ru"] of="7978eecd"
# ### `predict_hook_order`
#
# Вместо каждого `...` поставьте число, которое вернёт `hook_table()`.
# %% answer="predict_hook_order"
predict_hook_order = {
    "first hook on h": 5.0,
    "second hook on h": 50.0,
    "hook on w": 150.0,
    "w.grad in the hook on w": 100.0,
    "w.grad in the post-accumulate hook": 250.0,
    "h.grad": 50.0,
}
# %% given="predict_hook_order"
predict_hook_order = {
    "first hook on h": ...,
    "second hook on h": ...,
    "hook on w": ...,
    "w.grad in the hook on w": ...,
    "w.grad in the post-accumulate hook": ...,
    "h.grad": ...,
}
# %% check="predict_hook_order"
from autograder import check

check("predict_hook_order")
# %% tags=["fact"]
assert hook_table() == predict_hook_order
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
w = torch.tensor(2.0, requires_grad=True)
w.register_hook(lambda g: 7 * g)
h = 3 * w
h.register_hook(lambda g: 7 * g)
assert torch.autograd.grad(2 * h, h, retain_graph=True)[0].item() == 2 * 7
for split in (lambda x: x.split(1), lambda x: x.chunk(2), torch.unbind, lambda x: torch.linalg.svd(x)[1:]):
    arrived = []
    a, b = split(torch.rand(2, 2, requires_grad=True))
    b.register_hook(arrived.append)
    a.sum().backward()
    assert arrived == [None]
assert [g.item() for g in torch.autograd.grad(2 * h, [h, w])] == [2, 2 * 7 * 3 * 7]
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# Вызовем эту функцию и сравним с таблицей.
# %%
hook_table()


# %% [markdown] tags=["en"] explains="predict_hook_order"
# Two rules are in that table.
#
# * Hooks of one tensor run in the order of their registration, and each gets what the one before it returned. `h.grad` holds what is left after all of them, even though `retain_grad()` was called first.
# * A tensor hook runs before the addition to `.grad`, a post-accumulate hook after it. The first gets the gradient of this pass, the second finds the sum in `.grad`.
# %% [markdown] tags=["ru"] explains="predict_hook_order" of="1b13057b"
# Из этой таблицы следуют два правила.
#
# * Хуки одного тензора выполняются в порядке регистрации, и каждый получает то, что вернул предыдущий. В `h.grad` лежит то, что осталось после всех, хотя `retain_grad()` вызван раньше них.
# * Хук тензора выполняется до прибавления к `.grad`, а хук post-accumulate — после. Первый получает градиент этого прохода, второй находит в `.grad` сумму.
# %% [markdown] tags=["en"]
# ## Handles, and hooks that stay
#
# A hook on an intermediate tensor goes when the tensor and its graph go. A hook on a parameter stays as long as the parameter, and with it all that the function refers to. A hook that is registered in each turn of a loop is there a thousand times after a thousand turns. Here each adds its factor 0.5:
# %% [markdown] tags=["ru"] of="21edb98c"
# ## Дескрипторы и забытые хуки
#
# Хук на промежуточном тензоре исчезает вместе с этим тензором и его графом. Хук на параметре живёт столько же, сколько параметр, и удерживает всё, на что ссылается его функция. Если ставить хук на каждой итерации цикла, через тысячу итераций хуков будет тысяча. В примере ниже каждый умножает градиент на 0.5:
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


# %% [markdown] tags=["en", "try"]
# Why is the gradient half of the one before in each step? Say what the loop does once too often, and what it should keep.
#
# The gradient should be 0.5 in each step; it is 0.5, 0.25, 0.125. So keep the handle and remove the hook, also when something goes wrong in between: `try: ... finally: ...`.
# %% [markdown] tags=["ru", "try"] of="37ee15d6"
# Почему градиент на каждом шаге вдвое меньше предыдущего? Скажите, что в цикле делается лишний раз и что нужно было сохранить.
#
# На каждом шаге должно быть 0.5, а получается 0.5, 0.25, 0.125. Поэтому сохраняйте дескриптор и снимайте хук, даже если по дороге что-то пойдёт не так: `try: ... finally: ...`.
# %% [markdown] tags=["en"]
# The opposite happens, too: a hook gets lost. `load_state_dict(..., assign=True)` and `layer.weight = nn.Parameter(...)` put a new parameter in place of the one with the hook, and a `deepcopy` of a model has no hooks. After `layer.double()` and after an ordinary `load_state_dict` they are still there.
#
# ### `arriving_gradients`
#
# **Call `loss.backward()` once and return the gradient that it brings to each of `tensors`, without a trace.**
#
# * **Given.** `tensors`, a list of leaves and intermediate tensors, each there once, not `loss` itself. All require grad, and nobody has called `retain_grad()` on the intermediate ones.
# * **Result.** A list with one entry for each tensor, in the order of `tensors`: the gradient that this pass brings to it, or None if none comes. A gradient of zeros is a gradient. If somebody else's hook from `register_hook` changes the gradient, the changed one is meant. <!-- gradients -->
# * **Result.** A hook that torch calls with None does no harm. <!-- nothing_came -->
# * **Result.** `.grad` of all leaves is as after an ordinary `loss.backward()`: the gradient is added to what was there. As usual, the pass frees the graph, and an error of `backward()` goes on to the caller. <!-- grad_fields, hooks_left -->
# * **Leave.** The `.grad` of intermediate tensors, in this pass and in later ones. No later pass changes the list either. <!-- grad_fields -->
# * **Not allowed.** A hook of yours that stays, also when `backward()` raises. <!-- hooks_left -->
# %% [markdown] tags=["ru"] of="98d04d63"
# Бывает и наоборот: хук теряется. При вызове `load_state_dict(..., assign=True)` и при присваивании `layer.weight = nn.Parameter(...)` на место параметра с хуком встаёт новый параметр, а у копии модели, сделанной через `deepcopy`, хуков нет. После вызова `layer.double()` и обычного вызова `load_state_dict` хуки остаются.
#
# ### `arriving_gradients`
#
# **Вызовите `loss.backward()` один раз и верните градиент, который он приносит каждому из `tensors`, не оставив следов.**
#
# * **Дано.** Список `tensors` из листовых и промежуточных тензоров, в котором каждый встречается один раз; самого тензора `loss` среди них нет. Все требуют градиента, а метод `retain_grad()` у промежуточных никто не вызывал.
# * **Результат.** Список, в котором каждому тензору соответствует одно значение, в том же порядке, что в `tensors`: градиент, который пришёл к нему в этом проходе, или None, если ничего не пришло. Градиент из одних нулей — тоже градиент. Если градиент изменил чужой хук, поставленный через `register_hook`, нужен уже изменённый градиент. <!-- gradients -->
# * **Результат.** Если torch вызвал хук с None, ваша функция работает как обычно. <!-- nothing_came -->
# * **Результат.** Поля `.grad` у всех листьев такие же, как после обычного `loss.backward()`: градиент прибавлен к прежнему. Сохранённое в графе, как обычно, освобождается, а ошибка `backward()` доходит до вызывающего кода. <!-- grad_fields, hooks_left -->
# * **Не менять.** Поля `.grad` промежуточных тензоров, в этом проходе и в следующих. Сам список следующие проходы тоже не меняют. <!-- grad_fields -->
# * **Нельзя.** Оставлять свои хуки, даже если `backward()` завершился ошибкой. <!-- hooks_left -->
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
        found[index] = None if gradient is None else gradient.clone()

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
# ## Half of a gradient
#
# `half` below is to halve a gradient. It sits on the branch $f = wh$ of a residual connection $y = h + f$, with $w = h = 1$. The gradient of $y$ is 8. With half of it on the branch, $w$ should get 4, and $h$ should get $8 + 4 = 12$: the whole gradient past the branch, half of it through the branch.
# %% [markdown] tags=["ru"] of="8bb8777c"
# ## Половина градиента
#
# Функция `half` ниже должна вдвое уменьшить градиент. Она поставлена хуком на ветвь $f = wh$ остаточной связи $y = h + f$, где $w = h = 1$. Градиент по $y$ равен 8. Если на ветви он уменьшается вдвое, то $w$ должен получить 4, а $h$ — $8 + 4 = 12$: весь градиент в обход ветви и половину через ветвь.
# %%
def half(gradient):
    gradient *= 0.5


def residual(hook):
    """Return the gradients of w and h in y = h + w * h, with `hook` on the branch, and backward's own."""
    w, h = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    branch = w * h
    branch.register_hook(hook)
    given = torch.tensor([8.0, 8.0])
    (h + branch).backward(given)
    return w.grad.tolist(), h.grad.tolist(), given.tolist()


print(residual(half))
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
# ### `damp`
#
# **`damp(tensor, factor)` is to make the gradient that goes on from `tensor` smaller, and nothing else. It changes more: mend it.**
#
# * **Result.** For every loss that depends on `tensor`, the gradient that goes on from `tensor` is multiplied by the number `factor`. <!-- damped -->
# * **Result.** With `create_graph=True` the damping is part of the second derivative. <!-- second -->
# * **Result.** The handle of the hook is returned; the hook works in every pass until `remove()` is called. <!-- removed -->
# * **Result.** A pass that does not need `tensor` goes on, even if torch calls the hook with None. <!-- nothing_came -->
# * **Leave.** Everything else: the gradient of another tensor, the tensor that the caller passes to `backward`, a gradient that an earlier hook has kept, the value of `tensor`, and, if `tensor` is a leaf, what an earlier pass has left in its `.grad`. <!-- others -->
# %% [markdown] tags=["ru"] of="80188e33"
# ### `damp`
#
# **`damp(tensor, factor)` должна уменьшать градиент, который идёт дальше от `tensor`, и больше ничего. Но меняет она и другое: исправьте функцию.**
#
# * **Результат.** При любой функции потерь, которая зависит от тензора `tensor`, градиент, который `tensor` передаёт дальше, умножается на число `factor`. <!-- damped -->
# * **Результат.** При `create_graph=True` множитель входит и во вторую производную. <!-- second -->
# * **Результат.** Возвращается дескриптор хука; хук работает в каждом проходе, пока не вызван `remove()`. <!-- removed -->
# * **Результат.** Проход, которому `tensor` не нужен, продолжается, даже если torch вызвал хук с None. <!-- nothing_came -->
# * **Не менять.** Всё остальное: градиент другого тензора, тензор, переданный в `backward`, градиент, который сохранил более ранний хук, значение самого `tensor`, а если `tensor` — лист, то и содержимое его `.grad`, оставшееся от прежнего прохода. <!-- others -->
# %% answer="damp"
def damp(tensor, factor):
    def hook(gradient):
        return None if gradient is None else gradient * factor

    return tensor.register_hook(hook)


# %% given="damp"
def damp(tensor, factor):
    def hook(gradient):
        gradient *= factor

    return tensor.register_hook(hook)


# %% alternative="damp"
def damp(tensor, factor):
    return tensor.register_hook(lambda gradient: gradient if gradient is None else gradient.mul(factor))


# %% alternative="damp"
def damp(tensor, factor):
    def hook(gradient):
        if gradient is not None:
            gradient = gradient.clone()
            gradient *= factor
        return gradient

    return tensor.register_hook(hook)


# %% alternative="damp"
def damp(tensor, factor):
    def hook(gradient):
        if gradient is not None:
            return torch.lerp(torch.zeros_like(gradient), gradient, factor)

    return tensor.register_hook(hook)


# %% check="damp"
from autograder import check

check("damp")
# %% [markdown] tags=["en"] explains="damp"
# In place, $h$ got 8: $4 + 4$. An addition passes *the same tensor* to both of its inputs, so the edit halves the other path as well. It even halves the tensor that the caller gave to `backward`. And it is a matter of luck: backward reaches first what was computed last, and if the other branch comes first, its gradient is right. After a `sum()` there is an error instead, because all entries of that gradient share one place in memory.
# %% [markdown] tags=["ru"] explains="damp" of="fc766d59"
# При изменении на месте $h$ получает 8, то есть $4 + 4$. При сложении обоим слагаемым достаётся *один и тот же тензор*, поэтому вдвое уменьшается и градиент другого пути. Уменьшился даже тензор, который вызывающий код передал в `backward`. К тому же результат зависит от порядка: обратный проход сначала доходит до того, что вычислено последним, и если первой окажется другая ветвь, её градиент будет верным. А после `sum()` возникает ошибка, потому что все элементы такого градиента занимают одно место в памяти.


# %% [markdown] tags=["en"]
# ## A hook that clips
#
# You will meet the function below. Two parameters have the gradients 3 and 4, together of norm 5. Clipped to 1 by their norm they should become 0.6 and 0.8 (lesson 03). What does it make of them?
#
# ```python
# def gradient_clipper(model, val):
#     for parameter in model.parameters():
#         parameter.register_hook(lambda grad: grad.clamp_(-val, val))
#     return model
# ```
#
# ### `clip_globally`
#
# **Clip the gradient during one backward pass, as `clip_grad_norm_` would after it. The function does not: mend it.**
#
# Mend `clip_globally(model, loss, max_norm)`. What it returns does not matter.
#
# * **Given.** Modules may be nested, and a weight may be in two modules. Every `.grad` is None. A norm that has to be clipped is larger than 1 here, and a relative error of $10^{-6}$ does not matter.
# * **Result.** `.grad` holds the clipped gradient of `loss`: if the norm over all parameters together is larger than `max_norm`, the whole gradient is scaled down to that norm, else it stays as it is. <!-- gradients -->
# * **Leave.** The `.grad` of None in parameters that the loss does not depend on, and in frozen ones. <!-- gradients -->
# * **Not allowed.** More than one backward pass. <!-- passes -->
# * **Not allowed.** A hook that stays on a parameter. <!-- hooks_left -->
# %% [markdown] tags=["ru"] of="364e137e"
# ## Хук, который отсекает градиент
#
# Ниже — функция, которая встречается в чужом коде. У двух параметров градиенты 3 и 4, их общая норма равна 5. Если ограничить норму единицей, должны получиться 0.6 и 0.8 (урок 03). А что получится у этой функции?
#
# ```python
# def gradient_clipper(model, val):
#     for parameter in model.parameters():
#         parameter.register_hook(lambda grad: grad.clamp_(-val, val))
#     return model
# ```
#
# ### `clip_globally`
#
# **Ограничьте градиент за один обратный проход так, как `clip_grad_norm_` ограничил бы его после прохода. Функция делает не то: исправьте её.**
#
# Исправьте функцию `clip_globally(model, loss, max_norm)`. Что она возвращает, неважно.
#
# * **Дано.** Модули бывают вложенные, а один вес может входить в два модуля. Во всех полях `.grad` лежит None. Если градиент приходится отсекать, его норма здесь больше 1; допускается относительная погрешность до $10^{-6}$.
# * **Результат.** В `.grad` лежит отсечённый градиент от `loss`: если норма по всем параметрам вместе больше `max_norm`, весь градиент укорачивается до этого предела, иначе остаётся как есть. <!-- gradients -->
# * **Не менять.** None в поле `.grad` у параметров, от которых функция потерь не зависит, и у замороженных. <!-- gradients -->
# * **Нельзя.** Выполнять больше одного обратного прохода. <!-- passes -->
# * **Нельзя.** Оставлять хуки на параметрах. <!-- hooks_left -->
# %% answer="clip_globally"
def clip_globally(model, loss, max_norm):
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)


# %% given="clip_globally"
def clip_globally(model, loss, max_norm):
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_hook(lambda grad: grad.clamp_(-max_norm, max_norm))
    loss.backward()


# %% alternative="clip_globally"
def clip_globally(model, loss, max_norm):
    loss.backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    norm = sum(g.square().sum() for g in gradients).sqrt()
    if norm > max_norm:
        for gradient in gradients:
            gradient *= max_norm / norm


# %% alternative="clip_globally"
def clip_globally(model, loss, max_norm):
    used = [p for p in model.parameters() if p.requires_grad]
    gradients = torch.autograd.grad(loss, used, allow_unused=True)
    norm = torch.cat([g.flatten() for g in gradients if g is not None]).norm()
    for parameter, gradient in zip(used, gradients):
        if gradient is not None:
            parameter.grad = gradient * min(1.0, max_norm / norm.item())


# %% alternative="clip_globally"
def clip_globally(model, loss, max_norm):
    trained = [p for p in model.parameters() if p.requires_grad]
    norms = []

    def all_there(gradients):
        norms.append(torch.stack([g.norm() for g in gradients if g is not None]).norm())

    with torch.autograd.graph.register_multi_grad_hook(trained, all_there):
        loss.backward()
    for parameter in trained:
        if parameter.grad is not None:
            parameter.grad.mul_((max_norm / norms[0]).clamp(max=1.0))


# %% check="clip_globally"
from autograder import check

check("clip_globally")
# %% [markdown] tags=["en"] explains="clip_globally"
# It edits its argument. It also bounds each entry on its own, while clipping by norm shortens the whole gradient and leaves its direction. Here are the two gradients again, clipped to 1:
#
# | | first | second | ratio |
# |---|---|---|---|
# | the gradient | 3 | 4 | 0.75 |
# | each on its own | 1 | 1 | 1 |
# | all together | 0.6 | 0.8 | 0.75 |
#
# The factor 1/5 needs both gradients. A hook on one parameter sees one.
# %% [markdown] tags=["ru"] explains="clip_globally" of="8ab3a1dd"
# Хук здесь меняет свой аргумент. Кроме того, каждый элемент ограничивается отдельно, тогда как отсечение по норме (клиппинг) укорачивает весь градиент и сохраняет его направление. Возьмём два параметра с градиентами 3 и 4 (общая норма равна 5) и ограничим норму единицей:
#
# | | первый | второй | отношение |
# |---|---|---|---|
# | градиент | 3 | 4 | 0.75 |
# | каждый отдельно | 1 | 1 | 1 |
# | все вместе | 0.6 | 0.8 | 0.75 |
#
# Чтобы найти множитель 1/5, нужны оба градиента, а хук на одном параметре видит только свой.


# %% tags=["fact"]
def clipped(*hooks):
    p, q = (nn.Parameter(torch.tensor(1.0)) for _ in "pq")
    handles = [x.register_hook(hook) for hook in hooks for x in (p, q)]
    (3 * p + 4 * q).backward()
    if not handles:
        torch.nn.utils.clip_grad_norm_([p, q], 1.0)
    return [round(x.grad.item(), 4) for x in (p, q)]


assert clipped() == [0.6, 0.8]
assert clipped(lambda g: g.clamp(-1, 1)) == clipped(lambda g: g * (1 / g.norm()).clamp(max=1)) == [1, 1]
seen = []
p, q, r = (nn.Parameter(torch.tensor(1.0)) for _ in "pqr")
handle = torch.autograd.graph.register_multi_grad_hook([p, q, r], seen.append)
(3 * p + 4 * q).backward()
assert [None if g is None else g.item() for g in seen[0]] == [3, 4, None]
handle.remove()
handle = torch.autograd.graph.register_multi_grad_hook([p, q], lambda gs: tuple(0 * g for g in gs))
p.grad = q.grad = None
(3 * p + 4 * q).backward()
assert (p.grad.item(), q.grad.item()) == (3, 4)
handle.remove()
filled = []
p.grad = q.grad = r.grad = None
handle = torch.autograd.graph.register_multi_grad_hook(
    [p, q, r], lambda gs: filled.append(p.grad is None or q.grad is None or r.grad is None)
)
(p * q * r).backward()
assert filled == [True]


# %% [markdown] tags=["en"]
# There is a hook for several tensors: `torch.autograd.graph.register_multi_grad_hook(tensors, f)` calls `f` once per pass, with the list of all their gradients, as soon as the last one has come. A tensor that the loss does not depend on has None in the list. What it returns is ignored, and some of the gradients may already be in `.grad`, others not: it is a place to look, not to change.
# %% [markdown] tags=["ru"] of="3204b647"
# Есть и хук для нескольких тензоров: после вызова `torch.autograd.graph.register_multi_grad_hook(tensors, f)` функция `f` выполняется один раз за проход, как только пришёл последний градиент, и получает список всех градиентов. Если функция потерь от тензора не зависит, на его месте в списке стоит None. Возвращённое значение ни на что не влияет, а часть градиентов к этому моменту может уже лежать в `.grad`, а часть — ещё нет: такой хук годится для того, чтобы наблюдать за градиентами, но не для того, чтобы их менять.
# %% [markdown] tags=["en"]
# ## Why distributed training waits
#
# Back to the two processes. Each computes gradients on its own data, and both have to step with the mean. The exchange is called *all-reduce*: each process gives its gradients, each gets the mean of both. To send each gradient alone would be slow, and to send all after the pass would leave the network idle until then. So `DistributedDataParallel` packs gradients into *buckets* and sends a bucket while the pass is still at work on the layers before it.
#
# When may a bucket go? When every parameter in it has had its hook. And it may not overtake: an all-reduce of one process meets the all-reduce that the other process starts at the same place in the order. If one sent bucket 1 first and the other bucket 0, numbers of different layers would be added. So all processes send the buckets in the same order, even if a later one is complete earlier.
#
# Now the unused layer: its hook never comes, its bucket never goes, and nor do the buckets behind it. The pass itself ends as usual. That nothing was averaged is noticed when the next pass begins, one pass late.
#
# In `watch_buckets`, an extra exercise, you write the mechanism yourself, on hooks alone and in one process.
# %% [markdown] tags=["ru"] of="8c4ae3eb"
# ## Чего ждёт распределённое обучение
#
# Вернёмся к двум процессам. Каждый вычисляет градиенты на своих данных, а шаг оба должны делать по среднему. Такой обмен называется *all-reduce*: каждый процесс отдаёт свои градиенты, и каждый получает среднее. Отправлять каждый градиент отдельно было бы медленно, а если отправлять все после прохода, канал связи до этого будет простаивать. Поэтому класс `DistributedDataParallel` складывает градиенты в *корзины* (buckets) и отправляет корзину, пока проход ещё занят предыдущими слоями.
#
# Когда корзину можно отправлять? Когда у каждого её параметра уже сработал хук. И обгонять друг друга корзинам нельзя: вызову all-reduce в одном процессе соответствует тот вызов в другом процессе, который стоит на том же месте по порядку. Если один процесс сначала отправит корзину 1, а другой — корзину 0, сложатся числа разных слоёв. Поэтому все процессы отправляют корзины в одном порядке, даже если более поздняя готова раньше.
#
# А теперь представьте слой, который не участвует: его хук не сработает, его корзина не уйдёт, и следующие за ней тоже не уйдут. Сам проход при этом заканчивается как обычно. То, что ничего не усреднено, обнаруживается в начале следующего прохода, то есть с опозданием на один проход.
#
# В дополнительном упражнении `watch_buckets` вы сами реализуете этот механизм с помощью одних только хуков и в одном процессе.
# %% [markdown] tags=["en"]
# ## What to keep
#
# * A tensor hook runs before the addition to `.grad` and may replace the gradient by what it returns. A post-accumulate hook runs after the addition.
# * Never edit the gradient that a hook is given. Somebody else may hold the same tensor.
# * A hook belongs to a value, not to a name. On a parameter it stays until `handle.remove()`: register it outside the loop.
# * One hook sees one gradient. What needs all of them, such as a norm, comes after the pass.
# * A bucket goes when each of its parameters has had its hook. An unused parameter has none: name it, or let the graph be searched.
#
# From the extra sections:
#
# * A step inside the pass saves the memory of the gradients, and excludes windows, clipping by norm and a second pass through the graph.
# %% [markdown] tags=["ru"] of="d8c7ae99"
# ## Что стоит запомнить
#
# * Хук тензора выполняется до прибавления к `.grad` и может заменить градиент тем, что вернёт. Хук post-accumulate выполняется после прибавления.
# * Никогда не меняйте на месте градиент, который получил хук: этот же тензор может использоваться где-то ещё.
# * Хук привязан к значению, а не к имени. На параметре он остаётся до вызова `handle.remove()`: ставьте его вне цикла.
# * Один хук видит один градиент. То, для чего нужны все, например норма, вычисляется после прохода.
# * Корзина уходит, когда у каждого её параметра сработал хук. У параметра, который не участвует, хук не сработает: назовите такие параметры заранее или поручите классу находить их обходом графа.
#
# Из дополнительных разделов:
#
# * Шаг внутри прохода экономит память под градиенты, но исключает окна накопления, отсечение по норме и второй проход по тому же графу.
# %% [markdown] tags=["en"]
# ## Which hooks run
#
# Which hooks run at all, how often, and to what do they belong? The function below asks that. Read it; do not call it yet.
# %% [markdown] tags=["ru"] of="390de95d"
# ## Какие хуки вызываются
#
# А какие хуки вообще сработают, сколько раз и к чему они привязаны? Об этом функция ниже. Прочтите её, но пока не вызывайте.
# %%
def hook_calls():
    calls, table = [], {}
    w = torch.tensor(2.0, requires_grad=True)
    w.register_hook(lambda gradient: calls.append("before"))
    w.register_post_accumulate_grad_hook(lambda parameter: calls.append("after"))
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
# ### `predict_hook_calls`
#
# Put what `hook_calls()` returns in place of each `...`: numbers, in the two entries on `autograd.grad` True or False.
# %% [markdown] tags=["ru"] of="616575a5"
# ### `predict_hook_calls`
#
# Вместо каждого `...` поставьте то, что вернёт `hook_calls()`: числа, а в двух строках про `autograd.grad` — True или False.
# %% answer="predict_hook_calls"
predict_hook_calls = {
    "calls of the hook on w, used twice": 1,
    "hook on w runs in autograd.grad": True,
    "post-accumulate hook runs in autograd.grad": False,
    "hook before h.mul_(4)": 4.0,
    "hook after h.mul_(4)": 1.0,
}
# %% given="predict_hook_calls"
predict_hook_calls = {
    "calls of the hook on w, used twice": ...,
    "hook on w runs in autograd.grad": ...,
    "post-accumulate hook runs in autograd.grad": ...,
    "hook before h.mul_(4)": ...,
    "hook after h.mul_(4)": ...,
}
# %% check="predict_hook_calls"
from autograder import check

check("predict_hook_calls")
# %% tags=["fact"]
assert hook_calls() == predict_hook_calls
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# Вызовем эту функцию и сравним с таблицей.
# %%
hook_calls()
# %% [markdown] tags=["en"] explains="predict_hook_calls"
# Two rules are in this table.
#
# * The hook of `w` runs once per pass, with the sum over all uses of `w`. `autograd.grad` runs it, too; only what belongs to `.grad` is left out. What it returns for an intermediate tensor depends on the call. With a hook on `h` that multiplies by 7, `autograd.grad(2 * h, h)` gives 14, but `autograd.grad(2 * h, [h, w])` gives 2 for `h`, the gradient from before its hooks.
# * A hook belongs to a value, not to a name. After `h.mul_(4)` the hook registered earlier still gets the gradient with respect to the old value, 4. Likewise, after `h = torch.relu(h)` a hook stays with the old `h`.
#
# And one rule that is not in it: a hook may be called with None. `a, b = x.split(2)` are two results of one operation. If the loss depends on `a` alone, torch calls a hook on `b` with None in place of a gradient. The same holds for `unbind`, `chunk` or `torch.linalg.svd`.
# %% [markdown] tags=["ru"] explains="predict_hook_calls" of="97698eeb"
# Из таблицы видны два правила.
#
# * Хук на `w` выполняется за проход один раз и получает сумму по всем использованиям `w`. Он срабатывает и при вызове `autograd.grad`; не выполняется только то, что связано с `.grad`. Что будет возвращено для промежуточного тензора, зависит от вызова. Если хук на тензоре `h` умножает градиент на 7, то `autograd.grad(2 * h, h)` даст 14, а `autograd.grad(2 * h, [h, w])` для тензора `h` — 2, то есть градиент, каким он был до хуков.
# * Хук привязан к значению, а не к имени. После `h.mul_(4)` хук, поставленный раньше, по-прежнему получает градиент по старому значению, то есть 4. Точно так же после `h = torch.relu(h)` хук остаётся на прежнем `h`.
#
# И ещё одно правило, которого в ней нет: вместо градиента хук может получить None. В строке `a, b = x.split(2)` у одной операции два результата. Если функция потерь зависит только от `a`, torch вызовет хук на `b` с аргументом None. Так же обстоит дело с результатами `unbind`, `chunk` и `torch.linalg.svd`.
# %% [markdown] tags=["en"]
# ## The step inside the backward pass
#
# An ordinary step needs all gradients in memory at once. Does it have to? As soon as one parameter's gradient is in `.grad`, its step can be made, and the gradient let go, while the pass goes on to the layers before it. That is what a post-accumulate hook is for. The cell measures the bytes of all new tensors for eight layers of 256 × 256 numbers in float32, 262,144 bytes each.
# %% [markdown] tags=["ru"] of="6393635d"
# ## Шаг внутри обратного прохода
#
# Для обычного шага в памяти должны лежать сразу все градиенты. Обязательно ли это? Как только градиент одного параметра попал в `.grad`, можно сделать по нему шаг и освободить его память, пока обратный проход идёт дальше, к предыдущим слоям. Для этого и нужен хук post-accumulate. В ячейке измеряется, сколько байтов занимают все новые тензоры для восьми слоёв по 256 × 256 чисел float32, то есть по 262 144 байта.
# %%
from autograder.measure import live_bytes


def deep():
    return nn.Sequential(*[nn.Linear(256, 256, bias=False) for _ in range(8)])


def ordinary_step(net, x):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, foreach=False)
    net(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def step_in_hooks(net, x):
    def hook(parameter):
        with torch.no_grad():
            parameter -= 0.01 * parameter.grad
        parameter.grad = None

    handles = [parameter.register_post_accumulate_grad_hook(hook) for parameter in net.parameters()]
    net(x).square().mean().backward()
    for handle in handles:
        handle.remove()


for how in ordinary_step, step_in_hooks:
    net, x = deep(), torch.ones(4, 256)
    with live_bytes() as live:
        how(net, x)
    print(f"{how.__name__:14} peak {live.peak:9,} B")
# %% tags=["fact"]
peaks = {}
for how in ordinary_step, step_in_hooks:
    net, x = deep(), torch.ones(4, 256)
    with live_bytes() as live:
        how(net, x)
    peaks[how.__name__] = live.peak
assert round(peaks["ordinary_step"] / 1e6, 1) == 2.1 and round(peaks["step_in_hooks"] / 1e6, 2) == 0.55
assert peaks["ordinary_step"] > 8 * 262_144 and peaks["step_in_hooks"] < 2.3 * 262_144
# %% [markdown] tags=["en"]
# The peak falls from 2.1 to 0.55 million bytes. Where do the bytes go?
# %% [markdown] tags=["ru"] of="7e686df1"
# Пик уменьшился с 2.1 до 0.55 миллиона байтов. На что расходуется память?
# %% tags=["picture"]
from autograder import plot_memory

first, second = deep(), deep()


def ordinary(x):
    ordinary_step(first, x)


def in_hooks(x):
    step_in_hooks(second, x)


plot_memory(torch.ones(4, 256), ordinary, in_hooks)
# %% [markdown] tags=["en", "try"]
# What are the eight steps of the first curve, and when do they come down? Then put 16 in place of 8 in `deep`: which of the two peaks will double?
#
# Gradients, one for each layer; the optimizer clears all of them at the end. In the second picture each goes before the next one comes. So only the first peak doubles.
# %% [markdown] tags=["ru", "try"] of="b98eb193"
# Что за восемь ступеней на первой кривой и когда они исчезают? А теперь поставьте в `deep` 16 вместо 8: какой из двух пиков удвоится?
#
# Это градиенты, по одному на слой, и оптимизатор убирает их все в самом конце. На второй кривой каждый исчезает раньше, чем придёт следующий. Поэтому удвоится только первый пик.
# %% tags=["fact"]
peaks = {}
for depth in (8, 16):
    for how in ordinary_step, step_in_hooks:
        net, x = nn.Sequential(*[nn.Linear(256, 256, bias=False) for _ in range(depth)]), torch.ones(4, 256)
        with live_bytes() as live:
            how(net, x)
        peaks[how, depth] = live.peak
assert 1.9 < peaks[ordinary_step, 16] / peaks[ordinary_step, 8] < 2.1
assert peaks[step_in_hooks, 16] < 1.3 * peaks[step_in_hooks, 8]


# %% [markdown] tags=["en"]
# It has a price. Three things that an ordinary loop does no longer fit:
#
# * **A window of micro-batches.** The step is made in every pass, so nothing accumulates. With $w = 1$ and the gradients 1 and 3, a window at a learning rate of 0.1 ends at $1 - 0.1 \cdot 4 = 0.6$. With the step inside, the second gradient is computed at the changed weight.
# * **Clipping by the norm of all.** When the first step is made, the other gradients do not exist yet.
# * **A second pass through the same graph.** `retain_graph=True` keeps the graph, but the weights saved in it have been changed: torch refuses with its error about an in-place operation.
# %% [markdown] tags=["ru"] of="aee3a4c8"
# За это приходится платить. Три приёма, обычные для простого цикла, здесь уже не работают:
#
# * **Окно микробатчей.** Шаг делается в каждом проходе, и ничего не накапливается. При $w = 1$, градиентах 1 и 3 и скорости обучения 0.1 вес в конце окна равен $1 - 0.1 \cdot 4 = 0.6$. А если шаг делается внутри прохода, второй градиент вычисляется уже при изменённом весе.
# * **Отсечение по общей норме.** Когда делается первый шаг, остальных градиентов ещё нет.
# * **Второй проход по тому же графу.** Граф сохраняется благодаря `retain_graph=True`, но веса, которые в нём сохранены, уже изменены: torch сообщает об ошибке, связанной с изменением на месте.
# %% tags=["fact"]
net = deep()
for parameter in net.parameters():

    def step_now(parameter):
        with torch.no_grad():
            parameter -= 0.01 * parameter.grad
        parameter.grad = None

    parameter.register_post_accumulate_grad_hook(step_now)
loss = net(torch.ones(1, 256)).square().mean()
loss.backward(retain_graph=True)
assert "modified by an inplace operation" in refusal(loss.backward)


def one_window(inside):
    """Two micro-batches, with the losses w and 1.5 w²; at w = 1 their gradients are 1 and 3."""
    w = nn.Parameter(torch.tensor(1.0))
    if inside:

        def hook(p):
            with torch.no_grad():
                p -= 0.1 * p.grad
            p.grad = None

        w.register_post_accumulate_grad_hook(hook)
    for loss in (lambda: 1 * w, lambda: 1.5 * w**2):
        loss().backward()
    if not inside:
        with torch.no_grad():
            w -= 0.1 * w.grad
    return round(w.item(), 4)


assert one_window(False) == 0.6 and one_window(True) == 0.63


# %% [markdown] tags=["en"]
# ### `step_in_backward`
#
# **Let each `loss.backward()` train the model: each parameter is stepped as soon as its gradient is there, and the gradient goes.**
#
# Write `step_in_backward(model, make_optimizer)`. After its call, each `loss.backward()` trains the model.
#
# * **Given.** `make_optimizer(parameters)` gets a list of parameters and returns a new optimizer for them, such as `torch.optim.Adam(parameters)`. All `.grad` are None.
# * **Given.** Frozen parameters may occur, a parameter that only some of the passes use, one that the model uses in two places or has in two modules, nested modules, and parameters of the model itself.
# * **Result.** After each `loss.backward()` the parameters are those of the ordinary loop: one optimizer for all, made once; in each pass `backward()`, `step()`, `zero_grad()`. <!-- weights -->
# * **Result.** All `.grad` are None after each pass. <!-- cleared -->
# * **Result.** A function without arguments comes back. After it has been called, `backward()` fills `.grad` again and changes no parameter. As long as it has not been called, the training goes on, even if nobody keeps this function. <!-- stopped -->
# * **Not allowed.** The gradients of more than two of eight equal layers in memory at the same time. <!-- peak -->
# %% [markdown] tags=["ru"] of="6854941c"
# ### `step_in_backward`
#
# **Пусть каждый `loss.backward()` обучает модель: шаг по параметру делается, как только готов его градиент, и градиент сразу освобождается.**
#
# Напишите функцию `step_in_backward(model, make_optimizer)`. После её вызова каждый `loss.backward()` обучает модель.
#
# * **Дано.** Функция `make_optimizer(parameters)` получает список параметров и возвращает новый оптимизатор для них, например `torch.optim.Adam(parameters)`. Во всех полях `.grad` лежит None.
# * **Дано.** Параметры бывают разные: замороженные, участвующие не во всех проходах, использованные в двух местах, входящие сразу в два модуля. Модули бывают вложенные, и у самой модели тоже могут быть параметры.
# * **Результат.** После каждого `loss.backward()` параметры такие же, как в обычном цикле, где оптимизатор один на все параметры и создан один раз, а на каждой итерации выполняются `backward()`, `step()`, `zero_grad()`. <!-- weights -->
# * **Результат.** После каждого прохода во всех полях `.grad` лежит None. <!-- cleared -->
# * **Результат.** Возвращается функция без аргументов. После её вызова `backward()` снова заполняет `.grad`, а параметров не меняет. Пока её не вызвали, обучение продолжается, даже если эту функцию никто не хранит. <!-- stopped -->
# * **Нельзя.** Держать в памяти одновременно градиенты больше чем двух слоёв из восьми одинаковых. <!-- peak -->
# %% answer="step_in_backward"
def step_in_backward(model, make_optimizer):
    """Make each backward pass take the optimizer step; return a function that ends this."""
    ### BEGIN SOLUTION
    optimizers = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}

    def hook(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    handles = [parameter.register_post_accumulate_grad_hook(hook) for parameter in optimizers]

    def stop():
        for handle in handles:
            handle.remove()

    return stop
    ### END SOLUTION


# %% alternative="step_in_backward"
def step_in_backward(model, make_optimizer):
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = make_optimizer(trained)

    def hook(parameter):
        # every other `.grad` is None, and a step leaves such parameters alone
        optimizer.step()
        parameter.grad = None

    handles = [p.register_post_accumulate_grad_hook(hook) for p in trained]
    return lambda: [handle.remove() for handle in handles]


# %% alternative="step_in_backward"
def step_in_backward(model, make_optimizer):
    from functools import partial

    working = [True]

    def hook(optimizer, parameter):
        if working:
            optimizer.step()
            optimizer.zero_grad()

    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(partial(hook, make_optimizer([parameter])))
    return working.clear


# %% alternative="step_in_backward"
def step_in_backward(model, make_optimizer):
    class Stepper:
        def __init__(self, parameter):
            self.optimizer = make_optimizer([parameter])
            self.handle = parameter.register_post_accumulate_grad_hook(self)

        def __call__(self, parameter):
            self.optimizer.step()
            parameter.grad = None

    steppers = [Stepper(p) for p in filter(lambda p: p.requires_grad, model.parameters())]

    def stop():
        while steppers:
            steppers.pop().handle.remove()

    return stop


# %% check="step_in_backward"
from autograder import check

check("step_in_backward")


# %% tags=["fact"]
queue_callback = getattr(
    torch.autograd.graph, "queue_callback", torch.autograd.Variable._execution_engine.queue_callback
)
early, late, at_the_end = torch.ones((), requires_grad=True), torch.ones((), requires_grad=True), []
total = 2 * early + 3 * late
total.register_hook(lambda _: queue_callback(lambda: at_the_end.append((early.grad.item(), late.grad.item()))))
total.backward()
assert at_the_end == [(2, 3)]
try:
    queue_callback(print)
    raise AssertionError("a callback was taken outside of a pass")
except RuntimeError as error:
    assert "Final callbacks can only be installed during backward pass" in str(error)


# %% [markdown] tags=["en"]
# ## A window, with the step inside
#
# With a window of several passes the hook has to wait for the last one. Somebody must tell it which pass that is: a hook cannot know. Until then all gradients are in memory, as in the ordinary loop.
#
# ### `accumulate_in_backward`
#
# **The same for windows: gradients add up, and the last pass of a window makes the steps on its way.**
#
# Write `accumulate_in_backward(model, make_optimizer)`, with `make_optimizer` as in `step_in_backward`. It returns a function `backward(loss, last)`, which runs the backward pass of `loss`.
#
# * **Given.** Windows of different lengths, and parameters of all the kinds named in `step_in_backward`. At the start every `.grad` is None.
# * **Result.** If `last` is False, the gradients are added to `.grad`. <!-- gradients -->
# * **Result.** If `last` is True, the window ends. Each parameter that this pass reaches is stepped inside it, as soon as its gradient is complete: when the pass reaches a layer, the layers behind it have already been changed. <!-- inside -->
# * **Result.** After a pass with `last=True` the parameters are those of the ordinary loop with one optimizer for all, made once. That holds, too, for a parameter that an earlier pass of the window used, and the last one did not. <!-- weights -->
# * **Result.** Every `.grad` is None then. <!-- gradients -->
# * **Leave.** The parameters, while `last` is False. <!-- weights -->
# %% [markdown] tags=["ru"] of="cdd8a773"
# ## Окно и шаг внутри прохода
#
# Если в окне несколько проходов, хук должен дождаться последнего. Какой проход последний, ему нужно сообщить: сам хук этого не знает. До последнего прохода все градиенты находятся в памяти, как и в обычном цикле.
#
# ### `accumulate_in_backward`
#
# **То же для окон: градиенты накапливаются, а последний проход окна по ходу дела выполняет шаги.**
#
# Напишите функцию `accumulate_in_backward(model, make_optimizer)`, где `make_optimizer` — то же, что в `step_in_backward`. Она возвращает функцию `backward(loss, last)`, которая выполняет обратный проход от `loss`.
#
# * **Дано.** Окна разной длины и параметры тех же видов, что перечислены в упражнении `step_in_backward`. Вначале во всех полях `.grad` лежит None.
# * **Результат.** Если `last` равно False, градиенты прибавляются к `.grad`. <!-- gradients -->
# * **Результат.** Если `last` равно True, окно закончено. Шаг по каждому параметру, до которого проход доходит, делается внутри этого прохода, как только градиент готов: когда проход доходит до какого-то слоя, все следующие за ним слои уже изменены. <!-- inside -->
# * **Результат.** После прохода с `last=True` параметры такие же, как в обычном цикле, где оптимизатор один на все и создан один раз. Это относится и к параметру, который участвовал в одном из прежних проходов окна, но не в последнем. <!-- weights -->
# * **Результат.** После такого прохода во всех полях `.grad` лежит None. <!-- gradients -->
# * **Не менять.** Параметры, пока `last` равно False. <!-- weights -->
# %% answer="accumulate_in_backward"
def accumulate_in_backward(model, make_optimizer):
    """Return `backward(loss, last)`, which steps inside the last pass of a window."""
    ### BEGIN SOLUTION
    optimizers = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    ending = False

    def step(parameter):
        optimizers[parameter].step()
        parameter.grad = None

    def hook(parameter):
        if ending:
            step(parameter)

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(hook)

    def backward(loss, last):
        nonlocal ending
        ending = last
        loss.backward()
        if last:
            for parameter in optimizers:
                if parameter.grad is not None:
                    step(parameter)

    return backward
    ### END SOLUTION


# %% alternative="accumulate_in_backward"
def accumulate_in_backward(model, make_optimizer):
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizers = [make_optimizer([p]) for p in trained]

    def backward(loss, last):
        handles = []
        for parameter, optimizer in zip(trained, optimizers):

            def hook(parameter, optimizer=optimizer):
                optimizer.step()
                optimizer.zero_grad()

            if last:
                handles.append(parameter.register_post_accumulate_grad_hook(hook))
        try:
            loss.backward()
        finally:
            for handle in handles:
                handle.remove()
        if last:
            for optimizer in optimizers:  # a step without a gradient does nothing
                optimizer.step()
                optimizer.zero_grad()

    return backward


# %% alternative="accumulate_in_backward"
def accumulate_in_backward(model, make_optimizer):
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = make_optimizer(trained)
    kept = {}

    def hook(parameter):
        # put the other gradients aside, so that the step finds this one alone
        for other in trained:
            if other is not parameter:
                kept[other], other.grad = other.grad, None
        optimizer.step()
        parameter.grad = None
        for other, gradient in kept.items():
            other.grad = gradient
        kept.clear()

    def backward(loss, last):
        handles = [p.register_post_accumulate_grad_hook(hook) for p in trained] if last else []
        loss.backward()
        for handle in handles:
            handle.remove()
        if last:
            optimizer.step()
            optimizer.zero_grad()

    return backward


# %% alternative="accumulate_in_backward"
class Windows:
    def __init__(self, model, make_optimizer):
        self.last, self.optimizers = False, {}
        for parameter in model.parameters():
            if parameter.requires_grad:
                self.optimizers[parameter] = make_optimizer([parameter])
                parameter.register_post_accumulate_grad_hook(self.arrived)

    def arrived(self, parameter):
        if self.last:
            self.optimizers[parameter].step()
            self.optimizers[parameter].zero_grad()

    def __call__(self, loss, last):
        self.last = last
        loss.backward()
        for parameter in self.optimizers if last else ():
            self.arrived(parameter)


def accumulate_in_backward(model, make_optimizer):
    return Windows(model, make_optimizer)


# %% check="accumulate_in_backward"
from autograder import check

check("accumulate_in_backward")
# %% [markdown] tags=["en"]
# ## Hooks on modules
#
# `module.register_full_backward_hook(f)` calls `f(module, grad_input, grad_output)`: two tuples, the gradients with respect to the module's inputs and outputs. An older method, `register_backward_hook`, has the same signature and is still there. Here both look at $2x + 3y$.
# %% [markdown] tags=["ru"] of="de19c414"
# ## Хуки на модулях
#
# Метод `module.register_full_backward_hook(f)` ставит на модуль хук `f(module, grad_input, grad_output)`. Два последних аргумента — кортежи градиентов по входам и по выходам модуля. Есть и более старый метод, `register_backward_hook`, с такой же сигнатурой. Ниже оба хука поставлены на модуль, который вычисляет $2x + 3y$.
# %%
import warnings


class Mix(nn.Module):
    def forward(self, x, y):
        return 2 * x + 3 * y


def grad_inputs(register):
    """Return `grad_input` of a hook on `Mix`. `register` is the name of the method."""
    module, seen = Mix(), []
    x, y = torch.tensor(5.0, requires_grad=True), torch.tensor(7.0, requires_grad=True)
    getattr(module, register)(lambda module, grad_input, grad_output: seen.extend(g.item() for g in grad_input))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the old method warns
        module(x, y).backward()
    return seen


for register in "register_backward_hook", "register_full_backward_hook":
    print(f"{register:27}", grad_inputs(register))
# %% tags=["fact"]
assert grad_inputs("register_backward_hook") == [1, 1] and grad_inputs("register_full_backward_hook") == [2, 3]


def returned_by(register, value):
    """Return by how much a module's hook `value` changes the gradients of input and weight."""
    layer = nn.Linear(1, 1, bias=False)
    x = torch.ones(1, 1, requires_grad=True)
    layer(x).backward()
    plain = x.grad.item(), layer.weight.grad.item()
    x.grad = layer.weight.grad = None
    getattr(layer, register)(value)
    layer(x).backward()
    return [round(new / old) for new, old in zip((x.grad.item(), layer.weight.grad.item()), plain)]


assert returned_by("register_full_backward_hook", lambda m, g_in, g_out: (10 * g_in[0],)) == [10, 1]
assert returned_by("register_full_backward_pre_hook", lambda m, g_out: (10 * g_out[0],)) == [10, 10]


def moments(x):
    layer, seen = nn.Linear(1, 1, bias=False), []
    layer.register_full_backward_hook(lambda m, g_in, g_out: seen.append((g_in, m.weight.grad is not None)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer(x).sum().backward()
    return seen


assert moments(torch.ones(1, 1)) == [((None,), False)]
((g_in, complete),) = moments(torch.ones(1, 1, requires_grad=True))
assert g_in[0] is not None and complete


def runs_before_an_edit(*after):
    """The number of runs of a tensor hook on the output of a module, if the next layer edits the output."""
    module, runs = nn.Sequential(nn.Linear(2, 2), *after), []
    module.register_forward_hook(lambda module, inputs, output: output.register_hook(runs.append) and None)
    nn.ReLU(inplace=True)(module(torch.ones(1, 2))).sum().backward()
    return len(runs)


assert runs_before_an_edit() == 1
assert (runs_before_an_edit(nn.Flatten(0)), runs_before_an_edit(nn.Unflatten(1, (1, 2)))) == (0, 0)
net = nn.Sequential(nn.Linear(1, 1), nn.ReLU(inplace=True))
net[0].register_full_backward_hook(lambda *_: None)
assert "is a view and is being modified inplace" in refusal(lambda: net(torch.ones(1, 1)))


class Labelled(nn.Linear):
    def forward(self, x):
        return {"y": super().forward(x)}


labelled = Labelled(1, 1)
labelled.register_full_backward_hook(lambda *_: seen.append("ran"))
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    seen = []
    labelled(torch.ones(1, 1))["y"].backward()
assert seen == [] and "module output should be a Tensor or a tuple of Tensors" in str(warned[0].message)


# %% [markdown] tags=["en", "try"]
# The derivatives of $2x + 3y$ are 2 and 3. Of what are 1 and 1 the derivatives? Say where the old hook sits.
#
# The old hook gets 1 and 1. It sits on the last operation only, the addition, and sees the gradients of *its* inputs, $2x$ and $3y$. The full hook gets 2 and 3. It wraps the whole module, at a price:
# %% [markdown] tags=["ru", "try"] of="0731012e"
# Производные $2x + 3y$ равны 2 и 3. А производные чего равны 1 и 1? Скажите, где стоит старый хук.
#
# Старый хук получил 1 и 1. Он стоит только на последней операции, на сложении, и получает градиенты по *её* входам, то есть по $2x$ и $3y$. Полный хук получил 2 и 3. Он охватывает модуль целиком, но и за это приходится платить:
# %% [markdown] tags=["en"]
# * What it returns replaces the gradient of the input. The gradients of the module's parameters stay as they are. To change both, return a new `grad_output` from a `register_full_backward_pre_hook`.
# * If no input requires grad, as in the first layer, it still runs, with `grad_input` of None and a warning. In that case it runs before the weight's gradient is in `.grad`, in all other cases after that.
# * If the next layer edits the output in place, as `nn.ReLU(inplace=True)` does, torch raises an error.
#
# A tensor hook has none of these limits. Register it on the output, in a forward hook. It has one of its own: if the output is a view, and is then edited in place, the hook does not run at all, and there is no message. That happens with a module that ends in `nn.Flatten` or in `.view(...)`.
#
# ### `output_gradients`
#
# **Run `model(x).sum().backward()` and return the gradients at the outputs of all linear layers, by name and call.**
#
# * **Given.** `x`, a matrix. To every output that a call returns a gradient comes. The next layer may edit an output in place, and in `.grad` there may be earlier gradients.
# * **Result.** A dict. Its keys are the names in `model.named_modules()` of all modules that are instances of `nn.Linear`, nested ones and those of subclasses included; the model itself has the name `""`. A value is a list of the gradients with respect to the module's output, one for each call, in the order of the calls; for a module that is not called the list is empty. The gradient is that with respect to what the linear layer returned, before an edit. <!-- outputs -->
# * **Result.** `.grad` of the parameters is as after an ordinary pass. <!-- parameters -->
# * **Leave.** Everybody else's hooks. <!-- hooks_left -->
# * **Not allowed.** A hook of yours that is left when the function has returned. <!-- hooks_left -->
# %% [markdown] tags=["ru"] of="96c6fd76"
# * Возвращённое значение заменяет градиент по входу, а градиенты параметров модуля остаются прежними. Чтобы изменить и то и другое, верните новый `grad_output` из хука `register_full_backward_pre_hook`.
# * Если ни один вход не требует градиента, как у первого слоя, хук всё равно срабатывает: в `grad_input` тогда None, и появляется предупреждение. В этом случае он срабатывает раньше, чем градиент веса попадает в `.grad`, а в остальных случаях — позже.
# * Если следующий слой меняет выход на месте, как `nn.ReLU(inplace=True)`, возникает ошибка.
#
# У хука на тензоре таких ограничений нет. Ставьте его на выходной тензор модуля внутри хука прямого прохода. Но есть у него и своё ограничение: если выход — представление (view) и его потом меняют на месте, хук вообще не срабатывает, и никакого сообщения нет. Так бывает с модулем, который заканчивается слоем `nn.Flatten` или вызовом `.view(...)`.
#
# ### `output_gradients`
#
# **Выполните `model(x).sum().backward()` и верните градиенты по выходам всех линейных слоёв: для каждого имени слоя — по градиенту на каждый вызов.**
#
# * **Дано.** Матрица `x`. К выходу каждого слоя приходит градиент. Следующий слой может изменить выход на месте, а в полях `.grad` могут лежать прежние градиенты.
# * **Результат.** Словарь. Ключи — имена из `model.named_modules()` всех слоёв `nn.Linear` и его подклассов, в том числе лежащих внутри других модулей; у самой модели имя `""`. Значение — список градиентов по выходу модуля, по одному на каждый вызов, в порядке вызовов; если модуль не вызывался, список пуст. Градиент берётся по тому, что вернул линейный слой, то есть до изменения. <!-- outputs -->
# * **Результат.** Поля `.grad` параметров такие же, как после обычного прохода. <!-- parameters -->
# * **Не менять.** Чужие хуки. <!-- hooks_left -->
# * **Нельзя.** Оставлять свои хуки, когда функция вернула результат. <!-- hooks_left -->
# %% answer="output_gradients"
def output_gradients(model, x):
    """Run `model(x).sum().backward()`; return the gradients of the outputs of all linear layers."""
    ### BEGIN SOLUTION
    places = {name: [] for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    handles = []

    def hook_for(name):
        def forward_hook(module, inputs, output):
            place = []
            places[name].append(place)
            output.register_hook(place.append)

        return forward_hook

    for name in places:
        handles.append(model.get_submodule(name).register_forward_hook(hook_for(name)))
    try:
        model(x).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    return {name: [gradient for place in found for gradient in place] for name, found in places.items()}
    ### END SOLUTION


# %% alternative="output_gradients"
def output_gradients(model, x):
    # an edge of the graph leads to the value before the in-place change
    edges = {name: [] for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    handles = [
        model.get_submodule(name).register_forward_hook(
            lambda module, inputs, output, found=found: found.append(torch.autograd.graph.get_gradient_edge(output))
        )
        for name, found in edges.items()
    ]
    loss = model(x).sum()
    for handle in handles:
        handle.remove()
    result = {
        name: [torch.autograd.grad(loss, e, retain_graph=True)[0] for e in found] for name, found in edges.items()
    }
    loss.backward()
    return result


# %% alternative="output_gradients"
def output_gradients(model, x):
    kept = {}
    handles = []
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            kept[name] = []

            def keep(module, inputs, output, name=name):
                output.retain_grad()
                kept[name].append(output)
                return output.clone()  # the in-place change meets the clone

            handles.append(module.register_forward_hook(keep))
    model(x).sum().backward()
    [handle.remove() for handle in handles]
    return {name: [output.grad for output in outputs] for name, outputs in kept.items()}


# %% alternative="output_gradients"
def output_gradients(model, x):
    from contextlib import ExitStack

    found, calls = {}, []
    with ExitStack() as stack:
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear):
                found[name] = []

                def forward_hook(module, inputs, output, name=name):
                    index = len(calls)
                    calls.append((name, []))
                    output.register_hook(lambda gradient: calls[index][1].append(gradient.clone()))

                stack.enter_context(module.register_forward_hook(forward_hook))
        model(x).sum().backward()
    for name, gradients in calls:
        found[name] += gradients
    return found


# %% check="output_gradients"
from autograder import check

check("output_gradients")


# %% [markdown] tags=["en"]
# ### `silent_hook`
#
# **Find a model whose layer learns, and whose full backward hook stays silent.**
#
# “A full backward hook runs for every module that learns.” Return a pair for which that is wrong. The check puts a full backward hook on `model.layer` and runs `model(x).sum().backward()`.
#
# * **Result.** A pair `(model, x)`: `model` has a module `model.layer` with at least one parameter, and `model(x)` is a tensor. <!-- pair -->
# * **Result.** After the pass every parameter of `model.layer` has a gradient that is not all zeros. <!-- learns -->
# * **Result.** The hook has been there all the time and has not run. <!-- silent -->
# %% [markdown] tags=["ru"] of="fe74f929"
# ### `silent_hook`
#
# **Найдите модель, слой которой обучается, а полный хук обратного прохода на этом слое ни разу не вызывается.**
#
# «Полный обратный хук срабатывает у каждого модуля, который обучается». Верните пару, для которой это неверно. Проверка ставит полный обратный хук на `model.layer` и выполняет `model(x).sum().backward()`.
#
# * **Результат.** Пара `(model, x)`: у модели `model` есть модуль `model.layer` хотя бы с одним параметром, а `model(x)` — тензор. <!-- pair -->
# * **Результат.** После прохода у каждого параметра модуля `model.layer` есть градиент, в котором не одни нули. <!-- learns -->
# * **Результат.** Хук всё время оставался на месте, но не сработал. <!-- silent -->
# %% answer="silent_hook"
def silent_hook():
    """A model and an input: `model.layer` gets a gradient, and its full backward hook does not run."""

    ### BEGIN SOLUTION
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Embedding(3, 2)

        def forward(self, x):
            return x @ self.layer.weight.T  # the weights of the embedding, used once more as a head

    return Tied(), torch.tensor([[1.0, 2.0]])
    ### END SOLUTION


# %% alternative="silent_hook"
def silent_hook():
    class Direct(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return self.layer.forward(x)

    return Direct(), torch.ones(1, 2)


# %% alternative="silent_hook"
def silent_hook():
    class ReturnsDict(nn.Linear):
        def forward(self, x):
            return {"y": super().forward(x)}

    class Unpacked(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = ReturnsDict(2, 1)

        def forward(self, x):
            return self.layer(x)["y"]

    return Unpacked(), torch.ones(1, 2)


# %% alternative="silent_hook"
def silent_hook():
    model = nn.Sequential(nn.Linear(2, 2, bias=False))
    model.layer = nn.Linear(2, 2, bias=False)
    model.layer.weight = model[0].weight
    model.forward = lambda x: model[0](x)
    return model, torch.ones(1, 2, requires_grad=True)


# %% check="silent_hook"
from autograder import check

check("silent_hook")
# %% [markdown] tags=["en"] explains="silent_hook"
# One such pair: a module that returns a dict. Its full backward hook does not run at all, and there is only a warning.
# %% [markdown] tags=["ru"] explains="silent_hook" of="e83fc3ab"
# Одна из таких пар: модуль, который возвращает словарь. Его хук вообще не срабатывает, появляется только предупреждение.


# %% [markdown] tags=["en"]
# ## Checkpoints, `no_grad` and threads
#
# A function under a checkpoint runs twice, so a `register_hook` in it runs twice, too; the hook itself is called once. Under the old checkpoint (`use_reentrant=True`) the first run is made under `no_grad`: the results do not require grad, and `register_hook` raises an error.
#
# `no_grad` does not stop hooks. On a tensor that requires grad a hook may be registered inside it. In a hook, recording is off, except with `create_graph=True`.
#
# You will read that hooks “do not go through DataParallel”. That is about hooks of saved tensors: they belong to a thread. A hook on a gradient belongs to its tensor, and runs whichever thread starts the pass.
# %% [markdown] tags=["ru"] of="59926e37"
# ## Контрольные точки, `no_grad` и потоки выполнения
#
# Функция, к которой применена контрольная точка, выполняется дважды, поэтому дважды выполняется и `register_hook` внутри неё. Сам хук вызывается один раз. При старом варианте (`use_reentrant=True`) функция в первый раз выполняется внутри блока `no_grad`: результаты не требуют градиента, и `register_hook` завершается ошибкой.
#
# На срабатывание хуков блок `no_grad` не влияет, а на тензор, который требует градиента, хук можно поставить и внутри такого блока. В самом хуке отслеживание выключено, если только не задан параметр `create_graph=True`.
#
# Пишут, что хуки «не проходят через DataParallel». Речь при этом о хуках сохранённых тензоров: они принадлежат потоку выполнения. А хук градиента принадлежит тензору и срабатывает, из какого бы потока ни начался проход.
# %%
from torch.utils.checkpoint import checkpoint


def watched(x):
    h = 2 * x
    print("  forward, h.requires_grad:", h.requires_grad)
    h.register_hook(lambda gradient: print("  hook on h:", gradient.item()))
    return h.tanh()


for old in (False, True):
    print(f"use_reentrant={old}")
    try:
        checkpoint(watched, torch.tensor(0.0, requires_grad=True), use_reentrant=old).backward()
    except RuntimeError as error:
        print("  RuntimeError:", error)
# %% tags=["fact"]
import threading

runs = []


def counted(x):
    h = 2 * x
    runs.append("forward")
    h.register_hook(lambda gradient: runs.append("hook"))
    return h.tanh()


checkpoint(counted, torch.tensor(0.0, requires_grad=True), use_reentrant=False).backward()
assert runs == ["forward", "forward", "hook"]
assert refusal(lambda: checkpoint(counted, torch.tensor(0.0, requires_grad=True), use_reentrant=True)) == (
    "cannot register a hook on a tensor that doesn't require gradient"
)
w = torch.tensor(2.0, requires_grad=True)
recording = []
with torch.no_grad():
    w.register_hook(lambda gradient: recording.append(torch.is_grad_enabled()))
(w * w).backward()
torch.autograd.grad(w * w, w, create_graph=True)
assert recording == [False, True]
threads = []
w.register_hook(lambda gradient: threads.append(threading.get_ident()))
worker = threading.Thread(target=(w * w).backward)
worker.start()
worker.join()
assert len(threads) == 1 and threads[0] != threading.get_ident()
for old, calls in (False, 1), (True, 2):
    layer, times = nn.Linear(1, 1), []
    layer.weight.register_hook(times.append)
    x = torch.ones(1, 1, requires_grad=True)
    checkpoint(layer, checkpoint(layer, x, use_reentrant=old), use_reentrant=old).backward()
    assert len(times) == calls


# %% [markdown] tags=["en"]
# ## Buckets
#
# What is to be done at the very end, a hook can give to the engine, which does it once, when every `.grad` is filled. From torch 2.15 on that is `torch.autograd.graph.queue_callback(f)`; before, only a private function did it.
#
# ### `watch_buckets`
#
# **Call `all_reduce(i)` as soon as bucket `i` is complete and the buckets before it have gone; say when one never went.**
#
# Write `watch_buckets(buckets, all_reduce, unused=())`. It returns a function `finish()`, which is called without arguments after each pass, even after one that has reached no parameter at all.
#
# * **Given.** `buckets`, a list of lists of parameters, each parameter in one bucket. `unused`, parameters that no pass reaches; each bucket has at least one other.
# * **Result.** From now on, in every backward pass, `all_reduce(i)` is called once for each bucket `i` (0, 1, ...), in the order of the list. <!-- reduced -->
# * **Result.** It is called as soon as each parameter of the bucket has its gradient from this pass in `.grad`, where earlier gradients may have been before, and the buckets before it have had their call. <!-- moments -->
# * **Result.** Parameters in `unused` are not waited for. <!-- unused -->
# * **Result.** If a bucket was not reduced in this pass, `finish()` raises a `RuntimeError`. In either case the next pass begins anew. <!-- finish -->
# * **Not allowed.** To call `all_reduce` in `finish()`. <!-- finish -->
#
# A note on Python: `parameter in some_list` compares numbers and fails for tensors. A `set`, a dict or `is` compares identity.
# %% [markdown] tags=["ru"] of="d1d0074e"
# ## Корзины
#
# Если что-то нужно сделать в самом конце, хук может поручить это движку: тот сделает это один раз, когда все `.grad` уже заполнены. С torch 2.15 для этого есть `torch.autograd.graph.queue_callback(f)`, раньше была только служебная функция.
#
# ### `watch_buckets`
#
# **Вызывайте `all_reduce(i)`, как только корзина `i` заполнена, а предыдущие уже отправлены. Если какая-то корзина не ушла, сообщите об этом.**
#
# Напишите функцию `watch_buckets(buckets, all_reduce, unused=())`. Она возвращает функцию `finish()` без аргументов, которую вызывают после каждого прохода, даже если он не дошёл ни до одного параметра.
#
# * **Дано.** Список списков параметров `buckets`, каждый параметр лежит в одной корзине. В `unused` перечислены параметры, до которых не доходит ни один проход; в каждой корзине есть хотя бы один параметр не из их числа.
# * **Результат.** После вызова в каждом обратном проходе для каждой корзины `i` (0, 1, ...) один раз вызывается `all_reduce(i)`, в порядке списка. <!-- reduced -->
# * **Результат.** Вызов делается, как только отправлены предыдущие корзины и у каждого параметра этой корзины градиент этого прохода уже прибавлен к `.grad`. До прохода там могли лежать прежние градиенты. <!-- moments -->
# * **Результат.** Параметров из `unused` функция не ждёт. <!-- unused -->
# * **Результат.** Если в этом проходе какая-то корзина не отправлена, `finish()` завершается ошибкой `RuntimeError`. В любом случае для следующего прохода учёт начинается заново. <!-- finish -->
# * **Нельзя.** Вызывать `all_reduce` из `finish()`. <!-- finish -->
#
# Замечание о Python: выражение `parameter in some_list` сравнивает числа, и с тензорами это приводит к ошибке. Тот же ли это объект, проверяют с помощью `set`, словаря или оператора `is`.
# %% answer="watch_buckets"
def watch_buckets(buckets, all_reduce, unused=()):
    """Call `all_reduce(i)` when bucket `i` and those before it are complete; return `finish`."""
    ### BEGIN SOLUTION
    where = {parameter: index for index, bucket in enumerate(buckets) for parameter in bucket}
    counts = [len(set(bucket) - set(unused)) for bucket in buckets]
    missing, reduced = list(counts), 0

    def hook(parameter):
        nonlocal reduced
        missing[where[parameter]] -= 1
        while reduced < len(buckets) and missing[reduced] == 0:
            all_reduce(reduced)
            reduced += 1

    def finish():
        nonlocal reduced
        complete = reduced == len(buckets)
        missing[:], reduced = counts, 0
        if not complete:
            raise RuntimeError("a bucket was not reduced: a parameter has had no gradient in this pass")

    for parameter in where:
        parameter.register_post_accumulate_grad_hook(hook)
    return finish
    ### END SOLUTION


# %% alternative="watch_buckets"
def watch_buckets(buckets, all_reduce, unused=()):
    skipped = {id(p) for p in unused}
    arrived, sent = set(), []

    def complete(bucket):
        return all(id(p) in arrived or id(p) in skipped for p in bucket)

    def hook(parameter):
        arrived.add(id(parameter))
        for index in range(len(sent), len(buckets)):
            if not complete(buckets[index]):
                break
            sent.append(index)
            all_reduce(index)

    def finish():
        missing = len(buckets) - len(sent)
        arrived.clear()
        sent.clear()
        if missing:
            raise RuntimeError(f"{missing} buckets were not reduced")

    [p.register_post_accumulate_grad_hook(hook) for bucket in buckets for p in bucket]
    return finish


# %% alternative="watch_buckets"
def watch_buckets(buckets, all_reduce, unused=()):
    class Reducer:
        def __init__(self):
            self.begin()

        def begin(self):
            self.waiting = [[p for p in bucket if not any(p is u for u in unused)] for bucket in buckets]
            self.next = 0

        def __call__(self, parameter):
            self.waiting = [[p for p in bucket if p is not parameter] for bucket in self.waiting]
            while self.next < len(buckets) and not self.waiting[self.next]:
                self.next += 1
                all_reduce(self.next - 1)

        def finish(self):
            done = self.next == len(buckets)
            self.begin()
            if not done:
                raise RuntimeError

    reducer = Reducer()
    for bucket in buckets:
        for parameter in bucket:
            parameter.register_post_accumulate_grad_hook(reducer)
    return reducer.finish


# %% alternative="watch_buckets"
def watch_buckets(buckets, all_reduce, unused=()):
    def one_pass():
        wanted = [{p for p in bucket} - set(unused) for bucket in buckets]
        for index, want in enumerate(wanted):
            while not want <= here:
                yield
            all_reduce(index)
        done.append(True)
        while True:
            yield

    here, done, passes = set(), [], []

    def begin():
        here.clear()
        done.clear()
        passes[:] = [one_pass()]
        next(passes[0])

    def hook(parameter):
        here.add(parameter)
        next(passes[0])

    def finish():
        failed = not done
        begin()
        if failed:
            raise RuntimeError("not reduced")

    begin()
    for parameter in [p for bucket in buckets for p in bucket]:
        parameter.register_post_accumulate_grad_hook(hook)
    return finish


# %% check="watch_buckets"
from autograder import check

check("watch_buckets")
# %% [markdown] tags=["en"]
# Does the real one do the same? Two processes again. The first model has four layers of 360,000 bytes, in buckets of 0.5 MiB. The second uses one layer twice, each time under its own checkpoint, an old one (`use_reentrant=True`) and a new one. The third has a post-accumulate hook of ours.
# %% [markdown] tags=["ru"] of="9397c8a8"
# А настоящий класс поступает так же? Снова запустим два процесса. В первой модели четыре слоя по 360 000 байт, размер корзины — 0.5 МиБ. Во второй один слой использован дважды, каждый раз со своей контрольной точкой. Эта модель запускается дважды, со старым вариантом контрольных точек (`use_reentrant=True`) и с новым. В третьей стоит наш хук post-accumulate.
# %% tags=["picture"]
from autograder import two_processes


def real_buckets(rank):
    import torch
    from torch import distributed
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.checkpoint import checkpoint

    seen, passes = {}, []
    net = torch.nn.Sequential(*[torch.nn.Linear(300, 300, bias=False) for _ in range(4)])
    model = DistributedDataParallel(net, bucket_cap_mb=0.5)

    def mean(_, bucket):
        layers = [i for i in reversed(range(4)) if any(net[i].weight is p for p in bucket.parameters())]
        seen[f"pass {passes[-1]}, bucket {bucket.index()}"] = f"layers {layers}"
        work = distributed.all_reduce(bucket.buffer().div_(2), async_op=True)
        return work.get_future().then(lambda done: done.value()[0])

    model.register_comm_hook(None, mean)
    for number in (1, 2):
        passes.append(number)
        model(torch.ones(1, 300)).sum().backward()

    class Twice(torch.nn.Module):
        def __init__(self, old):
            super().__init__()
            self.old = old
            self.first, self.layer = (torch.nn.Linear(1, 1, bias=False) for _ in range(2))

        def forward(self, x):
            x = self.first(x)
            for _ in range(2):
                x = checkpoint(self.layer, x, use_reentrant=self.old)
            return x

    x = torch.tensor([[1.0 + rank]])
    for old in (True, False):
        model = DistributedDataParallel(Twice(old))
        try:
            model(x).sum().backward()
            seen[f"use_reentrant={old}"] = "accepted"
        except RuntimeError as error:
            seen[f"use_reentrant={old}"] = str(error)[:42] + "..."

    layer = torch.nn.Linear(1, 1, bias=False)
    model = DistributedDataParallel(layer)
    layer.weight.register_post_accumulate_grad_hook(lambda p: seen.update({"in our hook": p.grad.item()}))
    model(x).sum().backward()
    seen["after backward"] = layer.weight.grad.item()
    return seen


two_processes(real_buckets)
# %% [markdown] tags=["en"]
# * In the first pass there is a single bucket. `DistributedDataParallel` watches in which order the gradients come, and from the second pass on the buckets follow it: the last layers first.
# * Under the old checkpoint each block runs a backward pass of its own inside the big one, so the hook of the layer comes twice in one pass: `Expected to mark a variable ready only once`. With `use_reentrant=False` there is one pass, and the hook comes once.
# * Our post-accumulate hook saw 1.0 and 2.0, the gradients of each process alone. Only afterwards were they averaged to 1.5. A step in such a hook, as in `step_in_backward`, would let the two copies drift apart.
#
# And `find_unused_parameters=True`: before each backward pass it walks through the graph and marks the parameters that it does not meet as ready. That is your argument `unused`, found anew for each pass.


# %% [markdown] tags=["ru"] of="8611a76a"
# * В первом проходе корзина одна. Класс `DistributedDataParallel` запоминает, в каком порядке приходят градиенты, и со второго прохода раскладывает их по корзинам в этом порядке: последние слои первыми.
# * В старом варианте каждая контрольная точка запускает внутри основного обратного прохода свой собственный, поэтому хук слоя срабатывает за один проход дважды: `Expected to mark a variable ready only once`. С `use_reentrant=False` проход один, и хук срабатывает один раз.
# * Наш хук post-accumulate увидел 1.0 и 2.0, то есть градиенты каждого процесса в отдельности. Усреднены они были только потом, получилось 1.5. Если делать шаг в таком хуке, как в упражнении `step_in_backward`, две копии модели разойдутся.
#
# А что делает `find_unused_parameters=True`? Перед каждым обратным проходом класс обходит граф и отмечает как готовые те параметры, которых в нём нет. Это и есть ваш аргумент `unused`, только его значение каждый раз определяется заново.
# %% [markdown] tags=["en"]
# ## Who would be waited for in vain
#
# `find_unused_parameters=True` costs a walk through the graph in every pass. It is better to know which parameters are unused, and why: a layer that nobody calls, a branch taken for some batches only, a result that was detached. One process is enough to find out.
#
# ### `unused_parameters`
#
# **Return the names of the parameters to which `loss.backward()` would bring no gradient, without running it.**
#
# * **Given.** `model`, which computes with torch's own operations only. In `.grad` there may be earlier gradients.
# * **Result.** A list of names, as `model.named_parameters()` gives them and in that order, each parameter once: of all parameters that require grad and to which `loss.backward()` would bring no gradient. A gradient of zeros is a gradient. <!-- names -->
# * **Leave.** `.grad` and `requires_grad` of every parameter, and the graph: `loss.backward()` can be called afterwards. <!-- untouched -->
# * **Not allowed.** A hook of yours that stays. <!-- untouched -->
# %% [markdown] tags=["ru"] of="bce2bfd7"
# ## Каких параметров не дождаться
#
# С `find_unused_parameters=True` граф приходится обходить в каждом проходе, а на это уходит время. Лучше знать, какие параметры не участвуют и почему: слой никто не вызывает, ветвь нужна не для всех батчей, результат отсоединён от графа. Чтобы это выяснить, хватит одного процесса.
#
# ### `unused_parameters`
#
# **Не вызывая `loss.backward()`, верните имена параметров, которые не получили бы от этого вызова градиента.**
#
# * **Дано.** Модель `model`, в которой используются только операции самого torch. В полях `.grad` могут лежать градиенты от прошлых проходов.
# * **Результат.** Список имён всех параметров, которые требуют градиента, но не получат его от `loss.backward()`. Имена и их порядок — как в `model.named_parameters()`, каждый параметр назван один раз. Градиент из одних нулей — тоже градиент. <!-- names -->
# * **Не менять.** Поля `.grad` и `requires_grad` всех параметров и граф: после вызова функции можно вызвать `loss.backward()`. <!-- untouched -->
# * **Нельзя.** Оставлять свои хуки. <!-- untouched -->
# %% answer="unused_parameters"
def unused_parameters(model, loss):
    """The names of the trainable parameters to which `loss` brings no gradient."""
    ### BEGIN SOLUTION
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    found = torch.autograd.grad(loss, list(trained.values()), retain_graph=True, allow_unused=True)
    return [name for name, gradient in zip(trained, found) if gradient is None]
    ### END SOLUTION


# %% alternative="unused_parameters"
def unused_parameters(model, loss):
    # what DistributedDataParallel does: walk through the graph, without a backward pass
    reached, waiting = set(), [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in reached:
            reached.add(node)
            waiting += [child for child, _ in node.next_functions]
    leaves = {node.variable for node in reached if hasattr(node, "variable")}
    return [name for name, p in model.named_parameters() if p.requires_grad and p not in leaves]


# %% alternative="unused_parameters"
def unused_parameters(model, loss):
    names = {p: name for name, p in model.named_parameters() if p.requires_grad}
    arrived = set()
    handles = [p.register_hook(lambda _, p=p: arrived.add(p)) for p in names]
    before = {p: None if p.grad is None else p.grad.clone() for p in names}
    loss.backward(retain_graph=True)
    for handle, (parameter, gradient) in zip(handles, before.items()):
        handle.remove()
        parameter.grad = gradient
    return [name for p, name in names.items() if p not in arrived]


# %% alternative="unused_parameters"
def unused_parameters(model, loss):
    unused = []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            (gradient,) = torch.autograd.grad(loss, parameter, retain_graph=True, allow_unused=True)
            if gradient is None:
                unused.append(name)
    return unused


# %% check="unused_parameters"
from autograder import check

check("unused_parameters")


# %% [markdown] tags=["en"]
# ## Hooks in your engine
#
# Torch calls a hook with the whole gradient of a value. Your engine, the folded cell below, knows no hooks yet. Where in its walk is a gradient whole, and not yet used by anybody?
# %% [markdown] tags=["ru"] of="e04024ec"
# ## Хуки в вашем движке
#
# Хук в torch получает полный градиент значения. Ваш движок (он в свёрнутой ячейке ниже) о хуках ещё не знает. В каком месте обхода градиент уже полон, но ещё никем не использован?
# %% include=["own_engine/value", "own_engine/rules_and_walk"] tags=["folded"]
# %%
from autograder import use_mine

use_mine()


# %% [markdown] tags=["en"]
# ### `hooks_and_freeing`
#
# **A hook sees the whole gradient before anybody uses it.** Below is the walk from lesson 06, which frees what it passes. Let it call hooks, and go on freeing.
#
# * **Given.** `root` and its values: `data`, `inputs`, `rule`, `grad`, and `hooks`, a list of functions. A rule holds the inputs of its value.
# * **Result.** Each hook of a value behind `root` is called once, with the whole gradient of this walk, in the order of the list, at leaves and results. <!-- hooks, hooks_in_programs -->
# * **Result.** If a hook returns something other than None, it takes the gradient's place: for the next hook, the rule, and `.grad`. <!-- hooks, hooks_in_programs -->
# * **Result.** After the walk the gradients, the memory and the error of a second walk are as before; with `retain_graph=True` nothing is freed. <!-- gradients, own, freed, retained -->
# %% [markdown] tags=["ru"] of="5a9a6092"
# ### `hooks_and_freeing`
#
# **Хук получает полный градиент раньше всех, кто его использует.** Ниже — обход из урока 06, который освобождает пройденное. Пусть он вызывает хуки и по-прежнему освобождает память.
#
# * **Дано.** `root` и его значения: `data`, `inputs`, `rule`, `grad` и `hooks`, список функций. Правило удерживает входы своего значения.
# * **Результат.** Каждый хук вызван один раз, с полным градиентом этого обхода, в порядке списка. Это касается `root` и всех значений, от которых он зависит: и листьев, и результатов. <!-- hooks, hooks_in_programs -->
# * **Результат.** Если хук вернул не None, это значение заменяет градиент: для следующего хука, для правила и для `.grad`. <!-- hooks, hooks_in_programs -->
# * **Результат.** После обхода градиенты, память и ошибка при втором обходе такие же, как прежде, а с `retain_graph=True` ничего не освобождается. <!-- gradients, own, freed, retained -->
# %% answer="hooks_and_freeing"
def hooks_and_freeing(root, retain_graph=False):
    def refuse(gradient):
        raise RuntimeError("a second walk through a freed graph")

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
        for hook in value.hooks:
            replaced = hook(gradient)
            gradient = gradient if replaced is None else replaced
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


# %% given="hooks_and_freeing"
def hooks_and_freeing(root, retain_graph=False):
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


# %% alternative="hooks_and_freeing"
def refused(gradient):
    raise RuntimeError("freed")


def hooks_and_freeing(root, retain_graph=False):
    order, seen, stack = [], {root}, [(root, iter(root.inputs))]
    while stack:
        value, inputs = stack[-1]
        new = next((each for each in inputs if each not in seen), None)
        if new is None:
            order.append(value)
            stack.pop()
        else:
            seen.add(new)
            stack.append((new, iter(new.inputs)))
    total = {root: torch.ones_like(root.data)}
    for value in reversed(order):
        gradient = total[value]
        for hook in value.hooks:
            new = hook(gradient)
            if new is not None:
                gradient = new
        if value.rule is None:
            value.grad = gradient + (torch.zeros_like(value.data) if value.grad is None else value.grad)
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            total[each] = total.get(each, 0) + part
    if not retain_graph:
        for value in order:
            if value.rule is not None:
                value.inputs, value.rule = (), refused


# %% alternative="hooks_and_freeing"
def hooks_and_freeing(root, retain_graph=False):
    found, uses = [root], {root: 0}
    for value in found:
        if value.inputs is None:
            raise RuntimeError("walked already")
        for each in value.inputs:
            if each not in uses:
                found.append(each)
                uses[each] = 0
            uses[each] += 1
    parts, line = {root: [torch.ones_like(root.data)]}, [root]
    for value in line:
        gradient = sum(parts.pop(value))
        for hook in list(value.hooks):
            answer = hook(gradient)
            gradient = answer if answer is not None else gradient
        if not value.inputs:
            value.grad = gradient + (value.grad if value.grad is not None else 0.0)
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            parts.setdefault(each, []).append(part)
            uses[each] -= 1
            if uses[each] == 0:
                line.append(each)
        if not retain_graph:
            value.inputs = value.rule = None


# %% alternative="hooks_and_freeing"
def hooks_and_freeing(root, retain_graph=False):
    from functools import reduce

    waits, todo = {}, [root]
    while todo:
        value = todo.pop()
        if getattr(value, "walked", False):
            raise RuntimeError("this graph has been walked without retain_graph=True")
        for each in value.inputs:
            if waits.setdefault(each, 0) == 0:
                todo.append(each)
            waits[each] += 1
    arrived, ready_to_run = {root: torch.ones_like(root.data)}, [root]
    while ready_to_run:
        value = ready_to_run.pop(0)

        def apply(gradient, hook):
            returned = hook(gradient)
            return gradient if returned is None else returned

        gradient = reduce(apply, value.hooks, arrived.pop(value))
        if value.rule is None:
            value.grad = gradient.clone() if value.grad is None else value.grad + gradient
        else:
            for each, part in zip(value.inputs, value.rule(gradient)):
                arrived[each] = part if each not in arrived else arrived[each] + part
                waits[each] -= 1
                if waits[each] == 0:
                    ready_to_run.append(each)
            if not retain_graph:
                value.inputs, value.rule, value.walked = (), None, True


# %% check="hooks_and_freeing"
from autograder import check

check("hooks_and_freeing")


# %% [markdown] tags=["en"]
# A hook at work in both engines: it halves the gradient of `h`, which is used twice. What will `.grad` of `x` be: 4, 8 or 16?
# %% [markdown] tags=["ru"] of="e552fda3"
# Посмотрим на хук в обоих движках: он вдвое уменьшает градиент значения `h`, которое использовано дважды. Чему будет равно `.grad` у `x`: 4, 8 или 16?
# %%
def halve(gradient):
    print("the hook gets", gradient.item())
    return gradient * 0.5


number = torch.tensor(2.0, dtype=torch.float64)
x = Value(number)
h = x * x
h.hooks.append(halve)
hooks_and_freeing(h + h)
print("yours:", x.grad.item())

x = number.clone().requires_grad_()
h = x * x
h.register_hook(halve)
(h + h).backward()
print("torch:", x.grad.item())
# %% tags=["fact"]
assert x.grad.item() == 4
x = Value(number)
h = x * x
h.hooks.append(lambda gradient: gradient * 0.5)
hooks_and_freeing(h + h)
assert x.grad.item() == 4


# %% [markdown] tags=["en"]
# ## On a GPU
#
# The rules are the same on a GPU, but the backward pass runs in a thread of its own there, and a hook with it. With a GPU the cell shows that the hook does not run in the calling thread, and that steps inside the pass need over 1,000,000 bytes less than an ordinary step, which keeps all gradients until the end.
# %% [markdown] tags=["ru"] of="4a5106b5"
# ## На GPU
#
# Правила на GPU те же, но обратный проход идёт там в отдельном потоке выполнения, и хук вместе с ним. На машине с GPU из вывода ячейки видно, что хук сработал не в вызывающем потоке и что при шагах внутри прохода пик ниже больше чем на 1 000 000 байт: обычный шаг хранит все градиенты до самого конца.
# %%
import threading

from autograder import gpu_peak, on_gpu


def hooks_on_gpu():
    threads = []
    w = torch.ones(2, device="cuda", requires_grad=True)
    w.register_hook(lambda gradient: threads.append(threading.get_ident()))
    (2 * w).sum().backward()
    first, second, x = deep().cuda(), deep().cuda(), torch.ones(4, 256, device="cuda")
    return {
        "a hook runs in the calling thread": threads == [threading.get_ident()],
        "peak bytes, ordinary step": gpu_peak(lambda: ordinary_step(first, x)),
        "peak bytes, steps in hooks": gpu_peak(lambda: step_in_hooks(second, x)),
    }


on_gpu(hooks_on_gpu)
# %% tags=["fact"]
from autograder.lessons.gpu_recordings import check_claims

check_claims(
    hooks_on_gpu,
    lambda measured: {
        "a hook runs in another thread": not measured["a hook runs in the calling thread"],
        "steps in hooks need over 1,000,000 bytes less": measured["peak bytes, ordinary step"]
        - measured["peak bytes, steps in hooks"]
        > 1_000_000,
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
