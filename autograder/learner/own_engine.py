"""The learner's own engine: a file that grows with each passed step.

The file is `my_engine.py` in the folder of the history. It holds the course's class, the learner's steps and a trial,
each under a line with its name and digest. A part that no longer fits its digest was edited by hand, and stays.
"""

from __future__ import annotations

import builtins
import linecache
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from ..bound_names import bound_names
from ..history import folder
from ..language import Text
from ..lessons.needed_code import needed_code, used_names
from ..lessons.source import SOURCES, source_digest
from ..messages.learners import message
from ..session import SESSION, being_graded
from .replies import Reply

FILE = "my_engine.py"
STEPS = (
    *("four_rules", "walk_nodes", "train_engine", "stop_recording", "free_as_you_walk", "judge_rule"),
    *("hooks_and_freeing", "recorded_rules", "compute_again", "own_engine"),
)
_GIVEN, _TRIAL = "value", "trial"  # parts that the course writes
_ORDER = (_GIVEN, *STEPS, _TRIAL)
_LAST = STEPS[-1]
_JOINED = (_LAST, _TRIAL)
_PART = re.compile(r"^# --- (\w+) \(([0-9a-f]{8})\) ---\n(.*?)\n*(?=^# --- \w+ \(|\Z)", re.M | re.S)


def keep_step(name: str, source: str) -> bool:
    """Put the source of a passed step into the learner's engine.

    Returns False if the learner has edited this step in the file: it stays as it is.
    Raises OSError if the file cannot be read or written.
    """
    parts = _read(folder() / FILE)
    new = {part: _given(part) for part in (_GIVEN, _TRIAL)} | {name: _with_needed(source)}
    edited = {part for part, (digest, text) in parts.items() if source_digest(text) != digest}
    parts |= {part: (source_digest(text), text) for part, text in new.items() if part not in edited}
    _write(folder() / FILE, _joined(parts))
    return name not in edited


def _joined(parts: Mapping[str, tuple[str, str]]) -> str:
    """Return the text of a file with `parts`, a dict from the name of a part to its digest and text."""
    return "".join(f"# --- {part} ({parts[part][0]}) ---\n{parts[part][1]}\n\n\n" for part in _ORDER if part in parts)


def _with_needed(source: str) -> str:
    """Return the source of a step, preceded by what it takes from other cells of the notebook."""
    known = {*dir(builtins), *bound_names(source), *bound_names(_given(_GIVEN)), *STEPS}
    if used_names(source) <= known:
        return source.strip()
    cells = [run.source for run in SESSION.cells.values() if run.source.strip() != source.strip()]
    return "\n\n\n".join([*needed_code(cells, "", source), source.strip()])


def _given(part: str) -> str:
    return (SOURCES / "own_engine" / f"{part}.py").read_text(encoding="utf-8").strip()


def _read(path: Path) -> dict[str, tuple[str, str]]:
    """Return a dict from the name of a part to its digest and text. It is empty without a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    return {name: (digest, source.strip()) for name, digest, source in _PART.findall(text)}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(".new")
    whole.write_text(text.rstrip() + "\n", encoding="utf-8")
    os.replace(whole, path)


def use_mine() -> Reply:
    """Put the steps that you have passed in place of the course's, as far as this notebook has them.

    Without such steps, and while a notebook is graded, the course's engine stays.
    """
    namespace = sys._getframe(1).f_globals
    parts = {} if being_graded() else _read(folder() / FILE)
    said, used = [], list[str]()
    for name in (step for step in STEPS if step in parts and step in namespace):
        given, file = namespace[name], f"<{FILE}: {name}>"
        source = parts[name][1]
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file  # for tracebacks
        try:
            exec(compile(source, file, "exec"), namespace)
            used.append(f"`{name}`")
        except Exception as error:  # an edit by hand
            namespace[name] = given
            said.append(message("own_engine.broken", name=name, error=f"{type(error).__name__}: {error}"))
    mine = message("own_engine.mine", names=", ".join(used)) if used else message("own_engine.given")
    return Reply((mine, *said))


def save_mine() -> Reply:
    """Write your engine beside this notebook, as `my_engine.py`, which runs and can be imported.

    The class of the last lesson joins the steps. Once it is there, the file leaves out what it replaces.
    """
    mine, here = folder() / FILE, Path.cwd() / FILE
    if not mine.is_file():
        return Reply((message("own_engine.none"),))
    text, parts, more = mine.read_text(encoding="utf-8"), _read(mine), list[Text]()
    if _LAST in parts:
        text = "import torch\n\n\n" + _joined({part: parts[part] for part in _JOINED if part in parts})
        more.append(message("own_engine.joined", path=str(mine)))
    edited = any(source_digest(text) != digest for digest, text in _read(here).values())
    if edited and here.read_text(encoding="utf-8").rstrip() != text.rstrip():
        return Reply((message("own_engine.edited", path=str(here)),))
    _write(here, text)
    return Reply((message("own_engine.saved", path=str(here)), *more, f"{Path(sys.executable).name} {FILE}"))
