"""Helpers for the exercises on the engine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def run_in_thread(work: Callable[[], Any], name: str = "worker") -> Any:
    """Return what `work()` returns in a new thread. An exception of `work` is raised here."""
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["result"] = work()
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]
