"""Exercise: repair hooks that save large tensors in files."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor

from autograder.checking.containment.answer_calls import call_with_other_numbers
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, leaf, uniform
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import CountedCalls, live_bytes

from .common import digits_are_right, gradient, measure_saves, nbytes
from .tensor_files import count_files, empty_folder


@exercise(
    title=Text("The threshold", "Порог"),
    kind="find the bug",
    difficulty=2,
    aspects=[
        aspect(
            "gradient",
            1,
            en="The gradient is the one without hooks, for tensors of any size, also in a second backward pass.",
            ru="Градиент такой же, как без хуков, для тензоров любого размера, в том числе при втором обратном "
            "проходе.",
        ),
        aspect(
            "files",
            1,
            en="Each saved tensor of `threshold` entries or more is written to one file and not kept in memory; no "
            "smaller tensor is written.",
            ru="Каждый сохранённый тензор, в котором не меньше `threshold` элементов, записан в один файл и в памяти "
            "не остался; меньшие в файлы не записаны.",
        ),
        aspect(
            "left",
            2,
            en="When the result is dropped without a backward pass, nothing stays in memory, and no file is left.",
            ru="Если результат отброшен без обратного прохода, в памяти ничего не остаётся и файлов тоже не остаётся.",
            after=("gradient", "files"),
        ),
    ],
    hints=[
        Text(
            "Two lines are wrong. One is met only by big tensors, the other only when `backward()` is not called.",
            "Неверны две строки. До одной доходят только большие тензоры, ошибка в другой видна, только если не "
            "вызвать `backward()`.",
        ),
        Text(
            "`exp` saves its own result. If the graph holds that very tensor, what does the tensor hold by its "
            "`grad_fn`?",
            "`exp` сохраняет собственный результат. Если граф держит именно этот тензор, на что сам тензор ссылается "
            "через `grad_fn`?",
        ),
        Text.same(
            "def fix_threshold(f, x, threshold):\n"
            "    def pack_hook(x):\n"
            "        if x.numel() < threshold:\n"
            "            return ...\n"
            "        temp_file = SelfDeletingTempFile()\n"
            "        torch.save(..., temp_file.name)\n"
            "        return temp_file\n\n"
            "    def unpack_hook(tensor_or_file):\n"
            "        if isinstance(tensor_or_file, torch.Tensor):\n"
            "            return tensor_or_file\n"
            "        return torch.load(tensor_or_file.name)\n\n"
            "    with saved_tensors_hooks(pack_hook, unpack_hook):\n"
            "        return f(x)"
        ),
    ],
    why=Why(
        Text(
            "Why must `pack_hook` return `x.detach()` for a small tensor, and not `x`?",
            "Почему для маленького тензора `pack_hook` должен вернуть `x.detach()`, а не `x`?",
        ),
        Text(
            "An operation may save its own result, and that tensor refers to the node which saves it. Node and "
            "tensor would then hold each other, and the memory would stay.",
            "Операция может сохранить собственный результат, а он ссылается на тот же узел, который его хранит. "
            "Узел и тензор держали бы друг друга, и память не освобождалась бы.",
        ),
    ),
)
def fix_threshold(answer: Any, case: Case) -> dict[str, object]:
    run = answer.fix_threshold
    entries_of_saves, result = measure_saves(case.f, case.x, [])
    may_stay = result + sum(size for size in entries_of_saves if size < case.threshold * case.x.element_size())
    saves = CountedCalls(torch.save)
    folder = empty_folder("threshold")
    with mock.patch.object(tempfile, "tempdir", folder):
        with using_answer(), mock.patch("torch.save", saves.function), live_bytes() as live:
            y = run(case.f, case.x, case.threshold)
            before, files = max(0, live.now - may_stay), count_files(folder)[0]
            calls, has_graph = saves.times, isinstance(y, Tensor) and y.requires_grad
            other = call_with_other_numbers(y, run, case.f, case.x, case.threshold)
            found = {"first backward": gradient(y, case.x, True)}
            del other
            kept = sum(nbytes(t) for t in found.values() if isinstance(t, Tensor))
            too_many = max(before, live.now - kept - may_stay)  # what was read must not stay either
            found["second backward"] = gradient(y, case.x)
            del y
        truth = case.f(case.x).detach()
        with using_answer(), live_bytes() as live:
            y = run(case.f, case.x, case.threshold)
            right = isinstance(y, Tensor) and torch.equal(y, truth)
            del y
            if live.now:
                gc.collect(1)
        left = {"bytes in memory": live.now, "files": count_files(folder)[0], "the result was f(x)": right}
    found["all digits are right"] = digits_are_right(found["first backward"], gradient(case.f(case.x), case.x))
    written = {"calls of torch.save": calls, "written": files, "bytes still in memory": too_many}
    return {"gradient": found, "files": written, "left": left, "has_graph": has_graph, "before": before}


def _chain(x: Tensor) -> Tensor:
    x = (x.exp() * 2).sigmoid()
    for _ in range(3):
        x = x.sin()
    return x


@fix_threshold.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    threshold = int(torch.randint(20, 40, (), generator=rng))
    few = Formula("(x.sin().exp() * 2).sigmoid()", lambda x: (x.sin().exp() * 2).sigmoid())
    x = uniform(rng, 2 * threshold)[:6].requires_grad_()  # few entries, of a storage with many
    yield Case(f=few, x=x, threshold=threshold)
    chain = Formula("(x.exp() * 2).sigmoid(), then 3 × sin", _chain)  # nobody else holds the results between
    yield Case(f=chain, x=leaf(rng, threshold), threshold=threshold)
    mixed = Formula("x.sin().sum(0).exp().sum(0, True).sin()", lambda x: x.sin().sum(0).exp().sum(0, True).sin())
    # above the threshold as a whole, below it in each dimension
    x = uniform(rng, 3, threshold // 2).float().requires_grad_()
    yield Case(f=mixed, x=x, threshold=threshold)
