# %%
import torch


def _mean_square(out, y):
    return (out - y).square().mean()


def leaves_the_body_frozen(body, head, x, y):
    body.requires_grad_(False)
    _mean_square(head(body(x)), y).backward()


def leaves_the_body_in_eval(body, head, x, y):
    body.eval()
    with torch.no_grad():
        features = body(x)
    _mean_square(head(features), y).backward()

# %% mistake="detaches_inference" theme="recording"
# The features are still an inference tensor: neither `clone()` inside the block nor `detach()` changes that. A copy
#     made outside, or another mode, does.
# Признаки остались inference-тензором: ни `clone()` внутри блока, ни `detach()` этого не меняют. Нужна копия,
#     сделанная снаружи, или другой режим.
def head_gradients(body, head, x, y):
    with torch.inference_mode():
        features = body(x)
    _mean_square(head(features.detach()), y).backward()

# %% mistake="tracks_the_features" theme="recording"
# The features were asked to require grad. An inference tensor may not, and features that do not learn need no
#     gradient.
# У признаков включён флаг. У inference-тензора это запрещено, да и признакам, которые не обучаются, градиент не
#     нужен.
def head_gradients(body, head, x, y):
    with torch.inference_mode():
        features = body(x)
    _mean_square(head(features.requires_grad_()), y).backward()

# %% mistake="sums_the_squares" theme="scaling"
# The squared errors were summed; the loss is their mean.
# Квадраты разностей сложены, а функция потерь — их среднее.
def head_gradients(body, head, x, y):
    with torch.no_grad():
        features = body(x)
    (head(features) - y).square().sum().backward()

# %% mistake="averages_over_samples" theme="scaling"
# The squared errors of each sample were summed and then averaged over samples. The loss is the mean over all
#     numbers.
# Квадраты разностей сложены внутри примера, а среднее взято по примерам. Функция потерь — среднее по всем числам.
def head_gradients(body, head, x, y):
    with torch.no_grad():
        features = body(x)
    (head(features) - y).square().sum(1).mean().backward()

# %% mistake="covers_the_head" theme="recording"
# Backward starts from a tensor without history. So it is when the whole forward pass, that of `head` included, ran
#     without recording, when `head` has no part in that tensor, or when its output was detached.
# Обратный проход начат с тензора без истории. Так бывает, когда без записи выполнен весь прямой проход, вместе с
#     `head`, когда тензор получен без участия `head` или когда её выход отсоединён.
def head_gradients(body, head, x, y):
    with torch.no_grad():
        loss = _mean_square(head(body(x)), y)
    loss.backward()

# %% mistake="forces_the_loss" theme="recording"
# The loss has no history, but was asked to require grad. The error is gone; the loss is a leaf now, and no
#     parameter gets anything.
# У функции потерь нет истории, а флаг включён вручную. Ошибки больше нет, но теперь это лист, и параметры не
#     получают ничего.
def head_gradients(body, head, x, y):
    with torch.no_grad():
        loss = _mean_square(head(body(x)), y)
    loss.requires_grad_().backward()

# %% mistake="adds_nothing" theme="missing"
# Nothing was added to `.grad`: either no backward pass was run, or `torch.autograd.grad` returned the gradients and
#     they were left unused.
# К полю `.grad` ничего не прибавлено: обратного прохода не было или градиенты, которые вернула функция
#     `torch.autograd.grad`, никуда не записаны.
def head_gradients(body, head, x, y):
    with torch.no_grad():
        features = body(x)
    return torch.autograd.grad(_mean_square(head(features), y), list(head.parameters()))

# %% mistake="does_nothing" like="adds_nothing"
def head_gradients(body, head, x, y): ...

# %% mistake="detaches_features" theme="cost"
# The forward pass of `body` was recorded. The gradients are right; the graph was built for nothing.
# Прямой проход через `body` записан в граф. Градиенты верны, но граф построен зря.
def head_gradients(body, head, x, y):
    _mean_square(head(body(x).detach()), y).backward()

# %% mistake="trains_the_body" theme="recording"
# The body takes part in the backward pass: its parameters got gradients as well.
# Основа участвует в обратном проходе: её параметры тоже получили градиенты.
def head_gradients(body, head, x, y):
    _mean_square(head(body(x)), y).backward()

# %% mistake="leaves_the_body_frozen" theme="state"
# The body was frozen for the computation and not thawed. Its flags were to stay as before.
# Основа заморожена на время вычислений и не разморожена. Её флаги должны были остаться прежними.
def head_gradients(body, head, x, y):
    body.requires_grad_(False)
    _mean_square(head(body(x)), y).backward()

# %% mistake="thaws_the_body" theme="state"
# The body was frozen for the computation, and at the end all its flags were switched on. One parameter had been
#     frozen before the call.
# Основа заморожена на время вычислений, а в конце флаги включены у всех её параметров, хотя один из них был
#     заморожен ещё до вызова.
def head_gradients(body, head, x, y):
    leaves_the_body_frozen(body, head, x, y)
    body.requires_grad_(True)

# %% mistake="clears_the_body" theme="accumulation"
# The gradients of the body were cleared. What lay in its `.grad` was to stay.
# Градиенты основы обнулены, а содержимое её `.grad` должно было остаться прежним.
def head_gradients(body, head, x, y):
    body.zero_grad()
    with torch.no_grad():
        features = body(x)
    _mean_square(head(features), y).backward()

# %% mistake="evaluates_the_body" theme="recording"
# The features were computed in evaluation mode. Layers such as batch norm give other features in it: `body` was to
#     be called in the modes of its modules.
# Признаки вычислены в режиме оценки. Слои вроде батч-нормализации дают в нём другие признаки, а модель `body`
#     нужно вызывать, не меняя режимов.
def head_gradients(body, head, x, y):
    modes = [(module, module.training) for module in body.modules()]
    leaves_the_body_in_eval(body, head, x, y)
    for module, training in modes:
        module.training = training

# %% mistake="evaluates_the_body_and_leaves_it" like="evaluates_the_body"
def head_gradients(body, head, x, y):
    leaves_the_body_in_eval(body, head, x, y)

# %% mistake="evaluates_the_body_and_trains_all_of_it" like="evaluates_the_body"
def head_gradients(body, head, x, y):
    leaves_the_body_in_eval(body, head, x, y)
    body.train()

# %% mistake="leaves_the_body_in_eval" theme="state"
# The body was left in evaluation mode. Its modes were to stay as before.
# Основа осталась в режиме оценки, а её режимы должны были остаться прежними.
def head_gradients(body, head, x, y):
    with torch.no_grad():
        features = body(x)
    body.eval()
    _mean_square(head(features), y).backward()

# %% mistake="trains_all_of_the_body" theme="state"
# `train()` was called at the end. It puts every module of the body into training mode, also those that had been in
#     evaluation mode.
# В конце вызван метод `train()`. Он переводит в режим обучения все модули основы, в том числе те, что были в режиме
#     оценки.
def head_gradients(body, head, x, y):
    with torch.no_grad():
        features = body(x)
    body.train()
    _mean_square(head(features), y).backward()

# %% mistake="trains_all_of_the_head" theme="state"
# All of `head` was put into training mode. One of its modules had been in evaluation mode and was to stay in it.
# Вся сеть `head` переведена в режим обучения. Но один её модуль был в режиме оценки и должен был в нём остаться.
def head_gradients(body, head, x, y):
    with torch.no_grad():
        features = body(x)
    _mean_square(head.train()(features), y).backward()

# %% mistake="clears_the_head" theme="accumulation"
# The old gradients of `head` are lost: cleared, or replaced by the new ones. The new ones were to be added to them.
# Старые градиенты сети `head` потеряны: обнулены или заменены новыми. А новые нужно было к ним прибавить.
def head_gradients(body, head, x, y):
    head.zero_grad()
    with torch.no_grad():
        features = body(x)
    _mean_square(head(features), y).backward()

# %% mistake="names_weight_and_bias" theme="missing"
# You expected `head` to have a `weight` and a `bias` of its own. It may consist of several layers:
#     `head.parameters()` gives all parameters.
# Вы ожидали, что у `head` есть собственные `weight` и `bias`. Но голова может состоять из нескольких слоёв: все
#     параметры выдаёт `head.parameters()`.
def head_gradients(body, head, x, y):
    with torch.no_grad():
        features = body(x)
    parameters = head.weight, head.bias
    for p, gradient in zip(parameters, torch.autograd.grad(_mean_square(head(features), y), parameters)):
        p.grad = gradient if p.grad is None else p.grad + gradient

# %% mistake="adds_to_none" theme="missing"
# You expected `.grad` to hold a tensor already. It may be None before, and nothing can be added to None.
# Вы ожидали, что в `.grad` уже лежит тензор. До вызова там может быть None, а к None ничего не прибавить.
def head_gradients(body, head, x, y):
    with torch.no_grad():
        features = body(x)
    parameters = list(head.parameters())
    for p, gradient in zip(parameters, torch.autograd.grad(_mean_square(head(features), y), parameters)):
        p.grad += gradient

# %% mistake="averages_magnitudes" theme="derivative"
# The absolute differences were averaged; the loss is the mean of their squares.
# Усреднены модули разностей, а функция потерь — среднее их квадратов.
def head_gradients(body, head, x, y):
    with torch.no_grad():
        features = body(x)
    (head(features) - y).abs().mean().backward()

# %% mistake="serves_the_last_layer" theme="missing"
# Only the last layer of `head` got its gradients. `head.parameters()` gives the parameters of all layers.
# Градиенты получил только последний слой `head`. Параметры всех слоёв выдаёт `head.parameters()`.
def head_gradients(body, head, x, y):
    with torch.no_grad():
        features = body(x)
    _mean_square(head(features), y).backward(inputs=list(head.parameters())[-2:])
