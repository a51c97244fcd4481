# %%
import torch
from torch.autograd import gradcheck
from torch.library import opcheck


def _telling():
    """Return a tall, transposed matrix that requires grad."""
    return torch.linspace(-1, 2, 6, dtype=torch.float64).view(2, 3).t().requires_grad_()

# %% mistake="trusts_opcheck" theme="test"
# Wrong derivatives are accepted. `opcheck` compares the operator with itself, and looks at no number of the derivative.
# Операторы с неверной производной приняты. `opcheck` сравнивает оператор с ним же самим и на числа производной не
#     смотрит.
def is_right_operator(op, x):
    opcheck(op, (_telling(),))
    return True

# %% mistake="the_kind_example" theme="test"
# Only the given example was tried, or another square and contiguous matrix. A fake that confuses rows and columns, or
#     that needs contiguous memory, is right for it.
# Проверен только данный пример или другая квадратная матрица, непрерывная в памяти. Для неё верна и фиктивная
#     реализация, которая путает строки со столбцами или требует непрерывной памяти.
def is_right_operator(op, x):
    x = x.requires_grad_()
    opcheck(op, (x,))
    return gradcheck(op, (x,))

# %% mistake="requires_no_grad" theme="test"
# Wrong formulas are accepted: the examples for `opcheck` do not require grad, so it looks at no formula.
# Операторы с неправильной формулой приняты: примеры для `opcheck` не требуют градиента, и на формулу она не смотрит.
def is_right_operator(op, x):
    opcheck(op, (_telling().detach(),))
    return True

# %% mistake="opcheck_of_the_example" theme="test"
# Hardly any operator is refused: a wrong derivative passes, and so does a fake that is wrong for other shapes. Either
#     the given example alone was tried, as it is, or what `opcheck` and `gradcheck` find is not used.
# Принимаются почти все операторы: и с неверной производной, и с фиктивной реализацией, неверной для других форм. Либо
#     опробован только данный пример как есть, либо не используется то, что нашли `opcheck` и `gradcheck`.
def is_right_operator(op, x):
    opcheck(op, (x,))
    return True

# %% mistake="opcheck_of_a_square" theme="test"
# Only `opcheck` was asked, and only about a square, contiguous matrix. Wrong derivatives are accepted, and a fake may
#     be wrong for other shapes.
# Вызвана только `opcheck` и только для квадратной матрицы, непрерывной в памяти. Операторы с неверной производной
#     приняты, и для других форм фиктивная реализация может быть неверна.
def is_right_operator(op, x):
    opcheck(op, (x.requires_grad_(),))
    return True

# %% mistake="no_transposed_example" theme="test"
# Every example for `opcheck` is contiguous. A fake that is right for such matrices alone is not noticed.
# Все примеры для `opcheck` непрерывны в памяти. Фиктивную реализацию, верную только для таких матриц, тест не заметит.
def is_right_operator(op, x):
    wide = _telling().t().detach().requires_grad_()
    opcheck(op, (wide,))
    return gradcheck(op, (wide,))

# %% mistake="transposes_a_square" theme="test"
# Every example is square. A fake that confuses rows and columns is right for them.
# Все примеры квадратные. Для них верна и фиктивная реализация, которая путает строки со столбцами.
def is_right_operator(op, x):
    x = x.t().requires_grad_()
    opcheck(op, (x,))
    return gradcheck(op, (x,))

# %% mistake="gradcheck_alone" theme="test"
# Only the derivative decides. Fake, strides and tracing are for `opcheck`: it is not called, or its result with
#     `raise_exception=False` is not read.
# Тест смотрит только на производную. Фиктивную реализацию, шаги (strides) и запись в граф проверяет `opcheck`: она не
#     вызвана или её результат при `raise_exception=False` не прочитан.
def is_right_operator(op, x):
    return gradcheck(op, (_telling(),))

# %% mistake="accepts_all" theme="test"
# Every operator is accepted. Does the test look at what `opcheck` returns with `raise_exception=False`?
# Принимается любой оператор. Если `opcheck` вызвана с `raise_exception=False`, прочитан ли её результат?
def is_right_operator(op, x):
    opcheck(op, (_telling(),), raise_exception=False)
    return True

# %% mistake="refuses_all" theme="test"
# Every right operator is refused. Does `except` hide an error of the test itself, or does the test ask for too much, such
#     as a result in the shape of `x`?
# Отвергаются все правильные операторы. Не скрывает ли `except` ошибку в самом тесте? И не требует ли тест лишнего,
#     например результата той же формы, что и `x`?
def is_right_operator(op, x):
    return False

# %% mistake="never_traces_the_formula" theme="test"
# A formula in NumPy is accepted: nothing traces it. Only `opcheck` does, with examples that require grad. `gradcheck`
#     compares numbers alone.
# Формула на NumPy принята: в граф её никто не записывает. Это делает только `opcheck`, и только для примеров, которые
#     требуют градиента. А `gradcheck` сравнивает одни числа.
def is_right_operator(op, x):
    opcheck(op, (_telling().detach(),))
    return gradcheck(op, (_telling(),))

# %% mistake="gradcheck_of_a_square" theme="test"
# `gradcheck` was asked about square examples alone. A formula that confuses the number of rows with that of columns is
#     right for them, and `opcheck` compares no derivative with the true one.
# Функция `gradcheck` вызвана только для квадратных примеров. Для них верна и формула, которая путает число строк с
#     числом столбцов, а `opcheck` не сравнивает производную с истинной.
def is_right_operator(op, x):
    opcheck(op, (_telling(),))
    return gradcheck(op, (x.requires_grad_(),))

# %% mistake="opcheck_of_squares" theme="test"
# Every example for `opcheck` is square. A fake that confuses rows and columns is right for them.
# Все примеры для `opcheck` квадратные. Для них верна и фиктивная реализация, которая путает строки со столбцами.
def is_right_operator(op, x):
    opcheck(op, (x.t().requires_grad_(),))
    return gradcheck(op, (_telling(),))
