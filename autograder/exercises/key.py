"""Keys: expected results on the public cases, and sentences of mistakes.

The file `key/EXERCISE.json` of a lesson's package is a key. It holds no program.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..checking.expected import Expected
from ..language import Text
from .theme import Theme


@dataclass(frozen=True)
class Misconception:
    """The sentence that names a mistake on a card, and its theme."""

    says: Text
    theme: Theme


@dataclass(frozen=True)
class Key:
    """The key of one exercise.

    `expected` holds the observations on the public cases. `misconceptions` maps the name of a mistake to its sentence
    and theme.
    """

    expected: Expected
    misconceptions: Mapping[str, Misconception]

    def to_text(self, rtol: float) -> str:
        """Return the key as JSON text with a line for each value and each mistake.

        Numbers have three digits more than comparisons with the relative tolerance `rtol` see.
        """
        data = self.expected.to_json(digits=3 - math.floor(math.log10(rtol)))
        values, runs = data.pop("values"), data.pop("mistakes")
        said = {name: {"says": each.says, "theme": each.theme} for name, each in self.misconceptions.items()}
        mistakes = [f"{_json(name)}: {_json({**said[name], 'runs': seen})}" for name, seen in runs.items()]
        parts = [f"{_json(name)}: {_json(value)}" for name, value in data.items()]
        parts += [f'"mistakes": {{{_lines(mistakes)}}}', f'"values": [{_lines([*map(_json, values)])}]']
        return "{\n" + ",\n".join(parts) + "\n}\n"

    @classmethod
    def from_text(cls, text: str) -> Key:
        """Return the key that `to_text` wrote.

        Raises LookupError, TypeError or ValueError for another text.
        """
        data = json.loads(text)
        mistakes = data["mistakes"]
        said = {name: Misconception(Text(*each["says"]), Theme(each["theme"])) for name, each in mistakes.items()}
        data["mistakes"] = {name: each["runs"] for name, each in mistakes.items()}
        return cls(Expected.from_json(data), said)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _lines(parts: list[str]) -> str:
    return "\n" + ",\n".join(parts) + "\n" if parts else ""
