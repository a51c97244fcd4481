"""Files in archives and folders, unpacked safely.

Zip format: PKWARE's APPNOTE.TXT, and Info-ZIP's extra field 0x7075 for names in Unicode.
"""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from ...errors import UserError
from ...messages.reasons import describe_reason
from ..files.file_kinds import document_in, is_closed_archive, kind_of
from ..files.notebook_file import LARGEST_NOTEBOOK
from .tar_archive import UTC_TIMES, is_tar, write_as_zip

_MOST_FILES = 100_000
_HIGHEST_RATIO, _ALWAYS_FINE = 200, 256 << 20  # unpacked to packed bytes, for archives of more than 256 MB unpacked
_MOST_INSIDE = 5_000  # files of an archive in an archive, which a student has made
_HIGHEST_INSIDE, _FINE_INSIDE = 20, 64 << 20  # the same ratio, for an archive in an archive
_LARGEST_TABLE = 256  # bytes for each file in an archive's table of contents
_DEEPEST = 3  # archives inside archives
_MOST_FOLDERS, _LONGEST_PATH = 100, 1_000  # around a file, and characters of its path
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # `zipfile` unpacks others all at once, without a limit
_JUNK = re.compile(r"(^|/)(__MACOSX/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$|\.ipynb_checkpoints/)")
_MIXED = re.compile(r"[A-Za-z][А-яЁё]|[А-яЁё][A-Za-z]")  # no word of a name has letters of both scripts
_UNICODE_PATH = 0x7075
_ENCRYPTED, _UTF8 = 0x1, 0x800  # bits of the general purpose flag
_CUT, _START = 1 << 20, 512  # bytes read at a time, and to tell what a file is
_BROKEN = (zipfile.BadZipFile, struct.error, ValueError, OverflowError)  # from `zipfile`, for wrong numbers and names


class RefusedArchive(UserError):
    """An error: an archive is dangerous or broken as a whole."""


@dataclass(frozen=True)
class UnpackedFile:
    """A file from an archive or a folder.

    `path` is the relative path in the archive, in Unicode's form NFC. `place` is where the contents lie now. `time` is
    the modification time in the outermost archive, or None. Without a time zone it is in local time.
    """

    path: str
    place: Path
    time: datetime | None = None


@dataclass
class Unpacked:
    """The files of an archive or a folder.

    `unread` maps the paths of unreadable files to the reasons. `archives` are the paths of zip archives that lay inside
    and were unpacked. `folder` is the folder itself, or None for an archive.
    """

    files: list[UnpackedFile] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    archives: set[str] = field(default_factory=set)
    folder: Path | None = None

    @property
    def paths(self) -> list[str]:
        """The paths of all files, read and unread."""
        return [*(file.path for file in self.files), *self.unread]

    @property
    def entries(self) -> set[str]:
        """The paths that an LMS made (see `entry_of`)."""
        return set(map(self.entry_of, self.paths))

    def entry_of(self, path: str) -> str:
        """Return the outer part of a path, which an LMS made: of `Ann_7_x.zip/old/a.ipynb` it is `Ann_7_x.zip`.

        The rest of the path lies in an archive that the student made. A file that lies in no inner archive keeps its
        path.
        """
        parts = path.split("/")
        above = ("/".join(parts[:end]) for end in range(1, len(parts)))
        return next((path for path in above if path in self.archives), path)


@dataclass
class _Budget:
    """The bytes and files that may still be unpacked."""

    bytes: int
    files: int


def unpack(source: Path, into: Path, names: Collection[str] | None = None) -> Unpacked:
    """Return the files in `source`, which is a zip or tar archive, a folder or a single file.

    If `names` is not None, only these files and subfolders of a folder are taken.

    Files from archives are written into the folder `into`, under numbers as names: no name in an archive can lead
    outside. Archives inside archives are unpacked as well. The files of a folder stay in place, and links are not
    followed. Files of the operating system are left out.
    Raises Refused if an archive has links, absolute paths, paths with "..", or unreasonably much data. Raises UserError
    if `source` cannot be read.
    """
    found = Unpacked(folder=source if source.is_dir() else None)
    try:
        if source.is_dir():
            for path, place in _walk(source, names):
                if place.is_symlink():
                    found.unread[path] = "it is a link, and links are not followed"
                elif not place.is_file():
                    found.unread[path] = "it is no regular file"
                elif _is_archive(place):
                    _unpack_inner(UnpackedFile(path, place), into, found, 2)
                else:
                    found.files.append(UnpackedFile(path, place))
        elif _is_archive(source):
            size = source.stat().st_size
            budget = _Budget(max(_HIGHEST_RATIO * size, _ALWAYS_FINE), _MOST_FILES)
            _unpack_archive(source, into, found, "", 1, None, budget)
        elif source.is_file():
            _refuse_closed(source)
            found.files.append(UnpackedFile(unicodedata.normalize("NFC", source.name), source))
        else:
            raise UserError(f"{source} does not exist, or is neither a file nor a folder")
    except zipfile.BadZipFile as error:
        raise RefusedArchive(f"{source} is a broken zip archive ({error}): download it again") from error
    except OSError as error:
        raise UserError(f"{error.filename or source}: {error.strerror or error}") from error
    return found


def _walk(folder: Path, only: Collection[str] | None) -> Iterator[tuple[str, Path]]:
    """Yield a path relative to `folder` and the full path, for each file and link in the folder and its subfolders.

    If `only` is not None, it holds the names of the files and subfolders to take.
    """
    for above, folders, names in os.walk(folder):
        if only is not None and Path(above) == folder:
            folders[:], names = [each for each in folders if each in only], [each for each in names if each in only]
        folders.sort()
        links = [name for name in folders if Path(above, name).is_symlink()]
        for name in sorted([*names, *links]):
            place = Path(above, name)
            path = unicodedata.normalize("NFC", place.relative_to(folder).as_posix())
            if not _JUNK.search(path):
                yield path, place


def _is_archive(path: Path) -> bool:
    """Return whether a regular file is a zip or tar archive, and no document. Its contents decide, not its name."""
    with path.open("rb") as file:
        if file.read(4) in (b"PK\x03\x04", b"PK\x05\x06"):
            file.seek(0)
            return not document_in(file)
    return is_tar(path)


def _refuse_closed(path: Path) -> None:
    """Raise Refused if a file is an archive that cannot be opened here, such as RAR."""
    with path.open("rb") as file:
        start = file.read(_START)
    if is_closed_archive(start) and (kind := kind_of(start, path.name)):
        raise RefusedArchive(describe_reason(kind).en)


def _unpack_archive(
    source: Path, into: Path, found: Unpacked, prefix: str, depth: int, time: datetime | None, budget: _Budget
) -> None:
    """Unpack one archive, and the archives in it.

    `prefix` is put before the paths. `time` is the modification time of the outermost archive's entry, if this archive
    lies in another.
    Raises Refused for a dangerous archive, BadZipFile for a broken one.
    """
    if is_tar(source):
        made = into / f"{len(found.files) + len(found.unread):06}-{source.name}.zip"
        write_as_zip(source, made, budget.bytes, budget.files)
        source = made
    with _Source(source, budget.files) as opened, _open(opened) as archive:
        named = [(_name(entry), entry) for entry in archive.infolist()]
        entries = [(name, entry) for name, entry in named if not name.endswith("/")]  # no folders
        _refuse_danger(source, entries, budget)
        for name, entry in entries:
            path = prefix + name
            if _JUNK.search(name):
                continue
            place = into / f"{len(found.files) + len(found.unread):06}"
            try:
                _extract(archive, entry, place)
            except _Unreadable as why:
                found.unread[path] = str(why)
                continue
            file = UnpackedFile(path, place, _time(entry) if depth == 1 else time)  # inner times are the student's
            if _is_archive(place):
                _unpack_inner(file, into, found, depth + 1, budget if depth > 1 else None)
            else:
                found.files.append(file)


class _Source(io.BufferedReader):
    """An archive's file, read only up to a limit at once.

    `zipfile` reads the table of contents all at once, and makes an object of each line.
    """

    def __init__(self, path: Path, files: int) -> None:
        super().__init__(io.FileIO(path))
        self._path, self._files, self._most = path, files, max(files * _LARGEST_TABLE, _CUT)

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > self._most:
            raise RefusedArchive(f"{self._path.name} has more than {self._files} files, or names that are too long")
        return super().read(size)


def _open(source: _Source) -> zipfile.ZipFile:
    """Open an archive.

    Raises BadZipFile if its table of contents is broken: `zipfile` raises many kinds of errors. Raises Refused if the
    table is too long.
    """
    try:
        return zipfile.ZipFile(source)
    except (*_BROKEN, NotImplementedError) as error:
        raise zipfile.BadZipFile(str(error)) from error


def _unpack_inner(file: UnpackedFile, into: Path, found: Unpacked, depth: int, budget: _Budget | None = None) -> None:
    """Unpack an archive that lies in another archive or in a folder.

    If it cannot be unpacked, the reason is added to `found.unread`: the other files are not affected. `budget` is
    shared by all archives inside one archive of a student. If it is None, this archive begins a new budget.
    """
    if budget is None:
        budget = _Budget(max(_HIGHEST_INSIDE * file.place.stat().st_size, _FINE_INSIDE), _MOST_INSIDE)
    if depth > _DEEPEST:
        found.unread[file.path] = f"it lies more than {_DEEPEST} archives deep"
        return
    inner = into / f"{len(found.files) + len(found.unread):06}-files"
    inner.mkdir()
    part = Unpacked()
    try:
        _unpack_archive(file.place, inner, part, f"{file.path}/", depth, file.time, budget)
    except (zipfile.BadZipFile, RefusedArchive) as error:
        found.unread[file.path] = f"it is an archive that cannot be unpacked: {error}"
        return
    found.archives.add(file.path)
    found.files += part.files
    found.unread |= part.unread or ({} if part.files else {file.path: "it is an empty archive"})


def _refuse_danger(source: Path, entries: list[tuple[str, zipfile.ZipInfo]], budget: _Budget) -> None:
    """Raise Refused if an archive has an entry that leads outside, a link, or more than the budget or a path allow.

    The archive's bytes and files are subtracted from the budget.
    """
    if len(entries) > budget.files:
        raise RefusedArchive(f"{source.name} has {len(entries)} files; at most {budget.files} are unpacked")
    total = sum(entry.file_size for _, entry in entries)
    if total > budget.bytes:
        raise RefusedArchive(f"{source.name} would grow to {total >> 20} MB: it is made to fill the disk, or broken")
    budget.files -= len(entries)
    budget.bytes -= total
    for name, entry in entries:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or re.match(r"[A-Za-z]:", name) or "\0" in name:
            raise RefusedArchive(f"{source.name} has a file that would be written outside its folder: {name!r}")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise RefusedArchive(f"{source.name} has a link: {name!r}")
        if len(path.parts) > _MOST_FOLDERS or len(name) > _LONGEST_PATH:
            raise RefusedArchive(
                f"{source.name} has a file in too many folders, or with a name too long: {name[:80]!r}"
            )


class _Unreadable(Exception):
    """An error: one entry of an archive cannot be unpacked."""


def _extract(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, place: Path) -> None:
    """Write the contents of an entry into the file `place`.

    Raises _Unreadable with a reason if the entry is broken, encrypted or too large.
    """
    if entry.flag_bits & _ENCRYPTED:
        raise _Unreadable("it is encrypted: ask for it without a password")
    if entry.compress_type not in _METHODS:
        raise _Unreadable("it is packed in a way that few programs can read: ask for it as an ordinary zip archive")
    if entry.file_size > LARGEST_NOTEBOOK:
        raise _Unreadable(f"it has {entry.file_size >> 20} MB; at most {LARGEST_NOTEBOOK >> 20} MB are read")
    try:
        with archive.open(entry) as packed, place.open("wb") as file:
            shutil.copyfileobj(packed, file, _CUT)  # `zipfile` reads no more than `file_size` bytes
    except (*_BROKEN, zlib.error, EOFError, RuntimeError, OSError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise
        place.unlink(missing_ok=True)
        raise _Unreadable(f"this part of the archive is broken ({error}): download the archive again") from error


def _name(entry: zipfile.ZipInfo) -> str:
    """Return the path of an entry, in Unicode's form NFC. A file without a name is called "nameless".

    Archives from Russian Windows have names in cp866 without saying so, archives from some servers in UTF-8. `zipfile`
    reads both as cp437.
    """
    name = _unicode_path(entry.extra)
    if name is None:
        name = entry.orig_filename if entry.flag_bits & _UTF8 else _decoded(entry.orig_filename.encode("cp437"))
    return unicodedata.normalize("NFC", name.replace("\\", "/")) or "nameless"


def _decoded(raw: bytes) -> str:
    """Return a file name of unknown encoding as text: UTF-8, cp866 if that gives Cyrillic letters, else cp437."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        russian = raw.decode("cp866")
        foreign = re.search(r"[^\x00-\x7fА-яЁё№]", russian) or _MIXED.search(russian)
        return raw.decode("cp437") if foreign else russian


def _unicode_path(extra: bytes) -> str | None:
    """Return the name in Info-ZIP's extra field for Unicode paths, or None."""
    field = _field(extra, _UNICODE_PATH)
    return field[5:].decode("utf-8", "replace") if len(field) > 5 else None


def _seconds(extra: bytes) -> int | None:
    """Return the modification time in Info-ZIP's extra field, in seconds since 1970 in UTC, or None."""
    field = _field(extra, UTC_TIMES)
    return int.from_bytes(field[1:5], "little") if len(field) >= 5 and field[0] & 1 else None


def _field(extra: bytes, wanted: int) -> bytes:
    """Return an extra field of an entry by its number, or no bytes."""
    while len(extra) >= 4:
        kind, size = struct.unpack("<HH", extra[:4])
        if kind == wanted:
            return extra[4 : 4 + size]
        extra = extra[4 + size :]
    return b""


def _time(entry: zipfile.ZipInfo) -> datetime | None:
    """Return the modification time of an entry, or None if the entry has none.

    It is in UTC if the entry tells so, otherwise in local time without a time zone. Archives without times have the
    earliest possible time.
    """
    if (seconds := _seconds(entry.extra)) is not None:
        return datetime.fromtimestamp(seconds, UTC)
    try:
        time = datetime(*entry.date_time)
    except ValueError:
        return None
    return time if time.year > 1980 else None
