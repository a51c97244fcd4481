"""The page of paths through the course, each with a syllabus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..checking.exercise import Exercise
from ..language import POINT, hours_of
from ..lessons.collection import COURSE
from ..lessons.paths import CoursePath, Part, path_names, read_path
from ..messages.site import WORDS
from .blocks import Block, markdown
from .headings import with_places
from .pages import Page

NAME = "paths"


def paths_page(pages: Sequence[Page], language: str) -> Page:
    """Return the page of all paths in one language. `pages` are those of the lessons."""
    paths = [read_path(name) for name in path_names()]
    exercises = {lesson.file_name: COURSE.exercises(lesson) for lesson in COURSE.read()}
    titles = {page.name: page.title for page in pages}
    said = [f"# {_say('paths', language)}", _say("paths_about", language)]
    for path in paths:
        said += _syllabus(path, exercises, titles, language)
    html, headings = with_places(markdown("\n\n".join(said)), iter([NAME, *path_names()]))
    return Page(
        NAME, language, _say("paths", language), _say("paths_about", language), [Block("prose", html)], headings
    )


def short_paths(language: str) -> list[tuple[str, str, str]]:
    """Return name, title and hours of each path, for the first page."""
    return [
        (path.name, path.title.read(language), hours_of(path.minutes, language))
        for path in map(read_path, path_names())
    ]


def _syllabus(
    path: CoursePath, exercises: dict[str, dict[str, Exercise]], titles: dict[str, str], language: str
) -> Iterator[str]:
    """Yield the Markdown of one path: for whom, what for, and a table with a row for each lesson of a step."""
    yield f"## {path.title.read(language)}"
    yield f"{path.whom.read(language)} {_say('path_hours', language).format(hours=hours_of(path.minutes, language))}"
    afterwards = path.afterwards.read(language)
    yield f"{_say('path_afterwards', language)} {afterwards[:1].lower()}{afterwards[1:]}"
    yield f'`autograder course DIR --path {path.name}` · `contents(path="{path.name}")`'
    head = [_say(f"path_{path.step}", language), *(_say(f"path_{each}", language) for each in ("lesson", "counts"))]
    rows = [f"| {' | '.join([*head, _say('minutes', language)])} |", "| --: | :-- | :-- | --: |"]
    for number, step in enumerate(path.steps, 1):
        for place, part in enumerate(step):
            rows.append(_row(part, str(number) if place == 0 else "", exercises[part.lesson], titles, language))
    yield "\n".join(rows)


def _row(part: Part, number: str, exercises: dict[str, Exercise], titles: dict[str, str], language: str) -> str:
    title = titles.get(part.lesson, part.lesson)
    lesson = f"[{part.lesson[:2]} {title}]({part.lesson}.html)" if part.lesson in titles else title
    counts = [exercises[name] for name in part.counts if name in exercises]
    listed = ", ".join(f"{each.title.read(language)} ({POINT.counted(each.points, language)})" for each in counts)
    return f"| {number} | {lesson} | {listed} | {part.minutes} |"


def _say(id: str, language: str) -> str:
    return WORDS[id].read(language)
