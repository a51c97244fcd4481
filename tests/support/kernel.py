"""Real kernels: one that is told its notebook and cells, and forked ones."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jupyter_client.manager import start_new_kernel
from nbformat.notebooknode import NotebookNode

import support
from support import fork_client
from support.command_server import CommandServer
from support.once import once


class Kernel:
    """A kernel that knows its notebook as one of JupyterLab's does.

    `path` is the notebook's path; the kernel runs in its folder. `variables` are added to the environment; a value None
    removes a variable.
    """

    def __init__(self, path: Path, variables: Mapping[str, str | None] = {}) -> None:
        environment = {**os.environ, "JPY_SESSION_NAME": str(path), **variables}
        env = {name: value for name, value in environment.items() if value is not None}
        self.manager, self.client = start_new_kernel(env=env, cwd=str(path.parent))

    def outputs(self, source: str, cell_id: str = "no-such-cell") -> list[dict[str, Any]]:
        """Run a cell; return its outputs, each a dict from MIME type to data."""
        shown: list[dict[str, Any]] = []
        content = {"code": source, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        request = self.client.session.msg("execute_request", content, metadata={"cellId": cell_id})
        self.client.shell_channel.send(request)
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            if message["parent_header"].get("msg_id") != request["header"]["msg_id"]:
                continue
            content, kind = message["content"], message["msg_type"]
            if kind in ("execute_result", "display_data"):
                shown.append(content["data"])
            elif kind == "stream":
                shown.append({"text/plain": content["text"]})
            elif kind == "error":
                shown.append({"text/plain": "\n".join(content["traceback"])})
            elif kind == "status" and content["execution_state"] == "idle":
                return shown

    def run(self, source: str, cell_id: str = "no-such-cell") -> str:
        """Run a cell; return all of its text."""
        return "\n".join(output["text/plain"] for output in self.outputs(source, cell_id))

    def run_all(self, notebook: NotebookNode) -> None:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                self.run(cell.source, cell.get("id", "no-such-cell"))

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@cache
def forked_kernels() -> Path:
    """Return a folder for JUPYTER_PATH, in which "python3" is a kernel that is forked.

    Such a kernel has imported ipykernel and torch when it starts.
    """
    address = CommandServer("kernel").address
    spec = {
        "argv": [sys.executable, "-I", "-S", fork_client.__file__, address, "-f", "{connection_file}"],
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
    }
    folder: Path = support.made_courses / "jupyter"
    path = folder / "kernels" / "python3" / "kernel.json"

    def write() -> None:
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(spec), encoding="utf-8")

    once(folder, write)
    return folder
