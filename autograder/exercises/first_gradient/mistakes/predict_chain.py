# %% mistake="forgets_the_mean" theme="scaling"
# The mean was forgotten: `out` changes by a quarter of what one entry of `z` changes.
# Забыто усреднение: когда меняется один элемент `z`, значение `out` меняется вчетверо слабее.
predict_chain = {**solution, "z.grad": 1.0}

# %% mistake="mean_over_rows" theme="scaling"
# The mean was divided by the number of rows. A mean over a matrix divides by the number of its entries.
# При усреднении сумма разделена на число строк матрицы, а делить нужно на число её элементов.
predict_chain = {**solution, "z.grad": 0.5}

# %% mistake="derivative_of_one_line" theme="derivative"
# The derivative of the next line alone, dz/dy, was taken for `y.grad`. It holds the derivative of `out`, on which
#     `backward()` was called.
# За `y.grad` принята производная только следующей строки, dz/dy. Но там лежит производная `out`, от которого
#     выполнен `backward()`.
predict_chain = {**solution, "y.grad": 18.0}

# %% mistake="derivative_of_y_by_x" theme="derivative"
# The derivative dy/dx was taken for `y.grad`. It holds the derivative of `out` with respect to `y`.
# За `y.grad` принята производная dy/dx. Но там лежит производная `out` по `y`.
predict_chain = {**solution, "y.grad": 1.0}

# %% mistake="derivative_of_the_first_line" theme="derivative"
# The derivative of the first line alone, dy/dx, was taken for `x.grad`. It holds the derivative of `out` with
#     respect to `x`.
# За `x.grad` принята производная только первой строки, dy/dx. Но там лежит производная `out` по `x`.
predict_chain = {**solution, "x.grad": 1.0}

# %% mistake="last_line_at_the_root" theme="derivative"
# The derivative of the last line with respect to `z` was taken for `out.grad`. It holds the derivative of `out`
#     with respect to itself.
# За `out.grad` принята производная последней строки по `z`. Но там лежит производная `out` по самому себе.
predict_chain = {**solution, "out.grad": 0.25}

# %% mistake="nothing_at_the_root" theme="recording"
# You expected `out.grad` to be empty. `retain_grad()` keeps the gradient of any tensor, the root's as well.
# Вы ожидали, что поле `out.grad` пусто. Но `retain_grad()` сохраняет градиент любого тензора, в том числе корня.
predict_chain = {**solution, "out.grad": None}

# %% mistake="values_of_the_tensors" theme="derivative"
# These are the values of the tensors. `.grad` holds the derivatives of `out` by them.
# Это значения самих тензоров. В `.grad` лежат производные `out` по ним.
predict_chain = {**solution, "x.grad": 1.0, "y.grad": 3.0, "z.grad": 27.0, "out.grad": 27.0}

# %% mistake="zero_at_the_root" theme="derivative"
# You expected `out.grad` to be 0. The derivative of `out` by itself is 1.
# Вы ожидали, что `out.grad` равен 0. Но производная `out` по самому себе равна 1.
predict_chain = {**solution, "out.grad": 0.0}

# %% mistake="value_at_the_root" theme="derivative"
# The value of `out` was taken for `out.grad`. It holds the derivative of `out` with respect to itself.
# За `out.grad` принято значение `out`. Но там лежит производная `out` по самому себе.
predict_chain = {**solution, "out.grad": 27.0}

# %% mistake="a_third" theme="derivative"
# 1.5 is a third of the derivative: either $y$ was taken for 1, though it is 3, or the factor 3 of `z` was left out.
# 1.5 — это треть производной: либо $y$ принят за 1, хотя он равен 3, либо потерян множитель 3 из `z`.
predict_chain = {**solution, "x.grad": 1.5, "y.grad": 1.5}

# %% mistake="square_not_differentiated" theme="derivative"
# The exponent was lost: the derivative of $3y^2$ is $6y$, not $3y$.
# Потерян показатель степени: производная $3y^2$ равна $6y$, а не $3y$.
predict_chain = {**solution, "x.grad": 2.25, "y.grad": 2.25}

# %% mistake="divides_again" theme="scaling"
# `x.grad` was divided by 4 once more. The mean is in `y.grad` already, and $y$ moves as much as $x$.
# Градиент `x.grad` ещё раз разделён на 4. Но усреднение уже учтено в `y.grad`, а $y$ меняется на столько же, на
#     сколько $x$.
predict_chain = {**solution, "x.grad": 1.125}
