"""Notebooks that no student's program would write: each is graded or refused with a reason, and no other suffers.

A mutation is `harmless` when what the student wrote is still all there: then nothing may be lost by it.
"""

from __future__ import annotations

import codecs
import copy
import json
import os
import random
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.notebooknode import NotebookNode
from nbgrader import preprocessors
from nbgrader.api import Gradebook

from autograder import exercises
from autograder.authoring.build import COURSE
from autograder.authoring.notebooks import source_notebook, student_notebook
from autograder.authoring.source import Lesson, solutions
from autograder.grading.course.gradebook import Book, ReleasedNotebook
from autograder.grading.submission import sanitize
from autograder.grading.submission.sanitize import Unreadable
from autograder.language import LANGUAGES
from support.course import Course
from support.submissions import Submission, all_of, read

SEED, COUNT, GRADED = 20261121, 300, 60
NAME = "00_first_gradient"
Json = dict[str, Any]
Mutation = Callable[[Json, random.Random], "bytes | str | Json"]

HARMLESS: dict[str, Mutation] = {}
HARMFUL: dict[str, Mutation] = {}


def harmless(mutation: Mutation) -> Mutation:
    HARMLESS[mutation.__name__] = mutation
    return mutation


def harmful(mutation: Mutation) -> Mutation:
    HARMFUL[mutation.__name__] = mutation
    return mutation


# --------------------------------------------------------------------------------------------------------------- bytes


def text(raw: Json) -> str:
    return json.dumps(raw, ensure_ascii=False)


@harmful
def truncated(raw: Json, chance: random.Random) -> bytes:
    data = text(raw).encode()
    return data[: chance.randrange(len(data))]


@harmful
def empty(raw: Json, chance: random.Random) -> bytes:
    return chance.choice([b"", b" \n", b"\xef\xbb\xbf", b"\0" * 100])


@harmful
def garbage(raw: Json, chance: random.Random) -> bytes:
    return chance.choice([b"", b"PK\x03\x04", b"\x89PNG", b"\x1f\x8b", b"%PDF-1.7\n"]) + chance.randbytes(2000)


@harmful
def bits_flipped(raw: Json, chance: random.Random) -> bytes:
    data = bytearray(text(raw).encode())
    for _ in range(chance.randrange(1, 30)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


@harmful
def bytes_inserted(raw: Json, chance: random.Random) -> bytes:
    data = text(raw).encode()
    at = chance.randrange(len(data))
    return data[:at] + chance.choice([b"\0", b"\xff", b"\xed\xa0\x80", b"\xc0\xaf", b"\x1b[2J", b"\r"]) + data[at:]


@harmful
def wrong_encoding(raw: Json, chance: random.Random) -> bytes:
    """A letter outside ASCII is there for certain."""
    raw["cells"][0]["source"] = "# é ж"
    return text(raw).encode(chance.choice(["cp1251", "latin-1", "cp437", "utf-7"]), "replace")


@harmless
def other_unicode(raw: Json, chance: random.Random) -> bytes:
    encoding, mark = chance.choice([("utf-8", codecs.BOM_UTF8), ("utf-16", b""), ("utf-32", b""), ("utf-16-be", b"")])
    return mark + text(raw).encode(encoding)


@harmless
def reformatted(raw: Json, chance: random.Random) -> str:
    keys = list(raw)
    chance.shuffle(keys)
    return json.dumps({key: raw[key] for key in keys}, indent=chance.choice([None, 1, 4]))


@harmful
def no_object(raw: Json, chance: random.Random) -> str:
    return chance.choice(["[]", "null", "3", '"text"', json.dumps([raw]), "NaN", json.dumps(raw) * 2])


@harmful
def deep(raw: Json, chance: random.Random) -> str:
    """About as deep as Python can read, and deeper."""
    depth = chance.choice([300, 900, 950, 970, 980, 985, 990, 995, 1000, 5000, 100_000])
    value = chance.choice(["[", '{"a":']) * depth
    value += "1" + "".join({"[": "]", "{": "}"}[c] for c in reversed(value) if c in "[{")
    where = chance.choice(['"cells"', '"nbformat"', '"metadata"', '"more"'])
    return json.dumps(raw)[:-1] + f", {where}: {value}}}"


@harmful
def huge_number(raw: Json, chance: random.Random) -> str:
    number = chance.choice(["1" * 5000, "1" * 4000, "1e999", "-1e-999", "NaN", "-Infinity", "0" * 10])
    where = chance.choice(["nbformat", "nbformat_minor", "cells", "metadata"])
    return json.dumps(raw)[:-1] + f', "{where}": {number}}}'


@harmful
def duplicate_keys(raw: Json, chance: random.Random) -> str:
    more = {"cells": chance.choice([[], raw["cells"][:3], {}]), "metadata": [], "nbformat": 3, "nbformat_minor": "x"}
    key = chance.choice(list(more))
    return json.dumps(raw)[:-1] + f', "{key}": {json.dumps(more[key])}}}'


# ---------------------------------------------------------------------------------------------------------- structure

ODD: list[Any] = [None, True, 0, -1, 1e300, "", "x", "\ud800", "\0", [], {}, [[]], [{}], {"a": 1}, ["\udfff"], [None]]


def containers(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list)) and value:
        yield value
        for each in value.values() if isinstance(value, dict) else value:
            yield from containers(each)


def anywhere(raw: Json, chance: random.Random) -> tuple[Any, Any]:
    found = chance.choice(list(containers(raw)))
    return found, chance.choice(list(found) if isinstance(found, dict) else range(len(found)))


@harmful
def wrong_types(raw: Json, chance: random.Random) -> Json:
    for _ in range(chance.randrange(1, 8)):
        found, key = anywhere(raw, chance)
        found[key] = copy.deepcopy(chance.choice(ODD))
    return raw


@harmful
def wrong_fields(raw: Json, chance: random.Random) -> Json:
    """Of every kind that the grader looks at."""
    for cell in raw["cells"]:
        field = chance.choice(["cell_type", "source", "metadata", "id", "outputs", "execution_count", "nbgrader"])
        where = cell["metadata"] if field == "nbgrader" else cell
        if chance.random() < 0.5:
            where[field] = copy.deepcopy(chance.choice(ODD))
    return raw


@harmful
def keys_gone(raw: Json, chance: random.Random) -> Json:
    for _ in range(chance.randrange(1, 8)):
        found, key = anywhere(raw, chance)
        del found[key]
    return raw


@harmful
def surrogates(raw: Json, chance: random.Random) -> Json:
    for cell in raw["cells"]:
        if chance.random() < 0.3:
            cell["source"] += chance.choice(['\nprint("\ud800")', "# \udfff", "\0", "\x1b]0;title\x07", "\u202e"])
    return raw


@harmful
def cells_shuffled(raw: Json, chance: random.Random) -> Json:
    cells = raw["cells"]
    for _ in range(chance.randrange(1, 8)):
        at, to = chance.randrange(len(cells)), chance.randrange(len(cells))
        match chance.choice(["duplicate", "delete", "move", "merge", "split", "blank", "retype"]):
            case "duplicate":
                cells.insert(to, copy.deepcopy(cells[at]))
            case "delete" if len(cells) > 1:
                del cells[at]
            case "move":
                cells.insert(to, cells.pop(at))
            case "merge":
                cells[at]["source"] += "\n" + cells[to]["source"]
            case "split":
                first, second = copy.deepcopy(cells[at]), copy.deepcopy(cells[at])
                middle = len(cells[at]["source"]) // 2
                first["source"], second["source"] = first["source"][:middle], second["source"][middle:]
                cells[at : at + 1] = [first, second]
            case "blank":
                cells[at]["source"] = ""
            case "retype":
                cells[at]["cell_type"] = chance.choice(["code", "markdown", "raw", "heading", "", "CODE"])
    return raw


@harmful
def many_cells(raw: Json, chance: random.Random) -> Json:
    raw["cells"] += [{"cell_type": "code", "source": "", "metadata": {}, "id": "cell-1"}] * chance.choice([1000, 6000])
    return raw


@harmless
def sources_as_lists(raw: Json, chance: random.Random) -> Json:
    for cell in raw["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)
    return raw


@harmless
def odd_ids(raw: Json, chance: random.Random) -> Json:
    for cell in raw["cells"]:
        cell["id"] = chance.choice([*ODD, "cell-1", "cell-2", "cell-2-0", "x" * 64, "x" * 65, "../..", "ж"])
        if chance.random() < 0.2:
            del cell["id"]
    return raw


@harmless
def tags_and_attachments(raw: Json, chance: random.Random) -> Json:
    for cell in raw["cells"]:
        cell["metadata"] |= {
            "tags": chance.choice([["skip-execution"], ["raises-exception"], ["remove-cell"], "x", 1]),
            "deletable": chance.choice(ODD),
            "jupyter": {"source_hidden": True},
        }
        cell["attachments"] = {"a.png": {"image/png": "AAAA"}}
        cell["execution_count"] = chance.choice(ODD)
        cell["outputs"] = copy.deepcopy(chance.choice([ODD, [{"output_type": "error"}], None]))
    return raw


@harmless
def nbgrader_fields(raw: Json, chance: random.Random) -> Json:
    for cell in raw["cells"]:
        about = cell["metadata"].get("nbgrader", {})
        for key in chance.sample(["points", "locked", "solution", "grade", "task", "schema_version", "checksum"], 3):
            if about:
                about[key] = copy.deepcopy(chance.choice([*ODD, 1e6, 99]))
    return raw


@harmful
def nbgrader_replaced(raw: Json, chance: random.Random) -> Json:
    for cell in raw["cells"]:
        if chance.random() < 0.3:
            cell["metadata"]["nbgrader"] = copy.deepcopy(chance.choice(ODD))
    return raw


@harmful
def grade_ids_swapped(raw: Json, chance: random.Random) -> Json:
    ours = [cell["metadata"]["nbgrader"] for cell in raw["cells"] if "nbgrader" in cell["metadata"]]
    one, other = chance.sample(ours, 2)
    one["grade_id"], other["grade_id"] = other["grade_id"], one["grade_id"]
    return raw


@harmless
def odd_metadata(raw: Json, chance: random.Random) -> Json:
    language = raw["metadata"].get("autograder", {})
    raw["metadata"] = {
        "kernelspec": chance.choice([*ODD, {"name": "ir", "language": "R", "display_name": "R"}]),
        "language_info": chance.choice([*ODD, {"name": "R", "codemirror_mode": ODD}]),
        "autograder": chance.choice([language, {"language": []}, {"lesson": "../..", "language": "de"}, *ODD]),
        "celltoolbar": ODD,
    }
    return raw


# ------------------------------------------------------------------------------------------------------------ formats


@harmless
def minor_format(raw: Json, chance: random.Random) -> Json:
    raw["nbformat_minor"] = chance.choice([0, 1, 2, 3, 4, 5, 99, None, "5"])
    return raw


@harmful
def format_named(raw: Json, chance: random.Random) -> Json:
    raw["nbformat"] = chance.choice([0, 1, 2, 3, 5, 2.0, 3.0, "4", *ODD])
    return raw


@harmless
def format_3(raw: Json, chance: random.Random) -> str:
    return nbformat.v3.writes_json(nbformat.convert(nbformat.from_dict(raw), 3))


@harmful
def format_3_broken(raw: Json, chance: random.Random) -> Json:
    old = json.loads(format_3(raw, chance))  # type: ignore[arg-type]
    if chance.random() < 0.2:
        old["nbformat"] = 2
    return wrong_types(old, chance) if chance.random() < 0.7 else keys_gone(old, chance)  # type: ignore[return-value]


@harmless
def many_outputs(raw: Json, chance: random.Random) -> Json:
    output = {"output_type": "stream", "name": "stdout", "text": "x" * 100_000}
    raw["cells"][-1]["outputs"] = [output] * chance.choice([10, 50])
    return raw


def mutated(honest: Json, number: int) -> tuple[str, bytes]:
    """The name of a mutation and what it makes of the notebook: the same for the same number, each name in turn."""
    kinds = [*HARMFUL.items(), *HARMLESS.items()]
    name, mutation = kinds[number % len(kinds)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbformat's, on what is broken here on purpose
        made = mutation(copy.deepcopy(honest), random.Random(SEED + number))
    if isinstance(made, bytes):
        return name, made
    return name, (made if isinstance(made, str) else json.dumps(made)).encode("utf-8", "surrogatepass")


# ---------------------------------------------------------------------------------------------------------- sanitizing


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    (lesson,) = COURSE.read(["first_gradient"])
    return Course.make(tmp_path_factory.mktemp("fuzz") / "calculus", lesson, submissions=all_of(lesson))


@pytest.fixture(scope="module")
def honest(course: Course) -> Json:
    made: Json = json.loads(nbformat.writes(course.submission("solved-en").notebook(read(course.released("en")))))
    for cell in made["cells"]:
        cell["source"] = "".join(cell["source"])
    return made


@pytest.fixture(scope="module")
def released(course: Course) -> ReleasedNotebook:
    with course.gradebook() as book:
        return Book(book, None).released(NAME)[NAME]


def shown(notebook: NotebookNode) -> list[tuple[str, str, Any]]:
    """All of it that is nbgrader's meaning; a repeated cell's empty metadata is none."""
    return [(cell.cell_type, cell.source, cell.metadata.get("nbgrader") or None) for cell in notebook.cells]


def sanitized(path: Path, released: ReleasedNotebook) -> sanitize.Sanitized | str:
    """The notebook made anew, or why it cannot be."""
    try:
        return sanitize.sanitize(sanitize.read(path), released.cells, released.kernel)
    except Unreadable as error:
        return str(error)


def check_reason(reason: str, file: str) -> None:
    assert file in reason
    assert len(reason) > len(file) + 5
    assert not any(word in reason for word in ("Traceback", "\n", "our error", "None", "Errno"))


def test_mutated_notebooks(honest: Json, released: ReleasedNotebook, tmp_path: Path) -> None:
    path = tmp_path / f"{NAME}.ipynb"
    right = shown(sanitize.sanitize(honest, released.cells, released.kernel).notebook)
    outcomes = dict.fromkeys([*HARMFUL, *HARMLESS], 0)
    for number in range(COUNT):
        name, data = mutated(honest, number)
        path.write_bytes(data)
        clean = sanitized(path, released)
        if isinstance(clean, str):
            assert name in HARMFUL, (number, name, clean)
            check_reason(clean, path.name if "more than can be run" not in clean else "")
            continue
        outcomes[name] += 1
        check_clean(clean, released)
        if name in HARMLESS:
            assert shown(clean.notebook) == right, (number, name)
    refused = {name for name, count in outcomes.items() if not count}
    assert refused >= {"truncated", "empty", "garbage", "wrong_encoding", "no_object", "format_named"}
    assert refused <= {*HARMFUL} - {"wrong_types", "wrong_fields", "keys_gone", "surrogates", "cells_shuffled", "deep"}


def check_clean(clean: sanitize.Sanitized, released: ReleasedNotebook) -> None:
    """What can be run, written and read again, and has of each cell that was handed out at most one, as it was."""
    notebook = nbformat.reads(nbformat.writes(clean.notebook), as_version=4)
    nbformat.validate(notebook)
    nbformat.writes(notebook).encode()
    names = [cell.metadata.nbgrader.grade_id for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert sorted([*names, *clean.missing]) == sorted(released.cells)
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"nbgrader"}
        if "nbgrader" in cell.metadata:
            known = released.cells[cell.metadata.nbgrader.grade_id]
            assert cell.cell_type == known.cell_type
            assert cell.source == known.source or not known.locked
            assert cell.metadata.nbgrader == known.metadata(cell.metadata.nbgrader.grade_id)


# ------------------------------------------------------------------------------------------------- what nbgrader does


def theirs(raw: NotebookNode, about: Json) -> NotebookNode:
    """nbgrader's own steps."""
    made = copy.deepcopy(raw)
    for step in ("ClearOutput", "DeduplicateIds", "OverwriteKernelspec", "OverwriteCells"):
        made, _ = getattr(preprocessors, step)().preprocess(made, {"nbgrader": about})
    return made


def handed_in(lesson: Lesson) -> list[Submission]:
    if lesson.name == "gradient_accumulation":
        return all_of(lesson)
    solved = {name: solutions(exercise)[0] for name, exercise in exercises.load(lesson.name).items()}
    return [Submission(f"{len(answers)}", language, answers) for answers in (solved, {}) for language in LANGUAGES]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An empty gradebook."""
    url = f"sqlite:///{tmp_path_factory.mktemp('book') / 'gradebook.db'}"
    with Gradebook(url):
        return url


@pytest.mark.parametrize("lesson", COURSE.read(), ids=lambda lesson: lesson.name)
def test_sanitized_as_nbgrader_does(lesson: Lesson, book: str) -> None:
    source = source_notebook(lesson, COURSE.exercises(lesson))
    notebooks = {language: student_notebook(source, language) for language in LANGUAGES}
    about = {"notebook": lesson.name, "assignment": lesson.name, "db_url": book}
    made, resources = copy.deepcopy(notebooks["en"]), {"nbgrader": about}
    with Gradebook(book) as opened:
        opened.add_assignment(lesson.name)
        for step in (preprocessors.ComputeChecksums(), preprocessors.SaveCells()):
            made, resources = step.preprocess(made, resources)
        released = Book(opened, None).released(lesson.name)[lesson.name]
    assert released.cells
    for submission in handed_in(lesson):
        raw = submission.notebook(notebooks[submission.language])
        clean, other = sanitize.sanitize(raw, released.cells, released.kernel), theirs(raw, about)
        ours = clean.notebook  # nbgrader puts no deleted check back
        ours.cells = [c for c in ours.cells if c.metadata.get("nbgrader", {}).get("grade_id") not in clean.restored]
        assert shown(ours) == shown(other), submission.student
        assert ours.metadata.get("kernelspec") == other.metadata.get("kernelspec")


# ------------------------------------------------------------------------------------------------------------ grading


def odd_folders(submitted: Path, honest: Json) -> dict[str, str]:
    """Folders with something else than a notebook in them, and what is said of each; nothing where it is graded."""
    good = json.dumps(honest)

    def folder(student: str) -> Path:
        made = submitted / student / NAME
        made.mkdir(parents=True)
        return made / f"{NAME}.ipynb"

    folder("a-directory").mkdir()
    os.mkfifo(folder("a-fifo"))
    folder("a-link").symlink_to("/etc/passwd")
    folder("a-link-to-nowhere").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as end:
        place = folder("a-socket")
        before = Path.cwd()
        os.chdir(place.parent)  # its whole path would be too long for a socket
        end.bind(place.name)
        os.chdir(before)
    folder("nothing")
    folder("another-name").with_name("Homework (1).ipynb").write_text(good)
    folder("too-large").write_bytes(b"[" + b" " * sanitize.LARGEST + b"]")
    more = folder("more-files")
    more.write_text(good)
    for name in ("torch.py", "autograder.py", ".autograder.json", "sitecustomize.py", "a\nb", "x" * 200):
        more.with_name(name).write_text("raise SystemExit")
    os.mkfifo(more.with_name("fifo"))
    more.with_name("link").symlink_to("/")
    more.with_name("exercises").mkdir()
    no_time = folder("no-time")
    no_time.write_text(good)
    no_time.with_name("timestamp.txt").write_text("yesterday, honestly")
    time_link = folder("linked-time")
    time_link.write_text(good)
    time_link.with_name("timestamp.txt").symlink_to("/etc/passwd")
    folder("<b>\x1b[2J\u202e name").write_text(good)
    outputs = copy.deepcopy(honest)
    outputs["cells"][-1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 50_000_000}]
    folder("50-mb").write_text(json.dumps(outputs))
    return {
        "a-directory": "no regular file",
        "a-fifo": "no regular file",
        "a-link": "it is a link",
        "a-link-to-nowhere": "it is a link",
        "a-socket": "cannot be opened",
        "nothing": "no notebook",
        "another-name": "",
        "too-large": "MB are read",
        "more-files": "",
        "no-time": "holds no time",
        "linked-time": "holds no time",
        "<b>\x1b[2J\u202e name": "",
        "50-mb": "",
    }


def test_all_of_it_is_graded(course: Course, honest: Json) -> None:
    submitted = course.folder / "submitted"
    said = odd_folders(submitted, honest)
    names: dict[str, str] = {}
    for number in range(GRADED):
        name, data = mutated(honest, number)
        student = f"fuzz-{number:02}"
        course.hand_in(student, "").write_bytes(data)
        names[student] = name
    assert {*names.values()} == {*HARMFUL, *HARMLESS}
    for number in range(5):
        course.hand_in(f"{'az'[number % 2]}-honest-{number}", json.dumps(honest))
    command = [sys.executable, "-m", "autograder.cli", "grade", str(course.folder)]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=170)
    assert "Traceback" not in done.stderr
    results = {result["student"]: result for result in json.loads(done.stdout)[NAME]}
    assert done.returncode == 1
    assert set(results) == {each.name for each in submitted.iterdir()}
    full = results["a-honest-0"]["score"]
    assert full
    for student, result in results.items():
        reasons = "\n".join(result["reasons"])
        assert result["state"] in ("graded", "flagged", "failed"), student
        assert not any(word in reasons for word in ("Traceback", "our error", "Errno", "None")), (student, reasons)
        assert (result["state"] == "failed") == (result["score"] is None), student
        assert bool(reasons) == (result["state"] != "graded"), student
        assert (result["score"] or 0) <= full, student
        if "honest" in student or names.get(student) in HARMLESS:
            assert (result["state"], result["score"]) == ("graded", full), (student, names.get(student), reasons)
        if student in said:
            assert said[student] in reasons, student
            assert (result["state"] == "graded") == (not said[student]), student
    table = subprocess.run(command, capture_output=True, timeout=170)  # what failed is tried again, and fails again
    assert table.returncode == 1
    assert b"\x1b" not in table.stdout
    with course.gradebook() as book:
        scores = {each.student.id: each.score for each in book.assignment_submissions(NAME)}
    assert scores == {name: result["score"] for name, result in results.items() if result["score"] is not None}
