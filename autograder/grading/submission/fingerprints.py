"""Secret numbers with which a child proves that what is watched in it is untouched."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from ..sandbox.engine import Engine


@dataclass
class Salts:
    """One secret number for each check that is reached, the same for a whole run: what an untouched child answers to
    it is asked once. A child learns it after it has answered."""

    engine: Engine
    _known: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)

    def of(self, lesson: str, files: dict[str, str], index: int) -> tuple[str, str]:
        """The number, and what an untouched child answers to it."""
        if (lesson, index) not in self._known:
            salt = secrets.token_hex(8)
            self._known[lesson, index] = salt, self.engine.fingerprint(salt, lesson, files)
        return self._known[lesson, index]
