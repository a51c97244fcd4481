"""Core exercise: predictions about grad modes."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("What the modes let happen", "Что разрешает каждый режим"),
    kind="predict",
    core=True,
    minutes=10,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Ask of each line: which mode is on at that moment, and does the line make a new result or use an old one?",
            "Спросите о каждой строке: какой режим включён в этот момент и что делает строка — создаёт новый "
            "результат или берёт старый?",
        ),
        Text(
            "`no_grad` stops the recording of new operations and nothing else. `inference_mode` also marks what is "
            "made inside. `eval` is a switch of layers.",
            "`no_grad` отключает запись новых операций в граф, и больше ничего. `inference_mode` вдобавок помечает "
            "всё, что создано внутри. `eval` переключает слои.",
        ),
        Text(
            "An inference tensor is refused where it would be saved for backward or edited: a product saves a "
            "factor when the other one requires grad, a sum saves nothing.",
            "Inference-тензор отвергают там, где его пришлось бы сохранить для обратного прохода или изменить: "
            "произведение сохраняет множитель, если другой требует градиента, сумма не сохраняет ничего.",
        ),
    ],
)
def predict_modes(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_modes)}


predict_modes.wrong(
    "a_bare_line_switches",
    {"w * 2 after a line torch.no_grad()": False},
    en="It looks as if the line `torch.no_grad()` alone switched something off. It makes a context manager and throws "
    "it away; only `with` enters it.",
    ru="Похоже, вы считаете, что строка `torch.no_grad()` сама что-то выключает. На самом деле она создаёт менеджер "
    "контекста и тут же его теряет; действует он только после `with`.",
)


predict_modes.wrong(
    "old_results_lose_the_flag",
    {"h under no_grad": False},
    en="It looks as if `no_grad()` took the flag away from `h`. `h` was recorded before the block; the mode is about "
    "operations that run inside.",
    ru="Похоже, вы считаете, что `no_grad()` снимает флаг с `h`. На самом деле `h` записан до блока, а режим касается "
    "операций, которые выполняются внутри.",
)


predict_modes.wrong(
    "factories_lose_the_flag",
    {"torch.ones(2, requires_grad=True) under no_grad": False},
    en="It looks as if `no_grad()` overruled `requires_grad=True`. A factory function makes a leaf, records nothing, "
    "and sets the flag it was asked for.",
    ru="Похоже, вы считаете, что `no_grad()` сильнее, чем `requires_grad=True`. На самом деле функция, создающая "
    "тензор, создаёт лист, ничего не записывает в граф и ставит тот флаг, о котором её попросили.",
)


predict_modes.wrong(
    "backward_is_refused",
    {"loss.backward() under no_grad": "RuntimeError"},
    en="It looks as if a backward pass was thought to need recording. It walks a graph that is there already, and "
    "records nothing itself.",
    ru="Похоже, вы считаете, что обратному проходу нужна включённая запись. На самом деле он идёт по уже готовому "
    "графу и сам ничего не записывает.",
)


predict_modes.wrong(
    "no_grad_wins",
    {"w * 2, enable_grad in no_grad": False},
    en="It looks as if the outer `no_grad()` won. The innermost of the two decides: `enable_grad()` switches recording "
    "on again.",
    ru="Похоже, вы считаете, что побеждает внешний `no_grad()`. На самом деле решает самый внутренний блок: "
    "`enable_grad()` снова включает запись.",
)


predict_modes.wrong(
    "enable_grad_wins",
    {"w * 2, enable_grad in inference_mode": True},
    en="It looks as if `enable_grad()` was expected to end `inference_mode()`. It does not: inside that block nothing "
    "is recorded, whatever grad mode says.",
    ru="Похоже, вы считаете, что `enable_grad()` отменяет `inference_mode()`. На самом деле внутри этого блока ничего "
    "не записывается, каким бы ни был режим градиентов.",
)


predict_modes.wrong(
    "eval_switches_off",
    {"net(x) after net.eval()": False},
    en="It looks as if `eval()` switched recording off. It tells layers such as dropout how to behave; the graph is "
    "built as before.",
    ru="Похоже, вы считаете, что `eval()` выключает запись. На самом деле он говорит слоям вроде dropout, как себя "
    "вести; граф строится как прежде.",
)


predict_modes.wrong(
    "inference_is_always_refused",
    {"f + w": "RuntimeError"},
    en="It looks as if every use of an inference tensor in training was expected to fail. Addition saves nothing for "
    "backward, so it passes; that is what makes the error come and go.",
    ru="Похоже, вы считаете, что любое использование inference-тензора при обучении — ошибка. На самом деле сложение "
    "ничего не сохраняет для обратного прохода, поэтому ошибка возникает не всегда.",
)


predict_modes.wrong(
    "inference_is_a_constant",
    {"f * w": "accepted"},
    en="It looks as if an inference tensor was taken for any constant. The product must save `f` for the gradient of "
    "`w`, and an inference tensor may not be saved.",
    ru="Похоже, вы считаете, что inference-тензор — обычная константа. На самом деле произведение должно сохранить `f` "
    "ради градиента `w`, а inference-тензор сохранять нельзя.",
)


predict_modes.wrong(
    "inference_can_be_edited",
    {"f.add_(1)": "accepted"},
    en="It looks as if an inference tensor could be edited later. It has no version counter, so torch refuses "
    "in-place edits outside `inference_mode()`.",
    ru="Похоже, вы считаете, что inference-тензор можно потом изменить на месте. На самом деле у него нет счётчика "
    "версий, и вне `inference_mode()` torch такие изменения запрещает.",
)


predict_modes.wrong(
    "a_flag_for_an_attempt",
    {"f + w": True},
    en='It looks as if a flag was put where something is tried. There the answer is `"accepted"` or `"RuntimeError"`.',
    ru='Похоже, что флаг поставлен там, где что-то пробуют сделать. Там ответ — `"accepted"` или `"RuntimeError"`.',
)


predict_modes.wrong(
    "a_flag_for_backward",
    {"loss.backward() under no_grad": True},
    *predict_modes.mistakes["a_flag_for_an_attempt"].says,
)


predict_modes.wrong(
    "a_flag_for_a_clone", {"f.clone() * w": True}, *predict_modes.mistakes["a_flag_for_an_attempt"].says
)


predict_modes.wrong("a_flag_for_a_product", {"f * w": False}, *predict_modes.mistakes["a_flag_for_an_attempt"].says)


predict_modes.wrong("a_flag_for_an_edit", {"f.add_(1)": False}, *predict_modes.mistakes["a_flag_for_an_attempt"].says)


predict_modes.wrong(
    "clones_stay_marked",
    {"f.clone() * w": "RuntimeError"},
    en="It looks as if a clone stayed an inference tensor. A clone made outside of the mode is an ordinary tensor.",
    ru="Похоже, вы считаете, что копия остаётся inference-тензором. На самом деле копия, сделанная вне режима, — "
    "обычный тензор.",
)
