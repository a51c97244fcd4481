# %%
import torch


def _gradient(critic, mixed, create_graph=True):
    """Return the gradient of `critic` for each row of `mixed`. Needs no graph of `mixed`."""
    mixed = mixed.detach().requires_grad_()
    return torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=create_graph)[0]


def _lengths(g):
    found = g.flatten(1).norm(dim=1)
    return found


def _mixed(real, fake, mix):
    return mix * real + (1 - mix) * fake

# %% mistake="without_a_graph" theme="graph_life"
# The penalty has the right value and no path to the weights: the gradient was computed without `create_graph=True`,
#     or cut off afterwards.
# Значение штрафа верно, но с весами он не связан: градиент вычислен без `create_graph=True` или потом отсоединён от
#     графа.
def gradient_penalty(critic, real, fake, mix):
    return ((_lengths(_gradient(critic, _mixed(real, fake, mix), create_graph=False)) - 1) ** 2).mean()

# %% mistake="one_length" theme="axes"
# One length was taken for the whole batch. Each sample has a gradient, and so a length, of its own.
# Взята одна длина на весь батч. Но у каждого примера свой градиент, а значит, и своя длина.
def gradient_penalty(critic, real, fake, mix):
    return (_gradient(critic, _mixed(real, fake, mix)).norm() - 1) ** 2

# %% mistake="lengths_over_one_dimension" theme="axes"
# The length was taken over dimension 1 alone. A sample with more dimensions has one length all the same: over all
#     dimensions but the first.
# Длина взята только по измерению 1. Но и у примера с несколькими измерениями длина одна: по всем измерениям, кроме
#     первого.
def gradient_penalty(critic, real, fake, mix):
    return ((_gradient(critic, _mixed(real, fake, mix)).norm(dim=1) - 1) ** 2).mean()

# %% mistake="sums_over_samples" theme="scaling"
# The terms were summed over the samples. The penalty is their mean.
# Слагаемые сложены по примерам, а штраф — их среднее.
def gradient_penalty(critic, real, fake, mix):
    return ((_lengths(_gradient(critic, _mixed(real, fake, mix))) - 1) ** 2).sum()

# %% mistake="towards_zero" theme="own"
# The 1 is missing: the mean of the squared lengths pulls the gradient to 0, not to length 1.
# Пропущена единица: средний квадрат длины тянет градиент к нулю, а не к длине 1.
def gradient_penalty(critic, real, fake, mix):
    return (_lengths(_gradient(critic, _mixed(real, fake, mix))) ** 2).mean()

# %% mistake="squared_too_early" theme="order"
# The 1 was subtracted from the squared length. It is subtracted from the length, and then the difference is
#     squared.
# Единица вычтена из квадрата длины. Сначала её нужно вычесть из длины, а затем возвести разность в квадрат.
def gradient_penalty(critic, real, fake, mix):
    return ((_lengths(_gradient(critic, _mixed(real, fake, mix))) ** 2 - 1) ** 2).mean()

# %% mistake="gradient_of_the_mean" theme="scaling"
# The gradient of the mean output was taken: each sample's gradient is $n$ times too short.
# Взят градиент среднего выхода: у каждого примера градиент в $n$ раз короче нужного.
def gradient_penalty(critic, real, fake, mix):
    return ((_lengths(_gradient(critic, _mixed(real, fake, mix)) / len(real)) - 1) ** 2).mean()

# %% mistake="at_the_real_samples" theme="derivative"
# The gradient was taken at `real`. The penalty is taken between the samples, at `mix * real + (1 - mix) * fake`.
# Градиент взят в точках `real`. А нужен градиент между примерами, в точках `mix * real + (1 - mix) * fake`.
def gradient_penalty(critic, real, fake, mix):
    return ((_lengths(_gradient(critic, real)) - 1) ** 2).mean()

# %% mistake="mixed_the_other_way" theme="derivative"
# The roles of `real` and `fake` in the mixture are swapped: `mix` is the share of `real`.
# В смеси перепутаны `real` и `fake`: `mix` — доля `real`.
def gradient_penalty(critic, real, fake, mix):
    return ((_lengths(_gradient(critic, _mixed(fake, real, mix))) - 1) ** 2).mean()

# %% mistake="root_of_squares" theme="precision"
# The length was computed as a root of a sum of squares. Where the gradient is 0, the root has an infinite
#     derivative, and $\infty \cdot 0$ is NaN. `norm` takes 0 there.
# Длина вычислена как корень из суммы квадратов. Там, где градиент равен 0, производная корня бесконечна, а $\infty
#     \cdot 0$ — это NaN. Производная функции `norm` там равна 0.
def gradient_penalty(critic, real, fake, mix):
    g = _gradient(critic, _mixed(real, fake, mix))
    return (((g**2).flatten(1).sum(1).sqrt() - 1) ** 2).mean()

# %% mistake="by_backward" theme="accumulation"
# The penalty is right, but `backward()` was used for the inner gradient: it adds to `.grad` of every weight.
#     `autograd.grad` asks for one gradient and leaves `.grad` alone.
# Штраф верен, но внутренний градиент вычислен методом `backward()`, который прибавляет градиенты и к `.grad` весов.
#     Функция `autograd.grad` вычисляет только нужное и не меняет `.grad`.
def gradient_penalty(critic, real, fake, mix):
    mixed = _mixed(real, fake, mix).requires_grad_()
    critic(mixed).sum().backward(create_graph=True)
    assert mixed.grad is not None
    found, mixed.grad = mixed.grad, None
    return ((_lengths(found) - 1) ** 2).mean()

# %% mistake="sample_by_sample" theme="cost"
# There is a call of the critic and a backward pass for each sample.
# На каждый пример приходятся отдельный вызов критика и отдельный обратный проход.
def gradient_penalty(critic, real, fake, mix):
    rows = [_gradient(critic, row[None]) for row in _mixed(real, fake, mix)]
    return ((_lengths(torch.cat(rows)) - 1) ** 2).mean()

# %% mistake="one_sided" theme="own"
# Only slopes above 1 were penalised. A slope below 1 is as far from 1.
# Штраф взят только за наклон больше 1. Но наклон меньше 1 тоже отличается от 1.
def gradient_penalty(critic, real, fake, mix):
    return ((_lengths(_gradient(critic, _mixed(real, fake, mix))) - 1).relu() ** 2).mean()

# %% mistake="mean_length" theme="order"
# The mean of the lengths was compared with 1. Each length is, and then the mean of the squares is taken.
# С единицей сравнивается средняя длина. Нужно сравнить каждую, а потом взять среднее квадратов.
def gradient_penalty(critic, real, fake, mix):
    return (_lengths(_gradient(critic, _mixed(real, fake, mix))).mean() - 1) ** 2

# %% mistake="sum_of_magnitudes" theme="own"
# The magnitudes of the entries were added. The length is the root of the sum of their squares.
# Сложены модули элементов. Длина — корень из суммы их квадратов.
def gradient_penalty(critic, real, fake, mix):
    return ((_gradient(critic, _mixed(real, fake, mix)).flatten(1).abs().sum(1) - 1) ** 2).mean()

# %% mistake="root_of_the_mean" theme="scaling"
# The length was divided by the root of the number of entries: a mean of squares in place of their sum.
# Длина разделена на корень из числа элементов: взято среднее квадратов вместо их суммы.
def gradient_penalty(critic, real, fake, mix):
    g = _gradient(critic, _mixed(real, fake, mix)).flatten(1)
    return ((_lengths(g) / g.shape[1] ** 0.5 - 1) ** 2).mean()

# %% mistake="leaves_out_the_flat" theme="missing"
# Samples with a gradient of 0 were left out of the mean. Their length is 0, and they are penalised like the rest.
# Примеры с нулевым градиентом не вошли в среднее. Длина у них 0, и штраф за них берётся, как за остальные.
def gradient_penalty(critic, real, fake, mix):
    g = _gradient(critic, _mixed(real, fake, mix)).flatten(1)
    return ((_lengths(g[g.abs().sum(1) > 0]) - 1) ** 2).mean()

# %% mistake="first_output" theme="missing"
# Only the output for the first sample was differentiated: the other gradients are 0.
# Продифференцирован выход только для первого примера: остальные градиенты равны 0.
def gradient_penalty(critic, real, fake, mix):
    mixed = _mixed(real, fake, mix).requires_grad_()
    (g,) = torch.autograd.grad(critic(mixed)[0].sum(), mixed, create_graph=True)
    return ((_lengths(g) - 1) ** 2).mean()

# %% mistake="with_a_dimension" theme="axes"
# The penalty has one dimension of length 1. Asked for is a tensor without dimensions.
# У штрафа одно измерение длины 1, а нужен тензор без измерений.
def gradient_penalty(critic, real, fake, mix):
    return ((_lengths(_gradient(critic, _mixed(real, fake, mix))) - 1) ** 2).mean().reshape(1)

# %% mistake="leaf_without_a_path" theme="recording"
# The value is right, but the penalty has no path to the weights, although it requires grad. Was a flag set
#     afterwards, or were the weights frozen while the critic was called?
# Значение верно, но пути от штрафа к весам нет, хотя он и требует градиента. Не включён ли флаг потом, не
#     заморожены ли были веса при вызове критика?
def gradient_penalty(critic, real, fake, mix):
    penalty = ((_lengths(_gradient(critic, _mixed(real, fake, mix))) - 1) ** 2).mean()
    return penalty.detach().requires_grad_()

# %% mistake="leaves_it_in_eval" theme="state"
# The penalty is right, but the critic stays in evaluation mode. Nothing here depends on the mode.
# Штраф верен, но критик остаётся в режиме оценки. Здесь от режима ничего не зависит.
def gradient_penalty(critic, real, fake, mix):
    critic.eval()
    return ((_lengths(_gradient(critic, _mixed(real, fake, mix))) - 1) ** 2).mean()

# %% mistake="thaws_the_weights" theme="state"
# The penalty is right, but frozen weights require grad now: `requires_grad_()` was called on the parameters. The
#     gradient is needed with respect to the samples.
# Штраф верен, но замороженные веса теперь требуют градиента: для параметров вызван `requires_grad_()`. А нужен
#     градиент по примерам.
def gradient_penalty(critic, real, fake, mix):
    critic.requires_grad_(True)
    return ((_lengths(_gradient(critic, _mixed(real, fake, mix))) - 1) ** 2).mean()

# %% mistake="calls_twice" theme="cost"
# The penalty is right, but the critic was called twice. One call gives outputs for everything.
# Штраф верен, но критик вызван дважды. Выхода одного вызова хватает на всё.
def gradient_penalty(critic, real, fake, mix):
    mixed = _mixed(real, fake, mix)
    critic(mixed)
    return ((_lengths(_gradient(critic, mixed)) - 1) ** 2).mean()

# %% mistake="adds_under_the_root" theme="precision"
# Something small is added under the root. Where the gradient is 0, the length is the root of that number.
# Под корнем прибавлено малое число. Там, где градиент равен 0, длина равна корню из этого числа.
def gradient_penalty(critic, real, fake, mix):
    squares = _gradient(critic, _mixed(real, fake, mix)).flatten(1).square().sum(1)
    return (((squares + 1e-4).sqrt() - 1) ** 2).mean()

# %% mistake="one_for_each" theme="axes"
# There is a penalty for each sample. Asked for is their mean, a tensor without dimensions.
# Штраф вычислен для каждого примера отдельно. А нужно их среднее, тензор без измерений.
def gradient_penalty(critic, real, fake, mix):
    found = (_lengths(_gradient(critic, _mixed(real, fake, mix))) - 1) ** 2
    return found

# %% mistake="magnitudes_of_differences" theme="own"
# The magnitude of the difference from 1 was averaged. Asked for is its square.
# Усреднён модуль разности с единицей, а нужен её квадрат.
def gradient_penalty(critic, real, fake, mix):
    return (_lengths(_gradient(critic, _mixed(real, fake, mix))) - 1).abs().mean()

# %% mistake="ones_on_the_cpu" theme="device"
# A tensor was made on the CPU, although critic and batches lie on a GPU, and torch refuses to mix the two.
#     `torch.ones_like(...)` follows its tensor; a sum needs no ones.
# Какой-то тензор создан на CPU, хотя критик и батчи лежат на GPU, и torch отказывается их смешивать.
#     `torch.ones_like(...)` берёт устройство у своего тензора, а для суммы единицы не нужны.
def gradient_penalty(critic, real, fake, mix):
    mixed = _mixed(real, fake, mix).requires_grad_()
    y = critic(mixed)
    (g,) = torch.autograd.grad(y, mixed, torch.ones(y.shape, dtype=y.dtype), create_graph=True)
    return ((_lengths(g) - 1) ** 2).mean()

# %% mistake="puts_it_into_training" theme="state"
# A critic that came in evaluation mode is in training mode afterwards. `train()` is not the opposite of `eval()` where
#     the mode was another one before: keep `critic.training`.
# Критик, переданный в режиме `eval()`, после вызова находится в режиме обучения. Вызов `train()` не
#     восстанавливает прежний режим, если тот был другим: запомните `critic.training`.
def gradient_penalty(critic, real, fake, mix):
    critic.train()
    return ((_lengths(_gradient(critic, _mixed(real, fake, mix))) - 1) ** 2).mean()

# %% mistake="points_without_grad" theme="recording"
# The gradient with respect to the points was asked for, but they do not require grad: neither of the batches does.
#     `requires_grad_()` is missing.
# Запрошен градиент по точкам, но они не требуют градиента, ведь и батчи его не требуют. Не хватает
#     `requires_grad_()`.
def gradient_penalty(critic, real, fake, mix):
    mixed = _mixed(real, fake, mix)
    (g,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    return ((_lengths(g) - 1) ** 2).mean()

# %% mistake="clears_the_gradients" theme="accumulation"
# `.grad` of the critic was cleared. The penalty needs no `.grad`, and what was there may belong to somebody else.
# Поля `.grad` критика обнулены. Для штрафа `.grad` не нужен, а прежнее содержимое может быть нужно кому-то ещё.
def gradient_penalty(critic, real, fake, mix):
    critic.zero_grad()
    return ((_lengths(_gradient(critic, _mixed(real, fake, mix))) - 1) ** 2).mean()

# %% mistake="draws_its_own_shares" theme="own"
# The penalty is another one in each call: the shares were drawn anew, and `mix` is not used.
# При каждом вызове штраф другой: доли выбраны случайно заново, а `mix` не используется.
def gradient_penalty(critic, real, fake, mix):
    mix = torch.rand(mix.shape, dtype=mix.dtype)
    return ((_lengths(_gradient(critic, _mixed(real, fake, mix))) - 1) ** 2).mean()
