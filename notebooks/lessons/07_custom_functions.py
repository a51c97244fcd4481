# %% [markdown] tags=["en"] needs="04, 05" about="a Function right to the second derivative, with the memory it should need"
# # Custom Functions
#
# Suppose you wrote an operation of your own, with a formula for its derivative. `gradcheck` says True, the training runs, the loss falls. The gradient at 0 is another than torch's, the second derivative is 4.76 where 7.52 is right, and twice as much memory is used as needed. There is no error, because autograd trusts a hand-written `backward`.
#
# Torch takes an operation of yours (`Function`) and tests its rule (`gradcheck`); the engine that you began in lesson 02 can do neither yet.
#
# After this lesson you can:
#
# * write a `torch.autograd.Function` whose gradient is right for every `grad_output`;
# * choose what it keeps for the backward pass, and count the bytes;
# * make it right to the second derivative;
# * test a Function that somebody else wrote.
#
# You need lesson 04 (in-place operations, the version counter) and 05 (`gradcheck`, second derivatives); 06 (saved tensors) helps.
# %% [markdown] tags=["ru"] about="`autograd.Function`, верная вплоть до второй производной и без лишнего расхода памяти" of="50ce5ba1"
# # Пользовательские функции
#
# Представьте, что вы написали свою операцию и формулу её производной. Проверка `gradcheck` возвращает True, обучение идёт, значение функции потерь падает. При этом в нуле градиент не такой, как у torch, вторая производная равна 4.76 вместо 7.52, а памяти уходит вдвое больше, чем нужно. И ни одного сообщения об ошибке: методу `backward`, написанному вручную, autograd верит на слово.
#
# В torch можно добавить свою операцию (`Function`) и проверить её правило (`gradcheck`), а движок, начатый в уроке 02, пока не умеет ни того ни другого.
#
# После урока вы сможете:
#
# * написать `torch.autograd.Function`, градиент которой верен при любом `grad_output`;
# * выбрать, что она хранит для обратного прохода, и сосчитать байты;
# * добиться, чтобы верной была и вторая производная;
# * проверить чужую пользовательскую функцию.
#
# Понадобятся уроки 04 (операции с изменением на месте, счётчик версий) и 05 (`gradcheck`, вторые производные). Поможет урок 06 (сохранённые тензоры).
# %% tags=["en"]
# Does the import fail? Install the course by pip (its file, or autograd-course),
# and uninstall another `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("custom_functions", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("custom_functions", language="ru")
# %%
import warnings

import torch


def attempt(action):
    """The name of the error that `action()` raises, or "accepted" when there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            action()
        return "accepted"
    except Exception as error:
        return type(error).__name__


# %% [markdown] tags=["en"]
# ## An operation of your own
#
# A custom Function is a class with two static methods. `forward` computes the value. `backward` gets `grad_output`, the derivative of the loss with respect to the result, and returns the derivative of the loss with respect to each input. The first argument of both is the *context* `ctx`: it carries what `forward` wants `backward` to know. The class is never instantiated; it is used through `apply`.
# %% [markdown] tags=["ru"] of="9cfe5dd0"
# ## Собственная операция
#
# Пользовательская функция — это класс с двумя статическими методами. Метод `forward` вычисляет значение, а метод `backward` получает `grad_output`, производную функции потерь по результату, и возвращает производную функции потерь по каждому входу. Первый аргумент обоих методов — *контекст* `ctx`: через него `forward` передаёт то, что понадобится `backward`. Экземпляры класса не создают: функцию вызывают через `apply`.
# %%
class Reciprocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 1 / x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output / x**2


x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
y = Reciprocal.apply(x)
print("node of the result:", y.grad_fn.name())
(5 * y).sum().backward()
print("x.grad:", x.grad.tolist())
# %% tags=["fact"]
assert y.grad_fn.name() == "ReciprocalBackward" and y.tolist() == [1, 0.5, 0.25]
assert x.grad.tolist() == [-5, -1.25, -0.3125]
assert torch.autograd.gradcheck(
    Reciprocal.apply, (torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64).requires_grad_(),)
)
with torch.no_grad():
    assert not Reciprocal.apply(x).requires_grad
assert not Reciprocal.apply(x.detach()).requires_grad


# %% [markdown] tags=["en", "try"]
# The derivative of $1/x$ at 2 is a quarter, with a minus. Where does `x.grad[1]` come from, and what would a `backward` give that returned $-1/x^2$ alone? Say it, then try it.
#
# The derivative of $1/x$ at 2 is $-1/4$. `x.grad[1]` is $-1.25$, because a gradient of 5 arrived from the multiplication that follows, and `backward` multiplied by it. A `backward` that returned $-1/x^2$ alone would be right only if the loss is `y.sum()`, where all that arrives is ones. To forget this factor is the most frequent mistake here.
# %% [markdown] tags=["ru", "try"] of="db9b1274"
# Производная $1/x$ в точке 2 — одна четвёртая, со знаком минус. Откуда взялось `x.grad[1]` и что получилось бы, если бы `backward` возвращал просто $-1/x^2$? Сначала ответьте, потом попробуйте.
#
# Производная функции $1/x$ в точке 2 равна $-1/4$. Но в `x.grad[1]` лежит $-1.25$: от следующего умножения пришёл градиент 5, и `backward` умножил производную на него. Если бы `backward` возвращал только $-1/x^2$, ответ был бы верен лишь тогда, когда функция потерь — `y.sum()`: в этом случае приходят одни единицы. Забыть этот множитель — самая частая ошибка.
# %% [markdown] tags=["en"]
# Each call of `apply` makes one new node and one new `ctx`. You will read that a function object “is meant to be used only once”. That describes the form before `apply`: today there is no such object, only the class, and a node may even run twice if `retain_graph=True` keeps the graph.
#
# Now the details that people often get wrong. Here are two Functions. The `10` in `backward` is wrong on purpose.
# %% [markdown] tags=["ru"] of="d5911541"
# При каждом вызове `apply` создаются новый узел и новый `ctx`. Пишут, что объект функции «используется только один раз». Так было до появления `apply`. Сегодня такого объекта нет, есть только класс, а узел может выполниться и дважды, если граф сохранён (`retain_graph=True`).
#
# Теперь о подробностях, в которых часто ошибаются. Возьмём две пользовательские функции. Число `10` в `backward` — намеренная ошибка.
# %%
seen = {}


class Tenfold(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        seen["recording in forward"] = torch.is_grad_enabled()
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        seen["recording in backward"] = torch.is_grad_enabled()
        seen["needs_input_grad"] = ctx.needs_input_grad
        return 10 * grad_output, None


class TooFew(Tenfold):
    @staticmethod
    def backward(ctx, grad_output):
        return 10 * grad_output


# %% [markdown] tags=["en"]
# Read what is done with them; do not call `function_table()` yet. (`attempt` returns the name of an error, or "accepted".)
# %% [markdown] tags=["ru"] of="d1552ae7"
# Прочтите, что мы с ними делаем, но `function_table()` пока не вызывайте. (Функция `attempt` возвращает имя ошибки или "accepted".)
# %%
def function_table():
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(5.0)
    (3 * Tenfold.apply(a, b)).backward()
    table = {**seen, "a.grad": a.grad.item()}
    torch.autograd.grad(Tenfold.apply(a, b), a, create_graph=True)
    table["recording in backward, create_graph=True"] = seen["recording in backward"]
    table["node of Tenfold.forward(...)"] = Tenfold.forward(None, a, b).grad_fn.name()
    table["one gradient for two inputs"] = attempt(lambda: TooFew.apply(a, b).backward())
    return table


# %% [markdown] tags=["en"]
# ### `predict_function`
#
# Put what `function_table()` returns in place of each `...`. *Recording* is what `torch.is_grad_enabled()` says at that place: True or False. `needs_input_grad` is a pair of these, `a.grad` a number. The node is a name such as `"AddBackward0"`, and the last entry is `"accepted"` or `"RuntimeError"`.
# %% [markdown] tags=["ru"] of="54f7eb17"
# ### `predict_function`
#
# Вместо каждого `...` поставьте то, что вернёт `function_table()`. Слово *recording* означает то, что возвращает в этом месте `torch.is_grad_enabled()`: True или False. Значение `needs_input_grad` — пара таких значений, `a.grad` — число. Узел — имя вроде `"AddBackward0"`, а в последней строке стоит `"accepted"` или `"RuntimeError"`.
# %% answer="predict_function"
predict_function = {
    "recording in forward": False,
    "recording in backward": False,
    "recording in backward, create_graph=True": True,
    "needs_input_grad": (True, False),
    "a.grad": 30.0,
    "node of Tenfold.forward(...)": "MulBackward0",
    "one gradient for two inputs": "RuntimeError",
}
# %% given="predict_function"
predict_function = {
    "recording in forward": ...,
    "recording in backward": ...,
    "recording in backward, create_graph=True": ...,
    "needs_input_grad": ...,
    "a.grad": ...,
    "node of Tenfold.forward(...)": ...,
    "one gradient for two inputs": ...,
}
# %% check="predict_function"
from autograder import check

check("predict_function")
# %% tags=["fact"]
assert predict_function == function_table()
a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0)
try:
    TooFew.apply(a, b).backward()
except RuntimeError as error:
    assert "returned an incorrect number of gradients (expected 2, got 1)" in str(error)


class TooMany(Tenfold):
    @staticmethod
    def backward(ctx, grad_output):
        return 10 * grad_output, None, None


assert attempt(lambda: TooMany.apply(a, b).backward()) == "accepted"
assert attempt(lambda: Tenfold()(a, b)) == "RuntimeError"


class Undecorated(torch.autograd.Function):
    def forward(ctx, x):
        return x * 2

    def backward(ctx, grad_output):
        return grad_output * 2


leaf = torch.ones(2, requires_grad=True)
Undecorated.apply(leaf).sum().backward()
assert leaf.grad.tolist() == [2, 2]
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    Undecorated()
assert "should not be instantiated" in str(warned[0].message)
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    Undecorated()
assert "should not be instantiated" in str(warned[0].message)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        Undecorated()(leaf)
    except RuntimeError as error:
        assert "Legacy autograd function with non-static forward method" in str(error)
# %% [markdown] tags=["en"]
# Now call `function_table()`.
# %% [markdown] tags=["ru"] of="bdcf0021"
# Вызовем `function_table()` и сравним с таблицей.
# %%
function_table()


# %% [markdown] tags=["en"] explains="predict_function"
# Recording is off in `forward`: what it computes is not recorded, and the graph holds one node for the whole of it. In `backward` recording is on only with `create_graph=True`. `backward` returns one entry per argument of `apply`; surplus entries pass if they are None.
#
# Never call an instance: `Tenfold()(a, b)` fails with words about a “non-static forward method”, and readers look for a missing `@staticmethod`. The decorator is not the cause: `apply` works even on a class without both.
# %% [markdown] tags=["ru"] explains="predict_function" of="631ef5dc"
# В `forward` отслеживание выключено: вычисления не записываются, и на всю функцию в графе приходится один узел. В `backward` отслеживание включено только с `create_graph=True`. На каждый аргумент `apply` метод `backward` возвращает по одному значению. Лишние значения допустимы, если это None.
#
# Экземпляр класса не вызывают: `Tenfold()(a, b)` завершается ошибкой со словами «non-static forward method», из-за которых обычно ищут пропущенный `@staticmethod`. Но дело не в декораторе: `apply` работает даже тогда, когда в классе нет ни одного из двух.
# %% [markdown] tags=["en"]
# ## What to keep, and where
#
# `backward` needs the input, or the result, or both. There are two places for them: `ctx.save_for_backward(...)`, which takes tensors, and attributes of `ctx`. Do the two differ? Here is `Reciprocal` again with an attribute. Between forward and backward the input is multiplied by 10 in place.
# %% [markdown] tags=["ru"] of="c9498b63"
# ## Что хранить и где
#
# Методу `backward` нужен вход, результат или и то и другое. Хранить нужное можно двумя способами: передать тензоры в `ctx.save_for_backward(...)` или положить в атрибуты `ctx`. Есть ли разница? Вот снова функция `Reciprocal`, но вход теперь хранится в атрибуте. Между прямым и обратным проходами вход на месте умножается на 10.
# %%
class ReciprocalAttribute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return 1 / x

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output / ctx.x**2


for function in Reciprocal, ReciprocalAttribute:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * 1
    y = function.apply(h)
    with torch.no_grad():
        h *= 10
    try:
        y.sum().backward()
        print(function.__name__, w.grad.tolist())
    except RuntimeError as error:
        print(function.__name__, "RuntimeError:", str(error)[:88])
# %% tags=["fact"]
assert torch.allclose(w.grad, torch.tensor([-0.01, -0.0025]))  # right: -1 and -0.25
try:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * 1
    y = Reciprocal.apply(h)
    with torch.no_grad():
        h *= 10
    y.sum().backward()
    raise AssertionError
except RuntimeError as error:
    assert "modified by an inplace operation" in str(error)
for function, again in (Reciprocal, "RuntimeError"), (ReciprocalAttribute, "accepted"):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = function.apply(w)
    y.backward(torch.ones(2))
    assert attempt(lambda: y.backward(torch.ones(2))) == again


# %% tags=["fact"]
packed = []
with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
    ReciprocalAttribute.apply(w)
    assert packed == []
    kept = Reciprocal.apply(w)
    assert packed == [1]
assert kept.grad_fn is not Reciprocal.apply(w).grad_fn
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = Reciprocal.apply(w)
y.backward(torch.ones(2), retain_graph=True)
y.backward(torch.ones(2))
assert w.grad.tolist() == [-2, -0.5]
# %% [markdown] tags=["en"]
# Both nodes have kept the same `h`. Which of them can notice that it was edited? The picture draws them side by side, after the edit.
# %% [markdown] tags=["ru"] of="ed3c5627"
# В обоих узлах хранится один и тот же тензор `h`. В каком из них можно обнаружить, что тензор изменили? На рисунке оба узла показаны рядом, уже после изменения.
# %% tags=["picture"]
from autograder import draw

w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 1
saved, attribute = Reciprocal.apply(h), ReciprocalAttribute.apply(h)
with torch.no_grad():
    h *= 10
draw(saved, attribute, saved=True)


# %% [markdown] tags=["en", "try"]
# One of the two raised an error, the other did not. Which result is the right one here, and what does the red line of the picture have to do with it?
#
# The result is −0.01 instead of −1, and there is no error. A tensor saved by `save_for_backward` is a saved tensor like those of torch's own operations: its version is checked, it is freed after `backward`, and saved-tensor hooks see it. An attribute has none of that. So: tensors that are inputs or results go through `save_for_backward`; numbers, shapes and flags go onto `ctx`. A mask that you made yourself may be kept either way: it has no derivative.
# %% [markdown] tags=["ru", "try"] of="e7add347"
# Одна из двух функций завершилась ошибкой, другая нет. Какой результат здесь верен и при чём тут красная строка на рисунке?
#
# Получилось −0.01 вместо −1, а ошибки нет. Тензор, переданный в `save_for_backward`, — такой же сохранённый тензор, как у собственных операций torch: его версия проверяется, после `backward` он освобождается, для него вызываются хуки сохранённых тензоров. С атрибутом ничего этого не происходит. Поэтому входные тензоры и результаты передают в `save_for_backward`, а числа, формы и флаги кладут в атрибуты `ctx`. Маску, которую вы построили сами, можно хранить любым из двух способов: производной у неё нет.
# %% [markdown] tags=["en"]
# You will meet two more words. A `forward` that changes its input in place says so by `ctx.mark_dirty(x)` and returns it, and in code for `torch.func` saving has a method of its own, `setup_context(ctx, inputs, output)`, while `forward` takes the inputs alone. Lesson 11 is about what such transforms ask of a Function.
#
# What remains is the choice. Autograd keeps what you save until `backward`. It costs no memory if the caller keeps the tensor anyway. That is usually so for the result; a saved input may have to stay in memory although the caller has dropped it.
# %% [markdown] tags=["ru"] of="ac6c655f"
# Вам встретятся ещё два слова. Если `forward` меняет свой вход на месте, об этом сообщают вызовом `ctx.mark_dirty(x)`, а сам вход возвращают. В коде для `torch.func` тензоры сохраняет отдельный метод `setup_context(ctx, inputs, output)`, а `forward` принимает только входы. О том, что нужно от функции таким преобразованиям, рассказывает урок 11.
#
# Остаётся выбрать, что сохранять. Сохранённое остаётся в памяти до `backward`. Дополнительной памяти для этого не нужно, если тензор и так хранится у вызывающего кода. С результатом обычно так и бывает, а сохранённый вход может оставаться в памяти и тогда, когда снаружи он уже не нужен.
# %% [markdown] tags=["en"]
# ### `exp_function`
#
# **Write the class `Exp`: the exponential as a Function of your own, which keeps no more than torch's does.**
#
# * **Given.** `x`, a floating point tensor of any shape (an empty tensor and one of shape `()` as well).
# * **Result.** `Exp.apply(x)` is the exponential: a new tensor of the same dtype, no view of another one. Its gradient is right for every `grad_output`, a transposed one included. <!-- derivative -->
# * **Result.** When the result is changed in place before `backward`, torch raises its `RuntimeError` about an in-place operation, as for `torch.exp`. <!-- result_edited_before_backward -->
# * **Leave.** The input in `forward`: it belongs to the caller. Each call has its own state: `apply` may be called again before `backward`. <!-- each_call -->
# * **Leave.** The tensor `grad_output` in `backward`. These requirements on the input, the calls and `grad_output` hold in all exercises below. <!-- grad_output_after -->
# * **Not allowed.** To hold other memory than the result's between the two passes when the caller has dropped the input. <!-- bytes_kept -->
# %% [markdown] tags=["ru"] of="9b2a1b66"
# ### `exp_function`
#
# **Напишите класс `Exp`: экспоненту в виде собственной функции autograd, которая хранит не больше, чем функция из torch.**
#
# * **Дано.** Тензор с плавающей точкой `x` любой формы (в том числе пустой и формы `()`).
# * **Результат.** `Exp.apply(x)` — экспонента: новый тензор того же dtype, а не представление другого тензора. Градиент верен при любом `grad_output`, в том числе транспонированном. <!-- derivative -->
# * **Результат.** Если результат изменён на месте до `backward`, torch сообщает об этом ошибкой `RuntimeError`, как и для `torch.exp`. <!-- result_edited_before_backward -->
# * **Не менять.** Вход в методе `forward`: он принадлежит вызывающему коду. У каждого вызова своё состояние: до `backward` можно вызвать `apply` ещё раз. <!-- each_call -->
# * **Не менять.** Тензор `grad_output` в методе `backward`. Эти требования ко входу, к вызовам и к `grad_output` относятся и ко всем упражнениям ниже. <!-- grad_output_after -->
# * **Нельзя.** Занимать между двумя проходами память, кроме памяти результата, если вход снаружи больше не нужен. <!-- bytes_kept -->
# %% answer="exp_function"
class Exp(torch.autograd.Function):
    """The exponential, entry by entry."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        result = x.exp()
        ctx.save_for_backward(result)
        return result
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (result,) = ctx.saved_tensors
        return grad_output * result
        ### END SOLUTION


# %% alternative="exp_function"
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.exp(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.mul(*ctx.saved_tensors, grad_output)


# %% alternative="exp_function"
class Exp(torch.autograd.Function):
    def forward(ctx, x):
        y = torch.e**x
        ctx.save_for_backward(y)
        ctx.shape = x.shape
        return y

    def vjp(ctx, grad_output):
        y = ctx.saved_tensors[0]
        return (grad_output.clone().mul_(y).view(ctx.shape),)


# %% alternative="exp_function"
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        torch.exp(x, out=y)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * grad_output, None


# %% check="exp_function"
from autograder import check

check("exp_function")
# %% tags=["fact"]
points = torch.tensor([0.3, -1.2, 2.0], dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(Exp.apply, (points,)) and torch.autograd.gradgradcheck(Exp.apply, (points,))
try:
    exec("class Exp(Function): pass", {})
except NameError as error:
    assert str(error) == "name 'Function' is not defined"


# %% [markdown] tags=["en"]
# ## Several inputs
#
# With two inputs `backward` returns a tuple of two gradients, in the order of the arguments. Swapped ones are hard to see: for $a \cdot b$ with equal $a$ and $b$ they are the same numbers. So test with inputs that differ.
#
# Often only one of them is asked for: data do not require grad, weights do. `ctx.needs_input_grad` has a flag for each argument. Where it is False, return None and spare the work.
# %% [markdown] tags=["ru"] of="185f9bfe"
# ## Несколько входов
#
# Если входов два, `backward` возвращает кортеж из двух градиентов в порядке аргументов. Переставленные градиенты трудно заметить: для $a \cdot b$ при равных $a$ и $b$ числа в них одинаковы. Поэтому проверяйте на разных входах.
#
# Часто нужен только один из двух градиентов: данные градиента не требуют, а веса требуют. В `ctx.needs_input_grad` есть флаг для каждого аргумента. Там, где стоит False, верните None и ничего не вычисляйте.
# %%
shapes = []


class Difference(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a - b

    @staticmethod
    def backward(ctx, grad_output):
        shapes.append(tuple(grad_output.shape))
        return grad_output, -grad_output


a = torch.ones(4, 3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
Difference.apply(a, b).sum().backward()
print("returned for b:", shapes[0], "   b.grad:", b.grad.tolist(), tuple(b.grad.shape))
# %% tags=["fact"]
assert shapes[0] == (4, 3) and b.grad.tolist() == [-4, -4, -4]


class WrongShape(Difference):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, torch.ones(7)


try:
    WrongShape.apply(a, b).sum().backward()
except RuntimeError as error:
    assert "got [7] but expected shape compatible with [3]" in str(error)


# %% [markdown] tags=["en", "try"]
# `backward` returned a gradient of another shape than `b` has. Who made the shape of `b` of it again? And would `backward` have to?
#
# Here broadcasting stretched `b` from `(3,)` to `(4, 3)`, and the gradient returned for it has the stretched shape. You will read that this is an error and that `backward` has to sum over the stretched axis. It does not have to: when the shape of a gradient can come from broadcasting the input, autograd sums it down itself. Any other shape is an error.
# %% [markdown] tags=["ru", "try"] of="9f49cda6"
# `backward` вернул градиент не той формы, что у `b`. Кто привёл его к форме `b`? И должен ли это делать `backward`?
#
# При транслировании (broadcasting) форма тензора `b` расширена с `(3,)` до `(4, 3)`, и возвращённый для него градиент тоже имеет расширенную форму. Нередко пишут, что это ошибка и что `backward` обязан просуммировать по добавленной оси. Не обязан: если форма градиента могла получиться транслированием входа, суммирует сам autograd. Любая другая форма — ошибка.
# %% [markdown] tags=["en"]
# ### `product_function`
#
# **Write the class `Product`: `a * b` with broadcasting, and only the gradients that somebody needs.**
#
# * **Given.** `a` and `b`, two floating point tensors of one dtype whose shapes can be broadcast together, such as `(4, 3)` and `(4, 1)`, `(4, 1)` and `(1, 3)`, or `(3,)` and `()`.
# * **Result.** `Product.apply(a, b)` is `a * b`, and each input that requires grad gets its gradient. <!-- gradients -->
# * **Leave.** The inputs, and what an earlier call needs. <!-- each_call -->
# * **Leave.** The tensor `grad_output`. <!-- grad_output_after -->
# * **Not allowed.** A product in `backward` for an input that does not require grad: None is enough in its place. <!-- reads_for_nobody -->
# %% [markdown] tags=["ru"] of="0cf7ebe6"
# ### `product_function`
#
# **Напишите класс `Product`: `a * b` с транслированием (broadcasting) и только с теми градиентами, которые кому-нибудь нужны.**
#
# * **Дано.** Два тензора с плавающей точкой `a` и `b`: dtype у них один, а формы совместимы при транслировании, например `(4, 3)` и `(4, 1)`, `(4, 1)` и `(1, 3)` или `(3,)` и `()`.
# * **Результат.** `Product.apply(a, b)` — это `a * b`, и каждый вход, который требует градиента, получает свой градиент. <!-- gradients -->
# * **Не менять.** Входы и то, что нужно более раннему вызову. <!-- each_call -->
# * **Не менять.** Тензор `grad_output`. <!-- grad_output_after -->
# * **Нельзя.** Умножать в `backward` ради входа, который не требует градиента: на его месте достаточно None. <!-- reads_for_nobody -->
# %% answer="product_function"
class Product(torch.autograd.Function):
    """The product of two tensors, entry by entry."""

    @staticmethod
    def forward(ctx, a, b):
        ### BEGIN SOLUTION
        ctx.save_for_backward(a, b)
        return a * b
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        a, b = ctx.saved_tensors
        grad_a = grad_output * b if ctx.needs_input_grad[0] else None
        grad_b = grad_output * a if ctx.needs_input_grad[1] else None
        return grad_a, grad_b
        ### END SOLUTION


# %% alternative="product_function"
class Product(torch.autograd.Function):
    @staticmethod
    def forward(a, b):
        return torch.mul(a, b)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (grad_output * b).sum_to_size(a.shape)
        if ctx.needs_input_grad[1]:
            grad_b = (grad_output * a).sum_to_size(b.shape)
        return grad_a, grad_b


# %% alternative="product_function"
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        # only what will be read: `b` for the gradient of `a`, and the other way round
        ctx.save_for_backward(b if ctx.needs_input_grad[0] else None, a if ctx.needs_input_grad[1] else None)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        return tuple(None if other is None else grad_output.mul(other) for other in ctx.saved_tensors)


# %% alternative="product_function"
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.asked = a.requires_grad, b.requires_grad
        ctx.save_for_backward(a, b)
        return torch.einsum("...,...->...", a, b)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        if ctx.asked == (True, False):
            return grad_output * b, None
        if ctx.asked == (False, True):
            return None, grad_output * a
        return grad_output * b, grad_output * a


# %% check="product_function"
from autograder import check

check("product_function")
# %% tags=["fact"]
left = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
right = torch.rand(3, dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(Product.apply, (left, right))


class SwappedProduct(Product):
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return grad_output * a, grad_output * b


same = torch.rand(3, dtype=torch.float64)
pair = same.clone().requires_grad_(), same.clone().requires_grad_()
assert torch.autograd.gradcheck(SwappedProduct.apply, pair)
assert not torch.autograd.gradcheck(SwappedProduct.apply, (pair[0], right), raise_exception=False)


# %% [markdown] tags=["en"]
# ## Right once, wrong the second time
#
# A second derivative differentiates `backward`.
#
# ### `fix_sinh`
#
# **For `Sinh.apply(x)**2` at 1 the second derivative comes out as 4.76 in place of 7.52. Mend the class.**
#
# `Sinh.apply(x)` is the hyperbolic sine $(e^x - e^{-x}) / 2$; its derivative is the hyperbolic cosine, $(e^x + e^{-x}) / 2$. For `Sinh.apply(x)**2` at 1 the second derivative comes out as 4.76; it is 7.52. Mend the class. It may save what it needs.
#
# * **Result.** Value and first derivative, which are right, stay right. <!-- first -->
# * **Result.** Second derivatives are right, also of expressions composed with the function. To refuse a second derivative is not enough. <!-- second -->
# * **Leave.** The input, and what an earlier call needs. <!-- each_call -->
# * **Leave.** The tensor `grad_output`. <!-- first -->
# %% [markdown] tags=["ru"] of="bb8d856b"
# ## Первая производная верна, вторая — нет
#
# Чтобы получить вторую производную, дифференцируют сам `backward`.
#
# ### `fix_sinh`
#
# **Для `Sinh.apply(x)**2` в точке 1 вторая производная получается 4.76 вместо 7.52. Исправьте класс.**
#
# `Sinh.apply(x)` — гиперболический синус $(e^x - e^{-x}) / 2$. Его производная — гиперболический косинус, $(e^x + e^{-x}) / 2$. Вторая производная выражения `Sinh.apply(x)**2` в точке 1 получается равной 4.76, а должна быть равна 7.52. Исправьте класс. Сохранять можно всё, что нужно.
#
# * **Результат.** Значение и первая производная, верные и сейчас, остаются верными. <!-- first -->
# * **Результат.** Верны и вторые производные, в том числе у выражений, в которые входит эта функция. Запретить вторую производную недостаточно. <!-- second -->
# * **Не менять.** Вход и то, что нужно более раннему вызову. <!-- each_call -->
# * **Не менять.** Тензор `grad_output`. <!-- first -->
# %% answer="fix_sinh"
class Sinh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        e, i = torch.exp(x), torch.exp(-x)
        ctx.save_for_backward(x)
        return (e - i) / 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (torch.exp(x) + torch.exp(-x)) / 2


# %% given="fix_sinh"
class Sinh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        e, i = torch.exp(x), torch.exp(-x)
        ctx.save_for_backward(e, i)
        return (e - i) / 2

    @staticmethod
    def backward(ctx, grad_output):
        e, i = ctx.saved_tensors
        return grad_output * (e + i) / 2


# %% alternative="fix_sinh"
class Sinh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sinh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * torch.sqrt(1 + y * y)


# %% alternative="fix_sinh"
class Sinh(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.sinh()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0].cosh()


# %% alternative="fix_sinh"
class SinhOfThree(torch.autograd.Function):
    """The way of torch's tutorial: intermediate results become outputs."""

    @staticmethod
    def forward(ctx, x):
        e, i = torch.exp(x), torch.exp(-x)
        ctx.save_for_backward(e, i)
        return (e - i) / 2, e, i

    @staticmethod
    def backward(ctx, grad_output, grad_e, grad_i):
        e, i = ctx.saved_tensors
        return grad_output * (e + i) / 2 + grad_e * e - grad_i * i


class Sinh(torch.autograd.Function):
    @classmethod
    def apply(cls, x):
        return SinhOfThree.apply(x)[0]


# %% check="fix_sinh"
from autograder import check

check("fix_sinh")
# %% [markdown] tags=["en"] explains="fix_sinh"
# For a second derivative `backward` must be made of recorded operations on tensors that autograd can follow to the inputs. Inside `forward` recording is off, so `e` and `i` are constants: nothing leads from them to `x`. An *input* that was saved comes back from `saved_tensors` as the tensor of the graph that it was, and an *output* comes back connected to this very node. Anything in between comes back as a constant. So save inputs or outputs, and compute the rest in `backward`.
# %% [markdown] tags=["ru"] explains="fix_sinh" of="213b723d"
# Для второй производной операции в `backward` должны записываться, а от тензоров, с которыми они работают, autograd должен найти путь ко входам. Внутри `forward` отслеживание выключено, поэтому `e` и `i` — константы: от них к `x` пути нет. Сохранённый *вход* возвращается из `saved_tensors` как тот же тензор графа, а *выход* — как тензор, связанный с узлом самой функции. Всё промежуточное возвращается константой. Поэтому сохраняйте входы или выходы, а остальное вычисляйте в `backward`.


# %% [markdown] tags=["en"]
# The same with a square: `SquareTemporary` saves `2 * x`, which spares `backward` a multiplication. The expression is $x \cdot x^2 = x^3$ at 3: the first derivative is 27, the second 18.
# %% [markdown] tags=["ru"] of="b9ef6fb9"
# То же с квадратом. Функция `SquareTemporary` сохраняет `2 * x`, чтобы в `backward` было на одно умножение меньше. Возьмём выражение $x \cdot x^2 = x^3$ в точке 3: первая производная равна 27, вторая — 18.
# %%
class SquareTemporary(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        twice = 2 * x
        ctx.save_for_backward(twice)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (twice,) = ctx.saved_tensors
        return grad_output * twice


x = torch.tensor(3.0, requires_grad=True)
(first,) = torch.autograd.grad(x * SquareTemporary.apply(x), x, create_graph=True)
(second,) = torch.autograd.grad(first, x)
print("first:", first.item(), "  second:", second.item())
# %% tags=["fact"]
assert (first.item(), second.item()) == (27, 12)
cubed = x * x**2
(first,) = torch.autograd.grad(cubed, x, create_graph=True)
assert (first.item(), torch.autograd.grad(first, x)[0].item()) == (27, 18)
double = torch.tensor([1.5, -0.7], dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(SquareTemporary.apply, (double,))
assert not torch.autograd.gradgradcheck(SquareTemporary.apply, (double,), raise_exception=False)
# %% [markdown] tags=["en"]
# What is missing? The picture draws `value` and the graph of its derivative; what belongs to `first` alone stands in a frame of its own. Find `twice` there, the 6: do any arrows lead on from it?
# %% [markdown] tags=["ru"] of="60e698a2"
# Чего не хватает? На рисунке — граф значения `value` и его производной. То, что нужно только для `first`, обведено отдельной рамкой. Найдите в ней `twice` — это число 6. Выходят ли из него стрелки дальше?
# %% tags=["picture"]
x = torch.tensor(3.0, requires_grad=True)
value = x * SquareTemporary.apply(x)
(first,) = torch.autograd.grad(value, x, create_graph=True)
draw(value, first)


# %% [markdown] tags=["en"]
# The result is 12 instead of 18, without a warning. From the constant `twice` nothing leads to `x`.
#
# `gradcheck` passes, because it looks at the first derivative. `gradgradcheck` looks at the second, and finds the mistake. If you compute second derivatives by hand, take an expression *composed* with your function, such as $x \cdot f(x)$ here. With this function alone, `first` would be a constant, and instead of a wrong number you would get an error about a tensor that does not require grad.
#
# Where a second derivative is not wanted, say so: put `@torch.autograd.function.once_differentiable` above `backward` (and below `@staticmethod`). Does a second derivative then raise an error? Run the next cell before you believe it.
# %% [markdown] tags=["ru"] of="2d18e353"
# Получилось 12 вместо 18, а предупреждения нет. От константы `twice` к `x` пути нет.
#
# Функция `gradcheck` ошибки не замечает, потому что проверяет первую производную. Функция `gradgradcheck` проверяет вторую и ошибку находит. Если вы вычисляете вторые производные сами, берите выражение, в которое ваша функция *входит*, как здесь $x \cdot f(x)$. Для самой функции, без множителя, производная `first` была бы константой, и вместо неверного числа получилась бы ошибка: тензор не требует градиента.
#
# Если вторая производная не нужна, об этом можно сообщить: поставьте над `backward` (и под `@staticmethod`) декоратор `@torch.autograd.function.once_differentiable`. Приведёт ли тогда попытка вычислить вторую производную к ошибке? Прежде чем ответить, выполните следующую ячейку.
# %%
class SquareOnce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        return 2 * grad_output * ctx.saved_tensors[0]


def second_by_grad(first, x):
    return torch.autograd.grad(first, x)[0]


def second_by_backward(first, x):
    first.backward()
    return x.grad


for second_by in second_by_grad, second_by_backward:
    x = torch.tensor(3.0, requires_grad=True)
    (first,) = torch.autograd.grad(x * SquareOnce.apply(x), x, create_graph=True)
    try:
        print(f"{second_by.__name__:20}", second_by(first, x).item())
    except RuntimeError as error:
        print(f"{second_by.__name__:20} RuntimeError:", str(error))
# %% tags=["fact"]
x = torch.tensor(3.0, requires_grad=True)
(first,) = torch.autograd.grad(x * SquareOnce.apply(x), x, create_graph=True)
assert second_by_grad(first, x).item() == 6
(first,) = torch.autograd.grad(x * SquareOnce.apply(x), x, create_graph=True)
try:
    second_by_backward(first, x)
    raise AssertionError
except RuntimeError as error:
    assert str(error) == "trying to differentiate twice a function that was marked with @once_differentiable"
assert torch.autograd.functional.hessian(lambda x: x * SquareOnce.apply(x), torch.tensor(3.0)).item() == 6
x = torch.tensor(3.0, requires_grad=True)
(first,) = torch.autograd.grad(SquareOnce.apply(x) + x**2, x, create_graph=True)
assert second_by_backward(first, x).item() == 2  # 2 + 2 would be right


class KeepsOutput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y, 2 * x)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        KeepsOutput.came_back = ctx.saved_tensors
        return grad_output * ctx.saved_tensors[1]


y = KeepsOutput.apply(x)
torch.autograd.grad(y, x, create_graph=True)
came_in, came_out, between = KeepsOutput.came_back
assert came_in is x and came_out.grad_fn is y.grad_fn and between.grad_fn is None and not between.requires_grad
KeepsOutput.came_back = None
(alone,) = torch.autograd.grad(SquareTemporary.apply(x), x, create_graph=True)
assert not alone.requires_grad and attempt(lambda: torch.autograd.grad(alone, x)) == "RuntimeError"


# %% [markdown] tags=["en", "try"]
# One way raises an error, the other returns a wrong number. Say why the two differ: which nodes does each of them reach?
#
# `backward()` reaches the node that raises the error. `autograd.grad` follows only the way to `x`, and that node is not on it: 6 comes out instead of 18, silently, and `torch.autograd.functional.hessian` does the same. Where the Function enters the loss linearly, as in $f(x) + x^2$, even `backward()` gives 2 instead of 4 without a word: what arrives in the Function is the constant 1. So the decorator is a good sign to readers and half a guard. A `backward` that can be differentiated is the safe one.
# %% [markdown] tags=["ru", "try"] of="cbd0b29d"
# Один способ завершается ошибкой, другой возвращает неверное число. Объясните разницу: до каких узлов доходит каждый из них?
#
# Проход `backward()` доходит до узла, который сообщает об ошибке. А `autograd.grad` идёт только по пути к `x`, и этого узла на нём нет, поэтому без всякого предупреждения получается 6 вместо 18. То же самое делает `torch.autograd.functional.hessian`. А если функция входит в сумму без множителя, как в $f(x) + x^2$, то и `backward()` молча даёт 2 вместо 4: в функцию приходит константа 1. Так что читающему код этот декоратор полезен как пометка, но защищает он лишь наполовину. Надёжен только тот `backward`, который можно дифференцировать.
# %% [markdown] tags=["en"]
# Here are second derivatives of $x \cdot f(x)$ along $x$, all by `autograd.grad`; $f$ is meant to be the square. The right answer is the line $6x$. The wrong ones are straight lines as well: nothing in them looks like an error.
# %% [markdown] tags=["ru"] of="0229e9ee"
# На графике — вторые производные выражения $x \cdot f(x)$ как функции от $x$. Функция $f$ должна возводить в квадрат. Все производные вычислены с помощью `autograd.grad`. Верный ответ — прямая $6x$. Неверные ответы — тоже прямые, и по виду ошибку не заметить.
# %% tags=["picture"] alt="Three straight lines through 0 with different slopes: 6x, and two wrong ones that are flatter | Три прямые через 0 с разным наклоном: 6x и две неверные, более пологие"
import matplotlib.pyplot as plt

axis = torch.linspace(-3, 3, 61)
figure, axes = plt.subplots(figsize=(6.4, 3.2))
for label, style, square in (
    ("x * x", "-", lambda t: t * t),
    ("SquareTemporary", "--", SquareTemporary.apply),
    ("SquareOnce", ":", SquareOnce.apply),
):
    along = axis.clone().requires_grad_()
    (slope,) = torch.autograd.grad((along * square(along)).sum(), along, create_graph=True)
    axes.plot(axis, torch.autograd.grad(slope.sum(), along)[0], style, label=label)
axes.set_xlabel("x")
axes.legend(frameon=False)
plt.show()


# %% tags=["fact"]
class GivenSinh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        e, i = torch.exp(x), torch.exp(-x)
        ctx.save_for_backward(e, i)
        return (e - i) / 2

    @staticmethod
    def backward(ctx, grad_output):
        e, i = ctx.saved_tensors
        return grad_output * (e + i) / 2


one = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
for function, wanted in (GivenSinh, 4.76), (Sinh, 7.52):
    (first,) = torch.autograd.grad(function.apply(one) ** 2, one, create_graph=True)
    assert round(torch.autograd.grad(first, one)[0].item(), 2) == wanted
assert torch.autograd.gradcheck(GivenSinh.apply, (one,)) and torch.autograd.gradgradcheck(Sinh.apply, (one,))
assert not torch.autograd.gradgradcheck(GivenSinh.apply, (one,), raise_exception=False)


# %% [markdown] tags=["en"]
# ## What to keep
#
# * `backward` multiplies the derivative by `grad_output`, and returns one entry for each argument of `apply`. Autograd checks their number and shapes, never their values.
# * Inputs and outputs go through `save_for_backward`; `ctx` attributes are for what is no tensor.
# * Save inputs or outputs, nothing in between: else the second derivative is silently wrong. `once_differentiable` does not stop `autograd.grad`, and `backward()` only if the gradient that arrives in the Function requires grad.
# * `gradcheck` with inputs that differ and lie on both sides of a kink; `gradgradcheck` for the second derivative. `gradcheck` does not see an edited `grad_output`, so look at it yourself.
# %% [markdown] tags=["ru"] of="b002750c"
# ## Что стоит запомнить
#
# * `backward` умножает производную на `grad_output` и возвращает по одному значению на каждый аргумент `apply`. Autograd проверяет их количество и форму, но не значения.
# * Входы и выходы передают в `save_for_backward`; в атрибуты `ctx` кладут то, что не является тензором.
# * Сохраняйте входы или выходы, но ничего промежуточного: иначе вторая производная будет неверной, а предупреждения не появится. `once_differentiable` не останавливает `autograd.grad`, а `backward()` — только если пришедший в функцию градиент сам требует градиента.
# * Вызывайте `gradcheck` на разных входах и по обе стороны излома, а для второй производной — `gradgradcheck`. Изменений в `grad_output` функция `gradcheck` не видит, поэтому проверяйте его сами.
# %% [markdown] tags=["en"]
# ## A ReLU that was published
#
# A hand-written operation that replaces `torch.relu` should do what `torch.relu` does. This one was published. On random numbers `gradcheck` says True, and yet a network learns otherwise with it than with `torch.relu`.
#
# ### `fix_relu`
#
# **This `ReLU` is to give what `torch.relu` gives, value and gradient, for all numbers. Mend it.**
#
# In this class there is a slip, `# staticmethod` for `@staticmethod`. The slip is harmless; find what is not, and mend it.
#
# * **Given.** `x`, on any device, on a GPU as on the CPU. NaN and infinity occur neither in it nor in `grad_output`.
# * **Result.** Value and gradient of `ReLU.apply(x)` are those of `torch.relu(x)` for all numbers, however small, and every `grad_output`. <!-- derivative -->
# * **Result.** They lie on the device of `x`. <!-- device -->
# * **Leave.** The input, and what an earlier call needs. <!-- each_call -->
# * **Leave.** The tensor `grad_output`. <!-- grad_output_after -->
# %% [markdown] tags=["ru"] of="36b13dda"
# ## Опубликованный ReLU
#
# Операция, которая заменяет `torch.relu`, должна делать то же, что `torch.relu`. Эта была опубликована. На случайных числах `gradcheck` возвращает True, и всё же сеть с ней обучается иначе, чем с `torch.relu`.
#
# ### `fix_relu`
#
# **Этот `ReLU` должен давать то же, что `torch.relu`: и значение, и градиент, при любых числах. Исправьте его.**
#
# В этом классе есть описка: `# staticmethod` вместо `@staticmethod`. Описка безвредна. Найдите настоящую ошибку и исправьте её.
#
# * **Дано.** Тензор `x` на любом устройстве, и на CPU, и на GPU. NaN и бесконечностей нет ни в нём, ни в `grad_output`.
# * **Результат.** Значение и градиент `ReLU.apply(x)` такие же, как у `torch.relu(x)`, при любых числах, даже самых малых, и любом `grad_output`. <!-- derivative -->
# * **Результат.** Значение и градиент лежат на том же устройстве, что и `x`. <!-- device -->
# * **Не менять.** Вход и то, что нужно более раннему вызову. <!-- each_call -->
# * **Не менять.** Тензор `grad_output`. <!-- grad_output_after -->
# %% answer="fix_relu"
class ReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input <= 0] = 0
        return grad_input


# %% given="fix_relu"
class ReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    # staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


# %% alternative="fix_relu"
class ReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.mask = input > 0
        return input * ctx.mask

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.mask


# %% alternative="fix_relu"
class ReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        output = torch.relu(input)
        ctx.save_for_backward(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        (output,) = ctx.saved_tensors
        return torch.where(output > 0, grad_output, torch.zeros_like(grad_output))


# %% alternative="fix_relu"
class ReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output.masked_fill(~(input > 0), 0)


# %% check="fix_relu"
from autograder import check

check("fix_relu")
# %% [markdown] tags=["en"] explains="fix_relu"
# At 0 the relu has no derivative: the slope is 0 on the left, 1 on the right. Any number from 0 to 1, both ends included, is a *subgradient*. Which one do torch's own operations take? See the next cell.
#
# `gradcheck` found nothing: random numbers are hardly ever 0. And at 0 you cannot rely on it, since there it fails for `torch.relu` as well: the central difference is 0.5.
# %% [markdown] tags=["ru"] explains="fix_relu" of="64fef177"
# В нуле у relu нет производной: слева от него наклон 0, справа — 1. Любое число от 0 до 1, включая концы, называют *субградиентом*. Какой из них выбирают операции самого torch? Выполните следующую ячейку.
#
# Проверка `gradcheck` ничего не находит: среди случайных чисел нуля почти не бывает. А в самом нуле полагаться на неё нельзя: там её не проходит и `torch.relu`, потому что центральная разность равна 0.5.
# %%
x, zero = torch.tensor(0.0, requires_grad=True), torch.tensor(0.0)
operations = {
    "relu(x)": torch.relu(x),
    "maximum(x, 0)": torch.maximum(x, zero),
    "where(x > 0, x, 0)": torch.where(x > 0, x, zero),
    "where(x >= 0, x, 0)": torch.where(x >= 0, x, zero),
}
for name, y in operations.items():
    print(f"{name:20} derivative at 0: {torch.autograd.grad(y, x)[0].item()}")
# %% [markdown] tags=["en", "try"]
# Four programs of one function. How many answers, and which of them must a ReLU give that replaces torch's? Say it.
#
# Three. None of them is wrong, and nobody promises that they stay: for `x.clamp(min=0)` torch up to 2.13 gives 1, from 2.14 on 0. But a hand-written operation that replaces `torch.relu` should make the same choice. Where many entries are exactly 0 (after another relu, in padding, in weights that start at zero) it is seen.
# %% [markdown] tags=["ru", "try"] of="50ebb1c1"
# Функция одна, программ четыре. Сколько получилось ответов и какой из них должен давать ReLU, который заменяет собой ReLU из torch? Ответьте.
#
# Ответов три. Неправильных среди них нет, и никто не обещает, что они не изменятся: для `x.clamp(min=0)` torch до версии 2.13 включительно даёт 1, а с версии 2.14 — 0. Но операция, которая заменяет `torch.relu`, должна выбирать тот же субградиент. Разница видна там, где много точных нулей: после другого relu, в паддинге, в весах, которые вначале равны нулю.
# %% tags=["fact"]
x = torch.tensor(0.0, requires_grad=True)
for y, slope in zip(
    (torch.relu(x), torch.maximum(x, zero), torch.where(x > 0, x, 0), torch.where(x >= 0, x, 0)), (0, 0.5, 0, 1)
):
    assert torch.autograd.grad(y, x)[0].item() == slope
slopes = [torch.autograd.grad(x.clamp(min=low), x)[0].item() for low in (0, zero)]
before = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 14)
assert slopes == ([1.0, 1.0] if before else [0.0, 0.5])


# %% tags=["fact"]
class PublishedReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    # staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


torch.manual_seed(0)
x = torch.randn(20, dtype=torch.float64, requires_grad=True)
kink = torch.zeros(1, dtype=torch.float64, requires_grad=True)
for function in PublishedReLU.apply, torch.relu:
    assert torch.autograd.gradcheck(function, (x,))
    assert not torch.autograd.gradcheck(function, (kink,), raise_exception=False)
PublishedReLU.apply(kink).backward()
assert kink.grad.item() == 1


# %% [markdown] tags=["en"]
# ## One node instead of two
#
# Why write a Function at all, when autograd can differentiate everything? For a gradient that is no derivative (the next section), for code that torch cannot see, and for memory. Take $x \cdot \sigma(x)$, the activation SiLU. Written out, the graph keeps the sigmoid next to `x`. torch's own `silu` keeps `x` alone. The cell counts the bytes alive after the forward pass; the result itself has 40,000.
# %% [markdown] tags=["ru"] of="a2738949"
# ## Один узел вместо двух
#
# Зачем вообще писать пользовательскую функцию, если autograd дифференцирует всё? Ради градиента, который не является производной (следующий раздел), ради кода, в который torch заглянуть не может, и ради памяти. Возьмём $x \cdot \sigma(x)$, функцию активации SiLU. Если записать её обычными операциями, в графе, кроме `x`, хранится ещё и сигмоида. Для встроенной функции `silu` хранится только `x`. В следующей ячейке подсчитаны байты, которые остаются в памяти после прямого прохода. Сам результат занимает 40 000 байт.
# %%
from autograder.measure import live_bytes

x = torch.linspace(-3, 3, 5000, dtype=torch.float64, requires_grad=True)
alive = {}
for name, f in {"written out": lambda x: x * torch.sigmoid(x), "torch's silu": torch.nn.functional.silu}.items():
    with live_bytes() as live:
        y = f(x)
        alive[name] = live.now
    print(f"{name:14}{alive[name]:8} bytes alive besides x")
# %% tags=["fact"]
assert torch.nn.functional.silu(x).grad_fn._saved_self is x
assert alive == {"written out": 80_000, "torch's silu": 40_000} and y.numel() * y.element_size() == 40_000
from autograder.measure import graph_nodes

both = [graph_nodes(f(x)) for f in (lambda x: x * torch.sigmoid(x), torch.nn.functional.silu)]
assert [sum(not hasattr(node, "variable") for node in nodes) for nodes in both] == [2, 1]
# %% [markdown] tags=["en"]
# The picture shows which node keeps what. A saved tensor marked as “an input” costs nothing here, because the caller keeps `x` anyway.
# %% [markdown] tags=["ru"] of="dd83809e"
# На рисунке видно, что хранится в каждом узле. Пометка «это вход» здесь означает, что дополнительная память не нужна: вызывающий код и так хранит `x`.
# %% tags=["picture"]
written_out, torchs_silu = x * torch.sigmoid(x), torch.nn.functional.silu(x)
draw(written_out, torchs_silu, saved=True)


# %% [markdown] tags=["en"]
# ### `silu_function`
#
# **Write the class `SiLU`: `x * torch.sigmoid(x)`, right to the second derivative, which keeps nothing but its input and its result.**
#
# Write a class `SiLU` derived from `torch.autograd.Function`. Time does not count: computing something twice is allowed.
#
# * **Given.** `x`, a floating point tensor of any shape, with 0 and large numbers such as 1000 and −1000.
# * **Result.** `SiLU.apply(x)` is `x * torch.sigmoid(x)`, and its first derivative is right: no NaN. <!-- first -->
# * **Result.** Second derivatives are right, also of expressions composed with it. <!-- second -->
# * **Result.** In float64 all of them are exact to ten digits: the error is at most $10^{-10}$ of the largest entry. <!-- exact -->
# * **Leave.** The input, and what an earlier call needs. <!-- each_call -->
# * **Leave.** The tensor `grad_output`. <!-- first -->
# * **Not allowed.** To keep anything alive after the forward pass but the result and the input, which the caller holds. <!-- bytes_kept -->
# %% [markdown] tags=["ru"] of="b154ae93"
# ### `silu_function`
#
# **Напишите класс `SiLU`: `x * torch.sigmoid(x)`, верный вплоть до второй производной, который не хранит ничего, кроме входа и результата.**
#
# Напишите класс `SiLU`, унаследованный от `torch.autograd.Function`. Время не учитывается: можно вычислять одно и то же дважды.
#
# * **Дано.** Тензор с плавающей точкой `x` любой формы; в нём бывают и нули, и большие по модулю числа вроде 1000 и −1000.
# * **Результат.** `SiLU.apply(x)` — это `x * torch.sigmoid(x)`, и первая производная верна: NaN не появляется. <!-- first -->
# * **Результат.** Верны и вторые производные, в том числе у выражений, в которые входит эта функция. <!-- second -->
# * **Результат.** В float64 у всех этих величин верны десять знаков: погрешность не больше $10^{-10}$ от наибольшего элемента. <!-- exact -->
# * **Не менять.** Вход и то, что нужно более раннему вызову. <!-- each_call -->
# * **Не менять.** Тензор `grad_output`. <!-- first -->
# * **Нельзя.** Хранить после прямого прохода что-либо, кроме результата и входа, который хранит вызывающий код. <!-- bytes_kept -->
# %% answer="silu_function"
class SiLU(torch.autograd.Function):
    """`x * sigmoid(x)` that keeps its input alone."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))
        ### END SOLUTION


# %% alternative="silu_function"
class SiLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.nn.functional.silu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        recorded = torch.is_grad_enabled()
        with torch.enable_grad():
            y = x * torch.sigmoid(x)
            return torch.autograd.grad(y, x, grad_output, create_graph=recorded)[0]


# %% alternative="silu_function"
class SiLU(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x / (1 + torch.exp(-x))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * (y + s * (1 - y))


# %% alternative="silu_function"
class SiLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sigmoid().mul_(x)

    @staticmethod
    def backward(ctx, grad_output):
        _, vjp = torch.func.vjp(lambda t: t * t.sigmoid(), ctx.saved_tensors[0])
        return vjp(grad_output)[0]


# %% check="silu_function"
from autograder import check

check("silu_function")


# %% [markdown] tags=["en"]
# ## A gradient that is no derivative
#
# The derivative of the sign is 0 wherever it exists, so nothing before a sign can learn by it. Networks with weights of −1 and 1 are trained all the same: `backward` returns something useful instead, the *straight-through estimator*. `gradcheck` must fail on such a Function, because it compares with the true derivative. Test it against the formula that you want.
# %% [markdown] tags=["ru"] of="acf751a9"
# ## Градиент, который не является производной
#
# Производная функции знака равна 0 везде, где она есть, поэтому слои перед этой функцией по такому градиенту не обучаются. И всё же сети с весами −1 и 1 обучают: вместо нуля `backward` возвращает что-нибудь полезное. Такая замена называется *сквозной оценкой градиента* (straight-through estimator, STE). Проверку `gradcheck` такая функция и не должна проходить, потому что там сравнение идёт с настоящей производной. Проверяйте её по той формуле, которая вам нужна.
# %% tags=["fact"]
points = torch.tensor([0.5, -0.25, 2.0], dtype=torch.float64, requires_grad=True)
assert torch.autograd.grad(points.sign().sum(), points)[0].tolist() == [0, 0, 0]


# %% [markdown] tags=["en"]
# To make one part of a network work *against* another, the sign of the gradient is changed between them (gradient reversal), and the gradient is often scaled. The value passes as it is. What if `forward` returns `x` itself?
# %% [markdown] tags=["ru"] of="980300b8"
# Чтобы одна часть сети работала *против* другой, между ними меняют знак градиента (обращение градиента, gradient reversal), а часто ещё и умножают его на число. Значение проходит без изменений. А что, если метод `forward` вернёт сам тензор `x`?
# %%
class PassOn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


x = torch.ones(2, requires_grad=True)
y = PassOn.apply(x)
print("the same tensor:", y is x, "  the same memory:", y.data_ptr() == x.data_ptr(), "  a view:", y._is_view())
try:
    y.mul_(3)
except RuntimeError as error:
    print("RuntimeError:", str(error)[:64])
# %% tags=["fact"]
assert y is not x and y.data_ptr() == x.data_ptr() and y._is_view()
try:
    PassOn.apply(x * 1).mul_(3)
    raise AssertionError
except RuntimeError as error:
    assert "is a view and is being modified inplace." in str(
        error
    )  # before it, torch 2.11 names the node, not the Function


# %% [markdown] tags=["en"]
# The result is a view, and torch refuses to change a view made inside a custom Function. The Function is right, but a `relu_()` after it raises an error.
#
# ### `reverse_function`
#
# **Write the class `Reverse`: it passes the numbers on, and sends the gradient back times `-factor`.**
#
# * **Given.** `x`, a tensor, and `factor`, a number.
# * **Result.** `Reverse.apply(x, factor)` is a tensor with the numbers of `x`. The gradient of `x` is `grad_output` times `-factor`. <!-- reversed -->
# * **Result.** The result can be changed in place, and `x` does not change with it. <!-- result_edited -->
# * **Leave.** The input, and what an earlier call needs. <!-- each_call -->
# * **Leave.** The tensor `grad_output`. <!-- reversed -->
# %% [markdown] tags=["ru"] of="bd254dd4"
# Результат — представление, а менять на месте представление, созданное внутри пользовательской функции, torch не разрешает. Сама функция верна, но, если дальше написать `relu_()`, возникнет ошибка.
#
# ### `reverse_function`
#
# **Напишите класс `Reverse`: числа он передаёт без изменений, а градиент возвращает умноженным на `-factor`.**
#
# * **Дано.** Тензор `x` и число `factor`.
# * **Результат.** `Reverse.apply(x, factor)` — тензор с теми же числами, что в `x`. Градиент по `x` равен `grad_output`, умноженному на `-factor`. <!-- reversed -->
# * **Результат.** Результат можно изменить на месте, и на `x` это не влияет. <!-- result_edited -->
# * **Не менять.** Вход и то, что нужно более раннему вызову. <!-- each_call -->
# * **Не менять.** Тензор `grad_output`. <!-- reversed -->
# %% answer="reverse_function"
class Reverse(torch.autograd.Function):
    """Passes the numbers on, and the gradient times `-factor`."""

    @staticmethod
    def forward(ctx, x, factor):
        ### BEGIN SOLUTION
        ctx.factor = factor
        return x.clone()
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        return -ctx.factor * grad_output, None
        ### END SOLUTION


# %% alternative="reverse_function"
class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(x, factor):
        return 1 * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.factor = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.factor, None


# %% alternative="reverse_function"
class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(torch.tensor(factor, dtype=x.dtype))
        return torch.empty_like(x).copy_(x)

    @staticmethod
    def backward(ctx, grad_output):
        (factor,) = ctx.saved_tensors
        return (-grad_output * factor if ctx.needs_input_grad[0] else None), None


# %% alternative="reverse_function"
class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x + 0

    @staticmethod
    def backward(ctx, grad_output):
        return torch.mul(grad_output, -ctx.factor), None, None


# %% check="reverse_function"
from autograder import check

check("reverse_function")


# %% [markdown] tags=["en"]
# ## Two results, one sum
#
# The gradient of `Leaky` is right, and `gradcheck` finds nothing. In `a.exp() + Leaky.apply(b, 0.1)` that of `a` is wrong.
#
# ### `leaky_function`
#
# **The gradient of this class is right when it stands alone, and spoils that of its neighbour in a sum. Mend it.**
#
# * **Given.** `x`, in which 0 does not occur; `slope`, any number, also 0 or more than 1.
# * **Result.** `Leaky.apply(x, slope)` is `x` where `x` is positive and `slope * x` where it is negative. Its gradient, which is right, stays right. <!-- derivative -->
# * **Leave.** The input, and what an earlier call needs. <!-- each_call -->
# * **Leave.** `grad_output`: a neighbour gets its right gradient, too. <!-- others -->
# %% [markdown] tags=["ru"] of="0a497793"
# ## Сумма двух результатов
#
# Градиент `Leaky` верен, и `gradcheck` ничего не находит. Но в `a.exp() + Leaky.apply(b, 0.1)` неверен градиент по `a`.
#
# ### `leaky_function`
#
# **Градиент этого класса верен, пока класс стоит один, а в сумме он портит градиент соседа. Исправьте класс.**
#
# * **Дано.** Тензор `x`, в котором нет нулей; `slope` — любое число, в том числе 0 и больше 1.
# * **Результат.** `Leaky.apply(x, slope)` равно `x` там, где `x` положителен, и `slope * x` там, где он отрицателен. Градиент, верный и сейчас, остаётся верным. <!-- derivative -->
# * **Не менять.** Вход и то, что нужно более раннему вызову. <!-- each_call -->
# * **Не менять.** Тензор `grad_output`: верный градиент получает и соседняя операция. <!-- others -->
# %% answer="leaky_function"
class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x < 0, slope * x, x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[x < 0] *= ctx.slope
        return grad_input, None


# %% given="leaky_function"
class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x < 0, slope * x, x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x < 0] *= ctx.slope
        return grad_output, None


# %% alternative="leaky_function"
class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.nn.functional.leaky_relu(x, slope)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x < 0, grad_output * ctx.slope, grad_output), None


# %% alternative="leaky_function"
class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.factor = torch.ones_like(x).masked_fill(x < 0, slope)
        return x * ctx.factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None


# %% alternative="leaky_function"
class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return x.clamp(min=0) + slope * x.clamp(max=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        negative = (x < 0).to(x.dtype)
        return grad_output * (1 - negative) + ctx.slope * grad_output * negative, None


# %% check="leaky_function"
from autograder import check

check("leaky_function")


# %% [markdown] tags=["en"] explains="leaky_function"
# `Leaky` writes into `grad_output`, and that tensor may be another node's, too. The smallest case is in the next cell. It adds up `a.exp() + TimesTwo.apply(b)`. `TimesTwo` doubles what it gets. The derivative of `a.exp()` at 0 is 1. What is `a.grad`?
# %% [markdown] tags=["ru"] explains="leaky_function" of="acc6881d"
# `Leaky` записывает в `grad_output`, а этот тензор может принадлежать и другому узлу. Самый простой случай — в следующей ячейке. В ней складываются `a.exp() + TimesTwo.apply(b)`. Функция `TimesTwo` удваивает свой аргумент. Производная `a.exp()` в нуле равна 1. Чему равен `a.grad`?
# %%
class TimesTwo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(2)


a = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
b = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
(a.exp() + TimesTwo.apply(b)).backward()
print("a.grad:", a.grad.item(), "  b.grad:", b.grad.item())
print("gradcheck:", torch.autograd.gradcheck(TimesTwo.apply, (b,)))
# %% tags=["fact"]
assert a.grad.item() == 2 and b.grad.item() == 2
assert torch.autograd.gradcheck(TimesTwo.apply, (b,))
alone = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
(TimesTwo.apply(alone) + (other := torch.tensor(0.0, requires_grad=True)).exp()).backward()
assert other.grad.item() == 1  # here `exp` is the newer node and runs first


class TimesThree(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 3 * x

    @staticmethod
    def backward(ctx, grad_output):
        (buffer,) = ctx.input_grad_buffers
        found.append(None if buffer is None else buffer.item())
        if buffer is None:
            return 3 * grad_output
        buffer.add_(3 * grad_output)


if hasattr(torch.autograd.function.FunctionCtx, "input_grad_buffers"):
    found, shared = [], torch.tensor(1.0, requires_grad=True) * 1
    shared.retain_grad()
    (TimesThree.apply(shared) + 2 * shared).backward()  # the product is the newer node and runs first
    assert found == [2] and shared.grad.item() == 5
    TimesThree.apply(torch.tensor(1.0, requires_grad=True) * 1).backward()
    assert found == [2, None]
# %% tags=["picture"]
from autograder import steps

a = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
b = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
total = a.exp() + TimesTwo.apply(b)
steps(total)
# %% [markdown] tags=["en", "try"]
# Go through the backward pass one step at a time. What does the addition hand on to `ExpBackward0`, and what does that node get when its turn comes?
#
# The result is 2 instead of 1, and the wrong gradient is not that of the Function with the mistake but that of its neighbour. `gradcheck` passes, since the gradient that `TimesTwo` returns is right. Written in the other order the sum is right again, because the node that was made last runs first. The only sure test is to compare `grad_output` before and after the backward pass.
#
# From torch 2.15 on, there is one tensor that `backward` may add to in place. `ctx.input_grad_buffers` holds, for each input, the sum of the gradients that other nodes have already sent there, or None; having added its share, `backward` returns None for that input.
# %% [markdown] tags=["ru", "try"] of="94e41c86"
# Проследите обратный проход шаг за шагом. Какой градиент передан от сложения узлу `ExpBackward0` и какой этот узел получает, когда до него доходит очередь?
#
# Получилось 2 вместо 1, причём неверен градиент не у функции с ошибкой, а у соседней операции. Проверка `gradcheck` ошибки не находит, ведь градиент, который вернула функция `TimesTwo`, верен. Если переставить слагаемые, градиенты снова окажутся верными: первым выполняется узел, созданный последним. Надёжная проверка одна: сравнить `grad_output` до и после обратного прохода.
#
# С torch 2.15 есть тензор, к которому `backward` вправе прибавлять на месте. В `ctx.input_grad_buffers` для каждого входа лежит сумма градиентов, уже пришедших туда от других узлов, или None. Прибавив свою долю, `backward` возвращает для этого входа None.


# %% [markdown] tags=["en"]
# ## A change in place that autograd knows of
#
# A Function may change its input in place, if it says so: `ctx.mark_dirty(x)` in `forward`, and `x` is returned. Without that call autograd takes the result for a new tensor. Then the input still has its old place in the graph, although its numbers are new.
# %% [markdown] tags=["ru"] of="b56c071b"
# ## Изменение на месте, о котором autograd знает
#
# Пользовательская функция может изменить свой вход на месте, если сообщить об этом: вызвать `ctx.mark_dirty(x)` в методе `forward` и вернуть `x`. Без этого вызова autograd считает результат новым тензором, и вход остаётся на прежнем месте в графе, хотя числа в нём уже новые.
# %%
class DoubleSilently(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


x = torch.ones(2, requires_grad=True)
h = x * 1
y = DoubleSilently.apply(h)
print("h:", h.tolist(), "  the result is h:", y is h)
h.sum().backward()
print("x.grad by way of h:", x.grad.tolist(), "  right: [2.0, 2.0]")
# %% tags=["fact"]
assert h.tolist() == [2, 2] and y is not h and x.grad.tolist() == [1, 1]


class DoubleDirty(DoubleSilently):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)


x = torch.ones(2, requires_grad=True)
h = x * 1
assert DoubleDirty.apply(h) is h
h.sum().backward()
assert x.grad.tolist() == [2, 2]
assert (
    attempt(lambda: DoubleDirty.apply(x)) == "RuntimeError" and attempt(lambda: DoubleSilently.apply(x)) == "accepted"
)


# %% [markdown] tags=["en"]
# ### `scale_function`
#
# **Write the class `ScaleInPlace`: it multiplies `x` in place, returns that very tensor, and all gradients are right.**
#
# * **Given.** `x`, a tensor that is no leaf and may hold zeros; `factor`, a number.
# * **Result.** `ScaleInPlace.apply(x, factor)` multiplies `x` by `factor` in place and returns that very tensor: `result is x`. <!-- in_place -->
# * **Result.** Gradients are right for whoever goes on with the result and for whoever goes on with `x`. <!-- gradients -->
# * **Leave.** The tensor `grad_output`. <!-- gradients -->
# %% [markdown] tags=["ru"] of="daa67096"
# ### `scale_function`
#
# **Напишите класс `ScaleInPlace`: он умножает `x` на месте, возвращает тот же самый тензор, и все градиенты верны.**
#
# * **Дано.** Нелистовой тензор `x`, в котором могут быть и нули; `factor` — число.
# * **Результат.** `ScaleInPlace.apply(x, factor)` умножает `x` на `factor` на месте и возвращает тот же самый тензор: `result is x`. <!-- in_place -->
# * **Результат.** Градиенты верны и тогда, когда дальше используют результат, и тогда, когда используют `x`. <!-- gradients -->
# * **Не менять.** Тензор `grad_output`. <!-- gradients -->
# %% answer="scale_function"
class ScaleInPlace(torch.autograd.Function):
    """Multiplies a tensor by a number in place."""

    @staticmethod
    def forward(ctx, x, factor):
        ### BEGIN SOLUTION
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        return grad_output * ctx.factor, None
        ### END SOLUTION


# %% alternative="scale_function"
class ScaleInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        x *= factor
        ctx.mark_dirty(x)
        ctx.save_for_backward(torch.full((), factor, dtype=x.dtype))
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.saved_tensors[0] * grad_output, None


# %% alternative="scale_function"
class ScaleInPlace(torch.autograd.Function):
    @staticmethod
    def forward(x, factor):
        return x.copy_(x * factor)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.factor * grad_output, None


# %% alternative="scale_function"
class ScaleInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.times = lambda tensor: tensor * factor
        ctx.mark_dirty(x)
        torch.mul(x, factor, out=x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.times(grad_output), None


# %% check="scale_function"
from autograder import check

check("scale_function")


# %% [markdown] tags=["en"]
# ## A Function for `torch.func`
#
# `torch.func` has three requirements. `grad` wants `forward(x)` without a context and a method `setup_context(ctx, inputs, output)`, which does the saving. `vmap` wants `generate_vmap_rule = True` in the class, or a method `vmap`. Forward mode wants a method `jvp`. The cell calls all three with a Function of the usual form, and all three errors name the same requirement, the first.
# %% [markdown] tags=["ru"] of="cc0ec675"
# ## Своя функция в `torch.func`
#
# У модуля `torch.func` три требования. Для `grad` нужно, чтобы `forward(x)` не принимал контекст, а тензоры сохранялись в методе `setup_context(ctx, inputs, output)`. Для `vmap` нужна строка `generate_vmap_rule = True` в теле класса или метод `vmap`. Для прямого режима нужен метод `jvp`. В следующей ячейке все три вызова сделаны для функции, записанной так же, как раньше, и во всех трёх сообщениях об ошибке названо одно и то же требование, первое.
# %%
point = torch.tensor([1.0, 2.0])
for name, call in {
    "grad": lambda: torch.func.grad(lambda x: Reciprocal.apply(x).sum())(point),
    "vmap": lambda: torch.func.vmap(Reciprocal.apply)(point),
    "jvp": lambda: torch.func.jvp(Reciprocal.apply, (point,), (point,)),
}.items():
    try:
        call()
    except RuntimeError as error:
        print(f"{name:5} {str(error).partition('), ')[2].partition('.')[0]}")
# %% tags=["fact"]
for call in (
    lambda: torch.func.grad(lambda x: Reciprocal.apply(x).sum())(point),
    lambda: torch.func.vmap(Reciprocal.apply)(point),
    lambda: torch.func.jvp(Reciprocal.apply, (point,), (point,)),
):
    try:
        call()
        raise AssertionError
    except RuntimeError as error:
        assert "it must override the setup_context staticmethod" in str(error)


# %% [markdown] tags=["en"]
# ### `cube_function`
#
# **Write the class `Cube`: `x**3` for `backward()` and for the transforms of `torch.func`.**
#
# * **Given.** `x`, a tensor of any shape.
# * **Result.** `Cube.apply(x)` is `x**3`, and its node is that of the class. `backward()`, the second derivative and `torch.func.grad` are right. <!-- gradient -->
# * **Result.** `torch.func.vmap` works, also with `in_dims=1`, and so does `vmap` of `grad`. <!-- vmap -->
# * **Result.** `torch.func.jvp` works. What `jvp(ctx, tangent)` reads from `ctx.saved_tensors` is saved with `ctx.save_for_forward`. <!-- jvp -->
# * **Leave.** The input, and what an earlier call needs. <!-- each_call -->
# * **Leave.** The tensor `grad_output`. <!-- gradient -->
# %% [markdown] tags=["ru"] of="ebcf461e"
# ### `cube_function`
#
# **Напишите класс `Cube`: `x**3`, пригодный и для `backward()`, и для преобразований `torch.func`.**
#
# * **Дано.** Тензор `x` любой формы.
# * **Результат.** `Cube.apply(x)` — это `x**3`, и узел результата принадлежит этому классу. Верны результаты `backward()`, вторая производная и `torch.func.grad`. <!-- gradient -->
# * **Результат.** `torch.func.vmap` работает, в том числе при `in_dims=1`, и `vmap` от `grad` — тоже. <!-- vmap -->
# * **Результат.** `torch.func.jvp` работает. Тензоры, которые `jvp(ctx, tangent)` берёт из `ctx.saved_tensors`, сохраните с помощью `ctx.save_for_forward`. <!-- jvp -->
# * **Не менять.** Вход и то, что нужно более раннему вызову. <!-- each_call -->
# * **Не менять.** Тензор `grad_output`. <!-- gradient -->
# %% answer="cube_function"
class Cube(torch.autograd.Function):
    """The third power, for autograd and for torch.func."""

    ### BEGIN SOLUTION
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * 3 * x**2

    ### END SOLUTION


# %% given="cube_function"
class Cube(torch.autograd.Function):
    """The third power, for autograd and for torch.func."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2


# %% alternative="cube_function"
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        return 3 * ctx.saved_tensors[0].square() * grad_output

    @staticmethod
    def vmap(info, in_dims, x):
        return Cube.apply(x), in_dims[0]

    @staticmethod
    def jvp(ctx, tangent):
        return 3 * ctx.saved_tensors[0].square() * tangent


# %% alternative="cube_function"
class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.pow(x, 3)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)
        ctx.save_for_forward(inputs[0], output)

    @staticmethod
    def backward(ctx, grad_output):
        x, _ = ctx.saved_tensors
        return grad_output * 3 * x * x

    @staticmethod
    def jvp(ctx, tangent):
        x, _ = ctx.saved_tensors
        return tangent * 3 * x * x


# %% alternative="cube_function"
class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    def forward(x):
        return x**2 * x

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    def backward(ctx, grad_output):
        return grad_output * Cube.slope(*ctx.saved_tensors)

    def jvp(ctx, tangent):
        return tangent * Cube.slope(*ctx.saved_tensors)

    def slope(x):
        return 3 * x.square()


# %% check="cube_function"
from autograder import check

check("cube_function")


# %% [markdown] tags=["en"]
# ## Write the test
#
# Each of the bugs in this lesson passed at least one test. What would a test look like that catches them all?
#
# ### `is_right_function`
#
# **Write a test that accepts every right Function for `x * torch.exp(-k)`, and refuses the wrong ones.**
#
# * **Given.** A class derived from `torch.autograd.Function`, whose `function.apply(x, k)` is to compute `x * torch.exp(-k)` for two tensors of one shape.
# * **Result.** `True` if the class is right, however it is written. It is right if the value is right, and both gradients for every `grad_output`; if all second derivatives are right, the mixed ones by `x` and `k` as well; and if a backward pass without `create_graph` leaves `grad_output` as it was. <!-- accepts_right -->
# * **Result.** Else `False`. An `AssertionError` and the error of `gradcheck` count as `False`. So does any other `RuntimeError`, but only over a wrong class; every other exception ends the check. The test earns points for the wrong classes that it refuses, but only if it accepts every right one. <!-- catches_wrong_value, catches_local_derivative, catches_swapped, catches_missing_gradient, catches_negative, catches_second_derivative, catches_mixed_derivative, catches_edited_grad_output -->
# %% [markdown] tags=["ru"] of="58222237"
# ## Напишите тест
#
# Каждая из ошибок этого урока прошла хотя бы одну проверку. Каким должен быть тест, который обнаружит их все?
#
# ### `is_right_function`
#
# **Напишите тест, который принимает любую верную функцию autograd для `x * torch.exp(-k)` и отвергает неверные.**
#
# * **Дано.** Класс, унаследованный от `torch.autograd.Function`; вызов `function.apply(x, k)` должен вычислять `x * torch.exp(-k)` для двух тензоров одной формы.
# * **Результат.** `True`, если класс правильный, как бы он ни был написан. Класс правильный, если верны значение и оба градиента при любом `grad_output`, верны все вторые производные, в том числе смешанные, по `x` и `k`, а обратный проход без `create_graph` не меняет `grad_output`. <!-- accepts_right -->
# * **Результат.** Иначе `False`. `AssertionError` и ошибка `gradcheck` считаются ответом `False`. Если класс неправильный, так же считается и ошибка `RuntimeError`, возникшая по другой причине. Любое другое исключение прерывает проверку. Баллы начисляются за каждый отвергнутый неправильный класс, но только если тест принял все правильные. <!-- catches_wrong_value, catches_local_derivative, catches_swapped, catches_missing_gradient, catches_negative, catches_second_derivative, catches_mixed_derivative, catches_edited_grad_output -->
# %% answer="is_right_function"
def is_right_function(function):
    """Does `function.apply(x, k)` compute `x * exp(-k)`, with right derivatives and without side effects?"""
    ### BEGIN SOLUTION
    x = torch.tensor([0.5, -2.0], dtype=torch.float64, requires_grad=True)
    k = torch.tensor([0.25, -0.75], dtype=torch.float64, requires_grad=True)
    y = function.apply(x, k)
    if not torch.allclose(y, x * torch.exp(-k)):
        return False
    v = torch.tensor([2.0, -3.0], dtype=torch.float64)
    before = v.clone()
    torch.autograd.grad(y, (x, k), v, allow_unused=True)
    if not torch.equal(v, before):
        return False
    return torch.autograd.gradcheck(function.apply, (x, k), raise_exception=False) and torch.autograd.gradgradcheck(
        function.apply, (x, k), raise_exception=False
    )
    ### END SOLUTION


# %% alternative="is_right_function"
def is_right_function(function):
    torch.manual_seed(7)
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    k = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert torch.allclose(function.apply(x, k), x / k.exp())
    torch.autograd.gradcheck(function.apply, (x, k))
    torch.autograd.gradgradcheck(function.apply, (x, k))
    v = torch.randn(3, dtype=torch.float64)
    copy = v.clone()
    function.apply(x, k).backward(v)
    assert torch.equal(v, copy)
    return True


# %% alternative="is_right_function"
def is_right_function(function):
    def derivatives(f):
        x = torch.tensor([[1.0, -0.5], [2.0, -3.0]], requires_grad=True)
        k = torch.tensor([[0.5, 1.5], [-0.25, 0.75]], requires_grad=True)
        y = f(x, k)
        v = torch.tensor([[1.0, 2.0], [3.0, -4.0]])
        plain = torch.autograd.grad(y, (x, k), v, retain_graph=True, materialize_grads=True)
        first = torch.autograd.grad(y**2 + x * y, (x, k), v, create_graph=True, materialize_grads=True)
        total = sum((part * weight).sum() for part, weight in zip(first, (1.0, 0.3)))
        second = torch.autograd.grad(total, (x, k), materialize_grads=True)
        return [y, v, *plain, *first, *second]

    pairs = zip(derivatives(function.apply), derivatives(lambda x, k: x * torch.exp(-k)))
    return all(torch.allclose(got, wanted, rtol=1e-4) for got, wanted in pairs)


# %% alternative="is_right_function"
def is_right_function(function):
    x, k = (torch.linspace(a, b, 2, dtype=torch.float64).requires_grad_() for a, b in ((-2, 1.7), (1, -0.4)))
    seen = {}

    def remember(grad_output):
        seen["tensor"], seen["copy"] = grad_output, grad_output.clone()

    y = function.apply(x, k)
    y.register_hook(remember)
    (y * torch.arange(1.0, 3.0)).sum().backward()
    return (
        torch.equal(seen["tensor"], seen["copy"])
        and torch.allclose(y, x * torch.e ** (-k))
        and all(
            test(function.apply, (x, k), raise_exception=False)
            for test in (torch.autograd.gradcheck, torch.autograd.gradgradcheck)
        )
    )


# %% check="is_right_function"
from autograder import check

check("is_right_function")


# %% [markdown] tags=["en"]
# ## A judge for your own engine
#
# The engine that you began in lesson 02 (the cell holds it, for whoever begins here) knows five operations. A sixth needs a rule, and the engine believes a rule unseen, as autograd believes a `backward`. How can we find out whether a rule is right, if all that is certain is the operation itself?
# %% [markdown] tags=["ru"] of="c50f12de"
# ## Судья для собственного движка
#
# Движок, начатый в уроке 02, умеет пять операций (он приведён в ячейке, если вы начинаете отсюда). Для шестой нужно правило, а правилам движок верит на слово, как autograd верит методу `backward`. Как узнать, верно ли правило, если достоверна только сама операция?
# %% include=["own_engine/value", "own_engine/rules_and_walk"] tags=["folded"]
# %%
from autograder import use_mine

use_mine()


# %% [markdown] tags=["en"]
# *Softplus*, $\log(1 + e^a)$, is the loss of a classifier that gives a score. Here are three rules for it. Which of them are right? Note your answer: soon your judge will answer, too.
# %% [markdown] tags=["ru"] of="38dcf5bb"
# *Softplus*, $\log(1 + e^a)$, — это функция потерь классификатора, который выдаёт не вероятность, а оценку: любое число. Вот три правила для неё. Какие из них верны? Запишите свой ответ: скоро на тот же вопрос ответит ваш судья.
# %%
from torch.nn.functional import softplus

candidates = {
    "g * a.sigmoid()": lambda g, out, a: (g * a.sigmoid(),),
    "g * out.sigmoid()": lambda g, out, a: (g * out.sigmoid(),),
    "g * (1 - (-out).exp())": lambda g, out, a: (g * (1 - (-out).exp()),),
}


# %% [markdown] tags=["en"]
# ### `judge_rule`
#
# **Write a test of a rule: does it give the slopes of the operation? Only the numbers of the operation can be trusted.**
#
# Write the test `judge_rule(forward, rule, *inputs)`: are the gradients of the rule the slopes of the operation? Only the numbers of the operation can be trusted.
#
# * **Given.** `forward(*inputs)` is smooth at the inputs and may compute outside of torch. Inputs and result are float64 tensors of any shape that do not require grad. `rule(g, out, *inputs)` is a rule as in `four_rules`, and `out` is the result.
# * **Result.** `True` if the rule returns one gradient for each input, in its shape, and each is right for every `g`. <!-- accepts_right -->
# * **Result.** Else `False`. A failed `assert` counts as `False`, and over a wrong rule so does any error. A gradient that still has to be summed to the input's shape is wrong, and so is one that is off by 1 %. <!-- catches_formula, catches_one_input, catches_too_few, catches_shape, catches_ones, catches_together, catches_negative, catches_nan -->
# * **Leave.** The inputs. <!-- inputs -->
#
# After a check that failed, `forward, rule, inputs = reproduce().function()` is a rule to try your test on.
# %% [markdown] tags=["ru"] of="12c33581"
# ### `judge_rule`
#
# **Напишите тест правила: даёт ли оно наклоны операции? Верить можно только числам самой операции.**
#
# Напишите тест `judge_rule(forward, rule, *inputs)`: равны ли градиенты, которые даёт правило, наклонам самой операции? Доверять можно только значениям самой операции.
#
# * **Дано.** Функция `forward(*inputs)` в данной точке гладкая и может вычисляться и не средствами torch. Входы и результат — тензоры float64 любой формы, которые не требуют градиента. `rule(g, out, *inputs)` — правило, как в `four_rules`, а `out` — результат.
# * **Результат.** `True`, если правило возвращает по одному градиенту на вход, той же формы, что и этот вход, и каждый верен при любом `g`. <!-- accepts_right -->
# * **Результат.** Иначе `False`. Сработавший `assert` — это ответ `False`. Любая другая ошибка тоже, но только если правило неверно. Градиент, который ещё нужно привести суммированием к форме входа, неверен, как и градиент с ошибкой в 1 %. <!-- catches_formula, catches_one_input, catches_too_few, catches_shape, catches_ones, catches_together, catches_negative, catches_nan -->
# * **Не менять.** Входы. <!-- inputs -->
#
# После неудачной проверки `forward, rule, inputs = reproduce().function()` — это правило, на котором можно испытать тест.
# %% answer="judge_rule"
def judge_rule(forward, rule, *inputs):
    """Does `rule` give the gradients of `forward` at `inputs`?"""
    ### BEGIN SOLUTION
    h, out = 1e-6, forward(*inputs)
    g = torch.rand(out.shape, dtype=torch.float64)
    parts = rule(g, out, *inputs)
    if len(parts) != len(inputs):
        return False
    for number, (x, part) in enumerate(zip(inputs, parts)):
        slopes = torch.zeros(x.numel(), dtype=torch.float64)
        for k in range(x.numel()):
            step = torch.zeros_like(x)
            step.view(-1)[k] = h
            there, back = (forward(*inputs[:number], x + way, *inputs[number + 1 :]) for way in (step, -step))
            slopes[k] = (g * (there - back)).sum() / (2 * h)
        if part.shape != x.shape or not torch.allclose(part, slopes.view(x.shape), rtol=1e-5, atol=1e-7):
            return False
    return True
    ### END SOLUTION


# %% alternative="judge_rule"
def judge_rule(forward, rule, *inputs):
    # one random direction for each input tells a wrong gradient from the right one
    torch.manual_seed(0)
    out = forward(*inputs)
    g = torch.randn_like(out)
    parts = rule(g, out, *inputs)
    assert [part.shape for part in parts] == [x.shape for x in inputs]
    for number, part in enumerate(parts):
        there, back = list(inputs), list(inputs)
        direction = torch.randn_like(part)
        there[number] = there[number] + 1e-5 * direction
        back[number] = back[number] - 1e-5 * direction
        change = (g * (forward(*there) - forward(*back))).sum() / 2e-5
        assert torch.isclose((part * direction).sum(), change, rtol=1e-6, atol=1e-7)
    return True


# %% alternative="judge_rule"
def judge_rule(forward, rule, *inputs):
    # the whole Jacobian matrix of each input, column by column
    out = forward(*inputs)
    g = torch.linspace(-1, 2, out.numel(), dtype=torch.float64).view(out.shape)
    slopes = []
    for number, x in enumerate(inputs):
        columns = []
        for unit in torch.eye(x.numel(), dtype=torch.float64):
            moved = [[*inputs[:number], x + h * unit.view(x.shape), *inputs[number + 1 :]] for h in (1e-6, -1e-6)]
            columns.append((forward(*moved[0]) - forward(*moved[1])).flatten() / 2e-6)
        slopes.append((g.flatten() @ torch.stack(columns, 1)).view(x.shape))
    try:
        torch.testing.assert_close(tuple(rule(g, out, *inputs)), tuple(slopes), rtol=1e-5, atol=1e-6)
    except AssertionError:
        return False
    return True


# %% alternative="judge_rule"
def judge_rule(forward, rule, *inputs):
    # the rule becomes a custom Function, and torch's own judge decides
    class Operation(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            out = forward(*[x.detach() for x in xs])
            ctx.save_for_backward(out, *xs)
            return out

        @staticmethod
        def backward(ctx, g):
            out, *xs = ctx.saved_tensors
            parts = rule(g, out, *xs)
            assert len(parts) == len(xs) and all(part.shape == x.shape for part, x in zip(parts, xs))
            return parts

    return torch.autograd.gradcheck(Operation.apply, [x.clone().requires_grad_() for x in inputs])


# %% check="judge_rule"
from autograder import check

check("judge_rule")
# %% [markdown] tags=["en"]
# Now the judge. Does it agree with you? (Before you have done the exercise, the cell says so.)
# %% [markdown] tags=["ru"] of="df368fc3"
# Слово судье. Согласен ли он с вами? (Если упражнение ещё не сделано, ячейка об этом сообщит.)
# %%
points = torch.tensor([-2.0, -0.5, 0.0, 3.0], dtype=torch.float64)
try:
    for text, rule in candidates.items():
        print(f"{text:24}", judge_rule(softplus, rule, points))
except NotImplementedError:
    print("judge_rule is still to be written")
# %% tags=["fact"]
assert [judge_rule(softplus, rule, points) for rule in candidates.values()] == [True, False, True]
out = softplus(points)
assert torch.allclose(points.sigmoid(), 1 - (-out).exp())
zeros = torch.zeros(3, dtype=torch.float64)
assert not judge_rule(torch.relu, lambda g, out, a: (g * (a > 0),), zeros)
assert judge_rule(torch.relu, lambda g, out, a: (g * (a > 0),), zeros + 1)
assert judge_rule(torch.relu, lambda g, out, a: (g / 2,), zeros)
assert len(four_rules()) == 5


# %% [markdown] tags=["en"]
# Two are right, and equal but for rounding: $1 - e^{-y}$ with the result $y$ is the sigmoid of $a$. The third rule of the list reads the result alone, so the input may go. (Ask at no kink: at 0 the judge refuses the rule of `torch.relu`, too, since the central difference is 0.5 there.)
#
# A judged rule may go into the engine. With it the engine can do what it could not before: train a classifier. Forty points, the true class in `sign`; torch does the same beside it.
# %% [markdown] tags=["ru"] of="980c9197"
# Верны два правила, и с точностью до округления они равны: если $y$ — результат, то $1 - e^{-y}$ — это сигмоида от $a$. Третьему правилу списка нужен только результат, поэтому вход можно не хранить. (В точках излома не спрашивайте: в нуле судья отвергает и правило функции `torch.relu`, потому что центральная разность там равна 0.5.)
#
# Проверенное правило можно добавить в движок. Теперь он умеет то, чего раньше не умел: обучать классификатор. Точек ровно 40, верный класс записан в `sign`, а рядом то же самое делает torch.
# %%
rules = four_rules()
rules["softplus"] = candidates["g * (1 - (-out).exp())"]


def four_rules():
    return rules


Value.softplus = lambda self: record("softplus", softplus(self.data), self)

torch.manual_seed(0)
places = torch.randn(40, 2, dtype=torch.float64)
sign = torch.where(places[:, :1] + 2 * places[:, 1:] > 0.5, 1.0, -1.0)
wrong_way = -sign * torch.cat([places, torch.ones(40, 1, dtype=torch.float64)], 1)  # a score above 0 here is a mistake

ours, theirs = Value(torch.zeros(3, 1, dtype=torch.float64)), torch.zeros(3, 1, dtype=torch.float64, requires_grad=True)
for step in range(100):
    loss, same_loss = (Value(wrong_way) @ ours).softplus().sum(), softplus(wrong_way @ theirs).sum()
    if step % 33 == 0:
        print(f"step {step:2}: loss {loss.data.item():6.3f}, torch {same_loss.item():6.3f}")
    loss.backward()
    same_loss.backward()
    ours.data, ours.grad = ours.data - 0.1 * ours.grad, None
    theirs.data, theirs.grad = theirs.data - 0.1 * theirs.grad, None
right = int((wrong_way @ ours.data < 0).sum())
print(f"{right} of 40 points right; weights differ from torch's by {(ours.data - theirs).abs().max().item():.0e}")
# %% tags=["fact"]
assert right == 40 and torch.allclose(ours.data, theirs)
# %% [markdown] tags=["en"]
# Try it: take an operation that you need, `exp` for instance, write its rule, ask your judge, and add it in the same way.
# %% [markdown] tags=["ru"] of="346f5e66"
# Попробуйте: возьмите операцию, которая вам нужна, например `exp`, напишите для неё правило, спросите судью и добавьте её так же.
# %% [markdown] tags=["en"]
# ## On a GPU
#
# A custom Function runs on the device of its tensors; nothing in this lesson changes there. What one node saves against two is memory. With a GPU the cell shows the peak of a forward and a backward pass for SiLU of $2^{22}$ numbers, as torch's CUDA allocator measures it. A tensor of that size takes 16,777,216 bytes; SiLU written out needs at least two of them more than torch's.
# %% [markdown] tags=["ru"] of="75aef2fb"
# ## На GPU
#
# Пользовательская функция работает на том устройстве, где лежат её тензоры, и всё сказанное в уроке там остаётся в силе. Один узел вместо двух экономит память. На машине с GPU ячейка покажет измеренный CUDA-аллокатором torch пик за прямой и обратный проходы для SiLU от $2^{22}$ чисел. Тензор такого размера занимает 16 777 216 байт. Формуле SiLU, записанной через две операции, нужно по крайней мере на два таких тензора больше, чем функции из torch.
# %% tags=["fact"]
assert torch.empty(2**22).untyped_storage().nbytes() == 16_777_216
# %%
from autograder import gpu_peak, on_gpu


def silu_on_gpu():
    x = torch.rand(2**22, device="cuda", requires_grad=True)
    ways = {"written out": lambda: x * torch.sigmoid(x), "torch's silu": lambda: torch.nn.functional.silu(x)}
    return {f"peak bytes, {name}": gpu_peak(lambda: way().sum().backward()) for name, way in ways.items()}


on_gpu(silu_on_gpu)
# %% tags=["fact"]
from autograder.lessons.gpu_recordings import check_claims

check_claims(
    silu_on_gpu,
    lambda measured: {
        "written out, it needs two tensors more": measured["peak bytes, written out"]
        - measured["peak bytes, torch's silu"]
        >= 2 * 16_777_216,
    },
)


# %% [markdown] tags=["en"]
# Here is a Function for the gray value of colours, as it was published. `gradcheck` passes. On a GPU it raises `Expected all tensors to be on the same device`.
# %% [markdown] tags=["ru"] of="13b3c565"
# Вот функция, которая вычисляет яркость цвета. Она была опубликована. Проверку `gradcheck` она проходит, а на GPU вызывает ошибку `Expected all tensors to be on the same device`.
# %%
class PublishedGray(torch.autograd.Function):
    weights = torch.tensor([0.299, 0.587, 0.114], dtype=torch.float64)

    @staticmethod
    def forward(ctx, x):
        return (x * PublishedGray.weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        grad_input = torch.zeros(*grad_output.shape, 3, dtype=torch.float64)
        grad_input += grad_output.unsqueeze(-1) * PublishedGray.weights
        return grad_input


colours = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
print(torch.autograd.gradcheck(PublishedGray.apply, (colours,)))
# %% tags=["fact"]
assert torch.autograd.gradcheck(PublishedGray.apply, (colours,))
assert PublishedGray.weights.device.type == torch.zeros(2, 3).device.type == "cpu"
from autograder.checking.devices.pretended_device import pretended_device

with pretended_device("cuda") as devices:
    devices.put(colours, devices.there)
    try:
        PublishedGray.apply(colours)
        raise AssertionError
    except RuntimeError as error:
        assert "Expected all tensors to be on the same device" in str(error)


# %% [markdown] tags=["en"]
# ### `fix_gray`
#
# **`Gray.apply(x)` is the gray value of colours. On the CPU it is right, on a GPU it fails: mend the class.**
#
# Mend this class. `Gray.apply(x)` is the gray value of colours.
#
# * **Given.** `x`, a float64 tensor of shape $(\ldots, 3)$ on any device, such as a GPU.
# * **Result.** The sum of `x` over the last dimension with the weights 0.299, 0.587, 0.114, and its gradient. <!-- numbers -->
# * **Result.** Result and gradient lie on the device of `x`. Calls on several devices may take turns: a call on the CPU may come between the forward and the backward pass of a call on a GPU. <!-- device -->
# * **Leave.** `x`, and what an earlier call needs. <!-- each_call -->
# * **Leave.** `grad_output`. <!-- grad_output_after -->
#
# You need no GPU: the check pretends one. So does `check("fix_gray", device="cuda")`, which runs all cases there.
# %% [markdown] tags=["ru"] of="64ed53a1"
# ### `fix_gray`
#
# **`Gray.apply(x)` вычисляет яркость цвета. На CPU результат верен, а на GPU возникает ошибка: исправьте класс.**
#
# Исправьте этот класс. `Gray.apply(x)` вычисляет яркость цветов.
#
# * **Дано.** Тензор `x` float64 формы $(\ldots, 3)$ на любом устройстве, например на GPU.
# * **Результат.** Сумма `x` по последнему измерению с весами 0.299, 0.587, 0.114 и её градиент. <!-- numbers -->
# * **Результат.** Результат и градиент лежат на том же устройстве, что и `x`. Вызовы на разных устройствах могут чередоваться: вызов на CPU может прийтись между прямым и обратным проходами вызова на GPU. <!-- device -->
# * **Не менять.** Тензор `x` и то, что нужно более раннему вызову. <!-- each_call -->
# * **Не менять.** Тензор `grad_output`. <!-- grad_output_after -->
#
# GPU для этого не нужен: проверка его имитирует. Имитирует его и `check("fix_gray", device="cuda")`, и там запускаются уже все примеры.
# %% answer="fix_gray"
class Gray(torch.autograd.Function):
    """The gray value of colours, a tensor of shape (..., 3)."""

    @staticmethod
    def forward(ctx, x):
        weights = torch.tensor([0.299, 0.587, 0.114], dtype=x.dtype, device=x.device)
        ctx.save_for_backward(weights)
        return (x * weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (weights,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * weights


# %% given="fix_gray"
class Gray(torch.autograd.Function):
    """The gray value of colours, a tensor of shape (..., 3)."""

    weights = torch.tensor([0.299, 0.587, 0.114], dtype=torch.float64)

    @staticmethod
    def forward(ctx, x):
        return (x * Gray.weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        grad_input = torch.zeros(*grad_output.shape, 3, dtype=torch.float64)
        grad_input += grad_output.unsqueeze(-1) * Gray.weights
        return grad_input


# %% alternative="fix_gray"
class Gray(torch.autograd.Function):
    weights = torch.tensor([0.299, 0.587, 0.114], dtype=torch.float64)

    @staticmethod
    def forward(ctx, x):
        return x @ Gray.weights.to(x.device)

    @staticmethod
    def backward(ctx, grad_output):
        grad_input = torch.zeros(*grad_output.shape, 3, dtype=torch.float64, device=grad_output.device)
        grad_input += grad_output.unsqueeze(-1) * Gray.weights.to(grad_output.device)
        return grad_input


# %% alternative="fix_gray"
class Gray(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        red, green, blue = x.unbind(-1)
        return 0.299 * red + 0.587 * green + 0.114 * blue

    @staticmethod
    def backward(ctx, grad_output):
        return torch.stack([0.299 * grad_output, 0.587 * grad_output, 0.114 * grad_output], dim=-1)


# %% alternative="fix_gray"
class Gray(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.weights = x.new_tensor([0.299, 0.587, 0.114])
        return (x * ctx.weights).sum(dim=-1)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output[..., None] * ctx.weights.expand(*grad_output.shape, 3)


# %% check="fix_gray"
from autograder import check

check("fix_gray")
# %% [markdown] tags=["en"] explains="fix_gray"
# "The device of its tensors" holds for torch's operations. A tensor that the class makes itself lies where it was made. Without a device that is the CPU, and a GPU refuses to mix the two: `Expected all tensors to be on the same device`. The numbers are right on the CPU, and `gradcheck` passes.
# %% [markdown] tags=["ru"] explains="fix_gray" of="60458d2d"
# Сказанное об устройстве верно для операций torch. Тензор, который класс создаёт сам, лежит там, где создан. Если устройство не указать, это CPU, а смешивать его с GPU torch отказывается: `Expected all tensors to be on the same device`. На CPU при этом все числа верны, и `gradcheck` ничего не замечает.
# %% [markdown] tags=["en"]
# ## Where you stand
# %% [markdown] tags=["ru"] of="76fccca0"
# ## Что сделано
# %%
from autograder import progress

progress()
# %% [markdown] tags=["en"]
# `plot_progress()` puts all lessons that you have begun into one picture: the points of each, and how many different mistakes the checks have recognised so far.
# %% [markdown] tags=["ru"] of="80703b92"
# Функция `plot_progress()` показывает на одном рисунке все уроки, которые вы начали: баллы за каждый и число разных ошибок, которые в них распознали проверки.
# %% tags=["picture"]
from autograder import plot_progress

plot_progress()
# %% [markdown] tags=["en"]
# Save the notebook (Ctrl+S) and run the last cell: `ready()` runs the saved file from top to bottom in a fresh process and lists your points. In a class, it also names the file to hand in; if you study alone, it shows whether your answers hold without this session.
# %% [markdown] tags=["ru"] of="53419bae"
# Сохраните тетрадь (Ctrl+S) и запустите последнюю ячейку: `ready()` выполнит сохранённый файл сверху вниз в новом процессе и покажет баллы. Если вы учитесь в группе, там же будет назван файл для сдачи. Если занимаетесь самостоятельно, вы узнаете, проходят ли ответы проверку с чистого листа, без переменных, оставшихся от ваших опытов.
# %%
from autograder import ready

ready()
