"""A hundred archives from Moodle with damage or malice in them: files are taken, or it is said why not."""

from __future__ import annotations

import io
import random
import shutil
import stat
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from support.course import Course, files_below
from support.first_gradient import NAME
from support.lms import collect

SEED, ROUNDS = 20240901, 9  # of each mutation
ALWAYS_REFUSED = ("leads_outside", "is_absolute", "is_a_link", "grows")
Entries = list[tuple[str, bytes, int]]  # path, contents, external attributes


def pack(entries: Entries) -> bytearray:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data, attributes in entries:
            entry = zipfile.ZipInfo(path, (2024, 9, 9, 12, 0, 0))
            entry.external_attr, entry.compress_type = attributes, zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return bytearray(file.getvalue())


def changes_bytes(entries: Entries, chance: random.Random) -> bytearray:
    data = pack(entries)
    for _ in range(chance.choice([1, 3, 30, 300])):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return data


def changes_the_table(entries: Entries, chance: random.Random) -> bytearray:
    data = pack(entries)
    start = data.index(b"PK\x01\x02")
    for _ in range(chance.choice([1, 2, 5])):
        data[chance.randrange(start, len(data))] = chance.randrange(256)
    return data


def is_cut(entries: Entries, chance: random.Random) -> bytearray:
    data = pack(entries)
    return data[: chance.randrange(len(data))]


def has_wrong_sizes(entries: Entries, chance: random.Random) -> bytearray:
    data = pack(entries)
    at = data.index(b"PK\x01\x02")
    for _ in range(chance.randrange(len(entries))):
        at = data.index(b"PK\x01\x02", at + 4)
    struct.pack_into("<I", data, at + chance.choice([16, 20, 24, 42]), chance.choice([0, 7, 1 << 20, 0xFFFFFFFF]))
    return data


def swaps_names(entries: Entries, chance: random.Random) -> bytearray:
    names = chance.sample([path for path, _, _ in entries], len(entries))
    return pack([(name, data, attributes) for name, (_, data, attributes) in zip(names, entries)])


def repeats_names(entries: Entries, chance: random.Random) -> bytearray:
    return pack([*entries, *((path, data + b" ", 0) for path, data, _ in chance.sample(entries, 2))])


def leads_outside(entries: Entries, chance: random.Random) -> bytearray:
    up = chance.choice(["../evil", "a/../../evil", "a\\..\\..\\evil", f"{entries[0][0]}/../../../evil"])
    return pack([*entries, (up, b"evil", 0)])


def is_absolute(entries: Entries, chance: random.Random) -> bytearray:
    return pack([*entries, (chance.choice(["/tmp/evil", "C:\\evil", "\\evil", "c:evil"]), b"evil", 0)])


def is_a_link(entries: Entries, chance: random.Random) -> bytearray:
    target = chance.choice([b"/etc/passwd", b"../../secret"])
    return pack([*entries, (f"link{chance.randrange(9)}", target, (stat.S_IFLNK | 0o777) << 16)])


def grows(entries: Entries, chance: random.Random) -> bytearray:
    """The table of contents says that a small file is huge."""
    data = pack(entries)
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, chance.randrange(1 << 30, 0xFFFFFFF0))
    return data


def has_old_names(entries: Entries, chance: random.Random) -> bytearray:
    """Names are in an encoding that the archive does not state."""
    encoding = chance.choice(["cp866", "cp437", "cp1251", "utf-8", "koi8-r"])
    renamed = {}
    for at, (path, _, _) in enumerate(entries):
        raw = path.encode(encoding, "replace")
        renamed[bytes([65 + at]) * len(raw)] = raw
    data = bytes(pack([(plain.decode(), *rest) for plain, (_, *rest) in zip(renamed, entries)]))
    for plain, raw in renamed.items():
        data = data.replace(plain, raw)
    return bytearray(data)


def has_broken_inner(entries: Entries, chance: random.Random) -> bytearray:
    inner = changes_bytes([(f"{NAME}.ipynb", entries[0][1], 0)], chance)
    return pack([*entries[1:], (f"{entries[0][0].rpartition('/')[0]}/работа.zip", bytes(inner), 0)])


MUTATIONS: list[Callable[[Entries, random.Random], bytearray]] = [
    changes_bytes, changes_the_table, is_cut, has_wrong_sizes, swaps_names, repeats_names, leads_outside, is_absolute,
    is_a_link, grows, has_old_names, has_broken_inner,
]  # fmt: skip


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course with one assignment only: there is nothing else to compare each notebook with."""
    course = Course.make(tmp_path_factory.mktemp("mutated") / "course", languages=["en"])
    for folder in (course.folder / "source").iterdir():
        if folder.name != NAME:
            shutil.rmtree(folder)
    lines = ["id,name,lms", "ann,Анна Ёлкина,", "bo,Bo Li,", "cid,Cid Müller,"]
    (course.folder / "students.csv").write_text("\n".join(lines), encoding="utf-8")
    course.hand_in("earlier", {}, came="2024-09-01 00:00:00 UTC")
    return course


def outside(folder: Path) -> Mapping[str, bytes]:
    """What no archive may change: everything above the course, and its files that are not for submissions."""
    files = {path: data for path, data in files_below(folder.parent).items() if not path.startswith("all-")}
    ours = tuple(f"{folder.name}/{name}/" for name in ("attempts", "submitted", "unplaced", ".autograder"))
    return {path: data for path, data in files.items() if not path.startswith(ours) or "/earlier/" in path}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[each.__name__ for each in MUTATIONS])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_files_are_taken_or_it_is_said_why_not(
    stock: Course, tmp_path: Path, mutation: Callable[..., bytearray], capsys: pytest.CaptureFixture[str]
) -> None:
    course = stock.copy(tmp_path)
    work = stock.submitted("earlier").read_bytes()
    entries: Entries = [
        (f"{who}_{at}_assignsubmission_file/{NAME}.ipynb", work + b"\n" * at, 0)
        for at, who in enumerate(("Анна Ёлкина", "Bo Li", "Cid Müller"), 4711)
    ]
    before, chance = outside(course.folder), random.Random(f"{SEED} {mutation.__name__}")
    taken = 0
    for number in range(ROUNDS):
        archive = tmp_path / f"all-{number}.zip"
        archive.write_bytes(mutation(entries, chance))
        status = collect(course, archive)
        said = capsys.readouterr()
        assert said.err == ""
        assert (status == 0) == (" no place: " not in said.out and "not collected" not in said.out), said.out
        if "not collected" in said.out:
            assert said.out.startswith(f"{archive.name}: not collected: ")
            assert said.out.count("\n") == 1
        else:
            taken += " submissions: " in said.out
        assert outside(course.folder) == before
        assert not list((course.folder / ".autograder").glob("collect-*"))
    refused = mutation.__name__ in ALWAYS_REFUSED
    assert (taken == 0) == refused or mutation is is_cut
