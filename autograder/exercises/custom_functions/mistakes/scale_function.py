# %%
from ..common import Function


class _Scale(Function):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None


class _MarkedScale(_Scale):
    """A right Function.

    The last mistakes are subclasses of this class.
    """

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)

# %% mistake="says_nothing" theme="in_place"
# `forward` does not call `mark_dirty`. Autograd takes the result for a new tensor, and if the input is used
#     further, its gradient does not account for the multiplication.
# В `forward` не вызван `mark_dirty`. Autograd считает результат новым тензором, и если дальше используют вход,
#     получается градиент, в котором умножение не учтено.
class ScaleInPlace(_Scale):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.mul_(factor)

# %% mistake="scale_on_the_class" theme="state"
# What `backward` needs is kept on the class or in a global variable. All calls share those, so a second call
#     overwrites what the first one needs; each call has its own `ctx`.
# Нужное для `backward` хранится в самом классе или в глобальной переменной. Такое место у всех вызовов общее, и
#     второй вызов затирает то, что нужно первому; объект `ctx` у каждого вызова свой.
class ScaleInPlace(Function):
    factor = None

    @staticmethod
    def forward(ctx, x, factor):
        ScaleInPlace.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ScaleInPlace.factor, None

# %% mistake="out_of_place" theme="in_place"
# A new tensor was computed. The input itself was to be changed and returned.
# Вычислен новый тензор. Изменить и вернуть нужно было сам вход.
class ScaleInPlace(_Scale):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

# %% mistake="returns_a_copy" theme="in_place"
# The input was marked dirty, but something else was returned, such as a new tensor, a copy, or nothing. What is
#     marked has to be changed in place and returned.
# Вход отмечен как изменённый, но возвращается что-то другое, например новый тензор, копия или ничего. Отмеченный
#     тензор нужно изменить на месте и вернуть.
class ScaleInPlace(_Scale):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor).clone()

# %% mistake="one_entry_for_two" theme="missing"
# `backward` returns a single entry (a list or None counts as one). It has to return a tuple, one entry for each of
#     the two arguments of `apply`; None belongs to the number.
# Метод `backward` возвращает одно значение (список или None считается за одно). Нужен кортеж, по значению на
#     каждый из двух аргументов `apply`; числу соответствует None.
class ScaleInPlace(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor

# %% mistake="scales_grad_output" theme="in_place"
# `backward` computes in place and so changes `grad_output`, a tensor that belongs to the caller.
# В `backward` вычисление выполнено на месте, и тем самым изменён `grad_output`, а это чужой тензор.
class ScaleInPlace(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(ctx.factor), None

# %% mistake="passes_unscaled" theme="derivative"
# `factor` is missing in `backward`: the gradient passes unscaled.
# В `backward` не хватает множителя `factor`: градиент проходит без умножения.
class ScaleInPlace(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone(), None

# %% mistake="entries_in_wrong_order" theme="missing"
# At the second place `backward` returns something else than None. The gradient of `x` belongs at the first place;
#     the second is for the number, which has no gradient.
# На втором месте `backward` возвращает не None. Градиент по `x` стоит на первом месте, а второе отведено числу: у
#     него градиента нет.
class ScaleInPlace(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx, grad_output):
        return None, grad_output * ctx.factor

# %% mistake="divides_new_by_old" theme="precision"
# The factor is computed back as the quotient of the new and the old numbers: where `x` is 0 that is 0/0, NaN.
# Множитель вычислен как частное новых и старых чисел: там, где `x` равен 0, это 0/0, то есть NaN.
class ScaleInPlace(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.mark_dirty(x)
        old = x.clone()
        x.mul_(factor)
        ctx.save_for_backward(x / old)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0], None

# %% mistake="divides_the_gradient" theme="derivative"
# The gradient is divided by `factor` in `backward`. The derivative of `factor * x` is `factor`, on the way back as
#     well.
# В `backward` градиент делится на `factor`. Производная `factor * x` равна `factor`, и на обратном проходе тоже.
class ScaleInPlace(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output / ctx.factor, None

# %% mistake="scale_saves_a_number" theme="own"
# `save_for_backward` was given a number. It takes tensors only; a number goes onto `ctx` as an attribute.
# В `save_for_backward` передано число. Он принимает только тензоры, а число записывают в атрибут `ctx`.
class ScaleInPlace(_Scale):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(factor)
        ctx.mark_dirty(x)
        return x.mul_(factor)

# %% mistake="scales_twice" theme="scaling"
# The numbers were multiplied by `factor` twice.
# Числа умножены на `factor` дважды.
class ScaleInPlace(_MarkedScale):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.mark_dirty(x)
        return x.mul_(factor).mul_(factor)

# %% mistake="returns_a_tuple" theme="missing"
# `forward` returns a tuple with the tensor in it. The tensor itself has to be returned.
# Метод `forward` возвращает кортеж, в котором лежит тензор. Вернуть нужно сам тензор.
class ScaleInPlace(_MarkedScale):
    @staticmethod
    def forward(ctx, x, factor):
        return (_MarkedScale.forward(ctx, x, factor),)

# %% mistake="marks_non_differentiable" theme="recording"
# The result was marked as not differentiable. Then it has no gradient.
# Результат отмечен как недифференцируемый. Тогда у него нет градиента.
class ScaleInPlace(_MarkedScale):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.mark_non_differentiable(x)
        return _MarkedScale.forward(ctx, x, factor)
