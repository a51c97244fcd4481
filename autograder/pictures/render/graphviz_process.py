"""DOT as SVG or PNG. A process of its own draws it (`layout`), started at the first picture and kept for the next."""

from __future__ import annotations

import atexit
import functools
import json
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from ..phrases import error_said
from .svg import svg_element

_SCALE = 1.5  # pixels of the PNG for one of the page: sharp on a dense screen; most of the time goes into its pixels
_PROGRAM = Path(__file__).with_name("graphviz_worker.py")


class CannotLayOut(Exception):
    """pygraphviz is missing, its libraries refuse this graph or crash on it, or no process can be started."""


def svg(source: str, description: str) -> str:
    """DOT source as an element of a page, with `description` for screen readers. Raises CannotLayOut."""
    return svg_element(svg_file(source), description)


def svg_file(source: str) -> str:
    """DOT source as an SVG file. Raises CannotLayOut."""
    return _draw(source, "svg").decode()


def png(source: str) -> tuple[bytes, int, int]:
    """DOT source as PNG, with the width and height in pixels of the page that it should take. Raises CannotLayOut."""
    image = _draw(source, "png", f"-Gdpi={96 * _SCALE:g}")
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
    """The helper of process `pid`: a fork must not speak into the pipe of its parent."""
    helper = _Helper(pid)
    atexit.register(helper.stop)
    return helper


class _Helper:
    """A process that draws one picture at a time, and the pipes to it. One that has ended is started anew."""

    def __init__(self, owner: int) -> None:
        self.owner = owner
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None

    def draw(self, request: bytes) -> bytes:
        """The picture asked for. Raises CannotLayOut when there is none, and OSError when no process can be had."""
        with self.lock:
            if self.process is None or self.process.poll() is not None:
                self.stop()
                self.process = _started()
            try:
                answer, image = _asked(self.process, request)
            except BaseException:  # an interrupt, too: half an answer in the pipe would be taken for the next one
                self.stop()
                raise
        if "error" in answer:
            raise CannotLayOut(answer["error"])
        return image

    def stop(self) -> None:
        """End the process, if it is of this one's starting."""
        process, self.process = self.process, None
        if process is not None and self.owner == os.getpid():
            process.kill()
            process.communicate()


def _started() -> subprocess.Popen[bytes]:
    # What fontconfig says on file descriptor 2 would cost the points of a graded cell. JupyterLab interrupts all
    # processes of the kernel's session: this one is in another. -P keeps the folder of the program off its path.
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
