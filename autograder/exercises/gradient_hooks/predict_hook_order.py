"""Core exercise: predictions about the moments at which hooks run."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("When a hook sees what", "Когда и что видит хук"),
    kind="predict",
    core=True,
    difficulty=2,
    minutes=10,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Walk backward: 5 arrives at `h`, its hooks run one after the other, then the gradient goes on to `w`. "
            "What does the second hook get?",
            "Пройдите назад: к `h` приходит 5, её хуки выполняются один за другим, потом градиент идёт к `w`. Что "
            "получит второй хук?",
        ),
        Text(
            "A tensor hook runs before anything is added to `.grad`; a post-accumulate hook runs after. "
            "`autograd.grad` adds nothing to `.grad`.",
            "Хук тензора выполняется раньше, чем градиент прибавлен к `.grad`, а post-accumulate — позже. Вызов "
            "`autograd.grad` к `.grad` ничего не прибавляет.",
        ),
        Text(
            "On the way: 5, then 50, then 150. In `w.grad` there was 100 before. A hook stays with the value that the "
            "tensor had when the hook was registered.",
            "По пути: 5, затем 50, затем 150. В `w.grad` до этого лежало 100. Хук остаётся с тем значением тензора, "
            "при котором он был зарегистрирован.",
        ),
    ],
)
def predict_hook_order(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_hook_order)}


predict_hook_order.wrong(
    "both_see_the_original",
    {"second hook on h": 5.0},
    en="You expected both hooks to get the gradient as it arrived. The second gets what the first returned.",
    ru="Вы ожидали, что оба хука получат градиент таким, каким он пришёл. Но второй получает то, что вернул первый.",
)


predict_hook_order.wrong(
    "last_hook_first",
    {"first hook on h": 50.0, "second hook on h": 5.0},
    en="You expected the hook registered last to run first. Hooks run in the order of their registration.",
    ru="Вы ожидали, что первым выполнится последний хук. Но хуки выполняются в порядке регистрации.",
)


predict_hook_order.wrong(
    "retains_before_hooks",
    {"h.grad": 5.0},
    en="You expected `retain_grad()` to keep the gradient from before the hooks, since it was called first. It keeps "
    "what is left after all of them.",
    ru="Вы ожидали, что `retain_grad()` сохранит градиент до хуков, раз этот вызов стоит раньше. Но сохраняется то, "
    "что получилось после всех хуков.",
)


predict_hook_order.wrong(
    "only_watches",
    {"second hook on h": 5.0, "h.grad": 5.0, "hook on w": 15.0, "w.grad in the post-accumulate hook": 115.0},
    en="You expected a returned value to be ignored. What a hook returns takes the gradient's place from there on.",
    ru="Вы ожидали, что возвращённое значение ни на что не влияет. Но оно занимает место градиента на всём остальном "
    "пути.",
)


predict_hook_order.wrong(
    "hook_gets_the_sum",
    {"hook on w": 250.0},
    en="You expected the hook on `w` to get the accumulated sum. A tensor hook gets this pass's gradient alone.",
    ru="Вы ожидали, что хук на `w` получит накопленную сумму. Но хук тензора получает градиент только этого прохода.",
)


predict_hook_order.wrong(
    "accumulated_before_the_hook",
    {"w.grad in the hook on w": 250.0},
    en="You expected `.grad` to be complete when the hook on `w` runs. The gradient is added after the hook, because "
    "the hook may still change it.",
    ru="Вы ожидали, что при выполнении хука на `w` поле `.grad` уже готово. Но градиент прибавляется после хука, "
    "потому что хук ещё может его изменить.",
)


predict_hook_order.wrong(
    "post_hook_sees_this_pass",
    {"w.grad in the post-accumulate hook": 150.0},
    en="You expected this pass's gradient alone in `.grad`. The 100 from before is in the sum.",
    ru="Вы ожидали, что в `.grad` лежит градиент только этого прохода. Но в сумму входит и прежняя 100.",
)


predict_hook_order.wrong(
    "once_for_each_use",
    {"calls of the hook on w, used twice": 2},
    en="You expected one call for each use of `w`. The gradients of all uses are added first, and the hook gets their "
    "sum, once.",
    ru="Вы ожидали по одному вызову на каждое использование `w`. Но сначала складываются градиенты всех путей, и хук "
    "получает их сумму один раз.",
)


predict_hook_order.wrong(
    "grad_runs_no_hooks",
    {"hook on w runs in autograd.grad": False},
    en="You expected `autograd.grad` to run no hooks. It runs the tensor hooks on its way; only `.grad` is left alone.",
    ru="Вы ожидали, что `autograd.grad` не вызывает хуков. Но хуки тензоров на пути он вызывает; не меняется только "
    "`.grad`.",
)


predict_hook_order.wrong(
    "grad_runs_all_hooks",
    {"post-accumulate hook runs in autograd.grad": True},
    en="You expected `autograd.grad` to run the post-accumulate hook. It accumulates nothing, so there is no moment "
    "after the accumulation.",
    ru="Вы ожидали, что `autograd.grad` вызовет хук post-accumulate. Но он ничего не накапливает, поэтому момента "
    "«после накопления» нет.",
)


predict_hook_order.wrong(
    "hook_follows_the_name",
    {"hook before h.mul_(4)": 1.0},
    en="You expected the hook to follow `h` through the in-place change. It stays with the value from before it.",
    ru="Вы ожидали, что хук последует за `h` через изменение на месте. Но он остаётся с прежним значением.",
)
