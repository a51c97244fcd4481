"""What runs in the isolated child: a submission's cells in IPython, and the probes when a check is reached.

It decides nothing. What it is asked and answers is plain data (`channel`).
"""

from __future__ import annotations

import base64
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type

from ... import exercises
from ...exercise import Exercise
from ...judge import screen
from ...language import message
from ...probe import code_digest, observe
from ...undisturbed import limited
from .channel import LARGEST_ANSWER, Channel, Closed, Malformed, pin
from .guard import Guard
from .isolation import Limits
from .wire import pack_run


class Outputs:
    """The outputs of one cell in nbformat's form, bounded in size."""

    def __init__(self) -> None:
        self.clear(0)

    def clear(self, limit: int) -> None:
        self.cells: list[dict[str, Any]] = []
        self.left = limit
        self._complete = True

    def add(self, output: dict[str, Any], size: int) -> None:
        """An output that fits. For those that do not there is one error: to nbgrader a cell without any has passed."""
        if size <= self.left:
            self.cells.append(output)
        elif self._complete:
            self._complete = False
            lines = message("run.left_out").read(None).splitlines()
            self.cells.append({"output_type": "error", "ename": "TooLong", "evalue": "", "traceback": lines})
        self.left -= min(size, max(self.left, 0))

    def stream(self, name: str, text: str) -> None:
        text = text[: max(self.left, 0)]
        self.left -= len(text)
        last = self.cells[-1] if self.cells else {}
        if last.get("output_type") == "stream" and last["name"] == name:
            last["text"] += text
        elif text:
            self.cells.append({"output_type": "stream", "name": name, "text": text})


class Stream:
    """`sys.stdout` or `sys.stderr` of a cell."""

    encoding, errors, closed = "utf-8", "replace", False

    def __init__(self, name: str, outputs: Outputs) -> None:
        self.name, self._outputs = f"<{name}>", outputs
        self._of = name

    def write(self, text: str) -> int:
        self._outputs.stream(self._of, str(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False

    def writable(self) -> bool:
        return True


def _size(data: dict[str, Any]) -> int:
    return sum(len(str(value)) for value in data.values())


class Hook(DisplayHook):
    """The value of a cell's last expression."""

    def start_displayhook(self) -> None:
        pass

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: dict[str, Any], md_dict: dict[str, Any] | None = None) -> None:
        data = _encoded(format_dict)
        count = self.shell.execution_count - 1  # it is raised before the value is shown
        output = {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": count}
        self.shell.outputs.add(output, _size(data))

    def finish_displayhook(self) -> None:
        pass


class Publisher(DisplayPublisher):
    """What `display` shows."""

    def publish(self, data: dict[str, Any], metadata: Any = None, **_: Any) -> None:
        encoded = _encoded(data)
        output = {"output_type": "display_data", "data": encoded, "metadata": {}}
        self.shell.outputs.add(output, _size(encoded))

    def clear_output(self, wait: bool = False) -> None:
        self.shell.outputs.cells.clear()


def _encoded(data: dict[str, Any]) -> dict[str, Any]:
    """Text as it is, bytes in base64: nbformat's way. Other things (a record of ours, say) are not shown."""
    texts = {kind: value for kind, value in data.items() if isinstance(value, str)}
    raw = {kind: base64.b64encode(value).decode() for kind, value in data.items() if isinstance(value, bytes)}
    return {**texts, **raw}


class Shell(InteractiveShell):
    """IPython's shell, whose outputs are kept instead of printed."""

    displayhook_class = Type(Hook)
    display_pub_class = Type(Publisher)

    def __init__(self, **kwargs: Any) -> None:
        self.outputs = Outputs()
        super().__init__(**kwargs)
        self.history_manager.enabled = False

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        name, said = getattr(etype, "__name__", str(etype)), _said(evalue)
        error = {"output_type": "error", "ename": name, "evalue": said, "traceback": [str(line) for line in stb]}
        self.outputs.add(error, sum(map(len, error["traceback"])) + len(said))

    @contextmanager
    def _tee(self, channel: str) -> Iterator[None]:
        """IPython keeps a second copy of all that is printed, without a limit: here, none."""
        yield

    def init_virtualenv(self) -> None:
        """The environment is the one that the template runs in."""


def _said(error: object) -> str:
    try:
        return str(error)[:4000]
    except BaseException:  # a student's own exception class may be broken
        return ""


def _fault() -> str:
    try:
        return traceback.format_exc(limit=-4)[-2000:]
    except BaseException:
        return "an exception that cannot be shown"


def serve(channel: Channel, shell: Shell, guard: Guard, limits: Limits) -> None:
    """Answer the grader until it hangs up. Never returns."""
    torch.set_num_threads(1)
    worker, me = _Worker(shell, guard, limits), os.getpid()
    try:
        channel.agree(channel.receive()["key"])
        guard.watch()
        while True:
            asked = channel.receive()
            try:
                answer = getattr(worker, f"do_{asked.pop('do')}")(**asked)
            except BaseException:  # ours, or what the submission made of our code; the grader cannot tell
                answer = {"fault": _fault()}
            if os.getpid() != me:  # a copy that the submission made of this process
                break
            answer["reached"] = guard.reached[:20]
            try:
                channel.send(answer, LARGEST_ANSWER)
            except ValueError as error:  # larger than a message may be
                channel.send({"fault": str(error)})
    except Malformed:  # somebody else reads from the socket, too
        channel.send({"reached": ["a message for the worker"]})
    except Closed:
        pass
    finally:
        os._exit(0)


class _Worker:
    """What the grader can ask for, one method each."""

    def __init__(self, shell: Shell, guard: Guard, limits: Limits) -> None:
        self._shell, self._guard, self._limits = shell, guard, limits
        self._known: dict[str, Exercise] = {}
        self._changed: list[str] = []  # before the last observation
        pin(self)

    def do_begin(self, lesson: str, files: dict[str, str]) -> dict[str, Any]:
        """Put an assignment's files beside the notebook, and load the exercises before any student's line runs."""
        for name, data in files.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(data))
        self._known = dict(exercises.load(lesson)) if lesson else {}  # `load` gives everybody the same dict
        self._guard.focus(lesson)
        return {}

    def do_cell(self, source: str) -> dict[str, Any]:
        """Run one cell. What it writes to file descriptors 1 and 2 past Python counts as printed, too."""
        shell, outputs = self._shell, self._shell.outputs
        outputs.clear(self._limits.output_bytes)
        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = Stream("stdout", outputs), Stream("stderr", outputs)  # type: ignore[assignment]
        try:
            with _Descriptors(outputs), limited(self._limits.cell_seconds):
                shell.run_cell(source, store_history=True)
        except BaseException as error:  # from a hook of the student's, or the alarm between two steps of IPython
            shell._showtraceback(type(error), error, [type(error).__name__])
        finally:
            sys.stdout, sys.stderr = before
        return {"outputs": outputs.cells}

    def do_observe(self, exercise: str, seed: str) -> dict[str, Any]:
        """Run an exercise's probe on the cases of a seed, with what the submission defined by now."""
        self._changed = self._guard.changed()
        asked = self._known[exercise]
        namespace = self._shell.user_ns
        absent = screen(asked, namespace)
        if absent is not None:
            finding = absent.finding
            assert finding is not None
            return {"absent": [absent.state, finding.got[0].id, finding.got[0].parameters]}
        answer = namespace[asked.asks]
        return {"runs": [pack_run(run) for run in observe(asked, answer, seed)], "code": code_digest(answer)}

    def do_guard(self, salt: str) -> dict[str, Any]:
        """What was changed, now or before the last observation, and the proof that nothing is."""
        changed = list(dict.fromkeys([*self._changed, *self._guard.changed()]))
        return {"changed": changed[:20], "fingerprint": self._guard.fingerprint(salt)}

    def do_modules(self) -> dict[str, Any]:
        """Names of the modules that are imported by now."""
        return {"modules": sorted(sys.modules)}


class _Descriptors:
    """File descriptors 1 and 2 for the time of a cell: what C code and other programs write."""

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs

    def __enter__(self) -> None:
        self._files = {number: os.open(tempfile.gettempdir(), os.O_TMPFILE | os.O_RDWR, 0o600) for number in (1, 2)}
        for number, file in self._files.items():
            os.dup2(file, number)

    def __exit__(self, *_: object) -> None:
        quiet = os.open(os.devnull, os.O_WRONLY)
        for (number, file), name in zip(self._files.items(), ("stdout", "stderr")):
            os.dup2(quiet, number)
            written = os.pread(file, max(self._outputs.left, 0), 0)
            self._outputs.stream(name, written.decode(errors="replace"))
            os.close(file)
        os.close(quiet)
