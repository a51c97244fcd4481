"""What an exercise is: cases, a probe that observes an answer on a case, and the mistakes it knows as programs.

An exercise states no expected number. What is right is what the probe observes on the lesson's own solution, and a
mistake is recognised by what the probe observes on the wrong program that makes it.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import torch

from ..language import Text
from .inputs import Formula
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

Probe = Callable[[Any, "Case"], dict[str, object]]


class Case(SimpleNamespace):
    """The inputs of one run, by name, made anew for every run: whatever an answer does to them ends with the run."""

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {_describe_input(value)}" for name, value in vars(self).items())


def _describe_input(value: object) -> str:
    if isinstance(value, torch.nn.Module):
        return " ".join(repr(value).split())
    if isinstance(value, torch.optim.Optimizer):
        settings = value.param_groups[0]
        momentum = f", momentum={settings['momentum']}" if settings.get("momentum") else ""
        return f"{type(value).__name__}(lr={settings['lr']}{momentum})"
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, tuple) for item in value):
        return f"{len(value)} × (x, y), len(x) = {', '.join(str(len(item[0])) for item in value)}"
    if isinstance(value, (list, tuple)) and 0 < len(value) <= 6:
        return f"[{', '.join(map(_describe_input, value))}]"
    if isinstance(value, type):
        return f"class {value.__name__}"
    readable = isinstance(value, (Formula, torch.dtype, torch.device))
    return repr(value) if readable else describe(canonical(value))


@dataclass(frozen=True)
class Aspect:
    """One thing that is right or wrong about an answer: a key of the observation, its points, the property to hold.

    An aspect counts only when the aspects named in `after` are right.
    """

    name: str
    points: float
    says: Text
    after: tuple[str, ...]


@dataclass(frozen=True)
class Mistake:
    """A misconception: the program somebody who has it would write, and the sentence that names it."""

    name: str
    program: Any
    says: Text


def _no_probe(answer: Any, case: Case) -> dict[str, object]:
    raise LookupError("this process has no probes of its own")


def _plural(number: float, one: str, few: str, many: str) -> str:
    """The Russian form of a noun after `number`."""
    if number % 1 or (2 <= number % 10 <= 4 and not 12 <= number % 100 <= 14):
        return few
    return one if number % 10 == 1 and number % 100 != 11 else many


@dataclass
class Exercise:
    """See `exercise`, the decorator that makes one from its probe."""

    name: str
    lesson: str
    title: Text
    asks: str
    kind: str
    core: bool
    difficulty: int
    minutes: int
    aspects: tuple[Aspect, ...]
    hints: tuple[Text, ...]
    probe: Probe
    version: int = 1
    rtol: float = RTOL
    seconds: float = 10.0
    asks_for: str = "function"
    withdrawn: bool = False
    shows_graph: bool = False
    mistakes: dict[str, Mistake] = field(default_factory=dict)
    generate: Callable[[torch.Generator], Iterator[Case]] = lambda rng: iter([Case()])

    @property
    def points(self) -> float:
        return sum(aspect.points for aspect in self.aspects)

    @property
    def about(self) -> Text:
        """The line that a lesson has under the exercise's heading: kind, difficulty, minutes, points."""
        dots, kind, points = "●" * self.difficulty + "○" * (3 - self.difficulty), KINDS[self.kind], f"{self.points:g}"
        extra = Text("", "") if self.core else Text(" · extra", " · дополнительно")
        minutes = Text("minute" if self.minutes == 1 else "minutes", _plural(self.minutes, "минута", "минуты", "минут"))
        worth = Text("point" if self.points == 1 else "points", _plural(self.points, "балл", "балла", "баллов"))
        return Text(
            f"*{kind.en} · {dots} · {self.minutes} {minutes.en} · {points} {worth.en}{extra.en}*",
            f"*{kind.ru} · {dots} · {self.minutes} {minutes.ru} · {points} {worth.ru}{extra.ru}*",
        )

    def cases(self, generate: Callable[[torch.Generator], Iterator[Case]]) -> None:
        """Decorator: `generate(rng)` yields the cases, drawn in float64 with `rand` and `randint`."""
        self.generate = generate

    def draw(self, seed: str) -> list[Case]:
        """The cases of `seed`, the same on every machine, made of fresh objects at each call."""
        digest = hashlib.sha256(f"{self.lesson}.{self.name}:{seed}".encode()).digest()
        return list(self.generate(torch.Generator().manual_seed(int.from_bytes(digest[:6], "big"))))

    def texts(self) -> Exercise:
        """Return what a notebook may say of the exercise: its texts and points, without probe, cases and mistakes."""
        return replace(self, probe=_no_probe, generate=lambda rng: iter([Case()]), mistakes={})

    def mistake(self, en: str, ru: str) -> Callable[[Any], Any]:
        """Decorator: this program is a mistake. For a table of predictions it returns the entries it gets wrong."""

        def register(program: Any) -> Any:
            name = program.__name__
            if name in self.mistakes:
                raise ValueError(f"{self.name} has two mistakes called {name}")
            self.mistakes[name] = Mistake(name, program, Text(en, ru))
            return program

        return register


def aspect(name: str, points: float, en: str, ru: str, after: Sequence[str] | None = None) -> Aspect:
    """An `Aspect`; without `after` it waits for the first aspect of its exercise, with `after=()` for none."""
    return Aspect(name, points, Text(en, ru), ("",) if after is None else tuple(after))


EVERY_ENTRY = aspect(
    "table",
    1,
    en="Every entry is what the function returns when it is called.",
    ru="Каждая строка таблицы совпадает с тем, что вернёт функция, когда её вызовут.",
)  # the one aspect of every table of predictions


def exercise(
    *,
    title: Text,
    kind: str,
    minutes: int,
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
) -> Callable[[Probe], Exercise]:
    """Decorator that turns a probe, `probe(answer, case) -> {aspect or evidence: value}`, into an `Exercise`.

    `asks` is the name a learner defines (by default the exercise's own); the probe finds it as an attribute of
    `answer`. `asks_for` is the kind of object that is: "function" or "class"; a table of predictions is a "dict".
    Keys of the observation that are no aspects are evidence: they only help to tell mistakes apart.
    `rtol` is the comparison's relative tolerance, `seconds` the limit for one case. An exercise that turned out to be
    wrong after its release is `withdrawn`: it keeps its cell, and everybody has its points.
    With `shows_graph` the card of a wrong answer tells how to draw the graph of what the answer returned.
    Raises ValueError when the parts do not fit together.
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

    resolved = tuple(Aspect(a.name, a.points, a.says, waits_for(a)) for a in aspects)

    def decorate(probe: Probe) -> Exercise:
        module = inspect.getmodule(probe)
        lesson = (module.__name__ if module else probe.__module__).rpartition(".")[2]
        return Exercise(
            name=probe.__name__,
            lesson=lesson,
            title=title,
            asks=asks or probe.__name__,
            asks_for="dict" if kind == "predict" else asks_for,
            kind=kind,
            core=core,
            difficulty=difficulty,
            minutes=minutes,
            aspects=resolved,
            hints=tuple(hints),
            probe=probe,
            version=version,
            rtol=rtol,
            seconds=seconds,
            withdrawn=withdrawn,
            shows_graph=shows_graph,
        )

    return decorate
