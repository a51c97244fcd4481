"""The gate: what `autograder verify` demands of every exercise.

- The solution earns all points, and the stub is not attempted.
- Every mistake is rejected and recognised as itself on 20 seeds.
- At least three other right answers pass.
- No senseless answer, such as one that raises, makes the checker itself fail.
- No helper function in the exercise's module passes as an answer: a submission could call that function.
- Every text exists in English and in Russian, with equally many code spans.
- The line under the exercise's heading states kind, difficulty, minutes and points as the module does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ..checking.exercise import PUBLIC_SEED, Exercise
from ..checking.expected import Expected, as_answer, expect
from ..checking.judge import judge, screen
from ..checking.observe import Run, code_digest, observe
from ..checking.values import AtMost
from ..checking.verdict import Verdict
from ..exercises import Unknown
from ..language import LANGUAGES, Text
from .execute import Ran, run
from .lint import banned_words, problems
from .redaction import helpers
from .source import Lesson

SEEDS = (PUBLIC_SEED, *(f"gate {n}" for n in range(19)))
ALTERNATIVES, CORE, MINUTES, POINTS, HINTS = 3, 6, 90, 20, 3


@dataclass
class Report:
    """The results of the gate for one exercise.

    The exercise passes if `problems` is empty. `alternatives` is a dict from the name of an alternative to the state of
    its verdict. `mistakes` is a dict from a mistake's name to the name of the mistake that was recognised, or None.
    """

    lesson: str
    exercise: str
    core: bool
    minutes: int
    points: float
    solution: str = ""
    stub: str = ""
    alternatives: dict[str, str] = field(default_factory=dict)
    mistakes: dict[str, str | None] = field(default_factory=dict)
    languages: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "problems"}


def verify(lesson: Lesson, exercises: dict[str, Exercise], only: str = "") -> tuple[list[Report], list[str]]:
    """Return a report for each exercise of a lesson, and the problems of the lesson as a whole.

    If `only` names an exercise, that exercise alone is verified.
    Raises BrokenSource if a cell of the lesson cannot be executed.
    Raises Unknown if the lesson has no exercise `only`.
    """
    if only and only not in exercises:
        raise Unknown("exercise", only, list(exercises))
    ran = run(lesson, exercises)
    left = helpers(exercises.values())
    chosen = [exercises[only]] if only else exercises.values()
    return [_verify(exercise, ran, left) for exercise in chosen], [] if only else list(_whole(lesson, exercises))


def _verify(exercise: Exercise, ran: Ran, left: Mapping[str, Any]) -> Report:
    report = Report(exercise.lesson, exercise.name, exercise.core, exercise.minutes, exercise.points)
    report.languages = [x for x in LANGUAGES if all(text.read(x).strip() for _, text in texts(exercise))]
    report.problems += _texts(exercise)
    if exercise.withdrawn:
        report.solution = "withdrawn"
        return report
    if exercise.name not in ran.solutions:
        report.solution = "missing"
        report.problems.append("the lesson has no answer cell for it")
        return report
    solution, given = ran.solutions[exercise.name], ran.given.get(exercise.name)
    expected = {seed: expect(exercise, solution, seed, given) for seed in SEEDS}

    def verdicts(answer: object, seen: Mapping[str, Sequence[Run]] = {}) -> list[Verdict]:
        """Return the verdict on an answer for each seed.

        `seen` is a dict from seed to earlier observations. The public seed is observed again in any case, because the
        result must be the same each time.
        """
        code = code_digest(answer)
        runs = {**seen, PUBLIC_SEED: observe(exercise, answer, PUBLIC_SEED)}
        return [judge(exercise, runs.get(s) or observe(exercise, answer, s), expected[s], code) for s in SEEDS]

    for one in exercise.aspects:
        limited = any(isinstance(run.values.get(one.name), AtMost) for run in expected[PUBLIC_SEED].solution)
        if limited and one.measured is None:
            report.problems.append(f"aspect {one.name} has a limit: say what is counted with `measured=Text(...)`")
    seen = {seed: known.solution for seed, known in expected.items()}
    report.solution = _passes(verdicts(solution, seen), "the solution", report)
    stub = ran.stubs.get(exercise.name)
    report.stub = "not attempted" if is_stub(exercise, stub, expected[PUBLIC_SEED]) else "attempted"
    if report.stub != "not attempted":
        report.problems.append("the untouched stub is not recognised as not attempted")
    for name, answer in ran.alternatives.get(exercise.name, {}).items():
        report.alternatives[name] = _passes(verdicts(answer), f"the alternative {name}", report)
    if exercise.asks_for != "dict" and len(report.alternatives) < ALTERNATIVES:
        report.problems.append(
            f"{len(report.alternatives)} alternatives; at least {ALTERNATIVES} different right answers"
        )
    for name, mistake in exercise.mistakes.items():
        seen = {seed: known.mistakes[name] for seed, known in expected.items()}
        found = verdicts(as_answer(exercise, mistake.program, solution), seen)
        names = {verdict.mistake for verdict in found}
        report.mistakes[name] = names.pop() if len(names) == 1 else None
        if len({verdict.points for verdict in found}) > 1:
            report.problems.append(f"the mistake {name} earns different points on different seeds")
        if any(verdict.state != "not yet" for verdict in found):
            states = Counter(verdict.state for verdict in found)
            report.problems.append(f"the mistake {name} is not rejected: {dict(states)}")
        if report.mistakes[name] != name:
            as_what = Counter(verdict.mistake for verdict in found)
            report.problems.append(f"the mistake {name} is recognised as {dict(as_what)}")
    for junk, answer in JUNK.get(exercise.asks_for, {}).items():
        verdict = judge(exercise, observe(exercise, answer, PUBLIC_SEED), expected[PUBLIC_SEED])
        if verdict.state in ("our error", "passed"):
            shown = " ".join(verdict.text("en").split())
            report.problems.append(f"{junk} as an answer gives “{verdict.state}”: {shown}")
    for name, program in left.items() if exercise.asks_for != "dict" else ():
        if isinstance(program, type) == (exercise.asks_for == "class"):
            answer = as_answer(exercise, program, solution)
            if judge(exercise, observe(exercise, answer, PUBLIC_SEED), expected[PUBLIC_SEED]).state == "passed":
                report.problems.append(f"{name}, a helper of its module, passes: let it take or return something else")
    return report


def _passes(verdicts: list[Verdict], what: str, report: Report) -> str:
    failed = next((verdict for verdict in verdicts if verdict.state != "passed"), None)
    if failed is None:
        return "passed"
    report.problems.append(f"{what} does not pass: {' '.join(failed.text('en').split())}")
    return failed.state


def is_stub(exercise: Exercise, stub: object, expected: Expected) -> bool:
    """Return whether the verdict on this stub is "not attempted". `expected` holds observations on the public seed."""
    screened = screen(exercise, {exercise.asks: stub})
    verdict = screened or judge(exercise, observe(exercise, stub, PUBLIC_SEED), expected, code_digest(stub))
    return verdict.state == "not attempted"


def texts(exercise: Exercise) -> Iterator[tuple[str, Text]]:
    """Yield name and text of every sentence of an exercise, such as ("hint 1", Text(...))."""
    yield "title", exercise.title
    yield from ((f"aspect {aspect.name}", aspect.says) for aspect in exercise.aspects)
    yield from ((f"label of aspect {aspect.name}", aspect.measured) for aspect in exercise.aspects if aspect.measured)
    yield from ((f"hint {number}", hint) for number, hint in enumerate(exercise.hints, 1))
    yield from ((f"mistake {mistake.name}", mistake.says) for mistake in exercise.mistakes.values())


def _texts(exercise: Exercise) -> Iterator[str]:
    for name, text in texts(exercise):
        if not text.en.strip() or not text.ru.strip():
            yield f"{name} is empty in one language"
        if text.en.count("`") != text.ru.count("`"):
            yield f"{name} has different code spans in the two languages"
        yield from (f"{name}: {complaint}" for complaint in banned_words(text.ru))
    if len(exercise.hints) < HINTS:
        yield f"{len(exercise.hints)} hints; a learner gets {HINTS}: a question, a pointer, a skeleton"
    for mistake in exercise.mistakes.values():
        if mistake.says.en.startswith("It looks") or mistake.says.ru.startswith("Похоже"):
            yield f"the mistake {mistake.name} must not begin as its label does, “Looks like” / «Похоже на ошибку»"


def _whole(lesson: Lesson, exercises: dict[str, Exercise]) -> Iterator[str]:
    yield from (f"line {line}: {complaint}" for line, complaint in problems(lesson))
    for name, exercise in exercises.items():
        if not lesson.of("check", name):
            yield f"{name} has no check cell in the lesson"
        yield from _introduced(lesson, exercise)
    written = list(lesson.with_role("written"))
    core = [exercise for exercise in exercises.values() if exercise.core]
    count = len(core) + len(written)
    minutes = lesson.reading + sum(e.minutes for e in core) + sum(c.metadata.get("minutes", 0) for _, c in written)
    points = sum(e.points for e in core) + sum(c.metadata["points"] for _, c in written)
    if count > CORE or minutes > MINUTES or points > POINTS:
        yield (
            f"the core is {count} exercises, {minutes} minutes, {points:g} points; at most {CORE}, {MINUTES}, {POINTS}"
        )
    predicted = sum(e.points for e in core if e.kind == "predict")
    if predicted * 10 > points:
        yield f"tables of predictions are worth {predicted:g} of {points:g} points; at most a tenth"


def _introduced(lesson: Lesson, exercise: Exercise) -> Iterator[str]:
    """Yield a complaint for each language in which the line under an exercise's heading is wrong.

    The line must state kind, difficulty, minutes and points as the exercise's module does.
    """
    for language in LANGUAGES:
        prose = "\n".join(cell.source for cell in lesson.cells if cell.language == language)
        heading = re.search(rf"^### .*`{exercise.name}`.*\n(.*)$", prose, re.M)
        wanted = exercise.about.read(language)
        if heading is not None and heading[1] != wanted:
            yield f"{exercise.name}: under its heading in {language} write {wanted}"


def _raises(*_: object) -> None:
    raise ValueError("junk")


def _poisons(*arguments: Any) -> None:
    for argument in arguments:
        if isinstance(argument, torch.nn.Module):
            for parameter in argument.parameters():
                parameter.grad = torch.full_like(parameter, float("nan"))


class _Empty:
    """A class without members, as a senseless answer."""


class _RaisingFunction(torch.autograd.Function):
    """A custom Function that raises in forward and in backward."""

    @staticmethod
    def forward(ctx: Any, *_: Any) -> Any:
        raise ValueError("junk")

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise ValueError("junk")


class _WordyFunction(torch.autograd.Function):
    """A custom Function that returns strings."""

    @staticmethod
    def forward(ctx: Any, *_: Any) -> Any:
        return "gradient"

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        return "a", "b"


class _ForwardAlone(torch.autograd.Function):
    """A custom Function without `backward`."""

    @staticmethod
    def forward(ctx: Any, x: Any, *_: Any) -> Any:
        return x * 2


# The checker must survive these answers, and the card must attribute the failure to the answer.
FUNCTIONS: dict[str, Callable[..., object]] = {
    "nothing": lambda *_: None,
    "a word": lambda *_: "gradient",
    "a pair of words": lambda *_: ("a", "b"),
    "a generator without end": lambda *_: iter(int, 1),
    "NaN": lambda *_: torch.tensor(float("nan")),
    "a tensor on meta": lambda *_: torch.ones(2, device="meta"),
    "an exception": _raises,
    "NaN gradients": _poisons,
    "a function of no argument": lambda: None,
}
JUNK: dict[str, dict[str, Any]] = {
    "function": FUNCTIONS,
    "class": {
        "an empty class": _Empty,
        "a Function that raises": _RaisingFunction,
        "a Function of words": _WordyFunction,
        "a Function without backward": _ForwardAlone,
    },
}
