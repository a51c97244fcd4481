"""`autograder course DIR`, its config, and how a score is taken from a cell: everything that needs no nbgrader run."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import nbformat
import pytest
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbgrader import preprocessors
from nbgrader.api import Gradebook
from nbgrader.converters import GenerateAssignment
from nbgrader.utils import determine_grade
from traitlets.config import Config

from autograder import exercises
from autograder.authoring import notebooks
from autograder.authoring.build import COURSE, Collection
from autograder.checking.verdict import MIME
from autograder.cli import main
from autograder.grading.course.create import NoCourse, make_course
from autograder.grading.plugin.config import configure
from autograder.grading.plugin.feedback import language_of, title
from autograder.grading.submission.outputs import LimitOutput
from autograder.grading.submission.scores import is_check, verdict_first
from autograder.messages.feedback import WORDS

LESSON = "03_gradient_accumulation"


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course folder made by a process in whose PATH there is no alembic."""
    monkeypatch.setenv("PATH", os.pathsep.join(["/usr/bin", "/bin"]))
    assert main(["course", str(tmp_path / "calculus")]) == 0
    return tmp_path / "calculus"


# -------------------------------------------------------------------------------------------------------- the folder


def test_a_new_course_has_what_nbgrader_needs(course: Path) -> None:
    source = nbformat.read(course / "source" / LESSON / f"{LESSON}.ipynb", as_version=4)
    (lesson,) = COURSE.read([LESSON])
    assert source == notebooks.source_notebook(lesson, COURSE.exercises(lesson))
    assert stat.S_IMODE((course / "secret").stat().st_mode) == 0o600
    assert len((course / "secret").read_text(encoding="utf-8").strip()) == 64
    assert (course / "lessons" / "README.md").is_file()
    assert (course / "exercises" / "keys").is_dir()
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "calculus") as gradebook:
        assert gradebook.assignments == []
    assert "course_id='calculus'" in (course / "nbgrader_config.py").read_text(encoding="utf-8")


def test_the_next_commands_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_course(tmp_path / "calculus", None)
    said = capsys.readouterr().out
    for command in ("generate_assignment", "release_assignment", "collect"):
        assert f"nbgrader {command} 00_first_gradient" in said
    for command in ("grade", "feedback", "report"):
        assert f"autograder {command} {tmp_path / 'calculus'}\n" in said
    assert "generate_assignment 00_first_gradient --no-db" in said


def test_a_second_run_changes_nothing(course: Path) -> None:
    before = everything(course)
    make_course(course, None)
    assert everything(course) == before


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
    (course / "extra").mkdir()
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


# -------------------------------------------------------------------------------------------------------- the config


@pytest.mark.parametrize(("language", "ending", "dropped"), [("en", "", "ru"), ("ru", "-ru", "en")])
def test_the_language_of_a_release(language: str, ending: str, dropped: str) -> None:
    config = Config()
    configure(config, "calculus", language)
    once = str(config)
    configure(config, "calculus", language)
    assert str(config) == once
    assert config.CourseDirectory.course_id == f"calculus{ending}"
    assert config.CourseDirectory.release_directory == f"release{ending}"
    assert config.OneLanguage.remove_cell_tags == {dropped}


def test_nbgraders_own_steps_stay(course: Path) -> None:
    config = Config()
    configure(config, "calculus", "en")
    steps = config.GenerateAssignment.preprocessors
    theirs = GenerateAssignment.preprocessors.default()
    assert steps[0] is notebooks.OneLanguage
    assert [preprocessors.ClearSolutions if s is notebooks.ClearSolutions else s for s in steps[1:]] == theirs


# --------------------------------------------------------------------------------------------------------- the scores


def graded(*outputs: NotebookNode, source: str = 'check("x")', points: float = 3) -> NotebookNode:
    about = {"grade_id": "check-x", "grade": True, "solution": False, "locked": True, "points": points}
    return new_code_cell(source, metadata={"nbgrader": about}, outputs=list(outputs))


def verdict(shown: str) -> NotebookNode:
    return new_output("execute_result", data={"text/plain": shown, MIME: {}})


STDERR = new_output("stream", name="stderr", text="careful")
ERROR = new_output("error", ename="KeyboardInterrupt", evalue="", traceback=[])


@pytest.mark.parametrize(
    ("outputs", "score"),
    [
        ([verdict("2")], 2),
        ([verdict("3")], 3),
        ([verdict("0")], 0),
        ([STDERR, verdict("2")], 2),
        ([new_output("stream", text="said"), verdict("2"), STDERR], 2),
        ([], 0),
        ([STDERR], 0),
        ([ERROR], 0),
        ([new_output("stream", text="3")], 0),
        ([new_output("execute_result", data={"text/plain": "3"})], 0),
        ([new_output("display_data", data={"text/plain": "3", MIME: {}})], 0),
        ([verdict("nan")], 0),
        ([verdict("-1")], 0),
        ([verdict("99")], 0),
        ([verdict("inf")], 0),
        ([verdict("three")], 0),
        ([verdict("3"), verdict("3")], 0),
    ],
)
def test_points_come_from_one_verdict_or_not_at_all(outputs: list[NotebookNode], score: float) -> None:
    cell = graded(*outputs)
    assert is_check(cell)
    cell.outputs = verdict_first(cell)
    assert determine_grade(cell) == (score, 3)
    nbformat.validate(new_notebook(cells=[cell]))


@pytest.mark.parametrize("source", ["assert True", 'check("x")\nprint()', "# check", "recheck(1)"])
def test_cells_of_another_kind_keep_nbgraders_rules(source: str) -> None:
    assert not is_check(graded(source=source))


def test_the_check_with_its_import_is_one() -> None:
    assert is_check(graded(source='from autograder import check\n\ncheck("x")'))


def test_long_outputs_are_cut() -> None:
    long = "x" * 10_000_000
    cell = graded(
        new_output("stream", text=long),
        new_output("execute_result", data={"text/plain": long}),
        new_output("display_data", data={"image/png": "abc"}),
        new_output("error", ename="ValueError", evalue=long, traceback=[long]),
    )
    cell, _ = LimitOutput().preprocess_cell(cell, {}, 0)
    assert len(str(cell)) < 100_000
    assert "Output truncated" in cell.outputs[0].text


# ------------------------------------------------------------------------------------------------------- the feedback


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({"autograder": {"language": "ru"}}, "ru"),
        ({"autograder": {"language": "en"}}, "en"),
        ({"autograder": {"language": '"><script>'}}, "en"),
        ({"autograder": {"language": ["ru"]}}, "en"),
        ({"autograder": "ru"}, "en"),
        ({"autograder": {}}, "en"),
        ({}, "en"),
    ],
)
def test_the_language_of_a_page(metadata: dict[str, object], language: str) -> None:
    assert language_of(new_notebook(metadata=metadata)) == language


def test_titles_of_cells() -> None:
    known = exercises.load("gradient_accumulation")
    name = next(iter(known))
    assert "<code>.grad</code>" in title("check-predict_accumulation", "gradient_accumulation", "ru")
    assert title(f"check-{name}", "", "en") != name
    assert title("written-why", "gradient_accumulation", "ru") == WORDS["written"].ru
    assert title("<i>theirs</i>", "", "en") == "&lt;i&gt;theirs&lt;/i&gt;"


def test_every_word_is_in_both_languages() -> None:
    assert all(text.en and text.ru and text.en != text.ru for text in WORDS.values())
