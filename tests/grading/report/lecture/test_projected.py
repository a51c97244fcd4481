"""The page to project: a screen with the question, and one with the answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Page

from autograder.grading.report.view import View
from autograder.language import Text
from support.browser import barriers, browser_page
from support.course import Course
from support.report import STUDENT, plain, report, text


def project(graded: Course, language: str = "en") -> tuple[Path, BeautifulSoup]:
    """The page that the report links to."""
    page = report(graded, "--language", language, ending="" if language == "en" else ".ru")
    (link,) = page.select("#lecture a")
    path = graded.folder / "report" / str(link["href"])
    return path, BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def test_it_is_named_as_the_report(graded: Course) -> None:
    assert project(graded)[0].name == f"{graded.name}.project.html"
    path, page = project(graded, "ru")
    assert path.name == f"{graded.name}.project.ru.html"
    assert page.html
    assert page.html["lang"] == "ru"
    assert text(page.h1) == "Что даст последняя строка?"


def test_it_stands_alone_and_names_nobody(graded: Course) -> None:
    page = project(graded)[1]
    assert not page.find_all(["script", "iframe", "object", "embed", "link", "img", "form"])
    assert {tag["href"] for tag in page.find_all("a")} == {"#question", "#answer"}
    shown = text(page)
    assert not [name for name in (STUDENT, "sums", "zeroes-1", "Иванов") if name in shown]


def test_the_answer_is_on_the_second_screen_alone(graded: Course) -> None:
    page = project(graded)[1]
    question, answer = page.select("section")
    assert [plain(choice) for choice in question.select("li")] == ["A -48", "B -40", "C -20", "D -8"]
    assert plain(question.pre).endswith('two_backward_passes()["w.grad after the second backward"]')
    assert not question.select(".right, i, small")
    assert [plain(choice) for choice in answer.select("li")] == ["A -48 1", "B -40 9", "C -20 0", "D -8 3"]
    assert plain(answer.h1) == "Answer: B"
    assert plain(answer.select_one(".right b")) == "B"
    assert "adds" in plain(answer.select_one(".why"))


def test_a_formula_is_shown_as_one() -> None:
    shown = View("en", UTC).inline(Text.same("The derivative of `h ** 2` is $2h < x$, not $h$."))
    assert "$" not in shown
    assert shown.count("<math") == 2
    assert "<code>h ** 2</code>" in shown


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with browser_page() as page:
        yield page


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080)])
def test_each_screen_holds_all_of_it_in_large_type(graded: Course, browser: Page, width: int, height: int) -> None:
    browser.set_viewport_size({"width": width, "height": height})
    browser.goto(project(graded)[0].as_uri())
    for section in ("#question", "#answer"):
        box = browser.locator(section).bounding_box()
        assert box
        assert round(box["height"]) == height
    program = browser.locator("pre")
    assert program.evaluate("each => each.scrollWidth <= each.clientWidth")
    assert program.evaluate("each => parseFloat(getComputedStyle(each).fontSize)") >= height / 48
    browser.click("a[href='#answer']")
    browser.wait_for_function(f"Math.abs(scrollY - {height}) < 2")
    assert barriers(browser) == []
