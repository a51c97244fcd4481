# %% [markdown] tags=["en"] needs="04, 07" about="gradients through rounding, sampling and argmax; bias and variance; targets that must not learn"
# # Gradients that somebody chose
#
# A switch $b$ is on with probability $p$, and this probability is to be trained. The loss is $(b - 0.25)^2$: 0.5625 when the switch is on, 0.0625 when it is off. So it should be off for good.
#
# A switch has no derivative. Somebody uses a well-known trick, the straight-through estimator, and tests it: at $p = 0.5$ its gradient is right to the last digit. Then $p$ is trained, falls to 0.25, and stays there. The loss is three times what it could be. What did the test not see?
#
# Some gradients do not follow from the function; somebody chose them. Two kinds are everywhere. Where there is no derivative (rounding, sampling, `argmax`), a substitute is put in its place. And where there is one, in a target or in a second branch, it is stopped on purpose. In both cases a wrong choice trains something else, without a word. After this lesson you can:
#
# * say what the gradient of a discrete operation is: a zero, nothing, or an error;
# * put a straight-through gradient in its place, and train even the step of a grid;
# * compute bias and variance of an estimator exactly, without one random number;
# * write a score-function loss without bias and with little noise;
# * say for any `detach` who is trained with it, and who without it.
#
# You need lesson 04 (`no_grad`, `detach`, freezing) and lesson 07 (what a `backward` may return).
# %% [markdown] tags=["ru"] about="градиенты сквозь округление, случайный выбор и argmax, смещение и дисперсия, цели, которые не должны обучаться" of="40b0e5b8"
# # Градиенты, которые кто-то выбрал
#
# Переключатель $b$ включён с вероятностью $p$, и эту вероятность нужно найти обучением. Функция потерь — $(b - 0.25)^2$: если переключатель включён, она равна 0.5625, если выключен — 0.0625. Значит, его лучше выключить навсегда.
#
# Производной у переключателя нет. Берут известный приём, сквозную оценку градиента (straight-through estimator), и проверяют: при $p = 0.5$ градиент верен до последней цифры. Начинается обучение: $p$ уменьшается до 0.25 и больше не меняется. Потери втрое больше, чем могли бы быть. Чего не увидела проверка?
#
# Не всякий градиент следует из самой функции: иногда его кто-то выбрал. Так бывает в двух случаях. Там, где производной нет (округление, случайный выбор, `argmax`), её чем-нибудь заменяют. А там, где производная есть, но не нужна, — в цели или во второй ветви — градиент намеренно останавливают. Если выбор неудачен, обучается не то, что хотели, и никаких сообщений об этом не будет. После урока вы сможете:
#
# * сказать, что даёт дискретная операция в обратном проходе: ноль, ничего или ошибку;
# * поставить на место нуля сквозную оценку и обучать даже шаг округления;
# * вычислять смещение и дисперсию оценки точно, без единого случайного числа;
# * написать функцию потерь, которая даёт несмещённую оценку с малым шумом;
# * сказать о любом `detach`, кто обучается с ним и кто обучался бы без него.
#
# Понадобятся уроки 04 (`no_grad`, `detach`, замораживание) и 07 (что может вернуть `backward`).
# %% tags=["en"]
# The import fails? Install the course's file (or autograd-course) with pip, uninstall the other `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("chosen_gradients", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("chosen_gradients", language="ru")
# %%
import copy
from itertools import product

import torch
from torch import nn
from torch.nn.functional import gumbel_softmax, mse_loss, one_hot


# %% [markdown] tags=["en"]
# ## Zero, nothing, or an error
#
# “It has no gradient” is said of rounding, of comparisons and of random bits. torch does three different things with them, and only one of the three always says so. `slope` asks for the derivative of a function at one point.
# %% [markdown] tags=["ru"] of="a263fe11"
# ## Ноль, ничего или ошибка
#
# «Градиента нет» говорят и об округлении, и о сравнении, и о случайном бите. На самом деле torch поступает с ними тремя разными способами, и только об одном из трёх всегда сообщает. Функция `slope` вычисляет производную в одной точке.
# %%
def slope(function, at=0.6):
    """The derivative of `function` at a point, "no graph", or the name of an error."""
    x = torch.tensor(at, requires_grad=True)
    y = function(x)
    if not y.requires_grad:
        return "no graph"
    try:
        return torch.autograd.grad(y, x)[0].item()
    except RuntimeError:
        return "RuntimeError"


print("heaviside:", slope(lambda x: torch.heaviside(x, torch.zeros(()))))
print("square:   ", round(slope(lambda x: x**2), 2))
# %% tags=["fact"]
assert slope(lambda x: torch.heaviside(x, torch.zeros(()))) == "RuntimeError"
assert slope(lambda x: x // 1) == "RuntimeError"


# %% [markdown] tags=["en"]
# Now the others. Read the table; do not call it yet.
# %% [markdown] tags=["ru"] of="2a1eab04"
# Теперь другие операции. Прочтите таблицу, но пока не вызывайте функцию.
# %%
def slope_table():
    return {
        "x.round()": slope(lambda x: x.round()),
        "x - x.floor()": slope(lambda x: x - x.floor()),
        "(x > 0.5).float()": slope(lambda x: (x > 0.5).float()),
        "x * (x > 0.5)": slope(lambda x: x * (x > 0.5)),
        "torch.bernoulli(x)": slope(lambda x: torch.bernoulli(x)),
        "x + (x.round() - x).detach()": slope(lambda x: x + (x.round() - x).detach()),
        "x.detach() + x.round() - x": slope(lambda x: x.detach() + x.round() - x),
    }


# %% [markdown] tags=["en"]
# ### `predict_discrete`
#
# Put what `slope_table()` returns in place of each `...`: a number, `"no graph"` or `"RuntimeError"`. `torch.bernoulli(x)` is a random bit, 1 with probability `x`; its entry is the same in each run.
# %% [markdown] tags=["ru"] of="93adb70b"
# ### `predict_discrete`
#
# Вместо каждого `...` поставьте то, что вернёт `slope_table()`: число, `"no graph"` или `"RuntimeError"`. Функция `torch.bernoulli(x)` возвращает случайный бит, который равен 1 с вероятностью `x`, но значение в этой строке таблицы при каждом запуске одно и то же.
# %% answer="predict_discrete"
predict_discrete = {
    "x.round()": 0.0,
    "x - x.floor()": 1.0,
    "(x > 0.5).float()": "no graph",
    "x * (x > 0.5)": 1.0,
    "torch.bernoulli(x)": 0.0,
    "x + (x.round() - x).detach()": 1.0,
    "x.detach() + x.round() - x": -1.0,
}
# %% given="predict_discrete"
predict_discrete = {
    "x.round()": ...,
    "x - x.floor()": ...,
    "(x > 0.5).float()": ...,
    "x * (x > 0.5)": ...,
    "torch.bernoulli(x)": ...,
    "x + (x.round() - x).detach()": ...,
    "x.detach() + x.round() - x": ...,
}
# %% check="predict_discrete"
from autograder import check

check("predict_discrete")
# %% tags=["fact"]
assert predict_discrete == slope_table()
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# Вызовем эту функцию и сравним с таблицей.
# %%
slope_table()


# %% [markdown] tags=["en"] explains="predict_discrete"
# A rounding is flat between its steps, so its derivative is 0 wherever there is one. That zero is right, and it is the dangerous answer: the weight before the rounding gets a gradient of zeros, and no optimizer moves it. A random bit does the same. A comparison ends the graph, as does `argmax`: if the loss depends on nothing else, `backward()` raises. But `x * (x > 0.5)` depends on `x` in another way as well, and the mask is a constant there.
#
# The last two lines have the *value* of a rounding and another gradient. `detach` (lesson 04) gives a value without a past, and so value and gradient of one expression can be chosen apart. In the last line the wrong term was detached. The value is right, and training goes uphill.
# %% [markdown] tags=["ru"] explains="predict_discrete" of="8b2bcd52"
# Между скачками график округления горизонтален, поэтому его производная равна 0 везде, где она есть. Этот ноль верен, и тем он опасен: вес перед округлением получает нулевой градиент, и никакой оптимизатор его не сдвинет. То же со случайным битом. На сравнении граф кончается, как и на `argmax`: если функция потерь больше ни от чего не зависит, `backward()` завершится ошибкой. Но `x * (x > 0.5)` зависит от `x` и через первый множитель, а маска в этом произведении — константа.
#
# В двух последних строках *значение* такое же, как у округления, а градиент другой. Метод `detach` (урок 04) даёт значение без истории, поэтому значение и градиент одного выражения можно выбрать независимо друг от друга. В последней строке отсоединили не то слагаемое. Значение верно, а потери при обучении растут.
# %% [markdown] tags=["en"]
# ## A one in place of the zero
#
# Here a weight is rounded before it is used, and the result should become 3. It begins at 0.6. Once the rounding is left as it is, once its gradient is replaced by 1, as in the table.
# %% [markdown] tags=["ru"] of="aa13c0b2"
# ## Единица на месте нуля
#
# В этом примере вес перед использованием округляется, и результат должен стать равным 3. Начальное значение — 0.6. Один раз округление оставлено как есть, другой раз его градиент заменён единицей, как в таблице.
# %%
def straight_round(w):
    return w + (w.round() - w).detach()


def train_rounded(rounding):
    w = torch.tensor(0.6, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        ((rounding(w) - 3) ** 2).backward()
        optimizer.step()
    return f"w = {w.item():.2f}, rounded {w.round().item():.0f}"


print("round:           ", train_rounded(torch.round))
print("straight-through:", train_rounded(straight_round))
# %% tags=["fact"]
assert train_rounded(torch.round) == "w = 0.60, rounded 1"
assert train_rounded(straight_round) == "w = 2.60, rounded 3"


# %% [markdown] tags=["en", "try"]
# The first weight does not move at all. And why does the second one stop at 2.60, and not go on to 3? Say it, then let the result become 5.
#
# The second weight stops at 2.60, for that is already rounded to 3. This is the *straight-through estimator*: forward the rounding, backward the identity. A Function with a `backward` of its own can do it (lesson 07); with `detach` one line is enough. The picture shows the single path that is left.
# %% [markdown] tags=["ru", "try"] of="1efb8e8f"
# Первый вес вообще не сдвинулся. А почему второй остановился на 2.60 и не дошёл до 3? Сначала ответьте, потом пусть результатом должно стать 5.
#
# Второй вес останавливается на 2.60: это число уже округляется до 3. Такая замена и есть *сквозная оценка градиента* (straight-through estimator, STE): в прямом проходе — округление, в обратном — тождественная функция. Её можно написать как пользовательскую функцию со своим `backward` (урок 07), а с помощью `detach` хватает одной строки. На рисунке виден единственный оставшийся путь.
# %% tags=["picture"]
from autograder import draw

w = torch.tensor(0.6, requires_grad=True)
loss = (straight_round(w) - 3) ** 2
draw(loss)


# %% [markdown] tags=["en"]
# A real grid is finite. With a step $s$ and $n$ levels on each side its values are $-ns, \dots, -s, 0, s, \dots, ns$, and what lies outside becomes the last value. There the result does not move with $x$, and so the gradient should be 0. Only inside should it pass.
#
# And who chooses the step? It can be trained as well. Inside the range the result is $s \cdot \mathrm{round}(x / s)$. If the rounding counts as the identity, then by the product rule its derivative with respect to $s$ is
#
# $$\mathrm{round}\left(\tfrac{x}{s}\right) + s \cdot \left(-\tfrac{x}{s^2}\right) = \mathrm{round}\left(\tfrac{x}{s}\right) - \tfrac{x}{s},$$
#
# the rounding error in steps. Outside, the result is $\pm ns$, with the derivative $\pm n$. Nobody has to write these formulas down: with the trick in the right place autograd finds them.
#
# ### `quantize`
#
# **Round `x` to a grid, pass the gradient through inside the range, and let the step of the grid learn, too.**
#
# * **Given.** `x`, a float64 tensor of any shape, also without dimensions. `step`, a positive tensor without dimensions. `levels`, a positive int. `x` and `step` may require grad, or one of them alone. No entry of `x` lies exactly at an end of the range or in the middle between two values.
# * **Result.** A new tensor of the shape of `x`: each entry is rounded to the nearest multiple of `step`, and limited to the range from `-levels * step` to `levels * step`. <!-- values -->
# * **Result.** The gradient of `x` is the incoming one where `x` lies inside the range, also between the last value and half a step before it; outside it is 0. <!-- gradient_x -->
# * **Result.** The gradient of `step` is the sum over the entries of the derivatives above, each times the incoming gradient. <!-- gradient_step -->
# * **Leave.** `x`, `step` and their `.grad`, and the gradients of earlier results. <!-- rest -->
# %% [markdown] tags=["ru"] of="ec8a4665"
# Настоящая сетка конечна. При шаге $s$ и $n$ уровнях с каждой стороны на ней лежат значения $-ns, \dots, -s, 0, s, \dots, ns$, а всё, что лежит дальше, превращается в крайнее значение. Там результат от $x$ не зависит, поэтому градиент должен быть равен 0. Проходить он должен только внутри диапазона.
#
# А кто выбирает шаг? Его тоже можно обучать. Внутри диапазона результат равен $s \cdot \mathrm{round}(x / s)$. Если считать округление тождественной функцией, то по правилу произведения производная по $s$ — это
#
# $$\mathrm{round}\left(\tfrac{x}{s}\right) + s \cdot \left(-\tfrac{x}{s^2}\right) = \mathrm{round}\left(\tfrac{x}{s}\right) - \tfrac{x}{s},$$
#
# то есть ошибка округления, измеренная в шагах. Вне диапазона результат равен $\pm ns$, и производная — $\pm n$. Сами эти формулы программировать не нужно: если применить сквозную оценку в нужном месте, autograd найдёт их сам.
#
# ### `quantize`
#
# **Округлите `x` до узлов сетки, внутри диапазона передайте градиент без изменений и сделайте так, чтобы и шаг сетки обучался.**
#
# * **Дано.** `x` — тензор float64 любой формы, в том числе без измерений. `step` — положительный тензор без измерений. `levels` — положительное число int. Градиента требуют и `x`, и `step` или только один из них. Ни один элемент `x` не лежит ни точно на границе диапазона, ни точно посередине между двумя значениями сетки.
# * **Результат.** Новый тензор той же формы, что и `x`: каждый элемент округлён до ближайшего кратного `step` и ограничен диапазоном от `-levels * step` до `levels * step`. <!-- values -->
# * **Результат.** Градиент по `x` равен пришедшему там, где `x` лежит внутри диапазона, в том числе на последнем полушаге перед его концом; вне диапазона он равен 0. <!-- gradient_x -->
# * **Результат.** Градиент по `step` таков: указанные выше производные умножены на пришедший градиент и сложены по всем элементам. <!-- gradient_step -->
# * **Не менять.** `x`, `step` и их `.grad`, а также градиенты прежних результатов. <!-- rest -->
# %% answer="quantize"
def quantize(x, step, levels):
    """`x` on a grid of `step`, at most `levels` steps from 0, with straight-through gradients."""
    ### BEGIN SOLUTION
    scaled = (x / step).clamp(-levels, levels)
    return step * (scaled + (scaled.round() - scaled).detach())
    ### END SOLUTION


# %% alternative="quantize"
class OnTheGrid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, levels):
        scaled = x / step
        rounded = scaled.round().clamp(-levels, levels)
        ctx.save_for_backward(scaled, rounded)
        ctx.levels = levels
        return step * rounded

    @staticmethod
    def backward(ctx, grad_output):
        scaled, rounded = ctx.saved_tensors
        inside = scaled.abs() < ctx.levels
        of_step = torch.where(inside, rounded - scaled, rounded)
        return grad_output * inside, (grad_output * of_step).sum(), None


def quantize(x, step, levels):
    return OnTheGrid.apply(x, step, levels)


# %% alternative="quantize"
def quantize(x, step, levels):
    limit = levels * step
    clipped = torch.where(x.abs() < limit, x, x.sign() * limit)
    error = (clipped / step).round().detach() - clipped / step
    value = (step * (clipped / step).round()).detach()
    # with respect to `clipped` the second term cancels; what is left is the derivative by the step
    surrogate = clipped + step * error.detach()
    return value + surrogate - surrogate.detach()


# %% alternative="quantize"
def quantize(x, step, levels):
    scaled = torch.min(torch.max(x / step, -torch.full_like(x, levels)), torch.full_like(x, levels))
    return ((scaled.round() - scaled).detach() + scaled) * step


# %% check="quantize"
from autograder import check

check("quantize")
# %% tags=["fact"]
x = torch.tensor([0.4, 1.5, -2.5], requires_grad=True)
torch.fake_quantize_per_tensor_affine(x, 1.0, 0, -1, 1).sum().backward()
assert x.grad.tolist() == [1, 0, 0]
for number, passed in ((1.9, 1), (2.1, 1), (2.4, 1), (2.6, 0)):
    x = torch.tensor([number, -number], requires_grad=True)
    torch.fake_quantize_per_tensor_affine(x, 1.0, 0, -2, 2).sum().backward()
    assert x.grad.tolist() == [passed, passed]
x = torch.tensor([1.9, 2.1, 2.4, 2.6], dtype=torch.float64, requires_grad=True)
quantize(x, torch.tensor(1.0, dtype=torch.float64), 2).sum().backward()
assert x.grad.tolist() == [1, 0, 0, 0]


# %% [markdown] tags=["en"]
# torch has something like it built in, `torch.fake_quantize_per_tensor_affine`, with a fixed step. Its values are the same, but its gradient passes half a step further: it is 1 for whatever is rounded to a value of the grid, even beyond the last one.
# %% [markdown] tags=["ru"] of="9cca595b"
# В torch есть похожая готовая функция с постоянным шагом, `torch.fake_quantize_per_tensor_affine`. Значения у неё такие же, а градиент проходит на полшага дальше: он равен 1 для всего, что округляется до значения сетки, даже за последним из них.
# %% [markdown] tags=["en"]
# ## A coin in the graph
#
# Back to the switch. The bit $b$ is 1 with probability $p$, and the loss is $f(b) = (b - 0.25)^2$. What is wanted is the derivative of the *expected* loss, $p f(1) + (1 - p) f(0)$, and that is $f(1) - f(0) = 0.5$, whatever $p$ is. The straight-through estimator puts the slope of $p$ behind the bit: `bit + p - p.detach()`.
#
# A single gradient depends on the bit. Its mean need not be measured with thousands of samples: there are two outcomes, and their probabilities are known.
# %% [markdown] tags=["ru"] of="a01b41d0"
# ## Монета внутри графа
#
# Вернёмся к переключателю. Бит $b$ равен 1 с вероятностью $p$, функция потерь — $f(b) = (b - 0.25)^2$. Нужна производная *среднего* значения функции потерь, $p f(1) + (1 - p) f(0)$, и равна она $f(1) - f(0) = 0.5$ при любом $p$. Сквозная оценка подставляет вместо производной бита производную $p$: `bit + p - p.detach()`.
#
# Отдельный градиент зависит от того, какое значение бита выпало. Чтобы узнать среднее, не нужны тысячи испытаний: исходов всего два, и их вероятности известны.
# %%
def loss_of(b):
    return (b - 0.25) ** 2


def straight_through(p, bit):
    return loss_of(bit + p - p.detach())


def mean_gradient(surrogate, p):
    """The mean of the gradient with respect to `p` over both outcomes of the bit."""
    p = torch.tensor(p, dtype=torch.float64, requires_grad=True)
    off, on = (torch.autograd.grad(surrogate(p, bit), p)[0] for bit in (0.0, 1.0))
    return ((1 - p) * off + p * on).item()


for p in (0.9, 0.5, 0.25, 0.1):
    found, true = mean_gradient(straight_through, p), loss_of(1) - loss_of(0)
    print(f"p = {p:<4}  straight-through {found:5.2f}   true {true:.2f}")
# %% tags=["fact"]
assert [round(mean_gradient(straight_through, p), 9) for p in (0.9, 0.5, 0.25, 0.1)] == [1.3, 0.5, 0, -0.3]
assert loss_of(1) - loss_of(0) == 0.5
p = 0.5
for _ in range(200):
    p -= 0.1 * mean_gradient(straight_through, p)
assert round(p, 6) == 0.25 and abs(p * loss_of(1) + (1 - p) * loss_of(0) - 3 * loss_of(0)) < 1e-6
for c in (-1.0, 0.3, 5.0):
    assert round(mean_gradient(lambda p, bit: (bit + p - p.detach() - c) ** 2, 0.5), 9) == round(1 - 2 * c, 9)


# %% [markdown] tags=["en", "try"]
# At which of the four $p$ is the mean right? And where does training with this estimator stop? Say it from the table.
#
# There is the riddle's answer. At $p = 0.5$ the estimator is right to the last digit. At 0.25 its mean is 0, and there training stops; below, it even pushes the wrong way. This is *bias*: an error of the mean, which no number of samples takes away.
# %% [markdown] tags=["ru", "try"] of="f7858f51"
# При каком из четырёх $p$ среднее верно? И где остановится обучение с этой оценкой? Ответьте по таблице.
#
# Вот и разгадка. При $p = 0.5$ оценка верна до последней цифры. При 0.25 её среднее равно 0, и обучение останавливается, а при меньших значениях градиент даже направлен не в ту сторону. Это *смещение* (bias): ошибка самого среднего, от которой не избавит никакое число испытаний.
# %% [markdown] tags=["en"]
# As in lesson 03, a test needs a truth of its own: the exact sum, and at several points. For $n$ bits it has $2^n$ terms.
#
# ### `moments`
#
# **Return mean and variance of a gradient estimate exactly, over all outcomes of the bits, without one random number.**
#
# Write `moments(surrogate, logits)`. The bits are independent, and each is 1 with the probability `sigmoid` of its logit.
#
# * **Given.** `logits`, a float64 tensor of any shape with at most four entries, also without dimensions. It requires grad, and its `.grad` may hold an old gradient.
# * **Given.** `surrogate(logits, bits)` returns a tensor with one number, whose gradient with respect to `logits` is the estimate $g$ for this outcome. `bits` are float64 zeros and ones, in the shape of `logits`. For every outcome this number has a path to all logits.
# * **Result.** A pair of tensors in the shape of `logits`. The first is the mean of $g$ over all outcomes. <!-- mean -->
# * **Result.** The second is the variance of each entry of $g$, the mean of the squared distance from its mean. <!-- variance -->
# * **Leave.** `logits`, its flag and its `.grad`; and the results have no graph. <!-- rest -->
# * **Not allowed.** More than one call of `surrogate` for an outcome. <!-- calls -->
# %% [markdown] tags=["ru"] of="65b9803b"
# Как и в уроке 03, проверке нужен независимый эталон: точная сумма, причём в нескольких точках. Для $n$ битов в ней $2^n$ слагаемых.
#
# ### `moments`
#
# **Верните точные среднее и дисперсию оценки градиента по всем исходам битов, без единого случайного числа.**
#
# Напишите функцию `moments(surrogate, logits)`. Биты независимы, и каждый равен 1 с вероятностью, которую даёт `sigmoid` от его логита.
#
# * **Дано.** `logits` — тензор float64 любой формы (возможно, без измерений), в нём не больше четырёх элементов. Он требует градиента, и в его `.grad` может лежать прежний градиент.
# * **Дано.** `surrogate(logits, bits)` возвращает тензор из одного числа, градиент которого по `logits` и есть оценка $g$ для этого исхода. `bits` — нули и единицы float64, форма у них та же, что у `logits`. При каждом исходе от этого числа есть путь ко всем логитам.
# * **Результат.** Пара тензоров той же формы, что и `logits`. Первый — среднее $g$ по всем исходам. <!-- mean -->
# * **Результат.** Второй — дисперсия каждого элемента $g$, то есть средний квадрат его отклонения от среднего. <!-- variance -->
# * **Не менять.** `logits`, его флаг и его `.grad`; графа у результатов нет. <!-- rest -->
# * **Нельзя.** Вызывать `surrogate` для одного исхода больше одного раза. <!-- calls -->
# %% answer="moments"
def moments(surrogate, logits):
    """Mean and variance of the gradient of `surrogate(logits, bits)` over all outcomes of the bits."""
    ### BEGIN SOLUTION
    p = logits.detach().sigmoid()
    mean, square = torch.zeros_like(p), torch.zeros_like(p)
    for outcome in product((0.0, 1.0), repeat=logits.numel()):
        bits = torch.tensor(outcome, dtype=logits.dtype).reshape(logits.shape)
        weight = torch.where(bits == 1, p, 1 - p).prod()
        (g,) = torch.autograd.grad(surrogate(logits, bits), logits)
        mean += weight * g
        square += weight * g**2
    return mean, square - mean**2
    ### END SOLUTION


# %% alternative="moments"
def moments(surrogate, logits):
    count = logits.numel()
    outcomes = [[float(number >> place & 1) for place in range(count)] for number in range(2**count)]
    weights, gradients = [], []
    with torch.no_grad():
        on = torch.sigmoid(logits).flatten().tolist()
    for outcome in outcomes:
        weight = 1.0
        for bit, p in zip(outcome, on):
            weight *= p if bit else 1 - p
        weights.append(weight)
        bits = logits.new_tensor(outcome).view(logits.shape)
        gradients.append(torch.autograd.grad(surrogate(logits, bits), [logits])[0])
    mean = sum(w * g for w, g in zip(weights, gradients))
    return mean, sum(w * (g - mean) ** 2 for w, g in zip(weights, gradients))


# %% alternative="moments"
def moments(surrogate, logits):
    values = torch.tensor([0.0, 1.0], dtype=torch.float64)
    grid = torch.cartesian_prod(*[values] * logits.numel()).reshape(2 ** logits.numel(), *logits.shape)
    signs = 2 * grid - 1
    weights = (
        (signs * logits.detach()).sigmoid().flatten(1).prod(1) if logits.dim() else (signs * logits.detach()).sigmoid()
    )
    found = torch.stack([torch.autograd.grad(surrogate(logits, bits), logits)[0] for bits in grid])
    mean = torch.tensordot(weights, found, dims=1)
    return mean, torch.tensordot(weights, (found - mean) ** 2, dims=1)


# %% alternative="moments"
def moments(surrogate, logits):
    probability = torch.distributions.Bernoulli(logits=logits.detach())

    def outcomes(count):
        if not count:
            return [()]
        return [(bit, *rest) for bit in (0.0, 1.0) for rest in outcomes(count - 1)]

    first, second = 0, 0
    for outcome in outcomes(logits.numel()):
        bits = torch.tensor(outcome, dtype=torch.float64).reshape_as(logits)
        copied = logits.detach().clone().requires_grad_()
        surrogate(copied, bits).backward()
        weight = probability.log_prob(bits).sum().exp()
        first, second = first + weight * copied.grad, second + weight * copied.grad.square()
    return first, second - first.square()


# %% check="moments"
from autograder import check

check("moments")


# %% [markdown] tags=["en"]
# ## What to keep
#
# * `round`, `sign` and a random bit have the gradient 0, and that is said to nobody. A comparison and `argmax` end the graph. Only few operations raise an error.
# * `x + (g(x) - x).detach()` has the value of $g$ and the gradient of the identity. Detach the wrong term, and training goes uphill.
# * A straight-through gradient is 0 outside the range. Whatever is not detached, such as the step of the grid, gets a gradient of its own.
# * Straight-through and Gumbel estimates are biased. For a straight-through bit and a quadratic loss a test at $p = 1/2$ does not see that: test at several points, by adding up all outcomes.
#
# From the extra sections:
#
# * The score function, `log_prob * loss.detach()`, is unbiased and noisy. Subtract what does not depend on the sample itself, such as the mean of the *other* losses.
# * `gumbel_softmax` takes logits. A cold one has less bias and more noise.
# * A target is a constant because you make it one. `clone()`, a copy of the network and `state_dict()` do not.
# * A wrong `detach` changes no loss. Test gradients: who has one, who has None.
# * Write averages of weights in place, under `no_grad`; `slow = ...` only gives a name.
# %% [markdown] tags=["ru"] of="74dea819"
# ## Что стоит запомнить
#
# * У `round`, `sign` и случайного бита градиент равен 0, и сообщений об этом нет. На сравнении и на `argmax` граф кончается. Ошибку вызывают лишь немногие операции.
# * У `x + (g(x) - x).detach()` значение как у $g$, а градиент как у тождественной функции. Если отсоединить не то слагаемое, потери при обучении будут расти.
# * Вне диапазона сквозной градиент равен 0. Всё, что не отсоединено, например шаг сетки, получает собственный градиент.
# * Сквозная оценка и оценка Гумбеля смещены. Если бит всего один, а функция потерь квадратичная, проверка сквозной оценки при $p = 1/2$ этого не видит: проверяйте в нескольких точках и складывайте по всем исходам.
#
# Из дополнительных разделов:
#
# * Оценка score function, `log_prob * loss.detach()`, не смещена, но шумит. Вычитайте то, что не зависит от самого примера, например среднее *остальных* потерь.
# * Функция `gumbel_softmax` принимает логиты. Чем ниже температура, тем меньше смещение и тем больше шум.
# * Цель становится константой, только если вы её такой сделали. Ни `clone()`, ни копия сети, ни `state_dict()` этого не делают.
# * Неверный `detach` на значение функции потерь не влияет. Проверяйте градиенты: у кого они есть, а у кого None.
# * Среднее весов записывайте на месте, внутри `no_grad`; строка `slow = ...` лишь даёт имя новому тензору.
# %% [markdown] tags=["en"]
# ## A test that sees no bias
#
# Why is the straight-through estimator right at $p = 1/2$? The true derivative is the slope of the line through both ends of $f$. The estimator takes the slopes *at* the ends, weighted by $1 - p$ and $p$. For a parabola the average of the two is the slope of the line exactly. So every quadratic loss passes a test at $p = 1/2$. That is a property of the test, not of the estimator.
#
# So a test at $p = 1/2$ is blind to parabolas. Is there a point that is safe? Look for the answer yourself: given a $p$, find a loss for which a test at this $p$ is blind.
#
# ### `hide_bias`
#
# **Find a loss for which the straight-through gradient is right at `p` and has the wrong sign elsewhere.**
#
# * **Given.** `p`, a number between 0.15 and 0.9, not 0.5. The true derivative by `p` is `loss(1) - loss(0)`; the mean of the straight-through gradient is `p * slope(1) + (1 - p) * slope(0)`, where `slope` is the derivative of the loss.
# * **Result.** A function `loss` of a float64 tensor without dimensions, which returns one number as a tensor. At 0 and at 1, value and derivative are finite and the same at each call. <!-- usable -->
# * **Result.** What autograd gives at 0 and at 1 is the derivative of the loss, at least towards the inside of the interval. <!-- differentiated -->
# * **Result.** `loss(1)` and `loss(0)` differ by at least a thousandth of the largest in magnitude of four numbers: these two values and the two slopes. <!-- matters -->
# * **Result.** At `p` the two derivatives agree, to six digits. <!-- hides -->
# * **Result.** At one of the probabilities 0.05, 0.10, ..., 0.95 they have opposite signs. <!-- misleads -->
# %% [markdown] tags=["ru"] of="2c6de79e"
# ## Проверка, которая не видит смещения
#
# Почему при $p = 1/2$ сквозная оценка верна? Настоящая производная — это наклон прямой, проведённой через две точки графика $f$: при 0 и при 1. Оценка же берёт наклоны графика *в* этих точках с весами $1 - p$ и $p$. У параболы среднее арифметическое этих наклонов в точности равно наклону прямой. Поэтому проверку при $p = 1/2$ проходит любая квадратичная функция потерь. Это свойство проверки, а не оценки.
#
# Итак, проверка при $p = 1/2$ не замечает смещения у парабол. А есть ли вероятность, при которой проверять безопасно? Попробуйте ответить сами: для данного $p$ найдите функцию потерь, у которой проверка при этом $p$ смещения не видит.
#
# ### `hide_bias`
#
# **Найдите функцию потерь, для которой сквозная оценка градиента верна при `p`, а при другой вероятности имеет неверный знак.**
#
# * **Дано.** `p` — число от 0.15 до 0.9, не равное 0.5. Настоящая производная по `p` — это `loss(1) - loss(0)`. Среднее сквозной оценки — `p * slope(1) + (1 - p) * slope(0)`, где `slope` — производная функции потерь.
# * **Результат.** Функция `loss` от тензора float64 без измерений; она возвращает одно число в виде тензора. При 0 и при 1 её значение и производная конечны и при каждом вызове одни и те же. <!-- usable -->
# * **Результат.** При 0 и при 1 autograd даёт настоящую производную этой функции, по крайней мере одностороннюю, изнутри отрезка. <!-- differentiated -->
# * **Результат.** Значения `loss(1)` и `loss(0)` различаются не меньше чем на тысячную долю наибольшего по модулю из четырёх чисел: этих двух значений и двух наклонов. <!-- matters -->
# * **Результат.** При `p` обе производные совпадают с точностью до шести знаков. <!-- hides -->
# * **Результат.** Хотя бы при одной из вероятностей 0.05, 0.10, ..., 0.95 у них разные знаки. <!-- misleads -->
# %% answer="hide_bias"
def hide_bias(p):
    """A loss whose straight-through gradient is right at `p` and misleads elsewhere."""
    ### BEGIN SOLUTION
    return lambda b: b ** (1 / p) - 0.5 * b
    ### END SOLUTION


# %% alternative="hide_bias"
def hide_bias(p):
    # slopes s and 0 at the ends, and a rise of p * s: a cubic has room for all that
    s = 1.0 / p

    def loss(b):
        rise = 3 * b**2 - 2 * b**3  # from 0 to 1 with flat ends
        bump = b**3 - b**2  # 0 at both ends, slope 1 at 1
        return 1.0 * rise + s * bump - 0.9 * b

    return loss


# %% alternative="hide_bias"
def hide_bias(p):
    # two lines, one through (0, 0), the other through (1, 1), whose slopes are chosen freely
    return lambda b: torch.where(b > 0.5, 1 + (41 - 40 * p) * (b - 1), (1 - 40 * p) * b)


# %% alternative="hide_bias"
def hide_bias(p):
    return lambda b: 6 * (b.pow(1 / p) - 0.6 * b)


# %% check="hide_bias"
from autograder import check

check("hide_bias")


# %% [markdown] tags=["en"]
# ## The gradient of a probability
#
# Is there an estimator without bias? Write out what is to be differentiated, and move the derivative into the sum, as lesson 03 did with a sum of losses:
#
# $$\nabla \sum_b P(b)\, f(b) = \sum_b \nabla P(b)\, f(b) = \sum_b P(b)\, f(b)\, \nabla \log P(b).$$
#
# The sum on the right is a mean again, so a single sample estimates it: draw $b$, and multiply $\nabla \log P(b)$ by the number $f(b)$. This is the *score-function* estimator, in reinforcement learning REINFORCE. It asks for no derivative of $f$; $f$ may be a game or a compiler. As a loss for autograd it reads `log_prob * f(b).detach()`: what autograd is to differentiate is the probability, never the sample.
#
# Its price is noise. `study` below has mean and standard deviation over both outcomes of one bit, at the logit 1 ($p \approx 0.73$) and with $f(b) = (b - 0.49)^2$.
# %% [markdown] tags=["ru"] of="d79eb31f"
# ## Градиент вероятности
#
# Есть ли оценка без смещения? Выпишем то, что нужно продифференцировать, и внесём производную под знак суммы, как в уроке 03 с суммой потерь:
#
# $$\nabla \sum_b P(b)\, f(b) = \sum_b \nabla P(b)\, f(b) = \sum_b P(b)\, f(b)\, \nabla \log P(b).$$
#
# Сумма справа — снова среднее, поэтому для оценки хватает одного испытания: возьмите случайный $b$ и умножьте $\nabla \log P(b)$ на число $f(b)$. Такая оценка называется *score function*, а в обучении с подкреплением — REINFORCE. Производная $f$ ей не нужна: вместо $f$ может стоять хоть игра, хоть компилятор. Для autograd это функция потерь `log_prob * f(b).detach()`: дифференцировать нужно вероятность и ни в коем случае не сам выбранный пример.
#
# Расплачиваться приходится шумом. Функция `study` ниже вычисляет среднее и стандартное отклонение оценки по обоим исходам одного бита при логите 1 ($p \approx 0.73$) и $f(b) = (b - 0.49)^2$.
# %%
def study(surrogate, at=1.0):
    """Mean and standard deviation of a gradient over both outcomes of one bit."""
    logit = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    off, on = (torch.autograd.grad(surrogate(logit, bit), logit)[0].item() for bit in (0.0, 1.0))
    p = logit.sigmoid().item()
    mean = (1 - p) * off + p * on
    return mean, ((1 - p) * (off - mean) ** 2 + p * (on - mean) ** 2) ** 0.5


def f(b):
    return (b - 0.49) ** 2


def log_prob(logit, bit):
    return (logit if bit else -logit).sigmoid().log()


baseline = 0.255  # near the mean of f
surrogates = {
    "straight-through": lambda logit, bit: f(bit + logit.sigmoid() - logit.sigmoid().detach()),
    "score function": lambda logit, bit: log_prob(logit, bit) * f(bit),
    "score function, baseline": lambda logit, bit: log_prob(logit, bit) * (f(bit) - baseline),
}
# %%
p = torch.tensor(1.0).sigmoid().item()
print(f"{'true derivative':<26}{p * (1 - p) * (f(1) - f(0)):.4f}")
for name, surrogate in surrogates.items():
    mean, deviation = study(surrogate)
    print(f"{name:<26}{mean:.4f} ± {deviation:.4f}")
# %% tags=["fact"]
true = p * (1 - p) * (f(1) - f(0))
found = {name: study(surrogate) for name, surrogate in surrogates.items()}
assert round(found["straight-through"][0] / true) == 24
for name in ("score function", "score function, baseline"):
    assert abs(found[name][0] - true) < 1e-6
assert found["score function"][1] > 20 * found["score function, baseline"][1]
assert round(found["score function"][1] / true) == 28
logit, with_own = torch.ones((), dtype=torch.float64, requires_grad=True), 0.0
for bits in product((0.0, 1.0), repeat=3):
    log_probs, losses = torch.stack([log_prob(logit, bit) for bit in bits]), f(torch.tensor(bits, dtype=torch.float64))
    (gradient,) = torch.autograd.grad((log_probs * (losses - losses.mean())).mean(), logit)
    with_own += log_probs.sum().exp().item() * gradient.item()
assert abs(with_own - 2 / 3 * true) < 1e-9
mean = torch.tensor(0.0, requires_grad=True)
normal = torch.distributions.Normal(mean, 1.0)
z = normal.rsample()
assert torch.autograd.grad(normal.log_prob(z), mean, retain_graph=True)[0].item() == 0
assert abs(torch.autograd.grad(normal.log_prob(z.detach()), mean, retain_graph=True)[0] - (z - mean)) < 1e-6


# %% [markdown] tags=["en", "try"]
# Which of the three has the largest bias, which the most noise? And why may the last one subtract a number from $f$, and the mean stays? Say it.
#
# The mean of the straight-through gradient is 24 times too large, and its bias is no small thing. The score function is right in the mean; but its noise is 28 times its mean. The last line subtracts a number, a *baseline*, from $f$. The mean is as before, and most of the noise is gone. Why may anything be subtracted at all? Because $\sum P\, \nabla \log P = \nabla \sum P = \nabla 1 = 0$: what multiplies $\nabla \log P$ without depending on the sample adds nothing in the mean.
# %% [markdown] tags=["ru", "try"] of="4a6c5460"
# У какой из трёх оценок наибольшее смещение, а у какой больше всего шума? И почему в последней можно вычесть из $f$ число, а среднее не изменится? Ответьте.
#
# Среднее сквозной оценки в 24 раза больше, чем нужно: смещение здесь совсем не мало. Оценка score function в среднем верна, но шум в ней в 28 раз больше самого среднего. В последней строке из $f$ вычитают число, *базовый уровень* (baseline). Среднее осталось прежним, а почти весь шум исчез. Почему вообще можно что-то вычитать? Потому что $\sum P\, \nabla \log P = \nabla \sum P = \nabla 1 = 0$: если множитель при $\nabla \log P$ не зависит от самого примера, в среднем он ничего не добавляет.
# %% [markdown] tags=["en"]
# Where does a good baseline come from? From the other samples of the batch: in term $i$ subtract the mean loss of all samples *but* $i$. And if the losses themselves depend on parameters, their own gradient belongs to it, too: $\nabla\, \mathrm{E} f = \mathrm{E}\,[\,\nabla f + f\, \nabla \log P\,]$.
#
# ### `score_loss`
#
# **Return a loss whose gradient is that of the expected loss, with a tenth of the variance: compare the samples with each other.**
#
# The samples were drawn independently from the same distribution. The check runs your function on all possible outcomes and adds up exactly.
#
# * **Given.** `log_probs`, a float64 tensor of shape $(n,)$, $n \ge 2$: the logarithms of the probabilities of the $n$ samples, with a graph. `losses`, of the same shape: their losses. They may have a graph of their own, or none. They are near each other and far from 0, positive or negative.
# * **Result.** A tensor with one number. Its gradient with respect to the parameters behind `log_probs` is, in the mean over all outcomes, that of the expected loss. <!-- mean -->
# * **Result.** So is its gradient with respect to the parameters behind `losses`. The value itself does not matter. <!-- through_losses -->
# * **Result.** The variance of the first gradient, summed over its entries, is at most a tenth of that of `(log_probs * losses.detach()).mean()`. <!-- noise -->
# %% [markdown] tags=["ru"] of="51620275"
# Откуда взять хороший базовый уровень? Из остальных примеров батча: в слагаемом $i$ вычитают среднее потерь по всем примерам, *кроме* $i$. А если сами потери зависят от параметров, к этому добавляется и их собственный градиент: $\nabla\, \mathrm{E} f = \mathrm{E}\,[\,\nabla f + f\, \nabla \log P\,]$.
#
# ### `score_loss`
#
# **Верните функцию потерь, градиент которой в среднем равен градиенту ожидаемых потерь, а дисперсия вдесятеро меньше: сравнивайте примеры между собой.**
#
# Примеры получены независимо из одного и того же распределения. При проверке ваша функция вычисляется для всех возможных исходов, и суммы вычисляются точно.
#
# * **Дано.** `log_probs` — тензор float64 формы $(n,)$, где $n \ge 2$: логарифмы вероятностей $n$ примеров, с графом. `losses` — тензор той же формы: потери на этих примерах. У них может быть свой граф, а может и не быть. Они близки друг к другу и далеки от нуля, положительны или отрицательны.
# * **Результат.** Тензор из одного числа. Его градиент по параметрам, от которых зависят `log_probs`, в среднем по всем исходам равен градиенту среднего значения функции потерь. <!-- mean -->
# * **Результат.** То же верно для градиента по параметрам, от которых зависят `losses`. Само значение неважно. <!-- through_losses -->
# * **Результат.** Дисперсия первого градиента, сложенная по всем его элементам, не больше десятой части той, что получается у `(log_probs * losses.detach()).mean()`. <!-- noise -->
# %% answer="score_loss"
def score_loss(log_probs, losses):
    """A loss whose gradient estimates that of the expected loss, without bias and with little noise."""
    ### BEGIN SOLUTION
    others = (losses.sum() - losses) / (len(losses) - 1)
    advantage = (losses - others).detach()
    return (log_probs * advantage + losses).mean()
    ### END SOLUTION


# %% alternative="score_loss"
def score_loss(log_probs, losses):
    n = len(losses)
    advantage = losses.detach() - losses.detach().mean()
    return losses.mean() + (log_probs * advantage).sum() / (n - 1)


# %% alternative="score_loss"
def score_loss(log_probs, losses):
    ratio = (log_probs - log_probs.detach()).exp()  # always 1, with the gradient of log_probs
    total = 0.0
    for i in range(len(losses)):
        rest = torch.cat([losses[:i], losses[i + 1 :]]).detach().mean()
        total = total + ratio[i] * (losses[i].detach() - rest) + losses[i]
    return total / len(losses)


# %% alternative="score_loss"
def score_loss(log_probs, losses):
    n = len(losses)
    fixed = losses.data
    pairs = (fixed[:, None] - fixed[None, :]) * log_probs[:, None]
    return pairs.sum() / (n * (n - 1)) + losses.mean()


# %% check="score_loss"
from autograder import check

check("score_loss")


# %% [markdown] tags=["en"]
# The mean of *all* losses as a baseline holds the sample's own loss as well, and shortens the gradient to $(n - 1)/n$ of what it should be. Some methods for training language models do that and divide by the standard deviation, too (GRPO); others leave the own sample out (RLOO).
# %% [markdown] tags=["ru"] of="ebf9a0f5"
# Если взять базовым уровнем среднее *всех* потерь, в него войдут и потери самого примера, и градиент укоротится: от него останется $(n - 1)/n$. В некоторых методах обучения языковых моделей так и поступают, да ещё делят на стандартное отклонение (GRPO). В других сам пример исключают (RLOO).
# %% [markdown] tags=["en"]
# ## A soft choice
#
# Between the two estimators lies a third. Add to each logit independent noise $-\log(-\log u)$, with $u$ uniform between 0 and 1: the largest of the noisy logits is at place $k$ with exactly the probability that `softmax` gives. That is the *Gumbel trick*. What is random is $u$, and it depends on no parameter, so from the logits on everything is an ordinary function with an `argmax` at its end. Put `softmax(noisy / temperature)` behind it in the backward pass, and there is a straight-through estimator once more: `gumbel_softmax(logits, tau, hard=True)`.
#
# For a normal distribution `rsample()` does the same: the sample has a path to the parameters (the reparameterization trick). Do not mix the two ways. In `log_prob(z)` with `z = normal.rsample()` both paths cancel, and the derivative with respect to the parameter `mean` is exactly 0: the score function needs `sample()`, or `z.detach()`.
#
# `gumbel_softmax` takes *logits*. Give it probabilities, and it draws from something else:
# %% [markdown] tags=["ru"] of="f9f65dfe"
# ## Мягкий выбор
#
# Между этими двумя оценками есть и третья. Прибавьте к каждому логиту независимый шум $-\log(-\log u)$, где $u$ — равномерно распределённое число от 0 до 1: наибольшим станет логит номер $k$ ровно с той вероятностью, которую даёт `softmax`. Это *приём Гумбеля* (Gumbel trick). Случайно здесь только $u$, а оно от параметров не зависит. Значит, всё, что происходит с логитами дальше, — обычная функция, в конце которой стоит `argmax`. Если в обратном проходе поставить на его место `softmax(noisy / temperature)`, снова получится сквозная оценка: `gumbel_softmax(logits, tau, hard=True)`.
#
# Для нормального распределения так же устроен `rsample()`: от выборки есть путь к параметрам (репараметризация). Не смешивайте эти два способа. Если подставить в `log_prob(z)` выборку `z = normal.rsample()`, вклады двух путей взаимно уничтожатся, и производная по параметру `mean` окажется в точности равна 0: для score function нужен `sample()` или `z.detach()`.
#
# Функция `gumbel_softmax` принимает *логиты*. Если дать ей вероятности, она будет выбирать из другого распределения:
# %%
probabilities = torch.tensor([0.7, 0.3]).expand(100_000, 2)
for name, logits in {"probabilities": probabilities, "logarithms": probabilities.log()}.items():
    torch.manual_seed(0)
    share = gumbel_softmax(logits, hard=True).mean(0)[0].item()
    print(f"{name:<14}the first is drawn in {share:.0%} of the cases")
# %% tags=["fact"]
for logits, expected in ((probabilities, 0.6), (probabilities.log(), 0.7)):
    torch.manual_seed(0)
    assert abs(gumbel_softmax(logits, hard=True).mean(0)[0].item() - expected) < 0.01


# %% [markdown] tags=["en"]
# What does the temperature do? For two choices only the difference of the noises counts, `u.logit()`. The cell below takes 100,000 equally spaced $u$ in place of random ones, so again nothing is left to chance. The loss is $f$ from above, the true derivative 0.0039.
# %% [markdown] tags=["ru"] of="64a79294"
# На что влияет температура? Когда вариантов два, важна только разность шумов, `u.logit()`. В ячейке ниже вместо случайных $u$ взяты 100 000 значений через равные промежутки, и от случая опять ничего не зависит. Функция потерь — прежняя $f$, настоящая производная — 0.0039.
# %%
noise = ((torch.arange(100_000, dtype=torch.float64) + 0.5) / 100_000).logit()


def hard_gumbel(temperature):
    """Mean and standard deviation of the gradient of a hard Gumbel bit at the logit 1."""
    logit = torch.ones_like(noise).requires_grad_()
    soft = ((logit + noise) / temperature).sigmoid()
    bit = straight_round(soft)
    (gradient,) = torch.autograd.grad(f(bit).sum(), logit)
    return gradient.mean().item(), gradient.std().item()


for temperature in (1.0, 0.1, 0.01):
    mean, deviation = hard_gumbel(temperature)
    print(f"temperature {temperature:<5} {mean:.4f} ± {deviation:.4f}")
# %% tags=["fact"]
table = [hard_gumbel(temperature) for temperature in (1.0, 0.1, 0.01)]
assert [round(mean / true) for mean, _ in table[:1]] == [14] and table[0][0] > table[1][0] > table[2][0]
assert table[0][1] < table[1][1] < table[2][1] and abs(table[2][0] - true) < 0.002
warm = torch.tensor([1.0, 0.0], dtype=torch.float64, requires_grad=True)
(rows,) = torch.autograd.grad((warm / 0.001).softmax(0)[0], warm)
assert rows.abs().max() == 0


# %% [markdown] tags=["en", "try"]
# What happens to bias and to noise as the temperature falls? And what will come of 0.001? Say it, then try `hard_gumbel(0.001)`.
#
# The colder, the smaller the bias, and the larger the noise. One is paid for with the other, and there is an end to it: at a temperature of 0.001 the softmax of two logits that differ by 1 has a gradient of exactly 0.
# %% [markdown] tags=["ru", "try"] of="3613a552"
# Что происходит со смещением и с шумом, когда температура падает? А что будет при 0.001? Сначала ответьте, потом вызовите `hard_gumbel(0.001)`.
#
# Чем ниже температура, тем меньше смещение и тем больше шум. За одно приходится платить другим, и понижать температуру можно лишь до известного предела: при температуре 0.001 градиент softmax от двух логитов, которые различаются на 1, в точности равен 0.
# %% [markdown] tags=["en"]
# ### `fix_gumbel`
#
# **The function is to return a one-hot choice with the gradient of the softmax. With it the loss goes up: mend it.**
#
# * **Given.** `logits`, a float64 tensor with the choices along its last dimension, which requires grad. `temperature`, a positive number. `noise`, of the same shape: the $u$, between 0 and 1.
# * **Result.** A tensor of the same shape with a 1 at the largest noisy logit and zeros elsewhere. <!-- values -->
# * **Result.** Its gradient is that of `softmax(noisy / temperature)` along the last dimension, also if the function is called again before the backward pass. <!-- gradient, apart -->
# %% [markdown] tags=["ru"] of="c34e38e7"
# ### `fix_gumbel`
#
# **Функция должна вернуть выбор в виде one-hot с градиентом softmax. С ней потери растут: исправьте её.**
#
# * **Дано.** `logits` — тензор float64, в котором варианты лежат вдоль последнего измерения; он требует градиента. `temperature` — положительное число. `noise` — тензор той же формы: числа $u$ между 0 и 1.
# * **Результат.** Тензор той же формы: 1 на месте наибольшего логита с шумом, на остальных местах нули. <!-- values -->
# * **Результат.** Градиент такой же, как у `softmax(noisy / temperature)` по последнему измерению, даже если до обратного прохода функция вызвана ещё раз. <!-- gradient, apart -->
# %% answer="fix_gumbel"
def fix_gumbel(logits, temperature, noise):
    """A one-hot choice, drawn with `noise`, with the gradient of the softmax."""
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + soft - soft.detach()


# %% given="fix_gumbel"
def fix_gumbel(logits, temperature, noise):
    """A one-hot choice, drawn with `noise`, with the gradient of the softmax."""
    noisy = logits - torch.log(-torch.log(noise))
    soft = (noisy / temperature).softmax(-1)
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard - soft + soft.detach()


# %% alternative="fix_gumbel"
def fix_gumbel(logits, temperature, noise):
    noisy = logits - (-noise.log()).log()
    soft = torch.softmax(noisy / temperature, dim=-1)
    hard = (noisy == noisy.amax(-1, keepdim=True)).double()
    return (hard - soft).detach() + soft


# %% alternative="fix_gumbel"
class Choose(torch.autograd.Function):
    @staticmethod
    def forward(ctx, soft):
        return torch.zeros_like(soft).scatter_(-1, soft.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def fix_gumbel(logits, temperature, noise):
    return Choose.apply(((logits - torch.log(-torch.log(noise))) / temperature).softmax(-1))


# %% alternative="fix_gumbel"
def fix_gumbel(logits, temperature, noise):
    noisy = logits.double() - torch.log(-torch.log(noise))
    log_soft = (noisy / temperature).log_softmax(-1)
    soft = log_soft.exp()
    place = noisy.argmax(-1, keepdim=True)
    value = torch.zeros_like(soft).scatter(-1, place, 1.0)
    return value + (soft - soft.clone().detach())


# %% check="fix_gumbel"
from autograder import check

check("fix_gumbel")


# %% [markdown] tags=["en"]
# ## Gradients that are stopped on purpose
#
# So far a gradient was put where there was none. Now the other way round. Learning by *temporal differences* sets a goal for the value of a state, $r + 0.9\, v(s')$: the reward, and the discounted value of the next state. The goal is computed by the same weights. Which of the two is to move, the value towards the goal or the goal towards the value?
#
# For autograd there is no difference. In a small example, for simplicity without discounting, A is followed by B or by C, each with probability 1/2. B pays 1 and C pays 0; then the episode is over. So B is worth 1, C is worth 0, and A one half. The loss sums the squared differences of all transitions; it is minimized until it no longer falls. Its last value is printed behind the values.
# %% [markdown] tags=["ru"] of="41270ea5"
# ## Градиенты, которые остановлены намеренно
#
# До сих пор мы ставили градиент туда, где его не было. Теперь уберём его оттуда, где он есть. В обучении по *временным разностям* (temporal differences, TD) цель для ценности состояния — это $r + 0.9\, v(s')$: награда плюс ценность следующего состояния с коэффициентом дисконтирования. Цель вычисляют с теми же весами. Что же должно сдвинуться: ценность к цели или цель к ценности?
#
# Для autograd разницы нет. Небольшой пример, для простоты без дисконтирования: из состояния A с равной вероятностью попадают в B или в C. В B награда 1, в C — 0, после этого эпизод окончен. Значит, ценность B равна 1, ценность C — 0, а ценность A — одна вторая. Функция потерь — сумма квадратов разностей по всем переходам. Её минимизируют, пока она не перестанет уменьшаться. Рядом с ценностями напечатано её последнее значение.
# %%
def values_after_training(stop):
    """The values of A, B and C, with goals that are stopped or not."""
    v = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([v], lr=0.1)
    for _ in range(500):
        a, b, c = v
        goals = (b.detach(), c.detach()) if stop else (b, c)
        loss = sum((goal - a) ** 2 for goal in goals) + (1 - b) ** 2 + (0 - c) ** 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [round(value, 3) + 0.0 for value in v.tolist()], round(loss.item(), 3)


print("goals are constants:", *values_after_training(stop=True))
print("goals are trained:  ", *values_after_training(stop=False))
# %% tags=["fact"]
assert values_after_training(stop=True) == ([0.5, 1.0, 0.0], 0.5)
assert values_after_training(stop=False) == ([0.5, 0.75, 0.25], 0.25)


# %% [markdown] tags=["en"]
# Without a stop, B is worth 0.75 and C 0.25: the goals have come to meet A. The loss is smaller, and the values are wrong. A gradient that stops at the goal is a *semi-gradient*; lesson 17 trains with it by hand. In code it is a matter of one `detach`, and there are many ways to miss it. Read the table; do not call it yet.
# %% [markdown] tags=["ru"] of="28524e39"
# Если цель не остановлена, ценность B равна 0.75, а C — 0.25: цели пошли навстречу A. Потери меньше, но ценности неверны. Градиент, который не идёт через цель, называют *полуградиентом* (semi-gradient): в уроке 17 вы напишете такое обучение вручную. В коде всё решает один `detach`, и ошибиться в нём можно по-разному. Прочтите таблицу, но пока не вызывайте функцию.
# %%
def gradient_of(loss, w):
    return torch.autograd.grad(loss, w, retain_graph=True)[0].item() if loss.requires_grad else "no graph"


def stop_table():
    w = torch.tensor(2.0, requires_grad=True)
    value, target = 1 * w, 1 + 0.5 * (3 * w)
    with torch.no_grad():
        unrecorded = 1 + 0.5 * (3 * w)
    losses = {
        "nothing stopped": (target - value) ** 2,
        "target.detach()": (target.detach() - value) ** 2,
        "target.clone()": (target.clone() - value) ** 2,
        "target.item()": (target.item() - value) ** 2,
        "target under no_grad": (unrecorded - value) ** 2,
        "value.detach()": (target - value.detach()) ** 2,
        "(target - value).detach()": (target - value).detach() ** 2,
    }
    return {name: gradient_of(loss, w) for name, loss in losses.items()}


# %% [markdown] tags=["en"]
# ### `predict_stops`
#
# Put what `stop_table()` returns in place of each `...`: a number or `"no graph"`. The value is $w = 2$, the target is $1 + 1.5\, w = 4$, and so each loss is 4.
# %% [markdown] tags=["ru"] of="04c6581f"
# ### `predict_stops`
#
# Вместо каждого `...` поставьте то, что вернёт `stop_table()`: число или `"no graph"`. Значение — это $w = 2$, цель — $1 + 1.5\, w = 4$, так что потери везде равны 4.
# %% answer="predict_stops"
predict_stops = {
    "nothing stopped": 2.0,
    "target.detach()": -4.0,
    "target.clone()": 2.0,
    "target.item()": -4.0,
    "target under no_grad": -4.0,
    "value.detach()": 6.0,
    "(target - value).detach()": "no graph",
}
# %% given="predict_stops"
predict_stops = {
    "nothing stopped": ...,
    "target.detach()": ...,
    "target.clone()": ...,
    "target.item()": ...,
    "target under no_grad": ...,
    "value.detach()": ...,
    "(target - value).detach()": ...,
}
# %% check="predict_stops"
from autograder import check

check("predict_stops")
# %% tags=["fact"]
assert predict_stops == stop_table()
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# Вызовем эту функцию и сравним с таблицей.
# %%
stop_table()


# %% [markdown] tags=["en"] explains="predict_stops"
# Stopped, the gradient is −4, and a step of descent makes $w$ larger: the value rises towards 4. With nothing stopped it is $+2$, with the opposite sign: the target falls faster than the value, and to close the gap $w$ becomes smaller. `clone()` is as good as nothing. `detach()`, `.item()` and a target computed under `no_grad` are the same here.
# %% [markdown] tags=["ru"] explains="predict_stops" of="629b4505"
# Если цель остановлена, градиент равен −4, и шаг спуска увеличивает $w$: значение растёт и приближается к 4. Если не остановлено ничего, получается $+2$, то есть знак противоположный: цель меняется быстрее значения, и разрыв сокращается, когда $w$ уменьшается. От `clone()` толку нет. А `detach()`, `.item()` и цель, вычисленная внутри `no_grad`, здесь равноценны.
# %% [markdown] tags=["en"]
# The picture shows both paths of the loss in the first line. `detach()` takes away the one through the target.
# %% [markdown] tags=["ru"] of="50c87105"
# На рисунке — оба пути назад от функции потерь из первой строки таблицы. Вызов `detach()` убирает тот, что идёт через цель.
# %% tags=["picture"]
w = torch.tensor(2.0, requires_grad=True)
value, target = 1 * w, 1 + 0.5 * (3 * w)
loss = (target - value) ** 2
draw(loss)


# %% [markdown] tags=["en"]
# ## Two branches, one loss
#
# In contrastive and self-supervised learning two views of an image go through the same encoder, and a *predictor* behind one branch has to guess the other (SimSiam, BYOL). If both branches are trained, there is an easy way out: a constant output of the encoder makes every pair agree. So the guessed branch is stopped. Which `detach` trains whom?
# %% [markdown] tags=["ru"] of="3979831e"
# ## Две ветви, одна функция потерь
#
# В контрастивном обучении и вообще в обучении без разметки два варианта одного изображения проходят через один и тот же кодировщик, а *предиктор* в конце одной ветви должен угадать выход другой (SimSiam, BYOL). Если обучать обе ветви, находится тривиальное решение: кодировщик с постоянным выходом, у которого совпадает любая пара. Поэтому градиент через ту ветвь, которую угадывают, останавливают. Кто обучается при том или ином `detach`?
# %%
BRANCHES = {
    "the goal": lambda z1, z2, predictor: (predictor(z1), z2.detach()),
    "nothing": lambda z1, z2, predictor: (predictor(z1), z2),
    "the predictor's input, too": lambda z1, z2, predictor: (predictor(z1.detach()), z2.detach()),
    "the guess": lambda z1, z2, predictor: (predictor(z1).detach(), z2),
}


def branch_norms(branches):
    """The loss, and the length of its gradient for the encoder and the predictor."""
    torch.manual_seed(0)
    encoder, predictor = nn.Linear(4, 3, bias=False), nn.Linear(3, 3, bias=False)
    z1, z2 = encoder(torch.randn(8, 4)), encoder(torch.randn(8, 4))
    loss = mse_loss(*branches(z1, z2, predictor))
    loss.backward()
    found = [layer.weight.grad for layer in (encoder, predictor)]
    return [f"{loss.item():.3f}"] + ["None" if each is None else f"{each.norm():.3f}" for each in found]


print(f"{'stopped':<28}loss, encoder, predictor")
for stopped, branches in BRANCHES.items():
    print(f"{stopped:<28}{', '.join(branch_norms(branches))}")
# %% tags=["fact"]
rows = {stopped: branch_norms(branches) for stopped, branches in BRANCHES.items()}
assert len({row[0] for row in rows.values()}) == 1
assert rows["the goal"][2] == rows["nothing"][2] == rows["the predictor's input, too"][2]
assert rows["the guess"][2] == "None" == rows["the predictor's input, too"][1]
assert rows["the goal"][1] != rows["nothing"][1]
x1, x2 = torch.tensor([1.0, 2.0]), torch.tensor([1.5, 1.0])
w = torch.tensor(1.0, requires_grad=True)
for _ in range(200):
    (slope_of_w,) = torch.autograd.grad(((w * x1 - w * x2) ** 2).mean(), w)
    w = (w - 0.1 * slope_of_w).detach().requires_grad_()
assert abs(w.item()) < 1e-4  # the code of everything is the same


# %% [markdown] tags=["en", "try"]
# Which of the four lines trains both encoder and predictor, and stops only the goal? And by what could a test that looks at the loss tell them apart?
#
# The first line is the right one. All four losses are equal, and so a test that looks at the loss can see none of these mistakes. Only gradients tell: with the predictor's input detached as well, the encoder is not trained at all, and nothing is said. `None` means what it meant in lesson 01: no path led there.
# %% [markdown] tags=["ru", "try"] of="cdbe841e"
# В какой из четырёх строк обучаются и кодировщик, и предиктор, а остановлена только цель? И по чему их отличила бы проверка, которая смотрит на значение функции потерь?
#
# Верна первая строка. Все четыре значения функции потерь равны, поэтому проверка, которая смотрит только на потери, ни одной из этих ошибок не увидит. Видны они только по градиентам: если отсоединить и вход предиктора, кодировщик вообще не обучается, и никакого сообщения нет. Значение `None`, как и в уроке 01, говорит о том, что пути к этому весу не было.
# %% [markdown] tags=["en"]
# ## A target network
#
# A goal that moves with every step is hard to reach. So often a second network computes it, the *target network*, which follows the first one slowly: after each step its weights are an exponential moving average, $\theta' \leftarrow (1 - \tau)\,\theta' + \tau\,\theta$. Three ways to make the second network look alike. What has become of them after one step of the first?
# %% [markdown] tags=["ru"] of="189ab9f6"
# ## Целевая сеть
#
# Трудно догнать цель, которая сдвигается с каждым шагом. Поэтому её часто вычисляет вторая сеть, *целевая* (target network), которая медленно следует за первой: после каждого шага её веса — экспоненциальное скользящее среднее, $\theta' \leftarrow (1 - \tau)\,\theta' + \tau\,\theta$. Вот три способа завести вторую сеть, на вид одинаковые. Что станет со второй сетью, когда первая сделает один шаг?
# %%
net = nn.Linear(1, 1, bias=False)
nn.init.ones_(net.weight)
same, snapshot, copied = net, net.state_dict(), copy.deepcopy(net)
with torch.no_grad():
    net.weight.mul_(5)
print("target = net:          ", same.weight.item())
print("net.state_dict():      ", snapshot["weight"].item())
print("copy.deepcopy(net):    ", copied.weight.item())
# %% tags=["fact"]
assert (same.weight.item(), snapshot["weight"].item(), copied.weight.item()) == (5, 5, 1)
x = torch.ones(1, 1)
((net(x) - copied(x)) ** 2).sum().backward()
assert copied.weight.grad is not None
from autograder.measure import graph_nodes

average, nodes = torch.zeros(1), []
for _ in range(100):
    average = 0.9 * average + 0.1 * net.weight.flatten()
    nodes.append(len(graph_nodes(average)))
assert nodes[99] > 9 * nodes[9] > 9 * nodes[0]


# %% [markdown] tags=["en"]
# ### `fix_target`
#
# **The target of this step never moves, and its `.grad` is filled. Mend both.**
#
# * **Given.** `net` and `target`, modules of the same structure with one output. They may share a layer, and their parameters may require grad or not. `optimizer` holds the parameters of `net`; they may have old gradients.
# * **Given.** `batch`, a tuple `(state, reward, next_state, done)`: two batches of inputs, and two tensors of shape $(n,)$; `done` is 1 where the episode is over, else 0.
# * **Result.** One step of the optimizer with the gradient of the mean squared difference between `net(state)` and the goal, $r + \gamma\,(1 - d)\, v'(s')$. The goal comes from `target`, in the modes in which it came and before it moves, and is a constant. The loss before the step is returned, as a number or a tensor. <!-- net -->
# * **Result.** Then `target` moves: each parameter becomes `(1 - rate) * old + rate * new`, where `new` is the parameter of `net` after the step; a shared layer stays as the step has made it. Its buffers become copies of those of `net`. <!-- target, net -->
# * **Leave.** The parameters of `target` are the same tensors as before, with memory of their own, the same flags and the same `.grad`, apart from those of a shared layer. The modes of all modules stay, and recording is on. <!-- kept -->
# %% [markdown] tags=["ru"] of="a3057d24"
# ### `fix_target`
#
# **Целевая сеть в этом шаге не движется, а её `.grad` заполняется. Исправьте и то и другое.**
#
# * **Дано.** `net` и `target` — модули одинаковой структуры с одним выходом. У них может быть общий слой, а их параметры могут и требовать градиента, и не требовать. В `optimizer` входят параметры `net`, и у них могут быть прежние градиенты.
# * **Дано.** `batch` — кортеж `(state, reward, next_state, done)`: два батча входов и два тензора формы $(n,)$; `done` равен 1 там, где эпизод окончен, иначе 0.
# * **Результат.** Один шаг оптимизатора по градиенту среднего квадрата разности между `net(state)` и целью, $r + \gamma\,(1 - d)\, v'(s')$. Цель — константа: её вычисляет `target` до сдвига, не меняя режимов своих модулей (обучения или оценки). Возвращаются потери до шага — число или тензор. <!-- net -->
# * **Результат.** Затем сдвигается `target`: каждый параметр становится равным `(1 - rate) * old + rate * new`, где `new` — параметр `net` после шага (общий слой остаётся таким, каким его сделал шаг). Её буферы становятся копиями буферов `net`. <!-- target, net -->
# * **Не менять.** Параметры `target` — те же тензоры, что и раньше, со своей памятью, с теми же флагами и тем же `.grad`, не считая общего слоя. Режимы всех модулей прежние, и запись включена. <!-- kept -->
# %% answer="fix_target"
def fix_target(net, target, optimizer, batch, discount, rate):
    """Train `net` for one step towards the goals of `target`, and let `target` follow."""
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow.copy_((1 - rate) * slow + rate * fast)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss.item()


# %% given="fix_target"
def fix_target(net, target, optimizer, batch, discount, rate):
    """Train `net` for one step towards the goals of `target`, and let `target` follow."""
    state, reward, next_state, done = batch
    value = net(state).squeeze(-1)
    goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow = (1 - rate) * slow + rate * fast
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow = fast
    return loss.item()


# %% alternative="fix_target"
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = ((net(state).squeeze(-1) - goal.detach()) ** 2).mean()
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
    for slow, fast in zip(target.parameters(), net.parameters()):
        slow.data.lerp_(fast.data, rate)
    for slow, fast in zip(target.buffers(), net.buffers()):
        slow.data.copy_(fast.data)
    return loss.detach()


# %% alternative="fix_target"
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + (discount * (1 - done)) * target(next_state)[:, 0]
    trained = [p for p in net.parameters() if p.requires_grad]
    loss = mse_loss(net(state)[:, 0], goal)
    for parameter, gradient in zip(trained, torch.autograd.grad(loss, trained)):
        parameter.grad = gradient
    optimizer.step()
    old = {name: parameter.detach().clone() for name, parameter in target.named_parameters()}
    target.load_state_dict(net.state_dict())
    with torch.no_grad():
        for name, parameter in target.named_parameters():
            parameter.mul_(rate).add_(old[name], alpha=1 - rate)
            if parameter is dict(net.named_parameters())[name]:
                parameter.copy_(old[name])
    return loss.item()


# %% alternative="fix_target"
@torch.no_grad()
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    following = torch.where(done == 1, 0.0, target(next_state).squeeze(1))
    goal = reward + discount * following
    optimizer.zero_grad()
    with torch.enable_grad():
        loss = (goal - net(state).squeeze(1)).square().mean()
        loss.backward()
    optimizer.step()
    torch._foreach_lerp_(list(target.parameters()), list(net.parameters()), rate)
    for slow, fast in zip(target.buffers(), net.buffers()):
        slow.copy_(fast)
    return loss


# %% check="fix_target"
from autograder import check

check("fix_target")
# %% [markdown] tags=["en"] explains="fix_target"
# Only the `deepcopy` is a network of its own. A `state_dict()` shares the memory of the weights, as the first name does (lesson 03 met that with `.grad`). But a copy is not stopped either: without `detach` or `no_grad` its `.grad` is filled in every pass. And the average belongs under `no_grad`, or its graph grows with every step.
# %% [markdown] tags=["ru"] explains="fix_target" of="cfbfffb5"
# Отдельной сетью стал только результат `deepcopy`. У словаря `state_dict()` память с весами общая, а имя в первой строке — просто второе имя той же сети (в уроке 03 так было с `.grad`). Но и копия сама по себе градиента не останавливает: без `detach` или `no_grad` её `.grad` заполняется при каждом проходе. А среднее нужно вычислять внутри `no_grad`, иначе его граф растёт с каждым шагом.


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
