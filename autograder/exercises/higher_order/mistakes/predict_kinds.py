# %% mistake="conjugated" theme="derivative"
# You expected the conjugates. `.grad` points uphill: it is $\partial L/\partial x + i\, \partial L/\partial y$,
#     with a plus.
# Вы ожидали сопряжённые числа. Но `.grad` направлен туда, куда функция растёт: это $\partial L/\partial x + i\,
#     \partial L/\partial y$, с плюсом.
predict_kinds = {**solution, "|z|²": [6.0, -8.0], "Re z²": [6.0, 8.0]}

# %% mistake="halves" theme="derivative"
# You expected $z$, the derivative of $z \bar z$ with respect to $\bar z$. `.grad` is twice that.
# Вы ожидали $z$, производную $z \bar z$ по $\bar z$. Но `.grad` вдвое больше.
predict_kinds = {**solution, "|z|²": [3.0, 4.0]}

# %% mistake="complex_derivative" theme="derivative"
# You expected $2z$, the complex derivative of $z^2$. The loss is its real part, $x^2 - y^2$, and the gradient is
#     $2\bar z$.
# Вы ожидали $2z$, комплексную производную $z^2$. Но функция потерь — вещественная часть, $x^2 - y^2$, и градиент
#     равен $2\bar z$.
predict_kinds = {**solution, "Re z²": [6.0, 8.0]}

# %% mistake="rows_are_merged" theme="own"
# You expected one stored row for an index that came twice. Rows are merged by `coalesce()` only.
# Вы ожидали одну хранимую строку для индекса, который встретился дважды. Но строки объединяет только `coalesce()`.
predict_kinds = {**solution, "stored rows": 2}

# %% mistake="every_row_is_stored" theme="own"
# You expected a row for each row of the table. Only those that were looked up are stored.
# Вы ожидали, что хранятся все строки таблицы. Но хранятся только прочитанные.
predict_kinds = {**solution, "stored rows": 10, "after coalesce()": 10}

# %% mistake="adam_takes_it" theme="own"
# You expected `Adam` to take a sparse gradient. It refuses; `SparseAdam` takes nothing else.
# Вы ожидали, что `Adam` примет разреженный градиент. Но шаг завершается ошибкой; для таких градиентов есть
#     `SparseAdam`.
predict_kinds = {**solution, "Adam": "accepted"}

# %% mistake="decay_is_harmless" theme="own"
# You expected weight decay to work. It adds the whole weight to the gradient, and a sparse tensor cannot take that.
# Вы ожидали, что затухание весов сработает. Но оно прибавляет к градиенту весь вес, а к разреженному тензору его не
#     прибавить.
predict_kinds = {**solution, "SGD, weight_decay": "accepted"}

# %% mistake="stays_sparse" theme="own"
# You expected the gradient to stay sparse. A dense gradient is added to it, and the sum is dense.
# Вы ожидали, что градиент останется разреженным. Но к нему прибавляется плотный, и сумма получается плотной.
predict_kinds = {**solution, "is_sparse with a dense term": True}

# %% mistake="minus_for_the_magnitude" theme="derivative"
# You expected $2\bar z$ for $|z|^2$. It is $x^2 + y^2$, so both partial derivatives have a plus: $2z$.
# Вы ожидали $2\bar z$ для $|z|^2$. Но это $x^2 + y^2$, и обе частные производные с плюсом: $2z$.
predict_kinds = {**solution, "|z|²": [6.0, -8.0]}

# %% mistake="half_of_the_real_part" theme="derivative"
# You expected $\bar z$ for $\mathrm{Re}\, z^2$. `.grad` holds the derivatives of $x^2 - y^2$: twice that.
# Вы ожидали $\bar z$ для $\mathrm{Re}\, z^2$. Но в `.grad` лежат производные функции $x^2 - y^2$: вдвое больше.
predict_kinds = {**solution, "Re z²": [3.0, -4.0]}

# %% mistake="imaginary_part_is_0" theme="derivative"
# You expected an imaginary part of 0. The loss $x^2 - y^2$ depends on $y$, too.
# Вы ожидали нулевую мнимую часть. Но функция потерь $x^2 - y^2$ зависит и от $y$.
predict_kinds = {**solution, "Re z²": [6.0, 0.0]}

# %% mistake="table_is_stored" theme="own"
# You expected a stored row for each row of the table. Only those that were looked up are stored.
# Вы ожидали, что хранятся все строки таблицы. Но хранятся только прочитанные.
predict_kinds = {**solution, "stored rows": 10}

# %% mistake="coalesce_changes_nothing" theme="own"
# You expected as many rows after `coalesce()`. It adds the rows of an index that came twice.
# Вы ожидали, что после `coalesce()` строк столько же. Но этот метод складывает строки повторяющегося индекса.
predict_kinds = {**solution, "after coalesce()": 3}

# %% mistake="real_gradient" theme="derivative"
# You expected a real gradient, $2|z|$, for the real loss $|z|^2$. It has two parts: the derivatives with respect to
#     $x$ and to $y$.
# Вы ожидали вещественный градиент $2|z|$ для вещественной функции потерь $|z|^2$. Но частей у него две: производные
#     по $x$ и по $y$.
predict_kinds = {**solution, "|z|²": [10.0, 0.0]}
