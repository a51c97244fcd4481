"""An IPython shell that records outputs of limited size in nbformat's form."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.text import LSString, SList
from traitlets import Type
from traitlets.config import Config

from ....messages.learners import message
from ..wire.enclosed import enclosed
from .audit_hook import RefusedEvent
from .code_watch import CodeWatch
from .compiler import Compiler
from .shell_commands import Store, run_command


class Outputs:
    """The outputs of one cell in nbformat's form, limited in size."""

    def __init__(self) -> None:
        self.clear(0)

    def clear(self, limit: int) -> None:
        """Remove all outputs, and allow `limit` characters of output for the next cell."""
        self.cells: list[dict[str, Any]] = []
        self.left = limit
        self._complete = True

    def add(self, output: dict[str, Any], size: int) -> None:
        """Add an output of `size` characters if it fits.

        The first output that does not fit is replaced by an error, and later ones are dropped. The error is needed
        because nbgrader gives full points to a cell without errors.
        """
        if size <= self.left:
            self.cells.append(output)
        elif self._complete:
            self._complete = False
            lines = message("run.left_out").read(None).splitlines()
            self.cells.append({"output_type": "error", "ename": "TooLong", "evalue": "", "traceback": lines})
        self.left -= min(size, max(self.left, 0))

    def end_with(self, error: str, lines: list[str]) -> None:
        """Add an error named `error` with the traceback `lines`, regardless of the size limit.

        Earlier errors of the same name are removed.
        """
        self.cells = [output for output in self.cells if output.get("ename") != error]
        self.cells.append({"output_type": "error", "ename": error, "evalue": "", "traceback": lines})

    def stream(self, name: str, text: str) -> None:
        """Add printed text to the output stream `name` ("stdout" or "stderr").

        Text beyond the limit is dropped.
        """
        text = text[: max(self.left, 0)]
        self.left -= len(text)
        last = self.cells[-1] if self.cells else {}
        if last.get("output_type") == "stream" and last["name"] == name:
            last["text"] += text
        elif text:
            self.cells.append({"output_type": "stream", "name": name, "text": text})


class Stream:
    """A replacement of `sys.stdout` or `sys.stderr` that adds text to `outputs`.

    `descriptor` is the file descriptor that belongs to the replaced stream: 1 or 2.
    """

    encoding, errors, closed = "utf-8", "replace", False

    def __init__(self, name: str, outputs: Outputs, descriptor: int) -> None:
        self.name, self._outputs = f"<{name}>", outputs
        self._of, self._descriptor = name, descriptor

    def fileno(self) -> int:
        """Return the file descriptor 1 or 2, for users such as `faulthandler` and `subprocess`.

        Text written to the descriptor is added to the outputs of the same cell.
        """
        return self._descriptor

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
    """The display hook, which records the value of a cell's last expression."""

    def start_displayhook(self) -> None:
        pass

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: dict[str, Any], md_dict: dict[str, Any] | None = None) -> None:
        data = _encoded(format_dict)
        count = self.shell.execution_count - 1  # IPython increments it before the value is shown
        output = {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": count}
        self.shell.outputs.add(output, _size(data))

    def finish_displayhook(self) -> None:
        pass


class Publisher(DisplayPublisher):
    """The display publisher, which records what `display` shows."""

    def publish(self, data: dict[str, Any], metadata: Any = None, **_: Any) -> None:
        encoded = _encoded(data)
        output = {"output_type": "display_data", "data": encoded, "metadata": {}}
        self.shell.outputs.add(output, _size(encoded))

    def clear_output(self, wait: bool = False) -> None:
        self.shell.outputs.cells.clear()


def _encoded(data: dict[str, Any]) -> dict[str, Any]:
    """Return display data in nbformat's form: text unchanged, bytes in base64.

    Values of other types are dropped, such as the record of a verdict.
    """
    texts = {kind: value for kind, value in data.items() if isinstance(value, str)}
    raw = {kind: base64.b64encode(value).decode() for kind, value in data.items() if isinstance(value, bytes)}
    return {**texts, **raw}


class Shell(InteractiveShell):
    """An IPython shell that records outputs instead of printing them."""

    compiler_class = Type(Compiler)
    displayhook_class = Type(Hook)
    display_pub_class = Type(Publisher)

    def __init__(self, **kwargs: Any) -> None:
        self.outputs = Outputs()
        self.watched_builtins: Mapping[str, Any] = {}
        super().__init__(config=Config(HistoryManager={"enabled": False}), **kwargs)  # has a thread and a file
        self.db = Store()
        self.extension_manager.load_extension("storemagic")  # as a Jupyter kernel does
        for name in ("autosave", "clear"):  # a Jupyter kernel has them
            self.register_magic_function(lambda line: None, "line", name)

    async def run_code(self, code_obj: Any, result: Any = None, *, async_: bool = False) -> bool:
        """Run one statement of a cell. Returns True if the rest of the cell must be skipped.

        If the audit hook refused an access in the statement, the rest still runs. Otherwise a function that the rest
        defines would be missing, and the student would lose points.
        """
        failed: bool = await super().run_code(code_obj, result, async_=async_)
        return failed and not isinstance(getattr(result, "error_in_exec", None), RefusedEvent)

    def watch_code(self, code_watch: CodeWatch) -> None:
        """Let `code_watch` see each statement, and its versions of builtins stand in the notebook.

        No attribute of the shell leads to the watch.
        """
        run_code = self.run_code
        enter_cell, leave_cell = enclosed(code_watch.enter_cell), enclosed(code_watch.leave_cell)

        async def watched(code_obj: Any, result: Any = None, *, async_: bool = False) -> bool:
            enter_cell(code_obj)
            try:
                return await run_code(code_obj, result, async_=async_)
            finally:
                leave_cell()

        self.run_code = watched  # type: ignore[method-assign]
        self.watched_builtins = code_watch.builtins
        self.user_ns.update(code_watch.builtins)

    def init_user_ns(self) -> None:
        super().init_user_ns()
        self.user_ns.update(self.watched_builtins)  # after `%reset`

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        name, said = getattr(etype, "__name__", str(etype)), _said(evalue)
        error = {"output_type": "error", "ename": name, "evalue": said, "traceback": [str(line) for line in stb]}
        self.outputs.add(error, sum(map(len, error["traceback"])) + len(said))

    @contextmanager
    def _tee(self, channel: str) -> Iterator[None]:
        """Do nothing in the `with` block. This is a context manager.

        IPython's own version would keep a second, unlimited copy of all printed text.
        """
        yield

    def enable_gui(self, gui: str | None = None) -> None:
        """Do nothing: figures are shown in the notebook, and `%matplotlib` needs no more."""

    def system_piped(self, cmd: str) -> None:
        """Run a `!` command without a terminal. Its exit code goes into the variable `_exit_code`."""
        self.user_ns["_exit_code"] = run_command(self.var_expand(cmd, depth=1))

    system = system_piped  # IPython has both names

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """Return the output of a command, as a list of lines if `split` is True.

        If the sandbox allows no commands, the output is empty, and the cell shows the reason.
        """
        try:
            return super().getoutput(cmd, split, depth + 1)
        except PermissionError as refused:
            sys.stdout.write(f"{refused}\n")
            return SList() if split else LSString()

    def init_virtualenv(self) -> None:
        """Do nothing: the fork server already runs in the right environment."""


def _said(error: object) -> str:
    try:
        return str(error)[:4000]
    except BaseException:  # a student's own exception class may be broken
        return ""
