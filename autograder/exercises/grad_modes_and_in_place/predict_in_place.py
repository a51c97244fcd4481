"""Core exercise: predictions about in-place edits and backward passes."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Which edits break backward", "Какие изменения ломают обратный проход"),
    kind="predict",
    core=True,
    difficulty=2,
    minutes=12,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "For each line: what does the derivative of the first operation need, its input, its output or neither? Is "
            "it that tensor which is edited?",
            "Для каждой строки: что нужно, чтобы вычислить производную первой операции, — её вход, её выход или "
            "ничего? И этот ли тензор меняют?",
        ),
        Text(
            "`h ** 2` needs `h`, `h.sqrt()` needs its result, `h * k` needs `k`. A leaf that requires grad, a view of "
            "it and the parts that `unbind` makes of a result may not be edited at all.",
            "Для `h ** 2` нужен `h`, для `h.sqrt()` — результат, для `h * k` — `k`. Лист, который требует градиента, "
            "его представление и части результата, которые вернул `unbind`, менять нельзя вовсе.",
        ),
        Text(
            "An edit that is allowed is recorded: `y.mul_(3)` multiplies the gradient by 3, `y.add_(1)` by 1, and "
            "`y[0] = 7` leaves 0 at its place.",
            "Разрешённое изменение записывается: `y.mul_(3)` умножает градиент на 3, `y.add_(1)` — на 1, а `y[0] = "
            "7` даёт на этом месте 0.",
        ),
    ],
)
def predict_in_place(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_in_place)}


predict_in_place.wrong(
    "squares_need_nothing",
    {"y = h ** 2; h.add_(1)": [2.0, 8.0]},
    en="The squaring was taken to need `h` no more. The derivative of `h ** 2` is $2h$, with the `h` of the forward "
    "pass.",
    ru="Не учтено, что для производной `h ** 2` ещё понадобится `h`: она равна $2h$, где `h` — значение из прямого "
    "прохода.",
)


predict_in_place.wrong(
    "takes_the_new_numbers",
    {"y = h ** 2; h.add_(1)": [4.0, 10.0]},
    en="You expected the edited `h` to be used in the backward pass. Autograd compares the version of what it saved "
    "and raises an error.",
    ru="Вы ожидали, что обратный проход возьмёт изменённый тензор `h`. Но autograd сверяет версию сохранённого тензора "
    "и прерывает проход ошибкой.",
)


predict_in_place.wrong(
    "squares_need_their_result",
    {"y = h ** 2; y.mul_(3)": "RuntimeError"},
    en="You expected every edit of a result to fail. But `h ** 2` saved `h`, not `y`: the edit of `y` is recorded, and "
    "the gradient is $3 \\cdot 2x$.",
    ru="Вы ожидали здесь ошибку, но операция `h ** 2` сохранила `h`, а не `y`: изменение `y` записано, и градиент "
    "равен $3 \\cdot 2x$.",
)


predict_in_place.wrong(
    "edits_are_not_recorded",
    {"y = h ** 2; y.mul_(3)": [2.0, 8.0]},
    en="The edit `y.mul_(3)` was left out of the derivative. An in-place operation is recorded like any other: its "
    "derivative, 3, is a factor of the gradient.",
    ru="Изменение `y.mul_(3)` не вошло в производную. Операция на месте записывается, как и любая другая: её "
    "производная, 3, входит в градиент множителем.",
)


predict_in_place.wrong(
    "roots_need_their_input",
    {"y = h.sqrt(); h.add_(1)": "RuntimeError"},
    en="The input of `sqrt` was taken for what its derivative needs. `sqrt` saves its result, since the derivative is "
    "$1/(2y)$; so `h` may be edited.",
    ru="За то, что нужно для производной `sqrt`, принят вход. Но производная равна $1/(2y)$, и `sqrt` сохраняет "
    "результат; поэтому `h` менять можно.",
)


predict_in_place.wrong(
    "roots_do_not_keep_their_result",
    {"y = h.sqrt(); y.add_(1)": [0.5, 0.25]},
    en="Adding 1 to the result of `sqrt` was taken for harmless, since the derivative of the addition is 1. But `sqrt` "
    "saved that very result for its own derivative.",
    ru="Не учтено, что операция `sqrt` сохранила свой результат для собственной производной. Прибавлять 1 к результату "
    "`sqrt` нельзя, хотя производная сложения и равна 1.",
)


predict_in_place.wrong(
    "numbers_save_the_tensor",
    {"y = h * 3; h.add_(1)": "RuntimeError"},
    en="You expected multiplication by a number to save `h`. The derivative is that number, so no tensor is saved.",
    ru="Вы ожидали, что умножение на число сохранит тензор `h`. Но производная равна этому числу, и ни один тензор не "
    "сохраняется.",
)


predict_in_place.wrong(
    "products_save_both",
    {"y = h * k; h.add_(1)": "RuntimeError"},
    en="You expected a product to save both factors always. `h` would be needed for the gradient of `k` alone, and `k` "
    "is a constant.",
    ru="Вы ожидали, что произведение сохранит оба множителя. Но тензор `h` нужен только для градиента `k`, а `k` — "
    "константа.",
)


predict_in_place.wrong(
    "constants_are_harmless",
    {"y = h * k; k.add_(1)": [3.0, 5.0]},
    en="The edit of a constant was taken for harmless. The derivative of `h * k` with respect to `h` is `k`, so the "
    "constant is what was saved.",
    ru="Не учтено, что сохранена как раз константа: производная `h * k` по `h` равна `k`.",
)


predict_in_place.wrong(
    "takes_the_new_constant",
    {"y = h * k; k.add_(1)": [4.0, 6.0]},
    en="You expected the edited `k` to be used in the backward pass. `k` was saved at version 0 and is at version 1: "
    "an error.",
    ru="Вы ожидали, что обратный проход возьмёт изменённый тензор `k`. Но `k` сохранён с версией 0, а теперь у него "
    "версия 1: это ошибка.",
)


predict_in_place.wrong(
    "one_relu_breaks",
    {"y = h.relu_()": "RuntimeError"},
    en="You expected `relu_()` to break its own derivative. That needs the result, to see where it is positive, and "
    "the result is what `h` now holds.",
    ru="Вы ожидали, что `relu_()` испортит собственную производную. Но для неё нужно знать, где положителен результат, "
    "а он теперь и лежит в `h`.",
)


predict_in_place.wrong(
    "the_second_relu_is_harmless",
    {"y = h.relu_().relu_()": [1.0, 1.0]},
    en="The second `relu_()` was taken for harmless, since it changes no number. The counter counts edits, not "
    "differences, and the first one had saved its result.",
    ru="Не учтено, что счётчик считает сами изменения. Второй вызов `relu_()` не меняет чисел, но меняет версию "
    "тензора, сохранённого первым.",
)


predict_in_place.wrong(
    "views_may_not_be_edited",
    {"y = h; h[0].mul_(10)": "RuntimeError"},
    en="You expected an edit through a view to fail because the memory is shared. Autograd follows it: `h` gets a new "
    "node, and the gradient is exact.",
    ru="Здесь ожидалась ошибка, раз память общая. Но autograd учитывает изменения через представление: у тензора `h` "
    "появляется новый узел, и градиент точен.",
)


predict_in_place.wrong(
    "the_base_does_not_notice",
    {"y = h; h[0].mul_(10)": [1.0, 1.0]},
    en="The edit of the view was left out for `h`. The numbers of `h` changed, and so did the derivative: 10 at the "
    "edited place.",
    ru="Изменение представления не учтено для самого `h`. Изменились и числа в `h`, и производная: на этом месте она "
    "равна 10.",
)


predict_in_place.wrong(
    "unbind_is_a_view",
    {"y = h; h.unbind()[0].mul_(10)": [10.0, 1.0]},
    en="The parts from `unbind` were taken for ordinary views. When a call returns several views of a recorded result "
    "at once, they may not be edited.",
    ru="Части, которые вернул `unbind`, приняты за обычные представления. Если вызов вернул сразу несколько "
    "представлений результата с историей, менять их нельзя.",
)


predict_in_place.wrong(
    "leaves_may_be_edited",
    {"x.add_(1); y = x * 2": [2.0, 2.0]},
    en="A leaf that requires grad was taken for editable while operations are recorded. It would become a non-leaf, "
    "and torch refuses that.",
    ru="Не учтено, что лист, который требует градиента, нельзя менять при включённом отслеживании: он стал бы "
    "нелистовым тензором.",
)


predict_in_place.wrong(
    "views_of_leaves_may_be_edited",
    {"x[0].mul_(10); y = x * 2": [20.0, 2.0]},
    en="The edit of a leaf through a view was taken for legal. A view of a leaf is refused as the leaf itself is.",
    ru="Не учтено, что представление листа менять запрещено так же, как и сам лист.",
)


predict_in_place.wrong(
    "views_of_leaves_have_no_effect",
    {"x[0].mul_(10); y = x * 2": [2.0, 2.0]},
    *predict_in_place.mistakes["views_of_leaves_may_be_edited"].says,
)


predict_in_place.wrong(
    "writing_keeps_the_gradient",
    {"y = h * 3; y[0] = 7": [3.0, 3.0]},
    en="You expected the gradient to pass through the constant 7. The old `y[0]` has no influence on the result any "
    "more: 0.",
    ru="Вы ожидали, что градиент пройдёт через константу 7. Но прежний элемент `y[0]` на результат больше не влияет, и "
    "градиент там равен 0.",
)


predict_in_place.wrong(
    "writing_gives_the_number",
    {"y = h * 3; y[0] = 7": [7.0, 3.0]},
    en="The number 7 was taken for the gradient at its place. It is a constant there, and the gradient of `x` is 0.",
    ru="За градиент на изменённом месте принято само число 7. Но это константа, и градиент тензора `x` на этом месте "
    "равен 0.",
)


predict_in_place.wrong(
    "writing_is_refused",
    {"y = h * 3; y[0] = 7": "RuntimeError"},
    en="You expected writing into a part of a result to fail. Multiplication by a number saved nothing, so the edit is "
    "recorded and the rest goes on.",
    ru="Вы ожидали здесь ошибку, но умножение на число ничего не сохранило: изменение части результата записано, и "
    "вычисления идут дальше.",
)


predict_in_place.wrong(
    "products_save_what_learns",
    {"y = h * k; h.add_(1)": "RuntimeError", "y = h * k; k.add_(1)": [3.0, 5.0]},
    en="You expected a product to save the factor that requires grad. It saves the other one: the gradient of `h` "
    "needs `k`.",
    ru="Вы ожидали, что произведение сохранит тот множитель, который требует градиента. Но сохраняется другой: для "
    "градиента `h` нужен `k`.",
)
