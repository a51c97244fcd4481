# %%
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def _through(embed, blocks, head, tokens, *, run):
    h = embed(tokens)
    for block in blocks:
        h = run(block, h)
    return head(h)


def _reentrant(block, h):
    return checkpoint(block, h, use_reentrant=True)


def _trained(block):
    return any(parameter.requires_grad for parameter in block.parameters())


def _plain(block, h):
    return block(h)


def _kept(block, h):
    return checkpoint(block, h, use_reentrant=False)

# %% mistake="silences_the_warning" theme="recording"
# The adapters in front still get no gradient. The message may be gone, but the blocks before the first input that
#     requires grad are still constants for autograd.
# Первые адаптеры по-прежнему не получают градиента. Сообщение могло исчезнуть, но пока вход блока не требует
#     градиента, выход этого блока для autograd — константа.
def fix_checkpoint(embed, blocks, head, tokens):
    return _through(embed, blocks, head, tokens, run=_reentrant)

# %% mistake="unfreezes_the_embedding" theme="recording"
# The embedding was unfrozen. The adapters train again, but so does the embedding: it has a gradient and another
#     flag.
# Слой эмбеддингов разморожен. Адаптеры снова обучаются, но вместе с ними и он: у него появился градиент, и флаг
#     изменился.
def fix_checkpoint(embed, blocks, head, tokens):
    embed.requires_grad_()
    return _through(embed, blocks, head, tokens, run=_reentrant)

# %% mistake="unfreezes_the_base" theme="recording"
# The base was unfrozen, and still the first blocks have no gradient: weights inside a block do not count.
# Основа разморожена, а у первых блоков градиента по-прежнему нет: веса внутри блока не учитываются.
def fix_checkpoint(embed, blocks, head, tokens):
    for block in blocks:
        block.requires_grad_()
    return _through(embed, blocks, head, tokens, run=_reentrant)

# %% mistake="drops_the_checkpoints" theme="cost" plain="yes"
# There are no checkpoints any more. The gradients are right, but all blocks are in memory at once.
# Контрольных точек больше нет. Градиенты верны, но в памяти лежит содержимое сразу всех блоков.
def fix_checkpoint(embed, blocks, head, tokens):
    return _through(embed, blocks, head, tokens, run=lambda block, h: block(h))

# %% mistake="spares_the_first" theme="cost"
# The first block runs without a checkpoint, so that its output requires grad. All that is in it stays in memory
#     until the end of the backward pass.
# Первый блок выполняется без контрольной точки, чтобы его выход требовал градиента. Всё его содержимое остаётся в
#     памяти до конца обратного прохода.
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    for index, block in enumerate(blocks):
        h = _reentrant(block, h) if index and h.requires_grad else block(h)
    return head(h)

# %% mistake="keeps_bytes" theme="cost"
# Nothing is computed again. What the blocks need is kept in another form, such as bytes or files, and takes as much room
#     as before.
# Ничего не вычисляется повторно. То, что нужно блокам, хранится в другом виде, например в байтах или в файлах, и
#     занимает столько же места.
def fix_checkpoint(embed, blocks, head, tokens):
    def pack(tensor):
        return (tensor.detach().numpy().tobytes(), tensor.shape) if tensor.is_floating_point() else tensor

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        return torch.frombuffer(bytearray(packed[0]), dtype=torch.float64).view(packed[1])

    h = embed(tokens)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        for block in blocks:
            h = block(h)
    return head(h)

# %% mistake="one_for_all" theme="cost"
# One checkpoint holds all blocks. They are recomputed together, and the peak is that without checkpoints.
# Контрольная точка одна на все блоки. Повторно они тоже вычисляются все сразу, и пик такой же, как без контрольных
#     точек.
def fix_checkpoint(embed, blocks, head, tokens):
    return head(checkpoint(nn.Sequential(*blocks), embed(tokens), use_reentrant=False))

# %% mistake="detaches_every_input" theme="recording"
# The input of every block is detached, so each block is cut off from those behind it. Only the first input needs a
#     flag.
# Вход каждого блока отсоединён от графа, и блоки отрезаны друг от друга. Флаг нужен только самому первому входу.
def fix_checkpoint(embed, blocks, head, tokens):
    return _through(embed, blocks, head, tokens, run=lambda block, h: _reentrant(block, h.detach().requires_grad_()))

# %% mistake="cuts_off_the_embedding" theme="recording"
# The output of the embedding is cut off from it: detached, or computed under `no_grad()`. A trained embedding then
#     gets no gradient.
# Выход слоя эмбеддингов отрезан от него: отсоединён от графа или вычислен внутри `no_grad()`. Обучаемый слой
#     тогда остаётся без градиента.
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens).detach().requires_grad_()
    for block in blocks:
        h = _reentrant(block, h)
    return head(h)

# %% mistake="without_grad" theme="recording"
# The blocks run under `no_grad()`, or their output is detached: nothing in them gets a gradient.
# Блоки выполняются внутри `no_grad()`, или их выход отсоединён от графа: ни один их параметр не получает градиента.
def fix_checkpoint(embed, blocks, head, tokens):
    with torch.no_grad():
        h = _through(embed, blocks, nn.Identity(), tokens, run=lambda block, h: block(h))
    return head(h)

# %% mistake="skips_the_base" theme="missing"
# The base is skipped, or was replaced: the output is another one.
# Основа пропущена или заменена: выход стал другим.
def fix_checkpoint(embed, blocks, head, tokens):
    return _through(embed, blocks, head, tokens, run=lambda block, h: torch.tanh(h + block.adapter(h)))

# %% mistake="adds_a_flag" theme="recording"
# An argument that requires grad was added for the sake of its flag. Where a whole block is frozen, the reentrant
#     checkpoint then stops in the backward pass: “none of output has requires_grad=True”.
# Только ради флага добавлен аргумент, который требует градиента. Если блок заморожен целиком, старый
#     вариант тогда останавливается в обратном проходе: «none of output has requires_grad=True».
def fix_checkpoint(embed, blocks, head, tokens):
    flag = torch.zeros((), requires_grad=True)

    def run(block, h):
        return checkpoint(lambda h, _: block(h), h, flag, use_reentrant=True)

    return _through(embed, blocks, head, tokens, run=run)

# %% mistake="cuts_at_a_frozen_block" theme="recording"
# A wholly frozen block lets no gradient through: what is in front of it has none. Its weights are constants, but
#     its output depends on its input.
# Целиком замороженный блок не пропускает градиент: у всего, что стоит перед ним, градиента нет. Веса такого блока —
#     константы, но выход зависит от входа.
def fix_checkpoint(embed, blocks, head, tokens):
    def run(block, h):
        return _kept(block, h) if _trained(block) else block(h).detach()

    return _through(embed, blocks, head, tokens, run=run)

# %% mistake="spares_the_frozen" theme="cost"
# A frozen block runs without a checkpoint. Behind something trained, all that is in it stays in memory: autograd
#     needs it to pass the gradient on.
# Замороженный блок выполняется без контрольной точки. Если перед ним есть обучаемые слои, всё его содержимое
#     остаётся в памяти: оно нужно, чтобы передать градиент дальше.
def fix_checkpoint(embed, blocks, head, tokens):
    return _through(embed, blocks, head, tokens, run=lambda block, h: _kept(block, h) if _trained(block) else block(h))

# %% mistake="two_to_a_checkpoint" theme="cost"
# A checkpoint holds two blocks. They are recomputed together, and the inside of both is in memory at once.
# Контрольная точка охватывает два блока. Повторно они вычисляются вместе, и в памяти лежит содержимое обоих сразу.
def fix_checkpoint(embed, blocks, head, tokens):
    pairs = [nn.Sequential(*blocks[first : first + 2]) for first in range(0, len(blocks), 2)]
    return _through(embed, pairs, head, tokens, run=_kept)

# %% mistake="recomputes_the_last" theme="own"
# In the backward pass the last block is recomputed in place of the others. A function that is made in the loop
#     reads `block` when it runs: bind it with `block=block`, or pass the block itself.
# В обратном проходе вместо каждого блока повторно вычисляется последний. Функция, созданная в цикле, читает имя
#     `block` в момент вызова: запишите `block=block` среди её параметров или передайте сам блок.
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    for block in blocks:
        h = checkpoint(lambda x: block(x), h, use_reentrant=False)  # noqa: B023
    return head(h)

# %% mistake="forgets_the_head" theme="missing"
# The output of the last block is returned: `head` is missing.
# Возвращён выход последнего блока: слой `head` пропущен.
def fix_checkpoint(embed, blocks, head, tokens):
    return _through(embed, blocks, nn.Identity(), tokens, run=_kept)

# %% mistake="trusts_the_first" theme="recording"
# Only the first block runs without the reentrant checkpoint, so that its output requires grad. Where it is frozen, as
#     the embedding is, its output does not, and the adapter behind it gets no gradient.
# Старый вариант контрольной точки стоит у всех блоков, кроме первого, чтобы выход первого требовал градиента. Но если
#     этот блок заморожен, как и слой эмбеддингов, его выход градиента не требует, и следующий адаптер остаётся без него.
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    for index, block in enumerate(blocks):
        h = _reentrant(block, h) if index else block(h)
    return head(h)

# %% mistake="every_second" theme="cost"
# Every second block runs without a checkpoint: all that is in it stays in memory.
# Каждый второй блок выполняется без контрольной точки: всё его содержимое остаётся в памяти.
def fix_checkpoint(embed, blocks, head, tokens):
    h = embed(tokens)
    for index, block in enumerate(blocks):
        h = (_kept if index % 2 else _plain)(block, h)
    return head(h)

# %% mistake="thaws_the_blocks" theme="recording"
# Frozen weights in the blocks were unfrozen: now they have gradients, too.
# Замороженные веса в блоках разморожены: теперь градиент есть и у них.
def fix_checkpoint(embed, blocks, head, tokens):
    for block in blocks:
        block.requires_grad_()
    return _through(embed, blocks, head, tokens, run=_kept)

# %% mistake="without_a_graph" theme="recording"
# The output has no graph, so nothing can be differentiated: is the whole model, or `head`, under `no_grad()`?
# У выхода нет графа, и дифференцировать нечего. Не выполняется ли вся модель или слой `head` внутри `no_grad()`?
def fix_checkpoint(embed, blocks, head, tokens):
    with torch.no_grad():
        return _through(embed, blocks, head, tokens, run=_kept)
