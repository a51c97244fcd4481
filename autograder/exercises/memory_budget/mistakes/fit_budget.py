# %%
import itertools

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

from autograder.measure import live_bytes

aten = torch.ops.aten
PRODUCTS = (aten.mm.default, aten.addmm.default, aten.bmm.default)


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.sizes, self.costs, self.of_a_matrix, self.result = [], [], [], 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        if operation in PRODUCTS:
            self.sizes.append(result.numel() * result.element_size())
            self.costs.append(result.numel() * args[-1].shape[-2])
            self.of_a_matrix.append(result.nbytes // (len(result) if result.dim() > 2 else 1))
        return result


def saving(f, x, chosen, **settings):
    def contexts():
        numbers = {False: itertools.count(), True: itertools.count()}

        def policy(ctx, operation, *args, **kwargs):
            return operation in PRODUCTS and next(numbers[ctx.is_recompute]) in chosen

        return create_selective_checkpoint_contexts(policy)

    return checkpoint(f, x, use_reentrant=False, context_fn=contexts, **settings)


def trial(f, x):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), Seen() as seen:
        seen.result = f(x).nbytes
    return seen


def best(sizes, costs, budget, fewest=0):
    numbers = range(len(sizes))
    sets = [chosen for count in range(fewest, len(sizes) + 1) for chosen in itertools.combinations(numbers, count)]
    fitting = [chosen for chosen in sets if sum(sizes[i] for i in chosen) <= budget]
    return max(fitting, key=lambda chosen: sum(costs[i] for i in chosen), default=None)


def greedily(sizes, order, budget, stops=False):
    chosen = []
    for i in order:
        if sizes[i] <= budget:
            budget -= sizes[i]
            chosen.append(i)
        elif stops:
            break
    return chosen


def or_error(chosen, text):
    if chosen is None:
        raise ValueError(text)
    return chosen


# Texts of `max()`, up to Python 3.11 and from 3.12 on.
OLD, NEW = "max() arg is an empty sequence", "max() iterable argument is empty"


# %% mistake="first_come" theme="own"
# The results are saved in the order of the pass, as long as they fit. The first ones are not the dearest.
# Результаты сохраняются в порядке вычисления, пока помещаются. Но первые из них не самые дорогие.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, greedily(seen.sizes, range(len(seen.sizes)), budget))

# %% mistake="first_come_until_full" theme="own"
# The results are saved in the order of the pass, up to the first that does not fit. The first ones are not the dearest.
# Результаты сохраняются в порядке вычисления до первого, который не помещается. Но первые из них не самые дорогие.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, greedily(seen.sizes, range(len(seen.sizes)), budget, stops=True))

# %% mistake="last_come" theme="own"
# The results are saved from the end of the pass backwards, as long as they fit. The last ones are not the dearest.
# Результаты сохраняются начиная с последнего, пока помещаются. Но последние из них не самые дорогие.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, greedily(seen.sizes, reversed(range(len(seen.sizes))), budget))

# %% mistake="smallest_first" theme="own"
# The smallest results are saved first. That is the largest number of products, not of multiplications.
# Сначала сохраняются самые маленькие результаты. Так сохраняется больше всего произведений, но умножений экономится меньше,
#     чем можно было бы.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, greedily(seen.sizes, sorted(range(len(seen.sizes)), key=seen.sizes.__getitem__), budget))

# %% mistake="most_products" theme="own"
# The set with the most products is saved. What counts is not their number, but their multiplications.
# Сохраняется набор, в котором больше всего произведений. Но важно не их количество, а число умножений в них.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, best(seen.sizes, [1] * len(seen.sizes), budget))

# %% mistake="measures_bytes" theme="cost"
# Bytes are measured in the answer, by `live_bytes` or by a profiler. No measurement is needed: `ProductsSeen` tells in one
#     trial run what each result takes.
# Байты измеряются в самом ответе, с помощью `live_bytes` или профилировщика. Измерять не нужно: сколько занимает каждый
#     результат, `ProductsSeen` покажет за один пробный запуск.
def fit_budget(f, x, budget):
    with live_bytes():
        return saving(f, x, ())

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

# %% mistake="best_ratio_of_a_set" theme="own"
# The set with the most multiplications per byte is saved. That is a small set, and bytes stay unused.
# Сохраняется набор, в котором больше всего умножений на байт. Такой набор мал, и часть байтов не использована.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    fits = [i for i, size in enumerate(seen.sizes) if size <= budget]
    return saving(f, x, sorted(fits, key=lambda i: seen.costs[i] / seen.sizes[i])[-1:])

# %% mistake="fullest" theme="own"
# The set that fills the budget best is saved. Bytes are the price; what counts is the multiplications.
# Сохраняется набор, который занимает как можно большую часть бюджета. Но байты — это цена, а считать надо умножения.
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

# %% mistake="saves_nothing" theme="cost" plain="yes"
# No result is saved: all products run again, although the budget has room for some.
# Не сохраняется ни один результат: заново выполняются все произведения, хотя бюджет позволил бы сохранить часть.
def fit_budget(f, x, budget):
    return checkpoint(f, x, use_reentrant=False)

# %% mistake="no_checkpoint" theme="cost" plain="yes"
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
# После вызова состояние генератора такое же, как до него: следующие числа повторят те, что уже взяты в `f`.
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

# %% mistake="strictly_below" theme="own"
# A set whose results fill the budget to the last byte is left out, although it fits.
# Набор, который занимает бюджет до последнего байта, отброшен, хотя он помещается.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, best(seen.sizes, seen.costs, budget - 1) or ())

# %% mistake="only_one" theme="own"
# At most one result is saved, the dearest that fits. Several may fit together.
# Сохраняется не больше одного результата, самый дорогой из тех, что помещаются. А поместиться могут и несколько.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    fits = [i for i, size in enumerate(seen.sizes) if size <= budget]
    return saving(f, x, sorted(fits, key=seen.costs.__getitem__)[-1:])

# %% mistake="batches_for_matrices" theme="scaling"
# The size of a `bmm` is taken for that of one matrix. Its result has as many matrices as the batch, and the budget is
#     exceeded. Also, the results are saved in the order of the pass, not by what they spare.
# Размер результата `bmm` посчитан как у одной матрицы. Но матриц в нём столько же, сколько в каждом множителе, и бюджет превышен.
#     Кроме того, результаты сохраняются в порядке вычисления, а не по тому, сколько умножений они экономят.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, greedily(seen.of_a_matrix, range(len(seen.sizes)), budget))

# %% mistake="batches_for_matrices_at_best" theme="scaling"
# The size of a `bmm` is taken for that of one matrix. Its result has as many matrices as the batch, and the budget is
#     exceeded.
# Размер результата `bmm` посчитан как у одной матрицы. Но матриц в нём столько же, сколько в каждом множителе, и бюджет превышен.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, best(seen.of_a_matrix, seen.costs, budget))

# %% mistake="four_bytes" theme="scaling"
# Each number is counted as four bytes. A float64 number has eight of them, and the budget is exceeded.
# Каждое число посчитано за четыре байта. В числе float64 их восемь, и бюджет превышен.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, best([size // 2 for size in seen.sizes], seen.costs, budget))

# %% mistake="counts_the_result" theme="own"
# The returned result is counted among the bytes of the budget. The budget is for what is in memory beside it.
# В бюджет включены и байты возвращённого результата. Но бюджет ограничивает только то, что лежит в памяти кроме этого результата.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, best(seen.sizes, seen.costs, budget - seen.result) or ())

# %% mistake="counts_the_result_and_fails" like="counts_the_result"
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, or_error(best(seen.sizes, seen.costs, budget - seen.result), OLD))

# %% mistake="counts_the_result_and_fails_anew" like="counts_the_result"
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, or_error(best(seen.sizes, seen.costs, budget - seen.result), NEW))

# %% mistake="never_none" theme="own"
# Where the budget has no room for even one result, no set is left to choose from. The empty set always fits.
# Если в бюджет не помещается ни один результат, не находится ни одного набора. Но пустой набор помещается всегда.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, or_error(best(seen.sizes, seen.costs, budget, fewest=1), OLD))

# %% mistake="never_none_anew" like="never_none"
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, or_error(best(seen.sizes, seen.costs, budget, fewest=1), NEW))

# %% mistake="takes_f_for_a_module" theme="missing"
# `f` is taken for a module. It may be any function of one tensor, which has no `eval()`. To draw the same random
#     numbers again, put the random state back: `torch.random.fork_rng`.
# `f` принята за модуль. Но это может быть любая функция от одного тензора, и метода `eval()` у неё нет. Чтобы случайные
#     числа повторились, восстановите состояние генератора: `torch.random.fork_rng`.
def fit_budget(f, x, budget):
    f.eval()
    with torch.no_grad(), Seen() as seen:
        f(x)
    f.train()
    return saving(f, x, best(seen.sizes, seen.costs, budget))

# %% mistake="stops_by_the_ratio" theme="own"
# Products are saved by multiplications per byte, up to the first that does not fit. A smaller one behind it might fit.
# Произведения сохраняются в порядке числа умножений на байт до первого, которое не помещается. Но следующее, поменьше,
#     могло бы поместиться.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    order = sorted(range(len(seen.sizes)), key=lambda i: -seen.costs[i] / seen.sizes[i])
    return saving(f, x, greedily(seen.sizes, order, budget, stops=True))

# %% mistake="stops_at_the_dearest" theme="own"
# The dearest products are saved, up to the first that does not fit. A cheaper one behind it might fit.
# Сохраняются самые дорогие произведения до первого, которое не помещается. Но следующее, подешевле, могло бы
#     поместиться.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    order = sorted(range(len(seen.sizes)), key=lambda i: -seen.costs[i])
    return saving(f, x, greedily(seen.sizes, order, budget, stops=True))

# %% mistake="turned_round" theme="own"
# The policy is turned round: the chosen products run again, and the others are saved.
# Политика перевёрнута: выбранные произведения выполняются заново, а сохраняются остальные.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, {*range(len(seen.sizes))} - {*best(seen.sizes, seen.costs, budget)})

# %% mistake="seeds_anew" theme="state"
# The random state is set by a seed. `f` has to draw the numbers that come next without the trial run.
# Состояние генератора задано через seed. А `f` должна получить те же числа, что и без пробного запуска.
def fit_budget(f, x, budget):
    torch.manual_seed(0)
    with torch.no_grad(), Seen() as seen:
        f(x)
    torch.manual_seed(0)
    return saving(f, x, best(seen.sizes, seen.costs, budget))

# %% mistake="forgets_the_random_state" theme="state"
# The random state is not put back before the recomputation, so other random numbers are drawn there.
# Состояние генератора случайных чисел перед повторным вычислением не восстанавливается, поэтому числа там другие.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, best(seen.sizes, seen.costs, budget), preserve_rng_state=False)

# %% mistake="cuts_the_graph" theme="recording"
# No gradients come back: what is returned was computed without a graph.
# Градиентов нет: возвращённый результат вычислен без графа.
def fit_budget(f, x, budget):
    with torch.no_grad():
        return f(x)

# %% mistake="returns_no_result" theme="return"
# Something else comes back than the result of `f`: nothing, or a function that still has to be called.
# Возвращён не результат `f`, а что-то другое: ничего или функция, которую ещё нужно вызвать.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    best(seen.sizes, seen.costs, budget)

# %% mistake="all_or_nothing" theme="cost"
# All results are saved or none. Where not all fit into the budget, some of them may.
# Сохраняются либо все результаты, либо ни одного. Но и когда все не помещаются, часть из них может уложиться в бюджет.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    return saving(f, x, range(len(seen.sizes)) if sum(seen.sizes) <= budget else ())

# %% mistake="plain_where_all_fit" theme="cost"
# Where the budget has room for all products, `f` runs without a checkpoint. Then the graph keeps other tensors than the
#     products, and more of them.
# Когда в бюджет помещаются все произведения, `f` выполняется без контрольной точки. Тогда граф хранит не их, а другие
#     тензоры, и это больше.
def fit_budget(f, x, budget):
    seen = trial(f, x)
    if sum(seen.sizes) <= budget:
        return f(x)
    return saving(f, x, best(seen.sizes, seen.costs, budget))
