# %%
import torch


def _gradient(f, x, create_graph=True):
    return torch.autograd.grad(f(x), x, create_graph=create_graph)[0]


def _hessian(f, x):
    """Return the Hessian by backward passes, or None if there is no second derivative."""
    try:
        found = torch.autograd.functional.hessian(f, x)
        return found
    except RuntimeError:
        return None


def _by_differences(f, x, h=1e-05):
    """Return the Hessian by central differences of the gradient."""
    columns = []
    for step in h * torch.eye(len(x), dtype=x.dtype):
        there, back = ((x + sign * step).detach().requires_grad_() for sign in (1, -1))
        columns.append((_gradient(f, there, False) - _gradient(f, back, False)) / (2 * h))
    return torch.stack(columns, 1)


def checks_the_second(f, x):
    try:
        return torch.autograd.gradgradcheck(f, (x.detach().requires_grad_(),))
    except RuntimeError:
        return False

# %% mistake="looks_at_the_flag" theme="test"
# That the gradient requires grad was taken for a second derivative. The flag promises nothing: the operation may
#     lack a derivative, or have a wrong one.
# Признаком второй производной сочтено то, что градиент сам требует градиента. Но этот флаг ничего не обещает: у
#     операции может не быть производной, или она неверна.
def has_second_derivative(f, x):
    return _gradient(f, x.requires_grad_()).requires_grad

# %% mistake="waits_for_an_error" theme="test"
# What counts here is that no error is raised. A second derivative can be wrong without any.
# Тест проверяет лишь, что ошибки не возникает. Но вторая производная бывает неверной и без ошибки.
def has_second_derivative(f, x):
    g = _gradient(f, x.requires_grad_())
    if g.requires_grad:
        torch.autograd.grad(g.sum(), x)
    return True

# %% mistake="checks_the_first" theme="test"
# Every function is accepted. Is it `gradcheck`, which compares only the first derivative with numbers? The second
#     one needs `gradgradcheck`. Or does an error count as True?
# Принимается любая функция. Не вызвана ли `gradcheck`, которая сверяет с конечными разностями только первую
#     производную? Для второй нужна `gradgradcheck`. Или ответом True считается и ошибка?
def has_second_derivative(f, x):
    return torch.autograd.gradcheck(f, (x.requires_grad_(),))

# %% mistake="refuses_all" theme="test"
# Every function is refused.
# Отвергается любая функция.
def has_second_derivative(f, x):
    return False

# %% mistake="refuses_the_linear" theme="test"
# A linear function is refused. Its gradient has no graph, and rightly so: its second derivative is 0.
# Отвергается линейная функция. У её градиента нет графа, и это правильно: её вторая производная равна 0.
def has_second_derivative(f, x):
    x = x.requires_grad_()
    return _gradient(f, x).requires_grad and torch.autograd.gradgradcheck(f, (x,))

# %% mistake="compares_the_diagonal" theme="test"
# Only the diagonal was compared, and so wrong mixed derivatives go unnoticed.
# Сравнивается только диагональ, поэтому ошибка в смешанных производных остаётся незамеченной.
def has_second_derivative(f, x):
    x, h = x.requires_grad_(), 1e-5
    g = _gradient(f, x)
    for i, step in enumerate(h * torch.eye(len(x), dtype=x.dtype)):
        there, back = ((x + sign * step).detach().requires_grad_() for sign in (1, -1))
        slope = (_gradient(f, there, False)[i] - _gradient(f, back, False)[i]) / (2 * h)
        found = torch.zeros_like(x)
        if g.requires_grad:
            (found,) = torch.autograd.grad(g[i], x, retain_graph=True, materialize_grads=True)
        if abs(float(found[i] - slope)) > 1e-4:
            return False
    return True

# %% mistake="accepts_all" theme="test"
# Every function is accepted, and none is called.
# Принимается любая функция, причём ни одна не вызывается.
def has_second_derivative(f, x):
    return True

# %% mistake="compares_the_sums" theme="test"
# Sums over the second derivatives were compared, such as $H$ times a vector of ones. Mixed derivatives can be wrong
#     although their sums are right.
# Сравниваются суммы вторых производных, например $H$, умноженная на вектор из единиц. Смешанные производные бывают
#     неверны и тогда, когда их суммы верны.
def has_second_derivative(f, x):
    found = _hessian(f, x)
    return found is not None and torch.allclose(found.sum(1), _by_differences(f, x).sum(1), atol=1e-4)

# %% mistake="looks_at_the_symmetry" theme="test"
# What counts here is that the Hessian is symmetric. A wrong one can be symmetric, too.
# Тест проверяет лишь, что матрица Гессе симметрична. Но симметричной бывает и неверная.
def has_second_derivative(f, x):
    found = _hessian(f, x)
    return found is not None and torch.allclose(found, found.T)

# %% mistake="at_another_point" theme="test"
# The test was made at another point. Asked for are the second derivatives at `x`.
# Проверка сделана в другой точке. Нужны вторые производные в точке `x`.
def has_second_derivative(f, x):
    return checks_the_second(f, torch.full_like(x, 0.5))

# %% mistake="no_graph_is_linear" theme="test"
# A gradient without a graph was taken for that of a linear function. A wrong function can have such a gradient,
#     too; only numbers tell.
# Градиент без графа сочтён градиентом линейной функции. Но такой градиент бывает и у неверной функции; отличить её
#     можно только по числам.
def has_second_derivative(f, x):
    x = x.requires_grad_()
    return not _gradient(f, x).requires_grad or torch.autograd.gradgradcheck(f, (x,))

# %% mistake="without_a_tolerance" theme="test"
# Right functions are refused, though not all. Differences have rounding errors: a comparison with them needs a
#     tolerance, and the step must not be too small.
# Отвергаются и верные функции, хотя не все. У разностей есть ошибки округления: сравнивать с ними нужно с
#     допуском, а шаг не должен быть слишком мал.
def has_second_derivative(f, x):
    found = _hessian(f, x)
    return found is not None and torch.equal(found, _by_differences(f, x))

# %% mistake="too_wide" theme="test"
# The tolerance is so wide that second derivatives wrong by a tenth are accepted.
# Допуск так велик, что принимаются вторые производные с ошибкой в одну десятую.
def has_second_derivative(f, x):
    found = _hessian(f, x)
    return found is not None and torch.allclose(found, _by_differences(f, x), rtol=0.5, atol=0.5)

# %% mistake="refuses_zeros" theme="test"
# A linear function is refused: a second derivative of 0 counts as wrong. Wrong ones that are not 0 are accepted.
# Отвергается линейная функция: вторая производная, равная 0, сочтена неверной. А неверные, не равные 0,
#     принимаются.
def has_second_derivative(f, x):
    try:
        return bool(torch.autograd.functional.hessian(f, x).any())
    except RuntimeError:
        return False

# %% mistake="asks_torch_func" theme="test"
# A right function with a custom Function is refused: `torch.func` does not run a `forward(ctx, ...)`.
#     `torch.autograd` does.
# Отвергается верная функция с пользовательской Function: средства `torch.func` не выполняют `forward(ctx, ...)`, а
#     средства `torch.autograd` выполняют.
def has_second_derivative(f, x):
    try:
        found = torch.func.hessian(f)(x)
        steps = 1e-5 * torch.eye(len(x), dtype=x.dtype)
        rows = [(torch.func.grad(f)(x + step) - torch.func.grad(f)(x - step)) / 2e-5 for step in steps]
        return torch.allclose(found, torch.stack(rows), atol=1e-4)
    except RuntimeError:
        return False

# %% mistake="calls_and_refuses_all" like="refuses_all"
def has_second_derivative(f, x):
    f(x)
    return False

# %% mistake="trips_over_torch_func" like="asks_torch_func"
def has_second_derivative(f, x):
    found = torch.func.hessian(f)(x)
    return torch.allclose(found, _by_differences(f, x), atol=1e-4)

# %% mistake="without_the_flag" theme="test"
# `gradgradcheck` was given an input that does not require grad, such as `x` as it came.
# Функция `gradgradcheck` получила вход, который не требует градиента, например `x` как есть.
def has_second_derivative(f, x):
    return torch.autograd.gradgradcheck(f, (x,))

# %% mistake="at_zero" like="at_another_point"
def has_second_derivative(f, x):
    return checks_the_second(f, torch.zeros_like(x))

# %% mistake="takes_an_error_for_a_no" theme="test"
# A linear function is refused: its gradient has no graph, so asking for the second derivative raises an error, and an
#     error counts as a no. And where no error comes, a wrong second derivative is accepted.
# Отвергается линейная функция: у её градиента нет графа, поэтому запрос второй производной завершается ошибкой, а
#     ошибка сочтена отказом. А если ошибки нет, принимается и неверная вторая производная.
def has_second_derivative(f, x):
    x = x.requires_grad_()
    try:
        torch.autograd.grad(_gradient(f, x).sum(), x)
    except RuntimeError:
        return False
    return True
