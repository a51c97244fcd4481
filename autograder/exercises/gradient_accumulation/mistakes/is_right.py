# %%
import torch


def _gradients(accumulate, sizes, old=100.0, weigh=None):
    """Run `accumulate` on micro-batches of these sizes, and return the gradient it leaves and the expected one.

    `old` fills `.grad` beforehand; None leaves it empty. `weigh(n)` is the expected weight of a mean over `n` samples,
    by default its share of all samples.
    """
    x = torch.arange(1.0, 2 * sum(sizes) + 1).reshape(-1, 2) / 7
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    w.grad = None if old is None else torch.full_like(w, old)

    def loss_of(part):
        return lambda: ((part @ w) ** 2).mean()

    parts = x.split(list(sizes))
    weigh = weigh or (lambda n: n / len(x))
    (expected,) = torch.autograd.grad(torch.stack([loss_of(part)() * weigh(len(part)) for part in parts]).sum(), w)
    accumulate(w, [(loss_of(part), len(part)) for part in parts])
    return w.grad, expected


def _run_test(accumulate, sizes, **how):
    """Run a test of `accumulate` and return whether it passes. `how` is passed on to `_gradients`."""
    found, expected = _gradients(accumulate, sizes, **how)
    return found is not None and torch.allclose(found, expected)

# %% mistake="accepts_everything" theme="test"
# The test accepts everything. It has to compare with a gradient that the test itself computes.
# Тест принимает всё. Сравнивать нужно с градиентом, который вычислил сам тест.
def is_right(accumulate):
    _run_test(accumulate, (2, 1))
    return True

# %% mistake="refuses_everything" theme="test"
# The test refuses everything, the right functions as well.
# Тест отвергает всё, в том числе правильные функции.
def is_right(accumulate):
    return False

# %% mistake="only_equal_sizes" theme="test"
# The weight 1/K passes this test: its micro-batches have one size, or its tolerance is too wide.
# Вес 1/K проходит этот тест: микробатчи в нём одного размера или допуск слишком велик.
def is_right(accumulate):
    return _run_test(accumulate, (2, 2))

# %% mistake="only_fresh_gradients" theme="test"
# `.grad` is always empty when the test begins, so a function that keeps an old gradient is not caught.
# В начале теста поле `.grad` всегда пусто, поэтому функция, которая оставляет старый градиент, проходит тест.
def is_right(accumulate):
    return _run_test(accumulate, (3, 1), old=None)

# %% mistake="only_one_micro_batch" theme="test"
# The test has a single micro-batch: almost every way of accumulating is right there.
# В тесте всего один микробатч: для него верен почти любой способ накопления.
def is_right(accumulate):
    return _run_test(accumulate, (3,))

# %% mistake="wants_the_same_tensor" theme="test"
# The test wants `.grad` to be the same tensor as before. A right function may put a new one there.
# Тест требует, чтобы в `.grad` лежал тот же тензор, что и раньше. Правильная функция может положить туда новый.
def is_right(accumulate):
    kept = []

    def watched(parameter, micro_batches):
        before = parameter.grad
        accumulate(parameter, micro_batches)
        kept[:] = [before] if parameter.grad is before else []

    return _run_test(watched, (3, 1)) and bool(kept)

# %% mistake="compares_directions" theme="test"
# The test compares directions or signs only: a gradient of a wrong length passes.
# Тест сравнивает только направления или знаки: градиент неверной длины проходит.
def is_right(accumulate):
    found, expected = _gradients(accumulate, (3, 1))
    return found is not None and bool(torch.cosine_similarity(found, expected, dim=0) > 0.9999)

# %% mistake="compares_exactly" theme="test"
# The test compares to the last digit, as with `==`. Right functions add in different orders, so a test needs a
#     tolerance, as in `torch.allclose`.
# Тест сравнивает до последнего знака, как `==`. Правильные функции складывают в разном порядке, поэтому тесту нужен
#     допуск, как в `torch.allclose`.
def is_right(accumulate):
    found, expected = _gradients(accumulate, (3, 1, 2))
    return found is not None and torch.equal(found, expected)

# %% mistake="returns_nothing" theme="return"
# Nothing comes back for a right function: `return True` is missing, and None counts as False.
# Для правильной функции ничего не возвращается: нет `return True`, а None считается ответом False.
def is_right(accumulate):
    assert _run_test(accumulate, (3, 1))

# %% mistake="expects_equal_weights" theme="test"
# The test expects the weight 1/K: it accepts the function that weighs all micro-batches alike, and refuses the
#     right ones.
# Тест ожидает вес 1/K: функцию, которая даёт всем микробатчам одинаковый вес, он принимает, а правильные отвергает.
def is_right(accumulate):
    return _run_test(accumulate, (3, 1), weigh=lambda n: 1 / 2)

# %% mistake="expects_the_sum" theme="test"
# The test expects the plain sum of the means: it accepts the function that uses no weights, and refuses the right
#     ones.
# Тест ожидает простую сумму средних: функцию без весов он принимает, а правильные отвергает.
def is_right(accumulate):
    return _run_test(accumulate, (3, 1), weigh=lambda n: 1.0)

# %% mistake="expects_no_division" theme="test"
# The test expects the sum over all samples: it accepts the function that never divides, and refuses the right ones.
# Тест ожидает сумму по всем примерам: функцию без деления он принимает, а правильные отвергает.
def is_right(accumulate):
    return _run_test(accumulate, (3, 1), weigh=float)

# %% mistake="expects_the_old_gradient" theme="test"
# The test expects the old gradient as a part of the result: it accepts the function that never clears `.grad`, and
#     refuses the right ones.
# Тест ожидает, что в результат войдёт старый градиент: функцию, которая не обнуляет `.grad`, он принимает, а
#     правильные отвергает.
def is_right(accumulate):
    found, expected = _gradients(accumulate, (3, 1))
    return found is not None and torch.allclose(found, expected + 100)

# %% mistake="counts_the_calls" theme="test"
# Some right functions pass the test, others do not. They call `backward()` or `torch.autograd.grad`, for each
#     micro-batch or once, and may put a new tensor into `.grad`.
# Одни правильные функции проходят тест, другие нет. Они вызывают `backward()` или `torch.autograd.grad`, для
#     каждого микробатча или один раз, и могут положить в `.grad` новый тензор.
def is_right(accumulate):
    calls = []

    def watched(parameter, micro_batches):
        handle = parameter.register_hook(lambda _: calls.append(None))
        accumulate(parameter, micro_batches)
        handle.remove()

    return _run_test(watched, (2, 1, 1)) and len(calls) == 3

# %% mistake="only_single_samples" theme="test"
# All micro-batches of the test hold one sample. The weights 1/K and 1/N are then the same, and both pass.
# В каждом микробатче теста один пример. Тогда веса 1/K и 1/N совпадают, и тест пропускает и то и другое.
def is_right(accumulate):
    return _run_test(accumulate, (1, 1, 1)) and _run_test(accumulate, (1, 1, 1), old=None)
