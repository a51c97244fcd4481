# %%
from ..common import Function


class RightForward(Function):
    """A right forward pass of the product.

    Most mistakes of the exercise are subclasses of this class.
    """

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b


class _Fitted(RightForward):
    """A product whose gradients get their shapes from `fit`."""

    @staticmethod
    def fit(gradient, shape):
        raise NotImplementedError

    @classmethod
    def backward(cls, ctx, grad_output):
        (a, b), needs = ctx.saved_tensors, ctx.needs_input_grad
        for_a = cls.fit(grad_output * b, a.shape) if needs[0] else None
        return for_a, cls.fit(grad_output * a, b.shape) if needs[1] else None

# %% mistake="factors_on_the_class" theme="state"
# What `backward` needs is kept on the class or in a global variable. All calls share those, so a second call
#     overwrites what the first one needs; each call has its own `ctx`.
# Нужное для `backward` хранится в самом классе или в глобальной переменной. Такое место у всех вызовов общее, и
#     второй вызов затирает то, что нужно первому; объект `ctx` у каждого вызова свой.
class Product(Function):
    factors = None

    @staticmethod
    def forward(ctx, a, b):
        Product.factors = a, b
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = Product.factors
        return grad_output * b, grad_output * a

# %% mistake="product_over_the_input" theme="in_place"
# The input, a tensor that belongs to the caller, is written over, as when `forward` computes in place.
# Вход, а это чужой тензор, перезаписан: так бывает, когда `forward` вычисляет на месте.
class Product(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a.clone(), b)
        return a.mul_(b)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return grad_output * b, grad_output * a

# %% mistake="either_or" theme="missing"
# Only one of the two gradients is ever computed. When both inputs require grad, both are asked for.
# Всегда вычисляется только один из двух градиентов. Когда градиента требуют оба входа, нужны оба.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return (grad_output * b, None) if ctx.needs_input_grad[0] else (None, grad_output * a)

# %% mistake="always_multiplies_in_place" theme="in_place"
# `backward` computes in place and so changes `grad_output`, a tensor that belongs to the caller.
# В `backward` вычисление выполнено на месте, и тем самым изменён `grad_output`, а это чужой тензор.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        for_b = grad_output * a
        return grad_output.mul_(b), for_b

# %% mistake="swapped" theme="derivative"
# The two gradients are swapped. The gradient of `a` is `grad_output` times `b` and stands first.
# Градиенты переставлены. Первым должен стоять градиент по `a`: `grad_output`, умноженный на `b`.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return grad_output * a if needs[0] else None, grad_output * b if needs[1] else None

# %% mistake="returned_in_wrong_order" theme="missing"
# The two gradients were returned in the wrong order: that of `a`, the first argument, stands first.
# Градиенты возвращаются не в том порядке: первым должен стоять градиент по `a`, первому аргументу.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_output * b if ctx.needs_input_grad[0] else None
        grad_b = grad_output * a if ctx.needs_input_grad[1] else None
        return grad_b, grad_a

# %% mistake="one_gradient" theme="missing"
# `backward` returns a single gradient (a list or None counts as one). It has to return a tuple, with one gradient
#     for each argument of `apply`.
# Метод `backward` возвращает один градиент (список или None считается за один). Нужен кортеж, по одному градиенту
#     на каждый аргумент `apply`.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[1]

# %% mistake="local_derivatives" theme="derivative"
# `backward` returns the partial derivatives alone. Each has to be multiplied by `grad_output`.
# Метод `backward` возвращает только частные производные. Каждую нужно умножить на `grad_output`.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return b if ctx.needs_input_grad[0] else None, a if ctx.needs_input_grad[1] else None

# %% mistake="derivative_of_a_sum" theme="derivative"
# `grad_output` was passed on to both inputs unchanged. That is the derivative of a sum, `a + b`.
# Тензор `grad_output` передан обоим входам без изменений. Так было бы у суммы `a + b`.
class Product(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output

# %% mistake="second_is_none" theme="missing"
# Where the second input alone needs a gradient, it gets none. So it is when the second entry is always None.
# Когда градиент нужен только второму входу, он его не получает. Так бывает, когда на втором месте всегда стоит None.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[1], None

# %% mistake="all_or_nothing" theme="missing"
# `None` comes back as soon as one of the two inputs does not require grad. The other one still needs its gradient.
# Значение `None` возвращается, если хотя бы один из двух входов не требует градиента. Другому входу градиент
#     по-прежнему нужен.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return (grad_output * b, grad_output * a) if all(ctx.needs_input_grad) else (None, None)

# %% mistake="flags_swapped" theme="own"
# The flags of `needs_input_grad` are mixed up: the first belongs to `a`, the first argument of `apply`.
# Флаги `needs_input_grad` перепутаны: первый относится к `a`, первому аргументу `apply`.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        needs_b, needs_a = ctx.needs_input_grad
        return grad_output * b if needs_a else None, grad_output * a if needs_b else None

# %% mistake="computes_both" theme="cost"
# A gradient is computed that nobody asked for. `ctx.needs_input_grad` tells which are needed.
# Вычисляется градиент, который никому не нужен. Какие нужны, видно по `ctx.needs_input_grad`.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return grad_output * b, grad_output * a

# %% mistake="one_flag_for_both" theme="own"
# The second gradient depends on the flag of the first input. Each input has a flag in `ctx.needs_input_grad`.
# Второй градиент зависит от флага первого входа. В `ctx.needs_input_grad` у каждого входа свой флаг.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return grad_output * b, grad_output * a if ctx.needs_input_grad[0] else None

# %% mistake="needed_entries_alone" theme="missing"
# `backward` returns only the gradients that are needed. An input without a gradient keeps its place, with None.
# Метод `backward` возвращает только нужные градиенты. За входом без градиента остаётся его место: там стоит None.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        both = zip(ctx.needs_input_grad, (grad_output * b, grad_output * a))
        return tuple(gradient for needed, gradient in both if needed)

# %% mistake="divides_the_result" theme="precision"
# The other factor is got by dividing the result by an input. Where that input is 0, this is 0/0: NaN.
# Второй множитель получен делением результата на вход. Там, где этот вход равен 0, получается 0/0, то есть NaN.
class Product(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b, a * b)
        return a * b

    @staticmethod
    def backward(ctx, grad_output):
        a, b, y = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return grad_output * y / a if needs[0] else None, grad_output * y / b if needs[1] else None

# %% mistake="takes_the_mean" theme="scaling"
# The gradient of a stretched input is the mean over the stretched axis. The paths join there, so it is the sum.
# Градиент растянутого входа усреднён по растянутой оси. Пути там сходятся, поэтому нужна сумма.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        def mean_to(gradient, shape):
            summed = gradient.sum_to_size(shape)
            return summed * (summed.numel() / gradient.numel())

        a, b = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return (
            mean_to(grad_output * b, a.shape) if needs[0] else None,
            mean_to(grad_output * a, b.shape) if needs[1] else None,
        )

# %% mistake="takes_the_mean_for_a_number" theme="scaling"
# The gradient of an input of shape `()` is the mean. The input meets every entry, so it is the sum.
# Градиент входа формы `()` — среднее. Такой вход участвует в каждом элементе, поэтому нужна сумма.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = grad_output * b if a.dim() else (grad_output * b).mean()
        if ctx.needs_input_grad[1]:
            grad_b = grad_output * a if b.dim() else (grad_output * a).mean()
        return grad_a, grad_b

# %% mistake="sums_over_axis_0" theme="axes"
# Where the shapes differ, the gradient is summed over axis 0. The stretched axis may be another one, as for `(4,
#     3)` and `(4, 1)`.
# Если формы различаются, градиент просуммирован по оси 0. Растянутой может быть и другая ось, как для `(4, 3)` и
#     `(4, 1)`.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        def sum_to(gradient, shape):
            return gradient if gradient.shape == shape else gradient.sum(0)

        a, b = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return (
            sum_to(grad_output * b, a.shape) if needs[0] else None,
            sum_to(grad_output * a, b.shape) if needs[1] else None,
        )

# %% mistake="always_sums_over_axis_0" theme="axes"
# The gradient of `b` is summed over axis 0 even if no axis was stretched.
# Градиент по `b` просуммирован по оси 0, даже если при транслировании ни одна ось не расширена.
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return grad_output * b if needs[0] else None, (grad_output * a).sum(0) if needs[1] else None

# %% mistake="sums_over_the_last_axis" theme="axes"
# Where the shapes differ, the gradient is summed over the last axis. The stretched axis may be another one, as for
#     `(4, 3)` and `(3,)`.
# Если формы различаются, градиент просуммирован по последней оси. Растянутой может быть и другая ось, как для `(4,
#     3)` и `(3,)`.
class Product(_Fitted):
    @staticmethod
    def fit(gradient, shape):
        return gradient if gradient.shape == shape else gradient.sum(-1, keepdim=True)

# %% mistake="reshapes_the_gradient" theme="axes"
# The gradient of a stretched input is only given another shape. It has too many entries and has to be summed.
# Градиенту растянутого входа лишь придана другая форма. Элементов в нём слишком много, их нужно сложить.
class Product(_Fitted):
    @staticmethod
    def fit(gradient, shape):
        return gradient.reshape(shape)

# %% mistake="squeezes_the_sum" theme="axes"
# `squeeze` also removes axes of length 1 that belong to the input. Its gradient has to keep them.
# Метод `squeeze` удаляет и те оси длины 1, которые есть у входа. В его градиенте они должны остаться.
class Product(_Fitted):
    @staticmethod
    def fit(gradient, shape):
        return gradient.sum_to_size(shape).squeeze()

# %% mistake="counts_axes_from_the_left" theme="axes"
# The axes of the input are counted from the left. Broadcasting aligns shapes at their last axes.
# Оси входа отсчитаны слева. При транслировании формы выравниваются по последним осям.
class Product(_Fitted):
    @staticmethod
    def fit(gradient, shape):
        for axis, length in enumerate(shape):
            gradient = gradient.sum(axis, keepdim=True) if length == 1 else gradient
        return gradient

# %% mistake="multiplies_the_second_in_place" like="always_multiplies_in_place"
class Product(RightForward):
    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        for_a = grad_output * b if ctx.needs_input_grad[0] else None
        return for_a, grad_output.mul_(a) if ctx.needs_input_grad[1] else None
