"""A hundred archives from Moodle with damage or malice in them: files are taken, or it is said why not."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from fuzz.mutations import change_bytes
from fuzz.zip_files import Entry, write
from support.course import Course, files_below
from support.first_gradient import NAME
from support.lms import collect

SEED, ROUNDS = 20240901, 9  # of each mutation
ALWAYS_REFUSED = ("leads_outside", "is_absolute", "is_a_link", "grows")


def changes_bytes(entries: list[Entry], chance: random.Random) -> bytes:
    return change_bytes(write(entries), chance)


def changes_the_table(entries: list[Entry], chance: random.Random) -> bytearray:
    changed = bytearray(write(entries))
    start = changed.index(b"PK\x01\x02")
    for _ in range(chance.choice([1, 2, 5])):
        changed[chance.randrange(start, len(changed))] = chance.randrange(256)
    return changed


def is_cut(entries: list[Entry], chance: random.Random) -> bytes:
    whole = write(entries)
    return whole[: chance.randrange(len(whole))]


def has_a_wrong_field(entries: list[Entry], chance: random.Random) -> bytes:
    chance.choice(entries).break_one_field(chance)
    return write(entries)


def swaps_names(entries: list[Entry], chance: random.Random) -> bytes:
    for entry, name in zip(entries, chance.sample([each.name for each in entries], len(entries))):
        entry.name = name
    return write(entries)


def repeats_names(entries: list[Entry], chance: random.Random) -> bytes:
    return write([*entries, *(Entry.of(each.name, each.contents + b" ") for each in chance.sample(entries, 2))])


def leads_outside(entries: list[Entry], chance: random.Random) -> bytes:
    up = chance.choice([b"../evil", b"a/../../evil", b"a\\..\\..\\evil", entries[0].name + b"/../../../evil"])
    return write([*entries, Entry.of(up, b"evil")])


def is_absolute(entries: list[Entry], chance: random.Random) -> bytes:
    return write([*entries, Entry.of(chance.choice([b"/tmp/evil", b"C:\\evil", b"\\evil", b"c:evil"]), b"evil")])


def is_a_link(entries: list[Entry], chance: random.Random) -> bytes:
    link = Entry.of(b"link", chance.choice([b"/etc/passwd", b"../../secret"]))
    link.attributes = 0o120777 << 16
    return write([*entries, link])


def grows(entries: list[Entry], chance: random.Random) -> bytes:
    """Say in the table of contents that a small file is huge."""
    entries[0].size = chance.randrange(1 << 30, 0xFFFFFFF0)
    return write(entries)


def has_old_names(entries: list[Entry], chance: random.Random) -> bytes:
    """Write names in an encoding that the archive does not state."""
    encoding = chance.choice(["cp866", "cp437", "cp1251", "utf-8", "koi8-r"])
    for each in entries:
        each.name, each.flags = each.name.decode().encode(encoding, "replace"), 0
    return write(entries)


def has_a_broken_archive(entries: list[Entry], chance: random.Random) -> bytes:
    inner = changes_bytes([Entry.of(f"{NAME}.ipynb".encode(), entries[0].contents)], chance)
    return write([*entries[1:], Entry.of(entries[0].name.rpartition(b"/")[0] + "/работа.zip".encode(), inner)])


MUTATIONS: list[Callable[[list[Entry], random.Random], bytes | bytearray]] = [
    changes_bytes, changes_the_table, is_cut, has_a_wrong_field, swaps_names, repeats_names, leads_outside, is_absolute,
    is_a_link, grows, has_old_names, has_a_broken_archive,
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
    stock: Course, tmp_path: Path, mutation: Callable[..., bytes | bytearray], capsys: pytest.CaptureFixture[str]
) -> None:
    course = stock.copy(tmp_path)
    work = stock.submitted("earlier").read_bytes()
    people = enumerate(("Анна Ёлкина", "Bo Li", "Cid Müller"), 4711)
    files = {f"{who}_{at}_assignsubmission_file/{NAME}.ipynb".encode(): work + b"\n" * at for at, who in people}
    before, chance = outside(course.folder), random.Random(f"{SEED} {mutation.__name__}")
    taken = 0
    for number in range(ROUNDS):
        archive = tmp_path / f"all-{number}.zip"
        entries = [Entry.of(name, data) for name, data in files.items()]
        for entry in entries:
            entry.flags = 0x800  # names are in UTF-8
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
