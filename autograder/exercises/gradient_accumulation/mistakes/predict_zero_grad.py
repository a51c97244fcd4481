# %% mistake="none_counts_as_zero" theme="own"
# None was taken for a gradient of zero. A parameter whose `.grad` is None is skipped, momentum and all.
# Значение None принято за нулевой градиент. Но параметр, у которого в `.grad` лежит None, пропускается целиком,
#     вместе с импульсом.
predict_zero_grad = {**solution, "w: None, momentum": 0.81}

# %% mistake="zero_stops_the_step" theme="own"
# You expected a gradient of zero to stop the step. Momentum goes on moving the weight.
# Вы ожидали, что при нулевом градиенте шага не будет. Но вес продолжает меняться за счёт импульса.
predict_zero_grad = {**solution, "w: zero, momentum": 0.9}

# %% mistake="default_leaves_zeros" theme="accumulation"
# You expected `zero_grad()` to leave zeros. By default it leaves None; zeros need `set_to_none=False`.
# Вы ожидали, что `zero_grad()` оставит нули. Но по умолчанию остаётся None; для нулей нужен `set_to_none=False`.
predict_zero_grad = {**solution, "w.grad after zero_grad()": 0.0}

# %% mistake="moves_without_momentum" theme="own"
# You expected the weight to move without momentum too. Plain descent on a gradient of zero stays where it is.
# Вы ожидали, что вес изменится и без импульса. Но при обычном спуске с нулевым градиентом он остаётся на месте.
predict_zero_grad = {**solution, "w: zero, no momentum": 0.81}

# %% mistake="both_leave_zeros" like="default_leaves_zeros"
predict_zero_grad = {**solution, "w.grad after zero_grad()": 0.0, "w: None, momentum": 0.81}

# %% mistake="swaps_the_flag" theme="accumulation"
# The two settings of `set_to_none` are swapped: None is the default, `set_to_none=False` leaves zeros.
# Перепутаны два значения `set_to_none`: по умолчанию там None, а нули оставляет `set_to_none=False`.
predict_zero_grad = {
    **solution,
    "w.grad after zero_grad()": 0.0,
    "w: None, momentum": 0.81,
    "w.grad after zero_grad(set_to_none=False)": None,
    "w: zero, momentum": 0.9,
}

# %% mistake="uses_the_old_gradient_again" theme="accumulation"
# The old gradient was used a second time. It is zero now; only the velocity goes on, as $0.9$.
# Прежний градиент использован второй раз. Теперь он равен нулю, и действует только накопленная скорость, $0.9$.
predict_zero_grad = {**solution, "w: zero, momentum": 0.71}

# %% mistake="velocity_stays_one" theme="own"
# The velocity stayed 1. Each step multiplies it by the momentum, $0.9$.
# Накопленная скорость осталась равной 1. На каждом шаге она умножается на коэффициент импульса $0.9$.
predict_zero_grad = {**solution, "w: zero, momentum": 0.8}

# %% mistake="dampens_the_velocity" theme="own"
# You expected the velocity to be an average, with a factor $1 - 0.9$. SGD adds the gradient to it as it is.
# Вы ожидали, что скорость — это среднее с множителем $1 - 0.9$. Но SGD прибавляет к ней градиент целиком.
predict_zero_grad = {**solution, "w: zero, momentum": 0.891}
