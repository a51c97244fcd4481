"""Answers to the exercises of lesson 16."""
# %%
import contextlib
import functools
import itertools
import weakref
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
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
# %% exercise="predict_kept" verdict="refused" mistake="checkpoint_keeps_its_input_anew"
# Counts the input in every row.
predict_kept = {
    "no checkpoint": 5,
    "checkpoint": 2,
    "tanh saved": 5,
    "addmm saved": 6,
    "mm saved": 2,
    "both saved": 9,
}
# %% exercise="keep_products" verdict="refused" mistake="saves_all_products"
# What was asked for before only the expensive products counted: a list of names.
def keep_products(f, x):
    contexts = functools.partial(create_selective_checkpoint_contexts, list(PRODUCTS))
    return checkpoint(f, x, use_reentrant=False, context_fn=contexts)
# %% exercise="keep_products" verdict="refused" mistake="saves_nothing"
# A policy for other subsystems: in eager mode such results are computed again. The names are right.
def keep_products(f, x):
    def policy(ctx, op, *args, **kwargs):
        if op in PRODUCTS and args[-1].shape[-2] >= 16:
            return CheckpointPolicy.MUST_CPU_OFFLOAD
        return CheckpointPolicy.PREFER_RECOMPUTE
    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))
# %% exercise="keep_products" verdict="refused" mistake="one_pair_for_all_calls"
# One pair of contexts, made at the first call.
_pairs = []
def keep_products(f, x):
    def policy(ctx, op, *args, **kwargs):
        return op in PRODUCTS and args[-1].shape[-2] >= 16
    if not _pairs:
        _pairs.append(create_selective_checkpoint_contexts(policy))
    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: _pairs[0])
# %% exercise="keep_products" verdict="passed"
def keep_products(f, x):
    def policy(ctx, op, *args, **kwargs):
        if op.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.aten.bmm) and args[-1].size(-2) > 15:
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.PREFER_RECOMPUTE
    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))
# %% exercise="keep_products" verdict="refused" mistake="only_for_a_leaf_with_gradient"
# A checkpoint only for an x that requires grad: forgets the parameters of f.
def keep_products(f, x):
    def policy(ctx, op, *args, **kwargs):
        return op in PRODUCTS and args[-1].shape[-2] >= 16
    if not x.requires_grad:
        return f(x)
    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))
# %% exercise="predict_repeats" verdict="refused" mistake="stops_before_the_square"
# Thinks that early stop comes before the square is called, because it saves only its input.
predict_repeats = {
    "no checkpoint": [1, 1, 1],
    "one checkpoint": [2, 1, 1],
    "two backward passes": [3, 1, 1],
    "no early stop": [2, 2, 2],
    "x + 1 first": [2, 1, 2],
    "one for each": [2, 2, 1],
    "a checkpoint inside": [3, 1, 1],
}
# %% exercise="predict_repeats" verdict="refused" mistake="forward_is_not_counted"
# Counts only the calls of the backward pass.
predict_repeats = {
    "no checkpoint": [0, 0, 0],
    "one checkpoint": [1, 1, 0],
    "two backward passes": [2, 2, 0],
    "no early stop": [1, 1, 1],
    "x + 1 first": [1, 1, 1],
    "one for each": [1, 1, 0],
    "a checkpoint inside": [2, 1, 0],
}
# %% exercise="fix_noise" verdict="passed"
def fix_noise(f, x, generator):
    before = generator.get_state()
    first = True
    def run(x):
        nonlocal first
        if first:
            first = False
            return f(x, generator)
        now = generator.get_state()
        generator.set_state(before)
        try:
            return f(x, generator)
        finally:
            generator.set_state(now)
    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="passed"
# The caller's generator only in the forward pass, a fresh copy in every recomputation.
def fix_noise(f, x, generator):
    state = generator.clone_state()
    generators = itertools.chain([generator], (state.clone_state() for _ in itertools.count()))
    return checkpoint(lambda x: f(x, next(generators)), x, use_reentrant=False)
# %% exercise="fix_noise" verdict="passed"
# A context that can be entered again and again.
def fix_noise(f, x, generator):
    before = generator.get_state()
    class Again:
        def __enter__(self):
            self.now = generator.get_state()
            generator.set_state(before)
        def __exit__(self, *error):
            generator.set_state(self.now)
    return checkpoint(f, x, generator, use_reentrant=False, context_fn=lambda: (contextlib.nullcontext(), Again()))
# %% exercise="fix_noise" verdict="passed"
# A copy in each run; the caller's generator takes over the state of the first.
def fix_noise(f, x, generator):
    before = generator.get_state()
    after = None
    def run(x):
        nonlocal after
        mine = torch.Generator()
        mine.set_state(before)
        y = f(x, mine)
        if after is None:
            after = mine.get_state()
            generator.set_state(after)
        return y
    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused"
# Early stop leaves f by an exception: without `finally` the generator is not put back.
def fix_noise(f, x, generator):
    before = generator.get_state()
    runs = 0
    def run(x):
        nonlocal runs
        runs += 1
        now = generator.get_state()
        if runs > 1:
            generator.set_state(before)
        y = f(x, generator)
        if runs > 1:
            generator.set_state(now)
        return y
    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused" mistake="one_copy_for_all"
# One copy for all recomputations: the second backward pass draws on.
def fix_noise(f, x, generator):
    copy = generator.clone_state()
    first = True
    def run(x):
        nonlocal first
        source, first = (generator if first else copy), False
        return f(x, source)
    return checkpoint(run, x, use_reentrant=False)
# %% exercise="stay_silent" verdict="passed"
def stay_silent():
    calls = 0
    def f(x):
        nonlocal calls
        calls += 1
        return (calls * x).sin()
    return f
# %% exercise="stay_silent" verdict="passed"
# Noise of a generator with a fixed seed.
def stay_silent():
    source = torch.Generator().manual_seed(0)
    return lambda x: x * torch.randn(x.shape, generator=source, dtype=x.dtype)
# %% exercise="stay_silent" verdict="passed"
# A weight that grows with each call.
def stay_silent():
    weight = [1.0]
    def f(x):
        y = x * torch.full_like(x, weight[0])
        weight[0] *= -1
        return y.sum()
    return f
# %% exercise="fit_budget" verdict="passed"
def fit_budget(f, x, budget):
    with torch.random.fork_rng(), torch.no_grad(), ProductsSeen() as seen:
        f(x)
    numbers = range(len(seen.prices))
    sets = [s for count in range(len(numbers) + 1) for s in itertools.combinations(numbers, count)]
    allowed = [s for s in sets if sum(seen.prices[i][0] for i in s) <= budget]
    best = max(allowed, key=lambda s: sum(seen.prices[i][1] for i in s))
    return saving_numbers(f, best)(x)
# %% exercise="fit_budget" verdict="passed"
# A knapsack by recursion, the random state by hand, a policy that pops its answers.
def fit_budget(f, x, budget):
    state = torch.get_rng_state()
    with torch.no_grad(), ProductsSeen() as seen:
        f(x)
    torch.set_rng_state(state)
    @functools.cache
    def best(number, left):
        if number == len(seen.prices):
            return 0, ()
        size, worth = seen.prices[number]
        without = best(number + 1, left)
        if size > left:
            return without
        gain, rest = best(number + 1, left - size)
        return max(without, (gain + worth, (number, *rest)))
    chosen = best(0, budget)[1]
    flags = [number in chosen for number in range(len(seen.prices))]
    def contexts():
        left = {False: list(flags), True: list(flags)}
        def policy(ctx, op, *args, **kwargs):
            if op in PRODUCTS and left[ctx.is_recompute].pop(0):
                return CheckpointPolicy.MUST_SAVE
            return CheckpointPolicy.PREFER_RECOMPUTE
        return create_selective_checkpoint_contexts(policy)
    return checkpoint(f, x, use_reentrant=False, context_fn=contexts)
# %% exercise="fit_budget" verdict="refused" mistake="state_before_the_call"
# Puts the random state back at the end: who draws next gets what f drew.
def fit_budget(f, x, budget):
    with torch.random.fork_rng():
        state = torch.get_rng_state()
        with torch.no_grad(), ProductsSeen() as seen:
            f(x)
        torch.set_rng_state(state)
        numbers = range(len(seen.prices))
        sets = [s for count in range(len(numbers) + 1) for s in itertools.combinations(numbers, count)]
        allowed = [s for s in sets if sum(seen.prices[i][0] for i in s) <= budget]
        best = max(allowed, key=lambda s: sum(seen.prices[i][1] for i in s))
        return saving_numbers(f, best)(x)
# %% exercise="fit_budget" verdict="refused"
# A budget that is just enough is not used.
def fit_budget(f, x, budget):
    with torch.random.fork_rng(), torch.no_grad(), ProductsSeen() as seen:
        f(x)
    numbers = range(len(seen.prices))
    sets = [s for count in range(len(numbers) + 1) for s in itertools.combinations(numbers, count)]
    allowed = [s for s in sets if not s or sum(seen.prices[i][0] for i in s) < budget]
    best = max(allowed, key=lambda s: sum(seen.prices[i][1] for i in s))
    return saving_numbers(f, best)(x)
# %% exercise="fix_noise" verdict="passed"
# A copy of the state, to be safe.
def fix_noise(f, x, generator):
    before = generator.get_state().clone()
    calls = 0
    def run(x):
        nonlocal calls
        calls += 1
        if calls == 1:
            return f(x, generator)
        mine = torch.Generator(device=generator.device)
        mine.set_state(before)
        return f(x, mine)
    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused"
# Puts the generator where it was at the first recomputation: what is drawn between the passes comes again.
def fix_noise(f, x, generator):
    before, calls, now = generator.get_state(), 0, None
    def run(x):
        nonlocal calls, now
        calls += 1
        if calls == 1:
            return f(x, generator)
        if now is None:
            now = generator.get_state()
        generator.set_state(before)
        try:
            return f(x, generator)
        finally:
            generator.set_state(now)
    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused" mistake="numbers_come_again"
# Puts the generator where the forward pass left it: what was drawn in between comes again.
def fix_noise(f, x, generator):
    before = generator.get_state()
    after = None
    def run(x):
        nonlocal after
        generator.set_state(before)
        try:
            return f(x, generator)
        finally:
            if after is None:
                after = generator.get_state()
            generator.set_state(after)
    return checkpoint(run, x, use_reentrant=False)
# %% exercise="stay_silent" verdict="passed"
# Python's random numbers, seeded for each fresh f.
def stay_silent():
    import random
    source = random.Random(1)
    return lambda x: (x * source.choice([1, 2, 3, 4, 5, 6, 7, 8, 9])).sin()
# %% exercise="stay_silent" verdict="refused"
# A cache: in the recomputation nothing is saved, and torch raises an error.
def stay_silent():
    cache = []
    def f(x):
        if not cache:
            cache.append(x.sin())
        return cache[0]
    return f
# %% exercise="fit_budget" verdict="refused"
# Forgets that a budget may be too small for any result.
def fit_budget(f, x, budget):
    with torch.random.fork_rng(), torch.no_grad(), ProductsSeen() as seen:
        f(x)
    numbers = range(len(seen.prices))
    sets = [s for count in range(1, len(numbers) + 1) for s in itertools.combinations(numbers, count)]
    allowed = [s for s in sets if sum(seen.prices[i][0] for i in s) <= budget]
    best = max(allowed, key=lambda s: sum(seen.prices[i][1] for i in s))
    return saving_numbers(f, best)(x)
# %% exercise="fit_budget" verdict="refused" mistake="never_all"
# Never tries the set of all products.
def fit_budget(f, x, budget):
    with torch.random.fork_rng(), torch.no_grad(), ProductsSeen() as seen:
        f(x)
    numbers = range(len(seen.prices))
    sets = [s for count in range(len(numbers)) for s in itertools.combinations(numbers, count)]
    allowed = [s for s in sets if sum(seen.prices[i][0] for i in s) <= budget]
    best = max(allowed, key=lambda s: sum(seen.prices[i][1] for i in s))
    return saving_numbers(f, best)(x)
# %% exercise="fit_budget" verdict="refused"
# Takes f for a module: the trial run without dropout draws nothing.
def fit_budget(f, x, budget):
    f.eval()
    with torch.no_grad(), ProductsSeen() as seen:
        f(x)
    f.train()
    numbers = range(len(seen.prices))
    sets = [s for count in range(len(numbers) + 1) for s in itertools.combinations(numbers, count)]
    allowed = [s for s in sets if sum(seen.prices[i][0] for i in s) <= budget]
    best = max(allowed, key=lambda s: sum(seen.prices[i][1] for i in s))
    return saving_numbers(f, best)(x)
# %% exercise="fit_budget" verdict="refused" mistake="batches_for_matrices"
# Saves in the order of the pass while there is room.
def fit_budget(f, x, budget):
    left = budget
    def contexts():
        def policy(ctx, operation, *args, **kwargs):
            nonlocal left
            if operation not in PRODUCTS:
                return False
            size = args[-2].shape[-2] * args[-1].shape[-1] * args[-1].element_size()
            if size > left:
                return False
            left -= size
            return True
        return create_selective_checkpoint_contexts(policy)
    return checkpoint(f, x, use_reentrant=False, context_fn=contexts)
# %% exercise="fit_budget" verdict="refused" mistake="counts_the_result"
# Counts the result among the bytes of the budget.
def fit_budget(f, x, budget):
    with torch.random.fork_rng(), torch.no_grad(), ProductsSeen() as seen:
        budget -= f(x).nbytes
    numbers = range(len(seen.prices))
    sets = [s for count in range(len(numbers) + 1) for s in itertools.combinations(numbers, count)]
    allowed = [s for s in sets if sum(seen.prices[i][0] for i in s) <= budget]
    best = max(allowed, key=lambda s: sum(seen.prices[i][1] for i in s), default=())
    return saving_numbers(f, best)(x)
# %% exercise="fix_noise" verdict="refused" mistake="runs_once_more"
# Draws the noise state before and passes a copy, the generator is advanced by running f once more.
def fix_noise(f, x, generator):
    before = generator.get_state()
    y = checkpoint(lambda x: f(x, torch.Generator().set_state(before)), x, use_reentrant=False)
    f(x.detach(), generator)
    return y
# %% exercise="keep_products" verdict="refused" mistake="saves_nothing"
# the names of the functions of the API, which no tensor operation bears
def keep_products(f, x):
    names = [aten.linear.default, aten.matmul.default]
    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(names))
# %% exercise="keep_products" verdict="refused" mistake=""
# a seed of its own
def keep_products(f, x):
    def run(x):
        torch.manual_seed(0)
        return f(x)
    return checkpoint(
        run, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(list(PRODUCTS))
    )
# %% exercise="fix_noise" verdict="refused" mistake="trusts_the_common_state"
# believes that preserve_rng_state covers every generator
def fix_noise(f, x, generator):
    return checkpoint(f, x, generator, use_reentrant=False, preserve_rng_state=True)
# %% exercise="fix_noise" verdict="refused" mistake="state_after_the_first_run"
# sets the state that it notes on leaving
def fix_noise(f, x, generator):
    generator = torch.Generator().set_state(generator.get_state())
    return checkpoint(f, x, generator, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused" mistake=""
# the recomputation is given a seed of its own
def fix_noise(f, x, generator):
    calls = []
    def run(x):
        calls.append(1)
        return f(x, generator if len(calls) == 1 else torch.Generator().manual_seed(0))
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
# %% exercise="stay_silent" verdict="refused" mistake="is_harmless"
# the difference is far too small
def stay_silent():
    calls = 0
    def f(x):
        nonlocal calls
        calls += 1
        return ((1 + 1e-3 * calls) * x).square()
    return f
# %% exercise="fit_budget" verdict="refused" mistake="first_come_until_full"
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
# %% exercise="fit_budget" verdict="refused" mistake="all_or_nothing"
# all or nothing
def fit_budget(f, x, budget):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), ProductsSeen() as seen:
        f(x)
    fits = sum(size for size, _ in seen.prices) <= budget
    return saving_numbers(f, range(len(seen.prices)) if fits else ())(x)
# %% exercise="stay_silent" verdict="passed"
# another chain: early stop sees only its first saved tensor
def stay_silent():
    calls = [0]
    def f(x):
        calls[0] += 1
        return x.sin() if calls[0] == 1 else x.exp().sin().exp()
    return f
# %% exercise="fix_noise" verdict="refused" mistake="notes_the_state_anew"
# state noted inside
def fix_noise(f, x, generator):
    def run(x):
        copy = torch.Generator()
        copy.set_state(generator.get_state())
        return f(x, copy)
    return checkpoint(run, x, use_reentrant=False)
# %% exercise="keep_products" verdict="refused" mistake="all_but_the_cheap_ones"
# everything but the cheap operations of the section is saved
def keep_products(f, x):
    cheap = {aten.gelu.default, aten.softplus.default, aten.sigmoid.default, aten.tanh.default}
    def policy(ctx, operation, *args, **kwargs):
        return CheckpointPolicy.PREFER_RECOMPUTE if operation in cheap else CheckpointPolicy.MUST_SAVE
    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))
# %% exercise="keep_products" verdict="refused" mistake="saves_all_bmm"
# names of Python's functions: linear and matmul never reach the policy
def keep_products(f, x):
    products = [aten.linear.default, aten.matmul.default, aten.bmm.default]
    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(products))
# %% exercise="keep_products" verdict="refused" mistake="list_for_a_function"
# the list goes straight into context_fn
def keep_products(f, x):
    products = [aten.mm.default, aten.addmm.default, aten.bmm.default]
    return checkpoint(f, x, use_reentrant=False, context_fn=products)
# %% exercise="fit_budget" verdict="refused" mistake="plain_where_all_fit"
# a budget for all products: f runs without a checkpoint, and the graph keeps more than the products
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
# %% exercise="fix_noise" verdict="refused" mistake="leaves_by_the_exception"
# the state is put back, but not restored after the recomputation
def fix_noise(f, x, generator):
    state = generator.get_state()
    def run(x):
        generator.set_state(state)
        return f(x, generator)
    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused" mistake="every_other_call_is_forward"
# a switch that goes to and fro: the second backward pass counts as a forward pass
def fix_noise(f, x, generator):
    state, again = generator.get_state(), False
    def run(x):
        nonlocal again
        source = torch.Generator().set_state(state) if again else generator
        again = not again
        return f(x, source)
    return checkpoint(run, x, use_reentrant=False)
# %% exercise="stay_silent" verdict="passed"
# a weight that is replaced
def stay_silent():
    weight = torch.tensor(1.0)
    def f(x):
        nonlocal weight
        y = x * weight
        weight = weight + 1
        return y
    return f
# %% exercise="predict_kept" verdict="refused" mistake="on_top_of_the_graph"
# policy's tensors come on top of the graph's
predict_kept = {
    "no checkpoint": 4,
    "checkpoint": 1,
    "tanh saved": 8,
    "addmm saved": 8,
    "mm saved": 1,
    "both saved": 12,
}
# %% exercise="predict_repeats" verdict="refused" mistake="first_one_is_kept"
# the first of a segment reads the kept input, so the sine need not run again
predict_repeats = {
    "no checkpoint": [1, 1, 1],
    "one checkpoint": [1, 2, 1],
    "two backward passes": [1, 3, 1],
    "no early stop": [2, 2, 2],
    "x + 1 first": [2, 2, 2],
    "one for each": [2, 2, 1],
    "a checkpoint inside": [3, 2, 1],
}
# %% exercise="keep_products" verdict="refused" mistake="all_but_gelu"
# all but gelu
def keep_products(f, x):
    def policy(ctx, op, *args, **kwargs):
        return CheckpointPolicy.PREFER_RECOMPUTE if op == aten.gelu.default else CheckpointPolicy.MUST_SAVE
    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))
# %% exercise="fix_noise" verdict="refused" mistake="one_note_for_all_calls"
# The state in an attribute of the function: a second call before the backward pass of the first replaces it.
def fix_noise(f, x, generator):
    fix_noise.state = generator.get_state()
    runs = itertools.count()
    def run(x):
        if next(runs) == 0:
            return f(x, generator)
        return f(x, torch.Generator().set_state(fix_noise.state))
    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fix_noise" verdict="refused" mistake="seeds_the_generator_with_42"
# A seed for both runs.
def fix_noise(f, x, generator):
    def run(x):
        generator.manual_seed(42)
        return f(x, generator)
    return checkpoint(run, x, use_reentrant=False)
# %% exercise="fit_budget" verdict="refused" mistake="most_products"
# The largest number of products that fits.
def fit_budget(f, x, budget):
    with torch.random.fork_rng(), torch.no_grad(), ProductsSeen() as seen:
        f(x)
    numbers = range(len(seen.prices))
    sets = [s for count in range(len(numbers) + 1) for s in itertools.combinations(numbers, count)]
    allowed = [s for s in sets if sum(seen.prices[i][0] for i in s) <= budget]
    return saving_numbers(f, max(allowed, key=len))(x)
# %% exercise="fit_budget" verdict="refused" mistake="measures_bytes"
# Each set is tried, and its bytes are measured as the lesson does.
def fit_budget(f, x, budget):
    from autograder.measure import live_bytes
    best = ()
    for count in range(4):
        for chosen in itertools.combinations(range(3), count):
            with torch.random.fork_rng(), live_bytes() as live:
                y = saving_numbers(f, chosen)(x)
                if live.now - y.nbytes <= budget:
                    best = chosen
    return saving_numbers(f, best)(x)
# %% exercise="stay_silent" verdict="refused"
# No gradient at all, with a checkpoint and without: nothing is wrong.
def stay_silent():
    return lambda x: 0 * x
