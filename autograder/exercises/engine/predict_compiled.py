"""Extra exercise: predictions about compiled functions and their backward passes."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("What a compiled backward can do", "Что умеет скомпилированный обратный проход"),
    kind="predict",
    difficulty=3,
    minutes=10,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "A compiled backward pass may write over what only the graph holds. When can it know that nobody needs that "
            "again?",
            "Скомпилированный обратный проход вправе записывать поверх того, что есть только у графа. Когда становится "
            "известно, что оно больше не понадобится?",
        ),
        Text(
            "The backward half is compiled in the first backward pass, for the kind of pass that this is. `growth` keeps "
            "`exp(x)`, which nobody else has; `wave` keeps `x` alone, and recomputes.",
            "Обратная половина компилируется при первом обратном проходе и рассчитана на проход именно такого вида. Для "
            "`growth` хранится `exp(x)`, и больше ни у кого этого тензора нет; для `wave` хранится только `x`, остальное "
            "вычисляется повторно.",
        ),
        Text(
            "`if` on a tensor makes two graphs, `where` one. A second length compiles once more, for all lengths. The second "
            "derivative raises only when it is computed.",
            "Инструкция `if` по тензору даёт два графа, `where` — один. При второй длине функция компилируется ещё раз, "
            "сразу для всех длин. Вторая производная вызывает ошибку, только когда её вычисляют.",
        ),
    ],
)
def predict_compiled(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_compiled)}


predict_compiled.wrong(
    "breaks_cost_nothing",
    {"graphs of branching": 1},
    en="You expected one graph in spite of the `if`. Its condition is a number, so the graph ends there and another begins.",
    ru="Вы ожидали один граф, несмотря на `if`. Но условие — это число, поэтому граф здесь обрывается и начинается другой.",
)


predict_compiled.wrong(
    "where_breaks",
    {"graphs of choosing": 2},
    en="You expected `torch.where` to break the graph. It is an operation on tensors; Python sees no number.",
    ru="Вы ожидали, что `torch.where` разорвёт граф. Но это операция над тензорами, и числа Python не видит.",
)


predict_compiled.wrong(
    "every_length_anew",
    {"compilations for lengths 3, 4, 5": 3},
    en="You expected a compilation for every length. The second one makes the length a variable, and it serves all others.",
    ru="Вы ожидали новую компиляцию для каждой длины. Но при второй длина становится переменной, и этого хватает для "
    "остальных.",
)


predict_compiled.wrong(
    "one_for_all_lengths",
    {"compilations for lengths 3, 4, 5": 1},
    en="You expected one compilation for all lengths. The first is made for the very length that came.",
    ru="Вы ожидали одну компиляцию для всех длин. Но первая рассчитана именно на ту длину, которая пришла.",
)


predict_compiled.wrong(
    "saves_as_eager",
    {"saved by compiled wave": 2},
    en="You expected the compiled function to save what the eager one does. It sees both passes, keeps `x` and recomputes "
    "the rest.",
    ru="Вы ожидали, что скомпилированная функция хранит то же, что обычная. Но ей видны оба прохода: она хранит `x`, а "
    "остальное вычисляет заново.",
)


predict_compiled.wrong(
    "retain_graph_works",
    {"growth: plain, then retain_graph": "accepted"},
    en="You expected `retain_graph=True` to work as always. After a plain pass the compiled backward may write over `exp(x)`, "
    "a donated buffer, and refuses to keep the graph.",
    ru="Вы ожидали, что `retain_graph=True` работает как всегда. Но после обычного прохода скомпилированный код вправе "
    "записывать поверх `exp(x)` (donated buffer), и сохранять граф он отказывается.",
)


predict_compiled.wrong(
    "retain_graph_fails_at_first",
    {"growth: retain_graph": "RuntimeError"},
    en="You expected `retain_graph=True` to fail in the first pass already. The backward half is compiled in that pass, and "
    "for it.",
    ru="Вы ожидали, что `retain_graph=True` не сработает уже в первом проходе. Но обратная половина компилируется как раз в "
    "нём и рассчитана на него.",
)


predict_compiled.wrong(
    "retain_graph_never_works",
    {"wave: plain, then retain_graph": "RuntimeError"},
    en="You expected `retain_graph=True` to fail for every function after a plain pass. Here only `x` is kept, which belongs "
    "to the caller and is not written over.",
    ru="Вы ожидали, что после обычного прохода `retain_graph=True` не работает ни для какой функции. Но здесь хранится "
    "только `x`, а это тензор вызывающего, и поверх него не пишут.",
)


predict_compiled.wrong(
    "differentiates_twice",
    {"wave: second derivative, aot_eager": "accepted"},
    en="You expected a second derivative. The compiled backward is not recorded; the error comes when one asks for it.",
    ru="Вы ожидали, что вторая производная есть. Но скомпилированный обратный проход не записывается, и при обращении к ней "
    "возникает ошибка.",
)


predict_compiled.wrong(
    "eager_backend_fails",
    {"wave: second derivative, eager": "RuntimeError"},
    en="You expected the backend `eager` to fail as well. It runs the traced operations under ordinary autograd.",
    ru="Вы ожидали, что и с `eager` будет ошибка. Но этот вариант выполняет записанные операции под обычным autograd.",
)


predict_compiled.wrong(
    "both_branches",
    {"graphs of branching": 3},
    en="You expected a graph for each branch. Only the branch that is taken is compiled: one graph before the `if`, one after.",
    ru="Вы ожидали граф для каждой ветви. Но компилируется только та, которая выбрана: один граф до `if` и один после.",
)


predict_compiled.wrong(
    "wave_saves_one",
    {"saved by wave": 1},
    en="You expected one saved tensor. The sine saves its input `x`, and the cosine saves its own input, the sine of `x`.",
    ru="Вы ожидали один сохранённый тензор. Но синус хранит свой вход `x`, а косинус — свой, то есть синус от `x`.",
)


predict_compiled.wrong(
    "sum_saves_too",
    {"saved by wave": 3},
    en="You expected the sum to save a tensor as well. Its backward pass needs only the shape.",
    ru="Вы ожидали, что тензор хранит и сумма. Но для её обратного прохода нужна только форма.",
)


predict_compiled.wrong(
    "saves_nothing",
    {"saved by compiled wave": 0},
    en="You expected the compiled function to save nothing. Its backward pass needs `x` to compute the rest anew.",
    ru="Вы ожидали, что скомпилированная функция ничего не хранит. Но чтобы вычислить остальное заново, нужен `x`.",
)


predict_compiled.wrong(
    "create_graph_fails",
    {"wave: create_graph": "RuntimeError"},
    en="You expected `create_graph=True` alone to raise. The error comes when the second derivative is computed.",
    ru="Вы ожидали ошибку уже при `create_graph=True`. Но она возникает, только когда вычисляют вторую производную.",
)
