"""A page to print: lessons, dates, first tries, misconceptions overcome."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ... import exercises
from ...checking.card_layout import inline
from ...checking.exercise import Exercise
from ...checking.verdict import VerdictState
from ...errors import UserError
from ...history import Check, History, read_history, standings
from ...language import Text
from ...messages.cards import message
from ...messages.study_record import WORDS
from ..notebooks.headings import title_of_lesson

_STYLE = """\
:root { color-scheme: light dark; --ink: #1f2328; --quiet: #59636e; --line: #d1d9e0; --paper: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #f0f6fc; --quiet: #9198a1; --line: #3d444d; --paper: #0d1117; }
}
@media print {
  :root { --ink: #000000; --quiet: #444444; --line: #999999; --paper: #ffffff; }
  tr, li { break-inside: avoid; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 50rem; padding: 2rem 1rem; font: 16px/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); overflow-wrap: break-word; }
h1 { line-height: 1.2; }
.name { border-bottom: 1px solid var(--line); max-width: 24rem; color: var(--quiet); }
.figures { display: flex; flex-wrap: wrap; gap: 1rem 2rem; padding: 0; margin: 1.5rem 0; list-style: none; }
.figures b { display: block; font-size: 1.75rem; line-height: 1.2; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
time { white-space: nowrap; }
.wide { overflow-x: auto; }
.quiet, footer { color: var(--quiet); }
footer { margin-top: 2rem; border-top: 1px solid var(--line); padding-top: .5rem; }
"""


@dataclass(frozen=True)
class _Done:
    """The work on one lesson; `first` and `last` are times of checks.

    `tried`, `passed` and `at_once` are names of exercises.
    """

    lesson: str
    known: dict[str, Exercise]
    tried: set[str]
    passed: set[str]
    at_once: set[str]
    first: int
    last: int


def write_record(file: Path, language: str) -> Text:
    """Write the page to a file, over an older one, and return a sentence on it.

    Raises UserError if nothing was checked yet, or if the file cannot be written.
    """
    history = read_history()
    if not [*history.verdicts()]:
        raise UserError(message("progress.empty").read(language))
    try:
        file.write_text(render_record(history, language, datetime.now()), encoding="utf-8")
    except OSError as error:
        raise UserError(message("export.refused", file=file, error=error.strerror or error).read(language)) from error
    return message("page.done", file=file)


def render_record(history: History, language: str, now: datetime) -> str:
    """Return the page as HTML that needs no other file."""

    def say(id: str, **parameters: object) -> str:
        return html.escape(WORDS[id].format(**parameters).read(language))

    checks = [check for check in history.checks if check.counts]
    lessons = [*_lessons(checks)]
    overcome, still_open = _misconceptions(checks, lessons)
    tried, at_once = (sum(len(getattr(each, name)) for each in lessons) for name in ("tried", "at_once"))
    reviews = sum(check.is_review and check.verdict.state == VerdictState.PASSED for check in history.checks)
    figures = {
        "passed": str(sum(len(each.passed) for each in lessons)),
        "at_once": f"{at_once} / {tried}",
        "overcome": str(len(overcome)),
        "reviews": str(reviews),
        "days": str(len({_day(check.time) for check in history.checks})),
    }
    period = say("period", first=_day(checks[0].time), last=_day(checks[-1].time))
    body = [
        f"<h1>{say('title')}</h1>",
        f'<p class="name">{say("name")}:</p>',
        f"<p>{period}</p>",
        _list("figures", (f"<b>{value}</b>{say(name)}" for name, value in figures.items())),
        f"<h2>{say('lessons')}</h2>",
        _table(
            say("lessons"),
            [say(name) for name in ("lesson", "core", "extra", "first_try", "dates")],
            _rows(lessons, language),
        ),
        f"<h2>{say('mistakes')}</h2>",
        f'<p class="quiet">{say("mistakes_about")}</p>',
        _sentences(overcome, language) or f"<p>{say('none')}</p>",
    ]
    if still_open:
        body += [f"<h2>{say('open')}</h2>", _sentences(still_open, language)]
    about = [say("about", date=_day(now.timestamp()))]
    if lost := history.broken + history.foreign:
        about.append(say("broken", count=lost))
    body.append(f"<footer>{''.join(f'<p>{each}</p>' for each in about)}</footer>")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{say("title")}</title>'
    inside = "\n".join(body)
    return (
        f'<!DOCTYPE html>\n<html lang="{language}"><head>{head}<style>\n{_STYLE}</style></head>\n'
        f"<body><main>\n{inside}\n</main></body></html>\n"
    )


def _lessons(checks: list[Check]) -> Iterator[_Done]:
    """Yield what was done in each lesson that can be found here, in the order of the course."""
    done = standings(check.verdict for check in checks)
    times: dict[str, list[int]] = {}
    for check in checks:
        times.setdefault(check.verdict.lesson, []).append(check.time)
    for lesson in sorted(times.keys() & {*exercises.lessons()}, key=lambda name: title_of_lesson(name, "en")):
        known = exercises.load(lesson)
        tried = {name for name in known if name in done}
        passed = {name for name in tried if done[name].best.state == VerdictState.PASSED}
        at_once = {name for name in tried if done[name].first.state == VerdictState.PASSED}
        yield _Done(lesson, known, tried, passed, at_once, min(times[lesson]), max(times[lesson]))


def _misconceptions(checks: list[Check], lessons: list[_Done]) -> tuple[list[Text], list[Text]]:
    """Return the sentences of recognised mistakes: those of exercises that passed afterwards, and the others."""
    known = {name: (each.known[name], name in each.passed) for each in lessons for name in each.known}
    found: dict[tuple[str, str], None] = {}
    for verdict in (check.verdict for check in checks):
        if verdict.mistake and verdict.exercise in known:
            found[verdict.exercise, verdict.mistake] = None
    overcome, still_open = list[Text](), list[Text]()
    for name, mistake in found:
        exercise, has_passed = known[name]
        if says := exercises.sentence_for(exercise, mistake):
            titled = Text(*(f"{exercise.title.read(each)}: {says.read(each)}" for each in ("en", "ru")))
            (overcome if has_passed else still_open).append(titled)
    return overcome, still_open


def _rows(lessons: list[_Done], language: str) -> Iterator[list[str]]:
    for each in lessons:
        core = {name for name, exercise in each.known.items() if exercise.core}
        extra = each.known.keys() - core
        days = dict.fromkeys(f"<time>{_day(time)}</time>" for time in (each.first, each.last))
        yield [
            html.escape(title_of_lesson(each.lesson, language)),
            f"{len(each.passed & core)} / {len(core)}",
            f"{len(each.passed & extra)} / {len(extra)}",
            f"{len(each.at_once)} / {len(each.tried)}",
            " – ".join(days),
        ]


def _day(time: float) -> str:
    return f"{datetime.fromtimestamp(time):%Y-%m-%d}"


def _sentences(texts: list[Text], language: str) -> str:
    return _list("", (inline(text.read(language)) for text in texts)) if texts else ""


def _list(name: str, items: Iterator[str]) -> str:
    attribute = f' class="{name}"' if name else ""
    return f"<ul{attribute}>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def _table(title: str, head: list[str], rows: Iterator[list[str]]) -> str:
    """Return a table that can be scrolled on a narrow screen, with the keyboard as well."""
    above = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    below = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    inside = f"<thead><tr>{above}</tr></thead><tbody>{below}</tbody>"
    return f'<div class="wide" tabindex="0" role="region" aria-label="{title}"><table>{inside}</table></div>'
