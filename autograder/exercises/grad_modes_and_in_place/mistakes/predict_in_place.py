# %% mistake="squares_need_nothing" theme="in_place"
# The squaring was taken to need `h` no more. The derivative of `h ** 2` is $2h$, with the `h` of the forward pass.
# Не учтено, что для производной `h ** 2` ещё понадобится `h`: она равна $2h$, где `h` — значение из прямого
#     прохода.
predict_in_place = {**solution, "y = h ** 2; h.add_(1)": [2.0, 8.0]}

# %% mistake="takes_the_new_numbers" theme="in_place"
# You expected the edited `h` to be used in the backward pass. Autograd compares the version of what it saved and
#     raises an error.
# Вы ожидали, что обратный проход возьмёт изменённый тензор `h`. Но autograd сверяет версию сохранённого тензора и
#     прерывает проход ошибкой.
predict_in_place = {**solution, "y = h ** 2; h.add_(1)": [4.0, 10.0]}

# %% mistake="squares_need_their_result" theme="in_place"
# You expected every edit of a result to fail. But `h ** 2` saved `h`, not `y`: the edit of `y` is recorded, and the
#     gradient is $3 \cdot 2x$.
# Вы ожидали здесь ошибку, но операция `h ** 2` сохранила `h`, а не `y`: изменение `y` записано, и градиент равен $3
#     \cdot 2x$.
predict_in_place = {**solution, "y = h ** 2; y.mul_(3)": "RuntimeError"}

# %% mistake="edits_are_not_recorded" theme="in_place"
# The edit `y.mul_(3)` was left out of the derivative. An in-place operation is recorded like any other: its
#     derivative, 3, is a factor of the gradient.
# Изменение `y.mul_(3)` не вошло в производную. Операция на месте записывается, как и любая другая: её производная,
#     3, входит в градиент множителем.
predict_in_place = {**solution, "y = h ** 2; y.mul_(3)": [2.0, 8.0]}

# %% mistake="roots_need_their_input" theme="in_place"
# The input of `sqrt` was taken for what its derivative needs. `sqrt` saves its result, since the derivative is
#     $1/(2y)$; so `h` may be edited.
# Вы ожидали, что для производной `sqrt` нужен вход. Но производная равна $1/(2y)$, и `sqrt` сохраняет результат;
#     поэтому `h` менять можно.
predict_in_place = {**solution, "y = h.sqrt(); h.add_(1)": "RuntimeError"}

# %% mistake="products_save_both" theme="in_place"
# You expected a product to save both factors always. `h` would be needed for the gradient of `k` alone, and `k` is
#     a constant.
# Вы ожидали, что произведение сохранит оба множителя. Но тензор `h` нужен только для градиента `k`, а `k` —
#     константа.
predict_in_place = {**solution, "y = h * k; h.add_(1)": "RuntimeError"}

# %% mistake="constants_are_harmless" theme="in_place"
# The edit of a constant was taken for harmless. The derivative of `h * k` with respect to `h` is `k`, so the
#     constant is what was saved.
# Не учтено, что сохранена как раз константа: производная `h * k` по `h` равна `k`.
predict_in_place = {**solution, "y = h * k; k.add_(1)": [3.0, 5.0]}

# %% mistake="takes_the_new_constant" theme="in_place"
# You expected the edited `k` to be used in the backward pass. `k` was saved at version 0 and is at version 1: an
#     error.
# Вы ожидали, что обратный проход возьмёт изменённый тензор `k`. Но `k` сохранён с версией 0, а теперь у него версия
#     1: это ошибка.
predict_in_place = {**solution, "y = h * k; k.add_(1)": [4.0, 6.0]}

# %% mistake="views_may_not_be_edited" theme="in_place"
# You expected an edit through a view to fail because the memory is shared. Autograd follows it: `h` gets a new
#     node, and the gradient is exact.
# Здесь ожидалась ошибка, раз память общая. Но autograd учитывает изменения через представление: у тензора `h`
#     появляется новый узел, и градиент точен.
predict_in_place = {**solution, "y = h; h[0].mul_(10)": "RuntimeError"}

# %% mistake="the_base_does_not_notice" theme="in_place"
# The edit of the view was left out for `h`. The numbers of `h` changed, and so did the derivative: 10 at the edited
#     place.
# Изменение представления не учтено для самого `h`. Изменились и числа в `h`, и производная: на этом месте она равна
#     10.
predict_in_place = {**solution, "y = h; h[0].mul_(10)": [1.0, 1.0]}

# %% mistake="inputs_may_not_be_edited" theme="in_place"
# You expected every edit of an input to break the backward pass. It does so only if the input is what was saved:
#     `h.sqrt()` saved its result, `h * k` saved `k`, and `h * 3` nothing.
# Вы ожидали, что любое изменение входа сломает обратный проход. Но так бывает, только если сохранён сам вход: `h.sqrt()`
#     сохраняет результат, `h * k` — `k`, а `h * 3` не сохраняет ничего.
predict_in_place = {
    **solution,
    "y = h.sqrt(); h.add_(1)": "RuntimeError",
    "y = h * k; h.add_(1)": "RuntimeError",
}

# %% mistake="writing_keeps_the_gradient" theme="in_place"
# You expected the gradient to pass through the constant 7. The old `y[0]` has no influence on the result any more:
#     0.
# Вы ожидали, что градиент пройдёт через константу 7. Но прежний элемент `y[0]` на результат больше не влияет, и
#     градиент там равен 0.
predict_in_place = {**solution, "y = h * 3; y[0] = 7": [3.0, 3.0]}

# %% mistake="writing_gives_the_number" theme="in_place"
# The number 7 was taken for the gradient at its place. It is a constant there, and the gradient of `x` is 0.
# За градиент на изменённом месте принято само число 7. Но это константа, и градиент тензора `x` на этом месте равен
#     0.
predict_in_place = {**solution, "y = h * 3; y[0] = 7": [7.0, 3.0]}

# %% mistake="writing_is_refused" theme="in_place"
# You expected writing into a part of a result to fail. Multiplication by a number saved nothing, so the edit is
#     recorded and the rest goes on.
# Вы ожидали здесь ошибку, но умножение на число ничего не сохранило: изменение части результата записано, и
#     вычисления идут дальше.
predict_in_place = {**solution, "y = h * 3; y[0] = 7": "RuntimeError"}

# %% mistake="products_save_what_learns" theme="in_place"
# You expected a product to save the factor that requires grad. It saves the other one: the gradient of `h` needs
#     `k`.
# Вы ожидали, что произведение сохранит тот множитель, который требует градиента. Но сохраняется другой: для
#     градиента `h` нужен `k`.
predict_in_place = {**solution, "y = h * k; h.add_(1)": "RuntimeError", "y = h * k; k.add_(1)": [3.0, 5.0]}
