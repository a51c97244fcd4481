"""Core exercise: predictions about saved-tensor hooks."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Which saves the hooks see", "Какие сохранения видят хуки"),
    kind="predict",
    core=True,
    minutes=8,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "When does an operation save its tensors: when it runs, or when backward comes?",
            "Когда операция сохраняет тензоры: когда выполняется или когда начинается обратный проход?",
        ),
        Text(
            "`pack` runs once per save while the operation runs, in the thread that entered the `with`; of two pairs "
            "only the inner one is called. `unpack` runs each time a saved tensor is needed.",
            "`pack` вызывается один раз на каждое сохранение, во время самой операции и в том потоке выполнения, где "
            "открыт блок `with`; из двух пар вызывается только внутренняя. `unpack` вызывается каждый раз, когда "
            "сохранённый тензор нужен.",
        ),
        Text(
            "`x * x` saves both factors, `x @ W` saves `x` and `W`. What `unpack` gives back is used as it is: for "
            "`x ** 2` the gradient is twice that.",
            "`x * x` сохраняет оба множителя, `x @ W` — `x` и `W`. То, что вернёт `unpack`, берётся как есть: градиент "
            "`x ** 2` вдвое больше этого значения.",
        ),
    ],
)
def predict_hooks(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_hooks)}


predict_hooks.wrong(
    "once_per_tensor",
    {"packs of x * x": 1},
    en="You expected hooks to be called once per tensor. They are called once per save, and `x * x` saves `x` twice.",
    ru="Вы ожидали, что хук вызывается один раз на тензор. Но он вызывается на каждое сохранение, а `x * x` сохраняет "
    "`x` дважды.",
)


predict_hooks.wrong(
    "weights_are_not_packed",
    {"packs of x @ W": 1},
    en="You expected parameters not to reach the hooks. A weight is saved like any other tensor.",
    ru="Вы ожидали, что параметры до хуков не доходят. Но вес сохраняется, как и любой другой тензор.",
)


predict_hooks.wrong(
    "additions_are_packed",
    {"packs of x + 1": 1},
    en="You expected the addition to save something. `x + 1` saves nothing, so there is nothing to pack.",
    ru="Вы ожидали, что сложение что-то сохраняет. Но `x + 1` не сохраняет ничего, и упаковывать нечего.",
)


predict_hooks.wrong(
    "packs_without_a_graph",
    {"packs of x.exp() under no_grad": 1},
    en="You expected hooks to be called under `no_grad()`. There is no graph there, and nothing is saved.",
    ru="Вы ожидали, что хуки вызываются и внутри `no_grad()`. Но графа там нет, и сохранять нечего.",
)


predict_hooks.wrong(
    "reaches_other_threads",
    {"packs of x.exp() in another thread": 1},
    en="You expected the `with` to act in other threads too. Each thread has its own stack of hooks.",
    ru="Вы ожидали, что `with` действует и в других потоках. Но у каждого потока свой стек хуков.",
)


predict_hooks.wrong(
    "nested_pairs_compose",
    {"outer packs of x.exp() inside an inner pair": 1},
    en="You expected nested pairs to be called one after the other. Only the innermost pair is called.",
    ru="Вы ожидали, что вложенные пары вызываются по очереди. Но вызывается только самая внутренняя.",
)


predict_hooks.wrong(
    "acts_in_backward",
    {"packs of backward() alone": 1},
    en="You expected hooks to act during backward. Tensors are packed when they are saved, in the forward pass; a "
    "`with` around `backward()` comes too late.",
    ru="Вы ожидали, что хуки действуют во время обратного прохода. Но тензоры упаковываются при сохранении, в прямом "
    "проходе; ставить `with` вокруг `backward()` уже поздно.",
)


predict_hooks.wrong(
    "unpacks_once",
    {"unpacks of x ** 2 in two backward passes": 1},
    en="You expected `unpack` to run only once. It runs at each use: two backward passes, two calls.",
    ru="Вы ожидали, что `unpack` вызывается только однажды. Но он вызывается при каждом обращении: два обратных "
    "прохода — два вызова.",
)


predict_hooks.wrong(
    "contents_are_checked",
    {"gradient of x ** 2 at 3 with pack = 4 * t": 6.0},
    en="You expected what `pack` changed to make no difference, or to be undone. Backward takes the numbers that "
    "`unpack` returns and does not check them.",
    ru="Вы ожидали, что изменение, сделанное в `pack`, ни на что не влияет или отменяется. Но обратный проход берёт "
    "числа, которые вернул `unpack`, и не проверяет их.",
)


predict_hooks.wrong(
    "factor_is_squared",
    {"gradient of x ** 2 at 3 with pack = 4 * t": 96.0},
    en="The factor 4 was applied twice, or to a square. Here `x` alone is saved, and the gradient is twice what "
    "`unpack` returns.",
    ru="Множитель 4 применён дважды или к квадрату. Но сохраняется сам `x`, а градиент равен удвоенному результату "
    "`unpack`.",
)


predict_hooks.wrong(
    "factor_of_the_square",
    {"gradient of x ** 2 at 3 with pack = 4 * t": 36.0},
    *predict_hooks.mistakes["factor_is_squared"].says,
)


predict_hooks.wrong(
    "forgets_the_two",
    {"gradient of x ** 2 at 3 with pack = 4 * t": 12.0},
    en="What `unpack` returns, 12, was taken for the gradient. The derivative of `x ** 2` is twice the saved tensor.",
    ru="За градиент принято то, что вернул `unpack`, то есть 12. Но производная `x ** 2` вдвое больше сохранённого "
    "тензора.",
)


predict_hooks.wrong(
    "a_square_saves_twice",
    {"unpacks of x ** 2 in two backward passes": 4},
    en="You expected `x ** 2` to save two tensors, as `x * x` does. It saves `x` once: one `unpack` in each backward "
    "pass.",
    ru="Вы ожидали, что `x ** 2` сохраняет два тензора, как `x * x`. Но `x` сохраняется один раз, и на каждый обратный "
    "проход приходится один `unpack`.",
)


predict_hooks.wrong(
    "forward_uses_the_packed",
    {"x ** 2 at 3 with pack = 4 * t": 144.0},
    en="You expected the forward pass to use the packed tensor. The result is computed before anything is packed.",
    ru="Вы ожидали, что в прямом проходе используется упакованный тензор. Но результат вычислен раньше, чем что-либо "
    "упаковано.",
)


predict_hooks.wrong(
    "forward_is_scaled",
    {"x ** 2 at 3 with pack = 4 * t": 36.0},
    *predict_hooks.mistakes["forward_uses_the_packed"].says,
)
