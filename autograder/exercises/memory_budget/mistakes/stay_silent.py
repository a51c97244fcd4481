# %%
import torch

_CALLS = []  # emptied at each import of the mistakes

# %% mistake="is_harmless" theme="test"
# The recomputation saves the same tensors as the forward pass, or nearly the same, and the gradient is hardly wrong. (A
#     plain number, such as a factor, the graph keeps from the forward pass.)
# При повторном вычислении сохраняются те же тензоры, что и в прямом проходе, или почти те же, и градиент верен или почти
#     верен. (Обычное число, например множитель, граф помнит с прямого прохода.)
def stay_silent():
    return torch.sin

# %% mistake="draws_from_torch" theme="test"
# The numbers come from torch's own random state. That is put back before the recomputation, and the gradient is right.
# Числа берутся из общего генератора torch. Перед повторным вычислением его состояние восстанавливается, и градиент
#     верен.
def stay_silent():
    return lambda x: (torch.rand(x.shape, dtype=x.dtype) * x).sin()

# %% mistake="changes_the_shape" theme="test"
# The second call saves tensors of another shape, or another number of them. Both are compared, and `CheckpointError` is
#     raised.
# Во втором вызове сохраняются тензоры другой формы, или их другое количество. И то и другое сверяется, и возникает
#     `CheckpointError`.
def stay_silent():
    calls = []

    def f(x):
        calls.append(1)
        return torch.stack([x] * len(calls)).sin()

    return f

# %% mistake="changes_the_result" theme="test"
# Two fresh functions give different results: they share a state, so a gradient has nothing to be compared with.
# Две новые функции дают разные результаты: состояние у них общее, и сравнивать градиент не с чем.
def stay_silent():
    def f(x):
        _CALLS.append(1)
        return (len(_CALLS) * x).sin()

    return f

# %% mistake="cuts_the_graph" theme="recording"
# No gradient reaches `x`, not even without a checkpoint.
# До `x` градиент не доходит даже без контрольной точки.
def stay_silent():
    return lambda x: x.detach().sin()

# %% mistake="drops_the_path_in_the_plain_run" theme="derivative"
# The gradient is wrong without a checkpoint as well: a part of the path was detached.
# Градиент неверен и без контрольной точки: часть пути отсоединена от графа.
def stay_silent():
    calls = []

    def f(x):
        calls.append(1)
        return (len(calls) * x).sin() * x.detach()

    return f

# %% mistake="raises_without_a_checkpoint" theme="test"
# The backward pass raises an error without a checkpoint already. There the gradient has to be right.
# Обратный проход завершается ошибкой уже без контрольной точки. А без неё градиент должен быть верным.
def stay_silent():
    weight = torch.tensor(2.0, dtype=torch.float64)

    def f(x):
        y = x * weight
        weight.mul_(2)
        return y

    return f

# %% mistake="returns_a_tensor" theme="return"
# A tensor came back. Asked for is the function that computes it.
# Возвращён тензор. А нужна функция, которая его вычисляет.
def stay_silent():
    return torch.ones(3, requires_grad=True).sin()
