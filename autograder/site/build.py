"""The whole site: every lesson in both languages, into one folder."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from nbformat.notebooknode import NotebookNode

from ..language import LANGUAGES
from ..lessons.collection import COURSE
from ..lessons.notebooks import source_notebook, student_notebook, to_text
from ..lessons.openings import opening_of
from ..lessons.source import NOTEBOOKS, Lesson
from .blocks import blocks
from .errors.kept import error_runs
from .errors.pages import error_pages, explanations_of
from .errors.search import NAME, errors_index
from .front import front_of
from .headings import places
from .instructors import guide_page, instructors_page, pictures
from .lesson_map import lesson_map
from .pages import TEMPLATES, Page, door, index_page, lesson_page, search_page, sitemap, style
from .paths import paths_page, short_paths
from .publishing.addresses import NOWHERE, Addresses
from .publishing.site_folder import update
from .running.cells import executed

_SCRIPTS = ("site.js", "search.js")
_LOOKED_UP = ("summary", "gallery")


def build_site(folder: Path, cache: Path, names: Sequence[str] = (), addresses: Addresses = NOWHERE) -> list[Path]:
    """Write the site into `folder` and return the path of each written file.

    Files that stay the same are left alone.
    `cache` keeps outputs of executed cells. `names` are lessons; if there are none, all lessons are on the site.
    Files of an earlier build that are no longer part of the site are deleted.
    Raises Unknown if there is no such lesson, and BrokenSource if a lesson cannot be built.
    """
    lessons = COURSE.read(list(names) or None)
    others = [] if names else [lesson for name in _LOOKED_UP for lesson in COURSE.read([name])]
    made = {lesson.file_name: _pages(lesson, cache) for lesson in [*lessons, *others]}
    explanations = explanations_of([*lessons, *others])
    told = error_runs(explanations, cache) if explanations else {}
    files: dict[str, str | bytes] = {
        "index.html": door(addresses),
        "site.css": style(),
        **{name: (TEMPLATES / name).read_text(encoding="utf-8") for name in _SCRIPTS},
    }
    for language in LANGUAGES:
        pages = [each[language] for each in made.values()]
        errors = error_pages(explanations, told, lessons, language) if explanations else []
        teaching = [
            *([] if names else [paths_page(pages[: len(lessons)], language)]),
            instructors_page(lessons, pages[: len(lessons)], language, addresses),
            guide_page(language, addresses),
        ]
        html = {
            "search": search_page(language, addresses),
            "index": index_page(
                [*pages, *errors[:1], *teaching],
                language,
                front_of(pages[: len(lessons)], language),
                lesson_map(pages[: len(lessons)]),
                [] if names else short_paths(language),
                addresses,
            ),
            **{each.name: lesson_page(each, None, None, addresses) for each in [*errors, *teaching]},
        }
        for before, page, after in zip([None, *pages], pages, [*pages[1:], None]):
            html[page.name] = lesson_page(page, before, after, addresses)
            files[f"{language}/{page.name}.ipynb"] = page.notebook
            if page.picture:
                files[f"{language}/{page.name}.svg"] = page.picture
        files |= {f"{language}/{name}.html": page for name, page in html.items()}
        files[f"{language}/{NAME}"] = errors_index(explanations, told, language)
        files |= pictures(language)
    if addresses.site:
        files["sitemap.xml"] = sitemap(sorted(html), addresses)
    return update(folder, {name: data.encode() if isinstance(data, str) else data for name, data in files.items()})


@cache
def _asked() -> dict[str, dict[str, list[str]]]:
    """Return what people search for in their own words, by the lesson where they find it and by language."""
    return tomllib.loads((NOTEBOOKS / "asked.toml").read_text(encoding="utf-8"))


def _pages(lesson: Lesson, cache: Path) -> dict[str, Page]:
    """Return the page of a lesson in each language."""
    exercises = COURSE.exercises(lesson)
    whole = COURSE.complete(lesson)
    source = source_notebook(whole, exercises)
    notebooks: dict[str, NotebookNode] = {each: student_notebook(source, each) for each in LANGUAGES}
    outputs = executed(notebooks["en"], lesson.files, cache)
    ids, ours = places(whole), source.metadata.autograder
    drawing, made = opening_of(lesson), {}
    for language, notebook in notebooks.items():
        found, headings = blocks(notebook, language, exercises, outputs, ids)
        about = lesson.about.get(language, "")
        title = whole.titles()[language]
        times = int(ours.minutes), str(ours.needs)
        drawn = drawing.svg(language) if drawing else ""
        made[language] = Page(
            lesson.file_name,
            language,
            title,
            about,
            found,
            headings,
            *times,
            to_text(notebook),
            drawn,
            _asked().get(lesson.file_name, {}).get(language, []),
        )
    return made
