"""Cards that show a verdict, as text and as script-free HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping

from ..language import LANGUAGES, Note, Text, grouped
from ..messages.cards import message, say
from ..messages.entries import EntryNames, name_count, name_place, place_of
from .exercise import Exercise, is_open
from .labels import ANY_ENTRY
from .verdict import SCORE, AspectState, Finding, Verdict, VerdictState

# Signs, and tones that are readable on light and on dark pages.
_LOOKS = {
    VerdictState.PASSED: ("✓", "56,142,60"),
    VerdictState.NOT_YET: ("✗", "224,58,54"),
    VerdictState.NOT_ATTEMPTED: ("○", "128,128,128"),
    VerdictState.OUR_ERROR: ("⚠", "230,126,0"),
}
_LINK = re.compile(r"\[((?:[^\[\]`]|`[^\[\]`]*`)+)\]\((\w+\.ipynb(?:#cell-id=[\w-]+)?)\)")
_SHORT = 30  # characters of a label that stay on one line
_ASPECT_SIGNS = {AspectState.RIGHT: "✓", AspectState.WRONG: "✗", AspectState.WAITING: "○"}


def cards(verdict: Verdict, language: str | None) -> Iterator[Card]:
    """Yield the card of a verdict in `language`.

    If `language` is None, yield one card in English and one in Russian.
    """
    from .. import exercises  # imported here because only a card needs the exercise itself; a verdict holds its name

    exercise = exercises.find(verdict.exercise, verdict.lesson)
    for one in LANGUAGES if language is None else (language,):
        yield Card(verdict, exercise, one)


def _sentence(exercise: Exercise, mistake: str) -> Text:
    """Return the sentence that names a mistake, or its name if the key has no sentence yet."""
    from .. import exercises

    return exercises.sentence_for(exercise, mistake) or Text.same(mistake)


class Card:
    """The sentences that show one verdict in one language.

    The methods `text` and `html` return the card as plain text and as HTML.
    """

    def __init__(self, verdict: Verdict, exercise: Exercise, language: str) -> None:
        self.verdict, self.exercise, self.language = verdict, exercise, language
        self.title = exercise.title.read(language)
        self.sign, self.colour = _LOOKS[verdict.state]
        self.state = self._say(f"state.{verdict.state}")
        self.points = self._say("card.points", earned=f"{verdict.points:g}", maximum=f"{verdict.maximum:g}")
        self.aspects = list(self._aspects()) if self._has_aspects() else []
        self.call = list(self._call(verdict.finding)) if verdict.finding else []
        self.result = list(self._result(verdict.finding)) if verdict.finding else []
        self.mistake = _sentence(exercise, verdict.mistake).read(language) if verdict.mistake else ""
        asked = {"question": exercise.why.question.read(language)} if exercise.why else {}
        self.scores = [self._score(note.parameters) for note in verdict.notes if note.id == SCORE]
        self.notes = [self._say(note.id, **note.parameters, **asked) for note in verdict.notes if note.id != SCORE]
        self.closing = list(self._closing())

    def _say(self, id: str, **parameters: object) -> str:
        """Return the sentence with the id `id` in the card's language."""
        return say(Note(id, parameters), self.language)

    def _has_aspects(self) -> bool:
        """Return whether to list the aspects.

        Aspects are left out if the answer raised an error or was not run.
        """
        finding = self.verdict.finding
        ran = finding is None or (finding.aspect and not any(note.is_error for note in finding.got[:1]))
        return self.verdict.state in (VerdictState.PASSED, VerdictState.NOT_YET) and bool(ran)

    def _aspects(self) -> Iterator[tuple[AspectState, str, str, bool]]:
        """Yield state, sentence and points of each aspect, and whether the card's table belongs to the aspect.

        The points are "" if the aspect has no points and is only a condition for other aspects.
        """
        says = {aspect.name: aspect.says.read(self.language) for aspect in self.exercise.aspects}
        explained = self.verdict.finding.aspect if self.verdict.finding else ""
        for aspect in self.verdict.aspects:
            points = f"{aspect.earned:g}/{aspect.points:g}" if aspect.points else ""
            sentence = says[aspect.name]
            if aspect.state == AspectState.WRONG:
                sentence = f"{self._say('card.not_met')} · {sentence}"  # the sentence alone would read as a fact
            elif aspect.state == AspectState.WAITING:
                sentence = f"{sentence} ({self._say('card.waiting')})"
            yield aspect.state, sentence, points, aspect.name == explained

    def _call(self, finding: Finding) -> Iterator[tuple[str, list[str]]]:
        """Yield label and lines of the rows on the failing call and its inputs.

        Those of hidden cases are never shown.
        """
        if not finding.aspect or not is_open(finding.seed) or self.exercise.asks_for == "dict":
            return
        if finding.called:
            yield self._say("card.called"), [f"`{finding.called}`"]
        if finding.inputs:
            label = "card.with" if finding.called else "card.inputs"
            yield self._say(label), [f"`case.{line}`" for line in finding.inputs.splitlines()]

    def _result(self, finding: Finding) -> Iterator[tuple[str, list[str]]]:
        """Yield label and lines of the rows on what came back, or that the case is hidden."""
        got = [say(note, self.language) for note in finding.got]
        got += [each.read(self.language) for each in map(_explanation, finding.got[:1]) if each]
        if not finding.aspect:
            yield "", got
            return
        shown = is_open(finding.seed) or self.exercise.asks_for == "dict"
        if not shown:
            yield "", [self._say("card.hidden")]
        if finding.got and (shown or finding.got[0].is_error):
            yield result_label(self.exercise, finding, self.language), got

    def _score(self, score: Mapping[str, object]) -> tuple[str, list[str]]:
        """Return a row of the scoreboard: what was measured, and the three figures."""
        label = next((each.measured for each in self.exercise.aspects if each.name == score["aspect"]), None)
        figures = {name: grouped(int(str(score[name])), self.language) for name in ("used", "plain", "bound")}
        return label.read(self.language) if label else "", [self._say(SCORE, **figures)]

    def _closing(self) -> Iterator[tuple[str, str]]:
        """Yield pairs of strings for the end of the card: a sentence, and source code.

        The code is a call that the learner can run next, such as `hint("NAME")`.
        """
        verdict, name = self.verdict, self.exercise.name
        if verdict.state == VerdictState.PASSED and self.exercise.asks_for != "dict":
            yield self._say("card.solution"), f'solution("{name}")'
        elif verdict.state in (VerdictState.NOT_YET, VerdictState.NOT_ATTEMPTED):
            yield self._say("card.hint"), f'hint("{name}")'
        finding = verdict.finding
        if finding and (finding.inputs or "case." in finding.called) and is_open(finding.seed):
            yield self._say("card.reproduce"), f'case = reproduce("{name}")'
            returned = not any(
                note.id.startswith(("raised.", "differs.kind", "differs.raised")) for note in finding.got
            )
            if self.exercise.shows_graph and finding.aspect and finding.called and returned:
                yield self._say("card.graph"), f"from autograder import draw; draw({finding.called})"

    def _within_aspects(self) -> bool:
        """Return whether the table stands below the line of an aspect."""
        return any(explained for *_, explained in self.aspects)

    def _evidence(self, indent: str) -> list[str]:
        """Return HTML of the failing call and its result. A named mistake leaves the call folded."""
        if not (self.mistake and self.call):
            return [_table([*self.call, *self.result], indent)]
        (label, (first, *_)), *_ = self.call
        return [
            _table(self.result, indent),
            _folded(f"{inline(label)} {inline(first)}", _table(self.call[1:], "1em"), indent),
        ]

    def text(self) -> str:
        """Return the card as plain text."""
        lines = [f"{self.sign} {self.state} · {self.title} · {self.points}"]
        lines += [f"  {self._say('card.mistake')}: {self.mistake}"] if self.mistake else []
        rows = [
            f"{label}: {line}" if label and not i else line
            for label, said in (*self.call, *self.result)
            for i, line in enumerate(said)
        ]
        for state, says, points, explained in self.aspects:
            lines.append(f"  {_ASPECT_SIGNS[state]} {says} {points}".rstrip())
            lines += [f"      {row}" for row in rows] if explained else []
        if not self._within_aspects():
            lines += [f"  {row}" for row in rows]
        lines += [f"  {label}: {figures}" for label, (figures,) in self.scores]
        lines += [f"  · {note}" for note in self.notes]
        lines += [f"  {sentence} {code}" for sentence, code in self.closing]
        return "\n".join(lines)

    def html(self) -> str:
        """Return the card as HTML for a notebook or a feedback page.

        The HTML is readable on light and dark backgrounds, and works in notebooks that Jupyter does not trust.
        """
        # The word has the page's own colour: in the tone of its state it had too little contrast.
        sign = f'<span style="color:rgb({self.colour})">{self.sign}</span>'
        head = f"<strong>{sign} {html.escape(self.state)}</strong> · {inline(self.title)}"
        parts = [_div(f"{head} · {html.escape(self.points)}")]
        if self.mistake:
            label = f'<span style="opacity:.7">{html.escape(self._say("card.mistake"))}:</span>'
            parts.append(_div(f"{label} <strong>{inline(self.mistake)}</strong>", "margin:.4em 0"))
        for state, says, points, explained in self.aspects:
            parts.append(_aspect(state, says, points))
            parts += self._evidence("1.6em") if explained else []
        if not self._within_aspects():
            parts += self._evidence("0")
        parts.append(_table(self.scores, "0"))
        if self.notes:
            items = "".join(f"<li>{inline(note)}</li>" for note in self.notes)
            parts.append(f'<ul style="margin:.3em 0">{items}</ul>')
        for sentence, code in self.closing:
            parts.append(_div(f"{inline(sentence)} <code>{html.escape(code)}</code>", "opacity:.75"))
        tone = f"border-left:4px solid rgb({self.colour});background:rgba({self.colour},.07)"
        frame = f"{tone};padding:.6em 1em;margin:.3em 0"
        return _div("".join(parts), f"{frame};line-height:1.5;max-width:58em", lang=self.language)


def _folded(summary: str, inside: str, indent: str) -> str:
    """Return HTML that a click on `summary` opens."""
    return f'<details style="margin:0 0 .4em {indent};opacity:.85"><summary>{summary}</summary>{inside}</details>'


def _places(exercise: Exercise, finding: Finding | None) -> tuple[EntryNames, ...]:
    """Return the names of entries in the values of the aspect that a finding is about."""
    explained = finding.aspect if finding else ""
    return (*next((each.entries for each in exercise.aspects if each.name == explained), ()), ANY_ENTRY)


def result_label(exercise: Exercise, finding: Finding, language: str) -> str:
    """Return the label of the result of a failed case, which `finding.got` tells of. That may not be empty.

    It is the name of what was compared, if that has one. An error needs no label.
    """
    first, places = finding.got[0], _places(exercise, finding)
    if first.is_error:
        return ""
    if first.id == "differs.table":
        return message("card.wrong").read(language)
    measured = next((each.measured for each in exercise.aspects if each.name == finding.aspect), None)
    place = place_of(first.parameters)
    count = name_count(place, places) if first.id == "differs.length" else None
    if label := ", ".join(part.read(language) for part in (measured, name_place(place, places), count) if part):
        return label[0].upper() + label[1:]
    return message("card.checked" if len(places) > 1 else "card.returned").read(language)


def _explanation(note: Note) -> Text | None:
    """Return the explanation of the error in a note, or None.

    A name in the note means that it was found where the error was raised.
    """
    named, said = (note.parameters.get(name) for name in ("explained", "message"))
    if named is None and said is None:
        return None
    from ..messages.torch_errors.table import EXPLANATIONS, explain  # 0.1 s of processor time, for errors alone

    if named is None:
        found = explain(str(said))
    else:
        found = next((each.of(str(said)) for each in EXPLANATIONS if each.name == named), None)
    return found.says if found else None


def aside(inside: str) -> str:
    """Return `inside` (HTML) in a box with a blue left border. Messages that are no cards use this box."""
    return _div(
        inside, "border-left:4px solid rgb(25,118,210);padding:.3em 1em;margin:.3em 0;line-height:1.5;max-width:52em"
    )


def inline(text: str) -> str:
    """Return `text` as escaped HTML with code and links.

    Code stands between backticks. A link to a notebook beside this one is [title](name.ipynb), or to a cell in it
    [title](name.ipynb#cell-id=ID). Because all else is escaped, text from an answer cannot become markup.
    """
    linked = _LINK.sub(r'<a href="\2">\1</a>', html.escape(text))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", linked)


def unlinked(text: str) -> str:
    """Return `text` for a terminal: a link is only its title."""
    return _LINK.sub(r"\1", text)


def _div(inside: str, style: str = "", lang: str = "") -> str:
    attributes = "".join(f' {k}="{v}"' for k, v in (("style", style), ("lang", lang)) if v)
    return f"<div{attributes}>{inside}</div>"


def _aspect(state: AspectState, says: str, points: str) -> str:
    end = f"&nbsp;<small>·&nbsp;{points}</small>" if points else ""  # the last word goes to the next line with it
    hanging = "padding-left:1.6em;text-indent:-1.2em"
    return _div(
        f"{_ASPECT_SIGNS[state]}&nbsp;{inline(says)}{end}",
        hanging + (";opacity:.7" if state == AspectState.WAITING else ""),
    )


def _table(rows: list[tuple[str, list[str]]], indent: str) -> str:
    """Return rows of a label and lines as an HTML table, or "" if there are none."""
    inside = "".join(_row(label, lines) for label, lines in rows)
    return f'<table style="margin:.2em 0 .4em {indent};border:none;font-size:inherit">{inside}</table>' if rows else ""


def _row(label: str, lines: list[str]) -> str:
    cell = "text-align:left;vertical-align:top;padding:.1em 1em .1em 0;line-height:1.5"
    wrap = ";white-space:nowrap" if len(label) <= _SHORT else ""
    head = f'<td style="{cell}{wrap};opacity:.7">{inline(label)}</td>' if label else ""
    said = "<br>".join(inline(line) for line in lines)
    return f'<tr style="background:none">{head}<td{"" if label else " colspan=2"} style="{cell}">{said}</td></tr>'
