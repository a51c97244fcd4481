"""Course folders over time: newer versions of a lesson."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from autograder import exercises
from autograder.cli import main
from autograder.grading.creating.course_folder import make_course
from autograder.lessons.collection import COURSE, Collection
from support.course import Course
from support.first_gradient import LESSON, NAME
from support.submissions import read


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course folder with one lesson released in English."""
    return Course.make(tmp_path / "course", languages=("en",))


# ------------------------------------------------------------------------------------ a newer version of the lessons


LAST = list(COURSE.exercises(LESSON))[-1]


def upgrade(course: Course, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Bring the course up to date from a version of the lesson with `text`. Returns what was said."""
    (course.folder.parent / "newer").mkdir()
    path = course.folder.parent / "newer" / f"{NAME}.py"
    path.write_text(text, encoding="utf-8")
    capsys.readouterr()
    make_course(course.folder, None, Collection(path.parent, exercises.PACKAGED, path.parent))
    return capsys.readouterr().out


def lesson_text() -> str:
    return (COURSE.lessons / f"{NAME}.py").read_text(encoding="utf-8")


def with_fewer_cells() -> str:
    """The lesson without its last check: what a version with one cell more or less comes to."""
    cells = re.split(r"(?m)^(?=# %%)", lesson_text())
    return "".join(cell for cell in cells if not cell.startswith(f'# %% check="{LAST}"'))


@pytest.mark.parametrize("graded", [False, True])
def test_an_upgrade_keeps_a_lesson_that_was_handed_in(
    course: Course, graded: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    course.hand_in("ann", {})
    if graded:
        assert main(["grade", str(course.folder)]) == 0
        shutil.rmtree(course.folder / "submitted")  # put away: the gradebook knows
    before, release = course.source.read_bytes(), course.released("en").read_bytes()
    said = upgrade(course, with_fewer_cells(), capsys)
    assert f"kept {course.source}: students have handed in {NAME}" in said
    assert f"check-{LAST}" in said
    assert "next run of the course" in said
    assert course.source.read_bytes() == before
    course.release("en", "--force")
    assert course.released("en").read_bytes() == release


def test_an_upgrade_says_that_what_was_released_is_old(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    course.release("ru")
    course.hand_in("ann", {})
    said = upgrade(course, lesson_text().replace("# # ", "# # New: "), capsys)
    assert f"what is released of {NAME} is old now" in said
    for language in ("en", "ru"):
        prefix = "" if language == "en" else f"AUTOGRADER_LANGUAGE={language} "
        (command,) = re.findall(rf"(?m)^  {prefix}\S+/nbgrader (generate_assignment .* --force.*)$", said)
        assert "# New: " not in course.released(language).read_text(encoding="utf-8")
        course.nbgrader(*shlex.split(command), language=language)
        assert "# New: " in course.released(language).read_text(encoding="utf-8")
    assert "is old now" not in upgrade_again(course, capsys)


def test_a_new_due_date_of_several_lessons_names_the_assignment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = '[assignments.hw1]\nlessons = ["00_first_gradient", "01_leaf_tensors"]\n'
    (tmp_path / "course.toml").write_text(rules)
    make_course(tmp_path, None)
    (tmp_path / "release" / "hw1").mkdir(parents=True)
    (tmp_path / "course.toml").write_text(f"{rules}due = 2026-09-17T23:59:00\n")
    capsys.readouterr()
    make_course(tmp_path, None)
    said = capsys.readouterr().out
    assert f"kept {tmp_path / 'course.toml'} (yours)\n" in said
    assert said.count("is old now") == 1
    assert "nbgrader generate_assignment hw1 --force\n" in said


def upgrade_again(course: Course, capsys: pytest.CaptureFixture[str]) -> str:
    newer = course.folder.parent / "newer"
    make_course(course.folder, None, Collection(newer, exercises.PACKAGED, newer))
    return capsys.readouterr().out


def test_an_upgrade_before_anybody_hands_in_brings_other_cells(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    said = upgrade(course, with_fewer_cells(), capsys)
    assert "kept" not in said
    assert f"what is released of {NAME} is old now" in said
    course.release("en", "--force")
    ids = {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in read(course.released("en")).cells}
    assert f"check-{LAST}" not in ids
