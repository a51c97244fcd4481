# %% [markdown] tags=["en"] needs="00" about="who gets `.grad` and why, lost leaves, edits that autograd cannot see"
# # Leaf tensors
#
# To get small weights, somebody writes `w = torch.randn(3, requires_grad=True) * 0.01`. `w.requires_grad` is True, the loss is computed, `backward()` runs without an error. And `w.grad` is None.
#
# What is missing is one word: `w` is not a *leaf*. This lesson is about that word, because it decides who gets a gradient.
#
# After this lesson you can:
#
# * say of any tensor whether it is a leaf and whether it requires grad;
# * say what its `.grad` holds after `backward()`, and get the gradient of a tensor that keeps none;
# * scale, cast and move a weight without losing it;
# * change a weight in place so that autograd knows about it, and tell when it cannot know.
#
# You need lesson 00: `backward()`, `.grad`, one step of gradient descent.
# %% [markdown] tags=["ru"] about="у каких тензоров заполняется `.grad` и почему, потерянные листья, изменения, которых autograd не видит" of="5edc4d22"
# # Листовые тензоры
#
# Чтобы начальные веса были небольшими, пишут `w = torch.randn(3, requires_grad=True) * 0.01`. Флаг `w.requires_grad` равен True, значение функции потерь вычисляется, `backward()` выполняется без ошибок, но в `w.grad` лежит None.
#
# Дело в том, что тензор `w` — не *лист*. Об этом понятии и пойдёт речь: именно оно определяет, получит ли тензор градиент.
#
# После урока вы сможете:
#
# * определить для любого тензора, лист ли он и требует ли градиента;
# * сказать, что лежит в его `.grad` после `backward()`, и получить градиент тензора, который его не хранит;
# * умножить вес на число, сменить его тип, перенести на другое устройство так, чтобы он остался листом;
# * изменить вес на месте так, чтобы autograd это заметил, и сказать, когда он этого заметить не может.
#
# Понадобится урок 00: `backward()`, `.grad`, один шаг градиентного спуска.
# %% tags=["en"]
# Does the import fail? Install the course by pip (its file, or autograd-course),
# and uninstall another `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("leaf_tensors", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("leaf_tensors", language="ru")
# %%
import warnings

import torch

# %% [markdown] tags=["en"]
# ## What a tensor knows about its past
#
# Two tensors require grad, a third does not. What do their sums inherit?
# %% [markdown] tags=["ru"] of="5bfd4b50"
# ## Что тензор знает о своём прошлом
#
# Возьмём два тензора, которые требуют градиента, и третий, который не требует. Что унаследуют их суммы?
# %%
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = torch.tensor([10.0, 20.0, 30.0], requires_grad=True)
b = torch.tensor([4.0, 4.0, 4.0])

for name, tensor in {
    "x": x,
    "b": b,
    "x + y": x + y,
    "(x + y).sum()": (x + y).sum(),
    "x + b": x + b,
    "b + b": b + b,
}.items():
    made_by = tensor.grad_fn and tensor.grad_fn.name()
    print(f"{name:14} is_leaf={tensor.is_leaf!s:6} requires_grad={tensor.requires_grad!s:6} grad_fn={made_by}")
# %% tags=["fact"]
assert x.grad_fn is None and b.grad_fn is None and (b + b).grad_fn is None
assert (x + y).grad_fn.name() == (x + b).grad_fn.name() == "AddBackward0" and (
    x + y
).sum().grad_fn.name() == "SumBackward0"
assert x.is_leaf and b.is_leaf and (b + b).is_leaf and not (x + b).is_leaf and (x + b).requires_grad
(x + y).sum().backward()
assert x.grad.tolist() == y.grad.tolist() == [1, 1, 1]
a = torch.tensor(2.0, requires_grad=True)
c = a + torch.tensor(4.0)
assert c.requires_grad and not c.is_leaf and c.item() == 6
assert not hasattr((x + y).grad_fn, "forward") and (x + y).tolist() == [11, 22, 33]


# %% [markdown] tags=["en", "try"]
# Now let `b` require grad as well. In which rows will something change? Say it, then run the cell again.
#
# In two. `b` stays a leaf, now with the flag. And `b + b` is a result with a history, made by `AddBackward0`. `x + b` had one already: one input that requires grad is enough.
# %% [markdown] tags=["ru", "try"] of="bc9dce9b"
# Пусть теперь и `b` требует градиента. В каких строках что-то изменится? Сначала ответьте, потом снова выполните ячейку.
#
# В двух. `b` остаётся листом, но уже с флагом. А `b + b` становится результатом с историей, и создал его `AddBackward0`. У `x + b` история была и раньше: хватает одного входа, который требует градиента.
# %% tags=["fact"]
tracked = torch.ones(3, requires_grad=True)
assert tracked.is_leaf and not (tracked + tracked).is_leaf and (tracked + tracked).grad_fn.name() == "AddBackward0"


# %% [markdown] tags=["en"]
# An operation is *recorded*, or tracked, when recording is on (`no_grad()` switches it off) and at least one of its inputs requires grad. Then the result requires grad too, and its `grad_fn` points to a node that can compute the derivative: `AddBackward0` is the derivative of an addition, not the addition. Otherwise nothing is recorded, and the result is a constant like any other.
#
# A tensor is a **leaf** when it has no `grad_fn`. You will often read that a leaf is a tensor “created directly and not as a result of any arithmetic operation”. The last row refutes it: `b + b` is arithmetic, and a leaf. “Every computed tensor carries a history” falls with it.
#
# | `is_leaf` | `requires_grad` | what it is |
# |---|---|---|
# | True | True | a weight: it gets `.grad` |
# | True | False | a constant: data, or a result without history |
# | False | True | a non-leaf tensor: a result with a history |
#
# The fourth row is missing because it does not exist: a tensor that does not require grad has no history, so it is a leaf. To these rules there is one exception, which comes after the next exercise.
# %% [markdown] tags=["ru"] of="339891be"
# Операция *записывается* в граф (отслеживается) при двух условиях: отслеживание вычислений не выключено с помощью `no_grad()` и хотя бы один вход операции требует градиента. Тогда и результат требует градиента, а его `grad_fn` указывает на узел, вычисляющий производную: `AddBackward0` — это производная сложения, а не само сложение. Иначе ничего не записывается, и результат — обычная константа.
#
# Тензор называется **листовым** (листом), если у него нет `grad_fn`. Часто пишут, что лист — это тензор, «созданный напрямую, а не в результате арифметической операции». Последняя строка вывода это опровергает: `b + b` — результат арифметической операции, и всё же лист. Неверно и другое утверждение: «каждый вычисленный тензор хранит свою историю».
#
# | `is_leaf` | `requires_grad` | что это |
# |---|---|---|
# | True | True | вес: он получает `.grad` |
# | True | False | константа: данные или результат без истории |
# | False | True | нелистовой тензор: результат с историей |
#
# Четвёртой строки нет, потому что так не бывает: у тензора, который не требует градиента, нет истории, значит, он лист. Из этих правил есть одно исключение, о нём — после следующего упражнения.
# %% [markdown] tags=["en"]
# Now the cases in which people disagree. Read the function; do not call it yet.
# %% [markdown] tags=["ru"] of="57d6f05d"
# А теперь — спорные случаи. Прочтите функцию, но пока не вызывайте её.
# %%
def leaf_table():
    def flags(tensor):
        return tensor.is_leaf, tensor.requires_grad

    def made_by(tensor):
        return None if tensor.grad_fn is None else tensor.grad_fn.name()

    w = torch.rand(2, requires_grad=True)
    with torch.no_grad():
        doubled = w * 2
    return {
        "torch.ones(2) + 1": flags(torch.ones(2) + 1),
        "w * 0.01": flags(w * 0.01),
        "torch.rand(2, requires_grad=True).double()": flags(torch.rand(2, requires_grad=True).double()),
        'w.to("cpu")': flags(w.to("cpu")),
        "w.view(2, 1)": flags(w.view(2, 1)),
        "w.detach()": flags(w.detach()),
        "w * 2 under no_grad": flags(doubled),
        "torch.nn.Parameter(w * 2)": flags(torch.nn.Parameter(w * 2)),
        "w > 0.5": flags(w > 0.5),
        "w.round()": flags(w.round()),
        "w.grad_fn": made_by(w),
        "(w * 0.01).grad_fn": made_by(w * 0.01),
    }


# %% [markdown] tags=["en"]
# ### `predict_leaf`
#
# Put what `leaf_table()` returns in place of each `...`: for the first ten a pair `(is_leaf, requires_grad)`, such as `(True, False)`; for the last two the name of the `grad_fn` as text, such as `"AddBackward0"`, or `None`.
# %% [markdown] tags=["ru"] of="c4ee6494"
# ### `predict_leaf`
#
# Вместо каждого `...` поставьте то, что вернёт `leaf_table()`: в первых десяти строках пару `(is_leaf, requires_grad)`, например `(True, False)`, а в последних двух — имя `grad_fn` в виде строки, например `"AddBackward0"`, или `None`.
# %% answer="predict_leaf"
predict_leaf = {
    "torch.ones(2) + 1": (True, False),
    "w * 0.01": (False, True),
    "torch.rand(2, requires_grad=True).double()": (False, True),
    'w.to("cpu")': (True, True),
    "w.view(2, 1)": (False, True),
    "w.detach()": (True, False),
    "w * 2 under no_grad": (True, False),
    "torch.nn.Parameter(w * 2)": (True, True),
    "w > 0.5": (True, False),
    "w.round()": (False, True),
    "w.grad_fn": None,
    "(w * 0.01).grad_fn": "MulBackward0",
}
# %% given="predict_leaf"
predict_leaf = {
    "torch.ones(2) + 1": ...,
    "w * 0.01": ...,
    "torch.rand(2, requires_grad=True).double()": ...,
    'w.to("cpu")': ...,
    "w.view(2, 1)": ...,
    "w.detach()": ...,
    "w * 2 under no_grad": ...,
    "torch.nn.Parameter(w * 2)": ...,
    "w > 0.5": ...,
    "w.round()": ...,
    "w.grad_fn": ...,
    "(w * 0.01).grad_fn": ...,
}
# %% check="predict_leaf"
from autograder import check

check("predict_leaf")
# %% tags=["fact"]
assert predict_leaf == leaf_table()
# %% [markdown] tags=["en"]
# Now call `leaf_table()`.
# %% [markdown] tags=["ru"] of="ce21a084"
# Вызовем `leaf_table()` и сравним с таблицей.
# %%
leaf_table()
# %% [markdown] tags=["en"] explains="predict_leaf"
# `.double()` and `.to` are operations like any other: when they have something to do, they make a new tensor and record it. When there is nothing to do, they return the tensor itself, and the bug hides until the code meets a GPU. `view` returns a *view*: a new tensor on the same memory, and a result with a history.
#
# “The output requires grad if any input does” holds for operations that have a derivative. Comparisons, `argmax` and `.long()` have none and give constants. `round` has one, and it is zero, so it stays in the graph. `detach()` and `no_grad()` cut the graph on purpose; `Parameter` starts a new leaf. Here is the exception: a view of a leaf taken under `no_grad()`, such as `w[0]`, keeps the flag and has no `grad_fn`. It is no constant, and it looks like a weight; yet a pass that comes to it leaves nothing in its `.grad`, nor in the `.grad` of the leaf.
# %% [markdown] tags=["ru"] explains="predict_leaf" of="c163c146"
# Методы `.double()` и `.to` — обычные операции: если им есть что делать, они создают новый тензор, и эта операция записывается в граф. Если же делать нечего, они возвращают сам тензор, и он остаётся листом. Поэтому на CPU ошибку легко не заметить: там вес остаётся листом, а на GPU та же строка кода создаёт новый тензор, и это уже не лист. Метод `view` возвращает *представление*: это новый тензор в той же памяти, и у него есть история.
#
# Правило «выход требует градиента, если его требует хотя бы один вход» верно для операций, у которых есть производная. У сравнений, `argmax` и `.long()` её нет: они дают константы. У `round` она есть и равна нулю, поэтому его результат остаётся в графе. С помощью `detach()` и `no_grad()` граф обрывают намеренно, а `Parameter` создаёт новый лист. Вот и обещанное исключение: если взять представление листа, например `w[0]`, внутри `no_grad()`, флаг у него останется, а `grad_fn` не будет. Это не константа. С виду это вес, но обратный проход, который до него доходит, ничего не оставляет ни в его `.grad`, ни в `.grad` самого листа.
# %% tags=["fact"]
w = torch.rand(2, requires_grad=True)
assert w.to("cpu") is w and w.double() is not w
for constant in (w > 0.5, w.argmax(), w.long(), w.detach()):
    assert constant.is_leaf and not constant.requires_grad
assert w.round().requires_grad and torch.autograd.grad(w.round().sum(), w)[0].tolist() == [0, 0]
assert w.to("meta").grad_fn.name() == w.double().grad_fn.name() == "ToCopyBackward0"
wide = torch.rand(2, dtype=torch.float64, requires_grad=True)
assert wide.double() is wide
with torch.no_grad():
    part, whole = w[0], w.view(2, 1)
assert part.is_leaf and part.requires_grad and whole.is_leaf and whole.requires_grad and part.grad_fn is None
(part * 3).backward()
assert part.grad is None and w.grad is None


# %% [markdown] tags=["en"]
# ## How a tensor comes to require grad
#
# `torch.tensor`, `torch.zeros`, `torch.randn` and their like take `requires_grad=True`. `torch.as_tensor` and `torch.from_numpy` do not, nor does the old constructor `torch.FloatTensor`. For those there is `t.requires_grad_()` afterwards, or `t.requires_grad = True`.
#
# Three things are refused. The cell tries them and prints what torch says.
# %% [markdown] tags=["ru"] of="80da1e04"
# ## Как тензор начинает требовать градиента
#
# Функции `torch.tensor`, `torch.zeros`, `torch.randn` и подобные принимают `requires_grad=True`. Функции `torch.as_tensor` и `torch.from_numpy`, как и старый конструктор `torch.FloatTensor`, этого аргумента не принимают. После них вызывают `t.requires_grad_()` или пишут `t.requires_grad = True`.
#
# Три действия torch запрещает. Попробуем каждое и напечатаем сообщения об ошибках.
# %%
def attempt(action):
    """The name of the error that `action()` raises, or "accepted" when there is none."""
    try:
        action()
        return "accepted"
    except Exception as error:
        print(f"{type(error).__name__}: {str(error)[:100]}")
        return type(error).__name__


for action in (
    lambda: torch.tensor([1, 2], requires_grad=True),  # integers
    lambda: (x * 2).requires_grad_(False),  # a result
    lambda: torch.optim.SGD([x * 2], lr=0.1),  # a result as a weight
):
    attempt(action)
# %% tags=["fact"]
import contextlib
import io

with contextlib.redirect_stdout(io.StringIO()) as printed:
    assert attempt(lambda: torch.tensor([1, 2], requires_grad=True)) == "RuntimeError"
    assert attempt(lambda: (x * 2).requires_grad_(False)) == "RuntimeError"
    assert attempt(lambda: torch.optim.SGD([x * 2], lr=0.1)) == "ValueError"
    assert attempt(lambda: torch.FloatTensor(3, 3, requires_grad=True)) == "TypeError"
    assert attempt(lambda: torch.as_tensor([1.0], requires_grad=True)) == "TypeError"
    assert attempt(lambda: torch.from_numpy(torch.ones(2).numpy(), requires_grad=True)) == "TypeError"
    assert attempt(lambda: torch.randn((3, 3), requires_grad=True)) == "accepted"
    assert attempt(lambda: torch.FloatTensor([3.0, 3.0]).requires_grad_()) == "accepted"
for complaint in ("Only Tensors of floating point and complex dtype", "flags of leaf variables", "a non-leaf Tensor"):
    assert complaint in printed.getvalue()
assert torch.tensor([1, 2]).dtype == torch.int64
torch.optim.SGD([torch.ones(2)], lr=0.1)  # accepted
(keeps := x * 2).retain_grad()
torch.optim.SGD([keeps], lr=0.1)  # accepted, though it is no leaf


# %% [markdown] tags=["en", "try"]
# Three refusals. What is the reason for each of them? Say it in a few words.
#
# Only numbers that can change a little can have a derivative: floating point and complex ones. The flag of a result follows from its inputs and cannot be switched off. And an optimizer refuses a result, unless `retain_grad()` was called on it; it takes any leaf, even a constant, without a warning. Where a weight was lost, that `ValueError` is good news: `backward()` would have said nothing.
# %% [markdown] tags=["ru", "try"] of="0fe1c608"
# Три отказа. Почему отказано в каждом из случаев? Ответьте в двух словах.
#
# Производную можно взять только по величине, которая меняется непрерывно, то есть по вещественной или комплексной. Флаг результата определяется входами операции, и выключить его нельзя. А нелистовой тензор оптимизатор не принимает, если для этого тензора не вызван `retain_grad()`. Листья же принимает любые, даже константы, причём без предупреждения. Если вес перестал быть листом, этот `ValueError` — хорошая новость: сам вызов `backward()` об ошибке не сообщил бы.
# %% [markdown] tags=["en"]
# ## Who gets a gradient
#
# `backward()` computes the derivatives of the tensor it is called on with respect to every tensor on the way with `requires_grad`. It keeps only some of them. Reading `.grad` of a result gives `None` and a warning that begins “The .grad attribute of a Tensor that is not a leaf Tensor is being accessed”; the helper below silences it, since a notebook's warnings get in the way here.
#
# Read the second function; do not call it yet. Autograd complains with a `RuntimeError`, an optimizer with a `ValueError`.
# %% [markdown] tags=["ru"] of="e1dd31a3"
# ## Кто получит градиент
#
# Метод `backward()` вычисляет производные тензора, для которого он вызван, по всем тензорам с `requires_grad`, которые встретятся на пути, но сохраняет лишь некоторые из них. Если прочесть `.grad` у результата, вернётся `None` и появится предупреждение, которое начинается со слов «The .grad attribute of a Tensor that is not a leaf Tensor is being accessed». Функция ниже его подавляет, чтобы оно не мешало читать вывод.
#
# Прочтите вторую функцию, но пока не вызывайте её. Если ошибка возникла в autograd, это исключение `RuntimeError`, а если в оптимизаторе — `ValueError`.
# %%
def grad_of(tensor):
    """Return `tensor.grad`, without torch's warning about a non-leaf."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tensor.grad


def who_gets_grad():
    x = torch.tensor(2.0, requires_grad=True)
    k = torch.tensor(5.0)
    v = torch.tensor([1.0, 7.0], requires_grad=True)
    lost = torch.tensor(3.0, requires_grad=True) * 0.01
    part = v[0]

    early = x * 3
    early.retain_grad()
    late = early + k
    loss = late**2 + 4 * part + lost
    loss.backward()
    late.retain_grad()

    return {
        "x.grad": x.grad.item(),
        "k.grad": k.grad,
        "v.grad": v.grad.tolist(),
        "part.grad": grad_of(part),
        "lost.grad": grad_of(lost),
        "early.grad": early.grad.item(),
        "late.grad": grad_of(late),
        "loss.grad": grad_of(loss),
        "SGD([lost], lr=0.1)": attempt(lambda: torch.optim.SGD([lost], lr=0.1)),
        "k.backward()": attempt(lambda: k.backward()),
    }


# %% [markdown] tags=["en"]
# ### `predict_grad`
#
# Put what `who_gets_grad()` returns in place of each `...`: a number, a list of two numbers, `None`, `"accepted"`, or the name of the error as text.
# %% [markdown] tags=["ru"] of="ab2404f5"
# ### `predict_grad`
#
# Вместо каждого `...` поставьте то, что вернёт `who_gets_grad()`: число, список из двух чисел, `None`, `"accepted"` или имя ошибки в виде строки.
# %% answer="predict_grad"
predict_grad = {
    "x.grad": 66.0,
    "k.grad": None,
    "v.grad": [4.0, 0.0],
    "part.grad": None,
    "lost.grad": None,
    "early.grad": 22.0,
    "late.grad": None,
    "loss.grad": None,
    "SGD([lost], lr=0.1)": "ValueError",
    "k.backward()": "RuntimeError",
}
# %% given="predict_grad"
predict_grad = {
    "x.grad": ...,
    "k.grad": ...,
    "v.grad": ...,
    "part.grad": ...,
    "lost.grad": ...,
    "early.grad": ...,
    "late.grad": ...,
    "loss.grad": ...,
    "SGD([lost], lr=0.1)": ...,
    "k.backward()": ...,
}
# %% check="predict_grad"
from autograder import check

check("predict_grad")
# %% tags=["fact"]
with contextlib.redirect_stdout(io.StringIO()):
    assert predict_grad == who_gets_grad()
leaf = torch.tensor(3.0, requires_grad=True)
(leaf * 0.01).backward()
assert round(leaf.grad.item(), 6) == 0.01  # the leaf without a name in the picture
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    assert (w * 2).grad is None
assert str(warned[0].message).startswith("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed")
# %% [markdown] tags=["en"]
# Now call `who_gets_grad()`. The picture below it shows the same lines after `backward()`. Cylinders are leaves that require grad, rounded boxes are results, and `.grad` is the last line of each: a number, a dash, or *not kept*. The square boxes are the nodes, `grad_fn`; arrows show the way of the gradients. A dashed arrow ends where none has to go: at `k`, and at plain numbers. Which leaf did get its gradient, although no name leads to it any more?
# %% [markdown] tags=["ru"] of="7c776a47"
# А теперь вызовем `who_gets_grad()`. На рисунке под выводом — граф этих же вычислений после `backward()`. Цилиндры — листья, которые требуют градиента, блоки с закруглёнными углами — результаты. Последняя строка в каждом — `.grad`: число, прочерк или слова «не хранится». Прямоугольники — узлы, `grad_fn`. Стрелки показывают путь градиентов. Штриховая стрелка обрывается там, куда градиенту идти незачем: у `k` и у обычных чисел. Какой лист получил градиент, который уже нельзя прочитать?
# %%
who_gets_grad()
# %% tags=["picture"]
from autograder import draw

x = torch.tensor(2.0, requires_grad=True)
k = torch.tensor(5.0)
v = torch.tensor([1.0, 7.0], requires_grad=True)
lost = torch.tensor(3.0, requires_grad=True) * 0.01
part = v[0]

early = x * 3
early.retain_grad()
late = early + k
loss = late**2 + 4 * part + lost
loss.backward()
late.retain_grad()
draw(loss)
# %% [markdown] tags=["en", "try"]
# Move `late.retain_grad()` above `loss.backward()`. Which box of the picture will change, and what will it show? Say it, then run.
#
# That of `late`: 22 in place of *not kept*. The derivative of its square is $2 \cdot 11$, and now somebody asked for it in time.
# %% [markdown] tags=["ru", "try"] of="b74d4144"
# Перенесите `late.retain_grad()` выше `loss.backward()`. Какой прямоугольник на рисунке изменится и что в нём будет? Сначала ответьте, потом выполните ячейку.
#
# Прямоугольник `late`: вместо слов *не хранится* там будет 22. Производная квадрата равна $2 \cdot 11$, и теперь её попросили вовремя.
# %% tags=["fact"]
here = torch.tensor(11.0, requires_grad=True)
(here**2).backward()
assert here.grad.item() == 22


# %% [markdown] tags=["en"] explains="predict_grad"
# A `.grad` is filled for leaves that require grad and that the loss depends on, and for results on which `retain_grad()` was called before `backward()`. A call after `backward()` changes nothing about the pass that is over; it asks the next one. A view such as `v[0]` is a result: its gradient goes on to the leaf. And the name `lost` is bound to the product, while the leaf before it, which did get its gradient, has no name left.
#
# You will read that `backward()` “calculates all the gradients”. It is half of the truth: it computes them and drops most. Take `y = x + 2`, `z = y * y * 3`, `out = z.mean()` for a 2 × 2 `x` of ones, with the comments `y.grad # dydx = 1`, `z.grad # dzdy = 6y`, `out.grad # 1/z.shape[0]`. All three print `None`. And if these gradients are kept, they are other numbers.
# %% [markdown] tags=["ru"] explains="predict_grad" of="2bbbc23e"
# Поле `.grad` заполняется у листьев, которые требуют градиента и от которых зависит функция потерь, и у результатов, для которых `retain_grad()` вызван до `backward()`. Вызов после `backward()` в уже законченном проходе ничего не меняет. Он относится к следующему. Представление вроде `v[0]` — тоже результат: его градиент идёт дальше, в лист. А имя `lost` указывает на произведение. На исходный же лист, которому и достался градиент, больше не указывает ни одно имя.
#
# Часто пишут, что `backward()` «вычисляет все градиенты». Это верно лишь наполовину: они вычисляются, но большинство из них выбрасывается. Вам может встретиться такой код: `y = x + 2`, `z = y * y * 3`, `out = z.mean()`, где `x` — тензор 2 × 2 из одних единиц, с комментариями `y.grad # dydx = 1`, `z.grad # dzdy = 6y`, `out.grad # 1/z.shape[0]`. Во всех трёх случаях печатается `None`. А если мы сохраним эти градиенты, числа окажутся другими.
# %%
x = torch.ones(2, 2, requires_grad=True)
y = x + 2
z = y * y * 3
out = z.mean()
for tensor in (y, z, out):
    tensor.retain_grad()
out.backward()

print(
    "x.grad",
    x.grad[0, 0].item(),
    " y.grad",
    y.grad[0, 0].item(),
    " z.grad",
    z.grad[0, 0].item(),
    " out.grad",
    out.grad.item(),
)
# %% tags=["fact"]
assert (x.grad == 4.5).all() and (y.grad == 4.5).all() and (z.grad == 0.25).all() and out.grad == 1
doubled = torch.ones((), requires_grad=True)
(doubled * 1).backward(torch.tensor(2.0))
assert doubled.grad == 2  # begins with 2 when told so
assert 1 / z.shape[0] == 0.5 and 1 / z.numel() == 0.25 and y.grad_fn.name() == "AddBackward0" and x.grad_fn is None
x1, x2, x3, x4 = (torch.tensor(n, requires_grad=True) for n in (2.0, 3.0, 1.0, 4.0))
z1, z2 = x1 * x2, x3 * x4
assert [g.item() for g in torch.autograd.grad(z1 + z2, [x1, x2, x3, x4, z1, z2])] == [
    3,
    2,
    4,
    1,
    1,
    1,
] and x1.grad is None
z1, z2 = x1 * x2, x3 * x4
(z1 + z2).backward()
assert [t.grad.item() for t in (x1, x2, x3, x4)] == [3, 2, 4, 1] and grad_of(z1) is None and grad_of(z2) is None
# %% [markdown] tags=["en"]
# After one `backward()`, `t.grad` is the derivative, with respect to `t`, of the tensor on which it was called: of `out`. With respect to `z` it is $1/4$, because the mean divides by the number of entries, 4, and not by `z.shape[0]`, 2. With respect to `y` it is $6y/4 = 4.5$. With respect to `out` itself it is 1: a backward pass from a scalar begins with 1, unless you hand it another gradient.
# %% [markdown] tags=["ru"] of="3ca77464"
# После одного вызова `backward()` в `t.grad` лежит производная корня по `t`. Корень — тензор, для которого вызван этот метод, здесь это `out`. По `z` она равна $1/4$: при усреднении делят на число элементов, 4, а не на `z.shape[0]`, то есть не на 2. По `y` она равна $6y/4 = 4.5$. По самому `out` она равна 1: именно с единицы начинается обратный проход, если выход — скаляр, а начальный градиент не передан.


# %% [markdown] tags=["en"]
# ## A weight that does not learn
#
# Weights start small, in the right precision, on the right device.
#
# ### `trainable_weight`
#
# **`trainable_weight(values, dtype, device)` is to return a small weight that learns. It never gets a gradient: mend it.**
#
# * **Given.** `values`, a constant of any shape, also `()`; `dtype`, a `torch.dtype`; `device`, text such as `"cpu"`.
# * **Result.** 0.01 times `values`, with the shape of `values`, of this dtype, on this device. <!-- made -->
# * **Result.** A leaf that requires grad, so that it can be trained. <!-- flags -->
# * **Leave.** `values`. <!-- input -->
#
# The check uses the device `"meta"` as well. Everybody has it: its tensors have a shape and a dtype and no numbers.
# %% [markdown] tags=["ru"] of="7b285a54"
# ## Вес, который не обучается
#
# В начале обучения веса должны быть малы, иметь нужную точность и находиться на нужном устройстве.
#
# ### `trainable_weight`
#
# **`trainable_weight(values, dtype, device)` должна вернуть небольшой вес, который обучается. Градиента он не получает: исправьте функцию.**
#
# * **Дано.** Константа `values` любой формы, в том числе `()`; `dtype` — это `torch.dtype`; `device` — строка, например `"cpu"`.
# * **Результат.** Тензор `values`, умноженный на 0.01, с той же формой, что у `values`, с заданным dtype и на заданном устройстве. <!-- made -->
# * **Результат.** Лист, который требует градиента, чтобы его можно было обучать. <!-- flags -->
# * **Не менять.** Тензор `values`. <!-- input -->
#
# Проверка использует и устройство `"meta"`, которое есть на любой машине: у тензоров на нём есть форма и dtype, но нет чисел.
# %% answer="trainable_weight"
def trainable_weight(values, dtype, device):
    """A leaf that requires grad: 0.01 times `values`, of `dtype`, on `device`."""
    weight = values * 0.01
    return weight.to(device=device, dtype=dtype).requires_grad_()


# %% given="trainable_weight"
def trainable_weight(values, dtype, device):
    """A leaf that requires grad: 0.01 times `values`, of `dtype`, on `device`."""
    weight = values.clone().requires_grad_()
    return (weight * 0.01).to(device=device, dtype=dtype)


# %% alternative="trainable_weight"
def trainable_weight(values, dtype, device):
    return torch.nn.Parameter(0.01 * values.to(device, dtype))


# %% alternative="trainable_weight"
def trainable_weight(values, dtype, device):
    weight = torch.empty(values.shape, dtype=dtype, device=device, requires_grad=True)
    with torch.no_grad():
        weight.copy_(values).mul_(0.01)
    return weight


# %% alternative="trainable_weight"
def trainable_weight(values, dtype, device):
    weight = values.clone().requires_grad_() * 0.01
    weight = weight.to(device=device, dtype=dtype).detach()
    weight.requires_grad = True
    return weight


# %% alternative="trainable_weight"
def trainable_weight(values, dtype, device):
    return torch.tensor((values * 0.01).tolist(), dtype=dtype, device=device, requires_grad=True)


# %% check="trainable_weight"
from autograder import check

check("trainable_weight")


# %% tags=["fact"]
def given_weight(values, dtype, device):
    return (values.clone().requires_grad_() * 0.01).to(device=device, dtype=dtype)


weight = torch.randn(3, requires_grad=True) * 0.01
weight.sum().backward()
assert weight.requires_grad and grad_of(weight) is None
assert given_weight(torch.ones(2), torch.float32, "cpu").grad_fn.name() == "MulBackward0"
assert given_weight(torch.ones(2), torch.float32, "meta").grad_fn.name() == "ToCopyBackward0"
assert torch.randn(3, device="meta", requires_grad=True).is_leaf


# %% [markdown] tags=["en"]
# ## Changing a weight
#
# A step of descent changes the weight. And autograd counts the in-place changes of a tensor, in `_version`, so as to notice when a value it still needs has gone. Here is somebody's step.
# %% [markdown] tags=["ru"] of="11f27932"
# ## Как изменить вес
#
# На шаге спуска вес меняется. А сколько раз тензор изменили на месте, autograd считает в `_version`, чтобы узнать, что нужное значение затёрто. Вот как этот шаг записали однажды.
# %% [markdown] tags=["en"]
# ### `update`
#
# **`update(weights, lr)` is to move the weights themselves by one step of descent. After it nothing has moved: mend it.**
#
# * **Given.** `weights`, a list, not empty, of leaves that require grad, of any shape, also `()`; their gradients are in `w.grad`. A `.grad` may be None: that weight stays as it is.
# * **Result.** One step of descent, $w \leftarrow w - \mathrm{lr} \cdot \nabla_w$, in place: the tensors of the list are changed themselves. What is returned does not matter. <!-- weights -->
# * **Result.** `_version` of each tensor that was stepped has grown. <!-- noticed -->
# * **Result.** Afterwards every `.grad` is None or zero. <!-- cleared -->
# * **Leave.** The flags: the tensors stay leaves that require grad. <!-- flags -->
# * **Leave.** The mode: operations are recorded afterwards as before. <!-- recording -->
# %% [markdown] tags=["ru"] of="08ac8d0a"
# ### `update`
#
# **`update(weights, lr)` должна сдвинуть сами веса на один шаг спуска. После вызова ничего не сдвинулось: исправьте функцию.**
#
# * **Дано.** Непустой список `weights`, в котором лежат листья любой формы, в том числе `()`, требующие градиента; их градиенты лежат в `w.grad`. Если `.grad` равен None, вес остаётся прежним.
# * **Результат.** Один шаг спуска, $w \leftarrow w - \mathrm{lr} \cdot \nabla_w$, на месте: меняются сами тензоры из списка. Что функция возвращает, неважно. <!-- weights -->
# * **Результат.** Счётчик `_version` каждого изменённого тензора вырос. <!-- noticed -->
# * **Результат.** После шага каждый `.grad` равен None или нулю. <!-- cleared -->
# * **Не менять.** Флаги: тензоры остаются листьями, которые требуют градиента. <!-- flags -->
# * **Не менять.** Режим: после вызова операции записываются, как и до него. <!-- recording -->
# %% answer="update"
def update(weights, lr):
    """One step of gradient descent on the leaves in `weights`, in place."""
    with torch.no_grad():
        for w in weights:
            if w.grad is not None:
                w -= lr * w.grad
                w.grad = None


# %% given="update"
def update(weights, lr):
    """One step of gradient descent on the leaves in `weights`, in place."""
    for w in weights:
        if w.grad is not None:
            w = w - lr * w.grad


# %% alternative="update"
def update(weights, lr):
    optimizer = torch.optim.SGD(weights, lr=lr)
    optimizer.step()
    optimizer.zero_grad()


# %% alternative="update"
def update(weights, lr):
    for w in weights:
        if w.grad is not None:
            w.detach().sub_(lr * w.grad)
            w.grad.zero_()


# %% alternative="update"
@torch.no_grad()
def update(weights, lr):
    for w in weights:
        if w.grad is None:
            continue
        w.copy_(w - lr * w.grad)
        w.grad = torch.zeros_like(w)


# %% alternative="update"
def update(weights, lr):
    for w in weights:
        if w.grad is not None:
            w.requires_grad = False
            w.add_(w.grad, alpha=-lr)
            w.requires_grad = True
            w.grad = None


# %% check="update"
from autograder import check

check("update")


# %% [markdown] tags=["en"] explains="update"
# `w = w - ...` makes a new tensor and binds the name to it; the weight that the model holds stays where it was. `w -= ...` changes the tensor itself, and autograd refuses to do that to a leaf while it records: with a history, it would not be a leaf any more. Under `no_grad()` nothing is recorded, and the same line is right. Optimizers do it this way.
#
# The next cell tries four ways on one number: $w = 1$, its gradient is 2, the learning rate 0.1. Run it: two come to 0.8. The last of them, `.data`, is in much old code. What differs is `_version`, and the extra section *What autograd cannot see* shows what that costs.
# %% [markdown] tags=["ru"] explains="update" of="8096900a"
# Строка `w = w - ...` создаёт новый тензор и связывает с ним имя, а вес, который хранится в модели, остаётся прежним. Строка `w -= ...` меняет сам тензор, но с листом autograd этого не разрешает, пока отслеживание включено: с историей лист перестал бы быть листом. Внутри `no_grad()` ничего не записывается, и та же строка работает верно. Так поступают и оптимизаторы.
#
# В следующей ячейке четыре способа испытаны на одном числе: $w = 1$, градиент равен 2, скорость обучения 0.1. Выполните её: 0.8 получается в двух случаях. Второй из них, `.data`, часто встречается в старом коде. Разница в `_version`, а во что она обходится, показано в дополнительном разделе «Чего autograd не видит».
# %% tags=["folded"]
def new_name(w):
    w = w - 0.1 * w.grad


def in_place(w):
    w -= 0.1 * w.grad


def in_place_unrecorded(w):
    with torch.no_grad():
        w -= 0.1 * w.grad


def through_data(w):
    w.data -= 0.1 * w.grad


def a_weight():
    w = torch.tensor(1.0, requires_grad=True)
    (w**2).backward()
    return w


for step in (new_name, in_place, in_place_unrecorded, through_data):
    w = a_weight()
    try:
        step(w)
        print(f"{step.__name__:20} w = {w.item():.1f}  leaf: {w.is_leaf}  version: {w._version}")
    except RuntimeError as error:
        print(f"{step.__name__:20} {error}")
# %% tags=["fact"]
steps = {}
for step in (new_name, in_place_unrecorded, through_data):
    w = a_weight()
    step(w)
    steps[step.__name__] = round(w.item(), 6), w.is_leaf, w._version
assert steps == {"new_name": (1, True, 0), "in_place_unrecorded": (0.8, True, 1), "through_data": (0.8, True, 0)}
try:
    in_place(a_weight())
except RuntimeError as error:
    assert str(error) == "a leaf Variable that requires grad is being used in an in-place operation."
else:
    raise AssertionError
w = a_weight()
torch.optim.SGD([w], lr=0.1).step()
assert w._version == 1 and round(w.item(), 6) == 0.8
with torch.no_grad():
    replaced = w - 0.1 * w.grad
assert replaced.is_leaf and not replaced.requires_grad


# %% [markdown] tags=["en"]
# ## What to keep
#
# * A leaf has no `grad_fn`. Data and results without history are leaves, too; a weight is a leaf that requires grad.
# * Scale, cast and move first; `requires_grad_()` comes last.
# * After one `backward()`, `t.grad` is the derivative, with respect to `t`, of the tensor on which it was called. Weights get it, and results on which `retain_grad()` was called before.
# * Change weights in place under `no_grad()`. `.data` and NumPy bypass the version counter, and a wrong gradient comes out without an error.
#
# From the extra sections:
#
# * Gradients of results are computed, not kept: `torch.autograd.grad`, `backward(inputs=[...])`, a hook or `retain_grad()` gets them.
# * `detach()` shares memory; a copy is `detach().clone()`.
# %% [markdown] tags=["ru"] of="b5a700f0"
# ## Что стоит запомнить
#
# * У листа нет `grad_fn`. Данные и результаты без истории — тоже листья; вес — лист, который требует градиента.
# * Сначала умножьте тензор на число, смените его тип и перенесите на нужное устройство; `requires_grad_()` вызывайте в конце.
# * После одного вызова `backward()` в `t.grad` лежит производная по `t` от корня, то есть от тензора, для которого вызван этот метод. Её получают веса и те результаты, для которых заранее вызвали `retain_grad()`.
# * Меняйте веса на месте внутри `no_grad()`. Через `.data` и NumPy данные меняются в обход счётчика версий, и неверный градиент получается без сообщения об ошибке.
#
# Из дополнительных разделов:
#
# * Градиенты по результатам вычисляются, но не хранятся; получить их можно с помощью `torch.autograd.grad`, `backward(inputs=[...])`, хука или `retain_grad()`.
# * У `detach()` память общая с исходным тензором; копия — это `detach().clone()`.
# %% [markdown] tags=["en"]
# ## Gradients that nobody keeps
#
# “Only leaf nodes have their gradients computed”; “for all other nodes gradients are unavailable”: you will read both, and neither is so. Let `h` be computed from `x`, and the loss from `h`. Without the gradient of `h` there would be none for `x`. The first is computed in every backward pass and then dropped. Here are four ways to catch it.
# %% [markdown] tags=["ru"] of="e343ebf0"
# ## Градиенты, которые никто не хранит
#
# «Градиенты вычисляются только для листьев», «для всех остальных узлов градиенты недоступны» — часто пишут и то и другое, и оба утверждения неверны. Пусть тензор `h` вычислен из `x`, а функция потерь — из `h`. Без градиента по `h` не было бы и градиента по `x`. Первый из них вычисляется при каждом обратном проходе, а потом выбрасывается. Попробуем получить его четырьмя способами.
# %%
x = torch.tensor(2.0, requires_grad=True)


def loss_of(h):
    return h * 3


h = x**2
print("grad           ", torch.autograd.grad(loss_of(h), h)[0].item(), "  x.grad", x.grad)

h = x**2
loss_of(h).backward(inputs=[h])
print("inputs=        ", grad_of(h).item(), "  x.grad", x.grad)

h = x**2
caught = []
h.register_hook(caught.append)
loss_of(h).backward()
print("hook           ", caught[0].item(), "  x.grad", x.grad.item())

x.grad = None
h = x**2
h.retain_grad()
loss_of(h).backward()
print("retain_grad()  ", h.grad.item(), "  x.grad", x.grad.item())
# %% tags=["fact"]
assert h.grad == 3 and x.grad == 12
x.grad = None
h = x**2
loss_of(h).backward(inputs=[h])
assert grad_of(h) == 3 and x.grad is None
caught = []
h = x**2
h.register_hook(lambda gradient: caught.append(gradient.item()))
torch.autograd.grad(loss_of(h), x)
assert caught == [3] and x.grad is None
late = x**2
loss_of(late).backward()
late.retain_grad()
assert late.retains_grad and late.grad is None
x.grad = None
h = x**2
h.retain_grad()
torch.autograd.grad(loss_of(h), x)
assert h.grad == 3 and x.grad is None  # of a result that keeps its own
# %% [markdown] tags=["en"]
# Where is this gradient kept while a pass runs? `steps` makes a real backward pass, one node at a time, and then puts every `.grad` back. Use the arrow keys: before the gradient of `x` there is that of `h`. It is used once and goes no further.
# %% [markdown] tags=["ru"] of="c7de038b"
# Долго ли хранится этот градиент? Посмотрим: функция `steps` выполняет настоящий обратный проход, узел за узлом, а потом восстанавливает прежнее значение каждого `.grad`. Листайте шаги клавишами со стрелками: раньше градиента по `x` появляется градиент по `h`. Он нужен один раз, и дальше его не хранят.
# %% tags=["picture"]
from autograder import steps

x = torch.tensor(2.0, requires_grad=True)
h = x**2
loss = loss_of(h)
steps(loss)
# %% [markdown] tags=["en", "try"]
# Put `x**3` in place of `x**2`. Which two gradients will pass by? Say them, then run.
#
# 3 for `h`, as before, since the way from the loss to `h` is the same. Then $3 \cdot 3x^2 = 36$ for `x`.
# %% [markdown] tags=["ru", "try"] of="8b12a4fc"
# Поставьте `x**3` вместо `x**2`. Какие два градиента вы увидите? Сначала назовите их, потом выполните ячейку.
#
# Для `h`, как и раньше, 3: путь от функции потерь до `h` не изменился. Затем $3 \cdot 3x^2 = 36$ для `x`.
# %% tags=["fact"]
x = torch.tensor(2.0, requires_grad=True)
loss_of(x**3).backward()
assert x.grad.item() == 36


# %% [markdown] tags=["en"]
# `torch.autograd.grad` returns gradients and leaves the `.grad` of every leaf alone. `backward(inputs=[...])` adds to the `.grad` of the tensors in the list, leaves or not, and of no other leaf. A hook (a function that autograd calls with the gradient of a tensor) and `retain_grad()` go along with a pass that you make anyway.
#
# ### `hidden_gradients`
#
# **Return the gradient of the loss at the output of every layer, and leave no trace: you are watching somebody's training.**
#
# * **Given.** `model`, a `torch.nn.Sequential` whose last layer returns the loss: `model(x)` is one number, and `for layer in model` goes through the layers. A layer may stand there twice; none edits its input in place. The first layer has weights, so the output of every layer requires grad.
# * **Given.** Some weights may be frozen, `x` may require grad and have a gradient in `.grad`, and the model may be in either mode: in `eval()` a layer may compute something else than in training, as dropout does.
# * **Result.** A list or a tuple: the derivative of the loss with respect to the output of each layer, in the order of the layers. The last output is the loss itself. <!-- gradients -->
# * **Leave.** The model and `x`: weights, every `.grad`, flags, hooks, mode. <!-- kept -->
# * **Not allowed.** More than one backward pass, that is, one call of `backward` or `torch.autograd.grad`. What `torch.func.vjp` returns makes a pass of its own at each call. <!-- backward_runs -->
# %% [markdown] tags=["ru"] of="4b773e65"
# Функция `torch.autograd.grad` возвращает градиенты и не меняет `.grad` листьев. Вызов `backward(inputs=[...])` прибавляет градиенты к `.grad` перечисленных тензоров, листовых и нелистовых, а у остальных листьев ничего не меняет. Хук (функция, которую autograd вызывает с градиентом тензора) и `retain_grad()` используют тот обратный проход, который вы и так выполняете.
#
# ### `hidden_gradients`
#
# **Верните градиент функции потерь по выходу каждого слоя и не оставьте следов: вы наблюдаете за чужим обучением.**
#
# * **Дано.** Модель `model` — это `torch.nn.Sequential`, последний слой которого возвращает значение функции потерь: `model(x)` — одно число, а `for layer in model` перебирает слои. Один и тот же слой может встретиться дважды; на месте свой вход ни один слой не меняет. У первого слоя есть хотя бы один незамороженный вес, поэтому выход каждого слоя требует градиента.
# * **Дано.** Некоторые веса могут быть заморожены, `x` может требовать градиента и иметь градиент в `.grad`, а модель может быть в любом режиме: после `eval()` некоторые слои, например dropout, вычисляют не то, что при обучении.
# * **Результат.** Список или кортеж: производные функции потерь по выходу каждого слоя, в порядке слоёв. Последний выход — само значение функции потерь. <!-- gradients -->
# * **Не менять.** Модель и `x`: веса, каждый `.grad`, флаги, хуки, режим. <!-- kept -->
# * **Нельзя.** Выполнять больше одного обратного прохода, то есть одного вызова `backward` или `torch.autograd.grad`. Функция, которую возвращает `torch.func.vjp`, при каждом вызове выполняет отдельный проход. <!-- backward_runs -->
# %% answer="hidden_gradients"
def hidden_gradients(model, x):
    """The derivative of the loss `model(x)` with respect to the output of each layer, as a list."""
    ### BEGIN SOLUTION
    outputs = []
    for layer in model:
        x = layer(x)
        outputs.append(x)
    return list(torch.autograd.grad(outputs[-1], outputs))
    ### END SOLUTION


# %% alternative="hidden_gradients"
def hidden_gradients(model, x):
    outputs = [x]
    for layer in model:
        outputs.append(layer(outputs[-1]))
    outputs = outputs[1:]
    outputs[-1].backward(inputs=outputs)
    return [output.grad for output in outputs]


# %% alternative="hidden_gradients"
def hidden_gradients(model, x):
    outputs, handles = [], []
    for layer in set(model):
        handles.append(layer.register_forward_hook(lambda module, inputs, output: outputs.append(output)))
    loss = model(x)
    for handle in handles:
        handle.remove()
    return torch.autograd.grad(loss, outputs)


# %% alternative="hidden_gradients"
def hidden_gradients(model, x):
    gradients = {}
    for index, layer in enumerate(model):
        x = layer(x)
        x.register_hook(lambda gradient, index=index: gradients.__setitem__(index, gradient))
        if index == 0:
            first = x
    torch.autograd.grad(x, first)
    return [gradients[index] for index in range(len(model))]


# %% alternative="hidden_gradients"
def hidden_gradients(model, x):
    tensors = [*model.parameters(), x]
    before = [None if t.grad is None else t.grad.clone() for t in tensors]
    outputs = []
    for layer in model:
        x = layer(x)
        x.retain_grad()
        outputs.append(x)
    x.backward()
    for tensor, gradient in zip(tensors, before):
        tensor.grad = gradient
    return [output.grad for output in outputs]


# %% check="hidden_gradients"
from autograder import check

check("hidden_gradients")


# %% [markdown] tags=["en"]
# ## What autograd cannot see
#
# The loss below is $h_0^2 + h_1^2 + h_2^2$, so its derivative is $2h$, and the graph keeps `h` until `backward()`. Between the forward and the backward pass, somebody writes 100 into `h[0]`. There is no right answer any more; all that is left is to report an error.
# %% [markdown] tags=["ru"] of="8e1272cb"
# ## Чего autograd не видит
#
# Функция потерь ниже — $h_0^2 + h_1^2 + h_2^2$, её производная равна $2h$, и граф хранит `h` до `backward()`. Между прямым и обратным проходом в `h[0]` записывают 100. Верный ответ вычислить уже нельзя, и остаётся только сообщить об ошибке. Посмотрим, когда autograd это сделает.
# %%
def edited(write):
    """The gradient after `write(h)` has changed `h` between the forward and the backward pass."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    h = x * 1
    loss = (h**2).sum()
    write(h)
    try:
        loss.backward()
        return x.grad.tolist()
    except RuntimeError as error:
        return str(error)[:90] + " ..."


def nothing(h):
    pass


def under_no_grad(h):
    with torch.no_grad():
        h[0] = 100.0


def after_detach(h):
    h.detach()[0] = 100.0


def in_data(h):
    h.data[0] = 100.0


def in_numpy(h):
    h.detach().numpy()[0] = 100.0


for write in (nothing, under_no_grad, after_detach, in_data, in_numpy):
    print(f"{write.__name__:14}", edited(write))
# %% tags=["fact"]
assert edited(nothing) == [2, 4, 6]
assert edited(in_data) == edited(in_numpy) == [200, 4, 6]
refusal = "one of the variables needed for gradient computation has been modified by an inplace operation"
assert edited(under_no_grad) == edited(after_detach) == refusal[:90] + " ..."
t = torch.zeros(2, requires_grad=True)
with torch.no_grad():
    t += 1
assert t._version == t.detach()._version == 1 and t.data._version == 0
after = t.detach()
after += 1
assert t._version == after._version == 2
t.data += 1
t.detach().numpy()[0] = 5
assert t._version == 2 and t.tolist() == [5, 3]
# %% [markdown] tags=["en"]
# Two losses of this kind, `h` edited by `under_no_grad` and `q` by `in_data`. Both hold 100 now. `saved=True` adds to the picture what each node keeps. Compare what the two `PowBackward0` have saved.
# %% [markdown] tags=["ru"] of="ec35a718"
# Возьмём две такие функции потерь. Тензор `h` изменён функцией `under_no_grad`, а `q` — функцией `in_data`. В обоих тензорах теперь лежит 100. С `saved=True` на рисунке видно, что хранит каждый узел. Сравните два узла `PowBackward0`.
# %% tags=["picture"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h, q = x * 1, x * 1
noticed, silent = (h**2).sum(), (q**2).sum()
under_no_grad(h)
in_data(q)
draw(noticed, silent, saved=True)


# %% [markdown] tags=["en", "try"]
# All four writers spoiled a value that backward needs. Of which loss is the gradient that comes out without an error? Say why autograd noticed some and not others.
#
# The loss was $1 + 4 + 9$ and its gradient is $(2, 4, 6)$. Edited through `.data`, it comes out as $(200, 4, 6)$: the gradient of a loss that nobody computed, without a warning. `no_grad()` stops recording, not counting, and what `detach()` returns shares its counter with the original. `.data` starts a new counter, and NumPy knows of none.
# %% [markdown] tags=["ru", "try"] of="c741007d"
# Значение, которое нужно обратному проходу, испортили все четыре функции. Чей градиент получается там, где ошибки нет? Скажите, почему одни правки autograd заметил, а другие нет.
#
# Значение функции потерь было $1 + 4 + 9$, её градиент — $(2, 4, 6)$. После изменения через `.data` получается $(200, 4, 6)$: это градиент в точке, в которой функцию потерь никто не вычислял, и ни одного предупреждения нет. Внутри `no_grad()` выключено отслеживание, но не счётчик версий, а у тензора, который вернул `detach()`, счётчик общий с исходным. У `.data` счётчик новый, а при записи через NumPy никакой счётчик не меняется.
# %% [markdown] tags=["en"]
# ### `overwrite`
#
# **Put `values` into `h` in two ways: one that a later backward pass notices and refuses, and one that it does not notice.**
#
# * **Given.** `h`, a result with a history, of one dimension or more, not always contiguous in memory. A loss has been computed from it, and its backward pass still needs the old `h`.
# * **Result.** `h` itself holds the numbers of `values`. <!-- values -->
# * **Result.** With `noticed=True` that backward pass is refused, with the error that `under_no_grad` met above. <!-- noticed -->
# * **Result.** With `noticed=False` it runs, and uses the new numbers wherever it needs `h`. <!-- unnoticed -->
# * **Leave.** `values`, and the memory of `h`, which stays its own. <!-- values -->
# %% [markdown] tags=["ru"] of="bf9c61e7"
# ### `overwrite`
#
# **Запишите `values` в `h` двумя способами: так, чтобы обратный проход это заметил и отказался работать, и так, чтобы не заметил.**
#
# * **Дано.** Тензор `h` — результат с историей; у него хотя бы одно измерение, и его элементы могут лежать в памяти не подряд (он не обязан быть contiguous). По нему уже вычислено значение функции потерь, и её обратному проходу ещё нужен прежний `h`.
# * **Результат.** В самом тензоре `h` лежат числа из `values`. <!-- values -->
# * **Результат.** При `noticed=True` этот обратный проход прерывается с той же ошибкой, что и после `under_no_grad` выше. <!-- noticed -->
# * **Результат.** При `noticed=False` он выполняется и всюду, где ему нужен `h`, берёт новые числа. <!-- unnoticed -->
# * **Не менять.** Тензор `values` и память тензора `h`: она остаётся его собственной. <!-- values -->
# %% answer="overwrite"
def overwrite(h, values, noticed):
    """Put `values` into `h`, so that a backward pass that needs the old `h` is refused (`noticed`) or not."""
    ### BEGIN SOLUTION
    if noticed:
        with torch.no_grad():
            h.copy_(values)
    else:
        h.data.copy_(values)
    ### END SOLUTION


# %% alternative="overwrite"
def overwrite(h, values, noticed):
    target = h.detach() if noticed else h.data
    target[:] = values


# %% alternative="overwrite"
def overwrite(h, values, noticed):
    if noticed:
        h.copy_(values)
    else:
        h.detach().numpy()[...] = values.numpy()


# %% alternative="overwrite"
def overwrite(h, values, noticed):
    h.data.copy_(values)
    if noticed:
        torch.autograd.graph.increment_version(h)


# %% check="overwrite"
from autograder import check

check("overwrite")
# %% [markdown] tags=["en"]
# ## A copy of a weight
#
# “`detach()` creates a copy of the tensor that is detached from the computation history”, you will read.
# %% [markdown] tags=["ru"] of="9331399a"
# ## Копия веса
#
# «Метод `detach()` создаёт копию тензора, отсоединённую от истории вычислений», — пишут в руководствах.
# %% tags=["fact"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x.detach()
y[0] = 100.0
assert x.tolist() == [100, 2, 3] and y.data_ptr() == x.data_ptr() and not y.requires_grad and x._version == 1


# %% [markdown] tags=["en"]
# ### `snapshot`
#
# **`snapshot(x)` is to return what `x` holds now, a constant that no later edit changes. It changes: mend it.**
#
# * **Given.** `x`, of any shape, also `()`: a weight, a result or a constant. A constant may hold whole numbers or logical values, and it may be empty.
# * **Result.** A tensor of the same shape and dtype with the numbers of `x`. Later edits of `x` do not show in it, nor do later snapshots. <!-- snapshot -->
# * **Result.** It is a constant. <!-- flags -->
# * **Leave.** `x`, its history and its flag. Edits of the snapshot do not show in `x` either. <!-- x -->
# %% [markdown] tags=["ru"] of="3479a976"
# ### `snapshot`
#
# **`snapshot(x)` должна вернуть то, что сейчас лежит в `x`: константу, которую не изменят никакие дальнейшие правки. Но она меняется: исправьте функцию.**
#
# * **Дано.** Аргумент `x` любой формы, в том числе `()`: вес, результат или константа. В константе могут лежать целые числа или логические значения, и она может быть пустой.
# * **Результат.** Тензор той же формы и с тем же dtype, с числами из `x`. Последующие изменения `x` в нём не видны, а новые снимки не меняют прежних. <!-- snapshot -->
# * **Результат.** Этот тензор — константа. <!-- flags -->
# * **Не менять.** Сам `x`, его историю и флаг. Изменения снимка тоже не видны в `x`. <!-- x -->
# %% answer="snapshot"
def snapshot(x):
    """Copy `x` into a constant with memory of its own."""
    return x.detach().clone()


# %% given="snapshot"
def snapshot(x):
    """Copy `x` into a constant with memory of its own."""
    return x.detach()


# %% alternative="snapshot"
def snapshot(x):
    with torch.no_grad():
        return x.clone()


# %% alternative="snapshot"
def snapshot(x):
    return torch.empty_like(x, requires_grad=False).copy_(x.detach())


# %% alternative="snapshot"
def snapshot(x):
    return torch.from_numpy(x.detach().numpy().copy())


# %% check="snapshot"
from autograder import check

check("snapshot")
# %% [markdown] tags=["en"] explains="snapshot"
# It is detached from the history, and it is no copy: both have one memory. Whoever wants the numbers as they are now also needs `clone()`.
# %% [markdown] tags=["ru"] explains="snapshot" of="038eef83"
# Тензор отсоединён от истории, но это не копия: память у них общая. Чтобы запомнить числа такими, какие они сейчас, нужен ещё и `clone()`.


# %% [markdown] tags=["en"]
# ## The bridge to NumPy
#
# A common explanation says that a tensor is an array with a graph inside, and that one *must* call `detach()` before `numpy()`. The graph is not inside: a tensor points to it. And `detach()` is needed only where the array would hide a history that is being recorded. What else crosses the bridge? Read the function; do not call it yet.
# %% [markdown] tags=["ru"] of="08a495c9"
# ## Тензоры и массивы NumPy
#
# Часто объясняют так: тензор — это массив с графом внутри, поэтому перед `numpy()` *обязательно* вызывают `detach()`. На самом деле граф не внутри: тензор лишь ссылается на него. И `detach()` нужен только там, где тензор требует градиента и отслеживание включено: действия с массивом не попали бы в граф. А что ещё общего у тензора и массива? Прочтите функцию, но пока не вызывайте её.
# %%
def numpy_bridge():
    import numpy

    array = numpy.ones(2)
    shared, copied = torch.from_numpy(array), torch.tensor(array)
    array[0] = 5

    c = torch.ones(2)
    c.numpy()[0] = 7

    w = torch.ones(2, requires_grad=True)
    refused = attempt(lambda: w.numpy())
    with torch.no_grad():
        under_no_grad = attempt(lambda: w.numpy())
    listed = attempt(lambda: w.tolist())
    w.detach().numpy()[0] = 9

    return {
        "torch.from_numpy(array).dtype": str(shared.dtype),
        "shared[0] after array[0] = 5": shared[0].item(),
        "copied[0] after array[0] = 5": copied[0].item(),
        "c[0] after c.numpy()[0] = 7": c[0].item(),
        "w.numpy()": refused,
        "w.numpy() under no_grad": under_no_grad,
        "w.tolist()": listed,
        "w[0] after w.detach().numpy()[0] = 9": w[0].item(),
        "w._version": w._version,
    }


# %% [markdown] tags=["en"]
# ### `predict_bridge`
#
# Put what `numpy_bridge()` returns in place of each `...`: a dtype as text, such as `"torch.float32"`, a number, `"accepted"`, or the name of the error as text.
# %% [markdown] tags=["ru"] of="aa1195b0"
# ### `predict_bridge`
#
# Вместо каждого `...` поставьте то, что вернёт `numpy_bridge()`: dtype в виде строки, например `"torch.float32"`, число, `"accepted"` или имя ошибки в виде строки.
# %% answer="predict_bridge"
predict_bridge = {
    "torch.from_numpy(array).dtype": "torch.float64",
    "shared[0] after array[0] = 5": 5.0,
    "copied[0] after array[0] = 5": 1.0,
    "c[0] after c.numpy()[0] = 7": 7.0,
    "w.numpy()": "RuntimeError",
    "w.numpy() under no_grad": "accepted",
    "w.tolist()": "accepted",
    "w[0] after w.detach().numpy()[0] = 9": 9.0,
    "w._version": 0,
}
# %% given="predict_bridge"
predict_bridge = {
    "torch.from_numpy(array).dtype": ...,
    "shared[0] after array[0] = 5": ...,
    "copied[0] after array[0] = 5": ...,
    "c[0] after c.numpy()[0] = 7": ...,
    "w.numpy()": ...,
    "w.numpy() under no_grad": ...,
    "w.tolist()": ...,
    "w[0] after w.detach().numpy()[0] = 9": ...,
    "w._version": ...,
}
# %% check="predict_bridge"
from autograder import check

check("predict_bridge")
# %% tags=["fact"]
with contextlib.redirect_stdout(io.StringIO()) as printed:
    assert predict_bridge == numpy_bridge()
assert "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead." in printed.getvalue()
import numpy

with contextlib.redirect_stdout(io.StringIO()):
    assert attempt(lambda: numpy.ones(2) * torch.ones(2, requires_grad=True)) == "TypeError"
    assert attempt(lambda: torch.rand(3, 4) @ torch.from_numpy(numpy.ones((4, 2)))) == "RuntimeError"  # float != double
    assert attempt(lambda: torch.ones(2, device="meta").numpy()) == "TypeError"
    assert (torch.rand(4) + torch.from_numpy(numpy.ones(4))).dtype == torch.float64
x_t, y_np = torch.rand(3, 4), numpy.ones((4, 2), dtype=numpy.float32)
assert numpy.allclose(numpy.dot(x_t.numpy(), y_np), (x_t @ torch.from_numpy(y_np)).numpy())  # no `no_grad()` needed
# %% [markdown] tags=["en"]
# Now call `numpy_bridge()`.
# %% [markdown] tags=["ru"] of="3af7d9d3"
# А теперь вызовем `numpy_bridge()`.
# %%
numpy_bridge()


# %% [markdown] tags=["en"] explains="predict_bridge"
# In both directions the bridge shares memory and keeps the dtype; `torch.tensor` copies. So arrays and tensors are not interchangeable, under `no_grad()` either: NumPy makes float64 where torch makes float32, `x @ y` refuses to mix the two (`x + y` does not), and `numpy()` needs the CPU.
# %% [markdown] tags=["ru"] explains="predict_bridge" of="363c5a64"
# При преобразовании в обе стороны память остаётся общей, а dtype сохраняется. Функция `torch.tensor` создаёт копию. И всё же массивы и тензоры не взаимозаменяемы, даже внутри `no_grad()`: NumPy создаёт float64 там, где torch создаёт float32, а смешивать эти типы в `x @ y` нельзя (в `x + y` можно). Кроме того, `numpy()` работает только на CPU.
# %% [markdown] tags=["en"]
# ## Does every weight get a gradient?
#
# “A leaf that requires grad has its gradient in `.grad` after `loss.backward()`.” Most of this lesson says so. Is it always true? One exception has been named: a weight that the loss does not use. Find a better one.
#
# ### `leaf_without_gradient`
#
# **Find a leaf that requires grad and decides the loss, and yet has None in `.grad` after a backward pass without an error.**
#
# * **Result.** A pair `(t, loss)`: a leaf `t` that requires grad, before and after, and a function `loss`. <!-- leaf -->
# * **Result.** `loss(t)` is a tensor of one number, and `loss(t).backward()` runs without an error. <!-- backward -->
# * **Result.** `t.grad` is None afterwards. <!-- empty -->
# * **Result.** Yet the loss depends on the numbers of `t`: it is another once 1 has been added to every entry of `t` in place (`t.data += 1`). <!-- depends -->
# * **Result.** It is the same each time while the numbers are the same. <!-- steady -->
# * **Not allowed.** To replace a method or an attribute of a tensor. <!-- no aspect: any check refuses such a tensor -->
# %% [markdown] tags=["ru"] of="67b78ad2"
# ## Каждый ли вес получает градиент?
#
# «После `loss.backward()` у листа, который требует градиента, в `.grad` лежит его градиент». Почти весь урок об этом и говорит. Всегда ли это верно? Одно исключение уже названо: вес, от которого функция потерь не зависит. Найдите исключение поинтереснее.
#
# ### `leaf_without_gradient`
#
# **Найдите лист, который требует градиента и от которого зависит функция потерь, а в `.grad` у него после обратного прохода без ошибок всё равно None.**
#
# * **Результат.** Пара `(t, loss)`: лист `t`, который требует градиента и до вычислений, и после них, и функция `loss`. <!-- leaf -->
# * **Результат.** `loss(t)` — тензор из одного числа, и `loss(t).backward()` выполняется без ошибки. <!-- backward -->
# * **Результат.** После этого `t.grad` равен None. <!-- empty -->
# * **Результат.** И всё же функция потерь зависит от чисел в `t`: если на месте прибавить 1 к каждому элементу `t` (`t.data += 1`), её значение станет другим. <!-- depends -->
# * **Результат.** Пока числа те же, оно от вызова к вызову не меняется. <!-- steady -->
# * **Нельзя.** Подменять методы и атрибуты тензоров. <!-- no aspect: any check refuses such a tensor -->
# %% answer="leaf_without_gradient"
def leaf_without_gradient():
    """A leaf that requires grad and a loss that depends on it and leaves its `.grad` empty."""
    ### BEGIN SOLUTION
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    other = torch.tensor([3.0, 4.0], requires_grad=True)
    return t, lambda t: (other * t.detach()).sum()
    ### END SOLUTION


# %% alternative="leaf_without_gradient"
def leaf_without_gradient():
    t = torch.zeros(3, requires_grad=True)
    scale = torch.ones((), requires_grad=True)

    def loss(t):
        return scale * (t > 0.5).sum() + scale

    return t, loss


# %% alternative="leaf_without_gradient"
def leaf_without_gradient():
    t = torch.tensor(2.0, requires_grad=True)
    layer = torch.nn.Linear(1, 1)
    return t, lambda t: layer(torch.tensor([t.item()]))


# %% alternative="leaf_without_gradient"
def leaf_without_gradient():
    t = torch.tensor([1.0, 5.0], requires_grad=True)

    def loss(t):
        with torch.no_grad():
            view = t[0]  # it says that it requires grad, and neither it nor `t` gets anything
        return view * 3

    return t, loss


# %% check="leaf_without_gradient"
from autograder import check

check("leaf_without_gradient")
# %% tags=["fact"]
t, loss = leaf_without_gradient()
before = loss(t).item()
loss(t).backward()
assert t.grad is None and t.is_leaf and t.requires_grad
with torch.no_grad():
    t += 1
assert loss(t).item() != before
# %% [markdown] tags=["en"]
# ## Notes from an older version
#
# Before version 0.4 a tensor had to be wrapped into a `Variable` to be tracked. Code from that time still runs, without any warning. `Variable(t)` is what `t.detach()` gives: a constant with the same memory, cut off from the graph. Around data it does no harm, around a result it cuts the path to every weight before it.
#
# Old code also begins with `torch.LongTensor(3, 4)` or `torch.Tensor(3, 5)`, and prints numbers such as 140338896403408 as if they were an output. Whole numbers in these constructors are a *size*: nothing is written into that memory, and it holds what was there before. `torch.LongTensor([3, 4])`, with a list, holds the numbers 3 and 4. After `torch.use_deterministic_algorithms(True)` torch fills fresh memory with NaN, so that such a bug shows itself.
# %% [markdown] tags=["ru"] of="c2fdf201"
# ## Записи из старой версии
#
# До версии 0.4 тензор нужно было обернуть в `Variable`, чтобы его операции записывались. Код тех времён и сейчас работает, без единого предупреждения. `Variable(t)` даёт то же, что `t.detach()`: константу с той же памятью, отсоединённую от графа. Данным это не вредит, а если обернуть результат, путь ко всем весам до него обрывается.
#
# Ещё старый код начинается с `torch.LongTensor(3, 4)` или `torch.Tensor(3, 5)` и печатает числа вроде 140338896403408, как будто это результат. Целые числа в этих конструкторах задают *размер*: в память ничего не записывается, там лежит то, что лежало раньше. А `torch.LongTensor([3, 4])`, со списком, содержит числа 3 и 4. После `torch.use_deterministic_algorithms(True)` torch заполняет новую память значениями NaN, и такая ошибка видна сразу.
# %% tags=["fact"]
from torch.autograd import Variable

h = torch.ones(2, 2, requires_grad=True) * 3
with warnings.catch_warnings():
    warnings.simplefilter("error")
    assert type(Variable(h)) is torch.Tensor and not Variable(h).requires_grad and Variable(h).grad_fn is None
assert Variable(h).data_ptr() == h.data_ptr() and isinstance(h, Variable)
assert torch.LongTensor(3, 4).shape == (3, 4) and torch.LongTensor(3, 4).dtype == torch.int64
assert torch.Tensor(3, 5).shape == (3, 5) and torch.Tensor(3).shape == (3,) and torch.tensor(3).shape == ()
assert torch.LongTensor([3, 4]).tolist() == torch.tensor([3, 4]).tolist() == [3, 4]
torch.use_deterministic_algorithms(True)
assert torch.Tensor(3, 5).isnan().all() and (torch.LongTensor(3, 4) == 2**63 - 1).all()
torch.use_deterministic_algorithms(False)


# %% [markdown] tags=["en"]
# ## On a GPU
#
# `.cuda()` and `.to("cuda")` do with a leaf what `.double()` does: they make a new tensor and record it. A weight is made on its device, or moved first and told to require grad afterwards. With a GPU the cell shows `False` for the leaf that was moved after the flag, and `True` for the other two.
# %% [markdown] tags=["ru"] of="d20b1ec4"
# ## На GPU
#
# Методы `.cuda()` и `.to("cuda")` делают с листом то же, что `.double()`: создают новый тензор, и эта операция записывается в граф. Вес создают сразу на нужном устройстве либо сначала переносят, а флаг включают потом. На машине с GPU ячейка покажет `False` для листа, который перенесли после включения флага, и `True` для двух других.
# %%
from autograder import on_gpu


def leaf_on_gpu():
    return {
        "is a leaf: .cuda() after the flag": torch.ones(2, requires_grad=True).cuda().is_leaf,
        "is a leaf: made there": torch.ones(2, requires_grad=True, device="cuda").is_leaf,
        "is a leaf: moved first": torch.ones(2).cuda().requires_grad_().is_leaf,
    }


on_gpu(leaf_on_gpu)
# %% tags=["fact"]
from autograder.lessons.gpu_recordings import check_claims

check_claims(
    leaf_on_gpu,
    lambda measured: {
        "moved after the flag, it is no leaf": not measured["is a leaf: .cuda() after the flag"],
        "made there, it is a leaf": measured["is a leaf: made there"],
        "moved first, it is a leaf": measured["is a leaf: moved first"],
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
