# %%
import torch


def _at(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)

# %% mistake="a_kink" theme="test"
# At `elsewhere` the differences to the two sides do not agree: it is a kink or a jump. `gradcheck` complains there
#     even when autograd does what it should.
# В точке `elsewhere` разности в две стороны не согласуются: это излом или скачок. Там `gradcheck` не проходит, даже
#     если autograd делает то, что должен.
def fool_gradcheck():
    return torch.relu, _at(1.0, -2.0), _at(0.0, 1.0)

# %% mistake="a_kink_at_x" theme="test"
# `x` itself is at a kink, where `gradcheck` fails.
# На изломе стоит сама точка `x`, а там `gradcheck` не проходит.
def fool_gradcheck():
    return torch.relu, _at(0.0, 1.0), _at(-1.0, 2.0)

# %% mistake="wrong_at_x" theme="test"
# `gradcheck` does not pass at `x`: there, too, its differences and autograd disagree.
# В точке `x` `gradcheck` не проходит: и там его разности не согласуются с autograd.
def fool_gradcheck():
    return (lambda x: x * x.detach()), _at(1.0, 2.0), _at(-1.0, -2.0)

# %% mistake="in_single_precision" theme="precision"
# A point is in float32. Both belong in float64: in float32 `gradcheck` fails for right functions too.
# Точка задана в float32. Обе нужны в float64: в float32 `gradcheck` не проходит и для верных функций.
def fool_gradcheck():
    return torch.sin, torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])

# %% mistake="by_chance" theme="test"
# `f` gives another value at each call. `gradcheck` compares repeated calls and notices.
# Функция `f` при каждом вызове даёт другое значение. Проверка `gradcheck` сравнивает повторные вызовы и замечает
#     это.
def fool_gradcheck():
    return torch.nn.Dropout(), _at(*range(1, 33)), _at(*range(2, 34))

# %% mistake="right_everywhere" theme="test"
# At `elsewhere`, too, autograd agrees with the differences, to 1 %: nothing is there to be overlooked.
# И в точке `elsewhere` градиент от autograd согласуется с разностями с точностью до 1 %: обнаруживать там нечего.
def fool_gradcheck():
    return torch.sin, _at(1.0, 2.0), _at(3.0, 4.0)

# %% mistake="no_number_there" theme="test"
# At `elsewhere`, or right beside it, the value of `f` is no finite number: differences measure nothing there.
# В точке `elsewhere` или совсем рядом с ней значение `f` — не конечное число: разностями там ничего не измерить.
def fool_gradcheck():
    return torch.log, _at(1.0, 2.0), _at(-1.0, 2.0)

# %% mistake="chance_elsewhere" theme="test"
# At `elsewhere` another call of `f` gives another value or gradient: by chance, or because `f` remembers.
# В точке `elsewhere` повторный вызов `f` даёт другое значение или другой градиент: из-за случайных чисел или
#     потому, что `f` что-то запоминает.
def fool_gradcheck():
    return (lambda x: x if x[0] > 0 else x * torch.rand_like(x)), _at(1.0, 2.0), _at(-1.0, 2.0)

# %% mistake="no_graph_there" theme="recording"
# At `elsewhere` the result has no graph: autograd raises an error, and nobody is fooled.
# В точке `elsewhere` у результата нет графа: autograd сообщает об ошибке, и никто не обманут.
def fool_gradcheck():
    return (lambda x: x**2 if x[0] > 0 else (x**2).detach()), _at(1.0, 2.0), _at(-1.0, -2.0)

# %% mistake="too_far_to_measure" theme="test"
# The derivative cannot be measured at `elsewhere`: the values change too fast between neighbouring numbers, or
#     rounding hides the change. Take a point where differences mean something.
# В точке `elsewhere` производную не измерить: соседние числа дают слишком разные значения, или изменение
#     теряется в округлении. Возьмите точку, где разностям можно верить.
def fool_gradcheck():
    return torch.sin, _at(1.0), _at(1e17)

# %% mistake="wrong_size" theme="test"
# A point has no entries or more than 100. Then nothing is compared, or too much.
# В одной из точек нет элементов или их больше 100. Тогда сравнивать нечего или приходится сравнивать слишком много.
def fool_gradcheck():
    return torch.sin, torch.zeros(0, dtype=torch.float64), _at(1.0)
