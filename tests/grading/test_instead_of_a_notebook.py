"""Archives, documents and other lessons' notebooks that are handed in instead of the notebook."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter, PythonExporter

from autograder.cli import main
from autograder.errors import UserError
from autograder.grading.collecting.archive import unpack
from autograder.lessons.collection import COURSE
from support.course import Course
from support.first_gradient import FIRST, LESSON, NAME, SOLVED, WRONG
from support.lms import collect, write_archive
from support.solved import solved_notebook

Work = Callable[..., str]  # see the fixture `work`


def _tar(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(data), 1_789_934_400  # 2026-09-20 20:00 UTC
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


NOTEBOOK = solved_notebook(LESSON, "en")
INSTEAD = {  # by file name: the contents, and what is said of them
    "report.pdf": (b"%PDF-1.7\n%", "report.pdf is a PDF document, not the notebook"),
    "screen.png": (b"\x89PNG\r\n\x1a\n\0", "screen.png is a picture, not the notebook"),
    "work.rar": (b"Rar!\x1a\x07\x01\0", "work.rar is a RAR archive, which cannot be opened here"),
    "work.7z": (b"7z\xbc\xaf\x27\x1c\0\4", "work.7z is a 7z archive, which cannot be opened here"),
    "work.ipynb.gz": (gzip.compress(b"{}"), "work.ipynb.gz is no notebook but a packed file"),
    "lesson.html": (HTMLExporter().from_notebook_node(NOTEBOOK)[0].encode(), "lesson.html is a notebook exported as"),
    "lesson.py": (PythonExporter().from_notebook_node(NOTEBOOK)[0].encode(), "lesson.py is a Python program"),
}


def test_grade_and_collect_name_documents_and_archives(course: Course, tmp_path: Path, capsys) -> None:
    files = {f"student{number}/{name}": data for number, (name, (data, _)) in enumerate(INSTEAD.items())}
    for path, data in files.items():
        student, name = path.split("/")
        place = course.submitted(student).with_name(name)
        place.parent.mkdir(parents=True)
        place.write_bytes(data)
    results = course.grade()
    for number, (_, why) in enumerate(INSTEAD.values()):
        result = results[f"student{number}"]
        assert result["state"] == "failed"
        assert f"{NAME}.ipynb; {why}" in result["reasons"][0]
    assert collect(course, write_archive(tmp_path / "all.zip", files)) == 1
    said = capsys.readouterr().out
    for _, why in INSTEAD.values():
        assert why in said
    (whole := tmp_path / "class.rar").write_bytes(INSTEAD["work.rar"][0])
    assert collect(course, whole) == 1
    assert (
        "class.rar: not collected: class.rar is a RAR archive, which cannot be opened here" in capsys.readouterr().out
    )


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_archive_is_opened(course: Course, work: Work, tmp_path: Path, mode: str, capsys) -> None:
    inner = _tar({f"hw/{NAME}.ipynb": work("b").encode(), "hw/helper.py": b"x = 1"}, mode)
    whole = _tar({f"./ann/{NAME}.ipynb": work("a").encode(), "Пётр/дз.tar.gz": inner}, mode)
    (source := tmp_path / "class.tar.gz").write_bytes(whole)
    (course.folder / "course.toml").write_text('time_zone = "Europe/Moscow"')
    assert collect(course, source) == 0
    said = capsys.readouterr().out
    assert f"ann: {NAME} taken, 2026-09-20 23:00 (archive)" in said
    assert {path.name for path in (course.folder / "submitted").rglob("*.ipynb")} == {f"{NAME}.ipynb"}
    assert len(list((course.folder / "submitted").rglob("helper.py"))) == 1


def test_a_tar_archive_is_refused_like_a_zip(course: Course, work: Work, tmp_path: Path, capsys) -> None:
    def link(kind: bytes) -> bytes:
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w") as archive:
            entry = tarfile.TarInfo("link.ipynb")
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
        return made.getvalue()

    long = io.BytesIO()
    with tarfile.open(fileobj=long, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo("x")
        entry.pax_headers = {"comment": "x" * (2 << 20)}
        archive.addfile(entry)
    files = {
        "bomb": _tar({"zeros.ipynb": bytes(65 << 20)}),
        "many": _tar({str(number): b"" for number in range(5_001)}),
        "outside": _tar({"../../x.ipynb": b"{}"}),
        "symbolic": link(tarfile.SYMTYPE),
        "hard": link(tarfile.LNKTYPE),
        "pipe": link(tarfile.FIFOTYPE),
        "long": long.getvalue(),
        "cut": _tar({f"{NAME}.ipynb": work().encode()})[:-500],
    }
    said_of = {
        "bomb": "it would grow beyond 64 MB",
        "many": "it has more than 5000 files",
        "outside": "has a file that would be written outside its folder",
        "symbolic": "has a link",
        "hard": "has a link",
        "pipe": "is neither a file nor a folder",
        "long": "it has names that are too long",
        "cut": "cannot be unpacked",
    }
    archive_of_all = write_archive(tmp_path / "all.zip", {f"{name}/a.tar.gz": data for name, data in files.items()})
    assert collect(course, archive_of_all) == 1
    said = capsys.readouterr().out
    for name, why in said_of.items():
        (line,) = (line for line in said.splitlines() if line.startswith(f"  no place: {name}: "))
        assert why in line
    assert not (course.folder / "submitted").exists()


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_mutated_tar_archive_is_unpacked_or_refused(mode: str, tmp_path: Path) -> None:
    whole = _tar({"ann/x.ipynb": b"{}" * 700, "Пётр/" + "y" * 200: b"1" * 3000}, mode)
    opened = 0
    for number in range(400):
        chance, data = random.Random(number), bytearray(whole)
        for _ in range(chance.choice([1, 1, 3])):
            data[chance.randrange(len(data))] = chance.choice([0, 7, 48, 50, 255, chance.randrange(256)])
        (source := tmp_path / f"{number}.tar").write_bytes(
            data[: chance.choice([len(data), chance.randrange(len(data))])]
        )
        (into := tmp_path / str(number)).mkdir()
        try:
            found = unpack(source, into)
        except UserError:
            continue
        opened += bool(found.files)
        assert all(file.place == source or file.place.is_relative_to(into) for file in found.files)
    assert opened > 20


def test_one_wrong_lesson_does_not_make_the_others_missing(course: Course, work: Work, tmp_path: Path, capsys) -> None:
    (other,) = COURSE.read(["gradient_accumulation"])
    files = {f"student{number}/{NAME}.ipynb": work(str(number)) for number in range(5)}
    files["lost/00_first_gradient.ipynb"] = nbformat.writes(solved_notebook(other, "en"))
    assert collect(course, write_archive(tmp_path / "all.zip", files)) == 0
    said = capsys.readouterr().out
    assert f"lost: {other.file_name} taken" in said
    assert f"{other.file_name} came from lost alone: is it the wrong notebook? `autograder withdraw " in said
    assert f"no submission of {NAME}: lost\n" in said
    assert f"no submission of {other.file_name}" not in said


def test_of_a_draft_and_a_clean_copy_the_clean_one_is_graded_and_named(course: Course, capsys) -> None:
    for name, answers in (("a draft", {**SOLVED, FIRST.name: WRONG}), ("the final one", SOLVED)):
        course.hand_in("ann", answers, name=name)
    course.hand_in("bo", SOLVED, name="чистовик")
    course.hand_in("bo", {**SOLVED, FIRST.name: WRONG}, name="01 черновик")
    assert {name: each["state"] for name, each in course.grade().items()} == {"ann": "flagged", "bo": "flagged"}
    assert main(["return", str(course.folder), NAME]) == 0
    said = capsys.readouterr().out
    several = "more than one notebook with answers:"
    assert f"  ann: {several} the final one.ipynb was graded, not a draft.ipynb\n" in said
    assert f"  bo: {several} чистовик.ipynb was graded, not 01 черновик.ipynb\n" in said
