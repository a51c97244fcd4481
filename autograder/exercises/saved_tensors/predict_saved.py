"""Core exercise: predictions about saved tensors."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text

_INPUT = 64 * 256 * 4


@exercise(
    title=Text("What an operation keeps", "Что хранит операция"),
    kind="predict",
    core=True,
    minutes=8,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Write the derivative of each function. Which tensors stand in it: the input, the result, the other factor?",
            "Выпишите производную каждой функции. Какие тензоры в неё входят: вход, результат, второй множитель?",
        ),
        Text(
            "`x` takes 65 536 bytes, `W` takes 262 144, a boolean takes one byte. A derivative that is a constant needs "
            "no tensor; a tensor that is saved twice lies in memory once.",
            "`x` занимает 65 536 байт, `W` — 262 144, логическое значение — один байт. Если производная постоянна, "
            "тензоры не нужны; тензор, сохранённый дважды, лежит в памяти один раз.",
        ),
        Text(
            "For `x @ W` the gradient of `x` needs `W` and the gradient of `W` needs `x`. `frozen` asks for no "
            "gradient. A slice is a view: it keeps the whole storage.",
            "В `x @ W` для градиента `x` нужен `W`, а для градиента `W` нужен `x`. `frozen` градиента не требует. "
            "Срез — это представление: он держит всё хранилище.",
        ),
    ],
)
def predict_saved(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_saved)}


predict_saved.wrong(
    "every_operation_saves",
    dict.fromkeys(("x + 1", "x * 2", "x.sum()"), _INPUT),
    en="It looks as if every operation was expected to keep its input. The derivative of `x + 1`, of `x * 2` and of a "
    "sum is a constant: nothing is saved.",
    ru="Похоже, вы считаете, что любая операция сохраняет свой вход. На самом деле производная `x + 1`, `x * 2` и "
    "суммы постоянна: сохранять нечего.",
)


predict_saved.wrong(
    "scaling_saves",
    {"x * 2": _INPUT},
    en="It looks as if the 2 of `x * 2` counted as a tensor that needs the input kept. A Python number is stored in "
    "the node itself, and it asks for no gradient.",
    ru="Похоже, вы считаете, что ради множителя 2 в `x * 2` сохраняется вход. На самом деле число Python лежит в самом "
    "узле и градиента не требует.",
)


predict_saved.wrong(
    "the_number_counts",
    {"x * 2": 8},
    en="It looks as if the number 2 of `x * 2` was counted. A Python number lies in the node itself; it is no saved "
    "tensor of the graph's, and hooks do not see it.",
    ru="Похоже, что посчитано само число 2 из `x * 2`. Число Python лежит в самом узле; это не сохранённый тензор, и "
    "хуки его не видят.",
)


predict_saved.wrong("the_number_counts_as_float32", {"x * 2": 4}, *predict_saved.mistakes["the_number_counts"].says)


predict_saved.wrong(
    "sums_save",
    {"x.sum()": _INPUT},
    en="It looks as if a sum was expected to keep its terms. Its derivative is 1 for each of them; a shape is enough.",
    ru="Похоже, вы считаете, что сумма сохраняет слагаемые. На самом деле производная по каждому из них равна 1: "
    "достаточно знать форму.",
)


predict_saved.wrong(
    "keeps_both_ends",
    dict.fromkeys(("x.relu()", "x.sin()"), 2 * _INPUT),
    en="It looks as if the input and the result were both counted. Each of these keeps one of the two: `relu` its "
    "result, `sin` its input.",
    ru="Похоже, что посчитаны и вход, и результат. Каждая из этих операций хранит что-то одно: `relu` — результат, "
    "`sin` — вход.",
)


predict_saved.wrong(
    "counts_saves",
    {"x * x": 2 * _INPUT},
    en="It looks as if the two saves of `x * x` were counted as two tensors. Both are the same storage.",
    ru="Похоже, что два сохранения в `x * x` посчитаны как два тензора. Хранилище у них одно.",
)


predict_saved.wrong(
    "counts_saves_of_silu",
    {"x * x.sigmoid()": 3 * _INPUT},
    en="It looks as if each of the three saves of `x * x.sigmoid()` was counted. The sigmoid's result is saved twice "
    "and lies in memory once.",
    ru="Похоже, что посчитано каждое из трёх сохранений в `x * x.sigmoid()`. Результат сигмоиды сохранён дважды, но "
    "лежит в памяти один раз.",
)


predict_saved.wrong(
    "keeps_one_factor",
    {"x * x.sigmoid()": _INPUT},
    en="It looks as if only one factor of `x * x.sigmoid()` was counted. The derivative of a product needs both.",
    ru="Похоже, что в `x * x.sigmoid()` посчитан только один множитель. Для производной произведения нужны оба.",
)


predict_saved.wrong(
    "a_slice_is_small",
    {"x[:2].sin()": 2 * 256 * 4},
    en="It looks as if the slice was expected to keep its own two rows. A view keeps the storage it lies in, all of it.",
    ru="Похоже, вы считаете, что срез хранит только две свои строки. На самом деле представление удерживает всё "
    "хранилище, в котором лежит.",
)


predict_saved.wrong(
    "forgets_the_weight",
    {"x @ W": _INPUT},
    en="It looks as if `W` was forgotten: the gradient of `x` needs it, so the graph holds it.",
    ru="Похоже, что забыт `W`: он нужен для градиента `x`, поэтому граф его держит.",
)


predict_saved.wrong(
    "forgets_the_input",
    {"x @ W": 4 * _INPUT},
    en="It looks as if only `W` was counted in `x @ W`. It requires grad, and its gradient needs `x`.",
    ru="Похоже, что в `x @ W` посчитан только `W`. Он требует градиента, и для этого градиента нужен `x`.",
)


predict_saved.wrong(
    "freezing_changes_nothing",
    {"x @ frozen": 5 * _INPUT},
    en="It looks as if `x @ frozen` was expected to keep `x`. Only the gradient of `frozen` would need it, and nobody "
    "asks for that one.",
    ru="Похоже, вы считаете, что `x @ frozen` сохраняет `x`. На самом деле он понадобился бы только для градиента "
    "`frozen`, а этот градиент никому не нужен.",
)


predict_saved.wrong(
    "frozen_is_not_saved",
    {"x @ frozen": _INPUT},
    en="It looks as if a frozen weight was expected not to be saved. It is: the gradient of `x` needs it. What is not "
    "kept is `x`.",
    ru="Похоже, вы считаете, что замороженный вес не сохраняется. На самом деле он сохраняется, иначе не вычислить "
    "градиент `x`. А вот сам `x` не хранится.",
)


predict_saved.wrong("frozen_saves_nothing", {"x @ frozen": 0}, *predict_saved.mistakes["frozen_is_not_saved"].says)


predict_saved.wrong(
    "where_keeps_numbers",
    {"torch.where(x > 0.5, x, 0.0)": _INPUT},
    en="It looks as if `where` was expected to keep numbers. It keeps its condition, one byte per entry.",
    ru="Похоже, вы считаете, что `where` хранит числа. На самом деле хранится условие, по байту на элемент.",
)


predict_saved.wrong(
    "where_keeps_its_input",
    {"torch.where(x > 0.5, x, 0.0)": _INPUT + _INPUT // 4},
    en="It looks as if `where` was expected to keep the input beside its condition. The gradient passes or does not; "
    "the values of `x` play no part.",
    ru="Похоже, вы считаете, что `where` кроме условия хранит и вход. На самом деле градиент либо проходит, либо нет; "
    "значения `x` не нужны.",
)


predict_saved.wrong(
    "where_keeps_nothing",
    {"torch.where(x > 0.5, x, 0.0)": 0},
    en="It looks as if `where` was expected to keep nothing. Backward has to know which entries were chosen.",
    ru="Похоже, вы считаете, что `where` ничего не хранит. На самом деле обратному проходу нужно знать, какие "
    "элементы выбраны.",
)


predict_saved.wrong(
    "booleans_are_bits",
    {"torch.where(x > 0.5, x, 0.0)": 64 * 256 // 8},
    en="It looks as if a boolean was taken for a bit. In a tensor it takes one byte.",
    ru="Похоже, вы считаете, что логическое значение занимает один бит. На самом деле в тензоре оно занимает байт.",
)


predict_saved.wrong(
    "counts_entries",
    dict.fromkeys(("x.relu()", "x.sin()", "x * x"), _INPUT // 4),
    en="It looks as if entries were counted instead of bytes. A float32 takes four.",
    ru="Похоже, что посчитаны элементы, а не байты. Один float32 занимает четыре байта.",
)


predict_saved.wrong(
    "relu_keeps_a_mask",
    {"x.relu()": _INPUT // 4},
    en="It looks as if `relu` was expected to keep nothing or only a mask. It keeps its result, which is positive "
    "where the gradient passes.",
    ru="Похоже, вы считаете, что `relu` хранит только маску или вообще ничего. На самом деле он хранит свой результат: "
    "где результат положителен, там градиент проходит.",
)


predict_saved.wrong("relu_keeps_nothing", {"x.relu()": 0}, *predict_saved.mistakes["relu_keeps_a_mask"].says)


predict_saved.wrong(
    "what_lives_anyway_is_free",
    dict.fromkeys(("x.sin()", "x * x", "x[:2].sin()", "x @ W"), 0),
    en="What is in memory anyway, `x` and `W`, was not counted. The table counts all that the graph holds.",
    ru="Не посчитано то, что и так в памяти: `x` и `W`. В таблице считается всё, что держит граф.",
)
