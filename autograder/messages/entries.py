"""Names of entries in observed lists and dicts, in English and Russian."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from ..language import Text
from .measured import measured_name

_POSITION = re.compile(r"\[(\d+)\]|\['([^']*)'\]")  # of a list, of a dict
_PLACE = re.compile(rf"(.*?)((?:{_POSITION.pattern})*)", re.DOTALL)


class EntryNames(Protocol):
    """Names for the entries of a list.

    `name` returns that of the entry at an index from 0, such as "weights after step 2", `count` a noun that stands before the number of entries.
    """

    @property
    def count(self) -> Text: ...

    def name(self, index: int) -> Text: ...


def name_place(place: str, entries: Sequence[EntryNames]) -> Text | None:
    """Return the name of a place in an observed value, such as "gradients, step 1, `0.weight`".

    `place` is `gradients[0]['0.weight']`. `entries` names the entries of its lists from the outermost one inwards; the
    last one also serves for all lists further in. A place that is code is shown as it is. Returns None if `place` is
    empty.
    """
    if is_code(place):
        return Text.same(f"`{place}`") if place else None
    whole, positions = _split(place)
    begin = measured_name(whole)
    names = [begin] if begin else []
    level = 0
    for index, key in _POSITION.findall(positions):
        if index:
            names.append(_at(level, entries).name(int(index)))
            level += 1
        else:
            names.append(measured_name(key) or Text.same(f"`{key}`"))
    return Text(*(", ".join(name.read(language) for name in names) for language in Text._fields))


def place_of(parameters: Mapping[str, object]) -> str:
    """Return the position that a difference is about, such as `grads[0]`; "" for the whole value."""
    return str(parameters.get("what", "")).removesuffix(": ").removeprefix("`").removesuffix("`")


def is_code(place: str) -> bool:
    """Return whether a place in an observed value has no name in words. The whole value, "", has none."""
    whole, positions = _split(place)
    return measured_name(whole) is None and bool(whole or not positions)


def _split(place: str) -> tuple[str, str]:
    """Return the name in front of a place, and the positions in it."""
    whole, positions, *_ = _PLACE.fullmatch(place).groups()  # type: ignore[union-attr]
    return whole, positions


def name_count(place: str, entries: Sequence[EntryNames]) -> Text:
    """Return the name of the number of entries of the list at `place`, such as "number of steps"."""
    count = _at(sum(bool(index) for index, _ in _POSITION.findall(place)), entries).count
    return Text(f"number of {count.en}", f"число {count.ru}")


def _at(level: int, entries: Sequence[EntryNames]) -> EntryNames:
    return entries[min(level, len(entries) - 1)]
