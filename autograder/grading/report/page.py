"""The command `autograder report`, which writes an HTML page for the instructor."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from datetime import tzinfo
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from ...cards.card import result_label
from ...checking.verdict import VerdictState
from ...errors import UserError
from ...grade_ids import CellKind, GradeId
from ...language import LANGUAGES, Note
from ...messages.learners import MESSAGES
from ...messages.markup import inline
from ...messages.reasons import describe_reason
from ...messages.report import TOKEN, WORDS, said
from ..class_counts.class_data import count_class
from ..class_counts.counts import BROKEN, FLAGS, HELD_BACK, NO_VERDICT, Answered, Graded, Wrong
from ..course.course import open_course
from .item_statistics import ItemStatistics, item_statistics
from .lecture.lecture_question import lecture_question
from .lecture.projected import Projected
from .overview import Overview
from .plots import COLOURS, bins, histogram, shares
from .similar_answers import Alike, similar_in
from .solution_copies import copies_in
from .view import ENVIRONMENT, View, named

_LEADING = 3  # misunderstandings at the top of the HTML page
_LONGEST = 3000  # characters of an answer that are shown


def report_course(root: Path, assignment: str | None, language: str | None) -> list[Path]:
    """Write the report on one assignment, or on all graded ones, as HTML files. Returns the files' paths.

    The English report is report/ASSIGNMENT.html, the Russian one report/ASSIGNMENT.ru.html. The question for a lecture
    is also in report/ASSIGNMENT.project.html. Without an assignment there is also a page on the course,
    report/index.html. If `language` is None, the report is in the course's language.
    Raises UserError with the remedy if nothing has been graded, or a report cannot be written.
    """
    course = open_course(root)
    language, zone = language or course.language, course.stated.zone
    chosen = [assignment] if assignment else course.graded_assignments()
    if not chosen:
        raise UserError(f"nothing has been graded in {course.root}: run `autograder grade {course.root}` first")
    folder = course.root / "report"
    ending = _ending(language)
    pages = {f"{name}{ending}": _Page(count_class(course, name), language, zone, folder) for name in chosen}
    made = []
    for name, page in pages.items():
        made.append(_write(folder / name, page.html()))
        if page.question:
            projected = Projected(page.question, page.title, language, zone)
            made.append(_write(folder / page.project, projected.html()))
    if not assignment:
        overview = Overview({name: page.graded for name, page in pages.items()}, language, zone)
        made.append(_write(folder / f"index{ending}", overview.html()))
    return made


def _ending(language: str) -> str:
    return ".html" if language == LANGUAGES[0] else f".{language}.html"


def _write(path: Path, page: str) -> Path:
    """Write a page into a file, and return its path. Raises UserError if the file cannot be written."""
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}: the course folder must be writable") from error
    return path


class _Page(View):
    """The data and functions that the report's HTML template uses.

    `folder` is the folder of the HTML file.
    """

    def __init__(self, graded: Graded, language: str, zone: tzinfo, folder: Path) -> None:
        super().__init__(language, zone)
        self.graded, self._folder = graded, folder
        self.question = lecture_question(graded)
        self.project = f"{graded.assignment}.project{_ending(language)}"
        self.total = len(graded.scores)

    def html(self) -> str:
        return ENVIRONMENT.get_template("page.html.j2").render(
            page=self,
            words=self.words,
            graded=self.graded,
            colours=COLOURS,
            leading=self._leading(),
            question=self.question,
            project=self.project,
        )

    # ---------------------------------------------------------------------------------------------------- the head

    @property
    def title(self) -> str:
        return self.title_of(self.graded)

    @property
    def tiles(self) -> list[tuple[str, str, str, str]]:
        """The boxes with numbers at the top of the report.

        Each tuple holds the number, its label, "of" the maximum score, and a link target. The last two may be empty
        texts.
        """
        scores = list(self.graded.scores.values())
        of = self.words["of"].format(maximum=self.number(self.graded.maximum))
        waiting = self.graded.waiting
        flagged = {student for why, students in waiting.items() if why.reason in FLAGS for student in students}
        flagged |= self.graded.remarks.keys()
        everyone = {student for students in waiting.values() for student in students} | flagged
        tiles = [(str(self.total), self.words["submissions"], "", "")]
        if scores:
            tiles.append((self.number(statistics.mean(scores)), self.words["mean"], of, "#scores"))
            tiles.append((self.number(statistics.median(scores)), self.words["median"], of, "#scores"))
        if self.graded.idle:
            said = self.words["idle_doubt" if self.graded.unplaced else "idle"]
            tiles.append((str(len(self.graded.idle)), said, "", "#idle"))
        tiles.append((str(len(everyone)), self.words["waiting"], "", "#look" if everyone else ""))
        where = "#remarks" if self.graded.remarks else "#look" if flagged else ""
        tiles.append((str(len(flagged)), self.words["flagged"], "", where))
        return tiles

    def _leading(self) -> list[Wrong]:
        return self.graded.misunderstood()[:_LEADING]

    # ------------------------------------------------------------------------------------------------- the pictures

    def histogram(self) -> Markup:
        words = self.words
        drawn = histogram(list(self.graded.scores.values()), self.graded.maximum,
                          across=words["points"], up=words["number"], says=words["histogram"])  # fmt: skip
        return Markup(drawn)

    def bins(self) -> list[tuple[str, int]]:
        return bins(list(self.graded.scores.values()), self.graded.maximum)

    def states(self, answered: Sequence[Answered]) -> list[str]:
        """Return the states that submissions have in at least one of these exercises, in display order."""
        found = {state for each in answered for state in +each.states}
        return [state for state in (*VerdictState, BROKEN, HELD_BACK, NO_VERDICT) if state in found]

    def shares(self, answered: Sequence[Answered], states: Sequence[str]) -> Markup:
        rows = [(self.plain_title(each), dict(each.states)) for each in answered]
        return Markup(shares(rows, [(state, self.state(state)) for state in states], says=self.words["states"]))

    # ------------------------------------------------------------------------------------------------ the exercises

    def of_kind(self, *, core: bool) -> list[Answered]:
        return [each for each in self.graded.exercises.values() if each.exercise.core == core]

    def statistics(self) -> dict[str, ItemStatistics]:
        """Return difficulty and discrimination of the core exercises, by name."""
        core = self.of_kind(core=True)
        earned = {each.exercise.name: each.earned for each in core}
        return item_statistics(earned, {each.exercise.name: each.exercise.points for each in core})

    def share(self, value: float | None) -> str:
        """Return a number from −1 to 1 with two decimals, or a dash for None."""
        if value is None:
            return "—"
        shown = f"{value:.2f}".replace("-", "−")
        return shown.replace(".", ",") if self.language == "ru" else shown

    # ---------------------------------------------------------------------------------------------- the whole class

    def similar(self) -> list[Alike]:
        return similar_in(self.graded)

    def tokens(self, alike: Alike) -> str:
        return TOKEN.after(alike.tokens).read(self.language)

    @property
    def copies_how(self) -> Markup:
        return self.inline(WORDS["copies_how"])

    def copies(self) -> dict[str, list[str]]:
        return copies_in(self.graded)

    # ------------------------------------------------------------------------------------------------- one exercise

    def heading(self, answered: Answered) -> Markup:
        return self.inline(answered.exercise.title)

    def plain_title(self, answered: Answered) -> str:
        return answered.exercise.title.read(self.language).replace("`", "")

    def state(self, state: str) -> str:
        words = {NO_VERDICT: "no_verdict", BROKEN: "broken", HELD_BACK: "held_back"}
        return self.words[words[state]] if state in words else MESSAGES[f"state.{state}"].read(self.language)

    def named(self, wrong: Wrong) -> Markup:
        """Return, as HTML, the sentence that names the recognised mistake of a group of answers.

        If no mistake was recognised, returns empty HTML.
        """
        if wrong.mistake is None:
            return Markup("")
        return self.inline(wrong.sentence or WORDS["gone"].format(name=wrong.mistake))

    def failed(self, wrong: Wrong) -> Markup:
        """Return, as HTML, the sentence on the aspect that is wrong in a group of answers.

        If the answers raised an exception, returns empty HTML.
        """
        finding = wrong.verdict.finding
        if finding is None or any(note.is_error for note in finding.got[:1]):
            return Markup("")
        says = next((aspect.says for aspect in wrong.exercise.aspects if aspect.name == finding.aspect), None)
        return self.inline(says) if says else Markup("")

    def returned(self, wrong: Wrong) -> list[Markup]:
        """Return HTML lines on the values that a group of answers returned, or on the exception raised.

        The source line of an exception is left out.
        """
        notes = wrong.verdict.finding.got if wrong.verdict.finding else ()
        lines = [said(note, self.language) for note in notes if note.id != "raised.line"]
        return [Markup(inline(line)) for line in lines if line]

    def label(self, wrong: Wrong) -> Markup:
        """Return, as HTML, the label that the report shows before the first line of `returned`, or empty HTML."""
        finding = wrong.verdict.finding
        if finding is None or not finding.aspect or not finding.got:
            return Markup("")
        return Markup(inline(result_label(wrong.exercise, finding, self.language)))

    def share_of(self, wrong: Wrong) -> str:
        answers = self.graded.exercises[wrong.exercise.name].answers
        count = len(wrong.students)
        return self.words["share"].format(count=count, answers=answers, percent=self.percent(count, answers))

    def code(self, wrong: Wrong) -> str:
        cut = f"\n{self.words['cut']}" if len(wrong.code) > _LONGEST else ""
        return wrong.code[:_LONGEST] + cut

    def where(self, cell: str) -> Markup:
        """Return, as HTML, the title of the exercise that a cell belongs to. `cell` is a grade id.

        If the cell is not the check of a known exercise, returns the grade id.
        """
        named = GradeId(cell)
        if named.kind is CellKind.CHECK and named.exercise in self.graded.exercises:
            return self.heading(self.graded.exercises[named.exercise])
        written = self.words["written"] if named.kind is CellKind.WRITTEN else ""
        return Markup("{} <code>{}</code>").format(written, cell)

    # ------------------------------------------------------------------------------------------------- the students

    def student(self, id: str) -> Markup:
        """Return, as HTML, a student's id with the name, if known. `id` is the student's.

        If the student has a feedback page or a graded notebook, the text is a link to that file.
        """
        text = named(self.graded.names, id)
        page = self.graded.pages.get(id)
        if page is None:
            return Markup("{}").format(text)
        href = quote(os.fsencode(os.path.relpath(page, self._folder)))
        return Markup('<a href="{}">{}</a>').format(href, text)

    def reason(self, reason: Note) -> str:
        return describe_reason(reason).read(self.language)

    # ---------------------------------------------------------------------------------------------------- the words

    def percent(self, part: int, whole: int) -> str:
        share = round(100 * part / whole) if whole else 0
        return f"{share} %" if self.language == "ru" else f"{share}%"
