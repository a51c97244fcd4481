# %%
import torch


def _make_weight():
    return torch.tensor([1.5, -2.0], requires_grad=True)

# %% mistake="never_uses_it" theme="test"
# The loss stays the same when 1 is added to every entry of `t`. It does not use the numbers, or only what the
#     addition leaves alone, such as the place of the largest.
# Функция потерь не меняется, если прибавить 1 к каждому элементу `t`. Числа в ней не использованы или использовано
#     лишь то, чего сложение не меняет, например место наибольшего элемента.
def leaf_without_gradient():
    other = _make_weight()
    return _make_weight(), lambda t: other.sum()

# %% mistake="draws_at_random" theme="test"
# The loss changes by itself: it draws random numbers, counts its calls, edits `t` or looks at something other than
#     the numbers of `t`.
# Функция потерь меняется от вызова к вызову: в ней есть случайные числа, счётчик вызовов, изменение самого `t` или
#     что-то ещё помимо чисел в `t`.
def leaf_without_gradient():
    other = _make_weight()
    return _make_weight(), lambda t: (other * torch.rand(2)).sum()

# %% mistake="returns_a_vector" theme="axes"
# The loss is a vector. `backward()` needs one number: the entries have to be summed.
# Значение функции потерь — вектор. Для `backward()` нужно одно число: элементы нужно сложить.
def leaf_without_gradient():
    other = _make_weight()
    return _make_weight(), lambda t: other * t.detach()

# %% mistake="switches_the_leaf_off" theme="recording"
# The loss switches `requires_grad` of `t` off. `t` must be a leaf that requires grad before the call and after it.
# Функция потерь выключает `requires_grad` у `t`. До вызова и после него `t` должен быть листом, который требует
#     градиента.
def leaf_without_gradient():
    other = _make_weight()
    return _make_weight(), lambda t: (other * t.requires_grad_(False)).sum()

# %% mistake="takes_a_constant" theme="recording"
# `t` is a constant. It must require grad and still get nothing.
# Тензор `t` — константа. Он должен требовать градиента и всё же ничего не получить.
def leaf_without_gradient():
    other = _make_weight()
    return torch.ones(2), lambda t: (other * t).sum()

# %% mistake="takes_a_result" theme="recording"
# `t` is a result and no leaf. That such a tensor gets no `.grad` is the rule, not an exception.
# Тензор `t` — результат операции, а не лист. То, что такой тензор не получает `.grad`, — правило, а не исключение.
def leaf_without_gradient():
    return _make_weight() * 2, lambda t: t.sum()

# %% mistake="cuts_everything" theme="recording"
# Nothing is left of the graph: `backward()` has nowhere to go and raises. Some other leaf has to require grad.
# От графа ничего не осталось: проходу `backward()` некуда идти, и возникает ошибка. Нужен ещё один лист, который
#     требует градиента.
def leaf_without_gradient():
    return _make_weight(), lambda t: t.detach().sum()

# %% mistake="finds_a_zero" theme="test"
# In `t.grad` there are zeros, not None. Zero is a gradient, too.
# В `t.grad` лежат нули, а не None. Ноль — тоже градиент.
def leaf_without_gradient():
    return _make_weight(), lambda t: t.round().sum()

# %% mistake="keeps_the_history" theme="recording"
# The history of `t` reaches the loss along with its numbers, so the gradient reaches `t`.
# Вместе с числами до функции потерь доходит и история `t`. Поэтому градиент доходит до `t`.
def leaf_without_gradient():
    return _make_weight(), lambda t: t.square().sum()

# %% mistake="returns_the_value" theme="missing"
# The second of the pair is the value of the loss. Asked for is the function that computes it from `t`.
# Второе в паре — уже вычисленное значение функции потерь, а нужна сама функция, которая вычисляет его по `t`.
def leaf_without_gradient():
    t, other = _make_weight(), _make_weight()
    return t, (other * t.detach()).sum()

# %% mistake="swaps_the_pair" theme="missing"
# The pair is the wrong way round: the tensor `t` comes first, the function second.
# Пара переставлена: сначала идёт тензор `t`, потом функция.
def leaf_without_gradient():
    return lambda t: t.detach().sum(), _make_weight()

# %% mistake="returns_nothing" theme="return"
# Nothing was returned: `return` is missing.
# Функция ничего не возвращает: забыт `return`.
def leaf_without_gradient():
    return None

# %% mistake="computes_a_number" theme="recording"
# The loss is a Python number. It has no `backward()`: `item()` takes it out of the graph.
# Значение функции потерь — число Python. У него нет `backward()`: `item()` выводит его из графа.
def leaf_without_gradient():
    return _make_weight(), lambda t: t.sum().item()

# %% mistake="goes_backward_itself" theme="graph_life"
# `backward()` is called inside the loss. The caller calls it, too, and finds the graph freed.
# Метод `backward()` вызван внутри функции потерь. Его вызовут и снаружи, а сохранённое в графе уже освобождено.
def leaf_without_gradient():
    def loss(t):
        value = t.square().sum()
        value.backward()
        t.grad = None
        return value

    return _make_weight(), loss
