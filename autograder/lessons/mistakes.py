"""Mistakes: wrong answers to an exercise, as cells of the file `mistakes/EXERCISE.py`.

    # %%
    import torch  # shared by the cells below

    # %% mistake="never_clears" theme="accumulation"
    # The gradient that was there before stayed in the sum. It has to be cleared before the loop.
    # В сумме остался прежний градиент. Его нужно обнулить до цикла.
    def accumulate_equal(model, batches): ...

    # %% mistake="never_zeroes" like="never_clears"
    def accumulate_equal(model, batches): ...

A cell defines the name that its exercise asks for, as an answer does. Two comments say what a card says, in English and
in Russian; a long one goes on in lines with four more spaces. `like` names a mistake with the same sentences and theme.
`plain="yes"` marks a program that does nothing of the exercise: it earns at most a quarter of the points. In a table of
predictions, `solution` is the right table. No process that runs student code reads these files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..cells import BrokenSource, Cell, define, execute, read_cells
from ..checking.exercise import Exercise
from ..exercises import globals_for, path_of
from ..exercises.key import Misconception
from ..exercises.theme import Theme
from ..language import Text

KEYS = {"mistake", "theme", "like", "plain"}
_SENTENCE = r"# (?P<{0}>\S.*(?:\n# {{5,}}\S.*)*)\n"
_SENTENCES = re.compile(_SENTENCE.format("en") + _SENTENCE.format("ru"))


@dataclass(frozen=True)
class Mistakes:
    """The mistakes of one exercise, read from the file `path` in `mistakes/`.

    `cells` maps the name of a mistake to the cell with the wrong answer. `named` maps it to the sentence for a card and
    the theme. `shared` are the cells of the file before the first mistake, which every mistake uses.
    """

    path: Path
    shared: list[Cell] = field(default_factory=list)
    cells: dict[str, Cell] = field(default_factory=dict)
    named: dict[str, Misconception] = field(default_factory=dict)

    @property
    def plain(self) -> list[str]:
        """The names of the mistakes that are plain programs."""
        return [name for name, cell in self.cells.items() if cell.metadata.get("plain") == "yes"]

    def code(self, name: str) -> str:
        """Return the code of a mistake and of what it shares with others, without its sentences."""
        return "\n".join([*(each.source for each in self.shared), self.own_code(name)])

    def own_code(self, name: str) -> str:
        """Return the code of a mistake alone, without its sentences."""
        cell = self.cells[name]
        return cell.source if "like" in cell.metadata else _SENTENCES.sub("", cell.source, count=1)

    def program(self, name: str, asks: str, solution: Any = None) -> Any:
        """Run a mistake's cell, and return the function, class or table that it calls `asks`.

        `solution` is the right answer. The cell can use it under that name.
        Raises BrokenSource if a cell raises, or if it does not define `asks`.
        """
        namespace = {**globals_for(self.path.parent), "__name__": "__main__", "solution": solution}
        for each in self.shared:  # anew for each mistake: as in a learner's notebook, helpers share its globals
            execute(self.path, each, namespace)
        return define(self.path, self.cells[name], namespace, asks)


def path_of_mistakes(exercise: Exercise) -> Path:
    return path_of(exercise) / "mistakes" / f"{exercise.name}.py"


def mistakes_of(exercise: Exercise) -> Mistakes:
    """Return the mistakes of an exercise. There are none if their file is missing.

    Raises BrokenSource if the file is malformed.
    """
    path = path_of_mistakes(exercise)
    found = Mistakes(path)
    for cell in read_cells(path, KEYS) if path.is_file() else ():
        name = cell.metadata.get("mistake")
        if name is None:
            if found.cells or cell.metadata:
                raise BrokenSource(path, cell.line, 'name the mistake: `# %% mistake="NAME" theme="THEME"`')
            found.shared.append(cell)
            continue
        if name in found.cells:
            raise BrokenSource(path, cell.line, f"there are two mistakes called {name}")
        found.cells[name], found.named[name] = cell, _misconception(path, cell, found)
    return found


def modules_for_mistakes(path: Path) -> dict[str, str]:
    """Return the sources of the modules in the lesson's package at `path` that only mistakes import.

    They are `mistakes/common.py` and the files in `programs/`. Returns a dict from module name, such as
    "programs.is_right", to source.
    """
    files = [path / "mistakes" / "common.py", *sorted((path / "programs").glob("*.py"))]
    sources = {f"{file.parent.name}.{file.stem}": file.read_text(encoding="utf-8") for file in files if file.is_file()}
    return {"mistakes": "", "programs": "", **sources}


def _misconception(path: Path, cell: Cell, above: Mistakes) -> Misconception:
    """Return sentence and theme of the mistake in a cell. `above` holds the mistakes above the cell.

    Raises BrokenSource if the cell lacks a sentence or a theme.
    """
    like, theme = cell.metadata.get("like"), cell.metadata.get("theme")
    if like is not None:
        if like not in above.named or theme is not None:
            raise BrokenSource(path, cell.line, f'like="{like}" names a mistake above, and takes its theme, too')
        return above.named[like]
    said = _SENTENCES.match(cell.source + "\n")
    if said is None:
        wrong = "say what the mistake is: a comment in English, and below it one in Russian"
        raise BrokenSource(path, cell.line + 1, wrong)
    if theme not in list(Theme):
        raise BrokenSource(path, cell.line, f'give the mistake one of these themes: theme="{" | ".join(Theme)}"')
    return Misconception(Text(*(re.sub(r"\n# +", " ", said[each]) for each in ("en", "ru"))), Theme(theme))
