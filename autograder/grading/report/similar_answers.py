"""Pairs of similar answers, judged by their own tokens.

Tokens that the exercise forces, or that many answers have, do not count.

The idea of fingerprints that leave out what many have: Schleimer, Wilkerson and Aiken, "Winnowing: Local Algorithms
for Document Fingerprinting" (MOSS), 2003.
"""

from __future__ import annotations

import io
import math
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rapidfuzz.distance import Indel

from ...lessons.source import solutions
from .counts import Graded

_WINDOW = 5  # tokens: shorter sequences are alike by chance
_OWN = 20  # tokens of an answer's own: fewer prove nothing
_ALIKE = 0.9  # similarity of the answers' own tokens
_LONGER = (2 - _ALIKE) / _ALIKE  # how much longer one of two alike answers can be
_RUN = 4  # tokens: two alike answers share at least one run of so many
_COMMON = 0.1  # share of the answers: tokens that more of them have do not count
_FEW = 3  # answers: tokens that only so many of them have always count
_LISTED = 20  # pairs
_MOST = 4_000  # tokens of an answer that are compared: time and memory grow with the square
_LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Token:
    """A token of an answer, or a word of a comment.

    `line` is the index of the line in the answer.
    """

    text: str
    line: int


@dataclass
class Pair:
    """Two students with answers that are alike.

    `shared` maps exercises to the lines that both answers have. `tokens` is the number of shared tokens that the
    exercise does not force and few answers have.
    """

    students: tuple[str, str]
    shared: dict[str, str] = field(default_factory=dict)
    tokens: int = 0


def similar_in(graded: Graded) -> list[Pair]:
    """Return the pairs of students whose answers to the exercises of one assignment are alike.

    Two students may have got the same program: tables of each student's own are not compared.
    """
    forced = {}
    for name, each in graded.exercises.items():
        given = [cell.source for lesson in graded.lessons for cell in lesson.of("given", name)]
        forced[name] = [*solutions(each.exercise), *given]
    compared = {name: each.sources for name, each in graded.exercises.items() if name not in graded.personal}
    return similar_answers(compared, forced)


def similar_answers(answers: Mapping[str, Mapping[str, str]], forced: Mapping[str, Sequence[str]]) -> list[Pair]:
    """Return the pairs of students whose answers are alike, those with the most shared tokens first.

    `answers` maps an exercise to a dict from student to answer. `forced` maps an exercise to texts that anybody may
    have: given code and right answers of the lesson.
    """
    pairs: dict[tuple[str, str], Pair] = {}
    for name, by_student in answers.items():
        tokens = {student: tokens_of(source) for student, source in sorted(by_student.items())}
        own = _own_tokens(tokens, [tokens_of(source) for source in forced.get(name, ())])
        texts = _in_letters(own)
        for one, other in _candidates(texts):
            if Indel.normalized_similarity(texts[one], texts[other], score_cutoff=_ALIKE) < _ALIKE:
                continue
            same = _equal_parts(texts[one], texts[other])
            pair = pairs.setdefault((one, other), Pair((one, other)))
            pair.tokens += len(same)
            lines = by_student[one].splitlines()
            pair.shared[name] = "\n".join(lines[line] for line in sorted({own[one][place].line for place in same}))
    return sorted(pairs.values(), key=lambda pair: (-pair.tokens, pair.students))[:_LISTED]


def tokens_of(source: str) -> list[Token]:
    """Return the tokens of Python code, without layout. If the code is not valid Python, its words are returned."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                found += [Token(word, token.start[0] - 1) for word in token.string.split()]
            elif token.type not in _LAYOUT:
                found.append(Token(token.string, token.start[0] - 1))
    except (tokenize.TokenError, SyntaxError):
        lines = source.splitlines()
        return [Token(word, number) for number, line in enumerate(lines) for word in re.findall(r"\w+|\S", line)]
    return found


def _own_tokens(tokens: Mapping[str, list[Token]], forced: Iterable[list[Token]]) -> dict[str, list[Token]]:
    """Return a dict from student to the tokens that neither `forced` nor many other answers have.

    Students with fewer than `_OWN` such tokens are left out.
    """
    common = {window for each in forced for window in _windows(each)}
    counts = Counter(window for each in tokens.values() for window in set(_windows(each)))
    most = max(_FEW, _COMMON * len(tokens))
    common |= {window for window, count in counts.items() if count > most}
    own = {}
    for student, each in tokens.items():
        inside = {
            place for start, window in enumerate(_windows(each)) if window not in common
            for place in range(start, start + _WINDOW)
        }  # fmt: skip
        if len(inside) >= _OWN:
            own[student] = [each[place] for place in sorted(inside)[:_MOST]]
    return own


def _in_letters(own: Mapping[str, Sequence[Token]]) -> dict[str, str]:
    """Return a text for each student, with a letter per token: texts are compared ten times as fast as lists."""
    numbers: dict[str, int] = {}
    return {
        student: "".join(chr(numbers.setdefault(token.text, len(numbers)) % sys.maxunicode) for token in tokens)
        for student, tokens in own.items()
    }


def _candidates(own: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of students whose answers can be alike. `own` maps a student to a text with a letter per token.

    Of two alike texts of N letters together, at most (1 - _ALIKE) * N letters are in one alone. What both have is cut
    there into runs, and so they share at least `_shared_windows(N)` windows of `_RUN` letters. Two texts that share so
    many share one of their rarest. This is the prefix filter of Chaudhuri, Ganti and Kaushik, "A Primitive Operator
    for Similarity Joins in Data Cleaning", 2006. It spares 6 of 7 comparisons of real answers.
    """
    windows = {student: _numbered_windows(text) for student, text in own.items()}
    often = Counter(window for each in windows.values() for window in each)
    having: dict[tuple[str, int], list[str]] = {}
    for student, text in own.items():
        needed = _shared_windows(len(text) * (1 + 1 / _LONGER))
        rarest = sorted(windows[student], key=lambda window: (often[window], window))
        others: set[str] = set()
        for window in rarest[: len(rarest) - needed + 1]:
            others.update(having.setdefault(window, []))
            having[window].append(student)
        yield from ((other, student) for other in others if _are_of_one_length(own[other], text))


def _shared_windows(letters: float) -> int:
    """Return how many windows two alike texts share, at least, and at least 1, if they have `letters` together."""
    alone = (1 - _ALIKE) * letters
    return max(1, math.floor((letters - alone) / 2 - (_RUN - 1) * (alone + 1)))


def _numbered_windows(text: str) -> list[tuple[str, int]]:
    """Return the windows of `_RUN` letters of a text, each with the number of its earlier occurrences."""
    seen: Counter[str] = Counter()
    found = []
    for start in range(len(text) - _RUN + 1):
        window = text[start : start + _RUN]
        found.append((window, seen[window]))
        seen[window] += 1
    return found


def _are_of_one_length(one: str, other: str) -> bool:
    return max(len(one), len(other)) <= _LONGER * min(len(one), len(other))


def _windows(tokens: Sequence[Token]) -> list[tuple[str, ...]]:
    texts = [token.text for token in tokens]
    return [tuple(texts[start : start + _WINDOW]) for start in range(len(texts) - _WINDOW + 1)]


def _equal_parts(one: str, other: str) -> list[int]:
    """Return the places in `one` of the letters that `other` has in the same order."""
    blocks = [block for block in Indel.opcodes(one, other) if block.tag == "equal"]
    return [place for block in blocks for place in range(block.src_start, block.src_end)]
