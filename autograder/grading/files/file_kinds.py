"""Kinds of files that are handed in instead of a notebook."""

from __future__ import annotations

import io
import os
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO

from ...language import Note
from ...messages.reasons import make_reason

_START = 4_000  # bytes in which the beginning of a text is sought
_LONGEST_LINK = 2_000  # bytes
_SUFFIXES = (".ipynb", ".json", ".txt", "")  # a browser may have added or dropped a suffix

_PAGE = re.compile(rb"\s*(<\?xml[^>]*>\s*)?<(!doctype html|html|head|body)\b", re.I)
_EXPORT = re.compile(rb"jp-Notebook|nbconvert|notebook-container")
_LINK = re.compile(rb"\s*https?://\S+\s*")
_SCRIPT = re.compile(rb"^(# %%|# In\[|import [\w.]+|from [\w.]+ import |(async )?def \w+\(|class \w.*:)", re.M)
_NOTEBOOK = re.compile(rb"\s*\{.*?\"(cells|worksheets|nbformat)\"", re.S)
_HEAD, _TAIL = 100, 1 << 16  # bytes of a zip archive: its first media type, and its table of contents
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # before 2007: streams in a file, with names in UTF-16
_OFFICE = (  # reason, media type in OpenDocument, path in Office Open XML, stream
    ("word", b"opendocument.text", b"word/document", "WordDocument"),
    ("spreadsheet", b"opendocument.spreadsheet", b"xl/workbook", "Workbook"),
    ("slides", b"opendocument.presentation", b"ppt/presentation", "PowerPoint"),
)
_CONFLICT = (re.compile(rb"^<<<<<<< ", re.M), re.compile(rb"^=======\s*$", re.M), re.compile(rb"^>>>>>>> ", re.M))


@dataclass(frozen=True)
class _Kind:
    """A kind of files.

    `reason` is the id of its sentence in `REASONS`. `recognises` tells from a file's contents whether it is one.
    """

    reason: str
    recognises: Callable[[bytes], bool]


def _begins(*starts: bytes) -> Callable[[bytes], bool]:
    return lambda data: data.startswith(starts)


def document_in(file: BinaryIO) -> str:
    """Return the id of the reason if a zip archive is the document of an office program, else "".

    The media type in the first bytes (OpenDocument) and the names in the archive's own table (Office Open XML) tell it.
    Names in an archive inside it do not count: that may be one student's document among the work of a class.
    """
    head = file.read(_HEAD)
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    table = b""
    if 0 <= at <= len(tail) - 20:
        length, start = struct.unpack_from("<LL", tail, at + 12)
        file.seek(start)
        table = file.read(min(length, _TAIL))
    for reason, media, name, _ in _OFFICE:
        if (head[30:38] == b"mimetype" and media in head) or re.search(rb"PK\x01\x02.{42}" + name, table, re.S):
            return reason
    return ""


def _is_office(wanted: str) -> Callable[[bytes], bool]:
    """Return a function that recognises the documents of an office program, in new and in old forms."""

    def recognises(data: bytes) -> bool:
        if data.startswith(_OLD_OFFICE):
            return any(stream.encode("utf-16-le") in data for reason, *_, stream in _OFFICE if reason == wanted)
        return data.startswith(b"PK\x03\x04") and document_in(io.BytesIO(data)) == wanted

    return recognises


def _is_page(data: bytes) -> bool:
    return bool(_PAGE.match(_text(data)[:_START]))


def _is_link(data: bytes) -> bool:
    whole = len(data) <= _LONGEST_LINK and _LINK.fullmatch(_text(data))
    return bool(whole) or data.startswith(b"[InternetShortcut]")


def _has_conflict(data: bytes) -> bool:
    """Return whether git's three marks of a conflict begin lines of `data`, one after the other."""
    at = 0
    for mark in _CONFLICT:
        found = mark.search(data, at)
        if found is None:
            return False
        at = found.end()
    return True


# The numbers at the beginning are those of the formats' specifications, as the program `file` knows them.
_KINDS = (
    _Kind("empty", lambda data: not data.strip()),
    _Kind("only_zeros", lambda data: not data.strip(b"\0")),
    _Kind("word", _begins(b"{\\rtf")),
    *(_Kind(reason, _is_office(reason)) for reason, *_ in _OFFICE),
    _Kind("zip", _begins(b"PK\x03\x04")),
    _Kind("rar", _begins(b"Rar!\x1a\x07")),
    _Kind("seven_zip", _begins(b"7z\xbc\xaf\x27\x1c")),
    _Kind("tar", lambda data: data.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")) or data[257:262] == b"ustar"),
    _Kind("pdf", _begins(b"%PDF-")),
    _Kind("picture", _begins(b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8")),
    _Kind("html_export", lambda data: _is_page(data) and bool(_EXPORT.search(data))),
    _Kind("web_page", _is_page),
    _Kind("lfs_pointer", _begins(b"version https://git-lfs.github.com/spec/")),
    _Kind("web_link", _is_link),
    _Kind("merge_conflict", _has_conflict),
    _Kind("script", lambda data: not looks_like_notebook(data) and bool(_SCRIPT.search(_text(data)))),
)
_CLOSED = ("rar", "seven_zip")  # archives that cannot be opened here


def kind_of(data: bytes, name: str) -> Note | None:
    """Return the reason why a file that holds no JSON is no notebook, or None if its kind is unknown.

    `data` are the contents of the file, `name` is its name in the reason.
    """
    found = next((kind for kind in _KINDS if kind.recognises(data)), None)
    return make_reason(found.reason, name=name) if found else None


def is_closed_archive(data: bytes) -> bool:
    """Return whether `data` begins an archive that cannot be opened here."""
    return any(kind.recognises(data) for kind in _KINDS if kind.reason in _CLOSED)


def may_be_notebook(name: str) -> bool:
    """Return whether a file with this name can be a notebook."""
    return PurePosixPath(name).suffix.lower() in _SUFFIXES


def looks_like_notebook(data: bytes) -> bool:
    """Return whether the contents of a file begin as a notebook's do, or have its keys."""
    return bool(_NOTEBOOK.match(_text(data)))


def _text(data: bytes) -> bytes:
    return data.removeprefix(b"\xef\xbb\xbf")
