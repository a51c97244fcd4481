"""Core exercise: predictions about gradients of gradients."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Gradients of gradients", "Градиенты градиентов"),
    kind="predict",
    core=True,
    minutes=8,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Two options keep something after the pass. Which of them records the pass itself?",
            "Два параметра оставляют что-то после прохода. Какой из них записывает сам проход?",
        ),
        Text(
            "The derivative of $3x$ is the constant 3. Is there a path from it back to `x`? And `backward()` adds to "
            "`.grad`, also when `.grad` is what you differentiate.",
            "Производная функции $3x$ — константа 3. Ведёт ли от неё путь обратно к `x`? А `backward()` прибавляет к "
            "`.grad` и тогда, когда дифференцируют сам `.grad`.",
        ),
        Text(
            "The kernel of the attention is chosen in the forward pass, and its node stays in the graph. Only the plain "
            "formula, MATH, consists of operations that have second derivatives.",
            "Вариант вычисления внимания выбирается в прямом проходе, и его узел остаётся в графе. Только обычная "
            "формула, MATH, состоит из операций, у которых есть вторые производные.",
        ),
    ],
)
def predict_second(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_second)}


predict_second.wrong(
    "retain_is_enough",
    {"retain_graph=True": True},
    en="You expected `retain_graph=True` to be enough. It keeps the graph of the function; the backward pass itself is "
    "recorded with `create_graph=True` only.",
    ru="Вы ожидали, что достаточно `retain_graph=True`. Так сохраняется граф функции, но сам обратный проход "
    "записывается только с `create_graph=True`.",
)


predict_second.wrong(
    "always_recorded",
    {"no option": True, "retain_graph=True": True},
    en="You expected a gradient to have a graph by itself. Without `create_graph=True` it is a constant.",
    ru="Вы ожидали, что у градиента и без того есть граф. Но без `create_graph=True` это константа.",
)


predict_second.wrong(
    "linear_gives_zero",
    {"3 * x twice": "accepted"},
    en="You expected the second derivative of $3x$ to come out as 0. The gradient 3 does not depend on `x`, so it has "
    "no graph, and `autograd.grad` raises an error.",
    ru="Вы ожидали, что вторая производная функции $3x$ получится равной 0. Но градиент 3 от `x` не зависит, графа у "
    "него нет, и `autograd.grad` завершается ошибкой.",
)


predict_second.wrong(
    "func_raises_too",
    {"3 * x twice, torch.func": "RuntimeError"},
    en="You expected `torch.func.grad` to fail on $3x$ as well. It returns zeros where there is no dependence.",
    ru="Вы ожидали, что и `torch.func.grad` для $3x$ завершится ошибкой. Но эта функция возвращает нули, если "
    "зависимости нет.",
)


predict_second.wrong(
    "second_derivative_alone",
    {"x.grad after both": 12.0},
    en="You expected the second derivative alone in `x.grad`. `backward()` added it to the first one, 12 + 12.",
    ru="Вы ожидали, что в `x.grad` будет только вторая производная. Но `backward()` прибавил её к первой: 12 + 12.",
)


predict_second.wrong(
    "attention_is_like_the_rest",
    {"attention twice": "accepted"},
    en="You expected every operation of torch to have a second derivative. The fused attention has none: its backward "
    "is one kernel without a formula of its own.",
    ru="Вы ожидали, что вторая производная есть у каждой операции torch. Но у слитого внимания её нет: обратный проход "
    "там — одно ядро, для которого своей формулы производной нет.",
)


predict_second.wrong(
    "choice_counts_in_backward",
    {"attention twice, MATH in backward": "accepted", "attention twice, MATH in forward": "RuntimeError"},
    en="You expected the choice to count in the backward pass. The node is made in the forward pass, and the kernel "
    "with it.",
    ru="Вы ожидали, что выбор действует в обратном проходе. Но узел создаётся в прямом проходе, и ядро выбирается "
    "тогда же.",
)


predict_second.wrong(
    "either_place_will_do",
    {"attention twice, MATH in backward": "accepted"},
    en="You expected the choice to count in the backward pass as well. The node was made before it, with the fused "
    "kernel.",
    ru="Вы ожидали, что выбор действует и в обратном проходе. Но узел создан раньше, со слитым ядром.",
)


predict_second.wrong(
    "recorded_without_an_option",
    {"no option": True},
    en="You expected a graph without any option. Without `create_graph=True` the gradient is a constant.",
    ru="Вы ожидали граф и без всяких параметров. Но без `create_graph=True` градиент — константа.",
)


predict_second.wrong(
    "never_recorded",
    {"create_graph=True": False},
    en="You expected no graph with `create_graph=True`. It records the backward pass, and so the gradient has a graph.",
    ru="Вы ожидали, что с `create_graph=True` графа нет. Но тогда обратный проход записывается, и у градиента граф есть.",
)


predict_second.wrong(
    "added_twice",
    {"x.grad after both": 36.0},
    en="You expected 36. The first derivative is added once, and so is the second: 12 + 12.",
    ru="Вы ожидали 36. Но и первая производная прибавлена один раз, и вторая: 12 + 12.",
)


predict_second.wrong(
    "math_fails_as_well",
    {"attention twice, MATH in forward": "RuntimeError"},
    en="You expected the formula to have no second derivative. It consists of operations that all have one.",
    ru="Вы ожидали, что второй производной нет и у формулы. Но она есть у всех операций, из которых состоит формула.",
)


predict_second.wrong(
    "multiplied",
    {"x.grad after both": 144.0},
    en="You expected the product, 144. `backward()` adds to what is in `.grad`: 12 + 12.",
    ru="Вы ожидали произведение, 144. Но `backward()` прибавляет к тому, что лежит в `.grad`: 12 + 12.",
)
