"""Core exercise: repair hooks that save large tensors in files."""

from __future__ import annotations

import gc
import io
import os
import tempfile
import uuid
import weakref
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, leaf, uniform
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import CountedCalls, live_bytes

from .common import Function, digits_are_right, gradient, measure_saves, nbytes
from .tensor_files import count_files, empty_folder, read_file, read_if_file, saving_to_files, write_file


@exercise(
    title=Text("The threshold", "Порог"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=10,
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
        Text(
            "`torch.save` has to get the argument of `pack_hook`; what stays in memory has to be a tensor with the "
            "same numbers and no `grad_fn`.",
            "В `torch.save` нужно передать аргумент `pack_hook`; в памяти должен оставаться тензор с теми же числами, "
            "но без `grad_fn`.",
        ),
    ],
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
            has_graph = isinstance(y, Tensor) and y.requires_grad
            found = {"first backward": gradient(y, case.x, True)}
            kept = sum(nbytes(t) for t in found.values() if isinstance(t, Tensor))
            too_many = max(before, live.now - kept - may_stay)  # what was read must not stay either
            found["second backward"] = gradient(y, case.x)
            del y
        calls = saves.times
        with using_answer(), live_bytes() as live:
            run(case.f, case.x, case.threshold)
            if live.now:
                gc.collect(1)
        left = {"bytes in memory": live.now, "files": count_files(folder)[0]}
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


def _keep(t: Tensor) -> Tensor:
    return t


def _raise_name_error(t: Tensor) -> object:
    raise NameError("name 'tensor' is not defined")


@fix_threshold.mistake(
    en="The name in `torch.save` was mended, but a small tensor is still kept with its history. When an operation saves its "
    "result, the graph then holds a tensor that holds the graph, and the garbage collector does not see it.",
    ru="Имя в `torch.save` исправлено, но малый тензор по-прежнему хранится вместе с историей. Если операция сохраняет свой "
    "результат, граф держит тензор, а тензор — граф, и сборщик мусора этого не видит.",
)
def mends_the_name(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(_keep)(f, x, threshold)


@fix_threshold.mistake(
    en="`torch.save` still gets a name that is not defined. Only tensors of `threshold` entries or more reach that "
    "line.",
    ru="В `torch.save` по-прежнему передано имя, которое нигде не определено. До этой строки доходят только тензоры, в "
    "которых не меньше `threshold` элементов.",
)
def mends_the_leak(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(Tensor.detach, _raise_name_error)(f, x, threshold)


@fix_threshold.mistake(*fix_threshold.mistakes["mends_the_leak"].says)
def mends_nothing(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(_keep, _raise_name_error)(f, x, threshold)


@fix_threshold.mistake(
    en="`detach_()` was called, which cuts the tensor itself out of the graph; it may be the result.",
    ru="Вызван метод `detach_()`: от графа отсоединён сам тензор, а это может быть результат.",
)
def detaches_in_place(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(lambda t: t.detach_())(f, x, threshold)


@fix_threshold.mistake(
    en="The hook keeps a weak reference. Nothing else holds an intermediate result, so it is gone when backward needs "
    "it.",
    ru="В хуке хранится слабая ссылка. Больше на промежуточный результат ничто не ссылается, и к обратному проходу его "
    "уже нет.",
)
def keeps_a_weak_reference(f: Function, x: Tensor, threshold: int) -> Tensor:
    def unpack(packed: Any) -> Any:
        return packed() if isinstance(packed, weakref.ref) else read_file(packed)

    return saving_to_files(weakref.ref, write_file, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="The file is gone before `backward()` reads it: its name is kept, but not the object or the folder with which the "
    "file goes.",
    ru="Файл исчезает раньше, чем его прочтёт `backward()`: хранится имя файла, но не объект и не папка, вместе с которыми "
    "он исчезает.",
)
def keeps_the_name_of_the_file(f: Function, x: Tensor, threshold: int) -> Tensor:
    def unpack(packed: Any) -> Any:
        return torch.load(packed) if isinstance(packed, str) else packed

    return saving_to_files(Tensor.detach, lambda t: write_file(t).name, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="`pack_hook` returns nothing for a big tensor. It has to return the file object.",
    ru="Для большого тензора `pack_hook` ничего не возвращает, а нужно вернуть объект-файл.",
)
def forgets_the_file(f: Function, x: Tensor, threshold: int) -> Tensor:
    def write(t: Tensor) -> None:
        write_file(t)

    return saving_to_files(Tensor.detach, write)(f, x, threshold)


@fix_threshold.mistake(
    en="What comes back has no graph: `return` is missing, or `f` ran under `no_grad()`.",
    ru="У возвращаемого значения нет графа: либо забыт `return`, либо функция `f` выполнена внутри `no_grad()`.",
)
def loses_the_result(f: Function, x: Tensor, threshold: int) -> Tensor:
    with torch.no_grad():
        return saving_to_files(Tensor.detach)(f, x, threshold)


@fix_threshold.mistake(
    en="`requires_grad_(False)` was called on the tensor itself. Only a leaf's flag can be switched off; `detach()` "
    "gives another tensor with the same memory.",
    ru="Для самого тензора вызван `requires_grad_(False)`. Флаг можно выключить только у листа; `detach()` даёт другой "
    "тензор с той же памятью.",
)
def changes_the_flag(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(lambda t: t.requires_grad_(False))(f, x, threshold)


@fix_threshold.mistake(
    en="Every tensor is written to a file. Those with fewer than `threshold` entries should stay in memory.",
    ru="В файл записывается любой тензор. Те, в которых меньше `threshold` элементов, должны оставаться в памяти.",
)
def writes_everything(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(Tensor.detach, is_small=lambda size, limit: False)(f, x, threshold)


@fix_threshold.mistake(
    en="No tensor is written to a file any more. Those with `threshold` entries or more should be.",
    ru="В файлы ничего не записывается, а должны записываться тензоры, в которых не меньше `threshold` элементов.",
)
def writes_nothing(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(Tensor.detach, is_small=lambda size, limit: True)(f, x, threshold)


@fix_threshold.mistake(
    en="A tensor of exactly `threshold` entries stays in memory. Only smaller ones should.",
    ru="Тензор ровно из `threshold` элементов остаётся в памяти, а оставаться должны только меньшие.",
)
def includes_the_threshold(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(Tensor.detach, is_small=int.__le__)(f, x, threshold)


@fix_threshold.mistake(
    en="A big tensor is written and kept as well, so the file saves no memory.",
    ru="Большой тензор записывается в файл и при этом остаётся в памяти, поэтому память не экономится.",
)
def writes_and_keeps(f: Function, x: Tensor, threshold: int) -> Tensor:
    def unpack(packed: Any) -> Any:
        return packed[1] if isinstance(packed, tuple) else packed

    return saving_to_files(Tensor.detach, lambda t: (write_file(t.detach()), t.detach().clone()), unpack)(
        f, x, threshold
    )


@fix_threshold.mistake(
    en="The files outlive the graph: nobody deletes them, or the objects with `__del__` are held by somebody else. The graph "
    "alone has to hold them.",
    ru="Файлы переживают граф: их никто не удаляет, или объекты с методом `__del__` держит кто-то ещё. Держать их должен "
    "только граф.",
)
def leaves_the_files(f: Function, x: Tensor, threshold: int) -> Tensor:
    def write(t: Tensor) -> str:
        name = os.path.join(tempfile.gettempdir(), str(uuid.uuid4()))
        torch.save(t.detach(), name)
        return name

    def unpack(packed: Any) -> Any:
        return torch.load(packed) if isinstance(packed, str) else packed

    return saving_to_files(Tensor.detach, write, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="A file is deleted or emptied when it is read. A second backward pass reads it again; the object deletes its "
    "file when it goes.",
    ru="Файл удаляется или очищается при чтении. Но второй обратный проход прочтёт этот файл снова, а удалит его сам "
    "объект, когда исчезнет.",
)
def reads_once(f: Function, x: Tensor, threshold: int) -> Tensor:
    def unpack(packed: Any) -> Any:
        if isinstance(packed, Tensor):
            return packed
        loaded = read_file(packed)
        os.remove(packed.name)
        return loaded

    return saving_to_files(Tensor.detach, write_file, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="The comparison is the wrong way round: small tensors are written, and big ones stay in memory.",
    ru="Сравнение перевёрнуто: в файлы записываются малые тензоры, а большие остаются в памяти.",
)
def turns_the_comparison(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(Tensor.detach, is_small=int.__ge__)(f, x, threshold)


@fix_threshold.mistake(
    en="The threshold is compared with the length, `len(t)` or one dimension of the shape. That is not the number of "
    "entries: 3 rows of 15 are 45.",
    ru="С порогом сравнивается `len(t)` или размер по одному измерению. Это не число элементов: в 3 строках по 15 их "
    "45.",
)
def compares_the_length(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(Tensor.detach, size=len)(f, x, threshold)


@fix_threshold.mistake(
    en="The threshold is compared with a number of bytes. It is a number of entries, `t.numel()`.",
    ru="С порогом сравнивается число байтов. Но порог задан числом элементов, `t.numel()`.",
)
def compares_bytes(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(Tensor.detach, size=nbytes)(f, x, threshold)


@fix_threshold.mistake(
    en="What was read from a file stays in memory after the backward pass. Read it each time, and keep nothing.",
    ru="То, что прочитано из файла, остаётся в памяти и после обратного прохода. Читайте каждый раз заново и ничего не "
    "храните.",
)
def caches_what_it_read(f: Function, x: Tensor, threshold: int) -> Tensor:
    def unpack(packed: Any) -> Any:
        if isinstance(packed, Tensor):
            return packed
        if not hasattr(packed, "cache"):
            packed.cache = read_file(packed)
        return packed.cache

    return saving_to_files(Tensor.detach, write_file, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="Big tensors are turned into bytes in memory: no file is written.",
    ru="Большие тензоры превращаются в байты в памяти: файлов нет.",
)
def writes_to_a_buffer(f: Function, x: Tensor, threshold: int) -> Tensor:
    def write(t: Tensor) -> io.BytesIO:
        buffer = io.BytesIO()
        torch.save(t, buffer)
        return buffer

    def unpack(packed: Any) -> Any:
        if isinstance(packed, Tensor):
            return packed
        packed.seek(0)
        return torch.load(packed)

    return saving_to_files(Tensor.detach, write, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="`f` ran on a detached copy of `x`: the gradient never reaches `x`.",
    ru="`f` выполнена на отсоединённой копии `x`: до самого `x` градиент не доходит.",
)
def runs_on_a_detached_leaf(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(Tensor.detach)(f, x.detach().requires_grad_(), threshold)


@fix_threshold.mistake(
    en="All big tensors share one file: each save writes over the one before.",
    ru="У всех больших тензоров один файл: каждое сохранение затирает предыдущее.",
)
def writes_one_file(f: Function, x: Tensor, threshold: int) -> Tensor:
    files: list[Any] = []

    def write(t: Tensor) -> object:
        if files:
            torch.save(t.detach(), files[0].name)
        else:
            files.append(write_file(t.detach()))
        return files[0]

    return saving_to_files(Tensor.detach, write)(f, x, threshold)


@fix_threshold.mistake(
    en="The threshold is compared with the size of the storage. A tensor may be a small part of it; the threshold is a "
    "number of entries, `t.numel()`.",
    ru="С порогом сравнивается размер хранилища. Тензор может занимать в нём малую часть, а порог задан числом элементов, "
    "`t.numel()`.",
)
def compares_the_storage(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(Tensor.detach, size=lambda t: t.untyped_storage().nbytes() // t.element_size())(
        f, x, threshold
    )


@fix_threshold.mistake(
    en="The size is compared with a number of your own and not with `threshold`.",
    ru="Размер сравнивается не с `threshold`, а с числом, записанным в коде.",
)
def compares_with_ten(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(Tensor.detach)(f, x, 10)


@fix_threshold.mistake(
    en="The parameter of `pack_hook` has another name now, and `x` is the argument of the whole function: not what is being "
    "saved.",
    ru="У параметра `pack_hook` теперь другое имя, а `x` — аргумент всей функции, а не то, что сохраняется.",
)
def keeps_the_outer_x(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(lambda t: x, size=lambda t: x.numel())(f, x, threshold)


@fix_threshold.mistake(*fix_threshold.mistakes["keeps_the_outer_x"].says)
def compares_the_outer_x(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(Tensor.detach, size=lambda t: x.numel())(f, x, threshold)


@fix_threshold.mistake(*fix_threshold.mistakes["keeps_the_outer_x"].says)
def writes_the_outer_x(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(Tensor.detach, lambda t: write_file(x))(f, x, threshold)


@fix_threshold.mistake(*fix_threshold.mistakes["writes_and_keeps"].says)
def writes_and_keeps_itself(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(
        Tensor.detach, lambda t: (write_file(t), t.detach()), lambda p: p[1] if isinstance(p, tuple) else p
    )(f, x, threshold)


@fix_threshold.mistake(
    en="Only float16 numbers are in the files. Three digits are left, and the gradient is another one.",
    ru="В файлах лежат числа float16. От них остаётся три цифры, и градиент получается другим.",
)
def writes_halves(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(Tensor.detach, lambda t: write_file(t.half()), lambda p: read_if_file(p).to(x.dtype))(
        f, x, threshold
    )


@fix_threshold.mistake(
    en="`unpack_hook` gives back the file object as it is. It has to read the file and return the tensor.",
    ru="Хук `unpack_hook` возвращает сам объект-файл, а должен прочитать файл и вернуть тензор.",
)
def forgets_to_read(f: Function, x: Tensor, threshold: int) -> Tensor:
    return saving_to_files(Tensor.detach, write_file, lambda packed: packed)(f, x, threshold)
