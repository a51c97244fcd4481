# %% [markdown] tags=["en"] needs="05, 07" about="penalties on gradients, Hessian products, per-sample and meta-gradients, attention"
# # Derivatives of derivatives
#
# A gradient is a tensor. If the pass that computed it was recorded, it can be differentiated again. That gives a penalty on the length of a gradient, the curvature of a loss, the best learning rate for the next step.
#
# Three things go wrong in practice. The inner gradient has no graph, so the penalty trains nothing, and no error is raised. The graph is never freed, so memory grows with every step. Or there is no second derivative at all: the fastest attention in torch has none.
#
# And your own engine has no second derivative at all: what does its pass lack that torch's has?
#
# After this lesson you can:
#
# * differentiate through a gradient, and free its graph afterwards;
# * multiply by a Hessian that would not fit into memory;
# * in the extra sections: differentiate through steps of an optimizer, name what has no second derivative, keep NaN out of masked attention, get per-sample gradients of a module with `torch.func`.
#
# You need lesson 05 (Jacobian products, `vmap`) and lesson 07 (custom Functions).
# %% [markdown] tags=["ru"] about="штраф на градиент, произведения с матрицей Гессе, градиенты по отдельным примерам и сквозь шаги оптимизатора, внимание" of="31228f5b"
# # Производные от производных
#
# Градиент — это тензор. Если сам обратный проход записан в граф, градиент можно дифференцировать ещё раз. Так получают штраф за длину градиента, кривизну функции потерь, наилучшую скорость обучения для следующего шага.
#
# На практике здесь ошибаются тремя способами. Можно вычислить градиент для штрафа без графа: тогда штраф не влияет на обучение, и никакого сообщения об этом нет. Можно не освободить граф, и с каждым шагом будет занято всё больше памяти. Наконец, второй производной может не быть вовсе: её нет у самой быстрой реализации внимания в torch.
#
# А в вашем собственном движке второй производной нет совсем: чего не хватает его проходу по сравнению с проходом torch?
#
# После урока вы сможете:
#
# * дифференцировать градиент и освобождать после этого его граф;
# * умножать на матрицу Гессе, которая не поместилась бы в память;
# * в дополнительных разделах: дифференцировать результат шагов оптимизатора, назвать операции без второй производной, не допускать NaN во внимании с маской, получать средствами `torch.func` градиенты модуля по отдельным примерам.
#
# Понадобятся уроки 05 (произведения с матрицей Якоби, `vmap`) и 07 (пользовательские функции).
# %% tags=["en"]
# Does the import fail? Install the course by pip (its file, or autograd-course),
# and uninstall another `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("higher_order", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("higher_order", language="ru")
# %%
import copy
import warnings

import torch
from torch.func import functional_call, grad, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import mse_loss, scaled_dot_product_attention


# %% [markdown] tags=["en"]
# ## The second pass
#
# The function $x^3$ has at $x = 2$ the derivative $3x^2 = 12$ and the second derivative $6x$, which is 12 as well. What does autograd need to get from the first to the second? Two options of `torch.autograd.grad` look alike, and only one of them helps.
#
# `scaled_dot_product_attention` is torch's attention. It chooses among several kernels, and `sdpa_kernel(SDPBackend.MATH)` allows only one of them: the formula, step by step.
# %% [markdown] tags=["ru"] of="135389d7"
# ## Второй проход
#
# У функции $x^3$ в точке $x = 2$ производная $3x^2 = 12$, а вторая производная $6x$ — тоже 12. Что нужно, чтобы от первой перейти ко второй? У функции `torch.autograd.grad` есть два похожих параметра, но помогает только один из них.
#
# Функция `scaled_dot_product_attention` — реализация внимания в самом torch. Вычислять его можно разными ядрами, и контекстный менеджер `sdpa_kernel(SDPBackend.MATH)` оставляет только одно из них — то, которое считает по формуле, шаг за шагом.
# %%
def attempt(action):
    """The name of the error that `action()` raises, or "accepted" when there is none."""
    try:
        action()
        return "accepted"
    except RuntimeError:
        return "RuntimeError"


def attention_twice(in_forward, in_backward):
    """Differentiate attention twice, with one kernel in the forward pass and one in the others."""
    q = torch.linspace(-1, 1, 24).reshape(1, 2, 3, 4).requires_grad_()
    with sdpa_kernel(in_forward):
        y = scaled_dot_product_attention(q, q, q)
    with sdpa_kernel(in_backward):
        (g,) = torch.autograd.grad(y.sum(), q, create_graph=True)
        torch.autograd.grad(g.sum(), q)


# %% [markdown] tags=["en"]
# Read the table; do not call `second_table()` yet.
# %% [markdown] tags=["ru"] of="ed7f9c9a"
# Прочтите, что попадает в таблицу, но `second_table()` пока не вызывайте.
# %%
def second_table():
    table = {}
    x = torch.tensor(2.0, requires_grad=True)
    (g,) = torch.autograd.grad(x**3, x, retain_graph=True)
    table["retain_graph=True"] = g.requires_grad
    (g,) = torch.autograd.grad(x**3, x, create_graph=True)
    table["create_graph=True"] = g.requires_grad

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x**3).backward(create_graph=True)
    x.grad.backward()
    table["x.grad after both"] = x.grad.item()

    def three_x_twice():
        (g,) = torch.autograd.grad(3 * x, x, create_graph=True)
        torch.autograd.grad(g, x)

    table["3 * x twice"] = attempt(three_x_twice)

    math, any_kernel = SDPBackend.MATH, [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]
    table["attention twice"] = attempt(lambda: attention_twice(any_kernel, any_kernel))
    table["attention twice, MATH in forward"] = attempt(lambda: attention_twice(math, any_kernel))
    table["attention twice, MATH in backward"] = attempt(lambda: attention_twice(any_kernel, math))
    return table


# %% [markdown] tags=["en"]
# ### `predict_second`
#
# Put what `second_table()` returns in place of each `...`. The first two entries are True or False: the flag `requires_grad` of the gradient, that is, whether it has a graph. `x.grad after both` is a number. The remaining entries are `"accepted"` or `"RuntimeError"`.
# %% [markdown] tags=["ru"] of="586d5932"
# ### `predict_second`
#
# Вместо каждого `...` поставьте то, что вернёт `second_table()`. Первые две строки — True или False, то есть флаг `requires_grad` у градиента: он показывает, есть ли у градиента граф. Значение `x.grad after both` — число. В остальных строках — `"accepted"` или `"RuntimeError"`.
# %% answer="predict_second"
predict_second = {
    "retain_graph=True": False,
    "create_graph=True": True,
    "x.grad after both": 24.0,
    "3 * x twice": "RuntimeError",
    "attention twice": "RuntimeError",
    "attention twice, MATH in forward": "accepted",
    "attention twice, MATH in backward": "RuntimeError",
}
# %% given="predict_second"
predict_second = {
    "retain_graph=True": ...,
    "create_graph=True": ...,
    "x.grad after both": ...,
    "3 * x twice": ...,
    "attention twice": ...,
    "attention twice, MATH in forward": ...,
    "attention twice, MATH in backward": ...,
}
# %% check="predict_second"
from autograder import check

check("predict_second")
# %% tags=["fact"]
assert predict_second == second_table()
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# Вызовем эту функцию и сравним с таблицей.
# %%
second_table()


# %% [markdown] tags=["en"] explains="predict_second"
# `retain_graph=True` keeps the graph of $x^3$, so that it can be walked once more. `create_graph=True` records the walk itself: the operations of the backward pass make nodes of their own, and the gradient has a graph. (It also keeps the first graph, because the second one leans on it.)
#
# Why 24? The gradient 12 was in `x.grad`, with its graph. `x.grad.backward()` added the second derivative, another 12, to the very tensor that it differentiated.
#
# The derivative of $3x$ is 3, whatever $x$ is. It has no path to $x$, and for `autograd.grad` that is an error, not a zero. With `materialize_grads=True` it returns zeros for an *input* that is not reached, but the *output* must have a graph all the same. `torch.func.grad` returns the zero.
#
# The kernel of attention is chosen in the forward pass, and only the formula can be differentiated twice: the extra section *Attention: one output, several kernels* says why.
# %% [markdown] tags=["ru"] explains="predict_second" of="0bf024a4"
# Параметр `retain_graph=True` сохраняет граф функции $x^3$, чтобы по нему можно было пройти ещё раз. А с параметром `create_graph=True` записывается и сам обратный проход: для его операций создаются свои узлы, и у градиента появляется граф. (Первый граф при этом тоже сохраняется, потому что второй на него опирается.)
#
# Почему 24? В `x.grad` лежал градиент 12 вместе со своим графом. Вызов `x.grad.backward()` прибавил вторую производную, ещё 12, к тому самому тензору, который дифференцировался.
#
# Производная функции $3x$ равна 3 при любом $x$. Пути от неё к $x$ нет, и для `autograd.grad` это ошибка, а не ноль. С параметром `materialize_grads=True` функция возвращает нули для *входа*, до которого путь не ведёт, но граф у *выхода* всё равно должен быть. Функция `torch.func.grad` возвращает ноль.
#
# Ядро внимания выбирается в прямом проходе, и дважды дифференцировать можно только формулу: почему, сказано в дополнительном разделе о внимании и его ядрах.
# %% [markdown] tags=["en"]
# The picture shows the graph of the gradient of $x^3$: three nodes for $3x^2$, and the way from them to $x$. The constant beside it is the 1 with which the first pass began.
# %% [markdown] tags=["ru"] of="12ac5712"
# На рисунке — граф градиента функции $x^3$: три узла для $3x^2$ и путь от них к $x$. Константа рядом — единица, с которой начался первый проход.
# %% tags=["picture"]
from autograder import draw

x = torch.tensor(2.0, requires_grad=True)
(g,) = torch.autograd.grad(x**3, x, create_graph=True)
draw(g)
# %% [markdown] tags=["en", "try"]
# Put `retain_graph=True` in place of `create_graph=True`. What will be left of the picture? Say it, then run.
#
# Nothing: `g` is a number without a graph, and `draw` says so. The graph of $x^3$ is kept, but `g` does not lead there.
# %% [markdown] tags=["ru", "try"] of="606fc9b0"
# Поставьте `retain_graph=True` вместо `create_graph=True`. Что останется от рисунка? Сначала ответьте, потом выполните ячейку.
#
# Ничего: `g` теперь число без графа, о чём `draw` и сообщит. Граф $x^3$ сохранён, но от `g` пути к нему нет.
# %% tags=["fact"]
x = torch.tensor(2.0, requires_grad=True)
(g,) = torch.autograd.grad(x**3, x, create_graph=True)
(second,) = torch.autograd.grad(g, x)
assert (g.item(), second.item()) == (12, 12)
node, way = g.grad_fn, []
while node:  # every node of it has one edge that leads on
    way.append(node.name())
    (node,) = [after for after, _ in node.next_functions if after] or [None]
assert len(way) == 4 and way[2] == "PowBackward0" and way[3].endswith("AccumulateGrad")
assert grad(grad(lambda x: 3 * x))(torch.tensor(2.0)).item() == 0
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
assert torch.autograd.grad(a.sum(), b, materialize_grads=True)[0].tolist() == [0, 0]
assert attempt(lambda: torch.autograd.grad(torch.ones(()), b, materialize_grads=True)) == "RuntimeError"
y = (a**3).sum()
torch.autograd.grad(y, a, create_graph=True)
y.backward()  # the first graph is still there


# %% [markdown] tags=["en"]
# ## A penalty on the gradient
#
# The critic of a Wasserstein GAN should have a slope of 1 everywhere. So its loss contains a penalty on the slope: for samples between the real and the generated ones, the distance of the gradient's length from 1, squared. To train the critic, this penalty is differentiated with respect to the weights, and so a gradient is differentiated.
#
# If `create_graph=True` is forgotten, what happens? The critic below has one weight, $w = 3$, and its output is $wx$, so the slope is 3 and the penalty $(3 - 1)^2 = 4$.
# %% [markdown] tags=["ru"] of="ea8144eb"
# ## Штраф на градиент (gradient penalty)
#
# У критика в GAN Вассерштейна наклон должен быть всюду равен 1. Поэтому в его функцию потерь входит штраф за наклон: для примеров между настоящими и сгенерированными берётся квадрат разности между длиной градиента и единицей. При обучении критика этот штраф дифференцируют по весам, то есть дифференцируют градиент.
#
# Что будет, если забыть `create_graph=True`? У критика в примере ниже один вес, $w = 3$, и выход $wx$, поэтому наклон равен 3, а штраф — $(3 - 1)^2 = 4$.
# %%
w = torch.tensor(3.0, requires_grad=True)


def critic(x):
    return w * x


for create_graph in (False, True):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=create_graph)
    penalty = ((slope.abs() - 1) ** 2).mean()
    loss = penalty - critic(x.detach()).sum()
    (gradient,) = torch.autograd.grad(loss, w)
    print(f"create_graph={create_graph}: penalty {penalty.item()}, loss {loss.item()}, gradient {gradient.item()}")
# %% tags=["fact"]
assert (penalty.item(), loss.item(), gradient.item()) == (4, -5, 1)
x = torch.tensor([1.0, 2.0], requires_grad=True)
(slope,) = torch.autograd.grad(critic(x).sum(), x)
loss = ((slope.abs() - 1) ** 2).mean() - critic(x.detach()).sum()
assert (loss.item(), torch.autograd.grad(loss, w)[0].item()) == (-5, -3)


# %% [markdown] tags=["en", "try"]
# Both losses are equal. Which of the two gradients is right, and what is the penalty for the other one? Say it.
#
# There is no error. The gradient should be 1: $-3$ from the scores and 4 from the penalty. Without a graph the penalty is a constant. It is printed, logged and plotted, and trains nothing.
# %% [markdown] tags=["ru", "try"] of="fed48ead"
# Значения функции потерь одинаковы. Какой из двух градиентов верен и чем оказался штраф в другом случае? Ответьте.
#
# Ошибки нет. Градиент должен быть равен 1: $-3$ от выходов критика и 4 от штрафа. Без графа штраф — константа. Его печатают, пишут в журнал, рисуют на графике, но на обучение он не влияет.
# %% [markdown] tags=["en"]
# ### `gradient_penalty`
#
# **Return the mean of $(\lVert g_i \rVert - 1)^2$, where $g_i$ is the gradient of the critic at a mixed sample, so that it trains the critic.**
#
# Take the points `mix * real + (1 - mix) * fake`. Let $g_i$ be the gradient of the critic's output for sample $i$ with respect to that sample, and $\lVert g_i \rVert$ its length over all entries.
#
# * **Given.** `real` and `fake`, batches of $n$ samples of the same shape, $(n, \ldots)$ with at least two dimensions; `mix`, of shape $(n, 1, \ldots, 1)$ with as many dimensions. None of the three requires grad.
# * **Given.** `critic`, a module that returns one number for each sample, in shape $(n,)$ or $(n, 1)$, and treats each sample on its own. Some weights may be frozen.
# * **Result.** The mean of $(\lVert g_i \rVert - 1)^2$ over the samples, a tensor without dimensions. <!-- value -->
# * **Result.** Its gradient with respect to the weights of the critic that require grad is right. Some $g_i$ may be 0; the derivative of the length counts as 0 there, as in `norm`. <!-- gradients -->
# * **Result.** The function works, too, where critic and batches lie on another device than the CPU, such as a GPU. <!-- device -->
# * **Leave.** The critic: weights, buffers, `.grad`, flags and mode. <!-- untouched -->
# * **Not allowed.** More than one call of the critic, or more than one backward pass. <!-- passes -->
# %% [markdown] tags=["ru"] of="7b86f7b8"
# ### `gradient_penalty`
#
# **Верните среднее значение $(\lVert g_i \rVert - 1)^2$, где $g_i$ — градиент критика в смешанном примере, причём так, чтобы по нему критик обучался.**
#
# Возьмите точки `mix * real + (1 - mix) * fake`. Пусть $g_i$ — градиент выхода критика для примера $i$ по этому примеру, а $\lVert g_i \rVert$ — его длина по всем элементам.
#
# * **Дано.** Батчи `real` и `fake` по $n$ примеров одинаковой формы $(n, \ldots)$, не меньше двух измерений; тензор `mix` формы $(n, 1, \ldots, 1)$ с тем же числом измерений. Ни один из трёх не требует градиента.
# * **Дано.** Модуль `critic`, который возвращает по одному числу на пример, в форме $(n,)$ или $(n, 1)$, и обрабатывает каждый пример отдельно. Некоторые веса могут быть заморожены.
# * **Результат.** Среднее по примерам от $(\lVert g_i \rVert - 1)^2$, тензор без измерений. <!-- value -->
# * **Результат.** Его градиент по весам критика, которые требуют градиента, верен. Некоторые $g_i$ могут быть равны 0; производная длины в таких точках считается равной 0, как у `norm`. <!-- gradients -->
# * **Результат.** Функция работает и тогда, когда критик и батчи лежат не на CPU, а на другом устройстве, например на GPU. <!-- device -->
# * **Не менять.** Критик: веса, буферы, `.grad`, флаги и режим. <!-- untouched -->
# * **Нельзя.** Выполнять больше одного вызова критика или больше одного обратного прохода. <!-- passes -->
# %% answer="gradient_penalty"
def gradient_penalty(critic, real, fake, mix):
    """The mean of (length of the gradient - 1)² over points between `real` and `fake`."""
    ### BEGIN SOLUTION
    mixed = (mix * real + (1 - mix) * fake).requires_grad_()
    (g,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()
    ### END SOLUTION


# %% alternative="gradient_penalty"
def gradient_penalty(critic, real, fake, mix):
    mixed = torch.lerp(fake, real, mix).requires_grad_()
    scores = critic(mixed)
    g = torch.autograd.grad(scores, mixed, torch.ones_like(scores), create_graph=True, retain_graph=True)[0]
    lengths = (g.square().sum(dim=tuple(range(1, g.dim()))) + 1e-12).sqrt()
    return (lengths - 1).square().mean()


# %% alternative="gradient_penalty"
def gradient_penalty(critic, real, fake, mix):
    g = grad(lambda mixed: critic(mixed).sum())(fake + mix * (real - fake))
    return torch.stack([(torch.linalg.vector_norm(row) - 1) ** 2 for row in g]).mean()


# %% alternative="gradient_penalty"
def gradient_penalty(critic, real, fake, mix):
    mixed = (mix * real + (1 - mix) * fake).requires_grad_()
    _, pull = torch.func.vjp(critic, mixed)
    (g,) = pull(torch.ones_like(_))
    return mse_loss(g.reshape(len(g), -1).norm(2, dim=-1), torch.ones(len(g)).to(g))


# %% check="gradient_penalty"
from autograder import check

check("gradient_penalty")


# %% [markdown] tags=["en"]
# ## A Hessian that would not fit
#
# A network with a million weights has a Hessian with $10^{12}$ entries, 4 terabytes in float32. A product $Hv$ has a million. In lesson 05 you computed one for a function of a vector; for a module the weights come as a list of tensors, and `v` is cut into pieces of the same shapes, or all are joined to one long vector.
#
# What does one learn from products alone? The largest curvature, for one: multiply by $H$ again and again, divide by the length each time, and the vector turns to the direction of the eigenvalue with the largest magnitude. The length of the product tends to this magnitude. If this eigenvalue $\lambda$ is positive, gradient descent diverges in that direction once the learning rate is above $2/\lambda$. Here is the procedure for a Hessian that is known, with the eigenvalues 4 and 1:
# %% [markdown] tags=["ru"] of="dd79f1c0"
# ## Матрица Гессе, которая не поместилась бы в память
#
# У сети с миллионом весов в матрице Гессе $10^{12}$ элементов: в float32 это 4 терабайта. А в произведении $Hv$ элементов миллион. В уроке 05 вы вычисляли такое произведение для функции вектора. У модуля веса — это список тензоров. Вектор `v` разрезают на части таких же форм или, наоборот, соединяют всё в один длинный вектор.
#
# Что можно узнать по одним лишь таким произведениям? Например, наибольшую кривизну. Будем умножать вектор на $H$ снова и снова и каждый раз делить на длину: вектор повернётся вдоль собственного вектора с наибольшим по модулю собственным значением, а длина произведения будет стремиться к этому модулю. Градиентный спуск вдоль этого направления расходится, если это собственное значение $\lambda$ положительно, а скорость обучения больше $2/\lambda$. Вот как это выглядит для известной матрицы Гессе с собственными значениями 4 и 1:
# %%
def f(x):
    return 2 * x[0] ** 2 + x[1] ** 2 / 2


x = torch.tensor([1.0, 1.0], requires_grad=True)
(g,) = torch.autograd.grad(f(x), x, create_graph=True)
v = torch.tensor([0.6, 0.8])
for _ in range(4):
    (product,) = torch.autograd.grad(g, x, v, retain_graph=True)
    v = product / product.norm()
    print(f"length {product.norm():.4f}, v = ({v[0]:.4f}, {v[1]:.4f})")
# %% [markdown] tags=["en", "try"]
# Begin with `v = torch.tensor([0.0, 1.0])`. Which length will the loop find? Say it, then run.
#
# 1, and it stays there: this $v$ is an eigenvector, so the largest eigenvalue is never seen. A random vector has a part of every direction.
# %% [markdown] tags=["ru", "try"] of="0f2e98c2"
# Начните с `v = torch.tensor([0.0, 1.0])`. Какую длину найдёт цикл? Сначала ответьте, потом выполните ячейку.
#
# 1, и она уже не изменится: этот $v$ сам является собственным вектором, и наибольшее собственное значение остаётся незамеченным. У случайного вектора есть составляющая вдоль каждого направления.
# %% tags=["fact"]
x = torch.tensor([1.0, 1.0], requires_grad=True)
(g,) = torch.autograd.grad(f(x), x, create_graph=True)
(along,) = torch.autograd.grad(g, x, torch.tensor([0.0, 1.0]))
assert along.tolist() == [0, 1]
# %% tags=["fact"]
assert abs(product.norm().item() - 4) < 0.01 and v[0] > 0.999
ones = torch.ones(2)
assert torch.allclose(torch.func.jvp(grad(f), (ones,), (ones,))[1], torch.tensor([4.0, 1.0]))
assert attempt(lambda: torch.func.jvp(grad(lambda w: mse_loss(w, 0 * ones)), (ones,), (ones,))) == "RuntimeError"
for lr, stays in ((0.49, True), (0.51, False)):
    at = torch.tensor([1.0, 1.0])
    for _ in range(200):
        at = at - lr * grad(f)(at)
    assert bool(at.norm() < 1) == stays


# %% [markdown] tags=["en"]
# One thing is new here: `torch.autograd.grad(g, x, v)` is $v^\top H$, and since $H$ is symmetric, that is $Hv$. Nothing is multiplied by hand, and `v` has no graph. `retain_graph=True` keeps the graph of `g` for the next product. Forward mode over a gradient, `torch.func.jvp(torch.func.grad(f), ...)`, gives the same product, but it calls the function anew each time, and for `mse_loss` it ends with an error in torch 2.13.
#
# ### `sharpness`
#
# **Multiply `v` by the Hessian again and again, without the matrix: the length of the last product is the largest curvature.**
#
# The weights are the parameters of `model` that require grad, in the order of `model.parameters()`, and $n$ is the number of all their entries. The loss is `mse_loss(model(x), y)`, $H$ its Hessian with respect to the weights, joined to one vector. A weight that the loss does not depend on has zeros in its rows and columns. Repeat `steps` times: multiply $v$ by $H$, then divide the product by its length.
#
# * **Given.** `v`, a unit vector of shape $(n,)$; it does not matter whether it changes. `steps` is at least one.
# * **Result.** A pair `(length, v)`: the length of the last product before the division, a number or a tensor with one element, and the last unit vector. <!-- result -->
# * **Leave.** The model: weights, buffers, `.grad`, flags and mode. <!-- untouched -->
# * **Not allowed.** More than `steps` + 2 calls of the model and backward passes together. <!-- passes -->
# * **Not allowed.** A new tensor of more than $4n$ elements. <!-- largest -->
# %% [markdown] tags=["ru"] of="ed9a88de"
# Ново здесь одно: `torch.autograd.grad(g, x, v)` — это $v^\top H$, а так как матрица $H$ симметрична, то и $Hv$. Вручную ничего умножать не приходится, и граф вектору `v` не нужен. С параметром `retain_graph=True` граф тензора `g` сохраняется для следующего произведения. Прямой режим поверх градиента, `torch.func.jvp(torch.func.grad(f), ...)`, даёт то же произведение, но каждый раз заново вызывает функцию, а для `mse_loss` в torch 2.13 завершается ошибкой.
#
# ### `sharpness`
#
# **Умножайте `v` на матрицу Гессе снова и снова, не строя матрицы: длина последнего произведения и есть наибольшая кривизна.**
#
# Веса — это параметры модуля `model`, которые требуют градиента, в порядке `model.parameters()`, а $n$ — число всех их элементов. Функция потерь — `mse_loss(model(x), y)`, а $H$ — её матрица Гессе по весам, соединённым в один вектор. Если функция потерь от какого-то веса не зависит, в его строках и столбцах нули. Повторите `steps` раз: умножьте $v$ на $H$ и разделите произведение на его длину.
#
# * **Дано.** Единичный вектор `v` формы $(n,)$; изменится ли он, неважно. Число `steps` не меньше одного.
# * **Результат.** Пара `(length, v)`: длина последнего произведения до деления (число или тензор из одного элемента) и последний единичный вектор. <!-- result -->
# * **Не менять.** Модель: веса, буферы, `.grad`, флаги и режим. <!-- untouched -->
# * **Нельзя.** Выполнять больше `steps` + 2 вызовов модели и обратных проходов в сумме. <!-- passes -->
# * **Нельзя.** Создавать тензоры, в которых больше $4n$ элементов. <!-- largest -->
# %% answer="sharpness"
def sharpness(model, x, y, v, steps):
    """Length and direction of the last of `steps` products of the loss's Hessian with `v`."""
    ### BEGIN SOLUTION
    weights = [p for p in model.parameters() if p.requires_grad]
    loss = mse_loss(model(x), y)
    g = torch.autograd.grad(loss, weights, create_graph=True, materialize_grads=True)
    g = torch.cat([part.flatten() for part in g])
    for _ in range(steps):
        product = torch.autograd.grad(g, weights, v, retain_graph=True, materialize_grads=True)
        product = torch.cat([part.flatten() for part in product])
        length = product.norm()
        v = product / length
    return length, v
    ### END SOLUTION


# %% alternative="sharpness"
def sharpness(model, x, y, v, steps):
    weights = [p for p in model.parameters() if p.requires_grad]
    loss = mse_loss(model(x), y)
    g = torch.autograd.grad(loss, weights, create_graph=True, allow_unused=True)
    for _ in range(steps):
        pieces = [u.view_as(p) for u, p in zip(v.split([p.numel() for p in weights]), weights)]
        slope = sum((a * b).sum() for a, b in zip(g, pieces) if a is not None)
        found = torch.autograd.grad(slope, weights, retain_graph=True, allow_unused=True)
        product = torch.cat([(torch.zeros_like(p) if h is None else h).ravel() for h, p in zip(found, weights)])
        v = product / product.norm()
    return product.norm().item(), v


# %% alternative="sharpness"
def sharpness(model, x, y, v, steps):
    trainable = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}

    def loss(weights):
        return mse_loss(functional_call(model, weights, (x,)), y)

    _, pull = torch.func.vjp(grad(loss), trainable)
    for _ in range(steps):
        pieces, start = {}, 0
        for name, p in trainable.items():
            pieces[name] = v[start : start + p.numel()].reshape(p.shape)
            start += p.numel()
        (product,) = pull(pieces)
        v = torch.cat([part.flatten() for part in product.values()])
        length = torch.linalg.vector_norm(v)
        v = v / length
    return length, v


# %% alternative="sharpness"
def sharpness(model, x, y, v, steps):
    weights = [p for p in model.parameters() if p.requires_grad]
    g = torch.autograd.grad(mse_loss(model(x), y), weights, create_graph=True, materialize_grads=True)
    g = torch.nn.utils.parameters_to_vector([part.contiguous() for part in g])
    for last in reversed(range(steps)):
        v = torch.autograd.grad(g @ v, weights, retain_graph=last > 0, materialize_grads=True)
        v = torch.hstack([part.reshape(-1) for part in v])
        length = v.square().sum().sqrt()
        v /= length
    return [length, v]


# %% check="sharpness"
from autograder import check

check("sharpness")


# %% [markdown] tags=["en"]
# ## What to keep
#
# * `create_graph=True` records the backward pass; `retain_graph=True` only keeps the old graph. A penalty without a graph is a constant, and nobody complains.
# * Take inner gradients with `autograd.grad`. After `backward(create_graph=True)` the weight and its `.grad` keep each other alive.
# * A Hessian product costs one backward pass through the graph of the gradient. One graph serves many products.
#
# From the extra sections:
#
# * `functional_call` makes a module a function of its weights, and ignores names that it does not know. `vmap(grad(...))` then gives per-sample gradients in one pass.
# * `vmap` refuses branches, numbers and writes that belong to one sample. `torch.where` computes both branches: mind the NaN.
# * Write differentiable optimizer steps by hand, out of place.
# * The fused attention has no second derivative. Choose the formula in the forward pass.
# * Do not remove a NaN, prevent it: $0 \cdot$ NaN comes back in the gradient.
# %% [markdown] tags=["ru"] of="c1372e74"
# ## Что стоит запомнить
#
# * С `create_graph=True` обратный проход записывается, а `retain_graph=True` лишь сохраняет старый граф. Штраф без графа — константа, и никакой ошибки при этом нет.
# * Внутренние градиенты вычисляйте функцией `autograd.grad`. После `backward(create_graph=True)` вес и его `.grad` ссылаются друг на друга и не освобождаются.
# * Произведение с матрицей Гессе стоит одного обратного прохода по графу градиента. Одного графа хватает на много произведений.
#
# Из дополнительных разделов:
#
# * С `functional_call` модуль становится функцией своих весов, причём незнакомые имена молча пропускаются. Вызов `vmap(grad(...))` даёт тогда градиенты по отдельным примерам за один проход.
# * Функция `vmap` не допускает ни ветвлений по значениям отдельного примера, ни чтения этих значений, ни записи в тензор, общий для всех примеров. В `torch.where` вычисляются обе ветви: следите за NaN.
# * Шаги оптимизатора, которые нужно дифференцировать, программируйте сами и без изменений на месте.
# * У слитых ядер внимания нет второй производной. Выбирайте формулу в прямом проходе.
# * Не допускайте появления NaN, убирать его потом поздно: в градиент он вернётся через произведение $0 \cdot$ NaN.
# %% [markdown] tags=["en"]
# ## The graph that stays
#
# In lesson 02 a graph was freed as soon as nobody referred to it. Is that so with `backward(create_graph=True)`? The function below makes a weight of 8000 bytes, runs one backward pass and returns nothing. Nobody outside refers to anything. What is left after three calls?
# %% [markdown] tags=["ru"] of="3d505eac"
# ## Граф, который остаётся
#
# В уроке 02 граф освобождался, как только на него переставали ссылаться. Верно ли это для `backward(create_graph=True)`? Функция ниже создаёт вес размером 8000 байт, выполняет один обратный проход и ничего не возвращает. Снаружи никаких ссылок не остаётся. Сколько байт занято после трёх вызовов?
# %%
import gc

from autograder.measure import live_bytes


def in_grad():
    w = torch.ones(1000, dtype=torch.float64, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (w**2).sum().backward(create_graph=True)


def returned():
    w = torch.ones(1000, dtype=torch.float64, requires_grad=True)
    torch.autograd.grad((w**2).sum(), w, create_graph=True)


def bytes_left(function, calls=3):
    with live_bytes() as live:
        for _ in range(calls):
            function()
        gc.collect()
        return live.now


print("backward(create_graph=True):", bytes_left(in_grad))
print("autograd.grad:              ", bytes_left(returned))


# %% tags=["fact"]
def in_grad_cleared():
    w = torch.ones(1000, dtype=torch.float64, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (w**2).sum().backward(create_graph=True)
    w.grad = None


assert bytes_left(in_grad) == 3 * bytes_left(in_grad, 1) > 3 * 8000
assert bytes_left(returned) == bytes_left(in_grad_cleared) == 0


# %% [markdown] tags=["en"]
# Nothing of the first is ever freed, not by `gc.collect()` either. The picture follows the bytes of three calls. Why?
# %% [markdown] tags=["ru"] of="b90fc63e"
# Память, которую заняла первая из двух функций, не освобождается вовсе, даже после `gc.collect()`. На рисунке показано, как меняется расход памяти за три вызова. Почему так?
# %% tags=["picture"]
from autograder import plot_memory


def several_in_grad(calls):
    for _ in range(calls):
        in_grad()


def several_returned(calls):
    for _ in range(calls):
        returned()


plot_memory(3, several_in_grad, several_returned)


# %% [markdown] tags=["en"]
# ### `fix_leak`
#
# **This step adds a penalty on the gradients to the loss. Memory grows, and from the second step on the gradients are wrong: mend it.**
#
# This step adds a penalty to the loss: `weight` times the sum of the squared entries of all gradients. The second `backward` at first raised “Trying to backward through the graph a second time” in the second step. Its author found `retain_graph=True` in a forum; since then the step runs, memory grows, and the gradients are wrong from the second step on. Mend it.
#
# * **Given.** `model`, a module whose parameters all require grad, and the output depends on each of them. The loss is `mse_loss(model(x), y)`.
# * **Result.** After each call `.grad` of every parameter is the gradient of loss plus penalty, whatever it held before, and does not require grad. <!-- gradient -->
# * **Result.** The loss alone is returned, as a Python number. <!-- loss -->
# * **Leave.** The weights. <!-- gradient -->
# * **Not allowed.** New memory in use after several calls but that of the gradients; single numbers do not count. <!-- bytes -->
# %% [markdown] tags=["ru"] of="037ec01e"
# ### `fix_leak`
#
# **Этот шаг добавляет к функции потерь штраф на градиенты. Память растёт, а со второго шага градиенты неверны: исправьте его.**
#
# Функция ниже выполняет шаг обучения, на котором к функции потерь прибавляется штраф: сумма квадратов всех элементов градиентов, умноженная на `weight`. Сначала второй `backward` на втором шаге завершался ошибкой «Trying to backward through the graph a second time». Автор нашёл на форуме `retain_graph=True`. С тех пор шаг выполняется, но памяти нужно всё больше, а градиенты начиная со второго шага неверны. Исправьте функцию.
#
# * **Дано.** Модуль `model`, все параметры которого требуют градиента и влияют на выход. Функция потерь — `mse_loss(model(x), y)`.
# * **Результат.** После каждого вызова в `.grad` каждого параметра лежит градиент суммы функции потерь и штрафа, что бы там ни было раньше, и сам этот тензор градиента не требует. <!-- gradient -->
# * **Результат.** Возвращается значение только функции потерь, без штрафа, — число Python. <!-- loss -->
# * **Не менять.** Веса. <!-- gradient -->
# * **Нельзя.** Занимать после нескольких вызовов новую память, кроме памяти под градиенты; отдельные числа не в счёт. <!-- bytes -->
# %% answer="fix_leak"
def fix_leak(model, x, y, weight):
    loss = mse_loss(model(x), y)
    gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    penalty = sum((g**2).sum() for g in gradients)
    model.zero_grad()
    (loss + weight * penalty).backward()
    return loss.item()


# %% given="fix_leak"
def fix_leak(model, x, y, weight):
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)
    penalty = sum((p.grad**2).sum() for p in model.parameters())
    (weight * penalty).backward(retain_graph=True)
    return loss.item()


# %% alternative="fix_leak"
def fix_leak(model, x, y, weight):
    parameters = list(model.parameters())
    loss = mse_loss(model(x), y)
    inner = torch.autograd.grad(loss, parameters, create_graph=True)
    total = loss + weight * torch.cat([g.flatten() for g in inner]).square().sum()
    for p, g in zip(parameters, torch.autograd.grad(total, parameters)):
        p.grad = g
    return float(loss.detach())


# %% alternative="fix_leak"
def fix_leak(model, x, y, weight):
    model.zero_grad()
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)
    penalty = sum((p.grad**2).sum() for p in model.parameters())
    inner = {p: p.grad for p in model.parameters()}
    model.zero_grad()
    (weight * penalty).backward()
    for p, g in inner.items():
        p.grad = p.grad + g.detach()
    return loss.item()


# %% alternative="fix_leak"
def fix_leak(model, x, y, weight):
    weights = {name: p.detach() for name, p in model.named_parameters()}

    def loss(weights):
        return mse_loss(functional_call(model, weights, (x,)), y)

    def total(weights):
        gradients, value = torch.func.grad_and_value(loss)(weights)
        return value + weight * sum(g.square().sum() for g in gradients.values()), value

    found, value = grad(total, has_aux=True)(weights)
    for name, p in model.named_parameters():
        p.grad = found[name]
    return value.item()


# %% check="fix_leak"
from autograder import check

check("fix_leak")
# %% [markdown] tags=["en"] explains="fix_leak"
# The weight holds its `.grad`, `.grad` holds the graph that computed it, and the graph holds the weight. This circle lies in C++, where Python's garbage collector does not see it. The circle is broken by `w.grad = None`, or it never comes about: `autograd.grad` returns the gradient and leaves `.grad` alone. torch warns of it, but only once in a process, and so hardly anybody reads it.
# %% [markdown] tags=["ru"] explains="fix_leak" of="6faffffa"
# У веса есть `.grad`, у `.grad` — граф, в котором он вычислен, а граф ссылается на вес. Этот цикл ссылок проходит через C++, и сборщику мусора Python он не виден. Разорвать его можно присваиванием `w.grad = None`, а можно и не создавать: функция `autograd.grad` возвращает градиент и не меняет `.grad`. О таком цикле torch предупреждает, но лишь один раз за процесс, поэтому предупреждение мало кто читает. На рисунке показано, как меняется расход памяти за три вызова.
# %% tags=["fact"]
line = torch.nn.Linear(3, 1)


def first_version(model, x, y, weight):
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)
    penalty = sum((p.grad**2).sum() for p in model.parameters())
    (weight * penalty).backward()


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    first_version(line, torch.ones(2, 3), torch.ones(2, 1), 0.1)
    try:
        first_version(line, torch.ones(2, 3), torch.ones(2, 1), 0.1)
        raise AssertionError
    except RuntimeError as error:
        assert "Trying to backward through the graph a second time" in str(error)
line.zero_grad()


def published(model, x, y, weight):
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)
    penalty = sum((p.grad**2).sum() for p in model.parameters())
    (weight * penalty).backward(retain_graph=True)


wide = torch.nn.Sequential(torch.nn.Linear(3, 50), torch.nn.Tanh(), torch.nn.Linear(50, 1))
with warnings.catch_warnings(), live_bytes() as live:
    warnings.simplefilter("ignore")
    in_use = []
    for _ in range(3):
        published(wide, torch.ones(20, 3), torch.ones(20, 1), 0.1)
        in_use.append(live.now)
wide.zero_grad()
assert in_use[0] < in_use[1] < in_use[2]


# %% [markdown] tags=["en"]
# ## Through a step of the optimizer
#
# A step of gradient descent, $w' = w - \eta\, \nabla T(w)$, is a function of $w$ and of the learning rate $\eta$. The validation loss after it, $V(w')$, can be differentiated with respect to both. With $g' = \nabla V(w')$ the chain rule gives
#
# $$\frac{\partial V}{\partial \eta} = -g'^\top \nabla T(w), \qquad \frac{\partial V}{\partial w} = (I - \eta H)\, g',$$
#
# where $H$ is the Hessian of $T$. It comes from $\nabla T(w)$, a gradient that depends on $w$ itself. That is what meta-learning and the tuning of learning rates by gradients are made of. Without `create_graph=True` the second formula becomes $g'$: “first-order” meta-learning leaves $H$ out on purpose, a missing option leaves it out by accident.
#
# torch's optimizers work in place under `no_grad`. There is `SGD(..., differentiable=True)`. Is it right? The training loss is $\sum w_i^3$ at $(1, 2)$, the learning rate 0.1, the validation loss $\sum w_i^2$.
# %% [markdown] tags=["ru"] of="91618b6a"
# ## Производная сквозь шаг оптимизатора
#
# Шаг градиентного спуска, $w' = w - \eta\, \nabla T(w)$, — функция от $w$ и от скорости обучения $\eta$. Значение функции потерь на валидации после него, $V(w')$, можно дифференцировать по обоим аргументам. Если $g' = \nabla V(w')$, то по правилу дифференцирования сложной функции
#
# $$\frac{\partial V}{\partial \eta} = -g'^\top \nabla T(w), \qquad \frac{\partial V}{\partial w} = (I - \eta H)\, g',$$
#
# где $H$ — матрица Гессе функции $T$. Она появляется из-за $\nabla T(w)$: этот градиент сам зависит от $w$. На таких производных основаны метаобучение и подбор скорости обучения градиентными методами. Без `create_graph=True` вторая формула превращается в $g'$: в метаобучении «первого порядка» матрицу $H$ отбрасывают намеренно, а если забыт параметр — случайно.
#
# Оптимизаторы torch меняют веса на месте внутри `no_grad`. Есть и вариант `SGD(..., differentiable=True)`. Даёт ли он верный результат? Функция потерь на обучении — $\sum w_i^3$ в точке $(1, 2)$, скорость обучения 0.1, функция потерь на валидации — $\sum w_i^2$.
# %%
def by_hand(w, lr):
    (g,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
    return w - lr * g


def by_optimizer(momentum):
    def step(w, lr):
        moving = w.clone()
        optimizer = torch.optim.SGD([moving], lr=lr, momentum=momentum, differentiable=True)
        (moving.grad,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
        optimizer.step()
        return moving

    return step


def after_one_step(step):
    w, lr = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(0.1, requires_grad=True)
    after = step(w, lr)
    for_lr, for_w = torch.autograd.grad((after**2).sum(), (lr, w))
    return [[round(number, 2) for number in tensor.reshape(-1).tolist()] for tensor in (after, for_lr, for_w)]


for name, step in [("by hand", by_hand), ("SGD", by_optimizer(0.0)), ("SGD, momentum", by_optimizer(0.5))]:
    weights, for_lr, for_w = after_one_step(step)
    print(f"{name:14} weights {weights}   for lr {for_lr}   for w {for_w}")
# %% tags=["fact"]
assert after_one_step(by_hand) == after_one_step(by_optimizer(0.0)) == [[0.7, 0.8], [-23.4], [0.56, -0.32]]
assert after_one_step(by_optimizer(0.5)) == [[0.7, 0.8], [-23.4], [1.4, 1.6]]
# g' = 2w' = (1.4, 1.6); I - lr H = diag(1 - 0.1 * 6 * w) = diag(0.4, -0.2)


# %% [markdown] tags=["en", "try"]
# In which of the three rows is a gradient wrong although the weights are right? And which factor is missing there? Say it.
#
# Without momentum, yes. With momentum the weights after the first step are the same, and the gradient is not: $(1.4, 1.6)$ is $g'$, without the factor $I - \eta H$. The optimizer starts its velocity with a detached copy of the first gradient (`torch.clone(grad).detach()`), and no warning tells of it. (Further steps end with an error: the weights are changed in place, and the graph needs their old values.) Write the steps by hand.
# %% [markdown] tags=["ru", "try"] of="f0e60f3d"
# В какой из трёх строк градиент неверен, хотя веса верны? И какого множителя там не хватает? Ответьте.
#
# Без импульса (momentum) — да. С импульсом веса после первого шага те же, а градиент другой: $(1.4, 1.6)$ — это $g'$ без множителя $I - \eta H$. Накопленная скорость в оптимизаторе начинается с отсоединённой копии первого градиента (`torch.clone(grad).detach()`), и никакого предупреждения об этом нет. (Следующие шаги завершаются ошибкой: веса меняются на месте, а графу нужны их прежние значения.) Поэтому шаги оптимизатора программируйте сами.
# %% [markdown] tags=["en"]
# ### `meta_gradient`
#
# **Return the derivatives of the validation loss after `steps` steps of SGD, with respect to `lr` and to the first weights.**
#
# Each of the `steps` steps is that of `torch.optim.SGD`: the velocity becomes `momentum * velocity + gradient` of the training loss at the present weights, and the weights become `w - lr * velocity`.
#
# * **Given.** `train_loss` and `validation_loss`, which map a vector of weights to a scalar. `w`, of shape $(n,)$, and `lr`, a tensor without dimensions; neither requires grad. `momentum`, a number; the velocity starts at 0. `steps` is at least one.
# * **Result.** A pair of tensors: the derivative of the validation loss at the last weights with respect to `lr`. <!-- learning_rate -->
# * **Result.** The second is the one with respect to the initial weights. <!-- weights -->
# * **Result.** `w` and `lr` may lie on another device than the CPU, such as a GPU; the results lie there, too. <!-- device -->
# * **Leave.** `w` and `lr`. <!-- kept -->
# * **Not allowed.** More than $3 \cdot steps + 2$ calls of the two losses and backward passes together. <!-- passes -->
# * **Not allowed.** A new tensor of more than $4n$ elements. <!-- largest -->
# %% [markdown] tags=["ru"] of="f8fd8bb4"
# ### `meta_gradient`
#
# **Верните производные по `lr` и по начальным весам от функции потерь на проверочных данных, вычисленной после `steps` шагов SGD.**
#
# Каждый из `steps` шагов такой же, как в `torch.optim.SGD`: накопленная скорость становится равной `momentum * velocity + gradient` (градиент функции потерь на обучении взят в текущей точке), а веса — равными `w - lr * velocity`.
#
# * **Дано.** Функции `train_loss` и `validation_loss`, которые отображают вектор весов в скаляр. Тензор `w` формы $(n,)$ и тензор без измерений `lr`; градиента они не требуют. Число `momentum`; скорость вначале равна 0. Число `steps` не меньше одного.
# * **Результат.** Пара тензоров. Первый — производная по `lr` от функции потерь на валидации; эта функция вычисляется при весах после последнего шага. <!-- learning_rate -->
# * **Результат.** Второй — производная той же функции по начальным весам. <!-- weights -->
# * **Результат.** `w` и `lr` могут лежать не на CPU, а на другом устройстве, например на GPU; там же лежат и результаты. <!-- device -->
# * **Не менять.** Тензоры `w` и `lr`. <!-- kept -->
# * **Нельзя.** Выполнять больше $3 \cdot steps + 2$ вызовов двух функций потерь и обратных проходов в сумме. <!-- passes -->
# * **Нельзя.** Создавать тензоры, в которых больше $4n$ элементов. <!-- largest -->
# %% answer="meta_gradient"
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    """Differentiate the validation loss after `steps` steps by `lr` and by the initial weights."""
    ### BEGIN SOLUTION
    first, lr = w.detach().clone().requires_grad_(), lr.detach().clone().requires_grad_()
    at, velocity = first, 0
    for _ in range(steps):
        (g,) = torch.autograd.grad(train_loss(at), at, create_graph=True)
        velocity = momentum * velocity + g
        at = at - lr * velocity
    return torch.autograd.grad(validation_loss(at), (lr, first))
    ### END SOLUTION


# %% alternative="meta_gradient"
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    def after(lr, w):
        velocity = torch.zeros_like(w)
        for _ in range(steps):
            velocity = momentum * velocity + grad(train_loss)(w)
            w = w - lr * velocity
        return validation_loss(w)

    return grad(after, argnums=(0, 1))(lr, w)


# %% alternative="meta_gradient"
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    w0 = w.clone().requires_grad_()
    rate = lr.clone().requires_grad_()
    path, velocity = [w0], torch.zeros_like(w)
    for _ in range(steps):
        g = torch.autograd.grad(train_loss(path[-1]), path[-1], create_graph=True)[0]
        velocity = velocity * momentum + g
        path.append(torch.sub(path[-1], rate * velocity))
    validation_loss(path[-1]).backward(inputs=[rate, w0])
    return [rate.grad, w0.grad]


# %% alternative="meta_gradient"
def meta_gradient(train_loss, validation_loss, w, lr, momentum, steps):
    # by hand: the adjoint of each step, with Hessian products from the graphs of the forward steps
    points, gradients, velocities = [w.clone().requires_grad_()], [], []
    for _ in range(steps):
        (g,) = torch.autograd.grad(train_loss(points[-1]), points[-1], create_graph=True)
        velocities.append(g.detach() + (momentum * velocities[-1] if velocities else 0))
        gradients.append(g)
        points.append((points[-1].detach() - lr * velocities[-1]).requires_grad_())
    (back,) = torch.autograd.grad(validation_loss(points[-1]), points[-1])
    for_lr, for_velocity = torch.zeros_like(lr), torch.zeros_like(w)
    for point, g, velocity in reversed(list(zip(points, gradients, velocities))):
        for_lr = for_lr - back @ velocity
        for_velocity = momentum * for_velocity - lr * back
        back = back + torch.autograd.grad(g, point, for_velocity)[0]
    return for_lr, back


# %% check="meta_gradient"
from autograder import check

check("meta_gradient")
# %% [markdown] tags=["en"]
# ## Attention: one output, several kernels
#
# `scaled_dot_product_attention` computes $\mathrm{softmax}(QK^\top/\sqrt{d})\,V$. The fused kernels do it without storing the matrix of weights, forward and backward. Their backward pass is one operation, and nobody wrote its derivative. Whoever needs a Hessian product, a gradient penalty or a meta-gradient through attention gets an error, and gets it late: the gradient has `requires_grad=True`, and only its derivative fails.
#
# Which kernel runs is decided in the forward pass. The name of the node tells.
# %% [markdown] tags=["ru"] of="1b246adf"
# ## Механизм внимания: один результат, несколько ядер
#
# Функция `scaled_dot_product_attention` вычисляет $\mathrm{softmax}(QK^\top/\sqrt{d})\,V$. Слитые (fused) ядра делают это, не храня матрицу весов, и в прямом проходе, и в обратном. Обратный проход у них — одна операция, и её производную никто не написал. Если нужно произведение с матрицей Гессе, штраф на градиент или градиент сквозь шаги обучения, возникает ошибка, причём поздно: у градиента `requires_grad=True`, и только при следующем дифференцировании оказывается, что производной нет.
#
# Какое ядро выполняется, решается в прямом проходе. Его можно узнать по имени узла.
# %%
q = torch.linspace(-1, 1, 24).reshape(1, 2, 3, 4).requires_grad_()


def error_of(action):
    try:
        action()
        return "accepted"
    except (RuntimeError, ValueError) as error:
        return str(error).splitlines()[0][:110]


def node(action):
    return action().grad_fn.name()


def by_formula():
    with sdpa_kernel(SDPBackend.MATH):
        return scaled_dot_product_attention(q, q, q)


print("as it comes: ", node(lambda: scaled_dot_product_attention(q, q, q)))
print("with dropout:", node(lambda: scaled_dot_product_attention(q, q, q, dropout_p=0.1)))
print("MATH:        ", node(by_formula))
(g,) = torch.autograd.grad(scaled_dot_product_attention(q, q, q).sum(), q, create_graph=True)
print("requires_grad of the gradient:", g.requires_grad)
print(error_of(lambda: torch.autograd.grad(g.sum(), q)))
# %% tags=["fact"]
assert "Flash" in node(lambda: scaled_dot_product_attention(q, q, q)) and g.requires_grad
before = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 14)


def is_fused(result):
    """Search the graph of `result` for a fused kernel."""
    nodes = [result.grad_fn]
    for each in nodes:
        nodes += [child for child, _ in each.next_functions if child is not None]
    return any("Flash" in each.name() for each in nodes)


assert is_fused(scaled_dot_product_attention(q[0], q[0], q[0])) is not before
assert not is_fused(scaled_dot_product_attention(q[0, 0], q[0, 0], q[0, 0]))
assert not is_fused(by_formula()) and not is_fused(scaled_dot_product_attention(q, q, q, dropout_p=0.1))
assert "is not implemented" in error_of(lambda: torch.autograd.grad(g.sum(), q))


def second_of(f, *inputs):
    def run():
        first = torch.autograd.grad(f(*inputs).sum(), inputs, create_graph=True)
        torch.autograd.grad(sum((part**2).sum() for part in first), inputs)

    return attempt(run)


several = torch.nn.MultiheadAttention(4, 2, batch_first=True)
words = torch.linspace(-1, 1, 24).reshape(2, 3, 4).requires_grad_()
assert second_of(lambda t: several(t, t, t)[0], words) == "accepted"
assert second_of(lambda t: several(t, t, t, need_weights=False)[0], words) == "RuntimeError"
assert second_of(torch.nn.TransformerEncoderLayer(4, 2, dropout=0.0, batch_first=True), words) == "RuntimeError"
for points, others, p, by_products in [
    (25, 25, 2.0, False),
    (26, 5, 2.0, True),
    (5, 26, 2.0, True),
    (26, 26, 1.0, False),
]:
    cloud, there = torch.linspace(0, 1, points)[:, None].requires_grad_(), torch.linspace(2, 3, others)[:, None]
    verdict = "accepted" if by_products or not before else "RuntimeError"
    assert second_of(lambda t: torch.cdist(t, there, p=p), cloud) == verdict
table = torch.ones(5, 2).requires_grad_()
assert second_of(lambda t: torch.nn.functional.embedding_bag(torch.tensor([[0, 1]]), t) ** 2, table) == "RuntimeError"
logits = torch.linspace(-1, 1, 40).reshape(5, 2, 4).requires_grad_()
targets, lengths = torch.tensor([[1, 2], [1, 3]]), torch.tensor([2, 2])
on_cuda = torch.ones(1, 2, 16, 16, device="meta", dtype=torch.float16, requires_grad=True)
aten = torch.ops.aten
for kernel in (
    lambda: aten._scaled_dot_product_flash_attention(on_cuda, on_cuda, on_cuda)[0],
    lambda: aten._scaled_dot_product_efficient_attention(on_cuda, on_cuda, on_cuda, None, True)[0],
    lambda: aten._scaled_dot_product_cudnn_attention(on_cuda, on_cuda, on_cuda, None, True)[0],
):
    made = kernel()
    (first,) = torch.autograd.grad(made, on_cuda, torch.ones_like(made), create_graph=True)
    assert first.requires_grad
    assert "is not implemented" in error_of(lambda: torch.autograd.grad(first, on_cuda, torch.ones_like(first)))


def ctc(t):
    return torch.nn.functional.ctc_loss(t.log_softmax(-1), targets, torch.tensor([5, 5]), lengths)


assert second_of(ctc, logits) == "RuntimeError"
try:
    torch.func.jvp(lambda q: scaled_dot_product_attention(q, q, q), (q.detach(),), (q.detach(),))
    raise AssertionError
except NotImplementedError as error:
    assert "forward AD" in str(error)


# %% [markdown] tags=["en"]
# On the CPU the fused kernel is taken for tensors with four dimensions unless there is dropout, and from torch 2.14 on for those with three; tensors with two go through the formula. CUDA has three fused kernels, FLASH, EFFICIENT and CUDNN, and none of them has a second derivative. `sdpa_kernel(SDPBackend.MATH)` around the *forward* pass is the cure; around the backward pass it does nothing. The fused kernel has no forward mode either, so `torch.func.jvp` and `jacfwd` fail as well.
#
# The kernel hides inside layers, too. `nn.TransformerEncoderLayer` uses it. `nn.MultiheadAttention` uses it only with `need_weights=False`; by default it goes by the formula, and a second derivative exists. Other operations without a second derivative: `ctc_loss`, `embedding_bag`, and up to torch 2.13 `cdist` unless it goes by matrix products, as it does for Euclidean distances if one of the two sets has more than 25 points.
# %% [markdown] tags=["ru"] of="36154522"
# На CPU слитое ядро берётся для тензоров с четырьмя измерениями, если нет dropout, а с torch 2.14 и для тензоров с тремя. При двух измерениях вычисление идёт по формуле. На CUDA слитых ядер три: FLASH, EFFICIENT и CUDNN. Ни у одного из них нет второй производной. Помогает `sdpa_kernel(SDPBackend.MATH)` вокруг *прямого* прохода. Вокруг обратного он ни на что не влияет. Прямого режима у слитого ядра тоже нет, поэтому с ошибкой завершаются и `torch.func.jvp`, и `jacfwd`.
#
# Это ядро скрыто и внутри слоёв. Его использует `nn.TransformerEncoderLayer`. В `nn.MultiheadAttention` оно работает только с `need_weights=False`. По умолчанию там действует формула, и вторая производная есть. Другие операции без второй производной: `ctc_loss`, `embedding_bag`, а до torch 2.13 включительно и `cdist`, если расстояния вычисляются не через матричные произведения. Через них вычисляются евклидовы расстояния, когда хотя бы в одном из двух наборов больше 25 точек.
# %% [markdown] tags=["en"]
# ## A row that sees nothing
#
# A mask says which keys a query may see: True for yes. If a row has no True at all, for instance in padding, all its scores are $-\infty$, and the softmax of such a row is NaN. The usual patch is `nan_to_num` on the output. Does it help?
# %% [markdown] tags=["ru"] of="821565d7"
# ## Строка, которой ничего не видно
#
# Маска показывает, какие ключи видны запросу: True — виден. Если в строке нет ни одного True, например в паддинге, все её оценки равны $-\infty$, а softmax от такой строки — NaN. Обычная заплатка — `nan_to_num` для выхода. Помогает ли она?
# %%
def patched(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    return (scores.softmax(-1) @ v).nan_to_num(0)


def three_tensors():
    return [torch.linspace(start, 1, 4).reshape(2, 2).requires_grad_() for start in (-1, 0, 0.5)]


q, k, v = three_tensors()
mask = torch.tensor([[True, True], [False, False]])
output = patched(q, k, v, mask)
output.sum().backward()
print("output", output.tolist())
for name, tensor in (("q", q), ("k", k), ("v", v)):
    print(f"{name}.grad", tensor.grad.tolist())
# %% tags=["fact"]
assert output.isfinite().all() and q.grad.isfinite().all() and k.grad.isfinite().all() and v.grad.isnan().all()
q, k, v = three_tensors()
scaled_dot_product_attention(q[None, None], k[None, None], v[None, None], attn_mask=mask).sum().backward()
assert all(tensor.grad.isfinite().all() for tensor in (q, k, v))
hidden = torch.tensor([[True, True, True], [False, False, False]])
for need_weights, spoiled in ((True, True), (False, False)):
    found, _ = several(words, words, words, key_padding_mask=hidden, need_weights=need_weights)
    assert bool(found.isnan().any()) == spoiled
assert torch.masked.softmax(torch.ones(1, 2), -1, mask=torch.tensor([[False, False]])).isnan().all()
assert torch.full((1, 2), torch.finfo(torch.float32).min).softmax(-1).tolist() == [[0.5, 0.5]]


# %% [markdown] tags=["en"]
# Value and loss are finite. *All* of `v.grad` is lost, also for the row that was right, and after one step of the optimizer so is the model.
# %% [markdown] tags=["ru"] of="bceec597"
# Выход и функция потерь конечны. Но `v.grad` потерян *весь*, даже для той строки, в которой всё в порядке, а после первого же шага оптимизатора испорчена и модель.
# %% [markdown] tags=["en"]
# ### `fix_attention`
#
# **A row of attention that sees nothing gives NaN. Let it give 0 and add nothing to any gradient; all other rows stay.**
#
# * **Given.** `q`, of shape $(\ldots, n, d)$, `k` $(\ldots, m, d)$, `v` $(\ldots, m, e)$, `mask` $(\ldots, n, m)$ with True where a key is seen; the dots are the same in all four, and there may be none. The numbers are finite but may be large, those of hidden keys much larger than the others; no score overflows.
# * **Result.** An ordinary row stays as it is. A row that sees nothing gives an output of 0. <!-- output -->
# * **Result.** Such a row adds nothing to any gradient. <!-- gradients -->
# * **Result.** In the backward pass no node returns NaN (anomaly detection finds nothing). <!-- no_nan -->
# * **Result.** The second derivative is right. <!-- second -->
# * **Result.** All four may lie on another device than the CPU, such as a GPU; the output lies there, too. <!-- device -->
# * **Leave.** The mask. <!-- mask -->
# %% [markdown] tags=["ru"] of="38a12542"
# ### `fix_attention`
#
# **Строка внимания, которой ничего не видно, даёт NaN. Пусть она даёт 0 и ничего не добавляет к градиентам, а остальные строки не меняются.**
#
# * **Дано.** Тензоры `q` формы $(\ldots, n, d)$, `k` — $(\ldots, m, d)$, `v` — $(\ldots, m, e)$ и `mask` — $(\ldots, n, m)$, где True означает, что ключ виден; многоточие у всех четырёх обозначает одни и те же измерения, которых может и не быть. Все числа конечны, но могут быть большими, а у скрытых ключей — намного больше остальных; их произведения тоже конечны.
# * **Результат.** Результат для обычной строки остаётся прежним. Строка, которой ничего не видно, даёт на выходе 0. <!-- output -->
# * **Результат.** Ни в один градиент такая строка не вносит вклада. <!-- gradients -->
# * **Результат.** В обратном проходе ни один узел не возвращает NaN (режим обнаружения аномалий ничего не находит). <!-- no_nan -->
# * **Результат.** Вторая производная верна. <!-- second -->
# * **Результат.** Все четыре тензора могут лежать не на CPU, а на другом устройстве, например на GPU; там же лежит и результат. <!-- device -->
# * **Не менять.** Маска. <!-- mask -->
# %% answer="fix_attention"
def fix_attention(q, k, v, mask):
    seen = mask.any(dim=-1, keepdim=True)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask & seen, -torch.inf)
    return (scores.softmax(-1) * seen) @ v


# %% given="fix_attention"
def fix_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    return (scores.softmax(-1) @ v).nan_to_num(0)


# %% alternative="fix_attention"
def fix_attention(q, k, v, mask):
    scores = (q @ k.mT) / q.size(-1) ** 0.5
    scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    return torch.where(mask, scores.softmax(-1), 0.0) @ v


# %% alternative="fix_attention"
def fix_attention(q, k, v, mask):
    with sdpa_kernel(SDPBackend.MATH):
        return scaled_dot_product_attention(q, k, v, attn_mask=mask)


# %% alternative="fix_attention"
def fix_attention(q, k, v, mask):
    scores = torch.einsum("...nd,...md->...nm", q, k) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    top = scores.detach().amax(-1, keepdim=True)
    shares = (scores - top).exp() * mask
    total = shares.sum(-1, keepdim=True)
    return (shares / torch.where(total > 0, total, 1.0)) @ v


# %% check="fix_attention"
from autograder import check

check("fix_attention")


# %% [markdown] tags=["en"] explains="fix_attention"
# The output is finite, so the loss is finite. The gradients for `q` and `k` are finite as well: `masked_fill` passes nothing back to the filled entries. But the gradient for `v` is the transposed matrix of weights times what arrives. What arrives for the masked row is 0, the weight is NaN, and $0 \cdot$ NaN is NaN. *All* of `v.grad` is lost, also for the row that was right. After one step of the optimizer so is the model.
#
# A NaN must not come about; to remove it afterwards is too late. A large negative number in place of $-\infty$ makes no NaN and is wrong in another way: all entries of the row are equal, and the row that may see nothing sees everything. `scaled_dot_product_attention` returns 0 for such a row, with finite gradients, and so does `nn.MultiheadAttention` with `need_weights=False`; by default it returns NaN.
#
# The same in small: the mean of the entries of a row that are seen. For a row that sees nothing it is 0/0. One version patches the output, the other prevents the NaN: it changes what goes *into* the division.
#
# Both means are the same, and only the second gradient can be used.
# %% [markdown] tags=["ru"] explains="fix_attention" of="830f0d6f"
# Выход конечен, а значит, конечна и функция потерь. Конечны и градиенты по `q` и `k`: к заполненным элементам `masked_fill` ничего обратно не пропускает. Но градиент по `v` — это транспонированная матрица весов, умноженная на пришедший градиент. Для закрытой строки приходит 0, а вес — NaN, и $0 \cdot$ NaN — это NaN. Испорчен *весь* `v.grad`, в том числе и то, что пришло от правильной строки. После одного шага оптимизатора испорчена и модель.
#
# NaN не должен возникать: убирать его потом поздно. Если вместо $-\infty$ взять большое отрицательное число, NaN не появится, но будет другая ошибка: все элементы строки равны, и строке, которой ничего не должно быть видно, видно всё. Функция `scaled_dot_product_attention` для такой строки возвращает 0, и градиенты конечны. Так же ведёт себя `nn.MultiheadAttention` с `need_weights=False`, а по умолчанию получается NaN.
#
# Та же ошибка на примере попроще: среднее по видимым элементам строки. Если в строке ничего не видно, это 0/0. В одном варианте исправлен результат, в другом NaN не возникает вовсе: изменено то, что *поступает* на вход деления.
#
# Средние одинаковы, но пригоден только второй градиент.
# %%
def mean_of_seen(x, prevent):
    count = mask.sum(-1)
    if prevent:
        count = count.clamp(min=1)  # 0/1 in place of 0/0
    return ((x * mask).sum(-1) / count).nan_to_num(0)


for prevent in (False, True):
    x = torch.ones(2, 2, requires_grad=True)
    means = mean_of_seen(x, prevent)
    means.sum().backward()
    print(f"prevent={prevent}: means {means.tolist()}, x.grad {x.grad.tolist()}")
# %% tags=["fact"]
x = torch.ones(2, 2, requires_grad=True)
mean_of_seen(x, False).sum().backward()
assert x.grad[0].tolist() == [0.5, 0.5] and x.grad[1].isnan().all()
x = torch.ones(2, 2, requires_grad=True)
assert mean_of_seen(x, True).tolist() == [1, 0]
mean_of_seen(x, True).sum().backward()
assert x.grad.tolist() == [[0.5, 0.5], [0, 0]]


# %% [markdown] tags=["en"]
# ## A module as a function of its weights
#
# `torch.func` differentiates functions: `grad(f)` is the gradient of `f` with respect to its first argument, `jacrev(f)` and `jacfwd(f)` are its Jacobian, by backward passes or in forward mode, `vmap(f)` runs `f` over a batch. They nest: `grad(grad(f))`, `vmap(grad(f))`, `jacfwd(jacrev(f))`. But the weights of a module are no argument. `functional_call(module, weights, (x,))` makes them one: it calls the module with the tensors of a dict in place of its own, and puts everything back.
#
# What if a name in the dict is misspelled?
# %% [markdown] tags=["ru"] of="47baef99"
# ## Модуль как функция своих весов
#
# В `torch.func` дифференцируют функции: `grad(f)` — градиент функции `f` по первому аргументу, `jacrev(f)` и `jacfwd(f)` — её матрица Якоби, полученная обратными проходами или в прямом режиме, а `vmap(f)` применяет `f` ко всему батчу. Их можно вкладывать друг в друга: `grad(grad(f))`, `vmap(grad(f))`, `jacfwd(jacrev(f))`. Но веса модуля — не аргумент. Аргументом их делает `functional_call(module, weights, (x,))`: модуль вызывается с тензорами из словаря вместо собственных, а затем всё восстанавливается.
#
# А если в имени из словаря опечатка?
# %%
layer = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.ones_(layer.weight)
x = torch.tensor([[10.0]])
print("own weight:  ", layer(x).item())
print("weight 5:    ", functional_call(layer, {"weight": torch.tensor([[5.0]])}, (x,)).item())
print("weigth 5:    ", functional_call(layer, {"weigth": torch.tensor([[5.0]])}, (x,)).item())
print("afterwards:  ", layer(x).item())
# %% tags=["fact"]
five = torch.tensor([[5.0]])
assert functional_call(layer, {"weight": five}, (x,)).item() == 50
assert functional_call(layer, {"weigth": five}, (x,)).item() == 10
assert attempt(lambda: functional_call(layer, {"weigth": five}, (x,), strict=True)) == "RuntimeError"
assert layer(x).item() == 10 and not hasattr(layer, "weigth")
assert functional_call(layer, {}, (x,)).item() == 10


class Twice(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(1, 1, bias=False)
        self.second = self.first

    def forward(self, x):
        return self.second(self.first(x))


for tie_weights, kept in ((True, False), (False, True)):
    twice = Twice()
    own = twice.first.weight
    found = functional_call(twice, {"first.weight": five}, (x,), tie_weights=tie_weights)
    assert found.item() == 250 and (twice.first.weight is own) == kept
tied = Twice()
tied.second = torch.nn.Linear(1, 1, bias=False)
own = tied.second.weight = tied.first.weight
assert functional_call(tied, {"first.weight": five}, (x,)).item() == 250 and tied.second.weight is own
assert [name for name, _ in tied.named_parameters()] == ["first.weight"]
# %% [markdown] tags=["en"]
# Nothing: the entry is ignored, the module uses its own weight, and the gradient with respect to the entry is 0. `strict=True` raises an error, but then every parameter and buffer must be in the dict. Otherwise what is not in the dict (a frozen weight, a buffer) is taken from the module. A weight that two layers share has one name in `named_parameters()`, and one entry is enough for both. But if one *layer* stands under two names, torch 2.13 does not put its own weight back afterwards; `tie_weights=False` avoids that.
#
# `jacrev` and `jacfwd` give the same matrix. Which of them is cheaper? Here are the largest tensors that they make, for a function from 3 numbers to 300 and for one from 300 to 3.
# %% [markdown] tags=["ru"] of="cc616b7e"
# Ничего не будет: лишний элемент словаря не учитывается, модуль берёт собственный вес, а градиент по лишнему элементу равен 0. С параметром `strict=True` возникает ошибка, но тогда в словаре должны быть все параметры и буферы. Без него всё, чего в словаре нет (замороженный вес, буфер), берётся из модуля. У веса, общего для двух слоёв, в `named_parameters()` одно имя, и для обоих слоёв достаточно одного элемента. Но если под двумя именами доступен один и тот же *слой*, torch 2.13 после вызова не восстанавливает его вес. Этого не случится с `tie_weights=False`.
#
# Функции `jacrev` и `jacfwd` дают одну и ту же матрицу. Какая из них дешевле? Вот наибольшие тензоры, которые они создают, для функции от 3 чисел с 300 значениями и для функции от 300 чисел с 3 значениями.
# %%
from autograder.measure import counting_backward_runs, counting_ops

sizes = {}
for inputs, outputs in ((3, 300), (300, 3)):
    matrix = torch.ones(outputs, inputs)
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        with counting_backward_runs() as runs, counting_ops() as ops:
            jacobian(lambda w: (matrix @ w).tanh())(torch.ones(inputs))
        sizes[inputs, jacobian.__name__] = ops.largest
        print(f"{inputs:3} -> {outputs:3}  {jacobian.__name__}: largest {ops.largest:6}, backward passes {runs.times}")
# %% tags=["fact"]
assert sizes == {(3, "jacrev"): 90000, (3, "jacfwd"): 900, (300, "jacrev"): 900, (300, "jacfwd"): 90000}
# %% [markdown] tags=["en", "try"]
# Which of the two would you take for 3 inputs and 300 outputs, and which for a loss of a million weights? Say the rule.
#
# `jacrev` pushes one unit vector for each output, all at once, `jacfwd` one for each input. So take `jacfwd` for few inputs and `jacrev` for few outputs. A Hessian is the Jacobian of a gradient, with as many outputs as inputs: `jacfwd(jacrev(f))`.
# %% [markdown] tags=["ru", "try"] of="6e00e240"
# Какую из двух функций вы взяли бы для 3 входов и 300 выходов, а какую — для функции потерь от миллиона весов? Сформулируйте правило.
#
# Функция `jacrev` выполняет обратный проход сразу для всех единичных векторов, по одному на каждый выход, а `jacfwd` — проход в прямом режиме, с единичным вектором на каждый вход. Поэтому при малом числе входов берите `jacfwd`, а при малом числе выходов — `jacrev`. Матрица Гессе — это матрица Якоби градиента, у которого выходов столько же, сколько входов: `jacfwd(jacrev(f))`.
# %% [markdown] tags=["en"]
# Now per-sample gradients, as private training and the search for bad labels need them. How much do the ways of getting them cost for 64 samples and a network with 161 weights?
# %% [markdown] tags=["ru"] of="d23d73bc"
# Теперь о градиентах по отдельным примерам: они нужны, например, при обучении с дифференциальной приватностью и при поиске неверных меток. Во что обходятся разные способы при 64 примерах и сети со 161 весом?
# %%
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
x, y = torch.randn(64, 8), torch.randn(64, 1)
weights = dict(net.named_parameters())


def loop():
    parts = [torch.autograd.grad(mse_loss(net(a), b), weights.values()) for a, b in zip(x.split(1), y.split(1))]
    return [torch.stack(rows) for rows in zip(*parts)]


def one_forward():
    losses = (net(x) - y).square().mean(1)
    parts = [torch.autograd.grad(loss, weights.values(), retain_graph=True) for loss in losses]
    return [torch.stack(rows) for rows in zip(*parts)]


def mapped():
    def loss(weights, x, y):
        return mse_loss(functional_call(net, weights, (x[None],)), y[None])

    return list(
        vmap(grad(loss), in_dims=(None, 0, 0))({name: p.detach() for name, p in weights.items()}, x, y).values()
    )


costs = {}
for way in (loop, one_forward, mapped):
    with counting_backward_runs() as runs, counting_ops() as ops:
        way()
    costs[way.__name__] = (runs.times, ops.times)
    print(f"{way.__name__:12} backward passes: {runs.times:3}   operations: {ops.times}")
# %% tags=["fact"]
assert sum(p.numel() for p in net.parameters()) == 161
assert costs["loop"][0] == costs["one_forward"][0] == 64 and costs["mapped"][0] == 1
assert costs["one_forward"][1] > 5 * costs["loop"][1] > 50 * costs["mapped"][1]
assert all(
    torch.allclose(a, b, atol=1e-5) and torch.allclose(a, c, atol=1e-5)
    for a, b, c in zip(loop(), one_forward(), mapped())
)


# %% [markdown] tags=["en"]
# One forward pass for all samples looks like the cheaper half of the loop, and is the most expensive way. Each of its 64 backward passes goes through the graph of the whole batch, with 63 rows of zeros. `mapped` runs the program of one sample once, on tensors with an additional dimension.
#
# ### `per_sample_module`
#
# **Return the gradient of every sample for each parameter of a module, in a few calls.**
#
# The loss on sample $i$ is `mse_loss` of the output of the model for the batch of this one sample and of `y[i:i+1]`.
#
# * **Given.** `x` and `y`, with $B$ rows each. The model takes batches only and treats each sample on its own; it may have buffers (a `BatchNorm` in evaluation mode), frozen parameters, and two layers that share one weight (but not one layer under two names).
# * **Result.** A dict with an entry for each parameter that requires grad, under its name in `named_parameters()`: the gradients of all samples, of shape $(B, \ldots)$ with the shape of the parameter in place of the dots, with or without a graph. <!-- gradients -->
# * **Leave.** The model: weights, buffers, `.grad`, flags and mode. <!-- untouched -->
# * **Not allowed.** More than 3 calls of the model and backward passes together. <!-- passes -->
# %% [markdown] tags=["ru"] of="8d17b403"
# Кажется, что один прямой проход на все примеры вдвое сокращает работу цикла, а на деле это самый дорогой способ. Каждый из 64 обратных проходов идёт по графу всего батча, где 63 строки нулевые. В функции `mapped` программа для одного примера выполняется один раз, но над тензорами с дополнительным измерением.
#
# ### `per_sample_module`
#
# **Верните для каждого примера градиент по каждому параметру модуля, за несколько вызовов.**
#
# Функция потерь на примере $i$ — это `mse_loss` от двух величин: от выхода модели для батча из одного этого примера и от `y[i:i+1]`.
#
# * **Дано.** Тензоры `x` и `y`, по $B$ строк в каждом. Модель принимает только батчи и обрабатывает каждый пример отдельно; у неё могут быть буферы (`BatchNorm` в режиме оценки), замороженные параметры и два слоя с общим весом (но не один слой под двумя именами).
# * **Результат.** Словарь, в котором для каждого параметра, требующего градиента, под его именем из `named_parameters()` лежат градиенты по всем примерам: тензор формы $(B, \ldots)$, где вместо многоточия — форма параметра, с графом или без него. <!-- gradients -->
# * **Не менять.** Модель: веса, буферы, `.grad`, флаги и режим. <!-- untouched -->
# * **Нельзя.** Выполнять больше 3 вызовов модели и обратных проходов в сумме. <!-- passes -->
# %% answer="per_sample_module"
def per_sample_module(model, x, y):
    """A dict from the name of each trainable parameter to its gradients for all samples."""
    ### BEGIN SOLUTION
    weights = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}

    def loss(weights, x, y):
        return mse_loss(functional_call(model, weights, (x[None],)), y[None])

    return vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
    ### END SOLUTION


# %% alternative="per_sample_module"
def per_sample_module(model, x, y):
    weights = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}

    def losses(weights):
        return (functional_call(model, weights, (x,)) - y).square().flatten(1).mean(1)

    return torch.func.jacrev(losses)(weights)


# %% alternative="per_sample_module"
def per_sample_module(model, x, y):
    weights = {
        name: p.detach().expand(len(x), *p.shape).clone().requires_grad_()
        for name, p in model.named_parameters()
        if p.requires_grad
    }

    def loss(weights, x, y):
        return mse_loss(functional_call(model, weights, (x.unsqueeze(0),)), y.unsqueeze(0))

    found = torch.autograd.grad(vmap(loss)(weights, x, y).sum(), list(weights.values()))
    return dict(zip(weights, found))


# %% alternative="per_sample_module"
def per_sample_module(model, x, y):
    names = [name for name, p in model.named_parameters() if p.requires_grad]
    parameters = [p for p in model.parameters() if p.requires_grad]
    losses = (model(x) - y).pow(2).reshape(len(x), -1).mean(1)
    rows = torch.eye(len(x), dtype=losses.dtype)
    return dict(zip(names, vmap(lambda row: torch.autograd.grad(losses, parameters, row, retain_graph=True))(rows)))


# %% check="per_sample_module"
from autograder import check

check("per_sample_module")
# %% [markdown] tags=["en"]
# ## What `vmap` refuses
#
# `vmap` runs your function once, on tensors that hide a batch. Here are four functions that it refuses. What do they have in common?
# %% [markdown] tags=["ru"] of="edb91e12"
# ## Чего не может функция `vmap`
#
# Функция `vmap` выполняет вашу функцию один раз — над тензорами, внутри которых скрыт целый батч. Вот четыре функции, которые она не принимает. Что у них общего?
# %%
rows = torch.tensor([[1.0, 2.0], [-3.0, 1.0]])
norm = torch.nn.BatchNorm1d(2)


def branch(r):
    return r if r.sum() > 0 else -r


def write(r):
    pair = torch.zeros(2)
    pair[0] = r.sum()
    return pair


def drop(r):
    return torch.dropout(r, 0.5, True)


def normalise(r):
    return norm(torch.stack([r, -r]))


for refused in (branch, write, drop, normalise):
    print(f"{refused.__name__:10}", error_of(lambda: vmap(refused)(rows)))
# %% tags=["fact"]
assert "data-dependent control flow" in error_of(lambda: vmap(branch)(rows))
assert "vmap: inplace arithmetic" in error_of(lambda: vmap(write)(rows))
assert "randomness error mode" in error_of(lambda: vmap(drop)(rows))
assert ".item()" in error_of(lambda: vmap(lambda r: r * r.sum().item())(rows))
assert "dynamic shape" in error_of(lambda: vmap(lambda r: r[r > 0].sum())(rows))
assert "broadcast shape" in error_of(lambda: vmap(lambda r: torch.zeros(()).add_(r.sum()))(rows))
assert error_of(lambda: vmap(lambda r: r.clone().add_(1))(rows)) == "accepted"
assert error_of(lambda: vmap(lambda r: r.new_zeros(2).add_(r))(rows)) == "accepted"
fresh = torch.nn.BatchNorm1d(2)
try:
    vmap(lambda r: fresh(torch.stack([r, -r])))(rows)
    raise AssertionError
except RuntimeError as error:
    assert "in-place" in str(error) or "updated in place" in str(error)
without = torch.func.replace_all_batch_norm_modules_(copy.deepcopy(torch.nn.Sequential(fresh)))[0]
assert without.running_mean is None and without.num_batches_tracked is None
assert error_of(lambda: vmap(lambda r: without(torch.stack([r, -r])))(rows)) == "accepted"
assert "more than 1 value per channel" in error_of(lambda: vmap(lambda r: without(r[None]))(rows))


# %% [markdown] tags=["en"]
# ### `fix_vmap`
#
# **The loss works for one sample and is refused by `vmap`. Mend it: values and gradients as before.**
#
# The function is the loss of one sample, with $r_i = w_i x_i$. It sums $\sqrt{r_i}$ for $r_i > 0$ and $r_i$ itself for the rest; a sum $s > 2$ is replaced by $2 + (s - 2)/10$. It works for one sample. `vmap(fix_vmap, in_dims=(None, 0))` and `vmap(grad(fix_vmap), in_dims=(None, 0))` are refused. Mend it.
#
# * **Given.** `w` and `x`, vectors of the same length. The sum is never exactly 2. `x` is padded with zeros, and a weight may be 0, too.
# * **Result.** Values are the same as before, for one sample and under `vmap`. <!-- values -->
# * **Result.** The gradient with respect to `w` is right for every sample, also where an entry is 0. At $r_i = 0$ the second rule holds, and the derivative with respect to $w_i$ is $x_i$. <!-- gradients -->
# %% [markdown] tags=["ru"] of="bf095dd1"
# ### `fix_vmap`
#
# **Функция потерь работает на одном примере, а `vmap` её не принимает. Исправьте её так, чтобы значения и градиенты остались прежними.**
#
# Это функция потерь на одном примере, где $r_i = w_i x_i$. Складываются $\sqrt{r_i}$ при $r_i > 0$ и сами $r_i$ в остальных случаях. Если сумма $s > 2$, она заменяется на $2 + (s - 2)/10$. Для одного примера функция работает, а `vmap(fix_vmap, in_dims=(None, 0))` и `vmap(grad(fix_vmap), in_dims=(None, 0))` завершаются ошибкой. Исправьте её.
#
# * **Дано.** Векторы `w` и `x` одной длины. В точности равной 2 сумма не бывает. Вектор `x` может быть дополнен нулями, и вес тоже может быть равен 0.
# * **Результат.** Значения остаются прежними и для одного примера, и внутри `vmap`. <!-- values -->
# * **Результат.** Градиент по `w` верен для каждого примера, в том числе при нулевых элементах. При $r_i = 0$ действует второе правило, и производная по $w_i$ равна $x_i$. <!-- gradients -->
# %% answer="fix_vmap"
def fix_vmap(w, x):
    r = w * x
    positive = r > 0
    total = torch.where(positive, torch.where(positive, r, 1.0).sqrt(), r).sum()
    return torch.where(total > 2, 2 + (total - 2) / 10, total)


# %% given="fix_vmap"
def fix_vmap(w, x):
    total = torch.zeros((), dtype=x.dtype)
    for value in w * x:
        if value > 0:
            total += value.sqrt()
        else:
            total += value
    if total.item() > 2:
        total = 2 + (total - 2) / 10
    return total


# %% alternative="fix_vmap"
def fix_vmap(w, x):
    total = 0
    for value in w * x:
        root = value.masked_fill(value <= 0, 1.0).sqrt()
        total = total + torch.where(value > 0, root, value)
    return total.clamp(max=2) + (total - 2).clamp(min=0) / 10


# %% alternative="fix_vmap"
def fix_vmap(w, x):
    r = w * x
    positive = (r > 0).to(r.dtype)
    total = (positive * (r * positive + 1 - positive).sqrt() + (1 - positive) * r).sum()
    excess = torch.relu(total - 2)
    return total - 0.9 * excess


# %% alternative="fix_vmap"
def fix_vmap(w, x):
    r = w * x
    total = x.new_zeros(()) + torch.where(r > 0, r.masked_fill(r <= 0, 4.0) ** 0.5, r).sum(-1)
    return torch.minimum(total, 1.8 + total / 10)


# %% check="fix_vmap"
from autograder import check

check("fix_vmap")
# %% [markdown] tags=["en"] explains="fix_vmap"
# Whatever needs a number of one sample, or changes something that all samples share, cannot work under `vmap`. The errors name it.
#
# * A branch that depends on numbers becomes `torch.where`; `.item()` and `x[x > 0]` go the same way.
# * An in-place write is refused only if the tensor has no hidden batch, as `torch.zeros(...)`. `r.new_zeros(...)` has one, and so has a result of arithmetic.
# * Randomness must be chosen: `randomness="different"` or `"same"`.
# * `BatchNorm` in training mode writes its running statistics. `eval()` helps if you may use it; `torch.func.replace_all_batch_norm_modules_(model)` takes the statistics away. But then each sample is a batch of one, and after a linear layer `BatchNorm` refuses that: a per-sample gradient has no meaning where samples look at each other. `GroupNorm` is what one uses instead.
# %% [markdown] tags=["ru"] explains="fix_vmap" of="f121a650"
# Внутри `vmap` не работает ни то, чему нужно значение отдельного примера, ни то, что меняет данные, общие для всех примеров. Причину называет сообщение об ошибке.
#
# * Ветвление, которое зависит от чисел, заменяют на `torch.where`; так же поступают с `.item()` и `x[x > 0]`.
# * Запись на месте запрещена, только если в тензоре нет скрытого батча, как в `torch.zeros(...)`. В `r.new_zeros(...)` он есть, как и в тензорах, полученных арифметическими операциями над примером.
# * Нужно указать, как получать случайные числа: `randomness="different"` или `"same"`.
# * `BatchNorm` в режиме обучения обновляет накопленные статистики. Помогает `eval()`, если этот режим допустим; вызов `torch.func.replace_all_batch_norm_modules_(model)` убирает статистики. Но тогда каждый пример — батч из одного примера, а такой батч слой `BatchNorm` после линейного слоя не принимает: там, где примеры влияют друг на друга, градиент по отдельному примеру не имеет смысла. Вместо этого слоя берут `GroupNorm`.
# %%
print("branch    ", vmap(lambda r: torch.where(r.sum() > 0, r, -r))(rows).tolist())
print("write     ", vmap(lambda r: torch.stack([r.sum(), r.new_zeros(())]))(rows).tolist())
print("drop      ", error_of(lambda: vmap(drop, randomness="different")(rows)))
norm.eval()
print("normalise ", error_of(lambda: vmap(normalise)(rows)))


# %% [markdown] tags=["en"]
# ## A test for second derivatives
#
# An error is the good case: a wrong second derivative comes without one. And what looks like a defect may be none.
#
# ### `has_second_derivative`
#
# **Write a test: does `f` have second derivatives at `x`, and are all of them right?**
#
# * **Given.** `f`, which takes a vector and returns a scalar; its first derivative is right. It may contain custom Functions, attention and anything else; some of the custom Functions cannot be used with `torch.func`. `x`, a float64 vector of three entries that does not require grad.
# * **Result.** `True` if backward passes give the second derivatives of `f` at `x`, and all of them right. A linear function has one. <!-- accepts_right -->
# * **Result.** Else `False`. An `AssertionError` counts as `False`, and so does the error that `gradcheck` and its like raise. On a function without second derivatives, or with wrong ones, any `RuntimeError` counts as `False`, too. The test earns points for the wrong functions that it refuses, but only if it accepts every right one. <!-- catches_fused, catches_once, catches_constant, catches_half, catches_mixed -->
# %% [markdown] tags=["ru"] of="e56231ed"
# ## Тест для вторых производных
#
# Если возникла ошибка, нам повезло: неверная вторая производная получается без всяких сообщений. А то, что похоже на дефект, бывает нормой.
#
# ### `has_second_derivative`
#
# **Напишите тест: есть ли у `f` в точке `x` вторые производные и все ли они верны?**
#
# * **Дано.** Функция `f`, которая принимает вектор и возвращает скаляр; первая производная у неё верна. Внутри неё могут быть пользовательские функции, внимание и что угодно ещё; некоторые пользовательские функции несовместимы с `torch.func`. Вектор `x` float64 из трёх элементов, который не требует градиента.
# * **Результат.** `True`, если обратными проходами можно получить вторые производные функции `f` в точке `x` и все они верны. У линейной функции вторая производная есть. <!-- accepts_right -->
# * **Результат.** Иначе `False`. Исключение `AssertionError` считается ответом `False`, как и то, которое возникает в `gradcheck` и подобных ей функциях. Если вторых производных у функции нет или они неверны, ответом `False` считается и любая ошибка `RuntimeError`. Баллы начисляются за каждую отвергнутую неправильную функцию, но только если тест принял все правильные. <!-- catches_fused, catches_once, catches_constant, catches_half, catches_mixed -->
# %% answer="has_second_derivative"
def has_second_derivative(f, x):
    """Does autograd give the right second derivatives of `f` at `x`?"""
    ### BEGIN SOLUTION
    try:
        return torch.autograd.gradgradcheck(f, (x.detach().clone().requires_grad_(),))
    except RuntimeError:
        return False
    ### END SOLUTION


# %% alternative="has_second_derivative"
def has_second_derivative(f, x):
    def gradient(x, create_graph=False):
        x = x.detach().requires_grad_()
        return x, torch.autograd.grad(f(x), x, create_graph=create_graph)[0]

    x, g = gradient(x, create_graph=True)
    rows = []
    for entry in g:
        row = None
        if entry.requires_grad:
            try:
                (row,) = torch.autograd.grad(entry, x, retain_graph=True, allow_unused=True)
            except RuntimeError:
                return False
        rows.append(torch.zeros_like(x) if row is None else row)
    steps = 1e-5 * torch.eye(len(x), dtype=x.dtype)
    columns = [(gradient(x + step)[1] - gradient(x - step)[1]) / 2e-5 for step in steps]
    return torch.allclose(torch.stack(rows), torch.stack(columns, dim=1), atol=1e-4)


# %% alternative="has_second_derivative"
def has_second_derivative(f, x):
    point = x.clone().requires_grad_()
    directions = torch.tensor([[1.0, 2.0, -1.0], [0.5, -1.0, 3.0], [2.0, 1.0, 1.0]], dtype=x.dtype)
    (g,) = torch.autograd.grad(f(point), point, create_graph=True)

    def at(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(f(x), x)[0]

    for v in directions:
        product = torch.zeros_like(x)
        if g.requires_grad:
            (product,) = torch.autograd.grad(g, point, v, retain_graph=True, materialize_grads=True)
        expected = (at(x + 1e-5 * v) - at(x - 1e-5 * v)) / 2e-5
        assert (product - expected).abs().max() < 1e-4
    return True


# %% alternative="has_second_derivative"
def has_second_derivative(f, x):
    x = x.requires_grad_()
    return torch.autograd.gradgradcheck(lambda x: f(x).reshape(1), x, atol=1e-4)


# %% check="has_second_derivative"
from autograder import check

check("has_second_derivative")


# %% [markdown] tags=["en"] explains="has_second_derivative"
# Wrong second derivatives come from a custom Function that keeps an intermediate result, and from a `backward` that computes in NumPy. A linear function has a gradient without a graph, and that is no defect: its second derivative is 0.
# %% [markdown] tags=["ru"] explains="has_second_derivative" of="eca0e808"
# Неверные вторые производные бывают, если в пользовательской функции сохранён промежуточный результат или `backward` вычисляет что-то в NumPy. У градиента линейной функции нет графа, и это не дефект: её вторая производная равна 0.
# %% [markdown] tags=["en"]
# ## A second derivative by your engine
#
# Your engine of lesson 02 has no second derivative: after a pass `x.grad` is a bare tensor. Its rules compute `g * b` with the numbers of `b`. What would have to change, so that a pass records itself?
# %% [markdown] tags=["ru"] of="2e3e3eea"
# ## Вторая производная в вашем движке
#
# Второй производной в вашем движке из урока 02 нет: после прохода в `x.grad` лежит обычный тензор. Его правила вычисляют `g * b`, где `b` — просто числа. Что изменить, чтобы проход записывал сам себя?
# %% include=["own_engine/value", "own_engine/rules_and_walk"] tags=["folded"]
# %% [markdown] tags=["en"]
# Here a rule gets *values*: the gradient, the result and the inputs. A value can also be transposed, expanded, and subtracted from a number. And there is a short walk, in which gradients are values, too.
# %% [markdown] tags=["ru"] of="bf4ff7db"
# Теперь правило получает *значения*: градиент, результат и входы. Кроме того, значение можно транспонировать, расширить до формы и вычесть из числа. И есть короткий обход, в котором градиенты — тоже значения.
# %%
def record(op, data, *inputs):
    """As before, but the rule computes with values, so that what it makes is recorded."""
    made = Value(data, inputs, None, op)
    made.rule = lambda gradient: recorded_rules()[op](gradient, made, *inputs)
    return made


Value.t = lambda self: record("t", self.data.t(), self)
Value.expand = lambda self, shape: record("expand", self.data.expand(shape), self)
Value.__rsub__ = lambda self, number: record("-", number - self.data, self)


def gradients_of(root):
    """A dict from each value behind `root` to its gradient, which is a value."""
    order, seen = [], set()

    def visit(value):
        if value not in seen:
            seen.add(value)
            for each in value.inputs:
                visit(each)
            order.append(value)

    visit(root)
    found = {root: Value(torch.ones_like(root.data))}
    for value in reversed(order):
        for each, part in zip(value.inputs, value.rule(found[value]) if value.rule else ()):
            found[each] = found[each] + part if each in found else part
    return found


# %% [markdown] tags=["en"]
# ### `recorded_rules`
#
# **A rule written with values is recorded like any other computation.** Write the rules from lesson 02 that way. Each of the four earns three quarters of a point of its own.
#
# * **Given.** A rule is called with `g`, the gradient of the result; `out`, the result; and the inputs. All are values with `data`, a float64 tensor. The operations: `a + b`, `a * b`, `a @ b`, `a.t()`, `a.sum()`, `a.expand(shape)`, `a.tanh()`, and a number on the left of a minus, as in `1 - a`. For `+` and `*` the inputs have one shape.
# * **Result.** Each rule returns a tuple with one value for each input, in the shape of that input. What it returns can be differentiated with respect to `g` and the inputs. <!-- *, @, sum, tanh -->
# %% [markdown] tags=["ru"] of="3473c5fc"
# ### `recorded_rules`
#
# **Правило, записанное через значения, попадает в граф, как любое другое вычисление.** Запишите так правила из урока 02. За каждое из четырёх отдельно даётся три четверти балла.
#
# * **Дано.** Правило вызывается с аргументами `g` (градиент результата), `out` (результат) и входами. Всё это значения с полем `data`, тензором float64. Операции: `a + b`, `a * b`, `a @ b`, `a.t()`, `a.sum()`, `a.expand(shape)`, `a.tanh()` и число слева от минуса, например `1 - a`. У `+` и `*` входы одной формы.
# * **Результат.** Каждое правило возвращает кортеж: по одному значению на вход, той же формы, что и этот вход. То, что оно вернуло, можно дифференцировать по `g` и по входам. <!-- *, @, sum, tanh -->
# %% answer="recorded_rules"
def recorded_rules():
    return {
        "+": lambda g, out, a, b: (g, g),
        "-": lambda g, out, a: (0 - g,),
        "t": lambda g, out, a: (g.t(),),
        "expand": lambda g, out, a: (g.sum(),),  # from a number
        "*": lambda g, out, a, b: (g * b, g * a),
        "@": lambda g, out, a, b: (g @ b.t(), a.t() @ g),
        "sum": lambda g, out, a: (g.expand(a.data.shape),),
        "tanh": lambda g, out, a: (g * (1 - out * out),),
    }


# %% given="recorded_rules"
def recorded_rules():
    return {
        "+": lambda g, out, a, b: (g, g),
        "-": lambda g, out, a: (0 - g,),
        "t": lambda g, out, a: (g.t(),),
        "expand": lambda g, out, a: (g.sum(),),  # from a number
        "*": lambda g, out, a, b: ...,
        "@": lambda g, out, a, b: ...,
        "sum": lambda g, out, a: ...,
        "tanh": lambda g, out, a: ...,
    }


# %% alternative="recorded_rules"
def recorded_rules():
    def product(g, out, a, b):
        return b * g, a * g

    def matmul(g, out, a, b):
        return (b @ g.t()).t(), (g.t() @ a).t()

    def tanh(g, out, a):
        minus = Value(torch.tensor(-1.0, dtype=torch.float64))
        return (g + minus * g * out * out,)

    return {"*": product, "@": matmul, "sum": lambda g, out, a: [g.expand(a.data.shape)], "tanh": tanh}


# %% alternative="recorded_rules"
def recorded_rules():
    rules = {"+": lambda g, out, *inputs: tuple(g for _ in inputs)}
    rules["*"] = lambda g, out, *pair: tuple(g * each for each in reversed(pair))
    rules["@"] = lambda g, out, a, b: (g @ b.t(), a.t() @ g)
    rules["sum"] = lambda g, out, a: (g.expand(tuple(a.data.size())),)
    rules["tanh"] = lambda g, out, a: (g * (1 - out) * (1 - (0 - out)),)
    rules |= {"-": lambda g, out, a: (0 - g,), "t": lambda g, out, a: (g.t(),), "expand": lambda g, out, a: (g.sum(),)}
    return rules


# %% alternative="recorded_rules"
def recorded_rules():
    return dict(
        zip(
            ["+", "-", "t", "expand", "*", "@", "sum", "tanh"],
            [
                lambda g, out, a, b: (g, g),
                lambda g, out, a: (0 - g,),
                lambda g, out, a: (g.t(),),
                lambda g, out, a: (g.sum(),),
                lambda g, out, a, b: [b * g, g * a],
                lambda g, out, a, b: [g @ b.t(), (g.t() @ a).t()],
                lambda g, out, a: [g.expand(a.data.shape)],
                lambda g, out, a: [(1 - out * out) * g],
            ],
        )
    )


# %% check="recorded_rules"
from autograder import check

check("recorded_rules")


# %% [markdown] tags=["en"]
# Now your engine differentiates a gradient. For $y = \tanh(x)\,x$ the cell takes $y'$, and then the derivative of $y'$, twice: by you and by torch. Before you run it: is the second derivative at 0.5 positive or negative?
# %% [markdown] tags=["ru"] of="4d438cf6"
# Теперь ваш движок дифференцирует и градиент. Для $y = \tanh(x)\,x$ ячейка находит $y'$, а потом производную от $y'$: сначала с помощью вашего движка, затем в torch. Прежде чем запустить: в точке 0.5 вторая производная положительна или отрицательна?
# %%
def two_derivatives(x):
    first = gradients_of(x.tanh() * x)[x]
    return first.data.item(), gradients_of(first)[x].data.item()


def torchs_derivatives(x):
    (first,) = torch.autograd.grad(x.tanh() * x, x, create_graph=True)
    return first.item(), torch.autograd.grad(first, x)[0].item()


number = torch.tensor(0.5, dtype=torch.float64)
try:
    print("yours:", two_derivatives(Value(number)))
except TypeError:
    print("recorded_rules is still to be written, or a rule returns no tuple")
print("torch:", torchs_derivatives(number.clone().requires_grad_()))
# %% tags=["fact"]
own, theirs = two_derivatives(Value(number)), torchs_derivatives(number.clone().requires_grad_())
assert all(abs(a - b) < 1e-12 for a, b in zip(own, theirs))
matrix = torch.linspace(-1.0, 1.0, 6, dtype=torch.float64).reshape(2, 3)


def squared(x, y):
    return ((x @ y).tanh() * (x @ y)).sum()


a, b = Value(matrix), Value(matrix.t().clone())
first = gradients_of(squared(a, b))[a]
second = gradients_of((first * first).sum())
a2, b2 = matrix.clone().requires_grad_(), matrix.t().clone().requires_grad_()
(first2,) = torch.autograd.grad(squared(a2, b2), a2, create_graph=True)
assert torch.allclose(first.data, first2)
assert all(
    torch.allclose(second[x].data, y) for x, y in zip((a, b), torch.autograd.grad((first2 * first2).sum(), (a2, b2)))
)


# %% [markdown] tags=["en"]
# ## On a GPU
#
# What has a second derivative is a matter of kernels, and a GPU has others. With a GPU the cell tries the attention kernels there. `MATH` runs, and its gradient can be differentiated; that of no other kernel can, whether the kernel runs on your GPU or not.
# %% [markdown] tags=["ru"] of="aedf9535"
# ## На GPU
#
# Есть ли вторая производная, зависит от ядра, а на GPU ядра другие. На машине с GPU ячейка проверит там ядра внимания. Ядро `MATH` выполняется, и его градиент можно дифференцировать, а градиент любого другого ядра — нельзя, даже если само ядро на вашем GPU выполняется.
# %%
from autograder import on_gpu


def attention_twice_on_gpu():
    found = {}
    for kernel in ("MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION"):
        q = torch.ones(1, 2, 64, 64, device="cuda", dtype=torch.float16, requires_grad=True)

        def run():
            with warnings.catch_warnings(), sdpa_kernel(getattr(SDPBackend, kernel)):
                warnings.simplefilter("ignore")
                return scaled_dot_product_attention(q, q, q)

        def twice():
            (g,) = torch.autograd.grad(run().sum(), q, create_graph=True)
            torch.autograd.grad(g.sum(), q)

        found[f"{kernel} runs"] = attempt(run) == "accepted"
        found[f"{kernel} twice"] = attempt(twice) == "accepted"
    return found


on_gpu(attention_twice_on_gpu)
# %% tags=["fact"]
from autograder.lessons.gpu_recordings import check_claims

check_claims(
    attention_twice_on_gpu,
    lambda measured: {
        "MATH runs": measured["MATH runs"],
        "MATH can be differentiated twice": measured["MATH twice"],
        "no other kernel can": not any(
            holds for name, holds in measured.items() if "twice" in name and "MATH" not in name
        ),
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
