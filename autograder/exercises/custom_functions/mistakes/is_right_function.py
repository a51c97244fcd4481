# %%
import warnings
from functools import cache

import torch
from torch.autograd.gradcheck import gradcheck, gradgradcheck

_INPUTS = {"both signs": [0.5, -2.0], "positive": [0.5, 2.0], "zero": [0.0, 0.0]}  # values of x


def _inputs(kind="both signs", by_k=True):
    x, k = (torch.tensor(numbers, dtype=torch.float64) for numbers in (_INPUTS[kind], [0.25, -0.75]))
    return x.requires_grad_(), k.requires_grad_(by_k)


@cache
def _run_checks(function, *, value=True, second=True, edit=True, kind="both signs", by_k=True):
    """Run a right test on `function`, and return whether `function` passes.

    If `value`, `second` or `edit` is False, a part of the test is left out: value, second derivative, unchanged
    grad_output. `kind` names the values of x. If `by_k` is False, k does not require grad.
    """
    x, k = _inputs(kind, by_k)
    if value and not torch.allclose(function.apply(x, k), x * torch.exp(-k)):
        return False
    if not gradcheck(function.apply, (x, k), raise_exception=False):
        return False
    if second and not gradgradcheck(function.apply, (x, k), raise_exception=False):
        return False
    v = torch.tensor([0.5, 2.0], dtype=torch.float64)
    if edit:
        torch.autograd.grad(function.apply(x, k), (x, k) if by_k else x, v)
    return v.tolist() == [0.5, 2.0]

# %% mistake="accepts_everything" theme="test"
# The test accepts everything: nothing is compared, or the comparison is not returned.
# Тест принимает всё: ничего не сравнивается или результат сравнения не возвращается.
def is_right_function(function):
    return True

# %% mistake="refuses_everything" theme="test"
# The test refuses every right Function. `gradcheck` wants float64 and inputs that require grad.
# Тест отвергает все правильные функции. Для `gradcheck` нужны float64 и входы, которые требуют градиента.
def is_right_function(function):
    return False

# %% mistake="compares_exactly" theme="test"
# The test accepts some right Functions and refuses others. They save different tensors and differ in the last
#     digits: `torch.allclose` accepts that, `torch.equal` and `==` do not.
# Одни правильные функции тест принимает, а другие отвергает. Они хранят разные тензоры, и последние цифры у них
#     расходятся: `torch.allclose` это допускает, а `torch.equal` и `==` — нет.
def is_right_function(function):
    x, k = torch.linspace(-3, 3, 50), torch.linspace(-1, 2, 50)
    return torch.equal(function.apply(x, k), x * torch.exp(-k)) and _run_checks(function)

# %% mistake="forgets_to_return" theme="return"
# The test returns None for a right Function: a `return True` is missing.
# Для правильной функции тест возвращает None: забыт `return True`.
def is_right_function(function):
    _run_checks(function)

# %% mistake="calls_an_instance" theme="own"
# An instance of the class was made. `apply` is called on the class itself: `function.apply(x, k)`.
# Создан экземпляр класса. Метод `apply` вызывают у самого класса: `function.apply(x, k)`.
def is_right_function(function):
    x, k = _inputs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.allclose(function()(x, k), x * torch.exp(-k))

# %% mistake="gradcheck_alone" theme="test"
# The test relies on `gradcheck` alone. It compares `backward` with `forward`, so a wrong value with its right
#     derivative would pass; nor does it look at second derivatives or at `grad_output` afterwards.
# Проверка сводится к `gradcheck`. Она сравнивает `backward` с `forward`, поэтому неверное значение с верной для
#     него производной прошло бы; вторую производную и то, изменился ли `grad_output`, она тоже не проверяет.
def is_right_function(function):
    return _run_checks(function, value=False, second=False, edit=False)

# %% mistake="both_gradchecks_alone" theme="test"
# A wrong value and a changed `grad_output` pass. `gradcheck` and `gradgradcheck` look at neither; a comparison of
#     your own needs numbers that show the difference, such as a `k` that is not 0.
# Тест пропускает и неверное значение, и изменённый `grad_output`. Функции `gradcheck` и `gradgradcheck` этого не
#     проверяют, а для собственного сравнения нужны числа, на которых разница видна: например, `k`, не равный 0.
def is_right_function(function):
    return _run_checks(function, value=False, edit=False)

# %% mistake="value_and_first_alone" theme="test"
# Only the value and the first derivatives are checked: neither second derivatives nor what became of `grad_output`.
# Проверяются только значение и первые производные: вторых производных и того, не изменился ли `grad_output`, тест
#     не касается.
def is_right_function(function):
    return _run_checks(function, second=False, edit=False)

# %% mistake="never_compares_the_value" theme="test"
# The value is not compared with the formula. Another function with its own right derivative passes.
# Значение не сравнивается с формулой. Такой тест пройдёт и другая функция с верной для неё производной.
def is_right_function(function):
    return _run_checks(function, value=False)

# %% mistake="only_first" theme="test"
# A wrong second derivative passes. `gradgradcheck` sees it, or an expression composed with the Function.
# Неверная вторая производная проходит проверку. Её обнаружит `gradgradcheck` или выражение, в которое эта функция
#     входит.
def is_right_function(function):
    return _run_checks(function, second=False)

# %% mistake="never_looks_at_grad_output" theme="test"
# A changed `grad_output` passes, and `gradcheck` does not see it. Compare it after a plain backward pass: in the
#     dtype of the result, or `backward` gets a copy, and with a `k` and a `grad_output` that are not 0.
# Тест пропускает изменённый `grad_output`, и `gradcheck` этого не видит. Сравните его после обычного обратного
#     прохода: dtype нужен как у результата, иначе `backward` получит копию, а `k` и `grad_output` не должны быть
#     нулевыми.
def is_right_function(function):
    return _run_checks(function, edit=False)

# %% mistake="only_positive" theme="test"
# All `x` of the test are positive, so a wrong sign goes unseen.
# Все `x` в тесте положительны, поэтому неверный знак остаётся незамеченным.
def is_right_function(function):
    return _run_checks(function, kind="positive")

# %% mistake="only_sums" theme="test"
# The test sums the result. `grad_output` is then all ones, and a Function that leaves it out passes.
# Результат в тесте суммируется. Тогда `grad_output` состоит из единиц, и функция, в которой он не учтён, проходит
#     тест.
def is_right_function(function):
    x, k = _inputs()
    y = function.apply(x, k)
    found = torch.autograd.grad(y.sum(), (x, k), allow_unused=True)
    wanted = torch.autograd.grad((x * torch.exp(-k)).sum(), (x, k))
    return torch.allclose(y, x * torch.exp(-k)) and all(
        a is not None and torch.allclose(a, b) for a, b in zip(found, wanted)
    )

# %% mistake="only_the_value" theme="test"
# Only the value is compared with the formula. No derivative is looked at.
# С формулой сравнивается только значение. Производные не проверяются.
def is_right_function(function):
    x, k = _inputs()
    return torch.allclose(function.apply(x, k), x * torch.exp(-k))

# %% mistake="only_twice_by_k" theme="test"
# Of the second derivatives only the one by `k` and `k` is compared. The one by `x` and then `k` can be wrong alone.
# Из вторых производных сравнивается только производная по `k` и `k`. Неверной может быть и одна лишь производная
#     сначала по `x`, а потом по `k`.
def is_right_function(function):
    if not _run_checks(function, second=False):
        return False
    x, k = _inputs()
    (first,) = torch.autograd.grad(function.apply(x, k).sum(), k, create_graph=True)
    try:
        (second,) = torch.autograd.grad(first.sum(), k)
    except RuntimeError:
        return False
    return torch.allclose(second, x * torch.exp(-k))

# %% mistake="each_by_its_own_input" theme="test"
# Each gradient is differentiated with respect to its own input alone. The gradient of `k` depends on `x` as well, and
#     that derivative can be wrong alone.
# Каждый градиент дифференцируется только по своему входу. Но градиент по `k` зависит и от `x`, и неверной может быть
#     одна эта производная.
def is_right_function(function):
    if not _run_checks(function, second=False):
        return False
    x, k = _inputs()
    y = function.apply(x, k)
    for_x, for_k = torch.autograd.grad(y.sum(), (x, k), create_graph=True)
    try:
        (twice,) = torch.autograd.grad(for_x.sum(), x, retain_graph=True, materialize_grads=True)
        (by_k,) = torch.autograd.grad(for_k.sum(), k)
    except RuntimeError:
        return False
    return not twice.any().item() and torch.allclose(by_k, x * torch.exp(-k))

# %% mistake="drops_the_result" theme="test"
# What `gradcheck` returns is not used. With `raise_exception=False` it returns False and raises no error.
# Результат вызова `gradcheck` не использован. С `raise_exception=False` она не вызывает ошибку, а возвращает False.
def is_right_function(function):
    x, k = _inputs()
    v = torch.tensor([0.5, 2.0], dtype=torch.float64)
    y = function.apply(x, k)
    torch.autograd.grad(y, (x, k), v)
    return torch.allclose(y, x * torch.exp(-k)) and v.tolist() == [0.5, 2.0]

# %% mistake="by_x_alone" theme="test"
# No derivative by `k` is looked at. `gradcheck` has to get a `k` that requires grad.
# Производные по `k` не проверяются. В `gradcheck` нужно передать `k`, который требует градиента.
def is_right_function(function):
    return _run_checks(function, by_k=False)

# %% mistake="only_zeros" theme="test"
# All `x` of the test are 0. Then every value is 0, and so is the derivative by `k`.
# Все `x` в тесте равны 0. Тогда нулю равно любое значение, а с ним и производная по `k`.
def is_right_function(function):
    return _run_checks(function, kind="zero")
