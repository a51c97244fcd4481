# %%
import torch
from torch import nn


class _Baseline(nn.Module):
    """A right baseline.

    Most mistakes of the exercise are subclasses of this class.
    """

    def __init__(self, features, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("mean", torch.zeros(features, dtype=torch.float64))

    def forward(self, x):
        result = x - self.mean
        self.mean = self.mean + self.rate * (x.detach().mean(0) - self.mean)
        return result

# %% mistake="moves_it_by_hand" theme="state"
# The mean follows `x`, but `state_dict()` does not hold it: a module that loads it begins at 0 again. A buffer is moved
#     and saved by the module itself, unless it has `persistent=False`.
# Среднее следует за `x`, но в `state_dict()` его нет: модуль, который загрузит этот словарь, снова начнёт с 0. Буферы
#     модуль и переносит, и сохраняет сам, если не указать `persistent=False`.
class Baseline(_Baseline):
    def __init__(self, features, rate):
        nn.Module.__init__(self)
        self.rate, self.mean = rate, torch.zeros(features, dtype=torch.float64)

    def forward(self, x):
        self.mean = self.mean.to(x.device)
        return super().forward(x)

# %% mistake="stands_still_in_eval" theme="state"
# In `eval()` the mean does not move. It follows every batch, whatever the mode.
# В режиме `eval()` среднее не меняется. А оно должно следовать за каждым батчем, в любом режиме.
class Baseline(_Baseline):
    def forward(self, x):
        return super().forward(x) if self.training else x - self.mean

# %% mistake="keeps_it_in_float32" theme="precision"
# The mean is kept in float32: about seven of its digits are right. `x` is float64.
# Среднее хранится в float32: верны около семи его знаков. А тип `x` — float64.
class Baseline(_Baseline):
    def forward(self, x):
        result = super().forward(x)
        self.mean = self.mean.float()
        return result

# %% mistake="mixes_in_the_cpu" theme="device"
# A tensor lies on the CPU, although module and `x` lie on a GPU, and torch refuses to mix the two. `module.to(device)`
#     moves parameters and buffers alone.
# Какой-то тензор лежит на CPU, хотя модуль и `x` лежат на GPU, и torch отказывается их смешивать. Вызов
#     `module.to(device)` переносит только параметры и буферы.
class Baseline(_Baseline):
    def __init__(self, features, rate):
        super().__init__(features, rate)
        self.rate = torch.full((features,), rate, dtype=torch.float64)

# %% mistake="trains_the_mean" theme="own"
# The mean is a parameter. An optimizer that gets `parameters()` would train it or let it decay.
# Среднее стало параметром. Оптимизатор, получив `parameters()`, обучал бы его или уменьшал бы при
#     затухании весов (weight decay).
class Baseline(_Baseline):
    def __init__(self, features, rate):
        nn.Module.__init__(self)
        self.rate, self.mean = rate, nn.Parameter(torch.zeros(features, dtype=torch.float64))

    def forward(self, x):
        result = x - self.mean.detach()
        with torch.no_grad():
            self.mean += self.rate * (x.mean(0) - self.mean)
        return result

# %% mistake="keeps_the_history" theme="recording"
# The mean has a history: a later result sends gradients to earlier batches, and their graphs stay alive. `detach()` or
#     `no_grad()` cuts it off.
# У среднего есть история: градиент результата доходит до прежних батчей, и их графы остаются в памяти. Историю
#     отсекает `detach()` или `no_grad()`.
class Baseline(_Baseline):
    def forward(self, x):
        result = x - self.mean
        self.mean = self.mean + self.rate * (x.mean(0) - self.mean)
        return result

# %% mistake="cuts_x_off" theme="recording"
# The result was cut off from `x`: no gradient reaches it. Only the mean is a constant.
# Результат отсоединён от `x`: градиент до него не доходит. Константой должно быть только среднее.
class Baseline(_Baseline):
    def forward(self, x):
        return super().forward(x.detach())

# %% mistake="subtracts_the_new_mean" theme="order"
# The mean is updated first and then subtracted. The batch is then compared with itself in part.
# Среднее сначала обновляется, а потом вычитается. Тогда батч отчасти сравнивается сам с собой.
class Baseline(_Baseline):
    def forward(self, x):
        super().forward(x)
        return x - self.mean

# %% mistake="swaps_the_shares" theme="scaling"
# The shares are swapped: the new mean takes `rate` of the old one, and the rest of the batch.
# Доли перепутаны: доля `rate` в новом среднем отдана старому, а остальное — батчу.
class Baseline(_Baseline):
    def __init__(self, features, rate):
        super().__init__(features, 1 - rate)
