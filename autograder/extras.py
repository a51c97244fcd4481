"""Extras of the distribution: packages that only some users need."""

from __future__ import annotations

from importlib.metadata import packages_distributions
from importlib.util import find_spec

from .errors import UserError

DISTRIBUTION = "autograd-course"
# The modules that a part of the course imports, by the name of the extra that installs them.
MODULES = {
    "pictures": ("graphviz", "matplotlib", "pygraphviz"),
    "lab": ("ipykernel", "jupyterlab", "nbclient", "nbformat"),
    "instructor": ("jinja2", "latex2mathml", "nbconvert", "nbgrader", "nh3", "rapidfuzz", "sqlalchemy", "yaml"),
    "site": ("pagefind_bin",),
    "hub": ("jupyterhub",),
    "scale": ("cryptography", "distributed"),
}


def install_command(extra: str) -> str:
    """Return the shell command that installs the packages of an extra."""
    return f'pip install "{DISTRIBUTION}[{extra}]"'


def require(extra: str, purpose: str) -> None:
    """Check that the packages of an extra are installed. `purpose` names what needs them, for the message.

    Raises UserError if a package is missing.
    """
    missing = [name for name in MODULES[extra] if find_spec(name) is None]
    if missing:
        raise UserError(f"{purpose} needs {', '.join(missing)}, not installed here: {install_command(extra)}")


def refuse_others() -> None:
    """Check that no other distribution has installed a package named `autograder`.

    The files of both would lie in one folder. Raises UserError if there is such a distribution.
    """
    others = sorted(set(packages_distributions().get("autograder", [])) - {DISTRIBUTION})
    if others:
        names = ", ".join(others)
        remedy = f"pip uninstall {' '.join(others)} {DISTRIBUTION}, then pip install {DISTRIBUTION}"
        raise UserError(f"another package is installed under the name autograder: {names}. Remove both: {remedy}")
