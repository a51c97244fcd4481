# %% [markdown] tags=["en"] needs="03, 04, 06" about="a training step under a memory cap, five questions from forums, TD(λ) through `p.grad`, an engine of your own, a scoreboard of bytes and calls"
# # Capstones
#
# All that you need to know about autograd has been in a lesson before. What is new is that it comes together: pieces of work, each of which fails in practice at a seam between two things that work.
#
# 1. **A training step under a memory cap.** A frozen base with checkpoints, a hidden state that lives longer than its graph, micro-batches, half precision. Three of the four show themselves by a message of torch, and the first reply that one finds is usually wrong.
# 2. **A note to a colleague.** Five questions from forums. You defend a cure for two of them in writing; an extra exercise has you mend all five.
# 3. **Eligibility traces.** An update for TD(λ) sends its numbers through `p.grad`. It has three faults, and two of them look like bad luck with the learning rate.
# 4. **An engine of your own**: the parts that you have built since lesson 02, joined, and random programs that compare it with torch. What it cannot do yet: all at once.
# 5. **A scoreboard.** One training step in as few bytes and as few calls as you can. The card shows how far you are from the lower bound.
#
# You need lessons 03 (accumulation), 04 (`no_grad`, freezing), 06 (checkpoints, measuring bytes); for the scoreboard also 08 (hooks). Nothing about reinforcement learning is needed.
# %% [markdown] tags=["ru"] about="шаг обучения при ограниченной памяти, пять вопросов с форумов, TD(λ) через `p.grad`, собственный движок, табло байтов и вызовов" of="b2638c5c"
# # Итоговые работы
#
# Всё, что нужно здесь знать об autograd, уже встречалось в предыдущих уроках. Новы только сочетания. Вас ждут несколько работ, и в каждой на практике ошибаются на стыке двух приёмов, хотя по отдельности верны оба.
#
# 1. **Шаг обучения при ограниченной памяти.** Замороженная основа с контрольными точками, скрытое состояние, которое живёт дольше своего графа, микробатчи, половинная точность. В трёх из этих четырёх случаев о неполадке узнают из сообщения torch, а первый же найденный совет обычно неверен.
# 2. **Письмо коллеге.** Пять вопросов с форумов. Для двух вы обоснуете решение письменно, а в дополнительном упражнении исправите все пять.
# 3. **Следы приемлемости.** В реализации TD(λ), которую вы исправите, через поле `p.grad` проходит не только градиент, но и само обновление. Ошибок в ней три, и две из них легко принять за неудачный подбор параметров метода.
# 4. **Собственный движок**: части, которые вы написали начиная с урока 02, собранные вместе, и случайные программы, на которых движок сравнивают с torch. Пока он умеет всё это только по отдельности.
# 5. **Табло.** Один шаг обучения, на который должно уйти как можно меньше байтов и вызовов. На карточке видно, насколько вы близки к нижней границе.
#
# Понадобятся уроки 03 (накопление), 04 (`no_grad`, замораживание), 06 (контрольные точки, измерение памяти), а для табло ещё и 08 (хуки). Знать обучение с подкреплением не нужно.
# %% tags=["en"]
# Does the import fail? Install the course by pip (its file, or autograd-course),
# and uninstall another `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("capstones", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("capstones", language="ru")
# %%
import math
import warnings

import torch
from torch.nn.functional import mse_loss
from torch.utils.checkpoint import checkpoint


# %% [markdown] tags=["en"]
# ## A step that fits into memory
#
# The next two sections mend two pieces of one training step; the extra sections *All together* and *Half precision* complete it under a cap.
#
# ### A frozen start
#
# A pretrained model is adapted: its base is frozen, small adapters in its blocks are trained, and so that it fits, every block runs under a checkpoint. The log then shows, once:
#
# > UserWarning: None of the inputs have requires_grad=True. Gradients will be None
#
# Replies in issue trackers say that it is normal, that the loss looks fine, or which filter hides the message. Is it normal? Two blocks, as small as possible:
# %% [markdown] tags=["ru"] of="de72c27f"
# ## Шаг, который помещается в память
#
# В двух следующих разделах мы исправим две части шага обучения, а в дополнительных, «Всё вместе» и «Половинная точность», шаг целиком уложится в заданный предел памяти.
#
# ### Замороженное начало
#
# Дообучается готовая модель: её основа заморожена, обучаются небольшие адаптеры в блоках, а чтобы хватило памяти, каждый блок выполняется с контрольной точкой. В журнале один раз появляется сообщение:
#
# > UserWarning: None of the inputs have requires_grad=True. Gradients will be None
#
# В ответах на форумах пишут, что так и должно быть, раз значение функции потерь уменьшается, или советуют фильтр, который скроет сообщение. Действительно ли так и должно быть? Проверим на самой маленькой модели, всего из двух блоков:
# %%
class Adapted(torch.nn.Module):
    """A frozen base and an adapter beside it."""

    def __init__(self, features):
        super().__init__()
        self.base = torch.nn.Linear(features, features).requires_grad_(False)
        self.adapter = torch.nn.Linear(features, features, bias=False)

    def forward(self, h):
        return torch.tanh(h + self.base(h) + self.adapter(h))


def who_has_gradients(use_reentrant):
    torch.manual_seed(0)
    embed = torch.nn.Embedding(5, 3).requires_grad_(False)
    blocks = [Adapted(3), Adapted(3)]
    head = torch.nn.Linear(3, 1)
    h = embed(torch.tensor([0, 3]))
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=use_reentrant)
    head(h).sum().backward()
    return {
        "block 0": blocks[0].adapter.weight.grad is not None,
        "block 1": blocks[1].adapter.weight.grad is not None,
        "head": head.weight.grad is not None,
    }


with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    print(who_has_gradients(use_reentrant=True))
for message in {str(warning.message) for warning in warned}:
    print(message)
# %% tags=["fact"]
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    assert who_has_gradients(True) == {"block 0": False, "block 1": False, "head": True}
assert {str(each.message) for each in warned} == {"None of the inputs have requires_grad=True. Gradients will be None"}
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    assert who_has_gradients(False) == {"block 0": True, "block 1": True, "head": True}
assert warned == []
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    block, x = Adapted(3), torch.ones(2, 3)
    assert not checkpoint(block, x).requires_grad  # the default is still the reentrant variant
    assert any("use_reentrant parameter should be passed explicitly" in str(each.message) for each in warned)
    assert not checkpoint(
        lambda inputs: block(inputs["x"]), {"x": x.requires_grad_()}, use_reentrant=True
    ).requires_grad
    assert checkpoint(block, x.detach().requires_grad_(), use_reentrant=True).requires_grad
    with torch.no_grad():
        warned.clear()
        checkpoint(block, x.detach(), use_reentrant=True)
        assert [str(each.message)[:21] for each in warned] == ["None of the inputs ha"]
    warned.clear()
    recorded = checkpoint(Adapted(3).requires_grad_(False), x.detach(), use_reentrant=True)
    assert not recorded.requires_grad and len(warned) == 1  # here it is harmless: nothing in the block is trained

assert issubclass(torch.utils.checkpoint.CheckpointFunction, torch.autograd.Function)
modes = []


def noting(h):
    modes.append(torch.is_grad_enabled())
    return block(h)


recorded = checkpoint(noting, x, use_reentrant=True)  # torch 2.11 needs the result as long as its node is asked
assert recorded.grad_fn.name() == "CheckpointFunctionBackward"
assert checkpoint(noting, x, use_reentrant=False).grad_fn.name() == block(x).grad_fn.name() == "TanhBackward0"
assert modes == [False, True]


def losses(steps=20):
    torch.manual_seed(0)
    h, block, head = torch.ones(4, 3), Adapted(3), torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD([block.adapter.weight, *head.parameters()], lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = mse_loss(head(checkpoint(block, h, use_reentrant=True)), torch.ones(4, 1))
        loss.backward()
        optimizer.step()
        yield loss.item()


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    falling = list(losses())
assert falling[-1] < 0.1 * falling[0]  # the head alone learns


# %% [markdown] tags=["en"]
# Not one adapter is trained. The loss falls all the same, because the head learns: that is why so many people find nothing wrong.
#
# Sometimes the message is indeed harmless: in a validation loop under `no_grad()` it appears as well, and where only a wholly frozen part of the model is checkpointed nothing is lost. The message does not tell these cases apart. `.grad` of an adapter does.
#
# ### `fix_checkpoint`
#
# **Every trained parameter is to get its gradient, with one block in memory at a time. The adapters get none: mend the function.**
#
# * **Given.** `embed`, an embedding; `tokens`, a tensor of indices; `blocks`, a `ModuleList`; `head`, a layer. Some parameters require grad and some do not, in any part of the model; the embedding may be trained, and a block may be frozen as a whole. No block draws random numbers. Gradients are taken with `backward()`.
# * **Result.** `head` of what the blocks make of the embedding, one after the other. After `backward()` from it every trained parameter has the gradient that it would have without checkpoints, and frozen ones have None. The outputs of two calls may be alive at once. <!-- gradients -->
# * **Leave.** Flags and weights. <!-- flags -->
# * **Not allowed.** The inside of more than one block in memory at a time in the backward pass: for all that the call and the pass make, gradients included, the check allows 3.75 times the bytes of the widest tensor in a block. Nothing may take its place, such as bytes or files: all blocks but one are computed again. <!-- peak, again -->
# %% [markdown] tags=["ru"] of="a2076aab"
# Ни один адаптер не обучается. Значение функции потерь всё равно падает, потому что учится выходной слой: вот почему столько людей не замечают ошибки.
#
# Иногда сообщение действительно безобидно: оно появляется и при валидации внутри `no_grad()`, а если с контрольными точками выполняется только полностью замороженная часть модели, ничего не потеряно. По тексту сообщения безобидный случай от опасного не отличить: нужно посмотреть, что лежит в поле `.grad` адаптера.
#
# ### `fix_checkpoint`
#
# **Каждый обучаемый параметр должен получить свой градиент, а в памяти одновременно должен находиться только один блок. Адаптеры градиента не получают: исправьте функцию.**
#
# * **Дано.** Слой эмбеддингов `embed`; тензор индексов `tokens`; `blocks` — `ModuleList`; выходной слой `head`. Одни параметры требуют градиента, другие — нет, и находиться те и другие могут в любом месте модели: слой эмбеддингов может обучаться, а какой-нибудь блок может быть заморожен целиком. Случайных чисел в блоках нет. Градиенты вычисляются вызовом `backward()`.
# * **Результат.** Выход слоя `head`, на вход которого подан результат последнего блока: эмбеддинги проходят через блоки один за другим. После `backward()` градиент каждого обучаемого параметра такой же, как без контрольных точек, а у замороженных — None. Результаты двух вызовов могут существовать одновременно. <!-- gradients -->
# * **Не менять.** Флаги и веса. <!-- flags -->
# * **Нельзя.** Держать в памяти во время обратного прохода промежуточные результаты больше чем одного блока: при проверке всё, что создано при вызове и в обратном проходе, вместе с градиентами может занимать не больше 3.75 размера (в байтах) самого широкого тензора блока. Хранить их в другом виде, например в байтах или в файлах, тоже нельзя: все блоки, кроме одного, вычисляются повторно. <!-- peak, again -->
# %% answer="fix_checkpoint"
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False)
    return head(h)


# %% given="fix_checkpoint"
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=True)
    return head(h)


# %% alternative="fix_checkpoint"
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens).requires_grad_()
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=True)
    return head(h)


# %% alternative="fix_checkpoint"
def fix_checkpoint(embed, blocks, head, tokens):
    from torch.utils.checkpoint import checkpoint_sequential

    layers = [*blocks, torch.nn.Identity()]  # the last segment is not checkpointed
    return head(checkpoint_sequential(layers, len(layers), embed(tokens), use_reentrant=False))


# %% alternative="fix_checkpoint"
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    if not h.requires_grad:
        h = h.detach().requires_grad_()
    for block in blocks:
        h = checkpoint(lambda h, block=block: block(h), h, use_reentrant=True)
    return head(h)


# %% check="fix_checkpoint"
from autograder import check

check("fix_checkpoint")
# %% [markdown] tags=["en"] explains="fix_checkpoint"
# The reentrant variant, `use_reentrant=True`, is a custom Function. Its `forward` runs the block with recording off, and the result requires grad only if one of the Function's *tensor arguments* does. The weights of the block are not arguments, and the output of a frozen embedding does not require grad. So the first block returns a constant, the second gets a constant, and so on. A tensor that is hidden in a dict is not seen either. If you leave the argument `use_reentrant` out, torch 2.13 warns and takes the reentrant variant.
# %% [markdown] tags=["ru"] explains="fix_checkpoint" of="11b71650"
# Старый (реентерабельный) вариант, `use_reentrant=True`, — это пользовательская функция. В её методе `forward` блок выполняется с выключенной записью графа, и результат требует градиента, только если его требует хотя бы один *тензор среди аргументов*. Веса блока в число аргументов не входят. Выход же замороженного слоя эмбеддингов, который передан блоку, градиента не требует. Поэтому первый блок возвращает константу, второй получает константу, и так далее. Тензор, спрятанный в словарь, тоже не учитывается. Если не указать аргумент `use_reentrant`, в torch 2.13 появится предупреждение, а выполнен будет старый вариант.


# %% [markdown] tags=["en"]
# Four cures go round, and they differ:
#
# | cure | what it does | its price |
# |---|---|---|
# | `use_reentrant=False` | the other variant: the block is recorded as usual, and only what it saves is dropped | none here |
# | `h.requires_grad_()` on the output of the embedding | the first argument requires grad (libraries call it `enable_input_require_grads`) | a gradient of `h` that nobody needs |
# | an extra argument that requires grad | the same, through a dummy | fails in a frozen block whose input does not require grad |
# | a filter for warnings | hides the message | the gradients of all adapters |
# %% [markdown] tags=["ru"] of="7a9a004a"
# На форумах предлагают четыре средства, и они не равноценны:
#
# | средство | что происходит | чем платят |
# |---|---|---|
# | `use_reentrant=False` | другой вариант: граф блока записывается как обычно, отбрасываются только сохранённые тензоры | здесь ничем |
# | `h.requires_grad_()` на выходе слоя эмбеддингов | градиента требует первый аргумент (в библиотеках это называется `enable_input_require_grads`) | лишним вычислением: градиент тензора `h` никому не нужен |
# | лишний аргумент, который требует градиента | то же самое, но через пустышку | ошибкой, если блок заморожен целиком и его вход градиента не требует |
# | фильтр предупреждений | сообщение не показывается | градиентами всех адаптеров |
# %% tags=["fact"]
frozen_block = Adapted(3).requires_grad_(False)
flag = torch.zeros((), requires_grad=True)
y = checkpoint(lambda h, _: frozen_block(h), torch.ones(2, 3), flag, use_reentrant=True)
assert y.requires_grad
try:
    y.sum().backward()
    raise SystemError("no error")
except RuntimeError as error:
    assert "none of output has requires_grad=True" in str(error)
h = torch.ones(2, 3).requires_grad_()
checkpoint(frozen_block, h, use_reentrant=True).sum().backward()
assert h.grad is not None
behind = torch.ones(2, 3).requires_grad_()
checkpoint(lambda h, _: frozen_block(h), behind, flag, use_reentrant=True).sum().backward()
assert torch.equal(behind.grad, h.grad)  # the dummy does no harm behind something trained


# %% [markdown] tags=["en"]
# ## Windows over a long sequence
#
# A recurrent model reads a sequence that is too long for one graph. It is cut into *windows*: after every $k$ steps there is a backward pass, and the hidden state $h$ goes on into the next window. The second `backward()` raises
#
# > RuntimeError: Trying to backward through the graph a second time
#
# although nobody calls it twice for the same loss. Why?
# %% [markdown] tags=["ru"] of="b11d2908"
# ## Окна в длинной последовательности
#
# Рекуррентная модель читает последовательность, слишком длинную для одного графа. Её разрезают на *окна*: через каждые $k$ шагов делают обратный проход, а скрытое состояние $h$ переходит в следующее окно. Второй вызов `backward()` завершается ошибкой, хотя функции потерь у этих вызовов разные:
#
# > RuntimeError: Trying to backward through the graph a second time
#
# Почему?
# %% [markdown] tags=["en"]
# ### `fix_hidden_state`
#
# **This loop over windows took the advice of the message. Run it, and the next message comes: mend it.**
#
# A window has `k` steps, the last one may be shorter.
#
# * **Given.** `x` and `y`, tensors whose first dimension is the time. `cell(x_t, state)` returns a prediction and the next state; `state` is a tensor, or a tuple of tensors as in an LSTM, and has no graph. Something may be in `.grad` at the start, and the optimizer may be any.
# * **Result.** Each window makes one `optimizer.step()` with the gradient of its own loss, the sum of the `mse_loss` of its steps, in which the state at its beginning is a constant. The values of the state go on from window to window. <!-- weights -->
# * **Result.** The last state is returned in the form in which it came, without a graph. <!-- state -->
# %% [markdown] tags=["ru"] of="59ec0efb"
# ### `fix_hidden_state`
#
# **Автор этого цикла по окнам послушался совета из сообщения об ошибке. Выполните цикл, и появится следующее сообщение. Исправьте цикл.**
#
# В окне `k` шагов, последнее может быть короче.
#
# * **Дано.** Тензоры `x` и `y`, у которых первое измерение — время. Вызов `cell(x_t, state)` возвращает предсказание и следующее состояние; `state` — тензор или, как в LSTM, кортеж тензоров, графа у него нет. В `.grad` вначале может что-то лежать, оптимизатор может быть любым.
# * **Результат.** На каждое окно приходится один вызов `optimizer.step()` с градиентом функции потерь этого окна, то есть суммы `mse_loss` по его шагам; состояние в начале окна считается константой. Значения состояния переходят из окна в окно. <!-- weights -->
# * **Результат.** Возвращается последнее состояние без графа и в том же виде, что и начальное: тензор или кортеж тензоров. <!-- state -->
# %% answer="fix_hidden_state"
def fix_hidden_state(cell, optimizer, x, y, state, k):
    for start in range(0, len(x), k):
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()
    return state


# %% given="fix_hidden_state"
def fix_hidden_state(cell, optimizer, x, y, state, k):
    for start in range(0, len(x), k):
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t)
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
    return state


# %% alternative="fix_hidden_state"
def fix_hidden_state(cell, optimizer, x, y, state, k):
    def cut(state):
        return state.detach() if isinstance(state, torch.Tensor) else tuple(map(cut, state))

    loss = 0.0
    for t in range(len(x)):
        prediction, state = cell(x[t], state)
        loss = loss + mse_loss(prediction, y[t])
        if (t + 1) % k == 0 or t + 1 == len(x):
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            optimizer.step()
            state, loss = cut(state), 0.0
    return state


# %% alternative="fix_hidden_state"
def fix_hidden_state(cell, optimizer, x, y, state, k):
    trained = [p for group in optimizer.param_groups for p in group["params"]]
    for xs, ys in zip(x.split(k), y.split(k)):
        losses = []
        for x_t, y_t in zip(xs, ys):
            prediction, state = cell(x_t, state)
            losses.append(mse_loss(prediction, y_t))
        for p, gradient in zip(trained, torch.autograd.grad(sum(losses), trained)):
            p.grad = gradient
        optimizer.step()
        state = torch.utils._pytree.tree_map(torch.Tensor.detach, state)
    return state


# %% alternative="fix_hidden_state"
def fix_hidden_state(cell, optimizer, x, y, state, k):
    while len(x):
        state = tuple(part.data for part in state) if isinstance(state, tuple) else state.data
        optimizer.zero_grad()
        total = torch.zeros((), dtype=x.dtype)
        for x_t, y_t in zip(x[:k], y[:k]):
            prediction, state = cell(x_t, state)
            total = total + ((prediction - y_t) ** 2).mean()
        total.backward()
        optimizer.step()
        x, y = x[k:], y[k:]
    return tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()


# %% check="fix_hidden_state"
from autograder import check

check("fix_hidden_state")


# %% [markdown] tags=["en"] explains="fix_hidden_state"
# $h$ is a tensor with a history. The graph of the second window is tied to that of the first, and the first has been freed.
#
# `h.detach()` keeps the value of $h$ and cuts the history. The gradient is *truncated*: it lacks what the second window would say about the first. By hand, for the smallest recurrent model, $h_t = a h_{t-1} + 1$ with $a = 0.5$ and $h_0 = 0$, whose loss is the sum of all four $h_t$: $h = 1, 1.5, 1.75, 1.875$ and $\partial h_t / \partial a = 0, 1, 2, 2.75$, together 5.75. With windows of 2, $h_2 = 1.5$ is a constant for the second window, so the derivatives there are $1.5$ and $1.75 + 0.5 \cdot 1.5 = 2.5$; together with $0 + 1$ that is 5. With windows of 1 nothing goes back in time: $0 + 1 + 1.5 + 1.75 = 4.25$.
#
# The next cell tries it. What may be done between the windows?
# %% [markdown] tags=["ru"] explains="fix_hidden_state" of="1e3758fc"
# Состояние $h$ — тензор с историей. Граф второго окна соединён с графом первого, а то, что было в нём сохранено, первый проход уже освободил.
#
# Вызов `h.detach()` оставляет значение $h$ и отсоединяет его от графа. Градиент получается *усечённым*: в нём нет слагаемых, которые пришли бы из второго окна в первое. Проверим вручную на самой маленькой рекуррентной модели, $h_t = a h_{t-1} + 1$, где $a = 0.5$ и $h_0 = 0$, а функция потерь — сумма всех четырёх $h_t$: $h = 1, 1.5, 1.75, 1.875$ и $\partial h_t / \partial a = 0, 1, 2, 2.75$, в сумме 5.75. При окнах из 2 шагов $h_2 = 1.5$ для второго окна — константа, и производные в нём равны $1.5$ и $1.75 + 0.5 \cdot 1.5 = 2.5$. Вместе с $0 + 1$ получается 5. При окнах из 1 шага назад по времени не идёт ничего: $0 + 1 + 1.5 + 1.75 = 4.25$.
#
# В следующей ячейке это испытано. Что можно сделать между окнами?
# %%
def windows(k, between, step=False, retain_graph=False):
    """The gradient of `a` from windows of `k` steps, or the beginning of torch's message."""
    a = torch.nn.Parameter(torch.tensor([0.5]))
    optimizer = torch.optim.SGD([a], lr=0.1)
    h = torch.zeros(1)
    try:
        for _ in range(4 // k):
            loss = 0.0
            for _ in range(k):
                h = a * h + 1
                loss = loss + h.sum()
            loss.backward(retain_graph=retain_graph)
            if step:
                optimizer.step()
            h = between(h)
    except RuntimeError as error:
        return str(error)[:66] + " ..."
    return a.grad.item()


def keep(h):
    return h


print("one window of 4:             ", windows(4, keep))
print("windows of 2, h as it is:    ", windows(2, keep))
print("  with retain_graph=True:    ", windows(2, keep, retain_graph=True))
print("  and a step between:        ", windows(2, keep, retain_graph=True, step=True))
print("windows of 2, h.detach():    ", windows(2, torch.Tensor.detach))
print("windows of 1, h.detach():    ", windows(1, torch.Tensor.detach))
print("windows of 2, h set to zeros:", windows(2, torch.zeros_like))
# %% tags=["fact"]
assert windows(4, keep) == windows(2, keep, retain_graph=True) == 5.75
assert windows(2, keep).startswith("Trying to backward through the graph a second time")
in_place = "one of the variables needed for gradient computation has been modified by an inplace operation"
assert windows(2, keep, retain_graph=True, step=True)[:66] == in_place[:66]
assert windows(2, torch.Tensor.detach) == 5.0
assert windows(1, torch.Tensor.detach) == 4.25
assert windows(2, torch.zeros_like) == 2.0
a_half, state = torch.tensor(0.5, requires_grad=True), torch.zeros(())
path = []
for _ in range(4):
    state = a_half * state + 1
    path.append((state.item(), torch.autograd.grad(state, a_half, retain_graph=True)[0].item()))
assert path == [(1, 0), (1.5, 1), (1.75, 2), (1.875, 2.75)]
# %% [markdown] tags=["en", "try"]
# Here are all ways on four steps. Which of the gradients is the full one, and what is its price? And what happens with it as soon as an optimizer steps? Say it.
#
# The message itself recommends `retain_graph=True`, and most replies repeat it. It gives the full gradient, 5.75, but then every window goes back to the very beginning and nothing is ever freed. And as soon as an optimizer steps between the windows, the next error comes: the old graph has saved the old weights, and the step has overwritten them.
#
# Zeros instead of $h$ remove the error as well. They change the model: each window begins without a memory.
# %% [markdown] tags=["ru", "try"] of="06fd1290"
# Вот все способы на четырёх шагах. Какой из градиентов полный и чем за него заплачено? А что с ним будет, как только оптимизатор сделает шаг? Ответьте.
#
# Сам текст ошибки советует `retain_graph=True`, и этот совет повторяют в большинстве ответов. Так получится полный градиент, 5.75, но тогда обратный проход каждого окна доходит до самого начала последовательности и память не освобождается. А если между окнами сделать шаг оптимизатора, появится следующая ошибка: в старом графе сохранены прежние веса, а шаг оптимизатора изменил их на месте.
#
# Если вместо $h$ взять нули, ошибка тоже исчезнет. Но это уже другая модель: каждое окно начинается без памяти о прошлом.
# %% tags=["fact"]
lstm = torch.nn.LSTM(2, 3)
out, state = lstm(torch.ones(2, 1, 2))
out.sum().backward()
assert isinstance(state, tuple) and len(state) == 2
try:
    lstm(torch.ones(2, 1, 2), state)[0].sum().backward()
    raise SystemError("no error")
except RuntimeError as error:
    assert "Trying to backward through the graph a second time" in str(error)


# %% [markdown] tags=["en"]
# What windows do for memory can be seen. Here is a cell to try things on: a frozen base, wide inside, and a small part that is trained. The sequence has 12 steps.
# %% [markdown] tags=["ru"] of="bdeb3921"
# Как окна снижают расход памяти, видно на рисунке. Рекуррентная ячейка, на которой это проверено, состоит из замороженной основы с широкими внутренними слоями и небольшой обучаемой части. В последовательности 12 шагов.
# %%
class Cell(torch.nn.Module):
    """A recurrent cell with a prediction and a hidden state."""

    def __init__(self, features=2, state=2, outputs=1, width=128):
        super().__init__()
        layers = torch.nn.Linear(features + state, width), torch.nn.Tanh(), torch.nn.Linear(width, state)
        self.base = torch.nn.Sequential(*layers).requires_grad_(False)
        self.adapter = torch.nn.Linear(state, state)
        self.head = torch.nn.Linear(state, outputs)

    def forward(self, x, h):
        h = torch.tanh(self.base(torch.cat([x, h], dim=1)) + self.adapter(h))
        return self.head(h), h


cell = Cell()
sequence, targets = torch.ones(12, 24, 2), torch.ones(12, 24, 1)


def in_windows(steps):
    h = torch.zeros(24, 2)
    for start in range(0, len(sequence), steps):
        loss = 0.0
        for x_t, y_t in zip(sequence[start : start + steps], targets[start : start + steps]):
            prediction, h = cell(x_t, h)
            loss = loss + mse_loss(prediction, y_t)
        loss.backward()
        h = h.detach()


def one_graph(_):
    in_windows(len(sequence))


# %% tags=["picture"]
from autograder import play, plot_memory

cell.zero_grad()
play(lambda steps: plot_memory(steps, one_graph, in_windows), steps=[6, 3, 1])
# %% [markdown] tags=["en", "try"]
# One graph for 12 steps, and windows of 6. How will the second curve look with windows of 3, and which of the two peaks stays? Say it, then drag.
#
# One graph climbs until its backward pass begins, whatever the windows. The second curve falls once for each window, and its peak is about half as high with windows half as long.
# %% [markdown] tags=["ru", "try"] of="586546c1"
# Один граф на 12 шагов и окна по 6. Как будет выглядеть вторая кривая с окнами по 3 шага и какой из двух пиков не изменится? Сначала ответьте, потом двигайте ползунок.
#
# Один граф растёт до самого обратного прохода, какими бы ни были окна. Вторая кривая падает после каждого окна, а её пик при вдвое более коротких окнах примерно вдвое ниже.
# %% tags=["fact"]
from autograder.measure import live_bytes


def peak_of(run, steps):
    cell.zero_grad()
    with live_bytes() as live:
        run(steps)
    return live.peak


assert 160_000 < peak_of(one_graph, 6) < 170_000
assert 85_000 < peak_of(in_windows, 6) < 92_000


def in_parts(rows, run=cell):
    for xs, ys in zip(sequence.split(rows, dim=1), targets.split(rows, dim=1)):
        h = torch.zeros(rows, 2)
        for start in range(0, len(xs), 6):
            loss = 0.0
            for x_t, y_t in zip(xs[start : start + 6], ys[start : start + 6]):
                prediction, h = run(x_t, h)
                loss = loss + mse_loss(prediction, y_t)
            loss.backward()
            h = h.detach()


def checkpointed_cell(x_t, h):
    return checkpoint(cell, x_t, h, use_reentrant=False)


in_parts(4, checkpointed_cell)  # what torch allocates once, such as for the random state, is there
inside = 4 * 128 * 4  # bytes: 4 rows of the widest tensor
assert 6 * inside < peak_of(in_parts, 4) < 9 * inside < peak_of(in_windows, 6)
assert peak_of(lambda rows: in_parts(rows, checkpointed_cell), 4) < 4 * inside
# %% tags=["fact"]
assert 1.6 < peak_of(in_windows, 6) / peak_of(in_windows, 3) < 2.4


# %% [markdown] tags=["en"]
# ## A note to a colleague
#
# Five questions as they are asked in forums and issue trackers, in our words. The code of each can be run, and does something that its author did not expect.
#
# **A.** *"My critic became worse when I added the actor's loss. Both losses go down."* An actor chooses actions, a critic predicts what they bring. An action that brought more than predicted is to become likelier; `log_prob` holds the logarithms of these probabilities, and the difference between the result and the prediction is called the advantage.
#
# **B.** *"The decoder of my autoencoder trains, the encoder does not. Its gradients are None."* The encoder gives a mean and the logarithm of a standard deviation, and the decoder gets a sample.
#
# **C.** *"element 0 of tensors does not require grad. I set `requires_grad=True`, the error is gone, and now the loss stays where it is."*
#
# **D.** *"I replaced the last layer for my ten classes. The accuracy stays at ten percent."*
#
# **E.** *"The first step of my attack works, in the second `x.grad` is None. With `retain_grad()` it runs, but training afterwards has become unstable."* An attack moves an input, step by step, in the direction that raises the loss.
# %% [markdown] tags=["ru"] of="76a7db3d"
# ## Письмо коллеге
#
# Вот пять вопросов с форумов в нашем пересказе. К каждому есть код, который выполняется, но делает он не то, чего ждал автор.
#
# **A.** *«Когда я добавил функцию потерь актора, критик стал предсказывать хуже, хотя значения обеих функций потерь уменьшаются».* Актор выбирает действия, критик предсказывает их результат. Вероятность действия, результат которого оказался лучше предсказанного, нужно увеличить. В `log_prob` лежат логарифмы этих вероятностей, а разность между результатом и предсказанием называют преимуществом (advantage).
#
# **B.** *«Декодировщик моего автокодировщика обучается, а кодировщик — нет: вместо градиентов у него None».* Кодировщик выдаёт среднее и логарифм стандартного отклонения, а декодировщик получает выборку.
#
# **C.** *«Появилось сообщение: element 0 of tensors does not require grad. Я поставил `requires_grad=True`, ошибки больше нет, но значение функции потерь стоит на месте».*
#
# **D.** *«Я заменил последний слой, у меня десять классов. Точность как была десять процентов, так и осталась».*
#
# **E.** *«Первый шаг атаки работает, на втором `x.grad` равен None. С `retain_grad()` всё выполняется, но обучение после этого стало неустойчивым».* При атаке вход шаг за шагом сдвигают туда, где функция потерь больше.
# %%
def a(log_prob, value, returns):
    advantage = returns - value
    return -(log_prob * advantage).mean() + mse_loss(value, returns)


def b(mu, log_std):
    return torch.distributions.Normal(mu, log_std.exp()).sample()


def c(losses):
    return torch.tensor([loss.item() for loss in losses], requires_grad=True).mean()


def d(model, outputs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    model.head = torch.nn.Linear(model.head.in_features, outputs)
    return optimizer


def e(model, x, y, eps, steps):
    x = x.clone().requires_grad_()
    for _ in range(steps):
        mse_loss(model(x), y).backward()
        x = x + eps * x.grad.sign()
    return x


value = torch.tensor(1.0, requires_grad=True)
a(torch.tensor(-2.0), value, torch.tensor(3.0)).backward()
print("A: gradient of the value", value.grad.item(), "instead of", 2 * (1.0 - 3.0))
mu, log_std = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
print("B: sample requires grad:", b(mu, log_std).requires_grad)
w = torch.ones(2, requires_grad=True)
c([w.sum(), (w**2).sum()]).backward()
print("C: w.grad:", w.grad)
model = torch.nn.Sequential()
model.body, model.head = torch.nn.Linear(2, 3), torch.nn.Linear(3, 2)
optimizer = d(model, 10, lr=0.1)
known = {id(p) for group in optimizer.param_groups for p in group["params"]}
print("D: the optimizer knows", {name: id(p) in known for name, p in model.named_parameters()})
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        e(torch.nn.Linear(2, 1), torch.ones(3, 2), torch.zeros(3, 1), eps=0.1, steps=2)
    except AttributeError as error:
        print("E:", error)
# %% tags=["fact"]
assert value.grad.item() == -6.0 and 2 * (1.0 - 3.0) == -4.0
assert not b(mu, log_std).requires_grad and torch.distributions.Normal(mu, log_std.exp()).rsample().requires_grad
assert w.grad is None
assert [id(p) in known for p in model.parameters()] == [True, True, False, False]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        e(torch.nn.Linear(2, 1), torch.ones(3, 2), torch.zeros(3, 1), eps=0.1, steps=2)
        raise SystemError("no error")
    except AttributeError as error:
        assert str(error) == "'NoneType' object has no attribute 'sign'"

# the other cures of the question below: A with `value` detached everywhere, and so on
value = torch.tensor(1.0, requires_grad=True)
assert not mse_loss(value.detach(), torch.tensor(3.0)).requires_grad
drawn = b(mu, log_std).requires_grad_()
drawn.sum().backward()
assert drawn.grad is not None and mu.grad is None and log_std.grad is None
flagged = torch.tensor([w.sum().item()], requires_grad=True)
flagged.mean().backward()
assert flagged.is_leaf and flagged.grad is not None and w.grad is None
old_head = [id(p) for p in model.head.parameters()]
optimizer = d(model, 10, lr=0.1)
optimizer.add_param_group({"params": model.head.parameters()})
held = {id(p) for group in optimizer.param_groups for p in group["params"]}
assert held > {id(p) for p in model.parameters()} and {*old_head} <= held
attacked, moved = torch.nn.Linear(2, 1), torch.ones(3, 2, requires_grad=True)
first_weight_gradient = None
for _ in range(2):
    mse_loss(attacked(moved), torch.zeros(3, 1)).backward()
    if first_weight_gradient is None:
        first_weight_gradient = attacked.weight.grad.clone()
    before, moved = moved, moved + 0.1 * moved.grad.sign()
    moved.retain_grad()
assert before.grad is not None and moved.grad_fn is not None  # it runs, and the graph grows with each step
assert not torch.allclose(attacked.weight.grad, first_weight_gradient)  # and the model's gradients add up


# %% [markdown] tags=["en"]
# ### Question `note_to_a_colleague`
# *in your own words · 7 minutes · 3 points · read by a person*
#
# Choose two of the five questions and write the replies that you would post. A reply names the cause: which tensor the gradient should reach, and where its path is cut or not cut. It gives one cure, in code. And it says why not another one: for A to detach `value` everywhere, for B `requires_grad_()` on the sample, for C the flag, for D `add_param_group`, for E `retain_grad()`. Three or four sentences each.
# %% [markdown] tags=["ru"] of="1738955f"
# ### Вопрос `note_to_a_colleague`
# *своими словами · 7 минут · 3 балла · проверяет преподаватель*
#
# Выберите два вопроса из пяти и напишите ответы, которые вы отправили бы авторам. В каждом ответе назовите причину: до какого тензора градиент должен дойти и в каком месте его путь оборван (или, наоборот, не оборван, хотя должен быть). Предложите одно решение в виде кода и объясните, почему не подходит другое: для A — отсоединить `value` везде, для B — `requires_grad_()` на выборке, для C — флаг, для D — `add_param_group`, для E — `retain_grad()`. По три-четыре предложения на ответ.
# %% [markdown] written="note_to_a_colleague" points=3 minutes=7
# **Rubric.** 1.5 points for each of two replies: 0.5 for the cause, 0.5 for a cure that runs, 0.5 for the reason against the other cure.
#
# A: the advantage weighs `log_prob`, it is no function to be trained; through it the policy loss reaches `value`. Detach the advantage; with `value` detached everywhere the critic does not learn. B: `sample()` runs under `no_grad()`, the path from the decoder ends there; `rsample()` or $\mu + \sigma\varepsilon$; the flag makes the sample a leaf, and the gradient stays in it. C: `torch.tensor` copies numbers, the graph is lost; `torch.stack(losses).mean()`; the flag belongs to the new leaf, so the error goes and the training does, too. D: the optimizer holds the tensors that it was given, the new layer is not among them; make the head first; `add_param_group` works, but the old head stays in the optimizer (accept it where that is said). E: `x + ...` is no leaf; `torch.autograd.grad` with respect to a detached `x`; `retain_grad()` keeps the graph of all steps, and `backward()` goes on adding to `.grad` of the model, which the next training step uses.
#
# **A model answer.** To A: your advantage `returns - value` still has its graph, so the policy loss pulls on the critic as well, and not towards `returns`. The advantage is a weight there: `policy = -(log_prob * (returns - value).detach()).mean()`. Do not detach `value` everywhere: then the loss of the critic has no path to it either, and it learns nothing. To D: the optimizer was made before the new head, and it holds the tensors that it was given; the new layer is not among them. Put the head in first, `model.head = nn.Linear(...)`, and make `SGD(model.parameters(), lr=lr)` afterwards. `add_param_group` would add the new head, but the old one would stay in the optimizer.
#
# ---
#
# **Критерии.** По 1.5 балла за каждый из двух ответов: 0.5 за причину, 0.5 за решение, которое выполняется, 0.5 за довод против другого решения.
#
# A: преимущество — множитель при `log_prob`, обучать через него нечего, но через него градиент функции потерь актора доходит до `value`. Отсоединить преимущество; если отсоединить `value` везде, критик не учится. B: `sample()` выполняется внутри `no_grad()`, и путь от декодировщика там обрывается; `rsample()` или $\mu + \sigma\varepsilon$; с флагом выборка становится листом, и градиент остаётся в ней. C: `torch.tensor` копирует числа, граф потерян; `torch.stack(losses).mean()`; флаг относится к новому листу, поэтому ошибка исчезает, но ничего и не обучается. D: оптимизатор хранит те тензоры, которые получил, и нового слоя среди них нет; сначала заменить слой; `add_param_group` работает, но старый слой остаётся в оптимизаторе (засчитывать, если об этом сказано). E: `x + ...` — не лист; `torch.autograd.grad` по отсоединённому `x`; с `retain_grad()` хранится граф всех шагов, а `backward()` прибавляет градиенты к `.grad` модели, и это войдёт в следующий шаг обучения.
#
# **Пример ответа.** Автору A: у преимущества `returns - value` остался граф, поэтому функция потерь актора меняет и предсказания критика, причём не в сторону `returns`. Преимущество здесь — просто множитель: `policy = -(log_prob * (returns - value).detach()).mean()`. Отсоединять `value` везде нельзя: тогда и градиент функции потерь критика до него не дойдёт, и критик не будет учиться. Автору D: оптимизатор создан раньше нового слоя и хранит те тензоры, которые получил, а нового слоя среди них нет. Сначала замените слой, `model.head = nn.Linear(...)`, а потом создайте `SGD(model.parameters(), lr=lr)`. Вызов `add_param_group` добавил бы новый слой, но и старый остался бы в оптимизаторе.
# %% [markdown] tags=["en"]
# ## What to keep
#
# * A target is a number: detach it. A trace, a hidden state, a running sum: ask of each how long its history is to live.
# * A reentrant checkpoint looks at its arguments. Write `use_reentrant=False`, and look at `.grad` of the layer furthest from the loss.
# * `detach()` between windows; `retain_graph=True` is not what the message should have advised.
# * An error that is gone is not a bug that is mended. Say which tensor the gradient has to reach, and check that it arrives.
#
# From the extra sections:
#
# * `p.grad` is a place where things add up. Before something else goes through it, clear it; an optimizer subtracts what it finds there, times its own `lr`.
# * An episode, or a test, on zeros hides what only other numbers show. Do one small case by hand.
# * Weights in float32, products in half precision, the scaler in between.
# * Before you save bytes, find out where they are. The logits of a wide head are often more than all blocks.
# * Ask what must be in memory at one moment, whatever one does. Then you know how much there is left to gain.
# * A value passes on its gradient once, when all that use it have run. Broadcasting copies, and copies are summed. Rules in recorded operations give second derivatives.
# %% [markdown] tags=["ru"] of="80df63fd"
# ## Что стоит запомнить
#
# * Цель — это число: отсоединяйте её от графа. А для следа, скрытого состояния и накопленной суммы каждый раз решайте, как долго должна храниться их история.
# * В старом варианте контрольной точки учитываются только тензоры-аргументы. Пишите `use_reentrant=False` и проверяйте `.grad` у слоя, который дальше всех от функции потерь.
# * Между окнами нужен вызов `detach()`, а совет из сообщения, `retain_graph=True`, здесь не годится.
# * Если ошибка больше не появляется, это ещё не значит, что она исправлена. Определите, до какого тензора должен дойти градиент, и проверьте, что он дошёл.
#
# Из дополнительных разделов:
#
# * В `p.grad` всё складывается. Прежде чем записывать туда что-то другое, обнулите это поле: оптимизатор вычтет из весов всё, что там лежит, умножив на свой `lr`.
# * Эпизод или тест с одними нулями скрывает то, что видно только на других числах. Один маленький случай просчитайте вручную.
# * Веса храните в float32, матричные произведения вычисляйте в половинной точности, а функцию потерь масштабируйте.
# * Прежде чем экономить память, найдите, чем она занята. Логиты широкой головы часто занимают больше, чем все блоки.
# * Спросите, что обязано лежать в памяти в один и тот же момент, как бы вы ни поступали. Тогда станет ясно, сколько ещё можно сэкономить.
# * Значение передаёт градиент дальше один раз, когда отработали все операции, которые его используют. При транслировании значения копируются, а градиенты копий складываются. Если правила записаны через отслеживаемые операции, получаются и вторые производные.
# %% [markdown] tags=["en"]
# ## All together
#
# Here is the step that windows, micro-batches (lesson 03) and checkpoints are for. The recurrent `Cell` from above has a frozen base, wide inside; the sequences are long; the batch does not fit. How much is in memory at the worst moment?
#
# | what is used | what is kept for the backward pass (12 steps, windows of 6; 24 rows, micro-batches of 4) |
# |---|---|
# | nothing | the inside of 12 calls with 24 rows |
# | windows | 6 calls with 24 rows |
# | windows and micro-batches | 6 calls with 4 rows |
# | and a checkpoint at every call | 1 call with 4 rows, and 6 small hidden states |
#
# ### `train_windows`
#
# **Train on a long sequence in windows of `steps` steps and micro-batches of `rows` rows, with one call of the cell in memory. Return state and loss.**
#
# Cut the time into windows of `steps` steps, the last of which may be shorter, and the rows into micro-batches of `rows` rows, the last of which may be smaller.
#
# * **Given.** `x`, of shape (time, rows, features), `y`, of shape (time, rows, outputs), and `h`, the hidden state at the start, of shape (rows, state); none of them requires grad.
# * **Given.** `cell(x_t, h)` returns a pair: the prediction for `y_t`, and the next hidden state. It treats each row on its own. A part of its weights is frozen. `optimizer` has the others and may be any; something may be in `.grad` at the start.
# * **Result.** Each window makes one `optimizer.step()` with the gradient of the mean of the squared errors over all entries of `y` *in this window*. The hidden state goes from window to window as a number without a history. <!-- weights -->
# * **Result.** A pair is returned: first the hidden state after the last step, of shape (rows, state) and without a graph. <!-- state -->
# * **Result.** The second is the mean of the squared errors over all entries of `y`, as they were in the forward passes, a Python number. <!-- loss -->
# * **Result.** The cell and all tensors may lie on another device than the CPU, such as a GPU; the state that comes back lies there, too. <!-- device -->
# * **Leave.** Flags and frozen weights. <!-- frozen -->
# * **Not allowed.** More in memory at any moment than the inside of one call of the cell, beside the small hidden states. The check allows 4 times the bytes of the widest tensor in a call. <!-- peak -->
# %% [markdown] tags=["ru"] of="d5997415"
# ## Всё вместе
#
# Теперь соберём шаг, ради которого понадобились контрольные точки, окна и микробатчи. У рекуррентной ячейки `Cell` замороженная основа с широкими внутренними слоями, последовательности длинные, и батч целиком в память не помещается. Сколько памяти занято на пике?
#
# | что применяется | что хранится для обратного прохода (12 шагов, окна по 6; 24 строки, микробатчи по 4) |
# |---|---|
# | ничего не разделено | промежуточные результаты 12 вызовов по 24 строки |
# | окна | промежуточные результаты 6 вызовов по 24 строки |
# | окна и микробатчи | промежуточные результаты 6 вызовов по 4 строки |
# | то же и контрольная точка на каждый вызов | промежуточные результаты 1 вызова с 4 строками и ещё 6 маленьких скрытых состояний |
#
# ### `train_windows`
#
# **Обучите ячейку на длинной последовательности окнами по `steps` шагов и микробатчами по `rows` строк, держа в памяти один вызов ячейки. Верните состояние и потери.**
#
# Разрежьте последовательности на окна по `steps` шагов, последнее может быть короче, а строки — на микробатчи по `rows` строк, последний может быть меньше.
#
# * **Дано.** Тензоры `x` формы (время, строки, признаки) и `y` формы (время, строки, выходы); `h` — начальное скрытое состояние формы (строки, состояние). Ни один из них не требует градиента.
# * **Дано.** Вызов `cell(x_t, h)` возвращает пару: предсказание для `y_t` и следующее скрытое состояние. Строки батча ячейка обрабатывает независимо друг от друга. Часть её весов заморожена. Остальные переданы в `optimizer`, он может быть любым; в `.grad` вначале может что-то лежать.
# * **Результат.** На каждое окно приходится один вызов `optimizer.step()` с градиентом среднего квадрата ошибки по всем элементам `y` *этого окна*. Скрытое состояние переходит из окна в окно как значение без истории. <!-- weights -->
# * **Результат.** Возвращается пара. Первый элемент — скрытое состояние после последнего шага, тензор формы (строки, состояние) без графа. <!-- state -->
# * **Результат.** Второй — средний квадрат ошибки по всем элементам `y`, число Python; предсказания для него берутся из прямых проходов, сделанных при обучении. <!-- loss -->
# * **Результат.** Ячейка и все тензоры могут лежать не на CPU, а на другом устройстве, например на GPU; возвращённое состояние лежит там же. <!-- device -->
# * **Не менять.** Флаги и замороженные веса. <!-- frozen -->
# * **Нельзя.** Держать в памяти одновременно промежуточные результаты двух вызовов ячейки (маленькие скрытые состояния не в счёт). При проверке все промежуточные результаты вместе могут занимать не больше 4 размеров (в байтах) самого широкого тензора вызова. <!-- peak -->
# %% answer="train_windows"
def train_windows(cell, optimizer, x, y, h, steps, rows):
    """One optimizer step per window; return the last hidden state and the mean squared error."""
    ### BEGIN SOLUTION
    states, total = list(h.split(rows)), 0.0
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        optimizer.zero_grad()
        for i, (x_part, y_part) in enumerate(zip(xs.split(rows, dim=1), ys.split(rows, dim=1))):
            state, loss = states[i], 0.0
            for x_t, y_t in zip(x_part, y_part):
                prediction, state = checkpoint(cell, x_t, state, use_reentrant=False)
                loss = loss + mse_loss(prediction, y_t, reduction="sum")
            (loss / ys.numel()).backward()
            states[i] = state.detach()
            total += loss.item()
        optimizer.step()
    return torch.cat(states), total / y.numel()
    ### END SOLUTION


# %% alternative="train_windows"
def train_windows(cell, optimizer, x, y, h, steps, rows):
    parts = [slice(first, first + rows) for first in range(0, len(h), rows)]
    h, losses, sizes = h.clone(), [], []
    for xs, ys in zip(x.split(steps), y.split(steps)):
        optimizer.zero_grad()
        for part in parts:
            state, predictions = h[part].clone(), []
            for x_t in xs[:, part]:
                prediction, state = checkpoint(cell, x_t, state, use_reentrant=False)
                predictions.append(prediction)
            loss = mse_loss(torch.stack(predictions), ys[:, part])
            loss.backward(torch.full_like(loss, state.shape[0] / h.shape[0]))
            h[part] = state.detach()
            losses.append(loss.item())
            sizes.append(ys[:, part].numel())
        optimizer.step()
    return h, sum(loss * n for loss, n in zip(losses, sizes)) / sum(sizes)


# %% alternative="train_windows"
def train_windows(cell, optimizer, x, y, h, steps, rows):
    trained = [p for p in cell.parameters() if p.requires_grad]
    states, total = [part for part in h.split(rows)], 0.0
    for start in range(0, len(x), steps):
        stop = min(start + steps, len(x))
        sums = [torch.zeros_like(p) for p in trained]
        for i in range(len(states)):
            state, loss = states[i], torch.zeros((), dtype=x.dtype)
            for t in range(start, stop):
                prediction, state = checkpoint(cell, x[t, i * rows : (i + 1) * rows], state, use_reentrant=False)
                loss = loss + (prediction - y[t, i * rows : (i + 1) * rows]).square().sum()
            for s, gradient in zip(sums, torch.autograd.grad(loss, trained)):
                s += gradient / y[start:stop].numel()
            states[i], total = state.detach(), total + float(loss.detach())
        for p, s in zip(trained, sums):
            p.grad = s
        optimizer.step()
    return torch.cat(states), total / y.numel()


# %% alternative="train_windows"
def train_windows(cell, optimizer, x, y, h, steps, rows):
    def error_of(x_t, y_t, state):
        prediction, state = cell(x_t, state)
        return ((prediction - y_t) ** 2).sum(), state

    done, squares = {}, 0.0
    for first in range(0, len(x), steps):
        entries = y[first : first + steps].numel()
        for row in range(0, x.shape[1], rows):
            state = done.get(row, h[row : row + rows])
            loss = 0
            for t in range(first, min(first + steps, len(x))):
                error, state = checkpoint(
                    error_of, x[t][row : row + rows], y[t][row : row + rows], state, use_reentrant=False
                )
                loss = loss + error / entries
            if row == 0:
                cell.zero_grad()
            loss.backward()
            squares += loss.item() * entries
            done[row] = state.detach()
        optimizer.step()
    return torch.cat(list(done.values())), squares / y.numel()


# %% check="train_windows"
from autograder import check

check("train_windows")


# %% [markdown] tags=["en"]
# ## Half precision
#
# The last piece of the step is the dtype. A popular way to save memory is `model.half()`, together with the `scaler` of lesson 03. It ends with
#
# > ValueError: Attempting to unscale FP16 gradients.
#
# The reports on it run through dozens of projects, and so do the remedies: another version of a library, another class of model, no scaler. What does the message mean, and what would unscaling destroy? Look at the numbers:
# %% [markdown] tags=["ru"] of="05a96016"
# ## Половинная точность
#
# Осталось выбрать для этого шага тип чисел. Чтобы сэкономить память, часто вызывают `model.half()` и берут `scaler` из урока 03. Кончается это ошибкой:
#
# > ValueError: Attempting to unscale FP16 gradients.
#
# О ней пишут в десятках проектов, и советы самые разные: сменить версию библиотеки, взять другой класс модели, отказаться от масштабирования. Что она означает и что потерялось бы, если бы масштаб сняли? Посмотрите на числа:
# %%
def digits(dtype):
    small, one = torch.tensor(1e-8), torch.ones(2, dtype=dtype)
    scaled = (small * 65536).to(dtype)
    return {
        "1e-8": small.to(dtype).item(),
        "65536 * 1e-8": round(scaled.item(), 6),
        "divided again": (scaled / 65536).item(),
        "100000": torch.tensor(1e5).to(dtype).item(),
        "1 - 0.0001": (one - 0.0001)[0].item(),
        "1 - 0.001": (one - 0.001)[0].item(),
    }


dtypes = (torch.float32, torch.float16, torch.bfloat16)
print(f"{'':13}", *(f"{dtype!s:>22}" for dtype in dtypes))
for name in digits(torch.float32):
    print(f"{name:13}", *(f"{digits(dtype)[name]:22}" for dtype in dtypes))


def unscaled(dtype):
    w = torch.nn.Parameter(torch.ones(2, dtype=dtype))
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale((2 * w).float().sum()).backward()
    try:
        scaler.unscale_(torch.optim.SGD([w], lr=0.1))
    except ValueError as error:
        return f"ValueError: {error}"
    return w.grad.tolist()


print()
for dtype in dtypes:
    print(f"{dtype!s:15}", unscaled(dtype))
# %% tags=["fact"]
half, brain = digits(torch.float16), digits(torch.bfloat16)
assert half["1e-8"] == half["divided again"] == 0 and half["65536 * 1e-8"] == 0.000655
assert half["100000"] == float("inf") and brain["100000"] == 99840
assert half["1 - 0.0001"] == 1 and half["1 - 0.001"] < 1
assert brain["1 - 0.0001"] == brain["1 - 0.001"] == 1 and brain["1e-8"] > 0
assert unscaled(torch.float16) == "ValueError: Attempting to unscale FP16 gradients."
assert unscaled(torch.float32) == unscaled(torch.bfloat16) == [2, 2]
in_float16 = torch.ones(2, dtype=torch.float16, requires_grad=True)
in_float16.float().sum().backward()
assert in_float16.grad.dtype == torch.float16
assert 0.99 < torch.finfo(torch.bfloat16).max / torch.finfo(torch.float32).max <= 1
linear = torch.nn.Linear(2, 2)
with torch.autocast("cpu", dtype=torch.float16):
    out = linear(torch.ones(1, 2))
    assert out.dtype == torch.float16 and mse_loss(out, torch.ones(1, 2)).dtype == torch.float32
    assert torch.nn.Linear(2, 2).double()(torch.ones(1, 2, dtype=torch.float64)).dtype == torch.float64
out.float().sum().backward()
assert linear.weight.dtype == linear.weight.grad.dtype == torch.float32


class InHalf(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, wanted):
        if wanted is not None and hasattr(ctx, "set_output_grad_dtype"):
            ctx.set_output_grad_dtype(wanted)
        return x.bfloat16()

    @staticmethod
    def backward(ctx, grad_output):
        arrived.append(grad_output.dtype)
        return grad_output.float(), None


arrived = []
for wanted in (None, torch.float32):
    InHalf.apply(torch.ones(2, requires_grad=True), wanted).sum().backward()
later = hasattr(torch.autograd.function.FunctionCtx, "set_output_grad_dtype")
assert arrived == [torch.bfloat16, torch.float32 if later else torch.bfloat16]


# %% [markdown] tags=["en"]
# $10^{-8}$ is 0 in float16, multiplied by $2^{16}$ it is not, and divided again it is 0 once more. There is a second reason, and no scaler helps with it: $1 - 0.0001$ is 1 in float16. A weight in half precision does not notice small steps. (In bfloat16 it does not even notice $1 - 0.001$. There is no error there, because bfloat16 has the range of float32 and nothing has to be scaled; the weight stands still all the same.)
#
# ### `step_in_half`
#
# **One step with the linear layers in float16 and the weights in float32. The scaler refuses: mend it.**
#
# * **Given.** `model`, a `Sequential` with linear layers in float32; `x` and `y`, in float32; `scaler`, a `GradScaler("cpu")`. Something may be in `.grad` at the start.
# * **Result.** `scaler.step(optimizer)` makes one step with the gradient of `mse_loss(model(x), y)`, or none if it is infinite, and `scaler.update()` ends it. <!-- step -->
# * **Result.** The linear layers compute in float16, the loss is computed in float32. <!-- dtypes, step -->
# * **Result.** The loss without the scale is returned, a Python number. <!-- loss -->
# * **Not allowed.** Weights in another dtype than float32, or rounded. <!-- dtypes -->
# %% [markdown] tags=["ru"] of="ef4ec47e"
# Число $10^{-8}$ в float16 обращается в 0. Если его заранее умножить на $2^{16}$, оно сохраняется, но после обратного деления — снова 0. Есть и вторая причина не хранить веса в float16, и тут масштаб не поможет: в float16 $1 - 0.0001$ равно 1. Маленькие шаги не изменяют вес, который хранится в половинной точности. (В bfloat16 и $1 - 0.001$ равно 1. Сообщения об ошибке при этом нет, потому что диапазон у bfloat16 такой же, как у float32, и масштаб не нужен; но вес всё равно стоит на месте.)
#
# ### `step_in_half`
#
# **Сделайте один шаг, в котором линейные слои считают в float16, а веса остаются в float32. Сейчас GradScaler выдаёт ошибку: исправьте шаг.**
#
# * **Дано.** `model` — `Sequential` с линейными слоями в float32; `x` и `y` — тоже float32; `scaler` — это `GradScaler("cpu")`. В `.grad` вначале может что-то лежать.
# * **Результат.** Вызов `scaler.step(optimizer)` делает один шаг с градиентом функции `mse_loss(model(x), y)`, а если этот градиент бесконечен — ни одного; в конце вызывается `scaler.update()`. <!-- step -->
# * **Результат.** В линейных слоях вычисления идут в float16, а функция потерь вычисляется во float32. <!-- dtypes, step -->
# * **Результат.** Возвращается значение функции потерь без масштаба — обычное число Python. <!-- loss -->
# * **Нельзя.** Переводить веса из float32 в другой dtype или округлять их. <!-- dtypes -->
# %% answer="step_in_half"
def step_in_half(model, optimizer, scaler, x, y):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = mse_loss(model(x), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


# %% given="step_in_half"
def step_in_half(model, optimizer, scaler, x, y):
    model.half()
    loss = mse_loss(model(x.half()), y.half())
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


# %% alternative="step_in_half"
def step_in_half(model, optimizer, scaler, x, y):
    model.zero_grad()
    with torch.autocast(device_type="cpu", dtype=torch.float16):
        prediction = model(x)
    loss = (prediction.float() - y).square().mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return float(loss.detach())


# %% alternative="step_in_half"
def step_in_half(model, optimizer, scaler, x, y):
    weights = {name: p.half() for name, p in model.named_parameters()}  # copies with a graph
    loss = mse_loss(torch.func.functional_call(model, weights, (x.half(),)).float(), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


# %% alternative="step_in_half"
def step_in_half(model, optimizer, scaler, x, y):
    @torch.autocast("cpu", dtype=torch.half)
    def loss_of(x, y):
        return torch.nn.functional.mse_loss(model(x), y)

    parameters = list(model.parameters())
    loss = loss_of(x, y)
    for p, gradient in zip(parameters, torch.autograd.grad(scaler.scale(loss), parameters)):
        p.grad = gradient
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


# %% check="step_in_half"
from autograder import check

check("step_in_half")
# %% [markdown] tags=["en"] explains="step_in_half"
# A gradient has the dtype of its tensor, so weights in float16 have gradients in float16. There unscaling would destroy what scaling saved.
#
# So the weights stay in float32, as *master weights*, and only the expensive products run in half precision: `torch.autocast` converts the inputs of single operations, and its backward pass gives gradients in the dtype of the weights. A custom Function with a result in half precision gets its `grad_output` in half precision, too; from torch 2.14 on, `ctx.set_output_grad_dtype(torch.float32)` in `forward` asks for float32. On the CPU a `scaler` raises the same error as on a GPU.
# %% [markdown] tags=["ru"] explains="step_in_half" of="5bb626ee"
# У градиента тот же тип, что и у тензора, поэтому у весов в float16 и градиенты в float16. Снять с них масштаб — значит потерять то, ради чего его вводили.
#
# Поэтому веса остаются в float32 (их называют master weights), а в половинной точности вычисляются только матричные произведения, самые дорогие операции: `torch.autocast` преобразует входы отдельных операций, а в обратном проходе получаются градиенты того же типа, что и веса. Если результат пользовательской функции вычислен в половинной точности, то и `grad_output` она получает в половинной точности. Начиная с torch 2.14 можно запросить float32, вызвав в `forward` метод `ctx.set_output_grad_dtype(torch.float32)`. На CPU `scaler` выдаёт ту же ошибку, что и на GPU.


# %% [markdown] tags=["en"]
# ## Five cures
#
# Here are the functions to the five questions of *A note to a colleague* once more, now to be mended.
#
# ### `cures`
#
# **Mend the five functions. `cures()` returns them in a dict, under the letters; each earns its own point.**
#
# * **Result.** **A** returns one number, the sum of both losses, from three tensors of shape (n,). The policy loss trains `log_prob` alone, the squared error trains `value` alone; `returns` does not require grad. <!-- A -->
# * **Result.** **B** returns a sample of the normal distribution with mean `mu` and standard deviation `exp(log_std)`, of the same shape, with the derivatives that $\mu + \sigma\varepsilon$ has for a fixed $\varepsilon$. Every entry and every call has noise of its own. <!-- B -->
# * **Result.** **C** returns the mean of a list of losses (tensors without dimensions), and its gradient reaches them all. <!-- C -->
# * **Result.** **D** gives `model.head` a new layer with `outputs` outputs and returns an SGD optimizer with the learning rate `lr`. It has every parameter of the model once, frozen ones too, and no others. <!-- D -->
# * **Result.** **E** makes `steps` steps of size `eps` along the sign of the gradient of the loss with respect to `x`, and returns the moved `x`. It has no graph. <!-- E -->
# * **Leave.** In **D** the flags of the body. <!-- D -->
# * **Leave.** In **E** the `x` that was passed, every `.grad`, every flag and the mode of the model. <!-- E -->
# * **Leave.** The lists of parameters of the five functions. <!-- A, B, C, D, E -->
# %% [markdown] tags=["ru"] of="1b0c1d83"
# ## Пять решений
#
# Вот ещё раз функции из пяти вопросов раздела «Письмо коллеге»: теперь их нужно исправить.
#
# ### `cures`
#
# **Исправьте пять функций. `cures()` возвращает их в словаре под буквами, и за каждую даётся отдельный балл.**
#
# * **Результат.** Функция **A** получает три тензора формы (n,) и возвращает одно число, сумму обеих функций потерь. Градиент функции потерь актора доходит только до `log_prob`, а градиент квадрата ошибки критика — только до `value`; `returns` градиента не требует. <!-- A -->
# * **Результат.** Функция **B** возвращает выборку из нормального распределения со средним `mu` и стандартным отклонением `exp(log_std)`; у выборки та же форма, что у этих тензоров, и такие же производные, как у $\mu + \sigma\varepsilon$ при постоянном $\varepsilon$. Шум у каждого элемента свой, и при каждом вызове он новый. <!-- B -->
# * **Результат.** Функция **C** возвращает среднее значений функций потерь, собранных в списке (это тензоры без измерений); градиент доходит до каждого из них. <!-- C -->
# * **Результат.** Функция **D** заменяет `model.head` новым слоем с `outputs` выходами и возвращает оптимизатор SGD со скоростью обучения `lr`. В оптимизатор входят все параметры модели, в том числе замороженные, каждый ровно один раз, и никакие другие. <!-- D -->
# * **Результат.** Функция **E** делает `steps` шагов размера `eps` в направлении знака градиента функции потерь по `x` и возвращает сдвинутый вход `x` без графа. <!-- E -->
# * **Не менять.** В **D** — флаги остальных слоёв. <!-- D -->
# * **Не менять.** В **E** — переданный тензор `x`, все поля `.grad`, все флаги и режим модели. <!-- E -->
# * **Не менять.** Имена и порядок аргументов этих пяти функций. <!-- A, B, C, D, E -->
# %% answer="cures"
def cures():
    """Five mended functions, by their letters."""

    def a(log_prob, value, returns):
        advantage = (returns - value).detach()
        return -(log_prob * advantage).mean() + mse_loss(value, returns)

    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).rsample()

    def c(losses):
        return torch.stack(losses).mean()

    def d(model, outputs, lr):
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)

    def e(model, x, y, eps, steps):
        for _ in range(steps):
            x = x.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(mse_loss(model(x), y), x)
            x = x.detach() + eps * gradient.sign()
        return x

    return {"A": a, "B": b, "C": c, "D": d, "E": e}


# %% given="cures"
def cures():
    """Five mended functions, by their letters."""

    def a(log_prob, value, returns):
        advantage = returns - value
        return -(log_prob * advantage).mean() + mse_loss(value, returns)

    def b(mu, log_std):
        return torch.distributions.Normal(mu, log_std.exp()).sample()

    def c(losses):
        return torch.tensor([loss.item() for loss in losses], requires_grad=True).mean()

    def d(model, outputs, lr):
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        return optimizer

    def e(model, x, y, eps, steps):
        x = x.clone().requires_grad_()
        for _ in range(steps):
            mse_loss(model(x), y).backward()
            x = x + eps * x.grad.sign()
        return x

    return {"A": a, "B": b, "C": c, "D": d, "E": e}


# %% alternative="cures"
def cures():
    def a(log_prob, value, returns):
        with torch.no_grad():
            advantage = returns - value
        return (value - returns).square().mean() - (log_prob * advantage).mean()

    def b(mu, log_std):
        return mu + log_std.exp() * torch.randn_like(mu)

    def c(losses):
        return sum(losses) / len(losses)

    def d(model, outputs, lr):
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        body = [p for name, p in model.named_parameters() if not name.startswith("head")]
        return torch.optim.SGD([{"params": body}, {"params": model.head.parameters()}], lr=lr)

    def e(model, x, y, eps, steps):
        gradient = torch.func.grad(lambda x: mse_loss(model(x), y))
        for _ in range(steps):
            x = (x + eps * gradient(x).sign()).detach()
        return x

    return {"A": a, "B": b, "C": c, "D": d, "E": e}


# %% alternative="cures"
class Cured:
    def a(log_prob, value, returns):
        policy = -(log_prob * (returns - value.detach())).mean()
        return policy + mse_loss(value, returns)

    def b(mu, log_std):
        return torch.addcmul(mu, log_std.exp(), torch.empty_like(mu).normal_())

    def c(losses):
        total = torch.zeros((), dtype=losses[0].dtype)
        for loss in losses:
            total = total + loss / len(losses)
        return total

    def d(model, outputs, lr):
        model.head = torch.nn.Linear(model.head.in_features, outputs, bias=True)
        optimizer = torch.optim.SGD(model.body.parameters(), lr=lr)
        optimizer.add_param_group({"params": list(model.head.parameters())})
        return optimizer

    def e(model, x, y, eps, steps):
        moved = x.clone().requires_grad_()
        for _ in range(steps):
            moved.grad = None
            mse_loss(model(moved), y).backward(inputs=[moved])
            with torch.no_grad():
                moved += eps * moved.grad.sign()
        return moved.detach()


def cures():
    return {name.upper(): getattr(Cured, name) for name in "abcde"}


# %% alternative="cures"
def cures():
    def d(model, outputs, lr):
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        model.head = torch.nn.Linear(model.head.in_features, outputs)
        optimizer.param_groups[0]["params"] = list(model.parameters())
        return optimizer

    def e(model, x, y, eps, steps):
        if steps == 0:
            return x
        x = x.detach().clone().requires_grad_()
        gradient = torch.autograd.grad(mse_loss(model(x), y, reduction="sum"), [x])[0]
        return e(model, (x + gradient.sign() * eps).detach(), y, eps, steps - 1)

    return {
        "A": lambda lp, v, r: mse_loss(v, r) - (lp * (r - v).detach()).mean(),
        "B": lambda mu, log_std: torch.distributions.Normal(mu, torch.exp(log_std)).rsample(torch.Size([])),
        "C": lambda losses: torch.cat([loss.reshape(1) for loss in losses]).mean(),
        "D": d,
        "E": e,
    }


# %% check="cures"
from autograder import check

check("cures")


# %% [markdown] tags=["en"]
# ## A prediction that is corrected backwards
#
# A learner walks through states and now and then gets a reward. Its model predicts for each state $s$ a value $v(s)$: the sum of the rewards still to come, each later one multiplied by $\gamma$ once more. After every step the prediction can be compared with a better one. The *TD error* is
#
# $$\delta = r + \gamma v(s') - v(s),$$
#
# where $r$ is the reward and $s'$ the next state; after the last state there is nothing to come, and $v(s')$ counts as 0.
#
# Which weights caused the error? Not only those that $v(s)$ was computed from: the states before it led here. TD(λ) keeps for each parameter an *eligibility trace*, a fading sum of past gradients, and moves the parameter along it:
#
# $$z \leftarrow \gamma\lambda z + \nabla v(s), \qquad w \leftarrow w + \alpha\, \delta\, z.$$
#
# An episode by hand. Three states, one weight for each (the model is a table), $w = (0.1, 0.2, 0.3)$, a reward of 1 after the third state, $\gamma = 0.9$, $\lambda = 0.8$, $\alpha = 0.5$:
#
# | step | $\delta$ | trace $z$ | weights after it |
# |---|---|---|---|
# | 1 | $0.9 \cdot 0.2 - 0.1 = 0.08$ | $(1, 0, 0)$ | $(0.14, 0.2, 0.3)$ |
# | 2 | $0.9 \cdot 0.3 - 0.2 = 0.07$ | $(0.72, 1, 0)$ | $(0.1652, 0.235, 0.3)$ |
# | 3 | $1 - 0.3 = 0.7$ | $(0.5184, 0.72, 1)$ | $(0.34664, 0.487, 0.65)$ |
#
# The reward reached all three weights at once, the first with a bit more than half of its force.
# %% [markdown] tags=["ru"] of="9c6f8ff3"
# ## Предсказание, которое исправляют задним числом
#
# Агент переходит из состояния в состояние и иногда получает награду. Модель предсказывает для каждого состояния $s$ ценность $v(s)$: сумму будущих наград. Чем дальше награда, тем больше раз она умножена на $\gamma$. После каждого шага предсказание можно сравнить с более точным. *TD-ошибка* (от temporal difference, «временная разность») равна
#
# $$\delta = r + \gamma v(s') - v(s),$$
#
# где $r$ — награда, а $s'$ — следующее состояние. После последнего состояния наград больше не будет, и $v(s')$ считается равным 0.
#
# Какие веса виноваты в ошибке? Не только те, что участвовали в $v(s)$: сюда привели и предыдущие состояния. В методе TD(λ) для каждого параметра хранится *след приемлемости* (eligibility trace), затухающая сумма прошлых градиентов, и параметр сдвигается вдоль своего следа:
#
# $$z \leftarrow \gamma\lambda z + \nabla v(s), \qquad w \leftarrow w + \alpha\, \delta\, z.$$
#
# Просчитаем эпизод вручную. Состояний три, у каждого свой вес (модель — просто таблица), $w = (0.1, 0.2, 0.3)$, после третьего состояния награда 1, $\gamma = 0.9$, $\lambda = 0.8$, $\alpha = 0.5$:
#
# | шаг | $\delta$ | след $z$ | веса после шага |
# |---|---|---|---|
# | 1 | $0.9 \cdot 0.2 - 0.1 = 0.08$ | $(1, 0, 0)$ | $(0.14, 0.2, 0.3)$ |
# | 2 | $0.9 \cdot 0.3 - 0.2 = 0.07$ | $(0.72, 1, 0)$ | $(0.1652, 0.235, 0.3)$ |
# | 3 | $1 - 0.3 = 0.7$ | $(0.5184, 0.72, 1)$ | $(0.34664, 0.487, 0.65)$ |
#
# Награда сразу повлияла на все три веса, на первый — чуть больше чем вполсилы.
# %% tags=["fact"]
w, z, path = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64), torch.zeros(3, dtype=torch.float64), []
for t, reward in enumerate([0.0, 0.0, 1.0]):
    delta = reward + (0.9 * w[t + 1] if t < 2 else 0.0) - w[t]
    z = 0.9 * 0.8 * z + torch.eye(3, dtype=torch.float64)[t]
    w = w + 0.5 * delta * z
    path.append([round(number, 5) for number in (delta.item(), *z.tolist(), *w.tolist())])
assert path[0] == [0.08, 1, 0, 0, 0.14, 0.2, 0.3]
assert path[1] == [0.07, 0.72, 1, 0, 0.1652, 0.235, 0.3]
assert path[2] == [0.7, 0.5184, 0.72, 1, 0.34664, 0.487, 0.65]


# %% [markdown] tags=["en"]
# ### An update through `p.grad`
#
# Here autograd is useful: it computes $\nabla v(s)$ for any model. The code below takes the gradient of `v` out of `p.grad`, and puts the update back into `p.grad` for an optimizer to apply. The optimizer is SGD, and its `lr` is the step size $\alpha$. The function runs the three-state episode and notes what it finds. Read it; do not call it yet.
# %% [markdown] tags=["ru"] of="4b195395"
# ### Обновление через `p.grad`
#
# Здесь пригодится autograd: с ним $\nabla v(s)$ можно вычислить для любой модели. В коде ниже градиент `v` берётся из `p.grad`, а обновление записывается обратно в `p.grad`, чтобы его применил оптимизатор. Оптимизатор здесь — SGD, и его `lr` равен размеру шага $\alpha$. Следующая функция проходит по эпизоду с тремя состояниями и записывает промежуточные значения. Прочтите её, но пока не вызывайте.
# %%
def published(weights=(0.1, 0.2, 0.3), rewards=(0.0, 0.0, 1.0), gamma=0.9, lam=0.8, alpha=0.5):
    seen = {}
    model = torch.nn.Linear(3, 1, bias=False)
    model.weight = torch.nn.Parameter(torch.tensor([weights]))
    optimizer = torch.optim.SGD(model.parameters(), lr=alpha)
    states = torch.eye(3)
    (p,) = model.parameters()
    trace = torch.zeros_like(p)
    for t in range(3):
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t < 2 else 0.0
        v.backward()
        if t == 1:
            seen["p.grad[0] after the second backward"] = p.grad[0, 0].item()
        delta = rewards[t] + gamma * v_next - v.item()
        trace[:] = gamma * lam * trace + p.grad
        p.grad[:] = alpha * delta * trace
        optimizer.step()
        if t == 0:
            seen["p.grad[0] after step 1"] = p.grad[0, 0].item()
            seen["w[0] after step 1"] = p[0, 0].item()
        if t == 1:
            seen["trace[0] after step 2"] = trace[0, 0].item()
    seen["w[2] at the end"] = p[0, 2].item()
    return {name: round(value, 4) for name, value in seen.items()}


# %% [markdown] tags=["en"]
# ### `predict_traces`
#
# What does `published()` return? Put a number in place of each `...`. Follow the code, not the formula: that is the point.
# %% [markdown] tags=["ru"] of="c967adc3"
# ### `predict_traces`
#
# Что вернёт `published()`? Вместо каждого `...` поставьте число. Считайте по коду, а не по формуле: в этом и состоит упражнение.
# %% answer="predict_traces"
predict_traces = {
    "p.grad[0] after step 1": 0.04,
    "w[0] after step 1": 0.08,
    "p.grad[0] after the second backward": 0.04,
    "trace[0] after step 2": 0.76,
    "w[2] at the end": 0.125,
}
# %% given="predict_traces"
predict_traces = {
    "p.grad[0] after step 1": ...,
    "w[0] after step 1": ...,
    "p.grad[0] after the second backward": ...,
    "trace[0] after step 2": ...,
    "w[2] at the end": ...,
}
# %% check="predict_traces"
from autograder import check

check("predict_traces")
# %% tags=["fact"]
assert predict_traces == published()
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# Вызовем эту функцию и сравним с таблицей.
# %%
published()


# %% [markdown] tags=["en"] explains="predict_traces"
# Nothing here fails, and nothing is infinite. The first weight went from 0.1 down to 0.08 although its prediction was too low, and the trace of the first state holds 0.76 instead of 0.72: a part of an *update* has been taken for a gradient.
#
# Each fault alone, on the same episode:
#
# | what is wrong | weights at the end |
# |---|---|
# | nothing, TD(λ) | $(0.34664, 0.487, 0.65)$ |
# | the sign | $(-0.14664, -0.087, -0.05)$ |
# | `.grad` is not cleared | $(0.308, 0.4625, 0.65)$ |
# | the step size counts twice | $(0.22332, 0.3435, 0.475)$ |
#
# The sign is noticed soon: values run away from the rewards. The other two look like a poor choice of $\lambda$ and of the learning rate, and are tuned away.
# %% [markdown] tags=["ru"] explains="predict_traces" of="8b084cc4"
# Ни ошибок выполнения, ни бесконечностей нет. Но на первом же шаге первый вес уменьшился с 0.1 до 0.08, хотя предсказание было занижено, а на втором в следе первого состояния оказалось 0.76 вместо 0.72: *обновление* первого шага принято за градиент.
#
# Вот каждая ошибка по отдельности на том же эпизоде:
#
# | что неверно | веса в конце |
# |---|---|
# | ничего, TD(λ) | $(0.34664, 0.487, 0.65)$ |
# | знак | $(-0.14664, -0.087, -0.05)$ |
# | `.grad` не обнуляется | $(0.308, 0.4625, 0.65)$ |
# | размер шага учтён дважды | $(0.22332, 0.3435, 0.475)$ |
#
# Неверный знак быстро себя выдаёт: ценности всё дальше уходят от наград. Две другие ошибки похожи на неудачный выбор $\lambda$ и скорости обучения, и их «исправляют» подбором этих чисел.
# %% tags=["fact"]
def with_faults(sign=-1, clears=True, twice=False, zero_start=False):
    w = torch.tensor([[0.0, 0.0, 0.0] if zero_start else [0.1, 0.2, 0.3]], dtype=torch.float64, requires_grad=True)
    optimizer, z = torch.optim.SGD([w], lr=0.5), torch.zeros(1, 3, dtype=torch.float64)
    for t, reward in enumerate([0.0, 0.0, 1.0]):
        if clears:
            optimizer.zero_grad()
        v = w[0, t]
        v.backward()
        delta = reward + (0.9 * w[0, t + 1].item() if t < 2 else 0.0) - v.item()
        z = 0.9 * 0.8 * z + w.grad
        w.grad[:] = sign * (0.5 if twice else 1) * delta * z
        optimizer.step()
    return [round(number, 5) for number in w[0].tolist()]


assert with_faults() == [0.34664, 0.487, 0.65]
assert with_faults(clears=False) == [0.308, 0.4625, 0.65]
assert with_faults(sign=1) == [-0.14664, -0.087, -0.05]
assert with_faults(twice=True) == [0.22332, 0.3435, 0.475]


# %% [markdown] tags=["en"]
# ### `fix_traces`
#
# **The update sends its numbers through `p.grad`, and the value runs away from TD(λ). Mend it.**
#
# Mend the update. Nothing is returned.
#
# * **Given.** `states`, the states of one episode, one per row, and `rewards`, the reward after each of them; the episode ends after the last. `model(states[t])` is a tensor with one number. The model may have several parameters, all are trained, and something may be in `.grad` at the start.
# * **Result.** With plain SGD the weights after each step are those of TD(λ), with the optimizer's learning rate as $\alpha$. There is one `optimizer.step()` for each state, and the optimizer may be any: with Adam the direction $\delta z$, with the right sign, takes the place of the gradient. A second call is about another episode. <!-- weights -->
# * **Leave.** The settings of the optimizer. <!-- settings -->
# %% [markdown] tags=["ru"] of="2fa22e04"
# ### `fix_traces`
#
# **Обновление передаёт свои числа через `p.grad`, и ценность всё дальше уходит от той, что даёт TD(λ). Исправьте его.**
#
# Исправьте обновление. Функция ничего не возвращает.
#
# * **Дано.** Состояния одного эпизода записаны построчно в `states`, награда после каждого из них — в `rewards`; после последнего состояния эпизод заканчивается. Вызов `model(states[t])` возвращает тензор из одного числа. У модели может быть несколько параметров, обучаются все, а в `.grad` вначале может что-то лежать.
# * **Результат.** Если взять обычный SGD, веса после каждого шага такие же, как в TD(λ) с размером шага $\alpha$, равным скорости обучения этого SGD. На каждое состояние приходится один вызов `optimizer.step()`, а оптимизатор может быть любым: Adam, например, вместо градиента получает $\delta z$ с нужным знаком. При новом вызове начинается новый эпизод. <!-- weights -->
# * **Не менять.** Настройки оптимизатора. <!-- settings -->
# %% answer="fix_traces"
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        optimizer.zero_grad()
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, model.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -delta * trace
        optimizer.step()


# %% given="fix_traces"
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    alpha = optimizer.param_groups[0]["lr"]
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, model.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = alpha * delta * trace
        optimizer.step()


# %% alternative="fix_traces"
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    parameters = list(model.parameters())
    traces = [torch.zeros_like(p) for p in parameters]
    for t, reward in enumerate(rewards):
        v = model(states[t])
        with torch.no_grad():
            target = reward + (gamma * model(states[t + 1]) if t + 1 < len(rewards) else 0.0)
        gradients = torch.autograd.grad(v.sum(), parameters)
        delta = (target - v).item()
        traces = [gamma * lam * trace + g for trace, g in zip(traces, gradients)]
        for p, trace in zip(parameters, traces):
            p.grad = -delta * trace
        optimizer.step()


# %% alternative="fix_traces"
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = {p: 0.0 for p in model.parameters()}
    values_after = [lambda t=t: model(states[t]).item() for t in range(1, len(rewards))] + [lambda: 0.0]
    for state, reward, value_after in zip(states, rewards, values_after):
        model.zero_grad()
        v = model(state)
        (-v).backward()  # an optimizer goes down
        delta = reward + gamma * value_after() - v.item()
        for p in traces:
            traces[p] = gamma * lam * traces[p] + p.grad
            p.grad = delta * traces[p]
        optimizer.step()


# %% alternative="fix_traces"
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    optimizer.zero_grad(set_to_none=False)
    for t in range(len(rewards)):
        v = model(states[t])
        v.backward()
        v_next = model(states[t + 1]).detach() if t < len(rewards) - 1 else torch.zeros_like(v)
        delta = rewards[t] + gamma * v_next - v.detach()
        for trace, p in zip(traces, model.parameters()):
            trace.mul_(gamma * lam).add_(p.grad)
            p.grad.copy_(trace).mul_(-delta.item())
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)


# %% check="fix_traces"
from autograder import check

check("fix_traces")


# %% [markdown] tags=["en"]
# ## Episodes in a row
#
# Experience arrives as a stream of steps. The libraries for environments tell two endings apart. `terminated`: the episode is over, nothing comes after it, and the value of the next state counts as 0. `truncated`: somebody ran out of patience, often a time limit. The walk would have gone on, so the next state keeps its value. In both cases the next step belongs to another episode, and a trace must not reach across.
#
# One more thing keeps the formula from being an ordinary gradient: $v(s')$ is a target, a number. The update follows $\nabla v(s)$ alone. This is called a *semi-gradient*; `detach()`, `.item()` or `no_grad()` makes it one. Let the gradient through the target as well, and $v(s')$ is moved to meet $v(s)$.
#
# ### `td_lambda`
#
# **Go through a stream of episodes and train the weights by TD(λ). Return all $\delta$.**
#
# Go through the steps in order, from the first with traces of 0:
#
# 1. $\delta$ is computed with the weights as they are before this step; after a `terminated` step $v(s')$ counts as 0.
# 2. The traces take up $\nabla v(s)$, and then each weight that requires grad moves in place by $\alpha\, \delta\, z$.
# 3. After a `terminated` or `truncated` step all traces are 0 again.
#
# * **Given.** `steps`, a list of tuples `(state, reward, next_state, terminated, truncated)`: tensor, number, tensor, bool, bool; not both are True. The last step may end no episode. `model(state)` is a tensor with one number, of shape $()$ or $(1,)$.
# * **Result.** The trained weights are those of TD(λ). A second call begins anew, with traces of 0. <!-- weights -->
# * **Result.** The list of all $\delta$ is returned, as Python numbers. <!-- errors -->
# * **Result.** The function works, too, where model and states lie on another device than the CPU, such as a GPU. <!-- device -->
# * **Leave.** Frozen weights, every `.grad` and all flags. <!-- rest -->
# %% [markdown] tags=["ru"] of="f1e06b0b"
# ## Эпизоды подряд
#
# На практике шаги идут сплошным потоком, эпизод за эпизодом. В библиотеках сред для обучения с подкреплением различают два вида окончания эпизода. Флаг `terminated` означает, что эпизод закончен: дальше ничего нет, и ценность следующего состояния считается равной 0. Флаг `truncated` означает, что эпизод оборвали, обычно по лимиту времени. Эпизод мог бы продолжаться, поэтому ценность следующего состояния учитывается. В обоих случаях следующий шаг относится уже к другому эпизоду, и след не должен переходить границу между ними.
#
# Есть и ещё одно отличие от обычного градиентного спуска: $v(s')$ входит в цель, а цель — просто число, через неё градиент не идёт. Веса сдвигаются только вдоль $\nabla v(s)$. Такой градиент называют *полуградиентом* (semi-gradient). Чтобы получить его, берут `detach()`, `.item()` или `no_grad()`. Если пропустить градиент и через цель, то и $v(s')$ будет сдвигаться навстречу $v(s)$.
#
# ### `td_lambda`
#
# **Пройдите поток эпизодов и обучите веса методом TD(λ). Верните все $\delta$.**
#
# Пройдите шаги по порядку. Перед первым из них следы равны 0.
#
# 1. $\delta$ вычисляется с теми весами, какие были до этого шага; на шаге с `terminated` считается, что $v(s')$ равно 0.
# 2. Следы затухают, к ним прибавляется $\nabla v(s)$, и после этого каждый вес, который требует градиента, изменяется на месте: к нему прибавляется $\alpha\, \delta\, z$.
# 3. После шага с `terminated` или `truncated` все следы снова равны 0.
#
# * **Дано.** Список кортежей `(state, reward, next_state, terminated, truncated)` в аргументе `steps`: тензор, число, тензор, bool, bool; оба флага одновременно True не бывают. Последний шаг может и не заканчивать эпизод. Вызов `model(state)` возвращает тензор из одного числа, формы $()$ или $(1,)$.
# * **Результат.** Обучаемые веса такие, как в TD(λ). При новом вызове следы снова равны 0. <!-- weights -->
# * **Результат.** Возвращается список всех значений $\delta$ — обычных чисел Python. <!-- errors -->
# * **Результат.** Функция работает и тогда, когда модель и состояния лежат не на CPU, а на другом устройстве, например на GPU. <!-- device -->
# * **Не менять.** Замороженные веса, все поля `.grad` и все флаги параметров. <!-- rest -->
# %% answer="td_lambda"
def td_lambda(model, steps, gamma, lam, alpha):
    """Learn the values of `model` in place; return the TD error of each step."""
    ### BEGIN SOLUTION
    parameters = [p for p in model.parameters() if p.requires_grad]
    traces = [torch.zeros_like(p) for p in parameters]
    errors = []
    for state, reward, next_state, terminated, truncated in steps:
        v = model(state).sum()
        gradients = torch.autograd.grad(v, parameters)
        with torch.no_grad():
            v_next = 0.0 if terminated else model(next_state).item()
            delta = reward + gamma * v_next - v.item()
            for p, trace, gradient in zip(parameters, traces, gradients):
                trace.mul_(gamma * lam).add_(gradient)
                p += alpha * delta * trace
                if terminated or truncated:
                    trace.zero_()
        errors.append(delta)
    return errors
    ### END SOLUTION


# %% alternative="td_lambda"
def td_lambda(model, steps, gamma, lam, alpha):
    kept = {p: p.grad for p in model.parameters() if p.requires_grad}
    traces, errors = {}, []
    for state, reward, next_state, terminated, truncated in steps:
        for p in kept:
            p.grad = None
        v = model(state)
        target = torch.full_like(v, reward)
        if not terminated:
            target = target + gamma * model(next_state).detach()
        v.backward()
        errors.append((target - v).item())
        with torch.no_grad():
            for p in kept:
                traces[p] = gamma * lam * traces.get(p, 0.0) + p.grad
                p.add_(traces[p], alpha=alpha * errors[-1])
        if terminated or truncated:
            traces.clear()
    for p, gradient in kept.items():
        p.grad = gradient
    return errors


# %% alternative="td_lambda"
def td_lambda(model, steps, gamma, lam, alpha):
    parameters = [p for p in model.parameters() if p.requires_grad]

    def flat(tensors):
        return torch.cat([tensor.flatten() for tensor in tensors])

    sizes, trace, errors = [p.numel() for p in parameters], 0.0, []
    for state, reward, next_state, terminated, truncated in steps:
        v = model(state).squeeze()
        with torch.no_grad():
            errors.append(float(reward + (1 - terminated) * gamma * model(next_state).squeeze() - v))
        trace = gamma * lam * trace + flat(torch.autograd.grad(v, parameters))
        for p, part in zip(parameters, (alpha * errors[-1] * trace).split(sizes)):
            p.data += part.view_as(p)
        trace = trace * (not (terminated or truncated))
    return errors


# %% alternative="td_lambda"
def td_lambda(model, steps, gamma, lam, alpha):
    names = [name for name, p in model.named_parameters() if p.requires_grad]
    weights = dict(model.named_parameters())
    value = torch.func.grad_and_value(lambda own, s: torch.func.functional_call(model, own, (s,)).sum())
    errors, fresh = [], True
    for state, reward, next_state, terminated, truncated in steps:
        if fresh:
            traces = {name: torch.zeros_like(weights[name]) for name in names}
        gradients, v = value({name: weights[name].detach() for name in names}, state)
        after = 0.0 if terminated else gamma * model(next_state).sum().item()
        errors.append(reward + after - v.item())
        with torch.no_grad():
            for name in names:
                traces[name] = gamma * lam * traces[name] + gradients[name]
                weights[name] += alpha * errors[-1] * traces[name]
        fresh = terminated or truncated
    return errors


# %% check="td_lambda"
from autograder import check

check("td_lambda")
# %% tags=["fact"]
table_of_two = torch.tensor([0.1, 0.2], dtype=torch.float64, requires_grad=True)
(0.5 * (0.9 * table_of_two[1] - table_of_two[0]) ** 2).backward()
assert [round(number, 5) for number in table_of_two.grad.tolist()] == [-0.08, 0.072]  # SGD lowers v(s'), raises v(s)


# %% [markdown] tags=["en"]
# ## A curve does not find it
#
# Five states in a row, a walk that starts in the middle and goes left or right with equal chances, and a reward of 1 for leaving on the right. The true values, without discount, are $1/6, 2/6, \ldots, 5/6$. Here TD(λ) learns them from walks, with a table and therefore with a gradient that needs no autograd: it is 1 at the state visited. On the right is the same with the second fault of `published`, an update that stays in `.grad` and gets into the trace.
# %% [markdown] tags=["ru"] of="c411567e"
# ## По кривой ошибку не найти
#
# Пять состояний расположены в ряд, случайное блуждание начинается посередине и с равной вероятностью идёт влево или вправо. За выход справа даётся награда 1. Истинные ценности без дисконтирования равны $1/6, 2/6, \ldots, 5/6$. На рисунке слева — их оценки, вычисленные методом TD(λ) по записям блужданий. Модель — таблица, поэтому градиент известен и без autograd: он равен 1 у посещённого состояния. Справа — то же самое, но со второй ошибкой функции `published`: обновление остаётся в `.grad` и попадает в след.
# %%
def walk_values(walks, leaks, lam=0.8, alpha=0.1, seed=0):
    rng = torch.Generator().manual_seed(seed)
    w = torch.full((5,), 0.5)
    for _ in range(walks):
        state, trace, left = 2, torch.zeros(5), torch.zeros(5)
        while 0 <= state <= 4:
            after = state + (1 if torch.rand((), generator=rng) < 0.5 else -1)
            delta = (w[after] if 0 <= after <= 4 else float(after == 5)) - w[state]
            trace = lam * trace + left
            trace[state] += 1
            w += alpha * delta * trace
            left = -delta * trace if leaks else left
            state = after
    return w


true_values = torch.arange(1, 6) / 6


# %% tags=["picture"] alt="Two pictures of learned values after 1, 10 and 100 walks: with the fault and without it they look alike | Два рисунка с выученными значениями после 1, 10 и 100 блужданий: с ошибкой и без неё они похожи"
import matplotlib.pyplot as plt

figure, both = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
for axes, leaks, title in zip(both, (False, True), ("TD(λ)", ".grad is not cleared")):
    axes.plot(list("ABCDE"), true_values, "k--", label="true")
    for walks, marker in ((1, "o"), (10, "s"), (100, "^")):
        axes.plot(list("ABCDE"), walk_values(walks, leaks), marker=marker, label=str(walks))
    axes.set_title(title, fontsize=10)
both[0].legend(frameon=False)
plt.show()


# %% tags=["fact"]
def distance(values):
    return round((values - true_values).square().mean().sqrt().item(), 2)


with_ends = torch.cat([torch.zeros(1), true_values, torch.ones(1)])
assert torch.allclose(true_values, (with_ends[:-2] + with_ends[2:]) / 2)  # each is the mean of its neighbours
assert distance(walk_values(1, leaks=False)) > 0.2
assert [distance(walk_values(100, leaks)) for leaks in (False, True)] == [0.07, 0.08]
assert [distance(walk_values(100, leaks, seed=1)) for leaks in (False, True)] == [0.06, 0.04]


# %% [markdown] tags=["en", "try"]
# After how many walks would you have noticed the fault? Look at both pictures, then run `walk_values` with another `seed`.
#
# Both learn; the legend says after how many walks. After 100 the right one is off by 0.07 on average (root mean square), the wrong one by 0.08. With `seed=1` it is the other way round: 0.06 and 0.04. What told them apart was an episode of three steps with numbers one can check by hand.
# %% [markdown] tags=["ru", "try"] of="b5d03a7f"
# После скольких блужданий вы заметили бы ошибку? Посмотрите на оба рисунка, потом вызовите `walk_values` с другим `seed`.
#
# Обе программы обучаются. В легенде указано, после скольких блужданий получена каждая кривая. После 100 блужданий средняя квадратичная ошибка правильной программы равна 0.07, неправильной — 0.08. А при `seed=1` всё наоборот: 0.06 и 0.04. Различить их удалось только на эпизоде из трёх шагов, где все числа можно проверить вручную.


# %% [markdown] tags=["en"]
# ### `hide_the_fault`
#
# **Find an episode on which the right update and the faulty one end with the same weights.**
#
# There are even episodes on which the two agree to the last digit. A test with such an episode passes, and proves nothing. Find one. The episode visits the states in order and ends after the last; $\gamma = 0.9$, $\lambda = 0.8$, $\alpha = 0.5$.
#
# * **Result.** `hide_the_fault()` returns two lists of the same length, at least 3: the weights of a table at the start, and the rewards. <!-- lists -->
# * **Result.** The right update, and the one that does not clear `.grad` between the steps but is right otherwise, end with the same weights (they differ by at most $10^{-8}$). <!-- agrees -->
# * **Result.** Every weight moves by at least 0.01. <!-- moves -->
# %% [markdown] tags=["ru"] of="3c84db57"
# ### `hide_the_fault`
#
# **Найдите эпизод, после которого верное и ошибочное обновления дают одинаковые веса.**
#
# Бывают и эпизоды, на которых результаты обеих программ совпадают до последнего знака. Тест с таким эпизодом пройдут обе, и он ничего не докажет. Постройте такой эпизод. Состояния в нём идут по порядку, после последнего он заканчивается. Возьмите $\gamma = 0.9$, $\lambda = 0.8$, $\alpha = 0.5$.
#
# * **Результат.** `hide_the_fault()` возвращает два списка одинаковой длины, не меньше 3: начальные веса таблицы и награды. <!-- lists -->
# * **Результат.** Правильное обновление и обновление, при котором поле `.grad` между шагами не обнуляется, а всё остальное верно, дают в конце одинаковые веса (с разницей не больше $10^{-8}$). <!-- agrees -->
# * **Результат.** Каждый вес изменяется не меньше чем на 0.01. <!-- moves -->
# %% answer="hide_the_fault"
def hide_the_fault():
    """Weights at the start, and rewards."""
    ### BEGIN SOLUTION
    return [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]
    ### END SOLUTION


# %% alternative="hide_the_fault"
def hide_the_fault():
    return [0.81, 0.9, 1.0, 0.0], [0.0, 0.0, 1.0, -2.0]


# %% alternative="hide_the_fault"
def hide_the_fault():
    weights = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    after = torch.cat([weights[1:], torch.zeros(1)])
    rewards = weights - 0.9 * after  # the weights are the true values ...
    rewards[-1] += 1  # ... but for the last reward
    return weights.tolist(), rewards.tolist()


# %% alternative="hide_the_fault"
def hide_the_fault():
    n = 6
    return [0.0] * n, [0.0] * (n - 1) + [10.0]


# %% check="hide_the_fault"
from autograder import check

check("hide_the_fault")
# %% tags=["fact"]
assert with_faults(clears=False, zero_start=True) == with_faults(zero_start=True) == [0.2592, 0.36, 0.5]


# %% [markdown] tags=["en"]
# ### `is_right_td`
#
# **Write a test that accepts every right program for TD(λ), and refuses the wrong ones.**
#
# * **Given.** A program, called as `td(w, steps, gamma, lam, alpha)`: `w` is a table of values, a leaf with one dimension that requires grad, float32 or float64, and `td` changes it in place. The tuples of `steps` are those of `td_lambda`, except that the two states are indices of the table.
# * **Result.** True if the program changes `w` by TD(λ). It may leave something in `w.grad`, and what it returns does not matter. It may add in another order than you, so its weights need not be exactly those you expect: for weights near 1 the difference is less than 0.00001. <!-- accepts_right -->
# * **Result.** Else False; an `AssertionError` counts as False. Points for refused programs count only if all right ones are accepted. <!-- catches_sign, catches_leak, catches_no_trace, catches_replacing, catches_decay, catches_no_reset, catches_end, catches_truncation, catches_both_sides -->
# %% [markdown] tags=["ru"] of="7657a544"
# ### `is_right_td`
#
# **Напишите тест, который принимает любую верную программу для TD(λ) и отвергает неверные.**
#
# * **Дано.** Программа, которая вызывается так: `td(w, steps, gamma, lam, alpha)`. Здесь `w` — таблица ценностей, одномерный лист float32 или float64, который требует градиента, и `td` меняет его на месте. Кортежи в списке `steps` такие же, как в упражнении `td_lambda`, только оба состояния в них заданы индексами в таблице.
# * **Результат.** True, если программа меняет `w` по правилу TD(λ). В `w.grad` она вправе что-нибудь оставить, а что она возвращает, неважно. Слагаемые она может складывать в другом порядке, поэтому точного равенства с ожидаемыми весами не требуйте: у весов порядка 1 разница меньше 0.00001. <!-- accepts_right -->
# * **Результат.** Иначе False; исключение `AssertionError` тоже считается ответом False. Баллы за отвергнутые неправильные программы начисляются, только если приняты все правильные. <!-- catches_sign, catches_leak, catches_no_trace, catches_replacing, catches_decay, catches_no_reset, catches_end, catches_truncation, catches_both_sides -->
# %% answer="is_right_td"
def is_right_td(td):
    """Is `td(w, steps, gamma, lam, alpha)` TD(λ)?"""
    ### BEGIN SOLUTION
    steps = [
        (0, 0.0, 1, False, False),
        (1, 0.5, 0, False, False),
        (0, 0.25, 2, False, False),
        (2, 1.0, 0, True, False),
        (0, 0.0, 2, False, False),
        (2, 0.5, 1, False, True),
        (1, 1.0, 2, False, False),
        (2, 0.0, 0, False, False),
    ]
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    td(w, steps, 0.9, 0.8, 0.5)
    values, trace = [0.1, 0.2, 0.3], [0.0, 0.0, 0.0]
    for state, reward, after, terminated, truncated in steps:
        delta = reward + (0.0 if terminated else 0.9 * values[after]) - values[state]
        trace = [0.9 * 0.8 * each for each in trace]
        trace[state] += 1
        values = [value + 0.5 * delta * each for value, each in zip(values, trace)]
        if terminated or truncated:
            trace = [0.0, 0.0, 0.0]
    return torch.allclose(w, torch.tensor(values), atol=1e-5)
    ### END SOLUTION


# %% alternative="is_right_td"
def is_right_td(td):
    # by hand: w = 1, 2; gamma = lambda = alpha = 1/2
    def after(*steps):
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        td(w, list(steps), 0.5, 0.5, 0.5)
        return w.tolist()

    ended = after((0, 2.0, 1, False, False), (1, 1.0, 0, True, False))
    # delta = 2 + 1 - 1 = 2, w = 2, 2; then delta = 1 - 2 = -1, z = 1/4, 1: w = 1.875, 1.5
    cut = after((0, 2.0, 1, False, True), (1, 1.0, 0, False, False))
    # w = 2, 2; then delta = 1 + 1 - 2 = 0
    fresh = after((0, 2.0, 1, False, True), (1, 2.0, 0, False, False))
    # w = 2, 2; then delta = 2 + 1 - 2 = 1, z = 0, 1: w = 2, 2.5
    both = after((0, 2.0, 1, True, False), (1, 3.0, 0, False, False))
    # delta = 2 - 1 = 1, w = 1.5, 2; then delta = 3 + 0.75 - 2 = 1.75, z = 0, 1
    again = after((0, 1.0, 0, False, False), (0, 0.0, 1, False, False))
    # delta = 1 + 0.5 - 1 = 0.5, w = 1.25, 2; then delta = 1 - 1.25 = -0.25, z = 1.25, 0
    wanted = [[1.875, 1.5], [2, 2], [2, 2.5], [1.5, 2.875], [1.09375, 2]]
    return all(abs(a - b) < 1e-4 for x, y in zip([ended, cut, fresh, both, again], wanted) for a, b in zip(x, y))


# %% alternative="is_right_td"
def is_right_td(td):
    torch.manual_seed(1)
    start = torch.rand(4, dtype=torch.float64)
    steps = []
    for t in range(20):
        state, after = torch.randint(0, 4, (2,)).tolist()
        steps.append((state, t % 3 - 0.7, after, t % 5 == 4, t % 7 == 6 and t % 5 != 4))
    w = start.clone().requires_grad_()
    td(w, steps, 0.95, 0.7, 0.1)
    truth, z = start.clone(), torch.zeros(4, dtype=torch.float64)
    for state, reward, after, terminated, truncated in steps:
        delta = reward + 0.95 * truth[after] * (not terminated) - truth[state]
        z *= 0.95 * 0.7
        z[state] += 1
        truth += 0.1 * delta * z
        z *= not (terminated or truncated)
    assert torch.allclose(w.detach(), truth, rtol=1e-8)
    return True


# %% alternative="is_right_td"
def is_right_td(td):
    def table(start, steps):
        w = torch.tensor(start, dtype=torch.float64, requires_grad=True)
        td(w, steps, 0.9, 0.8, 0.5)
        return w.detach()

    def near(found, wanted):
        return torch.allclose(found, torch.tensor(wanted, dtype=torch.float64), atol=1e-6)

    walk = [(0, 0.0, 1, False, False), (1, 0.0, 2, False, False), (2, 1.0, 0, True, False)]
    known = near(table([0.1, 0.2, 0.3], walk), [0.34664, 0.487, 0.65])  # the episode of the lesson
    twice = near(table([0.1, 0.2, 0.3], walk + walk), table(table([0.1, 0.2, 0.3], walk).tolist(), walk).tolist())
    cut = near(table([1.0, 2.0], [(0, 0.0, 1, False, True), (1, 0.0, 1, True, False)]), [1.4, 1.0])
    again = near(table([1.0, 2.0], [(0, 1.0, 0, False, False), (0, 0.0, 1, True, False)]), [0.203, 2.0])
    return known and twice and cut and again


# %% check="is_right_td"
from autograder import check

check("is_right_td")
# %% tags=["fact"]
from autograder.exercises import find

tried = find("is_right_td", "capstones").programs
assert (len(tried.right), len(tried.wrong)) == (4, 11)
stream = [(t % 3, 0.5, (t + 1) % 3, t % 5 == 4, t % 7 == 6) for t in range(20)]
for dtype, limit in ((torch.float32, 1e-5), (torch.float64, 1e-13)):
    found = []
    for td in find("is_right_td", "capstones").programs.right:
        w = torch.tensor([0.1, 0.2, 0.3], dtype=dtype, requires_grad=True)
        td(w, stream, 0.9, 0.8, 0.1)
        assert w.dtype == dtype
        found.append(w.detach())
    differences = [(each - found[0]).abs().max().item() for each in found]
    assert 0 < max(differences) < limit


# %% [markdown] tags=["en"]
# ## An engine of your own
#
# Since lesson 02 your engine has grown, and each of its parts was a function of its own. Can one class join rules, walk, freeing, hooks and second derivatives, on any program?
#
# Two things are new where the parts meet. Lesson 10 wrote the rules with values on both sides, so a pass with `create_graph=True` records itself; a plain pass has to cut each gradient off the graph: it wraps the bare tensor anew. And the sum to an input's shape has to be recorded, too: it becomes an operation of the class.
#
# How is such an engine tested? By hand you find the faults you think of. The check tries each rule by itself, and then writes *random programs*: each draws its operations, uses results twice, broadcasts, leaves a leaf unused. A program runs on your values as well as on torch's tensors, because both have the same methods.
# %% [markdown] tags=["ru"] of="50d47fec"
# ## Собственный движок
#
# Начиная с урока 02 ваш движок рос, и каждая его часть была отдельной функцией. Сможет ли один класс соединить правила, обход, освобождение памяти, хуки и вторые производные, причём на любой программе?
#
# На стыках частей появляется кое-что новое. В уроке 10 с обеих сторон в правилах стояли значения, поэтому проход с `create_graph=True` записывает сам себя. В обычном же проходе каждый градиент нужно отрезать от графа: взять его тензор и сделать из этого тензора новое значение. Приведение градиента к форме входа тоже должно записываться, так что и оно становится операцией класса.
#
# Как испытать такой движок? Вручную находят только те ошибки, о которых подумали. Поэтому при проверке сначала испытывается каждое правило отдельно, а потом создаются *случайные программы*: операции в них выбраны наугад, результаты используются дважды, есть транслирование и лист, который никому не нужен. Программа выполняется и на ваших значениях, и на тензорах torch: методы у них одни и те же.
# %%
from autograder import save_mine

save_mine()


# %% [markdown] tags=["en"]
# ### `own_engine`
#
# **Join the parts in the class `Value`, from its rules to second derivatives.**
#
# Much of it you have: `save_mine()` has just written it into `my_engine.py`, beside this notebook. What changes: a rule is called as `rule(g, out)` and works on values, `.grad` holds a value, and there is no minus. The stub records and has the rule of `+`; every other rule, the sum to a shape, hooks and the walk are yours.
#
# * **Given.** `Value(data)` is a leaf. `data` is a float64 tensor that does not require grad. A value has `.data` and `.grad`, which is None or a value.
# * **Given.** The operations: `a + b` and `a * b` with broadcasting, `a @ b` and `a.t()` of matrices, `a.sum()` over all entries, `a.exp()`, `a.tanh()`, `a.reshape(shape)`, `a.expand(shape)`. The shape is a tuple in which every size is given.
# * **Result.** `root.backward()`, of a value with one element, adds to `.grad` of every leaf behind it the gradient, in the leaf's shape. What is no leaf keeps None, and so does an unused leaf. <!-- rules, meetings, gradients, accumulated -->
# * **Result.** A gradient of a plain pass has memory of its own. <!-- memory -->
# * **Result.** `value.register_hook(hook)` works for leaves and results: `hook` is called once in each pass, with the whole gradient of this pass as a `Value`. Unless it returns None, what it returns takes the gradient's place, also for the next hook of the same value. <!-- hooks, hooks_in_programs -->
# * **Result.** A pass frees what it has walked: the values on its way are gone from memory when it ends, without the garbage collector, if nobody else holds them. One that is held forgets its inputs, too. A later pass that meets a freed value, from whichever root, raises a RuntimeError; what is in `.grad` then does not matter. Leaves can be used again. With `retain_graph=True` nothing is freed. <!-- freed, accumulated -->
# * **Result.** With `create_graph=True` nothing is freed either, and the gradients are values of the graph, from which one can compute on and call `backward()`. So are their sums over several passes, and so is what a hook returns. After a pass without `create_graph=True` every `.grad` is a constant. <!-- second_rules, second, second_hook, constant -->
# * **Leave.** Every `data`. <!-- memory -->
# * **Not allowed.** torch's own backward passes. <!-- engine_runs -->
# * **Not allowed.** To follow every path, or to recurse: 5,000 operations in a row have to work. <!-- work, depth -->
# %% [markdown] tags=["ru"] of="2cbd3090"
# ### `own_engine`
#
# **Соберите части в класс `Value`, от правил до вторых производных.**
#
# Многое у вас уже есть: `save_mine()` только что сохранила ваш код в файл `my_engine.py` рядом с этой тетрадью. Меняется вот что: правило вызывается как `rule(g, out)` и работает со значениями, в `.grad` лежит значение, а минуса нет. В заготовке уже есть запись операций и правило для `+`. Остальные правила, приведение градиента к форме входа, хуки и сам проход за вами.
#
# * **Дано.** `Value(data)` — лист. `data` — тензор float64, который не требует градиента. У значения есть поля `.data` и `.grad`, в последнем лежит None или значение.
# * **Дано.** Операции: `a + b` и `a * b` с транслированием, `a @ b` и `a.t()` для матриц, `a.sum()` по всем элементам, `a.exp()`, `a.tanh()`, `a.reshape(shape)`, `a.expand(shape)`. Форма — кортеж, в котором указаны все размеры.
# * **Результат.** Вызов `root.backward()` у значения из одного элемента прибавляет к `.grad` каждого листа, от которого это значение зависит, градиент той же формы, что у листа. У остальных значений и у неиспользованного листа остаётся None. <!-- rules, meetings, gradients, accumulated -->
# * **Результат.** У градиента после обычного прохода собственная память. <!-- memory -->
# * **Результат.** `value.register_hook(hook)` работает для листьев и результатов: в каждом проходе `hook` вызывается один раз и получает полный градиент этого прохода, тоже `Value`. Если хук вернул не None, это значение заменяет градиент, в том числе для следующего хука того же значения. <!-- hooks, hooks_in_programs -->
# * **Результат.** Проход освобождает пройденное: к его концу значения на пути исчезают из памяти, без сборщика мусора, если никто другой их не держит. Если же значение кто-то держит, оно остаётся, но забывает свои входы. Если следующий проход, с какого бы корня он ни начался, приходит к освобождённому значению, возникает RuntimeError; что в этом случае окажется в полях `.grad`, неважно. Листья можно использовать снова. С `retain_graph=True` ничего не освобождается. <!-- freed, accumulated -->
# * **Результат.** С `create_graph=True` тоже ничего не освобождается, а градиенты становятся значениями графа: их можно использовать в новых вычислениях, а у результата вызвать `backward()`. То же относится к их сумме за несколько проходов и к тому, что вернул хук. После прохода без `create_graph=True` каждый `.grad` — константа. <!-- second_rules, second, second_hook, constant -->
# * **Не менять.** Ни одно поле `data`. <!-- memory -->
# * **Нельзя.** Использовать обратные проходы torch. <!-- engine_runs -->
# * **Нельзя.** Перебирать все пути или применять рекурсию: цепочка из 5000 операций должна выполняться. <!-- work, depth -->
# %% answer="own_engine"
class Value:
    """A tensor that remembers how it was made."""

    def __init__(self, data, inputs=(), rule=None):
        self.data, self.inputs, self.rule = data, inputs, rule
        self.grad, self.hooks = None, []

    # a rule gets the gradient and the result, and gives a gradient for each input: all of them values

    def __add__(self, other):
        return Value(self.data + other.data, (self, other), lambda g, out: (g, g))

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), lambda g, out: (g * other, g * self))

    def __matmul__(self, other):
        return Value(self.data @ other.data, (self, other), lambda g, out: (g @ other.t(), self.t() @ g))

    def t(self):
        return Value(self.data.t(), (self,), lambda g, out: (g.t(),))

    def sum(self):
        return Value(self.data.sum(), (self,), lambda g, out: (g.expand(self.data.shape),))

    def exp(self):
        return Value(self.data.exp(), (self,), lambda g, out: (g * out,))

    def tanh(self):
        minus = Value(torch.tensor(-1.0, dtype=torch.float64))
        return Value(self.data.tanh(), (self,), lambda g, out: (g + minus * g * out * out,))

    def reshape(self, shape):
        return Value(self.data.reshape(shape), (self,), lambda g, out: (g.reshape(self.data.shape),))

    def expand(self, shape):
        return Value(self.data.expand(shape), (self,), lambda g, out: (g,))

    def sum_to(self, shape):
        return Value(self.data.sum_to_size(shape), (self,), lambda g, out: (g.expand(self.data.shape),))

    def register_hook(self, hook):
        self.hooks.append(hook)

    def backward(self, retain_graph=False, create_graph=False):
        waits_for, todo = {self: 0}, [self]
        while todo:
            for each in todo.pop().inputs:
                if each not in waits_for:
                    waits_for[each] = 0
                    todo.append(each)
                waits_for[each] += 1
        arrived, may_run = {self: Value(torch.ones_like(self.data))}, [self]
        while may_run:
            value = may_run.pop()
            gradient = arrived.pop(value)
            for hook in value.hooks:
                replaced = hook(gradient)
                gradient = gradient if replaced is None else replaced
            if value.rule is None:  # a leaf
                total = gradient if value.grad is None else value.grad + gradient
                value.grad = total if create_graph else Value(total.data.clone())
                continue
            for each, part in zip(value.inputs, value.rule(gradient, value)):
                part = part if part.data.shape == each.data.shape else part.sum_to(each.data.shape)
                part = part if create_graph else Value(part.data)
                arrived[each] = arrived[each] + part if each in arrived else part
                waits_for[each] -= 1
                if waits_for[each] == 0:
                    may_run.append(each)
            if not (retain_graph or create_graph):
                value.inputs, value.rule = (), freed


def freed(g, out):
    raise RuntimeError("a second pass through a freed graph: retain_graph=True for the first would keep it")


# %% given="own_engine"
class Value:
    """A tensor that remembers how it was made."""

    def __init__(self, data, inputs=(), rule=None):
        self.data, self.inputs, self.rule = data, inputs, rule
        self.grad, self.hooks = None, []

    # a rule gets the gradient and the result, and gives a gradient for each input: all of them values

    def __add__(self, other):
        return Value(self.data + other.data, (self, other), lambda g, out: (g, g))

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), lambda g, out: ...)

    def __matmul__(self, other):
        return Value(self.data @ other.data, (self, other), lambda g, out: ...)

    def t(self):
        return Value(self.data.t(), (self,), lambda g, out: ...)

    def sum(self):
        return Value(self.data.sum(), (self,), lambda g, out: ...)

    def exp(self):
        return Value(self.data.exp(), (self,), lambda g, out: ...)

    def tanh(self):
        return Value(self.data.tanh(), (self,), lambda g, out: ...)

    def reshape(self, shape):
        return Value(self.data.reshape(shape), (self,), lambda g, out: ...)

    def expand(self, shape):
        return Value(self.data.expand(shape), (self,), lambda g, out: ...)

    def register_hook(self, hook): ...

    def backward(self, retain_graph=False, create_graph=False): ...


# %% alternative="own_engine"
import heapq
import itertools


class Value:
    """Values numbered as they are made: the largest number runs first."""

    numbers = itertools.count()

    def __init__(self, data, edges=()):
        self.data, self.edges = data, edges  # an edge: an input, and a function from the gradient to its part
        self.grad, self.hooks, self.is_leaf, self.number = None, [], not edges, next(Value.numbers)

    def __lt__(self, other):
        return self.number > other.number

    def __add__(self, other):
        return Value(self.data + other.data, [(self, lambda g: g), (other, lambda g: g)])

    def __mul__(self, other):
        return Value(self.data * other.data, [(self, lambda g: g * other), (other, lambda g: g * self)])

    def __matmul__(self, other):
        return Value(self.data @ other.data, [(self, lambda g: g @ other.t()), (other, lambda g: self.t() @ g)])

    def t(self):
        return Value(self.data.t(), [(self, lambda g: g.t())])

    def sum(self):
        return Value(self.data.sum(), [(self, lambda g: g.expand(self.data.shape))])

    def exp(self):
        return Value(self.data.exp(), [(self, lambda g: g * self.exp())])

    def tanh(self):
        minus = Value(-torch.ones((), dtype=torch.float64))
        return Value(self.data.tanh(), [(self, lambda g: g + minus * g * self.tanh() * self.tanh())])

    def reshape(self, shape):
        return Value(self.data.reshape(shape), [(self, lambda g: g.reshape(self.data.shape))])

    def expand(self, shape):
        return Value(self.data.expand(shape), [(self, lambda g: g)])

    def fit(self, shape):
        return Value(self.data.sum_to_size(shape), [(self, lambda g: g.expand(self.data.shape))])

    def register_hook(self, hook):
        self.hooks += [hook]

    def backward(self, retain_graph=False, create_graph=False):
        if self.edges is None:
            raise RuntimeError("freed")
        parts, heap = {self: [Value(torch.ones_like(self.data))]}, [self]
        while heap:
            value = heapq.heappop(heap)
            gradient = parts.pop(value)[0]
            for hook in value.hooks:
                gradient = hook(gradient) or gradient
            if value.is_leaf:
                gradient = gradient if value.grad is None else value.grad + gradient
                value.grad = gradient if create_graph else Value(gradient.data.clone())
            if value.edges is None:
                raise RuntimeError("freed")
            for each, function in value.edges:
                part = function(gradient).fit(each.data.shape)
                part = part if create_graph else Value(part.data)
                if each in parts:
                    parts[each][0] = parts[each][0] + part
                else:
                    parts[each] = [part]
                    heapq.heappush(heap, each)
            if not (retain_graph or create_graph or value.is_leaf):
                value.edges = None


# %% alternative="own_engine"
class Value:
    """A switch says whether operations are recorded, as torch's grad mode does."""

    recording = True

    def __init__(self, data, rules=None):
        self.data, self.rules, self.grad, self.hooks = data, rules, None, []
        self.leaf = rules is None
        self.freed = False

    @staticmethod
    def made(data, *rules):
        return Value(data, [(each, rule) for each, rule in rules] if Value.recording else None)

    def fit(self, g):
        """`g`, summed to the shape of this value."""
        old = g.data.shape
        return Value.made(g.data.sum_to_size(self.data.shape), (g, lambda h: h.expand(old)))

    def __add__(self, other):
        return Value.made(self.data + other.data, (self, lambda g: self.fit(g)), (other, lambda g: other.fit(g)))

    def __mul__(self, other):
        rules = (self, lambda g: self.fit(g * other)), (other, lambda g: other.fit(g * self))
        return Value.made(self.data * other.data, *rules)

    def __matmul__(self, other):
        return Value.made(
            self.data.matmul(other.data), (self, lambda g: g @ other.t()), (other, lambda g: (g.t() @ self).t())
        )

    def t(self):
        return Value.made(self.data.T, (self, lambda g: g.t()))

    def sum(self):
        return Value.made(self.data.sum(), (self, lambda g: g.expand(self.data.shape)))

    def exp(self):
        return Value.made(self.data.exp(), (self, lambda g: g * self.exp()))

    def tanh(self):
        one, minus = (Value(torch.full((), number, dtype=torch.float64), None) for number in (1.0, -1.0))
        return Value.made(self.data.tanh(), (self, lambda g: g * (one + minus * (self.tanh() * self.tanh()))))

    def reshape(self, shape):
        return Value.made(self.data.reshape(shape), (self, lambda g: g.reshape(self.data.shape)))

    def expand(self, shape):
        return Value.made(self.data.expand(shape), (self, lambda g: self.fit(g)))

    def register_hook(self, hook):
        self.hooks.append(hook)

    def in_order(self):
        order, seen, stack = [], {self}, [(self, iter(self.rules or ()))]
        while stack:
            value, edges = stack[-1]
            for each, _ in edges:
                if each not in seen:
                    seen.add(each)
                    stack.append((each, iter(each.rules or ())))
                    break
            else:
                order.append(value)
                stack.pop()
        return order[::-1]

    def backward(self, retain_graph=False, create_graph=False):
        order = self.in_order()
        if any(value.freed for value in order):
            raise RuntimeError("this graph has been freed")
        before, Value.recording = Value.recording, create_graph
        try:
            gradients = {self: Value(torch.ones_like(self.data))}
            for value in order:
                gradient = gradients.pop(value)
                for hook in value.hooks:
                    new = hook(gradient)
                    if new is not None:
                        gradient = new
                if value.leaf:
                    value.grad = gradient if value.grad is None else value.grad + gradient
                    if not create_graph:
                        value.grad = Value(value.grad.data.clone())
                    continue
                for each, rule in value.rules:
                    part = rule(gradient)
                    gradients[each] = gradients[each] + part if each in gradients else part
        finally:
            Value.recording = before
        if not (retain_graph or create_graph):
            for value in order:
                value.freed, value.rules = not value.leaf, None


# %% alternative="own_engine"
class Node:
    """An operation with its inputs and its rule, like torch's `grad_fn`."""

    def __init__(self, inputs, rule):
        self.inputs, self.rule = inputs, rule

    def parts(self, g):
        if self.rule is None:
            raise RuntimeError("freed")
        return list(self.rule(g))


class Value:
    def __init__(self, data, node=None):
        self.data, self.node, self.grad, self.hooks = data, node, None, []

    def __add__(self, other):
        return Value(self.data + other.data, Node((self, other), lambda g: (g, g)))

    def __mul__(self, other):
        return Value(self.data * other.data, Node((self, other), lambda g: (other * g, self * g)))

    def __matmul__(self, other):
        return Value(self.data @ other.data, Node((self, other), lambda g: (g @ other.t(), self.t() @ g)))

    def t(self):
        return Value(self.data.t().contiguous(), Node((self,), lambda g: [g.t()]))

    def sum(self):
        shape = self.data.shape
        return Value(self.data.sum(), Node((self,), lambda g: [g.expand(shape)]))

    def exp(self):
        return Value(torch.exp(self.data), Node((self,), lambda g: [g * self.exp()]))

    def tanh(self):
        minus = Value(torch.tensor(-1.0, dtype=torch.float64))
        return Value(torch.tanh(self.data), Node((self,), lambda g: [g + minus * (g * self.tanh() * self.tanh())]))

    def reshape(self, shape):
        shape_before = self.data.shape
        return Value(self.data.reshape(shape), Node((self,), lambda g: [g.reshape(shape_before)]))

    def expand(self, shape):
        return Value(self.data.expand(shape), Node((self,), lambda g: [g]))

    def to_shape(self, shape):
        data, wide = self.data, self.data.shape
        while data.dim() > len(shape):
            data = data.sum(0)
        for d, size in enumerate(shape):
            if size == 1:
                data = data.sum(d, keepdim=True)
        return Value(data, Node((self,), lambda g: [g.expand(wide)]))

    def register_hook(self, hook):
        self.hooks.append(hook)

    def backward(self, retain_graph=False, create_graph=False):
        users = {self: 0}
        found = [self]
        for value in found:
            for each in value.node.inputs if value.node else ():
                if each not in users:
                    found.append(each)
                users[each] = users.get(each, 0) + 1
        sums, line = {self: Value(torch.ones_like(self.data))}, [self]
        for value in line:
            gradient = sums.pop(value)
            for hook in value.hooks:
                returned = hook(gradient)
                gradient = returned if returned is not None else gradient
            node = value.node
            if node is None:
                if create_graph:
                    value.grad = gradient if value.grad is None else value.grad + gradient
                else:
                    old = 0 if value.grad is None else value.grad.data
                    value.grad = Value(gradient.data + old)
                continue
            for each, part in zip(node.inputs, node.parts(gradient)):
                part = part.to_shape(each.data.shape)
                if not create_graph:
                    part.node = None
                sums[each] = part if each not in sums else sums[each] + part
                users[each] -= 1
                if not users[each]:
                    line.append(each)
            if not (create_graph or retain_graph):
                node.inputs, node.rule = (), None


# %% check="own_engine"
from autograder import check

check("own_engine")
# %% tags=["fact"]
import gc
import weakref

from autograder.checking.comparison import compare
from autograder.checking.values import canonical
from autograder.exercises.shared import engine_runs
from autograder.exercises.shared.random_programs import many_programs

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch warns of the cycle that create_graph=True makes
    for random_program in many_programs(torch.Generator().manual_seed(17), 5):
        for observe in (
            engine_runs.first_gradients,
            engine_runs.accumulated,
            engine_runs.hooked,
            engine_runs.second_gradients,
            engine_runs.constant_gradient,
        ):
            found, expected = (canonical(observe(make, random_program)) for make in (Value, engine_runs.torch_leaf))
            assert compare(expected, found) is None

leaf = torch.ones(2, requires_grad=True)
older = leaf.exp()
newer = older * older
assert older.grad_fn._sequence_nr() < newer.grad_fn._sequence_nr()
gc.disable()  # the node of an exp keeps its output, and yet the two are no cycle
output, older, newer = weakref.ref(older), None, None
assert output() is None
gc.enable()


def takes_over(holds):
    leaf, seen, places = torch.ones(4, requires_grad=True), [], []

    def note(gradient):
        places.append(gradient.data_ptr())
        if holds:
            seen.append(gradient)

    leaf.register_hook(note)
    (3 * leaf).sum().backward()
    return leaf.grad.data_ptr() == places[0]


assert takes_over(holds=False) and not takes_over(holds=True)
# %% [markdown] tags=["en"]
# That is an engine. torch's has the same parts, and some that you can now name: its nodes are sorted by a number that grows as they are made; a saved output is kept without the node that made it, because the two would hold each other; a leaf may take over a gradient instead of copying it, when nobody else has it.
# %% [markdown] tags=["ru"] of="75bc8214"
# Это и есть движок. Движок torch состоит из тех же частей и ещё нескольких, в которых вы теперь разберётесь. Узлы он упорядочивает по номеру: чем позже узел создан, тем больше номер. Сохранённый выход хранится без узла, который его создал: иначе они удерживали бы друг друга. А градиент, который больше никому не нужен, лист может не копировать, а забрать себе.
# %% [markdown] tags=["en"]
# One network, three engines: one value for each number, as micrograd has it; your arrays; torch. Which column will differ most: the rules that run, or the time?
# %% [markdown] tags=["ru"] of="8f859b5b"
# Одна сеть и три движка: значение на каждое число, как в micrograd; ваши массивы; torch. В каком столбце разница будет больше: в числе выполненных правил или во времени?
# %%
import timeit


class Scalar:
    """A number that remembers how it was made, as in micrograd."""

    def __init__(self, data, inputs=(), rule=None):
        self.data, self.inputs, self.rule, self.grad = data, inputs, rule, 0.0

    def __add__(self, other):
        return Scalar(self.data + other.data, (self, other), lambda g: (g, g))

    def __mul__(self, other):
        return Scalar(self.data * other.data, (self, other), lambda g: (g * other.data, g * self.data))

    def tanh(self):
        out = math.tanh(self.data)
        return Scalar(out, (self,), lambda g: (g * (1 - out * out),))

    def backward(self):
        self.grad, rules = 1.0, 0
        for value in reversed(behind(self)):
            if value.rule is not None:
                rules += 1
                for each, part in zip(value.inputs, value.rule(value.grad)):
                    each.grad += part
        return rules


def behind(root, found=None):
    """The values behind `root`, each after its inputs."""
    found = {} if found is None else found
    for each in root.inputs:
        if each not in found:
            behind(each, found)
    found[root] = None
    return list(found)


def on_scalars(x, w, v):
    x, w, v = ([[Scalar(number) for number in row] for row in part.tolist()] for part in (x, w, v))

    def product(a, b):
        return [[add_up([p * q for p, q in zip(row, column)]) for column in zip(*b)] for row in a]

    hidden = [[value.tanh() for value in row] for row in product(x, w)]
    loss = add_up([row[0] for row in product(hidden, v)])
    return loss.backward(), [[value.grad for value in row] for row in w]


def add_up(values):
    total, *others = values
    for each in others:
        total = total + each
    return total


def on_arrays(x, w, v):
    x, w, v = Value(x), Value(w), Value(v)
    loss = ((x @ w).tanh() @ v).sum()
    rules = sum(value.rule is not None for value in behind(loss))
    loss.backward()
    return rules, w.grad.data.tolist()


def on_torch(x, w, v):
    w = w.clone().requires_grad_()
    loss = ((x @ w).tanh() @ v).sum()
    loss.backward()
    return 4, w.grad.tolist()


def lines_of(engine):
    """Lines from the first to the last method of a class."""
    codes = [method.__code__ for method in vars(engine).values() if hasattr(method, "__code__")]
    last = max(line for code in codes for *_, line in code.co_lines() if line)
    return last - min(code.co_firstlineno for code in codes) + 1


parts = [torch.linspace(-1.0, 1.0, n * m, dtype=torch.float64).reshape(n, m) for n, m in ((16, 12), (12, 8), (8, 1))]
found = []
for engine, lines in ((on_scalars, Scalar), (on_arrays, Value), (on_torch, None)):
    try:
        rules, gradient = engine(*parts)
    except AttributeError:
        print(f"{engine.__name__:10} own_engine is still to be written")
        continue
    took = 1000 * min(timeit.repeat(lambda: engine(*parts), number=1, repeat=10))
    length = f"{lines_of(lines)} lines" if lines else "in C++"
    print(f"{engine.__name__:10} {length:>9}, {rules:6,} rules, {took:7.2f} ms")
    found.append(torch.tensor(gradient))
print("one gradient:", all(torch.allclose(found[0], each) for each in found))
# %% tags=["fact"]
counted = [engine(*parts) for engine in (on_scalars, on_arrays, on_torch)]
assert all(torch.allclose(torch.tensor(counted[0][1]), torch.tensor(each)) for _, each in counted)
assert [rules for rules, _ in counted] == [3_327, 4, 4]


# %% [markdown] tags=["en"]
# Thousands of rules became four: a rule for arrays does the work of all their numbers at once, in C++. Torch's engine nobody reads in an evening. Yours you wrote.
#
# Take your engine with you.
# %% [markdown] tags=["ru"] of="e17158e4"
# Вместо тысяч правил выполняются четыре: одно правило для массивов делает работу сразу для всех чисел, и делает её на C++. Код движка torch за вечер не прочесть. Свой вы написали сами.
#
# Заберите свой движок с собой.
# %%
save_mine()
# %% [markdown] tags=["en"]
# ## On a GPU
#
# The rules of this lesson are those of autograd; on a GPU only the measuring differs: the allocator itself counts. The scaler there is `GradScaler("cuda")`, and `autocast` is given "cuda". With a GPU the next cell shows three peaks of passes over the recurrent cell above: with windows the peak is lower than with one graph, and lower still with fewer rows at a time and checkpoints. The scaler refuses weights in float16 there, too.
# %% [markdown] tags=["ru"] of="c416fecc"
# ## На GPU
#
# На GPU действуют те же правила autograd. По-другому измеряется только память: её расход сообщает аллокатор. Для масштабирования берут `GradScaler("cuda")`, а в `autocast` передают "cuda". На машине с GPU следующий код выведет три пиковых значения расхода памяти для проходов по рекуррентной ячейке, описанной выше: с окнами пик ниже, чем с одним графом, а если вдобавок брать меньше строк за раз и ставить контрольные точки — ещё ниже. И здесь масштабирование с весами в float16 приводит к ошибке.
# %%
from autograder import gpu_peak, on_gpu


def capped_step_on_gpu():
    cell = Cell(width=4096).cuda()
    x, h = torch.ones(12, 256, 2, device="cuda"), torch.zeros(256, 2, device="cuda")

    def through(run, steps, rows):
        def work():
            for part in h.split(rows):
                state = part
                for start in range(0, len(x), steps):
                    loss = 0.0
                    for x_t in x[start : start + steps, : len(part)]:
                        prediction, state = run(x_t, state)
                        loss = loss + prediction.square().sum()
                    loss.backward()
                    state = state.detach()

        return gpu_peak(work)

    def with_checkpoint(x_t, state):
        return checkpoint(cell, x_t, state, use_reentrant=False)

    w = torch.nn.Parameter(torch.ones(2, device="cuda", dtype=torch.float16))
    scaler = torch.amp.GradScaler("cuda")
    scaler.scale(w.sum()).backward()
    try:
        scaler.unscale_(torch.optim.SGD([w], lr=0.1))
        refused = False
    except ValueError:
        refused = True
    return {
        "peak bytes, one graph": through(cell, 12, 256),
        "windows of 6": through(cell, 6, 256),
        "windows, 64 rows, checkpoints": through(with_checkpoint, 6, 64),
        "float16 weights refused": refused,
    }


on_gpu(capped_step_on_gpu)
# %% tags=["fact"]
from autograder.lessons.gpu_recordings import check_claims

check_claims(
    capped_step_on_gpu,
    lambda measured: {
        "each peak is lower than the one before": measured["peak bytes, one graph"]
        > measured["windows of 6"]
        > measured["windows, 64 rows, checkpoints"],
        "weights in float16 are refused": measured["float16 weights refused"],
    },
)


# %% [markdown] tags=["en"]
# ### `fix_baseline`
#
# **`Baseline(features, rate)` subtracts a running mean, which begins at 0. On another device, or after loading, it fails: mend the module.**
#
# * **Given.** `x`, a float64 tensor of shape (rows, features), and `rate`, a number between 0 and 1.
# * **Result.** A call `baseline(x)` returns `x` minus the mean as it was before the call; then the mean becomes `mean + rate * (x.mean(0) - mean)`, in training mode and in `eval()` alike. The mean is float64, as `x` is. For autograd it is a constant: the gradient of a result reaches its own `x` alone. <!-- values, exact -->
# * **Result.** After `baseline.to(device)` the module works with an `x` on that device, such as a GPU. The result lies there, too. <!-- device -->
# * **Result.** A new `Baseline` that loads the `state_dict()` goes on from the same mean. <!-- saved -->
# * **Not allowed.** Parameters of the module, because an optimizer would train them. <!-- parameters -->
#
# You need no GPU: the check pretends one.
# %% [markdown] tags=["ru"] of="65a13894"
# ### `fix_baseline`
#
# **`Baseline(features, rate)` вычитает скользящее среднее, которое начинается с 0. На другом устройстве и после загрузки модуль не работает: исправьте его.**
#
# * **Дано.** Тензор `x` float64 формы (строки, признаки) и `rate`, число от 0 до 1.
# * **Результат.** Вызов `baseline(x)` возвращает `x` минус среднее, каким оно было до вызова; затем среднее становится равным `mean + rate * (x.mean(0) - mean)`, и в режиме обучения, и в режиме `eval()`. Среднее хранится в float64, как и `x`. Для autograd оно константа: градиент результата доходит только до своего `x`. <!-- values, exact -->
# * **Результат.** После `baseline.to(device)` модуль работает с `x`, который лежит на этом устройстве, например на GPU. Там же лежит и результат. <!-- device -->
# * **Результат.** Новый `Baseline`, загрузивший `state_dict()`, продолжает с того же среднего. <!-- saved -->
# * **Нельзя.** Заводить у модуля параметры: оптимизатор стал бы их обучать. <!-- parameters -->
#
# GPU для этого не нужен: проверка его имитирует.
# %% answer="fix_baseline"
class Baseline(torch.nn.Module):
    """The difference from a running mean."""

    def __init__(self, features, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("mean", torch.zeros(features, dtype=torch.float64))

    def forward(self, x):
        result = x - self.mean
        self.mean = self.mean + self.rate * (x.detach().mean(0) - self.mean)
        return result


# %% given="fix_baseline"
class Baseline(torch.nn.Module):
    """The difference from a running mean."""

    def __init__(self, features, rate):
        super().__init__()
        self.rate = rate
        self.mean = torch.zeros(features, dtype=torch.float64)

    def forward(self, x):
        result = x - self.mean
        self.mean = self.mean + self.rate * (x.detach().mean(0) - self.mean)
        return result


# %% alternative="fix_baseline"
class Baseline(torch.nn.Module):
    def __init__(self, features, rate):
        super().__init__()
        self.rate, self.mean = rate, torch.nn.Buffer(torch.zeros(features, dtype=torch.float64))

    def forward(self, x):
        result = x - self.mean
        with torch.no_grad():
            self.mean.lerp_(x.mean(dim=0), self.rate)
        return result


# %% alternative="fix_baseline"
class Baseline(torch.nn.Module):
    def __init__(self, features, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("mean", torch.zeros(features).double())

    def forward(self, x):
        before = self.mean.clone()
        with torch.no_grad():
            self.mean.mul_(1 - self.rate).add_(self.rate * x.mean(0))
        return x - before


# %% alternative="fix_baseline"
class Baseline(torch.nn.Module):
    def __init__(self, features, rate):
        super().__init__()
        self.register_buffer("mean", torch.zeros(features, dtype=torch.float64))
        self.register_buffer("rate", torch.tensor(rate, dtype=torch.float64))

    def forward(self, x):
        before, self.mean = self.mean, (1 - self.rate) * self.mean + self.rate * x.detach().mean(0)
        return x - before


# %% check="fix_baseline"
from autograder import check

check("fix_baseline")


# %% [markdown] tags=["en"] explains="fix_baseline"
# Code for a GPU fails at a tensor that stays behind. `module.to(device)` moves parameters and buffers; a tensor in any other attribute stays where it was made, and `state_dict()` does not hold it either. On the CPU nothing of that shows.
# %% [markdown] tags=["ru"] explains="fix_baseline" of="aeb637ae"
# Код для GPU часто завершается ошибкой из-за тензора, который остался на CPU. Вызов `module.to(device)` переносит параметры и буферы. Тензор в любом другом атрибуте остаётся там, где создан, и в `state_dict()` он тоже не попадает. На CPU всего этого не видно.
# %%
class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.register_buffer("shift", torch.zeros(2))
        self.scale = torch.ones(2)


moved = Scaled().to("meta")  # a device that every machine has; its tensors hold no numbers
print({name: str(getattr(moved, name).device) for name in ("weight", "shift", "scale")}, list(moved.state_dict()))
# %% [markdown] tags=["en", "try"]
# Three tensors: a parameter, a buffer, and a plain attribute. Where do they lie after `to`, and which of them does `state_dict()` hold? Say it, then run the cell.
#
# The parameter and the buffer have moved, and `state_dict()` holds both. The attribute `scale` stayed on the CPU and is not in it.
# %% [markdown] tags=["ru", "try"] of="ecab60c3"
# Три тензора: параметр, буфер и обычный атрибут. Где они окажутся после вызова `to` и какие из них попадут в `state_dict()`? Сначала ответьте, потом выполните ячейку.
#
# Параметр и буфер переехали, и `state_dict()` содержит оба. Атрибут `scale` остался на CPU, и его там нет.
# %% tags=["fact"]
assert [getattr(moved, name).device.type for name in ("weight", "shift", "scale")] == ["meta", "meta", "cpu"]
assert list(moved.state_dict()) == ["weight", "shift"]


# %% [markdown] tags=["en"]
# ## A scoreboard: the bytes of one step
#
# "Out of memory" stops the training of a small language model. The first reply: make the blocks smaller. It hardly helps, because the blocks were never the trouble. Where are the bytes?
#
# Below is one step in small: a frozen embedding, one block, and a *head*, the last layer, which gives each row one number per class, a *logit*. With a vocabulary there are many classes. `live_bytes` counts the tensors made inside `with` that are alive; single numbers such as the loss do not count. Read the function; do not call it yet.
# %% [markdown] tags=["ru"] of="3b5484f7"
# ## Табло: байты одного шага
#
# Обучение небольшой языковой модели обрывается из-за нехватки памяти. Первый совет — уменьшить блоки. Он почти не помогает: дело было не в них. Где же лежат байты?
#
# Ниже такой шаг в миниатюре: замороженный эмбеддинг, один блок и *голова* — последний слой, который вычисляет для каждой строки по одному числу на класс, *логит*. Когда классы — это слова словаря, их много. С помощью `live_bytes` подсчитываются тензоры, которые созданы внутри `with` и ещё находятся в памяти. Тензоры из одного числа, например значение функции потерь, не считаются. Прочтите функцию, но пока не вызывайте.
# %%
from torch.nn.functional import cross_entropy

from autograder.measure import live_bytes


def step_bytes(rows=32, width=16, classes=128):
    seen, ids = {}, torch.arange(rows)
    table = torch.ones(rows, width, dtype=torch.float64)
    embedding = torch.nn.Embedding.from_pretrained(table)
    block = torch.nn.Linear(width, width, bias=False, dtype=torch.float64)
    head = torch.nn.Linear(width, classes, bias=False, dtype=torch.float64)
    with live_bytes() as live:
        h = embedding(ids)
        seen["after the embedding"] = live.now
        h = torch.tanh(block(h))
        seen["after the block"] = live.now
        loss = cross_entropy(head(h), ids)
        seen["after the loss"] = live.now
        loss.backward()
        seen["at the peak"] = live.peak
        seen["after backward"] = live.now
    return seen


# %% [markdown] tags=["en"]
# ### `predict_step_bytes`
#
# What does `step_bytes()` return? Put a number of bytes in place of each `...`. Arithmetic such as `32 * 16 * 8` is fine.
# %% [markdown] tags=["ru"] of="39c1c8eb"
# ### `predict_step_bytes`
#
# Что вернёт `step_bytes()`? Вместо каждого `...` поставьте число байтов. Можно писать и выражения, например `32 * 16 * 8`.
# %% answer="predict_step_bytes"
predict_step_bytes = {
    "after the embedding": 4096,
    "after the block": 8192,
    "after the loss": 40960,
    "at the peak": 106496,
    "after backward": 22528,
}
# %% given="predict_step_bytes"
predict_step_bytes = {
    "after the embedding": ...,
    "after the block": ...,
    "after the loss": ...,
    "at the peak": ...,
    "after backward": ...,
}
# %% check="predict_step_bytes"
from autograder import check

check("predict_step_bytes")
# %% tags=["fact"]
assert predict_step_bytes == step_bytes()
assert 3 * 32 * 128 * 8 + 2 * 32 * 16 * 8 == 3 * 32_768 + 2 * 4096 == predict_step_bytes["at the peak"]
some_logits = torch.ones(2, 3, requires_grad=True)
kept = cross_entropy(some_logits, torch.arange(2)).grad_fn.next_functions[0][0]
assert torch.equal(kept._saved_result, some_logits.log_softmax(1))
with live_bytes() as live:
    single = torch.tensor(1.0, dtype=torch.float64)
    assert live.now == 0
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# Вызовем эту функцию и сравним с таблицей.
# %%
step_bytes()


# %% [markdown] tags=["en"] explains="predict_step_bytes"
# The embedding is frozen, but its result stays: the block's weights need it. After the loss there is a table with a number for each row and class, the logarithms of the softmax that cross-entropy keeps. In backward two more of this size appear: the gradient with respect to these logarithms, and that of the logits. Three tables of 32,768 bytes beside two tensors of 4,096. Whoever makes the block smaller saves at the wrong end.
# %% [markdown] tags=["ru"] explains="predict_step_bytes" of="f0926972"
# Эмбеддинг заморожен, но его результат остаётся в памяти: он нужен для градиента весов блока. После вычисления функции потерь в памяти лежит таблица, где есть число для каждой строки и каждого класса: логарифмы softmax, которые хранит кросс-энтропия. В обратном проходе появляются ещё две такие же: градиент по этим логарифмам и градиент логитов. Получается три таблицы по 32 768 байт рядом с двумя тензорами по 4096. На блоке много не сэкономить.
# %% [markdown] tags=["en"]
# ### Chunks of rows
#
# Rows do not need each other in this loss. So compute it in chunks of rows, the idea of micro-batches from lesson 03. Does that suffice? Look at three ways, for 128 rows with 8 features, 256 classes and chunks of 8 rows.
# %% [markdown] tags=["ru"] of="0ea7e14e"
# ### Порции строк
#
# В этой функции потерь строки друг от друга не зависят. Значит, её можно вычислять порциями строк, как с микробатчами из урока 03. Хватит ли этого? Сравним три способа на 128 строках, 8 признаках, 256 классах и порциях по 8 строк.
# %%
from autograder import plot_memory

many = torch.nn.Linear(8, 256, bias=False, dtype=torch.float64)
h = torch.linspace(-1, 1, 128 * 8, dtype=torch.float64).view(128, 8).requires_grad_()
targets = torch.arange(128)


def plain(h):
    return cross_entropy(many(h), targets)


def of_chunk(x, y):
    return cross_entropy(many(x), y, reduction="sum")


def in_chunks(h):
    return sum(of_chunk(x, y) for x, y in zip(h.split(8), targets.split(8))) / len(h)


def with_checkpoints(h):
    parts = zip(h.split(8), targets.split(8))
    return sum(checkpoint(of_chunk, x, y, use_reentrant=False) for x, y in parts) / len(h)


plot_memory(h, plain, in_chunks, with_checkpoints)
# %% [markdown] tags=["en"]
# Chunks alone take away the two tensors of the backward pass, not what cross-entropy keeps: the graph of each chunk holds its part until backward, and together these are the whole. With a checkpoint around each chunk (lesson 06) the graph holds the rows of `h`, which are there anyway. The price: the logits are computed twice.
#
# A plain program needs three matrix products over all rows: one gives the logits, one the gradient of `h`, one that of the weights. With checkpoints there are four.
#
# ### What is the best possible figure?
#
# Ask what must be in memory at one moment, whatever one does. Let the head work on `rows` rows at a time. Take the last chunk, at the last of its two gradient products. Its logits are needed for that product. All gradients of the other chunks are done, and they have to be somewhere. And the result of the product is there. Together: the logits of one chunk, the gradient of the weights, the gradient of `h`.
#
# In numbers, for chunks of 8 rows: $(8 \cdot 256 + 256 \cdot 8 + 128 \cdot 8) \cdot 8$ bytes, which is 40,960. And the gradient products cannot be saved: three products are the best possible as well. One design reaches both figures but for some single numbers per row. The bound is about chunks of `rows` rows: with smaller chunks, or with chunks of classes, one gets below it, and pays by many small products.
# %% [markdown] tags=["ru"] of="68dca48a"
# Порции сами по себе избавляют от двух таблиц обратного прохода, но не от того, что хранит кросс-энтропия: граф каждой порции держит свою часть до обратного прохода, а все части вместе — это снова целая таблица. Если же на каждую порцию поставить контрольную точку (урок 06), граф хранит только строки `h`, а они и так лежат в памяти. За это мы платим тем, что логиты вычисляются дважды.
#
# Исходной программе нужно три матричных произведения, в каждом участвуют все строки: одно даёт логиты, второе — градиент `h`, третье — градиент весов. С контрольными точками произведений четыре.
#
# ### Что можно назвать лучшим возможным результатом?
#
# Спросим, что обязано лежать в памяти в один и тот же момент, как бы мы ни поступали. Пусть голова обрабатывает по `rows` строк. Возьмём последнюю порцию и последнее из двух произведений, которые дают её градиенты. Для него нужны логиты порции. Градиенты остальных порций уже вычислены и должны где-то лежать. Место нужно и для результата самого произведения. Итого: логиты одной порции, градиент весов и градиент `h`.
#
# В числах, для порций по 8 строк: $(8 \cdot 256 + 256 \cdot 8 + 128 \cdot 8) \cdot 8$, то есть 40 960 байт. Меньше трёх произведений быть не может: одно нужно для логитов и два — для градиентов. Есть решение, в котором достигнуты обе границы, если не считать нескольких чисел на строку. Граница относится к порциям по `rows` строк. Если брать порции меньше или делить ещё и классы, можно опуститься и ниже, но платить за это придётся множеством мелких произведений.
# %% tags=["fact"]
from autograder.checking.counted_run import recording_products


def peak_of(way):
    many.weight.grad = h.grad = None
    with live_bytes() as live:
        way(h).backward()
    return live.peak


def products_of(way):
    many.weight.grad = h.grad = None
    with recording_products() as products:
        way(h).backward()
    return sum(product.multiplications for product in products) / (128 * 256 * 8)


table = 128 * 256 * 8
assert peak_of(plain) == 3 * table == 786_432
assert table < peak_of(in_chunks) < 1.2 * table
assert peak_of(with_checkpoints) < 0.1 * peak_of(plain)
assert [products_of(way) for way in (plain, in_chunks, with_checkpoints)] == [3, 3, 4]
assert (8 * 256 + 256 * 8 + 128 * 8) * 8 == 40_960

from autograder.lessons.collection import COURSE
from autograder.lessons.source import read


def alternatives(name):
    """The other right answers of this lesson's exercise `name`."""
    for cell_of_answer in read(COURSE.lessons / "17_capstones.py").of("alternative", name):
        defined = dict(globals())
        exec(cell_of_answer.source, defined)
        yield defined[name]


best = next(iter(alternatives("chunked_loss")))
assert 0 <= peak_of(lambda h: best(many, h, targets, 8)) - 40_960 <= 4 * 8 * 8  # up to four numbers for a row
assert products_of(lambda h: best(many, h, targets, 8)) == 3


# %% [markdown] tags=["en"]
# ### `chunked_loss`
#
# **Return the cross-entropy of a wide head with the logits of only `rows` rows in memory at a time.**
#
# Write the loss of a wide head. The card compares your figures with those of the plain program and with the best possible ones. The budgets leave room for several designs: full points do not ask for the best figures.
#
# * **Given.** `head`, a float64 linear layer with or without bias, some of its parameters frozen. `h`, a float64 tensor of shape (N, features): a leaf, the result of earlier operations, or a tensor that needs no gradient. `targets`, N class numbers. `rows`, the number of rows that go through the head at a time. <!-- no aspect: a precondition -->
# * **Result.** `cross_entropy(head(h), targets)`, a tensor with a graph. One backward pass is made from it, no second one. <!-- loss -->
# * **Result.** The gradients after `(c * loss).backward()`, for any number `c`, are those of this line, also in the leaves from which `h` was computed. What is in `.grad` is added to, as always. The losses of two calls may be alive at once. <!-- gradients -->
# * **Not allowed.** A peak above this sum, over both passes: 4 times the bytes of the logits of `rows` rows, plus 3 times the bytes of the gradients of weights and `h` together. <!-- peak -->
# * **Not allowed.** To compute the logits more than twice. Counted are the multiplications in matrix products. <!-- products -->
# %% [markdown] tags=["ru"] of="cad530ef"
# ### `chunked_loss`
#
# **Верните кросс-энтропию широкой головы так, чтобы в памяти одновременно были логиты лишь `rows` строк.**
#
# Напишите функцию потерь для широкой головы. На карточке ваши числа будут стоять рядом с числами исходной программы и с лучшими возможными. Уложиться в предел можно по-разному: для полного балла лучшие числа не нужны.
#
# * **Дано.** `head` — линейный слой float64, со смещением или без него, часть параметров может быть заморожена. `h` — тензор float64 формы (N, признаки): лист, результат предыдущих операций или тензор, которому градиент не нужен. `targets` — N номеров классов. `rows` — по сколько строк за раз проходит через голову. <!-- no aspect: a precondition -->
# * **Результат.** `cross_entropy(head(h), targets)`, тензор с графом. Обратный проход от него делают один раз. <!-- loss -->
# * **Результат.** Градиенты после `(c * loss).backward()` при любом числе `c` такие же, как у этого выражения, в том числе в листах, из которых вычислен `h`. К тому, что уже лежит в `.grad`, они, как всегда, прибавляются. Результаты двух вызовов могут существовать одновременно. <!-- gradients -->
# * **Нельзя.** Занимать на пике за оба прохода больше, чем 4 объёма логитов для `rows` строк плюс утроенный общий объём градиентов весов и `h`. <!-- peak -->
# * **Нельзя.** Вычислять логиты больше двух раз. Считаются умножения в матричных произведениях. <!-- products -->
# %% answer="chunked_loss"
def chunked_loss(head, h, targets, rows):
    """`cross_entropy(head(h), targets)`; the logits of only `rows` rows are in memory at a time."""

    ### BEGIN SOLUTION
    def of_chunk(x, y):
        return cross_entropy(head(x), y, reduction="sum")

    parts = zip(h.split(rows), targets.split(rows))
    return sum(checkpoint(of_chunk, x, y, use_reentrant=False) for x, y in parts) / len(h)
    ### END SOLUTION


# %% alternative="chunked_loss"
class _Ahead(torch.autograd.Function):
    """Gradients computed in the forward pass, while the logits are there."""

    @staticmethod
    def forward(ctx, h, weight, bias, targets, rows):
        dh, dw, total = torch.empty_like(h), torch.zeros_like(weight), 0.0
        db = None if bias is None else torch.zeros_like(bias)
        for start in range(0, len(h), rows):
            x, y = h[start : start + rows], targets[start : start + rows]
            z = x @ weight.T
            z = z if bias is None else z.add_(bias)
            z -= z.amax(1, keepdim=True)
            total -= z.gather(1, y[:, None]).sum().item()
            sums = z.exp_().sum(1, keepdim=True)
            total += sums.log().sum().item()
            z.div_(sums)[torch.arange(len(y)), y] -= 1
            z /= len(h)
            dw.addmm_(z.T, x)
            torch.mm(z, weight, out=dh[start : start + rows])
            if bias is not None:
                db += z.sum(0)
            del z
        ctx.save_for_backward(dh, dw, db)
        return h.new_tensor(total / len(h))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, v):
        return *(None if each is None else each.mul_(v) for each in ctx.saved_tensors), None, None


def chunked_loss(head, h, targets, rows):
    return _Ahead.apply(h, head.weight, head.bias, targets, rows)


# %% alternative="chunked_loss"
class _Again(torch.autograd.Function):
    """Logits computed again in the backward pass; only inputs are saved."""

    @staticmethod
    def forward(ctx, h, weight, bias, targets, rows):
        ctx.save_for_backward(h, weight, bias, targets)
        ctx.rows = rows
        logits = (torch.nn.functional.linear(x, weight, bias) for x in h.split(rows))
        return sum(cross_entropy(z, y, reduction="sum") for z, y in zip(logits, targets.split(rows))) / len(h)

    @staticmethod
    def backward(ctx, v):
        h, weight, bias, targets = ctx.saved_tensors
        dh, dw = [], torch.zeros_like(weight)
        db = None if bias is None else torch.zeros_like(bias)
        for x, y in zip(h.split(ctx.rows), targets.split(ctx.rows)):
            z = torch.nn.functional.linear(x, weight, bias).softmax(1)
            z[torch.arange(len(y)), y] -= 1
            z *= v / len(h)
            dh.append(z @ weight)
            dw += z.T @ x
            if bias is not None:
                db += z.sum(0)
        return torch.cat(dh), dw, db, None, None


def chunked_loss(head, h, targets, rows):
    return _Again.apply(h, head.weight, head.bias, targets, rows)


# %% alternative="chunked_loss"
def chunked_loss(head, h, targets, rows):
    def mean_of(x, y):
        return len(x) / len(h) * cross_entropy(head(x), y)

    def add(total, start):
        return total + mean_of(h[start : start + rows], targets[start : start + rows])

    total = h.new_zeros(())
    for start in range(0, len(h), rows):
        total = checkpoint(add, total, start, use_reentrant=False)
    return total


# %% check="chunked_loss"
from autograder import check

check("chunked_loss")


# %% [markdown] tags=["en"]
# ## The whole step
#
# Below is the rest of the model. The embedding and the first blocks are frozen. A block subtracts the mean over all rows, as batch normalization does; so micro-batches would change what the model computes.
# %% [markdown] tags=["ru"] of="b7b53120"
# ## Шаг целиком
#
# Ниже остальная часть модели. Эмбеддинг и первые блоки заморожены. Каждый блок вычитает среднее по всем строкам, как это делает батч-нормализация. Поэтому с микробатчами модель вычисляла бы уже не то.
# %%
class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width, bias=False, dtype=torch.float64)

    def forward(self, h):
        z = self.linear(h)
        return torch.tanh(z - z.mean(0))


class Model(torch.nn.Module):
    def __init__(self, width, depth, classes, words, frozen):
        super().__init__()
        table = torch.linspace(-1, 1, words * width, dtype=torch.float64).sin()
        self.embedding = torch.nn.Embedding.from_pretrained(table.view(words, width))  # frozen
        self.blocks = torch.nn.ModuleList([Block(width) for _ in range(depth)])
        self.blocks[:frozen].requires_grad_(False)
        self.head = torch.nn.Linear(width, classes, dtype=torch.float64)

    def forward(self, ids):
        h = self.embedding(ids)
        for block in self.blocks:
            h = block(h)
        return self.head(h)


def plain_step(model, lr, ids, targets):
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    for p in model.parameters():
        if p.requires_grad:
            with torch.no_grad():
                p.add_(p.grad, alpha=-lr)
            p.grad = None
    return loss.item()


# %% [markdown] tags=["en"]
# Take 32 rows, a width of 16, 128 classes, 30 trained blocks above 4 frozen ones. Call the bytes of one input of a block, 4,096, a *unit*. Autograd keeps one unit for each trained block (the result of `tanh`, which is the input of the next block), and nothing for the frozen ones. The gradient of a block's weights has half a unit, that of the head's weights four. All logits have eight, those of four rows one.
#
# The plain step peaks at 55 units. Where? Draw it, and two first ideas beside it: a checkpoint for each block, and one for all blocks together (lesson 06).
# %% [markdown] tags=["ru"] of="e986a5cd"
# Возьмём 32 строки, ширину 16, 128 классов и 30 обучаемых блоков над 4 замороженными. Объём входа одного блока, 4096 байт, назовём *единицей*. Для каждого обучаемого блока autograd хранит одну единицу (результат `tanh`, он же вход следующего блока), а для замороженных — ничего. Градиент весов блока занимает половину единицы, градиент весов головы — четыре. Все логиты занимают восемь единиц, а логиты четырёх строк — одну.
#
# На пике исходный шаг занимает 55 единиц. В каком месте? Посмотрим на график. Рядом — два решения, которые первыми приходят в голову: своя контрольная точка на каждый блок и одна на все блоки сразу (урок 06).
# %%
torch.manual_seed(0)
deep = Model(width=16, depth=34, classes=128, words=50, frozen=4)
ids, marks = torch.arange(32), torch.arange(32) * 3


def plain_loss(ids):
    cross_entropy(deep(ids), marks).backward()


def each_block(ids):
    h = deep.embedding(ids)
    for block in deep.blocks:
        h = checkpoint(block, h, use_reentrant=False)
    cross_entropy(deep.head(h), marks).backward()


def all_blocks(ids):
    h = checkpoint(torch.nn.Sequential(*deep.blocks), deep.embedding(ids), use_reentrant=False)
    cross_entropy(deep.head(h), marks).backward()


plot_memory(ids, plain_loss, each_block, all_blocks)


# %% [markdown] tags=["en"]
# A checkpoint for each block saves nothing: the input that it keeps is as large as what the block would have kept. One for all moves the blocks into the backward pass, where they come back together: 40.25 units. And neither touches the logits or the gradients of the weights.
#
# ### A bound for the whole step
#
# Each block may be called at most twice, so its second call has to keep its graph until its own backward. Then the trained blocks fall into $S$ segments of $s_1, \dots, s_S$ blocks, counted from below: the input of a segment is kept, the rest is computed again. Two kinds of moments count.
#
# * **At the last chunk of the head.** Its logits (1 unit), the gradients of the head's weights (4) and of `h` (1), and the inputs of all segments but the first. That one is not counted, because it could be computed from the embedding once more. Together $S + 5$.
# * **When segment $i$ has been computed again.** The inputs of segments 2 to $i$, the $s_i$ results inside it, and the gradient that arrives from above: $i + s_i$. For the first segment, whose own input is there as well, $2 + s_1$.
#
# With $P$ units the segments hold at most $(P - 2) + \sum_{i=2}^{S} (P - i)$ blocks, and $S \le P - 5$. For $P = 9$ these are 25 blocks, for $P = 10$ they are 34. So 30 blocks need 10 units, as long as the head works on whole rows.
#
# Calls have a bound, too. At the head 6 of the 24 units that the exercise allows are taken. So at most 18 results of blocks can be there; at least 12 of 30 blocks have to be called again: $34 + 12 = 46$ calls.
#
# Such a bound ignores the temporary tensors that torch makes on the way. The best of our programs takes 14.3 units; look at it after the check.
# %% [markdown] tags=["ru"] of="976213c2"
# Своя контрольная точка на каждый блок ничего не даёт: вход блока, который она хранит, не меньше того, что хранил бы сам блок. С одной точкой на все блоки они повторно вычисляются в обратном проходе сразу все: 40.25 единицы. А логитов и градиентов весов ни один из этих способов не касается.
#
# ### Граница для целого шага
#
# Каждый блок можно вызвать самое большее дважды, поэтому граф второго вызова должен храниться до обратного прохода этого блока. Значит, обучаемые блоки распадаются на $S$ сегментов из $s_1, \dots, s_S$ блоков (считая снизу): вход сегмента хранится, остальное вычисляется повторно. Важны моменты двух видов.
#
# * **Последняя порция головы.** В памяти её логиты (1 единица), градиенты весов головы (4) и `h` (1), а также входы всех сегментов, кроме первого: его вход не считаем, потому что его можно было бы ещё раз вычислить из эмбеддингов. Итого $S + 5$.
# * **Сегмент $i$ только что вычислен повторно.** В памяти входы сегментов от 2 до $i$, $s_i$ результатов внутри него и градиент, пришедший сверху: $i + s_i$. Для первого сегмента в памяти лежит ещё и его вход: $2 + s_1$.
#
# Если всего единиц $P$, в сегментах поместится не больше $(P - 2) + \sum_{i=2}^{S} (P - i)$ блоков, причём $S \le P - 5$. При $P = 9$ это 25 блоков, при $P = 10$ — 34. Значит, для 30 блоков нужно 10 единиц, если голова обрабатывает строки целиком.
#
# Есть граница и у числа вызовов. Во время работы головы из 24 единиц, разрешённых в упражнении, заняты 6. Поэтому в памяти могут лежать результаты самое большее 18 блоков, а остальные 12 из 30 придётся вызвать ещё раз: $34 + 12 = 46$ вызовов.
#
# Такая оценка не учитывает временные тензоры, которые torch создаёт по ходу вычислений. Лучшей из наших программ хватает 14.3 единицы, её можно посмотреть после проверки.
# %% tags=["fact"]
def blocks_within(units):
    return max((units - 2) + sum(units - i for i in range(2, s + 1)) for s in range(1, units - 4))


assert (blocks_within(9), blocks_within(10)) == (25, 34)
unit = 32 * 16 * 8
assert unit == 4096 and (unit / 2, 4 * unit, 8 * unit, unit) == (16 * 16 * 8, 128 * 16 * 8, 32 * 128 * 8, 4 * 128 * 8)


def units_at_the_peak(way):
    for p in deep.parameters():
        p.grad = None
    with live_bytes() as live:
        way(ids)
    return live.peak / unit


assert [units_at_the_peak(way) for way in (plain_loss, each_block, all_blocks)] == [55, 55, 40.25]
with live_bytes() as live:
    activation = deep.embedding(ids)
    for trained_or_frozen in deep.blocks[:4]:
        activation = trained_or_frozen(activation)
    below = live.now / unit
    for trained_or_frozen in deep.blocks[4:]:
        activation = trained_or_frozen(activation)
    assert (below, live.now / unit) == (1, 31)
assert 24 - 6 == 18 and 34 + (30 - 18) == 46


# %% [markdown] tags=["en"]
# ### `lean_step`
#
# **Make one step of plain SGD within two budgets, one of bytes and one of calls. Return the loss before the step.**
#
# Make one step of plain SGD with `plain_step` as the model for the result.
#
# * **Given.** `model`, built as above. The first blocks may be frozen, and one trained block may stand in `model.blocks` twice. Some blocks drop entries at random, as dropout does. `lr`, `ids`, `targets`; `rows`, the number of rows that go through the head at a time. Every `.grad` is None. <!-- no aspect: a precondition -->
# * **Result.** Every trained parameter `p` becomes `p - lr * gradient`, exact but for rounding, also when the function is called again. <!-- weights -->
# * **Result.** The loss before the step is returned, a number. <!-- loss -->
# * **Leave.** `.grad` of None, all flags, the mode of the model. <!-- cleared -->
# * **Not allowed.** More than two calls for one place in `model.blocks` in a step, recomputations included. They are counted in the model of the picture, where each block stands once. <!-- twice -->
# * **Not allowed.** To call frozen blocks more than once. <!-- calls -->
# * **Not allowed.** A peak over 24 units in the model of the picture, with `rows` equal to 4; the parameters do not count. Our solution has room for 16 rows at a time in the head, but not for all 32. <!-- peak -->
#
# Segments are not the only policy: lesson 16 has others, which keep some operations and compute the rest again.
# %% [markdown] tags=["ru"] of="da527e6c"
# ### `lean_step`
#
# **Сделайте один шаг простого SGD, уложившись в два бюджета: байтов и вызовов. Верните значение функции потерь до шага.**
#
# Сделайте один шаг обычного SGD. Результат должен быть таким же, как у `plain_step`.
#
# * **Дано.** `model` устроена как выше. Первые блоки могут быть заморожены, а один обучаемый блок может стоять в `model.blocks` дважды. Некоторые блоки обнуляют случайные элементы, как dropout. Ещё даны `lr`, `ids`, `targets` и `rows` — по сколько строк за раз проходит через голову. Все поля `.grad` равны None. <!-- no aspect: a precondition -->
# * **Результат.** Новое значение каждого обучаемого параметра `p` равно `p - lr * gradient` с точностью до округления, в том числе при повторном вызове функции. <!-- weights -->
# * **Результат.** Возвращается значение функции потерь до шага, число. <!-- loss -->
# * **Не менять.** Поля `.grad`, равные None, все флаги и режим модели. <!-- cleared -->
# * **Нельзя.** Вызывать блок за шаг больше двух раз на каждое его место в `model.blocks`; повторные вычисления тоже считаются. Вызовы считаются на модели с графика, где каждый блок стоит один раз. <!-- twice -->
# * **Нельзя.** Вызывать замороженные блоки больше одного раза. <!-- calls -->
# * **Нельзя.** Занимать на пике больше 24 единиц на модели с графика при `rows`, равном 4; параметры не считаются. Нашему решению этого хватает, чтобы пропускать через голову 16 строк за раз, но не все 32. <!-- peak -->
#
# Сегменты — не единственный способ: в уроке 16 есть и другие правила, по которым результаты одних операций сохраняются, а другие операции выполняются повторно.
# %% answer="lean_step"
def lean_step(model, lr, ids, targets, rows):
    """One step of SGD; the loss before it."""

    ### BEGIN SOLUTION
    def step(p):
        with torch.no_grad():
            p.add_(p.grad, alpha=-lr)
        p.grad = None

    def of_rows(x, y):
        return cross_entropy(model.head(x), y, reduction="sum")

    trained = [block for block in model.blocks if any(p.requires_grad for p in block.parameters())]
    h = model.embedding(ids)
    for block in model.blocks[: len(model.blocks) - len(trained)]:
        h = block(h)
    size = max(1, round(len(trained) ** 0.5))
    for start in range(0, len(trained), size):
        h = checkpoint(torch.nn.Sequential(*trained[start : start + size]), h, use_reentrant=False)
    parts = zip(h.split(rows), targets.split(rows))
    loss = sum(checkpoint(of_rows, x, y, use_reentrant=False) for x, y in parts) / len(h)
    handles = [p.register_post_accumulate_grad_hook(step) for p in model.parameters() if p.requires_grad]
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()
    ### END SOLUTION


# %% alternative="lean_step"
def lean_step(model, lr, ids, targets, rows):
    """Segments by hand: every gradient is asked for, and no hook is needed."""
    blocks = list(model.blocks)
    first = next(i for i, block in enumerate(blocks) if block.linear.weight.requires_grad)
    cuts = list(range(first, len(blocks), 6))
    inputs, states, h = [], [], model.embedding(ids)
    with torch.no_grad():
        for i, block in enumerate(blocks):
            if i in cuts:
                inputs.append(h)
                states.append(torch.get_rng_state())
            h = block(h)
    final = torch.get_rng_state()
    total, g = 0.0, torch.empty_like(h)
    weights = [p for p in model.head.parameters() if p.requires_grad]
    sums = [torch.zeros_like(p) for p in weights]
    for start in range(0, len(h), rows):
        x = h[start : start + rows].requires_grad_()
        loss = cross_entropy(model.head(x), targets[start : start + rows], reduction="sum") / len(h)
        total += loss.item()
        g[start : start + rows], *found = torch.autograd.grad(loss, (x, *weights))
        del loss
        for each in sums:
            each += found.pop(0)
    pending = dict(zip(weights, sums))
    del sums, weights, h, x
    _apply(pending, lr, needed=[])
    while inputs:
        start, x = cuts.pop(), inputs.pop().requires_grad_()
        torch.set_rng_state(states.pop())
        y = x
        segment, blocks = blocks[start:], blocks[:start]
        for block in segment:
            y = block(y)
        found = list({block.linear.weight: None for block in segment})
        g, *gradients = torch.autograd.grad(y, (x, *found), g)
        for p in found:
            gradient = gradients.pop(0)
            pending[p] = pending[p] + gradient if p in pending else gradient
        del x, y, gradient
        _apply(pending, lr, needed=[block.linear.weight for block in blocks])
    torch.set_rng_state(final)
    return total


@torch.no_grad()
def _apply(pending, lr, needed):
    """Step with each gradient whose parameter no lower block needs."""
    for p in list(pending):
        if all(p is not other for other in needed):
            p.add_(pending.pop(p), alpha=-lr)


# %% alternative="lean_step"
def lean_step(model, lr, ids, targets, rows):
    from torch.utils.checkpoint import checkpoint_sequential

    frozen = [block for block in model.blocks if not block.linear.weight.requires_grad]
    upper = model.blocks[len(frozen) :]
    h = torch.nn.Sequential(model.embedding, *frozen)(ids)
    h = checkpoint_sequential(list(upper), max(1, len(upper) // 6), h, use_reentrant=False)
    total = h.new_zeros(())
    for x, y in zip(h.split(rows), targets.split(rows)):
        total = checkpoint(
            lambda x, y, total: total + cross_entropy(model.head(x), y) * len(x), x, y, total, use_reentrant=False
        )
    optimizers, handles = {}, []
    for p in model.parameters():
        if p.requires_grad:
            optimizers[p] = torch.optim.SGD([p], lr=lr, foreach=False)

            def hook(p):
                optimizers[p].step()
                optimizers[p].zero_grad()

            handles.append(p.register_post_accumulate_grad_hook(hook))
    (total / len(ids)).backward()
    for handle in handles:
        handle.remove()
    return (total / len(ids)).item()


# %% alternative="lean_step"
class _SteppedHead(torch.autograd.Function):
    """Gradients of the head, from the forward pass, in place of logits."""

    @staticmethod
    def forward(ctx, h, weight, bias, targets, rows):
        dh, dw, db, total = torch.empty_like(h), torch.zeros_like(weight), torch.zeros_like(bias), 0.0
        for start in range(0, len(h), rows):
            x, y = h[start : start + rows], targets[start : start + rows]
            z = torch.addmm(bias, x, weight.T)
            z -= z.logsumexp(1, keepdim=True)
            total -= z.gather(1, y[:, None]).sum().item() / len(h)
            z.exp_()[torch.arange(len(y)), y] -= 1
            z /= len(h)
            dw.addmm_(z.T, x)
            db += z.sum(0)
            torch.mm(z, weight, out=dh[start : start + rows])
        ctx.save_for_backward(dh, dw, db)
        return h.new_tensor(total)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, v):
        return *(each.mul_(v) for each in ctx.saved_tensors), None, None


def lean_step(model, lr, ids, targets, rows):
    @torch.no_grad()
    def step(p):
        p -= p.grad.mul_(lr)
        p.grad = None

    hooked = [p.register_post_accumulate_grad_hook(step) for p in model.parameters() if p.requires_grad]
    h, waiting = model.embedding(ids), list(model.blocks)
    while waiting and not any(p.requires_grad for p in waiting[0].parameters()):
        h = waiting.pop(0)(h)
    while waiting:
        segment, waiting = waiting[:7], waiting[7:]
        h = (
            checkpoint(torch.nn.Sequential(*segment), h, use_reentrant=False)
            if waiting
            else torch.nn.Sequential(*segment)(h)
        )
    loss = _SteppedHead.apply(h, model.head.weight, model.head.bias, targets, rows)
    del h
    loss.backward()
    for each in hooked:
        each.remove()
    return loss.item()


# %% check="lean_step"
from autograder import check

check("lean_step")


# %% tags=["fact"]
def step_of(way, rows):
    return units_at_the_peak(lambda ids: way(deep, 0.1, ids, marks, rows))


assert step_of(lean_step, 16) < 24 < step_of(lean_step, 32)
assert round(min(step_of(way, 4) for way in alternatives("lean_step")), 1) == 14.3
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
