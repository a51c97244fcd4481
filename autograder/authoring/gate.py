"""The gate: what `autograder verify` demands of every exercise.

- The solution earns all points, and the stub is not attempted.
- Every mistake is rejected and recognised as itself in 20 trials: in five processes, on 16 seeds.
- At least three other right answers pass.
- No senseless answer, such as one that returns None, earns a point or makes the checker itself fail.
- A program that does nothing of the exercise earns at most a quarter of the points: the given code, a plain program.
- No call of the answer goes unobserved: who returns None there loses points.
- No call of the answer gets large tensors that are the same for every seed, or all of whose rows are equal.
- The result of a counted run is data: no run of a learner's process says itself whether it was right.
- A case of ours has each condition that its inputs allow: a zero, a frozen part, evaluation mode, a call between.
- No helper function in the exercise's module passes as an answer: a submission could call that function.
- The key has at most 100 kB.
- A core table of predictions has four variants or more; on each, mistakes are recognised as themselves.
- All points mean a pass: an aspect with points waits for every aspect without.
- No aspect is False for the solution, and each is what some mistake gets wrong.
- Every text exists in English and in Russian, with equally many code spans.
- Each core exercise of the course asks why, in a short question, and answers in at most 35 words.
- A contract of the course shows one bold sentence, at most 50 words; the rest opens by a click.
- Each line of a contract names an aspect or why none checks it, and each aspect is in a line.
- Headings are names of exercises; what counts stands in the core, what is extra behind it.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..cards.shown_verdict import ShownVerdict
from ..cells import BrokenSource
from ..checking.exercise import PUBLIC_SEED, Exercise
from ..checking.expected import Expected
from ..checking.judge import judge, screen
from ..checking.observe import code_digest, observe
from ..checking.verdict import Verdict, VerdictState
from ..exercises import PACKAGED, Unknown, key_in, key_of, path_of
from ..language import LANGUAGES, Text
from ..lessons.execute import run
from ..lessons.keys import build_key
from ..lessons.mistakes import mistakes_of
from ..lessons.prose.contracts import contract_problems, shown_words
from ..lessons.prose.headings import heading_problems
from ..lessons.prose.sections import KEEP, lesson_minutes, misplaced
from ..lessons.source import Lesson
from .aspects import aspect_problems
from .idle_calls import idle_calls
from .junk import accepted_helpers, accepted_junk, helpers
from .known_inputs import known_inputs
from .lint import banned_words, lonely_pronoun, problems
from .trials import TRIALS, Trials, judge_keys, try_answers
from .unearned import unearned_points
from .untried import untried_conditions
from .variant_trials import variant_problems

ALTERNATIVES, CORE, MINUTES, POINTS, HINTS = 3, 6, 90, 20, 3  # minutes: those of the whole core
QUESTION, BECAUSE, SHOWN = 15, 35, 50  # words, of English
LARGEST_KEY = 100_000  # bytes; a check reads its key


@dataclass
class Report:
    """The results of the gate for one exercise.

    The exercise passes if `problems` is empty. `alternatives` is a dict from the name of an alternative to the state of
    its verdict. `mistakes` is a dict from a mistake's name to the name of the mistake that was recognised, or None.
    `key` is "current" if the key on disk is what `autograder build` would write, else "stale"; "" if it was believed.
    """

    lesson: str
    exercise: str
    core: bool
    points: float
    solution: str = ""
    stub: str = ""
    key: str = ""
    alternatives: dict[str, str] = field(default_factory=dict)
    mistakes: dict[str, str | None] = field(default_factory=dict)
    languages: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "problems"}


def verify(
    lesson: Lesson, exercises: dict[str, Exercise], only: str = "", number: int = TRIALS
) -> tuple[list[Report], list[str]]:
    """Return a report for each exercise of a lesson, and the problems of the lesson as a whole.

    If `only` names an exercise, that exercise alone is verified. Each answer is tried `number` times. If it is 0, the
    key on disk is believed: solutions and alternatives run once, mistakes are judged by their runs in the key, and no
    gap in a probe is looked for. This takes 1 to 4 s for a lesson.
    Raises BrokenSource if a cell of the lesson cannot be executed, if an answer ends its process, or if a key that is
    believed is not there.
    Raises Unknown if the lesson has no exercise `only`.
    """
    if only and only not in exercises:
        raise Unknown("exercise", only, list(exercises))
    gc.freeze()  # as in the processes of the trials
    ran = run(lesson, exercises)
    chosen = [exercises[only]] if only else list(exercises.values())
    judged = [each for each in chosen if not each.withdrawn and each.name in ran.solutions]
    keys = {each.name: ran.expect(each, PUBLIC_SEED) if number else _believe_key(lesson, each) for each in judged}
    trials = try_answers(lesson, judged, keys, number) if number else judge_keys(judged, keys, ran)
    reports = []
    for exercise in chosen:
        reports.append(report := _report(exercise))
        if exercise in judged:
            _read_trials(exercise, trials, report)
            key = keys[exercise.name]
            _judge_stub(exercise, ran.stubs.get(exercise.name), key, report)
            report.problems += aspect_problems(exercise, key)
            if number:
                _compare_key(exercise, key, report)
                report.problems += _gaps(exercise, key, ran.solutions[exercise.name])
        elif not exercise.withdrawn:
            report.solution = "missing"
            report.problems.append("the lesson has no answer cell for it")
    return reports, [] if only else list(_whole(lesson, exercises))


def _believe_key(lesson: Lesson, exercise: Exercise) -> Expected:
    """Return what the key on disk expects. Raises BrokenSource if there is no key."""
    if not key_in(path_of(exercise), exercise.name).is_file():
        wrong = f"{exercise.name} has no key yet: run `autograder build {lesson.name}`"
        raise BrokenSource(lesson.path, 1, wrong)
    return key_of(exercise).expected


def _report(exercise: Exercise) -> Report:
    """Return a report with the problems of the exercise's texts."""
    report = Report(exercise.lesson, exercise.name, exercise.core, exercise.points)
    report.languages = [x for x in LANGUAGES if all(text.read(x).strip() for _, text in texts(exercise))]
    report.problems += _texts(exercise)
    report.solution = "withdrawn" if exercise.withdrawn else ""
    return report


def _read_trials(exercise: Exercise, trials: Trials, report: Report) -> None:
    """Write into the report which answers passed and which mistakes were recognised."""
    report.solution = _passes(trials[exercise.name, "solution", exercise.name], "the solution", report)
    for (name, kind, own), verdicts in trials.items():
        if (name, kind) == (exercise.name, "alternative"):
            report.alternatives[own] = _passes(verdicts, f"the alternative {own}", report)
        elif (name, kind) == (exercise.name, "mistake"):
            report.mistakes[own] = _recognised(verdicts, own, report)
    if exercise.asks_for != "dict" and len(report.alternatives) < ALTERNATIVES:
        report.problems.append(
            f"{len(report.alternatives)} alternatives; at least {ALTERNATIVES} different right answers"
        )


def _passes(verdicts: list[Verdict], what: str, report: Report) -> str:
    failed = [verdict for verdict in verdicts if verdict.state != VerdictState.PASSED]
    if not failed:
        return VerdictState.PASSED
    trials = "" if len(failed) == len(verdicts) else f" in {len(failed)} of {len(verdicts)} trials"
    report.problems.append(f"{what} does not pass{trials}: {' '.join(ShownVerdict.of(failed[0]).text('en').split())}")
    return failed[0].state


def _recognised(verdicts: list[Verdict], name: str, report: Report) -> str | None:
    """Return the mistake that all verdicts name, or None if they differ."""
    names = Counter(verdict.mistake for verdict in verdicts)
    states = Counter(verdict.state for verdict in verdicts)
    if len({verdict.points for verdict in verdicts}) > 1:
        report.problems.append(f"the mistake {name} earns different points in different trials")
    if set(states) != {VerdictState.NOT_YET}:
        report.problems.append(f"the mistake {name} is not rejected: {dict(states)}")
    if set(names) != {name}:
        report.problems.append(f"the mistake {name} is recognised as {dict(names)}")
    return next(iter(names)) if len(names) == 1 else None


def _compare_key(exercise: Exercise, key: Expected, report: Report) -> None:
    """Write into the report whether the key on disk is current, and whether the key is too large."""
    path = key_in(path_of(exercise), exercise.name)
    text = build_key(exercise, key, path)
    report.key = "current" if path.is_file() and path.read_text(encoding="utf-8") == text else "stale"
    if (size := len(text.encode())) > LARGEST_KEY:
        wrong = f"its key has {size // 1000} kB; at most {LARGEST_KEY // 1000}: draw smaller cases, or observe less"
        report.problems.append(wrong)


def _judge_stub(exercise: Exercise, stub: object, key: Expected, report: Report) -> None:
    report.stub = VerdictState.NOT_ATTEMPTED if is_stub(exercise, stub, key) else "attempted"
    if report.stub != VerdictState.NOT_ATTEMPTED:
        report.problems.append("the untouched stub is not recognised as not attempted")


def _gaps(exercise: Exercise, key: Expected, solution: object) -> Iterator[str]:
    """Yield a complaint for each gap in a probe through which an answer could earn what it has not done."""
    yield from accepted_junk(exercise, key)
    yield from unearned_points(exercise, key)
    yield from idle_calls(exercise, key, solution)
    yield from known_inputs(exercise, solution)
    if path_of(exercise).parent == PACKAGED:  # authors of private lessons may write fewer cases
        yield from untried_conditions(exercise, solution)
    yield from accepted_helpers(exercise, key, helpers(exercise))
    yield from variant_problems(exercise) if exercise.kind == "predict" else ()


def is_stub(exercise: Exercise, stub: object, expected: Expected) -> bool:
    """Return whether the verdict on this stub is "not attempted".

    `expected` holds observations on the public seed.
    """
    screened = screen(exercise, {exercise.asks: stub})
    verdict = screened or judge(exercise, observe(exercise, stub, PUBLIC_SEED), expected, lambda: code_digest(stub))
    return verdict.state == VerdictState.NOT_ATTEMPTED


def texts(exercise: Exercise) -> Iterator[tuple[str, Text]]:
    """Yield name and text of every sentence of an exercise, such as ("hint 1", Text(...))."""
    yield "title", exercise.title
    yield from ((f"aspect {aspect.name}", aspect.says) for aspect in exercise.aspects)
    yield from ((f"label of aspect {aspect.name}", aspect.measured) for aspect in exercise.aspects if aspect.measured)
    yield from ((f"hint {number}", hint) for number, hint in enumerate(exercise.hints, 1))
    if exercise.why:
        yield "the question of `why`", exercise.why.question
        yield "the answer of `why`", exercise.why.because
    yield from ((f"mistake {name}", mistake.says) for name, mistake in mistakes_of(exercise).named.items())


def _texts(exercise: Exercise) -> Iterator[str]:
    for name, text in texts(exercise):
        if not text.en.strip() or not text.ru.strip():
            yield f"{name} is empty in one language"
        if text.en.count("`") != text.ru.count("`"):
            yield f"{name} has different code spans in the two languages"
        yield from (f"{name}: {complaint}" for complaint in banned_words(text.ru))
        if name.startswith("aspect "):
            yield from (f"{name}: {complaint}" for complaint in lonely_pronoun(text.ru))
    if len(exercise.hints) < HINTS:
        yield f"{len(exercise.hints)} hints; a learner gets {HINTS}: a question, a pointer, a skeleton"
    elif path_of(exercise).parent == PACKAGED and exercise.asks_for != "dict" and not _has_blanks(exercise.hints[-1]):
        yield "the last hint is the solution with blanks: several lines of code with `...` in place of what matters"
    yield from _unexplained(exercise)
    for name, mistake in mistakes_of(exercise).named.items():
        if mistake.says.en.startswith("It looks") or mistake.says.ru.startswith("Похоже"):
            yield f"the mistake {name} must not begin as its label does, “Looks like” / «Похоже на ошибку»"


def _has_blanks(hint: Text) -> bool:
    return all("\n" in each and ("..." in each or "___" in each) for each in hint)


def _unexplained(exercise: Exercise) -> Iterator[str]:
    """Yield what is wrong about `why`. A private lesson may leave it out."""
    if exercise.why is None:
        if exercise.core and path_of(exercise).parent == PACKAGED:
            yield "a core exercise asks why: why=Why(Text(...), Text(...)), a question and its answer"
        return
    if not all(each.endswith("?") for each in exercise.why.question):
        yield "the question of `why` does not end with a question mark"
    for name, text, most in (("question", exercise.why.question, QUESTION), ("answer", exercise.why.because, BECAUSE)):
        if (count := len(text.en.split())) > most:
            yield f"the {name} of `why` has {count} words; at most {most}"


def _whole(lesson: Lesson, exercises: dict[str, Exercise]) -> Iterator[str]:
    yield from (f"line {line}: {complaint}" for line, complaint in problems(lesson))
    yield from contract_problems(lesson, exercises)
    yield from heading_problems(lesson, exercises)
    for name in exercises:
        if not lesson.of("check", name):
            yield f"{name} has no check cell in the lesson"
        if path_of(exercises[name]).parent == PACKAGED and not 0 < (count := shown_words(lesson, name)) <= SHOWN:
            yield f"{name}: {count} words under its heading; open with a sentence in bold, at most {SHOWN} words"
    for name in misplaced(lesson, exercises):
        wrong = "counts and stands below" if exercises[name].core else "is extra and stands above the end of"
        yield f"{name} {wrong} the section `{KEEP.en}`, with which the core ends"
    written = list(lesson.with_role("written"))
    core = [exercise for exercise in exercises.values() if exercise.core]
    count = len(core) + len(written)
    minutes, _ = lesson_minutes(lesson, exercises)
    points = sum(e.points for e in core) + sum(c.metadata["points"] for _, c in written)
    if count > CORE or minutes > MINUTES or points > POINTS:
        yield (
            f"the core is {count} exercises, {minutes} minutes, {points:g} points; at most {CORE}, {MINUTES}, {POINTS}"
        )
    predicted = sum(e.points for e in core if e.kind == "predict")
    if predicted * 5 > points:
        yield f"tables of predictions are worth {predicted:g} of {points:g} points; at most a fifth"
