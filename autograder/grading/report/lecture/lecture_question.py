"""The question for the next lecture, from what most students got wrong.

The method is peer instruction: Crouch and Mazur, "Peer Instruction: Ten years of experience and results", 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ....checking.exercise import PUBLIC_SEED
from ....checking.observe import observe
from ....exercises import key_of, misconceptions_of
from ....language import LANGUAGES, Text
from ....lessons.mistakes import mistakes_of
from ....lessons.source import Lesson
from ....messages.report import WORDS
from ...class_counts.counts import Graded, Wrong
from .asked_values import best_place
from .program import mistaken_program
from .question import FEWEST, MOST, Question, find_lesson, order
from .table_question import row_questions, table_question

_MOST_SENTENCES = 4  # choices that are sentences


def lecture_question(graded: Graded) -> Question | None:
    """Return a question on what most students got wrong, or None.

    It is a row of a table, or a recognised mistake. A program that fits on one screen is preferred.
    """
    found: list[tuple[int, Callable[[], Question | None]]] = []
    for answered in graded.exercises.values():
        if answered.exercise.core and answered.exercise.asks_for == "dict":
            found += row_questions(answered, graded.lessons)
    shared = graded.misunderstood()
    found += [
        (len(wrong.students), partial(_on_mistake, wrong, shared, graded.lessons))
        for wrong in shared
        if wrong.mistake in misconceptions_of(wrong.exercise)
    ]
    questions = filter(None, (make() for _, make in sorted(found, key=lambda each: -each[0])))
    first = next(questions, None)
    return first if first is None or first.fits else next((each for each in questions if each.fits), first)


def _on_mistake(wrong: Wrong, groups: Sequence[Wrong], lessons: Sequence[Lesson]) -> Question | None:
    """Return a question on a recognised mistake: what a table holds, what comes out, or what is wrong."""
    exercise, mistake, lesson = wrong.exercise, wrong.mistake or "", find_lesson(wrong.exercise, lessons)
    if lesson is None:
        return None
    if exercise.asks_for == "dict":
        return table_question(exercise, lesson, mistake)
    code = mistaken_program(exercise, lesson, mistake)
    return (_on_output(wrong, code) or _on_sentences(wrong, code, groups)) if code else None


def _on_output(wrong: Wrong, code: str) -> Question | None:
    """Return a question on what a mistake gives, compared with what is right."""
    exercise, mistake = wrong.exercise, wrong.mistake or ""
    place = best_place(exercise, mistake, key_of(exercise).expected)
    if place is None or len(place.others) < FEWEST:
        return None
    choices = list({each.en: each for each in (place.mine, place.right, *place.others.values())}.values())[:MOST]
    choices.sort(key=lambda each: order(each.en))
    aspect = next(each for each in exercise.aspects if each.name == place.aspect)
    asks = aspect.measured or aspect.says
    prompt = Text(*(f"{WORDS['lecture_output'].read(each)} ({asks.read(each)})" for each in LANGUAGES))
    run = observe(exercise, mistakes_of(exercise).program(mistake, exercise.asks), PUBLIC_SEED)[place.case]
    return Question(
        exercise,
        prompt,
        code,
        tuple(choices),
        choices.index(place.mine),
        choices.index(place.right),
        wrong.sentence,
        run.called.replace("case.", ""),
        run.inputs,
    )


def _on_sentences(wrong: Wrong, code: str, groups: Sequence[Wrong]) -> Question:
    """Return a question on what is wrong with a program. The choices are mistakes of the exercise."""
    known = misconceptions_of(wrong.exercise)
    seen = [each.mistake for each in groups if each.exercise is wrong.exercise and each.mistake in known]
    says = [known[name].says for name in dict.fromkeys([wrong.mistake, *seen, *known]) if name]
    choices = list({each.en: each for each in says}.values())[: _MOST_SENTENCES - 1]
    right = choices[0]
    choices = [*sorted(choices, key=lambda each: each.en), WORDS["nothing_wrong"]]
    return Question(wrong.exercise, WORDS["lecture_mistake"], code, tuple(choices), choices.index(right))
