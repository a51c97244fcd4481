"""Real nbgrader commands: the exchange, one large class, and feedback."""

from __future__ import annotations

import csv
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbgrader.api import Gradebook
from nbgrader.server_extensions.formgrader import handlers

import autograder
from autograder import exercises
from autograder.checking.verdict import MIME
from autograder.grading.course.course import open_course
from support.course import Course, run_autograder
from support.exercises import mistakes_in
from support.submissions import expected_scores, read, written

pytestmark = pytest.mark.long(45)

# nbgrader takes longer than `autograder grade`: every commit gives it one submission of each kind that it sees.
FEW = (
    "solved-en", "solved-ru", "blank-ru", "mistakes-0", "raises", "loop-in-cell", "prints-10-mb-in-cell",
    "no-check", "no-exercise", "no-language", "edited-check",
)  # fmt: skip
ALL_BUT_MISTAKES = pytest.param(
    (),
    marks=pytest.mark.nightly(
        twin="tests/grading/plugin/test_nbgrader_commands.py::test_every_score_is_what_the_verdicts_say"
    ),
)
SECONDS = 15  # for one cell; a loop in a function is stopped by the check itself, after 10 s


@pytest.fixture(scope="module", params=[FEW, ALL_BUT_MISTAKES], ids=["few", "all"])
def graded(released: Course, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Course:
    """The same with submissions handed in and graded.

    They come through the exchange, as files in an archive, and directly.
    """
    course = released.copy(tmp_path_factory.mktemp("graded"))
    course.logs |= released.logs
    students = request.param or [each.student for each in released.submissions if not each.mistakes]
    course.submissions = [released.submission(student) for student in students]
    _exchange(course, "solved-en", "en")
    _exchange(course, "solved-ru", "ru")
    _archive(course, "blank-ru")
    course.hand_in_all()
    course.copy(course.folder.parent / "second")
    course.nbgrader("autograde", course.name, f"--RunIsolated.cell_seconds={SECONDS}")
    course.nbgrader("generate_feedback", course.name)
    return course


@pytest.fixture(scope="module")
def second(released: Course, graded: Course) -> Course:
    """A copy of the course before anything was graded, with all submissions, graded by `autograder grade`."""
    folder = graded.folder.parent / "second" / graded.folder.name
    course = Course(folder, released.lesson, released.submissions)
    course.hand_in_all()
    course.configure(f"c.RunIsolated.cell_seconds = {SECONDS}")
    done = run_autograder("grade", course.folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{len(course.submissions)} submissions" in done.stdout
    return course


def _exchange(course: Course, student: str, language: str) -> None:
    """Release, fetch, submit and collect.

    The student's own commands know the course id and nothing else of ours.
    """
    course_id = f"--course={course.folder.name}" + ("-ru" if language == "ru" else "")
    home = course.folder.parent / f"home-{student}"
    home.mkdir()
    course.exchange.mkdir(exist_ok=True)
    course.exchange.chmod(0o777)
    course.by_exchange("release_assignment", language=language)
    course.by_exchange("fetch_assignment", course_id, cwd=home)
    path = home / course.name / f"{course.name}.ipynb"
    assert read(path) == read(course.released(language))
    nbformat.write(course.submission(student).notebook(read(path)), path)
    course.by_exchange("submit", course_id, f"--student={student}", cwd=home)
    course.by_exchange("collect", language=language)


def _archive(course: Course, student: str) -> None:
    """Collect an archive of an LMS, with a notebook called after its student."""
    folder = course.folder / "downloaded" / course.name / "archive"
    folder.mkdir(parents=True)
    text = nbformat.writes(course.submission(student).notebook(read(course.released("ru"))))
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr(f"{student}_{course.name}.ipynb", text)
    pattern = r"(?P<student_id>[^_/]+)_(?P<file_id>.+)"
    course.nbgrader("zip_collect", course.name, f"--FileNameCollectorPlugin.named_regexp={pattern}")


@pytest.fixture(scope="module")
def gradebook(graded: Course) -> Iterator[Gradebook]:
    with graded.gradebook() as opened:
        yield opened


def test_every_score_is_what_the_verdicts_say(graded: Course, gradebook: Gradebook) -> None:
    wrong = {}
    for submission in graded.submissions:
        expected = expected_scores(submission, read(graded.released(submission.language)), graded.lesson)
        found = gradebook.find_submission_notebook(graded.name, graded.name, submission.student)
        scores = {grade.name: grade.score for grade in found.grades}
        if scores != expected:
            wrong[submission.student] = {k: (scores.get(k), v) for k, v in expected.items() if scores.get(k) != v}
    assert wrong == {}


@pytest.mark.nightly(twin="tests/grading/plugin/test_nbgrader_commands.py::test_every_score_is_what_the_verdicts_say")
def test_autograder_grade_gives_the_same_scores(graded: Course, second: Course, gradebook: Gradebook) -> None:
    def grades(opened: Gradebook) -> dict[str, object]:
        found = opened.find_assignment(graded.name).submissions
        return {
            each.student_id: {g.name: (g.auto_score, g.needs_manual_grade) for n in each.notebooks for g in n.grades}
            for each in found
        }

    with second.gradebook() as opened:
        found = grades(opened)
    assert len(found) >= 40
    assert {student: found[student] for student in grades(gradebook)} == grades(gradebook)


@pytest.mark.nightly(twin="tests/grading/plugin/test_nbgrader_commands.py::test_every_score_is_what_the_verdicts_say")
def test_every_mistake_of_the_core_is_named(second: Course) -> None:
    named = {}
    for submission in second.submissions:
        notebook = read(second.autograded(submission.student))
        for cell in notebook.cells if submission.mistakes else ():
            for output in cell.get("outputs", []):
                record = output.get("data", {}).get(MIME)
                if record and record["mistake"]:
                    named[record["exercise"], record["mistake"]] = submission.mistakes.get(record["exercise"])
    core = [exercise for exercise in exercises.load(second.lesson.name).values() if exercise.core]
    assert named == {(exercise.name, name): name for exercise in core for name in mistakes_in(exercise).cells}


@pytest.mark.nightly(twin="tests/grading/plugin/test_nbgrader_commands.py::test_every_score_is_what_the_verdicts_say")
def test_the_whole_range_of_scores_occurs(second: Course) -> None:
    core = sum(e.points for e in exercises.load(second.lesson.name).values() if e.core)
    total = second.scores()
    assert total["solved-en"] == total["solved-ru"] == total["no-start-en"] == total["no-start-ru"] == core
    assert total["blank-en"] == total["blank-ru"] == total["edited-check"] == 0
    for student in (
        "warns",
        "warns-in-cell",
        "prints-10-mb",
        "prints-10-mb-in-cell",
        "loop-in-cell",
        "raises-in-cell",
        "replaces-check",
        "silences-checks",
        "no-check",
    ):
        assert total[student] == core, student
    for student in ("syntax-error", "raises", "wrong-kind", "nan", "loop-in-function", "no-exercise"):
        assert 0 < total[student] < core, student


def test_only_what_was_written_waits_for_a_person(graded: Course, gradebook: Gradebook) -> None:
    for submission in graded.submissions:
        found = gradebook.find_submission_notebook(graded.name, graded.name, submission.student)
        waiting = {grade.name for grade in found.grades if grade.needs_manual_grade}
        assert waiting == set(submission.waiting), submission.student


def test_honest_runs_log_no_warning(graded: Course) -> None:
    commands = ("generate_assignment", "generate_assignment ru", "autograde", "generate_feedback")
    log = "\n".join(graded.logs[command] for command in commands)
    noise = [line for line in log.splitlines() if re.search(r"WARNING|ERROR|CRITICAL|Warning:", line)]
    put_back = "03_gradient_accumulation: deleted and put back: check-train_engine"
    reasons = [
        "edited-check, 03_gradient_accumulation: cell check-train_engine was changed",
        f"no-check, {put_back}",
        f"no-exercise, {put_back}",
        "no-exercise, 03_gradient_accumulation: deleted by the student: answer-train_engine",
        "loop-in-cell, 03_gradient_accumulation: the cell answer-train_engine ran longer than",
        "silences-checks, 03_gradient_accumulation: to look at: answer-train_engine, line 8: changes a library",
    ]
    students = {submission.student for submission in graded.submissions}
    assert [line for line in noise if not any(reason in line for reason in reasons)] == []
    seen = {reason: sum(reason in line for line in noise) for reason in reasons}
    assert seen == {reason: int(reason.split(",")[0] in students) for reason in reasons}


def test_feedback_is_in_the_language_of_the_notebook(graded: Course) -> None:
    words = {"en": ("Feedback", "Points", "Total"), "ru": ("Комментарии к работе", "Баллы", "Всего")}
    for submission in graded.submissions:
        page = graded.feedback(submission.student)
        language = "en" if submission.student == "no-language" else submission.language
        other = "ru" if language == "en" else "en"
        assert f'<html lang="{language}">' in page, submission.student
        head = page[page.index("<header>") : page.index("</header>")]
        assert all(word in head for word in words[language]), submission.student
        assert not any(word in head for word in words[other]), submission.student


def test_feedback_shows_the_cards(graded: Course) -> None:
    def languages(student: str) -> set[str]:
        return set(re.findall(r'<div [^>]*lang="(\w+)"', graded.feedback(student)))

    assert languages("solved-ru") == {"ru"}
    assert languages("no-language") == {"en", "ru"}
    assert "vnd.autograder" not in graded.feedback("solved-ru")
    assert "<b>no</b> idea" not in graded.feedback("raises")
    assert "has not graded this yet" in graded.feedback("solved-en")


def test_an_endless_loop_in_a_cell_shows_no_path_of_ours(graded: Course) -> None:
    page = graded.feedback("loop-in-cell")
    assert "Ячейка выполнялась дольше допустимого" in page
    assert "TimeIsUp" not in page
    assert str(Path(autograder.__file__).parent) not in page


def test_the_rubric_is_on_formgraders_page_alone(graded: Course) -> None:
    config = open_course(graded.folder).config
    config.HTMLExporter.template_name = "formgrade"  # as formgrader sets them
    config.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    named = ("student", "last_name", "first_name", "notebook_path", "base_url")
    resources = dict.fromkeys(named, "") | {"submission_id": "1", "index": 0, "total": 1}
    resources |= {"assignment_id": graded.name, "notebook_id": graded.name}
    path = graded.autograded("solved-en")
    page, _ = HTMLExporter(config=config).from_filename(str(path), resources=resources)
    rubric, answer = page.index("compare with something that cannot have this bug"), page.index("Both forget half")
    assert rubric < answer
    assert "<h2" not in page[rubric:answer]
    for other in (graded.feedback("solved-en"), path.read_text(), graded.released("en").read_text()):
        assert "compare with something that cannot have this bug" not in other


def test_feedback_of_a_flood_is_small(graded: Course) -> None:
    assert len(graded.feedback("prints-10-mb-in-cell")) < 2_000_000


def test_feedback_comes_back_through_the_exchange(graded: Course) -> None:
    for student, language in (("solved-en", "en"), ("solved-ru", "ru")):
        course_id = f"--course={graded.folder.name}" + ("-ru" if language == "ru" else "")
        graded.by_exchange("release_feedback", f"--student={student}", language=language)
        home = graded.folder.parent / f"home-{student}"
        graded.by_exchange("fetch_feedback", course_id, cwd=home)
        (page,) = (home / graded.name / "feedback").rglob("*.html")
        assert page.read_text(encoding="utf-8") == graded.feedback(student)


def test_export_has_one_column_for_both_languages(graded: Course, gradebook: Gradebook) -> None:
    graded.nbgrader("export")
    with (graded.folder / "grades.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["assignment"] for row in rows} == {graded.name}
    scores = {row["student_id"]: float(row["score"]) for row in rows}
    assert scores == {s.student: gradebook.find_submission(graded.name, s.student).score for s in graded.submissions}


def test_a_check_deleted_later_keeps_no_points(graded: Course) -> None:
    """The student was graded with the exercise there, and hands in again without it."""
    submission = graded.submission("no-exercise")
    (gone,) = (f"check-{name}" for name in submission.nothing_for)
    path = graded.submitted("solved-ru")
    path.chmod(0o644)
    nbformat.write(submission.notebook(read(graded.released("ru"))), path)
    shutil.copy(graded.folder / "gradebook.db", graded.folder.parent / "gradebook.before")
    graded.nbgrader("autograde", graded.name, "--student=solved-ru", "--force")
    with graded.gradebook() as opened:
        grade = opened.find_grade(gone, graded.name, graded.name, "solved-ru")
        assert (grade.score, grade.needs_manual_grade) == (0, False)
        assert list(written(graded.lesson))  # the lesson has a question for a person
