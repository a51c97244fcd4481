"""Exercise: predictions about compiled functions and their backward passes."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text

_FORMER = ("graphs of branching", "graphs of choosing", "compilations for lengths 3, 4, 5", "wave: create_graph")


@exercise(
    title=Text("What a compiled backward can do", "Что умеет скомпилированный обратный проход"),
    kind="predict",
    difficulty=3,
    version=2,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "A compiled backward pass may write over what only the graph holds. When can it know that nobody needs that "
            "again?",
            "Скомпилированный обратный проход вправе записывать поверх тензоров, которые есть только у графа. Когда "
            "становится известно, что они больше не понадобятся?",
        ),
        Text(
            "The backward half is compiled in the first backward pass, for the kind of pass that this is. `growth` keeps "
            "`exp(x)`, which nobody else has; `wave` keeps `x` alone, and recomputes.",
            "Обратная половина компилируется при первом обратном проходе и рассчитана на проход именно такого вида. Для "
            "`growth` хранится `exp(x)`, и больше ни у кого этого тензора нет; для `wave` хранится только `x`, остальное "
            "вычисляется повторно.",
        ),
        Text(
            "A compiled backward pass is not recorded: the second derivative is missing. With `eager` the operations are "
            "recorded as always. In an ordinary pass sine and cosine each save their own input.",
            "Скомпилированный обратный проход не записывается: второй производной нет. С `eager` операции записываются "
            "как обычно. В обычном проходе и синус, и косинус хранят свой вход.",
        ),
    ],
)
def predict_compiled(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_compiled, former=_FORMER)}
