"""Files that students handed in instead of the notebook, after public reports.

Each function gets the solved notebook of lesson 00 as a dict, and returns the contents of the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]


def cyrillic_letter_in_a_key(notebook: Json) -> bytes:
    """Type a letter in a key of the table of predictions that looks like x."""
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "answer-predict_chain":
            cell["source"] = "".join(cell["source"]).replace("x.grad", "\u0445.grad")
    return json.dumps(notebook).encode()


def lfs_pointer(notebook: Json) -> bytes:
    return b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"


def link_text(notebook: Json) -> bytes:
    return b"https://colab.research.google.com/drive/1AbCdEf?usp=sharing"


def merge_conflict(notebook: Json) -> bytes:
    """Put git's conflict markers around an execution count."""
    whole, line = json.dumps(notebook, indent=1), '   "execution_count": null,\n'
    assert line in whole
    ours, theirs = line.replace("null", "7"), line.replace("null", "12")
    return whole.replace(line, f"<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> main\n", 1).encode()


def nul_bytes_at_the_end(notebook: Json) -> bytes:
    return json.dumps(notebook).encode() + bytes(4096)


def only_nul_bytes(notebook: Json) -> bytes:
    return bytes(21844)


def other_lesson_under_this_name(notebook: Json) -> bytes:
    """Cut the notebook of lesson 03 to one cell."""
    ours = {"grade_id": "answer-train_epoch", "solution": True, "grade": False, "locked": False, "schema_version": 3}
    cell = {"cell_type": "code", "metadata": {"nbgrader": ours}, "source": "x = 1", "outputs": []}
    notebook["metadata"]["autograder"] = {
        "lesson": "gradient_accumulation",
        "assignment": "03_gradient_accumulation",
        "language": "en",
    }
    notebook["cells"] = [{**cell, "execution_count": None}]
    return json.dumps(notebook).encode()


def web_page(notebook: Json) -> bytes:
    return b"\n\n<!DOCTYPE html>\n<html><head><title>00_first_gradient.ipynb at main</title></head></html>"


def whole_notebook_named_txt(notebook: Json) -> bytes:
    """Change nothing: a browser has added .txt to the name."""
    return json.dumps(notebook).encode()


INSTEAD: dict[str, Callable[[Json], bytes]] = {
    each.__name__: each
    for each in (
        cyrillic_letter_in_a_key, lfs_pointer, link_text, merge_conflict, nul_bytes_at_the_end, only_nul_bytes,
        other_lesson_under_this_name, web_page, whole_notebook_named_txt,
    )
}  # fmt: skip
