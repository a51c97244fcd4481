"""Archives: names in any encoding, and archives that are dangerous or broken."""

from __future__ import annotations

import io
import os
import socket
import stat
import unicodedata
import zipfile
from pathlib import Path

import pytest

from autograder.grading.collecting.archive import RefusedArchive, Unpacked, unpack
from autograder.grading.collecting.deliveries import sort_files
from autograder.grading.collecting.senders import Senders
from autograder.grading.tables.roster import Roster, Student


def packed(files: dict[str, bytes], **info: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, (2026, 11, 23, 18, 5, 4))
            entry.compress_type = zipfile.ZIP_DEFLATED
            for name, value in info.items():
                setattr(entry, name, value)
            archive.writestr(entry, data)
    return file.getvalue()


def taken(data: bytes, folder: Path) -> Unpacked:
    (source := folder / "a.zip").write_bytes(data)
    (into := folder / "into").mkdir()
    return unpack(source, into)


def contents(found: Unpacked) -> dict[str, bytes]:
    return {file.path: file.place.read_bytes() for file in found.files}


@pytest.mark.parametrize("encoding", ["utf-8", "cp866", "cp437"])
def test_names_in_old_encodings(encoding: str, tmp_path: Path) -> None:
    """Entries without the flag for UTF-8, as packed under Windows."""
    name = {"cp437": "Müller_é.ipynb"}.get(encoding, "Ёлкина Анна/ДЗ №3.ipynb")
    plain = packed({"x" * len(name.encode(encoding)): b"1"})
    renamed = plain.replace(b"x" * len(name.encode(encoding)), name.encode(encoding))
    assert list(contents(taken(renamed, tmp_path))) == [name]


def test_a_decomposed_name_is_composed_and_junk_is_left_out(tmp_path: Path) -> None:
    files = {unicodedata.normalize("NFD", "Й.ipynb"): b"1", "__MACOSX/._Й.ipynb": b"2", "x/.DS_Store": b"3"}
    found = taken(packed(files), tmp_path)
    assert contents(found) == {"Й.ipynb": b"1"}
    assert found.unread == {}


def test_archives_inside_archives_have_the_time_of_the_outermost(tmp_path: Path) -> None:
    inner = packed({"folder/lesson.ipynb": b"1"}, date_time=(1999, 1, 1, 0, 0, 0))  # type: ignore[arg-type]
    found = taken(packed({"Иванов/работа.zip": inner}), tmp_path)
    (file,) = found.files
    assert file.path == "Иванов/работа.zip/folder/lesson.ipynb"
    assert file.time is not None
    assert file.time.year == 2026


def test_a_folder_of_archives(tmp_path: Path) -> None:
    (tmp_path / "in" / "Anna").mkdir(parents=True)
    (tmp_path / "in" / "Anna" / "a.zip").write_bytes(packed({"lesson.ipynb": b"1"}))
    (tmp_path / "in" / "b.ipynb").write_bytes(b"2")
    (tmp_path / "in" / "link").symlink_to("/etc/passwd")
    (tmp_path / "into").mkdir()
    found = unpack(tmp_path / "in", tmp_path / "into")
    assert contents(found) == {"Anna/a.zip/lesson.ipynb": b"1", "b.ipynb": b"2"}
    assert all(file.time is None for file in found.files), "times inside are the student's"
    assert found.unread == {"link": "it is a link, and links are not followed"}


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "C:\\x", "a\\..\\..\\x"])
def test_an_archive_that_leads_outside_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(RefusedArchive, match="outside its folder"):
        taken(packed({path: b"1", "good": b"2"}), tmp_path)
    assert not list((tmp_path / "into").iterdir())


def test_links_and_bombs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    with pytest.raises(RefusedArchive, match="link"):
        taken(packed({"x": b"/etc/passwd"}, external_attr=(stat.S_IFLNK | 0o777) << 16), tmp_path / "1")
    (tmp_path / "2").mkdir()
    with pytest.raises(RefusedArchive, match="fill the disk"):
        taken(packed({str(number): bytes(70 << 20) for number in range(4)}), tmp_path / "2")


def test_a_student_s_bad_archive_costs_only_that_student(tmp_path: Path) -> None:
    files = {"a/bad.zip": packed({"../x": b"1"}), "b/cut.zip": packed({"l.ipynb": b"1" * 99})[:60], "c/l.ipynb": b"3"}
    found = taken(packed(files), tmp_path)
    assert contents(found) == {"c/l.ipynb": b"3"}
    assert sorted(found.unread) == ["a/bad.zip", "b/cut.zip"]


def test_a_broken_entry_is_named_and_the_rest_is_taken(tmp_path: Path) -> None:
    data = packed({"good": b"1", "bad": bytes(range(256)) * 20})
    at = data.index(b"bad") + 40
    found = taken(data[:at] + bytes(b ^ 0xFF for b in data[at : at + 20]) + data[at + 20 :], tmp_path)
    assert contents(found) == {"good": b"1"}
    assert "broken" in found.unread["bad"]


def test_an_encrypted_entry_is_named(tmp_path: Path) -> None:
    data = bytearray(packed({"secret": b"1"}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert "password" in taken(bytes(data), tmp_path).unread["secret"]


def test_an_archive_of_archives_grows_to_little(tmp_path: Path) -> None:
    """18 kB once became 4.8 GB."""
    bomb = packed({f"{number}.zip": packed({"x": b"\0" * (40 << 20)}) for number in range(10)})
    found = taken(packed({"ann/work.zip": bomb, "bob/x.ipynb": b"1"}), tmp_path)
    assert sum(file.place.stat().st_size for file in found.files) <= 64 << 20
    assert "bob/x.ipynb" in contents(found)
    assert any("made to fill the disk" in why for why in found.unread.values())


@pytest.mark.parametrize("disks", [bytes(4), b"PK\5\6"], ids=["", "an end in the end"])
def test_an_archive_of_too_many_files_is_refused_before_they_are_listed(disks: bytes, tmp_path: Path) -> None:
    """`zipfile` does not read the numbers of disks: they can hold what begins the end of an archive."""
    many = packed({f"{number}": b"" for number in range(40_000)})
    many = many[:-18] + disks + many[-14:]
    found = taken(packed({"ann/work.zip": many, "bob/x.ipynb": b"1"}), tmp_path)
    assert list(contents(found)) == ["bob/x.ipynb"]
    assert "more than 5000 files" in found.unread["ann/work.zip"]


def test_what_is_no_regular_file_is_named(tmp_path: Path) -> None:
    (folder := tmp_path / "in").mkdir()
    os.mkfifo(folder / "pipe.ipynb")
    (folder / "x.ipynb").write_text("1")
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(folder / "socket"))
        found = unpack(folder, tmp_path)
    assert found.unread == {"pipe.ipynb": "it is no regular file", "socket": "it is no regular file"}
    assert list(contents(found)) == ["x.ipynb"]


def test_an_archive_of_an_lms_in_a_folder_is_named(tmp_path: Path) -> None:
    (folder := tmp_path / "in").mkdir()
    (folder / "downloaded.zip").write_bytes(packed({"Ann Lee_7_assignsubmission_file/x.ipynb": b"1"}))
    unpacked = unpack(folder, tmp_path)
    ((_, path, why),) = sort_files(unpacked, Senders(unpacked, Roster([Student("ann", "Ann Lee")])), {}).unplaced
    assert path == "downloaded.zip/Ann Lee_7_assignsubmission_file/x.ipynb"
    assert why == "downloaded.zip is an archive of Moodle: collect it by itself"
