"""Exercises: cases, a probe, aspects.

An exercise states no expected results: the probe observes the lesson's solution to get them. The probe also observes
every mistake, a program outside the exercise's module. An answer with the same observation has made that mistake.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import FunctionType, SimpleNamespace
from typing import Any

import torch

from ..language import Text
from .inputs import Formula, Lineup, Programs
from .labels import Entries
from .values import RTOL, canonical, describe

KINDS = {
    kind: Text(kind, russian)
    for kind, russian in {
        "predict": "предсказать",
        "complete": "дописать",
        "find the bug": "найти ошибку",
        "design": "спроектировать",
        "write the counter-example": "построить контрпример",
        "write the test": "написать тест",
    }.items()
}
ANSWERS = ("function", "class")
PUBLIC_SEED = "public"
_VARIANT = "variant "
_SETTINGS = 3  # of a layer, on a card

Probe = Callable[[Any, "Case"], dict[str, object]]


class Case(SimpleNamespace):
    """The named inputs of one run, as attributes.

    Every run gets new objects, because an answer may change its inputs.
    """

    def __repr__(self) -> str:
        return self.shown(vars(self))

    def shown(self, names: Iterable[str]) -> str:
        """Return the inputs `names` as text, a line for each. A function without a formula has no text."""
        lines = {name: _describe_input(vars(self)[name]) for name in names}
        return "\n".join(f"{name}: {text}" for name, text in lines.items() if text)


def _describe_input(value: object) -> str:
    if isinstance(value, torch.nn.Module):
        return _describe_module(value)
    if isinstance(value, torch.optim.Optimizer):
        settings = value.param_groups[0]
        momentum = f", momentum={settings['momentum']}" if settings.get("momentum") else ""
        return f"{type(value).__name__}(lr={settings['lr']}{momentum})"
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, tuple) and len(item) == 2 for item in value):
        return f"{len(value)} × (x, y), len(x) = {', '.join(str(len(item[0])) for item in value)}"
    if isinstance(value, (list, tuple)) and 0 < len(value) <= 6:
        texts = [*map(_describe_input, value)]
        return f"[{', '.join(texts)}]" if all(texts) else ""
    if isinstance(value, type):
        return f"class {value.__name__}"
    if isinstance(value, (FunctionType, Lineup)):
        return ""
    readable = isinstance(value, (Formula, torch.dtype, torch.device))
    return repr(value) if readable else describe(canonical(value))


def _describe_module(module: torch.nn.Module) -> str:
    """Return the text of a module in one line, such as `Sequential(Linear(3, 4, bias=True), Tanh())`."""
    settings = re.sub(r"\b(in|out)_features=", "", module.extra_repr()).split(", ")[:_SETTINGS]
    inside = [_describe_module(child) for child in module.children()]
    return f"{type(module).__name__}({', '.join(inside or settings)})"


@dataclass(frozen=True)
class Scoreboard:
    """Figure of the plain program, and a lower bound.

    The bound is derived from what has to be in memory, or to be computed, at one moment.
    """

    plain: int
    bound: int


@dataclass(frozen=True)
class Aspect:
    """One property of an answer, right or wrong, with points.

    `name` is the key of its value in the observation, `says` the sentence that a card shows. An aspect is judged only
    if all aspects named in `after` are right. `measured` names what the probe measures for this aspect, such as "Bytes
    in memory". It is None if the aspect's value is the returned value itself. `entries` names the entries of lists in
    the value, from the outermost list inwards. A card compares a measured value with the figures of `board`.
    """

    name: str
    points: float
    says: Text
    after: tuple[str, ...]
    measured: Text | None = None
    entries: tuple[Entries, ...] = ()
    board: Scoreboard | None = None


@dataclass(frozen=True)
class Weighing:
    """A large run in which the kernel counts an answer's memory.

    `run(answer, rng)` calls the learner's object on inputs drawn from `rng`, and returns results that are judged, too.
    `most` is the number of bytes that a right answer's process may touch meanwhile.
    """

    run: Callable[[Any, torch.Generator], object]
    most: int


@dataclass(frozen=True)
class Why:
    """A question about the idea of an exercise, and our answer.

    The card asks it once the check has passed. Learners who explain what is right to themselves understand more of it
    (Chi et al. 1989, Renkl 1997).
    """

    question: Text
    because: Text


def seed_of_variant(number: int) -> str:
    """Return the seed of the cases of a variant, counted from 1."""
    return f"{_VARIANT}{number}"


def is_open(seed: str) -> bool:
    """Return whether a learner may see the cases of a seed: the public ones, and those of variants."""
    return seed == PUBLIC_SEED or seed.startswith(_VARIANT)


def _no_probe(answer: Any, case: Case) -> dict[str, object]:
    raise LookupError("this process has no probes of its own")


def _lesson_of(module: str) -> str:
    """Return the lesson of a module, such as leaf_tensors for autograder.exercises.leaf_tensors.snapshot."""
    return module.partition("exercises.")[2].partition(".")[0] or module


@dataclass(eq=False)  # so that what is computed for one can be cached
class Exercise:
    """An exercise, as the decorator `exercise` makes it from a probe.

    The fields are the decorator's parameters. `asks_for` is "function", "class", or "dict" for a table of predictions.
    `programs_text` is the source of the programs that a learner's test is tried on, otherwise "". `generate` draws
    cases. `device_probe` is called as `probe` is, with inputs on another device. `weighings` maps
    the names of aspects to the runs in which the kernel counts their bytes.
    """

    name: str
    lesson: str
    title: Text
    asks: str
    kind: str
    core: bool
    difficulty: int
    aspects: tuple[Aspect, ...]
    hints: tuple[Text, ...]
    probe: Probe
    version: int = 1
    rtol: float = RTOL
    seconds: float = 10.0
    asks_for: str = "function"
    withdrawn: bool = False
    shows_graph: bool = False
    programs_text: str = ""
    generate: Callable[..., Iterator[Case]] = lambda rng: iter([Case()])
    device_probe: Probe | None = None
    weighings: dict[str, Weighing] = field(default_factory=dict)
    why: Why | None = None

    @cached_property
    def programs(self) -> Programs:
        """The programs that `programs_text` defines: a learner's test must accept or refuse them."""
        return Programs.from_text(self.programs_text)

    @property
    def points(self) -> float:
        return sum(aspect.points for aspect in self.aspects)

    @property
    def kind_says(self) -> Text:
        return KINDS[self.kind]

    def cases(self, generate: Callable[..., Iterator[Case]]) -> None:
        """Register a generator of cases; used as a decorator.

        `generate(rng)` gets a seeded torch generator and yields cases. It draws in float64, with `rand` and `randint`
        only. If the exercise has programs, it is called as `generate(rng, programs)`.
        """
        self.generate = generate

    def on_device(self, probe: Probe) -> None:
        """Register a probe for the aspect of `works_on`; used as a decorator.

        It serves where the main probe measures what a pretended device changes.
        """
        self.device_probe = probe

    def weigh(self, aspect: str, most: int) -> Callable[[Callable[[Any, torch.Generator], object]], None]:
        """Register a large run for the bytes of `aspect`; used as a decorator.

        In grading the kernel counts them. `run(answer, rng)` gets the learner's object. `most` is the limit in bytes.
        It stands at least 4 MB above what a right answer's process touches, and farther below what a wasteful one does.
        """

        def register(run: Callable[[Any, torch.Generator], object]) -> None:
            self.weighings[aspect] = Weighing(run, most)

        return register

    def draw(self, seed: str) -> list[Case]:
        """Return new cases drawn from `seed`. The same seed gives the same values on every machine."""
        return list(self._drawn(seed))

    def draw_first(self, seed: str) -> Case:
        """Return a new copy of the first case that `draw` returns, without drawing the others."""
        return next(self._drawn(seed))

    def _drawn(self, seed: str) -> Iterator[Case]:
        digest = hashlib.sha256(f"{self.lesson}.{self.name}:{seed}".encode()).digest()
        rng = torch.Generator().manual_seed(int.from_bytes(digest[:6], "big"))
        return iter(self.generate(rng, self.programs) if self.programs_text else self.generate(rng))

    def failing_case(self, seed: str, index: int, aspect: str) -> Case:
        """Return a new copy of case `index` of `seed`, on which `aspect` is wrong.

        If the answer is a test and `aspect` is named after a wrong program, the case holds that program.
        """
        case = self.draw(seed)[index]
        for value in list(vars(case).values()):
            if isinstance(value, Lineup) and (fooling := value.wrong(aspect)) is not None:
                return Case(function=fooling)
        return case

    def texts(self) -> Exercise:
        """Return a copy of the exercise with texts and points, but without probe, cases, programs and `why`.

        The grader puts this copy in place of the exercise in a child, before student code runs there. The answer of
        `why` may give entries of a table away.
        """
        copy = replace(self, probe=_no_probe, generate=lambda rng: iter([Case()]), programs_text="", device_probe=None)
        return replace(copy, why=None, weighings={})


def aspect(
    name: str,
    points: float,
    en: str,
    ru: str,
    after: Sequence[str] | None = None,
    measured: Text | None = None,
    entries: Sequence[Entries] = (),
    board: Scoreboard | None = None,
) -> Aspect:
    """Return an `Aspect` whose sentence is `en` in English and `ru` in Russian.

    `after` names the aspects that must be right before this one is judged. If `after` is None, only the first aspect of
    the exercise must be right. `measured` is the label of the measured number on a card. An aspect with a limit
    (`AtMost`) needs one. `entries` names the entries of a list that the probe returns as the aspect's value: a card
    shows "weights after step 2" in place of `[1]`. `board` has the figures that a card shows beside the measured one.
    """
    waits_for = ("",) if after is None else tuple(after)
    return Aspect(name, points, Text(en, ru), waits_for, measured, tuple(entries), board)


EVERY_ENTRY = aspect(
    "table",
    1,
    en="Every entry is what the function returns when it is called.",
    ru="Каждая строка таблицы совпадает с тем, что вернёт функция, когда её вызовут.",
)  # a table of predictions has this aspect and no other


def exercise(
    *,
    title: Text,
    kind: str,
    aspects: Sequence[Aspect],
    hints: Sequence[Text],
    asks: str | None = None,
    asks_for: str = "function",
    core: bool = False,
    difficulty: int = 1,
    version: int = 1,
    rtol: float = RTOL,
    seconds: float = 10.0,
    withdrawn: bool = False,
    shows_graph: bool = False,
    why: Why | None = None,
) -> Callable[[Probe], Exercise]:
    """Return a decorator that turns a probe into an `Exercise`.

    The probe is called as `probe(answer, case)`. It returns the observation, a dict from the name of each aspect or
    evidence to its value. `asks` is the name that a learner defines, by default the probe's name. The probe finds the
    learner's object as the attribute of `answer` that `asks` names. `asks_for` is "function" or "class". If `kind` is
    "predict", the learner always defines a table of predictions. `rtol` is the relative tolerance of comparisons,
    `seconds` the time limit for one case. `withdrawn` marks an exercise found wrong after its release: its cell stays,
    and everybody gets its points. If `shows_graph` is true, the card of a wrong answer explains how to draw the graph
    of the returned tensor. `why` is what the card asks once the check has passed; core exercises have one.
    Raises ValueError if the arguments contradict each other.
    """
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r} is none of {', '.join(KINDS)}")
    if asks_for not in ANSWERS:
        raise ValueError(f"asks_for {asks_for!r} is none of {', '.join(ANSWERS)}")
    if len({a.name for a in aspects}) != len(aspects) or not aspects:
        raise ValueError(f"an exercise needs aspects with different names, not {[a.name for a in aspects]}")
    first = aspects[0].name

    def waits_for(a: Aspect) -> tuple[str, ...]:
        if a.after != ("",):
            return a.after
        return () if a.name == first else (first,)

    resolved = tuple(replace(a, after=waits_for(a)) for a in aspects)

    def decorate(probe: Probe) -> Exercise:
        return Exercise(
            name=probe.__name__,
            lesson=_lesson_of(probe.__module__),
            title=title,
            asks=asks or probe.__name__,
            asks_for="dict" if kind == "predict" else asks_for,
            kind=kind,
            core=core,
            difficulty=difficulty,
            aspects=resolved,
            hints=tuple(hints),
            probe=probe,
            version=version,
            rtol=rtol,
            seconds=seconds,
            withdrawn=withdrawn,
            shows_graph=shows_graph,
            why=why,
        )

    return decorate
