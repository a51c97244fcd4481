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

# %% mistake="roots_do_not_keep_their_result" theme="in_place"
# Adding 1 to the result of `sqrt` was taken for harmless, since the derivative of the addition is 1. But `sqrt`
#     saved that very result for its own derivative.
# Не учтено, что операция `sqrt` сохранила свой результат для собственной производной. Прибавлять 1 к результату
#     `sqrt` нельзя, хотя производная сложения и равна 1.
predict_in_place = {**solution, "y = h.sqrt(); y.add_(1)": [0.5, 0.25]}

# %% mistake="numbers_save_the_tensor" theme="in_place"
# You expected multiplication by a number to save `h`. The derivative is that number, so no tensor is saved.
# Вы ожидали, что умножение на число сохранит тензор `h`. Но производная равна этому числу, и ни один тензор не
#     сохраняется.
predict_in_place = {**solution, "y = h * 3; h.add_(1)": "RuntimeError"}

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

# %% mistake="one_relu_breaks" theme="in_place"
# You expected `relu_()` to break its own derivative. That needs the result, to see where it is positive, and the
#     result is what `h` now holds.
# Вы ожидали, что `relu_()` испортит собственную производную. Но для неё нужно знать, где положителен результат, а
#     он теперь и лежит в `h`.
predict_in_place = {**solution, "y = h.relu_()": "RuntimeError"}

# %% mistake="the_second_relu_is_harmless" theme="in_place"
# The second `relu_()` was taken for harmless, since it changes no number. The counter counts edits, not
#     differences, and the first one had saved its result.
# Не учтено, что счётчик считает сами изменения. Второй вызов `relu_()` не меняет чисел, но меняет версию тензора,
#     сохранённого первым.
predict_in_place = {**solution, "y = h.relu_().relu_()": [1.0, 1.0]}

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

# %% mistake="unbind_is_a_view" theme="in_place"
# The parts from `unbind` were taken for ordinary views. When a call returns several views of a recorded result at
#     once, they may not be edited.
# Части, которые вернул `unbind`, приняты за обычные представления. Если вызов вернул сразу несколько представлений
#     результата с историей, менять их нельзя.
predict_in_place = {**solution, "y = h; h.unbind()[0].mul_(10)": [10.0, 1.0]}

# %% mistake="inputs_may_not_be_edited" theme="in_place"
# You expected every edit of an input to break the backward pass. It does so only if the input is what was saved:
#     `h.sqrt()` saved its result, `h * k` saved `k`, and `h * 3` nothing.
# Вы ожидали, что любое изменение входа сломает обратный проход. Но так бывает, только если сохранён сам вход: `h.sqrt()`
#     сохраняет результат, `h * k` — `k`, а `h * 3` не сохраняет ничего.
predict_in_place = {
    **solution,
    "y = h.sqrt(); h.add_(1)": "RuntimeError",
    "y = h * 3; h.add_(1)": "RuntimeError",
    "y = h * k; h.add_(1)": "RuntimeError",
}

# %% mistake="all_views_may_be_edited" theme="in_place"
# Every view was taken for editable. A view of a leaf is refused as the leaf itself is, and so are the views of a
#     recorded result that one call returns together, as `unbind` does.
# Не учтено, что менять можно не всякое представление. Представление листа менять запрещено так же, как и сам лист, а
#     представления результата с историей — если один вызов вернул сразу несколько, как `unbind`.
predict_in_place = {
    **solution,
    "y = h; h.unbind()[0].mul_(10)": [10.0, 1.0],
    "x[0].mul_(10); y = x * 2": [20.0, 2.0],
}

# %% mistake="leaves_may_be_edited" theme="in_place"
# A leaf that requires grad was taken for editable while operations are recorded. It would become a non-leaf, and
#     torch refuses that.
# Не учтено, что лист, который требует градиента, нельзя менять при включённом отслеживании: он стал бы нелистовым
#     тензором.
predict_in_place = {**solution, "x.add_(1); y = x * 2": [2.0, 2.0]}

# %% mistake="views_of_leaves_may_be_edited" theme="in_place"
# The edit of a leaf through a view was taken for legal. A view of a leaf is refused as the leaf itself is.
# Не учтено, что представление листа менять запрещено так же, как и сам лист.
predict_in_place = {**solution, "x[0].mul_(10); y = x * 2": [20.0, 2.0]}

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
