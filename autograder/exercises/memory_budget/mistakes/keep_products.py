# %%
import torch
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

aten = torch.ops.aten
PRODUCTS = (aten.mm.default, aten.addmm.default, aten.bmm.default)


def under(policy, f, x, **settings):
    return checkpoint(
        f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy), **settings
    )


def expensive(ctx, operation, *args, **kwargs):
    return operation in PRODUCTS and args[-1].shape[-2] >= 16


def where(test):
    """Return the policy that saves the products for whose arguments `test` is true."""
    return lambda ctx, operation, *args, **kwargs: operation in PRODUCTS and test(args)

# %% mistake="no_checkpoint" theme="cost" plain="yes"
# There is no checkpoint: the graph keeps all that the derivatives need.
# Контрольной точки нет: граф хранит всё, что нужно производным.
def keep_products(f, x):
    return f(x)

# %% mistake="saves_all_products" theme="own"
# Cheap products are saved, too: those with an inner size below 16.
# Сохраняются и дешёвые произведения, у которых внутренний размер меньше 16.
def keep_products(f, x):
    return under([*PRODUCTS], f, x)

# %% mistake="saves_all_bmm" like="saves_all_products"
def keep_products(f, x):
    return under([aten.bmm.default], f, x)

# %% mistake="saves_all_mm_and_addmm" like="saves_all_products"
def keep_products(f, x):
    return under([aten.mm.default, aten.addmm.default], f, x)

# %% mistake="saves_all_addmm" like="saves_all_products"
def keep_products(f, x):
    return under([aten.addmm.default], f, x)

# %% mistake="saves_all_mm" like="saves_all_products"
def keep_products(f, x):
    return under([aten.mm.default], f, x)

# %% mistake="without_batches" theme="own"
# Expensive products of matrices are saved, those of batches of matrices are not: they are `bmm`.
# Дорогие произведения двух матриц сохраняются, а произведения трёхмерных тензоров — нет: это операция `bmm`.
def keep_products(f, x):
    return under(lambda ctx, op, *args, **kwargs: op != aten.bmm.default and expensive(ctx, op, *args), f, x)

# %% mistake="without_mm" theme="own"
# An expensive product of two matrices without a bias runs again: it is `mm`, neither `matmul` nor `linear`.
# Дорогое произведение двух матриц без смещения выполняется заново: это операция `mm`, а не `matmul` и не `linear`.
def keep_products(f, x):
    return under(lambda ctx, op, *args, **kwargs: op != aten.mm.default and expensive(ctx, op, *args), f, x)

# %% mistake="without_addmm" theme="own"
# An expensive product of a `Linear` with a bias runs again: it is `addmm`, whose first argument is the bias.
# Дорогое произведение слоя `Linear` со смещением выполняется заново: это `addmm`, и первый её аргумент — смещение.
def keep_products(f, x):
    return under(lambda ctx, op, *args, **kwargs: op != aten.addmm.default and expensive(ctx, op, *args), f, x)

# %% mistake="first_argument_for_a_factor" theme="axes"
# The inner size is read from the first argument. In `addmm` that is the bias, and its length is the number of columns.
# Внутренний размер прочитан из первого аргумента. У `addmm` это смещение, и длина его — число столбцов.
def keep_products(f, x):
    return under(where(lambda args: args[0].shape[-1] >= 16), f, x)

# %% mistake="columns_for_the_inner_size" theme="axes"
# The last size of the second factor is compared with 16: the number of columns. The inner size is the one before.
# С 16 сравнивается последнее измерение второго множителя, то есть число столбцов. Внутренний размер — в предпоследнем.
def keep_products(f, x):
    return under(where(lambda args: args[-1].shape[-1] >= 16), f, x)

# %% mistake="rows_for_the_inner_size" theme="axes"
# The number of rows of the first factor is compared with 16, not the inner size.
# С 16 сравнивается число строк первого множителя, а не внутренний размер.
def keep_products(f, x):
    return under(where(lambda args: args[-2].shape[-2] >= 16), f, x)

# %% mistake="batch_for_the_inner_size" theme="axes"
# The first size of the second factor is compared with 16. In `bmm` that is the number of matrices.
# С 16 сравнивается первое измерение второго множителя. У `bmm` это количество матриц.
def keep_products(f, x):
    return under(where(lambda args: args[-1].shape[0] >= 16), f, x)

# %% mistake="only_above_16" theme="own"
# A product with an inner size of exactly 16 runs again. It counts as expensive.
# Произведение, внутренний размер которого равен 16, выполняется заново. Но и оно дорогое.
def keep_products(f, x):
    return under(where(lambda args: args[-1].shape[-2] > 16), f, x)

# %% mistake="cheap_for_expensive" theme="cost"
# It is the wrong way round: cheap products are saved, and the expensive ones run again.
# Всё наоборот: дешёвые произведения сохраняются, а дорогие выполняются заново.
def keep_products(f, x):
    return under(where(lambda args: args[-1].shape[-2] < 16), f, x)

# %% mistake="saves_everything" theme="cost"
# The policy saves every result. That is more than the graph keeps without a checkpoint.
# Политика сохраняет все результаты. Это больше, чем хранит граф без контрольной точки.
def keep_products(f, x):
    return under(lambda ctx, op, *args, **kwargs: CheckpointPolicy.MUST_SAVE, f, x)

# %% mistake="saves_nothing" theme="own" plain="yes"
# Every product runs again: for none of them does the policy return `MUST_SAVE` or True. (Print what it is asked about: it
#     is `aten.mm.default`, for example, not `aten.mm`.)
# Заново выполняется каждое произведение: ни для одного политика не вернула `MUST_SAVE` или True. (Выведите, о чём её
#     спрашивают: это, например, `aten.mm.default`, а не `aten.mm`.)
def keep_products(f, x):
    return under(lambda ctx, op, *args, **kwargs: CheckpointPolicy.MUST_CPU_OFFLOAD, f, x)

# %% mistake="turned_round" theme="cost"
# The policy is turned round: cheap results are saved, and the expensive products run again.
# Политика перевёрнута: дешёвые результаты сохраняются, а дорогие произведения выполняются заново.
def keep_products(f, x):
    return under(lambda ctx, op, *args, **kwargs: not expensive(ctx, op, *args), f, x)

# %% mistake="forgets_the_random_state" theme="state"
# The random state is not put back before the recomputation, so other random numbers are drawn there.
# Состояние генератора случайных чисел перед повторным вычислением не восстанавливается, поэтому числа там другие.
def keep_products(f, x):
    return under(expensive, f, x, preserve_rng_state=False)

# %% mistake="cuts_the_graph" theme="recording"
# No gradients come back: `f` ran without a graph, or on a detached `x`.
# Градиентов нет: функция `f` выполнена без графа или на отсоединённом `x`.
def keep_products(f, x):
    with torch.no_grad():
        return under(expensive, f, x)

# %% mistake="forgets_return" theme="return"
# Nothing is returned.
# Ничего не возвращается.
def keep_products(f, x):
    under(expensive, f, x)

# %% mistake="runs_ahead" theme="cost"
# The products are saved, but `f` also ran once for nothing.
# Произведения сохраняются, но функция `f` выполнена ещё раз впустую.
def keep_products(f, x):
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        f(x)
    return under(expensive, f, x)

# %% mistake="only_for_a_leaf_with_gradient" theme="cost"
# Where `x` requires no grad, more is kept than the results of the products. The parameters of `f` may require grad all
#     the same.
# Если `x` не требует градиента, хранятся не только результаты произведений. А экономить память нужно и тогда: градиента
#     могут требовать параметры `f`.
def keep_products(f, x):
    return under(expensive, f, x) if x.requires_grad else f(x)

# %% mistake="one_pair_for_all_calls" theme="state"
# One pair of contexts serves several calls of `f`. It holds the saved results, so `context_fn` has to make a new pair each
#     time.
# Одна пара контекстов служит нескольким вызовам `f`. В ней лежат сохранённые результаты, поэтому `context_fn` должна
#     каждый раз создавать новую.
def keep_products(f, x, pair=create_selective_checkpoint_contexts(expensive)):
    return checkpoint(f, x, use_reentrant=False, context_fn=lambda: pair)

# %% mistake="pair_for_a_function" theme="missing"
# `context_fn` got the pair of contexts. It has to be a function that makes a new pair, because `checkpoint` calls it.
# В `context_fn` передана сама пара контекстов. А нужна функция, которая создаёт новую пару: эту функцию вызовет `checkpoint`.
def keep_products(f, x):
    return checkpoint(f, x, use_reentrant=False, context_fn=create_selective_checkpoint_contexts(expensive))

# %% mistake="names_without_ending" theme="missing"
# The names on the list have no ending. An operation has one for each way to call it, as in `aten.mm.default`.
# Имена в списке стоят без окончания. У операции есть окончание для каждого способа вызова, например `aten.mm.default`.
def keep_products(f, x):
    return under([aten.mm, aten.addmm, aten.bmm], f, x)

# %% mistake="only_bmm" theme="own"
# Of the products only `bmm` is saved. Two matrices are multiplied by `mm`, in a `Linear` with a bias by `addmm`; a policy never
#     meets the names `matmul` and `linear`.
# Из произведений сохраняется только `bmm`. Две матрицы перемножает `mm`, в `Linear` со смещением — `addmm`, а имена `matmul`
#     и `linear` до политики не доходят.
def keep_products(f, x):
    return under(lambda ctx, op, *args, **kwargs: op == aten.bmm.default and expensive(ctx, op, *args), f, x)

# %% mistake="takes_f_for_a_module" theme="missing"
# `f` is taken for a module. It may be any function of one tensor, which has neither layers nor parameters.
# `f` принята за модуль. Но это может быть любая функция от одного тензора, и ни слоёв, ни параметров у неё нет.
def keep_products(f, x):
    f.parameters()
    return under(expensive, f, x)

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
    return checkpoint(f, x, use_reentrant=False, context_fn=[*PRODUCTS])
