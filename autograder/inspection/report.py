"""Findings on a training step, as text and HTML."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from ..language import LANGUAGES
from ..messages.inspection import say
from ..messages.markup import aside, inline
from ..session import SESSION
from .finding import Finding
from .watch import StepWatch


@dataclass(frozen=True)
class StepReport:
    """The findings of one step, the sure ones first.

    `passes`, `reached`, `total` and `updates` count backward passes, parameters with a gradient, all parameters that
    require grad, and steps of optimizers.
    """

    number: int
    findings: tuple[Finding, ...]
    passes: int = 0
    reached: int = 0
    total: int = 0
    updates: int = 0

    @classmethod
    def of(cls, number: int, findings: Collection[Finding], watch: StepWatch) -> StepReport:
        seen = watch.seen
        reached = frozenset[str]().union(*(each.reached for each in seen.backwards))
        total = sum(each.requires_grad for each in watch.parameters.values())
        ordered = sorted(findings, key=lambda each: each.level, reverse=True)
        return cls(number, tuple(ordered), len(seen.backwards), len(reached), total, len(seen.updates))

    def only(self, findings: Collection[Finding]) -> StepReport:
        """Return the report with these findings alone."""
        return replace(self, findings=tuple(each for each in self.findings if each in findings))

    def __repr__(self) -> str:
        languages = [SESSION.printed] if SESSION.printed else LANGUAGES
        return "\n\n".join("\n".join(self._lines(language)) for language in languages if language)

    def _repr_html_(self) -> str:
        languages = [SESSION.language] if SESSION.language else LANGUAGES
        return aside("".join(f"<p>{inline(line)}</p>" for each in languages for line in self._lines(each)))

    def _lines(self, language: str) -> Iterator[str]:
        counts = {"passes": self.passes, "reached": self.reached, "total": self.total, "updates": self.updates}
        if not self.findings:
            yield say("nothing" if self.passes else "nothing_seen", language, number=self.number, **counts)
        else:
            yield say("title", language, number=self.number, count=len(self.findings))
        for each in self.findings:
            said = say(each.note.id, language, **each.note.parameters)
            link = say("lesson", language, lesson=_lesson_of(each.exercise), exercise=each.exercise)
            yield f"{say(each.level, language)} {said} {link}."


def _lesson_of(exercise: str) -> str:
    from .. import exercises
    from ..lessons.source import NOTEBOOKS

    lesson = exercises.find(exercise).lesson
    return next((file.name[:2] for file in (NOTEBOOKS / "en").glob(f"[0-9][0-9]_{lesson}.ipynb")), lesson)
