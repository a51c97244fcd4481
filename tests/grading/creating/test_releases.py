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
from autograder.language import LANGUAGES
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
    (command,) = re.findall(r"what is released is old now; make it anew: \S+/autograder (.*)", said)
    assert "# New: " not in course.released("ru").read_text(encoding="utf-8")
    assert main(shlex.split(command)) == 0
    for language in LANGUAGES:
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
    assert said.count("is old now") == 1
    assert f"autograder release {tmp_path} hw1\n" in said


def upgrade_again(course: Course, capsys: pytest.CaptureFixture[str]) -> str:
    newer = course.folder.parent / "newer"
    make_course(course.folder, None, Collection(newer, exercises.PACKAGED, newer))
    return capsys.readouterr().out


def test_an_upgrade_before_anybody_hands_in_brings_other_cells(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    said = upgrade(course, with_fewer_cells(), capsys)
    assert "kept" not in said
    assert f"{course.folder} {NAME}\n" in said
    course.release("en", "--force")
    ids = {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in read(course.released("en")).cells}
    assert f"check-{LAST}" not in ids


# ---------------------------------------------------------------------------------------------- `autograder release`


def cells(path: Path) -> list[tuple[str, str]]:
    return [(cell.cell_type, cell.source) for cell in read(path).cells]


def test_one_command_releases_all_in_all_languages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The releases are those of `nbgrader generate_assignment`, in both languages."""
    by_nbgrader, ours = Course.make(tmp_path / "a" / "course"), Course.make(tmp_path / "b" / "course", languages=[])
    sources = [path.parent.name for path in (ours.folder / "source").glob("*/*.ipynb") if path.parent.name > "03"]
    for name in sources:
        shutil.rmtree(ours.folder / "source" / name)
    command = ["release", str(ours.folder)]
    capsys.readouterr()
    assert main(command) == 0
    said = capsys.readouterr().out
    assert f"{NAME}: release/{NAME} made, release-ru/{NAME} made\n" in said
    assert "3 assignments; " in said
    for language in LANGUAGES:
        assert cells(ours.released(language)) == cells(by_nbgrader.released(language))
    with by_nbgrader.gradebook() as theirs, ours.gradebook() as mine:
        found = [[each.name for each in book.find_notebook(NAME, NAME).grade_cells] for book in (theirs, mine)]
        assert found[0] == found[1] != []
    before = ours.released("ru").stat().st_mtime_ns
    assert main(command) == 0
    assert f"{NAME}: release/{NAME} up to date, release-ru/{NAME} up to date\n" in capsys.readouterr().out
    assert ours.released("ru").stat().st_mtime_ns == before
    ours.source.touch()
    assert main([*command, "--language", "ru"]) == 0
    assert f"{NAME}: release-ru/{NAME} made\n" in capsys.readouterr().out
    assert main([*command, NAME, "--language", "ru"]) == 0
    assert f"{NAME}: release-ru/{NAME} made\n" in capsys.readouterr().out, "one that is named is made in any case"


def test_what_cannot_be_released_is_told(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["release", str(course.folder), "00_first"]) == 1
    assert f"source/ has no 00_first: there are {NAME}, " in capsys.readouterr().err
    course.source.write_text(course.source.read_text("utf-8").replace('"schema_version": 3', '"schema_version": 99'))
    assert main(["release", str(course.folder), NAME, "01_leaf_tensors"]) == 1
    said = capsys.readouterr()
    assert f"{NAME} was not released: " in said.err
    assert "01_leaf_tensors: release/01_leaf_tensors made" in said.out, "the others are"


def test_releases_go_into_the_exchange(course: Course) -> None:
    course.configure(f"c.Exchange.root = {str(course.exchange)!r}")
    course.exchange.mkdir(mode=0o777)
    course.exchange.chmod(0o777)
    for _ in range(2):
        assert main(["release", str(course.folder), NAME, "--exchange"]) == 0
    for id, language in (("course", "en"), ("course-ru", "ru")):
        out = course.exchange / id / "outbound" / NAME / f"{NAME}.ipynb"
        assert out.read_bytes() == course.released(language).read_bytes()


# ------------------------------------------------------------------------------------------------- chosen lessons


def sources_of(folder: Path) -> set[str]:
    return {path.name for path in (folder / "source").iterdir()}


def test_a_course_has_the_chosen_lessons_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "course"
    assert main(["course", str(folder), "--lessons", "02_graph_and_backward", "00", "10"]) == 0
    said = capsys.readouterr().out
    assert sources_of(folder) == {"00_first_gradient", "02_graph_and_backward", "10_higher_order"}
    assert "02_graph_and_backward builds on lesson 01, which this course does not have\n" in said
    assert "10_higher_order builds on lesson 05 and 07, which" in said
    assert main(["course", str(folder), "--lessons", "00"]) == 1
    assert "course.toml is there already: state the lessons in it" in capsys.readouterr().err

    assert main(["release", str(folder), NAME]) == 0
    changed = folder / "source" / "10_higher_order" / "10_higher_order.ipynb"
    changed.write_text(changed.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    rules = folder / "course.toml"
    stated = 'lessons = ["00_first_gradient", "02_graph_and_backward", "10_higher_order"]'
    rules.write_text(rules.read_text(encoding="utf-8").replace(stated, 'lessons = ["01_leaf_tensors"]'))
    capsys.readouterr()
    assert main(["course", str(folder)]) == 0
    said = capsys.readouterr().out
    assert sources_of(folder) == {"00_first_gradient", "01_leaf_tensors", "10_higher_order"}
    assert "00_first_gradient.ipynb, which course.toml does not name: it is released" in said
    assert "10_higher_order.ipynb, which course.toml does not name, for you have changed it" in said
    assert "removed " in said

    rules.write_text('lessons = ["01_leaf_tensor"]\n')
    assert main(["course", str(folder)]) == 1
    assert "there is no lesson '01_leaf_tensor'; did you mean 01_leaf_tensors" in capsys.readouterr().err
    assert main(["course", str(tmp_path / "other"), "--lessons", "77"]) == 1
    assert not (tmp_path / "other").exists()


def test_a_lesson_that_became_part_of_an_assignment_has_no_source_of_its_own(tmp_path: Path) -> None:
    assert main(["course", str(tmp_path), "--lessons", "00", "01"]) == 0
    (tmp_path / "course.toml").write_text(
        'lessons = ["02_graph_and_backward"]\n[assignments.hw]\nlessons = ["00_first_gradient", "01_leaf_tensors"]\n'
    )
    assert main(["course", str(tmp_path)]) == 0
    assert sources_of(tmp_path) == {"02_graph_and_backward", "hw"}
