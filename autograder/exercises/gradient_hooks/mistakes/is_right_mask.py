# %%
import torch


def _found(attach, passes=2, old=100.0):
    """Return what a test could look at after some passes with a hook, and after one without."""
    p, q = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    p.grad = None if old is None else torch.full_like(p, old)
    handle = attach(p, torch.tensor([True, False]))
    given = torch.tensor([5.0, 7.0])
    for _ in range(passes):
        (p + q).backward(given.clone())
    (p + q).backward(given)
    seen = {"given": given.tolist(), "value": p.tolist(), "masked": p.grad.tolist()}
    p.grad = None
    handle.remove()
    (2 * p).backward(torch.ones(2))
    return {**seen, "after": p.grad.tolist()}


_EXPECTED = {"given": [5, 7], "value": [1, 2], "masked": [115, 100], "after": [2, 2]}

# %% mistake="accepts_everything" theme="test"
# The test accepts everything.
# Тест принимает всё.
def is_right_mask(attach):
    return bool(_found(attach))

# %% mistake="refuses_everything" theme="test"
# The test refuses everything, the right functions as well.
# Тест отвергает всё, в том числе правильные функции.
def is_right_mask(attach):
    return not _found(attach)

# %% mistake="one_pass" theme="test"
# The test makes one pass and looks at nothing but `.grad`, which was empty before.
# В тесте один проход, и проверяется только поле `.grad`, которое до этого было пустым.
def is_right_mask(attach):
    return bool(_found(attach, passes=0, old=None)["masked"] == [5, 0])

# %% mistake="one_pass_of_a_sum" like="one_pass"
def is_right_mask(attach):
    p = torch.ones(2, requires_grad=True)
    attach(p, torch.tensor([True, False]))
    p.sum().backward()
    return p.grad.tolist() == [1, 0]

# %% mistake="forgets_the_handle" theme="test"
# The handle is not tried: nothing is looked at after `remove()`.
# Дескриптор не проверен: после `remove()` тест ничего не проверяет.
def is_right_mask(attach):
    seen = _found(attach)
    return all(seen[name] == _EXPECTED[name] for name in ("given", "value", "masked"))

# %% mistake="forgets_the_others" theme="test"
# Only the masked parameter is looked at. A hook that edits its argument also changes other tensors.
# Тест проверяет только сам параметр. А хук, который меняет свой аргумент, портит и другие тензоры.
def is_right_mask(attach):
    seen = _found(attach)
    return all(seen[name] == _EXPECTED[name] for name in ("value", "masked", "after"))

# %% mistake="only_fresh_gradients" theme="test"
# `.grad` is always empty when a pass begins, so nobody sees whether an earlier gradient is masked, too.
# В начале прохода поле `.grad` всегда пусто, поэтому не видно, не обнуляется ли и прежний градиент.
def is_right_mask(attach):
    seen, again = _found(attach, passes=0, old=None), _found(attach)
    checked = seen["masked"] == [5, 0] and again["masked"][0] == 115 and again["masked"][1] in (0, 100)
    return checked and all(again[name] == _EXPECTED[name] for name in ("given", "value", "after"))

# %% mistake="forgets_the_value" theme="test"
# A function that changes the parameter itself passes: the test does not look at it, or it holds zeros where the
#     mask is False.
# Функция, которая меняет сам параметр, проходит тест: параметр не проверяется, или на местах, где в маске False, в
#     нём и так нули.
def is_right_mask(attach):
    seen = _found(attach)
    return all(seen[name] == _EXPECTED[name] for name in ("given", "masked", "after"))

# %% mistake="wants_the_old_masked" theme="test"
# The test demands that what was in `.grad` before becomes 0 where the mask is False. It has to stay.
# Тест требует, чтобы на местах, где в маске False, обнулилось и прежнее содержимое `.grad`. А оно должно
#     сохраниться.
def is_right_mask(attach):
    return bool(_found(attach, passes=0)["masked"] == [105, 0])

# %% mistake="one_pass_and_a_removal" theme="test"
# There is one pass only, into an empty `.grad`: neither an earlier gradient nor a second pass is tried, and
#     `parameter` itself is not looked at.
# Проход только один, и поле `.grad` до него пусто: ни прежний градиент, ни второй проход не проверены, как и сам
#     `parameter`.
def is_right_mask(attach):
    seen = _found(attach, passes=0, old=None)
    return bool(seen["masked"] == [5, 0]) and all(seen[name] == _EXPECTED[name] for name in ("given", "after"))

# %% mistake="looks_at_the_kind" theme="test"
# The test refuses the post-accumulate hook and accepts every tensor hook. What a hook does to the gradient is not
#     looked at.
# Тест отвергает хук post-accumulate и принимает любой хук тензора. Что хук делает с градиентом, не проверяется.
def is_right_mask(attach):
    p = torch.ones(2, requires_grad=True)
    attach(p, torch.tensor([True, False]))
    return bool(p._backward_hooks)

# %% mistake="makes_one_pass" theme="test"
# There is one pass only before `remove()`: a hook that works in the first pass alone is not noticed.
# До вызова `remove()` проход только один: хук, который работает только в первом проходе, остаётся незамеченным.
def is_right_mask(attach):
    return _found(attach, passes=0) == {**_EXPECTED, "masked": [105, 100]}

# %% mistake="tries_an_infinite_gradient" theme="test"
# A right function that multiplies by the mask is refused: an infinite gradient times 0 is NaN. By the contract all
#     gradients are finite.
# Отвергается правильная функция, которая умножает на маску: бесконечный градиент, умноженный на 0, даёт NaN. А по
#     условию все градиенты конечны.
def is_right_mask(attach):
    p = torch.zeros(2, requires_grad=True)
    attach(p, torch.tensor([True, False]))
    p.backward(torch.tensor([5.0, torch.inf]))
    return _found(attach) == _EXPECTED and p.grad.tolist() == [5, 0]

# %% mistake="one_fresh_pass" theme="test"
# There is one pass only before `remove()`, into an empty `.grad`: neither an earlier gradient nor a second pass is
#     tried.
# До вызова `remove()` проход только один, и поле `.grad` до него пусто: ни прежний градиент, ни второй проход не
#     проверены.
def is_right_mask(attach):
    return _found(attach, passes=0, old=None) == {**_EXPECTED, "masked": [5, 0]}

# %% mistake="one_pass_without_a_removal" theme="test"
# There is one pass only: a hook that works in the first pass alone is not noticed, nor one that `remove()` does not
#     take off.
# Проход только один: остаются незамеченными и хук, который работает лишь в первом проходе, и хук, который не
#     снимает `remove()`.
def is_right_mask(attach):
    seen = _found(attach, passes=0)
    return bool(seen["masked"] == [105, 100]) and all(seen[name] == _EXPECTED[name] for name in ("given", "value"))

# %% mistake="looks_at_sums" theme="test"
# There are several passes, but `.grad` was empty before, and nothing else is looked at.
# Проходов несколько, но поле `.grad` до них пусто, и ничто другое не проверяется.
def is_right_mask(attach):
    p = torch.ones(2, requires_grad=True)
    attach(p, torch.tensor([True, False]))
    for _ in range(2):
        (3 * p).sum().backward()
    return p.grad.tolist() == [6, 0]

# %% mistake="forgets_value_and_handle" theme="test"
# Neither `parameter` itself is looked at nor the handle: nothing is tried after `remove()`.
# Не проверены ни сам `parameter`, ни дескриптор: после `remove()` тест ничего не проверяет.
def is_right_mask(attach):
    seen = _found(attach)
    return all(seen[name] == _EXPECTED[name] for name in ("given", "masked"))

# %% mistake="tells_zeros_apart" theme="test"
# A right function that multiplies by the mask is refused: a negative number times 0 is -0.0, and that is 0.
# Отвергается правильная функция, которая умножает на маску: отрицательное число, умноженное на 0, даёт -0.0, а это
#     ноль.
def is_right_mask(attach):
    p = torch.zeros(2, requires_grad=True)
    attach(p, torch.tensor([True, False]))
    p.backward(torch.tensor([5.0, -7.0]))
    return _found(attach) == _EXPECTED and not bool(p.grad.signbit().any())
