"""Pages for instructors, from README and the guide."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..exercises import key_of
from ..grading.lms.exchange import Exchange
from ..grading.lms.systems import SYSTEMS
from ..language import Text, grouped
from ..lessons.collection import COURSE
from ..lessons.source import Lesson
from ..messages.instructors import SAYS
from .blocks import Block, markdown
from .headings import slug, with_places
from .pages import Page
from .publishing.addresses import Addresses
from .publishing.documents import FOLDER, document

PAGE, GUIDE = "instructors", "guide"
_README, _TEACHING = Text("README.md", "README.ru.md"), Text("TEACHING.md", "TEACHING.ru.md")
_ABOUT_CLASSES = "Instructor"  # the section of README
_LINK = re.compile(r"(!?)\[((?:[^\]`]|`[^`]*`)*)\]\(([^)\s]+)\)")
_SWITCH = re.compile(r"^\[(?:По-русски|In English)\]\(.*\)\n+", re.M)  # a page has it in its head
_HEADING, _HEADINGS = re.compile(r"^## (.*)$", re.M), re.compile(r"^###? (.*)$", re.M)
_PACKAGE = Path(__file__).parents[1]


def pictures(language: str) -> dict[str, bytes]:
    """Return a dict from file name to content for the pictures of README in one language."""
    found = [path for says, path in _pictures(document(_README.read(language)))]
    return {posixpath.basename(path): (FOLDER / path).read_bytes() for path in found}


def instructors_page(lessons: Sequence[Lesson], pages: Sequence[Page], language: str, addresses: Addresses) -> Page:
    """Return the page by which a teacher decides. `pages` are those of `lessons`, in one language."""
    readme = document(_README.read(language))
    about = readme.split("\n\n")[2]
    commands, promises, answers, questions = _section(readme).split("\n\n")
    shown = {posixpath.basename(path).partition(".")[0]: f"![{says}]({path})" for says, path in _pictures(readme)}
    card, report = shown.pop("card"), shown.pop("report")
    parts = {
        "": [about, _figures(lessons, pages, language)],
        "seen": [card],
        "report": [report],
        "promises": [promises],
        "time": [SAYS["minutes"].read(language), "\n".join(_minutes(lessons, pages, language))],
        "commands": [commands],
        "systems": [_systems(language)],
        "pictures": [*shown.values()],
        "questions": [answers, questions],
    }
    said = {word: SAYS[word or "instructors"].read(language) for word in parts}
    text = "\n\n".join("\n\n".join([f"#{'#' if word else ''} {said[word]}", *inside]) for word, inside in parts.items())
    ids = [word.removeprefix("") or PAGE for word in parts]
    return _page(PAGE, _linked(text, "", language, addresses), ids, language, SAYS["about"].read(language))


def guide_page(language: str, addresses: Addresses) -> Page:
    """Return the guide for instructors as a page."""
    text = _SWITCH.sub("", _guide(language))
    ids = [GUIDE, *map(slug, _HEADINGS.findall(_guide("en")))]
    about = SAYS["guide_about"].read(language)
    return _page(GUIDE, _linked(text, "autograder", language, addresses), ids, language, about)


def _page(name: str, text: str, ids: Sequence[str], language: str, about: str) -> Page:
    html, headings = with_places(markdown(text), iter(ids))
    title = re.search(r"^# (.*)$", text, re.M)
    return Page(name, language, title[1] if title else "", about, [Block("prose", html)], headings)


def _guide(language: str) -> str:
    return (_PACKAGE / _TEACHING.read(language)).read_text(encoding="utf-8")


def _section(readme: str) -> str:
    """Return README's section for instructors, which has the same place in both languages."""
    place = _HEADING.findall(document(_README.en)).index(_ABOUT_CLASSES)
    return _HEADING.split(readme)[2 * place + 2].strip()


def _pictures(readme: str) -> list[tuple[str, str]]:
    """Return description and path of each picture of README."""
    return [(says, path) for sign, says, path in _LINK.findall(readme) if sign]


def _figures(lessons: Sequence[Lesson], pages: Sequence[Page], language: str) -> str:
    exercises = [each for lesson in lessons for each in COURSE.exercises(lesson).values()]
    figures = {
        "lessons": len(lessons),
        "hours": round(sum(page.minutes for page in pages) / 60),
        "exercises": len(exercises),
        "core": sum(each.core for each in exercises),
        "mistakes": sum(len(key_of(each).misconceptions) for each in exercises),
    }
    shown = {name: grouped(number, language) for name, number in figures.items()}
    return SAYS["figures"].format(**shown).read(language)


def _systems(language: str) -> str:
    """Return a sentence on learning management systems: which are read, and which get grades back."""
    read = [each.title for each in SYSTEMS if not isinstance(each, Exchange)]
    written = [each.title for each in SYSTEMS if each.table_form]
    return SAYS["tables"].format(read=", ".join(read), written=", ".join(written)).read(language)


def _minutes(lessons: Sequence[Lesson], pages: Sequence[Page], language: str) -> Iterator[str]:
    yield SAYS["columns"].read(language)
    yield "| :-- | --: | --: | --: |"
    for lesson, page in zip(lessons, pages):
        exercises = COURSE.exercises(lesson).values()
        core = sum(each.core for each in exercises)
        title = f"{page.name[:2]} [{page.title}]({page.name}.html)"
        yield f"| {title} | {page.minutes} | {core} | {len(exercises) - core} |"


def _linked(text: str, base: str, language: str, addresses: Addresses) -> str:
    """Return Markdown whose links lead to the site, or else to the repository, if that has an address.

    `base` is the folder of the repository in which the text stands.
    """
    places = _places(language)

    def lead(found: re.Match[str]) -> str:
        sign, says, target = found.groups()
        path, _, place = target.partition("#")
        whole = posixpath.normpath(posixpath.join(base, path))
        if target.startswith(("https:", "http:")) or target.endswith(".html"):
            return found[0]
        if sign:
            file = f"../{posixpath.basename(path)}"
            return f"[![{says}]({file})]({file})"  # a phone shows it large
        if whole == f"autograder/{_TEACHING.read(language)}" or not path:
            return f"[{says}]({GUIDE}.html{f'#{places[place]}' if place else ''})"
        source = addresses.source(whole)
        return f"[{says}]({source})" if source else says

    return _LINK.sub(lead, text)


def _places(language: str) -> Mapping[str, str]:
    """Return a dict from the id that GitHub gives a heading of the guide to the id on its page."""
    ours = [re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in _HEADINGS.findall(_guide(language))]
    return dict(zip(ours, map(slug, _HEADINGS.findall(_guide("en")))))
