"""Core exercise: checkpoints behind a frozen embedding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import uniform
from autograder.checking.labels import PEAK
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import live_bytes

from .adapters import adapted_model
from .common import copies

_BLOCKS, _ROWS, _FEATURES, _WIDTH = 4, 32, 4, 32
_WIDE = _ROWS * _WIDTH * _FEATURES * 8  # bytes of the widest tensor in a block


@exercise(
    title=Text("A frozen start", "Замороженное начало"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "gradients",
            2,
            en="The output and all gradients are those without checkpoints; what is frozen has none.",
            ru="Выход и все градиенты такие же, как без контрольных точек; у замороженного градиента нет.",
        ),
        aspect(
            "flags",
            0,
            en="All flags `requires_grad` and all weights are as before.",
            ru="Все флаги `requires_grad` и все веса остались прежними.",
            after=(),
        ),
        aspect(
            "peak",
            1,
            en=f"With {_BLOCKS} blocks the inside of only one is in memory at a time: at most 3.75 times the widest tensor of "
            f"a block (bytes; that tensor has {_WIDE}).",
            ru=f"При {_BLOCKS} блоках в памяти одновременно лежит содержимое только одного: самое большее 3.75 размера самого "
            f"широкого тензора блока (байты; в этом тензоре их {_WIDE}).",
            measured=PEAK,
        ),
    ],
    hints=[
        Text(
            "Print `h.requires_grad` before and after the first block, and `block.adapter[0].weight.grad` after `backward()`. "
            "Which blocks have lost their gradients?",
            "Напечатайте `h.requires_grad` до и после первого блока, а после `backward()` — `block.adapter[0].weight.grad`. "
            "Какие блоки потеряли градиенты?",
        ),
        Text(
            "The reentrant checkpoint asks its tensor arguments whether anything requires grad. The weights inside the block "
            "are no arguments.",
            "Реентерабельный вариант контрольной точки смотрит, требует ли градиента хоть один тензор среди аргументов. Веса "
            "внутри блока — не аргументы.",
        ),
        Text(
            "h = checkpoint(block, h, use_reentrant=...)",
            "h = checkpoint(block, h, use_reentrant=...)",
        ),
    ],
)
def fix_checkpoint(answer: Any, case: Case) -> dict[str, object]:
    model = case.model
    flags = [p.requires_grad for p in model.parameters()]
    weights = copies(model.parameters())
    output = answer.fix_checkpoint(case.embed, case.blocks, case.head, case.tokens)
    with using_answer():
        value = output.detach().clone()
        (output * case.v).sum().backward()
    same = all(torch.equal(a, b) for a, b in zip(weights, model.parameters()))  # type: ignore[arg-type]
    return {
        "gradients": {"output": value} | {name: p.grad for name, p in model.named_parameters()},
        "flags": {"requires_grad": [p.requires_grad for p in model.parameters()] == flags, "weights": same},
        **(_measure(answer.fix_checkpoint) if case.measured else {"peak": AtMost(15 * _WIDE // 4, 0)}),
    }


def _measure(run: Callable[..., Any]) -> dict[str, object]:
    """Run the answer on wide blocks behind a trained embedding; return its peak, and how often each block ran."""
    model = adapted_model(torch.Generator().manual_seed(0), _BLOCKS, _FEATURES, _WIDTH)
    model["embed"].requires_grad_()
    calls = [0] * _BLOCKS

    def note(index: int) -> Callable[..., None]:
        def hook(*_: object) -> None:
            calls[index] += 1

        return hook

    blocks: Any = model["blocks"]
    with ExitStack() as stack:
        for index, block in enumerate(blocks):
            stack.callback(block.register_forward_pre_hook(note(index)).remove)
        with using_answer(), live_bytes() as live:
            output = run(model["embed"], blocks, model["head"], torch.arange(_ROWS) % 5)
            output.sum().backward()
            del output
    return {"peak": AtMost(limit=15 * _WIDE // 4, used=live.peak), "calls": calls}


@fix_checkpoint.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for blocks, rows, trained in [(2, 3, False), (3, 4, True), (3, 2, False)]:
        model = adapted_model(rng, blocks, 3)
        model["embed"].requires_grad_(trained)
        if blocks == 3 and not trained:
            model["blocks"][0].requires_grad_(False)  # type: ignore[index]
        tokens = torch.randint(0, 5, (rows,), generator=rng)
        yield Case(**model, tokens=tokens, model=model, v=uniform(rng, rows, 1), measured=blocks == 2)


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
    en="The output of the embedding is detached and requires grad again. A trained embedding then gets no gradient.",
    ru="Выход слоя embedding отсоединён от графа, а потом снова требует градиента. Обучаемый embedding тогда остаётся без "
    "градиента.",
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
