# %%
import torch


# %% mistake="the_guard_sees_it" theme="derivative"
# The guard fires: the gradient that arrives in `f` depends on `x`, so it requires grad.
# Защита срабатывает: пришедший в `f` градиент зависит от `x` и потому требует градиента.
def expose_once(f, x):
    return (x * f(x)).sum() + (x**2).sum()

# %% mistake="alone" theme="derivative"
# The first gradient is a constant to autograd, and the second pass ends in an error. Something else has to bring a
#     graph.
# Первая производная для autograd — константа, и второй проход кончается ошибкой. Граф должен прийти откуда-то ещё.
def expose_once(f, x):
    return f(x).sum()

# %% mistake="beside_it_something_linear" theme="derivative"
# The other terms have a constant gradient as well, so the first gradient is a constant to autograd, and the second
#     pass ends in an error.
# У остальных слагаемых градиент тоже постоянен, поэтому первая производная для autograd — константа, и второй проход
#     кончается ошибкой.
def expose_once(f, x):
    return f(x).sum() + (3 * x).sum()

# %% mistake="without_the_function" theme="test"
# The gradient of the loss does not depend on `f`.
# Градиент этой функции потерь от `f` не зависит.
def expose_once(f, x):
    return (x**2).sum()

# %% mistake="no_scalar" theme="axes"
# What came back is no loss: a single number with a graph and a finite gradient is asked for.
# Возвращена не функция потерь: нужно одно число, у которого есть граф и конечный градиент.
def expose_once(f, x):
    return torch.stack([f(x), x**2])

# %% mistake="no_scalar_but_for_numbers" like="no_scalar"
def expose_once(f, x):
    return f(x) + x**2

# %% mistake="the_guard_alone_sees_it" theme="derivative"
# The guard fires, and there is no other term: the gradient that arrives in `f` depends on `x`, and so requires grad.
# Защита срабатывает, а других слагаемых нет: пришедший в `f` градиент зависит от `x` и потому требует градиента.
def expose_once(f, x):
    return (f(x) ** 2).sum()

# %% mistake="factor_without_a_graph" theme="own"
# The second derivative is right: the result of `f` enters as a factor without a graph, so nothing is lost in its
#     second derivative.
# Вторая производная верна: результат `f` входит в функцию потерь множителем без графа, и терять нечего.
def expose_once(f, x):
    return (f(x).detach() * x**2).sum()
