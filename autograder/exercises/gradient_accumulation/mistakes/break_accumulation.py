# %%
import torch


def _two_batches(n, m):
    x = torch.arange(2.0 * (n + m)).reshape(n + m, 2).sin()
    y = x.sum(1, keepdim=True).exp()
    return [(x[:n], y[:n]), (x[n:], y[n:])]


class _Counting(torch.nn.Linear):
    """A linear layer whose output grows with the number of its calls."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x) * self.calls

# %% mistake="uneven_sizes" theme="test"
# The difference comes from micro-batches of different sizes. It has to be one that equal sizes do not cure.
# Различие вызвано разными размерами микробатчей, а должно сохраняться и при равных размерах.
def break_accumulation():
    return torch.nn.Linear(2, 1), _two_batches(6, 2)

# %% mistake="dropout" theme="test"
# The difference comes from the randomness of dropout: even the big batch does not agree with itself.
# Различие вызвано случайностью dropout: даже у большого батча градиент каждый раз другой.
def break_accumulation():
    return torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.Dropout(), torch.nn.Linear(32, 1)), _two_batches(4, 4)

# %% mistake="layer_norm" theme="test"
# You expected `LayerNorm` to mix samples. It normalises each sample on its own.
# Вы ожидали, что `LayerNorm` смешивает примеры. Но этот слой нормирует каждый пример отдельно.
def break_accumulation():
    return torch.nn.Sequential(torch.nn.LayerNorm(2), torch.nn.Linear(2, 1)), _two_batches(4, 4)

# %% mistake="batch_norm_in_eval" theme="test"
# The model is in `eval()` mode, where `BatchNorm` uses its stored statistics, not those of the batch.
# Модель в режиме `eval()`, а в нём `BatchNorm` берёт накопленные статистики, а не статистики батча.
def break_accumulation():
    return torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1)).eval(), _two_batches(4, 4)

# %% mistake="plain_layers" theme="test"
# Here nothing differs. A model that treats each sample on its own makes accumulation exact, whatever the numbers are.
# Расхождения здесь нет. Если модель обрабатывает каждый пример отдельно, накопление точно, какими бы ни были числа.
def break_accumulation():
    return torch.nn.Linear(2, 1), _two_batches(4, 4)

# %% mistake="one_micro_batch" theme="test"
# There is one micro-batch: then it is the big batch itself.
# Микробатч всего один: тогда он и есть большой батч.
def break_accumulation():
    return torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1)), _two_batches(8, 0)[:1]

# %% mistake="targets_broadcast" theme="axes"
# The shapes of `y` and `model(x)` differ, so the loss broadcasts one to the other. A column `(n, 1)` and a row
#     `(n,)` give a table of all pairs, across samples.
# Формы `y` и `model(x)` различаются, поэтому в функции потерь происходит транслирование. Из столбца `(n, 1)` и
#     строки `(n,)` получается таблица всех пар, и примеры смешиваются.
def break_accumulation():
    return torch.nn.Linear(2, 1), [(x, y.flatten()) for x, y in _two_batches(4, 4)]

# %% mistake="the_same_batch_twice" theme="test"
# All micro-batches hold the same `x`. The big batch has the same mean and variance as each of them, and the
#     gradients agree.
# Во всех микробатчах один и тот же `x`. У большого батча такие же среднее и дисперсия, и градиенты совпадают.
def break_accumulation():
    return torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1)), _two_batches(4, 0)[:1] * 2

# %% mistake="nearly_the_same_batch" theme="test"
# The model does mix the samples of a batch, but with these numbers the two gradients differ by less than 1 %.
# Модель смешивает примеры батча, но с этими числами два градиента различаются меньше чем на 1 %.
def break_accumulation():
    ((x, y),) = _two_batches(4, 0)[:1]
    return torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1)), [(x, y), (x + 1e-6, y)]

# %% mistake="counts_its_calls" theme="test"
# The same big batch gives another gradient the second time. A model that draws random numbers or remembers its
#     calls is no counter-example: the output has to depend on the batch alone.
# Один и тот же большой батч во второй раз даёт другой градиент. Модель со случайными числами или с памятью о
#     вызовах — не контрпример: выход должен зависеть только от батча.
def break_accumulation():
    return _Counting(2, 1), _two_batches(4, 4)

# %% mistake="swaps_the_pair" theme="missing"
# The first item of the pair is no module. The order is `(model, batches)`.
# Первый элемент пары — не модуль. Порядок такой: `(model, batches)`.
def break_accumulation():
    return _two_batches(4, 4), torch.nn.Linear(2, 1)

# %% mistake="has_no_parameters" theme="test"
# The model has no parameters, so there is no gradient to accumulate.
# У модели нет параметров, поэтому накапливать нечего.
def break_accumulation():
    return torch.nn.BatchNorm1d(2, affine=False), [(x, x) for x, _ in _two_batches(4, 4)]
