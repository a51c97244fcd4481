# %%
import torch
from torch.nn.functional import scaled_dot_product_attention


def _scores(q, k):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    return scores


def _hidden(mask):
    zeros = torch.zeros(mask.shape, dtype=torch.float64)
    return zeros.masked_fill(~mask, -torch.inf)


def _weights(scores, mask, dim=-1):
    """Return the right weights if `dim` is the last one."""
    seen = mask.any(-1, keepdim=True)
    return scores.masked_fill(~mask & seen, -torch.inf).softmax(dim).masked_fill(~mask, 0.0)

# %% mistake="cures_the_output" theme="precision"
# The NaN is removed from the output, after the product with `v`. In backward the gradient for `v` is $weights^\top$
#     times what arrives, and $0 \cdot$ NaN is NaN: every row of it is lost.
# NaN убран из выхода, уже после умножения на `v`. В обратном проходе градиент по `v` — это $weights^\top$,
#     умноженная на пришедший градиент, а $0 \cdot$ NaN — это NaN: испорчена каждая его строка.
def fix_attention(q, k, v, mask):
    seen = mask.any(-1, keepdim=True)
    return torch.where(seen, _scores(q, k).masked_fill(~mask, -torch.inf).softmax(-1) @ v, 0.0)

# %% mistake="cures_the_weights" theme="precision"
# The NaN is removed from the weights, after the softmax. Output and gradients are right now, but the softmax has
#     saved its NaN: it appears in the backward pass.
# NaN убран из весов, уже после softmax. Выход и градиенты теперь верны, но softmax сохранил свой NaN: он появляется
#     в обратном проходе.
def fix_attention(q, k, v, mask):
    return _scores(q, k).masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(0) @ v

# %% mistake="adds_the_mask" theme="precision"
# The mask is added as $-\infty$, and the NaN is removed after the softmax. The gradients for `q` and `k` are NaN:
#     an addition lets everything through.
# Маска прибавлена как $-\infty$, а NaN убран после softmax. Градиенты по `q` и `k` — NaN: сложение пропускает всё.
def fix_attention(q, k, v, mask):
    return (_scores(q, k) + _hidden(mask)).softmax(-1).nan_to_num(0) @ v

# %% mistake="large_negative_number" theme="precision"
# Nothing is NaN any more, but the masked row sees everything: in a row of equal numbers the softmax is $1/m$
#     everywhere. Its weights have to be 0.
# NaN больше нет, но закрытой строке видно всё: если в строке все числа одинаковы, softmax всюду равен $1/m$. Веса
#     должны быть равны 0.
def fix_attention(q, k, v, mask):
    return _scores(q, k).masked_fill(~mask, torch.finfo(q.dtype).min).softmax(-1) @ v

# %% mistake="large_negative_number_above_scores" theme="precision"
# Nothing is NaN any more, but the masked row sees everything, and in a row whose scores are lower than the number
#     put in, hidden entries get the weight.
# NaN больше нет, но закрытой строке видно всё, а в строке, где оценки меньше подставленного числа, вес достаётся
#     невидимым элементам.
def fix_attention(q, k, v, mask):
    return _scores(q, k).masked_fill(~mask, -1e9).softmax(-1) @ v

# %% mistake="masks_after_the_softmax" theme="order"
# The rule for an ordinary row has changed: its weights no longer add up to 1. The entries that are not seen must be
#     left out before the softmax.
# Изменились и обычные строки: сумма их весов больше не равна 1. Невидимые элементы нужно исключать до softmax.
def fix_attention(q, k, v, mask):
    return (_scores(q, k).softmax(-1) * mask) @ v

# %% mistake="row_left_open" theme="missing"
# The masked row sees everything, with ordinary weights: the softmax is the same whether its scores are left as they
#     are or all lowered by one number. Its weights have to be 0.
# Закрытой строке видно всё, причём с обычными весами: softmax не изменится, если оставить её оценки прежними или
#     все их уменьшить на одно число. Веса должны быть равны 0.
def fix_attention(q, k, v, mask):
    seen = mask.any(-1, keepdim=True)
    return _scores(q, k).masked_fill(~mask & seen, -torch.inf).softmax(-1) @ v

# %% mistake="without_the_root" theme="missing"
# The division by the root of the dimension is lost.
# Потеряно деление на корень из размерности.
def fix_attention(q, k, v, mask):
    seen = mask.any(-1, keepdim=True)
    scores = q @ k.transpose(-2, -1)
    return (scores.masked_fill(~mask & seen, -torch.inf).softmax(-1) * seen) @ v

# %% mistake="fused_kernel" theme="own"
# The fused kernel of `scaled_dot_product_attention` was chosen. Its values and gradients are right, and 0 in a
#     masked row, but it has no second derivative.
# Выбрано слитое ядро `scaled_dot_product_attention`. Его значения и градиенты верны и в закрытой строке равны 0, но
#     второй производной у него нет.
def fix_attention(q, k, v, mask):
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)

# %% mistake="leaves_the_nan" theme="precision"
# A row that sees nothing is still NaN in the output. (A product with 0 would not remove a NaN.)
# Если запросу не виден ни один ключ, строка выхода по-прежнему равна NaN. (Умножение на 0 его бы не убрало.)
def fix_attention(q, k, v, mask):
    return (_scores(q, k).masked_fill(~mask, -torch.inf).softmax(-1) * mask) @ v

# %% mistake="changes_the_mask" theme="in_place"
# The output and the gradients are right, but the mask was changed in place. The caller still needs it.
# Выход и градиенты верны, но маска изменена на месте. Вызывающему коду она ещё нужна.
def fix_attention(q, k, v, mask):
    output = _weights(_scores(q, k), mask.clone()) @ v
    mask.logical_not_()
    return output

# %% mistake="root_of_the_other_size" theme="axes"
# The scores were divided by the root of the size of `v`. It is the size $d$ of `q` and `k` that counts.
# Оценки разделены на корень из размера `v`. Нужен размер $d$ векторов `q` и `k`.
def fix_attention(q, k, v, mask):
    return _weights(q @ k.transpose(-2, -1) / v.shape[-1] ** 0.5, mask) @ v

# %% mistake="not_low_enough" theme="precision"
# Hidden entries were given a number that is not low enough: in a row whose scores are lower still, they get a
#     weight.
# Невидимым элементам дано недостаточно малое число: в строке, где оценки ещё меньше, они получают вес.
def fix_attention(q, k, v, mask):
    return (_scores(q, k).masked_fill(~mask, -1e4).softmax(-1) * mask.any(-1, keepdim=True)) @ v

# %% mistake="not_low_enough_and_zeroed" theme="precision"
# Hidden entries were given a number that is not low enough: in a row whose scores are lower still, they take all
#     the weight, which is then set to 0.
# Невидимым элементам дано недостаточно малое число: в строке, где оценки ещё меньше, весь вес достаётся им, а потом
#     обнуляется.
def fix_attention(q, k, v, mask):
    return (_scores(q, k).masked_fill(~mask, -1e4).softmax(-1) * mask) @ v

# %% mistake="without_the_largest" theme="precision"
# The exponentials were computed without subtracting the largest score: large scores overflow, very low ones give 0.
#     `softmax` subtracts it.
# Экспоненты вычислены без вычитания наибольшей оценки: большие оценки дают бесконечность, очень малые — 0. Функция
#     `softmax` её вычитает.
def fix_attention(q, k, v, mask):
    powers = _scores(q, k).exp() * mask
    total = powers.sum(-1, keepdim=True)
    return powers / torch.where(total > 0, total, 1.0) @ v

# %% mistake="over_the_queries" theme="axes"
# The softmax runs over the queries. The weights of one query add up to 1 over the keys, the last dimension.
# Операция softmax выполнена по запросам. Сумма весов одного запроса должна быть равна 1 по ключам, то есть по
#     последнему измерению.
def fix_attention(q, k, v, mask):
    return _weights(_scores(q, k), mask, dim=-2) @ v

# %% mistake="sum_without_a_graph" theme="recording"
# The sum of the exponentials counts as a constant in the backward pass. It depends on the scores.
# Сумма экспонент считается в обратном проходе константой. Но она зависит от оценок.
def fix_attention(q, k, v, mask):
    scores = _scores(q, k).masked_fill(~mask, -1e300)
    powers = (scores - scores.amax(-1, keepdim=True).detach()).exp() * mask
    total = powers.sum(-1, keepdim=True).detach()
    return powers / torch.where(total > 0, total, 1.0) @ v

# %% mistake="nan_over_the_queries" like="over_the_queries"
def fix_attention(q, k, v, mask):
    seen = mask.any(-1, keepdim=True)
    scores = _scores(q, k).masked_fill(~mask, -torch.inf).masked_fill(~seen, 0.0)
    return scores.softmax(-2).masked_fill(~seen, 0.0) @ v

# %% mistake="cures_by_a_hook" theme="precision"
# A hook removes the NaN from the gradient for `v`. But it was made in the forward pass, and comes back in other
#     places.
# NaN убран из градиента по `v` хуком. Но возник он ещё в прямом проходе и появляется снова, в других местах.
def fix_attention(q, k, v, mask):
    values = v.clone()
    values.register_hook(lambda g: g.nan_to_num(0))
    return (_scores(q, k).masked_fill(~mask, -torch.inf).softmax(-1) @ values).nan_to_num(0)

# %% mistake="one_more_key" theme="own"
# Every row sees one more key, with the score 0: the weights of ordinary rows no longer add up to 1. Only a row that
#     sees nothing needs it.
# Каждой строке виден ещё один ключ, с оценкой 0: сумма весов обычных строк больше не равна 1. Он нужен только
#     строке, которой ничего не видно.
def fix_attention(q, k, v, mask):
    scores = _scores(q, k).masked_fill(~mask, -torch.inf)
    weights = torch.cat([scores, torch.zeros_like(scores[..., :1])], -1).softmax(-1)
    return weights[..., :-1] @ v

# %% mistake="turns_the_mask" theme="own"
# The mask was read the other way round: True means that a key is seen.
# Маска прочитана наоборот: True означает, что ключ виден.
def fix_attention(q, k, v, mask):
    return _weights(_scores(q, k), ~mask) @ v

# %% mistake="weights_without_a_graph" theme="recording"
# The output is right, but the weights are cut off from the graph: no gradient reaches `q` and `k`.
# Выход верен, но веса отсоединены от графа: до `q` и `k` градиент не доходит.
def fix_attention(q, k, v, mask):
    return _weights(_scores(q, k), mask).detach() @ v

# %% mistake="closes_too_many" theme="own"
# Rows that see only a part of the keys are closed, too. A row is closed if it sees none: `any`, not `all`.
# Закрыты и строки, которым видна часть ключей. Закрывать нужно только ту, которой не виден ни один: `any`, а не
#     `all`.
def fix_attention(q, k, v, mask):
    return (_weights(_scores(q, k), mask) * mask.all(-1, keepdim=True)) @ v

# %% mistake="reverses_all_dimensions" theme="axes"
# With two dimensions all is well, with more the sizes do not fit. Are all dimensions reversed, as by `.T`? Only the
#     last two are swapped: `k.transpose(-2, -1)`.
# С двумя измерениями всё верно, а если их больше, размеры не подходят. Не обращён ли порядок всех измерений, как в
#     `.T`? Переставить нужно только два последних: `k.transpose(-2, -1)`.
def fix_attention(q, k, v, mask):
    return _weights(q @ k.T / q.shape[-1] ** 0.5, mask) @ v

# %% mistake="divides_by_the_dimension" theme="scaling"
# The scores were divided by $d$, not by its root.
# Оценки разделены на $d$, а не на корень из $d$.
def fix_attention(q, k, v, mask):
    return _weights(q @ k.transpose(-2, -1) / q.shape[-1], mask) @ v

# %% mistake="zeros_on_the_cpu" theme="device"
# A tensor was made on the CPU, although the inputs lie on a GPU, and torch refuses to mix the two. `masked_fill`
#     with a number and `torch.zeros_like(...)` follow their tensor.
# Какой-то тензор создан на CPU, хотя входы лежат на GPU, и torch отказывается их смешивать. `masked_fill` с
#     числом и `torch.zeros_like(...)` берут устройство у своего тензора.
def fix_attention(q, k, v, mask):
    weights = _weights(_scores(q, k), mask)
    return torch.where(mask, weights, torch.zeros(mask.shape, dtype=q.dtype)) @ v

# %% mistake="hidden_scores_count" theme="precision"
# If the score of a hidden key is far above those of the visible ones, their weights become 0. Hidden scores still count
#     in the softmax: lowered by a fixed number, removed after it, or in the largest score that is subtracted.
# Если оценка скрытого ключа намного больше оценок видимых, веса видимых обращаются в 0. Скрытые оценки всё ещё
#     участвуют в softmax: они лишь уменьшены на постоянное число, убраны только после него или входят в вычитаемый
#     максимум.
def fix_attention(q, k, v, mask):
    return (_scores(q, k) - 1e4 * ~mask).softmax(-1).masked_fill(~mask, 0.0) @ v

# %% mistake="row_lowered_alike" like="row_left_open"
def fix_attention(q, k, v, mask):
    return (_scores(q, k) - 1e4 * ~mask).softmax(-1) @ v
