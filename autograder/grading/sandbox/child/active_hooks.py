"""Detection of active hooks: torch modes, trace functions, import hooks, signal handlers.

An active hook can run student code during a check although no name was replaced.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` would make an enum of each result, 64 per check
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch._C import _len_torch_dispatch_stack, _len_torch_function_stack

from ..wire.channel import bind_methods

_SIGNALS = tuple(map(int, signal.valid_signals()))
_Handlers = dict[int, Callable[..., object]]


class ActiveHooks:
    """A detector of active hooks, created in the fork server.

    The import hooks at creation count as normal.
    """

    def __init__(self) -> None:
        self._finders, self._handlers = list(sys.meta_path), _handlers()
        bind_methods(self)

    @contextmanager
    def in_order(self) -> Iterator[None]:
        """Switch off a notebook's trace functions, import hooks and signal handlers in the `with` block.

        This is a context manager. At the end of the `with` block import hooks and signal handlers are restored. A trace
        or profile function stays off: otherwise it would see the grader's own stack frames.
        """
        sys.settrace(None)
        sys.setprofile(None)
        finders, handlers = sys.meta_path, _handlers()
        sys.meta_path = list(self._finders)
        for number in handlers.keys() | self._handlers.keys():
            _signal.signal(number, _signal.SIG_IGN if number == _signal.SIGINT else _signal.SIG_DFL)
        try:
            yield
        finally:
            sys.meta_path = finders
            for number in handlers.keys() | _handlers().keys():
                _signal.signal(number, handlers.get(number, _signal.SIG_DFL))

    def now(self) -> list[str]:
        """Return descriptions of the hooks that are active now. The list is empty if there are none.

        Must be called inside `in_order` and `as_in_a_fresh_process`, which switch off the notebook's hooks. A hook that
        is active there was therefore set by an answer during the check.
        """
        ways = {
            "a TorchFunctionMode is left on": _len_torch_function_stack() > 0,
            "a TorchDispatchMode is left on": _len_torch_dispatch_stack() > 0,
            "sys.settrace": sys.gettrace() is not None,
            "sys.setprofile": sys.getprofile() is not None,
            "sys.meta_path": sys.meta_path[: len(self._finders)] != self._finders,
            "a signal handler is left on": bool(_handlers()),
        }
        return [name for name, holds in ways.items() if holds]


def _handlers() -> _Handlers:
    """Return a dict from signal number to handler, for the signal handlers that are Python functions.

    The interpreter passes the interrupted stack frame to each handler.
    """
    return {number: found for number in _SIGNALS if callable(found := _signal.getsignal(number))}
