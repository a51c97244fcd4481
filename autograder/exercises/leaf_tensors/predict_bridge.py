"""Extra exercise: predictions about conversion to and from NumPy."""

from __future__ import annotations

from typing import Any

import torch

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("The bridge to NumPy", "Тензоры и массивы NumPy"),
    kind="predict",
    minutes=6,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Of each call ask: does it copy, or give a second name to the same memory?",
            "О каждом вызове спросите: он создаёт копию или даёт второе имя той же памяти?",
        ),
        Text(
            "`from_numpy` and `numpy()` share, `torch.tensor` copies. NumPy knows nothing of version counters.",
            "У `from_numpy` и `numpy()` память общая, `torch.tensor` копирует. О счётчиках версий NumPy ничего не "
            "знает.",
        ),
        Text(
            "NumPy's default is float64, and the bridge keeps the dtype. `numpy()` asks one question only: would the "
            "array hide a history that is being recorded?",
            "В NumPy по умолчанию float64, и при преобразовании dtype сохраняется. Вызов `numpy()` проверяет одно: не "
            "пройдут ли действия с массивом мимо графа, который сейчас записывается?",
        ),
    ],
)
def predict_bridge(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_bridge)}


predict_bridge.wrong(
    "bridge_makes_float32",
    {"torch.from_numpy(array).dtype": "torch.float32"},
    en="You expected `from_numpy` to give float32. It keeps the array's dtype, and NumPy's default is float64.",
    ru="Вы ожидали, что функция `from_numpy` даст float32. Но она сохраняет dtype массива, а в NumPy по умолчанию "
    "float64.",
)


predict_bridge.wrong(
    "from_numpy_copies",
    {"shared[0] after array[0] = 5": 1.0},
    en="`from_numpy` was taken to copy. It gives a tensor with the array's own memory.",
    ru="Вы ожидали, что `from_numpy` копирует. Но эта функция даёт тензор с той же памятью, что у массива.",
)


predict_bridge.wrong(
    "torch_tensor_shares",
    {"copied[0] after array[0] = 5": 5.0},
    en="`torch.tensor(array)` was taken to share the array's memory. It always copies.",
    ru="Вы ожидали, что у `torch.tensor(array)` и массива общая память. Но эта функция всегда копирует.",
)


predict_bridge.wrong(
    "to_numpy_copies",
    {"c[0] after c.numpy()[0] = 7": 1.0},
    en="`numpy()` was taken to copy. The memory is shared: an edit of the array is an edit of the tensor.",
    ru="Вы ожидали, что `numpy()` копирует. Но память общая: меняется массив — меняется и тензор.",
)


predict_bridge.wrong(
    "numpy_always_needs_detach",
    {"c[0] after c.numpy()[0] = 7": "RuntimeError"},
    en="`detach()` was taken to be needed for every conversion. A constant does not need it: it has no history to "
    "hide.",
    ru="Не учтено, что константе вызов `detach()` не нужен: у неё нет истории.",
)


predict_bridge.wrong(
    "tracked_converts",
    {"w.numpy()": "accepted"},
    en="You expected a tensor that requires grad to convert. Torch refuses: what the array is used for would leave the "
    "graph without a word.",
    ru="Вы ожидали, что тензор, который требует градиента, преобразуется. Но torch это запрещает: действия с массивом "
    "незаметно прошли бы мимо графа.",
)


predict_bridge.wrong(
    "no_grad_is_refused",
    {"w.numpy() under no_grad": "RuntimeError"},
    en="You expected `numpy()` to be refused under `no_grad()` as well. Nothing is recorded there, so there is nothing "
    "to refuse.",
    ru="Вы ожидали, что внутри `no_grad()` вызов `numpy()` тоже закончится ошибкой. Но там ничего не записывается, и "
    "запрещать нечего.",
)


predict_bridge.wrong(
    "tolist_is_refused",
    {"w.tolist()": "RuntimeError"},
    en="You expected `tolist()` to need `detach()`. It copies the numbers out into a Python list, and that is allowed.",
    ru="Вы ожидали, что для `tolist()` нужен `detach()`. Но этот метод копирует числа в список Python, и это "
    "разрешено.",
)


predict_bridge.wrong(
    "detach_copied",
    {"w[0] after w.detach().numpy()[0] = 9": 1.0},
    en="`detach()` was taken to copy before the edit. It is the leaf's own memory that was edited.",
    ru="Вы ожидали, что `detach()` копирует. Но изменена память самого листа.",
)


predict_bridge.wrong(
    "numpy_is_counted",
    {"w._version": 1},
    en="The edit through NumPy was counted as a new version. The version counter belongs to torch, and NumPy writes "
    "past it.",
    ru="Изменение через NumPy прибавлено к счётчику версий. Но этот счётчик ведёт torch, а изменения через NumPy в "
    "него не попадают.",
)


predict_bridge.wrong(
    "leaves_the_module_out",
    {"torch.from_numpy(array).dtype": "float64"},
    en="The name of a dtype of torch begins with the module: `torch.float64`.",
    ru="Имя dtype в torch начинается с имени модуля: `torch.float64`.",
)


predict_bridge.wrong(
    "gives_the_dtype_itself",
    {"torch.from_numpy(array).dtype": torch.float64},
    en="The dtype itself stands there, without quotes. The function returns its name as text.",
    ru="Стоит сам dtype, без кавычек. А функция возвращает его имя в виде строки.",
)


predict_bridge.wrong(
    "expects_a_type_error",
    {"w.numpy()": "TypeError"},
    en="You expected a `TypeError`. Torch could convert the tensor and refuses to, with a `RuntimeError`.",
    ru="Вы ожидали `TypeError`. Но преобразовать тензор torch мог бы, только не хочет: это `RuntimeError`.",
)
