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
predict_traces.wrong("the_right_sign_1", {"w[0] after step 1": 0.12}, *predict_traces.mistakes["the_right_sign"].says)
predict_traces.wrong("the_right_sign_2", {"w[2] at the end": 0.475}, *predict_traces.mistakes["the_right_sign"].says)


predict_traces.wrong(
    "step_size_once",
    {"w[0] after step 1": 0.06, "w[2] at the end": -0.05},
    en="You counted the step size once. It is in `p.grad` already, and the optimizer multiplies by its own `lr` again.",
    ru="Размер шага учтён один раз. Но в `p.grad` он уже есть, а оптимизатор умножает ещё и на свой `lr`.",
)
predict_traces.wrong("step_size_once_1", {"w[0] after step 1": 0.06}, *predict_traces.mistakes["step_size_once"].says)
predict_traces.wrong("step_size_once_2", {"w[2] at the end": -0.05}, *predict_traces.mistakes["step_size_once"].says)


predict_traces.wrong(
    "plain_td",
    {"w[0] after step 1": 0.14, "w[2] at the end": 0.65},
    en="This is what TD(λ) itself would give. The code subtracts the update, and multiplies by the step size twice.",
    ru="Так было бы в настоящем TD(λ). А в этом коде обновление вычитается и умножается на размер шага дважды.",
)
predict_traces.wrong("plain_td_1", {"w[0] after step 1": 0.14}, *predict_traces.mistakes["plain_td"].says)
predict_traces.wrong("plain_td_2", {"w[2] at the end": 0.65}, *predict_traces.mistakes["plain_td"].says)


predict_traces.wrong(
    "backward_overwrites",
    {"p.grad[0] after the second backward": 0.0},
    en="You expected only the new gradient in `p.grad` after the second `backward()`. Nothing has cleared `p.grad`, and "
    "`backward()` adds to it, here 0 to 0.04.",
    ru="Вы ожидали, что после второго `backward()` в `p.grad` останется только новый градиент. Но `p.grad` никто не "
    "обнулил, а `backward()` к нему прибавляет: здесь 0 к 0.04.",
)


predict_traces.wrong(
    "adds_one_again",
    {"p.grad[0] after the second backward": 1.04, "trace[0] after step 2": 1.76},
    en="You let the second `backward()` add 1 to `p.grad[0]`. It adds the gradient of the second value, and that is 1 for the "
    "second weight and 0 for the first.",
    ru="У вас второй `backward()` прибавляет 1 к `p.grad[0]`. Но прибавляется градиент второй ценности, а он равен 1 "
    "для второго веса и 0 для первого.",
)
predict_traces.wrong(
    "adds_one_again_1", {"p.grad[0] after the second backward": 1.04}, *predict_traces.mistakes["adds_one_again"].says
)
predict_traces.wrong(
    "adds_one_again_2", {"trace[0] after step 2": 1.76}, *predict_traces.mistakes["adds_one_again"].says
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
    "subtracts_the_rest",
    {"trace[0] after step 2": 0.68},
    en="You subtracted the update that was left in `p.grad` from the trace. It is 0.04, with a plus, and the trace adds it.",
    ru="Вы вычли из следа обновление, оставшееся в `p.grad`. Но оно равно 0.04, со знаком плюс, и к следу прибавляется.",
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


predict_traces.wrong(
    "step_size_left_out",
    {"p.grad[0] after step 1": 0.08},
    en="You left out the step size: `p.grad` becomes `alpha * delta * trace`, here 0.5 · 0.08 · 1.",
    ru="Вы не учли размер шага: в `p.grad` записывается `alpha * delta * trace`, здесь 0.5 · 0.08 · 1.",
)


predict_traces.wrong(
    "keeps_the_old_gradient",
    {"p.grad[0] after the second backward": 1.0},
    en="You expected the gradient of the first step in `p.grad`, which was 1. The last line of that step has overwritten it "
    "with the update.",
    ru="Вы ожидали, что в `p.grad` лежит градиент первого шага, равный 1. Но последняя строка того шага записала на его "
    "место обновление.",
)


predict_traces.wrong(
    "trace_of_lambda",
    {"trace[0] after step 2": 0.84},
    en="You let the trace decay by λ alone: 0.8 + 0.04. The factor is γλ, here 0.9 · 0.8.",
    ru="У вас след затухает только на λ: 0.8 + 0.04. Но множитель — γλ, здесь 0.9 · 0.8.",
)


predict_traces.wrong(
    "trace_without_decay",
    {"trace[0] after step 2": 1.04},
    en="You let the trace stay as it was: 1 + 0.04. It decays first, by 0.9 · 0.8.",
    ru="У вас след не затухает: 1 + 0.04. Но сначала он умножается на 0.9 · 0.8.",
)
