"""Explanations about `no_grad`, `inference_mode` and what is made under them."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import names_attribute

LESSON = "04_grad_modes_and_in_place"

ENTRIES = (
    entry(
        "no_grad_without_parentheses",
        LESSON,
        r"'type' object does not support the context manager protocol|'(type|function|builtin_function_or_method)' object does not support the (asynchronous )?context manager",
        """
        with torch.no_grad:
            pass
        """,
        "`torch.no_grad` is a class, and the context is its instance: write the parentheses, `with torch.no_grad():`.",
        "`torch.no_grad` — это класс, а контекст — его экземпляр: пишите скобки, `with torch.no_grad():`.",
        exercise="evaluate",
        fits=names_attribute("no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "detect_anomaly"),
    ),
    entry(
        "set_grad_enabled_without_a_value",
        LESSON,
        r"set_grad_enabled\.__init__\(\) missing 1 required positional argument",
        """
        with torch.set_grad_enabled():
            pass
        """,
        "`set_grad_enabled` has to be told which: `with torch.set_grad_enabled(False):`, or `training` in place of a constant.",
        "`set_grad_enabled` нужно значение: `with torch.set_grad_enabled(False):` или переменная `training` вместо константы.",
        exercise="predict_modes",
    ),
    entry(
        "view_from_no_grad",
        LESSON,
        r"A view was created in (no_grad|inference) mode and is being modified inplace",
        """
        x = torch.rand(2, requires_grad=True) * 1
        with torch.no_grad():
            view = x[:1]
        view.mul_(2)
        """,
        "The view was taken under `no_grad()` or `inference_mode()` and changed outside of it, so torch cannot tell whether to track the change. Do both inside, or both outside.",
        "Представление создано внутри `no_grad()` или `inference_mode()`, а изменено снаружи, и torch не может решить, отслеживать ли изменение. Делайте и то и другое внутри либо и то и другое снаружи.",
        exercise="predict_modes",
    ),
    entry(
        "inference_tensor",
        LESSON,
        r"Inference tensors cannot be saved for backward|on inference tensor outside InferenceMode|update to inference tensor outside InferenceMode|Inference tensors do not track version counter",
        """
        with torch.inference_mode():
            features = torch.rand(2)
        torch.rand(2, requires_grad=True) * features
        """,
        "A tensor made under `inference_mode()` can never take part in a tracked computation, and has no version counter. `clone()` it outside, or use `no_grad()` instead.",
        "Тензор, созданный внутри `inference_mode()`, не может участвовать в отслеживаемом вычислении, и счётчика версий у него нет. Сделайте снаружи `clone()` или возьмите `no_grad()`.",
        exercise="predict_modes",
    ),
)
