"""Normal forms of people's names, for comparisons."""

from __future__ import annotations

import itertools
import re
import unicodedata

_APOSTROPHES = re.compile(r"['’ʼ`´ʹ‘]")
_NO_FILE_NAME = re.compile(r"""[\x00-\x1f\x7f-\x9f&<>"`|':\\/]""")
_MOST_PARTS = 5  # all orders of a name's parts are compared as long as there are at most so many


def parts(name: str) -> tuple[str, ...]:
    """Return the words of a name in a normal form: "Пётр O'Neil" gives `("петр", "oneil")`.

    Case, ё or е, apostrophes, and Unicode's forms make no difference. Accents do. Emoji and punctuation are dropped.
    """
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", name).casefold()).replace("ё", "е")
    return tuple(re.findall(r"[^\W_]+", _APOSTROPHES.sub("", text)))


def key(name: str) -> tuple[str, ...]:
    """Return a key that is the same for "Anna Lee" and "Lee Anna": `("anna", "lee")`."""
    return tuple(sorted(parts(name)))


def file_name(name: str) -> str:
    """Return a name without the characters that Moodle removes from file names (`clean_param` for PARAM_FILE)."""
    return " ".join(unicodedata.normalize("NFC", _NO_FILE_NAME.sub("", name)).split())


def joined(name: str) -> set[str]:
    """Return a name without spaces, in all orders of its words: `{"annalee", "leeanna"}`.

    Canvas writes names into file names like this. A name of more than five words is returned only forwards and
    backwards.
    """
    words = parts(name)
    orders = itertools.permutations(words) if len(words) <= _MOST_PARTS else [words, tuple(reversed(words))]
    return {"".join(order) for order in orders}
