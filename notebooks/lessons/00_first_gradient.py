# %% [markdown] tags=["en"] about="one derivative, checked by differences; one step of descent"
# # A first gradient
#
# A training loop calls `loss.backward()`, and then a number is in `.grad`. Which number is it, and how would you know that it is right?
#
# After this lesson you can:
#
# * say what `.grad` holds: the derivative of what, by what;
# * check a derivative with two values of the function and no autograd at all;
# * take one step of gradient descent by hand;
# * do an exercise, ask for a hint and hand in your work.
#
# You need to have used torch before. Nothing about its inside is assumed.
# %% [markdown] tags=["ru"] about="одна производная, проверенная по разностям, и один шаг спуска" of="a3fc6bcd"
# # Первый градиент
#
# В цикле обучения вызывают `loss.backward()`, и у каждого параметра в поле `.grad` появляется число. Что это за число и как узнать, что оно верное?
#
# После этого урока вы сможете:
#
# * сказать, что лежит в `.grad`: производная чего и по чему;
# * проверить производную по двум значениям функции, без всякого autograd;
# * сделать вручную один шаг градиентного спуска;
# * выполнить упражнение, попросить подсказку и сдать работу.
#
# Предполагается, что вы уже работали с torch. Знать, как он устроен, не требуется.
# %% tags=["en"]
# Does the import fail? Install the course by pip (its file, or autograd-course),
# and uninstall another `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("first_gradient", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("first_gradient", language="ru")
# %%
import math

import torch
from torch.nn.functional import binary_cross_entropy_with_logits as bce

# %% [markdown] tags=["en"]
# ## One number, one derivative
#
# Take $y = x^2$ at $x = 3$. The derivative is $2x$, but which number is that here, and how does torch find it?
# %% [markdown] tags=["ru"] of="c9778de0"
# ## Одно число, одна производная
#
# Возьмём $y = x^2$ при $x = 3$. Производная равна $2x$. Какое это число и как его находит torch?
# %%
x = torch.tensor(3.0, requires_grad=True)
y = x**2
print(y)
# %% [markdown] tags=["en"]
# `requires_grad=True` asks torch to record what is computed from `x`. So `y` knows how it was made: `grad_fn=<PowBackward0>` names the rule for the derivative of a power. `draw` shows this record.
# %% [markdown] tags=["ru"] of="67777014"
# При `requires_grad=True` torch записывает всё, что вычисляется из тензора `x`. Поэтому известно, как получен `y`: в `grad_fn=<PowBackward0>` указано правило, по которому берётся производная степени. Эту запись показывает функция `draw`.
# %% tags=["picture"]
from autograder import draw

draw(y)
# %% [markdown] tags=["en"]
# Nobody has asked for a derivative yet: `x` has a dash in `.grad`. `y.backward()` begins with a 1 at `y`, follows the arrows, and multiplies by the number beside each. What arrives at `x` is added to `x.grad`. Which number will that be? Say it, then run the cell.
# %% [markdown] tags=["ru"] of="e2d7df03"
# Производную пока никто не просил: в `.grad` у `x` стоит прочерк. Метод `y.backward()` начинает с единицы у `y`, идёт по стрелкам и умножает на число рядом с каждой. Пришедшее к `x` прибавляется к `x.grad`. Какое число там окажется? Сначала ответьте, потом выполните ячейку.
# %%
y.backward()
print(x.grad)
# %% tags=["fact"]
assert y.item() == 9 and x.grad.item() == 6
assert y.grad_fn.name() == "PowBackward0" and x.grad_fn is None
((adds, _),) = y.grad_fn.next_functions
assert "AccumulateGrad" in adds.name() and adds.next_functions == () and x.shape == y.shape == ()


# %% [markdown] tags=["en", "try"]
# Put `-1.5` in place of `3.0` in the cell that makes `x`. Which sign will `x.grad` have? Say it, then run from there.
#
# It is $2x = -3$. To the left of 0 the parabola falls, so a little more of $x$ means less of $y$.
# %% [markdown] tags=["ru", "try"] of="2636498f"
# В ячейке, где создаётся `x`, поставьте `-1.5` вместо `3.0`. Какой знак будет у `x.grad`? Сначала ответьте, потом выполните ячейки, начиная с этой.
#
# Получится $2x = -3$. Слева от нуля парабола убывает: если $x$ чуть увеличить, $y$ уменьшится.
# %% tags=["fact"]
left = torch.tensor(-1.5, requires_grad=True)
(left**2).backward()
assert left.grad.item() == -3
# %% [markdown] tags=["en"]
# At 3 it is $2x = 6$. This way back through the record is called *backpropagation*. It begins at a tensor of one number, a *scalar*, whose shape is `()`.
#
# Why does anybody want this number? A model has weights, and the loss says how far its answers are from the right ones. The derivative of the loss with respect to a *weight* says how the loss changes when that weight moves a little, so it says which way to move it. Training needs one such number for every weight, and not the derivative with respect to the input. All of them together are the *gradient*.
#
# A gradient of zero is no proof that you have arrived. With two weights, $w_0^2 - w_1^2$ has the gradient $(0, 0)$ at $w_0 = w_1 = 0$, yet from there it falls as $w_1$ moves: it is a saddle, not a minimum.
# %% [markdown] tags=["ru"] of="0b9d294f"
# А в точке 3 это $2x = 6$. Такой проход по записи от результата назад называется *обратным распространением ошибки* (backpropagation). Он начинается от тензора из одного числа, *скаляра*, с формой `()`.
#
# Зачем нужно это число? У модели есть веса, а функция потерь (loss) показывает, насколько сильно модель ошибается. Производная по *весу* показывает, как изменится значение функции потерь, если немного изменить этот вес, а значит, и в какую сторону его менять. Для обучения нужна не производная по входу, а такое число для каждого веса. Все эти числа вместе — *градиент*.
#
# Нулевой градиент ещё не значит, что минимум найден. Пусть весов два: у функции $w_0^2 - w_1^2$ при $w_0 = w_1 = 0$ градиент равен $(0, 0)$, но при изменении $w_1$ функция убывает. Это седло, а не минимум.
# %% tags=["fact"]
origin = torch.zeros(2, requires_grad=True)
(origin[0] ** 2 - origin[1] ** 2).backward()
assert origin.grad.tolist() == [0, 0]
hessian = torch.autograd.functional.hessian(lambda x: x[0] ** 2 - x[1] ** 2, torch.zeros(2))
assert torch.linalg.eigvalsh(hessian).tolist() == [-2, 2]


# %% [markdown] tags=["en"]
# ## How exercises work
#
# Under an exercise there is a cell for your answer and a cell that checks it. The line below its title says what to do (complete a function, predict what comes out), how hard it is (●○○ is the easiest), how long it takes and how many points it gives. Write, run your cell with Shift+Enter, then run the check. As long as the line `raise NotImplementedError` or a `...` is there, the check says *not attempted*; replace it. You may check as often as you like.
#
# The check says what holds and what does not, and, if it recognises the mistake, which one it looks like. It does not show the answer. In a cell of your own you can call:
#
# * `hint("numerical_slope")` for the first of three hints, and again for the next; they cost nothing;
# * `reproduce("numerical_slope")` for the inputs on which your answer failed, to try things on;
# * `solution("numerical_slope")` once you have passed: our solution and other ways to write it.
#
# A card that says *passed* may ask why the answer is right. Say it in a sentence of your own, then compare it with ours: `why("numerical_slope")`.
# %% [markdown] tags=["ru"] of="432263dd"
# ## Как устроены упражнения
#
# Под упражнением есть ячейка для ответа и ячейка, которая его проверяет. В строке под заголовком сказано, что делать (дописать функцию, предсказать результат), насколько это трудно (●○○ — самое лёгкое), сколько времени займёт упражнение и сколько баллов за него дают. Напишите ответ, выполните свою ячейку (Shift+Enter), затем выполните проверку. Пока в ячейке стоит строка `raise NotImplementedError` или `...`, проверка сообщает: *нет ответа*, поэтому замените их своим ответом. Проверять можно сколько угодно раз.
#
# Проверка сообщает, что верно, а что нет. Если ошибка типичная, проверка её назовёт, но правильного ответа не покажет. В отдельной ячейке можно вызвать:
#
# * `hint("numerical_slope")` — первая из трёх подсказок, повторный вызов даёт следующую; баллов за подсказки не снимают;
# * `reproduce("numerical_slope")` — входные данные, на которых ваш ответ не прошёл проверку: на них удобно искать ошибку;
# * `solution("numerical_slope")` — наше решение и другие способы записи (доступно, когда проверка пройдена).
#
# На карточке со словом *верно* бывает вопрос, почему ответ верен. Ответьте на него своими словами, одним предложением, и сравните с нашим ответом: `why("numerical_slope")`.
# %% [markdown] tags=["en"]
# ## A derivative without autograd
#
# How would you know that 6 is right? Look at the function in two places near $x = 3$ and divide the rise by the run. With $h = 0.01$:
#
# $$\frac{(3 + 0.01)^2 - (3 - 0.01)^2}{2 \cdot 0.01} = \frac{9.0601 - 8.9401}{0.02} = 6.$$
#
# This is the *central difference*. It needs no rules of differentiation, only values, so if a rule is wrong somewhere, the difference shows it. It is exact for a parabola; in general its error is of order $h^2$.
#
# ### `numerical_slope`
#
# **Return the slope of `f` at `x` from two values of `f`, by `h` to the right and to the left.**
#
# * **Given.** `f`, a function of one variable: it takes a float64 tensor with no dimensions and returns another. `x` is such a tensor and does not require grad; `h` is a Python `float`.
# * **Result.** The central difference of `f` at `x` with the step `h`, as a `float` or as a tensor of one number. <!-- slope -->
# * **Leave.** `x` itself, even for a moment. <!-- x -->
# * **Not allowed.** To call `f` with anything but a float64 tensor. <!-- dtypes -->
# %% [markdown] tags=["ru"] of="9b15dcf1"
# ## Производная без autograd
#
# Откуда известно, что 6 — верный ответ? Вычислим функцию в двух точках, на малый шаг левее и правее $x = 3$, и разделим приращение функции на приращение аргумента. При шаге $h = 0.01$:
#
# $$\frac{(3 + 0.01)^2 - (3 - 0.01)^2}{2 \cdot 0.01} = \frac{9.0601 - 8.9401}{0.02} = 6.$$
#
# Это *центральная разность*. Для неё нужны только значения функции, а не правила дифференцирования, поэтому с её помощью можно обнаружить ошибку в любом из них. Для параболы она точна, а в общем случае её погрешность имеет порядок $h^2$.
#
# ### `numerical_slope`
#
# **Верните наклон `f` в точке `x` по двум значениям `f`: на `h` правее и левее.**
#
# * **Дано.** Функция одной переменной `f`: она принимает нульмерный тензор (скаляр) float64 и возвращает такой же. `x` — тоже такой тензор, градиента он не требует; `h` — число типа `float`.
# * **Результат.** Центральная разность функции `f` в точке `x` с шагом `h`: `float` или тензор из одного числа. <!-- slope -->
# * **Не менять.** Сам `x`, даже на время. <!-- x -->
# * **Нельзя.** Вызывать `f` с чем-либо, кроме тензора float64. <!-- dtypes -->
# %% answer="numerical_slope"
def numerical_slope(f, x, h):
    """The central difference of `f` at `x` with the step `h`."""
    ### BEGIN SOLUTION
    return (f(x + h) - f(x - h)) / (2 * h)
    ### END SOLUTION


# %% alternative="numerical_slope"
def numerical_slope(f, x, h):
    right, left = x.item() + h, x.item() - h
    high, low = (f(torch.tensor(place, dtype=torch.float64)) for place in (right, left))
    return (high - low).item() / (right - left)


# %% alternative="numerical_slope"
def numerical_slope(f, x, h):
    forward = (f(x + h) - f(x)) / h
    backward = (f(x) - f(x - h)) / h
    return (forward + backward) / 2


# %% alternative="numerical_slope"
def numerical_slope(f, x, h):
    rise = sum(sign * f(x + sign * h) for sign in (1, -1))
    return 0.5 * rise.reshape(1) / h


# %% check="numerical_slope"
from autograder import check

check("numerical_slope")
# %% [markdown] tags=["en"]
# The central difference of the sine at 1 differs from $\cos 1$ by a little. `play` calls a function with several values and puts the results behind a slider.
# %% [markdown] tags=["ru"] of="d0486e56"
# Центральная разность синуса в точке 1 немного отличается от $\cos 1$. Функция `play` вызывает другую функцию с несколькими значениями аргумента, а результаты можно листать ползунком.
# %%
from autograder import play

one = torch.tensor(1.0, dtype=torch.float64)


def error(h):
    return abs(((one + h).sin() - (one - h).sin()).item() / (2 * h) - math.cos(1))


play(error, h=[10.0**-k for k in range(1, 15)])
# %% [markdown] tags=["en", "try"]
# The smaller `h`, the better? Say at which `h` the error will be smallest, then drag the slider.
#
# Down to about $10^{-5}$ each tenth of `h` takes a hundredth of the error. After that it grows: the two values agree in more and more digits, and what is left of their difference is rounding. In float32 that begins much sooner, so the exercise takes float64.
# %% [markdown] tags=["ru", "try"] of="234bf582"
# Чем меньше `h`, тем точнее? Скажите, при каком `h` погрешность будет наименьшей, а потом двигайте ползунок.
#
# Примерно до $10^{-5}$ с каждым уменьшением `h` в десять раз погрешность уменьшается в сто раз. Дальше она растёт: у двух значений совпадает всё больше цифр, и от их разности остаётся только погрешность округления. В float32 это начинается гораздо раньше, поэтому в упражнении числа имеют тип float64.
# %% tags=["fact"]
assert round(3.01**2, 4) == 9.0601 and round(2.99**2, 4) == 8.9401
assert abs(numerical_slope(lambda x: x**2, torch.tensor(3.0, dtype=torch.float64), 0.01) - 6) < 1e-9
errors = [
    abs(numerical_slope(torch.sin, torch.tensor(1.0, dtype=torch.float64), h).item() - math.cos(1)) for h in (0.1, 0.01)
]
assert 99 < errors[0] / errors[1] < 101  # ten times smaller h, a hundred times smaller error
one = torch.tensor(1.0, dtype=torch.float64)
small, tiny = (abs(numerical_slope(torch.exp, one, h).item() - math.e) for h in (1e-5, 1e-13))
assert tiny > 1000 * small  # rounding
assert abs(numerical_slope(torch.exp, one.float(), 1e-5).item() - math.e) > 1e-3  # and in float32 much sooner


# %% [markdown] tags=["en"]
# ## Many numbers at once
#
# Let `a` hold 25 places between 0 and $2\pi$, and let $d = 2\sin a + 1$ at each of them. `backward()` starts at one number, so the 25 values are added up first. Entry $i$ of `a` has an influence on entry $i$ of `d` only, so the derivative of the sum by $a_i$ is that of one term: $2\cos a_i$. The constant 1 does not change it. `detach()` in the code stands for: the numbers, without the record.
# %% [markdown] tags=["ru"] of="ad0057e6"
# ## Много чисел сразу
#
# Пусть в тензоре `a` лежат 25 точек от 0 до $2\pi$, и в каждой из них вычислено $d = 2\sin a + 1$. Метод `backward()` вызывают для одного числа, поэтому 25 значений сначала складываются. Элемент $i$ тензора `a` влияет только на элемент $i$ тензора `d`, так что производная суммы по $a_i$ равна производной одного слагаемого: $2\cos a_i$. Константа 1 на производную не влияет. Проверим это. Вызов `detach()` в коде означает «только числа, без записи вычислений».
# %%
a = torch.linspace(0.0, 2.0 * math.pi, steps=25, requires_grad=True)
d = 2 * torch.sin(a) + 1
out = d.sum()
out.backward()

print("a.grad:    ", a.grad[:4])
print("2 * cos(a):", 2 * torch.cos(a.detach())[:4])
# %% tags=["fact"]
assert torch.allclose(a.grad, 2 * torch.cos(a.detach()))
try:
    a.numpy()
    raise AssertionError
except RuntimeError as error:
    assert "Use tensor.detach().numpy() instead" in str(error)
# %% tags=["picture"] alt="Two curves over a: d = 2 sin(a) + 1, and its gradient, which is 0 where d has its peak | Две кривые от a: d = 2 sin(a) + 1 и её градиент, который равен 0 там, где у d максимум"
import matplotlib.pyplot as plt

plt.figure(figsize=(6, 2.6))
plt.plot(a.detach(), d.detach(), marker="o", label="d = 2 sin(a) + 1")
plt.plot(a.detach(), a.grad, marker="s", label="a.grad")
plt.axhline(0, color="gray", linewidth=0.5)
plt.xlabel("a")
plt.legend(bbox_to_anchor=(1, 1))
plt.show()


# %% [markdown] tags=["en"]
# Where `d` has a peak, `a.grad` is 0; where `d` falls, `a.grad` is negative. Matplotlib turns tensors into NumPy arrays, and torch refuses that for a tensor with `requires_grad=True`, hence `detach()` in the code. Lesson 01 has more on it.
# %% [markdown] tags=["ru"] of="3e26aaa0"
# Там, где у `d` максимум, значение `a.grad` равно 0, а там, где `d` убывает, значение `a.grad` отрицательно. Matplotlib превращает тензоры в массивы NumPy, но для тензора с `requires_grad=True` torch этого не разрешает, поэтому в коде и нужен `detach()`. Подробнее об этом — в уроке 01.
# %% [markdown] tags=["en"]
# ## Derivative of what, by what?
#
# `backward()` is called on *one* tensor, the root. What it adds to a `.grad` is the derivative of that root. In the next function `retain_grad()` asks torch to keep the gradient of a tensor that was computed, too. Read the function; do not call it yet.
# %% [markdown] tags=["ru"] of="0838d5a5"
# ## Производная чего и по чему?
#
# Метод `backward()` вызывают для *одного* тензора — корня. К каждому `.grad` прибавляется производная именно этого корня. В следующей функции благодаря `retain_grad()` сохраняется и градиент промежуточного тензора. Прочтите функцию, но пока не вызывайте её.
# %%
def chain():
    x = torch.ones(2, 2, requires_grad=True)
    y = x + 2  # every entry is 3
    z = 3 * y**2  # every entry is 27
    out = z.mean()
    for tensor in (y, z, out):
        tensor.retain_grad()
    out.backward()
    return {
        "x.grad": x.grad[0, 0].item(),
        "y.grad": y.grad[0, 0].item(),
        "z.grad": z.grad[0, 0].item(),
        "out.grad": out.grad.item(),
    }


# %% [markdown] tags=["en"]
# ### `predict_chain`
#
# Put what `chain()` returns in place of each `...`: a number. Of the matrices one entry is taken; all four are equal.
# %% [markdown] tags=["ru"] of="194b9618"
# ### `predict_chain`
#
# Вместо каждого `...` поставьте число, которое вернёт `chain()`. Если градиент — матрица, берётся один её элемент: все четыре равны между собой.
# %% answer="predict_chain"
predict_chain = {
    "x.grad": 4.5,
    "y.grad": 4.5,
    "z.grad": 0.25,
    "out.grad": 1.0,
}
# %% given="predict_chain"
predict_chain = {
    "x.grad": ...,
    "y.grad": ...,
    "z.grad": ...,
    "out.grad": ...,
}
# %% check="predict_chain"
from autograder import check

check("predict_chain")
# %% tags=["fact"]
assert predict_chain == chain()
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# А теперь вызовем эту функцию.
# %%
chain()
# %% [markdown] tags=["en"] explains="predict_chain"
# `z.grad` is 1/4 because the mean divides by the number of entries, `z.numel()`, and not by `z.shape[0]`, which is 2. `y.grad` is $6y/4 = 4.5$, and `x.grad` is the same, since $y = x + 2$ moves as much as $x$ does. You will see "dz/dy = 6y" written beside `z.grad`. That is the derivative of one step only, of $z$ by $y$. The chain rule multiplies such numbers from the root down, and `.grad` holds the product.
#
# Two more, worked out, both with $x = 1$ in every entry: the mean of $2y^3$ with $y = x + 2$ over four entries gives $6y^2/4 = 13.5$, and the mean of $8y^2$ with $y = 4x + 2$ over nine entries gives $16y \cdot 4/9 = 42.67$.
# %% [markdown] tags=["ru"] explains="predict_chain" of="31ffd1ed"
# Градиент `z.grad` равен 1/4, потому что при усреднении делят на число элементов, `z.numel()`, а не на `z.shape[0]`, то есть не на 2. Градиент `y.grad` равен $6y/4 = 4.5$, и `x.grad` такой же: $y = x + 2$ меняется ровно на столько же, на сколько $x$. Рядом с `z.grad` иногда пишут «dz/dy = 6y». Но это производная только одного шага, $z$ по $y$. По правилу дифференцирования сложной функции (цепному правилу) такие числа перемножаются, начиная с корня, и в `.grad` лежит их произведение.
#
# Вот ещё два примера, уже решённые. В обоих все элементы равны единице: $x = 1$. Если $y = x + 2$, то производная среднего из четырёх значений $2y^3$ по каждому элементу равна $6y^2/4 = 13.5$. Если $y = 4x + 2$, то производная среднего из девяти значений $8y^2$ по каждому элементу равна $16y \cdot 4/9 = 42.67$.
# %% tags=["fact"]
ones = torch.ones(2, 2, requires_grad=True)
(2 * (ones + 2) ** 3).mean().backward()
assert (ones.grad == 13.5).all()
ones = torch.ones(2, 2, requires_grad=True)
(2 * (ones + 2) ** 2).mean().backward()
assert (ones.grad == 3).all()
ones = torch.ones(3, 3, requires_grad=True)
(8 * (4 * ones + 2) ** 2).mean().backward()
assert torch.allclose(ones.grad, torch.tensor(16 * 6 * 4 / 9)) and round(16 * 6 * 4 / 9, 2) == 42.67
assert torch.ones(2, 2).shape[0] == 2 and torch.ones(2, 2).numel() == 4
pair = torch.ones(2, requires_grad=True)
(3 * (pair + 2) ** 2).mean().backward()
assert pair.grad.tolist() == [9, 9] and 0.5 * 3 * 2 * 3 * 1 == 9
ones = torch.ones(2, 2, requires_grad=True)
(3 * (ones + 2) ** 2).sum().backward()
assert (ones.grad == 18).all()
# %% [markdown] tags=["en", "try"]
# In `chain`, write `z.sum()` in place of `z.mean()`. Which of the four numbers change, and how many times? Say it, then run `chain()` again.
#
# All but `out.grad`, which is the derivative of `out` by itself. Nothing divides by 4 any more, so the three others are four times as large: `x.grad` is 18.
# %% [markdown] tags=["ru", "try"] of="7b00fcb5"
# В функции `chain` напишите `z.sum()` вместо `z.mean()`. Какие из четырёх чисел изменятся и во сколько раз? Сначала ответьте, потом снова вызовите `chain()`.
#
# Изменятся все, кроме `out.grad`: это производная `out` по себе самой. На 4 больше ничего не делится, поэтому остальные три числа вырастут вчетверо: `x.grad` будет равен 18.
# %% [markdown] tags=["en"]
# You can watch this multiplication. `steps` goes through the backward pass one rule at a time: press → or ▶ in the output of the cell. Here are the same lines with two numbers in `x` instead of four, so the mean divides by 2. The factors are $1/2$ from the mean, 3, then $2y = 6$ from the square, and 1 from the sum: their product is 9. (What the output says of `retain_graph` and of freeing is explained in lesson 02.)
# %% [markdown] tags=["ru"] of="578ae8d9"
# Проследим за этим перемножением: `steps` показывает обратный проход по шагам, правило за правилом. Нажимайте → или ▶ в выводе ячейки. Ниже те же строки, но в `x` не четыре числа, а два, поэтому при усреднении делят на 2. Множители таковы: усреднение даёт $1/2$, умножение — 3, возведение в квадрат — $2y = 6$, сложение — 1. Их произведение — 9. (Что в выводе означают `retain_graph` и слово «освобождено», объяснено в уроке 02.)
# %% tags=["picture"]
from autograder import steps

x = torch.ones(2, requires_grad=True)
y = x + 2
z = 3 * y**2
out = z.mean()
steps(out)
# %% [markdown] tags=["en"]
# ## A network of one layer
#
# Five inputs, three outputs, 15 weights and 3 biases. The loss is binary cross-entropy, taken from the logits `z`: it is small when `z` is far from 0 with the right sign, minus for the label 0 and plus for the label 1. One call of `backward()` fills the gradients of all 18 parameters.
# %% [markdown] tags=["ru"] of="9d34076e"
# ## Сеть из одного слоя
#
# У этой сети пять входов, три выхода, 15 весов и 3 смещения. Функция потерь — бинарная кросс-энтропия, вычисленная по логитам `z`. Она мала, когда числа в `z` велики по модулю, а знаки у них правильные: минус для метки 0, плюс для метки 1. Убедимся, что один вызов `backward()` вычисляет градиенты по всем 18 параметрам.
# %%
torch.manual_seed(0)
x = torch.ones(5)
y = torch.zeros(3)
w = torch.randn(5, 3, requires_grad=True)
b = torch.randn(3, requires_grad=True)

z = x @ w + b
loss = bce(z, y)
loss.backward()

print("loss:  ", loss)
print("w.grad:", w.grad, sep="\n")
print("b.grad:", b.grad)
# %% tags=["fact"]
assert torch.allclose(b.grad, (torch.sigmoid(z) - y) / 3)
assert all(torch.equal(row, b.grad) for row in w.grad)
assert loss.grad_fn.name() == "BinaryCrossEntropyWithLogitsBackward0" and z.grad_fn.name() == "AddBackward0"
assert x.grad is None and y.grad is None
assert w.numel() == 15 and b.numel() == 3
v = torch.tensor(1.0, requires_grad=True)
(v**2).backward()
with torch.no_grad():
    v -= 0.1 * v.grad
v.grad = None
assert v.is_leaf and v.requires_grad and round(v.item(), 6) == 0.8
assert (b.grad > 0).all()


# %% [markdown] tags=["en"]
# `b.grad` is $(\sigma(z) - y)/3$, where $\sigma$ is the sigmoid, and every row of `w.grad` equals it because every input is 1. All these derivatives are positive: move any of the 18 parameters up a little, and the loss grows. `x` and `y` were made without `requires_grad=True`, so their `.grad` stays `None`.
#
# Descent moves every parameter against its derivative, by the *learning rate* times the derivative. The step is not part of the loss, so it is done under `torch.no_grad()`, where torch does not record. It must change the tensor itself, *in place*: `w -= ...` does, while `w = w - ...` makes a new tensor and moves the name `w` to it. And since the next `backward()` adds to what is in `.grad`, the gradients are cleared after the step (or before the next `backward()`). For one parameter `v`, with a gradient in `v.grad` and the learning rate 0.1:
#
# ```python
# with torch.no_grad():
#     v -= 0.1 * v.grad
# v.grad = None
# ```
#
# ### `descend`
#
# **Move `w` and `b` by one step of descent, in place, and return the loss before the step.**
#
# * **Given.** `w` of shape $(n, m)$ and `b` of shape $(m,)$ with `requires_grad=True` and a `.grad` of `None`; `x` of shape $(n,)$, `y` of shape $(m,)$; `lr`, a `float`.
# * **Result.** One step: `w` and `b` themselves, changed in place, hold their values minus `lr` times the gradient of `bce(x @ w + b, y)`. <!-- weights -->
# * **Result.** The loss before the step is returned, as a `float` or as a tensor of one number. <!-- loss -->
# * **Result.** Both `.grad` are `None` or zero afterwards. <!-- cleared -->
# * **Leave.** `requires_grad=True` of `w` and `b`: they stay leaves. <!-- trainable -->
# %% [markdown] tags=["ru"] of="b9aefff3"
# Градиент `b.grad` равен $(\sigma(z) - y)/3$, где $\sigma$ — сигмоида, и каждая строка `w.grad` такая же, потому что все входы равны 1. Все эти производные положительны: если немного увеличить любой из 18 параметров, значение функции потерь вырастет. Тензоры `x` и `y` созданы без `requires_grad=True`, поэтому их `.grad` остаётся равным `None`.
#
# На шаге спуска из каждого параметра вычитают производную функции потерь по этому параметру, умноженную на *скорость обучения*. Сам шаг в функцию потерь не входит, поэтому его делают внутри `torch.no_grad()`, где вычисления не записываются. Изменить нужно сам тензор, *на месте*: так делает `w -= ...`, а `w = w - ...` создаёт новый тензор и связывает с ним имя `w`. И поскольку следующий `backward()` прибавит новый градиент к тому, что лежит в `.grad`, после шага (или перед следующим `backward()`) градиенты обнуляют. Для одного параметра `v` с градиентом в `v.grad` и скорости обучения 0.1 это выглядит так:
#
# ```python
# with torch.no_grad():
#     v -= 0.1 * v.grad
# v.grad = None
# ```
#
# ### `descend`
#
# **Сделайте один шаг спуска: измените `w` и `b` на месте и верните значение функции потерь до шага.**
#
# * **Дано.** `w` формы $(n, m)$ и `b` формы $(m,)$, у которых `requires_grad=True`, а `.grad` равен `None`; `x` формы $(n,)$, `y` формы $(m,)$; `lr` — число типа `float`.
# * **Результат.** Один шаг: сами тензоры `w` и `b` изменены на месте, из прежних значений вычтен градиент функции потерь `bce(x @ w + b, y)`, умноженный на `lr`. <!-- weights -->
# * **Результат.** Возвращается значение функции потерь до шага: `float` или тензор из одного числа. <!-- loss -->
# * **Результат.** После шага оба `.grad` равны `None` или нулю. <!-- cleared -->
# * **Не менять.** Флаг `requires_grad=True` у `w` и `b`: они остаются листьями. <!-- trainable -->
# %% answer="descend"
def descend(w, b, x, y, lr):
    """One step of gradient descent on `w` and `b`, in place; the loss before it."""
    ### BEGIN SOLUTION
    loss = bce(x @ w + b, y)
    loss.backward()
    with torch.no_grad():
        for parameter in (w, b):
            parameter -= lr * parameter.grad
            parameter.grad = None
    return loss.item()
    ### END SOLUTION


# %% alternative="descend"
def descend(w, b, x, y, lr):
    optimizer = torch.optim.SGD([w, b], lr=lr)
    loss = bce(x @ w + b, y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss


# %% alternative="descend"
def descend(w, b, x, y, lr):
    loss = bce(x @ w + b, y)
    dw, db = torch.autograd.grad(loss, [w, b])
    with torch.no_grad():
        w.copy_(w - lr * dw)
        b.copy_(b - lr * db)
    return loss.detach()


# %% alternative="descend"
def descend(w, b, x, y, lr):
    loss = bce(x @ w + b, y)
    loss.backward()
    with torch.no_grad():
        w.sub_(lr * w.grad)
        b.sub_(lr * b.grad)
    w.grad.zero_()
    b.grad.zero_()
    return float(loss.detach())


# %% check="descend"
from autograder import check

check("descend")
# %% [markdown] tags=["en"]
# An optimizer does these lines for you. Here are twenty steps of training the same network:
# %% [markdown] tags=["ru"] of="fdf28c51"
# Изменять параметры и обнулять градиенты обычно поручают оптимизатору. Сделаем двадцать шагов обучения той же сети:
# %%
optimizer = torch.optim.SGD([w, b], lr=0.5)
for step in range(20):
    optimizer.zero_grad()
    loss = bce(x @ w + b, y)
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        print(f"step {step + 1:2}: loss {loss.item():.4f}")
# %% tags=["fact"]
assert loss.item() < 0.1


# %% [markdown] tags=["en"]
# The learning rate decides whether this works at all. The function below is a loop without an optimizer: two layers, 1000 inputs, the rate $10^{-5}$. With the first loss alone printed, nothing looks wrong. Here are six, all printed.
# %% [markdown] tags=["ru"] of="51828edc"
# От скорости обучения зависит, будет ли модель вообще обучаться. В функции ниже — цикл без оптимизатора: два слоя, 1000 входов, скорость обучения $10^{-5}$. Если напечатать только первое значение функции потерь, ничего плохого не видно. Вот шесть шагов, и напечатано каждое значение.
# %%
def six_losses(lr):
    torch.manual_seed(0)
    inputs, targets = torch.randn(64, 1000), torch.randn(64, 10)
    w1, w2 = torch.randn(1000, 100, requires_grad=True), torch.randn(100, 10, requires_grad=True)
    losses = []
    for _ in range(6):
        loss = ((inputs @ w1).clamp(min=0) @ w2 - targets).pow(2).sum()
        losses.append(loss.item())
        loss.backward()
        with torch.no_grad():
            for parameter in (w1, w2):
                parameter -= lr * parameter.grad
                parameter.grad = None
    return losses


print(*(f"{loss:.2g}" for loss in six_losses(1e-5)))
# %% tags=["fact"]
too_fast, slow = six_losses(1e-5), six_losses(1e-6)
assert too_fast[0] < too_fast[1] < too_fast[2] < too_fast[3] and not math.isfinite(too_fast[5])
assert sorted(slow, reverse=True) == slow
saved_later = six_losses(2e-6)
assert saved_later[2] > 10 * saved_later[0] > 100 * saved_later[5] and six_losses(4e-6)[5] > 1e17
# %% [markdown] tags=["en"]
# The loss grows with every step until float32 cannot hold it.
# %% [markdown] tags=["ru"] of="6e02896e"
# Значение функции потерь растёт от шага к шагу, пока не выйдет за пределы float32.
# %% tags=["picture"]
from matplotlib.figure import Figure


def curve(lr):
    figure = Figure(figsize=(5, 2.4), layout="constrained")
    axes = figure.add_subplot(xlabel="step", ylabel="loss", yscale="log", ylim=(1e5, 1e13))
    axes.plot(six_losses(lr), marker="o")
    return figure


play(curve, lr=[1e-6, 2e-6, 4e-6, 1e-5])
# %% [markdown] tags=["en", "try"]
# With `lr = 1e-06` the loss falls with every step. What will it do with twice that rate, and with four times? Say it, then drag.
#
# With `2e-06` it rises to twenty times its value, and then falls below all of the first curve: a rate at the border. With `4e-06` it runs away. A loss that grows is a reason to try a smaller learning rate first.
# %% [markdown] tags=["ru", "try"] of="e090eecb"
# При `lr = 1e-06` значение функции потерь уменьшается на каждом шаге. А что будет, если взять скорость обучения вдвое и вчетверо больше? Сначала ответьте, потом двигайте ползунок.
#
# При `2e-06` оно сначала вырастет почти в двадцать раз, а потом опустится ниже всей первой кривой: это скорость на грани. При `4e-06` оно растёт без предела. Если значение функции потерь растёт, прежде всего уменьшите скорость обучения.
# %% [markdown] tags=["en"]
# ## What to keep
#
# * `root.backward()` adds to `t.grad` the derivative of the *root* by `t`, and not that of one step.
# * A central difference checks it without trusting any rule.
# * A step: loss, `backward()`, change the parameters in place under `torch.no_grad()`, clear `.grad`.
# %% [markdown] tags=["ru"] of="05c9a5e8"
# ## Что стоит запомнить
#
# * `root.backward()` прибавляет к `t.grad` производную *корня* по `t`, а не производную одного шага вычислений.
# * С помощью центральной разности эту производную можно проверить, не зная ни одного правила дифференцирования.
# * Шаг спуска состоит из четырёх действий: вычислить функцию потерь, вызвать `backward()`, изменить параметры на месте внутри `torch.no_grad()`, обнулить `.grad`.
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
# Сохраните тетрадь, то есть этот Jupyter-ноутбук (Ctrl+S), и запустите последнюю ячейку: `ready()` выполнит сохранённый файл сверху вниз в новом процессе и покажет баллы. Если вы учитесь в группе, там же будет назван файл для сдачи. Если занимаетесь самостоятельно, вы узнаете, проходят ли ответы проверку с чистого листа, без переменных, оставшихся от ваших опытов.
# %%
from autograder import ready

ready()
