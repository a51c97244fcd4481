# %%
import itertools

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

aten = torch.ops.aten
PRODUCTS = (aten.mm.default, aten.addmm.default, aten.bmm.default)


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.sizes, self.costs = [], []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        if operation in PRODUCTS:
            self.sizes.append(result.numel() * result.element_size())
            self.costs.append(result.numel() * args[-1].shape[-2])
        return result


def saving(f, x, chosen):
    def contexts():
        numbers = {False: itertools.count(), True: itertools.count()}

        def policy(ctx, operation, *args, **kwargs):
            return operation in PRODUCTS and next(numbers[ctx.is_recompute]) in chosen

        return create_selective_checkpoint_contexts(policy)

    return checkpoint(f, x, use_reentrant=False, context_fn=contexts)


def trial(f, x):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), Seen() as seen:
        f(x)
    return seen


def best(sizes, costs, budget):
    numbers = range(len(sizes))
    sets = [chosen for count in range(len(sizes) + 1) for chosen in itertools.combinations(numbers, count)]
    fitting = [chosen for chosen in sets if sum(sizes[i] for i in chosen) <= budget]
    return max(fitting, key=lambda chosen: sum(costs[i] for i in chosen))


def greedily(sizes, order, budget):
    chosen = []
    for i in order:
        if sizes[i] <= budget:
            budget -= sizes[i]
            chosen.append(i)
    return chosen


# %% mistake="first_come" theme="own"
# The results are saved in the order of the pass, as long as they fit. The first ones are not the dearest.
# Результаты сохраняются в порядке вычисления, пока помещаются. Но первые из них не самые дорогие.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, greedily(seen.sizes, range(len(seen.sizes)), budget))

# %% mistake="smallest_first" theme="own"
# The smallest results are saved first. That is the largest number of products, not of multiplications.
# Сначала сохраняются самые маленькие результаты. Так больше всего произведений, но не умножений.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, greedily(seen.sizes, sorted(range(len(seen.sizes)), key=seen.sizes.__getitem__), budget))

# %% mistake="dearest_first" theme="own"
# The dearest products are saved first. Two cheaper ones may fit into the same bytes and be worth more together.
# Сначала сохраняются самые дорогие произведения. Но на то же место могут поместиться два подешевле, которые вместе
#     дороже.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    order = sorted(range(len(seen.sizes)), key=lambda i: -seen.costs[i])
    return saving(f, x, greedily(seen.sizes, order, budget))

# %% mistake="by_the_ratio" theme="own"
# Products are saved by multiplications per byte. That comes near, but bytes stay unused that a better set would fill.
# Произведения сохраняются в порядке числа умножений на байт. Это близко к лучшему, но остаются байты, которые лучший
#     набор использовал бы.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    order = sorted(range(len(seen.sizes)), key=lambda i: -seen.costs[i] / seen.sizes[i])
    return saving(f, x, greedily(seen.sizes, order, budget))

# %% mistake="fullest" theme="own"
# The set that fills the budget best is saved. Bytes are the price; what counts is the multiplications.
# Сохраняется набор, который полнее всего занимает бюджет. Но байты — это цена, а считать надо умножения.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, best(seen.sizes, seen.sizes, budget))

# %% mistake="numbers_for_bytes" theme="scaling"
# Numbers are counted in place of bytes. A float64 number has eight of them, and the budget is exceeded.
# Посчитаны числа, а не байты. В числе float64 восемь байт, и бюджет превышен.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, best([size // 8 for size in seen.sizes], seen.costs, budget))

# %% mistake="saves_all_products" theme="cost"
# All products are saved, whatever the budget is.
# Сохраняются все произведения, каким бы ни был бюджет.
def fit_budget(f, x, budget):
    return saving(f, x, range(1000))

# %% mistake="saves_nothing" theme="cost"
# No result is saved: all products run again, although the budget has room for some.
# Не сохраняется ни один результат: заново выполняются все произведения, хотя бюджет позволил бы сохранить часть.
def fit_budget(f, x, budget):
    return checkpoint(f, x, use_reentrant=False)

# %% mistake="no_checkpoint" theme="cost"
# There is no checkpoint: the graph keeps all that the derivatives need.
# Контрольной точки нет: граф хранит всё, что нужно производным.
def fit_budget(f, x, budget):
    return f(x)

# %% mistake="trial_moves_the_state" theme="state"
# The trial run draws random numbers, and they are missing afterwards: the real run draws others.
# Пробный запуск расходует случайные числа, и настоящему достаются другие.
def fit_budget(f, x, budget):
    with torch.no_grad(), Seen() as seen:
        f(x)
    return saving(f, x, best(seen.sizes, seen.costs, budget))

# %% mistake="two_trials" theme="cost"
# `f` runs more than twice in the forward pass: one trial shows sizes and multiplications at once.
# Функция `f` выполнена в прямом проходе больше двух раз: и размеры, и умножения видны за один пробный запуск.
def fit_budget(f, x, budget):
    sizes, costs = trial(f, x).sizes, trial(f, x).costs
    return saving(f, x, best(sizes, costs, budget))

# %% mistake="state_before_the_call" theme="state"
# After the call the random state is the one from before it: the next draw repeats the numbers of `f`.
# После вызова состояние генератора такое же, как до него: следующие числа повторят взятые в `f`.
def fit_budget(f, x, budget):
    with torch.random.fork_rng(devices=[]):
        seen = trial(f, x)
        return saving(f, x, best(seen.sizes, seen.costs, budget))

# %% mistake="never_all" theme="own"
# One product runs again, although the budget has room for all results.
# Одно произведение выполняется заново, хотя в бюджет помещаются все результаты.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    chosen = best(seen.sizes, seen.costs, budget)
    return saving(f, x, chosen[1:] if len(chosen) == len(seen.sizes) else chosen)
