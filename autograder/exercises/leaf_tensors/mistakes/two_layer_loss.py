# %%
from torch.autograd import Variable


# %% mistake="cuts_in_another_way" theme="recording"
# The graph is still cut before `h`. `.data`, `detach()`, `no_grad()` and `Variable`, around a weight or around a
#     result, hand on the numbers without their history.
# Граф по-прежнему обрывается перед `h`. Если к весу или к результату применить `.data`, `detach()`, `no_grad()` или
#     `Variable`, дальше идут числа без истории.
def two_layer_loss(x, w, u):
    return ((x @ w).tanh().detach() @ u).square().mean()

# %% mistake="starts_a_new_leaf" theme="recording"
# A new leaf was put before the loss, between the layers or in the place of `w`. It requires grad and takes the
#     gradient itself; the `w` of the caller gets none.
# Перед функцией потерь, между слоями или вместо `w` поставлен новый лист. Он требует градиента, и весь градиент
#     достаётся ему, а тензор `w` вызывающего кода не получает ничего.
def two_layer_loss(x, w, u):
    h = Variable((x @ w).tanh(), requires_grad=True)
    return (h @ u).square().mean()

# %% mistake="makes_the_loss_a_leaf" theme="recording"
# The loss was made a leaf that requires grad. `backward()` runs and has nowhere to go: no weight gets anything.
# Листом, который требует градиента, сделано само значение функции потерь. Проход `backward()` выполняется, но идти
#     ему некуда: веса не получают ничего.
def two_layer_loss(x, w, u):
    return ((x @ w).tanh() @ u).square().mean().detach().requires_grad_()

# %% mistake="moves_the_cut" theme="recording"
# The cut has moved: now the second weight is wrapped or detached, and it is left without a gradient.
# Разрыв переместился: теперь обёрнут или отсоединён второй вес, и без градиента остался он.
def two_layer_loss(x, w, u):
    return ((x @ w).tanh() @ u.detach()).square().mean()

# %% mistake="goes_backward_itself" theme="graph_life"
# `backward()` is called inside the function. The caller will call it too: that pass would find the graph freed, or
#     add the gradient once more.
# Метод `backward()` вызван внутри функции. Его вызовут и снаружи: тот проход не найдёт в графе того, что было
#     сохранено, или прибавит градиент ещё раз.
def two_layer_loss(x, w, u):
    loss = ((x @ w).tanh() @ u).square().mean()
    loss.backward()
    return loss

# %% mistake="takes_the_sum" theme="scaling"
# The sum of the squares was returned. The loss is their mean.
# Возвращена сумма квадратов, а функция потерь — их среднее.
def two_layer_loss(x, w, u):
    return ((x @ w).tanh() @ u).square().sum()

# %% mistake="returns_a_number" theme="recording"
# The loss is a Python number. It has no graph, and the caller cannot call `backward()`.
# Значение функции потерь — обычное число Python. Графа у него нет, и вызвать `backward()` нельзя.
def two_layer_loss(x, w, u):
    return ((x @ w).tanh() @ u).square().mean().item()

# %% mistake="loses_the_tanh" theme="missing"
# `tanh` is missing between the two layers.
# Между двумя слоями потерян `tanh`.
def two_layer_loss(x, w, u):
    return ((x @ w) @ u).square().mean()

# %% mistake="cuts_off_the_loss" theme="recording"
# The loss has no graph. So it is when everything is computed under `no_grad()`, or when the loss itself was
#     wrapped or detached.
# У значения функции потерь нет графа. Так бывает, когда всё вычислено внутри `no_grad()` или когда обёрнуто или
#     отсоединено само это значение.
def two_layer_loss(x, w, u):
    return ((x @ w).tanh() @ u).square().mean().detach()

# %% mistake="averages_one_dimension" theme="axes"
# The mean was taken over one dimension. The loss is one number, of shape `()`.
# Среднее взято по одному измерению. Значение функции потерь — одно число, его форма `()`.
def two_layer_loss(x, w, u):
    return ((x @ w).tanh() @ u).square().mean(0)

# %% mistake="keeps_a_dimension" theme="axes"
# The loss has a dimension. Asked for is the shape `()`.
# У значения функции потерь есть измерение, а нужна форма `()`.
def two_layer_loss(x, w, u):
    return ((x @ w).tanh() @ u).square().mean().reshape(1)

# %% mistake="squares_the_mean" theme="order"
# The mean was squared. The loss is the mean of the squares.
# В квадрат возведено среднее, а функция потерь — среднее квадратов.
def two_layer_loss(x, w, u):
    return ((x @ w).tanh() @ u).mean().square()

# %% mistake="loses_the_square" theme="missing"
# The square is missing: this is the mean of the outputs.
# Нет возведения в квадрат: это среднее самих выходов.
def two_layer_loss(x, w, u):
    return ((x @ w).tanh() @ u).mean()
