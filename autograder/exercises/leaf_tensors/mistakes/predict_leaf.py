# %% mistake="swaps_the_flags" theme="missing"
# The two flags of each pair are the wrong way round: `is_leaf` comes first, then `requires_grad`.
# Флаги в парах переставлены: сначала `is_leaf`, потом `requires_grad`.
predict_leaf = {
    **solution,
    **dict.fromkeys(("torch.ones(2) + 1", "w.detach()", "w * 2 under no_grad", "w > 0.5"), (False, True)),
    **dict.fromkeys(
        ("w * 0.01", "torch.rand(2, requires_grad=True).double()", "w.view(2, 1)", "w.round()"), (True, False)
    ),
}

# %% mistake="arithmetic_is_recorded" theme="recording"
# Every result of arithmetic was taken for a tensor with a history. Nothing is recorded when no input requires grad.
# Любой результат арифметики принят за тензор с историей. Но если ни один вход не требует градиента, ничего не
#     записывается.
predict_leaf = {**solution, "torch.ones(2) + 1": (False, True)}

# %% mistake="arithmetic_makes_no_leaf" theme="recording"
# A result of arithmetic was taken to be no leaf. `(False, False)` does not exist: without `requires_grad` there is
#     no history, and a tensor without a history is a leaf.
# Не учтено, что листом бывает и результат арифметики. Ответа `(False, False)` не бывает: без `requires_grad` нет
#     истории, а тензор без истории — лист.
predict_leaf = {**solution, "torch.ones(2) + 1": (False, False)}

# %% mistake="leaf_means_requires_grad" theme="recording"
# Only tensors that require grad were taken for leaves. Data, detached tensors and results under `no_grad()` are
#     leaves as well.
# Не учтено, что лист может и не требовать градиента: данные, отсоединённые тензоры и результаты внутри
#     `no_grad()` — тоже листья.
predict_leaf = {
    **solution,
    **dict.fromkeys(("torch.ones(2) + 1", "w.detach()", "w * 2 under no_grad", "w > 0.5"), (False, False)),
}

# %% mistake="scaling_keeps_a_leaf" theme="recording"
# The product was taken for a leaf. `w * 0.01` is a result: its `grad_fn` is a multiplication.
# Произведение принято за лист. Но `w * 0.01` — результат операции: его `grad_fn` — умножение.
predict_leaf = {**solution, "w * 0.01": (True, True)}

# %% mistake="casting_keeps_a_leaf" theme="recording"
# A cast was taken for a change of the tensor itself. It makes a new one and is recorded like any operation: the
#     leaf is the tensor before the cast, with `requires_grad=True`.
# Приведение типа принято за изменение самого тензора. Оно создаёт новый тензор и записывается, как любая операция:
#     лист с `requires_grad=True` — тот тензор, что был до приведения.
predict_leaf = {**solution, "torch.rand(2, requires_grad=True).double()": (True, True)}

# %% mistake="to_always_copies" theme="in_place"
# `.to` was taken to make a new tensor always. With nothing to convert it returns the very tensor it was called on.
# Вы ожидали, что `.to` всегда создаёт новый тензор. Но если менять нечего, возвращается тот самый тензор, для
#     которого вызван метод.
predict_leaf = {**solution, 'w.to("cpu")': (False, True)}

# %% mistake="views_are_leaves" theme="recording"
# A view of a leaf was taken for a leaf. It shares the memory, but it is the result of an operation, `view`.
# Представление листа принято за лист. Память у них общая, но это результат операции `view`.
predict_leaf = {**solution, "w.view(2, 1)": (True, True)}

# %% mistake="detach_keeps_the_flag" theme="recording"
# `detach()` was taken to keep the flag or the history. It leaves both behind and gives a constant.
# Вы ожидали, что `detach()` сохранит флаг или историю. Но не остаётся ни того ни другого: получается константа.
predict_leaf = {**solution, "w.detach()": (True, True)}

# %% mistake="no_grad_is_recorded" theme="recording"
# An operation under `no_grad()` was taken for recorded. `w * 2` is a constant there, whatever `w` requires.
# Не учтено, что внутри `no_grad()` операции не записываются: `w * 2` там — константа, каким бы ни был флаг у `w`.
predict_leaf = {**solution, "w * 2 under no_grad": (False, True)}

# %% mistake="parameters_keep_history" theme="recording"
# `Parameter(w * 2)` was taken to keep the history of `w * 2`. A `Parameter` is always a new leaf.
# Вы ожидали, что `Parameter(w * 2)` сохранит историю `w * 2`. Но `Parameter` — всегда новый лист.
predict_leaf = {**solution, "torch.nn.Parameter(w * 2)": (False, True)}

# %% mistake="comparisons_are_tracked" theme="recording"
# Everything computed from `w` was taken to require grad. True and False have no gradient: a comparison, like
#     `argmax`, gives a constant.
# Не учтено, что у True и False градиента нет. Сравнение, как и `argmax`, даёт константу, хотя и вычислено из `w`.
predict_leaf = {**solution, "w > 0.5": (False, True)}

# %% mistake="rounding_cuts" theme="recording"
# You expected `round` to cut the graph. It stays in it; its derivative is zero.
# Вы ожидали, что `round` оборвёт граф. Но эта операция в графе остаётся, а её производная равна нулю.
predict_leaf = {**solution, "w.round()": (True, False)}

# %% mistake="leaves_have_a_grad_fn" theme="recording"
# You expected a leaf to have a `grad_fn`. It has none: no operation made it.
# Вы ожидали, что у листа есть `grad_fn`. Но лист не создан операцией, и узла у него нет.
predict_leaf = {**solution, "w.grad_fn": "AccumulateGrad"}

# %% mistake="results_have_no_grad_fn" theme="recording"
# You expected `w * 0.01` to have no `grad_fn`. It is the result of a recorded multiplication, and `grad_fn` points
#     to it.
# Не учтено, что у `w * 0.01` есть `grad_fn`. Это результат записанного умножения, и `grad_fn` на него указывает.
predict_leaf = {**solution, "(w * 0.01).grad_fn": None}

# %% mistake="leaves_out_the_digit" theme="slip"
# The number at the end of the node's name is missing: `AddBackward0`, not `AddBackward`.
# В имени узла пропущена цифра на конце: `AddBackward0`, а не `AddBackward`.
predict_leaf = {**solution, "(w * 0.01).grad_fn": "MulBackward"}

# %% mistake="quotes_none" theme="slip"
# `None` stands in quotes. What comes back is the value, not a string.
# Слово `None` стоит в кавычках. Возвращается само значение, а не строка.
predict_leaf = {**solution, "w.grad_fn": "None"}

# %% mistake="names_the_operation" theme="own"
# You expected the name of the operation. The node is named after its derivative, with `Backward0` at the end.
# Вы ожидали имя самой операции. Но узел назван по её производной, и на конце стоит `Backward0`.
predict_leaf = {**solution, "(w * 0.01).grad_fn": "Mul"}

# %% mistake="numbers_for_flags" theme="slip"
# The flags are written as 1 and 0. They are `True` and `False`.
# Вместо флагов стоят 1 и 0, а нужны `True` и `False`.
predict_leaf = {**solution, "torch.ones(2) + 1": (1, 0), "w * 0.01": (0, 1), "w.detach()": (1, 0), "w.round()": (0, 1)}
