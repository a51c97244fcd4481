# %%
import torch


# %% mistake="two_numbers" theme="test"
# There are two numbers. A sum of two does not depend on their order.
# Чисел всего два, а сумма двух чисел от порядка не зависит.
def order_changes_bits():
    return [0.1, 0.2]

# %% mistake="exact_numbers" theme="test"
# All additions of these numbers are exact in float32, so every order gives the same.
# Все сложения этих чисел в float32 точны, поэтому результат не зависит от порядка.
def order_changes_bits():
    return [1.0, 2.5, 3.0]

# %% mistake="differs_in_float64" theme="test"
# The two orders of these numbers differ for Python's floats, which are float64, as those of 0.1, 0.2, 0.3 do. In
#     float32 they agree.
# Сумма этих чисел зависит от порядка, если это числа Python, то есть float64, как и в примере 0.1, 0.2, 0.3. В float32
#     при обоих порядках она одна и та же.
def order_changes_bits():
    return [0.1, 0.2, 0.3]

# %% mistake="huge_numbers" theme="test"
# Not every number is from 0.1 to 10. The order changes the bits for such ordinary numbers as well.
# Не все числа лежат в пределах от 0.1 до 10. Порядок меняет биты и у чисел обычной величины.
def order_changes_bits():
    return [1e8, 1.0, -1e8]

# %% mistake="four_numbers" theme="test"
# There are more than three numbers.
# Чисел больше трёх.
def order_changes_bits():
    return [0.1, 0.3, 0.4, 0.7]

# %% mistake="two_small_numbers" theme="test"
# There are two numbers, and not both are from 0.1 to 10.
# Чисел всего два, и не оба лежат в пределах от 0.1 до 10.
def order_changes_bits():
    return [0.01, 0.02]

# %% mistake="returns_a_tensor" theme="missing"
# A tensor came back. Asked for is a list of three numbers.
# Возвращён тензор, а нужен список из трёх чисел.
def order_changes_bits():
    return torch.tensor([0.1, 0.3, 0.4])

# %% mistake="another_order" theme="test"
# Some other order of these numbers gives other bits, but the reverse one does not.
# Другие биты получаются при каком-то ином порядке этих чисел, но не при обратном.
def order_changes_bits():
    return [0.1, 0.7, 0.1]

# %% mistake="no_difference" theme="test"
# No order of these numbers changes the bits in float32.
# В float32 биты суммы одни и те же при любом порядке этих чисел.
def order_changes_bits():
    return [0.1, 0.1, 0.1]

# %% mistake="returns_nothing" theme="return"
# Nothing came back. Asked for is a list of three numbers.
# Функция ничего не возвращает, а нужен список из трёх чисел.
def order_changes_bits():
    return None

# %% mistake="returns_strings" theme="missing"
# The list holds strings. Asked for are numbers.
# В списке строки, а нужны числа.
def order_changes_bits():
    return ["0.1", "0.3", "0.4"]

# %% mistake="nests_the_list" theme="missing"
# The list holds another list. Asked for are three numbers.
# В списке лежит ещё один список, а нужны три числа.
def order_changes_bits():
    return [[0.1, 0.3, 0.4]]

# %% mistake="returns_a_set" theme="missing"
# A set came back. It has no order; asked for is a list of three numbers.
# Возвращено множество (set). Порядка у него нет, а нужен список из трёх чисел.
def order_changes_bits():
    return {0.1, 0.3, 0.4}
