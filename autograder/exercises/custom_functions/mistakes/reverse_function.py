# %%
import torch

from ..common import Function


class _Reverse(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.clone()


class reverses_the_value(_Reverse):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return -factor * x

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.factor * grad_output, None

# %% mistake="one_entry" theme="missing"
# `backward` returns a single entry (a list or None counts as one). It has to return a tuple, one entry for each of
#     the two arguments of `apply`; None belongs to the number.
# Метод `backward` возвращает одно значение (список или None считается за одно). Нужен кортеж, по значению на
#     каждый из двух аргументов `apply`; числу соответствует None.
class Reverse(_Reverse):
    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.factor * grad_output

# %% mistake="factor_on_the_class" theme="state"
# What `backward` needs is kept on the class or in a global variable. All calls share those, so a second call
#     overwrites what the first one needs; each call has its own `ctx`.
# Нужное для `backward` хранится в самом классе или в глобальной переменной. Такое место у всех вызовов общее, и
#     второй вызов затирает то, что нужно первому; объект `ctx` у каждого вызова свой.
class Reverse(Function):
    factor = None

    @staticmethod
    def forward(ctx, x, factor):
        Reverse.factor = factor
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return -Reverse.factor * grad_output, None

# %% mistake="drops_the_sign" theme="derivative"
# The sign of `factor` was dropped. With a negative `factor`, `-factor` is positive.
# У числа `factor` отброшен знак. При отрицательном `factor` число `-factor` положительно.
class Reverse(_Reverse):
    @staticmethod
    def backward(ctx, grad_output):
        return -abs(ctx.factor) * grad_output, None

# %% mistake="factor_alone" theme="derivative"
# `-factor` alone was returned. It has to be multiplied by `grad_output`.
# Возвращается только число `-factor`. Его нужно умножить на `grad_output`.
class Reverse(_Reverse):
    @staticmethod
    def backward(ctx, grad_output):
        return torch.full_like(grad_output, -ctx.factor), None

# %% mistake="only_scales" theme="derivative"
# The minus is missing: the gradient was scaled, not reversed.
# Не хватает минуса: градиент умножен на число, но не обращён.
class Reverse(_Reverse):
    @staticmethod
    def backward(ctx, grad_output):
        return ctx.factor * grad_output, None

# %% mistake="ignores_the_factor" theme="missing"
# `factor` was not used: the gradient was reversed, but not scaled.
# Число `factor` не использовано: знак градиента изменён, но на это число он не умножен.
class Reverse(_Reverse):
    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output, None

# %% mistake="reverses_in_place" theme="in_place"
# `backward` computes in place and so changes `grad_output`, a tensor that belongs to the caller.
# В `backward` вычисление выполнено на месте, и тем самым изменён `grad_output`, а это чужой тензор.
class Reverse(_Reverse):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(-ctx.factor), None

# %% mistake="reverses_the_value" theme="own"
# The value was reversed too. Only the gradient should be; the value passes unchanged.
# Знак изменён и у значения. Обратить нужно только градиент, а значение проходит без изменений.
class Reverse(_Reverse):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return -factor * x

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.factor * grad_output, None

# %% mistake="returns_the_input" theme="in_place"
# `forward` returns `x` itself, or a view of it. The result is then a view made inside a custom Function, and torch
#     refuses to change it in place.
# Метод `forward` возвращает сам `x` или его представление. Результат — представление, созданное внутри
#     пользовательской функции, и менять его на месте torch не даёт.
class Reverse(_Reverse):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.factor * grad_output, None

# %% mistake="returns_detached" theme="in_place"
# `forward` returns a detached tensor with the memory of `x`: a change of the result is a change of `x`.
# Метод `forward` возвращает отсоединённый тензор в той же памяти, что и `x`: изменение результата меняет и `x`.
class Reverse(_Reverse):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.detach()

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.factor * grad_output, None

# %% mistake="reverse_in_wrong_order" theme="missing"
# At the second place `backward` returns something else than None. The gradient of `x` belongs at the first place;
#     the second is for the number, which has no gradient.
# На втором месте `backward` возвращает не None. Градиент по `x` стоит на первом месте, а второе отведено числу: у
#     него градиента нет.
class Reverse(_Reverse):
    @staticmethod
    def backward(ctx, grad_output):
        return None, -ctx.factor * grad_output

# %% mistake="reverse_saves_a_number" theme="own"
# `save_for_backward` was given a number. It takes tensors only; a number goes onto `ctx` as an attribute.
# В `save_for_backward` передано число. Он принимает только тензоры, а число записывают в атрибут `ctx`.
class Reverse(_Reverse):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(factor)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        (factor,) = ctx.saved_tensors
        return -factor * grad_output, None

# %% mistake="marks_dirty" theme="in_place"
# `mark_dirty` says that `forward` changes `x` in place. It does not: `x` has to stay as it is.
# Вызов `mark_dirty` сообщает, что `forward` меняет `x` на месте. Но `x` должен остаться прежним.
class Reverse(_Reverse):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.factor * grad_output, None
