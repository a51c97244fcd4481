"""`autograder grade` on a folder of honest and hostile submissions."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.lessons.source import Lesson
from support import attacks
from support.attacks.attack import HALF, Attack
from support.course import BIN, Course
from support.submissions import Submission, all_of, expected_scores, read

pytestmark = pytest.mark.long(15)

ATTACKS = {
    attack.name: attack
    for attack in attacks.ALL
    if attack.name
    in (
        "comparison functions replaced",
        "the sizes that a budget is measured with made small",
        "a counter of the probe found by frame walk and set",
        "frames written to every socket in a cell",
        "names and errors with lone surrogates",
        "a verdict of one's own among the outputs, and pages with scripts",
        "the host's files written",
        "detached processes",
        "signals to everybody",
        "memory in files without a name",
        "a flood of the disk",
        "tags that skip execution",
        "points of 1e9 and grade flags flipped",
        "own cells that carry a check's grade id",
        "checks deleted",
        "cells that are none, lone surrogates, control characters",
    )
}
HONEST = ("solved-en", "blank-ru", "mistakes-1", "mistakes-4", "raises", "wrong-kind")


@pytest.fixture(scope="module")
def course(lesson_source: Lesson, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Everything handed in, nothing graded. The hostile ones come between the honest ones."""
    honest = [each for each in all_of(lesson_source) if each.student in HONEST]
    course = Course.make(tmp_path_factory.mktemp("batch") / "calculus", lesson_source, submissions=honest)
    course.hand_in_all()
    course.hand_in("plain", HALF)
    for number, attack in enumerate(ATTACKS.values()):
        course.hand_in(f"h{number}", json.dumps(_hostile(attack, course)))
    place = course.submitted("link")
    place.parent.mkdir(parents=True)
    place.symlink_to(course.submitted("solved-en"))
    place = course.submitted("pipe")
    place.parent.mkdir(parents=True)
    os.mkfifo(place)
    course.submitted("folder").mkdir(parents=True)
    (course.folder / "submitted" / "thief").symlink_to(course.folder / "submitted" / "solved-en")
    beside = course.submitted("h0").parent
    beside.joinpath("torch.py").write_text("raise SystemExit(0)", encoding="utf-8")
    beside.joinpath("secret").symlink_to(course.folder / "secret")
    return course


def _hostile(attack: Attack, course: Course) -> dict[str, Any]:
    filled = Submission("x", "en", {**HALF, **attack.answers}).notebook(read(course.released("en")))
    raw: dict[str, Any] = json.loads(json.dumps(filled))
    for where, source in ((3, attack.first.replace("HOST", str(course.folder))), (len(raw["cells"]), attack.last)):
        raw["cells"].insert(where, json.loads(json.dumps(nbformat.v4.new_code_cell(source))))
    if attack.edit:
        attack.edit(raw)
    return raw


@pytest.mark.nightly(twin="tests/hostile/test_attacks.py::test_an_attack_does_not_pay")
def test_honest_and_hostile_submissions_are_graded_side_by_side(course: Course) -> None:
    before = sorted(path.relative_to(course.folder) for path in course.folder.iterdir())
    command = [BIN / "autograder", "grade", course.folder, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    results = {each["student"]: each for each in json.loads(done.stdout)[course.name]}

    for submission in course.submissions:
        expected = expected_scores(submission, read(course.released(submission.language)), course.lesson)
        found = results[submission.student]
        assert (found["score"], found["reasons"]) == (sum(expected.values()), []), submission.student
    for number, attack in enumerate(ATTACKS.values()):
        found = results[f"h{number}"]
        assert found["score"] <= results["plain"]["score"], attack.name
        if attack.flagged:
            assert found["state"] == "flagged", attack.name
            assert any(attack.flagged in reason for reason in found["reasons"]), (attack.name, found["reasons"])
        page = course.submitted(f"h{number}").as_posix().replace("/submitted/", "/autograded/")
        nbformat.validate(read(page))
    for student in ("link", "pipe", "folder"):
        assert results[student]["state"] == "failed"
        assert results[student]["score"] is None
    assert "thief" not in results
    after = sorted(path.relative_to(course.folder) for path in course.folder.iterdir())
    assert set(after) - set(before) <= {Path(each) for each in ("attempts", "autograded", ".autograder")}
    assert not list(course.folder.rglob("hostile.txt"))
    kept = course.folder / "autograded" / "h0" / course.name
    assert (kept / "torch.py").read_text(encoding="utf-8") == "raise SystemExit(0)"  # copied, and imported by nobody
    assert not (kept / "secret").exists()
    assert results["h0"]["notes"] == ["ignored: secret (it is a link)"]
