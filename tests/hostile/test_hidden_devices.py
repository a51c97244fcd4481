"""Answers that mix devices and hide it from the pretended one."""

from __future__ import annotations

import pytest
import torch

from autograder import exercises
from autograder.checking.exercise import PUBLIC_SEED
from autograder.checking.judge import judge
from autograder.checking.observe import observe
from autograder.grading.conspicuous.code_reader import KnownNames, read_code
from autograder.grading.conspicuous.protected_names import is_protected

_MIXED = """
def mixed(x, a):
    rows = [x[0]]
    for t in range(1, len(x)):
        rows.append(a * rows[-1] + (1 - a) * x[t])
    return torch.stack(rows) + torch.zeros(x.shape, dtype=x.dtype)
"""
_WITHOUT_MODES = """
    from torch.utils._python_dispatch import _disable_current_modes
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch(), _disable_current_modes():
        y = mixed(x, a)
    return {result}
"""

REFUSED = {
    "not hidden": "    return mixed(x, a)",
    "another result there": "    return 0 * x if x.is_cuda else mixed(x, a)",
    "nothing there": "    return None if x.is_cuda else mixed(x, a)",
    "the error caught": "    try:\n        return mixed(x, a)\n    except RuntimeError:\n        return 0 * x",
    "a thread": """
    import threading
    found = []
    thread = threading.Thread(target=lambda: found.append(mixed(x, a)))
    thread.start()
    thread.join()
    return torch.empty_like(x).copy_(found[0])""",
    "no dispatch": "    with torch._C._DisableTorchDispatch():\n        return mixed(x, a)",
    "no modes": _WITHOUT_MODES.format(result="y"),
    "no modes, and a move": _WITHOUT_MODES.format(result="y.to(x.device)"),
    "modes taken off and put back": """
    dispatch, functions = [], []
    while torch._C._len_torch_dispatch_stack():
        dispatch.append(torch._C._pop_torch_dispatch_stack(None))
    while torch._C._len_torch_function_stack():
        functions.append(torch._C._pop_torch_function_stack())
    y = mixed(x, a)
    for mode in reversed(dispatch):
        torch._C._push_on_torch_dispatch_stack(mode)
    for mode in reversed(functions):
        torch._C._push_on_torch_function_stack(mode)
    return y""",
}
SHOWN = {
    "no functions": "    with torch._C.DisableTorchFunction():\n        return mixed(x, a)",
    "no modes, and a copy": _WITHOUT_MODES.format(result="torch.empty_like(x).copy_(y)"),
}


def gain(source: str) -> float:
    """Return the points that an answer gets beyond those of an answer that does not hide its mixture."""
    exercise = exercises.load("grad_modes_and_in_place")["smooth"]
    names: dict[str, object] = {"torch": torch}
    exec(source, names)
    runs = (observe(exercise, names[name], PUBLIC_SEED) for name in ("smooth", "mixed"))
    hidden, plain = (judge(exercise, run, exercises.key_of(exercise).expected).points for run in runs)
    return hidden - plain


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_a_hidden_mixture_does_not_pay(body: str) -> None:
    assert gain(f"{_MIXED}\ndef smooth(x, a):\n{body}\n") <= 0


@pytest.mark.parametrize("body", SHOWN.values(), ids=SHOWN)
def test_what_takes_the_pretended_device_away_pays_and_is_shown(body: str) -> None:
    source = f"{_MIXED}\ndef smooth(x, a):\n{body}\n"
    known = KnownNames(lambda top: False, is_protected)
    assert gain(source) > 0
    assert read_code(compile(f"import torch\n{source}", "<cell>", "exec"), known)
