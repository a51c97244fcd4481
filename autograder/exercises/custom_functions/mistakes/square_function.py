# %%
from ..common import Function


# %% mistake="still_on_the_class" theme="state"
# What `backward` needs is still kept in one place for all calls, on the class or in a global variable, so the
#     second call overwrites it. Another name, or another value in that place, changes nothing.
# Нужное для `backward` по-прежнему лежит в общем для всех вызовов месте (в классе или в глобальной переменной), и
#     второй вызов его затирает. Другое имя или другая величина на этом месте ничего не меняют.
class Square(Function):
    slope = None

    @staticmethod
    def forward(ctx, x):
        Square.slope = 2 * x
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * Square.slope

# %% mistake="square_in_place" theme="in_place"
# `backward` computes in place and so changes `grad_output`, a tensor that belongs to the caller.
# В `backward` вычисление выполнено на месте, и тем самым изменён `grad_output`, а это чужой тензор.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(2 * ctx.saved_tensors[0])

# %% mistake="square_over_the_input" theme="in_place"
# The input, a tensor that belongs to the caller, is written over, as when `forward` computes in place.
# Вход, а это чужой тензор, перезаписан: так бывает, когда `forward` вычисляет на месте.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.clone())
        return x.mul_(x)

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output * ctx.saved_tensors[0]

# %% mistake="stack_on_the_class" theme="state"
# The class keeps a list of its inputs, so the gradients depend on the order in which they are computed.
# В классе хранится список входов, поэтому градиенты зависят от порядка, в котором их вычисляют.
class Square(Function):
    stack = []  # noqa: RUF012 - the mistake itself

    @classmethod
    def forward(cls, ctx, x):
        Square.stack.append(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output * Square.stack.pop()

# %% mistake="attribute_again" theme="in_place"
# The input is not kept by `save_for_backward` but, for example, in an attribute of `ctx`. Each call has its own,
#     but autograd does not check whether such a tensor was changed in place.
# Вход хранится не через `save_for_backward`, а, например, в атрибуте `ctx`. У каждого вызова он свой, но изменён ли
#     такой тензор на месте, autograd не проверяет.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output * ctx.x

# %% mistake="copy_of_the_input" theme="cost"
# A copy of the input is kept, or something computed from it. The gradient is right, but a second tensor is alive,
#     and a change of the input goes unnoticed.
# Хранится копия входа или что-то вычисленное из него. Градиент верен, но в памяти лежит второй тензор, и изменение
#     входа остаётся незамеченным.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.clone())
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output * ctx.saved_tensors[0]

# %% mistake="without_the_two" theme="derivative"
# The factor 2 is missing: the derivative of `x * x` is `2 * x`.
# Потерян множитель 2: производная `x * x` равна `2 * x`.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]

# %% mistake="square_local" theme="derivative"
# `backward` returns the derivative alone. It has to be multiplied by `grad_output`.
# Метод `backward` возвращает только производную. Её нужно умножить на `grad_output`.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.saved_tensors[0]

# %% mistake="saves_data" theme="in_place"
# `save_for_backward` gets `x.data`. That tensor has a version counter of its own: a change of `x` goes unnoticed.
# В `save_for_backward` передан `x.data`. У этого тензора свой счётчик версий: изменение `x` остаётся незамеченным.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.data)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output * ctx.saved_tensors[0]

# %% mistake="root_of_the_result" theme="derivative"
# The input is computed back from the result. A root does not know the sign: negative inputs get a wrong gradient.
# Вход восстановлен по результату. Но корень не различает знаков: у отрицательных входов градиент неверен.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        y = x * x
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output * ctx.saved_tensors[0].sqrt()

# %% mistake="divides_by_the_input" theme="precision"
# The input is computed back by dividing the result by it. At 0 that is 0/0: NaN.
# Вход получен делением результата на него же. В нуле это 0/0, то есть NaN.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        y = x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return 2 * grad_output * y / x

# %% mistake="square_forgets_to_unpack" theme="own"
# `saved_tensors` was used as if it were the tensor itself. It is a tuple, even with one tensor in it.
# Кортеж `saved_tensors` использован так, будто это сам тензор. Это кортеж, даже если тензор в нём один.
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output * ctx.saved_tensors
