"""Core exercise: predictions about a second backward pass."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Backward, once more", "Обратный проход ещё раз"),
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
            "A backward pass frees what the graph has saved, not the graph. Only a node that misses its saved values raises.",
            "Обратный проход освобождает то, что граф сохранил, а не сам граф. Ошибка возникает только в узле, "
            "которому нужно освобождённое.",
        ),
        Text(
            "In `x * x + w` the addition makes two nodes ready: that of `w`, an `AccumulateGrad`, and the multiplication. Which of them is run first?",
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
    en="It looks as if you expect every second `backward()` to raise. It raises only where something saved is needed: "
    "an addition saves nothing.",
    ru="Похоже, вы считаете, что второй `backward()` всегда вызывает ошибку. На самом деле ошибка бывает, только если "
    "нужно что-то из сохранённого, а сложение не сохраняет ничего.",
)


predict_second_backward.wrong(
    "second_pass_adds_nothing",
    {"x + w: x.grad": 1.0},
    en="It looks as if you expect a second pass without an error to leave `.grad` as it was. It adds the whole gradient "
    "once more.",
    ru="Похоже, вы считаете, что второй проход без ошибки оставляет `.grad` прежним. На самом деле он прибавляет весь "
    "градиент ещё раз.",
)


predict_second_backward.wrong(
    "each_pass_replaces",
    {"x + w: x.grad": 1.0, "retained: x.grad": 6.0},
    en="It looks as if you expect each pass to replace what is in `.grad`. It adds, with `retain_graph=True` as without.",
    ru="Похоже, вы считаете, что каждый проход заменяет содержимое `.grad`. На самом деле он прибавляет новый "
    "градиент, и с `retain_graph=True`, и без него.",
)


predict_second_backward.wrong(
    "never_raises",
    {"x * x + w: second": None},
    en="It looks as if you expect no second pass to raise. `x * x` has to know `x`, and that was freed after the first pass.",
    ru="Похоже, вы считаете, что второй проход никогда не вызывает ошибки. На самом деле для `x * x` нужен `x`, "
    "а он освобождён после первого прохода.",
)


predict_second_backward.wrong(
    "an_error_changes_nothing",
    {"x * x + w: w.grad": 1.0},
    en="It looks as if you expect a backward pass that raises to change nothing. `w` had its gradient added before the error.",
    ru="Похоже, вы считаете, что обратный проход, закончившийся ошибкой, ничего не меняет. На самом деле к `w.grad` "
    "градиент прибавляется ещё до ошибки.",
)


predict_second_backward.wrong(
    "an_error_doubles_everything",
    {"x * x + w: x.grad": 12.0},
    en="It looks as if you expect `x.grad` to double. The second pass broke off before it got to `x`.",
    ru="Похоже, вы считаете, что `x.grad` удваивается. На самом деле второй проход прерывается раньше, чем доходит до "
    "`x`.",
)


predict_second_backward.wrong(
    "retaining_does_not_add",
    {"retained: x.grad": 6.0},
    en="It looks as if you expect `retain_graph=True` to keep the second pass from adding. It keeps what was saved; "
    "`.grad` adds up as ever.",
    ru="Похоже, вы считаете, что с `retain_graph=True` второй проход ничего не прибавляет. На самом деле этот "
    "аргумент лишь не даёт освободить то, что сохранили узлы; в `.grad` градиенты складываются, как всегда.",
)


predict_second_backward.wrong(
    "forgets_the_factor_two",
    {"x * x + w: x.grad": 3.0, "retained: x.grad": 6.0},
    en="It looks as if the derivative of `x * x` is taken to be `x`. It is `2 * x`: two edges lead to `x`.",
    ru="Похоже, вы считаете, что производная `x * x` равна `x`. На самом деле она равна `2 * x`: к `x` ведут два "
    "ребра.",
)


predict_second_backward.wrong(
    "quotes_none",
    {"x + w: second": "None"},
    en="It looks as if `None` stands in quotes. A pass that runs gives `None` itself, not a word.",
    ru="Похоже, что `None` записан в кавычках. Если проход выполнился, получается сам `None`, а не слово.",
)
