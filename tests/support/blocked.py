"""Python processes in which some packages cannot be imported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

# Python runs a module of the name sitecustomize at its start, also in processes that a process starts.
_BLOCK = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError("blocked: " + name, name=name)
sys.meta_path.insert(0, Block())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {names} else found(name, package)
"""
# Everything beyond torch, NumPy and the standard library that the environment has.
BEYOND_TORCH = frozenset(
    {
        "IPython",
        "graphviz",
        "ipykernel",
        "jupyter_client",
        "jupyterlab",
        "jupytext",
        "matplotlib",
        "nbclient",
        "nbconvert",
        "nbformat",
        "nbgrader",
        "nh3",
        "pygraphviz",
        "sqlalchemy",
        "traitlets",
        "yaml",
    }
)


def block(packages: Collection[str], folder: Path, first: str = "", more: Collection[Path] = ()) -> str:
    """Write a `sitecustomize` into the new folder `folder`; return the PYTHONPATH with which `packages` are not found.

    `first` is code that runs before everything else in such a process. `more` are folders of modules.
    """
    (folder / "sitecustomize.py").write_text(first + _BLOCK.replace("{names}", repr(set(packages))))
    return os.pathsep.join(filter(None, (str(folder), *map(str, more), os.environ.get("PYTHONPATH"))))


def run_without(
    packages: Collection[str], folder: Path, code: str, environment: Mapping[str, str] = os.environ, first: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run Python code in a new process in which `packages` cannot be imported. `folder` must be new.

    `first` is code that runs before everything else in the process.
    """
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**environment, "PYTHONPATH": block(packages, folder, first)},
    )
