"""Run an exercise's probe beside an answer, undisturbed and undisturbing, and say what was observed as plain data.

This runs where the answer runs. It decides nothing: what is right is known to `judge` alone.
"""

from __future__ import annotations

import inspect
import io
import linecache
import os
import re
import signal
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from types import FrameType, SimpleNamespace, TracebackType
from typing import Any

import torch

from .exercise import Case, Exercise
from .observation import canonical, decode, encode

_SHOWN = 300  # characters of a print, a warning or an error that reach a card


@dataclass(frozen=True)
class Note:
    """Something seen on the way that is no verdict: the id of a sentence in `language` and its parameters."""

    id: str
    parameters: dict[str, object]


@dataclass(frozen=True)
class Raised:
    """An exception that ended a run: whose it was ("answer" or "ours"), and enough of it for a card."""

    whose: str
    id: str
    parameters: dict[str, object]
    line: int | None = None
    code: str = ""


@dataclass(frozen=True)
class Run:
    """What was observed on one case: `values` by aspect or evidence, or what was `raised`."""

    values: dict[str, Any]
    raised: Raised | None = None
    called: str = ""
    inputs: str = ""
    notes: tuple[Note, ...] = ()


class AnswerRaised(Exception):
    """The learner's function raised `__cause__` when the probe called it."""


class WrongArguments(Exception):
    """The learner's function does not take the arguments that the exercise states."""


class TimeIsUp(BaseException):
    """The limit of a run is over. Not an Exception, so that an answer's `except Exception` does not swallow it."""


def observe(exercise: Exercise, answer: object, seed: str) -> list[Run]:
    """Run `exercise` on every case of `seed`. `answer` is what the learner called `exercise.asks`.

    Never raises, whatever the answer does; only KeyboardInterrupt, the learner's own wish, passes.
    """
    twice = zip(exercise.draw(seed), exercise.draw(seed))
    return [_observe_case(exercise, answer, case, untouched) for case, untouched in twice]


def _observe_case(exercise: Exercise, answer: object, case: Case, untouched: Case) -> Run:
    """One run. `untouched` is the same case made again, to see what the answer did to its inputs."""
    inputs, notes = repr(case), list[Note]()
    fields = ", ".join(f"case.{name}" for name in vars(case))
    call = f"{exercise.asks}({fields})"
    values: dict[str, Any] = {}
    raised: Raised | None = None
    with undisturbed(notes):
        try:
            with _limit(exercise.seconds):
                found = exercise.probe(SimpleNamespace(**{exercise.asks: _marking(answer)}), case)
            values = {str(name): canonical(value) for name, value in found.items()}
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raised = _explain(error, answer, exercise)
        notes += [Note("note.inputs", {"name": name}) for name in _edited(case, untouched)]
    return Run(values, raised, call, inputs, tuple(notes))


def _marking(answer: object) -> object:
    """A function wrapped so that what a call raises is known to be the learner's; other objects as they are."""
    if not callable(answer) or isinstance(answer, type):
        return answer
    function: Callable[..., object] = answer

    def call(*args: object, **kwargs: object) -> object:
        try:
            inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            raise WrongArguments(str(error)) from None
        except ValueError:  # a builtin without a signature: the call itself will tell
            pass
        try:
            return function(*args, **kwargs)
        except (Exception, SystemExit) as error:
            raise AnswerRaised from error

    return call


@contextmanager
def using_answer() -> Iterator[None]:
    """For a probe that works with what an answer returned: an exception inside is the learner's, not ours."""
    try:
        yield
    except (AnswerRaised, WrongArguments):
        raise
    except Exception as error:
        raise AnswerRaised from error


def _explain(error: BaseException, answer: object, exercise: Exercise) -> Raised:
    if isinstance(error, WrongArguments):
        return Raised("answer", "raised.arguments", {"name": exercise.asks, "message": str(error)})
    if isinstance(error, TimeIsUp):
        return Raised("answer", "raised.time", {"seconds": f"{exercise.seconds:g}"})
    marked = isinstance(error, AnswerRaised) and error.__cause__ is not None
    cause: BaseException = error.__cause__ if marked and error.__cause__ is not None else error
    theirs = _learners_frame(cause.__traceback__, answer)
    if not marked and theirs is None:
        where = traceback.extract_tb(cause.__traceback__)[-1]
        return Raised("ours", "fault.probe", {"exercise": exercise.name, "error": f"{_one_line(cause)}, {where.name}"})
    line, code = theirs or (None, "")
    if isinstance(cause, (SystemExit, GeneratorExit)):
        return Raised("answer", "raised.exit", {"type": type(cause).__name__}, line, code)
    text = _one_line(cause)
    kind, _, said = text.partition(": ")
    return Raised("answer", "raised.answer", {"type": kind, "message": said}, line, code)


def _one_line(error: BaseException) -> str:
    try:
        said = str(error)
    except Exception:  # an exception class of the answer may be broken, too
        said = ""
    return f"{type(error).__name__}: {' '.join(said.split())[:_SHOWN]}"


def _learners_frame(tb: TracebackType | None, answer: object) -> tuple[int, str] | None:
    """Line number and code of the innermost frame that runs in the answer's own namespace."""
    members = vars(answer).values() if isinstance(answer, type) else [answer]
    functions = [getattr(member, "__func__", member) for member in members]
    namespace = next((f.__globals__ for f in functions if inspect.isfunction(f)), None)
    found: tuple[int, str] | None = None
    while tb is not None:
        frame: FrameType = tb.tb_frame
        if namespace is not None and frame.f_globals is namespace:
            code = linecache.getline(frame.f_code.co_filename, tb.tb_lineno, frame.f_globals).strip()
            found = (tb.tb_lineno, code)
        tb = tb.tb_next
    return found


def _edited(case: Case, untouched: Case) -> Iterator[str]:
    """Names of the inputs whose tensors hold something else now. Modules and optimizers are there to be changed."""
    for name, before in vars(untouched).items():
        for old, new in zip(_tensors(before), _tensors(getattr(case, name, None))):
            if old.shape != new.shape or not torch.equal(old.nan_to_num(), new.detach().nan_to_num()):
                yield name
                break


def _tensors(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value.detach()
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


# ---------------------------------------------------------------------------------------- leave the place as it was


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
    for text in dict.fromkeys(" ".join(str(w.message).split())[:_SHOWN] for w in warned):
        notes.append(Note("note.warning", {"text": text}))
    stderr = (complained.text() + descriptor.text()).strip()
    if stderr:
        notes.append(Note("note.stderr", {"text": stderr[:_SHOWN]}))
    if printed.count:
        notes.append(Note("note.printed", {"count": printed.count, "text": printed.text()[:_SHOWN]}))


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
        if self.count < _SHOWN:
            self.kept.append(text[:_SHOWN])
        self.count += len(text)
        return len(text)

    def text(self) -> str:
        return "".join(self.kept)[:_SHOWN]


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
            captured.write(file.read(4 * _SHOWN).decode(errors="replace"))


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
def _limit(seconds: float) -> Iterator[None]:
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


# -------------------------------------------------------------------------------------------------- runs as JSON data


def encode_run(run: Run) -> dict[str, Any]:
    """The part of a run that is judged, as JSON data."""
    if run.raised:
        raised = {"whose": run.raised.whose, "id": run.raised.id, "parameters": run.raised.parameters}
        return {"raised": raised}
    return {"values": {name: encode(value) for name, value in run.values.items()}}


def decode_run(data: dict[str, Any]) -> Run:
    """The run that `encode_run` wrote. Raises ValueError for anything else."""
    match data:
        case {"raised": {"whose": str(whose), "id": str(id), "parameters": dict(parameters)}}:
            return Run({}, Raised(whose, id, parameters))
        case {"values": dict(values)}:
            return Run({str(name): decode(value) for name, value in values.items()})
    raise ValueError(f"not an encoded run: {str(data)[:80]}")
