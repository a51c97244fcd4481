# %%
import torch


def _with_gradients(weights):
    """Yield position, weight and gradient of each weight that has a gradient."""
    for place, weight in enumerate(weights):
        if weight.grad is not None:
            yield place, weight, weight.grad


def forgets_to_clear(weights, lr):
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= lr * gradient

# %% mistake="only_clears" theme="missing"
# Of the tensors in the list only `.grad` has changed. The step has to change the tensors themselves, while the
#     gradients are still there.
# У тензоров из списка изменилось только поле `.grad`. На шаге должны измениться сами тензоры, пока градиенты ещё на
#     месте.
def update(weights, lr):
    for _, w, gradient in _with_gradients(weights):
        w.grad = None
        w = w - lr * gradient

# %% mistake="rebinds_the_name" theme="in_place"
# The tensors in the list have not changed: the step makes new ones and binds a name to them, under `no_grad()` or
#     not, or there is no step.
# Тензоры в списке не изменились: на шаге создаются новые и связываются с именем, внутри `no_grad()` или нет, либо
#     шага нет вовсе.
def update(weights, lr):
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w = w - lr * gradient

# %% mistake="drops_them_first" theme="order"
# At the step `.grad` is None: it was set to None before, or it belongs to another tensor, such as `w.detach()`.
# Во время шага в `.grad` лежит None: либо это значение присвоено полю раньше, либо поле принадлежит другому
#     тензору, например `w.detach()`.
def update(weights, lr):
    with torch.no_grad():
        for _, w, _ in _with_gradients(weights):
            w.grad = None
            w -= lr * w.grad

# %% mistake="stops_at_the_first_gap" theme="missing"
# The loop ends at the first weight without a gradient. The weights after it need their step too.
# Цикл заканчивается на первом весе без градиента, а шаг нужен и весам после него.
def update(weights, lr):
    with torch.no_grad():
        for w in weights:
            if w.grad is None:
                break
            w -= lr * w.grad
            w.grad = None

# %% mistake="leaves_out_the_rate" theme="missing"
# The step is the gradient itself: `lr` is not in it.
# Шаг равен самому градиенту: множителя `lr` в нём нет.
def update(weights, lr):
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= gradient
            w.grad = None

# %% mistake="writes_the_rate" theme="missing"
# The learning rate is 0.1 whatever `lr` says.
# Скорость обучения всегда равна 0.1, чему бы ни был равен `lr`.
def update(weights, lr):
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= 0.1 * gradient
            w.grad = None

# %% mistake="steps_twice" theme="scaling"
# Each weight was stepped twice.
# Для каждого веса шаг сделан дважды.
def update(weights, lr):
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= 2 * lr * gradient
            w.grad = None

# %% mistake="replaces_in_the_list" theme="in_place"
# New tensors were put into the list. Whatever holds the weights, a model or an optimizer, still holds the old ones.
# В список записаны новые тензоры. Там, где хранятся веса, в модели или оптимизаторе, остались старые.
def update(weights, lr):
    for place, w, gradient in _with_gradients(weights):
        weights[place] = w - lr * gradient

# %% mistake="replaces_with_constants" theme="recording"
# New tensors, made under `no_grad()`, were put into the list. They do not require grad, so the next loss would have
#     no graph.
# В список записаны новые тензоры, созданные внутри `no_grad()`. Градиента они не требуют, поэтому у следующей
#     функции потерь не будет графа.
def update(weights, lr):
    with torch.no_grad():
        for place, w, gradient in _with_gradients(weights):
            weights[place] = w - lr * gradient

# %% mistake="returns_new_weights" theme="in_place"
# The new weights were returned. They are not used: the tensors in the list are what a model holds.
# Функция возвращает новые веса. Они никуда не попадут: в модели хранятся именно те тензоры, что стоят в списке.
def update(weights, lr):
    return [w if w.grad is None else w - lr * w.grad for w in weights]

# %% mistake="steps_in_grad_mode" theme="recording"
# A leaf is changed in place while recording is on. Autograd refuses that: the change would be recorded, and the
#     leaf would no longer be one.
# Лист меняется на месте при включённом отслеживании. Autograd это запрещает: изменение было бы записано, и лист
#     перестал бы быть листом.
def update(weights, lr):
    for _, w, gradient in _with_gradients(weights):
        w -= lr * gradient

# %% mistake="expects_every_gradient" theme="missing"
# You expected every weight to have a gradient. A weight that no loss used has None in `.grad`.
# Не учтено, что градиент есть не у каждого веса. Если функция потерь от веса не зависела, в его `.grad` лежит None.
def update(weights, lr):
    with torch.no_grad():
        for w in weights:
            w -= lr * w.grad

# %% mistake="clears_first" theme="order"
# The gradients are cleared before the step, and nothing is left for it to use.
# Градиенты обнуляются до шага, и для шага ничего не остаётся.
def update(weights, lr):
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            gradient.zero_()
            w -= lr * gradient

# %% mistake="ascends" theme="derivative"
# The gradient is added, not subtracted: the step goes uphill.
# Градиент прибавляется, а не вычитается: шаг идёт в сторону роста функции потерь.
def update(weights, lr):
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w += lr * gradient
            w.grad = None

# %% mistake="leaves_them_frozen" theme="state"
# `requires_grad` was switched off for the step and not switched on again.
# Флаг `requires_grad` выключен на время шага и не включён снова.
def update(weights, lr):
    for _, w, gradient in _with_gradients(weights):
        w.requires_grad_(False)
        w -= lr * gradient
        w.grad = None

# %% mistake="forgets_to_clear" theme="accumulation"
# The gradients stay in `.grad`. The next `backward()` adds to them.
# Градиенты остались в `.grad`. При следующем вызове `backward()` к ним прибавятся новые.
def update(weights, lr):
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= lr * gradient

# %% mistake="steps_through_data" theme="in_place"
# The step goes through `.data` or NumPy. The values are right, but the version counter did not move: autograd would
#     not notice that a graph still needs the old values.
# Шаг сделан через `.data` или NumPy. Значения верны, но счётчик версий не изменился: если графу ещё нужны прежние
#     значения, autograd ничего не заметит.
def update(weights, lr):
    for _, w, gradient in _with_gradients(weights):
        w.data -= lr * gradient
        w.grad = None

# %% mistake="assigns_data" theme="in_place"
# The weight was given other memory, for example by `w.data = ...`. The values are right, but the version counter
#     did not move.
# Весу присвоена другая память, например строкой `w.data = ...`. Значения верны, но счётчик версий не изменился.
def update(weights, lr):
    for _, w, gradient in _with_gradients(weights):
        w.data = w.data - lr * gradient
        w.grad = None

# %% mistake="pairs_by_position" theme="axes"
# The gradients that exist are put into a list, and weights and gradients are paired by position. After a weight
#     without a gradient each gradient meets the wrong weight.
# Имеющиеся градиенты собраны в список, и веса сопоставлены с ними по порядку. После веса без градиента каждый
#     градиент достаётся не своему весу.
def update(weights, lr):
    gradients = [w.grad for w in weights if w.grad is not None]
    with torch.no_grad():
        for w, gradient in zip(weights, gradients):
            if w.shape == gradient.shape:
                w -= lr * gradient
    for w in weights:
        w.grad = None

# %% mistake="leaves_recording_off" theme="state"
# Recording was switched off by `torch.set_grad_enabled(False)` and not switched on again: the caller's next forward
#     pass leaves no graph.
# Отслеживание выключено вызовом `torch.set_grad_enabled(False)` и не включено снова: следующий прямой проход в
#     вызывающем коде не оставит графа.
def update(weights, lr):
    torch.set_grad_enabled(False)
    for _, w, gradient in _with_gradients(weights):
        w -= lr * gradient
        w.grad = None

# %% mistake="switches_recording_on" theme="state"
# Recording was switched on at the end, whatever it was before. A caller inside `no_grad()` finds it on.
# В конце запись операций включена, какой бы она ни была раньше. Если функцию вызвали внутри `no_grad()`, после вызова
#     запись окажется включена.
def update(weights, lr):
    torch.set_grad_enabled(False)
    for w in weights:
        if w.grad is not None:
            w -= lr * w.grad
            w.grad = None
    torch.set_grad_enabled(True)

# %% mistake="applies_the_rate_twice" theme="scaling"
# The step is multiplied by `lr` twice.
# Шаг умножен на `lr` дважды.
def update(weights, lr):
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= lr * lr * gradient
            w.grad = None

# %% mistake="leaves_the_loop" theme="missing"
# The loop ends after the first step: `return` or `break` stands inside it.
# Цикл заканчивается после первого шага: внутри него стоит `return` или `break`.
def update(weights, lr):
    with torch.no_grad():
        for _, w, gradient in _with_gradients(weights):
            w -= lr * gradient
            w.grad = None
            return

# %% mistake="asks_for_truth" theme="own"
# `if w.grad:` asks whether a tensor is true, and a tensor of several numbers is neither. Compare with None: `is not
#     None`.
# Условие `if w.grad:` спрашивает, истинен ли тензор, а для тензора из нескольких чисел ответа нет. Сравнивайте с
#     None: `is not None`.
def update(weights, lr):
    for w in weights:
        if w.grad:
            w.grad = None

# %% mistake="clears_the_last" theme="accumulation"
# Only the last weight's `.grad` was cleared: the line stands after the loop.
# Обнулён только `.grad` последнего веса: строка стоит после цикла.
def update(weights, lr):
    forgets_to_clear(weights, lr)
    weights[-1].grad = None

# %% mistake="zeroes_every_gradient" theme="missing"
# `.grad` is zeroed for every weight. A weight that no loss used has None there, and None has no `zero_()`.
# Поле `.grad` обнуляется у каждого веса. Но если функция потерь от веса не зависела, там лежит None, а у None нет
#     `zero_()`.
def update(weights, lr):
    forgets_to_clear(weights, lr)
    for w in weights:
        w.grad.zero_()

# %% mistake="uses_adam" theme="own"
# The step is not that of gradient descent: `Adam` divides the gradient by its size. `SGD` makes the step that is
#     asked for.
# Это не шаг градиентного спуска: `Adam` делит градиент на его величину. Нужный шаг делает `SGD`.
def update(weights, lr):
    optimizer = torch.optim.Adam(weights, lr=lr)
    optimizer.step()
    optimizer.zero_grad()

# %% mistake="steps_the_gradient" theme="missing"
# The step was made on `.grad` itself, and the tensors in the list keep their old values.
# Изменён сам `.grad`, а в тензорах из списка лежат прежние значения.
def update(weights, lr):
    for _, w, gradient in _with_gradients(weights):
        gradient -= lr * w.detach()
