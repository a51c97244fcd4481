"""The mistakes in `meta_gradient`, as programs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .meta_gradient import Loss, Pair, meta_gradient


def _unroll(
    train_loss: Loss,
    validation_loss: Loss,
    w: Tensor,
    lr: Tensor,
    momentum: float,
    steps: int,
    *,
    create_graph: bool = True,
    sign: float = -1.0,
    nesterov: bool = False,
    cut_velocity: bool = False,
    cut_first: bool = False,
    share: float = 1.0,
) -> Pair:
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


@meta_gradient.mistake(
    en="The gradients of the training loss were taken as constants: without `create_graph=True` the second derivatives "
    "are missing. With one step the learning rate does not notice it; the initial weights do.",
    ru="Градиенты функции потерь на обучении взяты как константы: без `create_graph=True` теряются вторые производные. "
    "При одном шаге на производной по скорости обучения это не сказывается, а на градиенте по начальным весам "
    "сказывается.",
)
def first_order(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps, create_graph=False)


@meta_gradient.mistake(
    en="The momentum is missing: each step was made with the gradient alone.",
    ru="Потерян импульс: каждый шаг сделан только по градиенту.",
)
def without_momentum(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, 0.0, steps)


@meta_gradient.mistake(
    en="The velocity was detached between the steps. It depends on the earlier weights, too.",
    ru="Накопленная скорость между шагами отсоединена от графа. Но она тоже зависит от прежних весов.",
)
def velocity_without_a_graph(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps, cut_velocity=True)


@meta_gradient.mistake(
    en="The first velocity is a copy of the gradient without a graph, as in torch's own `SGD(differentiable=True)`.",
    ru="Первая накопленная скорость — копия градиента без графа, как в готовом `SGD(differentiable=True)`.",
)
def first_velocity_without_a_graph(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps, cut_first=True)


@meta_gradient.mistake(
    en="The steps go uphill: the weights were increased by `lr * velocity`.",
    ru="Шаги направлены вверх: к весам прибавлено `lr * velocity`.",
)
def uphill(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps, sign=1.0)


@meta_gradient.mistake(
    en="The step is that of Nesterov's momentum. Asked for is the plain one: `w - lr * velocity`.",
    ru="Шаг сделан с импульсом Нестерова, а нужен обычный: `w - lr * velocity`.",
)
def nesterov(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps, nesterov=True)


@meta_gradient.mistake(
    en="The training loss was differentiated at the end. The validation loss judges the steps.",
    ru="В конце продифференцирована функция потерь на обучении. Шаги оценивает функция потерь на валидации.",
)
def training_loss_at_the_end(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, t, w, lr, momentum, steps)


@meta_gradient.mistake(
    en="The two results are in the wrong order: the derivative with respect to the learning rate has to come first.",
    ru="Результаты переставлены: первой должна идти производная по скорости обучения.",
)
def swaps_the_results(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    by_lr, by_w = _unroll(t, v, w, lr, momentum, steps)
    return by_w, by_lr


@meta_gradient.mistake(
    en="There is one step less than `steps`.",
    ru="Шагов на один меньше, чем `steps`.",
)
def one_step_less(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Any:
    if steps == 1:
        return torch.zeros_like(lr), torch.func.grad(v)(w)
    return _unroll(t, v, w, lr, momentum, steps - 1)


@meta_gradient.mistake(
    en="Results are right, but the steps are run once for each of the two derivatives. One backward pass gives both.",
    ru="Результаты верны, но шаги выполнены отдельно для каждой из двух производных. Обе даёт один обратный проход.",
)
def once_for_each(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps)[0], _unroll(t, v, w, lr, momentum, steps)[1]


@meta_gradient.mistake(
    en="Matrices were built, of n × n elements: a Jacobian or Hessian of the steps. Products by backward passes are "
    "enough.",
    ru="Построены матрицы из n × n элементов: матрица Якоби или Гессе для шагов. Достаточно произведений, которые дают "
    "обратные проходы.",
)
def with_matrices(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    def last(w: Tensor, lr: Tensor) -> tuple[Tensor, Tensor]:
        velocity = torch.zeros_like(w)
        for _ in range(steps):
            velocity = momentum * velocity + torch.func.grad(t)(w)
            w = w - lr * velocity
        return w, w

    (by_w, by_lr), at = torch.func.jacrev(last, argnums=(0, 1), has_aux=True)(w, lr)
    g = torch.func.grad(v)(at)
    return by_lr @ g, g @ by_w


@meta_gradient.mistake(
    en="The results are right, but `w` and `lr` require grad now: the flag was set on the caller's tensors.",
    ru="Результаты верны, но `w` и `lr` теперь требуют градиента: флаг поставлен тензорам вызывающего кода.",
)
def flags_on_the_inputs(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    found = _unroll(t, v, w, lr, momentum, steps)
    w.requires_grad_(), lr.requires_grad_()
    return found


@meta_gradient.mistake(
    en="The results are right, but the numbers in `w` are no longer the initial weights: they were changed in place.",
    ru="Результаты верны, но в `w` лежат уже не начальные веса: они изменены на месте.",
)
def moves_the_weights(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    found = _unroll(t, v, w, lr, momentum, steps)
    w.sub_(lr * found[1])
    return found


@meta_gradient.mistake(
    en="The gradient was multiplied by `1 - momentum` on its way into the velocity. It is added as it is.",
    ru="Градиент умножен на `1 - momentum`, прежде чем попасть в скорость. Его нужно прибавлять без множителя.",
)
def dampened(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps, share=1 - momentum)


@meta_gradient.mistake(
    en="The second result is the gradient with respect to the last weights. Asked for are the initial ones.",
    ru="Второй результат — градиент по последним весам, а нужен по начальным.",
)
def by_the_last_weights(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps)[0], torch.func.grad(v)(_last(t, w, lr, momentum, steps))


@meta_gradient.mistake(
    en="Only one step was made, whatever `steps` is.",
    ru="Сделан только один шаг, какое бы ни было `steps`.",
)
def one_step(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, 1)


@meta_gradient.mistake(
    en="There is one step more than `steps`.",
    ru="Шагов на один больше, чем `steps`.",
)
def one_step_more(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps + 1)


@meta_gradient.mistake(
    en="Every gradient was taken at the initial weights. Each step takes it at the present ones.",
    ru="Все градиенты взяты в начальной точке. На каждом шаге нужен градиент в текущей.",
)
def always_at_the_start(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    first, lr = w.detach().requires_grad_(), lr.detach().requires_grad_()
    (g,) = torch.autograd.grad(t(first), first, create_graph=True)
    at, velocity = first, torch.zeros_like(w)
    for _ in range(steps):
        velocity = momentum * velocity + g
        at = at - lr * velocity
    by_lr, by_w = torch.autograd.grad(v(at), (lr, first))
    return by_lr, by_w


@meta_gradient.mistake(
    en="The derivative with respect to the learning rate comes from the last step alone. Each step uses `lr`.",
    ru="Производная по скорости обучения взята только от последнего шага. Но `lr` входит в каждый.",
)
def last_rate_alone(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    first, last = w.detach().requires_grad_(), lr.detach().requires_grad_()
    at, velocity = first, torch.zeros_like(w)
    for step in range(1, steps + 1):
        (g,) = torch.autograd.grad(t(at), at, create_graph=True)
        velocity = momentum * velocity + g
        at = at - (last if step == steps else last.detach()) * velocity
    by_lr, by_w = torch.autograd.grad(v(at), (last, first))
    return by_lr, by_w


@meta_gradient.mistake(
    en="The validation loss was taken at the initial weights: the derivative with respect to `lr` is 0. It judges the "
    "last ones.",
    ru="Функция потерь на валидации взята при начальных весах, и производная по `lr` равна 0. Её нужно взять при последних.",
)
def validates_the_start(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return torch.zeros_like(lr), torch.func.grad(v)(w)


@meta_gradient.mistake(
    en="The first velocity is a copy of the gradient without a graph: its dependence on the initial weights is lost.",
    ru="Первая накопленная скорость — копия градиента без графа: её зависимость от начальных весов потеряна.",
)
def first_gradient_without_a_graph(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    first, lr = w.detach().requires_grad_(), lr.detach().requires_grad_()
    at, velocity = first, torch.zeros_like(w)
    for step in range(steps):
        (g,) = torch.autograd.grad(t(at), at, create_graph=True)
        velocity = momentum * velocity + g if step else g.detach()
        at = at - lr * velocity
    by_lr, by_w = torch.autograd.grad(v(at), (lr, first))
    return by_lr, by_w


@meta_gradient.mistake(
    en="Each step was made with the velocity from before it. First comes the new velocity, then the step with it.",
    ru="Каждый шаг сделан с прежней накопленной скоростью. Сначала вычисляется новая скорость, и шаг делается с ней.",
)
def steps_with_the_old_velocity(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    first, lr = w.detach().requires_grad_(), lr.detach().requires_grad_()
    at, velocity = first, torch.zeros_like(w)
    for _ in range(steps):
        (g,) = torch.autograd.grad(t(at), at, create_graph=True)
        at = at - lr * velocity
        velocity = momentum * velocity + g
    by_lr, by_w = torch.autograd.grad(v(at), (lr, first), materialize_grads=True)
    return by_lr, by_w


@meta_gradient.mistake(
    en="Matrices were built, of n × n elements: a Jacobian or Hessian in each step. That also takes more calls than the limit "
    "allows. Products by backward passes are enough.",
    ru="Построены матрицы из n × n элементов: матрица Якоби или Гессе на каждом шаге. При этом и вызовов больше, чем "
    "допускается. Достаточно произведений, которые дают обратные проходы.",
)
def matrix_in_each_step(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    at, velocity, gradient = w.clone(), torch.zeros_like(w), torch.func.grad(t)
    tape: list[Pair] = []
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


@meta_gradient.mistake(
    en="The weights were detached between the steps: both derivatives go through the last step alone.",
    ru="Веса между шагами отсоединены от графа: обе производные учитывают только последний шаг.",
)
def weights_cut_between(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    lr, at, velocity = lr.detach().requires_grad_(), w, torch.zeros_like(w)
    for _ in range(steps):
        start = at.detach().requires_grad_()
        (g,) = torch.autograd.grad(t(start), start, create_graph=True)
        velocity = momentum * velocity.detach() + g
        at = start - lr * velocity
    by_lr, by_w = torch.autograd.grad(v(at), (lr, start))
    return by_lr, by_w


def _last(train_loss: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Tensor:
    """Return the weights after `steps` steps."""
    velocity = torch.zeros_like(w)
    for _ in range(steps):
        velocity = momentum * velocity + torch.func.grad(train_loss)(w)
        w = w - lr * velocity
    return w


@meta_gradient.mistake(
    en="`lr` has no path to the result, so its derivative is 0: the steps were made with the passed number, or with a "
    "detached copy.",
    ru="От `lr` к результату нет пути, и производная по нему равна 0: шаги сделаны с самим переданным числом или с "
    "отсоединённой копией.",
)
def rate_is_a_constant(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return torch.zeros_like(lr), _unroll(t, v, w, lr, momentum, steps)[1]


@meta_gradient.mistake(
    en="The derivative with respect to `lr` has the wrong sign.",
    ru="У производной по `lr` не тот знак.",
)
def turns_the_sign(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    by_lr, by_w = _unroll(t, v, w, lr, momentum, steps)
    return -by_lr, by_w


@meta_gradient.mistake(
    en="The weights were changed in place, and the graph needs the old ones. Write `w = w - lr * velocity`.",
    ru="Веса изменены на месте, а графу нужны прежние. Пишите `w = w - lr * velocity`.",
)
def changes_in_place(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    at, velocity = w.detach().requires_grad_(), torch.zeros_like(w)
    for _ in range(steps):
        (g,) = torch.autograd.grad(t(at), at, create_graph=True)
        velocity = momentum * velocity + g
        at -= lr * velocity
    return at, at


@meta_gradient.mistake(
    en="The weights were changed in place, and the graph needs the old ones. An optimizer of torch does so, too, also with "
    "`differentiable=True`. Write `w = w - lr * velocity`.",
    ru="Веса изменены на месте, а графу нужны прежние. Так поступает и оптимизатор torch, даже с `differentiable=True`. "
    "Пишите `w = w - lr * velocity`.",
)
def steps_by_the_optimizer(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    first, rate = w.detach().requires_grad_(), lr.detach().requires_grad_()
    moving = first.clone()
    optimizer = torch.optim.SGD([moving], lr=rate, momentum=momentum, differentiable=True)
    for _ in range(steps):
        (moving.grad,) = torch.autograd.grad(t(moving.clone()), moving, create_graph=True)
        optimizer.step()
    by_lr, by_w = torch.autograd.grad(v(moving), (rate, first))
    return by_lr, by_w


@meta_gradient.mistake(
    en="Numbers were returned. Asked for are two tensors.",
    ru="Возвращены числа, а нужны два тензора.",
)
def returns_numbers(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    by_lr, by_w = _unroll(t, v, w, lr, momentum, steps)
    return by_lr.item(), by_w.tolist()  # type: ignore[return-value]


@meta_gradient.mistake(
    en="One step is missing: with `steps` = 1 none is made, and `lr` is in no graph.",
    ru="Одного шага не хватает: при `steps` = 1 не сделано ни одного, и `lr` не попадает в граф.",
)
def no_step_at_all(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    return _unroll(t, v, w, lr, momentum, steps - 1)


@meta_gradient.mistake(*meta_gradient.mistakes["steps_by_the_optimizer"].says)
def changes_a_copy_in_place(t: Loss, v: Loss, w: Tensor, lr: Tensor, momentum: float, steps: int) -> Pair:
    first, rate = w.detach().requires_grad_(), lr.detach().requires_grad_()
    at, velocity = first.clone(), torch.zeros_like(w)
    for _ in range(steps):
        (g,) = torch.autograd.grad(t(at), at, create_graph=True)
        velocity = momentum * velocity + g
        at -= rate * velocity
    by_lr, by_w = torch.autograd.grad(v(at), (rate, first))
    return by_lr, by_w
