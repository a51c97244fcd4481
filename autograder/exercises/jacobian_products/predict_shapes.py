"""Extra exercise: predictions about the shape of Jacobians of a batch."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.language import Text

from .common import with_lists


@exercise(
    title=Text("Shapes of Jacobians of a batch", "Формы матриц Якоби для батча"),
    kind="predict",
    difficulty=2,
    minutes=6,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`functional.jacobian` knows no batch. Which derivatives does it compute for an output of shape (4, 1)?",
            "Функция `functional.jacobian` не знает о батче. Какие производные она вычислит для выхода формы (4, 1)?",
        ),
        Text(
            "Its result has the output's shape, then the input's. `vmap` adds one dimension in front.",
            "Форма её результата — форма выхода, за ней форма входа. `vmap` добавляет одно измерение спереди.",
        ),
        Text(
            "Samples do not mix, so only the 4 diagonal blocks of 3 numbers can differ from zero.",
            "Примеры не смешиваются, поэтому от нуля могут отличаться только 4 диагональных блока по 3 числа.",
        ),
    ],
)
def predict_shapes(answer: Any, case: Case) -> dict[str, object]:
    return {"table": with_lists(answer.predict_shapes)}


predict_shapes.wrong(
    "jacobian_knows_batches",
    {"jacobian of the batch": (4, 1, 3)},
    en="`functional.jacobian` was taken to know about the batch. It differentiates every sample with respect to every "
    "sample.",
    ru="Не учтено, что `functional.jacobian` не знает о батче. Она дифференцирует каждый пример по каждому.",
)


predict_shapes.wrong(
    "vmap_gives_all_pairs",
    {"vmap(jacrev)": (4, 1, 4, 3)},
    en="`vmap(jacrev(f))` was taken for the Jacobian of the whole batch. It gives one Jacobian for each sample.",
    ru="За матрицу Якоби всего батча принято `vmap(jacrev(f))`. Но это отдельная матрица для каждого примера.",
)


predict_shapes.wrong(
    "sum_is_summed",
    {"grad of the sum": (3,)},
    en="The gradient of a sum was taken to be summed over the batch. It has the shape of its input.",
    ru="Вы ожидали, что градиент суммы складывается по батчу. Но у градиента форма входа.",
)


predict_shapes.wrong(
    "no_zeros",
    {"entries that are not zero": 48},
    en="All 48 numbers were taken for nonzero. Derivatives of a sample with respect to another one are zero.",
    ru="Не учтено, что производные одного примера по другому равны нулю: ненулевых чисел меньше 48.",
)


predict_shapes.wrong(
    "zeros_counted",
    {"entries that are not zero": 36},
    en="The zeros were counted, not the other entries: 36 of them are zero.",
    ru="Подсчитаны нули, а не остальные элементы: нулю равны 36 из них.",
)


predict_shapes.wrong(
    "output_left_out",
    {"vmap(jacrev)": (4, 3)},
    en="The output's dimension was left out. `row` returns a vector of one entry, of shape (1,), not ().",
    ru="Пропущено измерение выхода. Функция `row` возвращает вектор из одного элемента: его форма (1,), а не ().",
)


predict_shapes.wrong(
    "batch_output_left_out",
    {"jacobian of the batch": (4, 4, 3)},
    en="The output's last dimension was left out: the output of the batch has shape (4, 1), not (4,).",
    ru="Пропущено последнее измерение выхода: для батча форма выхода (4, 1), а не (4,).",
)


predict_shapes.wrong(
    "hessian_like_gradient",
    {"hessian of one sample": (3,)},
    en="The Hessian was given the shape of the gradient. It has a row and a column for each input.",
    ru="За форму матрицы Гессе принята форма градиента. Но в ней по строке и по столбцу на каждый вход.",
)


predict_shapes.wrong(
    "gradient_for_jacobian",
    {"jacobian of the batch": (4, 3)},
    en="You expected the shape of a gradient. A Jacobian has the output's shape and then the input's.",
    ru="Вы ожидали форму градиента. Но у матрицы Якоби сначала идёт форма выхода, потом форма входа.",
)


predict_shapes.wrong(
    "input_first",
    {"jacobian of the batch": (4, 3, 4, 1)},
    en="You expected the input's shape first. A Jacobian has the output's shape first, as a matrix has its rows.",
    ru="Вы ожидали, что сначала идёт форма входа. Но первой идёт форма выхода, как число строк у матрицы.",
)


predict_shapes.wrong(
    "jacobian_flattened",
    {"jacobian of the batch": (4, 12)},
    en="You expected a matrix. `functional.jacobian` keeps all dimensions of output and input apart.",
    ru="Вы ожидали двумерную матрицу. Но `functional.jacobian` не объединяет измерения выхода и входа.",
)


predict_shapes.wrong(
    "one_number_per_sample",
    {"entries that are not zero": 4},
    en="You expected one nonzero number for each sample. The output of a sample depends on all of its inputs.",
    ru="Вы ожидали по одному ненулевому числу на пример. Но выход примера зависит от всех его входов.",
)


predict_shapes.wrong(
    "gradient_is_a_number",
    {"grad of the sum": ()},
    en="You expected a number, because the sum is one. A gradient has the shape of its input.",
    ru="Вы ожидали число, потому что сумма — число. Но у градиента форма входа.",
)


predict_shapes.wrong(
    "hessian_of_the_batch",
    {"hessian of one sample": (4, 3, 3)},
    en="You expected a Hessian for each sample. Here it is called with one sample, `X[0]`.",
    ru="Вы ожидали по матрице Гессе на каждый пример. Но здесь передан один пример, `X[0]`.",
)


predict_shapes.wrong(
    "hessian_with_output",
    {"hessian of one sample": (1, 3, 3)},
    en="You expected a dimension for the output as well. `sum()` makes the output a number without dimensions.",
    ru="Вы ожидали и измерение выхода. Но после `sum()` выход — число, измерений у него нет.",
)
