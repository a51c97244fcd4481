"""A class whose report is tested."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from support.course import Course
from support.report import graded_class, report


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return graded_class().copy(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def page(graded: Course) -> BeautifulSoup:
    return report(graded)
