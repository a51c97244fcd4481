"""Exercise: predictions about gradients of gradients."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, Why, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Gradients of gradients", "Градиенты градиентов"),
    kind="predict",
    core=True,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Two options keep something after the pass. Which of them records the pass itself?",
            "Два параметра оставляют что-то после прохода. Какой из них записывает сам проход?",
        ),
        Text(
            "The derivative of $3x$ is the constant 3. Is there a path from it back to `x`? And `backward()` adds to "
            "`.grad`, also when `.grad` is what you differentiate.",
            "Производная функции $3x$ — константа 3. Ведёт ли от неё путь обратно к `x`? А `backward()` прибавляет "
            "градиент к `.grad` и тогда, когда дифференцируют сам `.grad`.",
        ),
        Text(
            "The kernel of the attention is chosen in the forward pass, and its node stays in the graph. Only the plain "
            "formula, MATH, consists of operations that have second derivatives.",
            "Вариант вычисления внимания выбирается в прямом проходе, и его узел остаётся в графе. Только обычная "
            "формула, MATH, состоит из операций, у которых есть вторые производные.",
        ),
    ],
    why=Why(
        Text(
            "Why does the gradient of x³ need `create_graph=True` to be differentiated again?",
            "Почему градиент от x³ можно продифференцировать ещё раз только с `create_graph=True`?",
        ),
        Text(
            "To differentiate 3x², autograd needs the operations that computed it, and these run in the backward "
            "pass. Only `create_graph=True` records them; otherwise the gradient is a constant.",
            "Чтобы дифференцировать 3x², autograd нужны операции, которые его вычислили, а они выполняются в "
            "обратном проходе. Записывает их только `create_graph=True`, иначе градиент — константа.",
        ),
    ),
)
def predict_second(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_second, former=("no option", "3 * x twice, torch.func"))}
