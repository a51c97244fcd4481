"""The whole site: every lesson in both languages, into one folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from nbformat.notebooknode import NotebookNode

from ..errors import UserError
from ..language import LANGUAGES
from ..lessons.collection import COURSE
from ..lessons.notebooks import source_notebook, student_notebook
from ..lessons.source import Lesson
from .blocks import blocks
from .errors.kept import error_runs
from .errors.pages import error_pages, explanations_of
from .execution import executed
from .headings import places
from .pages import TEMPLATES, Page, door, index_page, lesson_page, search_page, style
from .sitemap import sitemap

_SCRIPTS = ("site.js", "search.js")
_LOOKED_UP = ("summary", "gallery")


def build_site(folder: Path, cache: Path, names: Sequence[str] = (), address: str = "") -> Iterator[Path]:
    """Write the site into `folder` and yield the path of each written file. Files that stay the same are left alone.

    `cache` keeps outputs of executed cells. `names` are lessons; if there are none, all lessons are on the site. Only
    with the `address` at which the site will be there is a `sitemap.xml`.
    Raises Unknown if there is no such lesson, and BrokenSource if a lesson cannot be built.
    """
    lessons = COURSE.read(list(names) or None)
    if not names:
        lessons += [lesson for name in _LOOKED_UP for lesson in COURSE.read([name])]
    made = {lesson.file_name: _pages(lesson, cache) for lesson in lessons}
    files = {
        "index.html": door(),
        "site.css": style(),
        "site.js": _script("site.js"),
        "search.js": _script("search.js"),
    }
    explanations = explanations_of(lessons)
    told = error_runs(explanations, cache) if explanations else {}
    for language in LANGUAGES:
        errors = error_pages(explanations, told, lessons, language) if explanations else []
        files |= {f"{language}/{each.name}.html": lesson_page(each, None, None) for each in errors}
        pages = [each[language] for each in made.values()]
        files[f"{language}/search.html"] = search_page(language)
        files[f"{language}/index.html"] = index_page([*pages, *errors[:1]], language)
        for before, page, after in zip([None, *pages], pages, [*pages[1:], None]):
            files[f"{language}/{page.name}.html"] = lesson_page(page, before, after)
    if address:
        found = sorted({Path(name).stem for name in files if name.startswith(f"{LANGUAGES[0]}/")})
        files["sitemap.xml"] = sitemap(address, found)
    written = list(_write(folder, files))
    if written or not (folder / "pagefind").is_dir():
        _make_index(folder)
    yield from written


def _pages(lesson: Lesson, cache: Path) -> dict[str, Page]:
    """Return the page of a lesson in each language."""
    exercises = COURSE.exercises(lesson)
    whole = COURSE.complete(lesson)
    source = source_notebook(whole, exercises)
    notebooks: dict[str, NotebookNode] = {each: student_notebook(source, each) for each in LANGUAGES}
    outputs = executed(notebooks["en"], lesson.files, cache)
    ids, ours = places(whole), source.metadata.autograder
    made = {}
    for language, notebook in notebooks.items():
        found, headings = blocks(notebook, language, exercises, outputs, ids)
        about = lesson.about.get(language, "")
        title = whole.titles()[language]
        made[language] = Page(
            lesson.file_name, language, title, about, found, headings, int(ours.minutes), str(ours.needs)
        )
    return made


def _make_index(folder: Path) -> None:
    """Make Pagefind's index of the pages, for search. Raises UserError if Pagefind fails."""
    shutil.rmtree(folder / "pagefind", ignore_errors=True)
    done = subprocess.run([sys.executable, "-m", "pagefind_bin", "--site", str(folder)], capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"Pagefind made no index of the site: {done.stderr or done.stdout}")


def _script(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _write(folder: Path, files: dict[str, str]) -> Iterator[Path]:
    for name, text in files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != text.encode():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            yield path
