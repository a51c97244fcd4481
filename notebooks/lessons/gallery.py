# %% [markdown] tags=["en"]
# # Gallery: what the pictures show
#
# `draw(loss)` shows the graph behind a tensor, `steps(loss)` goes through its backward pass one step at a time. Each section below has one example of what you can see in a picture; change the code and look again.
# %% [markdown] tags=["ru"] of="374a15e1"
# # Галерея: что видно на рисунках
#
# Вызов `draw(loss)` показывает граф тензора, а `steps(loss)` — обратный проход от него по шагам. В каждом разделе — один пример того, что можно увидеть на рисунке. Измените код и посмотрите ещё раз.
# %% tags=["en"]
# Does the import fail? Install the course by pip (its file, or autograd-course),
# and uninstall another `autograder`.
from autograder import start

start(language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import start

start(language="ru")
# %%
import torch
from torch import nn
from torch.autograd.graph import save_on_cpu
from torch.utils.checkpoint import checkpoint

from autograder import draw, steps

# %% [markdown] tags=["en"]
# ## A graph before its backward pass
#
# Boxes with your variables' names are tensors: a cylinder for a leaf, dashes for a constant, round corners for an intermediate tensor, a double frame for the output; `.grad` is still a dash. Grey boxes are the steps of backward. Beside an arrow between single numbers stands the derivative of the step. With `saved=True` you also see what each step keeps, byte by byte. A dashed arrow ends at a constant, which gets no gradient.
# %% [markdown] tags=["ru"] of="6222b65f"
# ## Граф до обратного прохода
#
# Блоки с именами ваших переменных — это тензоры. Лист изображён цилиндром, константа — штриховой рамкой, нелистовой (промежуточный) тензор — рамкой со скруглёнными углами, выход — двойной рамкой. В `.grad` пока прочерк. Серые блоки — это узлы графа, то есть шаги обратного прохода. У стрелки между двумя числами стоит производная этого шага. С `saved=True` видно и то, что в каждом узле сохранено, с точностью до байта. Штриховая стрелка заканчивается у константы, которой градиент не нужен.
# %%
torch.manual_seed(0)
x = torch.rand(4, 3)
w = torch.rand(3, 2, requires_grad=True)
b = torch.tensor([0.1, -0.1], requires_grad=True)
h = torch.tanh(x @ w + b)
loss = (h * h).sum()
draw(loss, saved=True)
# %% [markdown] tags=["en"]
# ## The same as text
#
# Every picture has a text twin with the same facts, for a terminal or a screen reader; it is also what you see where nothing can be drawn. `draw(loss).save("graph.svg")` writes the picture to a file, also `.png` or `.dot`.
# %% [markdown] tags=["ru"] of="274521ef"
# ## То же самое текстом
#
# У каждого рисунка есть текстовая версия с теми же сведениями — для терминала и для программы экранного доступа. Её же вы увидите там, где рисунок показать нельзя. Вызов `draw(loss).save("graph.svg")` записывает рисунок в файл. Другие окончания имени — `.png` и `.dot`.
# %%
print(draw(loss))
# %% [markdown] tags=["en"]
# ## After the backward pass
#
# The gradients are in the leaves, with values or a norm, and what was saved is freed.
# %% [markdown] tags=["ru"] of="2e93c92e"
# ## После обратного прохода
#
# Градиенты записаны в листья (показаны значения или норма), а сохранённое освобождено.
# %%
loss.backward()
draw(loss, saved=True)
# %% [markdown] tags=["en"]
# ## An edit in place
#
# The version counter of `h` has grown, and at the step that saved `h` a warning says that backward will fail.
# %% [markdown] tags=["ru"] of="0bb7cb96"
# ## Изменение на месте
#
# Счётчик версий тензора `h` увеличился, и у узла, в котором сохранён `h`, стоит предупреждение об ошибке.
# %%
t = torch.tensor([1.0, 2.0], requires_grad=True)
h = t.exp()
loss = h.sum()
with torch.no_grad():
    h.mul_(10)
draw(loss)
# %% [markdown] tags=["en"]
# ## Views
#
# A dotted line leads from a view to its base; an edit through the view is an edit of the base, too.
# %% [markdown] tags=["ru"] of="0760ebda"
# ## Представления
#
# Пунктирная линия ведёт от представления к исходному тензору. Изменение представления меняет и исходный тензор.
# %%
m = torch.ones(2, 2, requires_grad=True)
base = m * 1
row = base[0]
row.mul_(3)
loss = base.sum() + row.prod()
draw(loss)
# %% [markdown] tags=["en"]
# ## Several outputs
#
# Where a step has several outputs, the arrows say which one they belong to.
# %% [markdown] tags=["ru"] of="4a9ef58d"
# ## Несколько выходов
#
# Если у операции несколько выходов, у стрелок написано, к какому выходу они относятся.
# %%
m = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
first, second = m.unbind()
loss = (second - first).prod()
draw(loss)


# %% [markdown] tags=["en"]
# ## A Function of your own
#
# It is marked, with what it saved by `save_for_backward` and what it only put on `ctx`.
# %% [markdown] tags=["ru"] of="7729e065"
# ## Ваша собственная функция
#
# Ваша функция помечена на рисунке. Видно, что сохранено с помощью `save_for_backward`, а что просто лежит в `ctx`.
# %%
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.square = x * x
        return x * ctx.square

    @staticmethod
    def backward(ctx, gradient):
        return 3 * gradient * ctx.square


t = torch.tensor([1.0, 2.0], requires_grad=True)
loss = Cube.apply(t).sum()
draw(loss, saved=True)


# %% [markdown] tags=["en"]
# ## Hooks and `retain_grad`
#
# At each tensor the names of its hooks are shown, and a call of `retain_grad()`.
# %% [markdown] tags=["ru"] of="733dbbf6"
# ## Хуки и `retain_grad`
#
# У каждого тензора показаны имена его хуков, показан и вызов `retain_grad()`.
# %%
def clip(gradient):
    return gradient.clamp(-1, 1)


def log(leaf):
    pass


t = torch.tensor([1.0, 2.0], requires_grad=True)
t.register_post_accumulate_grad_hook(log)
h = t * t
h.register_hook(clip)
h.retain_grad()
loss = (3 * h).sum()
draw(loss, saved=True)
# %% [markdown] tags=["en"]
# ## Packed by hooks, and checkpoints
#
# What a hook or a checkpoint has packed stays packed: nothing is computed again to show it.
# %% [markdown] tags=["ru"] of="1242f17c"
# ## Упакованное хуками и контрольные точки
#
# То, что упаковано хуком или контрольной точкой, остаётся упакованным: при показе ничего не вычисляется заново.
# %%
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
t = torch.rand(3, 2)
with save_on_cpu():
    h = net(t)
loss = checkpoint(torch.sin, h, use_reentrant=False).sum()
draw(loss, saved=True)
# %% [markdown] tags=["en"]
# ## Thousands of steps
#
# A loop is folded into its first iteration and a block for all the others, with a count.
# %% [markdown] tags=["ru"] of="36d2983d"
# ## Тысячи шагов
#
# Цикл свёрнут: показаны первая итерация и блок, который заменяет остальные. В нём указано их число.
# %%
w = torch.tensor([1.1, 1.2], requires_grad=True)
state = torch.ones(2)
for _ in range(1000):
    state = torch.tanh(w * state)
loss = state.sum()
draw(loss)
# %% [markdown] tags=["en"]
# ## A gradient of a gradient
#
# After `create_graph=True` the gradient has a graph; what belongs to it alone stands in a frame of its own.
# %% [markdown] tags=["ru"] of="84b6c8ac"
# ## Градиент градиента
#
# После `create_graph=True` у градиента есть граф. То, что нужно только для градиента, обведено отдельной рамкой.
# %%
t = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (t**3).sum()
(grad,) = torch.autograd.grad(loss, t, create_graph=True)
draw(loss, grad)
# %% [markdown] tags=["en"]
# ## One step at a time
#
# `steps` shows which steps have run, which one runs and which are still to come, the gradients in and out, where they add up as before + increment = after, and what would be freed. Use the arrow keys.
# %% [markdown] tags=["ru"] of="a38fd6ed"
# ## По шагам
#
# Функция `steps` показывает, какие шаги выполнены, какой выполняется и какие ещё впереди, градиенты на входе и на выходе, места, где градиенты складываются (было + прибавка = стало), и то, что было бы освобождено. Листайте шаги клавишами со стрелками.
# %%
w = torch.tensor([3.0, 4.0], requires_grad=True)
w.grad = torch.tensor([100.0, 200.0])  # left by the last micro-batch
t = torch.tensor([1.0, 2.0], requires_grad=True)
t.register_hook(clip)
h = w * t
loss = (h * h).sum()
steps(loss)
# %% [markdown] tags=["en"]
# ## Nothing has changed
#
# The pass was real, yet `.grad` is as it was, and `backward()` can still run.
# %% [markdown] tags=["ru"] of="7e3a51d3"
# ## Ничего не изменилось
#
# Обратный проход был настоящим, но `.grad` остался прежним, и `backward()` по-прежнему можно вызвать.
# %%
print(w.grad, t.grad)
loss.backward()
print(w.grad, t.grad)
# %% [markdown] tags=["en"]
# ## Digits with a net's answers
#
# `plot_digits` shows nine pictures at each moment of a training, with the net's answers to them and how many of all are right. Here each picture is compared with the mean picture of each digit, made from more and more of the pictures.
# %% [markdown] tags=["ru"] of="a1885bf4"
# ## Цифры и ответы сети
#
# Функция `plot_digits` показывает девять изображений в разные моменты обучения, ответы сети на них и число верных ответов на все изображения. Здесь вместо сети каждое изображение сравнивается со средним изображением каждой цифры, а средние взяты по всё большему числу изображений.
# %%
from autograder import digits, plot_digits

pictures, labels = digits()


def nearest_mean(count):
    means = torch.stack([pictures[:count][labels[:count] == digit].mean(0) for digit in range(10)])
    return torch.cdist(pictures, means).argmin(1)


plot_digits(pictures, labels, {count: nearest_mean(count) for count in (10, 100, 1797)})
# %% [markdown] tags=["en"]
# ## What cannot be drawn
#
# Everything gets a picture and a sentence, never a traceback.
# %% [markdown] tags=["ru"] of="d0bb6910"
# ## Что нарисовать нельзя
#
# В ответ всегда появляется рисунок с пояснением, а не сообщение об исключении.
# %%
draw(loss.item())
# %%
draw(torch.arange(3))
# %%
draw(net)
# %%
twice = w * 2
steps(twice)
# %%
steps(loss)  # its graph was freed above
