"""Reports of courses in which something is missing or cannot be read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from autograder import exercises
from autograder.checking.verdict import MIME
from autograder.cli import main
from support.course import Course, make_folder
from support.report import EXERCISE, exercise, plain, report, text


def test_records_that_are_no_verdicts_are_none(graded: Course) -> None:
    """As a notebook may hold that nbgrader's own Execute ran: anything in the place of a verdict."""
    path = graded.autograded("solved-en")
    whole = path.read_text(encoding="utf-8")
    path.chmod(0o644)
    try:
        for change in ({"state": "<b>"}, {"mistake": ["x"]}, {"finding": "x"}, {"exercise": "other"}, {"aspects": 3}):
            _change_record(path, change)
            assert _states(report(graded))["no verdict"] == "1", change
            path.write_text(whole, encoding="utf-8")
        nonsense = {"got": [{"id": "differs.entry", "parameters": {}}, {"id": "x", "parameters": 1}], "aspect": "<b>"}
        _change_record(path, {"state": "not yet", "mistake": "<script>", "finding": nonsense})
        page = report(graded)
        assert "no verdict" not in _states(page)
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
    assert [path.stem for path in paths] == [graded.name, f"{graded.name}.project", "own", "index"]
    page = BeautifulSoup(paths[2].read_text(encoding="utf-8"), "html.parser")
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
        "submissions": "0", "handed in nothing": "1", "wait for a person": "0", "flagged by the grading": "0",
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
    assert main(["report", str(graded.folder), "05_jacobian_products"]) == 1
    said = capsys.readouterr().err
    assert f"nothing of 05_jacobian_products has been graded in {graded.folder}: run `autograder grade" in said
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
