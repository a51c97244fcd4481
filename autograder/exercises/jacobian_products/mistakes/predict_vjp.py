# %%


_ERROR = "RuntimeError"

# %% mistake="v_like_the_input" theme="axes"
# `v` was given the shape of the input. It weighs the outputs, so it has the output's shape.
# Вектор `v` взят по форме входа. Но он взвешивает выходы, поэтому форма у него как у выхода.
predict_vjp = {**solution, "y, v = ones(2)": _ERROR, "y, v = [1, 0]": _ERROR}

# %% mistake="ones_like_x" theme="axes"
# `v` was given the shape of the input. It weighs the outputs: two entries here, not three.
# Вектор `v` взят по форме входа. Но он взвешивает выходы: элементов в нём здесь два, а не три.
predict_vjp = {**solution, "y, v = ones(2)": _ERROR, "y, v = ones(3)": [1.0, 1.0, 3.0]}

# %% mistake="ones_of_any_length" theme="axes"
# Ones were taken to fit any output. `v` needs one entry for each output: two here.
# Вы ожидали, что единицы подойдут к любому выходу. Но в `v` нужен один элемент на каждый выход: здесь два.
predict_vjp = {**solution, "y, v = ones(3)": [1.0, 1.0, 3.0]}

# %% mistake="only_for_numbers" theme="axes"
# `backward()` was taken to work for one number only. With `v` it works for an output of any shape.
# Вы ожидали, что `backward()` работает только от скаляра. Но с `v` он работает для выхода любой формы.
predict_vjp = {**solution, "y, v = ones(2)": _ERROR, "y, v = [1, 0]": _ERROR, "A x, v = [1, 10]": _ERROR}

# %% mistake="from_the_right" theme="axes"
# The matrix was multiplied by `v` from the right, `A v`. `backward` multiplies from the left: `vᵀA`.
# Матрица умножена на `v` справа, `A v`. Но `backward` умножает слева: `vᵀA`.
predict_vjp = {**solution, "A x, v = [1, 10]": [21.0, 43.0]}

# %% mistake="ones_by_default" theme="axes"
# A missing `v` was taken to be filled in with ones. That happens only when the output has one element.
# Вы ожидали, что вместо пропущенного `v` всегда подставляются единицы. Но так бывает, только когда в выходе один
#     элемент.
predict_vjp = {**solution, "y, no v": [1.0, 1.0, 3.0]}

# %% mistake="a_column" theme="axes"
# `v` was taken to pick a column of `W`. It mixes rows: there is one row for each output.
# Вы ожидали, что `v` выбирает столбец `W`. Но он смешивает строки: на каждый выход приходится одна.
predict_vjp = {**solution, "y, v = [1, 0]": [1.0, 0.0]}

# %% mistake="sums_of_rows" theme="axes"
# The entries within each row of `W` were summed: that is `W` times ones. Here the rows are added up, and the result
#     has three entries.
# Сложены элементы внутри каждой строки `W`: это `W`, умноженная справа на вектор из единиц. А складываются сами
#     строки, и в результате три элемента.
predict_vjp = {**solution, "y, v = ones(2)": [3.0, 2.0]}

# %% mistake="shape_one_needs_v" theme="axes"
# Only an output without dimensions was taken to do without `v`. Any output of one element can.
# Вы ожидали, что без `v` обойдётся только нульмерный выход. Но достаточно, чтобы в выходе был один элемент.
predict_vjp = {**solution, "shape (1,), no v": _ERROR}

# %% mistake="one_fits_all" theme="axes"
# `tensor(1.)` was taken for what `backward()` fills in. It fills in ones of the output's own shape.
# Вы ожидали, что `backward()` подставит `tensor(1.)`. Но подставляются единицы формы самого выхода.
predict_vjp = {**solution, "shape (1,), v = tensor(1.)": [2.0, 2.0, 2.0]}

# %% mistake="gradient_of_a_plain_sum" theme="derivative"
# You expected the gradient of the sum itself. `one` multiplies the sum by a number, and so the gradient.
# Вы ожидали градиент самой суммы. Но функция `one` умножает сумму на число, а с ней и градиент.
predict_vjp = {**solution, "shape (1,), no v": [1.0, 1.0, 1.0]}

# %% mistake="shape_of_the_output" theme="axes"
# You expected a gradient of the output's shape. It has the shape of `x`: three entries.
# Вы ожидали, что форма градиента — как у выхода. Но она как у `x`: в градиенте три элемента.
predict_vjp = {**solution, "shape (1,), no v": [2.0]}

# %% mistake="none_for_an_error" theme="axes"
# You expected `None` without a `v`. `backward()` needs a `v` here and raises an error without it.
# Вы ожидали, что без `v` получится `None`. Но `v` здесь нужен, и без него `backward()` завершается ошибкой.
predict_vjp = {**solution, "y, no v": None}

# %% mistake="values_of_y" theme="derivative"
# The values of the output stand there. A gradient has the shape of `x`.
# Здесь стоят значения выхода, а не градиент. У градиента форма как у `x`.
predict_vjp = {**solution, "y, v = ones(2)": [7.0, 5.0]}

# %% mistake="row_cut_short" theme="axes"
# You expected `v` itself, filled up with zeros. It picks the first row of `W`, with all its entries.
# Вы ожидали сам вектор `v`, дополненный нулями. Но он выбирает первую строку `W`, все её элементы.
predict_vjp = {**solution, "y, v = [1, 0]": [1.0, 0.0, 0.0]}
