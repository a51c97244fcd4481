"""Paths in the archives of each LMS, as its source code writes them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from autograder.grading.collecting.origins import BLACKBOARD, CANVAS, EXCHANGE, MOODLE, Form, Origin, recognise
from autograder.grading.tables.local_times import read_time

LESSON = "03_gradient_accumulation.ipynb"
PATHS: list[tuple[Form, str, Origin]] = [
    (
        MOODLE,  # 4.1 and later
        f"Анна-Мария О'Нил_4711_assignsubmission_file/dir/{LESSON}",
        Origin("Анна-Мария О'Нил", ("4711",), "4711", f"dir/{LESSON}"),
    ),
    (MOODLE, f"Bo Li_12_assignsubmission_file_/{LESSON}", Origin("Bo Li", ("12",), "12", LESSON)),  # 3.1 to 4.0
    (MOODLE, "Bo Li_12_assignsubmission_file_my_work_1.ipynb", Origin("Bo Li", ("12",), "12", "my_work_1.ipynb")),
    (MOODLE, "Bo Li_12_assignsubmission_onlinetext/onlinetext.html", Origin("Bo Li", ("12",), "12", "onlinetext.html")),
    (MOODLE, f"unpacked/Bo Li_12_assignsubmission_file_/{LESSON}", Origin("Bo Li", ("12",), "12", LESSON)),
    (MOODLE, f"Участник_99_assignsubmission_file/{LESSON}", Origin("Участник", ("99",), "99", LESSON, hidden=True)),
    (CANVAS, f"ивановпётр_4711_1234_{LESSON}", Origin("ивановпётр", ("4711",), "4711", LESSON)),
    (CANVAS, f"libo_LATE_7_8_{LESSON}", Origin("libo", ("7",), "7", LESSON, late=True)),
    (CANVAS, "libo_7_8_lesson-1.ipynb", Origin("libo", ("7",), "7", "lesson-1.ipynb")),
    (CANVAS, "libo_7_text.html", Origin("libo", ("7",), "7", "text.html")),
    (CANVAS, f"LATE_anon_aB3xY_8_{LESSON}", Origin("", ("aB3xY",), "aB3xY", LESSON, late=True, hidden=True)),
    (
        BLACKBOARD,
        f"Home work_2_anna_petrova_attempt_2026-11-23-18-05-59_{LESSON}",
        Origin(
            "",
            ("Home work_2_anna_petrova", "2_anna_petrova", "anna_petrova", "petrova"),
            "petrova 2026-11-23-18-05-59",
            LESSON,
            datetime(2026, 11, 23, 18, 5, 59),
        ),
    ),
    (
        BLACKBOARD,
        "Taak_bo_poging_2026-11-23-18-05-59.txt",
        Origin("", ("Taak_bo", "bo"), "bo 2026-11-23-18-05-59", "attempt.txt", datetime(2026, 11, 23, 18, 5, 59)),
    ),
    (
        EXCHANGE,
        f"inbound/anna+03_gradient_accumulation+2026-11-23 18:05:59.123456 UTC+aGVsbG8/{LESSON}",
        Origin("", ("anna",), "2026-11-23 18:05:59.123456 UTC", LESSON, datetime(2026, 11, 23, 18, 5, 59, 123456, UTC)),
    ),
]


@pytest.mark.parametrize(("form", "path", "origin"), PATHS, ids=[path for _, path, _ in PATHS])
def test_a_path_is_read(form: Form, path: str, origin: Origin) -> None:
    reading = recognise([path])
    assert reading
    assert (reading.form, reading.origin(path)) == (form, origin)


@pytest.mark.parametrize(
    "path", [LESSON, "Иванов ДЗ3.ipynb", f"anna/{LESSON}", "03_gradient_accumulation (1).ipynb", "a_b_c"]
)
def test_a_plain_file_is_of_no_lms(path: str) -> None:
    assert recognise([path]) is None


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("Monday, 23 November 2026, 6:05 PM", datetime(2026, 11, 23, 18, 5)),
        ("Monday, 23 November 2026, 12:05 AM", datetime(2026, 11, 23, 0, 5)),
        ("понедельник, 23 ноября 2026, 18:05", datetime(2026, 11, 23, 18, 5)),
        ("среда, 6 мая 2026, 09:07", datetime(2026, 5, 6, 9, 7)),
        ("23 нояб. 2026 г., 18:05:01", datetime(2026, 11, 23, 18, 5, 1)),
        ("23.11.2026 18:05", datetime(2026, 11, 23, 18, 5)),
        ("23/11/26, 18:05", datetime(2026, 11, 23, 18, 5)),
        ("2026-11-23T18:05:00", datetime(2026, 11, 23, 18, 5)),
        ("-", None),
        ("", None),
        ("Monday, 31 November 2026, 6:05 PM", None),
    ],
)
def test_times_in_worksheets(text: str, time: datetime | None) -> None:
    assert read_time(text) == time
