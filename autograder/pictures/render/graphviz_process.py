"""Conversion of DOT source to SVG or PNG, in a separate process.

The process (`graphviz_worker`) starts with the first picture and is reused.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...extras import install_command
from ...language import Note
from ..text_form import error_said
from .style import FONT

_SCALE = 1.5  # PNG pixels per CSS pixel: sharp on a dense screen, and a larger number would take longer
_LARGEST = (
    16  # inches, 1,536 CSS pixels: a larger PNG is shrunk, as pages shrink the SVG; 50 boxes took 7 times as long
)
_PROGRAM = Path(__file__).with_name("graphviz_worker.py")


class CannotLayOut(Exception):
    """An error for a picture that Graphviz cannot draw.

    Graphviz is missing, rejects the graph or crashes, or the process cannot be started. The argument is the text of the
    error.
    """

    @property
    def note(self) -> Note:
        """The sentence about it for a learner."""
        lacks = str(self).startswith("ImportError")  # libraries of the system, which slim containers do not have
        return Note("note.no_libraries" if lacks else "note.no_layout", {"error": str(self)})


def missing_graphviz() -> Note | None:
    """Return a note on what to install for pictures, or None if Graphviz is here.

    Graphviz is the program `dot`, or the libraries in the wheel of pygraphviz. The package graphviz is needed, too.
    """
    if find_spec("graphviz") and (find_spec("pygraphviz") or shutil.which("dot")):
        return None
    return Note("note.no_graphviz", {"command": install_command("pictures")})


def svg(source: str) -> str:
    """Return DOT source as the text of an SVG file, without titles, comments and attributes that repeat.

    Raises CannotLayOut if Graphviz cannot draw it.
    """
    drawn = _draw(source, "svg").decode()
    drawn = re.sub(r"<!--.*?-->\s*|<title>.*?</title>\s*", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)
    drawn = re.sub(r"<text[^>]*>\s*</text>\s*", "", drawn)
    drawn = re.sub(r"<text[^>]*>", lambda tag: re.sub(r' (text-anchor="start"|font-family="[^"]*")', "", tag[0]), drawn)
    return drawn.replace("<svg ", f'<svg font-family="{FONT}" ', 1)


def png(source: str, *, whole: bool = False) -> tuple[bytes, int, int]:
    """Return DOT source as PNG, with the width and height in CSS pixels. A large one is shrunk, if not `whole`.

    Raises CannotLayOut if Graphviz cannot draw it.
    """
    limit = "" if whole else f" -Gsize={_LARGEST},{_LARGEST}"
    image = _draw(source, "png", f"-Gdpi={96 * _SCALE:g}{limit}")
    width, height = struct.unpack(">II", image[16:24])
    return image, round(width / _SCALE), round(height / _SCALE)


def _draw(source: str, format: str, args: str = "") -> bytes:
    try:
        request = json.dumps({"source": source, "format": format, "args": args})
        return _helper(os.getpid()).draw(request.encode())
    except (OSError, ValueError) as error:
        raise CannotLayOut(error_said(error)) from error


@functools.cache
def _helper(pid: int) -> _Helper:
    """Return the drawing process that belongs to the process with id `pid`.

    A forked process gets its own drawing process, because it must not use the pipes of its parent.
    """
    helper = _Helper(pid)
    atexit.register(helper.stop)
    return helper


class _Helper:
    """A drawing process and its pipes.

    The process draws one picture at a time, and is started again if it has ended.
    """

    def __init__(self, owner: int) -> None:
        self.owner = owner
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None

    def draw(self, request: bytes) -> bytes:
        """Return the picture that `request` asks for.

        Raises CannotLayOut if Graphviz cannot draw it.
        Raises OSError if the process cannot be started.
        """
        with self.lock:
            if self.process is None or self.process.poll() is not None:
                self.stop()
                self.process = _started()
            try:
                answer, image = _asked(self.process, request)
            except BaseException:  # also on an interrupt: a partial answer in the pipe would be read as the next one
                self.stop()
                raise
        if "error" in answer:
            raise CannotLayOut(answer["error"])
        return image

    def stop(self) -> None:
        """Kill the drawing process, but not if the caller is a forked copy of the process that started it."""
        process, self.process = self.process, None
        if process is not None and self.owner == os.getpid():
            process.kill()
            process.communicate()


def _started() -> subprocess.Popen[bytes]:
    # Output of fontconfig on file descriptor 2 would cost a graded cell its points. A new session protects the process
    # from JupyterLab's interrupts of the kernel's session. -P keeps the program's folder off its import path.
    return subprocess.Popen(
        [sys.executable, "-P", str(_PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _asked(process: subprocess.Popen[bytes], request: bytes) -> tuple[dict[str, Any], bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(request + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except BrokenPipeError:
        line = b""
    if not line:
        raise CannotLayOut(f"the program that draws ended, status {process.wait()}")
    answer = json.loads(line)
    return answer, process.stdout.read(answer.get("bytes", 0))
