"""Paths in the archives of each LMS, as its source code writes them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from autograder.grading.lms.interface.origin import Origin
from autograder.grading.lms.systems import recognise

LESSON = "03_gradient_accumulation.ipynb"
PATHS: list[tuple[str, str, Origin]] = [
    (
        "Moodle",  # 4.1 and later
        f"Анна-Мария О'Нил_4711_assignsubmission_file/dir/{LESSON}",
        Origin("Анна-Мария О'Нил", ("4711",), "4711", f"dir/{LESSON}"),
    ),
    ("Moodle", f"Bo Li_12_assignsubmission_file_/{LESSON}", Origin("Bo Li", ("12",), "12", LESSON)),  # 3.1 to 4.0
    ("Moodle", "Bo Li_12_assignsubmission_file_my_work_1.ipynb", Origin("Bo Li", ("12",), "12", "my_work_1.ipynb")),
    (
        "Moodle",
        "Bo Li_12_assignsubmission_onlinetext/onlinetext.html",
        Origin("Bo Li", ("12",), "12", "onlinetext.html"),
    ),
    ("Moodle", f"unpacked/Bo Li_12_assignsubmission_file_/{LESSON}", Origin("Bo Li", ("12",), "12", LESSON)),
    ("Moodle", f"Участник_99_assignsubmission_file/{LESSON}", Origin("Участник", ("99",), "99", LESSON, hidden=True)),
    ("Canvas", f"ивановпётр_4711_1234_{LESSON}", Origin("ивановпётр", ("4711",), "4711", LESSON)),
    ("Canvas", f"libo_LATE_7_8_{LESSON}", Origin("libo", ("7",), "7", LESSON, late=True)),
    ("Canvas", "libo_7_8_lesson-1.ipynb", Origin("libo", ("7",), "7", "lesson-1.ipynb")),
    ("Canvas", "libo_7_text.html", Origin("libo", ("7",), "7", "text.html")),
    ("Canvas", f"LATE_anon_aB3xY_8_{LESSON}", Origin("", ("aB3xY",), "aB3xY", LESSON, late=True, hidden=True)),
    (
        "Blackboard",
        f"Home work_2_anna_petrova_attempt_2026-11-23-18-05-59_{LESSON}",
        Origin(
            "",
            ("Home work_2_anna_petrova", "2_anna_petrova", "anna_petrova", "petrova"),
            "Home work_2_anna_petrova 2026-11-23-18-05-59",
            LESSON,
            datetime(2026, 11, 23, 18, 5, 59),
        ),
    ),
    (
        "Blackboard",
        "Taak_bo_poging_2026-11-23-18-05-59.txt",
        Origin("", ("Taak_bo", "bo"), "Taak_bo 2026-11-23-18-05-59", "attempt.txt", datetime(2026, 11, 23, 18, 5, 59)),
    ),
    (
        "nbgrader's exchange",
        f"inbound/anna+03_gradient_accumulation+2026-11-23 18:05:59.123456 UTC+aGVsbG8/{LESSON}",
        Origin("", ("anna",), "2026-11-23 18:05:59.123456 UTC", LESSON, datetime(2026, 11, 23, 18, 5, 59, 123456, UTC)),
    ),
]


@pytest.mark.parametrize(("title", "path", "origin"), PATHS, ids=[path for _, path, _ in PATHS])
def test_a_path_is_read(title: str, path: str, origin: Origin) -> None:
    reading = recognise([path])
    assert reading
    assert (reading.lms.title, reading.origin(path)) == (title, origin)


@pytest.mark.parametrize(
    "path", [LESSON, "Иванов ДЗ3.ipynb", f"anna/{LESSON}", "03_gradient_accumulation (1).ipynb", "a_b_c"]
)
def test_a_plain_file_is_of_no_lms(path: str) -> None:
    assert recognise([path]) is None
