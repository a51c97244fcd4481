"""Extras of the distribution: packages that only some users need."""

from __future__ import annotations

from importlib.util import find_spec

from .errors import UserError

DISTRIBUTION = "autograd-course"
# The modules that a part of the course imports, by the name of the extra that installs them.
MODULES = {
    "pictures": ("graphviz", "matplotlib", "pygraphviz"),
    "lab": ("ipykernel", "jupyterlab", "nbclient", "nbformat"),
    "instructor": ("nbgrader", "nh3", "sqlalchemy"),
}


class MissingExtra(UserError):
    """An error for a command that needs packages which are not installed."""


def install_command(extra: str) -> str:
    """Return the shell command that installs the packages of an extra."""
    return f'pip install "{DISTRIBUTION}[{extra}]"'


def require(extra: str, purpose: str) -> None:
    """Check that the packages of an extra are installed. `purpose` names what needs them, for the message.

    Raises MissingExtra if a package is missing.
    """
    missing = [name for name in MODULES[extra] if find_spec(name) is None]
    if missing:
        raise MissingExtra(f"{purpose} needs {', '.join(missing)}, not installed here: {install_command(extra)}")
