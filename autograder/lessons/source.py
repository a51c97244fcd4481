"""Lesson sources: a reader of the files in `notebooks/lessons`.

A lesson source is a file of cells. The attribute `tags` is "en" or "ru" for prose, "fact" for an assertion that backs
the prose, "picture" for a plot. A cell of an exercise has one of the attributes `answer`, `given`, `alternative`,
`check` and `written`. The attribute's value is the exercise's name. The cell of a question, `written`, holds the rubric
and a model answer in English, and below a line `---` the same in Russian. The attribute `explains` names the exercise
whose answer a text of prose gives away: up to its first heading the text is folded. The attribute `include` lists files
beside the lesson source, without `.py`, that make up a cell of code. The tag "folded" hides a cell's code. The tag
"try" is for prose whose first paragraph asks a learner to change something: the other paragraphs are folded. The
attribute `alt` describes a figure of matplotlib to those who do not see it, in English, and behind " | " in Russian.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..cells import ROLES, BrokenSource, Cell, read_cells
from ..exercises import PACKAGED, bare
from ..language import Text

# nbgrader's config imports this module, and needs no torch.
if TYPE_CHECKING:
    from ..checking.exercise import Exercise

REPOSITORY = Path(__file__).parents[2]
_PACKAGED = PACKAGED / "notebooks"  # where the wheel has them; the sandbox hides this folder
NOTEBOOKS = _PACKAGED if _PACKAGED.is_dir() else REPOSITORY / "notebooks"
SOURCES = NOTEBOOKS / "lessons"
KEYS = {*ROLES, "tags", "of", "needs", "about", "explains", "minutes", "points", "include", "alt"}
STUB = "# YOUR CODE HERE / ВАШ КОД ЗДЕСЬ\nraise NotImplementedError"

# The last line of a check cell. In the released cell, the grader reads the exercise's name from it. In a student's own
# copy of the release, it also has the number of the student's table.
CHECK = re.compile(r"""^check\(["'](?P<name>\w+)["'](?:, personal=(?P<number>\d{1,9}))?\)\s*\Z""", re.M)

_SOLUTION = re.compile(r"^(?P<indent>[ \t]*)### BEGIN SOLUTION\n.*?^[ \t]*### END SOLUTION(?:\n|\Z)", re.M | re.S)


@dataclass(frozen=True)
class Lesson:
    """A lesson source, read into cells."""

    path: Path
    cells: list[Cell] = field(repr=False)

    @property
    def file_name(self) -> str:
        return self.path.stem

    @property
    def name(self) -> str:
        return bare(self.path.stem)

    @property
    def files(self) -> Path:
        """The folder of the lesson's data files.

        It is beside the lesson source and has the same name without `.py`.
        """
        return self.path.with_suffix("")

    @property
    def needs(self) -> str:
        """The numbers of the lessons that a learner needs first, as stated in the first cell."""
        return str(self.cells[0].metadata.get("needs", "")) if self.cells else ""

    @property
    def about(self) -> dict[str, str]:
        """A dict from language to the line that says what the lesson is about, as stated in its first cells."""
        return {cell.language or "": str(cell.metadata["about"]) for cell in self.cells if "about" in cell.metadata}

    def titles(self) -> dict[str, str]:
        """Return a dict from language to the title of the lesson."""
        found: dict[str, str] = {}
        for cell in self.cells:
            heading = re.match(r"# (.+)", cell.source)
            if cell.language and cell.kind == "markdown" and heading:
                found.setdefault(cell.language, heading[1].strip())
        return found

    def with_role(self, role: str) -> Iterator[tuple[str, Cell]]:
        """Yield exercise name and cell for each cell with the attribute `role`, in order."""
        for cell in self.cells:
            if cell.role and cell.role[0] == role:
                yield cell.role[1], cell

    def of(self, role: str, name: str) -> list[Cell]:
        return self._by_role.get((role, name), [])

    @cached_property
    def _by_role(self) -> dict[tuple[str, str], list[Cell]]:
        """A dict from role and exercise name to cells."""
        found: dict[tuple[str, str], list[Cell]] = {}
        for cell in self.cells:
            if cell.role:
                found.setdefault(cell.role, []).append(cell)
        return found


def read(path: Path) -> Lesson:
    """Return the lesson source at `path`, read into cells.

    Raises BrokenSource if the file is malformed.
    Raises OSError if it cannot be read.
    """
    cells = [_with_included(path, cell) for cell in read_cells(path, KEYS)]
    for cell in cells:
        if cell.source.count("### BEGIN SOLUTION") != cell.source.count("### END SOLUTION"):
            wrong = "every `### BEGIN SOLUTION` needs its `### END SOLUTION` on a line of its own"
            raise BrokenSource(path, cell.line, wrong)
    return Lesson(path, cells)


def _with_included(path: Path, cell: Cell) -> Cell:
    """Return a cell with the files that it includes. Several lessons give a learner the same code."""
    try:
        texts = [(path.parent / f"{name}.py").read_text(encoding="utf-8") for name in cell.metadata.get("include", ())]
    except OSError as error:
        raise BrokenSource(path, cell.line, f"cannot include {error.filename}: {error.strerror}") from None
    return replace(cell, source="\n\n".join(texts).strip()) if texts else cell


def without_solution(source: str) -> str | None:
    """Return the source of an answer cell with the stub in place of the solution.

    Returns None if the cell marks no solution.
    """

    def stub(region: re.Match[str]) -> str:
        return "".join(f"{region['indent']}{line}\n" for line in STUB.splitlines())

    replaced, count = _SOLUTION.subn(stub, source)
    return replaced.rstrip("\n") if count else None


def source_digest(text: str, digits: int = 8) -> str:
    """Return the first `digits` hexadecimal digits of the SHA-256 of `text`.

    In a lesson source, the attribute `of` of a Russian cell holds such a digest of the English text.
    """
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


@cache
def lesson_source(lesson: str) -> Lesson | None:
    """Return the source of one of the course's lessons, or None where it is not installed."""
    return next((read(path) for path in SOURCES.glob(f"[0-9][0-9]_{lesson}.py")), None)


def solutions(exercise: Exercise) -> list[str]:
    """Return the solution of an exercise and its alternatives as code.

    The list is empty where the lesson sources are not installed.
    """
    lesson = lesson_source(exercise.lesson)
    return solutions_in(lesson, exercise.name) if lesson else []


def solutions_in(lesson: Lesson, name: str) -> list[str]:
    """Return the solution of an exercise in a lesson source and its alternatives as code."""
    cells = lesson.of("answer", name) + lesson.of("alternative", name)
    marks = re.compile(r"^[ \t]*### (?:BEGIN|END) SOLUTION\n", re.M)
    return [marks.sub("", cell.source + "\n").strip() for cell in cells]


def model_answer(lesson: str, name: str) -> Text | None:
    """Return rubric and model answer of the question `name`, or None if the lesson has no such question.

    Returns None, too, where the lesson sources are not installed. `lesson` is the name of a lesson, or "" for any.
    """
    for path in sorted(SOURCES.glob(f"[0-9][0-9]_{lesson or '*'}.py")):
        for cell in read(path).of("written", name):
            english, _, russian = cell.source.partition("\n---\n")
            return Text(english.strip(), russian.strip())
    return None
