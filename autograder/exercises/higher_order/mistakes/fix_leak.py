# %%
import torch
from torch.nn.functional import mse_loss

from ..common import flat


def _by_grad(model, x, y, weight, penalise, create_graph=True):
    """Make a step without a leak. `penalise` returns the penalty for the list of gradients."""
    loss = mse_loss(model(x), y)
    gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=create_graph, retain_graph=True)
    model.zero_grad()
    (loss + weight * penalise(gradients)).backward()
    return loss.item()


def _squares(gradients):
    return sum((g**2).sum() for g in gradients)


def _by_backward(model, x, y, weight, retain_graph):
    model.zero_grad()
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)
    (weight * _squares([p.grad for p in model.parameters()])).backward(retain_graph=retain_graph)
    return loss.item()

# %% mistake="gradients_with_a_graph" theme="graph_life"
# The gradients are right, but they still have a graph: `backward(create_graph=True)` put them into `.grad` together
#     with it.
# Градиенты верны, но у них остался граф: метод `backward(create_graph=True)` записал их в `.grad` вместе с ним.
def fix_leak(model, x, y, weight):
    return _by_backward(model, x, y, weight, retain_graph=False)

# %% mistake="graph_with_saved_tensors" theme="graph_life"
# The gradients are right, but each has kept its graph with all saved tensors: nothing has freed it. The last
#     backward pass needs neither `create_graph=True` nor `retain_graph=True`.
# Градиенты верны, но у каждого остался граф со всеми сохранёнными тензорами: ничто его не освободило. Последнему
#     обратному проходу не нужны ни `create_graph=True`, ни `retain_graph=True`.
def fix_leak(model, x, y, weight):
    return _by_backward(model, x, y, weight, retain_graph=True)

# %% mistake="penalty_without_a_graph" theme="graph_life"
# The penalty adds nothing to the gradient. So it is when it is left out, or when it was computed from gradients
#     without a graph.
# Штраф ничего не прибавил к градиенту. Так бывает, когда он не учтён или вычислен из градиентов, у которых нет графа.
def fix_leak(model, x, y, weight):
    return _by_grad(model, x, y, weight, _squares, create_graph=False)

# %% mistake="penalty_alone" theme="missing"
# `.grad` holds the gradient of the penalty alone: that of the loss is missing.
# В `.grad` лежит градиент одного штрафа: градиента функции потерь не хватает.
def fix_leak(model, x, y, weight):
    loss = mse_loss(model(x), y)
    gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    model.zero_grad()
    (weight * _squares(gradients)).backward()
    return loss.item()

# %% mistake="adds_to_the_old_gradient" theme="accumulation"
# What `.grad` held before is still in it: the new gradient was added.
# В `.grad` осталось то, что там было раньше: новый градиент к нему прибавлен.
def fix_leak(model, x, y, weight):
    loss = mse_loss(model(x), y)
    gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    (loss + weight * _squares(gradients)).backward()
    return loss.item()

# %% mistake="penalises_the_lengths" theme="derivative"
# The lengths were penalised, not their squares: the square is missing.
# В штраф вошли длины, а не их квадраты: пропущено возведение в квадрат.
def fix_leak(model, x, y, weight):
    return _by_grad(model, x, y, weight, lambda gradients: sum(g.norm() for g in gradients))

# %% mistake="forgets_the_weight" theme="missing"
# The penalty was not multiplied by `weight`.
# Штраф не умножен на `weight`.
def fix_leak(model, x, y, weight):
    return _by_grad(model, x, y, 1.0, _squares)

# %% mistake="counts_the_loss_twice" theme="accumulation"
# The gradient of the loss is in `.grad` twice: the first backward pass put it there, and the second one added it
#     again.
# Градиент функции потерь попал в `.grad` дважды: его записал туда первый обратный проход, а второй прибавил ещё
#     раз.
def fix_leak(model, x, y, weight):
    loss = mse_loss(model(x), y)
    gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    model.zero_grad()
    (2 * loss + weight * _squares(gradients)).backward()
    return loss.item()

# %% mistake="returns_the_sum" theme="missing"
# The sum of loss and penalty was returned. Only the loss is asked for.
# Возвращена сумма функции потерь и штрафа, а нужна только функция потерь.
def fix_leak(model, x, y, weight):
    seen = []

    def penalise(gradients):
        penalty = _squares(gradients)
        seen.append(penalty.item())
        return penalty

    return _by_grad(model, x, y, weight, penalise) + weight * seen[0]

# %% mistake="returns_a_tensor" theme="missing"
# A tensor was returned. A Python number is asked for: `loss.item()`.
# Возвращён тензор, а нужно число Python: `loss.item()`.
def fix_leak(model, x, y, weight):
    return torch.tensor(_by_grad(model, x, y, weight, _squares))

# %% mistake="clears_afterwards" theme="order"
# After the call `.grad` is empty: the gradients were cleared after the backward pass instead of before it.
# После вызова поле `.grad` пусто: градиенты обнулены после обратного прохода, а не до него.
def fix_leak(model, x, y, weight):
    loss = _by_grad(model, x, y, weight, _squares)
    model.zero_grad()
    return loss

# %% mistake="penalises_the_old_gradient" theme="accumulation"
# What `.grad` held before is still in it, and it has entered the penalty, too.
# В `.grad` осталось то, что там было раньше, и оно попало ещё и в штраф.
def fix_leak(model, x, y, weight):
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)
    (weight * _squares([p.grad for p in model.parameters()])).backward(retain_graph=True)
    return loss.item()

# %% mistake="penalises_the_length_of_all" theme="derivative"
# The length of all gradients together was penalised, not its square.
# В штраф вошла длина всех градиентов вместе, а не её квадрат.
def fix_leak(model, x, y, weight):
    return _by_grad(model, x, y, weight, lambda gradients: flat(gradients).norm())

# %% mistake="means_of_squares" theme="scaling"
# The penalty is made of means of the squares. The squares are summed.
# Штраф составлен из средних значений квадратов. Квадраты нужно складывать.
def fix_leak(model, x, y, weight):
    return _by_grad(model, x, y, weight, lambda gradients: sum((g**2).mean() for g in gradients))

# %% mistake="squares_of_sums" theme="order"
# The entries of a gradient were added and the sum was squared. Each entry is squared, and then they are added.
# Элементы градиента сложены, а потом сумма возведена в квадрат. Нужно возвести в квадрат каждый элемент и сложить.
def fix_leak(model, x, y, weight):
    return _by_grad(model, x, y, weight, lambda gradients: sum(g.sum() ** 2 for g in gradients))

# %% mistake="without_the_biases" theme="missing"
# The biases are missing in the penalty: it takes the gradients of all parameters.
# В штраф не вошли смещения, а нужны градиенты всех параметров.
def fix_leak(model, x, y, weight):
    return _by_grad(model, x, y, weight, lambda gradients: _squares([g for g in gradients if g.dim() > 1]))

# %% mistake="penalises_the_weights" theme="derivative"
# The weights were penalised, not the gradients.
# В штраф вошли веса, а не градиенты.
def fix_leak(model, x, y, weight):
    return _by_grad(model, x, y, weight, lambda _: _squares(list(model.parameters())))

# %% mistake="keeps_the_graph_elsewhere" theme="graph_life"
# Gradients and loss are right, but memory stays in use: something outlives the call, such as a list or an attribute
#     of the model that refers to a tensor with a graph.
# Градиенты и значение верны, но часть памяти остаётся занятой: что-то сохраняется после вызова, например список или
#     атрибут модели со ссылкой на тензор с графом.
def fix_leak(model, x, y, weight):
    kept = model.__dict__.setdefault("kept", [])

    def penalise(gradients):
        kept.extend(gradients)
        return _squares(gradients)

    return _by_grad(model, x, y, weight, penalise)

# %% mistake="steps_as_well" theme="own"
# The weights have changed during the call. The step computes gradients and leaves the weights alone.
# За время вызова изменились веса. Функция вычисляет градиенты, а веса не меняет.
def fix_leak(model, x, y, weight):
    loss = _by_grad(model, x, y, weight, _squares)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.01 * parameter.grad
    return loss

# %% mistake="only_frees" theme="graph_life"
# The first error is back: a pass goes through a graph that is freed. So it is when the inner gradient is computed
#     without `create_graph=True`, or when what is in `.grad` from the step before still has its graph: clear it first.
# Вернулась первая ошибка: проход идёт по графу, где сохранённое уже освобождено. Так бывает, когда внутренний
#     градиент вычислен без `create_graph=True` или когда у того, что осталось в `.grad` с прошлого шага, есть граф:
#     сначала обнулите это поле.
def fix_leak(model, x, y, weight):
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)
    (weight * _squares([p.grad for p in model.parameters()])).backward()
    return loss.item()

# %% mistake="clears_after_the_penalty" theme="order"
# What `.grad` held before has entered the penalty: it is cleared only afterwards.
# В штраф вошло то, что лежало в `.grad` раньше: обнуляется оно только потом.
def fix_leak(model, x, y, weight):
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)
    penalty = _squares([p.grad for p in model.parameters()])
    model.zero_grad()
    (loss + weight * penalty).backward()
    return loss.item()
