# %%
from contextlib import ExitStack

import torch
from torch.nn import Sequential
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint


def _trained(model):
    return [p for p in model.parameters() if p.requires_grad]


@torch.no_grad()
def _move(p, lr):
    p.add_(p.grad, alpha=-lr)


def _hooked(model, lr, clears=True):
    def step(p):
        _move(p, lr)
        if clears:
            p.grad = None

    return [p.register_post_accumulate_grad_hook(step) for p in _trained(model)]


def _through(model, h, size, frozen_too=False, **settings):
    """Run the blocks in segments of `size`, with a checkpoint for each segment that is trained."""
    blocks = list(model.blocks)
    while not frozen_too and blocks and not blocks[0].linear.weight.requires_grad:
        h = blocks.pop(0)(h)
    for start in range(0, len(blocks), size):
        segment = Sequential(*blocks[start : start + size])
        h = checkpoint(segment, h, **{"use_reentrant": False, **settings})
    return h


def _of_rows(model):
    return lambda x, y: cross_entropy(model.head(x), y, reduction="sum")


def _in_chunks(model, h, targets, rows):
    parts = zip(h.split(rows), targets.split(rows))
    return sum(checkpoint(_of_rows(model), x, y, use_reentrant=False) for x, y in parts) / len(h)


def _whole(model, h, targets, rows):
    return cross_entropy(model.head(h), targets)


def _step(model, lr, ids, targets, rows, *, size=6, loss=_in_chunks, fused=True, clears=True, removes=True, **settings):
    """Make the right step, but for what the arguments say."""
    handles = _hooked(model, lr, clears) if fused else []
    value = loss(model, _through(model, model.embedding(ids), size, **settings), targets, rows)
    value.backward()
    for handle in handles if removes else []:
        handle.remove()
    for p in [] if fused else _trained(model):
        if p.grad is not None:
            _move(p, lr)
        p.grad = None
    return value.item()


def _by_hand(model, lr, ids, targets, rows, size):
    """Recompute each segment and run its backward pass by hand; the hooks step in each."""
    blocks = list(model.blocks)
    first = next(i for i, block in enumerate(blocks) if block.linear.weight.requires_grad)
    inputs, states, h = {}, {}, model.embedding(ids)
    with torch.no_grad():
        for i, block in enumerate(blocks):
            if i >= first and (i - first) % size == 0:
                inputs[i], states[i] = h, torch.get_rng_state()
            h = block(h)
    after = torch.get_rng_state()
    handles = _hooked(model, lr)
    h = h.requires_grad_()
    loss = _in_chunks(model, h, targets, rows)
    loss.backward()
    g = h.grad
    del h
    for start in reversed(list(inputs)):
        torch.set_rng_state(states[start])
        x = y = inputs.pop(start).requires_grad_()
        for block in blocks[start : start + size]:
            y = block(y)
        y.backward(g)
        g = x.grad
    torch.set_rng_state(after)
    for handle in handles:
        handle.remove()
    return loss.item()

# %% mistake="plain_step" theme="cost" plain="yes"
# This is the plain step: results, logits and gradients are all in memory.
# Это исходный шаг: в памяти лежат все результаты, все логиты и все градиенты.
def lean_step(model, lr, ids, targets, rows):
    loss = cross_entropy(model(ids), targets)
    loss.backward()
    for p in _trained(model):
        _move(p, lr)
        p.grad = None
    return loss.item()

# %% mistake="chunks_and_hooks_alone" theme="cost"
# The head and the gradients are in order, but there are no checkpoints: the results of all blocks stay until backward.
# С головой и градиентами всё в порядке, но контрольных точек нет: результаты всех блоков хранятся до обратного прохода.
def lean_step(model, lr, ids, targets, rows):
    handles = _hooked(model, lr)
    h = model.embedding(ids)
    for block in model.blocks:
        h = block(h)
    loss = _in_chunks(model, h, targets, rows)
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()

# %% mistake="gradients_at_the_end" theme="cost"
# The step comes after backward: until then the gradients of all blocks are in memory together.
# Шаг сделан после обратного прохода: до этого в памяти вместе лежат градиенты всех блоков.
def lean_step(model, lr, ids, targets, rows):
    return _step(model, lr, ids, targets, rows, fused=False)

# %% mistake="all_logits" theme="cost"
# The head runs on all rows at once: all logits are in memory.
# Голова применена сразу ко всем строкам: в памяти лежат все логиты.
def lean_step(model, lr, ids, targets, rows):
    return _step(model, lr, ids, targets, rows, loss=_whole)

# %% mistake="chunks_with_graphs" theme="cost"
# The head runs in chunks, but without checkpoints: what all chunks keep until backward is as large as all logits.
# Голова обрабатывает строки порциями, но без контрольных точек: всё, что порции хранят до обратного прохода, занимает
#     столько же, сколько все логиты.
def lean_step(model, lr, ids, targets, rows):
    def loss(model, h, targets, rows):
        return sum(_of_rows(model)(x, y) for x, y in zip(h.split(rows), targets.split(rows))) / len(h)

    return _step(model, lr, ids, targets, rows, loss=loss)

# %% mistake="a_checkpoint_for_each_block" theme="cost"
# Every block has a checkpoint of its own: its input is kept, and that is as much as its result.
# У каждого блока своя контрольная точка: хранится его вход, а он занимает столько же, сколько и результат.
def lean_step(model, lr, ids, targets, rows):
    return _step(model, lr, ids, targets, rows, size=1)

# %% mistake="short_segments" theme="cost"
# The segments are so short that their inputs fill the memory: each is as large as the result of a block.
# Сегменты так коротки, что память занимают их входы: каждый не меньше результата блока.
def lean_step(model, lr, ids, targets, rows):
    return _step(model, lr, ids, targets, rows, size=2)

# %% mistake="one_checkpoint" theme="cost"
# One checkpoint holds all blocks, or most of them: they are recomputed together, and the peak only moves into backward.
# Одна контрольная точка охватывает все блоки или большинство: повторно они вычисляются вместе, и пик лишь
#     переносится в обратный проход.
def lean_step(model, lr, ids, targets, rows):
    return _step(model, lr, ids, targets, rows, size=len(model.blocks))

# %% mistake="frozen_again" theme="cost"
# The frozen blocks lie in checkpoints as well, and are called twice. They have no graph that is worth saving.
# Контрольные точки стоят и у замороженных блоков, и те вызваны дважды. А графа, на котором можно сэкономить, у них нет.
def lean_step(model, lr, ids, targets, rows):
    return _step(model, lr, ids, targets, rows, frozen_too=True)

# %% mistake="checkpoints_inside" theme="cost"
# Checkpoints lie inside checkpoints: some blocks are called three times.
# Контрольные точки вложены друг в друга: некоторые блоки вызваны трижды.
def lean_step(model, lr, ids, targets, rows):
    handles = _hooked(model, lr)
    h, blocks = model.embedding(ids), list(model.blocks)
    while not blocks[0].linear.weight.requires_grad:
        h = blocks.pop(0)(h)

    def run(h, part):
        for block in part:
            h = checkpoint(block, h, use_reentrant=False)
        return h

    for start in range(0, len(blocks), 6):
        h = checkpoint(run, h, blocks[start : start + 6], use_reentrant=False)
    loss = _in_chunks(model, h, targets, rows)
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()

# %% mistake="micro_batches" theme="own"
# The blocks run on micro-batches. They subtract the mean of the rows they see, so the model computes something else.
# Блоки выполняются на микробатчах. Они вычитают среднее по строкам микробатча, и модель вычисляет уже не то.
def lean_step(model, lr, ids, targets, rows):
    total = 0.0
    for part, y in zip(ids.split(rows), targets.split(rows)):
        loss = cross_entropy(model(part), y, reduction="sum") / len(ids)
        loss.backward()
        total += loss.item()
    for p in _trained(model):
        _move(p, lr)
        p.grad = None
    return total

# %% mistake="a_step_for_each_chunk" theme="order"
# There is a backward pass for each chunk, and the hook steps in each of them: later chunks use moved weights of the
#     head.
# На каждую порцию приходится свой обратный проход, и хук каждый раз делает шаг: следующие порции используют уже
#     сдвинутые веса головы.
def lean_step(model, lr, ids, targets, rows):
    handles = _hooked(model, lr)
    h = _through(model, model.embedding(ids), 6)
    cut = h.detach().requires_grad_()
    total = 0.0
    for start in range(0, len(cut), rows):
        loss = _of_rows(model)(cut[start : start + rows], targets[start : start + rows]) / len(cut)
        loss.backward()
        total += loss.item()
    h.backward(cut.grad)
    for handle in handles:
        handle.remove()
    return total

# %% mistake="steps_at_each_part" theme="order"
# A hook steps before the gradient is whole. In passes inside the pass, such as those of reentrant checkpoints, it arrives
#     part by part, and the next chunks use moved weights.
# Хук делает шаг, пока градиент ещё не полон. При вложенных проходах, например в старом варианте контрольных точек, он
#     приходит по частям, и следующие порции используют уже сдвинутые веса.
def lean_step(model, lr, ids, targets, rows):
    handles = _hooked(model, lr)
    h, blocks = model.embedding(ids), list(model.blocks)
    while not blocks[0].linear.weight.requires_grad:
        h = blocks.pop(0)(h)
    h.requires_grad_()
    for start in range(0, len(blocks), 5):
        h = checkpoint(Sequential(*blocks[start : start + 5]), h, use_reentrant=True)
    parts = zip(h.split(rows), targets.split(rows))
    loss = sum(checkpoint(_of_rows(model), x, y, use_reentrant=True) for x, y in parts) / len(h)
    loss.backward()
    for handle in handles:
        handle.remove()
    return loss.item()

# %% mistake="hooks_stay" theme="state"
# The hooks stay on the parameters: in the next step they are called as well.
# Хуки остаются на параметрах: на следующем шаге вызываются и они.
def lean_step(model, lr, ids, targets, rows):
    return _step(model, lr, ids, targets, rows, removes=False)

# %% mistake="hooks_that_clear_nothing_stay" like="hooks_stay"
def lean_step(model, lr, ids, targets, rows):
    value = _step(model, lr, ids, targets, rows, clears=False, removes=False)
    for p in _trained(model):
        p.grad = None
    return value

# %% mistake="gradients_stay" theme="accumulation"
# `.grad` is not cleared after the step, so the next step adds to it.
# После шага поле `.grad` не очищено, и на следующем шаге новый градиент прибавляется к старому.
def lean_step(model, lr, ids, targets, rows):
    return _step(model, lr, ids, targets, rows, clears=False)

# %% mistake="zeros_stay" theme="accumulation"
# `.grad` is filled with zeros and not set to None: its memory stays.
# В `.grad` записаны нули, а не None: память остаётся занятой.
def lean_step(model, lr, ids, targets, rows):
    loss = _step(model, lr, ids, targets, rows)
    for p in _trained(model):
        p.grad = torch.zeros_like(p)
    return loss

# %% mistake="zeros_stay_after_a_late_step" like="zeros_stay"
def lean_step(model, lr, ids, targets, rows):
    loss = _step(model, lr, ids, targets, rows, fused=False)
    for p in _trained(model):
        p.grad = torch.zeros_like(p)
    return loss

# %% mistake="clears_only_before" theme="accumulation"
# The weights are right, but after the step `.grad` still holds the gradients: nobody has set it to None.
# Веса верны, но после шага в `.grad` всё ещё лежат градиенты: None туда никто не записал.
def lean_step(model, lr, ids, targets, rows):
    for p in _trained(model):
        p.grad = None
    return _step(model, lr, ids, targets, rows, clears=False)

# %% mistake="clears_before_and_steps_at_the_end" like="clears_only_before"
def lean_step(model, lr, ids, targets, rows):
    for p in _trained(model):
        p.grad = None
    loss = _in_chunks(model, _through(model, model.embedding(ids), 6), targets, rows)
    loss.backward()
    for p in _trained(model):
        _move(p, lr)
    return loss.item()

# %% mistake="trains_the_embedding" theme="state"
# Frozen parameters were thawed and moved as well.
# Замороженные параметры разморожены и тоже сдвинуты.
def lean_step(model, lr, ids, targets, rows):
    model.requires_grad_()
    return _step(model, lr, ids, targets, rows)

# %% mistake="other_random_numbers" theme="own"
# The recomputation draws other random numbers, so other entries are dropped. A checkpoint puts the random state back
#     unless `preserve_rng_state=False` forbids it; whoever recomputes by hand has to do the same.
# При повторном вычислении взяты другие случайные числа, и обнулены другие элементы. Контрольная точка восстанавливает
#     состояние генератора, если это не запрещено через `preserve_rng_state=False`; при повторном вычислении вручную его
#     нужно восстановить самому.
def lean_step(model, lr, ids, targets, rows):
    return _step(model, lr, ids, targets, rows, preserve_rng_state=False)

# %% mistake="without_dropping" theme="state"
# The model was put into `eval()`: nothing is dropped.
# Модель переведена в режим `eval()`: элементы не обнуляются.
def lean_step(model, lr, ids, targets, rows):
    before = model.training
    model.eval()
    loss = _step(model, lr, ids, targets, rows)
    model.train(before)
    return loss

# %% mistake="only_the_head" theme="recording"
# Only the head learns: the segments return constants. So it is when they are detached, or with the reentrant checkpoint,
#     because the first input needs no gradient.
# Обучается одна голова: сегменты возвращают константы. Так бывает, если они отсоединены от графа или использован старый
#     вариант контрольной точки, потому что первый вход градиента не требует.
def lean_step(model, lr, ids, targets, rows):
    return _step(model, lr, ids, targets, rows, use_reentrant=True)

# %% mistake="loss_after_the_step" theme="order"
# The loss after the step is returned, and it takes more calls. Asked for is the loss before the step.
# Возвращено значение функции потерь после шага, и для него понадобились новые вызовы. Нужно значение до шага.
def lean_step(model, lr, ids, targets, rows):
    _step(model, lr, ids, targets, rows)
    with torch.no_grad():
        return cross_entropy(model(ids), targets).item()

# %% mistake="goes_uphill" theme="derivative"
# The gradient is added: the loss grows.
# Градиент прибавлен к весам, а не вычтен: значение функции потерь растёт.
def lean_step(model, lr, ids, targets, rows):
    return _step(model, -lr, ids, targets, rows)

# %% mistake="mean_of_chunks" theme="scaling"
# The means of the chunks are averaged, although the last chunk may have fewer rows.
# Усреднены средние по порциям, хотя в последней порции строк может быть меньше.
def lean_step(model, lr, ids, targets, rows):
    def loss(model, h, targets, rows):
        losses = [checkpoint(lambda x, y: cross_entropy(model.head(x), y), x, y, use_reentrant=False) for x, y in zip(h.split(rows), targets.split(rows))]
        return sum(losses) / len(losses)

    return _step(model, lr, ids, targets, rows, loss=loss)

# %% mistake="loss_afterwards" theme="order"
# The loss was computed anew after the step. Asked for is the loss that the gradient belongs to.
# Функция потерь вычислена заново после шага. Нужно значение до шага: к нему относится и градиент.
def lean_step(model, lr, ids, targets, rows):
    state = torch.get_rng_state()
    _step(model, lr, ids, targets, rows)
    with torch.no_grad(), ExitStack() as stack:
        stack.callback(torch.set_rng_state, torch.get_rng_state())
        torch.set_rng_state(state)
        return cross_entropy(model(ids), targets).item()

# %% mistake="returns_a_tensor" theme="missing"
# The loss is returned as a tensor: `.item()` makes a number of it.
# Значение функции потерь возвращено как тензор: число из него делает `.item()`.
def lean_step(model, lr, ids, targets, rows):
    return torch.tensor(_step(model, lr, ids, targets, rows), dtype=torch.float64)

# %% mistake="returns_nothing" theme="return"
# Nothing is returned.
# Функция ничего не возвращает.
def lean_step(model, lr, ids, targets, rows):
    _step(model, lr, ids, targets, rows)

# %% mistake="steps_too_early" theme="order"
# Each segment is stepped at once, by hand. A block that stands in the list twice has then moved before its second
#     gradient is computed.
# Шаг сделан вручную сразу после каждого сегмента. Блок, который стоит в списке дважды, сдвигается раньше, чем вычислен
#     его второй градиент.
def lean_step(model, lr, ids, targets, rows):
    return _by_hand(model, lr, ids, targets, rows, 6)

# %% mistake="steps_too_early_in_fives" like="steps_too_early"
def lean_step(model, lr, ids, targets, rows):
    return _by_hand(model, lr, ids, targets, rows, 5)
