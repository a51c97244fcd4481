# %%
import torch

from .common import running_with_hooks


def _raise_if(changed, t):
    if changed:
        raise RuntimeError("a saved tensor was changed in place")
    return t


def _check_versions(f, x, error):
    """Return `f(x)`, run under hooks that raise `error` when a saved tensor was edited.

    The hooks compare version counters.
    """

    def unpack(packed):
        kept = packed[0]
        if kept._version != packed[1]:
            raise error("changed")
        return kept

    return running_with_hooks(lambda t: (t.detach(), t._version), unpack)(f, x)

# %% mistake="does_not_look" theme="in_place"
# The change is not noticed: backward computes with the new numbers. Hooks switch off the check of autograd. Compare
#     the version in `unpack` with that in `pack`, of a tensor that shares the counter, as `t.detach()` does and
#     `t.data` does not.
# Изменение не замечено: обратный проход идёт с новыми числами. Хуки отключают собственную проверку autograd.
#     Сравнивайте версию в `unpack` с версией в `pack`, причём у тензора с общим счётчиком: у `t.detach()` он общий, у
#     `t.data` — нет.
def notice_edits(f, x):
    return running_with_hooks(lambda t: t.detach(), lambda t: t)(f, x)

# %% mistake="returns_a_word" theme="missing"
# When the change is noticed, the error is a TypeError, as when `unpack` returns something that is no tensor. It
#     has to be a `RuntimeError`.
# Когда изменение замечено, возникает TypeError: так бывает, когда `unpack` возвращает не тензор. Нужна ошибка
#     `RuntimeError`.
def notice_edits(f, x):
    def unpack(packed):
        return packed[0] if packed[0]._version == packed[1] else "edited"

    return running_with_hooks(lambda t: (t.detach(), t._version), unpack)(f, x)

# %% mistake="unpacks_once" theme="graph_life"
# The second backward pass raises an error though nothing was changed: `unpack` gives a tensor back only once.
# Второй обратный проход завершается ошибкой, хотя ничего не изменено: `unpack` отдаёт тензор только один раз.
def notice_edits(f, x):
    def unpack(packed):
        if packed[1] != packed[0]._version:
            raise RuntimeError("edited")
        packed[1] = -1
        return packed[0]

    return running_with_hooks(lambda t: [t.detach(), t._version], unpack)(f, x)

# %% mistake="watches_the_result_alone" theme="missing"
# Only the result is checked. `x ** 2` and `sin` save `x`, and that can be changed as well: every packed tensor
#     needs the check.
# Проверяется только результат. Но операции `x ** 2` и `sin` сохраняют `x`, а его тоже могут изменить: проверять
#     нужно каждый упакованный тензор.
def notice_edits(f, x):
    seen = []
    y = running_with_hooks(lambda t: t.detach(), lambda t: _raise_if(seen[0]._version != seen[1], t))(f, x)
    seen.extend([y.detach(), y._version])
    return y

# %% mistake="allows_edits" theme="in_place"
# `allow_mutation_on_saved_tensors` saves a copy when a tensor is changed. The gradient is the old one, and the
#     change goes unnoticed.
# Режим `allow_mutation_on_saved_tensors` при изменении тензора сохраняет копию. Градиент прежний, а изменение
#     остаётся незамеченным.
def notice_edits(f, x):
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        return f(x)

# %% mistake="keeps_the_tensor_itself" theme="graph_life"
# What `pack` was given outlives the graph: either the tensor itself is kept, and the operation's own result holds
#     the graph that holds it, or it is held elsewhere, as in a list.
# То, что получил `pack`, переживает граф: либо хранится сам тензор, и результат операции держит граф, а граф — его,
#     либо тензор держит кто-то ещё, например список.
def notice_edits(f, x):
    def unpack(packed):
        return _raise_if(packed[0]._version != packed[1], packed[0])

    return running_with_hooks(lambda t: (t, t._version), unpack)(f, x)

# %% mistake="expects_version_zero" theme="in_place"
# An error is raised although nothing was changed. What counts is the version at the moment of saving, of a tensor
#     with the same counter: a fixed number, a copy or a weak reference does not tell.
# Ошибка возникает, хотя ничего не изменено. Сравнивать нужно с версией в момент сохранения, причём у тензора с тем
#     же счётчиком: постоянное число, копия или слабая ссылка для этого не годятся.
def notice_edits(f, x):
    def unpack(packed):
        if packed._version != 0:
            raise RuntimeError("changed")
        return packed

    return running_with_hooks(lambda t: t.detach(), unpack)(f, x)

# %% mistake="watches_x_alone" theme="missing"
# Only `x` is checked. `exp` saves its result, and that can be changed as well: every packed tensor needs the check.
# Проверяется только `x`. Но операция `exp` сохраняет результат, а его тоже могут изменить: проверять нужно каждый
#     упакованный тензор.
def notice_edits(f, x):
    version = x._version
    return running_with_hooks(lambda t: t.detach(), lambda t: _raise_if(x._version != version, t))(f, x)

# %% mistake="saves_a_copy" theme="in_place"
# A copy is saved. The gradient is then right whatever is changed, but each saved tensor takes memory twice, and the
#     change goes unnoticed.
# Сохраняется копия. Градиент при этом верен при любых изменениях, но каждый сохранённый тензор занимает память
#     дважды, а изменение остаётся незамеченным.
def notice_edits(f, x):
    return running_with_hooks(lambda t: t.detach().clone(), lambda t: t)(f, x)

# %% mistake="compares_with_a_copy" theme="cost"
# The numbers are compared with a copy. That shows the change, at the price of a second tensor; the version counter
#     is one number.
# Числа сравниваются с копией. Так изменение обнаруживается, но ценой второго тензора, а счётчик версий — это одно
#     число.
def notice_edits(f, x):
    def unpack(packed):
        return _raise_if(not torch.equal(*packed), packed[0])

    return running_with_hooks(lambda t: (t.detach(), t.detach().clone()), unpack)(f, x)

# %% mistake="raises_value_error" theme="own"
# The change is noticed, but the error is a ValueError. It has to be a RuntimeError, as without hooks.
# Изменение замечено, но ошибка — ValueError. Нужна RuntimeError, как и без хуков.
def notice_edits(f, x):
    return _check_versions(f, x, ValueError)

# %% mistake="asserts" theme="own"
# The change is noticed by an `assert`, which raises an AssertionError. It has to be a RuntimeError, as without
#     hooks.
# Изменение замечено с помощью `assert`, а его ошибка — AssertionError. Нужна RuntimeError, как и без хуков.
def notice_edits(f, x):
    return _check_versions(f, x, AssertionError)

# %% mistake="always_raises" theme="own"
# Every `unpack` raises an error. An unchanged tensor has to be given back.
# Ошибка возникает при любом вызове `unpack`. Если тензор не изменён, его нужно вернуть.
def notice_edits(f, x):
    return running_with_hooks(lambda t: t.detach(), lambda t: _raise_if(True, t))(f, x)

# %% mistake="turns_the_comparison" theme="own"
# The comparison is the wrong way round: `unpack` raises an error for an unchanged tensor, and gives a changed one back.
# Сравнение перевёрнуто: `unpack` сообщает об ошибке, когда тензор не изменён, а изменённый возвращает.
def notice_edits(f, x):
    def unpack(packed):
        return _raise_if(packed[0]._version == packed[1], packed[0])

    return running_with_hooks(lambda t: (t.detach(), t._version), unpack)(f, x)

# %% mistake="watches_data" theme="in_place"
# The tensor that is kept has a version counter of its own, as `t.data` and a copy do. `t.detach()` shares the
#     counter.
# У хранимого тензора свой счётчик версий, как у `t.data` или у копии. У `t.detach()` счётчик общий с исходным
#     тензором.
def notice_edits(f, x):
    def unpack(packed):
        return _raise_if(packed[0]._version != packed[1], packed[0])

    return running_with_hooks(lambda t: (t.data, t._version), unpack)(f, x)
