"""IPython 7.34 and its ipykernel, as Colab has them, in a folder of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# What they need beyond the packages of the present IPython, which work with them.
PACKAGES = ("ipython==7.34.0", "ipykernel==6.17.1", "backcall", "decorator", "pickleshare")


def install(folder: Path) -> Path:
    """Install them into `folder`; return the folder, to be put in front of the module search path."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, "--target", str(folder), *PACKAGES], check=True, capture_output=True)
    return folder
