"""Extra exercise: predictions about complex and sparse gradients."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Complex and sparse", "Комплексные и разреженные градиенты"),
    kind="predict",
    minutes=8,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "$|z|^2 = x^2 + y^2$ for $z = x + iy$. What are the two partial derivatives?",
            "Для $z = x + iy$ верно $|z|^2 = x^2 + y^2$. Чему равны две частные производные?",
        ),
        Text(
            "$\\mathrm{Re}\\, z^2 = x^2 - y^2$. And an embedding stores a row for each index that it looked up, twice if "
            "the index came twice.",
            "$\\mathrm{Re}\\, z^2 = x^2 - y^2$. А у эмбеддинга хранится по строке на каждый прочитанный индекс, и "
            "дважды, если индекс встретился дважды.",
        ),
        Text(
            "Plain descent touches the stored rows only. What multiplies every weight, or keeps an average for each, "
            "needs the dense gradient.",
            "Обычному спуску достаточно хранимых строк. Тому, кто умножает каждый вес или хранит для каждого среднее, "
            "нужен плотный градиент.",
        ),
    ],
)
def predict_kinds(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_kinds)}


predict_kinds.wrong(
    "conjugated",
    {"|z|²": [6.0, -8.0], "Re z²": [6.0, 8.0]},
    en="You expected the conjugates. `.grad` points uphill: it is $\\partial L/\\partial x + i\\, \\partial L/\\partial "
    "y$, with a plus.",
    ru="Вы ожидали сопряжённые числа. Но `.grad` направлен туда, куда функция растёт: это $\\partial L/\\partial x + i\\, "
    "\\partial L/\\partial y$, с плюсом.",
)


predict_kinds.wrong(
    "halves",
    {"|z|²": [3.0, 4.0]},
    en="You expected $z$, the derivative of $z \\bar z$ with respect to $\\bar z$. `.grad` is twice that.",
    ru="Вы ожидали $z$, производную $z \\bar z$ по $\\bar z$. Но `.grad` вдвое больше.",
)


predict_kinds.wrong(
    "complex_derivative",
    {"Re z²": [6.0, 8.0]},
    en="You expected $2z$, the complex derivative of $z^2$. The loss is its real part, $x^2 - y^2$, and the gradient is "
    "$2\\bar z$.",
    ru="Вы ожидали $2z$, комплексную производную $z^2$. Но функция потерь — вещественная часть, $x^2 - y^2$, и градиент "
    "равен $2\\bar z$.",
)


predict_kinds.wrong(
    "real_becomes_complex",
    {"gradient of a real leaf is complex": True},
    en="You expected a complex gradient for a real leaf. A gradient has the dtype of its tensor.",
    ru="Вы ожидали, что градиент вещественного листа комплексный. Но dtype градиента тот же, что у тензора.",
)


predict_kinds.wrong(
    "rows_are_merged",
    {"stored rows": 2},
    en="You expected one stored row for an index that came twice. Rows are merged by `coalesce()` only.",
    ru="Вы ожидали одну хранимую строку для индекса, который встретился дважды. Но строки объединяет только "
    "`coalesce()`.",
)


predict_kinds.wrong(
    "every_row_is_stored",
    {"stored rows": 10, "after coalesce()": 10},
    en="You expected a row for each row of the table. Only those that were looked up are stored.",
    ru="Вы ожидали, что хранятся все строки таблицы. Но хранятся только прочитанные.",
)


predict_kinds.wrong(
    "adam_takes_it",
    {"Adam": "accepted"},
    en="You expected `Adam` to take a sparse gradient. It refuses; `SparseAdam` takes nothing else.",
    ru="Вы ожидали, что `Adam` примет разреженный градиент. Но шаг завершается ошибкой; для таких градиентов есть "
    "`SparseAdam`.",
)


predict_kinds.wrong(
    "decay_is_harmless",
    {"SGD, weight_decay": "accepted"},
    en="You expected weight decay to work. It adds the whole weight to the gradient, and a sparse tensor cannot take "
    "that.",
    ru="Вы ожидали, что затухание весов сработает. Но оно прибавляет к градиенту весь вес, а к разреженному тензору его "
    "не прибавить.",
)


predict_kinds.wrong(
    "momentum_refuses",
    {"SGD, momentum": "RuntimeError"},
    en="You expected momentum to refuse. The velocity is sparse as well, and grows with the rows that were ever looked "
    "up.",
    ru="Вы ожидали, что с импульсом возникнет ошибка. Но накопленная скорость тоже разрежена, и строк в ней становится "
    "больше, когда читаются новые.",
)


predict_kinds.wrong(
    "clipping_works",
    {"clip_grad_norm_": "accepted"},
    en="You expected `clip_grad_norm_` to work. The norm that it uses is not implemented for sparse tensors.",
    ru="Вы ожидали, что `clip_grad_norm_` сработает. Но норма, которая там используется, для разреженных тензоров не "
    "реализована.",
)


predict_kinds.wrong(
    "minus_for_the_magnitude",
    {"|z|²": [6.0, -8.0]},
    en="You expected $2\\bar z$ for $|z|^2$. It is $x^2 + y^2$, so both partial derivatives have a plus: $2z$.",
    ru="Вы ожидали $2\\bar z$ для $|z|^2$. Но это $x^2 + y^2$, и обе частные производные с плюсом: $2z$.",
)


predict_kinds.wrong(
    "half_of_the_real_part",
    {"Re z²": [3.0, -4.0]},
    en="You expected $\\bar z$ for $\\mathrm{Re}\\, z^2$. `.grad` holds the derivatives of $x^2 - y^2$: twice that.",
    ru="Вы ожидали $\\bar z$ для $\\mathrm{Re}\\, z^2$. Но в `.grad` лежат производные функции $x^2 - y^2$: вдвое больше.",
)


predict_kinds.wrong(
    "imaginary_part_is_0",
    {"Re z²": [6.0, 0.0]},
    en="You expected an imaginary part of 0. The loss $x^2 - y^2$ depends on $y$, too.",
    ru="Вы ожидали нулевую мнимую часть. Но функция потерь $x^2 - y^2$ зависит и от $y$.",
)


predict_kinds.wrong(
    "table_is_stored",
    {"stored rows": 10},
    en="You expected a stored row for each row of the table. Only those that were looked up are stored.",
    ru="Вы ожидали, что хранятся все строки таблицы. Но хранятся только прочитанные.",
)


predict_kinds.wrong(
    "coalesce_changes_nothing",
    {"after coalesce()": 3},
    en="You expected as many rows after `coalesce()`. It adds the rows of an index that came twice.",
    ru="Вы ожидали, что после `coalesce()` строк столько же. Но этот метод складывает строки повторяющегося индекса.",
)


predict_kinds.wrong(
    "real_gradient",
    {"|z|²": [10.0, 0.0]},
    en="You expected a real gradient, $2|z|$, for the real loss $|z|^2$. It has two parts: the derivatives with respect to "
    "$x$ and to $y$.",
    ru="Вы ожидали вещественный градиент $2|z|$ для вещественной функции потерь $|z|^2$. Но частей у него две: производные "
    "по $x$ и по $y$.",
)
