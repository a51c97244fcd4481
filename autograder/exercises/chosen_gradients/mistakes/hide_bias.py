# %%
import torch


# %% mistake="hides_at_one_half" theme="test" plain="yes"
# The bias is hidden at p = 1/2, as for any quadratic loss. The loss has to hide it at the `p` that is given.
# Смещение скрыто при p = 1/2, как у любой квадратичной функции. А скрыть его нужно при том `p`, которое дано.
def hide_bias(p):
    return lambda b: (b - 0.25) ** 2

# %% mistake="never_biased" theme="test" plain="yes"
# The straight-through gradient is right for every probability: the loss is linear, or behaves so at 0 and 1. There is no
#     bias to hide.
# Сквозная оценка верна при любой вероятности: в точках 0 и 1 функция неотличима от линейной. Скрывать нечего.
def hide_bias(p):
    return lambda b: 3 * b

# %% mistake="never_the_wrong_sign" theme="test"
# The bias is hidden at the given `p`, but at no other probability does the gradient point the wrong way: it is only too
#     large or too small.
# При данном `p` смещение скрыто, но ни при какой другой вероятности градиент не указывает в неверную сторону: он лишь
#     слишком велик или слишком мал.
def hide_bias(p):
    return lambda b: b ** (1 / p)

# %% mistake="shows_at_p" theme="test"
# The gradient is wrong at the given `p` already. A test at `p` would see it.
# Градиент неверен уже при данном `p`. Проверка при `p` это заметит.
def hide_bias(p):
    return lambda b: b**9 - 0.7 * b

# %% mistake="value_does_not_matter" theme="test"
# Both values of the bit have the same loss, so the true derivative is 0 and there is nothing to train.
# При обоих значениях бита потери одинаковы, поэтому настоящая производная равна 0 и обучать нечего.
def hide_bias(p):
    return lambda b: b * (b - 1)

# %% mistake="flat_at_both_ends" theme="derivative"
# The loss has no slope at 0 and at 1, so the straight-through gradient is 0 for every probability.
# В точках 0 и 1 у функции нет наклона, поэтому сквозная оценка равна 0 при любой вероятности.
def hide_bias(p):
    return lambda b: b.round()

# %% mistake="random_loss" theme="test"
# The loss is another one at each call. Then there is no derivative to compare with.
# Потери при каждом вызове другие. Тогда сравнивать не с чем.
def hide_bias(p):
    state = [0.0]

    def loss(b):
        state[0] += 1
        return b * state[0]

    return loss

# %% mistake="infinite_slope" theme="precision"
# The derivative at 0 or at 1 is not finite: a power $b^k$ with $0 < k < 1$ rises vertically at 0.
# Производная при 0 или при 1 не конечна: график степени $b^k$ при $0 < k < 1$ в нуле вертикален.
def hide_bias(p):
    return lambda b: b**p - 0.5 * b

# %% mistake="infinite_value" theme="precision"
# The loss itself is not finite at 0 or at 1.
# Сами потери при 0 или при 1 не конечны.
def hide_bias(p):
    return lambda b: 1 / b

# %% mistake="chosen_derivative" theme="test"
# What autograd gives at 0 or at 1 is not the derivative of the loss: a term is detached, a `backward` is your own, or the
#     loss has a jump or a kink there. The test would be deceived, and not blind.
# При 0 или при 1 autograd даёт не настоящую производную: слагаемое отсоединено, `backward` написан вами или у графика там
#     скачок или излом. Это обман проверки, а нужна функция, на которой честная проверка слепа.
def hide_bias(p):
    def loss(b):
        slope = torch.where(b > 0.5, 1 + 40 * (1 - p), 1 - 40 * p)
        return b.detach() + slope * (b - b.detach())

    return loss

# %% mistake="returns_the_value" theme="return"
# A number came back. Asked for is the loss itself, a function of the bit.
# Возвращено число, а нужна сама функция потерь — функция бита.
def hide_bias(p):
    return 1 / p
