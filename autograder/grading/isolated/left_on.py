"""What stands between a call and torch though no name is replaced: modes, tracing, import hooks, handlers, threads."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` makes enums of, 64 times for each look
import asyncio
import os
import signal
import sys
import threading
from typing import Any

from torch.overrides import _get_current_function_mode_stack
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from .channel import pin


class LeftOn:
    """Made in the template: what is there then is not a submission's."""

    def __init__(self) -> None:
        self._finders, self._handlers, self._threads = list(sys.meta_path), _handlers(), _links()
        pin(self)

    def now(self) -> list[str]:
        ways = {
            "a TorchFunctionMode is left on": bool(_get_current_function_mode_stack()),
            "a TorchDispatchMode is left on": bool(_get_current_dispatch_mode_stack()),
            "sys.settrace": sys.gettrace() is not None,
            "sys.setprofile": sys.getprofile() is not None,
            "sys.meta_path": sys.meta_path[: len(self._finders)] != self._finders,
            "a signal handler is left on": _handlers() != self._handlers,
            "a thread is left running": _links() > self._threads and _started() > 0,
        }
        return [name for name, holds in ways.items() if holds]


_SIGNALS = tuple(map(int, signal.valid_signals()))


def _links() -> int:
    """As many as threads of this process, and a constant."""
    return os.stat("/proc/self/task").st_nlink


def _started() -> int:
    """How many threads run beside the main one, without the event loop that IPython starts for `%%bash` and keeps."""
    loop = asyncio.BaseEventLoop.run_forever.__code__
    targets = [getattr(thread, "_target", None) for thread in threading.enumerate()]
    return len(os.listdir("/proc/self/task")) - 1 - any(getattr(each, "__code__", None) is loop for each in targets)


def _handlers() -> list[Any]:
    """The functions that signals call: with the frame that they interrupt."""
    return [found for number in _SIGNALS if callable(found := _signal.getsignal(number))]
