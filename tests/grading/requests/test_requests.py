"""Students' requests to look again: found, listed with cards, answered, never lost."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from autograder.cli import main
from autograder.grading.requests.found import find_requests
from autograder.lessons.collection import COURSE
from support.course import Course
from support.first_gradient import FIRST, NAME, SOLVED, WRONG
from support.submissions import read


def requests(course: Course, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(["requests", str(course.folder), *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Regrade: I meant\nthe other sign", "I meant\nthe other sign"),
        ("thanks!\n\n**Пересмотр:** знак верен", "знак верен"),
        ("## regrade: please", "please"),
        ("Regrade:", None),
        ("I do not ask to regrade anything: all is fine", None),
    ],
)
def test_a_request_in_a_cell(course: Course, tmp_path: Path, source: str, text: str | None) -> None:
    path = course.hand_in("ann", SOLVED, folder=tmp_path / "in")
    notebook = read(path)
    notebook.cells.append(nbformat.v4.new_markdown_cell(source))
    nbformat.write(notebook, path)
    assert list(find_requests(path.parent)) == ([text] if text else [])


def test_released_notebooks_have_no_request(course: Course) -> None:
    for language in ("en", "ru"):
        assert list(find_requests(course.released(language).parent)) == []


def test_files_with_requests(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "REGRADE.md").write_bytes("\ufeffthe second case".encode())
    (tmp_path / "пересмотр.txt").write_bytes("знак".encode("cp1251"))
    (tmp_path / "regrade.txt").symlink_to("/etc/passwd")
    (tmp_path / "broken.ipynb").write_text("{")
    first, second = find_requests(tmp_path)
    assert first == "the second case"
    assert second == "знак"


def test_a_request_is_answered_and_never_lost(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {**SOLVED, FIRST.name: WRONG}
    course.hand_in("ann", wrong, beside={"regrade.txt": f"{FIRST.name}: \x1b[2Jmy None is right"})
    course.hand_in("bo", SOLVED, language="ru")
    (course.folder / "students.csv").write_text("id,name\nann,Анна Ким\nbo,", encoding="utf-8")
    (course.folder / "course.toml").write_text('time_zone = "Asia/Tomsk"', encoding="utf-8")
    course.grade()
    (course.submitted("ann").parent / "regrade.txt").unlink()
    course.grade("--force")
    said = requests(course, capsys)
    assert "1 open request, 0 answered" in said
    assert "  ann (Анна Ким), found 20" in said
    assert " (UTC+07:00):" in said
    assert "my None is right" in said
    assert "\x1b" not in said
    assert FIRST.title.en.replace("`", "") in said.replace("`", ""), "the card"

    assert main(["requests", str(course.folder), NAME, "--student", "bo", "--answer", "x"]) == 1
    assert "waiting: ann" in capsys.readouterr().err
    said = requests(course, capsys, NAME, "--student", "ann", "--answer", "None is no gradient: $x^2$")
    assert f"at answer-{FIRST.name}" in said
    course.hand_in(
        "ann", {**wrong, FIRST.name: f"{WRONG}\n"}, beside={"regrade.txt": "and now?"}, came="2026-09-17 21:05:00 UTC"
    )
    course.grade()
    said = requests(course, capsys)
    assert "1 open request, 1 answered" in said
    assert "ann (Анна Ким), handed in 2026-09-18 04:05 (UTC+07:00):" in said
    assert "and now?" in said
    requests(course, capsys, NAME, "--student", "ann", "--answer", "Still.")
    with course.gradebook() as gradebook:
        comments = gradebook.find_submission_notebook(NAME, NAME, "ann").comments
        said = "\n".join(each.manual_comment for each in comments if each.manual_comment)
    assert {*said.split("\n")} >= {"None is no gradient: $x^2$", "Still."}
    assert main(["feedback", str(course.folder)]) == 0
    assert "None is no gradient" in course.feedback("ann")
    assert "<math" in course.feedback("ann")


def test_an_answer_needs_a_student(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["requests", str(course.folder), "--answer", "x"])
    assert "--student NAME" in capsys.readouterr().err


def test_a_request_without_a_name_shows_what_counts_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not the cards of extras that the student never touched."""
    course = Course.make(tmp_path / "course", "leaf_tensors", languages=["en"])
    course.hand_in("ann", {}, beside={"regrade.txt": "please look again"})
    course.grade()
    said = requests(course, capsys).replace("`", "")
    shown = {name for name, each in COURSE.exercises(course.lesson).items() if each.title.en.replace("`", "") in said}
    assert shown == {name for name, each in COURSE.exercises(course.lesson).items() if each.core}
