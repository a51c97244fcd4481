"""The sentences of a card, which shows a verdict in one language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..checking.exercise import Exercise, is_open
from ..checking.labels import ANY_ENTRY
from ..checking.verdict import MEMORY, SCORE, AspectState, Finding, Verdict, VerdictState
from ..exercises import sentence_for
from ..language import Note, Text, grouped
from ..messages.entries import EntryNames, name_count, name_place, place_of
from ..messages.learners import message, say

# Signs, and tones that are readable on light and on dark pages.
_LOOKS = {
    VerdictState.PASSED: ("✓", "56,142,60"),
    VerdictState.NOT_YET: ("✗", "224,58,54"),
    VerdictState.NOT_ATTEMPTED: ("○", "128,128,128"),
    VerdictState.OUR_ERROR: ("⚠", "230,126,0"),
}

_CATCHES = "catches_"  # aspects of a test to write: one for each wrong program


class Card:
    """The sentences that show one verdict in one language."""

    def __init__(self, verdict: Verdict, exercise: Exercise, language: str) -> None:
        self.verdict, self.exercise, self.language = verdict, exercise, language
        self.title = exercise.title.read(language)
        self.sign, self.colour = _LOOKS[verdict.state]
        self.state = self.say(f"state.{verdict.state}")
        self.points = self.say("card.points", earned=f"{verdict.points:g}", maximum=f"{verdict.maximum:g}")
        self.aspects = list(self._aspects()) if self._has_aspects() else []
        self.call = list(self._call(verdict.finding)) if verdict.finding else []
        self.result = list(self._result(verdict.finding)) if verdict.finding else []
        self.mistake = self._mistake(verdict.mistake) if verdict.mistake else ""
        asked = {"question": exercise.why.question.read(language)} if exercise.why else {}
        self.scores = [self._score(note.parameters) for note in verdict.notes if note.id == SCORE]
        self.notes = [self.say(note.id, **note.parameters, **asked) for note in verdict.notes if note.id != SCORE]
        self.closing = list(self._closing())

    def say(self, id: str, **parameters: object) -> str:
        """Return the sentence with the id `id` in the card's language."""
        return say(Note(id, parameters), self.language)

    def _mistake(self, name: str) -> str:
        """Return the sentence that names a mistake, or its name if the key has no sentence yet."""
        says = sentence_for(self.exercise, name)
        return says.read(self.language) if says else name

    def _has_aspects(self) -> bool:
        """Return whether to list the aspects.

        Aspects are left out if the answer raised an error or was not run.
        """
        finding = self.verdict.finding
        ran = finding is None or (finding.aspect and not any(note.is_error for note in finding.got[:1]))
        return self.verdict.state in (VerdictState.PASSED, VerdictState.NOT_YET) and bool(ran)

    def _aspects(self) -> Iterator[tuple[AspectState, str, str, bool]]:
        """Yield state, sentence and points of each aspect, and whether the card's table belongs to the aspect.

        The points are "" if the aspect has no points and is only a condition for other aspects. A test to write shows
        only how many wrong programs it catches, until it catches half of them: a learner thinks of some first.
        """
        says = {aspect.name: aspect.says.read(self.language) for aspect in self.exercise.aspects}
        explained = self.verdict.finding.aspect if self.verdict.finding else ""
        programs = [each for each in self.verdict.aspects if each.name.startswith(_CATCHES)]
        caught = sum(each.state == AspectState.RIGHT for each in programs)
        untold = [each for each in programs if each.state != AspectState.RIGHT and 2 * caught < len(programs)]
        for aspect in (each for each in self.verdict.aspects if each not in untold):
            points = f"{aspect.earned:g}/{aspect.points:g}" if aspect.points else ""
            sentence = says[aspect.name]
            if aspect.state == AspectState.WRONG:
                sentence = f"{self.say('card.not_met')} · {sentence}"  # the sentence alone would read as a fact
            elif aspect.state == AspectState.WAITING:
                sentence = f"{sentence} ({self.say('card.waiting')})"
            yield aspect.state, sentence, points, aspect.name == explained
        if untold:
            points = f"{sum(each.earned for each in untold):g}/{sum(each.points for each in untold):g}"
            yield AspectState.WRONG, self.say("card.caught", caught=caught, count=len(programs)), points, False

    def _call(self, finding: Finding) -> Iterator[tuple[str, list[str]]]:
        """Yield label and lines of the rows on the failing call and its inputs.

        Those of hidden cases are never shown.
        """
        if not finding.aspect or not is_open(finding.seed) or self.exercise.asks_for == "dict":
            return
        if finding.called:
            yield self.say("card.called"), [f"`{finding.called}`"]
        if finding.inputs:
            label = "card.with" if finding.called else "card.inputs"
            yield self.say(label), [f"`case.{line}`" for line in finding.inputs.splitlines()]

    def _result(self, finding: Finding) -> Iterator[tuple[str, list[str]]]:
        """Yield label and lines of the rows on what came back, or that the case is hidden."""
        got = [say(note, self.language) for note in finding.got]
        got += [each.read(self.language) for each in map(_explanation, finding.got[:1]) if each]
        if not finding.aspect:
            yield "", got
            return
        tells_no_input = any(note.id == MEMORY for note in finding.got)
        shown = is_open(finding.seed) or self.exercise.asks_for == "dict" or tells_no_input
        if not shown:
            yield "", [self.say("card.hidden")]
        if finding.got and (shown or finding.got[0].is_error):
            yield result_label(self.exercise, finding, self.language), got

    def _score(self, score: Mapping[str, object]) -> tuple[str, list[str]]:
        """Return a row of the scoreboard: what was measured, and the three figures."""
        label = next((each.measured for each in self.exercise.aspects if each.name == score["aspect"]), None)
        figures = {name: grouped(int(str(score[name])), self.language) for name in ("used", "plain", "bound")}
        return label.read(self.language) if label else "", [self.say(SCORE, **figures)]

    def _closing(self) -> Iterator[tuple[str, str]]:
        """Yield pairs of strings for the end of the card: a sentence, and source code.

        The code is a call that the learner can run next, such as `hint("NAME")`.
        """
        verdict, name = self.verdict, self.exercise.name
        if verdict.state == VerdictState.PASSED and self.exercise.asks_for != "dict":
            yield self.say("card.solution"), f'solution("{name}")'
        elif verdict.state in (VerdictState.NOT_YET, VerdictState.NOT_ATTEMPTED):
            yield self.say("card.hint"), f'hint("{name}")'
        finding = verdict.finding
        if finding and (finding.inputs or "case." in finding.called) and is_open(finding.seed):
            yield self.say("card.reproduce"), f'case = reproduce("{name}")'
            returned = not any(
                note.id.startswith(("raised.", "differs.kind", "differs.raised")) for note in finding.got
            )
            if self.exercise.shows_graph and finding.aspect and finding.called and returned:
                yield self.say("card.graph"), f"from autograder import draw; draw({finding.called})"


def _places(exercise: Exercise, finding: Finding | None) -> tuple[EntryNames, ...]:
    """Return the names of entries in the values of the aspect that a finding is about."""
    explained = finding.aspect if finding else ""
    return (*next((each.entries for each in exercise.aspects if each.name == explained), ()), ANY_ENTRY)


def result_label(exercise: Exercise, finding: Finding, language: str) -> str:
    """Return the label of the result of a failed case, which `finding.got` tells of: it is not empty.

    It is the name of what was compared, if that has one. An error needs no label.
    """
    first, places = finding.got[0], _places(exercise, finding)
    if first.is_error:
        return ""
    if first.id == "differs.table":
        return message("card.wrong").read(language)
    measured = next((each.measured for each in exercise.aspects if each.name == finding.aspect), None)
    place = place_of(first.parameters)
    count = name_count(place, places) if first.id == "differs.length" else None
    if label := ", ".join(part.read(language) for part in (measured, name_place(place, places), count) if part):
        return label[0].upper() + label[1:]
    return message("card.checked" if len(places) > 1 else "card.returned").read(language)


def _explanation(note: Note) -> Text | None:
    """Return the explanation of the error in a note, or None.

    A name in the note means that it was found where the error was raised.
    """
    named, said = (note.parameters.get(name) for name in ("explained", "message"))
    if named is None and said is None:
        return None
    from ..explained.table import EXPLANATIONS, explain  # 0.1 s of processor time, for errors alone

    if named is None:
        found = explain(str(said))
    else:
        found = next((each.of(str(said)) for each in EXPLANATIONS if each.name == named), None)
    return found.says if found else None
