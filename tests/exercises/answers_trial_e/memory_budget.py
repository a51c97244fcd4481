# %%
import contextlib
import itertools
import weakref
from functools import partial

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

aten = torch.ops.aten
PRODUCTS = (aten.mm.default, aten.addmm.default, aten.bmm.default)


class ProductsSeen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.prices = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        if operation in PRODUCTS:
            inner = args[-1].shape[-2]
            self.prices.append((result.numel() * result.element_size(), result.numel() * inner))
        return result


def saving_numbers(f, chosen):
    def contexts():
        numbers = {False: itertools.count(), True: itertools.count()}

        def policy(ctx, operation, *args, **kwargs):
            return operation in PRODUCTS and next(numbers[ctx.is_recompute]) in chosen

        return create_selective_checkpoint_contexts(policy)

    return lambda x: checkpoint(f, x, use_reentrant=False, context_fn=contexts)
# %% exercise="predict_kept" verdict="passed"
# a careful reader
predict_kept = {
    "no checkpoint": 4,
    "checkpoint": 1,
    "tanh saved": 4,
    "addmm saved": 5,
    "mm saved": 1,
    "both saved": 8,
}
# %% exercise="predict_kept" verdict="passed"
# a careful reader who writes sums
predict_kept = {
    "no checkpoint": 3 + 1,
    "checkpoint": 0 + 1,
    "tanh saved": 3 + 1,
    "addmm saved": 4 + 1,
    "mm saved": 0 + 1,
    "both saved": 4 + 3 + 1,
}
# %% exercise="predict_kept" verdict="refused"
# believes that the graph keeps the result of every operation
predict_kept = {
    "no checkpoint": 8,
    "checkpoint": 1,
    "tanh saved": 4,
    "addmm saved": 5,
    "mm saved": 1,
    "both saved": 8,
}
# %% exercise="predict_kept" verdict="refused"
# the output is counted beside the four saved tanh results, although it is the last of them
predict_kept = {
    "no checkpoint": 5,
    "checkpoint": 1,
    "tanh saved": 5,
    "addmm saved": 5,
    "mm saved": 1,
    "both saved": 9,
}
# %% exercise="predict_kept" verdict="refused"
# takes mm for the product inside of addmm
predict_kept = {
    "no checkpoint": 4,
    "checkpoint": 1,
    "tanh saved": 4,
    "addmm saved": 5,
    "mm saved": 5,
    "both saved": 8,
}
# %% exercise="predict_kept" verdict="refused"
# forgets the output of the network wherever a checkpoint is
predict_kept = {
    "no checkpoint": 4,
    "checkpoint": 0,
    "tanh saved": 4,
    "addmm saved": 4,
    "mm saved": 0,
    "both saved": 8,
}
# %% exercise="predict_kept" verdict="refused"
# believes that a policy never keeps more than the plain graph
predict_kept = {
    "no checkpoint": 4,
    "checkpoint": 1,
    "tanh saved": 4,
    "addmm saved": 4,
    "mm saved": 1,
    "both saved": 4,
}
# %% exercise="keep_products" verdict="passed"
# a list
def keep_products(f, x):
    products = [torch.ops.aten.mm.default, torch.ops.aten.addmm.default, torch.ops.aten.bmm.default]
    return checkpoint(
        f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(products)
    )
# %% exercise="keep_products" verdict="passed"
# a policy function by the name of the operation's packet, bound by partial
def _save_products(ctx, operation, *args, **kwargs):
    if operation.overloadpacket in {aten.mm, aten.addmm, aten.bmm}:
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.MUST_RECOMPUTE


def keep_products(f, x):
    context_fn = partial(create_selective_checkpoint_contexts, _save_products)
    return checkpoint(f, x, use_reentrant=False, context_fn=context_fn)
# %% exercise="keep_products" verdict="refused"
# forgets bmm
def keep_products(f, x):
    def contexts():
        return create_selective_checkpoint_contexts([aten.mm.default, aten.addmm.default])

    return checkpoint(f, x, use_reentrant=False, context_fn=contexts)
# %% exercise="keep_products" verdict="refused"
# compares with the packet (aten.mm), which no operation equals
def keep_products(f, x):
    def policy(ctx, operation, *args, **kwargs):
        if operation in (aten.mm, aten.addmm, aten.bmm):
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.PREFER_RECOMPUTE

    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))
# %% exercise="keep_products" verdict="refused"
# switches off the restoring of the random state, to save time
def keep_products(f, x):
    return checkpoint(
        f,
        x,
        use_reentrant=False,
        preserve_rng_state=False,
        context_fn=lambda: create_selective_checkpoint_contexts(list(PRODUCTS)),
    )
# %% exercise="keep_products" verdict="refused"
# believes that a checkpoint is useless where x needs no gradient, so that everything is kept for the weights
def keep_products(f, x):
    if not x.requires_grad:
        return f(x)
    return checkpoint(
        f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(list(PRODUCTS))
    )
# %% exercise="keep_products" verdict="refused"
# the names of the functions of the API, which no tensor operation bears
def keep_products(f, x):
    names = [aten.linear.default, aten.matmul.default]
    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(names))
# %% exercise="keep_products" verdict="refused"
# the reverse: saves everything that is no product
def keep_products(f, x):
    def policy(ctx, operation, *args, **kwargs):
        return CheckpointPolicy.PREFER_RECOMPUTE if operation in PRODUCTS else CheckpointPolicy.MUST_SAVE

    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))
# %% exercise="predict_repeats" verdict="passed"
# a careful reader
predict_repeats = {
    "no checkpoint": [1, 1, 1],
    "one checkpoint": [2, 2, 1],
    "two backward passes": [3, 3, 1],
    "no early stop": [2, 2, 2],
    "x + 1 first": [2, 2, 2],
    "one for each": [2, 2, 1],
    "a checkpoint inside": [3, 2, 1],
}
# %% exercise="predict_repeats" verdict="passed"
# a careful reader who writes tuples
predict_repeats = {
    "no checkpoint": (1, 1, 1),
    "one checkpoint": (2, 2, 1),
    "two backward passes": (3, 3, 1),
    "no early stop": (2, 2, 2),
    "x + 1 first": (2, 2, 2),
    "one for each": (2, 2, 1),
    "a checkpoint inside": (3, 2, 1),
}
# %% exercise="predict_repeats" verdict="refused"
# no early stop anywhere: everything in a checkpoint runs once more in each backward pass
predict_repeats = {
    "no checkpoint": [1, 1, 1],
    "one checkpoint": [2, 2, 2],
    "two backward passes": [3, 3, 3],
    "no early stop": [2, 2, 2],
    "x + 1 first": [2, 2, 2],
    "one for each": [2, 2, 2],
    "a checkpoint inside": [3, 2, 2],
}
# %% exercise="predict_repeats" verdict="refused"
# the second backward pass finds the recomputed tensors of the first
predict_repeats = {
    "no checkpoint": [1, 1, 1],
    "one checkpoint": [2, 2, 1],
    "two backward passes": [2, 2, 1],
    "no early stop": [2, 2, 2],
    "x + 1 first": [2, 2, 2],
    "one for each": [2, 2, 1],
    "a checkpoint inside": [3, 2, 1],
}
# %% exercise="predict_repeats" verdict="refused"
# the square's input is ready once the sine has run, so the square is believed not to be called again
predict_repeats = {
    "no checkpoint": [1, 1, 1],
    "one checkpoint": [2, 1, 1],
    "two backward passes": [3, 1, 1],
    "no early stop": [2, 2, 2],
    "x + 1 first": [2, 1, 2],
    "one for each": [2, 2, 1],
    "a checkpoint inside": [3, 1, 1],
}
# %% exercise="predict_repeats" verdict="refused"
# nesting is believed to cost nothing more
predict_repeats = {
    "no checkpoint": [1, 1, 1],
    "one checkpoint": [2, 2, 1],
    "two backward passes": [3, 3, 1],
    "no early stop": [2, 2, 2],
    "x + 1 first": [2, 2, 2],
    "one for each": [2, 2, 1],
    "a checkpoint inside": [2, 2, 1],
}
# %% exercise="predict_repeats" verdict="refused"
# x + 1 needs no tensor, so it is believed never to run again unless the early stop is off
predict_repeats = {
    "no checkpoint": [1, 1, 1],
    "one checkpoint": [2, 2, 1],
    "two backward passes": [3, 3, 1],
    "no early stop": [2, 2, 2],
    "x + 1 first": [2, 2, 1],
    "one for each": [2, 2, 1],
    "a checkpoint inside": [3, 2, 1],
}
# %% exercise="predict_repeats" verdict="refused"
# a checkpoint of its own runs x + 1 again
predict_repeats = {
    "no checkpoint": [1, 1, 1],
    "one checkpoint": [2, 2, 1],
    "two backward passes": [3, 3, 1],
    "no early stop": [2, 2, 2],
    "x + 1 first": [2, 2, 2],
    "one for each": [2, 2, 2],
    "a checkpoint inside": [3, 2, 1],
}
# %% exercise="fix_noise" verdict="passed"
# a second generator for every call but the first
def fix_noise(f, x, generator):
    state = generator.get_state()
    first = True

    def run(x):
        nonlocal first
        if first:
            first = False
            return f(x, generator)
        return f(x, torch.Generator().set_state(state))

    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="passed"
# the generator's own state is set and put back by a context manager that can be entered often
def fix_noise(f, x, generator):
    class Replay:
        def __init__(self):
            self.noted = generator.get_state()

        def __enter__(self):
            self.now = generator.get_state()
            generator.set_state(self.noted)

        def __exit__(self, *details):
            generator.set_state(self.now)
            del self.now

    return checkpoint(
        f, x, generator, use_reentrant=False, context_fn=lambda: (contextlib.nullcontext(), Replay())
    )
# %% exercise="fix_noise" verdict="refused"
# after the backward pass the generator stands where f had left it
def fix_noise(f, x, generator):
    state = generator.get_state()

    def run(x):
        generator.set_state(state)
        return f(x, generator)

    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused"
# a context manager that can be entered once: the second backward pass fails
def fix_noise(f, x, generator):
    state = generator.get_state()

    @contextlib.contextmanager
    def replay():
        now = generator.get_state()
        generator.set_state(state)
        try:
            yield
        finally:
            generator.set_state(now)

    return checkpoint(
        f, x, generator, use_reentrant=False, context_fn=lambda: (contextlib.nullcontext(), replay())
    )
# %% exercise="fix_noise" verdict="refused"
# the copy is always used, so the caller's generator does not move
def fix_noise(f, x, generator):
    state = generator.get_state()

    def run(x):
        return f(x, torch.Generator().set_state(state))

    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused"
# no `finally`: the early stop leaves by an exception, and the generator is not put back
def fix_noise(f, x, generator):
    state, again = generator.get_state(), []

    def run(x):
        if not again:
            again.append(True)
            return f(x, generator)
        now = generator.get_state()
        generator.set_state(state)
        y = f(x, generator)
        generator.set_state(now)
        return y

    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused"
# believes that preserve_rng_state covers every generator
def fix_noise(f, x, generator):
    return checkpoint(f, x, generator, use_reentrant=False, preserve_rng_state=True)
# %% exercise="fix_noise" verdict="refused"
# no checkpoint any more
def fix_noise(f, x, generator):
    return f(x, generator)
# %% exercise="fix_noise" verdict="refused"
# only the first recomputation is given the noted state
def fix_noise(f, x, generator):
    states = [generator.get_state()]
    copy = torch.Generator().set_state(states[0])
    generators = iter([generator, copy])
    current = [None]

    def run(x):
        current[0] = next(generators, copy)
        return f(x, current[0])

    return checkpoint(run, x, use_reentrant=False)
# %% exercise="stay_silent" verdict="passed"
# a counter
def stay_silent():
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        return (calls * x).sin()

    return f
# %% exercise="stay_silent" verdict="passed"
# a generator of its own
def stay_silent():
    generator = torch.Generator().manual_seed(0)

    def f(x):
        return x * torch.randn(x.shape, generator=generator, dtype=x.dtype)

    return f
# %% exercise="stay_silent" verdict="refused"
# a result of another shape: the checkpoint notices
def stay_silent():
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        return torch.cat([x] * calls).sin().sum()

    return f
# %% exercise="stay_silent" verdict="refused"
# dropout of the common generator: the checkpoint restores it
def stay_silent():
    def f(x):
        return torch.nn.functional.dropout(x, 0.5) * x

    return f
# %% exercise="stay_silent" verdict="refused"
# wrong without a checkpoint, too
def stay_silent():
    def f(x):
        return x.detach() * x

    return f
# %% exercise="stay_silent" verdict="refused"
# what changes is only added, so the derivative does not depend on it
def stay_silent():
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        return x.square() + calls

    return f
# %% exercise="stay_silent" verdict="refused"
# the state is common to all functions, so only the first one is wrong
_seen = []


def stay_silent():
    def f(x):
        factor = 2.0 if _seen else 1.0
        _seen.append(True)
        return (factor * x).sin()

    return f
# %% exercise="stay_silent" verdict="refused"
# the difference is far too small
def stay_silent():
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        return ((1 + 1e-3 * calls) * x).square()

    return f
# %% exercise="stay_silent" verdict="refused"
# one function is made only once and returned each time
_calls = [0]


def _one(x):
    _calls[0] += 1
    return x * x * _calls[0]


def stay_silent():
    return _one
# %% exercise="fit_budget" verdict="passed"
# all sets are compared
def fit_budget(f, x, budget):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:
        f(x)
    best, worth = (), 0
    for count in range(len(seen.prices) + 1):
        for chosen in itertools.combinations(range(len(seen.prices)), count):
            size = sum(seen.prices[i][0] for i in chosen)
            saved = sum(seen.prices[i][1] for i in chosen)
            if size <= budget and saved > worth:
                best, worth = chosen, saved
    return saving_numbers(f, set(best))(x)
# %% exercise="fit_budget" verdict="passed"
# a table of the best set per size, with a mode and a policy of its own
class _Log(TorchDispatchMode):
    def __init__(self, log):
        super().__init__()
        self.log = log

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func in (aten.mm.default, aten.bmm.default, aten.addmm.default):
            a = args[1] if func is aten.addmm.default else args[0]
            self.log.append((out.nbytes, out.numel() * a.shape[-1]))
        return out


def fit_budget(f, x, budget):
    log = []
    state = torch.get_rng_state()
    with torch.no_grad(), _Log(log):
        f(x)
    torch.set_rng_state(state)
    table = {0: (0, frozenset())}
    for i, (size, worth) in enumerate(log):
        for used, (value, chosen) in list(table.items()):
            total = used + size
            if total <= budget and table.get(total, (-1,))[0] < value + worth:
                table[total] = (value + worth, chosen | {i})
    chosen = max(table.values(), key=lambda entry: entry[0])[1]

    def contexts():
        counters = {True: -1, False: -1}

        def policy(ctx, op, *args, **kwargs):
            if op in (aten.mm.default, aten.bmm.default, aten.addmm.default):
                counters[ctx.is_recompute] += 1
                if counters[ctx.is_recompute] in chosen:
                    return CheckpointPolicy.MUST_SAVE
            return CheckpointPolicy.PREFER_RECOMPUTE

        return create_selective_checkpoint_contexts(policy)

    return checkpoint(f, x, use_reentrant=False, context_fn=contexts)
# %% exercise="fit_budget" verdict="refused"
# the best ratio first, as long as it fits
def fit_budget(f, x, budget):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:
        f(x)
    chosen, left = set(), budget
    for i in sorted(range(len(seen.prices)), key=lambda i: seen.prices[i][1] / seen.prices[i][0], reverse=True):
        if seen.prices[i][0] <= left:
            chosen.add(i)
            left -= seen.prices[i][0]
    return saving_numbers(f, chosen)(x)
# %% exercise="fit_budget" verdict="refused"
# the trial uses up random numbers
def fit_budget(f, x, budget):
    with torch.no_grad(), ProductsSeen() as seen:
        f(x)
    prices = seen.prices
    sets = [s for n in range(len(prices) + 1) for s in itertools.combinations(range(len(prices)), n)]
    fitting = [s for s in sets if sum(prices[i][0] for i in s) <= budget]
    best = max(fitting, key=lambda s: sum(prices[i][1] for i in s))
    return saving_numbers(f, best)(x)
# %% exercise="fit_budget" verdict="refused"
# in the order of computation, while there is room
def fit_budget(f, x, budget):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:
        f(x)
    chosen, used = [], 0
    for i, (size, _) in enumerate(seen.prices):
        if used + size > budget:
            break
        chosen.append(i)
        used += size
    return saving_numbers(f, chosen)(x)
# %% exercise="fit_budget" verdict="refused"
# a budget that is just enough is taken for too small
def fit_budget(f, x, budget):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:
        f(x)
    prices = seen.prices
    sets = [s for n in range(len(prices) + 1) for s in itertools.combinations(range(len(prices)), n)]
    fitting = [s for s in sets if sum(prices[i][0] for i in s) < budget]
    best = max(fitting, key=lambda s: sum(prices[i][1] for i in s), default=())
    return saving_numbers(f, best)(x)
# %% exercise="fit_budget" verdict="refused"
# fills the budget with bytes, whatever they are worth
def fit_budget(f, x, budget):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:
        f(x)
    prices = seen.prices
    sets = [s for n in range(len(prices) + 1) for s in itertools.combinations(range(len(prices)), n)]
    size = lambda s: sum(prices[i][0] for i in s)
    best = max((s for s in sets if size(s) <= budget), key=size)
    return saving_numbers(f, best)(x)
# %% exercise="fit_budget" verdict="refused"
# the product with the most multiplications first, then whatever still fits
def fit_budget(f, x, budget):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:
        f(x)
    chosen = set()
    for i in sorted(range(len(seen.prices)), key=lambda i: -seen.prices[i][1]):
        if seen.prices[i][0] <= budget:
            chosen.add(i)
            budget -= seen.prices[i][0]
    return saving_numbers(f, chosen)(x)
# %% exercise="offload_large" verdict="passed"
# the weak dictionary of the notebook; what is sent is the whole storage
def offload_large(f, x, parameters, limit, put, get):
    stays = {t.untyped_storage().data_ptr() for t in (x, *parameters)}
    keys = weakref.WeakKeyDictionary()

    def pack(t):
        storage = t.untyped_storage()
        if storage.nbytes() < limit or storage.data_ptr() in stays:
            return t
        if storage not in keys:
            whole = torch.empty(0, dtype=t.dtype, device=t.device).set_(storage)
            keys[storage] = put(whole)
        return keys[storage], t.size(), t.stride(), t.storage_offset()

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        key, size, stride, offset = packed
        return get(key).as_strided(size, stride, offset)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="offload_large" verdict="passed"
# addresses, each with a weak reference that says whether it is still the same storage
class _Away:
    def __init__(self, key, t):
        self.key, self.dtype = key, t.dtype
        self.place = (t.storage_offset(), t.shape, t.stride())


def offload_large(f, x, parameters, limit, put, get):
    own = [t.untyped_storage() for t in [x, *parameters]]
    sent = {}

    def pack(t):
        storage = t.untyped_storage()
        if storage.nbytes() < limit or any(storage is each for each in own):
            return t
        reference, key = sent.get(storage.data_ptr(), (lambda: None, None))
        if reference() is not storage:
            flat = torch.as_strided(t.detach(), (storage.nbytes() // t.element_size(),), (1,), 0)
            key = put(flat)
            sent[storage.data_ptr()] = weakref.ref(storage), key
        return _Away(key, t)

    def unpack(packed):
        if not isinstance(packed, _Away):
            return packed
        storage = get(packed.key).untyped_storage()
        return torch.empty(0, dtype=packed.dtype).set_(storage, *packed.place)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="offload_large" verdict="refused"
# each saved tensor is sent, also a second time
def offload_large(f, x, parameters, limit, put, get):
    stays = {t.untyped_storage().data_ptr() for t in (x, *parameters)}

    def pack(t):
        storage = t.untyped_storage()
        if storage.nbytes() < limit or storage.data_ptr() in stays:
            return t
        return (put(t.detach()),)

    def unpack(packed):
        return get(packed[0]) if isinstance(packed, tuple) else packed

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="offload_large" verdict="refused"
# knows storages by their address
def offload_large(f, x, parameters, limit, put, get):
    stays = {t.untyped_storage().data_ptr() for t in (x, *parameters)}
    keys = {}

    def pack(t):
        storage = t.untyped_storage()
        address = storage.data_ptr()
        if storage.nbytes() < limit or address in stays:
            return t
        if address not in keys:
            keys[address] = put(torch.empty(0, dtype=t.dtype).set_(storage))
        return keys[address], t.size(), t.stride(), t.storage_offset()

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        key, size, stride, offset = packed
        return get(key).as_strided(size, stride, offset)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="offload_large" verdict="refused"
# asks for the size of the view, so that a few numbers keep a large storage
def offload_large(f, x, parameters, limit, put, get):
    stays = {t.untyped_storage().data_ptr() for t in (x, *parameters)}
    keys = weakref.WeakKeyDictionary()

    def pack(t):
        storage = t.untyped_storage()
        if t.nbytes < limit or storage.data_ptr() in stays:
            return t
        if storage not in keys:
            keys[storage] = put(torch.empty(0, dtype=t.dtype).set_(storage))
        return keys[storage], t.size(), t.stride(), t.storage_offset()

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        key, size, stride, offset = packed
        return get(key).as_strided(size, stride, offset)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="offload_large" verdict="refused"
# knows parameters by the object, so their transposed views are sent
def offload_large(f, x, parameters, limit, put, get):
    stays = {id(t) for t in (x, *parameters)}
    keys = weakref.WeakKeyDictionary()

    def pack(t):
        storage = t.untyped_storage()
        if id(t) in stays or storage.nbytes() < limit:
            return t
        if storage not in keys:
            keys[storage] = put(torch.empty(0, dtype=t.dtype).set_(storage))
        return keys[storage], t.size(), t.stride(), t.storage_offset()

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        key, size, stride, offset = packed
        return get(key).as_strided(size, stride, offset)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="offload_large" verdict="refused"
# an ordinary dictionary holds every storage until the forward pass has ended
def offload_large(f, x, parameters, limit, put, get):
    stays = {t.untyped_storage() for t in (x, *parameters)}
    keys = {}

    def pack(t):
        storage = t.untyped_storage()
        if storage in stays or storage.nbytes() < limit:
            return t
        if storage not in keys:
            keys[storage] = put(torch.empty(0, dtype=t.dtype).set_(storage))
        return keys[storage], t.size(), t.stride(), t.storage_offset()

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        key, size, stride, offset = packed
        return get(key).as_strided(size, stride, offset)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = f(x)
    keys.clear()
    return y
# %% exercise="offload_large" verdict="refused"
# the first view is sent in place of the storage, and other views get its elements
def offload_large(f, x, parameters, limit, put, get):
    stays = {t.untyped_storage().data_ptr() for t in (x, *parameters)}
    keys = weakref.WeakKeyDictionary()

    def pack(t):
        storage = t.untyped_storage()
        if storage.nbytes() < limit or storage.data_ptr() in stays:
            return t
        if storage not in keys:
            keys[storage] = put(t.detach())
        return keys[storage], t.shape

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        key, shape = packed
        return get(key).reshape(shape)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="offload_large" verdict="refused"
# keeps what came back, for the second backward pass
def offload_large(f, x, parameters, limit, put, get):
    stays = {t.untyped_storage().data_ptr() for t in (x, *parameters)}
    keys, back = weakref.WeakKeyDictionary(), {}

    def pack(t):
        storage = t.untyped_storage()
        if storage.nbytes() < limit or storage.data_ptr() in stays:
            return t
        if storage not in keys:
            keys[storage] = put(torch.empty(0, dtype=t.dtype).set_(storage))
        return keys[storage], t.size(), t.stride(), t.storage_offset()

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        key, size, stride, offset = packed
        if key not in back:
            back[key] = get(key)
        return back[key].as_strided(size, stride, offset)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
