# %% mistake="backward_overwrites" theme="accumulation"
# You expected the second `backward()` to replace the first gradient. It adds to it.
# Вы ожидали, что второй `backward()` заменит первый градиент. Но новый градиент прибавляется к нему.
predict_accumulation = {**solution, "w.grad after the second backward": -8.0}

# %% mistake="alias_is_a_snapshot" theme="in_place"
# `first = w.grad` was taken for a snapshot. It is a second name for the tensor that the next `backward()` adds to.
# Строка `first = w.grad` принята за снимок. Но это второе имя того же тензора, к которому прибавляет следующий
#     `backward()`.
predict_accumulation = {**solution, "first": -32.0}

# %% mistake="clone_is_an_alias" theme="in_place"
# You expected `clone()` to stay connected to `w.grad`. A clone has its own memory.
# Вы ожидали, что результат `clone()` меняется вместе с `w.grad`. Но у копии своя память.
predict_accumulation = {**solution, "copy": -40.0}

# %% mistake="zero_grad_leaves_zeros" theme="accumulation"
# You expected `zero_grad()` to leave a tensor of zeros. By default it puts None there.
# Вы ожидали, что `zero_grad()` оставит тензор из нулей. Но по умолчанию там остаётся None.
predict_accumulation = {**solution, "w.grad after zero_grad": 0.0}

# %% mistake="starts_at_zero" theme="accumulation"
# You expected `.grad` to be zero before any backward pass. Until the first one it is None.
# Вы ожидали, что до первого обратного прохода в `.grad` лежит ноль. Но до него там None.
predict_accumulation = {**solution, "w.grad before": 0.0}

# %% mistake="takes_the_mean" theme="scaling"
# The two gradients were averaged. `.grad` holds their sum.
# Взято среднее двух градиентов, а в `.grad` лежит их сумма.
predict_accumulation = {**solution, "first": -20.0, "w.grad after the second backward": -20.0}

# %% mistake="wrong_sign" theme="derivative"
# The sign is wrong: a larger `w` makes the loss smaller here.
# Неверен знак: чем больше `w`, тем меньше здесь функция потерь.
predict_accumulation = {**solution, "copy": 32.0}
