"""Answers that are alike, judged by their own tokens.

Names that a student chose count by their order of appearance, not as they are spelled. Tokens that the exercise forces,
or that many different answers have, do not count. Answers that differ in such names alone are one answer, however many
students have it. Comments and docstrings are compared apart from code: whoever adds some to a copy hides nothing.

The idea of fingerprints that leave out what many have: Schleimer, Wilkerson and Aiken, "Winnowing: Local Algorithms
for Document Fingerprinting" (MOSS), 2003.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from ...lessons.source import solutions_in
from ..class_counts.counts import Graded
from .answer_tokens import Token, by_recency, lines_of, numbered, places_outside, tokens_of, windows_of
from .similar_texts import alike, equal_parts

_OWN = 20  # tokens of an answer's own: fewer prove nothing
_COMMON = 0.1  # share of the different answers: tokens that more of them have do not count
_FEW = 3  # different answers: tokens that only so many of them have always count
_PAIRED = 3  # students: so many are listed in pairs, more as one group
_LISTED = 20  # pairs and groups
_MOST = 4_000  # tokens of an answer that are compared: time and memory grow with the square


@dataclass
class Alike:
    """Two or more students with answers that are alike.

    `shared` maps exercises to the lines that all of them have, as the first one wrote them. `tokens` is the number of
    shared tokens that the exercise does not force and few different answers have.
    """

    students: tuple[str, ...]
    shared: dict[str, str] = field(default_factory=dict)
    tokens: int = 0


def similar_in(graded: Graded) -> list[Alike]:
    """Return the students whose answers to the exercises of one assignment are alike.

    Tables of predictions are not compared: whoever believes the same fills in the same.
    """
    compared, forced = {}, {}
    for name, each in graded.exercises.items():
        if each.exercise.asks_for != "dict":
            given = [cell.source for lesson in graded.lessons for cell in lesson.of("given", name)]
            forced[name] = [*given, *(text for lesson in graded.lessons for text in solutions_in(lesson, name))]
            compared[name] = each.sources
    return similar_answers(compared, forced)


def similar_answers(answers: Mapping[str, Mapping[str, str]], forced: Mapping[str, Sequence[str]]) -> list[Alike]:
    """Return the students whose answers are alike, those with the most shared tokens first.

    `answers` maps an exercise to a dict from student to answer. `forced` maps an exercise to texts that anybody may
    have: given code and right answers of the lesson.
    """
    found: dict[tuple[str, ...], Alike] = {}
    for name, by_student in answers.items():
        read = {student: tokens_of(source) for student, source in sorted(by_student.items())}
        anybody = [tokens_of(source) for source in forced.get(name, ())]
        code = _Compared({who: each.code for who, each in read.items()}, [each.code for each in anybody])
        words = _Compared({who: each.words for who, each in read.items()}, [each.words for each in anybody])
        for students in {*code.alike(), *words.alike()}:
            tokens = [*code.shared(students), *words.shared(students)]
            group = found.setdefault(students, Alike(students))
            group.tokens += len(tokens)
            lines = lines_of(by_student[students[0]])
            group.shared[name] = "\n".join(lines[line] for line in sorted({token.line for token in tokens}))
    return sorted(found.values(), key=lambda group: (-group.tokens, group.students))[:_LISTED]


class _Compared:
    """Answers to one exercise: their code, or their comments.

    The first of the students with the same answer stands for all of them. `_places` and `_texts` hold the places of
    its own tokens, and a text with a letter for each of them.
    """

    def __init__(self, tokens: Mapping[str, Sequence[Token]], forced: Sequence[Sequence[Token]]) -> None:
        self._tokens = tokens
        same: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for student, each in tokens.items():
            same[tuple(numbered(each))].append(student)
        self._same = {students[0]: students for students in same.values()}
        self._first = {student: first for first, students in self._same.items() for student in students}
        self._places = _own_places({first: tokens[first] for first in self._same}, forced)
        own = {first: [tokens[first][place] for place in places] for first, places in self._places.items()}
        self._texts = _in_letters(own)
        self._pairs = {frozenset(pair) for pair in alike(self._texts)}
        self._connected = _connected(self._texts, self._pairs)

    def alike(self) -> Iterator[tuple[str, ...]]:
        """Yield the students of each pair and each group whose answers have enough tokens of their own."""
        for firsts in {id(each): each for each in self._connected.values()}.values():
            enough = [first for first in firsts if len(self._texts[first]) >= _OWN]
            students = sorted(student for first in enough for student in self._same[first])
            if len(students) > _PAIRED:
                yield tuple(students)
                continue
            for one, other in combinations(students, 2):
                firsts_of_both = {self._first[one], self._first[other]}
                if len(firsts_of_both) == 1 or firsts_of_both in self._pairs:
                    yield one, other

    def shared(self, students: Sequence[str]) -> list[Token]:
        """Return the own tokens of the first of these students that all have, or none if the answers are not alike."""
        first, *others = dict.fromkeys(self._first[student] for student in students)
        if not self._connected[first].issuperset(others):
            return []
        text = self._texts[first]
        places = set(range(len(text))).intersection(*(equal_parts(text, self._texts[other]) for other in others))
        return [self._tokens[students[0]][self._places[first][place]] for place in sorted(places)]


def _own_places(tokens: Mapping[str, Sequence[Token]], forced: Sequence[Sequence[Token]]) -> dict[str, list[int]]:
    """Return a dict from student to the places of tokens that neither `forced` nor many other answers have."""
    windows = {student: list(windows_of(each)) for student, each in tokens.items()}
    counts = Counter(window for each in windows.values() for window in set(each))
    most = max(_FEW, _COMMON * len(tokens))
    common = {window for window, count in counts.items() if count > most}
    common.update(window for each in forced for window in windows_of(each))
    return {student: places_outside(each, common)[:_MOST] for student, each in windows.items()}


def _in_letters(own: Mapping[str, Sequence[Token]]) -> dict[str, str]:
    """Return a text for each student, with a letter per token: texts are compared ten times as fast as lists."""
    numbers: dict[str, int] = {}
    return {
        student: "".join(chr(numbers.setdefault(text, len(numbers)) % sys.maxunicode) for text in by_recency(tokens))
        for student, tokens in own.items()
    }


def _connected(keys: Iterable[str], pairs: Iterable[frozenset[str]]) -> dict[str, set[str]]:
    """Return a dict from key to all keys that pairs connect with it, directly or not."""
    found = {key: {key} for key in keys}
    for pair in pairs:
        joined = set().union(*(found[key] for key in pair))
        found.update(dict.fromkeys(joined, joined))
    return found
