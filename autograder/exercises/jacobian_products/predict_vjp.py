"""Core exercise: predictions about vector-Jacobian products."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.language import Text

from .common import with_lists


@exercise(
    title=Text("Which v, and what it gives", "Какой v и что получится"),
    kind="predict",
    core=True,
    minutes=9,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`y` has two entries and `x` has three. Which of the two does `v` weigh?",
            "В `y` два элемента, в `x` три. Чьи элементы взвешивает `v`?",
        ),
        Text(
            "The result is `vᵀJ`: a sum of the rows of the matrix, each times its entry of `v`. It has the shape of `x`.",
            "Результат — `vᵀJ`: сумма строк матрицы, каждая умножена на свой элемент `v`. Форма у него как у `x`.",
        ),
        Text(
            "For `A`: `1·[1, 2] + 10·[3, 4]`. Without `v`, `backward()` needs an output of one element, of any shape.",
            "Для `A`: `1·[1, 2] + 10·[3, 4]`. Без `v` методу `backward()` нужен выход из одного элемента, любой формы.",
        ),
    ],
)
def predict_vjp(answer: Any, case: Case) -> dict[str, object]:
    return {"table": with_lists(answer.predict_vjp)}


_ERROR = "RuntimeError"


predict_vjp.wrong(
    "v_like_the_input",
    {"y, v = ones(2)": _ERROR, "y, v = [1, 0]": _ERROR},
    en="It looks as if `v` was given the shape of the input. It weighs the outputs, so it has the output's shape.",
    ru="Похоже, вы считаете, что у `v` форма входа. На самом деле он взвешивает выходы, поэтому форма у него как у "
    "выхода.",
)


predict_vjp.wrong(
    "ones_like_x",
    {"y, v = ones(2)": _ERROR, "y, v = ones(3)": [1.0, 1.0, 3.0]},
    en="It looks as if `v` was given the shape of the input. It weighs the outputs: two entries here, not three.",
    ru="Похоже, вы считаете, что у `v` форма входа. На самом деле он взвешивает выходы: элементов в нём здесь два, а "
    "не три.",
)


predict_vjp.wrong(
    "ones_of_any_length",
    {"y, v = ones(3)": [1.0, 1.0, 3.0]},
    en="It looks as if ones were taken to fit any output. `v` needs one entry for each output: two here.",
    ru="Похоже, вы считаете, что единицы подойдут к любому выходу. На самом деле в `v` нужен один элемент на каждый "
    "выход: здесь два.",
)


predict_vjp.wrong(
    "only_for_numbers",
    {"y, v = ones(2)": _ERROR, "y, v = [1, 0]": _ERROR, "A x, v = [1, 10]": _ERROR},
    en="It looks as if `backward()` was taken to work for one number only. With `v` it works for an output of any shape.",
    ru="Похоже, вы считаете, что `backward()` работает только для одного числа. На самом деле с `v` он работает для "
    "выхода любой формы.",
)


predict_vjp.wrong(
    "from_the_right",
    {"A x, v = [1, 10]": [21.0, 43.0]},
    en="It looks as if the matrix was multiplied by `v` from the right, `A v`. `backward` multiplies from the left: `vᵀA`.",
    ru="Похоже, что матрица умножена на `v` справа, `A v`. А `backward` умножает слева: `vᵀA`.",
)


predict_vjp.wrong(
    "ones_by_default",
    {"y, no v": [1.0, 1.0, 3.0]},
    en="It looks as if a missing `v` was taken for ones. That is so only when the output has one element.",
    ru="Похоже, вы считаете, что вместо пропущенного `v` всегда подставляются единицы. На самом деле так бывает, "
    "только когда в выходе один элемент.",
)


predict_vjp.wrong(
    "a_column",
    {"y, v = [1, 0]": [1.0, 0.0]},
    en="It looks as if `v` picked a column of `W`. It picks and mixes rows: one row for each output.",
    ru="Похоже, вы считаете, что `v` выбирает столбец `W`. На самом деле он выбирает и смешивает строки: на каждый "
    "выход одна строка.",
)


predict_vjp.wrong(
    "sums_of_rows",
    {"y, v = ones(2)": [3.0, 2.0]},
    en="It looks as if each row of `W` was summed: that is `W` times ones. Here the rows are added up, and the result has three entries.",
    ru="Похоже, что сложены элементы внутри каждой строки `W`: это `W`, умноженная справа на вектор из единиц. А "
    "складываются сами строки, и в результате три элемента.",
)


predict_vjp.wrong(
    "shape_one_needs_v",
    {"shape (1,), no v": _ERROR},
    en="It looks as if only an output without dimensions can go without `v`. Any output of one element can.",
    ru="Похоже, вы считаете, что без `v` обойдётся только выход без измерений. На самом деле достаточно, чтобы в "
    "выходе был один элемент.",
)


predict_vjp.wrong(
    "one_fits_all",
    {"shape (1,), v = tensor(1.)": [2.0, 2.0, 2.0]},
    en="It looks as if `tensor(1.)` was taken for what `backward()` fills in. It fills in ones of the output's own shape.",
    ru="Похоже, вы считаете, что `tensor(1.)` — это то, что подставляет `backward()`. На самом деле он подставляет "
    "единицы формы самого выхода.",
)


predict_vjp.wrong(
    "same_dtype",
    {"float64 y, float32 v": _ERROR},
    en="It looks as if `v` was expected to have the output's dtype, too. Only its shape has to agree.",
    ru="Похоже, вы считаете, что у `v` должен быть и dtype выхода. На самом деле совпадать обязана только форма.",
)
