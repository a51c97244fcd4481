"""Length-prefixed JSON messages on a socket between grader and child.

The process at the other end may be hostile. An oversized message or invalid JSON only raises an error here.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

LARGEST = 32 << 20  # bytes of one message
LARGEST_ANSWER = 8 << 20  # of a message from a child: decoded, it can take 30 times as much memory
_PROOF = 16  # bytes
_LONE = re.compile(rb"\\u[dD][89a-fA-F]")  # a lone surrogate, perhaps
_LENGTH = struct.Struct("!I")
_HEAD = _LENGTH.size + _PROOF  # bytes before the message
_AT_ONCE = 1 << 16  # bytes read from the socket at a time
_REST = 1.0  # seconds for the rest of a message that started before the deadline


class Closed(Exception):
    """An error: the process at the other end is gone."""


class TimedOut(Exception):
    """An error: no message began to arrive in time."""


class Malformed(Exception):
    """An error: the data that arrived are not a valid message."""


def bind_methods(thing: object) -> None:
    """Store the bound methods of `thing` as attributes of `thing` itself.

    Student code that replaces a method in the class then changes nothing for this object.
    """
    for name, member in vars(type(thing)).items():
        if callable(member) and not name.startswith("__"):
            setattr(thing, name, getattr(thing, name))


class Channel:
    """One end of the connection: a socket that sends and receives messages.

    `largest` is the maximum size of a received message in bytes.
    After `agree` was called with the same key at both ends, each message is authenticated. Processes that the
    submission starts share the socket but not the key, so they cannot send messages.
    """

    def __init__(self, end: socket.socket, largest: int = LARGEST) -> None:
        self._end, self._largest = end, largest
        self._keyed = hashlib.blake2b(digest_size=_PROOF)
        self._sent = self._received = 0
        self._come = bytearray()  # bytes of an incomplete message
        bind_methods(self)

    def agree(self, key: str) -> None:
        """Authenticate all later messages with `key`, a text of hexadecimal digits."""
        self._keyed = hashlib.blake2b(digest_size=_PROOF, key=bytes.fromhex(key))

    def _proof(self, number: int, data: bytes) -> bytes:
        """Return the keyed hash that authenticates the message `data`. `number` is the message's number, from 0."""
        keyed = self._keyed.copy()
        keyed.update(_LENGTH.pack(number) + data)
        return keyed.digest()

    def send(self, message: Mapping[str, object], *, largest: int = LARGEST, seconds: float | None = None) -> None:
        """Send a message of at most `largest` bytes.

        Raises Closed if the process at the other end is gone or does not take the message within `seconds`.
        Raises ValueError if the message is too large or is not JSON data; nothing is sent then.
        """
        data = _ENCODER.encode(message).encode()
        if len(data) > largest:
            raise ValueError(f"a message of {len(data)} bytes; at most {largest} go through")
        self._end.settimeout(seconds)
        try:
            self._end.sendall(_LENGTH.pack(len(data)) + self._proof(self._sent, data) + data)
        except OSError as error:
            raise Closed from error
        self._sent += 1

    def receive(self, seconds: float | None = None) -> dict[str, Any]:
        """Return the next message, which must begin to arrive within `seconds`.

        Raises Closed if the process at the other end is gone, TimedOut if no message has begun in time.
        Raises Malformed if the message is invalid.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        self._wait_for(_HEAD, deadline)
        (length,), proof = _LENGTH.unpack_from(self._come), self._come[_LENGTH.size : _HEAD]
        if length > self._largest:
            raise Malformed(f"a message of {length} bytes")
        if deadline is not None:
            deadline = max(deadline, time.monotonic() + _REST)
        self._wait_for(_HEAD + length, deadline)
        data = bytes(self._come[_HEAD : _HEAD + length])
        del self._come[: _HEAD + length]
        if proof != self._proof(self._received, data):
            raise Malformed("another sender")
        self._received += 1
        try:
            message = _DECODER.decode(data.decode())
            if _LONE.search(data):  # a lone surrogate cannot be written to a file
                message = json.loads(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise Malformed("no JSON") from error
        if not isinstance(message, dict):
            raise Malformed("no JSON object")
        return message

    def _wait_for(self, count: int, deadline: float | None) -> None:
        """Wait until `count` bytes have arrived, or until `deadline`, a value of `time.monotonic`.

        Raises Closed or TimedOut if no byte of the message has arrived. Raises
        Malformed if only a part has arrived.
        """
        while len(self._come) < count:
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                raise Malformed("cut off") if self._come else TimedOut
            self._end.settimeout(None if deadline is None else deadline - now)
            try:
                part = self._end.recv(_AT_ONCE)
            except TimeoutError:
                continue
            except OSError:
                part = b""
            if not part:
                raise Malformed("cut off") if self._come else Closed
            self._come += part

    def close(self) -> None:
        self._end.close()


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


_ENCODER, _DECODER = json.JSONEncoder(allow_nan=False), json.JSONDecoder(parse_constant=_refuse)
