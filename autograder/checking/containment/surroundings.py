"""Surroundings of an answer: output and warnings caught, random state put back."""

from __future__ import annotations

import io
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field

import torch

from ...language import Note
from .caught import SHOWN
from .switches import putting_back


@contextmanager
def undisturbed(notes: list[Note]) -> Iterator[None]:
    """Contain the `with` block's effects on output, warnings, random state and torch's settings.

    Appends a note to `notes` for printed text, for each warning, and for each setting that the `with` block changed.
    File descriptor 2 is captured, too, because torch's C++ code writes warnings there. nbgrader gives 0 points to a
    graded cell with output on stderr.
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
        _seed()  # an answer that draws random numbers gets the same ones wherever it is checked
        yield
    for text in dict.fromkeys(" ".join(str(w.message).split())[:SHOWN] for w in warned):
        notes.append(Note("note.warning", {"text": text}))
    stderr = (complained.text() + descriptor.text()).strip()
    if stderr:
        notes.append(Note("note.stderr", {"text": stderr[:SHOWN]}))
    if printed.count:
        notes.append(Note("note.printed", {"count": printed.count, "text": printed.text()}))


def _as_a_learner_sees_them() -> None:
    """Show every warning except developer warnings from libraries.

    A DeprecationWarning that the learner's own code causes is shown, as in Python itself.
    """
    warnings.simplefilter("always")
    for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning):
        warnings.simplefilter("ignore", category)  # torch issues one itself at the first forward-mode derivative
    warnings.filterwarnings("always", category=DeprecationWarning, module="__main__")


def _seed() -> None:
    """Seed torch's default generators, CPU and CUDA, with 0.

    Avoids `torch.manual_seed(0)`: without CUDA that call spends most of a short check on storing the seed for a later
    start of CUDA.
    """
    torch.default_generator.manual_seed(0)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(0)


@dataclass
class _Bounded(io.TextIOBase):
    """A text stream that keeps only the beginning of the written text.

    The first `SHOWN` characters are kept, and all are counted. Printing 10 MB therefore costs no memory.
    """

    count: int = 0
    kept: list[str] = field(default_factory=list)

    def write(self, text: str) -> int:
        if self.count < SHOWN:
            self.kept.append(text[:SHOWN])
        self.count += len(text)
        return len(text)

    def text(self) -> str:
        return "".join(self.kept)[:SHOWN] + (" …" if self.count > SHOWN else "")


@contextmanager
def _captured_descriptor(number: int) -> Iterator[_Bounded]:
    """Capture the `with` block's output to file descriptor `number`, and yield it as a `_Bounded`.

    Redirecting `sys.stderr` would miss the output of C code. The `_Bounded` is filled when the `with` block ends.
    """
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
    """Run torch on one thread inside the `with` block.

    Sums are then the same on every machine, and operations on small tensors do not wait for a busy core.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
