# %%
import torch
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint


def _of(head, reduction="sum"):
    return lambda x, y: cross_entropy(head(x), y, reduction=reduction)


def _chunks(h, targets, rows):
    return zip(h.split(rows), targets.split(rows))


def _kept(of_chunk, x, y):
    return checkpoint(of_chunk, x, y, use_reentrant=False)


def _full_chunks(head, h, targets, rows):
    """Return the sum over the rows of all chunks that are full."""
    total = h.new_zeros(())
    for i in range(0, len(h) - rows + 1, rows):
        total = total + _kept(_of(head), h[i : i + rows], targets[i : i + rows])
    return total


class _Fixed(torch.autograd.Function):
    """Gradients from the forward pass."""

    @staticmethod
    def forward(ctx, h, weight, bias, targets, rows, scaled, per_chunk):
        dh, dw, total = [], torch.zeros_like(weight), 0.0
        db = None if bias is None else torch.zeros_like(bias)
        for x, y in _chunks(h, targets, rows):
            z = torch.nn.functional.linear(x, weight, bias)
            total += cross_entropy(z, y, reduction="sum").item() / len(h)
            z = z.softmax(1)
            z[torch.arange(len(y)), y] -= 1
            z /= len(y) if per_chunk else len(h)
            dh.append(z @ weight)
            dw += z.T @ x
            if bias is not None:
                db += z.sum(0)
        ctx.gradients, ctx.scaled = (torch.cat(dh), dw, db), scaled
        return h.new_tensor(total)

    @staticmethod
    def backward(ctx, v):
        scale = v if ctx.scaled else 1
        return *(None if each is None else each * scale for each in ctx.gradients), None, None, None, None


class _Twice(torch.autograd.Function):
    """A recomputation through a checkpoint."""

    @staticmethod
    def forward(ctx, h, weight, bias, targets, rows):
        ctx.save_for_backward(h, weight, bias, targets)
        ctx.rows = rows
        linear = torch.nn.functional.linear
        parts = _chunks(h, targets, rows)
        return sum(cross_entropy(linear(x, weight, bias), y, reduction="sum") for x, y in parts) / len(h)

    @staticmethod
    def backward(ctx, v):
        h, weight, bias, targets = ctx.saved_tensors
        inputs = [None if each is None else each.detach().requires_grad_() for each in (h, weight, bias)]

        def of_chunk(x, y):
            return cross_entropy(torch.nn.functional.linear(x, *inputs[1:]), y, reduction="sum")

        with torch.enable_grad():
            loss = sum(_kept(of_chunk, x, y) for x, y in _chunks(inputs[0], targets, ctx.rows)) / len(h)
        found = iter(torch.autograd.grad(loss, [each for each in inputs if each is not None], v))
        return *(None if each is None else next(found) for each in inputs), None, None

# %% mistake="all_at_once" theme="cost" plain="yes"
# This is the plain program: all logits are in memory at once.
# Это исходная программа: все логиты лежат в памяти сразу.
def chunked_loss(head, h, targets, rows):
    return cross_entropy(head(h), targets)

# %% mistake="chunks_with_graphs" theme="cost"
# What the chunks keep until backward is together as large as the whole table.
# Всё, что порции хранят до обратного прохода, вместе занимает столько же, сколько целая таблица.
def chunked_loss(head, h, targets, rows):
    return sum(_of(head)(x, y) for x, y in _chunks(h, targets, rows)) / len(h)

# %% mistake="one_checkpoint" theme="cost"
# One checkpoint holds all rows: the whole table of logits comes back when it is recomputed.
# Контрольная точка одна на все строки: при повторном вычислении возникает вся таблица логитов.
def chunked_loss(head, h, targets, rows):
    return checkpoint(_of(head, "mean"), h, targets, use_reentrant=False)

# %% mistake="chunks_in_one_checkpoint" theme="cost"
# One checkpoint holds all chunks: its recomputation builds the graphs of all of them at once.
# Контрольная точка одна на все порции: при повторном вычислении строятся сразу все их графы.
def chunked_loss(head, h, targets, rows):
    def run(h):
        return sum(_of(head)(x, y) for x, y in _chunks(h, targets, rows)) / len(h)

    return checkpoint(run, h, use_reentrant=False)

# %% mistake="logits_before_the_chunks" theme="cost"
# The head runs on all rows, and only the loss is in chunks: the table of logits is there already.
# Голова применена ко всем строкам, и порциями вычисляется только функция потерь: таблица логитов уже в памяти.
def chunked_loss(head, h, targets, rows):
    logits = head(h)
    each = (checkpoint(cross_entropy, z, y, None, None, -100, None, "sum", use_reentrant=False) for z, y in _chunks(logits, targets, rows))
    return sum(each) / len(h)

# %% mistake="logits_collected" theme="cost"
# The logits of all chunks are collected in a list and joined: this is the whole table again.
# Логиты всех порций собраны в список и соединены: это снова вся таблица.
def chunked_loss(head, h, targets, rows):
    return cross_entropy(torch.cat([checkpoint(head, x, use_reentrant=False) for x in h.split(rows)]), targets)

# %% mistake="checkpoint_in_backward" theme="cost"
# The bytes are right, but the logits are computed three times. Twice is enough: for the loss and for the gradients.
# Память в порядке, но логиты вычисляются трижды. Хватает двух раз: для функции потерь и для градиентов.
def chunked_loss(head, h, targets, rows):
    return _Twice.apply(h, head.weight, head.bias, targets, rows)

# %% mistake="mean_of_means" theme="scaling"
# The means of the chunks are averaged, although the last chunk may have fewer rows.
# Усреднены средние по порциям, хотя в последней порции строк может быть меньше.
def chunked_loss(head, h, targets, rows):
    losses = [_kept(_of(head, "mean"), x, y) for x, y in _chunks(h, targets, rows)]
    return sum(losses) / len(losses)

# %% mistake="sum_of_means" theme="scaling"
# The means of the chunks are added up and not weighted.
# Средние по порциям просто сложены.
def chunked_loss(head, h, targets, rows):
    return sum(_kept(_of(head, "mean"), x, y) for x, y in _chunks(h, targets, rows))

# %% mistake="sum_of_rows" theme="scaling"
# The sum over all rows is not divided by their number.
# Сумма по строкам не разделена на их число.
def chunked_loss(head, h, targets, rows):
    return sum(_kept(_of(head), x, y) for x, y in _chunks(h, targets, rows))

# %% mistake="drops_the_last_chunk" theme="missing"
# A last chunk with fewer rows is dropped.
# Последняя порция, в которой строк меньше, отброшена.
def chunked_loss(head, h, targets, rows):
    full = max(1, len(h) // rows) * rows
    return sum(_kept(_of(head), x, y) for x, y in _chunks(h[:full], targets[:full], rows)) / len(h[:full])

# %% mistake="drops_it_from_the_sum" like="drops_the_last_chunk"
def chunked_loss(head, h, targets, rows):
    return _full_chunks(head, h, targets, rows) / len(h)

# %% mistake="drops_the_only_chunk" like="drops_the_last_chunk"
def chunked_loss(head, h, targets, rows):
    return _full_chunks(head, h, targets, rows) / (len(h) // rows * rows)

# %% mistake="drops_all_rows" like="drops_the_last_chunk"
def chunked_loss(head, h, targets, rows):
    starts = range(0, len(h) - rows + 1, rows)
    return sum(_kept(_of(head), h[i : i + rows], targets[i : i + rows]) for i in starts) / len(h)

# %% mistake="clears_the_head" theme="accumulation"
# What was in `.grad` of the head is lost: it was cleared inside. New gradients are added to old ones, as always.
# Прежнее содержимое `.grad` у головы потеряно: внутри функции эти поля обнулены. А новые градиенты, как всегда,
#     прибавляются к старым.
def chunked_loss(head, h, targets, rows):
    head.zero_grad()
    return sum(_kept(_of(head), x, y) for x, y in _chunks(h, targets, rows)) / len(h)

# %% mistake="keeps_one_for_all" theme="state"
# What a backward pass needs is kept outside of the loss, in one place for all calls. If two losses are alive at once, the
#     first gets what belongs to the second.
# То, что нужно обратному проходу, хранится вне функции потерь, в одном месте для всех вызовов. Если вычислены сразу две
#     функции потерь, первой достаётся то, что относится ко второй.
def chunked_loss(head, h, targets, rows):
    found = _Fixed.apply(h, head.weight, head.bias, targets, rows, True, False)
    _Fixed.last = found.grad_fn.gradients if found.requires_grad else None
    return _FromOutside.apply(found, h, head.weight, head.bias)


class _FromOutside(torch.autograd.Function):
    @staticmethod
    def forward(ctx, found, *inputs):
        return found.detach().clone()

    @staticmethod
    def backward(ctx, v):
        return None, *(None if each is None else each * v for each in _Fixed.last)

# %% mistake="detaches_h" theme="recording"
# `h` is detached: its gradient never arrives, and the blocks below would not learn.
# `h` отсоединён от графа: градиент до него не доходит, и слои ниже не обучались бы.
def chunked_loss(head, h, targets, rows):
    return sum(_kept(_of(head), x, y) for x, y in _chunks(h.detach(), targets, rows)) / len(h)

# %% mistake="reentrant" theme="recording"
# Where `h` needs no gradient, the loss has no graph, and the head gets none, either: so it is with the reentrant
#     checkpoint, or a `Function` that does not get the head's parameters.
# Если `h` не нужен градиент, у функции потерь нет графа, и голова тоже не получает градиента: так бывает со старым
#     вариантом контрольной точки или с классом `Function`, в который не переданы параметры головы.
def chunked_loss(head, h, targets, rows):
    return sum(checkpoint(_of(head), x, y, use_reentrant=True) for x, y in _chunks(h, targets, rows)) / len(h)

# %% mistake="backward_inside" theme="accumulation"
# The function itself runs `backward()` for each chunk. The gradients are then there before the caller asks, and the
#     caller's factor does not reach them.
# Функция сама вызывает `backward()` для каждой порции. Градиенты появляются раньше, чем их просили, и множитель до них
#     не доходит.
def chunked_loss(head, h, targets, rows):
    total = 0.0
    for x, y in _chunks(h, targets, rows):
        loss = _of(head)(x, y) / len(h)
        loss.backward()
        total += loss.item()
    return torch.tensor(total, dtype=torch.float64, requires_grad=True)

# %% mistake="backward_inside_for_the_head" like="backward_inside"
def chunked_loss(head, h, targets, rows):
    total, pieces = 0.0, []
    for x, y in _chunks(h, targets, rows):
        x = x.detach().requires_grad_()
        loss = _of(head)(x, y) / len(h)
        loss.backward()
        total += loss.item()
        pieces.append(x.grad)
    through_h = (h * torch.cat(pieces)).sum()
    return through_h - through_h.detach() + total

# %% mistake="ignores_the_incoming" theme="derivative"
# The gradients from the forward pass are returned as they are. `backward` has to multiply them by the incoming
#     gradient.
# Градиенты, вычисленные в прямом проходе, возвращены как есть. В `backward` их нужно умножить на входящий градиент.
def chunked_loss(head, h, targets, rows):
    return _Fixed.apply(h, head.weight, head.bias, targets, rows, False, False)

# %% mistake="divides_by_the_chunk" theme="scaling"
# The loss is right, but the gradients of a chunk are divided by its own rows, not by all rows.
# Значение функции потерь верно, но градиенты порции разделены на число её строк, а не на число всех строк.
def chunked_loss(head, h, targets, rows):
    return _Fixed.apply(h, head.weight, head.bias, targets, rows, True, True)

# %% mistake="writes_the_gradient_of_h" theme="recording"
# `h.grad` is written by hand. If `h` is the result of earlier operations, the gradient never reaches their leaves: it has
#     to flow through the graph of `h`.
# В `h.grad` градиент записан вручную. Если `h` — результат предыдущих операций, до листьев он не дойдёт: он должен
#     пройти через граф `h`.
def chunked_loss(head, h, targets, rows):
    x = h.detach().requires_grad_(h.requires_grad)
    if h.requires_grad:
        x.register_post_accumulate_grad_hook(lambda x: setattr(h, "grad", x.grad))
    return sum(_kept(_of(head), *part) for part in _chunks(x, targets, rows)) / len(h)

# %% mistake="writes_a_gradient_of_any_h" like="writes_the_gradient_of_h"
def chunked_loss(head, h, targets, rows):
    x = h.detach().requires_grad_()
    x.register_post_accumulate_grad_hook(lambda x: setattr(h, "grad", x.grad))
    return sum(_kept(_of(head), *part) for part in _chunks(x, targets, rows)) / len(h)

# %% mistake="takes_rows_for_chunks" theme="cost"
# More than `rows` rows go through the head at a time: `h.chunk(rows)` gives `rows` chunks, not chunks of `rows` rows.
# За раз через голову проходит больше чем `rows` строк: `h.chunk(rows)` даёт `rows` порций, а не порции по `rows` строк.
def chunked_loss(head, h, targets, rows):
    parts = zip(h.chunk(rows), targets.chunk(rows))
    return sum(_kept(_of(head), *part) for part in parts) / len(h)

# %% mistake="without_the_bias" theme="missing"
# The bias is forgotten.
# Забыто смещение (bias).
def chunked_loss(head, h, targets, rows):
    def of_chunk(x, y):
        return cross_entropy(x @ head.weight.T, y, reduction="sum")

    return sum(_kept(of_chunk, x, y) for x, y in _chunks(h, targets, rows)) / len(h)

# %% mistake="in_single_precision" theme="precision"
# The logits are computed in float32: the gradients are right to seven digits only.
# Логиты вычислены во float32: в градиентах верны только около семи знаков.
def chunked_loss(head, h, targets, rows):
    def of_chunk(x, y):
        return cross_entropy(head(x).float(), y, reduction="sum").double()

    return sum(_kept(of_chunk, x, y) for x, y in _chunks(h, targets, rows)) / len(h)

# %% mistake="without_a_graph" theme="recording"
# The loss comes back without a graph, so `backward()` has no way to the weights.
# Возвращено значение без графа, и вызов `backward()` до весов не доходит.
def chunked_loss(head, h, targets, rows):
    return cross_entropy(head(h), targets).detach()

# %% mistake="returns_a_number" theme="recording"
# What comes back is a copy of the number, without a graph.
# Возвращена копия числа, без графа.
def chunked_loss(head, h, targets, rows):
    return torch.tensor(cross_entropy(head(h), targets).item(), dtype=torch.float64, requires_grad=True)

# %% mistake="returns_nothing" theme="return"
# Nothing is returned.
# Функция ничего не возвращает.
def chunked_loss(head, h, targets, rows):
    cross_entropy(head(h), targets)

# %% mistake="binds_late" theme="own"
# The recomputation sees another chunk. A function made in a loop reads the loop's variable when it is called again, in
#     backward: by then it holds the last chunk.
# При повторном вычислении берётся не та порция. Функция, созданная в цикле, читает переменную цикла в момент вызова, а
#     при повторном вызове, в обратном проходе, в ней уже последняя порция.
def chunked_loss(head, h, targets, rows):
    total = 0.0
    for x, y in _chunks(h, targets, rows):
        total = total + _kept(lambda x, _: _of(head)(x, y), x, None)
    return total / len(h)

# %% mistake="keeps_the_last_chunk" theme="accumulation"
# The gradients of the head are those of the last chunk alone. The chunks' gradients have to be added.
# Градиенты головы получены только из последней порции. Градиенты порций нужно складывать.
def chunked_loss(head, h, targets, rows):
    return _LastChunk.apply(h, head.weight, head.bias, targets, rows)


class _LastChunk(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, weight, bias, targets, rows):
        dh, total = [], 0.0
        for x, y in _chunks(h, targets, rows):
            z = torch.nn.functional.linear(x, weight, bias)
            total += cross_entropy(z, y, reduction="sum").item() / len(h)
            z = z.softmax(1)
            z[torch.arange(len(y)), y] -= 1
            z /= len(h)
            dh.append(z @ weight)
            dw, db = z.T @ x, None if bias is None else z.sum(0)
        ctx.gradients = torch.cat(dh), dw, db
        return h.new_tensor(total)

    @staticmethod
    def backward(ctx, v):
        return *(None if each is None else each * v for each in ctx.gradients), None, None
