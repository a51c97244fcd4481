# %%
import torch
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

aten = torch.ops.aten
PRODUCTS = [aten.mm.default, aten.addmm.default, aten.bmm.default]


def under(policy, f, x, **settings):
    return checkpoint(
        f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy), **settings
    )


# %% mistake="no_checkpoint" theme="cost"
# There is no checkpoint: the graph keeps all that the derivatives need.
# Контрольной точки нет: граф хранит всё, что нужно производным.
def keep_products(f, x):
    return f(x)

# %% mistake="only_addmm" theme="own"
# Only `addmm` is saved, the product of a `Linear` with a bias. Products without a bias run again.
# Сохраняется только `addmm`, произведение слоя `Linear` со смещением. Произведения без смещения выполняются заново.
def keep_products(f, x):
    return under([aten.addmm.default], f, x)

# %% mistake="without_batches" theme="own"
# The products of matrices are saved, those of batches of matrices are not: they are `bmm`.
# Произведения двух матриц сохраняются, а произведения трёхмерных тензоров — нет: это операция `bmm`.
def keep_products(f, x):
    return under([aten.mm.default, aten.addmm.default], f, x)

# %% mistake="without_mm" theme="own"
# A product of two matrices without a bias runs again: it is `mm`, neither `matmul` nor `linear`.
# Произведение двух матриц без смещения выполняется заново: это операция `mm`, а не `matmul` и не `linear`.
def keep_products(f, x):
    return under([aten.addmm.default, aten.bmm.default, aten.matmul.default, aten.linear.default], f, x)

# %% mistake="only_mm" theme="own"
# Only `mm` is saved. A `Linear` with a bias runs `addmm`, a product of 3-dimensional tensors `bmm`, and these run again.
# Сохраняется только `mm`. Слой `Linear` со смещением выполняет `addmm`, а произведение трёхмерных тензоров — это `bmm`,
#     и они выполняются заново.
def keep_products(f, x):
    return under([aten.mm.default], f, x)

# %% mistake="saves_everything" theme="cost"
# The policy saves every result. That is more than the graph keeps without a checkpoint.
# Политика сохраняет все результаты. Это больше, чем хранит граф без контрольной точки.
def keep_products(f, x):
    return under(lambda ctx, op, *args, **kwargs: CheckpointPolicy.MUST_SAVE, f, x)

# %% mistake="saves_nothing" theme="own"
# Nothing is saved: every product runs again. A policy asks about `aten.mm.default`, which is neither `aten.mm` nor
#     `aten.matmul.default`.
# Ничего не сохраняется: каждое произведение выполняется заново. Политика получает `aten.mm.default`, а это не то же
#     самое, что `aten.mm` или `aten.matmul.default`.
def keep_products(f, x):
    return under(lambda ctx, op, *args, **kwargs: op in (aten.mm, aten.addmm, aten.bmm), f, x)

# %% mistake="turned_round" theme="cost"
# The policy is turned round: cheap results are saved, and the matrix products run again.
# Политика перевёрнута: дешёвые результаты сохраняются, а матричные произведения выполняются заново.
def keep_products(f, x):
    return under(lambda ctx, op, *args, **kwargs: op not in PRODUCTS, f, x)

# %% mistake="forgets_the_random_state" theme="state"
# The random state is not put back before the recomputation, so other random numbers are drawn there.
# Состояние генератора случайных чисел перед повторным вычислением не восстанавливается, поэтому числа там другие.
def keep_products(f, x):
    return under(PRODUCTS, f, x, preserve_rng_state=False)

# %% mistake="cuts_the_graph" theme="recording"
# No gradients come back: `f` ran without a graph, or on a detached `x`.
# Градиентов нет: функция `f` выполнена без графа или на отсоединённом `x`.
def keep_products(f, x):
    with torch.no_grad():
        return under(PRODUCTS, f, x)

# %% mistake="forgets_return" theme="return"
# Nothing is returned.
# Ничего не возвращается.
def keep_products(f, x):
    under(PRODUCTS, f, x)

# %% mistake="runs_ahead" theme="cost"
# The products are saved, but `f` also ran once for nothing.
# Произведения сохраняются, но функция `f` выполнена ещё раз впустую.
def keep_products(f, x):
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        f(x)
    return under(PRODUCTS, f, x)

# %% mistake="only_for_a_leaf_with_gradient" theme="cost"
# Where `x` requires no grad, more is kept than the results of the products. The parameters of `f` may require grad all
#     the same.
# Если `x` не требует градиента, хранятся не только результаты произведений. А экономить память нужно и тогда: градиента
#     могут требовать параметры `f`.
def keep_products(f, x):
    return under(PRODUCTS, f, x) if x.requires_grad else f(x)

# %% mistake="pair_for_a_function" theme="missing"
# `context_fn` got the pair of contexts. It has to be a function that makes a new pair, because `checkpoint` calls it.
# В `context_fn` передана сама пара контекстов. А нужна функция, которая создаёт новую пару: эту функцию вызовет `checkpoint`.
def keep_products(f, x):
    return checkpoint(f, x, use_reentrant=False, context_fn=create_selective_checkpoint_contexts(PRODUCTS))

# %% mistake="names_without_ending" theme="missing"
# The names on the list have no ending. An operation has one for each way to call it, as in `aten.mm.default`.
# Имена в списке стоят без окончания. У операции есть окончание для каждого способа вызова, например `aten.mm.default`.
def keep_products(f, x):
    return under([aten.mm, aten.addmm, aten.bmm], f, x)

# %% mistake="names_of_functions" theme="own"
# Of the products only `bmm` is saved. Two matrices are multiplied by `mm`, in a `Linear` with a bias by `addmm`; a policy never
#     meets the names `matmul` and `linear`.
# Из произведений сохраняется только `bmm`. Две матрицы перемножает `mm`, в `Linear` со смещением — `addmm`, а имена `matmul`
#     и `linear` до политики не доходят.
def keep_products(f, x):
    return under([aten.linear.default, aten.matmul.default, aten.bmm.default], f, x)

# %% mistake="all_but_the_cheap_ones" theme="cost"
# More is saved than the results of the products. A policy that names what to run again saves all the rest.
# Сохраняется больше, чем результаты произведений. Если политика перечисляет, что выполнять заново, сохраняется всё
#     остальное.
def keep_products(f, x):
    cheap = (aten.gelu.default, aten.softplus.default, aten.sigmoid.default, aten.tanh.default)
    return under(lambda ctx, op, *args, **kwargs: op not in cheap, f, x)

# %% mistake="all_but_gelu" like="all_but_the_cheap_ones"
def keep_products(f, x):
    return under(lambda ctx, op, *args, **kwargs: op != aten.gelu.default, f, x)

# %% mistake="list_for_a_function" theme="missing"
# `context_fn` got the list of operations. It has to be a function that returns what `create_selective_checkpoint_contexts`
#     makes of the list.
# В `context_fn` передан список операций. А нужна функция, которая возвращает то, что делает из него
#     `create_selective_checkpoint_contexts`.
def keep_products(f, x):
    return checkpoint(f, x, use_reentrant=False, context_fn=PRODUCTS)
