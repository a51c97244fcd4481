# %%
import torch
from torch import nn


class _Model(nn.Module):
    """A model of one linear layer."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2, bias=False)

    def forward(self, x):
        return self.layer(x)


def _input():
    return torch.tensor([[1.0, 2.0]])


class _Biased(nn.Module):
    """A linear layer with a bias, which the model does not call."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)

    def forward(self, x):
        return self.layer.forward(x)

# %% mistake="input_without_grad" theme="test"
# The module is called in the usual way, and the hook runs. It does so even if no input requires grad.
# Модуль вызывается обычным образом, и хук срабатывает, даже если ни один вход не требует градиента.
def silent_hook():
    return _Model(), _input()

# %% mistake="input_with_grad" theme="test"
# The module is called in the usual way and its input requires grad: that is what the hook is made for.
# Модуль вызывается обычным образом, и его вход требует градиента: именно для этого хук и сделан.
def silent_hook():
    return _Model(), _input().requires_grad_()

# %% mistake="learns_nothing" theme="test"
# No parameter of `layer` gets a gradient at all: no path along which gradients flow leads from the result to it.
# Ни один параметр модуля `layer` не получает градиента: пути, по которому градиент дошёл бы от результата до него,
#     нет.
def silent_hook():
    class Model(_Model):
        def forward(self, x):
            with torch.no_grad():
                h = self.layer(x)
            return x + h

    return Model(), _input().requires_grad_()

# %% mistake="result_without_graph" theme="recording"
# What comes back from the model cannot be differentiated, so no hook runs, and nothing is learned.
# Результат модели нельзя дифференцировать, поэтому хук не срабатывает, но и обучения нет.
def silent_hook():
    class Model(_Model):
        def forward(self, x):
            return self.layer(x).detach()

    return Model(), _input()

# %% mistake="returns_a_dict" theme="missing"
# The model returns no tensor, so the check cannot differentiate its result.
# Модель возвращает не тензор, и проверка не может продифференцировать результат.
def silent_hook():
    class Model(_Model):
        def forward(self, x):
            return {"y": self.layer(x)}

    return Model(), _input()

# %% mistake="without_a_layer" theme="test"
# The first of the pair is no model with a module called `layer` that has parameters.
# На первом месте в паре стоит не модель с модулем `layer`, у которого есть параметры.
def silent_hook():
    return nn.Linear(2, 2), _input()

# %% mistake="learns_zeros" theme="test"
# A gradient does come to every parameter of `layer`, but it consists of zeros.
# Градиент доходит до каждого параметра модуля `layer`, но состоит из одних нулей.
def silent_hook():
    class Model(_Model):
        def forward(self, x):
            return 0 * self.layer.forward(x)

    return Model(), _input()

# %% mistake="learns_in_part" theme="test"
# A part of the parameters of `layer` gets a gradient of zeros. All of them have to learn.
# До части параметров модуля `layer` доходит нулевой градиент, а обучаться должны все.
def silent_hook():
    return _Biased(), torch.zeros(1, 2)

# %% mistake="leaves_a_part_out" theme="test"
# A part of the parameters of `layer` gets no gradient. All of them have to learn.
# Часть параметров модуля `layer` не получает градиента, а обучаться должны все.
def silent_hook():
    class Model(_Biased):
        def forward(self, x):
            return nn.functional.linear(x, self.layer.weight)

    return Model(), _input()

# %% mistake="returns_the_model_alone" theme="missing"
# The model alone comes back. The input belongs to the pair.
# Возвращена только модель, а в паре нужен и вход.
def silent_hook():
    return _Biased()

# %% mistake="edits_the_output" theme="test"
# An in-place change of the output makes torch raise an error when the module has a full backward hook. The hook
#     does not run, but nothing is learned either.
# Если на модуле стоит полный обратный хук, изменение выхода на месте приводит к ошибке torch. Хук не
#     срабатывает, но и обучения нет.
def silent_hook():
    class Model(_Model):
        def forward(self, x):
            return nn.functional.relu(self.layer(x), inplace=True)

    return Model(), _input()

# %% mistake="swaps_the_pair" theme="missing"
# The pair is in the wrong order: the model comes first, then the input.
# Порядок в паре неверный: сначала должна идти модель, потом вход.
def silent_hook():
    return _input(), _Biased()

# %% mistake="freezes_the_layer" theme="recording"
# The parameters of `layer` do not require grad, so no gradient comes to them.
# Параметры модуля `layer` не требуют градиента, поэтому градиент до них не доходит.
def silent_hook():
    return _Model().requires_grad_(False), _input().requires_grad_()

# %% mistake="takes_the_hook_off" theme="test"
# The model takes the hook off. A hook that is no longer there does not run, but that is no counter-example.
# Модель снимает хук. Хук, которого уже нет, не срабатывает, но это не контрпример.
def silent_hook():
    class Model(_Model):
        def forward(self, x):
            self.layer._backward_hooks.clear()
            return self.layer(x)

    return Model(), _input()
