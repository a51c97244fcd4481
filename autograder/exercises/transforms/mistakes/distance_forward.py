# %%
import torch


class _Distance(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return (x - y).norm()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward(*inputs, output)

    @staticmethod
    def backward(ctx, grad_output):
        x, y, distance = ctx.saved_tensors
        to_x = grad_output * (x - y) / distance
        return to_x, -to_x

# %% mistake="one_for_each_input" theme="derivative"
# `jvp` returns something else than one number. There is one output, and it moves by one number, however many inputs and
#     entries move.
# Метод `jvp` возвращает не одно число. Выход один, и сдвигается он на одно число, сколько бы входов и элементов ни
#     сдвинулось.
class Distance(_Distance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return (x - y) * dx / distance, -(x - y) * dy / distance

# %% mistake="x_alone_moves" theme="derivative"
# Only the tangent of `x` is used. The distance changes with `y`, too.
# Использован только касательный вектор для `x`. Но расстояние меняется и вместе с `y`.
class Distance(_Distance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return ((x - y) * dx).sum() / distance

# %% mistake="movements_are_added" theme="derivative"
# The movements of the two points are added. If both move alike, the distance stays as it is: a minus.
# Сдвиги двух точек складываются. Но если обе сдвинутся одинаково, расстояние не изменится: нужен минус.
class Distance(_Distance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return ((x - y) * (dx + dy)).sum() / distance

# %% mistake="other_sign" theme="derivative"
# The sign is the other one: if `x` moves away from `y`, this tangent is negative, but the distance grows.
# Знак противоположный: если `x` удаляется от `y`, результат отрицателен, а расстояние растёт.
class Distance(_Distance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return ((y - x) * (dx - dy)).sum() / distance

# %% mistake="distance_of_the_tangents" theme="derivative"
# The tangent is the distance between `dx` and `dy`. That is never negative, but points that approach each other have a
#     distance that falls.
# Возвращено расстояние между `dx` и `dy`. Оно не бывает отрицательным, а у точек, которые сближаются, расстояние
#     уменьшается.
class Distance(_Distance):
    @staticmethod
    def jvp(ctx, dx, dy):
        return (dx - dy).norm()

# %% mistake="not_divided" theme="derivative"
# The division by the distance is missing: twice the difference would give twice the tangent, although the same movement
#     changes it as much.
# Не хватает деления на расстояние: при вдвое большей разности результат вышел бы вдвое больше, хотя тот же сдвиг меняет
#     расстояние на столько же.
class Distance(_Distance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, _ = ctx.saved_tensors
        return ((x - y) * (dx - dy)).sum()

# %% mistake="mean_of_the_entries" theme="scaling"
# The products are averaged. In the distance each entry has its full share: the tangent is their sum.
# Произведения усреднены. А вклад каждого элемента входит в расстояние полностью: нужна сумма.
class Distance(_Distance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return ((x - y) * (dx - dy) / distance).mean()

# %% mistake="vectors_alone" theme="axes"
# `jvp` works for vectors only. `x` and `y` may have any shape.
# Метод `jvp` работает только с векторами. А форма `x` и `y` может быть любой.
class Distance(_Distance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return torch.dot(x - y, dx - dy) / distance

# %% mistake="of_the_square" theme="derivative"
# This is the derivative of the squared distance.
# Это производная квадрата расстояния.
class Distance(_Distance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, _ = ctx.saved_tensors
        return 2 * ((x - y) * (dx - dy)).sum()

# %% mistake="moved_distance" theme="derivative"
# `jvp` returns the distance after the movement. A tangent is by how much the value moves.
# Метод `jvp` возвращает расстояние после сдвига. А касательный вектор — это то, на сколько значение сдвинется.
class Distance(_Distance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return distance + ((x - y) * (dx - dy)).sum() / distance

# %% mistake="tangents_are_left_out" theme="derivative"
# The tangents are not used: the result is the same, whatever moves.
# Касательные векторы не использованы: результат один и тот же, что бы ни сдвинулось.
class Distance(_Distance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return ((x - y) / distance).sum()

# %% mistake="finite_difference" theme="precision"
# The tangent is a difference of two distances. It is right up to the size of the step only.
# Касательный вектор вычислен как разность двух расстояний. Он верен лишь с точностью, которую даёт шаг.
class Distance(_Distance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return ((x + 0.01 * dx - y - 0.01 * dy).norm() - distance) / 0.01

# %% mistake="jvp_is_gone" theme="missing"
# There is no method `jvp`.
# Нет метода `jvp`.
class Distance(_Distance):
    pass

# %% mistake="with_the_two_of_the_square" theme="scaling"
# The result is twice the tangent. The derivative of the root has a factor 1/2, which cancels the 2 of the square.
# Результат вдвое больше нужного. У производной корня есть множитель 1/2, и он сокращается с двойкой от квадрата.
class Distance(_Distance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return 2 * ((x - y) * (dx - dy)).sum() / distance

# %% mistake="whole_difference" like="finite_difference"
class Distance(_Distance):
    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        return (x + dx - y - dy).norm() - distance
