"""Zip archives whose every field can be wrong (PKWARE's APPNOTE.TXT, 4.3)."""

from __future__ import annotations

import contextlib
import struct
import zlib
from dataclasses import dataclass, field
from random import Random

_LOCAL, _CENTRAL, _END = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L"), struct.Struct("<4s4H2LH")
_NUMBERS = (0, 1, 7, 0xFFFF, 1 << 20, 0x7FFFFFFF, 0xFFFFFFFF)
_METHODS = (0, 8, 8, 9, 12, 14, 93, 99)  # stored, deflated, Deflate64, bzip2, LZMA, Zstandard, AES
_FLAGS = (0, 0x1, 0x8, 0x20, 0x40, 0x800)
_ATTRIBUTES = (0, 0o100644 << 16, 0o120777 << 16, 0o040755 << 16, 0x10, 0o010644 << 16)


@dataclass
class Entry:
    """One file of an archive.

    `packed` are the bytes as they lie in the archive, and `size` is said to be their number when they are unpacked.
    `wrong` is what the table of contents says instead.
    """

    name: bytes
    packed: bytes
    size: int
    crc: int = 0
    method: int = 0
    flags: int = 0
    time: tuple[int, int] = (0x9000, 0x5D77)
    attributes: int = 0
    extra: bytes = b""
    wrong: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, name: bytes, data: bytes, method: int = 8) -> Entry:
        """Return the entry of a right archive."""
        packed = zlib.compress(data, 6, -15) if method == 8 else data
        return cls(name, packed, len(data), zlib.crc32(data), method)

    @property
    def contents(self) -> bytes:
        """The unpacked bytes, or none if they are broken."""
        with contextlib.suppress(zlib.error):
            return zlib.decompressobj(-15).decompress(self.packed, 1 << 20) if self.method == 8 else self.packed
        return b""

    def break_one_field(self, chance: Random) -> None:
        """Give one field a wrong value."""
        match chance.randrange(8):
            case 0:
                self.method = chance.choice(_METHODS)
            case 1:
                self.flags ^= chance.choice(_FLAGS)
            case 2:
                self.size = chance.choice(_NUMBERS)
            case 3:
                self.wrong[chance.choice(["offset", "packed"])] = chance.choice(_NUMBERS)
            case 4:
                self.time = chance.choice([(0, 0), (0xFFFF, 0xFFFF), (0, 33)])
            case 5:
                self.attributes = chance.choice(_ATTRIBUTES)
            case 6:
                name = struct.pack("<BL", 1, zlib.crc32(self.name)) + chance.choice(
                    [b"a\0b", b"../x", b"\xff", b"x" * 99]
                )
                large = struct.pack("<QQQ", *chance.choices([0, 1, 1 << 33, 1 << 63, (1 << 64) - 1], k=3))
                kind, body = chance.choice([(0x7075, name), (1, large), (0x9901, b"\2\0AE\3\0\0"), (0x5455, b"\1" * 5)])
                self.extra += struct.pack("<HH", kind, chance.choice([len(body), 0, 0xFFFF])) + body
                self.wrong |= dict.fromkeys(chance.choice([[], ["offset"], ["packed"]]), 0xFFFFFFFF)
            case 7:
                self.crc ^= 1


def write(entries: list[Entry], comment: bytes = b"", end: tuple[int, int, int] | None = None) -> bytes:
    """Return an archive. `end` is what its end says of the table of contents, if that is wrong: count, size, place."""
    body, table = b"", b""
    for each in entries:
        about = (
            each.flags,
            each.method,
            *each.time,
            each.crc,
            len(each.packed),
            each.size & 0xFFFFFFFF,
            len(each.name),
        )
        at = each.wrong.get("offset", len(body))
        body += _LOCAL.pack(b"PK\3\4", 20, *about, 0) + each.name + each.packed
        about = (*about[:5], each.wrong.get("packed", about[5]), *about[6:])
        table += _CENTRAL.pack(b"PK\1\2", 20, 20, *about, len(each.extra), 0, 0, 0, each.attributes, at)
        table += each.name + each.extra
    count, size, place = end or (len(entries) & 0xFFFF, len(table), len(body))
    return body + table + _END.pack(b"PK\5\6", 0, 0, count, count, size, place, len(comment)) + comment


def parse(data: bytes) -> list[Entry]:
    """Return the entries of an archive as far as they can be read. Raises struct.error for a broken end."""
    _, _, _, _, count, _, at, _ = _END.unpack_from(data, data.rindex(b"PK\5\6"))
    found = []
    for _ in range(min(count, 2000)):
        (
            _, _, _, flags, method, *time, crc, packed, size, name, extra, comment, _, _, attributes, offset,
        ) = _CENTRAL.unpack_from(data, at)  # fmt: skip
        start = min(offset + _LOCAL.size + name, len(data))
        names = data[at + _CENTRAL.size :]
        found.append(
            Entry(
                names[:name], data[start : start + packed], size, crc, method, flags, (time[0], time[1]), attributes,
                names[name : name + extra],
            )
        )  # fmt: skip
        at += _CENTRAL.size + name + extra + comment
    return found
