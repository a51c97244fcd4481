# %% mistake="copy_is_recorded" theme="recording"
# You expected `nested_tensor` to be recorded. It copies, as `torch.tensor` does, and the graph ends there.
# Вы ожидали, что вызов `nested_tensor` записывается в граф. Но он копирует данные, как и `torch.tensor`, и граф на этом
#     обрывается.
predict_ragged = {**solution, "nested_tensor requires grad": True}

# %% mistake="gradient_is_dense" theme="own"
# You expected an ordinary tensor as the gradient of a nested one. A gradient has the form of its tensor.
# Вы ожидали, что градиент вложенного тензора — обычный тензор. Но градиент устроен так же, как его тензор.
predict_ragged = {**solution, "leaf.grad is nested": False}

# %% mistake="gradient_is_padded" theme="axes"
# You expected rows for padding in the gradient. It has as many rows as the nested tensor stores.
# Вы ожидали, что в градиенте есть строки для паддинга. Но строк в нём столько, сколько хранит вложенный тензор.
predict_ragged = {**solution, "shape of leaf.grad.values()": (8, 3)}

# %% mistake="values_are_split" theme="axes"
# You expected `values()` to have a dimension for the samples. The rows of all samples stand one below the other.
# Вы ожидали, что в `values()` есть измерение для примеров. Но строки всех примеров стоят одна под другой.
predict_ragged = {**solution, "shape of leaf.grad.values()": (2, 4, 3)}

# %% mistake="sum_has_a_backward" theme="own"
# You expected the sum over the ragged dimension to have a backward pass. It has a value only.
# Вы ожидали, что у суммы по измерению с разными длинами есть обратный проход. Но у неё есть только значение.
predict_ragged = {**solution, "sum(dim=1), backward": "accepted"}

# %% mistake="padding_cuts" theme="recording"
# You expected padding to end with an error. It is recorded, and its backward pass leaves the zeros out.
# Вы ожидали, что паддинг завершится ошибкой. Но он записывается в граф, и в обратном проходе нули отбрасываются.
predict_ragged = {**solution, "padded, backward": "RuntimeError"}

# %% mistake="equal_lengths_suffice" theme="axes"
# You expected equal lengths to be enough for an addition. Each call makes offsets of its own, and they must be shared.
# Вы ожидали, что для сложения достаточно одинаковых длин. Но у каждого вызова свои смещения, а они должны быть общими.
predict_ragged = {**solution, "rows + again": "accepted"}

# %% mistake="factor_left_out" theme="derivative"
# The factor was left out: the gradient of the sum passes through the multiplication before it reaches the rows.
# Не учтён множитель: прежде чем дойти до строк, градиент суммы проходит через умножение.
predict_ragged = {**solution, "entry of b.grad": 1.0}

# %% mistake="rows_added" theme="scaling"
# You added up the rows. Each entry has a gradient of its own.
# Вы сложили строки. Но у каждого элемента свой градиент.
predict_ragged = {**solution, "entry of b.grad": 8.0}
