"""Programs of the system that a test needs."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest


def lack(why: str) -> NoReturn:
    """End a test that cannot run on this machine: it fails in CI and is skipped elsewhere."""
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)


def find_program(*names: str, remedy: str) -> str:
    """Return the path of the first of these programs that is on the PATH."""
    found = next(filter(None, map(shutil.which, names)), None)
    return found or lack(f"no {names[0]} on PATH: {remedy}")
