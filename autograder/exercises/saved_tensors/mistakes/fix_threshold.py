# %%
import io
import os
import tempfile
import uuid
import weakref

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from ..common import nbytes
from .common import TempFile, read_file, read_if_file, write_file


def _keep(t):
    return t


def _raise_name_error(t):
    raise NameError("name 'tensor' is not defined")


def saving_to_files(keep, write=write_file, unpack=read_if_file, is_small=int.__lt__, size=Tensor.numel):
    """Return an answer that saves large tensors in files; a mistake replaces parts of it.

    `keep` stores a small tensor, `write` a large one, and `unpack` restores both. `size` and `is_small` compare a
    tensor with the threshold.
    """

    def run(f, x, threshold):
        def pack(t):
            return keep(t) if is_small(size(t), threshold) else write(t)

        with saved_tensors_hooks(pack, unpack):
            return f(x)

    return run

# %% mistake="mends_the_name" theme="graph_life"
# The name in `torch.save` was mended, but a small tensor is still kept with its history. When an operation saves
#     its result, the graph then holds a tensor that holds the graph, and the garbage collector does not see it.
# Имя в `torch.save` исправлено, но малый тензор по-прежнему хранится вместе с историей. Если операция сохраняет
#     свой результат, граф держит тензор, а тензор — граф, и сборщик мусора этого не видит.
def fix_threshold(f, x, threshold):
    return saving_to_files(_keep)(f, x, threshold)

# %% mistake="mends_the_leak" theme="missing"
# `torch.save` still gets a name that is not defined. Only tensors of `threshold` entries or more reach that line.
# В `torch.save` по-прежнему передано имя, которое нигде не определено. До этой строки доходят только тензоры, в
#     которых не меньше `threshold` элементов.
def fix_threshold(f, x, threshold):
    return saving_to_files(Tensor.detach, _raise_name_error)(f, x, threshold)

# %% mistake="detaches_in_place" theme="recording"
# `detach_()` was called, which cuts the tensor itself out of the graph; it may be the result.
# Вызван метод `detach_()`: от графа отсоединён сам тензор, а это может быть результат.
def fix_threshold(f, x, threshold):
    return saving_to_files(lambda t: t.detach_())(f, x, threshold)

# %% mistake="keeps_a_weak_reference" theme="graph_life"
# For a small tensor the unpacking hook gives back something else. So it is when a weak reference is kept: nothing
#     else holds an intermediate result, and it is gone when backward needs it.
# Вместо малого тензора распаковывающий хук возвращает что-то другое. Так бывает, когда хранится слабая ссылка:
#     больше на промежуточный результат ничто не ссылается, и к обратному проходу его уже нет.
def fix_threshold(f, x, threshold):
    def unpack(packed):
        return packed() if isinstance(packed, weakref.ref) else read_file(packed)

    return saving_to_files(weakref.ref, write_file, unpack)(f, x, threshold)

# %% mistake="keeps_the_name_of_the_file" theme="graph_life"
# The file is gone before `backward()` reads it: its name is kept, but not the object or the folder with which the
#     file goes.
# Файл исчезает раньше, чем его прочтёт `backward()`: хранится имя файла, но не объект и не папка, вместе с которыми
#     он исчезает.
def fix_threshold(f, x, threshold):
    def unpack(packed):
        return torch.load(packed) if isinstance(packed, str) else packed

    return saving_to_files(Tensor.detach, lambda t: write_file(t).name, unpack)(f, x, threshold)

# %% mistake="saves_nothing" theme="missing"
# `torch.save` is not called, so there is no file to read.
# Функция `torch.save` не вызвана, поэтому читать нечего: файла нет.
def fix_threshold(f, x, threshold):
    return saving_to_files(Tensor.detach, lambda t: TempFile())(f, x, threshold)

# %% mistake="forgets_the_file" theme="missing"
# `pack_hook` returns nothing for a big tensor. It has to return the file object.
# Для большого тензора `pack_hook` ничего не возвращает, а нужно вернуть объект-файл.
def fix_threshold(f, x, threshold):
    def write(t):
        write_file(t)

    return saving_to_files(Tensor.detach, write)(f, x, threshold)

# %% mistake="loses_the_result" theme="recording"
# What comes back has no graph. So it is when `return` is missing, when `f` ran under `no_grad()`, or when the
#     result was detached.
# У возвращаемого значения нет графа. Так бывает, когда забыт `return`, когда `f` выполнена внутри `no_grad()` или
#     когда результат отсоединён.
def fix_threshold(f, x, threshold):
    with torch.no_grad():
        return saving_to_files(Tensor.detach)(f, x, threshold)

# %% mistake="changes_the_flag" theme="recording"
# `requires_grad_(False)` was called on the tensor itself. Only a leaf's flag can be switched off; `detach()` gives
#     another tensor with the same memory.
# Для самого тензора вызван `requires_grad_(False)`. Флаг можно выключить только у листа; `detach()` даёт другой
#     тензор с той же памятью.
def fix_threshold(f, x, threshold):
    return saving_to_files(lambda t: t.requires_grad_(False))(f, x, threshold)

# %% mistake="writes_everything" theme="missing"
# Every tensor is written to a file. Those with fewer than `threshold` entries should stay in memory.
# В файл записывается любой тензор. Те, в которых меньше `threshold` элементов, должны оставаться в памяти.
def fix_threshold(f, x, threshold):
    return saving_to_files(Tensor.detach, is_small=lambda size, limit: False)(f, x, threshold)

# %% mistake="writes_nothing" theme="missing" plain="yes"
# No tensor is written to a file any more. Those with `threshold` entries or more should be.
# В файлы ничего не записывается, а должны записываться тензоры, в которых не меньше `threshold` элементов.
def fix_threshold(f, x, threshold):
    return saving_to_files(Tensor.detach, is_small=lambda size, limit: True)(f, x, threshold)

# %% mistake="includes_the_threshold" theme="missing"
# A tensor of exactly `threshold` entries stays in memory. Only smaller ones should.
# Тензор ровно из `threshold` элементов остаётся в памяти, а оставаться должны только меньшие.
def fix_threshold(f, x, threshold):
    return saving_to_files(Tensor.detach, is_small=int.__le__)(f, x, threshold)

# %% mistake="writes_and_keeps" theme="cost"
# A big tensor is written and kept as well, so the file saves no memory.
# Большой тензор записывается в файл и при этом остаётся в памяти, поэтому память не экономится.
def fix_threshold(f, x, threshold):
    def unpack(packed):
        return packed[1] if isinstance(packed, tuple) else packed

    return saving_to_files(Tensor.detach, lambda t: (write_file(t.detach()), t.detach().clone()), unpack)(
        f, x, threshold
    )

# %% mistake="leaves_the_files" theme="graph_life"
# The files outlive the graph: nobody deletes them, or the objects with `__del__` are held by somebody else. The
#     graph alone has to hold them.
# Файлы переживают граф: их никто не удаляет, или объекты с методом `__del__` держит кто-то ещё. Держать их должен
#     только граф.
def fix_threshold(f, x, threshold):
    def write(t):
        name = os.path.join(tempfile.gettempdir(), str(uuid.uuid4()))
        torch.save(t.detach(), name)
        return name

    def unpack(packed):
        return torch.load(packed) if isinstance(packed, str) else packed

    return saving_to_files(Tensor.detach, write, unpack)(f, x, threshold)

# %% mistake="reads_once" theme="graph_life"
# A file is deleted or emptied when it is read. A second backward pass reads it again; the object deletes its file
#     when it goes.
# Файл удаляется или очищается при чтении. Но второй обратный проход прочтёт этот файл снова, а удалит его сам
#     объект, когда исчезнет.
def fix_threshold(f, x, threshold):
    def unpack(packed):
        if isinstance(packed, Tensor):
            return packed
        loaded = read_file(packed)
        os.remove(packed.name)
        return loaded

    return saving_to_files(Tensor.detach, write_file, unpack)(f, x, threshold)

# %% mistake="turns_the_comparison" theme="own"
# The comparison is the wrong way round: small tensors are written, and big ones stay in memory.
# Сравнение перевёрнуто: в файлы записываются малые тензоры, а большие остаются в памяти.
def fix_threshold(f, x, threshold):
    return saving_to_files(Tensor.detach, is_small=int.__ge__)(f, x, threshold)

# %% mistake="compares_the_length" theme="axes"
# The threshold is compared with the length, `len(t)` or one dimension of the shape. That is not the number of
#     entries: 3 rows of 15 are 45.
# С порогом сравнивается `len(t)` или размер по одному измерению. Это не число элементов: в 3 строках по 15 их 45.
def fix_threshold(f, x, threshold):
    return saving_to_files(Tensor.detach, size=len)(f, x, threshold)

# %% mistake="compares_bytes" theme="own"
# The threshold is compared with a number of bytes. It is a number of entries, `t.numel()`.
# С порогом сравнивается число байтов. Но порог задан числом элементов, `t.numel()`.
def fix_threshold(f, x, threshold):
    return saving_to_files(Tensor.detach, size=nbytes)(f, x, threshold)

# %% mistake="caches_what_it_read" theme="cost"
# What was read from a file stays in memory after the backward pass. Read it each time, and keep nothing.
# То, что прочитано из файла, остаётся в памяти и после обратного прохода. Читайте каждый раз заново и ничего не
#     храните.
def fix_threshold(f, x, threshold):
    def unpack(packed):
        if isinstance(packed, Tensor):
            return packed
        if not hasattr(packed, "cache"):
            packed.cache = read_file(packed)
        return packed.cache

    return saving_to_files(Tensor.detach, write_file, unpack)(f, x, threshold)

# %% mistake="writes_to_a_buffer" theme="missing"
# Big tensors are turned into bytes in memory: no file is written.
# Большие тензоры превращаются в байты в памяти: файлов нет.
def fix_threshold(f, x, threshold):
    def write(t):
        buffer = io.BytesIO()
        torch.save(t, buffer)
        return buffer

    def unpack(packed):
        if isinstance(packed, Tensor):
            return packed
        packed.seek(0)
        return torch.load(packed)

    return saving_to_files(Tensor.detach, write, unpack)(f, x, threshold)

# %% mistake="runs_on_a_detached_leaf" theme="recording"
# `f` ran on a detached copy of `x`: the gradient never reaches `x`.
# `f` выполнена на отсоединённой копии `x`: до самого `x` градиент не доходит.
def fix_threshold(f, x, threshold):
    return saving_to_files(Tensor.detach)(f, x.detach().requires_grad_(), threshold)

# %% mistake="writes_one_file" theme="in_place"
# All big tensors share one file: each save writes over the one before.
# У всех больших тензоров один файл: каждое сохранение затирает предыдущее.
def fix_threshold(f, x, threshold):
    files = []

    def write(t):
        if files:
            torch.save(t.detach(), files[0].name)
        else:
            files.append(write_file(t.detach()))
        return files[0]

    return saving_to_files(Tensor.detach, write)(f, x, threshold)

# %% mistake="compares_the_storage" theme="in_place"
# The threshold is compared with the size of the storage. A tensor may be a small part of it; the threshold is a
#     number of entries, `t.numel()`.
# С порогом сравнивается размер хранилища. Тензор может занимать в нём малую часть, а порог задан числом элементов,
#     `t.numel()`.
def fix_threshold(f, x, threshold):
    return saving_to_files(Tensor.detach, size=lambda t: t.untyped_storage().nbytes() // t.element_size())(
        f, x, threshold
    )

# %% mistake="compares_with_ten" theme="missing"
# The size is compared with a number of your own and not with `threshold`.
# Размер сравнивается не с `threshold`, а с числом, записанным в коде.
def fix_threshold(f, x, threshold):
    return saving_to_files(Tensor.detach)(f, x, 10)

# %% mistake="keeps_the_outer_x" theme="own"
# The parameter of `pack_hook` has another name now, and `x` is the argument of the whole function: not what is
#     being saved.
# У параметра `pack_hook` теперь другое имя, а `x` — аргумент всей функции, а не то, что сохраняется.
def fix_threshold(f, x, threshold):
    return saving_to_files(lambda t: x, size=lambda t: x.numel())(f, x, threshold)

# %% mistake="writes_halves" theme="precision"
# Only float16 numbers are in the files. Three digits are left, and the gradient is another one.
# В файлах лежат числа float16. Верных цифр остаётся три, и градиент получается другим.
def fix_threshold(f, x, threshold):
    return saving_to_files(Tensor.detach, lambda t: write_file(t.half()), lambda p: read_if_file(p).to(x.dtype))(
        f, x, threshold
    )

# %% mistake="forgets_to_read" theme="missing"
# For a big tensor the unpacking hook gives back something else, such as the file object as it is. It has to read
#     the file and return the tensor.
# Вместо большого тензора распаковывающий хук возвращает что-то другое, например сам объект-файл, а должен
#     прочитать файл и вернуть тензор.
def fix_threshold(f, x, threshold):
    return saving_to_files(Tensor.detach, write_file, lambda packed: packed)(f, x, threshold)

# %% mistake="writes_the_outer_x" like="keeps_the_outer_x"
def fix_threshold(f, x, threshold):
    return saving_to_files(Tensor.detach, lambda t: write_file(x.detach()))(f, x, threshold)
