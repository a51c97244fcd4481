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
            "Write the derivative of each function. Which tensors stand in it: the input, the result, the other "
            "factor?",
            "Выпишите производную каждой функции. Какие тензоры в неё входят: вход, результат, второй множитель?",
        ),
        Text(
            "`x` takes 65,536 bytes, `W` takes 262,144, a boolean takes one byte. A derivative that is a constant needs "
            "no tensor; a tensor that is saved twice lies in memory once.",
            "Тензор `x` занимает 65 536 байт, `W` — 262 144, логическое значение — один байт. Если производная "
            "постоянна, тензоры не нужны; тензор, сохранённый дважды, лежит в памяти один раз.",
        ),
        Text(
            "For `x @ W` the gradient of `x` needs `W` and the gradient of `W` needs `x`. `frozen` asks for no "
            "gradient. A slice is a view: it keeps the whole storage.",
            "В `x @ W` для градиента `x` нужен `W`, а для градиента `W` нужен `x`. Тензор `frozen` градиента не "
            "требует. Срез — это представление: он удерживает всё хранилище.",
        ),
    ],
)
def predict_saved(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_saved)}


predict_saved.wrong(
    "every_operation_saves",
    dict.fromkeys(("x + 1", "x * 2", "x.sum()"), _INPUT),
    en="Every operation was taken to keep its input. The derivative of `x + 1`, of `x * 2` and of a sum is a constant: "
    "nothing is saved.",
    ru="Вы ожидали, что любая операция сохраняет вход. Но производная `x + 1`, `x * 2` и суммы постоянна: сохранять "
    "нечего.",
)


predict_saved.wrong(
    "scaling_saves",
    {"x * 2": _INPUT},
    en="You expected the input to be saved because of the 2 in `x * 2`. A Python number lies in the node itself and "
    "requires no gradient.",
    ru="Вы ожидали, что ради множителя 2 в `x * 2` сохраняется вход. Но число Python лежит в самом узле и градиента не "
    "требует.",
)


predict_saved.wrong(
    "the_number_counts",
    {"x * 2": 8},
    en="The number 2 of `x * 2` was counted. A Python number lies in the node itself; it is no saved tensor, and hooks "
    "do not see it.",
    ru="Учтено само число 2 из `x * 2`. Но число Python лежит в самом узле; это не сохранённый тензор, и хуки его не "
    "видят.",
)


predict_saved.wrong("the_number_counts_as_float32", {"x * 2": 4}, *predict_saved.mistakes["the_number_counts"].says)


predict_saved.wrong(
    "sums_save",
    {"x.sum()": _INPUT},
    en="You expected a sum to save its terms. Its derivative is 1 for each of them; a shape is enough.",
    ru="Вы ожидали, что сумма сохраняет слагаемые. Но производная по каждому из них равна 1: достаточно знать форму.",
)


predict_saved.wrong(
    "keeps_both_ends",
    dict.fromkeys(("x.relu()", "x.sin()"), 2 * _INPUT),
    en="The input and the result were both counted. Each of these operations keeps one of the two: `relu` its result, "
    "`sin` its input.",
    ru="Учтены и вход, и результат. Но каждая из этих операций хранит что-то одно: `relu` — результат, `sin` — вход.",
)


predict_saved.wrong(
    "counts_saves",
    {"x * x": 2 * _INPUT},
    en="The two saves of `x * x` were counted as two tensors. Both are the same storage.",
    ru="Два сохранения в `x * x` учтены как два тензора. Но хранилище у них одно.",
)


predict_saved.wrong(
    "counts_saves_of_silu",
    {"x * x.sigmoid()": 3 * _INPUT},
    en="Each of the three saves of `x * x.sigmoid()` was counted. The sigmoid's result is saved twice but lies in "
    "memory once.",
    ru="Учтено каждое из трёх сохранений в `x * x.sigmoid()`. Но результат сигмоиды сохранён дважды, а лежит в памяти "
    "один раз.",
)


predict_saved.wrong(
    "keeps_one_factor",
    {"x * x.sigmoid()": _INPUT},
    en="Only one factor of `x * x.sigmoid()` was counted. The derivative of a product needs both.",
    ru="В `x * x.sigmoid()` учтён только один множитель. Но для производной произведения нужны оба.",
)


predict_saved.wrong(
    "a_slice_is_small",
    {"x[:2].sin()": 2 * 256 * 4},
    en="You expected the slice to keep its own two rows only. A view keeps the whole storage that it lies in.",
    ru="Вы ожидали, что срез хранит только две свои строки. Но представление удерживает всё хранилище, в котором "
    "лежит.",
)


predict_saved.wrong(
    "forgets_the_weight",
    {"x @ W": _INPUT},
    en="`W` was left out. The gradient of `x` needs it, so the graph holds it.",
    ru="Не учтён тензор `W`. Он нужен для градиента `x`, поэтому граф его хранит.",
)


predict_saved.wrong(
    "forgets_the_input",
    {"x @ W": 4 * _INPUT},
    en="Only `W` was counted in `x @ W`. It requires grad, and its gradient needs `x`.",
    ru="В `x @ W` учтён только тензор `W`. Но он требует градиента, и для этого градиента нужен `x`.",
)


predict_saved.wrong(
    "freezing_changes_nothing",
    {"x @ frozen": 5 * _INPUT},
    en="You expected `x @ frozen` to keep `x`. Only the gradient of `frozen` would need it, and that gradient is not "
    "computed.",
    ru="Вы ожидали, что `x @ frozen` сохраняет `x`. Но он понадобился бы только для градиента `frozen`, а этот "
    "градиент не вычисляется.",
)


predict_saved.wrong(
    "frozen_is_not_saved",
    {"x @ frozen": _INPUT},
    en="You expected a frozen weight not to be saved. It is, because the gradient of `x` needs it. What is not kept is "
    "`x`.",
    ru="Вы ожидали, что замороженный вес не сохраняется. Но он сохраняется, иначе не вычислить градиент `x`. Не "
    "хранится как раз `x`.",
)


predict_saved.wrong("frozen_saves_nothing", {"x @ frozen": 0}, *predict_saved.mistakes["frozen_is_not_saved"].says)


predict_saved.wrong(
    "where_keeps_numbers",
    {"torch.where(x > 0.5, x, 0.0)": _INPUT},
    en="You expected `where` to save numbers. It saves its condition, one byte per entry.",
    ru="Вы ожидали, что `where` сохраняет числа. Но сохраняется условие, по байту на элемент.",
)


predict_saved.wrong(
    "where_keeps_its_input",
    {"torch.where(x > 0.5, x, 0.0)": _INPUT + _INPUT // 4},
    en="You expected `where` to save the input beside its condition. The gradient passes or does not; the values of "
    "`x` play no part.",
    ru="Вы ожидали, что `where` кроме условия сохраняет и вход. Но градиент либо проходит, либо нет; значения `x` для "
    "этого не нужны.",
)


predict_saved.wrong(
    "where_keeps_nothing",
    {"torch.where(x > 0.5, x, 0.0)": 0},
    en="You expected `where` to save nothing. Backward has to know which entries were chosen.",
    ru="Вы ожидали, что `where` ничего не сохраняет. Но для обратного прохода нужно знать, какие элементы выбраны.",
)


predict_saved.wrong(
    "booleans_are_bits",
    {"torch.where(x > 0.5, x, 0.0)": 64 * 256 // 8},
    en="A boolean was taken for a bit. In a tensor it takes one byte.",
    ru="Размер логического значения принят за один бит. Но в тензоре оно занимает байт.",
)


predict_saved.wrong(
    "counts_entries",
    dict.fromkeys(("x.relu()", "x.sin()", "x * x"), _INPUT // 4),
    en="Entries were counted instead of bytes. A float32 takes four bytes.",
    ru="Подсчитаны элементы, а не байты. Один float32 занимает четыре байта.",
)


predict_saved.wrong(
    "relu_keeps_a_mask",
    {"x.relu()": _INPUT // 4},
    en="You expected `relu` to save a mask only, or nothing. It saves its result, which is positive where the gradient "
    "passes.",
    ru="Вы ожидали, что `relu` сохраняет только маску или вообще ничего. Но сохраняется результат: где он положителен, "
    "там градиент проходит.",
)


predict_saved.wrong("relu_keeps_nothing", {"x.relu()": 0}, *predict_saved.mistakes["relu_keeps_a_mask"].says)


predict_saved.wrong(
    "what_lives_anyway_is_free",
    dict.fromkeys(("x.sin()", "x * x", "x[:2].sin()", "x @ W"), 0),
    en="What is in memory anyway, `x` and `W`, was not counted. The table counts all that the graph holds.",
    ru="Не посчитано то, что и так в памяти: `x` и `W`. В таблице считается всё, что держит граф.",
)
