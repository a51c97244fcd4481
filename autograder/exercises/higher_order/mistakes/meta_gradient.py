# %%
import torch


def nesterov(t, v, w, lr, momentum, steps):
    return _unroll(t, v, w, lr, momentum, steps, nesterov=True)


def _unroll(
    train_loss,
    validation_loss,
    w,
    lr,
    momentum,
    steps,
    *,
    create_graph=True,
    sign=-1.0,
    nesterov=False,
    cut_velocity=False,
    cut_first=False,
    share=1.0,
):
    """Return both derivatives. Each flag makes one mistake."""
    first, lr = w.detach().requires_grad_(), lr.detach().requires_grad_()
    at, velocity = first, torch.zeros_like(w)
    for _ in range(steps):
        (g,) = torch.autograd.grad(train_loss(at), at, create_graph=create_graph)
        if cut_first and momentum and at is first:
            g = g.detach()
        velocity = momentum * (velocity.detach() if cut_velocity else velocity) + share * g
        at = at + sign * lr * (g + momentum * velocity if nesterov else velocity)
    by_lr, by_w = torch.autograd.grad(validation_loss(at), (lr, first))
    return by_lr, by_w


def _last(train_loss, w, lr, momentum, steps):
    """Return the weights after `steps` steps."""
    velocity = torch.zeros_like(w)
    for _ in range(steps):
        velocity = momentum * velocity + torch.func.grad(train_loss)(w)
        w = w - lr * velocity
    return w

# %% mistake="first_order" theme="graph_life"
# The gradients of the training loss were taken as constants: without `create_graph=True` the second derivatives are
#     missing. With one step the learning rate does not notice it; the initial weights do.
# Градиенты функции потерь на обучении взяты как константы: без `create_graph=True` теряются вторые производные. При
#     одном шаге на производной по скорости обучения это не сказывается, а на градиенте по начальным весам сказывается.
def meta_gradient(t, v, w, lr, momentum, steps):
    return _unroll(t, v, w, lr, momentum, steps, create_graph=False)

# %% mistake="without_momentum" theme="missing"
# The momentum is missing: each step was made with the gradient alone.
# Потерян импульс: каждый шаг сделан только по градиенту.
def meta_gradient(t, v, w, lr, momentum, steps):
    return _unroll(t, v, w, lr, 0.0, steps)

# %% mistake="velocity_without_a_graph" theme="recording"
# The velocity was detached between the steps. It depends on the earlier weights, too.
# Накопленная скорость между шагами отсоединена от графа. Но она тоже зависит от прежних весов.
def meta_gradient(t, v, w, lr, momentum, steps):
    return _unroll(t, v, w, lr, momentum, steps, cut_velocity=True)

# %% mistake="first_velocity_without_a_graph" theme="recording"
# The first velocity is a copy of the gradient without a graph, as in torch's own `SGD(differentiable=True)`.
# Первая накопленная скорость — копия градиента без графа, как в готовом `SGD(differentiable=True)`.
def meta_gradient(t, v, w, lr, momentum, steps):
    return _unroll(t, v, w, lr, momentum, steps, cut_first=True)

# %% mistake="uphill" theme="derivative"
# The steps go uphill: the weights were increased by `lr * velocity`.
# Шаги направлены вверх: к весам прибавлено `lr * velocity`.
def meta_gradient(t, v, w, lr, momentum, steps):
    return _unroll(t, v, w, lr, momentum, steps, sign=1.0)

# %% mistake="nesterov" theme="own"
# The step is that of Nesterov's momentum. Asked for is the plain one: `w - lr * velocity`.
# Шаг сделан с импульсом Нестерова, а нужен обычный: `w - lr * velocity`.
def meta_gradient(t, v, w, lr, momentum, steps):
    return _unroll(t, v, w, lr, momentum, steps, nesterov=True)

# %% mistake="training_loss_at_the_end" theme="derivative"
# The training loss was differentiated at the end. The validation loss judges the steps.
# В конце продифференцирована функция потерь на обучении. Шаги оценивает функция потерь на валидации.
def meta_gradient(t, v, w, lr, momentum, steps):
    return _unroll(t, t, w, lr, momentum, steps)

# %% mistake="swaps_the_results" theme="missing"
# The two results are in the wrong order: the derivative with respect to the learning rate has to come first.
# Результаты переставлены: первой должна идти производная по скорости обучения.
def meta_gradient(t, v, w, lr, momentum, steps):
    by_lr, by_w = _unroll(t, v, w, lr, momentum, steps)
    return by_w, by_lr

# %% mistake="one_step_less" theme="missing"
# There is one step less than `steps`.
# Шагов на один меньше, чем `steps`.
def meta_gradient(t, v, w, lr, momentum, steps):
    if steps == 1:
        return torch.zeros_like(lr), torch.func.grad(v)(w)
    return _unroll(t, v, w, lr, momentum, steps - 1)

# %% mistake="once_for_each" theme="cost"
# Results are right, but the steps are run once for each of the two derivatives. One backward pass gives both.
# Результаты верны, но шаги выполнены отдельно для каждой из двух производных. Обе даёт один обратный проход.
def meta_gradient(t, v, w, lr, momentum, steps):
    return _unroll(t, v, w, lr, momentum, steps)[0], _unroll(t, v, w, lr, momentum, steps)[1]

# %% mistake="with_matrices" theme="cost"
# Matrices were built, of n × n elements: a Jacobian or Hessian of the steps. Products by backward passes are
#     enough.
# Построены матрицы из n × n элементов: матрица Якоби или Гессе для шагов. Достаточно произведений, которые дают
#     обратные проходы.
def meta_gradient(t, v, w, lr, momentum, steps):
    def last(w, lr):
        velocity = torch.zeros_like(w)
        for _ in range(steps):
            velocity = momentum * velocity + torch.func.grad(t)(w)
            w = w - lr * velocity
        return w, w

    (by_w, by_lr), at = torch.func.jacrev(last, argnums=(0, 1), has_aux=True)(w, lr)
    g = torch.func.grad(v)(at)
    return by_lr @ g, g @ by_w

# %% mistake="flags_on_the_inputs" theme="recording"
# The results are right, but `w` and `lr` require grad now: the flag was set on the caller's tensors.
# Результаты верны, но `w` и `lr` теперь требуют градиента: флаг включён у тензоров вызывающего кода.
def meta_gradient(t, v, w, lr, momentum, steps):
    found = _unroll(t, v, w, lr, momentum, steps)
    w.requires_grad_(), lr.requires_grad_()
    return found

# %% mistake="moves_the_weights" theme="in_place"
# The results are right, but the numbers in `w` are no longer the initial weights: they were changed in place.
# Результаты верны, но в `w` лежат уже не начальные веса: они изменены на месте.
def meta_gradient(t, v, w, lr, momentum, steps):
    found = _unroll(t, v, w, lr, momentum, steps)
    w.sub_(lr * found[1])
    return found

# %% mistake="dampened" theme="scaling"
# The gradient was multiplied by `1 - momentum` on its way into the velocity. It is added as it is.
# Градиент умножен на `1 - momentum`, прежде чем попасть в скорость. Его нужно прибавлять без множителя.
def meta_gradient(t, v, w, lr, momentum, steps):
    return _unroll(t, v, w, lr, momentum, steps, share=1 - momentum)

# %% mistake="by_the_last_weights" theme="derivative"
# The second result is the gradient with respect to the last weights. Asked for are the initial ones.
# Второй результат — градиент по последним весам, а нужен по начальным.
def meta_gradient(t, v, w, lr, momentum, steps):
    return _unroll(t, v, w, lr, momentum, steps)[0], torch.func.grad(v)(_last(t, w, lr, momentum, steps))

# %% mistake="one_step" theme="missing"
# Only one step was made, whatever `steps` is.
# Сделан только один шаг, каким бы ни было `steps`.
def meta_gradient(t, v, w, lr, momentum, steps):
    return _unroll(t, v, w, lr, momentum, 1)

# %% mistake="one_step_more" theme="missing"
# There is one step more than `steps`.
# Шагов на один больше, чем `steps`.
def meta_gradient(t, v, w, lr, momentum, steps):
    return _unroll(t, v, w, lr, momentum, steps + 1)

# %% mistake="always_at_the_start" theme="derivative"
# Every gradient was taken at the initial weights. Each step takes it at the present ones.
# Все градиенты взяты в начальной точке. На каждом шаге нужен градиент в текущей.
def meta_gradient(t, v, w, lr, momentum, steps):
    first, lr = w.detach().requires_grad_(), lr.detach().requires_grad_()
    (g,) = torch.autograd.grad(t(first), first, create_graph=True)
    at, velocity = first, torch.zeros_like(w)
    for _ in range(steps):
        velocity = momentum * velocity + g
        at = at - lr * velocity
    by_lr, by_w = torch.autograd.grad(v(at), (lr, first))
    return by_lr, by_w

# %% mistake="last_rate_alone" theme="accumulation"
# The derivative with respect to the learning rate comes from the last step alone. Each step uses `lr`.
# Производная по скорости обучения взята только от последнего шага. Но `lr` входит в каждый.
def meta_gradient(t, v, w, lr, momentum, steps):
    first, last = w.detach().requires_grad_(), lr.detach().requires_grad_()
    at, velocity = first, torch.zeros_like(w)
    for step in range(1, steps + 1):
        (g,) = torch.autograd.grad(t(at), at, create_graph=True)
        velocity = momentum * velocity + g
        at = at - (last if step == steps else last.detach()) * velocity
    by_lr, by_w = torch.autograd.grad(v(at), (last, first))
    return by_lr, by_w

# %% mistake="validates_the_start" theme="derivative"
# The validation loss was taken at the initial weights: the derivative with respect to `lr` is 0. It judges the last
#     ones.
# Функция потерь на валидации взята при начальных весах, и производная по `lr` равна 0. Её нужно взять при
#     последних.
def meta_gradient(t, v, w, lr, momentum, steps):
    return torch.zeros_like(lr), torch.func.grad(v)(w)

# %% mistake="first_gradient_without_a_graph" theme="recording"
# The first velocity is a copy of the gradient without a graph: its dependence on the initial weights is lost.
# Первая накопленная скорость — копия градиента без графа: её зависимость от начальных весов потеряна.
def meta_gradient(t, v, w, lr, momentum, steps):
    first, lr = w.detach().requires_grad_(), lr.detach().requires_grad_()
    at, velocity = first, torch.zeros_like(w)
    for step in range(steps):
        (g,) = torch.autograd.grad(t(at), at, create_graph=True)
        velocity = momentum * velocity + g if step else g.detach()
        at = at - lr * velocity
    by_lr, by_w = torch.autograd.grad(v(at), (lr, first))
    return by_lr, by_w

# %% mistake="steps_with_the_old_velocity" theme="order"
# Each step was made with the velocity from before it. First comes the new velocity, then the step with it.
# Каждый шаг сделан с прежней накопленной скоростью. Сначала вычисляется новая скорость, и шаг делается с ней.
def meta_gradient(t, v, w, lr, momentum, steps):
    first, lr = w.detach().requires_grad_(), lr.detach().requires_grad_()
    at, velocity = first, torch.zeros_like(w)
    for _ in range(steps):
        (g,) = torch.autograd.grad(t(at), at, create_graph=True)
        at = at - lr * velocity
        velocity = momentum * velocity + g
    by_lr, by_w = torch.autograd.grad(v(at), (lr, first), materialize_grads=True)
    return by_lr, by_w

# %% mistake="matrix_in_each_step" theme="cost"
# Matrices were built, of n × n elements: a Jacobian or Hessian in each step. That also takes more calls than the
#     limit allows. Products by backward passes are enough.
# Построены матрицы из n × n элементов: матрица Якоби или Гессе на каждом шаге. При этом и вызовов больше, чем
#     допускается. Достаточно произведений, которые дают обратные проходы.
def meta_gradient(t, v, w, lr, momentum, steps):
    at, velocity, gradient = w.clone(), torch.zeros_like(w), torch.func.grad(t)
    tape = []
    for _ in range(steps):
        hessian = torch.func.jacrev(gradient)(at)
        velocity = momentum * velocity + gradient(at)
        tape.append((hessian, velocity))
        at = at - lr * velocity
    by_at, by_velocity, by_lr = torch.func.grad(v)(at), torch.zeros_like(w), torch.zeros_like(lr)
    for hessian, velocity in reversed(tape):
        by_lr = by_lr - velocity @ by_at
        by_velocity = by_velocity - lr * by_at
        by_at = by_at + hessian @ by_velocity
        by_velocity = momentum * by_velocity
    return by_lr, by_at

# %% mistake="weights_cut_between" theme="recording"
# The weights were detached between the steps: both derivatives go through the last step alone.
# Веса между шагами отсоединены от графа: обе производные учитывают только последний шаг.
def meta_gradient(t, v, w, lr, momentum, steps):
    lr, at, velocity = lr.detach().requires_grad_(), w, torch.zeros_like(w)
    for _ in range(steps):
        start = at.detach().requires_grad_()
        (g,) = torch.autograd.grad(t(start), start, create_graph=True)
        velocity = momentum * velocity.detach() + g
        at = start - lr * velocity
    by_lr, by_w = torch.autograd.grad(v(at), (lr, start))
    return by_lr, by_w

# %% mistake="rate_is_a_constant" theme="recording"
# `lr` has no path to the result, so its derivative is 0: the steps were made with the passed number, or with a
#     detached copy.
# От `lr` к результату нет пути, и производная по нему равна 0: шаги сделаны с самим переданным числом или с
#     отсоединённой копией.
def meta_gradient(t, v, w, lr, momentum, steps):
    return torch.zeros_like(lr), _unroll(t, v, w, lr, momentum, steps)[1]

# %% mistake="turns_the_sign" theme="derivative"
# The derivative with respect to `lr` has the wrong sign.
# У производной по `lr` не тот знак.
def meta_gradient(t, v, w, lr, momentum, steps):
    by_lr, by_w = _unroll(t, v, w, lr, momentum, steps)
    return -by_lr, by_w

# %% mistake="changes_in_place" theme="in_place"
# The weights were changed in place, and the graph needs the old ones. Write `w = w - lr * velocity`.
# Веса изменены на месте, а графу нужны прежние. Пишите `w = w - lr * velocity`.
def meta_gradient(t, v, w, lr, momentum, steps):
    at, velocity = w.detach().requires_grad_(), torch.zeros_like(w)
    for _ in range(steps):
        (g,) = torch.autograd.grad(t(at), at, create_graph=True)
        velocity = momentum * velocity + g
        at -= lr * velocity
    return at, at

# %% mistake="steps_by_the_optimizer" theme="in_place"
# The weights were changed in place, and the graph needs the old ones. An optimizer of torch does so, too, also with
#     `differentiable=True`. Write `w = w - lr * velocity`.
# Веса изменены на месте, а графу нужны прежние. Так поступает и оптимизатор torch, даже с `differentiable=True`.
#     Пишите `w = w - lr * velocity`.
def meta_gradient(t, v, w, lr, momentum, steps):
    first, rate = w.detach().requires_grad_(), lr.detach().requires_grad_()
    moving = first.clone()
    optimizer = torch.optim.SGD([moving], lr=rate, momentum=momentum, differentiable=True)
    for _ in range(steps):
        (moving.grad,) = torch.autograd.grad(t(moving.clone()), moving, create_graph=True)
        optimizer.step()
    by_lr, by_w = torch.autograd.grad(v(moving), (rate, first))
    return by_lr, by_w

# %% mistake="returns_numbers" theme="missing"
# Numbers were returned. Asked for are two tensors.
# Возвращены числа, а нужны два тензора.
def meta_gradient(t, v, w, lr, momentum, steps):
    by_lr, by_w = _unroll(t, v, w, lr, momentum, steps)
    return by_lr.item(), by_w.tolist()

# %% mistake="no_step_at_all" theme="missing"
# One step is missing: with `steps` = 1 none is made, and `lr` is in no graph.
# Одного шага не хватает: при `steps` = 1 не сделано ни одного, и `lr` не попадает в граф.
def meta_gradient(t, v, w, lr, momentum, steps):
    return _unroll(t, v, w, lr, momentum, steps - 1)

# %% mistake="velocity_on_the_cpu" theme="device"
# A tensor was made on the CPU, although `w` lies on a GPU, and torch refuses to mix the two.
#     `torch.zeros_like(w)` or the number 0 follow `w`.
# Какой-то тензор создан на CPU, хотя `w` лежит на GPU, и torch отказывается их смешивать. За `w` следуют
#     `torch.zeros_like(w)` или число 0.
def meta_gradient(t, v, w, lr, momentum, steps):
    return _unroll(t, v, w + torch.zeros(w.shape, dtype=w.dtype), lr, momentum, steps)

# %% mistake="steps_of_sgd" like="steps_by_the_optimizer"
def meta_gradient(t, v, w, lr, momentum, steps):
    first, rate = w.detach().requires_grad_(), lr.detach().requires_grad_()
    moving = first.clone()
    optimizer = torch.optim.SGD([moving], lr=rate, momentum=momentum, differentiable=True)
    for _ in range(steps):
        (moving.grad,) = torch.autograd.grad(t(moving), moving, create_graph=True)
        optimizer.step()
    return torch.autograd.grad(v(moving), (rate, first))
