# %% [markdown] tags=["en"] needs="01" about="a training loop for your own engine, windows, uneven micro-batches, clipping, memory"
# # Gradient accumulation
#
# A batch of 64 does not fit into memory, four micro-batches of 16 do. Can four small backward passes take the same step as the big one?
#
# Three things decide it. All three go wrong in real code, and the numbers still look plausible.
#
# Your engine from lesson 02 computes gradients but does not train. What does it lack for a net that reads handwritten digits, as torch has? After this lesson you can:
#
# * say what `.grad` holds after any sequence of `backward()` and `zero_grad()`;
# * write the loop that trains your engine, and torch, to read handwritten digits;
# * accumulate the gradient of a big batch from micro-batches of any sizes, the last incomplete window included;
# * do it with one micro-batch's graph in memory at a time;
# * name the cases in which accumulation gives another gradient than the big batch.
#
# You need lesson 01: a leaf tensor, `requires_grad`, `backward()`.
# %% [markdown] tags=["ru"] about="цикл обучения для собственного движка, окна, микробатчи разного размера, отсечение градиента, память" of="39ec2555"
# # Накопление градиентов
#
# Батч из 64 примеров не помещается в память, а четыре микробатча по 16 помещаются. Могут ли четыре маленьких обратных прохода дать тот же шаг, что и один большой?
#
# Всё решают три условия. На практике нарушаются все три, а числа всё равно выглядят правдоподобно.
#
# Движок из урока 02 вычисляет градиенты, но не обучает. Чего ему не хватает, чтобы сеть научилась читать рукописные цифры, как в torch? После урока вы сможете:
#
# * определить, что лежит в `.grad` после любой последовательности `backward()` и `zero_grad()`;
# * написать цикл, который научит ваш движок, а заодно и torch, читать рукописные цифры;
# * накапливать градиент большого батча по микробатчам любого размера, включая последнее неполное окно;
# * делать это так, чтобы в памяти находился граф только одного микробатча;
# * назвать случаи, когда накопление даёт не тот же градиент, что большой батч.
#
# Понадобится урок 01: листовой тензор, `requires_grad`, `backward()`.
# %% tags=["en"]
# Does the import fail? Install the course by pip (its file, or autograd-course),
# and uninstall another `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("gradient_accumulation", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("gradient_accumulation", language="ru")
# %%
import torch
from torch.nn.functional import cross_entropy, mse_loss


# %% [markdown] tags=["en"]
# ## `backward()` adds to `.grad`
#
# One weight $w = 1$, one sample $x$, the target $2x$, the loss $(2x - wx)^2$. Its derivative with respect to $w$ is $-2x^2(2 - w)$: for $x = 4$ that is $-32$, for $x = 2$ it is $-8$.
#
# What happens when `backward()` runs for both, one after the other, and nothing is done in between? The function below does it. Read the function; do not call it yet.
# %% [markdown] tags=["ru"] of="0696dfeb"
# ## `backward()` прибавляет к `.grad`
#
# Пусть есть один вес $w = 1$, примеры $x$ с правильными ответами $2x$ и функция потерь $(2x - wx)^2$. Её производная по $w$ равна $-2x^2(2 - w)$: при $x = 4$ получается $-32$, а при $x = 2$ получается $-8$.
#
# Что будет, если вызвать `backward()` для этих двух примеров подряд и ничего не делать в промежутке? Именно так написана функция ниже. Прочтите её, но пока не вызывайте.
# %%
def two_backward_passes():
    seen = {}
    w = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    seen["w.grad before"] = w.grad

    ((2 * 4.0 - w * 4.0) ** 2).backward()
    first = w.grad
    copy = w.grad.clone()

    ((2 * 2.0 - w * 2.0) ** 2).backward()
    seen["first"] = first.item()
    seen["copy"] = copy.item()
    seen["w.grad after the second backward"] = w.grad.item()

    optimizer.zero_grad()
    seen["w.grad after zero_grad"] = w.grad
    return seen


# %% [markdown] tags=["en"]
# ### `predict_accumulation`
#
# Put what `two_backward_passes()` returns in place of each `...`: a number or `None`. Note that `first` and `copy` are looked at after the second backward pass.
# %% [markdown] tags=["ru"] of="244dd024"
# ### `predict_accumulation`
#
# Вместо каждого `...` поставьте то, что вернёт `two_backward_passes()`: число или `None`. Обратите внимание: значения `first` и `copy` читаются уже после второго обратного прохода.
# %% answer="predict_accumulation"
predict_accumulation = {
    "w.grad before": None,
    "first": -40.0,
    "copy": -32.0,
    "w.grad after the second backward": -40.0,
    "w.grad after zero_grad": None,
}
# %% given="predict_accumulation"
predict_accumulation = {
    "w.grad before": ...,
    "first": ...,
    "copy": ...,
    "w.grad after the second backward": ...,
    "w.grad after zero_grad": ...,
}
# %% check="predict_accumulation"
from autograder import check

check("predict_accumulation")
# %% tags=["fact"]
assert predict_accumulation == two_backward_passes()
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# Вызовем эту функцию и сравним с таблицей.
# %%
two_backward_passes()


# %% [markdown] tags=["en"] explains="predict_accumulation"
# `backward()` adds to `.grad`, and it adds in place: `first` is the same tensor as `w.grad`, so it changed too. A snapshot needs `clone()`. `zero_grad()` puts `None` there, not a zero.
#
# The sum is the tool: the gradient of a sum of losses is the sum of their gradients, and `.grad` collects it for you.
# %% [markdown] tags=["ru"] explains="predict_accumulation" of="e51225ec"
# Метод `backward()` прибавляет новый градиент к тому, что уже лежит в `.grad`, причём на месте: `first` — это тот же тензор, что и `w.grad`, поэтому изменился и он. Чтобы сохранить прежнее значение, нужен `clone()`. Метод `zero_grad()` записывает в поле градиента не ноль, а `None`.
#
# Такое сложение не мешает, а помогает: градиент суммы потерь равен сумме градиентов, и эта сумма сама накапливается в `.grad`.
# %% [markdown] tags=["en"]
# Where in the second pass does it add? `steps` runs that pass one step at a time. On the way from the loss to `w` each step multiplies by one derivative. Which numbers will the gradient be, step by step, and which step touches `.grad`? Say it, then go there.
# %% [markdown] tags=["ru"] of="29b29bf4"
# На каком шаге второго прохода происходит сложение? Проследим: функция `steps` выполняет этот проход по шагам. На пути от функции потерь к весу `w` градиент на каждом шаге умножается на производную очередной операции. Какие числа получатся по пути и на каком шаге меняется `.grad`? Сначала ответьте, потом пройдите по шагам.
# %% tags=["picture"]
from autograder import steps

w = torch.tensor(1.0, requires_grad=True)
((2 * 4.0 - w * 4.0) ** 2).backward()
loss = (2 * 2.0 - w * 2.0) ** 2
steps(loss)
# %% [markdown] tags=["en", "try"]
# Put `3.0` in place of both `2.0` in the last loss. What will the last step add to the $-32$? Say it, then run.
#
# $-18$: the derivative is $-2x^2(2 - w)$ again, now for $x = 3$. Only the last step touches `.grad`, and it adds to what the first pass left.
# %% [markdown] tags=["ru", "try"] of="91af652e"
# В последней функции потерь поставьте `3.0` вместо обоих `2.0`. Сколько прибавит последний шаг к числу $-32$? Сначала ответьте, потом выполните ячейку.
#
# $-18$: производная снова равна $-2x^2(2 - w)$, теперь при $x = 3$. Поле `.grad` меняет только последний шаг, и он прибавляет к тому, что осталось от первого прохода.
# %% tags=["fact"]
two_passes = torch.tensor(1.0, requires_grad=True)
for place in (4.0, 3.0):
    ((2 * place - two_passes * place) ** 2).backward()
assert two_passes.grad.item() == -32 - 18
# %% tags=["fact"]
w = torch.tensor(1.0, requires_grad=True)
product = w * 2.0
difference = 2 * 2.0 - product
on_the_way = torch.autograd.grad(difference**2, [difference, product, w])
assert [gradient.item() for gradient in on_the_way] == [4, -4, -8]


# %% [markdown] tags=["en"]
# ## The engine learns to read
#
# The engine from lesson 02 computes gradients, and that is all. Here it is, as the course writes it. `use_mine()` puts the steps that you have passed in its place.
# %% [markdown] tags=["ru"] of="e0b872d3"
# ## Движок учится читать
#
# Движок из урока 02 вычисляет градиенты, и только. Вот он, как его записывает курс. Вызов `use_mine()` подставит вместо него шаги, которые вы прошли сами.
# %% include=["own_engine/value", "own_engine/rules_and_walk"] tags=["folded"]
# %%
from autograder import use_mine

use_mine()


# %% [markdown] tags=["en"]
# What shall it learn? To read: 1,797 handwritten digits of $8 \times 8$ pixels, from the UCI repository ([E. Alpaydin and C. Kaynak, 1998](https://doi.org/10.24432/C50P49), CC BY 4.0). The net is $\tanh(x W_1 + b_1) W_2 + b_2$, with ten outputs. The largest of them is its answer. The loss is the squared distance from the right outputs, which are 1 for the digit and 0 elsewhere.
#
# That takes only `+`, `*`, `@`, `sum` and `tanh`, so the functions below compute with values of the engine and with torch's tensors alike.
# %% [markdown] tags=["ru"] of="5ed28417"
# Чему его научить? Читать рукописные цифры: 1797 изображений размером $8 \times 8$ пикселей из репозитория UCI ([E. Alpaydin, C. Kaynak, 1998](https://doi.org/10.24432/C50P49), CC BY 4.0). Сеть вычисляет $\tanh(x W_1 + b_1) W_2 + b_2$, выходов у неё десять. Её ответ — номер наибольшего выхода. Функция потерь — сумма квадратов отклонений от правильных выходов: у нужной цифры это 1, у остальных 0.
#
# Для этого хватает операций `+`, `*`, `@`, `sum` и `tanh`, поэтому функции ниже работают и со значениями движка, и с тензорами torch.
# %%
from autograder import digits


def outputs(parameters, x):
    w1, b1, w2, b2 = parameters
    return (x @ w1 + b1).tanh() @ w2 + b2


def squared_error(parameters):
    def loss_of(batch):
        x, minus_right = batch  # the engine has no minus
        error = outputs(parameters, x) + minus_right
        return (error * error).sum()

    return loss_of


pictures, labels = digits()
rng = torch.Generator().manual_seed(0)
order = torch.randperm(len(pictures), generator=rng)
learned, held_out = order[:1500].split(15), order[1500:]
minus_right = -torch.eye(10, dtype=torch.float64)[labels]
stream = [(pictures[each], minus_right[each]) for each in learned] * 10  # ten times through 1,500 pictures
start_at = [torch.randn(shape, generator=rng, dtype=torch.float64) / 7 for shape in [(64, 32), (32,), (32, 10), (10,)]]
# %% tags=["fact"]
assert pictures.shape == (1797, 64) and len(held_out) == 297 and len(stream) == 1000
leaves, twins = [Value(each) for each in start_at], [each.clone().requires_grad_() for each in start_at]
squared_error(leaves)([Value(each) for each in stream[0]]).backward()
squared_error(twins)(stream[0]).backward()
assert len(stream[0][0]) == 15 and leaves[1].grad.shape == (32,)
assert all(torch.allclose(each.grad, twin.grad, rtol=1e-12) for each, twin in zip(leaves, twins))


# %% [markdown] tags=["en"]
# The bias $b_1$ is added to each of 15 rows, and `record` sums its gradient over them. What the engine lacks is a loop.
#
# ### `train_engine`
#
# **For each batch: compute the loss and its gradient, and move every parameter one step against it. Return the losses.**
#
# * **Given.** `parameters`, leaves of the engine or of torch. Each has `data` and `grad`, a tensor or None, and something may be in `grad` at the start. `loss_of(batch)` returns a loss: its `data` is a tensor with one number, its `backward()` adds to `.grad`.
# * **Result.** For each batch in turn, `data` of every parameter becomes `data - rate * grad`, with the gradient of this batch alone. <!-- weights, torch -->
# * **Result.** A list of the losses, each from before its step, as floats. <!-- losses -->
# * **Result.** One call of `loss_of` and one `backward()` for each batch. <!-- runs -->
# * **Leave.** A parameter that a batch does not use. Its `.grad` may stay None. <!-- unused -->
# %% [markdown] tags=["ru"] of="dca47ebf"
# Смещение $b_1$ прибавляется к каждой из 15 строк, и `record` складывает его градиент по строкам. Движку не хватает только цикла.
#
# ### `train_engine`
#
# **Для каждого батча вычислите функцию потерь и её градиент и сдвиньте каждый параметр на шаг против градиента. Верните значения функции потерь.**
#
# * **Дано.** Листья движка или torch в аргументе `parameters`. У каждого есть `data` и `grad` (тензор или None), и в `grad` вначале может что-то лежать. Вызов `loss_of(batch)` возвращает значение функции потерь: в его `data` лежит тензор из одного числа, а его метод `backward()` прибавляет к `.grad`.
# * **Результат.** Для каждого батча по очереди `data` каждого параметра становится равным `data - rate * grad`, где градиент взят только по этому батчу. <!-- weights, torch -->
# * **Результат.** Список значений функции потерь до каждого шага, числа типа float. <!-- losses -->
# * **Результат.** На каждый батч — один вызов `loss_of` и один `backward()`. <!-- runs -->
# * **Не менять.** Параметр, который в батче не участвует. Его `.grad` может остаться равным None. <!-- unused -->
# %% answer="train_engine"
def train_engine(parameters, loss_of, batches, rate):
    """Make one step for each batch; return the losses."""
    ### BEGIN SOLUTION
    losses = []
    for batch in batches:
        for each in parameters:
            each.grad = None
        loss = loss_of(batch)
        loss.backward()
        for each in parameters:
            if each.grad is not None:
                each.data = each.data - rate * each.grad
        losses.append(loss.data.item())
    return losses
    ### END SOLUTION


# %% alternative="train_engine"
def train_engine(parameters, loss_of, batches, rate):
    losses = []
    for batch in batches:
        for each in parameters:
            each.grad = torch.zeros_like(each.data)
        loss = loss_of(batch)
        losses.append(float(loss.data))
        loss.backward()
        for each in parameters:
            each.data -= rate * each.grad
    return losses


# %% alternative="train_engine"
def train_engine(parameters, loss_of, batches, rate):
    def clear():
        for each in parameters:
            each.grad = None

    def one_step(batch):
        loss = loss_of(batch)
        loss.backward()
        for each in [each for each in parameters if each.grad is not None]:
            each.data.add_(each.grad, alpha=-rate)
        clear()
        return loss.data.item()

    clear()
    return [one_step(batch) for batch in batches]


# %% alternative="train_engine"
def train_engine(parameters, loss_of, batches, rate):
    # what a pass adds is the difference from what was there before
    losses = []
    for batch in batches:
        before = [None if each.grad is None else each.grad.clone() for each in parameters]
        loss = loss_of(batch)
        loss.backward()
        losses.append(loss.data.tolist())
        for each, old in zip(parameters, before):
            if each.grad is not None:
                added = each.grad if old is None else each.grad - old
                each.data = torch.sub(each.data, added, alpha=rate)
    return losses


# %% check="train_engine"
from autograder import check

check("train_engine")


# %% [markdown] tags=["en"]
# Your loop trains the engine on 1,500 pictures, in batches of 15. So does torch, from the same weights, by `autograd.grad`, which touches no `.grad`. Guess first: how many of the other 297 does the net read right after 100 batches, and how many after 1,000? Are the losses of both similar, or the same to the last digits?
# %% [markdown] tags=["ru"] of="d488eaa7"
# Теперь ваш цикл обучит движок на 1500 изображениях, по 15 в батче. То же с теми же начальными весами сделает torch с помощью `autograd.grad`, который поля `.grad` не трогает. Сначала попробуйте угадать: сколько из остальных 297 изображений сеть прочтёт верно после 100 батчей, а сколько после 1000? Будут ли потери у обоих похожими или одинаковыми до последних цифр?
# %%
def answers(parameters):
    return outputs([each.data for each in parameters], pictures[held_out]).argmax(1)


def trained(train, parameters, batches, rate=0.004):
    """The losses, and the net's answers to the held-out pictures at some moments."""
    losses, moments = [], {0: answers(parameters)}
    for first, last in [(0, 10), (10, 30), (30, 100), (100, 1000)]:
        losses += train(parameters, squared_error(parameters), batches[first:last], rate)
        moments[last] = answers(parameters)
    return losses, moments


def in_torch(parameters, loss_of, batches, rate):
    losses = []
    for batch in batches:
        loss = loss_of(batch)
        with torch.no_grad():
            for each, gradient in zip(parameters, torch.autograd.grad(loss, parameters)):
                each -= rate * gradient
        losses.append(loss.item())
    return losses


ours, theirs = [Value(each.clone()) for each in start_at], [each.clone().requires_grad_() for each in start_at]
values = [(Value(x), Value(minus)) for x, minus in stream]
their_losses, moments = trained(in_torch, theirs, stream)
try:
    our_losses, moments = trained(train_engine, ours, values)
    print("largest difference of losses: ", max(abs(a - b) for a, b in zip(our_losses, their_losses)))
    print("largest difference of weights:", max((a.data - b.data).abs().max().item() for a, b in zip(ours, theirs)))
except NotImplementedError:
    print("train_engine is still to be written: only torch has learned")
# %% tags=["picture"]
from autograder import play, plot_digits

play(lambda batches: plot_digits(pictures[held_out], labels[held_out], {batches: moments[batches]}), batches=moments)
# %% tags=["fact"]
right = {batches: (found == labels[held_out]).double().mean().item() for batches, found in moments.items()}
assert right[0] < 0.25 and right[100] > 0.8 and right[1000] > 0.9
assert len(our_losses) == 1000 and our_losses[-1] < our_losses[0] / 5
assert all(abs(a - b) < 1e-12 * max(1, abs(b)) for a, b in zip(our_losses, their_losses))
assert all(torch.allclose(a.data, b.data, rtol=1e-12, atol=1e-12) for a, b in zip(ours, theirs))
again = [each.clone().requires_grad_() for each in start_at]
assert all(abs(a - b) < 1e-12 * max(1, abs(b)) for a, b in zip(trained(train_engine, again, stream)[0], their_losses))
far, _ = trained(train_engine, [Value(each.clone()) for each in start_at], values, rate=0.04)
assert 25 < far[0] < 26 and max(far[:100]) > 1e29 and far[-1] != far[-1]


# %% [markdown] tags=["en"]
# More than 90 % are read right. Losses and weights are torch's but for rounding.
# %% [markdown] tags=["ru"] of="ce714088"
# Верно прочитано больше 90 %. Потери и веса с точностью до округления такие же, как в torch.
# %% [markdown] tags=["en", "try"]
# What will the losses do with `rate=0.04`? Say it, then run `trained(train_engine, [Value(each.clone()) for each in start_at], values, rate=0.04)[0][:12]`.
#
# They grow from 25 to more than $10^{29}$, and end in NaN. Each step jumps so far over the minimum that the next gradient is larger.
# %% [markdown] tags=["ru", "try"] of="48ca42ff"
# Что будет с потерями при `rate=0.04`? Сначала ответьте, потом выполните `trained(train_engine, [Value(each.clone()) for each in start_at], values, rate=0.04)[0][:12]`.
#
# Они вырастают с 25 до чисел больше $10^{29}$, а потом превращаются в NaN. Каждый шаг так далеко перескакивает через минимум, что следующий градиент ещё больше.
# %% [markdown] tags=["en"]
# ## The mean over a big batch, in pieces
#
# A loss is usually a *mean* over its batch. For the two samples above the big batch's gradient is $(-32 - 8) / 2 = -20$. Two micro-batches of one sample have the gradients $-32$ and $-8$; their sum, $-40$, is twice as large as it should be. So each loss is divided by the number of micro-batches $K$ before it goes backward.
# %% [markdown] tags=["ru"] of="f554fe2f"
# ## Как получить из частей среднее по большому батчу
#
# Функция потерь обычно *усредняется* по батчу. Для двух примеров выше градиент большого батча равен $(-32 - 8) / 2 = -20$. У двух микробатчей по одному примеру градиенты равны $-32$ и $-8$. Их сумма, $-40$, вдвое больше нужного. Поэтому перед обратным проходом каждое значение функции потерь делят на число микробатчей $K$. Проверим числа.
# %%
def gradient_of(model, x, y):
    """The gradient of the mean loss over one batch, without touching `.grad`."""
    (gradient,) = torch.autograd.grad(mse_loss(model(x), y), model.weight)
    return gradient


model = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.ones_(model.weight)
x = torch.tensor([[4.0], [2.0]])

print("big batch:    ", gradient_of(model, x, 2 * x).item())
print("micro-batches:", [gradient_of(model, part, 2 * part).item() for part in x.split(1)])
# %% tags=["fact"]
assert gradient_of(model, x, 2 * x).item() == -20
assert [gradient_of(model, part, 2 * part).item() for part in x.split(1)] == [-32, -8]


# %% [markdown] tags=["en"]
# ## Two cells that agree, and are both wrong
#
# A *window* is $K$ micro-batches and one optimizer step. The function `fix_zero_inside` (below) trains $w$ on $x = 4, 2, 3, 1$ with $K = 2$ and a learning rate of 0.1. The weight after each step:
#
# ```
# W = 1.4
# W = 1.46
# ```
#
# The weight should become 2, and it moves that way. What would the big batches give? The first window has the gradient $-20$, so $w$ goes from 1 to 3. The second has $+10$, and $w$ goes to 2. Not 1.4 and 1.46: 3 and 2.
# %% [markdown] tags=["ru"] of="695bd7e1"
# ## Две ячейки с одним и тем же неверным результатом
#
# *Окно накопления* — это $K$ микробатчей и один шаг оптимизатора. Функция `fix_zero_inside` (она ниже) обучает вес $w$ на примерах $x = 4, 2, 3, 1$ при $K = 2$ и скорости обучения 0.1. Вот веса после каждого шага:
#
# ```
# W = 1.4
# W = 1.46
# ```
#
# Вес должен стать равным 2, и движется он в нужную сторону. А что дали бы большие батчи? Градиент первого окна равен $-20$, и $w$ меняется с 1 на 3. Градиент второго равен $+10$, и $w$ становится равным 2. Значит, должно было получиться не 1.4 и 1.46, а 3 и 2. Проверим это на больших батчах.
# %%
def train(how, accumulation_steps=2):
    """Run one of the training functions below on the four inputs; the weight after each step."""
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    weights = []
    optimizer.register_step_post_hook(lambda *_: weights.append(round(model.weight.item(), 4)))
    batches = [(x, 2 * x) for x in torch.tensor([4.0, 2.0, 3.0, 1.0]).reshape(4, 1, 1)]
    how(model, optimizer, batches, accumulation_steps)
    return weights


def on_big_batches(model, optimizer, batches, accumulation_steps):
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        x, y = (torch.cat(parts) for parts in zip(*window))
        optimizer.zero_grad()
        mse_loss(model(x), y).backward()
        optimizer.step()


train(on_big_batches)
# %% tags=["fact"]
assert train(on_big_batches) == [3.0, 2.0]


# %% [markdown] tags=["en"]
# ### `fix_zero_inside`
#
# **After every step the weights should be those of training on big batches: 3 and 2, not 1.4 and 1.46. Mend the loop.**
#
# * **Given.** Micro-batches of the same size; their number is a multiple of `accumulation_steps`. Gradients are `None` at the start. The model may have several parameters, such as a bias, and the optimizer may be any, Adam with weight decay as well as SGD.
# * **Result.** After every step, made by `optimizer.step()`, the weights are those of the big batches. Nothing is returned. <!-- weights -->
# * **Result.** One backward pass for each micro-batch. <!-- backward_runs -->
# * **Leave.** The settings of the optimizer. <!-- weights -->
# %% [markdown] tags=["ru"] of="130d850c"
# ### `fix_zero_inside`
#
# **После каждого шага веса должны быть такими, как при обучении на больших батчах: 3 и 2, а не 1.4 и 1.46. Исправьте цикл.**
#
# * **Дано.** Микробатчи одного размера, их число кратно `accumulation_steps`. В начале градиенты равны `None`. У модели может быть несколько параметров, например смещение (bias), а оптимизатор может быть любым: и SGD, и Adam с затуханием весов.
# * **Результат.** После каждого шага, то есть вызова `optimizer.step()`, веса такие же, как при обучении на больших батчах. Функция ничего не возвращает. <!-- weights -->
# * **Результат.** На каждый микробатч — один обратный проход. <!-- backward_runs -->
# * **Не менять.** Настройки оптимизатора. <!-- weights -->
# %% answer="fix_zero_inside"
def fix_zero_inside(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        loss = mse_loss(model(x), y) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()


# %% given="fix_zero_inside"
def fix_zero_inside(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        optimizer.zero_grad(set_to_none=True)
        loss = mse_loss(model(x), y) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            # Updating the model only after all batches
            optimizer.step()


# %% alternative="fix_zero_inside"
def fix_zero_inside(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        if i % accumulation_steps == 0:
            optimizer.zero_grad()
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if i % accumulation_steps == accumulation_steps - 1:
            optimizer.step()


# %% alternative="fix_zero_inside"
def fix_zero_inside(model, optimizer, batches, accumulation_steps):
    for start in range(0, len(batches), accumulation_steps):
        optimizer.zero_grad(set_to_none=False)
        for x, y in batches[start : start + accumulation_steps]:
            (mse_loss(model(x), y) / accumulation_steps).backward()
        optimizer.step()


# %% alternative="fix_zero_inside"
def fix_zero_inside(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches, 1):
        mse_loss(model(x), y).backward()
        if i % accumulation_steps == 0:
            for parameter in model.parameters():
                parameter.grad /= accumulation_steps
            optimizer.step()
            for parameter in model.parameters():
                parameter.grad.zero_()


# %% check="fix_zero_inside"
from autograder import check

check("fix_zero_inside")


# %% tags=["fact"]
def zero_inside(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        optimizer.zero_grad(set_to_none=True)
        (mse_loss(model(x), y) / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()


assert train(zero_inside) == [1.4, 1.46]
assert train(fix_zero_inside) == [3.0, 2.0]


# %% [markdown] tags=["en"]
# Here is a second function, written differently. Run it: does it confirm the first?
# %% [markdown] tags=["ru"] of="1499f8dd"
# Вот вторая функция, написанная иначе. Выполните её: подтверждает ли она первую?
# %%
def backward_last(model, optimizer, batches, accumulation_steps):
    for i, (x, y) in enumerate(batches):
        loss = mse_loss(model(x), y) / accumulation_steps
        if (i + 1) % accumulation_steps == 0:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)


print(train(backward_last))
# %% tags=["fact"]
assert train(backward_last) == train(zero_inside) == [1.4, 1.46]
# %% [markdown] tags=["en"]
# ### Question `why_they_agree`
# *in your own words · 8 minutes · 2 points · read by a person*
#
# The first cell clears the gradients at the top of every turn of the loop. The second calls `backward()` only for the last micro-batch of a window. Why do they give the same numbers, and what would you have computed to notice that both are wrong? Three or four sentences.
# %% [markdown] tags=["ru"] of="23e6086b"
# ### Вопрос `why_they_agree`
# *своими словами · 8 минут · 2 балла · проверяет преподаватель*
#
# Первая ячейка обнуляет градиенты в начале каждой итерации цикла. Вторая вызывает `backward()` только для последнего микробатча окна. Почему они дают одни и те же числа и что нужно было вычислить, чтобы заметить, что обе неверны? Ответьте в трёх-четырёх предложениях.
# %% [markdown] written="why_they_agree" points=2 minutes=8
# **Rubric.** 1 point: in both, only the gradient of the window's last micro-batch, divided by K, reaches the step; the first cell throws the other gradients away, the second never computes them. 1 point: compare with something that cannot have this bug, such as one backward pass on the joined batch, and not with another loop. Counting backward passes (two against one per window) also tells the cells apart.
#
# **A model answer.** In both cells the step uses the gradient of one micro-batch only: the last one of the window, divided by K. The first cell computes the other gradients and throws them away before the step; the second never computes them. So equal numbers confirm nothing: two programs with one fault agree. I would have compared with something that has no loop over micro-batches, one `backward()` on the joined batch: it steps to 3 and not to 1.4.
#
# ---
#
# **Критерии.** 1 балл: в обоих случаях до шага доходит только градиент последнего микробатча окна, делённый на K; первая ячейка выбрасывает остальные градиенты, вторая их не вычисляет. 1 балл: сравнить с тем, где такой ошибки быть не может, — с одним обратным проходом по склеенному батчу, а не с другим циклом. Различить ячейки можно и по числу обратных проходов (два против одного за окно).
#
# **Пример ответа.** В обеих ячейках до шага доходит градиент только одного микробатча — последнего в окне, — делённый на K. Первая ячейка вычисляет и остальные градиенты, но выбрасывает их до шага, а вторая их вообще не вычисляет. Поэтому одинаковые числа ничего не подтверждают: у двух программ одна и та же ошибка. Я бы сравнил их с вычислением, в котором нет цикла по микробатчам, — с одним вызовом `backward()` на склеенном батче: после первого шага вес там равен 3, а не 1.4.
# %% [markdown] tags=["en"]
# One more thing goes wrong beside such code. Its loss is explained as `(2*4 - 1*4)**2 / 2 / 2 = 8.0`, but $16/2/2 = 4$. The code divides by the micro-batch's size, which is 1, and by $K = 2$: $16/1/2 = 8$. A printed formula does not check the code beside it. Or a comment promises the mean over the whole dataset, which would be a gradient of $-15$; dividing by $K$ gives the mean over one window, $-20$.
# %% [markdown] tags=["ru"] of="e73b9d7e"
# Рядом с таким кодом бывает и ещё одна ошибка. Значение функции потерь поясняют формулой `(2*4 - 1*4)**2 / 2 / 2 = 8.0`, но $16/2/2 = 4$. На самом деле в коде делят на размер микробатча, то есть на 1, и на $K = 2$: $16/1/2 = 8$. Формула, напечатанная рядом с кодом, ещё не доказывает, что он верен. А иногда в комментарии к коду обещано среднее по всему набору данных, то есть градиент $-15$, хотя деление на $K$ даёт среднее по одному окну, $-20$.
# %% tags=["fact"]
assert (2 * 4.0 - 1 * 4.0) ** 2 / 2 / 2 == 4.0
assert mse_loss(torch.tensor([4.0]), torch.tensor([8.0])).item() / 2 == 8.0
# %% [markdown] tags=["en"]
# ## Micro-batches of different sizes
#
# Four samples, $x = 4, 2, 3, 1$, and $w = 1$. The gradient of the mean over all four is $-15$. Now cut them 3 + 1:
#
# | micro-batch | its mean gradient | divided by $K = 2$ | weighted by $n_i / N$ |
# |---|---|---|---|
# | $x = 4, 2, 3$ | $-19.33$ | $-9.67$ | $-14.5$ |
# | $x = 1$ | $-2$ | $-1$ | $-0.5$ |
# | sum | | $-10.67$ | $-15$ |
#
# Dividing by $K$ gives the single sample as much weight as the other three together, and the gradient is 29 % too short. It is a mean of means, and that is the overall mean only when all sizes are equal.
# %% [markdown] tags=["ru"] of="fc58a80d"
# ## Микробатчи разного размера
#
# Возьмём четыре примера, $x = 4, 2, 3, 1$, и $w = 1$. Градиент среднего по всем четырём равен $-15$. Разделим их на микробатчи из трёх примеров и из одного:
#
# | микробатч | средний градиент | при делении на $K = 2$ | с весом $n_i / N$ (доля примеров микробатча) |
# |---|---|---|---|
# | $x = 4, 2, 3$ | $-19.33$ | $-9.67$ | $-14.5$ |
# | $x = 1$ | $-2$ | $-1$ | $-0.5$ |
# | сумма | | $-10.67$ | $-15$ |
#
# При делении на $K$ единственный пример второго микробатча получает такой же вес, как остальные три вместе, и градиент оказывается по модулю на 29 % меньше нужного. Так вычисляется среднее средних, а оно равно общему среднему только при равных размерах.
# %% tags=["fact"]
torch.nn.init.ones_(model.weight)
x = torch.tensor([[4.0], [2.0], [3.0], [1.0]])
means = [gradient_of(model, part, 2 * part).item() for part in x.split([3, 1])]
assert gradient_of(model, x, 2 * x).item() == -15
assert [round(mean, 2) for mean in means] == [-19.33, -2.0]
assert round(sum(means) / 2, 2) == -10.67 and round(1 - sum(means) / 2 / -15, 2) == 0.29
assert round(means[0] * 3 / 4, 6) == -14.5 and means[1] / 4 == -0.5


# %% [markdown] tags=["en"]
# ### `accumulate_uneven`
#
# **Leave in `model.weight.grad` the gradient of the mean over all samples: each counts the same, whatever the size of its micro-batch.**
#
# * **Given.** `model`, with one parameter, `model.weight`. `batches`, a list of pairs `(x, y)`, whose `x` have different numbers of rows. The loss of a micro-batch is `mse_loss(model(x), y)`, a mean over all entries of `y`.
# * **Result.** `model.weight.grad` holds the gradient of the mean loss over all samples, whatever `.grad` held before. <!-- gradient -->
# * **Result.** One backward pass for each micro-batch. <!-- backward_runs -->
# * **Leave.** The weight itself. <!-- weight -->
# %% [markdown] tags=["ru"] of="d19f874a"
# ### `accumulate_uneven`
#
# **Оставьте в `model.weight.grad` градиент среднего по всем примерам: вес у всех примеров одинаковый, каким бы ни был размер микробатча.**
#
# * **Дано.** Модель `model` с одним параметром, `model.weight`. Список пар `(x, y)` в аргументе `batches`; число строк в тензорах `x` разное. Функция потерь на микробатче — `mse_loss(model(x), y)`, среднее по всем элементам тензора `y`.
# * **Результат.** В `model.weight.grad` лежит градиент функции потерь, усреднённой по всем примерам, что бы ни лежало в `.grad` раньше. <!-- gradient -->
# * **Результат.** На каждый микробатч — один обратный проход. <!-- backward_runs -->
# * **Не менять.** Сам вес. <!-- weight -->
# %% answer="accumulate_uneven"
def accumulate_uneven(model, batches):
    """Leave in `model.weight.grad` the gradient of the mean loss over all samples of `batches`."""
    ### BEGIN SOLUTION
    samples = sum(len(x) for x, _ in batches)
    model.zero_grad()
    for x, y in batches:
        loss = mse_loss(model(x), y) * len(x) / samples
        loss.backward()
    ### END SOLUTION


# %% alternative="accumulate_uneven"
def accumulate_uneven(model, batches):
    model.weight.grad = None
    entries = 0
    for x, y in batches:
        mse_loss(model(x), y, reduction="sum").backward()
        entries += y.numel()
    model.weight.grad.div_(entries)


# %% alternative="accumulate_uneven"
def accumulate_uneven(model, batches):
    sizes = torch.tensor([float(len(x)) for x, _ in batches], dtype=model.weight.dtype)
    model.zero_grad()
    for share, (x, y) in zip(sizes / sizes.sum(), batches):
        mse_loss(model(x), y).backward(share)


# %% alternative="accumulate_uneven"
def accumulate_uneven(model, batches):
    mean, seen = torch.zeros_like(model.weight), 0
    for x, y in batches:
        (gradient,) = torch.autograd.grad(mse_loss(model(x), y), model.weight)
        seen += len(x)
        mean += (gradient - mean) * len(x) / seen
    model.weight.grad = mean


# %% check="accumulate_uneven"
from autograder import check

check("accumulate_uneven")


# %% [markdown] tags=["en"]
# ## The usual pattern, and where it stops being exact
#
# You will meet this loop in many projects:
#
# ```python
# for i, (x, y) in enumerate(batches):
#     loss = mse_loss(model(x), y) / accumulation_steps
#     loss.backward()
#     if (i + 1) % accumulation_steps == 0:
#         optimizer.step()
#         optimizer.zero_grad()
# ```
#
# It is exact when all micro-batches have the same size *and* their number is a multiple of $K$. Otherwise two things happen:
#
# 1. inside a window every micro-batch counts the same, whatever its size;
# 2. the last, incomplete window never gets a step. With three micro-batches and $K = 2$ the third gradient stays in `.grad` and leaks into the next epoch. A step after the loop is not enough, because that window's losses were still divided by 2.
#
# With one sample per micro-batch, $x = 4, 2, 3$, $K = 2$, a learning rate of 0.01 and $w = 1$ at the start, the weight ends at 1.2 when the tail is dropped, at 1.272 when it is stepped on but still divided by 2, and at 1.344 when its mean is right.
# %% [markdown] tags=["ru"] of="ea74f655"
# ## Обычная схема и её ограничения
#
# Такой цикл встречается во многих проектах:
#
# ```python
# for i, (x, y) in enumerate(batches):
#     loss = mse_loss(model(x), y) / accumulation_steps
#     loss.backward()
#     if (i + 1) % accumulation_steps == 0:
#         optimizer.step()
#         optimizer.zero_grad()
# ```
#
# Он даёт точный результат, когда все микробатчи одного размера *и* их число кратно $K$. Иначе возможны две ошибки:
#
# 1. внутри окна все микробатчи имеют одинаковый вес, каков бы ни был их размер;
# 2. последнее, неполное окно остаётся без шага. При трёх микробатчах и $K = 2$ третий градиент остаётся в `.grad` и попадает в следующую эпоху. Добавить шаг после цикла недостаточно: значение функции потерь в этом окне всё равно разделено на 2.
#
# Пусть в каждом микробатче один пример, $x = 4, 2, 3$, $K = 2$, скорость обучения 0.01, а вначале $w = 1$. Если неполное окно отбросить, вес в конце равен 1.2. Если сделать по нему шаг, но по-прежнему делить на 2, получится 1.272, а если усреднить правильно — 1.344.
# %% tags=["fact"]
def tail(step_on_it, divide_by):
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for i, x in enumerate(torch.tensor([[[4.0]], [[2.0]], [[3.0]]])):
        (mse_loss(model(x), 2 * x) / (divide_by if i == 2 else 2)).backward()
        if (i + 1) % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
    if step_on_it:
        optimizer.step()
    return round(model.weight.item(), 4), model.weight.grad


assert tail(False, 2)[0] == 1.2 and round(tail(False, 2)[1].item(), 4) == -7.2
assert tail(True, 2)[0] == 1.272 and tail(True, 1)[0] == 1.344
# %% [markdown] tags=["en"]
# What does the leak look like? Below, that loop runs for two epochs on these three micro-batches. In the lower half a hollow square is the norm of `.grad` before a backward pass, a filled one the norm after it; a dotted vertical line is a step.
# %% [markdown] tags=["ru"] of="7c5fceb1"
# Как выглядит такая ошибка? Выполним этот цикл в течение двух эпох на тех же трёх микробатчах. В нижней половине рисунка пустой квадрат — норма `.grad` перед обратным проходом, закрашенный — после него, вертикальный пунктир — шаг.
# %% tags=["picture"]
from autograder import plot_accumulation

batches = [(x, 2 * x) for x in torch.tensor([4.0, 2.0, 3.0]).reshape(3, 1, 1)]


def two_epochs(accumulation_steps):
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with plot_accumulation(optimizer) as seen:
        for _ in range(2):  # epochs
            for i, (x, y) in enumerate(batches):
                loss = mse_loss(model(x), y) / accumulation_steps
                loss.backward()
                if (i + 1) % accumulation_steps == 0:
                    optimizer.step()
                    optimizer.zero_grad()
    return seen


play(two_epochs, accumulation_steps=[2, 1, 3])
# %% [markdown] tags=["en", "try"]
# With two micro-batches a window, which pass begins with something that does not belong to it? And do windows of one or of three leak, too? Say it, then drag.
#
# Look at pass 4, the first of the second epoch. It begins at 7.2, not at 0: pass 3 left that. The step after pass 5 is made of three gradients instead of two. With windows of one or of three nothing is left over: three micro-batches fill them.
# %% [markdown] tags=["ru", "try"] of="f1607f71"
# В окне два микробатча. Какой проход начинается с чужого градиента? А возможна ли такая утечка, если в окне один микробатч или три? Сначала ответьте, потом двигайте ползунок.
#
# Посмотрите на проход 4, первый во второй эпохе. Норма перед ним равна 7.2, а не 0: этот градиент остался от прохода 3. Поэтому в шаг после прохода 5 входят три градиента вместо двух. Если в окне один микробатч или три, ничего не остаётся: три микробатча заполняют такие окна целиком.
# %% tags=["fact"]
leaking = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.ones_(leaking.weight)
descent, held = torch.optim.SGD(leaking.parameters(), lr=0.01), []
for turn in range(6):
    sample = torch.tensor([[[4.0], [2.0], [3.0]][turn % 3]])
    held.append(0.0 if leaking.weight.grad is None else round(leaking.weight.grad.item(), 4))
    (mse_loss(leaking(sample), 2 * sample) / 2).backward()
    if turn % 3 == 1:
        descent.step()
        descent.zero_grad()
assert held == [0.0, -16.0, 0.0, -7.2, -20.0, 0.0]


# %% [markdown] tags=["en"]
# ## What to keep
#
# * A training loop: clear, forward, backward, step. Each batch has a graph of its own; `.grad` outlives them all.
# * `backward()` adds to `.grad` in place. Clear once per window, never inside it.
# * Weigh each micro-batch by its share $n_i / N$ of the window's samples, or of its valid tokens. $1/K$ is right for equal sizes only.
# * The last window is a window, with its own $N$.
# * Compare with one backward pass on the joined batch, never with another loop.
#
# From the extra sections:
#
# * One `backward()` per micro-batch keeps one graph in memory; add up `loss.item()`, not `loss`.
# * Unscale, then clip, then step: once per window.
# %% [markdown] tags=["ru"] of="46621de4"
# ## Что стоит запомнить
#
# * Цикл обучения: обнулить градиенты, прямой проход, обратный проход, шаг. У каждого батча свой граф, а `.grad` переживает их все.
# * `backward()` прибавляет к `.grad` на месте. Обнуляйте градиенты один раз за окно и ни в коем случае не внутри него.
# * Вес микробатча — доля $n_i / N$ его примеров (или настоящих токенов) в окне. Множитель $1/K$ верен только при равных размерах.
# * Последнее окно — тоже окно, со своим $N$.
# * Сравнивайте результат с одним обратным проходом по склеенному батчу, а не с другим циклом.
#
# Из дополнительных разделов:
#
# * Если вызывать `backward()` для каждого микробатча, в памяти находится только один граф; складывайте `loss.item()`, а не `loss`.
# * Сначала снимите масштаб, потом отсеките градиент и сделайте шаг — один раз за окно.
# %% [markdown] tags=["en"]
# ## Micro-batches of the same size
#
# ### `accumulate_equal`
#
# **Leave in `model.weight.grad` the gradient of the mean over all samples, from one backward pass for each micro-batch: the simple case of `accumulate_uneven`.**
#
# * **Given.** `model`, with one parameter, `model.weight`. `batches`, a list of pairs `(x, y)`; all `x` have the same number of rows, and `y` may have several columns. The loss of a micro-batch is `mse_loss(model(x), y)`, a mean over all entries of `y`.
# * **Result.** `model.weight.grad` holds the gradient of the mean loss over all samples. Something may have been in `.grad` before: it does not stay. Nothing is returned. <!-- gradient -->
# * **Result.** One backward pass for each micro-batch, by `backward()` or `torch.autograd.grad` (a pass of `torch.func` does not count). <!-- backward_runs -->
# * **Leave.** The weight itself. <!-- weight -->
# %% [markdown] tags=["ru"] of="8698ebec"
# ## Микробатчи одного размера
#
# ### `accumulate_equal`
#
# **Оставьте в `model.weight.grad` градиент среднего по всем примерам, сделав по одному обратному проходу на микробатч: простой случай `accumulate_uneven`.**
#
# * **Дано.** Модель `model` с одним параметром, `model.weight`. Список пар `(x, y)` в аргументе `batches`; во всех `x` одинаковое число строк, а в `y` может быть несколько столбцов. Функция потерь на микробатче — `mse_loss(model(x), y)`, среднее по всем элементам тензора `y`.
# * **Результат.** В `model.weight.grad` лежит градиент функции потерь, усреднённой по всем примерам. Если в `.grad` уже был градиент, в результат он не входит. Функция ничего не возвращает. <!-- gradient -->
# * **Результат.** На каждый микробатч — один обратный проход: вызов `backward()` или `torch.autograd.grad` (проходы `torch.func` не считаются). <!-- backward_runs -->
# * **Не менять.** Сам вес. <!-- weight -->
# %% answer="accumulate_equal"
def accumulate_equal(model, batches):
    """Leave in `model.weight.grad` the gradient of the mean loss over all samples of `batches`."""
    ### BEGIN SOLUTION
    model.zero_grad()
    for x, y in batches:
        loss = mse_loss(model(x), y) / len(batches)
        loss.backward()
    ### END SOLUTION


# %% alternative="accumulate_equal"
def accumulate_equal(model, batches):
    model.weight.grad = None
    for x, y in batches:
        mse_loss(model(x), y).backward()
    model.weight.grad /= len(batches)


# %% alternative="accumulate_equal"
def accumulate_equal(model, batches):
    entries = sum(y.numel() for _, y in batches)
    total = torch.zeros_like(model.weight)
    for x, y in batches:
        total += torch.autograd.grad(mse_loss(model(x), y, reduction="sum"), model.weight)[0]
    model.weight.grad = total / entries


# %% alternative="accumulate_equal"
def accumulate_equal(model, batches):
    model.zero_grad(set_to_none=False)
    for x, y in batches:
        loss = ((x @ model.weight.T - y) ** 2).mean()
        loss.backward(torch.full_like(loss, 1 / len(batches)))


# %% check="accumulate_equal"
from autograder import check

check("accumulate_equal")


# %% [markdown] tags=["en"]
# ## What accumulation costs in memory
#
# A forward pass keeps activations for the backward pass; `backward()` lets them go. So it matters *when* it is called. Adding the losses up first and calling `backward()` once gives the same gradient, but until then every micro-batch's graph is in memory. The cell measures the peak: the bytes of all new tensors at the worst moment, `.grad` included.
# %% [markdown] tags=["ru"] of="4c3b7fe7"
# ## Сколько памяти требует накопление
#
# Во время прямого прохода сохраняются активации, которые нужны для обратного, а `backward()` их освобождает. Поэтому важно, *когда* он вызван. Если сначала сложить все значения функции потерь, а потом один раз вызвать `backward()`, градиент получится тот же, но до этого момента в памяти лежат графы всех микробатчей. Измерим пиковый расход памяти: наибольшее число байтов, которое одновременно занимали новые тензоры, включая `.grad`.
# %%
from autograder.measure import live_bytes

net = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
micro_batch = (torch.ones(256, 16), torch.ones(256, 1))


def peak(how, k):
    net.zero_grad()
    with live_bytes() as live:  # what exists before is not counted
        how(k)
    return live.peak


def one_at_a_time(k):
    for _ in range(k):
        (mse_loss(net(micro_batch[0]), micro_batch[1]) / k).backward()


def all_at_once(k):
    sum(mse_loss(net(micro_batch[0]), micro_batch[1]) / k for _ in range(k)).backward()


print(" K   one at a time   summed first")
for k in (1, 2, 4, 8):
    print(f"{k:2}   {peak(one_at_a_time, k):10,} B   {peak(all_at_once, k):10,} B")
# %% tags=["fact"]
assert peak(one_at_a_time, 8) < 1.1 * peak(one_at_a_time, 1)
assert peak(all_at_once, 8) > 3 * peak(one_at_a_time, 8)
assert peak(one_at_a_time, 4) < 205_000 and peak(all_at_once, 4) > 390_000


# %% [markdown] tags=["en"]
# Why does only the second column grow? Follow the bytes, operation by operation; backward passes are shaded.
# %% [markdown] tags=["ru"] of="852f4f19"
# Почему числа растут только во втором столбце? Проследим за расходом памяти, операция за операцией. Обратные проходы закрашены.
# %% tags=["picture"]
from autograder import plot_memory

play(lambda K: plot_memory(K, one_at_a_time, all_at_once), K=[1, 2, 4, 8])
# %% [markdown] tags=["en", "try"]
# For $K = 1$ both curves are alike. How will each of them look for 4? Draw them in the air, then drag.
#
# One at a time, the curve falls almost to 0 after each backward pass, and for the next micro-batch it rises from there. Summed first, it climbs through all forward passes before it falls.
# %% [markdown] tags=["ru", "try"] of="abdc1bb7"
# При $K = 1$ обе кривые одинаковы. Как будет выглядеть каждая из них при 4? Нарисуйте их мысленно, потом двигайте ползунок.
#
# Если обрабатывать микробатчи по одному, кривая после каждого обратного прохода падает почти до 0, а на следующем микробатче всё повторяется. Если же сначала складывать значения функции потерь, кривая растёт в течение всех прямых проходов и лишь потом спадает.


# %% [markdown] tags=["en"]
# Take care, too, with a sum of losses for a log. `total = total + loss` makes `total` a tensor with a history. After `backward()` the activations in it are gone, but in a validation loop, where nothing goes backward, every batch's graph stays. If each graph has saved one tensor of 1000 float32 numbers, 20 batches keep 80,000 bytes. `total += loss.item()` adds a number and keeps nothing.
# %% [markdown] tags=["ru"] of="bd2862c5"
# Будьте осторожны и тогда, когда накапливаете сумму значений функции потерь для журнала обучения. После `total = total + loss` сумма `total` — тензор с историей. Если был вызван `backward()`, активаций в этой истории уже нет, но при валидации, где обратного прохода не бывает, остаётся граф каждого батча. Если в каждом графе сохранён один тензор из 1000 чисел float32, то за 20 батчей набирается 80 000 байт. Строка `total += loss.item()` прибавляет обычное число, и в памяти ничего не остаётся.
# %% tags=["fact"]
w = torch.ones(1000, requires_grad=True)
with live_bytes() as live:
    total = 0.0
    for _ in range(20):
        total = total + w.exp().mean()
assert 80_000 <= live.now < 80_100
with live_bytes() as live:
    total = 0.0
    for _ in range(20):
        total += w.exp().mean().item()
assert live.now == 0


# %% [markdown] tags=["en"]
# ### `train_epoch`
#
# **Train one epoch in windows of `accumulation_steps` micro-batches of any sizes, with the graph of one micro-batch in memory. Return the mean loss.**
#
# * **Given.** `batches`, a list of pairs `(x, y)` of any sizes; the last window may hold fewer micro-batches. `y` may have several columns, the model several parameters, and the optimizer may be any. The gradients are `None` at the start.
# * **Result.** Each window makes one `optimizer.step()` with the gradient of the mean loss over the samples *of that window*. What `.grad` holds at the end does not matter. <!-- weights -->
# * **Result.** The mean loss over all samples of the epoch is returned, a `float`: each sample's loss as it was in its forward pass. <!-- mean_loss -->
# * **Result.** The function works, too, where model and batches lie on another device than the CPU, such as a GPU. <!-- device -->
# * **Not allowed.** More in memory at any moment than the graph of one micro-batch. <!-- live_bytes -->
# %% [markdown] tags=["ru"] of="4698e85f"
# ### `train_epoch`
#
# **Проведите одну эпоху обучения окнами по `accumulation_steps` микробатчей любых размеров, держа в памяти граф только одного микробатча. Верните среднее значение функции потерь.**
#
# * **Дано.** Список пар `(x, y)` любых размеров в аргументе `batches`; в последнем окне микробатчей может быть меньше. В `y` может быть несколько столбцов, у модели — несколько параметров, а оптимизатор может быть любым. В начале градиенты равны `None`.
# * **Результат.** На каждое окно приходится один `optimizer.step()` с градиентом функции потерь, усреднённой по примерам *этого окна*. Что останется в `.grad` в конце, неважно. <!-- weights -->
# * **Результат.** Возвращается среднее значение функции потерь по всем примерам эпохи, число типа `float`: для каждого примера берётся значение из его прямого прохода. <!-- mean_loss -->
# * **Результат.** Функция работает и тогда, когда модель и батчи лежат не на CPU, а на другом устройстве, например на GPU. <!-- device -->
# * **Нельзя.** Держать в памяти больше, чем граф одного микробатча. <!-- live_bytes -->
# %% answer="train_epoch"
def train_epoch(model, optimizer, batches, accumulation_steps):
    """One step per window of `accumulation_steps` micro-batches; return the mean loss over all samples."""
    ### BEGIN SOLUTION
    total = 0.0
    for first in range(0, len(batches), accumulation_steps):
        window = batches[first : first + accumulation_steps]
        samples = sum(len(x) for x, _ in window)
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * len(x) / samples).backward()
            total += loss.item() * len(x)
        optimizer.step()
    return total / sum(len(x) for x, _ in batches)
    ### END SOLUTION


# %% alternative="train_epoch"
def train_epoch(model, optimizer, batches, accumulation_steps):
    total, in_epoch, in_window = 0.0, 0, 0
    for i, (x, y) in enumerate(batches, 1):
        loss = mse_loss(model(x), y, reduction="sum")
        loss.backward()
        total, in_epoch, in_window = total + loss.item(), in_epoch + y.numel(), in_window + y.numel()
        if i % accumulation_steps == 0 or i == len(batches):
            for parameter in model.parameters():
                parameter.grad /= in_window
            optimizer.step()
            optimizer.zero_grad()
            in_window = 0
    return total / in_epoch


# %% alternative="train_epoch"
def train_epoch(model, optimizer, batches, accumulation_steps):
    losses, sizes = [], []
    rest = list(batches)
    while rest:
        window, rest = rest[:accumulation_steps], rest[accumulation_steps:]
        samples = sum(x.shape[0] for x, _ in window)
        for x, y in window:
            loss = mse_loss(model(x), y)
            loss.backward(torch.full_like(loss, x.shape[0] / samples))
            losses.append(float(loss.detach()))
            sizes.append(x.shape[0])
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
    return sum(loss * n for loss, n in zip(losses, sizes)) / sum(sizes)


# %% alternative="train_epoch"
def train_epoch(model, optimizer, batches, accumulation_steps):
    parameters = list(model.parameters())
    total, count = 0.0, 0
    for first in range(0, len(batches), accumulation_steps):
        window = batches[first : first + accumulation_steps]
        entries = sum(y.numel() for _, y in window)
        sums = [torch.zeros_like(parameter) for parameter in parameters]
        for x, y in window:
            loss = mse_loss(model(x), y, reduction="sum")
            for s, gradient in zip(sums, torch.autograd.grad(loss, parameters)):
                s += gradient / entries
            total += loss.item()
            count += y.numel()
        for parameter, s in zip(parameters, sums):
            parameter.grad = s
        optimizer.step()
    return total / count


# %% check="train_epoch"
from autograder import check

check("train_epoch")


# %% [markdown] tags=["en"]
# ## None is not zero
#
# `zero_grad()` sets `.grad` to `None`; `zero_grad(set_to_none=False)` fills it with zeros. After the default, `w.grad.zero_()` raises `AttributeError: 'NoneType' object has no attribute 'zero_'`. Does the difference matter to a step? Read this function, do not run it.
# %% [markdown] tags=["ru"] of="3e21ce43"
# ## None — это не ноль
#
# Вызов `zero_grad()` записывает в `.grad` значение `None`, а `zero_grad(set_to_none=False)` заполняет градиент нулями. После вызова без аргумента строка `w.grad.zero_()` приводит к ошибке `AttributeError: 'NoneType' object has no attribute 'zero_'`. Важна ли эта разница для шага? Прочтите функцию, не выполняя её.
# %%
def one_step_more(momentum, **how):
    """Step on a gradient of 1 and once more after `zero_grad`. Return the last gradient and weight."""
    w = torch.nn.Parameter(torch.tensor(1.0))
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=momentum)
    w.backward()
    optimizer.step()
    optimizer.zero_grad(**how)
    gradient = w.grad if w.grad is None else w.grad.item()
    optimizer.step()
    return gradient, round(w.item(), 4)


def none_and_zero():
    none, zero, plain = one_step_more(0.9), one_step_more(0.9, set_to_none=False), one_step_more(0.0, set_to_none=False)
    return {
        "w.grad after zero_grad()": none[0],
        "w: None, momentum": none[1],
        "w.grad after zero_grad(set_to_none=False)": zero[0],
        "w: zero, momentum": zero[1],
        "w: zero, no momentum": plain[1],
    }


# %% [markdown] tags=["en"]
# ### `predict_zero_grad`
#
# What does `none_and_zero()` return? The first step always takes `w` from 1 to 0.9.
# %% [markdown] tags=["ru"] of="c988e904"
# ### `predict_zero_grad`
#
# Что вернёт `none_and_zero()`? Первый шаг всегда уменьшает `w` с 1 до 0.9.
# %% answer="predict_zero_grad"
predict_zero_grad = {
    "w.grad after zero_grad()": None,
    "w: None, momentum": 0.9,
    "w.grad after zero_grad(set_to_none=False)": 0.0,
    "w: zero, momentum": 0.81,
    "w: zero, no momentum": 0.9,
}
# %% given="predict_zero_grad"
predict_zero_grad = {
    "w.grad after zero_grad()": ...,
    "w: None, momentum": ...,
    "w.grad after zero_grad(set_to_none=False)": ...,
    "w: zero, momentum": ...,
    "w: zero, no momentum": ...,
}
# %% check="predict_zero_grad"
from autograder import check

check("predict_zero_grad")
# %%
none_and_zero()
# %% [markdown] tags=["en"] explains="predict_zero_grad"
# `None` means "skip this parameter": neither momentum nor weight decay touches it. A zero is a gradient like any other: with momentum the velocity, 1 after the first step, goes on as $0.9 \cdot 1 = 0.9$, and the weight moves to $0.9 - 0.1 \cdot 0.9 = 0.81$. For plain descent there is no difference.
# %% [markdown] tags=["ru"] explains="predict_zero_grad" of="c3d4cb46"
# Значение `None` означает «пропустить этот параметр»: ни импульс (momentum), ни затухание весов (weight decay) на него не действуют. Ноль же — обычный градиент: с импульсом накопленная скорость, после первого шага равная 1, уменьшается до $0.9 \cdot 1 = 0.9$, и вес уменьшается до $0.9 - 0.1 \cdot 0.9 = 0.81$. Для обычного градиентного спуска разницы нет.
# %% tags=["fact"]
assert predict_zero_grad == none_and_zero()
w = torch.nn.Parameter(torch.tensor(1.0))
decaying = torch.optim.SGD([w], lr=0.1, weight_decay=0.5)
decaying.step()
assert w.item() == 1.0
w.grad = torch.zeros(())
decaying.step()
assert round(w.item(), 4) == 0.95
try:
    w = torch.nn.Parameter(torch.ones(2))
    w.sum().backward()
    torch.optim.SGD([w], lr=0.1).zero_grad()
    w.grad.zero_()
    raise SystemError("no error")
except AttributeError as error:
    assert str(error) == "'NoneType' object has no attribute 'zero_'"


# %% [markdown] tags=["en"]
# ## Clip once per window
#
# Clipping by norm shortens a gradient that is longer than `max_norm`. With accumulation, the gradient to clip is the whole window's. Clipping after each micro-batch cuts partial sums instead, and the direction of the result changes: the micro-batches that were cut count less.
#
# ### `clip_once`
#
# **Make one step from several micro-batches, with the norm of the whole gradient clipped to `max_norm`.**
#
# * **Given.** One window: `batches` are micro-batches of the same size. The optimizer may be any, also one with several groups of parameters, so the gradient itself is clipped; `y` may have several columns.
# * **Result.** One `optimizer.step()` with the gradient of the mean loss over all samples, whatever `.grad` held before, its norm over all parameters clipped to `max_norm`. The number of backward passes does not matter. Nothing is returned. <!-- weights -->
# %% [markdown] tags=["ru"] of="fc356cdc"
# ## Отсечение один раз за окно
#
# Отсечение градиента по норме (клиппинг) укорачивает градиент, норма которого больше `max_norm`. При накоплении отсекать нужно градиент всего окна. Если отсекать после каждого микробатча, укорачиваются частичные суммы и меняется направление результата: вклад микробатчей, вошедших в укороченные суммы, уменьшается.
#
# ### `clip_once`
#
# **Сделайте один шаг по нескольким микробатчам, ограничив норму всего градиента числом `max_norm`.**
#
# * **Дано.** Одно окно: `batches` — список микробатчей одного размера. Оптимизатор может быть любым, в том числе с несколькими группами параметров, поэтому отсекать нужно сами градиенты, а не уменьшать скорость обучения; в `y` может быть несколько столбцов.
# * **Результат.** Один `optimizer.step()` с градиентом функции потерь, усреднённой по всем примерам, что бы ни лежало в `.grad` раньше; норма этого градиента по всем параметрам ограничена числом `max_norm`. Число обратных проходов неважно. Функция ничего не возвращает. <!-- weights -->
# %% answer="clip_once"
def clip_once(model, optimizer, batches, max_norm):
    """One step with the window's mean gradient, clipped to `max_norm`."""
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    ### END SOLUTION


# %% alternative="clip_once"
def clip_once(model, optimizer, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()
    norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
    if norm > max_norm:
        for p in model.parameters():
            p.grad *= max_norm / (norm + 1e-6)
    optimizer.step()


# %% alternative="clip_once"
def clip_once(model, optimizer, batches, max_norm):
    entries = sum(y.numel() for _, y in batches)
    optimizer.zero_grad()
    for x, y in batches:
        mse_loss(model(x), y, reduction="sum").backward()
    for p in model.parameters():
        p.grad /= entries
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm, norm_type=2.0)
    optimizer.step()


# %% alternative="clip_once"
def clip_once(model, optimizer, batches, max_norm):
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    total = [torch.zeros_like(p) for p in parameters]
    for x, y in batches:
        for t, g in zip(total, torch.autograd.grad(mse_loss(model(x), y), parameters)):
            t += g / len(batches)
    norm = sum((t**2).sum() for t in total).sqrt()
    for p, t in zip(parameters, total):
        p.grad = t * min(1.0, max_norm / (norm + 1e-6))
    optimizer.step()


# %% check="clip_once"
from autograder import check

check("clip_once")


# %% [markdown] tags=["en"]
# ## Mixed precision: unscale, then clip
#
# Training in half precision multiplies the loss by a large number, often $2^{16}$, so that small gradients do not vanish. That is called loss scaling. Until `unscale_` has run, `.grad` is 65,536 times too long, and a comparison with `max_norm` means nothing. We need four methods of the `scaler`:
#
# | call | what it does |
# |---|---|
# | `scaler.scale(loss)` | the loss times the scale |
# | `scaler.unscale_(optimizer)` | divides all `.grad` by the scale, in place; at most once between two calls of `scaler.update()` |
# | `scaler.step(optimizer)` | unscales if that has not been done, then `optimizer.step()` |
# | `scaler.update()` | may choose a new scale; ends the window |
#
# The scaler of this exercise is a `torch.amp.GradScaler` on the CPU. It works in float64, so that only the order of your calls matters. It refuses a second `unscale_`, `unscale_` before `scale` or after `step`, a second `step`, and an `update` before anything is unscaled.
#
# ### `unscale_then_clip`
#
# **The contract of `clip_once`, with a `scaler`: the step is the one that you would make without a scale.**
#
# * **Result.** The step is the one you would make without a scale. <!-- weights -->
# * **Result.** It is made by `scaler.step(optimizer)`, which in real training also skips steps with infinite gradients, and the window ends with one `scaler.update()`. <!-- calls -->
# %% [markdown] tags=["ru"] of="7f2f8714"
# ## Смешанная точность: сначала снять масштаб, потом отсечь
#
# При обучении с половинной точностью значение функции потерь умножают на большое число, часто на $2^{16}$, чтобы малые градиенты не исчезали. Это называется масштабированием функции потерь (loss scaling). Пока не вызван метод `unscale_`, градиент в `.grad` в 65 536 раз больше настоящего, и сравнивать его норму с `max_norm` бессмысленно. Нам понадобятся четыре метода объекта `scaler`:
#
# | вызов | что делает |
# |---|---|
# | `scaler.scale(loss)` | умножает значение функции потерь на масштаб |
# | `scaler.unscale_(optimizer)` | делит все `.grad` на масштаб, на месте; не больше одного раза между вызовами `scaler.update()` |
# | `scaler.step(optimizer)` | снимает масштаб, если это ещё не сделано, и вызывает `optimizer.step()` |
# | `scaler.update()` | может выбрать новый масштаб; завершает окно |
#
# В этом упражнении дан объект `torch.amp.GradScaler` на CPU. Вычисления идут в float64, переполнения не бывает, и важен только порядок вызовов. К ошибке приводят повторный вызов `unscale_`, вызов `unscale_` раньше, чем `scale`, или позже, чем `step`, повторный вызов `step`, а также вызов `update`, если масштаб ещё не снят.
#
# ### `unscale_then_clip`
#
# **Те же условия, что у `clip_once`, но со `scaler`: шаг должен быть таким, каким он был бы без масштабирования.**
#
# * **Результат.** Шаг такой же, как без масштабирования. <!-- weights -->
# * **Результат.** Он сделан вызовом `scaler.step(optimizer)`, который при настоящем обучении ещё и пропускает шаги с бесконечными градиентами, а окно заканчивается одним вызовом `scaler.update()`. <!-- calls -->
# %% answer="unscale_then_clip"
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    """One step with the window's true mean gradient, clipped to `max_norm`, under a loss scale."""
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    for x, y in batches:
        loss = mse_loss(model(x), y) / len(batches)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    ### END SOLUTION


# %% alternative="unscale_then_clip"
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        (scaler.scale(mse_loss(model(x), y)) / len(batches)).backward()
    scaler.unscale_(optimizer)
    norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
    for p in model.parameters():
        p.grad *= torch.clamp(max_norm / (norm + 1e-6), max=1.0)
    scaler.step(optimizer)
    scaler.update()


# %% alternative="unscale_then_clip"
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    model.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y)).backward()
    scaler.unscale_(optimizer)
    for p in model.parameters():
        p.grad /= len(batches)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()


# %% alternative="unscale_then_clip"
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    optimizer.zero_grad()
    entries = sum(y.numel() for _, y in batches)
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y, reduction="sum") / entries).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    scaler.step(optimizer)
    optimizer.zero_grad()
    scaler.update()


# %% check="unscale_then_clip"
from autograder import check

check("unscale_then_clip")


# %% tags=["fact"]
def refused(*calls):
    w = torch.nn.Parameter(torch.ones(2))
    optimizer, scaler = torch.optim.SGD([w], lr=0.1), torch.amp.GradScaler("cpu")
    scaler.scale(w.sum()).backward()
    try:
        for call in calls:
            getattr(scaler, call)(*([] if call == "update" else [optimizer]))
    except (RuntimeError, AssertionError):
        return True
    return False


assert not refused("unscale_", "step", "update")
assert refused("unscale_", "unscale_") and refused("step", "unscale_") and refused("step", "step") and refused("update")
try:
    torch.amp.GradScaler("cpu").unscale_(torch.optim.SGD([torch.nn.Parameter(torch.ones(2))]))
    raise SystemError("no error")
except AssertionError as error:
    assert "_scale is None" in str(error)


# %% [markdown] tags=["en"]
# ## Means over tokens
#
# In a language model what counts is the number of tokens, not of sequences. `cross_entropy(..., ignore_index=-100)` divides by the number of tokens whose target is not `-100`.
#
# Two sequences of two tokens, two classes, all logits 0; the targets are (0, 0) and (1, padding). The first sequence has 2 valid tokens, the second 1. Look at the gradient with respect to the first logit of each valid token: if both losses are halved, it is $-0.125, -0.125, 0.25$; for the mean over three tokens it is $-0.167, -0.167, 0.167$.
#
# ### `token_mean`
#
# **Leave in `model.weight.grad` the gradient of the mean over all valid tokens of all micro-batches.**
#
# * **Given.** `batches`, a list of pairs `(x, y)`: `x` of shape $(n, t, 3)$, `y` of shape $(n, t)$ with classes 0 to 3, or `-100` for padding. `model(x)` gives logits of shape $(n, t, 4)$, and `token_loss` below is the loss of a micro-batch. Every micro-batch has at least one valid token.
# * **Result.** `model.weight.grad` holds the gradient of the mean over all valid tokens of all micro-batches, whatever `.grad` held before. The number of backward passes does not matter. <!-- gradient -->
# %% [markdown] tags=["ru"] of="28051832"
# ## Среднее по токенам
#
# В языковой модели важно число токенов, а не последовательностей. Функция `cross_entropy(..., ignore_index=-100)` делит сумму на число токенов, у которых метка не равна `-100`.
#
# Возьмём два микробатча, в каждом по одной последовательности из двух токенов. Классов два, все логиты равны 0, метки — (0, 0) и (1, паддинг). В первой последовательности 2 настоящих токена, во второй — 1. Посмотрим на градиент по первому логиту каждого настоящего токена: если оба значения функции потерь разделить на 2, получится $-0.125, -0.125, 0.25$, а если взять среднее по трём токенам, то $-0.167, -0.167, 0.167$.
#
# ### `token_mean`
#
# **Оставьте в `model.weight.grad` градиент среднего по всем настоящим токенам всех микробатчей.**
#
# * **Дано.** Список пар `(x, y)` в аргументе `batches`: тензор `x` формы $(n, t, 3)$ и тензор `y` формы $(n, t)$ с номерами классов от 0 до 3 или `-100` на месте паддинга. Вызов `model(x)` даёт логиты формы $(n, t, 4)$, а функция потерь на микробатче — `token_loss`, она определена ниже. В каждом микробатче есть хотя бы один настоящий токен.
# * **Результат.** В `model.weight.grad` лежит градиент среднего по всем настоящим токенам всех микробатчей, что бы ни лежало в `.grad` раньше. Число обратных проходов неважно. <!-- gradient -->
# %%
def token_loss(model, x, y):
    """Mean cross-entropy over the tokens that are no padding."""
    return cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=-100)


# %% tags=["fact"]
z = torch.zeros(4, 2, requires_grad=True)
y = torch.tensor([0, 0, 1, -100])
for s in (0, 2):
    (cross_entropy(z[s : s + 2], y[s : s + 2]) / 2).backward()
assert z.grad[:, 0].tolist() == [-0.125, -0.125, 0.25, 0.0]
z.grad = None
cross_entropy(z, y).backward()
assert [round(v, 3) for v in z.grad[:, 0].tolist()] == [-0.167, -0.167, 0.167, 0.0]


# %% answer="token_mean"
def token_mean(model, batches):
    """Leave in `model.weight.grad` the gradient of the mean loss over all valid tokens of `batches`."""
    ### BEGIN SOLUTION
    tokens = sum((y != -100).sum() for _, y in batches)
    model.zero_grad()
    for x, y in batches:
        loss = token_loss(model, x, y) * (y != -100).sum() / tokens
        loss.backward()
    ### END SOLUTION


# %% alternative="token_mean"
def token_mean(model, batches):
    tokens = sum(int((y != -100).sum()) for _, y in batches)
    model.zero_grad()
    for x, y in batches:
        logits, targets = model(x).flatten(0, 1), y.flatten()
        (cross_entropy(logits, targets, reduction="sum") / tokens).backward()


# %% alternative="token_mean"
def token_mean(model, batches):
    total, tokens = torch.zeros_like(model.weight), 0
    for x, y in batches:
        n = (y >= 0).sum().item()
        total += n * torch.autograd.grad(token_loss(model, x, y), model.weight)[0]
        tokens += n
    model.weight.grad = total / tokens


# %% alternative="token_mean"
def token_mean(model, batches):
    model.weight.grad = None
    tokens = 0
    for x, y in batches:
        valid = y != -100
        cross_entropy(model(x[valid]), y[valid], reduction="sum").backward()
        tokens += valid.sum()
    model.weight.grad /= tokens


# %% check="token_mean"
from autograder import check

check("token_mean")


# %% [markdown] tags=["en"]
# ## When accumulation does not replace the big batch
#
# Accumulation rests on one assumption: the loss of a sample does not depend on the samples beside it. Then the big batch's loss is a sum over samples, and a sum can be cut anywhere. If a layer looks across the batch, no weight of the losses repairs it.
#
# ### `break_accumulation`
#
# **Find a model and batches of one size for which accumulation gives another gradient than the joined batch.**
#
# The check accumulates `mse_loss(model(x), y) / len(batches)` and compares with one backward pass on the joined batch.
#
# * **Result.** A pair `(model, batches)`: a `torch.nn.Module`, and a list of two or more pairs `(x, y)` of the same size. <!-- same_sizes -->
# * **Result.** Each `y` has the shape of `model(x)`. <!-- same_shapes -->
# * **Result.** The two gradients differ by more than 1 %. <!-- differs -->
# * **Result.** The big batch gives the same gradient each time. <!-- repeatable -->
# %% [markdown] tags=["ru"] of="d060e808"
# ## Когда накопление не заменяет большой батч
#
# Накопление основано на одном предположении: значение функции потерь на примере не зависит от соседних примеров. Тогда функция потерь большого батча с точностью до множителя равна сумме по примерам, а сумму можно разбить на части как угодно. Если же выход слоя зависит от всего батча сразу, никакими множителями перед функцией потерь этого не исправить.
#
# ### `break_accumulation`
#
# **Найдите модель и батчи одного размера, для которых накопление даёт не тот градиент, что склеенный батч.**
#
# При проверке накапливаются градиенты величин `mse_loss(model(x), y) / len(batches)`, и сумма сравнивается с градиентом, полученным за один обратный проход по склеенному батчу.
#
# * **Результат.** Пара `(model, batches)`: модель, то есть объект класса `torch.nn.Module`, и список из двух или более пар `(x, y)` одного размера. <!-- same_sizes -->
# * **Результат.** Форма каждого `y` такая же, как у `model(x)`. <!-- same_shapes -->
# * **Результат.** Эти два градиента различаются больше чем на 1 %. <!-- differs -->
# * **Результат.** Большой батч каждый раз даёт один и тот же градиент. <!-- repeatable -->
# %% answer="break_accumulation"
def break_accumulation():
    """A model and equal micro-batches for which accumulation differs from the big batch."""
    ### BEGIN SOLUTION
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(1), torch.nn.Linear(1, 1))
    x = torch.tensor([[0.0], [2.0], [4.0], [6.0]])
    y = torch.tensor([[0.0], [1.0], [5.0], [3.0]])
    return model, [(x[:2], y[:2]), (x[2:], y[2:])]
    ### END SOLUTION


# %% alternative="break_accumulation"
class Centred(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.weight * (x - x.mean())


def break_accumulation():
    x = torch.arange(6.0).reshape(6, 1)
    return Centred(), [(x[:3], x[:3] ** 2), (x[3:], x[3:] ** 2)]


# %% alternative="break_accumulation"
class Scaled(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x / x.abs().max())


def break_accumulation():
    pieces = torch.tensor([[1.0], [2.0], [30.0], [40.0]]).split(2)
    return Scaled(1, 1), [(piece, torch.ones(2, 1)) for piece in pieces]


# %% alternative="break_accumulation"
def break_accumulation():
    net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1)).double()
    x = torch.linspace(-1, 3, 24, dtype=torch.float64).reshape(12, 2) ** 2
    return net, [(part, part.sum(1, keepdim=True).sin() * 5) for part in x.chunk(3)]


# %% check="break_accumulation"
from autograder import check

check("break_accumulation")
# %% tags=["fact"]
layer = torch.nn.LayerNorm(2)
rows = torch.tensor([[1.0, 5.0], [2.0, -3.0]])
assert torch.allclose(layer(rows)[0], layer(rows[:1])[0])
batch_norm = torch.nn.BatchNorm1d(2)
assert not torch.allclose(batch_norm(rows)[0], batch_norm(torch.tensor([[1.0, 5.0], [9.0, 9.0]]))[0])


# %% [markdown] tags=["en"]
# `LayerNorm` normalises each sample on its own, so it accumulates exactly; `BatchNorm` in training mode does not. Dropout is a different case: it draws a new mask for each call, and even two calls on the big batch give different gradients.
# %% [markdown] tags=["ru"] of="8ea17b3b"
# Слой `LayerNorm` нормирует каждый пример отдельно, поэтому с ним накопление даёт точный результат, а с `BatchNorm` в режиме обучения — нет. С dropout дело обстоит иначе: при каждом вызове выбирается новая маска, и даже для большого батча два вызова дают разные градиенты.
# %% [markdown] tags=["en"]
# ## Write the test
#
# Two loops agreed and were both wrong. What would have caught them is a test with a truth of its own.
#
# ### `is_right`
#
# **Write a test that accepts every right way to accumulate, and refuses the wrong ones.**
#
# * **Given.** A function `accumulate(parameter, micro_batches)`: `parameter` is a leaf tensor, `micro_batches` a list of pairs `(mean_loss, n)`. Calling `mean_loss()` gives the mean loss of `n` samples as a tensor that depends on `parameter`.
# * **Result.** `True` if the function leaves in `parameter.grad` the gradient of the mean over all samples, whatever `.grad` held before, and however it is written. <!-- accepts_right -->
# * **Result.** Else `False`; an `AssertionError` counts as `False`. The test earns points for the wrong functions that it refuses, but only if it accepts every right one. <!-- catches_old_gradient, catches_zeroing_inside, catches_missing_last, catches_sum_of_means, catches_missing_division, catches_equal_weights, catches_division_by_samples -->
# %% [markdown] tags=["ru"] of="25ca302b"
# ## Напишите тест
#
# Два цикла в начале урока давали одинаковый результат, и оба были неверны. Ошибку выявил бы тест с независимо вычисленным эталоном.
#
# ### `is_right`
#
# **Напишите тест, который принимает любое верное накопление градиента и отвергает неверные.**
#
# * **Дано.** Функция `accumulate(parameter, micro_batches)`: `parameter` — листовой тензор, `micro_batches` — список пар `(mean_loss, n)`. Вызов `mean_loss()` даёт среднее значение функции потерь по `n` примерам в виде тензора, зависящего от `parameter`.
# * **Результат.** `True`, если функция оставляет в `parameter.grad` градиент среднего по всем примерам, что бы ни лежало в `.grad` раньше и как бы она ни была написана. <!-- accepts_right -->
# * **Результат.** Иначе `False`; исключение `AssertionError` тоже считается ответом `False`. Баллы начисляются за каждую отвергнутую неправильную функцию, но только если тест принял все правильные. <!-- catches_old_gradient, catches_zeroing_inside, catches_missing_last, catches_sum_of_means, catches_missing_division, catches_equal_weights, catches_division_by_samples -->
# %% answer="is_right"
def is_right(accumulate):
    """Is `accumulate(parameter, micro_batches)` right?"""
    ### BEGIN SOLUTION
    x = torch.tensor([1.0, 2.0, 3.0, 5.0])
    w = torch.tensor(1.5, requires_grad=True)
    (expected,) = torch.autograd.grad(((w * x) ** 2).mean(), w)
    w.grad = torch.tensor(1000.0)  # from an earlier backward pass
    accumulate(w, [(lambda: ((w * x[:3]) ** 2).mean(), 3), (lambda: ((w * x[3:]) ** 2).mean(), 1)])
    return torch.allclose(w.grad, expected)
    ### END SOLUTION


# %% alternative="is_right"
def is_right(accumulate):
    w = torch.ones(2, requires_grad=True)
    parts = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]]).split([1, 2])
    w.grad = torch.full((2,), -7.0)
    accumulate(w, [(lambda p=p: (p @ w).square().mean(), len(p)) for p in parts])
    got = w.grad.clone()
    w.grad = None
    (torch.cat(parts) @ w).square().mean().backward()
    return bool((got - w.grad).abs().max() < 1e-5)


# %% alternative="is_right"
def is_right(accumulate):
    # mean losses 1*w over 1 sample, 10*w over 2, 100*w over 5: the mean over all is (1 + 20 + 500) / 8
    w = torch.tensor(0.0, requires_grad=True)
    w.grad = torch.tensor(3.0)
    accumulate(w, [(lambda: 1 * w, 1), (lambda: 10 * w, 2), (lambda: 100 * w, 5)])
    return abs(w.grad.item() - 521 / 8) < 1e-3


# %% alternative="is_right"
def is_right(accumulate):
    def gradient(sizes, old):
        w = torch.tensor([2.0, 1.0], dtype=torch.float64, requires_grad=True)
        w.grad = None if old is None else torch.full_like(w, old)
        x = torch.linspace(1, 4, sum(sizes) * 2, dtype=torch.float64).reshape(-1, 2)
        accumulate(w, [(lambda p=p: ((p * w).sum(1) - 1).pow(2).mean(), len(p)) for p in x.split(sizes)])
        return w.grad

    w = torch.tensor([2.0, 1.0], dtype=torch.float64, requires_grad=True)
    whole = torch.linspace(1, 4, 12, dtype=torch.float64).reshape(-1, 2)
    ((whole * w).sum(1) - 1).pow(2).mean().backward()
    return all(torch.allclose(gradient(sizes, 50.0), w.grad) for sizes in ([1, 5], [2, 2, 2], [4, 1, 1]))


# %% check="is_right"
from autograder import check

check("is_right")


# %% [markdown] tags=["en"]
# ## What broadcasting has copied
#
# The bias of the net has 10 numbers, the result of `x @ w2` has 15 rows of 10. So each number of the bias was used 15 times. A value that is used several times gets the sum of its gradients, and copies are nothing else. Your engine sums, too, in `record`. Here is another try.
#
# ### `unbroadcast`
#
# **Sum over all copies that broadcasting has made.** Mend the function.
#
# * **Given.** `gradient`, a float64 tensor, and `shape`, a tuple. A tensor of the shape `shape` can be broadcast to the shape of `gradient`.
# * **Result.** A tensor of the shape `shape`: each entry is the sum over all copies that broadcasting makes of it. <!-- result -->
# * **Leave.** `gradient`. <!-- no aspect: the card has a note for it -->
# %% [markdown] tags=["ru"] of="a16f1885"
# ## Копии при транслировании
#
# Смещение сети — это 10 чисел, а в `x @ w2` 15 строк по 10. Значит, каждое число смещения использовано 15 раз. Значение, которое использовано несколько раз, получает сумму градиентов, и копии — тот же случай. В вашем движке их складывает `record`. Вот ещё одна попытка.
#
# ### `unbroadcast`
#
# **Сложите градиенты всех копий, которые получились при транслировании.** Исправьте функцию.
#
# * **Дано.** Тензор `gradient` float64 и кортеж `shape`. Тензор формы `shape` можно транслировать до формы `gradient`.
# * **Результат.** Тензор формы `shape`: каждый элемент — сумма градиентов всех копий, которые получаются из него при транслировании. <!-- result -->
# * **Не менять.** Тензор `gradient`. <!-- no aspect: the card has a note for it -->
# %% answer="unbroadcast"
def unbroadcast(gradient, shape):
    while gradient.dim() > len(shape):
        gradient = gradient.sum(0)
    for d, size in enumerate(shape):
        if size == 1:
            gradient = gradient.sum(d, keepdim=True)
    return gradient


# %% given="unbroadcast"
def unbroadcast(gradient, shape):
    while gradient.dim() > len(shape):
        gradient = gradient.sum(-1)
    return gradient


# %% alternative="unbroadcast"
def unbroadcast(gradient, shape):
    return gradient.sum_to_size(shape)


# %% alternative="unbroadcast"
def unbroadcast(gradient, shape):
    padded = (1,) * (gradient.dim() - len(shape)) + tuple(shape)
    copied = [d for d, size in enumerate(padded) if size == 1]
    return (gradient.sum(copied, keepdim=True) if copied else gradient).reshape(shape)


# %% alternative="unbroadcast"
def unbroadcast(gradient, shape):
    owner = torch.arange(torch.Size(shape).numel()).reshape(shape).expand(gradient.shape)
    result = torch.zeros(torch.Size(shape).numel(), dtype=gradient.dtype)
    return result.index_add(0, owner.reshape(-1), gradient.reshape(-1)).reshape(shape)


# %% check="unbroadcast"
from autograder import check

check("unbroadcast")
# %% [markdown] tags=["en"] explains="unbroadcast"
# Your engine's `record` calls `sum_to_size` for that.
# %% [markdown] tags=["ru"] explains="unbroadcast" of="c9dae7b4"
# В вашем движке для этого функция `record` вызывает `sum_to_size`.


# %% [markdown] tags=["en"]
# ## On a GPU
#
# The rules above are those of autograd, not of a device. Accumulation is there to save memory, and on a GPU the allocator itself measures the peak. With a GPU the cell shows both peaks for $K = 8$: if the losses are summed first, the peak is higher by what seven more graphs keep, over 300,000 bytes.
# %% [markdown] tags=["ru"] of="88deeb99"
# ## На GPU
#
# Правила, о которых шла речь, от устройства не зависят: их задаёт autograd. Накопление нужно, чтобы экономить память, а её пиковый расход на GPU измеряет сам аллокатор. На машине с GPU ячейка покажет оба пиковых значения при $K = 8$: если потери сначала сложить, пик выше на столько, сколько занимают ещё семь графов, — больше чем на 300 000 байт.
# %%
from copy import deepcopy

from autograder import gpu_peak, on_gpu


def accumulation_on_gpu():
    model = deepcopy(net).cuda()
    x, y = (tensor.cuda() for tensor in micro_batch)

    def loss():
        return mse_loss(model(x), y) / 8

    def one_at_a_time():
        for _ in range(8):
            loss().backward()

    def summed_first():
        sum(loss() for _ in range(8)).backward()

    return {"peak bytes, one at a time": gpu_peak(one_at_a_time), "summed first": gpu_peak(summed_first)}


on_gpu(accumulation_on_gpu)
# %% tags=["fact"]
from autograder.lessons.gpu_recordings import check_claims

check_claims(
    accumulation_on_gpu,
    lambda measured: {
        "summed first, the peak is over 300,000 bytes higher": measured["summed first"]
        - measured["peak bytes, one at a time"]
        > 300_000,
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
