"""Results of cells and programs, kept between builds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from ...grading.files.atomic import replace_json

_PACKAGE = Path(__file__).parents[2]
_DRAWN_BY = ("pictures", "messages/drawing.py", "messages/plots.py", "site/running/fork_server.py")


class KeptResults:
    """Results of one kind in the folder `cache`.

    `made_by` are modules that make them, besides those that draw. A result counts only for the same torch and the same
    text of all these modules.
    """

    def __init__(self, cache: Path, made_by: Sequence[str]) -> None:
        self._cache = cache
        self._digest = hashlib.sha256(torch.__version__.encode())
        for name in (*_DRAWN_BY, *made_by):
            for path in sorted((_PACKAGE / name).rglob("*.py")) or [_PACKAGE / name]:
                self._digest.update(path.read_bytes())

    def of(self, programs: Sequence[str], run: Callable[[list[int]], list[Any]]) -> list[Any]:
        """Return the results of programs, as JSON holds them.

        `run` returns the results of those whose numbers it gets. It is called for programs that are not kept.
        """
        files = [self._file(program) for program in programs]
        new = [number for number, file in enumerate(files) if not file.is_file()]
        for number, result in zip(new, run(new) if new else (), strict=True):
            replace_json(files[number], result)
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]

    def _file(self, program: str) -> Path:
        digest = self._digest.copy()
        digest.update(program.encode())
        return self._cache / f"{digest.hexdigest()[:20]}.json"
