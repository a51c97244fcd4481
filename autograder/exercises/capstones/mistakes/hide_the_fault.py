# %% mistake="nothing_moves" theme="test"
# Nothing moves: all TD errors are 0, and then any update agrees with any other.
# Ничего не меняется: все TD-ошибки равны 0, а тогда одинаковы любые обновления.
def hide_the_fault():
    return [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]

# %% mistake="errors_on_the_way" theme="test" plain="yes"
# The first TD errors are not 0, so an update is left in `.grad` and gets into the trace.
# Первые TD-ошибки не равны 0, поэтому в `.grad` остаётся обновление и попадает в след.
def hide_the_fault():
    return [0.1, 0.2, 0.3], [0.0, 0.0, 1.0]

# %% mistake="a_reward_on_the_way" theme="test"
# Some of the TD errors before the last step are 0, but not all: what one of them leaves in `.grad` gets into the
#     trace.
# До последнего шага равны 0 не все TD-ошибки. Шаг с ненулевой ошибкой оставляет в `.grad` обновление, и оно попадает в след.
def hide_the_fault():
    return [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]

# %% mistake="too_short" theme="test"
# The episode has fewer than three states.
# В эпизоде меньше трёх состояний.
def hide_the_fault():
    return [0.0], [1.0]

# %% mistake="lengths_differ" theme="test"
# The lists have different lengths. There is one reward for each weight.
# Длины списков различаются. На каждый вес нужна одна награда.
def hide_the_fault():
    return [0.0, 0.0, 0.0], [0.0, 1.0]

# %% mistake="more_than_two" theme="missing"
# More than two values are returned. Asked for are two lists: the weights and the rewards.
# Возвращено больше двух значений. Нужны два списка: веса и награды.
def hide_the_fault():
    return [(0.0, 0.0), (0.0, 0.0), (0.0, 1.0)]

# %% mistake="hardly_moves" theme="test"
# The TD errors are 0 up to the last step, as they should be, but some weight moves too little. Take a larger last
#     reward or fewer states.
# TD-ошибки равны 0 до последнего шага, как и нужно, но какой-то вес почти не меняется. Возьмите последнюю награду
#     побольше или состояний поменьше.
def hide_the_fault():
    return [0.0, 0.0, 0.0], [0.0, 0.0, 0.03]

# %% mistake="reward_at_the_start" theme="test"
# The last TD error is 0, and an earlier one is not: the states after that one do not move.
# Последняя TD-ошибка равна 0, а одна из прежних — нет: ценности следующих состояний не меняются.
def hide_the_fault():
    return [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]

# %% mistake="returns_a_dict" theme="missing"
# A dict is returned. Asked for are two lists: the weights and the rewards.
# Возвращён словарь, а нужны два списка: веса и награды.
def hide_the_fault():
    return {"weights": [0.0, 0.0, 0.0], "rewards": [0.0, 0.0, 1.0]}

# %% mistake="not_finite" theme="test"
# Some number is infinite or NaN.
# Среди чисел есть бесконечность или NaN.
def hide_the_fault():
    return [0.0, 0.0, 0.0], [0.0, 0.0, float("nan")]

# %% mistake="errors_and_hardly_moves" theme="test"
# The first TD errors are not 0, so an update is left in `.grad` and gets into the trace. And some weight moves by
#     less than 0.01.
# Первые TD-ошибки не равны 0, поэтому в `.grad` остаётся обновление и попадает в след. К тому же какой-то вес
#     меняется меньше чем на 0.01.
def hide_the_fault():
    return [0.9, 0.9, 0.9], [0.0, 0.0, 1.0]

# %% mistake="swaps_the_lists" theme="order"
# The two lists are swapped: the weights come first, then the rewards.
# Списки стоят не в том порядке: сначала нужны веса, потом награды.
def hide_the_fault():
    return [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]
