"""Changes of bytes, texts and tables that all mutators share."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from random import Random
from zoneinfo import ZoneInfo

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1251", "cp866", "latin-1")
ZONES = (ZoneInfo("Pacific/Kiritimati"), ZoneInfo("Pacific/Pago_Pago"))  # the first and the last
_LENGTHS = (2, 30, 1000, 6000, 70_000)  # of what is repeated
CHARACTERS = (
    "\0", "\n", "\r", "\r\n", '"', "'", "\\", "/", "\x1b[2J", "\u2028", "\u202e", "ё", "é", "İ", "ß", "٣", "🎓",
    "\ufeff",
)  # fmt: skip


def change_bytes(data: bytes, chance: Random, tokens: Sequence[bytes] = ()) -> bytes:
    """Return `data` with some bytes replaced, removed, repeated, or with a token put between them."""
    changed = bytearray(data or b"x")
    for _ in range(chance.choice([1, 1, 2, 8])):
        at = chance.randrange(len(changed) + 1)
        end = at + chance.choice([1, 4, 50])
        match chance.randrange(5 if tokens else 4):
            case 0:
                changed[at : at + 1] = chance.choice([b"\0", b"\xff", b"\x80", bytes([chance.randrange(256)])])
            case 1:
                del changed[at:end]
            case 2:
                changed[at:at] = changed[at:end] * chance.choice([1, 2, 100])
            case 3:
                other = chance.randrange(len(changed) + 1)
                changed[at:end] = changed[other : other + 50]
            case 4:
                changed[at:at] = chance.choice(tokens)
    return bytes(changed)


def change_text(text: str, chance: Random, tokens: Sequence[str]) -> str:
    """Return `text` with a token or an odd character in it, repeated at times, or with a piece removed."""
    at = chance.randrange(len(text) + 1)
    end = min(len(text), at + chance.choice([0, 0, 1, 10, len(text)]))
    piece = chance.choice(tokens) if chance.random() < 0.7 else chance.choice(CHARACTERS)
    if chance.random() < 0.1:
        piece = text[at:end] + piece
    if chance.random() < 0.1:
        piece = (piece * chance.choice(_LENGTHS))[: 1 << 17]
    return text[:at] + (piece if chance.random() < 0.9 else "") + text[end:]


def change_table(data: bytes, chance: Random, tokens: Sequence[str]) -> bytes:
    """Return a CSV file with other cells, lines, columns, separators, line ends or another encoding."""
    text, encoding = _decoded(data)
    separator = max(",;\t", key=text.partition("\n")[0].count)
    rows = [line.split(separator) for line in text.splitlines()] or [[""]]
    for _ in range(chance.choice([1, 1, 2, 5])):
        row = chance.choice(rows)
        at = chance.randrange(len(row))
        match chance.randrange(9):
            case 0 | 1 | 2:
                row[at] = chance.choice(tokens)
            case 3 | 4:
                row[at] = change_text(row[at], chance, tokens)
            case 5:
                rows.insert(chance.randrange(len(rows) + 1), list(chance.choice(rows)))
            case 6:
                row[at] = f'"{row[at]}"'
            case 7:
                rows += [list(row) for _ in range(chance.choice([1, 5, 20]))]
            case 8:
                column = chance.randrange(len(row))
                row[at], row[column] = row[column], row[at]
    if chance.random() < 0.1:
        encoding = chance.choice(ENCODINGS)
    separator = chance.choice([*separator * 8, *",;\t"])
    end = chance.choice(["\n", "\r\n", "\r", "\n\n"])
    return end.join(map(separator.join, rows)).encode(encoding, chance.choice(["replace", "xmlcharrefreplace"]))


def _decoded(data: bytes) -> tuple[str, str]:
    """Return the text of a file, and its encoding as far as its first bytes tell."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace"), "utf-16"
    if data.startswith(codecs.BOM_UTF8):
        return data.decode("utf-8-sig", "replace"), "utf-8-sig"
    return data.decode("utf-8", "replace"), "utf-8"
