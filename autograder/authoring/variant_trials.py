"""Trials of variants: the gate's demands on other programs for a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..checking.exercise import Exercise, seed_of_variant
from ..checking.expected import expect
from ..checking.judge import judge
from ..checking.observe import observe
from ..checking.verdict import VerdictState
from ..lessons.mistakes import mistakes_of
from ..lessons.variants import draw_table, variants_of

STRUCTURES, NUMBERS = 4, 20


def variant_problems(exercise: Exercise) -> Iterator[str]:
    """Yield a complaint for each fault in the variants of a table of predictions.

    A core table has at least `STRUCTURES` different programs. On the different ones of the first `NUMBERS` variants the
    right table passes, and each mistake's table is refused and recognised as that mistake. Each mistake of the file
    occurs.
    Raises BrokenSource if a program cannot be run.
    """
    variants = variants_of(exercise)
    if exercise.core and len(variants.programs) < STRUCTURES:
        yield f"{len(variants.programs)} variants of a core table; at least {STRUCTURES} programs of other structure"
    known = mistakes_of(exercise).cells
    yield from (f"variants: {name} is no mistake of the exercise" for name in variants.beliefs if name not in known)
    seen, wrong, tried = set[str](), Counter[str](), set[str]()
    for number in range(1, NUMBERS + 1) if variants.programs else ():
        if (program := variants.draw(number).program) in tried:  # tables without drawn numbers: a fifth of the time
            continue
        tried.add(program)
        table = draw_table(exercise, number)
        assert table is not None
        expected = expect(exercise, table.right, table.mistaken, seed_of_variant(number))
        seen |= table.mistaken.keys()
        for name, answer in {"": table.right, **table.mistaken}.items():
            verdict = judge(exercise, observe(exercise, answer, expected.seed), expected, lambda: None)
            right = (VerdictState.NOT_YET, name) if name else (VerdictState.PASSED, None)
            if (verdict.state, verdict.mistake) != right:
                wrong[f"{name or 'the right table'} is {verdict.state}, recognised as {verdict.mistake}"] += 1
    yield from (f"variants: {problem}, {count} of {NUMBERS} times" for problem, count in wrong.items())
    yield from (f"variants: {name} occurs in none" for name in variants.beliefs if name in known and name not in seen)
