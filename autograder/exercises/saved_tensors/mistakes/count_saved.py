# %%
import weakref

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from autograder.measure import graph_nodes, live_bytes

from ..common import nbytes


def _counting(measure, skip=True):
    """Return a program that counts the bytes of saved tensors.

    `measure` returns a key and the bytes of a saved tensor; tensors with the same key count once. If `skip` is True,
    parameters do not count.
    """

    def count(f, x, parameters):
        kept = {}
        weights = {p.untyped_storage().data_ptr() for p in parameters} if skip else set()

        def pack(t):
            if t.untyped_storage().data_ptr() not in weights:
                key, size = measure(t)
                kept[key] = size
            return t.detach()

        with saved_tensors_hooks(pack, lambda t: t):
            y = f(x)
        del y
        return sum(kept.values())

    return count


def _storage_address(t):
    return t.untyped_storage().data_ptr()


class _Box:
    """A key and a size, which the graph alone keeps alive."""

    def __init__(self, t, key, size):
        self.tensor, self.key, self.size = t.detach(), key, size


def _counting_alive(measure, is_own=None):
    """Return a program like those of `_counting` that leaves out what the graph dropped.

    `is_own` says of a saved tensor whether it is a parameter. By default their storages are compared.
    """

    def count(f, x, parameters):
        boxes = weakref.WeakSet()

        def pack(t):
            own = is_own(t, parameters) if is_own else _storage_address(t) in set(map(_storage_address, parameters))
            key, size = measure(t)
            box = _Box(t, key, 0 if own else size)
            boxes.add(box)
            return box

        with saved_tensors_hooks(pack, lambda box: box.tensor):
            y = f(x)
        found = sum({box.key: box.size for box in boxes}.values())
        del y
        return found

    return count


def _storage_and_size(t):
    return _storage_address(t), t.untyped_storage().nbytes()


def _size_of_nodes(nodes, parameters):
    """Return the bytes of the storages of tensors that `nodes` show as attributes."""
    saved = [getattr(node, name, None) for node in nodes for name in dir(node) if name.startswith("_saved_")]
    storages = dict(_storage_and_size(t) for t in saved if isinstance(t, Tensor))
    return sum(storages[key] for key in storages.keys() - set(map(_storage_address, parameters)))

# %% mistake="counts_every_save" theme="in_place"
# Every save was counted. `x * x` saves the same storage twice.
# Учтено каждое сохранение. Но `x * x` дважды сохраняет одно и то же хранилище.
def count_saved(f, x, parameters):
    return _counting(lambda t: (object(), t.untyped_storage().nbytes()))(f, x, parameters)

# %% mistake="counts_entries_of_saves" theme="in_place"
# The entries of each save were counted. A slice keeps its whole storage, and `x * x` saves one storage twice.
# Учтены элементы каждого сохранённого тензора. Но срез удерживает всё хранилище, а `x * x` дважды сохраняет одно и
#     то же.
def count_saved(f, x, parameters):
    return _counting(lambda t: (object(), nbytes(t)))(f, x, parameters)

# %% mistake="counts_entries_of_tensors" theme="in_place"
# A view was counted by its own entries. It keeps the storage it lies in: a slice more than it shows, the result of
#     `expand` less.
# Представление учтено по его собственным элементам. Но оно удерживает хранилище, в котором лежит: у среза это
#     больше, чем в нём видно, а у результата `expand` — меньше.
def count_saved(f, x, parameters):
    return _counting(lambda t: (_storage_address(t), nbytes(t)))(f, x, parameters)

# %% mistake="counts_parameters" theme="in_place"
# Parameters were counted too. A layer saves a view of its weight: another object, which may begin at another entry,
#     with the same storage.
# Учтены и параметры. Слой сохраняет представление веса: это другой объект с тем же хранилищем, и начинаться
#     он может с другого элемента.
def count_saved(f, x, parameters):
    return _counting(lambda t: (_storage_address(t), t.untyped_storage().nbytes()), skip=False)(f, x, parameters)

# %% mistake="tells_by_first_entries" theme="in_place"
# The saves were told apart by the address of the first entry. Two slices of one tensor begin at different entries,
#     but their storage is one: its address is what counts.
# Ваш код различает сохранённые тензоры по адресу первого элемента. Два среза одного тензора начинаются в разных
#     местах, но хранилище у них одно: важен его адрес.
def count_saved(f, x, parameters):
    return _counting(lambda t: (t.data_ptr(), t.untyped_storage().nbytes()))(f, x, parameters)

# %% mistake="leaves_x_out" theme="missing"
# `x` was left out with the parameters. When the graph saves it, it counts.
# Вместе с параметрами исключён и `x`. Но если граф его сохраняет, он тоже учитывается.
def count_saved(f, x, parameters):
    mine = x.untyped_storage().data_ptr()
    return _counting(
        lambda t: (_storage_address(t), 0 if _storage_address(t) == mine else t.untyped_storage().nbytes())
    )(f, x, parameters)

# %% mistake="counts_calls" theme="missing"
# The number of saves was returned, not bytes.
# Возвращено число сохранений, а не байтов.
def count_saved(f, x, parameters):
    return _counting(lambda t: (object(), 1))(f, x, parameters)

# %% mistake="assumes_float32" theme="precision"
# Four bytes were assumed for every entry. A float64 takes eight, a boolean one.
# Размер любого элемента принят за четыре байта. Но float64 занимает восемь, а логическое значение — один.
def count_saved(f, x, parameters):
    return _counting(lambda t: (_storage_address(t), t.untyped_storage().nbytes() // t.element_size() * 4))(
        f, x, parameters
    )

# %% mistake="returns_no_number" theme="missing"
# Nothing was returned: the number was printed, or `return` is missing.
# Функция ничего не возвращает: число напечатано или забыт `return`.
def count_saved(f, x, parameters):
    return None

# %% mistake="subtracts_all_parameters" theme="recording"
# The bytes of all parameters were subtracted. A bias is not saved at all, so nothing may be subtracted for it.
# Вычтены байты всех параметров. Но смещение вообще не сохраняется, и вычитать за него нечего.
def count_saved(f, x, parameters):
    everything = _counting(lambda t: (_storage_address(t), t.untyped_storage().nbytes()), skip=False)(f, x, parameters)
    return everything - sum(map(nbytes, parameters))

# %% mistake="sees_nothing" theme="graph_life"
# Nothing was counted. So it is when `f` runs outside the `with`, when its result is dropped, or when `backward()`
#     has freed the graph.
# Ничего не сосчитано. Так бывает, когда `f` выполнена вне блока `with`, когда её результат отброшен или когда
#     сохранённое в графе уже освободил вызов `backward()`.
def count_saved(f, x, parameters):
    return 0

# %% mistake="counts_dropped_branches" theme="graph_life"
# Branches that `f` dropped were counted, too. The graph of the result does not keep what only they saved.
# Посчитаны и ветви, которые `f` отбросила. Того, что сохранили только они, граф результата не держит.
def count_saved(f, x, parameters):
    return _counting(lambda t: (_storage_address(t), t.untyped_storage().nbytes()))(f, x, parameters)

# %% mistake="follows_the_first_edge" theme="missing"
# Only the first input of each node was followed. A node may have several: all of `next_functions` lead on.
# Прослежен только первый вход каждого узла. Входов может быть несколько: идти нужно по всем `next_functions`.
def count_saved(f, x, parameters):
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    kept = {}
    y = f(x)
    node = y.grad_fn
    while node is not None:
        for name in dir(node):
            t = getattr(node, name) if name.startswith("_saved_") else None
            if isinstance(t, Tensor) and _storage_address(t) not in weights:
                kept[_storage_address(t)] = t.untyped_storage().nbytes()
        node = node.next_functions[0][0] if node.next_functions else None
    return sum(kept.values())

# %% mistake="counts_parameters_alive" like="counts_parameters"
def count_saved(f, x, parameters):
    return _counting_alive(_storage_and_size)(f, x, [])

# %% mistake="takes_leaves_for_parameters" theme="recording"
# Every leaf that requires grad was taken for a parameter. `x` is such a leaf, too, and counts.
# За параметр принят каждый лист, который требует градиента. Но таков и лист `x`, а он учитывается.
def count_saved(f, x, parameters):
    return _counting_alive(_storage_and_size, lambda t, known: t.is_leaf and t.requires_grad)(f, x, parameters)

# %% mistake="counts_storages" theme="missing"
# The number of storages was returned, not their bytes.
# Возвращено число хранилищ, а не байты.
def count_saved(f, x, parameters):
    return _counting_alive(lambda t: (_storage_address(t), 1))(f, x, parameters)

# %% mistake="adds_up_all_saves" theme="in_place"
# Every save was added up by its own entries, parameters too. A storage counts once and whole, and parameters do not
#     count.
# Сложены элементы всех сохранённых тензоров, в том числе параметров. Но каждое хранилище учитывается один раз и
#     целиком, а параметры не учитываются.
def count_saved(f, x, parameters):
    return _counting(lambda t: (object(), nbytes(t)), skip=False)(f, x, parameters)

# %% mistake="counts_live_bytes" theme="own"
# `live_bytes` was used. It counts everything that `f` allocated, the result as well, and leaves `x` out.
# Использован `live_bytes`. Он учитывает всё, что выделила `f`, в том числе результат, и не учитывает `x`.
def count_saved(f, x, parameters):
    with live_bytes() as live:
        y = f(x)
        now = live.now
    del y
    return now

# %% mistake="counts_the_peak" theme="own"
# `peak` of `live_bytes` was used. It counts all that `f` allocated at once, the result as well, and leaves `x` out.
# Использован `peak` из `live_bytes`. Он учитывает всё, что `f` выделила одновременно, в том числе результат, и не
#     учитывает `x`.
def count_saved(f, x, parameters):
    with live_bytes() as live:
        f(x)
    return live.peak

# %% mistake="reads_the_last_node" theme="missing"
# Only the last node was read. The nodes before it save tensors, too: `next_functions` leads to them.
# Прочитан только последний узел. Но тензоры сохраняют и предыдущие узлы: к ним ведёт `next_functions`.
def count_saved(f, x, parameters):
    return _size_of_nodes([f(x).grad_fn], parameters)

# %% mistake="overlooks_tuples" theme="missing"
# Saved tensors in a tuple were left out: indexing saves its indices in `_saved_indices`, which is a tuple.
# Пропущены сохранённые тензоры в кортеже: индексирование хранит индексы в `_saved_indices`, а это кортеж.
def count_saved(f, x, parameters):
    y = f(x)
    return _size_of_nodes(graph_nodes(y), parameters)

# %% mistake="counts_entries_of_slices" like="counts_entries_of_tensors"
def count_saved(f, x, parameters):
    return _counting_alive(lambda t: (t.data_ptr(), nbytes(t)))(f, x, parameters)

# %% mistake="counts_entries_alive" like="counts_entries_of_tensors"
def count_saved(f, x, parameters):
    return _counting_alive(lambda t: (_storage_address(t), nbytes(t)))(f, x, parameters)

# %% mistake="counts_every_save_alive" like="counts_every_save"
def count_saved(f, x, parameters):
    return _counting_alive(lambda t: (object(), t.untyped_storage().nbytes()))(f, x, parameters)

# %% mistake="counts_entries_of_saves_alive" like="counts_entries_of_saves"
def count_saved(f, x, parameters):
    return _counting_alive(lambda t: (object(), nbytes(t)))(f, x, parameters)

# %% mistake="tells_by_first_entries_alive" like="tells_by_first_entries"
def count_saved(f, x, parameters):
    return _counting_alive(lambda t: (t.data_ptr(), t.untyped_storage().nbytes()))(f, x, parameters)

# %% mistake="leaves_x_out_alive" like="leaves_x_out"
def count_saved(f, x, parameters):
    return _counting_alive(_storage_and_size)(f, x, [*parameters, x])

# %% mistake="compares_first_entries" theme="in_place"
# A parameter was recognised by the address of its first entry. A view of its last rows begins at another entry of the
#     same storage: compare the storages.
# Параметр распознан по адресу первого элемента. Представление его последних строк начинается с другого элемента того же
#     хранилища: сравнивайте хранилища.
def count_saved(f, x, parameters):
    return _counting_alive(_storage_and_size, lambda t, known: t.data_ptr() in {p.data_ptr() for p in known})(
        f, x, parameters
    )
