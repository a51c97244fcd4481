# %% [markdown] tags=["en"] needs="01" about="what the modes let happen and cost, which end to freeze, edits that break backward"
# # Grad modes and in-place edits
#
# A model is done with training and makes predictions. Its author has read that `detach()` “achieves the same result” as `no_grad()`, and writes `model(x).detach()`. The predictions are right. The memory is not: every activation was kept until the call of `detach()`.
#
# This lesson is about what may be left out of the graph, and what may be changed under it.
#
# And your own engine (lesson 02) cannot stop recording, and after an edit its gradient is wrong without an error: what must it count to notice the edit, as torch does?
#
# After it you can:
#
# * tell `no_grad`, `inference_mode`, `enable_grad`, `eval` and `detach` apart by what they let happen;
# * freeze the part of a model whose freezing saves memory;
# * say before you run it which in-place edit breaks the backward pass and which does not;
# * use features of a frozen network, and make predictions, without a graph.
#
# You need lesson 01: leaves, `no_grad()`, `.data` and the version counter.
# %% [markdown] tags=["ru"] about="что разрешают режимы и во что они обходятся, с какого конца замораживать, какие изменения ломают обратный проход" of="d5bbb25b"
# # Режимы отслеживания и операции с изменением на месте
#
# Модель обучена, пора получать предсказания. Автор кода прочёл, что `detach()` «даёт тот же результат», что и `no_grad()`, и написал `model(x).detach()`. Предсказания верны, но памяти уходит слишком много: все активации хранятся до самого вызова `detach()`.
#
# В этом уроке мы разберёмся, что можно не записывать в граф и что можно изменить, пока граф ещё нужен.
#
# А ваш собственный движок (урок 02) записывает всё подряд, и после изменения на месте его градиент неверен без всякой ошибки: что он должен считать, чтобы, как torch, заметить изменение?
#
# После урока вы сможете:
#
# * различать `no_grad`, `inference_mode`, `enable_grad`, `eval` и `detach` по тому, на что они влияют;
# * выбирать, какую часть модели заморозить, чтобы сэкономить память;
# * предсказывать, какое изменение на месте сломает обратный проход, а какое нет;
# * использовать признаки замороженной сети и получать предсказания без графа.
#
# Понадобится урок 01: листья, `no_grad()`, `.data` и счётчик версий.
# %% tags=["en"]
# Does the import fail? Install the course by pip (its file, or autograd-course),
# and uninstall another `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("grad_modes_and_in_place", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("grad_modes_and_in_place", language="ru")
# %%
import torch
from torch.nn import Dropout, Linear, ReLU, Sequential

from autograder.measure import live_bytes, saved_bytes

# %% [markdown] tags=["en"]
# ## The same flag at another price
#
# Take two layers and 64 samples of 256 numbers. There are three ways to a result that does not require grad; `live_bytes` takes the peak, the most bytes of new tensors that exist at one moment. One layer's output is 65,536 bytes (a layer here is a product and a ReLU; the result of each has that size).
# %% [markdown] tags=["ru"] of="2b8075a0"
# ## Флаг один, а расход памяти разный
#
# Возьмём два слоя и 64 примера по 256 чисел. Получить результат, который не требует градиента, можно тремя способами. В ячейке `live_bytes` измеряет пик — наибольшее число байтов, которые новые тензоры занимают одновременно. Выход одного слоя занимает 65 536 байт (слой здесь — это умножение на матрицу весов и ReLU; результат каждой из этих операций занимает столько же).
# %%
x = torch.ones(64, 256)
weights = [torch.ones(256, 256, requires_grad=True) for _ in range(2)]


def forward():
    h = x
    for w in weights:
        h = h @ w
        h = torch.relu(h)
    return h


def detached():
    return forward().detach()


def without_recording():
    with torch.no_grad():
        return forward()


def for_inference():
    with torch.inference_mode():
        return forward()


def peak_bytes(function):
    with live_bytes() as live:
        function()
    return live.peak


for function in (detached, without_recording, for_inference):
    print(f"{function.__name__:18} requires_grad={function().requires_grad!s:6} peak {peak_bytes(function):7,} bytes")
# %% tags=["fact"]
assert not any(function().requires_grad for function in (detached, without_recording, for_inference))
assert [peak_bytes(f) for f in (detached, without_recording, for_inference)] == [196_608, 131_072, 131_072]
assert forward().untyped_storage().nbytes() == 65_536
with saved_bytes(known=[x, *weights]) as saved:
    detached()
    graph_of = forward()
    assert saved.now == 2 * 65_536 and graph_of.untyped_storage().nbytes() == 65_536
assert saved.saves > 0
with torch.no_grad(), saved_bytes(known=[x, *weights]) as saved:
    forward()
assert saved.saves == 0
# %% [markdown] tags=["en"]
# What has been built when `detached()` comes to its `detach()`? The picture draws it. How many tensors of 65,536 bytes does the graph hold?
# %% [markdown] tags=["ru"] of="54fbaf1f"
# Что уже построено к моменту, когда в функции `detached()` вызывается метод `detach()`? Посмотрим на рисунок. Сколько тензоров по 65 536 байт удерживает граф?
# %% tags=["picture"]
from autograder import draw

result = forward()
draw(result, saved=True)
# %% [markdown] tags=["en", "try"]
# Count them in the picture. Then say which three tensors of that size exist at the peak of `detached()`, and which two without recording.
#
# The graph holds two: the outputs of both layers. The first has no name in the picture, the second is the result. And what is the peak? Without recording (an operation gets no node in the graph, lesson 01) it is two such tensors: the product in a layer and the result of its ReLU. With `detach()` there is a third, the output of the first layer: the graph of the whole forward pass is built and holds it, and is dropped afterwards. With two layers the difference is one output; with twenty it is nineteen.
# %% [markdown] tags=["ru", "try"] of="ded2872f"
# Посчитайте их на рисунке. Потом скажите, какие три тензора такого размера существуют на пике в `detached()` и какие два — без записи.
#
# Граф удерживает два таких тензора — выходы обоих слоёв. Первый на рисунке без имени, второй и есть результат. А каков пик? Без отслеживания, когда узлы в графе не создаются (урок 01), в момент пика в памяти лежат два таких тензора: произведение и результат ReLU. При `detach()` есть и третий, выход первого слоя: его удерживает граф, который сначала строится для всего прямого прохода, а потом выбрасывается. При двух слоях разница — один выход, при двадцати — девятнадцать.
# %% [markdown] tags=["en"]
# So `detach()` does not “achieve the same result”. It cuts one tensor off. `no_grad()` says that what runs inside the block is not recorded at all. Use `detach()` where the graph is wanted on one side: a target computed from a network that is being trained, as in `target = net(later).detach()` and `loss = (net(x) - target) ** 2`.
# %% [markdown] tags=["ru"] of="a0110237"
# Так что одинаковы здесь только предсказания: `detach()` отсоединяет один тензор, а внутри блока `no_grad()` не записывается вообще ничего. Метод `detach()` нужен там, где граф требуется только по одну сторону от тензора, например когда целевые значения вычисляет сама обучаемая сеть: `target = net(later).detach()`, потом `loss = (net(x) - target) ** 2`.
# %% tags=["fact"]
deep = [torch.ones(256, 256, requires_grad=True) for _ in range(20)]


def chain():
    h = x
    for w in deep:
        h = h @ w
        h = torch.relu(h)
    return h


with live_bytes() as live:
    chain().detach()
tracked = live.peak
with live_bytes() as live, torch.no_grad():
    chain()
assert tracked - live.peak == 19 * 65_536 and live.peak == 2 * 65_536


# %% [markdown] tags=["en"]
# ## Four switches
#
# | switch | what it is about |
# |---|---|
# | `torch.no_grad()` | new operations inside the block are not recorded |
# | `torch.enable_grad()` | inside the block they are, also within `no_grad()` |
# | `torch.inference_mode()` | new operations are not recorded, and each new result (views of ordinary tensors aside) is an *inference tensor*, without a version counter |
# | `model.eval()` | layers such as dropout and batch norm behave differently; nothing about recording |
#
# The first three are context managers (used with `with`) and decorators. `torch.set_grad_enabled(False)` does what `no_grad()` does, and as a bare call it stays in force until somebody takes it back.
#
# A mode is about the moment in which an operation runs. The innermost block decides, and a function that makes a tensor sets the flag that it is asked for. `attempt` tries something, and says whether it is allowed.
# %% [markdown] tags=["ru"] of="0f4cc059"
# ## Четыре переключателя
#
# | переключатель | на что влияет |
# |---|---|
# | `torch.no_grad()` | новые операции внутри блока не записываются в граф (не отслеживаются) |
# | `torch.enable_grad()` | новые операции внутри блока записываются, даже если сам блок вложен в `no_grad()` |
# | `torch.inference_mode()` | новые операции не записываются, а каждый новый результат (кроме представлений обычных тензоров) становится *inference-тензором*: у него нет счётчика версий |
# | `model.eval()` | слои вроде dropout и батч-нормализации ведут себя иначе; на отслеживание это не влияет |
#
# Первые три — контекстные менеджеры (их пишут после `with`) и декораторы. Вызов `torch.set_grad_enabled(False)` делает то же, что `no_grad()`, но, записанный отдельной строкой, действует, пока его не отменят.
#
# Важен режим, включённый в момент выполнения операции. Решает самый внутренний блок, а функция, создающая тензор, выставляет запрошенный флаг. Функция `attempt` пробует выполнить действие и сообщает, разрешено ли оно.
# %%
def attempt(action):
    """ "accepted", or the name of the error that `action()` raises."""
    try:
        action()
        return "accepted"
    except Exception as error:
        return type(error).__name__


w = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.no_grad():
    print("w * 2 under no_grad:", (w * 2).requires_grad)
    print("torch.ones under no_grad:", torch.ones(2, requires_grad=True).requires_grad)
    with torch.enable_grad():
        print("w * 2, enable_grad in no_grad:", (w * 2).requires_grad)
with torch.inference_mode():
    f = w * 2
print("f.clone() * w, f from inference_mode:", attempt(lambda: f.clone() * w))
# %% tags=["fact"]
torch.no_grad()
assert (w * 2).requires_grad
with torch.no_grad():
    assert not (w * 2).requires_grad and torch.ones(2, requires_grad=True).requires_grad
    with torch.enable_grad():
        assert (w * 2).requires_grad
assert attempt(lambda: f.clone() * w) == "accepted"


# %% [markdown] tags=["en"]
# Read the function; do not call it yet.
# %% [markdown] tags=["ru"] of="668fef80"
# Прочтите функцию, но пока не вызывайте её.
# %%
def mode_table():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    net = Sequential(Linear(2, 1), Dropout(0.5))
    h = w * 3
    loss = (w * 4).sum()
    table = {}

    with torch.no_grad():
        table["h under no_grad"] = h.requires_grad
        table["loss.backward() under no_grad"] = attempt(loss.backward)

    with torch.inference_mode():
        f = w * 2
        with torch.enable_grad():
            table["w * 2, enable_grad in inference_mode"] = (w * 2).requires_grad

    net.eval()
    table["net(x) after net.eval()"] = net(torch.ones(2)).requires_grad

    table["f + w"] = attempt(lambda: f + w)
    table["f * w"] = attempt(lambda: f * w)
    table["f.add_(1)"] = attempt(lambda: f.add_(1))
    return table


# %% [markdown] tags=["en"]
# ### `predict_modes`
#
# Put what `mode_table()` returns in place of each `...`: `True` or `False` where a flag is asked for, `"accepted"` or `"RuntimeError"` where something is tried. A hint for the last lines: a product saves a factor when the other one requires grad, a sum saves nothing.
# %% [markdown] tags=["ru"] of="a8b35f8a"
# ### `predict_modes`
#
# Вместо каждого `...` поставьте то, что вернёт `mode_table()`: `True` или `False` там, где речь о флаге, `"accepted"` или `"RuntimeError"` там, где проверяется, разрешено ли действие. Для последних строк полезно помнить, что при умножении множитель сохраняется, если другой множитель требует градиента, а при сложении не сохраняется ничего.
# %% answer="predict_modes"
predict_modes = {
    "h under no_grad": True,
    "loss.backward() under no_grad": "accepted",
    "w * 2, enable_grad in inference_mode": False,
    "net(x) after net.eval()": True,
    "f + w": "accepted",
    "f * w": "RuntimeError",
    "f.add_(1)": "RuntimeError",
}
# %% given="predict_modes"
predict_modes = {
    "h under no_grad": ...,
    "loss.backward() under no_grad": ...,
    "w * 2, enable_grad in inference_mode": ...,
    "net(x) after net.eval()": ...,
    "f + w": ...,
    "f * w": ...,
    "f.add_(1)": ...,
}
# %% check="predict_modes"
from autograder import check

check("predict_modes")
# %% tags=["fact"]
assert predict_modes == mode_table()
# %% [markdown] tags=["en"]
# Now call `mode_table()`.
# %% [markdown] tags=["ru"] of="c2685978"
# Вызовем `mode_table()` и сравним с таблицей.
# %%
mode_table()
# %% [markdown] tags=["en"] explains="predict_modes"
# Results from before a block keep their history, and a backward pass walks the graph that is there. A line `torch.no_grad()` without `with` makes an object and drops it.
#
# `enable_grad()` undoes `no_grad()`, but not `inference_mode()`: it sets grad mode, and nothing is recorded inside `inference_mode()` whatever grad mode says. The price for the savings comes later: outside `inference_mode()` an inference tensor may not be edited in place, and it may not be saved for backward. Since it depends on the operation whether a tensor is saved, `f + w` works and `f * w` does not. `inference_mode` is for results that never come back to training.
# %% [markdown] tags=["ru"] explains="predict_modes" of="25cc544b"
# У прежних результатов история остаётся, а обратный проход идёт по готовому графу. Строка `torch.no_grad()` без `with` лишь создаёт объект, который тут же удаляется.
#
# Менеджер `enable_grad()` отменяет `no_grad()`, но не `inference_mode()`: он включает отслеживание, а внутри `inference_mode()` ничего не записывается, включено оно или нет. За эту экономию (нет ни графа, ни счётчика версий) приходится платить потом: вне `inference_mode()` inference-тензор нельзя ни изменить на месте, ни сохранить для обратного прохода. Сохраняется ли тензор, зависит от операции, поэтому `f + w` работает, а `f * w` нет. Режим `inference_mode` нужен для результатов, которые никогда не используются при обучении.
# %% tags=["fact"]
w = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.inference_mode():
    f = w * 2
    assert not w[:1].is_inference() and f.is_inference()
    with torch.enable_grad():
        assert torch.is_grad_enabled() and not (w * 2).requires_grad


def said(action):
    try:
        action()
        return ""
    except Exception as error:
        return str(error)


assert said(lambda: f * w).startswith("Inference tensors cannot be saved for backward.")
assert said(lambda: f.add_(1)).startswith("Inplace update to inference tensor outside InferenceMode is not allowed")
assert "Inference tensors do not track version counter" in said(lambda: f._version)
assert f.is_inference() and not f.clone().is_inference() and f.detach().is_inference()
assert "cannot be saved" in said(lambda: f.detach() * w)


@torch.no_grad()
def decorated():
    return w * 2


assert not decorated().requires_grad
torch.set_grad_enabled(False)
assert not torch.is_grad_enabled() and not (w * 2).requires_grad
torch.set_grad_enabled(True)
assert (w * 2).requires_grad


# %% [markdown] tags=["en"]
# ## Features for a head
#
# A pretrained body stays as it is, and only a head on top of it learns. The body's output is data, so somebody takes the fastest mode there is.
#
# ### `head_gradients`
#
# **The function is to add the gradients of `head`, without recording `body`. It raises an error: mend it.**
#
# * **Given.** `body` and `head`, which may consist of several layers. A `.grad` may be `None` before.
# * **Result.** The gradient of the mean squared error between `head(body(x))` and `y` is added to the `.grad` of each parameter of `head`. Nothing needs to be returned. <!-- head -->
# * **Leave.** `body`: flags, modes, weights, `.grad`. It runs in the modes that its modules are in. <!-- body -->
# * **Leave.** Of `head` all but `.grad`. <!-- head -->
# * **Not allowed.** To record the forward pass of `body`. <!-- recorded -->
# %% [markdown] tags=["ru"] of="ecff4459"
# ## Основа сети и голова
#
# Предобученная основа сети (backbone) не меняется, а обучается только голова поверх неё. Выход основы — просто данные, и для него выбран самый быстрый из режимов.
#
# ### `head_gradients`
#
# **Функция должна прибавить градиенты `head`, не записывая `body` в граф. Но возникает ошибка: исправьте функцию.**
#
# * **Дано.** Модели `body` и `head`; вторая может состоять из нескольких слоёв. До вызова в `.grad` может лежать `None`.
# * **Результат.** К `.grad` каждого параметра модели `head` прибавлен градиент среднего квадрата разности между `head(body(x))` и `y`. Возвращать ничего не нужно. <!-- head -->
# * **Не менять.** Модель `body`: флаги, режимы, веса, `.grad`. Она выполняется в тех режимах, в которых находятся её модули. <!-- body -->
# * **Не менять.** У модели `head` — всё, кроме `.grad`. <!-- head -->
# * **Нельзя.** Записывать прямой проход через `body` в граф. <!-- recorded -->
# %% answer="head_gradients"
def head_gradients(body, head, x, y):
    """Add the gradient of the mean squared error to the `.grad` of the parameters of `head`."""
    with torch.no_grad():
        features = body(x)
    ((head(features) - y) ** 2).mean().backward()


# %% given="head_gradients"
def head_gradients(body, head, x, y):
    """Add the gradient of the mean squared error to the `.grad` of the parameters of `head`."""
    with torch.inference_mode():
        features = body(x)
    ((head(features) - y) ** 2).mean().backward()


# %% alternative="head_gradients"
def head_gradients(body, head, x, y):
    with torch.inference_mode():
        features = body(x)
    torch.nn.functional.mse_loss(head(features.clone()), y).backward()


# %% alternative="head_gradients"
def head_gradients(body, head, x, y):
    with torch.no_grad():
        features = body(x)
        with torch.enable_grad():
            loss = (head(features) - y).square().mean()
        loss.backward()


# %% alternative="head_gradients"
def head_gradients(body, head, x, y):
    flags = [p.requires_grad for p in body.parameters()]
    body.requires_grad_(False)
    loss = (head(body(x)) - y).pow(2).mean()
    for p, flag in zip(body.parameters(), flags):
        p.requires_grad_(flag)
    for p, gradient in zip(head.parameters(), torch.autograd.grad(loss, list(head.parameters()))):
        p.grad = gradient if p.grad is None else p.grad + gradient


# %% check="head_gradients"
from autograder import check

check("head_gradients")


# %% [markdown] tags=["en"]
# ## Freezing: which end?
#
# To fine-tune a model is to train a part of it. The rest is *frozen*: the optimizer leaves it alone. A reason given for it is memory. The advice is “freeze the encoder”, the first layers. Would the last layers do as well?
#
# Take four blocks, numbered from 1, of a linear layer and ReLU. The cell counts the bytes that a forward pass keeps for backward, the parameters aside. What do you expect of the last two lines?
# %% [markdown] tags=["ru"] of="e08cde0b"
# ## Заморозка: с какого конца?
#
# Часто дообучают не всю модель, а её часть. Остальное *замораживают*: оптимизатор этих параметров не меняет. Так экономят и память. Обычный совет — «заморозьте кодировщик», то есть начальные слои. А если заморозить последние?
#
# Возьмём четыре блока (нумеруем с 1), в каждом линейный слой и ReLU. В ячейке подсчитаны байты, которые после прямого прохода хранятся для обратного, не считая параметров. Какие числа вы ожидаете увидеть в двух последних строках?
# %%
def kept(frozen):
    """Bytes kept for backward when the layers with the numbers in `frozen` are frozen."""
    net = Sequential(*[layer for _ in range(4) for layer in (Linear(256, 256), ReLU())])
    for number in frozen:
        net[number].requires_grad_(False)
    with saved_bytes(known=list(net.parameters())) as saved:
        out = net(torch.ones(64, 256))
        return saved.now


for title, frozen in {
    "nothing": [],
    "the first 3 blocks": range(6),
    "the last 3 blocks": range(2, 8),
    "all but block 2": [0, 1, 4, 5, 6, 7],
}.items():
    print(f"frozen: {title:20} {kept(frozen):8,} bytes")
# %% tags=["fact"]
assert kept([]) == kept(range(2, 8)) == 327_680 == 5 * 65_536
assert kept(range(6)) == 131_072 == 2 * 65_536
assert kept([0, 1, 4, 5, 6, 7]) == 4 * 65_536
# %% [markdown] tags=["en", "try"]
# Which end is worth freezing, and why do the last three blocks save nothing? Say it, then try `frozen` with one number of your own in `kept`.
#
# The gradient travels from the loss to the first layer that learns, and it has to pass everything in between, frozen or not. What lies *before* that layer is not recorded: its inputs do not require grad. So freezing the first three blocks keeps 131,072 bytes instead of 327,680, and freezing the last three keeps as much as freezing none (ReLU keeps its output anyway). With all but block 2 frozen, 262,144 bytes are kept: only the input of the first layer is dropped, the rest lies on the gradient's way.
# %% [markdown] tags=["ru", "try"] of="71c7a9b0"
# С какого конца выгодно замораживать и почему на последних трёх блоках ничего не сэкономлено? Сначала ответьте, потом вызовите `kept` со своим `frozen`.
#
# Градиент идёт от функции потерь к первому обучаемому слою, и по дороге ему нужно пройти через всё, заморожено оно или нет. Слои, которые стоят *до* него, не записываются: их входы не требуют градиента. Поэтому при заморозке первых трёх блоков хранится 131 072 байта вместо 327 680, а при заморозке последних трёх — столько же, сколько без неё (для ReLU всё равно хранится выход). Если заморожено всё, кроме блока 2, хранится 262 144 байта: не хранится лишь вход первого слоя, остальное нужно обратному проходу.
# %% [markdown] tags=["en"]
# Another piece of advice: “to train a part of a pretrained model, set `requires_grad = True` at the entrance of the subgraph to be trained”. The cell tries it with a frozen layer.
# %% [markdown] tags=["ru"] of="ff0dd754"
# Есть и другой совет: «чтобы обучать часть готовой модели, поставьте `requires_grad = True` на входе подграфа, который надо обучать». Проверим это на замороженном слое.
# %%
layer = Linear(2, 1).requires_grad_(False)
entrance = torch.ones(1, 2, requires_grad=True)
layer(entrance).backward()
print("entrance.grad is there:", entrance.grad is not None, "  weight.grad:", layer.weight.grad)
# %% tags=["fact"]
assert entrance.grad is not None and layer.weight.grad is None
layer.requires_grad_(True)
layer(torch.ones(1, 2)).backward()
assert layer.weight.grad.tolist() == [[1, 1]]
module = Linear(2, 1)
module.requires_grad = False
assert all(parameter.requires_grad for parameter in module.parameters())
weight = torch.nn.Parameter(torch.ones(2))
weight.grad = torch.ones(2)
weight.requires_grad_(False)
torch.optim.SGD([weight], lr=1.0).step()
assert weight.tolist() == [0, 0]
norm = torch.nn.BatchNorm1d(2).requires_grad_(False)
norm(torch.ones(4, 2))
assert norm.running_mean.tolist() != [0, 0]
norm.eval()(torch.ones(4, 2))
assert norm.num_batches_tracked == 1


# %% [markdown] tags=["en"]
# ### `freeze`
#
# **`freeze(model, k)` is to freeze the first `k` layers and return the parameters that still learn. It freezes nothing: mend it.**
#
# * **Given.** `model`, a `Sequential`; the first `k` layers are `model[0]` to `model[k - 1]`, at least one and not all. A layer may have a name, may be of any kind, and may be a block of layers or of blocks. One object, such as a `Tanh`, may stand in several places.
# * **Result.** All parameters of the first `k` layers stop requiring grad. <!-- flags -->
# * **Result.** Their `.grad` becomes `None`, so that an optimizer that holds them does not move them. <!-- step -->
# * **Result.** A list is returned: the parameters of `model` that still learn, in the order of `model.parameters()`. <!-- returned -->
# * **Leave.** A later parameter that had been frozen before: it stays frozen and is not in the list. The mode of every layer, `training`. The parameters are the same objects. <!-- flags -->
# * **Leave.** The `.grad` of every parameter that is in none of the first `k` layers. <!-- step -->
# * **Not allowed.** To keep anything for the frozen layers in a forward pass on data that does not require grad. <!-- saved -->
# %% [markdown] tags=["ru"] of="df043a33"
# ### `freeze`
#
# **`freeze(model, k)` должна заморозить первые `k` слоёв и вернуть параметры, которые ещё обучаются. Она ничего не замораживает: исправьте функцию.**
#
# * **Дано.** Модель `model` — это `Sequential`; первые `k` слоёв — от `model[0]` до `model[k - 1]`: хотя бы один слой, но не все. Слой может быть любым: у него может быть имя, и он может сам состоять из слоёв или блоков. Один и тот же объект, например `Tanh`, может стоять в нескольких местах.
# * **Результат.** Все параметры первых `k` слоёв перестают требовать градиента. <!-- flags -->
# * **Результат.** Их `.grad` становится равным `None`, чтобы оптимизатор, которому они переданы, их не менял. <!-- step -->
# * **Результат.** Возвращается список параметров модели `model`, которые по-прежнему обучаются, в порядке `model.parameters()`. <!-- returned -->
# * **Не менять.** Параметр последующих слоёв, замороженный раньше: он остаётся замороженным и в список не входит. Режим каждого слоя, `training`. Параметры остаются теми же объектами. <!-- flags -->
# * **Не менять.** Поле `.grad` каждого параметра, которого нет ни в одном из первых `k` слоёв. <!-- step -->
# * **Нельзя.** Сохранять что-либо для замороженных слоёв при прямом проходе по данным, которые не требуют градиента. <!-- saved -->
# %% answer="freeze"
def freeze(model, k):
    """Freeze the first `k` layers of `model`; the parameters that still learn."""
    for parameter in model[:k].parameters():
        parameter.requires_grad_(False)
        parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


# %% given="freeze"
def freeze(model, k):
    """Freeze the first `k` layers of `model`; the parameters that still learn."""
    for layer in model[:k]:
        layer.requires_grad = False
        layer.eval()
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


# %% alternative="freeze"
def freeze(model, k):
    for number, layer in enumerate(model):
        if number < k:
            layer.requires_grad_(False)
            layer.zero_grad(set_to_none=True)
    return list(filter(lambda parameter: parameter.requires_grad, model.parameters()))


# %% alternative="freeze"
def freeze(model, k):
    names = [name for name, _ in model.named_modules(remove_duplicate=False)]
    first = [name for name in names if name and "." not in name][:k]
    learning = []
    for name, parameter in model.named_parameters():
        if name.split(".")[0] in first:
            parameter.requires_grad = False
            parameter.grad = None
        if parameter.requires_grad:
            learning.append(parameter)
    return learning


# %% alternative="freeze"
def freeze(model, k):
    frozen = {id(parameter) for layer in list(model)[:k] for parameter in layer.parameters()}
    for parameter in model.parameters():
        if id(parameter) in frozen:
            parameter.grad = None
            parameter.requires_grad_(False)
    return [p for p in model.parameters() if id(p) not in frozen and p.requires_grad]


# %% check="freeze"
from autograder import check

check("freeze")
# %% [markdown] tags=["en"] explains="freeze"
# Whether a parameter learns is decided by its own flag. The entrance got a gradient, for which the layer was recorded, and no weight did.
#
# But the flag does not control everything. An optimizer does not read it: it moves every parameter that has something in `.grad`, so an old gradient moves a frozen weight. And the running statistics of batch norm are no parameters: they change in training mode, frozen or not.
# %% [markdown] tags=["ru"] explains="freeze" of="2b67accb"
# Обучается ли параметр, зависит только от его собственного флага. Вход получил градиент (ради него слой и записан в граф), а веса не получили ничего.
#
# Но от флага зависит не всё. Оптимизатор его не читает: меняется каждый параметр, у которого в `.grad` что-то есть, поэтому из-за старого градиента изменится и замороженный вес. А накопленные статистики батч-нормализации — не параметры: в режиме обучения они меняются, заморожен слой или нет.


# %% [markdown] tags=["en"]
# ## In-place edits: two programs that look alike
#
# An *in-place* operation writes its result into the memory of its input: `h.add_(1)`, `h += 1`, `h[0] = 7`. Each such write adds 1 to the tensor's version counter (`h._version`, lesson 01). An old warning calls them all dangerous, and the example given is still `y = x * 2; y.add_(1)`. Does it raise an error?
#
# Below are two programs that differ in one word.
# %% [markdown] tags=["ru"] of="f590860a"
# ## Изменения на месте: две похожие программы
#
# *Операция с изменением на месте* (in-place) записывает результат в память своего входа: `h.add_(1)`, `h += 1`, `h[0] = 7`. Каждое такое изменение прибавляет 1 к счётчику версий тензора (`h._version`, урок 01). Опасными когда-то называли все такие операции, а примером ошибки и сегодня служит `y = x * 2; y.add_(1)`. Ошибка ли это?
#
# Сравним две программы, которые различаются одним словом.
# %%
def edit_after(function):
    x = torch.tensor([0.5], requires_grad=True)
    y = function(x)
    before = y._version
    y.add_(1)
    print(f"{function.__name__:4} version of y: {before} -> {y._version}", end="   ")
    try:
        y.sum().backward()
        print("gradient", round(x.grad.item(), 4))
    except RuntimeError as error:
        print("refused:", str(error).split(": ", 1)[1].split(". Hint")[0])


edit_after(torch.sin)
edit_after(torch.exp)
# %% tags=["fact"]
x = torch.tensor([0.5], requires_grad=True)
with torch.no_grad():
    x.add_(1)
    x[0].sub_(1)
assert x.tolist() == [0.5]
y = x.sin()
y.add_(1)
y.sum().backward()
assert torch.allclose(x.grad, torch.tensor([0.5]).cos())
y = x.exp()
y.add_(1)
refused = said(lambda: y.sum().backward())
assert refused.startswith(
    "one of the variables needed for gradient computation has been modified by an inplace operation"
)
assert "output 0 of Exp" in refused and "is at version 1; expected version 0 instead" in refused
x.grad = None
y = x * 2
y.add_(1)
y.sum().backward()
assert x.grad.item() == 2
# %% [markdown] tags=["en"]
# Why is the second one refused? Look at the line in red.
# %% [markdown] tags=["ru"] of="bae139c1"
# Почему во второй программе ошибка? Посмотрим на красную строку на рисунке.
# %% tags=["picture"]
x = torch.tensor([0.5], requires_grad=True)
y = x.exp()
y.add_(1)
draw(y)


# %% [markdown] tags=["en", "try"]
# What did `exp` save, and what had `sin` saved, that an edit of `y` could not hurt? And is `y = x * 2; y.add_(1)` refused? Say it, then try it.
#
# The derivative of $\sin x$ is $\cos x$: `sin` saved its input. The derivative of $e^x$ is $e^x$: `exp` saved its *output*, together with the version it had, 0. Backward compares the versions, finds 1 instead of 0, and stops with an error. The example above is wrong: `x * 2` saved no tensor, and `y.add_(1)` after it gives the gradient 2.
# %% [markdown] tags=["ru", "try"] of="01f9a459"
# Что сохранила операция `exp` и что сохранила `sin`, раз изменение `y` ей не повредило? А будет ли ошибка после `y = x * 2; y.add_(1)`? Сначала ответьте, потом попробуйте.
#
# Производная $\sin x$ — это $\cos x$, поэтому `sin` сохраняет свой вход. Производная $e^x$ — это $e^x$, поэтому `exp` сохраняет свой *выход* вместе с его версией, 0. При обратном проходе версии сверяются, вместо 0 обнаруживается 1, и проход прерывается с ошибкой. А пример выше неверен: для `x * 2` не сохранено ни одного тензора, и после `y.add_(1)` градиент равен 2.
# %% [markdown] tags=["en"]
# So the question is always: *what did the operation save?* `sin`, `**` save the input; `exp`, `sqrt`, `tanh`, `sigmoid`, `relu` the output; multiplication by a number and addition save nothing; `a * b` saves `b` if `a` requires grad, and `a` if `b` does. The edit itself is recorded like any other operation.
#
# While recording is on, some edits are refused on the spot, whatever was saved: of a leaf that requires grad, of a view of such a leaf, and of one of several views with a history that a single call returned (`unbind`, `split`, `chunk`). (An optimizer edits leaves inside `no_grad()`.)
# %% [markdown] tags=["ru"] of="eec57077"
# Поэтому вопрос всегда один: *что сохранила операция?* Операции `sin` и `**` сохраняют вход; `exp`, `sqrt`, `tanh`, `sigmoid`, `relu` — выход; умножение на число и сложение — ничего; `a * b` сохраняет `b`, если `a` требует градиента, и `a`, если его требует `b`. Само изменение записывается в граф, как и любая другая операция.
#
# Некоторые изменения при включённом отслеживании запрещены сразу, что бы ни было сохранено: нельзя менять лист, который требует градиента, его представление и любое из нескольких представлений с историей, которые вернул один вызов (`unbind`, `split`, `chunk`). (Оптимизатор меняет листья внутри `no_grad()`.)
# %%
def gradient(code):
    """`x.grad` after `code` and `y.sum().backward()`, or the name of the error that one of the two raises."""
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    names = {"x": x, "h": x * 1, "k": torch.tensor([3.0, 5.0])}
    try:
        exec(code, names)
        names["y"].sum().backward()
        return x.grad.tolist()
    except RuntimeError:
        return "RuntimeError"


def in_place_table():
    codes = (
        "y = h ** 2; h.add_(1)",
        "y = h ** 2; y.mul_(3)",
        "y = h.sqrt(); h.add_(1)",
        "y = h * k; h.add_(1)",
        "y = h * k; k.add_(1)",
        "y = h; h[0].mul_(10)",
        "y = h * 3; y[0] = 7",
    )
    return {code: gradient(code) for code in codes}


# %% [markdown] tags=["en"]
# ### `predict_in_place`
#
# `x` is a leaf with the numbers 1 and 4, `h` a result with the same numbers, `k` a constant with 3 and 5. Put what `in_place_table()` returns in place of each `...`: the gradient, a list of two numbers such as `[3.0, 5.0]`, or `"RuntimeError"`.
# %% [markdown] tags=["ru"] of="3d23b4f2"
# ### `predict_in_place`
#
# Здесь `x` — лист с числами 1 и 4, `h` — нелистовой тензор с теми же числами, `k` — константа с числами 3 и 5. Вместо каждого `...` поставьте то, что вернёт `in_place_table()`: градиент, то есть список из двух чисел, например `[3.0, 5.0]`, или `"RuntimeError"`.
# %% answer="predict_in_place"
predict_in_place = {
    "y = h ** 2; h.add_(1)": "RuntimeError",
    "y = h ** 2; y.mul_(3)": [6.0, 24.0],
    "y = h.sqrt(); h.add_(1)": [0.5, 0.25],
    "y = h * k; h.add_(1)": [3.0, 5.0],
    "y = h * k; k.add_(1)": "RuntimeError",
    "y = h; h[0].mul_(10)": [10.0, 1.0],
    "y = h * 3; y[0] = 7": [0.0, 3.0],
}
# %% given="predict_in_place"
predict_in_place = {
    "y = h ** 2; h.add_(1)": ...,
    "y = h ** 2; y.mul_(3)": ...,
    "y = h.sqrt(); h.add_(1)": ...,
    "y = h * k; h.add_(1)": ...,
    "y = h * k; k.add_(1)": ...,
    "y = h; h[0].mul_(10)": ...,
    "y = h * 3; y[0] = 7": ...,
}
# %% check="predict_in_place"
from autograder import check

check("predict_in_place")
# %% tags=["fact"]
assert predict_in_place == in_place_table()
for code in ("y = h.relu_().relu_()", "x.add_(1); y = x * 2", "x[0].mul_(10); y = x * 2"):
    assert gradient(code) == "RuntimeError"
assert gradient("y = h.relu_()") == [1.0, 1.0] and gradient("y = h * 3; h.add_(1)") == [3.0, 3.0]
for code in (
    "y = h.tanh(); h.add_(1)",
    "y = h.sigmoid(); h.add_(1)",
    "y = h.relu(); h.add_(1)",
    "y = h.sin(); y.add_(1)",
):
    assert gradient(code) != "RuntimeError"
for code in (
    "y = h.tanh(); y.add_(1)",
    "y = h.sigmoid(); y.add_(1)",
    "y = h.relu(); y.add_(1)",
    "y = h.sin(); h.add_(1)",
):
    assert gradient(code) == "RuntimeError"
for part in ("h.unbind()[0]", "h.split(1)[0]", "h.chunk(2)[0]"):
    assert gradient(f"y = h; {part}.mul_(10)") == "RuntimeError"
    assert gradient(f"{part.replace('h', 'k', 1)}.mul_(10); y = h * k") == [30.0, 5.0]  # no history
# %% [markdown] tags=["en"]
# Now call `in_place_table()`.
# %% [markdown] tags=["ru"] of="21ab88ce"
# А теперь вызовем `in_place_table()`.
# %%
in_place_table()
# %% [markdown] tags=["en"] explains="predict_in_place"
# `h[0].mul_(10)` is accepted, although two tensors share the memory that it writes to.
# %% [markdown] tags=["ru"] explains="predict_in_place" of="bf008d5a"
# Вызов `h[0].mul_(10)` не приводит к ошибке, хотя память, в которую идёт запись, у двух тензоров общая.
# %% [markdown] tags=["en"]
# The picture shows the edit `first.mul_(10)`, where `first` is the view `h[0]`. Only `first` was edited, and both `grad_fn` are new. That of `h` is the node of the edit, `CopySlices`; that of `first` leads to it.
# %% [markdown] tags=["ru"] of="e3b5b8cf"
# Посмотрим на изменение `first.mul_(10)`, где `first` — представление `h[0]`. Изменён только `first`, но новое значение `grad_fn` появилось у обоих тензоров. У `h` это узел самого изменения, `CopySlices`, а от узла представления `first` стрелка ведёт к нему.
# %% tags=["picture"]
x = torch.tensor([1.0, 4.0], requires_grad=True)
h = x * 1
first = h[0]
first.mul_(10)
draw(h, first)
# %% [markdown] tags=["en"]
# Now three sentences that you will read can be corrected.
#
# * “In-place functions raise an error if the storage of the modified input is referenced by any other tensor.” `h[0].mul_(10)` is such a case, and the gradient is right. Autograd gives `h` a new node, `CopySlices` (“one part of this tensor has been replaced”), and brings the `grad_fn` of every view of `h` up to date.
# * “Every in-place operation requires a complete rewrite of the graph.” To the graph of the edited tensor one node is added, its new `grad_fn`; nothing else in it changes. (A view of that tensor gets a new `grad_fn` when it is next used.)
# * “They do not help memory much.” In training that is mostly so: what backward needs is kept anyway. Without recording they do. The cell below runs `h * 2 + 1` eight times on a tensor of 262,144 bytes: at the peak there are three such tensors (the old `h`, the product, the sum), with `mul_` and `add_` only `h`.
#
# The counter counts edits, not whether the numbers differ: in `h.relu_().relu_()` the second call changes no number, and backward after it fails all the same.
# %% [markdown] tags=["ru"] of="0c1f6842"
# Теперь можно поправить три утверждения, которые вам ещё встретятся.
#
# * «Операции с изменением на месте вызывают ошибку, если на хранилище изменяемого входа ссылается какой-нибудь другой тензор». Случай `h[0].mul_(10)` как раз такой, и градиент верен. Autograd создаёт для `h` новый узел, `CopySlices` («часть этого тензора заменена»), и обновляет `grad_fn` всех представлений тензора `h`.
# * «Каждая операция с изменением на месте требует полностью переписать граф». К графу изменённого тензора добавляется один узел — его новый `grad_fn`, а остальное в этом графе не меняется. (Представление этого тензора получает новый `grad_fn`, когда его используют в следующий раз.)
# * «Памяти они почти не экономят». При обучении это чаще всего так: то, что нужно обратному проходу, хранится всё равно. А без отслеживания — экономят. Вычислим восемь раз `h * 2 + 1` для тензора в 262 144 байта: в момент пика таких тензоров три (прежний `h`, произведение и сумма), а с `mul_` и `add_` — только сам `h`.
#
# Счётчик увеличивается при каждом изменении, даже если числа остались прежними: в `h.relu_().relu_()` второй вызов не меняет ни одного числа, но обратный проход после него всё равно завершается ошибкой.
# %%
data = torch.ones(256, 256)


def eight_times(in_place):
    h = data.clone()
    for _ in range(8):
        h = h.mul_(2).add_(1) if in_place else h * 2 + 1
    return h


for in_place in (False, True):
    with torch.no_grad(), live_bytes() as live:
        eight_times(in_place)
    print(f"in place: {in_place!s:6} peak {live.peak:7,} bytes")
# %% tags=["fact"]
x = torch.tensor([1.0, 4.0], requires_grad=True)
h = x * 1
first = h[0]
before = h.grad_fn, first.grad_fn
first.mul_(10)
assert h.grad_fn is not before[0] and first.grad_fn is not before[1] and h._version == first._version == 1
assert h.grad_fn.name() == "torch::autograd::CopySlices" and first.grad_fn.next_functions[0][0] is h.grad_fn
assert any(node is before[0] for node, _ in h.grad_fn.next_functions)  # the graph from before, unchanged
a = torch.ones(2, 2, requires_grad=True)
h = a * 1
first, turned = h[0], h.t()
first.mul_(10)
assert h.grad_fn.name() == "torch::autograd::CopySlices" and turned.tolist() == [[10, 1], [10, 1]]
turned.sum().backward()
assert a.grad.tolist() == [[10, 10], [1, 1]]
from autograder.measure import graph_nodes

h = a * 1
count = len(graph_nodes(h))
h.mul_(3)
assert len(graph_nodes(h)) == count + 1


peaks = []
for in_place in (False, True):
    net = Sequential(*[part for _ in range(8) for part in (Linear(256, 256), ReLU(inplace=in_place))])
    with live_bytes() as live:
        net(data).sum().backward()
    peaks.append(live.peak)
assert peaks[0] == peaks[1]
assert data.numel() * 4 == 262_144
with torch.no_grad():
    for in_place, expected in ((False, 786_432), (True, 262_144)):
        with live_bytes() as live:
            eight_times(in_place)
        assert live.peak == expected, live.peak


# %% [markdown] tags=["en"]
# ## What to keep
#
# * `no_grad()` keeps new operations out of the graph; `detach()` at the end builds the graph and throws it away; `eval()` is about layers. An evaluation needs `eval()` and `no_grad()`, and puts back what it found.
# * `inference_mode` is for results that never return to training; `enable_grad()` does not undo it.
# * Flags of parameters decide what learns. Freezing the *first* layers saves memory; freezing the last ones saves nothing where ReLU or tanh keep their output anyway.
# * An optimizer moves whatever has something in `.grad`.
# * An in-place edit breaks backward when the edited tensor, or one that shares its memory, was saved. Ask what the operation saved: its input, its output, or nothing.
#
# From the extra sections:
#
# * An optimizer's step edits weights in place: first all backward passes that need them, then the steps.
# %% [markdown] tags=["ru"] of="93193c7c"
# ## Что стоит запомнить
#
# * Внутри `no_grad()` новые операции не попадают в граф; с `detach()` в конце граф строится и выбрасывается; `eval()` меняет поведение слоёв. При валидации нужны `eval()` и `no_grad()`, а потом нужно вернуть всё как было.
# * `inference_mode` нужен для результатов, которые не используются при обучении; `enable_grad()` его не отменяет.
# * Что обучается, зависит от флагов параметров. Заморозка *первых* слоёв экономит память; заморозка последних не экономит ничего там, где ReLU или tanh всё равно сохраняют свой выход.
# * Оптимизатор меняет все параметры, у которых в `.grad` что-то есть.
# * Изменение на месте ломает обратный проход, если был сохранён изменённый тензор или другой тензор с той же памятью. Выясните, что сохранила операция: вход, выход или ничего.
#
# Из дополнительных разделов:
#
# * На шаге оптимизатора веса меняются на месте, поэтому сначала сделайте все обратные проходы, для которых они нужны, и только потом шаги.
# %% [markdown] tags=["en"]
# ## Predictions without a graph
#
# An evaluation sets two switches and puts both back: the mode of each module, and recording.
# %% [markdown] tags=["ru"] of="f1bf75b1"
# ## Предсказания без графа
#
# При валидации нужны два переключателя, и потом оба нужно вернуть: режим каждого модуля и отслеживание.
# %% [markdown] tags=["en"]
# ### `evaluate`
#
# **Return the predictions of `model` for all batches, without a graph, and leave everything as it was.**
#
# * **Given.** `model`, and `batches`, a list, not empty, of inputs; the batches may have different sizes. The caller is not in `inference_mode()`.
# * **Result.** One tensor: the predictions of `model` for all samples, in order, joined along the first dimension, with all layers in evaluation mode. <!-- predictions -->
# * **Result.** It is an ordinary constant, which training may use and edit: it does not require grad, and it is no inference tensor. <!-- kind -->
# * **Result.** Model and batches may lie on another device than the CPU, such as a GPU; the predictions lie there, too. <!-- device -->
# * **Leave.** The mode of each module; modes may be mixed (while a head is trained, the rest of the model may be in evaluation mode). Flags, weights, gradients, statistics, hooks, and the list. Recording is on afterwards if it was on, and off if it was off. <!-- afterwards -->
# * **Not allowed.** More in memory, besides the predictions, than 4 activations (outputs of layers) of a single batch, the largest one: not all batches at once, and no graph. <!-- peak -->
# %% [markdown] tags=["ru"] of="7bee4f37"
# ### `evaluate`
#
# **Верните предсказания `model` для всех батчей, не строя графа, и оставьте всё таким, каким оно было.**
#
# * **Дано.** Модель `model` и непустой список входов `batches`; размеры батчей могут быть разными. Вызывающий код — не внутри `inference_mode()`.
# * **Результат.** Один тензор: предсказания модели `model` для всех примеров по порядку, склеенные по измерению 0. Все слои при этом работают в режиме оценки. <!-- predictions -->
# * **Результат.** Это обычная константа, которую при обучении можно использовать и менять: она не требует градиента, и это не inference-тензор. <!-- kind -->
# * **Результат.** Модель и батчи могут лежать не на CPU, а на другом устройстве, например на GPU; предсказания лежат там же. <!-- device -->
# * **Не менять.** Режим каждого модуля; режимы бывают разными (пока обучается голова, остальная модель может быть в режиме оценки). Флаги, веса, градиенты, статистики, хуки и сам список батчей. Отслеживание после вызова включено, если было включено, и выключено, если было выключено. <!-- afterwards -->
# * **Нельзя.** Держать в памяти, не считая предсказаний, больше 4 активаций (выходов слоёв) одного, самого большого батча: ни активаций всех батчей сразу, ни графа там быть не должно. <!-- peak -->
# %% answer="evaluate"
def evaluate(model, batches):
    """Predict all samples of `batches` in evaluation mode and without a graph."""
    ### BEGIN SOLUTION
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    with torch.no_grad():
        predictions = torch.cat([model(x) for x in batches])
    for module, training in modes:
        module.training = training
    return predictions
    ### END SOLUTION


# %% alternative="evaluate"
@torch.no_grad()
def evaluate(model, batches):
    switched = [module for module in model.modules() if module.training]
    model.eval()
    try:
        return torch.cat([model(x) for x in batches])
    finally:
        for module in switched:
            module.training = True


# %% alternative="evaluate"
def evaluate(model, batches):
    import copy

    twin = copy.deepcopy(model).eval()
    with torch.inference_mode():
        results = [twin(x) for x in batches]
    return torch.cat([result.clone() for result in results])


# %% alternative="evaluate"
def evaluate(model, batches):
    before = torch.is_grad_enabled()
    modes = {name: module.training for name, module in model.named_modules()}
    torch.set_grad_enabled(False)
    model.train(False)
    result = None
    for x in batches:
        part = model(x)
        result = part if result is None else torch.cat([result, part])
    for name, module in model.named_modules():
        module.training = modes[name]
    torch.set_grad_enabled(before)
    return result


# %% check="evaluate"
from autograder import check

check("evaluate")


# %% [markdown] tags=["en"]
# ## A tensor filled row by row
#
# An exponential running average of the rows of `x`: the first row is $y_0 = x_0$, and each further one is $y_t = a\,y_{t-1} + (1 - a)\,x_t$. The code below writes the rows into one tensor made in advance. With `a = 0.9`, a Python number, it works. When `a` becomes a weight that learns, backward raises. Nothing in these lines has changed; why?
#
# ### `smooth`
#
# **`smooth(x, a)` returns running averages; a backward pass through them fails, or keeps too much. Mend it.**
#
# * **Given.** `x`, of shape $(T, n)$ with $T \geq 1$, and `a`, of shape `()`; both are leaves that require grad. `a` may be 0.
# * **Result.** `y`, a tensor with the shape and the dtype of `x`. <!-- y -->
# * **Result.** Backward from `y` gives the gradients of both (for $T = 1$, `a` plays no part). <!-- gradients -->
# * **Result.** `x` and `a` may lie on another device than the CPU, such as a GPU; `y` lies there, too. <!-- device -->
# * **Leave.** `x`, `a` and their `.grad`. <!-- gradients -->
# * **Not allowed.** A graph that keeps, `x` and `a` aside, more than 4 tensors of the size of `x`, however many rows it has: a copy of all rows at every step is too much, and so is a matrix of size $T \times T$. <!-- saved -->
# %% [markdown] tags=["ru"] of="83818fcb"
# ## Тензор, который заполняют по строкам
#
# Экспоненциальное скользящее среднее строк тензора `x` определяется так: первая строка — $y_0 = x_0$, каждая следующая — $y_t = a\,y_{t-1} + (1 - a)\,x_t$. В коде ниже строки записываются в один заранее созданный тензор. При `a = 0.9` (число Python) этот код работает. Когда же `a` становится обучаемым весом, обратный проход прерывается с ошибкой. Сам код не изменился. В чём же дело?
#
# ### `smooth`
#
# **`smooth(x, a)` возвращает скользящие средние, но обратный проход через них завершается ошибкой или хранит слишком много. Исправьте функцию.**
#
# * **Дано.** Тензор `x` формы $(T, n)$, где $T \geq 1$, и `a` формы `()`; оба — листья, которые требуют градиента. Значение `a` может быть равно 0.
# * **Результат.** Тензор `y` той же формы и того же dtype, что и `x`. <!-- y -->
# * **Результат.** Обратный проход от `y` даёт верные градиенты по обоим тензорам (при $T = 1$ тензор `a` не участвует). <!-- gradients -->
# * **Результат.** `x` и `a` могут лежать не на CPU, а на другом устройстве, например на GPU; там же лежит и `y`. <!-- device -->
# * **Не менять.** Тензоры `x`, `a` и их `.grad`. <!-- gradients -->
# * **Нельзя.** Хранить в графе, не считая `x` и `a`, больше 4 тензоров размером с `x`, сколько бы ни было строк: копия всех строк на каждом шаге — это слишком много, матрица размера $T \times T$ — тоже. <!-- saved -->
# %% answer="smooth"
def smooth(x, a):
    """The running averages of the rows of `x`, with the weight `a` for the average before."""
    rows = [x[0]]
    for t in range(1, len(x)):
        rows.append(a * rows[-1] + (1 - a) * x[t])
    return torch.stack(rows)


# %% given="smooth"
def smooth(x, a):
    """The running averages of the rows of `x`, with the weight `a` for the average before."""
    y = torch.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y[t] = a * y[t - 1] + (1 - a) * x[t]
    return y


# %% alternative="smooth"
def smooth(x, a):
    y = torch.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y[t] = a * y[t - 1].clone() + (1 - a) * x[t]
    return y


# %% alternative="smooth"
def smooth(x, a):
    y = torch.empty_like(x)
    y[0] = row = x[0]
    for t in range(1, len(x)):
        row = torch.lerp(x[t], row, a)
        y[t] = row
    return y


# %% alternative="smooth"
def smooth(x, a):
    row, rows = x[0], []
    for t, new in enumerate(x.unbind()):
        row = new if t == 0 else new + a * (row - new)
        rows.append(row[None])
    return torch.cat(rows)


# %% check="smooth"
from autograder import check

check("smooth")


# %% tags=["fact"]
def in_one_tensor(x, a):
    y = torch.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y[t] = a * y[t - 1] + (1 - a) * x[t]
    return y


x = torch.rand(5, 3, requires_grad=True)
in_one_tensor(x, 0.9).sum().backward()
wanted = x.grad.clone()
x.grad = None
smooth(x, 0.9).sum().backward()
assert torch.allclose(wanted, x.grad)
a = torch.tensor(0.9, requires_grad=True)
assert "modified by an inplace operation" in said(lambda: in_one_tensor(x, a).sum().backward())
x = torch.rand(2, 3, requires_grad=True)
y = torch.empty_like(x)
y[0] = x[0]
row = a * y[0]
assert y._version == 1
y[1] = row
assert y._version == 2 and "is at version 2; expected version 1 instead" in said(lambda: y.sum().backward())


# %% [markdown] tags=["en"]
# The product `a * y[t - 1]` saves `y[t - 1]` for the gradient of `a`. That row is a view: it shares memory *and version counter* with all of `y`, and the next `y[t] = ...` raises the counter, though it writes elsewhere. The counter does not know which part was written. A number `a` has no gradient, nothing is saved, and the same code is right.
#
# Two rows are enough to see it, in the red line of the picture: `y[0]` was saved at version 1, and writing `y[1]` raised the counter to 2.
# %% [markdown] tags=["ru"] of="ff436d87"
# Произведение `a * y[t - 1]` сохраняет строку `y[t - 1]`, чтобы вычислить градиент по `a`. Эта строка — представление: у неё общая со всем тензором `y` память *и общий счётчик версий*, и следующее присваивание `y[t] = ...` увеличивает счётчик, хотя меняет другое место. Какая часть изменена, по счётчику не узнать. Если `a` — число, его градиент не нужен и ничего не сохраняется, поэтому тот же код верен.
#
# Чтобы это увидеть, нам хватит и двух строк (на рисунке смотрите на красную строку): `y[0]` сохранена при версии 1, а запись в `y[1]` увеличила счётчик до 2.
# %% tags=["picture"]
x = torch.tensor([[1.0, 2.0], [4.0, 5.0]], requires_grad=True)
a = torch.tensor(0.9, requires_grad=True)
y = torch.empty_like(x)
y[0] = x[0]
row = a * y[0]
y[1] = row
draw(y)


# %% [markdown] tags=["en"]
# ## A game of two networks
#
# In a game of two networks, a GAN, a generator `G` makes fakes from random vectors, `ideas`, and a discriminator `D` gives each sample a score between 0 and 1, high for real ones (the bar is the mean over samples):
#
# $$L_D = -\overline{\log D(\text{real})} - \overline{\log(1 - D(G(\text{ideas})))}, \qquad L_G = \overline{\log(1 - D(G(\text{ideas})))}$$
#
# The code below was usual in torch 0.4. Today it ends in an error. Before torch 1.5 there was none, and the gradient of `G` was wrong.
#
# ### `gan_step`
#
# **`gan_step` is to make one step of both networks, each with its own gradient at the weights before the call. Mend it.**
#
# * **Given.** `opt_D` holds the parameters of `D`, `opt_G` those of `G`. Old gradients may be in `.grad`: they must not count.
# * **Result.** One step of `opt_D` with the gradient of $L_D$, taken *at the weights that the networks have when the function is called*. <!-- D -->
# * **Result.** One step of `opt_G` with the gradient of $L_G$, taken at the same weights. What lies in `.grad` afterwards does not matter, and nothing needs to be returned. <!-- G -->
# * **Leave.** The flags and modes of both networks, module by module. With a frozen weight the function may raise an error, as `backward(inputs=...)` does, but not thaw it. <!-- D, G -->
# %% [markdown] tags=["ru"] of="3cabf9ff"
# ## Игра двух сетей
#
# В генеративно-состязательной сети (GAN) две части. Генератор `G` создаёт подделки из случайных векторов `ideas`. Дискриминатор `D` ставит каждому примеру оценку от 0 до 1, высокую — настоящим. Функции потерь у них такие (черта сверху — среднее по примерам):
#
# $$L_D = -\overline{\log D(\text{real})} - \overline{\log(1 - D(G(\text{ideas})))}, \qquad L_G = \overline{\log(1 - D(G(\text{ideas})))}$$
#
# Код ниже был обычным во времена torch 0.4. Сегодня он приводит к ошибке. До torch 1.5 ошибки не было, а градиент `G` получался неверным.
#
# ### `gan_step`
#
# **`gan_step` должна сделать по одному шагу для каждой из двух сетей — по градиенту её собственной функции потерь при весах до вызова. Исправьте функцию.**
#
# * **Дано.** Оптимизатору `opt_D` переданы параметры `D`, а `opt_G` — параметры `G`. В `.grad` могут лежать старые градиенты: учитываться они не должны.
# * **Результат.** Один шаг `opt_D` по градиенту $L_D$, взятому *при тех весах, которые были у сетей в момент вызова*. <!-- D -->
# * **Результат.** Один шаг `opt_G` по градиенту $L_G$, взятому при тех же весах. Что лежит в `.grad` потом, неважно, и возвращать ничего не нужно. <!-- G -->
# * **Не менять.** Флаги и режимы каждого модуля в обеих сетях. Если какой-то вес заморожен, функция может завершиться ошибкой, как и вызов `backward(inputs=...)` с таким весом, но размораживать его не должна. <!-- D, G -->
# %% answer="gan_step"
def gan_step(G, D, opt_G, opt_D, real, ideas):
    """One step of both networks, with gradients at the weights from before."""
    score_real = D(real)
    score_fake = D(G(ideas))
    d_loss = -score_real.log().mean() - (1 - score_fake).log().mean()
    g_loss = (1 - score_fake).log().mean()

    opt_D.zero_grad()
    d_loss.backward(inputs=list(D.parameters()), retain_graph=True)
    opt_G.zero_grad()
    g_loss.backward(inputs=list(G.parameters()))
    opt_D.step()
    opt_G.step()


# %% given="gan_step"
def gan_step(G, D, opt_G, opt_D, real, ideas):
    """One step of both networks, with gradients at the weights from before."""
    score_real = D(real)
    score_fake = D(G(ideas))
    d_loss = -score_real.log().mean() - (1 - score_fake).log().mean()
    g_loss = (1 - score_fake).log().mean()

    opt_D.zero_grad()
    d_loss.backward(retain_graph=True)
    opt_D.step()
    opt_G.zero_grad()
    g_loss.backward()
    opt_G.step()


# %% alternative="gan_step"
def gan_step(G, D, opt_G, opt_D, real, ideas):
    fake = G(ideas)
    g_loss = (1 - D(fake)).log().mean()
    opt_G.zero_grad()
    g_loss.backward()
    opt_D.zero_grad()  # g_loss left its gradient there
    d_loss = -D(real).log().mean() - (1 - D(fake.detach())).log().mean()
    d_loss.backward()
    opt_G.step()
    opt_D.step()


# %% alternative="gan_step"
def gan_step(G, D, opt_G, opt_D, real, ideas):
    score_real, score_fake = D(real), D(G(ideas))
    g_loss = (1 - score_fake).log().mean()
    d_loss = -score_real.log().mean() - g_loss
    for network, loss in ((D, d_loss), (G, g_loss)):
        gradients = torch.autograd.grad(loss, list(network.parameters()), retain_graph=True)
        for parameter, gradient in zip(network.parameters(), gradients):
            parameter.grad = gradient
    opt_G.step()
    opt_D.step()


# %% alternative="gan_step"
def gan_step(G, D, opt_G, opt_D, real, ideas):
    import copy

    judge = copy.deepcopy(D)
    fake = G(ideas)
    opt_D.zero_grad()
    (-D(real).log().mean() - (1 - D(fake.detach())).log().mean()).backward()
    opt_D.step()
    opt_G.zero_grad()
    (1 - judge(fake)).log().mean().backward()
    opt_G.step()


# %% alternative="gan_step"
def gan_step(G, D, opt_G, opt_D, real, ideas):
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        score_real, score_fake = D(real), D(G(ideas))
        d_loss = -score_real.log().mean() - (1 - score_fake).log().mean()
        g_loss = (1 - score_fake).log().mean()
        opt_D.zero_grad()
        d_loss.backward(retain_graph=True)
        opt_D.step()
        opt_G.zero_grad()
        g_loss.backward()
        opt_G.step()


# %% check="gan_step"
from autograder import check

check("gan_step")
# %% [markdown] tags=["en"] explains="gan_step"
# An optimizer's step is an in-place edit of the weights. A linear layer saves its weight, since the gradient of its *input* needs it. Since torch 1.5 the step raises the version counter, and the edit is noticed. Before, the gradient of `G` mixed activations of the old `D` with weights of the new one.
#
# Remember what each call changes: `opt_D.zero_grad()` clears `.grad` of the weights of `D`. `loss.backward()` adds to the `.grad` of *every* leaf behind `loss` that requires grad, whichever optimizer holds it; with `inputs=[...]` only to those in the list. `retain_graph=True` keeps what the graph saved, for another backward pass.
#
# Advice that can be found: both backward passes first, then both steps. That ends the error. Before you follow it, look at the weights whose `.grad` each `backward()` fills.
# %% [markdown] tags=["ru"] explains="gan_step" of="5f981dc2"
# Шаг оптимизатора — это изменение весов на месте. А линейный слой сохраняет свой вес: без него не вычислить градиент по *входу*. Начиная с torch 1.5 шаг увеличивает счётчик версий, и изменение замечают. Раньше в градиенте `G` смешивались активации прежнего `D` и веса нового.
#
# Напомним, что меняет каждый вызов. Вызов `opt_D.zero_grad()` обнуляет `.grad` весов сети `D`. Вызов `loss.backward()` прибавляет градиент к `.grad` *каждого* листа, который требует градиента и от которого зависит `loss`, какому бы оптимизатору он ни был передан, а с аргументом `inputs=[...]` — только к листьям из списка. При `retain_graph=True` то, что сохранено в графе, не освобождается и пригодится для ещё одного обратного прохода.
#
# Можно встретить совет: сначала оба обратных прохода, потом оба шага. Ошибка исчезает, но, прежде чем последовать совету, посмотрите, у каких весов каждый `backward()` заполняет `.grad`.
# %% tags=["fact"]
layer, x = Linear(2, 1), torch.ones(3, 2)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
layer(x).sum().backward()
out = layer(x)
before = layer.weight._version
optimizer.step()
assert layer.weight._version > before
out.sum().backward()  # the input is data: nobody needs the weight
G, D = Linear(2, 2), Linear(2, 1)
D(G(x)).sum().backward(inputs=list(G.parameters()))
assert all(p.grad is not None for p in G.parameters()) and all(p.grad is None for p in D.parameters())
D(G(x)).sum().backward()
assert all(p.grad is not None for p in D.parameters())
fake = D(G(x))
fake.sum().backward(retain_graph=True)
torch.optim.SGD(G.parameters(), lr=0.1).step()
fake.sum().backward(retain_graph=True)  # G, of one layer, moved first
torch.optim.SGD(D.parameters(), lr=0.1).step()
assert "modified by an inplace" in said(lambda: fake.sum().backward())
h = torch.ones(3, 2, requires_grad=True)
out = layer(h)
optimizer.step()
assert "modified by an inplace operation" in said(lambda: out.sum().backward())
# %% [markdown] tags=["en"]
# One question decides about an edit of weights as about any other: did an operation save them? The first layer of a network does not need its weight when its input is data, so if `G` has one layer and makes its step *first*, nothing is refused. With `D` this cannot happen: its input `G(ideas)` requires grad. The counter counts edits of a whole tensor and does not know which of them are harmless. Where it is bypassed by `.data` or by a saved-tensor hook (lesson 06), the gradient may be wrong without an error.
# %% [markdown] tags=["ru"] of="e7640b92"
# Об изменении весов спросим то же, что и о любом другом: сохранила ли их какая-нибудь операция? Если вход первого слоя сети — данные, обратному проходу вес этого слоя не нужен. Поэтому, если генератор `G` однослойный и его шаг делается *первым*, ошибки нет. С дискриминатором `D` так не получится: его вход `G(ideas)` требует градиента. Счётчик один на весь тензор, и по нему не узнать, какие изменения безвредны. Если же его обойти через `.data` или хук сохранённых тензоров (урок 06), градиент может оказаться неверным без всякой ошибки.
# %% tags=["fact"]
x = torch.ones(3, requires_grad=True)
h = x * 2
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    y = h.pow(2)
h.add_(1)
y.sum().backward()
assert x.grad.tolist() == [12, 12, 12]


# %% [markdown] tags=["en"]
# ## A sentence to refute
#
# “In-place functions raise an error if the storage of the modified input is referenced by any other tensor.” You have seen one case where it is false. Build your own.
#
# ### `shared_edit`
#
# **Return two tensors that share one memory, which was edited in place, and whose gradients are right all the same.**
#
# * **Given.** `x`, a leaf of two dimensions that requires grad.
# * **Result.** A pair `(h, other)`: two different tensors with a history (`grad_fn` is not `None`) that share one memory, which is not the memory of `x`. <!-- shared -->
# * **Result.** That memory has been edited in place, when there was already a view of it, and in a way that the version counter counted. An edit that leaves the numbers as they are counts, too. <!-- edited -->
# * **Result.** Backward from `h` and backward from `other` run without an error, and both gradients of `x` are exact. They are compared with finite differences, so let the result be a smooth function of `x`, without rounding and randomness. <!-- gradients -->
# %% [markdown] tags=["ru"] of="4be386d4"
# ## Утверждение, которое надо опровергнуть
#
# «Операции с изменением на месте вызывают ошибку, если на хранилище изменяемого входа ссылается какой-нибудь другой тензор». Один случай, когда это неверно, вы уже видели. Постройте ещё один.
#
# ### `shared_edit`
#
# **Верните два тензора, общая память которых изменена на месте, а градиенты обоих всё равно верны.**
#
# * **Дано.** Двумерный лист `x`, который требует градиента.
# * **Результат.** Пара `(h, other)`: два разных тензора с историей (`grad_fn` не `None`) и с общей памятью, отличной от памяти `x`. <!-- shared -->
# * **Результат.** Эта память изменена на месте, когда уже было представление (view) на неё, и так, что счётчик версий увеличился. Считается и изменение, при котором числа остались прежними. <!-- edited -->
# * **Результат.** Обратный проход от `h` и обратный проход от `other` выполняются без ошибки, и оба градиента по `x` точны. Они сравниваются с конечными разностями, поэтому результат должен быть гладкой функцией от `x`, без округления и случайности. <!-- gradients -->
# %% answer="shared_edit"
def shared_edit(x):
    """Two tensors with a history on one memory that was edited in place, both with exact gradients."""
    ### BEGIN SOLUTION
    h = x * 2
    other = h.t()
    h[0].mul_(10)
    return h, other
    ### END SOLUTION


# %% alternative="shared_edit"
def shared_edit(x):
    h = x.sin()
    other = h.view(-1)
    other.add_(1)
    return h, other


# %% alternative="shared_edit"
def shared_edit(x):
    h = torch.zeros_like(x)
    h[:, 0] = x[:, 1] ** 3
    h[0] = x.exp()[0]
    return h[0], h


# %% alternative="shared_edit"
def shared_edit(x):
    h = x + 1
    part = h[:, :1]
    part *= part.clone()
    return part, h


# %% check="shared_edit"
from autograder import check

check("shared_edit")
# %% [markdown] tags=["en"]
# ## What your engine does not notice
#
# The engine that you began in lesson 02 has no `no_grad()`, and no version counter. The next cell is that engine as the course writes it.
# %% [markdown] tags=["ru"] of="bcd4be53"
# ## Чего не замечает ваш движок
#
# У движка, который вы начали писать в уроке 02, нет ни `no_grad()`, ни счётчика версий. В следующей ячейке — этот движок в том виде, в каком его пишет курс.
# %% include=["own_engine/value", "own_engine/rules_and_walk"] tags=["folded"]
# %%
from autograder import use_mine

use_mine()
# %% [markdown] tags=["en"]
# For $y = xw$ at $x = 3$, $w = 2$ the gradient of $w$ is 3. Between forward and backward pass the cell adds 1 to $x$. What will torch say, and what your engine?
# %% [markdown] tags=["ru"] of="72b482aa"
# У $y = xw$ при $x = 3$, $w = 2$ градиент по $w$ равен 3. В ячейке между прямым и обратным проходом к $x$ прибавляется 1. Что на это ответит torch, а что — ваш движок?
# %%
three, two = (torch.tensor(number, dtype=torch.float64) for number in (3.0, 2.0))
x, w = three.clone().requires_grad_(), two.clone().requires_grad_()
y = x * w
with torch.no_grad():
    x.add_(1)
print("torch:", attempt(y.backward))
x, w = Value(three.clone()), Value(two.clone())
y = x * w
x.data.add_(1)
print("yours:", attempt(y.backward), "- the gradient of w is", w.grad.item())
# %% tags=["fact"]
assert w.grad.item() == 4
x, w = three.clone().requires_grad_(), two.clone().requires_grad_()
y = x * w
with torch.no_grad():
    x.add_(1)
assert attempt(y.backward) == "RuntimeError" and w.grad is None


# %% [markdown] tags=["en"]
# Yours says 4 and is wrong without a word. So give its values what torch's tensors have: a version, an edit that raises it, and a switch. (Use `add_` from now on: an edit of `data` counts nothing.)
# %% [markdown] tags=["ru"] of="748e0c45"
# Ваш движок отвечает 4: это неверно, и никакой ошибки нет. Дадим его значениям то, что есть у тензоров torch: версию, операцию, которая её увеличивает, и выключатель. (Теперь изменяйте значения через `add_`: прямое изменение `data` версию не увеличит.)
# %%
from contextlib import contextmanager


def add_(self, tensor):
    """Edit a value in place, and count the edit."""
    self.data.add_(tensor)
    self.version += 1


@contextmanager
def no_recording():
    before, Value.recording = Value.recording, False
    try:
        yield
    finally:
        Value.recording = before


Value.recording, Value.version, Value.add_ = True, 0, add_


# %% [markdown] tags=["en"]
# ### `stop_recording`
#
# **A rule remembers the versions of what it will read, and without recording there is no rule.** Below is the engine's `record`. So far it looks neither at versions nor at the switch.
#
# * **Given.** `op`, its result `data`, and `inputs`, values with `data` and `version`. `Value = type(inputs[0])` is their class; `Value.recording` is False inside `no_recording()`.
# * **Result.** While `Value.recording` is True: a `Value` with its inputs and a rule, and gradients as before. A rule may run inside `no_recording()`. <!-- recorded -->
# * **Result.** Otherwise a leaf: a `Value` without inputs, whose rule is None. <!-- stopped -->
# * **Result.** If a value that a rule reads was edited after the operation, the rule raises a RuntimeError, also if the numbers stayed the same. `*` and `@` read their inputs, `tanh` its result. <!-- noticed -->
# * **Result.** No other edit stops a rule: `+` and `sum` read nothing. <!-- unread -->
# * **Not allowed.** To call `record`: your function takes its place. <!-- recorded -->
# %% [markdown] tags=["ru"] of="efab24f4"
# ### `stop_recording`
#
# **Правило помнит версии того, что ему предстоит прочесть, а без записи нет и правила.** Ниже — функция `record` вашего движка. Пока она не смотрит ни на версии, ни на выключатель.
#
# * **Дано.** Операция `op`, её результат `data` и входы `inputs` — значения с полями `data` и `version`. `Value = type(inputs[0])` — их класс; внутри `no_recording()` поле `Value.recording` равно False.
# * **Результат.** Пока `Value.recording` равно True — `Value` со входами и правилом, и градиенты прежние. Само правило может выполняться и внутри `no_recording()`. <!-- recorded -->
# * **Результат.** Иначе — лист: `Value` без входов, правило равно None. <!-- stopped -->
# * **Результат.** Если значение, которое правило читает, изменено после операции, правило вызывает RuntimeError, даже если числа остались прежними. Операции `*` и `@` читают свои входы, `tanh` — свой результат. <!-- noticed -->
# * **Результат.** Другие изменения правилу не мешают: `+` и `sum` не читают ничего. <!-- unread -->
# * **Нельзя.** Вызывать `record`: её место займёт ваша функция. <!-- recorded -->
# %% answer="stop_recording"
def stop_recording(op, data, *inputs):
    """The result of an operation: a leaf without recording, else with a rule that notices edits."""
    Value = type(inputs[0])
    if not Value.recording:
        return Value(data)
    made = Value(data, inputs, None, op)
    read = {"*": inputs, "@": inputs, "tanh": (made,)}.get(op, ())
    versions = [each.version for each in read]

    def rule(gradient):
        if [each.version for each in read] != versions:
            raise RuntimeError(f"a value that the rule of {op} reads was edited in place")
        parts = four_rules()[op](gradient, data, *(each.data for each in inputs))
        return tuple(part.sum_to_size(each.data.shape) for part, each in zip(parts, inputs))

    made.rule = rule
    return made


# %% given="stop_recording"
def stop_recording(op, data, *inputs):
    """The result of an operation: a leaf without recording, else with a rule that notices edits."""
    Value = type(inputs[0])

    def rule(gradient):
        parts = four_rules()[op](gradient, data, *(each.data for each in inputs))
        return tuple(part.sum_to_size(each.data.shape) for part, each in zip(parts, inputs))

    return Value(data, inputs, rule, op)


# %% alternative="stop_recording"
class Rule:
    def __init__(self, op, data, inputs):
        self.op, self.data, self.inputs, self.saved = op, data, inputs, []

    def save(self, *values):
        self.saved += [(each, each.version) for each in values]

    def __call__(self, gradient):
        for value, version in self.saved:
            if value.version > version:
                raise RuntimeError(f"at version {value.version}, expected version {version}")
        parts = four_rules()[self.op](gradient, self.data, *[each.data for each in self.inputs])
        return [part.sum_to_size(each.data.shape) for part, each in zip(parts, self.inputs)]


def stop_recording(op, data, *inputs):
    result = type(inputs[0])(data)
    if result.recording:
        result.inputs, result.op, result.rule = inputs, op, Rule(op, data, inputs)
        if op == "tanh":
            result.rule.save(result)
        elif op in "*@":
            result.rule.save(*inputs)
    return result


# %% alternative="stop_recording"
def stop_recording(op, data, *inputs):
    # versions only grow, so their sum tells whether any of them did; the result is not held by its own rule
    import weakref

    kind = inputs[0].__class__
    made = kind(data, (), None, op)
    if kind.recording is False:
        return made
    reads = inputs if op in ("*", "@") else []
    self = weakref.ref(made)

    def edits():
        own = self() if op == "tanh" else None
        return sum(each.version for each in reads) + (own.version if own is not None else 0)

    before = edits()

    def rule(gradient):
        if edits() > before:
            raise RuntimeError("edited since")
        return [
            part.sum_to_size(each.data.size())
            for each, part in zip(inputs, four_rules()[op](gradient, data, *[each.data for each in inputs]))
        ]

    made.inputs, made.rule = tuple(inputs), rule
    return made


# %% alternative="stop_recording"
def watched(rule, values):
    then = {value: value.version for value in values}

    def run(gradient):
        if any(value.version != version for value, version in then.items()):
            raise RuntimeError("an edit between the operation and its rule")
        return rule(gradient)

    return run


def stop_recording(op, data, *inputs):
    class_ = type(inputs[0])

    def summed(part, each):
        return part.sum_to_size(each.data.shape)

    def rule(gradient):
        return map(summed, four_rules()[op](gradient, data, *(each.data for each in inputs)), inputs)

    made = class_(data, inputs, rule, op)
    if op in ("*", "@"):
        made.rule = watched(rule, inputs)
    if op == "tanh":
        made.rule = watched(rule, [made])
    return made if class_.recording else class_(data)


# %% check="stop_recording"
from autograder import check

check("stop_recording")
# %% [markdown] tags=["en"]
# Now `record = stop_recording` puts it into your engine. First the switch: how many bytes do 20 results in a row leave in memory, each of 1,000 numbers of eight bytes? Then five edits. Which of them does torch refuse? Say it first, and see whether your engine agrees.
# %% [markdown] tags=["ru"] of="52313c38"
# Теперь строка `record = stop_recording` добавит её в ваш движок. Сначала проверим выключатель: сколько байтов останется занято после 20 результатов подряд, если в каждом 1000 чисел по восемь байтов? Затем — пять изменений. После каких из них в torch будет ошибка? Сначала ответьте, а потом посмотрите, согласен ли ваш движок.
# %%
from contextlib import nullcontext

record = stop_recording


def left_by_20(leaf, switch):
    with live_bytes() as live, switch():
        for _ in range(20):
            leaf = leaf.tanh()
        return f"{live.now:7,} bytes"


edits = {
    "y = x * w, edit x": (lambda x, w: x * w, "x"),
    "y = x * w, edit y": (lambda x, w: x * w, "y"),
    "y = x + w, edit x": (lambda x, w: x + w, "x"),
    "y = x.tanh(), edit x": (lambda x, w: x.tanh(), "x"),
    "y = x.tanh(), edit y": (lambda x, w: x.tanh(), "y"),
}


def edit(value):
    """Add 1 to a value of your engine, or to a tensor, in place and without recording."""
    with torch.no_grad():
        value.add_(torch.ones((), dtype=torch.float64))


def backward_after(title, x, w):
    def run():
        operation, edited = edits[title]
        y = operation(x, w)
        edit({"x": x, "y": y}[edited])
        y.backward()

    return attempt(run)


numbers = torch.linspace(0.0, 1.0, 1000, dtype=torch.float64)
print(f"{'':21}  {'yours':14}  torch")
for title, ours, theirs in (("recorded", nullcontext, nullcontext), ("not recorded", no_recording, torch.no_grad)):
    in_torch = left_by_20(numbers.clone().requires_grad_(), theirs)
    print(f"{title:21}  {left_by_20(Value(numbers), ours):14}  {in_torch}")
for title in edits:
    in_torch = backward_after(title, three.clone().requires_grad_(), two.clone().requires_grad_())
    print(f"{title:21}  {backward_after(title, Value(three.clone()), Value(two.clone())):14}  {in_torch}")
# %% tags=["fact"]
for values, switch in ((numbers.clone().requires_grad_(), torch.no_grad), (Value(numbers), no_recording)):
    assert left_by_20(values, nullcontext) == "160,000 bytes" and left_by_20(values, switch) == "  8,000 bytes"
for title, expected in zip(edits, ("RuntimeError", "accepted", "accepted", "accepted", "RuntimeError")):
    x, w = three.clone().requires_grad_(), two.clone().requires_grad_()
    a, b = Value(three.clone()), Value(two.clone())
    assert backward_after(title, x, w) == backward_after(title, a, b) == expected, title
    assert a.data == x and a.version == x._version
    assert all((own.grad is None) == (other.grad is None) for own, other in ((a, x), (b, w)))
    assert all(own.grad is None or torch.allclose(own.grad, other.grad) for own, other in ((a, x), (b, w)))

operations = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "@": lambda a, b: a @ b,
    "sum": lambda a, b: a.sum(),
    "tanh": lambda a, b: a.tanh(),
}
square = torch.linspace(-1.0, 1.0, 9, dtype=torch.float64).reshape(3, 3)
for operation in operations.values():
    for place in (0, 1, 2):
        found = []
        for leaves in ([Value(square.clone()), Value(square.t().clone())], [square.clone(), square.t().clone()]):
            if isinstance(leaves[0], torch.Tensor):
                leaves = [each.requires_grad_() for each in leaves]
            result = operation(*leaves)
            edit((*leaves, result)[place])
            found.append((attempt(result.sum().backward), [each.grad for each in leaves]))
        (ours, gradients), (theirs, torchs) = found
        assert ours == theirs
        if ours == "accepted":
            assert all((a is None) == (b is None) for a, b in zip(gradients, torchs))
            assert all(a is None or torch.allclose(a, b) for a, b in zip(gradients, torchs))


# %% [markdown] tags=["en", "try"]
# Both columns agree. Why may the input of `tanh` be edited and not its result? And when has an engine to look at the switch: when the operation runs, or when its rule does?
#
# `tanh` reads its result, so the input may change: an engine that watches inputs would stop the harmless edit and miss the other one. A version is noted when the operation runs and compared when its rule runs. The switch is read only at the first of these moments, and so a backward pass works inside `no_grad()`, too.
# %% [markdown] tags=["ru", "try"] of="4484a83c"
# Столбцы совпадают. Почему вход `tanh` менять можно, а результат нельзя? И когда движок должен смотреть на переключатель: при выполнении операции или её правила?
#
# Операция `tanh` читает свой результат, поэтому вход менять можно: движок, который следит только за входами, прервал бы проход после безвредного изменения и пропустил бы опасное. Версию запоминают, когда выполняется операция, а сравнивают, когда выполняется её правило. Выключатель же читают только в первый из этих моментов, поэтому обратный проход работает и внутри `no_grad()`.
# %% [markdown] tags=["en"]
# ## On a GPU
#
# On a GPU the modes, the flags and the version counter work in the same way. What differs is what an error costs: a graph kept by `detach()` at the end fills memory that the next batch needs. With a GPU the cell measures the peak of both ways with the counter of torch's CUDA allocator. Each layer's result takes 4,194,304 bytes, and with `detach()` at the end the peak is higher by more than six of them.
# %% [markdown] tags=["ru"] of="976149bc"
# ## На GPU
#
# На GPU режимы, флаги и счётчик версий работают так же. Отличается цена ошибки: граф, который при `detach()` выбрасывается лишь в конце, занимает память, нужную следующему батчу. На машине с GPU ячейка измерит пик обоих способов с помощью счётчика CUDA-аллокатора torch. Результат каждого слоя занимает 4 194 304 байта, и с `detach()` в конце пик выше больше чем на шесть таких результатов.
# %%
from autograder import gpu_peak, on_gpu


def no_grad_on_gpu():
    net = Sequential(*[layer for _ in range(8) for layer in (Linear(256, 256), ReLU())]).cuda()
    data = torch.ones(4096, 256, device="cuda")

    def quietly():
        with torch.no_grad():
            return net(data)

    return {
        "peak bytes, detach() at the end": gpu_peak(lambda: net(data).detach()),
        "under no_grad()": gpu_peak(quietly),
    }


on_gpu(no_grad_on_gpu)
# %% tags=["fact"]
from autograder.lessons.gpu_recordings import check_claims

check_claims(
    no_grad_on_gpu,
    lambda measured: {
        "detach() at the end keeps more than six results": measured["peak bytes, detach() at the end"]
        - measured["under no_grad()"]
        > 6 * 4096 * 256 * 4
        == 6 * 4_194_304,
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
