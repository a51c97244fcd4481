"""Keep inside what an answer does to the process: output, warnings, torch's switches, randomness, time."""

from __future__ import annotations

import io
import os
import signal
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from types import FrameType

import torch

from .language import Note
from .switches import putting_back
from .waiting import Deadline

_AGAIN = 0.1  # seconds until code that catches BaseException in its loop gets the next TimeIsUp
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
    with (
        torch.random.fork_rng(devices=range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []),
        warnings.catch_warnings(record=True) as warned,
        _captured_descriptor(2) as descriptor,
        _one_thread(),
        redirect_stdout(printed),
        redirect_stderr(complained := _Bounded()),
        putting_back(notes),
    ):
        _as_a_learner_sees_them()
        _seed()  # an answer that draws numbers gets the same ones wherever it is checked
        yield
    for text in dict.fromkeys(" ".join(str(w.message).split())[:SHOWN] for w in warned):
        notes.append(Note("note.warning", {"text": text}))
    stderr = (complained.text() + descriptor.text()).strip()
    if stderr:
        notes.append(Note("note.stderr", {"text": stderr[:SHOWN]}))
    if printed.count:
        notes.append(Note("note.printed", {"count": printed.count, "text": printed.text()[:SHOWN]}))


def _as_a_learner_sees_them() -> None:
    """Every warning, but those for developers only where the learner's own code gives them, as Python itself has it."""
    warnings.simplefilter("always")
    for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning):
        warnings.simplefilter("ignore", category)  # torch gives one of its own at the first forward-mode derivative
    warnings.filterwarnings("always", category=DeprecationWarning, module="__main__")


def _seed() -> None:
    """`torch.manual_seed(0)`, which without CUDA spends most of a short check on noting the seed for later."""
    torch.default_generator.manual_seed(0)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(0)


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
    """Raise TimeIsUp in the running code after `seconds`, without those in which others had the processor.

    There is no limit without a timer (Windows, another thread).
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    deadline = Deadline(seconds, os.getpid())

    def ring(number: int, frame: FrameType | None) -> None:
        left = deadline.left()
        if left <= 0:
            raise TimeIsUp
        signal.setitimer(signal.ITIMER_REAL, left, _AGAIN)

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
