# %%
from itertools import product

import torch


def _outcomes(logits):
    """Return all outcomes of bits with the shape of `logits`."""
    found = [
        torch.tensor(bits, dtype=logits.dtype).reshape(logits.shape)
        for bits in product((0.0, 1.0), repeat=logits.numel())
    ]
    return found


def _probability(logits, bits):
    p = logits.detach().sigmoid()
    return torch.where(bits == 1, p, 1 - p).prod()


def _gradients(surrogate, logits, outcomes):
    """Return the gradient of each outcome, stacked."""
    found = [torch.autograd.grad(surrogate(logits, bits), logits)[0] for bits in outcomes]
    return torch.stack(found)


def _moments(weights, gradients):
    weights = weights.reshape(-1, *[1] * (gradients.dim() - 1))
    mean = (weights * gradients).sum(0)
    return mean, (weights * (gradients - mean) ** 2).sum(0)


def _all(surrogate, logits):
    outcomes = _outcomes(logits)
    weights = torch.stack([_probability(logits, bits) for bits in outcomes])
    return weights, _gradients(surrogate, logits, outcomes)

# %% mistake="weights_in_the_graph" theme="recording"
# The probability of an outcome is a part of the graph, so its own gradient has joined the mean. A weight is a number.
# Вероятность исхода входит в граф, и к среднему добавился её собственный градиент. А вес — это просто число.
def moments(surrogate, logits):
    p, outcomes = logits.sigmoid(), _outcomes(logits)
    weights = [torch.where(bits == 1, p, 1 - p).prod() for bits in outcomes]
    values = [surrogate(logits, bits) for bits in outcomes]
    (mean,) = torch.autograd.grad(sum(w * v for w, v in zip(weights, values)), logits, retain_graph=True)
    gradients = torch.stack([torch.autograd.grad(v, logits, retain_graph=True)[0] for v in values])
    return mean, _moments(torch.stack(weights).detach(), (gradients - mean))[1]

# %% mistake="all_outcomes_alike" theme="scaling"
# All outcomes have the same weight. An outcome counts as often as it occurs.
# У всех исходов один и тот же вес. А исход должен учитываться настолько, насколько он вероятен.
def moments(surrogate, logits):
    weights, gradients = _all(surrogate, logits)
    return _moments(torch.ones_like(weights) / len(weights), gradients)

# %% mistake="second_moment" theme="own"
# The second tensor is the mean of the squares. The variance is the mean of the squared distances from the mean.
# Второй тензор — средний квадрат. Дисперсия — это средний квадрат отклонения от среднего.
def moments(surrogate, logits):
    weights, gradients = _all(surrogate, logits)
    return _moments(weights, gradients)[0], _moments(weights, gradients**2)[0]

# %% mistake="standard_deviation" theme="own"
# The second tensor is the standard deviation, the root of the variance.
# Второй тензор — стандартное отклонение, то есть корень из дисперсии.
def moments(surrogate, logits):
    mean, variance = _moments(*_all(surrogate, logits))
    return mean, variance.sqrt()

# %% mistake="one_variance_for_all" theme="axes"
# There is one variance for the whole gradient, a sum over its entries. Asked for is one for each entry.
# Дисперсия одна на весь градиент: сумма по его элементам. А нужна своя для каждого элемента.
def moments(surrogate, logits):
    weights, gradients = _all(surrogate, logits)
    mean, variance = _moments(weights, gradients)
    return mean, variance.sum().expand_as(mean) if mean.dim() else 2 * variance

# %% mistake="weights_never_sum_to_one" theme="own"
# An outcome has the weight of its bits that are on. The bits that are off have a probability as well, `1 - p`.
# Вес исхода взят только по включённым битам. Но и у выключенных битов есть вероятность, `1 - p`.
def moments(surrogate, logits):
    outcomes, p = _outcomes(logits), logits.detach().sigmoid()
    weights = torch.stack([torch.where(bits == 1, p, 1.0).prod() for bits in outcomes])
    return _moments(weights, _gradients(surrogate, logits, outcomes))

# %% mistake="swapped_probabilities" theme="own"
# The probabilities of the two values of a bit are swapped: it is 1 with probability `sigmoid(logits)`.
# Вероятности двух значений бита перепутаны: он равен 1 с вероятностью `sigmoid(logits)`.
def moments(surrogate, logits):
    outcomes = _outcomes(logits)
    weights = torch.stack([_probability(-logits, bits) for bits in outcomes])
    return _moments(weights, _gradients(surrogate, logits, outcomes))

# %% mistake="all_bits_together" theme="axes"
# Only two outcomes were computed, all bits off and all bits on. The bits are independent, so n of them have 2ⁿ outcomes.
# Вычислены только два исхода: все биты выключены или все включены. Но биты независимы, и у n битов 2ⁿ исходов.
def moments(surrogate, logits):
    outcomes = [torch.zeros_like(logits.detach()), torch.ones_like(logits.detach())]
    weights = torch.stack([_probability(logits, bits) for bits in outcomes])
    return _moments(weights / weights.sum(), _gradients(surrogate, logits, outcomes))

# %% mistake="by_backward" theme="accumulation"
# The numbers are right, but `backward()` has put gradients into `logits.grad`, or cleared what was there.
#     `autograd.grad` returns a gradient and leaves `.grad` alone.
# Числа верны, но `backward()` записал градиенты в `logits.grad`, или прежний градиент стёрт. Функция `autograd.grad`
#     возвращает градиент и не меняет `.grad`.
def moments(surrogate, logits):
    outcomes, found = _outcomes(logits), []
    for bits in outcomes:
        logits.grad = None
        surrogate(logits, bits).backward()
        found.append(logits.grad)
    return _moments(torch.stack([_probability(logits, bits) for bits in outcomes]), torch.stack(found))

# %% mistake="accumulates_between" theme="accumulation"
# Each gradient holds those of the outcomes before it: `backward()` adds to `.grad`, and nothing was cleared in between.
# В каждом градиенте есть и градиенты предыдущих исходов: `backward()` прибавляет градиент к `.grad`, а между исходами
#     поле не обнулялось.
def moments(surrogate, logits):
    outcomes, found = _outcomes(logits), []
    logits.grad = None
    for bits in outcomes:
        surrogate(logits, bits).backward()
        found.append(logits.grad.clone())
    return _moments(torch.stack([_probability(logits, bits) for bits in outcomes]), torch.stack(found))

# %% mistake="computes_twice" theme="cost"
# Mean and variance are right, but the outcomes were computed twice. One gradient serves both.
# Среднее и дисперсия верны, но исходы вычислены дважды. Одного и того же градиента хватает для обоих.
def moments(surrogate, logits):
    _all(surrogate, logits)
    return _moments(*_all(surrogate, logits))

# %% mistake="divides_by_the_outcomes" theme="scaling"
# The weighted sum was divided by the number of outcomes. The probabilities are the weights, and they sum to 1.
# Взвешенная сумма ещё и разделена на число исходов. Вероятности — это уже веса, и их сумма равна 1.
def moments(surrogate, logits):
    weights, gradients = _all(surrogate, logits)
    return _moments(weights / len(weights), gradients)

# %% mistake="keeps_a_graph" theme="graph_life"
# The numbers are right, but the result requires grad: the weights were computed from `logits` with a graph.
# Числа верны, но результат требует градиента: веса вычислены из `logits` с записью графа.
def moments(surrogate, logits):
    p, outcomes = logits.sigmoid(), _outcomes(logits)
    weights = torch.stack([torch.where(bits == 1, p, 1 - p).prod() for bits in outcomes])
    return _moments(weights, _gradients(surrogate, logits, outcomes))

# %% mistake="mean_alone" theme="missing"
# What came back is no pair of tensors. Asked for are two: mean and variance.
# Нужна пара тензоров, среднее и дисперсия, а возвращено что-то другое.
def moments(surrogate, logits):
    return _moments(*_all(surrogate, logits))[0]

# %% mistake="variance_of_a_sample" theme="scaling"
# The variance was taken as if every outcome had been drawn once, without the probabilities.
# Дисперсия взята так, будто каждый исход выпал по одному разу: вероятности не учтены.
def moments(surrogate, logits):
    weights, gradients = _all(surrogate, logits)
    return _moments(weights, gradients)[0], gradients.var(0)

# %% mistake="each_bit_alone" like="all_bits_together"
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    outcomes = [torch.zeros_like(p), torch.ones_like(p)]
    off, on = _gradients(surrogate, logits, outcomes)
    mean = (1 - p) * off + p * on
    return mean, (1 - p) * (off - mean) ** 2 + p * (on - mean) ** 2

# %% mistake="logits_as_probabilities" theme="own"
# The logits were taken for probabilities. A bit is 1 with the probability `sigmoid(logits)`.
# Логиты приняты за вероятности. Бит равен 1 с вероятностью `sigmoid(logits)`.
def moments(surrogate, logits):
    outcomes, p = _outcomes(logits), logits.detach()
    weights = torch.stack([torch.where(bits == 1, p, 1 - p).prod() for bits in outcomes])
    return _moments(weights, _gradients(surrogate, logits, outcomes))

# %% mistake="weight_of_its_own_bit" theme="own"
# Each entry of the gradient has the probability of its own bit as a weight. It depends on all bits: the weight is the
#     probability of the whole outcome, a product.
# Вес каждого элемента градиента — вероятность его собственного бита. Но элемент зависит от всех битов: вес — это
#     вероятность всего исхода, то есть произведение.
def moments(surrogate, logits):
    outcomes, p = torch.stack(_outcomes(logits)), logits.detach().sigmoid()
    weights, gradients = torch.where(outcomes == 1, p, 1 - p), _gradients(surrogate, logits, outcomes)
    mean = (weights * gradients).sum(0)
    return mean, (weights * gradients**2).sum(0) - mean**2

# %% mistake="bits_in_a_row" theme="axes"
# The bits have one dimension for every shape of `logits`. They come in the shape of `logits`.
# У битов одно измерение при любой форме `logits`, а форма должна быть такой же, как у `logits`.
def moments(surrogate, logits):
    outcomes = [bits.reshape(-1) for bits in _outcomes(logits)]
    weights = torch.stack([_probability(logits.reshape(-1), bits) for bits in outcomes])
    return _moments(weights, _gradients(surrogate, logits, outcomes))

# %% mistake="clears_in_the_end" like="by_backward"
def moments(surrogate, logits):
    outcomes, found = _outcomes(logits), []
    for bits in outcomes:
        logits.grad = None
        surrogate(logits, bits).backward()
        found.append(logits.grad)
    logits.grad = None
    return _moments(torch.stack([_probability(logits, bits) for bits in outcomes]), torch.stack(found))

# %% mistake="one_number_for_all" like="one_variance_for_all"
def moments(surrogate, logits):
    weights, gradients = _all(surrogate, logits)
    mean, variance = _moments(weights, gradients)
    return mean, variance.sum()

# %% mistake="unweighted_around_the_mean" like="variance_of_a_sample"
def moments(surrogate, logits):
    weights, gradients = _all(surrogate, logits)
    mean, _ = _moments(weights, gradients)
    return mean, ((gradients - mean) ** 2).mean(0)

# %% mistake="joint_probability_of_two" like="all_bits_together"
def moments(surrogate, logits):
    outcomes = [torch.zeros_like(logits.detach()), torch.ones_like(logits.detach())]
    weights = torch.stack([_probability(logits, bits) for bits in outcomes])
    return _moments(weights, _gradients(surrogate, logits, outcomes))

# %% mistake="samples" theme="own"
# The outcomes were drawn at random. A mean over samples is an estimate, another one each time. Each of the 2ⁿ outcomes,
#     weighted by its probability, gives the mean itself.
# Исходы выбраны случайно. Среднее по испытаниям — лишь оценка, и каждый раз она другая. Само среднее дают все 2ⁿ
#     исходов с их вероятностями.
def moments(surrogate, logits):
    p = logits.detach().sigmoid()
    found = torch.stack([torch.autograd.grad(surrogate(logits, torch.bernoulli(p)), logits)[0] for _ in range(101)])
    return found.mean(0), found.var(0)

# %% mistake="freezes_the_logits" theme="state"
# The numbers are right, but `logits` does not require grad afterwards. `detach()` gives the numbers and leaves the flag.
# Числа верны, но `logits` после вызова не требует градиента. Метод `detach()` даёт те же числа и флага не меняет.
def moments(surrogate, logits):
    found = _moments(*_all(surrogate, logits))
    logits.requires_grad_(False)
    return found
