"""Cyrillic letters that look like Latin ones, in entries of tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .language import Note

_LATIN = str.maketrans("АВЕЅІЈКМНОРСТУХаеѕіјорсухһԛԝ", "ABESIJKMHOPCTYXaesijopcyxhqw")


def explain_unknown(entries: Collection[str], known: Collection[str]) -> Iterator[Note]:
    """Yield a note for each entry of a table that is not in `known`.

    If it would be known with Latin letters in place of Cyrillic ones, the note names the first such letter.
    """
    for entry in entries:
        meant = entry.translate(_LATIN)
        if entry in known:
            continue
        if meant in known:
            letter = next(letter for letter, other in zip(entry, meant) if letter != other)
            yield Note("note.cyrillic_letter", {"entry": entry, "letter": letter, "meant": meant})
        else:
            yield Note("note.unknown_entry", {"entry": entry})
