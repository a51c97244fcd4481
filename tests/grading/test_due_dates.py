"""Due dates: times of submission, deleted cells and links, changed dates and penalties."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import nbformat
import pytest

from support.course import Course
from support.first_gradient import CHECK, FIRST, NAME, SOLVED, TOTAL
from support.submissions import read

NO_TIME = "no time of submission, so nobody knows whether it was late"


@pytest.fixture(scope="module")
def due(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Submissions without a time, with links, and without a check; there is a due date, and nothing is graded."""
    course = Course.make(tmp_path_factory.mktemp("due") / "course")
    course.nbgrader("db", "assignment", "add", NAME, "--duedate=2026-01-02 00:00:00 UTC")
    for student, came in (("ann", "2026-01-01 10:00:00 UTC"), ("early", "1970-01-01 00:00:00 UTC"), ("empty", "\n")):
        course.hand_in(student, SOLVED, came=came)
    course.hand_in("none", SOLVED)
    course.submitted("ann").with_name("stolen").symlink_to("../../../secret")
    path = course.hand_in("boris", SOLVED, came="2026-01-01 10:00:00 UTC")
    notebook = read(path)
    notebook.cells = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") != CHECK]
    nbformat.write(notebook, path)
    return course


def test_links_times_and_deleted_cells(due: Course, tmp_path: Path) -> None:
    course, stock = due.copy(tmp_path / "ours"), due.copy(tmp_path / "stock")
    results = course.grade()
    assert {student: (each["state"], each["score"], each["reasons"]) for student, each in results.items()} == {
        "ann": ("graded", TOTAL, []),
        "boris": ("graded", TOTAL, []),
        "early": ("flagged", TOTAL, [NO_TIME]),
        "empty": ("flagged", TOTAL, [NO_TIME]),
        "none": ("flagged", TOTAL, [NO_TIME]),
    }
    assert results["boris"]["notes"] == [f"deleted and put back: {CHECK}"]
    stock.nbgrader("autograde", NAME)
    flags = {"ann": False, "boris": False, "early": True, "empty": True, "none": True}
    for each in (course, stock):
        assert each.shown_flags() == flags
        assert each.scores() == dict.fromkeys(flags, TOTAL)
        assert each.by_hand("boris", CHECK)[1] is False
        each.nbgrader("generate_feedback", NAME)
        assert not [path for place in ("autograded", "feedback") for path in (each.folder / place).rglob("stolen")]
    assert "ann: ignored: stolen (it is a link)" in stock.logs["autograde"]


def test_without_a_due_date_no_time_is_needed(due: Course, tmp_path: Path) -> None:
    course = due.copy(tmp_path)
    course.set_due(None)
    results = course.grade("--student=early", "--student=empty", "--student=none")
    assert [each["reasons"] for each in results.values()] == [[], [], []]


def test_a_linked_notebook_is_refused_by_nbgrader_autograde(due: Course, tmp_path: Path) -> None:
    course = due.copy(tmp_path)
    path = course.submitted("thief")
    path.parent.mkdir(parents=True)
    path.symlink_to(f"../../none/{NAME}/{NAME}.ipynb")
    with pytest.raises(AssertionError, match=f"{NAME}.ipynb cannot be opened: .* is a link"):
        course.nbgrader("autograde", NAME, "--student=thief")
    assert not (course.folder / "autograded" / "thief" / NAME).exists()


def test_a_deadline_changed_after_grading(course: Course) -> None:
    for student, came in (("ann", "2026-01-01 10:00:00 UTC"), ("boris", "2026-01-03 10:00:00 UTC")):
        course.hand_in(student, SOLVED, came=came)
    course.grade()
    course.give_by_hand("boris", CHECK, 1.5)
    mine = (1.5, False, ["see me"])
    made = course.autograded("boris").stat().st_mtime_ns

    course.set_due(datetime(2026, 1, 2))
    course.configure('c.LateSubmissionPlugin.penalty_method = "zero"')
    results = course.grade()
    assert {name: each["state"] for name, each in results.items()} == {"ann": "unchanged", "boris": "updated"}
    left = TOTAL - FIRST.points + 1.5
    assert (results["boris"]["score"], course.owed()) == (left, {"ann": 0, "boris": left})
    assert course.by_hand("boris", CHECK) == mine

    with course.gradebook() as gradebook:
        gradebook.grant_extension(NAME, "boris", days=2)
    assert course.grade()["boris"]["state"] == "updated"
    assert course.owed() == {"ann": 0, "boris": 0}
    course.set_due(None)  # nbgrader itself fails on an extension of nothing
    assert course.grade()["boris"]["state"] == "unchanged"
    assert course.by_hand("boris", CHECK) == mine
    assert course.autograded("boris").stat().st_mtime_ns == made


def test_another_penalty_changes_what_is_owed(course: Course) -> None:
    course.hand_in("boris", SOLVED, came="2026-01-03 10:00:00 UTC")
    (course.folder / "mine.py").write_text(
        "from nbgrader.plugins import BasePlugin\n"
        "class Half(BasePlugin):\n"
        "    def late_submission_penalty(self, student_id, score, total_seconds_late):\n"
        "        return score / 2\n"
    )
    course.set_due(datetime(2026, 1, 2))
    course.grade()
    assert course.owed() == {"boris": 0}
    course.configure(f"import sys; sys.path.insert(0, {str(course.folder)!r})")
    course.configure('c.AssignLatePenalties.plugin_class = "mine.Half"')
    assert course.grade()["boris"]["state"] == "updated"
    assert course.owed() == {"boris": TOTAL / 2}
