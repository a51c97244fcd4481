"""Static search for regular expressions whose backtracking grows faster than the text.

The criteria are those of Weber and Seidl, "On the degree of ambiguity of finite automata", 1991, as
`analyser/AmbiguityAnalyser` of RegexStaticAnalysis applies them to backtracking (Weideman et al., 2016). A text can be
pumped at a word `w` if an automaton has states p and q with paths p-w->p, p-w->q and q-w->q. If p is q, and the paths
differ, the steps grow exponentially, else at least with the square. A search is an automaton with a loop in front.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_ALPHABET = [*map(chr, range(32, 127)), "\n", "\t", "\r", "\N{NO-BREAK SPACE}", "я", "é", "²", "—"]
_EVERY = (1 << len(_ALPHABET)) - 1
_MOST_COPIES = 3  # of the body of a bounded repetition, which is no loop
_MOST_PAIRS = 10_000  # of states; of more, the worst is assumed
_CATEGORIES = {
    c.CATEGORY_DIGIT: str.isdecimal,
    c.CATEGORY_SPACE: str.isspace,
    c.CATEGORY_WORD: lambda character: character.isalnum() or character == "_",
}
_OPPOSITES = {
    c.CATEGORY_NOT_DIGIT: c.CATEGORY_DIGIT,
    c.CATEGORY_NOT_SPACE: c.CATEGORY_SPACE,
    c.CATEGORY_NOT_WORD: c.CATEGORY_WORD,
}


class Growth(Enum):
    """The growth of the steps of a failing match with the length of the text."""

    LINEAR = 1
    SQUARE = 2
    EXPONENTIAL = 3


@dataclass
class _Automaton:
    """States and transitions; a transition has a bit for each letter of `_ALPHABET`.

    `skips` are transitions without a letter, True for those that may fail, as `$` and lookaheads do.
    """

    steps: list[list[tuple[int, int]]] = field(default_factory=list)
    skips: list[list[tuple[int, bool]]] = field(default_factory=list)

    def state(self) -> int:
        self.steps.append([])
        self.skips.append([])
        return len(self.steps) - 1

    def add(self, items: Any, start: int, flags: int) -> int:
        """Add a parsed sequence from `start` on, and return its last state."""
        for operation, argument in items:
            start = self._add(operation, argument, start, flags)
        return start

    def _add(self, operation: Any, argument: Any, start: int, flags: int) -> int:
        end = self.state()
        if operation in (c.LITERAL, c.NOT_LITERAL, c.ANY, c.IN):
            self.steps[start].append((end, _letters(operation, argument, flags)))
        elif operation is c.BRANCH:
            for branch in argument[1]:
                self.skips[self.add(branch, start, flags)].append((end, False))
        elif operation is c.SUBPATTERN:
            _, more, less, items = argument
            self.skips[self.add(items, start, (flags | more) & ~less)].append((end, False))
        elif operation in (c.MAX_REPEAT, c.MIN_REPEAT):
            self._repeat(*argument, start, end, flags)
        elif operation is c.POSSESSIVE_REPEAT:  # taken back as a whole: no other way through it is tried
            self.steps[start].append((end, _EVERY))
            self.skips[start].append((end, False))
        elif operation in (c.AT, c.ASSERT, c.ASSERT_NOT, c.GROUPREF):
            self.skips[start].append((end, True))
        else:
            raise NotImplementedError(f"{operation}: not in the course so far")
        return end

    def _repeat(self, least: int, most: int, items: Any, start: int, end: int, flags: int) -> None:
        for _ in range(min(least, _MOST_COPIES)):
            start = self.add(items, start, flags)
        self.skips[start].append((end, False))
        if most is c.MAXREPEAT:
            head = self.state()
            self.skips[start].append((head, False))
            last = self.add(items, head, flags)
            self.skips[last] += [(head, False), (end, False)]
            return
        for _ in range(min(most, _MOST_COPIES) - min(least, _MOST_COPIES)):
            start = self.add(items, start, flags)
            self.skips[start].append((end, False))

    def skipped(self, state: int, *, failing: bool = True) -> set[int]:
        """Return the states that are reached without a letter, those behind what may fail if `failing`."""
        found, waiting = {state}, [state]
        while waiting:
            new = {to for to, may_fail in self.skips[waiting.pop()] if failing or not may_fail} - found
            found |= new
            waiting += new
        return found


def _letters(operation: Any, argument: Any, flags: int) -> int:
    """Return the letters of `_ALPHABET` that a single character of a pattern matches, as bits."""
    bits = 0
    for number, letter in enumerate(_ALPHABET):
        cases = {letter, letter.lower(), letter.upper()} if flags & re.IGNORECASE else {letter}
        if any(_matches(operation, argument, each, flags) for each in cases):
            bits |= 1 << number
    return bits


def _matches(operation: Any, argument: Any, letter: str, flags: int) -> bool:
    if operation is c.ANY:
        return bool(flags & re.DOTALL) or letter != "\n"
    if operation in (c.LITERAL, c.NOT_LITERAL):
        return (len(letter) == 1 and ord(letter) == argument) == (operation is c.LITERAL)
    if operation is c.RANGE:
        return len(letter) == 1 and argument[0] <= ord(letter) <= argument[1]
    if operation is c.CATEGORY:
        if argument in _OPPOSITES:
            return not _CATEGORIES[_OPPOSITES[argument]](letter)
        return bool(_CATEGORIES[argument](letter))
    negated = argument[0][0] is c.NEGATE
    return negated != any(_matches(*item, letter, flags) for item in argument[negated:])


def growth(pattern: re.Pattern[Any], *, anchored: bool) -> Growth:
    """Return how the steps of a match that fails grow. `anchored` says that matches begin at the text's start only."""
    parsed, automaton = parser.parse(pattern.pattern, pattern.flags), _Automaton()
    start = first = automaton.state()
    at_a_line = _begins_at(parsed, c.AT_BEGINNING)
    if not (anchored or _begins_at(parsed, c.AT_BEGINNING_STRING) or (at_a_line and not pattern.flags & re.MULTILINE)):
        automaton.steps[start].append((start, _EVERY))
        first = automaton.state()
        if at_a_line:
            automaton.steps[start].append((first, 1 << _ALPHABET.index("\n")))
        else:
            automaton.skips[start].append((first, False))
    end = automaton.add(parsed, first, pattern.flags)
    return _growth(automaton, start, end)


def _begins_at(items: Any, place: Any) -> bool:
    first = next(iter(items), (None, None))
    if first[0] is c.SUBPATTERN:
        return _begins_at(first[1][3], place)
    return first == (c.AT, place)


def _growth(automaton: _Automaton, start: int, end: int) -> Growth:
    """Return the growth by pairs of states that the same word keeps and leads from one to the other."""
    count = len(automaton.steps)
    moves = [_merged(automaton, state) for state in range(count)]
    fails = [end not in automaton.skipped(state, failing=False) for state in range(count)]
    after = [_reachable(moves, state) for state in range(count)]
    looping = [state for state in after[start] if fails[state] and any(state in after[to] for to in moves[state])]
    first = {state: min(s for s in after[state] if state in after[s]) for state in looping}  # of its component
    if any(_twice(moves, state) for state in {first[state]: state for state in looping}.values()):
        return Growth.EXPONENTIAL  # two ways around one state of a component are two ways around each
    for p in looping:
        # Two such states in one component are a case of the above. A loop for every letter meets all of a component.
        others = {first[q] if _EVERY in moves[p].get(p, ()) else q: q for q in looping if q in after[p]}
        if any(first[q] != first[p] and _pumps(moves, p, q) for q in others.values()):
            return Growth.SQUARE
    return Growth.LINEAR


def _merged(automaton: _Automaton, state: int) -> dict[int, list[int]]:
    """Return the states that one letter leads to, with the letters of each way there."""
    ways: dict[int, list[int]] = {}
    for each in automaton.skipped(state):
        for to, letters in automaton.steps[each]:
            ways.setdefault(to, []).append(letters)
    return ways


def _reachable(moves: list[dict[int, list[int]]], start: int) -> set[int]:
    found, waiting = {start}, [start]
    while waiting:
        new = moves[waiting.pop()].keys() - found
        found |= new
        waiting += new
    return found


def _twice(moves: list[dict[int, list[int]]], p: int) -> bool:
    """Return whether a word leads from `p` back to `p` in two ways."""
    inside = {state for state in _reachable(moves, p) if p in _reachable(moves, state)}
    found, waiting = {(p, p, False)}, [(p, p, False)]
    while waiting:
        one, other, apart = waiting.pop()
        for a, b in _pairs(moves, one, other, inside, inside):
            new = (a, b, apart or a != b)
            if new == (p, p, True):
                return True
            if new not in found:
                found.add(new)
                waiting.append(new)
    return False


def _pairs(
    moves: list[dict[int, list[int]]], one: int, other: int, into: set[int], into_other: set[int]
) -> Iterator[tuple[int, int]]:
    for a, letters in moves[one].items():
        for b, same in moves[other].items():
            if a in into and b in into_other and any(x & y for x in letters for y in same):
                yield a, b


def _pumps(moves: list[dict[int, list[int]]], p: int, q: int) -> bool:
    """Return whether one word leads from `p` to `p`, from `p` to `q`, and from `q` to `q`, or whether it may."""
    from_p, to_p = _reachable(moves, p), {s for s in range(len(moves)) if p in _reachable(moves, s)}
    from_q, to_q = _reachable(moves, q), {s for s in range(len(moves)) if q in _reachable(moves, s)}
    of_p, between, of_q = from_p & to_p, from_p & to_q, from_q & to_q
    if len(between) * len(of_q) > _MOST_PAIRS:
        return True
    found, waiting = {(p, p, q)}, [(p, p, q)]
    while waiting:
        x, y, z = waiting.pop()
        for a, first in moves[x].items():
            for b, second in moves[y].items():
                for d, third in moves[z].items():
                    if a in of_p and b in between and d in of_q and _meet(first, second, third):
                        if (a, b, d) == (p, q, q):
                            return True
                        if (a, b, d) not in found:
                            found.add((a, b, d))
                            waiting.append((a, b, d))
    return False


def _meet(*ways: list[int]) -> bool:
    common = _EVERY
    sets = [0] * len(ways)
    for number, way in enumerate(ways):
        for letters in way:
            sets[number] |= letters
    for each in sets:
        common &= each
    return bool(common)
