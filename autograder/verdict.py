"""The verdict on an answer: one record, and its text, HTML and JSON forms.

The record holds ids and parameters; sentences are chosen when it is read, so a stored verdict can be shown in either
language. Its `repr` is the earned points as a plain number, because that is what nbgrader reads from a graded cell.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from . import exercises
from .exercise import PUBLIC_SEED, Exercise
from .language import LANGUAGES, MESSAGES, message
from .probe import Note

STATES = ("passed", "not yet", "not attempted", "our error")
MIME = "application/vnd.autograder.verdict+json"

_SIGNS = {"passed": "✓", "not yet": "✗", "not attempted": "○", "our error": "⚠"}
_COLOURS = {"passed": "46,125,50", "not yet": "198,40,40", "not attempted": "117,117,117", "our error": "230,126,0"}
_ASPECT_SIGNS = {"right": "✓", "wrong": "✗", "waiting": "○"}


@dataclass(frozen=True)
class AspectResult:
    """One aspect of an answer: "right", "wrong", or "waiting" for another aspect."""

    name: str
    points: float
    earned: float
    state: str


@dataclass(frozen=True)
class Finding:
    """The first thing that is not right: on which case, what was called, and what came back."""

    aspect: str = ""
    seed: str = ""
    case: int = 0
    called: str = ""
    inputs: str = ""
    got: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What `check` returns and a gradebook stores. `state` is one of `STATES`."""

    exercise: str
    lesson: str
    version: int
    state: str
    aspects: tuple[AspectResult, ...]
    finding: Finding | None = None
    mistake: str | None = None
    notes: tuple[Note, ...] = ()
    language: str | None = field(default=None, compare=False)

    @property
    def points(self) -> float:
        return sum(aspect.earned for aspect in self.aspects)

    @property
    def maximum(self) -> float:
        return sum(aspect.points for aspect in self.aspects)

    def __repr__(self) -> str:
        return f"{self.points:g}"

    def __str__(self) -> str:
        return self.text(self.language)

    def text(self, language: str | None) -> str:
        """The card as plain text, in `language` or (None) in both."""
        return "\n\n".join("\n".join(_plain(card)) for card in self._cards(language))

    def html(self, language: str | None) -> str:
        """The card as escaped HTML without a script, in `language` or (None) in both."""
        return "".join(_html(card, self.state) for card in self._cards(language))

    def _repr_html_(self) -> str:
        return self.html(self.language)

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        return {MIME: self.to_json()}

    def to_json(self) -> dict[str, Any]:
        """The whole record as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """The verdict that `to_json` wrote. Raises KeyError or TypeError for anything else."""

        def notes(items: list[dict[str, Any]]) -> tuple[Note, ...]:
            return tuple(Note(**item) for item in items)

        finding = data["finding"]
        return cls(
            **{
                **data,
                "aspects": tuple(AspectResult(**item) for item in data["aspects"]),
                "finding": finding and Finding(**{**finding, "got": notes(finding["got"])}),
                "notes": notes(data["notes"]),
            }
        )

    def _cards(self, language: str | None) -> Iterator[_Card]:
        exercise = exercises.find(self.exercise, self.lesson)
        for one in LANGUAGES if language is None else (language,):
            yield _Card(self, exercise, one)


class _Card:
    """What a card says, in one language, before it is laid out as text or HTML."""

    def __init__(self, verdict: Verdict, exercise: Exercise, language: str) -> None:
        self.verdict, self.exercise, self.language = verdict, exercise, language
        says = {aspect.name: aspect.says.read(language) for aspect in exercise.aspects}
        first = says[exercise.aspects[0].name]
        self.title = exercise.title.read(language)
        self.state = f"{_SIGNS[verdict.state]} {self._say(f'state.{verdict.state}')}"
        self.points = self._say("card.points", earned=f"{verdict.points:g}", maximum=f"{verdict.maximum:g}")
        self.aspects = [
            (_ASPECT_SIGNS[a.state], says[a.name], f"{a.earned:g}/{a.points:g}")
            for a in verdict.aspects
            if verdict.state in ("passed", "not yet")
        ]
        self.rows = list(self._rows(verdict.finding, says)) if verdict.finding else []
        self.mistake = exercise.mistakes[verdict.mistake].says.read(language) if verdict.mistake else ""
        self.notes = [self._say(note.id, **note.parameters) for note in verdict.notes]
        self.waiting = self._say("card.waiting", first=first)
        self.closing = list(self._closing())

    def _say(self, id: str, **parameters: object) -> str:
        """An interface sentence. A parameter that is the id of a sentence itself is put in the card's language."""
        said = {
            k: MESSAGES[v].read(self.language) if isinstance(v, str) and v in MESSAGES else v
            for k, v in parameters.items()
        }
        return message(id, **said).read(self.language)

    def _rows(self, finding: Finding, says: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
        """Label and lines: what was called, with what, what came back, what should hold. No inputs of hidden cases."""
        got = [self._say(note.id, **note.parameters) for note in finding.got]
        if not finding.aspect:
            yield "", got
            return
        if finding.seed == PUBLIC_SEED and self.exercise.asks_for == "function":
            yield self._say("card.called"), [f"`{finding.called}`"]
            if finding.inputs:
                yield self._say("card.with"), [f"case.{line}" for line in finding.inputs.splitlines()]
        if got and (finding.seed == PUBLIC_SEED or self.exercise.asks_for == "dict"):
            yield self._say("card.returned"), got
        yield self._say("card.property"), [says[finding.aspect]]

    def _closing(self) -> Iterator[tuple[str, str]]:
        """A sentence and a line of code to run."""
        verdict, name = self.verdict, self.exercise.name
        if verdict.state == "passed":
            yield self._say("card.solution", exercise=name), ""
        elif verdict.state in ("not yet", "not attempted"):
            yield self._say("card.hint", exercise=name), ""
        public = verdict.finding is not None and verdict.finding.seed == PUBLIC_SEED
        if verdict.state == "not yet" and public and self.exercise.asks_for == "function":
            yield self._say("card.reproduce"), f'case = reproduce("{name}")'


def _plain(card: _Card) -> Iterator[str]:
    yield f"{card.state} · {card.title} · {card.points}"
    for sign, says, points in card.aspects:
        yield f"  {sign} {says} ({points})"
    for label, lines in card.rows:
        for line in lines:
            yield f"  {label}: {line}" if label else f"  {line}"
    if card.mistake:
        yield f"  {card.mistake}"
    for note in card.notes:
        yield f"  · {note}"
    for sentence, code in card.closing:
        yield f"  {sentence} {code}".rstrip()


def _html(card: _Card, state: str) -> str:
    colour = _COLOURS[state]
    parts = [
        f'<div lang="{card.language}" style="border-left:4px solid rgb({colour});background:rgba({colour},.07);'
        'padding:.6em 1em;margin:.3em 0;line-height:1.5;max-width:52em">',
        f'<div><strong style="color:rgb({colour})">{html.escape(card.state)}</strong> · '
        f"{_inline(card.title)} · {html.escape(card.points)}</div>",
    ]
    for sign, says, points in card.aspects:
        faded = "opacity:.6;" if sign == "○" else ""
        waits = f' <span style="font-size:90%">({_inline(card.waiting)})</span>' if sign == "○" else ""
        parts.append(
            f'<div style="{faded}padding-left:.4em">{sign} {_inline(says)} <small>{points}</small>{waits}</div>'
        )
    if card.rows:
        parts.append('<table style="margin:.4em 0;border:none;font-size:inherit">')
        for label, lines in card.rows:
            style = "text-align:left;vertical-align:top;opacity:.7;padding:.1em 1em .1em 0"
            head = f'<td style="{style}">{_inline(label)}</td>'
            body = "<br>".join(_inline(line) for line in lines)
            parts.append(
                f'<tr style="background:none">{head if label else ""}<td style="text-align:left">{body}</td></tr>'
            )
        parts.append("</table>")
    if card.mistake:
        parts.append(f'<div style="margin:.4em 0"><strong>{_inline(card.mistake)}</strong></div>')
    if card.notes:
        parts.append(
            '<ul style="margin:.3em 0">' + "".join(f"<li>{_inline(note)}</li>" for note in card.notes) + "</ul>"
        )
    for sentence, code in card.closing:
        line = f" <code>{html.escape(code)}</code>" if code else ""
        parts.append(f'<div style="opacity:.75">{_inline(sentence)}{line}</div>')
    return "".join(parts) + "</div>"


def _inline(text: str) -> str:
    """Escaped text with `code` spans. Nothing that came from an answer can become markup."""
    escaped = html.escape(text)
    return re.sub(r"`([^`]+)`|(\b(?:hint|solution)\(&quot;[^)]*\))", r"<code>\1\2</code>", escaped)
