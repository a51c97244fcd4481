"""Plain data over a socket between the grader and one isolated child: JSON with its length in front, nothing else.

Whoever sits at the other end may send anything: what is too long or no JSON is an error here, and never more.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

LARGEST = 32 << 20  # bytes of one message
_LENGTH = struct.Struct("!I")
_LOOK_EVERY = 0.2  # seconds between two looks at what the child uses


class Closed(Exception):
    """The other end is gone."""


class TimedOut(Exception):
    """No answer in time."""


class Malformed(Exception):
    """What came is not a message."""


class Channel:
    """One end of the socket."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def send(self, message: dict[str, Any]) -> None:
        """Raises Closed, and ValueError for a message that is too large or no JSON data."""
        data = json.dumps(message, ensure_ascii=True, allow_nan=False).encode()
        if len(data) > LARGEST:
            raise ValueError(f"a message of {len(data)} bytes; at most {LARGEST} go through")
        try:
            self._end.sendall(_LENGTH.pack(len(data)) + data)
        except OSError as error:
            raise Closed from error

    def receive(self, seconds: float | None = None, look: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """The next message. `look` is called now and then while waiting, and may raise.

        Raises Closed, TimedOut and Malformed.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size, deadline, look))
        if length > LARGEST:
            raise Malformed(f"a message of {length} bytes")
        data = self._exactly(length, deadline, look)
        try:
            message = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise Malformed("no JSON") from error
        if not isinstance(message, dict):
            raise Malformed("no JSON object")
        return message

    def _exactly(self, count: int, deadline: float | None, look: Callable[[], None]) -> bytes:
        parts: list[bytes] = []
        while count:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimedOut
            self._end.settimeout(None if left is None else min(left, _LOOK_EVERY))
            try:
                part = self._end.recv(min(count, 1 << 20))
            except TimeoutError:
                look()
                continue
            except OSError as error:
                raise Closed from error
            if not part:
                raise Closed
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        self._end.close()
