"""Names of entries in observed lists and dicts, in English and Russian."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..language import Text
from .measured import measured_name

_POSITION = re.compile(r"\[(\d+)\]|\['([^']*)'\]")  # of a list, of a dict
_PLACE = re.compile(rf"(.*?)((?:{_POSITION.pattern})*)", re.DOTALL)


@dataclass(frozen=True)
class Entries:
    """Names for the entries of an observed list, such as "weights after step 2", and for their number.

    `each` has the place `{n}`, which counts from 1, or `{i}`, which counts from 0. It is a tuple of names if the
    entries have nothing in common. `count` is a noun that stands before a number, such as "steps".
    """

    each: Text | tuple[Text, ...]
    count: Text

    def name(self, index: int) -> Text:
        """Return the name of the entry at `index`, which counts from 0."""
        if isinstance(self.each, Text):
            return self.each.format(n=index + 1, i=index)
        return self.each[index] if index < len(self.each) else ANY_ENTRY.name(index)


ANY_ENTRY = Entries(Text("entry {n}", "элемент {n}"), Text("entries", "элементов"))


def name_place(place: str, entries: Sequence[Entries]) -> Text | None:
    """Return the name of a place in an observed value, such as "gradients, step 1, `0.weight`".

    `place` is `gradients[0]['0.weight']`, and `entries` names the entries of its lists. Returns None if `place` is code
    or empty.
    """
    whole, positions, *_ = _PLACE.fullmatch(place).groups()  # type: ignore[union-attr]
    begin = measured_name(whole)
    if begin is None and (whole or not positions):
        return None
    names = [begin] if begin else []
    level = 0
    for index, key in _POSITION.findall(positions):
        if index:
            names.append(entries_at(level, entries).name(int(index)))
            level += 1
        else:
            names.append(measured_name(key) or Text.same(f"`{key}`"))
    return Text(*(", ".join(name.read(language) for name in names) for language in Text._fields))


def name_count(place: str, entries: Sequence[Entries]) -> Text:
    """Return the noun for the number of entries of the list at `place`."""
    return entries_at(sum(bool(index) for index, _ in _POSITION.findall(place)), entries).count


def entries_at(level: int, entries: Sequence[Entries]) -> Entries:
    return entries[level] if level < len(entries) else ANY_ENTRY
