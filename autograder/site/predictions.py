"""Data with which a page judges tables of predictions.

The page must judge as `checking.judge` does, but its source must not show the right table. It therefore holds digests:
one for each right entry, and one for each entry that a mistake gets wrong.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

from ..checking.comparison import compare
from ..checking.entry_types import CASUAL
from ..checking.exercise import Exercise
from ..checking.values import Other
from ..exercises import key_of
from ..lessons.mathml import render_markdown
from ..messages.site import WORDS

_DIGITS = 6  # as many as a comparison with the tolerance of `checking.values` sees
_SAID = ("right", "wrong", "empty", "comma", "casual", "all_right", "some", "looks_like")


def judge_data(exercise: Exercise, language: str) -> str:
    """Return the data for the script of a page, as JSON in base64.

    Keys: `salt`, `entries` (names), `right` (digests), `mistakes` (pairs of a sentence in HTML and a dict from the
    number of an entry to a digest), `casual` (texts that are no answers), `words`.
    """
    key, salt = key_of(exercise), f"{exercise.lesson}.{exercise.name}"
    aspect = exercise.aspects[0].name
    truth = key.expected.solution[0].values[aspect]
    mistakes = []
    for name, runs in key.expected.mistakes.items():
        wrong = _wrong(truth, runs[0].values[aspect], salt)
        if wrong:
            mistakes.append([_sentence(key.misconceptions[name].says.read(language)), wrong])
    data = {
        "salt": salt,
        "entries": list(truth),
        "right": [answer_digest(salt, number, value) for number, value in enumerate(truth.values())],
        "mistakes": mistakes,
        "casual": sorted(CASUAL),
        "words": {word: WORDS[word].read(language) for word in _SAID},
    }
    return base64.b64encode(json.dumps(data, ensure_ascii=False).encode()).decode()


def _wrong(truth: Mapping[str, Any], table: Mapping[str, Any], salt: str) -> dict[int, str]:
    """Return a dict from the number of each wrong entry of `table` to the digest of its value."""
    return {
        number: answer_digest(salt, number, table[entry])
        for number, (entry, value) in enumerate(truth.items())
        if compare(value, table[entry]) is not None
    }


def _sentence(markdown: str) -> str:
    return render_markdown(markdown).strip().removeprefix("<p>").removesuffix("</p>")


def answer_digest(salt: str, number: int, value: Any) -> str:
    """Return the digest of a value at entry `number` of a table: FNV-1a with 32 bits, as hexadecimal digits.

    Source of the algorithm: G. Fowler, L. C. Noll, K.-P. Vo, RFC 9923. It hinders no guesses.
    """
    found = 0x811C9DC5
    for byte in f"{salt}/{number}/{plain(value)}".encode():
        found = (found ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{found:08x}"


def plain(value: Any) -> str:
    """Return a value of a table as text. Values that a check takes for equal have the same text."""
    if isinstance(value, list):
        return f"[{','.join(map(plain, value))}]"
    if isinstance(value, str):
        return f"'{value}"
    if isinstance(value, Other):
        return f"<{value.kind}>"
    if value is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if not math.isfinite(value):
        return str(float(value))
    if abs(value) <= 1e-12:
        return "0"
    rounded = value if value == int(value) else float(f"{value:.{_DIGITS - 1}e}")
    if rounded == int(rounded):
        return str(int(rounded))
    mantissa, _, exponent = f"{rounded:.{_DIGITS - 1}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"
