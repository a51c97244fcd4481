"""Containment of an answer's side effects: output, warnings, torch's settings, randomness, time."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch._C import (
    _len_torch_dispatch_stack,
    _len_torch_function_stack,
    _pop_torch_dispatch_stack,
    _pop_torch_function_stack,
    _push_on_torch_dispatch_stack,
    _push_on_torch_function_stack,
)
from torch._C._autograd import _pop_saved_tensors_default_hooks as _pop_saved_tensors_hooks
from torch._C._autograd import _top_saved_tensors_default_hooks as _top_saved_tensors_hooks
from torch.autograd import forward_ad

from ..language import Note
from .allocations import stop_profiler, without_profiler
from .deadline import Deadline


@dataclass(frozen=True)
class _Switch:
    """One of torch's global settings.

    `read` is a function that returns the setting, `write` a function that changes it, `default` the default value.
    """

    read: Callable[[], Any]
    write: Callable[[Any], Any]
    default: Any


_KERNELS = ("flash", "mem_efficient", "math", "cudnn")  # of scaled_dot_product_attention, on the CPU as well


def _allow_kernels(allowed: tuple[bool, ...]) -> None:
    for kernel, on in zip(_KERNELS, allowed):
        getattr(torch.backends.cuda, f"enable_{kernel}_sdp")(on)


_SWITCHES = {
    "grad_mode": _Switch(torch.is_grad_enabled, torch.set_grad_enabled, True),
    "default_dtype": _Switch(torch.get_default_dtype, torch.set_default_dtype, torch.float32),
    # Not `get_default_device`: setting a device, even the CPU, installs a mode that every factory call goes through.
    "default_device": _Switch(
        lambda: getattr(getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None), "device", None),
        torch.set_default_device,
        None,
    ),
    "anomaly": _Switch(torch.is_anomaly_enabled, torch.set_anomaly_enabled, False),
    "deterministic": _Switch(torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, False),
    "autocast": _Switch(
        lambda: torch.is_autocast_enabled("cpu"), lambda on: torch.set_autocast_enabled("cpu", on), False
    ),
    "attention": _Switch(
        lambda: tuple(getattr(torch.backends.cuda, f"{kernel}_sdp_enabled")() for kernel in _KERNELS),
        _allow_kernels,
        (True,) * len(_KERNELS),
    ),
}
# Modules of torch that keep hooks for all modules, or for all optimizers, with the note on hooks that were left there.
_GLOBAL_HOOKS = {
    name: (place, note)
    for place, note in (
        (torch.nn.modules.module, "note.left.module_hooks"),
        (sys.modules[torch.optim.Optimizer.__module__], "note.left.optimizer_hooks"),
    )
    for name in vars(place)
    if re.fullmatch(r"_global_\w+_hooks", name)
}


@contextmanager
def as_in_a_fresh_process() -> Iterator[list[Note]]:
    """Set each of torch's global settings to its default inside the `with` block, and restore the values afterwards.

    Settings that a notebook made earlier therefore change no verdict. Also turns off the profiler, inference mode and
    all active function and dispatch modes. Yields a list with a note for each setting that was not at its default.
    """
    inferring = torch.is_inference_mode_enabled()
    with torch.inference_mode(False) if inferring else nullcontext():
        before = {name: switch.read() for name, switch in _SWITCHES.items()}
        unusual = [name for name, switch in _SWITCHES.items() if before[name] != switch.default]
        notes = [Note(f"note.unusual.{name}", {"value": _said(before[name])}) for name in unusual]
        if inferring:
            notes.append(Note("note.unusual.inference", {}))
        for name in unusual:
            _SWITCHES[name].write(_SWITCHES[name].default)
        try:
            with without_profiler() as profiling, _without_modes() as modes:
                if profiling:
                    notes.append(Note("note.unusual.profiler", {}))
                yield notes + [Note("note.unusual.mode", {"value": type(mode).__name__}) for mode in modes]
        finally:
            for name in unusual:
                _SWITCHES[name].write(before[name])


@contextmanager
def _without_modes() -> Iterator[list[Any]]:
    """Remove all of torch's active function and dispatch modes inside the `with` block.

    Yields a list of the modes. The modes are activated again afterwards.
    """
    functions = [_pop_torch_function_stack() for _ in range(_len_torch_function_stack())]
    dispatches = [_pop_torch_dispatch_stack(None) for _ in range(_len_torch_dispatch_stack())]
    try:
        yield functions + dispatches
    finally:
        for mode in reversed(dispatches):
            _push_on_torch_dispatch_stack(mode)
        for mode in reversed(functions):
            _push_on_torch_function_stack(mode)


@contextmanager
def putting_back(notes: list[Note]) -> Iterator[None]:
    """Undo what the `with` block leaves behind: changed settings, global hooks, and open contexts of torch.

    Appends a note to `notes` for each thing that is undone. A thread that still runs cannot be stopped, but there is a
    note on it.
    """
    before = {name: switch.read() for name, switch in _SWITCHES.items()}
    level, packing = forward_ad._current_level, _top_saved_tensors_hooks(False)
    global_hooks = {name: dict(getattr(place, name)) for name, (place, _) in _GLOBAL_HOOKS.items()}
    threads = set(threading.enumerate())
    try:
        yield
    finally:
        for name, switch in _SWITCHES.items():
            after = switch.read()
            if after != before[name]:
                switch.write(before[name])
                notes.append(Note(f"note.left.{name}", {"value": _said(after)}))
        if stop_profiler():
            notes.append(Note("note.left.profiler", {}))
        if forward_ad._current_level > level:
            notes.append(Note("note.left.dual_level", {}))
        while forward_ad._current_level > level:
            forward_ad.exit_dual_level()
        if _top_saved_tensors_hooks(False) not in (None, packing):
            notes.append(Note("note.left.saved_tensors_hooks", {}))
        while _top_saved_tensors_hooks(False) not in (None, packing):
            _pop_saved_tensors_hooks()
        notes += [Note(note, {}) for note in _drop_global_hooks(global_hooks)]
        for thread in set(threading.enumerate()) - threads:
            if thread.is_alive():
                notes.append(Note("note.left.threads", {"value": thread.name}))


def _drop_global_hooks(before: dict[str, dict[Any, Any]]) -> list[str]:
    """Remove the global hooks that are not in `before`; return the ids of the notes on what was removed.

    `before` maps the name of each registry in `_GLOBAL_HOOKS` to its earlier content.
    """
    found: dict[str, None] = {}
    for name, hooks in before.items():
        place, note = _GLOBAL_HOOKS[name]
        registered = getattr(place, name)
        for key in registered.keys() - hooks.keys():
            del registered[key]
            found[note] = None
    return list(found)


def _said(value: object) -> str:
    """Return the value of a setting as the parameter of a `Note`.

    True and False become ids of sentences because a card shows "on" and "off" in the learner's language.
    """
    return {True: "switch.on", False: "switch.off"}[value] if isinstance(value, bool) else str(value)


_AGAIN = 0.1  # seconds until code that catches BaseException in its loop gets the next TimeIsUp
SHOWN = 300  # characters of a print, a warning or an error that reach a card


class TimeIsUp(BaseException):
    """The exception raised in an answer whose time is up.

    The base class is BaseException: an answer's `except Exception` does not catch it.
    """


@contextmanager
def undisturbed(notes: list[Note]) -> Iterator[None]:
    """Contain what an answer in the `with` block does to output, warnings, random state and torch's settings.

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
        notes.append(Note("note.printed", {"count": printed.count, "text": printed.text()[:SHOWN]}))


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
        return "".join(self.kept)[:SHOWN]


@contextmanager
def _captured_descriptor(number: int) -> Iterator[_Bounded]:
    """Capture all output to file descriptor `number` in the `with` block, and yield a `_Bounded` with the output.

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


def has_timer() -> bool:
    """Return whether this system has the timer that `limited` needs. Windows has none."""
    return hasattr(signal, "setitimer")


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TimeIsUp inside the `with` block after `seconds`.

    Time in which the process waited for a processor does not count. There is no limit without the timer, nor outside
    the main thread.
    """
    if not has_timer() or threading.current_thread() is not threading.main_thread():
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
