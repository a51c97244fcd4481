"""Rules of `course.toml` on real submissions: late credit, extensions, and rules changed later."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from autograder.cli import main
from support.course import Course
from support.first_gradient import CHECK, FIRST, NAME, SOLVED, TOTAL
from support.lms import Participant, write_worksheet

RULES = f"""
time_zone = "Europe/Moscow"
late_days = 1
[assignments.{NAME}]
due = 2026-01-02T03:00:00
grace = "10min"
late = [{{until = "2d", credit = 50}}]
"""
# Times in UTC; the due date is midnight there.
CAME = {"in_time": "01 23:00", "grace": "02 00:05", "one_day": "02 23:00", "two_days": "03 23:00", "ext": "05 23:00"}
STUDENTS = f"id,name,extensions\next,Ann,{NAME} +3d\n"


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Submissions that came at different times, and rules; nothing is graded."""
    course = Course.make(tmp_path_factory.mktemp("late") / "course")
    for student, came in CAME.items():
        language = "ru" if student == "two_days" else "en"
        course.hand_in(student, SOLVED, came=f"2026-01-{came}:00 UTC", language=language)
    (course.folder / "course.toml").write_text(RULES)
    (course.folder / "students.csv").write_text(STUDENTS)
    return course


def net(course: Course) -> dict[str, float]:
    """Each student's points after the penalty."""
    owed = course.owed()
    return {student: score - owed[student] for student, score in course.scores().items()}


def test_both_graders_give_the_credit_of_the_rules(late: Course, tmp_path: Path) -> None:
    course = late.copy(tmp_path)
    course.grade()
    # A late day pays for the first day; the extension is three days and one late day.
    expected = {"in_time": TOTAL, "grace": TOTAL, "one_day": TOTAL, "two_days": TOTAL / 2, "ext": TOTAL}
    assert net(course) == expected
    stock = late.copy(tmp_path / "stock")
    shutil.copytree(course.folder / ".autograder", stock.folder / ".autograder", dirs_exist_ok=True)
    stock.nbgrader("autograde", NAME)
    assert net(stock) == expected


def test_a_rule_changed_later_changes_nothing_until_it_is_applied(
    late: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = late.copy(tmp_path)
    course.grade()
    before = net(course)
    (course.folder / "course.toml").write_text(RULES.replace("credit = 50", "credit = 80"))
    course.grade()
    assert net(course) == before
    capsys.readouterr()
    assert main(["course", str(course.folder), "--check"]) == 0
    said = capsys.readouterr().out
    assert "due 2026-01-02 03:00; 10 min later is still in time; late work gets 80 % until 2026-01-04 03:00" in said
    assert "ext Ann: due 2026-01-05 03:00 (extension 3 d)" in said
    assert (
        f"two_days: a late penalty of {TOTAL / 2:g} points before, a late penalty of {TOTAL / 5:g} points now" in said
    )
    assert net(course) == before
    assert main(["course", str(course.folder), "--apply"]) == 0
    notes = course.grade()["two_days"]["notes"]
    assert notes == [f"a late penalty of {TOTAL / 2:g} points before, a late penalty of {TOTAL / 5:g} points now"]
    assert net(course) == {**before, "two_days": pytest.approx(TOTAL * 0.8)}


def test_notebooks_are_made_anew_only_for_what_they_tell(
    late: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = late.copy(tmp_path)
    course.grade()
    with (course.folder / "students.csv").open("a", encoding="utf-8") as file:
        file.write(f"\ntwo_days,,{NAME} +5d")
    capsys.readouterr()
    assert main(["course", str(course.folder), "--apply"]) == 0
    assert "notebooks tell due dates" not in capsys.readouterr().out
    (course.folder / "course.toml").write_text(re.sub("due = 2026-01-0.", "due = 2026-01-03", RULES))
    assert main(["course", str(course.folder), "--apply"]) == 0
    assert "notebooks tell due dates" in capsys.readouterr().out


def test_a_late_student_is_told_why(late: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = late.copy(tmp_path)
    (course.folder / "course.toml").write_text(f'language = "ru"\n{RULES.replace("50", "48")}')
    (course.folder / "students.csv").write_text(f"id,email,extensions\next,,{NAME} +3d\ntwo_days,two_days@uni.example,")
    main(["grade", str(course.folder)])
    assert "late: ext, one_day, two_days\n" in capsys.readouterr().out
    course.give_by_hand("two_days", CHECK, FIRST.points - 1)  # the penalty follows
    sheet = write_worksheet(tmp_path / "w.csv", [Participant(7, "Анна", "", "two_days@uni.example")], russian=True)
    main(["return", str(course.folder), NAME, "--worksheet", str(sheet)])
    filled = (course.folder / "returned" / NAME / "worksheet.csv").read_text(encoding="utf-8-sig")
    got, lost = (f"{(TOTAL - 1) * share:g}".replace(".", ",") for share in (0.48, 0.52))
    assert f"{got} балла из {TOTAL:g}; за опоздание снято: {lost} балл" in filled
    said = {
        student: re.findall(
            '<span class="note">(.*)</span>', course.feedback(student).replace("\N{NO-BREAK SPACE}", " ")
        )
        for student in CAME
    }
    assert said["two_days"] == [
        "Срок сдачи: 2026-01-02 03:00 (UTC+03:00). Сдано: 2026-01-04 02:00 (UTC+03:00), с опозданием на 1 дн. 23 ч. "
        "Использовано дней отсрочки: 1. Засчитывается 48 % баллов."
    ]
    assert said["ext"] == [
        "Due, with your extension: 2026-01-05 03:00 (UTC+03:00). Handed in: 2026-01-06 02:00 (UTC+03:00), 23 h late. "
        "Late days used: 1. No points are taken off."
    ]
    assert said["in_time"] == said["grace"] == [], "within the time of grace nobody is late"


def test_a_wrong_rule_stops_the_command(late: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = late.copy(tmp_path)
    (course.folder / "course.toml").write_text("[assignments.x]\ndeu = 1")
    assert main(["grade", str(course.folder)]) == 1
    assert "unknown: deu; known here:" in capsys.readouterr().err


def test_due_dates_without_a_time_zone_are_told(
    late: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    course = late.copy(tmp_path)
    (course.folder / "course.toml").write_text(RULES.replace('time_zone = "Europe/Moscow"', ""))
    monkeypatch.setenv("TZ", "Asia/Tomsk")
    for option in ("--check", "--apply"):
        assert main(["course", str(course.folder), option]) == 0
        said = capsys.readouterr().out
        assert 'no time zone, so due dates are in UTC: write a line like time_zone = "Asia/Tomsk"' in said
