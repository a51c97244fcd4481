# %%
import weakref

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks


def address(t):
    return t.untyped_storage().data_ptr()


def nbytes(t):
    return t.untyped_storage().nbytes()


def whole(t):
    """Return the storage of `t` as a tensor with one dimension."""
    return t.detach().as_strided((nbytes(t) // t.element_size(),), (1,), 0)


def place(t):
    return t.size(), t.stride(), t.storage_offset()


def shown(get):
    """Return an `unpack` for tensors, and for pairs of a key and a place."""
    return lambda packed: packed if isinstance(packed, Tensor) else get(packed[0]).as_strided(*packed[1])


def packing(stays, put, known=None):
    """Return a `pack` that moves every storage once for which `stays` is not true."""
    keys = weakref.WeakKeyDictionary() if known is None else known

    def pack(t):
        if stays(t):
            return t.detach()
        storage = t.untyped_storage()
        if storage not in keys:
            keys[storage] = put(whole(t))
        return keys[storage], place(t)

    return pack


def held_or_small(held, limit):
    """Return the right test for what stays."""
    addresses = {address(each) for each in held}
    return lambda t: nbytes(t) < limit or address(t) in addresses

# %% mistake="nothing_moves" theme="missing" plain="yes"
# Nothing is passed to `put`: all that the graph has saved is in this memory.
# В `put` ничего не передано: всё, что сохранил граф, лежит в этой же памяти.
def offload_large(f, x, parameters, limit, put, get):
    return f(x)

# %% mistake="moves_each_save" theme="cost"
# A storage is moved again for every tensor that is saved of it.
# Хранилище выгружается заново для каждого сохранённого тензора, который в нём лежит.
def offload_large(f, x, parameters, limit, put, get):
    stays = held_or_small([x, *parameters], limit)

    def pack(t):
        return t.detach() if stays(t) else (put(whole(t)), place(t))

    with saved_tensors_hooks(pack, shown(get)):
        return f(x)

# %% mistake="moves_entries_of_each_save" theme="cost"
# Every saved tensor is moved by itself, also several of one storage. Among them is a small view.
# Каждый сохранённый тензор выгружается сам по себе, даже если хранилище у нескольких общее. Среди них есть и малое
#     представление.
def offload_large(f, x, parameters, limit, put, get):
    stays = held_or_small([x, *parameters], limit)

    def pack(t):
        return t.detach() if stays(t) else (put(t),)

    with saved_tensors_hooks(pack, lambda packed: packed if isinstance(packed, Tensor) else get(*packed)):
        return f(x)

# %% mistake="knows_by_the_address" theme="in_place"
# A storage is recognised by an address or an `id`, its own or a tensor's. When one has been freed, the next gets the same
#     number, and is taken for it.
# Хранилище распознаётся по адресу или `id`, своему или тензора. Но когда оно освобождено, то же число может достаться
#     новому хранилищу, и его примут за прежнее.
def offload_large(f, x, parameters, limit, put, get):
    stays, keys = held_or_small([x, *parameters], limit), {}

    def pack(t):
        if stays(t):
            return t.detach()
        if address(t) not in keys:
            keys[address(t)] = put(whole(t))
        return keys[address(t)], place(t)

    with saved_tensors_hooks(pack, shown(get)):
        return f(x)

# %% mistake="knows_by_the_address_of_the_view" like="knows_by_the_address"
def offload_large(f, x, parameters, limit, put, get):
    addresses, keys = {each.data_ptr() for each in (x, *parameters)}, {}

    def pack(t):
        name = t.data_ptr(), t.shape, t.stride()
        if t.nbytes < limit or t.data_ptr() in addresses:
            return t.detach()
        if name not in keys:
            keys[name] = (put(t),)
        return keys[name]

    with saved_tensors_hooks(pack, lambda packed: packed if isinstance(packed, Tensor) else get(*packed)):
        return f(x)

# %% mistake="holds_until_the_end" theme="cost"
# What was moved stays in memory until the forward pass ends, because something still holds the tensors or storages.
# Выгруженное остаётся в памяти до конца прямого прохода: тензоры или хранилища ещё кто-то держит.
def offload_large(f, x, parameters, limit, put, get):
    known = {}
    with saved_tensors_hooks(packing(held_or_small([x, *parameters], limit), put, known), shown(get)):
        y = f(x)
    known.clear()
    return y

# %% mistake="holds_with_the_graph" theme="graph_life"
# What was moved stays in memory as long as the graph lives: a hook, what it uses or what it returned holds the tensors.
# Выгруженное остаётся в памяти, пока существует граф: тензоры держит сам хук, его переменные или то, что он вернул.
def offload_large(f, x, parameters, limit, put, get):
    pack, held = packing(held_or_small([x, *parameters], limit), put), []

    def hold(t):
        held.append(t.detach())
        return pack(t)

    with saved_tensors_hooks(hold, lambda packed: held and shown(get)(packed)):
        return f(x)

# %% mistake="keys_of_other_calls" theme="state"
# One dictionary serves all calls. A storage that lives on, such as a large constant of `f`, has a key of another call there,
#     and the memory of this call does not know it.
# Один словарь служит всем вызовам. У хранилища, которое живёт и дальше, например у крупной константы внутри `f`, в нём лежит
#     ключ от другого вызова, а вторая память этого вызова такого ключа не знает.
def offload_large(f, x, parameters, limit, put, get, known=weakref.WeakKeyDictionary()):
    with saved_tensors_hooks(packing(held_or_small([x, *parameters], limit), put, known), shown(get)):
        return f(x)

# %% mistake="size_of_the_view" theme="in_place"
# The size of the saved tensor was compared with `limit`. A small view keeps its whole storage in memory.
# С `limit` сравнивается размер сохранённого тензора. Но малое представление удерживает в памяти всё своё хранилище.
def offload_large(f, x, parameters, limit, put, get):
    addresses = {address(each) for each in (x, *parameters)}
    with saved_tensors_hooks(packing(lambda t: t.nbytes < limit or address(t) in addresses, put), shown(get)):
        return f(x)

# %% mistake="leaves_what_needs_no_gradient" theme="recording"
# What requires no gradient stays in memory, such as a large constant factor. It is saved as well.
# То, что не требует градиента, остаётся в памяти, например большой постоянный множитель. Но он тоже сохранён в графе.
def offload_large(f, x, parameters, limit, put, get):
    stays = held_or_small([x, *parameters], limit)
    pack = packing(lambda t: stays(t) or not t.requires_grad, put)
    with saved_tensors_hooks(pack, shown(get)):
        return f(x)

# %% mistake="numbers_for_bytes" theme="scaling"
# Numbers are compared with `limit`, not bytes. A float64 number has eight bytes, and storages that are large stay.
# С `limit` сравнивается количество чисел, а не байтов. В числе float64 восемь байт, и крупные хранилища остаются.
def offload_large(f, x, parameters, limit, put, get):
    stays = held_or_small([x, *parameters], 0)
    with saved_tensors_hooks(packing(lambda t: stays(t) or len(whole(t)) < limit, put), shown(get)):
        return f(x)

# %% mistake="only_above_the_limit" theme="own"
# A storage of exactly `limit` bytes stays in memory. It counts as large.
# Хранилище размером ровно `limit` байт остаётся в памяти. Но оно уже крупное.
def offload_large(f, x, parameters, limit, put, get):
    with saved_tensors_hooks(packing(held_or_small([x, *parameters], limit + 1), put), shown(get)):
        return f(x)

# %% mistake="moves_small_ones" theme="missing"
# Small tensors are moved, too.
# Выгружены и малые тензоры.
def offload_large(f, x, parameters, limit, put, get):
    with saved_tensors_hooks(packing(held_or_small([x, *parameters], 0), put), shown(get)):
        return f(x)

# %% mistake="moves_parameters" theme="missing"
# Parameters are moved, too. They stay in memory all the same.
# Выгружены и параметры. Но они всё равно остаются в памяти.
def offload_large(f, x, parameters, limit, put, get):
    with saved_tensors_hooks(packing(held_or_small([x], limit), put), shown(get)):
        return f(x)

# %% mistake="moves_the_input" theme="missing"
# `x` is moved, too. It stays in memory all the same.
# Выгружен и `x`. Но он всё равно остаётся в памяти.
def offload_large(f, x, parameters, limit, put, get):
    with saved_tensors_hooks(packing(held_or_small(parameters, limit), put), shown(get)):
        return f(x)

# %% mistake="moves_input_and_parameters" theme="missing"
# `x` and the parameters are moved, too. They stay in memory all the same.
# Выгружены и `x`, и параметры. Но они всё равно остаются в памяти.
def offload_large(f, x, parameters, limit, put, get):
    with saved_tensors_hooks(packing(lambda t: nbytes(t) < limit, put), shown(get)):
        return f(x)

# %% mistake="moves_all" theme="missing"
# All that is saved is moved, small tensors, `x` and parameters as well.
# Выгружается всё сохранённое: и малые тензоры, и `x`, и параметры.
def offload_large(f, x, parameters, limit, put, get):
    with saved_tensors_hooks(packing(lambda t: False, put), shown(get)):
        return f(x)

# %% mistake="moves_views_of_parameters" theme="in_place"
# A parameter that is saved whole was recognised, a view of a part of it was not: compare storages, not objects or first
#     entries.
# Параметр, сохранённый целиком, распознан, а представление его части — нет: сравнивайте хранилища, а не объекты и не
#     первые элементы.
def offload_large(f, x, parameters, limit, put, get):
    firsts = {each.data_ptr() for each in (x, *parameters)}
    with saved_tensors_hooks(packing(lambda t: nbytes(t) < limit or t.data_ptr() in firsts, put), shown(get)):
        return f(x)

# %% mistake="shows_another_view" theme="in_place"
# What comes back is the first saved view of a storage, also where another one was saved.
# Возвращается то представление хранилища, которое сохранено первым, даже если нужно другое.
def offload_large(f, x, parameters, limit, put, get):
    stays, keys = held_or_small([x, *parameters], limit), weakref.WeakKeyDictionary()

    def pack(t):
        storage = t.untyped_storage()
        if stays(t):
            return t.detach()
        if storage not in keys:
            keys[storage] = (put(t),)
        return keys[storage]

    with saved_tensors_hooks(pack, lambda packed: packed if isinstance(packed, Tensor) else get(*packed)):
        return f(x)

# %% mistake="forgets_the_offset" theme="in_place"
# The offset of a view is lost: it begins at the first entry of its storage.
# Потеряно смещение представления: оно начинается с первого элемента хранилища.
def offload_large(f, x, parameters, limit, put, get):
    pack = packing(held_or_small([x, *parameters], limit), put)

    def unpack(packed):
        return packed if isinstance(packed, Tensor) else get(packed[0]).as_strided(*packed[1][:2])

    with saved_tensors_hooks(pack, unpack):
        return f(x)

# %% mistake="forgets_the_strides" theme="axes"
# The strides of a view are lost: the storage is filled into its shape row by row.
# Потеряны шаги (strides) представления: его форму заполняют элементы хранилища подряд.
def offload_large(f, x, parameters, limit, put, get):
    pack = packing(held_or_small([x, *parameters], limit), put)

    def unpack(packed):
        if isinstance(packed, Tensor):
            return packed
        size, _, offset = packed[1]
        return get(packed[0])[offset:][: size.numel()].view(size)

    with saved_tensors_hooks(pack, unpack):
        return f(x)

# %% mistake="brought_back_stays" theme="graph_life"
# What was brought back for the first backward pass stays in memory for the second.
# То, что возвращено для первого обратного прохода, остаётся в памяти до второго.
def offload_large(f, x, parameters, limit, put, get):
    pack, back = packing(held_or_small([x, *parameters], limit), put), {}

    def unpack(packed):
        if isinstance(packed, Tensor):
            return packed
        if packed[0] not in back:
            back[packed[0]] = get(packed[0])
        return back[packed[0]].as_strided(*packed[1])

    with saved_tensors_hooks(pack, unpack):
        return f(x)

# %% mistake="used_up_at_once" theme="graph_life"
# What `unpack` needs is used up when it is first called. A storage that several tensors share is asked for again.
# То, что нужно `unpack`, израсходовано при первом же вызове. А хранилище, общее для нескольких тензоров, понадобится
#     снова.
def offload_large(f, x, parameters, limit, put, get):
    pack = packing(held_or_small([x, *parameters], limit), lambda t: [put(t)])

    def unpack(packed):
        return packed if isinstance(packed, Tensor) else get(packed[0].pop()).as_strided(*packed[1])

    with saved_tensors_hooks(pack, unpack):
        return f(x)

# %% mistake="only_for_one_pass" theme="graph_life"
# The first backward pass is right, the second is not: what `unpack` needs was used up or changed in the first.
# Первый обратный проход верен, а второй — нет: то, что нужно `unpack`, израсходовано или изменено в первом.
def offload_large(f, x, parameters, limit, put, get):
    pack = packing(held_or_small([x, *parameters], limit), put)

    def unpack(packed):
        return packed[0] if len(packed) == 1 else get(packed.pop(0)).as_strided(*packed.pop())

    def pack_in_a_list(t):
        packed = pack(t)
        return [packed] if isinstance(packed, Tensor) else [*packed]

    with saved_tensors_hooks(pack_in_a_list, unpack):
        return f(x)

# %% mistake="brought_back_at_once" theme="order"
# What was moved is brought back in `pack` already, and is in memory until backward.
# Выгруженное возвращено уже в `pack` и лежит в памяти до обратного прохода.
def offload_large(f, x, parameters, limit, put, get):
    pack, unpack = packing(held_or_small([x, *parameters], limit), put), shown(get)
    with saved_tensors_hooks(lambda t: unpack(pack(t)), lambda t: t):
        return f(x)

# %% mistake="in_half_the_bytes" theme="precision"
# The storages are moved in float32 or float16: digits are lost.
# Хранилища выгружаются во float32 или float16: часть знаков теряется.
def offload_large(f, x, parameters, limit, put, get):
    pack = packing(held_or_small([x, *parameters], limit), lambda t: (put(t.float()), t.dtype))
    with saved_tensors_hooks(pack, shown(lambda key: get(key[0]).to(key[1]))):
        return f(x)

# %% mistake="cuts_the_graph" theme="recording"
# No gradients come back: `f` ran without a graph.
# Градиентов нет: функция `f` выполнена без графа.
def offload_large(f, x, parameters, limit, put, get):
    with torch.no_grad():
        return f(x)

# %% mistake="returns_nothing" theme="return"
# What came back is not `f(x)` with its graph: nothing, or something else.
# Возвращено не `f(x)` с его графом, а что-то другое или ничего.
def offload_large(f, x, parameters, limit, put, get):
    with saved_tensors_hooks(packing(held_or_small([x, *parameters], limit), put), shown(get)):
        f(x)

# %% mistake="view_for_a_storage" theme="in_place"
# The saved view that came first was moved, not its whole storage. Another view of it needs other entries.
# Выгружено представление, сохранённое первым, а не всё хранилище. Но другому представлению нужны и другие элементы.
def offload_large(f, x, parameters, limit, put, get):
    stays, keys = held_or_small([x, *parameters], limit), weakref.WeakKeyDictionary()

    def pack(t):
        if stays(t):
            return t.detach()
        storage = t.untyped_storage()
        if storage not in keys:
            keys[storage] = put(t)
        return keys[storage], place(t)

    with saved_tensors_hooks(pack, shown(get)):
        return f(x)
