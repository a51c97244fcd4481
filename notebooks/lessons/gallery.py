# %% [markdown] tags=["en"]
# # Gallery: what the pictures show
#
# `draw(loss)` shows the graph behind a tensor, `steps(loss)` goes through its backward pass one step at a time. Each section below shows one thing that they can tell you; change the code and look again.
# %% [markdown] tags=["ru"] of="a7ed0a3f"
# # Галерея: что видно на рисунках
#
# `draw(loss)` показывает граф тензора, `steps(loss)` проходит его обратный проход по шагам. Каждый раздел показывает одно из того, что можно узнать; меняйте код и смотрите снова.
# %% tags=["en"]
from autograder import start

start(language="en")
# %% tags=["ru"]
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
# Boxes with your variables' names are tensors: a cylinder for a leaf, dashes for a constant, round corners for an intermediate tensor, a double frame for the output; `.grad` is still a dash. Grey boxes are the steps of backward with what they have saved, byte by byte; a dashed arrow ends at a constant, which gets no gradient.
# %% [markdown] tags=["ru"] of="90912c48"
# ## Граф до обратного прохода
#
# Блоки с именами ваших переменных — тензоры: цилиндр — лист, штриховая рамка — константа, скруглённые углы — промежуточный тензор, двойная рамка — выход; в `.grad` пока прочерк. Серые блоки — шаги обратного прохода и то, что для них сохранено, с точностью до байта; штриховая стрелка кончается у константы, ей градиент не нужен.
# %%
torch.manual_seed(0)
x = torch.rand(4, 3)
w = torch.rand(3, 2, requires_grad=True)
b = torch.tensor([0.1, -0.1], requires_grad=True)
h = torch.tanh(x @ w + b)
loss = (h * h).sum()
draw(loss)
# %% [markdown] tags=["en"]
# ## The same as text
#
# Every picture has a text twin with the same facts, for a terminal or a screen reader; it is also what you see where nothing can be drawn.
# %% [markdown] tags=["ru"] of="e7dddddf"
# ## То же самое текстом
#
# У каждого рисунка есть текст с теми же сведениями — для терминала и для программы экранного доступа; его же вы увидите там, где нарисовать нельзя.
# %%
print(draw(loss))
# %% [markdown] tags=["en"]
# ## After the backward pass
#
# Gradients have landed, with values or a norm, and what was saved is freed.
# %% [markdown] tags=["ru"] of="7eaf0cd2"
# ## После обратного прохода
#
# Градиенты пришли в листья — видны значения или норма, — а сохранённое освобождено.
# %%
loss.backward()
draw(loss)
# %% [markdown] tags=["en"]
# ## An edit in place
#
# The version counter of `h` has moved on, and the step that saved `h` says that it will refuse.
# %% [markdown] tags=["ru"] of="f47b3c71"
# ## Изменение на месте
#
# Счётчик версий `h` ушёл вперёд, и шаг, который сохранил `h`, предупреждает об ошибке.
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
# Точечная линия ведёт от представления к основе; изменить представление — значит изменить и основу.
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
# Если у шага несколько выходов, у стрелок написано, к какому они относятся.
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
# Она помечена; видно, что она сохранила через `save_for_backward`, а что просто положила в `ctx`.
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
draw(loss)


# %% [markdown] tags=["en"]
# ## Hooks and `retain_grad`
#
# Every hook is at its tensor by the name of its function, and `retain_grad()` by its own.
# %% [markdown] tags=["ru"] of="66f72cb4"
# ## Хуки и `retain_grad`
#
# Каждый хук виден у своего тензора под именем функции, виден и вызов `retain_grad()`.
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
draw(loss)
# %% [markdown] tags=["en"]
# ## Packed by hooks, and checkpoints
#
# What a hook or a checkpoint has packed stays packed: looking at it computes nothing again.
# %% [markdown] tags=["ru"] of="82a317f9"
# ## Упаковано хуками; контрольные точки
#
# Что упаковали хук или контрольная точка, остаётся упакованным: от взгляда ничего не вычисляется заново.
# %%
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
t = torch.rand(3, 2)
with save_on_cpu():
    h = net(t)
loss = checkpoint(torch.sin, h, use_reentrant=False).sum()
draw(loss)
# %% [markdown] tags=["en"]
# ## Thousands of steps
#
# A loop is folded into its first turn and a block for all the others, with a count.
# %% [markdown] tags=["ru"] of="ba10fe55"
# ## Тысячи шагов
#
# Цикл свёрнут: виден первый оборот и блок на все остальные, с их числом.
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
# After `create_graph=True` the gradient has a graph; what belongs to it alone stands in a lane of its own.
# %% [markdown] tags=["ru"] of="29ca2584"
# ## Градиент градиента
#
# После `create_graph=True` у градиента есть граф; то, что нужно только ему, стоит на отдельной дорожке.
# %%
t = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (t**3).sum()
(grad,) = torch.autograd.grad(loss, t, create_graph=True)
draw(loss, grad)
# %% [markdown] tags=["en"]
# ## One step at a time
#
# `steps` shows what has run, what runs and what waits: the gradients in and out, where they add up as before + increment = after, and what would be freed. Use the arrow keys.
# %% [markdown] tags=["ru"] of="538c7072"
# ## По одному шагу
#
# `steps` показывает, что выполнено, что выполняется и что ждёт: градиенты на входе и на выходе, где они складываются (было + прибавка = стало) и что освободилось бы. Листайте клавишами со стрелками.
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
# Проход был настоящим, но `.grad` остался прежним, и `backward()` по-прежнему возможен.
# %%
print(w.grad, t.grad)
loss.backward()
print(w.grad, t.grad)
# %% [markdown] tags=["en"]
# ## What cannot be drawn
#
# Everything gets a picture and a sentence, never a traceback.
# %% [markdown] tags=["ru"] of="d0bb6910"
# ## Что нарисовать нельзя
#
# В ответ всегда рисунок и фраза, а не сообщение об исключении.
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
