"""Core exercise: predictions about a second backward pass."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Backward, once more", "Второй обратный проход"),
    kind="predict",
    core=True,
    minutes=5,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "What does the derivative of `x + w` need to know about `x` and `w`? And that of `x * x`?",
            "Что нужно знать об `x` и `w`, чтобы найти производную `x + w`? А производную `x * x`?",
        ),
        Text(
            "A backward pass frees what the graph has saved, not the graph. Only a node that misses its saved values "
            "raises.",
            "Обратный проход освобождает то, что граф сохранил, а не сам граф. Ошибка возникает только в узле, "
            "которому нужно освобождённое.",
        ),
        Text(
            "In `x * x + w` the addition makes two nodes ready: that of `w`, an `AccumulateGrad`, and the "
            "multiplication. Which of them is run first?",
            "В `x * x + w` после сложения готовы два узла: `AccumulateGrad` для `w` и узел умножения. Какой из них "
            "выполняется первым?",
        ),
    ],
)
def predict_second_backward(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_second_backward)}


predict_second_backward.wrong(
    "always_raises",
    {"x + w: second": "RuntimeError"},
    en="You expected every second `backward()` to raise an error. It raises one only where something saved is needed, "
    "and an addition saves nothing.",
    ru="Здесь ожидалась ошибка. Но второй `backward()` завершается ошибкой, только если нужно что-то из сохранённого, "
    "а сложение не сохраняет ничего.",
)


predict_second_backward.wrong(
    "second_pass_adds_nothing",
    {"x + w: x.grad": 1.0},
    en="You expected a second pass without an error to leave `.grad` as it was. It adds the whole gradient once more.",
    ru="Вы ожидали, что второй проход без ошибки не изменит `.grad`. Но он прибавляет весь градиент ещё раз.",
)


predict_second_backward.wrong(
    "each_pass_replaces",
    {"x + w: x.grad": 1.0, "retained: x.grad": 6.0},
    en="You expected each pass to replace what is in `.grad`. It adds, with `retain_graph=True` as without.",
    ru="Вы ожидали, что каждый проход заменяет содержимое `.grad`. Но новый градиент прибавляется, и с "
    "`retain_graph=True`, и без него.",
)


predict_second_backward.wrong(
    "never_raises",
    {"x * x + w: second": None},
    en="You expected no second pass to raise an error. `x * x` needs `x`, and that was freed after the first pass.",
    ru="Не учтено, что для производной `x * x` нужен `x`, а он освобождён после первого прохода.",
)


predict_second_backward.wrong(
    "an_error_changes_nothing",
    {"x * x + w: w.grad": 1.0},
    en="You expected a backward pass that raises an error to change nothing. `w` had its gradient added before the "
    "error.",
    ru="Вы ожидали, что обратный проход, закончившийся ошибкой, ничего не меняет. Но к градиенту `w` новый прибавлен "
    "ещё до ошибки.",
)


predict_second_backward.wrong(
    "an_error_doubles_everything",
    {"x * x + w: x.grad": 12.0},
    en="You expected `x.grad` to double. The second pass broke off before it got to `x`.",
    ru="Вы ожидали, что `x.grad` удвоится. Но второй проход прерывается раньше, чем доходит до `x`.",
)


predict_second_backward.wrong(
    "retaining_does_not_add",
    {"retained: x.grad": 6.0},
    en="You expected `retain_graph=True` to keep the second pass from adding. It keeps what was saved; `.grad` adds up "
    "as ever.",
    ru="Вы ожидали, что с `retain_graph=True` второй проход ничего не прибавит. Но этот аргумент лишь не даёт "
    "освободить то, что сохранили узлы; в `.grad` градиенты складываются, как всегда.",
)


predict_second_backward.wrong(
    "forgets_the_factor_two",
    {"x * x + w: x.grad": 3.0, "retained: x.grad": 6.0},
    en="The derivative of `x * x` was taken to be `x`. It is `2 * x`: two edges lead to `x`.",
    ru="Производная `x * x` принята за `x`. Но она равна `2 * x`: к `x` ведут два ребра.",
)


predict_second_backward.wrong(
    "quotes_none",
    {"x + w: second": "None"},
    en="`None` stands in quotes. A pass that runs gives `None` itself, not a string.",
    ru="Слово `None` записано в кавычках. Если проход выполнился, получается само значение `None`, а не строка.",
)
