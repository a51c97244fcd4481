"""Core exercise: hooks that save tensors in files."""

from __future__ import annotations

import gc
import os
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.labels import BYTES_IN_MEMORY
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import live_bytes

from .common import Function, count_saves, digits_are_right, error_of_torch, measure_saves, nbytes
from .disk_cases import disk_cases
from .tensor_files import (
    TempFile,
    copy_of,
    count_files,
    empty_folder,
    hooks_for_files,
    keeping,
    largest_file,
    largest_lacking,
    load_if_name,
    read_as_before,
    remove_files,
    write_file,
    write_under_a_name,
)


@exercise(
    title=Text("Saved tensors in files", "Сохранённые тензоры в файлах"),
    kind="design",
    core=True,
    difficulty=3,
    minutes=20,
    aspects=[
        aspect(
            "in_files",
            0,
            en="While the graph lives, everything that it saved, also a small tensor, lies in files in `folder`.",
            ru="Пока граф жив, всё сохранённое, в том числе малые тензоры, лежит в файлах в папке `folder`.",
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
            ru="После `retain_graph=True` второй обратный проход даёт их снова.",
            after=("in_files", "gradient"),
        ),
        aspect(
            "written",
            1,
            en="The files hold the entries of the saved tensors, 4096 bytes more for each of them at most, and no "
            "parameter (bytes in `folder`).",
            ru="В файлах лежат элементы сохранённых тензоров, не более 4096 лишних байт на каждый; параметров там нет "
            "(байты в `folder`).",
            measured=Text("Bytes in files", "В файлах, байт"),
        ),
        aspect(
            "memory",
            1,
            en="While the graph lives, the memory holds the result and none of the tensors in files (bytes, 1024 to "
            "spare).",
            ru="Пока граф жив, в памяти лежит результат, а тензоров из файлов там нет (байты, с запасом 1024).",
            measured=BYTES_IN_MEMORY,
        ),
        aspect(
            "files_left",
            1,
            en="No file is left after a backward pass that frees the graph, none when the result is dropped, and none of "
            "what `f` itself has dropped (number of files).",
            ru="Файлов не остаётся ни после обратного прохода, который освобождает граф, ни после того, как результат "
            "отброшен, ни от того, что отбросила сама `f` (сколько файлов).",
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
        Text(
            "`weights = {p.untyped_storage().data_ptr() for p in parameters}`; `pack`: a weight → `t.detach()`, else a "
            "new file object with `torch.save`; `unpack`: a tensor as it is, else `torch.load(file.name)`.",
            "`weights = {p.untyped_storage().data_ptr() for p in parameters}`; `pack`: вес → `t.detach()`, иначе новый "
            "объект-файл и `torch.save`; `unpack`: тензор как есть, иначе `torch.load(file.name)`.",
        ),
    ],
)
def save_on_disk(answer: Any, case: Case) -> dict[str, object]:
    saved, result = measure_saves(case.f, case.x, case.parameters)
    wanted = {"x": case.x, "parameter": case.parameters[0]}

    def run(folder: str) -> Any:
        return answer.save_on_disk(case.f, case.x, case.parameters, folder)

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
    plain = backward(y)
    del y
    alive = count_saves(case.f, case.x, case.parameters)
    again: object = None
    used = dropped = after_backward = 0
    folder = empty_folder("disk")
    with using_answer():
        with live_bytes() if case.measured else nullcontext() as live:
            y = run(folder)
            used = live.now if live else 0
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
            "saved tensors without a file": max(0, len(saved) - files),
            "largest without a file": lacking,
            "files hold all bytes": written >= 0.8 * sum(saved),
        },
        "gradient": gradients,
        "again": again,
        "written": AtMost(sum(saved) + 4096 * len(saved), written),
        "memory": AtMost(result + 1024, used),
        "files_left": {
            "of dropped results": max(0, files - alive),
            "after backward": after_backward,
            "result dropped": dropped,
        },
        "files": files,
        "holds_the_table": largest >= nbytes(case.f.constants[0]),
        "holds_the_weight": largest >= nbytes(case.parameters[0]),
    }


save_on_disk.cases(disk_cases)


@save_on_disk.mistake(
    en="`f` runs without the hooks, or its result comes from another folder: `folder` is empty while the graph is "
    "alive, and the saved tensors are in memory.",
    ru="Функция `f` выполняется без хуков, или её результат взят из другой папки: пока граф жив, папка `folder` пуста, "
    "а сохранённые тензоры лежат в памяти.",
)
def writes_no_file(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    return f(x)


@save_on_disk.mistake(
    en="The files are written somewhere else, not in `folder`.",
    ru="Файлы записываются не в `folder`, а в другое место.",
)
def writes_elsewhere(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with hooks_for_files(parameters, lambda t: write_file(copy_of(t))):
        return f(x)


@save_on_disk.mistake(
    en="The files are gone before backward needs them: only a name is kept, not the object whose `__del__` removes the "
    "file.",
    ru="Файлы исчезают раньше, чем понадобятся: хранится только имя, а не объект, который удаляет файл в `__del__`.",
)
def keeps_only_the_name(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with hooks_for_files(
        parameters,
        lambda t: write_file(copy_of(t), folder).name,
        load_if_name,
    ):
        return f(x)


@save_on_disk.mistake(
    en="The files outlive the graph: nothing removes them, or the objects that do are held by somebody else. Let the graph alone hold an object that removes its file when it goes.",
    ru="Файлы переживают граф: их никто не удаляет, или объекты, которые это делают, держит кто-то ещё. Пусть объект, который удаляет свой файл, держит только граф.",
)
def removes_no_file(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with hooks_for_files(parameters, lambda t: write_under_a_name(t, folder), load_if_name):
        return f(x)


@save_on_disk.mistake(
    en="The files are removed during the first backward pass, by `unpack` or by a hook. A second pass then finds nothing, and a graph that is dropped without a backward pass leaves its files behind.",
    ru="Файлы удаляются во время первого обратного прохода — в `unpack` или в хуке. Тогда второй проход ничего не найдёт, а граф, отброшенный без обратного прохода, оставит свои файлы.",
)
def removes_when_unpacking(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    def unpack(packed: Any) -> Any:
        if isinstance(packed, Tensor):
            return packed
        loaded = torch.load(packed)
        os.remove(packed)
        return loaded

    with hooks_for_files(parameters, lambda t: write_under_a_name(t, folder), unpack):
        return f(x)


@save_on_disk.mistake(
    en="A slice is saved as it is. `torch.save` writes the storage, not the view: the whole table goes into the file.",
    ru="Срез сохраняется как есть. Но `torch.save` записывает хранилище, а не представление: в файл попадает вся "
    "таблица.",
)
def writes_the_storage(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with hooks_for_files(parameters, lambda t: write_file(t.detach(), folder)):
        return f(x)


@save_on_disk.mistake(
    en="The weight is written as well. A layer saves a view of it, which is another object with the same memory.",
    ru="В файл записывается и вес. Слой сохраняет его представление, то есть другой объект с той же памятью.",
)
def writes_the_weight(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with hooks_for_files([], lambda t: write_file(copy_of(t), folder)):
        return f(x)


@save_on_disk.mistake(
    en="A weight that is saved whole was recognised, a view of a part of it was not. Compare `untyped_storage().data_ptr()`: first entries and shapes of a view may be others.",
    ru="Вес, сохранённый целиком, распознан, а представление его части — нет. Сравнивайте `untyped_storage().data_ptr()`: первый элемент и форма у представления могут быть другими.",
)
def compares_first_addresses(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    firsts = {p.data_ptr() for p in parameters}
    with keeping(lambda t: t.data_ptr() in firsts, folder):
        return f(x)


@save_on_disk.mistake(
    en="One saved tensor has no file: either `x` is kept in memory with the parameters, or a tensor was taken for another "
    "one, whose address or `id` it has got. Each needs a file of its own.",
    ru="У одного сохранённого тензора нет файла: либо `x` остаётся в памяти вместе с параметрами, либо тензор принят за "
    "другой, чей адрес или `id` ему достался. У каждого должен быть свой файл.",
)
def keeps_x_in_memory(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with hooks_for_files([*parameters, x], lambda t: write_file(copy_of(t), folder)):
        return f(x)


@save_on_disk.mistake(
    en="There are two mistakes: a slice is saved with its whole storage, and the weight is written as well.",
    ru="Ошибки две: срез сохраняется вместе со всем хранилищем, и вес тоже записывается в файл.",
)
def writes_storage_and_weight(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with hooks_for_files([], lambda t: write_file(t.detach(), folder)):
        return f(x)


@save_on_disk.mistake(
    en="The object that `pack` returned holds the tensor beside the file, so nothing leaves the memory.",
    ru="В объекте, который вернул `pack`, кроме файла хранится и сам тензор, поэтому память не освобождается.",
)
def keeps_the_tensor_too(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    def write(t: Tensor) -> TempFile:
        file = write_file(copy_of(t), folder)
        file.tensor = t.detach()  # type: ignore[attr-defined]
        return file

    with hooks_for_files(parameters, write):
        return f(x)


@save_on_disk.mistake(
    en="All tensors share one file: each save overwrites the one before.",
    ru="У всех тензоров один файл: каждое сохранение записывается поверх предыдущего.",
)
def shares_one_file(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    def write(t: Tensor) -> str:
        torch.save(copy_of(t), os.path.join(folder, "saved.pt"))
        return os.path.join(folder, "saved.pt")

    with hooks_for_files(parameters, write, load_if_name):
        return f(x)


@save_on_disk.mistake(
    en="Nothing was returned. The function has to return `f(x)`.",
    ru="Функция ничего не возвращает, а должна вернуть `f(x)`.",
)
def returns_nothing(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> None:
    with hooks_for_files(parameters, lambda t: write_file(copy_of(t), folder)):
        f(x)


@save_on_disk.mistake(
    en="Small tensors stay in memory. Every saved tensor has to be in a file, however small.",
    ru="Малые тензоры остаются в памяти. В файле должен лежать каждый сохранённый тензор, даже самый маленький.",
)
def keeps_small_ones(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    def write(t: Tensor) -> object:
        return t.detach() if t.numel() < 16 else write_file(copy_of(t), folder)

    with hooks_for_files(parameters, write):
        return f(x)


@save_on_disk.mistake(*save_on_disk.mistakes["keeps_small_ones"].says)
def keeps_single_numbers(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with hooks_for_files(parameters, lambda t: write_file(copy_of(t), folder) if t.dim() else t.detach()):
        return f(x)


@save_on_disk.mistake(
    en="Parameters are recognised as objects or by `_base`. `W.detach()` is another object without a base and lies in the "
    "same memory: compare `untyped_storage().data_ptr()`.",
    ru="Параметры распознаются как объекты или по `_base`. `W.detach()` — другой объект, без базы, но в той же памяти: "
    "сравнивайте `untyped_storage().data_ptr()`.",
)
def compares_bases(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with keeping(lambda t: any(t is p or t._base is p for p in parameters), folder):
        return f(x)


@save_on_disk.mistake(
    en="float64 numbers are written as float32: half of their digits are lost.",
    ru="Числа float64 записываются как float32: половина цифр теряется.",
)
def writes_float32(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with hooks_for_files(
        parameters, lambda t: (write_file(t.detach().to(torch.float32, copy=True), folder), t.dtype), read_as_before
    ):
        return f(x)


@save_on_disk.mistake(
    en="Files of what `f` has dropped stay while the graph lives: something other than the graph holds them.",
    ru="Файлы того, что отбросила `f`, остаются, пока жив граф: их держит не граф, а что-то другое.",
)
def keeps_dropped_files(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    own = tempfile.TemporaryDirectory(dir=folder)

    def unpack(packed: Any) -> Any:
        assert os.path.isdir(own.name)  # the hooks keep the folder
        return load_if_name(packed)

    with hooks_for_files(parameters, lambda t: write_under_a_name(t, own.name), unpack):
        return f(x)


@save_on_disk.mistake(
    en="Every leaf that requires grad was taken for a parameter. `x` is such a leaf, and a view of a weight is none.",
    ru="За параметр принят каждый лист, который требует градиента. Но такой лист и `x`, а представление веса — не лист.",
)
def takes_leaves_for_parameters(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with keeping(lambda t: t.is_leaf and t.requires_grad, folder):
        return f(x)


@save_on_disk.mistake(
    en="Every tensor that requires grad was taken for a parameter. Results and `x` require grad, too.",
    ru="За параметр принят каждый тензор, который требует градиента. Но градиента требуют и `x`, и результаты.",
)
def keeps_all_that_requires_grad(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with keeping(lambda t: t.requires_grad, folder):
        return f(x)


@save_on_disk.mistake(
    en="float16 numbers are written: only three digits are left.",
    ru="Записываются числа float16: остаётся только три цифры.",
)
def writes_halves(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with hooks_for_files(parameters, lambda t: (write_file(t.detach().half(), folder), t.dtype), read_as_before):
        return f(x)


@save_on_disk.mistake(
    en="The tensors come back flat. Each has to come back in its own shape.",
    ru="Тензоры возвращаются вытянутыми в строку, а форма каждого должна быть прежней.",
)
def loses_the_shape(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with hooks_for_files(parameters, lambda t: write_file(copy_of(t).flatten(), folder)):
        return f(x)


@save_on_disk.mistake(
    en="The files go with the tensor that comes back, not with its graph. A loss computed from it may need the graph "
    "longer.",
    ru="Файлы исчезают вместе с возвращённым тензором, а не с его графом. А граф может понадобиться и дольше: например, для "
    "функции потерь, вычисленной из этого тензора.",
)
def removes_with_the_result(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    names: list[str] = []

    def write(t: Tensor) -> str:
        names.append(write_under_a_name(t, folder))
        return names[-1]

    with hooks_for_files(parameters, write, load_if_name):
        y = f(x)
    weakref.finalize(y, remove_files, names)
    return y
