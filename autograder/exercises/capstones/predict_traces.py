"""Core exercise: predictions about a published update with eligibility traces."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Traces through `p.grad`", "Следы через `p.grad`"),
    kind="predict",
    core=True,
    minutes=7,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`p.grad` is overwritten at the end of a step. What does the next `v.backward()` do with it?",
            "В конце шага в `p.grad` записано обновление. Что сделает с ним следующий `v.backward()`?",
        ),
        Text(
            "`optimizer.step()` of SGD subtracts `lr` times `p.grad`. How often has 0.5 been multiplied in by then, and "
            "with which sign?",
            "Метод `optimizer.step()` у SGD вычитает `p.grad`, умноженный на `lr`. Сколько раз к этому моменту значение "
            "умножено на 0.5 и с каким знаком?",
        ),
        Text(
            "Step 1: $\\delta = 0 + 0.9 \\cdot 0.2 - 0.1$, the trace is (1, 0, 0), `p.grad` becomes $0.5 \\delta$ times "
            "the trace. Step 2 begins with that in `p.grad`.",
            "Шаг 1: $\\delta = 0 + 0.9 \\cdot 0.2 - 0.1$, след равен (1, 0, 0), в `p.grad` попадает след, умноженный на "
            "$0.5 \\delta$. С этим содержимым `p.grad` начинается шаг 2.",
        ),
    ],
)
def predict_traces(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_traces)}


predict_traces.wrong(
    "the_right_sign",
    {"w[0] after step 1": 0.12, "w[2] at the end": 0.475},
    en="You expected the step to add the update. SGD subtracts what is in `p.grad`.",
    ru="Вы ожидали, что на шаге обновление прибавится. Но SGD вычитает то, что лежит в `p.grad`.",
)


predict_traces.wrong(
    "step_size_once",
    {"w[0] after step 1": 0.06, "w[2] at the end": -0.05},
    en="You counted the step size once. It is in `p.grad` already, and the optimizer multiplies by its own `lr` again.",
    ru="Размер шага учтён один раз. Но в `p.grad` он уже есть, а оптимизатор умножает ещё и на свой `lr`.",
)


predict_traces.wrong(
    "plain_td",
    {"w[0] after step 1": 0.14, "w[2] at the end": 0.65},
    en="These are the weights of TD(λ) itself. The code subtracts the update, and multiplies by the step size twice.",
    ru="Это веса настоящего TD(λ). А в этом коде обновление вычитается и умножается на размер шага дважды.",
)


predict_traces.wrong(
    "backward_overwrites",
    {"p.grad[0] after the second backward": 0.0},
    en="You expected the second `backward()` to replace what is in `p.grad`. It adds to it, here 0 to 0.04.",
    ru="Вы ожидали, что второй `backward()` заменит содержимое `p.grad`. Но он к нему прибавляет: здесь 0 к 0.04.",
)


predict_traces.wrong(
    "clean_trace",
    {"trace[0] after step 2": 0.72},
    en="You expected the trace of the first state to decay to 0.9 · 0.8 = 0.72. It has swallowed the update that was left "
    "in `p.grad` as well.",
    ru="Вы ожидали, что след первого состояния затухнет до 0.9 · 0.8 = 0.72. Но в него вошло ещё и обновление, "
    "оставшееся в `p.grad`.",
)


predict_traces.wrong(
    "step_clears",
    {"p.grad[0] after step 1": 0.0},
    en="You expected `optimizer.step()` to clear `p.grad`. It only reads it.",
    ru="Вы ожидали, что `optimizer.step()` обнулит `p.grad`. Но он его только читает.",
)


predict_traces.wrong(
    "backward_left_alone",
    {"p.grad[0] after step 1": 1.0},
    en="You expected the gradient of `v` in `p.grad`. The last line of the step has put the update there.",
    ru="Вы ожидали, что в `p.grad` лежит градиент `v`. Но последняя строка шага записала туда обновление.",
)
