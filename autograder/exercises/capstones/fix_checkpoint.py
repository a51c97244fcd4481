"""Exercise: checkpoints behind a frozen embedding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import torch

from autograder.checking.counted_run import another, condense
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import uniform
from autograder.checking.labels import PEAK
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import live_bytes

from .adapters import adapted_model, embedding
from .common import copies

_BLOCKS, _ROWS, _FEATURES, _WIDTH = 4, 32, 4, 32
_WIDE = _ROWS * _WIDTH * _FEATURES * 8  # bytes of the widest tensor in a block


@exercise(
    title=Text("A frozen start", "Замороженное начало"),
    kind="find the bug",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "gradients",
            0.5,
            en="The output and all gradients are those without checkpoints; what is frozen has none.",
            ru="Выход и все градиенты такие же, как без контрольных точек; у замороженных параметров градиента нет.",
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
        aspect(
            "again",
            1,
            en="In the backward pass all blocks but one are computed again. Their inside is kept in no other form, such as "
            "bytes or files.",
            ru="В обратном проходе все блоки, кроме одного, вычисляются повторно. Их содержимое не хранится и в другом виде, "
            "например в байтах или в файлах.",
            after=("gradients", "peak"),
        ),
        aspect(
            "flags",
            0.5,
            en="All flags `requires_grad` and all weights are as before.",
            ru="Все флаги `requires_grad` и все веса остались прежними.",
            after=("gradients", "peak", "again"),
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
            "В старом варианте контрольной точки проверяется, требует ли градиента хоть один тензор среди аргументов. Веса "
            "внутри блока — не аргументы.",
        ),
        Text.same(
            "def fix_checkpoint(embed, blocks, head, tokens):\n"
            "    h = embed(tokens)\n"
            "    for block in blocks:\n"
            "        h = checkpoint(block, ..., use_reentrant=...)\n"
            "    return head(h)"
        ),
    ],
    why=Why(
        Text(
            "Why did the first blocks learn nothing, although their adapters require grad?",
            "Почему первые блоки ничему не учились, хотя их адаптеры требуют градиента?",
        ),
        Text(
            "The old checkpoint is a custom Function, and its result requires grad only if a tensor argument "
            "does. The output of the frozen embedding does not, and the weights are no arguments.",
            "Старый вариант контрольной точки — пользовательская функция, и её результат требует градиента, "
            "только если его требует тензор среди аргументов. Выход замороженного слоя эмбеддингов его не требует, а "
            "веса — не аргументы.",
        ),
    ),
)
def fix_checkpoint(answer: Any, case: Case) -> dict[str, object]:
    model = case.model
    flags = [p.requires_grad for p in model.parameters()]
    weights = copies(model.parameters())
    output = answer.fix_checkpoint(case.embed, case.blocks, case.head, case.tokens)
    other = answer.fix_checkpoint(case.embed, case.blocks, case.head, case.tokens.flip(0))  # both are alive at once
    with using_answer():
        value = output.detach().clone()
        (output * case.v).sum().backward()
        other.sum().backward()
    same = all(torch.equal(a, b) for a, b in zip(weights, model.parameters()))  # type: ignore[arg-type]
    return {
        "gradients": {"output": value} | {name: p.grad for name, p in model.named_parameters()},
        "flags": {"requires_grad": [p.requires_grad for p in model.parameters()] == flags, "weights": same},
        **(
            _measure(answer.fix_checkpoint, case.rng)
            if case.rng
            else {"peak": AtMost(15 * _WIDE // 4, 0), "again": True}
        ),
    }


def _measure(run: Callable[..., Any], rng: torch.Generator) -> dict[str, object]:
    """Run the answer on wide blocks behind a frozen embedding. One block is frozen, too.

    Returns its peak, whether it computes blocks again, and the blocks in the order in which they ran.
    """
    model = adapted_model(rng, _BLOCKS, _FEATURES, _WIDTH)
    model["embed"] = embedding(rng, _ROWS, _FEATURES).requires_grad_(False)  # no two rows of the batch are equal
    blocks: Any = model["blocks"]
    blocks[2].requires_grad_(False)
    calls: list[int] = []

    def note(index: int) -> Callable[..., None]:
        def hook(*_: object) -> None:
            calls.append(index)

        return hook

    with ExitStack() as stack:
        for index, block in enumerate(blocks):
            stack.callback(block.register_forward_pre_hook(note(index)).remove)
        with using_answer(), live_bytes() as live:
            output = run(model["embed"], blocks, model["head"], torch.arange(_ROWS))
            output.sum().backward()
            result = output.detach()
            del output
    gradients = [parameter.grad for parameter in blocks.parameters()]
    return {
        "peak": AtMost(limit=15 * _WIDE // 4, used=live.peak, of=condense([result, *gradients])),
        "again": sum(calls.count(index) > 1 for index in range(_BLOCKS)) >= _BLOCKS - 1,
        "calls": calls,
    }


@fix_checkpoint.weigh("peak", most=45 << 20)
def weigh(run: Callable[..., Any], rng: torch.Generator) -> object:
    """Go through 8 blocks, whose widest tensor takes 4 MB."""
    rows = 4096
    model = adapted_model(rng, 8, _FEATURES, _WIDTH)
    model["embed"] = embedding(rng, rows, _FEATURES).requires_grad_(False)
    output = run(model["embed"], model["blocks"], model["head"], torch.arange(rows))
    output.sum().backward()
    return [output, *(parameter.grad for parameter in model.parameters())]


@fix_checkpoint.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for blocks, rows, trained in [(2, 3, False), (3, 4, True), (3, 2, False)]:
        model = adapted_model(rng, blocks, 3)
        model["embed"].requires_grad_(trained)
        if blocks == 3:  # a frozen block between trained ones, or right behind the frozen embedding
            model["blocks"][1 if trained else 0].requires_grad_(False)  # type: ignore[index]
        tokens = torch.randint(0, 5, (rows,), generator=rng)
        yield Case(
            **model, tokens=tokens, model=model, v=uniform(rng, rows, 1), rng=another(rng) if blocks == 2 else None
        )
