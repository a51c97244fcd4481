"""The page `summary`: what to keep, the explained errors, the glossary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

from ..cells import BrokenSource, Cell
from ..explained.entry import Explanation
from ..explained.table import EXPLANATIONS
from ..language import LANGUAGES, Text
from ..messages.markup import folded
from .prose.sections import KEEP
from .source import Lesson

NAME = "summary"
GLOSSARY = Path(__file__).parents[1] / "authoring" / "glossary.md"
_ERRORS = Text("Errors and warnings explained: {count}", "Объяснений ошибок и предупреждений: {count}")
_EXERCISE = Text("exercise", "упражнение")
_TERMS = Text(
    "## Glossary\n\nThe terms of this course in both languages. Names of torch's functions stay as they are.",
    "## Словарь\n\nТермины этого курса на двух языках. Названия функций torch не переводятся.",
)
_COLUMNS = Text("| English | Russian |", "| Английский | Русский |")


def with_contents(page: Lesson, lessons: Sequence[Lesson]) -> Lesson:
    """Return the page with what it collects below its own cells.

    Raises BrokenSource if a lesson has no section on what to keep.
    """
    return replace(page, cells=[*page.cells, *_sections(lessons), *_glossary()])


def _sections(lessons: Sequence[Lesson]) -> Iterator[Cell]:
    for lesson in lessons:
        for language in LANGUAGES:
            title = f"## [{lesson.file_name[:2]} {lesson.titles()[language]}]({lesson.file_name}.ipynb)"
            errors = [each for each in EXPLANATIONS if each.lesson == lesson.file_name]
            more = _explained(errors, language) if errors else ""
            yield _prose("\n\n".join(filter(None, [title, _kept(lesson, language), more])), language)


def _kept(lesson: Lesson, language: str) -> str:
    """Return the list in a lesson's section on what to keep."""
    heading = KEEP.read(language)
    for cell in lesson.cells:
        if cell.language == language and cell.source.startswith(f"{heading}\n"):
            return cell.source.removeprefix(heading).strip()
    raise BrokenSource(lesson.path, 1, f"there is no section `{heading}`, which the page `{NAME}` collects")


def _explained(errors: Sequence[Explanation], language: str) -> str:
    """Return the explained errors of a lesson as a list that opens when it is clicked.

    Explanations of one text stand together, since the text has several causes.
    """
    by_text: dict[str, list[Explanation]] = {}
    for each in errors:
        by_text.setdefault(readable(each.pattern.pattern), []).append(each)
    items = []
    for text, found in by_text.items():
        exercise = _EXERCISE.read(language)
        says = " ".join(f"{each.says.read(language)} ({exercise} `{each.exercise}`)" for each in found)
        items.append(f"* {_code(text)} — {says}")
    summary = _ERRORS.format(count=len(errors)).read(language)
    return folded(summary, "\n".join(items))


def _code(text: str) -> str:
    """Return a code span in Markdown, which may hold backticks."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def readable(pattern: str) -> str:
    """Return a text that stands for all that a regular expression matches, such as "got … tensors".

    Of alternatives it is the first.
    """
    return re.sub("…[… ]*…", "…", "".join(_pieces(_parser.parse(pattern)))).strip()


def _pieces(parsed: Any) -> Iterator[str]:
    for operation, argument in parsed:
        if operation is _constants.LITERAL:
            yield chr(argument)
        elif operation is _constants.BRANCH:
            yield from _pieces(argument[1][0])
        elif operation is _constants.SUBPATTERN:
            yield from _pieces(argument[3])
        elif operation is _constants.IN and argument[0][0] is _constants.LITERAL:
            yield chr(argument[0][1])
        elif operation is _constants.MAX_REPEAT and argument[0] == 0 and argument[1] == 1:
            yield from _pieces(argument[2])
        elif operation not in (_constants.ASSERT, _constants.ASSERT_NOT, _constants.AT):
            yield "…"


def _glossary() -> Iterator[Cell]:
    """Yield the glossary in each language: the rows of `authoring/glossary.md`, without what its lint refuses."""
    rows = re.findall(r"^\| (?!English|---)(.+?) \| (.+?) \|", GLOSSARY.read_text(encoding="utf-8"), re.M)
    table = "\n".join(f"| {english} | {russian} |" for english, russian in sorted(rows, key=lambda row: row[0].lower()))
    for language in LANGUAGES:
        head = f"{_COLUMNS.read(language)}\n|:--|:--|"
        yield _prose(f"{_TERMS.read(language)}\n\n{head}\n{table}", language)


def _prose(text: str, language: str) -> Cell:
    return Cell("markdown", text, {"tags": [language]}, 1)
