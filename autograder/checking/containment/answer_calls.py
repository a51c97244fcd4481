"""Answers with something around each of their calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def can_be_called(answer: object) -> bool:
    """Return whether calls of an answer can be replaced: it is a function or a custom Function."""
    return callable(answer) and (not isinstance(answer, type) or issubclass(answer, torch.autograd.Function))


def with_calls(answer: Any, replaced: Callable[[Callable[..., object]], Callable[..., object]]) -> Any:
    """Return an answer that is called by `replaced(call)`, where `call` is its own function.

    Of a custom Function it is `apply`, and the result is a class derived from it.
    """
    if not isinstance(answer, type):
        return replaced(answer)
    return type(answer.__name__, (answer,), {"apply": staticmethod(replaced(answer.apply))})  # type: ignore[attr-defined]
