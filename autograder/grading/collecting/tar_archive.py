"""Tar archives, packed or not, turned into zip archives."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Self, cast

_CUT = 1 << 20  # bytes read at a time: `tarfile` reads names of any length all at once
UTC_TIMES = 0x5455  # Info-ZIP's extra field with the time in UTC
_OPENERS: dict[bytes, Callable[[IO[bytes]], IO[bytes]]] = {
    b"\x1f\x8b": lambda file: cast(IO[bytes], gzip.GzipFile(fileobj=file)),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
_BROKEN = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, ValueError, OverflowError)
_FILES = (*tarfile.REGULAR_TYPES, tarfile.DIRTYPE)
_MODES = {tarfile.SYMTYPE: stat.S_IFLNK, tarfile.LNKTYPE: stat.S_IFLNK}


class _TooLarge(Exception):
    """An error: more bytes than the budget allows."""


class _Header(tarfile.TarInfo):
    """A header with names and attributes of limited length.

    `tarfile` reads them all at once.
    """

    def _proc_member(self, archive: tarfile.TarFile) -> Self:  # newer versions of Python no longer call `frombuf`
        if self.type not in _FILES and self.size > _CUT:
            raise _TooLarge("it has names that are too long")
        return super()._proc_member(archive)  # type: ignore[misc,no-any-return]


def is_tar(path: Path) -> bool:
    """Return whether a file is a tar archive, or a packed file that begins like one."""
    try:
        with path.open("rb") as file, _opened(file) as unpacked:
            return unpacked.read(262)[257:] == b"ustar"
    except (*_BROKEN, OSError):
        return False


def write_as_zip(path: Path, place: Path, most_bytes: int, most_files: int) -> None:
    """Write the files of the tar archive `path` into the new zip archive `place`, uncompressed.

    Links keep their type. Modification times are stored in UTC.
    Raises BadZipFile if the archive is broken, has other things than files, folders and links, or exceeds the limits.
    """
    try:
        with path.open("rb") as file, _opened(file) as unpacked, zipfile.ZipFile(place, "w") as archive:
            limited = _Limited(unpacked, most_bytes)
            with tarfile.open(fileobj=limited, mode="r|", tarinfo=_Header) as tar:
                for number, member in enumerate(tar):
                    if number >= most_files:
                        raise _TooLarge(f"it has more than {most_files} files")
                    _copy(tar, member, archive)
            while limited.read():  # the checksum comes last
                pass
    except (*_BROKEN, _TooLarge) as error:
        raise zipfile.BadZipFile(str(error)) from error


def _opened(file: IO[bytes]) -> IO[bytes]:
    start = file.read(6)
    file.seek(0)
    return next((unpack(file) for magic, unpack in _OPENERS.items() if start.startswith(magic)), file)


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, archive: zipfile.ZipFile) -> None:
    if member.isdir():
        return
    name = member.name.removeprefix("./").encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    entry = zipfile.ZipInfo(name)
    entry.extra = struct.pack("<HHBI", UTC_TIMES, 5, 1, min(max(int(member.mtime), 0), 0xFFFFFFFF))
    entry.external_attr = (_MODES.get(member.type, stat.S_IFREG) | 0o644) << 16
    if member.type in _MODES:
        archive.writestr(entry, member.linkname.encode("utf-8", "replace"))
        return
    contents = tar.extractfile(member)
    if contents is None or member.issparse():
        raise zipfile.BadZipFile(f"{name!r} is neither a file nor a folder")
    with archive.open(entry, "w", force_zip64=member.size > 1 << 30) as packed:
        while piece := contents.read(_CUT):
            packed.write(piece)


class _Limited(io.RawIOBase):
    """A reader of a stream with a limit on the bytes read."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        super().__init__()
        self._stream, self._left, self._most = stream, most, most

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(min(size, _CUT) if size >= 0 else _CUT)
        self._left -= len(data)
        if self._left < 0:
            raise _TooLarge(f"it would grow beyond {self._most >> 20} MB")
        return data
