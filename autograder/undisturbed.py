"""Keep inside what an answer does to the process: output, warnings, torch's switches, randomness, time."""

from __future__ import annotations

import io
import os
import re
import signal
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch

from .language import Note

SHOWN = 300  # characters of a print, a warning or an error that reach a card


class TimeIsUp(BaseException):
    """The limit of a run is over. Not an Exception, so that an answer's `except Exception` does not swallow it."""


@contextmanager
def undisturbed(notes: list[Note]) -> Iterator[None]:
    """Keep everything an answer does to the process inside: output, warnings, the random state and torch's switches.

    What was printed, warned or left behind is appended to `notes`. File descriptor 2 is captured as well, because
    torch's C++ warnings go there and nbgrader gives 0 points for any stderr in a graded cell.
    """
    printed = _Bounded()
    before = _Switches()
    with (
        torch.random.fork_rng(devices=range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []),
        warnings.catch_warnings(record=True) as warned,
        _captured_descriptor(2) as descriptor,
        _one_thread(),
        redirect_stdout(printed),
        redirect_stderr(complained := _Bounded()),
    ):
        warnings.simplefilter("always")
        torch.manual_seed(0)  # an answer that draws numbers gets the same ones wherever it is checked
        try:
            yield
        finally:
            notes.extend(before.restore())
    for text in dict.fromkeys(" ".join(str(w.message).split())[:SHOWN] for w in warned):
        notes.append(Note("note.warning", {"text": text}))
    stderr = (complained.text() + descriptor.text()).strip()
    if stderr:
        notes.append(Note("note.stderr", {"text": stderr[:SHOWN]}))
    if printed.count:
        notes.append(Note("note.printed", {"count": printed.count, "text": printed.text()[:SHOWN]}))


class _Switches:
    """torch's process-wide settings as they are now; `restore` puts them back and says which had changed."""

    def __init__(self) -> None:
        self.now = self._read()
        self.threads = set(threading.enumerate())

    @staticmethod
    def _read() -> dict[str, Any]:
        hooks = torch.nn.modules.module
        return {
            "grad_mode": torch.is_grad_enabled(),
            "default_dtype": torch.get_default_dtype(),
            "default_device": torch.get_default_device(),
            "anomaly": torch.is_anomaly_enabled(),
            "module_hooks": {name: dict(getattr(hooks, name)) for name in _GLOBAL_HOOKS},
        }

    def restore(self) -> Iterator[Note]:
        after = self._read()
        changed = [name for name, value in self.now.items() if after[name] != value]
        torch.set_grad_enabled(self.now["grad_mode"])
        torch.set_default_dtype(self.now["default_dtype"])
        if "default_device" in changed:
            torch.set_default_device(self.now["default_device"])
        torch.set_anomaly_enabled(self.now["anomaly"])
        for name, hooks in self.now["module_hooks"].items():
            registered = getattr(torch.nn.modules.module, name)
            for key in registered.keys() - hooks.keys():
                del registered[key]
        for name in changed:
            value = {True: "on", False: "off"}.get(after[name], after[name]) if name != "module_hooks" else ""
            yield Note(f"note.left.{name}", {"value": str(value)})
        for thread in set(threading.enumerate()) - self.threads:
            if thread.is_alive():
                yield Note("note.left.threads", {"value": thread.name})


_GLOBAL_HOOKS = tuple(name for name in vars(torch.nn.modules.module) if re.fullmatch(r"_global_\w+_hooks", name))


@dataclass
class _Bounded(io.TextIOBase):
    """A text sink that counts everything and keeps the beginning: printing 10 MB costs no memory."""

    count: int = 0
    kept: list[str] = field(default_factory=list)

    def write(self, text: str) -> int:
        if self.count < SHOWN:
            self.kept.append(text[:SHOWN])
        self.count += len(text)
        return len(text)

    def text(self) -> str:
        return "".join(self.kept)[:SHOWN]


@contextmanager
def _captured_descriptor(number: int) -> Iterator[_Bounded]:
    """What C code writes to a file descriptor, which Python's redirection does not see."""
    captured = _Bounded()
    with tempfile.TemporaryFile() as file:
        saved = os.dup(number)
        os.dup2(file.fileno(), number)
        try:
            yield captured
        finally:
            os.dup2(saved, number)
            os.close(saved)
            file.seek(0)
            captured.write(file.read(4 * SHOWN).decode(errors="replace"))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Torch on one thread: sums come out the same everywhere, and small tensors do not wait for a busy core."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TimeIsUp in the running code after `seconds`; no limit without a timer (Windows, another thread)."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeIsUp

    previous = signal.signal(signal.SIGALRM, ring)
    # Again every 0.1 s: code that catches BaseException in its loop gets the next one.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
