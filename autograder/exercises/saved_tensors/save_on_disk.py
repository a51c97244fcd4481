"""Exercise: hooks that save tensors in files."""

from __future__ import annotations

import gc
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.labels import BYTES_IN_FILES, BYTES_IN_MEMORY
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import live_bytes

from .common import count_saves, digits_are_right, error_of_torch, measure_saves, nbytes
from .disk_cases import disk_cases
from .tensor_files import count_files, empty_folder, largest_file, largest_lacking


@exercise(
    title=Text("Saved tensors in files", "Сохранённые тензоры в файлах"),
    kind="design",
    difficulty=3,
    aspects=[
        aspect(
            "in_files",
            0,
            en="While the graph lives, everything that it saved, also a small tensor, lies in files in `folder`.",
            ru="Пока граф существует, всё сохранённое, в том числе малые тензоры, лежит в файлах в папке `folder`.",
        ),
        aspect(
            "gradient",
            1,
            en="The first backward pass gives the gradients that there are without hooks.",
            ru="Первый обратный проход даёт те же градиенты, что и без хуков.",
        ),
        aspect(
            "again",
            1,
            en="After `retain_graph=True` a second backward pass gives them again.",
            ru="После `retain_graph=True` второй обратный проход даёт те же градиенты.",
            after=("in_files", "gradient"),
        ),
        aspect(
            "written",
            1,
            en="The files hold the entries of the saved tensors, 4096 bytes more for each of them at most, and no "
            "parameter (bytes in `folder`).",
            ru="В файлах лежат элементы сохранённых тензоров, не более 4096 лишних байт на каждый; параметров там нет "
            "(байты в `folder`).",
            measured=BYTES_IN_FILES,
        ),
        aspect(
            "memory",
            1,
            en="While the graph lives, the memory holds the result and none of the tensors in files (bytes, 1024 to "
            "spare).",
            ru="Пока граф существует, в памяти лежит результат, а тензоров из файлов там нет (байты, с запасом 1024).",
            measured=BYTES_IN_MEMORY,
        ),
        aspect(
            "files_left",
            1,
            en="No file is left after a backward pass that frees the graph, none when the result is dropped, and none of "
            "what `f` itself has dropped (number of files).",
            ru="Файлов не остаётся ни после обратного прохода, который освобождает сохранённое в графе, ни после "
            "того, как результат отброшен, ни от того, что отбросила сама `f` (сколько файлов).",
        ),
    ],
    hints=[
        Text(
            "Where is it known that a saved tensor is needed no longer: in `unpack`, or where the result of `pack` is "
            "held?",
            "Где известно, что сохранённый тензор больше не нужен: в `unpack` или там, где хранится результат `pack`?",
        ),
        Text(
            "Return an object whose `__del__` removes its file. Save `t.detach().clone()`: a slice would take its whole "
            "storage along. A layer saves a view of its weight, so compare `untyped_storage().data_ptr()`.",
            "Верните объект, который в `__del__` удаляет свой файл. Сохраняйте `t.detach().clone()`: вместе со срезом "
            "в файл попало бы всё хранилище. Слой сохраняет представление веса, поэтому сравнивайте "
            "`untyped_storage().data_ptr()`.",
        ),
        Text.same(
            "def save_on_disk(f, x, parameters, folder):\n"
            "    class File:\n"
            "        def __init__(self, t):\n"
            '            self.name = os.path.join(folder, f"{uuid.uuid4()}.pt")\n'
            "            torch.save(..., self.name)\n\n"
            "        def __del__(self):\n"
            "            if os.path.exists(self.name):\n"
            "                os.remove(self.name)\n\n"
            "    weights = {p.untyped_storage().data_ptr() for p in parameters}\n\n"
            "    def pack(t):\n"
            "        return ... if ... in weights else ...\n\n"
            "    def unpack(packed):\n"
            "        return torch.load(packed.name) if isinstance(packed, File) else packed\n\n"
            "    with saved_tensors_hooks(pack, unpack):\n"
            "        return f(x)"
        ),
    ],
    why=Why(
        Text(
            "Why does `pack` return an object that deletes its own file?",
            "Почему `pack` возвращает объект, который сам удаляет свой файл?",
        ),
        Text(
            "The graph holds the object for as long as backward may need it, a second pass included. When the "
            "graph goes, the object goes, and its `__del__` removes the file.",
            "Граф держит этот объект, пока он может понадобиться обратному проходу, в том числе второму. "
            "Исчезает граф — исчезает и объект, а его `__del__` удаляет файл.",
        ),
    ),
)
def save_on_disk(answer: Any, case: Case) -> dict[str, object]:
    saved, result = measure_saves(case.f, case.x, case.parameters)
    wanted = {"x": case.x, "parameter": case.parameters[0]}

    def run(folder: str) -> Any:
        return answer.save_on_disk(case.f, case.x, list(case.parameters), folder)

    def backward(y: Any, **how: bool) -> object:
        for tensor in wanted.values():
            tensor.grad = None
        if isinstance(y, Tensor):
            total = y.sum()
            raised = error_of_torch(lambda: total.backward(**how))
            if raised:
                return raised
        return {f"{name}.grad": tensor.grad for name, tensor in wanted.items()}

    def gradients_of(y: Any, **how: bool) -> object:
        found = backward(y, **how)
        if isinstance(found, dict) and isinstance(plain, dict):
            found["all digits are right"] = all(digits_are_right(found[name], right) for name, right in plain.items())
        return found

    y = case.f(case.x)
    truth, plain = y.detach().clone(), backward(y)
    del y
    for tensor in (case.x, *case.parameters):
        tensor.grad = None  # the answer gets these tensors
    alive = count_saves(case.f, case.x, case.parameters)
    again: object = None
    used = dropped = after_backward = 0
    folder = empty_folder("disk")
    with using_answer():
        with live_bytes() if case.measured else nullcontext() as live:
            y = run(folder)
            used = unread = live.now if live else 0
            right = isinstance(y, Tensor) and torch.equal(y, truth)
            files, written = count_files(folder)
            largest, lacking = largest_file(folder), largest_lacking(folder, saved)
            gradients = gradients_of(y, retain_graph=True)
            if live:
                backward(None)
                case.parameters[1].grad = None
                kept = [t for t in gradients.values() if isinstance(t, Tensor)] if isinstance(gradients, dict) else []
                used = max(used, live.now - sum(map(nbytes, kept)))  # what was read from a file must not stay either
            else:
                again = gradients_of(y)
                after_backward = count_files(folder)[0]
        del y
        if case.measured:
            gc.collect(1)
            dropped = count_files(folder)[0]
    backward(None)
    return {
        "in_files": {
            "the result is f(x)": right,
            "saved tensors without a file": max(0, len(saved) - files),
            "largest without a file": lacking,
            "files hold all bytes": written >= 0.8 * sum(saved),
        },
        "gradient": _summed(gradients),
        "again": _summed(again),
        "written": AtMost(sum(saved) + 4096 * len(saved), written),
        "memory": AtMost(result + 1024, used),
        "files_left": {
            "of dropped results": max(0, files - alive),
            "after backward": after_backward,
            "result dropped": dropped,
        },
        "files": files,
        "memory is free before files are read": unread <= result + 1024,
        "holds_the_table": largest >= nbytes(case.f.constants[0]),
        "holds_the_weight": largest >= nbytes(case.parameters[0]),
    }


def _summed(gradients: object) -> object:
    """Return sums over each axis in place of the gradients.

    The gradients have 8,000 entries, and all digits would be compared.
    """
    if not isinstance(gradients, dict):
        return gradients
    found: dict[str, object] = {}
    for name, value in gradients.items():
        axes = range(value.dim()) if isinstance(value, Tensor) else ()
        found |= {f"{name}.sum({axis})": value.sum(axis) for axis in axes} or {name: value}
    return found


save_on_disk.cases(disk_cases)
