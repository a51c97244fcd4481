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
            "`pack` вызывается один раз на каждое сохранение, во время самой операции и в том потоке выполнения, "
            "который вошёл в `with`; из двух пар вызывается только внутренняя. `unpack` вызывается каждый раз, когда "
            "сохранённый тензор нужен.",
        ),
        Text(
            "`x * x` saves both factors, `x @ W` saves `x` and `W`. What `unpack` gives back is used as it is: for "
            "`x ** 2` the gradient is twice that.",
            "`x * x` сохраняет оба множителя, `x @ W` — `x` и `W`. То, что вернёт `unpack`, берётся как есть: градиент "
            "`x ** 2` вдвое больше этого значения.",
        ),
    ],
)
def predict_hooks(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_hooks)}


predict_hooks.wrong(
    "once_per_tensor",
    {"packs of x * x": 1},
    en="It looks as if hooks were called once per tensor. They are called once per save, and `x * x` saves `x` twice.",
    ru="Похоже, вы считаете, что хук вызывается один раз на тензор. На самом деле он вызывается на каждое сохранение, "
    "а `x * x` сохраняет `x` дважды.",
)


predict_hooks.wrong(
    "weights_are_not_packed",
    {"packs of x @ W": 1},
    en="It looks as if parameters were expected to pass by the hooks. A weight is saved like any other tensor.",
    ru="Похоже, вы считаете, что параметры проходят мимо хуков. На самом деле вес сохраняется, как и любой другой "
    "тензор.",
)


predict_hooks.wrong(
    "additions_are_packed",
    {"packs of x + 1": 1},
    en="It looks as if every operation was expected to save something. `x + 1` saves nothing, so there is nothing to "
    "pack.",
    ru="Похоже, вы считаете, что любая операция что-то сохраняет. На самом деле `x + 1` не сохраняет ничего, и "
    "упаковывать нечего.",
)


predict_hooks.wrong(
    "packs_without_a_graph",
    {"packs of x.exp() under no_grad": 1},
    en="It looks as if hooks were expected to work under `no_grad()`. There is no graph there, and nothing is saved.",
    ru="Похоже, вы считаете, что хуки работают и внутри `no_grad()`. На самом деле графа там нет, и сохранять нечего.",
)


predict_hooks.wrong(
    "reaches_other_threads",
    {"packs of x.exp() in another thread": 1},
    en="It looks as if the `with` was expected to reach other threads. The stack of hooks belongs to one thread.",
    ru="Похоже, вы считаете, что `with` действует и на другие потоки выполнения. На самом деле у каждого потока свой "
    "стек хуков.",
)


predict_hooks.wrong(
    "nested_pairs_compose",
    {"outer packs of x.exp() inside an inner pair": 1},
    en="It looks as if nested pairs were expected to be called one after the other. Only the innermost pair is called.",
    ru="Похоже, вы считаете, что вложенные пары вызываются все по очереди. На самом деле вызывается только самая "
    "внутренняя.",
)


predict_hooks.wrong(
    "acts_in_backward",
    {"packs of backward() alone": 1},
    en="It looks as if hooks were expected to act during backward. Tensors are packed when they are saved, in the "
    "forward pass; a `with` around `backward()` comes too late.",
    ru="Похоже, вы считаете, что хуки действуют во время обратного прохода. На самом деле тензоры упаковываются при "
    "сохранении, в прямом проходе; ставить `with` вокруг `backward()` уже поздно.",
)


predict_hooks.wrong(
    "unpacks_once",
    {"unpacks of x ** 2 in two backward passes": 1},
    en="It looks as if `unpack` was expected to run once for good. It runs at each use: two backward passes, two calls.",
    ru="Похоже, вы считаете, что `unpack` вызывается лишь однажды. На самом деле он вызывается при каждом обращении: "
    "два обратных прохода — два вызова.",
)


predict_hooks.wrong(
    "contents_are_checked",
    {"gradient of x ** 2 at 3 with pack = 4 * t": 6.0},
    en="It looks as if what `pack` changed was expected to make no difference, or to be undone. Backward takes what "
    "`unpack` returns and does not check it.",
    ru="Похоже, вы считаете, что изменение, сделанное в `pack`, ни на что не влияет или отменяется. На самом деле "
    "обратный проход берёт то, что вернул `unpack`, без всякой проверки.",
)


predict_hooks.wrong(
    "factor_is_squared",
    {"gradient of x ** 2 at 3 with pack = 4 * t": 96.0},
    en="It looks as if the factor 4 was applied twice, or to a square. Here `x` alone is saved, and the gradient is "
    "twice what `unpack` returns.",
    ru="Похоже, что множитель 4 применён дважды или к квадрату. Здесь сохраняется сам `x`, а градиент равен удвоенному "
    "результату `unpack`.",
)


predict_hooks.wrong(
    "factor_of_the_square",
    {"gradient of x ** 2 at 3 with pack = 4 * t": 36.0},
    *predict_hooks.mistakes["factor_is_squared"].says,
)


predict_hooks.wrong(
    "forgets_the_two",
    {"gradient of x ** 2 at 3 with pack = 4 * t": 12.0},
    en="It looks as if the gradient was taken for what `unpack` returns, which is 12. The derivative of `x ** 2` is "
    "twice the saved tensor.",
    ru="Похоже, вы считаете, что градиент — это то, что вернул `unpack`, то есть 12. На самом деле производная `x ** "
    "2` вдвое больше сохранённого тензора.",
)


predict_hooks.wrong(
    "a_square_saves_twice",
    {"unpacks of x ** 2 in two backward passes": 4},
    en="It looks as if `x ** 2` was expected to save two tensors, as `x * x` does. It saves `x` once: one `unpack` in "
    "each backward pass.",
    ru="Похоже, вы считаете, что `x ** 2` сохраняет два тензора, как `x * x`. На самом деле `x` сохраняется один раз, "
    "и на каждый обратный проход приходится один `unpack`.",
)


predict_hooks.wrong(
    "forward_uses_the_packed",
    {"x ** 2 at 3 with pack = 4 * t": 144.0},
    en="It looks as if the forward pass was expected to use the packed tensor. The result is computed before anything "
    "is packed.",
    ru="Похоже, вы считаете, что прямой проход считает с упакованным тензором. На самом деле результат вычислен "
    "раньше, чем что-либо упаковано.",
)


predict_hooks.wrong(
    "forward_is_scaled",
    {"x ** 2 at 3 with pack = 4 * t": 36.0},
    *predict_hooks.mistakes["forward_uses_the_packed"].says,
)
