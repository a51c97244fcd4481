"""The instructor's report: a small class handed in, graded by `autograder grade`, and what the page says of it."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import statistics
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from string import Formatter
from typing import Any
from urllib.parse import unquote

import nbformat
import pytest
from bs4 import BeautifulSoup, Tag
from nbformat.v4 import new_code_cell, new_notebook, new_output

from autograder import exercises
from autograder.authoring.build import COURSE
from autograder.authoring.source import solutions
from autograder.checking.judge import unobserved
from autograder.checking.verdict import MIME
from autograder.cli import main
from autograder.grading.report.counts import Answered, Graded
from autograder.grading.report.reasons import REASONS, in_both_languages
from autograder.language import Note
from autograder.messages.report import WORDS
from support.course import BIN, Course, make_folder
from support.submissions import Edit, Submission, read

EXERCISE = "accumulate_equal"
LOOP = "def accumulate_equal(model, data):\n    {0}\n    for x, y in data:\n        {1}\n        ({2}).backward()\n"
SUMS = LOOP.format("model.zero_grad()", "pass", "mse_loss(model(x), y)")
ZEROES = LOOP.format("pass", "model.zero_grad()", "mse_loss(model(x), y) / len(data)")
DOUBLES = LOOP.format("model.zero_grad()", "pass", "2 * mse_loss(model(x), y) / len(data)")
DOUBLES_TOO = (
    LOOP.format("model.zero_grad()", "pass", "mse_loss(model(x), y) / len(data)")
    + "    model.weight.grad.mul_(2)  # </code></pre><script>alert(1)</script> makes the same of it\n"
)
PATCH = "\nimport torch\n_old = torch.Tensor.backward\ntorch.Tensor.backward = lambda *a, **k: _old(*a, **k)\n"
PREDICT = (
    'predict_accumulation = {"w.grad before": None, "first": -40.0, "copy": -32.0, '
    '"w.grad after the second backward": -8.0, "w.grad after zero_grad": None}\n'
)
STUDENT = "o'brien & <b>sons"  # a folder may have any name


def _class(solved: dict[str, str]) -> Iterator[Submission]:
    def hands_in(student: str, language: str = "en", edit: Edit | None = None, **other: str) -> Submission:
        return Submission(student, language, {**solved, **other}, edit=edit)

    yield hands_in("solved-en")
    yield hands_in("solved-ru", "ru")
    yield Submission("blank", "en", {})
    yield hands_in("sums-1", accumulate_equal=SUMS, predict_accumulation=PREDICT)
    yield hands_in("sums-2", "ru", accumulate_equal=SUMS + "\n# longer\n", predict_accumulation=PREDICT)
    yield hands_in(STUDENT, accumulate_equal=SUMS, predict_accumulation=PREDICT)
    yield hands_in("sums-4", accumulate_equal=SUMS)
    yield hands_in("zeroes-1", accumulate_equal=ZEROES)
    yield hands_in("zeroes-2", "ru", accumulate_equal=ZEROES)
    yield hands_in("doubles-1", accumulate_equal=DOUBLES)
    yield hands_in("doubles-2", accumulate_equal=DOUBLES_TOO)
    yield hands_in("alone", accumulate_equal=DOUBLES.replace("2 *", "3 *"))
    yield hands_in("patches", accumulate_equal=solved[EXERCISE] + PATCH)
    yield hands_in("deletes", edit=_delete_exercise)
    yield hands_in("syntax", accumulate_equal=SUMS.replace(":\n", "\n", 1))
    yield hands_in("spoilt")


def _delete_exercise(notebook: Any) -> None:
    gone = (f"check-{EXERCISE}", f"answer-{EXERCISE}")
    notebook.cells = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") not in gone]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The class above, graded; besides it an assignment of the instructor's own, and two notebooks that are none."""
    (lesson,) = COURSE.read(["gradient_accumulation"])
    solved = {name: solutions(exercise)[0] for name, exercise in exercises.load(lesson.name).items()}
    folder = tmp_path_factory.mktemp("course") / "calculus"
    course = Course.make(folder, lesson, submissions=_class(solved))
    course.hand_in_all()
    course.hand_in("garbage", "no notebook")
    _own_assignment(folder)
    course.nbgrader("generate_assignment", "own")
    own = read(folder / "release" / "own" / "own.ipynb")
    course.hand_in("sums-1", own, name="own", folder=folder / "submitted" / "sums-1" / "own")
    done = subprocess.run([BIN / "autograder", "grade", folder], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr  # garbage cannot be graded
    course.hand_in("late", {})
    course.nbgrader("db", "student", "add", "sums-1", "--last-name=Иванов", "--first-name=Пётр")
    course.nbgrader("generate_feedback", course.name, "--student=sums-1")
    spoilt = course.autograded("spoilt")
    spoilt.chmod(0o644)
    spoilt.write_text("{", encoding="utf-8")
    return course


def _own_assignment(folder: Path) -> None:
    graded = {"grade_id": "sum", "schema_version": 3, "task": False, "grade": True, "solution": False, "locked": True}
    cell = new_code_cell("assert 1 + 1 == 2", metadata={"nbgrader": {**graded, "points": 2}})
    path = folder / "source" / "own" / "own.ipynb"
    path.parent.mkdir()
    nbformat.write(new_notebook(cells=[cell], metadata={"kernelspec": {"name": "python3", "display_name": "p"}}), path)


def report(course: Course, *arguments: str, ending: str = "") -> BeautifulSoup:
    """The page of the lesson, made by the command."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(["report", str(course.folder), course.name, *arguments]) == 0
    (path,) = map(Path, said.getvalue().splitlines())
    assert path == course.folder / "report" / f"{course.name}{ending}.html"
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@pytest.fixture(scope="module")
def page(graded: Course) -> BeautifulSoup:
    return report(graded)


def text(tag: Any) -> str:
    assert tag is not None
    return " ".join(tag.get_text(" ").split())


def exercise(page: BeautifulSoup, name: str = EXERCISE) -> Tag:
    found = page.find(id=f"exercise-{name}")
    assert isinstance(found, Tag)
    return found


def who(tag: Tag) -> set[str]:
    return {span.get_text() for span in tag.select(".ids span")}


def says(mistake: str, language: str = "en", name: str = EXERCISE) -> str:
    return exercises.find(name).mistakes[mistake].says.read(language).replace("`", "")


def plain(tag: Any) -> str:
    return re.sub(r"\s+", " ", tag.get_text()).strip()


# ----------------------------------------------------------------------------------------------------------- the page


def test_the_page_stands_alone_and_runs_nothing(page: BeautifulSoup) -> None:
    assert not page.find_all(["script", "iframe", "object", "embed", "link", "img", "form"])
    for tag in page.find_all(True):
        outside = [
            value for name, value in tag.attrs.items() if name in ("src", "href") and not value.startswith(("#", "../"))
        ]
        assert outside == [], tag
        assert not any(name.startswith("on") for name in tag.attrs), tag
    assert "@import" not in page.style.string
    assert "url(" not in page.style.string
    targets = {tag["href"][1:] for tag in page.find_all("a") if tag["href"].startswith("#")}
    assert targets <= {tag["id"] for tag in page.find_all(id=True)}
    assert len(targets) > 3


def test_the_head_has_the_gradebooks_numbers(graded: Course, page: BeautifulSoup) -> None:
    with graded.gradebook() as gradebook:
        found = {s.student_id: s for s in gradebook.find_assignment(graded.name).submissions}
        scores = [submission.score for student, submission in found.items() if student != "spoilt"]
        waits = {student for student, submission in found.items() if submission.needs_manual_grade} - {"spoilt"}
        maximum = gradebook.find_assignment(graded.name).max_score
    tiles = {text(tile.dt): text(tile.dd) for tile in page.select(".tiles > div")}
    assert tiles["submissions"] == str(len(scores)) == "15"
    assert tiles["mean score"] == f"{round(statistics.mean(scores), 1):g} of {maximum:g}"
    assert tiles["median score"] == f"{round(statistics.median(scores), 1):g} of {maximum:g}"
    assert tiles["wait for a person"] == str(len(waits))
    assert {"patches", "deletes"} <= waits
    flagged = [text(row.td) for row in page.select("#remarks tbody tr")]
    assert tiles["flagged by the grading"] == str(len(flagged)) == "2"
    assert not {text(row.td) for row in page.select("#unread tbody tr")} & {*flagged}
    histogram = page.select("#scores table tr")
    labels, counts = ([text(cell) for cell in row.find_all("td")] for row in histogram)
    assert {label: int(n) for label, n in zip(labels, counts) if n != "0"} == Counter(str(int(s)) for s in scores)


def test_it_begins_with_what_most_misunderstand(page: BeautifulSoup) -> None:
    first = page.main.find("section")
    items = first.find_all("li")
    assert [plain(item.select_one(".says")) for item in items] == [
        says("sums_the_means"),
        says("backward_overwrites", name="predict_accumulation"),
        says("zeroes_inside"),
    ]
    assert text(items[0].select_one(".share")) == "4 of 12 answers (33%)"
    assert items[0].a["href"] == f"#exercise-{EXERCISE}"


def test_every_exercise_has_its_shares(graded: Course, page: BeautifulSoup) -> None:
    titles = {e.title.en.replace("`", ""): name for name, e in exercises.load(graded.lesson.name).items()}
    shown = {}
    for table in page.select("figure + .scroll table"):
        head = [text(cell) for cell in table.select("th")]
        for row in table.select("tbody tr"):
            cells = [plain(cell) for cell in row.find_all("td")]
            shown[titles[cells[0]]] = dict(zip(head[1:], cells[1:]))
    assert set(shown) == set(titles.values())
    assert shown[EXERCISE] == {
        "solved": "13%", "passed": "2", "not yet": "9", "not attempted": "1",
        "stopped by an error": "1", "held back until a person has looked": "1", "no verdict": "1",
    }  # fmt: skip
    assert shown["predict_accumulation"]["not yet"] == "3"
    core = [name for name, each in exercises.load(graded.lesson.name).items() if each.core]
    figures = page.find_all("svg", attrs={"role": "img"})
    assert len(figures) == 3
    drawn = [text(label) for label in figures[1].find_all("text")]
    assert {exercises.find(name).title.en.replace("`", "") for name in core} <= set(drawn)
    assert {"passed", "not yet", "not attempted", "held back until a person has looked", "no verdict"} <= set(drawn)
    assert [a["id"] for a in page.find_all("article")[: len(core)]] == [f"exercise-{name}" for name in core]


def test_recognised_mistakes_come_with_their_sentence_and_students(page: BeautifulSoup) -> None:
    recognised = exercise(page).select("ul.wrong")[0]
    found = [(text(li.select_one(".count")), plain(li.p), who(li)) for li in recognised.find_all("li")]
    assert found == [
        ("4", says("sums_the_means"), {"Иванов Пётр (sums-1)", "sums-2", STUDENT, "sums-4"}),
        ("2", says("zeroes_inside"), {"zeroes-1", "zeroes-2"}),
    ]
    assert recognised.pre.get_text().strip() == SUMS.strip()


def test_students_have_names_and_links_to_their_work(graded: Course, page: BeautifulSoup) -> None:
    links = {text(link): link["href"] for link in page.select(".ids a")}
    assert links["Иванов Пётр (sums-1)"] == f"../feedback/sums-1/{graded.name}/{graded.name}.html"
    assert links["sums-2"] == f"../autograded/sums-2/{graded.name}/{graded.name}.ipynb"
    for link in page.find_all("a"):
        if not link["href"].startswith("#"):
            assert (graded.folder / "report" / unquote(link["href"])).is_file()
    assert text(page.select_one("#remarks a")) in {"deletes", "patches"}


def test_an_answer_that_does_not_run_is_no_blank(page: BeautifulSoup) -> None:
    (group,) = [li for li in exercise(page).select("ul.wrong")[1].find_all("li") if who(li) == {"syntax"}]
    assert "The cell with the answer ends in an error: SyntaxError: expected ':'" in plain(group)
    assert group.pre.get_text().startswith("def accumulate_equal(model, data)\n")


def test_answers_of_which_the_same_is_said_are_one_row() -> None:
    """An endless loop is noticed at a case that depends on how busy the machine was."""
    asked = exercises.find(EXERCISE)
    graded = Graded("any", 1, exercises={EXERCISE: Answered(asked)})
    for student, case in (("ann", 0), ("boris", 1)):
        verdict = unobserved(asked, "not yet", Note("raised.time", {"seconds": 10}))
        assert verdict.finding is not None
        verdict = replace(verdict, finding=replace(verdict.finding, case=case))
        output = new_output("execute_result", data={MIME: verdict.to_json()}, metadata={"observed": student})
        graded.add(student, {f"check-{EXERCISE}": {"outputs": [output]}}, {})
    (row,) = graded.exercises[EXERCISE].wrong(recognised=False)
    assert row.students == ["ann", "boris"]


def test_wrong_answers_that_behave_alike_are_one_group(page: BeautifulSoup) -> None:
    other = exercise(page).select("ul.wrong")[1]
    groups = [li for li in other.find_all("li") if who(li) != {"syntax"}]
    assert [who(li) for li in groups] == [{"doubles-1", "doubles-2"}, {"alone"}]
    (gradient,) = [a for a in exercises.find(EXERCISE).aspects if a.name == "gradient"]
    assert gradient.says.en.replace("`", "") in plain(groups[0])
    assert re.search(r"Came back: 3 of 3 entries differ; the first, at \[0, 0\], is \S+", plain(groups[0]))
    assert groups[0].pre.get_text().strip() == DOUBLES.strip()


def test_mistakes_that_one_sentence_names_are_one() -> None:
    saved = exercises.find("predict_saved")
    graded = Graded("any", 1, exercises={saved.name: Answered(saved)})
    for mistake in ("where_keeps_nothing", "relu_keeps_a_mask", "relu_keeps_nothing"):
        verdict = replace(unobserved(saved, "not yet", Note("absent.stub", {})), mistake=mistake)
        output = new_output("execute_result", data={MIME: verdict.to_json()}, metadata={"observed": mistake})
        graded.add(mistake, {f"check-{saved.name}": {"outputs": [output]}}, {})
    found = [each.students for each in graded.exercises[saved.name].wrong(recognised=True)]
    assert found == [["relu_keeps_a_mask", "relu_keeps_nothing"], ["where_keeps_nothing"]]


def test_what_needs_a_look_and_what_was_not_read(page: BeautifulSoup) -> None:
    rows = {text(row) for row in page.select("#look tbody tr")}
    title = exercises.find(EXERCISE).title.en
    tampered = [row for row in rows if row.startswith("What the check relies on was replaced")]
    assert len(tampered) == 1
    assert "Tensor.backward" in tampered[0]
    assert tampered[0].endswith("1 patches")
    assert f"The graded cell was deleted {title} 1 deletes" in rows
    unread = dict([text(cell) for cell in row.find_all("td")] for row in page.select("#unread tbody tr"))
    assert unread.keys() == {"garbage", "late", "spoilt"}
    assert unread["late"] == "handed in, but not graded yet"
    assert all("is no notebook" in unread[student] for student in ("garbage", "spoilt"))


def test_each_language_has_a_page(graded: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    report(graded)
    monkeypatch.setenv("AUTOGRADER_LANGUAGE", "ru")
    assert report(graded, ending=".ru").html["lang"] == "ru"
    english = (graded.folder / "report" / f"{graded.name}.html").read_text(encoding="utf-8")
    assert '<html lang="en">' in english
    assert report(graded, "--language", "en").html["lang"] == "en"


def test_reasons_are_in_the_language_of_the_page(graded: Course) -> None:
    page = report(graded, "--language", "ru", ending=".ru")
    rows = [[text(cell) for cell in row.find_all("td")] for row in page.select("#remarks tr, #unread tr")]
    said = {row[0]: row[1] for row in rows if row}
    assert said["deletes"] == f"удалена ячейка: check-{EXERCISE}"
    assert "заменено или оставлено включённым: " in said["patches"]
    assert said["garbage"].startswith(f"{graded.name}.ipynb: это не тетрадь, JSON не читается (")
    for reason in REASONS:
        assert reason.placeholders_agree()
        whole = reason.format(**{name: f"<{name}>" for _, name, _, _ in Formatter().parse(reason.en) if name})
        assert in_both_languages(whole.en) == whole


def test_the_russian_page_is_russian(graded: Course) -> None:
    page = report(graded, "--language", "ru", ending=".ru")
    assert page.html["lang"] == "ru"
    assert plain(page.select_one(".leading .says")) == says("sums_the_means", "ru")
    for quoted in page.select("code, pre, .ids, #unread td"):
        quoted.decompose()
    whole = text(page)
    for name, words in WORDS.items():
        assert words.placeholders_agree(), name
        parts = [part.strip() for part in re.split(r"\{\w+\}", words.en) if len(part.strip()) > 4]
        assert not any(part in whole for part in parts), name


# --------------------------------------------------------------------------------------------------- what may go wrong


def test_records_that_are_no_verdicts_are_none(graded: Course) -> None:
    """As a notebook may hold that nbgrader's own Execute ran: anything in the place of a verdict."""
    path = graded.autograded("solved-en")
    whole = path.read_text(encoding="utf-8")
    path.chmod(0o644)
    try:
        for change in ({"state": "<b>"}, {"mistake": ["x"]}, {"finding": "x"}, {"exercise": "other"}, {"aspects": 3}):
            _change_record(path, change)
            assert _states(report(graded))["no verdict"] == "2", change
            path.write_text(whole, encoding="utf-8")
        nonsense = {"got": [{"id": "differs.entry", "parameters": {}}, {"id": "x", "parameters": 1}], "aspect": "<b>"}
        _change_record(path, {"state": "not yet", "mistake": "<script>", "finding": nonsense})
        page = report(graded)
        assert _states(page)["no verdict"] == "1"
        assert "<script>, a mistake no longer listed" in plain(exercise(page))
    finally:
        path.write_text(whole, encoding="utf-8")


def _change_record(path: Path, change: dict[str, Any]) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    (cell,) = [c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == f"check-{EXERCISE}"]
    cell["outputs"][0]["data"][MIME] |= change
    path.write_text(json.dumps(notebook), encoding="utf-8")


def _states(page: BeautifulSoup) -> dict[str, str]:
    table = page.select_one("figure + .scroll table")
    assert table is not None
    (row,) = [row for row in table.select("tbody tr") if row.a["href"] == f"#exercise-{EXERCISE}"]
    return dict(zip([text(cell) for cell in table.select("th")], [text(cell) for cell in row.find_all("td")]))


def test_points_given_by_hand_count(graded: Course) -> None:
    before = text(report(graded).select(".tiles dd")[1])
    with graded.gradebook() as gradebook:
        grade = gradebook.find_grade(f"check-{EXERCISE}", graded.name, graded.name, "alone")
        grade.manual_score, grade.needs_manual_grade = 2.8, True
        gradebook.db.commit()
        page = report(graded)
        grade.manual_score, grade.needs_manual_grade = None, False
        gradebook.db.commit()
    rows = [text(row) for row in page.select("#look tbody tr")]
    title = exercises.find(EXERCISE).title.en
    assert f"Graded by hand, then autograded anew {title} 1 alone" in rows
    assert text(page.select(".tiles dd")[1]) != before
    assert text(report(graded).select(".tiles dd")[1]) == before


def test_an_assignment_of_another_origin_has_its_scores(graded: Course, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(graded.folder)]) == 0
    paths = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [path.stem for path in paths] == [graded.name, "own"]
    page = BeautifulSoup(paths[1].read_text(encoding="utf-8"), "html.parser")
    tiles = {text(tile.dt): text(tile.dd) for tile in page.select(".tiles > div")}
    assert (tiles["submissions"], tiles["mean score"]) == ("1", "2 of 2")
    assert "No exercise here has verdicts." in text(page.main)


def test_a_class_of_which_nothing_can_be_read(graded: Course, tmp_path: Path) -> None:
    course = graded.copy(tmp_path)
    for student in (course.folder / "autograded").iterdir():
        if student.name != "spoilt":
            shutil.rmtree(student)
    page = report(course)
    assert {text(tile.dt): text(tile.dd) for tile in page.select(".tiles > div")} == {
        "submissions": "0", "wait for a person": "0", "flagged by the grading": "0",
    }  # fmt: skip
    assert len(page.select("#unread tbody tr")) == len(graded.submissions) + 2
    assert not page.select("svg, article")


def test_before_anybody_is_graded_it_says_what_to_do(
    graded: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_folder(tmp_path / "empty")
    capsys.readouterr()
    assert main(["report", str(tmp_path / "empty")]) == 1
    assert f"run `autograder grade {tmp_path / 'empty'}` first" in capsys.readouterr().err
    assert main(["report", str(graded.folder), "04_jacobian_products"]) == 1
    said = capsys.readouterr().err
    assert f"nothing of 04_jacobian_products has been graded in {graded.folder}: run `autograder grade" in said
    assert f"graded are: {graded.name}, own" in said
    assert not (tmp_path / "empty" / "report").exists()


def test_a_folder_that_cannot_be_written_to(graded: Course, capsys: pytest.CaptureFixture[str]) -> None:
    place = graded.folder / "report"
    aside = place.rename(graded.folder / "report.aside") if place.exists() else None
    place.write_text("a file", encoding="utf-8")
    try:
        assert main(["report", str(graded.folder), graded.name]) == 1
        assert "must be writable" in capsys.readouterr().err
    finally:
        place.unlink()
        if aside:
            aside.rename(place)
