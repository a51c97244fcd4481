# %%
import torch


def _losses(w, x, y):
    h = torch.tanh(x @ w)
    return ((h - y) ** 2).mean(), (h**2).mean()

# %% mistake="second_pass_raises" theme="graph_life"
# What a backward pass needs has been freed. So it is when there are two passes and `retain_graph=True` is gone, or
#     when a tensor of an earlier graph is used.
# То, что нужно обратному проходу, уже освобождено. Так бывает, когда проходов два, а аргумента `retain_graph=True`
#     нет, или когда взят тензор из прежнего графа.
def fix_two_losses(w, x, y, share):
    fit, size = _losses(w, x, y)
    fit.backward()
    (share * size).backward()
    return fit, size

# %% mistake="retains_for_the_first" theme="cost"
# There are still two backward passes: the part of the graph that the losses share is gone through twice, or was
#     even made twice.
# Обратных проходов по-прежнему два: общую часть графа проходят дважды или даже дважды строят.
def fix_two_losses(w, x, y, share):
    fit, size = _losses(w, x, y)
    fit.backward(retain_graph=True)
    (share * size).backward()
    return fit, size

# %% mistake="retains_out_of_habit" theme="graph_life"
# There is one pass now, but all saved values stay as long as one of the losses is alive: the pass kept its graph
#     (`retain_graph=True`, `create_graph=True`), or the losses come from a second forward pass.
# Проход теперь один, но, пока существует хотя бы один из двух тензоров потерь, в памяти остаётся всё сохранённое:
#     проход его не освободил (`retain_graph=True`, `create_graph=True`), или потери взяты из второго прямого прохода.
def fix_two_losses(w, x, y, share):
    fit, size = _losses(w, x, y)
    (fit + share * size).backward(retain_graph=True)
    return fit, size

# %% mistake="forgets_the_share" theme="missing"
# The second loss went in without its weight `share`.
# Вторая функция потерь вошла в сумму без множителя `share`.
def fix_two_losses(w, x, y, share):
    fit, size = _losses(w, x, y)
    torch.autograd.backward([fit, size])
    return fit, size

# %% mistake="first_loss_only" theme="missing"
# `w.grad` has the gradient of the first loss alone: there is no backward pass from the second, or it is cut off
#     from `w`.
# В `w.grad` лежит градиент только первой функции потерь: от второй обратного прохода нет или она отсоединена от
#     `w`.
def fix_two_losses(w, x, y, share):
    fit, size = _losses(w, x, y)
    fit.backward()
    return fit, size

# %% mistake="second_loss_only" theme="accumulation"
# The gradient of the second loss alone is left: that of the first was cleared or never computed.
# Остался градиент только второй функции потерь: градиент первой стёрт или не вычислен.
def fix_two_losses(w, x, y, share):
    fit, size = _losses(w, x, y)
    (share * size).backward()
    return fit, size

# %% mistake="retains_for_both" theme="graph_life"
# Only the wording has changed: there are still two backward passes, and each of them keeps what the graph has
#     saved.
# Код лишь записан по-другому: обратных проходов по-прежнему два, и ни один не даёт освободить то, что сохранил граф.
def fix_two_losses(w, x, y, share):
    fit, size = _losses(w, x, y)
    (share * size).backward(retain_graph=True)
    fit.backward(retain_graph=True)
    return fit, size

# %% mistake="swaps_the_pair" theme="missing"
# The two values were returned in the wrong order.
# Два значения возвращены не в том порядке.
def fix_two_losses(w, x, y, share):
    fit, size = _losses(w, x, y)
    (fit + share * size).backward()
    return size, fit

# %% mistake="returns_the_weighted_size" theme="missing"
# `share * size` was returned in place of `size`.
# Вместо `size` возвращено `share * size`.
def fix_two_losses(w, x, y, share):
    fit, size = _losses(w, x, y)
    (fit + share * size).backward()
    return fit, share * size

# %% mistake="applies_the_share_twice" theme="scaling"
# `share` was applied twice.
# Множитель `share` применён дважды.
def fix_two_losses(w, x, y, share):
    fit, size = _losses(w, x, y)
    torch.autograd.backward([fit, share * size], [None, torch.full_like(size, share)])
    return fit, size

# %% mistake="leaves_grad_empty" theme="missing"
# No gradient gets into `w.grad`: there is no backward pass, or `torch.autograd.grad` returns the gradient and
#     leaves `.grad` alone.
# Градиент не попадает в `w.grad`: обратного прохода нет, или его делает функция `torch.autograd.grad`, которая
#     возвращает градиент, а `.grad` не меняет.
def fix_two_losses(w, x, y, share):
    fit, size = _losses(w, x, y)
    torch.autograd.grad(fit + share * size, w)
    return fit, size

# %% mistake="computes_it_by_hand" theme="cost"
# The gradient is right, but it was computed by hand: one backward pass of autograd is asked for, and there is none.
# Градиент верен, но вычислен вручную: обратного прохода autograd не было, а нужен один.
def fix_two_losses(w, x, y, share):
    with torch.no_grad():
        h = torch.tanh(x @ w)
        fit, size = _losses(w, x, y)
        w.grad = x.T @ (2 * (h - y + share * h) / h.numel() * (1 - h**2))
    return fit.item(), size.item()

# %% mistake="averages_the_losses" theme="scaling"
# The backward pass starts from the average of the two losses, not from their sum: the gradient is half of it.
# Обратный проход начат от среднего двух значений функций потерь, а не от их суммы: градиент вдвое меньше.
def fix_two_losses(w, x, y, share):
    fit, size = _losses(w, x, y)
    ((fit + share * size) / 2).backward()
    return fit, size

# %% mistake="shares_the_first" theme="derivative"
# `share` multiplies the first loss, not the second.
# На `share` умножена первая функция потерь, а не вторая.
def fix_two_losses(w, x, y, share):
    fit, size = _losses(w, x, y)
    (share * fit + size).backward()
    return fit, size

# %% mistake="gives_the_gradient_a_graph" theme="graph_life"
# `create_graph=True` gives `w.grad` a graph of its own. As long as `w.grad` is there, all saved values are.
# Из-за `create_graph=True` у `w.grad` появился свой граф. Пока хранится `w.grad`, хранится и всё сохранённое.
def fix_two_losses(w, x, y, share):
    fit, size = _losses(w, x, y)
    (fit + share * size).backward(create_graph=True)
    return fit.detach(), size.detach()

# %% mistake="assigns_a_gradient_with_a_graph" like="gives_the_gradient_a_graph"
def fix_two_losses(w, x, y, share):
    fit, size = _losses(w, x, y)
    (w.grad,) = torch.autograd.grad(fit + share * size, w, create_graph=True)
    return fit, size
