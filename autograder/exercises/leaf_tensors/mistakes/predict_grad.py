# %% mistake="early_holds_the_local" theme="derivative"
# The derivative of one line was taken for `.grad`, such as that of `late` with respect to `early`. `.grad` holds
#     the derivative of `loss`, where `backward()` began.
# За `.grad` принята производная одной строки, например `late` по `early`. Но в `.grad` лежит производная `loss`, с
#     которого начался `backward()`.
predict_grad = {**solution, "early.grad": 1.0}

# %% mistake="early_holds_its_own" theme="derivative"
# The derivative of `early` with respect to `x` was taken for `early.grad`. It is the other way round: the
#     derivative of `loss` with respect to `early`.
# За `early.grad` принята производная `early` по `x`. Всё наоборот: там лежит производная `loss` по `early`.
predict_grad = {**solution, "early.grad": 3.0}

# %% mistake="non_leaves_never_keep" theme="recording"
# A non-leaf was taken to have no `.grad` at all. Its gradient is computed anyway, and `retain_grad()` before
#     `backward()` keeps it.
# Не учтено, что `.grad` может быть и у нелистового тензора. Его градиент всё равно вычисляется, а `retain_grad()`
#     до вызова `backward()` его сохраняет.
predict_grad = {**solution, "early.grad": None}

# %% mistake="retaining_works_afterwards" theme="order"
# You expected `retain_grad()` to work afterwards. It asks the *next* backward pass; this one is over.
# Вы ожидали, что `retain_grad()` подействует задним числом. Но он относится к *следующему* обратному проходу, а
#     этот уже закончился.
predict_grad = {**solution, "late.grad": 22.0}

# %% mistake="views_have_gradients" theme="recording"
# A view was taken to have a `.grad` of its own. The gradient of `v[0]` goes on to the leaf `v`.
# Вы ожидали, что у представления есть свой `.grad`. Но градиент `v[0]` идёт дальше, в лист `v`.
predict_grad = {**solution, "part.grad": 4.0}

# %% mistake="nothing_reaches_the_base" theme="recording"
# You expected `v` to get nothing, since only a part of it was used. The gradient lands at the place of that part,
#     with zeros beside it.
# Не учтено, что градиент доходит до `v`, хотя использована только его часть. Он попадает на место этой части, а на
#     остальных местах стоят нули.
predict_grad = {**solution, "v.grad": None}

# %% mistake="parts_spread" theme="axes"
# The gradient of a part was spread over the whole tensor. `v[1]` has no influence on `loss`: 0.
# Градиент части распространён на весь тензор. Но элемент `v[1]` на `loss` не влияет, и там 0.
predict_grad = {**solution, "v.grad": [4.0, 4.0]}

# %% mistake="scaling_keeps_the_gradient" theme="recording"
# `lost` was taken for a leaf. The name `lost` is bound to the product; the leaf that gets the gradient has no name
#     left.
# Тензор `lost` принят за лист. Но имя `lost` связано с произведением, а исходный лист, которому достался градиент,
#     ни с каким именем больше не связан.
predict_grad = {**solution, "lost.grad": 1.0}

# %% mistake="constants_get_zero" theme="recording"
# You expected a constant to get a gradient of zero. It gets none: None.
# Вы ожидали, что константа получит нулевой градиент. Но она не получает никакого: там None.
predict_grad = {**solution, "k.grad": 0.0}

# %% mistake="constants_get_gradients" theme="recording"
# You expected a constant to get a gradient, since the loss depends on it. It gets none.
# Вы ожидали, что константа получит градиент, ведь функция потерь от неё зависит. Но градиента у константы нет.
predict_grad = {**solution, "k.grad": 22.0}

# %% mistake="chain_stops_early" theme="derivative"
# Only a part of the chain went into `x.grad`. All derivatives on the way from `loss` to `x` have to be multiplied.
# В `x.grad` учтена только часть цепочки. Нужно перемножить производные на всём пути от `loss` до `x`.
predict_grad = {**solution, "x.grad": 22.0}

# %% mistake="loss_keeps_one" theme="recording"
# You expected `loss` to keep the gradient that the pass begins with. That gradient is 1, but `loss` is no leaf and
#     was not asked to keep it.
# Вы ожидали, что `loss` сохранит градиент, с которого начинается проход. Этот градиент равен 1, но `loss` — не
#     лист, и сохранить его градиент никто не просил.
predict_grad = {**solution, "loss.grad": 1.0}

# %% mistake="optimizers_take_anything" theme="recording"
# You expected an optimizer to take any tensor that requires grad. It refuses a non-leaf for which `retain_grad()`
#     was not called.
# Вы ожидали, что оптимизатор примет любой тензор, который требует градиента. Но нелистовой тензор без вызова
#     `retain_grad()` он не принимает.
predict_grad = {**solution, "SGD([lost], lr=0.1)": "accepted"}

# %% mistake="constants_go_backward" theme="recording"
# You expected `backward()` on a constant to do nothing. There is no graph to walk, and torch raises an error.
# Вы ожидали, что `backward()` от константы просто ничего не сделает. Но графа нет, проходить не по чему, и torch
#     сообщает об ошибке.
predict_grad = {**solution, "k.backward()": "accepted"}

# %% mistake="none_in_quotes" theme="slip"
# `None` stands in quotes. What comes back is the value, not a string.
# Слово `None` стоит в кавычках. Возвращается само значение, а не строка.
predict_grad = {**solution, "k.grad": "None"}

# %% mistake="everybody_keeps_one" theme="recording"
# Every tensor was taken to keep `.grad`. Unless asked, only leaves that require grad keep it.
# Вы ожидали, что `.grad` сохранится у каждого тензора. Но если не попросить, он сохраняется только у листьев,
#     которые требуют градиента.
predict_grad = {**solution, "part.grad": 4.0, "lost.grad": 1.0, "late.grad": 22.0, "loss.grad": 1.0}

# %% mistake="lost_holds_the_leafs" theme="recording"
# The gradient of the original leaf was ascribed to `lost`. That leaf has it, and no name is bound to the leaf any
#     more.
# Градиент исходного листа принят за градиент `lost`. Но лежит он в самом листе, а лист ни с каким именем больше не
#     связан.
predict_grad = {**solution, "lost.grad": 0.01}

# %% mistake="gradient_of_the_part" theme="axes"
# `v.grad` was taken for one number. A gradient has the shape of its tensor: one entry for each of `v`.
# За `v.grad` принято одно число. Но у градиента та же форма, что у тензора: по элементу на каждый элемент `v`.
predict_grad = {**solution, "v.grad": 4.0}

# %% mistake="early_holds_that_of_x" theme="derivative"
# The derivative with respect to `x` was taken for `early.grad`. The factor 3 comes in between: `early = x * 3`.
# За `early.grad` принята производная по `x`. Но между ними стоит множитель 3: `early = x * 3`.
predict_grad = {**solution, "early.grad": 66.0}

# %% mistake="leaves_k_out" theme="derivative"
# The derivative was taken where `late` is 6. The constant `k` gets no gradient, but it counts in the value of
#     `late`: 11.
# Производная взята там, где `late` равен 6. Градиента константа `k` не получает, но на значение `late` влияет: оно
#     равно 11.
predict_grad = {**solution, "x.grad": 36.0, "early.grad": 12.0}

# %% mistake="the_other_entry" theme="axes"
# The gradient stands in the wrong place. `part` is `v[0]`, the first entry.
# Градиент стоит не на том месте. Тензор `part` — это `v[0]`, первый элемент.
predict_grad = {**solution, "v.grad": [0.0, 4.0]}

# %% mistake="none_for_an_entry" theme="axes"
# You expected None for an entry that has no influence. A gradient is a tensor of numbers: the entry is 0.
# Вы ожидали None у элемента, который ни на что не влияет. Но градиент — тензор из чисел: там стоит 0.
predict_grad = {**solution, "v.grad": [4.0, None]}

# %% mistake="optimizers_raise_runtime_errors" theme="own"
# You expected a `RuntimeError`. An optimizer that refuses an argument raises a `ValueError`.
# Вы ожидали `RuntimeError`. Но оптимизатор, который не принимает аргумент, вызывает `ValueError`.
predict_grad = {**solution, "SGD([lost], lr=0.1)": "RuntimeError"}

# %% mistake="backward_raises_value_errors" theme="own"
# You expected a `ValueError`. Errors of the backward pass are of the type `RuntimeError`.
# Вы ожидали `ValueError`. Но у ошибок обратного прохода тип `RuntimeError`.
predict_grad = {**solution, "k.backward()": "ValueError"}
