"""`autograder lab`: JupyterLab on the learner's notebooks, in the learner's language.

JupyterLab opens the page of contents. The learner's own Jupyter settings stay unchanged.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from ..messages.learners import message
from .notebooks.notebook_file import Unreadable, read_notebook
from .notebooks.working_copy import write_atomically
from .progress.contents import Contents
from .servers.jupyterlab_settings import environment

_NBGRADER = ("create-assignment", "formgrader", "course-list", "assignment-list", "menu")  # panels of a class
# SIGTERM, and the end of the terminal. Windows has only the first.
_ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
PATIENCE = 60.0
CONTENTS = "index.ipynb"


def show_contents(folder: Path, language: str) -> None:
    """Write the present table of contents into the page of contents in `folder`, as the output of its cell.

    Does nothing if the page is not a notebook any more.
    """
    page, contents = folder / CONTENTS, Contents(language)
    try:
        notebook = read_notebook(page)
    except Unreadable:
        return
    data = {"text/plain": repr(contents).splitlines(keepends=True), "text/markdown": contents._repr_markdown_()}
    for cell in notebook["cells"]:
        if "\ncontents(" in "\n" + "".join(cell["source"]):
            cell["outputs"] = [{"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}]
    write_atomically(page, (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode())


def open_lab(work: Path, language: str) -> int:
    """Run JupyterLab on the folder `work`, showing the contents of `work/LANGUAGE`, until it is stopped.

    Prints the address, and opens a browser if there is a screen. Returns the exit status, 0 after Ctrl+C or SIGTERM.
    """
    command = [
        *(sys.executable, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={work.resolve()}",
        f"--LabApp.default_url=/lab/tree/{language}/{CONTENTS}",
        "--ServerApp.log_level=WARN",  # keeps the address visible among the log lines
    ]
    if not has_screen(os.environ):
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # root is often the only user of a container
    # In a session of its own the server misses Ctrl+C, at which it would ask in English whether to stop.
    server = subprocess.Popen(
        command, env=environment(work / ".jupyter", language, hidden=_NBGRADER), start_new_session=True
    )
    before = {each: signal.signal(each, signal.default_int_handler) for each in _ENDINGS}
    try:
        url = _address(server)
        if url:
            print(
                message("lab.address", url=f"{url[0]}lab/tree/{language}/{CONTENTS}?token={url[1]}").read(language),
                flush=True,
            )
        return server.wait()
    except KeyboardInterrupt:
        server.terminate()
        server.wait()
        return 0
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def has_screen(environ: Mapping[str, str]) -> bool:
    """Return whether a browser can open on this machine. `environ` holds the environment variables."""
    if environ.get("CI"):
        return False
    return not sys.platform.startswith("linux") or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def _address(server: subprocess.Popen[bytes]) -> tuple[str, str] | None:
    """Return address and token of a starting Jupyter server.

    Returns None if the server ended or did not start within PATIENCE seconds.
    """
    from jupyter_server.serverapp import list_running_servers

    until = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < until:
        for running in list_running_servers():
            if running.get("pid") == server.pid and _answers(str(running["hostname"]), int(running["port"])):
                return str(running["url"]), str(running["token"])
        time.sleep(0.2)
    return None


def _answers(host: str, port: int) -> bool:
    """Return whether a server accepts connections. Jupyter writes the file with its address a little earlier."""
    try:
        socket.create_connection((host, port), 1).close()
    except OSError:
        return False
    return True
