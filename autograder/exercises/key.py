"""Keys: expected results on the public cases, and sentences of mistakes.

The file `key/EXERCISE.json` of a lesson's package is a key. It holds no program.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ..checking.expected import Expected
from ..language import Text


class Theme(StrEnum):
    """The subject of a misconception, or why it has none."""

    ACCUMULATION = "accumulation"  # what a gradient buffer held before
    SCALING = "scaling"  # mean or sum, a factor too many or too few
    RECORDING = "recording"  # what autograd records, and what is cut off
    GRAPH_LIFE = "graph_life"  # how long a graph and its saved tensors live
    IN_PLACE = "in_place"  # changes in place, aliases, shared memory
    DERIVATIVE = "derivative"  # the derivative itself is wrong
    AXES = "axes"  # shapes, transposes, broadcasting
    PRECISION = "precision"  # dtypes, rounding, NaN
    DEVICE = "device"  # where a tensor lies
    ORDER = "order"  # right steps at a wrong time
    COST = "cost"  # a right result with more work or memory than allowed
    STATE = "state"  # a mode, hook or setting left behind
    RETURN = "return"  # a function does not return its result
    TEST = "test"  # a learner's test accepts what is wrong, or refuses what is right
    MISSING = "missing"  # no theme: a part of the task is not done
    OWN = "own"  # no theme: a misconception about one exercise alone
    SLIP = "slip"  # no theme: a slip, unrelated to any concept

    @property
    def is_shared(self) -> bool:
        """False for MISSING, OWN and SLIP, which say why a misconception belongs to no theme."""
        return self not in (Theme.MISSING, Theme.OWN, Theme.SLIP)


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
