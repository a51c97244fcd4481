"""Mistakes of the exercise `fix_checkpoint`, as programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .fix_checkpoint import fix_checkpoint


def _through(
    embed: nn.Module,
    blocks: Any,
    head: nn.Module,
    tokens: Tensor,
    *,
    run: Callable[[nn.Module, Tensor], Tensor],
) -> Tensor:
    h = embed(tokens)
    for block in blocks:
        h = run(block, h)
    return head(h)  # type: ignore[no-any-return]


def _reentrant(block: nn.Module, h: Tensor) -> Tensor:
    return checkpoint(block, h, use_reentrant=True)  # type: ignore[no-any-return]


@fix_checkpoint.mistake(
    en="The adapters in front still get no gradient. The message may be gone, but the blocks before the first input that "
    "requires grad are still constants for autograd.",
    ru="Первые адаптеры по-прежнему не получают градиента. Сообщение могло исчезнуть, но блоки до первого входа, который "
    "требует градиента, для autograd по-прежнему константы.",
)
def silences_the_warning(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    return _through(embed, blocks, head, tokens, run=_reentrant)


@fix_checkpoint.mistake(
    en="The embedding was unfrozen. The adapters train again, but so does the embedding: it has a gradient and another flag.",
    ru="Слой embedding разморожен. Адаптеры снова обучаются, но вместе с ними и он: у него появился градиент, и флаг "
    "изменился.",
)
def unfreezes_the_embedding(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    embed.requires_grad_()
    return _through(embed, blocks, head, tokens, run=_reentrant)


@fix_checkpoint.mistake(
    en="The base was unfrozen, and still the first blocks have no gradient: weights inside a block do not count.",
    ru="Основа разморожена, а у первых блоков градиента по-прежнему нет: веса внутри блока не учитываются.",
)
def unfreezes_the_base(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    for block in blocks:
        block.requires_grad_()
    return _through(embed, blocks, head, tokens, run=_reentrant)


@fix_checkpoint.mistake(
    en="There are no checkpoints any more. The gradients are right, but all blocks are in memory at once.",
    ru="Контрольных точек больше нет. Градиенты верны, но в памяти лежат сразу все блоки.",
)
def drops_the_checkpoints(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    return _through(embed, blocks, head, tokens, run=lambda block, h: block(h))


@fix_checkpoint.mistake(
    en="The first block runs without a checkpoint, so that its output requires grad. All that is in it stays in memory until "
    "the end of the backward pass.",
    ru="Первый блок выполняется без контрольной точки, чтобы его выход требовал градиента. Всё его содержимое остаётся в "
    "памяти до конца обратного прохода.",
)
def spares_the_first(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    h = embed(tokens)
    for index, block in enumerate(blocks):
        h = _reentrant(block, h) if index and h.requires_grad else block(h)
    return head(h)  # type: ignore[no-any-return]


@fix_checkpoint.mistake(
    en="One checkpoint holds all blocks. They are recomputed together, and the peak is that without checkpoints.",
    ru="Контрольная точка одна на все блоки. Вычисляются повторно они тоже все сразу, и пик такой же, как без контрольных "
    "точек.",
)
def one_for_all(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    return head(checkpoint(nn.Sequential(*blocks), embed(tokens), use_reentrant=False))  # type: ignore[no-any-return]


@fix_checkpoint.mistake(
    en="The input of every block is detached, so each block is cut off from those behind it. Only the first input needs a "
    "flag.",
    ru="Вход каждого блока отсоединён от графа, и блоки отрезаны друг от друга. Флаг нужен только самому первому входу.",
)
def detaches_every_input(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    return _through(embed, blocks, head, tokens, run=lambda block, h: _reentrant(block, h.detach().requires_grad_()))


@fix_checkpoint.mistake(
    en="The output of the embedding is cut off from it: detached, or computed under `no_grad()`. A trained embedding then "
    "gets no gradient.",
    ru="Выход слоя embedding отрезан от него: отсоединён от графа или вычислен внутри `no_grad()`. Обучаемый embedding тогда "
    "остаётся без градиента.",
)
def cuts_off_the_embedding(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    h = embed(tokens).detach().requires_grad_()
    for block in blocks:
        h = _reentrant(block, h)
    return head(h)  # type: ignore[no-any-return]


@fix_checkpoint.mistake(
    en="The blocks run under `no_grad()`: nothing in them gets a gradient.",
    ru="Блоки выполняются внутри `no_grad()`: ни у чего в них нет градиента.",
)
def without_grad(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    with torch.no_grad():
        h = _through(embed, blocks, nn.Identity(), tokens, run=lambda block, h: block(h))
    return head(h)  # type: ignore[no-any-return]


@fix_checkpoint.mistake(
    en="The base is skipped, or was replaced: the output is another one.",
    ru="Основа пропущена или заменена: выход стал другим.",
)
def skips_the_base(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    return _through(embed, blocks, head, tokens, run=lambda block, h: torch.tanh(h + block.adapter(h)))  # type: ignore[operator]


@fix_checkpoint.mistake(
    en="An argument that requires grad was added for the sake of its flag. Where a whole block is frozen, the reentrant "
    "checkpoint then stops in the backward pass: “none of output has requires_grad=True”.",
    ru="Добавлен аргумент, который требует градиента только ради флага. Если блок заморожен целиком, реентерабельный вариант "
    "тогда останавливается в обратном проходе: «none of output has requires_grad=True».",
)
def adds_a_flag(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    flag = torch.zeros((), requires_grad=True)

    def run(block: nn.Module, h: Tensor) -> Tensor:
        return checkpoint(lambda h, _: block(h), h, flag, use_reentrant=True)  # type: ignore[no-any-return]

    return _through(embed, blocks, head, tokens, run=run)


def _trained(block: nn.Module) -> bool:
    return any(parameter.requires_grad for parameter in block.parameters())


def _plain(block: nn.Module, h: Tensor) -> Tensor:
    return block(h)  # type: ignore[no-any-return]


def _kept(block: nn.Module, h: Tensor) -> Tensor:
    return checkpoint(block, h, use_reentrant=False)  # type: ignore[no-any-return]


@fix_checkpoint.mistake(
    en="A wholly frozen block lets no gradient through: what is in front of it has none. Its weights are constants, but its "
    "output depends on its input.",
    ru="Целиком замороженный блок не пропускает градиент: у всего, что стоит перед ним, градиента нет. Веса такого блока — "
    "константы, но выход зависит от входа.",
)
def cuts_at_a_frozen_block(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    def run(block: nn.Module, h: Tensor) -> Tensor:
        return _kept(block, h) if _trained(block) else block(h).detach()  # type: ignore[no-any-return]

    return _through(embed, blocks, head, tokens, run=run)


@fix_checkpoint.mistake(
    en="A frozen block runs without a checkpoint. Behind something trained, all that is in it stays in memory: autograd "
    "needs it to pass the gradient on.",
    ru="Замороженный блок выполняется без контрольной точки. Если перед ним есть обучаемые слои, всё его содержимое остаётся "
    "в памяти: оно нужно, чтобы передать градиент дальше.",
)
def spares_the_frozen(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    return _through(embed, blocks, head, tokens, run=lambda block, h: _kept(block, h) if _trained(block) else block(h))


@fix_checkpoint.mistake(
    en="A checkpoint holds two blocks. They are recomputed together, and the inside of both is in memory at once.",
    ru="Контрольная точка охватывает два блока. Повторно они вычисляются вместе, и в памяти лежит содержимое обоих сразу.",
)
def two_to_a_checkpoint(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    pairs = [nn.Sequential(*blocks[first : first + 2]) for first in range(0, len(blocks), 2)]
    return _through(embed, pairs, head, tokens, run=_kept)


@fix_checkpoint.mistake(
    en="In the backward pass the last block is recomputed in place of the others. A function that is made in the loop reads "
    "`block` when it runs: bind it with `block=block`, or pass the block itself.",
    ru="В обратном проходе вместо каждого блока повторно вычисляется последний. Функция, созданная в цикле, читает имя "
    "`block` в момент вызова: запишите `block=block` среди её параметров или передайте сам блок.",
)
def recomputes_the_last(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    h = embed(tokens)
    for block in blocks:
        h = checkpoint(lambda x: block(x), h, use_reentrant=False)  # noqa: B023
    return head(h)  # type: ignore[no-any-return]


@fix_checkpoint.mistake(
    en="The output of the last block is returned: `head` is missing.",
    ru="Возвращён выход последнего блока: слой `head` пропущен.",
)
def forgets_the_head(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    return _through(embed, blocks, nn.Identity(), tokens, run=_kept)


@fix_checkpoint.mistake(
    en="The first block runs without a checkpoint, so that its output requires grad. Where it is frozen, as the embedding is, "
    "its output does not, and the adapter behind it gets no gradient.",
    ru="Первый блок выполняется без контрольной точки, чтобы его выход требовал градиента. Но если он заморожен, как и слой "
    "embedding, его выход градиента не требует, и следующий адаптер остаётся без градиента.",
)
def trusts_the_first(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    h = embed(tokens)
    for index, block in enumerate(blocks):
        h = _reentrant(block, h) if index else block(h)
    return head(h)  # type: ignore[no-any-return]


@fix_checkpoint.mistake(
    en="Every second block runs without a checkpoint: all that is in it stays in memory.",
    ru="Каждый второй блок выполняется без контрольной точки: всё его содержимое остаётся в памяти.",
)
def every_second(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    h = embed(tokens)
    for index, block in enumerate(blocks):
        h = (_kept if index % 2 else _plain)(block, h)
    return head(h)  # type: ignore[no-any-return]


@fix_checkpoint.mistake(
    en="Frozen weights in the blocks were unfrozen: now they have gradients, too.",
    ru="Замороженные веса в блоках разморожены: теперь градиент есть и у них.",
)
def thaws_the_blocks(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    for block in blocks:
        block.requires_grad_()
    return _through(embed, blocks, head, tokens, run=_kept)


@fix_checkpoint.mistake(
    en="The output has no graph, so nothing can be differentiated: is the whole model, or `head`, under `no_grad()`?",
    ru="У выхода нет графа, и дифференцировать нечего: вся модель или слой `head` выполняется внутри `no_grad()`?",
)
def without_a_graph(embed: nn.Module, blocks: Any, head: nn.Module, tokens: Tensor) -> Tensor:
    with torch.no_grad():
        return _through(embed, blocks, head, tokens, run=_kept)
