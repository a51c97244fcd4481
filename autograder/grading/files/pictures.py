"""Pictures in students' notebooks: kinds and sizes that a page may show."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator, Mapping

from .submitted_cells import writable

KINDS = ("image/png", "image/jpeg")
_MOST_PIXELS = 25_000_000  # a browser takes four bytes of memory for each
_LARGEST = 16 << 20  # bytes of base64 text of one picture, and of all attachments of a notebook
_STANDALONE = {0x01, *range(0xD0, 0xD8)}  # JPEG markers without a length
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # JPEG markers of a frame, which holds the size


def is_picture(kind: str, text: object) -> bool:
    """Return whether `text` is a picture in base64, of the MIME type `kind`, that a page may show.

    The picture must be a PNG or JPEG file that is neither damaged nor too large.
    """
    if kind not in KINDS or not isinstance(text, str) or len(text) > _LARGEST:
        return False
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
        width, height = _size_of_png(data) if kind == "image/png" else _size_of_jpeg(data)
    except (ValueError, binascii.Error, struct.error, IndexError):
        return False
    return 0 < width * height <= _MOST_PIXELS


def kept_attachments(cells: Iterator[Mapping[str, object]]) -> Iterator[dict[str, dict[str, str]]]:
    """Yield, for each cell, the pictures that are pasted into it: `{"plot.png": {"image/png": BASE64}}`.

    Attachments that are no PNG or JPEG pictures are left out. So are pictures that exceed the notebook's total of
    `_LARGEST`.
    """
    left = _LARGEST
    for cell in cells:
        pasted, kept = cell.get("attachments"), dict[str, dict[str, str]]()
        for name, bundle in pasted.items() if isinstance(pasted, dict) else ():
            for kind, text in bundle.items() if isinstance(bundle, dict) else ():
                if is_picture(kind, text) and len(text) <= left:
                    left -= len(text)
                    kept.setdefault(writable(str(name)), {})[kind] = text
        yield kept


def _size_of_png(data: bytes) -> tuple[int, int]:
    """Return width and height of a PNG file (RFC 2083, 3.1 and 4.1.1). Raises ValueError for another file."""
    if data[:16] != b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR":
        raise ValueError("no PNG file")
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _size_of_jpeg(data: bytes) -> tuple[int, int]:
    """Return width and height of a JPEG file (ITU T.81, B.1.1 and B.2.2).

    Raises ValueError, IndexError or struct.error for another file.
    """
    if data[:2] != b"\xff\xd8":
        raise ValueError("no JPEG file")
    at = 2
    while True:
        if data[at] != 0xFF:
            raise ValueError("no marker")
        marker = data[at + 1]
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2
        if marker == 0xFF:
            at -= 1  # a fill byte
        elif marker not in _STANDALONE:
            at += struct.unpack_from(">H", data, at)[0]
