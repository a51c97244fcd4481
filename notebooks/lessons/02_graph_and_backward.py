# %% [markdown] tags=["en"] needs="01" about="an engine of your own: values, rules, a walk; what keeps a graph alive, where a NaN came from"
# # The graph and the backward pass
#
# `loss.backward()` knows nothing about your code. It knows a graph, which the forward pass left behind: the *computational graph*. What is in that graph, how is it walked, and when does it go away? You find out by building your own, until it agrees with torch.
#
# Most odd behaviour of `backward()` has its answer there: the error about a second pass, a gradient that doubled, memory that grows, a NaN in a branch nobody took. After this lesson you can:
#
# * read the graph behind any tensor and walk it with your own code;
# * build an engine of your own: values that remember, rules, a walk in the right order;
# * say when a second pass fails, when it silently doubles, and what keeps a graph in memory;
# * find the node in which a NaN was born, and keep the NaN from arising.
#
# Extra exercises take one pass for two losses, let graphs go, walk torch's own nodes, and find that node by hooks.
#
# You need lesson 01: leaf tensors, `requires_grad`, `.grad`.
# %% [markdown] tags=["ru"] about="собственный движок: значения, правила, обход; почему граф остаётся в памяти, откуда взялся NaN" of="05063f61"
# # Граф и обратный проход
#
# Метод `loss.backward()` ничего не знает о вашем коде: ему доступен только *вычислительный граф* (граф вычислений), оставшийся после прямого прохода. Из чего состоит этот граф, как его обходят и когда он исчезает? Чтобы это понять, вы напишете собственный движок, и он даст те же градиенты, что и torch.
#
# Почти все странности `backward()` объясняются графом: ошибка при втором проходе, удвоившийся градиент, растущий расход памяти, NaN из невыбранной ветви. После урока вы сможете:
#
# * прочесть граф любого тензора и написать код для его обхода;
# * написать собственный движок: значения, которые помнят свои входы, правила и обход в правильном порядке;
# * определить, когда второй проход заканчивается ошибкой, когда незаметно удваивает градиент и из-за чего граф остаётся в памяти;
# * найти узел, в котором возник NaN, и исправить вычисление, чтобы он не возникал.
#
# В дополнительных упражнениях вы обойдётесь одним проходом для двух функций потерь, освободите ненужные графы, обойдёте узлы самого torch и с помощью хуков найдёте узел, в котором возник NaN.
#
# Понадобится урок 01: листовые тензоры, `requires_grad`, `.grad`.
# %% tags=["en"]
# Does the import fail? Install the course by pip (its file, or autograd-course),
# and uninstall another `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("graph_and_backward", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("graph_and_backward", language="ru")
# %%
import math
import warnings

import torch
from torch.nn.functional import mse_loss


# %% [markdown] tags=["en"]
# ## What the forward pass leaves behind
#
# Five matrices, four lines of arithmetic, six operations. Every result remembers in `grad_fn` how to go back from it. `show` prints that node and, below it and indented, the nodes behind it. Run the cell and find each line of `forward` in what it prints.
# %% [markdown] tags=["ru"] of="1bd3a8ce"
# ## Что остаётся после прямого прохода
#
# Возьмём пять матриц и выполним четыре строки кода, в которых шесть операций. В поле `grad_fn` каждого результата лежит узел, от которого можно идти назад. Функция `show` печатает этот узел, а под ним с отступом — узлы, на которые он ссылается. Выполните ячейку и найдите в выводе каждую строку функции `forward`.
# %%
def show(node, indent="", **leaves):
    """Print a node and, indented, everything behind it; `leaves` gives names to leaf tensors."""
    if node is None:
        print(indent + "None")
        return
    name = next((name for name, leaf in leaves.items() if leaf is getattr(node, "variable", None)), "")
    print(indent + type(node).__name__, name)
    for child, _ in node.next_functions:
        show(child, indent + "    ", **leaves)


def forward(a, w1, w2, w3, w4):
    b = w1 * a
    c = w2 * a
    d = w3 * b + w4 * c
    L = 10 - d
    return d, L


a, w1, w2, w3, w4 = (torch.rand(3, 3, requires_grad=True) for _ in range(5))
d, L = forward(a, w1, w2, w3, w4)

print("a.grad_fn:", a.grad_fn, "  a.grad:", a.grad)
show(L.grad_fn, a=a, w1=w1, w2=w2, w3=w3, w4=w4)


# %% tags=["fact"]
def nodes_behind(tensor):
    seen, todo = [], [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.append(node)
            todo += [child for child, _ in node.next_functions]
    return seen


assert a.grad_fn is None and a.grad is None
assert type(d.grad_fn).__name__ == "AddBackward0" and type(L.grad_fn).__name__ == "RsubBackward1"
assert [type(node).__name__ for node in nodes_behind(L)].count("AccumulateGrad") == 5
assert len(nodes_behind(L)) == 11
assert isinstance(d.grad_fn, torch.autograd.graph.Node) and not isinstance(d.grad_fn, torch.autograd.Function)
assert not hasattr(d.grad_fn, "forward") and not hasattr(d.grad_fn, "apply")
product = d.grad_fn.next_functions[0][0]
assert product._saved_self is w3 and torch.equal(product._saved_other, w1 * a)
assert not hasattr(d.grad_fn, "_saved_self") and not hasattr(d.grad_fn, "_saved_other")
v = torch.ones(3, 3)
assert all(given is v or torch.equal(given, v) for given in d.grad_fn(v))
for without in (torch.rand(2), torch.rand(2) + 1, a.detach() * 2, a > 0.5, a.argmax()):
    assert without.grad_fn is None
with torch.no_grad():
    assert (a * 2).grad_fn is None
# %% [markdown] tags=["en"]
# The same as a picture. `draw` shows the graph behind any tensor of yours, with the names of your variables, and where a gradient will land. It only reads: call it whenever you like, and `print` it to get the facts as text. What else it can show is in the [gallery](gallery.ipynb), a notebook in the same folder.
# %% [markdown] tags=["ru"] of="39ae839c"
# А теперь нарисуем то же самое. Функция `draw` рисует граф любого тензора. На рисунке видно, как называются переменные и куда придёт градиент. Функция ничего не меняет, поэтому вызывать её можно когда угодно. Если передать её результат в `print`, граф будет выведен в виде текста. Всё остальное, что можно увидеть на таких рисунках, собрано в [галерее](gallery.ipynb) — отдельной тетради в той же папке.
# %% tags=["picture"]
from autograder import draw

draw(L)
# %% [markdown] tags=["en", "try"]
# In `forward` write `d = w3 * b`. How many of the six operations will be left in the graph of `L`, and which leaves? Say it, then run both cells.
#
# Three: two products and the subtraction, with `a`, `w1` and `w3`. `c` is still computed, but no edge leads to it from `L`.
# %% [markdown] tags=["ru", "try"] of="22410cc5"
# В функции `forward` напишите `d = w3 * b`. Сколько из шести операций останется в графе `L` и какие листья? Сначала ответьте, потом выполните обе ячейки.
#
# Три: два произведения и вычитание, а из листьев `a`, `w1` и `w3`. Тензор `c` по-прежнему вычисляется, но от `L` к нему не ведёт ни одно ребро.
# %% tags=["fact"]
short = 10 - w3 * (w1 * a)
names, waiting = set(), [short.grad_fn]
while waiting:
    node = waiting.pop()
    names.add(node)
    waiting += [child for child, _ in node.next_functions if child is not None]
assert sorted(type(node).__name__ for node in names) == ["AccumulateGrad"] * 3 + ["MulBackward0"] * 2 + [
    "RsubBackward1"
]
# %% [markdown] tags=["en"]
# The output shows the following.
#
# * The nodes are functions, not tensors. A tensor holds a pointer to one node, its `grad_fn`. A leaf has `None` there; in the graph its place is held by an `AccumulateGrad` node, which adds what arrives to `.grad`.
# * `AddBackward0` is not the addition. It is the *derivative* of an addition: you can call it with a gradient and it gives one gradient for each operand. It cannot add, it has no `forward`, and no `apply`.
# * The edges go backward, from a result to what it was computed from.
# * Nobody has called `backward()` yet. The forward pass built the graph, operation by operation, wherever an input required grad and gradient tracking was on (no `no_grad`).
# %% [markdown] tags=["ru"] of="047eb502"
# Из вывода видно следующее.
#
# * Узлы — это функции, а не тензоры. Тензор хранит указатель на один узел, свой `grad_fn`. У листа это поле равно `None`; в графе его место занимает узел `AccumulateGrad`, который прибавляет пришедший градиент к `.grad`.
# * `AddBackward0` — не сложение. Это *производная* сложения: такой узел можно вызвать, передав ему градиент, и он вернёт по одному градиенту на каждое слагаемое. Складывать он не умеет, у него нет ни метода `forward`, ни метода `apply`.
# * Рёбра идут назад: от результата к тому, из чего он вычислен.
# * Метод `backward()` ещё не вызывали. Граф построен во время прямого прохода, операция за операцией, всюду, где хотя бы один вход требовал градиента, а отслеживание вычислений было включено (то есть вне `no_grad`).
# %% [markdown] tags=["en"]
# ## One step at a time
#
# `next_functions` lists the edges of a node: one pair for each tensor that went in, made of a node and the number of the forward operation's output. Follow a short chain, $d = 2 \sin a + 1$, by hand. Where does it end?
# %% [markdown] tags=["ru"] of="a042ec06"
# ## Шаг за шагом
#
# В поле `next_functions` перечислены рёбра узла: по одной паре на каждый входной тензор. Первый элемент пары — узел, второй — номер выхода той операции прямого прохода, которой этот узел соответствует. Пройдём вручную по короткой цепочке $d = 2 \sin a + 1$. Чем она заканчивается?
# %%
a = torch.linspace(0.0, 2.0 * math.pi, steps=25, requires_grad=True)
b = torch.sin(a)
c = 2 * b
d = c + 1

node = d.grad_fn
while node.next_functions:
    print(type(node).__name__, [(type(child).__name__, number) for child, number in node.next_functions])
    node = node.next_functions[0][0]
print(type(node).__name__, node.next_functions, "  its variable is a:", node.variable is a)
# %% tags=["fact"]
walk = d.grad_fn
names = []
while walk.next_functions:
    names.append(type(walk).__name__)
    assert len(walk.next_functions) == 1 or walk.next_functions[1] == (None, 0)
    walk = walk.next_functions[0][0]
assert names == ["AddBackward0", "MulBackward0", "SinBackward0"]
assert walk.next_functions == () and walk.variable is a
assert [len(y.grad_fn.next_functions) for y in (10 - a, a**2, a - 1)] == [1, 1, 2]
assert (a - 1).grad_fn.next_functions[1] == (None, 0)
first, second = torch.rand(2, 3, requires_grad=True).unbind(0)
assert first.grad_fn is second.grad_fn
assert [number for _, number in (first * second).grad_fn.next_functions] == [0, 1]


# %% [markdown] tags=["en"]
# The chain ends at `AccumulateGrad`, whose list is empty and whose `variable` is the leaf itself. `(None, 0)` stands where no gradient has to go. In this chain the numbers 1 and 2 were wrapped into tensors, so there are two pairs. Sometimes a number is not wrapped, as in `10 - d`, which has one pair. The number in a pair matters only for operations with several outputs, such as `unbind`: all of its results share one node.
#
# This walk took the first edge each time; the second, if there was one, led to `None`. And if both lead to nodes?
# %% [markdown] tags=["ru"] of="0f7bc978"
# Цепочка заканчивается узлом `AccumulateGrad`: список рёбер у него пуст, а поле `variable` — это сам лист. Пара `(None, 0)` стоит там, куда градиенту идти незачем. В этой цепочке числа 1 и 2 превращены в тензоры, поэтому у узлов умножения и сложения по две пары. Так бывает не всегда: у узла выражения `10 - d` пара одна. Номер в паре важен только для операций с несколькими выходами, таких как `unbind`: все результаты такой операции ссылаются на один и тот же узел.
#
# Мы каждый раз шли по первому ребру: второе, если оно было, вело в `None`. А если оба ведут к узлам?
# %% [markdown] tags=["en"]
# ## The graph is not a tree
#
# Double a number fifteen times: `t = t + t`. How many nodes does the graph have, and how many visits does a walk make that treats it as a tree?
# %% [markdown] tags=["ru"] of="4e814e66"
# ## Граф — не дерево
#
# Удвоим число пятнадцать раз: `t = t + t`. Сколько узлов в графе? И сколько посещений понадобится, если обходить граф как дерево?
# %%
def visits_as_a_tree(node):
    return 1 + sum(visits_as_a_tree(child) for child, _ in node.next_functions if child is not None)


x = torch.tensor(3.0, requires_grad=True)
t = x * 1
for _ in range(15):
    t = t + t

left, right = t.grad_fn.next_functions
print("both edges lead to one node:", left[0] is right[0])
print("both in a set:", len({left[0], right[0]}))
print(f"visits as a tree: {visits_as_a_tree(t.grad_fn):,}")
# %% tags=["fact"]
assert left[0] is right[0] and len({left[0], right[0]}) == 1
assert visits_as_a_tree(t.grad_fn) == 98_303 and len(nodes_behind(t)) == 17
assert len(nodes_behind(x * x)) == 2


# %% [markdown] tags=["en"]
# There are 98,303 visits, and 17 nodes: one multiplication, fifteen additions, one leaf. The number of *paths* doubles with every line, the number of *nodes* grows by one. The graph is a directed acyclic graph (DAG); even `x * x` has two edges to one node. Taken for a tree, the graph makes `backward()` look exponential. It is not: each node runs once. Nodes can be put into a set, and serve as the keys of a dict; a node that two edges lead to is in the set once.
# %% [markdown] tags=["ru"] of="f4cc0700"
# Посещений получилось 98 303, а узлов всего 17: одно умножение, пятнадцать сложений, один лист. С каждым сложением число *путей* удваивается, а число *узлов* растёт на единицу. Перед нами ориентированный ациклический граф (DAG): даже в `x * x` два ребра ведут к одному узлу. Если принять граф за дерево, покажется, что время `backward()` растёт экспоненциально. Это не так: каждый узел выполняется один раз. Узлы можно складывать в множество и использовать как ключи словаря: узел, к которому ведут два ребра, попадёт в множество один раз.
# %% [markdown] tags=["en"]
# From torch 2.14 on, nodes can be counted while they are made. Inside the block `with torch.autograd.graph.node_creation_hook(hook)` torch calls `hook(node)` for each new node, also for those that `create_graph=True` makes; of a graph that is already there it sees nothing.
# %% [markdown] tags=["ru"] of="231777cd"
# Начиная с torch 2.14 узлы можно считать и в момент создания. Внутри блока `with torch.autograd.graph.node_creation_hook(hook)` для каждого нового узла вызывается `hook(node)`, в том числе для узлов, которые появляются при `create_graph=True`. Уже построенного графа хук не видит.
# %% tags=["fact"]
if hasattr(torch.autograd.graph, "node_creation_hook"):
    made, number = [], torch.tensor(2.0, requires_grad=True)
    with torch.autograd.graph.node_creation_hook(lambda node: made.append(type(node).__name__)):
        cube = number * number * number
        assert made == ["AccumulateGrad", "MulBackward0", "MulBackward0"]
        torch.autograd.grad(cube, number, create_graph=True)
        assert len(made) > 3
        made.clear()
        cube.backward()
        assert made == []


# %% [markdown] tags=["en"]
# ## Backward by hand
#
# The node of a built-in operation is a function that you can call. Take $y = h^2 + 5h$ with $h = 2x$ at $x = 3$, so $h = 6$. Each node gets a gradient and gives one back for each of its inputs. The cell does the whole backward pass, one call for each node.
# %% [markdown] tags=["ru"] of="41c10ef0"
# ## Обратный проход вручную
#
# Узел встроенной операции — это функция, и её можно вызвать. Возьмём $y = h^2 + 5h$, где $h = 2x$, в точке $x = 3$, то есть при $h = 6$. Каждый узел получает градиент и выдаёт по одному градиенту на каждый свой вход. В ячейке ниже выполняется весь обратный проход, по одному вызову на узел.
# %%
def call(node, gradient):
    """Run one node: a tuple with one gradient (or None) for each entry of its `next_functions`."""
    with torch.no_grad():
        gradients = node(gradient)
    return gradients if isinstance(gradients, tuple) else (gradients,)


x = torch.tensor(3.0, requires_grad=True)
h = 2 * x
y = h * h + 5 * h

add = y.grad_fn
(square, _), (times_5, _) = add.next_functions
times_2 = h.grad_fn

to_square, to_times_5 = call(add, torch.tensor(1.0))
print("add gives    ", to_square, to_times_5)
from_square = call(square, to_square)
print("h * h gives  ", *from_square)
from_times_5 = call(times_5, to_times_5)
print("5 * h gives  ", *from_times_5)
to_h = from_square[0] + from_square[1] + from_times_5[0]
print("together     ", to_h, " <- this is dy/dh")
print("2 * x gives  ", *call(times_2, to_h))
# %% tags=["fact"]
assert [g.item() for g in (to_square, to_times_5)] == [1, 1]
assert [g.item() for g in from_square] == [6, 6] and from_times_5[0].item() == 5 and from_times_5[1] is None
assert to_h.item() == 17 and call(times_2, to_h)[0].item() == 34
assert torch.autograd.grad(h * h + 5 * h, x, retain_graph=True)[0].item() == 34
ran = []
for node in nodes_behind(y):
    node.register_hook(
        lambda given, received, node=node: ran.append((node, [g.item() for g in received if g is not None]))
    )
torch.autograd.grad(y, x, retain_graph=True)
assert ran == [(add, [1]), (times_5, [1]), (square, [1]), (times_2, [17])]
one, wide = torch.tensor(2.0, requires_grad=True), torch.ones(3)
assert call((one * wide).grad_fn, torch.ones(3))[0].shape == (3,)  # the node alone does not sum, the engine does
assert torch.autograd.grad((one * wide).sum(), one)[0].shape == ()


# %% [markdown] tags=["en"]
# Three edges lead to the node of `h`, and they bring 6, 6 and 5. Does the engine call that node three times? `steps` makes a real backward pass through your `y`, one node at a time, and leaves everything as it was. Go on with the arrow keys, and watch what is written as the gradient of `h`.
# %% [markdown] tags=["ru"] of="301b278a"
# К узлу тензора `h` ведут три ребра, по ним приходят градиенты 6, 6 и 5. Вызовет ли движок autograd этот узел трижды? Посмотрим. Функция `steps` выполняет настоящий обратный проход от тензора `y`, узел за узлом, а затем восстанавливает прежнее состояние. Листайте шаги клавишами со стрелками и следите, какой градиент записан у `h`.
# %% tags=["picture"]
from autograder import steps

steps(y)


# %% [markdown] tags=["en", "try"]
# How often was the node of `h` called, and with which number? And which two rules must a backward pass keep, so that this comes out? Say them.
#
# After the second step `h` has 5, after the third 17. Its node is called once, with 17, and only when all three have arrived. So two rules make a backward pass, which is also called backpropagation: gradients that meet are *added*, and a node waits for the gradients of *all* edges that lead to it.
# %% [markdown] tags=["ru", "try"] of="4b388541"
# Сколько раз был вызван узел `h` и с каким градиентом? И какие два правила должен соблюдать обратный проход, чтобы так получилось? Назовите их.
#
# После второго шага у `h` градиент 5, после третьего — 17. Узел вызывается один раз, с градиентом 17, и лишь после того, как пришли все три градиента. Обратный проход, то есть обратное распространение ошибки (backpropagation), основан на двух правилах: встретившиеся градиенты *складываются*, а узел вызывается только тогда, когда пришли градиенты по *всем* ведущим к нему рёбрам.
# %% [markdown] tags=["en"]
# The node of $5h$ ran before that of $h^2$. The other order would do as well: each stands before the node of `h` and behind the sum. An order in which each node stands after all nodes that lead to it is a *topological order*.
# %% [markdown] tags=["ru"] of="d9d9e832"
# Узел выражения $5h$ выполнен раньше, чем узел $h^2$. Подошёл бы и обратный порядок: каждый из них стоит после сложения и до узла тензора `h`. Порядок, в котором каждый узел стоит после всех узлов, из которых к нему ведут рёбра, называется *топологическим*.
# %% [markdown] tags=["en"]
# ## An engine of your own
#
# Nodes that know what they were made from, a derivative for each, and this order: a backward pass needs nothing else. Torch has it in C++. You now write it in Python, on plain tensors that never require grad. This engine is yours and grows with the course: in lesson 03 it learns to read handwritten digits.
#
# A `Value` holds a tensor (`data`), the values that it was made from (`inputs`), and a *rule*: from the gradient of the result to one gradient for each input. The class below records all this. What it does not have is a single derivative, nor a walk.
# %% [markdown] tags=["ru"] of="ce675546"
# ## Собственный движок
#
# Узлы, которые помнят, из чего они получены, производная для каждого узла и такой порядок — больше для обратного прохода ничего не нужно. В torch всё это написано на C++. Сейчас вы напишете то же самое на Python, на обычных тензорах, которые никогда не требуют градиента. Этот движок — ваш, и он будет расти вместе с курсом: в уроке 03 он научится читать рукописные цифры.
#
# Значение `Value` хранит тензор (`data`), значения, из которых оно вычислено (`inputs`), и *правило*, которое по градиенту результата вычисляет градиент каждого входа. Всё это класс ниже уже записывает. Нет в нём только производных и обхода.
# %% include=["own_engine/value"]
# %% [markdown] tags=["en"]
# One program, run on torch's tensors and on your values. `draw` reads both. What does torch's picture show that yours does not, and where are torch's `next_functions` in yours?
# %% [markdown] tags=["ru"] of="249f10f7"
# Выполним одну и ту же программу на тензорах torch и на ваших значениях. Функция `draw` рисует оба графа. Чего на вашем рисунке нет, а на рисунке torch есть? И что у вас на месте `next_functions`?
# %%
def program(x, w):
    h = x * w
    return h * h + h


x, w = [torch.tensor(number, dtype=torch.float64, requires_grad=True) for number in (3.0, 2.0)]
y = program(x, w)
# %% tags=["picture"]
draw(y)
# %%
x, w = [Value(torch.tensor(number, dtype=torch.float64)) for number in (3.0, 2.0)]
y = program(x, w)
# %% tags=["picture"]
draw(y)


# %% tags=["fact"]
def behind(root):
    found = [root]
    for value in found:  # grows while it is walked
        found += [each for each in dict.fromkeys(value.inputs) if each not in found]
    return found


def twin_program(x, w):
    h = x * w
    return h * h + h


twins = [torch.tensor(number, dtype=torch.float64) for number in (3.0, 2.0)]
own, torchs = twin_program(*map(Value, twins)), twin_program(*[each.clone().requires_grad_() for each in twins])
assert [value.op for value in behind(own)] == ["+", "*", "*", "", ""]
assert type(torchs.grad_fn).__name__ == "AddBackward0"
assert len(behind(own)) == len(nodes_behind(torchs)) == 5
assert sum(len(value.inputs) for value in behind(own)) == sum(len(n.next_functions) for n in nodes_behind(torchs)) == 6
assert all(value.grad is None for value in behind(own))


# %% [markdown] tags=["en"]
# The graphs are the same: five nodes, six edges, and each edge is an entry of `inputs`. A leaf of yours is its own `AccumulateGrad`. Torch's arrows carry numbers, the derivatives of the steps. Yours carry none, for no value has a rule yet. Now give it derivatives.
#
# ### `four_rules`
#
# **From the gradient of a result to one gradient for each input.** The rule of `+` is there; write four more. Each earns half a point of its own.
#
# * **Given.** A rule is called with `g`, the gradient of the result; `out`, the result; and the inputs. All are float64 tensors. For `+` and `*` the inputs have one shape, for `@` they are matrices: there the shapes leave little choice. `sum` is over all entries.
# * **Result.** `four_rules()` returns a dict with the names below. Each rule returns a tuple with one gradient for each input, in the shape of that input. <!-- *, @, sum, tanh -->
# %% [markdown] tags=["ru"] of="518fc6d9"
# Графы одинаковы: пять узлов, шесть рёбер, и каждое ребро — элемент поля `inputs`. Лист у вас сам себе `AccumulateGrad`. На рисунке torch у стрелок стоят числа, производные шагов. У вас их нет: правила нет ещё ни у одного значения. Теперь напишем производные.
#
# ### `four_rules`
#
# **По градиенту результата вычислить градиент каждого входа.** Правило для `+` уже есть, напишите ещё четыре. За каждую операцию отдельно даётся полбалла.
#
# * **Дано.** Правило вызывается с аргументами `g` (градиент результата), `out` (результат) и входами. Всё это тензоры float64. У `+` и `*` входы одной формы. У `@` это матрицы, и формы почти не оставляют выбора. `sum` берётся по всем элементам.
# * **Результат.** `four_rules()` возвращает словарь с теми же ключами, что в заготовке ниже. Каждое правило возвращает кортеж: по одному градиенту на вход, той же формы, что и этот вход. <!-- *, @, sum, tanh -->
# %% answer="four_rules"
def four_rules():
    return {
        "+": lambda g, out, a, b: (g, g),
        "*": lambda g, out, a, b: (g * b, g * a),
        "@": lambda g, out, a, b: (g @ b.t(), a.t() @ g),
        "sum": lambda g, out, a: (g.expand(a.shape),),
        "tanh": lambda g, out, a: (g * (1 - out * out),),
    }


# %% given="four_rules"
def four_rules():
    return {
        "+": lambda g, out, a, b: (g, g),
        "*": lambda g, out, a, b: ...,
        "@": lambda g, out, a, b: ...,
        "sum": lambda g, out, a: ...,
        "tanh": lambda g, out, a: ...,
    }


# %% alternative="four_rules"
def four_rules():
    def product(g, out, a, b):
        return torch.mul(g, b), torch.mul(g, a)

    def matmul(g, out, a, b):
        return torch.einsum("ik,jk->ij", g, b), torch.einsum("ij,ik->jk", a, g)

    def total(g, out, a):
        return (torch.full_like(a, g.item()),)

    def tanh(g, out, a):
        return (g / a.cosh() ** 2,)

    return {"+": lambda g, out, a, b: (g, g), "*": product, "@": matmul, "sum": total, "tanh": tanh}


# %% alternative="four_rules"
def four_rules():
    return {
        "+": lambda g, out, a, b: [g, g],
        "*": lambda g, out, a, b: [each * g for each in (b, a)],
        "@": lambda g, out, a, b: [(b @ g.T).T, (g.T @ a).T],
        "sum": lambda g, out, a: [torch.ones_like(a) * g],
        "tanh": lambda g, out, a: [g - g * out**2],
    }


# %% alternative="four_rules"
def four_rules():
    return dict(
        [
            ("*", lambda g, out, *factors: tuple(g * each for each in factors[::-1])),
            ("@", lambda g, out, a, b: (g.matmul(b.mT), a.mT.matmul(g))),
            ("sum", lambda g, out, a: (g + torch.zeros_like(a),)),
            ("tanh", lambda g, out, a: (g * (1 + out) * (1 - out),)),
        ]
    )


# %% check="four_rules"
from autograder import check

check("four_rules")
# %% [markdown] tags=["en"]
# Along a chain the rules are enough: each takes what the one before it gave. The cell goes down from a sum to a matrix, as you did with torch's nodes at the beginning. Is the last gradient that of torch?
# %% [markdown] tags=["ru"] of="4f70578f"
# Для цепочки достаточно одних правил: каждое получает то, что дало предыдущее. В ячейке ниже мы спускаемся от суммы к матрице, как в начале урока по узлам torch. Совпадёт ли последний градиент с градиентом torch?
# %%
matrix, column = torch.tensor([[0.5, -1.0], [2.0, 0.25]]).double(), torch.tensor([[1.0], [2.0]]).double()
value = (Value(matrix) @ Value(column)).tanh().sum()
gradient = torch.ones_like(value.data)
try:
    while value.rule is not None:
        print(f"{value.op:5} gets", gradient.tolist())
        gradient, value = value.rule(gradient)[0], value.inputs[0]
except TypeError:
    print("four_rules is still to be written")

leaf = matrix.clone().requires_grad_()
(leaf @ column).tanh().sum().backward()
print("yours ", gradient.tolist())
print("torch ", leaf.grad.tolist())
# %% tags=["fact"]
assert torch.allclose(gradient, leaf.grad) and value.data is matrix


# %% [markdown] tags=["en"]
# It is. But where paths meet, no chain is left. The function below comes to the leaves along every path. Ten doublings, `t = t + t`, make ten values that have a rule. How many rules will run? Say a number first.
# %% [markdown] tags=["ru"] of="76f65205"
# Совпал. Но там, где пути сходятся, цепочки уже нет. Функция ниже приходит к листьям по каждому пути. После десяти удвоений `t = t + t` получится десять значений с правилом. Сколько раз выполнятся правила? Сначала назовите число.
# %%
def along_every_path(value, gradient):
    """Add to `.grad` along every path, and return how often a rule has run."""
    if value.rule is None:
        value.grad = gradient if value.grad is None else value.grad + gradient
        return 0
    return 1 + sum(along_every_path(each, part) for each, part in zip(value.inputs, value.rule(gradient)))


for doublings in (2, 5, 10):
    leaf = t = Value(torch.tensor(1.0, dtype=torch.float64))
    for _ in range(doublings):
        t = t + t
    runs = along_every_path(t, torch.ones_like(t.data))
    print(f"{doublings:2} doublings: rules ran {runs:5,} times, the gradient is {leaf.grad.item():,.0f}")
# %% tags=["fact"]
for doublings, times in {2: 3, 5: 31, 10: 1023}.items():
    leaf = t = Value(torch.tensor(1.0, dtype=torch.float64))
    for _ in range(doublings):
        t = t + t
    assert along_every_path(t, torch.ones_like(t.data)) == times and leaf.grad.item() == 2**doublings


# %% [markdown] tags=["en"]
# The gradient is right, and the work is hopeless. Each value should wait for all of its gradients, and then run once.
#
# ### `walk_nodes`
#
# **Each rule runs once, when its gradient is complete.** The function follows every path, and more is wrong with it. Write a better one.
#
# * **Given.** `root`, a value with one element. A value has `data`, `inputs` (a tuple of values), `rule` and `grad`. `rule(gradient)` returns one gradient for each input, in the input's shape. A leaf has no inputs, and its `rule` is None.
# * **Result.** The gradient of every leaf behind `root` is added to its `.grad`, which is None or a tensor. At results and unused leaves it stays None. <!-- meetings, gradients, accumulated -->
# * **Result.** Each `.grad` has memory of its own. <!-- own -->
# * **Result.** Each rule runs once. <!-- runs -->
# * **Leave.** Every `data`. <!-- own -->
# * **Not allowed.** To recurse: 5,000 additions in a row have to work. <!-- depth -->
# %% [markdown] tags=["ru"] of="547cffcb"
# Градиент верен, но работы слишком много. Каждое значение должно дождаться всех своих градиентов и выполнить правило один раз.
#
# ### `walk_nodes`
#
# **Каждое правило выполняется один раз, когда градиент готов.** Функция проходит по каждому пути, и это не единственная её ошибка. Напишите функцию получше.
#
# * **Дано.** Значение `root` из одного элемента. У значения есть поля `data`, `inputs` (кортеж значений), `rule` и `grad`. Вызов `rule(gradient)` возвращает по одному градиенту на вход, той же формы, что и этот вход. У листа нет входов, а `rule` равно None.
# * **Результат.** Градиент каждого листа, от которого зависит `root`, прибавлен к `.grad` этого листа (там лежит None или тензор). У результатов и неиспользованных листьев там остаётся None. <!-- meetings, gradients, accumulated -->
# * **Результат.** У каждого `.grad` собственная память. <!-- own -->
# * **Результат.** Каждое правило выполняется один раз. <!-- runs -->
# * **Не менять.** Ни одно поле `data`. <!-- own -->
# * **Нельзя.** Применять рекурсию: цепочка из 5000 сложений должна выполняться. <!-- depth -->
# %% answer="walk_nodes"
def walk_nodes(root):
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


# %% given="walk_nodes"
def walk_nodes(root):
    def backward(value, gradient):
        value.grad = gradient if value.grad is None else value.grad + gradient
        if value.rule is not None:
            for each, part in zip(value.inputs, value.rule(gradient)):
                backward(each, part)

    backward(root, torch.ones_like(root.data))


# %% alternative="walk_nodes"
def walk_nodes(root):
    # depth first with a stack of its own; a value is written down when everything behind it is
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
        if value.rule is None:
            value.grad = total[value] + (torch.zeros_like(value.data) if value.grad is None else value.grad)
        for each, part in zip(value.inputs, value.rule(total[value]) if value.inputs else ()):
            total[each] = total.get(each, 0) + part


# %% alternative="walk_nodes"
from collections import Counter, defaultdict, deque


def walk_nodes(root):
    values = dict.fromkeys([root])
    queue = deque([root])
    while queue:
        for each in queue.popleft().inputs:
            if each not in values:
                values[each] = None
                queue.append(each)
    uses = Counter(each for value in values for each in value.inputs)
    parts = defaultdict(list, {root: [torch.ones_like(root.data)]})
    queue.append(root)
    while queue:
        value = queue.popleft()
        gradient = torch.stack(parts[value]).sum(0)
        if value.rule is None:
            value.grad = gradient if value.grad is None else value.grad + gradient
        else:
            for each, part in zip(value.inputs, value.rule(gradient)):
                parts[each].append(part)
            uses.subtract(value.inputs)
            queue.extend(each for each in dict.fromkeys(value.inputs) if not uses[each])


# %% alternative="walk_nodes"
def walk_nodes(root):
    # the users of each value, and a gradient that is made when it is asked for; each ask waits on a stack
    depth, todo = {root: 0}, [root]
    users = {root: 0}
    for value in todo:
        for each in value.inputs:
            if each not in users:
                users[each] = 0
                todo.append(each)
            users[each] += 1
    line = [root]
    for value in line:
        for each in value.inputs:
            depth[each] = max(depth.get(each, 0), depth[value] + 1)
            users[each] -= 1
            if not users[each]:
                line.append(each)
    gradient = dict.fromkeys(line, 0.0)
    gradient[root] = torch.ones_like(root.data)
    for value in sorted(line, key=depth.get):
        if value.inputs:
            for each, part in zip(value.inputs, value.rule(gradient[value])):
                gradient[each] = gradient[each] + part
        else:
            value.grad = gradient[value] + (0.0 if value.grad is None else value.grad)


# %% check="walk_nodes"
from autograder import check

check("walk_nodes")
# %% [markdown] tags=["en"] explains="walk_nodes"
# To wait, a walk has to know for how many. Counting the uses of each value, and then counting down, is one way to a topological order (Kahn's algorithm). Another is to write a value down when everything behind it has been written; that list is read from its end.
# %% [markdown] tags=["ru"] explains="walk_nodes" of="a1b7d4db"
# Чтобы дождаться всех, обход должен знать, сколько их. Можно сосчитать, сколько раз используется каждое значение, а потом вести обратный отсчёт: это алгоритм Кана, и получается топологический порядок. Другой способ — записать значение, когда записано всё, от чего оно зависит. Такой список читают с конца.


# %% [markdown] tags=["en"]
# Your engine stands. `loss.backward()` of a `Value` calls your walk. Here it differentiates a small network, in which `w` is used by both layers, and torch does the same.
# %% [markdown] tags=["ru"] of="df07ab51"
# Ваш движок готов: `loss.backward()` у `Value` вызывает ваш обход. Вычислим с его помощью градиенты небольшой сети, в которой `w` используется в обоих слоях. То же сделает и torch.
# %%
def network(x, w, v):
    h = (x @ w).tanh()
    return ((h @ w).tanh() @ v).sum()


tensors = [torch.linspace(-1.0, 1.0, n * m, dtype=torch.float64).reshape(n, m) for n, m in ((4, 3), (3, 3), (3, 1))]
ours, theirs = [Value(each) for each in tensors], [each.clone().requires_grad_() for each in tensors]
network(*theirs).backward()
try:
    network(*ours).backward()
    for name, own, torchs in zip("xwv", ours, theirs):
        print(f"{name}: the largest difference to torch is {(own.grad - torchs.grad).abs().max().item():.0e}")
except TypeError:
    print("four_rules or walk_nodes is still to be written")
# %% tags=["fact"]
assert all(torch.allclose(own.grad, torchs.grad) for own, torchs in zip(ours, theirs))
leaf = t = Value(torch.tensor(1.0, dtype=torch.float64))
for _ in range(60):
    t = t + t
t.backward()
assert leaf.grad.item() == 2.0**60


# %% [markdown] tags=["en"]
# Torch's engine does the same, in C++, and with several devices in several threads: nodes in topological order, one call each, sums where paths join. Like `record`, it sums a gradient back to the shape of an input that was broadcast. Besides, it runs hooks, and frees what a node has saved once the node has run. What a node saves is shown by `draw(L, saved=True)`: a multiplication keeps its factors, an addition keeps nothing. The freeing is the next subject. One rule of torch's engine matters here: an `AccumulateGrad` that is ready runs before other nodes that are.
# %% [markdown] tags=["ru"] of="59b40219"
# То же делает и движок torch, только он написан на C++ и может работать в нескольких потоках: он вызывает узлы в топологическом порядке, каждый один раз, и складывает градиенты там, где пути сходятся. Если форма входа была расширена транслированием, движок, как и `record`, суммированием приводит градиент к исходной форме. Кроме того, он вызывает хуки и освобождает то, что сохранено в узле, как только тот отработал. Что именно сохраняет узел, покажет `draw(L, saved=True)`: умножение хранит множители, сложение не хранит ничего. О том, как сохранённое освобождается, и пойдёт речь дальше. Но сначала — ещё одно правило движка torch, которое там понадобится: готовый `AccumulateGrad` выполняется вне очереди, раньше других готовых узлов.
# %% [markdown] tags=["en"]
# ## A second backward pass
#
# "A graph can go backward only once" is a rule that many know. Here are three graphs with two passes each; a pass with `retain_graph=True` frees nothing. Read the function; do not call it yet.
# %% [markdown] tags=["ru"] of="61199dd8"
# ## Второй обратный проход
#
# «Обратный проход по графу можно сделать только один раз» — правило, которое знают многие. Возьмём три графа и по каждому выполним проход дважды. При `retain_graph=True` проход ничего не освобождает. Прочтите функцию, но пока не вызывайте её.
# %%
def outcome(action):
    """None when `action()` runs through, the name of the error when it raises."""
    try:
        return action()
    except RuntimeError as error:
        return type(error).__name__


def second_backward():
    seen = {}

    x, w = torch.tensor(3.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    y = x + w
    y.backward()
    seen["x + w: second"] = outcome(y.backward)
    seen["x + w: x.grad"] = x.grad.item()

    x, w = torch.tensor(3.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    y = x * x + w
    y.backward()
    seen["x * x + w: second"] = outcome(y.backward)
    seen["x * x + w: x.grad"] = x.grad.item()
    seen["x * x + w: w.grad"] = w.grad.item()

    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    seen["retained: x.grad"] = x.grad.item()
    return seen


# %% [markdown] tags=["en"]
# ### `predict_second_backward`
#
# Put what `second_backward()` returns in place of each `...`: a number, and for the keys with `second` either `None`, when the pass runs, or `"RuntimeError"`.
# %% [markdown] tags=["ru"] of="758a5189"
# ### `predict_second_backward`
#
# Вместо каждого `...` поставьте то, что вернёт `second_backward()`: число, а для ключей, в имени которых есть `second`, — `None`, если второй проход выполнен без ошибки, или `"RuntimeError"`.
# %% answer="predict_second_backward"
predict_second_backward = {
    "x + w: second": None,
    "x + w: x.grad": 2.0,
    "x * x + w: second": "RuntimeError",
    "x * x + w: x.grad": 6.0,
    "x * x + w: w.grad": 2.0,
    "retained: x.grad": 12.0,
}
# %% given="predict_second_backward"
predict_second_backward = {
    "x + w: second": ...,
    "x + w: x.grad": ...,
    "x * x + w: second": ...,
    "x * x + w: x.grad": ...,
    "x * x + w: w.grad": ...,
    "retained: x.grad": ...,
}
# %% check="predict_second_backward"
from autograder import check

check("predict_second_backward")
# %% tags=["fact"]
assert predict_second_backward == second_backward()
ran = []
for add_up in (lambda x, w: x.exp() + w), (lambda x, w: w + x.exp()):
    y = add_up(torch.tensor(3.0, requires_grad=True), torch.tensor(1.0, requires_grad=True))
    for node in nodes_behind(y):
        node.register_hook(lambda given, received, node=node: ran.append(type(node).__name__))
    y.backward()
assert ran == ["AddBackward0", "AccumulateGrad", "ExpBackward0", "AccumulateGrad"] * 2
# %% [markdown] tags=["en"]
# Now call `second_backward()`.
# %% [markdown] tags=["ru"] of="7a6a41e0"
# А теперь вызовем `second_backward()`.
# %%
second_backward()
# %% [markdown] tags=["en"] explains="predict_second_backward"
# A backward pass does not remove the graph. It frees the values that nodes have saved. `x * x` saved `x`, and its node raises when it is run again. `x + w` saved nothing: the second pass runs without an error and adds the whole gradient once more. And when a pass does raise, it may be half done: the gradient was already added to `w.grad`, since the `AccumulateGrad` of `w` was ready and ran first. After such an error the gradients are worth nothing; clear them and compute the forward pass again.
#
# The nodes themselves stay as long as a tensor refers to them. You can still walk them; the full text of the error says as much: the saved values have been freed, not the graph.
# %% [markdown] tags=["ru"] explains="predict_second_backward" of="b362930e"
# Обратный проход не удаляет граф, а лишь освобождает значения, сохранённые в узлах. В узле `x * x` сохранён `x`, и повторный вызов этого узла заканчивается ошибкой. В узле `x + w` ничего не сохранено: второй проход выполняется без ошибки и прибавляет весь градиент ещё раз. А если проход прервала ошибка, часть работы уже может быть сделана: здесь градиент уже прибавлен к `w.grad`, потому что узел `AccumulateGrad` листа `w` был готов и выполнился первым. После такой ошибки градиентам доверять нельзя. Обнулите их и повторите прямой проход.
#
# Сами узлы остаются, пока на них ссылается какой-нибудь тензор. По ним по-прежнему можно пройти. Напечатаем полный текст ошибки. В нём так и сказано: освобождены сохранённые значения, а не граф.
# %%
x = torch.tensor(3.0, requires_grad=True)
y = x * x
y.backward()
print(type(y.grad_fn).__name__, "still leads to", type(y.grad_fn.next_functions[0][0]).__name__)
try:
    y.backward()
except RuntimeError as error:
    print(error)
# %% tags=["fact"]
with torch.no_grad():
    assert y.grad_fn.next_functions[0][0].variable is x
try:
    y.backward()
    raise SystemError("no error")
except RuntimeError as error:
    assert str(error).startswith("Trying to backward through the graph a second time")
    assert "Saved intermediate values of the graph are freed" in str(error)
assert x.grad.item() == 6
# %% [markdown] tags=["en"]
# In the picture of this `y` the node is there, and so are both edges to `x`. What the node had saved is *freed*. And in `x` there is the 6 of the first pass.
# %% [markdown] tags=["ru"] of="a1acd294"
# Посмотрим на рисунок. Узел тензора `y` на месте, оба ребра, ведущие к `x`, тоже, но всё, что было в узле сохранено, *освобождено*. Градиент листа `x` равен 6 — это результат первого прохода.
# %% tags=["picture"]
draw(y, saved=True)


# %% [markdown] tags=["en"]
# ## A new graph every time
#
# The graph is a record of one run. Loops and branches of Python are not in it; what is in it are the operations that ran. The function below halves its argument until it is at most 1. What will `show` print for 3, and what for 20?
# %% [markdown] tags=["ru"] of="34a1e40a"
# ## Каждый раз новый граф
#
# Граф — это запись одного выполнения кода. Циклов и ветвлений Python в нём нет, есть только выполненные операции. Возьмём функцию, которая делит аргумент пополам, пока он больше 1. Что напечатает `show` для 3, а что — для 20?
# %%
def halve(x):
    while x > 1:
        x = x / 2
    return x


for start_value in (3.0, 20.0):
    x = torch.tensor(start_value, requires_grad=True)
    y = halve(x)
    show(y.grad_fn, x=x)
    y.backward()
    print("derivative:", x.grad.item(), "\n")
# %% tags=["fact"]
for start_value, steps in ((3.0, 2), (20.0, 5)):
    x = torch.tensor(start_value, requires_grad=True)
    y = halve(x)
    assert [type(node).__name__ for node in nodes_behind(y)].count("DivBackward0") == steps
    assert torch.autograd.grad(y, x)[0].item() == 0.5**steps
x = torch.tensor(0.5, requires_grad=True)
assert halve(x) is x and (x > 1).grad_fn is None
once, again = halve(torch.ones(()) * 4 * x.detach().requires_grad_()), None
x = torch.tensor(3.0, requires_grad=True)
once, again = x * 2, x * 2
assert once.grad_fn is not again.grad_fn
# %% [markdown] tags=["en", "try"]
# How many divisions will there be for 40, and which derivative? Say it, then add `40.0` to the loop.
#
# Six, and $1/64$: two divisions gave $1/4$, five gave $1/32$. The comparison `x > 1` leaves no node, so the jumps of this function are not in the derivative; it belongs to the branch that was taken.
# %% [markdown] tags=["ru", "try"] of="bdcd5211"
# Сколько делений будет для 40 и чему равна производная? Сначала ответьте, потом добавьте в цикл `40.0`.
#
# Шесть, и производная равна $1/64$: после двух делений было $1/4$, после пяти — $1/32$. Операции сравнения `x > 1` в графе нет, так что скачки этой функции в производной не учитываются: производная относится к той ветви, по которой прошло выполнение.
# %% tags=["fact"]
x = torch.tensor(40.0, requires_grad=True)
halve(x).backward()
assert x.grad.item() == 1 / 64


# %% [markdown] tags=["en"]
# It is often said that `backward()` starts a new graph. It does not: each forward pass builds one, whether or not anything goes backward. Two forward passes make two graphs.
# %% [markdown] tags=["ru"] of="d3cbcd66"
# Часто говорят, что новый граф начинается с вызова `backward()`. Это не так: новый граф строится при каждом прямом проходе, независимо от того, последует ли за ним обратный. После двух прямых проходов графов два.
# %% [markdown] tags=["en"]
# ## What to keep
#
# * The forward pass builds the graph; its nodes are derivatives, its edges go from results to inputs, `AccumulateGrad` stands for a leaf.
# * It is no tree. A node is called once, after everything that leads to it has delivered, with the sum.
# * A backward pass frees saved values. A second one raises where they have been freed, and elsewhere doubles without an error.
#
# From the extra sections:
#
# * Several losses: one pass for their sum. `retain_graph=True` is for a further pass that you really make.
# * A tensor holds its whole history. Add up `loss.item()`.
# * Keep bad numbers out of a function; `where` around its result protects the value only.
# %% [markdown] tags=["ru"] of="fcde285e"
# ## Что стоит запомнить
#
# * Граф строится во время прямого прохода. Узлы графа — производные, рёбра идут от результатов ко входам, вместо листа стоит узел `AccumulateGrad`.
# * Граф — не дерево. Узел вызывается один раз, с суммой градиентов, когда все узлы, из которых к нему ведут рёбра, уже отработали.
# * Обратный проход освобождает сохранённые значения. Если они нужны второму проходу, он заканчивается ошибкой, а если не нужны — незаметно удваивает градиент.
#
# Из дополнительных разделов:
#
# * Если функций потерь несколько, сделайте один проход для их суммы. Аргумент `retain_graph=True` нужен, только если следующий проход действительно будет.
# * Вместе с тензором в памяти остаётся вся его история, поэтому складывайте `loss.item()`.
# * Не давайте опасным числам попасть в функцию: если применить `where` только к результату, верным будет значение, но не градиент.
# %% [markdown] tags=["en"]
# ## NaN where the value is right
#
# `sqrt` is wrapped in `where`: the root where $x > 0$, and 0 elsewhere. The value is right. And the gradient?
# %% [markdown] tags=["ru"] of="178328b7"
# ## Значение верно, а градиент — NaN
#
# Функцию `sqrt` оборачивают в вызов `where`: при $x > 0$ берут корень, а в остальных точках — 0. Значение получается верное. А градиент? Проверим.
# %%
x = torch.tensor([0.0, 4.0], requires_grad=True)
y = torch.where(x > 0, x.sqrt(), 0.0)
y.sum().backward()
print("value:   ", y.tolist())
print("gradient:", x.grad.tolist())
# %% tags=["fact"]
assert y.tolist() == [0, 2]
assert math.isnan(x.grad[0]) and x.grad[1] == 0.25
# %% [markdown] tags=["en"]
# In a long graph you see only the end of this: a NaN in some `.grad`. *Anomaly detection* looks at what each node gives and stops at the first NaN. With the forward pass inside it, the warning ends with the line of code that made the node. It slows everything down, and it does not object to infinity, so it belongs in debugging only.
# %% [markdown] tags=["ru"] of="2d3c112e"
# В большом графе виден только конечный результат: NaN в каком-нибудь `.grad`. В *режиме обнаружения аномалий* проверяется, что выдаёт каждый узел, и проход прерывается при первом NaN. Если в этом режиме выполнен и прямой проход, выводится ещё и предупреждение, а в его конце указана строка кода, которая создала узел. Бесконечность ошибкой не считается. Все эти проверки замедляют вычисления, поэтому включайте режим только при отладке. Включим его и мы.
# %%
x = torch.tensor([0.0, 4.0], requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        with torch.autograd.set_detect_anomaly(True):
            root = x.sqrt()
            loss = torch.where(x > 0, root, 0.0).sum()
            loss.backward()
    except RuntimeError as error:
        print("error:  ", error)
said, _, trace = str(caught[0].message).partition(" Traceback")
print("warning:", said)
print("made by:", trace.partition("(Triggered")[0].strip().splitlines()[-1].strip())


# %% tags=["fact"]
def anomaly(make):
    """The error of anomaly mode, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with torch.autograd.set_detect_anomaly(True):
                make().backward()
        except RuntimeError as error:
            return str(error), [str(each.message) for each in caught]
    return None, [str(each.message) for each in caught]


x = torch.tensor([0.0, 4.0], requires_grad=True)
said, warned = anomaly(lambda: torch.where(x > 0, x.sqrt(), 0.0).sum())
assert said == "Function 'SqrtBackward0' returned nan values in its 0th output."
assert warned[0].startswith("Error detected in SqrtBackward0. Traceback of forward call")
assert str(caught[0].message).partition("(Triggered")[0].strip().splitlines()[-1].strip() == "root = x.sqrt()"
outside = torch.where(x > 0, x.sqrt(), 0.0).sum()
assert "No forward pass information available" in anomaly(lambda: outside)[1][0]
zero = torch.zeros(1, requires_grad=True)
assert anomaly(lambda: zero.sqrt().sum())[0] is None and zero.grad.item() == math.inf
zeros = torch.zeros(2, requires_grad=True)
(by_hand,) = torch.autograd.grad((zeros * zeros).sum().sqrt(), zeros)
(by_norm,) = torch.autograd.grad(zeros.norm(), zeros)
assert by_hand.isnan().all() and by_norm.tolist() == [0, 0]
x = torch.tensor([-1.0, 0.0, 4.0], requires_grad=True)
assert torch.autograd.grad(torch.where(x > 0, x, 0.0).sqrt().sum(), x)[0].tolist() == [0, 0, 0.25]
assert torch.autograd.grad(x.relu().sqrt().sum(), x)[0].tolist() == [0, 0, 0.25]
assert torch.autograd.grad(x.relu().sqrt().mul(torch.tensor([0.0, 0.0, 1.0])).sum(), x)[0].tolist() == [0, 0, 0.25]
said, _ = anomaly(lambda: x.relu().sqrt().mul(torch.tensor([0.0, 0.0, 1.0])).sum())
assert said == "Function 'SqrtBackward0' returned nan values in its 0th output."


# %% [markdown] tags=["en"]
# ### `safe_sqrt`
#
# **`safe_sqrt(x)` is the root where $x > 0$ and 0 elsewhere, and so should its derivative be finite. It gives NaN: mend it.**
#
# * **Given.** `x`, a tensor of any shape, `float32` or `float64`, without NaN; `inf` may be in it, but not `-inf`.
# * **Result.** A tensor of the same shape: $\sqrt{x}$ where $x > 0$, and 0 elsewhere, negative numbers included. <!-- value -->
# * **Result.** Its derivative is $1 / (2\sqrt{x})$ where $x > 0$, and 0 elsewhere. <!-- gradient -->
# * **Result.** Both are right up to rounding for small positive numbers, down to $10^{-36}$ in `float32` and $10^{-200}$ in `float64`. <!-- small -->
# * **Result.** The function works on the device of `x`, on a GPU as on the CPU. (The check pretends a GPU: you need none.) <!-- device -->
# * **Leave.** `x`: its numbers, and no hook on it. <!-- untouched -->
# %% [markdown] tags=["ru"] of="621b57c4"
# ### `safe_sqrt`
#
# **`safe_sqrt(x)` равна корню там, где $x > 0$, и 0 в остальных точках, и производная у неё должна быть конечной. Получается NaN: исправьте функцию.**
#
# * **Дано.** Тензор `x` любой формы, `float32` или `float64`, без NaN; в нём может быть `inf`, но не `-inf`.
# * **Результат.** Тензор той же формы: $\sqrt{x}$ при $x > 0$ и 0 в остальных точках, в том числе для отрицательных чисел. <!-- value -->
# * **Результат.** Его производная равна $1 / (2\sqrt{x})$ при $x > 0$ и 0 в остальных точках. <!-- gradient -->
# * **Результат.** Для малых положительных чисел, вплоть до $10^{-36}$ в `float32` и $10^{-200}$ в `float64`, то и другое верно с точностью до округления. <!-- small -->
# * **Результат.** Функция работает на том устройстве, где лежит `x`: и на CPU, и на GPU. (GPU при проверке воображаемый: настоящий не нужен.) <!-- device -->
# * **Не менять.** Числа тензора `x`; хуков на нём тоже не оставлять. <!-- untouched -->
# %% answer="safe_sqrt"
def safe_sqrt(x):
    inside = torch.where(x > 0, x, 1.0)
    return torch.where(x > 0, inside.sqrt(), 0.0)


# %% given="safe_sqrt"
def safe_sqrt(x):
    return torch.where(x > 0, x.sqrt(), 0.0)


# %% alternative="safe_sqrt"
def safe_sqrt(x):
    y = torch.zeros_like(x)
    positive = x > 0
    y[positive] = x[positive].sqrt()
    return y


# %% alternative="safe_sqrt"
def safe_sqrt(x):
    positive = (x > 0).to(x.dtype)
    return positive * (x * positive + (1 - positive)).sqrt()


# %% alternative="safe_sqrt"
class Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0).sqrt()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        (y,) = ctx.saved_tensors
        return torch.where(y > 0, gradient / (2 * y), 0.0)


def safe_sqrt(x):
    return Root.apply(x)


# %% alternative="safe_sqrt"
def safe_sqrt(x):
    return x.masked_fill(x <= 0, 1.0).sqrt().masked_fill(x <= 0, 0.0)


# %% check="safe_sqrt"
from autograder import check

check("safe_sqrt")
# %% [markdown] tags=["en"] explains="safe_sqrt"
# `where` is a node like any other. Both branches were computed and both are in the graph. `WhereBackward0` sends the gradient 0 into the branch that was not taken, and `SqrtBackward0` multiplies it by the derivative at 0: $0 \cdot \infty$ is NaN.
#
# Watch it: in which step of the next cell does the NaN appear? Find the one that gets no NaN and gives one.
# %% [markdown] tags=["ru"] explains="safe_sqrt" of="b1463638"
# Для `where` создаётся такой же узел, как и для других операций. Вычислены обе ветви, и обе есть в графе. Узел `WhereBackward0` посылает в невыбранную ветвь градиент 0, а узел `SqrtBackward0` умножает его на производную в нуле: $0 \cdot \infty$ — это NaN.
#
# Посмотрите сами: на каком шаге в следующей ячейке появляется NaN? Найдите шаг, у которого на входе градиент без NaN, а на выходе NaN.
# %% tags=["picture"]
x = torch.tensor([0.0, 4.0], requires_grad=True)
root = x.sqrt()
loss = torch.where(x > 0, root, 0.0).sum()
steps(loss)


# %% [markdown] tags=["en"]
# The rule: keep the dangerous number from *entering* the function; choosing among results comes too late. The same holds for logarithms, divisions, powers, and for a norm written by hand: the gradient of `(x * x).sum().sqrt()` at a zero vector is NaN, that of `x.norm()` is 0. (`x.relu().sqrt()` and `torch.where(x > 0, x, 0.0).sqrt()` are right, too, for another reason: the node before `sqrt` does not multiply by 0, it picks, and drops the infinity that `sqrt` has made.)
# %% [markdown] tags=["ru"] of="9a79935b"
# Правило такое: опасное число не должно *попадать* в функцию, а выбирать из результатов уже поздно. То же верно для логарифма, деления, степени и для нормы, записанной вручную: градиент `(x * x).sum().sqrt()` на нулевом векторе — NaN, а градиент `x.norm()` — 0. (Верны и `x.relu().sqrt()`, и `torch.where(x > 0, x, 0.0).sqrt()`, но по другой причине: узел операции, стоящей перед `sqrt`, не умножает на 0, а выбирает и отбрасывает бесконечность, которая возникла в `sqrt`.)
# %% [markdown] tags=["en"]
# ## Where the NaN was born
#
# Anomaly detection stops the run. You can also watch: `node.register_hook(f)` calls `f(given, received)` after the node has run. Both are tuples of gradients, what the node gave to its inputs and what it received; entries may be `None`, and an `AccumulateGrad` gives an empty tuple. `f` returns nothing.
#
# ### `nan_node`
#
# **Return the name of the node in which a NaN is born during the backward pass, or None if there is none.**
#
# * **Given.** `loss`, a tensor of one element with a graph. During a backward pass at most one of its nodes gives a NaN although none came in, and no NaN is born where gradients are added.
# * **Result.** The name of that node, the string `node.name()`; `None` when no gradient becomes NaN. An infinite gradient is not a NaN, even one that holds `inf` and `-inf`. <!-- node -->
# * **Not allowed.** To raise. The backward pass may be run, the graph need not survive, and what is left in `.grad` does not matter. <!-- node -->
# %% [markdown] tags=["ru"] of="c842e8f1"
# ## Где возник NaN
#
# Режим обнаружения аномалий прерывает выполнение, но можно и просто наблюдать. Вызов `node.register_hook(f)` регистрирует хук: когда узел отработает, вызывается `f(given, received)`. Оба аргумента — кортежи градиентов: в первом — то, что узел выдал, во втором — то, что он получил. Вместо градиента может стоять `None`, а узел `AccumulateGrad` выдаёт пустой кортеж. Сама функция `f` не должна ничего возвращать.
#
# ### `nan_node`
#
# **Верните имя узла, в котором при обратном проходе возникает NaN, или None, если такого узла нет.**
#
# * **Дано.** Тензор `loss` из одного элемента, для которого построен граф. При обратном проходе NaN возникает не больше чем в одном узле: этот узел выдаёт NaN, хотя на вход ему NaN не приходил. При сложении градиентов NaN не возникает.
# * **Результат.** Имя этого узла, строка `node.name()`; если ни в одном градиенте нет NaN — `None`. Бесконечный градиент — это не NaN, даже если в нём есть и `inf`, и `-inf`. <!-- node -->
# * **Нельзя.** Завершаться ошибкой. Обратный проход выполнять можно, сохранять граф не обязательно, а что останется в `.grad`, неважно. <!-- node -->
# %% answer="nan_node"
def nan_node(loss):
    """The name of the node that makes a NaN out of gradients without one, or None."""

    ### BEGIN SOLUTION
    def has_nan(gradients):
        return any(g is not None and g.isnan().any() for g in gradients)

    found, seen, todo = [], set(), [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        todo += [child for child, _ in node.next_functions]

        def watch(given, received, node=node):
            if has_nan(given) and not has_nan(received):
                found.append(node.name())

        node.register_hook(watch)
    loss.backward()
    return found[0] if found else None
    ### END SOLUTION


# %% alternative="nan_node"
def nan_node(loss):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.autograd.set_detect_anomaly(True):
                loss.backward()
        except RuntimeError as error:
            return str(error).split("'")[1]


# %% alternative="nan_node"
def nan_node(loss):
    order, seen = [], set()

    def visit(node):
        if node is not None and node not in seen:
            seen.add(node)
            for child, _ in node.next_functions:
                visit(child)
            order.append(node)

    visit(loss.grad_fn)
    gradient_of = {loss.grad_fn: torch.ones_like(loss)}
    for node in reversed(order):
        if hasattr(node, "variable"):
            continue
        for (child, _), gradient in zip(node.next_functions, call(node, gradient_of[node])):
            if child is None:
                continue
            if gradient.isnan().any():
                return node.name()
            gradient_of[child] = gradient_of.get(child, 0) + gradient
    return None


# %% alternative="nan_node"
def nan_node(loss):
    ran = []
    seen, todo = {loss.grad_fn}, [loss.grad_fn]
    while todo:
        node = todo.pop()
        node.register_hook(lambda given, received, node=node: ran.append((node.name(), given)))
        for child, _ in node.next_functions:
            if child is not None and child not in seen:
                seen.add(child)
                todo.append(child)
    loss.backward()
    return next((name for name, given in ran if any(g is not None and bool(g.isnan().any()) for g in given)), None)


# %% check="nan_node"
from autograder import check

check("nan_node")


# %% [markdown] tags=["en"]
# ## Anomaly mode, and its price
#
# `nan_node` looks for the node by hand. Anomaly mode, the anomaly detection from above, does two things to find it. In the forward pass each node notes the Python lines that made it. In the backward pass each gradient is searched for NaN as soon as its node has run, and the first one found raises an error with the name of the node. The lines come as a warning. How much work is that? The cell counts operations.
# %% [markdown] tags=["ru"] of="edda537a"
# ## Режим обнаружения аномалий и его цена
#
# В упражнении `nan_node` узел ищут сами. В режиме обнаружения аномалий его находит torch и выполняет для этого дополнительную работу двух видов. В прямом проходе для каждого узла запоминаются строки кода на Python, в которых он создан. В обратном проходе каждый градиент проверяется на NaN сразу после выполнения узла, и первый же найденный NaN вызывает исключение с именем узла. Сами строки выводятся в предупреждении. Много ли это работы? Ячейка считает операции.
# %%
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


def root_of_zero(x):
    return torch.where(x > 0, x.sqrt(), torch.zeros_like(x)).sum()


with warnings.catch_warnings(record=True) as caught, torch.autograd.set_detect_anomaly(True):
    warnings.simplefilter("always")
    try:
        root_of_zero(torch.zeros(2, requires_grad=True)).backward()
        raise AssertionError("it has to raise")
    except RuntimeError as error:
        assert "'SqrtBackward0' returned nan" in str(error) and "root_of_zero" not in str(error)
assert "in root_of_zero" in str(caught[-1].message) and "SqrtBackward0" in str(caught[-1].message)


class NameOperations(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        named.append(func.name().removeprefix("aten::"))
        return func(*args, **(kwargs or {}))


named = []
with torch.autograd.set_detect_anomaly(True):
    y = torch.ones(3, requires_grad=True).sin()
    with NameOperations():
        y.backward(torch.ones(3))
assert {"isnan", "_is_any_true", "_local_scalar_dense"} <= set(named)  # the last one reads a number


# %% [markdown] tags=["en", "try"]
# How many operations does anomaly mode add for each gradient? Work it out from the two lines. For which of them has a GPU to wait?
#
# There are three operations more for each gradient: find where it is NaN, find out whether that is anywhere, and read the answer. The last of them waits for the number, which on a GPU makes the whole queue wait. To this add the Python lines noted for every node. So: on to find a NaN, then off. An infinite gradient is not reported.
# %% [markdown] tags=["ru", "try"] of="a29bab80"
# Сколько операций добавляет режим обнаружения аномалий на каждый градиент? Вычислите по двум строкам. Какой из них приходится ждать GPU?
#
# На каждый градиент приходится на три операции больше: найти, где в градиенте NaN, проверить, есть ли он хоть где-нибудь, и прочитать ответ. Последняя из них ждёт готового числа, а на GPU для этого приходится ждать, пока выполнится вся очередь операций. К этому прибавляется память: для каждого узла запоминаются строки кода, в которых он создан. Поэтому включайте режим, только чтобы найти NaN, а затем выключайте. О бесконечном градиенте режим не сообщает.
# %% [markdown] tags=["en"]
# ## Two losses on one graph
#
# Two losses share a hidden layer. Two `backward()` calls fail: the first frees what the second needs. The code below gets around that.
# %% [markdown] tags=["ru"] of="b401a489"
# ## Две функции потерь на одном графе
#
# Пусть у двух функций потерь общий скрытый слой. Если вызвать `backward()` для каждой, второй вызов закончится ошибкой: первый освободил то, что нужно второму. Код ниже это обходит.
# %% [markdown] tags=["en"]
# ### `fix_two_losses`
#
# **The gradient that this function leaves is right, what it costs is not: find that and mend it.**
#
# * **Given.** `w`, a leaf whose `.grad` is `None`; `share`, a `float`.
# * **Result.** `w.grad` holds the gradient of `fit + share * size`. <!-- gradient -->
# * **Result.** The pair `(fit, size)` is returned, as tensors or numbers. <!-- losses -->
# * **Leave.** `w`, `x` and `y`. <!-- untouched -->
# * **Not allowed.** More than one backward pass of autograd. <!-- backward_runs -->
# * **Not allowed.** To leave in memory anything that the graph has saved, even while the caller holds the pair. <!-- left -->
# %% [markdown] tags=["ru"] of="15d670df"
# ### `fix_two_losses`
#
# **Градиент, который оставляет эта функция, верен, а вот обходится он слишком дорого: найдите, в чём дело, и исправьте.**
#
# * **Дано.** Лист `w`, у которого `.grad` равен `None`; `share` — число типа `float`.
# * **Результат.** В `w.grad` лежит градиент суммы `fit + share * size`. <!-- gradient -->
# * **Результат.** Возвращается пара `(fit, size)`: тензоры или числа. <!-- losses -->
# * **Не менять.** Тензоры `w`, `x` и `y`. <!-- untouched -->
# * **Нельзя.** Выполнять больше одного обратного прохода autograd. <!-- backward_runs -->
# * **Нельзя.** Оставлять в памяти то, что сохранено в графе, даже если на возвращённую пару ещё есть ссылки. <!-- left -->
# %% answer="fix_two_losses"
def fix_two_losses(w, x, y, share):
    h = torch.tanh(x @ w)
    fit = ((h - y) ** 2).mean()
    size = (h**2).mean()
    (fit + share * size).backward()
    return fit, size


# %% given="fix_two_losses"
def fix_two_losses(w, x, y, share):
    h = torch.tanh(x @ w)
    fit = ((h - y) ** 2).mean()
    size = (h**2).mean()
    fit.backward(retain_graph=True)
    (share * size).backward(retain_graph=True)
    return fit, size


# %% alternative="fix_two_losses"
def fix_two_losses(w, x, y, share):
    h = torch.tanh(x @ w)
    fit, size = mse_loss(h, y), h.square().mean()
    torch.autograd.backward([fit, size], [None, torch.full_like(size, share)])
    return fit.item(), size.item()


# %% alternative="fix_two_losses"
def fix_two_losses(w, x, y, share):
    h = torch.tanh(x @ w)
    fit, size = ((h - y) ** 2).mean(), (h * h).mean()
    (w.grad,) = torch.autograd.grad([fit, size], w, [torch.ones_like(fit), share * torch.ones_like(size)])
    return fit.detach(), size.detach()


# %% alternative="fix_two_losses"
def fix_two_losses(w, x, y, share):
    h = torch.tanh(x @ w)
    losses = torch.stack([(h - y).square().mean(), (h**2).mean()])
    losses.backward(torch.tensor([1.0, share], dtype=losses.dtype))
    return tuple(losses.tolist())


# %% check="fix_two_losses"
from autograder import check

check("fix_two_losses")
# %% [markdown] tags=["en"] explains="fix_two_losses"
# With `retain_graph=True` the shared part of the graph is walked twice. And after the last call the saved values stay in memory as long as one of the two loss tensors does: 4,000 bytes for a `float32` vector of 1000 numbers, a whole network's activations in real life.
#
# The gradient of a sum is the sum of the gradients, so one pass will do: call `backward()` on a sum, or hand several outputs to `torch.autograd.backward([first, second])`. The optional second list gives the gradient to start from at each output, like the argument of `y.backward(v)`; an output of one element may have `None` there.
# %% [markdown] tags=["ru"] explains="fix_two_losses" of="af27f145"
# При `retain_graph=True` по общей части графа обратный проход идёт дважды. А после последнего вызова всё сохранённое остаётся в памяти, пока существует тензор со значением хотя бы одной из функций потерь: для вектора из 1000 чисел типа `float32` это 4000 байт, а на практике — активации целой сети.
#
# Градиент суммы равен сумме градиентов, поэтому хватит одного прохода: вызовите `backward()` для суммы или передайте сразу несколько выходов в `torch.autograd.backward([first, second])`. Необязательный второй аргумент, тоже список, задаёт для каждого выхода начальный градиент, как аргумент вызова `y.backward(v)`. Для выхода из одного элемента в списке может стоять `None`. Попробуем оба варианта.
# %%
a = torch.ones(3, requires_grad=True)
torch.autograd.backward([(2 * a).sum(), (3 * a).sum()])
print("two numbers:           ", a.grad)

a.grad = None
torch.autograd.backward([(2 * a).sum(), 3 * a], [None, torch.tensor([1.0, 10.0, 100.0])])
print("a number and a vector: ", a.grad)
# %% tags=["fact"]
from autograder.measure import live_bytes

assert a.grad.tolist() == [5, 32, 302]
w = torch.ones(1000, requires_grad=True)
w.grad = torch.zeros(1000)
with live_bytes() as live:
    kept = (w.exp() * 1.0).sum()
    kept.backward(retain_graph=True)
    retained = live.now
    kept.backward()
assert 4_000 <= retained <= 4_016 and live.now <= 16, (retained, live.now)
# %% [markdown] tags=["en"]
# ## What keeps a graph alive
#
# A graph lives as long as something refers to it: a tensor computed from it, a list, a running total. In a validation loop nothing goes backward, so nothing is freed early. How much stays after 20 batches when the losses are added up as tensors? `live_bytes` counts the bytes of tensors made inside the block and still alive; what existed before does not count.
# %% [markdown] tags=["ru"] of="5033b33f"
# ## Почему граф остаётся в памяти
#
# Граф остаётся в памяти, пока на него хоть что-нибудь ссылается: результат вычислений, список, накопленная сумма. При валидации обратного прохода нет, поэтому досрочно ничего не освобождается. Сколько памяти останется занято после 20 батчей, если складывать значения функции потерь как тензоры? Измерим это: функция `live_bytes` подсчитывает, сколько байтов занимают тензоры, которые созданы внутри её блока и всё ещё находятся в памяти. Созданные раньше не учитываются.
# %%
from autograder.measure import live_bytes

w = torch.ones(1000, requires_grad=True)


def bytes_after(read):
    """Bytes in memory after adding up `read(loss)` over 20 batches."""
    with live_bytes() as live:
        total = 0.0
        for _ in range(20):
            total = total + read(w.exp().mean())
        return live.now


print(f"total + loss:           {bytes_after(lambda loss: loss):8,} bytes")
print(f"total + loss.detach():  {bytes_after(lambda loss: loss.detach()):8,} bytes")
print(f"total + loss.item():    {bytes_after(lambda loss: loss.item()):8,} bytes")


# %% tags=["fact"]
assert bytes_after(lambda loss: loss) == 80_000
assert bytes_after(lambda loss: loss.detach()) == bytes_after(lambda loss: loss.item()) == 0


# %% [markdown] tags=["en", "try"]
# Each batch has 1000 numbers of float32. Work out the first of the three lines, and say why the others stay small.
#
# The graph of each batch saved 4,000 bytes for a backward pass that never came, and the total held on to all of them. `item()` gives a number, `detach()` a tensor without history. Where no gradient is wanted at all, `torch.no_grad()` builds no graph in the first place.
# %% [markdown] tags=["ru", "try"] of="f3bd451e"
# В каждом батче 1000 чисел типа float32. Вычислите, откуда взялась первая из трёх строк, и скажите, почему две другие малы.
#
# В графе каждого батча сохранено 4000 байт для обратного прохода, которого не было, и из-за суммы всё это осталось в памяти. Вызов `item()` даёт число, `detach()` — тензор без истории. А где градиенты вовсе не нужны, там лучше вообще не строить граф, то есть использовать `torch.no_grad()`.
# %% [markdown] tags=["en"]
# Now a case where you want one graph and not the others.
#
# ### `mean_and_worst`
#
# **Return the mean loss of all batches as a number, and the greatest loss as a tensor that can still be differentiated, with few graphs in memory.**
#
# * **Given.** `batches`, a list of pairs `(x, y)`, all with the same number of rows. The loss of a batch is `mse_loss(model(x), y)`.
# * **Result.** A pair `(mean, worst)`: `mean` is the mean loss over all batches, a `float`. <!-- mean -->
# * **Result.** `worst` is the loss of the batch with the greatest loss. <!-- worst -->
# * **Result.** It is a tensor on which the caller can still call `backward()`, even if every loss is 0. <!-- gradient -->
# * **Result.** The function works, too, where model and batches lie on another device than the CPU, such as a GPU. <!-- device -->
# * **Leave.** The model, its mode, `.grad`, and `batches`. <!-- state -->
# * **Not allowed.** A backward pass inside the function. <!-- state -->
# * **Not allowed.** More than three graphs in memory at any moment, however many batches there are: the worst one, that of the previous batch, to which a variable still refers, and the one being built. <!-- live_bytes -->
# %% [markdown] tags=["ru"] of="457cf8da"
# Рассмотрим теперь случай, когда один граф нужен, а остальные нет.
#
# ### `mean_and_worst`
#
# **Верните среднее значение функции потерь по всем батчам (число) и наибольшее из значений (тензор, который ещё можно дифференцировать), держа в памяти лишь несколько графов.**
#
# * **Дано.** Список пар `(x, y)` в аргументе `batches`, все батчи одного размера. Функция потерь на батче — `mse_loss(model(x), y)`.
# * **Результат.** Пара `(mean, worst)`: `mean` — среднее значение функции потерь по всем батчам, число типа `float`. <!-- mean -->
# * **Результат.** `worst` — значение функции потерь на худшем батче, то есть наибольшее. <!-- worst -->
# * **Результат.** Это тензор, для которого и вне функции можно вызвать `backward()`, даже если все значения равны 0. <!-- gradient -->
# * **Результат.** Функция работает и тогда, когда модель и батчи лежат не на CPU, а на другом устройстве, например на GPU. <!-- device -->
# * **Не менять.** Модель, её режим, `.grad` и `batches`. <!-- state -->
# * **Нельзя.** Выполнять внутри функции обратный проход. <!-- state -->
# * **Нельзя.** Держать в памяти одновременно больше трёх графов, сколько бы ни было батчей: графа худшего батча, графа предыдущего (на него ещё ссылается переменная) и того, который строится. <!-- live_bytes -->
# %% answer="mean_and_worst"
def mean_and_worst(model, batches):
    """The mean loss, a float, and the greatest loss, a tensor with its graph."""
    ### BEGIN SOLUTION
    total, worst = 0.0, None
    for x, y in batches:
        loss = mse_loss(model(x), y)
        total += loss.item()
        if worst is None or loss.item() > worst.item():
            worst = loss
    return total / len(batches), worst
    ### END SOLUTION


# %% alternative="mean_and_worst"
def mean_and_worst(model, batches):
    with torch.no_grad():
        losses = torch.stack([mse_loss(model(x), y) for x, y in batches])
    x, y = batches[int(losses.argmax())]
    return losses.mean().item(), mse_loss(model(x), y)


# %% alternative="mean_and_worst"
def mean_and_worst(model, batches):
    values, worst = [], torch.tensor(-1.0)
    for x, y in batches:
        worst = max(worst, ((model(x) - y) ** 2).mean(), key=lambda loss: loss.item())
        values.append(float(mse_loss(model(x), y).detach()))
    return sum(values) / len(values), worst


# %% alternative="mean_and_worst"
def mean_and_worst(model, batches):
    total, greatest, where = torch.zeros(()), float("-inf"), None
    for i, (x, y) in enumerate(batches):
        loss = mse_loss(model(x), y).detach()
        total = total + loss
        if loss > greatest:
            greatest, where = loss, i
    x, y = batches[where]
    return (total / len(batches)).item(), mse_loss(model(x), y)


# %% check="mean_and_worst"
from autograder import check

check("mean_and_worst")


# %% [markdown] tags=["en"]
# ## Gradients that come back
#
# `torch.autograd.grad(outputs, inputs)` runs the same backward pass, but returns the gradients and leaves `.grad` alone. It gives a tuple, even for one input, and it takes tensors that are not leaves: below, `z1` and `z2`.
# %% [markdown] tags=["ru"] of="892aba8e"
# ## Градиенты как возвращаемое значение
#
# Функция `torch.autograd.grad(outputs, inputs)` выполняет тот же обратный проход, но возвращает градиенты и не меняет `.grad`. Даже для одного входа возвращается кортеж, а входами могут быть и нелистовые тензоры, например `z1` и `z2` ниже.
# %%
x1, x2, x3, x4 = (torch.tensor(number, requires_grad=True) for number in (2.0, 3.0, 1.0, 4.0))
z1 = x1 * x2
z2 = x3 * x4
f = z1 + z2
print(torch.autograd.grad(outputs=f, inputs=[x1, x2, x3, x4, z1, z2]))
print("x1.grad:", x1.grad)

unused = torch.tensor([1.0, 2.0], requires_grad=True)
print(torch.autograd.grad(x1 * x1, [x1, unused], allow_unused=True))
print(torch.autograd.grad(x1 * x1, [x1, unused], materialize_grads=True))
try:
    torch.autograd.grad(x1 * x1, [x1, unused])
except RuntimeError as error:
    print(error)
# %% tags=["fact"]
f = x1 * x2 + x3 * x4
assert [g.item() for g in torch.autograd.grad(f, [x1, x2, x3, x4])] == [3, 2, 4, 1] and x1.grad is None
assert outcome(f.backward) == "RuntimeError"
z1, z2 = x1 * x2, x3 * x4
assert [g.item() for g in torch.autograd.grad(z1 + z2, [z1, z2])] == [1, 1]
assert type(torch.autograd.grad(x1 * x1, x1)) is tuple
assert torch.autograd.grad(x1 * x1, [x1, unused], allow_unused=True)[1] is None
assert torch.autograd.grad(x1 * x1, [x1, unused], materialize_grads=True)[1].tolist() == [0, 0]
p, q, v = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True), torch.ones(3)
to_p, to_q = torch.autograd.grad(p + q, [p, q], v)
assert to_p is to_q is v
(p + q).backward(v)
assert p.grad is not v and p.grad.data_ptr() not in (v.data_ptr(), q.grad.data_ptr())
(to_p,) = torch.autograd.grad(p.reshape(3, 1).reshape(3) + q, [p], v)
assert to_p is not v and to_p.data_ptr() == v.data_ptr()


# %% [markdown] tags=["en"]
# An input that the output does not depend on makes `grad` raise, unless you ask for `None` (`allow_unused=True`) or zeros (`materialize_grads=True`). None is not zero: arithmetic with it fails.
#
# ### `fix_shared_gradients`
#
# **The function returns the gradient of `y` for each input, times a factor of its own. Some come out wrong, depending on `y`: mend it.**
#
# * **Given.** `y`, computed from some of `inputs`; `v`, from which the backward pass starts; `factors`, a number for each input.
# * **Result.** A list or a tuple: the gradients of `y` with respect to each of `inputs`, each multiplied by its own factor. An input that `y` does not depend on gets zeros of its shape and dtype. <!-- gradients -->
# * **Leave.** `v`, and `.grad` of the inputs, which stays `None`. <!-- untouched -->
# * **Not allowed.** A gradient that shares memory with `v` or with another one, or has a graph. <!-- own -->
# %% [markdown] tags=["ru"] of="5844d9ef"
# Если выход от какого-то входа не зависит, функция `grad` завершается ошибкой. Вместо ошибки можно получить `None` (`allow_unused=True`) или нули (`materialize_grads=True`). None — не ноль: использовать его в вычислениях нельзя.
#
# ### `fix_shared_gradients`
#
# **Функция возвращает градиент `y` по каждому входу, умноженный на множитель этого входа. При некоторых `y` градиенты неверны: исправьте функцию.**
#
# * **Дано.** Тензор `y`, вычисленный из некоторых тензоров списка `inputs`; `v`, с которого начинается обратный проход; `factors` — множитель для каждого входа.
# * **Результат.** Список или кортеж: градиенты тензора `y` по каждому из тензоров `inputs`, умноженные каждый на свой множитель. Для входа, от которого `y` не зависит, — нули той же формы и с тем же dtype. <!-- gradients -->
# * **Не менять.** Тензор `v` и `.grad` входов: там остаётся `None`. <!-- untouched -->
# * **Нельзя.** Возвращать градиенты, у которых есть граф или общая память с `v` или друг с другом. <!-- own -->
# %% answer="fix_shared_gradients"
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    return [gradient * factor for gradient, factor in zip(gradients, factors)]


# %% given="fix_shared_gradients"
def fix_shared_gradients(y, inputs, v, factors):
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    for gradient, factor in zip(gradients, factors):
        if gradient is not None:
            gradient.mul_(factor)
    return list(gradients)


# %% alternative="fix_shared_gradients"
def fix_shared_gradients(y, inputs, v, factors):
    gradients = [g.clone() for g in torch.autograd.grad(y, inputs, v, materialize_grads=True)]
    for gradient, factor in zip(gradients, factors):
        gradient.mul_(factor)
    return gradients


# %% alternative="fix_shared_gradients"
def fix_shared_gradients(y, inputs, v, factors):
    result = []
    for x, factor in zip(inputs, factors):
        (g,) = torch.autograd.grad(y, x, v, retain_graph=True, allow_unused=True)
        result.append(torch.zeros_like(x) if g is None else factor * g)
    return result


# %% alternative="fix_shared_gradients"
def fix_shared_gradients(y, inputs, v, factors):
    result = []
    for x, factor in zip(inputs, factors):
        scaled = torch.autograd.grad(y, [x], v * factor, retain_graph=True, materialize_grads=True)
        result.append(scaled[0])
    return tuple(result)


# %% check="fix_shared_gradients"
from autograder import check

check("fix_shared_gradients")
# %% [markdown] tags=["en"] explains="fix_shared_gradients"
# One more trap: what comes back may not be yours to change in place. `AddBackward0` passes on the very tensor that it gets. For `y = p + q` both gradients *are* `v`: three names, one tensor. `backward()` does not have this trap, since it gives each leaf a tensor of its own.
# %% [markdown] tags=["ru"] explains="fix_shared_gradients" of="95f0b8c6"
# И ещё одна ловушка: возвращённые тензоры не всегда можно менять на месте. Узел `AddBackward0` передаёт дальше тот самый тензор, который получил. Для `y = p + q` оба градиента *и есть* тензор `v`: имён три, а тензор один. У `backward()` этой ловушки нет: градиент каждого листа попадает в отдельный тензор.


# %% [markdown] tags=["en"]
# ## Torch's nodes
#
# Torch's nodes have `next_functions`, and `call` from above runs one of them.
#
# ### `run_backward`
#
# **This recursion follows widespread pseudo-code. On $h^2 + 5h$ it finds 5 for $h$ and nothing for $x$. Let it leave what `root.backward()` leaves.**
#
# * **Given.** `root`, of one element, of shape `()` or another, such as `(1,)`, float32 or float64. Every `.grad` is `None`.
# * **Given.** No tensor is broadcast, and each node has one output, so `call(node, gradient)` from above is all that you need. An `AccumulateGrad` node has a `variable`, its leaf; a call adds the gradient to the leaf's `.grad` and returns `()`. You may also set `.grad` yourself, without that call.
# * **Result.** `.grad` of every leaf holds what `root.backward()` would leave there. <!-- gradients -->
# * **Result.** It is a tensor of the leaf's own, without a graph: it shares no memory with another one. <!-- own -->
# * **Result.** Each node is called once, an `AccumulateGrad` at most once. <!-- calls -->
# * **Not allowed.** `backward()` and `torch.autograd.grad`. <!-- engine_runs -->
# %% [markdown] tags=["ru"] of="17372fd9"
# ## Узлы torch
#
# У узлов torch есть `next_functions`, а функция `call` из ячейки выше вызывает один узел.
#
# ### `run_backward`
#
# **Эта рекурсия написана по распространённому псевдокоду. На $h^2 + 5h$ она находит для $h$ число 5, а для $x$ ничего. Пусть она оставляет то же, что `root.backward()`.**
#
# * **Дано.** Тензор `root` из одного элемента; его форма — `()` или другая, например `(1,)`, а dtype — float32 или float64. Все `.grad` равны `None`.
# * **Дано.** Транслирование (broadcasting) не используется, у каждой операции один выход, так что функции `call(node, gradient)` из ячейки выше достаточно. У узла `AccumulateGrad` есть поле `variable`, в котором лежит его лист; вызов такого узла прибавляет градиент к полю `.grad` листа и возвращает `()`. Можно обойтись без этого вызова и самим записать градиент в поле `.grad`.
# * **Результат.** В `.grad` каждого листа лежит то же, что оставил бы `root.backward()`. <!-- gradients -->
# * **Результат.** Ни графа, ни общей памяти с другими тензорами у этих градиентов нет. <!-- own -->
# * **Результат.** Каждый узел вызван один раз, `AccumulateGrad` — не больше одного раза. <!-- calls -->
# * **Нельзя.** Использовать `backward()` и `torch.autograd.grad`. <!-- engine_runs -->
# %% answer="run_backward"
def run_backward(root):
    order, seen = [], set()

    def visit(node):
        if node is not None and node not in seen:
            seen.add(node)
            for child, _ in node.next_functions:
                visit(child)
            order.append(node)  # after everything that it leads to

    visit(root.grad_fn)  # a chain of some thousand nodes would be too deep for Python's recursion
    gradient_of = {root.grad_fn: torch.ones_like(root)}
    for node in reversed(order):
        # the node of a leaf adds to `.grad` and has no edges
        for (child, _), more in zip(node.next_functions, call(node, gradient_of.pop(node))):
            if child is not None:
                gradient_of[child] = gradient_of[child] + more if child in gradient_of else more


# %% given="run_backward"
def run_backward(root):
    gradient_of = {}

    def backward(node, incoming_gradient):
        gradient_of[node] = incoming_gradient
        for (child, _), gradient in zip(node.next_functions, call(node, incoming_gradient)):
            if child is not None and not hasattr(child, "variable"):
                backward(child, gradient)
            else:
                pass

    backward(root.grad_fn, torch.ones_like(root))
    for node, gradient in gradient_of.items():
        if hasattr(node, "variable"):
            node.variable.grad = gradient


# %% alternative="run_backward"
def run_backward(root):
    # count the edges that lead to each node, then call a node when the last of them has delivered
    waiting, todo = {root.grad_fn: 0}, [root.grad_fn]
    while todo:
        for child, _ in todo.pop().next_functions:
            if child is not None:
                if child not in waiting:
                    waiting[child] = 0
                    todo.append(child)
                waiting[child] += 1
    total, ready_to_run = {root.grad_fn: torch.ones_like(root)}, [root.grad_fn]
    while ready_to_run:
        node = ready_to_run.pop()
        for (child, _), gradient in zip(node.next_functions, call(node, total[node])):
            if child is None:
                continue
            total[child] = total.get(child, 0) + gradient
            waiting[child] -= 1
            if waiting[child] == 0:
                ready_to_run.append(child)


# %% alternative="run_backward"
def run_backward(root):
    edges = {}

    def explore(node):
        if node not in edges:
            edges[node] = [child for child, _ in node.next_functions]
            for child in edges[node]:
                if child:
                    explore(child)

    explore(root.grad_fn)
    remaining, gradients = dict(edges), {node: [] for node in edges}
    gradients[root.grad_fn].append(torch.ones_like(root))
    while remaining:
        pointed_at = {child for children in remaining.values() for child in children}
        for node in [node for node in remaining if node not in pointed_at]:
            del remaining[node]
            gradient = sum(gradients[node])
            if hasattr(node, "variable"):
                node.variable.grad = gradient.clone()
                continue
            for child, more in zip(edges[node], call(node, gradient)):
                if child:
                    gradients[child].append(more)


# %% alternative="run_backward"
def run_backward(root):
    depth = {}

    def measure(node):
        if node not in depth:
            depth[node] = 1 + max([measure(child) for child, _ in node.next_functions if child], default=0)
        return depth[node]

    measure(root.grad_fn)
    total = dict.fromkeys(depth, 0)
    total[root.grad_fn] = torch.ones_like(root)
    for node in sorted(depth, key=depth.get, reverse=True):
        if not node.next_functions:
            node.variable.grad = total[node].clone()
        else:
            for (child, _), gradient in zip(node.next_functions, call(node, total[node])):
                if child:
                    total[child] = total[child] + gradient


# %% check="run_backward"
from autograder import check

check("run_backward")


# %% tags=["fact"]
def seed_backward(root, at_leaf):
    found = {}

    def backward(node, incoming_gradient):
        found[node] = incoming_gradient.item()
        for (child, _), gradient in zip(node.next_functions, call(node, incoming_gradient)):
            if child is not None and (at_leaf or not hasattr(child, "variable")):
                backward(child, gradient) if not hasattr(child, "variable") else found.update({child: gradient.item()})

    backward(root.grad_fn, torch.ones_like(root))
    return found


x = torch.tensor(3.0, requires_grad=True)
h = 2 * x
y = h * h + 5 * h
assert call(h.grad_fn.next_functions[0][0] or h.grad_fn.next_functions[1][0], torch.tensor(1.0)) == ()
x.grad = None
p, q = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
run_backward((p + q).sum())
assert p.grad.data_ptr() != q.grad.data_ptr() and p.grad.stride() == (1,)
found = seed_backward(y, at_leaf=False)
assert found[h.grad_fn] == 5 and not any(hasattr(node, "variable") for node in found)
assert [g for node, g in seed_backward(y, at_leaf=True).items() if hasattr(node, "variable")] == [10]
x.grad = None
run_backward(h * h + 5 * h)
assert x.grad.item() == 34


# %% [markdown] tags=["en"]
# ## A test that a wrong program passes
#
# The recursion from `run_backward`, mended at the leaves only, assigns $10$ to `x.grad` on $h^2 + 5h$, where 34 is right. A test on `x + x` gives 1 instead of 2, and the bug is found. But a test can also be less lucky.
#
# ### `hide_the_bug`
#
# **Compute something from `x` in which a node has two users, and on which this recursion is right nevertheless.**
#
# * **Given.** `x`, a leaf of one positive number.
# * **Result.** A tensor of one element, computed from `x`. <!-- result -->
# * **Result.** Some node of its graph has two or more edges leading to it. <!-- shared -->
# * **Result.** Its derivative with respect to `x` is neither 0 nor NaN; it may be infinite. <!-- depends -->
# * **Result.** `assigning_backward` leaves the right derivative in `x.grad`. <!-- agrees -->
# * **Leave.** `x`. <!-- untouched -->
# * **Not allowed.** Other operations than torch's own with one output each. <!-- operations -->
# %% [markdown] tags=["ru"] of="6fd39b6b"
# ## Тест, который пройдёт даже неверная программа
#
# Пусть в рекурсии из `run_backward` исправили только одно: листья больше не пропускаются. Для $h^2 + 5h$ в `x.grad` оказывается число $10$, а верный ответ — 34. Если проверить такую функцию на `x + x`, получится 1 вместо 2, и ошибка обнаружится. Но с тестом может и не повезти.
#
# ### `hide_the_bug`
#
# **Вычислите из `x` что-нибудь, где один из узлов использован дважды, а эта рекурсия всё равно даёт верный ответ.**
#
# * **Дано.** Лист `x` с одним положительным числом.
# * **Результат.** Тензор из одного элемента, вычисленный из `x`. <!-- result -->
# * **Результат.** Хотя бы к одному узлу его графа ведут два ребра или больше. <!-- shared -->
# * **Результат.** Производная по `x` — не 0 и не NaN; бесконечной она быть может. <!-- depends -->
# * **Результат.** Функция `assigning_backward` оставляет в `x.grad` верную производную. <!-- agrees -->
# * **Не менять.** Тензор `x`. <!-- untouched -->
# * **Нельзя.** Использовать операции, которых нет в самом torch или у которых больше одного выхода. <!-- operations -->
# %%
def assigning_backward(root):
    def backward(node, incoming_gradient):
        if hasattr(node, "variable"):
            node.variable.grad = incoming_gradient  # the bug
            return
        for (child, _), gradient in zip(node.next_functions, call(node, incoming_gradient)):
            if child is not None:
                backward(child, gradient)

    backward(root.grad_fn, torch.ones_like(root))


# %% answer="hide_the_bug"
def hide_the_bug(x):
    """A tensor of one element on which `assigning_backward` is right although a node is shared."""
    ### BEGIN SOLUTION
    return 0 * x + 5 * x
    ### END SOLUTION


# %% alternative="hide_the_bug"
def hide_the_bug(x):
    h = 2 * x
    return (h - h) + h * 3


# %% alternative="hide_the_bug"
def hide_the_bug(x):
    return torch.where(x < 0, x.exp(), x**2)


# %% alternative="hide_the_bug"
def hide_the_bug(x):
    return (-x).relu() + x.sin() * 0 + x.exp()


# %% alternative="hide_the_bug"
def hide_the_bug(x):
    return x / 0 + x / 0


# %% check="hide_the_bug"
from autograder import check

check("hide_the_bug")
# %% tags=["fact"]
x = torch.tensor(3.0, requires_grad=True)
for root, assigned in ((2 * x) * (2 * x) + 5 * (2 * x), 10), (x + x, 1), (hide_the_bug(x), 5):
    assigning_backward(root)
    assert x.grad.item() == assigned


# %% [markdown] tags=["en"]
# A test with one graph proves little. One with random numbers on a graph where paths join, and join at different depths, is hard to fool; the check of `run_backward` uses three such graphs.
# %% [markdown] tags=["ru"] of="17cf4b19"
# Тест на одном графе мало что доказывает. Тест со случайными числами на графе, где пути сходятся на разной глубине, обмануть трудно. В проверке `run_backward` используются три таких графа.
# %% [markdown] tags=["en"]
# ## On a GPU
#
# The graph is a record of operations, and it is built and walked by the same rules there. With a GPU the cell walks from `L` along the first edge of each node, and finds the same three names as on the CPU.
# %% [markdown] tags=["ru"] of="c9918caf"
# ## На GPU
#
# Граф — это запись операций, и на GPU он строится и обходится по тем же правилам. На машине с GPU ячейка пройдёт по графу от `L`, каждый раз выбирая первое ребро, и встретит те же три имени, что и на CPU.
# %%
from autograder import on_gpu


def names_on(device):
    tensors = [torch.rand(3, 3, device=device, requires_grad=True) for _ in range(5)]
    node, names = forward(*tensors)[1].grad_fn, []
    while node.next_functions:
        names.append(type(node).__name__)
        node = node.next_functions[0][0]
    return names


def graph_on_gpu():
    return {"the same names of nodes": names_on("cuda") == names_on("cpu"), "nodes": len(names_on("cuda"))}


print("on the CPU:", names_on("cpu"))
on_gpu(graph_on_gpu)
# %% tags=["fact"]
from autograder.lessons.gpu_recordings import check_claims

check_claims(
    graph_on_gpu,
    lambda measured: {
        "the names are the same": measured["the same names of nodes"],
        "there are three": measured["nodes"] == 3,
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
