"""Pages of the explained errors and warnings, one for each."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import torch

from ..errors import UserError
from ..lessons.source import Lesson
from ..lessons.summary import readable
from ..messages.site import WORDS
from ..messages.torch_errors.entry import Explanation
from ..messages.torch_errors.table import EXPLANATIONS
from .blocks import Block, highlighted, markdown
from .error_runs import ErrorRun
from .headings import Heading
from .pages import Page

INDEX = "errors"
_LONGEST = 160  # characters of a title


def error_runs(explanations: Sequence[Explanation], cache: Path) -> dict[str, ErrorRun]:
    """Return a dict from an explanation's name to what its program told. Only runs them if `cache` has no outcomes.

    Explanations without a program are left out.

    Raises UserError if the programs cannot be run.
    """
    source = Path(__file__).with_name("error_runs.py").read_text(encoding="utf-8")
    programs = [(each.name, each.pattern.pattern, each.program) for each in explanations if each.program]
    digest = hashlib.sha256(repr((torch.__version__, source, programs)).encode()).hexdigest()[:20]
    kept = cache / f"errors-{digest}.json"
    if not kept.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        new = kept.with_suffix(".new")
        names = [name for name, _, _ in programs]
        command = [sys.executable, "-m", f"{__package__}.error_runs", str(new), *names]
        done = subprocess.run(command, capture_output=True)
        if done.returncode:
            raise UserError(f"the programs of the explained errors cannot be run: {done.stderr.decode()[-2000:]}")
        new.replace(kept)
    told = json.loads(kept.read_text(encoding="utf-8"))
    return {name: ErrorRun(**each) for name, each in told.items() if each}


def explanations_of(lessons: Sequence[Lesson]) -> list[Explanation]:
    """Return the explanations of errors that are the subject of some lessons."""
    names = {lesson.file_name for lesson in lessons}
    return [each for each in EXPLANATIONS if each.lesson in names]


def error_pages(
    explanations: Sequence[Explanation], runs: Mapping[str, ErrorRun], lessons: Sequence[Lesson], language: str
) -> list[Page]:
    """Return the list of explained errors in one language, and behind it a page for each."""
    titles = {lesson.file_name: lesson.titles()[language] for lesson in lessons}
    pages = {each.name: _page(each, explanations, runs, titles, language) for each in explanations}
    return [_index(pages, explanations, titles, language), *pages.values()]


def page_name(explanation: Explanation) -> str:
    """Return the file name of an explanation's page, without `.html`."""
    return f"error-{explanation.name.replace('_', '-')}"


def _page(
    explanation: Explanation,
    explanations: Sequence[Explanation],
    runs: Mapping[str, ErrorRun],
    titles: Mapping[str, str],
    language: str,
) -> Page:
    told, title = runs.get(explanation.name), _title(explanation, runs)

    def say(word: str, **parameters: str) -> str:
        return WORDS[word].format(**parameters).read(language)

    parts = [_prose(f"<h1>{code(title)}</h1>")]
    headings = []

    def begin(word: str, id: str, **parameters: str) -> None:
        heading = Heading(2, id, say(word, **parameters))
        headings.append(heading)
        parts.append(_prose(f'<h2 id="{id}">{escape(heading.html)}</h2>'))

    begin("error_cause", "cause")
    parts.append(_prose(markdown(explanation.says.read(language))))
    if lesson := titles.get(explanation.lesson):
        taught = [say("error_taught", title=lesson, page=explanation.lesson)]
        if explanation.exercise:
            taught.append(say("error_practised", exercise=explanation.exercise, page=explanation.lesson))
        parts.append(_prose(markdown(" ".join(taught))))
    if told:
        begin("error_program", "program")
        parts.append(Block("code", highlighted(told.program)))
        begin("error_output", "output", version=torch.__version__.partition("+")[0])
        parts.append(_prose(f'<pre class="said" tabindex="0">{escape(told.traceback)}</pre>'))
    else:
        parts.append(_prose(f"<p>{escape(say('error_device'))}</p>"))
    same = [each for each in explanations if each.pattern == explanation.pattern and each is not explanation]
    if same:
        begin("error_others", "others")
        items = [f'<li><a href="{page_name(each)}.html">{_first(each, language)}</a></li>' for each in same]
        parts.append(_prose(f"<ul>{''.join(items)}</ul>"))
    parts.append(_prose(f'<p><a href="{INDEX}.html">{escape(say("errors"))}</a></p>'))
    about = explanation.says.read(language)
    return Page(page_name(explanation), language, _as_markdown(title), about, parts, headings)


def _title(explanation: Explanation, runs: Mapping[str, ErrorRun]) -> str:
    """Return the class and the message of an error as torch words it, as people search for it, in one line."""
    told = runs.get(explanation.name)
    text = f"{told.kind}: {told.text}" if told else readable(explanation.pattern.pattern)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _index(
    pages: Mapping[str, Page], explanations: Sequence[Explanation], titles: Mapping[str, str], language: str
) -> Page:
    parts = [_prose(f"<h1>{escape(WORDS['errors'].read(language))}</h1>")]
    parts.append(_prose(f"<p>{escape(WORDS['errors_about'].read(language))}</p>"))
    headings = []
    for lesson in sorted({each.lesson for each in explanations}):
        heading = Heading(2, lesson, markdown(titles[lesson]).strip().removeprefix("<p>").removesuffix("</p>"))
        headings.append(heading)
        parts.append(_prose(f'<h2 id="{heading.id}">{heading.html}</h2>'))
        items = [
            f'<li><a href="{page_name(each)}.html">{markdown(pages[each.name].title).strip()[3:-4]}</a>'
            f"<br>{_first(each, language)}</li>"
            for each in explanations
            if each.lesson == lesson
        ]
        parts.append(_prose(f'<ul class="errors">{"".join(items)}</ul>'))
    title, about = (WORDS[word].read(language) for word in ("errors", "errors_about"))
    return Page(INDEX, language, title, about, parts, headings)


def _first(explanation: Explanation, language: str) -> str:
    """Return the first sentence of an explanation as HTML."""
    said = re.split(r"(?<=[.:?!]) ", explanation.says.read(language), maxsplit=1)[0]
    return markdown(said).strip().removeprefix("<p>").removesuffix("</p>")


def code(text: str) -> str:
    """Return text as code in HTML."""
    return f"<code>{escape(text)}</code>"


def _as_markdown(text: str) -> str:
    """Return text as code in Markdown, which may hold backticks."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _prose(html: str) -> Block:
    return Block("prose", html)
