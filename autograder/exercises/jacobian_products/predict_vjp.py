"""Core exercise: predictions about vector-Jacobian products."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.language import Text

from .common import with_lists


@exercise(
    title=Text("Which v, and what it gives", "Какой вектор v нужен и что получится"),
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
            "The result is `vᵀJ`: a sum of the rows of the matrix, each times its entry of `v`. It has the shape of "
            "`x`.",
            "Результат — `vᵀJ`: сумма строк матрицы, каждая умножена на свой элемент `v`. Форма у него как у `x`.",
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
    en="`v` was given the shape of the input. It weighs the outputs, so it has the output's shape.",
    ru="Вектор `v` взят по форме входа. Но он взвешивает выходы, поэтому форма у него как у выхода.",
)


predict_vjp.wrong(
    "ones_like_x",
    {"y, v = ones(2)": _ERROR, "y, v = ones(3)": [1.0, 1.0, 3.0]},
    en="`v` was given the shape of the input. It weighs the outputs: two entries here, not three.",
    ru="Вектор `v` взят по форме входа. Но он взвешивает выходы: элементов в нём здесь два, а не три.",
)


predict_vjp.wrong(
    "ones_of_any_length",
    {"y, v = ones(3)": [1.0, 1.0, 3.0]},
    en="Ones were taken to fit any output. `v` needs one entry for each output: two here.",
    ru="Вы ожидали, что единицы подойдут к любому выходу. Но в `v` нужен один элемент на каждый выход: здесь два.",
)


predict_vjp.wrong(
    "only_for_numbers",
    {"y, v = ones(2)": _ERROR, "y, v = [1, 0]": _ERROR, "A x, v = [1, 10]": _ERROR},
    en="`backward()` was taken to work for one number only. With `v` it works for an output of any shape.",
    ru="Вы ожидали, что `backward()` работает только от скаляра. Но с `v` он работает для выхода любой формы.",
)


predict_vjp.wrong(
    "from_the_right",
    {"A x, v = [1, 10]": [21.0, 43.0]},
    en="The matrix was multiplied by `v` from the right, `A v`. `backward` multiplies from the left: `vᵀA`.",
    ru="Матрица умножена на `v` справа, `A v`. Но `backward` умножает слева: `vᵀA`.",
)


predict_vjp.wrong(
    "ones_by_default",
    {"y, no v": [1.0, 1.0, 3.0]},
    en="A missing `v` was taken to be filled in with ones. That happens only when the output has one element.",
    ru="Вы ожидали, что вместо пропущенного `v` всегда подставляются единицы. Но так бывает, только когда в выходе "
    "один элемент.",
)


predict_vjp.wrong(
    "a_column",
    {"y, v = [1, 0]": [1.0, 0.0]},
    en="`v` was taken to pick a column of `W`. It mixes rows: there is one row for each output.",
    ru="Вы ожидали, что `v` выбирает столбец `W`. Но он смешивает строки: на каждый выход приходится одна.",
)


predict_vjp.wrong(
    "sums_of_rows",
    {"y, v = ones(2)": [3.0, 2.0]},
    en="The entries within each row of `W` were summed: that is `W` times ones. Here the rows are added up, and the "
    "result has three entries.",
    ru="Сложены элементы внутри каждой строки `W`: это `W`, умноженная справа на вектор из единиц. А складываются сами "
    "строки, и в результате три элемента.",
)


predict_vjp.wrong(
    "shape_one_needs_v",
    {"shape (1,), no v": _ERROR},
    en="Only an output without dimensions was taken to do without `v`. Any output of one element can.",
    ru="Вы ожидали, что без `v` обойдётся только нульмерный выход. Но достаточно, чтобы в выходе был один элемент.",
)


predict_vjp.wrong(
    "one_fits_all",
    {"shape (1,), v = tensor(1.)": [2.0, 2.0, 2.0]},
    en="`tensor(1.)` was taken for what `backward()` fills in. It fills in ones of the output's own shape.",
    ru="За то, что подставляет `backward()`, принято `tensor(1.)`. Но подставляются единицы формы самого выхода.",
)


predict_vjp.wrong(
    "same_dtype",
    {"float64 y, float32 v": _ERROR},
    en="You expected `v` to need the output's dtype too. Only its shape has to agree.",
    ru="Вы ожидали, что вектору `v` нужен и dtype выхода. Но совпадать должна только форма.",
)


predict_vjp.wrong(
    "gradient_of_a_plain_sum",
    {"shape (1,), no v": [1.0, 1.0, 1.0]},
    en="You expected the gradient of the sum itself. `one` multiplies the sum by a number, and so the gradient.",
    ru="Вы ожидали градиент самой суммы. Но функция `one` умножает сумму на число, а с ней и градиент.",
)


predict_vjp.wrong(
    "shape_of_the_output",
    {"shape (1,), no v": [2.0]},
    en="You expected a gradient of the output's shape. It has the shape of `x`: three entries.",
    ru="Вы ожидали, что форма градиента — как у выхода. Но она как у `x`: в градиенте три элемента.",
)


predict_vjp.wrong(
    "none_for_an_error",
    {"y, no v": None},
    en="You expected `None` without a `v`. `backward()` needs a `v` here and raises an error without it.",
    ru="Вы ожидали, что без `v` получится `None`. Но `v` здесь нужен, и без него `backward()` завершается ошибкой.",
)


predict_vjp.wrong(
    "values_of_y",
    {"y, v = ones(2)": [7.0, 5.0]},
    en="The values of the output stand there. A gradient has the shape of `x`.",
    ru="Здесь стоят значения выхода, а не градиент. У градиента форма как у `x`.",
)


predict_vjp.wrong(
    "row_cut_short",
    {"y, v = [1, 0]": [1.0, 0.0, 0.0]},
    en="You expected `v` itself, filled up with zeros. It picks the first row of `W`, with all its entries.",
    ru="Вы ожидали сам вектор `v`, дополненный нулями. Но он выбирает первую строку `W`, все её элементы.",
)
