# %%


_INPUT = 64 * 256 * 4

# %% mistake="scaling_saves" theme="recording"
# You expected the input to be saved because of the 2 in `x * 2`. A Python number lies in the node itself and
#     requires no gradient.
# Вы ожидали, что ради множителя 2 в `x * 2` сохраняется вход. Но число Python лежит в самом узле и градиента не
#     требует.
predict_saved = {**solution, "x * 2": _INPUT}

# %% mistake="the_number_counts" theme="recording"
# The number 2 of `x * 2` was counted. A Python number lies in the node itself; it is no saved tensor, and hooks do
#     not see it.
# Учтено само число 2 из `x * 2`. Но число Python лежит в самом узле; это не сохранённый тензор, и хуки его не
#     видят.
predict_saved = {**solution, "x * 2": 8}

# %% mistake="keeps_both_ends" theme="recording"
# The input and the result were both counted. Such an operation keeps one of the two: `relu` its result, `sin` its
#     input.
# Учтены и вход, и результат. Но такая операция хранит что-то одно: `relu` — результат, `sin` — вход.
predict_saved = {**solution, "x.relu()": 2 * _INPUT}

# %% mistake="counts_saves" theme="in_place"
# The two saves of `x * x` were counted as two tensors. Both are the same storage.
# Два сохранения в `x * x` учтены как два тензора. Но хранилище у них одно.
predict_saved = {**solution, "x * x": 2 * _INPUT}

# %% mistake="a_slice_is_small" theme="in_place"
# You expected the slice to keep its own two rows only. A view keeps the whole storage that it lies in.
# Вы ожидали, что срез хранит только две свои строки. Но представление удерживает всё хранилище, в котором лежит.
predict_saved = {**solution, "x[:2].sin()": 2 * 256 * 4}

# %% mistake="forgets_the_weight" theme="recording"
# `W` was left out. The gradient of `x` needs it, so the graph holds it.
# Не учтён тензор `W`. Он нужен для градиента `x`, поэтому граф его хранит.
predict_saved = {**solution, "x @ W": _INPUT}

# %% mistake="forgets_the_input" theme="recording"
# Only `W` was counted in `x @ W`. It requires grad, and its gradient needs `x`.
# В `x @ W` учтён только тензор `W`. Но он требует градиента, и для этого градиента нужен `x`.
predict_saved = {**solution, "x @ W": 4 * _INPUT}

# %% mistake="freezing_changes_nothing" theme="recording"
# You expected `x @ frozen` to keep `x`. Only the gradient of `frozen` would need it, and that gradient is not
#     computed.
# Вы ожидали, что `x @ frozen` сохраняет `x`. Но он понадобился бы только для градиента `frozen`, а этот градиент не
#     вычисляется.
predict_saved = {**solution, "x @ frozen": 5 * _INPUT}

# %% mistake="frozen_is_not_saved" theme="recording"
# You expected a frozen weight not to be saved. It is, because the gradient of `x` needs it. What is not kept is
#     `x`.
# Вы ожидали, что замороженный вес не сохраняется. Но он сохраняется, иначе не вычислить градиент `x`. Не хранится
#     как раз `x`.
predict_saved = {**solution, "x @ frozen": _INPUT}

# %% mistake="where_keeps_numbers" theme="recording"
# You expected `where` to save numbers. It saves its condition, one byte per entry.
# Вы ожидали, что `where` сохраняет числа. Но сохраняется условие, по байту на элемент.
predict_saved = {**solution, "torch.where(x > 0.5, x, 0.0)": _INPUT}

# %% mistake="where_keeps_its_input" theme="recording"
# You expected `where` to save the input beside its condition. The gradient passes or does not; the values of `x`
#     play no part.
# Вы ожидали, что `where` кроме условия сохраняет и вход. Но градиент либо проходит, либо нет; значения `x` для
#     этого не нужны.
predict_saved = {**solution, "torch.where(x > 0.5, x, 0.0)": _INPUT + _INPUT // 4}

# %% mistake="where_keeps_nothing" theme="recording"
# You expected `where` to save nothing. Backward has to know which entries were chosen.
# Вы ожидали, что `where` ничего не сохраняет. Но для обратного прохода нужно знать, какие элементы выбраны.
predict_saved = {**solution, "torch.where(x > 0.5, x, 0.0)": 0}

# %% mistake="booleans_are_bits" theme="precision"
# A boolean was taken for a bit. In a tensor it takes one byte.
# Размер логического значения принят за один бит. Но в тензоре оно занимает байт.
predict_saved = {**solution, "torch.where(x > 0.5, x, 0.0)": 64 * 256 // 8}

# %% mistake="counts_entries" theme="precision"
# Entries were counted instead of bytes. A float32 takes four bytes.
# Подсчитаны элементы, а не байты. Один float32 занимает четыре байта.
predict_saved = {**solution, **dict.fromkeys(("x.relu()", "x * x"), _INPUT // 4)}

# %% mistake="relu_keeps_a_mask" theme="recording"
# You expected `relu` to save a mask only, or nothing. It saves its result, which is positive where the gradient
#     passes.
# Вы ожидали, что `relu` сохраняет только маску или вообще ничего. Но сохраняется результат: где он положителен, там
#     градиент проходит.
predict_saved = {**solution, "x.relu()": _INPUT // 4}

# %% mistake="what_lives_anyway_is_free" theme="recording"
# What is in memory anyway, `x` and `W`, was not counted. The table counts all that the graph holds.
# Не посчитано то, что и так в памяти: `x` и `W`. В таблице считается всё, что держит граф.
predict_saved = {**solution, **dict.fromkeys(("x * x", "x[:2].sin()", "x @ W"), 0)}
