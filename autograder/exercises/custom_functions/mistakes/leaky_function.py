# %%
import torch

from ..common import Function


class _Leaky(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x < 0, slope * x, x)

# %% mistake="slope_on_the_class" theme="state"
# What `backward` needs is kept on the class or in a global variable. All calls share those, so a second call
#     overwrites what the first one needs; each call has its own `ctx`.
# Нужное для `backward` хранится в самом классе или в глобальной переменной. Такое место у всех вызовов общее, и
#     второй вызов затирает то, что нужно первому; объект `ctx` у каждого вызова свой.
class Leaky(Function):
    slope = None

    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        Leaky.slope = slope
        return torch.where(x < 0, slope * x, x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(ctx.saved_tensors[0] < 0, grad_output * Leaky.slope, grad_output), None

# %% mistake="leaky_in_place" theme="in_place"
# The input, a tensor that belongs to the caller, is written over, as when `forward` computes in place.
# Вход, а это чужой тензор, перезаписан: так бывает, когда `forward` вычисляет на месте.
class Leaky(_Leaky):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.negative, ctx.slope = x < 0, slope
        return x.mul_(torch.where(ctx.negative, slope, 1.0))

    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(ctx.negative, grad_output * ctx.slope, grad_output), None

# %% mistake="another_name" theme="in_place"
# `grad_output` is still what is changed: before it is copied, or under another name. Another variable, `detach()`,
#     a view or `contiguous()` gives no new memory.
# Меняется по-прежнему сам `grad_output`: до копирования или под другим именем. Другая переменная, `detach()`,
#     представление и `contiguous()` не дают новой памяти.
class Leaky(_Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        grad_input = grad_output.detach()
        grad_input[ctx.saved_tensors[0] < 0] *= ctx.slope
        return grad_input, None

# %% mistake="divides_back" theme="in_place"
# `grad_output` was changed and divided back afterwards. With a `slope` of 0 that is 0/0.
# Тензор `grad_output` сначала изменён, а потом восстановлен делением. При `slope`, равном 0, это 0/0.
class Leaky(_Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        negative = ctx.saved_tensors[0] < 0
        grad_output[negative] *= ctx.slope
        grad_input = grad_output.clone()
        grad_output[negative] /= ctx.slope
        return grad_input, None

# %% mistake="returns_the_original" theme="in_place"
# The gradient comes back unscaled: nothing was multiplied by `slope`, or another tensor was. `grad_input[x < 0]`
#     on its own is a copy, too.
# Градиент возвращается без умножения: на `slope` не умножено ничего или умножен другой тензор. Выражение
#     `grad_input[x < 0]` тоже создаёт копию.
class Leaky(_Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        grad_input = grad_output.clone()
        grad_input[ctx.saved_tensors[0] < 0] *= ctx.slope
        return grad_output, None

# %% mistake="edits_the_original" theme="in_place"
# A copy was made and returned, but it is the original that was multiplied.
# Копия создана и возвращается, но умножен исходный тензор.
class Leaky(_Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        grad_input = grad_output.clone()
        grad_output[ctx.saved_tensors[0] < 0] *= ctx.slope
        return grad_input, None

# %% mistake="scales_everywhere" theme="derivative"
# The copy is multiplied by `slope` everywhere, for positive inputs as well.
# Копия умножена на `slope` всюду, в том числе там, где вход положителен.
class Leaky(_Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        return ctx.slope * grad_output, None

# %% mistake="wrong_side" theme="derivative"
# `slope` is applied on the wrong side: where the input is positive.
# Множитель `slope` применён не с той стороны: там, где вход положителен.
class Leaky(_Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(ctx.saved_tensors[0] > 0, grad_output * ctx.slope, grad_output), None

# %% mistake="mask_instead_of_slope" theme="derivative"
# `grad_output` was multiplied by the mask: where the input is negative, 0 comes out instead of `slope`.
# Тензор `grad_output` умножен на маску: у отрицательных входов получается 0 вместо `slope`.
class Leaky(_Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0] >= 0), None

# %% mistake="writes_the_slope" theme="derivative"
# Where the input is negative, `slope` itself stands in the gradient. It has to be multiplied by `grad_output`.
# Там, где вход отрицателен, в градиенте стоит само число `slope`. Его нужно умножить на `grad_output`.
class Leaky(_Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(ctx.saved_tensors[0] < 0, ctx.slope, grad_output), None

# %% mistake="slopes_alone" theme="derivative"
# `backward` returns the derivative alone, `slope` and 1. It has to be multiplied by `grad_output`.
# Метод `backward` возвращает только производную: `slope` и 1. Её нужно умножить на `grad_output`.
class Leaky(_Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x < 0, torch.full_like(x, ctx.slope), torch.ones_like(x)), None

# %% mistake="one_entry" theme="missing"
# `backward` returns a single entry (a list or None counts as one). It has to return a tuple, one entry for each of
#     the two arguments of `apply`; None belongs to the number.
# Метод `backward` возвращает одно значение (список или None считается за одно). Нужен кортеж, по значению на
#     каждый из двух аргументов `apply`; числу соответствует None.
class Leaky(_Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(ctx.saved_tensors[0] < 0, ctx.slope * grad_output, grad_output)

# %% mistake="slope_by_heart" theme="missing"
# `backward` uses 0.25, whatever `slope` came in with the call.
# В `backward` стоит число 0.25, какой бы `slope` ни передали при вызове.
class Leaky(_Leaky):
    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(ctx.saved_tensors[0] < 0, 0.25 * grad_output, grad_output), None

# %% mistake="takes_the_larger" theme="missing"
# `forward` takes the larger of `x` and `slope * x`. That is the function only if `slope` is at most 1.
# Метод `forward` берёт большее из `x` и `slope * x`. Это та же функция, только если `slope` не больше 1.
class Leaky(_Leaky):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.maximum(x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(ctx.saved_tensors[0] < 0, ctx.slope * grad_output, grad_output), None
