# %%
from torch.autograd.function import once_differentiable

from ..common import Function


class _Cube(Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 3 * ctx.saved_tensors[0] ** 2

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 3 * ctx.saved_tensors[0] ** 2


class _Ruled(_Cube):
    """A right cube.

    Most mistakes are subclasses of this class.
    """

    generate_vmap_rule = True


class saves_for_backward_alone(_Ruled):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)


class saves_for_forward_alone(_Ruled):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

# %% mistake="old_style" theme="own"
# `forward` takes `ctx`. torch.func refuses that form; it needs `forward(x)` and `setup_context`.
# Метод `forward` принимает `ctx`. С такой записью torch.func не работает: нужны `forward(x)` и `setup_context`.
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 3 * ctx.saved_tensors[0] ** 2

# %% mistake="cube_on_the_class" theme="state"
# What `backward` needs is kept on the class or in a global variable. All calls share those, so a second call
#     overwrites what the first one needs; each call has its own `ctx`.
# Нужное для `backward` хранится в самом классе или в глобальной переменной. Такое место у всех вызовов общее, и
#     второй вызов затирает то, что нужно первому; объект `ctx` у каждого вызова свой.
class Cube(_Ruled):
    x = None

    @staticmethod
    def setup_context(ctx, inputs, output):
        (Cube.x,) = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 3 * Cube.x**2

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 3 * Cube.x**2

# %% mistake="cube_over_the_input" theme="in_place"
# The input, a tensor that belongs to the caller, is written over, as when `forward` computes in place.
# Вход, а это чужой тензор, перезаписан: так бывает, когда `forward` вычисляет на месте.
class Cube(_Ruled):
    @staticmethod
    def forward(x):
        return x.pow_(3)

# %% mistake="cube_in_place" theme="in_place"
# `backward` computes in place and so changes `grad_output`, a tensor that belongs to the caller.
# В `backward` вычисление выполнено на месте, и тем самым изменён `grad_output`, а это чужой тензор.
class Cube(_Ruled):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(3 * ctx.saved_tensors[0] ** 2)

# %% mistake="batch_always_first" theme="axes"
# The batch axis of the result is not where the method `vmap` says (seen with `in_dims=1`). A power taken entry by
#     entry leaves the axis where it was, and `torch.stack` puts it at 0.
# Ось батча в результате не там, где указано в методе `vmap` (это видно при `in_dims=1`). Если степень вычислена
#     поэлементно, ось остаётся на прежнем месте, а после `torch.stack` её номер 0.
class Cube(_Cube):
    @staticmethod
    def vmap(info, in_dims, x):
        return Cube.apply(x), 0

# %% mistake="no_vmap_rule" theme="missing"
# There is no rule for vmap. Either `generate_vmap_rule = True` stands in the class, or there is a method `vmap`.
# Правила для vmap нет: нужна либо строка `generate_vmap_rule = True` в теле класса, либо метод `vmap`.
class Cube(_Cube):
    pass

# %% mistake="two_vmap_rules" theme="own"
# There are two rules for vmap. Either `generate_vmap_rule = True` stands in the class, or there is a method `vmap`,
#     but not both.
# Правил для vmap два: нужна либо строка `generate_vmap_rule = True` в теле класса, либо метод `vmap`, но не то и
#     другое сразу.
class Cube(_Ruled):
    @staticmethod
    def vmap(info, in_dims, x):
        return Cube.apply(x), in_dims[0]

# %% mistake="no_jvp" theme="missing"
# There is no `jvp`. Reverse mode does not give forward mode, which needs a method of its own.
# Нет метода `jvp`. Из обратного режима прямой не получается: для него нужен отдельный метод.
class Cube(Function):
    generate_vmap_rule = True
    forward, setup_context, backward = _Cube.forward, _Cube.setup_context, _Cube.backward

# %% mistake="saves_for_backward_alone" theme="missing"
# `save_for_forward` was not called, so the tuple `saved_tensors` is empty in `jvp`.
# Не вызван метод `save_for_forward`, поэтому в `jvp` кортеж `saved_tensors` пуст.
class Cube(_Ruled):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

# %% mistake="cube_local" theme="derivative"
# `backward` returns the derivative alone. It has to be multiplied by `grad_output`.
# Метод `backward` возвращает только производную. Её нужно умножить на `grad_output`.
class Cube(_Ruled):
    @staticmethod
    def backward(ctx, grad_output):
        return 3 * ctx.saved_tensors[0] ** 2

# %% mistake="saves_the_slope" theme="recording"
# `backward` computes with a constant: what was computed in `setup_context`, or a detached tensor. That makes the
#     second derivative wrong.
# В `backward` использована константа: то, что вычислено в `setup_context`, или отсоединённый тензор. Из-за этого
#     вторая производная неверна.
class Cube(Function):
    generate_vmap_rule = True
    forward = _Cube.forward

    @staticmethod
    def setup_context(ctx, inputs, output):
        slope = 3 * inputs[0] ** 2
        ctx.save_for_backward(slope)
        ctx.save_for_forward(slope)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * ctx.saved_tensors[0]

# %% mistake="jvp_without_the_three" theme="derivative"
# The factor 3 is missing in `jvp`.
# В `jvp` не хватает множителя 3.
class Cube(_Ruled):
    @staticmethod
    def jvp(ctx, tangent):
        return tangent * ctx.saved_tensors[0] ** 2

# %% mistake="jvp_without_tangent" theme="derivative"
# `jvp` returns the derivative without the tangent.
# Метод `jvp` возвращает производную, не умноженную на касательный вектор.
class Cube(_Ruled):
    @staticmethod
    def jvp(ctx, tangent):
        return 3 * ctx.saved_tensors[0] ** 2

# %% mistake="cube_returns_nothing" theme="return"
# `backward` or `jvp` returns nothing; perhaps its `return` is missing.
# Метод `backward` или `jvp` ничего не возвращает; возможно, забыт `return`.
class Cube(_Ruled):
    @staticmethod
    def backward(ctx, grad_output):
        _ = grad_output * 3 * ctx.saved_tensors[0] ** 2

# %% mistake="cube_refuses" theme="missing"
# The class refuses to be differentiated twice, and the second derivative is asked for here.
# Класс не допускает повторного дифференцирования, а вторая производная здесь нужна.
class Cube(_Ruled):
    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return grad_output * 3 * ctx.saved_tensors[0] ** 2

# %% mistake="without_the_three" theme="derivative"
# The derivative of the cube is `x**2` here: the factor 3 is missing.
# Производная куба здесь равна `x**2`: не хватает множителя 3.
class Cube(_Ruled):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0] ** 2

# %% mistake="jvp_edits_the_tangent" theme="in_place"
# `jvp` changes the tangent in place. It belongs to the caller, and torch.func refuses: a new tensor has to be
#     returned.
# В `jvp` касательный вектор изменён на месте. Это чужой тензор, и torch.func такого не допускает: вернуть нужно
#     новый.
class Cube(_Ruled):
    @staticmethod
    def jvp(ctx, tangent):
        return tangent.mul_(3 * ctx.saved_tensors[0] ** 2)

# %% mistake="saves_for_forward_alone" theme="missing"
# `save_for_backward` was not called, so the tuple `saved_tensors` is empty in `backward`.
# Не вызван метод `save_for_backward`, поэтому в `backward` кортеж `saved_tensors` пуст.
class Cube(_Ruled):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

# %% mistake="vmap_without_the_axis" theme="missing"
# The method `vmap` returns the result alone. It has to return a pair: the result and the place of its batch axis.
# Метод `vmap` возвращает только результат. Нужна пара: результат и номер оси батча в нём.
class Cube(_Cube):
    @staticmethod
    def vmap(info, in_dims, x):
        return Cube.apply(x)

# %% mistake="jvp_returns_a_pair" theme="missing"
# `jvp` returns a pair, such as value and tangent. It has to return the tangent of the result alone.
# Метод `jvp` возвращает пару, например значение и касательный вектор. Нужен только касательный вектор результата.
class Cube(_Ruled):
    @staticmethod
    def jvp(ctx, tangent):
        return ctx.saved_tensors[0] ** 3, tangent * 3 * ctx.saved_tensors[0] ** 2

# %% mistake="saves_the_tuple" theme="own"
# In `setup_context` the tuple `inputs` was saved. The tensor has to be taken out of it first.
# В `setup_context` сохраняется сам кортеж `inputs`. Сначала из него нужно взять тензор.
class Cube(_Ruled):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs)
        ctx.save_for_forward(inputs)

# %% mistake="forward_still_takes_ctx" theme="own"
# `forward` still takes `ctx`. Beside `setup_context` it takes the inputs alone.
# Метод `forward` по-прежнему принимает `ctx`. Если есть `setup_context`, он принимает только входы.
class Cube(_Ruled):
    @staticmethod
    def forward(ctx, x):
        return x**3

# %% mistake="no_setup_context" theme="missing"
# `forward` takes no `ctx`, but there is no `setup_context` to do the saving.
# Метод `forward` не принимает `ctx`, но и `setup_context`, где сохраняют тензоры, в классе нет.
class Cube(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 3 * ctx.saved_tensors[0] ** 2

# %% mistake="unpacks_what_was_not_saved" like="saves_for_backward_alone"
class Cube(saves_for_backward_alone):
    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * 3 * x**2
