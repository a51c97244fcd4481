# %%
import torch
from torch.nn.functional import binary_cross_entropy_with_logits


def _loss(w, b, x, y):
    return binary_cross_entropy_with_logits(x @ w + b, y)


def _add_gradients(w, b, factor):
    """Add `factor` times `.grad` to `w` and `b` where it is not None, and then set it to None.

    `factor` is negative for a step of descent.
    """
    with torch.no_grad():
        for t in (w, b):
            if t.grad is not None:
                t += factor * t.grad
                t.grad = None


def _step(w, b, loss, lr):
    """Take one step of descent on `loss`, and return the value of `loss`."""
    loss.backward()
    _add_gradients(w, b, -lr)
    return loss.item()

# %% mistake="ascends" theme="derivative"
# The step went uphill: the gradient points where the loss grows, so it has to be subtracted.
# Шаг сделан в обратную сторону: градиент направлен туда, где функция потерь растёт, поэтому его нужно вычитать.
def descend(w, b, x, y, lr):
    return _step(w, b, _loss(w, b, x, y), -lr)

# %% mistake="rebinds" theme="in_place"
# The step made new tensors, as `w = w - ...` does: a name inside the function moved, but the caller's `w` and `b`
#     did not. They have to be changed in place.
# Шаг создал новые тензоры, как это делает `w = w - ...`: имя внутри функции теперь указывает на них, а `w` и `b`
#     вызывающего кода остались прежними. Их нужно изменить на месте.
def descend(w, b, x, y, lr):
    loss = _loss(w, b, x, y)
    loss.backward()
    assert w.grad is not None
    assert b.grad is not None
    with torch.no_grad():
        w = w - lr * w.grad
        b = b - lr * b.grad
    return loss.item()

# %% mistake="steps_while_recording" theme="recording"
# `w` was changed in place while torch was recording. The step itself is not part of the loss and belongs under
#     `torch.no_grad()`.
# Тензор `w` изменён на месте при включённом отслеживании. Сам шаг не входит в функцию потерь, и выполнять его нужно
#     внутри `torch.no_grad()`.
def descend(w, b, x, y, lr):
    loss = _loss(w, b, x, y)
    loss.backward()
    assert w.grad is not None
    assert b.grad is not None
    w -= lr * w.grad
    b -= lr * b.grad
    return loss.item()

# %% mistake="makes_no_step" theme="missing"
# `w` and `b` hold their old values: no step was made, it was made in new tensors, or `zero_grad()` came just before it.
# В `w` и `b` лежат прежние значения: шага не было, он сделан в новых тензорах или прямо перед ним вызван `zero_grad()`.
def descend(w, b, x, y, lr):
    return _loss(w, b, x, y).item()

# %% mistake="clears_before_the_step" theme="order"
# `.grad` was cleared between `backward()` and the step, so the step was zero.
# Поле `.grad` обнулено между `backward()` и шагом, поэтому шаг получился нулевым.
def descend(w, b, x, y, lr):
    loss = _loss(w, b, x, y)
    loss.backward()
    for t in (w, b):
        assert t.grad is not None
        t.grad.zero_()
    return loss.item()

# %% mistake="freezes_the_weights" theme="state"
# `requires_grad` was switched off and not switched on again, so a next step cannot be made.
# Флаг `requires_grad` выключен и не включён снова, поэтому следующий шаг сделать нельзя.
def descend(w, b, x, y, lr):
    loss = _loss(w, b, x, y)
    loss.backward()
    w.requires_grad = b.requires_grad = False
    _add_gradients(w, b, -lr)
    return loss.item()

# %% mistake="takes_the_sigmoid_twice" theme="derivative"
# A sigmoid was taken before the loss. `bce` here takes the raw outputs and applies the sigmoid itself.
# Перед функцией потерь взята сигмоида. Функция `bce` здесь принимает логиты, то есть выходы до сигмоиды, и
#     применяет её сама.
def descend(w, b, x, y, lr):
    return _step(w, b, binary_cross_entropy_with_logits(torch.sigmoid(x @ w + b), y), lr)

# %% mistake="swaps_the_targets" theme="derivative"
# The outputs and the targets changed places in the loss.
# В функции потерь перепутаны выходы и правильные ответы.
def descend(w, b, x, y, lr):
    return _step(w, b, binary_cross_entropy_with_logits(y, x @ w + b), lr)

# %% mistake="leaves_the_gradient" theme="accumulation"
# `.grad` was not cleared: the next `backward()` will add to it.
# Поле `.grad` не обнулено: при следующем вызове `backward()` новые градиенты прибавятся к старым.
def descend(w, b, x, y, lr):
    loss = _loss(w, b, x, y)
    loss.backward()
    with torch.no_grad():
        for t in (w, b):
            t -= lr * t.grad
    return loss.item()

# %% mistake="forgets_the_bias" theme="missing"
# The step of `b` is missing: only `w` took it.
# Шаг для `b` не сделан: изменён только `w`.
def descend(w, b, x, y, lr):
    loss = _loss(w, b, x, y)
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad
    w.grad = b.grad = None
    return loss.item()

# %% mistake="forgets_the_learning_rate" theme="missing"
# The gradients were subtracted whole, without the learning rate.
# Градиенты вычтены целиком, без скорости обучения.
def descend(w, b, x, y, lr):
    return _step(w, b, _loss(w, b, x, y), 1.0)

# %% mistake="forgets_backward" theme="missing"
# At the step `.grad` is None: `backward()` was not called before it, `.grad` was cleared too early, or it belongs
#     to a tensor that no gradient reaches.
# Во время шага в `.grad` лежит None: либо до него не вызван `backward()`, либо `.grad` очищен слишком рано, либо
#     это поле тензора, до которого градиент не доходит.
def descend(w, b, x, y, lr):
    loss = _loss(w, b, x, y)
    with torch.no_grad():
        w -= lr * w.grad
        b -= lr * b.grad
    return loss.item()

# %% mistake="sums_the_outputs" theme="scaling"
# The losses of the outputs were added up, not averaged: the gradient is too large by a factor of their number.
# Потери по выходам сложены, а не усреднены: градиент больше нужного во столько раз, сколько выходов.
def descend(w, b, x, y, lr):
    return _step(w, b, binary_cross_entropy_with_logits(x @ w + b, y, reduction="sum"), lr)

# %% mistake="loss_after_the_step" theme="order"
# The loss was computed anew after the step. What is asked for is the loss that `backward()` was called on.
# Значение функции потерь вычислено заново, после шага. Нужно то, от которого выполнен `backward()`.
def descend(w, b, x, y, lr):
    _step(w, b, _loss(w, b, x, y), lr)
    return _loss(w, b, x, y).item()

# %% mistake="returns_nothing" theme="return"
# The step is right, but nothing comes back. The loss was to be returned.
# Шаг верен, но функция ничего не возвращает, а должна вернуть значение функции потерь.
def descend(w, b, x, y, lr):
    _step(w, b, _loss(w, b, x, y), lr)

# %% mistake="goes_twice_as_far" theme="scaling"
# The step is twice as long as it should be, as when `backward()` or the step itself runs twice.
# Шаг вдвое длиннее нужного: так бывает, если `backward()` или сам шаг выполнен дважды.
def descend(w, b, x, y, lr):
    return _step(w, b, _loss(w, b, x, y), 2 * lr)

# %% mistake="steps_one_after_the_other" theme="order"
# `b` took its step with a gradient computed after the step of `w`. Both gradients belong to the old point.
# Шаг для `b` сделан по градиенту, вычисленному уже после шага для `w`. Оба градиента нужны в прежней точке.
def descend(w, b, x, y, lr):
    loss = _loss(w, b, x, y)
    for t in (w, b):
        w.grad = b.grad = None
        _loss(w, b, x, y).backward()
        with torch.no_grad():
            t -= lr * t.grad
    w.grad = b.grad = None
    return loss.item()

# %% mistake="clears_only_w" theme="accumulation"
# Only the gradient of `w` was cleared: the next `backward()` will add to `b.grad`.
# Обнулён только градиент `w`: следующий `backward()` прибавит свой градиент к тому, что лежит в `b.grad`.
def descend(w, b, x, y, lr):
    loss = _loss(w, b, x, y)
    loss.backward()
    with torch.no_grad():
        for t in (w, b):
            t -= lr * t.grad
    w.grad = None
    return loss.item()

# %% mistake="takes_the_rate_of_the_example" theme="missing"
# The learning rate is 0.1, as in the example. It has to be the `lr` that is passed in.
# Скорость обучения равна 0.1, как в примере. Нужно взять `lr`, переданный в функцию.
def descend(w, b, x, y, lr):
    return _step(w, b, _loss(w, b, x, y), 0.1)

# %% mistake="takes_the_default_rate" theme="missing"
# The learning rate is 0.001, as in an optimizer that is not given `lr`. It has to be the `lr` that is passed in.
# Скорость обучения равна 0.001, как в оптимизаторе, которому не передан `lr`. Нужно взять `lr`, переданный в
#     функцию.
def descend(w, b, x, y, lr):
    return _step(w, b, _loss(w, b, x, y), 0.001)

# %% mistake="forgets_the_weights" theme="missing"
# The step of `w` is missing: only `b` took it.
# Шаг для `w` не сделан: изменён только `b`.
def descend(w, b, x, y, lr):
    return _step(w, b, _loss(w.detach(), b, x, y), lr)

# %% mistake="leaves_the_bias_out" theme="missing"
# `b` is missing in the loss: it has to be `bce(x @ w + b, y)`.
# В функции потерь нет `b`, а должно быть `bce(x @ w + b, y)`.
def descend(w, b, x, y, lr):
    return _step(w, b, binary_cross_entropy_with_logits(x @ w, y), lr)

# %% mistake="takes_zero_labels" theme="missing"
# The labels in the loss are zeros, as in the example. They have to be `y`.
# Метки в функции потерь нулевые, как в примере, а нужны `y`.
def descend(w, b, x, y, lr):
    return _step(w, b, binary_cross_entropy_with_logits(x @ w + b, 0 * y), lr)

# %% mistake="divides_by_three" theme="scaling"
# The gradient was divided by 3, as in the formula of the example. The mean divides by the number of outputs.
# Градиент разделён на 3, как в формуле из примера. Но при усреднении делят на число выходов.
def descend(w, b, x, y, lr):
    return _step(w, b, _loss(w, b, x, y) * len(b) / 3, lr) * 3 / len(b)

# %% mistake="takes_every_input_for_one" theme="derivative"
# The step of `w` is made with the gradient of `b`. The rows of `w.grad` equal it only where every input is 1.
# Шаг для `w` сделан по градиенту `b`. Строки `w.grad` равны ему только там, где все входы равны 1.
def descend(w, b, x, y, lr):
    loss = _loss(w, b, x, y)
    (gradient,) = torch.autograd.grad(loss, b)
    with torch.no_grad():
        w -= lr * gradient
        b -= lr * gradient
    return loss.item()

# %% mistake="returns_the_outputs" theme="missing"
# What comes back is not the loss but the outputs `x @ w + b`.
# Возвращено не значение функции потерь, а выходы `x @ w + b`.
def descend(w, b, x, y, lr):
    outputs = x @ w + b
    _step(w, b, binary_cross_entropy_with_logits(outputs, y), lr)
    return outputs

# %% mistake="records_nothing" theme="recording"
# The loss has no graph, as when it is computed under `no_grad()`. Only the step belongs there.
# У значения функции потерь нет графа: так бывает, когда оно вычислено внутри `no_grad()`. Там нужно делать только шаг.
def descend(w, b, x, y, lr):
    with torch.no_grad():
        loss = _loss(w, b, x, y)
        loss.backward()
    return loss.item()

# %% mistake="takes_the_number_first" theme="recording"
# The loss became a Python number before `backward()`. A number has no graph: `item()` comes last.
# Значение функции потерь стало числом Python ещё до `backward()`. У числа графа нет: `item()` вызывают в конце.
def descend(w, b, x, y, lr):
    loss = _loss(w, b, x, y).item()
    loss.backward()
    return float(loss)

# %% mistake="uses_adam" theme="own"
# `Adam` was used. Its first step does not depend on the size of the gradient; asked for is `lr` times the gradient,
#     as in `SGD`.
# Использован `Adam`. Его первый шаг не зависит от величины градиента, а нужен градиент, умноженный на `lr`, как в
#     `SGD`.
def descend(w, b, x, y, lr):
    optimizer = torch.optim.Adam([w, b], lr=lr)
    loss = _loss(w, b, x, y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()
