# %% mistake="clone_stops" theme="recording"
# You expected a copy to stop the gradient. `clone()` is recorded like any operation: the copy has memory of its own, and
#     the same way back.
# Вы ожидали, что копия остановит градиент. Но `clone()` записывается, как любая операция: у копии своя память, а путь
#     назад прежний.
predict_stops = {**solution, "target.clone()": -4.0}

# %% mistake="detach_stops_everything" theme="recording"
# You expected no graph for a loss with a detached target. Only the target is a constant; `value` still leads to the
#     weight.
# Вы ожидали, что у функции потерь с отсоединённой целью нет графа. Но константой стала только цель, а от `value` путь к
#     весу остался.
predict_stops = {**solution, "target.detach()": "no graph"}

# %% mistake="detach_changes_nothing" theme="recording"
# You expected `detach()` to leave the gradient as it is, since the value stays. It takes the target's share out of it.
# Вы ожидали, что `detach()` не изменит градиента, раз значение прежнее. Но из градиента исчезает вклад цели.
predict_stops = {**solution, "target.detach()": 2.0}

# %% mistake="item_breaks_the_loss" theme="recording"
# You expected a Python number in a formula to end the graph. It is a constant like a detached target, and the rest of
#     the formula keeps its graph.
# Вы ожидали, что число Python в формуле оборвёт граф. Но это такая же константа, как отсоединённая цель, а у остальной
#     части формулы граф есть.
predict_stops = {**solution, "target.item()": "no graph"}

# %% mistake="either_side_will_do" theme="recording"
# You expected it not to matter which side is detached. With `value` detached it is the target that moves, towards the
#     value.
# Вы ожидали, что неважно, какая сторона отсоединена. Но если отсоединить `value`, двигаться будет цель — навстречу
#     значению.
predict_stops = {**solution, "value.detach()": -4.0}

# %% mistake="no_grad_changes_nothing" theme="recording"
# You expected a target that was computed under `no_grad` to have a gradient. Nothing was recorded there: it is a
#     constant.
# Вы ожидали, что у цели, вычисленной внутри `no_grad`, есть градиент. Но там ничего не записывалось: это константа.
predict_stops = {**solution, "target under no_grad": 2.0}

# %% mistake="no_grad_ends_the_loss" theme="recording"
# You expected no graph for a loss with a target from `no_grad`. The loss itself was computed outside, and `value` has
#     its history.
# Вы ожидали, что у функции потерь с целью, вычисленной внутри `no_grad`, нет графа. Но сама функция потерь вычислена
#     снаружи, а у `value` история есть.
predict_stops = {**solution, "target under no_grad": "no graph"}

# %% mistake="targets_are_constants" theme="recording"
# You expected a target to be a constant by itself. Autograd does not know what is a target: it follows every path to the
#     weight.
# Вы ожидали, что цель и так константа. Но autograd не знает, что считается целью: он идёт к весу по всем путям.
predict_stops = {**solution, "nothing stopped": -4.0}

# %% mistake="detached_difference_is_zero" theme="recording"
# You expected the gradient 0 where the whole difference is detached. Nothing is left that leads to the weight: the loss
#     has no graph, and `backward()` raises an error.
# Вы ожидали нулевого градиента там, где отсоединена вся разность. Но пути к весу не осталось: графа у функции потерь
#     нет, и `backward()` завершится ошибкой.
predict_stops = {**solution, "(target - value).detach()": 0.0}

# %% mistake="slope_of_the_value" theme="derivative"
# You expected a gradient without the target's slope in the line in which `value` is detached. The only path left leads
#     through the target, and its slope is a factor.
# Вы ожидали, что в строке, где `value` отсоединено, наклона цели в градиенте не будет. Но остался только путь через
#     цель, и её наклон входит множителем.
predict_stops = {**solution, "value.detach()": 4.0}

# %% mistake="targets_are_never_trained" like="targets_are_constants"
predict_stops = {**solution, "nothing stopped": -4.0, "target.clone()": -4.0}

# %% mistake="minus_is_lost" theme="derivative"
# You expected a positive gradient where the target is a constant. `value` stands behind a minus, and the difference is
#     positive: the gradient is negative.
# Вы ожидали положительного градиента там, где цель — константа. Но `value` вычитается, а разность положительна, поэтому
#     градиент отрицателен.
predict_stops = {**solution, "target.detach()": 4.0}

# %% mistake="value_detached_ends_the_loss" theme="recording"
# You expected no graph where `value` is detached. The target was computed from the weight as well, and its path is left.
# Вы ожидали, что без пути через `value` графа нет. Но цель тоже вычислена по весу, и её путь остался.
predict_stops = {**solution, "value.detach()": "no graph"}

# %% mistake="two_is_lost" theme="derivative"
# You expected half of the gradient: the derivative of a square has the factor 2.
# Вы ожидали половину градиента: у производной квадрата есть множитель 2.
predict_stops = {**solution, "nothing stopped": 1.0}
