"""A class whose report is tested."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from support.course import Course
from support.report import graded_class, report


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Course:
    course = graded_class().copy(tmp_path_factory.mktemp("report"))
    (course.folder / "students.csv").write_text("id,name\nsums-2,Анна Ким\nlazy,Ли Ян\n", encoding="utf-8")
    (course.folder / "course.toml").write_text('time_zone = "Asia/Tomsk"', encoding="utf-8")
    with course.gradebook() as gradebook:
        gradebook.find_submission_notebook(course.name, course.name, "zeroes-1").late_submission_penalty = 1.5
    return course


@pytest.fixture(scope="session")
def page(graded: Course) -> BeautifulSoup:
    return report(graded)
