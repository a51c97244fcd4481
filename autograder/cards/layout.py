"""The layout of a card, as text and as script-free HTML."""

from __future__ import annotations

import html

from ..checking.verdict import AspectState
from ..messages.markup import div, inline
from .card import Card

_SHORT = 30  # characters of a label that stay on one line
_ASPECT_SIGNS = {AspectState.RIGHT: "✓", AspectState.WRONG: "✗", AspectState.WAITING: "○"}


def as_text(card: Card) -> str:
    """Return the card as plain text."""
    lines = [f"{card.sign} {card.state} · {card.title} · {card.points}"]
    lines += [f"  {card.say('card.mistake')}: {card.mistake}"] if card.mistake else []
    rows = [
        f"{label}: {line}" if label and not i else line
        for label, said in (*card.call, *card.result)
        for i, line in enumerate(said)
    ]
    for state, says, points, explained in card.aspects:
        lines.append(f"  {_ASPECT_SIGNS[state]} {says} {points}".rstrip())
        lines += [f"      {row}" for row in rows] if explained else []
    if not _within_aspects(card):
        lines += [f"  {row}" for row in rows]
    lines += [f"  {label}: {figures}" for label, (figures,) in card.scores]
    lines += [f"  · {note}" for note in card.notes]
    lines += [f"  {sentence} {code}" for sentence, code in card.closing]
    return "\n".join(lines)


def as_html(card: Card) -> str:
    """Return the card as HTML for a notebook or a feedback page.

    The HTML is readable on light and dark backgrounds, and works in notebooks that Jupyter does not trust.
    """
    # The word has the page's own colour: in the tone of its state it had too little contrast.
    sign = f'<span style="color:rgb({card.colour})">{card.sign}</span>'
    head = f"<strong>{sign} {html.escape(card.state)}</strong> · {inline(card.title)}"
    parts = [div(f"{head} · {html.escape(card.points)}")]
    if card.mistake:
        label = f'<span style="opacity:.7">{html.escape(card.say("card.mistake"))}:</span>'
        parts.append(div(f"{label} <strong>{inline(card.mistake)}</strong>", "margin:.4em 0"))
    for state, says, points, explained in card.aspects:
        parts.append(_aspect(state, says, points))
        parts += _evidence(card, "1.6em") if explained else []
    if not _within_aspects(card):
        parts += _evidence(card, "0")
    parts.append(_table(card.scores, "0"))
    if card.notes:
        items = "".join(f"<li>{inline(note)}</li>" for note in card.notes)
        parts.append(f'<ul style="margin:.3em 0">{items}</ul>')
    for sentence, code in card.closing:
        parts.append(div(f"{inline(sentence)} <code>{html.escape(code)}</code>", "opacity:.75"))
    tone = f"border-left:4px solid rgb({card.colour});background:rgba({card.colour},.07)"
    frame = f"{tone};padding:.6em 1em;margin:.3em 0"
    return div("".join(parts), f"{frame};line-height:1.5;max-width:58em", lang=card.language)


def _within_aspects(card: Card) -> bool:
    """Return whether the table stands below the line of an aspect."""
    return any(explained for *_, explained in card.aspects)


def _evidence(card: Card, indent: str) -> list[str]:
    """Return HTML of the failing call and its result. A named mistake leaves the call folded."""
    if not (card.mistake and card.call):
        return [_table([*card.call, *card.result], indent)]
    (label, (first, *_)), *_ = card.call
    return [
        _table(card.result, indent),
        _folded(f"{inline(label)} {inline(first)}", _table(card.call[1:], "1em"), indent),
    ]


def _folded(summary: str, inside: str, indent: str) -> str:
    """Return HTML that a click on `summary` opens."""
    return f'<details style="margin:0 0 .4em {indent};opacity:.85"><summary>{summary}</summary>{inside}</details>'


def _aspect(state: AspectState, says: str, points: str) -> str:
    end = f"&nbsp;<small>·&nbsp;{points}</small>" if points else ""  # the last word goes to the next line with it
    hanging = "padding-left:1.6em;text-indent:-1.2em"
    return div(
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
