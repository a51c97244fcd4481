"""Assignments that use a part of a lesson, several lessons, or other points."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import autograder
from autograder.cli import main
from autograder.learner.points import closed_until, describe_due_date
from autograder.session import SESSION

RULES = """
time_zone = "Europe/Moscow"
[assignments.03_gradient_accumulation]
due = 2026-09-17T23:59:00
grace = "10min"
late = [{until = "1d", credit = 80}]
exercises = ["train_epoch", "EXTRA"]
points = {train_epoch = 10}

[assignments.homework_1]
lessons = ["00_first_gradient", "01_leaf_tensors"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from autograder import exercises

    extra = next(name for name, each in exercises.load("gradient_accumulation").items() if not each.core)
    folder = tmp_path_factory.mktemp("rules") / "course"
    folder.mkdir()
    (folder / "course.toml").write_text(RULES.replace("EXTRA", extra))
    assert main(["course", str(folder)]) == 0
    return folder


def notebook(folder: Path, assignment: str, lesson: str = "") -> dict[str, Any]:
    text = (folder / "source" / assignment / f"{lesson or assignment}.ipynb").read_text()
    return dict(json.loads(text))


def points(found: dict[str, Any]) -> dict[str, float]:
    cells = [cell["metadata"].get("nbgrader", {}) for cell in found["cells"]]
    return {ours["grade_id"]: ours["points"] for ours in cells if ours.get("grade")}


def test_only_the_named_exercises_count(folder: Path) -> None:
    found = points(notebook(folder, "03_gradient_accumulation"))
    assert len(found) == 2
    assert found.pop("check-train_epoch") == 10
    assert all(name.startswith("check-") and value > 0 for name, value in found.items())


def test_an_assignment_of_two_lessons_takes_their_place(folder: Path) -> None:
    sources = {path.name for path in (folder / "source").iterdir()}
    assert "homework_1" in sources
    assert not sources & {"00_first_gradient", "01_leaf_tensors"}
    assert points(notebook(folder, "homework_1", "01_leaf_tensors"))
    assert len(list((folder / "source" / "homework_1").iterdir())) == 2


def test_a_notebook_tells_its_due_date_and_the_credit_now(folder: Path) -> None:
    metadata = notebook(folder, "03_gradient_accumulation")["metadata"]

    def said(*now: int) -> list[str]:
        return [text.en for text in describe_due_date(metadata, datetime(*now, tzinfo=UTC))]

    assert said(2026, 9, 17, 21, 9) == ["Due 2026-09-17 23:59 (UTC+03:00)."]
    assert "gets 80 % of the points" in said(2026, 9, 17, 21, 10)[0]
    assert "gets 0 % of the points" in said(2026, 9, 18, 21)[0]
    assert list(describe_due_date(notebook(folder, "02_graph_and_backward")["metadata"])) == []
    assert list(describe_due_date({"autograder": {"due": 5}})) == []


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ('[assignments.a]\nlessons = ["03_gradient_acumulation"]', "did you mean 03_gradient_accumulation"),
        ('[assignments.03_gradient_accumulation]\nexercises = ["train_epok"]', "did you mean train_epoch"),
        ("[assignments.03_gradient_accumulation]\npoints = {nothing = 1}", "there is no exercise 'nothing' in it"),
    ],
)
def test_unknown_names_are_told(tmp_path: Path, rules: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "course.toml").write_text(rules)
    assert main(["course", str(tmp_path)]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "source").exists()


CLOSED = """
time_zone = "Europe/Berlin"
[assignments.00_first_gradient]
due = 2026-10-24T20:00:00
grace = "10min"
solutions = "after_due"
[assignments.01_leaf_tensors]
due = DUE
late = [{until = "1d", credit = 80}, {until = "7d", credit = 50}]
solutions = "after_due"
"""
EXERCISE = "hidden_gradients"


def test_a_course_can_close_its_solutions_until_late_work_gets_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOGRADER_HOME", str(tmp_path / "home"))
    folder = tmp_path / "course"
    assert main(["course", str(folder), "--lessons", "00", "01"]) == 0
    rules = folder / "course.toml"
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    for due, says in ((tomorrow, "opens its solutions on"), (tomorrow - timedelta(days=9), "def hidden_gradients")):
        rules.write_text(CLOSED.replace("DUE", f"{due:%Y-%m-%dT%H:%M:%S}"))
        assert main(["course", str(folder)]) == 0
        path = folder / "source" / "01_leaf_tensors" / "01_leaf_tensors.ipynb"
        monkeypatch.setattr("autograder.learner.points.own_path", lambda path=path: str(path))
        monkeypatch.setattr(SESSION, "lesson", "leaf_tensors")
        for say in (partial(autograder.solution, give_up=True), autograder.solution):
            said = str(say(EXERCISE))
            assert says in said or (say is autograder.solution and "give_up=True" in said)
        last = str(autograder.hint(EXERCISE, 3))
        assert ("opens its solutions on" in last) == (due == tomorrow)
    capsys.readouterr()
    assert main(["course", str(folder), "--check"]) == 0
    said = capsys.readouterr().out
    assert "late work gets nothing; the released notebook shows solutions from 2026-10-24 20:10 on" in said
    assert notebook(folder, "00_first_gradient")["metadata"]["autograder"]["solutions"] == "2026-10-24T20:10:00+02:00"


def test_solutions_stay_open_without_such_a_rule(folder: Path) -> None:
    assert "solutions" not in notebook(folder, "03_gradient_accumulation")["metadata"]["autograder"]
    assert closed_until({"autograder": {"solutions": "soon"}}) is None
