"""Mutations of notebooks, of bytes, structure and format.

A mutation is `harmless` when what the student wrote is still all there: then nothing may be lost by it.
"""

from __future__ import annotations

import codecs
import copy
import json
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import nbformat
from nbformat.notebooknode import NotebookNode

from fuzz.mutations import change_bytes

SEED = 20261121
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
def other_bytes(raw: Json, chance: random.Random) -> bytes:
    return change_bytes(text(raw).encode(), chance, (b"\xed\xa0\x80", b"\xc0\xaf", b"\x1b[2J", b"\r"))


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
    """Put lists in lists anywhere: about as deep as Python can read, and deeper."""
    found, key = anywhere(raw, chance)
    found[key] = chance.choice([_DEEP, [_DEEP], {"x": _DEEP}])
    depth = chance.choice(_DEPTHS)
    left, right = chance.choice([("[", "]"), ('{"a":', "}")])
    return json.dumps(raw).replace(f'"{_DEEP}"', left * depth + "1" + right * depth)


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

_DEEP = "@deep"  # `json` itself cannot write lists in so many lists
_DEPTHS = (50, 300, 900, *range(940, 1001, 5), 5000, 100_000)
_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_JPEG = "/9j/4AAEAAD///7/wAARCAABAAEDASIAAhEBAxEB/9k="
PICTURES = {"image/png": _PNG, "image/jpeg": _JPEG}
ODD: list[Any] = [
    None, True, 0, -1, 1e300, float("nan"), 10**400, "", "x", "\ud800", "\0", [], {}, [[]], [{}], {"a": 1}, ["\udfff"],
    [None], "markdown", "code", "heading", "html", {"a.png": PICTURES},
    "2026-09-20 12:00:00 UTC", "10:00", "1 2 3",
]  # fmt: skip
OUTPUTS: list[Json] = [
    {"output_type": "stream", "name": "stdout", "text": "1\n"},
    {"output_type": "error", "ename": "E", "evalue": "x", "traceback": ["\x1b[31mE", 1]},
    {"output_type": "display_data", "data": {"image/png": _PNG, "text/plain": "x", "text/latex": "$x$"}},
    {"output_type": "execute_result", "data": {"text/html": "<table><tr><td style='x'>1</td></tr></table>"}},
    {"output_type": "display_data", "data": {"image/jpeg": _JPEG, "text/html": "<svg><style><a href='javascript:x'>"}},
]


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
    """Put odd values into fields that the grader reads."""
    fields = ["cell_type", "source", "metadata", "id", "outputs", "execution_count", "nbgrader", "attachments", "level"]
    for cell in raw["cells"]:
        field = chance.choice([*fields, "input"])
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
        cell["attachments"] = {"a.png": PICTURES}
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
    raw["cells"][0]["outputs"] = copy.deepcopy(chance.choices(OUTPUTS, k=chance.choice([1, 3, 250])))
    return raw


def bytes_of(made: bytes | str | Json) -> bytes:
    """Return the file of a notebook that a mutation made."""
    if isinstance(made, bytes):
        return made
    return (made if isinstance(made, str) else json.dumps(made)).encode("utf-8", "surrogatepass")


def mutated(honest: Json, number: int) -> tuple[str, bytes]:
    """Return the name of a mutation and the file that it makes of a notebook.

    One number always gives one file. The mutations take turns.
    """
    kinds = [*HARMFUL.items(), *HARMLESS.items()]
    name, mutation = kinds[number % len(kinds)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbformat's, on what is broken here on purpose
        return name, bytes_of(mutation(copy.deepcopy(honest), random.Random(SEED + number)))


def shown(notebook: NotebookNode) -> list[tuple[str, str, Any]]:
    """All of it that is nbgrader's meaning; a repeated cell's empty metadata is none."""
    return [(cell.cell_type, cell.source, cell.metadata.get("nbgrader") or None) for cell in notebook.cells]
