"""Extra exercise: predictions about conversion to and from NumPy."""

from __future__ import annotations

from typing import Any

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
            "О каждом вызове спросите: он копирует или даёт второе имя той же памяти?",
        ),
        Text(
            "`from_numpy` and `numpy()` share, `torch.tensor` copies. NumPy knows nothing of version counters.",
            "У `from_numpy` и `numpy()` память общая, `torch.tensor` копирует. О счётчиках версий NumPy ничего не знает.",
        ),
        Text(
            "NumPy's default is float64, and the bridge keeps the dtype. `numpy()` asks one question only: would the "
            "array hide a history that is being recorded?",
            "В NumPy по умолчанию float64, и при преобразовании dtype сохраняется. `numpy()` проверяет одно: не "
            "пройдут ли действия с массивом мимо графа, который сейчас записывается?",
        ),
    ],
)
def predict_bridge(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_bridge)}


predict_bridge.wrong(
    "bridge_makes_float32",
    {"torch.from_numpy(array).dtype": "torch.float32"},
    en="It looks as if `from_numpy` made float32. It keeps the array's dtype, and NumPy's default is float64.",
    ru="Похоже, вы считаете, что `from_numpy` даёт float32. На самом деле он сохраняет dtype массива, а в NumPy по "
    "умолчанию float64.",
)


predict_bridge.wrong(
    "from_numpy_copies",
    {"shared[0] after array[0] = 5": 1.0},
    en="It looks as if `from_numpy` copied. It is a second name for the array's memory.",
    ru="Похоже, вы считаете, что `from_numpy` копирует. На самом деле он даёт тензор с той же памятью.",
)


predict_bridge.wrong(
    "torch_tensor_shares",
    {"copied[0] after array[0] = 5": 5.0},
    en="It looks as if `torch.tensor(array)` shared the memory. It always copies.",
    ru="Похоже, вы считаете, что у `torch.tensor(array)` и массива общая память. На самом деле он всегда копирует.",
)


predict_bridge.wrong(
    "to_numpy_copies",
    {"c[0] after c.numpy()[0] = 7": 1.0},
    en="It looks as if `numpy()` gave a copy. An edit of the array is an edit of the tensor.",
    ru="Похоже, вы считаете, что `numpy()` даёт копию. На самом деле память общая: меняется массив — меняется и "
    "тензор.",
)


predict_bridge.wrong(
    "numpy_always_needs_detach",
    {"c[0] after c.numpy()[0] = 7": "RuntimeError"},
    en="It looks as if every conversion needs `detach()`. A constant has no history to hide.",
    ru="Похоже, вы считаете, что `detach()` нужен при любом преобразовании. На самом деле константе он не нужен: у "
    "неё нет истории.",
)


predict_bridge.wrong(
    "tracked_converts",
    {"w.numpy()": "accepted"},
    en="It looks as if a tensor that requires grad converts silently. Torch refuses: the array would leave the graph "
    "without a word.",
    ru="Похоже, вы считаете, что тензор, который требует градиента, преобразуется без возражений. На самом деле "
    "torch это запрещает: действия с массивом незаметно прошли бы мимо графа.",
)


predict_bridge.wrong(
    "no_grad_is_refused",
    {"w.numpy() under no_grad": "RuntimeError"},
    en="It looks as if `no_grad()` made no difference to `numpy()`. Inside it nothing is recorded, so there is nothing "
    "to refuse.",
    ru="Похоже, вы считаете, что `no_grad()` для `numpy()` ничего не меняет. На самом деле внутри него ничего не "
    "записывается, и запрещать нечего.",
)


predict_bridge.wrong(
    "tolist_is_refused",
    {"w.tolist()": "RuntimeError"},
    en="It looks as if `tolist()` needed `detach()`. It copies the numbers out and is allowed.",
    ru="Похоже, вы считаете, что для `tolist()` нужен `detach()`. На самом деле этот метод копирует числа в список "
    "Python, и это разрешено.",
)


predict_bridge.wrong(
    "detach_copied",
    {"w[0] after w.detach().numpy()[0] = 9": 1.0},
    en="It looks as if `detach()` had made a copy before the edit. It is the leaf's own memory that was edited.",
    ru="Похоже, вы считаете, что `detach()` перед изменением делает копию. На самом деле изменена память самого листа.",
)


predict_bridge.wrong(
    "numpy_is_counted",
    {"w._version": 1},
    en="It looks as if an edit through NumPy was counted. The version counter belongs to torch; NumPy writes past it.",
    ru="Похоже, вы считаете, что изменение через NumPy учтено счётчиком. На самом деле счётчик версий ведёт torch, а "
    "NumPy пишет мимо него.",
)
