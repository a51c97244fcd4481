# %%
import os
import tempfile
import uuid
import weakref
from pathlib import Path

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from .common import read_if_file, write_file


def hooks_for_files(parameters, write, unpack=read_if_file):
    """Return saved-tensor hooks that write every tensor except parameters to a file.

    `write` saves a tensor and returns what `unpack` needs.
    """
    weights = {p.untyped_storage().data_ptr() for p in parameters}

    def pack(t):
        return t.detach() if t.untyped_storage().data_ptr() in weights else write(t)

    return saved_tensors_hooks(pack, unpack)


def copy_of(t):
    return t.detach().clone()


def keeping(stays, folder):
    """Return saved-tensor hooks that write every tensor to a file for which `stays` is not true."""
    return saved_tensors_hooks(lambda t: t.detach() if stays(t) else write_file(copy_of(t), folder), read_if_file)


def write_under_a_name(t, folder):
    """Write a tensor to a file that nobody deletes, and return its name."""
    name = os.path.join(folder, str(uuid.uuid4()))
    torch.save(copy_of(t), name)
    return name


def load_if_name(packed):
    return packed if isinstance(packed, Tensor) else torch.load(packed)


def read_as_before(packed):
    """Return a tensor, read from a file and cast to its dtype if `packed` is a pair of file and dtype."""
    return packed if isinstance(packed, Tensor) else read_if_file(packed[0]).to(packed[1])


def remove_files(names):
    for name in names:
        Path(name).unlink(missing_ok=True)

# %% mistake="writes_no_file" theme="missing"
# `folder` is empty while the graph is alive, and the saved tensors are in memory. So it is when `f` runs without
#     the hooks, when its result comes from another folder, or when the hooks keep every tensor.
# Пока граф существует, папка `folder` пуста, а сохранённые тензоры лежат в памяти. Так бывает, когда функция `f`
#     выполняется без хуков, когда её результат взят из другой папки или когда хуки оставляют в памяти все тензоры.
def save_on_disk(f, x, parameters, folder):
    return f(x)

# %% mistake="writes_elsewhere" theme="missing"
# `folder` is empty: the files are written somewhere else, not at all, or they are gone with the graph.
# Папка `folder` пуста: файлы записываются в другое место, не записываются вовсе или уже исчезли вместе с графом.
def save_on_disk(f, x, parameters, folder):
    with hooks_for_files(parameters, lambda t: write_file(copy_of(t))):
        return f(x)

# %% mistake="keeps_only_the_name" theme="graph_life"
# When backward needs a file, it is not there. So it is when only a name is kept, not the object whose `__del__`
#     removes the file, or when nothing was written.
# К обратному проходу файлов нет. Так бывает, когда хранится только имя, а не объект, который удаляет файл в
#     `__del__`, или когда в файлы ничего не записано.
def save_on_disk(f, x, parameters, folder):
    with hooks_for_files(
        parameters,
        lambda t: write_file(copy_of(t), folder).name,
        load_if_name,
    ):
        return f(x)

# %% mistake="removes_no_file" theme="graph_life"
# The files outlive the graph: nothing removes them, or the objects that do are held by somebody else. Let the graph
#     alone hold an object that removes its file when it goes.
# Файлы переживают граф: их никто не удаляет, или объекты, которые это делают, держит кто-то ещё. Пусть объект,
#     который удаляет свой файл, держит только граф.
def save_on_disk(f, x, parameters, folder):
    with hooks_for_files(parameters, lambda t: write_under_a_name(t, folder), load_if_name):
        return f(x)

# %% mistake="removes_when_unpacking" theme="graph_life"
# The files are removed during the first backward pass, by `unpack` or by a hook. A second pass then finds nothing: a
#     file has to last as long as the graph.
# Файлы удаляются во время первого обратного прохода — в `unpack` или в хуке. Тогда второй проход ничего не найдёт:
#     файл должен существовать столько же, сколько и граф.
def save_on_disk(f, x, parameters, folder):
    def unpack(packed):
        if isinstance(packed, Tensor):
            return packed
        loaded = torch.load(packed)
        os.remove(packed)
        return loaded

    with hooks_for_files(parameters, lambda t: write_under_a_name(t, folder), unpack):
        return f(x)

# %% mistake="writes_the_storage" theme="in_place"
# A slice is saved as it is. `torch.save` writes the storage, not the view: the whole table goes into the file.
# Срез сохраняется как есть. Но `torch.save` записывает хранилище, а не представление: в файл попадает вся таблица.
def save_on_disk(f, x, parameters, folder):
    with hooks_for_files(parameters, lambda t: write_file(t.detach(), folder)):
        return f(x)

# %% mistake="writes_the_weight" theme="in_place"
# The weight is written as well. A layer saves a view of it, which is another object with the same memory.
# В файл записывается и вес. Слой сохраняет его представление, то есть другой объект с той же памятью.
def save_on_disk(f, x, parameters, folder):
    with hooks_for_files([], lambda t: write_file(copy_of(t), folder)):
        return f(x)

# %% mistake="compares_first_addresses" theme="in_place"
# A weight that is saved whole was recognised, a view of a part of it was not. Compare
#     `untyped_storage().data_ptr()`: first entries and shapes of a view may be others.
# Вес, сохранённый целиком, распознан, а представление его части — нет. Сравнивайте `untyped_storage().data_ptr()`:
#     первый элемент и форма у представления могут быть другими.
def save_on_disk(f, x, parameters, folder):
    firsts = {p.data_ptr() for p in parameters}
    with keeping(lambda t: t.data_ptr() in firsts, folder):
        return f(x)

# %% mistake="keeps_x_in_memory" theme="missing"
# One saved tensor has no file: either `x` is kept in memory with the parameters, or a tensor was taken for another
#     one, whose address or `id` it has got. Each needs a file of its own.
# У одного сохранённого тензора нет файла: либо `x` остаётся в памяти вместе с параметрами, либо тензор принят за
#     другой, чей адрес или `id` ему достался. У каждого должен быть свой файл.
def save_on_disk(f, x, parameters, folder):
    with hooks_for_files([*parameters, x], lambda t: write_file(copy_of(t), folder)):
        return f(x)

# %% mistake="writes_storage_and_weight" theme="in_place"
# There are two mistakes: a slice is saved with its whole storage, and the weight is written as well.
# Ошибки две: срез сохраняется вместе со всем хранилищем, и вес тоже записывается в файл.
def save_on_disk(f, x, parameters, folder):
    with hooks_for_files([], lambda t: write_file(t.detach(), folder)):
        return f(x)

# %% mistake="keeps_the_tensor_too" theme="cost"
# What `pack` returned holds too much in memory, such as the tensor beside its file, or a copy of a parameter.
# То, что вернул `pack`, держит в памяти лишнее, например сам тензор рядом с его файлом или копию параметра.
def save_on_disk(f, x, parameters, folder):
    def write(t):
        file = write_file(copy_of(t), folder)
        file.tensor = t.detach()
        return file

    with hooks_for_files(parameters, write):
        return f(x)

# %% mistake="caches_what_it_read" theme="cost"
# What was read from a file stays in memory after the backward pass. Read it each time, and keep nothing.
# То, что прочитано из файла, остаётся в памяти и после обратного прохода. Читайте каждый раз заново и ничего не
#     храните.
def save_on_disk(f, x, parameters, folder):
    def read(packed):
        if isinstance(packed, Tensor):
            return packed
        if not hasattr(packed, "tensor"):
            packed.tensor = read_if_file(packed)
        return packed.tensor

    with hooks_for_files(parameters, lambda t: write_file(copy_of(t), folder), read):
        return f(x)

# %% mistake="shares_one_file" theme="in_place"
# All tensors share one file: each save overwrites the one before.
# У всех тензоров один файл: каждое сохранение записывается поверх предыдущего.
def save_on_disk(f, x, parameters, folder):
    def write(t):
        torch.save(copy_of(t), os.path.join(folder, "saved.pt"))
        return os.path.join(folder, "saved.pt")

    with hooks_for_files(parameters, write, load_if_name):
        return f(x)

# %% mistake="returns_nothing" theme="return"
# What came back is not `f(x)`: nothing, or something else.
# Функция возвращает не `f(x)`, а что-то другое или ничего.
def save_on_disk(f, x, parameters, folder):
    with hooks_for_files(parameters, lambda t: write_file(copy_of(t), folder)):
        f(x)

# %% mistake="keeps_small_ones" theme="missing"
# Small tensors stay in memory. Every saved tensor has to be in a file, however small.
# Малые тензоры остаются в памяти. В файле должен лежать каждый сохранённый тензор, даже самый маленький.
def save_on_disk(f, x, parameters, folder):
    def write(t):
        return t.detach() if t.numel() < 16 else write_file(copy_of(t), folder)

    with hooks_for_files(parameters, write):
        return f(x)

# %% mistake="keeps_single_numbers" like="keeps_small_ones"
def save_on_disk(f, x, parameters, folder):
    with hooks_for_files(parameters, lambda t: write_file(copy_of(t), folder) if t.dim() else t.detach()):
        return f(x)

# %% mistake="compares_bases" theme="in_place"
# Parameters are recognised as objects or by `_base`. `W.detach()` is another object without a base and lies in the
#     same memory: compare `untyped_storage().data_ptr()`.
# Параметры распознаются как объекты или по `_base`. `W.detach()` — другой объект, без базы, но в той же памяти:
#     сравнивайте `untyped_storage().data_ptr()`.
def save_on_disk(f, x, parameters, folder):
    with keeping(lambda t: any(t is p or t._base is p for p in parameters), folder):
        return f(x)

# %% mistake="writes_float32" theme="precision"
# float64 numbers are written as float32: half of their digits are lost.
# Числа float64 записываются как float32: половина цифр теряется.
def save_on_disk(f, x, parameters, folder):
    with hooks_for_files(
        parameters, lambda t: (write_file(t.detach().to(torch.float32, copy=True), folder), t.dtype), read_as_before
    ):
        return f(x)

# %% mistake="keeps_dropped_files" theme="graph_life"
# Files of what `f` has dropped stay while the graph lives: something other than the graph holds them.
# Файлы тензоров, которые `f` отбросила, остаются, пока существует граф: их держит не граф, а что-то другое.
def save_on_disk(f, x, parameters, folder):
    own = tempfile.TemporaryDirectory(dir=folder)

    def unpack(packed):
        assert os.path.isdir(own.name)  # the hooks keep the folder
        return load_if_name(packed)

    with hooks_for_files(parameters, lambda t: write_under_a_name(t, own.name), unpack):
        return f(x)

# %% mistake="takes_leaves_for_parameters" theme="recording"
# Every leaf that requires grad was taken for a parameter. `x` is such a leaf, and a view of a weight is none.
# За параметр принят каждый лист, который требует градиента. Но таков и лист `x`, а представление веса — не лист.
def save_on_disk(f, x, parameters, folder):
    with keeping(lambda t: t.is_leaf and t.requires_grad, folder):
        return f(x)

# %% mistake="keeps_all_that_requires_grad" theme="recording"
# Every tensor that requires grad was taken for a parameter. Results and `x` require grad, too.
# За параметр принят каждый тензор, который требует градиента. Но градиента требуют и `x`, и результаты.
def save_on_disk(f, x, parameters, folder):
    with keeping(lambda t: t.requires_grad, folder):
        return f(x)

# %% mistake="writes_halves" theme="precision"
# float16 numbers are written: only three digits are left.
# Записываются числа float16: верных цифр остаётся только три.
def save_on_disk(f, x, parameters, folder):
    with hooks_for_files(parameters, lambda t: (write_file(t.detach().half(), folder), t.dtype), read_as_before):
        return f(x)

# %% mistake="loses_the_shape" theme="axes"
# The tensors come back in another shape, such as flat. Each has to come back in its own.
# Тензоры возвращаются в другой форме, например вытянутыми в строку, а форма каждого должна быть прежней.
def save_on_disk(f, x, parameters, folder):
    with hooks_for_files(parameters, lambda t: write_file(copy_of(t).flatten(), folder)):
        return f(x)

# %% mistake="removes_with_the_result" theme="graph_life"
# The files go with the tensor that comes back, not with its graph. A loss computed from it may need the graph
#     longer.
# Файлы исчезают вместе с возвращённым тензором, а не с его графом. А граф может понадобиться и дольше: например,
#     для функции потерь, вычисленной из этого тензора.
def save_on_disk(f, x, parameters, folder):
    names = []

    def write(t):
        names.append(write_under_a_name(t, folder))
        return names[-1]

    with hooks_for_files(parameters, write, load_if_name):
        y = f(x)
    weakref.finalize(y, remove_files, names)
    return y

# %% mistake="reuses_a_name" theme="in_place"
# A file is named after the number of files in the folder. When one has been deleted, a name comes up again and a file
#     that is still needed is written over.
# Файл назван по числу файлов в папке. Когда какой-то из них удалён, имя повторяется, и поверх нужного файла
#     записывается другой.
def save_on_disk(f, x, parameters, folder):
    class File:
        def __init__(self, t):
            self.name = os.path.join(folder, f"{len(os.listdir(folder))}.pt")
            torch.save(copy_of(t), self.name)

        def __del__(self):
            Path(self.name).unlink(missing_ok=True)

    def read(packed):
        return packed if isinstance(packed, Tensor) else torch.load(packed.name)

    with hooks_for_files(parameters, File, read):
        return f(x)

# %% mistake="keeps_the_node" theme="graph_life"
# What `pack` returned holds the node that made the tensor. If that node saves its own result, the two hold each other, and the
#     file stays when the result is dropped.
# То, что вернул `pack`, держит узел, который создал тензор. Если этот узел сохраняет собственный результат, они держат друг
#     друга, и файл остаётся, когда результат отброшен.
def save_on_disk(f, x, parameters, folder):
    def write(t):
        file = write_file(copy_of(t), folder)
        file.node = t.grad_fn
        return file

    with hooks_for_files(parameters, write):
        return f(x)
