# %%
import torch

from ..common import Function

WEIGHTS = [0.299, 0.587, 0.114]


class _Gray(Function):
    """A right gray value.

    Most mistakes of the exercise are subclasses of this class.
    """

    @staticmethod
    def forward(ctx, x):
        return (x * x.new_tensor(WEIGHTS)).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.unsqueeze(-1) * grad_output.new_tensor(WEIGHTS)

# %% mistake="forward_still_mixes" theme="device"
# `forward` still multiplies `x` by weights that lie on the CPU. On a GPU torch refuses to mix the two.
# Метод `forward` по-прежнему умножает `x` на веса, которые лежат на CPU. На GPU torch отказывается их смешивать.
class Gray(_Gray):
    weights = torch.tensor(WEIGHTS, dtype=torch.float64)

    @staticmethod
    def forward(ctx, x):
        return (x * Gray.weights).sum(-1)

# %% mistake="backward_still_mixes" theme="device"
# `forward` runs on a GPU now, but `backward` still mixes in a tensor that lies on the CPU.
# Метод `forward` на GPU теперь выполняется, но в `backward` по-прежнему участвует тензор, который лежит на CPU.
class Gray(_Gray):
    @staticmethod
    def backward(ctx, grad_output):
        grad_input = torch.zeros(*grad_output.shape, 3, dtype=torch.float64)
        grad_input += grad_output.unsqueeze(-1) * grad_output.new_tensor(WEIGHTS)
        return grad_input

# %% mistake="moves_the_class" theme="state"
# The weights of the class, or of a global variable, were moved to the device of the latest call. All calls share them:
#     a call on the CPU takes them away before a call on the GPU runs its backward pass.
# Веса, которые хранятся в классе или в глобальной переменной, перенесены на устройство последнего вызова. Они у всех
#     вызовов общие: вызов на CPU забирает их раньше, чем вызов на GPU выполнит обратный проход.
class Gray(_Gray):
    weights = torch.tensor(WEIGHTS, dtype=torch.float64)

    @staticmethod
    def forward(ctx, x):
        Gray.weights = Gray.weights.to(x.device)
        return (x * Gray.weights).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.unsqueeze(-1) * Gray.weights

# %% mistake="computes_on_the_cpu" theme="device"
# The result or its gradient came back on the CPU, although `x` lies on a GPU. The caller would have to copy it.
# Результат или градиент вернулся на CPU, хотя `x` лежит на GPU. Вызывающему коду пришлось бы его копировать.
class Gray(_Gray):
    @staticmethod
    def forward(ctx, x):
        return (x.cpu() * torch.tensor(WEIGHTS, dtype=x.dtype)).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.unsqueeze(-1) * grad_output.new_tensor(WEIGHTS)

# %% mistake="gray_in_place" theme="in_place"
# The input, a tensor that belongs to the caller, is written over, as when `forward` computes in place.
# Вход, а это чужой тензор, перезаписан: так бывает, когда `forward` вычисляет на месте.
class Gray(_Gray):
    @staticmethod
    def forward(ctx, x):
        return x.mul_(x.new_tensor(WEIGHTS)).sum(-1)

# %% mistake="loses_grad_output" theme="derivative"
# `backward` returns the weights alone. They have to be multiplied by `grad_output`.
# Метод `backward` возвращает только веса. Их нужно умножить на `grad_output`.
class Gray(_Gray):
    @staticmethod
    def backward(ctx, grad_output):
        return torch.ones_like(grad_output).unsqueeze(-1) * grad_output.new_tensor(WEIGHTS)

# %% mistake="loses_the_weights" theme="derivative"
# `backward` passes `grad_output` to all three colours alike. Each colour has its own weight.
# Метод `backward` передаёт `grad_output` всем трём цветам одинаково. А у каждого цвета свой вес.
class Gray(_Gray):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.unsqueeze(-1) * torch.ones_like(grad_output.new_tensor(WEIGHTS))

# %% mistake="mean_of_the_colours" theme="own"
# The three colours were averaged. Each has its own weight: 0.299, 0.587, 0.114.
# Три цвета просто усреднены. А у каждого свой вес: 0.299, 0.587, 0.114.
class Gray(_Gray):
    @staticmethod
    def forward(ctx, x):
        return x.mean(-1)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.unsqueeze(-1) * torch.full_like(grad_output.new_tensor(WEIGHTS), 1 / 3)
