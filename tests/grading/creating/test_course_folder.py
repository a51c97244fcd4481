"""`autograder course DIR`: the folder that it makes, and a second run."""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder import exercises
from autograder.cli import main
from autograder.grading.creating import course_folder
from autograder.grading.creating.course_folder import NoCourse, make_course
from autograder.grading.rules.course_file import parse_rules
from autograder.language import LANGUAGES
from autograder.lessons import notebooks
from autograder.lessons.collection import COURSE, Collection

LESSON = "03_gradient_accumulation"


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course folder made by a process in whose PATH there is no alembic."""
    folder = tmp_path_factory.mktemp("made") / "calculus"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.pathsep.join(["/usr/bin", "/bin"]))
        assert main(["course", str(folder)]) == 0
    shutil.copytree(folder, folder.with_name("kept"))
    return folder


@pytest.fixture
def course(made: Path) -> Path:
    """The same as it was made: its files hold its path."""
    shutil.rmtree(made)
    shutil.copytree(made.with_name("kept"), made)
    return made


def test_a_new_course_has_what_nbgrader_needs(course: Path) -> None:
    source = nbformat.read(course / "source" / LESSON / f"{LESSON}.ipynb", as_version=4)
    (lesson,) = COURSE.read([LESSON])
    assert source == notebooks.source_notebook(lesson, COURSE.exercises(lesson))
    assert stat.S_IMODE((course / "secret").stat().st_mode) == 0o600
    assert len((course / "secret").read_text(encoding="utf-8").strip()) == 64
    assert (course / "lessons" / "README.md").is_file()
    assert (course / "exercises").is_dir()
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "calculus") as gradebook:
        assert gradebook.assignments == []
    assert "course_id='calculus'" in (course / "nbgrader_config.py").read_text(encoding="utf-8")


def test_the_next_commands_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_course(tmp_path / "calculus", None, language="ru")
    said = capsys.readouterr().out
    assert "Файл ваш" in (tmp_path / "calculus" / "course.toml").read_text(encoding="utf-8")
    assert "In the exchange it is called calculus-ru." in said
    assert "nbgrader collect 00_first_gradient" in said
    assert f"autograder release {tmp_path / 'calculus'}  " in said
    for command in ("grade", "feedback", "report"):
        assert f"autograder {command} {tmp_path / 'calculus'}\n" in said
    assert f"autograder return {tmp_path / 'calculus'}  " in said
    assert re.search(r"autograder collect ZIP +# from an LMS; from nbgrader's exchange: ", said)


def test_a_second_run_changes_nothing(course: Path) -> None:
    before = everything(course)
    make_course(course, None)
    assert everything(course) == before


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_line_of_the_rules_can_be_taken(language: str) -> None:
    """All that the templates show, without the comments."""
    templates = Path(course_folder.__file__).parents[1] / "templates" / "course"
    text = (templates / f"course.{language}.toml.txt").read_text("utf-8")
    rules = parse_rules(re.sub(r"(?m)^# (?=[\[a-z_]+(\]| =)|\[)", "", text), "course.toml")
    assert (rules.language, rules.late_days, rules.states_zone) == (language, 3, True)
    assert rules.of("03_gradient_accumulation").attempts == 3
    assert rules.of("homework_1").lessons == ("00_first_gradient", "01_leaf_tensors")


def test_what_an_instructor_changed_is_kept(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, source = course / "nbgrader_config.py", course / "source" / LESSON / f"{LESSON}.ipynb"
    for path in (config, source):
        path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    (course / "source" / "mine").mkdir()
    (course / "source" / "mine" / "mine.ipynb").write_text("{}", encoding="utf-8")
    before = everything(course)
    for _ in range(2):
        capsys.readouterr()
        make_course(course, "renamed")
        said = capsys.readouterr().out
        assert f"kept {config}" in said
        assert f"kept {source}" in said
    after = everything(course)
    assert {name: after[name] for name in before if name != ".autograder.json"} == {
        name: data for name, data in before.items() if name != ".autograder.json"
    }


def test_files_that_are_still_ours_follow_the_lesson(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(COURSE.lessons / "own_engine", course / "extra" / "own_engine")
    (path,) = COURSE.lessons.glob(f"{LESSON}.py")
    changed = course / "extra" / f"{LESSON}.py"
    changed.write_text(path.read_text(encoding="utf-8").replace("# # ", "# # New: ", 1), encoding="utf-8")
    capsys.readouterr()
    make_course(course, None, Collection(changed.parent, exercises.PACKAGED, changed.parent))
    assert "# New: " in (course / "source" / LESSON / f"{LESSON}.ipynb").read_text(encoding="utf-8")
    assert "kept" not in capsys.readouterr().out


def test_the_id_is_remembered(tmp_path: Path) -> None:
    make_course(tmp_path / "a folder", "calc-2026")
    make_course(tmp_path / "a folder", None)
    config = (tmp_path / "a folder" / "nbgrader_config.py").read_text(encoding="utf-8")
    assert "course_id='calc-2026'" in config


@pytest.mark.parametrize("course_id", [None, "a/b", "two words", "a+b", ""])
def test_a_bad_id_is_refused_before_anything_is_written(tmp_path: Path, course_id: str | None) -> None:
    folder = tmp_path / "two words"
    with pytest.raises(NoCourse, match="--id"):
        make_course(folder, course_id)
    assert not folder.exists()


def test_without_lesson_sources_the_remedy_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoCourse, match="Clone it"):
        make_course(tmp_path / "course", None, Collection(tmp_path / "none", exercises.PACKAGED, tmp_path))
    assert not (tmp_path / "course").exists()


def test_a_place_that_cannot_be_written_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["course", str(tmp_path / "file" / "course")]) == 1
    assert "choose a folder you can write to" in capsys.readouterr().err


def test_an_unreadable_record(course: Path) -> None:
    (course / ".autograder.json").write_text("{", encoding="utf-8")
    with pytest.raises(NoCourse, match="remove it"):
        make_course(course, None)
