"""Answers to the exercises of lesson 16."""

# %%
import contextlib
import functools
import itertools

import torch
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


# %% exercise="predict_kept" verdict="passed"
# Careful reader.
predict_kept = {
    "no checkpoint": 4,
    "checkpoint": 1,
    "tanh saved": 4,
    "addmm saved": 5,
    "mm saved": 1,
    "both saved": 8,
}

# %% exercise="predict_kept" verdict="refused"
# Forgets that the result of the network is counted, too.
predict_kept = {
    "no checkpoint": 4,
    "checkpoint": 0,
    "tanh saved": 4,
    "addmm saved": 4,
    "mm saved": 0,
    "both saved": 8,
}

# %% exercise="predict_kept" verdict="refused"
# Thinks that a graph keeps the result of every operation.
predict_kept = {
    "no checkpoint": 8,
    "checkpoint": 1,
    "tanh saved": 4,
    "addmm saved": 5,
    "mm saved": 1,
    "both saved": 8,
}

# %% exercise="predict_kept" verdict="refused"
# Takes mm for the name of every product.
predict_kept = {
    "no checkpoint": 4,
    "checkpoint": 1,
    "tanh saved": 4,
    "addmm saved": 5,
    "mm saved": 5,
    "both saved": 8,
}

# %% exercise="predict_kept" verdict="refused"
# Adds the result to what is saved, although the last tanh is the result.
predict_kept = {
    "no checkpoint": 5,
    "checkpoint": 1,
    "tanh saved": 5,
    "addmm saved": 5,
    "mm saved": 1,
    "both saved": 9,
}

# %% exercise="predict_kept" verdict="refused"
# Thinks that a policy can only keep less than the graph keeps.
predict_kept = {
    "no checkpoint": 4,
    "checkpoint": 1,
    "tanh saved": 4,
    "addmm saved": 1,
    "mm saved": 1,
    "both saved": 4,
}

# %% exercise="predict_kept" verdict="refused"
# Counts the input in every row.
predict_kept = {
    "no checkpoint": 5,
    "checkpoint": 2,
    "tanh saved": 5,
    "addmm saved": 6,
    "mm saved": 2,
    "both saved": 9,
}

# %% exercise="keep_products" verdict="passed"
def keep_products(f, x):
    contexts = functools.partial(create_selective_checkpoint_contexts, list(PRODUCTS))
    return checkpoint(f, x, use_reentrant=False, context_fn=contexts)


# %% exercise="keep_products" verdict="passed"
def keep_products(f, x):
    def policy(ctx, op, *args, **kwargs):
        if op.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.aten.bmm):
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.PREFER_RECOMPUTE

    return checkpoint(
        f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy)
    )


# %% exercise="keep_products" verdict="refused"
# Saves only what a Linear runs: addmm and mm. bmm runs twice.
def keep_products(f, x):
    return checkpoint(
        f,
        x,
        use_reentrant=False,
        context_fn=lambda: create_selective_checkpoint_contexts([aten.addmm.default, aten.mm.default]),
    )


# %% exercise="keep_products" verdict="refused"
# Switches off the state of the random generator: other noise in the recomputation.
def keep_products(f, x):
    return checkpoint(
        f,
        x,
        use_reentrant=False,
        preserve_rng_state=False,
        context_fn=lambda: create_selective_checkpoint_contexts(list(PRODUCTS)),
    )


# %% exercise="keep_products" verdict="refused"
# Names without an ending: torch refuses the list.
def keep_products(f, x):
    return checkpoint(
        f,
        x,
        use_reentrant=False,
        context_fn=lambda: create_selective_checkpoint_contexts([aten.mm, aten.addmm, aten.bmm]),
    )


# %% exercise="keep_products" verdict="refused"
# The policy the wrong way round: everything is saved but the products.
def keep_products(f, x):
    def policy(ctx, op, *args, **kwargs):
        return CheckpointPolicy.MUST_RECOMPUTE if op in PRODUCTS else CheckpointPolicy.MUST_SAVE

    return checkpoint(
        f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy)
    )


# %% exercise="keep_products" verdict="refused"
# No checkpoint: no product runs twice, but all that the graph needs is kept.
def keep_products(f, x):
    return f(x)


# %% exercise="keep_products" verdict="refused"
# A checkpoint only for an x that requires grad: forgets the parameters of f.
def keep_products(f, x):
    if not x.requires_grad:
        return f(x)
    return checkpoint(
        f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(list(PRODUCTS))
    )


# %% exercise="predict_repeats" verdict="passed"
# Careful reader.
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
# Leaves out early stop everywhere.
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
# Thinks that the first backward pass leaves its tensors to the second.
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
# Thinks that nesting adds no run.
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

# %% exercise="predict_repeats" verdict="refused"
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

# %% exercise="predict_repeats" verdict="refused"
# Thinks that x + 1 never runs again, wherever it stands.
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
# Never puts the generator back after the recomputation.
def fix_noise(f, x, generator):
    before = generator.get_state()

    def run(x):
        generator.set_state(before)
        return f(x, generator)

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


# %% exercise="fix_noise" verdict="refused"
# A context manager made of a generator function works once: the second backward pass fails.
def fix_noise(f, x, generator):
    before = generator.get_state()

    @contextlib.contextmanager
    def again():
        now = generator.get_state()
        generator.set_state(before)
        try:
            yield
        finally:
            generator.set_state(now)

    return checkpoint(f, x, generator, use_reentrant=False, context_fn=lambda: (contextlib.nullcontext(), again()))


# %% exercise="fix_noise" verdict="refused"
# One copy for all recomputations: the second backward pass draws on.
def fix_noise(f, x, generator):
    copy = generator.clone_state()
    first = True

    def run(x):
        nonlocal first
        source, first = (generator if first else copy), False
        return f(x, source)

    return checkpoint(run, x, use_reentrant=False)


# %% exercise="fix_noise" verdict="refused"
# Seeds again, although the generator has been used before.
def fix_noise(f, x, generator):
    def run(x):
        return f(x, generator.manual_seed(generator.initial_seed()))

    return checkpoint(run, x, use_reentrant=False)


# %% exercise="fix_noise" verdict="refused"
# Works on copies in both passes: the caller's generator never moves.
def fix_noise(f, x, generator):
    start = generator.clone_state()
    return checkpoint(lambda x: f(x, start.clone_state()), x, use_reentrant=False)


# %% exercise="fix_noise" verdict="refused"
# The checkpoint taken away: everything is kept.
def fix_noise(f, x, generator):
    return f(x, generator)


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


# %% exercise="stay_silent" verdict="refused"
# A factor that is a Python number is no saved tensor: the gradient is right.
def stay_silent():
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        return calls * x

    return f


# %% exercise="stay_silent" verdict="refused"
# Noise from torch's own generator, which a checkpoint puts back.
def stay_silent():
    return lambda x: x * torch.randn_like(x)


# %% exercise="stay_silent" verdict="refused"
# Another shape in the recomputation: torch notices and raises an error.
def stay_silent():
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        return torch.cat([x.flatten()] * calls).sin().sum()

    return f


# %% exercise="stay_silent" verdict="refused"
# detach is wrong without a checkpoint, too.
def stay_silent():
    return lambda x: x * x.detach()


# %% exercise="stay_silent" verdict="refused"
# Returns the value, not the function: the function itself is the answer.
def stay_silent(x=None):
    x = torch.ones(3, requires_grad=True)
    return x.sin()


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


# %% exercise="fit_budget" verdict="refused"
# Greedy by multiplications per byte: not the best set.
def fit_budget(f, x, budget):
    with torch.random.fork_rng(), torch.no_grad(), ProductsSeen() as seen:
        f(x)
    chosen = set()
    for i in sorted(range(len(seen.prices)), key=lambda i: -seen.prices[i][1] / seen.prices[i][0]):
        if seen.prices[i][0] <= budget:
            chosen.add(i)
            budget -= seen.prices[i][0]
    return saving_numbers(f, chosen)(x)


# %% exercise="fit_budget" verdict="refused"
# The trial run moves the random state.
def fit_budget(f, x, budget):
    with torch.no_grad(), ProductsSeen() as seen:
        f(x)
    numbers = range(len(seen.prices))
    sets = [s for count in range(len(numbers) + 1) for s in itertools.combinations(numbers, count)]
    allowed = [s for s in sets if sum(seen.prices[i][0] for i in s) <= budget]
    best = max(allowed, key=lambda s: sum(seen.prices[i][1] for i in s))
    return saving_numbers(f, best)(x)


# %% exercise="fit_budget" verdict="refused"
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
# Fills the budget: most bytes saved, not most multiplications.
def fit_budget(f, x, budget):
    with torch.random.fork_rng(), torch.no_grad(), ProductsSeen() as seen:
        f(x)
    numbers = range(len(seen.prices))
    sets = [s for count in range(len(numbers) + 1) for s in itertools.combinations(numbers, count)]
    sizes = {s: sum(seen.prices[i][0] for i in s) for s in sets}
    return saving_numbers(f, max((s for s in sets if sizes[s] <= budget), key=sizes.get))(x)


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


# %% exercise="fit_budget" verdict="refused"
# One product only: the dearest that fits.
def fit_budget(f, x, budget):
    with torch.random.fork_rng(), torch.no_grad(), ProductsSeen() as seen:
        f(x)
    fits = [i for i, (size, _) in enumerate(seen.prices) if size <= budget]
    best = max(fits, key=lambda i: seen.prices[i][1], default=None)
    return saving_numbers(f, {best})(x)


# %% exercise="fit_budget" verdict="refused"
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
