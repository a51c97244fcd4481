# %% [markdown] tags=["en"] needs="02" about="vᵀJ, J v and H v at the right cost, finite differences, `gradcheck`"
# # Jacobian products
#
# A function with 1000 inputs and 1000 outputs has a million partial derivatives. `backward()` does not compute them one by one. They form a matrix, and one pass computes the product of a vector with it, at a small multiple of the price of a forward pass. Which vector, on which side, and what if you need another product?
#
# After this lesson you can:
#
# * say which shape `v` has in `backward(v)`, and what ends up in `.grad`;
# * get $v^TJ$, $Jv$, rows, columns and the product with the Hessian matrix, $Hv$, without building a matrix, and count what it cost;
# * tell one product from the other where they look alike.
#
# Extra exercises check a derivative numerically, with a suitable step, and show what such a check does not see.
#
# You need lesson 02: the graph, `backward()`, `retain_graph`.
# %% [markdown] tags=["ru"] about="vᵀJ, J v и H v без лишних затрат, конечные разности, `gradcheck`" of="6a747343"
# # Произведения с матрицей Якоби
#
# У функции с 1000 входов и 1000 выходов миллион частных производных. Метод `backward()` не вычисляет их по одной: эти производные составляют матрицу, и за один проход на неё умножается вектор. Обходится это не дороже нескольких прямых проходов. Что это за вектор, с какой стороны на него умножают и что делать, если нужно другое произведение?
#
# После урока вы сможете:
#
# * определить, какой формы должен быть вектор `v` в вызове `backward(v)` и что окажется в `.grad`;
# * получать $v^TJ$, $Jv$, строки, столбцы и произведение матрицы Гессе на вектор $Hv$, не строя матрицу, и подсчитывать, во что это обходится;
# * отличить одно произведение от другого там, где они выглядят одинаково.
#
# В дополнительных упражнениях производная проверяется численно, с подходящим шагом, и видно, каких ошибок такая проверка не обнаруживает.
#
# Понадобится урок 02: граф, `backward()`, `retain_graph`.
# %% tags=["en"]
# Does the import fail? Install the course by pip (its file, or autograd-course),
# and uninstall another `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("jacobian_products", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("jacobian_products", language="ru")
# %%
import torch
from torch.autograd import forward_ad, functional, gradcheck

# %% tags=["fact"]
from torch.utils._python_dispatch import TorchDispatchMode


class Products(TorchDispatchMode):
    """Counts the products with a matrix."""

    times = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.times += func._schema.name in ("aten::mm", "aten::mv", "aten::addmm", "aten::addmv")
        return func(*args, **(kwargs or {}))


layers = torch.ones(64, 64), torch.ones(64, 64)
column = torch.ones(64, 1, requires_grad=True)
with Products() as forward:
    (layers[1] @ (layers[0] @ column).tanh()).tanh()
with Products() as both:
    torch.autograd.grad((layers[1] @ (layers[0] @ column).tanh()).tanh().sum(), column)
assert forward.times == 2 and both.times == 4


# %% [markdown] tags=["en"]
# ## `v` has the output's shape
#
# Let $y = Wx$ with three inputs and two outputs. The *Jacobian matrix* $J$ of a function has a row for each output and a column for each input: $J_{ij}$ is the partial derivative of $y_i$ with respect to $x_j$. Here $J$ is $W$ itself, of shape (2, 3). Lecture notes often draw it $n \times n$; that is the special case of as many outputs as inputs.
#
# `y.backward(v)` adds the *vector-Jacobian product* (VJP) $v^TJ$ to `x.grad`, which is empty here: the rows of $J$, each times its entry of $v$, added up. It is the gradient of the scalar $v_1y_1 + v_2y_2$. Read the code; do not call `which_v()` yet.
# %% [markdown] tags=["ru"] of="ddb29ff5"
# ## Форма `v` совпадает с формой выхода
#
# Пусть $y = Wx$, причём входов три, а выходов два. В *матрице Якоби* $J$ (её часто называют якобианом, хотя якобиан — это, строго говоря, её определитель) на каждый выход приходится строка, на каждый вход — столбец: $J_{ij}$ — частная производная $y_i$ по $x_j$. Здесь $J$ — это сама матрица $W$ формы (2, 3). В конспектах матрицу Якоби часто рисуют квадратной, $n \times n$. Это частный случай, когда выходов столько же, сколько входов.
#
# Вызов `y.backward(v)` прибавляет к `x.grad` (здесь это поле пусто) *произведение вектора на матрицу Якоби* (VJP) $v^TJ$: сумму строк $J$, каждая из которых умножена на свой элемент $v$. Это градиент скаляра $v_1y_1 + v_2y_2$. Прочтите код, но `which_v()` пока не вызывайте.
# %%
W = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])
A = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def left_in_grad(f, x, v=None):
    """Return `x.grad` after `f(x).backward(v)`, or the name of the error it raises."""
    x = x.clone().requires_grad_()
    try:
        f(x).backward(v)
    except RuntimeError as error:
        return type(error).__name__
    return x.grad.tolist()


def y(x):  # (3,) -> (2,)
    return W @ x


def one(x):  # (3,) -> (1,)
    return 2 * x.sum(dim=0, keepdim=True)


def which_v():
    x = torch.tensor([1.0, 2.0, 3.0])
    return {
        "y, v = ones(2)": left_in_grad(y, x, torch.ones(2)),
        "y, v = ones(3)": left_in_grad(y, x, torch.ones(3)),
        "y, v = [1, 0]": left_in_grad(y, x, torch.tensor([1.0, 0.0])),
        "y, no v": left_in_grad(y, x),
        "A x, v = [1, 10]": left_in_grad(lambda x: A @ x, torch.ones(2), torch.tensor([1.0, 10.0])),
        "shape (1,), no v": left_in_grad(one, x),
        "shape (1,), v = tensor(1.)": left_in_grad(one, x, torch.tensor(1.0)),
    }


# %% [markdown] tags=["en"]
# ### `predict_vjp`
#
# Put what `which_v()` returns in place of each `...`: a list of numbers such as `[1.0, 2.0]`, or `"RuntimeError"`.
# %% [markdown] tags=["ru"] of="284fc46f"
# ### `predict_vjp`
#
# Вместо каждого `...` поставьте то, что вернёт `which_v()`: список чисел, например `[1.0, 2.0]`, или `"RuntimeError"`.
# %% answer="predict_vjp"
predict_vjp = {
    "y, v = ones(2)": [1.0, 1.0, 3.0],
    "y, v = ones(3)": "RuntimeError",
    "y, v = [1, 0]": [1.0, 0.0, 2.0],
    "y, no v": "RuntimeError",
    "A x, v = [1, 10]": [31.0, 42.0],
    "shape (1,), no v": [2.0, 2.0, 2.0],
    "shape (1,), v = tensor(1.)": "RuntimeError",
}
# %% given="predict_vjp"
predict_vjp = {
    "y, v = ones(2)": ...,
    "y, v = ones(3)": ...,
    "y, v = [1, 0]": ...,
    "y, no v": ...,
    "A x, v = [1, 10]": ...,
    "shape (1,), no v": ...,
    "shape (1,), v = tensor(1.)": ...,
}
# %% check="predict_vjp"
from autograder import check

check("predict_vjp")
# %% tags=["fact"]
assert predict_vjp == which_v()
assert left_in_grad(lambda x: y(x).double(), torch.tensor([1.0, 2.0, 3.0]), torch.ones(2)) == [1.0, 1.0, 3.0]
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# А теперь вызовем эту функцию.
# %%
which_v()


# %% [markdown] tags=["en"] explains="predict_vjp"
# Four sentences that you will read, and what the table says about them:
#
# * "You can only call `backward()` on a scalar." No: on an output of any shape, if you say with `v` how much each of its entries counts. What fails is a missing `v` for more than one element.
# * "`v` has the size of the tensor with respect to which we differentiate." No: `v` has the shape of the output.
# * "`backward()` is the same as `backward(torch.tensor(1.))`." Only for an output without dimensions, a scalar. For shape (1,) the first call works, and the second one raises an error.
# * "The gradient of the vector $y$ with respect to $x$ is the Jacobian product." The derivative is the matrix $J$. The product $v^TJ$ is what `backward` computes instead of it.
#
# For `A`: $[31, 42]$ is $v^TA$. The other product, $Av = [21, 43]$, has the same shape, and nothing would have raised an error. A `v` of another dtype than the output is converted: only the shape has to agree.
# %% [markdown] tags=["ru"] explains="predict_vjp" of="701cfd32"
# Сверим с таблицей четыре утверждения, которые вам наверняка встретятся:
#
# * «`backward()` можно вызвать только для скаляра». Нет: можно для выхода любой формы, если `v` задаёт веса, с которыми складываются элементы выхода. Ошибка возникает, когда элементов больше одного, а `v` нет.
# * «Размер `v` такой же, как у тензора, по которому дифференцируют». Нет: форма `v` — это форма выхода.
# * «`backward()` — то же самое, что `backward(torch.tensor(1.))`». Это верно только для нульмерного выхода (скаляра). Для формы (1,) первый вызов работает, а второй заканчивается ошибкой.
# * «Градиент вектора $y$ по $x$ — это произведение Якоби». Производная — это сама матрица $J$. Произведение $v^TJ$ — то, что `backward` вычисляет вместо неё.
#
# Теперь о матрице `A`: $[31, 42]$ — это $v^TA$. У другого произведения, $Av = [21, 43]$, та же форма, и подмена прошла бы без сообщения об ошибке. Если dtype у `v` не такой, как у выхода, autograd его преобразует: совпадать должна только форма.
# %% [markdown] tags=["en"]
# Here are the texts of the two errors.
# %% [markdown] tags=["ru"] of="46072333"
# Напечатаем тексты двух ошибок.
# %%
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
for v in (None, torch.ones(3)):
    try:
        y(x).backward(v)
    except RuntimeError as error:
        print(error)
# %% tags=["fact"]
assert (A @ torch.tensor([1.0, 10.0])).tolist() == [21.0, 43.0]
assert (torch.tensor([1.0, 10.0]) @ A).tolist() == [31.0, 42.0]


def said(v):
    try:
        y(x).backward(v)
    except RuntimeError as error:
        return str(error)


assert said(None) == "grad can be implicitly created only for scalar outputs"
assert said(torch.ones(3)).startswith("Mismatch in shape: grad_output[0] has a shape of torch.Size([3])")
assert said(torch.ones(2, 1)).startswith("Mismatch in shape")
number = torch.ones((), requires_grad=True)
(2 * number).backward(torch.tensor(1.0))
assert number.grad == 2
wide_x = torch.ones(3, dtype=torch.float64, requires_grad=True)
(third,) = torch.autograd.grad(2 * wide_x, wide_x, torch.full((3,), 1 / 3))
assert third.dtype == torch.float64 and torch.equal(third, 2 * torch.full((3,), 1 / 3).double())
# %% [markdown] tags=["en"]
# The picture shows both products for `y`, whose Jacobian is `W`. From the left, $v$ weighs rows: here $[1, 0]$ picks the first one, as in the third row of the table. From the right it weighs columns: here $[0, 1, 10]$ mixes two of them. Look at the shapes of the results: on the left it is the input's, on the right the output's. `backward` computes what is on the left.
# %% [markdown] tags=["ru"] of="4d36a43e"
# Нарисуем оба произведения для функции `y`. Её матрица Якоби — `W`. При умножении слева вектор $v$ задаёт веса строк: здесь $[1, 0]$ выбирает первую, как в третьей строке таблицы. При умножении справа он задаёт веса столбцов: здесь при $[0, 1, 10]$ складываются два из них, с весами 1 и 10. Посмотрите на формы результатов: слева это форма входа, справа — форма выхода. Метод `backward` вычисляет левое произведение.
# %% tags=["picture"]
from autograder import plot_jacobian

plot_jacobian(y, x, left=torch.tensor([1.0, 0.0]), right=torch.tensor([0.0, 1.0, 10.0]))
# %% [markdown] tags=["en", "try"]
# Choose `left` so that the strip below is the second row of `W`, and `right` so that the strip beside is its third column. Which entries do the two vectors have? Say it, then run.
#
# `left` is `[0, 1]` and `right` is `[0, 0, 1]`: a unit vector picks. So the rows of $J$ can be had one by one from the left, and its columns from the right.
# %% [markdown] tags=["ru", "try"] of="c3aec1ce"
# Выберите `left` так, чтобы в полосе снизу была вторая строка `W`, а `right` так, чтобы в полосе сбоку был её третий столбец. Какие элементы у этих двух векторов? Сначала ответьте, потом выполните ячейку.
#
# `left` равен `[0, 1]`, а `right` — `[0, 0, 1]`: единичный вектор выбирает. Поэтому строки $J$ можно получить по одной умножением слева, а столбцы — умножением справа.
# %% tags=["fact"]
assert (torch.tensor([0.0, 1.0]) @ W).tolist() == W[1].tolist()
assert (W @ torch.tensor([0.0, 0.0, 1.0])).tolist() == W[:, 2].tolist()


# %% [markdown] tags=["en"]
# ## An example that hides two mistakes
#
# The sentence that `v` has the size of the input is often supported by the code below. Is it any evidence for that?
# %% [markdown] tags=["ru"] of="d017e500"
# ## Пример, который скрывает две ошибки
#
# Фразу о том, что размер `v` — это размер входа, нередко подкрепляют кодом. Выполним его и посмотрим, подтверждается ли она.
# %%
inp = torch.eye(5, requires_grad=True)
out = (inp + 1).pow(2)
out.backward(torch.ones_like(inp), retain_graph=True)
print(f"First call\n{inp.grad}")
out.backward(torch.ones_like(inp), retain_graph=True)
print(f"\nSecond call\n{inp.grad}")
# %% [markdown] tags=["en"]
# No. Two things in it are wrong. You will look for them in a moment. Besides, the function works on each entry alone, so its Jacobian is diagonal (inputs and outputs written as vectors of 25): $v^TJ$ and $Jv$ have the same entries. Nothing in this example could tell a right sentence from a wrong one.
# %% [markdown] tags=["ru"] of="b721371c"
# Нет. В нём две ошибки. Скоро вы будете их искать. К тому же функция действует на каждый элемент отдельно, поэтому её матрица Якоби диагональна (если записать вход и выход в виде векторов из 25 чисел), и соответствующие элементы $v^TJ$ и $Jv$ совпадают. По такому примеру верное утверждение не отличить от неверного.
# %% tags=["fact"]
assert inp.grad[0, 0] == 8 and inp.grad[0, 1] == 4
eye = torch.eye(5, requires_grad=True)
(eye + 1).pow(2).backward(torch.ones_like(eye))
assert eye.grad[0, 0] == 4 and eye.grad[0, 1] == 2
flat = functional.jacobian(lambda p: (p + 1).pow(2), torch.eye(5)).reshape(25, 25)
numbers = torch.arange(1.0, 26.0)
assert torch.equal(numbers @ flat, flat @ numbers)
# %% [markdown] tags=["en"]
# Here is that Jacobian, with one and the same `v` of 25 different numbers on both sides. Compare the strip below the left matrix with the strip beside the right one: the entries are the same, each from the one coloured cell in its row or column.
# %% [markdown] tags=["ru"] of="9400e04b"
# Нарисуем эту матрицу Якоби дважды: на неё умножается один и тот же вектор `v` из 25 разных чисел, сначала слева, затем справа. Сравните полосу под левой матрицей с полосой сбоку от правой: элементы в них одни и те же, и каждый получен из единственной закрашенной клетки своей строки или столбца.
# %% tags=["picture"]
v = torch.arange(1.0, 26.0)
plot_jacobian(lambda inp: (inp + 1).pow(2), inp, left=v, right=v)
# %% [markdown] tags=["en", "try"]
# For which function would the two strips differ? Put `.cumsum(0)` behind `.pow(2)`, so that each row is added to the next. What will the matrices look like, and which strip grows downwards? Say it, then run.
#
# Cells appear below the diagonal only: an entry has an influence on itself and on what comes after it. $Jv$ adds up more and more entries of $v$ as it goes down, $v^TJ$ fewer and fewer, so now a wrong sentence would show.
# %% [markdown] tags=["ru", "try"] of="2c47fdae"
# Для какой функции эти две полосы различались бы? Допишите `.cumsum(0)` после `.pow(2)`, чтобы каждая строка прибавлялась к следующей. Как будут выглядеть матрицы и в какой из полос числа растут сверху вниз? Сначала ответьте, потом выполните ячейку.
#
# Клетки появятся только под диагональю: элемент влияет на себя и на то, что идёт после него. В $Jv$ сверху вниз складывается всё больше элементов $v$, в $v^TJ$ — всё меньше, и теперь неверное утверждение было бы заметно.
# %% tags=["fact"]
lower = functional.jacobian(lambda p: (p + 1).pow(2).cumsum(0), torch.ones(5, 5)).reshape(25, 25)
assert torch.equal(lower, lower.tril()) and not torch.equal(numbers @ lower, lower @ numbers)


# %% [markdown] tags=["en"]
# ### `fix_two_products`
#
# **The function is to return $v^TJ$ for a `v` of ones, and for the given `v`. Mend it.**
#
# * **Given.** `f`, which takes and returns a tensor; the output may have another shape than `inp`. `inp`, a leaf that requires grad. `v`, of the output's shape. All are float64.
# * **Result.** A pair of tensors of the shape of `inp`: first the product $v^TJ$ with a `v` of ones. <!-- ones -->
# * **Result.** The second is the one with the given `v`. <!-- v -->
# * **Result.** Both are exact up to rounding: the error is at most $10^{-12}$ of the largest entry. <!-- exact -->
# * **Result.** The function works, too, where `inp` and `v` lie on another device than the CPU, such as a GPU. <!-- device -->
# * **Leave.** `inp.grad`, whether something is in it or `None`. <!-- grad -->
# %% [markdown] tags=["ru"] of="e04c8c4e"
# ### `fix_two_products`
#
# **Функция должна вернуть $v^TJ$ для `v` из единиц и для заданного `v`. Исправьте её.**
#
# * **Дано.** Функция `f`, которая принимает и возвращает тензор; форма выхода может отличаться от формы `inp`. Лист `inp`, который требует градиента. Тензор `v` той же формы, что выход. Все тензоры — float64.
# * **Результат.** Пара тензоров той же формы, что и `inp`: первый — произведение $v^TJ$, где `v` состоит из единиц. <!-- ones -->
# * **Результат.** Второй — произведение с переданным `v`. <!-- v -->
# * **Результат.** Оба верны с точностью до округления: погрешность не больше $10^{-12}$ от наибольшего по модулю элемента. <!-- exact -->
# * **Результат.** Функция работает и тогда, когда `inp` и `v` лежат не на CPU, а на другом устройстве, например на GPU. <!-- device -->
# * **Не менять.** Поле `inp.grad`, будь там тензор или `None`. <!-- grad -->
# %% answer="fix_two_products"
def fix_two_products(f, inp, v):
    out = f(inp)
    (first,) = torch.autograd.grad(out, inp, torch.ones_like(out), retain_graph=True)
    (second,) = torch.autograd.grad(out, inp, v)
    return first, second


# %% given="fix_two_products"
def fix_two_products(f, inp, v):
    out = f(inp)
    out.backward(torch.ones_like(inp), retain_graph=True)
    first = inp.grad
    out.backward(v, retain_graph=True)
    second = inp.grad
    return first, second


# %% alternative="fix_two_products"
def fix_two_products(f, inp, v):
    old, inp.grad = inp.grad, None
    out = f(inp)
    out.backward(torch.ones_like(out), retain_graph=True)
    first, inp.grad = inp.grad, None
    out.backward(v)
    second, inp.grad = inp.grad, old
    return first, second


# %% alternative="fix_two_products"
def fix_two_products(f, inp, v):
    out, product = torch.func.vjp(f, inp)
    return [product(u)[0] for u in (torch.ones_like(out), v)]


# %% alternative="fix_two_products"
def fix_two_products(f, inp, v):
    return torch.autograd.grad(f(inp).sum(), inp)[0], torch.autograd.grad((v * f(inp)).sum(), inp)[0]


# %% check="fix_two_products"
from autograder import check

check("fix_two_products")
# %% [markdown] tags=["en"] explains="fix_two_products"
# The first mistake is a `v` in the shape of the input: it runs, because `inp` and `out` have the same shape. The second is a `.grad` that adds up: the second call shows 8 and 4 where the first shows 4 and 2, although the arguments were the same.
# %% [markdown] tags=["ru"] explains="fix_two_products" of="280b0994"
# Ошибок здесь две. Во-первых, вектор `v` взят по форме входа: код работает лишь потому, что у `inp` и `out` одна и та же форма. Во-вторых, градиенты накапливаются в `.grad`: второй вызов даёт 8 и 4 там, где первый дал 4 и 2, хотя аргументы те же самые.


# %% [markdown] tags=["en"]
# `torch.autograd.grad(out, inp, v)` returns $v^TJ$ and leaves `.grad` alone. It returns a tuple, one entry for each input, hence the comma in `(first,) =`. For products it is the better tool; `backward` is for training networks.
# %% [markdown] tags=["ru"] of="40bc9a1d"
# Функция `torch.autograd.grad(out, inp, v)` возвращает $v^TJ$ и не меняет `.grad`. Результат — кортеж, по одному элементу на каждый вход. Отсюда запятая в `(first,) =`. Произведения удобнее получать так, а `backward` нужен для обучения сетей.
# %% [markdown] tags=["en"]
# ## Forward mode: the other product
#
# What is the other product, $Jv$ (the *Jacobian-vector product*, JVP), good for? It says how all outputs change when the input moves along $v$: it is the derivative along a direction. A backward pass with a unit vector gives one row of $J$, and to multiply you need all rows: $m$ backward passes.
#
# *Forward mode* needs none. It computes with *dual numbers* $a + b\varepsilon$, where $\varepsilon^2 = 0$: $(3 + 1\varepsilon)^2 = 9 + 6\varepsilon$, and 6 is the derivative of $x^2$ at 3. Each operation carries the value and, beside it, the *tangent*, which starts as $v$ and comes out as $Jv$. One pass through `f`, no graph, no backward pass.
# %% [markdown] tags=["ru"] of="a0a26723"
# ## Прямой режим: другое произведение
#
# Зачем нужно другое произведение, $Jv$ (*произведение матрицы Якоби на вектор*, JVP)? Оно показывает, как изменятся все выходы, если вход сдвинуть вдоль $v$: это производная по направлению. Обратный проход с единичным вектором даёт одну строку $J$, а для умножения нужны все строки, то есть $m$ обратных проходов.
#
# *Прямой режим* обходится без обратных проходов. В нём вычисления идут в *дуальных числах* $a + b\varepsilon$, где $\varepsilon^2 = 0$: $(3 + 1\varepsilon)^2 = 9 + 6\varepsilon$, и 6 — это производная функции $x^2$ в точке 3. Каждая операция передаёт дальше значение и вместе с ним *касательный вектор*: на входе он равен $v$, на выходе — $Jv$. Достаточно одного вычисления `f`, без графа и без обратного прохода. Посмотрим, как это делается.
# %%
x, v = torch.ones(2), torch.tensor([1.0, 10.0])

with forward_ad.dual_level():
    dual = forward_ad.make_dual(x, v)
    value, tangent = forward_ad.unpack_dual(A @ dual)
    print("value:  ", value.tolist())
    print("tangent:", tangent.tolist())
    result = A @ dual

print("outside:", forward_ad.unpack_dual(result).tangent)
# %% tags=["fact"]
assert value.tolist() == [3.0, 7.0] and tangent.tolist() == [21.0, 43.0]
assert forward_ad.unpack_dual(result).tangent is None
with forward_ad.dual_level():
    dual = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    assert [part.item() for part in forward_ad.unpack_dual(dual**2)] == [9.0, 6.0]
    with torch.no_grad():
        assert forward_ad.unpack_dual(dual**2).tangent == 6


# %% [markdown] tags=["en"]
# $[21, 43]$ is $Av$. Two things to note. The tangent lives inside its level, the block `with forward_ad.dual_level()`: after the block it is `None`, so read it before. And `no_grad()` is about graphs, and there is none here, so it does not switch forward mode off. `torch.func.jvp(f, (x,), (v,))` wraps the same thing and returns a pair, value and product.
#
# There is a second way, for functions that have no forward mode. $u^TJ$ is linear in $u$, and its Jacobian with respect to $u$ is $J^T$. A second product with a vector from the left, $v^TJ^T = (Jv)^T$, is what is wanted. Any $u$ will do, zeros too. In the cell `functional.jacobian` returns a whole matrix, and `functional.vjp` a pair of value and product. For `A`:
# %% [markdown] tags=["ru"] of="99954ea7"
# Получилось $[21, 43]$, то есть $Av$. Здесь нужно помнить о двух вещах. Во-первых, касательный вектор существует только внутри уровня, то есть блока `with forward_ad.dual_level()`: после блока на его месте `None`, поэтому читайте его раньше. Во-вторых, `no_grad()` управляет только графом, а графа здесь нет, поэтому прямой режим он не выключает. Функция `torch.func.jvp(f, (x,), (v,))` — обёртка над тем же механизмом. Она возвращает пару: значение функции и произведение.
#
# Есть и второй способ — для функций без прямого режима. Произведение $u^TJ$ линейно по $u$, и его матрица Якоби по $u$ — это $J^T$. Второе произведение с вектором слева, $v^TJ^T = (Jv)^T$, и есть то, что нужно. Подойдёт любой вектор $u$, даже нулевой. В ячейке `functional.jacobian` возвращает всю матрицу, а `functional.vjp` — пару из значения и произведения. Проверим это на матрице `A`:
# %%
def rows_mixed_by(u):  # u^T J, for the function x -> A @ x
    return u @ A


print(functional.jacobian(rows_mixed_by, torch.zeros(2)))
print(functional.vjp(rows_mixed_by, torch.zeros(2), v)[1])
# %% tags=["fact"]
assert torch.equal(functional.jacobian(rows_mixed_by, torch.zeros(2)), A.T)
assert functional.vjp(rows_mixed_by, torch.zeros(2), v)[1].tolist() == [21.0, 43.0]
x, u = torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)
assert torch.autograd.grad(torch.autograd.grad(A @ x, x, u, create_graph=True)[0], u, v)[0].tolist() == [21.0, 43.0]

# %% [markdown] tags=["en"]
# ## What a product costs
#
# Costs are counted here, not timed: calls of `f`, backward passes, and the number of elements in the largest new tensor. The function has 64 inputs and 64 outputs, so a matrix has 4096 elements. (`jacrev` and `jacfwd` return the whole matrix, by rows and by columns.) Which of these build one?
# %% [markdown] tags=["ru"] of="41ae43b8"
# ## Во что обходится произведение
#
# Затраты здесь не измеряют по часам, а подсчитывают: сколько вызовов `f`, сколько обратных проходов и сколько элементов в самом большом новом тензоре. У функции 64 входа и 64 выхода, так что в матрице 4096 элементов. (`jacrev` и `jacfwd` возвращают всю матрицу, по строкам и по столбцам.) Испытаем семь способов. Какие из них её строят?
# %%
from autograder.measure import CountedCalls, counting_backward_runs, counting_ops

weight = torch.linspace(-1, 1, 64 * 64).reshape(64, 64)
ways = {
    "v^T J": {
        "autograd.grad": lambda f, x, v: torch.autograd.grad(f(x), x, v),
        "func.vjp": lambda f, x, v: torch.func.vjp(f, x)[1](v),
    },
    "J v": {
        "func.jvp": lambda f, x, v: torch.func.jvp(f, (x,), (v,)),
        "functional.jvp": lambda f, x, v: functional.jvp(f, x, v),
        "functional.jacobian @ v": lambda f, x, v: functional.jacobian(f, x) @ v,
        "jacrev @ v": lambda f, x, v: torch.func.jacrev(f)(x) @ v,
        "jacfwd @ v": lambda f, x, v: torch.func.jacfwd(f)(x) @ v,
    },
}


def cost(how, f, x, v):
    """Calls of f, backward passes, operations, elements of the largest new tensor."""
    counted = CountedCalls(f)
    with counting_backward_runs() as runs, counting_ops() as ops:
        how(counted.function, x, v)
    return counted.times, runs.times, ops.times, ops.largest


print(f"{'':31} calls  backward  largest")
for product, hows in ways.items():
    for name, how in hows.items():
        x = torch.linspace(0, 1, 64, requires_grad=True)
        calls, runs, _, largest = cost(how, lambda p: (weight @ p).tanh(), x, torch.ones(64))
        print(f"{product:6} {name:24} {calls:5} {runs:9} {largest:8}")
# %% tags=["fact"]
counts = {
    name: cost(how, lambda p: (weight @ p).tanh(), torch.linspace(0, 1, 64, requires_grad=True), torch.ones(64))
    for hows in ways.values()
    for name, how in hows.items()
}
assert [counts[name][:2] for name in ("autograd.grad", "func.vjp")] == [(1, 1), (1, 1)]
assert counts["func.jvp"][:2] == (1, 0) and counts["functional.jvp"][:2] == (1, 2)
assert counts["functional.jacobian @ v"][:2] == (1, 64)
assert counts["jacrev @ v"][:2] == (1, 1) and counts["jacfwd @ v"][:2] == (1, 0)
assert all(counts[name][3] == 64 for name in ("autograd.grad", "func.vjp", "func.jvp", "functional.jvp"))
assert all(counts[name][3] == 4096 for name in ("functional.jacobian @ v", "jacrev @ v", "jacfwd @ v"))


# %% [markdown] tags=["en", "try"]
# Which of these ways build a matrix, and which one is not what its name says? Say it from the table before you read on.
#
# `functional.jvp` makes two backward passes: in spite of its name it is not forward mode, it is the trick with $u$. `jacrev` makes one backward pass, `jacfwd` none, and both still build the matrix. They use `vmap`, which turns a function of one vector into a function of a batch of them: one pass handles 64 vectors at once. So no single count is enough. Count passes *and* look at the largest tensor.
# %% [markdown] tags=["ru", "try"] of="f7713e71"
# Какие из этих способов строят матрицу, а у какого название обманчиво? Ответьте по таблице, прежде чем читать дальше.
#
# Функция `functional.jvp` делает два обратных прохода: вопреки названию, это не прямой режим, а приём с $u$. Функция `jacrev` делает один обратный проход, `jacfwd` — ни одного, и всё же обе строят матрицу. В них используется функция `vmap`, которая превращает функцию от вектора в функцию от батча векторов: за один проход обрабатываются сразу 64 вектора. Поэтому одного показателя мало. Считайте проходы *и* смотрите на самый большой тензор.
# %% [markdown] tags=["en"]
# ### `jvp`
#
# **Return $Jv$ at the price of one product, without the matrix.**
#
# * **Given.** `f`, which takes a tensor of shape $(n,)$ and returns one of shape $(m,)$. `x` and `v`, of shape $(n,)$ and float64; they do not require grad.
# * **Result.** $Jv$, a tensor of shape $(m,)$ and of the dtype of `x`. The function can be called again: no level of forward mode stays open. <!-- product -->
# * **Result.** It is exact up to rounding: the error is at most $10^{-12}$ of the largest entry. <!-- exact -->
# * **Not allowed.** More than 3 calls of `f` and backward passes together, whatever $n$ and $m$. <!-- passes -->
# * **Not allowed.** A new tensor of more than $4\max(n, m)$ elements. <!-- largest -->
# %% [markdown] tags=["ru"] of="4aefd498"
# ### `jvp`
#
# **Верните $Jv$ по цене одного произведения, не строя матрицы.**
#
# * **Дано.** Функция `f`, которая принимает тензор формы $(n,)$ и возвращает тензор формы $(m,)$. Тензоры `x` и `v` формы $(n,)$, float64; градиента они не требуют.
# * **Результат.** $Jv$: тензор формы $(m,)$ с тем же dtype, что у `x`. Функцию можно вызвать снова: открытых уровней прямого режима не остаётся. <!-- product -->
# * **Результат.** Произведение верно с точностью до округления: погрешность не больше $10^{-12}$ от наибольшего по модулю элемента. <!-- exact -->
# * **Нельзя.** Выполнять больше 3 вызовов `f` и обратных проходов вместе, при любых $n$ и $m$. <!-- passes -->
# * **Нельзя.** Создавать тензоры, в которых больше $4\max(n, m)$ элементов. <!-- largest -->
# %% answer="jvp"
def jvp(f, x, v):
    """The product of the Jacobian of `f` at `x` with the direction `v`."""
    ### BEGIN SOLUTION
    with forward_ad.dual_level():
        y = f(forward_ad.make_dual(x, v))
        return forward_ad.unpack_dual(y).tangent
    ### END SOLUTION


# %% alternative="jvp"
def jvp(f, x, v):
    return torch.func.jvp(f, (x,), (v,))[1]


# %% alternative="jvp"
def jvp(f, x, v):
    x = x.detach().requires_grad_()
    y = f(x)
    u = torch.zeros_like(y, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, u, create_graph=True)
    (product,) = torch.autograd.grad(g, u, v)
    return product


# %% alternative="jvp"
def jvp(f, x, v):
    return functional.jvp(f, x, v)[1]


# %% alternative="jvp"
def jvp(f, x, v):
    y, pull = torch.func.vjp(f, x)
    _, push = torch.func.vjp(pull, torch.ones_like(y))
    return push((v,))[0]


# %% alternative="jvp"
def jvp(f, x, v):
    # the derivative of t -> f(x + t v) at t = 0
    with torch.no_grad():
        return torch.func.jacfwd(lambda t: f(x + t * v))(torch.zeros((), dtype=x.dtype))


# %% check="jvp"
from autograder import check

check("jvp")


# %% [markdown] tags=["en"]
# ## A product with the Hessian
#
# The *Hessian matrix* $H$ of a function with one output holds its second derivatives. It is the Jacobian of the gradient, and symmetric, so both products with it agree. For $f(x) = x_1^2x_2$ at $(1, 2)$:
#
# $$g = (4, 1), \quad H = \begin{pmatrix} 4 & 2 \\ 2 & 0 \end{pmatrix}, \quad H \begin{pmatrix} 1 \\ 10 \end{pmatrix} = \begin{pmatrix} 24 \\ 2 \end{pmatrix}$$
#
# For a network with a million weights $H$ would have $10^{12}$ entries. A *Hessian-vector product* (HVP) needs none of them: $Hv$ is the gradient of the scalar $g \cdot v$, as long as $v$ is held fixed.
# %% [markdown] tags=["ru"] of="a37d8b88"
# ## Произведение матрицы Гессе на вектор
#
# *Матрица Гессе* $H$ функции с одним выходом состоит из её вторых производных. Это матрица Якоби градиента, и она симметрична, так что оба произведения с ней совпадают. Для $f(x) = x_1^2x_2$ в точке $(1, 2)$:
#
# $$g = (4, 1), \quad H = \begin{pmatrix} 4 & 2 \\ 2 & 0 \end{pmatrix}, \quad H \begin{pmatrix} 1 \\ 10 \end{pmatrix} = \begin{pmatrix} 24 \\ 2 \end{pmatrix}$$
#
# У сети с миллионом весов в $H$ было бы $10^{12}$ элементов. Для *произведения матрицы Гессе (гессиана) на вектор* (HVP) не нужен ни один из них: $Hv$ — это градиент скаляра $g \cdot v$, если $v$ считать постоянным. Начнём с самого градиента.
# %%
def f(x):
    return x[0] ** 2 * x[1]


x = torch.tensor([1.0, 2.0], requires_grad=True)
for how in ({"retain_graph": True}, {"create_graph": True}):
    (g,) = torch.autograd.grad(f(x), x, **how)
    print(how, "-> g =", g.tolist(), "with graph" if g.requires_grad else "without graph")

print("gradient of g.sum():", torch.autograd.grad(g.sum(), x, retain_graph=True)[0].tolist())
print("gradient of g @ g:  ", torch.autograd.grad(g @ g, x)[0].tolist())
# %% tags=["fact"]
x, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 10.0])
H = functional.hessian(f, x)
(g,) = torch.autograd.grad(f(x), x, create_graph=True)
assert H.tolist() == [[4, 2], [2, 0]] and g.tolist() == [4, 1] and v.tolist() == [1, 10]
assert torch.equal(torch.func.hessian(f)(x), H)
assert torch.autograd.grad(g @ v, x, retain_graph=True)[0].tolist() == (H @ v).tolist() == [24, 2]
assert torch.autograd.grad(g.sum(), x, retain_graph=True)[0].tolist() == H.sum(1).tolist() == [6, 2]
assert torch.autograd.grad(g @ g, x)[0].tolist() == (2 * H @ g).tolist() == [36, 16]
(g,) = torch.autograd.grad(f(x), x, retain_graph=True)
try:
    torch.autograd.grad(g @ v, x)
    raise SystemError("no error")
except RuntimeError as error:
    assert str(error) == "element 0 of tensors does not require grad and does not have a grad_fn"


# %% [markdown] tags=["en"]
# `retain_graph=True` keeps the graph of `f`; the gradient that comes back has none, and differentiating it raises "element 0 of tensors does not require grad and does not have a grad_fn". `create_graph=True` records the backward pass itself.
#
# The picture shows what that means. In the frame "only behind g" is what belongs to `g` alone, the recorded backward pass. Its arrows lead on to `x`: along them `g` can be differentiated once more. With `retain_graph=True` that frame would not be there.
# %% [markdown] tags=["ru"] of="f262ade0"
# При `retain_graph=True` сохранённое в графе функции `f` не освобождается, но у полученного градиента своего графа нет, и попытка его продифференцировать заканчивается ошибкой «element 0 of tensors does not require grad and does not have a grad_fn». При `create_graph=True` записывается и сам обратный проход.
#
# Посмотрим на рисунке, что это значит. В рамке «только для g» находится записанный обратный проход, от которого зависит только `g`. Стрелки из этой рамки ведут дальше, к `x`: благодаря им градиент `g` можно, в свою очередь, продифференцировать. При `retain_graph=True` этой рамки не было бы.
# %% tags=["picture"]
from autograder import draw

x = torch.tensor([1.0, 2.0], requires_grad=True)
value = f(x)
(g,) = torch.autograd.grad(value, x, create_graph=True)
draw(value, g)


# %% [markdown] tags=["en", "try"]
# The cell before the picture ended with two results. Is one of them the diagonal of $H$, $(4, 0)$? Say what each of them is.
#
# Neither is, and no error says so. `g.sum()` gives $(6, 2)$, the sums of the rows of $H$, not its diagonal $(4, 0)$. `g @ g` gives $(36, 16) = 2Hg$: there the weight depends on $x$, too, and by the product rule $Hg$ counts twice.
# %% [markdown] tags=["ru", "try"] of="99d9b451"
# Ячейка перед рисунком напечатала в конце два результата. Есть ли среди них диагональ $H$, то есть $(4, 0)$? Скажите, что представляет собой каждый.
#
# Нет, и autograd об этом не сообщает. Выражение `g.sum()` даёт $(6, 2)$, суммы строк $H$, а не её диагональ $(4, 0)$. Выражение `g @ g` даёт $(36, 16) = 2Hg$: там второй множитель тоже зависит от $x$, и по правилу дифференцирования произведения $Hg$ входит дважды.
# %% [markdown] tags=["en"]
# Now the costs again, for three sizes. Each of the four ways below is too dear for large $n$, or inexact. Which count shows it?
# %% [markdown] tags=["ru"] of="65a99993"
# Теперь снова подсчитаем затраты, на этот раз для трёх размеров входа. Каждый из четырёх способов ниже либо слишком дорог при больших $n$, либо неточен. По какой величине это видно?
# %%
def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def rows_of_the_hessian(f, x, v):
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.stack([torch.autograd.grad(entry, x, retain_graph=True)[0] @ v for entry in g])


def difference_of_gradients(f, x, v, h=1e-6):
    after, before = (torch.autograd.grad(f(point), point)[0] for point in (x + h * v, x - h * v))
    return (after - before) / (2 * h)


hessian_ways = {
    "functional.hessian @ v": lambda f, x, v: functional.hessian(f, x) @ v,
    "row by row": rows_of_the_hessian,
    "func.hessian @ v": lambda f, x, v: torch.func.hessian(f)(x) @ v,
    "finite differences": difference_of_gradients,
}


def sized(n):
    return torch.linspace(-1, 1, n, dtype=torch.float64, requires_grad=True), torch.ones(n, dtype=torch.float64)


print(f"{'n = 16 / 32 / 64':24} {'calls':>9} {'backward':>14} {'operations':>18} {'largest / n':>14}")
for name, how in hessian_ways.items():
    rows = [(n, *cost(how, rosenbrock, *sized(n))) for n in (16, 32, 64)]
    calls, runs, ops, largest = (" / ".join(str(row[i]) for row in rows) for i in (1, 2, 3, 4))
    scaled = " / ".join(f"{row[4] / row[0]:g}" for row in rows)
    print(f"{name:24} {calls:>9} {runs:>14} {ops:>18} {scaled:>14}")
# %% tags=["fact"]
ready_made = {
    "functional.hvp": lambda f, x, v: functional.hvp(f, x, v),
    "jvp of grad": lambda f, x, v: torch.func.jvp(torch.func.grad(f), (x,), (v,)),
}
small, large = (
    {name: cost(how, rosenbrock, *sized(n)) for name, how in {**ready_made, **hessian_ways}.items()} for n in (16, 64)
)
assert large["jvp of grad"] == (1, 1, small["jvp of grad"][2], 64)
assert large["functional.hvp"] == (1, 3, small["functional.hvp"][2], 64)
assert small["functional.hvp"][3] == 16
assert large["functional.hessian @ v"][1] == large["row by row"][1] == 65
assert large["functional.hessian @ v"][2] > 3 * small["functional.hessian @ v"][2]
assert large["row by row"][2] > 3 * small["row by row"][2]
assert large["row by row"][3] == 64 and large["functional.hessian @ v"][3] == 64**2
assert large["func.hessian @ v"][:3] == small["func.hessian @ v"][:3] and large["func.hessian @ v"][1] == 1
assert large["func.hessian @ v"][3] == 64**2
assert large["finite differences"][:3] == small["finite differences"][:3] and large["finite differences"][:2] == (2, 2)
assert large["finite differences"][3] == 64
x, direction = sized(32)
right = functional.hessian(rosenbrock, x) @ direction
errors = [(difference_of_gradients(rosenbrock, x, direction, h) - right).abs().max() / right.abs().max()
          for h in (1e-4, 1e-5, 1e-6, 1e-7)]  # fmt: skip
assert 1e-12 < min(errors) < 1e-8


# %% [markdown] tags=["en"]
# Almost every one is caught by some column, but no column catches all of them. `functional.hessian` and the rows make $n + 1$ backward passes. The rows never make a matrix. `func.hessian` makes one pass and a constant number of operations, but a tensor of $n \times n$. Finite differences show in no column: they fail in accuracy, and lose at least a third of the digits.
#
# ### `hvp`
#
# **Return $Hv$ at the price of a few passes, without the matrix.**
#
# * **Given.** `f`, which takes a tensor of shape $(n,)$, returns a scalar (a tensor without dimensions) and is not linear. `x` and `v`, of shape $(n,)$ and float64; they do not require grad.
# * **Result.** $Hv$, of shape $(n,)$ and of the dtype of `x`. <!-- product -->
# * **Result.** It is exact up to rounding: the error is at most $10^{-12}$ of the largest entry. <!-- exact -->
# * **Not allowed.** More than 4 calls of `f` and backward passes together. <!-- passes -->
# * **Not allowed.** A new tensor of more than $4n$ elements. <!-- largest -->
# * **Not allowed.** A number of operations that grows with $n$. <!-- operations -->
# %% [markdown] tags=["ru"] of="14bab300"
# Недостаток почти каждого способа виден хотя бы по одному столбцу, но такого столбца, по которому видны все недостатки сразу, нет. Функция `functional.hessian` и построчный способ требуют $n + 1$ обратных проходов, хотя построчный матрицы нигде не создаёт. Функция `func.hessian` обходится одним проходом и постоянным числом операций, но создаёт тензор $n \times n$. У конечных разностей недостаток не виден ни по одному столбцу: они проигрывают в точности и теряют не меньше трети знаков.
#
# ### `hvp`
#
# **Верните $Hv$ по цене нескольких проходов, не строя матрицы.**
#
# * **Дано.** Нелинейная функция `f`, которая принимает тензор формы $(n,)$ и возвращает скаляр (нульмерный тензор). Тензоры `x` и `v` формы $(n,)$, float64; градиента они не требуют.
# * **Результат.** $Hv$: тензор формы $(n,)$ с тем же dtype, что у `x`. <!-- product -->
# * **Результат.** Произведение верно с точностью до округления: погрешность не больше $10^{-12}$ от наибольшего по модулю элемента. <!-- exact -->
# * **Нельзя.** Выполнять больше 4 вызовов `f` и обратных проходов вместе. <!-- passes -->
# * **Нельзя.** Создавать тензоры, в которых больше $4n$ элементов. <!-- largest -->
# * **Нельзя.** Выполнять больше операций при большем $n$. <!-- operations -->
# %% answer="hvp"
def hvp(f, x, v):
    """The product of the Hessian of `f` at `x` with `v`."""
    ### BEGIN SOLUTION
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    (product,) = torch.autograd.grad(g, x, v)
    return product
    ### END SOLUTION


# %% alternative="hvp"
def hvp(f, x, v):
    x = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad((g * v.detach()).sum(), x)[0]


# %% alternative="hvp"
def hvp(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]


# %% alternative="hvp"
def hvp(f, x, v):
    return functional.hvp(f, x, v)[1]


# %% alternative="hvp"
def hvp(f, x, v):
    return functional.vhp(f, x, v)[1]


# %% alternative="hvp"
def hvp(f, x, v):
    _, pull = torch.func.vjp(torch.func.grad(f), x)
    return pull(v)[0]


# %% alternative="hvp"
def hvp(f, x, v):
    # the gradient of the derivative along v: reverse mode over forward mode
    return torch.func.grad(lambda p: torch.func.jvp(f, (p,), (v,))[1])(x)


# %% check="hvp"
from autograder import check

check("hvp")


# %% [markdown] tags=["en"]
# Ready-made: `functional.hvp(f, x, v)` returns value and product, by backward passes alone. `torch.func.jvp(torch.func.grad(f), (x,), (v,))` is forward mode over a gradient: one call of `f`, one backward pass.
# %% [markdown] tags=["ru"] of="9800835d"
# Есть и готовые функции: `functional.hvp(f, x, v)` возвращает значение и произведение и обходится одними обратными проходами, а `torch.func.jvp(torch.func.grad(f), (x,), (v,))` применяет прямой режим к градиенту: один вызов `f`, один обратный проход.
# %% [markdown] tags=["en"]
# ## What to keep
#
# * `backward(v)` gives $v^TJ$: `v` has the output's shape, the result the input's. One pass, no matrix.
# * $Jv$ is forward mode: dual numbers, `torch.func.jvp`. Or two products from the left.
# * An example with a symmetric Jacobian, such as a diagonal one, does not show on which side the vector stands. More outputs than inputs do.
# * $Hv$ is the gradient of $g \cdot v$, with `create_graph=True` and a fixed $v$.
# * No single count catches all expensive ways: count passes, operations and the largest tensor.
#
# From the extra sections:
#
# * Finite differences: both sides, float64, a step near $10^{-5}$. `gradcheck` sees the points that you give it.
# %% [markdown] tags=["ru"] of="56bb56d7"
# ## Что стоит запомнить
#
# * `backward(v)` даёт $v^TJ$: форма `v` та же, что у выхода, а форма результата та же, что у входа. Хватает одного прохода, а матрица не нужна.
# * $Jv$ можно получить в прямом режиме (дуальные числа, `torch.func.jvp`) или двумя произведениями слева.
# * Пример с симметричной матрицей Якоби, например диагональной, не показывает, с какой стороны стоит вектор. Это показывает функция, у которой число выходов не равно числу входов.
# * $Hv$ — градиент скаляра $g \cdot v$ при постоянном $v$; сам градиент функции вычисляют с `create_graph=True`.
# * Ни один подсчёт в отдельности не выявляет всех дорогих способов: считайте проходы, операции и самый большой тензор.
#
# Из дополнительных разделов:
#
# * Для конечных разностей берите значения по обе стороны от точки, тип float64 и шаг около $10^{-5}$. Функция `gradcheck` проверяет только те точки, которые вы ей передали.
# %% [markdown] tags=["en"]
# ## The whole matrix
#
# If you do want $J$: its rows are the products with the unit vectors (one entry is 1, the others are 0). `functional.jacobian` does exactly that. Here it is on a function of two arguments:
# %% [markdown] tags=["ru"] of="5ac980f2"
# ## Матрица целиком
#
# Если нужна сама матрица $J$, её строки можно получить как произведения с векторами стандартного базиса (одна единица, остальные нули). Функция `functional.jacobian` именно так и поступает. Применим её к функции двух аргументов:
# %%
def exp_adder(x, y):
    return 2 * x.exp() + 3 * y


inputs = torch.tensor([0.7074, 0.9178, 0.3003]), torch.tensor([0.9081, 0.2903, 0.7643])
functional.jacobian(exp_adder, inputs)


# %% [markdown] tags=["en"]
# Two matrices came back, one for each argument: $2e^{x_i}$ on the diagonal of the first, 3 on that of the second. Both are diagonal, because each output depends on the entry with the same index in each argument. `torch.func.jacrev(exp_adder)` would return the first matrix only: it differentiates with respect to argument 0 unless told otherwise by `argnums`.
# %% [markdown] tags=["ru"] of="63b7408a"
# Вернулись две матрицы, по одной на аргумент: на диагонали первой стоят $2e^{x_i}$, на диагонали второй — 3. Обе диагональны, потому что каждый выход зависит только от соответствующего элемента каждого аргумента. Вызов `torch.func.jacrev(exp_adder)` дал бы только первую матрицу: если не задать `argnums`, производная берётся по аргументу 0.
# %% tags=["fact"]
by_x, by_y = functional.jacobian(exp_adder, inputs)
assert torch.allclose(by_x, torch.diag(2 * inputs[0].exp())) and torch.equal(by_y, 3 * torch.eye(3))
assert torch.allclose(torch.func.jacrev(exp_adder)(*inputs), by_x)
assert torch.equal(torch.func.jacrev(exp_adder, argnums=1)(*inputs), by_y)


# %% [markdown] tags=["en"]
# ### `jacobian_rows`
#
# **Return the Jacobian matrix of `y`: row $i$ is the gradient of `y[i]`.**
#
# * **Given.** `y`, of shape $(m,)$, computed from the leaf `x`, of shape $(n,)$. Both are float64. The function itself is not given to you.
# * **Result.** The Jacobian matrix: a tensor of shape $(m, n)$ and of the dtype of `x`, whose row $i$ is the gradient of `y[i]`. <!-- jacobian -->
# * **Result.** It is exact up to rounding: the error is at most $10^{-12}$ of the largest entry. <!-- exact -->
# * **Leave.** `x.grad`, whether something is in it or `None`. <!-- grad -->
# %% [markdown] tags=["ru"] of="ebb375dc"
# ### `jacobian_rows`
#
# **Верните матрицу Якоби для `y`: строка $i$ — это градиент `y[i]`.**
#
# * **Дано.** Тензор `y` формы $(m,)$, вычисленный по листу `x` формы $(n,)$. Оба — float64. Самой функции у вас нет.
# * **Результат.** Матрица Якоби: тензор формы $(m, n)$ с тем же dtype, что у `x`, в котором строка $i$ — градиент `y[i]`. <!-- jacobian -->
# * **Результат.** Она верна с точностью до округления: погрешность не больше $10^{-12}$ от наибольшего по модулю элемента. <!-- exact -->
# * **Не менять.** Поле `x.grad`, будь там тензор или `None`. <!-- grad -->
# %% answer="jacobian_rows"
def jacobian_rows(y, x):
    """The Jacobian of `y`, shape (m,), with respect to the leaf `x`, shape (n,): a tensor of shape (m, n)."""
    ### BEGIN SOLUTION
    rows = [torch.autograd.grad(output, x, retain_graph=True)[0] for output in y]
    return torch.stack(rows)
    ### END SOLUTION


# %% alternative="jacobian_rows"
def jacobian_rows(y, x):
    J = torch.zeros(len(y), len(x), dtype=x.dtype)
    for i, unit in enumerate(torch.eye(len(y), dtype=y.dtype)):
        J[i] = torch.autograd.grad(y, x, unit, retain_graph=True)[0]
    return J


# %% alternative="jacobian_rows"
def jacobian_rows(y, x):
    (J,) = torch.autograd.grad(y, x, torch.eye(len(y), dtype=y.dtype), is_grads_batched=True)
    return J


# %% alternative="jacobian_rows"
def jacobian_rows(y, x):
    old, rows = x.grad, []
    for i in range(len(y)):
        x.grad = None
        y[i].backward(retain_graph=True)
        rows.append(x.grad)
    x.grad = old
    return torch.vstack(rows)


# %% alternative="jacobian_rows"
def jacobian_rows(y, x):
    # columns: u^T J is linear in u, and its derivative along a unit vector of the inputs is a column of J
    u = torch.ones_like(y, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, u, create_graph=True)
    columns = [torch.autograd.grad(entry, u, retain_graph=True)[0] for entry in g]
    return torch.stack(columns, dim=1).detach()


# %% check="jacobian_rows"
from autograder import check

check("jacobian_rows")


# %% [markdown] tags=["en"]
# ## A function without forward mode
#
# Forward mode needs a rule for every operation. A custom `Function` (lesson 07) that has only a `backward` raises `NotImplementedError` there, and `torch.func` refuses it unless it is written for `torch.func`. Backward passes remain: two of them give $Jv$, with the vector $u$ of above.
#
# ### `jvp_by_backward`
#
# **Return $Jv$ of a function that has no forward mode.**
#
# * **Given.** `f`, whose backward can be differentiated. `x` and `v`, of shape $(n,)$; they do not require grad.
# * **Result.** $Jv$, of shape $(m,)$ and of the dtype of `x`. <!-- product -->
# * **Result.** It is exact up to rounding: the error is at most $10^{-12}$ of the largest entry. <!-- exact -->
# * **Not allowed.** More than 3 calls of `f` and backward passes together. <!-- passes -->
# * **Not allowed.** A new tensor of more than $4\max(n, m)$ elements. <!-- largest -->
# %% [markdown] tags=["ru"] of="1d0ef2af"
# ## Функция без прямого режима
#
# В прямом режиме для каждой операции нужно своё правило. Пользовательская функция, то есть `Function` (урок 07), у которой есть только `backward`, приводит к ошибке `NotImplementedError`, а `torch.func` принимает её, только если она написана с расчётом на `torch.func`. Остаются обратные проходы: двух хватает, чтобы получить $Jv$ с помощью вектора $u$, о котором шла речь выше.
#
# ### `jvp_by_backward`
#
# **Верните $Jv$ для функции, у которой нет прямого режима.**
#
# * **Дано.** Функция `f`, обратный проход которой можно дифференцировать. Тензоры `x` и `v` формы $(n,)$; градиента они не требуют.
# * **Результат.** $Jv$: тензор формы $(m,)$ с тем же dtype, что у `x`. <!-- product -->
# * **Результат.** Произведение верно с точностью до округления: погрешность не больше $10^{-12}$ от наибольшего по модулю элемента. <!-- exact -->
# * **Нельзя.** Выполнять больше 3 вызовов `f` и обратных проходов вместе. <!-- passes -->
# * **Нельзя.** Создавать тензоры, в которых больше $4\max(n, m)$ элементов. <!-- largest -->
# %% answer="jvp_by_backward"
def jvp_by_backward(f, x, v):
    """J v of a function without forward mode."""
    ### BEGIN SOLUTION
    x = x.detach().requires_grad_()
    y = f(x)
    u = torch.zeros_like(y, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, u, create_graph=True)
    (product,) = torch.autograd.grad(g, u, v)
    return product
    ### END SOLUTION


# %% alternative="jvp_by_backward"
def jvp_by_backward(f, x, v):
    return functional.jvp(f, x, v)[1]


# %% alternative="jvp_by_backward"
def jvp_by_backward(f, x, v):
    x = x.clone().requires_grad_()
    y = f(x)
    u = torch.ones_like(y).requires_grad_()
    (g,) = torch.autograd.grad((u * y).sum(), x, create_graph=True)
    (g * v).sum().backward(inputs=[u])
    return u.grad


# %% alternative="jvp_by_backward"
def jvp_by_backward(f, x, v):
    x = x.clone().requires_grad_()
    y = f(x)

    def rows_mixed_by(u):
        return torch.autograd.grad(y, x, u, create_graph=True)[0]

    return functional.vjp(rows_mixed_by, torch.ones_like(y), v)[1]


# %% check="jvp_by_backward"
from autograder import check

check("jvp_by_backward")


# %% tags=["fact"]
class BackwardOnly(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g


refused = []
for how in (
    lambda: torch.func.jvp(BackwardOnly.apply, (torch.ones(2),), (torch.ones(2),)),
    lambda: BackwardOnly.apply(forward_ad.make_dual(torch.ones(2), torch.ones(2))),
):
    try:
        with forward_ad.dual_level():
            how()
    except RuntimeError as error:  # NotImplementedError is one
        refused.append(type(error).__name__)
assert refused == ["RuntimeError", "NotImplementedError"]
assert jvp_by_backward(BackwardOnly.apply, torch.ones(2), torch.tensor([1.0, 10.0])).tolist() == [3.0, 30.0]


# %% [markdown] tags=["en"]
# ## Which step?
#
# To find the derivative of a function that you cannot look into, or to check a derivative that you wrote, two values of the function are enough. The error of a one-sided difference, $(f(x + h) - f(x)) / h$, shrinks like $h$; that of a central one, $(f(x + h) - f(x - h)) / (2h)$, like $h^2$. So the smaller the step, the better?
# %% [markdown] tags=["ru"] of="f4e2a05d"
# ## Какой шаг выбрать?
#
# Чтобы найти производную функции, внутрь которой нельзя заглянуть, или проверить производную, которую написали вы сами, хватит двух значений функции. У односторонней разности, $(f(x + h) - f(x)) / h$, погрешность убывает как $h$, у центральной, $(f(x + h) - f(x - h)) / (2h)$, — как $h^2$. Значит, чем меньше шаг, тем лучше? Проверим.
# %%
def step_errors(h, dtype=torch.float64):
    """Errors of the one-sided and the central difference for sin at 1."""
    x = torch.tensor(1.0, dtype=dtype)
    h = torch.tensor(h, dtype=dtype)
    one_side = ((x + h).sin() - x.sin()) / h
    central = ((x + h).sin() - (x - h).sin()) / (2 * h)
    exact = torch.tensor(1.0, dtype=torch.float64).cos()
    return abs(one_side.double() - exact).item(), abs(central.double() - exact).item()


print("  step    one side   central    central, float32")
for power in range(1, 13):
    print(f"10^-{power:<5}", "{:9.1e} {:9.1e}".format(*step_errors(10.0**-power)), end="  ")
    print(f"{step_errors(10.0**-power, torch.float32)[1]:9.1e}" if power < 8 else "")
# %% tags=["picture"]
from autograder import plot_differences

plot_differences(torch.sin, 1.0)


# %% [markdown] tags=["en", "try"]
# At which step is each difference best, and how many digits are then right? Say it, then look for the stars.
#
# Read the curves from left to right: each one falls to its star, the best step, and then climbs again, with a low point here and there by luck. Below the best step the two values agree in more and more digits, and only the error of rounding is left in the difference, about $10^{-16}/h$. The best step balances the two errors. In float64 that is about $10^{-8}$ to one side, with an error of about $10^{-8}$, and about $10^{-5}$ to both sides, with an error of about $10^{-11}$. In float32 a central difference is good to five digits at best, at a step between $10^{-2}$ and $10^{-3}$, and worthless at $10^{-7}$.
# %% [markdown] tags=["ru", "try"] of="5acbbf57"
# При каком шаге каждая разность точнее всего и сколько цифр тогда верны? Сначала ответьте, потом найдите звёздочки.
#
# Проследите за кривыми слева направо: каждая опускается до звёздочки, которой отмечен лучший шаг, а потом снова растёт. Отдельные низкие точки — случайность. Когда шаг становится меньше лучшего, у двух значений функции совпадает всё больше знаков, и остаётся одна погрешность округления: после деления на шаг она составляет около $10^{-16}/h$. При лучшем шаге обе погрешности уравновешены. В float64 лучший шаг для односторонней разности — около $10^{-8}$ (погрешность порядка $10^{-8}$), для центральной — около $10^{-5}$ (погрешность порядка $10^{-11}$). В float32 центральная разность даёт в лучшем случае пять верных знаков, при шаге между $10^{-2}$ и $10^{-3}$, а при $10^{-7}$ не годится совсем.
# %% [markdown] tags=["en"]
# Mind the dtype of the step as well. `torch.zeros(n)` is float32, and $10^{-5}$ is stored there with a relative error of $2.5 \cdot 10^{-8}$; the relative error of the derivative is the same. `torch.zeros_like(x)` is as exact as `x`.
# %% [markdown] tags=["ru"] of="65a6fd65"
# Следите и за dtype шага. У тензора `torch.zeros(n)` dtype float32, и число $10^{-5}$ хранится в нём с относительной погрешностью $2.5 \cdot 10^{-8}$. Такой же будет и относительная погрешность производной. Тензор `torch.zeros_like(x)` имеет ту же точность, что и `x`.
# %% tags=["fact"]
sided = {power: step_errors(10.0**-power) for power in range(1, 13)}
assert 1e-9 < min(error for error, _ in sided.values()) < 1e-8
assert min(sided, key=lambda power: sided[power][0]) == 8
assert 1e-12 < min(error for _, error in sided.values()) < 3e-11
assert min(sided, key=lambda power: sided[power][1]) in (5, 6)
assert 8e-10 < step_errors(1e-4)[1] < 2e-9 and step_errors(1e-12)[1] > 1e-6
single = {power: step_errors(10.0**-power, torch.float32)[1] for power in range(1, 8)}
assert round(abs(torch.tensor(1e-5).item() / 1e-5 - 1), 9) == 2.5e-8
assert min(single, key=single.get) in (2, 3) and min(single.values()) > 5e-6 and single[7] > 0.05


# %% [markdown] tags=["en"]
# ### `numerical_jacobian`
#
# **Return the Jacobian matrix of a black box from its values alone, as exactly as float64 allows.**
#
# * **Given.** `f`, which takes a tensor of shape $(n,)$ and returns one of shape $(m,)$, computed without a graph: autograd cannot help. `f` and its derivatives are smooth, and its values are of the order of 10. You may call it as often as you like.
# * **Given.** `x`, of shape $(n,)$ and dtype float64, with entries between 0.5 and 2.5.
# * **Result.** The Jacobian matrix, a float64 tensor of shape $(m, n)$. <!-- jacobian -->
# * **Result.** The error is at most $10^{-9}$ of the largest entry. <!-- accurate -->
# * **Result.** `x` may lie on another device than the CPU, such as a GPU; the result lies there, too. <!-- device -->
# * **Leave.** `x`: it holds afterwards what it held before, up to rounding. <!-- x -->
# %% [markdown] tags=["ru"] of="31fd74bb"
# ### `numerical_jacobian`
#
# **Верните матрицу Якоби чёрного ящика, вычислив её только по его значениям, настолько точно, насколько позволяет float64.**
#
# * **Дано.** Функция `f`, которая принимает тензор формы $(n,)$ и возвращает тензор формы $(m,)$, вычисленный без графа: autograd здесь не поможет. Функция `f` и её производные гладкие, а её значения имеют порядок 10. Вызывать её можно сколько угодно раз.
# * **Дано.** Тензор `x` формы $(n,)$, float64, с элементами от 0.5 до 2.5.
# * **Результат.** Матрица Якоби: тензор float64 формы $(m, n)$. <!-- jacobian -->
# * **Результат.** Погрешность не больше $10^{-9}$ от наибольшего по модулю элемента. <!-- accurate -->
# * **Результат.** Тензор `x` может лежать не на CPU, а на другом устройстве, например на GPU; там же лежит и результат. <!-- device -->
# * **Не менять.** Тензор `x`: после вызова в нём то же, что и раньше, с точностью до округления. <!-- x -->
# %% answer="numerical_jacobian"
def numerical_jacobian(f, x):
    """The Jacobian of the black box `f` at `x`, by differences: a tensor of shape (m, n)."""
    ### BEGIN SOLUTION
    h, columns = 5e-6, []
    for j in range(len(x)):
        step = torch.zeros_like(x)
        step[j] = h
        columns.append((f(x + step) - f(x - step)) / (2 * h))
    return torch.stack(columns, dim=1)
    ### END SOLUTION


# %% alternative="numerical_jacobian"
def numerical_jacobian(f, x):
    h = torch.finfo(x.dtype).eps ** (1 / 3)
    steps = h * torch.eye(len(x), dtype=x.dtype, device=x.device)
    return torch.stack([(f(x + step) - f(x - step)) / (2 * h) for step in steps]).T


# %% alternative="numerical_jacobian"
def numerical_jacobian(f, x):
    columns = []
    for j in range(x.numel()):
        after, before = x.clone(), x.clone()
        after[j] += 1e-5
        before[j] -= 1e-5
        columns.append((f(after) - f(before)) / (after[j] - before[j]))
    return torch.column_stack(columns)


# %% alternative="numerical_jacobian"
def numerical_jacobian(f, x):
    # Richardson: two central differences, combined so that the error in h^2 cancels
    def central(h):
        return torch.stack([(f(x + e) - f(x - e)) / (2 * h) for e in h * torch.eye(len(x)).to(x)], dim=1)

    return (4 * central(1e-4) - central(2e-4)) / 3


# %% check="numerical_jacobian"
from autograder import check

check("numerical_jacobian")


# %% [markdown] tags=["en"]
# `gradcheck(f, inputs)` does such a comparison for you: central differences with a step of $10^{-6}$ against autograd, at the inputs you give, entry by entry of the Jacobian. It wants float64; in float32 it fails even for `sin`, whose derivative is right.
# %% [markdown] tags=["ru"] of="5905169d"
# Функция `gradcheck(f, inputs)` проверяет производную за вас: в указанных вами точках она поэлементно сравнивает матрицу Якоби, вычисленную autograd, с центральными разностями (шаг $10^{-6}$). Для неё нужен float64. В float32 проверка не проходит даже для `sin`, хотя производная синуса верна. Убедимся в этом.
# %%
import warnings

for dtype in (torch.float64, torch.float32):
    x = torch.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # in float32 it also warns
        print(dtype, gradcheck(torch.sin, (x,), raise_exception=False))
# %% tags=["fact"]
import inspect

with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    assert gradcheck(torch.sin, (torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True),))
    assert not warned
    single_precision = torch.tensor([1.0, 2.0], requires_grad=True)
    assert not gradcheck(torch.sin, (single_precision,), raise_exception=False)
    assert "not a double precision floating point" in str(warned[0].message)
assert inspect.signature(gradcheck).parameters["eps"].default == 1e-6


# %% [markdown] tags=["en"]
# ## A test that cannot fail
#
# The function below comes with a test on `f = lambda x: (x + 1) ** 2`. The test passes. On which function would you test it?
# %% [markdown] tags=["ru"] of="87e2a092"
# ## Тест, который всегда проходит
#
# Для функции ниже написан тест с `f = lambda x: (x + 1) ** 2`, и этот тест проходит. А на какой функции проверили бы её вы?
# %%
def swapped(f, x, v):
    """v^T J of f at x, says its author."""
    return torch.func.jvp(f, (x,), (v,))[1]


# %% [markdown] tags=["en"]
# ### `expose_swap`
#
# **Find one example on which the swapped product looks right, and one on which it is wrong without an error.**
#
# * **Result.** A pair of examples, each a triple `(f, x, v)`. `f` takes and returns a vector of length $n$, $n \ge 2$, the same at each call; `x` and `v` are tensors of that shape and of one dtype. <!-- square -->
# * **Result.** In the first, `swapped(f, x, v)` equals $v^TJ$ to five digits. <!-- hides -->
# * **Result.** There no entry of $J$ or `v` is zero, and each is at least a thousandth of the largest one in size. <!-- full -->
# * **Result.** In the second, `swapped(f, x, v)` runs without an error, and the result is off from $v^TJ$ by more than 1 % of its largest entry. <!-- exposes -->
# %% [markdown] tags=["ru"] of="45cde09b"
# ### `expose_swap`
#
# **Найдите пример, в котором произведение с перепутанным порядком кажется верным, и пример, в котором оно неверно, а сообщения об ошибке нет.**
#
# * **Результат.** Пара примеров, каждый — тройка `(f, x, v)`. Функция `f` принимает вектор длины $n$, $n \ge 2$, и возвращает вектор той же длины, причём при повторном вызове с тем же входом результат тот же; `x` и `v` — тензоры той же длины и с одинаковым dtype. <!-- square -->
# * **Результат.** В первом примере `swapped(f, x, v)` совпадает с $v^TJ$ с точностью до пяти знаков. <!-- hides -->
# * **Результат.** При этом среди элементов $J$ и `v` нет нулей, и каждый по модулю не меньше тысячной доли наибольшего. <!-- full -->
# * **Результат.** Во втором примере `swapped(f, x, v)` вычисляется без ошибки, но результат отличается от $v^TJ$ больше чем на 1 % от наибольшего по модулю элемента. <!-- exposes -->
# %% answer="expose_swap"
def expose_swap():
    """A pair of triples (f, x, v): where `swapped` looks right, and where it does not."""
    ### BEGIN SOLUTION
    symmetric = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
    other = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    x, v = torch.ones(2), torch.tensor([1.0, 10.0])
    return (lambda x: symmetric @ x, x, v), (lambda x: other @ x, x, v)
    ### END SOLUTION


# %% alternative="expose_swap"
def expose_swap():
    # a gradient has a symmetric Jacobian; a rotation has an antisymmetric part
    gradient = torch.func.grad(lambda x: x.sum() ** 3 + x[0] * x[1])
    x, v = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64), torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    return [(gradient, x, v), (lambda x: x.roll(1) * x, x, v)]


# %% alternative="expose_swap"
def expose_swap():
    # here J is not symmetric, but J v and v^T J agree for this v: both rows and columns have the sum 6
    square = torch.tensor([[1.0, 3.0, 2.0], [2.0, 1.0, 3.0], [3.0, 2.0, 1.0]])
    x = torch.zeros(3)
    return (lambda x: square @ x, x, torch.ones(3)), (lambda x: square @ x, x, torch.tensor([1.0, 0.0, 0.0]))


# %% alternative="expose_swap"
def expose_swap():
    def hides(x):
        return x.sum().expand(2)  # every entry of J is 1

    def exposes(x):
        return torch.stack([x[1], 0 * x[0]])

    return (hides, torch.rand(2), torch.rand(2) + 1), (exposes, torch.rand(2), torch.ones(2))


# %% check="expose_swap"
from autograder import check

check("expose_swap")
# %% tags=["fact"]
point, weights = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, -2.0, 5.0])
elementwise = lambda x: (x + 1) ** 2
assert torch.equal(swapped(elementwise, point, weights), torch.func.vjp(elementwise, point)[1](weights)[0])


# %% [markdown] tags=["en"]
# A function that works on each entry alone, a gradient, everything with a symmetric Jacobian: for these the two products agree, whatever `v` is. Test on a function with more outputs than inputs, or fewer; if it has to be square, with a random matrix.
# %% [markdown] tags=["ru"] of="c6b93929"
# У поэлементной функции, у градиента как функции точки и вообще всюду, где матрица Якоби симметрична, два произведения совпадают при любом `v`. Поэтому проверяйте код на функции, у которой выходов больше или меньше, чем входов, а если матрица Якоби должна быть квадратной, берите случайную.
# %% [markdown] tags=["en"]
# ## What `gradcheck` does not see
#
# `gradcheck` has the same weakness one level up: it checks the points that you give, and no others.
#
# ### `fool_gradcheck`
#
# **Find a function that passes `gradcheck` at one point and whose gradient is wrong at another.**
#
# * **Result.** A triple `(f, x, elsewhere)`. `f` takes a tensor and returns one; `x` and `elsewhere` are float64 tensors with 1 to 100 entries each. <!-- points -->
# * **Result.** `gradcheck(f, (x,))` passes. The test switches gradient tracking on for `x`; when you call it yourself, write `gradcheck(f, (x.requires_grad_(),))`. <!-- passes -->
# * **Result.** At `elsewhere` the values of `f` are finite and the same at each call, and `f` is differentiable, without a kink or a jump. <!-- smooth -->
# * **Result.** Yet autograd gives a gradient of `f(elsewhere).sum()` that is wrong by more than 1 % of the largest entry, or not a number. <!-- wrong -->
# %% [markdown] tags=["ru"] of="e8320bde"
# ## Чего не видит `gradcheck`
#
# У `gradcheck` тот же недостаток, что и у теста с неудачно выбранной функцией: проверяются лишь те точки, которые вы передали.
#
# ### `fool_gradcheck`
#
# **Найдите функцию, которая в одной точке проходит `gradcheck`, а в другой имеет неверный градиент.**
#
# * **Результат.** Тройка `(f, x, elsewhere)`. Функция `f` принимает и возвращает тензор; `x` и `elsewhere` — тензоры float64, в каждом от 1 до 100 элементов. <!-- points -->
# * **Результат.** Проверка `gradcheck(f, (x,))` проходит. При проверке ответа тензор `x` будет требовать градиента; если проверяете сами, вызывайте `gradcheck(f, (x.requires_grad_(),))`. <!-- passes -->
# * **Результат.** В точке `elsewhere` значения `f` конечны и при каждом вызове одни и те же, функция `f` дифференцируема, там нет ни излома, ни скачка. <!-- smooth -->
# * **Результат.** Но градиент `f(elsewhere).sum()`, который даёт autograd, отличается от верного больше чем на 1 % от наибольшего по модулю элемента или содержит NaN. <!-- wrong -->
# %% answer="fool_gradcheck"
def fool_gradcheck():
    """A triple (f, x, elsewhere): gradcheck passes at x, and autograd is wrong at elsewhere."""

    ### BEGIN SOLUTION
    def f(x):
        return torch.where(x > 0, x**2, x * x.detach())

    return f, torch.tensor([1.0, 2.0], dtype=torch.float64), torch.tensor([-1.0, -2.0], dtype=torch.float64)
    ### END SOLUTION


# %% alternative="fool_gradcheck"
def fool_gradcheck():
    def f(x):
        return x.sin() if x[0] < 1 else x.detach().sin() + 0 * x

    return f, torch.zeros(3, dtype=torch.float64), torch.full((3,), 2.0, dtype=torch.float64)


# %% alternative="fool_gradcheck"
def fool_gradcheck():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x.abs() * x  # wrong for negative x

    return Cube.apply, torch.tensor([0.5, 2.0]).double(), torch.tensor([-0.5, 2.0]).double()


# %% alternative="fool_gradcheck"
def fool_gradcheck():
    # a factor that autograd does not see, and that does not change near x
    def f(x):
        with torch.no_grad():
            factor = (x - 1).clamp(min=0)
        return x * factor + x

    return f, torch.tensor([[0.3, 0.6]], dtype=torch.float64), torch.tensor([[2.0, 3.0]], dtype=torch.float64)


# %% alternative="fool_gradcheck"
def fool_gradcheck():
    def f(x):
        return torch.where(x > 1e-3, x.log(), x.log().detach())

    return f, torch.tensor([1.0], dtype=torch.float64), torch.tensor([1e-5], dtype=torch.float64)


# %% alternative="fool_gradcheck"
def fool_gradcheck():
    def f(x):
        return torch.where(x > 1.5, (1000 * x).sin().detach(), x)

    return f, torch.tensor([1.0], dtype=torch.float64), torch.tensor([2.0], dtype=torch.float64)


# %% check="fool_gradcheck"
from autograder import check

check("fool_gradcheck")
# %% tags=["fact"]
kink = torch.zeros(1, dtype=torch.float64, requires_grad=True)
assert ((torch.relu(kink + 1e-6) - torch.relu(kink - 1e-6)) / 2e-6).item() == 0.5
assert not gradcheck(torch.relu, (kink,), raise_exception=False)
assert torch.autograd.grad(torch.relu(kink).sum(), kink)[0] == 0
chance = torch.ones(64, dtype=torch.float64, requires_grad=True)
assert not gradcheck(torch.nn.Dropout(), (chance,), raise_exception=False)


# %% [markdown] tags=["en"]
# So pass to `gradcheck` points in every branch of the function: both signs, both sides of each threshold. At a kink it complains although nothing is wrong: for `relu` at 0 the central difference is 0.5, and autograd's choice is 0. A function that draws random numbers fails as well.
# %% [markdown] tags=["ru"] of="cc58475d"
# Поэтому передавайте в `gradcheck` точки из каждой ветви функции: с разными знаками и по обе стороны от каждого порога. В точке излома проверка не проходит, хотя ошибки нет: для `relu` в нуле центральная разность равна 0.5, а autograd выбирает 0. Функция, использующая случайные числа, проверку тоже не проходит.
# %% [markdown] tags=["en"]
# ## Tall and wide matrices
#
# A backward pass gives a row of $J$, forward mode a column. So for many outputs and few inputs (a tall matrix) columns are cheap, for many inputs and few outputs (a wide one) rows are. A loss is the extreme case: one row. Which way will turn out cheap for which shape?
# %% [markdown] tags=["ru"] of="a864ca23"
# ## Высокие и широкие матрицы
#
# Обратный проход даёт строку $J$, прямой режим — столбец. Поэтому, если выходов много, а входов мало (высокая матрица), дёшевы столбцы, а если входов много, а выходов мало (широкая) — строки. Функция потерь — крайний случай: одна строка. Подсчитаем, какой способ дешевле при каждой форме матрицы.
# %%
def through_64(n, m):
    """A function from R^n to R^m through a layer of 64 numbers, and a point."""
    into, out_of = torch.linspace(-1, 1, 64 * n).reshape(64, n), torch.linspace(-1, 1, m * 64).reshape(m, 64)
    return lambda x: out_of @ (into @ x).tanh(), torch.linspace(0, 1, n)


matrix_ways = {
    "functional.jacobian": lambda f, x, _: functional.jacobian(f, x),
    "jacrev": lambda f, x, _: torch.func.jacrev(f)(x),
    "jacfwd": lambda f, x, _: torch.func.jacfwd(f)(x),
}
for n, m in [(2, 64), (64, 2)]:
    print(f"{n} inputs, {m} outputs      calls  backward  largest")
    for name, how in matrix_ways.items():
        calls, runs, _, largest = cost(how, *through_64(n, m), None)
        print(f"    {name:22} {calls:5} {runs:9} {largest:8}")
# %% tags=["fact"]
tall, wide = ({k: cost(how, *through_64(n, m), None) for k, how in matrix_ways.items()} for n, m in [(2, 64), (64, 2)])
assert tall["functional.jacobian"][1] == 64 and wide["functional.jacobian"][1] == 2
assert tall["jacrev"][3] == 64 * 64 and wide["jacrev"][3] == 2 * 64
assert tall["jacfwd"][3] == 2 * 64 and wide["jacfwd"][3] == 64 * 64


# %% [markdown] tags=["en"]
# ### `cheap_jacobian`
#
# **Return the Jacobian matrix for the price of its shorter side.**
#
# * **Given.** `f`, from vectors of length $n$ to vectors of length $m$; you learn $m$ by calling it. `x`, which does not require grad. Let $k$ be the smaller of $m$ and $n$.
# * **Result.** The Jacobian at `x`, of shape $(m, n)$ and of the dtype of `x`. <!-- jacobian -->
# * **Result.** It is exact up to rounding: the error is at most $10^{-12}$ of the largest entry. <!-- exact -->
# * **Not allowed.** More than $k + 3$ calls of `f` and backward passes together. <!-- passes -->
# * **Not allowed.** A new tensor of more than $64k$ elements: inside `f` no vector is longer than 32, so $k$ products carried at once take up to $32k$ elements, and twice that is allowed. <!-- largest -->
# %% [markdown] tags=["ru"] of="09a02b8a"
# ### `cheap_jacobian`
#
# **Верните матрицу Якоби по цене её меньшей стороны.**
#
# * **Дано.** Функция `f`, которая переводит вектор длины $n$ в вектор длины $m$; узнать $m$ можно, вызвав её. Тензор `x`, который градиента не требует. Пусть $k$ — меньшее из $m$ и $n$.
# * **Результат.** Матрица Якоби в точке `x`: тензор формы $(m, n)$ с тем же dtype, что у `x`. <!-- jacobian -->
# * **Результат.** Она верна с точностью до округления: погрешность не больше $10^{-12}$ от наибольшего по модулю элемента. <!-- exact -->
# * **Нельзя.** Выполнять больше $k + 3$ вызовов `f` и обратных проходов вместе. <!-- passes -->
# * **Нельзя.** Создавать тензоры, в которых больше $64k$ элементов: внутри `f` самый длинный вектор состоит из 32 элементов. Значит, $k$ произведений, вычисляемых одновременно, занимают до $32k$ элементов, а предел вдвое больше. <!-- largest -->
# %% answer="cheap_jacobian"
def cheap_jacobian(f, x):
    """The Jacobian of `f` at `x`, by rows or by columns, whichever are fewer."""
    ### BEGIN SOLUTION
    way = torch.func.jacrev if len(f(x)) < len(x) else torch.func.jacfwd
    return way(f)(x)
    ### END SOLUTION


# %% alternative="cheap_jacobian"
def cheap_jacobian(f, x):
    x = x.detach().requires_grad_()
    y = f(x)
    if len(y) < len(x):
        return torch.stack([torch.autograd.grad(output, x, retain_graph=True)[0] for output in y])
    units = torch.eye(len(x), dtype=x.dtype)
    return torch.stack([torch.func.jvp(f, (x.detach(),), (unit,))[1] for unit in units], dim=1)


# %% alternative="cheap_jacobian"
def cheap_jacobian(f, x):
    with torch.no_grad():
        m = f(x).numel()
    if m <= x.numel():
        return functional.jacobian(f, x)
    return functional.jacobian(f, x, strategy="forward-mode", vectorize=True)


# %% alternative="cheap_jacobian"
def cheap_jacobian(f, x):
    y, pull = torch.func.vjp(f, x)
    if len(y) < len(x):
        return torch.func.vmap(pull)(torch.eye(len(y), dtype=y.dtype))[0]
    return torch.func.vmap(lambda unit: torch.func.jvp(f, (x,), (unit,))[1], out_dims=1)(
        torch.eye(len(x), dtype=x.dtype)
    )


# %% check="cheap_jacobian"
from autograder import check

check("cheap_jacobian")


# %% [markdown] tags=["en"]
# ## These functions know nothing of batches
#
# To these functions a batch is one input like any other. `row` below takes a vector of 3 numbers and returns one; applied to a batch of 4 it works on each sample alone. Read, then predict.
# %% [markdown] tags=["ru"] of="afe221c2"
# ## Матрица Якоби для батча
#
# Для функций, которые строят матрицу Якоби, батч — такой же вход, как и любой другой. Функция `row` ниже принимает вектор из 3 чисел и возвращает одно. Применённая к батчу из 4 примеров, она действует на каждый отдельно. Прочтите код и предскажите результат.
# %%
def row(x):
    return x.tanh().sum(dim=-1, keepdim=True)


def batch_shapes():
    X = torch.ones(4, 3, requires_grad=True)
    pairs = functional.jacobian(row, X)
    return {
        "jacobian of the batch": tuple(pairs.shape),
        "entries that are not zero": int((pairs != 0).sum()),
        "vmap(jacrev)": tuple(torch.func.vmap(torch.func.jacrev(row))(X).shape),
        "grad of the sum": tuple(torch.autograd.grad(row(X).sum(), X)[0].shape),
        "hessian of one sample": tuple(functional.hessian(lambda x: row(x).sum(), X[0]).shape),
    }


# %% [markdown] tags=["en"]
# ### `predict_shapes`
#
# What does `batch_shapes()` return? Write shapes as tuples; `entries that are not zero` is a number.
# %% [markdown] tags=["ru"] of="d76f37c8"
# ### `predict_shapes`
#
# Что вернёт `batch_shapes()`? Формы запишите в виде кортежей. Для ключа `entries that are not zero` нужно число.
# %% answer="predict_shapes"
predict_shapes = {
    "jacobian of the batch": (4, 1, 4, 3),
    "entries that are not zero": 12,
    "vmap(jacrev)": (4, 1, 3),
    "grad of the sum": (4, 3),
    "hessian of one sample": (3, 3),
}
# %% given="predict_shapes"
predict_shapes = {
    "jacobian of the batch": ...,
    "entries that are not zero": ...,
    "vmap(jacrev)": ...,
    "grad of the sum": ...,
    "hessian of one sample": ...,
}
# %% check="predict_shapes"
from autograder import check

check("predict_shapes")
# %%
batch_shapes()
# %% [markdown] tags=["en"] explains="predict_shapes"
# `functional.jacobian` differentiates every sample's output with respect to every sample's input: 48 numbers, of which 36 are zeros by construction. `vmap(jacrev(row))` writes the function for one sample and maps it. And for one output per sample a sum is enough: samples do not mix, so the gradient of the sum holds each sample's own gradient in its row.
# %% [markdown] tags=["ru"] explains="predict_shapes" of="87dfe04a"
# Функция `functional.jacobian` дифференцирует выход каждого примера по входу каждого примера: получается 48 чисел, из которых 36 — заведомые нули. С `vmap(jacrev(row))` функция для одного примера применяется к каждому примеру батча. А если выход у примера один, хватит градиента суммы выходов: примеры не смешиваются, и в строках градиента суммы лежат градиенты отдельных примеров.
# %% tags=["fact"]
assert predict_shapes == batch_shapes()
X = torch.linspace(-1, 1, 12).reshape(4, 3).requires_grad_()
each = torch.func.vmap(torch.func.jacrev(row))(X)
assert torch.allclose(torch.autograd.grad(row(X).sum(), X)[0], each[:, 0])
assert torch.equal(functional.jacobian(row, X)[0, :, 1:], torch.zeros(1, 3, 3))
# %% [markdown] tags=["en"]
# Here are the same 48 numbers as a matrix: a row for each of the 4 outputs, a column for each of the 12 inputs, three to a sample. Which cells are coloured? Only those whose output and input belong to the same sample.
# %% [markdown] tags=["ru"] of="ff2c1f7b"
# Нарисуем те же 48 чисел в виде матрицы: 4 выхода — 4 строки, 12 входов — 12 столбцов, по три на пример. Какие клетки закрашены? Только те, у которых выход и вход относятся к одному примеру.
# %% tags=["picture"]
X = torch.linspace(-1, 1, 12).reshape(4, 3)
plot_jacobian(row, X)


# %% [markdown] tags=["en"]
# The sum trick works for inputs, which each sample has its own. Weights are shared: the gradient of the sum with respect to them is one sum over all samples. For a *per-sample gradient* the loop over samples works, at the price of a backward pass for each. `vmap` needs one pass. `torch.func.grad(g)` is the gradient of `g` with respect to its first argument, as a function, and `vmap(g, in_dims=(None, 0))` runs `g` over dimension 0 of its second argument; `None` means that the first one is shared.
#
# ### `per_sample_gradients`
#
# **Return the gradient of each single sample, one row for each, in a few calls whatever $B$.**
#
# * **Given.** `loss(w, x_i, y_i)`, the loss of one sample: `w` has shape $(n,)$, `x_i` shape $(n,)$, and `y_i` is a scalar (a tensor without dimensions). It does not take a batch.
# * **Given.** `w`, `x` of shape $(B, n)$ and `y` of shape $(B,)$, in float64; none requires grad.
# * **Result.** A tensor of shape $(B, n)$ whose row $i$ is the gradient of `loss(w, x[i], y[i])` with respect to `w`. <!-- gradients -->
# * **Result.** It is exact up to rounding: the error is at most $10^{-12}$ of the largest entry. <!-- exact -->
# * **Not allowed.** More than 3 calls of `loss` and backward passes together, whatever $B$. <!-- passes -->
# %% [markdown] tags=["ru"] of="dfcb77cb"
# Приём с суммой годится для входов: у каждого примера они свои. А веса общие, поэтому градиент суммы по весам сам оказывается суммой по всем примерам. *Градиент по отдельному примеру* можно получить в цикле, ценой одного обратного прохода на каждый пример, а с `vmap` хватает одного прохода. Вызов `torch.func.grad(g)` возвращает функцию, которая вычисляет градиент функции `g` по её первому аргументу. Вызов `vmap(g, in_dims=(None, 0))` перебирает измерение 0 второго аргумента функции `g`, а `None` означает, что её первый аргумент общий.
#
# ### `per_sample_gradients`
#
# **Верните градиент для каждого отдельного примера, одной строкой на пример, за несколько вызовов при любом $B$.**
#
# * **Дано.** Функция потерь на одном примере `loss(w, x_i, y_i)`: у `w` форма $(n,)$, у `x_i` форма $(n,)$, а `y_i` — скаляр (нульмерный тензор). Батч она не принимает.
# * **Дано.** Тензоры `w`, `x` формы $(B, n)$ и `y` формы $(B,)$, float64; градиента они не требуют.
# * **Результат.** Тензор формы $(B, n)$, в котором строка $i$ — градиент `loss(w, x[i], y[i])` по `w`. <!-- gradients -->
# * **Результат.** Он верен с точностью до округления: погрешность не больше $10^{-12}$ от наибольшего по модулю элемента. <!-- exact -->
# * **Нельзя.** Выполнять больше 3 вызовов `loss` и обратных проходов вместе, при любом $B$. <!-- passes -->
# %% answer="per_sample_gradients"
def per_sample_gradients(loss, w, x, y):
    """The gradient of each sample's loss with respect to `w`: a tensor of shape (B, n)."""
    ### BEGIN SOLUTION
    gradient = torch.func.grad(loss)
    return torch.func.vmap(gradient, in_dims=(None, 0, 0))(w, x, y)
    ### END SOLUTION


# %% alternative="per_sample_gradients"
def per_sample_gradients(loss, w, x, y):
    copies = w.expand(len(x), -1).clone().requires_grad_()  # weights of its own for each sample: the sum trick
    losses = torch.func.vmap(loss)(copies, x, y)
    return torch.autograd.grad(losses.sum(), copies)[0]


# %% alternative="per_sample_gradients"
def per_sample_gradients(loss, w, x, y):
    return torch.func.jacrev(lambda w: torch.func.vmap(lambda a, b: loss(w, a, b))(x, y))(w)


# %% alternative="per_sample_gradients"
def per_sample_gradients(loss, w, x, y):
    w = w.detach().requires_grad_()
    losses = torch.func.vmap(loss, in_dims=(None, 0, 0))(w, x, y)
    return torch.autograd.grad(losses, w, torch.eye(len(x), dtype=w.dtype), is_grads_batched=True)[0]


# %% check="per_sample_gradients"
from autograder import check

check("per_sample_gradients")
# %% [markdown] tags=["en"]
# ## On a GPU
#
# Products and counts are the same on a GPU. What a matrix costs there first is memory, and the allocator measures it. With a GPU the cell does so for 2048 inputs and outputs. The ways that build the matrix need at least its 16,777,216 bytes, `grad` and `func.vjp` less than a tenth of them.
# %% [markdown] tags=["ru"] of="9eecb2d6"
# ## На GPU
#
# Произведения и подсчёты на GPU те же. Матрица и там обходится дорого прежде всего из-за памяти, а её расход измеряет сам аллокатор. На машине с GPU ячейка покажет его для 2048 входов и выходов. Способам, которые строят матрицу, нужно не меньше 16 777 216 байт, сколько занимает она сама, а `grad` и `func.vjp` — меньше десятой доли этого.
# %%
from autograder import gpu_peak, on_gpu


def products_on_gpu():
    big = torch.randn(2048, 2048, device="cuda") / 45
    x, v = torch.ones(2048, device="cuda", requires_grad=True), torch.ones(2048, device="cuda")

    def peak(how):
        return gpu_peak(lambda: how(lambda p: (big @ p).tanh(), x, v))

    return {f"peak bytes, {name}": peak(how) for name, how in {**ways["v^T J"], **ways["J v"]}.items()}


on_gpu(products_on_gpu)
# %% tags=["fact"]
from autograder.lessons.gpu_recordings import check_claims

check_claims(
    products_on_gpu,
    lambda measured: {
        "a matrix takes at least 16,777,216 bytes": all(
            value >= 2048 * 2048 * 4 == 16_777_216 for name, value in measured.items() if "@ v" in name
        ),
        "a product takes less than a tenth": max(measured[f"peak bytes, {name}"] for name in ways["v^T J"]) < 1_677_721,
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
