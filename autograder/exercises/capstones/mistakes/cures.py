# %%
import torch
from torch import nn
from torch.nn.functional import mse_loss


def _a(log_prob, value, returns):
    return -(log_prob * (returns - value).detach()).mean() + mse_loss(value, returns)


def _b(mu, log_std):
    return torch.distributions.Normal(mu, log_std.exp()).rsample()


def _c(losses):
    return torch.stack(losses).mean()


def _d(model, outputs, lr):
    model.head = nn.Linear(model.head.in_features, outputs)
    return torch.optim.SGD(model.parameters(), lr=lr)


def _e(model, x, y, eps, steps):
    for _ in range(steps):
        x = x.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(mse_loss(model(x), y), x)
        x = x.detach() + eps * gradient.sign()
    return x


def _with(letter, function):
    """Return the five right functions with another one in place of one of them."""
    return {"A": _a, "B": _b, "C": _c, "D": _d, "E": _e} | {letter: function}


def _by_backward(retains, clears):
    """Return a wrong cure of E. It calls `backward()`, and keeps the graph if `retains`."""

    def run(model, x, y, eps, steps):
        x = x.clone().requires_grad_()
        for _ in range(steps):
            if retains:
                x.retain_grad()
            else:
                x = x.detach().requires_grad_()
            mse_loss(model(x), y).backward()
            if clears:
                model.zero_grad()
            x = x + eps * x.grad.sign()
        return x if retains else x.detach()

    return run

# %% mistake="leaks_into_the_critic" theme="recording"
# A: the policy loss still moves the value. Logarithms of probabilities are negative, so this loss falls when the
#     value rises, and the critic is pushed above the returns.
# A: функция потерь актора по-прежнему меняет предсказание критика. Логарифмы вероятностей отрицательны, поэтому с
#     ростом предсказания эта функция уменьшается, и критик его завышает.
def cures():
    return _with("A", lambda lp, v, r: -(lp * (r - v)).mean() + mse_loss(v, r))

# %% mistake="critic_learns_nothing" theme="recording"
# A: the value is cut off in both terms, so the critic learns nothing.
# A: предсказание критика отсоединено в обоих слагаемых, и критик не учится.
def cures():
    return _with("A", lambda lp, v, r: -(lp * (r - v.detach())).mean() + mse_loss(v.detach(), r))

# %% mistake="actor_learns_nothing" theme="recording"
# A: the product is cut off as a whole, so the actor learns nothing.
# A: произведение отсоединено целиком, и актор не учится.
def cures():
    return _with("A", lambda lp, v, r: -(lp * (r - v)).detach().mean() + mse_loss(v, r))

# %% mistake="flag_on_the_sample" theme="recording"
# B: `sample()` runs under `no_grad()`. A flag that is set afterwards makes the sample a leaf: nothing goes on to
#     the encoder.
# B: метод `sample()` выполняется внутри `no_grad()`. Если потом включить флаг, выборка станет листом: дальше, к
#     кодировщику, ничего не пойдёт.
def cures():
    return _with("B", lambda mu, ls: torch.distributions.Normal(mu, ls.exp()).sample().requires_grad_())

# %% mistake="spread_without_a_gradient" theme="recording"
# B: the noise is added to `mu`, but its size has no gradient.
# B: шум прибавлен к `mu`, но через множитель шума градиент не идёт.
def cures():
    return _with("B", lambda mu, ls: mu + ls.exp().detach() * torch.randn_like(mu))

# %% mistake="mean_for_a_sample" theme="missing"
# B: the mean is returned. It has a gradient, but it is no sample.
# B: возвращено среднее. Градиент у него есть, но это не выборка.
def cures():
    return _with("B", lambda mu, ls: mu * 1)

# %% mistake="forgets_exp" theme="missing"
# B: `log_std` was taken for the standard deviation itself: `exp()` is missing.
# B: вместо стандартного отклонения взят сам `log_std`: пропущен `exp()`.
def cures():
    return _with("B", lambda mu, ls: mu + ls * torch.randn_like(mu))

# %% mistake="negative_deviation" theme="missing"
# B: the function raises a `ValueError`. A standard deviation cannot be negative, and `log_std` can: take its
#     `exp()`.
# B: функция вызывает исключение `ValueError`. Стандартное отклонение не бывает отрицательным, а `log_std` бывает:
#     возьмите от него `exp()`.
def cures():
    return _with("B", lambda mu, ls: torch.distributions.Normal(mu, ls, validate_args=True).rsample())

# %% mistake="copies_the_numbers" theme="recording"
# C: only the numbers of the losses were taken. A flag that is set afterwards belongs to a new leaf: the graph
#     behind the losses is gone.
# C: от функций потерь взяты только числа, и граф потерян. Если потом включить флаг, требовать градиента будет только
#     новый лист.
def cures():
    return _with("C", lambda losses: torch.tensor([loss.item() for loss in losses], requires_grad=True).mean())

# %% mistake="copies_the_losses" like="copies_the_numbers"
def cures():
    return _with("C", lambda losses: torch.tensor(losses, requires_grad=True).mean())

# %% mistake="sum_for_the_mean" theme="scaling"
# C: the sum is returned. Asked for is the mean.
# C: возвращена сумма, а нужно среднее.
def cures():
    return _with("C", lambda losses: torch.stack(losses).sum())

# %% mistake="made_too_early" theme="order"
# D: the optimizer has the old head. It was made before the new one.
# D: в оптимизаторе старый выходной слой. Оптимизатор создан раньше, чем новый слой.
def cures():
    def run(model, outputs, lr):
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        model.head = nn.Linear(model.head.in_features, outputs)
        return optimizer

    return _with("D", run)

# %% mistake="keeps_the_old_head" theme="state"
# D: the new head was added, but the old one is still in the optimizer, which keeps it in memory.
# D: новый слой добавлен, но старый остался в оптимизаторе и занимает память.
def cures():
    def run(model, outputs, lr):
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        model.head = nn.Linear(model.head.in_features, outputs)
        optimizer.add_param_group({"params": model.head.parameters()})
        return optimizer

    return _with("D", run)

# %% mistake="head_alone" theme="missing"
# D: only the new head is in the optimizer.
# D: в оптимизаторе только новый выходной слой.
def cures():
    def run(model, outputs, lr):
        model.head = nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD(model.head.parameters(), lr=lr)

    return _with("D", run)

# %% mistake="retains_the_gradient" theme="graph_life"
# E: `retain_grad()` stops the error. The graph of all steps stays, and every pass adds to `.grad` of the model.
# E: с `retain_grad()` ошибки нет. Но граф всех шагов остаётся, а каждый проход прибавляет градиенты к `.grad` модели.
def cures():
    return _with("E", _by_backward(retains=True, clears=False))

# %% mistake="fills_the_model" theme="accumulation"
# E: the input is right, but `backward()` has added to `.grad` of the model, and the next training step would use
#     it.
# E: вход верен, но `backward()` прибавил градиенты к `.grad` модели, и они вошли бы в следующий шаг обучения.
def cures():
    return _with("E", _by_backward(retains=False, clears=False))

# %% mistake="clears_the_model" theme="accumulation"
# E: `zero_grad()` has cleared the gradients of the model, and with them those that were there before.
# E: вызов `zero_grad()` обнулил градиенты модели, а вместе с ними и те, что лежали там раньше.
def cures():
    return _with("E", _by_backward(retains=False, clears=True))

# %% mistake="goes_down" theme="derivative"
# E: the step goes down the gradient. The attack raises the loss.
# E: шаг сделан против градиента. Атака увеличивает функцию потерь.
def cures():
    return _with("E", lambda model, x, y, eps, steps: _e(model, x, y, -eps, steps))

# %% mistake="one_step" theme="missing"
# E: there is one step instead of `steps`.
# E: сделан один шаг вместо `steps`.
def cures():
    return _with("E", lambda model, x, y, eps, steps: _e(model, x, y, eps, 1))

# %% mistake="changes_the_input" theme="in_place"
# E: the tensor that was passed was changed itself, its flag or its numbers. Begin with `x.detach().clone()`.
# E: изменён сам переданный тензор, его флаг или числа. Начните с `x.detach().clone()`.
def cures():
    def run(model, x, y, eps, steps):
        x.requires_grad_()
        return _e(model, x, y, eps, steps)

    return _with("E", run)

# %% mistake="swaps_the_terms" theme="recording"
# A: the squared error does not reach `value`, and the policy loss does.
# A: градиент квадрата ошибки не доходит до `value`, а градиент функции потерь актора доходит.
def cures():
    return _with("A", lambda lp, v, r: -(lp * (r - v)).mean() + mse_loss(v.detach(), r))

# %% mistake="cuts_log_prob" theme="recording"
# A: `log_prob` is cut off, so the actor learns nothing, and the policy loss moves the value.
# A: `log_prob` отсоединён от графа: актор не учится, а функция потерь актора меняет предсказание критика.
def cures():
    return _with("A", lambda lp, v, r: -(lp.detach() * (r - v)).mean() + mse_loss(v, r))

# %% mistake="sums_the_entries" theme="scaling"
# A: the losses are sums over the entries. They had to stay means.
# A: функции потерь — суммы по элементам, а должны были остаться средними.
def cures():
    return _with("A", lambda lp, v, r: -(lp * (r - v).detach()).sum() + mse_loss(v, r, reduction="sum"))

# %% mistake="another_noise" theme="own"
# B: the derivatives are right, but the noise is not that of a standard normal distribution.
# B: производные верны, но шум взят не из стандартного нормального распределения.
def cures():
    return _with("B", lambda mu, ls: mu + ls.exp() * torch.rand_like(mu))

# %% mistake="one_number_of_noise" theme="axes"
# B: all entries get one and the same noise. Each needs a number of its own.
# B: ко всем элементам прибавлен один и тот же шум, а у каждого он должен быть свой.
def cures():
    return _with("B", lambda mu, ls: mu + ls.exp() * torch.randn(()))

# %% mistake="same_noise_again" theme="state"
# B: two calls give the same noise.
# B: два вызова дают один и тот же шум.
def cures():
    def run(mu, log_std):
        rng = torch.Generator().manual_seed(0)
        return mu + log_std.exp() * torch.randn(mu.shape, generator=rng, dtype=mu.dtype)

    return _with("B", run)

# %% mistake="takes_the_variance" theme="own"
# B: the noise is multiplied by the variance, `exp(2 * log_std)`, not by the standard deviation.
# B: шум умножен на дисперсию, `exp(2 * log_std)`, а не на стандартное отклонение.
def cures():
    return _with("B", lambda mu, ls: mu + (2 * ls).exp() * torch.randn_like(mu))

# %% mistake="reaches_the_first" theme="recording"
# C: only the first loss gets a gradient. The others are numbers.
# C: градиент доходит только до первой функции потерь. Остальные взяты как числа.
def cures():
    return _with("C", lambda losses: (losses[0] + sum(loss.item() for loss in losses[1:])) / len(losses))

# %% mistake="another_optimizer" theme="own"
# D: the optimizer is not `torch.optim.SGD`.
# D: оптимизатор — не `torch.optim.SGD`.
def cures():
    def run(model, outputs, lr):
        return torch.optim.Adam(_d(model, outputs, lr).param_groups[0]["params"], lr=lr)

    return _with("D", run)

# %% mistake="another_rate" theme="missing"
# D: the learning rate is not `lr`.
# D: скорость обучения не равна `lr`.
def cures():
    return _with("D", lambda model, outputs, lr: _d(model, outputs, 0.001))

# %% mistake="adds_up_the_gradients" theme="accumulation"
# E: the gradients of all steps so far are added up, and the sign is that of the sum. Clear `.grad` of `x` before
#     each step.
# E: градиенты всех сделанных шагов складываются, и взят знак суммы. Обнуляйте `.grad` у `x` перед каждым шагом.
def cures():
    def run(model, x, y, eps, steps):
        x = x.clone().requires_grad_()
        for _ in range(steps):
            mse_loss(model(x), y).backward(inputs=[x])
            x.data += eps * x.grad.sign()
        return x.detach()

    return _with("E", run)

# %% mistake="one_long_step" theme="order"
# E: there is one step of size `steps * eps`. The gradient has to be computed anew after each step of `eps`.
# E: сделан один шаг размера `steps * eps`. Градиент нужно вычислять заново после каждого шага размера `eps`.
def cures():
    return _with("E", lambda model, x, y, eps, steps: _e(model, x, y, steps * eps, 1))

# %% mistake="forgets_the_sign" theme="missing"
# E: the step is made along the gradient itself. Asked for is its sign.
# E: шаг сделан вдоль самого градиента, а нужен его знак.
def cures():
    def run(model, x, y, eps, steps):
        for _ in range(steps):
            x = x.detach().requires_grad_()
            x = x.detach() + eps * torch.autograd.grad(mse_loss(model(x), y), x)[0]
        return x

    return _with("E", run)

# %% mistake="keeps_the_graph" theme="recording"
# E: the moved `x` is right, but still has the graph of the steps.
# E: сдвинутый `x` верен, но у него остался граф всех шагов.
def cures():
    def run(model, x, y, eps, steps):
        x = x.clone().requires_grad_()
        for _ in range(steps):
            x = x + eps * torch.autograd.grad(mse_loss(model(x), y), x)[0].sign()
        return x

    return _with("E", run)

# %% mistake="leaves_it_frozen" theme="state"
# E: the model comes back frozen: its flags `requires_grad` are off, and it would not train any more.
# E: модель осталась замороженной: её флаги `requires_grad` выключены, и учиться дальше она не будет.
def cures():
    return _with("E", lambda model, *rest: _e(model.requires_grad_(False), *rest))

# %% mistake="turns_the_policy" theme="derivative"
# A: the policy loss has the wrong sign: what brought more than predicted becomes less likely.
# A: у функции потерь актора не тот знак: действие, которое принесло больше предсказанного, становится менее
#     вероятным.
def cures():
    return _with("A", lambda lp, v, r: (lp * (r - v).detach()).mean() + mse_loss(v, r))

# %% mistake="sums_the_policy" theme="scaling"
# A: the policy loss is a sum over the entries. It had to stay a mean.
# A: функция потерь актора — сумма по элементам, а должна была остаться средним.
def cures():
    return _with("A", lambda lp, v, r: -(lp * (r - v).detach()).sum() + mse_loss(v, r))

# %% mistake="policy_alone" theme="missing"
# A: the policy loss alone is returned. Asked for is the sum of both losses.
# A: возвращена только функция потерь актора, а нужна сумма обеих.
def cures():
    return _with("A", lambda lp, v, r: -(lp * (r - v).detach()).mean())

# %% mistake="takes_it_for_the_variance" theme="own"
# B: the noise is multiplied by `exp(log_std / 2)`. `log_std` is the logarithm of the standard deviation, not of the
#     variance.
# B: шум умножен на `exp(log_std / 2)`. Но `log_std` — логарифм стандартного отклонения, а не дисперсии.
def cures():
    return _with("B", lambda mu, ls: mu + (ls / 2).exp() * torch.randn_like(mu))

# %% mistake="leaves_the_old_head" theme="missing"
# D: the new layer was not put into the model: `model.head` is the old one.
# D: новый слой не помещён в модель: `model.head` остался прежним.
def cures():
    return _with("D", lambda model, outputs, lr: torch.optim.SGD(model.parameters(), lr=lr))

# %% mistake="takes_other_inputs" theme="axes"
# D: the new layer does not fit: it must take as many inputs as the old one, `in_features`.
# D: новый слой не подходит: входов у него должно быть столько же, сколько у прежнего, `in_features`.
def cures():
    def run(model, outputs, lr):
        model.head = nn.Linear(model.head.out_features, outputs)
        return torch.optim.SGD(model.parameters(), lr=lr)

    return _with("D", run)

# %% mistake="freezes_the_body" theme="state"
# D: a part of the model was frozen. The flags were to stay as they were.
# D: часть модели заморожена. А флаги должны были остаться прежними.
def cures():
    return _with("D", lambda model, outputs, lr: _d(model.requires_grad_(False), outputs, lr))

# %% mistake="pair_of_losses" theme="missing"
# A: an `AttributeError` is raised. The result has to be one tensor with a number: is a pair of losses returned?
# A: возникает исключение `AttributeError`. Результат должен быть одним тензором с числом: не возвращена ли пара
#     функций потерь?
def cures():
    return _with("A", lambda lp, v, r: (-(lp * (r - v).detach()).mean(), mse_loss(v, r)))

# %% mistake="thaws_the_model" theme="state"
# E: all parameters require grad afterwards, also one that did not before. Keep the flags as they were.
# E: после вызова все параметры требуют градиента, в том числе тот, который раньше его не требовал. Флаги должны остаться
#     прежними.
def cures():
    def run(model, x, y, eps, steps):
        model.requires_grad_(False)
        moved = _e(model, x, y, eps, steps)
        model.requires_grad_(True)
        return moved

    return _with("E", run)

# %% mistake="leaves_out_the_frozen" theme="missing"
# D: the optimizer has only the parameters that require grad. Asked for is every parameter of the model: one that is
#     frozen now may be trained later.
# D: в оптимизаторе только параметры, которые требуют градиента. А нужны все параметры модели: тот, который
#     сейчас заморожен, позже могут разморозить.
def cures():
    def run(model, outputs, lr):
        model.head = nn.Linear(model.head.in_features, outputs)
        return torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr)

    return _with("D", run)

# %% mistake="thaws_the_body" theme="state"
# D: a frozen parameter of the body requires grad afterwards. Keep the flags as they were.
# D: после вызова замороженный параметр основы (body) требует градиента. Флаги должны остаться прежними.
def cures():
    def run(model, outputs, lr):
        model.head = nn.Linear(model.head.in_features, outputs)
        model.requires_grad_(True)
        return torch.optim.SGD(model.parameters(), lr=lr)

    return _with("D", run)

# %% mistake="as_many_outputs_as_before" theme="axes"
# D: the new layer has as many outputs as the old one. Asked for are `outputs`.
# D: у нового слоя столько же выходов, сколько у прежнего, а нужно `outputs`.
def cures():
    def run(model, outputs, lr):
        model.head = nn.Linear(model.head.in_features, model.head.out_features)
        return torch.optim.SGD(model.parameters(), lr=lr)

    return _with("D", run)

# %% mistake="other_letters" theme="missing"
# The keys of the dict are not the letters `A` to `E`.
# Ключи словаря — не буквы от `A` до `E`.
def cures():
    return {letter.lower(): function for letter, function in _with("A", _a).items()}

# %% mistake="critic_alone" theme="missing"
# A: the squared error alone is returned. Asked for is the sum of both losses.
# A: возвращён только квадрат ошибки, а нужна сумма обеих функций потерь.
def cures():
    return _with("A", lambda lp, v, r: mse_loss(v, r))
