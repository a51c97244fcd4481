"""Pages of the explained errors and warnings, one for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

import torch

from ...explained.entry import Explanation
from ...explained.table import EXPLANATIONS
from ...lessons.source import Lesson
from ...messages.site import WORDS
from ..blocks import Block, highlighted, inner, markdown
from ..headings import Heading
from ..pages import Page
from .cures import cures, difference
from .runs import ErrorRun
from .titles import about, as_markdown, cause_of, error_message, first, titles_of

INDEX = "errors"
_MOST = 6  # similar errors on a page


def explanations_of(lessons: Sequence[Lesson]) -> list[Explanation]:
    """Return the explanations of errors that are the subject of some lessons."""
    names = {lesson.file_name for lesson in lessons}
    return [each for each in EXPLANATIONS if each.lesson in names]


def error_pages(
    explanations: Sequence[Explanation], runs: Mapping[str, ErrorRun], lessons: Sequence[Lesson], language: str
) -> list[Page]:
    """Return the list of explained errors in one language, and behind it a page for each."""
    titles = titles_of(explanations, runs, language)
    subjects = {lesson.file_name: lesson.titles()[language] for lesson in lessons}
    table = _Table(explanations, runs, subjects, titles, language)
    return [_index(table), *(_page(each, table) for each in explanations)]


def page_name(explanation: Explanation) -> str:
    """Return the file name of an explanation's page, without `.html`."""
    return f"error-{explanation.name.replace('_', '-')}"


@dataclass(frozen=True)
class _Table:
    """Explained errors in one language.

    `subjects` are titles of lessons, `titles` those of the errors' pages.
    """

    explanations: Sequence[Explanation]
    runs: Mapping[str, ErrorRun]
    subjects: Mapping[str, str]
    titles: Mapping[str, str]
    language: str

    def say(self, word: str, **parameters: str) -> str:
        return WORDS[word].format(**parameters).read(self.language)

    def listed(self, explanation: Explanation) -> str:
        """Return an entry of a list: a link with the message, and below it the cause in a sentence."""
        link = _link(explanation, f"<code>{escape(error_message(explanation, self.runs))}</code>")
        return f"<li>{link}<br>{first(explanation, self.language)}</li>"

    def cause(self, explanation: Explanation) -> str:
        """Return an entry of a list of errors that say the same: a link with the cause."""
        return f"<li>{_link(explanation, first(explanation, self.language))}</li>"


def _link(explanation: Explanation, html: str) -> str:
    return f'<a href="{page_name(explanation)}.html">{html}</a>'


class _Parts:
    """The blocks and headings of a page, in order."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.headings: list[Heading] = []

    def add(self, html: str) -> None:
        self.blocks.append(Block("prose", html))

    def begin(self, id: str, title: str) -> None:
        """Begin a section. `title` is HTML."""
        self.headings.append(Heading(2, id, title))
        self.add(f'<h2 id="{id}">{title}</h2>')


def _page(explanation: Explanation, table: _Table) -> Page:
    language, parts = table.language, _Parts()
    same, similar = _neighbours(explanation, table.explanations)
    message = f"<code>{escape(error_message(explanation, table.runs))}</code>"
    cause = f"{escape(cause_of(explanation, language))}<br>" if same else ""
    parts.add(f"<h1>{cause}{message}</h1>")
    parts.begin("cause", escape(table.say("error_cause")))
    parts.add(markdown(explanation.says.read(language)))
    _lesson(explanation, table, parts)
    if told := table.runs.get(explanation.name):
        _failure(explanation, told, table, parts)
    _cure(explanation, table, parts)
    if same:
        parts.begin("others", escape(table.say("error_others")))
        parts.add(_list(map(table.cause, same)))
    if similar:
        parts.begin("similar", escape(table.say("error_similar")))
        parts.add(_list(map(table.listed, similar)))
    parts.add(f'<p><a href="{INDEX}.html">{escape(table.say("errors"))}</a></p>')
    title = as_markdown(table.titles[explanation.name])
    return Page(page_name(explanation), language, title, about(explanation, language), parts.blocks, parts.headings)


def _lesson(explanation: Explanation, table: _Table, parts: _Parts) -> None:
    if lesson := table.subjects.get(explanation.lesson):
        taught = [table.say("error_taught", title=lesson, page=explanation.lesson)]
        if explanation.exercise:
            taught.append(table.say("error_practised", exercise=explanation.exercise, page=explanation.lesson))
        parts.add(markdown(" ".join(taught)))


def _cure(explanation: Explanation, table: _Table, parts: _Parts) -> None:
    cure = cures().get(explanation.name)
    if cure and explanation.program:
        parts.begin("cure", escape(table.say("error_cure")))
        parts.add(f'<p class="how">{escape(table.say("error_difference"))}</p>')
        parts.add(difference(explanation.program, cure))
    elif cure:
        parts.begin("cure", escape(table.say("error_without")))
        parts.add(f"<p>{escape(table.say('error_device'))}</p>")
        parts.add(difference(cure, cure))
    else:
        parts.add(f"<p>{escape(table.say('error_no_cure'))}</p>")


def _failure(explanation: Explanation, told: ErrorRun, table: _Table, parts: _Parts) -> None:
    parts.begin("program", escape(table.say("error_program")))
    if explanation.met:
        parts.add(markdown(table.say("error_met")))
    parts.blocks.append(Block("code", highlighted(told.program)))
    parts.begin("output", escape(table.say("error_output", version=torch.__version__.partition("+")[0])))
    parts.add(f'<pre class="said" tabindex="0">{_wrapped(told)}</pre>')
    if told.pictures:
        parts.begin("graph", escape(table.say("error_graph")))
        parts.add(f'<div class="drawn" tabindex="0">{told.pictures[table.language]}</div>')


def _wrapped(told: ErrorRun) -> str:
    """Return a traceback as HTML, with the message in lines as long as the page is wide."""
    place = told.traceback.rfind(f"{told.kind}:")
    start = told.traceback.rfind("\n", 0, place) + 1
    above, said = told.traceback[:start], told.traceback[start:]
    return f'{escape(above)}<span class="message">{escape(said)}</span>'


def _neighbours(
    explanation: Explanation, explanations: Sequence[Explanation]
) -> tuple[list[Explanation], list[Explanation]]:
    """Return the explanations of the same text, and those nearest in the table that lead to the same exercise."""
    here = next(place for place, each in enumerate(explanations) if each is explanation)
    others = [(abs(place - here), each) for place, each in enumerate(explanations) if place != here]
    same = [each for _, each in others if each.pattern == explanation.pattern]
    near = [pair for pair in others if pair[1].exercise == explanation.exercise and pair[1] not in same]
    return same, [each for _, each in sorted(near, key=lambda pair: pair[0])[:_MOST]]


def _index(table: _Table) -> Page:
    parts = _Parts()
    title, said = table.say("errors"), table.say("errors_about")
    parts.add(f"<h1>{escape(title)}</h1>")
    parts.add(f"<p>{escape(said)}</p>")
    for lesson in sorted({each.lesson for each in table.explanations}):
        parts.begin(lesson, inner(markdown(table.subjects[lesson])))
        found = (each for each in table.explanations if each.lesson == lesson)
        groups = [list(group) for _, group in groupby(found, lambda each: error_message(each, table.runs))]
        parts.add(_list(_group(group, table) for group in groups))
    return Page(INDEX, table.language, title, said, parts.blocks, parts.headings)


def _list(entries: Iterable[str]) -> str:
    """Return a list of links, which search leaves out: each error has a page of its own."""
    return f'<ul class="errors" data-pagefind-ignore>{"".join(entries)}</ul>'


def _group(explanations: Sequence[Explanation], table: _Table) -> str:
    """Return an entry of the list: an error, or a text of several with their causes."""
    if len(explanations) == 1:
        return table.listed(explanations[0])
    text = error_message(explanations[0], table.runs)
    return f"<li><code>{escape(text)}</code><ul>{''.join(map(table.cause, explanations))}</ul></li>"
