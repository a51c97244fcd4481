"""Outcomes of the programs of explained errors, kept between builds."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from ...errors import UserError
from ...explained.entry import Explanation
from .runs import ErrorRun

_PACKAGE = Path(__file__).parents[2]
_RUN_BY = ("site/errors", "pictures", "messages/drawing.py", "explained/scene/frames.py")


def error_runs(explanations: Sequence[Explanation], cache: Path) -> dict[str, ErrorRun]:
    """Return a dict from an explanation's name to what its program told. Only runs them if `cache` has no outcomes.

    Explanations without a program are left out.

    Raises UserError if the programs cannot be run.
    """
    programs = [(each.name, each.pattern.pattern, each.program) for each in explanations if each.program]
    kept = cache / f"errors-{_digest(programs)}.json"
    if not kept.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        new = kept.with_suffix(".new")
        command = [sys.executable, "-m", f"{__package__}.runs", str(new), *(name for name, _, _ in programs)]
        done = subprocess.run(command, capture_output=True)
        if done.returncode:
            raise UserError(f"the programs of the explained errors cannot be run: {done.stderr.decode()[-2000:]}")
        new.replace(kept)
    told = json.loads(kept.read_text(encoding="utf-8"))
    return {name: ErrorRun(**each) for name, each in told.items()}


def _digest(programs: Sequence[tuple[str, str, str]]) -> str:
    """Return a digest of programs, of torch, and of the code that runs them and draws pictures."""
    found = hashlib.sha256(repr((torch.__version__, programs)).encode())
    for name in _RUN_BY:
        for path in sorted((_PACKAGE / name).rglob("*.py")) or [_PACKAGE / name]:
            found.update(path.read_bytes())
    return found.hexdigest()[:20]
