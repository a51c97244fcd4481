"""Moodle's worksheet: what a person has done in Moodle stays, and its traps are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from support.course import Course
from support.first_gradient import CHECK, NAME, TOTAL
from support.lms import collect, write_archive
from support.lms.moodle import Assignment, Member
from support.lms.quick_grades import give_back, give_grades

Marked = Callable[[object], str]
CAME = datetime(2026, 9, 17, 18, 5)
ANN = Member(1, "Ann", "Lee", "ann@uni.example", came=CAME)
BO = Member(2, "Bo", "Neil", "bo@uni.example", came=CAME)
IDLE = Member(3, "Ida", "Kim", "ida@uni.example")


class Class:
    """A class in Moodle, of which two students have handed in and are graded: Ann with 0 points, Bo with 0.25."""

    def __init__(self, course: Course, folder: Path, marked: Marked, site: Assignment) -> None:
        self.course, self.folder = course, folder
        members = [replace(each, files={f"{NAME}.ipynb": marked(each.number)}) for each in site.members if each.came]
        self.site = replace(site, members=[*members, *(each for each in site.members if not each.came)])
        self.archive = self.site.archive(folder / "all.zip")
        assert collect(course, self.archive, "--worksheet", self.site.worksheet(folder / "w.csv")) == 0
        give_grades(course)

    def give_back(self, *arguments: object) -> int:
        """Return the grades into a worksheet that is downloaded now."""
        return give_back(self.course, "--worksheet", self.site.worksheet(self.folder / "now.csv"), *arguments)

    def upload(self, *, ignores_modified: bool = False) -> None:
        data = (self.course.folder / "returned" / NAME / "worksheet.csv").read_bytes()
        self.site.import_worksheet(data, ignores_modified=ignores_modified)

    def member(self, number: int) -> Member:
        return next(each for each in self.site.members if each.number == number)


@pytest.fixture
def in_moodle(course: Course, tmp_path: Path, marked: Marked) -> Callable[[Assignment], Class]:
    return lambda site: Class(course, tmp_path, marked, site)


def test_what_a_person_has_written_in_moodle_stays(
    in_moodle: Callable[[Assignment], Class], capsys: pytest.CaptureFixture[str]
) -> None:
    moodle = in_moodle(Assignment([ANN, BO]))
    assert moodle.give_back() == 0
    moodle.upload()
    bo = moodle.member(2)
    assert (bo.grade, bo.comment) == ("2.50", "0.25 points out of 10")
    bo.grade, bo.comment = "7.00", "<p>See me.</p>"
    moodle.member(1).comment = "<p>0 points out of 10</p>"  # saved in Moodle's editor
    capsys.readouterr()

    assert moodle.give_back() == 1
    said = capsys.readouterr().out
    assert "bo: the grade '7.00' of a person stays, not '2.50'; the comment '<p>See me.</p>' of a person stays" in said
    assert "ann" not in said
    moodle.upload(ignores_modified=True)
    assert (bo.grade, bo.comment) == ("7.00", "<p>See me.</p>")
    assert moodle.give_back("--overwrite") == 0
    moodle.upload(ignores_modified=True)
    assert (bo.grade, bo.comment) == ("2.50", "0.25 points out of 10")


def test_beside_a_grade_of_a_person_stands_no_comment_with_other_points(
    in_moodle: Callable[[Assignment], Class],
) -> None:
    moodle = in_moodle(Assignment([ANN, replace(BO, grade="7.00")]))
    assert moodle.give_back() == 1
    moodle.upload()
    assert (moodle.member(1).grade, moodle.member(1).comment) == ("0.00", "0 points out of 10")
    assert (moodle.member(2).grade, moodle.member(2).comment) == ("7.00", "")
    assert moodle.give_back("--overwrite") == 0
    moodle.upload(ignores_modified=True)
    assert (moodle.member(2).grade, moodle.member(2).comment) == ("2.50", "0.25 points out of 10")


def test_an_earlier_grade_of_ours_is_replaced_also_if_moodle_rounds(
    in_moodle: Callable[[Assignment], Class], capsys: pytest.CaptureFixture[str]
) -> None:
    moodle = in_moodle(Assignment([ANN, BO], language="ru"))
    assert moodle.give_back() == 0
    moodle.upload()
    bo = moodle.member(2)
    bo.grade = "3"  # 2.5, with Moodle's setting of no decimals
    with moodle.course.gradebook() as gradebook:
        for cell in gradebook.find_submission_notebook(NAME, NAME, "bo").grades:
            cell.auto_score = min(cell.max_score, 2)
    capsys.readouterr()
    assert moodle.give_back() == 0
    said = capsys.readouterr().out
    assert "tick “Разрешить обновление записей, которые были изменены в Moodle раньше, чем в ведомости”" in said
    moodle.upload()
    assert bo.grade == "3", "Moodle skips it: it cannot read Russian dates"
    moodle.upload(ignores_modified=True)
    assert float(bo.grade.replace(",", ".")) == moodle.course.scores()["bo"] * 10 > 3


def test_the_order_of_the_uploads_matters(in_moodle: Callable[[Assignment], Class]) -> None:
    moodle = in_moodle(Assignment([ANN, BO]))
    assert give_back(moodle.course) == 0
    pages = (moodle.course.folder / "returned" / NAME / "moodle_feedback.zip").read_bytes()
    moodle.site.import_feedback(pages)
    moodle.upload()
    assert moodle.member(2).grade == "", "after the pages each grade is stale"


def test_worksheets_of_two_groups_are_both_named(
    in_moodle: Callable[[Assignment], Class], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the second group has grades in Moodle."""
    moodle = in_moodle(Assignment([ANN, replace(BO, graded=CAME)]))
    sheets = [moodle.site.worksheet(tmp_path / f"{n}.csv", [moodle.member(n)]) for n in (1, 2)]
    capsys.readouterr()
    assert give_back(moodle.course, "--worksheet", sheets[1], "--worksheet", sheets[0]) == 0
    said = capsys.readouterr().out
    assert "Upload worksheet.csv and worksheet-2.csv first and moodle_feedback.zip after them" in said
    assert "when you upload worksheet.csv and worksheet-2.csv, tick" in said


@pytest.mark.parametrize("version", [(4, 1), (5, 1)])
def test_a_scale_gets_no_numbers(
    in_moodle: Callable[[Assignment], Class], version: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    moodle = in_moodle(Assignment([ANN, BO], version, scale=("fail", "pass")))
    assert moodle.give_back() == 1
    assert "bo: no grade: in Moodle the assignment is graded with the words fail, pass." in capsys.readouterr().out
    moodle.upload()
    assert (moodle.member(2).grade, moodle.member(2).comment) == ("", "0.25 points out of 10")


def test_a_grade_above_the_maximum_is_named(
    in_moodle: Callable[[Assignment], Class], capsys: pytest.CaptureFixture[str]
) -> None:
    """Moodle's import drops it without a word."""
    moodle = in_moodle(Assignment([ANN, BO]))
    with moodle.course.gradebook() as gradebook:
        gradebook.find_grade(CHECK, NAME, NAME, "ann").manual_score = TOTAL + 1
    capsys.readouterr()
    assert moodle.give_back() == 1
    said = capsys.readouterr().out
    grade = (TOTAL + 1) * 100 / TOTAL
    assert f"ann: no grade: {grade:.2f} is above 100.00, the maximum in Moodle, whose import drops such a" in said
    moodle.upload()
    assert moodle.member(1).grade == ""


def test_drafts_extensions_and_locks_are_told(
    course: Course, in_moodle: Callable[[Assignment], Class], capsys: pytest.CaptureFixture[str]
) -> None:
    (course.folder / "course.toml").write_text(f"[assignments.{NAME}]\ndue = 2026-09-20T00:00:00\n")
    until = datetime(2026, 9, 30, 23, 59)
    people = [replace(ANN, draft=True), replace(BO, locked=True, extended=until)]
    moodle = in_moodle(Assignment(people, workflow=True))
    said = capsys.readouterr().out
    assert f"ann (Ann Lee): {NAME} taken, 2026-09-17 18:05 (worksheet); only a draft in Moodle: not submitted" in said
    assert f"bo (Bo Neil): extended in Moodle until 2026-09-30 23:59: write `{NAME} 2026-09-30 23:59` into" in said
    assert moodle.give_back() == 1
    said = capsys.readouterr().out
    assert "bo: no grade: Moodle has locked it in its gradebook" in said
    assert "students see a grade in the state Released" in said

    lines = ["id,email,extensions", "ann,ann@uni.example,", f"bo,bo@uni.example,{NAME} 2026-09-30 23:59"]
    (course.folder / "students.csv").write_text("\n".join(lines))
    assert collect(moodle.course, moodle.archive, "--worksheet", moodle.folder / "w.csv") == 0
    assert "extended" not in capsys.readouterr().out


def test_worksheets_of_two_groups_lie_side_by_side(course: Course, marked: Marked, tmp_path: Path) -> None:
    people = [replace(each, files={f"{NAME}.ipynb": marked(each.number)}) for each in (ANN, BO)]
    site = Assignment([*people, IDLE])
    first, second = (replace(site, members=[each]).archive(tmp_path / f"{each.number}.zip") for each in people)
    assert collect(course, first, "--worksheet", site.worksheet(tmp_path / "1.csv", [people[0], IDLE])) == 0
    assert collect(course, second, "--worksheet", site.worksheet(tmp_path / "2.csv", people[1:]), "--add") == 0
    assert collect(course, first, "--worksheet", site.worksheet(tmp_path / "3.csv", [people[0], IDLE])) == 0
    give_grades(course)
    assert give_back(course) == 0
    for name in ("worksheet.csv", "worksheet-2.csv"):
        site.import_worksheet((course.folder / "returned" / NAME / name).read_bytes())
    assert [each.grade for each in site.members] == ["0.00", "2.50", ""]


def test_a_file_that_came_by_mail_goes_back_through_moodle(
    in_moodle: Callable[[Assignment], Class], marked: Marked, tmp_path: Path
) -> None:
    moodle = in_moodle(Assignment([ANN, BO, IDLE]))
    assert collect(moodle.course, write_archive(tmp_path / "mail.zip", {"Ida Kim/x.ipynb": marked("mail")})) == 0
    give_grades(moodle.course)
    assert give_back(moodle.course) == 0
    pages = moodle.site.import_feedback((moodle.course.folder / "returned" / NAME / "moodle_feedback.zip").read_bytes())
    assert sorted(pages) == [1, 2, 3]
    assert b"mail" in pages[3][f"{NAME}.html"]


def test_a_team_whose_members_differ_gets_pages_apart(
    course: Course, marked: Marked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = [replace(each, group="Team 7", files={f"{NAME}.ipynb": marked("team")}) for each in (ANN, BO)]
    site = Assignment([*people, replace(IDLE, came=CAME, files={f"{NAME}.ipynb": marked("default")})], (4, 2))
    site = replace(site, teams=True, groups={"Team 7": 345})
    archive = site.archive(tmp_path / "a.zip")
    assert collect(course, archive, "--worksheet", site.worksheet(tmp_path / "w.csv")) == 0
    assert "ann,Ann Lee,ann@uni.example,,Team 7," in (course.folder / "students.csv").read_text("utf-8-sig")
    give_grades(course)
    page = course.folder / "feedback" / "bo" / NAME / f"{NAME}.html"
    page.write_text(f"{page.read_text()}, late")
    assert give_back(course) == 0
    said = capsys.readouterr().out
    assert "ann: Team 7 gets one page, but those of its members differ: the page is in feedback/" in said
    assert "ida: Moodle takes no page for Default group: the page is in feedback/" in said
    place = course.folder / "returned" / NAME
    assert sorted(path.parent.name for path in place.glob("feedback/*/*.html")) == ["ann", "bo", "ida"]
    assert not (place / "moodle_feedback.zip").exists()


def test_namesakes_in_a_team_have_their_numbers(course: Course, marked: Marked, tmp_path: Path) -> None:
    people = [replace(ANN, number=at, group="A&B", files={f"{NAME}.ipynb": marked("team")}) for at in (1, 7)]
    site = Assignment([*people, replace(BO, group="B")], (5, 0), identity=(), teams=True, groups={"A&B": 7, "B": 1})
    archive, sheet = site.archive(tmp_path / "a.zip"), site.worksheet(tmp_path / "w.csv")
    assert collect(course, archive, "--worksheet", sheet) == 0
    assert sorted(path.name for path in (course.folder / "submitted").iterdir()) == ["Ann Lee 1", "Ann Lee 7"]


def test_namesakes_without_addresses_have_their_numbers(
    course: Course, marked: Marked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = [replace(ANN, number=number, files={f"{NAME}.ipynb": marked(number)}) for number in (1, 7)]
    site = Assignment(people, (4, 5), identity=())
    archive, sheet = site.archive(tmp_path / "a.zip"), site.worksheet(tmp_path / "w.csv")
    assert collect(course, archive, "--worksheet", sheet) == 0
    assert sorted(path.name for path in (course.folder / "submitted").iterdir()) == ["Ann Lee 1", "Ann Lee 7"]
    give_grades(course)
    assert give_back(course) == 0
    site.import_worksheet((course.folder / "returned" / NAME / "worksheet.csv").read_bytes())
    assert [each.grade for each in people] == ["0.00", "2.50"]
    (course.folder / "students.csv").unlink()
    capsys.readouterr()
    assert collect(course, archive) == 1
    (course.folder / "students.csv").write_text("id,name\nann,Ann Lee\n")
    assert collect(course, archive) == 1
    said = capsys.readouterr().out
    assert "two are called Ann Lee here, with the numbers 1 and 7: collect with --worksheet" in said
