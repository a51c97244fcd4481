"""The notebook of this kernel in Jupyter, VS Code or Colab."""

from __future__ import annotations

import os
from typing import Any

from .notebook_file import is_notebook

_COLAB_SECONDS = 10


def own_path() -> str | None:
    """Return the path of this kernel's notebook, as VS Code or Jupyter's server tells it.

    Returns None if neither VS Code nor the server tells it.
    """
    try:
        from IPython import get_ipython
    except ImportError:  # a script, as in the gate
        return None
    shell = get_ipython()
    told = shell.user_ns.get("__vsc_ipynb_file__") if shell else None
    told = told or os.environ.get("JPY_SESSION_NAME", "")
    return str(told) if str(told).endswith(".ipynb") else None


def linked_file() -> str:
    """Return the name of this kernel's notebook if its front end follows links between cells, else "".

    Jupyter does. VS Code and Colab have no headings that a link in an output could name.
    """
    path = own_path()
    return os.path.basename(path) if path and path == os.environ.get("JPY_SESSION_NAME") else ""


def colab_notebook() -> dict[str, Any] | None:
    """Return the notebook open in Colab as JSON data, with changes that are not saved yet.

    Colab keeps no file on the kernel's machine. Returns None outside Colab, or if Colab does not answer.
    """
    try:
        from google.colab import _message
    except ImportError:
        return None
    try:
        answer = _message.blocking_request("get_ipynb", request="", timeout_sec=_COLAB_SECONDS)
    except Exception:  # `_message` is private: which errors it raises is not documented
        return None
    notebook = answer.get("ipynb") if isinstance(answer, dict) else None
    return notebook if is_notebook(notebook) else None
