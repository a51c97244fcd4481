"""Checks of a lesson's prose: English and Russian agree, terms are right."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ..cells import Cell
from ..lessons.source import Lesson, source_digest

# An English cell and its Russian twin must have the same formulas, code and link targets, in any order. They must have
# equally many headings and list items.
_SHARED = {
    "formulas": re.compile(r"\$\$.+?\$\$|\$[^$\n]+\$", re.S),
    "code spans": re.compile(r"(?<!`)`[^`\n]+`(?!`)"),
    "code blocks": re.compile(r"^```.*?^```", re.S | re.M),
    "links": re.compile(r"\]\(([^)]+)\)"),
    "headings": re.compile(r"^(#+) ", re.M),
    "list items": re.compile(r"^(?:[-*]|\d+\.) ()", re.M),
}

GLOSSARY = Path(__file__).with_name("glossary.md")

# An ordinary space lets a number break at the end of a line. A hyphen is no minus sign.
_SPACE_IN_NUMBER = re.compile(r"\d (?=\d{3}(?!\d))")
_HYPHEN_AS_MINUS = re.compile(r"(?<![\w)\]])-(?=\d)")
# In prose a semicolon stands between the items of a list, so a sentence has none or several. Lists and tables are free.
_SENTENCE = re.compile(r"(?<=[.!?:»])\s")
_ITEM = re.compile(r"[*|-] |\||\d+\. ")
_PRONOUN = re.compile(r"(?:(?:В|У|На|К|От) )?(?:он[аои]?|его|её|их|ему|ей|им|н[её]м|ней|них|него|неё)\b", re.I)
# English constructions in Russian words, counted over the whole course: a pattern meets nothing else. Code spans take
# part, since a preposition may stand before one.
_CALQUES = {
    re.compile(r"\bпод `(?:torch\.)?(?:no_grad|enable_grad|inference_mode|autocast|vmap|compile)\b"): "write «внутри»",
    re.compile(r"\bобучение \w+ в гору\b", re.I): "«идти в гору» means to succeed: write «потери растут»",
    re.compile(r"\bпроверка считает, что\b", re.I): "«считать, что» means to believe: write «проверка учитывает»",
    re.compile(r"\bлеж(?:ит|ат) от [\d−$]"): "write «лежит в пределах от»",
    re.compile(r"\bзапуск\w*, на котор", re.I): "write «запуск, в котором»",
    re.compile(r"\bвыигрыш\w* перед\b"): "write «выигрыш по сравнению с»",
    re.compile(r"\bвсё(?: то)?, у котор"): "write «всё, у чего»",
    re.compile(r"\bни т\w{1,3}, ни друг", re.I): "«ни тот ни другой» has no comma",
    re.compile(r"\bзатуха\w+ (?:только )?на [λγ]"): "a trace decays «с множителем», not «на»",
    re.compile(r"\bвычисля\w+ (?:с числами|дальше)", re.I): "«вычислять» has an object: write what is computed",
    re.compile(r"\bследу\w+ за сво\w+ (?:тензор|вес|устройств)", re.I): "a new tensor «берёт устройство у» its tensor",
    re.compile(r"\bстоит (?:второго|третьего|ещё одного) (?:вызова|прохода)", re.I): "write «обходится в», not «стоит»",
    re.compile(r"\b(?:лист|значени|узл)\w* за (?:корнем|`root`)", re.I): "write «от которого зависит», not «за»",
    re.compile(r"\A\w+ (?:её|его|их) и сравн", re.I): "a cell begins with a pronoun without its noun: name it",
}
_FORBIDDEN = re.compile(r"\*\*Нельзя\.\*\* (.*)")
_INFINITIVE = re.compile(r"\w(?:ть|ти|чь)(?:ся)?\b")


def problems(lesson: Lesson) -> Iterator[tuple[int, str]]:
    """Yield line number and complaint for each problem in the prose of a lesson source.

    Each complaint says what to do.
    """
    cells = iter(enumerate(lesson.cells))
    for index, cell in cells:
        if "plt.show()" in cell.source and " | " not in cell.metadata.get("alt", ""):
            yield cell.line, 'a figure without a description: write alt="English | Russian" beside its tags'
        if cell.is_invitation and "\n\n" not in cell.source:
            yield cell.line, "an invitation without its outcome: write what comes of it in a second paragraph"
        if cell.kind == "markdown" and cell.language is None and not cell.role:
            yield cell.line, 'prose without a language: tag it tags=["en"] and write its Russian twin below'
        if cell.language == "ru":
            yield cell.line, "a Russian cell without its English twin directly above"
        if cell.language != "en":
            continue
        twin = lesson.cells[index + 1] if index + 1 < len(lesson.cells) else None
        if twin is None or twin.language != "ru" or twin.kind != cell.kind:
            yield cell.line, "an English cell without its Russian twin directly below"
            continue
        next(cells)
        if cell.kind == "markdown":
            yield from _twins(cell, twin)


def _twins(english: Cell, russian: Cell) -> Iterator[tuple[int, str]]:
    for name, pattern in _SHARED.items():
        a, b = (Counter(pattern.findall(text)) for text in (english.source, russian.source))
        if a != b:
            only = [f"only in English: {', '.join(map(repr, a - b))}"] if a - b else []
            only += [f"only in Russian: {', '.join(map(repr, b - a))}"] if b - a else []
            yield russian.line, f"the twins differ in {name}; {'; '.join(only)}"
    if russian.metadata.get("of") != source_digest(english.source):
        known = "has changed: bring the Russian up to date" if "of" in russian.metadata else "is new: read the Russian"
        command = "autograder build --accept LESSON"  # and --course DIR for a lesson of one's own
        yield russian.line, f"the English text {known}, then say that they match: `{command}`"
    yield from ((russian.line, complaint) for complaint in banned_words(russian.source))
    yield from ((russian.line, complaint) for complaint in typography(russian.source))


def typography(text: str) -> Iterator[str]:
    """Yield a complaint for each slip in numbers and semicolons of Russian prose.

    Code and formulas are left out.
    """
    for name in ("code blocks", "formulas", "code spans"):
        text = _SHARED[name].sub(" ", text)
    if _SPACE_IN_NUMBER.search(text):
        yield "a number with an ordinary space between its digits: write a no-break space, or none in four digits"
    if _HYPHEN_AS_MINUS.search(text):
        yield "a negative number with a hyphen: write the minus sign, −"
    prose = "\n".join(line for line in text.splitlines() if not _ITEM.match(line))
    for sentence in _SENTENCE.split(re.sub(r"\([^)]*\)", " ", prose)):
        if sentence.count(";") == 1:
            yield f"a semicolon that separates no items of a list, in «{sentence[:40].strip()}»: write two sentences"


def banned_words(text: str) -> Iterator[str]:
    """Yield a complaint for each calque in a Russian text, and for each word that the glossary refuses.

    The label of what is not allowed needs an infinitive behind it. The glossary's words are allowed in brackets,
    quotation marks and code spans.
    """
    for calque, advice in _CALQUES.items():
        if found := calque.search(text):
            yield f"«{found[0].strip()}» is English in Russian words: {advice}"
    for rule in _FORBIDDEN.findall(text):
        if not _INFINITIVE.search(rule):
            yield f"«Нельзя. {rule[:40]}»: write an infinitive behind the label"
    plain = re.sub(r"\([^)]*\)|`[^`]*`|«[^»]*»", " ", text).lower()
    for stem, term in refused_stems().items():
        found = re.search(rf"\b{re.escape(stem)}\w*", plain)
        if found:
            yield f"«{found[0]}» is not in the glossary: write «{term}»"


def lonely_pronoun(text: str) -> Iterator[str]:
    """Yield a complaint if a Russian sentence that stands alone on a card begins with a pronoun."""
    if found := _PRONOUN.match(text):
        yield f"«{found[0]}» begins a sentence that stands alone on a card: name the thing"


@cache
def refused_stems() -> dict[str, str]:
    """Return a dict from each stem that the glossary refuses to the Russian term to write instead."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+) \|$", GLOSSARY.read_text(encoding="utf-8"), re.M)
    return {stem: term for _, term, stems in rows[1:] for stem in stems.split(", ")}
