# %%
import numpy as np
import torch


def _keep(ctx, inputs, output):
    x, y, ctx.a = inputs
    ctx.save_for_backward(x, y)


def _right(ctx, grad):
    x, y = ctx.saved_tensors
    damping = (-ctx.a * y).exp()
    return grad * damping, -ctx.a * grad * x * damping, None

# %% mistake="without_grad" theme="derivative"
# The gradient that arrives is missing in both results. The chain rule multiplies by it.
# Пришедший градиент не учтён ни в одном из результатов. По правилу дифференцирования сложной функции на него умножают.
def add_formula(op):
    def backward(ctx, grad):
        return _right(ctx, torch.ones_like(grad))

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="y_without_grad" theme="derivative"
# The gradient of `y` lacks the gradient that arrives. The chain rule multiplies by it.
# В градиенте по `y` не учтён пришедший градиент. По правилу дифференцирования сложной функции на него умножают.
def add_formula(op):
    def backward(ctx, grad):
        return _right(ctx, grad)[0], _right(ctx, torch.ones_like(grad))[1], None

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="x_without_grad" theme="derivative"
# The gradient of `x` lacks the gradient that arrives. The chain rule multiplies by it.
# В градиенте по `x` не учтён пришедший градиент. По правилу дифференцирования сложной функции на него умножают.
def add_formula(op):
    def backward(ctx, grad):
        return _right(ctx, torch.ones_like(grad))[0], _right(ctx, grad)[1], None

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="without_the_factor" theme="derivative"
# The inner derivative is missing: −a·y depends on `y` with the factor −a.
# Не хватает внутренней производной: −a·y зависит от `y` с множителем −a.
def add_formula(op):
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        damping = (-ctx.a * y).exp()
        return grad * damping, grad * x * damping, None

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="without_a" theme="derivative"
# The gradient of `y` lacks the factor `a`: the inner derivative of −a·y is −a, not −1.
# В градиенте по `y` не хватает множителя `a`: внутренняя производная у −a·y равна −a, а не −1.
def add_formula(op):
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        damping = (-ctx.a * y).exp()
        return grad * damping, -grad * x * damping, None

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="wrong_sign" theme="derivative"
# The gradient of `y` has the wrong sign: the derivative of exp(−a·y) is −a·exp(−a·y).
# У градиента по `y` неверный знак: производная exp(−a·y) равна −a·exp(−a·y).
def add_formula(op):
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        damping = (-ctx.a * y).exp()
        return grad * damping, ctx.a * grad * x * damping, None

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="without_x" theme="derivative"
# The factor `x` is missing in the gradient of `y`.
# В градиенте по `y` не хватает множителя `x`.
def add_formula(op):
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        damping = (-ctx.a * y).exp()
        return grad * damping, -ctx.a * grad * damping, None

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="swapped" theme="order"
# The two gradients are swapped. They stand in the order of the inputs.
# Два градиента переставлены. Они должны идти в порядке входов.
def add_formula(op):
    def backward(ctx, grad):
        for_x, for_y, _ = _right(ctx, grad)
        return for_y, for_x, None

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="formula_in_numpy" theme="recording"
# The formula computes in NumPy. The numbers are right, but nothing is recorded: the second derivative lacks terms or is
#     missing, and the formula cannot be traced.
# Формула вычисляется в NumPy. Числа верны, но в граф ничего не записывается: во второй производной не хватает слагаемых
#     или её нет совсем, и скомпилировать формулу нельзя.
def add_formula(op):
    def backward(ctx, grad):
        x, y = (each.detach().numpy() for each in ctx.saved_tensors)
        damping = np.asarray(np.exp(-ctx.a * y))
        return grad * torch.as_tensor(damping), grad * torch.as_tensor(np.asarray(-ctx.a * x * damping)), None

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="saves_a_result" theme="recording"
# The factor exp(−a·y) is a constant in the second derivative, which lacks terms: it was computed where nothing is
#     recorded, in `setup_context` or under `no_grad`, or from a detached `y`.
# Во второй производной множитель exp(−a·y) — константа, и слагаемых не хватает: он вычислен там, где запись выключена, то
#     есть в `setup_context` или внутри `no_grad`, или же из отсоединённого `y`.
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, (-ctx.a * y).exp())

    def backward(ctx, grad):
        x, damping = ctx.saved_tensors
        return grad * damping, -ctx.a * grad * x * damping, None

    op.register_autograd(backward, setup_context=setup_context)

# %% mistake="detaches" theme="recording"
# The formula has no path to `x` and `y`: it computes under `no_grad`, with detached tensors or with results of
#     `setup_context`. The first derivative is right, and the second one lacks terms.
# От формулы нет пути к `x` и `y`: она вычисляется внутри `no_grad`, по отсоединённым тензорам или по результатам из
#     `setup_context`. Первая производная верна, а во второй не хватает слагаемых.
def add_formula(op):
    def backward(ctx, grad):
        x, y = (each.detach() for each in ctx.saved_tensors)
        damping = (-ctx.a * y).exp()
        return grad * damping, -ctx.a * grad * x * damping, None

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="attributes" theme="in_place"
# Nobody notices a change of `y` in place, and the gradient is silently wrong. So it is if tensors are attributes of
#     `ctx`; `ctx.save_for_backward` notices such a change.
# Изменения `y` на месте никто не замечает, и градиент оказывается неверным без всякого сообщения. Так бывает, когда
#     тензоры записаны в атрибуты `ctx`. После `ctx.save_for_backward` такое изменение вызвало бы ошибку.
def add_formula(op):
    def setup_context(ctx, inputs, output):
        ctx.x, ctx.y, ctx.a = inputs

    def backward(ctx, grad):
        damping = (-ctx.a * ctx.y).exp()
        return grad * damping, -ctx.a * grad * ctx.x * damping, None

    op.register_autograd(backward, setup_context=setup_context)

# %% mistake="two_gradients" theme="missing"
# The formula returns two gradients. There is one for each input, so the number `a` gets None.
# Формула возвращает два градиента. Их нужно столько, сколько входов: для числа `a` это None.
def add_formula(op):
    def backward(ctx, grad):
        return _right(ctx, grad)[:2]

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="saves_nothing" theme="missing"
# Nothing was saved: without `setup_context` the formula finds `ctx.saved_tensors` empty.
# Ничего не сохранено: без `setup_context` формула находит в `ctx.saved_tensors` пустой кортеж.
def add_formula(op):
    op.register_autograd(lambda ctx, grad: (grad * (-0.5 * ctx.saved_tensors[1]).exp(), None, None))

# %% mistake="other_names" theme="own"
# `setup_context` is called by keyword: its parameters have to be called `ctx`, `inputs` and `output`.
# Функция `setup_context` вызывается с именованными аргументами: её параметры должны называться `ctx`, `inputs` и
#     `output`.
def add_formula(op):
    op.register_autograd(_right, setup_context=lambda c, inputs, out: _keep(c, inputs, out))

# %% mistake="registers_nothing" theme="missing"
# The operator has no formula still: `op.register_autograd(...)` was not called.
# У оператора всё ещё нет формулы: `op.register_autograd(...)` не вызван.
def add_formula(op):
    return _right

# %% mistake="gradient_of_x_alone" theme="missing"
# `y` gets no gradient: its place holds None.
# `y` не получает градиента: на его месте стоит None.
def add_formula(op):
    def backward(ctx, grad):
        return _right(ctx, grad)[0], None, None

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="half_in_numpy" like="formula_in_numpy"
def add_formula(op):
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        damping = torch.as_tensor(np.asarray(np.exp(-ctx.a * y.detach().numpy())))
        return grad * damping, -ctx.a * grad * x * damping, None

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="number_for_a" theme="missing"
# For `a` the formula returns something else than None. An input that is no tensor has no gradient: its place holds
#     None.
# Для `a` формула возвращает не None. Но у входа, который не тензор, градиента нет: на его месте должно стоять None.
def add_formula(op):
    def backward(ctx, grad):
        return *_right(ctx, grad)[:2], 0.0

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="divides_by_x" theme="precision"
# Where `x` is 0, its gradient is NaN: the output was divided by `x`. The factor exp(−a·y) needs no `x`.
# Там, где `x` равен 0, его градиент — NaN: результат разделён на `x`. А множитель exp(−a·y) вычисляют без `x`.
def add_formula(op):
    def setup_context(ctx, inputs, output):
        x, y, ctx.a = inputs
        ctx.save_for_backward(x, output)

    def backward(ctx, grad):
        x, output = ctx.saved_tensors
        return grad * output / x, -ctx.a * grad * output, None

    op.register_autograd(backward, setup_context=setup_context)

# %% mistake="grows" theme="derivative"
# Both gradients have the factor exp(a·y). In the exponent a minus is missing.
# Множитель в обоих градиентах — exp(a·y). В показателе не хватает минуса.
def add_formula(op):
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        growth = (ctx.a * y).exp()
        return grad * growth, -ctx.a * grad * x * growth, None

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="exponent_without_a" theme="derivative"
# The factor in both gradients is exp(−y). In the exponent `a` is missing.
# Множитель в обоих градиентах — exp(−y). В показателе не хватает `a`.
def add_formula(op):
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        damping = (-y).exp()
        return grad * damping, -ctx.a * grad * x * damping, None

    op.register_autograd(backward, setup_context=_keep)

# %% mistake="keeps_the_number_outside" theme="state"
# The number `a` is kept outside of `ctx`. All calls share that place, and a later call overwrites what an earlier one
#     needs; each call has its own `ctx`.
# Число `a` хранится вне `ctx`. Такое место у всех вызовов общее, и следующий вызов затирает то, что нужно предыдущему;
#     объект `ctx` у каждого вызова свой.
def add_formula(op):
    kept = {}

    def setup_context(ctx, inputs, output):
        x, y, kept["a"] = inputs
        ctx.save_for_backward(x, y)

    def backward(ctx, grad):
        ctx.a = kept["a"]
        return _right(ctx, grad)

    op.register_autograd(backward, setup_context=setup_context)

# %% mistake="keeps_the_first_number" like="keeps_the_number_outside"
def add_formula(op):
    kept = []

    def setup_context(ctx, inputs, output):
        kept.append(inputs[2])
        ctx.save_for_backward(*inputs[:2])

    def backward(ctx, grad):
        ctx.a = kept.pop(0)
        return _right(ctx, grad)

    op.register_autograd(backward, setup_context=setup_context)

# %% mistake="keeps_the_inputs_outside" theme="state"
# The tensors are kept outside of `ctx`. All calls share that place, and a later call overwrites what an earlier one
#     needs; each call has its own `ctx`, and `ctx.save_for_backward`.
# Тензоры хранятся вне `ctx`. Такое место у всех вызовов общее, и следующий вызов затирает то, что нужно предыдущему; у
#     каждого вызова свой объект `ctx`, и тензоры сохраняет `ctx.save_for_backward`.
def add_formula(op):
    kept = {}

    def setup_context(ctx, inputs, output):
        kept["x"], kept["y"], kept["a"] = inputs

    def backward(ctx, grad):
        damping = (-kept["a"] * kept["y"]).exp()
        return grad * damping, -kept["a"] * grad * kept["x"] * damping, None

    op.register_autograd(backward, setup_context=setup_context)
