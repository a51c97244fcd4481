# %% mistake="jacobian_knows_batches" theme="axes"
# `functional.jacobian` was taken to know about the batch. It differentiates every sample with respect to every
#     sample.
# Не учтено, что `functional.jacobian` не знает о батче. Она дифференцирует каждый пример по каждому.
predict_shapes = {**solution, "jacobian of the batch": (4, 1, 3)}

# %% mistake="vmap_gives_all_pairs" theme="axes"
# `vmap(jacrev(f))` was taken for the Jacobian of the whole batch. It gives one Jacobian for each sample.
# За матрицу Якоби всего батча принято `vmap(jacrev(f))`. Но это отдельная матрица для каждого примера.
predict_shapes = {**solution, "vmap(jacrev)": (4, 1, 4, 3)}

# %% mistake="sum_is_summed" theme="axes"
# The gradient of a sum was taken to be summed over the batch. It has the shape of its input.
# Вы ожидали, что градиент суммы складывается по батчу. Но у градиента форма входа.
predict_shapes = {**solution, "grad of the sum": (3,)}

# %% mistake="no_zeros" theme="axes"
# All 48 numbers were taken for nonzero. Derivatives of a sample with respect to another one are zero.
# Не учтено, что производные одного примера по другому равны нулю: ненулевых чисел меньше 48.
predict_shapes = {**solution, "entries that are not zero": 48}

# %% mistake="zeros_counted" theme="axes"
# The zeros were counted, not the other entries: 36 of them are zero.
# Подсчитаны нули, а не остальные элементы: нулю равны 36 из них.
predict_shapes = {**solution, "entries that are not zero": 36}

# %% mistake="output_left_out" theme="axes"
# The output's dimension was left out. `row` returns a vector of one entry, of shape (1,), not ().
# Пропущено измерение выхода. Функция `row` возвращает вектор из одного элемента: его форма (1,), а не ().
predict_shapes = {**solution, "vmap(jacrev)": (4, 3)}

# %% mistake="batch_output_left_out" theme="axes"
# The output's last dimension was left out: the output of the batch has shape (4, 1), not (4,).
# Пропущено последнее измерение выхода: для батча форма выхода (4, 1), а не (4,).
predict_shapes = {**solution, "jacobian of the batch": (4, 4, 3)}

# %% mistake="hessian_like_gradient" theme="axes"
# The Hessian was given the shape of the gradient. It has a row and a column for each input.
# За форму матрицы Гессе принята форма градиента. Но в этой матрице по строке и по столбцу на каждый вход.
predict_shapes = {**solution, "hessian of one sample": (3,)}

# %% mistake="gradient_for_jacobian" theme="axes"
# You expected the shape of a gradient. A Jacobian has the output's shape and then the input's.
# Вы ожидали форму градиента. Но у матрицы Якоби сначала идёт форма выхода, потом форма входа.
predict_shapes = {**solution, "jacobian of the batch": (4, 3)}

# %% mistake="input_first" theme="axes"
# You expected the input's shape first. A Jacobian has the output's shape first, as a matrix has its rows.
# Вы ожидали, что сначала идёт форма входа. Но первой идёт форма выхода, как число строк у матрицы.
predict_shapes = {**solution, "jacobian of the batch": (4, 3, 4, 1)}

# %% mistake="jacobian_flattened" theme="axes"
# You expected a matrix. `functional.jacobian` keeps all dimensions of output and input apart.
# Вы ожидали двумерную матрицу. Но `functional.jacobian` не объединяет измерения выхода и входа.
predict_shapes = {**solution, "jacobian of the batch": (4, 12)}

# %% mistake="one_number_per_sample" theme="axes"
# You expected one nonzero number for each sample. The output of a sample depends on all of its inputs.
# Вы ожидали по одному ненулевому числу на пример. Но выход примера зависит от всех его входов.
predict_shapes = {**solution, "entries that are not zero": 4}

# %% mistake="gradient_is_a_number" theme="axes"
# You expected a number, because the sum is one. A gradient has the shape of its input.
# Вы ожидали число, потому что сумма — число. Но у градиента форма входа.
predict_shapes = {**solution, "grad of the sum": ()}

# %% mistake="hessian_of_the_batch" theme="axes"
# You expected a Hessian for each sample. Here it is called with one sample, `X[0]`.
# Вы ожидали по матрице Гессе на каждый пример. Но здесь передан один пример, `X[0]`.
predict_shapes = {**solution, "hessian of one sample": (4, 3, 3)}

# %% mistake="hessian_with_output" theme="axes"
# You expected a dimension for the output as well. `sum()` makes the output a number without dimensions.
# Вы ожидали и измерение выхода. Но после `sum()` выход — число, измерений у него нет.
predict_shapes = {**solution, "hessian of one sample": (1, 3, 3)}
