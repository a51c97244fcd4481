# %% [markdown] tags=["en"] needs="05, 06, 07" about="custom operators and what `opcheck` cannot see; graph breaks, what `torch.compile` does to backward"
# # Compiled code and custom operators
#
# An operator passes all four of torch's checks, and its gradient is three times too large. A mean is 5 in the program and 7.5 in the compiled program, without any message. A counter in `backward` says 1 after three passes.
#
# So far the engine of lesson 09 ran one node after the other, and each node was yours to see. A compiler replaces them by code of its own, and what it cannot look into it has to be told. This lesson is about what it sees, what you must tell it, and who checks that you told it the truth.
#
# After this lesson you can:
#
# * make an operator of a routine that is not torch's, with a fake and a formula;
# * test such an operator, where `opcheck` is not enough.
#
# Extra exercises are about where a compiled function falls into pieces, and about what `torch.compile` does to the backward pass.
#
# You need lessons 05 (`gradcheck`), 06 (saved tensors) and 07 (custom Functions). Everything here runs on one core, without a GPU and without a C++ compiler.
# %% [markdown] tags=["ru"] about="собственные операторы и чего не видит `opcheck`; разрывы графа, что `torch.compile` делает с обратным проходом" of="821b34f7"
# # Скомпилированный код и собственные операторы
#
# Оператор проходит все четыре проверки torch, а градиент у него втрое больше верного. Среднее в программе равно 5, а в той же программе после компиляции — 7.5, и никаких сообщений нет. Счётчик в `backward` после трёх проходов показывает 1.
#
# До сих пор движок (урок 09) выполнял узел за узлом, и каждый узел можно было увидеть. Компилятор заменяет узлы своим кодом, а о том, куда он заглянуть не может, ему нужно рассказать. Этот урок — о том, что компилятор видит сам, что ему должны сообщить вы и кто проверит, что вы сказали правду.
#
# После урока вы сможете:
#
# * сделать из вычисления, написанного не на torch, оператор с фиктивной реализацией и формулой обратного прохода;
# * проверить такой оператор там, где одной `opcheck` мало.
#
# Дополнительные упражнения — о том, где скомпилированная функция распадается на части и что `torch.compile` делает с обратным проходом.
#
# Понадобятся уроки 05 (`gradcheck`), 06 (сохранённые тензоры) и 07 (пользовательские функции). Для всех примеров достаточно одного ядра процессора. Ни GPU, ни компилятор C++ не нужны.
# %% tags=["en"]
# Does the import fail? Install the course by pip (its file, or autograd-course),
# and uninstall another `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("compiled_code", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("compiled_code", language="ru")
# %%
import warnings

import numpy as np
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.library import custom_op, opcheck
from torch.utils._python_dispatch import TorchDispatchMode


# %% [markdown] tags=["en"]
# ## An operator of your own
#
# `torch.compile` reads the bytecode of a function and writes down a graph of its operations; that is done by Dynamo. The graph goes to a *backend*. The default one, Inductor, writes fused kernels in C++ or Triton, and needs a compiler; the more it gets in one piece, the more it can fuse.
#
# A graph holds operations, not numbers. Where Python asks for a number (`if x.sum() > 0`, `.item()`), the graph ends; Python decides, and another graph begins. This is a *graph break*. A backend of our own counts the graphs: it keeps what it gets, and runs the operations as they are.
# %% [markdown] tags=["ru"] of="41b4eec4"
# ## Собственный оператор
#
# Функция `torch.compile` читает байт-код вашей функции и записывает граф её операций. Этим занимается Dynamo. Готовый граф он передаёт *бэкенду*. Стандартный бэкенд, Inductor, генерирует слитые (fused) ядра на C++ или Triton, и для этого ему нужен компилятор. Чем больше операций попадёт в один граф, тем больше Inductor сможет слить.
#
# В графе есть операции, но нет чисел. Там, где программе на Python нужно само число (`if x.sum() > 0`, `.item()`), граф обрывается: дальше решает Python, после чего начинается новый граф. Это называют *разрывом графа* (graph break). Посчитаем графы с помощью собственного бэкенда: он запоминает всё, что получил, и выполняет операции как есть.
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


# %% [markdown] tags=["en"]
# Not everything is made of torch's operations: a routine of SciPy, a C library, a kernel by somebody else. Take the running log-sum-exp, $\log(e^{x_0} + \dots + e^{x_i})$ for each $i$, as NumPy computes it. Inside a compiled function it breaks the graph, because Dynamo cannot look into it. A custom Function (lesson 07) does not help: Dynamo looks into its `forward`, and finds the same.
#
# `torch.library.custom_op` makes an *operator*, a black box with a name and a signature. In the graph it is one operation. Nobody looks inside, so three things have to be said: what it returns, what it changes (`mutates_args`), and how it is differentiated. First the result. The *fake* is a second implementation that computes nothing: it gives a tensor of the right shape, dtype and strides.
# %% [markdown] tags=["ru"] of="02086c4b"
# Не всё составлено из операций torch: бывает нужна функция из SciPy, библиотека на C, чужое ядро. Возьмём накопленный log-sum-exp, то есть $\log(e^{x_0} + \dots + e^{x_i})$ для каждого $i$, как его считает NumPy. Внутри скомпилированной функции он разрывает граф: Dynamo не видит, как его вычисляет NumPy. Пользовательская функция (урок 07) не поможет: Dynamo смотрит внутрь её `forward` и находит там то же самое.
#
# `torch.library.custom_op` создаёт *оператор*: чёрный ящик с именем и сигнатурой. В графе это одна операция. Внутрь никто не заглядывает, поэтому об операторе нужно сообщить три вещи: что он возвращает, что изменяет (`mutates_args`) и как его дифференцировать. Начнём с результата. *Фиктивная реализация* (fake) ничего не вычисляет: она возвращает тензор нужной формы, с нужным dtype и нужными шагами (strides).
# %%
def running_by_numpy(x):
    return torch.from_numpy(np.logaddexp.accumulate(x.detach().numpy()))


@custom_op("lesson::running", mutates_args=())  # a namespace of your own and a name
def running(x: Tensor) -> Tensor:  # the annotations are the operator's signature
    return torch.from_numpy(np.logaddexp.accumulate(x.numpy()))


@running.register_fake
def _(x):
    return torch.empty_like(x)


x = torch.tensor([0.5, 1.0, -1.0], dtype=torch.float64)
print("NumPy:   ", graphs(lambda x: running_by_numpy(2 * x).exp(), x), "graphs")
print("operator:", graphs(lambda x: running(2 * x).exp(), x), "graph")


# %% tags=["fact"]
class RunningFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return running_by_numpy(x)


assert graphs(lambda x: running_by_numpy(2 * x).exp(), x) > 1 == graphs(lambda x: running(2 * x).exp(), x)
assert graphs(lambda x: RunningFunction.apply(2 * x).exp(), x) > 1
torch.compiler.reset()


# %% [markdown] tags=["en"]
# To autograd this operator is a node like any other. Only, nobody has said how to differentiate it.
# %% [markdown] tags=["ru"] of="93ccfd9b"
# Для autograd этот оператор — такой же узел, как остальные. Только никто не сообщил, как его дифференцировать.
# %%
x.requires_grad_()
y = running(x)
print("without a formula, requires grad:", y.requires_grad)
try:
    y.sum().backward()
except RuntimeError as error:
    print("backward:", str(error).partition("but ")[2].partition(".")[0])
# %% tags=["fact"]
assert y.requires_grad and x.grad is None


# %% [markdown] tags=["en"]
# The error comes in the backward pass, no sooner. So the derivative is next: `register_autograd` takes a `setup_context` and a formula, the counterparts of `setup_context` and `backward` in a Function. Two differences: the parameters must be called `ctx`, `inputs` and `output`, because they are passed by keyword; and the formula will be traced, so it consists of operations of torch (or of other operators). The derivative of output $i$ by input $j \le i$ is $e^{x_j - y_i}$; a sum from the end gives all of them at once. The backend `aot_eager` writes down both passes as graphs and runs them as they are; with `fullgraph=True` a graph break is an error.
# %% [markdown] tags=["ru"] of="351ab6bb"
# Ошибка возникает в обратном проходе, не раньше. Значит, теперь производная. Метод `register_autograd` принимает `setup_context` и формулу: они соответствуют `setup_context` и `backward` пользовательской функции. Отличия два. Параметры первой функции должны называться `ctx`, `inputs` и `output`, потому что передаются по имени. Формула будет записана в граф, поэтому должна состоять из операций torch (или других операторов). Производная выхода $i$ по входу $j \le i$ равна $e^{x_j - y_i}$. Градиенты по всем входам сразу даёт суммирование с конца. Бэкенд `aot_eager` записывает в графы оба прохода и выполняет их как есть, а с `fullgraph=True` разрыв графа становится ошибкой.
# %%
def setup_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs, output)


calls = []


def formula(ctx, grad):
    calls.append("formula")
    x, y = ctx.saved_tensors
    return x.exp() * (grad * (-y).exp()).flip(0).cumsum(0).flip(0)


running.register_autograd(formula, setup_context=setup_context)

print("formula:", torch.autograd.grad(running(x).sum(), x)[0])
print("torch:  ", torch.autograd.grad(torch.logcumsumexp(x, 0).sum(), x)[0])

compiled = torch.compile(lambda x: running(2 * x).exp().sum(), backend="aot_eager", fullgraph=True)
calls.clear()
for _ in range(3):
    compiled(x).backward()
print("calls of the formula in three compiled passes:", len(calls))
# %% tags=["picture"]
from autograder import draw

draw(running(2 * x).exp().sum())
# %% tags=["fact"]
ours, torchs = (torch.autograd.grad(f(x).sum(), x)[0] for f in (running, lambda x: torch.logcumsumexp(x, 0)))
assert torch.allclose(ours, torchs) and len(calls) == 2
torch.compiler.reset()
calls.clear()
for _ in range(3):
    torch.compile(lambda x: running(2 * x).sum(), backend="aot_eager", fullgraph=True)(x).backward()
    assert len(calls) == 1
names = []


def by_other_names(c, inputs, output):
    names.append("called")


running.register_autograd(formula, setup_context=by_other_names)
try:
    running(x)
    raise AssertionError("it has to raise")
except TypeError:
    assert not names
running.register_autograd(formula, setup_context=setup_context)


# %% [markdown] tags=["en", "try"]
# Three passes, and the list `calls` has one entry. When did the formula run? Say it.
#
# One call for three passes: the formula ran while the graph of the backward pass was written down, and the graph ran afterwards. A counter, a `print` or a list inside it sees the tracing, not the passes. That is the 1 of the beginning.
# %% [markdown] tags=["ru", "try"] of="82c48abc"
# Прохода три, а в списке `calls` одна запись. Когда выполнялась формула? Ответьте.
#
# Один вызов на три прохода: формула выполнилась, когда записывался граф обратного прохода, а дальше работал уже граф. Счётчик, `print` или список внутри формулы отмечают запись графа, а не проходы. Вот откуда единица, о которой шла речь в начале.
# %% [markdown] tags=["en"]
# ### `add_formula`
#
# **`add_formula(op)` gives the operator `op` for $x \cdot e^{-a y}$ its derivative, which can be traced and differentiated again.**
#
# Write `add_formula(op)`, which registers the backward formula of an operator. The cell below makes `damped`, one such operator, to try it on.
#
# * **Given.** `op(x, y, a)`, an operator for $x \cdot e^{-a y}$ that has a fake and no formula yet. `x` and `y` have the same shape (it may be `()`), `a` is a number.
# * **Result.** After the call `op` gives each of `x` and `y` its gradient, for every gradient that arrives; one of the two may be frozen. <!-- gradients -->
# * **Result.** Each result has the gradients of its own call, however often `op` is called before the backward pass. <!-- apart -->
# * **Result.** The gradients can be differentiated again. <!-- second -->
# * **Result.** The formula can be traced: `opcheck(op, (x, y, a))` finds nothing wrong. <!-- traced -->
# * **Result.** If `y` is changed in place between the passes, the backward pass raises torch's error, as for any operation (lesson 04). <!-- guarded -->
# %% [markdown] tags=["ru"] of="ea1a7666"
# ### `add_formula`
#
# **`add_formula(op)` задаёт для оператора `op`, вычисляющего $x \cdot e^{-a y}$, производную, которую можно записать в граф и дифференцировать ещё раз.**
#
# Напишите функцию `add_formula(op)`, которая регистрирует формулу обратного прохода для оператора. Ячейка ниже создаёт один такой оператор, `damped`: на нём формулу можно испытать.
#
# * **Дано.** Оператор `op(x, y, a)`, который вычисляет $x \cdot e^{-a y}$; фиктивная реализация у него есть, формулы ещё нет. Тензоры `x` и `y` одной формы (возможно, `()`), `a` — число.
# * **Результат.** После этого вызова градиенты оператора `op` по `x` и по `y` верны при любом пришедшем градиенте; один из двух тензоров может быть заморожен. <!-- gradients -->
# * **Результат.** У каждого результата градиенты своего вызова, сколько бы раз `op` ни вызвали до обратного прохода. <!-- apart -->
# * **Результат.** Эти градиенты можно дифференцировать ещё раз. <!-- second -->
# * **Результат.** Формулу можно записать в граф: `opcheck(op, (x, y, a))` не находит ошибок. <!-- traced -->
# * **Результат.** Если между проходами изменить `y` на месте, обратный проход завершается ошибкой torch, как и для любой операции (урок 04). <!-- guarded -->
# %%
@custom_op("lesson::damped", mutates_args=())
def damped(x: Tensor, y: Tensor, a: float) -> Tensor:
    return torch.as_tensor(np.asarray(x.numpy() * np.exp(-a * y.numpy())))


@damped.register_fake
def _(x, y, a):
    return x.new_empty(x.shape)


# %% answer="add_formula"
def add_formula(op):
    """Register the backward formula of `op(x, y, a)`, an operator for x·exp(-a·y)."""
    ### BEGIN SOLUTION

    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, y)

    def formula(ctx, grad):
        x, y = ctx.saved_tensors
        for_x = grad * (-ctx.a * y).exp()
        return for_x, -ctx.a * x * for_x, None

    op.register_autograd(formula, setup_context=setup_context)
    ### END SOLUTION


# %% alternative="add_formula"
def add_formula(op):
    def keep(ctx, inputs, output):
        ctx.save_for_backward(inputs[1], output)
        ctx.rate = -inputs[2]

    def backward(ctx, gradient):
        y, output = ctx.saved_tensors
        return torch.exp(ctx.rate * y) * gradient, ctx.rate * output * gradient, None

    op.register_autograd(backward, setup_context=keep)


# %% alternative="add_formula"
def add_formula(op):
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.a = inputs[2]

    def formula(ctx, grad):
        x, y = ctx.saved_tensors
        for_x = for_y = None
        if ctx.needs_input_grad[0]:
            for_x = op(grad, y, ctx.a)  # the operator itself, in its own formula
        if ctx.needs_input_grad[1]:
            for_y = op(-ctx.a * grad * x, y, ctx.a)
        return for_x, for_y, None

    op.register_autograd(formula, setup_context=setup_context)


# %% alternative="add_formula"
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, a = inputs
        ctx.save_for_backward(x, y)
        ctx.a = a

    def formula(ctx, grad):
        damping = (ctx.saved_tensors[1] * ctx.a).neg().exp()
        return damping * grad, (-ctx.a) * damping * grad * ctx.saved_tensors[0], None

    torch.library.register_autograd(op, formula, setup_context=setup_context)


# %% check="add_formula"
from autograder import check

check("add_formula")


# %% [markdown] tags=["en"]
# ## When the fake is wrong
#
# The compiler believes the fake. If it is wrong, the operator still computes what it should, but everything that the program derives from a shape is wrong, too: the graph was written down with the shape of the fake. Here is the mean of the beginning.
# %% [markdown] tags=["ru"] of="aeec6755"
# ## Если фиктивная реализация неверна
#
# Компилятор верит фиктивной реализации. Если она неверна, сам оператор вычисляет то, что должен, но неверно всё, что программа выводит из формы: граф записан с формой из фиктивной реализации. Вот то среднее, с которого мы начали.
# %%
@custom_op("lesson::turned", mutates_args=())
def turned(x: Tensor) -> Tensor:
    return x.t().clone(memory_format=torch.contiguous_format)


@turned.register_fake
def _(x):
    return torch.empty_like(x)  # right for square matrices


def mean_of_rows(x):
    rows = turned(x)
    return rows.sum() / len(rows)


wide = torch.arange(6.0).view(2, 3)
print("program: ", mean_of_rows(wide))
print("compiled:", torch.compile(mean_of_rows, backend="aot_eager")(wide))
print("opcheck, 2 x 2:", set(opcheck(turned, (torch.ones(2, 2),)).values()))
# %% tags=["fact"]
assert mean_of_rows(wide) == 5 and torch.compile(mean_of_rows, backend="aot_eager")(wide) == 7.5
torch.compiler.reset()
assert set(opcheck(turned, (torch.ones(2, 2),)).values()) == {"SUCCESS"}
found = opcheck(turned, (wide,), raise_exception=False)
assert "Shapes" in str(found["test_faketensor"])
calls.clear()
opcheck(running, (x.detach(),))
assert not calls
opcheck(running, (x,))
assert len(calls) > 1  # in a backward pass, and traced


# %% [markdown] tags=["en"]
# `opcheck` runs the operator and its fake on one example and compares them. With a matrix of 2 × 2 it finds nothing; with 2 × 3 it says that the shapes differ. So the examples decide what it can see: take matrices that are not square, some that are not contiguous (transposed ones, say), and more than one dtype. If the example requires grad, `opcheck` runs a backward pass, too, and traces the formula.
#
# ### `fix_fake`
#
# **`fix_fake` is to give a tensor like the result of `distances`: shape, dtype, strides and device. Mend it.**
#
# `distances(x, y)` below is an operator: the distance of each row of `x` from each row of `y`. The function `fix_fake` is meant as its fake. Mend it.
#
# * **Given.** `x` of shape `(..., n, d)` and `y` of shape `(..., m, d)`, with the same dimensions in front, if any, the same dtype and device. In the check they are fake tensors: they have no numbers.
# * **Result.** A tensor of the shape that `distances` gives. <!-- shape -->
# * **Result.** Its dtype is theirs, float32 or float64. <!-- dtype -->
# * **Result.** It is contiguous, as the operator's result is, whatever the strides of `x` and `y` are. <!-- layout -->
# * **Result.** It lies on the device of `x` and `y`. <!-- place -->
# %% [markdown] tags=["ru"] of="46d84d77"
# Функция `opcheck` выполняет оператор и его фиктивную реализацию на одном примере и сравнивает их. Для матрицы 2 × 2 она ничего не находит, а для матрицы 2 × 3 сообщает, что формы различаются. Значит, всё решают примеры: нужны неквадратные матрицы, матрицы, которые лежат в памяти не подряд (например, транспонированные), и разные dtype. Если пример требует градиента, `opcheck` выполняет ещё и обратный проход, записывая формулу в граф.
#
# ### `fix_fake`
#
# **`fix_fake` должна давать такой же тензор, как результат `distances`: по форме, dtype, шагам и устройству. Исправьте её.**
#
# Оператор `distances(x, y)` ниже вычисляет расстояние от каждой строки `x` до каждой строки `y`. Функция `fix_fake` задумана как его фиктивная реализация. Исправьте её.
#
# * **Дано.** Тензоры `x` формы `(..., n, d)` и `y` формы `(..., m, d)`; измерения перед последними двумя, если они есть, у обоих одинаковы, dtype и устройство тоже. При проверке это фиктивные тензоры: чисел в них нет.
# * **Результат.** Тензор той формы, которую даёт `distances`. <!-- shape -->
# * **Результат.** Его dtype такой же, как у входов: float32 или float64. <!-- dtype -->
# * **Результат.** Он непрерывен в памяти, как и результат оператора, при любых шагах (strides) у `x` и `y`. <!-- layout -->
# * **Результат.** Он лежит на том же устройстве, что `x` и `y`. <!-- place -->
# %%
@custom_op("lesson::distances", mutates_args=())
def distances(x: Tensor, y: Tensor) -> Tensor:
    difference = x.numpy()[..., :, None, :] - y.numpy()[..., None, :, :]
    return torch.from_numpy(np.ascontiguousarray(np.sqrt((difference**2).sum(-1))))


# %% answer="fix_fake"
def fix_fake(x, y):
    return x.new_empty(*x.shape[:-1], y.shape[-2])


# %% given="fix_fake"
def fix_fake(x, y):
    return torch.empty(len(x), len(x))


# %% alternative="fix_fake"
def fix_fake(x, y):
    shape = list(x.shape)
    shape[-1] = y.size(-2)
    return torch.empty(shape, dtype=x.dtype, device=x.device)


# %% alternative="fix_fake"
def fix_fake(x, y):
    return torch.cdist(x, y).contiguous()


# %% alternative="fix_fake"
def fix_fake(x, y):
    *batch, rows, _ = x.shape
    return torch.zeros((*batch, rows, y.shape[-2]), dtype=y.dtype, device=y.device)


# %% check="fix_fake"
from autograder import check

check("fix_fake")
# %% tags=["fact"]
distances.register_fake(fix_fake)
for dtype in (torch.float32, torch.float64):
    three, five = torch.rand(2, 3, 4, dtype=dtype), torch.rand(2, 5, 4, dtype=dtype)
    assert set(opcheck(distances, (three, five)).values()) == {"SUCCESS"}
    turned_three, turned_five = torch.rand(4, 3, dtype=dtype).t(), torch.rand(4, 5, dtype=dtype).t()
    assert set(opcheck(distances, (turned_three, turned_five)).values()) == {"SUCCESS"}


# %% [markdown] tags=["en"]
# ## What `opcheck` cannot see
#
# Let us spoil the formula of `running`: three times the gradient.
# %% [markdown] tags=["ru"] of="4eb46058"
# ## Чего не видит `opcheck`
#
# Испортим формулу оператора `running`: утроим градиент.
# %%
running.register_autograd(lambda ctx, grad: 3 * formula(ctx, grad), setup_context=setup_context)

for test, said in opcheck(running, (x,)).items():
    print(f"{test:28}{said}")
try:
    gradcheck(running, (x,))
except RuntimeError as error:
    print("gradcheck:", str(error).splitlines()[0])

running.register_autograd(formula, setup_context=setup_context)
# %% tags=["fact"]
assert gradcheck(running, (x,))
running.register_autograd(lambda ctx, grad: 3 * formula(ctx, grad), setup_context=setup_context)
assert set(opcheck(running, (x,)).values()) == {"SUCCESS"} and len(opcheck(running, (x,))) == 4
try:
    gradcheck(running, (x,))
    raise AssertionError("it has to raise")
except RuntimeError as error:
    assert "Jacobian mismatch" in str(error)
running.register_autograd(formula, setup_context=setup_context)


# %% [markdown] tags=["en", "try"]
# The formula is wrong three times over, and `opcheck` says SUCCESS four times. With what does it compare the operator? And what could tell the truth?
#
# `opcheck` compares the operator with itself: run as it is, and run through fake and tracing. Both ways lead through the same formula, so both are wrong alike. A truth from outside comes from finite differences, `gradcheck` (lesson 05). In turn, `gradcheck` knows nothing of fakes and tracing.
# %% [markdown] tags=["ru", "try"] of="c2af933d"
# Градиент втрое больше верного, а `opcheck` четыре раза отвечает SUCCESS. С чем он сравнивает оператор? И чем можно было бы проверить по-настоящему?
#
# `opcheck` сравнивает оператор с ним же самим: один раз он выполняется как есть, другой — через фиктивную реализацию и запись в граф. Оба пути ведут через одну и ту же формулу и неверны одинаково. Независимый эталон дают конечные разности, то есть `gradcheck` (урок 05). А `gradcheck`, в свою очередь, ничего не знает о фиктивных реализациях и записи в граф.
# %% [markdown] tags=["en"]
# Below stand four operators, and three of them have a fault. `said` gives "accepted" or "refused". Read the cell; do not call `operator_table()` yet.
# %% [markdown] tags=["ru"] of="0b5c717f"
# Ниже четыре оператора, и у трёх из них есть изъян. Функция `said` возвращает "accepted" или "refused". Прочтите ячейку, но `operator_table()` пока не вызывайте.
# %%
bodies = []


def square_operator(name):
    @custom_op(f"lesson::{name}", mutates_args=())
    def op(x: Tensor) -> Tensor:
        bodies.append(name)
        return x * x

    op.register_fake(torch.empty_like)
    return op


bare, by_numpy, square = square_operator("bare"), square_operator("by_numpy"), square_operator("square")


def keep_x(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def numpy_formula(ctx, grad):
    return torch.from_numpy(2 * ctx.saved_tensors[0].detach().numpy()) * grad


by_numpy.register_autograd(numpy_formula, setup_context=keep_x)
square.register_autograd(lambda ctx, grad: 2 * ctx.saved_tensors[0] * grad, setup_context=keep_x)


@custom_op("lesson::double_", mutates_args={"x"})  # declared: it changes `x` in place
def double_(x: Tensor) -> None:
    x.mul_(2)


def said(check, op, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "accepted" if check(op, (x,)) else "refused"
        except Exception:
            return "refused"


# %%
def operator_table():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    a = torch.tensor(1.0, requires_grad=True)
    z = 3 * a
    double_(z)  # z is 6 now
    z.backward()

    torch.compiler.reset()
    compiled = torch.compile(lambda x: square(x).sum(), backend="aot_eager")
    bodies.clear()
    for _ in range(3):
        compiled(x).backward()
    runs = len(bodies)
    return {
        "runs of the body in three compiled passes": runs,
        "no formula: requires grad": bare(x).requires_grad,
        "no formula: opcheck": said(opcheck, bare, x),
        "formula in NumPy: opcheck": said(opcheck, by_numpy, x),
        "formula in NumPy: gradcheck": said(gradcheck, by_numpy, x),
        "forward mode of square at 1": torch.func.jvp(square, (torch.ones(()),), (torch.ones(()),))[1].item(),
        "gradient of a through double_": a.grad.item(),
    }


# %% [markdown] tags=["en"]
# ### `predict_operators`
#
# Put what `operator_table()` returns in place of each `...`. `requires grad` is True or False; `opcheck` and `gradcheck` are `"accepted"` or `"refused"`; the others are numbers. The right derivative of `square` at 1 is 2.
# %% [markdown] tags=["ru"] of="7e750d3e"
# ### `predict_operators`
#
# Вместо каждого `...` поставьте то, что вернёт `operator_table()`. В строке `requires grad` — True или False, в строках с `opcheck` и `gradcheck` — `"accepted"` или `"refused"`, в остальных — числа. Верная производная `square` в точке 1 равна 2.
# %% answer="predict_operators"
predict_operators = {
    "runs of the body in three compiled passes": 3,
    "no formula: requires grad": True,
    "no formula: opcheck": "refused",
    "formula in NumPy: opcheck": "refused",
    "formula in NumPy: gradcheck": "accepted",
    "forward mode of square at 1": 0.0,
    "gradient of a through double_": 3.0,
}
# %% given="predict_operators"
predict_operators = {
    "runs of the body in three compiled passes": ...,
    "no formula: requires grad": ...,
    "no formula: opcheck": ...,
    "formula in NumPy: opcheck": ...,
    "formula in NumPy: gradcheck": ...,
    "forward mode of square at 1": ...,
    "gradient of a through double_": ...,
}
# %% check="predict_operators"
from autograder import check

check("predict_operators")
# %% tags=["fact"]
assert operator_table() == predict_operators
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# А теперь вызовите эту функцию.
# %%
operator_table()


# %% [markdown] tags=["en"] explains="predict_operators"
# Two of these are wrong numbers without a word: the tangent of forward mode is 0 and should be 2; the gradient through the declared change in place is 3 and should be 6. `mutates_args` tells the compiler what changes; autograd hears nothing of it, and `register_autograd` refuses such an operator. So make it functional: return a new tensor.
# %% [markdown] tags=["ru"] explains="predict_operators" of="5c253995"
# Два числа здесь неверны, и никто об этом не сообщает: касательный вектор в прямом режиме равен 0 вместо 2, а градиент через объявленное изменение на месте — 3 вместо 6. Из `mutates_args` об изменении узнаёт компилятор, но не autograd, а `register_autograd` такой оператор не принимает. Поэтому пусть оператор ничего не изменяет и возвращает новый тензор.
# %% [markdown] tags=["en"]
# ## A Function or an operator?
#
# Lesson 07 wrote derivatives of your own as Functions, this one as operators. What differs:
#
# | | `autograd.Function` | operator |
# |:--|:--|:--|
# | under `torch.compile` | Dynamo looks into it | a black box, known by its fake |
# | a counter in the formula, compiled | breaks the graph | counts the recording alone |
# | forward mode without a rule | raises | 0, silently |
# | `torch.func.grad` | works with `setup_context` | raises |
# | result is an input or its view | allowed | raises |
#
# So: a Function for what is made of torch's operations, an operator for what is not.
# %% [markdown] tags=["ru"] of="3e40f94e"
# ## Пользовательская функция или оператор?
#
# В уроке 07 свою производную задавала пользовательская функция, в этом — оператор. Вот чем они различаются:
#
# | | `autograd.Function` | оператор |
# |:--|:--|:--|
# | с `torch.compile` | Dynamo смотрит внутрь | чёрный ящик, известна только фиктивная реализация |
# | счётчик в формуле после компиляции | разрывает граф | считает только записи графа |
# | прямой режим без своего правила | ошибка | 0, без сообщений |
# | `torch.func.grad` | работает, если есть `setup_context` | ошибка |
# | результат — вход или его представление | допустимо | ошибка |
#
# Итак, если вычисление составлено из операций torch, нужна пользовательская функция, если нет — оператор.
# %% tags=["fact"]
class Square(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad


class Counted(Square):
    @staticmethod
    def backward(ctx, grad):
        counted.append("backward")
        return 2 * ctx.saved_tensors[0] * grad


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, grad):
        return grad


@custom_op("lesson::same", mutates_args=())
def same(x: Tensor) -> Tensor:
    return x.view(-1)


def refuses(call):
    try:
        call()
    except RuntimeError:
        return True
    return False


counted, one = [], torch.ones(())
torch.compiler.reset()
assert graphs(lambda x: Square.apply(x).sum(), x) == 1
assert refuses(lambda: torch.compile(lambda x: Counted.apply(x).sum(), backend="aot_eager", fullgraph=True)(x))
compiled = torch.compile(lambda x: Counted.apply(x).sum(), backend="aot_eager")
for _ in range(3):
    compiled(x).backward()
assert len(counted) == 3
assert refuses(lambda: torch.func.jvp(Square.apply, (one,), (one,)))
assert torch.func.grad(Square.apply)(one) == 2 and refuses(lambda: torch.func.grad(square)(one))
assert Same.apply(torch.ones(2)).tolist() == [1, 1] and refuses(lambda: same(torch.ones(2)))
assert refuses(lambda: double_.register_autograd(numpy_formula, setup_context=keep_x))
assert said(opcheck, bare, torch.ones(2)) == "accepted" and refuses(lambda: bare(x).sum().backward())


# %% [markdown] tags=["en"]
# ## What to keep
#
# * A routine that is not torch's becomes an operator: `custom_op`, `register_fake`, `register_autograd`. Functional, with a formula of torch's operations, saved by `save_for_backward`.
# * Test it by `opcheck` *and* `gradcheck`, on examples that require grad and are neither square nor contiguous. `opcheck` passes a wrong derivative; forward mode is silently 0.
#
# From the extra sections:
#
# * A graph of `torch.compile` breaks where Python asks for a number. Shapes, dtypes and flags are known, and break nothing.
# * A compiled graph is one node: no second derivative, and `retain_graph` only without donated buffers. Python inside an operator's formula runs once, while it is traced.
# * In a profile look for `autograd::engine::evaluate_function`; compare counts before times.
# %% [markdown] tags=["ru"] of="2cce8c41"
# ## Что стоит запомнить
#
# * Вычисление, написанное не на torch, становится оператором: `custom_op`, `register_fake`, `register_autograd`. Оператор ничего не изменяет на месте, формула состоит из операций torch, тензоры сохраняет `save_for_backward`.
# * Проверяйте оператор и функцией `opcheck`, *и* функцией `gradcheck`. Берите примеры, которые требуют градиента, и среди них неквадратные и такие, что лежат в памяти не подряд. `opcheck` пропускает неверную производную, а прямой режим молча даёт 0.
#
# Из дополнительных разделов:
#
# * Граф `torch.compile` разрывается там, где программе на Python нужно само число. Формы, dtype и флаги известны и ничего не разрывают.
# * Скомпилированный граф — один узел: второй производной нет, а `retain_graph` возможен только без отданных буферов. Код на Python внутри формулы оператора выполняется один раз, при записи графа.
# * В профиле ищите `autograd::engine::evaluate_function`; сначала сравнивайте число операций, потом время.
# %% [markdown] tags=["en"]
# ## Write the test
#
# ### `is_right_operator`
#
# **Write a test that accepts every right operator, and refuses the wrong ones.**
#
# * **Given.** `op`, an operator with a fake and a formula. It takes one float64 matrix of any shape, contiguous or transposed, and returns one tensor. `x`, an example: a contiguous matrix of 2 × 2 that does not require grad.
# * **Result.** `True` if for all such matrices the fake agrees with the operator, nothing is changed that was not declared, and the formula is right and can be traced. <!-- accepts_right -->
# * **Result.** Else `False`. An `AssertionError` and the errors of `opcheck` and `gradcheck` count as `False`, and on a wrong operator every other error, too. The test earns points for the wrong operators that it refuses, but only if it accepts every right one. <!-- catches_derivative, catches_square_formula, catches_shape, catches_layout, catches_numpy, catches_mutation -->
# %% [markdown] tags=["ru"] of="1809b46c"
# ## Напишите тест
#
# ### `is_right_operator`
#
# **Напишите тест, который принимает любой верный оператор и отвергает неверные.**
#
# * **Дано.** Оператор `op` с фиктивной реализацией и формулой. Он принимает одну матрицу float64 любой формы, непрерывную в памяти или транспонированную, и возвращает один тензор. Пример `x` — непрерывная в памяти матрица 2 × 2, которая не требует градиента.
# * **Результат.** `True`, если для всех таких матриц фиктивная реализация согласуется с оператором, ничего не изменяется без объявления, а формула верна и её можно записать в граф. <!-- accepts_right -->
# * **Результат.** Иначе `False`. Исключение `AssertionError` и ошибки функций `opcheck` и `gradcheck` считаются ответом `False`, а на неправильном операторе — и любая другая ошибка. Баллы начисляются за каждый отвергнутый неправильный оператор, но только если тест принял все правильные. <!-- catches_derivative, catches_square_formula, catches_shape, catches_layout, catches_numpy, catches_mutation -->
# %% answer="is_right_operator"
def is_right_operator(op, x):
    """Are fake, declared changes and formula of the operator right?"""
    ### BEGIN SOLUTION
    wide = torch.linspace(-1.3, 2.1, 6, dtype=torch.float64).view(2, 3)
    for example in (wide, wide.clone().t()):
        example.requires_grad_()
        opcheck(op, (example,))
        gradcheck(op, (example,))
    return True
    ### END SOLUTION


# %% alternative="is_right_operator"
def is_right_operator(op, x):
    torch.manual_seed(0)
    tall = (2 * torch.rand(2, 4, dtype=x.dtype) - 1).t().requires_grad_()
    said = opcheck(op, (tall,), raise_exception=False)
    return set(said.values()) == {"SUCCESS"} and gradcheck(op, (tall,), raise_exception=False)


# %% alternative="is_right_operator"
def is_right_operator(op, x):
    row = torch.cat([x, -x, x + 1], dim=1).t().detach().requires_grad_()
    try:
        opcheck(op, [row])
    except Exception:
        return False
    y = op(row)
    v = torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).view(y.shape)
    (ours,) = torch.autograd.grad(y, row, v)
    at = row.detach()
    for i in range(at.shape[0]):
        for j in range(at.shape[1]):
            step = torch.zeros_like(at)
            step[i, j] = 1e-5
            slope = ((op(at + step) - op(at - step)) * v).sum() / 2e-5
            assert abs(slope - ours[i, j]) < 1e-5
    return True


# %% alternative="is_right_operator"
def is_right_operator(op, x):
    tall = torch.cat([x, 2 * x, x.flip(0)], dim=1).t()
    for check, needs in ((opcheck, True), (gradcheck, True), (opcheck, False)):
        check(op, (tall.detach().requires_grad_(needs),))
    return True


# %% check="is_right_operator"
from autograder import check

check("is_right_operator")


# %% [markdown] tags=["en"]
# ## One graph, or several
#
# Where Python asks for a number, a graph ends. Here are two ways to choose between two results.
# %% [markdown] tags=["ru"] of="2d0b54ce"
# ## Один граф или несколько
#
# Там, где программе на Python нужно само число, граф обрывается. Вот два способа выбрать один из двух результатов.
# %%
def branching(x):
    if x.sum() > 0:
        return 2 * x
    return 3 * x


def choosing(x):
    return torch.where(x.sum() > 0, 2 * x, 3 * x)


print("if:   ", graphs(branching, torch.ones(3)))
print("where:", graphs(choosing, torch.ones(3)))
# %% tags=["fact"]
assert graphs(branching, torch.ones(3)) == 2 and graphs(choosing, torch.ones(3)) == 1
for other in (torch.ones(3, dtype=torch.float64), torch.ones(3, 3), torch.ones(3, requires_grad=True)):
    assert graphs(choosing, torch.ones(3), other) == 2  # another dtype, number of dimensions, flag
import logging

logging.getLogger("torch._dynamo").setLevel(logging.ERROR)  # it warns of `.item()`
assert graphs(lambda x: x * x.sum().item(), torch.ones(3)) == 2
logging.getLogger("torch._dynamo").setLevel(logging.WARNING)


# %% [markdown] tags=["en", "try"]
# How many graphs does each make, and what becomes of the other branch? Say it, then run the cell.
#
# Two graphs with `if`: the condition, and the branch that was taken. The other branch is never compiled, because nobody went there. With `torch.where` there is one graph, which computes both branches and chooses.
# %% [markdown] tags=["ru", "try"] of="5c3b6342"
# Сколько графов получится в каждом случае и что станет с другой ветвью? Сначала ответьте, потом выполните ячейку.
#
# С `if` графов два: условие и та ветвь, которая выполнилась. Другая ветвь не компилируется: до неё не дошло дело. С `torch.where` граф один: в нём вычисляются обе ветви, а потом из них выбирается результат.
# %% [markdown] tags=["en"]
# A graph is made for what came: for this dtype, this shape, these flags. Dynamo notes these conditions as *guards*, and compiles anew when a call does not meet them. There is an exception for lengths: when a second one arrives, the length becomes a variable of the graph.
# %% [markdown] tags=["ru"] of="71210746"
# Граф рассчитан на тот вход, который пришёл: на его dtype, форму и флаги. Dynamo запоминает такие условия (guards) и, если очередной вызов им не отвечает, компилирует функцию ещё раз. Для длин есть исключение: как только приходит вход другой длины, длина становится переменной графа.
# %% [markdown] tags=["en", "try"]
# What does `graphs(choosing, torch.ones(3), torch.ones(3).double())` give? Say it, then call it.
#
# 2: a graph for each dtype. The second call does not meet the guards of the first graph.
# %% [markdown] tags=["ru", "try"] of="0481e49c"
# Что вернёт `graphs(choosing, torch.ones(3), torch.ones(3).double())`? Сначала ответьте, потом вызовите.
#
# 2: по графу на каждый dtype. Второй вызов не соответствует условиям, с которыми записан первый граф.
# %% tags=["fact"]
assert graphs(choosing, torch.ones(3), torch.ones(3).double()) == 2


# %% [markdown] tags=["en"]
# Read the table. Do not call `graph_table()` yet.
# %% [markdown] tags=["ru"] of="155caedb"
# Прочтите таблицу, но `graph_table()` пока не вызывайте.
# %%
def graph_table():
    def on_flag(x):
        return 2 * x if x.requires_grad else 3 * x

    def loop(x):
        for k in range(3):
            x = k + x.sin()
        return x

    def two_ifs(x):
        if x.sum() > 0:
            x = 2 * x
        if x.max() > 0:
            x = x.sin()
        return x

    three = torch.ones(3)
    return {
        "if on the length": graphs(lambda x: 2 * x if len(x) > 2 else 3 * x, three),
        "if on requires_grad": graphs(on_flag, three),
        "a loop of three": graphs(loop, three),
        "two ifs on numbers": graphs(two_ifs, three),
        "one if, x and -x": graphs(branching, three, -three),
        "lengths 3, 3, 4": graphs(choosing, three, three, torch.ones(4)),
        "lengths 3, 4, 5": graphs(choosing, three, torch.ones(4), torch.ones(5)),
    }


# %% [markdown] tags=["en"]
# ### `predict_graphs`
#
# Put what `graph_table()` returns in place of each `...`: the number of graphs over all calls.
# %% [markdown] tags=["ru"] of="989051eb"
# ### `predict_graphs`
#
# Вместо каждого `...` поставьте то, что вернёт `graph_table()`: число графов за все вызовы.
# %% answer="predict_graphs"
predict_graphs = {
    "if on the length": 1,
    "if on requires_grad": 1,
    "a loop of three": 1,
    "two ifs on numbers": 3,
    "one if, x and -x": 3,
    "lengths 3, 3, 4": 2,
    "lengths 3, 4, 5": 2,
}
# %% given="predict_graphs"
predict_graphs = {
    "if on the length": ...,
    "if on requires_grad": ...,
    "a loop of three": ...,
    "two ifs on numbers": ...,
    "one if, x and -x": ...,
    "lengths 3, 3, 4": ...,
    "lengths 3, 4, 5": ...,
}
# %% check="predict_graphs"
from autograder import check

check("predict_graphs")
# %% tags=["fact"]
assert graph_table() == predict_graphs
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# А теперь вызовите эту функцию.
# %%
graph_table()
# %% [markdown] tags=["en"] explains="predict_graphs"
# What is known without a number breaks nothing: shapes, dtypes, flags, the turns of a loop. Such an `if` is decided while the graph is recorded, and such a loop is unrolled. Each break ends one graph and begins another. The part before an `if` serves both branches, so the second branch adds one graph, not two.
# %% [markdown] tags=["ru"] explains="predict_graphs" of="abef7688"
# Форма, dtype, флаги и число шагов цикла известны без чисел и графа не разрывают. Условие `if`, которое зависит только от них, проверяется при записи графа, а цикл разворачивается. Каждый разрыв заканчивает один граф и начинает другой. Часть до `if` общая для обеих ветвей, поэтому вторая ветвь добавляет один граф, а не два.


# %% [markdown] tags=["en"]
# ### `one_graph`
#
# **The function shortens a tensor whose norm is above a limit. Its `if` breaks the graph: let it be one graph with the same values.**
#
# The function shortens a tensor whose norm is above a limit, as gradient clipping does (lesson 03). Its `if` breaks the graph. Rewrite it.
#
# * **Given.** A tensor of any shape, float32 or float64; entries may be as small as $10^{-9}$. `limit`, a positive number; the norm is never exactly the limit.
# * **Result.** The same values; the norm is that of the whole tensor. A relative error up to $10^{-5}$ is allowed. <!-- value -->
# * **Result.** The same gradients, for a vector of zeros too, where the gradient passes unchanged. <!-- gradient -->
# * **Not allowed.** To look at a number of a tensor. Choose by operations on tensors; `torch.cond`, a prototype, is not accepted here. The check runs your function on a *fake tensor* as well, which is how Dynamo runs it: it has a shape and a dtype, but no numbers, and raises if asked for one. <!-- no_numbers -->
# %% [markdown] tags=["ru"] of="883ec127"
# ### `one_graph`
#
# **Функция укорачивает тензор, норма которого больше предела. Её `if` разрывает граф: пусть граф будет один, а значения прежние.**
#
# Функция укорачивает тензор, норма которого больше предела, — как при отсечении градиента (урок 03). Инструкция `if` разрывает граф. Перепишите функцию так, чтобы разрыва не было.
#
# * **Дано.** Тензор любой формы, float32 или float64; элементы бывают малыми, до $10^{-9}$. Положительное число `limit`; в точности равной пределу норма не бывает.
# * **Результат.** Те же значения, что у этой функции; норма — это норма всего тензора. Допускается относительная погрешность до $10^{-5}$. <!-- value -->
# * **Результат.** Те же градиенты, в том числе для нулевого вектора, где градиент проходит без изменений. <!-- gradient -->
# * **Нельзя.** Читать числа из тензоров. Делайте выбор с помощью операций над тензорами; функция `torch.cond` — пока прототип, и здесь она не принимается. При проверке вашу функцию выполняют ещё и на *фиктивном тензоре* (fake tensor), как это делает Dynamo: у такого тензора есть форма и dtype, но нет чисел, и при попытке прочесть число возникает ошибка. <!-- no_numbers -->
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
from torch._subclasses.fake_tensor import FakeTensorMode

with FakeTensorMode():
    unknown = torch.ones(3, dtype=torch.float64)
    assert (unknown.shape, unknown.dtype) == ((3,), torch.float64)
    try:
        unknown.sum().item()
        raise AssertionError("it has to raise")
    except RuntimeError as error:
        assert type(error).__name__ == "DataDependentOutputException"


# %% [markdown] tags=["en"]
# ## Both passes ahead of time
#
# Between Dynamo and the backend stands AOTAutograd. It differentiates the graph *ahead of time*, before anything is computed, and gives both halves to the backend: the forward half at once, the backward half when it is first called. The backend `aot_eager` runs the two graphs with the usual operations: the same derivatives, no compiler, no gain in speed. It is enough to see what happens. Let us look at what an ordinary and a compiled result have behind them, and at what they keep (lesson 06).
# %% [markdown] tags=["ru"] of="36ab8fe2"
# ## Оба прохода заранее
#
# Между Dynamo и бэкендом работает AOTAutograd. Он дифференцирует граф *заранее* (ahead of time), ещё до всяких вычислений, и передаёт бэкенду обе половины: прямую — сразу, обратную — при первом обратном проходе. Бэкенд `aot_eager` выполняет оба графа обычными операциями: производные те же, компилятор не нужен, ускорения нет. Чтобы увидеть, что происходит, этого достаточно. Посмотрим, какой граф стоит за результатом обычной функции, какой — за результатом скомпилированной и что каждый из них хранит (урок 06).
# %%
def wave(x):
    return x.sin().cos().sum()


def growth(x):
    return (x.exp() ** 2).sum()


def count_saved(function):
    """The number of tensors that a call of the function saves."""
    saved = []
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t.detach(), lambda t: t):
        function(x)
    return len(saved)


torch.compiler.reset()
compiled_growth = torch.compile(growth, backend="aot_eager")
result = compiled_growth(torch.tensor([0.5, 1.0], requires_grad=True))
print("saved by growth:", count_saved(growth), " by compiled growth:", count_saved(compiled_growth))
print("its node:", result.grad_fn.name())
# %% tags=["picture"]
draw(result, saved=True)
# %% tags=["fact"]
assert count_saved(growth) == 2 and count_saved(compiled_growth) == 1
assert result.grad_fn.name() == "CompiledFunctionBackward"
assert result.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
from functorch.compile import make_boxed_func, min_cut_rematerialization_partition
from torch._dynamo.backends.common import aot_autograd


def noting(half):
    def compiler(graph, example_inputs):
        halves[half] = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
        return make_boxed_func(graph.forward)

    return compiler


def keeping(kept):
    return torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t.detach(), lambda t: t)


halves, kept = {}, []
backend = aot_autograd(
    fw_compiler=noting("forward"), bw_compiler=noting("backward"), partition_fn=min_cut_rematerialization_partition
)
torch.compiler.reset()
x = torch.tensor([0.5, 1.0], requires_grad=True)
with keeping(kept):
    waved = torch.compile(wave, backend=backend)(x)
assert [*halves] == ["forward"] and kept[0] is x
(ahead,) = torch.autograd.grad(waved, x)
assert [*halves] == ["forward", "backward"] and "aten.sin.default" in halves["backward"]
assert torch.allclose(ahead, torch.autograd.grad(wave(x), x)[0])
torch.compiler.reset()


# %% [markdown] tags=["en"]
# One node and one saved tensor: AOTAutograd knows both passes, so it decides anew what to keep. And what may the compiled backward pass do with it? Here is a function that keeps one tensor, its sigmoid. The first pass is an ordinary one.
# %% [markdown] tags=["ru"] of="164cd1e2"
# Один узел и один сохранённый тензор: AOTAutograd знает оба прохода и сам решает, что хранить. А что скомпилированный обратный проход вправе делать с сохранёнными тензорами? Вот функция, для которой хранится один тензор — значение сигмоиды. Первый обратный проход обычный.
# %%
def squash(x):
    return (x.sigmoid() ** 2).sum()


torch.compiler.reset()
compiled_squash = torch.compile(squash, backend="aot_eager")
x = torch.tensor([0.5, 1.0], requires_grad=True)
compiled_squash(x).backward()
try:
    compiled_squash(x).backward(retain_graph=True)
except RuntimeError as error:
    print("RuntimeError:", str(error)[:118], "...")
# %% tags=["fact"]
assert count_saved(compiled_squash) == 1
try:
    compiled_squash(x).backward(retain_graph=True)
    raise AssertionError
except RuntimeError as error:
    assert "compiled with non-empty donated buffers" in str(error)


# %% [markdown] tags=["en"]
# A kept tensor that nobody else has is a *donated buffer*: the compiled pass may write over it, which saves memory. Then there is no second pass through that graph. Whether such writing is allowed is settled in the first backward pass, because the backward half is compiled there, for a pass of this kind.
#
# Now for a table. `outcome` compiles a function and tries one or more kinds of backward pass on it, each with a new result. Here are the kinds of pass. Try `outcome(wave, plain)` first.
# %% [markdown] tags=["ru"] of="0d7820e2"
# Сохранённый тензор, на который больше никто не ссылается, — это *отданный буфер* (donated buffer): скомпилированный проход вправе записывать поверх него, и это экономит память. Второй проход по такому графу уже невозможен. Допустима ли такая перезапись, решается в первом обратном проходе: именно в нём компилируется обратная половина, рассчитанная на проход такого вида.
#
# Теперь таблица. В `outcome` функция компилируется, а затем выполняются обратные проходы, один или несколько, каждый — от заново вычисленного результата. Ниже перечислены виды проходов. Сначала попробуйте `outcome(wave, plain)`.
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


def second_derivative(result, x):
    (gradient,) = torch.autograd.grad(result, x, create_graph=True)
    gradient.sum().backward()


# %% [markdown] tags=["en"]
# Read the cell; do not call `compiled_table()` yet. (It takes a few seconds.)
# %% [markdown] tags=["ru"] of="b9e1cb9a"
# Прочтите ячейку, но `compiled_table()` пока не вызывайте. (Вызов займёт несколько секунд.)
# %%
def compiled_table():
    table = {
        "saved by wave": count_saved(wave),
        "saved by compiled wave": count_saved(torch.compile(wave, backend="aot_eager")),
        "growth: retain_graph": outcome(growth, keep_graph),
        "growth: plain, then retain_graph": outcome(growth, plain, keep_graph),
        "wave: plain, then retain_graph": outcome(wave, plain, keep_graph),
        "wave: second derivative, aot_eager": outcome(wave, second_derivative),
        "wave: second derivative, eager": outcome(wave, second_derivative, backend="eager"),
    }
    torch.compiler.reset()
    return table


# %% [markdown] tags=["en"]
# ### `predict_compiled`
#
# Put what `compiled_table()` returns in place of each `...`. The first two entries are numbers, the others `"accepted"` or `"RuntimeError"`. The backend `eager` runs Dynamo's graph under ordinary autograd, without AOTAutograd.
# %% [markdown] tags=["ru"] of="d60defb5"
# ### `predict_compiled`
#
# Вместо каждого `...` поставьте то, что вернёт `compiled_table()`. Первые две строки — числа, остальные — `"accepted"` или `"RuntimeError"`. Бэкенд `eager` выполняет граф, записанный Dynamo, с обычным autograd, без AOTAutograd.
# %% answer="predict_compiled"
predict_compiled = {
    "saved by wave": 2,
    "saved by compiled wave": 1,
    "growth: retain_graph": "accepted",
    "growth: plain, then retain_graph": "RuntimeError",
    "wave: plain, then retain_graph": "accepted",
    "wave: second derivative, aot_eager": "RuntimeError",
    "wave: second derivative, eager": "accepted",
}
# %% given="predict_compiled"
predict_compiled = {
    "saved by wave": ...,
    "saved by compiled wave": ...,
    "growth: retain_graph": ...,
    "growth: plain, then retain_graph": ...,
    "wave: plain, then retain_graph": ...,
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
# For the engine a compiled graph is *one* node, `CompiledFunctionBackward`. Hooks on nodes inside, profiles by node, the lines of anomaly mode (lesson 02): all of these see the one node. Three things follow.
#
# * AOTAutograd sees both passes, so it decides anew what to keep. For `wave` it keeps `x` alone and computes the sine again.
# * If the first pass keeps the graph, nothing is donated, and all goes well; after a plain pass the same call raises for `growth`. For `wave` there is nothing to donate: `x` belongs to the caller. `torch._functorch.config.donated_buffer = False` gives the donation up.
# * A second derivative raises, and only when it is computed: `create_graph=True` alone may still succeed. Either compile with `eager`, or put the first derivative *inside* the compiled function, with `torch.func.grad`: then only one derivative is taken of it from outside. Old versions of torch returned wrong numbers here without an error.
# %% [markdown] tags=["ru"] explains="predict_compiled" of="77d51973"
# Для движка скомпилированный граф — *один* узел, `CompiledFunctionBackward`. В профиле по узлам, в строках режима обнаружения аномалий (урок 02), при поиске внутренних узлов для хуков — везде виден только он. Отсюда три следствия.
#
# * AOTAutograd видит оба прохода и сам решает, что хранить. Для функции `wave` хранится только `x`, а синус вычисляется заново.
# * Если граф сохраняется уже в первом проходе, перезаписи нет и всё работает. После обычного прохода такой же вызов для `growth` завершается ошибкой. У `wave` перезаписывать нечего: `x` принадлежит вызывающему коду. Настройка `torch._functorch.config.donated_buffer = False` отключает перезапись.
# * Попытка взять вторую производную завершается ошибкой, причём только в момент её вычисления: само по себе `create_graph=True` может и сработать. Обойти это можно двумя способами: скомпилировать с `eager` или взять первую производную *внутри* скомпилированной функции, с помощью `torch.func.grad`. Тогда снаружи её нужно дифференцировать только один раз. Старые версии torch в этом месте молча возвращали неверные числа.
# %% tags=["fact"]
torch.compiler.reset()


def record_gradient(result, x):
    torch.autograd.grad(result, x, create_graph=True)


def slope_squared(w, x):
    return torch.func.grad(lambda t: (w * t).sin().sum() ** 2)(x).square().sum()


w, x = torch.tensor(1.5, requires_grad=True), torch.tensor([0.5, 1.0])
(eager,) = torch.autograd.grad(slope_squared(w, x), w)
(compiled,) = torch.autograd.grad(torch.compile(slope_squared, backend="aot_eager")(w, x), w)
assert torch.allclose(eager, compiled)

assert outcome(wave, record_gradient) == "accepted"
assert outcome(growth, plain, record_gradient) == "RuntimeError"
torch._functorch.config.donated_buffer = False
assert outcome(growth, plain, keep_graph) == "accepted"
torch._functorch.config.donated_buffer = True
torch.compiler.reset()


# %% [markdown] tags=["en"]
# ## Reading a profile
#
# `torch.profiler` notes every operation with its time, and, if asked, the number of floating-point operations (FLOPs). Times change from run to run; counts do not. A profile of the forward pass alone, on nine numbers, says little, even if one of its lines gives `mul` 46 % of the time.
#
# Let us profile a backward pass through two products, $24 \times 8$ and $8 \times 18$, and read the rows that begin with `autograd::engine::evaluate_function`. Each is a node, and below it stand the operations that it called. The profiler counts the FLOPs of matrix products, of convolutions, and of `mul` and `add`, one for each entry; `flops_of` takes the matrix products alone.
# %% [markdown] tags=["ru"] of="d17dbce3"
# ## Как читать профиль
#
# Профилировщик `torch.profiler` записывает каждую операцию и её время, а если попросить, то и число операций с плавающей точкой (FLOP). Время от запуска к запуску меняется, число операций — нет. Если профилировали только прямой проход, да ещё на девяти числах, строка «46 % времени — на `mul`» почти ничего не значит.
#
# Запишем профиль обратного прохода через два умножения на матрицы, $24 \times 8$ и $8 \times 18$, и прочтём строки, которые начинаются с `autograd::engine::evaluate_function`. Каждая из них соответствует узлу, а под ней перечислены операции, которые он вызвал. Профилировщик считает FLOP матричных произведений и свёрток, а `mul` и `add` засчитывает как одну операцию на элемент. Функция `flops_of` учитывает только матричные произведения.
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


# %% [markdown] tags=["en", "try"]
# Two rows are called `MmBackward0`. Which of them belongs to the second product, and why does it cost twice what that product cost in the forward pass? Say it.
#
# The second product cost less in the forward pass ($2 \cdot 5 \cdot 8 \cdot 18 = 1440$ against $2 \cdot 5 \cdot 24 \cdot 8 = 1920$). In the backward pass it costs more: 2880 against 1920. It makes two products, one for each factor; the first layer makes one, because the data need no gradient.
# %% [markdown] tags=["ru", "try"] of="86fad37e"
# Строк с именем `MmBackward0` две. Какая из них относится ко второму произведению и почему оно обходится вдвое дороже, чем в прямом проходе? Ответьте.
#
# Второе произведение в прямом проходе дешевле ($2 \cdot 5 \cdot 8 \cdot 18 = 1440$ против $2 \cdot 5 \cdot 24 \cdot 8 = 1920$), а в обратном дороже: 2880 против 1920. Для второго в обратном проходе нужно вычислить два произведения, по одному на каждый множитель, а для первого — только одно, потому что по данным градиент не нужен.
# %% [markdown] tags=["en"]
# In the table of `key_averages()` all nodes of a name share one row. To tell nodes of one name apart, record the shapes with `record_shapes=True` and call `key_averages(group_by_input_shape=True)`: nodes whose gradients have different shapes get rows of their own.
# %% [markdown] tags=["ru"] of="b1e640e3"
# В таблице `key_averages()` все узлы с одним именем занимают одну строку. Чтобы их различить, запишите формы с помощью `record_shapes=True` и вызовите `key_averages(group_by_input_shape=True)`: узлы, к которым пришли градиенты разных форм, попадут в разные строки.
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
