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
            "Для каждой строки: что нужно, чтобы вычислить производную первой операции, — её вход, её выход или "
            "ничего? И этот ли тензор меняют?",
        ),
        Text(
            "`h ** 2` needs `h`, `h.sqrt()` needs its result, `h * k` needs `k`. A leaf, a view of a leaf and the "
            "parts of `unbind` may not be edited at all.",
            "`h ** 2` нужен `h`, `h.sqrt()` нужен результат, `h * k` нужен `k`. Лист, представление листа и части, "
            "которые дал `unbind`, менять нельзя вовсе.",
        ),
        Text(
            "An edit that is allowed is recorded: `y.mul_(3)` multiplies the gradient by 3, `y.add_(1)` by 1, and "
            "`y[0] = 7` leaves 0 at its place.",
            "Разрешённое изменение записывается: `y.mul_(3)` умножает градиент на 3, `y.add_(1)` — на 1, а `y[0] = "
            "7` даёт на этом месте 0.",
        ),
    ],
)
def predict_in_place(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_in_place)}


predict_in_place.wrong(
    "squares_need_nothing",
    {"y = h ** 2; h.add_(1)": [2.0, 8.0]},
    en="It looks as if `h ** 2` did not need `h` any more. Its derivative is $2h$, with the `h` of the forward pass.",
    ru="Похоже, вы считаете, что `h ** 2` больше не нуждается в `h`. На самом деле производная равна $2h$, с тем `h`, "
    "что был в прямом проходе.",
)


predict_in_place.wrong(
    "takes_the_new_numbers",
    {"y = h ** 2; h.add_(1)": [4.0, 10.0]},
    en="It looks as if backward took the edited `h`. It compares the version of what it saved and refuses to go on.",
    ru="Похоже, вы считаете, что обратный проход возьмёт изменённый `h`. На самом деле он сверяет версию "
    "сохранённого тензора и прерывается с ошибкой.",
)


predict_in_place.wrong(
    "squares_need_their_result",
    {"y = h ** 2; y.mul_(3)": "RuntimeError"},
    en="It looks as if every edit of a result was expected to fail. `h ** 2` saved `h`, not `y`: the edit of `y` is "
    "recorded, and the gradient is $3 \\cdot 2x$.",
    ru="Похоже, вы считаете, что менять результат нельзя никогда. На самом деле `h ** 2` сохранил `h`, а не `y`: "
    "изменение `y` записано, и градиент равен $3 \\cdot 2x$.",
)


predict_in_place.wrong(
    "edits_are_not_recorded",
    {"y = h ** 2; y.mul_(3)": [2.0, 8.0]},
    en="It looks as if the edit `y.mul_(3)` was not recorded. An in-place operation is an operation like any other: "
    "its derivative, 3, is a factor of the gradient.",
    ru="Похоже, вы считаете, что изменение `y.mul_(3)` не записано. На самом деле это такая же операция, как все: её "
    "производная, 3, входит в градиент множителем.",
)


predict_in_place.wrong(
    "roots_need_their_input",
    {"y = h.sqrt(); h.add_(1)": "RuntimeError"},
    en="It looks as if `sqrt` was expected to need its input. It keeps its result: the derivative is $1/(2y)$. So `h` "
    "may be edited.",
    ru="Похоже, вы считаете, что `sqrt` нужен вход. На самом деле он хранит результат: производная равна $1/(2y)$. "
    "Поэтому `h` можно менять.",
)


predict_in_place.wrong(
    "roots_do_not_keep_their_result",
    {"y = h.sqrt(); y.add_(1)": [0.5, 0.25]},
    en="It looks as if adding 1 to the result of `sqrt` was harmless, since the derivative of the addition is 1. But "
    "`sqrt` kept that very result for its own derivative.",
    ru="Похоже, вы считаете, что прибавить 1 к результату `sqrt` безвредно, ведь производная сложения равна 1. На "
    "самом деле `sqrt` хранит этот самый результат для своей производной.",
)


predict_in_place.wrong(
    "numbers_save_the_tensor",
    {"y = h * 3; h.add_(1)": "RuntimeError"},
    en="It looks as if multiplication by a number was expected to save `h`. The derivative is the number; no tensor is "
    "saved.",
    ru="Похоже, вы считаете, что умножение на число сохраняет `h`. На самом деле производная — это число; ни один "
    "тензор не сохраняется.",
)


predict_in_place.wrong(
    "products_save_both",
    {"y = h * k; h.add_(1)": "RuntimeError"},
    en="It looks as if a product saved both factors always. `h` would be needed for the gradient of `k`, and `k` is a "
    "constant.",
    ru="Похоже, вы считаете, что произведение всегда сохраняет оба множителя. На самом деле `h` понадобился бы для "
    "градиента `k`, а `k` — константа.",
)


predict_in_place.wrong(
    "constants_are_harmless",
    {"y = h * k; k.add_(1)": [3.0, 5.0]},
    en="It looks as if an edit of a constant could do no harm. The derivative of `h * k` with respect to `h` is `k`: "
    "it is the constant that was saved.",
    ru="Похоже, вы считаете, что изменение константы безвредно. На самом деле производная `h * k` по `h` равна `k`: "
    "сохранена как раз константа.",
)


predict_in_place.wrong(
    "takes_the_new_constant",
    {"y = h * k; k.add_(1)": [4.0, 6.0]},
    en="It looks as if backward took the edited `k`. `k` was saved at version 0 and is at version 1: an error.",
    ru="Похоже, вы считаете, что обратный проход возьмёт изменённый `k`. На самом деле `k` сохранён с версией 0, а "
    "теперь у него версия 1: это ошибка.",
)


predict_in_place.wrong(
    "one_relu_breaks",
    {"y = h.relu_()": "RuntimeError"},
    en="It looks as if `relu_()` broke its own derivative. It needs the result to see where it is positive, and the "
    "result is what `h` now holds.",
    ru="Похоже, вы считаете, что `relu_()` портит собственную производную. На самом деле ей нужно знать, где "
    "положителен результат, а он теперь и лежит в `h`.",
)


predict_in_place.wrong(
    "the_second_relu_is_harmless",
    {"y = h.relu_().relu_()": [1.0, 1.0]},
    en="It looks as if the second `relu_()` was taken for harmless, since it changes no number. The counter counts "
    "edits, not differences, and the first one had saved its result.",
    ru="Похоже, вы считаете, что второй `relu_()` безвреден, ведь числа те же. На самом деле счётчик считает "
    "изменения, а не разницу, а первый вызов свой результат сохранил.",
)


predict_in_place.wrong(
    "views_may_not_be_edited",
    {"y = h; h[0].mul_(10)": "RuntimeError"},
    en="It looks as if an edit through a view was expected to fail because others share the memory. Autograd follows "
    "it: `h` gets a new node, and the gradient is exact.",
    ru="Похоже, вы считаете, что изменение через представление запрещено, раз память общая. На самом деле autograd за "
    "ним следит: `h` получает новый узел, и градиент точен.",
)


predict_in_place.wrong(
    "the_base_does_not_notice",
    {"y = h; h[0].mul_(10)": [1.0, 1.0]},
    en="It looks as if `h` did not notice the edit of its view. The numbers changed, and so did the derivative: 10 at "
    "the edited place.",
    ru="Похоже, вы считаете, что `h` не заметит изменения своего представления. На самом деле изменились и числа, и "
    "производная: на этом месте 10.",
)


predict_in_place.wrong(
    "unbind_is_a_view",
    {"y = h; h.unbind()[0].mul_(10)": [10.0, 1.0]},
    en="It looks as if the parts of `unbind` were taken for ordinary views. A function that returns several views at "
    "once does not let them be edited.",
    ru="Похоже, вы считаете, что части, которые дал `unbind`, — обычные представления. На самом деле функция, "
    "возвращающая сразу несколько представлений, не позволяет их менять.",
)


predict_in_place.wrong(
    "leaves_may_be_edited",
    {"x.add_(1); y = x * 2": [2.0, 2.0]},
    en="It looks as if a leaf that requires grad could be edited while operations are recorded. Then it would be a "
    "result, and nobody would hold the leaf: torch refuses.",
    ru="Похоже, вы считаете, что лист, который требует градиента, можно менять при включённой записи. На самом деле "
    "torch это запрещает: лист стал бы нелистовым тензором.",
)


predict_in_place.wrong(
    "views_of_leaves_may_be_edited",
    {"x[0].mul_(10); y = x * 2": [20.0, 2.0]},
    en="It looks as if a detour through a view made the edit of a leaf legal. A view of a leaf is refused as the leaf "
    "itself is.",
    ru="Похоже, вы считаете, что через представление лист менять можно. На самом деле менять представление листа "
    "запрещено так же, как и сам лист.",
)


predict_in_place.wrong(
    "views_of_leaves_have_no_effect",
    {"x[0].mul_(10); y = x * 2": [2.0, 2.0]},
    *predict_in_place.mistakes["views_of_leaves_may_be_edited"].says,
)


predict_in_place.wrong(
    "writing_keeps_the_gradient",
    {"y = h * 3; y[0] = 7": [3.0, 3.0]},
    en="It looks as if the constant 7 let the gradient through. The old `y[0]` has no influence on the result any "
    "more: 0.",
    ru="Похоже, вы считаете, что константа 7 пропускает градиент. На самом деле прежний `y[0]` на результат больше "
    "не влияет, и градиент там равен 0.",
)


predict_in_place.wrong(
    "writing_gives_the_number",
    {"y = h * 3; y[0] = 7": [7.0, 3.0]},
    en="It looks as if the number 7 was taken for the gradient at its place. 7 is a constant there: the gradient of "
    "`x` is 0.",
    ru="Похоже, вы считаете, что градиент на изменённом месте равен 7. На самом деле 7 — константа: градиент `x` на "
    "этом месте равен 0.",
)


predict_in_place.wrong(
    "writing_is_refused",
    {"y = h * 3; y[0] = 7": "RuntimeError"},
    en="It looks as if writing into a part of a result was expected to fail. Multiplication by a number saved nothing, "
    "so the edit is recorded and the rest goes on.",
    ru="Похоже, вы считаете, что менять часть результата нельзя. На самом деле умножение на число ничего не "
    "сохранило: изменение записано, а остальное вычисляется, как обычно.",
)
