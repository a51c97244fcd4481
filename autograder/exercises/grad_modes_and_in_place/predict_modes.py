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
            "Спросите о каждой строке: какой режим включён в этот момент и что делает строка — создаёт новый "
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
    en="You expected the line `torch.no_grad()` alone to switch recording off. It makes a context manager and throws "
    "it away; only `with` enters it.",
    ru="Вы ожидали, что строка `torch.no_grad()` сама выключит запись. Но она лишь создаёт контекстный менеджер и тут "
    "же его теряет; действует он только после `with`.",
)


predict_modes.wrong(
    "old_results_lose_the_flag",
    {"h under no_grad": False},
    en="You expected `h` to lose its flag inside `no_grad()`. `h` was recorded before the block; the mode is about "
    "operations that run inside.",
    ru="Вы ожидали, что внутри `no_grad()` тензор `h` потеряет флаг. Но `h` записан до блока, а режим касается только "
    "операций, которые выполняются внутри.",
)


predict_modes.wrong(
    "factories_lose_the_flag",
    {"torch.ones(2, requires_grad=True) under no_grad": False},
    en="You expected `no_grad()` to overrule `requires_grad=True`. A factory function makes a leaf, records nothing, "
    "and sets the flag it was asked for.",
    ru="Вы ожидали, что режим `no_grad()` окажется сильнее, чем `requires_grad=True`. Но функция, создающая тензор, "
    "создаёт лист, ничего не записывает и выставляет запрошенный флаг.",
)


predict_modes.wrong(
    "backward_is_refused",
    {"loss.backward() under no_grad": "RuntimeError"},
    en="A backward pass was taken to need recording. It walks a graph that is there already, and records nothing "
    "itself.",
    ru="Вы ожидали здесь ошибку, но обратный проход идёт по уже готовому графу и сам ничего не записывает.",
)


predict_modes.wrong(
    "no_grad_wins",
    {"w * 2, enable_grad in no_grad": False},
    en="You expected the outer `no_grad()` to win. The innermost block decides: `enable_grad()` switches recording on "
    "again.",
    ru="Не учтено, что решает самый внутренний блок: `enable_grad()` снова включает запись внутри `no_grad()`.",
)


predict_modes.wrong(
    "enable_grad_wins",
    {"w * 2, enable_grad in inference_mode": True},
    en="You expected `enable_grad()` to end `inference_mode()`. Inside that block nothing is recorded, whatever the "
    "grad mode.",
    ru="Вы ожидали, что `enable_grad()` отменит режим `inference_mode()`. Но внутри этого блока ничего не "
    "записывается, каким бы ни был режим градиентов.",
)


predict_modes.wrong(
    "eval_switches_off",
    {"net(x) after net.eval()": False},
    en="`eval()` was taken to switch recording off. It only changes what layers such as dropout do; the graph is built "
    "as before.",
    ru="Вызов `eval()` принят за выключение записи. Но он лишь меняет поведение слоёв вроде dropout, а граф строится "
    "как прежде.",
)


predict_modes.wrong(
    "inference_is_always_refused",
    {"f + w": "RuntimeError"},
    en="You expected every use of an inference tensor in training to fail. Addition saves nothing for backward, so it "
    "passes; that is why the error comes and goes.",
    ru="Вы ожидали здесь ошибку, но сложение ничего не сохраняет для обратного прохода. Поэтому с inference-тензором "
    "ошибка возникает не всегда.",
)


predict_modes.wrong(
    "inference_is_a_constant",
    {"f * w": "accepted"},
    en="An inference tensor was taken for an ordinary constant. The product must save `f` for the gradient of `w`, and "
    "an inference tensor may not be saved.",
    ru="Inference-тензор принят за обычную константу. Но произведение должно сохранить `f` ради градиента `w`, а "
    "сохранять inference-тензор нельзя.",
)


predict_modes.wrong(
    "inference_can_be_edited",
    {"f.add_(1)": "accepted"},
    en="You expected an edit of an inference tensor to pass. It has no version counter, so torch refuses in-place "
    "edits outside `inference_mode()`.",
    ru="Не учтено, что у inference-тензора нет счётчика версий: вне `inference_mode()` менять его на месте запрещено.",
)


predict_modes.wrong(
    "a_flag_for_an_attempt",
    {"f + w": True},
    en='True or False stands in a row where something is tried. The answer in such a row is `"accepted"` or '
    '`"RuntimeError"`.',
    ru='True или False стоит в строке, где пробуют выполнить действие. Ответ в таких строках — `"accepted"` или '
    '`"RuntimeError"`.',
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
    en="The clone was taken for an inference tensor. A clone made outside the mode is an ordinary tensor.",
    ru="Копия принята за inference-тензор. Но если она сделана вне режима, это обычный тензор.",
)
