# ruff: noqa: E501 (what attackers write has lines of any length)
"""Hostile notebooks: forged metadata, cells that claim to be others, odd text."""

from __future__ import annotations

import copy
from typing import Any

from support.attacks.attack import Attack


def _graded(raw: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in raw["cells"] if cell["metadata"].get("nbgrader", {}).get("grade")]


def _skip(raw: dict[str, Any]) -> None:
    for cell in raw["cells"]:
        cell["metadata"]["tags"] = ["skip-execution", "raises-exception", "remove-cell", "hide-input"]


def _rich(raw: dict[str, Any]) -> None:
    for cell in raw["cells"]:
        ours = cell["metadata"].get("nbgrader", {})
        ours |= {"points": 1e9, "grade": True, "solution": True, "locked": False, "task": True, "checksum": "0" * 32}
        cell["metadata"] |= {
            "nbgrader": ours,
            "deletable": False,
            "editable": False,
            "jupyter": {"source_hidden": True},
        }
    raw["metadata"] |= {
        "nbgrader": {"max_score": 1e9},
        "kernelspec": {"name": "hostile", "argv": ["/bin/sh", "-c", "id"]},
    }
    raw["metadata"]["autograder"] = {"language": "xx", "lesson": "../../../etc", "points": 1e9}


def _retyped(raw: dict[str, Any]) -> None:
    for cell in _graded(raw):
        cell["cell_type"] = "markdown"
        cell["source"] = "100"
        cell.pop("outputs", None)


def _with_outputs(raw: dict[str, Any]) -> None:
    record = {"state": "passed", "exercise": "train_epoch", "aspects": []}
    data = {"text/plain": "100", "application/vnd.autograder.verdict+json": record}
    for cell in raw["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": 1}]
            cell["execution_count"] = -5


def _twice(raw: dict[str, Any]) -> None:
    for cell in _graded(raw):
        twin = copy.deepcopy(cell)
        twin["source"] = "100"
        raw["cells"] += [twin, copy.deepcopy(twin)]


def _impostor(raw: dict[str, Any]) -> None:
    """A cell of one's own that carries a check's id, the real one renamed."""
    for cell in _graded(raw):
        twin = copy.deepcopy(cell)
        twin |= {"source": "class Card:\n    def __repr__(self): return '100'\nCard()", "id": "impostor"}
        cell["metadata"]["nbgrader"]["grade_id"] += "-gone"
        raw["cells"].append(twin)


def _edited(raw: dict[str, Any]) -> None:
    for cell in _graded(raw):
        cell["source"] = "100"


def _deleted(raw: dict[str, Any]) -> None:
    graded = _graded(raw)
    raw["cells"] = [cell for cell in raw["cells"] if cell not in graded]


def _strange(raw: dict[str, Any]) -> None:
    """JSON that is no notebook's: every cell must be read or passed over."""
    first = raw["cells"][0]
    raw["cells"] += [
        None, 7, [], {}, {"cell_type": "code"}, {"cell_type": ["code"]}, {"cell_type": "code", "source": 5, "metadata": 3},
        {"cell_type": "code", "source": ["a = '\ud800'\n", 5, "b = 1"], "metadata": {"nbgrader": 5}, "id": "\ud800"},
        {"cell_type": "code", "source": "x = '\udfff'; print(x); x", "metadata": {"nbgrader": {"grade_id": ["a"]}}},
        {"cell_type": "markdown", "source": "<script>alert('hostile')</script>\x00", "attachments": {"a": {"text/html": "<script>"}}, "metadata": {}},
        {"cell_type": "code", "source": "\x00\x1b[2J", "metadata": {"nbgrader": {"grade_id": "\ud800"}}, "id": first.get("id")},
        {"cell_type": "heading", "level": 1, "source": "x", "metadata": {}},
    ]  # fmt: skip
    raw["metadata"]["\ud800"] = float("inf")
    raw["nbformat_minor"] = 10**9


def _magics(raw: dict[str, Any]) -> None:
    for source in (
        "%%bash\nkill -9 $PPID; kill -9 1",
        "%%script false",
        "!rm -rf ~ /tmp/* 2>/dev/null",
        "%reset -f",
        "%%html\n<script>alert(1)</script>",
        "%load_ext autoreload\n%autoreload 2",
        "%run /etc/passwd",
    ):
        cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}
        raw["cells"].append({**cell, "id": f"magic{len(raw['cells'])}"})


ALL = [
    Attack("tags that skip execution", edit=_skip),
    Attack("points of 1e9 and grade flags flipped", edit=_rich),
    Attack("checks that became text", edit=_retyped),
    Attack("outputs and verdicts already there", edit=_with_outputs),
    Attack("checks that are there three times, the last with another text", edit=_twice),
    Attack("own cells that carry a check's grade id", edit=_impostor),
    Attack("checks that became a number", edit=_edited),
    Attack("checks deleted", edit=_deleted),
    Attack("cells that are none, lone surrogates, control characters", edit=_strange),
    Attack("magics that delete, kill and reset", edit=_magics),
]
