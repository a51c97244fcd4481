# %%
import itertools
import weakref
from collections import Counter

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    set_checkpoint_early_stop,
)

aten = torch.ops.aten
PRODUCTS = (aten.mm.default, aten.addmm.default, aten.bmm.default)


class ProductsSeen(TorchDispatchMode):
    """A list of (bytes, multiplications) of the matrix products that run."""

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
# R1
predict_kept = {
    "no checkpoint": 4,
    "checkpoint": 1,
    "tanh saved": 4,
    "addmm saved": 5,
    "mm saved": 1,
    "both saved": 8,
}
# %% exercise="predict_kept" verdict="refused"
# W1 the plain graph is thought to keep the results of both layers
predict_kept = {
    "no checkpoint": 8,
    "checkpoint": 1,
    "tanh saved": 4,
    "addmm saved": 5,
    "mm saved": 1,
    "both saved": 8,
}
# %% exercise="predict_kept" verdict="refused"
# W2 the result is counted once more, although the last tanh is the result
predict_kept = {
    "no checkpoint": 5,
    "checkpoint": 1,
    "tanh saved": 5,
    "addmm saved": 5,
    "mm saved": 1,
    "both saved": 9,
}
# %% exercise="predict_kept" verdict="refused"
# W3 mm is thought to stand for all matrix products
predict_kept = {
    "no checkpoint": 4,
    "checkpoint": 1,
    "tanh saved": 4,
    "addmm saved": 5,
    "mm saved": 5,
    "both saved": 8,
}
# %% exercise="predict_kept" verdict="refused"
# W4 the result of the network is forgotten
predict_kept = {
    "no checkpoint": 4,
    "checkpoint": 0,
    "tanh saved": 4,
    "addmm saved": 4,
    "mm saved": 0,
    "both saved": 8,
}
# %% exercise="predict_kept" verdict="refused"
# W5 saving both is thought to be the plain graph again
predict_kept = {
    "no checkpoint": 4,
    "checkpoint": 1,
    "tanh saved": 4,
    "addmm saved": 5,
    "mm saved": 1,
    "both saved": 4,
}
# %% exercise="keep_products" verdict="passed"
# R1 the short form
def keep_products(f, x):
    def contexts():
        return create_selective_checkpoint_contexts([aten.mm.default, aten.addmm.default, aten.bmm.default])

    return checkpoint(f, x, use_reentrant=False, context_fn=contexts)
# %% exercise="keep_products" verdict="passed"
# R2 a policy function
def keep_products(f, x):
    products = {aten.mm.default, aten.addmm.default, aten.bmm.default}

    def policy(ctx, operation, *args, **kwargs):
        if operation in products:
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.MUST_RECOMPUTE

    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))
# %% exercise="keep_products" verdict="refused"
# W1 bmm is forgotten
def keep_products(f, x):
    def contexts():
        return create_selective_checkpoint_contexts([aten.mm.default, aten.addmm.default])

    return checkpoint(f, x, use_reentrant=False, context_fn=contexts)
# %% exercise="keep_products" verdict="refused"
# W2 the answers of the policy are swapped
def keep_products(f, x):
    products = {aten.mm.default, aten.addmm.default, aten.bmm.default}

    def policy(ctx, operation, *args, **kwargs):
        return CheckpointPolicy.PREFER_RECOMPUTE if operation in products else CheckpointPolicy.MUST_SAVE

    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))
# %% exercise="keep_products" verdict="refused"
# W3 an x without gradient is thought to need no checkpoint, but f has parameters
def keep_products(f, x):
    if not x.requires_grad:
        return f(x)
    products = [aten.mm.default, aten.addmm.default, aten.bmm.default]
    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(products))
# %% exercise="keep_products" verdict="refused"
# W4 the state of the common generator is not restored
def keep_products(f, x):
    products = [aten.mm.default, aten.addmm.default, aten.bmm.default]
    return checkpoint(
        f,
        x,
        use_reentrant=False,
        preserve_rng_state=False,
        context_fn=lambda: create_selective_checkpoint_contexts(products),
    )
# %% exercise="keep_products" verdict="refused"
# W5 the pair of contexts instead of a function that makes it
def keep_products(f, x):
    products = [aten.mm.default, aten.addmm.default, aten.bmm.default]
    return checkpoint(f, x, use_reentrant=False, context_fn=create_selective_checkpoint_contexts(products))
# %% exercise="keep_products" verdict="refused"
# W6 everything but the cheap operations of the section is saved
def keep_products(f, x):
    cheap = {aten.gelu.default, aten.softplus.default, aten.sigmoid.default, aten.tanh.default}

    def policy(ctx, operation, *args, **kwargs):
        return CheckpointPolicy.PREFER_RECOMPUTE if operation in cheap else CheckpointPolicy.MUST_SAVE

    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))
# %% exercise="predict_repeats" verdict="passed"
# R1
predict_repeats = {
    "no checkpoint": [1, 1, 1],
    "one checkpoint": [2, 2, 1],
    "two backward passes": [3, 3, 1],
    "no early stop": [2, 2, 2],
    "x + 1 first": [2, 2, 2],
    "one for each": [2, 2, 1],
    "a checkpoint inside": [3, 2, 1],
}
# %% exercise="predict_repeats" verdict="refused"
# W1 the second backward pass is thought to use what the first one computed
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
# W2 the square needs only its input: it is not called again
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
# W3 each checkpoint runs its function again, also x + 1 alone
predict_repeats = {
    "no checkpoint": [1, 1, 1],
    "one checkpoint": [2, 2, 1],
    "two backward passes": [3, 3, 1],
    "no early stop": [2, 2, 2],
    "x + 1 first": [2, 2, 2],
    "one for each": [2, 2, 2],
    "a checkpoint inside": [3, 2, 1],
}
# %% exercise="predict_repeats" verdict="refused"
# W4 the inner checkpoint costs nothing more
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
# W5 x + 1 saves nothing, so it is never called again, wherever it stands
predict_repeats = {
    "no checkpoint": [1, 1, 1],
    "one checkpoint": [2, 2, 1],
    "two backward passes": [3, 3, 1],
    "no early stop": [2, 2, 2],
    "x + 1 first": [2, 2, 1],
    "one for each": [2, 2, 1],
    "a checkpoint inside": [3, 2, 1],
}
# %% exercise="fix_noise" verdict="passed"
# R1 a copy for each recomputation
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
# R2 put back and restored, also when the early stop raises
def fix_noise(f, x, generator):
    before = generator.get_state()
    calls = 0

    def run(x):
        nonlocal calls
        calls += 1
        if calls == 1:
            return f(x, generator)
        now = generator.get_state()
        generator.set_state(before)
        try:
            return f(x, generator)
        finally:
            generator.set_state(now)

    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused"
# W1 the state is put back, but not restored after the recomputation
def fix_noise(f, x, generator):
    state = generator.get_state()

    def run(x):
        generator.set_state(state)
        return f(x, generator)

    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused"
# W2 the early stop raises past the restoring line
def fix_noise(f, x, generator):
    state = generator.get_state()
    first = True

    def run(x):
        nonlocal first
        if first:
            first = False
            return f(x, generator)
        now = generator.get_state()
        generator.set_state(state)
        y = f(x, generator)
        generator.set_state(now)
        return y

    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused"
# W3 the forward pass takes its numbers from a copy, too: the generator stands still
def fix_noise(f, x, generator):
    state = generator.get_state()

    def run(x):
        return f(x, torch.Generator().set_state(state))

    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused"
# W4 back to the seed, although numbers had been drawn before
def fix_noise(f, x, generator):
    first = True

    def run(x):
        nonlocal first
        if first:
            first = False
            return f(x, generator)
        return f(x, torch.Generator().manual_seed(generator.initial_seed()))

    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused"
# W5 the copy is made once: the second backward pass finds it used
def fix_noise(f, x, generator):
    copy = torch.Generator().set_state(generator.get_state())
    first = True

    def run(x):
        nonlocal first
        if first:
            first = False
            return f(x, generator)
        return f(x, copy)

    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused"
# W6 the generator's state is kept by hand and the common one is no longer kept
def fix_noise(f, x, generator):
    state = generator.get_state()
    first = True

    def run(x):
        nonlocal first
        if first:
            first = False
            return f(x, generator)
        return f(x, torch.Generator().set_state(state))

    return checkpoint(run, x, use_reentrant=False, preserve_rng_state=False)
# %% exercise="fix_noise" verdict="refused"
# W7 the state is read inside: it is the state of the recomputation
def fix_noise(f, x, generator):
    def run(x):
        state = generator.get_state()
        return f(x, torch.Generator().set_state(state))

    return checkpoint(run, x, use_reentrant=False)
# %% exercise="stay_silent" verdict="passed"
# R1 a counter in a tensor that is saved
def stay_silent():
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        return x * torch.full_like(x, float(calls))

    return f
# %% exercise="stay_silent" verdict="passed"
# R2 the recomputed sine has another argument
def stay_silent():
    factors = [3.0, 1.0]

    def f(x):
        factor = factors.pop() if factors else 1.0
        return (torch.as_tensor(factor) * x).exp()

    return f
# %% exercise="stay_silent" verdict="refused"
# W1 a random factor: the checkpoint restores the common generator
def stay_silent():
    def f(x):
        return x * torch.rand_like(x)

    return f
# %% exercise="stay_silent" verdict="refused"
# W2 a Python number is kept in the node: it is not computed again
def stay_silent():
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        return calls * x

    return f
# %% exercise="stay_silent" verdict="refused"
# W3 one counter for all functions
def stay_silent(calls=[0]):
    def f(x):
        calls[0] += 1
        return x * torch.full_like(x, float(calls[0]))

    return f
# %% exercise="stay_silent" verdict="refused"
# W4 a weight changes in place after its use: without a checkpoint that is an error
def stay_silent():
    weight = torch.tensor(1.0)

    def f(x):
        y = x * weight
        weight.add_(1)
        return y

    return f
# %% exercise="stay_silent" verdict="refused"
# W5 the recomputation has another shape: torch does notice
def stay_silent():
    first = True

    def f(x):
        nonlocal first
        if first:
            first = False
            return x.flatten().square()
        return torch.cat([x.flatten(), x.flatten()]).square()

    return f
# %% exercise="stay_silent" verdict="refused"
# W6 the forward pass is thought to run without grad mode inside a checkpoint
def stay_silent():
    def f(x):
        factor = 2.0 if torch.is_grad_enabled() else 1.0
        return x * torch.full_like(x, factor)

    return f
# %% exercise="fit_budget" verdict="passed"
# R1 all sets
def fit_budget(f, x, budget):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:
        f(x)
    numbers = range(len(seen.prices))
    best, chosen = -1, ()
    for count in range(len(seen.prices) + 1):
        for candidate in itertools.combinations(numbers, count):
            size = sum(seen.prices[i][0] for i in candidate)
            spared = sum(seen.prices[i][1] for i in candidate)
            if size <= budget and spared > best:
                best, chosen = spared, candidate
    return saving_numbers(f, set(chosen))(x)
# %% exercise="fit_budget" verdict="passed"
# R2 dynamic programming
def fit_budget(f, x, budget):
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        with ProductsSeen() as seen:
            f(x)
    reached = {0: (0, frozenset())}  # bytes: (multiplications spared, numbers)
    for number, (size, cost) in enumerate(seen.prices):
        for used, (spared, chosen) in list(reached.items()):
            new = used + size
            if new <= budget and (new not in reached or reached[new][0] < spared + cost):
                if number not in chosen:
                    reached[new] = (spared + cost, chosen | {number})
    _, chosen = max(reached.values(), key=lambda entry: entry[0])
    return saving_numbers(f, chosen)(x)
# %% exercise="fit_budget" verdict="refused"
# W1 saves from the front while there is room
def fit_budget(f, x, budget):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:
        f(x)
    chosen, left = set(), budget
    for i, (size, _) in enumerate(seen.prices):
        if size > left:
            break
        chosen.add(i)
        left -= size
    return saving_numbers(f, chosen)(x)
# %% exercise="fit_budget" verdict="refused"
# W2 a set that fills the budget to the last byte is left out
def fit_budget(f, x, budget):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:
        f(x)
    numbers = range(len(seen.prices))
    best, chosen = -1, ()
    for count in range(len(seen.prices) + 1):
        for candidate in itertools.combinations(numbers, count):
            size = sum(seen.prices[i][0] for i in candidate)
            spared = sum(seen.prices[i][1] for i in candidate)
            if size < budget and spared > best:
                best, chosen = spared, candidate
    return saving_numbers(f, set(chosen))(x)
# %% exercise="fit_budget" verdict="refused"
# W3 the most expensive first
def fit_budget(f, x, budget):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:
        f(x)
    chosen, left = set(), budget
    for i in sorted(range(len(seen.prices)), key=lambda i: -seen.prices[i][1]):
        if seen.prices[i][0] <= left:
            chosen.add(i)
            left -= seen.prices[i][0]
    return saving_numbers(f, chosen)(x)
# %% exercise="fit_budget" verdict="refused"
# W4 a budget for nothing: max of an empty list raises
def fit_budget(f, x, budget):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:
        f(x)
    n = len(seen.prices)
    sets = [s for count in range(1, n + 1) for s in itertools.combinations(range(n), count)]
    fitting = [s for s in sets if sum(seen.prices[i][0] for i in s) <= budget]
    chosen = max(fitting, key=lambda s: sum(seen.prices[i][1] for i in s))
    return saving_numbers(f, set(chosen))(x)
# %% exercise="fit_budget" verdict="refused"
# W5 a budget for all products: f runs without a checkpoint, and the graph keeps more than the products
def fit_budget(f, x, budget):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:
        f(x)
    n = len(seen.prices)
    if sum(size for size, _ in seen.prices) <= budget:
        return f(x)
    sets = [s for count in range(n + 1) for s in itertools.combinations(range(n), count)]
    fitting = [s for s in sets if sum(seen.prices[i][0] for i in s) <= budget]
    chosen = max(fitting, key=lambda s: sum(seen.prices[i][1] for i in s))
    return saving_numbers(f, set(chosen))(x)
# %% exercise="fit_budget" verdict="refused"
# W6 as many products as possible, the small ones first
def fit_budget(f, x, budget):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:
        f(x)
    chosen, left = set(), budget
    for size, i in sorted((price[0], i) for i, price in enumerate(seen.prices)):
        if size <= left:
            chosen.add(i)
            left -= size
    return saving_numbers(f, chosen)(x)
# %% exercise="fit_budget" verdict="refused"
# W7 the trial run stands outside fork_rng's block: it uses the random numbers of the real one
def fit_budget(f, x, budget):
    with torch.no_grad(), ProductsSeen() as seen:
        f(x)
    n = len(seen.prices)
    sets = [s for count in range(n + 1) for s in itertools.combinations(range(n), count)]
    fitting = [s for s in sets if sum(seen.prices[i][0] for i in s) <= budget]
    chosen = max(fitting, key=lambda s: sum(seen.prices[i][1] for i in s))
    with torch.random.fork_rng(devices=[]):
        return saving_numbers(f, set(chosen))(x)
# %% exercise="offload_large" verdict="passed"
# R1 weak references to storages
def offload_large(f, x, parameters, limit, put, get):
    stays = weakref.WeakSet(t.untyped_storage() for t in [x, *parameters])
    keys = weakref.WeakKeyDictionary()

    def pack(t):
        storage = t.untyped_storage()
        if storage.nbytes() < limit or storage in stays:
            return t
        if storage not in keys:
            whole = t.as_strided((storage.nbytes() // t.element_size(),), (1,), 0)
            keys[storage] = put(whole), t.dtype
        key, dtype = keys[storage]
        return key, t.dtype, t.size(), t.stride(), t.storage_offset()

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        key, dtype, size, stride, offset = packed
        return get(key).view(dtype).as_strided(size, stride, offset)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="offload_large" verdict="refused"
# W1 an ordinary dict keeps the storages alive
def offload_large(f, x, parameters, limit, put, get):
    stays = {t.untyped_storage() for t in [x, *parameters]}
    keys = {}

    def pack(t):
        storage = t.untyped_storage()
        if storage.nbytes() < limit or storage in stays:
            return t
        if storage not in keys:
            keys[storage] = put(t.as_strided((storage.nbytes() // t.element_size(),), (1,), 0))
        return keys[storage], t.size(), t.stride(), t.storage_offset()

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        key, size, stride, offset = packed
        return get(key).as_strided(size, stride, offset)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="offload_large" verdict="refused"
# W2 the size of the tensor decides, not that of its storage
def offload_large(f, x, parameters, limit, put, get):
    stays = weakref.WeakSet(t.untyped_storage() for t in [x, *parameters])
    keys = weakref.WeakKeyDictionary()

    def pack(t):
        storage = t.untyped_storage()
        if t.nbytes < limit or storage in stays:
            return t
        if storage not in keys:
            keys[storage] = put(t.as_strided((storage.nbytes() // t.element_size(),), (1,), 0))
        return keys[storage], t.size(), t.stride(), t.storage_offset()

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        key, size, stride, offset = packed
        return get(key).as_strided(size, stride, offset)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="offload_large" verdict="refused"
# W3 parameters and x are known by data_ptr of the tensor: a view that begins elsewhere is put
def offload_large(f, x, parameters, limit, put, get):
    stays = {t.data_ptr() for t in [x, *parameters]}
    keys = weakref.WeakKeyDictionary()

    def pack(t):
        storage = t.untyped_storage()
        if storage.nbytes() < limit or t.data_ptr() in stays:
            return t
        if storage not in keys:
            keys[storage] = put(t.as_strided((storage.nbytes() // t.element_size(),), (1,), 0))
        return keys[storage], t.size(), t.stride(), t.storage_offset()

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        key, size, stride, offset = packed
        return get(key).as_strided(size, stride, offset)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="offload_large" verdict="refused"
# W4 the first view is put, not the whole storage
def offload_large(f, x, parameters, limit, put, get):
    stays = weakref.WeakSet(t.untyped_storage() for t in [x, *parameters])
    keys = weakref.WeakKeyDictionary()

    def pack(t):
        storage = t.untyped_storage()
        if storage.nbytes() < limit or storage in stays:
            return t
        if storage not in keys:
            keys[storage] = put(t)
        return keys[storage], t.size(), t.stride(), t.storage_offset()

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        key, size, stride, offset = packed
        return get(key).as_strided(size, stride, offset)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="offload_large" verdict="refused"
# W5 each saved tensor is put for itself
def offload_large(f, x, parameters, limit, put, get):
    stays = weakref.WeakSet(t.untyped_storage() for t in [x, *parameters])

    def pack(t):
        storage = t.untyped_storage()
        if storage.nbytes() < limit or storage in stays:
            return t
        return (put(t),)

    def unpack(packed):
        return packed if isinstance(packed, torch.Tensor) else get(packed[0])

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="offload_large" verdict="refused"
# W6 a storage of exactly limit bytes is not large
def offload_large(f, x, parameters, limit, put, get):
    stays = weakref.WeakSet(t.untyped_storage() for t in [x, *parameters])
    keys = weakref.WeakKeyDictionary()

    def pack(t):
        storage = t.untyped_storage()
        if storage.nbytes() <= limit or storage in stays:
            return t
        if storage not in keys:
            keys[storage] = put(t.as_strided((storage.nbytes() // t.element_size(),), (1,), 0))
        return keys[storage], t.size(), t.stride(), t.storage_offset()

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        key, size, stride, offset = packed
        return get(key).as_strided(size, stride, offset)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
# %% exercise="offload_large" verdict="refused"
# W7 what comes back stays: the backward pass keeps each storage for the next one
def offload_large(f, x, parameters, limit, put, get):
    stays = weakref.WeakSet(t.untyped_storage() for t in [x, *parameters])
    keys, back = weakref.WeakKeyDictionary(), {}

    def pack(t):
        storage = t.untyped_storage()
        if storage.nbytes() < limit or storage in stays:
            return t
        if storage not in keys:
            keys[storage] = put(t.as_strided((storage.nbytes() // t.element_size(),), (1,), 0))
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
# %% exercise="offload_large" verdict="refused"
# W8 the input is forgotten, only the parameters stay
def offload_large(f, x, parameters, limit, put, get):
    stays = weakref.WeakSet(t.untyped_storage() for t in parameters)
    keys = weakref.WeakKeyDictionary()

    def pack(t):
        storage = t.untyped_storage()
        if storage.nbytes() < limit or storage in stays:
            return t
        if storage not in keys:
            keys[storage] = put(t.as_strided((storage.nbytes() // t.element_size(),), (1,), 0))
        return keys[storage], t.size(), t.stride(), t.storage_offset()

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        key, size, stride, offset = packed
        return get(key).as_strided(size, stride, offset)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return f(x)
